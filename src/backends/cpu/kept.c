/* Values that depend on weights alone are computed when these have changed, not in each execution, and once for all
 * workers: casts of weights, and weights in the layouts of kernels. */
#include "backends/cpu/cpu.h"

#include "backends/host.h"
#include "plan/recompute.h"

#include <stdlib.h>

/* Whether all inputs are there before an execution begins. Where weights are trained, a value of several of them
 * changes with each step: then it is not kept, and all workers compute parts of it. */
static bool has_kept_inputs(const liana__cpu_executable *executable, const liana__node *node)
{
    const bool is_trained = executable->graph->first_gradient > 0;
    if (node->num_inputs == 0 || (node->num_inputs > 1 && is_trained)) return false;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *source = liana__cpu_find_source(node->inputs[i]);
        if (!liana__is_variable(source) && !executable->kept.nodes[source->id]) return false;
    }
    return true;
}

/* Keeps a node that runs whole and alone, and is not larger than its weights; otherwise recomputing is cheaper. */
static bool is_worth_keeping(const liana__cpu_executable *executable, const liana__node *node)
{
    const liana__segment *segment = liana__execution_order_segment(&executable->schedule, node->id);
    size_t bytes = 0;
    if (segment->end != segment->begin + 1 || !has_kept_inputs(executable, node)) return false;
    if (liana__segment_is_sliced(segment) || node->op->placement == LIANA__PLACE_ALIAS) return false;
    if (liana__is_cast_twice(executable->graph, node)) return false;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        bytes += liana__byte_size(node->inputs[i]->dtype, &node->inputs[i]->shape);
    }
    return liana__byte_size(node->dtype, &node->shape) <= bytes;
}

static void choose_nodes(liana__cpu_executable *executable)
{
    const liana_graph *graph = executable->graph;
    const liana__execution_order *schedule = &executable->schedule;
    bool *nodes = executable->kept.nodes;
    for (size_t i = 0; i < schedule->count; i++) {
        const liana__node *node = graph->nodes[schedule->order[i]];
        nodes[node->id] = is_worth_keeping(executable, node);
    }
    /* Results lie in the caller's buffers. */
    for (size_t i = 0; i < graph->num_outputs; i++) nodes[liana__cpu_find_source(graph->outputs[i].node)->id] = false;
    for (size_t i = 0; i < graph->num_assignments; i++)
        nodes[liana__cpu_find_source(graph->assignments[i].value)->id] = false;
    for (size_t i = 0; i < schedule->count; i++) {
        const liana__node *node = graph->nodes[schedule->order[i]];
        nodes[node->id] = nodes[node->id] && is_worth_keeping(executable, node);
    }
}

liana_status liana__cpu_kept_create(liana__cpu_executable *executable, liana__error *error)
{
    liana__cpu_kept *kept = &executable->kept;
    const liana_graph *graph = executable->graph;
    size_t most = 2 * executable->schedule.count + 1;
    liana__arena *arena = &executable->arena;
    kept->nodes = liana__arena_allocate(arena, graph->num_nodes * sizeof *kept->nodes);
    kept->values = liana__arena_allocate(arena, graph->num_nodes * sizeof *kept->values);
    kept->versions = liana__arena_allocate(arena, (graph->num_variables + 1) * sizeof *kept->versions);
    kept->blocks = liana__arena_allocate(arena, most * sizeof *kept->blocks);
    if (arena->failed || pthread_mutex_init(&kept->mutex, NULL) != 0) return liana__fail_memory(error, "an executable");
    kept->has_mutex = true;
    choose_nodes(executable);
    return LIANA_OK;
}

void liana__cpu_kept_free(liana__cpu_kept *kept)
{
    for (size_t i = 0; i < kept->num_blocks; i++) free(kept->blocks[i]);
    if (kept->has_mutex) pthread_mutex_destroy(&kept->mutex);
    *kept = (liana__cpu_kept){0};
}

