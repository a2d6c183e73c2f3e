/* liana sweep: its file, its runs, its tables; the differences between configurations. */
#include "harness/command_run.h"
#include "harness/wait_until.h"

#include "base/file.h"
#include "formats/yaml.h"
#include "train/config/differences.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char SWEEP[] = "base: config.yaml\n"
                            "output: sweep\n"
                            "seeds: [3, 4]\n"
                            "set: {train.epochs: 2, checkpoint.every_steps: 1}\n"
                            "settings:\n"
                            "  - {name: small}\n"
                            "  - {name: large, set: {train.batch_size: 64}}\n"
                            "metrics: [val_loss, val_accuracy]\n";

static char sweep_path[256];

static void write_sweep(const char *text)
{
    snprintf(sweep_path, sizeof sweep_path, "%s", liana__test_write("sweep.yaml", text, strlen(text)));
}

static void set_up(uint32_t count)
{
    liana__test_folder();
    liana__test_tiny_run(count);
    write_sweep(SWEEP);
}

static const char *in_test(const char *folder, const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    const char *full = liana__test_path(path);
    snprintf(path, sizeof paths[0], "%s", full);
    return path;
}

static const char *const TABLES[] = {"results.csv", "results.json", "results.md"};

static void assert_same_tables(const char *a, const char *b)
{
    for (size_t i = 0; i < 3; i++) assert_same_file(in_test(a, TABLES[i]), in_test(b, TABLES[i]));
}

static json_t *read_json(const char *folder, const char *name)
{
    json_error_t problem;
    json_t *json = json_load_file(in_test(folder, name), 0, &problem);
    if (!json) fail_msg("%s/%s: %s", folder, name, problem.text);
    return json;
}

/* The value of the last epoch of a run. */
static double last_value(const char *run, const char *key)
{
    json_t *json = read_json(run, "history.json");
    const json_t *epochs = json_object_get(json, "epochs");
    double value = json_number_value(json_object_get(json_array_get(epochs, json_array_size(epochs) - 1), key));
    json_decref(json);
    return value;
}

static void test_the_table_is_mean_and_spread(void **state)
{
    (void)state;
    set_up(96);
    assert_code(liana__test_command("sweep", sweep_path), 0);
    json_t *json = read_json("sweep", "results.json");
    const json_t *large = json_array_get(json_object_get(json, "settings"), 1);
    assert_string_equal(json_string_value(json_object_get(large, "setting")), "large");
    const json_t *loss = json_object_get(json_object_get(large, "metrics"), "val_loss");
    double a = last_value("sweep/large/seed-3", "val_loss"), b = last_value("sweep/large/seed-4", "val_loss");
    assert_compare(a, !=, b);
    assert_near(json_number_value(json_object_get(loss, "mean")), (a + b) / 2, 1e-12);
    /* Of two numbers: |a - b| / sqrt(2). */
    assert_near(json_number_value(json_object_get(loss, "spread")), fabs(a - b) / sqrt(2), 1e-12);
    assert_int_equal(json_integer_value(json_object_get(loss, "count")), 2);
    json_decref(json);
    /* A run of the sweep is a run by itself. */
    assert_code(liana__test_command("evaluate", liana__test_path("sweep/small/seed-3")), 0);
    liana__test_result got = liana__test_command("sweep", sweep_path);
    assert_int_equal(got.code, 0);
    assert_never_says(got.out, "started");
    assert_says(got.out, "4 of 4 runs are finished");
    liana__test_free_result(&got);
}

/* One run is the run that train makes of the same changes, whatever else runs at the time. */
static void test_jobs_change_no_byte(void **state)
{
    (void)state;
    set_up(96);
    assert_code(liana__test_command("sweep", sweep_path, "--jobs", "1"), 0);
    assert_code(liana__test_command("sweep", sweep_path, "--jobs", "2", "--out", liana__test_path("other")), 0);
    assert_same_tables("sweep", "other");
    char config[256];
    snprintf(config, sizeof config, "%s", liana__test_path("config.yaml"));
    assert_code(liana__test_command("train", config, "train.epochs=2", "checkpoint.every_steps=1",
                                    "train.batch_size=64", "train.seed=4"),
                0);
    assert_same_file(in_test("run", "history.json"), in_test("other/large/seed-4", "history.json"));
    assert_same_file(in_test("run", "validation_predictions.csv"),
                     in_test("sweep/large/seed-4", "validation_predictions.csv"));
}

