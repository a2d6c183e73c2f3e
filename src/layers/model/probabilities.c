/* liana__model_check_probabilities: whether a model can be trained with a loss on probabilities. */
#include "layers/model.h"

#include <stdlib.h>
#include <string.h>

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

/* The name of the layer's activation, or NULL if it has no such option. */
static const char *activation_of(const liana__layer *layer)
{
    const liana_option *field = liana__fields_find(&layer->type->part.options, "activation");
    if (!field || field->kind != LIANA_OPTION_STRING) return NULL;
    const char *name = *(const char *const *)((const char *)layer->options + field->offset);
    return name ? name : "linear";
}

static liana_status fail(const liana_model *model, const liana__layer_node *end, bool was_right_before,
                         liana__error *error)
{
    const liana__layer *last = &model->layers[end->layer];
    const char *activation = activation_of(last);
    const char *advice =
        was_right_before
            ? "the layer before it gives probabilities, so remove this layer"
            : "end the model in a softmax: activation: softmax in its last Dense layer, or a Softmax layer after it";
    liana__fail(error, LIANA_INVALID_CONFIG,
                "layer '%s' (%s%s%s): the model ends here, but its outputs are not probabilities of classes (at least "
                "0, with sum 1), which the loss needs; %s%s",
                last->name, last->type->part.name, activation ? ", activation: " : "", activation ? activation : "",
                advice, end->shape.dims[end->shape.rank - 1] == 1 ? "; two classes need two units" : "");
    if (end->where.line <= 0) return LIANA_INVALID_CONFIG;
    return liana__fail_within(error, "%s:%d", end->where.file, end->where.line);
}

liana_status liana__model_check_probabilities_of(const liana_model *model, size_t output, liana__error *error)
{
    size_t end = liana__model_output_node(model, output);
    if (end == LIANA__NONE) return LIANA_OK;
    bool *known = calloc(model->num_nodes, sizeof *known);
    if (!known) return liana__fail_memory(error, "a model");
    for (size_t i = 0; i <= end; i++) known[i] = adds_up(model, &model->nodes[i], known);
    const liana__layer_node *last = &model->nodes[end];
    bool right = known[end], before = last->num_inputs == 1 && known[last->inputs[0]];
    free(known);
    return right ? LIANA_OK : fail(model, last, before, error);
}

liana_status liana__model_check_probabilities(const liana_model *model, liana__error *error)
{
    return liana__model_check_probabilities_of(model, 0, error);
}
