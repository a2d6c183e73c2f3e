/* conv_samples.h - the samples of convolutions, dense and depthwise. */
#ifndef LIANA_OPS_CONV_SAMPLES_H
#define LIANA_OPS_CONV_SAMPLES_H

#include "ops/conv/conv2d.h"
#include "ops/samples.h"

/* One convolution for the three ops of a family. */
typedef struct liana__conv_problem {
    const char *name;
    int64_t batch, input[2], channels, filters; /* filters: of each channel, if depthwise */
    int64_t kernel[2];
    liana_conv_options options;
} liana__conv_problem;

liana__build_row liana__sample_convolution;

#endif