/* Killed after the first run, and again in the middle of one; then asked to stop. */
static void test_a_killed_sweep_goes_on(void **state)
{
    (void)state;
    set_up(384);
    assert_code(liana__test_command("sweep", sweep_path, "--out", liana__test_path("whole")), 0);
    const char *const words[] = {"sweep", sweep_path, "--jobs", "1", NULL};
    pid_t process = liana__test_spawn(words, NULL);
    wait_until(liana__file_exists(liana__test_path("sweep/small/seed-3.done")));
    kill(process, SIGKILL);
    assert_code(liana__test_wait(process), 128 + SIGKILL);
    process = liana__test_spawn(words, NULL);
    wait_until(liana__file_exists(liana__test_path("sweep/large/seed-3/checkpoints/step-0000000001/state.json")));
    kill(process, SIGKILL);
    assert_code(liana__test_wait(process), 128 + SIGKILL);
    process = liana__test_spawn(words, NULL);
    wait_until(liana__file_exists(liana__test_path("sweep/large/seed-4/checkpoints/step-0000000001/state.json")));
    kill(process, SIGTERM);
    liana__test_result got = liana__test_wait(process);
    /* It may have ended before the signal came. */
    if (got.code != 0) assert_int_equal(got.code, 128 + SIGTERM);
    liana__test_free_result(&got);
    got = liana__test_command("sweep", sweep_path);
    assert_int_equal(got.code, 0);
    assert_never_says(got.out, "small/seed-3: ");
    liana__test_free_result(&got);
    assert_same_tables("whole", "sweep");
    assert_same_file(in_test("whole/large/seed-3", "history.json"), in_test("sweep/large/seed-3", "history.json"));
}

static void test_a_grid(void **state)
{
    (void)state;
    set_up(64);
    write_sweep("base: config.yaml\n"
                "output: sweep\n"
                "set: {train.epochs: 1}\n"
                "grid:\n"
                "  train.optimizer.learning_rate: [0.001, 0.01]\n"
                "  train.optimizer: [SGD]\n"
                "  data.augment: [null, [random_flip]]\n");
    liana__test_result got = liana__test_command("sweep", sweep_path, "--dry-run");
    assert_int_equal(got.code, 0);
    assert_says(got.out, "learning_rate=0.001,optimizer=SGD,augment=null/seed-1: to do");
    assert_says(got.out, "learning_rate=0.01,optimizer=SGD,augment=2/seed-1: to do");
    liana__test_free_result(&got);
    assert_false(liana__folder_exists(liana__test_path("sweep")));
}

static void test_mistakes_are_found_before_the_first_run(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *messages[3];
    } cases[] = {
        {"base: config.yaml\noutput: sweep\nset: {train.epoch: 3}\n", {"sweep.yaml:3:", "did you mean 'epochs'"}},
        {"base: config.yaml\noutput: sweep\ngrid:\n  train.optimizer.learning_rat: [1, 2]\n",
         {"sweep.yaml:4:", "unknown key 'learning_rat'"}},
        {"base: config.yaml\noutput: sweep\nset: {\"model.layers[9].Dense.units\": 3}\n",
         {"sweep.yaml:3:", "list of 6"}},
        {"base: config.yaml\noutput: sweep\nset: {train.epochs: many}\n", {"sweep.yaml:3:", "many"}},
        {"base: config.yaml\noutput: sweep\nmetrics: [val_los]\n", {"val_los", "did you mean 'val_loss'"}},
        {"base: config.yaml\noutput: sweep\nsetings: []\n", {"sweep.yaml:3:1", "did you mean 'settings'"}},
        {"base: config.yaml\noutput: sweep\ngrid: {train.epochs: 3}\n", {"sweep.yaml:3:", "a list of values"}},
        {"base: config.yaml\noutput: sweep\ngrid: {train.epochs: []}\n", {"sweep.yaml:3:", "a list of values"}},
        {"base: config.yaml\noutput: sweep\nset: 3\n", {"sweep.yaml:3:", "a mapping"}},
        {"base: config.yaml\noutput: sweep\nsettings: [{set: {}}]\n", {"settings[0]", "name"}},
        {"base: config.yaml\noutput: sweep\nsettings: [{name: a}, {name: a}]\n", {"two settings", "'a'"}},
        {"base: config.yaml\noutput: sweep\nseeds: [1, 2, 1]\n", {"sweep.yaml:3:", "1 is there twice"}},
        {"base: config.yaml\noutput: sweep\nseeds: []\n", {"seeds", "empty"}},
        {"base: config.yaml\noutput: sweep\nseeds: [-1]\n", {"seeds", "-1"}},
        {"base: missing.yaml\noutput: sweep\n", {"missing.yaml"}},
        {"base: config.yaml\n", {"no folder", "--out"}},
        {"output: sweep\n", {"base"}},
        {"- 3\n", {"a list", "'base'"}},
        {"base: config.yaml\noutput: gs://bucket/sweep\n", {"no local folder"}},
        {"base: config.yaml\noutput: sweep\njobs: 0\n", {"sweep.yaml:3:", "jobs"}},
        {"base: config.yaml\noutput: sweep\ncomparisons: [{question: Why?, first: bas, second: base}]\n",
         {"sweep.yaml:3:", "did you mean 'base'"}},
        {"base: config.yaml\noutput: sweep\nsettings: [{name: a}, {name: b, set: {data.train.images: nothing}}]\n",
         {"setting 'b'", "nothing"}},
    };
    set_up(64);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_sweep(cases[i].text);
        liana__test_result got = liana__test_command("sweep", sweep_path);
        for (size_t k = 0; k < 3 && cases[i].messages[k]; k++) {
            if (!strstr(got.err, cases[i].messages[k])) fail_msg("%zu: '%s': %s", i, cases[i].messages[k], got.err);
        }
        if (got.code != 1) assert_int_equal(got.code, 2);
        liana__test_free_result(&got);
        assert_false(liana__folder_exists(liana__test_path("sweep")));
    }
}

