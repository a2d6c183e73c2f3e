/* replicas.h - the inside of liana_replicas: the devices of a strategy, of this process and of the others. */
#ifndef LIANA_STEP_REPLICAS_H
#define LIANA_STEP_REPLICAS_H

#include "base/threads.h"
#include "distribute/cluster/cluster.h"
#include "distribute/device_set.h"
#include "distribute/tree.h"
#include "program/device.h"
#include "program/variables.h"

#include <liana/replicas.h>
#include <stdatomic.h>

/* The copies of the variables on a device that is not the first. */
typedef struct liana__variable_copies {
    liana__variables values;
    uint64_t *versions; /* by place on the first device: that of the copied contents */
    size_t num_versions;
} liana__variable_copies;

struct liana_replicas {
    liana_context *context;
    liana__arena arena;
    liana_strategy strategy;
    liana__strategy_choice choice;
    liana__cluster *cluster; /* NULL: this process is alone */
    liana__device_set devices;
    struct liana_device first;
    liana_variables *variables;     /* on the first device */
    liana__variable_copies *copies; /* by device; that of the first one is empty */
    liana__pool *pool;              /* a thread for each device; NULL: there is one device */
    /* Replicas of all processes: those of process p are first_of[p] to before first_of[p + 1]. */
    size_t *first_of;
    size_t num_processes, rank;
    atomic_bool asked_to_stop;     /* in this process; or all have agreed */
    _Atomic(const char *) running; /* the running call; NULL: none */
    liana_replicas *next;          /* the one that was opened before */
};

static inline size_t liana__replicas_total(const liana_replicas *replicas)
{
    return replicas->first_of[replicas->num_processes];
}
static inline size_t liana__replicas_first(const liana_replicas *replicas)
{
    return replicas->first_of[replicas->rank];
}
static inline size_t liana__replicas_local(const liana_replicas *replicas)
{
    return replicas->first_of[replicas->rank + 1] - replicas->first_of[replicas->rank];
}

/* The two ends of a call that uses the devices or talks to other processes. `what` is its name in messages, and must
 * stay. Errors: INVALID_ARGUMENT if another call is under way; both are named. */
liana_status liana__replicas_enter(liana_replicas *replicas, const char *what, liana__error *error) LIANA_MUST_USE;
void liana__replicas_leave(liana_replicas *replicas);

/* Lets device `number` have the variables at these places of the first one's, with their present contents. The first
 * device has them. */
liana_status liana__replicas_copy(liana_replicas *replicas, size_t number, const size_t *places, size_t count,
                                  liana__error *error) LIANA_MUST_USE;
/* The list of variables on a device. */
liana__variables *liana__replicas_values(liana_replicas *replicas, size_t number);

#endif
