/* transpose: another order of axes. */
#include "kernels/strided_copy.h"
#include "ops/index.h"
#include "ops/ops.h"
#include "stablehlo/lowering.h"

typedef struct transpose_attributes {
    liana__ints permutation; /* none negative after inference */
} transpose_attributes;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(transpose_attributes, permutation, INTS,
                     .doc = "The input's axis that becomes each axis of the result."),
};
static const liana__fields attributes = {"transpose", sizeof(transpose_attributes), 1, fields};

static liana_status infer_transpose(liana__infer *infer)
{
    transpose_attributes *options = infer->attributes;
    const liana_shape *shape = &infer->inputs[0]->shape;
    LIANA_TRY(liana__infer_like_input(infer));
    if (options->permutation.count != shape->rank) {
        return liana__infer_fail(infer, "the permutation names %lld axes, the input has %d",
                                 (long long)options->permutation.count, shape->rank);
    }
    bool used[LIANA_MAX_RANK] = {false};
    for (int i = 0; i < shape->rank; i++) {
        int axis;
        LIANA_TRY(liana__infer_axis(infer, options->permutation.values[i], shape->rank, &axis));
        if (used[axis]) return liana__infer_fail(infer, "the permutation names axis %d twice", axis);
        used[axis] = true;
        options->permutation.values[i] = axis;
        infer->shape.dims[i] = shape->dims[axis];
    }
    return LIANA_OK;
}

static void transpose_gradient(liana__gradient *g)
{
    const transpose_attributes *options = g->node->attributes;
    liana_axes inverse = {.count = options->permutation.count};
    for (int i = 0; i < inverse.count; i++) inverse.values[options->permutation.values[i]] = i;
    g->input_gradients[0] = liana_op_transpose(g->output_gradient, inverse);
}

static liana_status lower_transpose(liana__lowering *l, const liana__node *node)
{
    const transpose_attributes *options = node->attributes;
    return liana__hlo_give(l, node, liana__hlo_transpose(l, liana__hlo_input(l, node, 0), options->permutation.values));
}

static liana_status run_strided(const liana__call *call)
{
    const liana__node *node = call->node;
    const transpose_attributes *options = node->attributes;
    liana__walk walk = {.num_operands = 2, .rank = node->shape.rank};
    int64_t strides[LIANA_MAX_RANK];
    liana__shape_strides(&node->shape, walk.strides[0]);
    liana__shape_strides(liana__input_shape(node, 0), strides);
    for (int i = 0; i < walk.rank; i++) {
        walk.dims[i] = node->shape.dims[i];
        walk.strides[1][i] = strides[options->permutation.values[i]];
    }
    liana__copy_strided(&walk, liana_dtype_size(node->dtype), call->dst, call->src[0]);
    return LIANA_OK;
}

static int64_t source_of(const liana__node *node, const liana__call *call, int64_t *at, size_t *input)
{
    (void)call, (void)input;
    const transpose_attributes *options = node->attributes;
    int64_t from[LIANA_MAX_RANK];
    for (int axis = 0; axis < node->shape.rank; axis++) from[options->permutation.values[axis]] = at[axis];
    return liana__row_major_index(liana__input_shape(node, 0), from);
}

static liana_status run_reference(const liana__call *call)
{
    return liana__move_elements(call, source_of);
}

static liana__parts parts_of(const liana__node *node)
{
    const transpose_attributes *options = node->attributes;
    bool rows_stay = options->permutation.count > 0 && options->permutation.values[0] == 0;
    return rows_stay ? liana__parts_all_inputs(node) : (liana__parts){0};
}

static const liana__kernel strided = {.name = "strided", .run = run_strided};

const liana__op liana__op_transpose = {
    .name = "transpose",
    .doc = "Another order of axes: result axis i is the input's axis permutation[i].",
    .attributes = &attributes,
    .num_inputs = 1,
    .infer = infer_transpose,
    .gradient = transpose_gradient,
    .parts = parts_of,
    .precision = LIANA__MOVES_DATA,
    .lower = lower_transpose,
    .kernels = LIANA__KERNELS(&strided, LIANA__REFERENCE(run_reference)),
};

liana_tensor liana_op_transpose_at(liana_location here, liana_tensor x, liana_axes permutation)
{
    const transpose_attributes options = {liana__ints_of(permutation.values, permutation.count)};
    return liana__build1(here, &liana__op_transpose, x, &options);
}
