/* Finds and sorts the files of a folder that is sent. */
#include "remote/outlet_scan.h"

#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct scan {
    const char *folder;
    const char *last;
    liana__arena *arena;
    liana__outlet_files *files;
} scan;

static liana__outlet_identity identity_of(const struct stat *info)
{
    return (liana__outlet_identity){.inode = (uint64_t)info->st_ino,
                                    .seconds = (int64_t)info->st_mtim.tv_sec,
                                    .nanoseconds = (int64_t)info->st_mtim.tv_nsec,
                                    .size = (int64_t)info->st_size};
}

bool liana__outlet_identify(int descriptor, liana__outlet_identity *identity)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0) return false;
    *identity = identity_of(&info);
    return true;
}

/* Files that are being written at this moment. */
static bool is_unfinished(const char *name)
{
    return liana__ends_with(name, ".tmp") || strcmp(name, "unfinished") == 0 || strcmp(name, ".unfinished") == 0;
}

static liana_status add_file(const scan *own, const char *name, const struct stat *info, liana__error *error)
{
    liana__outlet_files *files = own->files;
    if (!liana__grow(&files->items, files->count, &files->capacity, sizeof *files->items)) {
        return liana__fail_memory(error, own->folder);
    }
    files->items[files->count++] =
        (liana__outlet_file){.name = name,
                             .identity = identity_of(info),
                             .is_last = own->last && strcmp(liana__path_name(name), own->last) == 0};
    return LIANA_OK;
}

static liana_status scan_folder(const scan *own, const char *below, liana__error *error);

static liana_status scan_entry(const scan *own, const char *below, const char *entry, bool folders, liana__error *error)
{
    const char *name = liana__path_join(own->arena, below, entry);
    const char *path = name ? liana__path_join(own->arena, own->folder, name) : NULL;
    struct stat info;
    if (!path) return liana__fail_memory(error, own->folder);
    /* It may be gone again. */
    if (lstat(path, &info) != 0) return LIANA_OK;
    if (S_ISDIR(info.st_mode)) return folders ? scan_folder(own, name, error) : LIANA_OK;
    return S_ISREG(info.st_mode) && !folders ? add_file(own, name, &info, error) : LIANA_OK;
}

static liana_status scan_folder(const scan *own, const char *below, liana__error *error)
{
    const char *path = *below ? liana__path_join(own->arena, own->folder, below) : own->folder;
    liana__paths names;
    if (!path) return liana__fail_memory(error, own->folder);
    if (!liana__folder_exists(path)) return LIANA_OK;
    liana_status listed = liana__folder_list(path, own->arena, &names, error);
    if (listed == LIANA_NOT_FOUND) return LIANA_OK;
    LIANA_TRY(listed);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < names.count; i++) {
            if (is_unfinished(names.items[i])) continue;
            LIANA_TRY(scan_entry(own, below, names.items[i], pass == 0, error));
        }
    }
    return LIANA_OK;
}

static size_t folder_length(const liana__outlet_file *file)
{
    return (size_t)(liana__path_name(file->name) - file->name);
}

bool liana__outlet_same_folder(const liana__outlet_file *a, const liana__outlet_file *b)
{
    size_t length = folder_length(a);
    bool is_root = length == 0;
    return length == folder_length(b) && strncmp(a->name, b->name, length) == 0 &&
           (!is_root || a->is_last == b->is_last);
}

/* 0: a file of the folder itself; 1: one below; 2: the one that comes after everything. */
static int rank(const liana__outlet_file *file)
{
    return folder_length(file) ? 1 : file->is_last ? 2 : 0;
}

static int compare(const void *first, const void *second)
{
    const liana__outlet_file *a = first, *b = second;
    if (rank(a) != rank(b)) return rank(a) - rank(b);
    size_t length = folder_length(a), other = folder_length(b);
    int folders = strncmp(a->name, b->name, length < other ? length : other);
    if (!folders && length != other) folders = length < other ? -1 : 1;
    if (folders) return -folders;
    if (a->is_last != b->is_last) return a->is_last - b->is_last;
    return strcmp(a->name, b->name);
}

liana_status liana__outlet_scan(const char *folder, const char *last, liana__arena *arena, liana__outlet_files *files,
                                liana__error *error)
{
    scan own = {folder, last, arena, files};
    *files = (liana__outlet_files){0};
    LIANA_TRY(scan_folder(&own, "", error));
    if (files->count) qsort(files->items, files->count, sizeof *files->items, compare);
    return LIANA_OK;
}

const liana__outlet_file *liana__outlet_find(const liana__outlet_files *files, const char *name)
{
    for (size_t i = 0; i < files->count; i++) {
        if (strcmp(files->items[i].name, name) == 0) return &files->items[i];
    }
    return NULL;
}
