/* reference_buffer.h - the reference device's buffers, which behave like an accelerator's. */
#ifndef LIANA_BACKENDS_REFERENCE_BUFFER_H
#define LIANA_BACKENDS_REFERENCE_BUFFER_H

#include "backends/backend.h"

/* Donated buffers that are remembered, so that using one again is an error with its name. Older ones are forgotten. */
enum { LIANA__REMEMBERED_DONATED = 1024 };

typedef struct liana__reference_device {
    liana__device base;
    liana__buffer *donated[LIANA__REMEMBERED_DONATED];
    size_t num_donated; /* so far */
} liana__reference_device;

void liana__reference_forget_donated(liana__reference_device *device);

/* A buffer with a copy of `data`. */
liana_status liana__reference_buffer_make(liana__device *device, liana_dtype dtype, const liana_shape *shape,
                                          const void *data, liana__buffer **buffer, liana__error *error);
/* NULL and donated buffers are left alone. */
void liana__reference_buffer_destroy(liana__buffer *buffer);
/* Takes a buffer's contents and marks it as gone. `to` names the program, for messages. NULL buffers are left alone. */
void liana__reference_donate(liana__buffer *buffer, const char *to);
/* Its contents; completes an upload that is under way. */
void *liana__reference_data(liana__buffer *buffer);

/* See liana__backend. */
liana_status liana__reference_upload(liana__device *device, liana_dtype dtype, const liana_shape *shape,
                                     const void *data, liana__buffer **buffer, liana__fence **fence,
                                     liana__error *error);
liana_status liana__reference_wait(liana__fence *fence, liana__error *error);
liana_status liana__reference_download(const liana__buffer *buffer, void *data, liana__error *error);

#endif
