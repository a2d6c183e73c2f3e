/* Commands on tables, from training to predictions: ids, counts of classes, which data `take` is for, pictures. */
#include "harness/command_run.h"
#include "harness/text_files.h"

#include "base/file.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* "id,x,label" with ids 0007, 0008, ...; two classes. */
static const char *write_table(const char *name, int count)
{
    char text[20000] = "id,x,label\n";
    for (int i = 0; i < count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%04d,%d,%s\n", i + 7, i % 3, i % 3 ? "low" : "high");
    }
    return liana__test_write(name, text, strlen(text));
}

static const char *write_config(const char *take)
{
    char text[1000];
    write_table("train.csv", 60);
    write_table("val.csv", 30);
    snprintf(text, sizeof text,
             "data:\n"
             "  train: {paths: train.csv, kind: table}\n"
             "  validation: {paths: val.csv, kind: table}\n"
             "  columns: {id: id, x: x}\n"
             "  inputs: x\n"
             "  %s\n"
             "model: {layers: [{Dense: {units: 2, activation: softmax}}]}\n"
             "train: {epochs: 1, batch_size: 20}\n"
             "output: run\n",
             take);
    return liana__test_write("config.yaml", text, strlen(text));
}

static int64_t count_of(liana__test_result got)
{
    if (got.code) print_error("%s", got.err);
    assert_int_equal(got.code, 0);
    json_t *json = liana__test_parse_json(got.out);
    int64_t count = json_integer_value(json_object_get(json, "examples"));
    json_decref(json);
    liana__test_free_result(&got);
    return count;
}

static int64_t count_rows(const char *name)
{
    char *text = liana__test_read_text(name);
    int64_t rows = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++) rows++;
    free(text);
    return rows - 1;
}

static int64_t predict(const char *data, const char *take)
{
    const char *out = liana__test_path("p.csv");
    liana__test_result got = take ? liana__test_command("predict", liana__test_path("run"), data, "--out", out, take)
                                  : liana__test_command("predict", liana__test_path("run"), data, "--out", out);
    assert_code(got, 0);
    return count_rows("p.csv");
}

/* take of the configuration is for the data that it names; that of the command line for the data named there. */
static void test_take(void **state)
{
    (void)state;
    liana__test_folder();
    assert_code(liana__test_command("train", write_config("take: 12")), 0);
    char run[300];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    char other[300], inner[400];
    snprintf(other, sizeof other, "%s", write_table("other.csv", 40));
    snprintf(inner, sizeof inner, "data.validation={paths: %s, kind: table, take: 9}", other);
    assert_int_equal(count_of(liana__test_command("evaluate", run, "--json")), 12);
    assert_int_equal(count_of(liana__test_command("evaluate", run, "--json", "data.take=5")), 5);
    assert_int_equal(count_of(liana__test_command("evaluate", run, "--json", "data.take=0")), 30);
    assert_int_equal(count_of(liana__test_command("evaluate", run, "--json", "--data", other)), 40);
    assert_int_equal(count_of(liana__test_command("evaluate", run, "--json", "--data", other, "data.take=7")), 7);
    assert_int_equal(count_of(liana__test_command("evaluate", run, "--json", inner)), 9);
    liana__test_result got = liana__test_command("evaluate", run, "--data", other);
    assert_says(got.err, "data.take of the run, 12, is for the run's own data");
    assert_code(got, 0);
    assert_int_equal(predict(other, NULL), 40);
    assert_int_equal(predict(other, "data.take=3"), 3);
    /* The data of a configuration are checked whole. */
    got = liana__test_command("check", liana__test_path("config.yaml"), "--json");
    json_t *json = liana__test_parse_json(got.out), *parts = json_object_get(json, "parts");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(parts, 0), "records")), 60);
    json_decref(json);
    assert_code(got, 0);
}

/* A take of the source itself goes with it. */
static void test_take_of_a_source(void **state)
{
    (void)state;
    liana__test_folder();
    assert_code(liana__test_command("train", write_config("take: 0"), "data.validation.take=11"), 0);
    char run[300];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_int_equal(count_of(liana__test_command("evaluate", run, "--json")), 11);
    char other[300];
    snprintf(other, sizeof other, "%s", write_table("other.csv", 40));
    assert_int_equal(count_of(liana__test_command("evaluate", run, "--json", "--data", other)), 40);
}

