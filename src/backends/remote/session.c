/* The requests of one client of a server. */
#include "backends/remote/session.h"

#include "backends/remote/names.h"
#include "backends/remote/offer.h"
#include "backends/remote/wire.h"

#include "backends/backend.h"
#include "base/context.h"
#include "base/scoped.h"
#include "ir/graph_file.h"
#include "ops/ops.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct held_executable {
    liana__executable *executable; /* NULL: there is none of this number */
    liana_graph *graph;
    size_t size; /* its workspace, in the account */
} held_executable;

struct liana__served_session {
    liana__served_account *account;
    size_t held; /* of the account */
    liana_context *context;
    liana__device *device;   /* NULL: not opened yet */
    liana__buffer **buffers; /* by number; NULL: there is none */
    size_t num_buffers, buffer_capacity;
    held_executable *executables;
    size_t num_executables, executable_capacity;
    bool is_known; /* it has said its version */
    char text[LIANA__SERVED_TEXT + 64];
};

/* A request being answered. */
typedef struct request {
    liana__served_session *session;
    liana__wire wire;
    liana__text given; /* of an answer that is OK */
    liana__error error;
} request;

/* ---- memory ---- */

static bool reserve(liana__served_session *session, size_t size)
{
    liana__served_account *account = session->account;
    size_t held = atomic_load(&account->held);
    do {
        if (held > account->limit || size > account->limit - held) return false;
    } while (!atomic_compare_exchange_weak(&account->held, &held, held + size));
    session->held += size;
    return true;
}

static void release(liana__served_session *session, size_t size)
{
    atomic_fetch_sub(&session->account->held, size);
    session->held -= size;
}

static liana_status fail_limit(request *own, const char *what, size_t size)
{
    const liana__served_account *account = own->session->account;
    return liana__fail(&own->error, LIANA_OUT_OF_MEMORY,
                       "%s needs %zu MiB; the server gives all clients %zu MiB together (--memory), of which %zu MiB "
                       "are taken, %zu MiB by this one",
                       what, (size + (1 << 20) - 1) >> 20, account->limit >> 20, atomic_load(&account->held) >> 20,
                       own->session->held >> 20);
}

/* ---- buffers ---- */

static liana_status find_buffer_slot(request *own, uint32_t number, liana__buffer ***slot)
{
    liana__served_session *session = own->session;
    if (number >= LIANA__SERVED_MOST_OBJECTS) {
        return liana__fail(&own->error, LIANA_INVALID_DATA, "the buffer %u has too large a number", number);
    }
    while (session->num_buffers <= number) {
        if (!liana__grow(&session->buffers, session->num_buffers, &session->buffer_capacity, sizeof(liana__buffer *))) {
            return liana__fail_memory(&own->error, "the buffers of a client");
        }
        session->buffers[session->num_buffers++] = NULL;
    }
    *slot = &session->buffers[number];
    return LIANA_OK;
}

static liana_status find_buffer(request *own, uint32_t number, liana__buffer **buffer)
{
    const liana__served_session *session = own->session;
    *buffer = number < session->num_buffers ? session->buffers[number] : NULL;
    if (*buffer) return LIANA_OK;
    return liana__fail(&own->error, LIANA_INVALID_ARGUMENT, "there is no buffer %u", number);
}

static void free_buffer(liana__served_session *session, liana__buffer **slot)
{
    if (!*slot) return;
    release(session, (*slot)->size);
    session->device->backend->buffer_destroy(*slot);
    *slot = NULL;
}

/* ---- OPEN and DEVICES ---- */

static liana_status read_client(request *own, char who[LIANA__SERVED_TEXT])
{
    char version[LIANA__SERVED_TEXT];
    liana__wire_text(&own->wire, version);
    liana__wire_text(&own->wire, who);
    if (own->wire.failed) return LIANA_OK; /* told by the caller */
    if (strcmp(version, liana_version()) != 0) {
        return liana__fail(&own->error, LIANA_UNAVAILABLE,
                           "the server is liana %s, this process is liana %.40s: both need the same version",
                           liana_version(), version);
    }
    own->session->is_known = true;
    return LIANA_OK;
}

static liana_status fail_request(request *own)
{
    return liana__fail(&own->error, LIANA_INVALID_DATA, "the request cannot be read: it is cut off, or no request");
}

