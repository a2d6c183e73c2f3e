/* Chooses the nodes that run together on a slice of the batch.
 *
 * Nodes are taken in the order of their creation. A node that can be computed in parts joins the open segment, unless
 * it needs the result of all slices together. Then the segment is closed, and the node opens the next one. A node that
 * runs whole goes before the open segment if it reads nothing of it, else after it.
 *
 * The number of rows of a slice: as many as fit into the cache. But the work for each slice (reading weights, adding
 * their gradients) must be small compared with the slice. Each node allows a range; a segment uses the upper end of the
 * ranges' intersection. */
#include "base/scoped.h"
#include "passes/pass.h"
#include "plan/execution_order.h"

#include <stdlib.h>

/* The bytes of a slice that make up for one byte that each slice reads or adds. The latter come from the cache; the
 * saved bytes would have come from memory. */
static const double BYTES_PER_WHOLE_BYTE = 1;

/* Numbers of rows; empty if least > most. */
typedef struct row_range {
    int64_t least, most;
} row_range;

typedef struct slicer {
    const liana_graph *graph;
    liana__execution_order *schedule;
    double slice_bytes;
    bool *needed;
    bool flat;    /* slices of elements */
    int64_t rows; /* of the batch; or the elements of the open segment's tensors */
    /* By node id: in the open segment; waiting for its end. */
    bool *is_open, *is_waiting;
    uint32_t *open, *waiting;
    size_t num_open, num_waiting;
    row_range range; /* of the open segment */
} slicer;

/* Weights in another dtype: they have no rows of the batch, however many their axis 0 has, and can be kept (a backend
 * does so with nodes that run whole). */
static bool is_cast_of_weights(const liana__node *node)
{
    return node->num_inputs == 1 && node->dtype != node->inputs[0]->dtype && liana__is_of_weights(node);
}

/* Sums of parts are added in the dtype of the result. */
static liana__parts parts_of(const slicer *s, const liana__node *node)
{
    if (s->flat) return liana__node_flat_parts(node);
    if (is_cast_of_weights(node)) return (liana__parts){0};
    liana__parts parts = liana__node_parts(node);
    bool adds_well = node->dtype == LIANA_F32 || node->dtype == LIANA_F64;
    if (parts.kind == LIANA__PART_SUM && !adds_well) parts.kind = LIANA__PART_NONE;
    return parts;
}

typedef struct weighed_rows {
    int64_t rows;
    double bytes;
} weighed_rows;

static int compare_rows(const void *a, const void *b)
{
    int64_t x = ((const weighed_rows *)a)->rows, y = ((const weighed_rows *)b)->rows;
    return (x > y) - (x < y);
}

/* The rows of axis 0 that most bytes of the graph have. `list` has room for all nodes. */
static int64_t find_batch_rows(const slicer *s, weighed_rows *list)
{
    size_t count = 0;
    for (size_t id = 1; id < s->graph->num_nodes; id++) {
        const liana__node *node = s->graph->nodes[id];
        if (!s->needed[id] || liana__is_leaf(node)) continue;
        int64_t rows = parts_of(s, node).rows;
        if (rows > 1) list[count++] = (weighed_rows){rows, liana__node_bytes(node)};
    }
    qsort(list, count, sizeof *list, compare_rows);
    weighed_rows best = {0};
    for (size_t i = 0, same; i < count; i = same) {
        weighed_rows sum = {list[i].rows, 0};
        for (same = i; same < count && list[same].rows == sum.rows; same++) sum.bytes += list[same].bytes;
        if (sum.bytes > best.bytes) best = sum;
    }
    return best.rows;
}

/* Whether every result that is too large for a first-level cache (and there is one) is element-wise. */
static bool is_element_wise(slicer *s)
{
    bool any = false;
    for (size_t id = 1; id < s->graph->num_nodes; id++) {
        const liana__node *node = s->graph->nodes[id];
        bool counts = s->needed[id] && !liana__is_leaf(node) && liana__node_bytes(node) > s->slice_bytes / 64;
        if (!counts) continue;
        if (liana__node_flat_parts(node).kind == LIANA__PART_NONE) return false;
        any = true;
    }
    return any;
}

/* ---- how many rows ---- */

static int64_t next_divisor(int64_t rows, int64_t divisor)
{
    do divisor++;
    while (rows % divisor != 0);
    return divisor;
}

/* A chain of element-wise ops works on a few tensors at a time: 16384 elements for slices of a megabyte (with fewer,
 * the cost of calling kernels shows). Tensors that are little larger, or whose size has no divisor near that, stay
 * whole. */
static row_range flat_range(const slicer *s, int64_t elements)
{
    int64_t most = (int64_t)s->slice_bytes / 64;
    if (most < 1) most = 1;
    for (int64_t divisor = most; divisor > most / 8 && elements >= 2 * most; divisor--) {
        if (elements % divisor == 0) return (row_range){divisor, divisor};
    }
    return (row_range){elements, elements};
}

