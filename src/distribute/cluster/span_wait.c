/* Waiting in a span. */
#include "distribute/cluster/span_wait.h"

#include "base/clock.h"
#include "distribute/cluster/recovery.h"

void liana__span_look(liana__cluster *cluster, double *last)
{
    const double now = liana__clock_seconds();
    if (!cluster->recovery || now < *last + LIANA__BETWEEN_LOOKS) return;
    *last = now;
    (void)!liana__members_look(cluster); /* who is gone, is asked one by one */
}

bool liana__span_is_gone(const liana__cluster *cluster, size_t rank)
{
    return cluster->recovery && cluster->recovery->ranks[rank].is_dead;
}

bool liana__span_is_called_back(liana__cluster *cluster)
{
    const liana__recovery *recovery = cluster->recovery;
    if (!recovery) return false;
    const bool is_called = liana__members_call_back(cluster, recovery->position);
    if (is_called) liana__members_pass_on(cluster);
    return is_called || recovery->ranks[cluster->place.rank].is_dead;
}

liana_status liana__span_receive(const liana__cluster *cluster, size_t from, liana__cluster_message kind, size_t part,
                                 void *data, size_t size, bool *lost, liana__error *error)
{
    /* Looking changes only this process's knowledge of the others. */
    liana__cluster *own = (liana__cluster *)(uintptr_t)cluster;
    const liana__message_key key = liana__cluster_key(cluster, kind, part);
    if (!cluster->recovery) return liana__cluster_receive(cluster, from, kind, part, data, size, error);
    for (;;) {
        const double until = liana__clock_seconds() + LIANA__BETWEEN_LOOKS;
        const liana_status status =
            liana__transport_receive(cluster->transport, cluster->instance, from, key, data, size, until, error);
        if (status != LIANA_UNAVAILABLE) return status;
        double last = 0;
        liana__span_look(own, &last);
        *lost = liana__span_is_called_back(own) || liana__span_is_gone(cluster, from);
        /* Else it ended for another reason than the time. */
        if (*lost || liana__clock_seconds() < until) return status;
    }
}

liana_status liana__span_listen(const liana__cluster *cluster, size_t from, liana__cluster_message kind, size_t part,
                                void *data, size_t size, const atomic_bool *ends, liana__error *error)
{
    const liana__message_key key = liana__cluster_key(cluster, kind, part);
    if (!cluster->recovery) return liana__cluster_receive(cluster, from, kind, part, data, size, error);
    for (;;) {
        const double until = liana__clock_seconds() + LIANA__BETWEEN_LOOKS;
        const liana_status status =
            liana__transport_receive(cluster->transport, cluster->instance, from, key, data, size, until, error);
        if (status != LIANA_UNAVAILABLE || *ends || liana__clock_seconds() < until) return status;
    }
}
