/* image_cache.h - decoded images by record, each decoded once.
 *
 * Any number of threads find and keep images at once. The first of several that keep the same record writes it; what
 * was kept stays as it is until the cache is destroyed. */
#ifndef LIANA_DATA_IMAGE_CACHE_H
#define LIANA_DATA_IMAGE_CACHE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct liana__image_cache liana__image_cache;

/* Borrowed from the cache while it lives. */
typedef struct liana__cached_image {
    const uint8_t *pixels; /* image_size bytes */
    int32_t label;
    const char *id; /* not NUL-terminated; NULL if there is none */
    size_t id_size;
} liana__cached_image;

/* A cache in memory of the records below `count`. Errors: OUT_OF_MEMORY. */
liana_status liana__image_cache_create(uint64_t count, size_t image_size, liana__image_cache **cache,
                                       liana__error *error) LIANA_MUST_USE;
/* NULL is allowed. */
void liana__image_cache_destroy(liana__image_cache *cache);

/* How many records can be kept; 0 for NULL. */
uint64_t liana__image_cache_count(const liana__image_cache *cache);

/* The image of a record; false if it is not kept (or `cache` is NULL). */
bool liana__image_cache_find(const liana__image_cache *cache, uint64_t record, liana__cached_image *image);
/* Copies the image of a record. One that does not fit, or for which there is no memory, is left out: it is decoded
 * again the next time. NULL is allowed. */
void liana__image_cache_keep(liana__image_cache *cache, uint64_t record, const liana__cached_image *image);

#endif
