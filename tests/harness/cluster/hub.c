/* Messages between threads. */
#include "harness/cluster/hub.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct letter {
    struct letter *next;
    size_t from;
    liana__message_key key;
    size_t size;
    char data[];
} letter;

/* One rank's side. */
struct liana__transport_instance {
    liana__hub *hub;
    size_t rank;
    letter *letters;
    bool is_gone, interrupted;
    bool dies;
    uint64_t last; /* of the operations of one that dies: it does no more */
    uint64_t operations;
    uint64_t generation;
    bool *is_lost; /* by rank: no member of the generation */
    liana__transport_counters counters;
};

struct liana__hub {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t num_workers, num_servers;
    liana__transport_instance *ranks;
    liana__hub_control control;
    liana__transport transport;
    bool mirrors;
};

static const liana__transport transport;

liana__hub *liana__hub_create(size_t num_workers, size_t num_servers)
{
    liana__hub *hub = calloc(1, sizeof *hub);
    if (!hub) return NULL;
    hub->num_workers = num_workers;
    hub->num_servers = num_servers;
    hub->ranks = calloc(num_workers + num_servers, sizeof *hub->ranks);
    pthread_mutex_init(&hub->mutex, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&hub->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    hub->transport = transport;
    hub->mirrors = true;
    for (size_t i = 0; hub->ranks && i < num_workers + num_servers; i++) {
        hub->ranks[i].hub = hub;
        hub->ranks[i].rank = i;
        hub->ranks[i].is_lost = calloc(num_workers + num_servers, sizeof(bool));
    }
    return hub;
}

static void drop(liana__transport_instance *own)
{
    while (own->letters) {
        letter *next = own->letters->next;
        free(own->letters);
        own->letters = next;
    }
}

void liana__hub_destroy(liana__hub *hub)
{
    if (!hub) return;
    for (size_t i = 0; i < hub->num_workers + hub->num_servers; i++) {
        drop(&hub->ranks[i]);
        free(hub->ranks[i].is_lost);
    }
    pthread_mutex_destroy(&hub->mutex);
    pthread_cond_destroy(&hub->changed);
    free(hub->ranks);
    free(hub);
}

void liana__hub_set_control(liana__hub *hub, const liana__hub_control *control)
{
    hub->control = *control;
}

void liana__hub_cut(liana__hub *hub, size_t rank)
{
    hub->ranks[rank].is_gone = hub->ranks[rank].interrupted = true;
    pthread_cond_broadcast(&hub->changed);
}

void liana__hub_join(liana__hub *hub, size_t rank, liana__cluster *cluster)
{
    const liana__cluster_place place = {.transport = "hub",
                                        .role = rank == 0                 ? LIANA__ROLE_CHIEF
                                                : rank < hub->num_workers ? LIANA__ROLE_WORKER
                                                                          : LIANA__ROLE_SERVER,
                                        .rank = rank,
                                        .num_workers = hub->num_workers,
                                        .num_servers = hub->num_servers,
                                        .mirrors = hub->mirrors,
                                        /* A death is known at once here. So nobody gives up a farewell since the others
                                         * are slow, and leaves their messages behind. */
                                        .heartbeat = 60,
                                        .source = "a test"};
    liana__cluster_init(cluster, &place, &hub->transport, &hub->ranks[rank]);
    cluster->computes_alike = true;
}

void liana__hub_kill(liana__hub *hub, size_t rank, uint64_t number)
{
    hub->ranks[rank].dies = true;
    hub->ranks[rank].last = number;
}

uint64_t liana__hub_operations(const liana__hub *hub, size_t rank)
{
    return hub->ranks[rank].operations;
}

void liana__hub_set(liana__hub *hub, bool survives_death, bool mirrors)
{
    hub->transport.survives_death = survives_death;
    hub->mirrors = mirrors;
}

size_t liana__hub_num_kept(liana__hub *hub)
{
    size_t count = 0;
    for (size_t i = 0; i < hub->num_workers + hub->num_servers; i++) {
        for (const letter *each = hub->ranks[i].letters; each; each = each->next) count++;
    }
    return count;
}

static bool same_key(liana__message_key a, liana__message_key b)
{
    return a.generation == b.generation && a.step == b.step && a.kind == b.kind && a.part == b.part;
}

static letter **find(liana__transport_instance *own, size_t from, liana__message_key key)
{
    letter **place = &own->letters;
    while (*place && ((*place)->from != from || !same_key((*place)->key, key))) place = &(*place)->next;
    return place;
}

/* The same of messages that may be delivered. */
static letter **find_free(liana__transport_instance *own, size_t from, liana__message_key key)
{
    static letter *none;
    letter **place = find(own, from, key);
    const liana__hub_control *control = &own->hub->control;
    if (!*place || !control->is_held) return place;
    const liana__hub_message message = {from, own->rank, key, (*place)->data, (*place)->size};
    return control->is_held(control->user, &message) ? &none : place;
}

static void close_rank(liana__transport_instance *own)
{
    pthread_mutex_lock(&own->hub->mutex);
    own->is_gone = true;
    pthread_cond_broadcast(&own->hub->changed);
    pthread_mutex_unlock(&own->hub->mutex);
}

/* Called with the mutex. Dead: nothing is done any more. */
static bool is_dead(liana__transport_instance *own)
{
    const bool dies = own->dies && own->operations >= own->last;
    own->operations++;
    if (dies && !own->is_gone) {
        own->is_gone = true;
        pthread_cond_broadcast(&own->hub->changed);
    }
    return own->is_gone;
}

static liana_status send_letter(liana__transport_instance *own, size_t to, liana__message_key key, const void *data,
                                size_t size, liana__error *error)
{
    letter *made = malloc(sizeof *made + size);
    if (!made) return liana__fail_memory(error, "a message");
    *made = (letter){.from = own->rank, .key = key, .size = size};
    if (size) memcpy(made->data, data, size);
    liana__transport_instance *other = &own->hub->ranks[to];
    pthread_mutex_lock(&own->hub->mutex);
    const bool dead = is_dead(own), dropped = dead || other->is_gone || key.generation < other->generation;
    letter **end = find(other, own->rank, key);
    const bool is_new = !dropped && *end == NULL;
    if (is_new) *end = made;
    const liana__hub_message message = {own->rank, to, key, data, size};
    if (own->hub->control.sent) own->hub->control.sent(own->hub->control.user, &message);
    own->counters.messages_sent++;
    own->counters.bytes_sent += size;
    pthread_cond_broadcast(&own->hub->changed);
    pthread_mutex_unlock(&own->hub->mutex);
    if (!is_new) free(made);
    if (dead) return liana__fail(error, LIANA_UNAVAILABLE, "process %zu is dead", own->rank);
    if (is_new || dropped) return LIANA_OK;
    return liana__fail(error, LIANA_INTERNAL, "two messages from %zu to %zu have the key %llu, %u, %u", own->rank, to,
                       (unsigned long long)key.step, key.kind, key.part);
}

/* Until a deadline; 0: none. False: it is over. */
static bool wait_for_change(liana__hub *hub, double deadline)
{
    const struct timespec until = {(time_t)deadline, (long)((deadline - (double)(time_t)deadline) * 1e9)};
    if (deadline == 0) {
        pthread_cond_wait(&hub->changed, &hub->mutex);
        return true;
    }
    if (liana__clock_seconds() >= deadline) return false;
    pthread_cond_timedwait(&hub->changed, &hub->mutex, &until);
    return true;
}

static liana_status copy_letter(liana__transport_instance *own, size_t from, liana__message_key key, void *data,
                                size_t size, double deadline, liana__error *error)
{
    liana__hub *hub = own->hub;
    pthread_mutex_lock(&hub->mutex);
    const bool dead = is_dead(own);
    letter **place = find_free(own, from, key);
    while (!dead && !*place && !hub->ranks[from].is_gone && !own->is_lost[from] && !own->interrupted) {
        if (!wait_for_change(hub, deadline)) break;
        place = find_free(own, from, key);
    }
    letter *found = dead || own->interrupted ? NULL : *place;
    if (found) {
        *place = found->next;
        own->counters.messages_received++;
        own->counters.bytes_received += found->size;
    }
    pthread_mutex_unlock(&hub->mutex);
    if (!found) return liana__fail(error, LIANA_UNAVAILABLE, "process %zu is gone", dead ? own->rank : from);
    const size_t sent = found->size;
    if (sent == size && size) memcpy(data, found->data, size);
    free(found);
    if (sent == size) return LIANA_OK;
    return liana__fail(error, LIANA_INTERNAL, "a message from %zu has %zu bytes, expected %zu", from, sent, size);
}

static liana_status send_parts(liana__transport_instance *own, size_t to, liana__message_key key,
                               const liana__message_part *parts, size_t num_parts, liana__error *error)
{
    size_t size = 0;
    for (size_t i = 0; i < num_parts; i++) size += parts[i].size;
    char *whole = malloc(size + 1);
    if (!whole) return liana__fail_memory(error, "a message");
    liana__message_parts_copy(parts, 0, size, whole);
    const liana_status status = send_letter(own, to, key, whole, size, error);
    free(whole);
    return status;
}

static liana_status receive_letter(liana__transport_instance *own, size_t from, liana__message_key key,
                                   const liana__receipt *wanted, double deadline, liana__error *error)
{
    if (!wanted->message) return copy_letter(own, from, key, wanted->data, wanted->size, deadline, error);
    void *bytes = malloc(wanted->size + 1);
    *wanted->message = (liana__message){bytes, {bytes, free}};
    if (!bytes) return liana__fail_memory(error, "a message");
    const liana_status status = copy_letter(own, from, key, bytes, wanted->size, deadline, error);
    if (status != LIANA_OK) liana__message_free(wanted->message);
    return status;
}

static void set_generation(liana__transport_instance *own, uint64_t generation, const bool *members)
{
    pthread_mutex_lock(&own->hub->mutex);
    own->generation = generation;
    for (size_t i = 0; i < own->hub->num_workers + own->hub->num_servers; i++) own->is_lost[i] = !members[i];
    letter **place = &own->letters;
    while (*place) {
        letter *item = *place;
        if (item->key.generation < generation) {
            *place = item->next;
            free(item);
        } else {
            place = &item->next;
        }
    }
    pthread_mutex_unlock(&own->hub->mutex);
}

static bool peek(liana__transport_instance *own, size_t from, liana__message_key key, size_t *size)
{
    pthread_mutex_lock(&own->hub->mutex);
    const letter *found = *find_free(own, from, key);
    if (found) *size = found->size;
    pthread_mutex_unlock(&own->hub->mutex);
    return found != NULL;
}

static bool is_gone(const liana__transport_instance *own, size_t rank)
{
    pthread_mutex_lock(&own->hub->mutex);
    const bool gone = own->hub->ranks[rank].is_gone || own->is_lost[rank];
    pthread_mutex_unlock(&own->hub->mutex);
    return gone;
}

static void interrupt(liana__transport_instance *own)
{
    pthread_mutex_lock(&own->hub->mutex);
    own->interrupted = true;
    pthread_cond_broadcast(&own->hub->changed);
    pthread_mutex_unlock(&own->hub->mutex);
}

static void counters(const liana__transport_instance *own, liana__transport_counters *read)
{
    *read = own->counters;
}

static const liana__transport transport = {
    .name = "hub",
    .doc = "Threads of a test.",
    .survives_death = true,
    .close = close_rank,
    .send = send_parts,
    .receive = receive_letter,
    .peek = peek,
    .is_gone = is_gone,
    .interrupt = interrupt,
    .set_generation = set_generation,
    .counters = counters,
};
