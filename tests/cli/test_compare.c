/* liana compare and liana plot, on runs of different length; figures. */
#include "harness/command_run.h"
#include "harness/text_files.h"

#include "base/file.h"
#include "formats/image.h"
#include "report/pictures.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char config[256], first[256], second[256];

/* Two runs: 2 epochs, and 4 with another rate. */
static void set_up(void)
{
    liana__test_folder();
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(96));
    snprintf(first, sizeof first, "%s", liana__test_path("first"));
    snprintf(second, sizeof second, "%s", liana__test_path("second"));
    assert_code(liana__test_command("train", config, "--out", first, "train.epochs=2"), 0);
    assert_code(liana__test_command("train", config, "--out", second, "train.epochs=4",
                                    "train.optimizer.learning_rate=0.01",
                                    "train.metrics=[accuracy, {name: F1Score, average: macro}]"),
                0);
}

static json_t *history_of(const char *run)
{
    char name[64];
    snprintf(name, sizeof name, "%s/history.json", run);
    json_t *json = json_load_file(liana__test_path(name), 0, NULL);
    assert_non_null(json);
    return json;
}

static void test_compare_prints_what_differs(void **state)
{
    (void)state;
    set_up();
    liana__test_result got = liana__test_command("compare", first, second);
    assert_int_equal(got.code, 0);
    const char *const lines[] = {"train.epochs",         "train.optimizer.learning_rate",
                                 "last epoch",           "best epoch",
                                 "val_accuracy",         "f1_score",
                                 "seconds, first epoch", "in epoch "};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) assert_says(got.out, lines[i]);
    assert_never_says(got.out, "train.seed");
    assert_never_says(got.out, "output");
    const char *epochs = strstr(got.out, "\nepochs");
    assert_non_null(epochs);
    int a, b;
    assert_int_equal(sscanf(epochs, "\nepochs %d %d", &a, &b), 2);
    assert_int_equal(a, 2);
    assert_int_equal(b, 4);
    liana__test_free_result(&got);
    got = liana__test_command("compare", first, first);
    assert_int_equal(got.code, 0);
    assert_says(got.out, "no difference");
    liana__test_free_result(&got);
}

static double number(const json_t *event, const char *group, const char *key)
{
    const json_t *value = json_object_get(json_object_get(event, group), key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* Against the history itself. */
static void test_compare_in_json(void **state)
{
    (void)state;
    set_up();
    liana__test_result got = liana__test_command("compare", first, second, "--json");
    assert_int_equal(got.code, 0);
    char *line = strchr(got.out, '\n');
    json_t *event = json_loads(line + 1, 0, NULL), *history = history_of("second");
    assert_non_null(event);
    const json_t *epochs = json_object_get(history, "epochs"), *epoch;
    size_t index, best_epoch = 0;
    double best = INFINITY, last = NAN;
    json_array_foreach(epochs, index, epoch)
    {
        last = json_number_value(json_object_get(epoch, "val_loss"));
        if (last >= best) continue;
        best = last;
        best_epoch = index + 1;
    }
    assert_int_equal(json_integer_value(json_object_get(event, "epochs")), 4);
    assert_compare(number(event, "last", "val_loss"), ==, last);
    assert_compare(number(event, "best", "val_loss"), ==, best);
    assert_compare(number(event, "best_epoch", "val_loss"), ==, (double)best_epoch);
    const json_t *settings = json_object_get(event, "settings");
    assert_string_equal(json_string_value(json_object_get(settings, "train.epochs")), "4");
    assert_compare(json_number_value(json_object_get(event, "first_epoch_seconds")), >=, 0);
    json_decref(event);
    json_decref(history);
    liana__test_free_result(&got);
}

static void assert_picture(const char *name, int least_width, int least_height)
{
    liana__error error = {0};
    char *bytes;
    size_t size;
    liana__image image = {0};
    assert_ok(liana__file_read(liana__test_path(name), 1 << 26, &bytes, &size, &error), &error);
    assert_ok(liana__image_decode(bytes, size, NULL, &image, &error), &error);
    assert_compare(image.width, >=, least_width);
    assert_compare(image.height, >=, least_height);
    liana__image_free(&image);
    free(bytes);
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what)) count++;
    return count;
}

