/* rate_finder.h - sweeps the learning rate over updates of a training, to find a good one. */
#ifndef LIANA_TRAIN_RATE_FINDER_H
#define LIANA_TRAIN_RATE_FINDER_H

#include "data/loader/loader.h"
#include "train/training/rate_curve.h"
#include "train/training/training.h"

typedef struct liana__rate_finder_options {
    liana__rate_range range;
    liana__loader *loader; /* of the training data, which are repeated if they are shorter than the sweep */
    /* Called after each update, counted from 1. False ends the sweep with CANCELLED. May be NULL. */
    bool (*on_update)(void *user, int64_t update, double rate, double loss);
    void *user;
} liana__rate_finder_options;

/* One update for each rate, from the training's weights on. They are then those of the sweep, as is the optimizer's
 * state: give a training of its own. The curve is freed by the caller, in any case. Errors: those of the range and the
 * data, CANCELLED. A loss that is not finite ends the curve and is no error. */
liana_status liana__find_rate(liana__training *training, const liana__rate_finder_options *options,
                              liana__rate_curve *curve, liana__error *error) LIANA_MUST_USE;

#endif
