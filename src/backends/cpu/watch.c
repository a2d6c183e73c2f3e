/* Looks at new values of variables while they are in the cache. An update then need not read them once more to know
 * that all are finite. */
#include "backends/cpu/cpu.h"

/* Values of variables that a node of the graph computes. No step has others (an input, a constant) in the cache. */
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
