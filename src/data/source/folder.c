/* JPEG and PNG files: folders with a folder for each class, plain folders, or files. */
#include "base/text.h"
#include "data/image_files.h"
#include "formats/image.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct folder_source {
    liana__source base;
    liana__image_files files; /* ids: the path below the folder that was named, or the file's own name */
    const char **classes;     /* in the order of the labels */
    size_t num_classes;
    size_t classes_capacity;
    bool ignore_labels;
    bool skip_damage;
} folder_source;

static bool named_as_image(const char *path)
{
    static const char *const suffixes[] = {".jpg", ".jpeg", ".png"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t size = strlen(suffixes[i]);
        if (length > size && strcasecmp(path + length - size, suffixes[i]) == 0) return true;
    }
    return false;
}

static bool recognises(const char *path, const uint8_t *head, size_t head_size)
{
    return named_as_image(path) || liana__image_sniff(head, head_size) != LIANA__IMAGE_UNKNOWN;
}

static void close_source(liana__source *base)
{
    folder_source *source = (folder_source *)base;
    liana__image_files_free(&source->files);
    free(source->classes);
    free(source);
}

static liana__record_address address(const liana__source *base, uint64_t index)
{
    return (liana__record_address){((const folder_source *)base)->files.items[index].path, -1};
}

static void expect(const liana__source *base, uint64_t index)
{
    liana__image_files_expect(&((const folder_source *)base)->files, index);
}

static liana_status read_record(const liana__source *base, uint64_t index, void *scratch, liana__record *record,
                                liana__error *error)
{
    return liana__image_files_read(&((const folder_source *)base)->files, index, scratch, record, error);
}

static int64_t known_label(const liana__source *base, uint64_t index)
{
    return ((const folder_source *)base)->files.items[index].label;
}

static liana_status add_file(folder_source *source, const char *path, size_t id_start, int64_t label,
                             liana__error *error)
{
    char *copy = liana__arena_string(&source->files.arena, path);
    if (!copy) return liana__fail_memory(error, "a list of images");
    liana__image_file file = {.path = copy, .id = copy + id_start, .label = label};
    return liana__image_files_add(&source->files, &file, error);
}

/* The images in one folder (not below it), in byte order. Hidden files and other files are left out; a folder that
 * cannot be read is lost as a whole. */
static liana_status add_images(folder_source *source, const char *folder, size_t id_start, int64_t label,
                               liana__error *error)
{
    liana__arena arena = {0};
    liana__paths names;
    liana__error own = {0};
    if (liana__folder_list(folder, &arena, &names, &own) != LIANA_OK) {
        liana__arena_free(&arena);
        return liana__source_lose_file(&source->base, &source->files.arena, folder, source->skip_damage, &own, error);
    }
    liana_status status = LIANA_OK;
    for (size_t i = 0; status == LIANA_OK && i < names.count; i++) {
        if (*names.items[i] == '.') continue;
        if (!named_as_image(names.items[i])) {
            source->base.num_ignored++;
            continue;
        }
        const char *path = liana__path_join(&arena, folder, names.items[i]);
        status = path ? add_file(source, path, id_start, label, error) : liana__fail_memory(error, folder);
    }
    liana__arena_free(&arena);
    return status;
}

static liana_status add_class(folder_source *source, const char *name, liana__error *error)
{
    if (!liana__grow(&source->classes, source->num_classes, &source->classes_capacity, sizeof *source->classes)) {
        return liana__fail_memory(error, "a list of classes");
    }
    source->classes[source->num_classes] = liana__arena_string(&source->files.arena, name);
    return source->classes[source->num_classes++] ? LIANA_OK : liana__fail_memory(error, "a list of classes");
}

