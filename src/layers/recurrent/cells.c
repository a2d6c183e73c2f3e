/* What cells have in common: weights, gates, dropout. */
#include "layers/recurrent/rnn.h"

#include "ir/graph.h"
#include "layers/model.h"

#include <stdio.h>

liana_shape liana__cell_state_shape(const void *options, size_t index, const liana_shape *x)
{
    (void)index;
    return liana_shape_of(x->dims[0], ((const liana__cell_options *)options)->units);
}

liana_status liana__cell_declare(liana_layer_build *build, size_t gates, liana_shape bias, size_t num_states)
{
    const liana__cell_options *chosen = build->options;
    const liana_shape *x = &build->inputs[0];
    const int64_t width = (int64_t)gates * chosen->units;
    if (x->rank != 2) return liana_layer_refuse(build, 0, "[batch, features], one step for a cell");
    for (size_t i = 1; i <= num_states && i < build->num_inputs; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "[batch, %lld], a state of the cell", (long long)chosen->units);
        const liana_shape *state = &build->inputs[i];
        if (state->rank != 2 || state->dims[1] != chosen->units) return liana_layer_refuse(build, i, expected);
    }
    liana_layer_add_weight(build, "kernel", liana_shape_of(x->dims[1], width), chosen->kernel_initializer, true);
    liana_layer_add_weight(build, "recurrent_kernel", liana_shape_of(chosen->units, width),
                           chosen->recurrent_initializer, true);
    if (chosen->use_bias) liana_layer_add_weight(build, "bias", bias, chosen->bias_initializer, true);
    return build->status;
}

/* ---- gates ---- */

liana_tensor liana__cell_part(const liana__cell_run *run, liana_tensor x, size_t parts, size_t begin, size_t end)
{
    liana_shape shape = liana_tensor_shape(x);
    if (shape.rank == 0 || (begin == 0 && end == parts)) return x;
    int64_t start[LIANA_MAX_RANK] = {0}, *limit = shape.dims;
    const int last = shape.rank - 1;
    const int64_t size = shape.dims[last] / (int64_t)parts;
    start[last] = (int64_t)begin * size;
    limit[last] = (int64_t)end * size;
    return liana_op_slice_at(run->call->here, x, start, limit, NULL);
}

liana_tensor liana__cell_activate(const liana__cell_run *run, const char *text, liana_tensor x)
{
    liana_layer_call own = {.here = run->call->here};
    return liana__activate(&own, text, x);
}

/* x kernel; x is [batch, n] or [batch, steps, n]. */
static liana_tensor multiply(const liana__cell_run *run, liana_tensor x, liana_tensor kernel)
{
    const liana_location here = run->call->here;
    liana_shape shape = liana_tensor_shape(x);
    if (shape.rank < 3) return liana_op_matmul_at(here, x, kernel, false, false);
    x = liana_op_reshape_at(here, x, liana_shape_of(-1, shape.dims[shape.rank - 1]));
    x = liana_op_matmul_at(here, x, kernel, false, false);
    shape.dims[shape.rank - 1] = liana_tensor_shape(kernel).dims[1];
    return liana_op_reshape_at(here, x, shape);
}

/* x by a factor [batch, n] that is the same at all steps. */
static liana_tensor drop(const liana__cell_run *run, liana_tensor x, liana_tensor factor)
{
    const liana_location here = run->call->here;
    const liana_shape shape = liana_tensor_shape(x), own = liana_tensor_shape(factor);
    if (shape.rank == own.rank + 1) {
        liana_shape wide = {.rank = shape.rank, .dims = {own.dims[0], 1}};
        for (int i = 1; i < own.rank; i++) wide.dims[i + 1] = own.dims[i];
        factor = liana_op_reshape_at(here, factor, wide);
    }
    return liana_op_multiply_at(here, x, factor);
}

liana_tensor liana__cell_product(const liana__cell_run *run, liana_tensor x, liana_tensor kernel, size_t gates,
                                 size_t begin, size_t end, const liana_tensor *factors)
{
    liana_tensor products[4];
    const bool has_factors = factors && factors[0].id;
    if (!has_factors || run->num_masks == 1) {
        if (has_factors) x = drop(run, x, factors[0]);
        return multiply(run, x, liana__cell_part(run, kernel, gates, begin, end));
    }
    for (size_t i = begin; i < end; i++) {
        products[i - begin] =
            multiply(run, drop(run, x, factors[i]), liana__cell_part(run, kernel, gates, i, i + 1));
    }
    if (end - begin == 1) return products[0];
    return liana_op_concat_at(run->call->here, products, end - begin, liana_tensor_shape(products[0]).rank - 1);
}

/* Draws `count` factors of a shape; `first` numbers the draws. */
static void draw(const liana__cell_run *run, const liana_shape *shape, double rate, size_t first, size_t count,
                 liana_tensor *factors)
{
    const liana_layer_call *call = run->call;
    liana_tensor one = liana_graph_scalar_at(call->here, call->inputs[0].graph, call->dtype, 1);
    for (size_t i = 0; rate > 0 && i < count; i++) {
        const uint64_t seed = run->seed ^ (uint64_t)(first + i + 1) * 0xd1342543de82ef95u;
        liana_tensor ones = liana_op_broadcast_to_at(call->here, one, *shape);
        factors[i] = liana_op_dropout_at(call->here, ones, call->positions, rate, seed, call->salt);
    }
}

void liana__cell_drop(liana__cell_run *run, const liana_shape *features, const liana_shape *units, size_t gates)
{
    const liana__cell_options *chosen = run->options;
    run->num_masks = gates > 1 && (chosen->implementation == 1 || chosen->recurrent_dropout > 0) ? gates : 1;
    if (!run->training) return;
    draw(run, features, chosen->dropout, 0, run->num_masks, run->dropout);
    draw(run, units, chosen->recurrent_dropout, 4, run->num_masks, run->recurrent_dropout);
}
