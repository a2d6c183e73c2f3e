/* fit_checks.h - checks of a fit's options before anything is opened. */
#ifndef LIANA_TRAIN_FIT_CHECKS_H
#define LIANA_TRAIN_FIT_CHECKS_H

#include "layers/model.h"

#include <liana/train.h>

/* Numbers and enums in their ranges, options that exclude each other, and the classes of the datasets and the model.
 * Errors: INVALID_ARGUMENT, with the option, its value and what was expected. */
liana_status liana__fit_check(const liana_model *model, const liana_fit_options *options, liana__error *error)
    LIANA_MUST_USE;

#endif
