/* Decides where each tensor lies while a graph runs. */
#include "plan/memory_plan.h"

#include "base/scoped.h"

#include <stdlib.h>

/* Times are places in the order, from 1; leaves are there before, at 0; the copies are made at the end. */
static const uint32_t AT_END = UINT32_MAX;

/* A piece of memory, used by one or more nodes (aliases, in-place results) one after the other. */
typedef struct piece {
    size_t size;
    uint32_t first, last; /* times between which it is held */
    bool internal;        /* of one slice: other tensors of a sliced segment are held as long as it runs */
    size_t offset;
    liana__storage external; /* kind NONE: in the workspace */
} piece;

typedef struct planner {
    const liana_graph *graph;
    const liana__execution_order *schedule;
    bool share;
    const bool *elsewhere; /* by node id, or NULL */
    bool *needed;
    uint32_t *last_use;  /* by node id: the time of the last node that reads it, or AT_END */
    uint32_t *num_uses;  /* by node id: in nodes and outputs */
    size_t *piece_of;    /* by node id */
    size_t *partials_of; /* by node id: the piece, 0 for none (it is a leaf's) */
    size_t *spare_of;    /* the same */
    piece *pieces;
    size_t num_pieces;
    liana__memory_plan *plan;
} planner;

static uint32_t time_of(const planner *p, const liana__node *node)
{
    return liana__is_leaf(node) ? 0 : p->schedule->position[node->id] + 1;
}

/* The segment that runs at a time, if it is a sliced one; else NULL. */
static const liana__segment *sliced_at(const planner *p, uint32_t time)
{
    if (time == 0 || time == AT_END) return NULL;
    const liana__segment *segment = liana__execution_order_segment(p->schedule, p->schedule->order[time - 1]);
    return liana__segment_is_sliced(segment) ? segment : NULL;
}

static bool is_internal(const planner *p, const liana__node *node)
{
    return !liana__is_leaf(node) && p->schedule->internal[node->id];
}

static size_t node_size(const planner *p, const liana__node *node)
{
    size_t size = liana__byte_size(node->dtype, &node->shape);
    return is_internal(p, node) ? size / liana__segment_num_slices(sliced_at(p, time_of(p, node))) : size;
}

static void find_last_uses(planner *p)
{
    const liana_graph *graph = p->graph;
    const liana__execution_order *schedule = p->schedule;
    for (uint32_t i = 0; i < schedule->count; i++) {
        const liana__node *node = graph->nodes[schedule->order[i]];
        p->last_use[node->id] = i + 1;
        for (uint32_t k = 0; k < node->num_inputs; k++) {
            p->last_use[node->inputs[k]->id] = i + 1;
            p->num_uses[node->inputs[k]->id]++;
        }
    }
    for (size_t i = 0; i < graph->num_outputs; i++) {
        p->last_use[graph->outputs[i].node->id] = AT_END;
        p->num_uses[graph->outputs[i].node->id]++;
    }
    for (size_t i = 0; i < graph->num_assignments; i++) p->last_use[graph->assignments[i].value->id] = AT_END;
    /* If an alias is needed, so is its input. */
    for (size_t i = schedule->count; i > 0; i--) {
        const liana__node *node = graph->nodes[schedule->order[i - 1]];
        if (node->op->placement != LIANA__PLACE_ALIAS) continue;
        uint32_t aliased = node->inputs[0]->id;
        if (p->last_use[aliased] < p->last_use[node->id]) p->last_use[aliased] = p->last_use[node->id];
    }
}

static liana__storage leaf_storage(const liana_graph *graph, const liana__node *node)
{
    if (liana__is_input(node)) {
        return (liana__storage){LIANA__STORAGE_INPUT, (size_t)liana__graph_find_input(graph, node->name)};
    }
    if (liana__is_variable(node)) return (liana__storage){LIANA__STORAGE_VARIABLE, liana__graph_place(graph, node)};
    return (liana__storage){LIANA__STORAGE_CONSTANT, node->id};
}

static size_t add_piece(planner *p, const liana__node *node, liana__storage external)
{
    uint32_t time = time_of(p, node);
    p->pieces[p->num_pieces] = (piece){.size = node_size(p, node),
                                       .first = time,
                                       .last = time,
                                       .internal = is_internal(p, node),
                                       .external = external};
    return p->num_pieces++;
}

/* The last use over all the nodes that hold a piece. */
static void hold_piece(planner *p, size_t index, uint32_t id)
{
    p->piece_of[id] = index;
    if (p->pieces[index].last < p->last_use[id]) p->pieces[index].last = p->last_use[id];
}

