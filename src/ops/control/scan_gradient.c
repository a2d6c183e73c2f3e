/* The gradient of scan: a scan that runs the steps backwards, with the gradients of carries as its carries.
 *
 * Its body is the body's own gradient. It reads the carries before each step and the products of matrices, which the
 * scan gives as further ys from now on; all else of a step is computed again.
 *
 * The gradient of a constant is a sum over the steps. That of a weight which multiplies a carry or an x is one large
 * product of what all steps have, and that of a bias is one large sum. Any other is a carry to which each step adds. */
#include "base/scoped.h"
#include "ir/copy_node.h"
#include "ops/autodiff.h"
#include "ops/control/body_build.h"
#include "ops/control/scan.h"
#include "ops/linear/matmul.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/slice_pad.h"

#include <stdio.h>
#include <stdlib.h>

/* The forward body's gradient as a graph, while it is made. */
typedef struct backward {
    const liana__gradient *outer;
    const liana__scan_attributes *scan;
    const liana_graph *forward;
    liana_location here;
    size_t num_carries, end_xs, num_inputs, num_outputs;
    liana__arena arena;
    liana_graph *graph;      /* all of the forward body, and its gradient */
    liana_tensor *copies;    /* by node id of the forward body: its node there */
    liana_tensor *seeds;     /* by output: an input of the graph; invalid: its gradient is zero */
    liana_tensor *given;     /* by output: the gradient in the graph around; invalid: zero */
    liana_tensor *gradients; /* by input, in the graph; invalid: zero, or not wanted */
    bool *is_carried;        /* by input: a constant whose gradient is a carry */
    liana_tensor *sums;      /* by input: that carry before the step */
    /* By node id of the graph: a product that the scan gives as a y, and that is not computed again; where a tensor of
     * all steps is in the graph around; the y of the backward scan that gives it, counted from 1. */
    bool *is_kept;
    liana_tensor *stacked;
    size_t *y_of;
    size_t num_with_facts; /* nodes that have these */
    liana_tensor *ys;      /* of the backward scan, in the graph */
    size_t num_ys;
} backward;

static liana_graph *outer_graph(const backward *b)
{
    return b->outer->output.graph;
}

static bool fail_memory(const backward *b)
{
    liana__graph_fail(outer_graph(b), b->here, LIANA_OUT_OF_MEMORY, "out of memory for the gradient of scan");
    return false;
}

/* ---- the body's gradient ---- */

static void make_seeds(backward *b)
{
    for (size_t i = 0; i < b->num_outputs; i++) {
        const liana__node *output = b->forward->outputs[i].node;
        const bool wanted = liana__dtype_is_float(output->dtype) && (i < b->num_carries || b->given[i].id);
        char name[40];
        b->seeds[i] = (liana_tensor){b->graph, 0};
        if (!wanted) continue;
        snprintf(name, sizeof name, "gradient %zu", i);
        b->seeds[i] = liana_graph_input_at(b->here, b->graph, name, output->dtype, output->shape);
    }
}

static void differentiate(backward *b)
{
    liana__seed *seeds = liana__arena_allocate(&b->arena, (b->num_outputs + 1) * sizeof *seeds);
    liana_tensor *wrt = liana__arena_allocate(&b->arena, 2 * (b->num_inputs + 1) * sizeof *wrt);
    size_t *index = liana__arena_allocate(&b->arena, (b->num_inputs + 1) * sizeof *index);
    if (b->arena.failed) {
        fail_memory(b);
        return;
    }
    size_t num_seeds = 0, count = 0;
    for (size_t i = 0; i < b->num_outputs; i++) {
        const liana_tensor target = b->copies[b->forward->outputs[i].node->id];
        if (b->seeds[i].id) seeds[num_seeds++] = (liana__seed){target, b->seeds[i]};
    }
    for (size_t i = 0; i < b->num_inputs; i++) {
        const bool is_float = liana__dtype_is_float(b->forward->inputs[i]->dtype);
        b->gradients[i] = (liana_tensor){b->graph, 0};
        if (!is_float || (i >= b->num_carries && !b->outer->wanted[i])) continue;
        index[count] = i;
        wrt[count++] = b->copies[b->forward->inputs[i]->id];
    }
    liana_tensor *found = wrt + b->num_inputs + 1;
    liana__gradients_from(b->here, seeds, num_seeds, wrt, count, found);
    for (size_t i = 0; i < count; i++) b->gradients[index[i]] = found[i];
}

