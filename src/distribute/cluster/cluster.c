/* Small collective operations, made of sending and receiving. */
#include "distribute/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char KIND[] = "cluster";

void liana__cluster_init(liana__cluster *cluster, const liana__cluster_place *place, const liana__transport *transport,
                         liana__transport_instance *instance)
{
    *cluster = (liana__cluster){.place = *place, .transport = transport, .instance = instance};
}

void liana__cluster_close(liana__cluster *cluster)
{
    if (cluster->instance) cluster->transport->close(cluster->instance);
    cluster->instance = NULL;
}

/* A function is part of what is registered; it is never called. */
static void no_function(void)
{
}

liana_status liana__cluster_join(liana_context *context, liana__cluster *cluster)
{
    return liana__context_register(context, KIND, KIND, no_function, cluster);
}

liana__cluster *liana__cluster_of(const liana_context *context)
{
    const liana__registered *found = liana__context_registered(context, KIND, KIND);
    return found ? found->user : NULL;
}

liana_status liana__cluster_require(const liana_context *context, const char *strategy, liana__cluster **cluster,
                                    liana__error *error)
{
    *cluster = liana__cluster_of(context);
    if (*cluster) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "the strategy %s is for several processes, but this one belongs to no cluster", strategy);
}

/* ---- who is who ---- */

size_t liana__cluster_size(const liana__cluster *cluster)
{
    return cluster->place.num_workers + cluster->place.num_servers;
}

