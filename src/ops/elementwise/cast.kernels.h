/* cast.kernels.h - the casts that training needs, as loops that the compiler turns into vectors. */
#include "kernels/vector_dtype.h"
#include "kernels/vector_kernels.h"
#include "ops/elementwise/cast.h"

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

static void s32_to_f32(void *dst, const void *src, int64_t count)
{
    float *to = dst;
    const int32_t *from = src;
    for (int64_t i = 0; i < count; i++) to[i] = (float)from[i];
}

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

static const struct {
    liana_dtype from;
    liana_dtype to;
    void (*convert)(void *dst, const void *src, int64_t count);
} converters[] = {
    {LIANA_U8, LIANA_F32, u8_to_f32},       {LIANA_BOOL, LIANA_F32, bool_to_f32}, {LIANA_S32, LIANA_F32, s32_to_f32},
    {LIANA_BF16, LIANA_F32, bf16_to_f32},   {LIANA_F32, LIANA_BF16, f32_to_bf16}, {LIANA_U8, LIANA_BF16, u8_to_bf16},
    {LIANA_BOOL, LIANA_BF16, bool_to_bf16},
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
