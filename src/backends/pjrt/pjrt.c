/* Accelerators behind PJRT plugins: a graph is written as StableHLO, which the plugin compiles and runs. */
#include "backends/backend.h"

#include "backends/make_executable.h"
#include "backends/pjrt/buffer.h"
#include "backends/pjrt/discovery.h"
#include "backends/pjrt/error_place.h"
#include "backends/pjrt/memory_advice.h"
#include "backends/pjrt/program.h"
#include "backends/pjrt/recompute.h"
#include "backends/pjrt/repeatable.h"
#include "backends/pjrt/survey.h"
#include "backends/pjrt/whole_update.h"
#include "backends/shard_loop.h"
#include "base/crc32c.h"
#include "base/scoped.h"
#include "passes/pass.h"
#include "stablehlo/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

/* "gpu:1 (NVIDIA H200)"; a plugin that was named by its path is called by the name of its platform. */
static liana_status name_device(liana__pjrt_device *device, liana__error *error)
{
    liana__pjrt_device_facts facts;
    LIANA_TRY(liana__pjrt_device_describe(device->client, device->number, &facts, error));
    const liana__pjrt_plugin *plugin = &device->client->plugin;
    snprintf(device->name, sizeof device->name, "%s:%zu (%s)", device->client->platform, device->number, facts.kind);
    snprintf(device->base.note, sizeof device->base.note, "device %s, by the plugin %.200s (PJRT %d.%d)", device->name,
             plugin->path, (int)plugin->api->version.major, (int)plugin->api->version.minor);
    return LIANA_OK;
}

static liana_status open_number(liana__pjrt_device *device, size_t number, const char *name, liana__error *error)
{
    const liana__pjrt_client *client = device->client;
    if (number >= client->num_devices) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "there is no device %zu for '%s': the plugin '%s' has %zu of the platform %s, from 0",
                           number, name, client->plugin.path, client->num_devices, client->platform);
    }
    device->number = number;
    device->handle = client->devices[number];
    return name_device(device, error);
}

static liana_status find_plugin(const liana__pjrt_device_name *name, liana__arena *arena, const char **path,
                                liana__error *error)
{
    *path = name->path;
    if (name->path) return LIANA_OK;
    liana_status status = liana__pjrt_find_hardware(name->kind, error);
    if (status == LIANA_OK) status = liana__pjrt_find_plugin(name->kind, arena, path, error);
    return status == LIANA_OK ? LIANA_OK : liana__fail_within(error, "the device '%s'", name->shown);
}

static void close_device(liana__device *base)
{
    liana__pjrt_device *device = (liana__pjrt_device *)base;
    liana__pjrt_client_close(device->client);
    free(device);
}

static liana_status fill_device(liana__pjrt_device *device, const liana__device_request *request, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__pjrt_device_name name;
    const char *path;
    LIANA_TRY(liana__pjrt_device_name_read(request->name, &arena, &name, error));
    LIANA_TRY(find_plugin(&name, &arena, &path, error));
    liana_status status = liana__pjrt_client_open(device->base.context, path, &name, &device->client, error);
    if (status != LIANA_OK) return liana__pjrt_explain(name.kind, error);
    return open_number(device, name.number + request->index, request->name, error);
}

static liana_status open_device(liana_context *context, const liana__device_request *request, liana__device **out,
                                liana__error *error)
{
    liana__pjrt_device *device = calloc(1, sizeof *device);
    if (!device) return liana__fail_memory(error, "a PJRT device");
    device->base = (liana__device){.backend = &liana__backend_pjrt, .context = context, .num_tracks = 1};
    const liana_status status = fill_device(device, request, error);
    if (status != LIANA_OK) {
        close_device(&device->base);
        return status;
    }
    *out = &device->base;
    return LIANA_OK;
}

static size_t count_devices(const liana__device *device)
{
    return ((const liana__pjrt_device *)device)->client->num_devices;
}

/* ---- compiling ---- */

