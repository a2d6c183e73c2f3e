/* model_fit.h - a trial: data and a model, opened and compiled as for a fit, for another use. */
#ifndef LIANA_TRAIN_MODEL_FIT_H
#define LIANA_TRAIN_MODEL_FIT_H

#include "data/loader/loader.h"
#include "train/training/training.h"

#include <liana/train.h>

typedef liana_status (*liana__trial)(void *user, liana__training *training, liana__loader *loader, liana__error *error);

/* Opens the training data and compiles the model as liana_fit does, beginning with its weights, and runs the trial. The
 * model stays as it is: weights, state of its optimizer, and compiled programs. Errors: those of a fit and of the
 * trial. */
liana_status liana__fit_trial(liana_model *model, const liana_fit_options *options, liana__trial run, void *user,
                              liana__error *error) LIANA_MUST_USE;

#endif
