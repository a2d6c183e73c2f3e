/* From segments of nodes to kernels that are ready to run. */
#include "backends/cpu/cpu.h"

#include "ir/part_node.h"
#include "kernels/kernel_choice.h"
#include "ops/ops.h"
#include "ops/reduce/count_non_finite.h"
#include "passes/pass.h"

/* A step's kernel, prepared: the best one, unless it is already chosen. */
static liana_status prepare(liana__cpu_executable *executable, liana__cpu_step *step, liana__error *error)
{
    liana_context *context = executable->base.device->context;
    if (!step->kernel) step->kernel = liana__choose_kernel(context, step->node, context->isa);
    if (step->kernel->prepare) LIANA_TRY(step->kernel->prepare(step->node, &step->prepared, error));
    size_t scratch = liana__align_up(step->prepared.scratch_size);
    if (scratch > executable->scratch_size) executable->scratch_size = scratch;
    if (step->node->num_inputs > executable->max_inputs) executable->max_inputs = step->node->num_inputs;
    return LIANA_OK;
}

static void release(liana__cpu_step *step)
{
    if (step->watch) release(step->watch);
    if (step->kernel && step->kernel->release && step->prepared.plan) step->kernel->release(step->prepared.plan);
}

void liana__cpu_release_step(liana__cpu_step *step)
{
    release(step);
    if (step->sum) release(step->sum);
    if (step->last) release(step->last);
    if (step->tile) liana__cpu_release_step(step->tile);
}

/* How far it is to the rows of the next slice. */
static size_t advance_of(const liana__cpu_executable *executable, const liana__node *node,
                         const liana__segment *segment)
{
    bool internal = executable->schedule.internal[node->id];
    return internal ? 0 : liana__byte_size(node->dtype, &node->shape) / liana__segment_num_slices(segment);
}

/* The node that adds up the parts of a step. */
static liana_status make_sum(liana__cpu_executable *executable, liana__cpu_step *step, liana__error *error)
{
    liana__arena *arena = &executable->arena;
    const liana__node *whole = step->whole;
    liana__node *const terms[] = {(liana__node *)whole, (liana__node *)whole};
    liana__node node = *whole;
    node.op = &liana__op_add;
    node.attributes = NULL;
    node.num_inputs = 2;
    node.inputs = liana__arena_copy(arena, terms, sizeof terms);
    liana__cpu_step *sum = liana__arena_allocate(arena, sizeof *sum);
    if (!sum || !node.inputs) return liana__fail_memory(error, "an executable");
    sum->whole = whole;
    sum->node = liana__arena_copy(arena, &node, sizeof node);
    if (!sum->node) return liana__fail_memory(error, "an executable");
    step->sum = sum;
    return prepare(executable, sum, error);
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
    return prepare(executable, step->watch, error);
}

static liana_status watch_step(liana__cpu_executable *executable, liana__cpu_step *step, liana__error *error)
{
    if (!executable->watched[step->whole->id] || step->kernel->notes_non_finite) return LIANA_OK;
    return make_watch(executable, step, error);
}

liana_status liana__cpu_make_part(liana__cpu_executable *executable, liana__cpu_step *step, const liana__node_cut *cut,
                                  liana__error *error)
{
    step->node = liana__part_node(&executable->arena, step->whole, cut);
    if (!step->node) return liana__fail_memory(error, "an executable");
    LIANA_TRY(prepare(executable, step, error));
    return watch_step(executable, step, error);
}

static liana_status slice_step(liana__cpu_executable *executable, liana__cpu_step *step, const liana__segment *segment,
                               liana__cpu_source *sources, liana__error *error)
{
    const liana__node *whole = step->whole;
    const liana__parts parts = liana__segment_parts(segment, whole);
    const liana__node_cut cut = {.parts = parts, .flat = segment->flat, .rows = segment->slice_rows};
    step->node = liana__part_node(&executable->arena, whole, &cut);
    if (!step->node) return liana__fail_memory(error, "an executable");
    for (uint32_t i = 0; i < whole->num_inputs; i++) {
        if (liana__parts_is_whole(&parts, i)) continue;
        sources[i].advance = advance_of(executable, whole->inputs[i], segment);
    }
    if (parts.kind == LIANA__PART_ROWS) step->advance = advance_of(executable, whole, segment);
    if (parts.kind == LIANA__PART_MERGE) step->part_size = liana__part_size(whole, &parts);
    return parts.kind == LIANA__PART_SUM ? make_sum(executable, step, error) : LIANA_OK;
}

