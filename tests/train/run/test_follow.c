/* The evaluator of a run: liana evaluate RUN --follow. */
#include "harness/command_run.h"

#include "base/file.h"
#include "train/checkpoint/checkpoint.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static json_t *read_json(const char *name)
{
    json_error_t problem;
    json_t *json = json_load_file(liana__test_path(name), 0, &problem);
    if (!json) print_error("%s: %s\n", name, problem.text);
    assert_non_null(json);
    return json;
}

static double number(const json_t *json, const char *key)
{
    assert_non_null(json_object_get(json, key));
    return json_number_value(json_object_get(json, key));
}

static const char *run_path(void)
{
    static char run[256];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    return run;
}

/* Three epochs with a checkpoint each, all of which stay. */
static void make_run(void)
{
    liana__test_folder();
    assert_code(liana__test_command("train", liana__test_tiny_run(200), "checkpoint.keep=0"), 0);
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (; *text; text++) count += *text == '\n';
    return count;
}

static size_t follow(void)
{
    liana__test_result got = liana__test_command("evaluate", run_path(), "--follow", "--every", "0.01", "--json");
    if (got.code) print_error("%s", got.err);
    assert_int_equal(got.code, 0);
    size_t lines = count_lines(got.out);
    liana__test_free_result(&got);
    return lines;
}

/* The list has each epoch's checkpoint, with the training's own measures. */
static void check_list(void)
{
    json_t *history = read_json("run/history.json"), *epochs = json_object_get(history, "epochs");
    json_t *root = read_json("run/evaluations.json"), *list = json_object_get(root, "evaluations");
    assert_int_equal(json_array_size(list), json_array_size(epochs));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *got = json_array_get(list, i), *expected = json_array_get(epochs, i);
        char name[64];
        snprintf(name, sizeof name, "step-%010zu", 7 * (i + 1)); /* 200 examples in batches of 32 */
        assert_string_equal(json_string_value(json_object_get(got, "checkpoint")), name);
        assert_int_equal(number(got, "iteration"), 7 * (i + 1));
        assert_int_equal(number(got, "epoch"), i + 1);
        assert_int_equal(number(got, "step"), 0);
        assert_int_equal(number(got, "examples"), 100);
        assert_int_equal(number(got, "bad_records"), 0);
        assert_compare(number(got, "loss"), ==, number(expected, "val_loss"));
        assert_compare(number(got, "accuracy"), ==, number(expected, "val_accuracy"));
    }
    json_decref(root);
    json_decref(history);
}

static void copy(const char *from, const char *to)
{
    char *data;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path(from), 1 << 24, &data, &size, &error), &error);
    assert_ok(liana__file_replace(liana__test_path(to), data, size, &error), &error);
    free(data);
}

static void test_each_checkpoint_is_evaluated_once(void **state)
{
    (void)state;
    make_run();
    assert_int_equal(follow(), 3);
    check_list();
    copy("run/evaluations.json", "first.json");
    assert_int_equal(follow(), 0);
    assert_same_file(liana__test_path("run/evaluations.json"), liana__test_path("first.json"));
    /* Checkpoints that are not in the list are evaluated, and nothing else. */
    json_t *root = read_json("run/evaluations.json");
    json_array_remove(json_object_get(root, "evaluations"), 2);
    assert_int_equal(json_dump_file(root, liana__test_path("run/evaluations.json"), 0), 0);
    json_decref(root);
    assert_int_equal(follow(), 1);
    assert_same_file(liana__test_path("run/evaluations.json"), liana__test_path("first.json"));
}

/* Epochs that a training did not validate itself are drawn from the evaluator's list: the picture of one that did is
 * the same. */
static void test_the_report_has_what_the_evaluator_found(void **state)
{
    (void)state;
    make_run();
    const char *run = run_path();
    assert_code(liana__test_command("report", run, "--out", liana__test_path("expected")), 0);
    char config[256];
    snprintf(config, sizeof config, "%s", liana__test_path("config.yaml"));
    liana__error error = {0};
    assert_ok(liana__folder_remove(run, &error), &error);
    assert_code(liana__test_command("train", config, "checkpoint.keep=0", "train.validation_freq=3"), 0);
    assert_code(liana__test_command("report", run, "--out", liana__test_path("without")), 0);
    assert_int_equal(follow(), 3);
    assert_code(liana__test_command("report", run, "--out", liana__test_path("with")), 0);
    assert_same_file(liana__test_path("with/curves.png"), liana__test_path("expected/curves.png"));
    char *data[2];
    size_t sizes[2];
    assert_ok(liana__file_read(liana__test_path("with/curves.png"), 1 << 24, &data[0], &sizes[0], &error), &error);
    assert_ok(liana__file_read(liana__test_path("without/curves.png"), 1 << 24, &data[1], &sizes[1], &error), &error);
    if (sizes[0] == sizes[1]) assert_memory_not_equal(data[0], data[1], sizes[0]);
    free(data[0]);
    free(data[1]);
}

