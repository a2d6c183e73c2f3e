/* Cuts an update into slices. */
#include "step/user_update.h"

#include "base/context.h"
#include "base/scoped.h"
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

/* ---- sums that stay together ---- */

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

/* The findings about the assignments of a graph. */
typedef struct cutting {
    const liana_graph *graph;
    size_t first, end;        /* the inputs that are sums */
    bool *needed;             /* by node: scratch memory for marking needed nodes */
    size_t *readers;          /* by sum: the first assignment that reads it; SIZE_MAX: none does */
    size_t *firsts;           /* by assignment: another one of the same group, or itself */
    bool *is_shared;          /* by assignment: it is made of no sum, and others read it */
    liana__slice_item *items; /* groups, in the order of their first assignments */
    liana__slice_end *ends;
} cutting;

static void mark(const liana_graph *graph, const size_t *assignments, size_t count, bool *needed)
{
    memset(needed, 0, graph->num_nodes * sizeof *needed);
    liana__wanted_mark(graph, &(liana__wanted){.assignments = assignments, .num_assignments = count}, needed);
}

/* Adds the assignments that are made of no sum and that others of the list read. */
static size_t add_shared(const liana_graph *graph, const bool *is_shared, bool *needed, size_t *list, size_t count)
{
    size_t before;
    do {
        before = count;
        mark(graph, list, count, needed);
        for (size_t i = 0; i < graph->num_assignments; i++) {
            bool is_there = false;
            for (size_t k = 0; k < count; k++) is_there |= list[k] == i;
            if (is_shared[i] && !is_there && needed[graph->assignments[i].variable->id]) list[count++] = i;
        }
    } while (count > before);
    return count;
}

static void find_sums(cutting *own)
{
    const liana_graph *graph = own->graph;
    for (size_t i = own->first; i < own->end; i++) own->readers[i - own->first] = SIZE_MAX;
    for (size_t i = 0; i < graph->num_assignments; i++) {
        own->firsts[i] = i;
        own->is_shared[i] = true;
        mark(graph, &i, 1, own->needed);
        for (size_t k = own->first; k < own->end; k++) {
            size_t *reader = &own->readers[k - own->first];
            if (!own->needed[graph->inputs[k]->id]) continue;
            own->is_shared[i] = false;
            if (*reader == SIZE_MAX) *reader = i;
            join(own->firsts, *reader, i);
        }
    }
}

static void join_readers(cutting *own)
{
    const liana_graph *graph = own->graph;
    for (size_t i = 0; i < graph->num_assignments; i++) {
        if (own->is_shared[i]) continue;
        mark(graph, &i, 1, own->needed);
        for (size_t k = 0; k < graph->num_assignments; k++) {
            const bool reads = k != i && own->needed[graph->assignments[k].variable->id];
            if (reads && !own->is_shared[k]) join(own->firsts, i, k);
        }
    }
}

/* An assignment that no other reads is a group of its own. */
static void find_shared(cutting *own, size_t *list)
{
    const liana_graph *graph = own->graph;
    size_t count = 0;
    for (size_t i = 0; i < graph->num_assignments; i++) {
        if (!own->is_shared[i]) list[count++] = i;
    }
    const size_t num_own = count;
    count = add_shared(graph, own->is_shared, own->needed, list, count);
    memset(own->is_shared, 0, graph->num_assignments * sizeof *own->is_shared);
    for (size_t i = num_own; i < count; i++) own->is_shared[list[i]] = true;
}

/* ---- slices ---- */

/* A group is an item of slices. */
static liana_status share_out(cutting *own, size_t num_slices, liana__update_cut *cut, liana__error *error)
{
    const liana_graph *graph = own->graph;
    size_t count = 0;
    for (size_t i = 0; i < graph->num_assignments; i++) {
        const liana__node *variable = graph->assignments[i].variable;
        if (own->is_shared[i]) continue;
        const size_t group = first_of(own->firsts, i), item = group == i ? count++ : cut->slices[group];
        cut->slices[i] = item;
        if (group == i) own->items[item] = (liana__slice_item){.name = variable->name, .whole = true};
        own->items[item].size += liana_shape_size(&variable->shape);
    }
    LIANA_TRY(liana__slices_choose(own->items, count, num_slices, own->ends, error));
    for (size_t i = 0; i < graph->num_assignments; i++) {
        size_t slice = 0;
        while (slice + 1 < num_slices && cut->slices[i] >= own->ends[slice + 1].item) slice++;
        cut->slices[i] = own->is_shared[i] ? SIZE_MAX : slice;
    }
    return LIANA_OK;
}

liana_status liana__update_cut_make(const liana_graph *graph, size_t first, size_t end, size_t num_slices,
                                    liana__update_cut *cut, liana__error *error)
{
    const size_t count = graph->num_assignments;
    LIANA__SCOPED(liana__arena) arena = {0};
    cutting own = {.graph = graph,
                   .first = first,
                   .end = end,
                   .needed = liana__arena_allocate(&arena, graph->num_nodes * sizeof *own.needed),
                   .readers = liana__arena_allocate(&arena, (end - first + 1) * sizeof *own.readers),
                   .firsts = liana__arena_allocate(&arena, (count + 1) * sizeof *own.firsts),
                   .is_shared = liana__arena_allocate(&arena, (count + 1) * sizeof *own.is_shared),
                   .items = liana__arena_allocate(&arena, (count + 1) * sizeof *own.items),
                   .ends = liana__arena_allocate(&arena, (num_slices + 1) * sizeof *own.ends)};
    size_t *list = liana__arena_allocate(&arena, (count + 1) * sizeof *list);
    *cut = (liana__update_cut){.slices = calloc(count + 1, sizeof *cut->slices), .num_assignments = count};
    if (!cut->slices || arena.failed) return liana__fail_memory(error, "the slices of an update");
    find_sums(&own);
    join_readers(&own);
    find_shared(&own, list);
    return share_out(&own, num_slices, cut, error);
}

liana_status liana__update_cut_build(const liana__update_cut *cut, const liana_graph *graph, size_t end, size_t slice,
                                     liana_graph **part)
{
    size_t num_read, count = 0;
    LIANA__SCOPED_MEMORY size_t *assignments = calloc(cut->num_assignments + 1, sizeof *assignments);
    LIANA__SCOPED_MEMORY bool *is_shared = calloc(cut->num_assignments + 1, sizeof *is_shared);
    LIANA__SCOPED_MEMORY bool *needed = calloc(graph->num_nodes, sizeof *needed);
    *part = NULL;
    if (!assignments || !is_shared || !needed) {
        return liana__fail_memory(&graph->context->error, "a slice of an update");
    }
    for (size_t i = 0; i < cut->num_assignments; i++) {
        if (cut->slices[i] == slice) assignments[count++] = i;
        is_shared[i] = cut->slices[i] == SIZE_MAX;
    }
    if (!count) return LIANA_OK;
    count = add_shared(graph, is_shared, needed, assignments, count);
    const liana__wanted wanted = {.results = graph->inputs + end,
                                  .num_results = graph->num_inputs - end,
                                  .assignments = assignments,
                                  .num_assignments = count};
    return liana__subgraph(graph, &wanted, part, &num_read);
}
