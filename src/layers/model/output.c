/* liana__model_check_output: whether an output of a model fits a loss. */
#include "layers/activations.h"
#include "layers/model.h"

#include <stdlib.h>
#include <string.h>

/* The name of the layer's activation; "linear" if it has no such option. */
static const char *activation_of(const liana_model *model, const liana__layer_node *node)
{
    const liana__layer *layer = &model->layers[node->layer];
    const liana_option *field = liana__fields_find(&layer->type->part.options, "activation");
    if (strcmp(layer->type->part.name, "Softmax") == 0) return "softmax";
    if (!field || field->kind != LIANA_OPTION_STRING) return "linear";
    const char *name = *(const char *const *)((const char *)layer->options + field->offset);
    return name && *name ? name : "linear";
}

static bool is_range_activation(const char *name)
{
    static const char *const names[] = {"sigmoid", "hard_sigmoid", LIANA__HARD_SIGMOID_KERAS2, "softmax"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) return true;
    }
    return false;
}

/* Whether the layer only moves or averages numbers, or joins them, so that they stay within [0, 1]. */
static bool keeps_range(const liana_model *model, const liana__layer_node *node)
{
    const liana_layer_type *type = model->layers[node->layer].type;
    switch (type->sums) {
    case LIANA_SUMS_KEPT:
    case LIANA_SUMS_KEPT_IN_A_ROW: return true;
    case LIANA_SUMS_KEPT_BY_DOING_NOTHING: return node->is_identity;
    case LIANA_SUMS_CHANGED: break;
    }
    return strcmp(type->part.name, "Concatenate") == 0;
}

static bool is_within_range(const liana_model *model, const liana__layer_node *node, const bool *known)
{
    if (is_range_activation(activation_of(model, node))) return true;
    if (!node->num_inputs || !keeps_range(model, node)) return false;
    for (size_t i = 0; i < node->num_inputs; i++) {
        if (!known[node->inputs[i]]) return false;
    }
    return true;
}

static liana_status fail_at_node(const liana__layer_node *node, liana__error *error)
{
    if (node->where.line <= 0) return LIANA_INVALID_CONFIG;
    return liana__fail_within(error, "%s:%d", node->where.file, node->where.line);
}

static liana_status check_range(const liana_model *model, const liana__layer_node *end, size_t index, const char *loss,
                                liana__error *error)
{
    bool *known = calloc(model->num_nodes, sizeof *known);
    if (!known) return liana__fail_memory(error, "a model");
    for (size_t i = 0; i <= index; i++) known[i] = is_within_range(model, &model->nodes[i], known);
    bool right = known[index];
    free(known);
    if (right) return LIANA_OK;
    const liana__layer *layer = &model->layers[end->layer];
    liana__fail(error, LIANA_INVALID_CONFIG,
                "layer '%s' (%s, activation: %s): the model ends here, but its outputs are not probabilities (0 to 1), "
                "which the loss '%s' needs; end it with activation: sigmoid, or give the loss from_logits: true",
                layer->name, layer->type->part.name, activation_of(model, end), loss);
    return fail_at_node(end, error);
}

static liana_status check_logits(const liana_model *model, const liana__layer_node *end, const char *loss,
                                 liana__error *error)
{
    const char *activation = activation_of(model, end);
    if (!is_range_activation(activation)) return LIANA_OK;
    const liana__layer *layer = &model->layers[end->layer];
    liana__fail(error, LIANA_INVALID_CONFIG,
                "layer '%s' (%s, activation: %s): the model ends here and gives probabilities, but the loss '%s' has "
                "from_logits: true; remove one of the two",
                layer->name, layer->type->part.name, activation, loss);
    return fail_at_node(end, error);
}

bool liana__model_is_lone_softmax(const liana_model *model, size_t node)
{
    const liana__layer_node *own = &model->nodes[node];
    return own->is_softmax && own->shape.rank > 0 && own->shape.dims[own->shape.rank - 1] == 1;
}

liana_status liana__model_check_lone_softmax(const liana_model *model, size_t output, bool of_loss, liana__error *error)
{
    const size_t index = liana__model_output_node(model, output);
    if (index == LIANA__NONE) return LIANA_OK;
    const liana__layer_node *end = &model->nodes[index];
    const bool lone = end->shape.rank > 0 && end->shape.dims[end->shape.rank - 1] == 1;
    if (!lone || !(of_loss || end->is_softmax)) return LIANA_OK;
    const liana__layer *layer = &model->layers[end->layer];
    liana__fail(
        error, LIANA_INVALID_CONFIG,
        "layer '%s' (%s): the model ends in a softmax of one value, which is always 1, so nothing is learnt; give "
        "it a value for each class (two at least), or for yes and no one value with activation: sigmoid and the "
        "loss binary_crossentropy",
        layer->name, layer->type->part.name);
    return fail_at_node(end, error);
}

liana_status liana__model_check_output(const liana_model *model, size_t output, liana_logits_kind expected,
                                       const char *loss, liana__error *error)
{
    size_t index = liana__model_output_node(model, output);
    if (index == LIANA__NONE) return LIANA_OK;
    const liana__layer_node *end = &model->nodes[index];
    switch (expected) {
    case LIANA_LOGITS_SOFTMAX: return liana__model_check_probabilities_of(model, output, error);
    case LIANA_LOGITS_SIGMOID: return check_range(model, end, index, loss, error);
    case LIANA_LOGITS_NONE: break;
    }
    return check_logits(model, end, loss, error);
}
