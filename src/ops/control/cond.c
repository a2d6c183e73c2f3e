/* cond: one of two bodies, by a predicate. */
#include "base/scoped.h"
#include "ir/copy_node.h"
#include "ops/autodiff.h"
#include "ops/control/body_build.h"
#include "ops/control/body_run.h"
#include "ops/control/flat.h"
#include "stablehlo/body.h"

#include <stdio.h>
#include <stdlib.h>

/* The inputs of a node are the predicate, then those of its bodies: that for true, that for false. */
static const liana__fields attributes = {"cond", sizeof(liana__bodies), 0, NULL};

static liana__flat flat_of(const liana__bodies *bodies)
{
    return (liana__flat){bodies->items[0], bodies->items[0]->num_outputs, 1};
}

static bool same_type(const liana__node *a, const liana__node *b)
{
    return a->dtype == b->dtype && liana_shape_equal(&a->shape, &b->shape);
}

static liana_status check_body(liana__infer *infer, size_t index)
{
    const liana__bodies *bodies = infer->attributes;
    const liana_graph *body = bodies->items[index];
    LIANA_TRY(liana__infer_body(infer, body, infer->num_inputs - 1, 1, index ? "the else body" : "the then body"));
    for (size_t i = 1; i < infer->num_inputs; i++) {
        const liana__node *given = infer->inputs[i], *found = body->inputs[i - 1];
        if (same_type(given, found)) continue;
        return liana__infer_fail(infer, "input %zu of body %zu is %s, expected %s", i - 1, index,
                                 liana__type_print(found->dtype, &found->shape).text,
                                 liana__type_print(given->dtype, &given->shape).text);
    }
    return LIANA_OK;
}

static liana_status infer_cond(liana__infer *infer)
{
    const liana__bodies *bodies = infer->attributes;
    const liana__node *predicate = infer->inputs[0];
    if (predicate->dtype != LIANA_BOOL || predicate->shape.rank != 0) {
        return liana__infer_fail(infer, "the predicate is %s, expected a bool scalar",
                                 liana__type_print(predicate->dtype, &predicate->shape).text);
    }
    LIANA_TRY(check_body(infer, 0));
    LIANA_TRY(check_body(infer, 1));
    const liana_graph *a = bodies->items[0], *b = bodies->items[1];
    if (a->num_outputs != b->num_outputs) {
        return liana__infer_fail(infer, "the bodies give %zu and %zu results, expected as many", a->num_outputs,
                                 b->num_outputs);
    }
    for (size_t i = 0; i < a->num_outputs; i++) {
        const liana__node *x = a->outputs[i].node, *y = b->outputs[i].node;
        if (same_type(x, y)) continue;
        return liana__infer_fail(infer, "result %zu is %s if the predicate holds and else %s, expected the same", i,
                                 liana__type_print(x->dtype, &x->shape).text,
                                 liana__type_print(y->dtype, &y->shape).text);
    }
    const liana__flat flat = flat_of(bodies);
    return liana__flat_infer(infer, &flat);
}

/* ---- the gradient: a cond of the bodies' gradients ---- */

typedef struct cond_gradient {
    liana__gradient *outer;
    liana_tensor *given;  /* by result: its gradient; invalid: zero */
    liana_tensor *inputs; /* of the new node: the bodies' inputs, then the gradients that are given */
    size_t num_inputs;
    size_t num_results; /* of the cond */
    liana__arena arena;
} cond_gradient;

/* Gives the gradients of the wanted inputs, zeros where there are none. */
static void give_outputs(const cond_gradient *g, liana_graph *body, const liana_tensor *found)
{
    const liana__node *node = g->outer->node;
    size_t count = 0;
    for (uint32_t i = 1; i < node->num_inputs && body->status == LIANA_OK; i++) {
        if (!g->outer->wanted[i]) continue;
        char name[40];
        snprintf(name, sizeof name, "%zu", count);
        liana_tensor own = found[count++];
        const liana__node *input = node->inputs[i];
        if (!own.id) own = liana__full(node->where, body, input->dtype, input->shape, 0);
        liana_graph_output_at(node->where, body, name, own);
    }
}

static void fill_body(cond_gradient *g, const liana_graph *forward, liana_graph *body)
{
    const liana__node *node = g->outer->node;
    liana__arena *arena = &g->arena;
    liana_tensor *copies = liana__arena_allocate(arena, forward->num_nodes * sizeof *copies);
    liana__seed *seeds = liana__arena_allocate(arena, (g->num_results + 1) * sizeof *seeds);
    liana_tensor *wrt = liana__arena_allocate(arena, 2 * (node->num_inputs + 1) * sizeof *wrt);
    if (arena->failed) {
        body->status = liana__fail_memory(&body->context->error, "the gradient of cond");
        return;
    }
    for (size_t id = 1; id < forward->num_nodes && body->status == LIANA_OK; id++) {
        copies[id] = liana__copy_node(body, forward->nodes[id], copies);
    }
    size_t num_seeds = 0, count = 0;
    for (size_t i = 0; i < g->num_results; i++) {
        const liana__node *output = forward->outputs[i].node;
        char name[40];
        if (!g->given[i].id) continue;
        snprintf(name, sizeof name, "gradient %zu", i);
        liana_tensor seed = liana_graph_input_at(node->where, body, name, output->dtype, output->shape);
        seeds[num_seeds++] = (liana__seed){copies[output->id], seed};
    }
    for (uint32_t i = 1; i < node->num_inputs; i++) {
        if (g->outer->wanted[i]) wrt[count++] = copies[forward->inputs[i - 1]->id];
    }
    liana_tensor *found = wrt + node->num_inputs + 1;
    if (body->status == LIANA_OK) liana__gradients_from(node->where, seeds, num_seeds, wrt, count, found);
    give_outputs(g, body, found);
}