/* The evaluator of a cluster, which comes first. The last checkpoint stays, so it is always evaluated. */
static void test_it_waits_for_a_run(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(200), *run = run_path();
    static const char *const environment[] = {
        "TF_CONFIG={\"cluster\": {\"worker\": [\"a:1\", \"b:1\"], \"evaluator\": [\"c:1\"]}, \"task\": {\"type\": "
        "\"evaluator\", \"index\": 0}}",
        NULL};
    pid_t evaluator =
        liana__test_spawn((const char *const[]){"evaluate", run, "--follow", "--every", "0.01", NULL}, environment);
    assert_code(liana__test_command("train", config), 0);
    liana__test_result got = liana__test_wait(evaluator);
    json_t *history = read_json("run/history.json"), *epochs = json_object_get(history, "epochs");
    json_t *root = read_json("run/evaluations.json"), *list = json_object_get(root, "evaluations");
    size_t count = json_array_size(list);
    assert_in_range(count, 1, 3);
    const json_t *last = json_array_get(list, count - 1);
    assert_int_equal(number(last, "iteration"), 21);
    assert_compare(number(last, "loss"), ==, number(json_array_get(epochs, 2), "val_loss"));
    assert_int_equal(count_lines(got.out), count);
    assert_says(got.out, "step-0000000021");
    assert_code(got, 0);
    json_decref(root);
    json_decref(history);
}

/* A folder without its last checkpoint is that of a training that goes on, or was killed. */
static void test_it_can_be_stopped(void **state)
{
    (void)state;
    make_run();
    liana__error error = {0};
    assert_ok(liana__folder_remove(liana__test_path("run/checkpoints/step-0000000021"), &error), &error);
    pid_t evaluator =
        liana__test_spawn((const char *const[]){"evaluate", run_path(), "--follow", "--every", "0.01", NULL}, NULL);
    for (size_t count = 0; count < 2;) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        if (!liana__file_exists(liana__test_path("run/evaluations.json"))) continue;
        json_t *root = read_json("run/evaluations.json");
        count = json_array_size(json_object_get(root, "evaluations"));
        json_decref(root);
    }
    kill(evaluator, SIGTERM);
    assert_refused(liana__test_wait(evaluator), 128 + SIGTERM, "stopped on request");
    /* The training goes on, and so does the evaluator. */
    char config[256];
    snprintf(config, sizeof config, "%s", liana__test_path("config.yaml"));
    assert_code(liana__test_command("train", config, "--resume", "checkpoint.keep=0"), 0);
    assert_int_equal(follow(), 1);
    check_list();
}

/* Changes a byte in the middle of a file. */
static void damage(const char *name)
{
    char *data;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path(name), 1 << 24, &data, &size, &error), &error);
    data[size / 2] ^= 1;
    assert_ok(liana__file_replace(liana__test_path(name), data, size, &error), &error);
    free(data);
}

static void test_damaged_checkpoints_are_left_out(void **state)
{
    (void)state;
    make_run();
    damage("run/checkpoints/step-0000000007/variables.safetensors");
    damage("run/checkpoints/step-0000000014/state.json");
    liana__test_result got = liana__test_command("evaluate", run_path(), "--follow", "--every", "0.01");
    assert_int_equal(count_lines(got.out), 1);
    assert_says(got.err, "left out: ");
    assert_says(got.err, "step-0000000007");
    assert_says(got.err, "step-0000000014");
    assert_code(got, 0);
    json_t *root = read_json("run/evaluations.json"), *list = json_object_get(root, "evaluations");
    assert_int_equal(json_array_size(list), 1);
    assert_int_equal(number(json_array_get(list, 0), "iteration"), 21);
    json_decref(root);
}

static void test_what_does_not_fit_is_refused(void **state)
{
    (void)state;
    make_run();
    const char *run = run_path();
    assert_refused(liana__test_command("evaluate", run, "--every", "1"), 2, "--every belongs to --follow");
    assert_refused(liana__test_command("evaluate", run, "--follow", "--every", "0"), 2, "every");
    assert_refused(liana__test_command("evaluate", run, "--follow", "--checkpoint", "best"), 2,
                   "leave --checkpoint out");
    assert_refused(liana__test_command("evaluate", "--follow"), 2, "--follow needs the run folder");
    assert_refused(liana__test_command("evaluate", run, "--follow", "data.validation=null"), 2, "data.validation");
    static const char *const lists[] = {"{", "[]", "{\"evaluations\": 3}", "{\"evaluations\": [{\"loss\": 1}]}"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        liana__test_write("run/evaluations.json", lists[i], strlen(lists[i]));
        assert_refused(liana__test_command("evaluate", run, "--follow"), 1, "evaluations.json");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_checkpoint_is_evaluated_once),
        cmocka_unit_test(test_it_waits_for_a_run),
        cmocka_unit_test(test_it_can_be_stopped),
        cmocka_unit_test(test_damaged_checkpoints_are_left_out),
        cmocka_unit_test(test_what_does_not_fit_is_refused),
        cmocka_unit_test(test_the_report_has_what_the_evaluator_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
