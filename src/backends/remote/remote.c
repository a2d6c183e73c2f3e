/* The backend `remote`: a device of a server (`liana server`) in another process. Graphs are compiled and run there;
 * values stay there. */
#include "backends/remote/device.h"
#include "backends/remote/names.h"

#include "backends/make_executable.h"
#include "backends/shard_loop.h"
#include "base/context.h"
#include "base/scoped.h"
#include "ir/graph_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct remote_executable {
    liana__executable base;
    const liana_graph *graph;
    bool has_number, is_there; /* so far */
    uint32_t number;
    bool *assigned; /* by variable */
} remote_executable;

/* A server's device whose shards have one static size. */
static const liana__backend static_remote;

/* ---- open and close ---- */

static void close_device(liana__device *base)
{
    liana__served_device *device = (liana__served_device *)base;
    liana__link_close(device->link);
    pthread_mutex_destroy(&device->mutex);
    free(device->buffers.free);
    free(device->executables.free);
    free(device->dropped);
    free(device->name);
    free(device);
}

/* The client, for the server's messages. */
void liana__served_put_client(liana__text *text)
{
    char host[128] = "", who[192];
    gethostname(host, sizeof host - 1);
    snprintf(who, sizeof who, "process %d on %s", (int)getpid(), host);
    liana__wire_put_text(text, liana_version());
    liana__wire_put_text(text, who);
}

static liana_status greet(liana__served_device *device, const char *name, liana__error *error)
{
    liana__text text = {0};
    LIANA__SCOPED_MEMORY uint8_t *answer = NULL;
    liana__wire wire;
    char backend[LIANA__SERVED_TEXT], description[LIANA__SERVED_TEXT];
    liana__served_put_client(&text);
    liana__wire_put_text(&text, name);
    LIANA_TRY(liana__served_call(device, LIANA__SERVED_OPEN, &text, NULL, 0, &answer, &wire, error));
    liana__wire_text(&wire, backend);
    uint32_t static_leaves = liana__wire_u32(&wire);
    device->isa = liana__wire_u32(&wire);
    uint64_t count = liana__wire_u64(&wire), limit = liana__wire_u64(&wire);
    liana__wire_text(&wire, description);
    LIANA_TRY(liana__served_check_answer(device, &wire, error));
    if (static_leaves) device->base.backend = &static_remote;
    liana__log(device->base.context, LIANA__LOG_EXEC, "%s: %s, %s; %llu devices, %llu MiB", device->name, backend,
               description, (unsigned long long)count, (unsigned long long)limit >> 20);
    return LIANA_OK;
}

liana_status liana__served_connect(liana_context *context, const liana__service_place *place, const char *name,
                                   liana__served_device **out, liana__error *error)
{
    *out = NULL;
    liana__served_device *device = calloc(1, sizeof *device);
    if (!device) return liana__fail_memory(error, "a remote device");
    device->base = (liana__device){.backend = &liana__backend_remote, .context = context, .num_tracks = 1};
    device->name = strdup(name);
    pthread_mutex_init(&device->mutex, NULL);
    liana_status status = device->name ? LIANA_OK : liana__fail_memory(error, "a remote device");
    if (status == LIANA_OK && liana__link_open(place, &device->link, error) != LIANA_OK) {
        status = liana__fail_within(error, "%s", name);
    }
    if (status != LIANA_OK) {
        close_device(&device->base);
        return status;
    }
    *out = device;
    return LIANA_OK;
}

static liana_status open_there(liana_context *context, const liana__device_request *request,
                               const liana__served_name *name, liana__arena *arena, liana__device **out,
                               liana__error *error)
{
    liana__served_cluster cluster;
    const char *const *addresses;
    size_t count;
    LIANA_TRY(liana__served_find_cluster(context, arena, &cluster, error));
    LIANA_TRY(liana__served_resolve(name, &cluster, &addresses, &count, error));
    const size_t task = request->index % count;
    const char *shown = liana__served_name_print(name, name->has_task ? name->task : task, arena);
    if (!shown) return liana__fail_memory(error, "the name of a device");
    const liana__service_place place = liana__served_place(&cluster, addresses[task], context);
    liana__served_device *device = NULL;
    LIANA_TRY(liana__served_connect(context, &place, shown, &device, error));
    liana_status status = greet(device, name->device, error);
    if (status != LIANA_OK) {
        close_device(&device->base);
        return status;
    }
    device->count = count;
    *out = &device->base;
    return LIANA_OK;
}

