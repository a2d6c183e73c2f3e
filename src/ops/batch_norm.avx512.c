#include "ops/batch_norm.kernels.h"

const liana__kernel liana__batch_norm_statistics_avx512 = {.name = "avx512",
                                                           .isa = LIANA__ISA_AVX512,
                                                           .applicable = is_f32,
                                                           .prepare = prepare_statistics,
                                                           .run = run_statistics};

const liana__kernel liana__batch_norm_training_avx512 = {
    .name = "avx512", .isa = LIANA__ISA_AVX512, .applicable = is_f32, .prepare = prepare_affine, .run = run_training};

const liana__kernel liana__batch_norm_inference_avx512 = {
    .name = "avx512", .isa = LIANA__ISA_AVX512, .applicable = is_f32, .prepare = prepare_affine, .run = run_inference};

const liana__kernel liana__batch_norm_gradient_sums_avx512 = {.name = "avx512",
                                                              .isa = LIANA__ISA_AVX512,
                                                              .applicable = is_f32,
                                                              .prepare = prepare_gradient_sums,
                                                              .run = run_gradient_sums};

const liana__kernel liana__batch_norm_input_gradient_avx512 = {.name = "avx512",
                                                               .isa = LIANA__ISA_AVX512,
                                                               .applicable = is_f32,
                                                               .prepare = prepare_input_gradient,
                                                               .run = run_input_gradient};
