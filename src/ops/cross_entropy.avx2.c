#include "ops/cross_entropy.kernels.h"

const liana__kernel liana__cross_entropy_avx2 = {.name = "avx2",
                                                 .isa = LIANA__ISA_AVX2,
                                                 .applicable = liana__applicable_f32,
                                                 .run = run_loss};
const liana__kernel liana__cross_entropy_gradient_avx2 = {.name = "avx2",
                                                          .isa = LIANA__ISA_AVX2,
                                                          .applicable = liana__applicable_f32,
                                                          .run = run_gradient};
