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

/* Points a worker's table at everything that does not change between executions, unless it does so already. */
static void fill_fixed_values(const liana__cpu_executable *executable, liana__cpu_worker *worker, char *workspace)
{
    if (worker->filled && worker->workspace == workspace) return;
    worker->filled = true;
    worker->workspace = workspace;
    const liana_graph *graph = executable->graph;
    for (size_t id = 1; id < graph->num_nodes; id++) {
        liana__storage storage = executable->plan.storage[id];
        if (storage.kind == LIANA__STORAGE_WORKSPACE) worker->values[id] = workspace + storage.offset;
        if (storage.kind == LIANA__STORAGE_CONSTANT) {
            worker->values[id] = (void *)liana__constant_data(graph->nodes[storage.offset]);
        }
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

static liana_status run_step(const liana__cpu_executable *executable, liana__cpu_worker *worker,
                             const liana__cpu_step *step, void *scratch, liana__error *error)
{
    const liana__node *node = step->node;
    for (uint32_t i = 0; i < node->num_inputs; i++) worker->sources[i] = worker->values[node->inputs[i]->id];
    liana__call call = {.node = node,
                        .src = worker->sources,
                        .dst = worker->values[node->id],
                        .scratch = scratch,
                        .plan = step->prepared.plan};
    liana_status status = step->kernel->run(&call);
    if (status != LIANA_OK) {
        return liana__fail(error, status, "%s:%d: %s (kernel %s) failed", node->where.file, node->where.line,
                           node->op->name, step->kernel->name);
    }
    if (!executable->base.device->context->validate) return LIANA_OK;
    return liana__cpu_validate_step(step, worker->sources, call.dst, error);
}

static liana_status record_step(const liana__cpu_executable *executable, liana__cpu_worker *worker,
                                const liana__cpu_step *step, void *scratch, int worker_index, liana__error *error)
{
    liana__event event = {.kind = LIANA__EVENT_NODE, .subject = step->node, .how = step->kernel};
    event.begin = liana__clock();
    LIANA_TRY(run_step(executable, worker, step, scratch, error));
    liana__recorder_add(executable->base.device->recorder, (size_t)worker_index, event);
    return LIANA_OK;
}

liana_status liana__cpu_execute(liana__executable *base, int worker_index, liana__buffer *const *inputs,
                                liana__buffer *const *variables, liana__buffer *const *outputs, liana__error *error)
{
    liana__cpu_executable *executable = (liana__cpu_executable *)base;
    const liana_graph *graph = executable->graph;
    LIANA_TRY(liana__host_check_buffers("input", graph->inputs, graph->num_inputs, inputs, error));
    LIANA_TRY(liana__host_check_buffers("variable", graph->variables, graph->num_variables, variables, error));
    LIANA_TRY(check_outputs(graph, outputs, error));
    liana__cpu_worker *worker = &executable->workers[worker_index];
    char *workspace = ((liana__cpu_device *)base->device)->workspaces[worker_index];
    fill_fixed_values(executable, worker, workspace);
    buffers given = {inputs, variables, outputs};
    for (size_t i = 0; i < executable->num_externals; i++) {
        const liana__cpu_external *external = &executable->externals[i];
        worker->values[external->node] = external_data(&given, external->storage);
    }
    const bool recorded = base->device->recorder != NULL;
    void *scratch = workspace + executable->plan.workspace_size;
    for (size_t i = 0; i < executable->num_steps; i++) {
        const liana__cpu_step *step = &executable->steps[i];
        LIANA_TRY(recorded ? record_step(executable, worker, step, scratch, worker_index, error)
                           : run_step(executable, worker, step, scratch, error));
    }
    for (size_t i = 0; i < executable->plan.num_copies; i++) {
        const liana__plan_copy *copy = &executable->plan.copies[i];
        const liana__node *node = graph->nodes[copy->node];
        memmove(external_data(&given, copy->target), worker->values[copy->node],
                liana__byte_size(node->dtype, &node->shape));
    }
    return LIANA_OK;
}
