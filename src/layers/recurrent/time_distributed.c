/* TimeDistributed: a layer on each step of sequences by itself. */
#include "layers/recurrent/rnn.h"

#include "ir/graph.h"
#include "layers/model.h"

#include <liana/layers/normalization.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_time_distributed_options, layer, LAYER, .required = true,
                     .doc = "the layer that is called on each step, such as Dense: {units: 8}"),
};

static liana_status check_options(liana_check *check)
{
    const liana_time_distributed_options *chosen = check->options;
    if (!chosen->layer.type->cell) return LIANA_OK;
    return liana_option_refuse(check, "layer", "found a cell %s, expected a layer; a cell goes into an RNN",
                               chosen->layer.type->part.name);
}

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_time_distributed_options *chosen = build->options;
    const liana_shape *x = &build->inputs[0];
    if (x->rank < 3 || x->dims[1] < 1) return liana_layer_refuse(build, 0, "[batch, steps, ...]");
    liana_shape step = {.rank = x->rank - 1, .dims = {x->dims[0]}};
    for (int i = 2; i < x->rank; i++) step.dims[i - 1] = x->dims[i];
    return liana_layer_build_held(build, &chosen->layer, "layer", &step, 1);
}

/* [batch, steps, ...] as [batch * steps, ...], and back to `batch` examples. */
static liana_tensor fold(liana_location here, liana_tensor x)
{
    const liana_shape shape = liana_tensor_shape(x);
    liana_shape rows_shape = {.rank = shape.rank - 1, .dims = {-1}};
    if (shape.rank < 2) return x;
    for (int i = 2; i < shape.rank; i++) rows_shape.dims[i - 1] = shape.dims[i];
    return liana_op_reshape_at(here, x, rows_shape);
}

static liana_tensor unfold(liana_location here, liana_tensor x, int64_t batch, int64_t steps)
{
    const liana_shape shape = liana_tensor_shape(x);
    liana_shape whole = {.rank = shape.rank + 1, .dims = {batch, steps}};
    for (int i = 1; i < shape.rank; i++) whole.dims[i + 1] = shape.dims[i];
    return liana_op_reshape_at(here, x, whole);
}

static bool is_batch_normalization(const liana_held_layer *held)
{
    return held->type == &liana__layer_batch_normalization;
}

/* One step of examples of which some are masked: they count in no statistic. The places of an example stand for steps,
 * of which the mask has one each. */
static liana_tensor normalize_step(liana_layer_call *call, const liana_held_layer *held, size_t number, liana_tensor x,
                                   liana_tensor mask)
{
    const liana_batch_normalization_options *chosen = held->options;
    const liana_shape shape = liana_tensor_shape(x);
    const int64_t channels = shape.dims[shape.rank - 1];
    const int64_t places = liana_shape_size(&shape) / (shape.dims[0] * channels);
    if (chosen->axis != -1) {
        return liana__graph_fail(
            call->inputs[0].graph, call->here, LIANA_UNIMPLEMENTED,
            "its layer '%s' (BatchNormalization): axis: found %lld, expected -1, which masked steps need", held->name,
            (long long)chosen->axis);
    }
    const liana_tensor places_of = liana_op_reshape_at(call->here, x, liana_shape_of(shape.dims[0], places, channels));
    mask = liana_op_reshape_at(call->here, mask, liana_shape_of(shape.dims[0], 1));
    mask = liana_op_broadcast_to_at(call->here, mask, liana_shape_of(shape.dims[0], places));
    const liana_tensor result = liana_layer_call_held(call, held, number, &places_of, &mask, 1, NULL);
    return liana_op_reshape_at(call->here, result, shape);
}

/* A layer that is another one in training takes each step by itself, as in Keras: dropout draws for each, and batch
 * statistics are those of a step. A stateful one goes on from step to step. */
static liana_tensor call_by_steps(liana_layer_call *call, const liana_held_layer *held, liana_tensor mask)
{
    const liana_shape shape = liana_tensor_shape(call->inputs[0]);
    liana_graph *graph = call->inputs[0].graph;
    liana_tensor *steps = liana__arena_allocate(&graph->arena, (size_t)shape.dims[1] * sizeof *steps);
    if (!steps) {
        return liana__graph_fail(graph, call->here, LIANA_OUT_OF_MEMORY, "out of memory for the graph");
    }
    for (int64_t i = 0; i < shape.dims[1] && graph->status == LIANA_OK; i++) {
        const liana_tensor x = liana__step_of(call->here, call->inputs[0], i);
        const liana_tensor own = mask.id ? liana__step_of(call->here, mask, i) : mask;
        const bool is_of_examples = own.id && liana_tensor_shape(own).rank == 1;
        steps[i] = is_of_examples ? normalize_step(call, held, (size_t)i, x, own)
                                  : liana_layer_call_held(call, held, (size_t)i, &x, &own, 1, NULL);
    }
    if (graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    return liana__join_steps(call->here, steps, shape.dims[1], false);
}

static bool keeps_states(const liana_layer_call *call, const liana_held_layer *held)
{
    bool keeps = false;
    for (size_t i = 0; call->declared && i < held->num_weights; i++) {
        keeps |= call->declared[held->first_weight + i].is_state;
    }
    return keeps;
}

/* A mask [batch, steps, ...] has one for the steps within a step. One of [batch, steps] says something to the
 * statistics of a BatchNormalization alone. */
static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_time_distributed_options *chosen = call->options;
    const liana_held_layer *held = &chosen->layer;
    const liana_shape shape = liana_tensor_shape(call->inputs[0]);
    const bool has_inner = call->masks[0].id && liana_tensor_shape(call->masks[0]).rank > 2;
    const liana_tensor mask = has_inner ? call->masks[0] : (liana_tensor){0};
    const bool differs = call->training && held->type->reads_training && !held->inference;
    if (differs && is_batch_normalization(held)) return call_by_steps(call, held, call->masks[0]);
    if (differs || keeps_states(call, held)) return call_by_steps(call, held, mask);
    const liana_tensor x = fold(call->here, call->inputs[0]);
    const liana_tensor own = has_inner ? fold(call->here, mask) : mask;
    const liana_tensor result = liana_layer_call_held(call, held, 0, &x, &own, 1, NULL);
    return unfold(call->here, result, shape.dims[0], shape.dims[1]);
}

const liana_layer_type liana__layer_time_distributed = {
    LIANA_PART(LAYER, liana_layer_type, "TimeDistributed", "a layer on each step of sequences by itself",
               LIANA_PART_OPTIONS(liana_time_distributed_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .takes_integers = true,
    .reads_training = true,
    .masking = LIANA_MASKING_KEPT,
    .weights = declare_weights,
    .call = call_layer,
};
