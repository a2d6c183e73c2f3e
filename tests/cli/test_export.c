/* liana export: the folder is whole, its checksums hold, its examples are the model's, and nothing is left of one that
 * failed. */
#include "harness/command_run.h"

#include "base/file.h"
#include "formats/npy.h"

#include <jansson.h>
#include <liana/liana.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLASSES = LIANA__TINY_CLASSES, SIZE = LIANA__TINY_SIZE, PIXELS = SIZE * SIZE };

static char run[256], to[256];

static void set_up(void)
{
    liana__test_folder();
    const char *config = liana__test_tiny_run(80);
    assert_code(liana__test_command("train", config, "train.epochs=2", "checkpoint.best=val_accuracy",
                                    "data.class_names=[up left, up right, down left, \"down, right\"]"),
                0);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(to, sizeof to, "%s", liana__test_path("models/tiny/1"));
}

static const char *in(const char *folder, const char *name)
{
    static char paths[4][400];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static char *read_text(const char *path)
{
    char *text;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(path, 1 << 24, &text, &size, &error), &error);
    return text;
}

static void check_sums(const char *folder)
{
    char command[600];
    snprintf(command, sizeof command, "cd '%s' && sha256sum --strict --quiet -c SHA256SUMS", folder);
    assert_int_equal(system(command), 0);
}

/* No folder of a failed export is left, under whatever name. */
static void check_nothing_in(const char *folder)
{
    char command[600];
    snprintf(command, sizeof command, "test -z \"$(ls -A '%s')\"", folder);
    assert_int_equal(system(command), 0);
}

static void read_rows(const char *path, float *values, int64_t count, int64_t each)
{
    liana__npy_array array;
    liana__error error = {0};
    assert_ok(liana__npy_open(path, &array, &error), &error);
    assert_int_equal(array.dims[0], count);
    assert_int_equal(array.row_values, each);
    for (int64_t i = 0; i < count; i++) assert_ok(liana__npy_read_row(&array, i, values + i * each, &error), &error);
    liana__npy_close(&array);
}

/* The recorded outputs are those of the run for the recorded pixels. */
static void test_examples_are_the_models(void **state)
{
    (void)state;
    enum { COUNT = 4 };
    static float pixels[COUNT][PIXELS];
    float outputs[COUNT][CLASSES], expected[CLASSES];
    liana_context *context;
    liana_model *model;
    set_up();
    assert_code(liana__test_command("export", run, "--to", to), 0);
    check_sums(to);
    read_rows(in(to, "examples/input.npy"), pixels[0], COUNT, PIXELS);
    read_rows(in(to, "examples/output.npy"), outputs[0], COUNT, CLASSES);
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_model_load(context, run, &model), LIANA_OK);
    for (int i = 0; i < COUNT; i++) {
        uint8_t bytes[PIXELS];
        for (int k = 0; k < PIXELS; k++) bytes[k] = (uint8_t)pixels[i][k];
        const liana_array image = {"image", LIANA_U8, liana_shape_of(1, SIZE, SIZE, 1), bytes};
        assert_int_equal(liana_predict_on_batch(model, &image, 1, expected), LIANA_OK);
        for (int c = 0; c < CLASSES; c++) assert_near(outputs[i][c], expected[c], 0, i, c);
    }
    liana_model_destroy(model);
    liana_context_destroy(context);
    /* One of each class. */
    json_t *list = json_load_file(in(to, "examples/examples.json"), 0, NULL);
    json_t *examples = json_object_get(list, "examples");
    assert_int_equal(json_array_size(examples), COUNT);
    bool seen[CLASSES] = {false};
    for (size_t i = 0; i < COUNT; i++) {
        const json_int_t label = json_integer_value(json_object_get(json_array_get(examples, i), "label"));
        assert_false(seen[label]);
        seen[label] = true;
    }
    json_decref(list);
}

