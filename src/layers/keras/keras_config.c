/* Translates layers' options between Keras and liana. */
#include "layers/keras/keras_config.h"

#include "layers/activations.h"
#include "layers/initializers.h"
#include "layers/rules/constraints.h"
#include "layers/rules/regularizers.h"

#include <stdio.h>
#include <string.h>

static const char *const class_aliases[][2] = {
    {"Convolution2D", "Conv2D"},
    {"DepthwiseConvolution2D", "DepthwiseConv2D"},
    {"SeparableConvolution2D", "SeparableConv2D"},
    {"MaxPool2D", "MaxPooling2D"},
    {"AvgPool2D", "AveragePooling2D"},
    {"BatchNormalizationV1", "BatchNormalization"},
    {"BatchNormalizationV2", "BatchNormalization"},
};

/* Keras 1's names of options. */
static const char *const option_aliases[][2] = {
    {"nb_filter", "filters"},
    {"border_mode", "padding"},
    {"subsample", "strides"},
    {"atrous_rate", "dilation_rate"},
    {"output_dim", "units"},
    {"bias", "use_bias"},
    {"init", "kernel_initializer"},
    {"depthwise_init", "depthwise_initializer"},
    {"pointwise_init", "pointwise_initializer"},
    {"beta_init", "beta_initializer"},
    {"gamma_init", "gamma_initializer"},
    {"p", "rate"},
};

/* Keys that say nothing about the result, or that are read elsewhere. */
static const char *const neutral[] = {
    "name",        "trainable",   "dtype",           "input_dtype",  "batch_input_shape",
    "batch_shape", "input_shape", "input_dim",       "sparse",       "ragged",
    "optional",    "seed",        "synchronized",    "fused",        "renorm",
    "batch_size",  "axis",        "data_format",     "dim_ordering", "nb_row",
    "nb_col",      "noise_shape", "renorm_momentum", "invert",       "input_length",
    NULL,
};

const liana_layer_type *liana__keras_find_layer(const liana_context *context, const char *class_name,
                                                const char **nearest)
{
    for (size_t i = 0; i < sizeof class_aliases / sizeof *class_aliases; i++) {
        if (strcmp(class_name, class_aliases[i][0]) == 0) class_name = class_aliases[i][1];
    }
    return liana__part_find(context, &liana__layer_kind, class_name, nearest);
}

static bool is_neutral(const char *key)
{
    for (size_t i = 0; neutral[i]; i++) {
        if (strcmp(neutral[i], key) == 0) return true;
    }
    return false;
}

/* A name that the layer has today is not an old one: the output_dim of an Embedding is not a Dense's of Keras 1. */
static const char *current_name(const liana_layer_type *type, const char *key)
{
    if (liana__fields_find(&type->part.options, key)) return key;
    for (size_t i = 0; i < sizeof option_aliases / sizeof *option_aliases; i++) {
        if (strcmp(key, option_aliases[i][0]) == 0) return option_aliases[i][1];
    }
    return key;
}

static liana_status refuse(const liana__value *value, const char *where, const char *key, const char *expected,
                           liana__error *error)
{
    char found[128];
    liana__fail_at(error, &value->place, where, "%s: found %s, expected %s", key,
                   liana__value_describe(value, found, sizeof found), expected);
    if (error) error->status = LIANA_UNIMPLEMENTED;
    return LIANA_UNIMPLEMENTED;
}

static bool is_text(const liana__value *value, const char *text)
{
    return value->kind == LIANA__VALUE_STRING && strcmp(value->string, text) == 0;
}

static bool is_true(const liana__value *value)
{
    return value->kind == LIANA__VALUE_BOOL && value->boolean;
}

/* "float32", or the object that Keras 2 and 3 write for a policy: {"class_name": "DTypePolicy", "config": {"name":
 * "float32"}}. */
static const liana__value *dtype_name(const liana__value *dtype)
{
    if (dtype->kind != LIANA__VALUE_MAP) return dtype;
    const liana__value *name = liana__value_get(liana__value_get(dtype, "config"), "name");
    return name ? name : dtype;
}

