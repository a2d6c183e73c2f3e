/* shard_loop.h - a replica for any device: it runs one shard after the other, with the device contract's functions
 * alone. */
#ifndef LIANA_BACKENDS_SHARD_LOOP_H
#define LIANA_BACKENDS_SHARD_LOOP_H

#include "backends/replica.h"

extern const liana__replica_functions liana__shard_loop;

#endif
