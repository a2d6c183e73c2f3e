/* cluster_options.h - the section `cluster` of a configuration, and how the environment is read. */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_CLUSTER_OPTIONS_H
#define LIANA_DISTRIBUTE_TRANSPORT_CLUSTER_OPTIONS_H

#include "base/field.h"

typedef struct liana__cluster_options {
    const char *transport;  /* NULL: the starter of the processes decides */
    liana__strings workers; /* addresses; the first one is the chief's */
    liana__strings servers;
    const char *task;    /* "chief", "worker:1", "server:0"; NULL: the environment says */
    int64_t num_servers; /* of processes that others number (mpirun, srun, RANK): the last `num_servers` are servers */
    const char *keys;
    const char *mpi; /* "openmpi" or "mpich"; NULL: the one that has started the processes */
    double timeout, heartbeat, lease;
    bool mirrors;
    bool exact; /* all processes compute the same bits, or none begins */
} liana__cluster_options;

extern const liana__fields liana__cluster_fields;

/* The value of an environment variable; NULL: it is not set. */
typedef const char *(*liana__get_variable)(void *user, const char *name);
/* The process's own. `user` is not used. */
const char *liana__get_environment(void *user, const char *name);

#endif
