/* Batch normalisation [+ a residual] [and relu, relu6 or swish] becomes one op that reads and writes images once.
 *
 * Backward: if only the normalisation reads the part of dy that the activation lets pass, both ops of its gradient
 * compute that part again from x, instead of writing and reading it twice. Swish's gradient needs its input; so the
 * normalised images are then never written either. */
#include "ops/gradients.h"
#include "ops/norm/batch_norm.h"
#include "passes/pass.h"

/* The replacement of a node, by its id. */
typedef struct fusion {
    const liana__node *norm;     /* the normalisation that it takes in; NULL: the node stays */
    const liana__node *residual; /* NULL: none */
    const liana__node *dy;       /* for a gradient's op: before the activation */
    int activation;
} fusion;

/* ---- patterns ---- */

static bool is_norm_gradient(const liana__node *node)
{
    return node->op == &liana__op_batch_norm_gradient_sums || node->op == &liana__op_batch_norm_input_gradient;
}

static int activation_of(const liana__op *op)
{
    if (op == &liana__op_relu) return LIANA__FUSED_RELU;
    if (op == &liana__op_relu6) return LIANA__FUSED_RELU6;
    return op == &liana__op_swish ? LIANA__FUSED_SWISH : LIANA__FUSED_LINEAR;
}

/* The same of an op that passes a gradient through an activation. */
static int activation_of_gate(const liana__op *op)
{
    if (op == &liana__op_relu_gradient) return LIANA__FUSED_RELU;
    if (op == &liana__op_relu6_gradient) return LIANA__FUSED_RELU6;
    return op == &liana__op_swish_gradient ? LIANA__FUSED_SWISH : LIANA__FUSED_LINEAR;
}

/* Nobody but one node reads it. */
static bool has_one_reader(const liana__rewriter *rewriter, const liana__node *node)
{
    return rewriter->num_uses[node->id] == 1;
}

static bool same_type(const liana__node *a, const liana__node *b)
{
    return a->dtype == b->dtype && liana_shape_equal(&a->shape, &b->shape);
}

/* A normalisation that only this sum reads, and the other term. */
static bool find_residual(const liana__rewriter *rewriter, const liana__node *add, fusion *found)
{
    for (int i = 0; i < 2; i++) {
        const liana__node *norm = add->inputs[i], *residual = add->inputs[1 - i];
        if (!norm->op->with_activation || !has_one_reader(rewriter, norm) || !same_type(norm, residual)) continue;
        found->norm = norm;
        found->residual = residual;
        return true;
    }
    return false;
}

/* Finds an activation or a sum after a normalisation. `gates`: by id, how many of its readers are gates that will not
 * be needed. */
static void find_forward(const liana__rewriter *rewriter, const liana__node *node, const uint32_t *gates, fusion *found)
{
    int activation = activation_of(node->op);
    if (activation == LIANA__FUSED_LINEAR) {
        if (node->op == &liana__op_add) find_residual(rewriter, node, found);
        return;
    }
    const liana__node *seen = node->inputs[0];
    if (rewriter->num_uses[seen->id] != 1 + gates[seen->id]) return;
    if (seen->op->with_activation) found->norm = seen;
    if (seen->op == &liana__op_add) find_residual(rewriter, seen, found);
    found->activation = activation;
}

/* The normalisation in front of the activation through which `gate` passes a gradient; NULL if there is none. Gates of
 * relu and relu6 read the activation's result, that of swish its input. */
static const liana__node *norm_before(const liana__node *gate)
{
    int activation = activation_of_gate(gate->op);
    if (activation == LIANA__FUSED_LINEAR || !same_type(gate->inputs[0], gate->inputs[1])) return NULL;
    const liana__node *norm = gate->inputs[0];
    if (activation != LIANA__FUSED_SWISH) {
        if (activation_of(norm->op) != activation) return NULL;
        norm = norm->inputs[0];
    }
    return norm->op == &liana__op_batch_norm_training ? norm : NULL;
}

/* The same, if `node` is an op of that normalisation's gradient; its dy is the gate. */
static const liana__node *norm_of_gradient(const liana__node *node)
{
    if (!is_norm_gradient(node)) return NULL;
    const liana__node *norm = norm_before(node->inputs[1]);
    size_t statistics = node->op == &liana__op_batch_norm_gradient_sums ? 2 : 3;
    bool fits = norm && norm->inputs[0] == node->inputs[0] && norm->inputs[3] == node->inputs[statistics] &&
                liana__batch_norm_epsilon(norm) == liana__batch_norm_epsilon(node);
    return fits ? norm : NULL;
}

