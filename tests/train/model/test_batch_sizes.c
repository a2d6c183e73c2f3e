/* Results do not depend on how many examples a batch of the validation or of the predictions has, nor on that of the
 * training: pictures, measures and predictions of a run are those of equal batches. `make check-batches` runs all
 * subcommands with more sizes under sanitizers. */
#include "harness/text_files.h"
#include "harness/tiny_fit.h"

#include "base/file.h"
#include "formats/image.h"
#include "formats/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The tiny run has 120 training, 60 validation and 60 test images, and batches of 32 and 8. */
enum { NUM_TRAINING = 120, NUM_PREDICTED = 60 };

static char run[256];

static void make_run(void)
{
    liana__test_folder();
    assert_code(liana__test_command("train", liana__test_tiny_run(NUM_TRAINING), "train.epochs=2"), 0);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
}

static const char *setting(const char *key, int value)
{
    static char texts[4][64];
    static int next;
    char *text = texts[next++ % 4];
    snprintf(text, sizeof texts[0], "%s=%d", key, value);
    return text;
}

/* Of the training and of the validation: larger, smaller, one, more than there are examples, no divisor. */
static const int sizes[][2] = {{64, 37}, {16, 300}, {1, 60}, {60, 1}, {7, 59}, {300, 2}};
enum { NUM_SIZES = sizeof sizes / sizeof *sizes };

static void test_pictures(void **state)
{
    (void)state;
    char expected[256], folder[256];
    make_run();
    snprintf(expected, sizeof expected, "%s", liana__test_path("equal/predictions.png"));
    assert_code(liana__test_command("report", run, "--out", liana__test_path("equal")), 0);
    for (size_t i = 0; i < NUM_SIZES; i++) {
        snprintf(folder, sizeof folder, "%s", liana__test_path("other"));
        assert_code(liana__test_command("report", run, "--out", folder, setting("train.microbatch", 1),
                                        setting("train.batch_size", sizes[i][0]),
                                        setting("train.validation_batch_size", sizes[i][1])),
                    0);
        assert_same_file(liana__test_path("other/predictions.png"), expected);
    }
}

static double measure(liana__test_result got, const char *key)
{
    liana__arena arena = {0};
    liana__value *event;
    assert_ok(liana__json_parse(got.out, strcspn(got.out, "\n"), "out", &arena, &event, NULL), NULL);
    const double value = liana__value_get(event, key)->number;
    liana__arena_free(&arena);
    return value;
}

static void test_measures(void **state)
{
    (void)state;
    make_run();
    liana__test_result equal = liana__test_command("evaluate", run, "--json");
    const double loss = measure(equal, "loss"), accuracy = measure(equal, "accuracy");
    assert_code(equal, 0);
    for (size_t i = 0; i < NUM_SIZES; i++) {
        liana__test_result got = liana__test_command("evaluate", run, "--json", setting("train.microbatch", 1),
                                                     setting("train.batch_size", sizes[i][0]),
                                                     setting("train.validation_batch_size", sizes[i][1]));
        assert_near(measure(got, "loss"), loss, 1e-5);
        assert_compare(measure(got, "accuracy"), ==, accuracy);
        assert_code(got, 0);
    }
}

/* Ids, labels and confidences to 5 digits. */
static void assert_same_predictions(const char *a, const char *b)
{
    char *left = liana__test_read_text(a), *right = liana__test_read_text(b);
    const char *x = left, *y = right;
    for (int line = 0; line <= NUM_PREDICTED; line++) {
        const size_t length = strcspn(x, "\n");
        assert_int_equal(x[length], '\n');
        assert_int_equal(strcspn(y, "\n"), length);
        const size_t exact = line && length > 3 ? length - 3 : length; /* the last digits may be rounded */
        if (memcmp(x, y, exact) != 0) fail_msg("%.*s instead of %.*s", (int)length, y, (int)length, x);
        x += length + 1;
        y += length + 1;
    }
    assert_true(!*x && !*y);
    free(left);
    free(right);
}

