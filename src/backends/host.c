/* Buffers in the host's memory. */
#include "backends/host.h"

#include "backends/host_add.h"
#include "base/memory.h"

#include <sched.h>
#include <stdlib.h>

void liana__host_touch(liana__buffer *buffer)
{
    buffer->version = 1 + atomic_fetch_add(&buffer->device->num_versions, 1);
}

liana_status liana__host_buffer_make(liana__device *device, liana_dtype dtype, const liana_shape *shape,
                                     size_t struct_size, liana__host_buffer **out, liana__error *error)
{
    size_t size = liana__byte_size(dtype, shape);
    liana__host_buffer *buffer = *out = calloc(1, struct_size);
    void *data = liana__allocate_aligned(size);
    if (!buffer || !data) {
        free(buffer);
        free(data);
        return liana__fail(error, LIANA_OUT_OF_MEMORY, "out of memory for a buffer %s (%zu bytes)",
                           liana__type_print(dtype, shape).text, size);
    }
    buffer->base = (liana__buffer){.device = device, .dtype = dtype, .shape = *shape, .size = size};
    buffer->data = data;
    atomic_fetch_add(&device->bytes_held, size);
    liana__host_touch(&buffer->base);
    return LIANA_OK;
}

liana_status liana__host_buffer_create(liana__device *device, liana_dtype dtype, const liana_shape *shape,
                                       liana__buffer **out, liana__error *error)
{
    liana__host_buffer *buffer;
    *out = NULL;
    LIANA_TRY(liana__host_buffer_make(device, dtype, shape, sizeof *buffer, &buffer, error));
    *out = &buffer->base;
    return LIANA_OK;
}

liana_status liana__host_buffer_lend(liana__device *device, liana_dtype dtype, const liana_shape *shape, void *data,
                                     liana__buffer **out, liana__error *error)
{
    liana__host_buffer *buffer = calloc(1, sizeof *buffer);
    *out = NULL;
    if (!buffer) return liana__fail_memory(error, "a buffer");
    buffer->base =
        (liana__buffer){.device = device, .dtype = dtype, .shape = *shape, .size = liana__byte_size(dtype, shape)};
    buffer->data = data;
    buffer->lent = true;
    liana__host_touch(&buffer->base);
    *out = &buffer->base;
    return LIANA_OK;
}

void liana__host_buffer_destroy(liana__buffer *buffer)
{
    if (!buffer) return;
    if (!((const liana__host_buffer *)buffer)->lent) {
        atomic_fetch_sub(&buffer->device->bytes_held, buffer->size);
        free(liana__host_data(buffer));
    }
    free(buffer);
}

liana_status liana__host_buffer_write(liana__buffer *buffer, const void *data, liana__error *error)
{
    (void)error;
    memcpy(liana__host_data(buffer), data, buffer->size);
    liana__host_touch(buffer);
    return LIANA_OK;
}

liana_status liana__host_buffer_read(const liana__buffer *buffer, void *data, liana__error *error)
{
    (void)error;
    memcpy(data, liana__host_data(buffer), buffer->size);
    return LIANA_OK;
}

static void add_data(liana__buffer *dst, const void *src)
{
    void *data = liana__host_data(dst);
    int64_t count = liana_shape_size(&dst->shape);
    bool finite = false;
    if (dst->dtype == LIANA_F32) {
        finite = liana__host_choose_add(dst->device->context->isa)(data, data, src, count);
    } else {
        for (int64_t i = 0; i < count; i++) {
            liana__store(data, dst->dtype, i, liana__load(data, dst->dtype, i) + liana__load(src, dst->dtype, i));
        }
    }
    liana__host_touch(dst);
    dst->finite_version = finite ? dst->version : 0;
}

liana_status liana__host_buffer_add(liana__buffer *dst, const liana__buffer *src, liana__error *error)
{
    if (dst->dtype != src->dtype || dst->size != src->size || !liana__dtype_is_float(dst->dtype)) {
        return liana__fail(error, LIANA_INTERNAL, "cannot add a buffer %s to one of %s",
                           liana__type_print(src->dtype, &src->shape).text,
                           liana__type_print(dst->dtype, &dst->shape).text);
    }
    add_data(dst, liana__host_data(src));
    return LIANA_OK;
}

bool liana__host_is_first(atomic_int *arrival)
{
    int expected = LIANA__NOBODY_YET;
    return atomic_compare_exchange_strong(arrival, &expected, LIANA__FIRST_WRITES);
}

void liana__host_was_there(atomic_int *arrival)
{
    atomic_store(arrival, LIANA__FIRST_WAS_THERE);
}

/* The first one computes at this moment, and is about as far. */
void liana__host_add_second(liana__buffer *buffer, const void *data, atomic_int *arrival)
{
    while (atomic_load(arrival) != LIANA__FIRST_WAS_THERE) sched_yield();
    add_data(buffer, data);
}
