/* cut.h - how a batch is cut into shards: a function of its size and the microbatch alone. */
#ifndef LIANA_DATA_CUT_H
#define LIANA_DATA_CUT_H

#include <stdint.h>

/* `count` shards, the first `larger` of them one example larger than `size`. */
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

/* The first example of a shard, and how many it has. */
static inline int64_t liana__cut_begin(const liana__cut *cut, int64_t shard)
{
    return shard * cut->size + (shard < cut->larger ? shard : cut->larger);
}

static inline int64_t liana__cut_size(const liana__cut *cut, int64_t shard)
{
    return cut->size + (shard < cut->larger);
}

#endif
