/* heads.h - attention of several heads, for the layers that have it. */
#ifndef LIANA_LAYERS_ATTENTION_HEADS_H
#define LIANA_LAYERS_ATTENTION_HEADS_H

#include "layers/option_rows.h"

#include <liana/layers/attention.h>

/* Slots of inputs; the same for all layers of attention. */
enum { LIANA__ATTENTION_SLOTS = LIANA_ATTENTION_MASK + 1 };

/* The options of a layer. */
typedef struct liana__heads {
    int64_t query_heads, value_heads; /* the second divides the first */
    int64_t key_dim, value_dim;
    liana_ints output_shape, attention_axes; /* empty: the defaults */
    int64_t sliding_window;
    double dropout;
    bool use_bias, use_gate, use_causal_mask, return_attention_scores;
    bool reads_query_mask; /* one that is given */
    bool has_activity_regularizer;
    const char *kernel_initializer, *bias_initializer;
    const char *const *places; /* of query, key, gate, value and output in Keras's files */
} liana__heads;

/* Options of all layers of several heads. */
#define LIANA__HEADS_ROWS(type)                                                                                    \
    LIANA_OPTION_ROW(type, sliding_window, INT, .default_text = "0", .minimum = 0, .maximum = INT32_MAX,           \
                     .doc = "a step reads fewer than so many steps to each side; 0: all"),                         \
        LIANA_OPTION_ROW(type, flash_attention, BOOL, .default_text = "false",                                     \
                         .doc = "changes no result: it is read because Keras has it"),                             \
        LIANA__INITIALIZER_ROW(type, kernel_initializer, "glorot_uniform"),                                        \
        LIANA__INITIALIZER_ROW(type, bias_initializer, "zeros"), LIANA__REGULARIZER_ROW(type, kernel_regularizer), \
        LIANA__REGULARIZER_ROW(type, bias_regularizer), LIANA__REGULARIZER_ROW(type, activity_regularizer),        \
        LIANA__CONSTRAINT_ROW(type, kernel_constraint), LIANA__CONSTRAINT_ROW(type, bias_constraint),              \
        LIANA_OPTION_ROW(type, use_gate, BOOL, .default_text = "false",                                            \
                         .doc = "whether sigmoids of the query multiply what the heads give"),                     \
        LIANA_OPTION_ROW(type, return_attention_scores, BOOL, .default_text = "false",                             \
                         .doc = "of the call: whether the scores are a second result"),                            \
        LIANA_OPTION_ROW(type, use_causal_mask, BOOL, .default_text = "false",                                     \
                         .doc = "of the call: whether a step reads no steps after it")

/* The arguments of calls: those of Keras's MultiHeadAttention and GroupQueryAttention. */
extern const char *const liana__heads_arguments[];

/* Declares the weights, and checks the shapes of inputs and masks. */
liana_status liana__heads_weights(liana_layer_build *build, const liana__heads *heads);
liana_tensor liana__heads_call(liana_layer_call *call, const liana__heads *heads);

/* ---- for all layers of attention ---- */

/* bool [rows, columns]: whether a row reads a column that is not after it. */
liana_tensor liana__causal_mask(const liana_layer_call *call, int64_t rows, int64_t columns);
/* And of two masks, of which one may be invalid. */
liana_tensor liana__join_masks(const liana_layer_call *call, liana_tensor a, liana_tensor b);
/* An axis of size 1 before axis `axis`. */
liana_tensor liana__expand(const liana_layer_call *call, liana_tensor x, int axis);
/* Refuses the input of a slot, which `what` names: "the value: found an input of shape ..., expected ...". */
liana_status liana__refuse_slot(liana_layer_build *build, size_t slot, const char *format, ...) LIANA__PRINTF(3, 4);

#endif
