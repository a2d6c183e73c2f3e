/* Dynamic batching, with a model that records its batches and fails on purpose: results are those of each request
 * alone, one request's fault is not another's, the queue and the wait have limits. */
#include "harness/harness.h"
#include "harness/wait_until.h"

#include "serve/predict/batcher.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4, THREADS = 8, TURNS = 200 };

/* y = 2 x, and an error for x < 0. */
typedef struct fake_model {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_held; /* runs wait */
    atomic_int runs, largest, waits;
    pthread_t last; /* the thread of the last run */
} fake_model;

static liana_status run(void *user, const void *const *arrays, int64_t count, float *outputs, liana__error *error)
{
    fake_model *own = user;
    const float *x = arrays[0];
    pthread_mutex_lock(&own->lock);
    atomic_fetch_add(&own->waits, 1);
    while (own->is_held) pthread_cond_wait(&own->changed, &own->lock);
    own->last = pthread_self();
    pthread_mutex_unlock(&own->lock);
    atomic_fetch_add(&own->runs, 1);
    if (count > atomic_load(&own->largest)) atomic_store(&own->largest, (int)count);
    for (int64_t i = 0; i < count; i++) {
        if (x[i] < 0) return liana__fail(error, LIANA_OUT_OF_RANGE, "example %lld is below 0", (long long)i);
        outputs[i] = 2 * x[i];
    }
    return LIANA_OK;
}

static const liana_predictor_port input = {.name = "x", .dtype = LIANA_F32, .shape = {1, {-1}}, .num_values = 1};

typedef struct trial {
    fake_model fake;
    liana__batch_model model;
    liana__batcher *batcher;
    atomic_llong examples;
} trial;

static void on_batch(void *user, int64_t examples, double seconds)
{
    trial *own = user;
    (void)seconds;
    atomic_fetch_add(&own->examples, examples);
}

static void set_up(trial *own, double timeout, int64_t queue, double seconds)
{
    liana__error error;
    const liana__batcher_options options = {timeout, queue, seconds, on_batch, own};
    memset(own, 0, sizeof *own);
    pthread_mutex_init(&own->fake.lock, NULL);
    pthread_cond_init(&own->fake.changed, NULL);
    own->model = (liana__batch_model){&input, 1, 1, BATCH, run, &own->fake};
    assert_ok(liana__batcher_open(&own->model, &options, &own->batcher, &error), &error);
}

static void hold(trial *own, bool is_held)
{
    pthread_mutex_lock(&own->fake.lock);
    own->fake.is_held = is_held;
    pthread_cond_broadcast(&own->fake.changed);
    pthread_mutex_unlock(&own->fake.lock);
}

static void tear_down(trial *own)
{
    liana__batcher_close(own->batcher);
    pthread_cond_destroy(&own->fake.changed);
    pthread_mutex_destroy(&own->fake.lock);
}

/* ---- askers ---- */

typedef struct asker {
    trial *trial;
    pthread_t thread;
    int64_t count;
    float first;
    int faults;
    liana_status status;
    liana__error error;
} asker;

static liana_status ask(trial *own, float first, int64_t count, float *outputs, liana__error *error)
{
    float x[3 * BATCH];
    const void *arrays[] = {x};
    for (int64_t i = 0; i < count; i++) x[i] = first + (float)i;
    return liana__batcher_run(own->batcher, arrays, count, outputs, error);
}

static void *ask_once(void *user)
{
    asker *own = user;
    float outputs[3 * BATCH];
    own->status = ask(own->trial, own->first, own->count, outputs, &own->error);
    for (int64_t i = 0; i < own->count && own->status == LIANA_OK; i++) {
        own->faults += outputs[i] != 2 * (own->first + (float)i);
    }
    return NULL;
}

static void *ask_on(void *user)
{
    asker *own = user;
    for (int turn = 0; turn < TURNS; turn++) {
        asker one = {.trial = own->trial, .count = 1 + (turn + (int)own->first) % (3 * BATCH - 1)};
        one.first = own->first * 1000 + (float)turn;
        const bool is_bad = turn % 7 == 3;
        if (is_bad) one.first = -1;
        ask_once(&one);
        own->faults += one.faults + (one.status != (is_bad ? LIANA_OUT_OF_RANGE : LIANA_OK));
    }
    return NULL;
}

static void begin(asker *own, trial *of, float first, int64_t count)
{
    *own = (asker){.trial = of, .first = first, .count = count};
    assert_int_equal(pthread_create(&own->thread, NULL, ask_once, own), 0);
}

static void end(asker *own, liana_status status)
{
    pthread_join(own->thread, NULL);
    assert_int_equal(own->status, status);
    assert_int_equal(own->faults, 0);
}

