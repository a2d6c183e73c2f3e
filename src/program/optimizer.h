/* optimizer.h - updates by an optimizer as assignments of a graph. */
#ifndef LIANA_PROGRAM_OPTIMIZER_H
#define LIANA_PROGRAM_OPTIMIZER_H

#include "optimizers/optimizer.h"

#include <liana/optimizer.h>

/* Reads the options: the text with the settings and the learning rate. A rate that is a tensor takes the place of the
 * text's. Errors: INVALID_CONFIG, OUT_OF_MEMORY. */
liana_status liana__optimizer_options_read(const liana_context *context, const liana_optimizer_options *options,
                                           liana__arena *arena, liana__optimizer_choice *choice, liana__error *error)
    LIANA_MUST_USE;

/* liana_apply_gradients, with an optimizer that was read already. `rate` invalid: the choice's number. `count` is at
 * least 1. */
void liana__apply_optimizer(liana_location here, const liana_tensor *variables, const liana_tensor *gradients,
                            size_t count, const liana__optimizer_choice *choice, liana_tensor rate, const char *target);

/* The f32 variables that a tensor depends on, in the graph's order: `variables` has room for all of the graph. Returns
 * their number. `needed` is zeros, [num_nodes]. */
size_t liana__variables_behind(liana_tensor tensor, bool *needed, liana_tensor *variables);

#endif
