/* One fit has the same bytes under every strategy and on any number of processes (which are threads here): weights,
 * losses and metrics, with all that an update may have. Counters show that each process did its own part only. */
#include "harness/cluster/hub_fit.h"
#include "harness/harness.h"

typedef liana__hub_recipe recipe;
typedef liana__hub_result result;

/* ---- assignment of shards ---- */

typedef struct setting {
    liana__hub_layout layout;
    int64_t num_replicas;
} setting;

static const setting ONE = {{{.name = "one_device"}, 0, 0, 1}, 1};

static const setting SETTINGS[] = {
    {{{.name = "one_device"}, 0, 0, 3}, 1},
    {{{.name = "mirrored", .replicas = 2}, 0, 0, 2}, 2},
    {{{.name = "mirrored", .replicas = 7, .threads = 1}, 0, 0, 1}, 7},
    {{{.name = "multi_worker"}, 1, 0, 2}, 1},
    {{{.name = "multi_worker"}, 2, 0, 1}, 2},
    {{{.name = "multi_worker"}, 3, 0, 1}, 3},
    {{{.name = "multi_worker"}, 4, 0, 1}, 4},
    {{{.name = "multi_worker"}, 7, 0, 1}, 7},
    {{{.name = "multi_worker", .replicas = 2, .threads = 1}, 1, 0, 1}, 2},
    {{{.name = "multi_worker", .replicas = 2, .threads = 1}, 3, 0, 1}, 6},
    {{{.name = "multi_worker", .replicas = 3, .threads = 1}, 2, 0, 1}, 6},
    {{{.name = "parameter_server"}, 1, 1, 1}, 1},
    {{{.name = "parameter_server"}, 2, 2, 1}, 2},
    {{{.name = "parameter_server"}, 3, 1, 1}, 3},
    {{{.name = "parameter_server"}, 4, 3, 1}, 4},
    {{{.name = "parameter_server"}, 7, 2, 1}, 7},
    {{{.name = "parameter_server", .replicas = 2, .threads = 1}, 2, 1, 1}, 4},
};
enum { NUM_SETTINGS = sizeof SETTINGS / sizeof *SETTINGS };

/* Results by rank. */
static size_t run(const recipe *wanted, const setting *chosen, result *results)
{
    const size_t count = liana__hub_fit_as(wanted, &chosen->layout, results);
    for (size_t i = 0; i < count; i++) {
        if (results[i].status != LIANA_OK) {
            print_error("%s, %zu workers, process %zu: %s\n", chosen->layout.strategy.name, chosen->layout.num_workers,
                        i, results[i].message);
        }
        assert_int_equal(results[i].status, LIANA_OK);
        assert_int_equal(results[i].num_replicas, chosen->num_replicas);
    }
    return count;
}

/* ---- the tests ---- */

/* 78 of 90 records can be used, so the last update of an epoch is partial, and shards are missing or small. An update
 * accumulates up to eight shards, or two: then most processes have none. */
static void test_every_strategy_ends_in_the_same_bytes(void **state)
{
    (void)state;
    static const char lamb[] = "{name: Lamb, learning_rate: 0.01, global_clipnorm: 0.1}";
    const recipe recipes[] = {
        {.training = liana__hub_odd, .optimizer = lamb, .microbatch = 4, .skips_bad_records = true},
        {.training = liana__hub_odd, .optimizer = lamb, .microbatch = 16, .skips_bad_records = true},
        {.training = liana__hub_sampled,
         .optimizer = "{name: Adam, amsgrad: true, clipnorm: 0.05}",
         .augment = "[random_flip, {mixup: {alpha: 0.3}}]"},
    };
    for (size_t k = 0; k < sizeof recipes / sizeof *recipes; k++) {
        recipe wanted = recipes[k];
        wanted.metrics[0] = "accuracy";
        wanted.metrics[1] = "AUC";
        result alone, results[LIANA__HUB_PROCESSES];
        run(&wanted, &ONE, &alone);
        assert_int_equal(alone.num_epochs, 2);
        assert_compare(alone.epochs[0].training.loss, >, 0);
        assert_compare(alone.epochs[1].validation.metrics[1], >, 0);
        for (size_t i = 0; i < NUM_SETTINGS; i++) {
            const size_t count = run(&wanted, &SETTINGS[i], results);
            for (size_t rank = 0; rank < count; rank++) liana__hub_assert_same(&alone, &results[rank]);
            liana__hub_free_results(results, count);
        }
        liana__hub_free_results(&alone, 1);
    }
}

/* Each example is made by one process, each shard is computed once, and servers hold what workers do not. */
static void assert_parts(const liana__hub_layout *layout, const result *results, size_t count)
{
    const liana__made_examples *made[LIANA__HUB_PROCESSES];
    uint64_t leaves = 0;
    for (size_t rank = 0; rank < count; rank++) {
        const liana__cluster_counters *counters = &results[rank].counters;
        const bool works = rank < layout->num_workers;
        made[rank] = &results[rank].made;
        leaves += counters->shards_computed;
        if (works)
            assert_compare(counters->shards_computed, >, 0, rank);
        else
            assert_int_equal(counters->shards_computed, 0);
        if (works && layout->num_servers) assert_int_equal(counters->slot_bytes, 0);
        if (!works) assert_compare(counters->slot_bytes, >, 0);
    }
    liana__assert_made_by_one(made, count, LIANA__HUB_COUNT);
    /* Updates of 32, 32 and 26 examples, and 45 of validation in batches of 32. */
    assert_int_equal(leaves, 2 * (8 + 8 + 7 + 8 + 4));
}

static void test_each_process_does_its_own_part(void **state)
{
    (void)state;
    const recipe counted = {.optimizer = "{name: Lamb, learning_rate: 0.01, global_clipnorm: 0.1}",
                            .metrics = {"accuracy", "AUC"},
                            .keeps_order = true,
                            .counts = true};
    result alone, results[LIANA__HUB_PROCESSES];
    run(&counted, &ONE, &alone);
    for (size_t i = 0; i < NUM_SETTINGS; i++) {
        if (!SETTINGS[i].layout.num_workers) continue;
        const size_t count = run(&counted, &SETTINGS[i], results);
        for (size_t rank = 0; rank < count; rank++) liana__hub_assert_same(&alone, &results[rank]);
        assert_parts(&SETTINGS[i].layout, results, count);
        liana__hub_free_results(results, count);
    }
    liana__hub_free_results(&alone, 1);
}

static int make_data(void **state)
{
    (void)state;
    liana__hub_make_data();
    liana__hub_make_odd_data();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_strategy_ends_in_the_same_bytes),
        cmocka_unit_test(test_each_process_does_its_own_part),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
