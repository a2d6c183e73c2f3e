/* Plans bodies, and runs them. */
#include "ops/control/body_run.h"

#include "base/scoped.h"
#include "ir/part_node.h"
#include "kernels/kernel_choice.h"

#include <stdlib.h>

/* ---- rows ---- */

/* Nodes are looked at from the results back: a node with rows says which of its inputs must have them. */
enum need { NOTHING, ROWS, WHOLE };

static bool need(unsigned char *needs, const liana__node *node, enum need what)
{
    if (needs[node->id] != NOTHING) return needs[node->id] == (unsigned char)what;
    needs[node->id] = (unsigned char)what;
    return true;
}

static bool spread(const liana__node *node, int64_t rows, unsigned char *needs)
{
    if (needs[node->id] == NOTHING) return true;
    if (needs[node->id] == ROWS && (node->shape.rank == 0 || node->shape.dims[0] != rows)) return false;
    if (liana__is_leaf(node)) return true;
    const liana__parts parts = needs[node->id] == ROWS ? liana__node_parts(node) : (liana__parts){.whole = UINT64_MAX};
    if (needs[node->id] == ROWS && (parts.kind != LIANA__PART_ROWS || parts.rows != rows)) return false;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const bool whole = needs[node->id] == WHOLE || liana__parts_is_whole(&parts, i);
        if (!need(needs, node->inputs[i], whole ? WHOLE : ROWS)) return false;
    }
    return true;
}

bool liana__body_find_rows(const liana_graph *body, int64_t rows, size_t num_given, bool *has_rows)
{
    LIANA__SCOPED_MEMORY unsigned char *needs = calloc(body->num_nodes, 1);
    if (!needs || rows < 2) return false;
    for (size_t i = 0; i < body->num_outputs; i++) {
        if (!need(needs, body->outputs[i].node, ROWS)) return false;
    }
    for (size_t id = body->num_nodes - 1; id > 0; id--) {
        if (!spread(body->nodes[id], rows, needs)) return false;
    }
    for (size_t i = 0; i < num_given; i++) {
        if (needs[body->inputs[i]->id] == WHOLE) return false;
    }
    for (size_t id = 0; id < body->num_nodes; id++) has_rows[id] = needs[id] == ROWS;
    return true;
}

/* ---- memory ---- */

typedef struct planner {
    const liana__body_facts *facts;
    liana__body_plan *plan;
    bool *needed, *is_before; /* by node id */
    uint32_t *last_use;       /* by node id: of the tensor that is there, for an alias its input's */
    /* Pieces of memory that are in use, in the order of their places. */
    struct piece {
        size_t begin, end;
        uint32_t last_use;
    } * pieces;
    size_t num_pieces;
} planner;

static bool is_alias(const planner *p, const liana__node *node)
{
    return node->op->placement == LIANA__PLACE_ALIAS && !p->facts->reference;
}

static const liana__node *root_of(const planner *p, const liana__node *node)
{
    while (is_alias(p, node)) node = node->inputs[0];
    return node;
}

static void find_last_uses(planner *p)
{
    const liana_graph *body = p->facts->body;
    for (uint32_t id = 1; id < body->num_nodes; id++) {
        const liana__node *node = body->nodes[id];
        if (!p->needed[id]) continue;
        p->last_use[root_of(p, node)->id] = id;
        for (uint32_t i = 0; i < node->num_inputs; i++) p->last_use[root_of(p, node->inputs[i])->id] = id;
        if (p->is_before[id] || p->facts->reference) p->last_use[root_of(p, node)->id] = UINT32_MAX;
        /* A step that runs in each step may read one that ran before. */
        for (uint32_t i = 0; i < node->num_inputs; i++) {
            const liana__node *root = root_of(p, node->inputs[i]);
            if (p->is_before[root->id]) p->last_use[root->id] = UINT32_MAX;
        }
    }
    for (size_t i = 0; i < body->num_outputs; i++) p->last_use[root_of(p, body->outputs[i].node)->id] = UINT32_MAX;
}

