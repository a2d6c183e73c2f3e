/* Translates layers' options between Keras and liana. */
#include "layers/keras/keras_config.h"

#include "layers/keras/keras_activation.h"
#include "layers/keras/keras_classes.h"
#include "layers/keras/keras_file.h"
#include "layers/keras/keras_form.h"

#include <stdio.h>
#include <string.h>

/* Names of options in Keras 1; those of LeakyReLU's slope and of ThresholdedReLU's threshold also in Keras 2. */
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
    {"alpha", "negative_slope"},
    {"theta", "threshold"},
    {"W_regularizer", "kernel_regularizer"},
    {"b_regularizer", "bias_regularizer"},
    {"W_constraint", "kernel_constraint"},
    {"b_constraint", "bias_constraint"},
};

/* Keys that say nothing about the result, or that are read elsewhere. */
static const char *const neutral[] = {
    "name",
    "trainable",
    "dtype",
    "input_dtype",
    "batch_input_shape",
    "batch_shape",
    "input_shape",
    "input_dim",
    "sparse",
    "ragged",
    "optional",
    "seed",
    "synchronized",
    "fused",
    "renorm",
    "batch_size",
    "axis",
    "data_format",
    "dim_ordering",
    "nb_row",
    "nb_col",
    "noise_shape",
    "renorm_momentum",
    "invert",
    "input_length",
    "renorm_clipping",
    "time_major",
    "use_cudnn",
    "encoding",
    "vocabulary_dtype",
    "vocabulary_size",
    "has_input_vocabulary",
    "oov_method",
    "bounding_box_format",
    NULL,
};

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
    if (is_input && is_text(name, "string")) return LIANA_OK;
    static const char *const whole[] = {"uint8", "int8",   "uint16", "int16", "uint32",
                                        "int32", "uint64", "int64",  "bool"};
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

/* Keras 2 writes these for each kind of convolution, also where the layer does not use them. */
static bool is_unused(const liana_layer_type *type, const char *key)
{
    const bool written = strcmp(key, "groups") == 0 || strcmp(key, "kernel_initializer") == 0;
    return written && liana__fields_find(&type->part.options, "kernel_size") &&
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
    bool has_format = liana__fields_find(&type->part.options, "data_format") != NULL;
    if (strcmp(key, "data_format") == 0 && !has_format && !is_text(value, "channels_last")) {
        return refuse(value, where, key, "channels_last", error);
    }
    if (strcmp(key, "dim_ordering") == 0 && !is_text(value, "tf")) {
        return refuse(value, where, key, "'tf' (channels last)", error);
    }
    if (strcmp(key, "axis") == 0 && !has_axis && !is_last_axis(value, rank)) {
        return refuse(value, where, key, "the last axis", error);
    }
    bool is_one = value->kind == LIANA__VALUE_INT && value->integer == 1;
    if (strcmp(key, "groups") == 0 && is_unused(type, key) && !is_one) return refuse(value, where, key, "1", error);
    if (strcmp(key, "time_major") == 0 && is_true(value)) return refuse(value, where, key, "false", error);
    return LIANA_OK;
}

/* The text that the tables keep for an initialiser, regulariser or constraint. NULL: liana has none of that name. */
static const char *text_from_keras(const liana_context *context, liana__arena *arena, const liana__kind *kind,
                                   const liana__value *value)
{
    const char *text = kind == &liana__initializer_kind ? liana__initializer_from_keras(context, arena, value)
                                                        : liana__call_text_from_keras(arena, value, kind, context);
    const bool of_package = value->kind == LIANA__VALUE_MAP && liana__keras_is_of_package(value);
    return text && of_package && !liana__keras_is_own(kind, text) ? NULL : text;
}

/* By the name of its class, if it has one, and of its package. */
static liana_status refuse_class(const liana__value *value, const char *where, const char *key, const char *expected,
                                 liana__error *error)
{
    const liana__value *name = value->kind == LIANA__VALUE_MAP ? liana__value_get(value, "class_name") : NULL;
    if (!name || name->kind != LIANA__VALUE_STRING) return refuse(value, where, key, expected, error);
    const bool of_package = liana__keras_is_of_package(value), is_code = strcmp(name->string, "__lambda__") == 0;
    if (of_package) name = liana__value_get(value, "registered_name");
    liana__fail_at(error, &name->place, where, "%s: found '%.60s'%s, expected %s, or one of a plugin that is loaded",
                   key, name->string, is_code ? ", Python code, which liana never runs" : "", expected);
    if (error) error->status = LIANA_UNIMPLEMENTED;
    return LIANA_UNIMPLEMENTED;
}

/* *item becomes the text of a part, if the option names one. */
static liana_status read_text(const liana_context *context, liana__arena *arena, const char *where, const char *key,
                              bool keras3, liana__value **item, liana__error *error)
{
    liana__value *value = *item, *made = NULL;
    const liana__keras_kind *kind = liana__keras_kind_of(key);
    const bool activates = kind && kind->kind == &liana__activation_kind;
    const bool names_one = strcmp(key, "activation") == 0 || strcmp(key, "recurrent_activation") == 0;
    if (!kind || (activates && !names_one)) return LIANA_OK;
    if (activates) {
        made = liana__activation_from_keras(context, arena, value, keras3);
    } else {
        const char *name = text_from_keras(context, arena, kind->kind, value);
        made = name ? liana__value_string(arena, name) : NULL;
    }
    if (arena->failed) return liana__fail_memory(error, key);
    if (!made) return refuse_class(value, where, key, kind->said, error);
    made->place = value->place;
    *item = made;
    return LIANA_OK;
}

