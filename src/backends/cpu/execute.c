/* Executions of a compiled graph: where its tensors lie, and when outputs are given. Nothing that runs allocates. */
#include "backends/cpu/cpu.h"
#include "backends/host.h"
#include "base/denormals.h"
#include "base/scoped.h"

static bool is_external(liana__storage_kind kind)
{
    return kind == LIANA__STORAGE_INPUT || kind == LIANA__STORAGE_VARIABLE || kind == LIANA__STORAGE_OUTPUT;
}

liana_status liana__cpu_external_values(liana__cpu_executable *executable, liana__error *error)
{
    size_t count = executable->graph->num_nodes;
    executable->externals = liana__arena_allocate(&executable->arena, count * sizeof *executable->externals);
    if (!executable->externals) return liana__fail_memory(error, "an executable");
    for (uint32_t id = 1; id < count; id++) {
        liana__storage storage = executable->plan.storage[id];
        if (is_external(storage.kind)) {
            executable->externals[executable->num_externals++] = (liana__cpu_external){id, storage};
        }
    }
    return LIANA_OK;
}

liana_status liana__cpu_list_deliveries(liana__cpu_executable *executable, liana__error *error)
{
    const liana__memory_plan *plan = &executable->plan;
    if (!plan->spares) return LIANA_OK;
    executable->deliveries =
        liana__arena_allocate(&executable->arena, (executable->base.num_outputs + 1) * sizeof *executable->deliveries);
    if (!executable->deliveries) return liana__fail_memory(error, "an executable");
    for (size_t segment = 0; segment < executable->num_segments; segment++) {
        for (size_t k = executable->segments[segment].first_step; k < executable->segments[segment].end_step; k++) {
            uint32_t node = executable->steps[k].whole->id;
            if (plan->storage[node].kind != LIANA__STORAGE_OUTPUT) continue;
            executable->deliveries[executable->num_deliveries++] =
                (liana__cpu_delivery){node, plan->storage[node].offset, segment, plan->spares[node]};
        }
    }
    return LIANA_OK;
}

/* By node: the segment that computes it, or num_segments. */
static size_t *find_segments(const liana__cpu_executable *executable)
{
    const size_t count = executable->graph->num_nodes;
    size_t *segments = calloc(count, sizeof *segments);
    for (size_t id = 0; segments && id < count; id++) segments[id] = executable->num_segments;
    for (size_t i = 0; segments && i < executable->num_segments; i++) {
        for (size_t k = executable->segments[i].first_step; k < executable->segments[i].end_step; k++) {
            segments[executable->steps[k].whole->id] = i;
        }
    }
    return segments;
}

static int compare_early_copies(const void *a, const void *b)
{
    const liana__cpu_early_copy *x = a, *y = b;
    if (x->segment != y->segment) return x->segment < y->segment ? -1 : 1;
    return x->copy < y->copy ? -1 : x->copy > y->copy;
}

/* Variables keep their old values until the end. */
liana_status liana__cpu_list_early_copies(liana__cpu_executable *executable, liana__error *error)
{
    const liana__memory_plan *plan = &executable->plan;
    if (!plan->spares) return LIANA_OK;
    LIANA__SCOPED_MEMORY size_t *segments = find_segments(executable);
    const size_t most = plan->num_copies + 1;
    executable->early_copies = liana__arena_allocate(&executable->arena, most * sizeof *executable->early_copies);
    executable->is_early = liana__arena_allocate(&executable->arena, most * sizeof *executable->is_early);
    if (!segments || executable->arena.failed) return liana__fail_memory(error, "an executable");
    for (size_t i = 0; i < plan->num_copies; i++) {
        const liana__node *source = liana__cpu_find_source(executable->graph->nodes[plan->copies[i].node]);
        const size_t segment = segments[source->id];
        if (plan->copies[i].target.kind != LIANA__STORAGE_OUTPUT || segment == executable->num_segments) continue;
        executable->is_early[i] = true;
        executable->early_copies[executable->num_early_copies++] = (liana__cpu_early_copy){i, segment};
    }
    qsort(executable->early_copies, executable->num_early_copies, sizeof *executable->early_copies,
          compare_early_copies);
    return LIANA_OK;
}

