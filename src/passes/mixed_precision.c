/* Rewrites a graph in f32 to mixed precision: matrix products and the activations between them in bf16; long sums and
 * sensitive parts (statistics, softmax, losses, gradients of weights) in f32.
 *
 * It works on finished graphs with gradients, so models, losses and gradients know nothing of it. An op's `precision`
 * alone decides the dtype of a node. Variables, inputs, outputs and assignments keep their dtypes, so an update program
 * sees no difference. First two sweeps decide for each node whether it reads and whether it gives bf16. Then the graph
 * is rebuilt, with casts where a reader needs another dtype; one cast for each tensor. */
#include "base/scoped.h"
#include "passes/pass.h"

#include <stdlib.h>

/* By id of the old graph's nodes. */
typedef struct decision {
    bool needed;
    bool wanted_narrow;   /* a reader could read its result in bf16 */
    bool reads_narrow;    /* the inputs that may be bf16 are bf16 */
    bool gives_narrow;    /* its result is bf16 */
    liana_tensor cast_to; /* the result in the other dtype, once a reader needs it; id 0 before */
} decision;

/* ---- the contracts of ops ---- */

static bool may_be_narrow(const liana__node *node, uint32_t input)
{
    uint32_t inputs = node->op->narrow_inputs;
    return node->inputs[input]->dtype == LIANA_F32 && (!inputs || (input < 32 && inputs >> input & 1));
}

/* The attribute that makes the result of bf16 operands f32; NULL if the op has none. */
static const liana__field *wide_attribute(const liana__op *op)
{
    for (size_t i = 0; op->attributes && i < op->attributes->count; i++) {
        const liana__field *field = &op->attributes->items[i];
        if (field->kind == LIANA__FIELD_BOOL && strcmp(field->name, "wide") == 0) return field;
    }
    return NULL;
}

static bool always_reads_narrow(const liana__op *op)
{
    return op->precision == LIANA__MULTIPLIES || op->precision == LIANA__MULTIPLIES_AND_SUMS;
}

static bool gives_what_it_reads(const liana__op *op)
{
    return op->precision == LIANA__FOLLOWS || op->precision == LIANA__MOVES_DATA;
}

/* ---- decisions ---- */

/* Whether a node would read its inputs in bf16 if they were. */
static bool would_read_narrow(const liana__node *node, const decision *decided)
{
    if (always_reads_narrow(node->op) || node->op->precision == LIANA__SUMS) return true;
    if (!gives_what_it_reads(node->op) || node->keep_wide) return false;
    return node->dtype != LIANA_F32 || decided->wanted_narrow; /* a comparison gives bools */
}

/* Backward sweep: which nodes could read their inputs in bf16. */
static void find_readers(const liana_graph *graph, decision *decisions)
{
    for (size_t id = graph->num_nodes - 1; id > 0; id--) {
        const liana__node *node = graph->nodes[id];
        if (!decisions[id].needed || !would_read_narrow(node, &decisions[id])) continue;
        for (uint32_t i = 0; i < node->num_inputs; i++) {
            if (may_be_narrow(node, i)) decisions[node->inputs[i]->id].wanted_narrow = true;
        }
    }
}

/* Whether an input that is as large as any is bf16. */
static bool main_input_is_narrow(const liana__node *node, const decision *decisions)
{
    int64_t largest = 0;
    bool narrow = false;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        if (!may_be_narrow(node, i)) continue;
        int64_t size = liana_shape_size(liana__input_shape(node, i));
        bool is_narrow = decisions[node->inputs[i]->id].gives_narrow;
        narrow = size > largest ? is_narrow : narrow || (size == largest && is_narrow);
        if (size > largest) largest = size;
    }
    return narrow;
}

/* Forwards: which nodes become bf16. */
static void decide(const liana__node *node, decision *decisions)
{
    decision *own = &decisions[node->id];
    if (always_reads_narrow(node->op)) {
        own->reads_narrow = true;
        own->gives_narrow =
            node->op->precision == LIANA__MULTIPLIES && (own->wanted_narrow || !wide_attribute(node->op));
        return;
    }
    own->reads_narrow = would_read_narrow(node, own) && main_input_is_narrow(node, decisions);
    own->gives_narrow = own->reads_narrow && gives_what_it_reads(node->op) && node->dtype == LIANA_F32;
}

/* Rounds a small f32 tensor before it is repeated, padded, ..., if it is then only read in bf16. `read_wide[id]`: a
 * node reads it in f32. */
