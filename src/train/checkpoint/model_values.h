/* model_values.h - the weights that a model keeps on the host between fits. */
#ifndef LIANA_TRAIN_MODEL_VALUES_H
#define LIANA_TRAIN_MODEL_VALUES_H

#include "backends/variables.h"
#include "layers/model.h"

/* Copies the values to the variables of the same names, and back. */
liana_status liana__model_values_write(const liana_model *model, liana__variables *variables, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__model_values_read(liana_model *model, const liana__variables *variables, liana__error *error)
    LIANA_MUST_USE;

/* Lets `read` change copies of the values. If it succeeds, they take the place of the values; else nothing is
 * changed. */
typedef liana_status (*liana__values_reader)(liana_model *model, const void *options, float *const *values,
                                             liana__arena *arena, liana__error *error);
liana_status liana__model_values_change(liana_model *model, liana__values_reader read, const void *options,
                                        liana__arena *arena, liana__error *error) LIANA_MUST_USE;

#endif
