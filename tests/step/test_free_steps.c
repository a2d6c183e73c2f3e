/* Steps of one's own whose workers are not in step (give_batch of liana_step_run). Which worker is slow is decided by a
 * hub that holds messages, and not by the clock. */
#include "harness/cluster/free_hub.h"
#include "harness/cluster/free_steps.h"

#include "step/shard_list.h"

#include <string.h>

/* ---- in step: the bits of a loop ---- */

static void test_in_step_it_is_a_loop(void **state)
{
    (void)state;
    static const struct {
        const char *strategy;
        size_t workers, servers;
        int64_t replicas;
    } layouts[] = {{"one_device", 1, 0, 0},
                   {"mirrored", 1, 0, 3},
                   {"multi_worker", 3, 0, 0},
                   {"parameter_server", 3, 2, 0},
                   {"parameter_server", 1, 1, 2}};
    liana__cluster_result expected[1], results[LIANA__FREE_PROCESSES];
    liana__free_shared = liana__free_usual;
    liana__free_shared.learns = true;
    liana__free_shared.short_step = 7;
    liana__free_shared.optimizer = "{name: SGD, momentum: 0.9}";
    liana__free_run("one_device", 1, 0, 0, true, expected);
    static liana_step_outcome alone[LIANA__FREE_STEPS];
    memcpy(alone, liana__free_shared.outcomes[0], sizeof alone);
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
        const size_t count = layouts[k].workers + layouts[k].servers;
        liana__free_run(layouts[k].strategy, layouts[k].workers, layouts[k].servers, layouts[k].replicas, false,
                        results);
        liana__free_assert_same(results, count, SIZE_MAX);
        assert_int_equal(results[0].size, expected[0].size);
        assert_memory_equal(results[0].weights, expected[0].weights, expected[0].size);
        for (int i = 0; i < liana__free_shared.num_steps; i++) {
            const liana_step_results *got = &liana__free_shared.outcomes[0][i].results;
            assert_compare(got->sums[0], ==, alone[i].results.sums[0], i);
            assert_int_equal(got->num_examples, liana__free_count(i));
        }
        const liana_step_counts *counts = &liana__free_shared.counts[0];
        assert_string_equal(liana__free_shared.first_sum[0], "loss");
        assert_int_equal(counts->num_done, liana__free_shared.num_steps);
        assert_int_equal(counts->used,
                         (int64_t)layouts[k].workers * liana__free_shared.num_steps); /* 3 shards are the fewest */
        assert_int_equal(counts->dropped + counts->skipped + counts->largest_staleness, 0);
        assert_string_equal(liana__free_shared.reason[0], "");
        assert_int_equal(liana__free_shared.position[0],
                         (uint64_t)(liana__free_shared.num_steps * LIANA__FREE_BATCH - LIANA__FREE_BATCH + 5));
        liana__free_results(results, count);
    }
    liana__free_results(expected, 1);
}

/* ---- asynchronous ---- */

/* With one worker nothing is stale: the bits of training in step, with batches that are not full, and with pauses. */
static void test_one_worker_gives_the_synchronous_bits(void **state)
{
    (void)state;
    static const char *const optimizers[] = {"{name: SGD, momentum: 0.9}", "Adam",
                                             "{name: Adam, global_clipnorm: 0.5}"};
    for (size_t k = 0; k < 3; k++) {
        liana__cluster_result in_step[1], results[4];
        liana__free_shared = liana__free_usual;
        liana__free_shared.learns = true;
        liana__free_shared.short_step = 7;
        liana__free_shared.optimizer = optimizers[k];
        liana__free_run("one_device", 1, 0, 0, true, in_step);
        static liana_step_outcome alone[LIANA__FREE_STEPS];
        memcpy(alone, liana__free_shared.outcomes[0], sizeof alone);
        for (size_t servers = 1; servers < 4; servers++) {
            for (int one_by_one = 0; one_by_one < 2; one_by_one++) {
                liana__free_run("{name: parameter_server, synchronous: false, max_staleness: 0, pause_steps: 6}", 1,
                                servers, servers == 2 ? 3 : 0, one_by_one, results);
                for (size_t i = 0; i <= servers; i++) {
                    assert_int_equal(results[i].size, in_step[0].size);
                    assert_memory_equal(results[i].weights, in_step[0].weights, in_step[0].size);
                    for (int s = 0; s < liana__free_shared.num_steps; s++) {
                        assert_compare(liana__free_shared.outcomes[i][s].results.sums[0], ==, alone[s].results.sums[0],
                                       i, s);
                    }
                    assert_int_equal(liana__free_shared.position[i],
                                     (uint64_t)(liana__free_shared.num_steps * LIANA__FREE_BATCH - LIANA__FREE_BATCH +
                                                5));
                }
                liana__free_results(results, 1 + servers);
            }
        }
        liana__free_results(in_step, 1);
    }
}

