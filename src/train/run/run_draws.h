/* run_draws.h - test-time augmentation: data that are predicted, changed by the run's own augmentation. */
#ifndef LIANA_TRAIN_RUN_DRAWS_H
#define LIANA_TRAIN_RUN_DRAWS_H

#include "train/run/run.h"

/* Opens data once more, with the run's augmentation: each epoch of the loader is another draw, which depends on the
 * run's seed and on the place of the example in the data. Stages that mix examples (mixup, cutmix) are left out. The
 * source is that of `data`, which must outlive the draws. Close them with liana__run_close_draws. Errors:
 * INVALID_CONFIG (data.augment is missing, or has mixing stages alone; the data have no images), OUT_OF_MEMORY. */
liana_status liana__run_open_draws(liana__run *run, const liana__run_data *data, liana__run_data *draws,
                                   liana__error *error) LIANA_MUST_USE;
void liana__run_close_draws(liana__run_data *draws);

#endif
