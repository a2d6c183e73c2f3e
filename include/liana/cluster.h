/* cluster.h - the processes of a program: which one of them this is.
 *
 * For programs that `liana launch`, mpirun, srun, a launcher with TF_CONFIG, or torchrun and its like have started
 * (docs/guides/cluster.md). replicas.h and step.h have the exchange between processes. */
#ifndef LIANA_CLUSTER_H
#define LIANA_CLUSTER_H

#include <liana/context.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum liana_task_type {
    LIANA_TASK_CHIEF, /* the first worker, where TF_CONFIG has a chief */
    LIANA_TASK_WORKER,
    LIANA_TASK_PARAMETER_SERVER, /* "ps" in TF_CONFIG */
    LIANA_TASK_EVALUATOR,        /* no member of the cluster: it follows checkpoints */
} liana_task_type;

/* The place of this process in a cluster. Type and index are those of TensorFlow's cluster resolvers (task_type,
 * task_id): of TF_CONFIG the task's own; elsewhere, and alone, all workers are "worker", from 0 on. So whether this is
 * the chief is said by is_chief, not by the type. */
typedef struct liana_cluster_facts {
    int64_t num_processes; /* workers and parameter servers; without evaluators */
    int64_t num_workers;   /* with the chief */
    int64_t num_servers;   /* parameter servers */
    /* Of this process: the chief, workers, parameter servers, from 0 on; -1: an evaluator, which has none. */
    int64_t rank;
    liana_task_type type;
    int64_t index; /* among the tasks of this type; an evaluator has 0 */
    /* The first worker; after its death another one. It alone should write files that all would write. Alone: true. */
    bool is_chief;
    bool is_joined;     /* the processes have met: a strategy of several processes is in use */
    const char *source; /* the source of these facts: "TF_CONFIG", "mpirun"; NULL: none. Valid as long as the context */
} liana_cluster_facts;

/* Finds this process's place, from the cluster that the context has joined, or else from the environment. It waits for
 * nobody. Errors: INVALID_CONFIG (the environment contradicts itself, or cannot be read; the message has the value
 * found and the value expected), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_cluster_find(liana_context *context, liana_cluster_facts *facts);

/* "chief", "worker", "ps", "evaluator": as in TF_CONFIG. Static; NULL for another number. */
LIANA_API const char *liana_task_type_name(liana_task_type type);

#ifdef __cplusplus
}
#endif
#endif
