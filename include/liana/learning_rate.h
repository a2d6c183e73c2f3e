/* learning_rate.h - the learning-rate finder: which rate a model learns with, before it is trained.
 *
 *     liana_learning_rate_sweep sweep;
 *     liana_find_learning_rate_options options = {.fit = {.training = data, .batch_size = 64, .optimizer = "Adam"}};
 *     if (liana_find_learning_rate(model, &options, &sweep) == LIANA_OK) printf("%g: %s\n", sweep.suggested, sweep.reason);
 *     liana_learning_rate_sweep_free(&sweep);
 */
#ifndef LIANA_LEARNING_RATE_H
#define LIANA_LEARNING_RATE_H

#include <liana/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zeros are the defaults. */
typedef struct liana_find_learning_rate_options {
    /* What is trained on, and how: as for liana_fit. The optimizer's own learning rate is not used. Nothing is
     * validated or saved; lengths, validation data, callbacks, checkpoints and on_epoch are not used. */
    liana_fit_options fit;
    double minimum_rate; /* of the first update; 0: 1e-7 */
    double maximum_rate; /* of the last update; 0: 10 */
    int64_t updates;     /* 10 to 1,000,000; 0: 100. Data that are shorter are repeated */
    double smoothing;    /* of the losses' moving average, below 1; 0: 0.9. A tiny number smooths nothing */
    double divergence;   /* the sweep ends when the smoothed loss is this many times the smallest one; 0: 4 */
    /* Called after each update, counted from 1. False ends the sweep with CANCELLED. May be NULL. */
    bool (*on_update)(void *user, int64_t update, double rate, double loss);
    void *user;
} liana_find_learning_rate_options;

/* What a sweep found. */
typedef struct liana_learning_rate_sweep {
    double suggested; /* the smaller of `steepest` and lowest / 10; NaN: none */
    double steepest;  /* the rate at which the smoothed loss falls fastest by the logarithm of the rate */
    double lowest;    /* the rate of the smallest smoothed loss */
    bool diverged;    /* the sweep ended before the largest rate */
    char reason[320]; /* a sentence: why this rate */
    /* The curve: [num_updates] each, the rates in ascending order. */
    size_t num_updates;
    double *rates;
    double *losses;   /* of each update's batch, before the update */
    double *smoothed; /* their exponential moving average with bias correction */
} liana_learning_rate_sweep;

/* Makes one update for each of `updates` rates that grow exponentially from minimum_rate to maximum_rate (Smith 2017),
 * until the loss diverges, and suggests a rate. The model stays as it is: its weights, its optimizer's state, and what
 * it has compiled. The same options, data and weights give the same curve on any number of threads.
 *
 * `sweep` is filled in any case; free it with liana_learning_rate_sweep_free. Errors: INVALID_ARGUMENT (a range that
 * makes no sense), those of liana_fit, CANCELLED, and OUT_OF_RANGE: the loss does not fall at any rate; `sweep` then has
 * the curve. */
LIANA_API LIANA_MUST_USE liana_status liana_find_learning_rate(liana_model *model,
                                                               const liana_find_learning_rate_options *options,
                                                               liana_learning_rate_sweep *sweep);
/* Frees the arrays of a sweep. NULL is allowed. */
LIANA_API void liana_learning_rate_sweep_free(liana_learning_rate_sweep *sweep);

#ifdef __cplusplus
}
#endif
#endif
