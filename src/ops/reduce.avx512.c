#include "ops/reduce.kernels.h"

const liana__kernel liana__reduce_avx512 = {.name = "avx512",
                                            .isa = LIANA__ISA_AVX512,
                                            .applicable = is_one_run,
                                            .run = run_reduce};
