/* Hides from a compiler that something is computed twice. */
#include "stablehlo/recomputed.h"

#include "stablehlo/control.h"

static bool is_written(const liana_graph *graph, const bool *needed, size_t id)
{
    const liana__node *node = graph->nodes[id];
    return needed[id] && !liana__is_leaf(node);
}

/* The first node behind the run that begins at `id`; the graph's end if there is none. */
static size_t end_of(const liana_graph *graph, const bool *needed, size_t id)
{
    while (id < graph->num_nodes && (!is_written(graph, needed, id) || graph->nodes[id]->recomputed)) id++;
    return id;
}

static void add(liana__recomputed_run *run, uint32_t id)
{
    for (size_t i = 0; i < run->count; i++) {
        if (run->ids[i] == id) return;
    }
    run->ids[run->count++] = id;
}

static bool is_outside(const liana__node *input, size_t first)
{
    return input->id < first && !liana__is_variable(input) && !liana__is_constant(input);
}

static size_t count_inputs(const liana_graph *graph, size_t first, size_t end)
{
    size_t count = 0;
    for (size_t id = first; id < end; id++) count += graph->nodes[id]->num_inputs;
    return count;
}

/* A gradient that is there before the run, of which the node behind it makes another. */
static const liana__node *find_gradient(const liana_graph *graph, size_t first, size_t end)
{
    const liana__node *next = end < graph->num_nodes ? graph->nodes[end] : NULL;
    for (uint32_t i = 0; next && i < next->num_inputs; i++) {
        const liana__node *input = next->inputs[i];
        if (input->id >= graph->first_gradient && is_outside(input, first) && !liana__is_leaf(input)) return input;
    }
    for (size_t id = first; id-- > graph->first_gradient;) {
        const liana__node *node = graph->nodes[id];
        if (!node->recomputed && !liana__is_leaf(node)) return node;
    }
    return NULL;
}

static liana_status begin(liana__lowering *l, const liana_graph *graph, const bool *needed, size_t first,
                          liana__recomputed_run *run)
{
    const size_t end = end_of(graph, needed, first);
    const size_t most = count_inputs(graph, first, end) + 1;
    run->ids = liana__arena_allocate(&l->scratch, most * sizeof *run->ids);
    run->values = liana__arena_allocate(&l->scratch, most * sizeof *run->values);
    liana__hlo *hidden = liana__arena_allocate(&l->scratch, most * sizeof *hidden);
    if (l->scratch.failed) return liana__hlo_fail_memory(l);
    for (size_t id = first; id < end; id++) {
        const liana__node *node = graph->nodes[id];
        for (uint32_t i = 0; is_written(graph, needed, id) && i < node->num_inputs; i++) {
            if (is_outside(node->inputs[i], first)) add(run, node->inputs[i]->id);
        }
    }
    const size_t count = run->count;
    const liana__node *gradient = find_gradient(graph, first, end);
    if (gradient && needed[gradient->id]) add(run, gradient->id);
    for (size_t i = 0; i < run->count; i++) hidden[i] = run->values[i] = l->values[run->ids[i]];
    liana__hlo_indent(l);
    liana__hlo_barrier(l, hidden, run->count);
    for (size_t i = 0; i < run->count; i++) l->values[run->ids[i]] = hidden[i];
    run->count = count; /* the gradient stays behind the barrier */
    return LIANA_OK;
}

liana_status liana__recomputed_step(liana__lowering *l, const liana_graph *graph, const bool *needed, size_t id,
                                    liana__recomputed_run *run)
{
    const bool is_again = graph->nodes[id]->recomputed;
    if (is_again && !run->ids) return begin(l, graph, needed, id, run);
    if (is_again || !run->ids) return LIANA_OK;
    for (size_t i = 0; i < run->count; i++) l->values[run->ids[i]] = run->values[i];
    *run = (liana__recomputed_run){0};
    return LIANA_OK;
}
