/* whole_update.h - a whole update as one program of a device, or of several that compute together.
 *
 * A program takes batches that are already on the devices. For each it computes the shards - as many side by side as
 * the memory allows, the others one after the other - adds their sums over shards and devices, looks whether these are
 * finite, and updates the variables. Only the description of the updates comes back. The graphs are those that a
 * replica (replica.h) and an update (distribute/replica_update.h) run one by one. So both ways compute the same, but
 * this one adds in the order that the device likes best: sums agree up to rounding.
 *
 * All shards have the static size of the plan. Rows without examples are masked, and so are shards that a batch does
 * not have. One program serves all batches. */
#ifndef LIANA_BACKENDS_WHOLE_UPDATE_H
#define LIANA_BACKENDS_WHOLE_UPDATE_H

#include "backends/replica.h"
#include "backends/update_functions.h"

/* The work of whole updates. The strings and arrays must outlive all that is made of the plan. */
struct liana__whole_plan {
    const liana__leaf_plan *leaf; /* of training, on the first device */
    /* Builds the graph of `leaves` masked shards of the plan's size side by side: a shard's graph of
     * leaves * leaf_size rows. */
    liana_status (*build_leaves)(void *user, int64_t leaves, liana_graph **graph, liana__error *error);
    bool side_by_side;                     /* false: `leaves` must be 1 */
    const liana__update_functions *update; /* whole */
    /* Builds the graph of the penalty that the weights add to the loss of an example: one output, f32 []. NULL: they
     * add nothing. */
    liana_status (*build_penalty)(void *user, liana_graph **graph, liana__error *error);
    void *user;
    size_t num_scalars; /* of an update, f32 */
    size_t num_losses;  /* elements of the first sum, from the first on, that must be finite */
    size_t most_steps;  /* that one execution does; at least 1 */
    /* Rows that stay on the devices, in tables of this length; 0: none do. Bit i of in_tables: component i of a batch
     * does. */
    int64_t table_rows;
    uint64_t in_tables;
    liana__variables *variables; /* on the first device; all that the update assigns to is there */
};

/* The outcome of an update. */
typedef enum liana__whole_status {
    LIANA__WHOLE_DONE,
    LIANA__WHOLE_BAD_SUMS,   /* sums, penalty or scalars are not finite; the variables are as before */
    LIANA__WHOLE_BAD_VALUES, /* the update has given values that are not finite */
    LIANA__WHOLE_LEFT_OUT,   /* one before it went wrong; the variables are as that one left them */
} liana__whole_status;

/* How a backend does it. */
struct liana__whole_functions {
    /* Compiles. The devices are of this backend. The plan is copied. */
    liana_status (*create)(liana__device *const *devices, size_t count, const liana__whole_plan *plan,
                           liana__whole **whole, liana__error *error);
    void (*destroy)(liana__whole *whole);
    /* Puts the rows of a batch into the tables, by its `records`. Before the first launch; rows that are never put
     * there must not be staged. With `batch` NULL the tables travel: no more rows can be put there. */
    liana_status (*keep)(liana__whole *whole, const liana__leaf_batch *batch, liana__error *error);
    /* Takes the next update's batch. Rows are copied, and begin to travel with the last of most_steps, or with
     * `launch`. While an execution runs, the next one's may be staged. Of the components in tables only the `records`
     * are. */
    liana_status (*stage)(liana__whole *whole, const liana__leaf_batch *batch, liana__error *error);
    /* Begins to execute the staged updates. `scalars` [staged updates, num_scalars] are copied. */
    liana_status (*launch)(liana__whole *whole, const float *scalars, liana__error *error);
    /* Waits for the execution, and gives `first` [staged updates, elements of the first sum], `penalties` (without a
     * penalty 0) and `statuses` [staged updates]. The variables of the plan are the new ones. */
    liana_status (*collect)(liana__whole *whole, float *first, float *penalties, int *statuses, liana__error *error);
    /* Forgets staged updates that are not launched. */
    liana_status (*drop)(liana__whole *whole, liana__error *error);
    /* The memory of an execution on each device, without its arguments. */
    void (*memory)(const liana__whole *whole, liana__replica_memory *memory);
};

#endif
