/* cluster_place.h - who this process is in a cluster, and where the others are. */
#ifndef LIANA_DISTRIBUTE_CLUSTER_PLACE_H
#define LIANA_DISTRIBUTE_CLUSTER_PLACE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum liana__cluster_role {
    LIANA__ROLE_CHIEF, /* a worker that also initialises the variables and writes the run folder; always rank 0 */
    LIANA__ROLE_WORKER,
    LIANA__ROLE_SERVER,    /* owns slices, computes no leaves */
    LIANA__ROLE_EVALUATOR, /* no member: it follows checkpoints */
} liana__cluster_role;

/* Ranks: the chief, the other workers, then the parameter servers. */
typedef struct liana__cluster_place {
    const char *transport; /* a row of transports.def */
    liana__cluster_role role;
    size_t rank;
    size_t num_workers; /* with the chief */
    size_t num_servers;
    const char *const *addresses; /* by rank: "host:port" or "ipc:///folder/socket"; NULL: the transport knows (mpi) */
    const char *source;           /* where this was read, for messages: "TF_CONFIG", "RANK and WORLD_SIZE", "cluster" */
    const char *keys;             /* folder of the cluster's keys; NULL: not encrypted (ipc only) */
    double timeout;               /* seconds until a start that does not come together ends */
    double heartbeat;             /* seconds after which a silent process is gone */
} liana__cluster_place;

#endif
