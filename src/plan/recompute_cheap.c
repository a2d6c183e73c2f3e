/* Recomputes cheap nodes where a gradient needs them, instead of keeping them from the forward part. A normalisation or
 * an activation reads a convolution's result, which is kept for its own gradient anyway, and costs a few operations for
 * each element. So little more than the results of convolutions crosses from the forward to the backward part, and the
 * copies stay in the cache (slice_batch runs them next to their readers). */
#include "base/scoped.h"
#include "passes/pass.h"
#include "plan/recompute.h"

#include <stdlib.h>
#include <string.h>

/* The largest number of nodes to recompute for one: a residual sum of two normalised branches, and its activation. */
enum { MOST_NODES = 6 };

/* The distance, in nodes, up to which readers share a recomputed node; farther readers get one of their own. A
 * concatenation reads tensors that have long left the cache; so one of it is also shared by readers on both sides of a
 * sum over the batch. */
enum { REACH = 32 };

/* Next to a large result, an input of this share of its bytes (statistics of its channels) does not count. */
static const double SMALL_SHARE = 1.0 / 8;

/* Rounded kernels of this many bytes or more are not held from the forward to the backward part. */
static const double LARGE_KERNEL = 1 << 19;

/* A concatenation is made again if the tensors that are kept for it alone are at most this share of its bytes. */
static const double KEPT_SHARE = 0.5;

/* Element 0 has the facts that belong to no node: in `clone`, the first node after the last one that waited for a sum
 * over the batch. Nodes on its two sides do not run together. */
typedef struct recipe {
    uint32_t last_use; /* by old id */
    uint32_t clone;    /* the newest one's id, or 0 */
    bool of_examples;  /* depends on an input of the graph */
    bool again;        /* is computed again where the backward part needs it */
    bool kept;         /* a piece of concatenations that are computed again */
} recipe;

static bool is_backward(const liana_graph *graph, uint32_t id)
{
    return graph->first_gradient > 0 && id >= graph->first_gradient;
}

bool liana__is_cast_twice(const liana_graph *graph, const liana__node *node)
{
    return graph->first_gradient > 0 && node->op == &liana__op_cast && node->shape.rank == 4 &&
           liana__is_of_weights(node) && liana__node_bytes(node) >= LARGE_KERNEL;
}

/* Ops with one pass over their inputs. Padding is cheap if it is small compared with the image. */
static bool is_cheap(const liana__node *node)
{
    bool one_pass = node->op->placement == LIANA__PLACE_IN_PLACE || node->op == &liana__op_cast ||
                    node->op == &liana__op_broadcast_to ||
                    (node->op == &liana__op_pad && liana__node_bytes(node) < 1.5 * liana__node_bytes(node->inputs[0]));
    return one_pass && liana__node_parts(node).kind == LIANA__PART_ROWS;
}

/* Whether a recomputed reader finds an input in memory, until the time `until`, at no cost. */
static bool is_there(const recipe *recipes, const liana__node *input, const liana__node *reader, uint32_t until)
{
    const recipe *own = &recipes[input->id];
    bool is_small = liana__node_bytes(input) <= SMALL_SHARE * liana__node_bytes(reader);
    return liana__is_leaf(input) || is_small || (!own->again && own->last_use >= until);
}

/* ---- concatenations ----
 *
 * In a dense block each layer reads the results of all layers before it, in a copy that grows from layer to layer. The
 * pieces are small compared with the copies. So each piece is kept once, in its place, and the copies are made
 * again. */

static bool is_concat(const liana__node *node)
{
    return node->op == &liana__op_concat && liana__node_parts(node).kind == LIANA__PART_ROWS;
}

/* Whether an input of a concatenation is one along the same axis. */
static bool is_nested(const liana__node *outer, const liana__node *input)
{
    return input->op == outer->op && memcmp(input->attributes, outer->attributes, outer->op->attributes->size) == 0;
}

/* Calls `visit` for the pieces of a concatenation of concatenations, in order, until it returns false. */
static bool visit_pieces(const liana__node *node, bool (*visit)(void *user, const liana__node *piece), void *user)
{
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        bool goes_on = is_nested(node, input) ? visit_pieces(input, visit, user) : visit(user, input);
        if (!goes_on) return false;
    }
    return true;
}

typedef struct pieces {
    recipe *recipes;
    const liana__node *whole;
    double new_bytes; /* of pieces that are kept only for it */
    size_t count;
    const liana__rewriter *rewriter;
    liana_tensor *list;
} pieces;

