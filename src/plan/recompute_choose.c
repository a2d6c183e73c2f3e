/* Chooses the segments to compute a second time.
 *
 * Chen et al. cut a chain into blocks of equal size. But a network is not a chain, and its tensors differ: in a
 * ResNet's block the last convolution gives most of the bytes for a quarter of the operations. So any set of segments
 * is a possible choice here. A tensor that is not kept is recomputed from tensors that are there, or from recomputed
 * ones. The tensors held at each time follow from lifetimes alone, which takes microseconds for a whole graph. The
 * memory plan, which also knows places, has the last word. */
#include "base/scoped.h"
#include "passes/pass.h"
#include "plan/memory_plan.h"
#include "plan/recompute.h"

#include <stdlib.h>
#include <string.h>

/* The operations that a moved byte counts as. */
static const double FLOPS_PER_BYTE = 8;

/* In each round this share of the candidates is taken before all are weighed again, as long as a candidate is still
 * this good. */
static const double TAKEN_SHARE = 1.0 / 8, STILL_AS_GOOD = 0.7;

/* Each stage aims at this share of the previous stage's target. */
static const double STAGE_SHARE = 0.95;

/* For recompute_light: a share of the memory held at most is worth LIGHT_PRICE of that share of the work. All
 * recomputation together is at most LIGHT_MOST of the work. Segments that save less than LIGHT_LEAST of the memory are
 * not weighed. */
static const double LIGHT_PRICE = 0.1, LIGHT_MOST = 1.0 / 80, LIGHT_LEAST = 1.0 / 128;

/* A plan may need more than the tensors held at a time; then a lower target is tried. */
enum { MOST_PLANS = 12 };

typedef struct chooser {
    liana__recompute_view view;
    uint32_t num_segments;
    double *size;         /* by node id: bytes held in the workspace; 0 for tensors of one slice, or elsewhere */
    double *cost;         /* by node id: of computing it again */
    uint32_t *owner;      /* by node id: whose memory it has */
    uint32_t *last;       /* by node id: the last segment that reads it, */
    uint32_t *last_clone; /* or reads it computed again */
    double *work;         /* by segment: bytes that it needs while it runs */
    double *change;       /* by segment: bytes held more than in the segment before */
    /* Of the last choice that was looked at. */
    double peak, excess, total_cost;
} chooser;

typedef struct candidate {
    uint32_t segment;
    double ratio;
} candidate;

static bool is_alias(const liana__node *node)
{
    return node->op->placement == LIANA__PLACE_ALIAS;
}

/* ---- facts of the graph, for every choice ---- */

static void find_turn(chooser *c)
{
    liana__recompute_view *view = &c->view;
    const liana__execution_order *schedule = view->schedule;
    view->turn = c->num_segments;
    for (size_t i = 0; i < schedule->count; i++) {
        uint32_t id = schedule->order[i], segment = schedule->segment_of[id];
        bool is_backward = id >= view->graph->first_gradient;
        if (is_backward && segment < view->turn) view->turn = segment;
    }
    if (!view->graph->first_gradient) view->turn = 0;
}

