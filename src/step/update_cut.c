/* Cuts an update into slices. */
#include "step/update_cut.h"

#include "base/context.h"
#include "distribute/slices.h"
#include "exec/subgraph.h"
#include "ir/shape.h"

#include <stdlib.h>
#include <string.h>

void liana__update_cut_free(liana__update_cut *cut)
{
    free(cut->slices);
    *cut = (liana__update_cut){0};
}

/* ---- what stays together ---- */

/* The first assignment of those that stay together with one. */
static size_t first_of(const size_t *firsts, size_t assignment)
{
    while (firsts[assignment] != assignment) assignment = firsts[assignment];
    return assignment;
}

static void join(size_t *firsts, size_t a, size_t b)
{
    a = first_of(firsts, a);
    b = first_of(firsts, b);
    if (a < b) firsts[b] = a;
    if (b < a) firsts[a] = b;
}

/* firsts[assignment]: another one of the same group, or itself. `needed` is memory for the nodes, `readers` for the sums. */
static void find_groups(const liana_graph *graph, size_t first, size_t end, bool *needed, size_t *readers,
                        size_t *firsts)
{
    for (size_t i = first; i < end; i++) readers[i - first] = SIZE_MAX;
    for (size_t i = 0; i < graph->num_assignments; i++) {
        firsts[i] = i;
        memset(needed, 0, graph->num_nodes * sizeof *needed);
        liana__wanted_mark(graph, &(liana__wanted){.assignments = &i, .num_assignments = 1}, needed);
        for (size_t k = first; k < end; k++) {
            size_t *reader = &readers[k - first];
            if (!needed[graph->inputs[k]->id]) continue;
            if (*reader == SIZE_MAX) *reader = i;
            join(firsts, *reader, i);
        }
    }
}

/* ---- slices ---- */

/* A group is an item of slices, in the order of the groups' first assignments. */
static liana_status share_out(const liana_graph *graph, const size_t *firsts, size_t num_slices,
                              liana__slice_item *items, liana__slice_end *ends, liana__update_cut *cut,
                              liana__error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->num_assignments; i++) {
        const liana__node *variable = graph->assignments[i].variable;
        const size_t group = first_of(firsts, i), item = group == i ? count++ : cut->slices[group];
        cut->slices[i] = item;
        if (group == i) items[item] = (liana__slice_item){.name = variable->name, .whole = true};
        items[item].size += liana_shape_size(&variable->shape);
    }
    LIANA_TRY(liana__slices_choose(items, count, num_slices, ends, error));
    for (size_t i = 0; i < graph->num_assignments; i++) {
        size_t slice = 0;
        while (slice + 1 < num_slices && cut->slices[i] >= ends[slice + 1].item) slice++;
        cut->slices[i] = slice;
    }
    return LIANA_OK;
}

liana_status liana__update_cut_make(const liana_graph *graph, size_t first, size_t end, size_t num_slices,
                                    liana__update_cut *cut, liana__error *error)
{
    const size_t count = graph->num_assignments;
    *cut = (liana__update_cut){.slices = calloc(count + 1, sizeof *cut->slices), .num_assignments = count};
    bool *needed = calloc(graph->num_nodes, sizeof *needed);
    size_t *readers = calloc(end - first + 1, sizeof *readers), *firsts = calloc(count + 1, sizeof *firsts);
    liana__slice_item *items = calloc(count + 1, sizeof *items);
    liana__slice_end *ends = calloc(num_slices + 1, sizeof *ends);
    liana_status status = LIANA_OK;
    if (!cut->slices || !needed || !readers || !firsts || !items || !ends) {
        status = liana__fail_memory(error, "the slices of an update");
    } else {
        find_groups(graph, first, end, needed, readers, firsts);
        status = share_out(graph, firsts, num_slices, items, ends, cut, error);
    }
    free(needed);
    free(readers);
    free(firsts);
    free(items);
    free(ends);
    return status;
}

liana_status liana__update_cut_build(const liana__update_cut *cut, const liana_graph *graph, size_t end, size_t slice,
                                     liana_graph **part)
{
    size_t num_read, count = 0;
    size_t *assignments = calloc(cut->num_assignments + 1, sizeof *assignments);
    *part = NULL;
    if (!assignments) return liana__fail_memory(&graph->context->error, "a slice of an update");
    for (size_t i = 0; i < cut->num_assignments; i++) {
        if (cut->slices[i] == slice) assignments[count++] = i;
    }
    const liana__wanted wanted = {.results = graph->inputs + end,
                                  .num_results = graph->num_inputs - end,
                                  .assignments = assignments,
                                  .num_assignments = count};
    const liana_status status = count ? liana__subgraph(graph, &wanted, part, &num_read) : LIANA_OK;
    free(assignments);
    return status;
}