/* Makes b->graph. False: an error, of the outer graph. */
static bool make_graph(backward *b)
{
    liana_graph *outer = outer_graph(b);
    outer->status = liana_graph_create(outer->context, &b->graph);
    if (outer->status != LIANA_OK) return false;
    for (size_t id = 1; id < b->forward->num_nodes && b->graph->status == LIANA_OK; id++) {
        b->copies[id] = liana__copy_node(b->graph, b->forward->nodes[id], b->copies);
    }
    make_seeds(b);
    if (b->graph->status == LIANA_OK) differentiate(b);
    if (b->graph->status != LIANA_OK) outer->status = b->graph->status;
    return outer->status == LIANA_OK;
}

/* ---- what is kept ---- */

static bool is_product(const liana__node *node)
{
    return node->op->precision == LIANA__MULTIPLIES || node->op->precision == LIANA__MULTIPLIES_AND_SUMS ||
           node->op->num_bodies > 0;
}

/* Marks the nodes on which those that are marked depend. Kept ones depend on nothing. */
static void spread_needed(const backward *b, bool *needed)
{
    for (size_t id = b->graph->num_nodes - 1; id > 0; id--) {
        const liana__node *node = b->graph->nodes[id];
        const bool is_computed = needed[id] && !(id < b->num_with_facts && b->is_kept[id]);
        for (uint32_t i = 0; is_computed && i < node->num_inputs; i++) needed[node->inputs[i]->id] = true;
    }
}

/* Marks the nodes of b->graph on which its gradients depend. NULL: out of memory. */
static bool *mark_needed(backward *b)
{
    bool *needed = liana__arena_allocate(&b->arena, b->graph->num_nodes * sizeof *needed);
    for (size_t i = 0; needed && i < b->num_inputs; i++) needed[b->gradients[i].id] = true;
    if (needed) spread_needed(b, needed);
    if (needed) needed[0] = false;
    return needed;
}

/* Chooses products of what varies from step to step; they must fit the dtype of the scan's result. */
static bool choose_kept(backward *b)
{
    const bool *needed = mark_needed(b);
    LIANA__SCOPED_MEMORY bool *varies = calloc(b->forward->num_nodes, sizeof *varies);
    if (!needed || !varies) return fail_memory(b);
    for (size_t i = 0; i < b->end_xs; i++) varies[b->forward->inputs[i]->id] = true;
    for (size_t id = 1; id < b->forward->num_nodes; id++) {
        const liana__node *node = b->forward->nodes[id];
        const bool fits = node->dtype == b->outer->node->dtype || b->outer->node->dtype == LIANA_F64;
        for (uint32_t i = 0; i < node->num_inputs; i++) varies[id] = varies[id] || varies[node->inputs[i]->id];
        const uint32_t copy = b->copies[id].id;
        b->is_kept[copy] = varies[id] && is_product(node) && fits && needed[copy];
    }
    return true;
}

/* The y of the scan that gives a node of its body in all steps; the body gets one more output if there is none. */
static size_t find_y(const liana_graph *body, size_t num_carries, const liana__node *node)
{
    size_t y = num_carries;
    while (y < body->num_outputs && body->outputs[y].node != node) y++;
    return y;
}

/* Lets the scan give more: those of its body's nodes that are needed and marked. Nodes that read its result read parts
 * of it, which stay where they are. */
