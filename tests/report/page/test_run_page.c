/* liana report --html: the data of the page, read back and compared with the run's own files and commands. */
#include "harness/command_run.h"

#include "base/file.h"
#include "base/value_read.h"
#include "formats/json.h"
#include "report/page/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A page that was read. */
typedef struct read_page {
    liana__arena arena;
    char *text;
    size_t size;
    const liana__value *data;
} read_page;

static const char *json_of(const char *text, size_t *length)
{
    static const char head[] = "<script type=\"application/json\" id=\"data\">";
    const char *begin = strstr(text, head);
    assert_non_null(begin);
    begin += sizeof head - 1;
    const char *end = strstr(begin, "</script>");
    assert_non_null(end);
    *length = (size_t)(end - begin);
    return begin;
}

static read_page read_text(char *text, size_t size)
{
    read_page page = {.text = text, .size = size};
    size_t length;
    const char *json = json_of(page.text, &length);
    liana__value *data;
    liana__error error = {0};
    assert_null(memchr(json, '<', length));
    assert_ok(liana__json_parse(json, length, "the page", &page.arena, &data, &error), &error);
    page.data = data;
    return page;
}

static read_page read_file(const char *name)
{
    liana__error error = {0};
    char *text;
    size_t size;
    assert_ok(liana__file_read(liana__test_path(name), 1 << 26, &text, &size, &error), &error);
    return read_text(text, size);
}

static void free_page(read_page *page)
{
    liana__arena_free(&page->arena);
    free(page->text);
}

/* The value at a path such as "runs", "0", "name"; NULL: it is not there. */
static const liana__value *at_words(const liana__value *value, const char *const *words)
{
    for (; *words && value; words++) {
        if (value->kind == LIANA__VALUE_LIST) {
            const size_t index = strtoul(*words, NULL, 10);
            value = index < value->count ? value->items[index] : NULL;
        } else {
            value = liana__value_get(value, *words);
        }
    }
    return value;
}
#define at(value, ...) at_words((value), (const char *const[]){__VA_ARGS__, NULL})

static const char *text_at(const liana__value *value)
{
    assert_non_null(value);
    assert_int_equal(value->kind, LIANA__VALUE_STRING);
    return value->string;
}

static const char *make_run(void)
{
    liana__test_folder();
    assert_code(liana__test_command("train", liana__test_tiny_run(120)), 0);
    static char run[256];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    return run;
}

static liana__value *read_history(const char *name, liana__arena *arena)
{
    liana__value *root;
    liana__error error = {0};
    assert_ok(liana__json_read(liana__test_path(name), arena, &root, &error), &error);
    return root;
}

static void check_curve(const read_page *page, const char *panel, const char *line, const char *key)
{
    liana__arena arena = {0};
    const liana__value *epochs = liana__value_get(read_history("run/history.json", &arena), "epochs");
    const liana__value *values = at(page->data, "curves", "panels", panel, "lines", line, "y");
    assert_non_null(values);
    assert_int_equal(values->count, epochs->count);
    for (size_t i = 0; i < epochs->count; i++) {
        const double expected = liana__value_number_of(epochs->items[i], key, NAN);
        assert_near(values->items[i]->number, expected, 1e-5 * fabs(expected), i);
    }
    liana__arena_free(&arena);
}

/* The matrix agrees with the file of predictions, which train wrote. */
static void check_matrix(const read_page *page)
{
    enum { CLASSES = 4 };
    double expected[CLASSES][CLASSES] = {{0}}, got[CLASSES][CLASSES] = {{0}};
    const liana__value *cells = at(page->data, "details", "0", "parts", "confusion_matrix", "cells");
    liana__error error = {0};
    char *text;
    size_t size;
    assert_ok(liana__file_read(liana__test_path("run/validation_predictions.csv"), 1 << 20, &text, &size, &error),
              &error);
    for (const char *row = strchr(text, '\n') + 1; *row; row = strchr(row, '\n') + 1) {
        int truth, said;
        assert_int_equal(sscanf(strchr(row, ',') + 1, "%d,%d", &truth, &said), 2);
        expected[truth][said]++;
    }
    for (size_t i = 0; i < cells->count; i += 3) {
        got[cells->items[i]->integer][cells->items[i + 1]->integer] = cells->items[i + 2]->number;
    }
    for (size_t i = 0; i < CLASSES; i++) {
        for (size_t k = 0; k < CLASSES; k++) assert_near(got[i][k], expected[i][k], 0, i, k);
    }
    free(text);
}

