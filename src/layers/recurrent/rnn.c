/* RNN: goes through the steps of sequences with a cell; so do SimpleRNN, LSTM and GRU. */
#include "layers/recurrent/rnn.h"

#include "base/format.h"
#include "base/memory.h"
#include "ir/graph.h"
#include "layers/model.h"


/* ---- steps ---- */

liana_tensor liana__step_of(liana_location here, liana_tensor x, int64_t step)
{
    liana_shape shape = liana_tensor_shape(x), one = {.rank = shape.rank - 1, .dims = {shape.dims[0]}};
    int64_t start[LIANA_MAX_RANK] = {0};
    if (shape.rank < 2) return x;
    for (int i = 2; i < shape.rank; i++) one.dims[i - 1] = shape.dims[i];
    start[1] = step;
    shape.dims[1] = step + 1;
    return liana_op_reshape_at(here, liana_op_slice_at(here, x, start, shape.dims, NULL), one);
}

/* `now` where the mask [batch] is true, else `before`. */
static liana_tensor choose(liana_location here, liana_tensor mask, liana_tensor now, liana_tensor before)
{
    liana_shape shape = liana_tensor_shape(now);
    for (int i = 1; i < shape.rank; i++) shape.dims[i] = 1;
    return liana_op_select_at(here, liana_op_reshape_at(here, mask, shape), now, before);
}

static liana_tensor zeros(liana_location here, liana_graph *graph, liana_dtype dtype, liana_shape shape)
{
    return liana_op_broadcast_to_at(here, liana_graph_scalar_at(here, graph, dtype, 0), shape);
}

liana_tensor liana__join_steps(liana_location here, liana_tensor *outputs, int64_t count, bool flips)
{
    for (int64_t i = 0; flips && i < count / 2; i++) {
        const liana_tensor first = outputs[i];
        outputs[i] = outputs[count - 1 - i];
        outputs[count - 1 - i] = first;
    }
    for (int64_t i = 0; i < count; i++) {
        const liana_shape shape = liana_tensor_shape(outputs[i]);
        liana_shape wide = {.rank = shape.rank + 1, .dims = {shape.dims[0], 1}};
        for (int k = 1; k < shape.rank; k++) wide.dims[k + 1] = shape.dims[k];
        outputs[i] = liana_op_reshape_at(here, outputs[i], wide);
    }
    return count == 1 ? outputs[0] : liana_op_concat_at(here, outputs, (size_t)count, 1);
}

/* One step; masked examples keep their states, and their output. */
static liana_tensor take_step(liana__cell_run *run, liana__sequence *sequence, liana_tensor x, liana_tensor mask)
{
    const liana_location here = run->call->here;
    const size_t count = run->type->num_states(run->options);
    liana_tensor before[LIANA__MOST_STATES];
    for (size_t i = 0; i < count; i++) before[i] = sequence->states[i];
    liana_tensor output = run->type->step(run, x, sequence->states);
    if (!mask.id) return output;
    for (size_t i = 0; i < count; i++) {
        sequence->states[i] = choose(here, mask, sequence->states[i], before[i]);
    }
    liana_tensor other = sequence->last;
    if (!other.id || sequence->zero_masked) {
        other = zeros(here, output.graph, liana_tensor_dtype(output), liana_tensor_shape(output));
    }
    return choose(here, mask, output, other);
}

void liana__cell_go(liana__cell_run *run, liana__sequence *sequence)
{
    const liana_location here = run->call->here;
    liana_graph *graph = sequence->x.graph;
    const int64_t steps = liana_tensor_shape(sequence->x).dims[1];
    if (run->type->go) {
        run->type->go(run, sequence);
        return;
    }
    liana_tensor *outputs = liana__arena_allocate(&graph->arena, (size_t)(steps + 1) * sizeof *outputs), mask = {0};
    if (!outputs) {
        liana__graph_fail(graph, here, LIANA_OUT_OF_MEMORY, "out of memory for the graph");
        return;
    }
    const liana_tensor projected = run->type->project(run, sequence->x);
    for (int64_t i = 0; i < steps && graph->status == LIANA_OK; i++) {
        const int64_t step = sequence->backwards ? steps - 1 - i : i;
        if (sequence->mask.id) mask = liana__step_of(here, sequence->mask, step);
        outputs[i] = sequence->last = take_step(run, sequence, liana__step_of(here, projected, step), mask);
    }
    if (sequence->wants_all && graph->status == LIANA_OK) {
        sequence->all = liana__join_steps(here, outputs, steps, sequence->flips_all);
    }
}

