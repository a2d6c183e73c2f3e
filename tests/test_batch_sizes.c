/* Results do not depend on how many examples a batch of the validation or of the predictions has, nor on that of the
 * training: pictures, measures and predictions of a run are those of equal batches. `make check-batches` runs all
 * subcommands with more sizes under sanitizers. */
#include "harness/command_run.h"
#include "harness/text_files.h"

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
        assert_true(fabs(measure(got, "loss") - loss) < 1e-5);
        assert_true(measure(got, "accuracy") == accuracy);
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
        assert_true(fabs(measure(got, "loss") - liana__value_get(epoch, "val_loss")->number) < 1e-5);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_measures),
        cmocka_unit_test(test_predictions),
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_pictures_of_a_part_with_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
