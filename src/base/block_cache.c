/* A cache of blocks of bytes that threads share. */
#include "base/block_cache.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct liana__block {
    liana__block *next;
    liana__block_cache *cache;
    const void *owner;
    uint64_t number;
    uint8_t *bytes;
    size_t size;
    uint64_t used; /* the cache's clock when it was asked for last */
    int holders;
    bool ready;
    bool failed;
};

struct liana__block_cache {
    size_t limit;
    size_t kept; /* bytes of all blocks */
    uint64_t clock;
    liana__block *blocks;
    pthread_mutex_t mutex;
    pthread_cond_t made;
};

liana__block_cache *liana__block_cache_create(size_t limit)
{
    liana__block_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return NULL;
    cache->limit = limit;
    pthread_mutex_init(&cache->mutex, NULL);
    pthread_cond_init(&cache->made, NULL);
    return cache;
}

static void remove_block(liana__block_cache *cache, liana__block *block)
{
    liana__block **at = &cache->blocks;
    while (*at != block) at = &(*at)->next;
    *at = block->next;
    cache->kept -= block->size;
    free(block->bytes);
    free(block);
}

void liana__block_cache_destroy(liana__block_cache *cache)
{
    if (!cache) return;
    while (cache->blocks) remove_block(cache, cache->blocks);
    pthread_mutex_destroy(&cache->mutex);
    pthread_cond_destroy(&cache->made);
    free(cache);
}

/* Frees the least recently requested blocks that nobody holds, until `size` more bytes fit. */
static void make_room(liana__block_cache *cache, size_t size)
{
    while (cache->kept > cache->limit || size > cache->limit - cache->kept) {
        liana__block *oldest = NULL;
        for (liana__block *block = cache->blocks; block; block = block->next) {
            if (block->holders == 0 && (!oldest || block->used < oldest->used)) oldest = block;
        }
        if (!oldest) return;
        remove_block(cache, oldest);
    }
}

static liana__block *find_block(const liana__block_cache *cache, const liana__block_request *request)
{
    for (liana__block *block = cache->blocks; block; block = block->next) {
        if (block->owner == request->owner && block->number == request->number && !block->failed) return block;
    }
    return NULL;
}

static liana__block *add_block(liana__block_cache *cache, const liana__block_request *request)
{
    make_room(cache, request->size);
    liana__block *block = calloc(1, sizeof *block);
    uint8_t *bytes = malloc(request->size ? request->size : 1);
    if (!block || !bytes) {
        free(block);
        free(bytes);
        return NULL;
    }
    *block = (liana__block){.next = cache->blocks,
                            .cache = cache,
                            .owner = request->owner,
                            .number = request->number,
                            .bytes = bytes,
                            .size = request->size};
    cache->blocks = block;
    cache->kept += block->size;
    return block;
}

/* Releases a block, with the mutex held. The last holder of a block that could not be made removes it. */
static void let_go(liana__block *block)
{
    if (--block->holders == 0 && block->failed) remove_block(block->cache, block);
}

liana_status liana__block_cache_get(liana__block_cache *cache, const liana__block_request *request, liana__block **out,
                                    liana__error *error)
{
    *out = NULL;
    pthread_mutex_lock(&cache->mutex);
    liana__block *block;
    while ((block = find_block(cache, request))) {
        block->holders++;
        block->used = ++cache->clock;
        while (!block->ready && !block->failed) pthread_cond_wait(&cache->made, &cache->mutex);
        if (block->ready) break;
        let_go(block);
    }
    bool mine = !block;
    if (mine) block = add_block(cache, request);
    if (mine && block) {
        block->holders = 1;
        block->used = ++cache->clock;
    }
    pthread_mutex_unlock(&cache->mutex);
    if (!block) return liana__fail_memory(error, "a block of a file");
    liana_status status = LIANA_OK;
    if (mine) {
        status = request->fill(request->owner, request->number, block->bytes, block->size, error);
        pthread_mutex_lock(&cache->mutex);
        block->ready = status == LIANA_OK;
        block->failed = !block->ready;
        pthread_cond_broadcast(&cache->made);
        if (block->failed) let_go(block);
        pthread_mutex_unlock(&cache->mutex);
    }
    if (status == LIANA_OK) *out = block;
    return status;
}

const uint8_t *liana__block_bytes(const liana__block *block)
{
    return block->bytes;
}

size_t liana__block_size(const liana__block *block)
{
    return block->size;
}

void liana__block_release(liana__block *block)
{
    if (!block) return;
    liana__block_cache *cache = block->cache;
    pthread_mutex_lock(&cache->mutex);
    let_go(block);
    pthread_mutex_unlock(&cache->mutex);
}
