/* argmax: where the greatest element of an axis is. */
#include "ops/reduce/argmax.h"

#include "ops/index.h"
#include "stablehlo/lowering.h"

static const liana__field fields[] = {
    LIANA__FIELD_ROW(liana__argmax_attributes, axis, INT, .doc = "The axis that is searched."),
};
static const liana__fields attributes = {"argmax", sizeof(liana__argmax_attributes), 1, fields};

static liana_status infer_argmax(liana__infer *infer)
{
    liana__argmax_attributes *options = infer->attributes;
    const liana_shape *shape = &infer->inputs[0]->shape;
    int axis;
    if (shape->rank == 0) return liana__infer_fail(infer, "a scalar has no axis to search");
    LIANA_TRY(liana__infer_axis(infer, options->axis, shape->rank, &axis));
    options->axis = axis;
    if (shape->dims[axis] > INT32_MAX) {
        return liana__infer_fail(infer, "axis %d has %lld elements, expected at most %d (the result is s32)", axis,
                                 (long long)shape->dims[axis], INT32_MAX);
    }
    infer->dtype = LIANA_S32;
    infer->shape.rank = shape->rank - 1;
    for (int i = 0; i < infer->shape.rank; i++) infer->shape.dims[i] = shape->dims[i < axis ? i : i + 1];
    return LIANA_OK;
}

/* The first of equals wins, and the first NaN wins over all (as in numpy). 64-bit integers are compared as doubles. */
static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    const liana_shape *shape = liana__input_shape(node, 0);
    liana_dtype dtype = node->inputs[0]->dtype;
    int axis = (int)((const liana__argmax_attributes *)node->attributes)->axis;
    int64_t inner = liana__inner_size(shape, axis), length = shape->dims[axis], size = liana_shape_size(&node->shape);
    for (int64_t i = 0; i < size; i++) {
        int64_t first = i / inner * length * inner + i % inner, best = 0;
        double greatest = liana__load(call->src[0], dtype, first);
        for (int64_t k = 1; k < length && greatest == greatest; k++) {
            double x = liana__load(call->src[0], dtype, first + k * inner);
            if (x <= greatest) continue;
            greatest = x;
            best = k;
        }
        ((int32_t *)call->dst)[i] = (int32_t)best;
    }
    return LIANA_OK;
}

/* The least index of a greatest element; of a NaN where there is one, which is then the maximum and equals nothing. */
static liana_status lower_argmax(liana__lowering *l, const liana__node *node)
{
    const int64_t axis = ((const liana__argmax_attributes *)node->attributes)->axis;
    liana__hlo x = liana__hlo_input(l, node, 0);
    liana__hlo greatest = liana__hlo_reduce_kept(l, LIANA__HLO_MAXIMUM, x, &axis, 1);
    liana__hlo found = liana__hlo_compare(l, "EQ", x, greatest);
    if (liana__dtype_is_float(x.dtype)) {
        found = liana__hlo_binary(l, "or", found, liana__hlo_compare(l, "NE", x, x));
    }
    liana__hlo index = liana__hlo_iota(l, LIANA_S32, x.shape, (int)axis);
    liana__hlo none = liana__hlo_fill(l, LIANA_S32, LIANA_SCALAR, (double)(x.shape.dims[axis] - 1));
    liana__hlo candidates = liana__hlo_select(l, found, index, none);
    return liana__hlo_give(l, node, liana__hlo_reduce(l, LIANA__HLO_MINIMUM, candidates, &axis, 1));
}

static liana__parts parts_of(const liana__node *node)
{
    bool rows_stay = ((const liana__argmax_attributes *)node->attributes)->axis > 0;
    return rows_stay ? liana__parts_all_inputs(node) : (liana__parts){0};
}

const liana__op liana__op_argmax = {
    .name = "argmax",
    .doc = "The index of the maximum along an axis, the first of equals.",
    .attributes = &attributes,
    .num_inputs = 1,
    .infer = infer_argmax,
    .gradient = liana__no_gradient,
    .cost = liana__cost_reduction,
    .parts = parts_of,
    .lower = lower_argmax,
    .kernels = LIANA__KERNELS(LIANA__VECTOR_KERNELS(argmax), LIANA__REFERENCE(run_reference)),
};

liana_tensor liana_op_argmax_at(liana_location here, liana_tensor x, int64_t axis)
{
    return liana__build1(here, &liana__op_argmax, x, &(liana__argmax_attributes){axis});
}