static void test_one_run(void **state)
{
    (void)state;
    const char *run = make_run();
    liana__test_result got = liana__test_command("report", run, "--html");
    assert_says(got.out, "run/report.html\n");
    assert_code(got, 0);
    read_page page = read_file("run/report.html");
    assert_compare(page.size, <, 1 << 20);
    assert_int_equal(at(page.data, "runs")->count, 1);
    assert_string_equal(text_at(at(page.data, "runs", "0", "name")), "run");
    assert_says(text_at(at(page.data, "runs", "0", "config")), "learning_rate: 0.003");
    check_curve(&page, "0", "0", "loss");
    check_curve(&page, "0", "1", "val_loss");
    check_curve(&page, "1", "1", "val_accuracy");
    check_matrix(&page);
    const liana__value *parts = at(page.data, "details", "0", "parts");
    assert_int_equal(at(parts, "predictions", "items")->count, 24);
    assert_begins(text_at(at(parts, "predictions", "items", "0", "src")), "data:image/png;base64,iVBORw0KGgo");
    assert_non_null(at(parts, "roc", "panels", "0", "lines", "2", "x"));
    assert_non_null(at(parts, "precision_recall"));
    assert_non_null(at(parts, "reliability", "panels", "1"));
    assert_null(at(parts, "confusion_matrix_normalized"));
    assert_int_equal(at(page.data, "details", "0", "classes", "0", "auc")->count, 4);
    assert_int_equal(at(page.data, "details", "0", "data", "samples", "items")->count, 24);
    assert_non_null(at(page.data, "details", "0", "data", "labels"));
    /* 120 examples in batches of 32 are 4 updates an epoch. */
    assert_int_equal(at(page.data, "schedule", "panels", "0", "lines", "0", "y")->count, 12);
    assert_int_equal(at(page.data, "times", "panels")->count, 3);
    free_page(&page);
}

/* Mistakes begin with the one whose true class has the lowest probability; right ones are not among them. */
static void test_lists_of_images(void **state)
{
    (void)state;
    const char *run = make_run();
    assert_code(liana__test_command("report", run, "--html"), 0);
    read_page page = read_file("run/report.html");
    const liana__value *parts = at(page.data, "details", "0", "parts");
    const liana__value *mistakes = at(parts, "mistakes", "items"), *uncertain = at(parts, "uncertain", "items");
    double before = 0;
    for (size_t i = 0; i < mistakes->count; i++) {
        const liana__value *item = mistakes->items[i];
        assert_string_not_equal(text_at(at(item, "truth")), text_at(at(item, "predicted")));
        assert_compare(liana__value_number_of(item, "truth_probability", 0), >=, before, i);
        before = liana__value_number_of(item, "truth_probability", 0);
    }
    before = 0;
    assert_int_equal(uncertain->count, 24);
    for (size_t i = 0; i < uncertain->count; i++) {
        assert_compare(liana__value_number_of(uncertain->items[i], "confidence", 0), >=, before, i);
        before = liana__value_number_of(uncertain->items[i], "confidence", 0);
    }
    free_page(&page);
}

static void test_several_runs(void **state)
{
    (void)state;
    const char *run = make_run(), *config = liana__test_path("config.yaml");
    char other[256], out[256];
    snprintf(other, sizeof other, "%s", liana__test_path("other"));
    snprintf(out, sizeof out, "%s", liana__test_path("both.html"));
    assert_code(liana__test_command("train", config, "--out", other, "train.epochs=1", "train.seed=9"), 0);
    assert_code(liana__test_command("report", run, other, "--html", "--out", out), 0);
    read_page page = read_file("both.html");
    assert_int_equal(at(page.data, "runs")->count, 2);
    assert_int_equal(at(page.data, "details")->count, 2);
    assert_int_equal(at(page.data, "curves", "panels", "0", "lines")->count, 4);
    /* The first of two is dashed. */
    assert_non_null(at(page.data, "curves", "panels", "0", "lines", "0", "dashed"));
    assert_null(at(page.data, "curves", "panels", "0", "lines", "2", "dashed"));
    assert_int_equal(at(page.data, "differences")->count, 2);
    assert_string_equal(text_at(at(page.data, "differences", "0", "key")), "train.epochs");
    assert_string_equal(text_at(at(page.data, "differences", "0", "values", "1")), "1");
    assert_null(at(page.data, "left_out"));
    free_page(&page);

    /* More have curves alone, and the page says so, unless that was asked for. */
    assert_code(liana__test_command("report", run, other, run, other, run, "--html", "--out", out), 0);
    page = read_file("both.html");
    assert_int_equal(at(page.data, "details")->count, 0);
    assert_says(text_at(at(page.data, "left_out")), "up to 4 runs");
    free_page(&page);
    assert_code(liana__test_command("report", run, other, run, other, run, "--html", "--curves", "--out", out), 0);
    page = read_file("both.html");
    assert_null(at(page.data, "left_out"));
    free_page(&page);

    assert_refused(liana__test_command("report", run, other), 2, "--html");
    assert_refused(liana__test_command("report", run, "--html", "--out", "page.pdf"), 2, "page.pdf", ".html");
    assert_refused(liana__test_command("report", run, "--curves"), 2, "--curves", "--html");
    assert_refused(liana__test_command("report", run, liana__test_path("none"), "--html"), 2, "none", "config.yaml");
}