static void test_predictions(void **state)
{
    (void)state;
    make_run();
    char equal[256], other[256], images[256];
    snprintf(images, sizeof images, "%s", liana__test_path("test-images"));
    snprintf(equal, sizeof equal, "%s", liana__test_path("equal.csv"));
    snprintf(other, sizeof other, "%s", liana__test_path("other.csv"));
    assert_code(liana__test_command("predict", run, images, "--out", equal), 0);
    for (size_t i = 0; i < NUM_SIZES; i++) {
        assert_code(liana__test_command("predict", run, images, "--out", other, setting("train.microbatch", 1),
                                        setting("train.batch_size", sizes[i][0]),
                                        setting("train.validation_batch_size", sizes[(i + 1) % NUM_SIZES][1]),
                                        setting("train.prediction_batch_size", sizes[i][1])),
                    0);
        assert_same_predictions("equal.csv", "other.csv");
    }
}

/* A run that trains with such sizes: its last validation is what evaluating it says, and its predictions are those that
 * `predict` makes in equal batches. */
static void test_training(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_SIZES; i++) {
        liana__test_folder();
        assert_code(liana__test_command("train", liana__test_tiny_run(NUM_TRAINING), "train.epochs=1",
                                        setting("train.microbatch", 1), setting("train.batch_size", sizes[i][0]),
                                        setting("train.validation_batch_size", sizes[i][1]),
                                        setting("train.prediction_batch_size", sizes[i][1] + 3)),
                    0);
        snprintf(run, sizeof run, "%s", liana__test_path("run"));
        liana__arena arena = {0};
        liana__value *history;
        assert_ok(liana__json_read(liana__test_path("run/history.json"), &arena, &history, NULL), NULL);
        const liana__value *epoch = liana__value_get(history, "epochs")->items[0];
        liana__test_result got = liana__test_command("evaluate", run, "--json", setting("train.batch_size", 8),
                                                     setting("train.validation_batch_size", 8));
        assert_near(measure(got, "loss"), liana__value_get(epoch, "val_loss")->number, 1e-5);
        assert_code(got, 0);
        liana__arena_free(&arena);
    }
}

static void write_photo(const char *folder, int number, bool whole)
{
    enum { SIDE = 12 };
    uint8_t pixels[SIDE * SIDE];
    liana__error error = {0};
    liana__text png = {0};
    char name[64];
    for (int k = 0; k < SIDE * SIDE; k++) pixels[k] = (uint8_t)(number * 29 + k * (number % 5));
    assert_ok(liana__png_encode(pixels, SIDE, SIDE, 1, &png, &error), &error);
    for (int class = 0; class < 2; class ++) {
        snprintf(name, sizeof name, "%s/%s/%02d.png", folder, class ? "b" : "a", number);
        if (number % 2 == class) liana__test_write(name, png.data, whole ? png.length : png.length / 2);
    }
    liana__text_free(&png);
}

/* Records that cannot be read leave gaps, and rows of a batch are without gaps: the picture is that of the others. */
static void test_pictures_of_a_part_with_gaps(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    static const char config[] = "data:\n"
                                 "  train: train\n"
                                 "  validation: whole\n"
                                 "  on_bad_record: skip\n"
                                 "  max_bad: 100\n"
                                 "model: {layers: [Flatten, {Dense: {units: 2, activation: softmax}}]}\n"
                                 "train: {epochs: 1, batch_size: 4, validation_batch_size: 7}\n"
                                 "output: run\n";
    liana__test_folder();
    static const char *const parts[] = {"train", "whole", "gaps"};
    for (size_t i = 0; i < 3; i++) {
        liana__error error = {0};
        char name[64];
        for (int class = 0; class < 2; class ++) {
            snprintf(name, sizeof name, "%s/%s", parts[i], class ? "b" : "a");
            assert_ok(liana__folder_make(liana__test_path(name), &error), &error);
        }
        for (int k = 0; k < COUNT; k++) {
            const bool is_bad = k == 0 || k == 7 || k == 19;
            if (!is_bad || i != 1) write_photo(parts[i], k, !is_bad || i != 2);
        }
    }
    assert_code(liana__test_command("train", liana__test_write("config.yaml", config, sizeof config - 1)), 0);
    char changed[300];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(changed, sizeof changed, "data.validation=%s", liana__test_path("gaps"));
    assert_code(liana__test_command("report", run, "--out", liana__test_path("whole-pictures")), 0);
    assert_code(liana__test_command("report", run, "--out", liana__test_path("gap-pictures"), changed), 0);
    snprintf(changed, sizeof changed, "%s", liana__test_path("whole-pictures/predictions.png"));
    assert_same_file(liana__test_path("gap-pictures/predictions.png"), changed);
}

