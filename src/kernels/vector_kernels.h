/* vector_kernels.h - kernels that are compiled several times, once for each width of vectors.
 *
 * The source is src/ops/<stem>.kernels.h. Small .c files include it, and CMake compiles each for one instruction set:
 *
 *   file                           vectors    for
 *   <stem>.avx512.c                64 bytes
 *   <stem>.avx2.c                  32 bytes
 *   <stem>.generic.c               16 bytes   every processor with such vectors (SSE2, NEON); right on others too
 *   <stem>.avx512_bf16_storage.c   64 bytes   kernels that gain from rounding to bf16 by an instruction
 *   <stem>.avx512_bf16.c           64 bytes   kernels that gain from dot products of bf16 (LIANA__DOTS)
 *   <stem>.amx.c                   64 bytes   kernels that use tiles (LIANA_AMX is defined too)
 *
 * In the last three, __AVX512BF16__ is defined. Dot products have a file of their own because many processors that have
 * them are slow at them. <stem>.widened.avx512.c and files like it define LIANA__WIDENED: they are for operands of bf16
 * that are multiplied as floats (LIANA__STORES_BF16, vector.h). Tests of kernels on emulated tiles define
 * LIANA__VECTOR_KERNEL themselves. */
#ifndef LIANA_KERNELS_VECTOR_KERNELS_H
#define LIANA_KERNELS_VECTOR_KERNELS_H

#include "ir/op.h"

#define LIANA__DECLARE_VECTOR_KERNELS(name)                                                                           \
    extern const liana__kernel liana__##name##_amx, liana__##name##_avx512_bf16, liana__##name##_avx512_bf16_storage, \
        liana__##name##_avx512, liana__##name##_avx2, liana__##name##_generic,                                        \
        liana__##name##_of_bf16_avx512_bf16_storage, liana__##name##_of_bf16_avx512, liana__##name##_of_bf16_avx2

/* The kernels in the list of an op: without the one that rounds to bf16 by an instruction, or with it. */
#if defined(LIANA_X86)
#define LIANA__VECTOR_KERNELS(name) &liana__##name##_avx512, &liana__##name##_avx2, &liana__##name##_generic
#define LIANA__BF16_VECTOR_KERNELS(name) &liana__##name##_avx512_bf16_storage, LIANA__VECTOR_KERNELS(name)
#else
#define LIANA__VECTOR_KERNELS(name) &liana__##name##_generic
#define LIANA__BF16_VECTOR_KERNELS(name) LIANA__VECTOR_KERNELS(name)
#endif

/* Defines the kernel for the width that is being compiled. After the name come the other members of liana__kernel. A
 * file may first define LIANA__VECTOR_KERNEL_PREFIX: it is put before the names that users see. */
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
