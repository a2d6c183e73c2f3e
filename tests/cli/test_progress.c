/* The lines that show a running training. */
#include "harness/harness.h"

#include "cli/command.h"
#include "cli/reporter.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static liana__progress sample(void)
{
    return (liana__progress){
        .epoch = 1,
        .epochs = 5,
        .step = 7,
        .steps = 26,
        .seconds = 3.5,
        .examples = 448,
        .loss = 1.23456,
        .metrics = {{"accuracy", 0.45212}},
        .num_metrics = 1,
        .input_wait = 0.034,
    };
}

static void assert_bar(const liana__progress *progress, int width, const char *expected)
{
    liana__text text = {0};
    liana__progress_render_bar(progress, width, &text);
    assert_string_equal(text.data, expected);
    if (width >= 2) assert_compare(text.length, <, width);
    liana__text_free(&text);
}

/* 3.5 s for 7 of 26 steps: 9.5 s to go. 7/26 of 30 columns: 8, of 11 columns: 2. */
static void test_the_bar_fits_its_terminal(void **state)
{
    (void)state;
    liana__progress progress = sample();
    const char *whole = " 7/26 [=======>......................] - ETA: 10s - loss: 1.2346 - accuracy: 0.4521 - 128 "
                        "images/s - input 3%";
    assert_bar(&progress, 200, whole);
    assert_bar(&progress, (int)strlen(whole) + 1, whole);
    assert_bar(&progress, 91,
               " 7/26 [=>.........] - ETA: 10s - loss: 1.2346 - accuracy: 0.4521 - 128 images/s - input 3%");
    assert_bar(&progress, 85, " 7/26 - ETA: 10s - loss: 1.2346 - accuracy: 0.4521 - 128 images/s - input 3%");
    assert_bar(&progress, 76, " 7/26 - ETA: 10s - loss: 1.2346 - accuracy: 0.4521 - 128 images/s");
    assert_bar(&progress, 60, " 7/26 - ETA: 10s - loss: 1.2346 - accuracy: 0.4521");
    /* Time goes before the metrics. */
    assert_bar(&progress, 50, " 7/26 - loss: 1.2346 - accuracy: 0.4521");
    assert_bar(&progress, 40, " 7/26 - loss: 1.2346 - accuracy: 0.4521");
    assert_bar(&progress, 39, " 7/26 - loss: 1.2346");
    assert_bar(&progress, 21, " 7/26 - loss: 1.2346");
    assert_bar(&progress, 20, " 7/26");
    assert_bar(&progress, 4, " 7/");
    assert_bar(&progress, 1, " ");
    assert_bar(&progress, 0, " ");
}

/* A usual terminal shows of a usual run: at the end of an epoch all of it. */
static void test_80_columns_show_the_validation(void **state)
{
    (void)state;
    liana__progress progress = sample();
    static const liana__progress_metric validation[] = {{"val_loss", 1.1}, {"val_accuracy", 0.5}};
    memcpy(progress.metrics + 1, validation, sizeof validation);
    progress.num_metrics = 3;
    progress.phase = LIANA__PHASE_VALIDATE;
    assert_bar(&progress, 80, "validation  7/26 - ETA: 10s - val_loss: 1.1000 - val_accuracy: 0.5000");
    progress.phase = LIANA__PHASE_EPOCH_DONE;
    progress.step = 26;
    liana__text text = {0};
    liana__progress_render_bar(&progress, 80, &text);
    assert_string_equal(text.data, "26/26 - 4s - loss: 1.2346 - accuracy: 0.4521\n"
                                   "      - val_loss: 1.1000 - val_accuracy: 0.5000 - 128 images/s - input 3%");
    text.length = 0;
    progress.bad_records = 3;
    liana__progress_render_bar(&progress, 50, &text);
    assert_string_equal(text.data, "26/26 - 4s - loss: 1.2346 - accuracy: 0.4521\n"
                                   "      - val_loss: 1.1000 - val_accuracy: 0.5000\n"
                                   "      - 128 images/s - input 3% - bad records: 3");
    liana__text_free(&text);
}