/* Padded sequences: the counted elements of a batch are summed before its gradients are, and there are more of
 * these. */
static void test_replicas_of_masked_losses(void **state)
{
    (void)state;
    static const char config[] = "data:\n"
                                 "  train: {paths: train.csv, kind: table}\n"
                                 "  columns: {words: {length: 6, padding: 0}, tags: {length: 6, padding: 0}}\n"
                                 "  inputs: {words: words}\n"
                                 "  targets: tags\n"
                                 "model:\n"
                                 "  layers:\n"
                                 "    - InputLayer: {name: words, shape: [6], dtype: int32}\n"
                                 "    - Embedding: {input_dim: 9, output_dim: 4, mask_zero: true}\n"
                                 "    - Dense: {units: 3, activation: softmax}\n"
                                 "train: {epochs: 2, batch_size: 40, microbatch: 2, seed: 3}\n";
    static const char *const strategies[] = {"train.strategy={name: mirrored, replicas: 2}",
                                             "train.strategy={name: mirrored, replicas: 3}"};
    liana__text table = {0};
    char path[300], expected[300];
    liana__test_folder();
    liana__text_add(&table, "words,tags\n");
    for (int i = 0; i < 101; i++) {
        for (int k = 0; k <= i % 6; k++) liana__text_add(&table, "%s%d", k ? " " : "", 1 + (i + k) % 8);
        for (int k = 0; k <= i % 6; k++) liana__text_add(&table, "%s%d", k ? " " : ",", (i + k) % 3);
        liana__text_add(&table, "\n");
    }
    liana__test_write("train.csv", table.data, table.length);
    liana__text_free(&table);
    snprintf(path, sizeof path, "%s", liana__test_write("config.yaml", config, sizeof config - 1));
    snprintf(expected, sizeof expected, "%s", liana__test_path("alone/history.json"));
    assert_code(liana__test_command("train", path, "--out", liana__test_path("alone")), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_code(liana__test_command("train", path, strategies[i], "--out", liana__test_path("shared")), 0);
        assert_same_file(liana__test_path("shared/history.json"), expected);
        assert_ok(liana__folder_remove(liana__test_path("shared"), NULL), NULL);
    }
}

/* ---- in C ---- */

static bool keep_loss(void *user, const liana_epoch *epoch)
{
    *(double *)user = epoch->validation.loss;
    return true;
}

typedef struct measured {
    double validated, evaluated;
    float predicted[LIANA__TINY_ROWS];
} measured;

/* Examples have weights, which predictions have not: stand-ins are as many as the largest batch has examples. */
static measured fit_rows(int64_t batch_size)
{
    enum { ROWS = LIANA__TINY_ROWS, FEATURES = LIANA__TINY_FEATURES };
    struct {
        liana_context *context;
    } own;
    float x[ROWS * FEATURES], y[ROWS], w[ROWS];
    measured got = {.validated = NAN};
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own.context), LIANA_OK);
    for (int i = 0; i < ROWS * FEATURES; i++) x[i] = (float)(i % 13) / 13;
    for (int i = 0; i < ROWS; i++) y[i] = (float)(i % 5), w[i] = (float)(1 + i % 2);
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(ROWS, FEATURES), x},
                                  {"y", LIANA_F32, liana_shape_of(ROWS, 1), y},
                                  {"w", LIANA_F32, liana_shape_of(ROWS), w}};
    liana_dataset *rows = liana_dataset_from_tensor_slices(own.context, arrays, 3);
    liana_dataset *unknown = liana_dataset_from_tensor_slices(own.context, arrays, 1);
    liana_model *model;
    liana_results results;
    done(liana_model_create(own.context, NULL, &model));
    liana_input(model, .name = "x", .shape = LIANA_INTS(FEATURES));
    liana_dense(model, .units = 1, .name = "y");
    done(liana_fit(model, &(liana_fit_options){.training = rows,
                                               .validation = rows,
                                               .batch_size = 4,
                                               .microbatch = 2,
                                               .validation_batch_size = batch_size,
                                               .loss = "mse",
                                               .example_weight = "w",
                                               .epochs = 1,
                                               .on_epoch = keep_loss,
                                               .user = &got.validated}));
    done(liana_evaluate(model, rows,
                        &(liana_evaluate_options){.batch_size = batch_size, .loss = "mse", .example_weight = "w"},
                        &results));
    got.evaluated = results.loss;
    done(liana_predict(model, unknown, &(liana_predict_options){.batch_size = batch_size}, got.predicted));
    liana_model_destroy(model);
    liana_dataset_close(rows);
    liana_dataset_close(unknown);
    liana_context_destroy(own.context);
    return got;
}