bool liana__cluster_is_chief(const liana__cluster *cluster)
{
    return !cluster || cluster->place.rank == 0;
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

size_t liana__cluster_own_slice(const liana__cluster *cluster)
{
    const liana__cluster_place *place = &cluster->place;
    if (!place->num_servers) return place->rank;
    return place->rank < place->num_workers ? place->num_servers : place->rank - place->num_workers;
}

/* ---- messages ---- */

void liana__cluster_begin(liana__cluster *cluster)
{
    cluster->step++;
}

static liana__message_key key_of(const liana__cluster *cluster, liana__cluster_message kind, size_t part)
{
    return (liana__message_key){cluster->generation, cluster->step, (uint32_t)kind, (uint32_t)part};
}

liana_status liana__cluster_send(const liana__cluster *cluster, size_t to, liana__cluster_message kind, size_t part,
                                 const void *data, size_t size, liana__error *error)
{
    return cluster->transport->send(cluster->instance, to, key_of(cluster, kind, part), data, size, error);
}

liana_status liana__cluster_receive(const liana__cluster *cluster, size_t from, liana__cluster_message kind,
                                    size_t part, void *data, size_t size, liana__error *error)
{
    return cluster->transport->receive(cluster->instance, from, key_of(cluster, kind, part), data, size, 0, error);
}

liana_status liana__cluster_send_to_all(const liana__cluster *cluster, liana__cluster_message kind, const void *data,
                                        size_t size, liana__error *error)
{
    const size_t count = liana__cluster_size(cluster), own = cluster->place.rank;
    for (size_t i = 1; i < count; i++) {
        LIANA_TRY(liana__cluster_send(cluster, (own + i) % count, kind, 0, data, size, error));
    }
    return LIANA_OK;
}

/* ---- collective operations ---- */

liana_status liana__cluster_gather(liana__cluster *cluster, const void *own, size_t size, void *all,
                                   liana__error *error)
{
    const size_t count = liana__cluster_size(cluster), rank = cluster->place.rank;
    liana__cluster_begin(cluster);
    LIANA_TRY(liana__cluster_send_to_all(cluster, LIANA__MESSAGE_GATHER, own, size, error));
    for (size_t i = 0; i < count; i++) {
        char *to = (char *)all + i * size;
        if (i == rank) {
            if (size) memmove(to, own, size);
            continue;
        }
        LIANA_TRY(liana__cluster_receive(cluster, i, LIANA__MESSAGE_GATHER, 0, to, size, error));
    }
    return LIANA_OK;
}

void liana__gathered_free(liana__gathered *gathered)
{
    free(gathered->data);
    free(gathered->offsets);
    *gathered = (liana__gathered){0};
}

liana_status liana__cluster_gather_sized(liana__cluster *cluster, const void *own, size_t size, liana__gathered *all,
                                         liana__error *error)
{
    const size_t count = liana__cluster_size(cluster), rank = cluster->place.rank;
    uint64_t *sizes = calloc(count, sizeof *sizes);
    all->offsets = calloc(count + 1, sizeof *all->offsets);
    const uint64_t own_size = size;
    liana_status status =
        sizes && all->offsets ? LIANA_OK : liana__fail_memory(error, "what the processes tell each other");
    if (status == LIANA_OK) status = liana__cluster_gather(cluster, &own_size, sizeof own_size, sizes, error);
    for (size_t i = 0; status == LIANA_OK && i < count; i++) all->offsets[i + 1] = all->offsets[i] + (size_t)sizes[i];
    free(sizes);
    LIANA_TRY(status);
    all->data = malloc(all->offsets[count] + 1);
    if (!all->data) return liana__fail_memory(error, "what the processes tell each other");
    liana__cluster_begin(cluster);
    LIANA_TRY(liana__cluster_send_to_all(cluster, LIANA__MESSAGE_GATHER, own, size, error));
    for (size_t i = 0; i < count; i++) {
        char *to = all->data + all->offsets[i];
        const size_t expected = all->offsets[i + 1] - all->offsets[i];
        if (i != rank) {
            LIANA_TRY(liana__cluster_receive(cluster, i, LIANA__MESSAGE_GATHER, 0, to, expected, error));
        } else if (size) {
            memcpy(to, own, size);
        }
    }
    return LIANA_OK;
}

liana_status liana__cluster_broadcast(liana__cluster *cluster, size_t from, void *data, size_t size,
                                      liana__error *error)
{
    liana__cluster_begin(cluster);
    if (cluster->place.rank == from)
        return liana__cluster_send_to_all(cluster, LIANA__MESSAGE_BROADCAST, data, size, error);
    return liana__cluster_receive(cluster, from, LIANA__MESSAGE_BROADCAST, 0, data, size, error);
}

liana_status liana__cluster_broadcast_sized(liana__cluster *cluster, size_t from, void **data, size_t *size,
                                            liana__error *error)
{
    uint64_t length = *size;
    LIANA_TRY(liana__cluster_broadcast(cluster, from, &length, sizeof length, error));
    *size = (size_t)length;
    if (cluster->place.rank != from) {
        *data = malloc(*size + 1);
        if (!*data) return liana__fail_memory(error, "what another process tells");
        ((char *)*data)[*size] = 0;
    }
    return liana__cluster_broadcast(cluster, from, *data, *size, error);
}

liana_status liana__cluster_agree(liana__cluster *cluster, bool *any, liana__error *error)
{
    const size_t count = liana__cluster_size(cluster);
    const unsigned char own = *any;
    unsigned char *all = malloc(count);
    if (!all) return liana__fail_memory(error, "what the processes tell each other");
    liana_status status = liana__cluster_gather(cluster, &own, sizeof own, all, error);
    for (size_t i = 0; status == LIANA_OK && i < count; i++) *any |= all[i] != 0;
    free(all);
    return status;
}

liana_status liana__cluster_decide(liana__cluster *cluster, bool *decision, liana__error *error)
{
    unsigned char told = *decision;
    LIANA_TRY(liana__cluster_broadcast(cluster, 0, &told, sizeof told, error));
    *decision = told != 0;
    return LIANA_OK;
}

liana_status liana__cluster_share_error(liana__cluster *cluster, const int32_t *statuses, liana__error *error)
{
    const size_t count = liana__cluster_size(cluster);
    size_t first = 0;
    while (first < count && statuses[first] == LIANA_OK) first++;
    if (first == count) return LIANA_OK;
    char text[sizeof error->message] = "";
    if (first == cluster->place.rank && error) snprintf(text, sizeof text, "%s", error->message);
    LIANA_TRY(liana__cluster_broadcast(cluster, first, text, sizeof text, error));
    if (first == cluster->place.rank) return (liana_status)statuses[first];
    text[sizeof text - 1] = 0;
    return liana__fail(error, (liana_status)statuses[first], "process %zu: %.1900s", first, text);
}

liana_status liana__cluster_agree_status(liana__cluster *cluster, liana_status status, liana__error *error)
{
    if (!cluster) return status;
    const size_t count = liana__cluster_size(cluster);
    const int32_t own = (int32_t)status;
    int32_t *all = calloc(count, sizeof *all);
    if (!all) return liana__fail_memory(error, "what the processes tell each other");
    liana_status told = liana__cluster_gather(cluster, &own, sizeof own, all, error);
    if (told == LIANA_OK) told = liana__cluster_share_error(cluster, all, error);
    free(all);
    return told;
}
