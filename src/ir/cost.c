/* The cost of nodes: the usual numbers of operations and bytes. */
#include "ir/op.h"

static double num_elements(const liana__node *node)
{
    return (double)liana_shape_size(&node->shape);
}

/* A node that is two inputs is read once. */
static double all_bytes(const liana__node *node)
{
    double bytes = (double)liana__byte_size(node->dtype, &node->shape);
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        bool seen = false;
        for (uint32_t k = 0; k < i; k++) seen = seen || node->inputs[k] == node->inputs[i];
        const liana__node *input = node->inputs[i];
        if (!seen) bytes += (double)liana__byte_size(input->dtype, &input->shape);
    }
    return bytes;
}

liana__cost liana__node_cost(const liana__node *node)
{
    liana__cost cost = {.bytes = all_bytes(node), .family = "data movement"};
    if (node->op->placement == LIANA__PLACE_ALIAS) cost.bytes = 0;
    if (node->op->cost) node->op->cost(node, &cost);
    const liana__precision_class precision = node->op->precision;
    if (precision == LIANA__MULTIPLIES || precision == LIANA__MULTIPLIES_AND_SUMS) cost.product_flops = cost.flops;
    return cost;
}

void liana__cost_element_wise(const liana__node *node, liana__cost *cost)
{
    cost->flops = num_elements(node);
    cost->family = "element-wise ops";
}

void liana__cost_reduction(const liana__node *node, liana__cost *cost)
{
    cost->flops = num_elements(node->inputs[0]);
    cost->family = "reductions";
}

void liana__cost_result_only(const liana__node *node, liana__cost *cost)
{
    cost->bytes = 2 * (double)liana__byte_size(node->dtype, &node->shape);
}
