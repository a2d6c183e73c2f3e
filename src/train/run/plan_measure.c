/* Trains a few steps of small batches, and keeps the medians. */
#include "train/run/measure.h"

#include "base/cpu.h"
#include "distribute/cluster/slice_chunks.h"
#include "train/run/run_internal.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 1000, LEAST_STEPS = 5, WARMUP_STEPS = 2, EVENTS = 8 };

/* Steps with batches of one size. */
typedef struct steps {
    liana__run run;
    liana__recorder *recorder;
    liana_learning_rate learning_rate;
    double *shards, *update, *wait; /* by step */
    uint64_t *made;                 /* by sum: when it was there, in the last step */
    double *left; /* by sum: seconds from then to the end of the step's shards, added over all counted steps */
    size_t num_sums;
    liana__sum_watch watch;
    int64_t count, iteration;
    bool filled; /* the last batch had all its examples */
} steps;

/* ---- opening ---- */

/* In this process alone, with this batch and microbatch; 0: those of the configuration. Steps are the workers' work:
 * shards, then the update. A device that keeps the examples, and does whole updates in one program, is not for
 * workers. */
static liana_status open_run(liana_context *context, const liana__config *config, int64_t batch, int64_t microbatch,
                             liana__run *run, liana__error *error)
{
    liana__config alone = *config;
    alone.job.strategy = NULL;
    alone.job.deterministic = true;
    if (alone.data.cache == LIANA__CACHE_DEVICE) alone.data.cache = LIANA__CACHE_MEMORY;
    if (batch) {
        alone.job.batch_size = batch;
        alone.job.microbatch = microbatch;
        /* An epoch may have fewer batches of this size. */
        if (!alone.data.repeat) alone.job.steps_per_epoch = 0;
    }
    return liana__run_open(context, &alone, &(liana__run_options){.training = true}, run, error);
}

liana_status liana__plan_open(liana_context *context, const liana__config *config, liana__plan_training *training,
                              liana__error *error)
{
    *training = (liana__plan_training){.context = context, .config = config};
    LIANA_TRY(open_run(context, config, 0, 0, &training->run, error));
    const liana__run *run = &training->run;
    const liana__objective *objective = run->core.objective;
    training->batch_size = run->config->job.batch_size;
    training->microbatch = liana__trainer_microbatch(run->core.trainer);
    training->num_examples = (int64_t)liana__loader_epoch_length(run->training.loader, 0);
    training->update = (liana__plan_update){.items = liana__trainer_update_items(run->core.trainer),
                                            .first_sum = objective->num_sums,
                                            .num_counts = objective->num_counted};
    if (training->update.items) return LIANA_OK;
    return liana__fail(error, LIANA_UNIMPLEMENTED,
                       "the update is a function of its own, which one process does alone: "
                       "there is nothing to plan");
}

void liana__plan_close(liana__plan_training *training)
{
    liana__run_close(&training->run);
}

/* ---- steps ---- */

/* On the thread that has made it. */
static void note_sum(void *user, size_t block, size_t sum, const void *data)
{
    steps *own = user;
    (void)block;
    (void)data;
    if (sum < own->num_sums) own->made[sum] = liana__clock();
}

static void note_shards(steps *own, const liana__event *event)
{
    own->shards[own->count] = 1e-9 * (double)(event->end - event->begin);
    if (!own->filled) return;
    for (size_t i = 0; i < own->num_sums; i++) {
        if (own->made[i] > event->begin) own->left[i] += 1e-9 * (double)(event->end - own->made[i]);
    }
}

/* The time between the events of the last step that the trainer recorded. */
static void take_events(steps *own)
{
    const size_t track = own->run.core.device->num_tracks;
    const int64_t step = own->count;
    liana__event event;
    while (liana__recorder_take(own->recorder, track, &event, 1) == 1) {
        const double seconds = 1e-9 * (double)(event.end - event.begin);
        if (event.kind == LIANA__EVENT_SHARDS) note_shards(own, &event);
        if (event.kind == LIANA__EVENT_UPDATE) own->update[step] = seconds;
    }
}

