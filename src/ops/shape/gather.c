/* gather: slices of a tensor by index; and scatter_add, its gradient. */
#include "kernels/applicable.h"
#include "ops/gradients.h"
#include "ops/index.h"
#include "stablehlo/lowering.h"

typedef struct gather_attributes {
    int64_t axis; /* not negative after inference */
} gather_attributes;

static const liana__field gather_fields[] = {
    LIANA__FIELD_ROW(gather_attributes, axis, INT, .doc = "The axis that is indexed."),
};
static const liana__fields gather_table = {"gather", sizeof(gather_attributes), 1, gather_fields};

typedef struct scatter_attributes {
    int64_t axis;
    int64_t size;
} scatter_attributes;

static const liana__field scatter_fields[] = {
    LIANA__FIELD_ROW(scatter_attributes, axis, INT, .doc = "The axis that is indexed."),
    LIANA__FIELD_ROW(scatter_attributes, size, INT, .doc = "The length of that axis."),
};
static const liana__fields scatter_table = {"scatter_add", sizeof(scatter_attributes), 2, scatter_fields};

static liana_status infer_gather(liana__infer *infer)
{
    gather_attributes *options = infer->attributes;
    const liana_shape *shape = &infer->inputs[0]->shape, *indices = &infer->inputs[1]->shape;
    LIANA_TRY(liana__infer_s32(infer, 1, "indices"));
    int axis;
    if (shape->rank == 0) return liana__infer_fail(infer, "a scalar has no axis to index");
    LIANA_TRY(liana__infer_axis(infer, options->axis, shape->rank, &axis));
    options->axis = axis;
    int rank = shape->rank - 1 + indices->rank;
    if (rank > LIANA_MAX_RANK) {
        return liana__infer_fail(infer, "the result would have rank %d, expected at most %d", rank, LIANA_MAX_RANK);
    }
    infer->dtype = infer->inputs[0]->dtype;
    infer->shape.rank = 0;
    for (int i = 0; i < axis; i++) infer->shape.dims[infer->shape.rank++] = shape->dims[i];
    for (int i = 0; i < indices->rank; i++) infer->shape.dims[infer->shape.rank++] = indices->dims[i];
    for (int i = axis + 1; i < shape->rank; i++) infer->shape.dims[infer->shape.rank++] = shape->dims[i];
    return LIANA_OK;
}

static liana_status infer_scatter(liana__infer *infer)
{
    const scatter_attributes *options = infer->attributes;
    const liana_shape *updates = &infer->inputs[0]->shape, *indices = &infer->inputs[1]->shape;
    LIANA_TRY(liana__infer_s32(infer, 1, "indices"));
    LIANA_TRY(liana__infer_float(infer, 0));
    bool fits = options->axis >= 0 && options->axis <= updates->rank - indices->rank;
    const int axis = fits ? (int)options->axis : 0;
    for (int i = 0; fits && i < indices->rank; i++) fits = updates->dims[axis + i] == indices->dims[i];
    if (!fits) {
        return liana__infer_fail(infer, "the updates do not have the indices' axes at axis %lld",
                                 (long long)options->axis);
    }
    int rank = updates->rank - indices->rank + 1;
    if (rank > LIANA_MAX_RANK) {
        return liana__infer_fail(infer, "the result would have rank %d, expected at most %d", rank, LIANA_MAX_RANK);
    }
    infer->dtype = infer->inputs[0]->dtype;
    infer->shape.rank = 0;
    for (int i = 0; i < axis; i++) infer->shape.dims[infer->shape.rank++] = updates->dims[i];
    infer->shape.dims[infer->shape.rank++] = options->size;
    for (int i = axis + indices->rank; i < updates->rank; i++)
        infer->shape.dims[infer->shape.rank++] = updates->dims[i];
    return LIANA_OK;
}

static void gather_gradient(liana__gradient *g)
{
    int64_t axis = ((const gather_attributes *)g->node->attributes)->axis;
    int64_t size = liana__input_shape(g->node, 0)->dims[axis];
    /* scatter_add computes, and f16 only holds numbers: the sums are rounded once. */
    const liana_dtype dtype = g->node->dtype;
    liana_tensor updates = liana_op_cast(g->output_gradient, dtype == LIANA_F16 ? LIANA_F32 : dtype);
    liana_tensor sums = liana__op_scatter_add_at(LIANA_HERE, updates, g->inputs[1], axis, size);
    g->input_gradients[0] = liana_op_cast(sums, dtype);
}

static void scatter_gradient(liana__gradient *g)
{
    int64_t axis = ((const scatter_attributes *)g->node->attributes)->axis;
    g->input_gradients[0] = liana_op_gather(g->output_gradient, g->inputs[1], axis);
}

static liana_status lower_gather(liana__lowering *l, const liana__node *node)
{
    const int axis = (int)((const gather_attributes *)node->attributes)->axis;
    liana__hlo x = liana__hlo_input(l, node, 0), indices = liana__hlo_input(l, node, 1);
    return liana__hlo_give(l, node, liana__hlo_gather(l, x, indices, axis, node->shape));
}

static liana_status lower_scatter(liana__lowering *l, const liana__node *node)
{
    const int axis = (int)((const scatter_attributes *)node->attributes)->axis;
    liana__hlo updates = liana__hlo_widen(l, liana__hlo_input(l, node, 0)), indices = liana__hlo_input(l, node, 1);
    liana__hlo zeros = liana__hlo_fill(l, updates.dtype, node->shape, 0);
    liana__hlo sums = liana__hlo_scatter_add(l, zeros, indices, updates, axis);
    return liana__hlo_give(l, node, liana__hlo_convert(l, sums, node->dtype));
}