static void test_plot_runs(void **state)
{
    (void)state;
    char out[256], svg[256];
    set_up();
    snprintf(out, sizeof out, "%s", liana__test_path("two.png"));
    assert_code(liana__test_command("plot", first, second, "--out", out), 0);
    /* loss, accuracy and F1 side by side, the learning rate below. */
    assert_picture("two.png", 3 * 800, 2 * 500);
    assert_code(liana__test_command("plot", second, "--out", out, "--measures", "accuracy"), 0);
    assert_picture("two.png", 800, 500);
    /* Of the two runs the first is dashed (its key, training and validation), and goes on, dotted, in both. */
    snprintf(svg, sizeof svg, "%s", liana__test_path("two.svg"));
    assert_code(liana__test_command("plot", first, second, "--out", svg, "--measures=loss"), 0);
    char *text = liana__test_read_text("two.svg");
    size_t dashed = count_of(text, "stroke-dasharray");
    free(text);
    assert_int_equal(dashed, 2 + 2 + 2);
    assert_code(liana__test_command("plot", second, second, "--out", svg, "--measures=loss"), 0);
    text = liana__test_read_text("two.svg");
    assert_int_equal(count_of(text, "stroke-dasharray"), 2 + 2);
    free(text);
}

static void test_plot_schedules(void **state)
{
    (void)state;
    char out[256];
    set_up();
    snprintf(out, sizeof out, "%s", liana__test_path("rates.png"));
    assert_code(liana__test_command("plot", "--schedule", config, config, "--out", out,
                                    "train.optimizer.learning_rate={name: CosineDecay, initial_learning_rate: 0.01}"),
                0);
    assert_picture("rates.png", 800, 500);
    assert_false(liana__folder_exists(liana__test_path("run")));
    assert_refused(liana__test_command("plot", "--schedule", config, "--out", out, "train.epochs=0",
                                       "train.max_minutes=3"),
                   2, "max_minutes", "train.steps");
}

/* Each stage has a schedule of its own, which begins with the stage: two constant rates are the picture of
 * PiecewiseConstantDecay with its boundary at the last update of the first stage (96 examples: 3 updates an epoch). */
static void test_plot_schedules_of_stages(void **state)
{
    (void)state;
    char out[2][256];
    liana__test_folder();
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(96));
    for (int i = 0; i < 2; i++) snprintf(out[i], sizeof out[i], "%s", liana__test_path(i ? "b.png" : "a.png"));
    assert_code(liana__test_command("plot", "--schedule", config, "--out", out[0],
                                    "stages=[{epochs: 2, optimizer: {learning_rate: 0.01}}, "
                                    "{epochs: 3, optimizer: {learning_rate: 0.002}}]",
                                    "train.epochs=5"),
                0);
    assert_code(liana__test_command("plot", "--schedule", config, "--out", out[1],
                                    "train.optimizer.learning_rate={name: PiecewiseConstantDecay, boundaries: [5], "
                                    "values: [0.01, 0.002]}",
                                    "train.epochs=5"),
                0);
    assert_same_file(out[0], out[1]);
}

/* Two configurations of one name are told apart by their folders. */
static void test_plot_schedules_of_one_name(void **state)
{
    (void)state;
    char other[400], out[256];
    liana__test_folder();
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(20));
    snprintf(out, sizeof out, "%s", liana__test_path("a.svg"));
    snprintf(other, sizeof other, "%s", liana__test_path("./config.yaml"));
    const char *words[2][2] = {{config, config}, {config, other}};
    for (int i = 0; i < 2; i++) {
        assert_code(liana__test_command("plot", "--schedule", words[i][0], words[i][1], "--out", out), 0);
        char *svg = liana__test_read_text("a.svg");
        const size_t size = strlen(svg);
        liana__test_write(i ? "named.svg" : "plain.svg", svg, size);
        free(svg);
    }
    char *plain = liana__test_read_text("plain.svg"), *named = liana__test_read_text("named.svg");
    assert_string_not_equal(plain, named);
    free(plain);
    free(named);
}