static bool extend_scan(backward *b, const bool *needed)
{
    liana_graph *outer = outer_graph(b), *body = NULL;
    liana__node *node = outer->nodes[b->outer->node->id];
    liana_tensor *map = liana__arena_allocate(&b->arena, b->forward->num_nodes * sizeof *map);
    if (!map) return fail_memory(b);
    outer->status = liana_graph_create(outer->context, &body);
    if (outer->status != LIANA_OK) return false;
    body->mixed_precision = b->forward->mixed_precision;
    for (size_t id = 1; id < b->forward->num_nodes; id++) {
        map[id] = liana__copy_node(body, b->forward->nodes[id], map);
        if (b->forward->nodes[id]->keep_wide) liana__keep_wide(map[id]);
    }
    for (size_t i = 0; i < b->num_outputs; i++) {
        const liana__output *output = &b->forward->outputs[i];
        liana_graph_output_at(b->here, body, output->name, map[output->node->id]);
    }
    for (size_t id = 1; id < b->forward->num_nodes && body->status == LIANA_OK; id++) {
        const liana__node *own = b->forward->nodes[id];
        bool is_carry = false;
        for (size_t i = 0; i < b->num_carries; i++) is_carry = is_carry || b->forward->inputs[i] == own;
        if (!needed[b->copies[id].id] || !(is_carry || b->is_kept[b->copies[id].id])) continue;
        char name[40];
        snprintf(name, sizeof name, "kept %zu", id);
        if (find_y(b->forward, b->num_carries, own) < b->num_outputs) continue;
        liana_graph_output_at(b->here, body, name, map[id]);
    }
    liana__scan_attributes *attributes = (liana__scan_attributes *)node->attributes;
    outer->status = body->status;
    if (outer->status == LIANA_OK) {
        attributes->bodies.items[0] = body;
        if (!liana__graph_keep_bodies(outer, node)) fail_memory(b);
        const liana__flat flat = liana__scan_flat(attributes);
        node->shape.dims[0] = liana__flat_offset(&flat, body->num_outputs);
        /* A value that was computed already lacks the new parts. */
        if (node->id < outer->num_values) {
            free(outer->values[node->id]);
            outer->values[node->id] = NULL;
        }
    }
    liana_graph_destroy(body);
    return outer->status == LIANA_OK;
}

/* Finds the leaves of the backward body in the graph around it. */
static void list_stacked(backward *b, const bool *needed)
{
    const liana__flat flat = liana__scan_flat(b->scan);
    const liana_tensor result = b->outer->output;
    for (size_t id = 1; id < b->forward->num_nodes; id++) {
        const liana__node *node = b->forward->nodes[id];
        const uint32_t copy = b->copies[id].id;
        const size_t y = find_y(flat.body, b->num_carries, flat.body->nodes[id]);
        const bool is_leaf = liana__is_input(node) || b->is_kept[copy];
        if (needed[copy] && is_leaf && y < flat.body->num_outputs) {
            b->stacked[copy] = liana__flat_part(b->here, result, &flat, y);
        }
    }
    for (size_t i = b->num_carries; i < b->end_xs; i++) {
        b->stacked[b->copies[b->forward->inputs[i]->id].id] = b->outer->inputs[i];
    }
    for (size_t i = b->num_carries; i < b->num_outputs; i++) {
        if (b->seeds[i].id) b->stacked[b->seeds[i].id] = b->given[i];
    }
}

/* ---- gradients of constants ---- */

enum { MOST_MOVES = 16 };

/* Whether the sum of an op's results is its result of the sum: it moves elements, and adds zeros. */
static bool moves_elements(const liana__node *node)
{
    if (node->op == &liana__op_pad) return ((const liana__pad_attributes *)node->attributes)->value == 0;
    return node->op == &liana__op_reshape || node->op == &liana__op_transpose || node->op == &liana__op_slice;
}

/* A product of what a step has, [rows, m] and [rows, n]; or a sum over axes. */
static bool is_outer_product(const liana__node *node)
{
    if (node->op != &liana__op_matmul || node->shape.rank != 2) return false;
    const liana__matmul_attributes *matmul = node->attributes;
    return matmul->transpose_a && !matmul->transpose_b;
}

/* The product or sum of a term of a gradient, behind ops that move its elements; NULL: it is something else. */
static const liana__node *find_base(const liana__node *term)
{
    for (int i = 0; i < MOST_MOVES && moves_elements(term); i++) term = term->inputs[0];
    return is_outer_product(term) || term->op == &liana__op_reduce_sum ? term : NULL;
}

/* Whether all terms of a gradient can be computed for all steps at once. */
static bool is_sum_of_steps(const liana__node *node)
{
    for (; node->op == &liana__op_add; node = node->inputs[0]) {
        const bool same = liana_shape_equal(&node->inputs[0]->shape, &node->inputs[1]->shape);
        if (!same || !find_base(node->inputs[1])) return false;
    }
    return find_base(node);
}

/* Has each step give a tensor, unless all steps have it already. */
static void give_y(backward *b, const liana__node *node)
{
    if (b->stacked[node->id].id || b->y_of[node->id]) return;
    b->ys[b->num_ys++] = liana__node_tensor(b->graph, node);
    b->y_of[node->id] = b->num_ys;
}

