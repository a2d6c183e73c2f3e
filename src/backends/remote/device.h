/* device.h - the client's side of a remote device: requests, answers and buffers. */
#ifndef LIANA_BACKENDS_REMOTE_DEVICE_H
#define LIANA_BACKENDS_REMOTE_DEVICE_H

#include "backends/backend.h"
#include "backends/remote/wire.h"
#include "distribute/transport/service.h"

#include <pthread.h>

/* Numbers that are free again, and the first that never was used. */
typedef struct liana__served_numbers {
    uint32_t *free;
    size_t num_free, capacity;
    uint32_t next;
} liana__served_numbers;

/* Executions that may run ahead of the program: enough to hide the way there and back, and few enough that their inputs
 * do not pile up at the server. */
enum { LIANA__SERVED_AHEAD = 4 };

typedef struct liana__served_device {
    liana__device base;
    pthread_mutex_t mutex; /* of the connection, and of all below */
    liana__link *link;
    char *name;                          /* "/job:worker/task:1/cpu:0", for messages */
    uint64_t asked;                      /* requests so far ... */
    uint64_t answered;                   /* ... and those whose answers have come */
    liana__error failed;                 /* the first answer that was an error and that nobody has waited for */
    uint64_t ahead[LIANA__SERVED_AHEAD]; /* the last executions for which nobody has waited */
    size_t num_ahead;                    /* in all */
    liana__error lost;                   /* why the connection has ended */
    liana__served_numbers buffers, executables;
    uint32_t *dropped; /* buffers that the server has not been told of yet */
    size_t num_dropped, dropped_capacity;
    size_t count; /* devices that the name means */
    uint32_t isa; /* 1 + the instruction set of a server's CPU; 0: the device is no CPU */
} liana__served_device;

typedef struct liana__served_buffer {
    liana__buffer base;
    uint32_t number;
} liana__served_buffer;

/* Connects to a server, and opens no device yet. `name` is its name in messages. The backend's `close` closes it. */
liana_status liana__served_connect(liana_context *context, const liana__service_place *place, const char *name,
                                   liana__served_device **device, liana__error *error);
/* The client, at the head of OPEN and DEVICES. */
void liana__served_put_client(liana__text *text);

/* Begins a request; `more` follows its bytes, which the call frees. *number (NULL: nobody waits) is for
 * liana__served_await. Errors: UNAVAILABLE with the device and where it is. */
liana_status liana__served_ask(liana__served_device *device, liana__served_kind kind, liana__text *bytes,
                               const void *more, size_t num_more, uint64_t *number, liana__error *error);
/* Waits for an answer. `answer` (NULL: only the status is wanted) is its bytes, which `wire` reads and the caller
 * frees. Errors: the server's, with the device's name; that of an earlier request for which nobody has waited. */
liana_status liana__served_await(liana__served_device *device, uint64_t number, uint8_t **answer, liana__wire *wire,
                                 liana__error *error);
/* Lets an execution run on, and waits for the one LIANA__SERVED_AHEAD before it. Errors: those of earlier requests. */
liana_status liana__served_run_ahead(liana__served_device *device, uint64_t number, liana__error *error);
/* Both. */
liana_status liana__served_call(liana__served_device *device, liana__served_kind kind, liana__text *bytes,
                                const void *more, size_t num_more, uint8_t **answer, liana__wire *wire,
                                liana__error *error);
/* Whether an answer could be read. */
liana_status liana__served_check_answer(const liana__served_device *device, const liana__wire *wire,
                                        liana__error *error);

/* A number that is not used. Errors: OUT_OF_MEMORY if there are too many. */
liana_status liana__served_take_number(liana__served_numbers *numbers, uint32_t *number, liana__error *error);
void liana__served_give_number(liana__served_numbers *numbers, uint32_t number);

/* Whether a device is the CPU of a server, and its instruction set. */
bool liana__served_is_cpu(const liana__device *device, liana__isa *isa);

/* The device contract. */
liana_status liana__served_buffer_make(liana__device *device, liana_dtype dtype, const liana_shape *shape,
                                       liana__buffer **buffer, liana__error *error);
void liana__served_buffer_destroy(liana__buffer *buffer);
void liana__served_buffer_touch(liana__buffer *buffer);
liana_status liana__served_upload(liana__device *device, liana_dtype dtype, const liana_shape *shape, const void *data,
                                  liana__buffer **buffer, liana__fence **fence, liana__error *error);
liana_status liana__served_wait(liana__fence *fence, liana__error *error);
liana_status liana__served_download(const liana__buffer *buffer, void *data, liana__error *error);

#endif
