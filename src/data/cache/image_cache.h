/* image_cache.h - the cache of decoded images, by record: in memory for a run, or in a file for all runs on the same
 * data.
 *
 * Any number of threads find and keep images at the same time. If several keep the same record, the first one writes
 * it. A kept image does not change until the cache is destroyed. Problems with a file never stop a run: images that
 * cannot be kept, or were damaged, are decoded again, and a note says so. */
#ifndef LIANA_DATA_IMAGE_CACHE_H
#define LIANA_DATA_IMAGE_CACHE_H

#include "data/cache/decoded_file.h"
#include "data/image/decode.h"
#include "data/source/source.h"

typedef struct liana__image_cache liana__image_cache;

/* Borrowed from the cache, or from the room into which an image of a file was read. It may come with values: then
 * image_size counts both. */
typedef liana__decoded_file_entry liana__cached_image;

/* A cache in memory of the records below `count`, with image_size bytes for each. Errors: OUT_OF_MEMORY. */
liana_status liana__image_cache_create(uint64_t count, size_t image_size, liana__image_cache **cache,
                                       liana__error *error) LIANA_MUST_USE;

typedef struct liana__image_cache_file_options {
    const char *folder; /* created if it is missing */
    const char *name;   /* the name of the data: "training". The file's name is this, and a hash of all that follows */
    /* Everything that labels, ids and pixels depend on, without the source's files and `image`. */
    const char *settings;
    const liana__decode_options *image;
    size_t values_size;          /* bytes of values that are kept with each image */
    const char *values_settings; /* the settings on which they depend; NULL without values */
    liana__strings files;        /* further files that labels depend on: a list of labels, ... */
} liana__image_cache_file_options;

/* A cache of all records of a source, in a file that later runs find again, as long as each file of the source has the
 * same name, size, time of change and inode. The source must outlive the cache. Errors, with the file: IO_ERROR,
 * OUT_OF_MEMORY, OUT_OF_RANGE. */
liana_status liana__image_cache_open(const liana__source *source, const liana__image_cache_file_options *options,
                                     liana__image_cache **cache, liana__error *error) LIANA_MUST_USE;
/* NULL is allowed. */
void liana__image_cache_destroy(liana__image_cache *cache);

/* The number of records that can be kept; 0 for NULL. */
uint64_t liana__image_cache_count(const liana__image_cache *cache);
/* Bytes of memory when all are kept, or of the file; 0 for NULL. */
uint64_t liana__image_cache_size(const liana__image_cache *cache);
/* The path of the file; NULL for a cache in memory. */
const char *liana__image_cache_path(const liana__image_cache *cache);
/* Moves to `text` the events since the last call, as a sentence for people: damaged entries, a full disk, a file that
 * was made again and why. False: nothing happened. */
bool liana__image_cache_take_note(liana__image_cache *cache, liana__text *text);

/* Finds the image of a record. False: it is not kept (or `cache` is NULL); then the room may hold anything. */
bool liana__image_cache_find(liana__image_cache *cache, uint64_t record, liana__decoded_file_room *room,
                             liana__cached_image *image);
/* Whether the image of a record will probably be found. If so, a file is told that it is needed soon. */
bool liana__image_cache_expect(liana__image_cache *cache, uint64_t record);
/* Keeps a copy of the image of a record. If it does not fit, or memory is exhausted, it is left out, and decoded again
 * the next time. NULL is allowed. */
void liana__image_cache_keep(liana__image_cache *cache, uint64_t record, const liana__cached_image *image);

#endif
