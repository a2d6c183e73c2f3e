/* TensorFlow.js's limits, and its words for the layers of Keras 2. */
#include "layers/keras/tfjs_form.h"

#include "base/scoped.h"
#include "base/value_read.h"
#include "layers/keras/keras_older.h"

#include <liana/layers.h>
#include <string.h>

/* ---- limits ---- */

/* Options that its layers pass over, or refuse: only these values are plain. */
static const struct {
    const liana_layer_type *type;
    const char *option;
    double plain;
} limits[] = {
    {&liana__layer_conv1d, "groups", 1},
    {&liana__layer_conv2d, "groups", 1},
    {&liana__layer_conv3d, "groups", 1},
    {&liana__layer_depthwise_conv2d, "dilation_rate", 1},
    {&liana__layer_conv2d_transpose, "dilation_rate", 1},
    {&liana__layer_conv2d_transpose, "output_padding", 0},
    {&liana__layer_conv3d_transpose, "dilation_rate", 1},
    {&liana__layer_conv3d_transpose, "output_padding", 0},
    {&liana__layer_global_average_pooling2d, "keepdims", 0},
    {&liana__layer_global_max_pooling2d, "keepdims", 0},
    {&liana__layer_global_average_pooling1d, "keepdims", 0},
    {&liana__layer_global_max_pooling1d, "keepdims", 0},
    {&liana__layer_relu, "threshold", 0},
    {&liana__layer_batch_normalization, "renorm", 0},
    {&liana__layer_flatten, "data_format", 0},
};

/* Layers that it does not have, and one whose mask it would need. */
static const liana_layer_type *const missing[] = {
    &liana__layer_identity,
    &liana__layer_masking,
    &liana__layer_subtract,
    &liana__layer_spatial_dropout2d,
    &liana__layer_spatial_dropout3d,
    &liana__layer_attention,
    &liana__layer_additive_attention,
    &liana__layer_einsum_dense,
    &liana__layer_reversible_embedding,
    &liana__layer_rms_normalization,
    &liana__layer_group_normalization,
    &liana__layer_unit_normalization,
    &liana__layer_spectral_normalization,
    &liana__layer_layer_scale,
    &liana__layer_stochastic_depth,
    &liana__layer_custom_scale_layer,
};

/* Classes of Keras 2 that it does not have, or computes otherwise. It has none of Keras 3 alone. */
static const liana_layer_type *const absent[] = {
    &liana__layer_category_encoding,
    &liana__layer_conv1d_transpose,
    &liana__layer_depthwise_conv1d,
    &liana__layer_separable_conv1d,
    &liana__layer_adaptive_max_pooling1d,
    &liana__layer_adaptive_max_pooling2d,
    &liana__layer_adaptive_max_pooling3d,
    &liana__layer_adaptive_average_pooling1d,
    &liana__layer_adaptive_average_pooling2d,
    &liana__layer_adaptive_average_pooling3d,
    &liana__layer_global_average_pooling3d,
    &liana__layer_global_max_pooling3d,
    &liana__layer_zero_padding1d,
    &liana__layer_zero_padding3d,
    &liana__layer_cropping1d,
    &liana__layer_cropping3d,
    &liana__layer_up_sampling1d,
    &liana__layer_up_sampling3d,
    &liana__layer_resizing,
    &liana__layer_center_crop,
    &liana__layer_random_crop,
    &liana__layer_random_flip,
    &liana__layer_random_translation,
    &liana__layer_random_rotation,
    &liana__layer_random_zoom,
    &liana__layer_random_brightness,
    &liana__layer_random_contrast,
};

static bool is_absent(const liana_layer_type *type)
{
    if (liana__keras_is_newer(type)) return true;
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        if (type == absent[i]) return true;
    }
    return false;
}

static bool is_plain(const liana__value *value, double plain)
{
    if (!value || value->kind == LIANA__VALUE_NULL) return true;
    if (value->kind == LIANA__VALUE_BOOL) return value->boolean == (plain != 0);
    if (value->kind == LIANA__VALUE_INT) return (double)value->integer == plain;
    if (value->kind == LIANA__VALUE_FLOAT) return value->number == plain;
    if (value->kind == LIANA__VALUE_STRING) return strcmp(value->string, "channels_last") == 0;
    for (size_t i = 0; value->kind == LIANA__VALUE_LIST && i < value->count; i++) {
        if (!is_plain(value->items[i], plain)) return false;
    }
    return value->kind == LIANA__VALUE_LIST;
}

