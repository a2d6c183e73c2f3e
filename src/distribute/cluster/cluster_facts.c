/* Tells a program which one of several processes it is. */
#include "distribute/cluster/cluster.h"
#include "distribute/transport/cluster_read.h"

#include <liana/cluster.h>
#include <string.h>

/* The name of a task in TensorFlow's cluster resolvers. */
static void name_task(const liana__cluster_place *place, liana_cluster_facts *facts)
{
    switch (place->role) {
    case LIANA__ROLE_EVALUATOR:
        facts->type = LIANA_TASK_EVALUATOR;
        facts->rank = -1;
        break;
    case LIANA__ROLE_SERVER:
        facts->type = LIANA_TASK_PARAMETER_SERVER;
        facts->index = facts->rank - facts->num_workers;
        break;
    case LIANA__ROLE_CHIEF:
    case LIANA__ROLE_WORKER:
        facts->type = place->has_chief_task && facts->rank == 0 ? LIANA_TASK_CHIEF : LIANA_TASK_WORKER;
        facts->index = facts->rank - (place->has_chief_task && facts->rank > 0);
        break;
    }
}

static liana_cluster_facts facts_of(const liana__cluster_place *place)
{
    liana_cluster_facts facts = {
        .num_processes = (int64_t)(place->num_workers + place->num_servers),
        .num_workers = (int64_t)place->num_workers,
        .num_servers = (int64_t)place->num_servers,
        .rank = (int64_t)place->rank,
        .is_chief = place->role == LIANA__ROLE_CHIEF,
        .source = place->source,
    };
    name_task(place, &facts);
    return facts;
}

/* In a cluster the chief may have changed; a task keeps its name. */
static liana_cluster_facts facts_of_joined(const liana__cluster *cluster)
{
    liana_cluster_facts facts = facts_of(&cluster->place);
    facts.is_joined = true;
    facts.is_chief = liana__cluster_is_chief(cluster);
    return facts;
}

static liana_status find(liana_context *context, liana_cluster_facts *facts)
{
    const liana__cluster *cluster = liana__cluster_of(context);
    liana__cluster_place place;
    if (cluster) {
        *facts = facts_of_joined(cluster);
        return LIANA_OK;
    }
    LIANA_TRY(liana__cluster_place_read(NULL, liana__get_environment, NULL, &context->parts, &place, &context->error));
    *facts = facts_of(&place);
    return LIANA_OK;
}

liana_status liana_cluster_find(liana_context *context, liana_cluster_facts *facts)
{
    LIANA__REQUIRE(liana__context_error(context), facts);
    *facts = (liana_cluster_facts){0};
    LIANA__REQUIRE(NULL, context);
    LIANA__CONTEXT_CALL(context, find(context, facts));
}

const char *liana_task_type_name(liana_task_type type)
{
    static const char *const names[] = {"chief", "worker", "ps", "evaluator"};
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : NULL;
}
