/* rnn.h - cells, and how they go through the steps of sequences.
 *
 * To add a cell: a layer type with a liana__cell_type, and with the options of LIANA_CELL_OPTIONS. */
#ifndef LIANA_LAYERS_RECURRENT_RNN_H
#define LIANA_LAYERS_RECURRENT_RNN_H

#include "layers/activations.h"
#include "layers/option_rows.h"

#include <liana/layers/recurrent.h>
#include <liana/ops.h>

/* A cell that goes through sequences. */
typedef struct liana__cell_run {
    liana_layer_call *call; /* of the layer: place, draws; its options and weights are others */
    const struct liana__cell_type *type;
    const void *options;
    const liana_tensor *weights;
    bool training;
    uint64_t seed;
    /* Factors of the features and of the state, for all gates or for each; id 0: there are none. */
    liana_tensor dropout[4], recurrent_dropout[4];
    size_t num_masks; /* 1, or the number of gates */
} liana__cell_run;

/* Sequences, and what a cell makes of them. */
typedef struct liana__sequence {
    liana_tensor x;       /* [batch, steps, ...] */
    liana_tensor mask;    /* bool [batch, steps]; id 0: none */
    liana_tensor *states; /* before the first step; then after the last */
    bool backwards;       /* begins at the last step */
    bool zero_masked;     /* the output of masked steps is zeros */
    bool wants_all, flips_all;
    liana_tensor last; /* the output of the last step that was taken */
    liana_tensor
        all; /* [batch, steps, ...] if they are wanted: in the order in which the steps were taken, or flipped */
} liana__sequence;

typedef struct liana__cell_type {
    size_t (*num_states)(const void *options);
    /* Of state `index`, for one step x [batch, ...]. */
    liana_shape (*state_shape)(const void *options, size_t index, const liana_shape *x);
    /* The weights that its steps read, the first of its own. NULL: two and, with use_bias, a third. */
    size_t (*num_weights)(const void *options);
    /* What does not depend on the state, for all steps at once: [steps, batch, ...] of [steps, batch, ...]. */
    liana_tensor (*project)(liana__cell_run *run, liana_tensor x);
    /* The output of one step, of a step of `project`'s result; replaces the states, of which it is the first. */
    liana_tensor (*step)(liana__cell_run *run, liana_tensor projected, liana_tensor *states);
    /* Instead of both, for a cell of several. */
    void (*go)(liana__cell_run *run, liana__sequence *sequence);
} liana__cell_type;

enum { LIANA__MOST_STATES = 32 };

/* Step `step` of [batch, steps, ...]; the outputs of steps as one tensor, in place. */
liana_tensor liana__step_of(liana_location here, liana_tensor x, int64_t step);
liana_tensor liana__join_steps(liana_location here, liana_tensor *outputs, int64_t count, bool flips);
/* [steps, ...] from the last to the first. */
liana_tensor liana__flip_steps(liana_location here, liana_tensor x);
size_t liana__cell_num_weights(const liana__cell_run *run);
/* Takes all steps. */
void liana__cell_go(liana__cell_run *run, liana__sequence *sequence);
/* The run of a held cell within `outer`; `number` is for its draws. */
liana__cell_run liana__cell_run_held(const liana__cell_run *outer, const liana_held_layer *held, size_t number);

/* ---- gates ---- */

/* Makes the factors of dropout for a step of x [steps, batch, ...], and of the state: one for all gates, or one for
 * each. */
void liana__cell_drop(liana__cell_run *run, liana_tensor x, size_t gates, bool by_gate);
/* Draws `count` factors of a shape, where the rate is above 0; `first` numbers the draws. */
void liana__cell_draw(const liana__cell_run *run, const liana_shape *shape, double rate, size_t first, size_t count,
                      liana_tensor *factors);
/* The output of an LSTM's step of its gates [batch, ..., 4 units]: c' = f c + i g, h' = o activation(c'). */
liana_tensor liana__lstm_gates(const liana__cell_run *run, liana_tensor z, const char *activation,
                               const char *recurrent_activation, liana_tensor states[2]);
/* Keras's rule for cells with gates. */
bool liana__cell_drops_by_gate(const void *options);
/* x kernel [.., gates * units] for gates begin..end-1, with their factors (or NULL). */
liana_tensor liana__cell_product(const liana__cell_run *run, liana_tensor x, liana_tensor kernel, size_t gates,
                                 size_t begin, size_t end, const liana_tensor *factors);
/* Parts begin..end-1 of `parts` equal ones along the last axis. */
liana_tensor liana__cell_part(const liana__cell_run *run, liana_tensor x, size_t parts, size_t begin, size_t end);
/* An activation within a cell. */
liana_tensor liana__cell_activate(const liana__cell_run *run, const char *text, liana_tensor x);

/* ---- cells as layers ---- */

/* The members of LIANA_CELL_OPTIONS at their places. */
typedef struct liana__cell_options {
    LIANA_MERGE_OPTIONS;
    LIANA_CELL_OPTIONS;
} liana__cell_options;

typedef struct liana__gated_cell_options {
    LIANA_MERGE_OPTIONS;
    LIANA_GATED_CELL_OPTIONS;
} liana__gated_cell_options;

/* Whether the activations are those of the fused cells (ops/fused/recurrent_cell.h). */
bool liana__cell_is_usual(const liana__gated_cell_options *options);
/* kernel [features, gates * units], recurrent_kernel [units, gates * units] and, unless use_bias is false, `bias`.
 * Checks the shapes of x [batch, features] and of the states. */
