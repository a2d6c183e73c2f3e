#include "ops/unary.kernels.h"

const liana__kernel liana__unary_avx2 = {.name = "avx2", .isa = LIANA__ISA_AVX2, .applicable = has_map, .run = run_map};
