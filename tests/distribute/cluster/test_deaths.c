/* Processes of a cluster die, wherever they are: the others go on, and come to the same bits. */
#include "harness/cluster/hub_fit.h"
#include "harness/harness.h"

#include <stdlib.h>
#include <string.h>

typedef liana__hub_recipe recipe;
typedef liana__hub_result result;

/* A process that dies before its operation `at`. */
typedef struct death {
    size_t rank;
    uint64_t at;
} death;

/* Processes, and those that die. */
static liana__hub *make_mortal(size_t num_workers, size_t num_servers, const death *deaths, size_t num_deaths,
                               bool *dies)
{
    liana__hub *hub = liana__hub_create(num_workers, num_servers);
    assert_non_null(hub);
    for (size_t i = 0; i < num_deaths; i++) {
        liana__hub_kill(hub, deaths[i].rank, deaths[i].at);
        dies[deaths[i].rank] = true;
    }
    return hub;
}

/* Fits while processes die. Everybody else ends with the bits of `whole`. */
static void assert_survives(const recipe *wanted, size_t num_workers, size_t num_servers, const death *deaths,
                            size_t num_deaths, const result *whole)
{
    result results[LIANA__HUB_PROCESSES];
    bool dies[LIANA__HUB_PROCESSES] = {false};
    liana__hub *hub = make_mortal(num_workers, num_servers, deaths, num_deaths, dies);
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
static void assert_survives_everywhere(const recipe *wanted, size_t num_workers, size_t num_servers, uint64_t every,
                                       size_t first_rank)
{
    uint64_t counts[LIANA__HUB_PROCESSES];
    result whole = liana__hub_fit_alone(wanted);
    count_operations(wanted, num_workers, num_servers, counts);
    for (size_t rank = first_rank; rank < num_workers + num_servers; rank++) {
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
    assert_survives_everywhere(&(recipe){.optimizer = "Adam", .epochs = 1, .takes_over = true}, 3, 0, 7, 0);
}

static void test_any_of_two_workers_and_two_servers(void **state)
{
    (void)state;
    assert_survives_everywhere(&(recipe){.optimizer = "Adam", .epochs = 1, .takes_over = true}, 2, 2, 11, 0);
}

/* The inputs of an update; other events in a fit: every rank, at a few places. */
static void test_other_trainings(void **state)
{
    (void)state;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_path("checkpoints"));
    const recipe recipes[] = {
        {.optimizer = "{name: Adam, global_clipnorm: 0.1}", .epochs = 2, .takes_over = true},
        {.optimizer = "{name: Lamb, learning_rate: 0.01}", .epochs = 1, .takes_over = true},
        {.optimizer = "{name: SGD, learning_rate: {online: hypergradient, initial_learning_rate: 0.02}}",
         .epochs = 1,
         .metrics = {"accuracy", "AUC"},
         .takes_over = true},
        {.optimizer = "{name: Adam, use_ema: true}", .epochs = 1, .checkpoints = folder, .checkpoint_steps = 1},
        {.is_step = true, .takes_over = true},
        {.is_batches = true, .optimizer = "Adam", .takes_over = true},
        {.is_batches = true, .optimizer = "Adam", .checkpoints = folder},
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        const uint64_t every = recipes[i].is_step ? 3 : recipes[i].is_batches ? 13 : 41;
        assert_survives_everywhere(&recipes[i], 3, 0, every, recipes[i].takes_over ? 0 : 1);
        assert_survives_everywhere(&recipes[i], 2, 2, every, recipes[i].takes_over ? 0 : 1);
    }
}

/* A second one dies later: until then the first one's slices have found other processes. */
static void test_two_deaths(void **state)
{
    (void)state;
    const recipe wanted = {.optimizer = "Adam", .epochs = 2, .takes_over = true};
    uint64_t counts[LIANA__HUB_PROCESSES];
    result whole = liana__hub_fit_alone(&wanted);
    count_operations(&wanted, 4, 0, counts);
    for (size_t i = 0; i < 4; i++) {
        const death deaths[] = {{i, counts[i] / 4 + i}, {(i + 1) % 4, counts[(i + 1) % 4] * 3 / 4 + i}};
        assert_survives(&wanted, 4, 0, deaths, 2, &whole);
    }
    free(whole.weights);
}

/* Deaths after which all that are left go on to the same bits, or all end with UNAVAILABLE and one of the texts.
 * Returns whether they went on. */
static bool goes_on_or_ends(const recipe *wanted, size_t num_workers, size_t num_servers, const death *deaths,
                            size_t num_deaths, const result *whole, const char *text)
{
    result results[LIANA__HUB_PROCESSES];
    bool dies[LIANA__HUB_PROCESSES] = {false}, goes_on = false, ends = false;
    liana__hub *hub = make_mortal(num_workers, num_servers, deaths, num_deaths, dies);
    liana__hub_fit_over(hub, wanted, num_workers, num_servers, results);
    for (size_t i = 0; i < num_workers + num_servers; i++) {
        if (dies[i]) continue;
        *(results[i].status == LIANA_OK ? &goes_on : &ends) = true;
        if (results[i].status == LIANA_OK) {
            liana__hub_assert_same(whole, &results[i]);
            continue;
        }
        const bool is_said = results[i].status == LIANA_UNAVAILABLE && strstr(results[i].message, text);
        if (!is_said)
            print_error("rank %zu, deaths at %llu: %s\n", i, (unsigned long long)deaths[0].at, results[i].message);
        assert_true(is_said);
    }
    assert_compare(goes_on, !=, ends);
    liana__hub_free_results(results, num_workers + num_servers);
    liana__hub_destroy(hub);
    return goes_on;
}

/* The owner of a slice and its mirror die together, at places all over a training. Before the slices are made the
 * others go on. */
static void test_an_owner_and_its_mirror_die_together(void **state)
{
    (void)state;
    static const size_t layouts[][2] = {{4, 0}, {2, 3}};
    const recipe wanted = {.optimizer = "Adam", .epochs = 1, .takes_over = true};
    result whole = liana__hub_fit_alone(&wanted);
    for (size_t i = 0; i < 2; i++) {
        const size_t workers = layouts[i][0], servers = layouts[i][1], first = servers ? workers : 1;
        uint64_t counts[LIANA__HUB_PROCESSES];
        size_t num_ends = 0;
        count_operations(&wanted, workers, servers, counts);
        for (uint64_t at = 3; at < counts[first]; at += 23) {
            const death deaths[] = {{first, at}, {first + 1, at * counts[first + 1] / counts[first]}};
            num_ends += !goes_on_or_ends(&wanted, workers, servers, deaths, 2, &whole, "newest checkpoint");
        }
        assert_compare(num_ends, >, 0);
    }
    free(whole.weights);
}

/* One process reads a stream for all. If it dies another one opens the stream where all go on. */
static void test_streams(void **state)
{
    (void)state;
    const recipe wanted = {.optimizer = "Adam", .epochs = 1, .streams = true, .takes_over = true};
    assert_survives_everywhere(&wanted, 3, 0, 19, 0);
    assert_survives_everywhere(&wanted, 2, 2, 31, 0);
}

/* The second one to read it dies too. */
static void test_two_readers_of_a_stream(void **state)
{
    (void)state;
    const recipe wanted = {.optimizer = "Adam", .epochs = 2, .streams = true, .takes_over = true};
    uint64_t counts[LIANA__HUB_PROCESSES];
    result whole = liana__hub_fit_alone(&wanted);
    count_operations(&wanted, 4, 0, counts);
    for (size_t i = 0; i < 5; i++) {
        const death deaths[] = {{0, counts[0] / 4 + i}, {1, counts[1] * 3 / 4 + 3 * i}};
        assert_survives(&wanted, 4, 0, deaths, 2, &whole);
    }
    free(whole.weights);
}

static void assert_ends(size_t rank, bool mirrors, const char *text)
{
    const recipe wanted = {.optimizer = "Adam", .epochs = 2};
    result results[LIANA__HUB_PROCESSES];
    liana__hub *hub = liana__hub_create(3, 0);
    liana__hub_set(hub, true, mirrors);
    liana__hub_kill(hub, rank, 150);
    liana__hub_fit_over(hub, &wanted, 3, 0, results);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(results[i].status, LIANA_UNAVAILABLE);
        if (i != rank && !strstr(results[i].message, text)) print_error("%s\n", results[i].message);
        if (i != rank) assert_says(results[i].message, text);
    }
    liana__hub_free_results(results, 3);
    liana__hub_destroy(hub);
}

