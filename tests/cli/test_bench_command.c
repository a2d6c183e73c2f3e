/* liana bench data: every stage has a row, the parts make up the whole, and one of them bounds it. */
#include "harness/harness.h"

#include "base/file.h"
#include "harness/command_run.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char config_path[256];

static int set_up(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_result got = liana__test_command("synth", "flowers", "classes=3", "images=30", "image_size=40",
                                                 "seed=3", "--out", liana__test_path("data"));
    assert_code(got, 0);
    static const char config[] =
        "data: {train: data/train/*.tfrec, class_names: data/classes.txt, image_size: 24, cache: none,\n"
        "       augment: [random_flip, random_contrast: {factor: 0.3}, mixup]}\n"
        "model: {layers: [Flatten, Dense: {units: 3}, Softmax]}\n"
        "train: {batch_size: 16}\n";
    snprintf(config_path, sizeof config_path, "%s", liana__test_write("config.yaml", config, sizeof config - 1));
    return 0;
}

static void test_rows(void **state)
{
    (void)state;
    static const char *const names[] = {"read",        "checksum",        "decode", "resize",
                                        "random_flip", "random_contrast", "mixup",  "batch"};
    liana__test_result got = liana__test_command("bench", "data", config_path, "--seconds", "0.2", "--json");
    char *line = strtok(got.out, "\n");
    double longest = 0;
    char slowest[40] = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++, line = strtok(NULL, "\n")) {
        assert_non_null(line);
        json_t *row = json_loads(line, 0, NULL);
        assert_string_equal(json_string_value(json_object_get(row, "event")), "stage");
        assert_string_equal(json_string_value(json_object_get(row, "stage")), names[i]);
        double seconds = json_number_value(json_object_get(row, "seconds"));
        assert_compare(seconds, >=, 0);
        assert_true(isfinite(seconds));
        if (seconds > longest) snprintf(slowest, sizeof slowest, "%s", names[i]);
        if (seconds > longest) longest = seconds;
        json_decref(row);
    }
    json_t *pipeline = json_loads(line, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(pipeline, "event")), "pipeline");
    if (longest > 0) assert_string_equal(json_string_value(json_object_get(pipeline, "bound")), slowest);
    double rate = json_number_value(json_object_get(pipeline, "examples_per_second"));
    double threads = json_number_value(json_object_get(pipeline, "threads"));
    assert_compare(rate, >=, 0);
    assert_compare(threads, >=, 1);
    assert_compare(json_number_value(json_object_get(pipeline, "examples_per_second_per_thread")), ==, rate / threads);
    assert_compare(json_number_value(json_object_get(pipeline, "examples_per_second_cached")), ==, 0);
    /* An older name. */
    assert_compare(json_number_value(json_object_get(pipeline, "images_per_second")), ==, rate);
    json_decref(pipeline);
    assert_null(strtok(NULL, "\n"));
    assert_code(got, 0);
}

static void test_text(void **state)
{
    (void)state;
    char cache[300];
    snprintf(cache, sizeof cache, "data.cache_dir=%s", liana__test_path("cache"));
    liana__test_result got =
        liana__test_command("bench", "data", config_path, "--seconds", "0.2", "data.cache=file", cache);
    static const char *const texts[] = {"us/example",         "decode",
                                        "random_contrast",    "all of them",
                                        "in the first epoch", "from the cache",
                                        "limits the input",   "the first batch is ready after"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!strstr(got.out, texts[i])) fail_msg("'%s' is not in:\n%s", texts[i], got.out);
    }
    assert_code(got, 0);
    assert_true(liana__folder_exists(liana__test_path("cache")));
}

static void test_refusals(void **state)
{
    (void)state;
    assert_refused(liana__test_command("bench", "steps", config_path), 2, "'steps'", "'data'");
    assert_refused(liana__test_command("bench", "data"), 2, "too few arguments", "data CONFIG.yaml");
    assert_refused(liana__test_command("bench", "data", config_path, "--seconds", "0"), 2, "--seconds");
    assert_refused(liana__test_command("bench", "data", config_path, "data.train=none*.tfrec"), 1, "none*.tfrec");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
