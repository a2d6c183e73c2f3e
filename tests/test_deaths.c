/* Processes of a cluster die, wherever they are: the others go on, and come to the same bits. */
#include "harness/harness.h"
#include "harness/hub_fit.h"

#include <stdlib.h>

typedef liana__hub_recipe recipe;
typedef liana__hub_result result;

/* A process that dies before its operation `at`. */
typedef struct death {
    size_t rank;
    uint64_t at;
} death;

/* Fits while processes die. Everybody else ends with the bits of `whole`. */
static void assert_survives(const recipe *wanted, size_t num_workers, size_t num_servers, const death *deaths,
                            size_t num_deaths, const result *whole)
{
    result results[LIANA__HUB_PROCESSES];
    bool dies[LIANA__HUB_PROCESSES] = {false};
    liana__hub *hub = liana__hub_create(num_workers, num_servers);
    assert_non_null(hub);
    for (size_t i = 0; i < num_deaths; i++) {
        liana__hub_kill(hub, deaths[i].rank, deaths[i].at);
        dies[deaths[i].rank] = true;
    }
    liana__hub_fit_over(hub, wanted, num_workers, num_servers, results);
    for (size_t i = 0; i < num_workers + num_servers; i++) {
        if (dies[i]) continue;
        if (results[i].status != LIANA_OK) {
            print_error("rank %zu, as rank %zu dies at %llu: %s\n", i, deaths[0].rank, (unsigned long long)deaths[0].at,
                        results[i].message);
        }
        liana__hub_assert_same(whole, &results[i]);
    }
    liana__hub_free_results(results, num_workers + num_servers);
    liana__hub_destroy(hub);
}

/* The operations of each rank where nobody dies. */
static void count_operations(const recipe *wanted, size_t num_workers, size_t num_servers, uint64_t *counts)
{
    result results[LIANA__HUB_PROCESSES];
    liana__hub *hub = liana__hub_create(num_workers, num_servers);
    liana__hub_fit_over(hub, wanted, num_workers, num_servers, results);
    for (size_t i = 0; i < num_workers + num_servers; i++) {
        assert_int_equal(results[i].status, LIANA_OK);
        counts[i] = liana__hub_operations(hub, i);
    }
    liana__hub_free_results(results, num_workers + num_servers);
    liana__hub_destroy(hub);
}

/* One process after the other dies, at every `every`-th of its operations. */
static void assert_survives_everywhere(const recipe *wanted, size_t num_workers, size_t num_servers, uint64_t every)
{
    uint64_t counts[LIANA__HUB_PROCESSES];
    result whole = liana__hub_fit_alone(wanted);
    count_operations(wanted, num_workers, num_servers, counts);
    for (size_t rank = 0; rank < num_workers + num_servers; rank++) {
        /* Another place for each rank. */
        for (uint64_t at = rank % every; at < counts[rank]; at += every) {
            assert_survives(wanted, num_workers, num_servers, &(death){rank, at}, 1, &whole);
        }
    }
    free(whole.weights);
}

static void test_any_of_three_workers(void **state)
{
    (void)state;
    assert_survives_everywhere(&(recipe){.optimizer = "Adam", .epochs = 1, .takes_over = true}, 3, 0, 6);
}

static void test_any_of_two_workers_and_two_servers(void **state)
{
    (void)state;
    assert_survives_everywhere(&(recipe){.optimizer = "Adam", .epochs = 1, .takes_over = true}, 2, 2, 9);
}

static int make_data(void **state)
{
    (void)state;
    liana__hub_make_data();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_of_three_workers),
        cmocka_unit_test(test_any_of_two_workers_and_two_servers),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
