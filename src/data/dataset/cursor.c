/* Reads the elements of stages one after the other. Threads may make them before they are asked for. */
#include "data/dataset/dataset.h"

#include "base/denormals.h"
#include "base/random.h"
#include "base/thread_start.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- elements made ahead ---- */

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

typedef struct liana__ahead liana__ahead;

/* The threads claim elements in ascending order, and compute them side by side. For a random-access stage they claim a
 * number, else the next element of its input. Each time the consumer has to wait, more elements may be made ahead,
 * within the iterator's memory. */
struct liana__ahead {
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

static slot *make_slot(liana__ahead *ahead)
{
    slot *made = calloc(1, sizeof *made);
    if (made) made->reader = liana__reader_create(ahead->dataset, NULL);
    if (made && made->reader) {
        ahead->num_slots++;
        return made;
    }
    free(made);
    return NULL;
}

/* A slot that is free, or a new one if another is wanted and the memory allows it. */
static slot *find_slot(liana__ahead *ahead)
{
    if (ahead->num_idle) return ahead->idle[--ahead->num_idle];
    bool full = ahead->num_slots >= ahead->wanted || atomic_load(&ahead->budget->ahead) >= ahead->budget->memory / 2;
    return full ? NULL : make_slot(ahead);
}

static liana_status take_input(liana__ahead *ahead, slot *own)
{
    liana_element element;
    LIANA_TRY(liana__cursor_next(ahead->input, &element, &own->error));
    return liana__holder_copy(&own->input, &element, &own->taken, &own->error);
}

/* Takes the input of the next element. With the mutex held, but not while the input makes its own. */
static void claim(liana__ahead *ahead, slot *own)
{
    const liana_dataset *dataset = ahead->dataset;
    own->done = false;
    own->status = LIANA_OK;
    own->at = ahead->next;
    ahead->queue[ahead->claimed++ % MAX_SLOTS] = own;
    ahead->next.index++;
    if (ahead->input) {
        ahead->claiming = true;
        pthread_mutex_unlock(&ahead->mutex);
        own->status = take_input(ahead, own);
        pthread_mutex_lock(&ahead->mutex);
        ahead->claiming = false;
    } else if (dataset->length >= 0 && own->at.index >= (uint64_t)dataset->length) {
        own->status = LIANA_END_OF_DATA;
    }
    if (own->status != LIANA_OK) ahead->ended = true;
    pthread_cond_broadcast(&ahead->work);
}

static void compute_slot(const liana__ahead *ahead, slot *own)
{
    if (own->status != LIANA_OK) return;
    if (!ahead->input) {
        own->status = liana__reader_read(own->reader, &own->at, &own->element, &own->error);
        return;
    }
    own->status = liana__reader_apply(own->reader, &own->at, &own->taken, &own->element, &own->error);
}

static void account(liana__ahead *ahead, slot *own)
{
    size_t bytes = liana__reader_bytes(own->reader) + liana__holder_bytes(&own->input);
    atomic_fetch_add(&ahead->budget->ahead, bytes - own->bytes);
    own->bytes = bytes;
}

static void *thread_main(void *argument)
{
    liana__ahead *ahead = argument;
    liana__denormals_keep(); /* independent of the thread that started this one */
    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->stopping) {
        slot *own = ahead->ended || ahead->claiming ? NULL : find_slot(ahead);
        if (!own) {
            pthread_cond_wait(&ahead->work, &ahead->mutex);
            continue;
        }
        claim(ahead, own);
        pthread_mutex_unlock(&ahead->mutex);
        compute_slot(ahead, own);
        account(ahead, own);
        pthread_mutex_lock(&ahead->mutex);
        own->done = true;
        if (own->status != LIANA_OK) ahead->ended = true;
        pthread_cond_broadcast(&ahead->ready);
    }
    pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

static liana_status start_threads(liana__ahead *ahead, int num_threads, liana__error *error)
{
    liana_status status = LIANA_OK;
    for (int i = 0; status == LIANA_OK && i < num_threads; i++) {
        int code = liana__thread_start(&ahead->threads[i], thread_main, ahead);
        if (code == 0) ahead->num_threads++;
        if (code != 0) status = liana__fail(error, LIANA_IO_ERROR, "cannot start a thread: %s", strerror(code));
    }
    return status;
}

static void ahead_close(liana__ahead *ahead)
{
    if (!ahead) return;
    pthread_mutex_lock(&ahead->mutex);
    ahead->stopping = true;
    pthread_cond_broadcast(&ahead->work);
    pthread_mutex_unlock(&ahead->mutex);
    for (int i = 0; i < ahead->num_threads; i++) pthread_join(ahead->threads[i], NULL);
    size_t bytes = 0;
    for (uint64_t i = ahead->given; i < ahead->claimed; i++) {
        ahead->idle[ahead->num_idle++] = ahead->queue[i % MAX_SLOTS];
    }
    if (ahead->held) ahead->idle[ahead->num_idle++] = ahead->held;
    for (size_t i = 0; i < ahead->num_idle; i++) {
        bytes += ahead->idle[i]->bytes;
        free_slot(ahead->idle[i]);
    }
    atomic_fetch_sub(&ahead->budget->ahead, bytes);
    pthread_cond_destroy(&ahead->ready);
    pthread_cond_destroy(&ahead->work);
    pthread_mutex_destroy(&ahead->mutex);
    free(ahead->threads);
    free(ahead);
}

static liana_status ahead_open(liana__cursor *cursor, liana__ahead **out, liana__error *error)
{
    *out = NULL;
    liana__ahead *ahead = calloc(1, sizeof *ahead);
    pthread_t *threads = calloc((size_t)cursor->pace.num_threads, sizeof *threads);
    if (!ahead || !threads) {
        free(ahead);
        free(threads);
        return liana__fail_memory(error, "elements made ahead");
    }
    ahead->dataset = cursor->dataset;
    ahead->budget = cursor->pace.budget;
    ahead->input = cursor->dataset->random_access ? NULL : cursor->inputs[0];
    ahead->threads = threads;
    ahead->wanted = (size_t)cursor->pace.num_threads + 1;
    if (ahead->wanted > MAX_SLOTS) ahead->wanted = MAX_SLOTS;
    ahead->next = (liana__at){cursor->seed, cursor->epoch, cursor->index};
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->work, NULL);
    pthread_cond_init(&ahead->ready, NULL);
    /* Two in any case, so that there is one to go on with while the consumer holds the other. */
    liana_status status = LIANA_OK;
    for (int i = 0; i < 2; i++) {
        slot *made = make_slot(ahead);
        if (made) ahead->idle[ahead->num_idle++] = made;
        if (!made) status = liana__fail_memory(error, "elements made ahead");
    }
    if (status == LIANA_OK) status = start_threads(ahead, cursor->pace.num_threads, error);
    if (status == LIANA_OK) *out = ahead;
    if (status != LIANA_OK) ahead_close(ahead);
    return status;
}

