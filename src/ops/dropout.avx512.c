#include "ops/dropout.kernels.h"

const liana__kernel liana__dropout_avx512 = {.name = "avx512",
                                             .isa = LIANA__ISA_AVX512,
                                             .applicable = liana__applicable_f32,
                                             .run = run_dropout};