static liana_status open_device(request *own)
{
    liana__served_session *session = own->session;
    char who[LIANA__SERVED_TEXT], name[LIANA__SERVED_TEXT];
    const char *local;
    LIANA_TRY(read_client(own, who));
    liana__wire_text(&own->wire, name);
    if (own->wire.failed) return fail_request(own);
    if (session->device) return liana__fail(&own->error, LIANA_INVALID_ARGUMENT, "this client has a device already");
    LIANA_TRY(liana__served_local_name(name, &local, &own->error));
    LIANA_TRY(liana__device_open(session->context, local, &session->device, &own->error));
    const liana__device *device = session->device;
    snprintf(session->text, sizeof session->text, "%.200s has %.200s", who, name);
    char description[LIANA__SERVED_TEXT];
    liana__served_describe(session->context, session->account, name, description);
    liana__wire_put_text(&own->given, device->backend->name);
    liana__wire_put_u32(&own->given, device->backend->static_leaves);
    liana__wire_put_u32(&own->given, device->backend == &liana__backend_cpu ? 1 + (uint32_t)session->context->isa : 0);
    liana__wire_put_u64(&own->given, device->backend->count ? device->backend->count(device) : 1);
    liana__wire_put_u64(&own->given, session->account->limit);
    liana__wire_put_text(&own->given, description);
    return LIANA_OK;
}

static liana_status list_devices(request *own)
{
    char who[LIANA__SERVED_TEXT];
    LIANA_TRY(read_client(own, who));
    if (own->wire.failed) return fail_request(own);
    return liana__served_offer(own->session->context, own->session->account, &own->given, &own->error);
}

/* ---- UPLOAD, DOWNLOAD, FREE ---- */

static liana_status upload(request *own)
{
    liana__served_session *session = own->session;
    liana_dtype dtype;
    liana_shape shape;
    liana__buffer **slot;
    uint32_t number = liana__wire_u32(&own->wire);
    liana__wire_type(&own->wire, &dtype, &shape);
    size_t size = liana__byte_size(dtype, &shape);
    if (own->wire.failed || liana__wire_left(&own->wire) != size) return fail_request(own);
    LIANA_TRY(find_buffer_slot(own, number, &slot));
    size_t before = *slot ? (*slot)->size : 0;
    if (size > before && !reserve(session, size - before)) return fail_limit(own, "a buffer", size - before);
    liana_status status =
        session->device->backend->upload(session->device, dtype, &shape, own->wire.next, slot, NULL, &own->error);
    own->wire.next = own->wire.end;
    size_t now = *slot ? (*slot)->size : 0, reserved = size > before ? size : before;
    if (reserved > now) release(session, reserved - now);
    return status;
}

static liana_status download(request *own)
{
    liana__buffer *buffer;
    uint32_t number = liana__wire_u32(&own->wire);
    if (own->wire.failed) return fail_request(own);
    LIANA_TRY(find_buffer(own, number, &buffer));
    LIANA__SCOPED_MEMORY char *data = malloc(buffer->size + 1);
    if (!data) return liana__fail_memory(&own->error, "a buffer that is read");
    LIANA_TRY(own->session->device->backend->download(buffer, data, &own->error));
    liana__text_add_bytes(&own->given, data, buffer->size);
    return LIANA_OK;
}

static liana_status free_buffers(request *own)
{
    liana__served_session *session = own->session;
    uint32_t count = liana__wire_count(&own->wire, 4);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = liana__wire_u32(&own->wire);
        if (number < session->num_buffers) free_buffer(session, &session->buffers[number]);
    }
    return own->wire.failed ? fail_request(own) : LIANA_OK;
}

/* ---- COMPILE, DROP, READY ---- */

static liana_status find_executable_slot(request *own, uint32_t number, held_executable **slot)
{
    liana__served_session *session = own->session;
    if (number >= LIANA__SERVED_MOST_OBJECTS) {
        return liana__fail(&own->error, LIANA_INVALID_DATA, "the executable %u has too large a number", number);
    }
    while (session->num_executables <= number) {
        if (!liana__grow(&session->executables, session->num_executables, &session->executable_capacity,
                         sizeof *session->executables)) {
            return liana__fail_memory(&own->error, "the executables of a client");
        }
        session->executables[session->num_executables++] = (held_executable){0};
    }
    *slot = &session->executables[number];
    return LIANA_OK;
}

