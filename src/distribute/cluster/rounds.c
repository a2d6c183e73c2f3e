/* How a cluster takes in processes that come when the others have met. */
#include "distribute/cluster/recovery.h"

#include "base/scoped.h"

void liana__rounds_begin(liana__cluster *cluster)
{
    liana__cluster_round round = {0};
    liana__recovery *recovery = cluster->recovery;
    if (cluster->transport->find_round) cluster->transport->find_round(cluster->instance, &round);
    cluster->round = round.number;
    cluster->chief = round.chief;
    if (!recovery || !round.absent) return;
    for (size_t i = 0; i < recovery->size; i++) {
        recovery->ranks[i].is_member = !round.absent[i];
        recovery->ranks[i].is_dead = round.absent[i];
        recovery->num_dead += round.absent[i];
    }
    cluster->generation = recovery->told = recovery->num_dead;
    if (!recovery->num_dead) return;
    /* Without memory the transport only does not know that nobody waits for messages of those. */
    (void)!liana__members_set(cluster, NULL);
}

void liana__cluster_take_in(liana__cluster *cluster, bool may)
{
    if (cluster->transport->take_in) cluster->transport->take_in(cluster->instance, may && cluster->recovery);
}

bool liana__cluster_is_later_round(const liana__cluster *cluster)
{
    return cluster && cluster->round > 0;
}

bool liana__cluster_has_changed(const liana__cluster *cluster)
{
    if (!cluster) return false;
    /* Where nobody is left to go on with there is no next generation. */
    const bool has_dead = cluster->recovery && cluster->recovery->num_dead > 0;
    return has_dead || cluster->generation > 0 || liana__cluster_is_later_round(cluster);
}

size_t liana__cluster_num_members(const liana__cluster *cluster)
{
    size_t count = 0;
    for (size_t i = 0; i < liana__cluster_size(cluster); i++) count += liana__cluster_is_member(cluster, i);
    return count;
}

bool liana__cluster_has_waiting(const liana__cluster *cluster)
{
    if (!cluster->recovery || !cluster->transport->waits) return false;
    for (size_t i = 0; i < liana__cluster_size(cluster); i++) {
        if (i != cluster->place.rank && cluster->transport->waits(cluster->instance, i)) return true;
    }
    return false;
}

/* The message of each to all others, with a byte for each process behind it: whether that one waits. */
enum { IS_THERE, IS_CHIEF, WAITS, STOPS, NUM_FLAGS };

static void describe_own(const liana__cluster *cluster, bool waits, bool stops, unsigned char *own)
{
    own[IS_THERE] = 1;
    own[IS_CHIEF] = liana__cluster_is_chief(cluster);
    own[WAITS] = waits;
    own[STOPS] = stops;
    for (size_t i = 0; i < liana__cluster_size(cluster); i++) {
        own[NUM_FLAGS + i] = i != cluster->place.rank && cluster->transport->waits(cluster->instance, i);
    }
}

static void make_round(const liana__cluster *cluster, const unsigned char *all, liana__cluster_round *round,
                       bool *absent)
{
    const size_t count = liana__cluster_size(cluster), each = NUM_FLAGS + count;
    bool waits = false, stops = false;
    for (size_t i = 0; i < count; i++) {
        waits = waits || all[i * each + WAITS];
        stops = stops || all[i * each + STOPS];
        absent[i] = !all[i * each + IS_THERE];
        if (all[i * each + IS_CHIEF]) round->chief = i;
    }
    for (size_t i = 0; i < count * count; i++) {
        if (all[i / count * each + NUM_FLAGS + i % count]) absent[i % count] = false;
    }
    round->absent = absent;
    if (waits && !stops) round->number = cluster->round + 1;
}

liana_status liana__cluster_plan_round(liana__cluster *cluster, bool waits, bool stops, liana__cluster_round *round,
                                       bool *absent, liana__error *error)
{
    *round = (liana__cluster_round){0};
    if (!cluster->recovery || !cluster->transport->invite) return LIANA_OK;
    const size_t count = liana__cluster_size(cluster), each = NUM_FLAGS + count;
    LIANA__SCOPED_MEMORY unsigned char *own = calloc(each, 1);
    LIANA__SCOPED_MEMORY unsigned char *all = calloc(count, each);
    if (!own || !all) return liana__fail_memory(error, "the next round of the cluster");
    describe_own(cluster, waits, stops, own);
    LIANA_TRY(liana__cluster_gather(cluster, own, each, all, error));
    make_round(cluster, all, round, absent);
    return round->number ? cluster->transport->invite(cluster->instance, round, error) : LIANA_OK;
}
