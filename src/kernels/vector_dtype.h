/* vector_dtype.h - loads and stores vectors of floats from and to memory with f32 or bf16: one source for the kernels
 * of both. A function with a dtype is called with a constant one and inlined, so each dtype becomes a loop of its own.
 * Positions are in elements. */
#ifndef LIANA_KERNELS_VECTOR_DTYPE_H
#define LIANA_KERNELS_VECTOR_DTYPE_H

#include "ir/op.h"
#include "kernels/vector.h"

LIANA__INLINE vector_float vector_load_as(liana_dtype dtype, const void *source, int64_t i)
{
    return dtype == LIANA_BF16 ? vector_load_bf16((const uint16_t *)source + i)
                               : vector_load((const float *)source + i);
}

LIANA__INLINE void vector_store_as(liana_dtype dtype, void *target, int64_t i, vector_float value)
{
    if (dtype == LIANA_BF16) {
        vector_store_bf16((uint16_t *)target + i, value);
    } else {
        vector_store((float *)target + i, value);
    }
}

LIANA__INLINE vector_float vector_load_part_as(liana_dtype dtype, const void *source, int64_t i, int64_t count)
{
    return dtype == LIANA_BF16 ? vector_load_part_bf16((const uint16_t *)source + i, count)
                               : vector_load_part((const float *)source + i, count);
}

LIANA__INLINE void vector_store_part_as(liana_dtype dtype, void *target, int64_t i, vector_float value, int64_t count)
{
    if (dtype == LIANA_BF16) {
        vector_store_part_bf16((uint16_t *)target + i, value, count);
    } else {
        vector_store_part((float *)target + i, value, count);
    }
}

/* As many of `left` elements as fill a vector, the others 0. */
LIANA__INLINE vector_float vector_load_up_to(liana_dtype dtype, const void *source, int64_t i, int64_t left)
{
    return left >= VECTOR_LENGTH ? vector_load_as(dtype, source, i) : vector_load_part_as(dtype, source, i, left);
}

LIANA__INLINE void vector_store_up_to(liana_dtype dtype, void *target, int64_t i, vector_float value, int64_t left)
{
    if (left >= VECTOR_LENGTH) {
        vector_store_as(dtype, target, i, value);
    } else {
        vector_store_part_as(dtype, target, i, value, left);
    }
}

/* A single element. */
LIANA__INLINE float vector_load_one(liana_dtype dtype, const void *source, int64_t i)
{
    return dtype == LIANA_BF16 ? liana__bf16_to_float(((const uint16_t *)source)[i]) : ((const float *)source)[i];
}

LIANA__INLINE void vector_store_one(liana_dtype dtype, void *target, int64_t i, float value)
{
    if (dtype == LIANA_BF16) {
        ((uint16_t *)target)[i] = liana__float_to_bf16(value);
    } else {
        ((float *)target)[i] = value;
    }
}

/* Where element i lies. */
LIANA__INLINE const void *vector_at(liana_dtype dtype, const void *data, int64_t i)
{
    return (const char *)data + i * (dtype == LIANA_BF16 ? 2 : 4);
}

/* Input 0 has a dtype that this file's kernels are for: f32 or bf16. Those that are compiled with instructions for bf16
 * leave f32, which gains nothing by them, to the others. */
LIANA__INLINE bool vector_applicable(const liana__node *node, const char **reason)
{
    liana_dtype dtype = node->inputs[0]->dtype;
#if defined(__AVX512BF16__)
    *reason = "not bf16";
    return dtype == LIANA_BF16;
#else
    *reason = "neither f32 nor bf16";
    return dtype == LIANA_F32 || dtype == LIANA_BF16;
#endif
}

/* Runs code for either dtype on that of the node's first input. */
LIANA__INLINE liana_status vector_run_as(const liana__call *call, liana_status (*run)(const liana__call *, liana_dtype))
{
    return call->node->inputs[0]->dtype == LIANA_BF16 ? run(call, LIANA_BF16) : run(call, LIANA_F32);
}

#endif
