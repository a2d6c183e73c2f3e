/* A small flower study: classes made unequal, oversampling, a sweep, and its page. */
#include "harness/command_run.h"
#include "harness/text_files.h"

#include "base/file.h"
#include "base/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char BASE[] = "data:\n"
                           "  train: flowers/train/*.tfrec\n"
                           "  validation: flowers/val/*.tfrec\n"
                           "  class_names: flowers/classes.txt\n"
                           "  imbalance: {ratio: 4}\n"
                           "model:\n"
                           "  layers:\n"
                           "    - Conv2D: {filters: 8, kernel_size: 5, strides: 2, activation: relu}\n"
                           "    - GlobalAveragePooling2D\n"
                           "    - Dense: {units: 3, activation: softmax}\n"
                           "train:\n"
                           "  epochs: 2\n"
                           "  batch_size: 8\n"
                           "  metrics:\n"
                           "    - accuracy\n"
                           "    - {name: class_recall, as: macro_recall}\n"
                           "    - {name: class_f1_score, as: macro_f1}\n";

static const char STUDY[] = "base: base.yaml\n"
                            "output: study\n"
                            "title: A small study\n"
                            "seeds: [1, 2]\n"
                            "settings:\n"
                            "  - {name: plain, about: As the data are.}\n"
                            "  - {name: target, about: Oversampled., set: {data.oversample.target_count: 40}}\n"
                            "metrics: [val_macro_f1, val_macro_recall]\n"
                            "comparisons:\n"
                            "  - {question: Does oversampling help?, first: plain, second: target}\n";

static char base[256], study[256];

static void set_up(void)
{
    liana__test_folder();
    char flowers[256];
    snprintf(flowers, sizeof flowers, "%s", liana__test_path("flowers"));
    assert_code(liana__test_command("synth", "flowers", "classes=3", "images=180", "image_size=24", "--out", flowers),
                0);
    snprintf(base, sizeof base, "%s", liana__test_write("base.yaml", BASE, sizeof BASE - 1));
    snprintf(study, sizeof study, "%s", liana__test_write("study.yaml", STUDY, sizeof STUDY - 1));
}

/* The three sizes that a run says: of the last class a quarter of the first one's, of the middle one a half. */
static void find_sizes(const char *out, int sizes[3])
{
    const char *note = strstr(out, "imbalance: the classes have ");
    assert_non_null(note);
    assert_int_equal(sscanf(note, "imbalance: the classes have %d, %d, %d", &sizes[0], &sizes[1], &sizes[2]), 3);
}

static void test_classes_of_unequal_size(void **state)
{
    (void)state;
    set_up();
    char run[256];
    int sizes[3], again[3];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    liana__test_result got = liana__test_command("train", base, "--out", run, "train.epochs=1");
    assert_int_equal(got.code, 0);
    find_sizes(got.out, sizes);
    assert_compare(sizes[0], >, 20);
    assert_compare(sizes[0], <=, 60);
    assert_int_equal(sizes[1], (sizes[0] + 1) / 2);
    assert_int_equal(sizes[2], (sizes[0] + 2) / 4);
    char count[64];
    snprintf(count, sizeof count, "%d training, ", sizes[0] + sizes[1] + sizes[2]);
    assert_says(got.out, count);
    liana__test_free_result(&got);
    snprintf(run, sizeof run, "%s", liana__test_path("again"));
    got = liana__test_command("train", base, "--out", run, "train.epochs=1", "train.seed=9",
                              "data.imbalance.largest=20", "data.oversample.target_count=15");
    assert_int_equal(got.code, 0);
    find_sizes(got.out, again);
    assert_int_equal(again[0], 20);
    assert_int_equal(again[1], 10);
    assert_int_equal(again[2], 5);
    /* The repetitions of oversampling then. */
    assert_says(got.out, "5 records, target 15");
    liana__test_free_result(&got);
    /* Without it the run says nothing of it. */
    snprintf(run, sizeof run, "%s", liana__test_path("whole"));
    got = liana__test_command("train", base, "--out", run, "train.epochs=1", "data.imbalance.ratio=1");
    assert_int_equal(got.code, 0);
    assert_never_says(got.out, "imbalance");
    liana__test_free_result(&got);
}