static const liana__layer_node *first_node(const liana_model *model, size_t layer)
{
    const liana__layer_node *node = model->nodes;
    while (node->layer != layer) node++;
    return node;
}

/* Whether the result of a node has a mask. */
static bool has_mask(const liana_model *model, const liana__layer_node *node, const bool *masked)
{
    const liana__layer *layer = &model->layers[node->layer];
    size_t count = 0;
    for (size_t i = 0; i < node->num_inputs; i++) count += masked[node->inputs[i]];
    if (layer->type == &liana__layer_embedding) return ((const liana_embedding_options *)layer->options)->mask_zero;
    if (layer->type->masking == LIANA_MASKING_OWN || layer->type == &liana__layer_input_layer) return count > 0;
    return layer->type->masking == LIANA_MASKING_KEPT && count > 0 && count == node->num_inputs;
}

/* Its GlobalAveragePooling1D takes the mean of all steps. */
static bool reads_mask(const liana_model *model, size_t layer)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    bool *masked = liana__arena_allocate(&arena, (model->num_nodes + 1) * sizeof *masked);
    bool found = !masked;
    for (size_t i = 0; masked && i < model->num_nodes; i++) {
        const liana__layer_node *node = &model->nodes[i];
        masked[i] = has_mask(model, node, masked);
        found = found || (node->layer == layer && node->num_inputs && masked[node->inputs[0]]);
    }
    return found;
}

static liana__tfjs_fault find_option(const liana__layer *layer)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const liana__value *options = liana__fields_write(&layer->type->part.options, &arena, layer->options);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (layer->type != limits[i].type || is_plain(liana__value_get(options, limits[i].option), limits[i].plain)) {
            continue;
        }
        return (liana__tfjs_fault){"the option ", limits[i].option, "TensorFlow.js's layer does not have it"};
    }
    if (layer->type != &liana__layer_relu || is_plain(liana__value_get(options, "max_value"), -1) ||
        is_plain(liana__value_get(options, "negative_slope"), 0)) {
        return (liana__tfjs_fault){0};
    }
    return (liana__tfjs_fault){"max_value with ", "negative_slope", "TensorFlow.js has no layer with both"};
}

/* Whether the axis of a layer for which it takes the last one alone is that. */
static bool has_last_axis(const liana_model *model, size_t index)
{
    const liana__layer *layer = &model->layers[index];
    const int rank = first_node(model, index)->shape.rank;
    const int64_t *axis = NULL;
    if (layer->type == &liana__layer_softmax) axis = ((const liana_softmax_options *)layer->options)->axis;
    if (layer->type == &liana__layer_normalization) axis = ((const liana_normalization_options *)layer->options)->axis;
    return !axis || (!axis[1] && (axis[0] == -1 || axis[0] == rank - 1));
}

/* The numbers of an option in place of the weights that its stand-in has. */
static const char *find_normalization(const liana__layer *layer)
{
    const liana_normalization_options *chosen = layer->options;
    if (layer->type != &liana__layer_normalization) return NULL;
    return chosen->invert ? "invert" : chosen->mean.count ? "mean" : NULL;
}