static void round_before_moving(const liana_graph *graph, decision *decisions, bool *read_wide)
{
    for (size_t i = 0; i < liana__graph_num_results(graph); i++) read_wide[liana__graph_result(graph, i)->id] = true;
    for (size_t id = graph->num_nodes - 1; id > 0; id--) {
        const liana__node *node = graph->nodes[id];
        decision *own = &decisions[id];
        if (!own->needed) continue;
        int64_t read = 0;
        for (uint32_t i = 0; i < node->num_inputs; i++) read += liana_shape_size(liana__input_shape(node, i));
        bool moves = node->op->precision == LIANA__MOVES_DATA && node->dtype == LIANA_F32;
        if (moves && !own->gives_narrow && own->wanted_narrow && !read_wide[id] && !node->keep_wide &&
            liana_shape_size(&node->shape) >= read) {
            own->reads_narrow = own->gives_narrow = true;
        }
        for (uint32_t i = 0; i < node->num_inputs; i++) {
            if (!own->reads_narrow || !may_be_narrow(node, i)) read_wide[node->inputs[i]->id] = true;
        }
    }
}

static liana_status analyse(liana__rewriter *rewriter, liana__error *error)
{
    const liana_graph *graph = rewriter->old;
    decision *decisions = liana__arena_allocate(&rewriter->arena, graph->num_nodes * sizeof *decisions);
    bool *marks = liana__arena_allocate(&rewriter->arena, 2 * graph->num_nodes * sizeof *marks);
    rewriter->analysis = decisions;
    if (rewriter->arena.failed) return liana__fail_memory(error, "mixed precision");
    liana__graph_mark_needed(graph, marks);
    for (size_t id = 1; id < graph->num_nodes; id++) decisions[id].needed = marks[id];
    find_readers(graph, decisions);
    for (size_t id = 1; id < graph->num_nodes; id++) {
        if (decisions[id].needed && !liana__is_leaf(graph->nodes[id])) decide(graph->nodes[id], decisions);
    }
    round_before_moving(graph, decisions, marks + graph->num_nodes);
    return LIANA_OK;
}

/* ---- rebuilding ---- */

static liana_tensor narrow_constant(const liana__rewriter *rewriter, const liana__node *node)
{
    int64_t size = liana_shape_size(&node->shape);
    LIANA__SCOPED_MEMORY uint16_t *data = malloc((size_t)size * sizeof *data);
    if (!data) return liana__pass_fail_memory(rewriter->graph, node);
    const float *from = liana__constant_data(node);
    for (int64_t i = 0; i < size; i++) data[i] = liana__float_to_bf16(from[i]);
    return liana_graph_constant_at(node->where, rewriter->graph, LIANA_BF16, node->shape, data);
}

/* The replacement of an old f32 node, as `dtype`. */
static liana_tensor as(const liana__rewriter *rewriter, const liana__node *node, liana_dtype dtype)
{
    decision *own = (decision *)rewriter->analysis + node->id;
    liana_tensor made = rewriter->map[node->id];
    if (liana_tensor_dtype(made) == dtype) return made;
    if (!own->cast_to.id) {
        own->cast_to = dtype == LIANA_BF16 && liana__is_constant(node) ? narrow_constant(rewriter, node)
                                                                       : liana_op_cast_at(node->where, made, dtype);
    }
    return own->cast_to;
}

/* The node's attributes, with "wide" set if its result is to be f32; the caller frees them. NULL: out of memory. */
static void *copy_attributes(const liana__node *node, const decision *decided)
{
    size_t size = node->op->attributes->size;
    char *copy = malloc(size);
    if (!copy) return NULL;
    memcpy(copy, node->attributes, size);
    const liana__field *wide = wide_attribute(node->op);
    if (wide && decided->reads_narrow && !decided->gives_narrow) *(bool *)(copy + wide->offset) = true;
    return copy;
}

static liana_tensor rewrite(const liana__rewriter *rewriter, const liana__node *node)
{
    const decision *own = (const decision *)rewriter->analysis + node->id;
    LIANA__SCOPED_MEMORY liana_tensor *inputs = malloc((node->num_inputs + 1) * sizeof *inputs);
    LIANA__SCOPED_MEMORY void *attributes = node->op->attributes ? copy_attributes(node, own) : NULL;
    if (!inputs || (node->op->attributes && !attributes)) return liana__pass_fail_memory(rewriter->graph, node);
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        liana_dtype dtype = own->reads_narrow && may_be_narrow(node, i) ? LIANA_BF16 : input->dtype;
        inputs[i] = as(rewriter, input, dtype);
    }
    return liana__build(node->where, rewriter->graph, node->op, inputs, node->num_inputs, attributes);
}

static bool wanted(const liana_graph *graph)
{
    return graph->mixed_precision;
}

const liana__pass liana__pass_mixed_precision = {
    .name = "mixed_precision",
    .doc = "If a graph asks for it: matrix products and activations in bf16, sums and losses in f32.",
    .asked_for = wanted,
    .analyse = analyse,
    .rewrite = rewrite,
};