/* Each worker is asked for its own batches only, and servers for scalars only. Each gradient is applied once. */
static void test_each_gradient_is_used_once(void **state)
{
    (void)state;
    static const size_t counts[][2] = {{2, 1}, {3, 2}, {4, 3}, {7, 1}};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        const size_t workers = counts[k][0], servers = counts[k][1], all = workers + servers;
        liana__cluster_result results[LIANA__FREE_PROCESSES];
        liana__free_shared = liana__free_usual;
        liana__free_shared.short_step = 4;
        liana__free_run("{name: parameter_server, synchronous: false, max_staleness: 3, pause_steps: 9}", workers,
                        servers, 0, false, results);
        liana__free_assert_same(results, all, SIZE_MAX);
        liana__free_assert_weights(&results[0], 0, LIANA__FREE_BATCH);
        for (size_t i = 0; i < all; i++) {
            for (int s = 0; s < liana__free_shared.num_steps; s++) {
                assert_int_equal(liana__free_shared.asked_batch[i][s], i < workers && (size_t)s % workers == i);
                assert_int_equal(liana__free_shared.asked_scalars[i][s], i >= workers);
            }
            assert_int_equal(results[i].counters.updates, i < workers ? 0 : liana__free_shared.num_steps);
        }
        for (int s = 0; s < liana__free_shared.num_steps; s++) {
            const liana_step_outcome *one = &liana__free_shared.outcomes[0][s];
            assert_int_equal(one->used, 1);
            assert_int_equal(one->dropped, 0);
            assert_in_range(one->staleness, 0, 3);
            assert_int_equal(one->results.num_examples, liana__free_count(s));
            assert_compare(one->results.sums[1], ==, liana__free_targets(s, liana__free_count(s)), s);
        }
        const liana_step_counts *sum = &liana__free_shared.counts[all - 1];
        assert_int_equal(sum->num_done, liana__free_shared.num_steps);
        assert_int_equal(sum->computed, liana__free_shared.num_steps);
        assert_int_equal(sum->used, liana__free_shared.num_steps);
        assert_in_range(sum->largest_staleness, 0, 3);
        assert_says(liana__free_shared.reason[all - 1], "asynchronous updates, max_staleness 3");
        assert_says(results[0].notes, "results are not reproducible");
        liana__free_results(results, all);
    }
}

/* A device with memory of its own gets fetched weights by way of the host, and slots at pauses only. */
static void test_devices_with_memory_of_their_own(void **state)
{
    (void)state;
    liana__cluster_result in_step[1], results[LIANA__FREE_PROCESSES];
    liana__free_shared = liana__free_usual;
    liana__free_shared.device = "reference";
    liana__free_shared.learns = true;
    liana__free_shared.optimizer = "Adam";
    liana__free_run("one_device", 1, 0, 0, true, in_step);
    liana__free_run("{name: parameter_server, synchronous: false, max_staleness: 0, pause_steps: 6}", 1, 2, 0, false,
                    results);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(results[i].size, in_step[0].size);
        assert_memory_equal(results[i].weights, in_step[0].weights, in_step[0].size);
    }
    liana__free_results(results, 3);
    liana__free_results(in_step, 1);
    liana__free_shared = liana__free_usual;
    liana__free_shared.device = "reference";
    liana__free_run("{name: parameter_server, synchronous: false, pause_steps: 9}", 3, 2, 0, false, results);
    liana__free_assert_same(results, 5, SIZE_MAX);
    liana__free_assert_weights(&results[0], 0, LIANA__FREE_BATCH);
    liana__free_results(results, 5);
}

