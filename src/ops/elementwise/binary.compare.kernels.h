/* binary.compare.kernels.h - comparisons of f32 or bf16, as loops that the compiler turns into vectors, for one
 * instruction set. */
#include "kernels/strided_walk.h"
#include "kernels/vector_dtype.h"
#include "kernels/vector_kernels.h"
#include "ops/elementwise/binary.h"

/* A row of each operand; a step is 1 or, where one value is repeated, 0. */
typedef struct compared_row {
    uint8_t *dst;
    const void *a;
    const void *b;
    int64_t a_step;
    int64_t b_step;
    int64_t count;
} compared_row;

#define COMPARISONS(X) \
    X(equal, ==)       \
    X(not_equal, !=)   \
    X(less, <)         \
    X(less_equal, <=)  \
    X(greater, >)      \
    X(greater_equal, >=)

/* The common steps get loops of their own. */
#define COMPARE_LOOPS(operator, element)                                                                    \
    if (a_step == 1 && b_step == 1) {                                                                       \
        for (int64_t i = 0; i < count; i++) dst[i] = element(a, i) operator element(b, i);                  \
    } else if (a_step == 1) {                                                                               \
        for (int64_t i = 0; i < count; i++) dst[i] = element(a, i) operator element(b, 0);                  \
    } else {                                                                                                \
        for (int64_t i = 0; i < count; i++) dst[i] = element(a, i * a_step) operator element(b, i *b_step); \
    }
#define F32_ELEMENT(data, i) vector_load_one(LIANA_F32, data, i)
#define BF16_ELEMENT(data, i) vector_load_one(LIANA_BF16, data, i)

#define COMPARE(name, operator)                                                 \
    static void compare_##name(liana_dtype dtype, const compared_row *row)      \
    {                                                                           \
        uint8_t *restrict dst = row->dst;                                       \
        const void *a = row->a, *b = row->b;                                    \
        int64_t a_step = row->a_step, b_step = row->b_step, count = row->count; \
        if (dtype == LIANA_BF16) {                                              \
            COMPARE_LOOPS(operator, BF16_ELEMENT)                               \
        } else {                                                                \
            COMPARE_LOOPS(operator, F32_ELEMENT)                                \
        }                                                                       \
    }
COMPARISONS(COMPARE)
#undef COMPARE
#undef COMPARE_LOOPS
#undef F32_ELEMENT
#undef BF16_ELEMENT

static const struct {
    const liana__op *op;
    void (*compare)(liana_dtype dtype, const compared_row *row);
} comparisons[] = {
#define COMPARISON_ROW(name, operator) {&liana__op_##name, compare_##name},
    COMPARISONS(COMPARISON_ROW)
#undef COMPARISON_ROW
};
enum { NUM_COMPARISONS = sizeof comparisons / sizeof *comparisons };

static int find_comparison(const liana__op *op)
{
    int i = 0;
    while (i < NUM_COMPARISONS && comparisons[i].op != op) i++;
    return i;
}

static bool is_comparison(const liana__node *node, const char **reason)
{
    if (!vector_applicable(node, reason)) return false;
    *reason = "not a comparison";
    return find_comparison(node->op) < NUM_COMPARISONS;
}

static liana_status run_comparison(const liana__call *call)
{
    const liana__node *node = call->node;
    const liana_shape *const shapes[] = {&node->shape, liana__input_shape(node, 0), liana__input_shape(node, 1)};
    liana__walk walk = liana__walk_broadcast(&node->shape, shapes, 3);
    int row_axis = walk.rank - 2, column_axis = walk.rank - 1;
    liana_dtype dtype = node->inputs[0]->dtype;
    void (*compare)(liana_dtype, const compared_row *) = comparisons[find_comparison(node->op)].compare;
    liana__walk_position position = {0};
    compared_row row = {.a_step = walk.strides[1][column_axis],
                        .b_step = walk.strides[2][column_axis],
                        .count = walk.dims[column_axis]};
    do {
        for (int64_t i = 0; i < walk.dims[row_axis]; i++) {
            row.dst = (uint8_t *)call->dst + position.offsets[0] + i * walk.strides[0][row_axis];
            row.a = vector_at(dtype, call->src[0], position.offsets[1] + i * walk.strides[1][row_axis]);
            row.b = vector_at(dtype, call->src[1], position.offsets[2] + i * walk.strides[2][row_axis]);
            compare(dtype, &row);
        }
    } while (liana__walk_next(&walk, &position));
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(compare, .applicable = is_comparison, .run = run_comparison);