static void test_the_folder_says_what_it_is(void **state)
{
    (void)state;
    set_up();
    assert_code(liana__test_command("export", run, "--to", to, "--checkpoint", "best"), 0);
    char *names = read_text(in(to, "class_names.txt"));
    assert_string_equal(names, "up left\nup right\ndown left\ndown, right\n");
    free(names);
    char *card = read_text(in(to, "README.md"));
    char *history = read_text(in(run, "history.json")), *copy = read_text(in(to, "training/history.json"));
    assert_string_equal(history, copy);
    assert_says(card, "[batch, 12, 12, 1]");
    assert_says(card, "up left, up right, down left, down, right.");
    assert_says(card, "80 training examples");
    assert_says(card, "| train.epochs | `2` |");
    assert_says(card, "| accuracy | ");
    assert_says(card, "step-");
    free(card);
    free(history);
    free(copy);
    /* It is loaded as any folder, and is no run. */
    assert_code(liana__test_command("convert-model", to, liana__test_path("again.keras")), 0);
    liana__test_result verified = liana__test_command("export", "--verify", to, "--json");
    assert_says(verified.out, "\"examples\": 4, \"largest_difference\": 0.0");
    assert_code(verified, 0);
    /* An exported folder is exported once more, without the run: numbers are made up. */
    const char *again = liana__test_path("again");
    assert_code(liana__test_command("export", to, "--to", again, "--examples", "2"), 0);
    assert_same_file(in(to, "weights.safetensors"), in(again, "weights.safetensors"));
    card = read_text(in(again, "README.md"));
    assert_says(card, "made-up numbers");
    free(card);
    assert_code(liana__test_command("export", "--verify", again), 0);
    /* A checkpoint is a part of its run. */
    assert_code(liana__test_command("export", in(run, "checkpoints/best"), "--to", again, "--force"), 0);
    card = read_text(in(again, "README.md"));
    assert_says(card, "80 training examples");
    free(card);
}

static void test_nothing_is_replaced_by_mistake(void **state)
{
    (void)state;
    set_up();
    assert_code(liana__test_command("export", run, "--to", to), 0);
    assert_refused(liana__test_command("export", run, "--to", to), 1, "exists already", "--force");
    assert_int_equal(unlink(in(to, "README.md")), 0);
    assert_code(liana__test_command("export", run, "--to", to, "--force"), 0);
    check_sums(to);
    assert_true(liana__file_exists(in(to, "README.md")));
    /* A folder of something else, with --force too. */
    const char *file = liana__test_write("mine", "text", 4), *folder = liana__test_path("models");
    assert_refused(liana__test_command("export", run, "--to", folder, "--force"), 1, "SHA256SUMS");
    assert_refused(liana__test_command("export", run, "--to", file), 1, "exists already");
    assert_refused(liana__test_command("export", run, "--to", liana__test_path("x.onnx")), 1, "ONNX");
}

static void test_a_failed_export_leaves_nothing(void **state)
{
    (void)state;
    set_up();
    const char *parent = liana__test_path("empty");
    liana__error error = {0};
    assert_ok(liana__folder_make(parent, &error), &error);
    /* The newest checkpoint is damaged. */
    char variables[400];
    snprintf(variables, sizeof variables, "%s/variables.safetensors", liana__test_newest_checkpoint("run"));
    assert_int_equal(truncate(variables, 100), 0);
    liana__test_result failed = liana__test_command("export", run, "--to", in(parent, "it"));
    assert_says(failed.err, "variables.safetensors");
    assert_code(failed, 1);
    check_nothing_in(parent);
    assert_refused(liana__test_command("export", liana__test_path("nowhere"), "--to", in(parent, "it")), 1, "nowhere");
    check_nothing_in(parent);
    assert_refused(liana__test_command("export", run), 2, "--to");
    assert_refused(liana__test_command("export", "--to", in(parent, "it")), 2, "name the run");
    assert_refused(liana__test_command("export", run, "--to", in(parent, "it"), "--examples", "0"), 2, "--examples");
    check_nothing_in(parent);
}

