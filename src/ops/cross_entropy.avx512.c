#include "ops/cross_entropy.kernels.h"

const liana__kernel liana__cross_entropy_avx512 = {.name = "avx512",
                                                   .isa = LIANA__ISA_AVX512,
                                                   .applicable = liana__applicable_f32,
                                                   .run = run_loss};
const liana__kernel liana__cross_entropy_gradient_avx512 = {.name = "avx512",
                                                            .isa = LIANA__ISA_AVX512,
                                                            .applicable = liana__applicable_f32,
                                                            .run = run_gradient};