/* Training with evaluations in between, an evaluation and predictions; any process, the chief too, also while it sends
 * the others a checkpoint. */
static void test_estimators(void **state)
{
    (void)state;
    const recipe wanted = {.optimizer = "Adam", .epochs = 1, .is_estimator = true, .takes_over = true};
    assert_survives_everywhere(&wanted, 3, 0, 29, 0);
    assert_survives_everywhere(&wanted, 2, 2, 41, 0);
}

static void test_without_mirrors_an_owner_is_missed(void **state)
{
    (void)state;
    assert_ends(2, false, "newest checkpoint");
}

/* The slices of the only server are lost, wherever it dies: also in the middle of a save, which reads them. Nobody
 * waits for ever. */
static void test_the_only_server_is_missed(void **state)
{
    (void)state;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_path("lost"));
    const recipe wanted = {.optimizer = "Adam", .epochs = 1, .checkpoints = folder, .checkpoint_steps = 1};
    uint64_t counts[LIANA__HUB_PROCESSES];
    count_operations(&wanted, 2, 1, counts);
    for (uint64_t at = 4; at < counts[2] * 9 / 10; at += 7) {
        result results[LIANA__HUB_PROCESSES];
        liana__hub *hub = liana__hub_create(2, 1);
        liana__hub_kill(hub, 2, at);
        liana__hub_fit_over(hub, &wanted, 2, 1, results);
        for (size_t i = 0; i < 2; i++) {
            if (results[i].status != LIANA_UNAVAILABLE)
                print_error("at %llu: %s\n", (unsigned long long)at, results[i].message);
            assert_int_equal(results[i].status, LIANA_UNAVAILABLE);
        }
        liana__hub_free_results(results, 3);
        liana__hub_destroy(hub);
    }
}

