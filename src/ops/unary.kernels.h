/* unary.kernels.h - element-wise ops of f32 or bf16 with one input, for one instruction set. */
#include "kernels/vector_dtype.h"
#include "kernels/vector_kernels.h"
#include "kernels/vector_math.h"
#include "ops/unary.h"

LIANA__INLINE vector_float vector_negate(vector_float x)
{
    return -x;
}

/* NaN passes: the second operand wins. */
LIANA__INLINE vector_float vector_relu(vector_float x)
{
    return vector_max((vector_float){0}, x);
}

LIANA__INLINE vector_float vector_relu6(vector_float x)
{
    return vector_min(vector_set(6), vector_relu(x));
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

LIANA__INLINE vector_float vector_swish(vector_float x)
{
    return x * vector_logistic(x);
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

/* The ops that have a vector form, vector_<name>. */
#define VECTOR_ROWS(X) \
    X(abs)             \
    X(ceil)            \
    X(exp)             \
    X(floor)           \
    X(log)             \
    X(logistic)        \
    X(negate)          \
    X(relu)            \
    X(relu6)           \
    X(round)           \
    X(rsqrt)           \
    X(sign)            \
    X(sqrt)            \
    X(square)          \
    X(swish)           \
    X(tanh)

#define VECTOR_MAP(name)                                                                 \
    static void map_##name(liana_dtype dtype, void *dst, const void *src, int64_t count) \
    {                                                                                    \
        if (dtype == LIANA_BF16) {                                                       \
            map(LIANA_BF16, dst, src, count, vector_##name);                             \
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
#define VECTOR_ROW(name) {&liana__op_##name, map_##name},
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
