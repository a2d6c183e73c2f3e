/* recurrent.h - layers that go through sequences step by step, their cells, and wrappers of layers: their options and
 * builders (layer.h).
 *
 * Sequences are [batch, steps, features]. The result is the output of the last step, [batch, units], or with
 * .return_sequences that of each step. A mask leaves out steps: the states stay as they were, and so does the output.
 * With .zero_output_for_mask it is zeros.
 *
 *     liana_lstm(m, .units = 64, .dropout = 0.2, .return_sequences = true);
 *     liana_bidirectional(m, .layer = LIANA_HELD("GRU", liana_gru_options, LIANA_GRU_DEFAULTS, .units = 32));
 *
 * .inputs of these layers: the sequences, then initial states, one for each state of the cell; without them the states
 * begin as zeros. */
#ifndef LIANA_LAYERS_RECURRENT_H
#define LIANA_LAYERS_RECURRENT_H

#include <liana/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The options of every cell, and of the layer that has such a cell. A share `dropout` of the features, and a share
 * `recurrent_dropout` of the state, is set to zero in training, at all steps the same. */
#define LIANA_CELL_OPTIONS          \
    int64_t units LIANA_DEFAULT_(); \
    LIANA_CELL_PART_OPTIONS
#define LIANA_CELL_PART_OPTIONS                                      \
    const char *activation LIANA_DEFAULT_("tanh");                   \
    bool use_bias LIANA_DEFAULT_(true);                              \
    const char *kernel_initializer LIANA_DEFAULT_("glorot_uniform"); \
    const char *recurrent_initializer LIANA_DEFAULT_("orthogonal");  \
    const char *bias_initializer LIANA_DEFAULT_("zeros");            \
    const char *kernel_regularizer LIANA_DEFAULT_();                 \
    const char *recurrent_regularizer LIANA_DEFAULT_();              \
    const char *bias_regularizer LIANA_DEFAULT_();                   \
    const char *kernel_constraint LIANA_DEFAULT_();                  \
    const char *recurrent_constraint LIANA_DEFAULT_();               \
    const char *bias_constraint LIANA_DEFAULT_();                    \
    double dropout LIANA_DEFAULT_();                                 \
    double recurrent_dropout LIANA_DEFAULT_()
#define LIANA_CELL_DEFAULTS_                                                     \
    .trainable = true, .training = true, .activation = "tanh", .use_bias = true, \
    .kernel_initializer = "glorot_uniform", .recurrent_initializer = "orthogonal", .bias_initializer = "zeros"

/* The same of cells with gates. .implementation is Keras's: the numbers are the same, but 1 drops for each gate by
 * itself. */
#define LIANA_GATED_CELL_OPTIONS                                \
    LIANA_CELL_OPTIONS;                                         \
    const char *recurrent_activation LIANA_DEFAULT_("sigmoid"); \
    int64_t implementation LIANA_DEFAULT_(2)
#define LIANA_GATED_CELL_DEFAULTS_ LIANA_CELL_DEFAULTS_, .recurrent_activation = "sigmoid", .implementation = 2

/* The options of every layer that goes through steps. With .stateful the states after a batch are those before the next
 * one: example i of a batch goes on with the sequence of example i of the batch before, in training, evaluation and
 * prediction alike. The batch size is fixed (.batch_size of liana_input). States begin as zeros, are part of
 * checkpoints, and are set to zeros by liana_model_reset_states or the callback ResetStates.
 *
 * .unroll says how Keras computes: the numbers are the same. Where initial states are given, the mask of the sequences
 * counts with .mask_with_states alone: that is Keras 3's rule; in Keras 2 it counts always. A mask that is an input of
 * its own always counts. */
#define LIANA_RNN_OPTIONS                              \
    const char *activity_regularizer LIANA_DEFAULT_(); \
    bool return_sequences LIANA_DEFAULT_();            \
    bool return_state LIANA_DEFAULT_();                \
    bool go_backwards LIANA_DEFAULT_();                \
    bool stateful LIANA_DEFAULT_();                    \
    bool unroll LIANA_DEFAULT_();                      \
    bool zero_output_for_mask LIANA_DEFAULT_();        \
    bool mask_with_states LIANA_DEFAULT_()

/* ---- cells ---- */

