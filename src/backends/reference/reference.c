/* The reference backend: each node's plain loop, in order, each with memory of its own. Slow and simple on purpose: it
 * shares neither the kernels nor the memory plan with the backends that are checked against it. It keeps denormal
 * numbers, whatever the caller's thread does. */
#include "backends/host.h"
#include "backends/kernel_choice.h"

#include "base/denormals.h"
#include "base/memory.h"
#include "passes/pass.h"

#include <stdlib.h>

typedef struct reference_executable {
    liana__executable base;
    const liana_graph *graph;
    liana_graph *rewritten; /* what the graph asked for, or NULL */
    bool *needed;
    void **values; /* by node id; those of inputs and variables are borrowed for the time of an execution */
} reference_executable;

static liana_status open_reference(liana_context *context, liana__device **out, liana__error *error)
{
    liana__device *device = calloc(1, sizeof *device);
    if (!device) return liana__fail_memory(error, "the reference device");
    *device = (liana__device){.backend = &liana__backend_reference, .context = context, .num_workers = 1};
    *out = device;
    return LIANA_OK;
}

static void close_reference(liana__device *device)
{
    free(device);
}

static bool borrowed(const liana__node *node)
{
    return liana__is_input(node) || liana__is_variable(node);
}

static void destroy_executable(liana__executable *base)
{
    reference_executable *executable = (reference_executable *)base;
    if (!executable) return;
    for (size_t id = 1; executable->values && id < executable->graph->num_nodes; id++) {
        if (!borrowed(executable->graph->nodes[id])) free(executable->values[id]);
    }
    free(executable->values);
    free(executable->needed);
    liana_graph_destroy(executable->rewritten);
    free(executable);
}

static liana_status prepare_nodes(reference_executable *executable, liana__error *error)
{
    const liana_graph *graph = executable->graph;
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        if (!executable->needed[id] || borrowed(node)) continue;
        size_t size = liana__byte_size(node->dtype, &node->shape);
        executable->values[id] = liana__allocate_aligned(size);
        executable->base.workspace_size += size;
        if (!executable->values[id]) return liana__fail_memory(error, "the tensors of the reference backend");
        if (liana__is_constant(node)) memcpy(executable->values[id], liana__constant_data(node), size);
    }
    return LIANA_OK;
}

static liana_status build_executable(reference_executable *executable, liana__error *error)
{
    LIANA_TRY(liana__passes_run_asked_for(executable->graph, &executable->rewritten, error));
    if (executable->rewritten) executable->graph = executable->rewritten;
    const liana_graph *graph = executable->graph;
    LIANA_TRY(liana__graph_verify(graph, error));
    executable->needed = calloc(graph->num_nodes, sizeof *executable->needed);
    executable->values = calloc(graph->num_nodes, sizeof *executable->values);
    if (!executable->needed || !executable->values) return liana__fail_memory(error, "an executable");
    liana__graph_mark_needed(graph, executable->needed);
    return prepare_nodes(executable, error);
}

static liana_status compile(liana__device *device, const liana_graph *graph, liana__executable **out,
                            liana__error *error)
{
    *out = NULL;
    reference_executable *executable = calloc(1, sizeof *executable);
    if (!executable) return liana__fail_memory(error, "an executable");
    executable->base = (liana__executable){.device = device,
                                           .num_inputs = graph->num_inputs,
                                           .num_variables = graph->num_variables,
                                           .num_outputs = graph->num_outputs};
    executable->graph = graph;
    liana_status status = build_executable(executable, error);
    if (status != LIANA_OK) {
        destroy_executable(&executable->base);
        return status;
    }
    *out = &executable->base;
    return LIANA_OK;
}

static liana_status run_node(reference_executable *executable, const liana__node *node, liana__error *error)
{
    const liana__kernel *kernel = liana__reference_kernel(node);
    const void **src = malloc((node->num_inputs + 1) * sizeof *src);
    liana__prepared prepared = {0};
    liana_status status = src ? LIANA_OK : liana__fail_memory(error, node->op->name);
    if (status == LIANA_OK && kernel->prepare) status = kernel->prepare(node, &prepared, error);
    void *scratch = prepared.scratch_size ? liana__allocate_aligned(prepared.scratch_size) : NULL;
    if (status == LIANA_OK && prepared.scratch_size && !scratch) status = liana__fail_memory(error, node->op->name);
    if (status == LIANA_OK) {
        for (uint32_t i = 0; i < node->num_inputs; i++) src[i] = executable->values[node->inputs[i]->id];
        status = kernel->run(&(liana__call){
            .node = node, .src = src, .dst = executable->values[node->id], .scratch = scratch, .plan = prepared.plan});
    }
    if (kernel->release && prepared.plan) kernel->release(prepared.plan);
    free(scratch);
    free(src);
    return status;
}

