/* penalty.h - the share of weights' regularisers in the loss of each example. */
#ifndef LIANA_TRAIN_PENALTY_H
#define LIANA_TRAIN_PENALTY_H

#include "step/slice_update.h"

/* Whether they add anything. */
bool liana__has_penalty(const liana__updated_variable *weights, size_t count);
/* As liana__shard_builder.build_penalty, of the weights that have one. */
liana_status liana__penalty_build(liana_context *context, const liana__updated_variable *weights, size_t count,
                                  liana_graph **graph, liana__error *error) LIANA_MUST_USE;

#endif
