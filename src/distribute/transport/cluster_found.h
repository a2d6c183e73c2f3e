/* cluster_found.h - one source's facts about this process's place in a cluster; see cluster_read.h. */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_CLUSTER_FOUND_H
#define LIANA_DISTRIBUTE_TRANSPORT_CLUSTER_FOUND_H

#include "distribute/transport/cluster_options.h"

typedef struct liana__cluster_reader {
    const liana__cluster_options *options;
    liana__get_variable get;
    void *user;
    liana__arena *arena;
    liana__error *error;
} liana__cluster_reader;

typedef struct liana__cluster_found {
    const char *source; /* NULL: the source is not there */
    bool is_mpi;
    bool is_evaluator;
    bool has_rank;
    bool has_chief_task; /* liana__cluster_place.has_chief_task */
    bool returns;        /* liana__cluster_place.returns */
    size_t rank, num_workers, num_servers;
    const char **addresses; /* by rank; NULL: not known */
    const char *master, *id, *keys, *library;
} liana__cluster_found;

/* One for each source. They leave `found` as it is, all zeros, if it is not there. */
liana_status liana__find_launch(const liana__cluster_reader *reader, liana__cluster_found *found) LIANA_MUST_USE;
liana_status liana__find_tf_config(const liana__cluster_reader *reader, liana__cluster_found *found) LIANA_MUST_USE;
liana_status liana__find_options(const liana__cluster_reader *reader, liana__cluster_found *found) LIANA_MUST_USE;
liana_status liana__find_rank(const liana__cluster_reader *reader, liana__cluster_found *found) LIANA_MUST_USE;
liana_status liana__find_mpi(const liana__cluster_reader *reader, liana__cluster_found *found) LIANA_MUST_USE;
liana_status liana__find_slurm(const liana__cluster_reader *reader, liana__cluster_found *found) LIANA_MUST_USE;

/* The value of a variable; NULL: it is not set, or empty. */
const char *liana__cluster_variable(const liana__cluster_reader *reader, const char *name);
/* A whole number of a variable that must be set. Errors: INVALID_CONFIG. */
liana_status liana__cluster_number(const liana__cluster_reader *reader, const char *name, size_t least, size_t most,
                                   size_t *number) LIANA_MUST_USE;
/* Fails unless an address is "host:port" or "ipc:///folder/name". */
liana_status liana__cluster_check_address(const liana__cluster_reader *reader, const char *source, const char *address)
    LIANA_MUST_USE;

#endif
