/* Workers that are not in step: asynchronous updates with a bound on staleness, and updates of the first gradients.
 * Which worker is slow is decided by a hub that holds its messages, and not by the clock. */
#include "harness/cluster/free_hub.h"
#include "harness/linear_rows.h"

#include "base/file.h"
#include "distribute/cluster/span_gate.h"
#include "train/checkpoint/checkpoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROCESSES = 10 };

/* ---- the gate ---- */

/* Random orders of asking and ending: staleness by its definition, from a log of updates, never exceeds the bound. */
static void simulate(size_t num_workers, uint64_t most, uint32_t seed)
{
    liana__span_gate gate;
    uint64_t fetched[MAX_PROCESSES], applied = 0, largest = 0;
    bool computes[MAX_PROCESSES] = {false}, waits[MAX_PROCESSES] = {false};
    size_t steps[MAX_PROCESSES] = {0}, worker;
    assert_int_equal(liana__span_gate_create(num_workers, most, &gate, NULL), LIANA_OK);
    for (int event = 0; event < 4000; event++) {
        seed = seed * 1664525 + 1013904223;
        worker = (seed >> 16) % num_workers;
        if (computes[worker]) {
            const uint64_t staleness = applied - fetched[worker];
            if (staleness > largest) largest = staleness;
            applied++;
            computes[worker] = false;
            steps[worker]++;
            liana__span_gate_done(&gate, worker);
        } else if (!waits[worker]) {
            waits[worker] = true;
            liana__span_gate_ask(&gate, worker);
        }
        while (liana__span_gate_admit(&gate, &worker)) {
            assert_true(waits[worker] && !computes[worker]);
            waits[worker] = false;
            computes[worker] = true;
            fetched[worker] = applied;
        }
        bool any = false;
        for (size_t i = 0; i < num_workers; i++) any |= computes[i];
        for (size_t i = 0; i < num_workers; i++) assert_true(any || !waits[i]); /* nobody waits for nobody */
    }
    assert_compare(largest, <=, most);
    if (num_workers > 1 && most > 0 && most < 4) assert_int_equal(largest, most); /* and it is not kept by idling */
    for (size_t i = 0; i < num_workers; i++) assert_compare(steps[i], >, 0, i);
    liana__span_gate_free(&gate);
}

static void test_the_gate_holds_the_bound(void **state)
{
    (void)state;
    for (size_t workers = 1; workers < 6; workers++) {
        for (uint64_t most = 0; most < 12; most++) simulate(workers, most, (uint32_t)(17 * workers + most));
    }
}

/* A worker that never ends stops the others when its gradients would become too stale, and no earlier. */
static void test_a_slow_worker_is_waited_for_at_the_bound(void **state)
{
    (void)state;
    enum { MOST = 5 };
    liana__span_gate gate;
    size_t worker, done = 0;
    assert_int_equal(liana__span_gate_create(2, MOST, &gate, NULL), LIANA_OK);
    liana__span_gate_ask(&gate, 1);
    assert_true(liana__span_gate_admit(&gate, &worker));
    assert_int_equal(worker, 1);
    liana__span_gate_ask(&gate, 0);
    while (liana__span_gate_admit(&gate, &worker)) {
        assert_int_equal(worker, 0);
        liana__span_gate_done(&gate, 0);
        liana__span_gate_ask(&gate, 0);
        done++;
    }
    assert_int_equal(done, MOST);
    liana__span_gate_done(&gate, 1);
    assert_true(liana__span_gate_admit(&gate, &worker));
    liana__span_gate_free(&gate);
}

/* ---- fits ---- */

static liana__cluster_program fit_of(const char *strategy)
{
    return (liana__cluster_program){.run = liana__cluster_fit_rows, .strategy = {.name = strategy}};
}

static const char *folder_of(const char *name)
{
    static char paths[8][512];
    static size_t next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s", liana__test_path(name));
    return path;
}

