/* liana report, on a small run that train made. */
#include "harness/command_run.h"

#include "base/file.h"
#include "formats/image.h"

#include <stdlib.h>
#include <string.h>

static const char *make_run(void)
{
    liana__test_folder();
    assert_code(liana__test_command("train", liana__test_tiny_run(120)), 0);
    static char run[256];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    return run;
}

static liana__image read_picture(const char *name)
{
    liana__error error = {0};
    char *bytes;
    size_t size;
    liana__image image = {0};
    assert_ok(liana__file_read(liana__test_path(name), 1 << 26, &bytes, &size, &error), &error);
    assert_ok(liana__image_decode(bytes, size, NULL, &image, &error), &error);
    free(bytes);
    return image;
}

/* Pixels that are clearly the frame of a right or of a wrong prediction: the tiny run's images are grey. */
static size_t count_frames(const liana__image *image, int strong, int weak)
{
    size_t count = 0;
    for (size_t i = 0; i < (size_t)image->width * (size_t)image->height; i++) {
        const uint8_t *pixel = image->pixels + i * 3;
        count += pixel[strong] > pixel[weak] + 60;
    }
    return count;
}

static void test_draws_curves_and_predictions(void **state)
{
    (void)state;
    const char *run = make_run();
    liana__test_result got = liana__test_command("report", run);
    assert_int_equal(got.code, 0);
    assert_says(got.out, "run/curves.png\n");
    assert_says(got.out, "run/predictions.png\n");
    liana__test_free_result(&got);

    liana__image predictions = read_picture("run/predictions.png");
    size_t green = count_frames(&predictions, 1, 0), red = count_frames(&predictions, 0, 1);
    /* 24 frames of at least 4 * 168 pixels, at 1.5 pixels a unit: some prediction is right, and none is grey. */
    assert_compare(green, >, 0);
    assert_compare(green + red, >, 24 * 4 * 168);
    liana__image_free(&predictions);
    liana__image curves = read_picture("run/curves.png");
    assert_compare(curves.width, >, 2 * curves.height); /* loss and accuracy, side by side */
    liana__image_free(&curves);
}

static void report_with(const char *run, const char *size, const char *name)
{
    char word[80];
    snprintf(word, sizeof word, "train.validation_batch_size=%s", size);
    assert_code(liana__test_command("report", run, word, "--out", liana__test_path(name)), 0);
}

/* The images and their predictions are the same, whatever size batches have. Their batches are not those of the
 * training, and a last one is smaller. */
static void test_predictions_do_not_depend_on_batches(void **state)
{
    (void)state;
    const char *run = make_run();
    static const char *const sizes[] = {"1", "5", "31", "59", "60", "1000"};
    report_with(run, "32", "usual");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        report_with(run, sizes[i], "other");
        char usual[512];
        snprintf(usual, sizeof usual, "%s", liana__test_path("usual/predictions.png"));
        assert_same_file(usual, liana__test_path("other/predictions.png"));
    }
}

static void test_another_folder_and_json(void **state)
{
    (void)state;
    const char *run = make_run();
    char out[512];
    snprintf(out, sizeof out, "%s/pictures/deep", run);
    liana__test_result got = liana__test_command("report", run, "--out", out, "--json");
    assert_int_equal(got.code, 0);
    assert_says(got.out, "\"picture\"");
    liana__test_free_result(&got);
    assert_true(liana__file_exists(liana__test_path("run/pictures/deep/curves.png")));
    assert_true(liana__file_exists(liana__test_path("run/pictures/deep/predictions.png")));
    assert_false(liana__file_exists(liana__test_path("run/curves.png")));
}

static void write_history(const char *text)
{
    liana__test_write("run/history.json", text, strlen(text));
}

static void test_a_run_without_validation(void **state)
{
    (void)state;
    liana__test_folder();
    assert_code(liana__test_command("train", liana__test_tiny_run(60), "data.validation=null", "train.epochs=1"), 0);
    liana__test_result got = liana__test_command("report", liana__test_path("run"));
    assert_says(got.out, "run/curves.png\n");
    assert_never_says(got.out, "predictions.png");
    assert_says(got.err, "no validation data");
    assert_code(got, 0);
}

static void test_refuses_what_is_no_run(void **state)
{
    (void)state;
    const char *run = make_run();
    assert_refused(liana__test_command("report", liana__test_path("missing")), 2, "missing' is not a run folder");
    write_history("{\"epochs\": []}");
    assert_refused(liana__test_command("report", run), 1, "run/history.json", "at least one epoch");
    write_history("{\"epochs\": [7]}");
    assert_refused(liana__test_command("report", run), 1, "run/history.json", "at least one epoch");
    write_history("[");
    assert_refused(liana__test_command("report", run), 1, "run/history.json");
    /* Another program's values there are drawn as far as possible. */
    write_history("{\"epochs\": [{\"epoch\": 1, \"loss\": \"low\", \"accuracy\": 0.5}, [3], {\"accuracy\": 1}]}");
    assert_code(liana__test_command("report", run), 0);
    remove(liana__test_path("run/history.json"));
    assert_refused(liana__test_command("report", run), 1, "run/history.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws_curves_and_predictions),
        cmocka_unit_test(test_predictions_do_not_depend_on_batches),
        cmocka_unit_test(test_another_folder_and_json),
        cmocka_unit_test(test_a_run_without_validation),
        cmocka_unit_test(test_refuses_what_is_no_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
