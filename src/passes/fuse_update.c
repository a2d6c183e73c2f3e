/* The averages of an optimizer, old + share * (value - old), and Adam's step, x - rate * m / (sqrt(v) + epsilon), become
 * one op each: an update then reads and writes its tensors a few times instead of a dozen times. */
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

/* add(old, multiply(share, subtract(value, old))) */
static liana_tensor fuse_average(const liana__rewriter *rewriter, const liana__node *node)
{
    const liana__node *old = node->inputs[0], *change = node->inputs[1];
    if (!is_inner(rewriter, change, &liana__op_multiply) || !liana__is_constant(change->inputs[0]) ||
        !is_scalar(change->inputs[0]) || !is_inner(rewriter, change->inputs[1], &liana__op_subtract)) {
        return (liana_tensor){0};
    }
    const liana__node *value = change->inputs[1]->inputs[0];
    if (change->inputs[1]->inputs[1] != old || !same_shape(node, old) || !same_shape(node, value)) {
        return (liana_tensor){0};
    }
    liana__moving_average_attributes attributes = {.share = value_of(change->inputs[0])};
    attributes.squares = is_inner(rewriter, value, &liana__op_square);
    if (attributes.squares) value = value->inputs[0];
    return liana__build2(node->where, &liana__op_moving_average, rewriter->map[old->id], rewriter->map[value->id],
                         &attributes);
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
    .rewrite = rewrite,
};
