/* A hash table of messages, each complete or coming, and of the threads that wait for them. */
#include "distribute/transport/mailbox.h"

#include "base/clock.h"
#include "base/memory.h"

#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NUM_BUCKETS = 1024, REASON_SIZE = 320 };

typedef struct mail {
    struct mail *next; /* in its bucket */
    size_t from;
    liana__message_key key;
    bool has_size; /* a piece has come */
    bool doubled;  /* a second message has come with the same key */
    bool filling;  /* bytes are being copied in, without the lock; `complete` is set after that */
    bool complete;
    uint64_t size, received;
    uint8_t *bytes; /* in `memory`, or the waiting thread's */
    liana__message_memory memory;
    bool awaited; /* a thread waits; only that thread removes it */
    bool lends;   /* `bytes` is the waiting thread's */
    void *wanted; /* where the waiting thread wants it; NULL: in its own memory */
    size_t wanted_size;
    pthread_cond_t *changed; /* how the waiting thread is woken */
} mail;

typedef struct neighbour {
    bool gone;
    char reason[REASON_SIZE];
} neighbour;

struct liana__mailbox {
    pthread_mutex_t mutex;
    mail *buckets[NUM_BUCKETS];
    neighbour *neighbours;
    size_t num_ranks;
    size_t max_kept, kept;
    _Atomic uint64_t generation;
    atomic_bool interrupted;
    liana__error broken; /* of a transport that cannot go on */
};

/* ---- table ---- */

static bool same_key(liana__message_key a, liana__message_key b)
{
    return a.generation == b.generation && a.step == b.step && a.kind == b.kind && a.part == b.part;
}

static mail **bucket_of(liana__mailbox *mailbox, size_t from, liana__message_key key)
{
    uint64_t hash = from * 0x9E3779B97F4A7C15u ^ key.step * 0xBF58476D1CE4E5B9u;
    hash = (hash ^ hash >> 31) * 0x94D049BB133111EBu + ((uint64_t)key.kind << 32 | key.part);
    hash *= 0xD6E8FEB86659FD93u;
    return &mailbox->buckets[hash >> 32 & (NUM_BUCKETS - 1)];
}

static mail *find(liana__mailbox *mailbox, size_t from, liana__message_key key)
{
    mail *item = *bucket_of(mailbox, from, key);
    while (item && (item->from != from || !same_key(item->key, key))) item = item->next;
    return item;
}

static mail *find_or_add(liana__mailbox *mailbox, size_t from, liana__message_key key)
{
    mail *item = find(mailbox, from, key);
    if (item) return item;
    item = calloc(1, sizeof *item);
    if (!item) return NULL;
    mail **bucket = bucket_of(mailbox, from, key);
    item->from = from;
    item->key = key;
    item->next = *bucket;
    *bucket = item;
    return item;
}

static void discard(liana__mailbox *mailbox, mail *item)
{
    mail **at = bucket_of(mailbox, item->from, item->key);
    while (*at != item) at = &(*at)->next;
    *at = item->next;
    if (item->memory.release) {
        mailbox->kept -= (size_t)item->size;
        item->memory.release(item->memory.owner);
    }
    free(item);
}

/* ---- create and destroy ---- */

/* Messages are made and freed in each step. Memory that malloc gives back to the system in between costs a page fault
 * for each page, on both sides: a twentieth of a step of ResNet50. */
static void keep_memory(void)
{
    enum { LARGEST_MESSAGE = 32 << 20, MOST_KEPT = 256 << 20 };
    mallopt(M_MMAP_THRESHOLD, LARGEST_MESSAGE);
    mallopt(M_TRIM_THRESHOLD, MOST_KEPT);
}

liana_status liana__mailbox_create(size_t num_ranks, size_t max_kept, liana__mailbox **mailbox, liana__error *error)
{
    *mailbox = NULL;
    liana__mailbox *own = calloc(1, sizeof *own);
    neighbour *neighbours = calloc(num_ranks ? num_ranks : 1, sizeof *neighbours);
    if (!own || !neighbours) {
        free(own);
        free(neighbours);
        return liana__fail_memory(error, "messages between processes");
    }
    own->neighbours = neighbours;
    own->num_ranks = num_ranks;
    own->max_kept = max_kept ? max_kept : liana__machine_memory() / 4;
    pthread_mutex_init(&own->mutex, NULL);
    keep_memory();
    *mailbox = own;
    return LIANA_OK;
}

