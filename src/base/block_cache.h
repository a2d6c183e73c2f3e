/* block_cache.h - a cache of blocks of bytes, shared by threads. A block is made when it is first asked for, and kept
 * while there is room. So reading through the cache takes no more memory than its limit. */
#ifndef LIANA_BASE_BLOCK_CACHE_H
#define LIANA_BASE_BLOCK_CACHE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct liana__block_cache liana__block_cache;
typedef struct liana__block liana__block;

/* A block and how it is made. Owner and number identify it. */
typedef struct liana__block_request {
    const void *owner;
    uint64_t number;
    size_t size;
    liana_status (*fill)(const void *owner, uint64_t number, uint8_t *bytes, size_t size, liana__error *error);
} liana__block_request;

/* `limit`: bytes of blocks that may be kept. Blocks in use are never removed, even if they alone exceed it. NULL: out
 * of memory. */
liana__block_cache *liana__block_cache_create(size_t limit);
/* All blocks must be released before. NULL is allowed. */
void liana__block_cache_destroy(liana__block_cache *cache);

/* Gives a block, which stays until it is released. Threads that ask for a block that another thread is making wait for
 * it. If making it fails, each tries itself. Errors: those of `fill`, OUT_OF_MEMORY. */
liana_status liana__block_cache_get(liana__block_cache *cache, const liana__block_request *request,
                                    liana__block **block, liana__error *error) LIANA_MUST_USE;
const uint8_t *liana__block_bytes(const liana__block *block);
size_t liana__block_size(const liana__block *block);
/* NULL is allowed. */
void liana__block_release(liana__block *block);

#endif
