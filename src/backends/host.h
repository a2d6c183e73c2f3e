/* host.h - buffers in the host's memory, shared by the backends that compute there. */
#ifndef LIANA_BACKENDS_HOST_H
#define LIANA_BACKENDS_HOST_H

#include "backends/backend.h"

typedef struct liana__host_buffer {
    liana__buffer base;
    void *data; /* aligned to LIANA__ALIGNMENT */
    bool lent;  /* the memory is somebody else's */
} liana__host_buffer;

/* Makes a struct of `struct_size` bytes that begins with a liana__host_buffer; zeros behind it. */
liana_status liana__host_buffer_make(liana__device *device, liana_dtype dtype, const liana_shape *shape,
                                     size_t struct_size, liana__host_buffer **buffer, liana__error *error);
liana_status liana__host_buffer_create(liana__device *device, liana_dtype dtype, const liana_shape *shape,
                                       liana__buffer **buffer, liana__error *error);
/* A buffer of a device that computes in the host's memory whose contents are the caller's: aligned, and neither changed
 * nor freed as long as the buffer exists. Nobody may write to it. */
liana_status liana__host_buffer_lend(liana__device *device, liana_dtype dtype, const liana_shape *shape, void *data,
                                     liana__buffer **buffer, liana__error *error) LIANA_MUST_USE;
void liana__host_buffer_destroy(liana__buffer *buffer);
liana_status liana__host_buffer_write(liana__buffer *buffer, const void *data, liana__error *error);
liana_status liana__host_buffer_read(const liana__buffer *buffer, void *data, liana__error *error);
/* dst += src, element by element (float dtypes): how partial sums of shards meet. */
liana_status liana__host_buffer_add(liana__buffer *dst, const liana__buffer *src, liana__error *error);

/* Two executions may accumulate into one output: the first stores, the second adds. The state of each output; a + b is
 * b + a, so no bit depends on which was the first. */
enum liana__arrival { LIANA__NOBODY_YET, LIANA__FIRST_WRITES, LIANA__FIRST_WAS_THERE };

/* For an execution that shares an output with another (cpu.h): whether it is the first, and so writes it. It tells the
 * other when it has done so, also where it failed. */
bool liana__host_is_first(atomic_int *arrival);
void liana__host_was_there(atomic_int *arrival);
/* For the second one: waits for the first, and adds `data`, of the buffer's type, to its results. */
void liana__host_add_second(liana__buffer *buffer, const void *data, atomic_int *arrival);

static inline void *liana__host_data(const liana__buffer *buffer)
{
    return ((const liana__host_buffer *)buffer)->data;
}

/* Gives a buffer a new version: its contents may have changed. */
void liana__host_touch(liana__buffer *buffer);

/* The contents of any buffer, where they are in the host's memory; NULL: they are not. Only the buffer's owner may
 * write there, while nothing is executed, and touches it. */
static inline void *liana__host_view(const liana__buffer *buffer)
{
    return buffer->device->backend->in_host_memory ? liana__host_data(buffer) : NULL;
}

#endif