static void take_results(cond_gradient *g, liana__bodies *bodies)
{
    const liana__node *node = g->outer->node;
    liana_graph *graph = g->outer->output.graph;
    liana_tensor all = liana__build(node->where, graph, &liana__op_cond, g->inputs, g->num_inputs, bodies);
    const liana__flat flat = flat_of(bodies);
    size_t count = 0;
    for (uint32_t i = 1; i < node->num_inputs && all.id; i++) {
        if (g->outer->wanted[i]) {
            g->outer->input_gradients[i] = liana__flat_part(node->where, all, &flat, count++);
        }
    }
}

static bool list_inputs(cond_gradient *g)
{
    const liana__node *node = g->outer->node;
    const liana__flat flat = flat_of(node->attributes);
    g->num_results = flat.num_single;
    g->given = liana__arena_allocate(&g->arena, (g->num_results + 1) * sizeof *g->given);
    g->inputs = liana__arena_allocate(&g->arena, (g->num_results + node->num_inputs + 1) * sizeof *g->inputs);
    if (g->arena.failed) return false;
    for (uint32_t i = 0; i < node->num_inputs; i++) g->inputs[g->num_inputs++] = g->outer->inputs[i];
    for (size_t i = 0; i < g->num_results; i++) {
        g->given[i] = liana__flat_gradient(node->where, g->outer->output_gradient, &flat, i);
        if (g->given[i].id) g->inputs[g->num_inputs++] = g->given[i];
    }
    return true;
}

static void build_gradient(liana__gradient *outer)
{
    liana_graph *graph = outer->output.graph;
    cond_gradient g = {.outer = outer};
    liana__bodies bodies = {0};
    bool any = false;
    for (uint32_t i = 1; i < outer->node->num_inputs; i++) any = any || outer->wanted[i];
    if (!any) return;
    if (!list_inputs(&g)) graph->status = liana__fail_memory(&graph->context->error, "the gradient of cond");
    for (size_t i = 0; i < 2 && graph->status == LIANA_OK; i++) {
        graph->status = liana_graph_create(graph->context, &bodies.items[i]);
        if (graph->status != LIANA_OK) break;
        fill_body(&g, liana__node_body(outer->node, i), bodies.items[i]);
        graph->status = bodies.items[i]->status;
    }
    if (graph->status == LIANA_OK) take_results(&g, &bodies);
    for (size_t i = 0; i < 2; i++) liana_graph_destroy(bodies.items[i]);
    liana__arena_free(&g.arena);
}

/* ---- running ---- */

typedef struct cond_plan {
    liana__body_plan bodies[2];
} cond_plan;

static void free_plan(void *own)
{
    cond_plan *plan = own;
    for (int i = 0; i < 2; i++) {
        if (plan->bodies[i].body) liana__body_plan_free(&plan->bodies[i]);
    }
    free(plan);
}

static liana_status make_plan(const liana__node *node, bool reference, liana__prepared *prepared, liana__error *error)
{
    LIANA__SCOPED_MEMORY bool *is_constant = calloc(node->num_inputs + 1, sizeof *is_constant);
    cond_plan *plan = calloc(1, sizeof *plan);
    liana_status status = plan && is_constant ? LIANA_OK : liana__fail_memory(error, "a cond");
    for (size_t i = 0; i < 2 && status == LIANA_OK; i++) {
        const liana__body_facts facts = {.body = liana__node_body(node, i),
                                         .is_constant = is_constant,
                                         .reference = reference};
        status = liana__body_plan_make(&facts, &plan->bodies[i], error);
        const size_t size = status == LIANA_OK ? liana__body_run_size(&plan->bodies[i]) : 0;
        if (size > prepared->scratch_size) prepared->scratch_size = size;
    }
    if (status == LIANA_OK) prepared->plan = plan;
    if (status != LIANA_OK && plan) free_plan(plan);
    return status;
}

static liana_status prepare_fast(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    return make_plan(node, false, prepared, error);
}

static liana_status prepare_reference(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    return make_plan(node, true, prepared, error);
}

