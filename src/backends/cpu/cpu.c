/* The CPU backend: kernels and memory are chosen when a graph is compiled; an execution runs them in order on one
 * thread and allocates nothing. Parallelism comes from several executions at a time, one shard on each core; where
 * there are too few, from a team of workers in one execution. */
#include "backends/cpu/cpu.h"

#include "backends/host.h"
#include "backends/make_executable.h"
#include "base/denormals.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "passes/pass.h"
#include "plan/recompute.h"

#include <stdlib.h>

/* Smallest workspace for which cheap recomputation is tried, in bytes. */
static const size_t LEAST_LIGHT_WORKSPACE = (size_t)64 << 20;

static void close_cpu(liana__device *base)
{
    liana__cpu_device *device = (liana__cpu_device *)base;
    liana__pool_destroy(device->own_pool);
    for (int i = 0; device->workspaces && i < device->num_workers; i++) free(device->workspaces[i]);
    free(device->workspaces);
    pthread_mutex_destroy(&device->mutex);
    pthread_cond_destroy(&device->progress);
    free(device);
}

static liana_status open_cpu(liana_context *context, const liana__device_request *request, liana__device **out,
                             liana__error *error)
{
    const int num_threads = request->num_threads;
    liana__cpu_device *device = calloc(1, sizeof *device);
    if (!device) return liana__fail_memory(error, "the CPU device");
    device->pool = context->pool;
    device->num_workers = num_threads ? num_threads : liana_context_num_threads(context);
    device->base =
        (liana__device){.backend = &liana__backend_cpu, .context = context, .num_tracks = (size_t)device->num_workers};
    pthread_mutex_init(&device->mutex, NULL);
    pthread_cond_init(&device->progress, NULL);
    device->workspaces = calloc((size_t)device->num_workers, sizeof *device->workspaces);
    liana_status status = device->workspaces ? LIANA_OK : liana__fail_memory(error, "the CPU device");
    if (status == LIANA_OK && num_threads) {
        status = liana__pool_create(num_threads, &device->own_pool, error);
        device->pool = device->own_pool;
    }
    if (status != LIANA_OK) {
        close_cpu(&device->base);
        return status;
    }
    *out = &device->base;
    return LIANA_OK;
}

/* Frees the steps and all lists. */
static void free_steps(liana__cpu_executable *executable)
{
    atomic_fetch_sub(&executable->base.device->bytes_held, executable->kept.size);
    liana__cpu_kept_free(&executable->kept);
    liana__cpu_free_steps(executable);
    liana__memory_plan_free(&executable->plan);
}

static void destroy_executable(liana__executable *base)
{
    liana__cpu_executable *executable = (liana__cpu_executable *)base;
    if (!executable) return;
    free_steps(executable);
    liana__execution_order_free(&executable->schedule);
    liana_graph_destroy(executable->optimized);
    free(executable);
}

static liana_status make_workers(liana__cpu_executable *executable, liana__error *error)
{
    const size_t count = (size_t)liana__cpu_num_workers(executable->base.device);
    liana__arena *arena = &executable->arena;
    executable->workers = liana__arena_allocate(arena, count * sizeof *executable->workers);
    executable->runs = liana__arena_allocate(arena, count * sizeof *executable->runs);
    executable->errors = liana__arena_allocate(arena, count * sizeof *executable->errors);
    for (size_t i = 0; !arena->failed && i < count; i++) {
        liana__cpu_worker *worker = &executable->workers[i];
        worker->values = liana__arena_allocate(arena, executable->graph->num_nodes * sizeof *worker->values);
        worker->sources = liana__arena_allocate(arena, (executable->max_inputs + 1) * sizeof *worker->sources);
        worker->is_first = liana__arena_allocate(arena, (executable->base.num_outputs + 1) * sizeof(bool));
    }
    if (arena->failed) return liana__fail_memory(error, "an executable");
    return liana__cpu_grow_scratch(executable, error);
}

/* One line for each segment that runs slice by slice. */
static void log_segments(const liana__cpu_executable *executable)
{
    liana_context *context = executable->base.device->context;
    for (size_t i = 0; liana__log_wants(context, LIANA__LOG_EXEC) && i < executable->num_segments; i++) {
        const liana__cpu_segment *segment = &executable->segments[i];
        if (segment->num_slices == 1) continue;
        LIANA__SCOPED(liana__text) names = {0};
        for (size_t k = segment->first_step; k < segment->end_step; k++) {
            const liana__cpu_step *step = &executable->steps[k];
            liana__text_add(&names, " %s%s%s", step->node->op->name, liana__shape_print(&step->node->shape).text,
                            step->is_given ? " (given)" : "");
        }
        liana__log(context, LIANA__LOG_EXEC, "%zu slices of%s", segment->num_slices, names.data ? names.data : "");
    }
}