static void drop_executable(liana__served_session *session, held_executable *own)
{
    if (own->executable) session->device->backend->executable_destroy(own->executable);
    liana_graph_destroy(own->graph);
    release(session, own->size);
    *own = (held_executable){0};
}

static void give_sizes(request *own, const liana__executable *executable)
{
    liana__wire_put_u64(&own->given, executable->workspace_size);
    liana__wire_put_u64(&own->given, executable->recomputed.num_segments);
    liana__wire_put_u64(&own->given, executable->recomputed.workspace_before);
    liana__wire_put_double(&own->given, executable->recomputed.flops);
    liana__wire_put_double(&own->given, executable->recomputed.flops_before);
}

/* The least memory of a graph, before anything of that size is asked for: its largest tensor. */
static liana_status check_largest(request *own, const liana_graph *graph)
{
    const liana__served_account *account = own->session->account;
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        size_t size = liana__byte_size(node->dtype, &node->shape);
        if (size > account->limit) return fail_limit(own, liana__node_print(node).text, size);
    }
    return LIANA_OK;
}

static liana_status compile(request *own)
{
    liana__served_session *session = own->session;
    held_executable *slot = NULL, made = {0};
    uint32_t number = liana__wire_u32(&own->wire);
    uint64_t memory_limit = liana__wire_u64(&own->wire);
    if (own->wire.failed) return fail_request(own);
    LIANA_TRY(find_executable_slot(own, number, &slot));
    /* A client that has heard of an earlier error instead does not know that it is there. */
    if (slot->executable) drop_executable(session, slot);
    liana_status status = liana__graph_read(session->context, liana__ops, own->wire.next, liana__wire_left(&own->wire),
                                            &made.graph, &own->error);
    own->wire.next = own->wire.end;
    LIANA_TRY(status);
    session->device->memory_limit = (size_t)memory_limit;
    status = check_largest(own, made.graph);
    if (status == LIANA_OK) {
        status = session->device->backend->compile(session->device, made.graph, &made.executable, &own->error);
    }
    if (status == LIANA_OK) {
        made.size = made.executable->workspace_size;
        if (!reserve(session, made.size)) {
            status = fail_limit(own, "a program", made.size);
            made.size = 0;
        }
    }
    if (status != LIANA_OK) {
        drop_executable(session, &made);
        return status;
    }
    *slot = made;
    give_sizes(own, made.executable);
    return LIANA_OK;
}

static liana_status find_executable(request *own, held_executable **found)
{
    liana__served_session *session = own->session;
    uint32_t number = liana__wire_u32(&own->wire);
    if (own->wire.failed) return fail_request(own);
    *found = number < session->num_executables ? &session->executables[number] : NULL;
    if (*found && (*found)->executable) return LIANA_OK;
    return liana__fail(&own->error, LIANA_INVALID_ARGUMENT, "there is no executable %u", number);
}

static liana_status drop(request *own)
{
    held_executable *found;
    LIANA_TRY(find_executable(own, &found));
    drop_executable(own->session, found);
    return LIANA_OK;
}

static liana_status make_ready(request *own)
{
    held_executable *found;
    LIANA_TRY(find_executable(own, &found));
    const liana__backend *backend = own->session->device->backend;
    return backend->make_ready ? backend->make_ready(found->executable, &own->error) : LIANA_OK;
}

/* ---- EXECUTE ---- */

/* Buffers of an execution, with their numbers: those that are read, or the places of those that may be replaced. */
typedef struct argument_list {
    liana__buffer **buffers;
    uint32_t *numbers;
    size_t count;
} argument_list;

typedef struct arguments {
    argument_list inputs, variables, outputs;
} arguments;

static void arguments_free(arguments *all)
{
    argument_list *const lists[] = {&all->inputs, &all->variables, &all->outputs};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        free(lists[i]->buffers);
        free(lists[i]->numbers);
    }
}

