/* The dead, as far as this process knows them, and its messages to the others about them. */
#include "distribute/cluster/recovery.h"

#include <stdlib.h>
#include <string.h>

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
        const liana_status status =
            liana__transport_receive(cluster->transport, cluster->instance, from, key, said, expected, 0, NULL);
        own->alarms_from[from]++;
        if (status == LIANA_OK) hear_alarm(own, from, said);
        free(said);
    }
}

liana_status liana__members_send_alarm(liana__cluster *cluster, size_t to, uint64_t position, liana__error *error)
{
    liana__recovery *own = cluster->recovery;
    const size_t size = alarm_size(own);
    unsigned char *said = malloc(size);
    if (!said) return liana__fail_memory(error, "a message about who is gone");
    memcpy(said, &position, sizeof position);
    for (size_t i = 0; i < own->size; i++) said[sizeof position + i] = own->is_dead[i];
    const liana__message_key key = lasting_key(LIANA__MESSAGE_ALARM, own->alarms_to[to]++);
    const liana_status status =
        liana__transport_send(cluster->transport, cluster->instance, to, key, said, size, error);
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
        const liana_status status = liana__members_send_alarm(cluster, i, 0, NULL);
        /* A process that cannot be reached will be found to be gone. */
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
