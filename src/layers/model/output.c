/* Whether an output of a model is what a loss needs: probabilities, or numbers of any size. */
#include "base/scoped.h"
#include "layers/activations.h"
#include "layers/model.h"

#include <stdlib.h>
#include <string.h>

/* The name of the layer's activation; "linear" if it has no such option. */
static const char *activation_of(const liana_model *model, const liana__layer_node *node)
{
    const liana__layer *layer = &model->layers[node->layer];
    if (strcmp(layer->type->part.name, "Softmax") == 0) return "softmax";
    const char *name = liana__layer_option_text(layer, "activation");
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

/* Finds for which nodes up to `end` a rule holds, which reads the answers for their inputs: whether for the end, and
 * whether for its only input. */
static liana_status follow(const liana_model *model, size_t end,
                           bool (*rule)(const liana_model *model, const liana__layer_node *node, const bool *known),
                           bool *holds, bool *held_before, liana__error *error)
{
    const liana__layer_node *last = &model->nodes[end];
    LIANA__SCOPED_MEMORY bool *known = calloc(model->num_nodes, sizeof *known);
    if (!known) return liana__fail_memory(error, "a model");
    for (size_t i = 0; i <= end; i++) known[i] = rule(model, &model->nodes[i], known);
    *holds = known[end];
    *held_before = last->num_inputs == 1 && known[last->inputs[0]];
    return LIANA_OK;
}

/* ---- probabilities of classes ---- */

/* Whether an example is one row: all its elements are along the last axis. */
static bool is_one_row(const liana_shape *shape)
{
    return shape->rank >= 2 && liana_shape_size(shape) == shape->dims[shape->rank - 1];
}

/* Whether the node's results add up to 1 along the last axis. */
static bool adds_up(const liana_model *model, const liana__layer_node *node, const bool *known)
{
    if (node->is_softmax) return true;
    if (node->num_inputs != 1 || !known[node->inputs[0]]) return false;
    switch (model->layers[node->layer].type->sums) {
    case LIANA_SUMS_CHANGED: return false;
    case LIANA_SUMS_KEPT: return true;
    case LIANA_SUMS_KEPT_IN_A_ROW: return is_one_row(&node->shape) && is_one_row(&model->nodes[node->inputs[0]].shape);
    case LIANA_SUMS_KEPT_BY_DOING_NOTHING: return node->is_identity;
    }
    return false;
}

static liana_status fail_sums(const liana_model *model, const liana__layer_node *end, bool was_right_before,
                              liana__error *error)
{
    const liana__layer *last = &model->layers[end->layer];
    const bool has_activation = liana__fields_find(&last->type->part.options, "activation");
    const char *advice =
        was_right_before
            ? "the layer before it gives probabilities, so remove this layer"
            : "end the model in a softmax: activation: softmax in its last Dense layer, or a Softmax layer after it";
    liana__fail(error, LIANA_INVALID_CONFIG,
                "layer '%s' (%s%s%s): the model ends here, but its outputs are not probabilities of classes (at least "
                "0, with sum 1), which the loss needs; %s%s",
                last->name, last->type->part.name, has_activation ? ", activation: " : "",
                has_activation ? activation_of(model, end) : "", advice,
                end->shape.dims[end->shape.rank - 1] == 1 ? "; two classes need two units" : "");
    return fail_at_node(end, error);
}

liana_status liana__model_check_probabilities(const liana_model *model, size_t output, liana__error *error)
{
    size_t end = liana__model_output_node(model, output);
    bool right, right_before;
    if (end == LIANA__NONE) return LIANA_OK;
    LIANA_TRY(follow(model, end, adds_up, &right, &right_before, error));
    return right ? LIANA_OK : fail_sums(model, &model->nodes[end], right_before, error);
}

/* ---- other outputs ---- */

static liana_status check_range(const liana_model *model, const liana__layer_node *end, size_t index, const char *loss,
                                liana__error *error)
{
    bool right, right_before;
    LIANA_TRY(follow(model, index, is_within_range, &right, &right_before, error));
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
    case LIANA_LOGITS_SOFTMAX: return liana__model_check_probabilities(model, output, error);
    case LIANA_LOGITS_SIGMOID: return check_range(model, end, index, loss, error);
    case LIANA_LOGITS_NONE: break;
    }
    return check_logits(model, end, loss, error);
}