static liana_status open_device(liana_context *context, const liana__device_request *request, liana__device **out,
                                liana__error *error)
{
    liana__served_name name;
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA_TRY(liana__served_name_read(request->name, &arena, &name, error));
    const bool is_own = !name.address && (!name.job || strcmp(name.job, "localhost") == 0);
    if (!is_own) return open_there(context, request, &name, &arena, out, error);
    liana__device_request local = *request;
    LIANA_TRY(liana__served_local_name(name.device, &local.name, error));
    return liana__device_open_request(context, &local, out, error);
}

bool liana__served_is_cpu(const liana__device *device, liana__isa *isa)
{
    if (device->backend != &liana__backend_remote) return false;
    const uint32_t there = ((const liana__served_device *)device)->isa;
    if (there == 0 || there > 1 + LIANA__ISA_AMX) return false;
    *isa = (liana__isa)(there - 1);
    return true;
}

static size_t count_devices(const liana__device *device)
{
    return ((const liana__served_device *)device)->count;
}

/* ---- programs ---- */

static void destroy_executable(liana__executable *base)
{
    remote_executable *executable = (remote_executable *)base;
    if (!executable) return;
    liana__served_device *device = (liana__served_device *)base->device;
    if (executable->is_there) {
        liana__text text = {0};
        liana__wire_put_u32(&text, executable->number);
        /* A server that is gone has no program either. */
        (void)!liana__served_ask(device, LIANA__SERVED_DROP, &text, NULL, 0, NULL, NULL);
    }
    pthread_mutex_lock(&device->mutex);
    if (executable->has_number) liana__served_give_number(&device->executables, executable->number);
    pthread_mutex_unlock(&device->mutex);
    free(executable->assigned);
    free(executable);
}

static liana_status compile_there(remote_executable *executable, liana__error *error)
{
    liana__served_device *device = (liana__served_device *)executable->base.device;
    liana__text text = {0};
    LIANA__SCOPED_MEMORY uint8_t *answer = NULL;
    liana__wire wire;
    LIANA__SCOPED_MEMORY uint8_t *bytes = NULL;
    size_t size;
    LIANA_TRY(liana__graph_write(executable->graph, &bytes, &size, error));
    liana__wire_put_u32(&text, executable->number);
    liana__wire_put_u64(&text, device->base.memory_limit);
    LIANA_TRY(liana__served_call(device, LIANA__SERVED_COMPILE, &text, bytes, size, &answer, &wire, error));
    executable->base.workspace_size = (size_t)liana__wire_u64(&wire);
    executable->base.recomputed.num_segments = (size_t)liana__wire_u64(&wire);
    executable->base.recomputed.workspace_before = (size_t)liana__wire_u64(&wire);
    executable->base.recomputed.flops = liana__wire_double(&wire);
    executable->base.recomputed.flops_before = liana__wire_double(&wire);
    return liana__served_check_answer(device, &wire, error);
}

static liana_status note_assigned(remote_executable *executable, liana__error *error)
{
    const liana_graph *graph = executable->graph;
    executable->assigned = calloc(graph->num_variables + 1, sizeof *executable->assigned);
    if (!executable->assigned) return liana__fail_memory(error, "a program");
    for (size_t i = 0; i < graph->num_assignments; i++) {
        executable->assigned[liana__graph_place(graph, graph->assignments[i].variable)] = true;
    }
    return LIANA_OK;
}

static liana_status build_executable(liana__executable *base, const liana_graph *graph, liana__error *error)
{
    liana__served_device *device = (liana__served_device *)base->device;
    remote_executable *executable = (remote_executable *)base;
    executable->graph = graph;
    pthread_mutex_lock(&device->mutex);
    const liana_status status = liana__served_take_number(&device->executables, &executable->number, error);
    pthread_mutex_unlock(&device->mutex);
    LIANA_TRY(status);
    executable->has_number = true;
    LIANA_TRY(note_assigned(executable, error));
    LIANA_TRY(compile_there(executable, error));
    executable->is_there = true;
    return LIANA_OK;
}

static liana_status compile(liana__device *device, const liana_graph *graph, liana__executable **out,
                            liana__error *error)
{
    return liana__make_executable(device, graph, sizeof(remote_executable), build_executable, out, error);
}

