/* device.h - devices: they run programs. Which ones there are, and which parts of a graph run on which. */
#ifndef LIANA_DEVICE_H
#define LIANA_DEVICE_H

#include <liana/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_device liana_device;

/* Opens a device by name, such as "cpu" (also for NULL), "reference", "gpu", "gpu:1", "tpu", "auto" (a TPU or a GPU if
 * there is one, else the CPU), or "pjrt:/path/plugin.so". Options for the plugin of a GPU or TPU may follow:
 * "gpu?memory_fraction=0.5&preallocate=false". A device of another process that runs `liana server` is
 * "/job:worker/task:1/cpu:0", or "host:port/gpu:0". docs/guides/devices.md says more. The CPU uses the
 * context's threads. The context must outlive the device. Errors: INVALID_CONFIG (no such name or number; the message
 * has the nearest name; a file that is no plugin), NOT_FOUND (no plugin), UNAVAILABLE (no such hardware; the plugin
 * cannot open it; the server cannot be reached, has another version or no room), UNIMPLEMENTED (a plugin of another
 * version), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_device_open(liana_context *context, const char *name,
                                                        liana_device **device);

/* Says where the servers of this context's remote devices are. `cluster` is a configuration's section `cluster` in one
 * line: "{workers: [\"first:2222\", \"second:2222\"], keys: /etc/liana/keys}". The job "worker" is its workers, "ps"
 * its servers. Without this call, TF_CONFIG says it. Errors: INVALID_CONFIG, OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_connect_to_cluster(liana_context *context, const char *cluster);

/* Closes a device, after all variables and programs on it have been destroyed. NULL is allowed. */
LIANA_API void liana_device_close(liana_device *device);

/* The name of its backend: "cpu", "reference", "pjrt" or "remote". Static. */
LIANA_API const char *liana_device_name(const liana_device *device);

/* ---- which devices there are ----
 *
 * Of this machine, and of servers. `liana devices` prints it.
 *
 *     const liana_device_facts *facts;
 *     liana_device_list_create(context, NULL, &list);
 *     for (size_t i = 0; (facts = liana_device_list_at(list, i)) != NULL; i++) {
 *         if (!facts->missing) printf("%s: %s\n", facts->name, facts->kind);
 *     }
 *     liana_device_list_destroy(list); */

/* A device, or a kind of devices that is missing. Texts are valid as long as the list, and NULL where nothing is
 * known. */
typedef struct liana_device_facts {
    const char *name;     /* as for liana_device_open: "cpu", "gpu:1"; for missing ones "gpu", "/job:worker/task:1" */
    const char *kind;     /* "NVIDIA H200"; of a CPU its instruction set, "avx512" */
    const char *platform; /* "cpu", "cuda", "tpu" */
    int64_t memory;       /* bytes, of a server's CPU those for all its clients; -1: not known */
    int64_t memory_used;  /* bytes; -1: not known */
    int64_t threads;      /* of a CPU; of others 0 */
    const char *plugin;   /* the path of its PJRT plugin, on its own machine; NULL: it needs none */
    const char *interface_version; /* of PJRT, as the plugin speaks it: "0.81" */
    const char *version;           /* of the plugin's platform; of a CPU that of liana */
    const char *environment;       /* of TPUs: the variables that libtpu reads, "NAME=VALUE, ..."; NULL: none is set */
    const char *address;           /* of the server that offers it; NULL: it is this process's */
    const char *missing;           /* why it is not there; NULL: it is */
} liana_device_facts;

typedef struct liana_device_list liana_device_list;

