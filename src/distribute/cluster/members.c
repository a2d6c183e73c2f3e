/* The dead, as far as this process knows them, and its messages to the others about them. */
#include "distribute/cluster/recovery.h"

#include "base/scoped.h"

/* Messages outside of operations belong to no generation, so none drops them. */
static liana__message_key lasting_key(liana__cluster_message kind, uint64_t number)
{
    return (liana__message_key){.generation = UINT64_MAX, .step = number, .kind = (uint32_t)kind};
}

liana__message_key liana__members_close_key(void)
{
    return lasting_key(LIANA__MESSAGE_CLOSE, 0);
}

/* ---- the dead ---- */

static void note_dead(liana__recovery *own, size_t rank)
{
    if (own->ranks[rank].is_dead) return;
    own->ranks[rank].is_dead = true;
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
    memcpy(&own->ranks[from].told_position, said, sizeof own->position);
    for (size_t i = 0; i < own->size; i++) {
        /* No bool: from another process comes any byte. */
        if (!said[sizeof own->position + i]) continue;
        note_dead(own, i);
        count++;
    }
    own->ranks[from].told_dead = count;
}

static void hear_alarms(liana__cluster *cluster, size_t from)
{
    liana__recovery *own = cluster->recovery;
    const size_t expected = alarm_size(own);
    size_t size;
    for (;;) {
        const liana__message_key key = lasting_key(LIANA__MESSAGE_ALARM, own->ranks[from].alarms_from);
        if (!cluster->transport->peek(cluster->instance, from, key, &size)) return;
        LIANA__SCOPED_MEMORY unsigned char *said = calloc(expected, sizeof *said);
        if (!said) return;
        const liana_status status =
            liana__transport_receive(cluster->transport, cluster->instance, from, key, said, expected, 0, NULL);
        own->ranks[from].alarms_from++;
        if (status == LIANA_OK) hear_alarm(own, from, said);
    }
}

liana_status liana__members_send_alarm(liana__cluster *cluster, size_t to, uint64_t position, liana__error *error)
{
    liana__recovery *own = cluster->recovery;
    const size_t size = alarm_size(own);
    LIANA__SCOPED_MEMORY unsigned char *said = malloc(size);
    if (!said) return liana__fail_memory(error, "a message about who is gone");
    memcpy(said, &position, sizeof position);
    for (size_t i = 0; i < own->size; i++) said[sizeof position + i] = own->ranks[i].is_dead;
    const liana__message_key key = lasting_key(LIANA__MESSAGE_ALARM, own->ranks[to].alarms_to++);
    return liana__transport_send(cluster->transport, cluster->instance, to, key, said, size, error);
}

liana_status liana__members_set(liana__cluster *cluster, liana__error *error)
{
    const liana__recovery *own = cluster->recovery;
    LIANA__SCOPED_MEMORY bool *members = calloc(own->size, sizeof *members);
    if (!members) return liana__fail_memory(error, "a new generation of the cluster");
    for (size_t i = 0; i < own->size; i++) members[i] = own->ranks[i].is_member;
    cluster->transport->set_generation(cluster->instance, cluster->generation, members);
    return LIANA_OK;
}

bool liana__members_call_back(const liana__cluster *cluster, uint64_t position)
{
    const liana__recovery *own = cluster->recovery;
    for (size_t i = 0; i < own->size; i++) {
        if (own->ranks[i].told_dead > cluster->generation && own->ranks[i].told_position < position) return true;
    }
    return false;
}

void liana__members_pass_on(liana__cluster *cluster)
{
    const liana__recovery *own = cluster->recovery;
    for (size_t i = 0; i < own->size; i++) {
        if (i == cluster->place.rank) continue;
        /* A process that cannot be reached will be found to be gone. */
        (void)!liana__members_send_alarm(cluster, i, 0, NULL);
    }
}

bool liana__members_look(liana__cluster *cluster)
{
    liana__recovery *own = cluster->recovery;
    for (size_t i = 0; i < own->size; i++) {
        if (i == cluster->place.rank || own->ranks[i].is_dead) continue;
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
