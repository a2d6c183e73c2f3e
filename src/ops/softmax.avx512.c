#include "ops/softmax.kernels.h"

const liana__kernel liana__softmax_avx512 = {.name = "avx512",
                                             .isa = LIANA__ISA_AVX512,
                                             .applicable = liana__applicable_f32,
                                             .run = run_softmax};
const liana__kernel liana__log_softmax_avx512 = {.name = "avx512",
                                                 .isa = LIANA__ISA_AVX512,
                                                 .applicable = liana__applicable_f32,
                                                 .run = run_log_softmax};