/* liana_step_run is a span of one step: the workers take turns. */
static void test_single_steps_take_turns(void **state)
{
    (void)state;
    liana__cluster_result results[5];
    liana__free_shared = liana__free_usual;
    liana__free_shared.num_steps = 6;
    liana__free_run("{name: parameter_server, synchronous: false}", 3, 2, 0, true, results);
    liana__free_assert_same(results, 5, SIZE_MAX);
    liana__free_assert_weights(&results[0], 0, LIANA__FREE_BATCH);
    for (int s = 0; s < liana__free_shared.num_steps; s++) {
        assert_compare(liana__free_shared.outcomes[4][s].results.sums[1], ==, liana__free_targets(s, LIANA__FREE_BATCH),
                       s);
    }
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(results[i].counters.shards_computed, 2 * LIANA__FREE_BATCH / LIANA__FREE_SHARD);
    liana__free_results(results, 5);
}

/* So nothing is stale: the bits of training in step, for any number of workers. */
static void test_single_steps_have_the_synchronous_bits(void **state)
{
    (void)state;
    liana__cluster_result in_step[1], results[5];
    liana__free_shared = liana__free_usual;
    liana__free_shared.learns = true;
    liana__free_shared.short_step = 4;
    liana__free_shared.num_steps = 8;
    liana__free_shared.optimizer = "Adam";
    liana__free_run("one_device", 1, 0, 0, true, in_step);
    liana__free_run("{name: parameter_server, synchronous: false}", 3, 2, 0, true, results);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(results[i].size, in_step[0].size);
        assert_memory_equal(results[i].weights, in_step[0].weights, in_step[0].size);
    }
    liana__free_results(results, 5);
    liana__free_results(in_step, 1);
}

/* ---- slow workers ---- */

/* The bound on staleness is reached and held; and the step whose gradients were stale says so. Variables that only the
 * update reads stay with the server: a worker fetches weights and nothing else. */
static void test_a_slow_worker_comes_to_the_bound(void **state)
{
    (void)state;
    liana__free_course seen = {0};
    liana__cluster_result results[3];
    liana__cluster_program program =
        liana__free_program("{name: parameter_server, synchronous: false, max_staleness: 6, pause_steps: 20}");
    program.control = (liana__hub_control){liana__free_note_message, liana__free_holds_second, &seen};
    liana__free_shared = liana__free_usual;
    liana__run_cluster(&program, 2, 1, results);
    liana__free_assert_same(results, 3, SIZE_MAX);
    liana__free_assert_weights(&results[0], 0, LIANA__FREE_BATCH);
    assert_int_equal(liana__free_shared.counts[0].largest_staleness, 6);
    assert_int_equal(liana__free_shared.outcomes[0][1].staleness, 6);
    assert_compare(liana__free_shared.counts[0].mean_staleness, >, 0);
    assert_int_equal(seen.largest_fetch, LIANA__FREE_FEATURES * sizeof(float));
    liana__free_results(results, 3);
}

static void test_slots_stay_with_the_server(void **state)
{
    (void)state;
    liana__free_course seen = {0};
    liana__cluster_result results[3];
    liana__cluster_program program = liana__free_program("{name: parameter_server, synchronous: false}");
    program.control = (liana__hub_control){liana__free_note_message, NULL, &seen};
    liana__free_shared = liana__free_usual;
    liana__free_shared.learns = true;
    liana__free_shared.optimizer = "Adam";
    liana__run_cluster(&program, 2, 1, results);
    liana__free_assert_same(results, 3, SIZE_MAX);
    assert_compare(results[0].size, >=,
                   (3 * LIANA__FREE_FEATURES + 2) * sizeof(float)); /* weights, two slots, two counters */
    assert_int_equal(seen.largest_fetch, LIANA__FREE_FEATURES * sizeof(float));
    liana__free_results(results, 3);
}

