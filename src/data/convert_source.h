/* convert_source.h - the data sets that convert.c reads, as numbered images. */
#ifndef LIANA_DATA_CONVERT_SOURCE_H
#define LIANA_DATA_CONVERT_SOURCE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "formats/idx.h"

#include <stddef.h>
#include <stdint.h>

typedef struct liana__convert_source_file {
    const char *id; /* class/file */
    size_t label;
} liana__convert_source_file;

/* Made by one of the two functions below, freed by liana__convert_source_close (also after a failure). */
typedef struct liana__convert_source {
    liana__arena arena;
    size_t count;
    size_t num_classes;
    const char **class_names; /* in the arena */
    size_t num_ignored;
    /* Class folders. */
    const char *folder;
    liana__convert_source_file *files;
    size_t file_capacity;
    /* IDX. */
    liana__idx images;
    liana__idx labels;
    /* What the last read gave. */
    char *bytes;
    liana__text png;
    char number[24];
} liana__convert_source;

liana_status liana__convert_source_open_folder(liana__convert_source *source, const char *folder, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__convert_source_open_idx(liana__convert_source *source, const char *images, const char *labels,
                                            liana__error *error) LIANA_MUST_USE;
void liana__convert_source_close(liana__convert_source *source);

/* One encoded image, borrowed until the next read. */
typedef struct liana__convert_source_image {
    const void *bytes;
    size_t size;
    size_t label;
    const char *id;
} liana__convert_source_image;

/* Errors name the image's file, or the IDX file and the image's number. */
liana_status liana__convert_source_read(liana__convert_source *source, size_t index, liana__convert_source_image *image,
                                        liana__error *error) LIANA_MUST_USE;

#endif
