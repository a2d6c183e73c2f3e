/* Graphs as text and as Graphviz dot. */
#include "ir/body.h"
#include "ir/device_scope.h"

#include "base/scoped.h"

static void add_attributes(const liana__node *node, liana__text *text)
{
    if (!node->op->attributes) return;
    LIANA__SCOPED(liana__arena) arena = {0};
    const liana__value *map = liana__fields_write(node->op->attributes, &arena, node->attributes);
    const char *before = " {";
    for (size_t i = 0; map && i < map->count; i++) {
        if (map->items[i]->kind == LIANA__VALUE_NULL) continue;
        liana__text_add(text, "%s%s = ", before, map->keys[i]);
        liana__value_write_json(map->items[i], 0, text);
        before = ", ";
    }
    if (*before == ',') liana__text_add(text, "}");
}

static void add_constant(const liana__node *node, liana__text *text)
{
    if (!liana__is_constant(node)) return;
    int64_t size = liana_shape_size(&node->shape), shown = size < 4 ? size : 4;
    liana__text_add(text, " [");
    for (int64_t i = 0; i < shown; i++) {
        liana__text_add(text, "%s%g", i ? ", " : "", liana__load(liana__constant_data(node), node->dtype, i));
    }
    liana__text_add(text, size > shown ? ", ...]" : "]");
}

static void add_node(const liana_graph *graph, const liana__node *node, liana__text *text)
{
    liana__text_add(text, "%s", node->op->name);
    if (node->name) liana__text_add(text, " \"%s\"", node->name);
    for (uint32_t i = 0; i < node->num_inputs; i++)
        liana__text_add(text, "%s%%%u", i ? ", " : " ", node->inputs[i]->id);
    add_attributes(node, text);
    add_constant(node, text);
    liana__text_add(text, " : %s", liana__type_print(node->dtype, &node->shape).text);
    const uint32_t scope = liana__scope_of(graph, node);
    if (scope) liana__text_add(text, " on \"%s\"", liana__scope_name(graph, scope));
}

/* A line for each node, output and assignment; below a node with bodies the lines of these, `indent` deeper. */
static void add_graph(const liana_graph *graph, int indent, liana__text *text)
{
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        liana__text_add(text, "%*s%%%zu = ", indent, "", id);
        add_node(graph, node, text);
        liana__text_add(text, "\n");
        for (size_t i = 0; i < node->op->num_bodies; i++) {
            liana__text_add(text, "%*sbody %zu:\n", indent + 2, "", i);
            add_graph(liana__node_body(node, i), indent + 4, text);
        }
    }
    for (size_t i = 0; i < graph->num_outputs; i++) {
        liana__text_add(text, "%*soutput \"%s\" %%%u\n", indent, "", graph->outputs[i].name,
                        graph->outputs[i].node->id);
    }
    for (size_t i = 0; i < graph->num_assignments; i++) {
        liana__text_add(text, "%*sassign \"%s\" %%%u\n", indent, "", graph->assignments[i].variable->name,
                        graph->assignments[i].value->id);
    }
}

char *liana_graph_text(const liana_graph *graph)
{
    if (!graph) return NULL;
    liana__text text = {0};
    add_graph(graph, 0, &text);
    if (!text.failed) return text.data ? text.data : strdup("");
    liana__text_free(&text);
    return NULL;
}

/* Dot strings: quotes and backslashes are escaped. */
static void add_escaped(const char *plain, liana__text *text)
{
    for (; *plain; plain++) {
        if (*plain == '"' || *plain == '\\') liana__text_add(text, "\\");
        liana__text_add_bytes(text, plain, 1);
    }
}

/* The names of nodes begin with `prefix`. A body is a cluster of its own, joined to its node by a dashed line. */
static void add_dot(const liana_graph *graph, const char *prefix, liana__text *text)
{
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        LIANA__SCOPED(liana__text) label = {0};
        add_node(graph, node, &label);
        liana__text_add(text, "  %sn%zu [label=\"", prefix, id);
        add_escaped(label.data ? label.data : "", text);
        liana__text_add(text, "\"];\n");
        for (uint32_t i = 0; i < node->num_inputs; i++) {
            liana__text_add(text, "  %sn%u -> %sn%zu;\n", prefix, node->inputs[i]->id, prefix, id);
        }
        for (size_t i = 0; i < node->op->num_bodies; i++) {
            LIANA__SCOPED(liana__text) inner = {0};
            liana__text_add(&inner, "%sn%zub%zu_", prefix, id, i);
            if (!inner.data) continue;
            liana__text_add(text, "  subgraph cluster_%s {\n", inner.data);
            add_dot(liana__node_body(node, i), inner.data, text);
            liana__text_add(text, "  }\n  %so0 -> %sn%zu [style=dashed];\n", inner.data, prefix, id);
        }
    }
    for (size_t i = 0; i < graph->num_outputs; i++) {
        liana__text_add(text, "  %so%zu [label=\"", prefix, i);
        add_escaped(graph->outputs[i].name, text);
        liana__text_add(text, "\", shape=ellipse];\n  %sn%u -> %so%zu;\n", prefix, graph->outputs[i].node->id, prefix,
                        i);
    }
}

char *liana_graph_dot(const liana_graph *graph)
{
    if (!graph) return NULL;
    liana__text text = {0};
    liana__text_add(&text, "digraph liana {\n  node [shape=box, fontname=\"monospace\"];\n");
    add_dot(graph, "", &text);
    liana__text_add(&text, "}\n");
    if (!text.failed) return text.data;
    liana__text_free(&text);
    return NULL;
}