/* Tensors that depend on the examples, row by row. Not statistics, which are small, nor casts of weights. */
static void find_forgettable(chooser *c, bool *of_examples)
{
    const liana__execution_order *schedule = c->view.schedule;
    const liana_graph *graph = c->view.graph;
    bool *may = c->view.may;
    for (size_t id = 1; id < graph->num_nodes; id++) of_examples[id] = liana__is_input(graph->nodes[id]);
    for (size_t i = 0; i < schedule->count; i++) {
        uint32_t id = schedule->order[i], segment = schedule->segment_of[id];
        const liana__node *node = graph->nodes[id];
        for (uint32_t k = 0; k < node->num_inputs; k++) of_examples[id] |= of_examples[node->inputs[k]->id];
        bool by_rows = liana__segment_parts(&schedule->segments[segment], node).kind == LIANA__PART_ROWS;
        may[id] = segment < c->view.turn && (schedule->internal[id] || (of_examples[id] && by_rows));
    }
    for (size_t i = 0; i < liana__graph_num_results(graph); i++) may[liana__graph_result(graph, i)->id] = false;
    /* An alias is where its input is: both are forgotten, by the same segment, or neither. */
    for (size_t i = schedule->count; i > 0; i--) {
        const liana__node *node = graph->nodes[schedule->order[i - 1]];
        if (!is_alias(node)) continue;
        uint32_t input = node->inputs[0]->id;
        if (!may[node->id] || schedule->segment_of[input] != schedule->segment_of[node->id]) may[input] = false;
    }
    for (size_t i = 0; i < schedule->count; i++) {
        const liana__node *node = graph->nodes[schedule->order[i]];
        if (is_alias(node) && !may[node->inputs[0]->id]) may[node->id] = false;
    }
}

static void weigh_nodes(chooser *c)
{
    const liana__execution_order *schedule = c->view.schedule;
    const liana_graph *graph = c->view.graph;
    for (uint32_t id = 1; id < graph->num_nodes; id++) c->owner[id] = id;
    for (size_t i = 0; i < schedule->count; i++) {
        const liana__node *node = graph->nodes[schedule->order[i]];
        uint32_t segment_index = schedule->segment_of[node->id];
        const liana__segment *segment = &schedule->segments[segment_index];
        if (is_alias(node)) {
            c->owner[node->id] = c->owner[node->inputs[0]->id];
            continue;
        }
        liana__cost cost = liana__node_cost(node);
        c->cost[node->id] = cost.flops + FLOPS_PER_BYTE * cost.bytes;
        if (!schedule->internal[node->id]) c->size[node->id] = (double)liana__byte_size(node->dtype, &node->shape);
        liana__parts parts = liana__segment_parts(segment, node);
        if (!liana__segment_is_sliced(segment) || parts.kind == LIANA__PART_ROWS) continue;
        size_t count = parts.kind == LIANA__PART_MERGE ? liana__segment_num_slices(segment) : 1;
        c->work[segment_index] += (double)(count * liana__part_size(node, &parts));
    }
    for (size_t i = 0; i < graph->num_outputs; i++) c->size[graph->outputs[i].node->id] = 0;
    for (size_t id = 1; c->view.elsewhere && id < graph->num_nodes; id++) {
        if (c->view.elsewhere[id]) c->size[id] = 0;
    }
}

/* ---- the effect of a choice ---- */

static void extend(uint32_t *last, uint32_t until)
{
    if (*last < until) *last = until;
}

/* A node that runs at the time of segment `now`, and may read recomputed tensors. */
static void note_reads(chooser *c, const liana__node *node, uint32_t now, bool reads_clones)
{
    liana__recompute_view *view = &c->view;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        if (liana__is_leaf(input)) continue;
        if (!reads_clones || !liana__recompute_reads_clone(view, input)) {
            extend(&c->last[c->owner[input->id]], now);
            continue;
        }
        uint32_t segment = view->schedule->segment_of[input->id];
        view->cloned[input->id] = true;
        if (view->trigger[segment] > now) view->trigger[segment] = now;
        extend(&c->last_clone[c->owner[input->id]], now);
    }
}

/* From the last segment back: then the readers of a recomputed segment are known before it. */
static void find_lifetimes(chooser *c)
{
    liana__recompute_view *view = &c->view;
    const liana__execution_order *schedule = view->schedule;
    const liana_graph *graph = view->graph;
    memset(c->last, 0, graph->num_nodes * sizeof *c->last);
    memset(c->last_clone, 0, graph->num_nodes * sizeof *c->last_clone);
    memset(view->cloned, 0, graph->num_nodes * sizeof *view->cloned);
    for (uint32_t i = 0; i < c->num_segments; i++) view->trigger[i] = UINT32_MAX;
    for (uint32_t now = c->num_segments; now-- > 0;) {
        const liana__segment *segment = &schedule->segments[now];
        for (size_t i = segment->end; i-- > segment->begin;) {
            const liana__node *node = graph->nodes[schedule->order[i]];
            note_reads(c, node, now, now >= view->turn);
            if (view->cloned[node->id]) note_reads(c, node, view->trigger[now], true);
        }
    }
}

