/* slice: a box of a tensor, optionally with steps. pad: a border of one value around a tensor, and cells between its
 * elements. Each is the other's gradient. */
#include "ops/shape/slice_pad.h"
#include "ir/given.h"
#include "kernels/strided_copy.h"
#include "ops/gradients.h"
#include "ops/index.h"
#include "stablehlo/lowering.h"

/* ---- slice ---- */

static const liana__field slice_rows[] = {
    LIANA__FIELD_ROW(liana__slice_attributes, start, INTS, .doc = "The first element of each axis."),
    LIANA__FIELD_ROW(liana__slice_attributes, limit, INTS,
                     .doc = "The end of each axis: the slice ends before this element."),
    LIANA__FIELD_ROW(liana__slice_attributes, strides, INTS,
                     .doc = "The distance between the elements taken from each axis."),
};
static const liana__fields slice_fields = {"slice", sizeof(liana__slice_attributes),
                                           sizeof slice_rows / sizeof *slice_rows, slice_rows};

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

static liana_status run_slice(const liana__call *call)
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

static int64_t slice_source(const liana__node *node, const liana__call *call, int64_t *at, size_t *input)
{
    (void)call, (void)input;
    const liana__slice_attributes *attributes = node->attributes;
    for (int axis = 0; axis < node->shape.rank; axis++) {
        at[axis] = attributes->start.values[axis] + at[axis] * attributes->strides.values[axis];
    }
    return liana__row_major_index(liana__input_shape(node, 0), at);
}

static liana_status run_slice_reference(const liana__call *call)
{
    return liana__move_elements(call, slice_source);
}

static const liana__kernel slice_strided = {.name = "strided", .run = run_slice};

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
    .kernels = LIANA__KERNELS(&slice_strided, LIANA__REFERENCE(run_slice_reference)),
};

liana_tensor liana_op_slice_at(liana_location here, liana_tensor x, const int64_t *start, const int64_t *limit,
                               const int64_t *strides)
{
    if (!LIANA__GRAPH_REQUIRE(x.graph, here, start)) return (liana_tensor){x.graph, 0};
    if (!LIANA__GRAPH_REQUIRE(x.graph, here, limit)) return (liana_tensor){x.graph, 0};
    static const int64_t ones[LIANA_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    const int rank = liana_tensor_shape(x).rank;
    const liana__slice_attributes attributes = {.start = liana__ints_of(start, rank),
                                                .limit = liana__ints_of(limit, rank),
                                                .strides = liana__ints_of(strides ? strides : ones, rank)};
    return liana__build1(here, &liana__op_slice, x, &attributes);
}

/* ---- pad ---- */

static const liana__field pad_rows[] = {
    LIANA__FIELD_ROW(liana__pad_attributes, low, INTS, .doc = "Cells before the first element of each axis."),
    LIANA__FIELD_ROW(liana__pad_attributes, high, INTS, .doc = "Cells after the last element of each axis."),
    LIANA__FIELD_ROW(liana__pad_attributes, interior, INTS, .doc = "Cells between two neighbours of each axis."),
    LIANA__FIELD_ROW(liana__pad_attributes, value, FLOAT, .doc = "The value of the cells."),
};
static const liana__fields pad_fields = {"pad", sizeof(liana__pad_attributes), sizeof pad_rows / sizeof *pad_rows,
                                         pad_rows};

/* Sums below stay far from overflow: dimensions are below 2^46, and so must their terms be. */
static const int64_t max_cells = (int64_t)1 << 46;

static liana_status infer_pad(liana__infer *infer)
{
    const liana__pad_attributes *attributes = infer->attributes;
    LIANA_TRY(liana__infer_like_input(infer));
    const liana__ints *const lists[] = {&attributes->low, &attributes->high, &attributes->interior};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) LIANA_TRY(liana__infer_by_axis(infer, lists[i]));
    for (int i = 0; i < infer->shape.rank; i++) {
        int64_t low = attributes->low.values[i], high = attributes->high.values[i];
        int64_t interior = attributes->interior.values[i], dim = infer->shape.dims[i];
        bool fits =
            low >= 0 && high >= 0 && interior >= 0 && low < max_cells && high < max_cells && interior < max_cells / dim;
        if (!fits) {
            return liana__infer_fail(infer,
                                     "axis %d is padded with %lld cells before and %lld after, expected 0 or more (and "
                                     "a result below 64 TiB)",
                                     i, (long long)low, (long long)high);
        }
        infer->shape.dims[i] = low + dim + (dim - 1) * interior + high;
    }
    return LIANA_OK;
}

static void pad_gradient(liana__gradient *gradient)
{
    const liana__pad_attributes *attributes = gradient->node->attributes;
    const liana_shape *in = liana__input_shape(gradient->node, 0);
    int64_t limit[LIANA_MAX_RANK], strides[LIANA_MAX_RANK];
    for (int i = 0; i < in->rank; i++) {
        strides[i] = attributes->interior.values[i] + 1;
        limit[i] = attributes->low.values[i] + (in->dims[i] - 1) * strides[i] + 1;
    }
    gradient->input_gradients[0] =
        liana_op_slice_at(gradient->node->where, gradient->output_gradient, attributes->low.values, limit, strides);
}

