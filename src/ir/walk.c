/* Walking a graph: its nodes, their inputs, and their attributes. */
#include "ir/body.h"
#include "ir/device_scope.h"

#include <liana/loops.h>

size_t liana_graph_count(const liana_graph *graph, liana_graph_list list)
{
    if (!graph) return 0;
    switch (list) {
    case LIANA_GRAPH_NODES: return graph->num_nodes - 1;
    case LIANA_GRAPH_INPUTS: return graph->num_inputs;
    case LIANA_GRAPH_VARIABLES: return graph->num_variables;
    case LIANA_GRAPH_OUTPUTS: return graph->num_outputs;
    case LIANA_GRAPH_ASSIGNMENTS: return graph->num_assignments;
    default: return 0;
    }
}

static liana_graph_item item_of(const liana_graph *graph, liana__node *node)
{
    const liana_tensor tensor = liana__node_tensor(graph, node);
    return (liana_graph_item){.tensor = tensor, .name = liana_tensor_name(tensor)};
}

liana_graph_item liana_graph_nth(const liana_graph *graph, liana_graph_list list, size_t index)
{
    liana_graph_item item = {.tensor = {(liana_graph *)graph, 0}};
    if (index >= liana_graph_count(graph, list)) return item;
    switch (list) {
    case LIANA_GRAPH_NODES: return item_of(graph, graph->nodes[index + 1]);
    case LIANA_GRAPH_INPUTS: return item_of(graph, graph->inputs[index]);
    case LIANA_GRAPH_VARIABLES: return item_of(graph, graph->variables[index]);
    case LIANA_GRAPH_OUTPUTS:
        item = item_of(graph, graph->outputs[index].node);
        item.name = graph->outputs[index].name;
        return item;
    case LIANA_GRAPH_ASSIGNMENTS:
        item = item_of(graph, graph->assignments[index].variable);
        item.value = liana__node_tensor(graph, graph->assignments[index].value);
        return item;
    default: return item;
    }
}

/* ---- nodes ---- */

static size_t count_fields(const liana__fields *fields)
{
    size_t count = 0;
    for (size_t i = 0; fields && i < fields->count; i++) {
        bool is_section = fields->items[i].kind == LIANA__FIELD_SECTION;
        count += is_section ? count_fields(fields->items[i].section) : 1;
    }
    return count;
}

liana_tensor_facts liana_tensor_info(liana_tensor tensor)
{
    const liana__node *node = liana__tensor_node(tensor);
    if (!node) return (liana_tensor_facts){0};
    return (liana_tensor_facts){.op = node->op->name,
                                .num_inputs = node->num_inputs,
                                .here = node->where,
                                .device = liana__tensor_device(tensor),
                                .constant = liana__is_constant(node) ? liana__constant_data(node) : NULL,
                                .num_attributes = count_fields(node->op->attributes)};
}

liana_tensor liana_tensor_input(liana_tensor tensor, size_t index)
{
    const liana__node *node = liana__tensor_node(tensor);
    return liana__node_tensor(tensor.graph, node && index < node->num_inputs ? node->inputs[index] : NULL);
}

const liana_graph *liana_tensor_body(liana_tensor tensor, size_t index)
{
    const liana__node *node = liana__tensor_node(tensor);
    return node && index < node->op->num_bodies ? liana__node_body(node, index) : NULL;
}

/* ---- attributes ---- */

static liana_attribute read_field(const liana__field *field, const char *object)
{
    const void *member = object + field->offset;
    liana_attribute out = {.name = field->name};
    switch (field->kind) {
    case LIANA__FIELD_BOOL:
        out.kind = LIANA_ATTRIBUTE_BOOL;
        out.boolean = *(const bool *)member;
        break;
    case LIANA__FIELD_INT:
        out.kind = LIANA_ATTRIBUTE_INT;
        out.integer = *(const int64_t *)member;
        break;
    case LIANA__FIELD_FLOAT:
        out.kind = LIANA_ATTRIBUTE_FLOAT;
        out.number = *(const double *)member;
        break;
    case LIANA__FIELD_ENUM:
        out.kind = LIANA_ATTRIBUTE_TEXT;
        out.text = field->names[*(const int *)member];
        break;
    case LIANA__FIELD_INT_PAIR:
        out.kind = LIANA_ATTRIBUTE_INTS;
        out.num_ints = 2;
        out.ints = member;
        break;
    case LIANA__FIELD_INTS: {
        const liana__ints *ints = member;
        out.kind = LIANA_ATTRIBUTE_INTS;
        out.num_ints = ints->count > 0 ? (size_t)ints->count : 0;
        out.ints = ints->values;
        break;
    }
    default: out.kind = LIANA_ATTRIBUTE_TEXT; break;
    }
    return out;
}

/* Visits the fields one by one, those of sections in the section's place, until `wanted` (by name, or where that is
 * NULL by number) is found. *index counts down. */
static bool visit(const liana__fields *fields, const char *object, const char *wanted, size_t *index,
                  liana_attribute *out)
{
    for (size_t i = 0; fields && i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        if (field->kind == LIANA__FIELD_SECTION) {
            if (visit(field->section, object + field->offset, wanted, index, out)) return true;
            continue;
        }
        bool found = wanted ? strcmp(field->name, wanted) == 0 : *index == 0;
        if (found && out) *out = read_field(field, object);
        if (found) return true;
        *index -= !wanted;
    }
    return false;
}

bool liana_tensor_attribute(liana_tensor tensor, size_t index, liana_attribute *attribute)
{
    const liana__node *node = liana__tensor_node(tensor);
    if (attribute) *attribute = (liana_attribute){0};
    return node && visit(node->op->attributes, node->attributes, NULL, &index, attribute);
}

bool liana_tensor_find_attribute(liana_tensor tensor, const char *name, liana_attribute *attribute)
{
    const liana__node *node = liana__tensor_node(tensor);
    size_t index = 0;
    if (attribute) *attribute = (liana_attribute){0};
    return node && name && visit(node->op->attributes, node->attributes, name, &index, attribute);
}
