/* epilogue.h - the last steps of ops on a sum before they store it: a factor and a term of its channel, maybe a
 * residual, and an activation. */
#ifndef LIANA_KERNELS_EPILOGUE_H
#define LIANA_KERNELS_EPILOGUE_H

#include "ir/op.h"

#include <math.h>

/* The activation that an op ends in. */
typedef enum liana__fused_activation {
    LIANA__FUSED_LINEAR,
    LIANA__FUSED_RELU,
    LIANA__FUSED_RELU6,
    LIANA__FUSED_SWISH,
    LIANA__NUM_FUSED_ACTIVATIONS,
} liana__fused_activation;

/* For plain loops; a NaN stays one. */
static inline double liana__fused_activate(int activation, double z)
{
    switch (activation) {
    case LIANA__FUSED_RELU: return z < 0 ? 0 : z;
    case LIANA__FUSED_RELU6: return z < 0 ? 0 : z > 6 ? 6 : z;
    case LIANA__FUSED_SWISH: return z / (1 + exp(-z));
    default: return z;
    }
}

/* Inputs of convolutions with an epilogue: factors and terms [2, channels], and maybe a residual to add. */
enum { LIANA__AFFINE_INPUT = 2, LIANA__RESIDUAL_INPUT = 3 };

/* Whether a convolution has one: ops without take two inputs. */
static inline bool liana__has_epilogue(const liana__node *convolution)
{
    return convolution->op->num_inputs > LIANA__AFFINE_INPUT;
}

#endif
