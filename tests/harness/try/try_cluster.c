/* A transport whose messages are made of any bytes, and the operations of a process on it. */
#include "harness/try/try_cluster.h"

#include "distribute/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 4, MOST_BYTES = 1 << 20, MOST_OPERATIONS = 64 };

static void demand(bool condition, const char *what, const liana__error *error)
{
    if (condition) return;
    fprintf(stderr, "broken promise: %s\n%s\n", what, error->message);
    abort();
}

/* ---- the others ---- */

typedef struct others {
    const uint8_t *next, *end;
    bool is_gone[MOST_RANKS];
    size_t own; /* rank */
} others;

/* When nothing is left to be said they are gone. */
static bool has_ended(const others *own)
{
    return own->next == own->end;
}

static uint8_t take(others *own)
{
    return has_ended(own) ? 0 : *own->next++;
}

static others *others_of(const liana__transport_instance *instance)
{
    return (others *)(uintptr_t)instance;
}

static liana_status send_parts(liana__transport_instance *instance, size_t to, liana__message_key key,
                               const liana__message_part *parts, size_t num_parts, liana__error *error)
{
    (void)instance;
    (void)to;
    (void)key;
    (void)error;
    /* Sent bytes must be there. */
    unsigned sum = 0;
    for (size_t i = 0; i < num_parts; i++) {
        for (size_t k = 0; k < parts[i].size; k++) sum += ((const uint8_t *)parts[i].data)[k];
    }
    (void)*(volatile unsigned *)&sum;
    return LIANA_OK;
}

/* A transport gives just the size that is wanted, or says that it is another one. */
static liana_status give(liana__transport_instance *instance, size_t from, liana__message_key key, void *data,
                         size_t size, liana__error *error)
{
    enum { FAILS = 0x3f, SHORT = 4 };
    others *own = others_of(instance);
    const uint8_t how = take(own);
    if (has_ended(own) || own->is_gone[from] || how == 0) {
        return liana__fail(error, LIANA_UNAVAILABLE, "rank %zu is gone", from);
    }
    if (how == FAILS || size > MOST_BYTES) {
        return liana__fail(error, LIANA_INTERNAL, "a message of another size");
    }
    if (size) memset(data, 0, size);
    size_t count = (size_t)(own->end - own->next);
    if (count > size) count = size;
    /* A number of 8 bytes may be a size: memory for more than a few MiB is not tried. */
    const bool is_number = size == 8 && key.kind != LIANA__MESSAGE_VIEW;
    if (is_number && count > SHORT - 1) count = SHORT - 1;
    if (count) memcpy(data, own->next, count);
    own->next += count;
    return LIANA_OK;
}

static liana_status receive(liana__transport_instance *instance, size_t from, liana__message_key key,
                            const liana__receipt *wanted, double deadline, liana__error *error)
{
    (void)deadline;
    if (!wanted->message) return give(instance, from, key, wanted->data, wanted->size, error);
    void *bytes = wanted->size > MOST_BYTES ? NULL : malloc(wanted->size + 1);
    if (!bytes) return liana__fail(error, LIANA_INTERNAL, "a message of another size");
    *wanted->message = (liana__message){bytes, {bytes, free}};
    const liana_status status = give(instance, from, key, bytes, wanted->size, error);
    if (status != LIANA_OK) liana__message_free(wanted->message);
    return status;
}

static bool peek(liana__transport_instance *instance, size_t from, liana__message_key key, size_t *size)
{
    others *own = others_of(instance);
    (void)key;
    if (own->is_gone[from] || take(own) % 8 != 7) return false;
    *size = take(own);
    return true;
}

static bool is_gone(const liana__transport_instance *instance, size_t rank)
{
    others *own = others_of(instance);
    if (rank == own->own) return own->is_gone[rank] = own->is_gone[rank] || take(own) == 0xfe;
    if (has_ended(own) || take(own) % 32 == 31) own->is_gone[rank] = true;
    return own->is_gone[rank];
}

static void do_nothing(liana__transport_instance *instance)
{
    (void)instance;
}

static void set_generation(liana__transport_instance *instance, uint64_t generation, const bool *members)
{
    (void)instance;
    (void)generation;
    (void)members;
}

static void count(const liana__transport_instance *instance, liana__transport_counters *counters)
{
    (void)instance;
    *counters = (liana__transport_counters){0};
}

static bool waits(const liana__transport_instance *instance, size_t rank)
{
    (void)rank;
    return take(others_of(instance)) & 1;
}

static liana_status invite(liana__transport_instance *instance, const liana__cluster_round *round, liana__error *error)
{
    (void)instance;
    demand(round->number > 0 && round->absent, "a round has a number", error);
    return LIANA_OK;
}

static const liana__transport any_bytes = {
    .name = "any",
    .survives_death = true,
    .close = do_nothing,
    .send = send_parts,
    .receive = receive,
    .peek = peek,
    .is_gone = is_gone,
    .interrupt = do_nothing,
    .set_generation = set_generation,
    .counters = count,
    .waits = waits,
    .invite = invite,
};

/* ---- the work of the process ---- */

static liana_status gather(liana__cluster *cluster, others *from, liana__error *error)
{
    enum { MOST = 64 };
    uint8_t own[MOST] = {0}, *all = NULL;
    const size_t size = take(from) % MOST;
    all = calloc(MOST_RANKS, size + 1);
    if (!all) abort();
    const liana_status status = liana__cluster_gather(cluster, own, size, all, error);
    free(all);
    return status;
}

