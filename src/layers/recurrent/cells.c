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

size_t liana__cell_num_weights(const liana__cell_run *run)
{
    if (run->type->num_weights) return run->type->num_weights(run->options);
    return ((const liana__cell_options *)run->options)->use_bias ? 3 : 2;
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

/* x kernel; x is [batch, n] or [steps, batch, n]. */
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

/* x [steps, batch, n] or [batch, n] by a factor [batch, n] that is the same at all steps. */
static liana_tensor drop(const liana__cell_run *run, liana_tensor x, liana_tensor factor)
{
    return liana_op_multiply_at(run->call->here, x, factor);
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
        products[i - begin] = multiply(run, drop(run, x, factors[i]), liana__cell_part(run, kernel, gates, i, i + 1));
    }
    if (end - begin == 1) return products[0];
    return liana_op_concat_at(run->call->here, products, end - begin, liana_tensor_shape(products[0]).rank - 1);
}

void liana__cell_draw(const liana__cell_run *run, const liana_shape *shape, double rate, size_t first, size_t count,
                      liana_tensor *factors)
{
    const liana_layer_call *call = run->call;
    liana_tensor one = liana_graph_scalar_at(call->here, call->inputs[0].graph, call->dtype, 1);
    for (size_t i = 0; run->training && rate > 0 && i < count; i++) {
        const uint64_t seed = run->seed ^ (uint64_t)(first + i + 1) * 0xd1342543de82ef95u;
        liana_tensor ones = liana_op_broadcast_to_at(call->here, one, *shape);
        factors[i] = liana_op_dropout_at(call->here, ones, call->positions, rate, seed, call->salt);
    }
}

bool liana__cell_is_usual(const liana__gated_cell_options *options)
{
    const char *activation = options->activation, *gates = options->recurrent_activation;
    return activation && gates && strcmp(activation, "tanh") == 0 && strcmp(gates, "sigmoid") == 0;
}

bool liana__cell_drops_by_gate(const void *options)
{
    const liana__gated_cell_options *chosen = options;
    return chosen->implementation == 1 || chosen->recurrent_dropout > 0;
}

void liana__cell_drop(liana__cell_run *run, liana_tensor x, size_t gates, bool by_gate)
{
    const liana__cell_options *chosen = run->options;
    const liana_shape shape = liana_tensor_shape(x);
    run->num_masks = by_gate ? gates : 1;
    if (shape.rank < 2) return;
    const liana_shape features = liana_shape_of(shape.dims[1], shape.dims[shape.rank - 1]);
    const liana_shape units = liana_shape_of(shape.dims[1], chosen->units);
    liana__cell_draw(run, &features, chosen->dropout, 0, run->num_masks, run->dropout);
    liana__cell_draw(run, &units, chosen->recurrent_dropout, 4, run->num_masks, run->recurrent_dropout);
}

liana_tensor liana__lstm_gates(const liana__cell_run *run, liana_tensor z, const char *activation,
                               const char *recurrent_activation, liana_tensor states[2])
{
    const liana_location here = run->call->here;
    liana_tensor gates[4];
    for (size_t i = 0; i < 4; i++) {
        gates[i] = liana__cell_activate(run, i == 2 ? activation : recurrent_activation,
                                        liana__cell_part(run, z, 4, i, i + 1));
    }
    states[1] = liana_op_add_at(here, liana_op_multiply_at(here, gates[1], states[1]),
                                liana_op_multiply_at(here, gates[0], gates[2]));
    states[0] = liana_op_multiply_at(here, gates[3], liana__cell_activate(run, activation, states[1]));
    return states[0];
}
