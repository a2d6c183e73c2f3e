/* RNN: goes through the steps of sequences with a cell; so do SimpleRNN, LSTM and GRU. */
#include "layers/recurrent/rnn.h"

#include "base/format.h"
#include "base/memory.h"
#include "ir/graph.h"
#include "layers/model.h"
#include "ops/ops.h"

liana__cell_run liana__cell_run_held(const liana__cell_run *outer, const liana_held_layer *held, size_t number)
{
    return (liana__cell_run){.call = outer->call,
                             .type = held->type->cell,
                             .options = held->options,
                             .weights = outer->weights + held->first_weight,
                             .training = outer->training && !held->inference,
                             .seed = liana__held_seed(outer->seed, number)};
}

liana_tensor liana__cell_call(liana_layer_call *call)
{
    const liana__cell_type *type = call->type->cell;
    liana__cell_run run = {.call = call,
                           .type = type,
                           .options = call->options,
                           .weights = call->weights,
                           .training = call->training,
                           .seed = call->seed};
    liana_tensor states[LIANA__MOST_STATES];
    const size_t count = type->num_states(call->options);
    for (size_t i = 0; i < count; i++) states[i] = call->inputs[i + 1];
    /* A sequence of one step, so that a cell of several is one too. */
    const liana_shape shape = liana_tensor_shape(call->inputs[0]);
    liana_shape wide = {.rank = shape.rank + 1, .dims = {shape.dims[0], 1}};
    for (int i = 1; i < shape.rank; i++) wide.dims[i + 1] = shape.dims[i];
    liana__sequence sequence = {.x = liana_op_reshape_at(call->here, call->inputs[0], wide), .states = states};
    liana__cell_go(&run, &sequence);
    call->num_more = count;
    for (size_t i = 0; i < count && i < LIANA_MAX_MORE_RESULTS; i++) call->more[i] = states[i];
    return sequence.last.id ? sequence.last : (liana_tensor){call->inputs[0].graph, 0};
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

/* The shape of one step of sequences. */
static liana_shape step_shape(const liana_shape *x)
{
    liana_shape step = {.rank = x->rank - 1, .dims = {x->dims[0]}};
    for (int i = 2; i < x->rank; i++) step.dims[i - 1] = x->dims[i];
    return step;
}

/* The mask is the last argument. */
static liana_status check_mask(liana_layer_build *build)
{
    const size_t last = build->num_inputs - 1;
    const liana_shape *x = &build->inputs[0], *mask = &build->inputs[last];
    char expected[64];
    liana__format(expected, sizeof expected, "[batch, %lld], a mask of the steps", (long long)x->dims[1]);
    if (mask->rank == 0 || (mask->rank == 2 && mask->dims[1] == x->dims[1])) return LIANA_OK;
    return liana_layer_refuse(build, last, expected);
}

size_t liana__rnn_num_states(const liana__rnn_type *rnn, const void *options)
{
    const liana_held_layer *held = held_cell(rnn, options);
    return cell_of(rnn, options)->cell->num_states(held ? held->options : options);
}

/* Whether the inputs are sequences, and a state for each of the cell's. Gives the shapes of a step and of states. */
static liana_status check_inputs(liana_layer_build *build, const liana__rnn_type *rnn, liana_shape *shapes,
                                 size_t *count)
{
    const liana_shape *x = &build->inputs[0];
    const liana_held_layer *held = held_cell(rnn, build->options);
    const liana_layer_type *type = cell_of(rnn, build->options);
    const liana__cell_type *cell = type->cell;
    const void *options = held ? held->options : build->options;
    const size_t num_states = cell->num_states(options);
    size_t num_given = 0;
    if (x->rank < 3 || x->dims[1] < 1) return liana_layer_refuse(build, 0, "[batch, steps, features]");
    LIANA_TRY(check_mask(build));
    shapes[0] = step_shape(x);
    *count = 1 + num_states;
    for (size_t i = 0; i < num_states; i++) shapes[i + 1] = cell->state_shape(options, i, &shapes[0]);
    for (size_t i = 1; i + 1 < build->num_inputs; i++) num_given += build->inputs[i].rank > 0;
    if (num_given == 0) return LIANA_OK;
    if (num_given != num_states) {
        return build->status =
                   liana__fail(build->error, LIANA_INVALID_CONFIG,
                               "initial_state: found %zu states, expected %zu, one for each state of its %s", num_given,
                               num_states, type->part.name);
    }
    for (size_t i = 1; i < *count; i++) {
        if (liana_shape_equal(&build->inputs[i], &shapes[i])) continue;
        char expected[400];
        liana__format(expected, sizeof expected, "%s, a state of its %s", liana__shape_print(&shapes[i]).text,
                      type->part.name);
        return liana_layer_refuse(build, i, expected);
    }
    return LIANA_OK;
}

/* The weights of its own cell, for inputs of these shapes. */
static liana_status build_cell(liana_layer_build *build, const liana__rnn_type *rnn, const liana_shape *shapes,
                               size_t count)
{
    char name[64];
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

/* The states that are kept from batch to batch. */
static liana_status declare_states(liana_layer_build *build, const liana_shape *shapes, size_t count)
{
    const int64_t batch = liana__model_batch_size(build->model);
    if (!batch) {
        return build->status =
                   liana__fail(build->error, LIANA_INVALID_CONFIG,
                               "stateful: found true in a model for batches of any size, expected a fixed size, since "
                               "states are kept for each example of a batch: set batch_size of the InputLayer");
    }
    for (size_t i = 0; i < count; i++) {
        char name[32] = "rnn_state";
        liana_shape shape = shapes[i];
        shape.dims[0] = batch;
        if (i) liana__format(name, sizeof name, "rnn_state_%zu", i);
        liana__layer_add_state(build, name, shape);
    }
    return build->status;
}

liana_status liana__rnn_build(liana_layer_build *build)
{
    liana_shape shapes[1 + LIANA__MOST_STATES];
    size_t count = 0;
    const liana__rnn_type *rnn = build->type->rnn;
    const liana_held_layer *held = held_cell(rnn, build->options);
    LIANA_TRY(check_inputs(build, rnn, shapes, &count));
    LIANA_TRY(held ? liana_layer_build_held(build, held, "cell", shapes, count)
                   : build_cell(build, rnn, shapes, count));
    if (!liana__rnn_switches_of(rnn, build->options)->stateful) return LIANA_OK;
    return declare_states(build, shapes + 1, count - 1);
}

liana_tensor liana__rnn_output_mask(const liana_layer_call *call)
{
    const liana_tensor given = call->inputs[call->num_inputs - 1];
    return call->num_inputs > 1 && given.id ? given : call->masks[0];
}

liana_tensor liana__rnn_mask(const liana_layer_call *call, bool with_states)
{
    const bool has_states = call->num_inputs > 2 && call->inputs[1].id;
    const bool is_given = call->num_inputs > 1 && call->inputs[call->num_inputs - 1].id;
    return has_states && !with_states && !is_given ? (liana_tensor){0} : liana__rnn_output_mask(call);
}

/* The first of the states that a layer keeps: its last weights. */
static size_t first_kept(const liana_layer_call *call, const liana__cell_run *run)
{
    return call->num_weights - run->type->num_states(run->options);
}

/* Those that are given, or kept from the batch before; else zeros. */
static void begin_states(liana_layer_call *call, const liana__cell_run *run, bool keeps, liana_tensor *states)
{
    const liana_shape x = liana_tensor_shape(call->inputs[0]), step = step_shape(&x);
    const size_t count = run->type->num_states(run->options);
    for (size_t i = 0; i < count; i++) {
        const liana_shape shape = run->type->state_shape(run->options, i, &step);
        const bool is_given = i + 2 < call->num_inputs && call->inputs[i + 1].id;
        states[i] = is_given ? call->inputs[i + 1]
                    : keeps
                        ? call->weights[first_kept(call, run) + i]
                        : liana__full(call->here, call->inputs[0].graph, liana_tensor_dtype(call->inputs[0]), shape, 0);
    }
}

/* Whether the states are kept: not where only shapes are asked for. */
static bool keeps_states(const liana_layer_call *call, const liana__cell_run *run, const liana__rnn_switches *chosen)
{
    if (!chosen->stateful || call->asks_for_shapes) return false;
    const int64_t found = liana_tensor_shape(call->inputs[0]).dims[0];
    const int64_t expected = liana_tensor_shape(call->weights[first_kept(call, run)]).dims[0];
    if (found == expected) return true;
    liana__graph_fail(call->inputs[0].graph, call->here, LIANA_INVALID_ARGUMENT,
                      "stateful: found a batch of %lld examples, expected %lld, the batch_size of the InputLayer: each "
                      "example goes on with the states of the one at its place in the batch before",
                      (long long)found, (long long)expected);
    return false;
}

static void keep_states(liana_layer_call *call, const liana__cell_run *run, const liana_tensor *states)
{
    call->num_states = run->type->num_states(run->options);
    for (size_t i = 0; i < call->num_states; i++) {
        call->states[i] = (liana_layer_state){first_kept(call, run) + i, states[i]};
    }
}

/* The results after the first. */
static void return_states(liana_layer_call *call, const liana__cell_run *run, const liana_tensor *states)
{
    call->num_more = run->type->num_states(run->options);
    for (size_t i = 0; i < call->num_more && i < LIANA_MAX_MORE_RESULTS; i++) call->more[i] = states[i];
}

static liana_tensor go_through(liana_layer_call *call, bool zero_masked, bool flips)
{
    const liana__rnn_type *rnn = call->type->rnn;
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
    const bool keeps = keeps_states(call, &run, chosen);
    begin_states(call, &run, keeps, states);
    const liana_tensor mask = liana__rnn_mask(call, chosen->mask_with_states);
    const liana_shape shape = mask.id ? liana_tensor_shape(mask) : (liana_shape){0};
    const int64_t num_steps = liana_tensor_shape(call->inputs[0]).dims[1];
    if (mask.id && (shape.rank != 2 || shape.dims[1] != num_steps)) {
        return liana__graph_fail(graph, call->here, LIANA_INVALID_ARGUMENT,
                                 "found a mask of shape %s, expected [batch, %lld], one value for each step",
                                 liana__shape_print(&shape).text, (long long)num_steps);
    }
    liana__sequence sequence = {.x = call->inputs[0],
                                .mask = mask,
                                .states = states,
                                .backwards = chosen->go_backwards,
                                .zero_masked = zero_masked,
                                .wants_all = chosen->return_sequences,
                                .flips_all = flips};
    liana__cell_go(&run, &sequence);
    if (graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    if (keeps) keep_states(call, &run, states);
    if (chosen->return_sequences) call->mask = liana__rnn_output_mask(call);
    if (chosen->return_state) return_states(call, &run, states);
    return chosen->return_sequences ? sequence.all : sequence.last;
}

liana_tensor liana__rnn_call(liana_layer_call *call)
{
    return go_through(call, liana__rnn_switches_of(call->type->rnn, call->options)->zero_output_for_mask, false);
}

liana_tensor liana__rnn_call_side(liana_layer_call *call, bool flips)
{
    return go_through(call, liana__rnn_switches_of(call->type->rnn, call->options)->return_sequences, flips);
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

#define STATES_5 "initial_state", "initial_state", "initial_state", "initial_state", "initial_state"
const char *const liana__rnn_arguments[] = {"sequences",     STATES_5,        STATES_5,
                                            "initial_state", "initial_state", "initial_state",
                                            "initial_state", "mask",          NULL};

const liana_layer_type liana__layer_rnn = {
    LIANA_PART(LAYER, liana_layer_type, "RNN", "goes through the steps of sequences with a cell",
               LIANA_PART_OPTIONS(liana_rnn_options, rows), .check = check_options),
    LIANA__INPUTS(1, LIANA_MAX_LAYER_INPUTS),
    .reads_training = true,
    .masking = LIANA_MASKING_OWN,
    .weights = liana__rnn_build,
    .call = liana__rnn_call,
    .arguments = liana__rnn_arguments,
    .rnn = &rnn,
};
