/* Trainings in several processes, which are threads here: the same bits as in one, for all owners of shards and
 * slices. */
#include "harness/cluster/hub_fit.h"
#include "harness/command_run.h"

#include "base/file.h"
#include "train/checkpoint/checkpoint.h"

#include <stdlib.h>

typedef liana__hub_recipe recipe;
typedef liana__hub_result result;

/* ---- the tests ---- */

static const recipe ADAM = {.optimizer = "Adam"};

static void test_two_workers_give_the_bits_of_one_process(void **state)
{
    (void)state;
    liana__hub_assert_same_on(&ADAM, 2, 0);
}

static void test_any_number_of_workers(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 3, 4, 7};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) liana__hub_assert_same_on(&ADAM, counts[i], 0);
    /* More than there are shards: some have none. */
    liana__hub_assert_same_on(&(recipe){.optimizer = "Adam", .microbatch = 16}, 7, 0);
}

static void test_parameter_servers(void **state)
{
    (void)state;
    static const size_t counts[][2] = {{1, 1}, {2, 1}, {3, 2}, {2, 3}, {4, 2}, {7, 2}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        liana__hub_assert_same_on(&ADAM, counts[i][0], counts[i][1]);
}

/* Sums that an update reads, over a variable and over all; values that only owners hold; a rate that follows the
 * training; metrics of a whole epoch; a fit that ends in the middle of an epoch. */
static void test_what_updates_read(void **state)
{
    (void)state;
    static const recipe recipes[] = {
        {.optimizer = "{name: Adam, global_clipnorm: 0.1}"},
        {.optimizer = "{name: SGD, momentum: 0.9, clipnorm: 0.05}"},
        {.optimizer = "{name: Lamb, learning_rate: 0.01}"},
        {.optimizer = "{name: Lamb, learning_rate: 0.01, global_clipnorm: 0.1}"},
        {.optimizer = "{name: SGD, learning_rate: {online: hypergradient, initial_learning_rate: 0.02}}"},
        {.optimizer = "{name: Adam, use_ema: true}"},
        {.optimizer = "{name: Adam, amsgrad: true}", .metrics = {"accuracy", "AUC"}},
        {.optimizer = "{name: RMSprop, centered: true, momentum: 0.5}", .steps = 4},
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        liana__hub_assert_same_on(&recipes[i], 3, 0);
        liana__hub_assert_same_on(&recipes[i], 2, 2);
    }
}

/* Sums and weights go from and to devices by way of the host where these have memory of their own. */
static void test_devices_with_memory_of_their_own(void **state)
{
    (void)state;
    static const recipe recipes[] = {
        {.optimizer = "Adam", .device = "reference", .epochs = 1},
        {.optimizer = "{name: Lamb, learning_rate: 0.01}", .device = "reference", .epochs = 1},
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        liana__hub_assert_same_on(&recipes[i], 2, 0);
        liana__hub_assert_same_on(&recipes[i], 3, 2);
    }
}

/* Mixed examples, early ends that put the best weights back, stages with other optimizers. */
static void test_what_else_happens_in_a_fit(void **state)
{
    (void)state;
    static const recipe recipes[] = {
        {.optimizer = "Adam", .augment = "[random_flip, {mixup: {alpha: 0.3}}]"},
        {.optimizer = "Adam", .epochs = 4, .callbacks = "[EarlyStopping: {patience: 1, restore_best_weights: true}]"},
        {.stages = "[{epochs: 1, trainable_from: dense}, {epochs: 1, optimizer: {name: SGD, momentum: 0.9}}]"},
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        liana__hub_assert_same_on(&recipes[i], 3, 0);
        liana__hub_assert_same_on(&recipes[i], 2, 1);
    }
}

/* Records that cannot be used leave gaps: a shard without any example is no leaf of the tree, and a worker may have
 * none. Classes that are drawn more often than others. */
static void test_gaps_and_draws(void **state)
{
    (void)state;
    const recipe recipes[] = {
        {.optimizer = "Adam", .training = liana__hub_odd, .skips_bad_records = true, .keeps_order = true},
        {.optimizer = "Adam", .training = liana__hub_odd, .skips_bad_records = true},
        {.optimizer = "Adam",
         .training = liana__hub_odd,
         .skips_bad_records = true,
         .keeps_order = true,
         .microbatch = 16},
        {.optimizer = "Adam", .training = liana__hub_sampled},
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        liana__hub_assert_same_on(&recipes[i], 2, 0);
        liana__hub_assert_same_on(&recipes[i], 3, 2);
        liana__hub_assert_same_on(&recipes[i], 7, 0);
    }
}

/* A record that one worker cannot read ends the fit on all, with the message of the one. */
static void test_an_error_of_one_is_that_of_all(void **state)
{
    (void)state;
    const recipe wanted = {.optimizer = "Adam", .training = liana__hub_odd, .keeps_order = true};
    result results[LIANA__HUB_PROCESSES];
    liana__hub_fit(&wanted, 3, 1, results);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(results[i].status, results[0].status);
        assert_int_not_equal(results[i].status, LIANA_OK);
        assert_says(results[i].message, "odd");
    }
    liana__hub_free_results(results, 4);
}

