/* Reverse-mode differentiation: walks the graph from the target back and lets each op build its own gradient. */
#include "ops/autodiff.h"

#include "base/scoped.h"
#include "ir/device_scope.h"
#include "ir/given.h"
#include "ops/ops.h"

#include <stdlib.h>

typedef struct autodiff {
    liana_graph *graph;
    size_t num_nodes;        /* of the forward graph */
    bool *depends;           /* node id -> depends on a wanted tensor through ops that pass gradients */
    liana_tensor *gradients; /* node id -> d target / d node, as far as summed up */
} autodiff;

static bool begin(autodiff *ad, liana__arena *arena, liana_location here, liana_graph *graph)
{
    const size_t n = graph->num_nodes;
    *ad = (autodiff){.graph = graph,
                     .num_nodes = n,
                     .depends = liana__arena_allocate(arena, n * sizeof *ad->depends),
                     .gradients = liana__arena_allocate(arena, n * sizeof *ad->gradients)};
    if (arena->failed) liana__graph_fail(graph, here, LIANA_OUT_OF_MEMORY, "out of memory for the gradient");
    return !arena->failed;
}

/* Integers and bools carry no gradient, and ops that stop it are the end of the way. */
static bool stops(const liana__node *node)
{
    return node->op->gradient == liana__no_gradient || !liana__dtype_is_float(node->dtype);
}

static void mark_dependent(autodiff *ad, const liana_tensor *wrt, size_t count)
{
    for (size_t i = 0; i < count; i++) ad->depends[wrt[i].id] = true;
    for (size_t id = 1; id < ad->num_nodes; id++) {
        const liana__node *node = ad->graph->nodes[id];
        if (stops(node)) continue;
        for (uint32_t i = 0; i < node->num_inputs; i++) {
            if (ad->depends[node->inputs[i]->id]) ad->depends[id] = true;
        }
    }
}

/* Contributions are added on the device of the tensor that they are for. */
static void accumulate(autodiff *ad, const liana__node *node, liana_tensor gradient)
{
    liana_tensor *sum = &ad->gradients[node->id];
    const uint32_t before = liana__scope_enter(ad->graph, liana__scope_of(ad->graph, node));
    *sum = sum->id ? liana_op_add(*sum, gradient) : gradient;
    (void)liana__scope_enter(ad->graph, before);
}

static void differentiate_node(autodiff *ad, const liana__node *node)
{
    liana_graph *graph = ad->graph;
    if (!node->op->gradient) {
        liana__graph_fail(graph, node->where, LIANA_INVALID_ARGUMENT,
                          "%s cannot be differentiated, but the requested gradient flows through it%s",
                          liana__node_print(node).text,
                          node->op->num_bodies ? "; use liana_op_scan, whose number of steps is fixed" : "");
        return;
    }
    size_t n = node->num_inputs;
    LIANA__SCOPED_MEMORY liana_tensor *inputs = calloc(2 * n, sizeof *inputs);
    LIANA__SCOPED_MEMORY bool *wanted = calloc(n, sizeof *wanted);
    if (!inputs || !wanted) {
        liana__graph_fail(graph, node->where, LIANA_OUT_OF_MEMORY, "out of memory for the gradient of %s",
                          node->op->name);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        inputs[i] = liana__node_tensor(graph, node->inputs[i]);
        wanted[i] = ad->depends[node->inputs[i]->id] && liana__dtype_is_float(node->inputs[i]->dtype);
    }
    liana__gradient gradient = {.node = node,
                                .output = liana__node_tensor(graph, node),
                                .output_gradient = ad->gradients[node->id],
                                .inputs = inputs,
                                .wanted = wanted,
                                .input_gradients = inputs + n};
    graph->blamed = &node->where;
    const uint32_t before = liana__scope_enter(graph, liana__scope_of(graph, node));
    node->op->gradient(&gradient);
    for (size_t i = 0; i < n && graph->status == LIANA_OK; i++) {
        if (wanted[i] && inputs[n + i].id) accumulate(ad, node->inputs[i], inputs[n + i]);
    }
    (void)liana__scope_enter(graph, before);
    graph->blamed = NULL;
}

/* A constant of a tensor's type, where the tensor is. */
static liana_tensor full_like(const autodiff *ad, liana_location here, liana_tensor like, double value)
{
    const uint32_t before = liana__scope_enter(ad->graph, liana__scope_of(ad->graph, ad->graph->nodes[like.id]));
    liana_tensor full = liana__full(here, ad->graph, liana_tensor_dtype(like), liana_tensor_shape(like), value);
    (void)liana__scope_enter(ad->graph, before);
    return full;
}

/* From the gradients that are there, the last one of which is that of node `last`. */
static void walk_back(autodiff *ad, uint32_t last)
{
    const liana_graph *graph = ad->graph;
    for (size_t id = last; id > 0 && graph->status == LIANA_OK; id--) {
        const liana__node *node = graph->nodes[id];
        bool on_the_way = ad->depends[id] && ad->gradients[id].id && node->num_inputs > 0;
        if (on_the_way) differentiate_node(ad, node);
    }
}

static void run(autodiff *ad, liana_location here, liana_tensor target, const liana_tensor *wrt, size_t count,
                liana_tensor *gradients)
{
    liana_graph *graph = ad->graph;
    mark_dependent(ad, wrt, count);
    ad->gradients[target.id] = full_like(ad, here, target, 1);
    walk_back(ad, target.id);
    for (size_t i = 0; i < count && graph->status == LIANA_OK; i++) {
        gradients[i] = ad->gradients[wrt[i].id];
        if (gradients[i].id) continue;
        gradients[i] = full_like(ad, here, wrt[i], 0);
    }
}

