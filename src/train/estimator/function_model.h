/* function_model.h - a model function in place of a trainer's model: the inputs of its shards, their graphs, and its
 * objective. */
#ifndef LIANA_TRAIN_ESTIMATOR_FUNCTION_MODEL_H
#define LIANA_TRAIN_ESTIMATOR_FUNCTION_MODEL_H

#include "step/user_update.h"
#include "train/estimator/model_fn.h"
#include "train/objective/trainer_options.h"

/* The ways in which shards are built. NULL: not for that. */
typedef struct liana__fn_modes {
    const liana__fn_built *train, *evaluate; /* `evaluate` may be of LIANA_MODE_PREDICT */
} liana__fn_modes;

typedef struct liana__function_model {
    const liana__fn *fn;
    const liana__fn_data *data;
    liana__arena *arena; /* outlives it */
    liana__fn_modes modes;
    liana__trained_function function;
    liana__model_port inputs[LIANA_MAX_COMPONENTS]; /* that shards read */
    size_t components[LIANA_MAX_COMPONENTS];        /* by input: which component of the data */
    liana__trainer_input arrivals[LIANA_MAX_COMPONENTS];
    liana__fn_variable *variables; /* by weight of the function */
    liana__updated_variable *weights;
    liana__objective objective;
    liana__step_sums sums; /* of a training shard, once one was built */
    /* With an update of the model function's own: */
    liana__user_update update;
    liana__update_variable *update_variables;
    size_t num_update_variables;
    const char **update_initializers; /* by update variable; NULL: it begins at 0 */
} liana__function_model;

/* Makes one of traces with the same data. It stays where it is: the trainer keeps its address. Errors:
 * INVALID_ARGUMENT (the two modes do not fit each other; nothing is trained), OUT_OF_MEMORY. */
liana_status liana__function_model_make(liana_context *context, const liana__fn *fn, const liana__fn_data *data,
                                        const liana__fn_modes *modes, liana__arena *arena, liana__function_model *made,
                                        liana__error *error) LIANA_MUST_USE;

/* ---- own update ---- */

/* Updates that a model function builds itself. */

/* Lets the trainer build the update with the model function's `update`, and lists the variables that it adds. The
 * function model is made already; its update is freed with liana__user_update_free. Errors: those of the graphs. */
liana_status liana__own_update_make(liana__function_model *made, liana__error *error) LIANA_MUST_USE;

#endif
