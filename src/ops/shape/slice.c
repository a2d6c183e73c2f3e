/* slice: a box of a tensor, optionally with steps. */
#include "ops/shape/slice.h"
#include "ir/given.h"
#include "kernels/strided_copy.h"
#include "ops/gradients.h"
#include "ops/index.h"
#include "stablehlo/lowering.h"

static const liana__field fields[] = {
    LIANA__FIELD_ROW(liana__slice_attributes, start, INTS, .doc = "The first element of each axis."),
    LIANA__FIELD_ROW(liana__slice_attributes, limit, INTS,
                     .doc = "The end of each axis: the slice ends before this element."),
    LIANA__FIELD_ROW(liana__slice_attributes, strides, INTS,
                     .doc = "The distance between the elements taken from each axis."),
};
static const liana__fields slice_fields = {"slice", sizeof(liana__slice_attributes), sizeof fields / sizeof *fields,
                                           fields};

static liana_status infer_slice(liana__infer *infer)
{
    liana__slice_attributes *attributes = infer->attributes;
    LIANA_TRY(liana__infer_like_input(infer));
    liana_shape *shape = &infer->shape;
    const liana__ints *const lists[] = {&attributes->start, &attributes->limit, &attributes->strides};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) LIANA_TRY(liana__infer_by_axis(infer, lists[i]));
    for (int i = 0; i < shape->rank; i++) {
        int64_t start = attributes->start.values[i], limit = attributes->limit.values[i];
        int64_t stride = attributes->strides.values[i];
        if (start < 0 || start >= limit || limit > shape->dims[i]) {
            return liana__infer_fail(infer,
                                     "axis %d is sliced from %lld up to %lld, expected 0 <= start < limit <= %lld", i,
                                     (long long)start, (long long)limit, (long long)shape->dims[i]);
        }
        if (stride < 1) {
            return liana__infer_fail(infer, "axis %d has the stride %lld, expected at least 1", i, (long long)stride);
        }
        shape->dims[i] = (limit - start - 1) / stride + 1;
        /* A longer stride takes the same one element; kernels multiply strides with sizes. */
        if (stride > limit - start) attributes->strides.values[i] = limit - start;
    }
    return LIANA_OK;
}

/* The elements that were taken go back to their places, zeros everywhere else. */
static void slice_gradient(liana__gradient *gradient)
{
    const liana__slice_attributes *attributes = gradient->node->attributes;
    const liana_shape *in = liana__input_shape(gradient->node, 0), *out = &gradient->node->shape;
    int64_t high[LIANA_MAX_RANK], interior[LIANA_MAX_RANK];
    for (int i = 0; i < in->rank; i++) {
        int64_t stride = attributes->strides.values[i];
        interior[i] = stride - 1;
        high[i] = in->dims[i] - 1 - (attributes->start.values[i] + (out->dims[i] - 1) * stride);
    }
    gradient->input_gradients[0] = liana__pad_interior(gradient->node->where, gradient->output_gradient,
                                                       attributes->start.values, high, interior, 0);
}

static liana_status lower_slice(liana__lowering *l, const liana__node *node)
{
    const liana__slice_attributes *attributes = node->attributes;
    return liana__hlo_give(l, node,
                           liana__hlo_slice(l, liana__hlo_input(l, node, 0), attributes->start.values,
                                            attributes->limit.values, attributes->strides.values));
}

static liana_status run_strided(const liana__call *call)
{
    const liana__node *node = call->node;
    const liana__slice_attributes *attributes = node->attributes;
    size_t element_size = liana_dtype_size(node->dtype);
    liana__walk walk = {.num_operands = 2, .rank = node->shape.rank};
    int64_t offset = 0;
    liana__shape_strides(&node->shape, walk.strides[0]);
    liana__shape_strides(liana__input_shape(node, 0), walk.strides[1]);
    for (int i = 0; i < walk.rank; i++) {
        walk.dims[i] = node->shape.dims[i];
        offset += attributes->start.values[i] * walk.strides[1][i];
        walk.strides[1][i] *= attributes->strides.values[i];
    }
    liana__copy_strided(&walk, element_size, call->dst, (const char *)call->src[0] + (size_t)offset * element_size);
    return LIANA_OK;
}

static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    const liana__slice_attributes *attributes = node->attributes;
    int64_t count = liana_shape_size(&node->shape), at[LIANA_MAX_RANK];
    for (int64_t i = 0; i < count; i++) {
        liana__coordinates(&node->shape, i, at);
        for (int axis = 0; axis < node->shape.rank; axis++) {
            at[axis] = attributes->start.values[axis] + at[axis] * attributes->strides.values[axis];
        }
        liana__copy_element(call->dst, i, call->src[0], liana__row_major_index(liana__input_shape(node, 0), at),
                            node->dtype);
    }
    return LIANA_OK;
}

static const liana__kernel strided = {.name = "strided", .run = run_strided};
static const liana__kernel *const kernels[] = {&strided, LIANA__REFERENCE(run_reference)};

const liana__op liana__op_slice = {
    .name = "slice",
    .doc = "The elements start, start + stride, ... below limit of each axis.",
    .attributes = &slice_fields,
    .num_inputs = 1,
    .infer = infer_slice,
    .gradient = slice_gradient,
    .precision = LIANA__MOVES_DATA,
    .lower = lower_slice,
    .cost = liana__cost_result_only,
    .parts = liana__parts_all_inputs, /* as many rows as the input has are all of them */
    .kernels = kernels,
};

liana_tensor liana_op_slice_at(liana_location here, liana_tensor x, const int64_t *start, const int64_t *limit,
                               const int64_t *strides)
{
    if (!LIANA__GRAPH_REQUIRE(x.graph, here, start)) return (liana_tensor){x.graph, 0};
    if (!LIANA__GRAPH_REQUIRE(x.graph, here, limit)) return (liana_tensor){x.graph, 0};
    int rank = liana_tensor_shape(x).rank;
    liana__slice_attributes attributes = {.start.count = rank, .limit.count = rank, .strides.count = rank};
    for (int i = 0; i < rank; i++) {
        attributes.start.values[i] = start[i];
        attributes.limit.values[i] = limit[i];
        attributes.strides.values[i] = strides ? strides[i] : 1;
    }
    return liana__build1(here, &liana__op_slice, x, &attributes);
}