/* ---- the first gradients ---- */

/* The mean is over the examples that were used: those of the first two of three workers. */
static void test_late_gradients_are_dropped(void **state)
{
    (void)state;
    for (int one_by_one = 0; one_by_one < 2; one_by_one++) {
        liana__free_course seen = {0};
        liana__cluster_result results[5];
        liana__leaf_range ranges[3];
        liana__cluster_program program = liana__free_program("{name: parameter_server, replicas_to_aggregate: 2}");
        program.control = (liana__hub_control){liana__free_note_message, liana__free_holds_last, &seen};
        liana__free_shared = liana__free_usual;
        liana__free_shared.num_steps = 1;
        liana__free_shared.one_by_one = one_by_one;
        liana__run_cluster(&program, 3, 2, results);
        assert_int_equal(liana__share_shards(LIANA__FREE_BATCH / LIANA__FREE_SHARD, 3, ranges, NULL), LIANA_OK);
        const size_t used = ranges[1].end * LIANA__FREE_SHARD;
        assert_compare(used, <, LIANA__FREE_BATCH);
        assert_compare(used, >, 0);
        liana__free_assert_same(results, 5, SIZE_MAX);
        liana__free_assert_weights(&results[3], 0, used);
        const liana_step_outcome *one = &liana__free_shared.outcomes[4][0];
        assert_int_equal(one->results.num_examples, used);
        assert_compare(one->results.sums[1], ==, liana__free_targets(0, (int64_t)used));
        assert_int_equal(liana__free_shared.position[4], LIANA__FREE_BATCH);
        if (!one_by_one) {
            assert_int_equal(one->used, 2);
            assert_int_equal(one->dropped, 1);
            assert_int_equal(liana__free_shared.counts[0].used, 2);
            assert_int_equal(liana__free_shared.counts[0].dropped, 1);
            assert_says(liana__free_shared.reason[4], "the first 2 of 3 workers");
        }
        liana__free_results(results, 5);
    }
}

/* Every share of every update is used, late, or not begun; and as many are used as was asked for. */
static void test_all_shares_are_counted(void **state)
{
    (void)state;
    liana__cluster_result results[LIANA__FREE_PROCESSES];
    liana__free_shared = liana__free_usual;
    liana__free_run("{name: parameter_server, replicas_to_aggregate: 3, pause_steps: 8}", 4, 2, 0, false, results);
    liana__free_assert_same(results, 6, SIZE_MAX);
    const liana_step_counts *counts = &liana__free_shared.counts[0];
    int64_t dropped = 0, examples = 0;
    for (int s = 0; s < liana__free_shared.num_steps; s++) {
        assert_int_equal(liana__free_shared.outcomes[0][s].used, 3);
        assert_int_equal(liana__free_shared.outcomes[0][s].results.num_examples, 3 * LIANA__FREE_BATCH / 4);
        dropped += liana__free_shared.outcomes[0][s].dropped;
        examples += liana__free_shared.outcomes[0][s].results.num_examples;
    }
    assert_int_equal(counts->used, 3 * liana__free_shared.num_steps);
    assert_int_equal(counts->dropped, dropped);
    assert_int_equal(counts->dropped + counts->skipped, liana__free_shared.num_steps);
    assert_int_equal(counts->computed, counts->used + counts->dropped);
    const float *values = (const float *)(void *)results[0].weights;
    assert_compare((double)values[LIANA__FREE_FEATURES], ==, liana__free_shared.num_steps);
    assert_compare((double)values[LIANA__FREE_FEATURES + 1], ==, (double)examples);
    liana__free_results(results, 6);
}

/* ---- what fails, fails on all ---- */

