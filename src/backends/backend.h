/* backend.h - the device contract: the abilities of every device, be it a CPU or an accelerator.
 *
 * A device is an opened backend. It holds buffers, compiles graphs into executables, and makes replicas (replica.h).
 *
 *   - A buffer cannot be changed. An upload makes one, and an execution makes new ones for its results.
 *   - A caller may donate a buffer: the device may reuse its memory for a result. A donated buffer is gone; using it
 *     again is an error. The CPU writes the result into the donated buffer, so nothing is allocated or copied.
 *   - An upload completes later. Its fence says when; the host's data must stay as they are until then.
 *   - Shapes are static: an executable takes exactly the shapes of its graph.
 *
 * To add a device: a folder src/backends/<name>/ with the struct, and a row in backends.def. */
#ifndef LIANA_BACKENDS_BACKEND_H
#define LIANA_BACKENDS_BACKEND_H

#include "base/error.h"
#include "base/recorder.h"
#include "ir/graph.h"

#include <stdatomic.h>

typedef struct liana__backend liana__backend;
typedef struct liana__replica liana__replica;
typedef struct liana__replica_functions liana__replica_functions;
typedef struct liana__leaf_plan liana__leaf_plan;
typedef struct liana__leaf_batch liana__leaf_batch;
typedef struct liana__leaf_block liana__leaf_block;
typedef struct liana__replica_memory liana__replica_memory;
typedef struct liana__whole_plan liana__whole_plan;
typedef struct liana__whole liana__whole;
typedef struct liana__whole_functions liana__whole_functions;

/* Each backend extends the next three structs: it puts them first in structs of its own. */
typedef struct liana__device {
    const liana__backend *backend;
    liana_context *context;
    /* NULL, or the record of the device and its callers. Tracks [0, num_tracks) are the device's, one for each thing
     * that it does at the same time; track num_tracks is the callers'. Set only while nothing runs. */
    liana__recorder *recorder;
    size_t num_tracks;
    atomic_uint_fast64_t num_versions; /* that were given to buffers */
    atomic_size_t bytes_held;          /* by buffers, and by executables between executions */
    /* Bytes that buffers and executions of graphs with a gradient may take together; 0: no limit. Below it, parts of
     * the forward pass are recomputed (plan/recompute.h), which changes no result. */
    size_t memory_limit;
    char note[512];      /* a note about the choice of this device; "": nothing */
    char opened_as[256]; /* the name that it was opened by, with which more of its kind are opened */
} liana__device;

typedef struct liana__buffer {
    liana__device *device;
    liana_dtype dtype;
    liana_shape shape;
    size_t size; /* bytes */
    /* Unique for each contents on this device: equal versions are equal contents. */
    uint64_t version;
    /* The version of contents whose numbers are known to be finite; 0: none is known. */
    uint64_t finite_version;
    /* NULL, or the name of the output that the buffer was donated to: then it is gone. */
    const char *donated_to;
} liana__buffer;

/* An upload under way. */
typedef struct liana__fence liana__fence;

/* Which device is to be opened. */
typedef struct liana__device_request {
    const char *name; /* "cpu", "gpu:1", "pjrt:/path/plugin.so?cpu_device_count=8" */
    int num_threads;  /* of its own, on a CPU; 0: the context's */
    size_t index;     /* of several devices that are opened by one name, from 0 */
} liana__device_request;

typedef struct liana__executable {
    liana__device *device;
    size_t num_inputs, num_variables, num_outputs;
    /* Memory of one execution in addition to the buffers, in bytes, for the log and `memory` reports. */
    size_t workspace_size;
    /* The effect of the device's memory limit; zeros: none. */
    struct {
        size_t num_segments;     /* that run twice */
        size_t workspace_before; /* the workspace without the limit */
        double flops;            /* of one execution, of the nodes that are computed a second time */
        double flops_before;     /* and of all the rest */
    } recomputed;
} liana__executable;

/* One execution. All lists are in the graph's order. */
typedef struct liana__execution {
    const char *name; /* of the program, for messages */
    liana__buffer *const *inputs;
    /* Those that the graph assigns to are donated, and replaced by buffers with the new values. */
    liana__buffer **variables;
    /* Each is NULL, or a buffer of the result's type that is donated. Afterwards: the results. */
    liana__buffer **outputs;
    /* NULL: nobody asks. true afterwards: the backend has seen that all new values of variables are finite, while it
     * made them. false: one is not, or it has not looked. */
    bool *all_finite;
} liana__execution;

