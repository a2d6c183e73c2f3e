/* conv2d.stablehlo.h - convolutions as StableHLO. */
#ifndef LIANA_OPS_CONV2D_STABLEHLO_H
#define LIANA_OPS_CONV2D_STABLEHLO_H

#include "ops/conv/conv2d.h"
#include "stablehlo/lowering.h"

/* Writes a node of any of the six ops as StableHLO, from the geometry of its convolution: a depthwise one has a group
 * for each channel. */
liana_status liana__conv_lower(liana__lowering *lowering, const liana__node *node, liana__conv_pass pass,
                               const liana__geometry *geometry);

#endif
