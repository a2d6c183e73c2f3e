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

typedef struct buffers {
    liana__buffer *const *inputs;
    liana__buffer *const *variables;
    liana__buffer *const *outputs;
} buffers;

static void *external_data(const buffers *given, liana__storage storage)
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

static liana_status call_kernel(const liana__cpu_run *run, const liana__cpu_step *step, const void *const *sources,
                                void *dst)
{
    liana__device *device = run->executable->base.device;
    const liana__call call = {step->node, sources, dst, run->scratch, step->prepared.plan, step->packed};
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

static liana_status run_step(const liana__cpu_run *run, const liana__cpu_step *step, size_t slice, size_t num_slices)
{
    liana__cpu_worker *worker = run->worker;
    for (uint32_t i = 0; i < step->node->num_inputs; i++) {
        const liana__cpu_source *source = &step->sources[i];
        worker->sources[i] = (const char *)worker->values[source->node] + slice * source->advance;
    }
    char *dst = result_of(run, step, slice), *result = worker->values[step->whole->id];
    LIANA_TRY(call_kernel(run, step, worker->sources, dst));
    if (run->executable->base.device->context->validate) {
        LIANA_TRY(liana__cpu_validate_step(step, worker->sources, dst, run->error));
    }
    if (step->sum && slice > 0) LIANA_TRY(call_kernel(run, step->sum, (const void *const[]){result, dst}, result));
    if (step->part_size && slice + 1 == num_slices) {
        step->whole->op->merge(step->whole, dst - slice * step->part_size, step->part_size, num_slices, result);
    }
    return LIANA_OK;
}

liana_status liana__cpu_run_slice(const liana__cpu_run *run, const liana__cpu_segment *segment, size_t slice)
{
    for (size_t i = segment->first_step; i < segment->end_step; i++) {
        LIANA_TRY(run_step(run, &run->executable->steps[i], slice, segment->num_slices));
    }
    return LIANA_OK;
}

static liana_status check_buffers(const liana_graph *graph, const buffers *given, liana__error *error)
{
    LIANA_TRY(liana__host_check_buffers("input", graph->inputs, graph->num_inputs, given->inputs, error));
    LIANA_TRY(liana__host_check_buffers("variable", graph->variables, graph->num_variables, given->variables, error));
    return check_outputs(graph, given->outputs, error);
}

/* Makes a worker ready to run on its own workspace and on that of the worker `shared`. */
static liana__cpu_run start(liana__cpu_executable *executable, int worker_index, int shared, const buffers *given,
                            liana__error *error)
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

static void copy_results(const liana__cpu_run *run, const buffers *given)
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
    const buffers given = {inputs, variables, outputs};
    LIANA_TRY(check_buffers(executable->graph, &given, error));
    const liana__cpu_run run = start(executable, worker_index, worker_index, &given, error);
    LIANA_TRY(liana__cpu_refresh_kept(&run, variables));
    for (size_t i = 0; i < executable->num_segments; i++) {
        const liana__cpu_segment *segment = &executable->segments[i];
        for (size_t slice = 0; slice < segment->num_slices && !segment->kept; slice++) {
            LIANA_TRY(liana__cpu_run_slice(&run, segment, slice));
        }
    }
    copy_results(&run, &given);
    return LIANA_OK;
}

/* ---- all workers in one execution ---- */

/* Fewer slices are done before the others are awake. */
enum { LEAST_SLICES = 8 };

typedef struct team {
    liana__cpu_run *runs; /* by worker */
    const liana__cpu_segment *segment;
} team;

static void run_slice_task(void *user, size_t slice, int worker)
{
    const team *own = user;
    const liana__cpu_run *run = &own->runs[worker];
    if (run->error->status != LIANA_OK) return;
    liana_status status = liana__cpu_run_slice(run, own->segment, slice);
    if (status != LIANA_OK && run->error->status == LIANA_OK) liana__fail(run->error, status, "a slice failed");
}

static liana_status run_together(team *own, int num_workers, liana__error *error)
{
    const liana__cpu_segment *segment = own->segment;
    if (!segment->independent || segment->num_slices < LEAST_SLICES || num_workers == 1) {
        for (size_t slice = 0; slice < segment->num_slices; slice++) run_slice_task(own, slice, 0);
    } else {
        liana__pool_run(own->runs[0].executable->base.device->context->pool, segment->num_slices, run_slice_task, own);
    }
    for (int i = 0; i < num_workers; i++) {
        if (own->runs[i].error->status == LIANA_OK) continue;
        if (error) *error = *own->runs[i].error;
        return own->runs[i].error->status;
    }
    return LIANA_OK;
}

liana_status liana__cpu_execute_together(liana__executable *base, liana__buffer *const *inputs,
                                         liana__buffer *const *variables, liana__buffer *const *outputs,
                                         liana__error *error)
{
    liana__cpu_executable *executable = (liana__cpu_executable *)base;
    const buffers given = {inputs, variables, outputs};
    LIANA_TRY(check_buffers(executable->graph, &given, error));
    int num_workers = base->device->num_workers;
    team own = {.runs = executable->runs};
    for (int i = 0; i < num_workers; i++) {
        executable->errors[i].status = LIANA_OK;
        own.runs[i] = start(executable, i, 0, &given, &executable->errors[i]);
    }
    LIANA_TRY(liana__cpu_refresh_kept(&own.runs[0], variables));
    for (size_t i = 0; i < executable->num_segments; i++) {
        own.segment = &executable->segments[i];
        if (!own.segment->kept) LIANA_TRY(run_together(&own, num_workers, error));
    }
    copy_results(&own.runs[0], &given);
    return LIANA_OK;
}
