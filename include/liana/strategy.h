/* strategy.h - how the computation of a batch is shared out over devices. The results are the same bits. */
#ifndef LIANA_STRATEGY_H
#define LIANA_STRATEGY_H

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

/* A strategy and its options. Zeros are the defaults. */
typedef struct liana_strategy {
    /* Of `liana list strategies`, or a mapping with options as in YAML; NULL: "one_device". "tpu" takes all cores of this
     * process's TPU slice, whatever the device is called, and fails with UNAVAILABLE or NOT_FOUND where there is none. */
    const char *name;
    /* Several devices of this process; on a CPU a device is a group of threads. Of "mirrored", "multi_worker" and
     * "parameter_server". */
    int64_t replicas;          /* devices; 0: of mirrored one for each NUMA node, of the others one */
    int64_t threads;           /* of each; 0: those of the context, shared out */
    liana_thread_binding bind; /* threads of a CPU */
} liana_strategy;

#ifdef __cplusplus
}
#endif
#endif
