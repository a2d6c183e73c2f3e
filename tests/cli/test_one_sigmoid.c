/* One sigmoid for two classes; models and data that have nothing to learn: from the command. */
#include "harness/text_files.h"
#include "harness/tiny_fit.h"

#include <stdlib.h>
#include <string.h>

/* The model is y = sigmoid(x), so predictions are known: x above 0 is a dog. */
static const char table[] = "x,kind,good\n"
                            "-2,cat,0\n"
                            "-1,cat,0\n"
                            "-0.4,cat,0\n"
                            "0.7,cat,1\n"
                            "0.2,dog,1\n"
                            "3,dog,1\n";
enum { CATS = 4, DOGS = 2, ROWS = CATS + DOGS };

static const char config[] =
    "data:\n"
    "  train: {paths: %s, kind: table}\n"
    "  validation: {paths: %s, kind: table}\n"
    "  columns: {x: [x], label: {from: kind, category: true}, good: good}\n"
    "  inputs: x\n"
    "  targets: label\n"
    "model:\n"
    "  layers: [{InputLayer: {name: x, shape: [1]}}, {Dense: {name: y, units: 1, activation: sigmoid,\n"
    "            kernel_initializer: ones}}]\n"
    "train: {epochs: 1, batch_size: 4, loss: binary_crossentropy, optimizer: {name: SGD, learning_rate: 1.0e-30}}\n";

static char file[256], out[256], data[256];

static void make_config(void)
{
    char text[2048];
    liana__test_folder();
    snprintf(data, sizeof data, "%s", liana__test_write("table.csv", table, strlen(table)));
    snprintf(text, sizeof text, config, data, data);
    snprintf(file, sizeof file, "%s", liana__test_write("config.yaml", text, strlen(text)));
    snprintf(out, sizeof out, "%s", liana__test_path("run"));
}

static double item(const json_t *json, const char *key, size_t index)
{
    const json_t *list = json_object_get(json, key);
    if (json_array_size(list) <= index) fail_msg("'%s' has %zu numbers", key, json_array_size(list));
    return json_number_value(json_array_get(list, index));
}

/* Rows and matrix, at a threshold for dogs. */
static void check_by_class(const char *threshold, double cats_right, double dogs_right)
{
    const char *const words[] = {"evaluate", out, "--by-class", "--json", threshold ? "--threshold" : NULL,
                                 threshold,  NULL};
    liana__test_result got = liana__test_command_words(words);
    assert_int_equal(got.code, 0);
    json_t *json = liana__test_parse_json(got.out);
    liana__test_free_result(&got);
    const double said_cats = cats_right + DOGS - dogs_right, said_dogs = ROWS - said_cats;
    assert_int_equal(json_array_size(json_object_get(json, "support_by_class")), 2);
    assert_compare(item(json, "support_by_class", 0), ==, CATS);
    assert_compare(item(json, "support_by_class", 1), ==, DOGS);
    assert_near(item(json, "recall_by_class", 0), cats_right / CATS, 1e-12);
    assert_near(item(json, "recall_by_class", 1), dogs_right / DOGS, 1e-12);
    assert_near(item(json, "precision_by_class", 0), cats_right / said_cats, 1e-12);
    assert_near(item(json, "precision_by_class", 1), dogs_right / said_dogs, 1e-12);
    const json_t *matrix = json_object_get(json, "confusion_matrix");
    assert_compare(json_integer_value(json_array_get(json_array_get(matrix, 0), 0)), ==, (json_int_t)cats_right);
    assert_compare(json_integer_value(json_array_get(json_array_get(matrix, 1), 1)), ==, (json_int_t)dogs_right);
    const json_t *names = json_object_get(json, "classes");
    assert_string_equal(json_string_value(json_array_get(names, 0)), "cat");
    assert_string_equal(json_string_value(json_array_get(names, 1)), "dog");
    json_decref(json);
}

static void test_both_classes_have_a_row(void **state)
{
    (void)state;
    make_config();
    assert_code(liana__test_command("train", file, "--out", out), 0);
    check_by_class(NULL, 3, 2);
    check_by_class("0.3", 2, 2); /* sigmoid(-0.4) is 0.40 */
    check_by_class("0.6", 3, 1); /* sigmoid(0.2) is 0.55, sigmoid(0.7) is 0.67 */
    liana__test_result got = liana__test_command("evaluate", out, "--by-class");
    assert_int_equal(got.code, 0);
    assert_says(got.out, "\ncat ");
    assert_says(got.out, "\ndog ");
    liana__test_free_result(&got);
}