liana__tfjs_fault liana__tfjs_find_fault(const liana_model *model, size_t index)
{
    const liana__layer *layer = &model->layers[index];
    /* Its names of such weights are others. */
    if (layer->num_weights && model->weights[layer->first_weight].place) {
        return (liana__tfjs_fault){"its class ", layer->type->part.name,
                                   "liana does not write layers within layers for TensorFlow.js"};
    }
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        if (layer->type != missing[i]) continue;
        return (liana__tfjs_fault){"its class ", layer->type->part.name, "TensorFlow.js has no such layer"};
    }
    if (is_absent(layer->type)) {
        return (liana__tfjs_fault){"its class ", layer->type->part.name,
                                   "TensorFlow.js does not have it, or computes it otherwise"};
    }
    if (layer->type == &liana__layer_up_sampling2d &&
        ((const liana_up_sampling2d_options *)layer->options)->interpolation > LIANA_BILINEAR) {
        return (liana__tfjs_fault){"the option ", "interpolation", "TensorFlow.js has nearest and bilinear"};
    }
    if (!has_last_axis(model, index)) {
        return (liana__tfjs_fault){"the option ", "axis", "TensorFlow.js takes the last one"};
    }
    const char *option = find_normalization(layer);
    if (option) return (liana__tfjs_fault){"the option ", option, "TensorFlow.js's layer does not have it"};
    if (layer->type == &liana__layer_global_average_pooling1d && reads_mask(model, index)) {
        return (liana__tfjs_fault){"the mask of its input", "", "TensorFlow.js takes the mean of all steps"};
    }
    return find_option(layer);
}

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool liana__tfjs_takes_name(const char *name)
{
    bool good = is_letter_or_digit(*name);
    for (; good && *name; name++) good = is_letter_or_digit(*name) || strchr("-._/", *name);
    return good;
}

/* ---- words ---- */

static void set_text(liana__arena *arena, liana__value *map, const char *key, const char *text)
{
    liana__value_set(arena, map, key, liana__value_string(arena, text));
}

/* It has one class of regulariser. Others count in training alone, and are left out. */
static liana__value *rewrite_regularizer(liana__arena *arena, const liana__value *rule)
{
    static const char *const keys[] = {"l1", "l2"};
    const char *name = liana__value_text_of(rule, "class_name", "");
    if (strcmp(name, "L1") != 0 && strcmp(name, "L2") != 0 && strcmp(name, "L1L2") != 0)
        return liana__value_null(arena);
    liana__value *map = liana__value_map(arena), *config = liana__value_map(arena);
    if (!map || !config) return NULL;
    for (size_t i = 0; i < 2; i++) {
        const liana__value *factor = liana__value_get(liana__value_get(rule, "config"), keys[i]);
        liana__value_set(arena, config, keys[i],
                         factor ? liana__value_copy(arena, factor) : liana__value_float(arena, 0));
    }
    set_text(arena, map, "class_name", "L1L2");
    liana__value_set(arena, map, "config", config);
    return map;
}

/* Its VarianceScaling draws truncated numbers for this word, and does not know the other. */
static void rewrite_initializer(liana__arena *arena, liana__value *rule)
{
    liana__value *config = (liana__value *)(uintptr_t)liana__value_get(rule, "config");
    if (strcmp(liana__value_text_of(config, "distribution", ""), "untruncated_normal") != 0) return;
    set_text(arena, config, "distribution", "normal");
}

/* It applies constraints when it loads the weights, and does not run a layer with a penalty of its results. */
static bool is_left_out(const char *key)
{
    return liana__ends_with(key, "_constraint") || strcmp(key, "activity_regularizer") == 0;
}

static void rewrite_parts(liana__arena *arena, liana__value *config)
{
    for (size_t i = 0; i < config->count; i++) {
        liana__value *item = config->items[i];
        if (item->kind == LIANA__VALUE_STRING && strcmp(item->string, "silu") == 0) {
            set_text(arena, config, config->keys[i], "swish");
        }
        if (item->kind != LIANA__VALUE_MAP) continue;
        if (liana__ends_with(config->keys[i], "_initializer")) rewrite_initializer(arena, item);
        if (!is_left_out(config->keys[i]) && !liana__ends_with(config->keys[i], "_regularizer")) continue;
        liana__value_set(arena, config, config->keys[i],
                         is_left_out(config->keys[i]) ? liana__value_null(arena) : rewrite_regularizer(arena, item));
    }
}

/* A slope makes another class of it. */
static void rewrite_relu(liana__arena *arena, liana__value *map, liana__value *config)
{
    const liana__value *slope = liana__value_get(config, "negative_slope");
    const bool leaks = !is_plain(slope, 0);
    if (leaks) {
        set_text(arena, map, "class_name", "LeakyReLU");
        liana__value_set(arena, config, "alpha", liana__value_copy(arena, slope));
        liana__value_remove(config, "max_value");
    }
    liana__value_remove(config, "negative_slope");
    liana__value_remove(config, "threshold");
}