static void test_ids(void **state)
{
    (void)state;
    liana__test_folder();
    assert_code(liana__test_command("train", write_config("take: 0")), 0);
    assert_int_equal(predict(liana__test_path("val.csv"), NULL), 30);
    char *text = liana__test_read_text("p.csv");
    assert_begins(text, "id,label,class,confidence,true_label,true_class,correct\n0007,");
    assert_says(text, "\n0036,");
    free(text);
    liana__test_result got =
        liana__test_command("predict", liana__test_path("run"), liana__test_path("val.csv"), "data.take=1");
    assert_begins(got.out, "0007\n");
    assert_code(got, 0);
    /* Through the stages of a dataset, too. */
    char test[400];
    snprintf(test, sizeof test, "data.test={paths: %s, kind: table, skip: 2}", liana__test_path("val.csv"));
    assert_code(liana__test_command("train", liana__test_path("config.yaml"), test, "--out", liana__test_path("two")),
                0);
    text = liana__test_read_text("two/test_predictions.csv");
    assert_says(text, "\n0009,");
    assert_never_says(text, "\n0007,");
    free(text);
}

static int64_t class_count(const json_t *json, size_t label, const char *part)
{
    return json_integer_value(json_object_get(json_array_get(json_object_get(json, "classes"), label), part));
}

static void test_check_counts(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_result got = liana__test_command("check", write_config("take: 0"), "--json");
    json_t *json = liana__test_parse_json(got.out);
    assert_int_equal(class_count(json, 0, "train"), 20);
    assert_int_equal(class_count(json, 1, "train"), 40);
    assert_int_equal(class_count(json, 1, "validation"), 20);
    assert_int_equal(json_array_size(json_object_get(json, "warnings")), 0);
    json_decref(json);
    assert_code(got, 0);
    got = liana__test_command("check", liana__test_path("train.csv"), "--json");
    json = liana__test_parse_json(got.out);
    assert_int_equal(class_count(json, 0, "data"), 20);
    json_decref(json);
    assert_code(got, 0);
    /* A class that is missing is still warned of, and a bad row is still found. */
    static const char few[] = "id,x,label\n1,1,low\n2,2,low\n";
    liana__test_write("val.csv", few, sizeof few - 1);
    got = liana__test_command("check", liana__test_path("config.yaml"));
    assert_says(got.out, "validation: 1 of 2 classes have no example");
    assert_code(got, 0);
    static const char bad[] = "id,x,label\n1,1,low\n2,two,high\n3,1,high\n4,2,high\n";
    liana__test_write("val.csv", bad, sizeof bad - 1);
    got = liana__test_command("check", liana__test_path("config.yaml"));
    assert_says(got.out, "'two'");
    assert_code(got, 1);
}

static void test_pictures(void **state)
{
    (void)state;
    liana__test_folder();
    write_config("take: 0");
    assert_code(liana__test_command("data", liana__test_path("config.yaml"), "--out", liana__test_path("pictures")), 0);
    assert_true(liana__file_exists(liana__test_path("pictures/labels.png")));
    assert_true(liana__file_exists(liana__test_path("pictures/column-01.svg")));
    assert_false(liana__file_exists(liana__test_path("pictures/samples.png")));
    /* Without labels; with categories and several numbers in a component. */
    assert_code(liana__test_command("data", liana__test_path("config.yaml"), "--out", liana__test_path("pictures"),
                                    "data.columns={y: x, f: [id, x], c: {from: label, "
                                    "category: true}}",
                                    "data.inputs=f", "data.targets=y", "train.loss=mse",
                                    "model.layers=[{Dense: {units: 1}}]"),
                0);
    assert_true(liana__file_exists(liana__test_path("pictures/column-04.png")));
    assert_false(liana__file_exists(liana__test_path("pictures/column-05.png")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take),         cmocka_unit_test(test_take_of_a_source), cmocka_unit_test(test_ids),
        cmocka_unit_test(test_check_counts), cmocka_unit_test(test_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
