/* The averages of an optimizer, old + share * (value - old), with the division of the value by a count, become one op
 * each. So does Adam's step, x - rate * m / (sqrt(v) + epsilon). An update then reads and writes its tensors a few
 * times instead of a dozen times. */
#include "ir/graph.h"
#include "ops/fused/update_steps.h"
#include "passes/pass.h"

/* A node of this op that only its reader in the pattern needs. */
static bool is_inner(const liana__rewriter *rewriter, const liana__node *node, const liana__op *op)
{
    return node->op == op && rewriter->num_uses[node->id] == 1 && !node->name;
}

static bool is_scalar(const liana__node *node)
{
    return node->shape.rank == 0;
}

static bool same_shape(const liana__node *a, const liana__node *b)
{
    return liana_shape_equal(&a->shape, &b->shape);
}

static double value_of(const liana__node *constant)
{
    return (double)*(const float *)liana__constant_data(constant);
}

/* add(old, multiply(share, subtract(value, old))), where the value may be a square, and what is squared a quotient. */
typedef struct average {
    const liana__node *old, *value, *share;
    bool squares;
} average;

static bool find_average(const liana__rewriter *rewriter, const liana__node *node, average *found)
{
    if (node->dtype != LIANA_F32 || node->shape.rank == 0 || node->op != &liana__op_add) return false;
    const liana__node *old = node->inputs[0], *change = node->inputs[1];
    if (!is_inner(rewriter, change, &liana__op_multiply) || !liana__is_constant(change->inputs[0]) ||
        !is_scalar(change->inputs[0]) || !is_inner(rewriter, change->inputs[1], &liana__op_subtract)) {
        return false;
    }
    const liana__node *value = change->inputs[1]->inputs[0];
    if (change->inputs[1]->inputs[1] != old || !same_shape(node, old) || !same_shape(node, value)) return false;
    *found = (average){old, value, change->inputs[0], is_inner(rewriter, value, &liana__op_square)};
    if (found->squares) found->value = value->inputs[0];
    return true;
}

static bool is_quotient(const liana__node *node)
{
    return node->op == &liana__op_divide && is_scalar(node->inputs[1]) && same_shape(node, node->inputs[0]);
}

/* By old id: how many averages read it. */
static liana_status count_averages(liana__rewriter *rewriter, liana__error *error)
{
    const liana_graph *graph = rewriter->old;
    uint32_t *counts = liana__arena_allocate(&rewriter->arena, graph->num_nodes * sizeof *counts);
    if (!counts) return liana__fail_memory(error, "a pass");
    for (size_t id = 1; id < graph->num_nodes; id++) {
        average found;
        if (find_average(rewriter, graph->nodes[id], &found)) counts[found.value->id]++;
    }
    rewriter->analysis = counts;
    return LIANA_OK;
}

/* Averages compute a mean of shards' sums that only they read. So it is not written to memory. */
static liana_tensor fuse_average(const liana__rewriter *rewriter, const liana__node *node)
{
    average found;
    if (!find_average(rewriter, node, &found)) return (liana_tensor){0};
    const uint32_t *counts = rewriter->analysis;
    const liana__moving_average_attributes attributes = {value_of(found.share), found.squares};
    const liana__node *value = found.value;
    const bool divides = is_quotient(value) && !value->name && counts[value->id] == rewriter->num_uses[value->id];
    const liana_tensor *map = rewriter->map;
    const liana__node *sum = divides ? value->inputs[0] : value, *count = divides ? value->inputs[1] : value;
    const liana_tensor inputs[] = {map[found.old->id], map[sum->id], map[count->id]};
    return liana__build(node->where, rewriter->graph, &liana__op_moving_average, inputs, divides ? 3 : 2, &attributes);
}

/* subtract(x, divide(multiply(rate, m), add(sqrt(v), epsilon))) */
static liana_tensor fuse_descent(const liana__rewriter *rewriter, const liana__node *node)
{
    const liana__node *x = node->inputs[0], *step = node->inputs[1];
    if (!is_inner(rewriter, step, &liana__op_divide)) return (liana_tensor){0};
    const liana__node *change = step->inputs[0], *sum = step->inputs[1];
    if (!is_inner(rewriter, change, &liana__op_multiply) || !is_inner(rewriter, sum, &liana__op_add) ||
        !is_inner(rewriter, sum->inputs[0], &liana__op_sqrt) || !liana__is_constant(sum->inputs[1]) ||
        !is_scalar(sum->inputs[1]) || !is_scalar(change->inputs[0])) {
        return (liana_tensor){0};
    }
    const liana__node *rate = change->inputs[0], *mean = change->inputs[1], *square = sum->inputs[0]->inputs[0];
    if (!same_shape(node, x) || !same_shape(node, mean) || !same_shape(node, square)) return (liana_tensor){0};
    const liana__root_descent_attributes attributes = {value_of(sum->inputs[1])};
    const liana_tensor *map = rewriter->map, inputs[] = {map[x->id], map[mean->id], map[square->id], map[rate->id]};
    return liana__build(node->where, rewriter->graph, &liana__op_root_descent, inputs, 4, &attributes);
}

static liana_tensor rewrite(const liana__rewriter *rewriter, const liana__node *node)
{
    if (node->dtype != LIANA_F32 || node->shape.rank == 0) return (liana_tensor){0};
    if (node->op == &liana__op_add) return fuse_average(rewriter, node);
    if (node->op == &liana__op_subtract) return fuse_descent(rewriter, node);
    return (liana_tensor){0};
}

const liana__pass liana__pass_fuse_update = {
    .name = "fuse_update",
    .doc = "The averages and the step of an optimizer in one pass over each tensor.",
    .analyse = count_averages,
    .rewrite = rewrite,
};
