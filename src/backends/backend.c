/* The list of backends, and finding one by its name. */
#include "backends/backend.h"

#include "base/context.h"
#include "base/other_names.h"
#include "base/text.h"

#include <stdio.h>
#include <strings.h>

const liana__backend *const liana__backends[] = {
#define LIANA__BACKEND(folder, name) &liana__backend_##name,
#include "backends/backends.def"
#undef LIANA__BACKEND
    NULL,
};

enum { NUM_BACKENDS = sizeof liana__backends / sizeof *liana__backends - 1 };

/* ---- names ---- */

/* Whether a name begins with this one as a whole. */
static bool begins_with(const char *name, const char *kind)
{
    size_t length = strlen(kind);
    return strncmp(name, kind, length) == 0 && (name[length] == '\0' || name[length] == ':' || name[length] == '?');
}

static const liana__backend *find_backend(const char *name, liana__nearest_search *search)
{
    for (int i = 0; i < NUM_BACKENDS; i++) {
        const liana__backend *backend = liana__backends[i];
        if (!backend->device_names) {
            liana__nearest_add(search, backend->name);
            if (strcmp(name, backend->name) == 0) return backend;
        }
        for (size_t k = 0; backend->device_names && backend->device_names[k]; k++) {
            liana__nearest_add(search, backend->device_names[k]);
            if (begins_with(name, backend->device_names[k])) return backend;
        }
        if (backend->knows && backend->knows(name)) return backend;
    }
    return NULL;
}

/* The device that others call `name`, such as "cuda:1"; its number stays. False: nobody does. */
static bool name_of_others(const char *name, char *ours, size_t size)
{
    char kind[32];
    const size_t length = strcspn(name, ":?");
    if (length >= sizeof kind || memchr(name, '.', length)) return false;
    snprintf(kind, sizeof kind, "%.*s", (int)length, name);
    const char *found = liana__other_name(LIANA__OTHER_DEVICE, kind);
    if (found) snprintf(ours, size, "%s%.64s", found, name + length);
    return found;
}

static liana_status fail_unknown(const char *name, const char *nearest, liana__error *error)
{
    char ours[96], hint[256];
    snprintf(hint, sizeof hint, "%s", liana__hint(nearest).text);
    if (strcspn(name, ":?") == 3 && strncasecmp(name, "cpu", 3) == 0) {
        snprintf(hint, sizeof hint,
                 "; the cores of this machine are one device without options, 'cpu'; train.strategy={name: mirrored, "
                 "replicas: 2} makes groups of its threads");
    } else if (liana__starts_with(name, "grpc://")) {
        snprintf(hint, sizeof hint,
                 "; a device of a process that runs 'liana server' is 'host:port/cpu:0', and a TPU VM's own is 'tpu'");
    } else if (name_of_others(name, ours, sizeof ours)) {
        snprintf(hint, sizeof hint, "; liana calls it '%s'", ours);
    }
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "there is no device '%.200s' among those that 'liana devices' lists%s", name, hint);
}

static liana_status open_named(liana_context *context, const liana__device_request *request, liana__device **device,
                               liana__error *error)
{
    liana__nearest_search search = liana__nearest_begin(request->name);
    const liana__backend *backend = find_backend(request->name, &search);
    if (backend) return backend->open(context, request, device, error);
    return fail_unknown(request->name, search.nearest, error);
}

/* ---- opening ---- */

/* A TPU or GPU if there is one, and else the CPU, with a note that says why. */
static liana_status open_any(liana_context *context, const liana__device_request *request, liana__device **device,
                             liana__error *error)
{
    static const char *const accelerators[] = {"tpu", "gpu"};
    liana__error reasons[2];
    for (int i = 0; i < 2; i++) {
        liana__device_request wanted = *request;
        wanted.name = accelerators[i];
        if (open_named(context, &wanted, device, &reasons[i]) != LIANA_OK) continue;
        snprintf((*device)->note, sizeof(*device)->note, "device auto: %s", accelerators[i]);
        return LIANA_OK;
    }
    liana__device_request cpu = *request;
    cpu.name = "cpu";
    LIANA_TRY(open_named(context, &cpu, device, error));
    snprintf((*device)->note, sizeof(*device)->note, "device auto: cpu (%.200s; %.200s)", reasons[0].message,
             reasons[1].message);
    return LIANA_OK;
}

liana_status liana__device_open_request(liana_context *context, const liana__device_request *request,
                                        liana__device **device, liana__error *error)
{
    *device = NULL;
    const bool any = strcmp(request->name, "auto") == 0;
    LIANA_TRY(any ? open_any(context, request, device, error) : open_named(context, request, device, error));
    if (any) liana__log(context, LIANA__LOG_EXEC, "%s", (*device)->note);
    snprintf((*device)->opened_as, sizeof(*device)->opened_as, "%s", request->name);
    return LIANA_OK;
}

liana_status liana__device_open(liana_context *context, const char *name, liana__device **device, liana__error *error)
{
    return liana__device_open_with(context, name, 0, device, error);
}

liana_status liana__device_open_with(liana_context *context, const char *name, int num_threads, liana__device **device,
                                     liana__error *error)
{
    const liana__device_request request = {.name = name, .num_threads = num_threads};
    return liana__device_open_request(context, &request, device, error);
}

void liana__device_close(liana__device *device)
{
    if (device) device->backend->close(device);
}

liana_status liana__check_buffers(const char *program, const char *what, const liana__node *node,
                                  const liana__buffer *buffer, liana__error *error)
{
    const char *name = node->name ? node->name : node->op->name;
    if (!program) program = "a program";
    if (!buffer) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the %s '%s' is missing, expected %s", program, what,
                           name, liana__type_print(node->dtype, &node->shape).text);
    }
    if (buffer->donated_to) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: the buffer for the %s '%s' is gone: it was donated to %s; keep a buffer that is needed "
                           "again",
                           program, what, name, buffer->donated_to);
    }
    if (buffer->dtype == node->dtype && liana_shape_equal(&buffer->shape, &node->shape)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the %s '%s' is %s, expected %s", program, what, name,
                       liana__type_print(buffer->dtype, &buffer->shape).text,
                       liana__type_print(node->dtype, &node->shape).text);
}

liana_status liana__check_execution(const liana_graph *graph, const liana__execution *execution, bool has_outputs,
                                    liana__error *error)
{
    const char *name = execution->name;
    for (size_t i = 0; i < graph->num_inputs; i++) {
        LIANA_TRY(liana__check_buffers(name, "input", graph->inputs[i], execution->inputs[i], error));
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        LIANA_TRY(liana__check_buffers(name, "variable", graph->variables[i], execution->variables[i], error));
    }
    for (size_t i = 0; i < graph->num_outputs; i++) {
        if (!execution->outputs[i] && !has_outputs) continue;
        LIANA_TRY(liana__check_buffers(name, "output", graph->outputs[i].node, execution->outputs[i], error));
    }
    return LIANA_OK;
}
