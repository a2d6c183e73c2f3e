/* What a training tells while it runs: points at times, losses since the point before, fewer points when there are
 * many, a pause that ends, and what is asked of it. */
#include "harness/harness.h"

#include "serve/live_ask.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An objective with a penalty alone: its sum is that of the examples' losses. */
typedef struct epoch {
    liana__objective objective;
    liana__totals totals;
} epoch;

static void begin(epoch *own)
{
    liana__error error = {0};
    *own = (epoch){0};
    own->objective.num_sums = 1;
    own->objective.is_regularized = true;
    own->objective.penalty_sum = 0;
    own->objective.num_values = 1;
    assert_ok(liana__totals_create(&own->objective, &own->totals, &error), &error);
}

/* Examples with this loss each. */
static void add(epoch *own, float loss, int64_t count)
{
    const float sum = loss * (float)count;
    liana__totals_add(&own->totals, &sum, count, 0);
}

static liana__fit_event event_of(const epoch *own, liana__fit_event_kind kind, int64_t epoch_number, int64_t step)
{
    return (liana__fit_event){.kind = kind,
                              .epoch = epoch_number,
                              .epochs = 9,
                              .step = step,
                              .steps = 50,
                              .global_step = (epoch_number - 1) * 50 + step,
                              .seconds = 2,
                              .wait = 0.5,
                              .images = 100,
                              .training = &own->totals,
                              .learning_rate = 0.125};
}

static void test_points_and_losses(void **state)
{
    (void)state;
    static liana__live_point points[LIANA__LIVE_MOST_POINTS];
    epoch own;
    bool anew;
    liana__live_place place = {0};
    liana__live_feed *feed = liana__live_feed_create(1);
    begin(&own);
    const liana__fit_event first = event_of(&own, LIANA__FIT_STEP, 1, 1);
    add(&own, 4, 10);
    liana__live_feed_take(feed, &first, NULL, 0, 100);
    add(&own, 2, 30);
    liana__fit_event next = event_of(&own, LIANA__FIT_STEP, 1, 2);
    liana__live_feed_take(feed, &next, NULL, 0, 100.5); /* too soon */
    add(&own, 1, 10);
    next = event_of(&own, LIANA__FIT_STEP, 1, 3);
    liana__live_feed_take(feed, &next, NULL, 0, 101);
    assert_int_equal(liana__live_feed_points(feed, &place, points, &anew), 2);
    assert_true(anew);
    assert_near(points[0].values[0], 4, 1e-6, 0);
    assert_near(points[1].step, 3, 0, 1);
    assert_near(points[1].values[0], (2 * 30 + 1 * 10) / 40.0, 1e-6, 1);
    assert_near(points[1].values[1], 0.125, 0, 1);
    /* The next epoch begins with new sums. */
    liana__totals_clear(&own.totals);
    add(&own, 8, 5);
    next = event_of(&own, LIANA__FIT_STEP, 2, 1);
    liana__live_feed_take(feed, &next, NULL, 0, 102);
    assert_int_equal(liana__live_feed_points(feed, &place, points, &anew), 1);
    assert_false(anew);
    assert_near(points[0].step, 51, 0, 0);
    assert_near(points[0].values[0], 8, 1e-6, 0);
    const liana__live_now now = liana__live_feed_now(feed);
    assert_int_equal(now.state, LIANA__LIVE_TRAINING);
    assert_int_equal(now.epoch, 2);
    assert_int_equal(now.global_step, 51);
    assert_near(now.examples_per_second, 50, 0, 0);
    assert_near(now.input_wait, 0.25, 0, 0);
    assert_string_equal(now.names[0], "loss");
    assert_string_equal(now.names[1], "learning_rate");
    liana__live_feed_end(feed);
    assert_int_equal(liana__live_feed_now(feed).state, LIANA__LIVE_ENDED);
    liana__totals_free(&own.totals);
    liana__live_feed_destroy(feed);
    liana__live_feed_destroy(NULL);
}

