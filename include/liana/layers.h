/* layers.h - the layers of models.
 *
 * Names, options, defaults, weights and formulas are those of Keras 2 (channels last). So Keras's weights give Keras's
 * results. Options are written as designated initialisers, in any order:
 *
 *     liana_layer x = liana_conv2d(m, .filters = 32, .kernel_size = 3, .padding = LIANA_PADDING_SAME);
 *     liana_layer y = liana_batch_normalization(m, .epsilon = 1e-5);
 *     liana_layer z = liana_add(m, .inputs = {x, y}, .name = "joined");
 *
 * Every layer has these options:
 * - .name: default as in Keras, such as "conv2d_1";
 * - .trainable: default true;
 * - .training: default true; false: the layer computes as in inference also while the model is trained, as Keras's
 *   layer(x, training=False). Its weights are trained as .trainable says. Batch normalisation then uses its moving
 *   averages, which stay as they are, and dropout does nothing;
 * - .input: default the layer before it. Layers that join several layers have .inputs instead.
 *
 * For an option that is a pair [2], one number stands for both: .kernel_size = 3.
 *
 * C++20 has the same builders. There the options are in the order of their struct, and pairs are in braces:
 * .kernel_size = {3}. C++17 has no designated initialisers: fill the struct, whose members have the defaults, and call
 * liana_model_add_at(LIANA_HERE, model, "Dense", &options). */
#ifndef LIANA_LAYERS_H
#define LIANA_LAYERS_H

#include <liana/model.h>
#include <liana/ops.h>
#include <liana/options.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds a layer by its Keras class name; `options` is the struct of that class. The builders below expand to this. */
LIANA_API liana_layer liana_model_add_at(liana_location here, liana_model *model, const char *layer_class,
                                         const void *options);

enum { LIANA_MAX_LAYER_INPUTS = 16 };

/* For an option that is a limit: no limit. */
#define LIANA_NO_LIMIT __builtin_nan("")

/* Defaults of struct members, for C++ only. For C, the ..._DEFAULTS of the builders below have the same values. */
#if defined(__cplusplus)
#define LIANA_DEFAULT_(...) \
    {                       \
        __VA_ARGS__         \
    }
#else
#define LIANA_DEFAULT_(...)
#endif

/* The first options of every layer. */
#define LIANA_LAYER_OPTIONS              \
    const char *name LIANA_DEFAULT_();   \
    bool trainable LIANA_DEFAULT_(true); \
    bool training LIANA_DEFAULT_(true);  \
    liana_layer input LIANA_DEFAULT_()
#define LIANA_MERGE_OPTIONS              \
    const char *name LIANA_DEFAULT_();   \
    bool trainable LIANA_DEFAULT_(true); \
    bool training LIANA_DEFAULT_(true);  \
    liana_layer inputs[LIANA_MAX_LAYER_INPUTS] LIANA_DEFAULT_()

#if defined(__cplusplus)
/* The builders add an empty argument after the caller's. In C++ it is the comma at the end of a list. */
#define LIANA_ADD_(layer_class, options, defaults, model, ...) \
    liana_model_add_at(LIANA_HERE, model, layer_class, liana_address_(options{__VA_ARGS__}))
#else
/* The builders write each default before the caller's value for the same option, and may write a pair as one number.
 * Compiler warnings about that are turned off here. */
#if defined(__clang__)
#define LIANA_OPTIONS_BEGIN_                                                                         \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Winitializer-overrides\"") \
        _Pragma("clang diagnostic ignored \"-Wmissing-braces\"")
#define LIANA_OPTIONS_END_ _Pragma("clang diagnostic pop")
#else
#define LIANA_OPTIONS_BEGIN_                                                             \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Woverride-init\"") \
        _Pragma("GCC diagnostic ignored \"-Wmissing-braces\"")
#define LIANA_OPTIONS_END_ _Pragma("GCC diagnostic pop")
#endif
/* The builders add an empty argument after the caller's. It keeps "liana_flatten(m)" within ISO C. */
#define LIANA_ADD_(layer_class, options, defaults, model, ...)                                 \
    __extension__({                                                                            \
        LIANA_OPTIONS_BEGIN_                                                                   \
        liana_model_add_at(LIANA_HERE, model, layer_class, &(options){defaults, __VA_ARGS__}); \
        LIANA_OPTIONS_END_                                                                     \
    })
