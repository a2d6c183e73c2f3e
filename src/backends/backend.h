/* backend.h - the contract of what compiles and runs graphs.
 *
 * A device is an opened backend. It owns buffers, and makes executables from graphs. An execution takes a buffer for
 * each input, variable and output of the graph, in the graph's own order. Nothing above this line knows which backend
 * it is talking to. To add one: a folder src/backends/<name>/ with the struct, and a row in backends.def. */
#ifndef LIANA_BACKENDS_BACKEND_H
#define LIANA_BACKENDS_BACKEND_H

#include "base/error.h"
#include "base/recorder.h"
#include "ir/graph.h"

#include <stdatomic.h>

typedef struct liana__backend liana__backend;

/* Each backend extends these three by putting them first in structs of its own. */
typedef struct liana__device {
    const liana__backend *backend;
    liana_context *context;
    /* How many executions may run at the same time, each with its own worker index. */
    int num_workers;
    /* NULL, or where executions and those who start them record what they do: a track for each worker, and behind them
     * one for the steps. Set only while nothing runs. */
    liana__recorder *recorder;
    atomic_uint_fast64_t num_versions; /* given to buffers so far */
    atomic_size_t bytes_held;          /* by buffers, and by executables between executions */
    /* Bytes that buffers and executions of graphs with a gradient may take together; 0: any. To stay below it, parts of
     * the forward pass are computed twice (plan/recompute.h), which changes no result. */
    size_t memory_limit;
} liana__device;

typedef struct liana__buffer {
    liana__device *device;
    liana_dtype dtype;
    liana_shape shape;
    size_t size; /* bytes */
    /* What the device gives to each buffer anew whenever it is written to: equal versions are equal contents. */
    uint64_t version;
} liana__buffer;

/* Two executions may give one sum, in the same output buffers and at the same time. How far each output is: the first
 * that has it writes it, the second adds to that. a + b is b + a, so no bit depends on which was the first. */
enum liana__arrival { LIANA__NOBODY_YET, LIANA__FIRST_WRITES, LIANA__FIRST_WAS_THERE };

typedef struct liana__executable {
    liana__device *device;
    size_t num_inputs, num_variables, num_outputs;
    /* Memory that one execution needs beside the buffers, in bytes, for the log and `memory` reports. */
    size_t workspace_size;
    /* What the device's limit made of it; zeros: nothing. */
    struct {
        size_t num_segments;     /* that run twice */
        size_t workspace_before; /* what the workspace would have been */
        double flops;            /* of an execution, of what is computed a second time */
        double flops_before;     /* and of all the rest */
    } recomputed;
} liana__executable;

struct liana__backend {
    const char *name;
    const char *doc;
    liana_status (*open)(liana_context *context, liana__device **device, liana__error *error);
    void (*close)(liana__device *device);

    /* Memory on the device; contents are undefined until written. */
    liana_status (*buffer_create)(liana__device *device, liana_dtype dtype, const liana_shape *shape,
                                  liana__buffer **buffer, liana__error *error);
    void (*buffer_destroy)(liana__buffer *buffer);
    /* Whole-buffer copies from and to the host. */
    liana_status (*buffer_write)(liana__buffer *buffer, const void *data, liana__error *error);
    liana_status (*buffer_read)(const liana__buffer *buffer, void *data, liana__error *error);
    /* dst += src, element by element (float dtypes): how partial sums of shards meet. */
    liana_status (*buffer_add)(liana__buffer *dst, const liana__buffer *src, liana__error *error);

    /* The graph must stay as it is until the executable is destroyed. Not while an execution runs. */
    liana_status (*compile)(liana__device *device, const liana_graph *graph, liana__executable **executable,
                            liana__error *error);
    void (*executable_destroy)(liana__executable *executable);
    /* Runs once. Assignments of the graph write into `variables`. Calls with different workers may run at the same
     * time if no buffer that one writes is used by the other. */
    liana_status (*execute)(liana__executable *executable, int worker, liana__buffer *const *inputs,
                            liana__buffer *const *variables, liana__buffer *const *outputs, liana__error *error);
    /* The same of a graph with a gradient for one of two executions that give a sum. arrivals[output] are an enum
     * liana__arrival and NOBODY_YET before both; what a failed execution gives is undefined, but the other goes on. */
    liana_status (*execute_and_add)(liana__executable *executable, int worker, liana__buffer *const *inputs,
                                    liana__buffer *const *variables, liana__buffer *const *outputs,
                                    atomic_int *arrivals, liana__error *error);
    /* Does once what execute_together needs besides, which else its first call does. Not while an execution runs. */
    liana_status (*make_ready_together)(liana__executable *executable, liana__error *error);
    /* Runs once with all workers, to the same bits; while nothing else runs. */
    liana_status (*execute_together)(liana__executable *executable, liana__buffer *const *inputs,
                                     liana__buffer *const *variables, liana__buffer *const *outputs,
                                     liana__error *error);
};

#define LIANA__BACKEND(folder, name) extern const liana__backend liana__backend_##name;
#include "backends/backends.def"
#undef LIANA__BACKEND

/* All backends, NULL-terminated. */
extern const liana__backend *const liana__backends[];

/* Opens a backend by name. Errors: INVALID_CONFIG with the nearest known name. */
liana_status liana__device_open(liana_context *context, const char *name, liana__device **device, liana__error *error)
    LIANA_MUST_USE;
void liana__device_close(liana__device *device);

#endif