/* The lowest place where `size` bytes are free at the time of a node. */
static size_t find_place(planner *p, uint32_t now, uint32_t last_use, size_t size)
{
    size_t kept = 0, place = 0, at = SIZE_MAX;
    for (size_t i = 0; i < p->num_pieces; i++) {
        if (p->pieces[i].last_use >= now) p->pieces[kept++] = p->pieces[i];
    }
    p->num_pieces = kept;
    for (size_t i = 0; i < kept && at == SIZE_MAX; i++) {
        if (place + size <= p->pieces[i].begin) at = i;
        if (at == SIZE_MAX) place = p->pieces[i].end;
    }
    if (at == SIZE_MAX) at = kept;
    memmove(&p->pieces[at + 1], &p->pieces[at], (kept - at) * sizeof *p->pieces);
    p->pieces[at] = (struct piece){place, place + size, last_use};
    p->num_pieces++;
    if (place + size > p->plan->memory_size) p->plan->memory_size = place + size;
    return place;
}

static size_t size_of(const planner *p, const liana__node *node)
{
    size_t size = liana__byte_size(node->dtype, &node->shape);
    if (p->plan->has_rows[node->id]) size = size / (size_t)node->shape.dims[0] * (size_t)p->facts->num_rows;
    return liana__align_up(size);
}

/* What runs before the steps is placed first, and stays. */
static void place_all(planner *p, bool before)
{
    const liana_graph *body = p->facts->body;
    for (uint32_t id = 1; id < body->num_nodes; id++) {
        const liana__node *node = body->nodes[id];
        if (!p->needed[id] || liana__is_leaf(node) || is_alias(p, node) || p->is_before[id] != before) continue;
        p->plan->places[id] = find_place(p, before ? 0 : id, p->last_use[id], size_of(p, node));
        p->plan->is_computed[id] = !before;
    }
}

/* ---- kernels ---- */

/* The node with inputs that are weights if they are there before the first step: kernels may pack these. NULL: out of
 * memory. */
static const liana__node *with_weights(planner *p, const liana__node *node)
{
    liana__arena *arena = &p->plan->arena;
    if (node->num_inputs == 0) return node;
    liana__node *copy = liana__arena_copy(arena, node, sizeof *node);
    liana__node **inputs = liana__arena_copy(arena, node->inputs, node->num_inputs * sizeof *inputs);
    if (!copy || !inputs) return NULL;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        if (!p->is_before[input->id] || liana__is_constant(input)) continue;
        for (uint32_t k = 0; k < i; k++) inputs[i] = node->inputs[k] == input ? inputs[k] : inputs[i];
        if (inputs[i] != input) continue;
        const liana__node weights = liana__node_as_weights(input);
        inputs[i] = liana__arena_copy(arena, &weights, sizeof weights);
        if (!inputs[i]) return NULL;
    }
    copy->inputs = inputs;
    return copy;
}

static const liana__node *part_of(planner *p, const liana__node *node)
{
    if (!p->plan->has_rows[node->id]) return node;
    const liana__node_cut cut = {.parts = liana__node_parts(node), .rows = p->facts->num_rows};
    return liana__part_node(&p->plan->arena, node, &cut);
}