static liana_status train_step(steps *own, liana__error *error)
{
    liana__run *run = &own->run;
    liana__batch *batch;
    const double begin = liana__clock_seconds();
    LIANA_TRY(liana__loader_next(run->training.loader, &batch, error));
    own->wait[own->count] = liana__clock_seconds() - begin;
    own->filled = batch->count == run->config->job.batch_size;
    const double rate = liana__learning_rate_at(&own->learning_rate, own->iteration);
    const float *sums;
    liana_status status = liana__trainer_step(run->core.trainer, batch, rate, ++own->iteration, &sums, error);
    liana__loader_release(run->training.loader, batch);
    LIANA_TRY(status);
    take_events(own);
    return LIANA_OK;
}

/* Smaller batches at the end of an epoch do not count. Neither do the first steps: readers then make batches ahead,
 * which slows computing down. */
static liana_status train_steps(steps *own, double seconds, liana__error *error)
{
    double begin = liana__clock_seconds();
    int64_t tried = 0;
    for (int64_t i = 0; i < WARMUP_STEPS || liana__clock_seconds() - begin < seconds / 2; i++) {
        LIANA_TRY(train_step(own, error));
    }
    memset(own->left, 0, own->num_sums * sizeof *own->left);
    begin = liana__clock_seconds();
    while (tried++ < MOST_STEPS && (own->count < LEAST_STEPS || liana__clock_seconds() - begin < seconds)) {
        LIANA_TRY(train_step(own, error));
        own->count += own->filled;
    }
    if (own->count) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_DATA,
        "of %d batches of %lld examples none had all its examples, since records are missing: nothing can "
        "be measured",
        MOST_STEPS, (long long)own->run.config->job.batch_size);
}

static liana_status begin_steps(steps *own, liana__error *error)
{
    liana__run *run = &own->run;
    liana__device *device = run->core.device;
    own->shards = calloc(MOST_STEPS + 1, sizeof *own->shards);
    own->update = calloc(MOST_STEPS + 1, sizeof *own->update);
    own->wait = calloc(MOST_STEPS + 1, sizeof *own->wait);
    own->num_sums = 1 + run->core.model->num_weights;
    own->made = calloc(own->num_sums, sizeof *own->made);
    own->left = calloc(own->num_sums, sizeof *own->left);
    if (!own->shards || !own->update || !own->wait || !own->made || !own->left) {
        return liana__fail_memory(error, "the measured steps");
    }
    own->watch = (liana__sum_watch){note_sum, own};
    liana__step_watch_sums(run->core.trainer->step, &own->watch);
    LIANA_TRY(liana__run_prepare_steps(run, &own->learning_rate, error));
    /* The recorder has no room for events of nodes: they are dropped. */
    LIANA_TRY(liana__recorder_create((size_t)device->num_tracks + 1, EVENTS, &own->recorder, error));
    device->recorder = own->recorder;
    return liana__loader_begin(run->training.loader, 0, 0, error);
}

