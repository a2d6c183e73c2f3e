#include "ops/binary.kernels.h"
#include "ops/compare.kernels.h"

const liana__kernel liana__binary_avx512 = {.name = "avx512",
                                            .isa = LIANA__ISA_AVX512,
                                            .applicable = has_combiner,
                                            .run = run_combiner};
const liana__kernel liana__compare_avx512 = {.name = "avx512",
                                             .isa = LIANA__ISA_AVX512,
                                             .applicable = is_comparison,
                                             .run = run_comparison};
