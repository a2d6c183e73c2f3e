#include "data/convert_source.h"

#include "base/file.h"
#include "formats/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* An encoded image of more bytes is none. */
#define MAX_IMAGE_BYTES ((size_t)256 << 20)

static bool has_image_suffix(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0 || strcasecmp(dot, ".png") == 0);
}

static liana_status add_file(liana__convert_source *source, const char *class_name, const char *name,
                             liana__error *error)
{
    const char *id = liana__arena_format(&source->arena, "%s/%s", class_name, name);
    if (!id || !liana__grow(&source->files, source->count, &source->file_capacity, sizeof *source->files)) {
        return liana__fail_memory(error, "the list of images");
    }
    source->files[source->count++] = (liana__convert_source_file){.id = id, .label = source->num_classes};
    return LIANA_OK;
}

/* Adds the images of one class. `inner` is set to the name of the first folder in it, if there is one. */
static liana_status read_class(liana__convert_source *source, const char *path, const char *class_name,
                               const char **inner, liana__error *error)
{
    liana__paths names;
    LIANA_TRY(liana__folder_list(path, &source->arena, &names, error));
    for (size_t i = 0; i < names.count; i++) {
        if (names.items[i][0] == '.') continue;
        const char *file = liana__path_join(&source->arena, path, names.items[i]);
        if (!file) return liana__fail_memory(error, path);
        if (liana__folder_exists(file)) {
            if (!*inner) *inner = names.items[i];
        } else if (has_image_suffix(names.items[i])) {
            LIANA_TRY(add_file(source, class_name, names.items[i], error));
        } else {
            source->num_ignored++;
        }
    }
    return LIANA_OK;
}

static liana_status add_class(liana__convert_source *source, const char *path, const char *name, liana__error *error)
{
    if (strpbrk(name, "\r\n")) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "the name of the folder '%s' has a line break in it, which a class name cannot have", path);
    }
    size_t before = source->count;
    const char *inner = NULL;
    LIANA_TRY(read_class(source, path, name, &inner, error));
    if (source->count == before && inner) {
        return liana__fail(
            error, LIANA_INVALID_DATA,
            "the class folder '%s' has no .jpg, .jpeg or .png files but a folder '%s': is '%s' one level "
            "too high?",
            path, inner, source->folder);
    }
    if (source->count == before) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "the class folder '%s' has no .jpg, .jpeg or .png files; remove it or put images in it",
                           path);
    }
    source->class_names[source->num_classes++] = name;
    return LIANA_OK;
}

liana_status liana__convert_source_open_folder(liana__convert_source *source, const char *folder, liana__error *error)
{
    *source = (liana__convert_source){.folder = folder};
    liana__paths names;
    LIANA_TRY(liana__folder_list(folder, &source->arena, &names, error));
    source->class_names = liana__arena_allocate(&source->arena, (names.count + 1) * sizeof *source->class_names);
    if (!source->class_names) return liana__fail_memory(error, folder);
    size_t loose_images = 0;
    for (size_t i = 0; i < names.count; i++) {
        if (names.items[i][0] == '.') continue;
        const char *path = liana__path_join(&source->arena, folder, names.items[i]);
        if (!path) return liana__fail_memory(error, folder);
        if (liana__folder_exists(path)) {
            LIANA_TRY(add_class(source, path, names.items[i], error));
        } else {
            loose_images += has_image_suffix(names.items[i]);
        }
    }
    if (source->num_classes > 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s' has no sub-folders (and %zu images of its own); expected one sub-folder per class, with "
                       "the images of the class in it",
                       folder, loose_images);
}

/* The names of the classes of IDX labels are their numbers. */
static liana_status name_classes(liana__convert_source *source, liana__error *error)
{
    size_t largest = 0;
    for (size_t i = 0; i < source->count; i++) {
        if (source->labels.data[i] > largest) largest = source->labels.data[i];
    }
    source->num_classes = largest + 1;
    source->class_names = liana__arena_allocate(&source->arena, source->num_classes * sizeof *source->class_names);
    for (size_t i = 0; source->class_names && i < source->num_classes; i++) {
        source->class_names[i] = liana__arena_format(&source->arena, "%zu", i);
    }
    return source->arena.failed ? liana__fail_memory(error, "class names") : LIANA_OK;
}

liana_status liana__convert_source_open_idx(liana__convert_source *source, const char *images, const char *labels,
                                            liana__error *error)
{
    *source = (liana__convert_source){0};
    LIANA_TRY(liana__idx_open(images, 0, &source->images, error));
    LIANA_TRY(liana__idx_open(labels, 0, &source->labels, error));
    LIANA_TRY(liana__idx_expect_u8(&source->images, 3, "images (number x height x width)", error));
    LIANA_TRY(liana__idx_expect_u8(&source->labels, 1, "labels (number)", error));
    source->count = source->images.dimensions[0];
    if (source->labels.dimensions[0] != source->count) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s' has %zu images but '%s' has %zu labels; expected a label for each image", images,
                           source->count, labels, source->labels.dimensions[0]);
    }
    if (source->count == 0) return liana__fail(error, LIANA_INVALID_DATA, "'%s' has no images", images);
    return name_classes(source, error);
}

void liana__convert_source_close(liana__convert_source *source)
{
    liana__idx_close(&source->images);
    liana__idx_close(&source->labels);
    free(source->files);
    free(source->bytes);
    liana__text_free(&source->png);
    liana__arena_free(&source->arena);
    *source = (liana__convert_source){0};
}

/* The bytes of a file as they are, after a look at the image's header. */
static liana_status read_file(liana__convert_source *source, const liana__convert_source_file *file,
                              liana__convert_source_image *image, liana__error *error)
{
    liana__arena arena = {0};
    const char *path = liana__path_join(&arena, source->folder, file->id);
    size_t size = 0;
    free(source->bytes);
    source->bytes = NULL;
    liana_status status = path ? liana__file_read(path, MAX_IMAGE_BYTES, &source->bytes, &size, error)
                               : liana__fail_memory(error, file->id);
    if (status == LIANA_OK) {
        liana__image header = {0};
        status = liana__image_probe(source->bytes, size, NULL, &header, error);
        if (status != LIANA_OK && error) liana__fail_within(error, "'%s'", path);
        liana__image_free(&header);
    }
    liana__arena_free(&arena);
    *image = (liana__convert_source_image){.bytes = source->bytes, .size = size, .label = file->label, .id = file->id};
    return status;
}

static liana_status encode_idx(liana__convert_source *source, size_t index, liana__convert_source_image *image,
                               liana__error *error)
{
    size_t height = source->images.dimensions[1], width = source->images.dimensions[2];
    source->png.length = 0;
    liana_status status = liana__png_encode(source->images.data + index * height * width, (int64_t)height,
                                            (int64_t)width, 1, &source->png, error);
    if (status != LIANA_OK) {
        if (error) liana__fail_within(error, "'%s', image %zu", source->images.name, index);
        return status;
    }
    snprintf(source->number, sizeof source->number, "%zu", index);
    *image = (liana__convert_source_image){.bytes = source->png.data,
                                           .size = source->png.length,
                                           .label = source->labels.data[index],
                                           .id = source->number};
    return LIANA_OK;
}

liana_status liana__convert_source_read(liana__convert_source *source, size_t index, liana__convert_source_image *image,
                                        liana__error *error)
{
    return source->files ? read_file(source, &source->files[index], image, error)
                         : encode_idx(source, index, image, error);
}