static void hold(chooser *c, double bytes, uint32_t from, uint32_t until)
{
    c->change[from] += bytes;
    c->change[(until > from ? until : from) + 1] -= bytes;
}

/* The peak of held bytes, its excess over the target, and the operations of the recomputation. */
static void look_at(chooser *c, double target)
{
    const liana__recompute_view *view = &c->view;
    const liana__execution_order *schedule = view->schedule;
    find_lifetimes(c);
    memset(c->change, 0, (c->num_segments + 2) * sizeof *c->change);
    c->peak = c->excess = c->total_cost = 0;
    for (size_t i = 0; i < schedule->count; i++) {
        uint32_t id = schedule->order[i], segment = schedule->segment_of[id];
        if (c->size[id] > 0) hold(c, c->size[id], segment, c->last[id]);
        if (!view->cloned[id]) continue;
        c->total_cost += c->cost[id];
        if (c->size[id] > 0) hold(c, c->size[id], view->trigger[segment], c->last_clone[id]);
    }
    double held = 0;
    for (uint32_t i = 0; i < c->num_segments; i++) {
        held += c->change[i];
        double now = held + c->work[i];
        if (now > c->peak) c->peak = now;
        if (now > target) c->excess += now - target;
    }
}

/* ---- choosing ---- */

/* How many bytes over the target, times segments, a segment takes away for each operation; 0 if none. */
static double ratio_of(chooser *c, uint32_t segment, double target, double excess, double cost)
{
    c->view.again[segment] = true;
    look_at(c, target);
    c->view.again[segment] = false;
    double gain = excess - c->excess, more = c->total_cost - cost;
    return gain > 0 ? gain / (more > 1 ? more : 1) : 0;
}

static int compare_candidates(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->ratio != y->ratio) return x->ratio < y->ratio ? 1 : -1;
    return (x->segment > y->segment) - (x->segment < y->segment);
}

/* Weighs all segments that are kept and takes the best. False: none takes anything away. */
static bool choose_some(chooser *c, double target, candidate *list)
{
    size_t count = 0, taken = 0;
    look_at(c, target);
    double excess = c->excess, cost = c->total_cost;
    for (uint32_t i = 0; i < c->view.turn; i++) {
        if (c->view.again[i]) continue;
        double ratio = ratio_of(c, i, target, excess, cost);
        if (ratio > 0) list[count++] = (candidate){i, ratio};
    }
    qsort(list, count, sizeof *list, compare_candidates);
    for (size_t i = 0; i < count && excess > 0; i++) {
        double ratio = i ? ratio_of(c, list[i].segment, target, excess, cost) : list[0].ratio;
        if (i && ratio < STILL_AS_GOOD * list[i].ratio) continue;
        c->view.again[list[i].segment] = true;
        look_at(c, target);
        excess = c->excess;
        cost = c->total_cost;
        if ((double)++taken > TAKEN_SHARE * (double)count) break;
    }
    look_at(c, target);
    return taken > 0;
}

/* Keeps tensors that need not be computed again after all, the dearest first. */
static void leave_out(chooser *c, double target, candidate *list)
{
    size_t count = 0;
    look_at(c, target);
    double excess = c->excess, cost = c->total_cost;
    for (uint32_t i = 0; i < c->view.turn; i++) {
        if (!c->view.again[i]) continue;
        c->view.again[i] = false;
        look_at(c, target);
        c->view.again[i] = true;
        if (c->excess <= excess) list[count++] = (candidate){i, cost - c->total_cost};
    }
    qsort(list, count, sizeof *list, compare_candidates);
    for (size_t i = 0; i < count; i++) {
        c->view.again[list[i].segment] = false;
        look_at(c, target);
        if (c->excess > excess || c->total_cost > cost) c->view.again[list[i].segment] = true;
    }
}