static void end_steps(steps *own)
{
    if (own->run.core.device) own->run.core.device->recorder = NULL;
    liana__recorder_destroy(own->recorder);
    liana__run_close(&own->run);
    free(own->shards);
    free(own->update);
    free(own->wait);
    free(own->made);
    free(own->left);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int64_t count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double mean(const double *values, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += values[i];
    return sum / (double)count;
}

/* Seconds of computing `num_shards` at once, of the update, and of waiting for a batch. */
typedef struct measured {
    double shards, update, wait;
    double memory;
    double left[LIANA__PLAN_PORTIONS], quantiles[LIANA__PLAN_QUANTILES];
} measured;

/* A message leaves when the last of its portions is there. */
static void join_portions(double left[LIANA__PLAN_PORTIONS], double portion_bytes)
{
    const double most = ceil(LIANA__LEAST_CHUNK / portion_bytes);
    const size_t together = most < LIANA__PLAN_PORTIONS ? (size_t)most : LIANA__PLAN_PORTIONS;
    for (size_t i = 0; i < LIANA__PLAN_PORTIONS; i += together) {
        const size_t end = i + together < LIANA__PLAN_PORTIONS ? i + together : LIANA__PLAN_PORTIONS;
        double least = left[i];
        for (size_t p = i; p < end; p++) least = left[p] < least ? left[p] : least;
        for (size_t p = i; p < end; p++) left[p] = least;
    }
}

/* A portion is there when the last sum that lies in it is. */
static void find_left(const steps *own, double left[LIANA__PLAN_PORTIONS])
{
    const liana__update_items *items = liana__trainer_update_items(own->run.core.trainer);
    double whole = 0, begin = 0;
    for (size_t i = 0; i < items->num_items; i++) whole += (double)items->items[i].size;
    for (size_t i = 0; i < items->num_items; i++) {
        const char *name = liana__update_item_variable(items, i)->name;
        const double seconds = own->left[liana__trainer_find_sum(own->run.core.trainer, name)] / (double)own->count;
        const double end = begin + (double)items->items[i].size / whole * LIANA__PLAN_PORTIONS;
        for (size_t p = (size_t)begin; p < LIANA__PLAN_PORTIONS && (double)p < end; p++) {
            if ((double)p >= begin || seconds < left[p]) left[p] = seconds;
        }
        begin = end;
    }
    join_portions(left, whole * sizeof(float) / LIANA__PLAN_PORTIONS);
}

static liana_status measure(const liana__plan_training *training, int64_t num_shards, int64_t microbatch,
                            double seconds, measured *found, liana__error *error)
{
    steps own = {0};
    liana_status status =
        open_run(training->context, training->config, num_shards * microbatch, microbatch, &own.run, error);
    if (status == LIANA_OK) status = begin_steps(&own, error);
    if (status == LIANA_OK) status = train_steps(&own, seconds, error);
    if (status == LIANA_OK) {
        *found = (measured){.shards = median(own.shards, own.count),
                            .update = median(own.update, own.count),
                            .wait = mean(own.wait, own.count),
                            .memory = (double)liana__step_memory_of(own.run.core.trainer->step).bytes};
        find_left(&own, found->left);
        /* The median has sorted them. */
        for (size_t i = 0; i < LIANA__PLAN_QUANTILES; i++) {
            const size_t at = (2 * i + 1) * (size_t)own.count / (2 * LIANA__PLAN_QUANTILES);
            found->quantiles[i] = own.shards[at] / found->shards;
        }
    }
    end_steps(&own);
    return status;
}

/* ---- company ---- */

/* A training that goes on until it is told to end. */
typedef struct company {
    const liana__plan_companion *of;
    int64_t batch, microbatch;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool begun; /* it trains, or has failed */
    atomic_bool ends;
    liana_status status;
    liana__error error;
} company;

static void say_begun(company *own)
{
    pthread_mutex_lock(&own->mutex);
    own->begun = true;
    pthread_cond_signal(&own->changed);
    pthread_mutex_unlock(&own->mutex);
}

static void *keep_company(void *user)
{
    company *own = user;
    steps taken = {0};
    own->status = open_run(own->of->context, own->of->config, own->batch, own->microbatch, &taken.run, &own->error);
    if (own->status == LIANA_OK) own->status = begin_steps(&taken, &own->error);
    if (own->status == LIANA_OK) own->status = train_step(&taken, &own->error);
    say_begun(own);
    while (own->status == LIANA_OK && !own->ends) own->status = train_step(&taken, &own->error);
    end_steps(&taken);
    return NULL;
}

/* In long steps, since workers compute at the same time: the time between two steps would be rest for the others. */
static int64_t batch_of_company(const liana__plan_training *training, int64_t batch)
{
    enum { LONGER = 8 };
    return LONGER * batch <= training->num_examples ? LONGER * batch : batch;
}

/* Returns how many have begun: all, or those before one that could not. */
static size_t begin_company(const liana__plan_training *training, int64_t batch, int64_t microbatch, company *all)
{
    for (size_t i = 0; i < training->num_companions; i++) {
        company *own = &all[i];
        *own = (company){.of = &training->companions[i], .batch = batch, .microbatch = microbatch};
        pthread_mutex_init(&own->mutex, NULL);
        pthread_cond_init(&own->changed, NULL);
        if (pthread_create(&own->thread, NULL, keep_company, own) == 0) continue;
        pthread_mutex_destroy(&own->mutex);
        pthread_cond_destroy(&own->changed);
        return i;
    }
    for (size_t i = 0; i < training->num_companions; i++) {
        pthread_mutex_lock(&all[i].mutex);
        while (!all[i].begun) pthread_cond_wait(&all[i].changed, &all[i].mutex);
        pthread_mutex_unlock(&all[i].mutex);
    }
    return training->num_companions;
}

static liana_status end_company(company *all, size_t count, liana__error *error)
{
    liana_status status = LIANA_OK;
    for (size_t i = 0; i < count; i++) all[i].ends = true;
    for (size_t i = 0; i < count; i++) {
        pthread_join(all[i].thread, NULL);
        pthread_mutex_destroy(&all[i].mutex);
        pthread_cond_destroy(&all[i].changed);
        if (status != LIANA_OK || all[i].status == LIANA_OK) continue;
        *error = all[i].error;
        status = all[i].status;
    }
    return status;
}

static liana_status measure_in_company(const liana__plan_training *training, int64_t num_shards, int64_t microbatch,
                                       double seconds, measured *found, liana__error *error)
{
    company *all = calloc(training->num_companions + 1, sizeof *all);
    if (!all) return liana__fail_memory(error, "the measured steps");
    const int64_t batch = batch_of_company(training, num_shards * microbatch);
    const size_t begun = begin_company(training, batch, microbatch, all);
    liana_status status =
        begun == training->num_companions
            ? measure(training, num_shards, microbatch, seconds, found, error)
            : liana__fail(error, LIANA_OUT_OF_MEMORY, "no thread for another training can be started");
    liana__error failed = {0};
    const liana_status ended = end_company(all, begun, &failed);
    free(all);
    if (status != LIANA_OK || ended == LIANA_OK) return status;
    *error = failed;
    return ended;
}

/* ---- a worker ---- */

static int64_t most_examples(const liana__plan_training *training, int64_t microbatch)
{
    return 2 * liana__pool_num_threads(training->context->pool) * microbatch;
}

bool liana__plan_can_measure(const liana__plan_training *training, int64_t microbatch)
{
    return most_examples(training, microbatch) <= training->num_examples;
}

/* Bytes of optimizer state: the slots of the update's rule for all elements. */
static double slot_bytes(const liana__plan_training *training)
{
    const liana__update_items *items = training->update.items;
    double numbers = 0;
    for (size_t i = 0; i < items->num_items; i++) {
        const liana__updated_variable *variable = liana__update_item_variable(items, i);
        const liana__update_rule rule = liana__rule_of(&items->rule, variable->name);
        if (!variable->is_average) numbers += (double)items->items[i].size * (double)liana__rule_num_slots(&rule);
    }
    return numbers * (double)sizeof(float);
}

liana_status liana__plan_measure(const liana__plan_training *training, int64_t microbatch, double seconds,
                                 liana__plan_work *work, liana__error *error)
{
    const int64_t threads = liana__pool_num_threads(training->context->pool);
    measured lone, one, two;
    LIANA_TRY(measure_in_company(training, threads, microbatch, seconds, &one, error));
    LIANA_TRY(measure_in_company(training, 2 * threads, microbatch, seconds, &two, error));
    lone = one;
    if (threads > 1) LIANA_TRY(measure_in_company(training, 1, microbatch, seconds, &lone, error));
    /* If two turns were shorter than one, other programs have disturbed the measurement of one. */
    const double next_turn = two.shards > one.shards ? two.shards - one.shards : two.shards / 2;
    *work = (liana__plan_work){.microbatch = microbatch,
                               .threads = (size_t)threads,
                               .lone_shard = lone.shards,
                               .full_turn = two.shards - next_turn,
                               .next_turn = next_turn,
                               .update = two.update,
                               .example = two.wait / (double)(2 * threads * microbatch),
                               .memory = two.memory,
                               .slots = slot_bytes(training)};
    work->crowding = (double)((int64_t)(training->num_companions + 1) * threads) / (double)liana__cpu_count();
    memcpy(work->left, one.left, sizeof work->left);
    memcpy(work->quantiles, one.quantiles, sizeof work->quantiles);
    return LIANA_OK;
}