static bool weigh_piece(void *user, const liana__node *piece)
{
    pieces *own = user;
    const recipe *known = &own->recipes[piece->id];
    bool there = liana__is_leaf(piece) || known->kept ||
                 (!known->again && known->last_use >= own->recipes[own->whole->id].last_use);
    if (!there) own->new_bytes += liana__node_bytes(piece);
    return ++own->count <= liana__op_most_inputs(own->whole->op);
}

static bool keep_piece(void *user, const liana__node *piece)
{
    pieces *own = user;
    recipe *known = &own->recipes[piece->id];
    uint32_t until = own->recipes[own->whole->id].last_use;
    known->kept = true;
    known->again = false;
    if (known->last_use < until) known->last_use = until;
    return true;
}

static bool list_piece(void *user, const liana__node *piece)
{
    pieces *own = user;
    own->list[own->count++] = own->rewriter->map[piece->id];
    return true;
}

static bool keep_pieces_instead(recipe *recipes, const liana__node *node)
{
    pieces own = {.recipes = recipes, .whole = node};
    bool few = visit_pieces(node, weigh_piece, &own);
    if (!few || own.new_bytes > KEPT_SHARE * liana__node_bytes(node)) return false;
    visit_pieces(node, keep_piece, &own);
    return true;
}

static liana_tensor concatenate_pieces(const liana__rewriter *rewriter, const liana__node *node)
{
    LIANA__SCOPED_MEMORY liana_tensor *list = malloc(liana__op_most_inputs(node->op) * sizeof *list);
    if (!list) return liana__pass_fail_memory(rewriter->graph, node);
    pieces own = {.recipes = rewriter->analysis, .whole = node, .rewriter = rewriter, .list = list};
    visit_pieces(node, list_piece, &own);
    return liana__build(node->where, rewriter->graph, node->op, list, own.count, node->attributes);
}

/* ---- the nodes that are computed again ---- */

/* The number of nodes to recompute to have `node` at that time. More than MOST_NODES: it cannot be recomputed, or would
 * keep something that could otherwise be dropped. */
static int count_nodes(const recipe *recipes, const liana__node *node, uint32_t until)
{
    if (is_concat(node)) return recipes[node->id].again ? 1 : MOST_NODES + 1;
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
    recipe *recipes = liana__arena_allocate(&rewriter->arena, graph->num_nodes * sizeof *recipes);
    bool *needed = liana__arena_allocate(&rewriter->arena, graph->num_nodes * sizeof *needed);
    rewriter->analysis = recipes;
    if (rewriter->arena.failed) return liana__fail_memory(error, "a pass");
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
        const liana__node *node = graph->nodes[id];
        if (!far || !(own->of_examples || liana__is_cast_twice(graph, node)) || own->kept) continue;
        own->again = is_concat(node) ? keep_pieces_instead(recipes, node)
                                     : count_nodes(recipes, node, own->last_use) <= MOST_NODES;
    }
    return LIANA_OK;
}

static liana_tensor clone_of(const liana__rewriter *rewriter, const liana__node *node, uint32_t until);

/* A node with clones in place of the inputs that are computed again: for a clone (`until` is not 0), all that will not
 * be there. */
static liana_tensor build_with_clones(const liana__rewriter *rewriter, const liana__node *node, uint32_t until)
{
    const recipe *recipes = rewriter->analysis;
    LIANA__SCOPED_MEMORY liana_tensor *inputs = malloc((node->num_inputs + 1) * sizeof *inputs);
    if (!inputs) return liana__pass_fail_memory(rewriter->graph, node);
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        const recipe *own = &recipes[input->id];
        bool is_kept = until ? is_there(recipes, input, node, until) : !own->again;
        inputs[i] = is_kept ? rewriter->map[input->id] : clone_of(rewriter, input, until ? until : own->last_use);
    }
    return liana__build(node->where, rewriter->graph, node->op, inputs, node->num_inputs, node->attributes);
}

static liana_tensor clone_of(const liana__rewriter *rewriter, const liana__node *node, uint32_t until)
{
    recipe *recipes = rewriter->analysis, *own = &recipes[node->id];
    bool together = own->clone >= recipes[0].clone || is_concat(node);
    bool in_reach = together && own->clone + REACH > rewriter->graph->num_nodes;
    if (!own->clone || !in_reach) {
        own->clone =
            is_concat(node) ? concatenate_pieces(rewriter, node).id : build_with_clones(rewriter, node, until).id;
    }
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