static liana_status plan_size(const liana_graph *graph, const liana__execution_order *schedule, const bool *elsewhere,
                              size_t *size, liana__error *error)
{
    liana__memory_plan plan;
    LIANA_TRY(liana__memory_plan_make(graph, schedule, true, elsewhere, &plan, error));
    *size = plan.workspace_size;
    liana__memory_plan_free(&plan);
    return LIANA_OK;
}

/* Chooses for a target by way of higher targets. So a segment that helps little at first is not chosen before one that
 * helps more. */
static void approach(chooser *c, double target, candidate *list)
{
    look_at(c, target);
    double stage = c->peak, excess;
    while (c->excess > 0) {
        stage = STAGE_SHARE * stage > target ? STAGE_SHARE * stage : target;
        look_at(c, stage);
        do {
            excess = c->excess;
            while (c->excess > 0 && choose_some(c, stage, list)) continue;
            leave_out(c, stage, list);
            look_at(c, stage);
        } while (c->excess > 0 && c->excess < excess);
        bool failed = c->excess > 0;
        look_at(c, target);
        if (failed) break;
    }
}

/* Builds the choice, and takes it if its workspace is the smallest so far. */
static liana_status build_if_smaller(const chooser *c, liana__recomputation *best, liana__error *error)
{
    liana__recomputation made;
    LIANA_TRY(liana__recompute_build(&c->view, &made, error));
    liana_status status = plan_size(made.graph, &made.schedule, made.elsewhere, &made.workspace_size, error);
    if (status == LIANA_OK && made.num_segments > 0 && made.workspace_size < best->workspace_size) {
        liana__recomputation_free(best);
        *best = made;
        return LIANA_OK;
    }
    liana__recomputation_free(&made);
    return status;
}

static liana_status choose(chooser *c, size_t limit, candidate *list, liana__recomputation *best, liana__error *error)
{
    look_at(c, 0);
    /* In-place results share memory, so less is needed than this count of held bytes. */
    double target = (double)limit * c->peak / (double)best->workspace_size;
    for (int i = 0; i < MOST_PLANS && best->workspace_size > limit; i++) {
        approach(c, target, list);
        LIANA_TRY(build_if_smaller(c, best, error));
        if (c->excess > 0) break;
        target *= 0.97;
    }
    return LIANA_OK;
}

static bool allocate(chooser *c, liana__arena *arena)
{
    size_t n = c->view.graph->num_nodes, segments = c->num_segments + 2;
    c->view.may = liana__arena_allocate(arena, n * sizeof *c->view.may);
    c->view.cloned = liana__arena_allocate(arena, n * sizeof *c->view.cloned);
    c->view.again = liana__arena_allocate(arena, segments * sizeof *c->view.again);
    c->view.trigger = liana__arena_allocate(arena, segments * sizeof *c->view.trigger);
    c->size = liana__arena_allocate(arena, n * sizeof *c->size);
    c->cost = liana__arena_allocate(arena, n * sizeof *c->cost);
    c->owner = liana__arena_allocate(arena, n * sizeof *c->owner);
    c->last = liana__arena_allocate(arena, n * sizeof *c->last);
    c->last_clone = liana__arena_allocate(arena, n * sizeof *c->last_clone);
    c->work = liana__arena_allocate(arena, segments * sizeof *c->work);
    c->change = liana__arena_allocate(arena, segments * sizeof *c->change);
    return !arena->failed;
}

/* ---- without a limit ---- */

/* The most that a segment could take away. */
static double forgettable_bytes(const chooser *c, uint32_t index)
{
    const liana__execution_order *schedule = c->view.schedule;
    double bytes = 0;
    for (size_t i = schedule->segments[index].begin; i < schedule->segments[index].end; i++) {
        uint32_t id = schedule->order[i];
        if (c->view.may[id]) bytes += c->size[id];
    }
    return bytes;
}

