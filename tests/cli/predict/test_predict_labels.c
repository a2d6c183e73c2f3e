/* liana predict of models with several labels: which labels an example has, in each form of file, by thresholds that
 * the test applies to logistic functions of its own; and thresholds that mean nothing. */
#include "harness/command_run.h"
#include "harness/text_files.h"

#include "base/file.h"
#include "base/text.h"
#include "formats/example.h"
#include "formats/tfrecord.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 5, LABELS = 3 };

/* "sweet, sour" has a comma, which CSV has to quote. */
static const char *const names[LABELS] = {"red", "round", "sweet, sour"};
static const double logits[COUNT][LABELS] = {{2, -1, 0.5}, {-3, -2, -1}, {1, 1, 1}, {-0.2, 0.1, -4}, {0.3, -0.3, 6}};

static char run[300], table[300];

static double probability(int row, int label)
{
    return 1 / (1 + exp(-logits[row][label]));
}

static void write_table(void)
{
    liana__text text = {0};
    liana__text_add(&text, "id,a,b,c,red,round,\"sweet, sour\"\n");
    for (int i = 0; i < COUNT; i++) {
        liana__text_add(&text, "n%d", i);
        for (int k = 0; k < LABELS; k++) liana__text_add(&text, ",%.17g", logits[i][k]);
        liana__text_add(&text, ",1,0,%d\n", i & 1);
    }
    snprintf(table, sizeof table, "%s", liana__test_write("t.csv", text.data, text.length));
    liana__text_free(&text);
}

/* The model gives the logistic function of its input. */
static void train(const char *targets, const char *units, const char *name)
{
    char config[1200];
    const int length = snprintf(
        config, sizeof config,
        "data:\n  train: {paths: t.csv, kind: table}\n  columns: {id: id, x: [a, b, c], tags: %s}\n  inputs: x\n"
        "  targets: tags\nmodel: {layers: [{Dense: {%s, kernel_initializer: identity, name: tags}}]}\n"
        "train: {epochs: 1, %s, optimizer: {name: SGD, learning_rate: 1.0e-30}}\n",
        targets, units, strstr(units, "sigmoid") ? "loss: binary_crossentropy" : "loss: mse");
    snprintf(run, sizeof run, "%s", liana__test_path(name));
    assert_code(liana__test_command("train", liana__test_write("config.yaml", config, (size_t)length), "--out", run),
                0);
}

static void begin(void)
{
    liana__test_folder();
    write_table();
    train("[red, round, 'sweet, sour']", "units: 3, activation: sigmoid", "run");
}

/* "red|round" of a row. */
static void join_labels(int row, double threshold, char text[64])
{
    *text = 0;
    for (int k = 0; k < LABELS; k++) {
        if (probability(row, k) <= threshold) continue;
        if (*text) strcat(text, "|");
        strcat(text, names[k]);
    }
}

static void test_text(void **state)
{
    (void)state;
    begin();
    liana__test_result got = liana__test_command("predict", run, table);
    assert_says(got.out, "n0\n  0.8808  red (yes)\n  0.6225  sweet, sour (yes)\n  0.2689  round (no)\nn1\n");
    assert_code(got, 0);
    got = liana__test_command("predict", run, table, "--threshold", "0.7", "--top", "2");
    assert_says(got.out, "n0\n  0.8808  red (yes)\n  0.6225  sweet, sour (no)\nn1\n");
    assert_code(got, 0);
}

static void check_json(const char *threshold)
{
    liana__test_result got = liana__test_command("predict", run, table, "--json", "--threshold", threshold);
    char *at = got.out;
    for (int i = 0; i < COUNT; i++) {
        char *end = strchr(at, '\n'), joined[64] = "", expected[64];
        *end = 0;
        json_t *event = liana__test_parse_json(at);
        const json_t *labels = json_object_get(event, "labels"), *all = json_object_get(event, "probabilities");
        for (size_t k = 0; k < json_array_size(labels); k++) {
            if (k) strcat(joined, "|");
            strcat(joined, json_string_value(json_array_get(labels, k)));
        }
        join_labels(i, strtod(threshold, NULL), expected);
        assert_string_equal(joined, expected);
        for (int k = 0; k < LABELS; k++) {
            const double value = json_number_value(json_object_get(all, names[k]));
            if (fabs(value - probability(i, k)) > 1e-6) fail_msg("%s: %g, not %g", names[k], value, probability(i, k));
        }
        json_decref(event);
        at = end + 1;
    }
    assert_code(got, 0);
}

