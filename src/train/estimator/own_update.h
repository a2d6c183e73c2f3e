/* own_update.h - updates that a model function builds itself. */
#ifndef LIANA_TRAIN_ESTIMATOR_OWN_UPDATE_H
#define LIANA_TRAIN_ESTIMATOR_OWN_UPDATE_H

#include "train/estimator/function_model.h"

/* Lets the trainer build the update with the model function's `update`, and lists the variables that it adds. The
 * function model is made already; its update is freed with liana__user_update_free. Errors: those of the graphs. */
liana_status liana__own_update_make(liana__function_model *made, liana__error *error) LIANA_MUST_USE;

#endif
