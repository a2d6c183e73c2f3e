#include "ops/cast.kernels.h"

const liana__kernel liana__cast_avx2 = {.name = "avx2",
                                        .isa = LIANA__ISA_AVX2,
                                        .applicable = has_converter,
                                        .run = run_converter};
