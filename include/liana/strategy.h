/* strategy.h - how the computation of a batch is shared out over devices. The results are the same bits. */
#ifndef LIANA_STRATEGY_H
#define LIANA_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the threads of a replica stay. */
typedef enum liana_thread_binding {
    LIANA_BIND_AUTO,  /* on a NUMA node if the process may use several, else anywhere */
    LIANA_BIND_NONE,  /* anywhere */
    LIANA_BIND_CORES, /* on cores of its own */
    LIANA_BIND_NODES, /* on one NUMA node; nodes are given in turn */
} liana_thread_binding;

/* The type in which processes send gradients to each other. */
typedef enum liana_wire {
    LIANA_WIRE_FLOAT32,
    LIANA_WIRE_BFLOAT16, /* half the bytes; results depend on the number of workers */
} liana_wire;

enum {
    LIANA_MAX_NAMED_DEVICES = 64, /* more can be named in a mapping */
    LIANA_NO_STALENESS = -1,
};

/* A strategy and its options. Zeros are the defaults. Two things are INVALID_CONFIG: an option that the strategy does
 * not have, and a value that an option cannot have. A number that is not one of its enumeration's is INVALID_ARGUMENT.
 * An option that is given here takes the place of the same option in `name`. */
typedef struct liana_strategy {
    /* One of `liana list strategies`, or a mapping with options as in YAML; NULL: "one_device". "tpu" takes all cores
     * of this process's TPU slice, whatever the device is called. Without a TPU it fails with UNAVAILABLE or
     * NOT_FOUND. */
    const char *name;
    /* Several devices of this process; on a CPU a device is a group of threads. Of "mirrored", "multi_worker" and
     * "parameter_server". */
    int64_t replicas;          /* devices; 0: of mirrored one for each NUMA node, of the others one */
    int64_t threads;           /* of each; 0: those of the context, shared out */
    liana_thread_binding bind; /* threads of a CPU */
    /* Of "mirrored": these devices, by the names that liana_device_open takes: {"gpu:0", "gpu:2"}. The first NULL ends
     * them; {NULL}: `replicas` counts. They are of one kind. The training's device is then left out, or names the first
     * of them or their kind, with the plugin's options. A device that is not found is an error, which lists those that
     * are there. */
    const char *devices[LIANA_MAX_NAMED_DEVICES];
    /* Of "multi_worker" and "parameter_server". */
    liana_wire wire;
    /* Of "parameter_server": workers that need not be in step (docs/guides/cluster.md). Results are then not
     * reproducible. Loops of one's own give a function for batches to liana_step_run. */
    bool asynchronous;     /* an update is one worker's gradients, applied when they come; "synchronous: false" */
    int64_t max_staleness; /* asynchronous: the most updates between a worker's fetching of the weights and the
                                    * update by its gradients; 0: 4 times the workers; LIANA_NO_STALENESS: none */
    int64_t replicas_to_aggregate; /* an update takes the first gradients, of this number of workers; 0: all */
    int64_t pause_steps;           /* the most updates until all processes meet; 0: 32 times the workers */
} liana_strategy;

#ifdef __cplusplus
}
#endif
#endif
