#include "ops/binary.kernels.h"

const liana__kernel liana__binary_avx512 = {.name = "avx512",
                                            .isa = LIANA__ISA_AVX512,
                                            .applicable = has_combiner,
                                            .run = run_combiner};
