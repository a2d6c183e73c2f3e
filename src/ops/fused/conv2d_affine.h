/* conv2d_affine.h - fused convolutions for batch normalisation with fixed statistics (inference): a factor and an
 * offset for each channel, an optional residual that is added, and an activation.
 *
 * They are applied to sums that are still in registers. So a result is written once, is not read before it is finished,
 * and is rounded once in bf16. The pass fuse_epilogue makes these ops after differentiation, so they have no gradients.
 * Inputs: x, kernel, affine [2, channels] (factors, then offsets; f64 for f64 images, else f32), and for the dense one
 * an optional residual with the shape of the result. */
#ifndef LIANA_OPS_CONV2D_AFFINE_H
#define LIANA_OPS_CONV2D_AFFINE_H

#include "ops/conv/convolution.h"
#include "ops/norm/batch_norm.h"

/* [2, channels]: the factor gamma / sqrt(variance + epsilon), and the offset beta - (mean - bias) * factor, for the
 * result of a convolution without its bias (bias invalid: there is none). */
liana_tensor liana__op_batch_norm_affine_at(liana_location here, const liana_tensor parameters[4], liana_tensor bias,
                                            double epsilon);

#endif