#endif

/* ---- input ---- */

/* An input of the model. .shape is the shape of one example, such as LIANA_INTS(height, width, channels); without it an
 * example is one number. A model with several inputs has a liana_input for each, and layers name theirs with .input:
 *
 *     liana_layer age = liana_input(m, .name = "age", .shape = LIANA_INTS(1));
 *     liana_layer words = liana_input(m, .name = "words", .shape = LIANA_INTS(20), .dtype = LIANA_S32);
 */
typedef struct liana_input_options {
    const char *name LIANA_DEFAULT_();
    bool trainable LIANA_DEFAULT_(true);
    bool training LIANA_DEFAULT_(true);
    liana_ints shape LIANA_DEFAULT_();
    liana_dtype dtype LIANA_DEFAULT_(LIANA_F32); /* LIANA_F32: floats of any dtype; LIANA_S32: ids */
} liana_input_options;
#define LIANA_INPUT_DEFAULTS .trainable = true, .training = true
#define liana_input(...) LIANA_ADD_("InputLayer", liana_input_options, LIANA_INPUT_DEFAULTS, __VA_ARGS__, )

/* ---- layers with weights ----
 *
 * Initialisers have Keras's names, with arguments in parentheses: "he_normal", "constant(0.5)",
 * "random_normal(stddev=0.01)". Activations are "linear" (or NULL), "relu", "softmax", ... `liana list` shows all.
 *
 * A regularizer adds a penalty to the loss: "l1(0.01)", "l2(0.01)", "l1_l2(l1=0.01, l2=0.001)", or for a matrix
 * "orthogonal_regularizer(factor=0.01, mode=rows)". Penalties of a weight count while training changes the weight. An
 * activity_regularizer is computed of the layer's result: a sum over all values, divided by the number of examples.
 *
 * A constraint changes a weight after each update: "non_neg", "unit_norm(axis=0)", "max_norm(max_value=2, axis=0)",
 * "min_max_norm(min_value=0, max_value=1, rate=1, axis=0)". Norms are taken along `axis`. In a Dense, axis 0 goes over
 * the inputs. In a convolution, axis=[0, 1, 2] goes over a filter.
 *
 * NULL, the default: no regularizer or constraint. Names, formulas and defaults of the arguments are Keras's. */

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

/* activation(convolution of [batch, height, width, in] with kernel [height, width, in / groups, filters] + bias). */
typedef struct liana_conv2d_options {
    LIANA_LAYER_OPTIONS;
    int64_t filters LIANA_DEFAULT_();
    int64_t kernel_size[2] LIANA_DEFAULT_();
    int64_t strides[2] LIANA_DEFAULT_(1);
    liana_padding padding LIANA_DEFAULT_(); /* LIANA_PADDING_VALID or LIANA_PADDING_SAME */
    int64_t dilation_rate[2] LIANA_DEFAULT_(1);
    int64_t groups LIANA_DEFAULT_(1);
    const char *activation LIANA_DEFAULT_();
    bool use_bias LIANA_DEFAULT_(true);
    const char *kernel_initializer LIANA_DEFAULT_("glorot_uniform");
    const char *bias_initializer LIANA_DEFAULT_("zeros");
    const char *kernel_regularizer LIANA_DEFAULT_();
    const char *bias_regularizer LIANA_DEFAULT_();
    const char *activity_regularizer LIANA_DEFAULT_();
    const char *kernel_constraint LIANA_DEFAULT_();
    const char *bias_constraint LIANA_DEFAULT_();
} liana_conv2d_options;
#define LIANA_CONV2D_DEFAULTS                                                                             \
    .trainable = true, .training = true, .strides = 1, .dilation_rate = 1, .groups = 1, .use_bias = true, \
    .kernel_initializer = "glorot_uniform", .bias_initializer = "zeros"
#define liana_conv2d(...) LIANA_ADD_("Conv2D", liana_conv2d_options, LIANA_CONV2D_DEFAULTS, __VA_ARGS__, )

/* A row of `embeddings` [input_dim, output_dim] for each id: [batch, ...] to [batch, ..., output_dim]. Ids are 0 to
 * input_dim - 1; of others the result is the row of the nearest of these. With .mask_zero the id 0 is padding: later
 * layers get a mask (see "masks" in docs/models.md). */
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

