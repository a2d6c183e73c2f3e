/* block_cache.h - blocks of bytes that are made when they are asked for and kept while there is room, shared by
 * threads: what is read through it takes as much memory as the limit says, however much there is to read. */
#ifndef LIANA_BASE_BLOCK_CACHE_H
#define LIANA_BASE_BLOCK_CACHE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct liana__block_cache liana__block_cache;
typedef struct liana__block liana__block;

/* Which block, and how it is made. Owner and number are its name. */
typedef struct liana__block_request {
    const void *owner;
    uint64_t number;
    size_t size;
    liana_status (*fill)(const void *owner, uint64_t number, uint8_t *bytes, size_t size, liana__error *error);
} liana__block_request;

/* `limit`: bytes of blocks that may be kept; those that are held come on top where they alone are more. NULL when
 * memory could not be had. */
liana__block_cache *liana__block_cache_create(size_t limit);
/* All blocks must have been released. NULL is allowed. */
void liana__block_cache_destroy(liana__block_cache *cache);

/* Gives a block, which stays until it is released. Threads that ask for the same one wait for the first to make it;
 * when that fails, each tries itself. Errors: those of `fill`, OUT_OF_MEMORY. */
liana_status liana__block_cache_get(liana__block_cache *cache, const liana__block_request *request,
                                    liana__block **block, liana__error *error) LIANA_MUST_USE;
const uint8_t *liana__block_bytes(const liana__block *block);
size_t liana__block_size(const liana__block *block);
/* NULL is allowed. */
void liana__block_release(liana__block *block);

#endif