liana__cell_run liana__cell_run_held(const liana__cell_run *outer, const liana_held_layer *held, size_t number)
{
    return (liana__cell_run){.call = outer->call,
                             .type = held->type->cell,
                             .options = held->options,
                             .weights = outer->weights + held->first_weight,
                             .training = outer->training && !held->inference,
                             .seed = outer->seed ^ (uint64_t)number * 0x9e3779b97f4a7c15u};
}

liana_tensor liana__cell_call(liana_layer_call *call, const liana__cell_type *type)
{
    liana__cell_run run = {.call = call,
                           .type = type,
                           .options = call->options,
                           .weights = call->weights,
                           .training = call->training,
                           .seed = call->seed};
    liana_tensor states[LIANA__MOST_STATES];
    for (size_t i = 1; i < call->num_inputs; i++) states[i - 1] = call->inputs[i];
    return type->step(&run, type->project(&run, call->inputs[0]), states);
}

/* ---- layers ---- */

const liana__rnn_switches *liana__rnn_switches_of(const liana__rnn_type *rnn, const void *options)
{
    return (const liana__rnn_switches *)((const char *)options + rnn->switches);
}

/* The cell that a layer holds; NULL: it has its own. */
static const liana_held_layer *held_cell(const liana__rnn_type *rnn, const void *options)
{
    return rnn->held ? (const liana_held_layer *)((const char *)options + rnn->held) : NULL;
}

static const liana_layer_type *cell_of(const liana__rnn_type *rnn, const void *options)
{
    const liana_held_layer *held = held_cell(rnn, options);
    return held ? held->type : rnn->cell;
}

/* Whether the inputs are sequences, and a state for each of the cell's; `step` gets the shape of a step. */
static liana_status check_inputs(liana_layer_build *build, const liana__rnn_type *rnn, liana_shape *shapes,
                                 size_t *count)
{
    const liana_shape *x = &build->inputs[0];
    const liana_held_layer *held = held_cell(rnn, build->options);
    const liana_layer_type *type = cell_of(rnn, build->options);
    const liana__cell_type *cell = type->cell;
    const void *options = held ? held->options : build->options;
    const size_t num_states = cell->num_states(options);
    if (x->rank < 3 || x->dims[1] < 1) return liana_layer_refuse(build, 0, "[batch, steps, features]");
    shapes[0] = (liana_shape){.rank = x->rank - 1, .dims = {x->dims[0]}};
    for (int i = 2; i < x->rank; i++) shapes[0].dims[i - 1] = x->dims[i];
    *count = 1 + num_states;
    for (size_t i = 0; i < num_states; i++) shapes[i + 1] = cell->state_shape(options, i, &shapes[0]);
    if (build->num_inputs == 1) return LIANA_OK;
    if (build->num_inputs != *count) {
        return build->status = liana__fail(build->error, LIANA_INVALID_CONFIG,
                                           "found %zu initial states, expected %zu, one for each state of its %s",
                                           build->num_inputs - 1, num_states, type->part.name);
    }
    for (size_t i = 1; i < *count; i++) {
        if (liana_shape_equal(&build->inputs[i], &shapes[i])) continue;
        liana_shape named = shapes[i];
        named.dims[0] = -1;
        char expected[160];
        liana__format(expected, sizeof expected, "%s, a state of its %s", liana__shape_print(&named).text,
                 type->part.name);
        return liana_layer_refuse(build, i, expected);
    }
    return LIANA_OK;
}

liana_status liana__rnn_build(liana_layer_build *build, const liana__rnn_type *rnn)
{
    liana_shape shapes[1 + LIANA__MOST_STATES];
    size_t count = 0;
    char name[64];
    const liana_held_layer *held = held_cell(rnn, build->options);
    LIANA_TRY(check_inputs(build, rnn, shapes, &count));
    if (held) return liana_layer_build_held(build, held, "cell", shapes, count);
    const liana_layer_build outer = *build;
    liana__snake_case(rnn->cell->part.name, name, sizeof name);
    LIANA_TRY(liana__layer_build_within(build, name, "cell"));
    build->inputs = shapes;
    build->num_inputs = count;
    const liana_status status = rnn->cell->weights(build);
    build->inputs = outer.inputs;
    build->num_inputs = outer.num_inputs;
    build->names = outer.names;
    build->group = outer.group;
    return status;
}

