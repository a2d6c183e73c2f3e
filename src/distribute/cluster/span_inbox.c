/* Threads that wait for requests. */
#include "distribute/cluster/span_inbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS_EACH = 4 };

typedef struct listener {
    liana__span_inbox *inbox;
    size_t worker;
    pthread_t thread;
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
    listener *listeners;
    size_t num_started;
    bool begun, closing;
};

static void put(liana__span_inbox *own, const liana__span_letter *letter)
{
    pthread_mutex_lock(&own->mutex);
    while (own->count == own->capacity) pthread_cond_wait(&own->changed, &own->mutex);
    own->letters[(own->first + own->count++) % own->capacity] = *letter;
    pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->mutex);
}

liana__span_letter liana__span_inbox_take(liana__span_inbox *inbox)
{
    pthread_mutex_lock(&inbox->mutex);
    while (inbox->count == 0) pthread_cond_wait(&inbox->changed, &inbox->mutex);
    const liana__span_letter letter = inbox->letters[inbox->first];
    inbox->first = (inbox->first + 1) % inbox->capacity;
    inbox->count--;
    pthread_cond_broadcast(&inbox->changed);
    pthread_mutex_unlock(&inbox->mutex);
    return letter;
}

static liana_status receive(listener *own, liana__span_letter *letter)
{
    const liana__span_inbox *inbox = own->inbox;
    liana__span_request *request = &letter->request;
    LIANA_TRY(liana__cluster_receive(inbox->cluster, own->worker, LIANA__MESSAGE_REQUEST, letter->number, request,
                                     sizeof *request, &own->error));
    if (request->kind < LIANA__SPAN_BEGIN || request->kind > LIANA__SPAN_END || request->count < 0) {
        return liana__fail(&own->error, LIANA_INVALID_DATA, "worker %zu asks what no worker asks", own->worker);
    }
    if (request->kind != LIANA__SPAN_GRADIENTS || request->count == 0 || inbox->size == 0) return LIANA_OK;
    return liana__cluster_receive(inbox->cluster, own->worker, LIANA__MESSAGE_REQUEST_DATA, letter->number,
                                  inbox->messages[own->worker], inbox->size, &own->error);
}

static bool wait_for_begin(liana__span_inbox *own)
{
    pthread_mutex_lock(&own->mutex);
    while (!own->begun && !own->closing) pthread_cond_wait(&own->changed, &own->mutex);
    const bool begun = own->begun;
    pthread_mutex_unlock(&own->mutex);
    return begun;
}

static void *listen(void *user)
{
    listener *own = user;
    liana__span_letter letter = {.worker = own->worker};
    if (!wait_for_begin(own->inbox)) return NULL;
    do {
        letter.failed = receive(own, &letter);
        put(own->inbox, &letter);
        letter.number++;
    } while (letter.failed == LIANA_OK && letter.request.kind != LIANA__SPAN_END);
    return NULL;
}

const liana__error *liana__span_inbox_error(const liana__span_inbox *inbox, size_t worker)
{
    return &inbox->listeners[worker].error;
}

liana_status liana__span_inbox_open(liana__cluster *cluster, char *const *messages, size_t size,
                                    liana__span_inbox **inbox, liana__error *error)
{
    const size_t count = cluster->place.num_workers;
    liana__span_inbox *made = calloc(1, sizeof *made);
    if (!made) return liana__fail_memory(error, "the requests of workers");
    *made = (liana__span_inbox){.cluster = cluster, .messages = messages, .size = size};
    made->capacity = LETTERS_EACH * count;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    made->letters = calloc(made->capacity, sizeof *made->letters);
    made->listeners = calloc(count, sizeof *made->listeners);
    *inbox = made;
    if (!made->letters || !made->listeners) return liana__fail_memory(error, "the requests of workers");
    for (size_t i = 0; i < count; i++) {
        listener *one = &made->listeners[i];
        *one = (listener){.inbox = made, .worker = i};
        if (pthread_create(&one->thread, NULL, listen, one) != 0) {
            return liana__fail(error, LIANA_IO_ERROR, "cannot start a thread for the requests of worker %zu", i);
        }
        made->num_started++;
    }
    return LIANA_OK;
}

static void set(liana__span_inbox *inbox, bool *flag)
{
    pthread_mutex_lock(&inbox->mutex);
    *flag = true;
    pthread_cond_broadcast(&inbox->changed);
    pthread_mutex_unlock(&inbox->mutex);
}

void liana__span_inbox_begin(liana__span_inbox *inbox)
{
    set(inbox, &inbox->begun);
}

void liana__span_inbox_close(liana__span_inbox *inbox)
{
    if (!inbox) return;
    set(inbox, &inbox->closing);
    for (size_t i = 0; i < inbox->num_started; i++) pthread_join(inbox->listeners[i].thread, NULL);
    pthread_mutex_destroy(&inbox->mutex);
    pthread_cond_destroy(&inbox->changed);
    free(inbox->letters);
    free(inbox->listeners);
    free(inbox);
}