/* The file of predictions of the table; free it. */
static char *predicted(const char *run)
{
    char path[256];
    snprintf(path, sizeof path, "%s", liana__test_path("predicted.csv"));
    assert_code(liana__test_command("predict", run, data, "--out", path), 0);
    return liana__test_read_text("predicted.csv");
}

static void test_predictions_name_a_class(void **state)
{
    (void)state;
    make_config();
    assert_code(liana__test_command("train", file, "--out", out), 0);
    char *text = predicted(out);
    assert_string_equal(text, "id,label,class,confidence,true_label,true_class,correct\n0,0,cat,0.880797,0,cat,1\n"
                              "1,0,cat,0.731059,0,cat,1\n2,0,cat,0.598688,0,cat,1\n3,1,dog,0.668188,0,cat,0\n"
                              "4,1,dog,0.549834,1,dog,1\n5,1,dog,0.952574,1,dog,1\n");
    free(text);
    liana__test_result got = liana__test_command("predict", out, data, "--threshold", "0.6");
    assert_int_equal(got.code, 0);
    assert_says(got.out, "  0.4502  cat\n  0.5498  dog\n  true: dog (wrong)\n5\n  0.9526  dog\n");
    liana__test_free_result(&got);
    got = liana__test_command("predict", out, data, "--json", "train.threshold=0.7");
    assert_int_equal(got.code, 0);
    assert_says(got.out, "\"id\": \"3\", \"classes\": [{\"label\": 0, \"class\": \"cat\"");
    liana__test_free_result(&got);
    /* The run's own file of the validation. */
    text = liana__test_read_text("run/validation_predictions.csv");
    assert_says(text, "id,label,predicted,confidence\n0,0,0,0.880797\n");
    assert_says(text, "\n3,0,1,0.668188\n4,1,1,0.549834\n");
    free(text);
}

/* data.class_names are the names of a column of numbers, too, and of more than two classes. */
static void test_names_of_a_table(void **state)
{
    (void)state;
    make_config();
    assert_code(liana__test_command("train", file, "--out", out, "data.targets=good",
                                    "data.columns={x: [x], good: good}", "data.class_names=[bad, good]"),
                0);
    liana__test_result got = liana__test_command("evaluate", out, "--by-class");
    assert_int_equal(got.code, 0);
    assert_says(got.out, "\nbad ");
    assert_says(got.out, "0 bad ");
    liana__test_free_result(&got);
    char *text = predicted(out);
    assert_says(text, "\n5,1,good,0.952574,1,good,1\n");
    free(text);
    assert_code(liana__test_command("train", file, "--out", liana__test_path("three"), "data.targets=good",
                                    "data.columns={x: [x], good: good}", "data.class_names=[bad, good, best]",
                                    "train.loss=sparse_categorical_crossentropy",
                                    "model.layers=[{InputLayer: {name: x, shape: [1]}}, "
                                    "{Dense: {name: y, units: 3, activation: softmax}}]"),
                0);
    got = liana__test_command("evaluate", liana__test_path("three"), "--by-class");
    assert_int_equal(got.code, 0);
    assert_says(got.out, "\nbest ");
    liana__test_free_result(&got);
    /* Without names the output is a number. */
    assert_code(liana__test_command("train", file, "--out", liana__test_path("numbers"), "data.targets=good",
                                    "data.columns={x: [x], good: good}"),
                0);
    text = predicted(liana__test_path("numbers"));
    assert_memory_equal(text, "id,y\n", 5);
    free(text);
}

/* ---- nothing to learn ---- */