static liana_status make_step(liana__cpu_executable *executable, const liana__node *whole,
                              const liana__segment *segment, liana__error *error)
{
    liana__cpu_step *step = &executable->steps[executable->num_steps++];
    step->whole = step->node = whole;
    liana__cpu_source *sources = liana__arena_allocate(&executable->arena, (whole->num_inputs + 1) * sizeof *sources);
    if (!sources) return liana__fail_memory(error, "an executable");
    for (uint32_t i = 0; i < whole->num_inputs; i++) sources[i].node = whole->inputs[i]->id;
    step->sources = sources;
    if (liana__segment_is_sliced(segment)) LIANA_TRY(slice_step(executable, step, segment, sources, error));
    LIANA_TRY(prepare(executable, step, error));
    return watch_step(executable, step, error);
}

/* Lets steps of a sliced segment compute results that others would have to read again. */
static void find_companions(liana__cpu_executable *executable, const liana__cpu_segment *segment)
{
    for (size_t k = segment->first_step; k < segment->end_step; k++) {
        liana__cpu_step *step = &executable->steps[k];
        for (size_t i = k + 1; step->kernel->gives_companion && !step->companion && i < segment->end_step; i++) {
            liana__cpu_step *reader = &executable->steps[i];
            const bool reads = reader->node->num_inputs == 1 && reader->whole->inputs[0] == step->whole;
            if (!reads || !step->kernel->gives_companion(step->node, reader->node)) continue;
            step->companion = reader;
            reader->is_given = true;
        }
    }
}

liana_status liana__cpu_make_steps(liana__cpu_executable *executable, liana__error *error)
{
    const bool companions = liana__pass_is_on(executable->base.device->context, &liana__pass_fuse_statistics);
    const liana__execution_order *schedule = &executable->schedule;
    liana__arena *arena = &executable->arena;
    executable->steps = liana__arena_allocate(arena, (schedule->count + 1) * sizeof *executable->steps);
    executable->segments = liana__arena_allocate(arena, (schedule->num_segments + 1) * sizeof *executable->segments);
    if (!executable->steps || !executable->segments) return liana__fail_memory(error, "an executable");
    for (size_t i = 0; i < schedule->num_segments; i++) {
        const liana__segment *segment = &schedule->segments[i];
        liana__cpu_segment made = {.first_step = executable->num_steps,
                                   .num_slices = liana__segment_num_slices(segment),
                                   .independent = liana__segment_is_sliced(segment)};
        for (size_t k = segment->begin; k < segment->end; k++) {
            const liana__node *node = executable->graph->nodes[schedule->order[k]];
            if (executable->plan.computed[node->id]) LIANA_TRY(make_step(executable, node, segment, error));
        }
        made.end_step = executable->num_steps;
        for (size_t k = made.first_step; k < made.end_step; k++) {
            if (executable->steps[k].sum || executable->steps[k].part_size) made.independent = false;
        }
        if (companions && liana__segment_is_sliced(segment)) find_companions(executable, &made);
        LIANA_TRY(liana__cpu_keep_segment(executable, &made, error));
        if (made.end_step > made.first_step) executable->segments[executable->num_segments++] = made;
    }
    return LIANA_OK;
}

void liana__cpu_free_steps(liana__cpu_executable *executable)
{
    for (size_t i = 0; i < executable->num_steps; i++) liana__cpu_release_step(&executable->steps[i]);
    liana__arena_free(&executable->arena);
    executable->num_steps = executable->num_segments = 0;
    executable->scratch_size = executable->packed_size = 0;
}