/* The slot that is given next, once it is done. With the mutex held. */
static slot *wait_for_slot(liana__ahead *ahead)
{
    for (bool waited = false;;) {
        slot *own = ahead->given < ahead->claimed ? ahead->queue[ahead->given % MAX_SLOTS] : NULL;
        if (own && own->done) return own;
        if (!waited && ahead->wanted < MAX_SLOTS) ahead->wanted++;
        waited = true;
        pthread_cond_broadcast(&ahead->work);
        pthread_cond_wait(&ahead->ready, &ahead->mutex);
    }
}

static liana_status ahead_next(liana__ahead *ahead, liana_element *element, liana__error *error)
{
    pthread_mutex_lock(&ahead->mutex);
    if (ahead->held) {
        ahead->idle[ahead->num_idle++] = ahead->held;
        ahead->held = NULL;
        pthread_cond_signal(&ahead->work);
    }
    slot *own = wait_for_slot(ahead);
    liana_status status = own->status;
    if (status == LIANA_OK) {
        *element = own->element;
        ahead->held = own;
        ahead->given++;
    } else if (status != LIANA_END_OF_DATA && error) {
        *error = own->error;
    }
    pthread_mutex_unlock(&ahead->mutex);
    return status;
}

/* ---- cursors ---- */

liana_status liana__budget_keep(liana__budget *budget, size_t bytes, liana__error *error)
{
    size_t kept = atomic_fetch_add(&budget->kept, bytes) + bytes;
    if (kept <= budget->memory / 2) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_RANGE,
                       "the kept elements take more than %zu bytes, half of the iterator's memory; increase its "
                       "memory, or make the buffer or the elements smaller",
                       budget->memory / 2);
}