static void check_csv(const char *threshold)
{
    const char *path = liana__test_path("p.csv");
    assert_code(liana__test_command("predict", run, table, "--out", path, "--threshold", threshold), 0);
    char *text = liana__test_read_text("p.csv"), *at = text;
    static const char header[] = "id,labels,red,round,\"sweet, sour\"\n";
    assert_memory_equal(text, header, sizeof header - 1);
    at += sizeof header - 1;
    for (int i = 0; i < COUNT; i++) {
        char labels[64], start[96];
        join_labels(i, strtod(threshold, NULL), labels);
        const char *quote = strchr(labels, ',') ? "\"" : "";
        snprintf(start, sizeof start, "n%d,%s%s%s,", i, quote, labels, quote);
        assert_memory_equal(at, start, strlen(start));
        at += strlen(start);
        for (int k = 0; k < LABELS; k++) {
            const double value = strtod(at, &at);
            if (fabs(value - probability(i, k)) > 1e-6) fail_msg("%s: %g, not %g", names[k], value, probability(i, k));
            assert_int_equal(*at, k + 1 < LABELS ? ',' : '\n');
            at++;
        }
    }
    assert_int_equal(*at, 0);
    free(text);
}

static void check_records(const char *threshold)
{
    liana__tfrecord *file;
    liana__example example = {0};
    liana__error error;
    const char *path = liana__test_path("p.tfrecord");
    assert_code(liana__test_command("predict", run, table, "--out", path, "--threshold", threshold), 0);
    assert_ok(liana__tfrecord_open(path, NULL, &file, &error), &error);
    for (size_t i = 0; i < COUNT; i++) {
        const uint8_t *bytes;
        size_t size;
        liana__feature labels;
        char joined[64] = "", expected[64];
        assert_ok(liana__tfrecord_get(file, i, &bytes, &size, &error), &error);
        assert_ok(liana__example_parse(&example, path, i, bytes, size, &error), &error);
        assert_true(liana__example_find(&example, "labels", &labels));
        for (size_t k = 0; k < labels.count; k++) {
            if (k) strcat(joined, "|");
            strncat(joined, (const char *)labels.bytes[k].data, labels.bytes[k].len);
        }
        join_labels((int)i, strtod(threshold, NULL), expected);
        assert_string_equal(joined, expected);
    }
    liana__example_free(&example);
    liana__tfrecord_close(file);
}

/* Above all, above some, above none. */
static void test_files(void **state)
{
    (void)state;
    static const char *const thresholds[] = {"0.001", "0.5", "0.7", "0.9999"};
    begin();
    for (size_t i = 0; i < sizeof thresholds / sizeof *thresholds; i++) {
        check_json(thresholds[i]);
        check_csv(thresholds[i]);
        check_records(thresholds[i]);
    }
}

/* Numbers are no labels, though each has a column. */
static void test_no_labels(void **state)
{
    (void)state;
    begin();
    train("[red, round, 'sweet, sour']", "units: 3", "numbers");
    liana__test_result got = liana__test_command("predict", run, table);
    assert_says(got.out, "n0\n  2 -1 0.5\nn1\n");
    assert_code(got, 0);
    assert_refused(liana__test_command("predict", run, table, "--threshold", "0.5"), 2,
                   "--threshold is for models that end in a sigmoid", "this one gives numbers; leave it out");
}

static void test_threshold_of_classes(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(64);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", config, "train.epochs=1", "--out", run), 0);
    liana__test_tiny_data("new", COUNT, 9);
    assert_refused(liana__test_command("predict", run, liana__test_path("new-images"), "--threshold", "0.2"), 2,
                   "--threshold is for models that end in a sigmoid", "this one says the likeliest class");
}

/* Nothing is left to predict: an empty file would look like a result. */
static void test_all_bad(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(64);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", config, "train.epochs=1", "--out", run), 0);
    const char *bad = liana__test_write("bad.png", "no image", 8);
    liana__test_result got = liana__test_command("predict", run, bad, "data.on_bad_record=skip");
    assert_says(got.err, "batch 1 is empty: none of its 1 records can be used");
    assert_says(got.err, "predict: none of the 1 examples can be read, so there is nothing to predict");
    assert_code(got, 1);
    got = liana__test_command("predict", run, bad, "data.on_bad_record=skip", "--out", liana__test_path("p.csv"));
    assert_says(got.err, "nothing to predict");
    assert_code(got, 1);
    assert_false(liana__file_exists(liana__test_path("p.csv")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),      cmocka_unit_test(test_files),
        cmocka_unit_test(test_no_labels), cmocka_unit_test(test_threshold_of_classes),
        cmocka_unit_test(test_all_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