static void test_the_ends_of_a_bar(void **state)
{
    (void)state;
    liana__progress progress = sample();
    progress.step = 0;
    progress.seconds = 0;
    progress.examples = 0;
    assert_bar(
        &progress, 200,
        " 0/26 [..............................] - 0s - loss: 1.2346 - accuracy: 0.4521 - 0.0 images/s - input 3%");
    progress = sample();
    progress.phase = LIANA__PHASE_EPOCH_DONE;
    progress.step = 26;
    progress.seconds = 75;
    progress.num_metrics = 2;
    progress.metrics[1] = (liana__progress_metric){"val_loss", 2.5e-5};
    assert_bar(
        &progress, 200,
        "26/26 [==============================] - 1:15 - loss: 1.2346 - accuracy: 0.4521 - val_loss: 2.5000e-05 - "
        "6.0 images/s - input 3%");
    progress.phase = LIANA__PHASE_VALIDATE;
    progress.step = 13;
    progress.seconds = 3600;
    progress.num_metrics = 0;
    progress.loss = NAN;
    assert_bar(
        &progress, 200,
        "validation 13/26 [==============>...............] - ETA: 1:00:00 - loss: nan - 0.1 images/s - input 3%");
    progress = sample();
    progress.steps = 0;
    assert_bar(&progress, 200, "7/? - 4s - loss: 1.2346 - accuracy: 0.4521 - 128 images/s - input 3%");
    progress.step = INT64_MAX;
    progress.steps = 1; /* more steps than promised: the bar is full, nothing overflows */
    progress.num_metrics = 0;
    assert_bar(
        &progress, 200,
        "9223372036854775807/1 [==============================] - ETA: 0s - loss: 1.2346 - 128 images/s - input 3%");
}

static void test_lines_for_a_pipe(void **state)
{
    (void)state;
    liana__progress progress = sample();
    liana__text text = {0};
    liana__progress_render_line(&progress, &text);
    assert_string_equal(text.data,
                        "epoch 1/5: step 7/26, 3.5 s, loss 1.2346, accuracy 0.4521, 128 images/s, input wait 3%");
    text.length = 0;
    progress.phase = LIANA__PHASE_VALIDATE;
    progress.steps = 0;
    liana__progress_render_line(&progress, &text);
    assert_string_equal(text.data, "epoch 1/5: validation step 7, 3.5 s, loss 1.2346, accuracy 0.4521, 128 images/s, "
                                   "input wait 3%");
    liana__text_free(&text);
}

static void test_json_for_machines(void **state)
{
    (void)state;
    liana__progress progress = sample();
    progress.phase = LIANA__PHASE_EPOCH_DONE;
    progress.metrics[1] = (liana__progress_metric){"val_loss", NAN};
    progress.num_metrics = 2;
    progress.global_step = 59;
    liana__text text = {0};
    liana__progress_render_json(&progress, &text);
    assert_null(strchr(text.data, '\n'));
    json_error_t problem;
    json_t *json = json_loads(text.data, JSON_REJECT_DUPLICATES, &problem);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "event")), "epoch");
    assert_int_equal(json_integer_value(json_object_get(json, "step")), 7);
    assert_int_equal(json_integer_value(json_object_get(json, "steps")), 26);
    assert_int_equal(json_integer_value(json_object_get(json, "global_step")), 59);
    assert_compare(json_real_value(json_object_get(json, "loss")), ==, 1.23456);
    assert_compare(json_real_value(json_object_get(json, "accuracy")), ==, 0.45212);
    assert_true(json_is_null(json_object_get(json, "val_loss")));
    assert_compare(json_real_value(json_object_get(json, "examples_per_second")), ==, 128);
    assert_int_equal(json_integer_value(json_object_get(json, "examples")), 448);
    /* Older names. */
    assert_compare(json_real_value(json_object_get(json, "images_per_second")), ==, 128);
    assert_int_equal(json_integer_value(json_object_get(json, "images")), 448);
    assert_compare(json_real_value(json_object_get(json, "input_wait")), ==, 0.034);
    json_decref(json);
    liana__text_free(&text);
}