static void assert_all_fail(const char *strategy, size_t workers, size_t servers, liana_status status, const char *text)
{
    liana__cluster_result results[LIANA__FREE_PROCESSES];
    liana__cluster_program program = liana__free_program(strategy);
    program.may_fail = true;
    liana__run_cluster(&program, workers, servers, results);
    for (size_t i = 0; i < workers + servers; i++) {
        const bool says = strstr(results[i].message, text) != NULL;
        if (!says) print_error("%s, process %zu, expected '%s': %s\n", strategy, i, text, results[i].message);
        assert_true(says);
        assert_int_equal(results[i].status, status);
    }
    liana__free_results(results, workers + servers);
}

static void test_failures_are_those_of_all(void **state)
{
    (void)state;
    static const char *const ways[] = {"parameter_server", "{name: parameter_server, synchronous: false}",
                                       "{name: parameter_server, replicas_to_aggregate: 2}"};
    for (size_t k = 0; k < 3; k++) {
        liana__free_shared = liana__free_usual;
        liana__free_shared.bad_batch = 5;
        assert_all_fail(ways[k], 3, 2, LIANA_NOT_FOUND, "gives the batch of step 5: ");
        assert_all_fail(ways[k], 3, 2, LIANA_NOT_FOUND, "there is no such file");
        liana__free_shared = liana__free_usual;
        liana__free_shared.bad_scalars = 3;
        assert_all_fail(ways[k], 3, 2, LIANA_NOT_FOUND, "gives the scalars of update 3");
        liana__free_shared = liana__free_usual;
        liana__free_shared.bad_numbers = 4;
        assert_all_fail(ways[k], 3, 2, LIANA_OUT_OF_RANGE, "the sum 'loss' is nan");
        liana__free_shared.hides_loss = true;
        assert_all_fail(ways[k], 3, 2, LIANA_OUT_OF_RANGE, "'weight'");
        liana__free_shared = liana__free_usual;
        liana__free_shared.scalars_in_batch = true;
        assert_all_fail(ways[k], 3, 2, LIANA_INVALID_ARGUMENT, "has the scalar 'rate'");
    }
}

/* ---- batches by replica ---- */

static void test_batches_by_replica(void **state)
{
    (void)state;
    liana__free_course seen = {0};
    liana__cluster_result results[5];
    liana__leaf_range ranges[3];
    liana__cluster_program program = liana__free_program("{name: parameter_server, replicas_to_aggregate: 2}");
    program.run = liana__free_run_replicas;
    program.control = (liana__hub_control){liana__free_note_message, liana__free_holds_last, &seen};
    liana__free_shared = liana__free_usual;
    liana__free_shared.num_steps = 1;
    liana__run_cluster(&program, 3, 2, results);
    assert_int_equal(liana__share_shards(LIANA__FREE_BATCH / LIANA__FREE_SHARD, 3, ranges, NULL), LIANA_OK);
    for (size_t i = 0; i < 5; i++) liana__free_assert_weights(&results[i], 0, ranges[1].end * LIANA__FREE_SHARD);
    liana__free_results(results, 5);
    program = liana__free_program("{name: parameter_server, synchronous: false}");
    program.run = liana__free_run_replicas;
    program.may_fail = true;
    liana__run_cluster(&program, 2, 1, results);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(results[i].status, LIANA_INVALID_ARGUMENT);
        assert_says(results[i].message, "give arrays or an element");
    }
    liana__free_results(results, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_step_it_is_a_loop),
        cmocka_unit_test(test_one_worker_gives_the_synchronous_bits),
        cmocka_unit_test(test_each_gradient_is_used_once),
        cmocka_unit_test(test_devices_with_memory_of_their_own),
        cmocka_unit_test(test_single_steps_take_turns),
        cmocka_unit_test(test_single_steps_have_the_synchronous_bits),
        cmocka_unit_test(test_a_slow_worker_comes_to_the_bound),
        cmocka_unit_test(test_slots_stay_with_the_server),
        cmocka_unit_test(test_late_gradients_are_dropped),
        cmocka_unit_test(test_all_shares_are_counted),
        cmocka_unit_test(test_failures_are_those_of_all),
        cmocka_unit_test(test_batches_by_replica),
    };
    liana__test_folder();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