/* Points a worker's table at everything that does not change between executions, unless it does so already. Where
 * several workers share an execution, only tensors of one slice at a time are in their own workspaces. */
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

liana_status liana__cpu_check_buffers(const liana_graph *graph, const liana__cpu_buffers *given, liana__error *error)
{
    const liana__execution execution = {.inputs = given->inputs,
                                        .variables = (liana__buffer **)given->variables,
                                        .outputs = (liana__buffer **)given->outputs};
    return liana__check_execution(graph, &execution, true, error);
}

liana__cpu_run liana__cpu_start(liana__cpu_executable *executable, int worker_index, int shared,
                                const liana__cpu_buffers *given, liana__error *error)
{
    char *const *workspaces = ((liana__cpu_device *)executable->base.device)->workspaces;
    liana__cpu_worker *worker = &executable->workers[worker_index];
    worker->has_non_finite = false;
    fill_fixed_values(executable, worker, workspaces[worker_index], workspaces[shared]);
    for (size_t i = 0; i < executable->num_externals; i++) {
        const liana__cpu_external *external = &executable->externals[i];
        worker->values[external->node] = external_data(given, external->storage);
    }
    return (liana__cpu_run){.executable = executable,
                            .worker = worker,
                            .worker_index = worker_index,
                            .watches = given->all_finite != NULL,
                            .scratch = worker->workspace + executable->plan.workspace_size,
                            .error = error};
}

/* Outputs are told of, or added to, before the execution ends. */
static bool gives_early(const liana__cpu_buffers *given)
{
    return given->arrivals || given->watch;
}

static void tell(const liana__cpu_buffers *given, size_t output)
{
    if (given->watch) given->watch->given(given->watch->user, output);
}

/* An output of two: nothing but the first one's may be there. */
static void note_first(liana__buffer *output, atomic_int *arrival)
{
    liana__host_touch(output);
    if (arrival) liana__host_was_there(arrival);
}

/* An event within a shard's. */
static void add_second(const liana__cpu_run *run, liana__buffer *output, const void *value, atomic_int *arrival)
{
    liana__recorder *recorder = run->executable->base.device->recorder;
    liana__event event = {.kind = LIANA__EVENT_ADD};
    if (recorder) event.begin = liana__clock();
    liana__host_add_second(output, value, arrival);
    if (recorder) liana__recorder_add(recorder, (size_t)run->worker_index, event);
}

static void give_copy(const liana__cpu_run *run, const liana__cpu_buffers *given, const liana__plan_copy *copy)
{
    const liana__node *node = run->executable->graph->nodes[copy->node];
    const void *value = run->worker->values[copy->node];
    const bool is_output = copy->target.kind == LIANA__STORAGE_OUTPUT, shared = given->arrivals && is_output;
    atomic_int *arrival = shared ? &given->arrivals[copy->target.offset] : NULL;
    if (shared && !liana__host_is_first(arrival)) {
        add_second(run, given->outputs[copy->target.offset], value, arrival);
    } else {
        memmove(external_data(given, copy->target), value, liana__byte_size(node->dtype, &node->shape));
        if (is_output && gives_early(given)) note_first(given->outputs[copy->target.offset], arrival);
    }
    if (is_output) tell(given, copy->target.offset);
}

void liana__cpu_finish(const liana__cpu_run *run, const liana__cpu_buffers *given)
{
    const liana__cpu_executable *executable = run->executable;
    for (size_t i = 0; i < executable->plan.num_copies; i++) {
        if (gives_early(given) && executable->is_early[i]) continue;
        give_copy(run, given, &executable->plan.copies[i]);
    }
    for (size_t i = 0; !gives_early(given) && i < executable->graph->num_outputs; i++) {
        liana__host_touch(given->outputs[i]);
    }
    for (size_t i = 0; i < executable->graph->num_assignments; i++) {
        const liana__node *variable = executable->graph->assignments[i].variable;
        const liana__storage at = executable->plan.storage[variable->id];
        /* A variable that is only assigned to has no place of its own in the plan. */
        const bool is_read = at.kind == LIANA__STORAGE_VARIABLE;
        liana__host_touch(given->variables[is_read ? at.offset : liana__graph_place(executable->graph, variable)]);
    }
}

