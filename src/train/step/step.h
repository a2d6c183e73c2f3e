/* step.h - the inside of a step: what its leaves give, and the graphs that its functions build. */
#ifndef LIANA_TRAIN_STEP_H
#define LIANA_TRAIN_STEP_H

#include "distribute/cluster/cluster.h"
#include "distribute/device_set.h"
#include "program/variables.h"
#include "train/core/agreement.h"
#include "train/replicas/replicas.h"

#include <liana/step.h>

/* A sum that the update reads: of a gradient, or of a statistic times the number of examples. */
typedef struct liana__step_sum {
    const char *variable;
    liana_dtype dtype;
    liana_shape shape;
    bool is_gradient;
    double momentum;        /* of a statistic */
    const char *constraint; /* of the variable, for the optimizer of the update; NULL: none */
    const char *about;      /* the variable whose statistic is the mean of this one; NULL: none */
} liana__step_sum;

/* What a leaf declares. The first sum of a leaf is the vector of those that have names. */
typedef struct liana__step_sums {
    const char *names[LIANA_MAX_SUMS];
    size_t num_names;
    size_t length; /* of that vector; 0: as many as there are names */
    liana__step_sum *items;
    size_t count;
    size_t num_gradients; /* the first so many of the items */
} liana__step_sums;

struct liana_step {
    liana_context *context;
    liana__device *device;
    liana_variables *variables;
    liana_step_options options; /* with copies of what it points to */
    liana__arena arena;
    liana__step_sums sums; /* as the first leaf declared them */
    bool declared;
    bool mixed_precision;
    size_t num_scalars; /* of the options */
    bool *is_used;      /* by place among the variables: the leaves or the update read it */
    size_t num_known;   /* places in is_used */
    const liana__strategy *strategy;
    liana__device_set devices;
    liana__cluster *cluster;   /* NULL: this process is alone */
    size_t num_leaf_variables; /* all that leaves read are among the first so many */
    liana__strategy_instance *instance;
    liana__leaf *leaves;
    size_t *worker_ends; /* of a batch by replica: by process, where its leaves end; NULL: there are no replicas */
    float *first_sum;    /* [num_names], or 1 */
    uint64_t *positions; /* [batch_size] */
    uint64_t next_position;
    const void *strategy_options;
    size_t span_steps; /* of workers that need not be in step: most updates until all processes meet; 0: they are */
    const char *not_reproducible; /* why results are not; NULL: they are */
    uint64_t num_turns;           /* runs of one step: the workers compute them in turn, if they are asynchronous */
    bool has_agreed;              /* with the other processes */
    liana__facts update_facts;    /* the graph of the update, until they have agreed on it */
};

/* The graph of a leaf, as liana__leaf_plan wants it; `user` is the step. */
liana_status liana__step_build_leaf(void *user, int64_t size, bool masked, liana_graph **graph, liana__error *error)
    LIANA_MUST_USE;
/* The graph of the update, which sum an input of it is, and what a sum is of; as liana__strategy_plan wants them. */
liana_status liana__step_build_update(void *user, liana_graph **graph, liana__error *error) LIANA_MUST_USE;
size_t liana__step_find_sum(void *user, const char *input);
bool liana__step_is_gradient(void *user, size_t sum);
/* The variable of whose gradient or statistic such an input is the sum; else the input. */
const char *liana__step_name_sum(void *user, const char *input);
liana__step_kind liana__step_kind_of(const liana_step *step);

/* ---- step_batch.c ---- */

/* Cuts so many examples into the step's leaves. */
liana__leaf_batch liana__step_cut(liana_step *step, int64_t count);
/* Takes a batch whose first example has this position in the run: sets the step's leaves and positions, and which rows the
 * leaves read. *count: examples of all processes. Errors: INVALID_ARGUMENT. */
liana_status liana__step_take_batch(liana_step *step, const liana_step_batch *batch, uint64_t position,
                                    liana__leaf_batch *leaves, int64_t *count, liana__error *error) LIANA_MUST_USE;
/* The update's scalars, behind the number of examples. Errors: INVALID_ARGUMENT. */
liana_status liana__step_take_scalars(const liana_step *step, const liana_setting *settings, float *scalars,
                                      liana__error *error) LIANA_MUST_USE;

/* ---- step_run.c ---- */

/* Whether all variables that it reads have values. Errors: INVALID_ARGUMENT, in the context. */
liana_status liana__step_check_variables(const liana_step *step) LIANA_MUST_USE;
/* With the other processes, if there are any: the graph of a shard, the variables, what they compute, and the graph of the
 * update. Once, when the variables have values. */
liana_status liana__step_agree(liana_step *step, liana__error *error) LIANA_MUST_USE;
/* Numbers that must be finite, unless the step allows others: the update's scalars; the vector of sums that have names.
 * Errors: OUT_OF_RANGE. */
liana_status liana__step_check_scalars(const liana_step *step, const float *scalars, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__step_check_first(const liana_step *step, const float *first, liana__error *error) LIANA_MUST_USE;
/* One step of workers that are in step; errors are the context's. `results` may be NULL. */
liana_status liana__step_run_batch(liana_step *step, const liana_step_batch *batch, const liana_setting *settings,
                                   liana_step_results *results) LIANA_MUST_USE;

/* ---- step_values.c ---- */

/* The component of that name; num_components: there is none. */
size_t liana__step_component(const liana_step *step, const char *name, const char **nearest);

/* The same of a batch by replica. */
liana_status liana__step_take_values(liana_step *step, const liana_per_replica *values, uint64_t position,
                                     liana__leaf_batch *batch, int64_t *count, liana__error *error) LIANA_MUST_USE;

#endif
