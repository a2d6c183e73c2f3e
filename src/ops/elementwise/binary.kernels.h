/* binary.kernels.h - element-wise ops of f32 or bf16 with two inputs, for one instruction set. */
#include "kernels/strided_walk.h"
#include "kernels/vector_dtype.h"
#include "kernels/vector_erf.h"
#include "kernels/vector_kernels.h"
#include "ops/elementwise/binary.h"

LIANA__INLINE vector_float vector_add(vector_float a, vector_float b)
{
    return a + b;
}

LIANA__INLINE vector_float vector_subtract(vector_float a, vector_float b)
{
    return a - b;
}

LIANA__INLINE vector_float vector_multiply(vector_float a, vector_float b)
{
    return a * b;
}

LIANA__INLINE vector_float vector_divide(vector_float a, vector_float b)
{
    return a / b;
}

/* NaN if either is: vector_max alone gives b if either is NaN. */
LIANA__INLINE vector_float vector_maximum(vector_float a, vector_float b)
{
    return vector_select(a != a, a, vector_max(a, b));
}

LIANA__INLINE vector_float vector_minimum(vector_float a, vector_float b)
{
    return vector_select(a != a, a, vector_min(a, b));
}

/* A plane of rows. Each operand advances by its row stride (in elements) from row to row. Within a row it is
 * contiguous, or one repeated value. */
typedef struct plane {
    liana_dtype dtype;
    int64_t rows;
    int64_t columns;
    void *dst;
    const void *a;
    const void *b;
    int64_t dst_stride;
    int64_t a_stride;
    int64_t b_stride;
    bool a_repeats;
    bool b_repeats;
} plane;

/* Called with a constant function, dtype and flags, so that each combination becomes a loop of its own. */
LIANA__INLINE void combine_rows(liana_dtype dtype, const plane *p, bool a_repeats, bool b_repeats,
                                vector_float (*function)(vector_float, vector_float))
{
    int64_t count = p->columns;
    for (int64_t row = 0; row < p->rows; row++) {
        int64_t dst = row * p->dst_stride, a = row * p->a_stride, b = row * p->b_stride, i = 0;
        vector_float x = vector_set(0), y = vector_set(0);
        if (a_repeats) x = vector_set(vector_load_one(dtype, p->a, a));
        if (b_repeats) y = vector_set(vector_load_one(dtype, p->b, b));
        for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) {
            if (!a_repeats) x = vector_load_as(dtype, p->a, a + i);
            if (!b_repeats) y = vector_load_as(dtype, p->b, b + i);
            vector_store_as(dtype, p->dst, dst + i, function(x, y));
        }
        if (i == count) continue;
        if (!a_repeats) x = vector_load_part_as(dtype, p->a, a + i, count - i);
        if (!b_repeats) y = vector_load_part_as(dtype, p->b, b + i, count - i);
        vector_store_part_as(dtype, p->dst, dst + i, function(x, y), count - i);
    }
}

LIANA__INLINE void combine_plane(liana_dtype dtype, const plane *p,
                                 vector_float (*function)(vector_float, vector_float))
{
    if (p->a_repeats && p->b_repeats) {
        combine_rows(dtype, p, true, true, function);
    } else if (p->a_repeats) {
        combine_rows(dtype, p, true, false, function);
    } else if (p->b_repeats) {
        combine_rows(dtype, p, false, true, function);
    } else {
        combine_rows(dtype, p, false, false, function);
    }
}

/* The ops with a vector form, vector_<name>, and the form for results that are rounded to bf16. */
#define VECTOR_ROWS(X)                            \
    X(add, vector_add)                            \
    X(subtract, vector_subtract)                  \
    X(multiply, vector_multiply)                  \
    X(divide, vector_divide)                      \
    X(maximum, vector_maximum)                    \
    X(minimum, vector_minimum)                    \
    X(relu_gradient, vector_relu_gradient)        \
    X(relu6_gradient, vector_relu6_gradient)      \
    X(swish_gradient, vector_swish_gradient_bf16) \
    X(gelu_gradient, vector_gelu_gradient)        \
    X(gelu_tanh_gradient, vector_gelu_tanh_gradient)

