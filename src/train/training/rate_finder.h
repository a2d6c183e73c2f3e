/* rate_finder.h - sweeps the learning rate over updates of a training, to find a good one. */
#ifndef LIANA_TRAIN_RATE_FINDER_H
#define LIANA_TRAIN_RATE_FINDER_H

#include "base/error.h"
#include "data/loader/loader.h"
#include "train/training/training.h"

/* ---- rate curve ---- */

/* The curve of a learning-rate sweep (loss by rate), and the rate that it suggests. Arithmetic only.
 *
 * The sweep: Smith, "Cyclical learning rates for training neural networks" (2017), section 3.3, with rates that
 * grow exponentially. Smoothing: an exponential moving average, divided by 1 - smoothing^n as in Adam (Kingma and
 * Ba, 2015), so that the first values are not too small. */

enum { LIANA__MOST_RATE_UPDATES = 1000000 };

/* The defaults of a sweep. */
#define LIANA__RATE_MINIMUM 1e-7
#define LIANA__RATE_MAXIMUM 10.0
#define LIANA__RATE_UPDATES 100
#define LIANA__RATE_SMOOTHING 0.9
#define LIANA__RATE_DIVERGENCE 4.0

typedef struct liana__rate_range {
    double minimum_rate, maximum_rate;
    int64_t updates;   /* of the whole sweep, at least 10 */
    double smoothing;  /* 0: none; below 1 */
    double divergence; /* the sweep ends when the smoothed loss is this many times the smallest one; above 1 */
} liana__rate_range;

typedef struct liana__rate_curve {
    liana__rate_range range;
    size_t count;                      /* updates with a finite loss */
    double *rates, *losses, *smoothed; /* [range.updates] */
    double average;                    /* the moving average before its correction */
    size_t lowest;                     /* the index of the smallest smoothed loss */
    bool diverged;
} liana__rate_curve;

typedef struct liana__rate_suggestion {
    double rate;
    double steepest; /* where the smoothed loss falls fastest */
    double lowest;   /* where it is smallest */
    char reason[320];
} liana__rate_suggestion;

/* Errors: INVALID_ARGUMENT. */
liana_status liana__rate_range_check(const liana__rate_range *range, liana__error *error) LIANA_MUST_USE;

/* Checks the range and makes an empty curve. Free it in any case. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
liana_status liana__rate_curve_create(const liana__rate_range *range, liana__rate_curve *curve, liana__error *error)
    LIANA_MUST_USE;
void liana__rate_curve_free(liana__rate_curve *curve);

/* The rate of update `index`, from 0: minimum * (maximum / minimum)^(index / (updates - 1)). */
double liana__rate_curve_rate(const liana__rate_range *range, int64_t index);

/* Adds the loss of the next update. False: the sweep is over, since the loss is not finite (it is not added), or since
 * it has diverged. */
bool liana__rate_curve_add(liana__rate_curve *curve, double loss);

/* Suggests the smaller of two rates: where the smoothed loss falls fastest, and a tenth of the rate where it is
 * smallest. The first tenth of the updates is not looked at, since its averages are of few values. Errors: OUT_OF_RANGE
 * where the loss does not fall; the message names the remedy. */
liana_status liana__rate_curve_suggest(const liana__rate_curve *curve, liana__rate_suggestion *suggestion,
                                       liana__error *error) LIANA_MUST_USE;

/* ---- rate finder ---- */

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