typedef struct pjrt_executable {
    liana__executable base;
    const liana_graph *graph;
    liana_graph *rewritten;     /* the graph rewritten by passes that it asked for, or NULL */
    liana__recomputation again; /* the recomputation that the device's limit asks for */
    liana__pjrt_program *program;
    void **arguments; /* the plugin's buffers of one execution */
    void **results;
} pjrt_executable;

static void destroy_executable(liana__executable *base)
{
    pjrt_executable *executable = (pjrt_executable *)base;
    if (!executable) return;
    liana__pjrt_program_drop(executable->program);
    liana__recomputation_free(&executable->again);
    liana_graph_destroy(executable->rewritten);
    free(executable->arguments);
    free(executable->results);
    free(executable);
}

static liana_status print_graph(const pjrt_executable *executable, bool locations, char **text, liana__error *error)
{
    const liana__pjrt_device *device = (const liana__pjrt_device *)executable->base.device;
    const liana__stablehlo_options options = {.donate_variables = true,
                                              .highest_precision = !device->default_products,
                                              .for_cpus = liana__pjrt_is_cpu(device->client),
                                              .locations = locations};
    return liana__stablehlo_print(executable->graph, &options, text, error);
}

static liana_status compile_graph(pjrt_executable *executable, bool locations, liana__error *error)
{
    const liana__pjrt_device *device = (const liana__pjrt_device *)executable->base.device;
    const liana__repeatable *exact = device->is_exact ? liana__repeatable_of(device->client->platform) : NULL;
    liana__pjrt_compile_options wanted = {.keeps_barriers =
                                              executable->again.graph && liana__pjrt_is_cpu(device->client)};
    if (exact) wanted.flags = exact->flags;
    if (exact) wanted.num_flags = exact->num_flags;
    LIANA__SCOPED_MEMORY char *text = NULL;
    LIANA_TRY(print_graph(executable, locations, &text, error));
    const liana_status status =
        liana__pjrt_program_make(device->client, text, strlen(text), &wanted, &executable->program, error);
    return status == LIANA_OK ? status : liana__fail_within(error, "%s, compiling", device->name);
}

/* A program that the plugin refuses is compiled once more with the places of its ops, so that the plugin can name
 * one. */
static liana_status explain(pjrt_executable *executable, liana_status status, liana__error *error)
{
    liana__error explained = {0};
    if (status == LIANA_UNIMPLEMENTED && liana__pjrt_find_place(executable->graph, error->message)) return status;
    if (compile_graph(executable, true, &explained) == LIANA_OK) {
        liana__pjrt_program_drop(executable->program);
        executable->program = NULL;
    }
    return liana__pjrt_fail_at_place(executable->graph, explained.message, status, error);
}

static liana_status make_program(pjrt_executable *executable, liana__error *error)
{
    const liana_status status = compile_graph(executable, false, error);
    if (status == LIANA_OUT_OF_MEMORY) return status;
    if (status != LIANA_OK) return explain(executable, status, error);
    if (executable->program->num_results == liana__graph_num_results(executable->graph)) return LIANA_OK;
    const liana__pjrt_device *device = (const liana__pjrt_device *)executable->base.device;
    return liana__fail(error, LIANA_UNAVAILABLE, "%s: a compiled program has %zu results, expected %zu", device->name,
                       executable->program->num_results, liana__graph_num_results(executable->graph));
}

/* ---- the device's limit ---- */

/* Bytes of an execution in addition to the device's buffers. */
static int64_t needed_by(const pjrt_executable *executable)
{
    int64_t size = executable->program->temporaries > 0 ? executable->program->temporaries : 0;
    for (size_t i = 0; i < executable->graph->num_outputs; i++) {
        const liana__node *node = executable->graph->outputs[i].node;
        size += (int64_t)liana__byte_size(node->dtype, &node->shape);
    }
    return size;
}

/* Compiles `whole`, of which a part is computed twice by its level (recompute.h). */
static liana_status make_level(pjrt_executable *executable, const liana_graph *whole, int level, liana__error *error)
{
    liana__pjrt_program_drop(executable->program);
    executable->program = NULL;
    liana__recomputation_free(&executable->again);
    executable->graph = whole;
    if (level > 0) LIANA_TRY(liana__pjrt_recompute(whole, level, &executable->again, error));
    if (executable->again.graph) executable->graph = executable->again.graph;
    return make_program(executable, error);
}

