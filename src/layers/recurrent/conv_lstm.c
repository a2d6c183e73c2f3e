/* ConvLSTM1D, ConvLSTM2D and ConvLSTM3D: LSTMs whose products are convolutions (Shi et al. 2015). */
#include "layers/convolution/convolution.h"
#include "layers/recurrent/rnn.h"

#include "layers/model.h"

enum { GATES = 4, STATES = 2 };

/* The options of any of the three. */
typedef struct conv_lstm {
    liana__layer_window window;
    int64_t filters;
    bool use_bias, unit_forget_bias;
    const char *activation, *recurrent_activation;
    const char *kernel_initializer, *recurrent_initializer, *bias_initializer;
    double dropout, recurrent_dropout;
} conv_lstm;

static size_t num_states(const void *options)
{
    (void)options;
    return STATES;
}

static size_t num_weights(const conv_lstm *chosen)
{
    return chosen->use_bias ? 3 : 2;
}

/* [batch, ..., filters] of one step [batch, ..., channels]. */
static liana_shape shape_of_state(const conv_lstm *chosen, const liana_shape *x)
{
    liana_shape shape = *x;
    const liana__layer_window *window = &chosen->window;
    for (int i = 0; i < window->axes && i + 1 < shape.rank; i++) {
        const int64_t extent = window->padding == LIANA_PADDING_SAME ? 1 : liana__window_extent(window, i);
        shape.dims[i + 1] = (x->dims[i + 1] - extent) / window->strides[i] + 1;
    }
    if (shape.rank) shape.dims[shape.rank - 1] = chosen->filters;
    return shape;
}

static liana_status declare_weights(liana_layer_build *build, const conv_lstm *chosen)
{
    const int64_t width = GATES * chosen->filters;
    LIANA_TRY(liana__build_window(build, "kernel_size", &chosen->window));
    const int64_t channels = build->inputs[0].dims[chosen->window.axes + 1];
    liana_layer_add_weight(build, "kernel", liana__kernel_shape(&chosen->window, channels, width),
                           chosen->kernel_initializer, true);
    liana_layer_add_weight(build, "recurrent_kernel", liana__kernel_shape(&chosen->window, chosen->filters, width),
                           chosen->recurrent_initializer, true);
    if (!chosen->use_bias) return build->status;
    liana_layer_add_weight(build, "bias", liana_shape_of(width), chosen->bias_initializer, true);
    if (chosen->unit_forget_bias) liana__layer_forget_ones(build);
    return build->status;
}

static liana_tensor convolve(const liana__cell_run *run, const liana__layer_window *window, liana_tensor x,
                             liana_tensor kernel)
{
    liana_layer_call *call = run->call;
    if (window->axes == 3) return liana_op_conv3d_at(call->here, x, kernel, liana__conv_options_3d(window, 1));
    const liana_tensor given = x;
    x = liana_op_conv2d_at(call->here, liana__as_images(call, x), liana__as_kernel(call, kernel),
                           liana__conv_options(window, 1));
    return liana__from_images(call, x, given);
}

/* All gates at once, or each with its own factor of dropout. */
static liana_tensor convolve_gates(const liana__cell_run *run, const liana__layer_window *window, liana_tensor x,
                                   liana_tensor kernel, const liana_tensor *factors)
{
    liana_tensor gates[GATES];
    if (!factors[0].id) return convolve(run, window, x, kernel);
    for (size_t i = 0; i < GATES; i++) {
        const liana_tensor dropped = liana_op_multiply_at(run->call->here, x, factors[i]);
        gates[i] = convolve(run, window, dropped, liana__cell_part(run, kernel, GATES, i, i + 1));
    }
    return liana_op_concat_at(run->call->here, gates, GATES, liana_tensor_shape(gates[0]).rank - 1);
}

/* The steps as a batch, and back. */
static liana_tensor fold(liana_location here, liana_tensor x)
{
    const liana_shape shape = liana_tensor_shape(x);
    liana_shape folded = {.rank = shape.rank - 1, .dims = {-1}};
    for (int i = 2; i < shape.rank; i++) folded.dims[i - 1] = shape.dims[i];
    return liana_op_reshape_at(here, x, folded);
}

