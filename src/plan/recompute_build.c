/* A graph in which chosen segments run a second time, right before the segment that first needs them again. */
#include "base/scoped.h"
#include "passes/pass.h"
#include "plan/recompute.h"

#include <stdlib.h>

typedef struct builder {
    const liana__recompute_view *view;
    liana_graph *graph; /* the new one */
    liana__execution_order *schedule;
    bool *elsewhere;
    bool *needed;                 /* by old id: a node reads the first result */
    liana_tensor *first, *second; /* by old id: the replacement of the node, and of its recomputation */
} builder;

static liana_tensor build_node(builder *b, const liana__node *node, bool is_clone, bool reads_clones)
{
    const liana__recompute_view *view = b->view;
    LIANA__SCOPED_MEMORY liana_tensor *inputs = malloc((node->num_inputs + 1) * sizeof *inputs);
    if (!inputs) return liana__graph_fail(b->graph, node->where, LIANA_OUT_OF_MEMORY, "out of memory for a graph");
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        bool second = reads_clones && liana__recompute_reads_clone(view, input);
        inputs[i] = second ? b->second[input->id] : b->first[input->id];
    }
    liana_tensor made = liana__build(node->where, b->graph, node->op, inputs, node->num_inputs, node->attributes);
    liana__node *own = liana__tensor_node(made);
    if (own) own->keep_wide = node->keep_wide;
    if (own) own->recomputed = is_clone;
    return made;
}

static void mark_inputs(const builder *b, const liana__node *node, bool reads_clones)
{
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        if (!reads_clones || !liana__recompute_reads_clone(b->view, input)) b->needed[input->id] = true;
    }
}

/* Nodes that only the backward pass reads are not needed before. */
static void find_needed(const builder *b)
{
    const liana__recompute_view *view = b->view;
    const liana__execution_order *schedule = view->schedule;
    const liana_graph *graph = view->graph;
    for (size_t i = 0; i < liana__graph_num_results(graph); i++) b->needed[liana__graph_result(graph, i)->id] = true;
    for (size_t i = schedule->count; i-- > 0;) {
        const liana__node *node = graph->nodes[schedule->order[i]];
        bool is_backward = schedule->segment_of[node->id] >= view->turn;
        if (view->cloned[node->id]) mark_inputs(b, node, true);
        if (b->needed[node->id]) mark_inputs(b, node, is_backward);
    }
}

/* Appends the nodes of a segment to the new order: all of them, or the recomputed ones. */
static void emit(builder *b, uint32_t index, bool is_clone)
{
    const liana__recompute_view *view = b->view;
    const liana__execution_order *old = view->schedule;
    const liana__segment *segment = &old->segments[index];
    liana__execution_order *schedule = b->schedule;
    uint32_t made = (uint32_t)schedule->num_segments++;
    schedule->segments[made] = *segment;
    schedule->segments[made].begin = schedule->count;
    for (size_t i = segment->begin; i < segment->end && b->graph->status == LIANA_OK; i++) {
        const liana__node *node = view->graph->nodes[old->order[i]];
        if (!(is_clone ? view->cloned : b->needed)[node->id]) continue;
        liana_tensor tensor = build_node(b, node, is_clone, is_clone || index >= view->turn);
        (is_clone ? b->second : b->first)[node->id] = tensor;
        schedule->position[tensor.id] = (uint32_t)schedule->count;
        schedule->segment_of[tensor.id] = made;
        schedule->internal[tensor.id] = old->internal[node->id];
        schedule->order[schedule->count++] = tensor.id;
        b->elsewhere[tensor.id] = view->elsewhere && view->elsewhere[node->id];
    }
    schedule->segments[made].end = schedule->count;
    if (schedule->segments[made].begin == schedule->count) schedule->num_segments--;
}

static void emit_all(builder *b)
{
    const liana__recompute_view *view = b->view;
    for (uint32_t index = 0; index < view->schedule->num_segments; index++) {
        if (index == view->turn) b->graph->first_gradient = b->graph->num_nodes;
        for (uint32_t again = 0; index >= view->turn && again < view->turn; again++) {
            if (view->trigger[again] == index) emit(b, again, true);
        }
        emit(b, index, false);
    }
}

static void copy_results(builder *b)
{
    const liana_graph *old = b->view->graph;
    for (size_t i = 0; i < old->num_outputs; i++) {
        const liana__output *output = &old->outputs[i];
        liana_graph_output_at(output->node->where, b->graph, output->name, b->first[output->node->id]);
    }
    for (size_t i = 0; i < old->num_assignments; i++) {
        const liana__assignment *assignment = &old->assignments[i];
        liana_graph_assign_at(assignment->value->where, b->first[assignment->variable->id],
                              b->first[assignment->value->id]);
    }
}

liana_status liana__recompute_build(const liana__recompute_view *view, liana__recomputation *made, liana__error *error)
{
    *made = (liana__recomputation){0};
    const liana_graph *old = view->graph;
    size_t num_clones = 0, num_segments = view->schedule->num_segments;
    for (size_t id = 1; id < old->num_nodes; id++) {
        if (!view->cloned[id]) continue;
        num_clones++;
        if (old->nodes[id]->op->placement != LIANA__PLACE_ALIAS) made->flops += liana__node_cost(old->nodes[id]).flops;
    }
    for (uint32_t i = 0; i < view->turn; i++) made->num_segments += view->trigger[i] != UINT32_MAX;
    LIANA_TRY(liana_graph_create(old->context, &made->graph));
    builder b = {.view = view, .graph = made->graph, .schedule = &made->schedule};
    LIANA__SCOPED(liana__arena) scratch = {0};
    b.first = liana__arena_allocate(&scratch, old->num_nodes * sizeof *b.first);
    b.second = liana__arena_allocate(&scratch, old->num_nodes * sizeof *b.second);
    b.needed = liana__arena_allocate(&scratch, old->num_nodes * sizeof *b.needed);
    liana_status status = LIANA_OK;
    b.elsewhere = made->elsewhere = calloc(old->num_nodes + num_clones, sizeof *made->elsewhere);
    num_segments += made->num_segments + 1;
    if (scratch.failed || !b.elsewhere ||
        !liana__execution_order_allocate(&made->schedule, old->num_nodes + num_clones, num_segments)) {
        status = liana__fail_memory(error, "a graph");
    } else {
        for (size_t id = 1; id < old->num_nodes; id++) {
            if (liana__is_leaf(old->nodes[id])) b.first[id] = liana__copy_leaf(b.graph, old->nodes[id]);
        }
        find_needed(&b);
        emit_all(&b);
        copy_results(&b);
        made->schedule.num_nodes = made->graph->num_nodes;
        status = made->graph->status;
        if (status != LIANA_OK && error != &old->context->error) *error = old->context->error;
    }
    if (status != LIANA_OK) liana__recomputation_free(made);
    return status;
}

void liana__recomputation_free(liana__recomputation *made)
{
    liana_graph_destroy(made->graph);
    liana__execution_order_free(&made->schedule);
    free(made->elsewhere);
    *made = (liana__recomputation){0};
}