/* Whether the nodes of a sliced segment read only the rows of their slice of a piece. */
static bool read_by_rows(const planner *p, const liana__segment *segment, size_t index)
{
    for (size_t i = segment->begin; i < segment->end; i++) {
        const liana__node *node = p->graph->nodes[p->schedule->order[i]];
        liana__parts parts = liana__segment_parts(segment, node);
        for (uint32_t k = 0; k < node->num_inputs; k++) {
            if (p->piece_of[node->inputs[k]->id] == index && liana__parts_is_whole(&parts, k)) return false;
        }
    }
    return true;
}

/* Whether a node may overwrite a piece that no later node reads. In a sliced segment, other slices will read it. */
static bool may_overwrite(const planner *p, const liana__node *node, size_t index)
{
    const liana__segment *segment = sliced_at(p, time_of(p, node));
    if (!segment || p->pieces[index].internal) return true;
    return liana__segment_parts(segment, node).kind == LIANA__PART_ROWS && read_by_rows(p, segment, index);
}

/* The piece of an input that this node may overwrite, or -1. */
static int64_t overwritable(const planner *p, const liana__node *node)
{
    if (!p->share || node->op->placement != LIANA__PLACE_IN_PLACE) return -1;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        size_t index = p->piece_of[input->id];
        const piece *held = &p->pieces[index];
        bool dies_here = held->external.kind == LIANA__STORAGE_NONE && held->last == time_of(p, node);
        bool fits = liana_shape_equal(&input->shape, &node->shape) && held->size == node_size(p, node) &&
                    held->internal == is_internal(p, node);
        /* An input read twice with another shape (x + sum(x)) would be overwritten while it is still read. */
        for (uint32_t j = 0; j < node->num_inputs; j++) {
            bool same_piece = p->piece_of[node->inputs[j]->id] == index;
            if (same_piece && !liana_shape_equal(&node->inputs[j]->shape, &node->shape)) fits = false;
        }
        if (dies_here && fits && may_overwrite(p, node, index)) return (int64_t)index;
    }
    return -1;
}

/* The output into which a node's kernel can write directly, or NONE. Right after writing, it may be a sum with
 * another's result, which no other node may read. */
static liana__storage direct_output(const planner *p, const liana__node *node)
{
    const liana_graph *graph = p->graph;
    if (p->plan->spares && p->num_uses[node->id] > 1) return (liana__storage){0};
    for (size_t i = 0; i < graph->num_outputs; i++) {
        if (graph->outputs[i].node == node) return (liana__storage){LIANA__STORAGE_OUTPUT, i};
    }
    return (liana__storage){0};
}

/* Whether some node other than `value` reads the variable's old value at or after `value`, or `value` itself reads it
 * other than element by element. */
static bool old_value_needed(const planner *p, const liana__node *variable, const liana__node *value)
{
    uint32_t time = time_of(p, value), last = p->last_use[variable->id];
    const liana__segment *segment = sliced_at(p, time);
    if (last > time) return true;
    if (segment && last > segment->begin && !may_overwrite(p, value, p->piece_of[variable->id])) return true;
    if (last < time) return false;
    if (value->op->placement != LIANA__PLACE_IN_PLACE) return true;
    for (uint32_t i = 0; i < value->num_inputs; i++) {
        const liana__node *input = value->inputs[i];
        if (input != variable && input->op->placement == LIANA__PLACE_ALIAS) return true;
        if (input == variable && !liana_shape_equal(&input->shape, &value->shape)) return true;
    }
    return false;
}

/* The variable that a node's kernel can write straight into, or NONE. */
static liana__storage direct_variable(const planner *p, const liana__node *node)
{
    const liana_graph *graph = p->graph;
    for (size_t i = 0; p->share && i < graph->num_assignments; i++) {
        if (graph->assignments[i].value != node) continue;
        const liana__node *variable = graph->assignments[i].variable;
        if (p->needed[variable->id] && old_value_needed(p, variable, node)) continue;
        return leaf_storage(graph, variable);
    }
    return (liana__storage){0};
}

/* Places the partial results of slices until they are combined: for a sum one at a time, for a merge all. */
static void place_partials(planner *p, const liana__node *node)
{
    uint32_t time = time_of(p, node);
    const liana__segment *segment = sliced_at(p, time);
    if (!segment) return;
    liana__parts parts = liana__segment_parts(segment, node);
    if (parts.kind == LIANA__PART_ROWS) return;
    size_t count = parts.kind == LIANA__PART_MERGE ? liana__segment_num_slices(segment) : 1;
    p->partials_of[node->id] = p->num_pieces;
    p->pieces[p->num_pieces++] = (piece){.size = count * liana__part_size(node, &parts), .first = time, .last = time};
}

