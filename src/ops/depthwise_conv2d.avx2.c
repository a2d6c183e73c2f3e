#include "ops/depthwise_conv2d.kernels.h"

const liana__kernel liana__depthwise_conv2d_avx2 = {
    .name = "avx2", .isa = LIANA__ISA_AVX2, .applicable = is_applicable, .prepare = prepare, .run = run};
