/* replica.h - a replica: one device's part of a step over a batch.
 *
 * A batch is cut into shards. Each shard is a range of the batch's rows. A replica computes a range of shards
 * and gives the sums of the largest aligned blocks in that range: a block of level n is 2^n neighbouring shards that
 * begin at a multiple of 2^n; the last block of a level may have fewer. Within a block the shards are added in one
 * fixed tree: neighbours first, then pairs of neighbours, an odd one moves up unchanged. So the sums are the same bits
 * for any number of replicas. How a replica computes its blocks is its own business. */
#ifndef LIANA_BACKENDS_REPLICA_H
#define LIANA_BACKENDS_REPLICA_H

#include "backends/variables.h"
#include "batch/batch.h"

/* Sums of a shard that gives rows. */
enum { LIANA__MAX_ROW_SUMS = 8 };

/* The work of a replica for a shard. The strings and arrays must outlive the replica. */
struct liana__leaf_plan {
    const char *name; /* "training"; names programs in messages and dumps */
    /* Builds the graph of a shard of `size` examples. Its inputs are components by name. Its outputs are the sums (any
     * float tensors) and, if gives_rows, last the output "output": [size, ...], a row for each example. `masked`: the
     * graph has another input "present", [size] f32, which is 1 for examples and 0 for rows that are to count as
     * missing. The error is left in `error`. */
    liana_status (*build)(void *user, int64_t size, bool masked, liana_graph **graph, liana__error *error);
    void *user;
    const char *components[LIANA__MAX_COMPONENTS]; /* named parts of a batch */
    size_t num_components;
    int64_t leaf_size; /* most examples of a shard */
    size_t max_leaves; /* of a batch */
    bool gives_rows;
    bool of_parts;                     /* the replica may be asked for a part of a batch's shards */
    const liana__variables *variables; /* on the device; the replica reads them */
};

/* A range of the batch's rows. */
typedef struct liana__leaf {
    int64_t begin;
    int64_t size;
} liana__leaf;

/* Hears of the sum of a whole block as soon as it is final, while shards are still computed: on the thread that has
 * made it, each sum of a block at most once. `block` is the block's first shard; the data stay until the replica's next
 * call. A replica may tell of none: all are there when it has computed. */
typedef struct liana__sum_watch {
    void (*made)(void *user, size_t block, size_t sum, const void *data);
    void *user;
} liana__sum_watch;

struct liana__leaf_batch {
    const void *rows[LIANA__MAX_COMPONENTS]; /* by component: [rows, ...] on the host */
    const liana__leaf *leaves;               /* all shards of the batch */
    size_t num_leaves;
    size_t first, end; /* the replica's range of them */
    void *outputs;     /* NULL, or the host memory for all rows of the output, [rows, ...] */
    /* In a cluster, by worker: where its shards end. NULL: shards are shared out when they are computed. */
    const size_t *worker_ends;
    const liana__sum_watch *watch; /* NULL: nobody wants sums before all are there */
    const uint64_t *records;       /* by row: its number in a whole update's tables; NULL: not known */
    bool has_own_rows; /* the rows are those of the worker's own shards; the shards of others begin nowhere */
};

/* The sums of one block: the shards [first, first + count). The buffers are borrowed until the replica's next call. */
struct liana__leaf_block {
    size_t first;
    size_t count;
    liana__buffer *const *sums;
};

/* The needs of a batch. */
struct liana__replica_memory {
    size_t workspace;        /* bytes that shards need while they run, of all that run at the same time */
    size_t workspace_before; /* the workspaces without a memory limit of the device */
    size_t num_segments;     /* that one shard recomputes */
    double flops, flops_before;
};

/* The size of the largest aligned block of shards that begins at `first` and ends at or before `end`, of `num_leaves`
 * shards in all. The last block of a level may be short, if it ends with the last shard. */
static inline size_t liana__leaf_block_size(size_t first, size_t end, size_t num_leaves)
{
    size_t size = 1;
    while (first % (2 * size) == 0 && first + size < num_leaves) {
        size_t next = first + 2 * size;
        if ((next < num_leaves ? next : num_leaves) > end) break;
        size *= 2;
    }
    return first + size < num_leaves ? size : num_leaves - first;
}

/* A kind of replica. */
struct liana__replica_functions {
    /* Compiles nothing yet. The plan is copied. */
    liana_status (*create)(liana__device *device, const liana__leaf_plan *plan, liana__replica **replica,
                           liana__error *error);
    void (*destroy)(liana__replica *replica);
    /* Compiles the programs for a batch with shards of these sizes; rows may be NULL. */
    liana_status (*prepare)(liana__replica *replica, const liana__leaf_batch *batch, liana__error *error);
    /* Computes the range [first, end) of shards, and gives its blocks in order; borrowed until the next call. After
     * `prepare` nothing is allocated. The error is that of the first failing shard. */
    liana_status (*compute)(liana__replica *replica, const liana__leaf_batch *batch, const liana__leaf_block **blocks,
                            size_t *num_blocks, liana__error *error);
    /* The memory that a prepared batch needs. */
    void (*memory)(const liana__replica *replica, const liana__leaf_batch *batch, liana__replica_memory *memory);
};

#endif
