/* Buffers of a remote device. Uploads travel while the caller goes on. */
#include "backends/remote/device.h"

#include "base/memory.h"
#include "base/scoped.h"

typedef struct upload_fence {
    liana__served_device *device;
    uint64_t number;
} upload_fence;

void liana__served_buffer_touch(liana__buffer *buffer)
{
    buffer->version = 1 + atomic_fetch_add(&buffer->device->num_versions, 1);
}

liana_status liana__served_buffer_make(liana__device *base, liana_dtype dtype, const liana_shape *shape,
                                       liana__buffer **out, liana__error *error)
{
    liana__served_device *device = (liana__served_device *)base;
    LIANA__SCOPED_MEMORY liana__served_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer) return liana__fail_memory(error, "a buffer");
    pthread_mutex_lock(&device->mutex);
    liana_status status = liana__served_take_number(&device->buffers, &buffer->number, error);
    pthread_mutex_unlock(&device->mutex);
    LIANA_TRY(status);
    buffer->base =
        (liana__buffer){.device = base, .dtype = dtype, .shape = *shape, .size = liana__byte_size(dtype, shape)};
    atomic_fetch_add(&base->bytes_held, buffer->base.size);
    liana__served_buffer_touch(&buffer->base);
    *out = &buffer->base;
    buffer = NULL;
    return LIANA_OK;
}

void liana__served_buffer_destroy(liana__buffer *base)
{
    liana__served_buffer *buffer = (liana__served_buffer *)base;
    if (!buffer) return;
    liana__served_device *device = (liana__served_device *)base->device;
    pthread_mutex_lock(&device->mutex);
    /* Where there is no memory to note it, the server keeps the buffer until the device is closed. */
    if (liana__grow(&device->dropped, device->num_dropped, &device->dropped_capacity, sizeof *device->dropped)) {
        device->dropped[device->num_dropped++] = buffer->number;
    }
    pthread_mutex_unlock(&device->mutex);
    atomic_fetch_sub(&device->base.bytes_held, base->size);
    free(buffer);
}

/* The buffer for an upload: the donated one, if it is of that type. */
static liana_status choose_buffer(liana__device *device, liana_dtype dtype, const liana_shape *shape,
                                  liana__buffer *donated, liana__buffer **chosen, liana__error *error)
{
    *chosen = donated;
    if (donated && donated->dtype == dtype && liana_shape_equal(&donated->shape, shape)) return LIANA_OK;
    return liana__served_buffer_make(device, dtype, shape, chosen, error);
}

liana_status liana__served_upload(liana__device *base, liana_dtype dtype, const liana_shape *shape, const void *data,
                                  liana__buffer **out, liana__fence **fence, liana__error *error)
{
    liana__served_device *device = (liana__served_device *)base;
    liana__buffer *donated = *out, *buffer;
    LIANA__SCOPED_MEMORY upload_fence *made = fence ? calloc(1, sizeof *made) : NULL;
    liana__text text = {0};
    uint64_t number;
    if (fence) *fence = NULL;
    if (fence && !made) return liana__fail_memory(error, "an upload");
    LIANA_TRY(choose_buffer(base, dtype, shape, donated, &buffer, error));
    liana__wire_put_u32(&text, ((liana__served_buffer *)buffer)->number);
    liana__wire_put_type(&text, dtype, shape);
    liana_status status = liana__served_ask(device, LIANA__SERVED_UPLOAD, &text, data, buffer->size, &number, error);
    if (status == LIANA_OK && !fence) status = liana__served_await(device, number, NULL, NULL, error);
    if (status != LIANA_OK) {
        if (buffer != donated) liana__served_buffer_destroy(buffer);
        return status;
    }
    if (donated && donated != buffer) liana__served_buffer_destroy(donated);
    liana__served_buffer_touch(buffer);
    *out = buffer;
    if (fence) {
        *made = (upload_fence){device, number};
        *fence = (liana__fence *)(void *)made;
        made = NULL;
    }
    return LIANA_OK;
}

liana_status liana__served_wait(liana__fence *opaque, liana__error *error)
{
    LIANA__SCOPED_MEMORY upload_fence *fence = (upload_fence *)(void *)opaque;
    return fence ? liana__served_await(fence->device, fence->number, NULL, NULL, error) : LIANA_OK;
}

liana_status liana__served_download(const liana__buffer *base, void *data, liana__error *error)
{
    liana__served_device *device = (liana__served_device *)base->device;
    LIANA__SCOPED_MEMORY uint8_t *answer = NULL;
    liana__wire wire;
    liana__text text = {0};
    liana__wire_put_u32(&text, ((const liana__served_buffer *)base)->number);
    LIANA_TRY(liana__served_call(device, LIANA__SERVED_DOWNLOAD, &text, NULL, 0, &answer, &wire, error));
    if (liana__wire_left(&wire) != base->size) {
        return liana__fail(error, LIANA_INVALID_DATA, "%s: found %zu bytes of a buffer, expected %zu", device->name,
                           liana__wire_left(&wire), base->size);
    }
    memcpy(data, wire.next, base->size);
    return LIANA_OK;
}