/* The steps stay in order, and a reader that has some gets all anew. */
static void test_many_points(void **state)
{
    (void)state;
    static liana__live_point points[LIANA__LIVE_MOST_POINTS];
    epoch own;
    bool anew;
    liana__live_place place = {0};
    liana__live_feed *feed = liana__live_feed_create(1);
    begin(&own);
    add(&own, 1, 1);
    double time = 0;
    for (int64_t step = 1; step <= 3 * LIANA__LIVE_MOST_POINTS; step++) {
        const liana__fit_event event = event_of(&own, LIANA__FIT_STEP, 1, step);
        liana__live_feed_take(feed, &event, NULL, 0, time += 4);
        if (step == 10) assert_int_equal(liana__live_feed_points(feed, &place, points, &anew), 10);
    }
    const size_t count = liana__live_feed_points(feed, &place, points, &anew);
    assert_true(anew);
    assert_compare(count, >, LIANA__LIVE_MOST_POINTS / 2);
    assert_compare(count, <=, LIANA__LIVE_MOST_POINTS);
    for (size_t i = 1; i < count; i++) assert_compare(points[i].step, >, points[i - 1].step);
    assert_compare(points[count - 1].step, >, 3 * LIANA__LIVE_MOST_POINTS - 8);
    liana__totals_free(&own.totals);
    liana__live_feed_destroy(feed);
}

/* ---- pauses ---- */

static atomic_bool caught;

static bool is_caught(void)
{
    return caught;
}

static void *ask_soon(void *user)
{
    usleep(100 * 1000);
    liana__live_feed_ask(user, LIANA__LIVE_CHECKPOINT);
    usleep(100 * 1000);
    if (liana__live_feed_now(user).state != LIANA__LIVE_PAUSED) return user;
    liana__live_feed_ask(user, LIANA__LIVE_CONTINUE);
    return NULL;
}

static void *catch_soon(void *user)
{
    (void)user;
    usleep(100 * 1000);
    caught = true;
    return NULL;
}

static void test_pauses(void **state)
{
    (void)state;
    pthread_t other;
    void *failed;
    liana__live_feed *feed = liana__live_feed_create(1);
    assert_near(liana__live_feed_wait(feed, is_caught), 0, 0, 0);
    liana__live_feed_ask(feed, LIANA__LIVE_PAUSE);
    assert_int_equal(pthread_create(&other, NULL, ask_soon, feed), 0);
    assert_compare(liana__live_feed_wait(feed, is_caught), >, 0.15);
    pthread_join(other, &failed);
    assert_null(failed);
    assert_true(liana__live_feed_saves(feed));
    assert_false(liana__live_feed_saves(feed));
    assert_near(liana__live_feed_wait(feed, is_caught), 0, 0, 0);
    /* A signal ends it, and so does a stop. */
    liana__live_feed_ask(feed, LIANA__LIVE_PAUSE);
    assert_int_equal(pthread_create(&other, NULL, catch_soon, NULL), 0);
    assert_compare(liana__live_feed_wait(feed, is_caught), >, 0);
    pthread_join(other, NULL);
    assert_false(liana__live_feed_stops(feed));
    liana__live_feed_ask(feed, LIANA__LIVE_STOP);
    assert_true(liana__live_feed_stops(feed));
    assert_near(liana__live_feed_wait(feed, is_caught), 0, 0, 0);
    liana__live_feed_destroy(feed);
}

/* ---- the address ---- */

static void test_addresses(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "{",
                                      "[]",
                                      "{\"port\": 5}",
                                      "{\"port\": 0, \"token\": \"0123456789abcdef0123456789abcdef\"}",
                                      "{\"port\": 70000, \"token\": \"0123456789abcdef0123456789abcdef\"}",
                                      "{\"port\": 80, \"token\": \"0123456789abcdef0123456789abcde/\"}",
                                      "{\"port\": 80, \"token\": \"../../etc\"}",
                                      "{\"port\": \"80\", \"token\": \"0123456789abcdef0123456789abcdef\"}"};
    liana__error error = {0};
    liana__live_place place = {0};
    liana__live_feed *feed = liana__live_feed_create(1);
    liana__test_folder();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        liana__test_write("live.json", bad[i], strlen(bad[i]));
        assert_int_equal(liana__live_address_read(liana__test_path(""), 0).port, 0);
    }
    const liana__live_address address = {.port = 1, .token = "0123456789abcdef0123456789abcdef"};
    assert_ok(liana__live_address_write(liana__test_path(""), 0, &address, &error), &error);
    assert_int_equal(liana__live_address_read(liana__test_path(""), 0).port, 1);
    assert_string_equal(liana__live_address_read(liana__test_path(""), 0).token, address.token);
    assert_false(liana__live_ask_now(&address, &place, feed)); /* nobody listens on port 1 */
    assert_false(liana__live_ask_to(&address, LIANA__LIVE_PAUSE));
    liana__live_address_remove(liana__test_path(""), 0);
    assert_int_equal(liana__live_address_read(liana__test_path(""), 0).port, 0);
    liana__live_feed_destroy(feed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_and_losses),
        cmocka_unit_test(test_many_points),
        cmocka_unit_test(test_pauses),
        cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
