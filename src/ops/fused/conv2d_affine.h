/* conv2d_affine.h - convolutions and what follows them where batch normalisation uses fixed statistics (at inference):
 * a factor and a term for each channel, a residual that is added, and an activation.
 *
 * They are applied to sums that are still in registers, so that a result is written once and read by nobody before it
 * is finished, and in bf16 rounded once. The pass fuse_epilogue makes these ops, after differentiation: they have no
 * gradients of their own. Inputs: x, kernel, affine [2, channels] (factors, then terms; f64 for f64 images, else f32),
 * and for the dense one a residual that looks like the result. */
#ifndef LIANA_OPS_CONV2D_AFFINE_H
#define LIANA_OPS_CONV2D_AFFINE_H

#include "ops/conv/conv2d.h"
#include "ops/norm/batch_norm.h"

/* [2, channels]: gamma / sqrt(variance + epsilon), and beta - (mean - bias) times that, for the result of a convolution
 * to which a bias would be added (an invalid tensor: none). */
liana_tensor liana__op_batch_norm_affine_at(liana_location here, const liana_tensor parameters[4], liana_tensor bias,
                                            double epsilon);

#endif