/* Takes the segment that gives most for its work, if any is cheap. */
static bool choose_light(chooser *c, double most_held, double all_work)
{
    look_at(c, 0);
    double peak = c->peak, cost = c->total_cost;
    candidate best = {0};
    for (uint32_t i = 0; i < c->view.turn; i++) {
        if (c->view.again[i] || forgettable_bytes(c, i) < LIGHT_LEAST * most_held) continue;
        c->view.again[i] = true;
        look_at(c, 0);
        c->view.again[i] = false;
        double gain = (peak - c->peak) / most_held, work = (c->total_cost - cost) / all_work;
        bool is_cheap = gain >= LIGHT_LEAST && work <= LIGHT_PRICE * gain && c->total_cost <= LIGHT_MOST * all_work;
        double ratio = is_cheap ? gain / (work > 1e-9 ? work : 1e-9) : 0;
        if (ratio > best.ratio) best = (candidate){i, ratio};
    }
    if (best.ratio > 0) c->view.again[best.segment] = true;
    return best.ratio > 0;
}

static liana_status choose_all_light(chooser *c, liana__recomputation *best, liana__error *error)
{
    double all_work = 0;
    for (size_t i = 0; i < c->view.schedule->count; i++) all_work += c->cost[c->view.schedule->order[i]];
    look_at(c, 0);
    double most_held = c->peak;
    while (choose_light(c, most_held, all_work)) continue;
    look_at(c, 0);
    return c->total_cost > 0 ? build_if_smaller(c, best, error) : LIANA_OK;
}

/* ---- */

/* `limit` is SIZE_MAX for none. */
static liana_status choose_for(const liana_graph *graph, const liana__execution_order *schedule, const bool *elsewhere,
                               size_t limit, liana__recomputation *made, liana__error *error)
{
    chooser c = {.view = {.graph = graph, .schedule = schedule, .elsewhere = elsewhere},
                 .num_segments = (uint32_t)schedule->num_segments};
    LIANA__SCOPED(liana__arena) arena = {0};
    bool *of_examples = liana__arena_allocate(&arena, graph->num_nodes * sizeof *of_examples);
    candidate *list = liana__arena_allocate(&arena, (schedule->num_segments + 1) * sizeof *list);
    liana_status status = LIANA_OK;
    if (!allocate(&c, &arena)) {
        status = liana__fail_memory(error, "the choice of recomputed segments");
    } else {
        find_turn(&c);
        find_forgettable(&c, of_examples);
        weigh_nodes(&c);
        status = limit == SIZE_MAX ? choose_all_light(&c, made, error) : choose(&c, limit, list, made, error);
    }
    if (status != LIANA_OK) liana__recomputation_free(made);
    return status;
}

liana_status liana__recompute(const liana_graph *graph, const liana__execution_order *schedule, const bool *elsewhere,
                              size_t limit, liana__recomputation *made, liana__error *error)
{
    *made = (liana__recomputation){0};
    LIANA_TRY(plan_size(graph, schedule, elsewhere, &made->workspace_size, error));
    if (made->workspace_size <= limit) return LIANA_OK;
    return choose_for(graph, schedule, elsewhere, limit, made, error);
}

liana_status liana__recompute_light(const liana_graph *graph, const liana__execution_order *schedule,
                                    const bool *elsewhere, liana__recomputation *made, liana__error *error)
{
    *made = (liana__recomputation){0};
    LIANA_TRY(plan_size(graph, schedule, elsewhere, &made->workspace_size, error));
    return choose_for(graph, schedule, elsewhere, SIZE_MAX, made, error);
}

const liana__pass liana__pass_recompute_light = {
    .name = "recompute_light",
    .doc = "Parts of the forward pass that save much memory for little work are computed twice instead of being kept "
           "(applied when a backend plans its memory).",
};
