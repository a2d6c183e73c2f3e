/* Tells the classes of layers in an architecture file that liana does not have. */
#include "layers/keras/keras_classes.h"

#include "base/scoped.h"
#include "base/value_read.h"
#include "layers/keras/keras_file.h"
#include "layers/keras/keras_form.h"
#include "layers/operation/operation.h"

#include <string.h>

static const char *const class_aliases[][2] = {
    {"Convolution1D", "Conv1D"},
    {"Convolution1DTranspose", "Conv1DTranspose"},
    {"Convolution2D", "Conv2D"},
    {"Convolution2DTranspose", "Conv2DTranspose"},
    {"Convolution3D", "Conv3D"},
    {"Convolution3DTranspose", "Conv3DTranspose"},
    {"DepthwiseConvolution1D", "DepthwiseConv1D"},
    {"SeparableConvolution1D", "SeparableConv1D"},
    {"DepthwiseConvolution2D", "DepthwiseConv2D"},
    {"SeparableConvolution2D", "SeparableConv2D"},
    {"MaxPool1D", "MaxPooling1D"},
    {"AvgPool1D", "AveragePooling1D"},
    {"GlobalMaxPool1D", "GlobalMaxPooling1D"},
    {"GlobalAvgPool1D", "GlobalAveragePooling1D"},
    {"MaxPool2D", "MaxPooling2D"},
    {"AvgPool2D", "AveragePooling2D"},
    {"GlobalMaxPool2D", "GlobalMaxPooling2D"},
    {"GlobalAvgPool2D", "GlobalAveragePooling2D"},
    {"MaxPool3D", "MaxPooling3D"},
    {"AvgPool3D", "AveragePooling3D"},
    {"GlobalMaxPool3D", "GlobalMaxPooling3D"},
    {"GlobalAvgPool3D", "GlobalAveragePooling3D"},
    {"ThresholdedReLU", "ReLU"},
    {"BatchNormalizationV1", "BatchNormalization"},
    {"BatchNormalizationV2", "BatchNormalization"},
    {"Custom>CustomScaleLayer", "CustomScaleLayer"}, /* tf_keras registers its own class so */
};

/* Classes of packages that compute what a class of Keras does. A program may register a layer of such a name. */
static const char *const package_classes[][2] = {
    {"FixedDropout", "Dropout"}, /* the package efficientnet: Dropout, whose noise_shape may have null */
};

const liana_layer_type *liana__keras_find_layer(const liana_context *context, const char *class_name,
                                                const char **nearest)
{
    for (size_t i = 0; i < sizeof class_aliases / sizeof *class_aliases; i++) {
        if (strcmp(class_name, class_aliases[i][0]) == 0) class_name = class_aliases[i][1];
    }
    const liana_layer_type *type = liana__part_find(context, &liana__layer_kind, class_name, nearest);
    for (size_t i = 0; !type && i < sizeof package_classes / sizeof *package_classes; i++) {
        if (strcmp(class_name, package_classes[i][0]) != 0) continue;
        type = liana__part_find(context, &liana__layer_kind, package_classes[i][1], nearest);
    }
    return type;
}

const char *liana__keras_layer_module(const liana_layer_type *type)
{
    static const struct {
        const liana_layer_type *type;
        const char *module;
    } others[] = {
        {&liana__layer_layer_scale, "keras.src.applications.convnext"},
        {&liana__layer_stochastic_depth, "keras.src.applications.convnext"},
        {&liana__layer_custom_scale_layer, "keras.src.applications.inception_resnet_v2"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i].type == type) return others[i].module;
    }
    return "keras.layers";
}

bool liana__keras_is_model_class(const char *name)
{
    static const char *const names[] = {"Sequential", "Functional", "Model"};
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) return true;
    }
    return false;
}

bool liana__keras_is_operation(const liana__value *layer)
{
    const char *module = liana__value_text_of(layer, "module", NULL);
    const char *class_name = liana__value_text_of(layer, "class_name", "");
    const liana__value *config = liana__value_get(layer, "config");
    if (strcmp(class_name, "TFOpLambda") == 0 || strcmp(class_name, "SlicingOpLambda") == 0) return true;
    if (module) return strstr(module, ".ops") != NULL;
    /* Every layer of such a name has the key, and no operation. */
    return liana__operation_is_class(class_name) && !liana__value_get(config, "trainable");
}

/* ---- messages ---- */

static const char *name_of(const liana__value *layer)
{
    return liana__value_text_of(liana__value_get(layer, "config"), "name", liana__value_text_of(layer, "name", "?"));
}

/* Classes that hold Python code, or an operation that is not a layer. */
static bool is_code(const char *class_name)
{
    static const char *const names[] = {"Lambda",         "TFOpLambda",       "SlicingOpLambda",  "ClassMethod",
                                        "InstanceMethod", "InstanceProperty", "TensorFlowOpLayer"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(class_name, names[i]) == 0) return true;
    }
    return false;
}

/* They are too many for a message. */
static const char known[] = "; 'liana list layers' shows those that liana has";