static liana_status add_step(planner *p, const liana__node *whole, size_t *scratch, liana__error *error)
{
    liana__body_plan *plan = p->plan;
    liana_context *context = plan->body->context;
    const bool before = p->is_before[whole->id];
    liana__body_step *step = before ? &plan->before[plan->num_before++] : &plan->steps[plan->num_steps++];
    *step = (liana__body_step){.node = whole};
    if (whole->num_inputs > plan->max_inputs) plan->max_inputs = whole->num_inputs;
    if (is_alias(p, whole)) return LIANA_OK;
    const liana__node *node = with_weights(p, whole);
    if (!node) return liana__fail_memory(error, "a body");
    step->kernel =
        p->facts->reference ? liana__reference_kernel(node) : liana__choose_kernel(context, node, context->isa);
    step->node = part_of(p, node);
    if (!step->node) return liana__fail_memory(error, "a body");
    if (step->kernel->prepare) LIANA_TRY(step->kernel->prepare(step->node, &step->prepared, error));
    if (step->prepared.scratch_size > *scratch) *scratch = step->prepared.scratch_size;
    if (before || !step->kernel->pack || step->prepared.packed_size == 0) return LIANA_OK;
    const liana__node *packed = whole->inputs[step->prepared.packed_input];
    step->is_packed = p->is_before[packed->id];
    return LIANA_OK;
}

static liana_status make_steps(planner *p, liana__error *error)
{
    liana__body_plan *plan = p->plan;
    size_t scratch = 0;
    for (uint32_t id = 1; id < plan->body->num_nodes; id++) {
        const liana__node *node = plan->body->nodes[id];
        if (p->needed[id] && !liana__is_leaf(node)) LIANA_TRY(add_step(p, node, &scratch, error));
    }
    for (size_t i = 0; i < plan->num_steps; i++) {
        liana__body_step *step = &plan->steps[i];
        if (!step->is_packed) continue;
        step->packed_at = plan->memory_size;
        plan->memory_size += liana__align_up(step->prepared.packed_size);
    }
    plan->scratch_at = plan->memory_size;
    plan->memory_size += liana__align_up(scratch);
    return LIANA_OK;
}

static void find_before(planner *p)
{
    const liana_graph *body = p->facts->body;
    for (size_t i = 0; i < body->num_inputs; i++) p->is_before[body->inputs[i]->id] = p->facts->is_constant[i];
    for (uint32_t id = 1; id < body->num_nodes; id++) {
        const liana__node *node = body->nodes[id];
        if (!liana__is_input(node)) p->is_before[id] = true;
        for (uint32_t i = 0; i < node->num_inputs; i++) {
            if (!p->is_before[node->inputs[i]->id]) p->is_before[id] = false;
        }
    }
}

static bool allocate(planner *p, liana__arena *scratch)
{
    liana__body_plan *plan = p->plan;
    const size_t n = plan->body->num_nodes;
    plan->places = liana__arena_allocate(&plan->arena, n * sizeof *plan->places);
    plan->is_computed = liana__arena_allocate(&plan->arena, n * sizeof *plan->is_computed);
    plan->has_rows = liana__arena_allocate(&plan->arena, n * sizeof *plan->has_rows);
    plan->before = liana__arena_allocate(&plan->arena, n * sizeof *plan->before);
    plan->steps = liana__arena_allocate(&plan->arena, n * sizeof *plan->steps);
    p->needed = liana__arena_allocate(scratch, n * sizeof *p->needed);
    p->is_before = liana__arena_allocate(scratch, n * sizeof *p->is_before);
    p->last_use = liana__arena_allocate(scratch, n * sizeof *p->last_use);
    p->pieces = liana__arena_allocate(scratch, (n + 1) * sizeof *p->pieces);
    return !plan->arena.failed && !scratch->failed;
}

liana_status liana__body_plan_make(const liana__body_facts *facts, liana__body_plan *plan, liana__error *error)
{
    *plan = (liana__body_plan){.body = facts->body};
    LIANA__SCOPED(liana__arena) scratch = {0};
    planner p = {.facts = facts, .plan = plan};
    if (!allocate(&p, &scratch)) return liana__fail_memory(error, "a body");
    const size_t n = facts->body->num_nodes;
    if (facts->has_rows) memcpy(plan->has_rows, facts->has_rows, n * sizeof *plan->has_rows);
    for (size_t id = 0; id < n; id++) plan->places[id] = SIZE_MAX;
    liana__graph_mark_needed(facts->body, p.needed);
    find_before(&p);
    find_last_uses(&p);
    place_all(&p, true);
    place_all(&p, false);
    return make_steps(&p, error);
}