static liana_status allocate(liana__cpu_kept *kept, size_t size, void **block, liana__error *error)
{
    *block = liana__allocate_aligned(size);
    if (!*block) {
        return liana__fail(error, LIANA_OUT_OF_MEMORY, "out of memory for weights in a kernel's layout (%zu KiB)",
                           size >> 10);
    }
    kept->blocks[kept->num_blocks++] = *block;
    kept->size += size;
    return LIANA_OK;
}

liana_status liana__cpu_keep_segment(liana__cpu_executable *executable, liana__cpu_segment *segment,
                                     liana__error *error)
{
    if (segment->end_step == segment->first_step) return LIANA_OK;
    const liana__node *node = executable->steps[segment->first_step].whole;
    if (!executable->kept.nodes[node->id]) return LIANA_OK;
    segment->kept = true;
    return allocate(&executable->kept, liana__byte_size(node->dtype, &node->shape), &executable->kept.values[node->id],
                    error);
}

/* A step whose kernel packs an input that is there before an execution begins. Where weights are trained they change
 * after a few shards, and laying them out once for each of these (packed.c) takes less time than the noise; the program
 * of each shard size would hold the layouts (ResNet50: 90 MiB each in bf16, 180 in f32). */
static liana_status keep_packed(liana__cpu_executable *executable, liana__cpu_step *step, liana__error *error)
{
    const liana__prepared *prepared = &step->prepared;
    bool is_trained = executable->graph->first_gradient > 0;
    if (!step->kernel->pack || prepared->packed_size == 0 || is_trained) return LIANA_OK;
    const liana__node *input = step->whole->inputs[prepared->packed_input];
    if (step->node->inputs[prepared->packed_input] != input) return LIANA_OK; /* a slice of it */
    const liana__node *source = liana__cpu_find_source(input);
    if (!liana__is_variable(source) && !executable->kept.values[source->id]) return LIANA_OK;
    return allocate(&executable->kept, prepared->packed_size, &step->packed, error);
}

liana_status liana__cpu_keep_weights(liana__cpu_executable *executable, liana__error *error)
{
    liana__cpu_kept *kept = &executable->kept;
    const liana_graph *graph = executable->graph;
    for (size_t i = 0; i < executable->num_steps; i++) {
        LIANA_TRY(keep_packed(executable, &executable->steps[i], error));
    }
    for (size_t id = 1; id < graph->num_nodes; id++) {
        if (!kept->values[id]) kept->values[id] = kept->values[liana__cpu_find_source(graph->nodes[id])->id];
    }
    return LIANA_OK;
}

/* ---- running ---- */

static bool is_stale(const liana__cpu_executable *executable, liana__buffer *const *variables)
{
    for (size_t i = 0; i < executable->graph->num_variables; i++) {
        if (executable->kept.versions[i] != variables[i]->version) return true;
    }
    return false;
}

static liana_status refresh(const liana__cpu_run *run, liana__buffer *const *variables)
{
    const liana__cpu_executable *executable = run->executable;
    for (size_t i = 0; i < executable->num_segments; i++) {
        const liana__cpu_segment *segment = &executable->segments[i];
        if (segment->kept) LIANA_TRY(liana__cpu_run_slice(run, segment, 0));
    }
    for (size_t i = 0; i < executable->num_steps; i++) {
        const liana__cpu_step *step = &executable->steps[i];
        if (step->packed) LIANA_TRY(liana__cpu_pack_step(run, step, step->packed));
    }
    for (size_t i = 0; i < executable->graph->num_variables; i++) {
        executable->kept.versions[i] = variables[i]->version;
    }
    return LIANA_OK;
}

liana_status liana__cpu_refresh_kept(const liana__cpu_run *run, liana__buffer *const *variables)
{
    liana__cpu_kept *kept = (liana__cpu_kept *)&run->executable->kept;
    if (kept->num_blocks == 0) return LIANA_OK;
    pthread_mutex_lock(&kept->mutex);
    liana_status status = is_stale(run->executable, variables) ? refresh(run, variables) : LIANA_OK;
    pthread_mutex_unlock(&kept->mutex);
    return status;
}
