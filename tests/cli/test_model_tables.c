/* evaluate and predict with --model and --weights, for tables and for models with several inputs and outputs: the same
 * numbers as from the run that trained them; the names of categories; and refusals. */
#include "harness/command_run.h"

#include "base/file.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 90 };

#define COLUMNS "data.columns={a: a, b: b, y: y, kind: {category: true, vocabulary: [blue, green, red]}}"
#define LOSS "train.loss={kind: sparse_categorical_crossentropy, y: mse}"

static char model[300], weights[400], table[300], run[300];

/* Two numbers; which of them is larger, and their sum. */
static void write_table(void)
{
    char text[8192] = "a,b,kind,y\n";
    for (int i = 0; i < ROWS; i++) {
        const double a = (double)(i * 37 % 41) / 40, b = (double)(i * 23 % 31) / 30;
        const char *kind = a > b + 0.2 ? "red" : b > a + 0.2 ? "blue" : "green";
        snprintf(text + strlen(text), sizeof text - strlen(text), "%g,%g,%s,%g\n", a, b, kind, a + b);
    }
    snprintf(table, sizeof table, "%s", liana__test_write("t.csv", text, strlen(text)));
}

static void train(void)
{
    static const char config[] = "data:\n"
                                 "  train: {paths: t.csv, kind: table}\n"
                                 "  columns: {a: a, b: b, y: y, kind: {category: true}}\n"
                                 "model:\n"
                                 "  layers:\n"
                                 "    - InputLayer: {name: a, shape: [1]}\n"
                                 "    - InputLayer: {name: b, shape: [1]}\n"
                                 "    - Concatenate: {inputs: [a, b]}\n"
                                 "    - Normalization: {}\n"
                                 "    - Dense: {name: h, units: 8, activation: tanh}\n"
                                 "    - Dense: {name: kind, units: 3, activation: softmax}\n"
                                 "    - Dense: {name: y, units: 1, inputs: h}\n"
                                 "  outputs: [kind, y]\n"
                                 "train:\n"
                                 "  epochs: 10\n"
                                 "  batch_size: 16\n"
                                 "  loss: {kind: sparse_categorical_crossentropy, y: mse}\n"
                                 "  metrics: {kind: [accuracy]}\n"
                                 "  optimizer: {name: Adam, learning_rate: 0.02}\n"
                                 "output: run\n";
    liana__test_folder();
    write_table();
    assert_code(liana__test_command("train", liana__test_write("config.yaml", config, strlen(config))), 0);
    liana__arena arena = {0};
    liana__paths found;
    liana__error error = {0};
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(model, sizeof model, "%s", liana__test_path("run/model.json"));
    const char *pattern = liana__test_path("run/checkpoints/*/variables.safetensors");
    assert_ok(liana__file_match(pattern, &arena, &found, &error), &error);
    snprintf(weights, sizeof weights, "%s", found.items[found.count - 1]);
    liana__arena_free(&arena);
}

/* Without the name of the loaded file, at the end. */
static void assert_same_numbers(liana__test_result one, liana__test_result two)
{
    const char *end = strstr(one.out, ", with '");
    const size_t length = end ? (size_t)(end - one.out) : strlen(one.out);
    if (strncmp(one.out, two.out, length) != 0 || length < 20) fail_msg("%s\ndiffers from\n%s", two.out, one.out);
    assert_code(one, 0);
    assert_code(two, 0);
}

static void test_a_model_alone_measures_what_its_run_does(void **state)
{
    (void)state;
    train();
    assert_same_numbers(liana__test_command("evaluate", run, "--data", table),
                        liana__test_command("evaluate", "--model", model, "--weights", weights, "--data", table,
                                            COLUMNS, LOSS, "train.metrics={kind: [accuracy]}"));
    assert_same_numbers(liana__test_command("predict", run, table, "--json"),
                        liana__test_command("predict", "--model", model, "--weights", weights, table, "--json", COLUMNS,
                                            "train.batch_size=16"));
    /* The columns of targets, and losses, are not needed to predict. Bits may depend on how many rows a product has, so
     * the batches are those of the run. */
    assert_code(liana__test_command("predict", run, table, "--out", liana__test_path("one.csv")), 0);
    assert_code(liana__test_command("predict", "--model", model, "--weights", weights, table, "--out",
                                    liana__test_path("two.csv"), "data.columns={a: a, b: b}", "train.batch_size=16"),
                0);
    assert_same_file(liana__test_path("one.csv"), liana__test_path("two.csv"));
}

static void test_names_of_categories_are_shown(void **state)
{
    (void)state;
    train();
    liana__test_result got = liana__test_command("predict", run, table);
    /* The first row has a = 0 and b = 0; the second a = 0.925 and b = 0.767. */
    assert_memory_equal(got.out, "0\n  kind: ", strlen("0\n  kind: "));
    assert_says(got.out, " green, ");
    assert_says(got.out, " red\n  y: ");
    assert_code(got, 0);
    got = liana__test_command("predict", run, table, "--json");
    assert_says(got.out, "\"outputs\": {\"kind\": {\"values\": [");
    assert_says(got.out, "\"class\": \"blue\"");
    assert_says(got.out, "\"y\": {\"values\": [");
    assert_code(got, 0);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    train();
    assert_refused(liana__test_command("evaluate", "--model", model, "--weights", weights, "--data", table, LOSS,
                                       "data.columns={a: a, b: b, y: y, kind: {category: true}}"),
                   2, "data.columns.kind", "list the names in that order");
    assert_refused(liana__test_command("evaluate", "--model", model, "--weights", weights, "--data", table, COLUMNS), 2,
                   "train.loss: the model has 2 outputs");
    assert_refused(liana__test_command("evaluate", "--model", model, "--weights", weights, "--data", table, COLUMNS,
                                       "train.loss={kind: mse, z: mse}"),
                   2, "train.loss", "'z'");
    assert_refused(liana__test_command("predict", "--model", model, "--weights", weights, table,
                                       "data.columns={a: [a, b], b: b}"),
                   1, "'a'", "[2]");
    assert_refused(liana__test_command("predict", "--model", model, "--weights", weights, table,
                                       "data.columns={a: a, x: b}"),
                   1, "'b'");
    assert_refused(liana__test_command("predict", "--model", model, "--weights", weights, table,
                                       "data.columns={a: a, b: c}"),
                   1, "no component for the input 'b'");
    assert_refused(liana__test_command("predict", "--model", model, table, "data.columns={a: a, b: b}"), 2,
                   "has no weights");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_model_alone_measures_what_its_run_does),
        cmocka_unit_test(test_names_of_categories_are_shown),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