/* Reads a list of numbers of buffers. `must_be`: each is there. */
static liana_status read_buffers(request *own, size_t expected, bool must_be, argument_list *list)
{
    uint32_t count = liana__wire_count(&own->wire, 4);
    if (own->wire.failed) return fail_request(own);
    if (count != expected) {
        return liana__fail(&own->error, LIANA_INVALID_ARGUMENT, "the execution has %u buffers, expected %zu", count,
                           expected);
    }
    *list = (argument_list){calloc(count + (size_t)1, sizeof(liana__buffer *)),
                            calloc(count + (size_t)1, sizeof *list->numbers), count};
    if (!list->buffers || !list->numbers) return liana__fail_memory(&own->error, "an execution");
    for (uint32_t i = 0; i < count; i++) {
        liana__buffer **slot;
        list->numbers[i] = liana__wire_u32(&own->wire);
        if (must_be) {
            LIANA_TRY(find_buffer(own, list->numbers[i], &list->buffers[i]));
        } else {
            LIANA_TRY(find_buffer_slot(own, list->numbers[i], &slot));
            list->buffers[i] = *slot;
        }
    }
    return LIANA_OK;
}

/* Counts how often each buffer is used, up to 2. */
static void count_uses(const argument_list *list, uint8_t *uses)
{
    for (size_t i = 0; i < list->count; i++) uses[list->numbers[i]] += uses[list->numbers[i]] < 2;
}

static liana_status check_once(request *own, uint32_t number, const uint8_t *uses)
{
    if (uses[number] < 2) return LIANA_OK;
    return liana__fail(&own->error, LIANA_INVALID_ARGUMENT,
                       "the buffer %u is replaced by a result, and is used a second time", number);
}

/* A donated buffer must be there once only: nobody else may lose it. */
static liana_status check_donated(request *own, const liana_graph *graph, const arguments *all)
{
    LIANA__SCOPED_MEMORY uint8_t *uses = calloc(own->session->num_buffers + 1, sizeof *uses);
    LIANA__SCOPED_MEMORY bool *assigned = calloc(graph->num_nodes + 1, sizeof *assigned);
    if (!uses || !assigned) return liana__fail_memory(&own->error, "an execution");
    for (size_t i = 0; i < graph->num_assignments; i++) assigned[graph->assignments[i].variable->id] = true;
    count_uses(&all->inputs, uses);
    count_uses(&all->variables, uses);
    count_uses(&all->outputs, uses);
    for (size_t i = 0; i < graph->num_outputs; i++) LIANA_TRY(check_once(own, all->outputs.numbers[i], uses));
    for (size_t i = 0; i < graph->num_variables; i++) {
        if (assigned[graph->variables[i]->id]) LIANA_TRY(check_once(own, all->variables.numbers[i], uses));
    }
    return LIANA_OK;
}

/* Bytes of the results that get buffers of their own. */
static size_t count_new_bytes(const liana_graph *graph, liana__buffer *const *outputs)
{
    size_t size = 0;
    for (size_t i = 0; i < graph->num_outputs; i++) {
        const liana__node *node = graph->outputs[i].node;
        if (!outputs[i]) size += liana__byte_size(node->dtype, &node->shape);
    }
    return size;
}

/* Puts the results of the execution into the table. After a failure new results go, and donated buffers stay marked. */
static void keep_results(liana__served_session *session, const liana_graph *graph, const arguments *all,
                         liana_status status)
{
    for (size_t i = 0; i < graph->num_outputs; i++) {
        liana__buffer **slot = &session->buffers[all->outputs.numbers[i]];
        if (status == LIANA_OK || *slot) {
            *slot = all->outputs.buffers[i];
        } else if (all->outputs.buffers[i]) {
            session->device->backend->buffer_destroy(all->outputs.buffers[i]);
        }
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        session->buffers[all->variables.numbers[i]] = all->variables.buffers[i];
    }
}

static liana_status run(request *own, const held_executable *found, const char *name, arguments *all)
{
    liana__served_session *session = own->session;
    const liana_graph *graph = found->graph;
    LIANA_TRY(read_buffers(own, graph->num_inputs, true, &all->inputs));
    LIANA_TRY(read_buffers(own, graph->num_variables, true, &all->variables));
    LIANA_TRY(read_buffers(own, graph->num_outputs, false, &all->outputs));
    LIANA_TRY(check_donated(own, graph, all));
    size_t more = count_new_bytes(graph, all->outputs.buffers);
    if (!reserve(session, more)) return fail_limit(own, name, more);
    liana__execution execution = {.name = name,
                                  .inputs = all->inputs.buffers,
                                  .variables = all->variables.buffers,
                                  .outputs = all->outputs.buffers};
    liana_status status = session->device->backend->execute(found->executable, &execution, &own->error);
    keep_results(session, graph, all, status);
    if (status != LIANA_OK) release(session, more);
    return status;
}

