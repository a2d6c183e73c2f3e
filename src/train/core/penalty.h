/* penalty.h - what the regularisers of weights add to the loss: a number for each batch, however it is computed. Its
 * gradient is added in the update (slice_update.c). */
#ifndef LIANA_TRAIN_PENALTY_H
#define LIANA_TRAIN_PENALTY_H

#include "exec/program.h"
#include "layers/model.h"

/* Compiles the penalty of the model's weights, which are among the variables. *program is NULL if no weight has one.
 * Errors: those of compiling. */
liana_status liana__penalty_create(liana__device *device, const liana_model *model, liana__variables *variables,
                                   liana__program **program, liana__error *error) LIANA_MUST_USE;

/* Adds the penalty of the weights as they are now, times the number of examples. */
liana_status liana__penalty_add(liana__program *program, int64_t count, float *sum, liana__error *error) LIANA_MUST_USE;

#endif