static void test_a_softmax_of_one_value_is_refused(void **state)
{
    (void)state;
    make_config();
    static const char *const losses[] = {"train.loss=sparse_categorical_crossentropy", "train.loss=mse",
                                         "train.loss=categorical_crossentropy"};
    for (int i = 0; i < 3; i++) {
        assert_refused(liana__test_command("train", file, "--out", out, losses[i], "data.targets=good",
                                           "model.layers=[{InputLayer: {name: x, shape: [1]}}, "
                                           "{Dense: {name: y, units: 1, activation: softmax}}]"),
                       2, "layer 'y'", "always 1", "binary_crossentropy");
    }
    assert_refused(
        liana__test_command("train", file, "--out", out, "data.targets=good",
                            "train.loss={name: sparse_categorical_crossentropy, from_logits: true}",
                            "model.layers=[{InputLayer: {name: x, shape: [1]}}, {Dense: {name: y, units: 1}}]"),
        2, "layer 'y'", "always 1");
    /* Within a model it is said. */
    liana__test_result got =
        liana__test_command("train", file, "--out", out,
                            "model.layers=[{InputLayer: {name: x, shape: [1]}}, {Dense: {name: gate, units: 1, "
                            "activation: softmax}}, {Dense: {name: y, units: 1, activation: sigmoid}}]");
    assert_int_equal(got.code, 0);
    assert_says(got.out, "layer 'gate' is a softmax of one value");
    liana__test_free_result(&got);
}

/* Images in class folders are labelled; of one class there is nothing to tell apart, and of three not with one
 * sigmoid. */
static void test_labels_that_do_not_fit(void **state)
{
    (void)state;
    liana__test_folder();
    char path[256];
    snprintf(path, sizeof path, "%s", liana__test_tiny_run(40));
    static const char one[] = "model.layers=[Flatten, {Dense: {name: y, units: 1, activation: sigmoid}}]";
    assert_refused(liana__test_command("train", path, "--out", liana__test_path("run"), "model.base=null", one,
                                       "train.loss=binary_crossentropy", "data.targets=label"),
                   2, "data.targets", "4 classes", "softmax");
    assert_refused(liana__test_command("train", path, "--out", liana__test_path("run"), "model.base=null", one,
                                       "train.loss=binary_crossentropy"),
                   2, "1 value", "4 classes");
}

/* ---- constants ---- */

static void test_constant_columns_are_named(void **state)
{
    (void)state;
    static const char constants[] =
        "a,b,c,d,y\n1,7,1000000,0,0\n2,7,1000000.0625,0,1\n3,7,1000000,0,0\n1,7,1000000,0,1\n";
    static const char text[] = "data:\n  train: {paths: %s, kind: table}\n"
                               "  columns: {x: [a, b, c, d], y: y}\n  inputs: x\n  targets: y\n"
                               "model: {layers: [Normalization, {Dense: {units: 1}}]}\n"
                               "train: {epochs: 1, batch_size: 2, loss: mse}\n";
    char written[1024];
    liana__test_folder();
    snprintf(data, sizeof data, "%s", liana__test_write("constants.csv", constants, strlen(constants)));
    snprintf(written, sizeof written, text, data);
    snprintf(file, sizeof file, "%s", liana__test_write("config.yaml", written, strlen(written)));
    liana__test_result got = liana__test_command("train", file, "--out", liana__test_path("run"));
    assert_int_equal(got.code, 0);
    assert_says(got.out, "the column 'b' is 7 in all training examples; it divides by 1e-07");
    assert_says(got.out, "the column 'c' is almost 1e+06 in all");
    assert_says(got.out, "the column 'd' is 0 in all");
    assert_never_says(got.out, "the column 'a'");
    liana__test_free_result(&got);
    got = liana__test_command("train", file, "--out", liana__test_path("apart"), "data.columns={b: b, y: y}",
                              "data.inputs=b");
    assert_int_equal(got.code, 0);
    assert_says(got.out, "the column 'b' is 7");
    liana__test_free_result(&got);
}

static void test_smoothing_of_a_sparse_loss(void **state)
{
    (void)state;
    make_config();
    assert_refused(liana__test_command("train", file, "--out", out,
                                       "train.loss={name: sparse_categorical_crossentropy, label_smoothing: 0.1}"),
                   2, "label_smoothing", "categorical_crossentropy", "as in Keras");
    assert_refused(liana__test_command("train", file, "--out", out,
                                       "train.loss={name: SparseCategoricalCrossentropy, label_smoothing: 0.1}"),
                   2, "label_smoothing", "takes the numbers of classes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_classes_have_a_row),    cmocka_unit_test(test_predictions_name_a_class),
        cmocka_unit_test(test_names_of_a_table),           cmocka_unit_test(test_a_softmax_of_one_value_is_refused),
        cmocka_unit_test(test_labels_that_do_not_fit),     cmocka_unit_test(test_constant_columns_are_named),
        cmocka_unit_test(test_smoothing_of_a_sparse_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
