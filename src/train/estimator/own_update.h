/* own_update.h - updates that a model function builds itself. */
#ifndef LIANA_TRAIN_ESTIMATOR_OWN_UPDATE_H
#define LIANA_TRAIN_ESTIMATOR_OWN_UPDATE_H

#include "train/estimator/function_model.h"

/* Lets the trainer build the update with the model function's `update`, and lists the variables that it adds. The model
 * is made already. Errors: those of the update's graph. */
liana_status liana__own_update_make(liana__function_model *made, liana_context *context, liana__error *error)
    LIANA_MUST_USE;

#endif