static void begin_states(liana_layer_call *call, const liana__cell_run *run, liana_tensor *states)
{
    const liana_shape x = liana_tensor_shape(call->inputs[0]);
    liana_shape step = {.rank = x.rank - 1, .dims = {x.dims[0]}};
    for (int i = 2; i < x.rank; i++) step.dims[i - 1] = x.dims[i];
    const size_t count = run->type->num_states(run->options);
    for (size_t i = 0; i < count; i++) {
        const liana_shape shape = run->type->state_shape(run->options, i, &step);
        states[i] = call->num_inputs > 1 ? call->inputs[i + 1]
                                         : zeros(call->here, call->inputs[0].graph,
                                                 liana_tensor_dtype(call->inputs[0]), shape);
    }
}

static liana_tensor go_through(liana_layer_call *call, const liana__rnn_type *rnn, bool zero_masked, bool flips)
{
    liana_tensor states[LIANA__MOST_STATES];
    liana_graph *graph = call->inputs[0].graph;
    if (graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    const liana__rnn_switches *chosen = liana__rnn_switches_of(rnn, call->options);
    const liana_held_layer *held = held_cell(rnn, call->options);
    liana__cell_run run = {.call = call,
                           .type = cell_of(rnn, call->options)->cell,
                           .options = call->options,
                           .weights = call->weights,
                           .training = call->training,
                           .seed = call->seed};
    if (held) run = liana__cell_run_held(&run, held, 0);
    begin_states(call, &run, states);
    liana__sequence sequence = {.x = call->inputs[0],
                                .mask = call->masks[0],
                                .states = states,
                                .backwards = chosen->go_backwards,
                                .zero_masked = zero_masked,
                                .wants_all = chosen->return_sequences,
                                .flips_all = flips};
    liana__cell_go(&run, &sequence);
    if (graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    if (chosen->return_sequences) call->mask = call->masks[0];
    return chosen->return_sequences ? sequence.all : sequence.last;
}

liana_tensor liana__rnn_call(liana_layer_call *call, const liana__rnn_type *rnn)
{
    return go_through(call, rnn, liana__rnn_switches_of(rnn, call->options)->zero_output_for_mask, false);
}

liana_tensor liana__rnn_call_side(liana_layer_call *call, const liana__rnn_type *rnn, bool flips)
{
    return go_through(call, rnn, liana__rnn_switches_of(rnn, call->options)->return_sequences, flips);
}

/* ---- RNN ---- */

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_rnn_options, cell, LAYER, .required = true,
                     .doc = "the cell: LSTMCell, GRUCell, SimpleRNNCell or StackedRNNCells"),
    LIANA__RNN_ROWS(liana_rnn_options),
};

static liana_status check_options(liana_check *check)
{
    const liana_rnn_options *chosen = check->options;
    if (chosen->cell.type->cell) return LIANA_OK;
    return liana_option_refuse(check, "cell", "found a layer %s, expected a cell, such as LSTMCell",
                               chosen->cell.type->part.name);
}

static const liana__rnn_type rnn = {.held = offsetof(liana_rnn_options, cell),
                                    .switches = offsetof(liana_rnn_options, return_sequences)};

static liana_status build_layer(liana_layer_build *build)
{
    return liana__rnn_build(build, &rnn);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    return liana__rnn_call(call, &rnn);
}

const liana_layer_type liana__layer_rnn = {
    LIANA_PART(LAYER, liana_layer_type, "RNN", "goes through the steps of sequences with a cell",
               LIANA_PART_OPTIONS(liana_rnn_options, rows), .check = check_options),
    LIANA__INPUTS(1, LIANA_MAX_LAYER_INPUTS),
    .reads_training = true,
    .masking = LIANA_MASKING_OWN,
    .weights = build_layer,
    .call = call_layer,
    .rnn = &rnn,
};