void liana__mailbox_destroy(liana__mailbox *mailbox)
{
    if (!mailbox) return;
    for (size_t i = 0; i < NUM_BUCKETS; i++) {
        while (mailbox->buckets[i]) discard(mailbox, mailbox->buckets[i]);
    }
    pthread_mutex_destroy(&mailbox->mutex);
    free(mailbox->neighbours);
    free(mailbox);
}

/* ---- pieces come ---- */

static void wake(mail *item)
{
    if (item->changed) pthread_cond_signal(item->changed);
}

static void wake_all(liana__mailbox *mailbox)
{
    for (size_t i = 0; i < NUM_BUCKETS; i++) {
        for (mail *item = mailbox->buckets[i]; item; item = item->next) wake(item);
    }
}

static liana_status fail_for_all(liana__mailbox *mailbox, liana__error *error)
{
    mailbox->broken = *error;
    wake_all(mailbox);
    return error->status;
}

static liana_status check_room(liana__mailbox *mailbox, const mail *item, liana__error *error)
{
    if (item->size > SIZE_MAX - 1 || item->size > mailbox->max_kept - mailbox->kept) {
        liana__fail(error, LIANA_OUT_OF_MEMORY,
                    "messages of %" PRIu64 " MiB have come that nobody has asked for, at most %zu MiB are kept; the "
                    "last one is from rank %zu",
                    (mailbox->kept + item->size) >> 20, mailbox->max_kept >> 20, item->from);
        return fail_for_all(mailbox, error);
    }
    return LIANA_OK;
}

static liana_status make_room(liana__mailbox *mailbox, mail *item, liana__error *error)
{
    LIANA_TRY(check_room(mailbox, item, error));
    item->bytes = malloc((size_t)item->size + 1);
    if (!item->bytes) {
        liana__fail_memory(error, "a message of another process");
        return fail_for_all(mailbox, error);
    }
    item->memory = (liana__message_memory){item->bytes, free};
    mailbox->kept += (size_t)item->size;
    return LIANA_OK;
}

static bool is_lent(const mail *item, uint64_t size)
{
    return item->awaited && item->wanted && item->wanted_size == size;
}

/* A whole message stays where it is, unless a thread waits for a copy. */
static liana_status take_over(liana__mailbox *mailbox, mail *item, const liana__mail_piece *piece, liana__error *error)
{
    item->size = piece->size;
    LIANA_TRY(check_room(mailbox, item, error));
    item->has_size = item->complete = true;
    item->received = piece->size;
    item->bytes = (uint8_t *)(uintptr_t)piece->bytes;
    item->memory = *piece->memory;
    *piece->memory = (liana__message_memory){0};
    mailbox->kept += (size_t)item->size;
    wake(item);
    return LIANA_OK;
}

/* The first piece decides where the message goes. */
static liana_status begin_message(liana__mailbox *mailbox, mail *item, uint64_t size, liana__error *error)
{
    item->has_size = true;
    item->size = size;
    if (is_lent(item, size)) {
        item->bytes = item->wanted;
        item->lends = true;
        return LIANA_OK;
    }
    liana_status status = make_room(mailbox, item, error);
    if (status != LIANA_OK) item->has_size = false;
    return status;
}

/* Called with the lock, which it gives up while it copies. */
static liana_status put_locked(liana__mailbox *mailbox, const liana__mail_piece *piece, liana__error *error)
{
    mail *item = find_or_add(mailbox, piece->from, piece->key);
    if (!item) return liana__fail_memory(error, "a message of another process");
    if (item->complete) {
        item->doubled = true;
        return liana__fail(error, LIANA_INVALID_DATA, "rank %zu has sent two messages with the same key", piece->from);
    }
    const bool is_whole = piece->offset == 0 && piece->num_bytes == piece->size;
    if (piece->memory && is_whole && !item->has_size && !is_lent(item, piece->size)) {
        return take_over(mailbox, item, piece, error);
    }
    if (!item->has_size) LIANA_TRY(begin_message(mailbox, item, piece->size, error));
    if (item->size != piece->size || item->received != piece->offset ||
        piece->num_bytes > item->size - item->received) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "a piece of rank %zu begins at %" PRIu64 " of %" PRIu64 " bytes, expected %" PRIu64
                           " of %" PRIu64,
                           piece->from, piece->offset, piece->size, item->received, item->size);
    }
    item->filling = true;
    pthread_mutex_unlock(&mailbox->mutex);
    if (piece->num_bytes) memcpy(item->bytes + item->received, piece->bytes, piece->num_bytes);
    pthread_mutex_lock(&mailbox->mutex);
    item->filling = false;
    item->received += piece->num_bytes;
    item->complete = item->received == item->size;
    /* Its thread may have given up meanwhile, and waits for the end of the copy. */
    wake(item);
    if (item->key.generation < mailbox->generation && !item->awaited) discard(mailbox, item);
    return LIANA_OK;
}

