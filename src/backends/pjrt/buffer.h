/* buffer.h - an opened device of a plugin, and its buffers. */
#ifndef LIANA_BACKENDS_PJRT_BUFFER_H
#define LIANA_BACKENDS_PJRT_BUFFER_H

#include "backends/backend.h"
#include "backends/pjrt/client.h"

typedef struct liana__pjrt_device {
    liana__device base;
    liana__pjrt_client *client;
    void *handle;          /* the plugin's, and the client's */
    size_t number;         /* among the client's devices */
    bool default_products; /* platform.h */
    bool is_exact;         /* platform.h */
    char name[256];        /* for messages: "gpu:0 (NVIDIA H200)" */
} liana__pjrt_device;

/* The contents may be replaced: the struct stays, the plugin's buffer is another one. */
typedef struct liana__pjrt_buffer {
    liana__buffer base;
    void *handle; /* the plugin's; NULL: gone */
} liana__pjrt_buffer;

/* Puts a result into *buffer: NULL, or a buffer whose contents are donated. The handle is taken over, also on failure.
 */
liana_status liana__pjrt_buffer_put(liana__pjrt_device *device, liana_dtype dtype, const liana_shape *shape,
                                    void *handle, liana__buffer **buffer, liana__error *error) LIANA_MUST_USE;

/* After a program that failed: notes it where the program has taken the buffer over. */
void liana__pjrt_buffer_mark_gone(liana__buffer *buffer);

/* See liana__backend. */
liana_status liana__pjrt_upload(liana__device *device, liana_dtype dtype, const liana_shape *shape, const void *data,
                                liana__buffer **buffer, liana__fence **fence, liana__error *error) LIANA_MUST_USE;
liana_status liana__pjrt_wait(liana__fence *fence, liana__error *error) LIANA_MUST_USE;
liana_status liana__pjrt_download(const liana__buffer *buffer, void *data, liana__error *error) LIANA_MUST_USE;
void liana__pjrt_buffer_destroy(liana__buffer *buffer);

#endif