/* Nobody is there to agree with on the next step. The server knows all the same why it ends. */
static void test_all_workers_are_missed(void **state)
{
    (void)state;
    const recipe wanted = {.optimizer = "Adam", .epochs = 1};
    uint64_t counts[LIANA__HUB_PROCESSES];
    count_operations(&wanted, 2, 1, counts);
    for (uint64_t at = 4; at < counts[0] / 2; at += counts[0] / 9) {
        result results[LIANA__HUB_PROCESSES];
        liana__hub *hub = liana__hub_create(2, 1);
        liana__hub_kill(hub, 0, at);
        liana__hub_kill(hub, 1, at);
        liana__hub_fit_over(hub, &wanted, 2, 1, results);
        assert_int_equal(results[2].status, LIANA_UNAVAILABLE);
        /* Before the training is open nobody knows that it has checkpoints. */
        assert_says(results[2].message, "again");
        assert_true(results[2].cluster_changed);
        liana__hub_free_results(results, 3);
        liana__hub_destroy(hub);
    }
    result alone[LIANA__HUB_PROCESSES];
    liana__hub_fit(&wanted, 2, 1, alone);
    assert_false(alone[2].cluster_changed);
    liana__hub_free_results(alone, 3);
}

/* Only a side that may have the run folder goes on. */
static void test_nobody_takes_the_place_of_the_chief(void **state)
{
    (void)state;
    assert_ends(0, true, "the chief (rank 0) is gone");
}

/* Nothing of a fit that goes on is there but its beginning, in which the chief tells the state that it has read: the
 * epoch is done already. Without a chief no other one may lead, so nobody mixes the words of two, and nobody waits for
 * ever. */
static void test_the_chief_dies_while_a_fit_begins_again(void **state)
{
    (void)state;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_path("begun"));
    recipe wanted = {.optimizer = "Adam", .epochs = 1, .checkpoints = folder, .checkpoint_steps = 1};
    uint64_t counts[LIANA__HUB_PROCESSES];
    size_t num_ends = 0;
    result begun = liana__hub_fit_alone(&wanted);
    wanted.resume = true;
    result whole = liana__hub_fit_alone(&wanted);
    count_operations(&wanted, 3, 0, counts);
    /* Behind the last word that all need, some have ended well already. */
    for (uint64_t at = 0; at < counts[0] * 9 / 10; at++) {
        num_ends += !goes_on_or_ends(&wanted, 3, 0, &(death){0, at}, 1, &whole, "the chief (rank 0) is gone");
    }
    assert_compare(num_ends, >, 0);
    free(begun.weights);
    free(whole.weights);
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
        cmocka_unit_test(test_all_workers_are_missed),
        cmocka_unit_test(test_other_trainings),
        cmocka_unit_test(test_two_deaths),
        cmocka_unit_test(test_an_owner_and_its_mirror_die_together),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_two_readers_of_a_stream),
        cmocka_unit_test(test_estimators),
        cmocka_unit_test(test_without_mirrors_an_owner_is_missed),
        cmocka_unit_test(test_the_only_server_is_missed),
        cmocka_unit_test(test_nobody_takes_the_place_of_the_chief),
        cmocka_unit_test(test_the_chief_dies_while_a_fit_begins_again),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