static int64_t find_class(const folder_source *source, const char *name)
{
    return liana__find_name(source->classes, source->num_classes, name);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The folders in the folders that were named are the classes, unless the configuration lists the classes. */
static liana_status find_classes(folder_source *source, const liana__paths *paths, const liana__source_options *options,
                                 liana__error *error)
{
    for (size_t i = 0; i < options->class_names.count; i++) {
        LIANA_TRY(add_class(source, options->class_names.items[i], error));
    }
    if (options->class_names.count > 0) return LIANA_OK;
    for (size_t i = 0; i < paths->count; i++) {
        if (!liana__folder_exists(paths->items[i])) continue;
        liana__paths names;
        LIANA_TRY(liana__folder_list(paths->items[i], &source->files.arena, &names, error));
        for (size_t k = 0; k < names.count; k++) {
            if (*names.items[k] == '.') continue;
            char *inner = liana__path_join(&source->files.arena, paths->items[i], names.items[k]);
            if (!inner) return liana__fail_memory(error, "a list of classes");
            if (!liana__folder_exists(inner) || find_class(source, names.items[k]) >= 0) continue;
            LIANA_TRY(add_class(source, names.items[k], error));
        }
    }
    if (source->num_classes) {
        qsort(source->classes, source->num_classes, sizeof *source->classes, compare_names);
    }
    return LIANA_OK;
}

static liana_status add_class_folder(folder_source *source, const char *folder, const char *name, size_t id_start,
                                     liana__error *error)
{
    int64_t label = source->ignore_labels ? -1 : find_class(source, name);
    if (label < 0 && !source->ignore_labels) {
        const char *nearest = liana__nearest(name, source->classes, source->num_classes);
        return liana__fail(error, LIANA_INVALID_DATA, "the folder '%s' has the name of no class%s%s%s", folder,
                           nearest ? "; did you mean '" : " (see data.class_names)", nearest ? nearest : "",
                           nearest ? "'?" : "");
    }
    size_t before = source->files.count, num_lost = source->base.num_lost;
    LIANA_TRY(add_images(source, folder, id_start, label, error));
    if (source->files.count > before || source->base.num_lost > num_lost) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "no image (.jpg, .jpeg or .png) in the folder of class '%s', '%s'; is the folder that was named "
                       "one level too high?",
                       name, folder);
}

/* A folder that was named: the images in the folders in it, with labels, or else its own images, without. */
static liana_status add_folder(folder_source *source, const char *path, liana__error *error)
{
    size_t before = source->files.count, num_lost = source->base.num_lost;
    size_t id_start = strlen(path) + (liana__ends_with(path, "/") ? 0 : 1);
    bool has_folders = false;
    liana__paths names;
    LIANA_TRY(liana__folder_list(path, &source->files.arena, &names, error));
    for (size_t i = 0; i < names.count; i++) {
        if (*names.items[i] == '.') continue;
        char *inner = liana__path_join(&source->files.arena, path, names.items[i]);
        if (!inner) return liana__fail_memory(error, "a list of images");
        if (!liana__folder_exists(inner)) continue;
        has_folders = true;
        LIANA_TRY(add_class_folder(source, inner, names.items[i], id_start, error));
    }
    if (!has_folders) LIANA_TRY(add_images(source, path, id_start, -1, error));
    if (source->files.count > before || source->base.num_lost > num_lost) return LIANA_OK;
    return liana__fail(error, LIANA_NOT_FOUND, "no image (.jpg, .jpeg or .png) in the folder '%s'", path);
}

static liana_status fill_source(folder_source *source, const liana__paths *paths, const liana__source_options *options,
                                liana__error *error)
{
    LIANA_TRY(find_classes(source, paths, options, error));
    for (size_t i = 0; i < paths->count; i++) {
        const char *path = paths->items[i];
        if (liana__folder_exists(path)) {
            LIANA_TRY(add_folder(source, path, error));
        } else {
            LIANA_TRY(add_file(source, path, (size_t)(liana__path_name(path) - path), -1, error));
        }
    }
    source->base.num_records = source->files.count;
    source->base.memory = liana__image_files_memory(&source->files);
    source->base.has_labels = liana__image_files_labelled(&source->files, options->skip_damage);
    source->base.class_names = (liana__strings){source->num_classes, source->classes};
    return LIANA_OK;
}

static liana_status open_source(const liana__paths *paths, const liana__source_options *options, liana__source **out,
                                liana__error *error)
{
    folder_source *source = calloc(1, sizeof *source);
    if (!source) return liana__fail_memory(error, "a list of images");
    source->base.kind = &liana__source_folder;
    source->ignore_labels = options->ignore_labels;
    source->skip_damage = options->skip_damage;
    liana_status status = fill_source(source, paths, options, error);
    return liana__source_finish(&source->base, status, out);
}

const liana__source_kind liana__source_folder = {
    .name = "folder",
    .doc = "JPEG and PNG files: folders with a folder for each class, plain folders, or files.",
    .recognises = recognises,
    .takes_folders = true,
    .open = open_source,
    .close = close_source,
    .read = read_record,
    .address = address,
    .known_label = known_label,
    .expect = expect,
    .scratch_size = sizeof(liana__file_buffer),
    .num_buffers = 1,
};
