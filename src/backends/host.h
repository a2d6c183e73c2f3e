/* host.h - buffers in the host's memory, shared by the backends that compute there. */
#ifndef LIANA_BACKENDS_HOST_H
#define LIANA_BACKENDS_HOST_H

#include "backends/backend.h"

typedef struct liana__host_buffer {
    liana__buffer base;
    void *data; /* aligned to LIANA__ALIGNMENT */
} liana__host_buffer;

liana_status liana__host_buffer_create(liana__device *device, liana_dtype dtype, const liana_shape *shape,
                                       liana__buffer **buffer, liana__error *error);
void liana__host_buffer_destroy(liana__buffer *buffer);
liana_status liana__host_buffer_write(liana__buffer *buffer, const void *data, liana__error *error);
liana_status liana__host_buffer_read(const liana__buffer *buffer, void *data, liana__error *error);
liana_status liana__host_buffer_add(liana__buffer *dst, const liana__buffer *src, liana__error *error);

/* For an execution that has an output of two (backend.h): whether it is the first, and so writes it. It tells the other
 * when it has done so, also where it failed. */
bool liana__host_is_first(atomic_int *arrival);
void liana__host_was_there(atomic_int *arrival);
/* For the second one: waits for the first, and adds `data`, of the buffer's type, to what that wrote. */
void liana__host_add_second(liana__buffer *buffer, const void *data, atomic_int *arrival);

static inline void *liana__host_data(const liana__buffer *buffer)
{
    return ((const liana__host_buffer *)buffer)->data;
}

/* Gives a buffer a new version: its contents may have changed. */
void liana__host_touch(liana__buffer *buffer);

/* Checks that the buffers of an execution are there and have the types of the graph: INTERNAL if not. */
liana_status liana__host_check_buffers(const char *what, liana__node *const *nodes, size_t count,
                                       liana__buffer *const *buffers, liana__error *error);

#endif
