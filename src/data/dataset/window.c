#include "data/dataset/window.h"

#include "base/denormals.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SLOTS = 256 };

/* One element under way. */
typedef struct slot {
    liana__reader *reader;
    liana__holder input; /* a copy of the input's element, where there is one */
    liana_element taken;
    liana_element element;
    liana__at at;
    bool done;
    liana_status status;
    liana__error error;
    size_t bytes; /* that it has taken of the iterator's memory */
} slot;

struct liana__window {
    const liana_dataset *dataset;
    liana__budget *budget;
    liana__cursor *input; /* NULL: the stage is random-access */
    int num_threads;      /* started */
    pthread_t *threads;

    pthread_mutex_t mutex;
    pthread_cond_t work;  /* there may be something to claim, or stop */
    pthread_cond_t ready; /* an element is done */
    /* Guarded by the mutex. */
    bool stopping;
    bool claiming; /* a thread is at the input */
    bool ended;    /* nothing is claimed any more: the end, or a failure */
    size_t num_slots;
    size_t wanted; /* slots that the consumer seems to need */
    slot *idle[MAX_SLOTS];
    size_t num_idle;
    slot *queue[MAX_SLOTS]; /* element n is at n % MAX_SLOTS */
    uint64_t claimed;       /* elements so far */
    uint64_t given;
    liana__at next;
    slot *held; /* by the consumer */
};

static void free_slot(slot *own)
{
    if (!own) return;
    liana__reader_destroy(own->reader);
    liana__holder_free(&own->input);
    free(own);
}

static slot *make_slot(liana__window *window)
{
    slot *made = calloc(1, sizeof *made);
    if (made) made->reader = liana__reader_create(window->dataset, NULL);
    if (made && made->reader) {
        window->num_slots++;
        return made;
    }
    free(made);
    return NULL;
}

/* A slot that is free, or a new one if another is wanted and the memory allows it. */
static slot *find_slot(liana__window *window)
{
    if (window->num_idle) return window->idle[--window->num_idle];
    bool full =
        window->num_slots >= window->wanted || atomic_load(&window->budget->ahead) >= window->budget->memory / 2;
    return full ? NULL : make_slot(window);
}

static liana_status take_input(liana__window *window, slot *own)
{
    liana_element element;
    LIANA_TRY(liana__cursor_next(window->input, &element, &own->error));
    return liana__holder_copy(&own->input, &element, &own->taken, &own->error);
}

/* Claims the input of the next element. With the mutex held, except while the input makes its element. */
static void claim(liana__window *window, slot *own)
{
    const liana_dataset *dataset = window->dataset;
    own->done = false;
    own->status = LIANA_OK;
    own->at = window->next;
    window->queue[window->claimed++ % MAX_SLOTS] = own;
    window->next.index++;
    if (window->input) {
        window->claiming = true;
        pthread_mutex_unlock(&window->mutex);
        own->status = take_input(window, own);
        pthread_mutex_lock(&window->mutex);
        window->claiming = false;
    } else if (dataset->length >= 0 && own->at.index >= (uint64_t)dataset->length) {
        own->status = LIANA_END_OF_DATA;
    }
    if (own->status != LIANA_OK) window->ended = true;
    pthread_cond_broadcast(&window->work);
}

static void compute(const liana__window *window, slot *own)
{
    const liana_dataset *dataset = window->dataset;
    if (own->status != LIANA_OK) return;
    if (!window->input) {
        own->status = liana__reader_read(own->reader, &own->at, &own->element, &own->error);
        return;
    }
    own->status = dataset->kind->apply(own->reader, &own->at, &own->taken, &own->element, &own->error);
    if (own->status != LIANA_OK) liana__fail_within(&own->error, "%s", dataset->name);
}

static void account(liana__window *window, slot *own)
{
    size_t bytes = liana__reader_bytes(own->reader) + liana__holder_bytes(&own->input);
    atomic_fetch_add(&window->budget->ahead, bytes - own->bytes);
    own->bytes = bytes;
}

static void *thread_main(void *argument)
{
    liana__window *window = argument;
    liana__denormals_keep(); /* whatever the thread that started this one does */
    pthread_mutex_lock(&window->mutex);
    while (!window->stopping) {
        slot *own = window->ended || window->claiming ? NULL : find_slot(window);
        if (!own) {
            pthread_cond_wait(&window->work, &window->mutex);
            continue;
        }
        claim(window, own);
        pthread_mutex_unlock(&window->mutex);
        compute(window, own);
        account(window, own);
        pthread_mutex_lock(&window->mutex);
        own->done = true;
        if (own->status != LIANA_OK) window->ended = true;
        pthread_cond_broadcast(&window->ready);
    }
    pthread_mutex_unlock(&window->mutex);
    return NULL;
}

