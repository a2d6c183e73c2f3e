/* Buffers that cannot be changed, uploads that complete as late as they may, and donated buffers that are gone. */
#include "backends/reference/reference_buffer.h"

#include "backends/host.h"

#include <stdlib.h>

typedef struct reference_buffer {
    liana__host_buffer own;
    const void *coming;  /* the host's data of an upload under way; NULL: complete */
    liana__fence *fence; /* of that upload */
    char *donated_to;
} reference_buffer;

struct liana__fence {
    reference_buffer *buffer; /* NULL: complete */
};

static void free_buffer(reference_buffer *buffer)
{
    if (buffer->fence) buffer->fence->buffer = NULL;
    free(buffer->own.data);
    free(buffer->donated_to);
    free(buffer);
}

void liana__reference_forget_donated(liana__reference_device *device)
{
    for (size_t i = 0; i < LIANA__REMEMBERED_DONATED; i++) {
        if (device->donated[i]) free_buffer((reference_buffer *)device->donated[i]);
    }
}

static liana_status make(liana__device *device, liana_dtype dtype, const liana_shape *shape, reference_buffer **out,
                         liana__error *error)
{
    liana__host_buffer *buffer;
    LIANA_TRY(liana__host_buffer_make(device, dtype, shape, sizeof(reference_buffer), &buffer, error));
    *out = (reference_buffer *)buffer;
    return LIANA_OK;
}

liana_status liana__reference_buffer_make(liana__device *device, liana_dtype dtype, const liana_shape *shape,
                                          const void *data, liana__buffer **out, liana__error *error)
{
    reference_buffer *buffer;
    LIANA_TRY(make(device, dtype, shape, &buffer, error));
    memcpy(buffer->own.data, data, buffer->own.base.size);
    *out = &buffer->own.base;
    return LIANA_OK;
}

void liana__reference_buffer_destroy(liana__buffer *base)
{
    if (!base || base->donated_to) return;
    atomic_fetch_sub(&base->device->bytes_held, base->size);
    free_buffer((reference_buffer *)base);
}

void liana__reference_donate(liana__buffer *base, const char *to)
{
    if (!base || base->donated_to) return;
    reference_buffer *buffer = (reference_buffer *)base;
    liana__reference_device *device = (liana__reference_device *)base->device;
    atomic_fetch_sub(&device->base.bytes_held, base->size);
    memset(buffer->own.data, 0xFF, base->size); /* NaN, for later readers */
    free(buffer->own.data);
    buffer->own.data = NULL;
    buffer->donated_to = to ? strdup(to) : NULL;
    base->donated_to = buffer->donated_to ? buffer->donated_to : "a program";
    liana__buffer **place = &device->donated[device->num_donated++ % LIANA__REMEMBERED_DONATED];
    if (*place) free_buffer((reference_buffer *)*place);
    *place = base;
}

static void complete(reference_buffer *buffer)
{
    if (!buffer->coming) return;
    memcpy(buffer->own.data, buffer->coming, buffer->own.base.size);
    buffer->coming = NULL;
    if (buffer->fence) buffer->fence->buffer = NULL;
    buffer->fence = NULL;
}

void *liana__reference_data(liana__buffer *base)
{
    reference_buffer *buffer = (reference_buffer *)base;
    complete(buffer);
    return buffer->own.data;
}

liana_status liana__reference_upload(liana__device *device, liana_dtype dtype, const liana_shape *shape,
                                     const void *data, liana__buffer **out, liana__fence **fence, liana__error *error)
{
    reference_buffer *buffer;
    if (fence) *fence = NULL;
    if (*out && (*out)->donated_to) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "a buffer that is donated to an upload is gone already: it "
                           "was donated to %s",
                           (*out)->donated_to);
    }
    LIANA_TRY(make(device, dtype, shape, &buffer, error));
    buffer->coming = data;
    if (fence) {
        *fence = malloc(sizeof **fence);
        if (!*fence) {
            free_buffer(buffer);
            return liana__fail_memory(error, "an upload");
        }
        (*fence)->buffer = buffer;
        buffer->fence = *fence;
    } else {
        complete(buffer);
    }
    liana__reference_donate(*out, "an upload");
    *out = &buffer->own.base;
    return LIANA_OK;
}

liana_status liana__reference_wait(liana__fence *fence, liana__error *error)
{
    (void)error;
    if (fence && fence->buffer) complete(fence->buffer);
    free(fence);
    return LIANA_OK;
}

liana_status liana__reference_download(const liana__buffer *base, void *data, liana__error *error)
{
    if (base->donated_to) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "a buffer that is read is gone: it was donated to %s",
                           base->donated_to);
    }
    memcpy(data, liana__reference_data((liana__buffer *)base), base->size);
    return LIANA_OK;
}
