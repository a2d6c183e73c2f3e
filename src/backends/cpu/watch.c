/* Looks at new values of variables while they are in the cache. An update then need not read them once more to know
 * that all are finite. */
#include "backends/cpu/cpu.h"

#include "ops/reduce/count_non_finite.h"

/* Values of variables that a node of the graph computes. Others (an input, a constant) nobody here has in the cache. */
liana_status liana__cpu_choose_watched(liana__cpu_executable *executable, liana__error *error)
{
    const liana_graph *graph = executable->graph;
    executable->watched = liana__arena_allocate(&executable->arena, graph->num_nodes * sizeof *executable->watched);
    if (!executable->watched) return liana__fail_memory(error, "an executable");
    executable->watches_all = graph->num_assignments > 0;
    for (size_t i = 0; i < graph->num_assignments; i++) {
        const liana__node *value = liana__cpu_find_source(graph->assignments[i].value);
        if (!liana__dtype_computes(value->dtype)) continue;
        executable->watched[value->id] = true;
        if (!executable->plan.computed[value->id]) executable->watches_all = false;
    }
    return LIANA_OK;
}

/* The step that counts in what a kernel gives. */
static liana_status make_watch(liana__cpu_executable *executable, liana__cpu_step *step, liana__error *error)
{
    liana__arena *arena = &executable->arena;
    liana__node *const inputs[] = {(liana__node *)step->node};
    liana__node node = {.op = &liana__op_count_non_finite,
                        .dtype = LIANA_S32,
                        .shape = liana_shape_of(liana__finite_chunks(&step->node->shape)),
                        .where = step->node->where,
                        .num_inputs = 1};
    node.inputs = liana__arena_copy(arena, inputs, sizeof inputs);
    step->watch = liana__arena_allocate(arena, sizeof *step->watch);
    if (arena->failed) return liana__fail_memory(error, "an executable");
    step->watch->whole = step->whole;
    step->watch->node = liana__arena_copy(arena, &node, sizeof node);
    if (!step->watch->node) return liana__fail_memory(error, "an executable");
    const size_t counts = liana__align_up(liana__byte_size(LIANA_S32, &node.shape));
    if (counts > executable->scratch_size) executable->scratch_size = counts;
    return liana__cpu_prepare_step(executable, step->watch, error);
}

liana_status liana__cpu_watch_step(liana__cpu_executable *executable, liana__cpu_step *step, liana__error *error)
{
    if (!executable->watched[step->whole->id] || step->kernel->notes_non_finite) return LIANA_OK;
    return make_watch(executable, step, error);
}

/* A result is looked at when a kernel gives the whole of it, or rows of it. Sums are complete with the last slice
 * alone, and a kernel that has tiles does not say what a tile gives. */
bool liana__cpu_watches(const liana__cpu_executable *executable)
{
    for (size_t i = 0; executable->watches_all && i < executable->num_steps; i++) {
        const liana__cpu_step *step = &executable->steps[i];
        if (!executable->watched[step->whole->id]) continue;
        const bool in_own_tiles = step->num_tiles > 1 && !step->tile;
        if (step->sum || step->part_size || in_own_tiles) return false;
    }
    return executable->watches_all;
}
