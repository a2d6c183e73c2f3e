/* cut.h - the cut of a batch into shards, a function of its size and the microbatch only. */
#ifndef LIANA_BATCH_CUT_H
#define LIANA_BATCH_CUT_H

#include <stdint.h>

/* `count` shards. The first `larger` of them have one example more than `size`. */
typedef struct liana__cut {
    int64_t count;
    int64_t size;
    int64_t larger;
} liana__cut;

static inline liana__cut liana__cut_batch(int64_t examples, int64_t microbatch)
{
    int64_t count = (examples + microbatch - 1) / microbatch;
    return (liana__cut){count, examples / count, examples % count};
}

/* The first example of a shard, and its number of examples. */
static inline int64_t liana__cut_begin(const liana__cut *cut, int64_t shard)
{
    return shard * cut->size + (shard < cut->larger ? shard : cut->larger);
}

static inline int64_t liana__cut_size(const liana__cut *cut, int64_t shard)
{
    return cut->size + (shard < cut->larger);
}

/* The examples [*begin, *end) of a shard, in a batch with missing examples: of the `count` examples, those whose
 * positions belong to the shard. The batch begins at position `first`. So a missing example moves no other example to
 * another shard. */
static inline void liana__cut_remaining(const liana__cut *cut, int64_t shard, const uint64_t *positions, int64_t count,
                                        uint64_t first, int64_t *begin, int64_t *end)
{
    uint64_t from = first + (uint64_t)liana__cut_begin(cut, shard), to = from + (uint64_t)liana__cut_size(cut, shard);
    *begin = 0;
    while (*begin < count && positions[*begin] < from) ++*begin;
    *end = *begin;
    while (*end < count && positions[*end] < to) ++*end;
}

#endif
