/* attention.h - layers that let each step of a sequence read all steps of another: options and builders (layer.h).
 *
 * Inputs have fixed places in .inputs: {query, value}, and whatever of the others there is:
 *
 *     liana_layer y = liana_multi_head_attention(m, .num_heads = 4, .key_dim = 16,
 *                                                .inputs = {[LIANA_QUERY] = x, [LIANA_VALUE] = memory,
 *                                                           [LIANA_ATTENTION_MASK] = allowed});
 *
 * Without a key the value is the key too. Masks of [batch, steps] come by themselves from layers before, such as an
 * Embedding with .mask_zero; those that are given take their place. In a mask that is given, 0 and false leave out.
 *
 * .return_attention_scores and .use_causal_mask belong to the call: liana_layer_reuse has them off. With
 * .return_attention_scores the layer has a second result, liana_layer_output(y, 1): the scores after the softmax. With
 * .use_causal_mask a step reads no steps after it. */
#ifndef LIANA_LAYERS_ATTENTION_H
#define LIANA_LAYERS_ATTENTION_H

#include <liana/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Places in .inputs. */
enum {
    LIANA_QUERY,          /* [batch, steps, features] */
    LIANA_VALUE,          /* [batch, other steps, features] */
    LIANA_KEY,            /* as the value, but for the features */
    LIANA_QUERY_MASK,     /* [batch, steps] */
    LIANA_VALUE_MASK,     /* [batch, other steps] */
    LIANA_KEY_MASK,       /* [batch, other steps] */
    LIANA_ATTENTION_MASK, /* [batch, steps, other steps]; MultiHeadAttention and GroupQueryAttention */
};

/* Attention of several heads (Vaswani et al. 2017): softmax(Q K^T / sqrt(key_dim)) V for each head, with Q, K and V
 * made by matrices of their own, and joined by another one. The result is [batch, steps, features of the query], or
 * [batch, steps, .output_shape]. As in Keras, a query mask that is given counts for nothing: only that of the query
 * itself does. */
typedef struct liana_multi_head_attention_options {
    LIANA_MERGE_OPTIONS;
    int64_t num_heads LIANA_DEFAULT_();
    int64_t key_dim LIANA_DEFAULT_();   /* size of a head */
    int64_t value_dim LIANA_DEFAULT_(); /* 0: as key_dim */
    double dropout LIANA_DEFAULT_();    /* of the scores */
    bool use_bias LIANA_DEFAULT_(true);
    liana_ints output_shape LIANA_DEFAULT_();   /* without batch and steps; empty: the query's features */
    liana_ints attention_axes LIANA_DEFAULT_(); /* of the inputs; empty: all between batch and features */
    int64_t sliding_window LIANA_DEFAULT_();    /* a step reads fewer than so many to each side; 0: all */
    bool flash_attention LIANA_DEFAULT_();      /* read for Keras's sake: it changes no result */
    const char *kernel_initializer LIANA_DEFAULT_("glorot_uniform");
    const char *bias_initializer LIANA_DEFAULT_("zeros");
    const char *kernel_regularizer LIANA_DEFAULT_();
    const char *bias_regularizer LIANA_DEFAULT_();
    const char *activity_regularizer LIANA_DEFAULT_(); /* of Q, K, V and the result */
    const char *kernel_constraint LIANA_DEFAULT_();
    const char *bias_constraint LIANA_DEFAULT_();
    bool use_gate LIANA_DEFAULT_(); /* what the heads give is multiplied by sigmoids of the query (Qiu et al. 2025) */
    bool return_attention_scores LIANA_DEFAULT_();
    bool use_causal_mask LIANA_DEFAULT_();
} liana_multi_head_attention_options;
#define LIANA_MULTI_HEAD_ATTENTION_DEFAULTS                                                        \
    .trainable = true, .training = true, .use_bias = true, .kernel_initializer = "glorot_uniform", \
    .bias_initializer = "zeros"