/* An epoch of 26 steps of half a second, a note in the middle; returns the reporter's text. */
static char *report_epoch(liana__reporter_mode mode)
{
    char *printed = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&printed, &size);
    assert_non_null(stream);
    liana__reporter reporter;
    liana__reporter_init(&reporter, stream, mode == LIANA__REPORTER_JSON);
    assert_int_equal(reporter.mode, mode == LIANA__REPORTER_JSON ? mode : LIANA__REPORTER_LINES); /* no terminal */
    reporter.mode = mode;
    reporter.interval = 5;
    reporter.width = 60;
    liana__progress progress = sample();
    for (int step = 1; step <= 26; step++) {
        progress.step = step;
        progress.seconds = 0.5 * step;
        progress.examples = 64 * step;
        liana__reporter_update(&reporter, &progress, 100 + progress.seconds);
        if (step == 13) liana__reporter_note(&reporter, "saved %s", "step-13");
    }
    progress.phase = LIANA__PHASE_EPOCH_DONE;
    liana__reporter_update(&reporter, &progress, 113);
    liana__reporter_free(&reporter);
    fclose(stream);
    return printed;
}

static void test_a_pipe_gets_few_lines(void **state)
{
    (void)state;
    char *printed = report_epoch(LIANA__REPORTER_LINES);
    assert_string_equal(printed,
                        "epoch 1/5: step 11/26, 5.5 s, loss 1.2346, accuracy 0.4521, 128 images/s, input wait 3%\n"
                        "saved step-13\n"
                        "epoch 1/5: step 21/26, 10.5 s, loss 1.2346, accuracy 0.4521, 128 images/s, input wait 3%\n"
                        "epoch 1/5: step 26/26, 13.0 s, loss 1.2346, accuracy 0.4521, 128 images/s, input wait 3%\n");
    free(printed);
}

static void test_a_terminal_gets_one_line_redrawn(void **state)
{
    (void)state;
    char *printed = report_epoch(LIANA__REPORTER_BAR);
    assert_string_equal(printed, "Epoch 1/5\n"
                                 "\r 1/26 - ETA: 13s - loss: 1.2346 - accuracy: 0.4521\x1b[K"
                                 "\r11/26 - ETA: 8s - loss: 1.2346 - accuracy: 0.4521\x1b[K"
                                 "\nsaved step-13\n"
                                 "\r21/26 - ETA: 3s - loss: 1.2346 - accuracy: 0.4521\x1b[K"
                                 "\r26/26 - 13s - loss: 1.2346 - accuracy: 0.4521\x1b[K\n");
    free(printed);
}

/* The widest line that a terminal of the test's own was sent, in columns. A terminal gives its bytes in pieces, so a
 * mark of the test's own ends them. */
static size_t widest_line(FILE *stream, int terminal)
{
    enum { MARK = 1 };
    char found[4000] = "";
    size_t size = 0;
    assert_int_not_equal(fputc(MARK, stream), EOF);
    assert_int_equal(fflush(stream), 0);
    while (size == 0 || found[size - 1] != MARK) {
        const ssize_t more = read(terminal, found + size, sizeof found - 1 - size);
        assert_compare(more, >, 0);
        size += (size_t)more;
    }
    found[size - 1] = 0;
    size_t widest = 0;
    for (char *line = strtok(found, "\r\n"); line; line = strtok(NULL, "\r\n")) {
        size_t length = strlen(line);
        if (length > 3 && strcmp(line + length - 3, "\x1b[K") == 0) length -= 3;
        if (length > widest) widest = length;
    }
    return widest;
}

/* A line that is longer than the terminal goes on in the next row, and each drawing would scroll by one. */
static void test_a_terminal_is_made_narrower(void **state)
{
    (void)state;
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
        print_message("skipped: this system gives no pseudo terminals\n");
        skip();
    }
    FILE *stream = fopen(ptsname(terminal), "r+");
    assert_non_null(stream);
    static const unsigned short widths[] = {120, 60, 30, 90};
    liana__reporter reporter;
    liana__reporter_init(&reporter, stream, false);
    assert_int_equal(reporter.mode, LIANA__REPORTER_BAR);
    liana__progress progress = sample();
    for (int i = 0; i < 4; i++) {
        const struct winsize size = {.ws_row = 24, .ws_col = widths[i]};
        assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
        progress.step = i + 1;
        liana__reporter_update(&reporter, &progress, 100 + i);
        size_t widest = widest_line(stream, terminal);
        assert_compare(widest, <, widths[i], i);
        assert_compare(widest + 40, >, widths[i], i);
        liana__terminal_draw(stream, "remote files: 3 of 12, 120.0 of 900.0 MiB, 45.2 MiB/s, 17 s left, or some more");
        widest = widest_line(stream, terminal);
        assert_int_equal(widest, widths[i] < 80 ? widths[i] - 1 : 78);
    }
    liana__reporter_free(&reporter);
    fclose(stream);
    close(terminal);
}