static liana_status execute(request *own)
{
    held_executable *found;
    char name[LIANA__SERVED_TEXT];
    LIANA__SCOPED(arguments) all = {0};
    LIANA_TRY(find_executable(own, &found));
    liana__wire_text(&own->wire, name);
    return own->wire.failed ? fail_request(own) : run(own, found, name, &all);
}

/* ---- the whole ---- */

static liana_status answer(request *own, uint32_t kind)
{
    static liana_status (*const functions[LIANA__SERVED_KINDS])(request *) = {
        [LIANA__SERVED_OPEN] = open_device,  [LIANA__SERVED_DEVICES] = list_devices, [LIANA__SERVED_UPLOAD] = upload,
        [LIANA__SERVED_DOWNLOAD] = download, [LIANA__SERVED_FREE] = free_buffers,    [LIANA__SERVED_COMPILE] = compile,
        [LIANA__SERVED_DROP] = drop,         [LIANA__SERVED_READY] = make_ready,     [LIANA__SERVED_EXECUTE] = execute,
    };
    const bool is_first = kind == LIANA__SERVED_OPEN || kind == LIANA__SERVED_DEVICES;
    if (kind >= LIANA__SERVED_KINDS || !functions[kind]) {
        return liana__fail(&own->error, LIANA_INVALID_DATA, "there is no request of the kind %u", kind);
    }
    if (!is_first && !own->session->device) {
        return liana__fail(&own->error, LIANA_UNAVAILABLE,
                           "the server does not know this client: the connection was cut, or it has opened no device");
    }
    LIANA_TRY(functions[kind](own));
    return own->wire.next == own->wire.end ? LIANA_OK : fail_request(own);
}

void liana__served_answer_error(liana__text *out, const liana__error *error)
{
    liana__wire_put_u32(out, (uint32_t)error->status);
    liana__wire_put_text(out, error->message);
}

void liana__served_session_answer(liana__served_session *session, uint32_t kind, const uint8_t *bytes, size_t size,
                                  liana__text *out)
{
    request own = {.session = session, .wire = {.next = bytes, .end = bytes + size}};
    liana_status status = answer(&own, kind);
    if (status == LIANA_OK && own.given.failed) status = liana__fail_memory(&own.error, "an answer");
    if (status == LIANA_OK) {
        liana__wire_put_u32(out, LIANA_OK);
        liana__wire_put_text(out, "");
        liana__text_add_bytes(out, own.given.data ? own.given.data : "", own.given.length);
    } else {
        own.error.status = status;
        liana__served_answer_error(out, &own.error);
    }
    liana__text_free(&own.given);
}

liana_status liana__served_session_create(liana__served_account *account, int num_threads, liana__served_session **out,
                                          liana__error *error)
{
    *out = NULL;
    liana__served_session *session = calloc(1, sizeof *session);
    if (!session) return liana__fail_memory(error, "a client");
    session->account = account;
    snprintf(session->text, sizeof session->text, "a client that has opened nothing yet");
    const liana_context_options options = {.num_threads = num_threads};
    liana_status status = liana_context_create(&options, &session->context);
    if (status != LIANA_OK) {
        liana__fail(error, status, "%s", liana_context_message(session->context));
        liana__served_session_destroy(session);
        return status;
    }
    *out = session;
    return LIANA_OK;
}

bool liana__served_session_is_open(const liana__served_session *session)
{
    return session->device != NULL;
}

const char *liana__served_session_print(const liana__served_session *session)
{
    return session->text;
}

void liana__served_session_destroy(liana__served_session *session)
{
    if (!session) return;
    for (size_t i = 0; i < session->num_executables; i++) {
        if (session->executables[i].executable) drop_executable(session, &session->executables[i]);
    }
    for (size_t i = 0; i < session->num_buffers; i++) free_buffer(session, &session->buffers[i]);
    free(session->executables);
    free(session->buffers);
    liana__device_close(session->device);
    liana_context_destroy(session->context);
    free(session);
}