/* With one worker nothing is stale, and nobody else has gradients: the synchronous result, bit for bit. */
static void test_one_worker_gives_the_synchronous_bits(void **state)
{
    (void)state;
    static const char *const optimizers[] = {"{name: SGD, learning_rate: 0.05, momentum: 0.9}",
                                             "{name: Adam, learning_rate: {name: CosineDecay, initial_learning_rate: "
                                             "0.05, decay_epochs: 3}}"};
    for (size_t k = 0; k < 2; k++) {
        for (size_t servers = 1; servers < 4; servers++) {
            liana__cluster_result in_step[4], free_running[4];
            liana__cluster_program
                one = fit_of("parameter_server"),
                other = fit_of("{name: parameter_server, synchronous: false, max_staleness: 0, pause_steps: 2}");
            other.strategy.replicas = k ? 3 : 0; /* devices of the worker */
            one.optimizer = other.optimizer = optimizers[k];
            one.epochs = other.epochs = 3;
            liana__run_cluster(&one, 1, servers, in_step);
            liana__run_cluster(&other, 1, servers, free_running);
            for (size_t i = 0; i <= servers; i++) {
                assert_compare(in_step[i].size, ==, free_running[i].size, i);
                assert_memory_equal(in_step[i].weights, free_running[i].weights, in_step[i].size);
                assert_compare(in_step[i].loss, ==, free_running[i].loss, i);
                assert_int_equal(free_running[i].num_epochs, 3);
            }
            liana__free_results(in_step, 1 + servers);
            liana__free_results(free_running, 1 + servers);
        }
    }
}

/* 40 rows in batches of 4: 10 updates an epoch. Each batch is used once, and all processes end with the same
 * weights. */
static void test_each_gradient_is_used_once(void **state)
{
    (void)state;
    static const size_t counts[][2] = {{2, 1}, {3, 2}, {4, 3}, {7, 1}};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        const size_t workers = counts[k][0], servers = counts[k][1];
        liana__cluster_result results[MAX_PROCESSES];
        liana__cluster_program program =
            fit_of("{name: parameter_server, synchronous: false, max_staleness: 3, pause_steps: 4}");
        program.batch_size = 4;
        program.epochs = 2;
        char name[32];
        snprintf(name, sizeof name, "once-%zu", k);
        program.checkpoints = folder_of(name);
        liana__run_cluster(&program, workers, servers, results);
        uint64_t leaves = 0;
        for (size_t i = 0; i < workers + servers; i++) {
            assert_memory_equal(results[0].weights, results[i].weights, results[0].size);
            assert_compare(results[0].loss, ==, results[i].loss, i);
            assert_int_equal(results[i].counters.updates, i < workers ? 0 : 20);
            leaves += results[i].counters.shards_computed;
        }
        assert_int_equal(leaves, 2 * 10 * 2);
        assert_int_equal(liana__cluster_fit_number(program.checkpoints, "computed"), 10);
        assert_int_equal(liana__cluster_fit_number(program.checkpoints, "used"), 10);
        assert_int_equal(liana__cluster_fit_number(program.checkpoints, "dropped"), 0);
        assert_int_equal(liana__cluster_fit_number(program.checkpoints, "measured"), 10 * servers);
        assert_compare(liana__cluster_fit_number(program.checkpoints, "largest_staleness"), <=, 3);
        assert_says(results[0].notes, "results are not reproducible");
        liana__free_results(results, workers + servers);
    }
}

/* ---- a convex problem with a known end ---- */

/* y = x0 - 2 x1 + 0.25 exactly: a linear model comes to these weights. */
static liana_status fit_line(liana_context *context, const liana__cluster_program *program,
                             liana__cluster_result *result)
{
    liana_model *model = NULL;
    LIANA_TRY(liana_model_create(context, NULL, &model));
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_FEATURES));
    liana_dense(model, .units = 1);
    liana_dataset *data = liana__tiny_rows(context);
    liana_status status = liana_fit(model, &(liana_fit_options){.training = data,
                                                                .epochs = 60,
                                                                .batch_size = 4,
                                                                .microbatch = 2,
                                                                .loss = "mean_squared_error",
                                                                .optimizer = "{name: SGD, learning_rate: 0.1}",
                                                                .strategy = program->strategy,
                                                                .seed = 2});
    if (status == LIANA_OK) status = liana__tiny_keep_weights(model, &result->weights, &result->size);
    liana_model_destroy(model);
    liana_dataset_close(data);
    return status;
}

