/* SimpleRNN and its cell. */
#include "layers/recurrent/rnn.h"

#include "layers/model.h"

enum { GATES = 1, STATES = 1 };

static const liana_option cell_rows[] = {
    LIANA__CELL_ROWS(liana_simple_rnn_cell_options),
};

static const liana_option rows[] = {
    LIANA__CELL_ROWS(liana_simple_rnn_options),
    LIANA__RNN_ROWS(liana_simple_rnn_options),
};

_Static_assert(offsetof(liana_simple_rnn_options, recurrent_dropout) ==
                   offsetof(liana_simple_rnn_cell_options, recurrent_dropout),
               "the layer's options begin as the cell's");

static size_t num_states(const void *options)
{
    (void)options;
    return STATES;
}

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_simple_rnn_cell_options *chosen = build->options;
    return liana__cell_declare(build, GATES, liana_shape_of(chosen->units), STATES);
}

static liana_tensor project(liana__cell_run *run, liana_tensor x)
{
    const liana_simple_rnn_cell_options *chosen = run->options;
    liana__cell_drop(run, x, GATES, false);
    x = liana__cell_product(run, x, run->weights[0], GATES, 0, GATES, run->dropout);
    return chosen->use_bias ? liana_op_add_at(run->call->here, x, run->weights[2]) : x;
}

static liana_tensor take_step(liana__cell_run *run, liana_tensor x, liana_tensor *states)
{
    const liana_simple_rnn_cell_options *chosen = run->options;
    liana_tensor inner = liana__cell_product(run, states[0], run->weights[1], GATES, 0, GATES, run->recurrent_dropout);
    states[0] = liana__cell_activate(run, chosen->activation, liana_op_add_at(run->call->here, x, inner));
    return states[0];
}

static const liana__cell_type cell = {.num_states = num_states,
                                      .state_shape = liana__cell_state_shape,
                                      .project = project,
                                      .step = take_step};

static const char *const cell_arguments[] = {"inputs", "states", NULL};

const liana_layer_type liana__layer_simple_rnn_cell = {
    LIANA_PART(LAYER, liana_layer_type, "SimpleRNNCell", "one step of a SimpleRNN, for an RNN",
               LIANA_PART_OPTIONS(liana_simple_rnn_cell_options, cell_rows)),
    LIANA__INPUTS(1 + STATES, 1 + STATES),
    .reads_training = true,
    .weights = declare_weights,
    .call = liana__cell_call,
    .arguments = cell_arguments,
    .cell = &cell,
};

static const liana__rnn_type rnn = {.cell = &liana__layer_simple_rnn_cell,
                                    .switches = offsetof(liana_simple_rnn_options, return_sequences)};

static const char *const arguments[] = {"sequences", "initial_state", "mask", NULL};

const liana_layer_type liana__layer_simple_rnn = {
    LIANA_PART(LAYER, liana_layer_type, "SimpleRNN",
               "activation(x kernel + state recurrent_kernel + bias) over the steps of sequences",
               LIANA_PART_OPTIONS(liana_simple_rnn_options, rows)),
    LIANA__INPUTS(1, 2 + STATES),
    .reads_training = true,
    .masking = LIANA_MASKING_OWN,
    .weights = liana__rnn_build,
    .call = liana__rnn_call,
    .arguments = arguments,
    .rnn = &rnn,
};
