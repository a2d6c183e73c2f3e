/* model_adapt.h - gives a Normalization the mean and variance of data. */
#ifndef LIANA_TRAIN_MODEL_ADAPT_H
#define LIANA_TRAIN_MODEL_ADAPT_H

#include "layers/model.h"

/* Mean and variance of each channel over values that come one array after the other. A channel is a position along the
 * last axis, or along those of the layer. */
typedef struct liana__moments {
    int64_t channels;
    liana_shape example;             /* rank 0: the last axis is the channels */
    int64_t strides[LIANA_MAX_RANK]; /* of its axes among the channels; 0: not one of them */
    int64_t count;                   /* values of each channel so far */
    int64_t *counts;                 /* [channels] */
    double *mean;                    /* [channels] */
    double *squares;                 /* [channels]: the sum of squared distances from the mean */
} liana__moments;

liana_status liana__moments_create(int64_t channels, liana__moments *moments, liana__error *error) LIANA_MUST_USE;
/* Those of the values that a Normalization reads. Errors: INVALID_ARGUMENT for another layer, and for one whose mean is
 * an option. */
liana_status liana__moments_of_layer(const liana_model *model, size_t layer, liana__moments *moments,
                                     liana__error *error) LIANA_MUST_USE;
void liana__moments_free(liana__moments *moments);
/* Adds an array of numbers: whole examples, or any whose last axis is the channels. The sums do not depend on how
 * values are cut into arrays. Errors: INVALID_DATA for a value that is not finite (the message says which),
 * INVALID_ARGUMENT if `num_values` is not a multiple of an example or of the channels. */
liana_status liana__moments_add(liana__moments *moments, liana_dtype dtype, const void *values, int64_t num_values,
                                liana__error *error) LIANA_MUST_USE;

/* Sets the weights of a Normalization: the moments' mean, population variance and count. Errors: INVALID_ARGUMENT for
 * another layer, other channels, or moments of nothing. */
liana_status liana__model_adapt(liana_model *model, size_t layer, const liana__moments *moments, liana__error *error)
    LIANA_MUST_USE;

/* Whether a channel's values differ so little that a Normalization of them is no use: all are the same, or their
 * deviation is lost in the rounding of float32 numbers of this size. Other data are then far outside. */
bool liana__moments_constant(const liana__moments *moments, int64_t channel);
/* The divisor of a Normalization for such a channel: its deviation, at least Keras's backend.epsilon(). */
double liana__moments_divisor(const liana__moments *moments, int64_t channel);

#endif
