/* wire.h - the messages between a client and a server of remote devices.
 *
 * A request is a message (distribute/transport/service.h) whose kind is below; its bytes are numbers (little-endian),
 * texts (u32 size, bytes) and, last, data. Each has one answer, in the same order: u32 status, text message, and if the
 * status is OK the result of the request. A client chooses the numbers of its buffers and executables. Both sides have
 * the same version of liana: OPEN and DEVICES say which, and the first request must be one of them. */
#ifndef LIANA_BACKENDS_REMOTE_WIRE_H
#define LIANA_BACKENDS_REMOTE_WIRE_H

#include "base/text.h"
#include "ir/shape.h"

typedef enum liana__served_kind {
    /* text version, text client ("process 12 on host"), text device ("cpu:0"). Gives text backend, u32 static shards,
     * u32 1 + instruction set of a CPU (0: it is no CPU), u64 devices of that kind, u64 memory limit, text
     * description. */
    LIANA__SERVED_OPEN = 1,
    /* text version, text client. Gives u32 count, and of each device the texts name, kind, platform, plugin, version of
     * PJRT, version, environment, u64 memory and memory in use (2^64 - 1: not known), u32 threads. */
    LIANA__SERVED_DEVICES,
    /* u32 buffer, u32 dtype, u32 rank, u64 each dimension, data. A buffer that is there is donated. */
    LIANA__SERVED_UPLOAD,
    LIANA__SERVED_DOWNLOAD, /* u32 buffer. Gives data. */
    LIANA__SERVED_FREE,     /* u32 count, u32 each buffer */
    /* u32 executable (one that is there is dropped), u64 memory limit, a graph (ir/graph_file.h). Gives u64 workspace
     * size, u64 recomputed segments, u64 workspace before, f64 flops, f64 flops before. */
    LIANA__SERVED_COMPILE,
    LIANA__SERVED_DROP,  /* u32 executable */
    LIANA__SERVED_READY, /* u32 executable */
    /* u32 executable, text name, and for inputs, variables and outputs: u32 count, u32 each buffer. An output's buffer
     * that is there is donated; else it is made. */
    LIANA__SERVED_EXECUTE,
    LIANA__SERVED_KINDS,
} liana__served_kind;

enum {
    LIANA__SERVED_MOST_OBJECTS = 1 << 20, /* numbers of buffers, and of executables, are below */
    LIANA__SERVED_TEXT = 1024,            /* most bytes of a text, with its 0 */
    LIANA__SERVED_DEVICE_BYTES = 48,      /* least bytes of a device among DEVICES */
};

/* ---- writing, to a liana__text ---- */

void liana__wire_put_u32(liana__text *out, uint32_t value);
void liana__wire_put_u64(liana__text *out, uint64_t value);
void liana__wire_put_double(liana__text *out, double value);
/* Cuts a text that is too long. */
void liana__wire_put_text(liana__text *out, const char *text);
void liana__wire_put_type(liana__text *out, liana_dtype dtype, const liana_shape *shape);

/* ---- reading, from any bytes ---- */

/* A value that could not be read is 0 or "", and sets `failed`, which stays. */
typedef struct liana__wire {
    const uint8_t *next, *end;
    bool failed;
} liana__wire;

uint32_t liana__wire_u32(liana__wire *wire);
uint64_t liana__wire_u64(liana__wire *wire);
double liana__wire_double(liana__wire *wire);
void liana__wire_text(liana__wire *wire, char text[LIANA__SERVED_TEXT]);
/* Fails also for a wrong dtype or shape. */
void liana__wire_type(liana__wire *wire, liana_dtype *dtype, liana_shape *shape);
/* A count of things that take `size` bytes each, so that no more is believed than is there. */
uint32_t liana__wire_count(liana__wire *wire, size_t size);
static inline size_t liana__wire_left(const liana__wire *wire)
{
    return (size_t)(wire->end - wire->next);
}

#endif
