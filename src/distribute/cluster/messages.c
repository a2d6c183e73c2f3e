/* The roles of the processes of a cluster, and messages between them. */
#include "distribute/cluster/recovery.h"

#include "base/clock.h"

#include <string.h>

/* ---- roles ---- */

size_t liana__cluster_size(const liana__cluster *cluster)
{
    return cluster->place.num_workers + cluster->place.num_servers;
}

bool liana__cluster_is_chief(const liana__cluster *cluster)
{
    return !cluster || cluster->place.rank == cluster->chief;
}

bool liana__cluster_is_member(const liana__cluster *cluster, size_t rank)
{
    return !cluster->recovery || cluster->recovery->ranks[rank].is_member;
}

bool liana__cluster_is_worker(const liana__cluster *cluster)
{
    return cluster->place.rank < cluster->place.num_workers;
}

size_t liana__cluster_num_owners(const liana__cluster *cluster)
{
    return cluster->place.num_servers ? cluster->place.num_servers : cluster->place.num_workers;
}

size_t liana__cluster_owner_rank(const liana__cluster *cluster, size_t owner)
{
    return cluster->place.num_servers ? cluster->place.num_workers + owner : owner;
}

/* ---- messages ---- */

void liana__cluster_begin(liana__cluster *cluster)
{
    cluster->step++;
}

liana__message_key liana__cluster_key(const liana__cluster *cluster, liana__cluster_message kind, size_t part)
{
    return (liana__message_key){cluster->generation, cluster->step, (uint32_t)kind, (uint32_t)part};
}

liana_status liana__cluster_send_parts(const liana__cluster *cluster, size_t to, liana__cluster_message kind,
                                       size_t part, const liana__message_part *parts, size_t num_parts,
                                       liana__error *error)
{
    const bool exchanges =
        kind == LIANA__MESSAGE_REPORT || kind == LIANA__MESSAGE_BLOCKS || kind == LIANA__MESSAGE_VARIABLES;
    if (cluster->phases && exchanges) cluster->phases->phase = LIANA__PHASE_EXCHANGES;
    const liana_status status = cluster->transport->send(cluster->instance, to, liana__cluster_key(cluster, kind, part),
                                                         parts, num_parts, error);
    if (status == LIANA_UNAVAILABLE && cluster->recovery) cluster->recovery->lost = true;
    return status;
}

liana_status liana__cluster_send(const liana__cluster *cluster, size_t to, liana__cluster_message kind, size_t part,
                                 const void *data, size_t size, liana__error *error)
{
    return liana__cluster_send_parts(cluster, to, kind, part, &(liana__message_part){data, size}, 1, error);
}

/* A message that is awaited. */
typedef struct awaited {
    size_t from;
    liana__message_key key;
    liana__receipt wanted;
} awaited;

static liana_status wait_until(const liana__cluster *cluster, const awaited *of, double until, liana__error *error)
{
    return cluster->transport->receive(cluster->instance, of->from, of->key, &of->wanted, until, error);
}

/* Whether nothing more comes of `from`, or a process of this generation is gone. */
static bool is_in_vain(liana__cluster *cluster, size_t from, bool *has_closed)
{
    size_t size;
    *has_closed = cluster->transport->peek(cluster->instance, from, liana__members_close_key(), &size);
    return liana__members_look(cluster) || *has_closed;
}

static liana_status wait_for(const liana__cluster *cluster, const awaited *of, liana__error *error)
{
    /* Looking changes only this process's knowledge of the others. */
    liana__cluster *own = (liana__cluster *)(uintptr_t)cluster;
    bool has_closed;
    if (!cluster->recovery) return wait_until(cluster, of, 0, error);
    for (;;) {
        const double until = liana__clock_seconds() + LIANA__BETWEEN_LOOKS;
        liana_status status = wait_until(cluster, of, until, error);
        if (status != LIANA_UNAVAILABLE) return status;
        if (is_in_vain(own, of->from, &has_closed)) {
            /* The message may have come between the end of the wait and the look. It comes before its sender closes. */
            status = wait_until(cluster, of, until, error);
            if (status != LIANA_UNAVAILABLE) return status;
            if (has_closed) liana__members_lose(own, of->from);
            own->recovery->lost = true;
            return status;
        }
        /* It ended for another reason than the time. */
        if (liana__clock_seconds() < until) return status;
    }
}

liana_status liana__cluster_receive(const liana__cluster *cluster, size_t from, liana__cluster_message kind,
                                    size_t part, void *data, size_t size, liana__error *error)
{
    return wait_for(cluster, &(awaited){from, liana__cluster_key(cluster, kind, part), {data, NULL, size}}, error);
}

liana_status liana__cluster_take(const liana__cluster *cluster, size_t from, liana__cluster_message kind, size_t part,
                                 size_t size, liana__message *message, liana__error *error)
{
    *message = (liana__message){0};
    return wait_for(cluster, &(awaited){from, liana__cluster_key(cluster, kind, part), {NULL, message, size}}, error);
}

liana_status liana__cluster_send_to_all(const liana__cluster *cluster, liana__cluster_message kind, const void *data,
                                        size_t size, liana__error *error)
{
    const size_t count = liana__cluster_size(cluster), own = cluster->place.rank;
    for (size_t i = 1; i < count; i++) {
        const size_t to = (own + i) % count;
        if (!liana__cluster_is_member(cluster, to)) continue;
        LIANA_TRY(liana__cluster_send(cluster, to, kind, 0, data, size, error));
    }
    return LIANA_OK;
}

liana_status liana__cluster_exchange(const liana__cluster *cluster, const void *own, size_t size, void *all,
                                     const size_t *offsets, liana__error *error)
{
    LIANA_TRY(liana__cluster_send_to_all(cluster, LIANA__MESSAGE_GATHER, own, size, error));
    for (size_t i = 0; i < liana__cluster_size(cluster); i++) {
        const size_t begin = offsets ? offsets[i] : i * size, expected = offsets ? offsets[i + 1] - begin : size;
        char *to = expected ? (char *)all + begin : NULL;
        if (i == cluster->place.rank) {
            if (expected) memmove(to, own, expected);
        } else if (liana__cluster_is_member(cluster, i)) {
            LIANA_TRY(liana__cluster_receive(cluster, i, LIANA__MESSAGE_GATHER, 0, to, expected, error));
        } else if (expected) {
            memset(to, 0, expected);
        }
    }
    return LIANA_OK;
}