liana_status liana__mailbox_put(liana__mailbox *mailbox, const liana__mail_piece *piece, liana__error *error)
{
    liana_status status = LIANA_OK;
    pthread_mutex_lock(&mailbox->mutex);
    if (piece->key.generation >= mailbox->generation) status = put_locked(mailbox, piece, error);
    pthread_mutex_unlock(&mailbox->mutex);
    return status;
}

/* ---- messages are received ---- */

static liana_status fail_wait(const liana__mailbox *mailbox, const mail *item, bool late, liana__error *error)
{
    const neighbour *from = &mailbox->neighbours[item->from];
    if (mailbox->broken.status != LIANA_OK) {
        return liana__fail(error, mailbox->broken.status, "%s", mailbox->broken.message);
    }
    if (mailbox->interrupted)
        return liana__fail(error, LIANA_UNAVAILABLE, "waiting for rank %zu was interrupted", item->from);
    if (item->key.generation < mailbox->generation) {
        return liana__fail(error, LIANA_UNAVAILABLE,
                           "a message of rank %zu belongs to generation %" PRIu64 " of the cluster, which is over",
                           item->from, item->key.generation);
    }
    if (from->gone) return liana__fail(error, LIANA_UNAVAILABLE, "rank %zu %s", item->from, from->reason);
    if (late)
        return liana__fail(error, LIANA_UNAVAILABLE, "rank %zu has not sent what was expected in time", item->from);
    return LIANA_OK;
}

/* Waits until the message is complete, or will not come. */
static liana_status wait_for(liana__mailbox *mailbox, mail *item, double deadline, liana__error *error)
{
    time_t seconds = (time_t)deadline;
    struct timespec until = {seconds, (long)((deadline - (double)seconds) * 1e9)};
    while (!item->complete) {
        bool late = deadline > 0 && liana__clock_seconds() >= deadline;
        LIANA_TRY(fail_wait(mailbox, item, late, error));
        if (deadline > 0) {
            pthread_cond_timedwait(item->changed, &mailbox->mutex, &until);
        } else {
            pthread_cond_wait(item->changed, &mailbox->mutex);
        }
    }
    return LIANA_OK;
}

/* A thread gives up. A message that has come stays for the next one that asks, in memory of its own. */
static void give_up(liana__mailbox *mailbox, mail *item)
{
    while (item->filling) pthread_cond_wait(item->changed, &mailbox->mutex);
    item->awaited = false;
    item->changed = NULL;
    if (!item->has_size || item->key.generation < mailbox->generation) {
        discard(mailbox, item);
        return;
    }
    if (!item->lends) return;
    liana__error error = {0};
    const uint8_t *lent = item->bytes;
    item->lends = false;
    item->bytes = NULL;
    if (make_room(mailbox, item, &error) == LIANA_OK) {
        memcpy(item->bytes, lent, (size_t)item->received);
    } else {
        discard(mailbox, item);
    }
}

static liana_status hand_over(liana__mailbox *mailbox, mail *item, const liana__receipt *wanted, liana__error *error)
{
    const size_t from = item->from, size = wanted->size;
    const uint64_t found = item->size;
    const bool doubled = item->doubled;
    if (found == size && wanted->message && !doubled) {
        *wanted->message = (liana__message){item->bytes, item->memory};
        item->memory = (liana__message_memory){0};
        mailbox->kept -= size;
    } else if (found == size && size && wanted->data && !item->lends) {
        memcpy(wanted->data, item->bytes, size);
    }
    discard(mailbox, item);
    if (doubled) {
        return liana__fail(error, LIANA_INTERNAL, "rank %zu has sent two messages with the same key", from);
    }
    if (found == size) return LIANA_OK;
    return liana__fail(error, LIANA_INTERNAL, "rank %zu has sent a message of %" PRIu64 " bytes, expected %zu", from,
                       found, size);
}

