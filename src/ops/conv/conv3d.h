/* conv3d.h - the kernels of convolutions of volumes. */
#ifndef LIANA_OPS_CONV3D_H
#define LIANA_OPS_CONV3D_H

#include "ops/conv/convolution.h"

/* By a convolution of images, one for each instruction set: it is the best that has that set. */
extern const liana__kernel liana__conv3d_planes_amx, liana__conv3d_planes_avx512_bf16,
    liana__conv3d_planes_avx512_bf16_storage, liana__conv3d_planes_avx512, liana__conv3d_planes_avx2,
    liana__conv3d_planes_baseline;

/* The plain loops of the three ops. */
liana_status liana__conv3d_run_reference(const liana__call *call);

#endif
