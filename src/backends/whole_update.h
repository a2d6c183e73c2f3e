/* whole_update.h - a whole update as one program of a device, or of several that compute together.
 *
 * A program takes batches that are already on the devices. For each it computes the leaves - as many side by side as the
 * memory allows, the others one after the other - adds their sums over leaves and devices, looks whether these are
 * finite, and updates the variables. Only what describes the updates comes back. The graphs are those that a replica
 * (replica.h) and an update (distribute/replica_update.h) run one by one. So both ways compute the same, but this one
 * adds in the order that the device likes best: sums agree up to rounding.
 *
 * All leaves have the static size of the plan. Rows without examples are masked, and so are leaves that a batch does not
 * have. One program serves all batches. */
#ifndef LIANA_BACKENDS_WHOLE_UPDATE_H
#define LIANA_BACKENDS_WHOLE_UPDATE_H

#include "backends/replica.h"
#include "backends/update_functions.h"

/* What is computed. The strings and arrays must outlive what is made of the plan. */
struct liana__whole_plan {
    const liana__leaf_plan *leaf; /* of training, on the first device */
    /* Builds the graph of `leaves` masked leaves of the plan's size side by side: a leaf's graph of leaves * leaf_size
     * rows. */
    liana_status (*build_leaves)(void *user, int64_t leaves, liana_graph **graph, liana__error *error);
    bool side_by_side;                     /* false: `leaves` must be 1 */
    const liana__update_functions *update; /* whole */
    /* Builds the graph of what the weights add to the loss of an example: one output, f32 []. NULL: they add nothing. */
    liana_status (*build_penalty)(void *user, liana_graph **graph, liana__error *error);
    void *user;
    size_t num_scalars; /* of an update, f32 */
    size_t num_losses;  /* elements of the first sum, from the first on, that must be finite */
    size_t most_steps;  /* that one execution does; at least 1 */
    /* Rows that stay on the devices, in tables of so many; 0: none do. Bit i of in_tables: component i of a batch does. */
    int64_t table_rows;
    uint64_t in_tables;
    liana__variables *variables; /* on the first device; all that the update assigns to is there */
};

/* What became of an update. */
typedef enum liana__whole_status {
    LIANA__WHOLE_DONE,
    LIANA__WHOLE_BAD_SUMS,   /* sums, penalty or scalars are not finite; the variables are as before */
    LIANA__WHOLE_BAD_VALUES, /* the update has given values that are not finite */
    LIANA__WHOLE_LEFT_OUT,   /* one before it went wrong; the variables are as that one left them */
} liana__whole_status;

/* A backend's functions, see liana__backend:
 *
 * whole_create(devices, count, plan, &whole, error): compiles. The devices are of this backend. The plan is copied.
 * whole_keep(whole, batch, error): puts the rows of a batch into the tables, by its `records`. Before the first launch;
 *   rows that are never put there must not be staged. With `batch` NULL the tables travel: no more rows can be put there.
 * whole_stage(whole, batch, error): takes the next update's batch. Rows are copied, and begin to travel with the last of
 *   most_steps, or with whole_launch. While an execution runs, the next one's may be staged.
 *   With tables, of the components in them only the `records` are.
 * whole_launch(whole, scalars, error): begins to execute the staged updates. `scalars` [staged updates, num_scalars] are
 *   copied.
 * whole_collect(whole, first, penalties, statuses, error): waits for the execution. `first` [staged updates, elements of
 *   the first sum], `penalties` and `statuses` [staged updates] receive what it gave; without a penalty 0. The variables
 *   of the plan are the new ones.
 * whole_drop(whole, error): forgets what is staged and not launched.
 * whole_memory(whole, memory): what an execution needs beside what it is given, on each device. */

#endif
