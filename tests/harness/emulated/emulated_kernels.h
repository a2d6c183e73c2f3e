/* emulated_kernels.h - liana's kernels for AMX, compiled from the same sources for emulated tiles: once with nothing
 * but plain C, for any processor, and once with the AVX-512 that they use with the tiles.
 *
 * The files emulated_*.generic.c and emulated_*.avx512_bf16.c include this and then the kernel's source. */
#ifndef LIANA_HARNESS_EMULATED_KERNELS_H
#define LIANA_HARNESS_EMULATED_KERNELS_H

#include "harness/emulated/emulated_tiles.h"
#include "ir/op.h"

#if defined(LIANA_VECTOR_BYTES)
#if LIANA_VECTOR_BYTES == 64
#define LIANA__VECTOR_KERNEL(kernel, ...)                                                                           \
    const liana__kernel liana__##kernel##_emulated_avx512 = {.name =                                                \
                                                                 LIANA__VECTOR_KERNEL_PREFIX "emulated_amx_avx512", \
                                                             .isa = LIANA__ISA_AVX512_BF16,                         \
                                                             __VA_ARGS__}
#else
#define LIANA__VECTOR_KERNEL(kernel, ...)                                                                 \
    const liana__kernel liana__##kernel##_emulated = {.name = LIANA__VECTOR_KERNEL_PREFIX "emulated_amx", \
                                                      .isa = LIANA__ISA_BASELINE,                         \
                                                      __VA_ARGS__}
#endif
#endif

extern const liana__kernel liana__product_emulated, liana__product_emulated_avx512, liana__conv2d_window_emulated,
    liana__conv2d_window_emulated_avx512;

/* Those of an op, NULL at the end. */
const liana__kernel *const *liana__emulated_kernels(const liana__op *op);

#endif