/* A depthwise convolution: each channel has `depth_multiplier` kernels of its own. depthwise_kernel [height, width, in,
 * depth_multiplier]. */
typedef struct liana_depthwise_conv2d_options {
    LIANA_LAYER_OPTIONS;
    int64_t kernel_size[2] LIANA_DEFAULT_();
    int64_t strides[2] LIANA_DEFAULT_(1);
    liana_padding padding LIANA_DEFAULT_();
    int64_t depth_multiplier LIANA_DEFAULT_(1);
    int64_t dilation_rate[2] LIANA_DEFAULT_(1);
    const char *activation LIANA_DEFAULT_();
    bool use_bias LIANA_DEFAULT_(true);
    const char *depthwise_initializer LIANA_DEFAULT_("glorot_uniform");
    const char *bias_initializer LIANA_DEFAULT_("zeros");
    const char *depthwise_regularizer LIANA_DEFAULT_();
    const char *bias_regularizer LIANA_DEFAULT_();
    const char *activity_regularizer LIANA_DEFAULT_();
    const char *depthwise_constraint LIANA_DEFAULT_();
    const char *bias_constraint LIANA_DEFAULT_();
} liana_depthwise_conv2d_options;
#define LIANA_DEPTHWISE_CONV2D_DEFAULTS                                                                             \
    .trainable = true, .training = true, .strides = 1, .depth_multiplier = 1, .dilation_rate = 1, .use_bias = true, \
    .depthwise_initializer = "glorot_uniform", .bias_initializer = "zeros"
#define liana_depthwise_conv2d(...) \
    LIANA_ADD_("DepthwiseConv2D", liana_depthwise_conv2d_options, LIANA_DEPTHWISE_CONV2D_DEFAULTS, __VA_ARGS__, )

/* A depthwise convolution, then a convolution of 1 x 1: depthwise_kernel [height, width, in, depth_multiplier],
 * pointwise_kernel [1, 1, in * depth_multiplier, filters], bias. */
typedef struct liana_separable_conv2d_options {
    LIANA_LAYER_OPTIONS;
    int64_t filters LIANA_DEFAULT_();
    int64_t kernel_size[2] LIANA_DEFAULT_();
    int64_t strides[2] LIANA_DEFAULT_(1);
    liana_padding padding LIANA_DEFAULT_();
    int64_t dilation_rate[2] LIANA_DEFAULT_(1);
    int64_t depth_multiplier LIANA_DEFAULT_(1);
    const char *activation LIANA_DEFAULT_();
    bool use_bias LIANA_DEFAULT_(true);
    const char *depthwise_initializer LIANA_DEFAULT_("glorot_uniform");
    const char *pointwise_initializer LIANA_DEFAULT_("glorot_uniform");
    const char *bias_initializer LIANA_DEFAULT_("zeros");
    const char *depthwise_regularizer LIANA_DEFAULT_();
    const char *pointwise_regularizer LIANA_DEFAULT_();
    const char *bias_regularizer LIANA_DEFAULT_();
    const char *activity_regularizer LIANA_DEFAULT_();
    const char *depthwise_constraint LIANA_DEFAULT_();
    const char *pointwise_constraint LIANA_DEFAULT_();
    const char *bias_constraint LIANA_DEFAULT_();
} liana_separable_conv2d_options;
#define LIANA_SEPARABLE_CONV2D_DEFAULTS                                                                             \
    .trainable = true, .training = true, .strides = 1, .dilation_rate = 1, .depth_multiplier = 1, .use_bias = true, \
    .depthwise_initializer = "glorot_uniform", .pointwise_initializer = "glorot_uniform", .bias_initializer = "zeros"
#define liana_separable_conv2d(...) \
    LIANA_ADD_("SeparableConv2D", liana_separable_conv2d_options, LIANA_SEPARABLE_CONV2D_DEFAULTS, __VA_ARGS__, )

/* gamma (x - mean) / sqrt(variance + epsilon) + beta, for each channel (the last axis). In training, mean and variance
 * are those of the shard, and moving = momentum * moving + (1 - momentum) * shard's. Otherwise, and if .trainable is
 * false, they are the moving ones. */
