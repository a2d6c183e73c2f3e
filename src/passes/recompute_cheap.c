/* What is cheap to compute is computed again where a gradient needs it, rather than kept from the forward part: a
 * normalisation or an activation reads a convolution's result, which is kept anyway for its own gradient, and costs a
 * few operations for each element. So nothing but the results of convolutions and the like crosses from the forward to
 * the backward part, and the copies live in the cache (slice_batch runs them next to their readers). */
#include "passes/pass.h"

#include <stdlib.h>

/* At most so many nodes are computed again for one: a residual sum of two normalised branches, and its activation. */
enum { MOST_NODES = 4 };

/* A clone serves the readers that are so many nodes away; others get one of their own. */
enum { REACH = 32 };

/* Beside a large result, an input of this share of its bytes (statistics of its channels) does not count. */
static const double SMALL_SHARE = 1.0 / 8;

/* Element 0 has what belongs to no node: in `clone`, the first node after the last one that waited for a sum over the
 * batch. Nodes on its two sides do not run together. */
typedef struct recipe {
    uint32_t last_use; /* by old id */
    uint32_t clone;    /* the newest one's id, or 0 */
    bool of_examples;  /* depends on an input of the graph */
    bool again;        /* is computed again where the backward part needs it */
} recipe;

static bool is_leaf(const liana__node *node)
{
    return !node->op->kernels;
}

static double bytes_of(const liana__node *node)
{
    return (double)liana__byte_size(node->dtype, &node->shape);
}

static bool is_backward(const liana_graph *graph, uint32_t id)
{
    return graph->first_gradient > 0 && id >= graph->first_gradient;
}

/* Ops of one pass over their inputs. */
static bool is_cheap(const liana__node *node)
{
    bool one_pass = node->op->placement == LIANA__PLACE_IN_PLACE || node->op == &liana__op_cast ||
                    node->op == &liana__op_broadcast_to;
    return one_pass && liana__node_parts(node).kind == LIANA__PART_ROWS;
}

/* Whether a reader that is computed again finds an input where it was, until the time `until`, at no cost. */
static bool is_there(const recipe *recipes, const liana__node *input, const liana__node *reader, uint32_t until)
{
    const recipe *own = &recipes[input->id];
    bool is_small = bytes_of(input) <= SMALL_SHARE * bytes_of(reader);
    return is_leaf(input) || is_small || (!own->again && own->last_use >= until);
}

/* How many nodes have to be computed again to have `node` at that time; more than MOST_NODES if it cannot be, or would
 * keep something that could otherwise be forgotten. */
static int count_nodes(const recipe *recipes, const liana__node *node, uint32_t until)
{
    if (!is_cheap(node)) return MOST_NODES + 1;
    int count = 1;
    for (uint32_t i = 0; i < node->num_inputs && count <= MOST_NODES; i++) {
        const liana__node *input = node->inputs[i];
        if (!is_there(recipes, input, node, until)) count += count_nodes(recipes, input, until);
    }
    return count;
}

static liana_status analyse(liana__rewriter *rewriter, liana__error *error)
{
    const liana_graph *graph = rewriter->old;
    recipe *recipes = calloc(graph->num_nodes, sizeof *recipes);
    bool *needed = calloc(graph->num_nodes, sizeof *needed);
    rewriter->analysis = recipes;
    if (!recipes || !needed) {
        free(needed);
        return liana__fail_memory(error, "a pass");
    }
    liana__graph_mark_needed(graph, needed);
    for (uint32_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        recipes[id].of_examples = liana__is_input(node);
        for (uint32_t i = 0; i < node->num_inputs; i++) {
            if (recipes[node->inputs[i]->id].of_examples) recipes[id].of_examples = true;
            if (needed[id]) recipes[node->inputs[i]->id].last_use = id;
        }
    }
    for (size_t i = 0; i < graph->num_outputs; i++) recipes[graph->outputs[i].node->id].last_use = UINT32_MAX;
    for (uint32_t id = 1; id < graph->num_nodes && !is_backward(graph, id); id++) {
        recipe *own = &recipes[id];
        bool far = own->last_use != UINT32_MAX && is_backward(graph, own->last_use);
        if (far && own->of_examples) {
            own->again = count_nodes(recipes, graph->nodes[id], own->last_use) <= MOST_NODES;
        }
    }
    free(needed);
    return LIANA_OK;
}

static liana_tensor clone_of(const liana__rewriter *rewriter, const liana__node *node, uint32_t until);

/* A node with clones in place of the inputs that are computed again: for a clone (`until` is not 0), all that will not
 * be there. */
static liana_tensor build_with_clones(const liana__rewriter *rewriter, const liana__node *node, uint32_t until)
{
    const recipe *recipes = rewriter->analysis;
    liana_tensor *inputs = malloc((node->num_inputs + 1) * sizeof *inputs);
    if (!inputs) {
        return liana__graph_fail(rewriter->graph, node->where, LIANA_OUT_OF_MEMORY, "out of memory for a pass");
    }
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        const recipe *own = &recipes[input->id];
        bool is_kept = until ? is_there(recipes, input, node, until) : !own->again;
        inputs[i] = is_kept ? rewriter->map[input->id] : clone_of(rewriter, input, until ? until : own->last_use);
    }
    liana_tensor made =
        liana__build(node->where, rewriter->graph, node->op, inputs, node->num_inputs, node->attributes);
    free(inputs);
    return made;
}

static liana_tensor clone_of(const liana__rewriter *rewriter, const liana__node *node, uint32_t until)
{
    recipe *recipes = rewriter->analysis, *own = &recipes[node->id];
    bool in_reach = own->clone >= recipes[0].clone && own->clone + REACH > rewriter->graph->num_nodes;
    if (!own->clone || !in_reach) own->clone = build_with_clones(rewriter, node, until).id;
    return (liana_tensor){rewriter->graph, own->clone};
}

/* Whether a node waits for a sum over the batch. */
static bool waits(const liana__node *node)
{
    const liana__parts parts = liana__node_parts(node);
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        liana__part_kind kind = liana__node_parts(node->inputs[i]).kind;
        bool is_sum = kind == LIANA__PART_SUM || kind == LIANA__PART_MERGE;
        if (is_sum && parts.kind == LIANA__PART_ROWS && liana__parts_is_whole(&parts, i)) return true;
    }
    return false;
}

static liana_tensor rewrite(const liana__rewriter *rewriter, const liana__node *node)
{
    recipe *recipes = rewriter->analysis;
    if (!is_backward(rewriter->old, node->id)) return (liana_tensor){0};
    if (waits(node)) recipes[0].clone = (uint32_t)rewriter->graph->num_nodes;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        if (recipes[node->inputs[i]->id].again) return build_with_clones(rewriter, node, 0);
    }
    return (liana_tensor){0};
}

const liana__pass liana__pass_recompute_cheap = {
    .name = "recompute_cheap",
    .doc = "Normalisations and activations are computed again for the gradient instead of being kept.",
    .analyse = analyse,
    .rewrite = rewrite,
};
