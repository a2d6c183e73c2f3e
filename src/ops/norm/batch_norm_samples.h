/* batch_norm_samples.h - builders of the samples of batch normalisation, with an activation or without. */
#ifndef LIANA_OPS_BATCH_NORM_SAMPLES_H
#define LIANA_OPS_BATCH_NORM_SAMPLES_H

#include "ops/norm/batch_norm.h"
#include "ops/samples.h"

typedef struct liana__batch_norm_row {
    const char *name;
    liana_shape shape;
    int activation;
    bool adds; /* a residual */
} liana__batch_norm_row;

liana__build_row liana__sample_batch_norm_training, liana__sample_batch_norm_inference,
    liana__sample_batch_norm_gradient_sums, liana__sample_batch_norm_input_gradient;

#endif
