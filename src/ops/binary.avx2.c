#include "ops/binary.kernels.h"
#include "ops/compare.kernels.h"

const liana__kernel liana__binary_avx2 = {.name = "avx2",
                                          .isa = LIANA__ISA_AVX2,
                                          .applicable = has_combiner,
                                          .run = run_combiner};
const liana__kernel liana__compare_avx2 = {.name = "avx2",
                                           .isa = LIANA__ISA_AVX2,
                                           .applicable = is_comparison,
                                           .run = run_comparison};