/* All processes find that a step has gone bad, and do the same about it. */
static void test_bad_numbers_of_all(void **state)
{
    (void)state;
    static const char diverging[] = "{name: SGD, learning_rate: 1.0e+25}";
    const recipe restores = {.optimizer = diverging, .on_bad_numbers = LIANA_ON_BAD_NUMBERS_RESTORE};
    liana__hub_assert_same_on(&restores, 3, 0);
    liana__hub_assert_same_on(&restores, 2, 1);
    result results[LIANA__HUB_PROCESSES];
    liana__hub_fit(&(recipe){.optimizer = diverging}, 3, 1, results);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(results[i].status, LIANA_OUT_OF_RANGE);
        assert_string_equal(results[i].message, results[0].message);
    }
    liana__hub_free_results(results, 4);
}

/* ---- checkpoints ---- */

static const char *newest(const char *folder, const char *file)
{
    static char paths[4][640];
    static size_t next;
    liana__arena arena = {0};
    liana__error error = {0};
    const char *path = NULL;
    assert_ok(liana__checkpoint_newest(folder, &arena, &path, &error), &error);
    assert_non_null(path);
    char *found = paths[next++ % 4];
    snprintf(found, sizeof paths[0], "%s/%s", path, file);
    liana__arena_free(&arena);
    return found;
}

/* State and variables, but for the times in the history. */
static void assert_same_checkpoint(const char *a, const char *b)
{
    assert_same_file(newest(a, "variables.safetensors"), newest(b, "variables.safetensors"));
}

/* The chief alone writes; the others have no folder. */
static void test_checkpoints_are_those_of_one_process(void **state)
{
    (void)state;
    char alone[512], shared[512];
    snprintf(alone, sizeof alone, "%s", liana__test_path("alone"));
    snprintf(shared, sizeof shared, "%s", liana__test_path("shared"));
    const recipe one = {.optimizer = "{name: Adam, use_ema: true}", .checkpoints = alone, .checkpoint_steps = 1};
    recipe several = one;
    several.checkpoints = shared;
    result results[LIANA__HUB_PROCESSES], whole = liana__hub_fit_alone(&one);
    liana__hub_fit(&several, 2, 2, results);
    for (size_t i = 0; i < 4; i++) liana__hub_assert_same(&whole, &results[i]);
    assert_same_checkpoint(alone, shared);
    liana__hub_free_results(results, 4);
    free(whole.weights);
}

/* A file that the chief cannot write ends the fit on all; nobody waits for values that it did not ask for. */
static void test_a_failing_save_is_that_of_all(void **state)
{
    (void)state;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_path("broken"));
    const recipe wanted = {.optimizer = "Adam", .checkpoints = folder, .checkpoint_steps = 1, .breaks_folder = true};
    result results[LIANA__HUB_PROCESSES];
    liana__hub_fit(&wanted, 3, 0, results);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(results[i].status, results[0].status);
        assert_int_not_equal(results[i].status, LIANA_OK);
        assert_says(results[i].message, "broken");
    }
    liana__hub_free_results(results, 3);
}

/* Three workers begin, in the middle of an epoch two workers and a server go on, one process ends it. */
static void test_a_fit_goes_on_in_any_number_of_processes(void **state)
{
    (void)state;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_path("goes_on"));
    const recipe whole = {.optimizer = "Lamb", .epochs = 3};
    recipe part = {.optimizer = "Lamb", .epochs = 3, .steps = 2, .checkpoints = folder};
    result results[LIANA__HUB_PROCESSES], alone = liana__hub_fit_alone(&whole);
    liana__hub_fit(&part, 3, 0, results);
    for (size_t i = 0; i < 3; i++) assert_int_equal(results[i].status, LIANA_OK);
    liana__hub_free_results(results, 3);
    part.resume = true;
    part.steps = 5;
    liana__hub_fit(&part, 2, 1, results);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(results[i].status, LIANA_OK);
        assert_int_equal(results[i].counters.updates, 3);
    }
    liana__hub_free_results(results, 3);
    part.steps = 0;
    result end = liana__hub_fit_alone(&part);
    assert_int_equal(end.size, alone.size);
    assert_memory_equal(end.weights, alone.weights, alone.size);
    free(end.weights);
    free(alone.weights);
}