/* It does not have the class. A batch normalisation computes the same with its averages. */
static void rewrite_normalization(liana__arena *arena, liana__value *map, liana__value *config)
{
    set_text(arena, map, "class_name", "BatchNormalization");
    liana__value_set(arena, config, "trainable", liana__value_bool(arena, false));
    liana__value_set(arena, config, "axis", liana__value_int(arena, -1));
    liana__value_set(arena, config, "epsilon", liana__value_float(arena, 0));
    liana__value_set(arena, config, "center", liana__value_bool(arena, false));
    liana__value_set(arena, config, "scale", liana__value_bool(arena, false));
}

/* It computes the sizes behind a -1 for each call, not for the layers that follow. */
static void rewrite_reshape(liana__arena *arena, const liana_shape *shape, liana__value *config)
{
    liana__value *dims = liana__value_list(arena);
    for (int i = 1; dims && i < shape->rank; i++) {
        liana__value_add(arena, dims, liana__value_int(arena, shape->dims[i]));
    }
    liana__value_set(arena, config, "target_shape", dims);
}

void liana__tfjs_rewrite(liana__arena *arena, const liana_model *model, size_t index, liana__value *map)
{
    const liana_layer_type *type = model->layers[index].type;
    liana__value *config = (liana__value *)(uintptr_t)liana__value_get(map, "config");
    if (!config) return;
    rewrite_parts(arena, config);
    if (type == &liana__layer_relu) rewrite_relu(arena, map, config);
    if (type == &liana__layer_leaky_relu) {
        liana__value_set(arena, config, "alpha", liana__value_copy(arena, liana__value_get(config, "negative_slope")));
        liana__value_remove(config, "negative_slope");
    }
    if (type == &liana__layer_normalization) rewrite_normalization(arena, map, config);
    if (type == &liana__layer_reshape) rewrite_reshape(arena, &first_node(model, index)->shape, config);
    /* No layer that follows reads a mask: liana__tfjs_find_fault. */
    if (type == &liana__layer_embedding) liana__value_set(arena, config, "mask_zero", liana__value_bool(arena, false));
    if (type == &liana__layer_activity_regularization) {
        set_text(arena, map, "class_name", "Activation");
        set_text(arena, config, "activation", "linear");
    }
}

/* ---- what a reader of the weights has to know ---- */

bool liana__tfjs_weight_name(const liana_model *model, size_t weight, liana__arena *arena, const char **name)
{
    const liana__weight *own = &model->weights[weight];
    const char *layer = model->layers[own->layer].name;
    *name = own->name;
    if (own->is_state) return false;
    if (model->layers[own->layer].type != &liana__layer_normalization) return true;
    if (strcmp(own->short_name, "count") == 0) return false;
    *name = liana__arena_format(arena, "%s/moving_%s", layer, own->short_name);
    return true;
}

float liana__tfjs_weight_value(const liana_model *model, size_t weight, float value)
{
    const liana__weight *own = &model->weights[weight];
    const bool is_variance =
        model->layers[own->layer].type == &liana__layer_normalization && strcmp(own->short_name, "variance") == 0;
    return is_variance && value < 1e-14F ? 1e-14F : value;
}

static bool has_word(const liana__regularizer *rule)
{
    return !rule->type || rule->type == &liana__regularizer_l1 || rule->type == &liana__regularizer_l2 ||
           rule->type == &liana__regularizer_l1_l2;
}

/* A part that training alone reads, and that has no word there. */
static const char *find_left_out(const liana_model *model, const liana__layer *layer)
{
    if (layer->activity_regularizer.type) return "the penalty of its results";
    for (size_t i = 0; i < layer->num_weights; i++) {
        const liana__weight *weight = &model->weights[layer->first_weight + i];
        if (!has_word(&weight->regularizer)) return weight->regularizer.type->part.name;
        if (weight->constraint.type) return weight->constraint.type->part.name;
    }
    return NULL;
}

const char *liana__tfjs_left_out(const liana_model *model, liana__arena *arena)
{
    LIANA__SCOPED(liana__text) text = {0};
    for (size_t i = 0; i < model->num_layers; i++) {
        const char *found = find_left_out(model, &model->layers[i]);
        if (found) {
            liana__text_add(&text, "%slayer '%s': %s", text.length ? "; " : "", model->layers[i].name, found);
        }
    }
    return text.length ? liana__arena_string(arena, text.data) : NULL;
}