/* h' = activation(x kernel + bias + h recurrent_kernel). */
typedef struct liana_simple_rnn_cell_options {
    LIANA_MERGE_OPTIONS;
    LIANA_CELL_OPTIONS;
} liana_simple_rnn_cell_options;
#define LIANA_SIMPLE_RNN_CELL_DEFAULTS LIANA_CELL_DEFAULTS_
#define liana_simple_rnn_cell(...) \
    LIANA_ADD_("SimpleRNNCell", liana_simple_rnn_cell_options, LIANA_SIMPLE_RNN_CELL_DEFAULTS, __VA_ARGS__, )

/* Hochreiter and Schmidhuber 1997, with a forget gate; states h, c. kernel [features, 4 units]: input, forget, cell,
 * output. With .unit_forget_bias the bias of the forget gate begins as ones. */
typedef struct liana_lstm_cell_options {
    LIANA_MERGE_OPTIONS;
    LIANA_GATED_CELL_OPTIONS;
    bool unit_forget_bias LIANA_DEFAULT_(true);
} liana_lstm_cell_options;
#define LIANA_LSTM_CELL_DEFAULTS LIANA_GATED_CELL_DEFAULTS_, .unit_forget_bias = true
#define liana_lstm_cell(...) LIANA_ADD_("LSTMCell", liana_lstm_cell_options, LIANA_LSTM_CELL_DEFAULTS, __VA_ARGS__, )

/* Cho et al. 2014. kernel [features, 3 units]: update, reset, candidate. With .reset_after the reset gate works after
 * the product with the recurrent kernel, and the bias is [2, 3 units]. */
typedef struct liana_gru_cell_options {
    LIANA_MERGE_OPTIONS;
    LIANA_GATED_CELL_OPTIONS;
    bool reset_after LIANA_DEFAULT_(true);
} liana_gru_cell_options;
#define LIANA_GRU_CELL_DEFAULTS LIANA_GATED_CELL_DEFAULTS_, .reset_after = true
#define liana_gru_cell(...) LIANA_ADD_("GRUCell", liana_gru_cell_options, LIANA_GRU_CELL_DEFAULTS, __VA_ARGS__, )

/* Cells one after the other: the output of each is the input of the next. */
typedef struct liana_stacked_rnn_cells_options {
    LIANA_MERGE_OPTIONS;
    liana_held_layers cells LIANA_DEFAULT_();
} liana_stacked_rnn_cells_options;
#define LIANA_STACKED_RNN_CELLS_DEFAULTS .trainable = true, .training = true
#define liana_stacked_rnn_cells(...) \
    LIANA_ADD_("StackedRNNCells", liana_stacked_rnn_cells_options, LIANA_STACKED_RNN_CELLS_DEFAULTS, __VA_ARGS__, )

/* ---- layers ---- */

typedef struct liana_simple_rnn_options {
    LIANA_MERGE_OPTIONS;
    LIANA_CELL_OPTIONS;
    LIANA_RNN_OPTIONS;
} liana_simple_rnn_options;
#define LIANA_SIMPLE_RNN_DEFAULTS LIANA_SIMPLE_RNN_CELL_DEFAULTS
#define liana_simple_rnn(...) \
    LIANA_ADD_("SimpleRNN", liana_simple_rnn_options, LIANA_SIMPLE_RNN_DEFAULTS, __VA_ARGS__, )

typedef struct liana_lstm_options {
    LIANA_MERGE_OPTIONS;
    LIANA_GATED_CELL_OPTIONS;
    bool unit_forget_bias LIANA_DEFAULT_(true);
    LIANA_RNN_OPTIONS;
} liana_lstm_options;
#define LIANA_LSTM_DEFAULTS LIANA_LSTM_CELL_DEFAULTS
#define liana_lstm(...) LIANA_ADD_("LSTM", liana_lstm_options, LIANA_LSTM_DEFAULTS, __VA_ARGS__, )

typedef struct liana_gru_options {
    LIANA_MERGE_OPTIONS;
    LIANA_GATED_CELL_OPTIONS;
    bool reset_after LIANA_DEFAULT_(true);
    LIANA_RNN_OPTIONS;
} liana_gru_options;
#define LIANA_GRU_DEFAULTS LIANA_GRU_CELL_DEFAULTS
#define liana_gru(...) LIANA_ADD_("GRU", liana_gru_options, LIANA_GRU_DEFAULTS, __VA_ARGS__, )

/* An LSTM whose products are convolutions (Shi et al. 2015): of sequences [batch, steps, size, channels], images
 * [batch, steps, height, width, channels] or volumes. kernel [sizes, channels, 4 filters], recurrent_kernel [sizes,
 * filters, 4 filters]. */