static void give_term(backward *b, const liana__node *term)
{
    const liana__node *base = find_base(term);
    give_y(b, base->inputs[0]);
    if (base->num_inputs > 1) give_y(b, base->inputs[1]);
}

/* Chooses how the gradients of constants and xs leave the steps. */
static void choose_ys(backward *b)
{
    for (size_t i = b->num_carries; i < b->num_inputs; i++) {
        const liana__node *node = liana__tensor_node(b->gradients[i]);
        if (!node) continue;
        if (i < b->end_xs) {
            give_y(b, node);
            continue;
        }
        b->is_carried[i] = !is_sum_of_steps(node);
        if (b->is_carried[i]) {
            char name[40];
            snprintf(name, sizeof name, "sum %zu", i);
            b->sums[i] = liana_graph_input_at(b->here, b->graph, name, node->dtype, node->shape);
            b->gradients[i] = liana_op_add_at(b->here, b->sums[i], b->gradients[i]);
            continue;
        }
        for (; node->op == &liana__op_add; node = node->inputs[0]) give_term(b, node->inputs[1]);
        give_term(b, node);
    }
}

/* ---- the backward scan ---- */

typedef struct backward_scan {
    liana_graph *body;
    liana__flat flat;
    liana__scan_attributes attributes;
    liana_tensor *inputs; /* in the graph around */
    liana_tensor *places; /* the same in b->graph */
    size_t num_inputs;
    liana_tensor *outputs; /* in b->graph */
    size_t num_outputs;
    size_t *carry_of; /* by input of the forward scan: the carry of its gradient, from 1 */
    liana_tensor result;
} backward_scan;

static void add_input(backward_scan *s, liana_tensor inner, liana_tensor outside)
{
    s->places[s->num_inputs] = inner;
    s->inputs[s->num_inputs++] = outside;
}

static void add_carries(const backward *b, backward_scan *s)
{
    for (size_t i = 0; i < b->num_inputs; i++) {
        const bool is_carry = i < b->num_carries && b->seeds[i].id;
        if (!is_carry && !(i >= b->end_xs && b->is_carried[i])) continue;
        const liana__node *like = is_carry ? b->forward->inputs[i] : liana__tensor_node(b->sums[i]);
        liana_tensor first = is_carry ? b->given[i] : (liana_tensor){0}, next = b->gradients[i];
        if (!first.id) first = liana__full(b->here, outer_graph(b), like->dtype, like->shape, 0);
        if (!next.id) next = liana__full(b->here, b->graph, like->dtype, like->shape, 0);
        add_input(s, is_carry ? b->seeds[i] : b->sums[i], first);
        s->outputs[s->num_outputs++] = next;
        s->carry_of[i] = s->num_outputs;
    }
    s->attributes.num_carries = (int64_t)s->num_outputs;
}

/* Marks the nodes on which the outputs depend, and lists the inputs among them. */
static bool add_leaves(const backward *b, backward_scan *s)
{
    const size_t n = b->graph->num_nodes;
    LIANA__SCOPED_MEMORY bool *needed = calloc(n, sizeof *needed);
    if (!needed) return fail_memory(b);
    for (size_t i = 0; i < s->num_outputs; i++) needed[s->outputs[i].id] = true;
    spread_needed(b, needed);
    for (size_t i = 0; i < s->num_inputs; i++) needed[s->places[i].id] = false; /* carries */
    for (uint32_t id = 1; id < b->num_with_facts; id++) {
        if (needed[id] && b->stacked[id].id) add_input(s, (liana_tensor){b->graph, id}, b->stacked[id]);
    }
    s->attributes.num_xs = (int64_t)s->num_inputs - s->attributes.num_carries;
    for (size_t i = b->end_xs; i < b->num_inputs; i++) {
        const liana_tensor copy = b->copies[b->forward->inputs[i]->id];
        if (needed[copy.id]) add_input(s, copy, b->outer->inputs[i]);
    }
    return true;
}

static liana_tensor make_input(const backward *b, const backward_scan *s, size_t index)
{
    const liana__node *node = b->graph->nodes[s->places[index].id];
    char name[40];
    if (liana__is_input(node)) return liana__copy_leaf(s->body, node);
    snprintf(name, sizeof name, "kept %u", node->id);
    return liana_graph_input_at(b->here, s->body, name, node->dtype, node->shape);
}

