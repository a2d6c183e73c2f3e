/* core.h - the layers that most models begin with: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_CORE_H
#define LIANA_LAYERS_CORE_H

#include <liana/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A size of an input that the data give, as None does in Keras. */
enum { LIANA_ANY_SIZE = -1 };

/* An input of the model. .shape is the shape of one example, such as LIANA_INTS(height, width, channels); without it an
 * example is one number. A model with several inputs has a liana_input for each, and layers name theirs with .input:
 *
 *     liana_layer age = liana_input(m, .name = "age", .shape = LIANA_INTS(1));
 *     liana_layer words = liana_input(m, .name = "words", .shape = LIANA_INTS(LIANA_ANY_SIZE), .dtype = LIANA_S32);
 *
 * No weight may depend on a size that is LIANA_ANY_SIZE: such a model takes examples of any such size
 * (liana_model_set_input_shape). */
typedef struct liana_input_options {
    const char *name LIANA_DEFAULT_();
    bool trainable LIANA_DEFAULT_(true);
    bool training LIANA_DEFAULT_(true);
    liana_ints shape LIANA_DEFAULT_();
    int dtype LIANA_DEFAULT_(LIANA_F32); /* LIANA_F32: floats of any dtype; LIANA_S32: ids; LIANA_STRING: texts */
    int64_t batch_size LIANA_DEFAULT_(); /* of all batches, which stateful layers need; 0: any */
} liana_input_options;
#define LIANA_INPUT_DEFAULTS .trainable = true, .training = true
#define liana_input(...) LIANA_ADD_("InputLayer", liana_input_options, LIANA_INPUT_DEFAULTS, __VA_ARGS__, )

/* activation(x kernel + bias) over the last axis; kernel [in, units]. */
typedef struct liana_dense_options {
    LIANA_LAYER_OPTIONS;
    int64_t units LIANA_DEFAULT_();
    const char *activation LIANA_DEFAULT_();
    bool use_bias LIANA_DEFAULT_(true);
    const char *kernel_initializer LIANA_DEFAULT_("glorot_uniform");
    const char *bias_initializer LIANA_DEFAULT_("zeros");
    const char *kernel_regularizer LIANA_DEFAULT_();
    const char *bias_regularizer LIANA_DEFAULT_();
    const char *activity_regularizer LIANA_DEFAULT_();
    const char *kernel_constraint LIANA_DEFAULT_();
    const char *bias_constraint LIANA_DEFAULT_();
} liana_dense_options;
#define LIANA_DENSE_DEFAULTS                                                                       \
    .trainable = true, .training = true, .use_bias = true, .kernel_initializer = "glorot_uniform", \
    .bias_initializer = "zeros"
#define liana_dense(...) LIANA_ADD_("Dense", liana_dense_options, LIANA_DENSE_DEFAULTS, __VA_ARGS__, )

/* A row of `embeddings` [input_dim, output_dim] for each id: [batch, ...] to [batch, ..., output_dim]. Ids are 0 to
 * input_dim - 1; of others the result is the row of the nearest of these. With .mask_zero the id 0 is padding: later
 * layers get a mask (see "masks" in docs/guides/models.md). */
typedef struct liana_embedding_options {
    LIANA_LAYER_OPTIONS;
    int64_t input_dim LIANA_DEFAULT_();
    int64_t output_dim LIANA_DEFAULT_();
    const char *embeddings_initializer LIANA_DEFAULT_("random_uniform");
    bool mask_zero LIANA_DEFAULT_();
    const char *embeddings_regularizer LIANA_DEFAULT_();
    const char *activity_regularizer LIANA_DEFAULT_();
    const char *embeddings_constraint LIANA_DEFAULT_();
} liana_embedding_options;
#define LIANA_EMBEDDING_DEFAULTS .trainable = true, .training = true, .embeddings_initializer = "random_uniform"
#define liana_embedding(...) LIANA_ADD_("Embedding", liana_embedding_options, LIANA_EMBEDDING_DEFAULTS, __VA_ARGS__, )

/* Its input. */
typedef struct liana_identity_options {
    LIANA_LAYER_OPTIONS;
} liana_identity_options;
#define LIANA_IDENTITY_DEFAULTS .trainable = true, .training = true
#define liana_identity(...) LIANA_ADD_("Identity", liana_identity_options, LIANA_IDENTITY_DEFAULTS, __VA_ARGS__, )

