/* Converts numbers between dtypes, value by value. */
#include "data/source/cast.h"

#include "base/format.h"
#include "base/half.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A value of any dtype, as it is. */
typedef struct number {
    bool is_float;
    bool above; /* a whole number of 2^63 or more, which is 2^64 + `whole` */
    int64_t whole;
    double real;
} number;

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static number whole(int64_t value)
{
    return (number){.whole = value};
}

static number real(double value)
{
    return (number){.is_float = true, .real = value};
}

static number load(liana_dtype dtype, const void *values, int64_t i)
{
    switch (dtype) {
    case LIANA_F32: return real((double)((const float *)values)[i]);
    case LIANA_BF16: return real((double)float_of((uint32_t)((const uint16_t *)values)[i] << 16));
    case LIANA_F64: return real(((const double *)values)[i]);
    case LIANA_S32: return whole(((const int32_t *)values)[i]);
    case LIANA_S64: return whole(((const int64_t *)values)[i]);
    case LIANA_U8: return whole(((const uint8_t *)values)[i]);
    case LIANA_U32: return whole(((const uint32_t *)values)[i]);
    case LIANA_S8: return whole(((const int8_t *)values)[i]);
    case LIANA_S16: return whole(((const int16_t *)values)[i]);
    case LIANA_U16: return whole(((const uint16_t *)values)[i]);
    case LIANA_F16: return real((double)liana__half_to_float(((const uint16_t *)values)[i]));
    case LIANA_U64: {
        uint64_t value = ((const uint64_t *)values)[i];
        return (number){.above = value > INT64_MAX, .whole = (int64_t)value};
    }
    default: return whole(((const uint8_t *)values)[i] != 0);
    }
}

/* A whole float in the range of int64 or uint64 as the whole number that it is. */
static bool make_whole(number *value)
{
    if (!value->is_float) return true;
    double from = value->real;
    if (!(from >= -0x1p63 && from < 0x1p64) || from != floor(from)) return false;
    bool above = from >= 0x1p63;
    *value = (number){.above = above, .whole = above ? (int64_t)(uint64_t)from : (int64_t)from};
    return true;
}

static bool store_whole(const number *value, liana_dtype dtype, void *dst, int64_t i)
{
    int64_t from = value->whole, least = 0, most = 0;
    switch (dtype) {
    case LIANA_S32: least = INT32_MIN, most = INT32_MAX; break;
    case LIANA_S64: least = INT64_MIN, most = INT64_MAX; break;
    case LIANA_U8: most = UINT8_MAX; break;
    case LIANA_U32: most = UINT32_MAX; break;
    case LIANA_S8: least = INT8_MIN, most = INT8_MAX; break;
    case LIANA_S16: least = INT16_MIN, most = INT16_MAX; break;
    case LIANA_U16: most = UINT16_MAX; break;
    case LIANA_U64: most = INT64_MAX; break;
    default: most = 1; break;
    }
    if (value->above ? dtype != LIANA_U64 : from < least || from > most) return false;
    switch (dtype) {
    case LIANA_S32: ((int32_t *)dst)[i] = (int32_t)from; break;
    case LIANA_U32: ((uint32_t *)dst)[i] = (uint32_t)from; break;
    case LIANA_S8: ((int8_t *)dst)[i] = (int8_t)from; break;
    case LIANA_S16: ((int16_t *)dst)[i] = (int16_t)from; break;
    case LIANA_U16: ((uint16_t *)dst)[i] = (uint16_t)from; break;
    case LIANA_S64:
    case LIANA_U64: ((int64_t *)dst)[i] = from; break;
    default: ((uint8_t *)dst)[i] = (uint8_t)from; break;
    }
    return true;
}

/* The nearest bf16, halves to even. NaN stays NaN. */
static uint16_t round_bf16(float value)
{
    uint32_t bits = bits_of(value);
    if (isnan(value)) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/* The value as the dtype holds it. */
static double rounded(double value, liana_dtype dtype)
{
    if (dtype == LIANA_F64) return value;
    float narrow = (float)value;
    if (dtype == LIANA_F16) return (double)liana__half_to_float(liana__float_to_half(narrow));
    return dtype == LIANA_F32 ? (double)narrow : (double)float_of((uint32_t)round_bf16(narrow) << 16);
}

/* Whether a float dtype has exactly this whole number. */
static bool holds(const number *value, liana_dtype dtype)
{
    number back = real(rounded(value->above ? (double)(uint64_t)value->whole : (double)value->whole, dtype));
    return make_whole(&back) && back.whole == value->whole && back.above == value->above;
}

static bool store_real(const number *value, liana_dtype dtype, void *dst, int64_t i)
{
    double from = value->real;
    if (!value->is_float) {
        if (!holds(value, dtype)) return false;
        from = value->above ? (double)(uint64_t)value->whole : (double)value->whole;
    }
    if (isfinite(from) && !isfinite(rounded(from, dtype))) return false;
    switch (dtype) {
    case LIANA_F32: ((float *)dst)[i] = (float)from; break;
    case LIANA_BF16: ((uint16_t *)dst)[i] = round_bf16((float)from); break;
    case LIANA_F16: ((uint16_t *)dst)[i] = liana__float_to_half((float)from); break;
    default: ((double *)dst)[i] = from; break;
    }
    return true;
}

int64_t liana__cast_values(liana_dtype from, const void *src, liana_dtype to, void *dst, int64_t count)
{
    if (from == to) {
        if (count) memcpy(dst, src, (size_t)count * liana_dtype_size(to));
        return -1;
    }
    bool to_real = to == LIANA_F32 || to == LIANA_BF16 || to == LIANA_F64 || to == LIANA_F16;
    for (int64_t i = 0; i < count; i++) {
        number value = load(from, src, i);
        bool fits = to_real ? store_real(&value, to, dst, i) : make_whole(&value) && store_whole(&value, to, dst, i);
        if (!fits) return i;
    }
    return -1;
}

void liana__cast_describe(liana_dtype dtype, const void *values, int64_t index, char *text, size_t size)
{
    number value = load(dtype, values, index);
    if (value.is_float) {
        snprintf(text, size, "%.9g", liana__shown(value.real));
    } else if (value.above) {
        snprintf(text, size, "%" PRIu64, (uint64_t)value.whole);
    } else {
        snprintf(text, size, "%" PRId64, value.whole);
    }
}
