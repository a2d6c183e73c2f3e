/* liana_train_on_batch where workers are not in step. Asynchronous workers take turns, so nothing is stale: the bits of
 * one device. An update of the first gradients is the mean over their examples: a linear model from zeros with rate 0.5
 * has minus half the mean gradient. */
#include "harness/cluster/free_hub.h"
#include "harness/cluster/hub_death.h"
#include "harness/linear_rows.h"

#include <math.h>
#include <string.h>

enum { BATCHES = 5 };

static int set_up(void **state)
{
    (void)state;
    liana__linear_fill();
    return 0;
}

/* ---- training ---- */

/* `program->steps` batches. The loss is that of the last one. */
static liana_status train(liana_context *context, const liana__cluster_program *program, liana__cluster_result *result)
{
    liana_array arrays[2];
    liana_model *model = NULL;
    const bool one = program->steps == 1;
    liana__linear_arrays(arrays);
    LIANA_TRY(liana_model_create(context, NULL, &model));
    liana_input(model, .shape = LIANA_INTS(LIANA__LINEAR_FEATURES), .name = "x");
    if (!one) {
        liana_dense(model, .units = 5, .activation = "tanh");
        liana_batch_normalization(model, .momentum = 0.9);
        liana_dropout(model, .rate = 0.25);
    }
    liana_dense(model, .units = 1, .use_bias = false, .kernel_initializer = one ? "zeros" : "glorot_uniform");
    const liana_fit_options options = {.microbatch = LIANA__LINEAR_SHARD,
                                       .loss = "mean_squared_error",
                                       .optimizer = program->optimizer,
                                       .strategy = program->strategy,
                                       .seed = 4};
    liana_status status = LIANA_OK;
    for (int64_t i = 0; status == LIANA_OK && i < program->steps; i++) {
        liana_results results;
        status = liana_train_on_batch(model, &options, arrays, 2, &results);
        result->loss = results.loss;
    }
    const liana__cluster *cluster = liana__cluster_of(context);
    if (cluster) result->counters = cluster->counters;
    if (status == LIANA_OK) status = liana__tiny_keep_weights(model, &result->weights, &result->size);
    liana_model_destroy(model);
    return status;
}

static liana__cluster_program program_of(const char *strategy, int64_t steps, const char *optimizer)
{
    return (
        liana__cluster_program){.run = train, .strategy = {.name = strategy}, .steps = steps, .optimizer = optimizer};
}

static void test_asynchronous_workers_take_turns(void **state)
{
    (void)state;
    static const size_t counts[][2] = {{1, 1}, {2, 1}, {3, 2}};
    liana__cluster_result expected[1], results[5];
    const liana__cluster_program alone = program_of("one_device", BATCHES, "Adam");
    liana__run_cluster(&alone, 1, 0, expected);
    for (size_t k = 0; k < 3; k++) {
        const size_t workers = counts[k][0], all = workers + counts[k][1];
        const liana__cluster_program program =
            program_of("{name: parameter_server, synchronous: false}", BATCHES, "Adam");
        liana__run_cluster(&program, workers, counts[k][1], results);
        for (size_t i = 0; i < all; i++) {
            assert_int_equal(results[i].size, expected[0].size);
            assert_memory_equal(results[i].weights, expected[0].weights, expected[0].size);
            assert_compare(results[i].loss, ==, expected[0].loss, i);
            const size_t own = i < workers ? (BATCHES - i + workers - 1) / workers : 0;
            assert_int_equal(results[i].counters.shards_computed, own * LIANA__LINEAR_ROWS / LIANA__LINEAR_SHARD);
        }
        liana__free_results(results, all);
    }
    liana__free_results(expected, 1);
}

/* ---- the first gradients ---- */

static void test_late_gradients_are_dropped(void **state)
{
    (void)state;
    liana__free_course seen = {0};
    liana__cluster_result results[5];
    liana__cluster_program program =
        program_of("{name: parameter_server, replicas_to_aggregate: 2}", 1, "{name: SGD, learning_rate: 0.5}");
    program.control = (liana__hub_control){liana__free_note_message, liana__free_holds_last, &seen};
    liana__run_cluster(&program, 3, 2, results);
    const double loss = liana__linear_assert_weights(results, 5, liana__linear_used());
    for (size_t i = 0; i < 5; i++) assert_near(results[i].loss, loss, 1e-5 * loss, i);
    liana__free_results(results, 5);
}

/* ---- deaths and failures ---- */

/* Wherever the second worker dies, another one computes its batch: the bits of one device. */
static void test_another_worker_takes_over(void **state)
{
    (void)state;
    int died = 0;
    liana__cluster_result expected[1], results[4];
    const liana__cluster_program alone = program_of("one_device", BATCHES, "Adam");
    liana__run_cluster(&alone, 1, 0, expected);
    for (int last = 1; last < 120; last += 4) {
        liana__hub_death dead = {.rank = 1, .last = last};
        liana__cluster_program program = program_of("{name: parameter_server, synchronous: false}", BATCHES, "Adam");
        program.may_fail = program.dies = true;
        program.hub = &dead.hub;
        program.control = (liana__hub_control){.sent = liana__hub_death_sent, .user = &dead};
        liana__run_cluster(&program, 3, 1, results);
        died += results[1].status != LIANA_OK;
        for (size_t i = 0; i < 4; i++) {
            if (i == 1) continue;
            if (results[i].status != LIANA_OK) print_error("message %d, rank %zu: %s\n", last, i, results[i].message);
            assert_int_equal(results[i].status, LIANA_OK);
            assert_memory_equal(results[i].weights, expected[0].weights, expected[0].size);
        }
        liana__free_results(results, 4);
    }
    assert_compare(died, >, 5);
    liana__free_results(expected, 1);
}

static void test_bad_numbers_are_an_error_of_all(void **state)
{
    (void)state;
    static const char *const ways[] = {"{name: parameter_server, synchronous: false}",
                                       "{name: parameter_server, replicas_to_aggregate: 2}"};
    for (int i = 0; i < LIANA__LINEAR_ROWS; i++) liana__linear_y[i] = NAN;
    for (size_t k = 0; k < 2; k++) {
        liana__cluster_result results[5];
        liana__cluster_program program = program_of(ways[k], 1, "SGD");
        program.may_fail = true;
        liana__run_cluster(&program, 3, 2, results);
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(results[i].status, LIANA_OUT_OF_RANGE);
            if (!strstr(results[i].message, "not finite")) assert_says(results[i].message, "loss is");
        }
        liana__free_results(results, 5);
    }
    liana__linear_fill();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asynchronous_workers_take_turns),
        cmocka_unit_test(test_late_gradients_are_dropped),
        cmocka_unit_test(test_another_worker_takes_over),
        cmocka_unit_test(test_bad_numbers_are_an_error_of_all),
    };
    liana__test_folder();
    return cmocka_run_group_tests(tests, set_up, NULL);
}
