#include "ops/unary.kernels.h"

const liana__kernel liana__unary_avx512 = {.name = "avx512",
                                           .isa = LIANA__ISA_AVX512,
                                           .applicable = has_map,
                                           .run = run_map};