static void test_imbalance_is_checked(void **state)
{
    (void)state;
    set_up();
    char run[256];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_refused(liana__test_command("train", base, "--out", run, "data.imbalance.ratio=0.5"), 2, "ratio", "0.5");
    assert_refused(liana__test_command("train", base, "--out", run, "data.imbalance.largest=1000"), 2,
                   "data.imbalance.largest", "at most");
    assert_refused(liana__test_command("train", base, "--out", run, "data.imbalance={largest: 5}"), 2,
                   "data.imbalance.ratio above 1");
    assert_refused(liana__test_command("train", base, "--out", run, "data.imbalance.ration=3"), 2,
                   "did you mean 'ratio'");
}

/* The numbers of a setting in results.json. */
static double number(const json_t *results, size_t setting, const char *metric, const char *what)
{
    const json_t *metrics = json_object_get(json_array_get(json_object_get(results, "settings"), setting), "metrics");
    return json_number_value(json_object_get(json_object_get(metrics, metric), what));
}

static void test_the_page_has_the_numbers(void **state)
{
    (void)state;
    set_up();
    char page[256], row[200];
    snprintf(page, sizeof page, "%s", liana__test_path("docs/study.md"));
    assert_code(liana__test_command("sweep", study, "--report", page), 0);
    char *text = liana__test_read_text("docs/study.md"), *json = liana__test_read_text("study/results.json");
    assert_begins(text, "# A small study\n");
    assert_says(text, "4 of 4 runs: 2 settings, each over 2 seeds");
    assert_says(text, "| target | Oversampled. |");
    assert_says(text, "### Does oversampling help?");
    json_t *results = json_loads(json, 0, NULL);
    double first = number(results, 0, "val_macro_f1", "mean"), second = number(results, 1, "val_macro_f1", "mean");
    snprintf(row, sizeof row, "| val_macro_f1 | %.4f | %.4f | %+.4f | ", first, second, second - first);
    assert_says(text, row);
    json_decref(results);
    free(json);
    static const char *const pictures[] = {"study-1.png", "study-val_macro_f1.png", "study-val_macro_recall.png"};
    for (size_t i = 0; i < 3; i++) {
        char name[80];
        snprintf(name, sizeof name, "docs/images/%s", pictures[i]);
        assert_says(text, name + strlen("docs/"));
        assert_true(liana__file_exists(liana__test_path(name)));
    }
    /* Once more, from the folder alone: the same bytes. */
    assert_code(liana__test_command("sweep", study, "--report", page), 0);
    char *again = liana__test_read_text("docs/study.md");
    assert_string_equal(text, again);
    free(again);
    free(text);
    /* All runs, for a browser. */
    char html[512];
    snprintf(html, sizeof html, "%s", liana__test_path("docs/study.html"));
    assert_code(liana__test_command("sweep", study, "--report", html), 0);
    text = liana__test_read_text("docs/study.html");
    assert_says(text, "<!doctype html>");
    assert_says(text, "seed-1");
    free(text);
    assert_refused(liana__test_command("sweep", study, "--report", "page.pdf"), 2, "page.pdf", ".md or .html");
}

/* The study of the examples is one that runs. */
static void test_the_example_is_in_order(void **state)
{
    (void)state;
    liana__test_data("flowers192/classes.txt");
    liana__test_folder();
    char out[256];
    snprintf(out, sizeof out, "%s", liana__test_path("study"));
    liana__test_result got =
        liana__test_command("sweep", LIANA_SOURCE_DIR "/examples/flower-study.yaml", "--dry-run", "--out", out);
    assert_says(got.out, "target-300-perspective/seed-3: to do");
    assert_code(got, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes_of_unequal_size),
        cmocka_unit_test(test_imbalance_is_checked),
        cmocka_unit_test(test_the_page_has_the_numbers),
        cmocka_unit_test(test_the_example_is_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
