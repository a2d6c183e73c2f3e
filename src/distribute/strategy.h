/* strategy.h - who computes which shard of an update, and how their sums meet.
 *
 * A step asks for the sums over its shards. The strategy has each shard computed into buffers of its own and adds them
 * up in one fixed tree whose leaves are the shards: neighbours first, then pairs of neighbours, an odd one out moving
 * up as it is. So the sums are the same bits whoever computed what, and when. To add a strategy: a file with the
 * struct, and a row in strategies.def. */
#ifndef LIANA_DISTRIBUTE_STRATEGY_H
#define LIANA_DISTRIBUTE_STRATEGY_H

#include "backends/backend.h"

/* The tensors that a shard's sums consist of. */
typedef struct liana__sum_types {
    size_t count;
    const liana_dtype *dtypes;
    const liana_shape *shapes;
    bool run_adds; /* liana__run_shard does what `arrivals` say */
} liana__sum_types;

/* Who computes a shard: one worker, several shards being computed at once; or all of them together. */
enum { LIANA__ALL_WORKERS = -1 };

/* Computes shard `shard` on worker `worker`, or LIANA__ALL_WORKERS, and writes its sums. `arrivals` is not NULL where
 * two shards give to the same buffers: see liana__backend.execute_and_add. */
typedef liana_status (*liana__run_shard)(void *user, size_t shard, int worker, liana__buffer *const *sums,
                                         atomic_int *arrivals, liana__error *error);

typedef struct liana__strategy_instance liana__strategy_instance;

typedef struct liana__strategy {
    const char *name;
    const char *doc;
    /* For updates of at most `max_shards` shards. The types are copied. */
    liana_status (*create)(liana__device *device, const liana__sum_types *types, size_t max_shards,
                           liana__strategy_instance **instance, liana__error *error);
    void (*destroy)(liana__strategy_instance *instance);
    /* How many of so many shards, the last ones, all workers compute together. */
    size_t (*num_together)(const liana__device *device, size_t num_shards);
    /* Computes and adds up `num_shards` shards (1 to max_shards). *sums are borrowed until the next call. The error is
     * that of the first failing shard in their order. Allocates nothing. */
    liana_status (*sum_shards)(liana__strategy_instance *instance, size_t num_shards, liana__run_shard run, void *user,
                               liana__buffer *const **sums, liana__error *error);
} liana__strategy;

#define LIANA__STRATEGY(stem, name) extern const liana__strategy liana__strategy_##name;
#include "distribute/strategies.def"
#undef LIANA__STRATEGY

#endif