static liana_status make_ready(liana__executable *base, liana__error *error)
{
    liana__text text = {0};
    liana__wire_put_u32(&text, ((const remote_executable *)base)->number);
    return liana__served_call((liana__served_device *)base->device, LIANA__SERVED_READY, &text, NULL, 0, NULL, NULL,
                              error);
}

static void put_buffers(liana__text *text, liana__buffer *const *buffers, size_t count)
{
    liana__wire_put_u32(text, (uint32_t)count);
    for (size_t i = 0; i < count; i++) liana__wire_put_u32(text, ((const liana__served_buffer *)buffers[i])->number);
}

/* Buffers for the results that get new ones. */
static liana_status make_outputs(const remote_executable *executable, const liana__execution *execution,
                                 liana__buffer **outputs, liana__error *error)
{
    const liana_graph *graph = executable->graph;
    for (size_t i = 0; i < graph->num_outputs; i++) {
        const liana__node *node = graph->outputs[i].node;
        outputs[i] = execution->outputs[i];
        if (outputs[i]) continue;
        LIANA_TRY(liana__served_buffer_make(executable->base.device, node->dtype, &node->shape, &outputs[i], error));
    }
    return LIANA_OK;
}

static liana_status run_there(const remote_executable *executable, const liana__execution *execution,
                              liana__buffer *const *outputs, liana__error *error)
{
    const liana_graph *graph = executable->graph;
    liana__text text = {0};
    liana__wire_put_u32(&text, executable->number);
    liana__wire_put_text(&text, execution->name ? execution->name : "a program");
    put_buffers(&text, execution->inputs, graph->num_inputs);
    put_buffers(&text, execution->variables, graph->num_variables);
    put_buffers(&text, outputs, graph->num_outputs);
    if (graph->num_assignments == 0) {
        /* Its results must be asked for before anybody can see them: that tells of a failure. */
        liana__served_device *device = (liana__served_device *)executable->base.device;
        uint64_t number;
        LIANA_TRY(liana__served_ask(device, LIANA__SERVED_EXECUTE, &text, NULL, 0, &number, error));
        return liana__served_run_ahead(device, number, error);
    }
    return liana__served_call((liana__served_device *)executable->base.device, LIANA__SERVED_EXECUTE, &text, NULL, 0,
                              NULL, NULL, error);
}

static liana_status execute(liana__executable *base, liana__execution *execution, liana__error *error)
{
    const remote_executable *executable = (remote_executable *)base;
    const liana_graph *graph = executable->graph;
    LIANA_TRY(liana__check_execution(graph, execution, false, error));
    LIANA__SCOPED_MEMORY liana__buffer **outputs = calloc(graph->num_outputs + 1, sizeof(liana__buffer *));
    if (!outputs) return liana__fail_memory(error, "the results");
    liana_status status = make_outputs(executable, execution, outputs, error);
    if (status == LIANA_OK) status = run_there(executable, execution, outputs, error);
    for (size_t i = 0; i < graph->num_outputs; i++) {
        if (status == LIANA_OK) {
            execution->outputs[i] = outputs[i];
            liana__served_buffer_touch(outputs[i]);
        } else if (outputs[i] && outputs[i] != execution->outputs[i]) {
            liana__served_buffer_destroy(outputs[i]);
        }
    }
    for (size_t i = 0; status == LIANA_OK && i < graph->num_variables; i++) {
        if (executable->assigned[i]) liana__served_buffer_touch(execution->variables[i]);
    }
    return status;
}

/* ---- the backend ---- */

static const char *const names[] = {"/job:worker/task:0/cpu:0", NULL};

#define REMOTE_BACKEND(is_static)                                                                                  \
    {                                                                                                              \
        .name = "remote",                                                                                          \
        .doc = "A device of a server in another process: /job:worker/task:0/cpu:0, "                               \
               "host:port/gpu:1 (liana server).",                                                                  \
        .static_leaves = (is_static), .device_names = names, .knows = liana__served_knows, .open = open_device,    \
        .close = close_device, .count = count_devices, .upload = liana__served_upload, .wait = liana__served_wait, \
        .download = liana__served_download, .buffer_destroy = liana__served_buffer_destroy, .compile = compile,    \
        .executable_destroy = destroy_executable, .make_ready = make_ready, .execute = execute,                    \
        .replicas = &liana__shard_loop,                                                                            \
    }

const liana__backend liana__backend_remote = REMOTE_BACKEND(false);
static const liana__backend static_remote = REMOTE_BACKEND(true);