/* The body: b->graph with these inputs and outputs alone. */
static bool extract(const backward *b, backward_scan *s)
{
    const size_t n = b->graph->num_nodes;
    liana_graph *outer = outer_graph(b);
    LIANA__SCOPED_MEMORY liana_tensor *map = calloc(n, sizeof *map);
    LIANA__SCOPED_MEMORY bool *needed = calloc(n, sizeof *needed);
    if (!map || !needed) return fail_memory(b);
    outer->status = liana_graph_create(outer->context, &s->body);
    if (outer->status != LIANA_OK) return false;
    for (size_t i = 0; i < s->num_inputs; i++) map[s->places[i].id] = make_input(b, s, i);
    for (size_t i = 0; i < s->num_outputs; i++) needed[s->outputs[i].id] = true;
    spread_needed(b, needed);
    for (size_t id = 1; id < n && s->body->status == LIANA_OK; id++) {
        if (needed[id] && !map[id].id) map[id] = liana__copy_node(s->body, b->graph->nodes[id], map);
    }
    for (size_t i = 0; i < s->num_outputs; i++) {
        char name[40];
        snprintf(name, sizeof name, "%zu", i);
        liana_graph_output_at(b->here, s->body, name, map[s->outputs[i].id]);
    }
    outer->status = s->body->status;
    return outer->status == LIANA_OK;
}

static bool run_backward(backward *b, backward_scan *s)
{
    const size_t most = b->num_with_facts + b->num_inputs + b->num_ys + 4;
    s->inputs = liana__arena_allocate(&b->arena, most * sizeof *s->inputs);
    s->places = liana__arena_allocate(&b->arena, most * sizeof *s->places);
    s->outputs = liana__arena_allocate(&b->arena, most * sizeof *s->outputs);
    s->carry_of = liana__arena_allocate(&b->arena, most * sizeof *s->carry_of);
    if (b->arena.failed) return fail_memory(b);
    s->attributes.steps = b->scan->steps;
    s->attributes.reverse = !b->scan->reverse;
    add_carries(b, s);
    for (size_t i = 0; i < b->num_ys; i++) s->outputs[s->num_outputs++] = b->ys[i];
    if (!add_leaves(b, s)) return false;
    if (s->num_inputs == 0) return true;
    if (!extract(b, s)) return false;
    s->attributes.bodies.items[0] = s->body;
    s->flat = liana__scan_flat(&s->attributes);
    s->result = liana__build(b->here, outer_graph(b), b->outer->node->op, s->inputs, s->num_inputs, &s->attributes);
    return s->result.id != 0;
}

/* ---- what comes out ---- */

/* A tensor of the backward body in all steps: [steps, ...]. */
static liana_tensor stack_of(const backward *b, const backward_scan *s, const liana__node *node)
{
    if (b->stacked[node->id].id) return b->stacked[node->id];
    return liana__flat_part(b->here, s->result, &s->flat, s->flat.num_single + b->y_of[node->id] - 1);
}

/* [steps, rows, columns] as [steps * rows, columns]. */
static liana_tensor join_rows(const backward *b, liana_tensor x)
{
    const liana_shape shape = liana_tensor_shape(x);
    return liana_op_reshape_at(b->here, x, liana_shape_of(shape.dims[0] * shape.dims[1], shape.dims[2]));
}

static liana_tensor base_of_steps(const backward *b, const backward_scan *s, const liana__node *base)
{
    if (is_outer_product(base)) {
        liana_tensor left = join_rows(b, stack_of(b, s, base->inputs[0]));
        liana_tensor right = join_rows(b, stack_of(b, s, base->inputs[1]));
        return liana_op_matmul_at(b->here, left, right, true, false);
    }
    const liana__reduce_attributes *reduce = base->attributes;
    liana_axes axes = {.count = 1};
    for (int64_t i = 0; i < reduce->axes.count; i++) axes.values[axes.count++] = reduce->axes.values[i] + 1;
    liana_tensor total = liana_op_reduce_sum_at(b->here, stack_of(b, s, base->inputs[0]), axes, false);
    return liana_op_reshape_at(b->here, total, base->shape);
}

/* The sum of all steps; then what moves its elements. */
static liana_tensor term_of_steps(const backward *b, const backward_scan *s, const liana__node *term)
{
    const liana__node *moves[MOST_MOVES];
    size_t count = 0;
    for (; moves_elements(term) && count < MOST_MOVES; term = term->inputs[0]) moves[count++] = term;
    liana_tensor sum = base_of_steps(b, s, term);
    while (count-- > 0) sum = liana__build1(b->here, moves[count]->op, sum, moves[count]->attributes);
    return sum;
}