liana_status liana__keras_read_dtype(const liana__value *dtype, bool is_input, const char *where,
                                     liana_precision *precision, liana__error *error)
{
    *precision = LIANA_FLOAT32;
    if (!dtype || dtype->kind == LIANA__VALUE_NULL) return LIANA_OK;
    const liana__value *name = dtype_name(dtype);
    if (is_text(name, "float32")) return LIANA_OK;
    if (is_text(name, "mixed_bfloat16")) {
        *precision = LIANA_MIXED_BFLOAT16;
        return LIANA_OK;
    }
    static const char *const whole[] = {"uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"};
    for (size_t i = 0; is_input && i < sizeof whole / sizeof *whole; i++) {
        if (is_text(name, whole[i])) return LIANA_OK;
    }
    return refuse(
        name, where, "dtype",
        "float32 or mixed_bfloat16, the only ones that liana has; write one of them, the weights stay the same", error);
}

/* -1 or the last axis, as a number or as a list of one. */
static bool is_last_axis(const liana__value *value, int rank)
{
    if (value->kind == LIANA__VALUE_LIST && value->count == 1) value = value->items[0];
    return value->kind == LIANA__VALUE_INT && (value->integer == -1 || value->integer == rank - 1);
}

/* Keras 2 writes "groups" for each kind of convolution, also where the layer does not use it. */
static bool has_unused_groups(const liana_layer_type *type, const char *key)
{
    return strcmp(key, "groups") == 0 && liana__fields_find(&type->part.options, "kernel_size") &&
           !liana__fields_find(&type->part.options, key);
}

/* Options that liana has no counterpart of: they must not change the result. */
static liana_status check_key(const liana_layer_type *type, const char *key, const liana__value *value,
                              const char *where, int rank, liana__error *error)
{
    bool has_axis = liana__fields_find(&type->part.options, "axis") != NULL;
    bool is_rule = liana__ends_with(key, "_regularizer") || liana__ends_with(key, "_constraint");
    if (is_rule && !liana__fields_find(&type->part.options, key)) {
        return refuse(value, where, key, "null: liana's layer has no such option", error);
    }
    if (strcmp(key, "data_format") == 0 && !is_text(value, "channels_last")) {
        return refuse(value, where, key, "channels_last", error);
    }
    if (strcmp(key, "dim_ordering") == 0 && !is_text(value, "tf")) {
        return refuse(value, where, key, "'tf' (channels last)", error);
    }
    if (strcmp(key, "axis") == 0 && !has_axis && !is_last_axis(value, rank)) {
        return refuse(value, where, key, "the last axis", error);
    }
    bool is_one = value->kind == LIANA__VALUE_INT && value->integer == 1;
    if (has_unused_groups(type, key) && !is_one) return refuse(value, where, key, "1", error);
    bool switches = strcmp(key, "renorm") == 0 || strcmp(key, "invert") == 0;
    if (switches && is_true(value)) return refuse(value, where, key, "false", error);
    return LIANA_OK;
}

/* The name of an activation, also where Keras 3 wraps it: {"class_name": "function", "config": "relu"}. */
static liana__value *read_activation(liana__arena *arena, const liana__value *value, bool keras3)
{
    if (value->kind == LIANA__VALUE_MAP) {
        const liana__value *name = liana__value_get(value, "config");
        if (!name || name->kind != LIANA__VALUE_STRING) name = liana__value_get(value, "class_name");
        if (name && name->kind == LIANA__VALUE_STRING) value = name;
    }
    bool is_old = !keras3 && is_text(value, "hard_sigmoid");
    liana__value *copy =
        is_old ? liana__value_string(arena, LIANA__HARD_SIGMOID_KERAS2) : liana__value_copy(arena, value);
    if (copy) copy->place = value->place;
    return copy;
}

/* The text that the tables keep for an initialiser, regulariser or constraint. *expected: the kind of the option, or
 * NULL: none of these. */