static liana_status fail_memory(const pjrt_executable *executable, int64_t least, liana__error *error)
{
    const liana__pjrt_device *device = (const liana__pjrt_device *)executable->base.device;
    if (least >= 0) return liana__pjrt_fail_limit(&device->base, least, error);
    const bool may_recompute = executable->graph->first_gradient && !device->base.memory_limit;
    return liana__pjrt_advise(device, liana__pjrt_leaf_size(executable->graph), executable->program, may_recompute,
                              error);
}

/* The level that another device of the client has chosen for this graph; else the first that fits. All devices take
 * one: programs of different levels may round differently. */
static liana_status find_level(pjrt_executable *executable, const liana_graph *whole, liana__pjrt_origin *origin,
                               liana__error *error)
{
    const int64_t room = liana__pjrt_limit(executable->base.device);
    const int chosen = origin->level;
    int64_t least = -1;
    for (int level = chosen < 0 ? 0 : chosen; level <= LIANA__MOST_RECOMPUTED; level++) {
        origin->level = level;
        const liana_status status = make_level(executable, whole, level, error);
        if (status != LIANA_OK && status != LIANA_OUT_OF_MEMORY) return status;
        if (status == LIANA_OUT_OF_MEMORY) continue;
        const int64_t needed = needed_by(executable);
        if (level == 0) origin->all_needed = needed;
        if (needed <= room || level == chosen) return LIANA_OK;
        if (least < 0 || needed < least) least = needed;
    }
    return fail_memory(executable, least, error);
}

static void count_recomputed(pjrt_executable *executable, const liana_graph *whole, const liana__pjrt_origin *origin)
{
    executable->base.recomputed.workspace_before = origin->all_needed > 0 ? (size_t)origin->all_needed : 0;
    executable->base.recomputed.num_segments = executable->again.num_segments;
    executable->base.recomputed.flops = executable->again.flops;
    executable->base.recomputed.flops_before = liana__pjrt_count_flops(whole);
}

static liana_status make_what_fits(pjrt_executable *executable, const liana_graph *whole, liana__error *error)
{
    const liana__pjrt_device *device = (const liana__pjrt_device *)executable->base.device;
    LIANA__SCOPED_MEMORY char *text = NULL;
    LIANA_TRY(print_graph(executable, false, &text, error));
    const size_t size = strlen(text);
    liana__pjrt_origin origin = {liana__crc32c(text, size), size, device->base.memory_limit, -1, -1};
    liana__pjrt_origin_find(device->client, &origin);
    LIANA_TRY(find_level(executable, whole, &origin, error));
    liana__pjrt_origin_note(executable->program, &origin);
    count_recomputed(executable, whole, &origin);
    return LIANA_OK;
}

static liana_status build_executable(liana__executable *base, const liana_graph *given, liana__error *error)
{
    pjrt_executable *executable = (pjrt_executable *)base;
    executable->graph = given;
    LIANA_TRY(liana__passes_run_asked_for(executable->graph, &executable->rewritten, error));
    if (executable->rewritten) executable->graph = executable->rewritten;
    const liana_graph *graph = executable->graph;
    LIANA_TRY(liana__graph_verify(graph, error));
    executable->arguments = calloc(graph->num_inputs + graph->num_variables + 1, sizeof *executable->arguments);
    executable->results = calloc(liana__graph_num_results(graph) + 1, sizeof *executable->results);
    if (!executable->arguments || !executable->results) return liana__fail_memory(error, "an executable");
    const bool is_limited = base->device->memory_limit && graph->first_gradient;
    const liana_status status = is_limited ? make_what_fits(executable, graph, error) : make_program(executable, error);
    if (status == LIANA_OUT_OF_MEMORY && !is_limited) return fail_memory(executable, -1, error);
    LIANA_TRY(status);
    base->workspace_size = (size_t)needed_by(executable);
    return LIANA_OK;
}

