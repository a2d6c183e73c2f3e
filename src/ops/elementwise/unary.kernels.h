/* unary.kernels.h - element-wise ops of f32 or bf16 with one input, for one instruction set. */
#include "kernels/vector_dtype.h"
#include "kernels/vector_erf.h"
#include "kernels/vector_kernels.h"
#include "ops/elementwise/unary.h"

LIANA__INLINE vector_float vector_negate(vector_float x)
{
    return -x;
}

LIANA__INLINE vector_float vector_rsqrt(vector_float x)
{
    return 1.0f / vector_sqrt(x);
}

LIANA__INLINE vector_float vector_sign(vector_float x)
{
    return vector_select(x > 0.0f, vector_set(1), vector_select(x < 0.0f, vector_set(-1), x));
}

LIANA__INLINE vector_float vector_square(vector_float x)
{
    return x * x;
}

/* Called with a constant function, which is then inlined. */
LIANA__INLINE void map(liana_dtype dtype, void *dst, const void *src, int64_t count,
                       vector_float (*function)(vector_float))
{
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) {
        vector_store_as(dtype, dst, i, function(vector_load_as(dtype, src, i)));
    }
    if (i == count) return;
    vector_store_part_as(dtype, dst, i, function(vector_load_part_as(dtype, src, i, count - i)), count - i);
}

/* The ops with a vector form, vector_<name>, and the form for results that are rounded to bf16. */
#define VECTOR_ROWS(X)                  \
    X(abs, vector_abs)                  \
    X(ceil, vector_ceil)                \
    X(erf, vector_erf)                  \
    X(exp, vector_exp)                  \
    X(expm1, vector_expm1)              \
    X(floor, vector_floor)              \
    X(gelu, vector_gelu)                \
    X(gelu_tanh, vector_gelu_tanh_bf16) \
    X(log, vector_log)                  \
    X(logistic, vector_logistic)        \
    X(negate, vector_negate)            \
    X(relu, vector_relu)                \
    X(relu6, vector_relu6)              \
    X(round, vector_round)              \
    X(rsqrt, vector_rsqrt)              \
    X(sign, vector_sign)                \
    X(sqrt, vector_sqrt)                \
    X(square, vector_square)            \
    X(swish, vector_swish_bf16)         \
    X(tanh, vector_tanh)

#define VECTOR_MAP(name, bf16_form)                                                      \
    static void map_##name(liana_dtype dtype, void *dst, const void *src, int64_t count) \
    {                                                                                    \
        if (dtype == LIANA_BF16) {                                                       \
            map(LIANA_BF16, dst, src, count, bf16_form);                                 \
        } else {                                                                         \
            map(LIANA_F32, dst, src, count, vector_##name);                              \
        }                                                                                \
    }
VECTOR_ROWS(VECTOR_MAP)
#undef VECTOR_MAP

static const struct {
    const liana__op *op;
    void (*map)(liana_dtype dtype, void *dst, const void *src, int64_t count);
} maps[] = {
#define VECTOR_ROW(name, bf16_form) {&liana__op_##name, map_##name},
    VECTOR_ROWS(VECTOR_ROW)
#undef VECTOR_ROW
};
enum { NUM_MAPS = sizeof maps / sizeof *maps };

static int find_map(const liana__op *op)
{
    int i = 0;
    while (i < NUM_MAPS && maps[i].op != op) i++;
    return i;
}

static bool has_map(const liana__node *node, const char **reason)
{
    if (!vector_applicable(node, reason)) return false;
    *reason = "no vector form";
    return find_map(node->op) < NUM_MAPS;
}

static liana_status run_map(const liana__call *call)
{
    const liana__node *node = call->node;
    maps[find_map(node->op)].map(node->dtype, call->dst, call->src[0], liana_shape_size(&node->shape));
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(unary, .applicable = has_map, .run = run_map);