static void test_a_machine_gets_json_lines(void **state)
{
    (void)state;
    char *printed = report_epoch(LIANA__REPORTER_JSON);
    static const char *const events[] = {"step", "note", "step", "epoch"};
    size_t count = 0;
    for (char *line = strtok(printed, "\n"); line; line = strtok(NULL, "\n")) {
        json_error_t problem;
        json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, &problem);
        assert_non_null(json);
        assert_compare(count, <, 4);
        assert_string_equal(json_string_value(json_object_get(json, "event")), events[count++]);
        json_decref(json);
    }
    assert_int_equal(count, 4);
    free(printed);
}

/* Two steps with a line after each, which takes the place of the bar. */
static void assert_logged(liana__reporter_mode mode, const char *expected)
{
    char *printed = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&printed, &size);
    assert_non_null(stream);
    liana__reporter reporter;
    liana__reporter_init(&reporter, stream, mode == LIANA__REPORTER_JSON);
    reporter.mode = mode;
    reporter.interval = 0;
    reporter.width = 50;
    reporter.logs = true;
    liana__progress progress = sample();
    for (int step = 8; step <= 9; step++) {
        progress.step = step;
        progress.global_step = 26 + step;
        progress.phase = LIANA__PHASE_TRAIN;
        liana__reporter_update(&reporter, &progress, 100 + step);
        progress.phase = LIANA__PHASE_LOG;
        liana__reporter_log(&reporter, &progress);
    }
    liana__reporter_free(&reporter);
    fclose(stream);
    if (expected) assert_string_equal(printed, expected);
    if (!expected) {
        assert_says(printed, "{\"event\": \"log\", \"epoch\": 1, \"epochs\": 5, \"step\": 8, \"steps\": 26, "
                             "\"global_step\": 34, ");
        assert_says(printed, "\"event\": \"step\"");
    }
    free(printed);
}

static void test_lines_by_updates(void **state)
{
    (void)state;
#define LOGGED(step, number)                        \
    "global step " number ", epoch 1/5: step " step \
    "/26, 3.5 s, loss 1.2346, accuracy 0.4521, 128 images/s, input wait 3%"
    assert_logged(LIANA__REPORTER_LINES, LOGGED("8", "34") "\n" LOGGED("9", "35") "\n");
    assert_logged(LIANA__REPORTER_BAR,
                  "Epoch 1/5\n"
                  "\r 8/26 - ETA: 8s - loss: 1.2346 - accuracy: 0.4521\x1b[K"
                  "\r" LOGGED("8", "34") "\x1b[K\n"
                                         "\r 9/26 - ETA: 7s - loss: 1.2346 - accuracy: 0.4521\x1b[K"
                                         "\r" LOGGED("9", "35") "\x1b[K\n");
#undef LOGGED
    assert_logged(LIANA__REPORTER_JSON, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bar_fits_its_terminal),
        cmocka_unit_test(test_the_ends_of_a_bar),
        cmocka_unit_test(test_80_columns_show_the_validation),
        cmocka_unit_test(test_lines_for_a_pipe),
        cmocka_unit_test(test_json_for_machines),
        cmocka_unit_test(test_a_pipe_gets_few_lines),
        cmocka_unit_test(test_a_terminal_gets_one_line_redrawn),
        cmocka_unit_test(test_a_terminal_is_made_narrower),
        cmocka_unit_test(test_a_machine_gets_json_lines),
        cmocka_unit_test(test_lines_by_updates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
