/* Buffers of a plugin's device: uploads, downloads, and results that take the place of donated ones. */
#include "backends/pjrt/buffer.h"

#include <stdlib.h>
#include <string.h>

/* A liana__fence of this device. */
typedef struct pjrt_fence {
    const liana__pjrt_device *device;
    void *event;
} pjrt_fence;

static const struct {
    liana_dtype dtype;
    int32_t type;
} types[] = {
    {LIANA_F32, LIANA__PJRT_F32}, {LIANA_BF16, LIANA__PJRT_BF16}, {LIANA_F64, LIANA__PJRT_F64},
    {LIANA_S32, LIANA__PJRT_S32}, {LIANA_S64, LIANA__PJRT_S64},   {LIANA_U8, LIANA__PJRT_U8},
    {LIANA_U32, LIANA__PJRT_U32}, {LIANA_U64, LIANA__PJRT_U64},   {LIANA_BOOL, LIANA__PJRT_PRED},
    {LIANA_F16, LIANA__PJRT_F16}, {LIANA_S8, LIANA__PJRT_S8},     {LIANA_S16, LIANA__PJRT_S16},
    {LIANA_U16, LIANA__PJRT_U16},
};

static liana_status find_type(liana_dtype dtype, int32_t *type, liana__error *error)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].dtype != dtype) continue;
        *type = types[i].type;
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_UNIMPLEMENTED, "a PJRT device holds no %s", liana_dtype_name(dtype));
}

/* Names the device and the array that was to be moved. */
static liana_status blame(const liana__pjrt_device *device, const char *what, liana_dtype dtype,
                          const liana_shape *shape, liana__error *error)
{
    device->client->has_failed = true;
    return liana__fail_within(error, "%s, %s %s", device->name, what, liana__type_print(dtype, shape).text);
}

static const liana__pjrt_device *device_of(const liana__buffer *buffer)
{
    return (const liana__pjrt_device *)buffer->device;
}

static void destroy_handle(const liana__pjrt_device *device, void *handle)
{
    liana__pjrt_destroy(&device->client->plugin, LIANA__PJRT_BUFFER_DESTROY, handle);
}

liana_status liana__pjrt_buffer_put(liana__pjrt_device *device, liana_dtype dtype, const liana_shape *shape,
                                    void *handle, liana__buffer **out, liana__error *error)
{
    liana__pjrt_buffer *buffer = (liana__pjrt_buffer *)*out;
    if (!buffer) {
        buffer = calloc(1, sizeof *buffer);
        if (!buffer) {
            destroy_handle(device, handle);
            return liana__fail_memory(error, "a buffer");
        }
        size_t size = liana__byte_size(dtype, shape);
        buffer->base = (liana__buffer){.device = &device->base, .dtype = dtype, .shape = *shape, .size = size};
        atomic_fetch_add(&device->base.bytes_held, size);
        *out = &buffer->base;
    }
    destroy_handle(device, buffer->handle);
    buffer->handle = handle;
    buffer->base.version = 1 + atomic_fetch_add(&device->base.num_versions, 1);
    return LIANA_OK;
}

void liana__pjrt_buffer_destroy(liana__buffer *base)
{
    if (!base) return;
    liana__pjrt_buffer *buffer = (liana__pjrt_buffer *)base;
    atomic_fetch_sub(&base->device->bytes_held, base->size);
    destroy_handle(device_of(base), buffer->handle);
    free(buffer);
}

void liana__pjrt_buffer_mark_gone(liana__buffer *base)
{
    liana__pjrt_bool_args args = {.object = ((liana__pjrt_buffer *)base)->handle};
    const liana__pjrt_plugin *plugin = &device_of(base)->client->plugin;
    liana_status known = liana__pjrt_call(plugin, LIANA__PJRT_BUFFER_IS_DELETED, &args, NULL);
    if (known != LIANA_OK || args.yes) base->donated_to = "a program that failed";
}

/* ---- uploads ---- */

static liana_status begin_upload(const liana__pjrt_device *device, liana_dtype dtype, const liana_shape *shape,
                                 const void *data, bool waits, liana__pjrt_upload_args *args, liana__error *error)
{
    *args = (liana__pjrt_upload_args){
        .client = device->client->handle,
        .data = data,
        .dims = shape->dims,
        .num_dims = (size_t)shape->rank,
        .semantics = waits ? LIANA__PJRT_UNTIL_RETURN : LIANA__PJRT_UNTIL_EVENT,
        .device = device->handle,
    };
    LIANA_TRY(find_type(dtype, &args->type, error));
    return liana__pjrt_call(&device->client->plugin, LIANA__PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER, args, error);
}

liana_status liana__pjrt_upload(liana__device *base, liana_dtype dtype, const liana_shape *shape, const void *data,
                                liana__buffer **buffer, liana__fence **fence, liana__error *error)
{
    liana__pjrt_device *device = (liana__pjrt_device *)base;
    pjrt_fence *made = NULL;
    if (fence) {
        *fence = NULL;
        made = calloc(1, sizeof *made);
        if (!made) return liana__fail_memory(error, "an upload");
    }
    liana__pjrt_upload_args args;
    liana_status status = begin_upload(device, dtype, shape, data, !fence, &args, error);
    if (status != LIANA_OK) {
        free(made);
        return blame(device, "uploading", dtype, shape, error);
    }
    if (fence) {
        *made = (pjrt_fence){device, args.done};
        *fence = (liana__fence *)made;
    } else {
        status = liana__pjrt_await(&device->client->plugin, args.done, error);
    }
    if (status != LIANA_OK) {
        destroy_handle(device, args.buffer);
        return blame(device, "uploading", dtype, shape, error);
    }
    return liana__pjrt_buffer_put(device, dtype, shape, args.buffer, buffer, error);
}

liana_status liana__pjrt_wait(liana__fence *fence, liana__error *error)
{
    if (!fence) return LIANA_OK;
    pjrt_fence *own = (pjrt_fence *)fence;
    liana_status status = liana__pjrt_await(&own->device->client->plugin, own->event, error);
    if (status != LIANA_OK) liana__fail_within(error, "%s, an upload", own->device->name);
    free(own);
    return status;
}

/* ---- downloads ---- */

liana_status liana__pjrt_download(const liana__buffer *base, void *data, liana__error *error)
{
    const liana__pjrt_device *device = device_of(base);
    if (base->donated_to) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "a buffer that is read is gone: it was donated to %s",
                           base->donated_to);
    }
    int64_t order[LIANA_MAX_RANK];
    const int rank = base->shape.rank;
    for (int i = 0; i < rank; i++) order[i] = rank - 1 - i;
    liana__pjrt_layout layout = {.head = {.struct_size = sizeof layout}};
    layout.tiled.head.struct_size = sizeof layout.tiled;
    layout.tiled.minor_to_major = order;
    layout.tiled.num_dims = (size_t)rank;
    liana__pjrt_download_args args = {.buffer = ((const liana__pjrt_buffer *)base)->handle,
                                      .layout = &layout,
                                      .data = data,
                                      .size = base->size};
    liana_status status = liana__pjrt_call(&device->client->plugin, LIANA__PJRT_BUFFER_TO_HOST_BUFFER, &args, error);
    if (status == LIANA_OK) status = liana__pjrt_await(&device->client->plugin, args.done, error);
    return status == LIANA_OK ? status : blame(device, "reading", base->dtype, &base->shape, error);
}
