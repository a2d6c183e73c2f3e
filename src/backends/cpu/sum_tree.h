/* sum_tree.h - how the CPU's workers compute shards at the same time and add them in one fixed tree, whose
 * leaves the shards are. */
#ifndef LIANA_BACKENDS_CPU_SUM_TREE_H
#define LIANA_BACKENDS_CPU_SUM_TREE_H

#include "backends/replica.h"

/* Who computes a shard: one worker, while others compute other shards; or all of them together. */
enum { LIANA__ALL_WORKERS = -1 };

/* Where a shard's sums go. */
typedef struct liana__shard_target {
    liana__buffer *const *sums;
    atomic_int *arrivals;                    /* where two shards write to the same buffers; else NULL */
    const struct liana__output_watch *watch; /* NULL: nobody hears of sums before the shard is done */
} liana__shard_target;

/* Computes the shard that is leaf `leaf` on worker `worker` (or LIANA__ALL_WORKERS) and writes its sums; see
 * liana__cpu_execute_and_add. */
typedef liana_status (*liana__run_shard)(void *user, size_t leaf, int worker, const liana__shard_target *into,
                                         liana__error *error);

typedef struct liana__sum_tree liana__sum_tree;

/* For shards of which `graph` is one: its first `num_sums` outputs are summed. A graph with a gradient can add to what
 * another shard wrote. `of_parts`: runs may be of a part of a batch's shards, which needs more memory. Errors:
 * OUT_OF_MEMORY. */
liana_status liana__sum_tree_create(liana__device *device, const liana_graph *graph, size_t num_sums, size_t max_leaves,
                                    bool of_parts, liana__sum_tree **tree, liana__error *error) LIANA_MUST_USE;
void liana__sum_tree_destroy(liana__sum_tree *tree);

/* How many of so many shards, the last ones, all workers compute together. */
size_t liana__sum_tree_num_together(const liana__device *device, size_t num_leaves);

/* Computes the shards [first, end) of the batch and adds them. The blocks are borrowed until the next call. The error
 * is that of the first failing shard. Allocates nothing. */
liana_status liana__sum_tree_run(liana__sum_tree *tree, const liana__leaf_batch *batch, liana__run_shard run,
                                 void *user, const liana__leaf_block **blocks, size_t *num_blocks, liana__error *error)
    LIANA_MUST_USE;

#endif