static void give_output(liana__buffer *output, const void *value, atomic_int *arrival)
{
    if (arrival && !liana__host_is_first(arrival)) {
        liana__host_add_second(output, value, arrival);
        return;
    }
    memcpy(liana__host_data(output), value, output->size);
    liana__host_touch(output);
    if (arrival) liana__host_was_there(arrival);
}

static liana_status run_graph(reference_executable *executable, liana__buffer *const *inputs,
                              liana__buffer *const *variables, liana__buffer *const *outputs, atomic_int *arrivals,
                              liana__error *error)
{
    const liana_graph *graph = executable->graph;
    LIANA_TRY(liana__host_check_buffers("input", graph->inputs, graph->num_inputs, inputs, error));
    LIANA_TRY(liana__host_check_buffers("variable", graph->variables, graph->num_variables, variables, error));
    for (size_t i = 0; i < graph->num_inputs; i++) {
        executable->values[graph->inputs[i]->id] = liana__host_data(inputs[i]);
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        executable->values[graph->variables[i]->id] = liana__host_data(variables[i]);
    }
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        if (executable->needed[id] && node->op->kernels) LIANA_TRY(run_node(executable, node, error));
    }
    for (size_t i = 0; i < graph->num_outputs; i++) {
        give_output(outputs[i], executable->values[graph->outputs[i].node->id], arrivals ? &arrivals[i] : NULL);
    }
    for (size_t i = 0; i < graph->num_assignments; i++) {
        const liana__assignment *assignment = &graph->assignments[i];
        memmove(executable->values[assignment->variable->id], executable->values[assignment->value->id],
                liana__byte_size(assignment->value->dtype, &assignment->value->shape));
    }
    for (size_t i = 0; i < graph->num_variables; i++) liana__host_touch(variables[i]);
    return LIANA_OK;
}

static liana_status execute_and_add(liana__executable *base, int worker, liana__buffer *const *inputs,
                                    liana__buffer *const *variables, liana__buffer *const *outputs,
                                    atomic_int *arrivals, liana__error *error)
{
    (void)worker;
    const liana__denormals before = liana__denormals_keep();
    liana_status status = run_graph((reference_executable *)base, inputs, variables, outputs, arrivals, error);
    liana__denormals_restore(before);
    return status;
}

static liana_status add_buffers(liana__buffer *dst, const liana__buffer *src, liana__error *error)
{
    const liana__denormals before = liana__denormals_keep();
    liana_status status = liana__host_buffer_add(dst, src, error);
    liana__denormals_restore(before);
    return status;
}

static liana_status execute(liana__executable *executable, int worker, liana__buffer *const *inputs,
                            liana__buffer *const *variables, liana__buffer *const *outputs, liana__error *error)
{
    return execute_and_add(executable, worker, inputs, variables, outputs, NULL, error);
}

static liana_status make_ready_together(liana__executable *executable, liana__error *error)
{
    (void)executable;
    (void)error;
    return LIANA_OK;
}

static liana_status execute_together(liana__executable *executable, liana__buffer *const *inputs,
                                     liana__buffer *const *variables, liana__buffer *const *outputs,
                                     liana__error *error)
{
    return execute(executable, 0, inputs, variables, outputs, error);
}

const liana__backend liana__backend_reference = {
    .name = "reference",
    .doc = "Plain loops on the CPU: slow, exact in f64; what every other device is checked against.",
    .open = open_reference,
    .close = close_reference,
    .buffer_create = liana__host_buffer_create,
    .buffer_destroy = liana__host_buffer_destroy,
    .buffer_write = liana__host_buffer_write,
    .buffer_read = liana__host_buffer_read,
    .buffer_add = add_buffers,
    .compile = compile,
    .executable_destroy = destroy_executable,
    .execute = execute,
    .execute_and_add = execute_and_add,
    .make_ready_together = make_ready_together,
    .execute_together = execute_together,
};
