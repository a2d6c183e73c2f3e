/* Variables in parts: buffers whose memory is elsewhere. Each has a device of its own, which is nothing but the address
 * of these functions. */
#include "distribute/cluster/held.h"

#include "base/scoped.h"

typedef struct held {
    liana__buffer base;
    liana__device device;
    liana__slice_holder holder;
    size_t place;
    double begins_at;
} held;

static liana_status gone(const held *own, liana__error *error)
{
    if (own->holder.update) return LIANA_OK;
    return liana__fail(error, LIANA_INTERNAL, "the holder of a variable in slices is gone");
}

static liana_status upload(liana__device *device, liana_dtype dtype, const liana_shape *shape, const void *data,
                           liana__buffer **buffer, liana__fence **fence, liana__error *error)
{
    held *own = (held *)*buffer;
    if (!own || own->base.dtype != dtype || !liana_shape_equal(&own->base.shape, shape)) {
        return liana__fail(error, LIANA_INTERNAL, "a variable in slices was given other values than its own");
    }
    if (fence) *fence = NULL;
    LIANA_TRY(gone(own, error));
    own->base.version = atomic_fetch_add(&device->num_versions, 1) + 1;
    return own->holder.scatter(own->holder.update, own->place, data, error);
}

static liana_status download(const liana__buffer *buffer, void *data, liana__error *error)
{
    const held *own = (const held *)buffer;
    LIANA_TRY(gone(own, error));
    return own->holder.gather(own->holder.update, own->place, data, error);
}

static void buffer_destroy(liana__buffer *buffer)
{
    free(buffer);
}

static const liana__backend backend = {
    .name = "slices",
    .doc = "Variables that the owners of slices hold in parts.",
    .upload = upload,
    .download = download,
    .buffer_destroy = buffer_destroy,
};

bool liana__is_held(const liana__variable *variable)
{
    return variable->buffer->device->backend == &backend;
}

double liana__held_begins_at(const liana__variable *variable)
{
    return ((const held *)variable->buffer)->begins_at;
}

liana_status liana__held_add(liana__variables *variables, const char *name, liana_dtype dtype, const liana_shape *shape,
                             double begins_at, const liana__slice_holder *holder, liana__error *error)
{
    held *made = calloc(1, sizeof *made);
    if (!made) return liana__fail_memory(error, "a variable");
    made->base = (liana__buffer){.device = &made->device,
                                 .dtype = dtype,
                                 .shape = *shape,
                                 .size = liana__byte_size(dtype, shape)};
    made->device.backend = &backend;
    made->device.context = variables->device->context;
    made->holder = *holder;
    made->place = variables->count;
    made->begins_at = begins_at;
    liana_status status = liana__variables_add_buffer(variables, name, &made->base, error);
    if (status != LIANA_OK) free(made);
    return status;
}

liana_status liana__variable_read_own(const liana__variable *variable, void *data, liana__error *error)
{
    if (!liana__is_held(variable)) return liana__variable_read(variable, data, error);
    const held *own = (const held *)variable->buffer;
    LIANA_TRY(gone(own, error));
    return own->holder.read_own(own->holder.update, own->place, data, error);
}

liana_status liana__held_attend(const liana__variables *variables, size_t done, liana__error *error)
{
    size_t number = 0;
    for (size_t i = 0; i < variables->count; i++) {
        const liana__variable *variable = &variables->items[i];
        if (!liana__is_held(variable) || number++ < done) continue;
        LIANA__SCOPED_MEMORY void *data = malloc(variable->buffer->size + 1);
        if (!data) return liana__fail_memory(error, "what others hold");
        LIANA_TRY(liana__variable_read(variable, data, error));
    }
    return LIANA_OK;
}

void liana__held_release(const liana__variables *variables, const struct liana__sliced_update *update)
{
    for (size_t i = 0; i < variables->count; i++) {
        held *own = (held *)variables->items[i].buffer;
        if (liana__is_held(&variables->items[i]) && own->holder.update == update) own->holder.update = NULL;
    }
}