void liana__gradients_from(liana_location here, const liana__seed *seeds, size_t num_seeds, const liana_tensor *wrt,
                           size_t count, liana_tensor *gradients)
{
    if (num_seeds == 0 || count == 0 || seeds[0].target.graph->status != LIANA_OK) return;
    LIANA__SCOPED(liana__arena) arena = {0};
    autodiff ad;
    uint32_t last = 0;
    if (!begin(&ad, &arena, here, seeds[0].target.graph)) return;
    mark_dependent(&ad, wrt, count);
    for (size_t i = 0; i < num_seeds; i++) {
        const liana_tensor target = seeds[i].target;
        accumulate(&ad, ad.graph->nodes[target.id], seeds[i].gradient);
        if (target.id > last) last = target.id;
    }
    walk_back(&ad, last);
    for (size_t i = 0; i < count && ad.graph->status == LIANA_OK; i++) {
        gradients[i] = ad.depends[wrt[i].id] ? ad.gradients[wrt[i].id] : (liana_tensor){ad.graph, 0};
    }
}

static bool check_arguments(liana_location here, liana_tensor target, const liana_tensor *wrt, size_t count)
{
    const liana__node *node = liana__tensor_node(target);
    if (!node) {
        if (target.graph) {
            liana__graph_fail(target.graph, here, LIANA_INVALID_ARGUMENT, "the target of a gradient is not a tensor");
        }
        return false;
    }
    if (!liana__dtype_is_float(node->dtype)) {
        liana__graph_fail(target.graph, here, LIANA_INVALID_ARGUMENT,
                          "the target of a gradient, %s, is %s, expected a float", liana__node_print(node).text,
                          liana_dtype_name(node->dtype));
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const liana__node *with = wrt[i].graph == target.graph ? liana__tensor_node(wrt[i]) : NULL;
        if (with && liana__dtype_is_float(with->dtype)) continue;
        liana__graph_fail(target.graph, here, LIANA_INVALID_ARGUMENT,
                          "gradient %zu is requested for something that is not a float tensor of this graph: %s%s%s", i,
                          with ? liana__node_print(with).text : "no tensor of it", with ? " is " : "",
                          with ? liana_dtype_name(with->dtype) : "");
        return false;
    }
    return true;
}

void liana_gradients_at(liana_location here, liana_tensor target, const liana_tensor *wrt, size_t count,
                        liana_tensor *gradients)
{
    if (count == 0) return;
    if (!LIANA__GRAPH_REQUIRE(target.graph, here, gradients)) return;
    for (size_t i = 0; i < count; i++) gradients[i] = (liana_tensor){target.graph, 0};
    if (!LIANA__GRAPH_REQUIRE(target.graph, here, wrt)) return;
    if (!check_arguments(here, target, wrt, count)) return;
    if (!target.graph->first_gradient) target.graph->first_gradient = target.graph->num_nodes;
    LIANA__SCOPED(liana__arena) arena = {0};
    autodiff ad;
    if (begin(&ad, &arena, here, target.graph)) run(&ad, here, target, wrt, count, gradients);
}

/* ---- whether there is a gradient ---- */

/* The first op on the way to the target at which gradients end. NULL: there is none. */
static const liana__node *find_stop(const autodiff *ad, liana_tensor target)
{
    const liana__node *found = NULL;
    LIANA__SCOPED_MEMORY bool *needed = calloc(ad->num_nodes, sizeof *needed);
    if (!needed) return NULL;
    needed[target.id] = true;
    for (size_t id = target.id; id > 0; id--) {
        const liana__node *node = ad->graph->nodes[id];
        for (uint32_t i = 0; needed[id] && i < node->num_inputs; i++) {
            needed[node->inputs[i]->id] = true;
            if (stops(node) && ad->depends[node->inputs[i]->id]) found = node;
        }
    }
    return found;
}

static void fail_without(const autodiff *ad, liana_location here, liana_tensor target, const liana_tensor *wrt,
                         size_t count)
{
    const liana__node *stop = find_stop(ad, target), *first = liana__tensor_node(wrt[0]);
    const char *others = count > 1 ? " and the others" : "";
    if (!first) return;
    if (stop) {
        liana__graph_fail(ad->graph, here, LIANA_INVALID_ARGUMENT,
                          "there is no gradient: the loss depends on %s%s only through %s, which passes none",
                          liana__node_print(first).text, others, liana__node_print(stop).text);
    } else {
        liana__graph_fail(ad->graph, here, LIANA_INVALID_ARGUMENT,
                          "there is no gradient: the loss does not depend on %s%s", liana__node_print(first).text,
                          others);
    }
}

bool liana__require_gradient(liana_location here, liana_tensor target, const liana_tensor *wrt, size_t count)
{
    liana_graph *graph = target.graph;
    if (!graph || graph->status != LIANA_OK || count == 0 || !check_arguments(here, target, wrt, count)) return true;
    LIANA__SCOPED(liana__arena) arena = {0};
    autodiff ad;
    if (!begin(&ad, &arena, here, graph)) return false;
    mark_dependent(&ad, wrt, count);
    if (ad.depends[target.id]) return true;
    fail_without(&ad, here, target, wrt, count);
    return false;
}
