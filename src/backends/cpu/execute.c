/* Running a compiled graph. Nothing here allocates, except under LIANA_VALIDATE. */
#include "backends/cpu/cpu.h"
#include "backends/host.h"

#include <stdlib.h>

static bool is_external(liana__storage_kind kind)
{
    return kind == LIANA__STORAGE_INPUT || kind == LIANA__STORAGE_VARIABLE || kind == LIANA__STORAGE_OUTPUT;
}

liana_status liana__cpu_external_values(liana__cpu_executable *executable, liana__error *error)
{
    size_t count = executable->graph->num_nodes;
    executable->externals = calloc(count, sizeof *executable->externals);
    if (!executable->externals) return liana__fail_memory(error, "an executable");
    for (uint32_t id = 1; id < count; id++) {
        liana__storage storage = executable->plan.storage[id];
        if (is_external(storage.kind)) {
            executable->externals[executable->num_externals++] = (liana__cpu_external){id, storage};
        }
    }
    return LIANA_OK;
}

/* Points a worker's table at everything that does not change between executions, unless it does so already. Where
 * several workers share an execution, only what exists for one slice at a time is in their own workspaces. */
static void fill_fixed_values(const liana__cpu_executable *executable, liana__cpu_worker *worker, char *workspace,
                              char *shared)
{
    if (worker->filled && worker->workspace == workspace && worker->shared == shared) return;
    worker->filled = true;
    worker->workspace = workspace;
    worker->shared = shared;
    const liana_graph *graph = executable->graph;
    for (size_t id = 1; id < graph->num_nodes; id++) {
        liana__storage storage = executable->plan.storage[id];
        if (storage.kind == LIANA__STORAGE_WORKSPACE) {
            worker->values[id] = (executable->schedule.internal[id] ? workspace : shared) + storage.offset;
        }
        if (storage.kind == LIANA__STORAGE_CONSTANT) {
            worker->values[id] = (void *)liana__constant_data(graph->nodes[storage.offset]);
        }
        if (executable->kept.values[id]) worker->values[id] = executable->kept.values[id];
    }
}

static void *external_data(const liana__cpu_buffers *given, liana__storage storage)
{
    liana__buffer *const *list = storage.kind == LIANA__STORAGE_INPUT      ? given->inputs
                                 : storage.kind == LIANA__STORAGE_VARIABLE ? given->variables
                                                                           : given->outputs;
    return liana__host_data(list[storage.offset]);
}

static liana_status check_outputs(const liana_graph *graph, liana__buffer *const *outputs, liana__error *error)
{
    for (size_t i = 0; i < graph->num_outputs; i++) {
        LIANA_TRY(liana__host_check_buffers("output", &graph->outputs[i].node, 1, outputs + i, error));
    }
    return LIANA_OK;
}

/* One of `num_tiles` tiles, or the whole if there are none. */
static liana_status call_kernel(const liana__cpu_run *run, const liana__cpu_step *step, const void *const *sources,
                                void *dst, size_t tile, size_t num_tiles)
{
    liana__device *device = run->executable->base.device;
    const liana__call call = {step->node,          sources,      dst,  run->scratch,
                              step->prepared.plan, step->packed, tile, num_tiles};
    liana__event event = {.kind = LIANA__EVENT_NODE, .subject = step->node, .how = step->kernel};
    if (device->recorder) event.begin = liana__clock();
    liana_status status = step->kernel->run(&call);
    if (status != LIANA_OK) {
        const liana__node *node = step->whole;
        return liana__fail(run->error, status, "%s:%d: %s (kernel %s) failed", node->where.file, node->where.line,
                           node->op->name, step->kernel->name);
    }
    if (device->recorder) liana__recorder_add(device->recorder, (size_t)run->worker_index, event);
    return LIANA_OK;
}

/* Where the result of a slice goes: its rows of the whole result, or what will be added or merged. */
static char *result_of(const liana__cpu_run *run, const liana__cpu_step *step, size_t slice)
{
    uint32_t id = step->whole->id;
    char *result = run->worker->values[id], *partials = run->worker->workspace + run->executable->plan.partials[id];
    if (step->part_size) return partials + slice * step->part_size;
    return step->sum && slice > 0 ? partials : result + slice * step->advance;
}

static void find_sources(const liana__cpu_run *run, const liana__cpu_step *step, size_t slice)
{
    liana__cpu_worker *worker = run->worker;
    for (uint32_t i = 0; i < step->node->num_inputs; i++) {
        const liana__cpu_source *source = &step->sources[i];
        worker->sources[i] = (const char *)worker->values[source->node] + slice * source->advance;
    }
}