/* Lists devices. `name` NULL: the CPU, then GPUs, TPUs and the devices of PJRT's plugin for CPUs, with the missing ones
 * and the reasons, then those of the servers that liana_connect_to_cluster or TF_CONFIG names. Other values of `name`:
 * all devices of this name, with any number: "cpu", "gpu", "pjrt:/path/plugin.so", "pjrt:cpu?cpu_device_count=8",
 * "/job:worker/task:1", "host:port/cpu:0". GPUs and TPUs are opened to be looked at, without taking their memory, and
 * closed again; a plugin that the context uses already is asked as it is. Errors: OUT_OF_MEMORY, INVALID_CONFIG
 * (TF_CONFIG cannot be read); of one name those of liana_device_open: that it is missing is an error then. */
LIANA_API LIANA_MUST_USE liana_status liana_device_list_create(liana_context *context, const char *name,
                                                               liana_device_list **list);
/* NULL is allowed. */
LIANA_API void liana_device_list_destroy(liana_device_list *list);

/* By index, from 0. NULL after the last. */
LIANA_API const liana_device_facts *liana_device_list_at(const liana_device_list *list, size_t index);

/* ---- parts of a graph on devices of their own, as TensorFlow's tf.device ----
 *
 *     liana_device_scope_begin(graph, "/job:worker/task:1/cpu:0");
 *     h = liana_op_relu(liana_op_matmul(x, w, false, false));
 *     liana_device_scope_end(graph);
 *
 * Ops and variables that are made between the two calls are on that device. All others are on the device of the program
 * (liana_program_create). A program opens the devices that its graph names, and keeps them with its set of variables.
 * It cuts the graph at the borders between devices, and copies values from one device to another as they are needed.
 * Parts that do not wait for each other's values run at the same time.
 *
 *   - A gradient's op is on the device of the op that it belongs to; contributions to one gradient are added on the
 *     device of the tensor that it is for.
 *   - An optimizer's slots and its update of a variable are on the variable's device.
 *   - A variable that is read or assigned to from another device stays where it is; its value is copied in each run.
 *   - Inputs and constants are given to each device that reads them.
 *
 * Graphs of steps, estimators and own layers are computed on the devices of a strategy; there a scope is an error.
 * liana_graph_save does not keep scopes. */

/* Begins a scope; scopes may be nested, and the innermost one counts. `device` is a name as for liana_device_open, or
 * "cpu:1", "cpu:2", ... for more CPU devices of this process, each with as many threads as the context. The program's
 * own device, under any of its names, is not opened again. NULL is the device of the program. A device is looked for
 * when a program is made: unknown names and servers that cannot be reached are errors of liana_program_create. Errors
 * of the graph: INVALID_ARGUMENT (an empty name, a graph without scopes). */
#define liana_device_scope_begin(graph, device) liana_device_scope_begin_at(LIANA_HERE, graph, device)
LIANA_API void liana_device_scope_begin_at(liana_location here, liana_graph *graph, const char *device);

/* Ends the innermost scope. Errors of the graph: INVALID_ARGUMENT if none is open. A program of a graph with an open
 * scope is an error too. */
#define liana_device_scope_end(graph) liana_device_scope_end_at(LIANA_HERE, graph)
LIANA_API void liana_device_scope_end_at(liana_location here, liana_graph *graph);

/* How variables are shared out. */
typedef enum liana_balance {
    LIANA_ROUND_ROBIN, /* one after the other */
    LIANA_BY_BYTES,    /* each to the device that has the fewest bytes so far; of equal ones to the first */
} liana_balance;

/* Shares the variables that are made from now on out among devices, whatever scope is open, as TensorFlow's
 * replica_device_setter does with the tasks of the job ps. An optimizer's slots are not counted: they go with their
 * variable. A second call begins anew; `count` 0 ends it (`devices` may be NULL then). Errors of the graph:
 * INVALID_ARGUMENT (an unknown balance, a missing or empty name, a graph without scopes). */
#define liana_place_variables(graph, balance, devices, count) \
    liana_place_variables_at(LIANA_HERE, graph, balance, devices, count)
LIANA_API void liana_place_variables_at(liana_location here, liana_graph *graph, liana_balance balance,
                                        const char *const *devices, size_t count);

#ifdef __cplusplus
}
#endif
#endif