/* Both ops see the wide tensor as [outer, size, inner] and the other as [outer, number of indices, inner]. */
typedef struct layout {
    int64_t outer, size, inner, count;
    const int32_t *indices;
} layout;

static layout find_layout(const liana__call *call, const liana_shape *wide, int64_t axis)
{
    return (layout){.outer = liana__outer_size(wide, (int)axis),
                    .size = wide->dims[axis],
                    .inner = liana__inner_size(wide, (int)axis),
                    .count = liana_shape_size(liana__input_shape(call->node, 1)),
                    .indices = call->src[1]};
}

/* The row of the wide tensor, among outer * size of them, that belongs to row `outer * count + i` of the other. */
static int64_t wide_row(const layout *in, int64_t row)
{
    int64_t index = in->indices[row % in->count];
    return row / in->count * in->size + (index < 0 ? 0 : index >= in->size ? in->size - 1 : index);
}

static layout gather_layout(const liana__call *call)
{
    int64_t axis = ((const gather_attributes *)call->node->attributes)->axis;
    return find_layout(call, liana__input_shape(call->node, 0), axis);
}

static liana_status run_gather_rows(const liana__call *call)
{
    layout in = gather_layout(call);
    size_t bytes = (size_t)in.inner * liana_dtype_size(call->node->dtype);
    for (int64_t row = 0; row < in.outer * in.count; row++) {
        const char *from = (const char *)call->src[0] + (size_t)wide_row(&in, row) * bytes;
        memcpy((char *)call->dst + (size_t)row * bytes, from, bytes);
    }
    return LIANA_OK;
}

static liana_status run_gather(const liana__call *call)
{
    layout in = gather_layout(call);
    for (int64_t i = 0; i < in.outer * in.count * in.inner; i++) {
        int64_t from = wide_row(&in, i / in.inner) * in.inner + i % in.inner;
        liana__copy_element(call->dst, i, call->src[0], from, call->node->dtype);
    }
    return LIANA_OK;
}

static layout scatter_layout(const liana__call *call)
{
    int64_t axis = ((const scatter_attributes *)call->node->attributes)->axis;
    return find_layout(call, &call->node->shape, axis);
}

/* Rows for the same place are added in the order of the indices, so the sum is always the same. */
static liana_status run_scatter_f32(const liana__call *call)
{
    layout in = scatter_layout(call);
    memset(call->dst, 0, liana__byte_size(LIANA_F32, &call->node->shape));
    for (int64_t row = 0; row < in.outer * in.count; row++) {
        const float *from = (const float *)call->src[0] + row * in.inner;
        float *to = (float *)call->dst + wide_row(&in, row) * in.inner;
        for (int64_t i = 0; i < in.inner; i++) to[i] += from[i];
    }
    return LIANA_OK;
}

static liana_status run_scatter(const liana__call *call)
{
    liana_dtype dtype = call->node->dtype;
    layout in = scatter_layout(call);
    int64_t size = liana_shape_size(&call->node->shape);
    for (int64_t i = 0; i < size; i++) liana__store(call->dst, dtype, i, 0);
    for (int64_t i = 0; i < in.outer * in.count * in.inner; i++) {
        int64_t to = wide_row(&in, i / in.inner) * in.inner + i % in.inner;
        liana__store(call->dst, dtype, to, liana__load(call->dst, dtype, to) + liana__load(call->src[0], dtype, i));
    }
    return LIANA_OK;
}

static const liana__kernel gather_rows = {.name = "rows", .run = run_gather_rows};
static const liana__kernel scatter_f32 = {.name = "f32", .applicable = liana__applicable_f32, .run = run_scatter_f32};

const liana__op liana__op_gather = {
    .name = "gather",
    .doc = "The input's slices along an axis at given indices, which are clamped to the range.",
    .attributes = &gather_table,
    .num_inputs = 2,
    .infer = infer_gather,
    .gradient = gather_gradient,
    .precision = LIANA__MOVES_DATA,
    .cost = liana__cost_result_only,
    .lower = lower_gather,
    .kernels = LIANA__KERNELS(&gather_rows, LIANA__REFERENCE(run_gather)),
};

const liana__op liana__op_scatter_add = {
    .name = "scatter_add",
    .doc = "Zeros to which slices are added along an axis at given indices: the gradient of gather.",
    .attributes = &scatter_table,
    .num_inputs = 2,
    .infer = infer_scatter,
    .gradient = scatter_gradient,
    .cost = liana__cost_reduction,
    .lower = lower_scatter,
    .kernels = LIANA__KERNELS(&scatter_f32, LIANA__REFERENCE(run_scatter)),
};

liana_tensor liana_op_gather_at(liana_location here, liana_tensor x, liana_tensor indices, int64_t axis)
{
    return liana__build2(here, &liana__op_gather, x, indices, &(gather_attributes){axis});
}

liana_tensor liana__op_scatter_add_at(liana_location here, liana_tensor updates, liana_tensor indices, int64_t axis,
                                      int64_t size)
{
    return liana__build2(here, &liana__op_scatter_add, updates, indices, &(scatter_attributes){axis, size});
}