static liana_tensor unfold(liana_location here, liana_tensor x, const liana_shape *steps)
{
    const liana_shape shape = liana_tensor_shape(x);
    liana_shape whole = {.rank = shape.rank + 1, .dims = {steps->dims[0], steps->dims[1]}};
    for (int i = 1; i < shape.rank; i++) whole.dims[i + 1] = shape.dims[i];
    return liana_op_reshape_at(here, x, whole);
}

/* One factor for all steps of an example. */
static liana_tensor repeat(liana_location here, liana_tensor factor, int64_t steps)
{
    const liana_shape shape = liana_tensor_shape(factor);
    liana_shape wide = {.rank = shape.rank + 1, .dims = {steps}};
    for (int i = 0; i < shape.rank; i++) wide.dims[i + 1] = shape.dims[i];
    return fold(here, liana_op_broadcast_to_at(here, factor, wide));
}

static liana_tensor project(liana__cell_run *run, const conv_lstm *chosen, liana_tensor x)
{
    const liana_location here = run->call->here;
    const liana_shape shape = liana_tensor_shape(x);
    if (shape.rank < 4) return x;
    liana_shape step = {.rank = shape.rank - 1};
    for (int i = 1; i < shape.rank; i++) step.dims[i - 1] = shape.dims[i];
    const liana_shape state = shape_of_state(chosen, &step);
    liana__cell_draw(run, &step, chosen->dropout, 0, GATES, run->dropout);
    liana__cell_draw(run, &state, chosen->recurrent_dropout, GATES, GATES, run->recurrent_dropout);
    for (size_t i = 0; i < GATES && run->dropout[i].id; i++) {
        run->dropout[i] = repeat(here, run->dropout[i], shape.dims[0]);
    }
    x = convolve_gates(run, &chosen->window, fold(here, x), run->weights[0], run->dropout);
    if (chosen->use_bias) x = liana_op_add_at(here, x, run->weights[2]);
    return unfold(here, x, &shape);
}

static liana_tensor take_step(liana__cell_run *run, const conv_lstm *chosen, liana_tensor x, liana_tensor *states)
{
    static const int64_t ones[LIANA__MOST_AXES] = {1, 1, 1};
    liana__layer_window window = chosen->window;
    window.padding = LIANA_PADDING_SAME;
    window.strides = window.dilations = ones;
    const liana_tensor inner = convolve_gates(run, &window, states[0], run->weights[1], run->recurrent_dropout);
    return liana__lstm_gates(run, liana_op_add_at(run->call->here, x, inner), chosen->activation,
                             chosen->recurrent_activation, states);
}

