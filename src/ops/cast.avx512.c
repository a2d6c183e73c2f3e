#include "ops/cast.kernels.h"

const liana__kernel liana__cast_avx512 = {.name = "avx512",
                                          .isa = LIANA__ISA_AVX512,
                                          .applicable = has_converter,
                                          .run = run_converter};
