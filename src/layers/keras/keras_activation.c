/* Translates activations between Keras and liana. */
#include "layers/keras/keras_activation.h"

#include "layers/keras/keras_file.h"
#include "layers/rules/call_text.h"

#include <string.h>

/* ---- reading ---- */

/* The name of an activation, also where Keras 3 wraps it: {"class_name": "function", "config": "relu"}. NULL: it is
 * none that has a name alone. */
static const liana__value *name_of(const liana__value *value)
{
    if (value->kind != LIANA__VALUE_MAP) return value;
    const liana__value *name = liana__value_get(value, "config"), *class_name = liana__value_get(value, "class_name");
    if (name && name->kind == LIANA__VALUE_STRING) return name;
    const bool has_options = name && (name->kind != LIANA__VALUE_MAP || name->count);
    return !has_options && class_name && class_name->kind == LIANA__VALUE_STRING ? class_name : NULL;
}

/* The arguments among the options of a layer, under today's names. */
static const liana__value *argument_of(const liana__value *config, const char *name)
{
    const liana__value *value = liana__value_get(config, name);
    return value || strcmp(name, "negative_slope") != 0 ? value : liana__value_get(config, "alpha");
}

/* A layer in an activation's place: {"class_name": "LeakyReLU", "config": {"name": ..., "negative_slope": 0.1}}. */
static const char *text_of_layer(const liana_context *context, liana__arena *arena, const liana__value *value)
{
    const liana__value *class_name = liana__value_get(value, "class_name"), *config = liana__value_get(value, "config");
    const bool is_object = class_name && class_name->kind == LIANA__VALUE_STRING && config;
    const liana_part *part =
        is_object ? liana__part_find(context, &liana__activation_kind, class_name->string, NULL) : NULL;
    if (!part || config->kind != LIANA__VALUE_MAP || !part->options.count) return NULL;
    liana__value *object = liana__value_map(arena), *arguments = liana__value_map(arena);
    if (!object || !arguments) return NULL;
    for (size_t i = 0; i < part->options.count; i++) {
        const char *name = part->options.items[i].name;
        const liana__value *given = argument_of(config, name);
        if (!given || given->kind == LIANA__VALUE_NULL) continue;
        liana__value_set(arena, arguments, name, liana__value_copy(arena, given));
    }
    liana__value_set(arena, object, "class_name", liana__value_string(arena, part->name));
    liana__value_set(arena, object, "config", arguments);
    return liana__call_text_from_keras(arena, object, &liana__activation_kind, context);
}

liana__value *liana__activation_from_keras(const liana_context *context, liana__arena *arena, const liana__value *value,
                                           bool keras3)
{
    const liana__value *name = name_of(value);
    if (!name) {
        const char *text = liana__keras_is_of_package(value) ? NULL : text_of_layer(context, arena, value);
        return text ? liana__value_string(arena, text) : NULL;
    }
    const bool is_text = name->kind == LIANA__VALUE_STRING;
    if (!keras3 && is_text && strcmp(name->string, "hard_sigmoid") == 0) {
        return liana__value_string(arena, LIANA__HARD_SIGMOID_KERAS2);
    }
    const bool of_package = value->kind == LIANA__VALUE_MAP && liana__keras_is_of_package(value);
    const bool known = liana__part_find(context, &liana__activation_kind, is_text ? name->string : "", NULL);
    if (of_package && known && !liana__keras_is_own(&liana__activation_kind, name->string)) return NULL;
    return liana__value_copy(arena, name);
}

/* ---- writing ---- */

/* The functions that the older forms know by name. */
static bool is_known(const char *name, liana__keras_form form)
{
    static const char *const old[] = {"linear",   "relu",  "relu6",       "sigmoid",     "hard_sigmoid", "tanh",
                                      "softmax",  "swish", "silu",        "elu",         "selu",         "softplus",
                                      "softsign", "mish",  "log_softmax", "exponential", "gelu",         "leaky_relu"};
    enum { ALL = sizeof old / sizeof *old, OF_TFJS = ALL - 3 };
    if (form == LIANA__KERAS3) return true;
    const size_t count = form == LIANA__TFJS ? OF_TFJS : ALL;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, old[i]) == 0) return true;
    }
    return false;
}

/* The layer that has a function's arguments as options. */
static const char *layer_of(const liana_part *part)
{
    static const char *const classes[] = {"ReLU", "LeakyReLU", "ELU", "Softmax"};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (part->aliases[0] && strcmp(part->aliases[0], classes[i]) == 0) return classes[i];
    }
    return NULL;
}

static liana__value *write_layer(liana__arena *arena, const char *class_name, const liana_part *part,
                                 const void *options, liana__keras_form form)
{
    liana__value *map = liana__value_map(arena), *config = liana__fields_write(&part->options, arena, options);
    if (!map || !config) return NULL;
    if (form == LIANA__KERAS3) liana__value_set(arena, map, "module", liana__value_string(arena, "keras.layers"));
    liana__value_set(arena, map, "class_name", liana__value_string(arena, class_name));
    liana__value_set(arena, map, "config", config);
    if (form == LIANA__KERAS3) liana__value_set(arena, map, "registered_name", liana__value_null(arena));
    if (form == LIANA__KERAS3 || strcmp(class_name, "LeakyReLU") != 0) return map;
    liana__value_set(arena, config, "alpha", liana__value_copy(arena, config->items[0]));
    liana__value_remove(config, "negative_slope");
    return map;
}

liana__value *liana__activation_to_keras(const liana_context *context, liana__arena *arena, const char *text,
                                         liana__keras_form form, const char **why)
{
    liana__activation activation;
    *why = NULL;
    if (liana__activation_read(context, text, arena, &activation, NULL) != LIANA_OK) return NULL;
    const liana_part *part = &activation.type->part;
    if (liana__keras_is_own(&liana__activation_kind, part->name)) return liana__value_string(arena, text);
    const bool is_old = strcmp(part->name, LIANA__HARD_SIGMOID_KERAS2) == 0;
    if (is_old && form == LIANA__KERAS3) *why = "Keras 3's hard_sigmoid is another function";
    if (form != LIANA__KERAS3 && strcmp(part->name, "hard_sigmoid") == 0) {
        *why = "Keras 2's is another function, liana's hard_sigmoid_keras2";
    }
    if (strcmp(part->name, LIANA__SPARSEMAX_PROJECTION) == 0) *why = "Keras's sparsemax is another function";
    if (!*why && !is_old && !is_known(part->name, form)) {
        *why = form == LIANA__TFJS ? "TensorFlow.js does not have it" : "Keras 2 does not have it";
    }
    if (*why) return NULL;
    if (is_old) return liana__value_string(arena, "hard_sigmoid");
    if (liana__activation_is_plain(&activation)) return liana__value_string(arena, part->name);
    const char *class_name = form == LIANA__TFJS ? NULL : layer_of(part);
    if (class_name) return write_layer(arena, class_name, part, activation.options, form);
    *why = "it has no word for the arguments of this function";
    return NULL;
}
