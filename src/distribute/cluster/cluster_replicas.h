/* cluster_replicas.h - replicas in several processes, a device each: the common part of strategies of a cluster.
 *
 * All processes make the same calls. A worker computes the shards of its range and sends each owner of a slice that
 * slice of its blocks. The owner adds them in the tree's order, applies the update, and sends the new weights to all.
 * The first sum is so small that every process adds it itself. */
#ifndef LIANA_DISTRIBUTE_CLUSTER_REPLICAS_H
#define LIANA_DISTRIBUTE_CLUSTER_REPLICAS_H

#include "distribute/strategy.h"

/* See liana__strategy. */
liana_status liana__cluster_replicas_create(const liana__strategy_devices *devices, const liana__strategy_plan *plan,
                                            liana__strategy_instance **instance, liana__error *error);
extern const liana__strategy_functions liana__cluster_replicas_functions;

#endif
