/* function_model.h - a model function as what the trainer trains: a model without layers that are called, an objective,
 * and the function that builds leaves. */
#ifndef LIANA_TRAIN_ESTIMATOR_FUNCTION_MODEL_H
#define LIANA_TRAIN_ESTIMATOR_FUNCTION_MODEL_H

#include "step/user_update.h"
#include "train/estimator/model_fn.h"
#include "train/objective/leaf_function.h"

/* The ways in which leaves are built. NULL: not for that. */
typedef struct liana__fn_modes {
    const liana__fn_built *train, *evaluate; /* `evaluate` may be of LIANA_MODE_PREDICT */
} liana__fn_modes;

typedef struct liana__function_model {
    const liana__fn *fn;
    const liana__fn_data *data;
    liana__arena *arena; /* of the texts; outlives it */
    liana__fn_modes modes;
    liana_model *model;                 /* its inputs are ports, its weights the variables */
    size_t ports[LIANA_MAX_COMPONENTS]; /* by input of the model: which component of the data */
    liana__fn_variable *variables;      /* by weight of the model */
    liana__objective objective;
    liana__leaf_function function;
    /* With an update of the model function's own (own_update.h): */
    liana__user_update update;
    liana__step_sums sums;
    liana__update_variable *update_variables;
    size_t num_update_variables;
    const char **update_initializers; /* by update variable; NULL: it begins at 0 */
} liana__function_model;

/* Makes one of traces with the same data; texts in the arena. It stays where it is: the trainer keeps its address.
 * Destroy it in any case. Errors: INVALID_ARGUMENT (the two modes do not fit each other; nothing is trained),
 * OUT_OF_MEMORY, those of the update's graph. */
liana_status liana__function_model_make(liana_context *context, const liana__fn *fn, const liana__fn_data *data,
                                        const liana__fn_modes *modes, liana__arena *arena, liana__function_model *made,
                                        liana__error *error) LIANA_MUST_USE;
void liana__function_model_destroy(liana__function_model *made);

#endif
