/* noise.kernels.h - random numbers as f32 or bf16, for one instruction set. */
#include "kernels/vector_dtype.h"
#include "ops/random/noise.h"
#include "ops/random/philox.kernels.h"

LIANA__INLINE vector_float polynomial(const float coefficients[LIANA__ERFINV_TERMS], vector_float w)
{
    vector_float p = vector_set(coefficients[0]);
    for (int i = 1; i < LIANA__ERFINV_TERMS; i++) p = vector_fma(p, w, vector_set(coefficients[i]));
    return p;
}

/* Of the upper 24 bits of words: 0 to 1, without 1. */
LIANA__INLINE vector_float uniform_number(vector_float bits)
{
    return bits * 0x1p-24f;
}

LIANA__INLINE vector_float normal_number(vector_float bits)
{
    static const float centre[] = LIANA__ERFINV_CENTRE, tail[] = LIANA__ERFINV_TAIL;
    vector_float x = bits * 0x1p-23f + (0x1p-24f - 1.0f);
    vector_float w = -vector_log((1.0f - x) * (1.0f + x));
    vector_float p = polynomial(centre, w - 2.5f), q = polynomial(tail, vector_sqrt(w) - 3.0f);
    return x * vector_select(w < 5.0f, p, q) * 0x1.6a09e6p+0f;
}

/* Called with a constant function, which is then inlined. */
LIANA__INLINE liana_status fill(const liana__call *call, liana_dtype dtype, vector_float (*number)(vector_float))
{
    const liana__node *node = call->node;
    const liana__noise_attributes *options = node->attributes;
    const uint64_t *positions = call->src[0];
    const liana__philox_key key = liana__noise_key(options);
    const float scale = (float)options->scale, shift = (float)options->shift;
    int64_t batch = node->shape.dims[0], length = liana_shape_size(&node->shape) / batch;
    for (int64_t example = 0; example < batch; example++) {
        for (int64_t j = 0; j < length; j += STEP) {
            vector_uint words[LANES];
            draw(key, (uint64_t)j / 4, positions[example], words);
            for (int lane = 0; lane < LANES; lane++) {
                const int64_t at = j + (int64_t)lane * VECTOR_LENGTH;
                if (at >= length) break;
                vector_float bits = vector_from_int((vector_int)(words[lane] >> 8));
                vector_store_up_to(dtype, call->dst, example * length + at, number(bits) * scale + shift, length - at);
            }
        }
    }
    return LIANA_OK;
}

static liana_status run_noise(const liana__call *call)
{
    const bool is_normal = call->node->op == &liana__op_random_normal;
    if (call->node->dtype == LIANA_BF16) {
        return is_normal ? fill(call, LIANA_BF16, normal_number) : fill(call, LIANA_BF16, uniform_number);
    }
    return is_normal ? fill(call, LIANA_F32, normal_number) : fill(call, LIANA_F32, uniform_number);
}

static bool is_applicable(const liana__node *node, const char **reason)
{
    *reason = "neither f32 nor bf16";
    return node->dtype == LIANA_F32 || node->dtype == LIANA_BF16;
}

LIANA__VECTOR_KERNEL(noise, .applicable = is_applicable, .run = run_noise);
