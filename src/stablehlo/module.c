/* A graph as a StableHLO module: its arguments and results, and each node's own lowering. */
#include "stablehlo/module.h"

#include "stablehlo/lowering_internal.h"
#include "stablehlo/recomputed.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the function's head and end ---- */

static void add_argument(liana__lowering *l, const liana__node *leaf, const char *attribute, bool last)
{
    liana__hlo value = liana__hlo_parameter(l, leaf->dtype, leaf->shape);
    l->values[leaf->id] = value;
    liana__text_add(&l->text, "      %%%u: %s%s%s", value.id, liana__hlo_print_type(leaf->dtype, &leaf->shape).text,
                    attribute, last ? "  " : ",  ");
    liana__hlo_add_comment(l, leaf);
}

/* The result that takes a variable's buffer; -1: none. */
static int64_t result_of(const liana_graph *graph, const liana__node *variable)
{
    for (size_t i = 0; i < graph->num_assignments; i++) {
        if (graph->assignments[i].variable == variable) return (int64_t)(graph->num_outputs + i);
    }
    return -1;
}

static void add_arguments(liana__lowering *l, const liana_graph *graph, const liana__stablehlo_options *options)
{
    for (size_t i = 0; i < graph->num_inputs; i++) {
        bool donated = options->donated_inputs && options->donated_inputs[i];
        add_argument(l, graph->inputs[i], donated ? " {jax.buffer_donor = true}" : "",
                     i + 1 == graph->num_inputs + graph->num_variables);
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        int64_t result = options->donate_variables ? result_of(graph, graph->variables[i]) : -1;
        char attribute[64] = "";
        if (result >= 0) snprintf(attribute, sizeof attribute, " {tf.aliasing_output = %lld : i32}", (long long)result);
        add_argument(l, graph->variables[i], attribute, i + 1 == graph->num_variables);
    }
}

static size_t num_results(const liana_graph *graph)
{
    return graph->num_outputs + graph->num_assignments;
}

static const liana__node *result_node(const liana_graph *graph, size_t index)
{
    bool is_output = index < graph->num_outputs;
    return is_output ? graph->outputs[index].node : graph->assignments[index - graph->num_outputs].value;
}

static void add_result_types(liana__lowering *l, const liana_graph *graph)
{
    for (size_t i = 0; i < num_results(graph); i++) {
        const liana__node *node = result_node(graph, i);
        liana__text_add(&l->text, "%s%s", i ? ", " : "", liana__hlo_print_type(node->dtype, &node->shape).text);
    }
}

static void add_return(liana__lowering *l, const liana_graph *graph)
{
    liana__text_add(&l->text, "    \"func.return\"(");
    for (size_t i = 0; i < num_results(graph); i++) {
        liana__text_add(&l->text, "%s%%%u", i ? ", " : "", l->values[result_node(graph, i)->id].id);
    }
    liana__text_add(&l->text, ") : (");
    add_result_types(l, graph);
    liana__text_add(&l->text, ") -> ()\n");
}

/* ---- nodes ---- */

static liana_status lower_node(liana__lowering *l, const liana__node *node)
{
    if (liana__is_constant(node)) {
        liana__hlo value = liana__hlo_constant(l, node->dtype, node->shape, liana__constant_data(node));
        return liana__hlo_give(l, node, value);
    }
    if (node->op->lower) return node->op->lower(l, node);
    return liana__fail(l->error, LIANA_UNIMPLEMENTED,
                       "the op %s cannot be written as StableHLO, so only the devices cpu and reference can run it",
                       node->op->name);
}

static liana_status lower_nodes(liana__lowering *l, const liana_graph *graph, const bool *needed,
                                liana__recomputed_run *run)
{
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        if (!needed[id] || liana__is_input(node) || liana__is_variable(node)) continue;
        l->where = node->where;
        LIANA_TRY(liana__recomputed_step(l, graph, needed, id, run));
        liana__hlo_indent(l);
        liana__hlo_add_comment(l, node);
        liana_status status = lower_node(l, node);
        if (status == LIANA_OK) continue;
        return liana__fail_within(l->error, "%s:%d: %s, node %zu", node->where.file, node->where.line,
                                  liana__node_print(node).text, id);
    }
    return LIANA_OK;
}

static liana_status lower_graph(liana__lowering *l, const liana_graph *graph, const liana__stablehlo_options *options,
                                const bool *needed)
{
    const char *function = options->function ? options->function : "main";
    if (!options->function_only) {
        liana__text_add(&l->text, "module @\"%s\" {\n", options->name ? options->name : "liana");
    }
    liana__text_add(&l->text, "  func.func %s @\"%s\"(\n", options->function_only ? "private" : "public", function);
    add_arguments(l, graph, options);
    liana__text_add(&l->text, "  ) -> (");
    add_result_types(l, graph);
    liana__text_add(&l->text, ") {\n");
    liana__recomputed_run run = {0};
    const liana_status status = lower_nodes(l, graph, needed, &run);
    liana__recomputed_free(&run);
    LIANA_TRY(status);
    add_return(l, graph);
    liana__text_add(&l->text, options->function_only ? "  }\n" : "  }\n}\n");
    return l->text.failed ? liana__fail_memory(l->error, "the StableHLO text of a graph") : LIANA_OK;
}

liana_status liana__stablehlo_print(const liana_graph *graph, const liana__stablehlo_options *options, char **text,
                                    liana__error *error)
{
    *text = NULL;
    static const liana__stablehlo_options defaults = {0};
    if (!options) options = &defaults;
    liana__lowering lowering = {.locations = options->locations,
                                .highest_precision = options->highest_precision,
                                .wide_products = options->wide_products,
                                .for_cpus = options->for_cpus,
                                .no_locations = options->no_locations,
                                .error = error};
    bool *needed = calloc(graph->num_nodes, sizeof *needed);
    lowering.values = calloc(graph->num_nodes, sizeof *lowering.values);
    liana_status status = LIANA_OUT_OF_MEMORY;
    if (needed && lowering.values) {
        liana__graph_mark_needed(graph, needed);
        status = lower_graph(&lowering, graph, options, needed);
    } else {
        liana__fail_memory(error, "the StableHLO text of a graph");
    }
    free(needed);
    free(lowering.values);
    if (status == LIANA_OK) {
        *text = lowering.text.data;
    } else {
        liana__text_free(&lowering.text);
    }
    return status;
}