static liana_status compile(liana__device *device, const liana_graph *graph, liana__executable **out,
                            liana__error *error)
{
    return liana__make_executable(device, graph, sizeof(pjrt_executable), build_executable, out, error);
}

/* ---- running ---- */

static void *handle_of(const liana__buffer *buffer)
{
    return ((const liana__pjrt_buffer *)buffer)->handle;
}

static void gather_arguments(pjrt_executable *executable, const liana__execution *execution)
{
    const liana_graph *graph = executable->graph;
    void **next = executable->arguments;
    for (size_t i = 0; i < graph->num_inputs; i++) *next++ = handle_of(execution->inputs[i]);
    for (size_t i = 0; i < graph->num_variables; i++) *next++ = handle_of(execution->variables[i]);
}

/* The place of a result for the caller; a buffer that is there is donated. */
static liana__buffer **place_of_result(const liana_graph *graph, const liana__execution *execution, size_t index)
{
    if (index < graph->num_outputs) return &execution->outputs[index];
    return &execution->variables[liana__graph_place(graph, graph->assignments[index - graph->num_outputs].variable)];
}

/* Takes over all results, also on failure. */
static liana_status give_results(pjrt_executable *executable, const liana__execution *execution, liana__error *error)
{
    liana__pjrt_device *device = (liana__pjrt_device *)executable->base.device;
    liana_status status = LIANA_OK;
    for (size_t i = 0; i < liana__graph_num_results(executable->graph); i++) {
        const liana__node *node = liana__graph_result(executable->graph, i);
        liana__buffer **place = place_of_result(executable->graph, execution, i);
        liana_status one =
            liana__pjrt_buffer_put(device, node->dtype, &node->shape, executable->results[i], place, error);
        if (status == LIANA_OK) status = one;
    }
    return status;
}

/* A device that fails in the middle of a run may have taken over the donated variables already. */
static void mark_gone(const pjrt_executable *executable, const liana__execution *execution)
{
    const liana_graph *graph = executable->graph;
    for (size_t i = 0; i < graph->num_assignments; i++) {
        liana__pjrt_buffer_mark_gone(execution->variables[liana__graph_place(graph, graph->assignments[i].variable)]);
    }
}

static liana_status execute(liana__executable *base, liana__execution *execution, liana__error *error)
{
    pjrt_executable *executable = (pjrt_executable *)base;
    const liana_graph *graph = executable->graph;
    const liana__pjrt_device *device = (const liana__pjrt_device *)base->device;
    LIANA_TRY(liana__check_execution(graph, execution, false, error));
    gather_arguments(executable, execution);
    liana_status status =
        liana__pjrt_program_run(executable->program, device->handle, &executable->arguments,
                                graph->num_inputs + graph->num_variables, &executable->results, error);
    if (status == LIANA_OK) return give_results(executable, execution, error);
    device->client->has_failed = true;
    mark_gone(executable, execution);
    const char *name = execution->name ? execution->name : "a program";
    const liana__error was = *error;
    liana__pjrt_fail_at_place(graph, was.message, status, error);
    liana__fail_within(error, "%s, running %s", device->name, name);
    return status == LIANA_OUT_OF_MEMORY ? fail_memory(executable, -1, error) : status;
}

static const char *const names[] = {"gpu", "tpu", "pjrt", NULL};

const liana__backend liana__backend_pjrt = {
    .name = "pjrt",
    .doc = "Accelerators behind a PJRT plugin, called gpu, tpu, gpu:1 or pjrt:/path/plugin.so (liana devices).",
    .static_leaves = true,
    .device_names = names,
    .open = open_device,
    .close = close_device,
    .count = count_devices,
    .upload = liana__pjrt_upload,
    .wait = liana__pjrt_wait,
    .download = liana__pjrt_download,
    .buffer_destroy = liana__pjrt_buffer_destroy,
    .compile = compile,
    .executable_destroy = destroy_executable,
    .execute = execute,
    .replicas = &liana__shard_loop,
    .whole = &liana__pjrt_whole,
};
