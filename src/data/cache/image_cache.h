/* image_cache.h - decoded images by record, each decoded once: in memory for a run, or in a file for all runs on the
 * same data.
 *
 * Any number of threads find and keep images at once. The first of several that keep the same record writes it; what
 * was kept stays as it is until the cache is destroyed. Nothing that goes wrong with a file stops a run: images that
 * cannot be kept, or were damaged, are decoded again, and a note says so. */
#ifndef LIANA_DATA_IMAGE_CACHE_H
#define LIANA_DATA_IMAGE_CACHE_H

#include "data/cache/decoded_file.h"
#include "data/image/decode.h"
#include "data/source/source.h"

typedef struct liana__image_cache liana__image_cache;

/* Borrowed from the cache while it lives, or from the room that an image of a file was read to. */
typedef struct liana__cached_image {
    const uint8_t *pixels; /* image_size bytes */
    int32_t label;
    const char *id; /* not NUL-terminated; NULL if there is none */
    size_t id_size;
} liana__cached_image;

/* A cache in memory of the records below `count`. Errors: OUT_OF_MEMORY. */
liana_status liana__image_cache_create(uint64_t count, size_t image_size, liana__image_cache **cache,
                                       liana__error *error) LIANA_MUST_USE;

typedef struct liana__image_cache_file_options {
    const char *folder; /* is made if it is missing */
    const char *name;   /* what the data are: "training"; the file is called so, with a number for all that follows */
    /* All that labels, ids and pixels depend on besides the source's files and `image`. */
    const char *settings;
    const liana__decode_options *image;
    liana__strings files; /* that labels depend on besides those of the source: a list of labels, ... */
} liana__image_cache_file_options;

/* A cache of all records of a source in a file, which later runs find again: as long as each file of the source has the
 * same name, size, time of change and inode. The source must outlive the cache. Errors: IO_ERROR, OUT_OF_MEMORY,
 * OUT_OF_RANGE; they name the file. */
liana_status liana__image_cache_open(const liana__source *source, const liana__image_cache_file_options *options,
                                     liana__image_cache **cache, liana__error *error) LIANA_MUST_USE;
/* NULL is allowed. */
void liana__image_cache_destroy(liana__image_cache *cache);

/* How many records can be kept; 0 for NULL. */
uint64_t liana__image_cache_count(const liana__image_cache *cache);
/* Bytes of memory that it takes when all are kept, or of the file; 0 for NULL. */
uint64_t liana__image_cache_size(const liana__image_cache *cache);
/* The path of the file; NULL for a cache in memory. */
const char *liana__image_cache_path(const liana__image_cache *cache);
/* Moves what happened since the last call to `text`, a sentence for people: entries that were damaged, a full disk, a
 * file that was made anew and why. False if nothing did. */
bool liana__image_cache_take_note(liana__image_cache *cache, liana__text *text);

/* The image of a record; false if it is not kept (or `cache` is NULL), and then the room may hold anything. */
bool liana__image_cache_find(liana__image_cache *cache, uint64_t record, liana__decoded_file_room *room,
                             liana__cached_image *image);
/* Whether the image of a record will probably be found, which a file is then told to have ready soon. */
bool liana__image_cache_expect(liana__image_cache *cache, uint64_t record);
/* Copies the image of a record. One that does not fit, or for which there is no memory, is left out: it is decoded
 * again the next time. NULL is allowed. */
void liana__image_cache_keep(liana__image_cache *cache, uint64_t record, const liana__cached_image *image);

#endif
