/* A graph as a StableHLO module: its arguments and results, and each node's own lowering. */
#include "stablehlo/module.h"

#include "base/scoped.h"
#include "stablehlo/function_text.h"
#include "stablehlo/part_functions.h"
#include "stablehlo/recomputed.h"

#include <stdio.h>

/* ---- the function's head and end ---- */

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
    size_t left = graph->num_inputs + graph->num_variables + (options->assigns_if ? 1 : 0);
    for (size_t i = 0; i < graph->num_inputs; i++) {
        bool donated = options->donated_inputs && options->donated_inputs[i];
        liana__function_add_argument(l, graph->inputs[i], donated ? " {jax.buffer_donor = true}" : "", --left == 0);
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        int64_t result = options->donate_variables ? result_of(graph, graph->variables[i]) : -1;
        char attribute[64] = "";
        if (result >= 0) snprintf(attribute, sizeof attribute, " {tf.aliasing_output = %lld : i32}", (long long)result);
        liana__function_add_argument(l, graph->variables[i], attribute, --left == 0);
    }
}

static void add_result_types(liana__lowering *l, const liana_graph *graph)
{
    for (size_t i = 0; i < liana__graph_num_results(graph); i++) {
        const liana__node *node = liana__graph_result(graph, i);
        liana__text_add(&l->text, "%s%s", i ? ", " : "", liana__hlo_print_type(node->dtype, &node->shape).text);
    }
}

/* ---- the return ---- */

/* The parts of the graph that are written under a condition, and the condition. */
typedef struct conditional {
    liana__graph_parts parts;
    liana__hlo assigns;
} conditional;

static void list_results(liana__lowering *l, const liana_graph *graph, const conditional *c, liana__hlo *results)
{
    for (size_t i = 0; i < liana__graph_num_results(graph); i++) {
        const liana__node *node = liana__graph_result(graph, i);
        results[i] = l->values[node->id];
        if (!c || i < graph->num_outputs || c->parts.variable_of[node->id]) continue;
        results[i] = liana__function_value_if(l, c->assigns, node, graph->assignments[i - graph->num_outputs].variable);
    }
}

static liana_status add_return(liana__lowering *l, const liana_graph *graph, const conditional *c)
{
    liana__hlo *results = liana__arena_allocate(&l->scratch, (liana__graph_num_results(graph) + 1) * sizeof *results);
    if (!results) return liana__hlo_fail_memory(l);
    list_results(l, graph, c, results);
    liana__hlo_return(l, results, liana__graph_num_results(graph));
    return LIANA_OK;
}

/* ---- nodes ---- */

static liana_status lower_nodes(liana__lowering *l, const liana_graph *graph, const bool *needed, const conditional *c)
{
    liana__recomputed_run run = {0};
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        if (!needed[id] || liana__is_input(node) || liana__is_variable(node)) continue;
        l->where = node->where;
        LIANA_TRY(liana__recomputed_step(l, graph, needed, id, &run));
        LIANA_TRY(liana__function_lower_node(l, node));
        if (c) liana__function_assign(l, &c->parts, node, c->assigns);
    }
    return LIANA_OK;
}

/* ---- functions ---- */

static const char *function_name(const liana__stablehlo_options *options)
{
    return options->function ? options->function : "main";
}

/* Writes the head, up to the body. */
static void begin_function(liana__lowering *l, const liana_graph *graph, const liana__stablehlo_options *options,
                           conditional *c)
{
    liana__text_add(&l->text, "  func.func %s @\"%s\"(\n", options->function_only ? "private" : "public",
                    function_name(options));
    add_arguments(l, graph, options);
    if (c) c->assigns = liana__function_add_condition(l);
    liana__text_add(&l->text, "  ) -> (");
    add_result_types(l, graph);
    liana__text_add(&l->text, ") {\n");
}

static liana_status lower_plain(liana__lowering *l, const liana_graph *graph, const liana__stablehlo_options *options,
                                const bool *needed, conditional *c)
{
    begin_function(l, graph, options, c);
    LIANA_TRY(lower_nodes(l, graph, needed, c));
    return add_return(l, graph, c);
}

/* The nodes that belong to no part. */
static liana_status lower_shared(liana__part_functions *f, const conditional *c)
{
    liana__part_nodes_list(f->parts, LIANA__PART_SHARED, NULL, &f->nodes);
    for (size_t i = 0; i < f->nodes.num_written; i++) {
        LIANA_TRY(liana__function_lower_node(f->lowering, f->nodes.written[i]));
        liana__function_assign(f->lowering, f->parts, f->nodes.written[i], c->assigns);
    }
    return LIANA_OK;
}

static liana_status lower_in_parts(liana__lowering *l, const liana_graph *graph,
                                   const liana__stablehlo_options *options, conditional *c)
{
    liana__part_functions f = {.lowering = l, .parts = &c->parts, .name = function_name(options)};
    LIANA_TRY(liana__part_functions_write(&f));
    begin_function(l, graph, options, c);
    LIANA_TRY(lower_shared(&f, c));
    liana__part_functions_call(&f, c->assigns);
    return add_return(l, graph, c);
}

static liana_status lower_function(liana__lowering *l, const liana_graph *graph,
                                   const liana__stablehlo_options *options, const bool *needed)
{
    if (!options->assigns_if) return lower_plain(l, graph, options, needed, NULL);
    conditional c = {0};
    LIANA_TRY(liana__graph_parts_find(graph, needed, &l->scratch, &c.parts, l->error));
    return options->calls_parts ? lower_in_parts(l, graph, options, &c) : lower_plain(l, graph, options, needed, &c);
}

static liana_status lower_graph(liana__lowering *l, const liana_graph *graph, const liana__stablehlo_options *options,
                                const bool *needed)
{
    if (!options->function_only) {
        liana__text_add(&l->text, "module @\"%s\" {\n", options->name ? options->name : "liana");
    }
    LIANA_TRY(lower_function(l, graph, options, needed));
    if (!options->function_only) liana__text_add(&l->text, "}\n");
    return l->text.failed ? liana__hlo_fail_memory(l) : LIANA_OK;
}

liana_status liana__stablehlo_print(const liana_graph *graph, const liana__stablehlo_options *options, char **text,
                                    liana__error *error)
{
    *text = NULL;
    static const liana__stablehlo_options defaults = {0};
    if (!options) options = &defaults;
    LIANA__SCOPED(liana__lowering)
    lowering = {.locations = options->locations,
                .highest_precision = options->highest_precision,
                .wide_products = options->wide_products,
                .for_cpus = options->for_cpus,
                .no_locations = options->no_locations,
                .error = error};
    bool *needed = liana__arena_allocate(&lowering.scratch, graph->num_nodes * sizeof *needed);
    lowering.values = liana__arena_allocate(&lowering.scratch, graph->num_nodes * sizeof *lowering.values);
    if (lowering.scratch.failed) return liana__hlo_fail_memory(&lowering);
    liana__graph_mark_needed(graph, needed);
    LIANA_TRY(lower_graph(&lowering, graph, options, needed));
    *text = lowering.text.data;
    lowering.text = (liana__text){0};
    return LIANA_OK;
}
