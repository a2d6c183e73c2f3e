/* cluster_read.h - finds the place of this process in a cluster: from the configuration and the environment. */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_CLUSTER_READ_H
#define LIANA_DISTRIBUTE_TRANSPORT_CLUSTER_READ_H

#include "distribute/transport/cluster_options.h"
#include "distribute/transport/cluster_place.h"

/* The place of this process. These are looked at, in this order:
 *
 *   LIANA_CLUSTER            set by `liana launch`
 *   cluster.workers          and cluster.task (or the rank that one of the others says)
 *   TF_CONFIG                TensorFlow's: cluster (chief, worker, ps, evaluator), task (type, index)
 *   RANK, WORLD_SIZE         and MASTER_ADDR, MASTER_PORT, as torchrun sets them
 *   OMPI_COMM_WORLD_RANK ... mpirun's of Open MPI and MPICH
 *   SLURM_PROCID ...         srun's
 *
 * Of the first four all that are there must agree. If none is there, or the cluster has one process, place->transport
 * is NULL. `options` may be NULL. All is in the arena or borrowed. Errors: INVALID_CONFIG with the value found and the
 * value expected; OUT_OF_MEMORY. */
liana_status liana__cluster_place_read(const liana__cluster_options *options, liana__get_variable get, void *user,
                                       liana__arena *arena, liana__cluster_place *place, liana__error *error)
    LIANA_MUST_USE;

#endif
