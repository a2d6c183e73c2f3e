/* Threads that wait for requests. */
#include "distribute/cluster/span_inbox.h"

#include "distribute/cluster/span_wait.h"

#include "base/clock.h"
#include "distribute/transport/mailbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LETTERS_EACH = 4 };

/* Seconds that a server waits for a letter before it looks for deaths. */
static const double patience = 0.05;

typedef struct listener {
    liana__span_inbox *inbox;
    size_t rank;
    pthread_t thread;
    bool started;
    liana__error error;
} listener;

struct liana__span_inbox {
    liana__cluster *cluster;
    char *const *messages;
    size_t size;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    liana__span_letter *letters; /* a ring */
    size_t capacity, first, count;
    listener *listeners; /* by rank */
    bool begun;
    atomic_bool closing;
};

static void put(liana__span_inbox *own, const liana__span_letter *letter)
{
    pthread_mutex_lock(&own->mutex);
    while (own->count == own->capacity && !own->closing) pthread_cond_wait(&own->changed, &own->mutex);
    if (own->count < own->capacity) own->letters[(own->first + own->count++) % own->capacity] = *letter;
    pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->mutex);
}

/* Called with the mutex. */
static void wait_for_letter(liana__span_inbox *own)
{
    if (!own->cluster->recovery) {
        while (own->count == 0) pthread_cond_wait(&own->changed, &own->mutex);
        return;
    }
    const double end = liana__clock_seconds() + patience;
    const struct timespec until = {(time_t)end, (long)((end - (double)(time_t)end) * 1e9)};
    while (own->count == 0 && liana__clock_seconds() < end) {
        pthread_cond_timedwait(&own->changed, &own->mutex, &until);
    }
}

bool liana__span_inbox_take(liana__span_inbox *inbox, liana__span_letter *letter)
{
    pthread_mutex_lock(&inbox->mutex);
    wait_for_letter(inbox);
    const bool any = inbox->count > 0;
    if (any) {
        *letter = inbox->letters[inbox->first];
        inbox->first = (inbox->first + 1) % inbox->capacity;
        inbox->count--;
        pthread_cond_broadcast(&inbox->changed);
    }
    pthread_mutex_unlock(&inbox->mutex);
    return any;
}

static bool is_known(const liana__span_inbox *inbox, const listener *from, const liana__span_request *request)
{
    const bool works = from->rank < inbox->cluster->place.num_workers;
    const uint32_t last = works ? LIANA__SPAN_END : LIANA__SPAN_CLOSE;
    return request->kind >= (works ? LIANA__SPAN_BEGIN : LIANA__SPAN_END) && request->kind <= last &&
           request->count >= 0;
}

static liana_status receive(listener *own, liana__span_letter *letter)
{
    const liana__span_inbox *inbox = own->inbox;
    liana__span_request *request = &letter->request;
    LIANA_TRY(liana__span_listen(inbox->cluster, own->rank, LIANA__MESSAGE_REQUEST, letter->number, request,
                                 sizeof *request, &inbox->closing, &own->error));
    if (!is_known(inbox, own, request)) {
        return liana__fail(&own->error, LIANA_INVALID_DATA, "rank %zu asks what nobody asks", own->rank);
    }
    if (request->kind != LIANA__SPAN_GRADIENTS || request->count == 0 || inbox->size == 0) return LIANA_OK;
    return liana__span_listen(inbox->cluster, own->rank, LIANA__MESSAGE_REQUEST_DATA, letter->number,
                              inbox->messages[own->rank], inbox->size, &inbox->closing, &own->error);
}

static bool wait_for_begin(liana__span_inbox *own)
{
    pthread_mutex_lock(&own->mutex);
    while (!own->begun && !own->closing) pthread_cond_wait(&own->changed, &own->mutex);
    const bool begun = own->begun;
    pthread_mutex_unlock(&own->mutex);
    return begun;
}

/* The server's own thread knows the dead too. */
static bool is_worth_telling(const liana__span_inbox *own, liana_status failed)
{
    return failed != LIANA_UNAVAILABLE || !own->cluster->recovery;
}

static void *listen(void *user)
{
    listener *own = user;
    liana__span_letter letter = {.from = own->rank};
    if (!wait_for_begin(own->inbox)) return NULL;
    do {
        letter.failed = receive(own, &letter);
        if (is_worth_telling(own->inbox, letter.failed)) put(own->inbox, &letter);
        letter.number++;
    } while (letter.failed == LIANA_OK && letter.request.kind != LIANA__SPAN_END);
    return NULL;
}

const liana__error *liana__span_inbox_error(const liana__span_inbox *inbox, size_t rank)
{
    return &inbox->listeners[rank].error;
}

static liana_status start(liana__span_inbox *own, size_t rank, liana__error *error)
{
    listener *one = &own->listeners[rank];
    *one = (listener){.inbox = own, .rank = rank};
    if (pthread_create(&one->thread, NULL, listen, one) != 0) {
        return liana__fail(error, LIANA_IO_ERROR, "cannot start a thread for the requests of rank %zu", rank);
    }
    one->started = true;
    return LIANA_OK;
}

liana_status liana__span_inbox_open(liana__cluster *cluster, const bool *heard, char *const *messages, size_t size,
                                    liana__span_inbox **inbox, liana__error *error)
{
    const size_t count = liana__cluster_size(cluster);
    liana__span_inbox *made = calloc(1, sizeof *made);
    if (!made) return liana__fail_memory(error, "the requests of workers");
    made->cluster = cluster;
    made->messages = messages;
    made->size = size;
    made->capacity = LETTERS_EACH * count;
    pthread_mutex_init(&made->mutex, NULL);
    liana__mailbox_condition(&made->changed);
    made->letters = calloc(made->capacity, sizeof *made->letters);
    made->listeners = calloc(count, sizeof *made->listeners);
    *inbox = made;
    if (!made->letters || !made->listeners) return liana__fail_memory(error, "the requests of workers");
    for (size_t i = 0; i < count; i++) {
        if (heard[i]) LIANA_TRY(start(made, i, error));
    }
    return LIANA_OK;
}

void liana__span_inbox_begin(liana__span_inbox *inbox)
{
    pthread_mutex_lock(&inbox->mutex);
    inbox->begun = true;
    pthread_cond_broadcast(&inbox->changed);
    pthread_mutex_unlock(&inbox->mutex);
}

void liana__span_inbox_close(liana__span_inbox *inbox)
{
    if (!inbox) return;
    pthread_mutex_lock(&inbox->mutex);
    inbox->closing = true;
    pthread_cond_broadcast(&inbox->changed);
    pthread_mutex_unlock(&inbox->mutex);
    for (size_t i = 0; inbox->listeners && i < liana__cluster_size(inbox->cluster); i++) {
        if (inbox->listeners[i].started) pthread_join(inbox->listeners[i].thread, NULL);
    }
    pthread_mutex_destroy(&inbox->mutex);
    pthread_cond_destroy(&inbox->changed);
    free(inbox->letters);
    free(inbox->listeners);
    free(inbox);
}
