/* Dynamic batching. */
#include "serve/predict/batcher.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread_start.h"
#include "serve/predict/request.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A request that waits, on the stack of its thread. */
typedef struct waiting_request {
    const void *const *arrays;
    int64_t count, begun, done; /* examples: of it, taken into batches, and run */
    float *outputs;
    double since;
    bool has_ended;
    liana_status status;
    liana__error *error;
    pthread_cond_t ended;
    struct waiting_request *after;
} waiting_request;

/* A part of a request in a batch. */
typedef struct batch_part {
    waiting_request *request;
    int64_t begin, count;
} batch_part;

struct liana__batcher {
    const liana__batch_model *model;
    liana__batcher_options options;
    pthread_mutex_t lock;
    pthread_cond_t grown, left; /* more waits; the worker is to lead */
    pthread_t worker;
    bool has_worker, closes;
    bool is_led;
    waiting_request *first, **last; /* a part of the first may be taken already */
    int64_t num_waiting;            /* examples not yet taken */
    /* The leader's. */
    void *inputs[LIANA_MAX_COMPONENTS]; /* [batch_size, ...] */
    float *outputs;
    batch_part *parts; /* [batch_size] */
    int64_t num_parts;
};

static struct timespec moment_after(double seconds)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    const int64_t nanoseconds = at.tv_nsec + (int64_t)(seconds * 1e9);
    return (struct timespec){at.tv_sec + (time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
}

/* ---- the leader: taking ---- */

/* Waits for more if a timeout says so. */
static void wait_for_more(liana__batcher *own)
{
    while (own->first && own->num_waiting < own->model->batch_size) {
        const double left = own->first->since + own->options.timeout - liana__clock_seconds();
        if (left <= 0) return;
        const struct timespec until = moment_after(left);
        pthread_cond_timedwait(&own->grown, &own->lock, &until);
    }
}

/* Fills the batch with what waits longest. */
static int64_t take_parts(liana__batcher *own)
{
    int64_t count = 0;
    own->num_parts = 0;
    while (own->first && count < own->model->batch_size) {
        waiting_request *request = own->first;
        const int64_t left = request->count - request->begun, room = own->model->batch_size - count;
        const int64_t taken = left < room ? left : room;
        own->parts[own->num_parts++] = (batch_part){request, request->begun, taken};
        request->begun += taken;
        count += taken;
        if (request->begun < request->count) break;
        own->first = request->after;
        if (!own->first) own->last = &own->first;
    }
    own->num_waiting -= count;
    return count;
}

/* ---- the leader: running ---- */

static liana_status run_part(liana__batcher *own, const batch_part *part, liana__error *error)
{
    const liana__batch_model *model = own->model;
    const void *arrays[LIANA_MAX_COMPONENTS];
    for (size_t i = 0; i < model->num_inputs; i++) {
        const size_t row = liana__request_row_bytes(&model->inputs[i]);
        arrays[i] = (const char *)part->request->arrays[i] + (size_t)part->begin * row;
    }
    return model->run(model->user, arrays, part->count, part->request->outputs + part->begin * model->num_values,
                      error);
}

static liana_status run_together(liana__batcher *own, int64_t count, liana__error *error)
{
    const liana__batch_model *model = own->model;
    for (size_t i = 0; i < model->num_inputs; i++) {
        const size_t row = liana__request_row_bytes(&model->inputs[i]);
        char *to = own->inputs[i];
        for (int64_t p = 0; p < own->num_parts; p++) {
            const batch_part *part = &own->parts[p];
            const size_t bytes = (size_t)part->count * row;
            memcpy(to, (const char *)part->request->arrays[i] + (size_t)part->begin * row, bytes);
            to += bytes;
        }
    }
    LIANA_TRY(model->run(model->user, (const void *const *)own->inputs, count, own->outputs, error));
    const float *from = own->outputs;
    for (int64_t p = 0; p < own->num_parts; p++) {
        const batch_part *part = &own->parts[p];
        const int64_t values = part->count * model->num_values;
        memcpy(part->request->outputs + part->begin * model->num_values, from, (size_t)values * sizeof(float));
        from += values;
    }
    return LIANA_OK;
}

/* Each error belongs to its request, which waits: nobody else reads it now. */
static void run_each(liana__batcher *own)
{
    for (int64_t p = 0; p < own->num_parts; p++) {
        waiting_request *request = own->parts[p].request;
        if (request->status == LIANA_OK) request->status = run_part(own, &own->parts[p], request->error);
    }
}

static void run_batch(liana__batcher *own, int64_t count)
{
    liana__error ignored;
    const double begin = liana__clock_seconds();
    if (own->num_parts == 1 || run_together(own, count, &ignored) != LIANA_OK) run_each(own);
    if (own->options.on_batch) own->options.on_batch(own->options.user, count, liana__clock_seconds() - begin);
}

static void end_parts(liana__batcher *own)
{
    for (int64_t p = 0; p < own->num_parts; p++) {
        waiting_request *request = own->parts[p].request;
        request->done += own->parts[p].count;
        if (request->done < request->count) continue;
        request->has_ended = true;
        pthread_cond_signal(&request->ended);
    }
}

static void lead_batch(liana__batcher *own)
{
    own->is_led = true;
    wait_for_more(own);
    const int64_t count = take_parts(own);
    pthread_mutex_unlock(&own->lock);
    run_batch(own, count);
    pthread_mutex_lock(&own->lock);
    end_parts(own);
    own->is_led = false;
}

static void *work(void *user)
{
    liana__batcher *own = user;
    pthread_mutex_lock(&own->lock);
    while (!own->closes) {
        if (own->first && !own->is_led) {
            lead_batch(own);
        } else {
            pthread_cond_wait(&own->left, &own->lock);
        }
    }
    pthread_mutex_unlock(&own->lock);
    return NULL;
}

/* ---- requests ---- */

/* Takes a request out again that nobody has begun. */
static void withdraw(liana__batcher *own, waiting_request *request)
{
    waiting_request **at = &own->first;
    while (*at && *at != request) at = &(*at)->after;
    if (!*at) return;
    *at = request->after;
    if (own->last == &request->after) own->last = at;
    own->num_waiting -= request->count;
    request->status = liana__fail(request->error, LIANA_CANCELLED,
                                  "the request waited for its turn for more than %g seconds", own->options.max_seconds);
    request->has_ended = true;
}

/* False: its time is over, and nobody has begun it. */
static bool may_wait(const liana__batcher *own, const waiting_request *request)
{
    const double seconds = own->options.max_seconds;
    return request->begun || seconds <= 0 || liana__clock_seconds() < request->since + seconds;
}

static void wait_for_turn(liana__batcher *own, waiting_request *request)
{
    if (request->begun || own->options.max_seconds <= 0) {
        pthread_cond_wait(&request->ended, &own->lock);
    } else {
        const double left = request->since + own->options.max_seconds - liana__clock_seconds();
        const struct timespec until = moment_after(left);
        pthread_cond_timedwait(&request->ended, &own->lock, &until);
    }
}

static void wait_for_end(liana__batcher *own, waiting_request *request)
{
    while (!request->has_ended) {
        if (may_wait(own, request)) {
            wait_for_turn(own, request);
        } else {
            withdraw(own, request);
        }
    }
}

/* A request that is first leads until it has its own answer. What others ask meanwhile is the worker's. */
static void lead_first(liana__batcher *own, const waiting_request *request)
{
    while (!request->has_ended) lead_batch(own);
    if (own->first) pthread_cond_signal(&own->left);
}

liana_status liana__batcher_run(liana__batcher *own, const void *const *arrays, int64_t count, float *outputs,
                                liana__error *error)
{
    waiting_request request = {.arrays = arrays, .count = count, .outputs = outputs, .error = error};
    pthread_condattr_t attributes;
    pthread_mutex_lock(&own->lock);
    /* A request that is larger than the queue is taken where the queue is empty. */
    const int64_t waiting = own->num_waiting;
    if (waiting && waiting + count > own->options.max_waiting) {
        pthread_mutex_unlock(&own->lock);
        return liana__fail(error, LIANA_UNAVAILABLE, "%lld examples wait already; try again soon", (long long)waiting);
    }
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&request.ended, &attributes);
    pthread_condattr_destroy(&attributes);
    request.since = liana__clock_seconds();
    const bool leads = !own->first && !own->is_led;
    *own->last = &request;
    own->last = &request.after;
    own->num_waiting += count;
    pthread_cond_signal(&own->grown);
    if (leads) {
        lead_first(own, &request);
    } else {
        wait_for_end(own, &request);
    }
    pthread_mutex_unlock(&own->lock);
    pthread_cond_destroy(&request.ended);
    return request.status;
}

