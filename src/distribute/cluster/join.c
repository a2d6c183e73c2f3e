/* A program's cluster, as its environment says: opened by the first who needs it, closed with the context. */
#include "base/context_end.h"
#include "distribute/cluster/cluster.h"
#include "distribute/transport/cluster_read.h"

#include <stdlib.h>

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