/* ---- the pass ---- */

/* Finds the fused nodes of the backward part. `readers`: for each gate, the number of readers that do not need it.
 * `gates`: for each node, the number of gates among its readers that nobody needs. */
static void find_gradients(const liana__rewriter *rewriter, fusion *fusions, uint32_t *readers, uint32_t *gates)
{
    const liana_graph *graph = rewriter->old;
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        if (norm_of_gradient(node)) readers[node->inputs[1]->id]++;
    }
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id], *norm = norm_of_gradient(node);
        if (readers[id] > 0 && readers[id] == rewriter->num_uses[id]) gates[node->inputs[0]->id]++;
        if (!norm) continue;
        const liana__node *gate = node->inputs[1];
        if (readers[gate->id] != rewriter->num_uses[gate->id]) continue;
        fusions[id] = (fusion){norm, NULL, gate->inputs[1], activation_of_gate(gate->op)};
    }
}

static liana_status analyse(liana__rewriter *rewriter, liana__error *error)
{
    const liana_graph *graph = rewriter->old;
    fusion *fusions = liana__arena_allocate(&rewriter->arena, graph->num_nodes * sizeof *fusions);
    uint32_t *readers = liana__arena_allocate(&rewriter->arena, graph->num_nodes * sizeof *readers);
    uint32_t *gates = liana__arena_allocate(&rewriter->arena, graph->num_nodes * sizeof *gates);
    rewriter->analysis = fusions;
    if (rewriter->arena.failed) return liana__fail_memory(error, "fusing batch normalisation");
    find_gradients(rewriter, fusions, readers, gates);
    for (size_t id = 1; id < graph->num_nodes; id++) {
        if (!fusions[id].norm) find_forward(rewriter, graph->nodes[id], gates, &fusions[id]);
    }
    return LIANA_OK;
}

static liana_tensor fuse_forward(const liana__rewriter *rewriter, const fusion *f, const liana__node *node,
                                 const liana__batch_norm_attributes *attributes)
{
    liana_tensor inputs[6];
    uint32_t count = f->norm->num_inputs;
    for (uint32_t i = 0; i < count; i++) inputs[i] = rewriter->map[f->norm->inputs[i]->id];
    if (f->residual) inputs[count++] = rewriter->map[f->residual->id];
    return liana__build(node->where, rewriter->graph, f->norm->op->with_activation, inputs, count, attributes);
}

static liana_tensor fuse_gradient(const liana__rewriter *rewriter, const fusion *f, const liana__node *node,
                                  const liana__batch_norm_attributes *attributes)
{
    const liana_tensor *map = rewriter->map;
    liana_tensor x = map[node->inputs[0]->id], dy = map[f->dy->id];
    liana_tensor gamma = map[f->norm->inputs[1]->id], beta = map[f->norm->inputs[2]->id];
    liana_tensor statistics = map[f->norm->inputs[3]->id];
    if (node->op == &liana__op_batch_norm_gradient_sums) {
        const liana_tensor inputs[] = {x, dy, statistics, gamma, beta};
        return liana__build(node->where, rewriter->graph, &liana__op_batch_norm_activation_gradient_sums, inputs, 5,
                            attributes);
    }
    const liana_tensor inputs[] = {x, dy, map[node->inputs[2]->id], statistics, map[node->inputs[4]->id], beta};
    return liana__build(node->where, rewriter->graph, &liana__op_batch_norm_activation_input_gradient, inputs, 6,
                        attributes);
}

static liana_tensor rewrite(const liana__rewriter *rewriter, const liana__node *node)
{
    const fusion *f = &((const fusion *)rewriter->analysis)[node->id];
    if (!f->norm) return (liana_tensor){0};
    liana__batch_norm_attributes attributes = *(const liana__batch_norm_attributes *)f->norm->attributes;
    attributes.activation = f->activation;
    return f->dy ? fuse_gradient(rewriter, f, node, &attributes) : fuse_forward(rewriter, f, node, &attributes);
}

const liana__pass liana__pass_fuse_batch_norm = {
    .name = "fuse_batch_norm",
    .doc = "Batch normalisation, a residual and an activation in one pass over the images, forward and backward.",
    .analyse = analyse,
    .rewrite = rewrite,
};