/* ---- tests ---- */

static void test_many_at_once(void **state)
{
    trial own;
    asker askers[THREADS];
    (void)state;
    set_up(&own, 0.0005, 1 << 20, 0);
    for (int i = 0; i < THREADS; i++) {
        askers[i] = (asker){.trial = &own, .first = (float)i};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_on, &askers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(askers[i].thread, NULL);
        assert_int_equal(askers[i].faults, 0);
    }
    assert_int_equal(atomic_load(&own.fake.largest), BATCH);
    assert_int_equal(liana__batcher_waiting(own.batcher), 0);
    tear_down(&own);
}

/* While the first is run, others come: they are one batch, of which the fault of one is its own. */
static void test_together(void **state)
{
    trial own;
    asker first, others[3];
    (void)state;
    set_up(&own, 0, 100, 0);
    hold(&own, true);
    begin(&first, &own, 1, 1);
    wait_until(atomic_load(&own.fake.waits) == 1);
    for (int i = 0; i < 3; i++) begin(&others[i], &own, i == 1 ? -5 : 10 * (float)i, 1);
    wait_until(liana__batcher_waiting(own.batcher) == 3);
    hold(&own, false);
    end(&first, LIANA_OK);
    end(&others[0], LIANA_OK);
    end(&others[1], LIANA_OUT_OF_RANGE);
    assert_says(others[1].error.message, "example 0 is below 0");
    end(&others[2], LIANA_OK);
    /* The first; the batch of three, which failed; each of them. */
    assert_int_equal(atomic_load(&own.fake.runs), 5);
    assert_int_equal(atomic_load(&own.fake.largest), 3);
    assert_int_equal(atomic_load(&own.examples), 4);
    tear_down(&own);
}

/* A request that is alone runs on its own thread, one that came while the model ran on the worker's. */
static void test_alone(void **state)
{
    trial own;
    asker first, second;
    liana__error error;
    float outputs[3 * BATCH];
    (void)state;
    set_up(&own, 0, 100, 0);
    assert_ok(ask(&own, 1, 3 * BATCH, outputs, &error), &error);
    assert_true(pthread_equal(own.fake.last, pthread_self()));
    assert_int_equal(atomic_load(&own.fake.runs), 3);
    hold(&own, true);
    begin(&first, &own, 1, 1);
    wait_until(atomic_load(&own.fake.waits) == 4);
    begin(&second, &own, 2, 2);
    wait_until(liana__batcher_waiting(own.batcher) == 2);
    hold(&own, false);
    end(&first, LIANA_OK);
    end(&second, LIANA_OK);
    assert_int_equal(atomic_load(&own.fake.runs), 5);
    assert_false(pthread_equal(own.fake.last, first.thread) || pthread_equal(own.fake.last, second.thread));
    assert_ok(ask(&own, 5, 1, outputs, &error), &error);
    assert_true(pthread_equal(own.fake.last, pthread_self()));
    tear_down(&own);
}

static void test_full_queue(void **state)
{
    trial own;
    asker first, large, late;
    liana__error error;
    float outputs[BATCH];
    (void)state;
    set_up(&own, 0, 5, 0);
    hold(&own, true);
    begin(&first, &own, 1, 1);
    wait_until(atomic_load(&own.fake.waits) == 1);
    begin(&large, &own, 1, 3 * BATCH); /* more than the queue has: taken, since nobody waits */
    wait_until(liana__batcher_waiting(own.batcher) == 3 * BATCH);
    assert_fails(ask(&own, 1, 1, outputs, &error), LIANA_UNAVAILABLE, &error, "12 examples wait");
    hold(&own, false);
    end(&first, LIANA_OK);
    end(&large, LIANA_OK);
    begin(&late, &own, 1, 2);
    end(&late, LIANA_OK);
    tear_down(&own);
}

static void test_long_wait(void **state)
{
    trial own;
    asker first, second, third;
    (void)state;
    set_up(&own, 0, 100, 0.05);
    hold(&own, true);
    begin(&first, &own, 1, 1);
    wait_until(atomic_load(&own.fake.waits) == 1);
    begin(&second, &own, 2, 1);
    begin(&third, &own, 3, 2);
    end(&second, LIANA_CANCELLED);
    end(&third, LIANA_CANCELLED);
    assert_says(second.error.message, "0.05 seconds");
    assert_int_equal(liana__batcher_waiting(own.batcher), 0);
    hold(&own, false);
    end(&first, LIANA_OK); /* it was being run */
    tear_down(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_at_once), cmocka_unit_test(test_together),  cmocka_unit_test(test_alone),
        cmocka_unit_test(test_full_queue),   cmocka_unit_test(test_long_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