static const char *text_from_keras(const liana_context *context, liana__arena *arena, const char *key,
                                   const liana__value *value, const char **expected)
{
    if (liana__ends_with(key, "_initializer")) {
        *expected = "an initialiser of liana";
        return liana__initializer_from_keras(context, arena, value);
    }
    if (liana__ends_with(key, "_regularizer")) {
        *expected = "a regulariser of liana";
        return liana__call_text_from_keras(arena, value, &liana__regularizer_kind, context);
    }
    bool constrains = liana__ends_with(key, "_constraint");
    *expected = constrains ? "a constraint of liana" : NULL;
    return constrains ? liana__call_text_from_keras(arena, value, &liana__constraint_kind, context) : NULL;
}

/* By the name of its class, if it has one. */
static liana_status refuse_class(const liana__value *value, const char *where, const char *key, const char *expected,
                                 liana__error *error)
{
    const liana__value *name = value->kind == LIANA__VALUE_MAP ? liana__value_get(value, "class_name") : NULL;
    if (!name || name->kind != LIANA__VALUE_STRING) return refuse(value, where, key, expected, error);
    liana__fail_at(error, &name->place, where, "%s: found '%.60s', expected %s, or one of a plugin that is loaded", key,
                   name->string, expected);
    if (error) error->status = LIANA_UNIMPLEMENTED;
    return LIANA_UNIMPLEMENTED;
}

/* *item becomes the text, if the option is one that the tables keep as text. */
static liana_status read_text(const liana_context *context, liana__arena *arena, const char *where, const char *key,
                              liana__value **item, liana__error *error)
{
    const liana__value *value = *item;
    const char *expected, *name = text_from_keras(context, arena, key, value, &expected);
    if (!expected) return LIANA_OK;
    if (!name) return refuse_class(value, where, key, expected, error);
    *item = liana__value_string(arena, name);
    if (*item) (*item)->place = value->place;
    return LIANA_OK;
}

/* Keras 1's nb_row and nb_col. */
static void join_kernel_size(const liana__value *config, liana__arena *arena, liana__value *options)
{
    const liana__value *rows = liana__value_get(config, "nb_row"), *columns = liana__value_get(config, "nb_col");
    liana__value *pair = rows && columns ? liana__value_list(arena) : NULL;
    if (!pair) return;
    pair->place = rows->place;
    liana__value_add(arena, pair, liana__value_copy(arena, rows));
    liana__value_add(arena, pair, liana__value_copy(arena, columns));
    liana__value_set(arena, options, "kernel_size", pair);
}

liana_status liana__keras_read_config(const liana_context *context, const liana_layer_type *type,
                                      const liana__value *config, const char *where, int rank, bool keras3,
                                      liana__arena *arena, liana__value **result, liana__error *error)
{
    liana__value *options = liana__value_map(arena);
    if (!options) return liana__fail_memory(error, "a layer's options");
    options->place = config->place;
    for (size_t i = 0; i < config->count; i++) {
        liana__value *item = config->items[i];
        const char *key = current_name(type, config->keys[i]);
        if (item->kind == LIANA__VALUE_NULL) continue;
        LIANA_TRY(check_key(type, key, item, where, rank, error));
        bool is_option = strcmp(key, "axis") == 0 || strcmp(key, "input_dim") == 0;
        is_option = is_option && liana__fields_find(&type->part.options, key);
        if ((is_neutral(key) && !is_option) || has_unused_groups(type, key)) continue;
        LIANA_TRY(read_text(context, arena, where, key, &item, error));
        if (strcmp(key, "activation") == 0) item = read_activation(arena, item, keras3);
        if (item) liana__value_append(arena, options, key, &config->key_places[i], item);
    }
    join_kernel_size(config, arena, options);
    if (type->from_keras) type->from_keras(arena, config, options);
    *result = options;
    return arena->failed ? liana__fail_memory(error, "a layer's options") : LIANA_OK;
}