static void test_refused(void **state)
{
    (void)state;
    set_up();
    char missing[256];
    snprintf(missing, sizeof missing, "%s", liana__test_path("missing"));
    assert_refused(liana__test_command("compare", first, missing), 2, "missing", "config.yaml is missing");
    assert_refused(liana__test_command("compare", first), 2, "compare");
    assert_refused(liana__test_command("plot", missing), 2, "missing");
    assert_refused(liana__test_command("plot", first, "--measures", "acuracy"), 2, "did you mean 'accuracy'");
    assert_refused(liana__test_command("plot", first, "--out", "plot.pdf"), 2, "plot.pdf", ".svg");
    assert_refused(liana__test_command("plot", first, "train.epochs=3"), 2, "--schedule");
    assert_refused(liana__test_command("plot", "--schedule", first, "--measures", "loss"), 2, "exclude");
    liana__test_write("first/history.json", "{\"epochs\": []}", 14);
    assert_refused(liana__test_command("compare", first, second), 1, "history.json", "at least one epoch");
    liana__test_write("first/history.json", "{\"epochs\": [{\"loss\": \"x\"}, {\"loss\": 1}]}", 40);
    assert_code(liana__test_command("compare", first, second), 0);
    remove(liana__test_path("first/history.json"));
    assert_refused(liana__test_command("plot", first, second), 2, "history.json is missing");
}

/* ---- figures ---- */

static void test_figures(void **state)
{
    (void)state;
    liana__test_folder();
    liana__error error = {0};
    static const double x[] = {1, 2, 3, 4}, y[] = {1, NAN, 3, 2}, flat[] = {5, 5, 5, 5}, none[] = {NAN, NAN, NAN, NAN};
    const liana__figure_line lines[] = {
        {.x = x, .y = y, .count = 4, .ink = liana__figure_inks[0]},
        {.x = x, .y = flat, .count = 4, .ink = liana__figure_inks[1], .dashed = true, .extended_to = 9},
        {.x = x, .y = none, .count = 4, .ink = liana__figure_inks[2], .extended_to = 9},
        {.x = x, .y = flat, .count = 0, .ink = liana__figure_inks[3]},
    };
    const liana__figure_mark mark = {.x = NAN, .y = 2, .ink = liana__figure_inks[4]};
    liana__figure_panel panels[] = {
        {.title = "one", .x_label = "x", .lines = lines, .num_lines = 4, .marks = &mark, .num_marks = 1},
        {.title = "empty", .x_label = "x", .log_x = true},
        {.title = "flat", .x_label = "x", .lines = lines + 1, .num_lines = 1, .log_x = true, .y_most = 1},
    };
    const liana__figure_key key = {.name = "a key with a name that is far too long for its place, and is cut",
                                   .ring = true};
    liana__figure figure = {
        .title = "title", .keys = &key, .num_keys = 1, .panels = panels, .num_panels = 3, .columns = 2};
    assert_ok(liana__figure_write(liana__test_path("figure.png"), &figure, &error), &error);
    assert_picture("figure.png", 2 * 800, 2 * 500);
    figure.num_panels = 0;
    assert_fails(liana__figure_write(liana__test_path("figure.png"), &figure, &error), LIANA_INVALID_ARGUMENT, &error,
                 "nothing to draw", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare_prints_what_differs),
        cmocka_unit_test(test_compare_in_json),
        cmocka_unit_test(test_plot_runs),
        cmocka_unit_test(test_plot_schedules),
        cmocka_unit_test(test_plot_schedules_of_stages),
        cmocka_unit_test(test_plot_schedules_of_one_name),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
