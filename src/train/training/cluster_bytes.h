/* cluster_bytes.h - computes how many bytes the processes of a training send each other in an update.
 *
 * docs/design/cluster.md has the steps of an update. Counts that follow from the tree, the slices and the fixed
 * messages are exact where no record is bad: tests/train/training/test_cluster_plan.c compares them with the counters
 * of clusters. */
#ifndef LIANA_TRAIN_CLUSTER_BYTES_H
#define LIANA_TRAIN_CLUSTER_BYTES_H

#include "step/slice_update.h"

/* The sizes of an update of a training. */
typedef struct liana__plan_update {
    const liana__update_items *items; /* borrowed */
    size_t first_sum;                 /* floats of loss and metrics */
    bool mirrored;     /* the sums of each slice go to one more process, its mirror, which updates it too */
    bool short_sums;   /* gradients travel in bfloat16 */
    size_t num_counts; /* floats that are counted before the shards are computed; 0: none are */
} liana__plan_update;

/* An update in a cluster of `num_workers` that own the slices. The bytes are those of messages, without headers. */
typedef struct liana__cluster_bytes {
    size_t num_workers;
    size_t num_leaves;
    size_t most_leaves;     /* of one worker */
    size_t most_blocks;     /* that a worker sends */
    size_t num_blocks;      /* of all workers */
    uint64_t variables;     /* bytes of all that is updated */
    uint64_t largest_slice; /* bytes of it that one owner has */
    uint64_t most_sums;     /* bytes of blocks that a worker sends or receives, whichever is more */
    uint64_t most_values;   /* the same of new values */
    bool has_mirrors;       /* each process has the slice of another owner too */
    uint64_t most_mirrored; /* bytes of sums that an owner sends its mirror; 0: mirrors add blocks, or there are none */
    uint64_t most_sent;     /* by a worker in an update, with all small messages */
    size_t num_operations;  /* in which each process tells all others something, one after the other */
} liana__cluster_bytes;

/* `sent`: by worker, the bytes that it sends in an update; NULL: not wanted. Errors: OUT_OF_MEMORY, INVALID_ARGUMENT
 * for no shards or no workers. */
liana_status liana__cluster_bytes_of(const liana__plan_update *update, size_t num_leaves, size_t num_workers,
                                     liana__cluster_bytes *bytes, uint64_t *sent, liana__error *error) LIANA_MUST_USE;

/* Bytes that each worker would send in a ring all-reduce of the same variables. */
double liana__ring_bytes(const liana__cluster_bytes *bytes);

#endif