#define liana_multi_head_attention(...)                                                                       \
    LIANA_ADD_("MultiHeadAttention", liana_multi_head_attention_options, LIANA_MULTI_HEAD_ATTENTION_DEFAULTS, \
               __VA_ARGS__, )

/* The same with fewer heads of keys and values, each of which several heads of queries share (Ainslie et al. 2023). */
typedef struct liana_group_query_attention_options {
    LIANA_MERGE_OPTIONS;
    int64_t head_dim LIANA_DEFAULT_();
    int64_t num_query_heads LIANA_DEFAULT_();
    int64_t num_key_value_heads LIANA_DEFAULT_(); /* divides num_query_heads */
    double dropout LIANA_DEFAULT_();
    bool use_bias LIANA_DEFAULT_(true);
    int64_t sliding_window LIANA_DEFAULT_();
    bool flash_attention LIANA_DEFAULT_();
    const char *kernel_initializer LIANA_DEFAULT_("glorot_uniform");
    const char *bias_initializer LIANA_DEFAULT_("zeros");
    const char *kernel_regularizer LIANA_DEFAULT_();
    const char *bias_regularizer LIANA_DEFAULT_();
    const char *activity_regularizer LIANA_DEFAULT_();
    const char *kernel_constraint LIANA_DEFAULT_();
    const char *bias_constraint LIANA_DEFAULT_();
    bool use_gate LIANA_DEFAULT_();
    bool return_attention_scores LIANA_DEFAULT_();
    bool use_causal_mask LIANA_DEFAULT_();
} liana_group_query_attention_options;
#define LIANA_GROUP_QUERY_ATTENTION_DEFAULTS                                                       \
    .trainable = true, .training = true, .use_bias = true, .kernel_initializer = "glorot_uniform", \
    .bias_initializer = "zeros"
#define liana_group_query_attention(...)                                                                         \
    LIANA_ADD_("GroupQueryAttention", liana_group_query_attention_options, LIANA_GROUP_QUERY_ATTENTION_DEFAULTS, \
               __VA_ARGS__, )

typedef enum liana_score_mode {
    LIANA_SCORES_DOT,    /* Q K^T (Luong et al. 2015) */
    LIANA_SCORES_CONCAT, /* concat_score_weight * sum(tanh(scale * (q + k))) */
} liana_score_mode;

/* softmax(scores) V, without matrices of its own. With .use_scale the scores are multiplied by a weight `scale`. A step
 * of the query that a mask leaves out gives 0. If masks are given, none comes by itself. */
typedef struct liana_attention_options {
    LIANA_MERGE_OPTIONS;
    bool use_scale LIANA_DEFAULT_();
    liana_score_mode score_mode LIANA_DEFAULT_();
    double dropout LIANA_DEFAULT_();
    bool return_attention_scores LIANA_DEFAULT_();
    bool use_causal_mask LIANA_DEFAULT_();
} liana_attention_options;
#define LIANA_ATTENTION_DEFAULTS .trainable = true, .training = true
#define liana_attention(...) LIANA_ADD_("Attention", liana_attention_options, LIANA_ATTENTION_DEFAULTS, __VA_ARGS__, )

/* The same with the scores sum(scale * tanh(q + k)) (Bahdanau et al. 2015); `scale` [features] is a weight. */
typedef struct liana_additive_attention_options {
    LIANA_MERGE_OPTIONS;
    bool use_scale LIANA_DEFAULT_(true);
    double dropout LIANA_DEFAULT_();
    bool return_attention_scores LIANA_DEFAULT_();
    bool use_causal_mask LIANA_DEFAULT_();
} liana_additive_attention_options;
#define LIANA_ADDITIVE_ATTENTION_DEFAULTS .trainable = true, .training = true, .use_scale = true
#define liana_additive_attention(...) \
    LIANA_ADD_("AdditiveAttention", liana_additive_attention_options, LIANA_ADDITIVE_ATTENTION_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