/* The first of two executions computes an output where it belongs, the second in its workspace. */
static void choose_place(const liana__cpu_run *run, const liana__cpu_delivery *delivery,
                         const liana__cpu_buffers *given)
{
    liana__cpu_worker *worker = run->worker;
    bool is_first = !given->arrivals || liana__host_is_first(&given->arrivals[delivery->output]);
    worker->is_first[delivery->output] = is_first;
    if (!is_first) worker->values[delivery->node] = worker->workspace + delivery->spare;
}

/* Results that the other execution may wait for are told before this one waits for anything. */
static void deliver(const liana__cpu_run *run, size_t first, size_t end, const liana__cpu_buffers *given,
                    liana_status status)
{
    const liana__cpu_delivery *deliveries = run->executable->deliveries;
    const bool *is_first = run->worker->is_first;
    for (size_t i = first; i < end; i++) {
        size_t output = deliveries[i].output;
        if (is_first[output]) note_first(given->outputs[output], given->arrivals ? &given->arrivals[output] : NULL);
    }
    for (size_t i = first; status == LIANA_OK && i < end; i++) {
        size_t output = deliveries[i].output;
        const void *value = run->worker->values[deliveries[i].node];
        if (!is_first[output]) add_second(run, given->outputs[output], value, &given->arrivals[output]);
        tell(given, output);
    }
}

static liana_status run_all(const liana__cpu_run *run)
{
    const liana__cpu_executable *executable = run->executable;
    for (size_t i = 0; i < executable->num_segments; i++) {
        LIANA_TRY(liana__cpu_run_segment(run, &executable->segments[i]));
    }
    return LIANA_OK;
}

/* All segments, with outputs that are given as soon as they are made. */
static liana_status run_and_give(const liana__cpu_run *run, const liana__cpu_buffers *given)
{
    const liana__cpu_executable *executable = run->executable;
    const liana__cpu_early_copy *copies = executable->early_copies, *end_copies = copies + executable->num_early_copies;
    size_t next = 0;
    for (size_t i = 0; i < executable->num_segments; i++) {
        const size_t first = next;
        for (; next < executable->num_deliveries && executable->deliveries[next].segment == i; next++) {
            choose_place(run, &executable->deliveries[next], given);
        }
        liana_status status = liana__cpu_run_segment(run, &executable->segments[i]);
        deliver(run, first, next, given, status);
        LIANA_TRY(status);
        for (; copies < end_copies && copies->segment == i; copies++) {
            give_copy(run, given, &executable->plan.copies[copies->copy]);
        }
    }
    return LIANA_OK;
}

liana_status liana__cpu_execute(liana__executable *base, int worker_index, liana__buffer *const *inputs,
                                liana__buffer *const *variables, liana__buffer *const *outputs, liana__error *error)
{
    const liana__cpu_buffers given = {.inputs = inputs, .variables = variables, .outputs = outputs};
    return liana__cpu_execute_and_add(base, worker_index, &given, error);
}

static liana_status execute(liana__cpu_executable *executable, int worker_index, const liana__cpu_buffers *given,
                            liana__error *error)
{
    if (gives_early(given) && !executable->plan.spares) {
        return liana__fail(error, LIANA_INTERNAL, "a graph without gradients cannot add to its outputs");
    }
    LIANA_TRY(liana__cpu_check_buffers(executable->graph, given, error));
    const liana__cpu_run run = liana__cpu_start(executable, worker_index, worker_index, given, error);
    LIANA_TRY(liana__cpu_refresh_kept(&run, given->variables));
    if (gives_early(given)) {
        LIANA_TRY(run_and_give(&run, given));
    } else {
        LIANA_TRY(run_all(&run));
    }
    liana__cpu_finish(&run, given);
    if (given->all_finite) *given->all_finite = liana__cpu_watches(executable) && !run.worker->has_non_finite;
    return LIANA_OK;
}

liana_status liana__cpu_execute_and_add(liana__executable *base, int worker_index, const liana__cpu_buffers *given,
                                        liana__error *error)
{
    const liana__denormals before = liana__denormals_flush();
    liana_status status = execute((liana__cpu_executable *)base, worker_index, given, error);
    liana__denormals_restore(before);
    return status;
}