static void place_spare(planner *p, const liana__node *node)
{
    uint32_t time = time_of(p, node);
    p->spare_of[node->id] = p->num_pieces;
    p->pieces[p->num_pieces++] = (piece){.size = node_size(p, node), .first = time, .last = time};
}

/* A part of a tensor in the caller's memory is copied, since its place there has no number. */
static bool is_placed_as_alias(const planner *p, const liana__node *node)
{
    if (node->op->placement != LIANA__PLACE_ALIAS) return false;
    return !node->op->alias_offset || p->pieces[p->piece_of[node->inputs[0]->id]].external.kind == LIANA__STORAGE_NONE;
}

/* Behind the begin of its piece, in bytes. */
static size_t offset_in_piece(const planner *p, const liana__node *node)
{
    size_t offset = 0;
    for (; node->op->placement == LIANA__PLACE_ALIAS && !p->plan->computed[node->id]; node = node->inputs[0]) {
        if (node->op->alias_offset) offset += node->op->alias_offset(node);
    }
    return offset;
}

static void place_node(planner *p, const liana__node *node)
{
    uint32_t id = node->id;
    if (liana__is_leaf(node)) {
        hold_piece(p, add_piece(p, node, leaf_storage(p->graph, node)), id);
        return;
    }
    if (is_placed_as_alias(p, node)) {
        hold_piece(p, p->piece_of[node->inputs[0]->id], id);
        return;
    }
    p->plan->computed[id] = true;
    p->plan->unshared_size += liana__align_up(node_size(p, node));
    liana__storage direct = direct_output(p, node);
    if (direct.kind && p->plan->spares) place_spare(p, node);
    if (p->elsewhere && p->elsewhere[id]) direct = (liana__storage){LIANA__STORAGE_ELSEWHERE, 0};
    if (!direct.kind) direct = direct_variable(p, node);
    int64_t overwritten = direct.kind ? -1 : overwritable(p, node);
    hold_piece(p, overwritten >= 0 ? (size_t)overwritten : add_piece(p, node, direct), id);
    place_partials(p, node);
}

