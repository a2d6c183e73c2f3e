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

/* Its graph, for any model: one output, f32 []. Errors: those of building it. */
liana_status liana__penalty_build(liana_context *context, const liana_model *model, liana_graph **graph,
                                  liana__error *error) LIANA_MUST_USE;

/* A sum over `count` examples with a penalty that is known. */
static inline float liana__penalty_in(float sum, float penalty, int64_t count)
{
    return (float)((double)sum + (double)penalty * (double)count);
}

/* Adds the penalty of the weights as they are now, times the number of examples. */
liana_status liana__penalty_add(liana__program *program, int64_t count, float *sum, liana__error *error) LIANA_MUST_USE;

#endif
