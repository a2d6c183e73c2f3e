/* builders.h - the two builders of a step: a shard builder and an update builder.
 *
 * A shard builder builds the graph of a shard: a few examples of a batch, their sums, the gradients. A model with its
 * losses is one, a model function of an estimator another, a program's own function a third. An update builder builds
 * the update, which happens once for a batch, from the sums over all shards. The optimizer with clipping, decay,
 * averages, regularisers and constraints is one, a program's own function another. All else is the step's (step.h). */
#ifndef LIANA_STEP_BUILDERS_H
#define LIANA_STEP_BUILDERS_H

#include "base/error.h"
#include "batch/batch.h"
#include "distribute/strategy.h"

/* ---- fault ---- */

/* Numbers of a step that are not finite: found before the update is applied, or in its results. */

typedef enum liana__fault_kind {
    LIANA__FAULT_NONE,
    LIANA__FAULT_LOSS,    /* a loss; the update was not applied */
    LIANA__FAULT_SUM,     /* a sum with a name of the program's; the update was not applied */
    LIANA__FAULT_SUMS,    /* a gradient or a statistic; the update was not applied */
    LIANA__FAULT_PENALTY, /* the penalty of the weights; the update was not applied */
    LIANA__FAULT_SCALAR,  /* a scalar of the update; the update was not applied */
    LIANA__FAULT_UPDATE,  /* a result of the update; the variables are spoilt */
} liana__fault_kind;

typedef struct liana__fault {
    liana__fault_kind kind;
    char name
        [512]; /* of the variable whose gradient or value it is; of the output whose loss it is; of a scalar; or "" */
    bool of_validation;
    double value;  /* of a loss, a sum with a name or a scalar */
    int64_t count; /* numbers that are not finite */
} liana__fault;

/* "the loss is nan", "the gradient of 'dense/kernel' has 12 numbers that are not finite". In `text`. */
const char *liana__fault_describe(const liana__fault *fault, char *text, size_t size);

/* ---- builders ---- */

/* ---- sums ---- */

/* A sum over all shards that the update reads: of a gradient, or of a statistic times the number of examples. */
typedef struct liana__step_sum {
    const char *variable;
    liana_dtype dtype;
    liana_shape shape;
    bool is_gradient;
    double momentum;        /* of a statistic: average = momentum * average + (1 - momentum) * statistic */
    const char *about;      /* the variable whose statistic is the mean of this one; NULL: none */
    const char *constraint; /* of the variable, for an optimizer in the update; NULL: none */
} liana__step_sum;

/* The outputs of a training shard behind its first one. Gradients come first. */
typedef struct liana__step_sums {
    liana__step_sum *items;
    size_t count, num_gradients;
} liana__step_sums;

/* The item of a variable; NULL: missing. */
const liana__step_sum *liana__step_sums_find(const liana__step_sums *sums, const char *variable);

/* ---- shards ---- */

/* The name of a component that shards read, which is an input of their graphs. */
typedef struct liana__component_name {
    char text[256];
} liana__component_name;

/* A component that shards read. */
typedef struct liana__step_component {
    liana__component_name name;
    const void *stand_in; /* rows for the largest batch, where a batch has none; NULL: there is nothing to stand in */
    bool of_record;       /* a loader makes it of the record alone, so devices may keep it */
} liana__step_component;

/* The rows of a graph: `shards` of `size` rows each, one behind the other. */
typedef struct liana__shard_rows {
    int64_t size;
    int64_t shards;
    bool masked; /* the input "present" [size * shards] is 1 for examples, and 0 for rows that count as missing */
} liana__shard_rows;

typedef struct liana__shard_builder {
    const char *name; /* in messages and dumps; NULL: as the kind of the step is called */
    /* Builds the graph of shards. Its inputs are components. Its outputs are a vector of sums, f32 [num_sums], then in
     * training the sums of `sums`, which the first training shard finds; in an evaluation, if it gives rows, last
     * "output": a row for each example. Of COUNTING it has one output, f32 [num_counts]. It is the same each time. */
    liana_status (*build)(void *user, liana__step_kind kind, const liana__shard_rows *rows, liana_graph **graph,
                          liana__error *error);
    bool builds[LIANA__NUM_STEP_KINDS];
    bool gives_rows;   /* in an evaluation */
    bool side_by_side; /* it can build several shards in one graph */
    /* What of the training needs all of a batch in one graph, as a message begins: "layer 'x' (MixUp): its mixtures";
     * NULL: nothing does. */
    const char *whole_batch;
    const liana__step_sums *sums;
    liana__step_component components[LIANA__MAX_COMPONENTS];
    size_t num_components;
    size_t num_sums;
    size_t num_losses;         /* of the vector's first sums: they must be finite */
    size_t num_leaf_variables; /* shards read only variables before this one */
    /* Of COUNTING: the divisors of losses are known once the whole batch was counted. It then sets the rows of a
     * component that training reads. */
    size_t num_counts;
    void (*take_counts)(void *user, const liana__batch *batch, const float *counts);
    /* Builds the graph of the penalty that is added to the loss of each example: one output, f32 []. It is added to the
     * sum `penalty_sum`. NULL: nothing. */
    liana_status (*build_penalty)(void *user, liana_graph **graph, liana__error *error);
    size_t penalty_sum;
    /* Says in *fault which number of the vector is not finite but must be. False: none is. */
    bool (*find_fault)(void *user, const float *sums, liana__fault *fault);
    /* Completes the message of a fault with its owner, and with advice. NULL: it is complete. */
    void (*explain_fault)(void *user, const liana__fault *fault, liana__error *error);
    /* Whether a batch can be trained on; its size is checked elsewhere. NULL: any can. */
    liana_status (*check_batch)(void *user, const liana__batch *batch, liana__error *error);
    /* Completes the message of a failure. NULL: it is complete. */
    void (*name_error)(void *user, liana__error *error);
    void *user;
} liana__shard_builder;

/* Values by example, [size, ...], each times its weight, [size]; an invalid one: 1. So missing ones add nothing. */
liana_tensor liana__by_example(liana_tensor each, liana_tensor weights);

/* ---- updates ---- */

/* A variable that only updates read and change; its elements begin as `begins_at`. */
typedef struct liana__update_variable {
    const char *name;
    liana_dtype dtype;
    liana_shape shape;
    double begins_at;
} liana__update_variable;

typedef struct liana__update_builder {
    liana__update_functions functions;
    /* The name in messages of a sum that an input reads. NULL: as the input. */
    const char *(*name_sum)(void *user, const char *input);
    /* f32: the number of examples, then these. */
    size_t num_scalars;
    const char *const *scalar_names;         /* [num_scalars - 1] */
    bool host_changes_scalars;               /* in a round: then an update is no program of a device */
    const liana__update_variable *variables; /* [num_variables] */
    size_t num_variables;
    bool shares_variables; /* slices may read each other's of these: all processes get their new values */
    bool takes_non_finite; /* numbers that are not finite are no fault */
} liana__update_builder;

#endif
