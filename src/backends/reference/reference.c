/* The reference device: each node's plain loop, in order, each with memory of its own. Slow and simple on purpose: it
 * shares neither the kernels nor the memory plan with the devices that are checked against it. It keeps denormal
 * numbers, whatever the setting of the caller's thread.
 *
 * It behaves like an accelerator, so that the device contract is tested where there is none: an upload copies as late
 * as it may, results always come in new buffers, a donated buffer loses its contents, and shards have one static size.
 */
#include "backends/reference/reference_buffer.h"

#include "backends/make_executable.h"
#include "backends/shard_loop.h"
#include "kernels/kernel_choice.h"

#include "base/denormals.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "passes/pass.h"

#include <stdlib.h>

typedef struct reference_executable {
    liana__executable base;
    const liana_graph *graph;
    liana_graph *rewritten; /* the graph rewritten by passes that it asked for, or NULL */
    bool *needed;
    void **values; /* by node id; those of inputs and variables are borrowed for the time of an execution */
} reference_executable;

static liana_status open_reference(liana_context *context, const liana__device_request *request, liana__device **out,
                                   liana__error *error)
{
    (void)request;
    liana__reference_device *device = calloc(1, sizeof *device);
    if (!device) return liana__fail_memory(error, "the reference device");
    device->base = (liana__device){.backend = &liana__backend_reference, .context = context, .num_tracks = 1};
    *out = &device->base;
    return LIANA_OK;
}

static void close_reference(liana__device *base)
{
    liana__reference_device *device = (liana__reference_device *)base;
    liana__reference_forget_donated(device);
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

static liana_status build_executable(liana__executable *base, const liana_graph *given, liana__error *error)
{
    reference_executable *executable = (reference_executable *)base;
    executable->graph = given;
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
    return liana__make_executable(device, graph, sizeof(reference_executable), build_executable, out, error);
}

static liana_status run_node(reference_executable *executable, const liana__node *node, liana__error *error)
{
    LIANA__SCOPED_MEMORY const void **src = malloc((node->num_inputs + 1) * sizeof *src);
    if (!src) return liana__fail_memory(error, node->op->name);
    for (uint32_t i = 0; i < node->num_inputs; i++) src[i] = executable->values[node->inputs[i]->id];
    return liana__kernel_run_once(liana__reference_kernel(node), node, src, executable->values[node->id], error);
}

/* Makes buffers for all results, before anything is donated: a failure changes nothing. `made` [outputs, then
 * assignments]. */
static liana_status make_results(reference_executable *executable, liana__buffer **made, liana__error *error)
{
    const liana_graph *graph = executable->graph;
    for (size_t i = 0; i < liana__graph_num_results(graph); i++) {
        const liana__node *node = liana__graph_result(graph, i);
        LIANA_TRY(liana__reference_buffer_make(executable->base.device, node->dtype, &node->shape,
                                               executable->values[node->id], &made[i], error));
    }
    return LIANA_OK;
}

/* Puts the results where the caller finds them. A buffer that was there is donated. */
static void give_results(const reference_executable *executable, liana__execution *execution,
                         liana__buffer *const *made)
{
    const liana_graph *graph = executable->graph;
    for (size_t i = 0; i < graph->num_outputs; i++) {
        liana__reference_donate(execution->outputs[i], execution->name);
        execution->outputs[i] = made[i];
    }
    for (size_t i = 0; i < graph->num_assignments; i++) {
        liana__buffer **variable = &execution->variables[liana__graph_place(graph, graph->assignments[i].variable)];
        liana__reference_donate(*variable, execution->name);
        *variable = made[graph->num_outputs + i];
    }
}

static liana_status run_nodes(reference_executable *executable, const liana__execution *execution, liana__error *error)
{
    const liana_graph *graph = executable->graph;
    for (size_t i = 0; i < graph->num_inputs; i++) {
        executable->values[graph->inputs[i]->id] = liana__reference_data(execution->inputs[i]);
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        executable->values[graph->variables[i]->id] = liana__reference_data(execution->variables[i]);
    }
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        if (executable->needed[id] && node->op->kernels) LIANA_TRY(run_node(executable, node, error));
    }
    return LIANA_OK;
}

static liana_status execute(liana__executable *base, liana__execution *execution, liana__error *error)
{
    reference_executable *executable = (reference_executable *)base;
    const liana_graph *graph = executable->graph;
    LIANA_TRY(liana__check_execution(graph, execution, false, error));
    size_t count = liana__graph_num_results(graph);
    LIANA__SCOPED_MEMORY liana__buffer **made = calloc(count + 1, sizeof *made);
    if (!made) return liana__fail_memory(error, "the results");
    const liana__denormals before = liana__denormals_keep();
    liana_status status = run_nodes(executable, execution, error);
    liana__denormals_restore(before);
    if (status == LIANA_OK) status = make_results(executable, made, error);
    if (status == LIANA_OK) {
        give_results(executable, execution, made);
    } else {
        for (size_t i = 0; i < count; i++) liana__reference_buffer_destroy(made[i]);
    }
    return status;
}

const liana__backend liana__backend_reference = {
    .name = "reference",
    .doc = "Plain loops on the CPU: slow, exact in f64; what every other device is checked against.",
    .static_leaves = true,
    .open = open_reference,
    .close = close_reference,
    .upload = liana__reference_upload,
    .wait = liana__reference_wait,
    .download = liana__reference_download,
    .buffer_destroy = liana__reference_buffer_destroy,
    .compile = compile,
    .executable_destroy = destroy_executable,
    .execute = execute,
    .replicas = &liana__shard_loop,
};
