/* fit_stages.h - the stages of liana_fit. */
#ifndef LIANA_TRAIN_FIT_STAGES_H
#define LIANA_TRAIN_FIT_STAGES_H

#include "train/core/training_stages.h"

#include <liana/train.h>

/* Reads options->stages, if there are any, into the arena; the model then trains what the first one says, until
 * liana__training_stages_restore. Without stages `stages` is zeros. Errors: those of liana__training_stages_read and liana__training_stages_bind. */
liana_status liana__fit_stages_begin(liana_model *model, const liana_fit_options *options, liana__arena *arena,
                                     liana__training_stages *stages, liana__error *error) LIANA_MUST_USE;

#endif
