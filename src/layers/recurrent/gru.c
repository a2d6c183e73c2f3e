/* GRU and its cell. */
#include "layers/recurrent/rnn.h"

#include "layers/model.h"
#include "ops/fused/recurrent_cell.h"

enum { GATES = 3, STATES = 1 };

static const liana_option cell_rows[] = {
    LIANA__GATED_CELL_ROWS(liana_gru_cell_options),
    LIANA_OPTION_ROW(liana_gru_cell_options, reset_after, BOOL, .default_text = "true",
                     .doc = "whether the reset gate works after the product with the recurrent kernel"),
};

static const liana_option rows[] = {
    LIANA__GATED_CELL_ROWS(liana_gru_options),
    LIANA_OPTION_ROW(liana_gru_options, reset_after, BOOL, .default_text = "true",
                     .doc = "whether the reset gate works after the product with the recurrent kernel"),
    LIANA__RNN_ROWS(liana_gru_options),
};

_Static_assert(offsetof(liana_gru_options, reset_after) == offsetof(liana_gru_cell_options, reset_after),
               "the layer's options begin as the cell's");

static size_t num_states(const void *options)
{
    (void)options;
    return STATES;
}

/* With reset_after the input and the state have biases of their own. */
static liana_status declare_weights(liana_layer_build *build)
{
    const liana_gru_cell_options *chosen = build->options;
    const int64_t width = GATES * chosen->units;
    const liana_shape bias = chosen->reset_after ? liana_shape_of(2, width) : liana_shape_of(width);
    return liana__cell_declare(build, GATES, bias, STATES);
}

/* Row `row` of the bias. */
static liana_tensor bias_row(const liana__cell_run *run, int64_t row)
{
    const liana_gru_cell_options *chosen = run->options;
    const int64_t width = GATES * chosen->units;
    liana_tensor bias = run->weights[2];
    if (!chosen->reset_after) return bias;
    bias = liana_op_slice_at(run->call->here, bias, (const int64_t[]){row, 0}, (const int64_t[]){row + 1, width}, NULL);
    return liana_op_reshape_at(run->call->here, bias, liana_shape_of(width));
}

static liana_tensor project(liana__cell_run *run, liana_tensor x)
{
    const liana_gru_cell_options *chosen = run->options;
    liana__cell_drop(run, x, GATES, liana__cell_drops_by_gate(chosen));
    x = liana__cell_product(run, x, run->weights[0], GATES, 0, GATES, run->dropout);
    return chosen->use_bias ? liana_op_add_at(run->call->here, x, bias_row(run, 0)) : x;
}

/* What the first `parts` gates get of the state. */
static liana_tensor state_product(liana__cell_run *run, liana_tensor h, size_t parts)
{
    const liana_gru_cell_options *chosen = run->options;
    liana_tensor inner = liana__cell_product(run, h, run->weights[1], GATES, 0, parts, run->recurrent_dropout);
    if (!chosen->reset_after || !chosen->use_bias) return inner;
    return liana_op_add_at(run->call->here, inner, bias_row(run, 1));
}

/* The state's part in the candidate, and z and r in `gates`. */
static liana_tensor open_gates(liana__cell_run *run, liana_tensor x, liana_tensor h, liana_tensor gates[2])
{
    const liana_gru_cell_options *chosen = run->options;
    const liana_location here = run->call->here;
    const size_t parts = chosen->reset_after ? GATES : 2;
    liana_tensor inner = state_product(run, h, parts);
    for (size_t i = 0; i < 2; i++) {
        liana_tensor sum = liana_op_add_at(here, liana__cell_part(run, x, GATES, i, i + 1),
                                           liana__cell_part(run, inner, parts, i, i + 1));
        gates[i] = liana__cell_activate(run, chosen->recurrent_activation, sum);
    }
    if (chosen->reset_after) {
        return liana_op_multiply_at(here, gates[1], liana__cell_part(run, inner, GATES, 2, 3));
    }
    /* The order of the two factors matters to the bits alone. */
    const liana_tensor reset = liana_op_multiply_at(here, gates[1], h);
    return liana__cell_product(run, reset, run->weights[1], GATES, 2, 3, run->recurrent_dropout);
}

/* h' = z h + (1 - z) activation(x + inner). */
static liana_tensor take_step(liana__cell_run *run, liana_tensor x, liana_tensor *states)
{
    const liana_gru_cell_options *chosen = run->options;
    const liana_location here = run->call->here;
    liana_tensor gates[2], h = states[0];
    if (chosen->reset_after && liana__cell_is_usual(run->options)) {
        return states[0] = liana__gru_cell(here, x, state_product(run, h, GATES), h);
    }
    liana_tensor inner = open_gates(run, x, h, gates);
    inner = liana_op_add_at(here, liana__cell_part(run, x, GATES, 2, 3), inner);
    const liana_tensor candidate = liana__cell_activate(run, chosen->activation, inner);
    const liana_tensor one = liana_graph_scalar_at(here, h.graph, liana_tensor_dtype(h), 1);
    states[0] = liana_op_add_at(here, liana_op_multiply_at(here, gates[0], h),
                                liana_op_multiply_at(here, liana_op_subtract_at(here, one, gates[0]), candidate));
    return states[0];
}

static const liana__cell_type cell = {.num_states = num_states,
                                      .state_shape = liana__cell_state_shape,
                                      .project = project,
                                      .step = take_step};

static const char *const cell_arguments[] = {"inputs", "states", NULL};

const liana_layer_type liana__layer_gru_cell = {
    LIANA_PART(LAYER, liana_layer_type, "GRUCell", "one step of a GRU, for an RNN",
               LIANA_PART_OPTIONS(liana_gru_cell_options, cell_rows)),
    LIANA__INPUTS(1 + STATES, 1 + STATES),
    .reads_training = true,
    .weights = declare_weights,
    .call = liana__cell_call,
    .arguments = cell_arguments,
    .cell = &cell,
};

static const liana__rnn_type rnn = {.cell = &liana__layer_gru_cell,
                                    .switches = offsetof(liana_gru_options, return_sequences)};

static const char *const arguments[] = {"sequences", "initial_state", "mask", NULL};

const liana_layer_type liana__layer_gru = {
    LIANA_PART(LAYER, liana_layer_type, "GRU", "gated recurrent units over the steps of sequences",
               LIANA_PART_OPTIONS(liana_gru_options, rows)),
    LIANA__INPUTS(1, 2 + STATES),
    .reads_training = true,
    .masking = LIANA_MASKING_OWN,
    .weights = liana__rnn_build,
    .call = liana__rnn_call,
    .arguments = arguments,
    .rnn = &rnn,
};
