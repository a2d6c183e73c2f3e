/* Who is gone, and how all who are left come to say the same about it. */
#include "distribute/cluster/recovery.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Seconds between looks at who is gone, while somebody waits; and how long the transport may take to notice what a
 * failed message has shown already. */
static const double between_looks = 0.05, slowest_notice = 5;

/* Messages outside of operations belong to no generation, so none drops them. */
static liana__message_key lasting_key(liana__cluster_message kind, uint64_t number)
{
    return (liana__message_key){.generation = UINT64_MAX, .step = number, .kind = (uint32_t)kind};
}

liana__message_key liana__members_close_key(void)
{
    return lasting_key(LIANA__MESSAGE_CLOSE, 0);
}

/* ---- who is gone ---- */

static void note_dead(liana__recovery *own, size_t rank)
{
    if (own->is_dead[rank]) return;
    own->is_dead[rank] = true;
    own->num_dead++;
}

/* An alarm: how many operations its sender has completed, and the dead, a byte for each rank. */
static size_t alarm_size(const liana__recovery *own)
{
    return sizeof own->position + own->size;
}

static void hear_alarm(liana__recovery *own, size_t from, const unsigned char *said)
{
    uint64_t count = 0;
    memcpy(&own->told_positions[from], said, sizeof own->position);
    for (size_t i = 0; i < own->size; i++) {
        /* No bool: from another process comes any byte. */
        if (!said[sizeof own->position + i]) continue;
        note_dead(own, i);
        count++;
    }
    own->told_dead[from] = count;
}

static void hear_alarms(liana__cluster *cluster, size_t from)
{
    liana__recovery *own = cluster->recovery;
    const size_t expected = alarm_size(own);
    size_t size;
    for (;;) {
        const liana__message_key key = lasting_key(LIANA__MESSAGE_ALARM, own->alarms_from[from]);
        if (!cluster->transport->peek(cluster->instance, from, key, &size)) return;
        unsigned char *said = calloc(expected, sizeof *said);
        if (!said) return;
        const liana_status status = cluster->transport->receive(cluster->instance, from, key, said, expected, 0, NULL);
        own->alarms_from[from]++;
        if (status == LIANA_OK) hear_alarm(own, from, said);
        free(said);
    }
}

static liana_status send_alarm(liana__cluster *cluster, size_t to, uint64_t position, liana__error *error)
{
    liana__recovery *own = cluster->recovery;
    const size_t size = alarm_size(own);
    unsigned char *said = malloc(size);
    if (!said) return liana__fail_memory(error, "a message about who is gone");
    memcpy(said, &position, sizeof position);
    for (size_t i = 0; i < own->size; i++) said[sizeof position + i] = own->is_dead[i];
    const liana__message_key key = lasting_key(LIANA__MESSAGE_ALARM, own->alarms_to[to]++);
    const liana_status status = cluster->transport->send(cluster->instance, to, key, said, size, error);
    free(said);
    return status;
}

bool liana__members_call_back(const liana__cluster *cluster, uint64_t position)
{
    const liana__recovery *own = cluster->recovery;
    for (size_t i = 0; i < own->size; i++) {
        if (own->told_dead[i] > cluster->generation && own->told_positions[i] < position) return true;
    }
    return false;
}

void liana__members_pass_on(liana__cluster *cluster)
{
    const liana__recovery *own = cluster->recovery;
    for (size_t i = 0; i < own->size; i++) {
        if (i == cluster->place.rank) continue;
        const liana_status status = send_alarm(cluster, i, 0, NULL);
        /* Who cannot be reached will be found to be gone. */
        (void)status;
    }
}

bool liana__members_look(liana__cluster *cluster)
{
    liana__recovery *own = cluster->recovery;
    for (size_t i = 0; i < own->size; i++) {
        if (i == cluster->place.rank || own->is_dead[i]) continue;
        hear_alarms(cluster, i);
        if (cluster->transport->is_gone(cluster->instance, i)) note_dead(own, i);
    }
    if (cluster->transport->is_gone(cluster->instance, cluster->place.rank)) note_dead(own, cluster->place.rank);
    return own->num_dead > cluster->generation;
}

