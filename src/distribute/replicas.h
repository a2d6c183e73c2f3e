/* replicas.h - replicas on devices of this process: the common part of strategies of one process. */
#ifndef LIANA_DISTRIBUTE_REPLICAS_H
#define LIANA_DISTRIBUTE_REPLICAS_H

#include "distribute/strategy.h"

/* See liana__strategy. Any number of devices from 1 on; with several, each computes in a thread of its own. */
liana_status liana__replicas_create(const liana__strategy_devices *devices, const liana__strategy_plan *plan,
                                    liana__strategy_instance **instance, liana__error *error);
extern const liana__strategy_functions liana__replicas_functions;

#endif