static liana_status gather_sized(liana__cluster *cluster, others *from, liana__error *error)
{
    liana__gathered all = {0};
    const uint8_t own[4] = {1, 2, 3, 4};
    const liana_status status = liana__cluster_gather_sized(cluster, own, take(from) % 5, &all, error);
    for (size_t i = 0; status == LIANA_OK && i < liana__cluster_size(cluster); i++) {
        demand(all.offsets[i] <= all.offsets[i + 1], "messages follow each other", error);
        if (all.offsets[i] < all.offsets[i + 1]) (void)*(volatile char *)&all.data[all.offsets[i + 1] - 1];
    }
    liana__gathered_free(&all);
    return status;
}

static liana_status broadcast_sized(liana__cluster *cluster, others *from, liana__error *error)
{
    char own[8] = "own";
    void *data = own;
    size_t size = sizeof own;
    const liana_status status =
        liana__cluster_tell_sized(cluster, take(from) % liana__cluster_size(cluster), &data, &size, error);
    if (status == LIANA_OK && size) (void)((volatile char *)data)[size - 1];
    if (data != own) free(data);
    return status;
}

static liana_status agree(liana__cluster *cluster, others *from, liana__error *error)
{
    bool yes = take(from) & 1;
    LIANA_TRY(liana__cluster_agree(cluster, &yes, error));
    return liana__cluster_decide(cluster, &yes, error);
}

/* An error that all agree on ends nothing here. */
static liana_status agree_status(liana__cluster *cluster, others *from, liana__error *error)
{
    liana_status own = LIANA_OK;
    if (take(from) & 1) own = liana__fail(error, LIANA_DATA_LOSS, "of this process");
    const liana_status status = liana__cluster_agree_status(cluster, own, error);
    demand(status == LIANA_OK || *error->message, "an error has a message", error);
    demand(own == LIANA_OK || status != LIANA_OK, "an error stays one", error);
    return status;
}

static liana_status plan_round(liana__cluster *cluster, others *from, liana__error *error)
{
    bool absent[MOST_RANKS] = {false};
    liana__cluster_round round;
    const uint8_t how = take(from);
    const liana_status status = liana__cluster_plan_round(cluster, how & 1, how & 2, &round, absent, error);
    if (status == LIANA_OK && round.number) {
        demand(round.chief < liana__cluster_size(cluster), "a round has a chief", error);
    }
    return status;
}

/* As often as deaths ask for. */
static liana_status section(liana__cluster *cluster, others *from, liana__error *error)
{
    liana_status status;
    do {
        uint8_t byte = 0, all[MOST_RANKS];
        liana__cluster_section_begin(cluster);
        liana__cluster_begin(cluster);
        status = liana__cluster_send_to_all(cluster, LIANA__MESSAGE_SUMS, &byte, 1, error);
        if (status == LIANA_OK) status = liana__cluster_gather(cluster, &byte, 1, all, error);
        if (status == LIANA_OK) status = liana__cluster_section_end(cluster, error);
    } while (liana__cluster_repeats(cluster, &status, error));
    (void)from;
    return status;
}

static liana_status follow(liana__cluster *cluster, others *from, liana__error *error)
{
    uint8_t data[16] = {0};
    return liana__cluster_follow_chief(cluster, data, take(from) % sizeof data, error);
}

static liana_status let_lead(void *user, bool takes_over, liana__error *error)
{
    (void)takes_over;
    if (take(user) % 16 != 15) return LIANA_OK;
    return liana__fail(error, LIANA_UNAVAILABLE, "the run folder is not reached");
}

static void note_chief(void *user, size_t chief)
{
    (void)user;
    (void)chief;
}

bool liana__try_cluster(const uint8_t *bytes, size_t size)
{
    static liana_status (*const operations[])(liana__cluster * cluster, others * from,
                                              liana__error * error) = {gather,  gather_sized, broadcast_sized,
                                                                       agree,   agree_status, plan_round,
                                                                       section, follow};
    others from = {.next = bytes, .end = bytes + size};
    const uint8_t who = take(&from);
    liana__cluster_place place = {.transport = "any",
                                  .num_workers = 1 + who % 3,
                                  .num_servers = 1,
                                  .source = "a test",
                                  .timeout = 1,
                                  .heartbeat = 0.001};
    liana__cluster cluster;
    liana__error error = {0};
    liana_status status = LIANA_OK;
    from.own = place.rank = take(&from) % (place.num_workers + place.num_servers);
    liana__cluster_init(&cluster, &place, &any_bytes, (liana__transport_instance *)(void *)&from);
    if (who & 0x40) liana__cluster_set_hooks(&cluster, &(liana__cluster_hooks){let_lead, note_chief, &from});
    if (who & 0x80) liana__cluster_give_up_survival(&cluster);
    for (int i = 0; i < MOST_OPERATIONS && status == LIANA_OK && !has_ended(&from); i++) {
        status = operations[take(&from) % (sizeof operations / sizeof *operations)](&cluster, &from, &error);
        demand(status == LIANA_OK || *error.message, "an error has a message", &error);
        demand(cluster.chief < place.num_workers, "a worker leads", &error);
    }
    liana__cluster_close(&cluster);
    return status == LIANA_OK;
}