static liana_status run_cond(const liana__call *call)
{
    const cond_plan *plan = call->plan;
    const liana__body_plan *chosen = &plan->bodies[*(const uint8_t *)call->src[0] ? 0 : 1];
    const liana_graph *body = chosen->body;
    const liana__body_run run = liana__body_run_begin(chosen, call->scratch, 0);
    for (size_t i = 0; i < body->num_inputs; i++) run.values[body->inputs[i]->id] = (void *)call->src[i + 1];
    LIANA_TRY(liana__body_run_once(&run));
    LIANA_TRY(liana__body_run_step(&run));
    const liana_dtype dtype = call->node->dtype;
    int64_t offset = 0;
    for (size_t i = 0; i < body->num_outputs; i++) {
        const liana__node *output = body->outputs[i].node;
        const int64_t count = liana_shape_size(&output->shape);
        char *to = (char *)call->dst + (size_t)offset * liana_dtype_size(dtype);
        liana__flat_copy(to, dtype, run.values[output->id], output->dtype, count);
        offset += count;
    }
    return LIANA_OK;
}

static void cost_of(const liana__node *node, liana__cost *cost)
{
    for (size_t i = 0; i < 2; i++) {
        const liana_graph *body = liana__node_body(node, i);
        liana__cost branch = {0};
        for (size_t id = 1; id < body->num_nodes; id++) {
            if (liana__is_leaf(body->nodes[id])) continue;
            const liana__cost inner = liana__node_cost(body->nodes[id]);
            branch.flops += inner.flops;
            branch.product_flops += inner.product_flops;
        }
        if (i > 0 && branch.flops >= cost->flops) continue;
        cost->flops = branch.flops;
        cost->product_flops = branch.product_flops;
    }
    cost->family = "loops";
}

/* ---- StableHLO ---- */

static liana_status lower_branch(liana__lowering *l, const liana__node *node, size_t index, liana__hlo *results)
{
    liana__hlo *inputs = liana__hlo_room(l, node->num_inputs);
    if (!inputs) return liana__hlo_fail_memory(l);
    for (uint32_t i = 1; i < node->num_inputs; i++) inputs[i - 1] = liana__hlo_input(l, node, i);
    return liana__hlo_body(l, liana__node_body(node, index), inputs, results);
}

static liana_status lower_cond(liana__lowering *l, const liana__node *node)
{
    const liana_graph *body = liana__node_body(node, 0);
    const size_t count = body->num_outputs;
    liana__hlo *results = liana__hlo_room(l, count), *given = liana__hlo_room(l, count);
    if (!results || !given) return liana__hlo_fail_memory(l);
    for (size_t i = 0; i < count; i++) {
        results[i] = (liana__hlo){.dtype = body->outputs[i].node->dtype, .shape = body->outputs[i].node->shape};
    }
    const liana__hlo predicate = liana__hlo_input(l, node, 0);
    liana__hlo_if_begin(l, predicate, results, count);
    LIANA_TRY(lower_branch(l, node, 0, given));
    liana__hlo_if_between(l, given, count);
    LIANA_TRY(lower_branch(l, node, 1, given));
    liana__hlo_if_end(l, predicate, given, results, count);
    return liana__hlo_give(l, node, liana__hlo_flat(l, results, count, node->dtype));
}

static const liana__kernel compiled = {.name = "compiled",
                                       .prepare = prepare_fast,
                                       .release = free_plan,
                                       .run = run_cond};
static const liana__kernel reference = {.name = "reference",
                                        .prepare = prepare_reference,
                                        .release = free_plan,
                                        .run = run_cond};

const liana__op liana__op_cond = {
    .name = "cond",
    .doc = "One of two bodies, by a predicate.",
    .attributes = &attributes,
    .num_inputs = 1,
    .more_inputs = 1000,
    .num_bodies = 2,
    .infer = infer_cond,
    .gradient = build_gradient,
    .cost = cost_of,
    .lower = lower_cond,
    .kernels = LIANA__KERNELS(&compiled, &reference, NULL),
};

void liana_op_cond_at(liana_location here, const liana_cond *cond, liana_tensor *ys)
{
    if (!cond) return;
    /* Before the constants stands the predicate, of which there is one in any case. */
    const liana__body_inputs predicate = {.here = here, .op = "cond", .carries = &cond->predicate, .num_carries = 1};
    const liana__body_inputs inputs = {.here = here,
                                       .op = "cond",
                                       .constants = cond->constants,
                                       .num_constants = cond->num_constants,
                                       .num_ys = cond->num_ys,
                                       .user = cond->user,
                                       .graph = cond->predicate.graph};
    liana_graph *graph = liana__body_inputs_graph(&predicate);
    for (size_t i = 0; ys && i < cond->num_ys; i++) ys[i] = (liana_tensor){graph, 0};
    liana_graph *first = graph ? liana__body_build(&inputs, cond->then_body) : NULL;
    liana_graph *second = first ? liana__body_build(&inputs, cond->else_body) : NULL;
    if (second) {
        const liana__bodies bodies = {{first, second}};
        const liana_tensor all = liana__body_op(&inputs, &liana__op_cond, cond->predicate, &bodies);
        const liana__flat flat = flat_of(&bodies);
        for (size_t i = 0; ys && all.id && i < cond->num_ys; i++) ys[i] = liana__flat_part(here, all, &flat, i);
    }
    liana_graph_destroy(second);
    liana_graph_destroy(first);
}