liana_status liana__cursor_open_input(liana__cursor *cursor, size_t number, uint64_t epoch, uint64_t start,
                                      liana__error *error)
{
    const liana_dataset *dataset = cursor->dataset;
    liana__at at = {cursor->seed, epoch, start};
    if (dataset->num_inputs > 1) at.seed = liana__seed_of_input(cursor->seed, number);
    LIANA_TRY(liana__cursor_open(dataset->inputs[number], cursor->pace, &at, &cursor->inputs[number], error));
    if (cursor->num_inputs <= number) cursor->num_inputs = number + 1;
    return LIANA_OK;
}

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    const liana_dataset *dataset = cursor->dataset;
    const liana_stage_type *kind = dataset->kind;
    /* A kind without `begin` goes through its input from the start. */
    if (!dataset->random_access && !kind->apply) {
        return kind->begin ? kind->begin(cursor, start, error)
                           : liana__cursor_open_input(cursor, 0, cursor->epoch, 0, error);
    }
    cursor->index = start;
    if (!dataset->random_access) LIANA_TRY(liana__cursor_open_input(cursor, 0, cursor->epoch, start, error));
    bool works = dataset->random_access ? dataset->works : kind->works;
    if (works && cursor->pace.num_threads > 0) return ahead_open(cursor, &cursor->ahead, error);
    cursor->reader = liana__reader_create(dataset, NULL);
    return cursor->reader ? LIANA_OK : liana__fail_memory(error, dataset->name);
}

liana_status liana__cursor_open(const liana_dataset *dataset, liana__pace pace, const liana__at *start,
                                liana__cursor **out, liana__error *error)
{
    *out = NULL;
    liana__cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor) return liana__fail_memory(error, dataset->name);
    cursor->dataset = dataset;
    cursor->pace = pace;
    cursor->seed = start->seed;
    cursor->epoch = start->epoch;
    cursor->own = calloc(1, dataset->kind->cursor_size + 1);
    cursor->inputs = calloc(dataset->num_inputs + 1, sizeof *cursor->inputs);
    liana_status status = cursor->own && cursor->inputs ? LIANA_OK : liana__fail_memory(error, dataset->name);
    if (status == LIANA_OK) status = begin(cursor, start->index, error);
    while (status == LIANA_OK && cursor->index < start->index) {
        liana_element skipped;
        status = liana__cursor_next(cursor, &skipped, error);
    }
    if (status == LIANA_END_OF_DATA) status = LIANA_OK;
    if (status == LIANA_OK) *out = cursor;
    if (status != LIANA_OK) liana__cursor_close(cursor);
    return status;
}

void liana__cursor_close(liana__cursor *cursor)
{
    if (!cursor) return;
    ahead_close(cursor->ahead);
    if (cursor->own && cursor->dataset->kind->cursor_free) cursor->dataset->kind->cursor_free(cursor);
    for (size_t i = 0; i < cursor->num_inputs; i++) liana__cursor_close(cursor->inputs[i]);
    liana__reader_destroy(cursor->reader);
    liana__holder_free(&cursor->store);
    free(cursor->own);
    free(cursor->inputs);
    free(cursor);
}

/* The next element of a random-access stage, or one made from the input's next element. */
static liana_status compute(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    const liana_dataset *dataset = cursor->dataset;
    liana__at at = {cursor->seed, cursor->epoch, cursor->index};
    if (dataset->random_access) {
        if (dataset->length >= 0 && cursor->index >= (uint64_t)dataset->length) return LIANA_END_OF_DATA;
        return liana__reader_read(cursor->reader, &at, element, error);
    }
    liana_element input;
    LIANA_TRY(liana__cursor_next(cursor->inputs[0], &input, error));
    return liana__reader_apply(cursor->reader, &at, &input, element, error);
}

liana_status liana__cursor_next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    if (cursor->ended) return LIANA_END_OF_DATA;
    const liana_dataset *dataset = cursor->dataset;
    liana_status status;
    if (cursor->ahead) {
        status = ahead_next(cursor->ahead, element, error);
    } else if (dataset->random_access || dataset->kind->apply) {
        status = compute(cursor, element, error);
    } else {
        status = dataset->kind->next(cursor, element, error);
        element->spec = &dataset->spec;
    }
    cursor->ended = status == LIANA_END_OF_DATA;
    if (status == LIANA_OK) cursor->index++;
    return status;
}