int64_t liana__batcher_waiting(liana__batcher *own)
{
    pthread_mutex_lock(&own->lock);
    const int64_t count = own->num_waiting;
    pthread_mutex_unlock(&own->lock);
    return count;
}

/* ---- opening ---- */

static liana_status start(liana__batcher *own, liana__error *error)
{
    const size_t size = (size_t)own->model->batch_size;
    for (size_t i = 0; i < own->model->num_inputs; i++) {
        own->inputs[i] = liana__allocate_large(size * liana__request_row_bytes(&own->model->inputs[i]));
        if (!own->inputs[i]) return liana__fail_memory(error, "a batch");
    }
    own->outputs = malloc(size * (size_t)own->model->num_values * sizeof *own->outputs);
    own->parts = malloc(size * sizeof *own->parts);
    if (!own->outputs || !own->parts) return liana__fail_memory(error, "a batch");
    if (liana__thread_start(&own->worker, work, own) != 0) {
        return liana__fail(error, LIANA_IO_ERROR, "the system gives no thread for a model");
    }
    own->has_worker = true;
    return LIANA_OK;
}

liana_status liana__batcher_open(const liana__batch_model *model, const liana__batcher_options *options,
                                 liana__batcher **batcher, liana__error *error)
{
    pthread_condattr_t attributes;
    liana__batcher *own = calloc(1, sizeof *own);
    *batcher = NULL;
    if (!own) return liana__fail_memory(error, "a batch");
    own->model = model;
    own->options = *options;
    own->last = &own->first;
    pthread_mutex_init(&own->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&own->grown, &attributes);
    pthread_cond_init(&own->left, NULL);
    pthread_condattr_destroy(&attributes);
    const liana_status status = start(own, error);
    if (status == LIANA_OK) *batcher = own;
    if (status != LIANA_OK) liana__batcher_close(own);
    return status;
}

void liana__batcher_close(liana__batcher *own)
{
    if (!own) return;
    pthread_mutex_lock(&own->lock);
    own->closes = true;
    pthread_cond_signal(&own->left);
    pthread_mutex_unlock(&own->lock);
    if (own->has_worker) pthread_join(own->worker, NULL);
    pthread_cond_destroy(&own->left);
    pthread_cond_destroy(&own->grown);
    pthread_mutex_destroy(&own->lock);
    for (size_t i = 0; i < LIANA_MAX_COMPONENTS; i++) free(own->inputs[i]);
    free(own->outputs);
    free(own->parts);
    free(own);
}
