/* vector_kernels.h - kernels that are compiled once for each width of vectors.
 *
 * The source is src/ops/<stem>.kernels.h. The files <stem>.avx512.c, <stem>.avx2.c and <stem>.generic.c include it, and
 * CMake compiles them for vectors of LIANA_VECTOR_BYTES = 64, 32 and 16 bytes. The generic one is for any processor
 * that has vectors of 16 bytes (SSE2, NEON), and still right where the compiler must do without. Others are for those
 * that gain from the instructions for bf16 (__AVX512BF16__ is then defined): <stem>.avx512_bf16_storage.c where it is
 * rounding to bf16 that they gain from, <stem>.avx512_bf16.c where it is dot products (LIANA__DOTS), which are slow on
 * many processors that have them, and <stem>.amx.c for tiles (LIANA_AMX too). <stem>.widened.avx512.c and the like,
 * which define LIANA__WIDENED, are for operands of bf16 that are multiplied as floats (LIANA__STORES_BF16, vector.h).
 * Tests define LIANA__VECTOR_KERNEL themselves, for kernels on emulated tiles. */
#ifndef LIANA_KERNELS_VECTOR_KERNELS_H
#define LIANA_KERNELS_VECTOR_KERNELS_H

#include "ir/op.h"

#define LIANA__DECLARE_VECTOR_KERNELS(name)                                                                           \
    extern const liana__kernel liana__##name##_amx, liana__##name##_avx512_bf16, liana__##name##_avx512_bf16_storage, \
        liana__##name##_avx512, liana__##name##_avx2, liana__##name##_generic,                                        \
        liana__##name##_of_bf16_avx512_bf16_storage, liana__##name##_of_bf16_avx512, liana__##name##_of_bf16_avx2

/* They in an op's list of kernels: without the one that rounds to bf16 by an instruction, or with it. */
#if defined(LIANA_X86)
#define LIANA__VECTOR_KERNELS(name) &liana__##name##_avx512, &liana__##name##_avx2, &liana__##name##_generic
#define LIANA__BF16_VECTOR_KERNELS(name) &liana__##name##_avx512_bf16_storage, LIANA__VECTOR_KERNELS(name)
#else
#define LIANA__VECTOR_KERNELS(name) &liana__##name##_generic
#define LIANA__BF16_VECTOR_KERNELS(name) LIANA__VECTOR_KERNELS(name)
#endif

/* Defines the one of the width that is being compiled; after its name come the other members of liana__kernel. A file
 * may say first what goes before the names that users see (LIANA__VECTOR_KERNEL_PREFIX). */
#if defined(LIANA__WIDENED)
#define LIANA__VECTOR_KERNEL_PREFIX "widened_"
#define LIANA__VECTOR_KERNEL_NAMED(kernel, level) liana__##kernel##_of_bf16_##level
#else
#define LIANA__VECTOR_KERNEL_NAMED(kernel, level) liana__##kernel##_##level
#endif
#if !defined(LIANA__VECTOR_KERNEL_PREFIX)
#define LIANA__VECTOR_KERNEL_PREFIX ""
#endif
#define LIANA__VECTOR_KERNEL_AT(kernel, level, least, ...)                                                       \
    const liana__kernel LIANA__VECTOR_KERNEL_NAMED(kernel, level) = {.name = LIANA__VECTOR_KERNEL_PREFIX #level, \
                                                                     .isa = least,                               \
                                                                     __VA_ARGS__}
#if defined(LIANA_VECTOR_BYTES) && !defined(LIANA__VECTOR_KERNEL)
#if defined(LIANA_AMX)
#define LIANA__VECTOR_KERNEL(kernel, ...) LIANA__VECTOR_KERNEL_AT(kernel, amx, LIANA__ISA_AMX, __VA_ARGS__)
#elif defined(LIANA_BF16_STORAGE)
#define LIANA__VECTOR_KERNEL(kernel, ...) \
    LIANA__VECTOR_KERNEL_AT(kernel, avx512_bf16_storage, LIANA__ISA_AVX512_BF16_STORAGE, __VA_ARGS__)
#elif defined(__AVX512BF16__)
#define LIANA__VECTOR_KERNEL(kernel, ...) \
    LIANA__VECTOR_KERNEL_AT(kernel, avx512_bf16, LIANA__ISA_AVX512_BF16, __VA_ARGS__)
#elif LIANA_VECTOR_BYTES == 64
#define LIANA__VECTOR_KERNEL(kernel, ...) LIANA__VECTOR_KERNEL_AT(kernel, avx512, LIANA__ISA_AVX512, __VA_ARGS__)
#elif LIANA_VECTOR_BYTES == 32
#define LIANA__VECTOR_KERNEL(kernel, ...) LIANA__VECTOR_KERNEL_AT(kernel, avx2, LIANA__ISA_AVX2, __VA_ARGS__)
#else
#define LIANA__VECTOR_KERNEL(kernel, ...) LIANA__VECTOR_KERNEL_AT(kernel, generic, LIANA__ISA_BASELINE, __VA_ARGS__)
#endif
#endif

#endif
