/* layer.h - what all layers have; their options and builders are in layers/ (layers.h gathers them).
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
#ifndef LIANA_LAYER_H
#define LIANA_LAYER_H

#include <liana/model.h>
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
#elif __GNUC__ < 12
/* GCC 11 takes no pragma in an argument of a macro, where a builder may stand. The warnings are off from here on. */
#pragma GCC diagnostic ignored "-Woverride-init"
#pragma GCC diagnostic ignored "-Wmissing-braces"
#define LIANA_OPTIONS_BEGIN_
#define LIANA_OPTIONS_END_
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

/* A layer that another one holds, for an option of that:
 *
 *     liana_bidirectional(m, .layer = LIANA_HELD("LSTM", liana_lstm_options, LIANA_LSTM_DEFAULTS, .units = 8));
 *
 * It may be any layer, also one of the program's own. Its .input is not read. */
#if defined(__cplusplus)
#define LIANA_HELD(held_class, held_type, defaults, ...)                                                  \
    liana_held_layer                                                                                      \
    {                                                                                                     \
        nullptr, held_class, liana_address_(held_type{__VA_ARGS__}), nullptr, nullptr, false, false, 0, 0 \
    }
#else
#define LIANA_HELD(held_class, held_type, defaults, ...) \
    ((liana_held_layer){.layer_class = (held_class), .options = &(held_type){defaults, __VA_ARGS__}})
#endif

/* ---- options of layers with weights ----
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

/* ---- layers and models that are used several times ---- */

/* Calls a layer of a model once more, on other layers: the weights are the same, dropout draws other numbers.
 *
 *     liana_layer left = liana_dense(m, .units = 8, .input = a), right = liana_layer_reuse(left, b);
 *
 * `layer` is any call of it. The other inputs must fit its weights. Errors are the model's. */
LIANA_API liana_layer liana_layer_reuse_at(liana_location here, liana_layer layer, const liana_layer *inputs,
                                           size_t num_inputs);
/* The same with options that belong to the call, which liana_layer_reuse leaves at their defaults. `options` is the
 * struct of the layer's class; of its other options none is read. The macro liana_layer_again takes the struct's type
 * and its members: liana_layer_again(layer, liana_attention_options, .inputs = {a, b}, .use_causal_mask = true). */
LIANA_API liana_layer liana_layer_again_at(liana_location here, liana_layer layer, const void *options);

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
#define liana_layer_again(layer, type, ...) liana_layer_again_at(LIANA_HERE, layer, liana_address_(type{__VA_ARGS__}))
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
#define liana_layer_again(layer, type, ...) liana_layer_again_at(LIANA_HERE, layer, &(type){__VA_ARGS__})
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
