/* Weights and slots on the device, found by name. */
#include "train/core/variables.h"

#include <stdlib.h>

void liana__variables_init(liana__variables *variables, liana__device *device)
{
    *variables = (liana__variables){.device = device};
}

void liana__variables_free(liana__variables *variables)
{
    for (size_t i = 0; i < variables->count; i++) {
        variables->device->backend->buffer_destroy(variables->items[i].buffer);
    }
    free(variables->items);
    liana__arena_free(&variables->arena);
    *variables = (liana__variables){0};
}

liana__variable *liana__variables_find(const liana__variables *variables, const char *name)
{
    for (size_t i = 0; i < variables->count; i++) {
        if (strcmp(variables->items[i].name, name) == 0) return &variables->items[i];
    }
    return NULL;
}

static liana_status write_contents(liana__buffer *buffer, const void *data, liana__error *error)
{
    if (data) return buffer->device->backend->buffer_write(buffer, data, error);
    void *zeros = liana__allocate_zeroed(buffer->size);
    if (!zeros) return liana__fail_memory(error, "a variable");
    liana_status status = buffer->device->backend->buffer_write(buffer, zeros, error);
    free(zeros);
    return status;
}

liana_status liana__variables_add(liana__variables *variables, const char *name, liana_dtype dtype,
                                  const liana_shape *shape, const void *data, liana__error *error)
{
    if (liana__variables_find(variables, name)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "there are two variables called '%s'", name);
    }
    char *own_name = liana__arena_string(&variables->arena, name);
    if (!own_name ||
        !liana__grow(&variables->items, variables->count, &variables->capacity, sizeof *variables->items)) {
        return liana__fail_memory(error, "the list of variables");
    }
    const liana__backend *backend = variables->device->backend;
    liana__buffer *buffer;
    LIANA_TRY(backend->buffer_create(variables->device, dtype, shape, &buffer, error));
    liana_status status = write_contents(buffer, data, error);
    if (status != LIANA_OK) {
        backend->buffer_destroy(buffer);
        return status;
    }
    variables->items[variables->count++] = (liana__variable){own_name, buffer};
    return LIANA_OK;
}

liana_status liana__variables_bind(const liana__variables *variables, const liana_graph *graph, liana__buffer ***out,
                                   liana__error *error)
{
    *out = NULL;
    liana__buffer **buffers = calloc(graph->num_variables + 1, sizeof *buffers);
    if (!buffers) return liana__fail_memory(error, "the variables of a program");
    for (size_t i = 0; i < graph->num_variables; i++) {
        const liana__node *node = graph->variables[i];
        const liana__variable *variable = liana__variables_find(variables, node->name);
        bool fits = variable && variable->buffer->dtype == node->dtype &&
                    liana_shape_equal(&variable->buffer->shape, &node->shape);
        if (!fits) {
            free(buffers);
            return liana__fail(error, LIANA_INTERNAL, "the run has no variable '%s' of type %s", node->name,
                               liana__type_print(node->dtype, &node->shape).text);
        }
        buffers[i] = variable->buffer;
    }
    *out = buffers;
    return LIANA_OK;
}