void liana__body_plan_free(liana__body_plan *plan)
{
    for (size_t k = 0; k < 2; k++) {
        liana__body_step *steps = k ? plan->steps : plan->before;
        for (size_t i = 0; i < (k ? plan->num_steps : plan->num_before); i++) {
            const liana__kernel *kernel = steps[i].kernel;
            if (kernel && kernel->release && steps[i].prepared.plan) kernel->release(steps[i].prepared.plan);
        }
    }
    liana__arena_free(&plan->arena);
    *plan = (liana__body_plan){0};
}

/* ---- runs ---- */

size_t liana__body_run_size(const liana__body_plan *plan)
{
    return liana__align_up(plan->memory_size) +
           liana__align_up((plan->body->num_nodes + plan->max_inputs + 1) * sizeof(void *));
}

liana__body_run liana__body_run_begin(const liana__body_plan *plan, void *memory, int64_t first_row)
{
    liana__body_run run = {.plan = plan, .memory = memory};
    run.values = (void **)((char *)memory + liana__align_up(plan->memory_size));
    run.sources = (const void **)(run.values + plan->body->num_nodes);
    for (size_t id = 1; id < plan->body->num_nodes; id++) {
        const liana__node *node = plan->body->nodes[id];
        if (plan->places[id] != SIZE_MAX) run.values[id] = run.memory + plan->places[id];
        if (!liana__is_constant(node)) continue;
        size_t offset = 0;
        if (plan->has_rows[id] && first_row) {
            offset = liana__byte_size(node->dtype, &node->shape) / (size_t)node->shape.dims[0] * (size_t)first_row;
        }
        run.values[id] = (char *)liana__constant_data(node) + offset;
    }
    return run;
}

/* Part nodes have inputs of the whole nodes' ids. */
static liana_status run_kernel(const liana__body_run *run, const liana__body_step *step)
{
    const liana__node *node = step->node;
    if (!step->kernel) {
        const size_t offset = node->op->alias_offset ? node->op->alias_offset(node) : 0;
        run->values[node->id] = (char *)run->values[node->inputs[0]->id] + offset;
        return LIANA_OK;
    }
    for (uint32_t i = 0; i < node->num_inputs; i++) run->sources[i] = run->values[node->inputs[i]->id];
    const liana__call call = {.node = node,
                              .src = run->sources,
                              .dst = run->values[node->id],
                              .scratch = run->memory + run->plan->scratch_at,
                              .plan = step->prepared.plan,
                              .packed = step->is_packed ? run->memory + step->packed_at : NULL};
    return step->kernel->run(&call);
}

liana_status liana__body_run_once(const liana__body_run *run)
{
    const liana__body_plan *plan = run->plan;
    for (size_t i = 0; i < plan->num_before; i++) LIANA_TRY(run_kernel(run, &plan->before[i]));
    for (size_t i = 0; i < plan->num_steps; i++) {
        const liana__body_step *step = &plan->steps[i];
        if (!step->is_packed) continue;
        const uint32_t input = step->prepared.packed_input;
        for (uint32_t k = 0; k < step->node->num_inputs; k++) run->sources[k] = NULL;
        run->sources[input] = run->values[step->node->inputs[input]->id];
        const liana__call call = {.node = step->node,
                                  .src = run->sources,
                                  .scratch = run->memory + plan->scratch_at,
                                  .plan = step->prepared.plan};
        LIANA_TRY(step->kernel->pack(&call, run->memory + step->packed_at));
    }
    return LIANA_OK;
}

liana_status liana__body_run_step(const liana__body_run *run)
{
    for (size_t i = 0; i < run->plan->num_steps; i++) LIANA_TRY(run_kernel(run, &run->plan->steps[i]));
    return LIANA_OK;
}