static void test_changed_settings_are_refused(void **state)
{
    (void)state;
    set_up(64);
    assert_code(liana__test_command("sweep", sweep_path), 0);
    char changed[sizeof SWEEP + 16];
    snprintf(changed, sizeof changed, "%s", SWEEP);
    memcpy(strstr(changed, "64"), "16", 2);
    write_sweep(changed);
    assert_refused(liana__test_command("sweep", sweep_path), 2, "large/seed-3", "train.batch_size was 64, and is 16");
}

/* The others are trained; the next time it is tried again. */
static void test_a_run_that_fails(void **state)
{
    (void)state;
    set_up(64);
    write_sweep("base: config.yaml\n"
                "output: sweep\n"
                "set: {train.epochs: 2, train.optimizer: SGD}\n"
                "grid: {train.optimizer.learning_rate: [1.0e+30, 0.01]}\n");
    for (int i = 0; i < 2; i++) {
        liana__test_result got = liana__test_command("sweep", sweep_path);
        assert_int_equal(got.code, 1);
        assert_says(got.err, i ? "1 of 1 runs failed" : "1 of 2 runs failed");
        assert_says(got.err, "learning_rate=1.0e+30/seed-1: ");
        assert_says(got.out, "1 of 2 runs are finished");
        liana__test_free_result(&got);
    }
    json_t *json = read_json("sweep", "results.json");
    const json_t *settings = json_object_get(json, "settings");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(settings, 0), "runs")), 0);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(settings, 1), "runs")), 1);
    json_decref(json);
}

static void test_json_lines(void **state)
{
    (void)state;
    set_up(64);
    liana__test_result got = liana__test_command("sweep", sweep_path, "--json", "--jobs", "1");
    assert_int_equal(got.code, 0);
    size_t lines = 0;
    for (char *line = strtok(got.out, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        json_t *event = json_loads(line, 0, NULL);
        assert_non_null(event);
        assert_true(json_is_string(json_object_get(event, "event")));
        json_decref(event);
    }
    assert_int_equal(lines, 2 * 4 + 1);
    liana__test_free_result(&got);
}

/* ---- differences ---- */

static void test_differences(void **state)
{
    (void)state;
    static const char *const texts[] = {"{a: {b: 1, c: [1, 2]}, d: x, f: 1}", "{a: {b: 2, c: [1, 2]}, e: {g: 3}, f: 1}",
                                        "{a: null, d: x, f: 1}"};
    liana__error error = {0};
    liana__arena arena = {0};
    liana__value *trees[3];
    for (size_t i = 0; i < 3; i++) {
        assert_ok(liana__yaml_parse(texts[i], strlen(texts[i]), "t", &arena, &trees[i], &error), &error);
    }
    liana__differences found;
    const liana__value *const all[] = {trees[0], trees[1], trees[2]};
    assert_ok(liana__differences_find(all, 3, (const char *const[]){"a.c", NULL}, &arena, &found, &error), &error);
    assert_int_equal(found.count, 3);
    static const char *const expected[3][4] = {{"a.b", "1", "2", "-"},
                                               {"d", "\"x\"", "-", "\"x\""},
                                               {"e", "-", "{\"g\": 3}", "-"}};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(found.items[i].key, expected[i][0]);
        for (size_t k = 0; k < 3; k++) assert_string_equal(found.items[i].values[k], expected[i][k + 1]);
    }
    liana__differences_free(&found);
    assert_ok(liana__differences_find((const liana__value *const[]){trees[0], trees[0]}, 2, NULL, &arena, &found,
                                      &error),
              &error);
    assert_int_equal(found.count, 0);
    liana__differences_free(&found);
    liana__arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_table_is_mean_and_spread),
        cmocka_unit_test(test_jobs_change_no_byte),
        cmocka_unit_test(test_a_killed_sweep_goes_on),
        cmocka_unit_test(test_a_grid),
        cmocka_unit_test(test_mistakes_are_found_before_the_first_run),
        cmocka_unit_test(test_changed_settings_are_refused),
        cmocka_unit_test(test_a_run_that_fails),
        cmocka_unit_test(test_json_lines),
        cmocka_unit_test(test_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