static liana_tensor sum_of_steps(const backward *b, const backward_scan *s, size_t input)
{
    const liana__node *node = liana__tensor_node(b->gradients[input]);
    liana_tensor total = {0};
    for (bool more = true; more;) {
        more = node->op == &liana__op_add;
        liana_tensor term = term_of_steps(b, s, more ? node->inputs[1] : node);
        total = total.graph ? liana_op_add_at(b->here, total, term) : term;
        if (more) node = node->inputs[0];
    }
    return total;
}

static void give_gradients(const backward *b, const backward_scan *s, liana__gradient *gradient)
{
    for (size_t i = 0; i < b->num_inputs; i++) {
        const liana__node *node = liana__tensor_node(b->gradients[i]);
        if (!gradient->wanted[i]) continue;
        if (s->carry_of[i]) {
            gradient->input_gradients[i] = liana__flat_part(b->here, s->result, &s->flat, s->carry_of[i] - 1);
        } else if (node && i >= b->num_carries) {
            gradient->input_gradients[i] = i < b->end_xs ? stack_of(b, s, node) : sum_of_steps(b, s, i);
        }
    }
}

static bool allocate(backward *b)
{
    liana__arena *arena = &b->arena;
    b->copies = liana__arena_allocate(arena, b->forward->num_nodes * sizeof *b->copies);
    b->seeds = liana__arena_allocate(arena, (b->num_outputs + 1) * sizeof *b->seeds);
    b->given = liana__arena_allocate(arena, (b->num_outputs + 1) * sizeof *b->given);
    b->gradients = liana__arena_allocate(arena, (b->num_inputs + 1) * sizeof *b->gradients);
    b->is_carried = liana__arena_allocate(arena, (b->num_inputs + 1) * sizeof *b->is_carried);
    b->sums = liana__arena_allocate(arena, (b->num_inputs + 1) * sizeof *b->sums);
    return arena->failed ? fail_memory(b) : true;
}

static bool list_given(backward *b)
{
    const liana__flat flat = liana__scan_flat(b->scan);
    for (size_t i = 0; i < b->num_outputs; i++) {
        b->given[i] = liana__flat_gradient(b->here, b->outer->output_gradient, &flat, i);
    }
    return outer_graph(b)->status == LIANA_OK;
}

static bool build_gradient(backward *b, backward_scan *s)
{
    if (!allocate(b) || !list_given(b) || !make_graph(b)) return false;
    b->num_with_facts = b->graph->num_nodes;
    b->is_kept = liana__arena_allocate(&b->arena, b->num_with_facts * sizeof *b->is_kept);
    b->stacked = liana__arena_allocate(&b->arena, b->num_with_facts * sizeof *b->stacked);
    b->y_of = liana__arena_allocate(&b->arena, b->num_with_facts * sizeof *b->y_of);
    b->ys = liana__arena_allocate(&b->arena, (b->num_with_facts + b->num_inputs) * sizeof *b->ys);
    if (b->arena.failed) return fail_memory(b);
    if (!choose_kept(b)) return false;
    const bool *needed = mark_needed(b);
    if (!needed) return fail_memory(b);
    if (!extend_scan(b, needed)) return false;
    list_stacked(b, needed);
    choose_ys(b);
    if (b->graph->status != LIANA_OK) outer_graph(b)->status = b->graph->status;
    return outer_graph(b)->status == LIANA_OK && run_backward(b, s);
}

void liana__scan_gradient(liana__gradient *gradient)
{
    const liana__scan_attributes *scan = gradient->node->attributes;
    backward b = {.outer = gradient,
                  .scan = scan,
                  .forward = scan->bodies.items[0],
                  .here = gradient->node->where,
                  .num_carries = (size_t)scan->num_carries,
                  .end_xs = (size_t)(scan->num_carries + scan->num_xs),
                  .num_inputs = gradient->node->num_inputs,
                  .num_outputs = scan->bodies.items[0]->num_outputs};
    backward_scan s = {0};
    if (build_gradient(&b, &s) && s.result.id) give_gradients(&b, &s, gradient);
    liana_graph_destroy(s.body);
    liana_graph_destroy(b.graph);
    liana__arena_free(&b.arena);
}