/* The range of rows for a node; {rows, rows} if it should run whole. */
static row_range range_of(const slicer *s, const liana__node *node, const liana__parts *parts)
{
    if (s->flat) return flat_range(s, parts->rows);
    double row_bytes = 0, whole_bytes = 0;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        double bytes = liana__node_bytes(node->inputs[i]);
        if (liana__parts_is_whole(parts, i)) {
            whole_bytes += bytes;
        } else {
            row_bytes += bytes / (double)parts->rows;
        }
    }
    if (parts->kind == LIANA__PART_ROWS) {
        row_bytes += liana__node_bytes(node) / (double)parts->rows;
    } else {
        whole_bytes += 3 * liana__node_bytes(node); /* written, read again, added to the sum */
    }
    row_range range = {1, 1};
    while (range.least < parts->rows && (double)range.least * row_bytes < BYTES_PER_WHOLE_BYTE * whole_bytes) {
        range.least = next_divisor(parts->rows, range.least);
    }
    for (int64_t rows = 1; rows <= parts->rows; rows = next_divisor(parts->rows, rows)) {
        if ((double)rows * row_bytes <= s->slice_bytes) range.most = rows;
        if (rows == parts->rows) break;
    }
    if (range.most < range.least) range.most = range.least;
    return range;
}

static row_range intersect(row_range a, row_range b)
{
    return (row_range){a.least > b.least ? a.least : b.least, a.most < b.most ? a.most : b.most};
}

/* ---- the order ---- */

static void emit(slicer *s, const uint32_t *ids, size_t count, int64_t slice_rows)
{
    liana__execution_order *schedule = s->schedule;
    uint32_t index = (uint32_t)schedule->num_segments++;
    schedule->segments[index] = (liana__segment){.begin = schedule->count,
                                                 .end = schedule->count + count,
                                                 .rows = s->rows,
                                                 .slice_rows = slice_rows,
                                                 .flat = s->flat};
    for (size_t i = 0; i < count; i++) {
        schedule->position[ids[i]] = (uint32_t)schedule->count;
        schedule->segment_of[ids[i]] = index;
        schedule->order[schedule->count++] = ids[i];
    }
}

static bool is_computed(const slicer *s, uint32_t id)
{
    return s->graph->nodes[id]->op->placement != LIANA__PLACE_ALIAS;
}

/* A single node has no other node to leave data in the cache for. */
static bool is_worth_slicing(const slicer *s)
{
    size_t computed = 0;
    for (size_t i = 0; i < s->num_open; i++) computed += is_computed(s, s->open[i]);
    return computed > 1 && s->range.most < s->rows;
}

static void close_segment(slicer *s)
{
    if (is_worth_slicing(s)) {
        emit(s, s->open, s->num_open, s->range.most);
    } else {
        for (size_t i = 0; i < s->num_open; i++) emit(s, &s->open[i], 1, s->rows);
    }
    for (size_t i = 0; i < s->num_waiting; i++) emit(s, &s->waiting[i], 1, s->rows);
    for (size_t i = 0; i < s->num_open; i++) s->is_open[s->open[i]] = false;
    for (size_t i = 0; i < s->num_waiting; i++) s->is_waiting[s->waiting[i]] = false;
    s->num_open = s->num_waiting = 0;
}

/* Whether a node reads anything of the open segment, or of nodes that wait for its end; and whether it can read that
 * while the segment runs. */
static bool needs_open(const slicer *s, const liana__node *node)
{
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        uint32_t id = node->inputs[i]->id;
        if (s->is_open[id] || s->is_waiting[id]) return true;
    }
    return false;
}

static bool can_join(const slicer *s, const liana__node *node, const liana__parts *parts)
{
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        if (s->is_waiting[input->id]) return false;
        if (!s->is_open[input->id]) continue;
        bool by_rows = !liana__parts_is_whole(parts, i) && parts_of(s, input).kind == LIANA__PART_ROWS;
        if (!by_rows) return false;
    }
    return true;
}

static void place_whole(slicer *s, const liana__node *node)
{
    uint32_t id = node->id;
    if (needs_open(s, node)) {
        s->is_waiting[id] = true;
        s->waiting[s->num_waiting++] = id;
    } else {
        emit(s, &id, 1, s->rows);
    }
}

static void place(slicer *s, const liana__node *node)
{
    liana__parts parts = parts_of(s, node);
    bool by_parts = parts.kind != LIANA__PART_NONE && parts.rows > 1 && (s->flat || parts.rows == s->rows);
    bool is_alias = node->op->placement == LIANA__PLACE_ALIAS;
    row_range range = {1, parts.rows};
    if (by_parts && !is_alias) range = range_of(s, node, &parts);
    bool elsewhere = is_alias && !(needs_open(s, node) && can_join(s, node, &parts));
    if (!by_parts || elsewhere || range.least == parts.rows) {
        place_whole(s, node);
        return;
    }
    row_range both = intersect(s->range, range);
    if (s->num_open > 0 && (parts.rows != s->rows || !can_join(s, node, &parts) || both.least > both.most)) {
        close_segment(s);
    }
    s->rows = parts.rows;
    s->range = s->num_open > 0 ? both : range;
    s->is_open[node->id] = true;
    s->open[s->num_open++] = node->id;
}