static liana_status make_steps(liana__cpu_executable *executable, liana__error *error)
{
    bool share = !executable->base.device->context->validate;
    LIANA_TRY(liana__cpu_kept_create(executable, error));
    LIANA_TRY(liana__memory_plan_make(executable->graph, &executable->schedule, share, executable->kept.nodes,
                                      &executable->plan, error));
    LIANA_TRY(liana__cpu_choose_watched(executable, error));
    LIANA_TRY(liana__cpu_make_steps(executable, error));
    liana_status status = liana__cpu_keep_weights(executable, error);
    liana__cpu_plan_packing(executable);
    atomic_fetch_add(&executable->base.device->bytes_held, executable->kept.size);
    return status;
}

/* The limit of a worker's tensors under the device's limit; SIZE_MAX: there is none. */
static size_t workspace_limit(const liana__cpu_executable *executable)
{
    const liana__device *device = executable->base.device;
    bool is_limited = device->memory_limit && executable->graph->first_gradient && !device->context->validate;
    if (!is_limited) return SIZE_MAX;
    size_t held = atomic_load(&device->bytes_held),
           left = device->memory_limit > held ? device->memory_limit - held : 0;
    size_t each = left / (size_t)liana__cpu_num_workers(device), own = liana__cpu_private_size(executable);
    return each > own ? each - own : 0;
}

static liana_status fail_limit(const liana__cpu_executable *executable, size_t least, size_t without,
                               liana__error *error)
{
    const liana__device *device = executable->base.device;
    int count = liana__cpu_num_workers(device);
    size_t held = atomic_load(&device->bytes_held), scratch = liana__cpu_private_size(executable);
    return liana__fail(error, LIANA_OUT_OF_MEMORY,
                       "training needs at least %zu MiB, but may take %zu MiB: %zu MiB for weights, the optimizer and "
                       "gradients, and %zu MiB for each of %d threads (%zu MiB without a limit); use a "
                       "smaller train.microbatch, fewer threads (LIANA_THREADS), or raise train.memory",
                       (held + (size_t)count * (least + scratch) + (1 << 20) - 1) >> 20, device->memory_limit >> 20,
                       held >> 20, (least + scratch) >> 20, count, (without + scratch) >> 20);
}

static double count_flops(const liana__cpu_executable *executable)
{
    double flops = 0;
    for (size_t id = 1; id < executable->graph->num_nodes; id++) {
        if (executable->plan.computed[id]) flops += liana__node_cost(executable->graph->nodes[id]).flops;
    }
    return flops;
}

/* Without a memory limit, small tensors are kept: recomputing them would save little. */
static bool may_recompute_light(const liana__cpu_executable *executable)
{
    const liana_context *context = executable->base.device->context;
    return executable->graph->first_gradient && executable->plan.workspace_size >= LEAST_LIGHT_WORKSPACE &&
           !context->validate && liana__pass_is_on(context, &liana__pass_recompute_light);
}

/* Recomputes as the device's limit asks for, and finds the cost. `without` is the workspace without it. */
static liana_status recompute_for_limit(liana__cpu_executable *executable, size_t limit, size_t without,
                                        liana__recomputation *made, liana__error *error)
{
    LIANA_TRY(liana__recompute(executable->graph, &executable->schedule, executable->kept.nodes, limit, made, error));
    if (made->workspace_size > limit) {
        liana_status status = fail_limit(executable, made->workspace_size, without, error);
        liana__recomputation_free(made);
        return status;
    }
    executable->base.recomputed.num_segments = made->num_segments;
    executable->base.recomputed.workspace_before = without + liana__cpu_private_size(executable);
    executable->base.recomputed.flops = made->flops;
    executable->base.recomputed.flops_before = count_flops(executable);
    return LIANA_OK;
}

/* Computes parts of the forward pass a second time: those that cost next to nothing, or those that the device's limit
 * asks for. */
static liana_status fit_memory(liana__cpu_executable *executable, liana__error *error)
{
    liana__recomputation made = {.workspace_size = executable->plan.workspace_size};
    if (may_recompute_light(executable)) {
        LIANA_TRY(
            liana__recompute_light(executable->graph, &executable->schedule, executable->kept.nodes, &made, error));
    }
    size_t limit = workspace_limit(executable), without = made.workspace_size;
    if (without > limit) {
        liana__recomputation_free(&made);
        LIANA_TRY(recompute_for_limit(executable, limit, without, &made, error));
    }
    if (!made.graph) return LIANA_OK;
    free_steps(executable);
    liana__execution_order_free(&executable->schedule);
    liana_graph_destroy(executable->optimized);
    executable->graph = executable->optimized = made.graph;
    executable->schedule = made.schedule;
    free(made.elsewhere);
    LIANA_TRY(liana__graph_verify(executable->graph, error));
    return make_steps(executable, error);
}

