/* Computes parts of the forward pass twice, behind a plugin. */
#include "backends/pjrt/recompute.h"

#include "base/scoped.h"
#include "plan/memory_plan.h"

/* The share of the planned memory that a level aims at. */
static const double SHARES[LIANA__MOST_RECOMPUTED] = {0.8, 0.6, 0.4, 0};

static liana_status choose(const liana_graph *graph, const liana__execution_order *order, double share,
                           liana__recomputation *made, liana__error *error)
{
    LIANA__SCOPED(liana__memory_plan) plan = {0};
    LIANA_TRY(liana__memory_plan_make(graph, order, true, NULL, &plan, error));
    const size_t limit = (size_t)(share * (double)plan.workspace_size);
    return liana__recompute(graph, order, NULL, limit, made, error);
}

liana_status liana__pjrt_recompute(const liana_graph *graph, int level, liana__recomputation *made, liana__error *error)
{
    *made = (liana__recomputation){0};
    if (!graph->first_gradient) return LIANA_OK;
    LIANA__SCOPED(liana__execution_order) order = {0};
    LIANA_TRY(liana__execution_order_make(graph, LIANA__SLICE_BYTES, &order, error));
    LIANA_TRY(choose(graph, &order, SHARES[level - 1], made, error));
    if (made->num_segments == 0) liana__recomputation_free(made);
    return LIANA_OK;
}

double liana__pjrt_count_flops(const liana_graph *graph)
{
    double flops = 0;
    LIANA__SCOPED_MEMORY bool *needed = calloc(graph->num_nodes, sizeof *needed);
    if (needed) liana__graph_mark_needed(graph, needed);
    for (size_t id = 1; needed && id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        if (needed[id] && !liana__is_leaf(node) && !node->recomputed) flops += liana__node_cost(node).flops;
    }
    return flops;
}

int64_t liana__pjrt_limit(const liana__device *device)
{
    if (!device->memory_limit) return INT64_MAX;
    return (int64_t)device->memory_limit - (int64_t)atomic_load(&device->bytes_held);
}

liana_status liana__pjrt_fail_limit(const liana__device *device, int64_t least, liana__error *error)
{
    enum { MIB = 1 << 20 };
    const size_t held = atomic_load(&device->bytes_held), needed = held + (size_t)(least > 0 ? least : 0);
    return liana__fail(error, LIANA_OUT_OF_MEMORY,
                       "training needs at least %zu MiB of a device, but may take %zu MiB: %zu MiB for weights, the "
                       "optimizer and what else it keeps, and %zu MiB while a program runs; use a smaller "
                       "train.microbatch, or raise train.memory",
                       (needed + MIB - 1) / MIB, device->memory_limit / MIB, held / MIB,
                       (needed - held + MIB - 1) / MIB);
}
