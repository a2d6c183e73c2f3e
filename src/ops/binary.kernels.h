/* binary.kernels.h - element-wise ops of floats with two inputs, for one instruction set. */
#include "kernels/strided_walk.h"
#include "kernels/vector.h"
#include "kernels/vector_kernels.h"
#include "ops/binary.h"

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

LIANA__INLINE vector_float vector_relu_gradient(vector_float y, vector_float dy)
{
    return vector_select(y > 0.0f, dy, (vector_float){0});
}

LIANA__INLINE vector_float vector_relu6_gradient(vector_float y, vector_float dy)
{
    return vector_select((y > 0.0f) & (y < 6.0f), dy, (vector_float){0});
}

/* A plane of rows; each operand goes on by its row stride (in floats) from row to row, and within a row it is
 * contiguous or one repeated value. */
typedef struct plane {
    int64_t rows;
    int64_t columns;
    float *dst;
    const float *a;
    const float *b;
    int64_t dst_stride;
    int64_t a_stride;
    int64_t b_stride;
    bool a_repeats;
    bool b_repeats;
} plane;

LIANA__INLINE vector_float load(const float *row, int64_t i, bool repeats)
{
    return repeats ? vector_set(*row) : vector_load(row + i);
}

LIANA__INLINE vector_float load_part(const float *row, int64_t i, int64_t count, bool repeats)
{
    return repeats ? vector_set(*row) : vector_load_part(row + i, count);
}

/* Called with a constant function and constant flags, so that each combination becomes a loop of its own. */
LIANA__INLINE void combine_rows(const plane *p, bool a_repeats, bool b_repeats,
                                vector_float (*function)(vector_float, vector_float))
{
    int64_t count = p->columns;
    for (int64_t row = 0; row < p->rows; row++) {
        float *dst = p->dst + row * p->dst_stride;
        const float *a = p->a + row * p->a_stride, *b = p->b + row * p->b_stride;
        int64_t i = 0;
        for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) {
            vector_store(dst + i, function(load(a, i, a_repeats), load(b, i, b_repeats)));
        }
        if (i == count) continue;
        vector_float x = load_part(a, i, count - i, a_repeats), y = load_part(b, i, count - i, b_repeats);
        vector_store_part(dst + i, function(x, y), count - i);
    }
}

LIANA__INLINE void combine_plane(const plane *p, vector_float (*function)(vector_float, vector_float))
{
    if (p->a_repeats && p->b_repeats) {
        combine_rows(p, true, true, function);
    } else if (p->a_repeats) {
        combine_rows(p, true, false, function);
    } else if (p->b_repeats) {
        combine_rows(p, false, true, function);
    } else {
        combine_rows(p, false, false, function);
    }
}

/* The ops that have a vector form, vector_<name>. */
#define VECTOR_ROWS(X) \
    X(add)             \
    X(subtract)        \
    X(multiply)        \
    X(divide)          \
    X(maximum)         \
    X(minimum)         \
    X(relu_gradient)   \
    X(relu6_gradient)

#define VECTOR_PLANE(name)                     \
    static void combine_##name(const plane *p) \
    {                                          \
        combine_plane(p, vector_##name);       \
    }
VECTOR_ROWS(VECTOR_PLANE)
#undef VECTOR_PLANE

static const struct {
    const liana__op *op;
    void (*combine)(const plane *plane);
} combiners[] = {
#define VECTOR_ROW(name) {&liana__op_##name, combine_##name},
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
    *reason = node->inputs[0]->dtype != LIANA_F32 ? "not f32" : "no vector form";
    return node->inputs[0]->dtype == LIANA_F32 && find_combiner(node->op) < NUM_COMBINERS;
}

static liana_status run_combiner(const liana__call *call)
{
    const liana__node *node = call->node;
    const liana_shape *const shapes[] = {&node->shape, liana__input_shape(node, 0), liana__input_shape(node, 1)};
    liana__walk walk = liana__walk_broadcast(&node->shape, shapes, 3);
    int row_axis = walk.rank - 2, column_axis = walk.rank - 1;
    void (*combine)(const plane *) = combiners[find_combiner(node->op)].combine;
    liana__walk_position position = {0};
    plane p = {.rows = walk.dims[row_axis],
               .columns = walk.dims[column_axis],
               .dst_stride = walk.strides[0][row_axis],
               .a_stride = walk.strides[1][row_axis],
               .b_stride = walk.strides[2][row_axis],
               .a_repeats = walk.strides[1][column_axis] == 0,
               .b_repeats = walk.strides[2][column_axis] == 0};
    do {
        p.dst = (float *)call->dst + position.offsets[0];
        p.a = (const float *)call->src[0] + position.offsets[1];
        p.b = (const float *)call->src[1] + position.offsets[2];
        combine(&p);
    } while (liana__walk_next(&walk, &position));
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(binary, .applicable = has_combiner, .run = run_combiner);