typedef struct liana_batch_normalization_options {
    LIANA_LAYER_OPTIONS;
    double momentum LIANA_DEFAULT_(0.99);
    double epsilon LIANA_DEFAULT_(1e-3);
    bool center LIANA_DEFAULT_(true); /* has beta */
    bool scale LIANA_DEFAULT_(true);  /* has gamma */
    const char *beta_initializer LIANA_DEFAULT_("zeros");
    const char *gamma_initializer LIANA_DEFAULT_("ones");
    const char *moving_mean_initializer LIANA_DEFAULT_("zeros");
    const char *moving_variance_initializer LIANA_DEFAULT_("ones");
    const char *beta_regularizer LIANA_DEFAULT_();
    const char *gamma_regularizer LIANA_DEFAULT_();
    const char *beta_constraint LIANA_DEFAULT_();
    const char *gamma_constraint LIANA_DEFAULT_();
    /* The moving variance of images is that of the population, as in Keras 3. Else it is n / (n - 1) times that, as in
     * Keras 2. */
    bool population_variance LIANA_DEFAULT_();
} liana_batch_normalization_options;
#define LIANA_BATCH_NORMALIZATION_DEFAULTS                                                                 \
    .trainable = true, .training = true, .momentum = 0.99, .epsilon = 1e-3, .center = true, .scale = true, \
    .beta_initializer = "zeros", .gamma_initializer = "ones", .moving_mean_initializer = "zeros",          \
    .moving_variance_initializer = "ones"
#define liana_batch_normalization(...)                                                                      \
    LIANA_ADD_("BatchNormalization", liana_batch_normalization_options, LIANA_BATCH_NORMALIZATION_DEFAULTS, \
               __VA_ARGS__, )

/* ---- activations and regularisation ---- */

/* An activation by name. */
typedef struct liana_activation_options {
    LIANA_LAYER_OPTIONS;
    const char *activation LIANA_DEFAULT_();
} liana_activation_options;
#define LIANA_ACTIVATION_DEFAULTS .trainable = true, .training = true
#define liana_activation(...) \
    LIANA_ADD_("Activation", liana_activation_options, LIANA_ACTIVATION_DEFAULTS, __VA_ARGS__, )

/* x if x >= `threshold`, at most `max_value` (above 0; default: no limit); else negative_slope * (x - threshold). */
typedef struct liana_relu_options {
    LIANA_LAYER_OPTIONS;
    double max_value LIANA_DEFAULT_(LIANA_NO_LIMIT);
    double negative_slope LIANA_DEFAULT_();
    double threshold LIANA_DEFAULT_();
} liana_relu_options;
#define LIANA_RELU_DEFAULTS .trainable = true, .training = true, .max_value = LIANA_NO_LIMIT
#define liana_relu(...) LIANA_ADD_("ReLU", liana_relu_options, LIANA_RELU_DEFAULTS, __VA_ARGS__, )

/* Gives its input, and adds l1 * sum(|x|) + l2 * sum(x^2), divided by the number of examples, to the loss. Both factors
 * are at least 0. */
typedef struct liana_activity_regularization_options {
    LIANA_LAYER_OPTIONS;
    double l1 LIANA_DEFAULT_();
    double l2 LIANA_DEFAULT_();
} liana_activity_regularization_options;
#define LIANA_ACTIVITY_REGULARIZATION_DEFAULTS .trainable = true, .training = true
#define liana_activity_regularization(...)                                      \
    LIANA_ADD_("ActivityRegularization", liana_activity_regularization_options, \
               LIANA_ACTIVITY_REGULARIZATION_DEFAULTS, __VA_ARGS__, )

/* Softmax over `axis`. */
typedef struct liana_softmax_options {
    LIANA_LAYER_OPTIONS;
    int64_t axis LIANA_DEFAULT_(-1);
} liana_softmax_options;
#define LIANA_SOFTMAX_DEFAULTS .trainable = true, .training = true, .axis = -1
#define liana_softmax(...) LIANA_ADD_("Softmax", liana_softmax_options, LIANA_SOFTMAX_DEFAULTS, __VA_ARGS__, )

/* In training, sets a share `rate` of the elements to zero and multiplies the others by 1 / (1 - rate). .noise_shape
 * has one number for each axis, the batch first: -1 (or the input's size), or 1 where all elements along the axis share
 * one draw. LIANA_INTS(-1, 1, 1, 1) drops whole examples. */
