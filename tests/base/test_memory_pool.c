/* A bound on the memory of several threads: kept at every moment, and everybody gets on. */
#include "harness/harness.h"

#include "base/memory_pool.h"
#include "base/random.h"

enum { THREADS = 6, OWN = 100, MOST = 1000, ROUNDS = 5000 };

static void test_shares(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__memory_pool pool;
    liana__memory_pool_init(&pool, MOST);
    liana__memory_share one = {.pool = &pool, .own = OWN}, other = {.pool = &pool, .own = OWN};
    assert_ok(liana__memory_share_ask(NULL, SIZE_MAX, "anything", &error), &error);

    /* Its own bytes are certain, even when all others are taken. */
    assert_ok(liana__memory_share_ask(&one, OWN + MOST - 50, "most of it", &error), &error);
    assert_int_equal(pool.taken, MOST - 50);
    assert_ok(liana__memory_share_ask(&other, OWN, "its own", &error), &error);
    assert_ok(liana__memory_share_ask(&other, 50, "what is left", &error), &error);
    assert_fails(liana__memory_share_ask(&other, 1, "an image", &error), LIANA_OUT_OF_MEMORY, &error, "1 bytes",
                 "an image");
    assert_int_equal(other.wanted, OWN + 51);
    assert_int_equal(other.used, OWN + 50);

    /* Returned memory can be had. */
    liana__memory_share_settle(&other, 0);
    assert_int_equal(pool.taken, MOST - 50);
    liana__memory_share_settle(&one, OWN - 1);
    assert_int_equal(pool.taken, 0);
    assert_true(liana__memory_share_wait(&other));
    assert_int_equal(other.wanted, 0);
    assert_int_equal(other.taken, 51);
    assert_ok(liana__memory_share_ask(&other, OWN + 51, "the same again", &error), &error);
    liana__memory_share_settle(&other, 0);

    /* More than there is: no use to wait. */
    assert_fails(liana__memory_share_ask(&other, OWN + MOST + 1, "a bomb", &error), LIANA_OUT_OF_MEMORY, &error,
                 "bomb");
    assert_false(liana__memory_share_wait(&other));
    assert_int_equal(other.wanted, OWN + MOST + 1);
    assert_fails(liana__memory_share_ask(&other, SIZE_MAX, "a bomb", &error), LIANA_OUT_OF_MEMORY, &error, "bomb");
    assert_false(liana__memory_share_wait(&other));
    liana__memory_pool_destroy(&pool);
}

typedef struct worker {
    pthread_t thread;
    uint32_t number;
    liana__memory_pool *pool;
    pthread_barrier_t *start;
    atomic_size_t *in_use; /* by all, beyond their own */
    size_t largest;        /* sum that was seen */
    int waits;
} worker;

/* Works that need up to the whole memory, in three steps, and keep theirs until somebody misses it. */
static void *work(void *argument)
{
    worker *self = argument;
    liana__memory_share share = {.pool = self->pool, .own = OWN};
    liana__philox_key key = liana__philox_make_key(7, LIANA__STREAM_DATASET, self->number);
    pthread_barrier_wait(self->start);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t counter[4] = {round, 0, 0, 0}, words[4];
        liana__philox(key, counter, words);
        size_t limit = words[3] % 4 ? 300 : MOST + OWN,
               need[3] = {words[0] % (limit / 3), words[1] % (limit / 3), words[2] % (limit / 3)};
        for (bool done = false; !done;) {
            size_t counted = 0;
            done = true;
            share.used = 0; /* its granted memory stays */
            for (int i = 0; i < 3 && done; i++) {
                done = liana__memory_share_ask(&share, need[i], "a step", NULL) == LIANA_OK;
                size_t beyond = done && share.used > OWN ? share.used - OWN : counted;
                size_t all = atomic_fetch_add(self->in_use, beyond - counted) + beyond - counted;
                counted = beyond;
                if (all > self->largest) self->largest = all;
                for (volatile uint32_t spin = words[i] % 500; spin > 0; spin--) {
                }
                if (words[i] % 8 == 0) sched_yield(); /* another one asks while this one has memory, also on one core */
            }
            atomic_fetch_sub(self->in_use, counted);
            if (done) break;
            liana__memory_share_settle(&share, 0);
            self->waits++;
            if (!liana__memory_share_wait(&share)) self->largest = SIZE_MAX;
        }
        if (liana__memory_share_is_missed(&share)) liana__memory_share_settle(&share, 0);
    }
    liana__memory_share_settle(&share, 0);
    return NULL;
}

static void test_many_threads_stay_within(void **state)
{
    (void)state;
    liana__memory_pool pool;
    liana__memory_pool_init(&pool, MOST);
    atomic_size_t in_use = 0;
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, THREADS);
    worker workers[THREADS] = {0};
    int waits = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.number = i, .pool = &pool, .start = &start, .in_use = &in_use};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_in_range(workers[i].largest, 1, MOST);
        waits += workers[i].waits;
    }
    assert_compare(waits, >, 0); /* or nothing was tested */
    assert_int_equal(pool.taken, 0);
    assert_int_equal(atomic_load(&pool.waiting), 0);
    pthread_barrier_destroy(&start);
    liana__memory_pool_destroy(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares), cmocka_unit_test(test_many_threads_stay_within)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