static void test_changes_are_found(void **state)
{
    (void)state;
    set_up();
    assert_code(liana__test_command("export", run, "--to", to), 0);
    char *names = read_text(in(to, "class_names.txt"));
    liana__error error = {0};
    assert_ok(liana__file_replace(in(to, "class_names.txt"), "other\n", 6, &error), &error);
    assert_refused(liana__test_command("export", "--verify", to), 1, "class_names.txt", "has changed");
    assert_ok(liana__file_replace(in(to, "class_names.txt"), names, strlen(names), &error), &error);
    free(names);
    assert_code(liana__test_command("export", "--verify", to), 0);
    assert_int_equal(unlink(in(to, "examples/output.npy")), 0);
    assert_refused(liana__test_command("export", "--verify", to), 1, "output.npy", "missing");
    assert_refused(liana__test_command("export", "--verify", run), 1, "SHA256SUMS");
    assert_refused(liana__test_command("export", "--verify", liana__test_path("nowhere")), 1, "nowhere");
    assert_refused(liana__test_command("export", run, "--verify", to), 2, "--verify");
    /* Outputs of another model, with checksums that hold. */
    assert_code(liana__test_command("export", run, "--to", to, "--force"), 0);
    liana__npy npy;
    const float wrong[CLASSES] = {0.25f, 0.25f, 0.25f, 0.25f};
    const int64_t dims[] = {CLASSES};
    assert_ok(liana__npy_begin(&npy, in(to, "examples/output.npy"), dims, 1, &error), &error);
    for (int i = 0; i < 4; i++) assert_ok(liana__npy_write(&npy, wrong, 1, &error), &error);
    assert_ok(liana__npy_finish(&npy, &error), &error);
    char command[900];
    snprintf(command, sizeof command,
             "cd '%s' && sed -i \"/output.npy/s/^[^ ]*/$(sha256sum examples/output.npy | cut -c1-64)/\" SHA256SUMS",
             to);
    assert_int_equal(system(command), 0);
    assert_refused(liana__test_command("export", "--verify", to), 1, "output", "was recorded");
}

/* Texts, ids and several outputs: each has a file. */
static void test_tables_and_texts(void **state)
{
    (void)state;
    liana__test_folder();
    char table[4096] = "title,size,kind,price\n", config[400];
    for (int i = 0; i < 40; i++) {
        char line[80];
        snprintf(line, sizeof line, "\"word %d, and more\",%d.5,%s,%d\n", i % 7, i, i % 2 ? "a" : "b", i);
        strcat(table, line);
    }
    liana__test_write("table.csv", table, strlen(table));
    static const char yaml[] = "data:\n  train: table.csv\n  columns:\n    title: {dtype: string}\n    size: size\n"
                               "    kind: {category: true}\n    price: price\n  targets: {kind: kind, price: price}\n"
                               "model:\n  layers:\n    - InputLayer: {shape: [], dtype: string, name: title}\n"
                               "    - TextVectorization: {output_mode: multi_hot, name: words}\n"
                               "    - InputLayer: {shape: [1], name: size}\n"
                               "    - Concatenate: {inputs: [words, size], name: both}\n"
                               "    - Dense: {units: 2, activation: softmax, name: kind, inputs: both}\n"
                               "    - Dense: {units: 1, name: price, inputs: both}\n  outputs: [kind, price]\n"
                               "train:\n  epochs: 1\n  loss: {kind: sparse_categorical_crossentropy, price: mse}\n";
    snprintf(config, sizeof config, "%s", liana__test_write("table.yaml", yaml, sizeof yaml - 1));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(to, sizeof to, "%s", liana__test_path("to"));
    assert_code(liana__test_command("train", config, "--out", run), 0);
    assert_code(liana__test_command("export", run, "--to", to, "--examples", "3"), 0);
    check_sums(to);
    char *titles = read_text(in(to, "examples/input_title.json"));
    assert_says(titles, "word 0, and more");
    free(titles);
    float size[3], kind[6], price[3];
    read_rows(in(to, "examples/input_size.npy"), size, 3, 1);
    read_rows(in(to, "examples/output_kind.npy"), kind, 3, 2);
    read_rows(in(to, "examples/output_price.npy"), price, 3, 1);
    assert_near(size[2], 2.5, 0);
    assert_near(kind[0] + kind[1], 1, 1e-6);
    assert_code(liana__test_command("export", "--verify", to), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_are_the_models),
        cmocka_unit_test(test_the_folder_says_what_it_is),
        cmocka_unit_test(test_nothing_is_replaced_by_mistake),
        cmocka_unit_test(test_a_failed_export_leaves_nothing),
        cmocka_unit_test(test_changes_are_found),
        cmocka_unit_test(test_tables_and_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
