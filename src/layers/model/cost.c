/* The operations of a model. */
#include "base/scoped.h"
#include "ir/graph.h"
#include "layers/model.h"

#include <stdlib.h>

LIANA__SCOPED_POINTER(liana_graph_destroy, liana_graph)

/* The nodes on which marked ones depend are marked, too. An input has a smaller id than its readers. */
static void mark_needed(const liana_graph *graph, bool *needed)
{
    for (size_t id = graph->num_nodes; id-- > 1;) {
        const liana__node *node = graph->nodes[id];
        for (uint32_t i = 0; needed[id] && i < node->num_inputs; i++) needed[node->inputs[i]->id] = true;
    }
}

static double add_products(const liana_graph *graph, const bool *needed)
{
    double flops = 0;
    for (size_t id = 1; id < graph->num_nodes; id++) {
        if (needed[id] && !liana__is_leaf(graph->nodes[id])) flops += liana__node_cost(graph->nodes[id]).product_flops;
    }
    return flops;
}

static liana_status count(const liana_model *model, double *flops)
{
    liana__error *error = &model->context->error;
    LIANA__SCOPED_BY(liana_graph_destroy_scoped) liana_graph *graph = NULL;
    liana_tensor inputs[LIANA_MAX_LAYER_INPUTS];
    LIANA_TRY(liana__model_check(model, error));
    LIANA_TRY(liana_graph_create(model->context, &graph));
    for (size_t i = 0; i < liana__model_num_inputs(model); i++) {
        const liana__model_port port = liana__model_input(model, i);
        inputs[i] = liana_graph_input_at(LIANA_HERE, graph, port.name, port.dtype, port.shape);
    }
    const liana__model_mode mode = {.asks_for_shapes = true};
    const liana__model_results results = liana__model_call(model, inputs, &mode);
    LIANA_TRY(liana_graph_status(graph));
    LIANA__SCOPED_MEMORY bool *needed = calloc(graph->num_nodes, sizeof *needed);
    if (!needed) return liana__fail_memory(error, "a model");
    for (size_t i = 0; i < results.num_outputs; i++) needed[results.outputs[i].value.id] = true;
    mark_needed(graph, needed);
    *flops = add_products(graph, needed);
    return LIANA_OK;
}

liana_status liana_model_count_flops(const liana_model *model, double *flops)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE(&model->context->error, flops);
    *flops = 0;
    LIANA__CONTEXT_CALL(model->context, count(model, flops));
}
