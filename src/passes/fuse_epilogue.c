/* A convolution [+ a bias], batch normalisation with fixed statistics [+ a residual] [and an activation] become one op,
 * which finishes each sum before it stores it. Where no kernel for that is as fast, a bias at least is taken off the
 * mean instead of being added to all images.
 *
 * Behind fuse_batch_norm, which has put residual and activation into the normalisation. The result is rounded to bf16
 * once, and scaled as x s + (beta - mean s): in f32 that is as exact as the sum x is. */
#include "base/context.h"
#include "ops/fused/conv2d_affine.h"
#include "passes/pass.h"

/* The fused nodes; NULL: there is no such node. */
typedef struct chain {
    const liana__node *conv;
    const liana__node *bias;
    const liana__node *residual;
} chain;

static bool is_norm(const liana__node *node)
{
    return node->op == &liana__op_batch_norm_inference || node->op == &liana__op_batch_norm_inference_activation;
}

/* Nodes replaced by fuse_batch_norm still read convolutions; only nodes that are needed count. */
static liana_status analyse(liana__rewriter *rewriter, liana__error *error)
{
    const liana_graph *graph = rewriter->old;
    bool *needed = liana__arena_allocate(&rewriter->arena, graph->num_nodes * sizeof *needed);
    uint32_t *num_readers = liana__arena_allocate(&rewriter->arena, graph->num_nodes * sizeof *num_readers);
    rewriter->analysis = num_readers;
    if (rewriter->arena.failed) return liana__fail_memory(error, "fusing what follows convolutions");
    liana__graph_mark_needed(graph, needed);
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        for (uint32_t i = 0; needed[id] && i < node->num_inputs; i++) num_readers[node->inputs[i]->id]++;
    }
    for (size_t i = 0; i < liana__graph_num_results(graph); i++) num_readers[liana__graph_result(graph, i)->id]++;
    return LIANA_OK;
}

static bool has_one_reader(const liana__rewriter *rewriter, const liana__node *node)
{
    return ((const uint32_t *)rewriter->analysis)[node->id] == 1;
}

/* A term for each channel, read in one place only. */
static bool adds_bias(const liana__rewriter *rewriter, const liana__node *node)
{
    if (node->op != &liana__op_add || !has_one_reader(rewriter, node)) return false;
    const liana_shape *bias = liana__input_shape(node, 1);
    return bias->rank == 1 && bias->dims[0] == node->shape.dims[node->shape.rank - 1];
}

/* Each node between the convolution and the normalisation must have only the next node as its reader. */
static bool find_chain(const liana__rewriter *rewriter, const liana__node *norm, chain *c)
{
    if (!is_norm(norm)) return false;
    const liana__node *node = norm->inputs[0];
    *c = (chain){.residual = norm->num_inputs > 5 ? norm->inputs[5] : NULL};
    if (adds_bias(rewriter, node)) {
        c->bias = node->inputs[1];
        node = node->inputs[0];
    }
    c->conv = node;
    return node->op->with_epilogue && has_one_reader(rewriter, node) && node->dtype == norm->dtype;
}

static liana__conv_attributes attributes_of(const liana__node *norm, const liana__node *conv)
{
    const liana__batch_norm_attributes *of_norm = norm->attributes;
    const bool activates = norm->op == &liana__op_batch_norm_inference_activation;
    liana__conv_attributes attributes = *(const liana__conv_attributes *)conv->attributes;
    attributes.activation = activates ? of_norm->activation : LIANA__FUSED_LINEAR;
    return attributes;
}

static const liana__op *fused_op(const chain *c)
{
    const liana__op *op = c->conv->op->with_epilogue;
    return c->residual && liana__op_most_inputs(op) <= LIANA__RESIDUAL_INPUT ? NULL : op;
}

/* Whether a kernel better than the plain loop wants to compute all of it. */
static bool has_kernel(const liana__rewriter *rewriter, const liana__node *norm, const chain *c)
{
    const liana__conv_attributes attributes = attributes_of(norm, c->conv);
    liana__node fused = *c->conv;
    fused.op = fused_op(c);
    fused.attributes = &attributes;
    /* With the exact exponentials of f32, swish in a pass of its own measures faster. */
    const bool slow = attributes.activation == LIANA__FUSED_SWISH && fused.dtype == LIANA_F32;
    if (!fused.op || slow) return false;
    const liana__kernel *const *kernel = fused.op->kernels;
    while (kernel[1] && liana__kernel_declines(*kernel, &fused, rewriter->old->context->isa)) kernel++;
    return kernel[1];
}

/* Parameters are wide; a bias of bf16 is that of its f32 one. */
static liana_tensor wide_bias(const liana__rewriter *rewriter, const liana__node *norm, const liana__node *bias)
{
    const liana_dtype wide = norm->inputs[1]->dtype;
    if (bias->op == &liana__op_cast && bias->inputs[0]->dtype == wide) bias = bias->inputs[0];
    return liana_op_cast_at(norm->where, rewriter->map[bias->id], wide);
}

static liana_tensor fuse(const liana__rewriter *rewriter, const liana__node *norm, const chain *c)
{
    const liana_tensor *map = rewriter->map;
    liana_tensor parameters[4];
    for (int i = 0; i < 4; i++) parameters[i] = map[norm->inputs[1 + i]->id];
    const liana_tensor bias = c->bias ? wide_bias(rewriter, norm, c->bias) : (liana_tensor){0};
    const double epsilon = ((const liana__batch_norm_attributes *)norm->attributes)->epsilon;
    const liana__conv_attributes attributes = attributes_of(norm, c->conv);
    const liana_tensor inputs[] = {map[c->conv->inputs[0]->id], map[c->conv->inputs[1]->id],
                                   liana__op_batch_norm_affine_at(norm->where, parameters, bias, epsilon),
                                   c->residual ? map[c->residual->id] : (liana_tensor){0}};
    return liana__build(norm->where, rewriter->graph, fused_op(c), inputs, c->residual ? 4 : 3, &attributes);
}

/* The normalisation with mean - bias. */
static liana_tensor move_bias(const liana__rewriter *rewriter, const liana__node *norm, const chain *c)
{
    enum { MEAN = 3 };
    liana_tensor inputs[6];
    for (uint32_t i = 0; i < norm->num_inputs; i++) inputs[i] = rewriter->map[norm->inputs[i]->id];
    inputs[0] = rewriter->map[c->conv->id];
    inputs[MEAN] = liana_op_subtract_at(norm->where, inputs[MEAN], wide_bias(rewriter, norm, c->bias));
    return liana__build(norm->where, rewriter->graph, norm->op, inputs, norm->num_inputs, norm->attributes);
}

static liana_tensor rewrite(const liana__rewriter *rewriter, const liana__node *node)
{
    chain c;
    if (!find_chain(rewriter, node, &c)) return (liana_tensor){0};
    if (has_kernel(rewriter, node, &c)) return fuse(rewriter, node, &c);
    return c.bias ? move_bias(rewriter, node, &c) : (liana_tensor){0};
}

const liana__pass liana__pass_fuse_epilogue = {
    .name = "fuse_epilogue",
    .doc = "Normalisation with fixed statistics, a residual and an activation are applied to a convolution's sums "
           "before they are stored.",
    .analyse = analyse,
    .rewrite = rewrite,
};