typedef struct liana_dropout_options {
    LIANA_LAYER_OPTIONS;
    double rate LIANA_DEFAULT_();
    liana_ints noise_shape LIANA_DEFAULT_(); /* the first is -1; empty: each element has its own draw */
} liana_dropout_options;
#define LIANA_DROPOUT_DEFAULTS .trainable = true, .training = true
#define liana_dropout(...) LIANA_ADD_("Dropout", liana_dropout_options, LIANA_DROPOUT_DEFAULTS, __VA_ARGS__, )

/* ---- pooling and padding: [batch, height, width, channels] ---- */

/* The maximum or the mean of each window. .strides 0: the same as pool_size. */
typedef struct liana_pooling2d_options {
    LIANA_LAYER_OPTIONS;
    int64_t pool_size[2] LIANA_DEFAULT_(2);
    int64_t strides[2] LIANA_DEFAULT_();
    liana_padding padding LIANA_DEFAULT_();
} liana_pooling2d_options;
#define LIANA_POOLING2D_DEFAULTS .trainable = true, .training = true, .pool_size = 2
#define liana_max_pooling2d(...) \
    LIANA_ADD_("MaxPooling2D", liana_pooling2d_options, LIANA_POOLING2D_DEFAULTS, __VA_ARGS__, )
#define liana_average_pooling2d(...) \
    LIANA_ADD_("AveragePooling2D", liana_pooling2d_options, LIANA_POOLING2D_DEFAULTS, __VA_ARGS__, )

/* The mean or the maximum of each channel: [batch, channels], or [batch, 1, 1, channels] with .keepdims. */
typedef struct liana_global_pooling2d_options {
    LIANA_LAYER_OPTIONS;
    bool keepdims LIANA_DEFAULT_();
} liana_global_pooling2d_options;
#define LIANA_GLOBAL_POOLING2D_DEFAULTS .trainable = true, .training = true
#define liana_global_average_pooling2d(...) \
    LIANA_ADD_("GlobalAveragePooling2D", liana_global_pooling2d_options, LIANA_GLOBAL_POOLING2D_DEFAULTS, __VA_ARGS__, )
#define liana_global_max_pooling2d(...) \
    LIANA_ADD_("GlobalMaxPooling2D", liana_global_pooling2d_options, LIANA_GLOBAL_POOLING2D_DEFAULTS, __VA_ARGS__, )

/* Over the steps of sequences [batch, steps, channels]: [batch, channels], or [batch, 1, channels] with .keepdims. The
 * mean leaves out the steps that a mask leaves out (0 if it leaves out all); the maximum, as in Keras, is over all
 * steps. */
typedef struct liana_global_pooling1d_options {
    LIANA_LAYER_OPTIONS;
    bool keepdims LIANA_DEFAULT_();
} liana_global_pooling1d_options;
#define LIANA_GLOBAL_POOLING1D_DEFAULTS .trainable = true, .training = true
#define liana_global_average_pooling1d(...) \
    LIANA_ADD_("GlobalAveragePooling1D", liana_global_pooling1d_options, LIANA_GLOBAL_POOLING1D_DEFAULTS, __VA_ARGS__, )
#define liana_global_max_pooling1d(...) \
    LIANA_ADD_("GlobalMaxPooling1D", liana_global_pooling1d_options, LIANA_GLOBAL_POOLING1D_DEFAULTS, __VA_ARGS__, )

/* Adds zeros around the image: LIANA_INTS(all), LIANA_INTS(top and bottom, left and right) or
 * LIANA_INTS(top, bottom, left, right). */
typedef struct liana_zero_padding2d_options {
    LIANA_LAYER_OPTIONS;
    liana_ints padding LIANA_DEFAULT_(1, {1});
} liana_zero_padding2d_options;
#define LIANA_ZERO_PADDING2D_DEFAULTS .trainable = true, .training = true, .padding = {1, {1}}
#define liana_zero_padding2d(...) \
    LIANA_ADD_("ZeroPadding2D", liana_zero_padding2d_options, LIANA_ZERO_PADDING2D_DEFAULTS, __VA_ARGS__, )

