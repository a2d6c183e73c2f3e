/* The list of backends, and finding one by its name. */
#include "backends/backend.h"

#include "base/text.h"

const liana__backend *const liana__backends[] = {
#define LIANA__BACKEND(folder, name) &liana__backend_##name,
#include "backends/backends.def"
#undef LIANA__BACKEND
    NULL,
};

enum { NUM_BACKENDS = sizeof liana__backends / sizeof *liana__backends - 1 };

liana_status liana__device_open(liana_context *context, const char *name, liana__device **device, liana__error *error)
{
    return liana__device_open_with(context, name, 0, device, error);
}

liana_status liana__device_open_with(liana_context *context, const char *name, int num_threads, liana__device **device,
                                     liana__error *error)
{
    *device = NULL;
    const char *names[NUM_BACKENDS];
    for (int i = 0; i < NUM_BACKENDS; i++) {
        names[i] = liana__backends[i]->name;
        if (strcmp(name, names[i]) == 0) return liana__backends[i]->open(context, num_threads, device, error);
    }
    const char *nearest = liana__nearest(name, names, NUM_BACKENDS);
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "there is no device '%s' among those that 'liana list devices' shows%s", name,
                       liana__hint(nearest).text);
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

liana_status liana__check_execution(const liana_graph *graph, const liana__execution *execution, liana__error *error)
{
    const char *name = execution->name;
    for (size_t i = 0; i < graph->num_inputs; i++) {
        LIANA_TRY(liana__check_buffers(name, "input", graph->inputs[i], execution->inputs[i], error));
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        LIANA_TRY(liana__check_buffers(name, "variable", graph->variables[i], execution->variables[i], error));
    }
    for (size_t i = 0; i < graph->num_outputs; i++) {
        if (!execution->outputs[i]) continue;
        LIANA_TRY(liana__check_buffers(name, "output", graph->outputs[i].node, execution->outputs[i], error));
    }
    return LIANA_OK;
}
