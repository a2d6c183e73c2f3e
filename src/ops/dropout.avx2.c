#include "ops/dropout.kernels.h"

const liana__kernel liana__dropout_avx2 = {.name = "avx2",
                                           .isa = LIANA__ISA_AVX2,
                                           .applicable = liana__applicable_f32,
                                           .run = run_dropout};