static void test_it_comes_to_the_known_optimum(void **state)
{
    (void)state;
    static const char *const strategies[] = {
        "{name: parameter_server, synchronous: false, max_staleness: 0}",
        "{name: parameter_server, synchronous: false, max_staleness: 4}",
        "{name: parameter_server, synchronous: false}",
        "{name: parameter_server, synchronous: false, wire: bfloat16}",
        "{name: parameter_server, replicas_to_aggregate: 2}",
    };
    static const double expected[] = {1, -2, 0, 0.25};
    for (size_t k = 0; k < sizeof strategies / sizeof *strategies; k++) {
        liana__cluster_result results[5];
        const liana__cluster_program program = {.run = fit_line, .strategy = {.name = strategies[k]}};
        liana__run_cluster(&program, 3, 2, results);
        assert_int_equal(results[0].size, 4 * sizeof(float));
        for (size_t i = 0; i < 4; i++) {
            const double got = (double)((const float *)(void *)results[0].weights)[i];
            assert_near(got, expected[i], 1e-3, i);
        }
        liana__free_results(results, 5);
    }
}

/* ---- slow workers ---- */

static void test_slow_workers_do_not_hold_up_fast_ones(void **state)
{
    (void)state;
    liana__free_course seen = {0};
    liana__cluster_result results[3];
    liana__cluster_program program =
        fit_of("{name: parameter_server, synchronous: false, max_staleness: 6, pause_steps: 20}");
    program.batch_size = 2;
    program.epochs = 1;
    program.control = (liana__hub_control){liana__free_note_message, liana__free_holds_second, &seen};
    program.checkpoints = folder_of("slow");
    liana__run_cluster(&program, 2, 1, results);
    assert_int_equal(liana__cluster_fit_number(program.checkpoints, "largest_staleness"), 6);
    assert_int_equal(liana__cluster_fit_number(program.checkpoints, "used"), 20);
    liana__free_results(results, 3);
}

/* ---- the first gradients ---- */

/* One update of a linear model from zeros, with rate 0.5: the weights are minus half the mean gradient. */
static liana_status fit_once(liana_context *context, const liana__cluster_program *program,
                             liana__cluster_result *result)
{
    liana_array arrays[2];
    liana_model *model = NULL;
    liana__linear_arrays(arrays);
    LIANA_TRY(liana_model_create(context, NULL, &model));
    liana_input(model, .shape = LIANA_INTS(LIANA__LINEAR_FEATURES));
    liana_dense(model, .units = 1, .use_bias = false, .kernel_initializer = "zeros");
    liana_dataset *data = liana_dataset_from_tensor_slices(context, arrays, 2);
    liana_status status = liana_fit(model, &(liana_fit_options){.training = data,
                                                                .epochs = 1,
                                                                .batch_size = LIANA__LINEAR_ROWS,
                                                                .microbatch = LIANA__LINEAR_SHARD,
                                                                .keep_order = true,
                                                                .loss = "mean_squared_error",
                                                                .optimizer = "{name: SGD, learning_rate: 0.5}",
                                                                .on_epoch = liana__cluster_keep_epoch,
                                                                .user = result,
                                                                .checkpoints = program->checkpoints,
                                                                .strategy = program->strategy});
    if (status == LIANA_OK) status = liana__tiny_keep_weights(model, &result->weights, &result->size);
    liana_model_destroy(model);
    liana_dataset_close(data);
    return status;
}

/* The mean is over the examples that were used: those of the first two workers. */
static void test_late_gradients_are_dropped(void **state)
{
    (void)state;
    liana__free_course seen = {0};
    liana__cluster_result results[5];
    liana__linear_fill();
    const liana__cluster_program program = {
        .run = fit_once,
        .strategy = {.name = "{name: parameter_server, replicas_to_aggregate: 2}"},
        .checkpoints = folder_of("late"),
        .control = {liana__free_note_message, liana__free_holds_last, &seen},
    };
    liana__run_cluster(&program, 3, 2, results);
    const double loss = liana__linear_assert_weights(results, 5, liana__linear_used());
    assert_near(results[0].loss, loss, 1e-5 * loss);
    assert_int_equal(liana__cluster_fit_number(program.checkpoints, "used"), 2);
    assert_int_equal(liana__cluster_fit_number(program.checkpoints, "dropped"), 1);
    liana__free_results(results, 5);
}

