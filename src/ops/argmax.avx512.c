#include "ops/argmax.kernels.h"

const liana__kernel liana__argmax_avx512 = {.name = "avx512",
                                            .isa = LIANA__ISA_AVX512,
                                            .applicable = is_rows_of_floats,
                                            .run = run_argmax};
