/* cluster_place.h - the place of this process in a cluster, and the addresses of the others.
 *
 * cluster_read.h reads it from the configuration and the environment. */
#ifndef LIANA_DISTRIBUTE_CLUSTER_PLACE_H
#define LIANA_DISTRIBUTE_CLUSTER_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum liana__cluster_role {
    LIANA__ROLE_CHIEF, /* a worker that also initialises the variables and writes the run folder; always rank 0 */
    LIANA__ROLE_WORKER,
    LIANA__ROLE_SERVER,    /* owns slices, computes no shards */
    LIANA__ROLE_EVALUATOR, /* no member: it follows checkpoints */
} liana__cluster_role;

/* The processes of a cluster meet again after some have died, and with those that have come in their place: that is a
 * round. Zeros: the first one, of all. */
typedef struct liana__cluster_round {
    uint64_t number;
    size_t chief;       /* the rank of the worker that leads; not always the first one */
    const bool *absent; /* by rank: it does not belong to the cluster; NULL: all do */
} liana__cluster_round;

/* Ranks: the chief, the other workers, then the parameter servers. */
typedef struct liana__cluster_place {
    const char *transport; /* a row of transports.def; NULL: there is no cluster, this process is alone */
    liana__cluster_role role;
    size_t rank;
    size_t num_workers; /* with the chief */
    size_t num_servers;
    bool has_chief_task; /* the first worker is called chief 0, and the next one worker 0: in TF_CONFIG with a chief */
    /* By rank: "host:port" or "ipc:///folder/socket". NULL: the transport knows (mpi), or `master` does. */
    const char *const *addresses;
    const char *master;  /* "host:port" of rank 0, where the others say where they are; NULL: `addresses` are known */
    const char *id;      /* a name that this cluster alone has; NULL: made of its sizes and addresses */
    const char *source;  /* where this was read, for messages: "TF_CONFIG", "RANK and WORLD_SIZE", "cluster" */
    const char *keys;    /* folder of the cluster's keys; NULL: not encrypted (ipc only) */
    const char *library; /* of mpi: "openmpi" or "mpich" */
    double timeout;      /* seconds until a start that does not come together ends */
    bool returns;        /* it is started in the place of one that has ended: the others have met, if they are there */
    double heartbeat;    /* seconds after which a silent process is gone */
    bool mirrors;        /* slices of the optimizer's state live in one more process, where deaths are survived */
    size_t max_kept;     /* bytes of messages that nobody has asked for yet; 0: a quarter of the machine's memory */
    liana__cluster_round round; /* in which the processes meet */
    /* Set by `open` where it fails, but another start may do better: processes had met before, or one has ended. May be
     * NULL. */
    bool *resumable;
    /* Asked by `open` while it waits; true ends it with CANCELLED. NULL: never. */
    bool (*stop)(void *user);
    /* Called by `open` with a line about the processes that it waits for; NULL: it waits in silence. */
    void (*say)(void *user, const char *line);
    void *user; /* of both */
} liana__cluster_place;

#endif