/* Every share of every update is used, late, or not begun; and as many are used as was asked for. */
static void test_all_shares_are_counted(void **state)
{
    (void)state;
    liana__cluster_result results[MAX_PROCESSES];
    liana__cluster_program program = fit_of("{name: parameter_server, replicas_to_aggregate: 3, pause_steps: 5}");
    program.batch_size = 10;
    program.epochs = 3;
    program.checkpoints = folder_of("shares");
    liana__run_cluster(&program, 4, 2, results);
    for (size_t i = 0; i < 6; i++) {
        assert_memory_equal(results[0].weights, results[i].weights, results[0].size);
        assert_int_equal(results[i].counters.updates, i < 4 ? 0 : 12);
    }
    const char *folder = program.checkpoints;
    assert_int_equal(liana__cluster_fit_number(folder, "used"), 3 * 4);
    assert_int_equal((int)(liana__cluster_fit_number(folder, "dropped") + liana__cluster_fit_number(folder, "skipped")),
                     4);
    assert_int_equal((int)(liana__cluster_fit_number(folder, "used") + liana__cluster_fit_number(folder, "dropped")),
                     (int)liana__cluster_fit_number(folder, "computed"));
    liana__free_results(results, 6);
}

/* ---- pauses, ends, and refusals ---- */

/* Ended in the middle of an epoch and between two pauses, and gone on with: with one worker, to the same bits. */
static void test_a_fit_goes_on(void **state)
{
    (void)state;
    liana__cluster_result whole[3], results[3];
    liana__cluster_program program =
        fit_of("{name: parameter_server, synchronous: false, max_staleness: 2, pause_steps: 4}");
    program.batch_size = 4;
    liana__run_cluster(&program, 1, 1, whole);
    program.checkpoints = folder_of("goes-on");
    program.checkpoint_steps = 3;
    program.steps = 6;
    liana__run_cluster(&program, 1, 1, results);
    liana__free_results(results, 2);
    program.resume = true;
    program.steps = 0;
    liana__run_cluster(&program, 1, 2, results);
    assert_memory_equal(whole[0].weights, results[0].weights, whole[0].size);
    assert_compare(whole[0].loss, ==, results[0].loss);
    assert_never_says(results[0].notes, "rounds differently");
    assert_int_equal(liana__cluster_fit_number(program.checkpoints, "used"), 10);
    liana__free_results(results, 3);
    liana__free_results(whole, 2);
}

