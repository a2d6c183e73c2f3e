/* For the ops, which write themselves: other shapes, parts of tensors, indices. */
#include "stablehlo/lowering.h"

#include "stablehlo/lowering_internal.h"

liana__hlo liana__hlo_reshape(liana__lowering *l, liana__hlo x, liana_shape shape)
{
    if (liana_shape_equal(&x.shape, &shape)) return x;
    return liana__hlo_write(l, "reshape", &x, 1, x.dtype, shape, NULL);
}

liana__hlo liana__hlo_transpose(liana__lowering *l, liana__hlo x, const int64_t *permutation)
{
    liana__text attributes = {0};
    liana__hlo_add_array(&attributes, "permutation", permutation, x.shape.rank);
    liana_shape shape = x.shape;
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = x.shape.dims[permutation[i]];
    return liana__hlo_write(l, "transpose", &x, 1, x.dtype, shape, &attributes);
}

liana__hlo liana__hlo_reverse(liana__lowering *l, liana__hlo x, const int64_t *axes, int count)
{
    liana__text attributes = {0};
    liana__hlo_add_array(&attributes, "dimensions", axes, count);
    return liana__hlo_write(l, "reverse", &x, 1, x.dtype, x.shape, &attributes);
}

liana__hlo liana__hlo_slice(liana__lowering *l, liana__hlo x, const int64_t *start, const int64_t *limit,
                            const int64_t *strides)
{
    liana__text attributes = {0};
    liana_shape shape = x.shape;
    liana__hlo_add_array(&attributes, "start_indices", start, shape.rank);
    liana__hlo_add_array(&attributes, "limit_indices", limit, shape.rank);
    liana__hlo_add_array(&attributes, "strides", strides, shape.rank);
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = (limit[i] - start[i] - 1) / strides[i] + 1;
    return liana__hlo_write(l, "slice", &x, 1, x.dtype, shape, &attributes);
}

liana__hlo liana__hlo_pad(liana__lowering *l, liana__hlo x, double value, const int64_t *low, const int64_t *high,
                          const int64_t *interior)
{
    liana__hlo operands[] = {x, liana__hlo_fill(l, x.dtype, LIANA_SCALAR, value)};
    liana__text attributes = {0};
    liana_shape shape = x.shape;
    liana__hlo_add_array(&attributes, "edge_padding_low", low, shape.rank);
    liana__hlo_add_array(&attributes, "edge_padding_high", high, shape.rank);
    liana__hlo_add_array(&attributes, "interior_padding", interior, shape.rank);
    for (int i = 0; i < shape.rank; i++) shape.dims[i] += low[i] + high[i] + (shape.dims[i] - 1) * interior[i];
    return liana__hlo_write(l, "pad", operands, 2, x.dtype, shape, &attributes);
}

liana__hlo liana__hlo_concatenate(liana__lowering *l, const liana__hlo *parts, size_t count, int axis)
{
    liana__text attributes = {0};
    liana_shape shape = parts[0].shape;
    for (size_t i = 1; i < count; i++) shape.dims[axis] += parts[i].shape.dims[axis];
    liana__hlo_add(&attributes, "dimension = %d : i64", axis);
    return liana__hlo_write(l, "concatenate", parts, count, parts[0].dtype, shape, &attributes);
}

liana__hlo liana__hlo_iota(liana__lowering *l, liana_dtype dtype, liana_shape shape, int axis)
{
    liana__text attributes = {0};
    liana__hlo_add(&attributes, "iota_dimension = %d : i64", axis);
    return liana__hlo_write(l, "iota", NULL, 0, dtype, shape, &attributes);
}

/* ---- indices ---- */

static liana__hlo clamp_indices(liana__lowering *l, liana__hlo indices, int64_t size)
{
    return liana__hlo_clamp(l, indices, 0, (double)(size - 1));
}

/* "[0, 1, 4]": all axes of a tensor with the indices' axes at `axis`, but those. */
static void add_window_axes(liana__text *attributes, const char *name, int rank, int axis, int num_index_axes)
{
    liana__text_add(attributes, "%s = [", name);
    const char *before = "";
    for (int i = 0; i < rank; i++) {
        if (i >= axis && i < axis + num_index_axes) continue;
        liana__text_add(attributes, "%s%d", before, i);
        before = ", ";
    }
    liana__text_add(attributes, "]");
}

liana__hlo liana__hlo_gather(liana__lowering *l, liana__hlo x, liana__hlo indices, int axis, liana_shape shape)
{
    liana__hlo operands[] = {x, clamp_indices(l, indices, x.shape.dims[axis])};
    liana__text attributes = {0};
    liana_shape one = x.shape;
    one.dims[axis] = 1;
    liana__text_add(&attributes, "dimension_numbers = #stablehlo.gather<");
    add_window_axes(&attributes, "offset_dims", shape.rank, axis, indices.shape.rank);
    liana__text_add(&attributes, ", collapsed_slice_dims = [%d], start_index_map = [%d], index_vector_dim = %d>", axis,
                    axis, indices.shape.rank);
    liana__hlo_add_array(&attributes, "slice_sizes", one.dims, one.rank);
    liana__hlo_add(&attributes, "indices_are_sorted = false");
    return liana__hlo_write(l, "gather", operands, 2, x.dtype, shape, &attributes);
}

liana__hlo liana__hlo_scatter_add(liana__lowering *l, liana__hlo base, liana__hlo indices, liana__hlo updates, int axis)
{
    liana__hlo operands[] = {base, clamp_indices(l, indices, base.shape.dims[axis]), updates};
    liana__hlo_op op = liana__hlo_begin(l, "scatter", operands, 3);
    liana__hlo_fold_region(l, &op, base.dtype, "add");
    liana__text attributes = {0};
    liana__text_add(&attributes, "scatter_dimension_numbers = #stablehlo.scatter<");
    add_window_axes(&attributes, "update_window_dims", updates.shape.rank, axis, indices.shape.rank);
    liana__text_add(&attributes,
                    ", inserted_window_dims = [%d], scatter_dims_to_operand_dims = [%d], index_vector_dim = %d>", axis,
                    axis, indices.shape.rank);
    liana__hlo_add(&attributes, "indices_are_sorted = false, unique_indices = false");
    return liana__hlo_end(l, &op, base.dtype, base.shape, &attributes);
}