static void write_history(const char *text)
{
    liana__test_write("run/history.json", text, strlen(text));
}

static void check_noted(const char *run, const char *note)
{
    assert_code(liana__test_command("report", run, "--html", "--curves"), 0);
    read_page page = read_file("run/report.html");
    assert_says(text_at(at(page.data, "runs", "0", "note")), note);
    free_page(&page);
}

static void test_histories_that_are_not_whole(void **state)
{
    (void)state;
    const char *run = make_run();
    /* Numbers that were not finite are null in JSON: gaps of the curve. */
    write_history(
        "{\"epochs\": [{\"loss\": 2.5, \"val_loss\": null}, {\"loss\": null}, {\"loss\": 1e300, \"val_loss\": 3}]}");
    assert_code(liana__test_command("report", run, "--html", "--curves"), 0);
    read_page page = read_file("run/report.html");
    const liana__value *lines = at(page.data, "curves", "panels", "0", "lines");
    assert_int_equal(at(lines, "0", "y", "1")->kind, LIANA__VALUE_NULL);
    assert_near(at(lines, "0", "y", "2")->number, 1e300, 1e295);
    assert_int_equal(at(lines, "1", "y", "0")->kind, LIANA__VALUE_NULL);
    assert_null(at(page.data, "details", "0"));
    free_page(&page);
}

static void test_runs_without_epochs(void **state)
{
    (void)state;
    const char *run = make_run();
    write_history("{\"epochs\": []}");
    check_noted(run, "No epoch is finished yet");
    write_history("{\"epochs\": [{\"loss\": 1.");
    check_noted(run, "history.json");
    write_history("{\"epochs\": 5}");
    check_noted(run, "epochs");
    assert_int_equal(remove(liana__test_path("run/history.json")), 0);
    check_noted(run, "No epoch is finished yet");
}

/* A page is written of what is left. */
static void test_data_that_are_gone(void **state)
{
    (void)state;
    const char *run = make_run();
    assert_int_equal(remove(liana__test_path("validation-images")), 0);
    liana__test_result got = liana__test_command("report", run, "--html");
    assert_says(got.err, "Predictions are not shown");
    assert_code(got, 0);
    read_page page = read_file("run/report.html");
    assert_says(text_at(at(page.data, "details", "0", "notes", "0")), "validation-images");
    assert_int_equal(at(page.data, "curves", "panels")->count, 3);
    free_page(&page);

    assert_code(liana__test_command("report", run, "data.validation=null", "--html"), 0);
    page = read_file("run/report.html");
    assert_says(text_at(at(page.data, "details", "0", "notes", "0")), "no validation data");
    assert_non_null(at(page.data, "details", "0", "data", "samples"));
    free_page(&page);
}

/* y = 3 a; two more columns say nothing. Exchanging the values of a costs a model of y twice the variance of 3 a, which
 * is 2 * 9 / 12 for a in [0, 1]. Exchanging another column changes little. */