/* ---- shapes ---- */

/* [batch, all other dimensions' product]. */
typedef struct liana_flatten_options {
    LIANA_LAYER_OPTIONS;
} liana_flatten_options;
#define LIANA_FLATTEN_DEFAULTS .trainable = true, .training = true
#define liana_flatten(...) LIANA_ADD_("Flatten", liana_flatten_options, LIANA_FLATTEN_DEFAULTS, __VA_ARGS__, )

/* [batch, target_shape]; one of its numbers may be -1. */
typedef struct liana_reshape_options {
    LIANA_LAYER_OPTIONS;
    liana_ints target_shape LIANA_DEFAULT_();
} liana_reshape_options;
#define LIANA_RESHAPE_DEFAULTS .trainable = true, .training = true
#define liana_reshape(...) LIANA_ADD_("Reshape", liana_reshape_options, LIANA_RESHAPE_DEFAULTS, __VA_ARGS__, )

/* x * scale + offset. */
typedef struct liana_rescaling_options {
    LIANA_LAYER_OPTIONS;
    double scale LIANA_DEFAULT_();
    double offset LIANA_DEFAULT_();
    /* A further factor and summand for each channel, which only files and architectures give: programs leave them
     * NULL. */
    const struct liana__value *scales LIANA_DEFAULT_();
    const struct liana__value *offsets LIANA_DEFAULT_();
} liana_rescaling_options;
#define LIANA_RESCALING_DEFAULTS .trainable = true, .training = true
#define liana_rescaling(...) LIANA_ADD_("Rescaling", liana_rescaling_options, LIANA_RESCALING_DEFAULTS, __VA_ARGS__, )

/* (x - mean) / sqrt(variance) for each channel (the last axis). Mean and variance are weights that training does not
 * change; so is `count`, which nothing uses. liana_layer_adapt (train.h) computes them, or a weight file has them; else
 * mean is 0 and variance 1. */
typedef struct liana_normalization_options {
    LIANA_LAYER_OPTIONS;
} liana_normalization_options;
#define LIANA_NORMALIZATION_DEFAULTS .trainable = true, .training = true
#define liana_normalization(...) \
    LIANA_ADD_("Normalization", liana_normalization_options, LIANA_NORMALIZATION_DEFAULTS, __VA_ARGS__, )

typedef enum liana_encoding {
    LIANA_MULTI_HOT, /* one row: 1 for each id that is there */
    LIANA_ONE_HOT,   /* a row for each id */
    LIANA_COUNT,     /* one row: how often each id is there */
} liana_encoding;

/* Ids [batch, ids] as floats [batch, num_tokens]; LIANA_ONE_HOT: [batch, ids, num_tokens], where a last axis of 1 is
 * left out. Ids are 0 to num_tokens - 1; others give zeros. */
typedef struct liana_category_encoding_options {
    LIANA_LAYER_OPTIONS;
    int64_t num_tokens LIANA_DEFAULT_();
    liana_encoding output_mode LIANA_DEFAULT_();
} liana_category_encoding_options;
#define LIANA_CATEGORY_ENCODING_DEFAULTS .trainable = true, .training = true
#define liana_category_encoding(...) \
    LIANA_ADD_("CategoryEncoding", liana_category_encoding_options, LIANA_CATEGORY_ENCODING_DEFAULTS, __VA_ARGS__, )

/* ---- layers that join several layers ---- */

/* The sum or the product, element by element; shapes are broadcast as in numpy. */
typedef struct liana_merge_options {
    LIANA_MERGE_OPTIONS;
} liana_merge_options;
#define LIANA_MERGE_DEFAULTS .trainable = true, .training = true
#define liana_add(...) LIANA_ADD_("Add", liana_merge_options, LIANA_MERGE_DEFAULTS, __VA_ARGS__, )
#define liana_multiply(...) LIANA_ADD_("Multiply", liana_merge_options, LIANA_MERGE_DEFAULTS, __VA_ARGS__, )

/* The inputs one after the other along `axis`. */
typedef struct liana_concatenate_options {
    LIANA_MERGE_OPTIONS;
    int64_t axis LIANA_DEFAULT_(-1);
} liana_concatenate_options;
#define LIANA_CONCATENATE_DEFAULTS .trainable = true, .training = true, .axis = -1
#define liana_concatenate(...) \
    LIANA_ADD_("Concatenate", liana_concatenate_options, LIANA_CONCATENATE_DEFAULTS, __VA_ARGS__, )

