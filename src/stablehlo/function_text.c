/* The lines of functions: arguments, nodes, new values of variables. */
#include "stablehlo/function_text.h"

void liana__function_add_argument(liana__lowering *l, const liana__node *node, const char *attribute, bool last)
{
    liana__hlo value = liana__hlo_parameter(l, node->dtype, node->shape);
    l->values[node->id] = value;
    liana__text_add(&l->text, "      %%%u: %s%s%s", value.id, liana__hlo_print_type(node->dtype, &node->shape).text,
                    attribute, last ? "  " : ",  ");
    liana__hlo_add_comment(l, node);
}

liana__hlo liana__function_add_condition(liana__lowering *l)
{
    liana__hlo value = liana__hlo_parameter(l, LIANA_BOOL, LIANA_SCALAR);
    liana__text_add(&l->text, "      %%%u: %s  // whether variables change\n", value.id,
                    liana__hlo_print_type(LIANA_BOOL, &value.shape).text);
    return value;
}

liana__hlo liana__function_value_if(liana__lowering *l, liana__hlo assigns, const liana__node *value,
                                    const liana__node *variable)
{
    return liana__hlo_select(l, assigns, l->values[value->id], l->values[variable->id]);
}

/* Selected at once, so that the selected value takes the variable's place, and no other copy of it lives on for those
 * that read it. */
void liana__function_assign(liana__lowering *l, const liana__graph_parts *parts, const liana__node *node,
                            liana__hlo assigns)
{
    const liana__node *variable = parts->variable_of[node->id];
    if (variable) l->values[node->id] = liana__function_value_if(l, assigns, node, variable);
}

static liana_status write_node(liana__lowering *l, const liana__node *node)
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

liana_status liana__function_lower_node(liana__lowering *l, const liana__node *node)
{
    l->where = node->where;
    liana__hlo_indent(l);
    liana__hlo_add_comment(l, node);
    liana_status status = write_node(l, node);
    if (status == LIANA_OK) return status;
    return liana__fail_within(l->error, "%s:%d: %s, node %zu", node->where.file, node->where.line,
                              liana__node_print(node).text, (size_t)node->id);
}
