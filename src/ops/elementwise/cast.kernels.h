/* cast.kernels.h - casts, as loops that the compiler turns into vectors. */
#include "kernels/vector_dtype.h"
#include "kernels/vector_kernels.h"
#include "ops/elementwise/cast.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

static void u8_to_f32(void *dst, const void *src, int64_t count)
{
    float *to = dst;
    const uint8_t *from = src;
    for (int64_t i = 0; i < count; i++) to[i] = from[i];
}

static void bool_to_f32(void *dst, const void *src, int64_t count)
{
    float *to = dst;
    const uint8_t *from = src;
    for (int64_t i = 0; i < count; i++) to[i] = from[i] != 0 ? 1.0f : 0.0f;
}

/* Exact: f32 has all of these integers but those of 32 bits, which are rounded. */
#define WIDEN_TO_F32(name, type)                                         \
    static void name##_to_f32(void *dst, const void *src, int64_t count) \
    {                                                                    \
        float *to = dst;                                                 \
        const type *from = src;                                          \
        for (int64_t i = 0; i < count; i++) to[i] = (float)from[i];      \
    }
WIDEN_TO_F32(s8, int8_t)
WIDEN_TO_F32(s16, int16_t)
WIDEN_TO_F32(u16, uint16_t)
WIDEN_TO_F32(s32, int32_t)

/* As liana__store: NaN becomes 0, numbers outside the range become its ends. */
#define NARROW_F32(name, type, least, most)                                           \
    static void f32_to_##name(void *dst, const void *src, int64_t count)              \
    {                                                                                 \
        type *to = dst;                                                               \
        const float *from = src;                                                      \
        for (int64_t i = 0; i < count; i++) {                                         \
            const float x = from[i] == from[i] ? from[i] : 0;                         \
            const float raised = x < (float)(least) ? (float)(least) : x;             \
            to[i] = (type)(int32_t)(raised > (float)(most) ? (float)(most) : raised); \
        }                                                                             \
    }
NARROW_F32(u8, uint8_t, 0, UINT8_MAX)
NARROW_F32(s8, int8_t, INT8_MIN, INT8_MAX)
NARROW_F32(s16, int16_t, INT16_MIN, INT16_MAX)
NARROW_F32(u16, uint16_t, 0, UINT16_MAX)

static void bf16_to_f32(void *dst, const void *src, int64_t count)
{
    float *to = dst;
    const uint16_t *from = src;
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) vector_store(to + i, vector_load_bf16(from + i));
    vector_store_part(to + i, vector_load_part_bf16(from + i, count - i), count - i);
}

static void f32_to_bf16(void *dst, const void *src, int64_t count)
{
    uint16_t *to = dst;
    const float *from = src;
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) vector_store_bf16(to + i, vector_load(from + i));
    vector_store_part_bf16(to + i, vector_load_part(from + i, count - i), count - i);
}

/* Exact: a byte has no more than the 8 bits of a bf16. */
static void u8_to_bf16(void *dst, const void *src, int64_t count)
{
    uint16_t *to = dst;
    const uint8_t *from = src;
    for (int64_t i = 0; i < count; i++) to[i] = liana__float_to_bf16(from[i]);
}

static void bool_to_bf16(void *dst, const void *src, int64_t count)
{
    uint16_t *to = dst;
    const uint8_t *from = src;
    for (int64_t i = 0; i < count; i++) to[i] = from[i] != 0 ? 0x3f80 : 0;
}

#if defined(__F16C__)
enum { HALVES = 8 };

static void f16_to_f32(void *dst, const void *src, int64_t count)
{
    float *to = dst;
    const uint16_t *from = src;
    int64_t i = 0;
    for (; i + HALVES <= count; i += HALVES) {
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
    }
    for (; i < count; i++) to[i] = liana__half_to_float(from[i]);
}

static void f32_to_f16(void *dst, const void *src, int64_t count)
{
    uint16_t *to = dst;
    const float *from = src;
    int64_t i = 0;
    for (; i + HALVES <= count; i += HALVES) {
        const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(to + i), halves);
    }
    for (; i < count; i++) to[i] = liana__float_to_half(from[i]);
}
#else
static void f16_to_f32(void *dst, const void *src, int64_t count)
{
    float *to = dst;
    const uint16_t *from = src;
    for (int64_t i = 0; i < count; i++) to[i] = liana__half_to_float(from[i]);
}

static void f32_to_f16(void *dst, const void *src, int64_t count)
{
    uint16_t *to = dst;
    const float *from = src;
    for (int64_t i = 0; i < count; i++) to[i] = liana__float_to_half(from[i]);
}
#endif

static const struct {
    liana_dtype from;
    liana_dtype to;
    void (*convert)(void *dst, const void *src, int64_t count);
} converters[] = {
    {LIANA_U8, LIANA_F32, u8_to_f32},       {LIANA_BOOL, LIANA_F32, bool_to_f32}, {LIANA_S32, LIANA_F32, s32_to_f32},
    {LIANA_BF16, LIANA_F32, bf16_to_f32},   {LIANA_F32, LIANA_BF16, f32_to_bf16}, {LIANA_U8, LIANA_BF16, u8_to_bf16},
    {LIANA_BOOL, LIANA_BF16, bool_to_bf16}, {LIANA_F16, LIANA_F32, f16_to_f32},   {LIANA_F32, LIANA_F16, f32_to_f16},
    {LIANA_S8, LIANA_F32, s8_to_f32},       {LIANA_S16, LIANA_F32, s16_to_f32},   {LIANA_U16, LIANA_F32, u16_to_f32},
    {LIANA_F32, LIANA_U8, f32_to_u8},       {LIANA_F32, LIANA_S8, f32_to_s8},     {LIANA_F32, LIANA_S16, f32_to_s16},
    {LIANA_F32, LIANA_U16, f32_to_u16},
};
enum { NUM_CONVERTERS = sizeof converters / sizeof *converters };

static int find_converter(const liana__node *node)
{
    int i = 0;
    while (i < NUM_CONVERTERS && (converters[i].from != node->inputs[0]->dtype || converters[i].to != node->dtype)) i++;
    return i;
}

static bool has_converter(const liana__node *node, const char **reason)
{
    *reason = "no vector form for these dtypes";
    return find_converter(node) < NUM_CONVERTERS;
}

static liana_status run_converter(const liana__call *call)
{
    int i = find_converter(call->node);
    converters[i].convert(call->dst, call->src[0], liana_shape_size(&call->node->shape));
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(cast, .applicable = has_converter, .run = run_converter);
