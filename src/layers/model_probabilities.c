/* liana__model_check_probabilities: whether a model can be trained with a loss on probabilities. */
#include "layers/model.h"

#include <stdlib.h>
#include <string.h>

/* Whether an example is one row: all its elements are along the last axis. */
static bool is_one_row(const liana_shape *shape)
{
    return shape->rank >= 2 && liana_shape_size(shape) == shape->dims[shape->rank - 1];
}

/* Whether the layer's results add up to 1 along the last axis. */
static bool adds_up(const liana_model *model, const liana__layer *layer, const bool *known)
{
    if (layer->is_softmax) return true;
    if (layer->num_inputs != 1 || !known[layer->inputs[0]]) return false;
    switch (layer->type->sums) {
    case LIANA__SUMS_CHANGED: return false;
    case LIANA__SUMS_KEPT: return true;
    case LIANA__SUMS_KEPT_IN_A_ROW:
        return is_one_row(&layer->shape) && is_one_row(&model->layers[layer->inputs[0]].shape);
    case LIANA__SUMS_KEPT_BY_DOING_NOTHING: return layer->is_identity;
    }
    return false;
}

/* The name of the layer's activation, or NULL if it has no such option. */
static const char *activation_of(const liana__layer *layer)
{
    const liana__field *field = liana__fields_find(layer->type->options, "activation");
    if (!field || field->kind != LIANA__FIELD_STRING) return NULL;
    const char *name = *(const char *const *)((const char *)layer->options + field->offset);
    return name ? name : "linear";
}

static liana_status fail(const liana_model *model, bool was_right_before, liana__error *error)
{
    const liana__layer *last = &model->layers[model->num_layers - 1];
    const char *activation = activation_of(last);
    const char *advice =
        was_right_before
            ? "the layer before it gives probabilities, so remove this layer"
            : "end the model in a softmax: activation: softmax in its last Dense layer, or a Softmax layer after it";
    liana__fail(error, LIANA_INVALID_CONFIG,
                "layer '%s' (%s%s%s): the model ends here, but its outputs are not probabilities of classes (at least "
                "0, with sum 1), which the loss needs; %s%s",
                last->name, last->type->name, activation ? ", activation: " : "", activation ? activation : "", advice,
                last->shape.dims[last->shape.rank - 1] == 1 ? "; two classes need two units" : "");
    if (last->where.line <= 0) return LIANA_INVALID_CONFIG;
    return liana__fail_within(error, "%s:%d", last->where.file, last->where.line);
}

liana_status liana__model_check_probabilities(const liana_model *model, liana__error *error)
{
    bool *known = calloc(model->num_layers + 1, sizeof *known);
    if (!known) return liana__fail_memory(error, "a model");
    for (size_t i = 0; i < model->num_layers; i++) known[i] = adds_up(model, &model->layers[i], known);
    const liana__layer *last = model->num_layers ? &model->layers[model->num_layers - 1] : NULL;
    bool right = last && known[model->num_layers - 1];
    bool before = last && last->num_inputs == 1 && known[last->inputs[0]];
    free(known);
    return right || !last ? LIANA_OK : fail(model, before, error);
}