static int compare_pieces(const void *a, const void *b)
{
    const piece *x = *(piece *const *)a, *y = *(piece *const *)b;
    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int compare_offsets(const void *a, const void *b)
{
    const piece *x = *(piece *const *)a, *y = *(piece *const *)b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* A sliced segment runs repeatedly, so its inputs from others, and its results for them, are held all the time. */
static void hold_over_segments(planner *p)
{
    for (size_t i = 0; i < p->num_pieces; i++) {
        piece *held = &p->pieces[i];
        const liana__segment *first = sliced_at(p, held->first), *last = sliced_at(p, held->last);
        if (first && !held->internal) held->first = (uint32_t)first->begin + 1;
        if (last && !held->internal) held->last = (uint32_t)last->end;
        if (!p->share) held->last = AT_END;
    }
}

/* Greedy by size (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020): the largest
 * piece first, each at the lowest offset where it meets none that is held at the same time. */
static bool assign_offsets(planner *p, liana__arena *scratch)
{
    piece **order = liana__arena_allocate(scratch, (p->num_pieces + 1) * sizeof *order);
    piece **meets = liana__arena_allocate(scratch, (p->num_pieces + 1) * sizeof *meets);
    size_t count = 0;
    if (!order || !meets) return false;
    for (size_t i = 0; i < p->num_pieces; i++) {
        if (p->pieces[i].external.kind == LIANA__STORAGE_NONE) order[count++] = &p->pieces[i];
    }
    qsort(order, count, sizeof *order, compare_pieces);
    for (size_t i = 0; i < count; i++) {
        piece *own = order[i];
        size_t num_meets = 0, size = liana__align_up(own->size);
        for (size_t j = 0; j < i; j++) {
            if (order[j]->first <= own->last && own->first <= order[j]->last) meets[num_meets++] = order[j];
        }
        qsort(meets, num_meets, sizeof *meets, compare_offsets);
        own->offset = 0;
        for (size_t j = 0; j < num_meets && own->offset + size > meets[j]->offset; j++) {
            size_t end = meets[j]->offset + liana__align_up(meets[j]->size);
            if (end > own->offset) own->offset = end;
        }
        size_t end = own->offset + size;
        if (end > p->plan->workspace_size) p->plan->workspace_size = end;
    }
    return true;
}

static liana__storage storage_of(const planner *p, uint32_t id)
{
    const piece *held = &p->pieces[p->piece_of[id]];
    if (held->external.kind != LIANA__STORAGE_NONE) return held->external;
    return (liana__storage){LIANA__STORAGE_WORKSPACE, held->offset + offset_in_piece(p, p->graph->nodes[id])};
}

static void add_copy_unless_there(planner *p, const liana__node *node, liana__storage target)
{
    liana__storage at = p->plan->storage[node->id];
    if (at.kind == target.kind && at.offset == target.offset) return;
    p->plan->copies[p->plan->num_copies++] = (liana__plan_copy){node->id, target};
}

static void list_copies(planner *p)
{
    const liana_graph *graph = p->graph;
    for (size_t i = 0; i < graph->num_outputs; i++) {
        add_copy_unless_there(p, graph->outputs[i].node, (liana__storage){LIANA__STORAGE_OUTPUT, i});
    }
    for (size_t i = 0; i < graph->num_assignments; i++) {
        const liana__assignment *assignment = &graph->assignments[i];
        add_copy_unless_there(p, assignment->value, leaf_storage(graph, assignment->variable));
    }
}

/* Assigning one variable's old value to another would need the copies to be ordered; nothing in liana does it. */
static liana_status refuse_variable_to_variable(const liana_graph *graph, liana__error *error)
{
    for (size_t i = 0; i < graph->num_assignments; i++) {
        const liana__node *value = graph->assignments[i].value;
        while (value->op->placement == LIANA__PLACE_ALIAS && value->num_inputs) value = value->inputs[0];
        if (!liana__is_variable(value)) continue;
        return liana__fail(
            error, LIANA_INVALID_ARGUMENT,
            "variable '%s' is assigned the unchanged value of variable '%s'; compute something from it first",
            graph->assignments[i].variable->name, value->name);
    }
    return LIANA_OK;
}

static bool allocate(planner *p, liana__arena *scratch)
{
    liana__memory_plan *plan = p->plan;
    const size_t n = plan->num_nodes;
    plan->storage = liana__arena_allocate(&plan->arena, n * sizeof *plan->storage);
    plan->computed = liana__arena_allocate(&plan->arena, n * sizeof *plan->computed);
    plan->partials = liana__arena_allocate(&plan->arena, n * sizeof *plan->partials);
    if (p->graph->first_gradient) plan->spares = liana__arena_allocate(&plan->arena, n * sizeof *plan->spares);
    plan->copies = liana__arena_allocate(&plan->arena, (liana__graph_num_results(p->graph) + 1) * sizeof *plan->copies);
    p->needed = liana__arena_allocate(scratch, n * sizeof *p->needed);
    p->last_use = liana__arena_allocate(scratch, n * sizeof *p->last_use);
    p->num_uses = liana__arena_allocate(scratch, n * sizeof *p->num_uses);
    p->piece_of = liana__arena_allocate(scratch, n * sizeof *p->piece_of);
    p->partials_of = liana__arena_allocate(scratch, n * sizeof *p->partials_of);
    p->spare_of = liana__arena_allocate(scratch, n * sizeof *p->spare_of);
    p->pieces = liana__arena_allocate(scratch, 3 * n * sizeof *p->pieces);
    return !plan->arena.failed && !scratch->failed;
}

liana_status liana__memory_plan_make(const liana_graph *graph, const liana__execution_order *schedule, bool share,
                                     const bool *elsewhere, liana__memory_plan *plan, liana__error *error)
{
    *plan = (liana__memory_plan){.num_nodes = graph->num_nodes};
    LIANA_TRY(refuse_variable_to_variable(graph, error));
    const size_t n = graph->num_nodes;
    planner p = {.graph = graph, .schedule = schedule, .share = share, .elsewhere = elsewhere, .plan = plan};
    LIANA__SCOPED(liana__arena) scratch = {0};
    bool enough = allocate(&p, &scratch);
    if (enough) {
        liana__graph_mark_needed(graph, p.needed);
        find_last_uses(&p);
        for (uint32_t id = 1; id < n; id++) {
            if (p.needed[id] && liana__is_leaf(graph->nodes[id])) place_node(&p, graph->nodes[id]);
        }
        for (size_t i = 0; i < schedule->count; i++) place_node(&p, graph->nodes[schedule->order[i]]);
        hold_over_segments(&p);
        enough = assign_offsets(&p, &scratch);
        for (uint32_t id = 1; id < n; id++) {
            if (p.needed[id]) plan->storage[id] = storage_of(&p, id);
            plan->partials[id] = p.pieces[p.partials_of[id]].offset;
            if (plan->spares) plan->spares[id] = p.pieces[p.spare_of[id]].offset;
        }
        list_copies(&p);
    }
    if (enough) return LIANA_OK;
    liana__memory_plan_free(plan);
    return liana__fail_memory(error, "the memory plan");
}

void liana__memory_plan_free(liana__memory_plan *plan)
{
    liana__arena_free(&plan->arena);
    *plan = (liana__memory_plan){0};
}