void liana__members_lose(liana__cluster *cluster, size_t rank)
{
    note_dead(cluster->recovery, rank);
}

/* ---- views ---- */

/* What each tells all others before a generation begins. */
typedef struct view {
    uint64_t position;
    uint64_t dead; /* a hash of who */
} view;

static uint64_t hash_dead(const liana__recovery *own)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < own->size; i++) hash = (hash ^ own->is_dead[i]) * 0x100000001b3u;
    return hash;
}

/* The same for all who miss the same processes, and for no other view: nobody tells two of them. */
static liana__message_key view_key(const liana__recovery *own)
{
    return (liana__message_key){own->num_dead, hash_dead(own), LIANA__MESSAGE_VIEW, 0};
}

/* Tells all others who is dead: also those who are, should they be alive after all. */
static liana_status tell(liana__cluster *cluster, liana__error *error)
{
    liana__recovery *own = cluster->recovery;
    const liana__transport *transport = cluster->transport;
    const view mine = {own->position, hash_dead(own)};
    if (own->told == own->num_dead) return LIANA_OK;
    own->told = own->num_dead;
    for (size_t i = 0; i < own->size; i++) {
        if (i == cluster->place.rank) continue;
        liana_status status = send_alarm(cluster, i, own->position, error);
        if (status == LIANA_OK && !own->is_dead[i]) {
            status = transport->send(cluster->instance, i, view_key(own), &mine, sizeof mine, error);
        }
        /* Who cannot be reached will be found to be gone. */
        if (status != LIANA_OK && status != LIANA_UNAVAILABLE) return status;
    }
    own->positions[cluster->place.rank] = own->position;
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
        if (i == cluster->place.rank || own->is_dead[i]) continue;
        for (;;) {
            const liana_status status =
                cluster->transport->receive(cluster->instance, i, view_key(own), &theirs, sizeof theirs,
                                            liana__clock_seconds() + between_looks, error);
            if (status == LIANA_OK) break;
            if (status != LIANA_UNAVAILABLE) return status;
            liana__members_look(cluster);
            *changed = own->num_dead != before;
            if (*changed) return LIANA_OK;
        }
        own->positions[i] = theirs.position;
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
    if (own->is_dead[cluster->place.rank]) {
        return liana__fail(error, LIANA_UNAVAILABLE,
                           "the other processes took this one (rank %zu) for dead and go on without it: it did not "
                           "answer in time, or the network was cut",
                           cluster->place.rank);
    }
    for (size_t i = 0; i < cluster->place.num_workers; i++) {
        if (!own->is_dead[i]) return LIANA_OK;
    }
    return liana__fail(error, LIANA_UNAVAILABLE, "no worker is left of %zu; %s", cluster->place.num_workers,
                       advice_of(cluster));
}

static liana_status begin_generation(liana__cluster *cluster, liana__error *error)
{
    liana__recovery *own = cluster->recovery;
    bool *members = calloc(own->size, sizeof *members);
    if (!members) return liana__fail_memory(error, "a new generation of the cluster");
    for (size_t i = 0; i < own->size; i++) {
        members[i] = !own->is_dead[i];
        own->is_member[i] = members[i];
    }
    cluster->generation = own->num_dead;
    cluster->step = 0;
    cluster->transport->set_generation(cluster->instance, cluster->generation, members);
    free(members);
    return LIANA_OK;
}

/* What the chief says about going on. */
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
    /* Who leads stays the chief, also where a worker before it has come back. */
    size_t chief = cluster->chief;
    if (own->is_dead[chief]) {
        chief = 0;
        while (own->is_dead[chief]) chief++;
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
        const struct timespec pause = {0, (long)(between_looks * 1e9)};
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
