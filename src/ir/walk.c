/* Walking a graph: its nodes, what they read, and their attributes. */
#include "ir/graph.h"

static liana_tensor nth(const liana_graph *graph, liana__node *const *nodes, size_t count, size_t index)
{
    return liana__node_tensor(graph, index < count ? nodes[index] : NULL);
}

size_t liana_graph_num_nodes(const liana_graph *graph)
{
    return graph ? graph->num_nodes - 1 : 0;
}

liana_tensor liana_graph_node(const liana_graph *graph, size_t index)
{
    return index < liana_graph_num_nodes(graph) ? liana__node_tensor(graph, graph->nodes[index + 1])
                                                : (liana_tensor){(liana_graph *)graph, 0};
}

size_t liana_graph_num_inputs(const liana_graph *graph)
{
    return graph ? graph->num_inputs : 0;
}

liana_tensor liana_graph_nth_input(const liana_graph *graph, size_t index)
{
    return graph ? nth(graph, graph->inputs, graph->num_inputs, index) : (liana_tensor){0};
}

size_t liana_graph_num_variables(const liana_graph *graph)
{
    return graph ? graph->num_variables : 0;
}

liana_tensor liana_graph_nth_variable(const liana_graph *graph, size_t index)
{
    return graph ? nth(graph, graph->variables, graph->num_variables, index) : (liana_tensor){0};
}

size_t liana_graph_num_outputs(const liana_graph *graph)
{
    return graph ? graph->num_outputs : 0;
}

liana_tensor liana_graph_nth_output(const liana_graph *graph, size_t index, const char **name)
{
    const liana__output *output = index < liana_graph_num_outputs(graph) ? &graph->outputs[index] : NULL;
    if (name) *name = output ? output->name : NULL;
    return liana__node_tensor(graph, output ? output->node : NULL);
}

size_t liana_graph_num_assignments(const liana_graph *graph)
{
    return graph ? graph->num_assignments : 0;
}

liana_tensor liana_graph_nth_assignment(const liana_graph *graph, size_t index, liana_tensor *value)
{
    const liana__assignment *one = index < liana_graph_num_assignments(graph) ? &graph->assignments[index] : NULL;
    if (value) *value = liana__node_tensor(graph, one ? one->value : NULL);
    return liana__node_tensor(graph, one ? one->variable : NULL);
}

/* ---- nodes ---- */

const char *liana_tensor_op(liana_tensor tensor)
{
    const liana__node *node = liana__tensor_node(tensor);
    return node ? node->op->name : NULL;
}

size_t liana_tensor_num_inputs(liana_tensor tensor)
{
    const liana__node *node = liana__tensor_node(tensor);
    return node ? node->num_inputs : 0;
}

liana_tensor liana_tensor_input(liana_tensor tensor, size_t index)
{
    const liana__node *node = liana__tensor_node(tensor);
    return liana__node_tensor(tensor.graph, node && index < node->num_inputs ? node->inputs[index] : NULL);
}

liana_location liana_tensor_location(liana_tensor tensor)
{
    const liana__node *node = liana__tensor_node(tensor);
    return node ? node->where : (liana_location){0};
}

const void *liana_tensor_constant(liana_tensor tensor)
{
    const liana__node *node = liana__tensor_node(tensor);
    return node && liana__is_constant(node) ? liana__constant_data(node) : NULL;
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

static size_t count_fields(const liana__fields *fields)
{
    size_t count = 0;
    for (size_t i = 0; fields && i < fields->count; i++) {
        bool is_section = fields->items[i].kind == LIANA__FIELD_SECTION;
        count += is_section ? count_fields(fields->items[i].section) : 1;
    }
    return count;
}

size_t liana_tensor_num_attributes(liana_tensor tensor)
{
    const liana__node *node = liana__tensor_node(tensor);
    return node ? count_fields(node->op->attributes) : 0;
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
