/* Common code of shard builders: sums by name, and by examples that may be missing. */
#include "step/builders.h"

#include <liana/ops.h>
#include <string.h>

const liana__step_sum *liana__step_sums_find(const liana__step_sums *sums, const char *variable)
{
    for (size_t i = 0; i < sums->count; i++) {
        if (strcmp(sums->items[i].variable, variable) == 0) return &sums->items[i];
    }
    return NULL;
}

liana_tensor liana__by_example(liana_tensor each, liana_tensor weights)
{
    if (!weights.id) return each;
    if (liana_tensor_dtype(weights) != liana_tensor_dtype(each)) {
        weights = liana_op_cast(weights, liana_tensor_dtype(each));
    }
    liana_shape shape = liana_tensor_shape(each), column = liana_tensor_shape(weights);
    while (column.rank < shape.rank) column.dims[column.rank++] = 1;
    if (column.rank > 1) weights = liana_op_reshape(weights, column);
    return liana_op_multiply(each, weights);
}
