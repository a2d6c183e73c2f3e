/* The list of ops, and builders that gradients share. */
#include "ops/ops.h"
#include "kernels/epilogue.h"
#include "ops/index.h"

#include <stdlib.h>

const liana__op *const liana__ops[] = {
#define LIANA__OP(stem, name) &liana__op_##name,
#include "ops/ops.def"
#undef LIANA__OP
    NULL,
};

const char *const liana__dtype_names[] = {
#define DTYPE_NAME(name, text, size) text,
    LIANA_DTYPE_MAP(DTYPE_NAME)
#undef DTYPE_NAME
        NULL};

const char *const liana__fused_activation_names[] = {"linear", "relu", "relu6", "swish", NULL};

liana_status liana__infer_activation(liana__infer *infer, int activation)
{
    if (activation >= 0 && activation < LIANA__NUM_FUSED_ACTIVATIONS) return LIANA_OK;
    return liana__infer_fail(infer, "%d is not an activation", activation);
}

static int kind_of(liana_dtype dtype)
{
    if (liana__dtype_is_float(dtype)) return LIANA__FLOATS;
    if (dtype == LIANA_BOOL) return LIANA__BOOLS;
    return liana__dtype_is_signed(dtype) ? LIANA__SIGNED : LIANA__UNSIGNED;
}

liana_status liana__infer_accepts(liana__infer *infer, int kinds)
{
    if (kind_of(infer->dtype) & kinds) return LIANA_OK;
    return liana__infer_fail(infer, "%s is not defined for %s; use liana_op_cast first", infer->op->name,
                             liana_dtype_name(infer->dtype));
}

liana_status liana__infer_s32(liana__infer *infer, size_t index, const char *name)
{
    const liana_dtype dtype = infer->inputs[index]->dtype;
    if (dtype == LIANA_S32) return LIANA_OK;
    return liana__infer_fail(infer, "the %s are %s, expected s32; use liana_op_cast first", name,
                             liana_dtype_name(dtype));
}

liana_status liana__infer_given_shape(liana__infer *infer, const liana__ints *given, int least, liana_shape *shape)
{
    if (given->count < least || given->count > LIANA_MAX_RANK) {
        return liana__infer_fail(infer, "rank %lld is out of range, expected %d to %d", (long long)given->count, least,
                                 LIANA_MAX_RANK);
    }
    *shape = (liana_shape){.rank = (int)given->count};
    for (int i = 0; i < shape->rank; i++) shape->dims[i] = given->values[i];
    return LIANA_OK;
}

liana_tensor liana__sum_to_shape(liana_location here, liana_tensor x, const liana_shape *shape)
{
    liana_shape wide = liana_tensor_shape(x);
    if (liana_shape_equal(&wide, shape)) return x;
    liana_axes axes = {0};
    for (int i = 0; i < wide.rank; i++) {
        int axis = i - (wide.rank - shape->rank);
        bool repeated = axis < 0 || (shape->dims[axis] == 1 && wide.dims[i] != 1);
        if (repeated) axes.values[axes.count++] = i;
    }
    if (axes.count) x = liana_op_reduce_sum_at(here, x, axes, true);
    return liana_op_reshape_at(here, x, *shape);
}

liana_tensor liana__full(liana_location here, liana_graph *graph, liana_dtype dtype, liana_shape shape, double value)
{
    liana_tensor scalar = liana_graph_scalar_at(here, graph, dtype, value);
    return shape.rank ? liana_op_broadcast_to_at(here, scalar, shape) : scalar;
}
