/* concat: joins tensors along one axis. */
#include "kernels/strided_copy.h"
#include "ops/index.h"
#include "ops/ops.h"
#include "stablehlo/lowering.h"

typedef struct concat_attributes {
    int64_t axis;
} concat_attributes;

enum { MAX_INPUTS = 1024 };

static const liana__field fields[] = {
    LIANA__FIELD_ROW(concat_attributes, axis, INT, .doc = "The axis along which the inputs are joined."),
};
static const liana__fields concat_fields = {"concat", sizeof(concat_attributes), 1, fields};

static liana_status infer_concat(liana__infer *infer)
{
    concat_attributes *attributes = infer->attributes;
    LIANA_TRY(liana__infer_like_input(infer));
    if (infer->shape.rank == 0) return liana__infer_fail(infer, "scalars have no axis; use liana_op_reshape first");
    int axis;
    LIANA_TRY(liana__infer_axis(infer, attributes->axis, infer->shape.rank, &axis));
    attributes->axis = axis;
    for (size_t i = 1; i < infer->num_inputs; i++) {
        LIANA_TRY(liana__infer_same_dtype(infer, 0, i));
        liana_shape fitting = infer->inputs[i]->shape;
        if (fitting.rank == infer->shape.rank) fitting.dims[axis] = infer->shape.dims[axis];
        if (!liana_shape_equal(&fitting, &infer->shape)) {
            return liana__infer_fail(infer, "input %zu is %s, expected the shape of input 0, %s, except along axis %d",
                                     i, liana__shape_print(&infer->inputs[i]->shape).text,
                                     liana__shape_print(&infer->inputs[0]->shape).text, axis);
        }
        infer->shape.dims[axis] += infer->inputs[i]->shape.dims[axis];
    }
    return LIANA_OK;
}

static void concat_gradient(liana__gradient *gradient)
{
    const liana__node *node = gradient->node;
    const concat_attributes *attributes = node->attributes;
    int64_t start[LIANA_MAX_RANK] = {0};
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana_shape *part = liana__input_shape(node, i);
        liana_shape limit = *part;
        limit.dims[attributes->axis] += start[attributes->axis];
        if (gradient->wanted[i]) {
            gradient->input_gradients[i] =
                liana_op_slice_at(node->where, gradient->output_gradient, start, limit.dims, NULL);
        }
        start[attributes->axis] += part->dims[attributes->axis];
    }
}

static liana_status lower_concat(liana__lowering *l, const liana__node *node)
{
    liana__hlo parts[MAX_INPUTS];
    for (uint32_t i = 0; i < node->num_inputs; i++) parts[i] = liana__hlo_input(l, node, i);
    const int axis = (int)((const concat_attributes *)node->attributes)->axis;
    return liana__hlo_give(l, node, liana__hlo_concatenate(l, parts, node->num_inputs, axis));
}

/* The number of pieces that are written side by side. So whole lines of the result are complete while they are in the
 * cache. */
enum { GROUP = 32 };

typedef struct piece {
    const char *src;
    size_t row; /* bytes */
} piece;

/* Rows are short where there are many pieces: a call of memcpy for each would take longer than the copy. */
static inline void copy_row(char *restrict dst, const char *restrict src, size_t size)
{
    size_t i = 0;
    for (; i + 64 <= size; i += 64) memcpy(dst + i, src + i, 64);
    for (; i + 16 <= size; i += 16) memcpy(dst + i, src + i, 16);
    for (; i < size; i++) dst[i] = src[i];
}

static void copy_group(char *dst, size_t dst_row, int64_t outer, const piece *pieces, size_t count)
{
    for (int64_t row = 0; row < outer; row++) {
        char *to = dst + (size_t)row * dst_row;
        for (size_t i = 0; i < count; i++) {
            copy_row(to, pieces[i].src + (size_t)row * pieces[i].row, pieces[i].row);
            to += pieces[i].row;
        }
    }
}