static liana_status fail_text(const liana__value *value, const char *where, liana__text *text, liana__error *error)
{
    if (text->failed) return liana__fail_memory(error, "the classes of a model");
    liana__fail_at(error, value ? &value->place : NULL, where, "%s", text->data);
    if (error) error->status = LIANA_UNIMPLEMENTED;
    return LIANA_UNIMPLEMENTED;
}

/* ---- all at once ---- */

enum { MOST_TOLD = 12, MOST_DEPTH = 512 };

typedef struct unknown {
    const liana_context *context;
    const liana__value *first;
    size_t count;
    liana__text text;
} unknown;

static void add_unknown(unknown *found, const liana__value *layer, const char *class_name)
{
    const char *nearest = NULL;
    if (liana__keras_find_layer(found->context, class_name, &nearest)) return;
    if (!found->first) found->first = layer;
    if (found->count++ >= MOST_TOLD) return;
    liana__text_add(&found->text, "%s'%.60s' of the class '%.60s'", found->count > 1 ? ", " : "", name_of(layer),
                    class_name);
    if (is_code(class_name)) liana__text_add(&found->text, " (code, which liana never runs)");
    if (nearest) liana__text_add(&found->text, " (the nearest is '%s')", nearest);
}

/* The layers of a model and of those in it. */
static void collect(const liana__value *model, unknown *found, int depth)
{
    const liana__value *config = liana__value_get(model, "config"), *layers = liana__value_get(config, "layers");
    if (config && config->kind == LIANA__VALUE_LIST) layers = config;
    if (!layers || layers->kind != LIANA__VALUE_LIST || depth > MOST_DEPTH) return;
    for (size_t i = 0; i < layers->count; i++) {
        const liana__value *layer = layers->items[i];
        if (layer->kind != LIANA__VALUE_MAP) continue;
        const char *class_name = liana__value_text_of(layer, "class_name", NULL);
        if (liana__keras_is_model_class(class_name)) {
            collect(layer, found, depth + 1);
        } else if (class_name && !liana__keras_is_operation(layer)) {
            add_unknown(found, layer, class_name);
        }
    }
}

liana_status liana__keras_check_classes(const liana_context *context, const liana__value *root, liana__error *error)
{
    unknown found = {.context = context};
    LIANA__SCOPED(liana__text) text = {0};
    collect(root, &found, 0);
    if (found.count > MOST_TOLD) liana__text_add(&found.text, " and %zu more", found.count - MOST_TOLD);
    if (found.count > 1 && !found.text.failed) {
        liana__text_add(&text, "liana does not have %zu of the layers: %s", found.count, found.text.data);
        liana__text_add(&text, "%s", known);
        liana__text_add(&text, "; register layers of your own first, or load their plugin");
    }
    text.failed = text.failed || found.text.failed;
    const liana_status status = found.count > 1 ? fail_text(found.first, NULL, &text, error) : LIANA_OK;
    liana__text_free(&found.text);
    return status;
}

/* ---- one layer ---- */

static void add_advice(const liana__value *layer, const char *class_name, const char *nearest, liana__text *text)
{
    if (strcmp(class_name, "Lambda") == 0) {
        liana__text_add(text, "a Lambda is Python code in the file, which liana never runs; in Keras, put layers in "
                              "its place, such as Rescaling, or a layer of a class of your own that liana has too");
        return;
    }
    liana__text_add(text, "liana has no layer class '%.60s'", class_name);
    if (is_code(class_name)) {
        liana__text_add(text,
                        ": it is the operation '%.60s' of TensorFlow; in Keras, put layers in its place, such as "
                        "Rescaling, Add or Multiply",
                        liana__value_text_of(liana__value_get(layer, "config"), "function", name_of(layer)));
        return;
    }
    if (nearest) liana__text_add(text, "; the nearest is '%s'", nearest);
    liana__text_add(text, "; if it is one of your own, register it first, or load its plugin");
    liana__text_add(text, "%s", known);
}

/* tf_keras registers classes of its applications as a package's: "Custom>CustomScaleLayer". */
static bool is_of_applications(const liana__value *layer, const liana_layer_type *type)
{
    const char *module = liana__keras_layer_module(type) + strlen("keras");
    return strncmp(module, ".src.", 5) == 0 && liana__ends_with(liana__value_text_of(layer, "module", ""), module);
}

liana_status liana__keras_check_class(const liana__value *layer, const liana_layer_type *type, const char *where,
                                      const char *nearest, liana__error *error)
{
    const liana__value *class_value = liana__value_get(layer, "class_name");
    LIANA__SCOPED(liana__text) text = {0};
    if (!type) {
        add_advice(layer, class_value->string, nearest, &text);
        return fail_text(class_value, where, &text, error);
    }
    if (!liana__keras_is_of_package(layer) || liana__keras_is_own(&liana__layer_kind, type->part.name)) return LIANA_OK;
    if (is_of_applications(layer, type)) return LIANA_OK;
    liana__text_add(&text,
                    "its class '%.60s' is not that of Keras, but '%.60s'; give the class a name of its own, and "
                    "register a layer of that name",
                    class_value->string, liana__value_text_of(layer, "registered_name", ""));
    return fail_text(class_value, where, &text, error);
}