static liana_status lower_pad(liana__lowering *l, const liana__node *node)
{
    const liana__pad_attributes *attributes = node->attributes;
    return liana__hlo_give(l, node,
                           liana__hlo_pad(l, liana__hlo_input(l, node, 0), attributes->value, attributes->low.values,
                                          attributes->high.values, attributes->interior.values));
}

static liana_status run_pad(const liana__call *call)
{
    const liana__node *node = call->node;
    const liana__pad_attributes *attributes = node->attributes;
    const liana_shape *in = liana__input_shape(node, 0);
    size_t element_size = liana_dtype_size(node->dtype);
    uint64_t value = 0;
    liana__store(&value, node->dtype, 0, attributes->value);
    liana__walk fill = {.num_operands = 2, .rank = 1, .dims = {liana_shape_size(&node->shape)}, .strides = {{1}, {0}}};
    liana__copy_strided(&fill, element_size, call->dst, &value);

    liana__walk walk = {.num_operands = 2, .rank = in->rank};
    int64_t offset = 0;
    liana__shape_strides(&node->shape, walk.strides[0]);
    liana__shape_strides(in, walk.strides[1]);
    for (int i = 0; i < walk.rank; i++) {
        walk.dims[i] = in->dims[i];
        offset += attributes->low.values[i] * walk.strides[0][i];
        walk.strides[0][i] *= attributes->interior.values[i] + 1;
    }
    liana__copy_strided(&walk, element_size, (char *)call->dst + (size_t)offset * element_size, call->src[0]);
    return LIANA_OK;
}

/* Whether a cell of the result holds an element; turns its coordinates into the element's. */
static bool find_element(const liana__pad_attributes *attributes, const liana_shape *in, int64_t at[LIANA_MAX_RANK])
{
    for (int axis = 0; axis < in->rank; axis++) {
        int64_t distance = at[axis] - attributes->low.values[axis], step = attributes->interior.values[axis] + 1;
        if (distance < 0 || distance % step != 0 || distance / step >= in->dims[axis]) return false;
        at[axis] = distance / step;
    }
    return true;
}

static liana_status run_pad_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    const liana__pad_attributes *attributes = node->attributes;
    const liana_shape *in = liana__input_shape(node, 0);
    int64_t count = liana_shape_size(&node->shape), at[LIANA_MAX_RANK];
    for (int64_t i = 0; i < count; i++) {
        liana__coordinates(&node->shape, i, at);
        if (find_element(attributes, in, at)) {
            liana__copy_element(call->dst, i, call->src[0], liana__row_major_index(in, at), node->dtype);
        } else {
            liana__store(call->dst, node->dtype, i, attributes->value);
        }
    }
    return LIANA_OK;
}

static liana__parts pad_parts(const liana__node *node)
{
    const liana__pad_attributes *attributes = node->attributes;
    bool rows_stay = node->shape.rank > 0 && !attributes->low.values[0] && !attributes->high.values[0] &&
                     !attributes->interior.values[0];
    return rows_stay ? liana__parts_all_inputs(node) : (liana__parts){0};
}

static const liana__kernel pad_strided = {.name = "strided", .run = run_pad};

const liana__op liana__op_pad = {
    .name = "pad",
    .doc = "Cells of one value before, after and between the elements of each axis.",
    .attributes = &pad_fields,
    .num_inputs = 1,
    .infer = infer_pad,
    .gradient = pad_gradient,
    .parts = pad_parts,
    .precision = LIANA__MOVES_DATA,
    .lower = lower_pad,
    .kernels = LIANA__KERNELS(&pad_strided, LIANA__REFERENCE(run_pad_reference)),
};

liana_tensor liana__pad_interior(liana_location here, liana_tensor x, const int64_t *low, const int64_t *high,
                                 const int64_t *interior, double value)
{
    const int rank = liana_tensor_shape(x).rank;
    const liana__pad_attributes attributes = {.low = liana__ints_of(low, rank),
                                              .high = liana__ints_of(high, rank),
                                              .interior = liana__ints_of(interior, rank),
                                              .value = value};
    return liana__build1(here, &liana__op_pad, x, &attributes);
}

liana_tensor liana_op_pad_at(liana_location here, liana_tensor x, const int64_t *low, const int64_t *high, double value)
{
    if (!LIANA__GRAPH_REQUIRE(x.graph, here, low)) return (liana_tensor){x.graph, 0};
    if (!LIANA__GRAPH_REQUIRE(x.graph, here, high)) return (liana_tensor){x.graph, 0};
    static const int64_t none[LIANA_MAX_RANK] = {0};
    return liana__pad_interior(here, x, low, high, none, value);
}
