/* iota: each element is its index along an axis. */
#include "ops/index.h"
#include "ops/ops.h"
#include "stablehlo/lowering.h"

typedef struct iota_attributes {
    int dtype;
    liana__ints shape;
    int64_t axis;
} iota_attributes;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(iota_attributes, dtype, ENUM, .names = liana__dtype_names, .doc = "The result's dtype."),
    LIANA__FIELD_ROW(iota_attributes, shape, INTS, .doc = "The result's shape."),
    LIANA__FIELD_ROW(iota_attributes, axis, INT, .doc = "The axis along which elements are counted."),
};
static const liana__fields attributes = {"iota", sizeof(iota_attributes), sizeof fields / sizeof *fields, fields};

/* The greatest number of elements that can be counted: beyond it two indices would be the same number. */
static int64_t countable(liana_dtype dtype)
{
    switch (dtype) {
    case LIANA_BF16: return (int64_t)1 << 8;
    case LIANA_U8: return (int64_t)1 << 8;
    case LIANA_F16: return (int64_t)1 << 11;
    case LIANA_S8: return (int64_t)1 << 7;
    case LIANA_S16: return (int64_t)1 << 15;
    case LIANA_U16: return (int64_t)1 << 16;
    case LIANA_F32: return (int64_t)1 << 24;
    case LIANA_S32: return (int64_t)1 << 31;
    case LIANA_U32: return (int64_t)1 << 32;
    case LIANA_BOOL: return 0;
    default: return INT64_MAX;
    }
}

static liana_status infer_iota(liana__infer *infer)
{
    iota_attributes *options = infer->attributes;
    if ((unsigned)options->dtype >= LIANA_NUM_DTYPES) return liana__infer_fail(infer, "%d is no dtype", options->dtype);
    infer->dtype = (liana_dtype)options->dtype;
    LIANA_TRY(liana__infer_given_shape(infer, &options->shape, 1, &infer->shape));
    int axis;
    LIANA_TRY(liana__infer_axis(infer, options->axis, infer->shape.rank, &axis));
    options->axis = axis;
    if (infer->dtype == LIANA_BOOL) return liana__infer_fail(infer, "bool cannot count, expected a number");
    if (infer->shape.dims[axis] <= countable(infer->dtype)) return LIANA_OK;
    return liana__infer_fail(infer, "axis %d has %lld elements, %s counts up to %lld", axis,
                             (long long)infer->shape.dims[axis], liana_dtype_name(infer->dtype),
                             (long long)countable(infer->dtype));
}

static liana_status lower_iota(liana__lowering *l, const liana__node *node)
{
    const int axis = (int)((const iota_attributes *)node->attributes)->axis;
    return liana__hlo_give(l, node, liana__hlo_iota(l, node->dtype, node->shape, axis));
}

static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    int axis = (int)((const iota_attributes *)node->attributes)->axis;
    int64_t size = liana_shape_size(&node->shape), inner = liana__inner_size(&node->shape, axis);
    for (int64_t i = 0; i < size; i++) {
        liana__store(call->dst, node->dtype, i, (double)(i / inner % node->shape.dims[axis]));
    }
    return LIANA_OK;
}

const liana__op liana__op_iota = {
    .name = "iota",
    .doc = "Each element is its index along an axis.",
    .attributes = &attributes,
    .infer = infer_iota,
    .gradient = liana__no_gradient,
    .lower = lower_iota,
    .kernels = LIANA__KERNELS(LIANA__REFERENCE(run_reference)),
};

liana_tensor liana_op_iota_at(liana_location here, liana_graph *graph, liana_dtype dtype, liana_shape shape,
                              int64_t axis)
{
    const iota_attributes options = {(int)dtype, liana__ints_of(shape.dims, shape.rank), axis};
    return liana__build(here, graph, &liana__op_iota, NULL, 0, &options);
}
