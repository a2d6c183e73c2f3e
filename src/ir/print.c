/* Graphs as text and as Graphviz dot. */
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

char *liana_graph_text(const liana_graph *graph)
{
    if (!graph) return NULL;
    liana__text text = {0};
    for (size_t id = 1; id < graph->num_nodes; id++) {
        liana__text_add(&text, "%%%zu = ", id);
        add_node(graph, graph->nodes[id], &text);
        liana__text_add(&text, "\n");
    }
    for (size_t i = 0; i < graph->num_outputs; i++) {
        liana__text_add(&text, "output \"%s\" %%%u\n", graph->outputs[i].name, graph->outputs[i].node->id);
    }
    for (size_t i = 0; i < graph->num_assignments; i++) {
        liana__text_add(&text, "assign \"%s\" %%%u\n", graph->assignments[i].variable->name,
                        graph->assignments[i].value->id);
    }
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

char *liana_graph_dot(const liana_graph *graph)
{
    if (!graph) return NULL;
    liana__text text = {0};
    liana__text_add(&text, "digraph liana {\n  node [shape=box, fontname=\"monospace\"];\n");
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        liana__text label = {0};
        add_node(graph, node, &label);
        liana__text_add(&text, "  n%zu [label=\"", id);
        add_escaped(label.data ? label.data : "", &text);
        liana__text_add(&text, "\"];\n");
        liana__text_free(&label);
        for (uint32_t i = 0; i < node->num_inputs; i++) {
            liana__text_add(&text, "  n%u -> n%zu;\n", node->inputs[i]->id, id);
        }
    }
    for (size_t i = 0; i < graph->num_outputs; i++) {
        liana__text_add(&text, "  o%zu [label=\"", i);
        add_escaped(graph->outputs[i].name, &text);
        liana__text_add(&text, "\", shape=ellipse];\n  n%u -> o%zu;\n", graph->outputs[i].node->id, i);
    }
    liana__text_add(&text, "}\n");
    if (!text.failed) return text.data;
    liana__text_free(&text);
    return NULL;
}
