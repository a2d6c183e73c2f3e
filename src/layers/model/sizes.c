/* Sizes of inputs that the data give: a model's nodes have the shapes of one choice of them at a time. */
#include "layers/model.h"

#include "base/scoped.h"
#include "ir/graph.h"

#include <liana/layers/core.h>
#include <stdlib.h>
#include <string.h>

static bool is_free(const liana__layer_node *node, int dimension)
{
    return node->free >> dimension & 1;
}

/* The input's shape with the sizes of `wanted`, or an error. */
static liana_status choose_shape(const liana_model *model, size_t index, const liana_shape *wanted, liana_shape *shape,
                                 liana__error *error)
{
    const liana__layer_node *node = &model->nodes[model->inputs[index]];
    liana_shape expected = node->shape;
    bool fits = wanted->rank == node->shape.rank;
    for (int d = 1; d < node->shape.rank && fits; d++) {
        fits = is_free(node, d) ? wanted->dims[d] > 0 : wanted->dims[d] == node->shape.dims[d];
        expected.dims[d] = is_free(node, d) ? LIANA_ANY_SIZE : node->shape.dims[d];
        if (fits) shape->dims[d] = wanted->dims[d];
    }
    shape->rank = node->shape.rank;
    shape->dims[0] = 1;
    if (fits && liana__shape_valid(LIANA_F32, shape)) return LIANA_OK;
    expected.dims[0] = LIANA_ANY_SIZE;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the input '%s' of the model '%s' is %s for each batch (-1: any size), found %s",
                       model->layers[node->layer].name, liana__model_name(model), liana__shape_print(&expected).text,
                       liana__shape_print(wanted).text);
}

static liana_status infer_all(liana_model *model, liana__error *error)
{
    for (size_t i = 0; i < model->num_nodes; i++) {
        const liana__layer_node *node = &model->nodes[i];
        const bool is_input = model->layers[node->layer].type->max_inputs == 0 && node->within == LIANA__NONE;
        if (node->output || is_input) continue;
        const liana__layer *layer = &model->layers[node->layer];
        if (liana__model_infer_node(model, i, error) == LIANA_OK) continue;
        liana__fail_within(error, "layer '%s' (%s)", layer->name, layer->type->part.name);
        return error->status;
    }
    return LIANA_OK;
}

bool liana__model_has_free_sizes(const liana_model *model)
{
    bool has = false;
    for (size_t i = 0; i < model->num_inputs; i++) has |= model->nodes[model->inputs[i]].free != 0;
    return has;
}

liana_status liana__model_set_input_shapes(liana_model *model, const liana_shape *shapes, liana__error *error)
{
    bool changes = false, chosen_now = false;
    liana_shape chosen[LIANA_MAX_LAYER_INPUTS] = {{0}};
    for (size_t i = 0; i < model->num_inputs; i++) {
        const liana__layer_node *node = &model->nodes[model->inputs[i]];
        chosen[i] = node->shape;
        if (!node->free || !shapes[i].rank) continue;
        LIANA_TRY(choose_shape(model, i, &shapes[i], &chosen[i], error));
        chosen_now = true;
        changes |= !liana_shape_equal(&chosen[i], &node->shape);
    }
    model->has_chosen_sizes |= chosen_now;
    if (!changes) return LIANA_OK;
    LIANA__SCOPED_MEMORY liana_shape *before = malloc(model->num_nodes * sizeof *before);
    if (!before) return liana__fail_memory(error, "a model");
    for (size_t i = 0; i < model->num_nodes; i++) before[i] = model->nodes[i].shape;
    for (size_t i = 0; i < model->num_inputs; i++) model->nodes[model->inputs[i]].shape = chosen[i];
    if (infer_all(model, error) == LIANA_OK) {
        model->structure_version++;
        return LIANA_OK;
    }
    for (size_t i = 0; i < model->num_nodes; i++) model->nodes[i].shape = before[i];
    return liana__fail_within(error, "with inputs of the sizes of the data");
}

liana_status liana_model_set_input_shape(liana_model *model, size_t index, liana_shape shape)
{
    liana_shape shapes[LIANA_MAX_LAYER_INPUTS] = {{0}};
    LIANA__REQUIRE(NULL, model);
    liana__error *error = &model->context->error;
    if (index >= model->num_inputs) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "input %zu: the model '%s' has %zu", index,
                           liana__model_name(model), model->num_inputs);
    }
    LIANA_TRY(liana__model_check(model, error));
    const liana__layer_node *node = &model->nodes[model->inputs[index]];
    if (!node->free) {
        liana_shape same;
        return choose_shape(model, index, &shape, &same, error);
    }
    shapes[index] = shape;
    return liana__model_set_input_shapes(model, shapes, error);
}