/* Two slots of each weight that is trained, held once in the cluster. */
static uint64_t adam_slots(const result *results, size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) total += results[i].counters.slot_bytes;
    return total;
}

/* 8 shards of the update, and 12 of the validation: 45 images in batches of 32. */
static void test_each_worker_computes_its_leaves_only(void **state)
{
    (void)state;
    result results[LIANA__HUB_PROCESSES];
    const recipe wanted = {.optimizer = "Adam", .epochs = 1, .steps = 1};
    liana__hub_fit(&wanted, 4, 0, results);
    const size_t averages = 2 * 8 * sizeof(float), trained = results[0].size - averages;
    assert_int_equal(adam_slots(results, 4), 2 * trained);
    for (size_t i = 0; i < 4; i++) {
        const liana__cluster_counters *counters = &results[i].counters;
        assert_int_equal(counters->updates, 1);
        assert_int_equal(counters->shards_computed, 2 + 3);
        /* A quarter each, as far as chunks of 4,096 elements allow it. */
        assert_in_range(counters->slot_bytes, 1, trained / 2 + 2 * 4096 * sizeof(float));
    }
    liana__hub_free_results(results, 4);
}

static void test_workers_of_servers_hold_no_slots(void **state)
{
    (void)state;
    result results[LIANA__HUB_PROCESSES];
    const recipe wanted = {.optimizer = "Adam", .epochs = 1, .steps = 1};
    liana__hub_fit(&wanted, 2, 2, results);
    const size_t averages = 2 * 8 * sizeof(float), trained = results[0].size - averages;
    for (size_t i = 0; i < 4; i++) {
        const liana__cluster_counters *counters = &results[i].counters;
        assert_int_equal(counters->shards_computed, i < 2 ? 4 + 6 : 0);
        if (i < 2)
            assert_int_equal(counters->slot_bytes, 0);
        else
            assert_compare(counters->slot_bytes, >, 0, i);
    }
    assert_int_equal(adam_slots(results, 4), 2 * trained);
    liana__hub_free_results(results, 4);
}

static void test_a_loop_of_ones_own(void **state)
{
    (void)state;
    static const recipe steps = {.is_step = true};
    liana__hub_assert_same_on(&steps, 2, 0);
    liana__hub_assert_same_on(&steps, 7, 0);
    liana__hub_assert_same_on(&steps, 3, 2);
}

/* The copies of slices. */
typedef enum mirrors { NO_MIRRORS, MIRRORS, DOUBTED_MIRRORS } mirrors;

static void fit_with_mirrors(mirrors kind, const recipe *wanted, size_t num_workers, result *results)
{
    liana__hub *hub = liana__hub_create(num_workers, 0);
    liana__hub_set(hub, true, kind != NO_MIRRORS);
    liana__hub_fit_over(hub, wanted, num_workers, 0, results);
    liana__hub_destroy(hub);
}

/* Of the second update, without validation: a ring's messages. A mirror gets a slice of the sums, and no new weights of
 * that slice; it gets both where it may compute other bits. */
static void assert_traffic(mirrors kind)
{
    static const size_t counts[] = {2, 4};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        result one[LIANA__HUB_PROCESSES], two[LIANA__HUB_PROCESSES];
        recipe wanted = {
            .optimizer = "Adam", .epochs = 1, .steps = 1, .is_wide = true, .doubts_mirrors = kind == DOUBTED_MIRRORS};
        fit_with_mirrors(kind, &wanted, counts[k], one);
        wanted.steps = 2;
        fit_with_mirrors(kind, &wanted, counts[k], two);
        const double size = (double)one[0].size, workers = (double)counts[k];
        for (size_t i = 0; i < counts[k]; i++) {
            const double sent =
                (double)two[i].counters.transport.bytes_sent - (double)one[i].counters.transport.bytes_sent;
            const double expected = (2 * (workers - 1) + (kind == DOUBTED_MIRRORS)) / workers * size;
            assert_compare(sent, >, 0.95 * expected);
            assert_compare(sent, <=, 1.05 * expected);
        }
        liana__hub_free_results(one, counts[k]);
        liana__hub_free_results(two, counts[k]);
    }
}

static void test_traffic_is_that_of_a_ring(void **state)
{
    (void)state;
    assert_traffic(NO_MIRRORS);
    assert_traffic(MIRRORS);
}

