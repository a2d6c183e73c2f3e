/* batch_moments.h - mean and variance of each channel over the elements of a batch that count: those of examples that
 * are there and of steps that no mask leaves out. Any axis may be the channels'. */
#ifndef LIANA_LAYERS_NORMALIZATION_BATCH_MOMENTS_H
#define LIANA_LAYERS_NORMALIZATION_BATCH_MOMENTS_H

#include "layers/normalization/axes.h"

/* By shard; one shard if the layer is synchronized. */
typedef struct liana__batch_moments {
    int64_t axis;                 /* of the channels */
    liana_tensor mean, variance;  /* [shards, channels] */
    liana_tensor moving_variance; /* for the moving average */
    liana_tensor counts;          /* of elements that count: [shards, 1 or channels] */
    liana_tensor fixed_mean;      /* `mean`, a constant for gradients */
    liana_tensor centred;         /* x without it */
} liana__batch_moments;

/* Of a call of BatchNormalization in training. A mask must have one axis less than the input, or the graph fails. */
liana__batch_moments liana__batch_moments_of(liana_layer_call *call, int64_t axis);

/* gamma (x - mean) / sqrt(variance + epsilon) + beta; gamma and beta [channels]. */
liana_tensor liana__batch_normalise(liana_layer_call *call, const liana__batch_moments *moments, liana_tensor gamma,
                                    liana_tensor beta, double epsilon);

/* The mean of [shards, channels] over shards, weighted by their elements: [channels]. */
liana_tensor liana__batch_mean_of_shards(liana_layer_call *call, const liana__batch_moments *moments,
                                         liana_tensor each);

/* The variance for the moving average, from that of a batch in which all elements count. */
liana_tensor liana__batch_moving_variance(liana_layer_call *call, liana_tensor variance, int64_t axis);

#endif
