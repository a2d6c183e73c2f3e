/* liana watch --terminal: curves as text, gaps, names with control characters, runs in folders, and what is refused. */
#include "harness/command_run.h"
#include "harness/text_files.h"

#include "base/file.h"
#include "cli/watch/watch_terminal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- curves ---- */

static void test_curves_in_ascii(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8}, rising[] = {0, 1, 2, 3, 4, 5, 6, 7},
                 gap[] = {7, 7, NAN, NAN, 0, 0, 0, 0};
    const liana__text_curve curves[] = {{"up", x, rising, 8}, {"gap", x, gap, 8}};
    liana__text text = {0};
    liana__text_curves_draw("loss", "epoch", curves, 2, 8 + 12, 11, true, &text);
    assert_string_equal(text.data, "loss  * up  o gap\n"
                                   "         7 |oo     *\n"
                                   "           |      * \n"
                                   "           |     *  \n"
                                   "           |    *   \n"
                                   "           |   *    \n"
                                   "           |  *     \n"
                                   "           | *      \n"
                                   "         0 |*   oooo\n"
                                   "           +--------\n"
                                   "            1 epoch 8\n");
    liana__text_free(&text);
}

/* Each character has two columns and four rows of dots: the lowest left one of the picture, and the highest right
 * one. */
static void test_curves_in_braille(void **state)
{
    (void)state;
    const double ends[] = {0, 15}, low[] = {0, NAN}, high[] = {NAN, 7};
    const liana__text_curve curves[] = {{"low", ends, low, 2}, {"high", ends, high, 2}};
    liana__text text = {0};
    liana__text_curves_draw("loss", "epoch", curves, 2, 8 + 12, 5, false, &text);
    assert_string_equal(text.data, "loss: low, high\n"
                                   "         7 \u2502       \u2808\n"
                                   "         0 \u2502\u2840       \n"
                                   "           \u2514\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\n"
                                   "            0 epoch 15\n");
    liana__text_free(&text);
}

static void test_curves_without_values(void **state)
{
    (void)state;
    const double x[] = {1, 2}, none[] = {NAN, INFINITY}, one[] = {3, NAN};
    liana__text text = {0};
    liana__text_curves_draw("loss", "epoch", &(liana__text_curve){"", x, none, 2}, 1, 40, 8, true, &text);
    assert_says(text.data, "no values yet");
    text.length = 0;
    liana__text_curves_draw("loss", "epoch", NULL, 0, 40, 8, true, &text);
    assert_says(text.data, "no values yet");
    text.length = 0;
    /* One point, and a window that is too small. */
    liana__text_curves_draw("loss", "epoch", &(liana__text_curve){"", x, one, 2}, 1, 1, 1, true, &text);
    assert_says(text.data, "*");
    liana__text_free(&text);
}

/* ---- the command ---- */

static void test_runs(void **state)
{
    (void)state;
    char sweep[512], first[600], second[600];
    liana__test_folder();
    const char *config = liana__test_tiny_run(96);
    snprintf(sweep, sizeof sweep, "%s", liana__test_path("sweep"));
    snprintf(first, sizeof first, "%s/a/seed-1", sweep);
    snprintf(second, sizeof second, "%s/\x1b[31mb", sweep);
    assert_code(liana__test_command("train", config, "--out", first, "train.epochs=3"), 0);
    assert_code(liana__test_command("train", config, "--out", second, "train.epochs=1"), 0);
    liana__test_result result = liana__test_command("watch", first, "--terminal", "--ascii");
    assert_int_equal(result.code, 0);
    assert_says(result.out, "seed-1: epochs 3\n");
    assert_says(result.out, "loss  * validation  o training\n");
    assert_says(result.out, "accuracy  * validation  o training\n");
    assert_never_says(result.out, "\x1b");
    liana__test_free_result(&result);
    /* Of a folder all runs; control characters of names do not reach the terminal. */
    result = liana__test_command("watch", sweep, "--terminal", "--ascii");
    assert_int_equal(result.code, 0);
    assert_says(result.out, "seed-1: epochs 3\n");
    assert_says(result.out, "[31mb: epochs 1\n");
    assert_never_says(result.out, "\x1b");
    liana__test_free_result(&result);
}

/* A folder of runs stands for them on a page, too. */
static void test_page_of_a_folder(void **state)
{
    (void)state;
    char sweep[512], first[600], second[600], page[600];
    liana__test_folder();
    const char *config = liana__test_tiny_run(96);
    snprintf(sweep, sizeof sweep, "%s", liana__test_path("sweep"));
    snprintf(first, sizeof first, "%s/a/seed-1", sweep);
    snprintf(second, sizeof second, "%s/b/seed-1", sweep);
    snprintf(page, sizeof page, "%s", liana__test_path("page.html"));
    assert_code(liana__test_command("train", config, "--out", first, "train.epochs=1"), 0);
    assert_code(liana__test_command("train", config, "--out", second, "train.epochs=1", "train.seed=8"), 0);
    assert_code(liana__test_command("report", sweep, "--html", "--curves", "--out", page), 0);
    char *text = liana__test_read_text("page.html");
    assert_says(text, "\"a/seed-1\"");
    assert_says(text, "\"b/seed-1\"");
    free(text);
    assert_code(liana__test_command("report", sweep, "--html", "--curves"), 0);
    assert_true(liana__file_exists(liana__test_path("sweep/report.html")));
    assert_refused(liana__test_command("report", liana__test_path("."), "--html", "--out", "page.pdf"), 2, ".html");
}

/* A run that has not finished an epoch, and one whose history is damaged. */
static void test_unfinished_runs(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(96);
    char run[256], history[512];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", config, "--out", run, "train.epochs=1"), 0);
    snprintf(history, sizeof history, "%s/history.json", run);
    assert_int_equal(unlink(history), 0);
    liana__test_result result = liana__test_command("watch", run, "--terminal", "--ascii");
    assert_int_equal(result.code, 0);
    assert_says(result.out, "run: epochs 0\n");
    liana__test_free_result(&result);
    liana__test_write("run/history.json", "{\"epochs\": [{\"lo", 16);
    result = liana__test_command("watch", run, "--terminal", "--ascii");
    assert_int_equal(result.code, 0);
    liana__test_free_result(&result);
}

static void test_refused(void **state)
{
    (void)state;
    char empty[256];
    liana__error error = {0};
    liana__test_folder();
    snprintf(empty, sizeof empty, "%s", liana__test_path("empty"));
    assert_ok(liana__folder_make(empty, &error), &error);
    assert_refused(liana__test_command("watch", "nowhere"), 2, "'nowhere' is not there");
    assert_refused(liana__test_command("watch", empty), 2, "there is no config.yaml in it");
    assert_refused(liana__test_command("watch", empty, "--ascii"), 2, "--ascii belongs to --terminal");
    assert_refused(liana__test_command("watch", empty, "--terminal", "--port", "8000"), 2, "exclude each other");
    assert_refused(liana__test_command("watch", empty, "--port", "70000"), 2, "--port");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curves_in_ascii),
        cmocka_unit_test(test_curves_in_braille),
        cmocka_unit_test(test_curves_without_values),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_page_of_a_folder),
        cmocka_unit_test(test_unfinished_runs),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