static liana_status run_step(const liana__cpu_run *run, const liana__cpu_step *step, size_t slice, size_t num_slices)
{
    liana__cpu_worker *worker = run->worker;
    find_sources(run, step, slice);
    char *dst = result_of(run, step, slice), *result = worker->values[step->whole->id];
    const liana__cpu_step *called = step->last && slice + 1 == num_slices ? step->last : step;
    LIANA_TRY(call_kernel(run, called, worker->sources, dst, 0, 0));
    if (run->executable->base.device->context->validate) {
        LIANA_TRY(liana__cpu_validate_step(called, worker->sources, dst, run->error));
    }
    if (step->sum && slice > 0) {
        LIANA_TRY(call_kernel(run, step->sum, (const void *const[]){result, dst}, result, 0, 0));
    }
    if (step->part_size && slice + 1 == num_slices) {
        step->whole->op->merge(step->whole, dst - slice * step->part_size, step->part_size, num_slices, result);
    }
    return LIANA_OK;
}

liana_status liana__cpu_run_tile(const liana__cpu_run *run, const liana__cpu_step *step, size_t tile)
{
    if (step->tile) return run_step(run, step->tile, tile, step->num_tiles);
    find_sources(run, step, 0);
    return call_kernel(run, step, run->worker->sources, run->worker->values[step->whole->id], tile, step->num_tiles);
}

liana_status liana__cpu_run_slice(const liana__cpu_run *run, const liana__cpu_segment *segment, size_t slice)
{
    for (size_t i = segment->first_step; i < segment->end_step; i++) {
        LIANA_TRY(run_step(run, &run->executable->steps[i], slice, segment->num_slices));
    }
    return LIANA_OK;
}

liana_status liana__cpu_check_buffers(const liana_graph *graph, const liana__cpu_buffers *given, liana__error *error)
{
    LIANA_TRY(liana__host_check_buffers("input", graph->inputs, graph->num_inputs, given->inputs, error));
    LIANA_TRY(liana__host_check_buffers("variable", graph->variables, graph->num_variables, given->variables, error));
    return check_outputs(graph, given->outputs, error);
}

liana__cpu_run liana__cpu_start(liana__cpu_executable *executable, int worker_index, int shared,
                                const liana__cpu_buffers *given, liana__error *error)
{
    char *const *workspaces = ((liana__cpu_device *)executable->base.device)->workspaces;
    liana__cpu_worker *worker = &executable->workers[worker_index];
    fill_fixed_values(executable, worker, workspaces[worker_index], workspaces[shared]);
    for (size_t i = 0; i < executable->num_externals; i++) {
        const liana__cpu_external *external = &executable->externals[i];
        worker->values[external->node] = external_data(given, external->storage);
    }
    return (liana__cpu_run){executable, worker, worker_index, worker->workspace + executable->plan.workspace_size,
                            error};
}

void liana__cpu_finish(const liana__cpu_run *run, const liana__cpu_buffers *given)
{
    const liana__cpu_executable *executable = run->executable;
    for (size_t i = 0; i < executable->plan.num_copies; i++) {
        const liana__plan_copy *copy = &executable->plan.copies[i];
        const liana__node *node = executable->graph->nodes[copy->node];
        memmove(external_data(given, copy->target), run->worker->values[copy->node],
                liana__byte_size(node->dtype, &node->shape));
    }
    for (size_t i = 0; i < executable->graph->num_outputs; i++) liana__host_touch(given->outputs[i]);
    for (size_t i = 0; i < executable->graph->num_assignments; i++) {
        const liana__node *variable = executable->graph->assignments[i].variable;
        liana__host_touch(given->variables[executable->plan.storage[variable->id].offset]);
    }
}

liana_status liana__cpu_execute(liana__executable *base, int worker_index, liana__buffer *const *inputs,
                                liana__buffer *const *variables, liana__buffer *const *outputs, liana__error *error)
{
    liana__cpu_executable *executable = (liana__cpu_executable *)base;
    const liana__cpu_buffers given = {inputs, variables, outputs};
    LIANA_TRY(liana__cpu_check_buffers(executable->graph, &given, error));
    const liana__cpu_run run = liana__cpu_start(executable, worker_index, worker_index, &given, error);
    LIANA_TRY(liana__cpu_refresh_kept(&run, variables));
    for (size_t i = 0; i < executable->num_segments; i++) {
        const liana__cpu_segment *segment = &executable->segments[i];
        for (size_t slice = 0; slice < segment->num_slices && !segment->kept; slice++) {
            LIANA_TRY(liana__cpu_run_slice(&run, segment, slice));
        }
    }
    liana__cpu_finish(&run, &given);
    return LIANA_OK;
}
