/* Targets in the forms that losses and metrics need. */
#include "losses/target.h"

liana_tensor liana__scalar_like(liana_tensor tensor, double value)
{
    return liana_graph_scalar(tensor.graph, liana_tensor_dtype(tensor), value);
}

liana_tensor liana__target_rows(const liana__truth *target, liana_tensor output)
{
    if (target->kind == LIANA__TARGET_VALUES) return target->tensor;
    liana_shape shape = liana_tensor_shape(output);
    if (shape.rank == 0) return (liana_tensor){output.graph, 0};
    return liana_op_one_hot(target->tensor, shape.dims[shape.rank - 1], liana_tensor_dtype(output));
}

liana_tensor liana__as_rows(liana_tensor tensor)
{
    liana_shape shape = liana_tensor_shape(tensor);
    if (shape.rank <= 2) return tensor;
    return liana_op_reshape(tensor, liana_shape_of(-1, shape.dims[shape.rank - 1]));
}

liana_tensor liana__as_column(liana_tensor tensor)
{
    return liana_tensor_shape(tensor).rank <= 1 ? tensor : liana_op_reshape(tensor, liana_shape_of(-1));
}