/* A step of a sequence [batch, steps, features] whose numbers are all .mask_value is padding: later layers get a mask
 * that leaves it out, and it becomes zeros. */
typedef struct liana_masking_options {
    LIANA_LAYER_OPTIONS;
    double mask_value LIANA_DEFAULT_();
} liana_masking_options;
#define LIANA_MASKING_DEFAULTS .trainable = true, .training = true
#define liana_masking(...) LIANA_ADD_("Masking", liana_masking_options, LIANA_MASKING_DEFAULTS, __VA_ARGS__, )

/* The same, and its reverse: with .reverse a product with the transposed `embeddings`, from [batch, ..., output_dim] to
 * [batch, ..., input_dim], as at the end of a language model. Without .tie_weights the reverse has a weight
 * reverse_embeddings [output_dim, input_dim] of its own. .reverse belongs to the call; so the layer is called once
 * more:
 *
 *     liana_layer table = liana_reversible_embedding(m, .input_dim = 1000, .output_dim = 64, .input = ids);
 *     ...
 *     liana_layer logits = liana_layer_again(table, liana_reversible_embedding_options, .input = x, .reverse = true);
 * */
typedef struct liana_reversible_embedding_options {
    LIANA_LAYER_OPTIONS;
    int64_t input_dim LIANA_DEFAULT_();
    int64_t output_dim LIANA_DEFAULT_();
    bool tie_weights LIANA_DEFAULT_(true);
    const char *embeddings_initializer LIANA_DEFAULT_("random_uniform");
    const char *embeddings_regularizer LIANA_DEFAULT_();
    const char *activity_regularizer LIANA_DEFAULT_();
    const char *embeddings_constraint LIANA_DEFAULT_();
    bool mask_zero LIANA_DEFAULT_();
    const char *reverse_dtype LIANA_DEFAULT_();           /* of the product: "float32"; NULL: as the layer computes */
    double logit_soft_cap LIANA_DEFAULT_(LIANA_NO_LIMIT); /* the reverse gives cap * tanh(logits / cap) */
    bool reverse LIANA_DEFAULT_();
} liana_reversible_embedding_options;
#define LIANA_REVERSIBLE_EMBEDDING_DEFAULTS                                                               \
    .trainable = true, .training = true, .tie_weights = true, .embeddings_initializer = "random_uniform", \
    .logit_soft_cap = LIANA_NO_LIMIT
#define liana_reversible_embedding(...)                                                                        \
    LIANA_ADD_("ReversibleEmbedding", liana_reversible_embedding_options, LIANA_REVERSIBLE_EMBEDDING_DEFAULTS, \
               __VA_ARGS__, )

/* A product in numpy's notation: activation(einsum(equation, x, kernel) + bias). The equation has the form
 * "ab,bc->ac", "...ab,bc->...ac" or "ab...,bc->ac...". .output_shape has the sizes of the result's axes without the
 * batch and those of "..."; -1: that of the input. The bias has the axes of .bias_axes. */
typedef struct liana_einsum_dense_options {
    LIANA_LAYER_OPTIONS;
    const char *equation LIANA_DEFAULT_();
    liana_ints output_shape LIANA_DEFAULT_();
    const char *activation LIANA_DEFAULT_();
    const char *bias_axes LIANA_DEFAULT_(); /* letters of the result; NULL: no bias */
    const char *kernel_initializer LIANA_DEFAULT_("glorot_uniform");
    const char *bias_initializer LIANA_DEFAULT_("zeros");
    const char *kernel_regularizer LIANA_DEFAULT_();
    const char *bias_regularizer LIANA_DEFAULT_();
    const char *activity_regularizer LIANA_DEFAULT_();
    const char *kernel_constraint LIANA_DEFAULT_();
    const char *bias_constraint LIANA_DEFAULT_();
} liana_einsum_dense_options;
#define LIANA_EINSUM_DENSE_DEFAULTS \
    .trainable = true, .training = true, .kernel_initializer = "glorot_uniform", .bias_initializer = "zeros"
#define liana_einsum_dense(...) \
    LIANA_ADD_("EinsumDense", liana_einsum_dense_options, LIANA_EINSUM_DENSE_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
