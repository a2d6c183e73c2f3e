#include "ops/pool2d.kernels.h"

const liana__kernel liana__max_pool2d_avx512 = {.name = "avx512",
                                                .isa = LIANA__ISA_AVX512,
                                                .applicable = is_f32,
                                                .run = run_max};

const liana__kernel liana__max_pool2d_gradient_avx512 = {.name = "avx512",
                                                         .isa = LIANA__ISA_AVX512,
                                                         .applicable = is_f32,
                                                         .run = run_max_gradient};

const liana__kernel liana__average_pool2d_avx512 = {.name = "avx512",
                                                    .isa = LIANA__ISA_AVX512,
                                                    .applicable = is_f32,
                                                    .run = run_average};

const liana__kernel liana__average_pool2d_gradient_avx512 = {.name = "avx512",
                                                             .isa = LIANA__ISA_AVX512,
                                                             .applicable = is_f32,
                                                             .run = run_average_gradient};
