#include "ops/binary.kernels.h"

const liana__kernel liana__binary_avx2 = {.name = "avx2",
                                          .isa = LIANA__ISA_AVX2,
                                          .applicable = has_combiner,
                                          .run = run_combiner};
