#include "ops/depthwise_conv2d.kernels.h"

const liana__kernel liana__depthwise_conv2d_avx512 = {
    .name = "avx512", .isa = LIANA__ISA_AVX512, .applicable = is_applicable, .prepare = prepare, .run = run};
