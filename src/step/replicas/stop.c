/* Lets the processes of a loop of one's own stop at the same step. */
#include "step/replicas/replicas.h"

#include "base/context.h"

_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "a signal handler needs a lock-free flag");

void liana_replicas_request_stop(liana_replicas *replicas)
{
    if (replicas) atomic_store(&replicas->asked_to_stop, true);
}

static liana_status agree(liana_replicas *replicas, bool *stop)
{
    liana__error *error = &replicas->context->error;
    bool any = atomic_load(&replicas->asked_to_stop);
    LIANA_TRY(liana__replicas_enter(replicas, "liana_replicas_should_stop", error));
    liana_status status = replicas->cluster ? liana__cluster_agree(replicas->cluster, &any, error) : LIANA_OK;
    liana__replicas_leave(replicas);
    LIANA_TRY(status);
    if (any) atomic_store(&replicas->asked_to_stop, true);
    *stop = any;
    return LIANA_OK;
}

liana_status liana_replicas_should_stop(liana_replicas *replicas, bool *stop)
{
    LIANA__REQUIRE(replicas ? liana__context_error(replicas->context) : NULL, stop);
    *stop = false;
    LIANA__REQUIRE(NULL, replicas);
    LIANA__CONTEXT_CALL(replicas->context, agree(replicas, stop));
}
