/* Looks at the names of image files. */
#include "data/source/image_names.h"

#include <string.h>
#include <strings.h>

static size_t find_suffix(const char *path, size_t length, const char *const *suffixes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(suffixes[i]);
        if (length > size && strncasecmp(path + length - size, suffixes[i], size) == 0) return i;
    }
    return count;
}

bool liana__begins_as_image(const char *path, size_t length)
{
    static const char *const suffixes[] = {".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp",
                                           ".dib", ".gif",  ".tif", ".tiff", ".webp"};
    const size_t count = sizeof suffixes / sizeof *suffixes;
    return find_suffix(path, length, suffixes, count) < count;
}

bool liana__named_as_image(const char *path)
{
    return liana__begins_as_image(path, strlen(path));
}

static const char *const unread_suffixes[LIANA__UNREAD_KINDS] = {
    ".heic", ".heif", ".avif", ".jp2", ".j2k", ".jpx", ".jxl", ".jxr", ".psd", ".svg", ".ico", ".tga", ".pcx",
    ".ppm",  ".pgm",  ".pbm",  ".pnm", ".exr", ".hdr", ".cr2", ".cr3", ".nef", ".arw", ".dng", ".raf", ".xcf",
};

bool liana__unread_images_add(liana__unread_images *unread, const char *path)
{
    size_t kind = find_suffix(path, strlen(path), unread_suffixes, LIANA__UNREAD_KINDS);
    if (kind == LIANA__UNREAD_KINDS) return false;
    unread->counts[kind]++;
    unread->total++;
    return true;
}

const char *liana__unread_images_list(const liana__unread_images *unread, liana__arena *arena)
{
    size_t kinds = 0, done = 0;
    for (size_t i = 0; i < LIANA__UNREAD_KINDS; i++) kinds += unread->counts[i] > 0;
    const char *list = "";
    for (size_t i = 0; list && i < LIANA__UNREAD_KINDS; i++) {
        if (!unread->counts[i]) continue;
        const char *between = done == 0 ? "" : done + 1 == kinds ? " and " : ", ";
        list = liana__arena_format(arena, "%s%s%llu %s", list, between, (unsigned long long)unread->counts[i],
                                   unread_suffixes[i]);
        done++;
    }
    return list;
}

bool liana__named_as_litter(const char *name)
{
    static const char *const names[] = {"__MACOSX",  "@eaDir", "#recycle", "$RECYCLE.BIN", "System Volume Information",
                                        "lost+found"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) return true;
    }
    return *name == '.';
}
