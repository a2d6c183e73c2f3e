/* Cuts the nodes that some results and assignments need out of a graph. */
#include "exec/subgraph.h"

#include "passes/pass.h"

#include <stdio.h>
#include <stdlib.h>

void liana__wanted_mark(const liana_graph *graph, const liana__wanted *wanted, bool *needed)
{
    size_t last = 0;
    for (size_t i = 0; i < wanted->num_results + wanted->num_assignments; i++) {
        uint32_t id = i < wanted->num_results
                          ? wanted->results[i]->id
                          : graph->assignments[wanted->assignments[i - wanted->num_results]].value->id;
        needed[id] = true;
        if (id > last) last = id;
    }
    for (size_t id = last; id > 0; id--) {
        const liana__node *node = graph->nodes[id];
        for (uint32_t i = 0; needed[id] && i < node->num_inputs; i++) needed[node->inputs[i]->id] = true;
    }
}

static void copy_nodes(const liana_graph *old, const bool *needed, liana_graph *graph, liana_tensor *map)
{
    for (size_t id = 1; id < old->num_nodes && graph->status == LIANA_OK; id++) {
        const liana__node *node = old->nodes[id];
        if (id == old->first_gradient) graph->first_gradient = graph->num_nodes;
        if (!needed[id]) continue;
        map[id] = liana__copy_node(graph, node, map);
        if (node->keep_wide) liana__keep_wide(map[id]);
        if (node->name) liana__graph_copy_name(graph, map[id], node->name);
    }
    /* All that is needed lies before the gradient. */
    if (graph->first_gradient == graph->num_nodes) graph->first_gradient = 0;
}

static void copy_ends(const liana_graph *old, const liana__wanted *wanted, liana_graph *graph, const liana_tensor *map)
{
    for (size_t i = 0; i < wanted->num_results && graph->status == LIANA_OK; i++) {
        const liana__node *node = wanted->results[i];
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        liana_graph_output_at(node->where, graph, name, map[node->id]);
    }
    for (size_t i = 0; i < wanted->num_assignments && graph->status == LIANA_OK; i++) {
        const liana__assignment *one = &old->assignments[wanted->assignments[i]];
        liana_tensor variable = liana__copy_leaf(graph, one->variable);
        liana_graph_assign_at(one->value->where, variable, map[one->value->id]);
    }
}

liana_status liana__subgraph(const liana_graph *old, const liana__wanted *wanted, liana_graph **result,
                             size_t *num_read)
{
    *result = NULL;
    *num_read = 0;
    LIANA_TRY(old->status);
    liana_graph *graph;
    LIANA_TRY(liana_graph_create(old->context, &graph));
    graph->mixed_precision = old->mixed_precision;
    bool *needed = calloc(old->num_nodes, sizeof *needed);
    liana_tensor *map = calloc(old->num_nodes, sizeof *map);
    if (needed && map) {
        liana__wanted_mark(old, wanted, needed);
        copy_nodes(old, needed, graph, map);
        *num_read = graph->num_variables;
        copy_ends(old, wanted, graph, map);
    } else {
        graph->status = liana__fail_memory(&old->context->error, "a part of a graph");
    }
    free(needed);
    free(map);
    liana_status status = graph->status;
    if (status == LIANA_OK) {
        *result = graph;
    } else {
        liana_graph_destroy(graph);
    }
    return status;
}