/* A ThresholdedReLU is a ReLU with another default. */
static void complete_threshold(const char *class_name, liana__arena *arena, liana__value *options)
{
    if (strcmp(class_name, "ThresholdedReLU") != 0 || liana__value_get(options, "threshold")) return;
    liana__value_set(arena, options, "threshold", liana__value_float(arena, 1));
}

/* Keys that say nothing about the result of most layers, but are options of these. */
static bool is_option(const liana_layer_type *type, const char *key)
{
    static const char *const keys[] = {"axis",        "data_format",     "input_dim",       "invert",
                                       "renorm",      "renorm_clipping", "renorm_momentum", "seed",
                                       "synchronized"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(key, keys[i]) == 0) return liana__fields_find(&type->part.options, key) != NULL;
    }
    return false;
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

/* A layer that another one holds: {class_name, config} becomes {CLASS: options}. */
static liana_status read_held(const liana_context *context, const liana__value *layer, const char *where,
                              const char *key, int rank, bool keras3, liana__arena *arena, liana__value **made,
                              liana__error *error)
{
    const liana__value *name = liana__value_get(layer, "class_name"), *config = liana__value_get(layer, "config");
    const char *nearest = NULL;
    char own[160];
    snprintf(own, sizeof own, "%.90s: %.40s", where, key);
    if (!name || name->kind != LIANA__VALUE_STRING || !config || config->kind != LIANA__VALUE_MAP) {
        return refuse(layer, where, key, "a layer with class_name and config", error);
    }
    if (liana__keras_is_model_class(name->string)) {
        return refuse(name, where, key, "a layer; hold the layers of a model each by itself", error);
    }
    const liana_layer_type *type = liana__keras_find_layer(context, name->string, &nearest);
    LIANA_TRY(liana__keras_check_class(context, layer, type, own, nearest, error));
    liana__value *options, *map = liana__value_map(arena);
    LIANA_TRY(liana__keras_read_config(context, name->string, type, config, own, rank, keras3, arena, &options, error));
    static const char *const common[] = {"name", "trainable"};
    for (size_t i = 0; i < 2; i++) {
        const liana__value *item = liana__value_get(config, common[i]);
        if (item) liana__value_set(arena, options, common[i], liana__value_copy(arena, item));
    }
    /* As of a layer of the model itself: Keras 2 has another moving variance than Keras 3. */
    if (!keras3 && type == &liana__layer_batch_normalization) {
        liana__value_set(arena, options, LIANA__POPULATION_VARIANCE, liana__value_bool(arena, false));
    }
    if (map) liana__value_append(arena, map, type->part.name, &layer->place, options);
    if (arena->failed) return liana__fail_memory(error, "a layer's options");
    map->place = layer->place;
    *made = map;
    return LIANA_OK;
}

/* *item becomes what YAML would say, if the option is a layer or a list of layers. */
static liana_status read_layers(const liana_context *context, const liana_layer_type *type, const char *where,
                                const char *key, int rank, bool keras3, liana__arena *arena, liana__value **item,
                                liana__error *error)
{
    const liana_option *row = liana__fields_find(&type->part.options, key);
    liana__value *value = *item;
    const int within = rank > 0 && strcmp(key, "layer") == 0 ? rank - 1 : 0;
    if (row && row->kind == LIANA_OPTION_LAYER) {
        return read_held(context, value, where, key, within, keras3, arena, item, error);
    }
    if (!row || row->kind != LIANA_OPTION_LAYERS || value->kind != LIANA__VALUE_LIST) return LIANA_OK;
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; list && i < value->count; i++) {
        liana__value *made = NULL;
        LIANA_TRY(read_held(context, value->items[i], where, key, 0, keras3, arena, &made, error));
        liana__value_add(arena, list, made);
    }
    if (!list) return liana__fail_memory(error, "a layer's options");
    list->place = value->place;
    *item = list;
    return LIANA_OK;
}

liana_status liana__keras_read_config(const liana_context *context, const char *class_name,
                                      const liana_layer_type *type, const liana__value *config, const char *where,
                                      int rank, bool keras3, liana__arena *arena, liana__value **result,
                                      liana__error *error)
{
    liana__value *options = liana__value_map(arena);
    if (!options) return liana__fail_memory(error, "a layer's options");
    options->place = config->place;
    for (size_t i = 0; i < config->count; i++) {
        liana__value *item = config->items[i];
        const char *key = current_name(type, config->keys[i]);
        if (item->kind == LIANA__VALUE_NULL) continue;
        LIANA_TRY(check_key(type, key, item, where, rank, error));
        if (!keras3 && strcmp(key, "renorm") == 0 && is_true(item)) {
            return refuse(item, where, key, "false: the batch renormalisation of Keras 2 is another one", error);
        }
        if ((is_neutral(key) && !is_option(type, key)) || is_unused(type, key)) continue;
        LIANA_TRY(read_text(context, arena, where, key, keras3, &item, error));
        LIANA_TRY(read_layers(context, type, where, key, rank, keras3, arena, &item, error));
        if (item) liana__value_append(arena, options, key, &config->key_places[i], item);
    }
    join_kernel_size(config, arena, options);
    complete_threshold(class_name, arena, options);
    if (type->from_keras) type->from_keras(arena, config, options);
    *result = options;
    return arena->failed ? liana__fail_memory(error, "a layer's options") : LIANA_OK;
}
