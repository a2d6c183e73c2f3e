/* shape.h - dtypes, shapes and single elements. */
#ifndef LIANA_IR_SHAPE_H
#define LIANA_IR_SHAPE_H

#include "base/half.h"
#include "base/text.h"

#include <liana/graph.h>
#include <math.h>
#include <string.h>

/* A shape as text, "[2, 3]"; with its dtype if `dtype` >= 0: "f32[2, 3]". */
typedef struct liana__shape_text {
    char text[160];
} liana__shape_text;
liana__shape_text liana__shape_print(const liana_shape *shape);
liana__shape_text liana__type_print(liana_dtype dtype, const liana_shape *shape);

/* The floats that layers compute with: all but f16, which is kept and cast. */
static inline bool liana__dtype_computes(liana_dtype dtype)
{
    return dtype == LIANA_F32 || dtype == LIANA_BF16 || dtype == LIANA_F64;
}

static inline bool liana__dtype_is_float(liana_dtype dtype)
{
    return liana__dtype_computes(dtype) || dtype == LIANA_F16;
}

static inline bool liana__dtype_is_signed(liana_dtype dtype)
{
    return dtype == LIANA_S8 || dtype == LIANA_S16 || dtype == LIANA_S32 || dtype == LIANA_S64;
}

static inline bool liana__dtype_is_unsigned(liana_dtype dtype)
{
    return dtype == LIANA_U8 || dtype == LIANA_U16 || dtype == LIANA_U32 || dtype == LIANA_U64;
}

/* The dtype in which sums of such elements are kept: f64 for f64, else f32 (also for bf16 and f16). */
static inline liana_dtype liana__wide_dtype(liana_dtype dtype)
{
    return dtype == LIANA_F64 ? LIANA_F64 : LIANA_F32;
}

/* Row-major strides in elements. */
void liana__shape_strides(const liana_shape *shape, int64_t strides[LIANA_MAX_RANK]);

/* The number of bytes of a tensor. */
static inline size_t liana__byte_size(liana_dtype dtype, const liana_shape *shape)
{
    return (size_t)liana_shape_size(shape) * liana_dtype_size(dtype);
}

/* Checks that dimensions are positive and the byte size is well below SIZE_MAX. */
bool liana__shape_valid(liana_dtype dtype, const liana_shape *shape);

/* numpy's broadcasting of two shapes; false if they do not fit. */
bool liana__shape_broadcast(const liana_shape *a, const liana_shape *b, liana_shape *result);

/* The strides to read a tensor of `shape` as if it had the shape `wide` (0 where it is repeated). */
void liana__broadcast_strides(const liana_shape *shape, const liana_shape *wide, int64_t strides[LIANA_MAX_RANK]);

static inline float liana__bf16_to_float(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* Round to nearest even; NaN stays NaN. */
static inline uint16_t liana__float_to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Reads one element as a double, which is exact for all but large 64-bit integers. The reference loops read and write
 * through these two functions, so one loop serves every dtype. */
static inline double liana__load(const void *data, liana_dtype dtype, int64_t index)
{
    switch (dtype) {
    case LIANA_F32: return ((const float *)data)[index];
    case LIANA_BF16: return liana__bf16_to_float(((const uint16_t *)data)[index]);
    case LIANA_F64: return ((const double *)data)[index];
    case LIANA_S32: return ((const int32_t *)data)[index];
    case LIANA_S64: return (double)((const int64_t *)data)[index];
    case LIANA_U8: return ((const uint8_t *)data)[index];
    case LIANA_U32: return ((const uint32_t *)data)[index];
    case LIANA_U64: return (double)((const uint64_t *)data)[index];
    case LIANA_BOOL: return ((const uint8_t *)data)[index] != 0;
    case LIANA_F16: return liana__half_to_float(((const uint16_t *)data)[index]);
    case LIANA_S8: return ((const int8_t *)data)[index];
    case LIANA_S16: return ((const int16_t *)data)[index];
    case LIANA_U16: return ((const uint16_t *)data)[index];
    case LIANA_NUM_DTYPES: break;
    }
    return 0;
}

/* Integers are truncated towards zero and clamped to their range, NaN becomes 0 (StableHLO leaves both undefined). */
static inline double liana__clamp_integer(double value, double low, double high)
{
    return value != value ? 0 : value < low ? low : value > high ? high : value;
}

static inline void liana__store(void *data, liana_dtype dtype, int64_t index, double value)
{
    switch (dtype) {
    case LIANA_F32: ((float *)data)[index] = (float)value; return;
    case LIANA_BF16: ((uint16_t *)data)[index] = liana__float_to_bf16((float)value); return;
    case LIANA_F64: ((double *)data)[index] = value; return;
    case LIANA_S32: ((int32_t *)data)[index] = (int32_t)liana__clamp_integer(value, INT32_MIN, INT32_MAX); return;
    /* The largest doubles below 2^63 and 2^64. */
    case LIANA_S64:
        ((int64_t *)data)[index] = (int64_t)liana__clamp_integer(value, -0x1p63, 0x1.fffffffffffffp62);
        return;
    case LIANA_U8: ((uint8_t *)data)[index] = (uint8_t)liana__clamp_integer(value, 0, UINT8_MAX); return;
    case LIANA_U32: ((uint32_t *)data)[index] = (uint32_t)liana__clamp_integer(value, 0, UINT32_MAX); return;
    case LIANA_U64: ((uint64_t *)data)[index] = (uint64_t)liana__clamp_integer(value, 0, 0x1.fffffffffffffp63); return;
    case LIANA_BOOL: ((uint8_t *)data)[index] = value != 0; return;
    case LIANA_F16: ((uint16_t *)data)[index] = liana__float_to_half((float)value); return;
    case LIANA_S8: ((int8_t *)data)[index] = (int8_t)liana__clamp_integer(value, INT8_MIN, INT8_MAX); return;
    case LIANA_S16: ((int16_t *)data)[index] = (int16_t)liana__clamp_integer(value, INT16_MIN, INT16_MAX); return;
    case LIANA_U16: ((uint16_t *)data)[index] = (uint16_t)liana__clamp_integer(value, 0, UINT16_MAX); return;
    case LIANA_NUM_DTYPES: return;
    }
}

#endif