/* Finds tensors that only their own segment reads, row by row. An alias is its input. */
static void find_internal(slicer *s)
{
    liana__execution_order *schedule = s->schedule;
    const liana_graph *graph = s->graph;
    for (size_t i = 0; i < schedule->count; i++) {
        uint32_t id = schedule->order[i];
        schedule->internal[id] = liana__segment_is_sliced(liana__execution_order_segment(schedule, id)) &&
                                 parts_of(s, graph->nodes[id]).kind == LIANA__PART_ROWS;
    }
    const size_t num_results = liana__graph_num_results(graph);
    for (size_t i = 0; i < num_results; i++) schedule->internal[liana__graph_result(graph, i)->id] = false;
    for (size_t i = schedule->count; i > 0; i--) {
        const liana__node *node = graph->nodes[schedule->order[i - 1]];
        bool is_alias = node->op->placement == LIANA__PLACE_ALIAS;
        for (uint32_t k = 0; k < node->num_inputs; k++) {
            uint32_t input = node->inputs[k]->id;
            bool inside = schedule->segment_of[input] == schedule->segment_of[node->id];
            if (!inside || (is_alias && !schedule->internal[node->id])) schedule->internal[input] = false;
        }
    }
    for (size_t i = 0; i < schedule->count; i++) {
        const liana__node *node = graph->nodes[schedule->order[i]];
        bool is_alias = node->op->placement == LIANA__PLACE_ALIAS;
        if (is_alias && !schedule->internal[node->inputs[0]->id]) schedule->internal[node->id] = false;
    }
}

bool liana__execution_order_allocate(liana__execution_order *schedule, size_t num_nodes, size_t num_segments)
{
    *schedule = (liana__execution_order){.num_nodes = num_nodes};
    liana__arena *arena = &schedule->arena;
    schedule->order = liana__arena_allocate(arena, num_nodes * sizeof *schedule->order);
    schedule->segments = liana__arena_allocate(arena, num_segments * sizeof *schedule->segments);
    schedule->position = liana__arena_allocate(arena, num_nodes * sizeof *schedule->position);
    schedule->segment_of = liana__arena_allocate(arena, num_nodes * sizeof *schedule->segment_of);
    schedule->internal = liana__arena_allocate(arena, num_nodes * sizeof *schedule->internal);
    if (arena->failed) return false;
    for (size_t id = 0; id < num_nodes; id++) schedule->position[id] = schedule->segment_of[id] = UINT32_MAX;
    return true;
}

liana_status liana__execution_order_make(const liana_graph *graph, size_t slice_bytes, liana__execution_order *schedule,
                                         liana__error *error)
{
    const size_t n = graph->num_nodes;
    slicer s = {.graph = graph, .schedule = schedule, .slice_bytes = (double)slice_bytes};
    LIANA__SCOPED(liana__arena) scratch = {0};
    weighed_rows *list = liana__arena_allocate(&scratch, n * sizeof *list);
    s.needed = liana__arena_allocate(&scratch, n * sizeof *s.needed);
    s.is_open = liana__arena_allocate(&scratch, n * sizeof *s.is_open);
    s.is_waiting = liana__arena_allocate(&scratch, n * sizeof *s.is_waiting);
    s.open = liana__arena_allocate(&scratch, n * sizeof *s.open);
    s.waiting = liana__arena_allocate(&scratch, n * sizeof *s.waiting);
    if (!liana__execution_order_allocate(schedule, n, n) || scratch.failed) {
        liana__execution_order_free(schedule);
        return liana__fail_memory(error, "the schedule");
    }
    liana__graph_mark_needed(graph, s.needed);
    s.flat = slice_bytes && is_element_wise(&s);
    s.rows = slice_bytes && !s.flat ? find_batch_rows(&s, list) : 0;
    for (size_t id = 1; id < n; id++) {
        const liana__node *node = graph->nodes[id];
        if (s.needed[id] && !liana__is_leaf(node)) place(&s, node);
    }
    close_segment(&s);
    find_internal(&s);
    return LIANA_OK;
}

void liana__execution_order_free(liana__execution_order *schedule)
{
    liana__arena_free(&schedule->arena);
    *schedule = (liana__execution_order){0};
}

const liana__pass liana__pass_slice_batch = {
    .name = "slice_batch",
    .doc = "Chains of nodes run slice by slice over the batch, so that their tensors stay in the cache (applied when a "
           "backend orders them).",
};