static void test_what_doubted_mirrors_add_to_the_traffic(void **state)
{
    (void)state;
    assert_traffic(DOUBTED_MIRRORS);
}

/* The last layer's gradients are there first: workers that do not own them send them while the first layer's are
 * computed. */
static void test_sums_are_sent_while_others_are_computed(void **state)
{
    (void)state;
    enum { LAST_KERNEL = 3000 * LIANA__TINY_CLASSES * 4 };
    result alone, results[LIANA__HUB_PROCESSES];
    const recipe wanted = {.optimizer = "Adam", .epochs = 1, .steps = 2, .is_wide = true};
    alone = liana__hub_fit_alone(&wanted);
    liana__hub_fit(&wanted, 2, 0, results);
    for (size_t i = 0; i < 2; i++) {
        liana__hub_assert_same(&alone, &results[i]);
        assert_compare(results[i].counters.sent_early, <, results[i].counters.transport.bytes_sent, i);
    }
    /* In each of two updates at least the last layer's kernel. */
    assert_compare(results[0].counters.sent_early, >=, 2 * LAST_KERNEL);
    liana__hub_free_results(results, 2);
    free(alone.weights);
}

/* So does a worker whose shards are computed by two devices; their sums meet before. */
static void test_sums_of_several_devices_are_sent_early_too(void **state)
{
    (void)state;
    enum { LAST_KERNEL = 3000 * LIANA__TINY_CLASSES * 4 };
    result alone, results[LIANA__HUB_PROCESSES];
    const recipe wanted = {.optimizer = "Adam", .epochs = 1, .steps = 2, .is_wide = true};
    const liana__hub_layout layouts[] = {{{.name = "multi_worker", .replicas = 2}, 2, 0, 1},
                                         {{.name = "multi_worker", .replicas = 3}, 3, 0, 1},
                                         {{.name = "parameter_server", .replicas = 2}, 2, 1, 1}};
    alone = liana__hub_fit_alone(&wanted);
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
        const size_t count = liana__hub_fit_as(&wanted, &layouts[k], results);
        for (size_t i = 0; i < count; i++) {
            liana__hub_assert_same(&alone, &results[i]);
            assert_compare(results[i].counters.sent_early, <, results[i].counters.transport.bytes_sent, i);
        }
        assert_compare(results[0].counters.sent_early, >=, 2 * LAST_KERNEL);
        liana__hub_free_results(results, count);
    }
    free(alone.weights);
}

static int make_data(void **state)
{
    (void)state;
    liana__hub_make_data();
    liana__hub_make_odd_data();
    return 0;
}

/* ---- estimators ---- */

static void test_estimators_need_a_folder_that_all_reach(void **state)
{
    (void)state;
    result results[LIANA__HUB_PROCESSES];
    const recipe wanted = {.optimizer = "Adam", .epochs = 1, .is_estimator = true, .lacks_folder = true};
    liana__hub_fit(&wanted, 2, 0, results);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(results[i].status, LIANA_INVALID_ARGUMENT);
        assert_says(results[i].message, "set config.model_dir to a folder that all of them reach");
        free(results[i].weights);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_workers_give_the_bits_of_one_process),
        cmocka_unit_test(test_any_number_of_workers),
        cmocka_unit_test(test_parameter_servers),
        cmocka_unit_test(test_what_updates_read),
        cmocka_unit_test(test_devices_with_memory_of_their_own),
        cmocka_unit_test(test_what_else_happens_in_a_fit),
        cmocka_unit_test(test_gaps_and_draws),
        cmocka_unit_test(test_an_error_of_one_is_that_of_all),
        cmocka_unit_test(test_bad_numbers_of_all),
        cmocka_unit_test(test_checkpoints_are_those_of_one_process),
        cmocka_unit_test(test_a_failing_save_is_that_of_all),
        cmocka_unit_test(test_a_fit_goes_on_in_any_number_of_processes),
        cmocka_unit_test(test_a_loop_of_ones_own),
        cmocka_unit_test(test_traffic_is_that_of_a_ring),
        cmocka_unit_test(test_sums_are_sent_while_others_are_computed),
        cmocka_unit_test(test_sums_of_several_devices_are_sent_early_too),
        cmocka_unit_test(test_what_doubted_mirrors_add_to_the_traffic),
        cmocka_unit_test(test_each_worker_computes_its_leaves_only),
        cmocka_unit_test(test_workers_of_servers_hold_no_slots),
        cmocka_unit_test(test_estimators_need_a_folder_that_all_reach),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