#define LIANA_CONV_LSTM_OPTIONS_(axes)                          \
    LIANA_MERGE_OPTIONS;                                        \
    int64_t filters LIANA_DEFAULT_();                           \
    int64_t kernel_size[axes] LIANA_DEFAULT_();                 \
    int64_t strides[axes] LIANA_DEFAULT_(1);                    \
    liana_padding padding LIANA_DEFAULT_();                     \
    int64_t dilation_rate[axes] LIANA_DEFAULT_(1);              \
    LIANA_CELL_PART_OPTIONS;                                    \
    const char *recurrent_activation LIANA_DEFAULT_("sigmoid"); \
    bool unit_forget_bias LIANA_DEFAULT_(true);                 \
    LIANA_RNN_OPTIONS
typedef struct liana_conv_lstm1d_options {
    LIANA_CONV_LSTM_OPTIONS_(1);
} liana_conv_lstm1d_options;
typedef struct liana_conv_lstm2d_options {
    LIANA_CONV_LSTM_OPTIONS_(2);
} liana_conv_lstm2d_options;
typedef struct liana_conv_lstm3d_options {
    LIANA_CONV_LSTM_OPTIONS_(3);
} liana_conv_lstm3d_options;
#define LIANA_CONV_LSTM_DEFAULTS \
    LIANA_CELL_DEFAULTS_, .strides = 1, .dilation_rate = 1, .recurrent_activation = "sigmoid", .unit_forget_bias = true
#define liana_conv_lstm1d(...) \
    LIANA_ADD_("ConvLSTM1D", liana_conv_lstm1d_options, LIANA_CONV_LSTM_DEFAULTS, __VA_ARGS__, )
#define liana_conv_lstm2d(...) \
    LIANA_ADD_("ConvLSTM2D", liana_conv_lstm2d_options, LIANA_CONV_LSTM_DEFAULTS, __VA_ARGS__, )
#define liana_conv_lstm3d(...) \
    LIANA_ADD_("ConvLSTM3D", liana_conv_lstm3d_options, LIANA_CONV_LSTM_DEFAULTS, __VA_ARGS__, )

/* Any cell: .cell = LIANA_HELD("LSTMCell", ...). */
typedef struct liana_rnn_options {
    LIANA_MERGE_OPTIONS;
    liana_held_layer cell LIANA_DEFAULT_();
    LIANA_RNN_OPTIONS;
} liana_rnn_options;
#define LIANA_RNN_DEFAULTS .trainable = true, .training = true
#define liana_rnn(...) LIANA_ADD_("RNN", liana_rnn_options, LIANA_RNN_DEFAULTS, __VA_ARGS__, )

/* ---- wrappers ---- */

typedef enum liana_merge_mode {
    LIANA_MERGE_CONCAT, /* one after the other along the last axis */
    LIANA_MERGE_SUM,
    LIANA_MERGE_MUL,
    LIANA_MERGE_AVE,
    LIANA_MERGE_NONE, /* two results */
} liana_merge_mode;

/* `layer` on the steps from the first to the last, and `backward_layer` from the last to the first (default: a copy of
 * the first with weights of its own); both results merged. .inputs: initial states are those of the first, then those
 * of the other. */
typedef struct liana_bidirectional_options {
    LIANA_MERGE_OPTIONS;
    liana_held_layer layer LIANA_DEFAULT_();
    liana_merge_mode merge_mode LIANA_DEFAULT_();
    liana_held_layer backward_layer LIANA_DEFAULT_();
    bool mask_with_states LIANA_DEFAULT_();
} liana_bidirectional_options;
#define LIANA_BIDIRECTIONAL_DEFAULTS .trainable = true, .training = true
#define liana_bidirectional(...) \
    LIANA_ADD_("Bidirectional", liana_bidirectional_options, LIANA_BIDIRECTIONAL_DEFAULTS, __VA_ARGS__, )

/* `layer` on each step by itself: [batch, steps, ...]. */
typedef struct liana_time_distributed_options {
    LIANA_LAYER_OPTIONS;
    liana_held_layer layer LIANA_DEFAULT_();
} liana_time_distributed_options;
#define LIANA_TIME_DISTRIBUTED_DEFAULTS .trainable = true, .training = true
#define liana_time_distributed(...) \
    LIANA_ADD_("TimeDistributed", liana_time_distributed_options, LIANA_TIME_DISTRIBUTED_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