void liana__mailbox_condition(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static liana_status await_mail(liana__mailbox *mailbox, mail *item, const liana__receipt *wanted, double deadline,
                               liana__error *error)
{
    pthread_cond_t changed;
    liana__mailbox_condition(&changed);
    item->awaited = true;
    item->changed = &changed;
    item->wanted = wanted->data;
    item->wanted_size = wanted->size;
    liana_status status = wait_for(mailbox, item, deadline, error);
    if (status == LIANA_OK) {
        status = hand_over(mailbox, item, wanted, error);
    } else {
        give_up(mailbox, item);
    }
    pthread_cond_destroy(&changed);
    return status;
}

liana_status liana__mailbox_receive(liana__mailbox *mailbox, size_t from, liana__message_key key,
                                    const liana__receipt *wanted, double deadline, liana__error *error)
{
    pthread_mutex_lock(&mailbox->mutex);
    mail *item = find_or_add(mailbox, from, key);
    liana_status status = LIANA_OK;
    if (!item) {
        status = liana__fail_memory(error, "a message of another process");
    } else if (item->awaited) {
        status = liana__fail(error, LIANA_INTERNAL, "two threads wait for the same message of rank %zu", from);
    } else {
        status = await_mail(mailbox, item, wanted, deadline, error);
    }
    pthread_mutex_unlock(&mailbox->mutex);
    return status;
}

bool liana__mailbox_peek(liana__mailbox *mailbox, size_t from, liana__message_key key, size_t *size)
{
    pthread_mutex_lock(&mailbox->mutex);
    const mail *item = find(mailbox, from, key);
    bool found = item && item->complete;
    if (found) *size = (size_t)item->size;
    pthread_mutex_unlock(&mailbox->mutex);
    return found;
}

/* ---- presence ---- */

bool liana__mailbox_is_gone(liana__mailbox *mailbox, size_t rank)
{
    pthread_mutex_lock(&mailbox->mutex);
    bool gone = mailbox->neighbours[rank].gone;
    pthread_mutex_unlock(&mailbox->mutex);
    return gone;
}

void liana__mailbox_set_gone(liana__mailbox *mailbox, size_t rank, const char *reason)
{
    pthread_mutex_lock(&mailbox->mutex);
    neighbour *who = &mailbox->neighbours[rank];
    if (!who->gone) {
        who->gone = true;
        size_t length = strnlen(reason, REASON_SIZE - 1);
        memcpy(who->reason, reason, length);
        who->reason[length] = '\0';
        wake_all(mailbox);
    }
    pthread_mutex_unlock(&mailbox->mutex);
}

/* Messages of generations before this one that nobody waits for. Their threads drop the others. */
static void drop_older(liana__mailbox *mailbox, uint64_t generation)
{
    for (size_t i = 0; i < NUM_BUCKETS; i++) {
        mail *next = NULL;
        for (mail *item = mailbox->buckets[i]; item; item = next) {
            next = item->next;
            if (item->key.generation < generation && !item->awaited && !item->filling) discard(mailbox, item);
        }
    }
}

void liana__mailbox_set_generation(liana__mailbox *mailbox, uint64_t generation, const bool *members)
{
    static const char reason[] = "does not belong to the cluster any more";
    pthread_mutex_lock(&mailbox->mutex);
    mailbox->generation = generation;
    for (size_t i = 0; i < mailbox->num_ranks; i++) {
        mailbox->neighbours[i].gone = !members[i];
        if (!members[i]) memcpy(mailbox->neighbours[i].reason, reason, sizeof reason);
    }
    drop_older(mailbox, generation);
    wake_all(mailbox);
    mailbox->interrupted = false;
    pthread_mutex_unlock(&mailbox->mutex);
}

uint64_t liana__mailbox_generation(liana__mailbox *mailbox)
{
    return mailbox->generation;
}

void liana__mailbox_interrupt(liana__mailbox *mailbox)
{
    mailbox->interrupted = true;
}

void liana__mailbox_wake(liana__mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->mutex);
    wake_all(mailbox);
    pthread_mutex_unlock(&mailbox->mutex);
}
