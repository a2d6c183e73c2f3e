/* cluster_replicas.h - replicas in several processes, a device each: what strategies of a cluster are made of.
 *
 * All processes make the same calls. A worker computes the leaves of its range and sends each owner of a slice that slice
 * of its blocks. The owner adds them in the tree's order, applies the update, and sends the new weights to all. The
 * first sum is so small that every process adds it itself. */
#ifndef LIANA_DISTRIBUTE_CLUSTER_REPLICAS_H
#define LIANA_DISTRIBUTE_CLUSTER_REPLICAS_H

#include "distribute/strategy.h"

/* See liana__strategy. */
liana_status liana__cluster_replicas_create(const liana__strategy_devices *devices, const liana__strategy_plan *plan,
                                            liana__strategy_instance **instance, liana__error *error);
void liana__cluster_replicas_destroy(liana__strategy_instance *instance);
liana_status liana__cluster_replicas_hold(liana__strategy_instance *instance, const char *name, liana_dtype dtype,
                                          const liana_shape *shape, double begins_at, liana__error *error);
/* Of parameter servers whose workers are not in step. */
liana_status liana__cluster_replicas_span(liana__strategy_instance *instance, const struct liana__span_work *work,
                                          struct liana__span_counts *counts, liana__error *error);
size_t liana__cluster_replicas_count(const liana__strategy_instance *instance);
liana_status liana__cluster_replicas_prepare(liana__strategy_instance *instance, liana__step_kind kind,
                                             const liana__leaf_batch *batch, liana__error *error);
liana_status liana__cluster_replicas_sum(liana__strategy_instance *instance, liana__step_kind kind,
                                         const liana__leaf_batch *batch, void *first, liana__error *error);
liana_status liana__cluster_replicas_update(liana__strategy_instance *instance, const float *scalars,
                                            liana__error *error);
liana_status liana__cluster_replicas_check(liana__strategy_instance *instance, liana__checked what,
                                           liana__non_finite *found, liana__error *error);
liana_status liana__cluster_replicas_read_sum(const liana__strategy_instance *instance, size_t number, void *data,
                                              liana__error *error);
void liana__cluster_replicas_memory(const liana__strategy_instance *instance, liana__step_kind kind,
                                    const liana__leaf_batch *batch, liana__replica_memory *memory);

#endif