#define VECTOR_PLANE(name, bf16_form)                   \
    static void combine_##name(const plane *p)          \
    {                                                   \
        if (p->dtype == LIANA_BF16) {                   \
            combine_plane(LIANA_BF16, p, bf16_form);    \
        } else {                                        \
            combine_plane(LIANA_F32, p, vector_##name); \
        }                                               \
    }
VECTOR_ROWS(VECTOR_PLANE)
#undef VECTOR_PLANE

static const struct {
    const liana__op *op;
    void (*combine)(const plane *plane);
} combiners[] = {
#define VECTOR_ROW(name, bf16_form) {&liana__op_##name, combine_##name},
    VECTOR_ROWS(VECTOR_ROW)
#undef VECTOR_ROW
};
enum { NUM_COMBINERS = sizeof combiners / sizeof *combiners };

static int find_combiner(const liana__op *op)
{
    int i = 0;
    while (i < NUM_COMBINERS && combiners[i].op != op) i++;
    return i;
}

static bool has_combiner(const liana__node *node, const char **reason)
{
    if (!vector_applicable(node, reason)) return false;
    *reason = "no vector form";
    return find_combiner(node->op) < NUM_COMBINERS;
}

/* Elements of a short row that is repeated until vectors fit it. */
enum { REPEATED = 16 * VECTOR_LENGTH };

/* Whether all rows of a plane are contiguous, and have the same short operand `b` (a number for each of a few
 * channels). */
static bool is_narrow(const plane *p)
{
    bool in_a_row = p->dst_stride == p->columns && p->a_stride == p->columns && !p->a_repeats;
    return in_a_row && p->b_stride == 0 && !p->b_repeats && p->columns < 2 * VECTOR_LENGTH && p->rows > 1;
}

static void combine_narrow(const plane *p, void (*combine)(const plane *))
{
    float repeated[REPEATED]; /* or as many bf16 */
    const size_t size = liana_dtype_size(p->dtype);
    const int64_t copies = REPEATED / p->columns, whole = p->rows / copies, rest = p->rows % copies;
    for (int64_t i = 0; i < copies; i++) {
        memcpy((char *)repeated + (size_t)(i * p->columns) * size, p->b, (size_t)p->columns * size);
    }
    plane wide = *p;
    wide.b = repeated;
    wide.rows = whole;
    wide.columns = wide.dst_stride = wide.a_stride = copies * p->columns;
    combine(&wide);
    wide.dst = (char *)p->dst + (size_t)(whole * wide.columns) * size;
    wide.a = vector_at(p->dtype, p->a, whole * wide.columns);
    wide.rows = 1;
    wide.columns = rest * p->columns;
    combine(&wide);
}

static liana_status run_combiner(const liana__call *call)
{
    const liana__node *node = call->node;
    const liana_shape *const shapes[] = {&node->shape, liana__input_shape(node, 0), liana__input_shape(node, 1)};
    liana__walk walk = liana__walk_broadcast(&node->shape, shapes, 3);
    int row_axis = walk.rank - 2, column_axis = walk.rank - 1;
    void (*combine)(const plane *) = combiners[find_combiner(node->op)].combine;
    liana__walk_position position = {0};
    plane p = {.dtype = node->dtype,
               .rows = walk.dims[row_axis],
               .columns = walk.dims[column_axis],
               .dst_stride = walk.strides[0][row_axis],
               .a_stride = walk.strides[1][row_axis],
               .b_stride = walk.strides[2][row_axis],
               .a_repeats = walk.strides[1][column_axis] == 0,
               .b_repeats = walk.strides[2][column_axis] == 0};
    do {
        p.dst = (char *)call->dst + (size_t)position.offsets[0] * liana_dtype_size(node->dtype);
        p.a = vector_at(node->dtype, call->src[0], position.offsets[1]);
        p.b = vector_at(node->dtype, call->src[1], position.offsets[2]);
        is_narrow(&p) ? combine_narrow(&p, combine) : combine(&p);
    } while (liana__walk_next(&walk, &position));
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(binary, .applicable = has_combiner, .run = run_combiner);