static void refuse(const liana__cluster_program *given, size_t num_servers, const char *expected)
{
    liana__cluster_result results[4];
    liana__cluster_program program = *given;
    program.may_fail = true;
    liana__run_cluster(&program, 2, num_servers, results);
    for (size_t i = 0; i < 2 + num_servers; i++) {
        if (!strstr(results[i].message, expected)) print_error("%s: %s\n", expected, results[i].message);
        assert_int_equal(results[i].status, LIANA_INVALID_CONFIG);
        assert_says(results[i].message, expected);
    }
    liana__free_results(results, 2 + num_servers);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const char asynchronous[] = "{name: parameter_server, synchronous: false}";
    static const char *const refused[][2] = {
        {"{name: parameter_server, synchronous: false, max_staleness: -1}", "max_staleness"},
        {"{name: parameter_server, synchronous: false, max_staleness: 1.5}", "number of updates"},
        {"{name: parameter_server, max_staleness: 3}", "synchronous: false"},
        {"{name: parameter_server, replicas_to_aggregate: 0}", "replicas_to_aggregate"},
        {"{name: parameter_server, replicas_to_aggregate: 3}", "there are 2 workers"},
        {"{name: parameter_server, replicas_to_aggregate: 1, synchronous: false}", "leave one of the two out"},
        {"{name: parameter_server, pause_steps: 5}", "not in step"},
        {"{name: parameter_server, synchronous: maybe}", "synchronous"},
        {"{name: multi_worker, synchronous: false}", "synchronous"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const liana__cluster_program program = fit_of(refused[i][0]);
        refuse(&program, 1, refused[i][1]);
    }
    static const char *const optimizers[] = {"Lamb", "{name: Adam, global_clipnorm: 1.0}",
                                             ("{name: SGD, learning_rate: {online: hypergradient, "
                                              "initial_learning_rate: 0.02}}")};
    for (size_t i = 0; i < 3; i++) {
        liana__cluster_program program = fit_of(asynchronous);
        program.optimizer = optimizers[i];
        refuse(&program, 1, "sums over whole gradients");
    }
    const liana__cluster_program no_servers = fit_of(asynchronous);
    refuse(&no_servers, 0, "needs parameter servers");
}

/* A number that is not finite ends the fit on all, and nobody waits for ever. */
static void test_bad_numbers_end_the_fit_on_all(void **state)
{
    (void)state;
    static const char *const strategies[] = {"{name: parameter_server, synchronous: false}",
                                             "{name: parameter_server, replicas_to_aggregate: 2}"};
    for (size_t k = 0; k < 2; k++) {
        liana__cluster_result results[5];
        liana__cluster_program program = fit_of(strategies[k]);
        program.optimizer = "{name: SGD, learning_rate: 1.0e+30}";
        program.epochs = 5;
        program.may_fail = true;
        liana__run_cluster(&program, 3, 2, results);
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(results[i].status, LIANA_OUT_OF_RANGE);
            if (!strstr(results[i].message, "not finite")) assert_says(results[i].message, "loss is");
        }
        liana__free_results(results, 5);
    }
}

/* ---- real processes ---- */

static void assert_history(const char *out, const char *text)
{
    char path[640], *history;
    size_t size;
    snprintf(path, sizeof path, "%s/history.json", out);
    assert_int_equal(liana__file_read(path, 1 << 20, &history, &size, NULL), LIANA_OK);
    if (!strstr(history, text)) print_error("no '%s' in %s\n", text, history);
    assert_says(history, text);
    free(history);
}

static void test_launched_processes(void **state)
{
    (void)state;
    static const char *const strategies[] = {
        "train.strategy={name: parameter_server, synchronous: false, max_staleness: 2, pause_steps: 3}",
        "train.strategy={name: parameter_server, replicas_to_aggregate: 1}",
    };
    char config[512];
    liana__test_tiny_run(60);
    snprintf(config, sizeof config, "%s", liana__test_path("config.yaml"));
    for (size_t k = 0; k < 2; k++) {
        const char *out = folder_of(k ? "launched-rounds" : "launched");
        assert_code(liana__test_process(NULL, "launch", "-n", "3", "--servers", "1", config, "--out", out,
                                        "train.epochs=2", strategies[k]),
                    0);
        assert_history(out, "\"reproducible\": false");
        assert_history(out, "\"largest_staleness\": ");
        assert_history(out, "\"not_reproducible\": ");
        assert_history(out, k ? "the first 1 of 2 workers" : "asynchronous updates, max_staleness 2, 2 workers");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_gate_holds_the_bound),
        cmocka_unit_test(test_a_slow_worker_is_waited_for_at_the_bound),
        cmocka_unit_test(test_one_worker_gives_the_synchronous_bits),
        cmocka_unit_test(test_each_gradient_is_used_once),
        cmocka_unit_test(test_it_comes_to_the_known_optimum),
        cmocka_unit_test(test_slow_workers_do_not_hold_up_fast_ones),
        cmocka_unit_test(test_late_gradients_are_dropped),
        cmocka_unit_test(test_all_shares_are_counted),
        cmocka_unit_test(test_a_fit_goes_on),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_bad_numbers_end_the_fit_on_all),
        cmocka_unit_test(test_launched_processes),
    };
    liana__test_folder();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
