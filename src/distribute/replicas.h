/* replicas.h - replicas on devices of this process: what strategies of one process are made of. */
#ifndef LIANA_DISTRIBUTE_REPLICAS_H
#define LIANA_DISTRIBUTE_REPLICAS_H

#include "distribute/strategy.h"

/* See liana__strategy. Any number of devices from 1 on; with several, each computes in a thread of its own. */
liana_status liana__replicas_create(const liana__strategy_devices *devices, const liana__strategy_plan *plan,
                                    liana__strategy_instance **instance, liana__error *error);
void liana__replicas_destroy(liana__strategy_instance *instance);
size_t liana__replicas_count(const liana__strategy_instance *instance);
liana_status liana__replicas_prepare(liana__strategy_instance *instance, liana__step_kind kind,
                                     const liana__leaf_batch *batch, liana__error *error);
liana_status liana__replicas_sum(liana__strategy_instance *instance, liana__step_kind kind,
                                 const liana__leaf_batch *batch, void *first, liana__error *error);
liana_status liana__replicas_update(liana__strategy_instance *instance, const float *scalars, liana__error *error);
liana_status liana__replicas_check(liana__strategy_instance *instance, liana__checked what, liana__non_finite *found,
                                   liana__error *error);
liana_status liana__replicas_read_sum(const liana__strategy_instance *instance, size_t number, void *data,
                                      liana__error *error);
liana__whole *liana__replicas_whole(liana__strategy_instance *instance);
void liana__replicas_memory(const liana__strategy_instance *instance, liana__step_kind kind,
                            const liana__leaf_batch *batch, liana__replica_memory *memory);

#endif
