/* How all processes that are left come to agree on the dead: a new generation of the cluster. */
#include "distribute/cluster/recovery.h"

#include "base/clock.h"

#include <stdio.h>
#include <time.h>

/* Seconds that the transport may take to notice a death that a failed message has shown already. */
static const double slowest_notice = 5;

/* ---- views ---- */

/* The message of each to all others before a generation begins. */
typedef struct view {
    uint64_t position;
    uint64_t dead; /* a hash of their ranks */
} view;

static uint64_t hash_dead(const liana__recovery *own)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < own->size; i++) hash = (hash ^ own->ranks[i].is_dead) * 0x100000001b3u;
    return hash;
}

/* The same for all that miss the same processes, and for no other view: nobody tells two of them. */
static liana__message_key view_key(const liana__recovery *own)
{
    return (liana__message_key){own->num_dead, hash_dead(own), LIANA__MESSAGE_VIEW, 0};
}

/* Tells all others the names of the dead: also the dead themselves, should they be alive after all. */
static liana_status tell(liana__cluster *cluster, liana__error *error)
{
    liana__recovery *own = cluster->recovery;
    const liana__transport *transport = cluster->transport;
    const view mine = {own->position, hash_dead(own)};
    if (own->told == own->num_dead) return LIANA_OK;
    own->told = own->num_dead;
    for (size_t i = 0; i < own->size; i++) {
        if (i == cluster->place.rank) continue;
        liana_status status = liana__members_send_alarm(cluster, i, own->position, error);
        if (status == LIANA_OK && !own->ranks[i].is_dead) {
            status = liana__transport_send(transport, cluster->instance, i, view_key(own), &mine, sizeof mine, error);
        }
        /* A process that cannot be reached will be found to be gone. */
        if (status != LIANA_OK && status != LIANA_UNAVAILABLE) return status;
    }
    own->ranks[cluster->place.rank].position = own->position;
    return LIANA_OK;
}

/* *changed: more have gone meanwhile, so all begin again. */
static liana_status hear(liana__cluster *cluster, bool *changed, liana__error *error)
{
    liana__recovery *own = cluster->recovery;
    const uint64_t before = own->num_dead;
    *changed = false;
    for (size_t i = 0; i < own->size; i++) {
        view theirs = {0};
        if (i == cluster->place.rank || own->ranks[i].is_dead) continue;
        for (;;) {
            const liana_status status =
                liana__transport_receive(cluster->transport, cluster->instance, i, view_key(own), &theirs,
                                         sizeof theirs, liana__clock_seconds() + LIANA__BETWEEN_LOOKS, error);
            if (status == LIANA_OK) break;
            if (status != LIANA_UNAVAILABLE) return status;
            liana__members_look(cluster);
            *changed = own->num_dead != before;
            if (*changed) return LIANA_OK;
        }
        own->ranks[i].position = theirs.position;
    }
    return LIANA_OK;
}

/* ---- a new generation ---- */

static const char *advice_of(const liana__cluster *cluster)
{
    return cluster->advice ? cluster->advice : "start it again";
}

static liana_status check_left(const liana__cluster *cluster, liana__error *error)
{
    const liana__recovery *own = cluster->recovery;
    if (own->ranks[cluster->place.rank].is_dead) {
        return liana__fail(error, LIANA_UNAVAILABLE,
                           "the other processes took this one (rank %zu) for dead and go on without it: it did not "
                           "answer in time, or the network was cut",
                           cluster->place.rank);
    }
    for (size_t i = 0; i < cluster->place.num_workers; i++) {
        if (!own->ranks[i].is_dead) return LIANA_OK;
    }
    return liana__fail(error, LIANA_UNAVAILABLE, "no worker is left of %zu; %s", cluster->place.num_workers,
                       advice_of(cluster));
}

static liana_status begin_generation(liana__cluster *cluster, liana__error *error)
{
    liana__recovery *own = cluster->recovery;
    for (size_t i = 0; i < own->size; i++) own->ranks[i].is_member = !own->ranks[i].is_dead;
    cluster->generation = own->num_dead;
    cluster->step = 0;
    return liana__members_set(cluster, error);
}

/* The chief's answer about going on. */
typedef struct answer {
    int32_t status;
    char text[1024];
} answer;

static void ask_chief(liana__cluster *cluster, bool takes_over, answer *said)
{
    const liana__cluster_hooks *hooks = &cluster->hooks;
    liana__error error = {0};
    liana_status status = LIANA_OK;
    if (hooks->lead) {
        status = hooks->lead(hooks->user, takes_over, &error);
    } else if (takes_over) {
        status =
            liana__fail(&error, LIANA_UNAVAILABLE, "the chief (rank %zu) is gone, and nobody can take its place; %s",
                        cluster->chief, advice_of(cluster));
    }
    said->status = (int32_t)status;
    if (status != LIANA_OK) snprintf(said->text, sizeof said->text, "%.1000s", error.message);
}

/* If the chief is gone the first worker that is left is the next one, if it may be. */
static liana_status find_chief(liana__cluster *cluster, liana__error *error)
{
    const liana__recovery *own = cluster->recovery;
    /* The leader stays the chief, also where a worker before it has come back. */
    size_t chief = cluster->chief;
    if (own->ranks[chief].is_dead) {
        chief = 0;
        while (own->ranks[chief].is_dead) chief++;
    }
    const bool changes = chief != cluster->chief;
    answer said = {0};
    if (cluster->place.rank == chief) {
        ask_chief(cluster, changes, &said);
        LIANA_TRY(liana__cluster_send_to_all(cluster, LIANA__MESSAGE_LEAD, &said, sizeof said, error));
    } else {
        LIANA_TRY(liana__cluster_receive(cluster, chief, LIANA__MESSAGE_LEAD, 0, &said, sizeof said, error));
    }
    if (said.status != LIANA_OK) {
        said.text[sizeof said.text - 1] = 0;
        return liana__fail(error, (liana_status)said.status, "%s", *said.text ? said.text : "the chief does not go on");
    }
    cluster->chief = chief;
    if (changes && cluster->hooks.chief_changed) cluster->hooks.chief_changed(cluster->hooks.user, chief);
    return LIANA_OK;
}

/* A message has failed, but nobody is known to be gone: that is noticed soon. */
static bool wait_for_news(liana__cluster *cluster)
{
    const double end = liana__clock_seconds() + 2 * cluster->place.heartbeat + slowest_notice;
    while (!liana__members_look(cluster)) {
        if (liana__clock_seconds() > end) return false;
        const struct timespec pause = {0, (long)(LIANA__BETWEEN_LOOKS * 1e9)};
        nanosleep(&pause, NULL);
    }
    return true;
}

liana_status liana__members_agree(liana__cluster *cluster, liana__error *error)
{
    if (!wait_for_news(cluster)) {
        return liana__fail(error, LIANA_UNAVAILABLE, "messages to other processes are lost, but all of them are there");
    }
    for (;;) {
        bool changed = true;
        while (changed) {
            LIANA_TRY(check_left(cluster, error));
            LIANA_TRY(tell(cluster, error));
            LIANA_TRY(hear(cluster, &changed, error));
        }
        LIANA_TRY(begin_generation(cluster, error));
        const liana_status status = find_chief(cluster, error);
        if (status != LIANA_UNAVAILABLE || !liana__members_look(cluster)) return status;
    }
}
