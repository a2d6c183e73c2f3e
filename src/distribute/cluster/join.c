/* How a cluster begins and ends, and the one that a program's environment names: the first user opens it, and it is
 * closed with the context. */
#include "distribute/cluster/recovery.h"

#include "base/clock.h"
#include "base/context_plugins.h"
#include "distribute/transport/cluster_read.h"

#include <stdlib.h>

static const char KIND[] = "cluster";

/* Seconds that a process that closes waits for others at least. */
static const double shortest_farewell = 1;

void liana__cluster_init(liana__cluster *cluster, const liana__cluster_place *place, const liana__transport *transport,
                         liana__transport_instance *instance)
{
    *cluster =
        (liana__cluster){.place = *place, .transport = transport, .instance = instance, .phases = liana__phases_open()};
    const size_t size = liana__cluster_size(cluster);
    if (transport->survives_death && size > 1) cluster->recovery = liana__recovery_create(size);
    liana__rounds_begin(cluster);
}

/* Others may be in an operation that this process has completed, and need its result when a third one dies. */
static void take_leave(liana__cluster *cluster)
{
    const liana__transport *transport = cluster->transport;
    const liana__recovery *recovery = cluster->recovery;
    const double patience = cluster->place.heartbeat > shortest_farewell ? cluster->place.heartbeat : shortest_farewell;
    const double end = liana__clock_seconds() + patience;
    size_t size;
    for (size_t i = 0; i < recovery->size; i++) {
        if (i == cluster->place.rank || !liana__cluster_is_member(cluster, i)) continue;
        if (liana__transport_send(transport, cluster->instance, i, liana__members_close_key(), NULL, 0, NULL) !=
            LIANA_OK)
            return;
    }
    for (size_t i = 0; i < recovery->size; i++) {
        if (i == cluster->place.rank) continue;
        while (liana__cluster_is_member(cluster, i) &&
               liana__transport_receive(transport, cluster->instance, i, liana__members_close_key(), NULL, 0,
                                        liana__clock_seconds() + LIANA__BETWEEN_LOOKS, NULL) != LIANA_OK) {
            if (liana__clock_seconds() > end || recovery->failure.status != LIANA_OK) return;
            /* A process that has closed and is gone had nothing more to ask. */
            if (transport->is_gone(cluster->instance, i) &&
                !transport->peek(cluster->instance, i, liana__members_close_key(), &size)) {
                break;
            }
            if (liana__members_look(cluster) && liana__cluster_recover(cluster, NULL) != LIANA_OK) return;
        }
    }
}

void liana__cluster_close(liana__cluster *cluster)
{
    if (cluster->instance && cluster->recovery) take_leave(cluster);
    if (cluster->instance) cluster->transport->close(cluster->instance);
    liana__recovery_destroy(cluster->recovery);
    liana__phases_close(cluster->phases);
    cluster->phases = NULL;
    cluster->recovery = NULL;
    cluster->instance = NULL;
}

liana_status liana__cluster_join(liana_context *context, liana__cluster *cluster)
{
    return liana__context_register(context, KIND, KIND, NULL, cluster);
}

liana__cluster *liana__cluster_of(const liana_context *context)
{
    const liana__registered *found = liana__context_registered(context, KIND, KIND);
    return found ? found->user : NULL;
}

/* ---- the cluster of a program's environment ---- */

typedef struct joined {
    liana__cluster cluster;
    liana__arena arena; /* of the place */
} joined;

static void leave(void *user)
{
    joined *own = user;
    if (own->cluster.instance) liana__cluster_close(&own->cluster);
    liana__arena_free(&own->arena);
    free(own);
}

static liana_status open_cluster(joined *own, const char *strategy, liana__error *error)
{
    liana__cluster_place place = {0};
    LIANA_TRY(liana__cluster_place_read(NULL, liana__get_environment, NULL, &own->arena, &place, error));
    if (place.role == LIANA__ROLE_EVALUATOR) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%s says that this process is the evaluator, which does not "
                           "train",
                           place.source);
    }
    if (!place.transport) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the strategy %s is for several processes, but this process is alone: start it with 'liana "
                           "launch --program', mpirun or srun, or say who the others are in TF_CONFIG",
                           strategy);
    }
    const liana__transport *transport = liana__transport_find(place.transport, error);
    if (!transport) return LIANA_INVALID_CONFIG;
    liana__transport_instance *instance = NULL;
    LIANA_TRY(transport->open(&place, &instance, error));
    liana__cluster_init(&own->cluster, &place, transport, instance);
    return LIANA_OK;
}

liana_status liana__cluster_require(liana_context *context, const char *strategy, liana__cluster **cluster,
                                    liana__error *error)
{
    *cluster = liana__cluster_of(context);
    if (*cluster) return LIANA_OK;
    joined *own = calloc(1, sizeof *own);
    if (!own) return liana__fail_memory(error, "the cluster");
    liana_status status = open_cluster(own, strategy, error);
    if (status == LIANA_OK) {
        status = liana__cluster_join(context, &own->cluster);
        if (status == LIANA_OK) status = liana__context_at_end(context, leave, own);
        if (status != LIANA_OK && error && error != &context->error) *error = context->error;
    }
    if (status != LIANA_OK) {
        leave(own);
        return status;
    }
    *cluster = &own->cluster;
    return LIANA_OK;
}
