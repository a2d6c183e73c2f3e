/* Deaths of processes of steps whose workers are not in step. A hub decides by the messages where a death is. */
#include "harness/cluster/free_steps.h"
#include "harness/cluster/hub_death.h"

#include "step/shard_list.h"

/* `is_first`: nobody else's gradients are taken before. False: it had done all before. */
static bool run_with_death(const char *strategy, liana__hub_death *dead, bool is_first, size_t workers, size_t servers,
                           liana__cluster_result *results)
{
    liana__cluster_program program = liana__free_program(strategy);
    program.may_fail = program.dies = true;
    program.hub = &dead->hub;
    program.control = (liana__hub_control){.sent = liana__hub_death_sent,
                                           .is_held = is_first ? liana__hub_death_holds_offers : NULL,
                                           .user = dead};
    liana__free_shared = liana__free_usual;
    liana__free_shared.num_steps = 12;
    liana__run_cluster(&program, workers, servers, results);
    if (dead->seen < dead->last || results[dead->rank].status == LIANA_OK) return false;
    for (size_t i = 0; i < workers + servers; i++) {
        if (i == dead->rank) continue;
        if (results[i].status != LIANA_OK) {
            print_error("rank %zu, as rank %zu dies at its %d. message %u: %s\n", i, dead->rank, dead->last, dead->kind,
                        results[i].message);
        }
        assert_int_equal(results[i].status, LIANA_OK);
    }
    liana__free_assert_same(results, workers + servers, dead->rank);
    return true;
}

/* Wherever it dies, the others do its steps: each is applied once, and the weights are those of all of them. */
static void test_others_do_the_steps_of_a_dead_worker(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {LIANA__MESSAGE_REQUEST, LIANA__MESSAGE_REQUEST_DATA, 0};
    int died = 0, taken_over = 0;
    for (size_t servers = 1; servers < 3; servers++) {
        for (int k = 0; k < 18; k++) {
            liana__cluster_result results[LIANA__FREE_PROCESSES];
            const int step = k % 3 == 0 ? 1 : k % 3 == 1 ? 4 : 7;
            liana__hub_death dead = {.rank = 1, .kind = kinds[k % 3], .last = 1 + k / step + (k % 3 == 2 ? 5 * k : 0)};
            if (run_with_death("{name: parameter_server, synchronous: false, max_staleness: 3, pause_steps: 7}", &dead,
                               false, 3, servers, results)) {
                const liana_step_counts *counts = &liana__free_shared.counts[0];
                died++;
                if (counts->partly_used == 0) liana__free_assert_weights(&results[0], 0, LIANA__FREE_BATCH);
                assert_compare(counts->partly_used, <=, servers > 1, servers);
                assert_int_equal(counts->used, liana__free_shared.num_steps);
                assert_int_equal(counts->examples_lost, 0);
                for (int s = 0; s < liana__free_shared.num_steps; s++) {
                    const liana_step_outcome *one = &liana__free_shared.outcomes[0][s];
                    assert_int_equal(one->used, 1);
                    /* The sums of the dead worker have gone with it. */
                    const bool known = one->results.num_examples == LIANA__FREE_BATCH;
                    if (!known) {
                        assert_compare(one->results.num_examples, ==, 0, s);
                        assert_int_equal(s % 3, 1);
                    }
                    assert_compare(one->results.sums[1], ==, known ? liana__free_targets(s, LIANA__FREE_BATCH) : 0, s);
                    taken_over += known && s % 3 == 1 && liana__free_shared.asked_batch[1][s] == 0;
                }
            }
            liana__free_results(results, 3 + servers);
        }
    }
    assert_compare(died, >, 10);
    assert_compare(taken_over, >, 10);
}

/* Before its first gradients were taken: all its examples until the pause are lost, and no update waits for them. */
static void test_nobody_waits_for_the_shares_of_a_dead_worker(void **state)
{
    (void)state;
    for (size_t servers = 1; servers < 3; servers++) {
        for (int last = 1; last <= 3; last++) {
            liana__cluster_result results[LIANA__FREE_PROCESSES];
            liana__leaf_range ranges[3];
            liana__hub_death dead = {.rank = 1, .kind = LIANA__MESSAGE_REQUEST, .last = last};
            assert_true(run_with_death("{name: parameter_server, replicas_to_aggregate: 2, pause_steps: 100}", &dead,
                                       true, 3, servers, results));
            assert_int_equal(liana__share_shards(LIANA__FREE_BATCH / LIANA__FREE_SHARD, 3, ranges, NULL), LIANA_OK);
            const int64_t each = (int64_t)(ranges[1].end - ranges[1].begin) * LIANA__FREE_SHARD;
            assert_int_equal(liana__free_shared.counts[0].examples_lost, each * liana__free_shared.num_steps);
            assert_int_equal(liana__free_shared.counts[0].num_done, liana__free_shared.num_steps);
            const float *values = (const float *)(void *)results[0].weights;
            assert_compare((double)values[LIANA__FREE_FEATURES], ==, liana__free_shared.num_steps);
            assert_says(results[0].notes, "worker 1 is gone");
            liana__free_results(results, 3 + servers);
        }
    }
}

/* Without the server nothing can be updated: all end, and nobody waits for ever. */
static void test_the_only_server_is_missed(void **state)
{
    (void)state;
    static const char *const ways[] = {"{name: parameter_server, synchronous: false}",
                                       "{name: parameter_server, replicas_to_aggregate: 2}"};
    for (int k = 0; k < 4; k++) {
        liana__cluster_result results[4];
        liana__hub_death dead = {.rank = 3, .kind = LIANA__MESSAGE_REPLY, .last = 1 + 4 * (k / 2)};
        liana__cluster_program program = liana__free_program(ways[k % 2]);
        program.may_fail = program.dies = true;
        program.hub = &dead.hub;
        program.control = (liana__hub_control){.sent = liana__hub_death_sent, .user = &dead};
        liana__free_shared = liana__free_usual;
        liana__run_cluster(&program, 3, 1, results);
        for (size_t i = 0; i < 4; i++) assert_int_equal(results[i].status, LIANA_UNAVAILABLE);
        liana__free_results(results, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others_do_the_steps_of_a_dead_worker),
        cmocka_unit_test(test_nobody_waits_for_the_shares_of_a_dead_worker),
        cmocka_unit_test(test_the_only_server_is_missed),
    };
    liana__test_folder();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
