#include "ops/softmax.kernels.h"

const liana__kernel liana__softmax_avx2 = {.name = "avx2",
                                           .isa = LIANA__ISA_AVX2,
                                           .applicable = liana__applicable_f32,
                                           .run = run_softmax};
const liana__kernel liana__log_softmax_avx2 = {.name = "avx2",
                                               .isa = LIANA__ISA_AVX2,
                                               .applicable = liana__applicable_f32,
                                               .run = run_log_softmax};