/* ---- layers and models that are used several times ---- */

/* Calls a layer of a model once more, on other layers: the weights are the same, dropout draws other numbers.
 *
 *     liana_layer left = liana_dense(m, .units = 8, .input = a), right = liana_layer_reuse(left, b);
 *
 * `layer` is any call of it. The other inputs must fit its weights. Errors are the model's. */
LIANA_API liana_layer liana_layer_reuse_at(liana_location here, liana_layer layer, const liana_layer *inputs,
                                           size_t num_inputs);

/* Uses a model as a layer. The outer model gets a copy of the layers, named "name/layer", with the values that the
 * weights have now; later changes of either model do not change the other. The same model under the same name shares
 * the weights of its earlier uses, as a layer does that is called again. .name: default the nested model's. .inputs:
 * one for each of its inputs; default the layer before. .trainable = false freezes all its layers;
 * .training = false is for all of them. */
typedef struct liana_nested_options {
    LIANA_MERGE_OPTIONS;
    const liana_model *nested LIANA_DEFAULT_();
} liana_nested_options;
#define LIANA_NESTED_DEFAULTS .trainable = true, .training = true
/* Returns the nested model's first output. The builder liana_nested(m, .nested = encoder) expands to this. Errors, with
 * the outer model: a model within itself, one of another context or with an error, inputs of other shapes or dtypes. */
LIANA_API liana_layer liana_model_nest_at(liana_location here, liana_model *model, const liana_nested_options *options);
/* Another output of a nested model; `nested` is the result of liana_nested. An invalid layer if there is none. */
LIANA_API liana_layer liana_nested_output(liana_layer nested, size_t index);
/* A result of a layer with several, such as an attention with .return_attention_scores; 0 is the layer itself. */
LIANA_API liana_layer liana_layer_output(liana_layer layer, size_t index);

#if defined(__cplusplus)
#define LIANA_NEST_(options, defaults, model, ...) \
    liana_model_nest_at(LIANA_HERE, model, liana_address_(options{__VA_ARGS__}))
#define liana_layer_reuse(layer, ...) liana_reuse_(LIANA_HERE, layer, __VA_ARGS__)
#define liana_model_outputs(model, ...) liana_outputs_(LIANA_HERE, model, __VA_ARGS__)
#else
#define LIANA_NEST_(options, defaults, model, ...)                                 \
    __extension__({                                                                \
        LIANA_OPTIONS_BEGIN_                                                       \
        liana_model_nest_at(LIANA_HERE, model, &(options){defaults, __VA_ARGS__}); \
        LIANA_OPTIONS_END_                                                         \
    })
#define LIANA_LAYERS_(...) \
    (const liana_layer[]){__VA_ARGS__}, sizeof((const liana_layer[]){__VA_ARGS__}) / sizeof(liana_layer)
#define liana_layer_reuse(layer, ...) liana_layer_reuse_at(LIANA_HERE, layer, LIANA_LAYERS_(__VA_ARGS__))
#define liana_model_outputs(model, ...) liana_model_outputs_at(LIANA_HERE, model, LIANA_LAYERS_(__VA_ARGS__), NULL)
#endif
#define liana_nested(...) LIANA_NEST_(liana_nested_options, LIANA_NESTED_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}

template <typename... Layers> liana_layer liana_reuse_(liana_location here, liana_layer layer, Layers... inputs)
{
    const liana_layer list[] = {inputs...};
    return liana_layer_reuse_at(here, layer, list, sizeof...(inputs));
}

template <typename... Layers> void liana_outputs_(liana_location here, liana_model *model, Layers... layers)
{
    const liana_layer list[] = {layers...};
    liana_model_outputs_at(here, model, list, sizeof...(layers), nullptr);
}

template <typename... Values> constexpr liana_ints LIANA_INTS(Values... values)
{
    return liana_ints{static_cast<int64_t>(sizeof...(values)), {static_cast<int64_t>(values)...}};
}

/* The address of options that live until the end of the builder's call. */
template <typename Options> const Options *liana_address_(const Options &options)
{
    return &options;
}
#endif
#endif