#define CONV_LSTM(number)                                                                                             \
    static const liana_option rows_##number[] = {                                                                     \
        LIANA__COUNT_ROW(liana_conv_lstm##number##d_options, filters, .required = true,                               \
                         .doc = "number of channels of the output and of each state"),                                \
        LIANA__WINDOW_ROWS(liana_conv_lstm##number##d_options, number, liana__padding_names, LIANA__PADDING_DOC),     \
        LIANA__DILATION_ROW(liana_conv_lstm##number##d_options, number),                                              \
        LIANA__CELL_PART_ROWS(liana_conv_lstm##number##d_options),                                                    \
        LIANA_OPTION_ROW(liana_conv_lstm##number##d_options, recurrent_activation, STRING, .default_text = "sigmoid", \
                         .doc = "activation of the gates"),                                                           \
        LIANA_OPTION_ROW(liana_conv_lstm##number##d_options, unit_forget_bias, BOOL, .default_text = "true",          \
                         .doc = "whether the bias of the forget gate begins as ones"),                                \
        LIANA__RNN_ROWS(liana_conv_lstm##number##d_options),                                                          \
    };                                                                                                                \
    static conv_lstm read_##number(const void *options)                                                               \
    {                                                                                                                 \
        const liana_conv_lstm##number##d_options *chosen = options;                                                   \
        return (conv_lstm){LIANA__LAYER_WINDOW(chosen),                                                               \
                           chosen->filters,                                                                           \
                           chosen->use_bias,                                                                          \
                           chosen->unit_forget_bias,                                                                  \
                           chosen->activation,                                                                        \
                           chosen->recurrent_activation,                                                              \
                           chosen->kernel_initializer,                                                                \
                           chosen->recurrent_initializer,                                                             \
                           chosen->bias_initializer,                                                                  \
                           chosen->dropout,                                                                           \
                           chosen->recurrent_dropout};                                                                \
    }                                                                                                                 \
    static liana_shape state_shape_##number(const void *options, size_t index, const liana_shape *x)                  \
    {                                                                                                                 \
        const conv_lstm chosen = read_##number(options);                                                              \
        (void)index;                                                                                                  \
        return shape_of_state(&chosen, x);                                                                            \
    }                                                                                                                 \
    static size_t num_weights_##number(const void *options)                                                           \
    {                                                                                                                 \
        const conv_lstm chosen = read_##number(options);                                                              \
        return num_weights(&chosen);                                                                                  \
    }                                                                                                                 \
    static liana_status declare_##number(liana_layer_build *build)                                                    \
    {                                                                                                                 \
        const conv_lstm chosen = read_##number(build->options);                                                       \
        return declare_weights(build, &chosen);                                                                       \
    }                                                                                                                 \
    static liana_tensor project_##number(liana__cell_run *run, liana_tensor x)                                        \
    {                                                                                                                 \
        const conv_lstm chosen = read_##number(run->options);                                                         \
        return project(run, &chosen, x);                                                                              \
    }                                                                                                                 \
    static liana_tensor step_##number(liana__cell_run *run, liana_tensor x, liana_tensor *states)                     \
    {                                                                                                                 \
        const conv_lstm chosen = read_##number(run->options);                                                         \
        return take_step(run, &chosen, x, states);                                                                    \
    }                                                                                                                 \
    static const liana__cell_type cell_##number = {.num_states = num_states,                                          \
                                                   .state_shape = state_shape_##number,                               \
                                                   .num_weights = num_weights_##number,                               \
                                                   .project = project_##number,                                       \
                                                   .step = step_##number};                                            \
    static const liana_layer_type cell_layer_##number = {LIANA_PART(LAYER, liana_layer_type, "ConvLSTMCell",          \
                                                                    "one step"),                                      \
                                                         .weights = declare_##number, .cell = &cell_##number};        \
    static const liana__rnn_type rnn_##number = {.cell = &cell_layer_##number,                                        \
                                                 .switches =                                                          \
                                                     offsetof(liana_conv_lstm##number##d_options, return_sequences)}; \
    static liana_status check_##number(liana_check *check)                                                            \
    {                                                                                                                 \
        const conv_lstm chosen = read_##number(check->options);                                                       \
        return liana__check_dilation(check, &chosen.window);                                                          \
    }                                                                                                                 \
    const liana_layer_type liana__layer_conv_lstm##number##d = {                                                      \
        LIANA_PART(LAYER, liana_layer_type, "ConvLSTM" #number "D",                                                   \
                   "an LSTM over steps whose products are convolutions over " #number " axes",                        \
                   LIANA_PART_OPTIONS(liana_conv_lstm##number##d_options, rows_##number), .check = check_##number),   \
        LIANA__INPUTS(1, 2 + STATES),                                                                                 \
        .has_data_format = true,                                                                                      \
        .reads_training = true,                                                                                       \
        .masking = LIANA_MASKING_OWN,                                                                                 \
        .weights = liana__rnn_build,                                                                                  \
        .call = liana__rnn_call,                                                                                      \
        .arguments = arguments,                                                                                       \
        .rnn = &rnn_##number,                                                                                         \
    };

static const char *const arguments[] = {"sequences", "initial_state", "initial_state", "mask", NULL};

CONV_LSTM(1)
CONV_LSTM(2)
CONV_LSTM(3)
