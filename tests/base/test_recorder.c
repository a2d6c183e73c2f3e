/* Rings of events: events come out in the order in which they went in, those without room are counted, and a writer and
 * a reader may work at the same time. */
#include "harness/harness.h"

#include "base/recorder.h"

#include <pthread.h>

static liana__recorder *make(size_t tracks, size_t capacity)
{
    liana__error error = {0};
    liana__recorder *recorder;
    assert_ok(liana__recorder_create(tracks, capacity, &recorder, &error), &error);
    assert_int_equal(liana__recorder_num_tracks(recorder), tracks);
    return recorder;
}

static void add(liana__recorder *recorder, size_t track, uint32_t number)
{
    liana__event event = {.begin = liana__clock(), .kind = LIANA__EVENT_SHARD, .number = number};
    liana__recorder_add(recorder, track, event);
}

static void test_order_and_room(void **state)
{
    (void)state;
    liana__recorder *recorder = make(2, 4);
    liana__event events[8];
    uint32_t next = 0;
    /* Around the ring several times. */
    for (uint32_t round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < 3; i++) add(recorder, 1, 3 * round + i);
        assert_int_equal(liana__recorder_waiting(recorder, 1), 3);
        assert_int_equal(liana__recorder_take(recorder, 1, events, 2), 2);
        assert_int_equal(liana__recorder_take(recorder, 1, events + 2, 8), 1);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(events[i].number, next++);
            assert_int_equal(events[i].kind, LIANA__EVENT_SHARD);
            assert_compare(events[i].end, >=, events[i].begin, i);
            assert_compare(events[i].begin, >, 0, i);
        }
    }
    for (uint32_t i = 0; i < 7; i++) add(recorder, 1, 100 + i);
    assert_int_equal(liana__recorder_dropped(recorder, 1), 3);
    assert_int_equal(liana__recorder_take(recorder, 1, events, 8), 4);
    assert_int_equal(events[3].number, 103);
    assert_int_equal(liana__recorder_waiting(recorder, 0) + liana__recorder_dropped(recorder, 0), 0);
    liana__recorder_destroy(recorder);
    liana__recorder_destroy(NULL);
}

enum { NUM_WRITTEN = 100000 };

static void *write_all(void *recorder)
{
    for (uint32_t i = 0; i < NUM_WRITTEN; i++) add(recorder, 0, i);
    return NULL;
}

static void test_two_threads(void **state)
{
    (void)state;
    liana__recorder *recorder = make(1, 64);
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, write_all, recorder), 0);
    size_t taken = 0;
    int64_t last = -1;
    liana__event events[16];
    while (taken + liana__recorder_dropped(recorder, 0) < NUM_WRITTEN) {
        size_t count = liana__recorder_take(recorder, 0, events, 16);
        for (size_t i = 0; i < count; i++) {
            assert_compare(events[i].number, >, last, i);
            last = events[i].number;
        }
        taken += count;
    }
    pthread_join(writer, NULL);
    assert_int_equal(taken + liana__recorder_dropped(recorder, 0), NUM_WRITTEN);
    assert_compare(taken, >=, 64);
    liana__recorder_destroy(recorder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_room),
        cmocka_unit_test(test_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
