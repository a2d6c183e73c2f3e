/* LSTM and its cell. */
#include "layers/recurrent/rnn.h"

#include "layers/model.h"
#include "ops/fused/recurrent_cell.h"

enum { GATES = 4, STATES = 2 };

static const liana_option cell_rows[] = {
    LIANA__GATED_CELL_ROWS(liana_lstm_cell_options),
    LIANA_OPTION_ROW(liana_lstm_cell_options, unit_forget_bias, BOOL, .default_text = "true",
                     .doc = "whether the bias of the forget gate begins as ones"),
};

static const liana_option rows[] = {
    LIANA__GATED_CELL_ROWS(liana_lstm_options),
    LIANA_OPTION_ROW(liana_lstm_options, unit_forget_bias, BOOL, .default_text = "true",
                     .doc = "whether the bias of the forget gate begins as ones"),
    LIANA__RNN_ROWS(liana_lstm_options),
};

_Static_assert(offsetof(liana_lstm_options, unit_forget_bias) == offsetof(liana_lstm_cell_options, unit_forget_bias),
               "the layer's options begin as the cell's");

static size_t num_states(const void *options)
{
    (void)options;
    return STATES;
}

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_lstm_cell_options *chosen = build->options;
    LIANA_TRY(liana__cell_declare(build, GATES, liana_shape_of(GATES * chosen->units), STATES));
    if (chosen->use_bias && chosen->unit_forget_bias) liana__layer_forget_ones(build);
    return build->status;
}

static liana_tensor project(liana__cell_run *run, liana_tensor x)
{
    const liana_lstm_cell_options *chosen = run->options;
    liana__cell_drop(run, x, GATES, liana__cell_drops_by_gate(chosen));
    x = liana__cell_product(run, x, run->weights[0], GATES, 0, GATES, run->dropout);
    return chosen->use_bias ? liana_op_add_at(run->call->here, x, run->weights[2]) : x;
}

static liana_tensor take_step(liana__cell_run *run, liana_tensor x, liana_tensor *states)
{
    const liana_lstm_cell_options *chosen = run->options;
    const liana_tensor inner =
        liana__cell_product(run, states[0], run->weights[1], GATES, 0, GATES, run->recurrent_dropout);
    if (liana__cell_is_usual(run->options)) {
        liana__lstm_cell(run->call->here, x, inner, states[1], &states[0], &states[1]);
        return states[0];
    }
    return liana__lstm_gates(run, liana_op_add_at(run->call->here, x, inner), chosen->activation,
                             chosen->recurrent_activation, states);
}

static const liana__cell_type cell = {.num_states = num_states,
                                      .state_shape = liana__cell_state_shape,
                                      .project = project,
                                      .step = take_step};

static const char *const cell_arguments[] = {"inputs", "states", "states", NULL};

const liana_layer_type liana__layer_lstm_cell = {
    LIANA_PART(LAYER, liana_layer_type, "LSTMCell", "one step of an LSTM, for an RNN",
               LIANA_PART_OPTIONS(liana_lstm_cell_options, cell_rows)),
    LIANA__INPUTS(1 + STATES, 1 + STATES),
    .reads_training = true,
    .weights = declare_weights,
    .call = liana__cell_call,
    .arguments = cell_arguments,
    .cell = &cell,
};

static const liana__rnn_type rnn = {.cell = &liana__layer_lstm_cell,
                                    .switches = offsetof(liana_lstm_options, return_sequences)};

static const char *const arguments[] = {"sequences", "initial_state", "initial_state", "mask", NULL};

const liana_layer_type liana__layer_lstm = {
    LIANA_PART(LAYER, liana_layer_type, "LSTM", "long short-term memory over the steps of sequences",
               LIANA_PART_OPTIONS(liana_lstm_options, rows)),
    LIANA__INPUTS(1, 2 + STATES),
    .reads_training = true,
    .masking = LIANA_MASKING_OWN,
    .weights = liana__rnn_build,
    .call = liana__rnn_call,
    .arguments = arguments,
    .rnn = &rnn,
};
