/* Masks of a model's outputs: which outputs have one, and how many elements they let count. */
#include "ir/graph.h"
#include "ir/shape.h"
#include "train/objective/objective.h"

/* Whether any layer may give a mask that its inputs do not have. */
static bool may_have_masks(const liana_model *model)
{
    for (size_t i = 0; i < model->num_layers; i++) {
        if (model->layers[i].type->masking == LIANA_MASKING_OWN) return true;
    }
    return false;
}

/* A mask is of the loss's elements, or of their first dimensions: [batch, steps] of [batch, steps, ...]. */
static liana_status take_mask(liana__objective_output *output, liana_tensor mask, liana__error *error)
{
    liana_shape shape = liana_tensor_shape(mask);
    bool fits = shape.rank < output->shape.rank;
    for (int i = 0; i < shape.rank && fits; i++) fits = shape.dims[i] == output->shape.dims[i];
    output->masked = true;
    if (fits) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "the model's output '%s' is %s, but its mask is %s, expected a mask of its first dimensions: a "
                       "layer after the Embedding with mask_zero moves the steps of sequences elsewhere; add a layer "
                       "that uses the mask up, such as GlobalAveragePooling1D",
                       output->name, liana__shape_print(&output->shape).text, liana__shape_print(&shape).text);
}

/* Asks the layers themselves: calls the model in a graph that is thrown away. */
static liana_status find_in_graph(const liana_model *model, liana_graph *graph, liana__objective *objective,
                                  liana__error *error)
{
    liana_tensor inputs[LIANA_MAX_LAYER_INPUTS];
    const liana__model_mode mode = {.asks_for_shapes = true};
    for (size_t i = 0; i < liana__model_num_inputs(model); i++) {
        liana__model_port port = liana__model_input(model, i);
        inputs[i] = liana_graph_input(graph, port.name, port.dtype, port.shape);
    }
    liana__model_results results = liana__model_call(model, inputs, &mode);
    for (size_t i = 0; liana_graph_status(graph) == LIANA_OK && i < results.num_outputs; i++) {
        liana__objective_output *output = &objective->outputs[i];
        if (output->choice.loss && results.outputs[i].mask.id) {
            LIANA_TRY(take_mask(output, results.outputs[i].mask, error));
        }
    }
    return liana_graph_status(graph);
}

liana_status liana__objective_find_masks(const liana_model *model, liana__objective *objective, liana__error *error)
{
    if (!may_have_masks(model)) return LIANA_OK;
    liana_graph *graph;
    liana__error *message = &model->context->error, before = *message;
    liana_status status = liana_graph_create(model->context, &graph);
    if (status == LIANA_OK) {
        status = find_in_graph(model, graph, objective, error);
        /* The graph leaves its own errors in the context. */
        if (liana_graph_status(graph) != LIANA_OK && error) *error = *message;
        liana_graph_destroy(graph);
    }
    if (error != message) *message = before;
    return status;
}

/* ---- in graphs ---- */

liana_tensor liana__objective_mask(const liana__objective_output *output, liana_tensor mask, int64_t size)
{
    liana_shape shape = output->shape, column = liana_tensor_shape(mask);
    shape.rank--;
    shape.dims[0] = size;
    while (column.rank < shape.rank) column.dims[column.rank++] = 1;
    return liana_op_broadcast_to(liana_op_reshape(liana_op_cast(mask, LIANA_F32), column), shape);
}