static liana_status run_rows(const liana__call *call)
{
    const liana__node *node = call->node;
    int axis = (int)((const concat_attributes *)node->attributes)->axis;
    size_t inner = liana_dtype_size(node->dtype) * (size_t)liana__inner_size(&node->shape, axis);
    size_t dst_row = (size_t)node->shape.dims[axis] * inner;
    int64_t outer = liana__outer_size(&node->shape, axis);
    char *dst = call->dst;
    for (uint32_t first = 0; first < node->num_inputs; first += GROUP) {
        piece pieces[GROUP];
        size_t count = 0, width = 0;
        for (; count < GROUP && first + count < node->num_inputs; count++) {
            size_t row = (size_t)liana__input_shape(node, first + count)->dims[axis] * inner;
            pieces[count] = (piece){call->src[first + count], row};
            width += row;
        }
        copy_group(dst, dst_row, outer, pieces, count);
        dst += width;
    }
    return LIANA_OK;
}

/* Planes become the channels of pixels, one element from each. */
static liana_status run_planes(const liana__call *call)
{
    const liana__node *node = call->node;
    size_t element_size = liana_dtype_size(node->dtype);
    liana__walk walk = {.num_operands = 2,
                        .rank = 1,
                        .dims = {liana_shape_size(liana__input_shape(node, 0))},
                        .strides = {{node->num_inputs}, {1}}};
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        liana__copy_strided(&walk, element_size, (char *)call->dst + i * element_size, call->src[i]);
    }
    return LIANA_OK;
}

static bool are_planes(const liana__node *node, const char **reason)
{
    int axis = (int)((const concat_attributes *)node->attributes)->axis;
    bool all = liana__inner_size(&node->shape, axis) == 1 && node->num_inputs <= GROUP;
    for (uint32_t i = 0; i < node->num_inputs; i++) all = all && liana__input_shape(node, i)->dims[axis] == 1;
    if (!all) *reason = "not a few elements side by side, each of another tensor";
    return all;
}

static int64_t source_of(const liana__node *node, const liana__call *call, int64_t *at, size_t *input)
{
    (void)call;
    const int axis = (int)((const concat_attributes *)node->attributes)->axis;
    while (at[axis] >= liana__input_shape(node, *input)->dims[axis]) {
        at[axis] -= liana__input_shape(node, (*input)++)->dims[axis];
    }
    return liana__row_major_index(liana__input_shape(node, *input), at);
}

static liana_status run_reference(const liana__call *call)
{
    return liana__move_elements(call, source_of);
}

static liana__parts parts_of(const liana__node *node)
{
    int64_t axis = ((const concat_attributes *)node->attributes)->axis;
    if (axis == 0) return (liana__parts){0};
    liana__parts parts = liana__parts_all_inputs(node);
    parts.by_lines = axis > 1;
    return parts;
}

static const liana__kernel planes = {.name = "planes", .applicable = are_planes, .run = run_planes};
static const liana__kernel rows = {.name = "rows", .run = run_rows};
static const liana__kernel *const kernels[] = {&planes, &rows, LIANA__REFERENCE(run_reference)};

const liana__op liana__op_concat = {
    .name = "concat",
    .doc = "Joins tensors along an axis.",
    .attributes = &concat_fields,
    .num_inputs = 1,
    .more_inputs = MAX_INPUTS - 1,
    .infer = infer_concat,
    .gradient = concat_gradient,
    .parts = parts_of,
    .precision = LIANA__MOVES_DATA,
    .lower = lower_concat,
    .kernels = kernels,
};

liana_tensor liana_op_concat_at(liana_location here, const liana_tensor *tensors, size_t count, int64_t axis)
{
    if (!tensors) return (liana_tensor){0};
    return liana__build(here, NULL, &liana__op_concat, tensors, count, &(concat_attributes){axis});
}