static liana_status build_executable(liana__executable *base, const liana_graph *given, liana__error *error)
{
    liana__cpu_executable *executable = (liana__cpu_executable *)base;
    executable->graph = given;
    liana_context *context = executable->base.device->context;
    LIANA_TRY(liana__passes_run(executable->graph, &executable->optimized, error));
    if (executable->optimized) executable->graph = executable->optimized;
    LIANA_TRY(liana__graph_verify(executable->graph, error));
    size_t slice_bytes = liana__pass_is_on(context, &liana__pass_slice_batch) ? context->slice_bytes : 0;
    LIANA_TRY(liana__execution_order_make(executable->graph, slice_bytes, &executable->schedule, error));
    LIANA_TRY(make_steps(executable, error));
    LIANA_TRY(fit_memory(executable, error));
    LIANA_TRY(liana__cpu_external_values(executable, error));
    LIANA_TRY(liana__cpu_list_deliveries(executable, error));
    LIANA_TRY(liana__cpu_list_early_copies(executable, error));
    LIANA_TRY(make_workers(executable, error));
    log_segments(executable);
    liana__log(context, LIANA__LOG_MEMORY,
               "%zu nodes: workspace %zu KiB (%zu KiB unshared), scratch %zu KiB; "
               "packed for slices %zu KiB, kept of weights %zu KiB",
               executable->num_steps, executable->plan.workspace_size >> 10, executable->plan.unshared_size >> 10,
               executable->scratch_size >> 10, executable->packed_size >> 10, executable->kept.size >> 10);
    return LIANA_OK;
}

static liana_status compile(liana__device *device, const liana_graph *graph, liana__executable **out,
                            liana__error *error)
{
    return liana__make_executable(device, graph, sizeof(liana__cpu_executable), build_executable, out, error);
}

/* Memory of the host is there at once: an upload is complete when it returns. */
static liana_status upload(liana__device *device, liana_dtype dtype, const liana_shape *shape, const void *data,
                           liana__buffer **buffer, liana__fence **fence, liana__error *error)
{
    if (fence) *fence = NULL;
    const liana__buffer *donated = *buffer;
    if (donated && (donated->dtype != dtype || !liana_shape_equal(&donated->shape, shape))) {
        liana__host_buffer_destroy(*buffer);
        *buffer = NULL;
    }
    if (!*buffer) LIANA_TRY(liana__host_buffer_create(device, dtype, shape, buffer, error));
    return liana__host_buffer_write(*buffer, data, error);
}

static liana_status wait(liana__fence *fence, liana__error *error)
{
    (void)fence;
    (void)error;
    return LIANA_OK;
}

static liana_status make_missing_outputs(const liana_graph *graph, liana__device *device, liana__buffer **outputs,
                                         liana__error *error)
{
    for (size_t i = 0; i < graph->num_outputs; i++) {
        const liana__node *node = graph->outputs[i].node;
        if (outputs[i]) continue;
        LIANA_TRY(liana__host_buffer_create(device, node->dtype, &node->shape, &outputs[i], error));
    }
    return LIANA_OK;
}

/* Results are written into donated buffers, and assigned values into the variables' own. */
static liana_status execute(liana__executable *base, liana__execution *execution, liana__error *error)
{
    const liana_graph *graph = ((liana__cpu_executable *)base)->graph;
    LIANA_TRY(liana__check_execution(graph, execution, false, error));
    LIANA_TRY(make_missing_outputs(graph, base->device, execution->outputs, error));
    return liana__cpu_execute_together_watched(base, execution, error);
}

const liana__backend liana__backend_cpu = {
    .name = "cpu",
    .doc = "The cores of this machine: oneDNN for matrix products and dense convolutions, own kernels for the rest.",
    .in_host_memory = true,
    .open = open_cpu,
    .close = close_cpu,
    .upload = upload,
    .wait = wait,
    .download = liana__host_buffer_read,
    .buffer_destroy = liana__host_buffer_destroy,
    .compile = compile,
    .executable_destroy = destroy_executable,
    .make_ready = liana__cpu_make_ready_together,
    .execute = execute,
    .replicas = &liana__cpu_replicas,
};
