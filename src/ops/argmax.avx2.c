#include "ops/argmax.kernels.h"

const liana__kernel liana__argmax_avx2 = {.name = "avx2",
                                          .isa = LIANA__ISA_AVX2,
                                          .applicable = is_rows_of_floats,
                                          .run = run_argmax};
