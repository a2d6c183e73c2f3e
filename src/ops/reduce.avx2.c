#include "ops/reduce.kernels.h"

const liana__kernel liana__reduce_avx2 = {.name = "avx2",
                                          .isa = LIANA__ISA_AVX2,
                                          .applicable = is_one_run,
                                          .run = run_reduce};
