#include "data/image_cache.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef enum entry_state { ENTRY_EMPTY, ENTRY_FILLING, ENTRY_FULL } entry_state;

/* An entry is written by the thread that moved its state from empty to filling, and read once it is full. */
struct liana__image_cache {
    uint64_t count; /* records below this one are kept */
    size_t image_size;
    atomic_uchar *states;
    uint8_t *images;
    int32_t *labels;
    char **ids; /* malloc'ed */
    size_t *id_sizes;
};

static liana_status allocate(liana__image_cache *cache, liana__error *error)
{
    size_t count = cache->count, size;
    if (!__builtin_mul_overflow(count, cache->image_size, &size)) cache->images = liana__allocate_aligned(size);
    cache->labels = calloc(count, sizeof *cache->labels);
    cache->ids = calloc(count, sizeof *cache->ids);
    cache->id_sizes = calloc(count, sizeof *cache->id_sizes);
    cache->states = calloc(count, sizeof *cache->states);
    if (cache->images && cache->labels && cache->ids && cache->id_sizes && cache->states) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_MEMORY, "out of memory for keeping %" PRIu64 " decoded images of %zu bytes",
                       cache->count, cache->image_size);
}

liana_status liana__image_cache_create(uint64_t count, size_t image_size, liana__image_cache **out, liana__error *error)
{
    *out = NULL;
    liana__image_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return liana__fail_memory(error, "decoded images");
    cache->count = count;
    cache->image_size = image_size;
    if (allocate(cache, error) != LIANA_OK) {
        liana__image_cache_destroy(cache);
        return LIANA_OUT_OF_MEMORY;
    }
    *out = cache;
    return LIANA_OK;
}

void liana__image_cache_destroy(liana__image_cache *cache)
{
    if (!cache) return;
    for (uint64_t i = 0; cache->ids && i < cache->count; i++) free(cache->ids[i]);
    free(cache->ids);
    free(cache->id_sizes);
    free(cache->images);
    free(cache->labels);
    free(cache->states);
    free(cache);
}

uint64_t liana__image_cache_count(const liana__image_cache *cache)
{
    return cache ? cache->count : 0;
}

bool liana__image_cache_find(const liana__image_cache *cache, uint64_t record, liana__cached_image *image)
{
    if (!cache || record >= cache->count || atomic_load(&cache->states[record]) != ENTRY_FULL) return false;
    *image = (liana__cached_image){.pixels = cache->images + record * cache->image_size,
                                   .label = cache->labels[record],
                                   .id = cache->ids[record],
                                   .id_size = cache->id_sizes[record]};
    return true;
}

void liana__image_cache_keep(liana__image_cache *cache, uint64_t record, const liana__cached_image *image)
{
    if (!cache || record >= cache->count) return;
    unsigned char expected = ENTRY_EMPTY;
    atomic_uchar *state = &cache->states[record];
    if (!atomic_compare_exchange_strong(state, &expected, ENTRY_FILLING)) return;
    char *copy = image->id ? malloc(image->id_size + 1) : NULL;
    if (image->id && !copy) {
        atomic_store(state, ENTRY_EMPTY);
        return;
    }
    if (copy) memcpy(copy, image->id, image->id_size);
    memcpy(cache->images + record * cache->image_size, image->pixels, cache->image_size);
    cache->labels[record] = image->label;
    cache->ids[record] = copy;
    cache->id_sizes[record] = image->id_size;
    atomic_store(state, ENTRY_FULL);
}
