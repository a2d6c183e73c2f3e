/* ops.h - the list of ops, and the builders that only gradients use. */
#ifndef LIANA_OPS_OPS_H
#define LIANA_OPS_OPS_H

#include "ir/graph.h"
#include "ir/op.h"

#include <liana/ops.h>

#define LIANA__OP(stem, name) extern const liana__op liana__op_##name;
#include "ops/ops.def"
#undef LIANA__OP

/* All ops in the order of ops.def, NULL-terminated. */
extern const liana__op *const liana__ops[];

/* The names of dtypes for ENUM fields, NULL-terminated. */
extern const char *const liana__dtype_names[];
/* The same of liana__fused_activation (kernels/epilogue.h). */
extern const char *const liana__fused_activation_names[];
/* Fails if a number is not one of those. */
liana_status liana__infer_activation(liana__infer *infer, int activation);

/* Kinds of dtypes. Fails if the result, which has the dtype of the inputs, is of none of those that are accepted. */
enum {
    LIANA__FLOATS = 1,
    LIANA__SIGNED = 2,
    LIANA__UNSIGNED = 4,
    LIANA__BOOLS = 8,
    LIANA__NUMBERS = LIANA__FLOATS | LIANA__SIGNED | LIANA__UNSIGNED,
    LIANA__ANY_DTYPE = LIANA__NUMBERS | LIANA__BOOLS,
};
liana_status liana__infer_accepts(liana__infer *infer, int kinds);

/* Sums `x` over the axes along which `shape` was broadcast to x's shape: the gradient of broadcasting. */
liana_tensor liana__sum_to_shape(liana_location here, liana_tensor x, const liana_shape *shape);

/* A tensor of a given type, filled with zeros or another value. */
liana_tensor liana__full(liana_location here, liana_graph *graph, liana_dtype dtype, liana_shape shape, double value);

#endif
