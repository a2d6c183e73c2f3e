/* Weights and slots on the device, found by name. */
#include "backends/variables.h"

#include "base/scoped.h"

void liana__variables_init(liana__variables *variables, liana__device *device)
{
    *variables = (liana__variables){.device = device};
}

void liana__variables_free(liana__variables *variables)
{
    for (size_t i = 0; i < variables->count; i++) {
        liana__buffer *buffer = variables->items[i].buffer;
        buffer->device->backend->buffer_destroy(buffer);
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

liana_status liana__variable_write(liana__variable *variable, const void *data, liana__error *error)
{
    const liana__buffer *old = variable->buffer;
    const liana_shape shape = old->shape;
    return old->device->backend->upload(old->device, old->dtype, &shape, data, &variable->buffer, NULL, error);
}

liana_status liana__variable_read(const liana__variable *variable, void *data, liana__error *error)
{
    return variable->buffer->device->backend->download(variable->buffer, data, error);
}

static liana_status make_buffer(liana__device *device, liana_dtype dtype, const liana_shape *shape, const void *data,
                                liana__buffer **buffer, liana__error *error)
{
    *buffer = NULL;
    LIANA__SCOPED_MEMORY void *zeros = data ? NULL : liana__allocate_zeroed(liana__byte_size(dtype, shape));
    if (!data && !zeros) return liana__fail_memory(error, "a variable");
    return device->backend->upload(device, dtype, shape, data ? data : zeros, buffer, NULL, error);
}

liana_status liana__variables_add_buffer(liana__variables *variables, const char *name, liana__buffer *buffer,
                                         liana__error *error)
{
    if (liana__variables_find(variables, name)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "there are two variables called '%s'", name);
    }
    char *own_name = liana__arena_string(&variables->arena, name);
    if (!own_name ||
        !liana__grow(&variables->items, variables->count, &variables->capacity, sizeof *variables->items)) {
        return liana__fail_memory(error, "the list of variables");
    }
    variables->items[variables->count++] = (liana__variable){own_name, buffer};
    return LIANA_OK;
}

liana_status liana__variables_add(liana__variables *variables, const char *name, liana_dtype dtype,
                                  const liana_shape *shape, const void *data, liana__error *error)
{
    return liana__variables_add_on(variables, variables->device, name, dtype, shape, data, error);
}

liana_status liana__variables_add_on(liana__variables *variables, liana__device *device, const char *name,
                                     liana_dtype dtype, const liana_shape *shape, const void *data, liana__error *error)
{
    liana__buffer *buffer;
    LIANA_TRY(make_buffer(device, dtype, shape, data, &buffer, error));
    liana_status status = liana__variables_add_buffer(variables, name, buffer, error);
    if (status != LIANA_OK) buffer->device->backend->buffer_destroy(buffer);
    return status;
}

liana_status liana__variables_bind(const liana__variables *variables, const liana_graph *graph, size_t **out,
                                   liana__error *error)
{
    *out = NULL;
    LIANA__SCOPED_MEMORY size_t *places = calloc(graph->num_variables + 1, sizeof *places);
    if (!places) return liana__fail_memory(error, "the variables of a program");
    for (size_t i = 0; i < graph->num_variables; i++) {
        const liana__node *node = graph->variables[i];
        const liana__variable *variable = liana__variables_find(variables, node->name);
        bool fits = variable && variable->buffer->dtype == node->dtype &&
                    liana_shape_equal(&variable->buffer->shape, &node->shape);
        if (!fits) {
            return liana__fail(error, LIANA_INTERNAL, "the device has no variable '%s' of type %s", node->name,
                               liana__type_print(node->dtype, &node->shape).text);
        }
        places[i] = (size_t)(variable - variables->items);
    }
    *out = places;
    places = NULL;
    return LIANA_OK;
}
