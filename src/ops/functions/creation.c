/* Tensors that follow a rule. */
#include "ir/given.h"
#include "ops/functions/functions.h"

liana_tensor liana_op_full_at(liana_location here, liana_graph *graph, liana_dtype dtype, liana_shape shape,
                              double value)
{
    return liana__full(here, graph, dtype, shape, value);
}

/* first + i step, of f32 counted in f32. */
static liana_tensor steps(liana_location here, liana_graph *graph, liana_dtype dtype, int64_t count, double first,
                          double step)
{
    liana_tensor x = liana_op_iota_at(here, graph, dtype, liana_shape_of(count), 0);
    if (step != 1) x = liana_op_multiply_at(here, x, liana_graph_scalar_at(here, graph, dtype, step));
    return first == 0 ? x : liana_op_add_at(here, x, liana_graph_scalar_at(here, graph, dtype, first));
}

liana_tensor liana_op_arange_at(liana_location here, liana_graph *graph, liana_dtype dtype, double start, double stop,
                                double step)
{
    const double count = step != 0 ? (stop - start) / step : 0;
    liana_tensor none = {graph, 0};
    if (!(count > 0 && count <= INT32_MAX)) {
        return liana__function_fail(here, none, "arange", "found %g to %g by %g, expected at least one number", start,
                                    stop, step);
    }
    int64_t whole = (int64_t)count;
    return steps(here, graph, dtype, whole + ((double)whole < count), start, step);
}

liana_tensor liana_op_linspace_at(liana_location here, liana_graph *graph, liana_dtype dtype, double start, double stop,
                                  int64_t count, bool has_end)
{
    const int64_t parts = count - has_end;
    liana_tensor none = {graph, 0};
    if (count < 1)
        return liana__function_fail(here, none, "linspace", "found %lld numbers, expected at least one",
                                    (long long)count);
    return steps(here, graph, dtype, count, start, parts > 0 ? (stop - start) / (double)parts : 1);
}

/* Column - row. */
static liana_tensor distances(liana_location here, liana_graph *graph, int64_t rows, int64_t columns)
{
    const liana_shape shape = liana_shape_of(rows, columns);
    return liana_op_subtract_at(here, liana_op_iota_at(here, graph, LIANA_S32, shape, 1),
                                liana_op_iota_at(here, graph, LIANA_S32, shape, 0));
}

liana_tensor liana_op_eye_at(liana_location here, liana_graph *graph, liana_dtype dtype, int64_t rows, int64_t columns,
                             int64_t diagonal)
{
    liana_tensor distance = distances(here, graph, rows, columns);
    liana_tensor is_on = liana_op_equal_at(here, distance, liana__number_like(here, distance, (double)diagonal));
    return liana_op_cast_at(here, is_on, dtype);
}

liana_tensor liana_op_tri_at(liana_location here, liana_graph *graph, liana_dtype dtype, int64_t rows, int64_t columns,
                             int64_t diagonal)
{
    liana_tensor distance = distances(here, graph, rows, columns);
    liana_tensor is_in = liana_op_less_equal_at(here, distance, liana__number_like(here, distance, (double)diagonal));
    return liana_op_cast_at(here, is_in, dtype);
}

/* x, with zeros above the diagonal (`lower`) or below it. */
static liana_tensor triangle(liana_location here, liana_tensor x, int64_t diagonal, bool lower, const char *name)
{
    const liana_shape shape = liana_tensor_shape(x);
    if (shape.rank < 2) return liana__function_fail(here, x, name, "found %d axes, expected at least 2", shape.rank);
    liana_tensor distance = distances(here, x.graph, shape.dims[shape.rank - 2], shape.dims[shape.rank - 1]);
    liana_tensor limit = liana__number_like(here, distance, (double)diagonal);
    liana_tensor is_in =
        lower ? liana_op_less_equal_at(here, distance, limit) : liana_op_greater_equal_at(here, distance, limit);
    return liana_op_select_at(here, is_in, x, liana__number_like(here, x, 0));
}

liana_tensor liana_op_tril_at(liana_location here, liana_tensor x, int64_t diagonal)
{
    return triangle(here, x, diagonal, true, "tril");
}

liana_tensor liana_op_triu_at(liana_location here, liana_tensor x, int64_t diagonal)
{
    return triangle(here, x, diagonal, false, "triu");
}

liana_tensor liana_op_outer_at(liana_location here, liana_tensor a, liana_tensor b)
{
    return liana_op_multiply_at(here, liana_op_reshape_at(here, a, liana_shape_of(-1, 1)),
                                liana_op_reshape_at(here, b, liana_shape_of(1, -1)));
}

void liana_op_meshgrid_at(liana_location here, const liana_tensor *x, size_t count, liana_tensor *grids)
{
    liana_shape shape = {.rank = (int)count};
    if (!x || !LIANA__GRAPH_REQUIRE(count ? x[0].graph : NULL, here, grids)) return;
    for (size_t i = 0; i < count; i++) grids[i] = (liana_tensor){x[0].graph, 0};
    if (count < 1 || count > LIANA_MAX_RANK) {
        if (count)
            liana__function_fail(here, x[0], "meshgrid", "found %zu tensors, expected 1 to %d", count, LIANA_MAX_RANK);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const liana_shape own = liana_tensor_shape(x[i]);
        shape.dims[i] = liana_shape_size(&own);
    }
    for (size_t i = 0; i < count; i++) {
        liana_shape line = {.rank = (int)count};
        for (size_t k = 0; k < count; k++) line.dims[k] = k == i ? shape.dims[i] : 1;
        grids[i] = liana_op_broadcast_to_at(here, liana_op_reshape_at(here, x[i], line), shape);
    }
}
