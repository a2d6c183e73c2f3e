/* Labels of tables that are columns named in data.columns: classes are learnt, and other values are refused. */
#include "harness/command_run.h"
#include "harness/text_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 12 rows "x,label,weight,kind"; that of line 6 has another label. */
static void write_table(const char *label)
{
    char text[2000] = "x,label,weight,kind\n";
    for (int i = 0; i < 12; i++) {
        const size_t used = strlen(text);
        char number[20];
        snprintf(number, sizeof number, "%d", i % 3);
        snprintf(text + used, sizeof text - used, "%d.5,%s,%d.5,%c\n", i % 3, i == 4 ? label : number, i % 2,
                 'a' + i % 3);
    }
    liana__test_write("train.csv", text, strlen(text));
}

/* Trains a model of some classes on the component 'label'. */
static liana__test_result train(const char *columns, const char *more, int classes)
{
    char text[1000], config[300];
    snprintf(text, sizeof text,
             "data:\n"
             "  train: {paths: train.csv, kind: table}\n"
             "  %s%s\n"
             "  inputs: x\n"
             "  targets: label\n"
             "  shuffle: false\n"
             "  %s\n"
             "model: {layers: [{Dense: {units: %d, activation: softmax}}]}\n"
             "train: {epochs: 1, batch_size: 12, loss: sparse_categorical_crossentropy}\n",
             columns ? "columns: " : "", columns ? columns : "", more, classes);
    snprintf(config, sizeof config, "%s", liana__test_write("config.yaml", text, strlen(text)));
    return liana__test_command("train", config, "--out", liana__test_path("run"));
}

#define assert_refuses(columns, more, classes, ...) \
    check_refused(train((columns), (more), (classes)), (const char *const[]){__VA_ARGS__, NULL})

static void check_refused(liana__test_result got, const char *const *parts)
{
    for (; *parts; parts++) assert_says(got.err, *parts);
    assert_int_not_equal(got.code, 0);
    liana__test_free_result(&got);
}

/* A component of the name 'label' is the label, of whichever column it is made. */
static void test_learns(void **state)
{
    (void)state;
    liana__test_folder();
    write_table("1");
    assert_code(train("{x: [x], label: label}", "", 3), 0);
    liana__test_folder();
    write_table("1");
    assert_code(train("{x: [x], label: {from: kind, category: true}}", "", 3), 0);
    liana__test_folder();
    write_table("1");
    assert_code(train("{x: [x], label: label}", "features: {label: label}", 3), 0);
}

/* Without data.columns, each column is a component, except one called `label` next to the labels of the rows. */
static void test_learns_from_all_columns(void **state)
{
    (void)state;
    liana__test_folder();
    write_table("1");
    assert_code(train(NULL, "features: {label: kind}", 3), 0);
    liana__test_folder();
    write_table("1");
    assert_code(train(NULL, "features: {label: kind}\n  validation: {paths: train.csv, kind: table}", 3), 0);
}

/* Values that are no class, of the column that was meant. */
static void test_refuses_values(void **state)
{
    (void)state;
    liana__test_folder();
    write_table("-1");
    assert_refuses("{x: [x], label: label}", "", 3, "train.csv', line 6, record 4: column 'label'", "found -1",
                   "expected a number in [0, 3)");
    write_table("7");
    assert_refuses("{x: [x], label: label}", "", 3, "train.csv', line 6, record 4: column 'label'", "found 7",
                   "expected a number in [0, 3)");
    write_table("1.5");
    assert_refuses("{x: [x], label: label}", "", 3, "train.csv', line 6, record 4: column 'label'", "is 1.5",
                   "which s32 cannot hold");
    /* A label of the records, and a model with fewer classes than the data have. */
    write_table("1");
    assert_refuses("{x: [x]}", "", 2, "train.csv', line 4, record 2", "found 2", "expected a number in [0, 2)");
}

/* Columns of another role. */
static void test_refuses_columns(void **state)
{
    (void)state;
    liana__test_folder();
    write_table("1");
    assert_refuses("{x: [x], label: weight}", "", 3, "train.csv', line 2, record 0: column 'weight'", "is 0.5",
                   "which s32 cannot hold");
    assert_refuses("{x: [x], label: kind}", "", 3, "the component 'label' holds strings");
    assert_refuses("{x: [x], label: weight}", "features: {label: kind}", 3, "data.features.label names 'kind'",
                   "the component 'label' of 'weight'", "expected one of both");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_learns), cmocka_unit_test(test_learns_from_all_columns),
                                       cmocka_unit_test(test_refuses_values), cmocka_unit_test(test_refuses_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