static void test_tables(void **state)
{
    (void)state;
    liana__test_folder();
    liana__text rows = {0};
    uint32_t random = 7;
    liana__text_add(&rows, "a,b,c,y\n");
    for (int i = 0; i < 400; i++) {
        double values[3];
        for (int k = 0; k < 3; k++) {
            random = random * 1664525u + 1013904223u;
            values[k] = (random >> 8) / 16777216.0;
        }
        liana__text_add(&rows, "%.5f,%.5f,%.5f,%.5f\n", values[0], values[1], values[2], 3 * values[0]);
    }
    liana__test_write("t.csv", rows.data, rows.length);
    liana__text_free(&rows);
    static const char config[] = "data:\n"
                                 "  train: t.csv\n"
                                 "  validation: t.csv\n"
                                 "  columns: {x: [a, b, c], y: y}\n"
                                 "  targets: y\n"
                                 "model:\n"
                                 "  layers: [{Dense: {units: 1}}]\n"
                                 "train: {epochs: 40, batch_size: 32, loss: mean_squared_error, seed: 1,\n"
                                 "        optimizer: {name: Adam, learning_rate: 0.02}}\n"
                                 "output: run\n";
    const char *file = liana__test_write("table.yaml", config, sizeof config - 1);
    assert_code(liana__test_command("train", file), 0);
    assert_code(liana__test_command("report", liana__test_path("run"), "--html"), 0);
    read_page page = read_file("run/report.html");
    const liana__value *parts = at(page.data, "details", "0", "parts");
    assert_says(text_at(at(parts, "importance", "labels", "0")), "a");
    const double rise = at(parts, "importance", "series", "0", "values", "0")->number;
    assert_near(rise, 1.5, 0.3);
    assert_compare(at(parts, "importance", "series", "0", "values", "1")->number, <, 0.02);
    /* Each example is a dot of its true and its predicted value. */
    const liana__value *dots = at(parts, "predicted", "panels", "0", "marks");
    assert_int_equal(dots->count, 400);
    for (size_t i = 0; i < dots->count; i++) {
        assert_near(dots->items[i]->items[0]->number, dots->items[i]->items[1]->number, 0.2, i);
    }
    assert_non_null(at(parts, "predicted", "panels", "1"));
    free_page(&page);
}

/* ---- hostile texts ---- */

static void test_names_are_texts(void **state)
{
    (void)state;
    static const char *const names[] = {"</script><script>alert(1)</script>",
                                        "\"quotes\" & 'more' <b>",
                                        "\xF0\x9F\x8C\xB7 tulip",
                                        "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D",
                                        "\xE8\x8A\xB1\xE5\x8D\x89 <!-- @data@ -->",
                                        "\xE2\x80\xA8line",
                                        "a\\b\nc\td"};
    liana__arena arena = {0};
    liana__value *data = liana__value_map(&arena), *list = liana__value_list(&arena);
    for (size_t i = 0; i < 7; i++) liana__value_add(&arena, list, liana__value_string(&arena, names[i]));
    liana__value_set(&arena, data, "names", list);
    liana__text text = {0};
    liana__page_text("<title> & \"@script@\" \xFF", data, &text);
    assert_false(text.failed);
    assert_says(text.data, "<title>&#60;title&#62; &#38; &#34;@script@&#34; \xEF\xBF\xBD</title>");
    assert_never_says(text.data, "alert(1)</script>");
    read_page page = read_text(text.data, text.length);
    for (size_t i = 0; i < 7; i++) {
        char index[4];
        snprintf(index, sizeof index, "%zu", i);
        assert_string_equal(text_at(at(page.data, "names", index)), names[i]);
    }
    /* Nothing is fetched: no address but names of formats, and a policy that allows none. */
    assert_says(text.data, "default-src 'none'");
    assert_never_says(text.data, "https://");
    assert_never_says(text.data, "src=\"http");
    free_page(&page);
    liana__arena_free(&arena);
}

static void test_hostile_runs(void **state)
{
    (void)state;
    make_run();
    char run[300];
    snprintf(run, sizeof run, "%s", liana__test_path("<img src=x onerror=alert(1)> 'q'"));
    assert_int_equal(rename(liana__test_path("run"), run), 0);
    assert_code(liana__test_command("report", run, "--html", "--out", liana__test_path("hostile.html"),
                                    "data.class_names=[\"</script>\", \"a & b\", \"\xE8\x8A\xB1\", \"<b>\"]"),
                0);
    read_page page = read_file("hostile.html");
    assert_never_says(page.text, "<img src=x");
    assert_string_equal(text_at(at(page.data, "details", "0", "classes", "0", "labels", "0")), "</script>");
    assert_says(text_at(at(page.data, "runs", "0", "command")), "onerror=alert(1)> '\\''q'\\'''");
    free_page(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_run),
        cmocka_unit_test(test_lists_of_images),
        cmocka_unit_test(test_several_runs),
        cmocka_unit_test(test_histories_that_are_not_whole),
        cmocka_unit_test(test_runs_without_epochs),
        cmocka_unit_test(test_data_that_are_gone),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_names_are_texts),
        cmocka_unit_test(test_hostile_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