static void test_fit(void **state)
{
    (void)state;
    static const int64_t others[] = {1, 3, 39, 40, 41, 1000};
    const measured equal = fit_rows(4);
    assert_near(equal.evaluated, equal.validated, 1e-5);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const measured got = fit_rows(others[i]);
        assert_near(got.validated, equal.validated, 1e-5);
        assert_near(got.evaluated, equal.validated, 1e-5);
        for (size_t k = 0; k < LIANA__TINY_ROWS; k++) {
            assert_near(got.predicted[k], equal.predicted[k], 1e-5F, k);
        }
    }
}

/* Single batches of any size, between updates of batches of another size: measures and predictions of all rows at once
 * equal those of their parts. */
static void test_single_batches(void **state)
{
    (void)state;
    enum { ROWS = LIANA__TINY_ROWS, FEATURES = LIANA__TINY_FEATURES };
    static const int64_t counts[] = {1, 7, 40, 3, 39, 2};
    struct {
        liana_context *context;
    } own;
    float x[ROWS * FEATURES], y[ROWS], whole[ROWS], part[ROWS];
    for (int i = 0; i < ROWS * FEATURES; i++) x[i] = (float)(i % 13) / 13;
    for (int i = 0; i < ROWS; i++) y[i] = (float)(i % 5);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own.context), LIANA_OK);
    liana_model *model;
    done(liana_model_create(own.context, NULL, &model));
    liana_input(model, .name = "x", .shape = LIANA_INTS(FEATURES));
    liana_dense(model, .units = 1, .name = "y");
    const liana_fit_options options = {.batch_size = 5, .microbatch = 2, .loss = "mse"};
    const liana_evaluate_options evaluation = {.loss = "mse"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        liana_results results;
        const int64_t size = counts[i], trained = size < 5 ? size : 5;
        const liana_array update[] = {{"x", LIANA_F32, liana_shape_of(trained, FEATURES), x},
                                      {"y", LIANA_F32, liana_shape_of(trained, 1), y}};
        done(liana_train_on_batch(model, &options, update, 2, NULL));
        const liana_array all = {"x", LIANA_F32, liana_shape_of(ROWS, FEATURES), x};
        done(liana_predict_on_batch(model, &all, 1, whole));
        for (int64_t first = 0; first < ROWS; first += size) {
            const int64_t count = ROWS - first < size ? ROWS - first : size;
            const liana_array rows[] = {{"x", LIANA_F32, liana_shape_of(count, FEATURES), x + first * FEATURES},
                                        {"y", LIANA_F32, liana_shape_of(count, 1), y + first}};
            double sum = 0;
            done(liana_predict_on_batch(model, rows, 1, part));
            done(liana_test_on_batch(model, &evaluation, rows, 2, &results));
            for (int64_t k = 0; k < count; k++) {
                assert_near(part[k], whole[first + k], 1e-5F, first, k);
                sum += pow((double)(part[k] - y[first + k]), 2);
            }
            assert_int_equal(results.num_examples, count);
            assert_near(results.loss, sum / (double)count, 1e-4);
        }
    }
    const liana_array large[] = {{"x", LIANA_F32, liana_shape_of(6, FEATURES), x},
                                 {"y", LIANA_F32, liana_shape_of(6, 1), y}};
    refused(liana_train_on_batch(model, &options, large, 2, NULL), LIANA_INVALID_ARGUMENT, "a batch of 6 examples");
    const liana_array none = {"x", LIANA_F32, liana_shape_of(0, FEATURES), x};
    assert_compare(liana_predict_on_batch(model, &none, 1, part), !=, LIANA_OK);
    liana_model_destroy(model);
    liana_context_destroy(own.context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_measures),
        cmocka_unit_test(test_predictions),
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_replicas_of_masked_losses),
        cmocka_unit_test(test_single_batches),
        cmocka_unit_test(test_pictures_of_a_part_with_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
