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
    bool has_agreed;           /* with the other processes */
    liana__facts update_facts; /* the graph of the update, until they have agreed on it */
};

/* The graph of a leaf, as liana__leaf_plan wants it; `user` is the step. */
liana_status liana__step_build_leaf(void *user, int64_t size, bool masked, liana_graph **graph, liana__error *error)
    LIANA_MUST_USE;
/* The graph of the update, which sum an input of it is, and what a sum is of; as liana__strategy_plan wants them. */
liana_status liana__step_build_update(void *user, liana_graph **graph, liana__error *error) LIANA_MUST_USE;
size_t liana__step_find_sum(void *user, const char *input);
bool liana__step_is_gradient(void *user, size_t sum);

/* The component of that name; num_components: there is none. */
size_t liana__step_component(const liana_step *step, const char *name, const char **nearest);

/* Takes a batch by replica: sets the step's leaves and positions, and which rows the leaves read. *count: examples of all
 * processes. Errors: INVALID_ARGUMENT. */
liana_status liana__step_take_values(liana_step *step, const liana_per_replica *values, liana__leaf_batch *batch,
                                     int64_t *count, liana__error *error) LIANA_MUST_USE;

#endif
