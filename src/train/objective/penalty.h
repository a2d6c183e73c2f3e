/* penalty.h - what the regularisers of weights add to the loss: a number for each batch, however it is computed. Its
 * gradient is added in the update (step/slice_update.c). */
#ifndef LIANA_TRAIN_PENALTY_H
#define LIANA_TRAIN_PENALTY_H

#include "layers/model.h"

bool liana__model_has_penalty(const liana_model *model);
/* Its graph, for any model: one output, f32 []. Errors: those of building it. */
liana_status liana__penalty_build(liana_context *context, const liana_model *model, liana_graph **graph,
                                  liana__error *error) LIANA_MUST_USE;

#endif