static liana_status start_threads(liana__window *window, int num_threads, liana__error *error)
{
    /* Signals are for the program's own threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    liana_status status = LIANA_OK;
    for (int i = 0; status == LIANA_OK && i < num_threads; i++) {
        int code = pthread_create(&window->threads[i], NULL, thread_main, window);
        if (code == 0) window->num_threads++;
        if (code != 0) status = liana__fail(error, LIANA_IO_ERROR, "cannot start a thread: %s", strerror(code));
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

liana_status liana__window_open(liana__cursor *cursor, liana__window **out, liana__error *error)
{
    *out = NULL;
    liana__window *window = calloc(1, sizeof *window);
    pthread_t *threads = calloc((size_t)cursor->pace.num_threads, sizeof *threads);
    if (!window || !threads) {
        free(window);
        free(threads);
        return liana__fail_memory(error, "elements made ahead");
    }
    window->dataset = cursor->dataset;
    window->budget = cursor->pace.budget;
    window->input = cursor->dataset->random_access ? NULL : cursor->inputs[0];
    window->threads = threads;
    window->wanted = (size_t)cursor->pace.num_threads + 1;
    if (window->wanted > MAX_SLOTS) window->wanted = MAX_SLOTS;
    window->next = (liana__at){cursor->seed, cursor->epoch, cursor->index};
    pthread_mutex_init(&window->mutex, NULL);
    pthread_cond_init(&window->work, NULL);
    pthread_cond_init(&window->ready, NULL);
    /* At least two, so that one can be made while the consumer holds the other. */
    liana_status status = LIANA_OK;
    for (int i = 0; i < 2; i++) {
        slot *made = make_slot(window);
        if (made) window->idle[window->num_idle++] = made;
        if (!made) status = liana__fail_memory(error, "elements made ahead");
    }
    if (status == LIANA_OK) status = start_threads(window, cursor->pace.num_threads, error);
    if (status != LIANA_OK) {
        liana__window_close(window);
        return status;
    }
    *out = window;
    return LIANA_OK;
}

/* The slot that is given next, once it is done. With the mutex held. */
static slot *wait_for_slot(liana__window *window)
{
    for (bool waited = false;;) {
        slot *own = window->given < window->claimed ? window->queue[window->given % MAX_SLOTS] : NULL;
        if (own && own->done) return own;
        if (!waited && window->wanted < MAX_SLOTS) window->wanted++;
        waited = true;
        pthread_cond_broadcast(&window->work);
        pthread_cond_wait(&window->ready, &window->mutex);
    }
}

liana_status liana__window_next(liana__window *window, liana_element *element, liana__error *error)
{
    pthread_mutex_lock(&window->mutex);
    if (window->held) {
        window->idle[window->num_idle++] = window->held;
        window->held = NULL;
        pthread_cond_signal(&window->work);
    }
    slot *own = wait_for_slot(window);
    liana_status status = own->status;
    if (status == LIANA_OK) {
        *element = own->element;
        window->held = own;
        window->given++;
    } else if (status != LIANA_END_OF_DATA && error) {
        *error = own->error;
    }
    pthread_mutex_unlock(&window->mutex);
    return status;
}

void liana__window_close(liana__window *window)
{
    if (!window) return;
    pthread_mutex_lock(&window->mutex);
    window->stopping = true;
    pthread_cond_broadcast(&window->work);
    pthread_mutex_unlock(&window->mutex);
    for (int i = 0; i < window->num_threads; i++) pthread_join(window->threads[i], NULL);
    size_t bytes = 0;
    for (uint64_t i = window->given; i < window->claimed; i++) {
        window->idle[window->num_idle++] = window->queue[i % MAX_SLOTS];
    }
    if (window->held) window->idle[window->num_idle++] = window->held;
    for (size_t i = 0; i < window->num_idle; i++) {
        bytes += window->idle[i]->bytes;
        free_slot(window->idle[i]);
    }
    atomic_fetch_sub(&window->budget->ahead, bytes);
    pthread_cond_destroy(&window->ready);
    pthread_cond_destroy(&window->work);
    pthread_mutex_destroy(&window->mutex);
    free(window->threads);
    free(window);
}
