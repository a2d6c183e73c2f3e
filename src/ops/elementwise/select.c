/* select: one of two values, element by element. */
#include "kernels/strided_walk.h"
#include "ops/index.h"
#include "ops/ops.h"
#include "stablehlo/lowering.h"

static liana_status infer_select(liana__infer *infer)
{
    const liana__node *const condition = infer->inputs[0], *const a = infer->inputs[1], *const b = infer->inputs[2];
    if (condition->dtype != LIANA_BOOL) {
        return liana__infer_fail(infer, "the condition is %s, expected bool", liana_dtype_name(condition->dtype));
    }
    LIANA_TRY(liana__infer_same_dtype(infer, 1, 2));
    liana_shape values;
    infer->dtype = a->dtype;
    if (liana__shape_broadcast(&a->shape, &b->shape, &values) &&
        liana__shape_broadcast(&condition->shape, &values, &infer->shape)) {
        return LIANA_OK;
    }
    return liana__infer_fail(infer,
                             "shapes %s, %s and %s cannot be broadcast together; expected equal sizes or 1, counted "
                             "from the last axis",
                             liana__shape_print(&condition->shape).text, liana__shape_print(&a->shape).text,
                             liana__shape_print(&b->shape).text);
}

static void select_gradient(liana__gradient *g)
{
    liana_tensor zero = liana_graph_scalar(g->output.graph, g->node->dtype, 0), condition = g->inputs[0];
    if (g->wanted[1]) {
        liana_tensor chosen = liana_op_select(condition, g->output_gradient, zero);
        g->input_gradients[1] = liana__sum_to_shape(LIANA_HERE, chosen, liana__input_shape(g->node, 1));
    }
    if (g->wanted[2]) {
        liana_tensor chosen = liana_op_select(condition, zero, g->output_gradient);
        g->input_gradients[2] = liana__sum_to_shape(LIANA_HERE, chosen, liana__input_shape(g->node, 2));
    }
}

static liana_status lower_select(liana__lowering *l, const liana__node *node)
{
    liana__hlo a = liana__hlo_input(l, node, 1), b = liana__hlo_input(l, node, 2);
    return liana__hlo_give(l, node, liana__hlo_select(l, liana__hlo_input(l, node, 0), a, b));
}

static liana__walk walk_node(const liana__node *node)
{
    const liana_shape *const shapes[] = {&node->shape, liana__input_shape(node, 0), liana__input_shape(node, 1),
                                         liana__input_shape(node, 2)};
    return liana__walk_broadcast(&node->shape, shapes, 4);
}

/* The inputs of a row: pointers to the first elements, and the byte distances to the next ones. */
typedef struct row {
    const unsigned char *condition, *a, *b;
    int64_t condition_stride, a_stride, b_stride;
} row;

/* Called with a constant element size. The choice is made without a jump: conditions are hard to foresee. */
static inline __attribute__((always_inline)) void select_elements(unsigned char *dst, row in, int64_t count,
                                                                  size_t element_size)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t a = 0, b = 0;
        memcpy(&a, in.a + i * in.a_stride, element_size);
        memcpy(&b, in.b + i * in.b_stride, element_size);
        uint64_t chosen = in.condition[i * in.condition_stride] ? a : b;
        memcpy(dst + (size_t)i * element_size, &chosen, element_size);
    }
}

/* The common cases, which compilers turn into vectors. */
static void select_floats(float *dst, const unsigned char *condition, const float *a, const float *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) dst[i] = condition[i] ? a[i] : b[i];
}

static void select_halves(uint16_t *dst, const unsigned char *condition, const uint16_t *a, const uint16_t *b,
                          int64_t count)
{
    for (int64_t i = 0; i < count; i++) dst[i] = condition[i] ? a[i] : b[i];
}

static void select_row(void *dst, const row *in, liana_dtype dtype, int64_t count)
{
    int64_t size = (int64_t)liana_dtype_size(dtype);
    bool contiguous = in->condition_stride == 1 && in->a_stride == size && in->b_stride == size;
    if (dtype == LIANA_F32 && contiguous) {
        select_floats(dst, in->condition, (const void *)in->a, (const void *)in->b, count);
        return;
    }
    if (dtype == LIANA_BF16 && contiguous) {
        select_halves(dst, in->condition, (const void *)in->a, (const void *)in->b, count);
        return;
    }
    switch (liana_dtype_size(dtype)) {
    case 1: select_elements(dst, *in, count, 1); return;
    case 2: select_elements(dst, *in, count, 2); return;
    case 4: select_elements(dst, *in, count, 4); return;
    default: select_elements(dst, *in, count, 8); return;
    }
}

static liana_status run_strided(const liana__call *call)
{
    const liana__node *node = call->node;
    int64_t size = (int64_t)liana_dtype_size(node->dtype);
    liana__walk walk = walk_node(node);
    liana__walk_position position = {0};
    int row_axis = walk.rank - 2, column_axis = walk.rank - 1;
    do {
        for (int64_t i = 0; i < walk.dims[row_axis]; i++) {
            const unsigned char *starts[LIANA__WALK_OPERANDS] = {call->dst, call->src[0], call->src[1], call->src[2]};
            int64_t at[LIANA__WALK_OPERANDS];
            for (int k = 0; k < 4; k++) at[k] = position.offsets[k] + i * walk.strides[k][row_axis];
            row in = {.condition = starts[1] + at[1],
                      .a = starts[2] + at[2] * size,
                      .b = starts[3] + at[3] * size,
                      .condition_stride = walk.strides[1][column_axis],
                      .a_stride = walk.strides[2][column_axis] * size,
                      .b_stride = walk.strides[3][column_axis] * size};
            select_row((char *)call->dst + at[0] * size, &in, node->dtype, walk.dims[column_axis]);
        }
    } while (liana__walk_next(&walk, &position));
    return LIANA_OK;
}

static int64_t source_of(const liana__node *node, const liana__call *call, int64_t *at, size_t *input)
{
    int64_t strides[LIANA_MAX_RANK];
    liana__broadcast_strides(liana__input_shape(node, 0), &node->shape, strides);
    const int64_t condition = liana__strided_index(strides, at, node->shape.rank);
    *input = liana__load(call->src[0], LIANA_BOOL, condition) != 0 ? 1 : 2;
    liana__broadcast_strides(liana__input_shape(node, *input), &node->shape, strides);
    return liana__strided_index(strides, at, node->shape.rank);
}

static liana_status run_reference(const liana__call *call)
{
    return liana__move_elements(call, source_of);
}

static const liana__kernel strided = {.name = "strided", .run = run_strided};

const liana__op liana__op_select = {
    .name = "select",
    .doc = "a where the condition is true, else b.",
    .num_inputs = 3,
    .infer = infer_select,
    .gradient = select_gradient,
    .precision = LIANA__FOLLOWS,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = liana__cost_element_wise,
    .parts = liana__parts_element_wise,
    .lower = lower_select,
    .kernels = LIANA__KERNELS(&strided, LIANA__REFERENCE(run_reference)),
};

liana_tensor liana_op_select_at(liana_location here, liana_tensor condition, liana_tensor a, liana_tensor b)
{
    return liana__build3(here, &liana__op_select, condition, a, b, NULL);
}