liana_status liana__cell_declare(liana_layer_build *build, size_t gates, liana_shape bias, size_t num_states);
/* The call of a layer that is a cell. */
liana_tensor liana__cell_call(liana_layer_call *call);
/* A state [batch, units]. */
liana_shape liana__cell_state_shape(const void *options, size_t index, const liana_shape *x);

/* ---- layers that go through steps ---- */

/* The switches of LIANA_RNN_OPTIONS, which stand in a row from return_sequences on. */
typedef struct liana__rnn_switches {
    bool return_sequences, return_state, go_backwards, stateful, unroll, zero_output_for_mask, mask_with_states;
} liana__rnn_switches;

/* How a layer takes steps. */
typedef struct liana__rnn_type {
    const liana_layer_type *cell; /* its own, whose options begin as the layer's; NULL: it holds one */
    size_t held;                  /* offsetof(the options, the held cell); 0: it has its own */
    size_t switches;              /* offsetof(the options, return_sequences) */
} liana__rnn_type;

/* The mask that counts in a call: its last argument, or that of its sequences. Where states are given, the latter
 * counts in Keras 2 alone (`with_states`). And the mask of all outputs. */
liana_tensor liana__rnn_mask(const liana_layer_call *call, bool with_states);
liana_tensor liana__rnn_output_mask(const liana_layer_call *call);
/* The arguments of a layer with any number of states: the sequences, 14 states, the mask. */
extern const char *const liana__rnn_arguments[];

const liana__rnn_switches *liana__rnn_switches_of(const liana__rnn_type *rnn, const void *options);
size_t liana__rnn_num_states(const liana__rnn_type *rnn, const void *options);
/* The functions of a layer whose type has a liana__rnn_type. */
liana_status liana__rnn_build(liana_layer_build *build);
liana_tensor liana__rnn_call(liana_layer_call *call);
/* The same for a layer within a Bidirectional: with the outputs of all steps in the opposite order (`flips`), and with
 * zeros for masked ones, if all are returned. */
liana_tensor liana__rnn_call_side(liana_layer_call *call, bool flips);

/* ---- rows ---- */

#define LIANA__RATE_ROW(type, member, text) \
    LIANA_OPTION_ROW(type, member, FLOAT, .minimum = 0, .maximum = 0.999999, .doc = text)
#define LIANA__CELL_ROWS(type)                                                                      \
    LIANA__COUNT_ROW(type, units, .required = true, .doc = "size of the output and of each state"), \
        LIANA__CELL_PART_ROWS(type)
#define LIANA__CELL_PART_ROWS(type)                                                                                \
    LIANA_OPTION_ROW(type, activation, STRING, .default_text = "tanh", .doc = "activation of the result"),         \
        LIANA__BIAS_ROW(type), LIANA__INITIALIZER_ROW(type, kernel_initializer, "glorot_uniform"),                 \
        LIANA__INITIALIZER_ROW(type, recurrent_initializer, "orthogonal"),                                         \
        LIANA__INITIALIZER_ROW(type, bias_initializer, "zeros"), LIANA__REGULARIZER_ROW(type, kernel_regularizer), \
        LIANA__REGULARIZER_ROW(type, recurrent_regularizer), LIANA__REGULARIZER_ROW(type, bias_regularizer),       \
        LIANA__CONSTRAINT_ROW(type, kernel_constraint), LIANA__CONSTRAINT_ROW(type, recurrent_constraint),         \
        LIANA__CONSTRAINT_ROW(type, bias_constraint),                                                              \
        LIANA__RATE_ROW(type, dropout, "share of the features that training sets to zero, at all steps the same"), \
        LIANA__RATE_ROW(type, recurrent_dropout,                                                                   \
                        "share of the state that training sets to zero, at all steps the same")
#define LIANA__GATED_CELL_ROWS(type)                                                                 \
    LIANA__CELL_ROWS(type),                                                                          \
        LIANA_OPTION_ROW(type, recurrent_activation, STRING, .default_text = "sigmoid",              \
                         .doc = "activation of the gates"),                                          \
        LIANA_OPTION_ROW(type, implementation, INT, .default_text = "2", .minimum = 0, .maximum = 2, \
                         .doc = "how Keras computes; the numbers are the same, but 1 drops for each gate by itself")
#define LIANA__SWITCH_ROW(type, member, text) LIANA_OPTION_ROW(type, member, BOOL, .default_text = "false", .doc = text)
#define LIANA__MASK_ROW(type)                                                                                       \
    LIANA__SWITCH_ROW(type, mask_with_states,                                                                       \
                      "the mask of the sequences counts where initial states are given, as in Keras 2; in Keras 3 " \
                      "it does not")
#define LIANA__RNN_ROWS(type)                                                                                      \
    LIANA__REGULARIZER_ROW(type, activity_regularizer),                                                            \
        LIANA__SWITCH_ROW(type, return_sequences, "the output of each step instead of the last one's"),            \
        LIANA__SWITCH_ROW(type, return_state, "the states after the last step are results too"),                   \
        LIANA__SWITCH_ROW(type, go_backwards, "goes from the last step to the first; so are the outputs ordered"), \
        LIANA__SWITCH_ROW(type, stateful, "the states after a batch are those before the next one"),               \
        LIANA__SWITCH_ROW(type, unroll, "how Keras computes; the numbers are the same"),                           \
        LIANA__SWITCH_ROW(type, zero_output_for_mask,                                                              \
                          "the output of masked steps is zeros instead of the last one's"),                        \
        LIANA__MASK_ROW(type)

#endif