struct liana__backend {
    const char *name;
    const char *doc;
    /* The device wants shards of one static size, in which missing examples are masked. false: it compiles a program
     * for each size of a shard. Both follow the definition. */
    bool static_leaves;
    /* Its buffers are those of host.h, and their owners may read and write them in the host's memory. */
    bool in_host_memory;
    /* Names of devices begin with one of these, which ends there or before a ':' or '?'. NULL-terminated; NULL: devices
     * are called as the backend. */
    const char *const *device_names;
    /* Whether it knows a name that begins otherwise. NULL: it knows none. */
    bool (*knows)(const char *name);
    liana_status (*open)(liana_context *context, const liana__device_request *request, liana__device **device,
                         liana__error *error);
    void (*close)(liana__device *device);
    /* How many devices there are of the kind and plugin of an open one. NULL: as many as are opened. */
    size_t (*count)(const liana__device *device);

    /* Begins to copy `data` to the device. *buffer is NULL, or a buffer of this type that is donated; afterwards it is
     * the new one. `data` must stay as they are until liana__backend.wait has taken the fence; `fence` NULL: the call
     * waits itself. An execution may use the buffer at once. */
    liana_status (*upload)(liana__device *device, liana_dtype dtype, const liana_shape *shape, const void *data,
                           liana__buffer **buffer, liana__fence **fence, liana__error *error);
    /* Waits until the upload is complete, and frees the fence. NULL: nothing to wait for. */
    liana_status (*wait)(liana__fence *fence, liana__error *error);
    /* Copies a buffer's contents to the host, once they are there. */
    liana_status (*download)(const liana__buffer *buffer, void *data, liana__error *error);
    void (*buffer_destroy)(liana__buffer *buffer);

    /* The graph must stay as it is until the executable is destroyed. Not while an execution runs. */
    liana_status (*compile)(liana__device *device, const liana_graph *graph, liana__executable **executable,
                            liana__error *error);
    void (*executable_destroy)(liana__executable *executable);
    /* Optional warm-up (NULL: there is none): does the extra work of a first execution. */
    liana_status (*make_ready)(liana__executable *executable, liana__error *error);
    /* Runs once. One call at a time for a device. Errors: INVALID_ARGUMENT for a buffer that is missing, of another
     * type, or gone. Then no buffer has changed. */
    liana_status (*execute)(liana__executable *executable, liana__execution *execution, liana__error *error);

    /* See replica.h. liana__shard_loop (shard_loop.h) serves any device. */
    const liana__replica_functions *replicas;

    /* Whole updates: see whole_update.h. NULL: shards, sums and update are executed one after the other. */
    const liana__whole_functions *whole;
};

#define LIANA__BACKEND(folder, name) extern const liana__backend liana__backend_##name;
#include "backends/backends.def"
#undef LIANA__BACKEND

/* All backends, NULL-terminated. */
extern const liana__backend *const liana__backends[];

/* Opens a device by its name, with the context's threads. "auto" is a TPU or a GPU if there is one that can be opened,
 * and else the CPU; LIANA_LOG=exec says why. Errors: INVALID_CONFIG with the nearest known name; those of the backend.
 */
liana_status liana__device_open(liana_context *context, const char *name, liana__device **device, liana__error *error)
    LIANA_MUST_USE;
/* The same with `num_threads` threads of the device's own; 0: the context's. Several devices with threads of their own
 * can compute at the same time. */
liana_status liana__device_open_with(liana_context *context, const char *name, int num_threads, liana__device **device,
                                     liana__error *error) LIANA_MUST_USE;
/* The same with all that can be asked for. */
liana_status liana__device_open_request(liana_context *context, const liana__device_request *request,
                                        liana__device **device, liana__error *error) LIANA_MUST_USE;
void liana__device_close(liana__device *device);

/* Checks the buffers of an execution against a list of nodes. `what` is "input", "variable" or "output". Errors:
 * INVALID_ARGUMENT with the names of the program and the node. */
liana_status liana__check_buffers(const char *program, const char *what, const liana__node *node,
                                  const liana__buffer *buffer, liana__error *error) LIANA_MUST_USE;
/* ... of all of an execution. `has_outputs`: no output may be NULL. */
liana_status liana__check_execution(const liana_graph *graph, const liana__execution *execution, bool has_outputs,
                                    liana__error *error) LIANA_MUST_USE;

#endif
