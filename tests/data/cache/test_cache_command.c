/* data.cache: the training does not depend on the place of decoded images, nor on damage there. */
#include "harness/harness.h"

#include "base/file.h"
#include "harness/command_run.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static char config_path[256];
static char cache_folder[256];
static char cache_option[300];

static int set_up(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_result got = liana__test_command("synth", "flowers", "classes=3", "images=40", "image_size=16",
                                                 "seed=3", "--out", liana__test_path("data"));
    assert_code(got, 0);
    static const char config[] =
        "data: {train: data/train/*.tfrec, validation: data/val/*.tfrec, class_names: data/classes.txt}\n"
        "model: {layers: [Conv2D: {filters: 4, kernel_size: 3, strides: 2}, Flatten, Dense: {units: 3}, Softmax]}\n"
        "train: {batch_size: 16, epochs: 2}\n";
    snprintf(config_path, sizeof config_path, "%s", liana__test_write("config.yaml", config, sizeof config - 1));
    snprintf(cache_folder, sizeof cache_folder, "%s", liana__test_path("cache"));
    snprintf(cache_option, sizeof cache_option, "data.cache_dir=%s", cache_folder);
    return 0;
}

/* Trains; the output must contain `text`, and not `absent`. */
static void train(const char *run, const char *cache, const char *text, const char *absent)
{
    char option[64];
    snprintf(option, sizeof option, "data.cache=%s", cache);
    liana__test_result got =
        liana__test_command("train", config_path, option, cache_option, "--out", liana__test_path(run));
    if (!strstr(got.out, text) || strstr(got.out, absent)) fail_msg("%s", got.out);
    assert_code(got, 0);
}

static const char *in_run(const char *run, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", run, name);
    return liana__test_path(path);
}

static void assert_same_run(const char *run, const char *expected)
{
    assert_same_file(in_run(run, "history.json"), in_run(expected, "history.json"));
    assert_same_file(in_run(run, "validation_predictions.csv"), in_run(expected, "validation_predictions.csv"));
}

/* The file of a part; NULL if there is none. */
static const char *cache_file(const char *part)
{
    liana__arena arena = {0};
    liana__paths names;
    static char path[600];
    *path = 0;
    assert_ok(liana__folder_list(cache_folder, &arena, &names, NULL), NULL);
    for (size_t i = 0; i < names.count; i++) {
        bool found = strncmp(names.items[i], part, strlen(part)) == 0;
        if (found) snprintf(path, sizeof path, "%s/%s", cache_folder, names.items[i]);
    }
    liana__arena_free(&arena);
    return *path ? path : NULL;
}

static void test_results_do_not_depend_on_the_cache(void **state)
{
    (void)state;
    train("none", "none", "training", "are kept");
    train("memory", "true", "training examples are kept in memory", "are kept in '");
    assert_same_run("memory", "none");
    train("first", "file", "decoded training images are kept in '", "anew");
    assert_non_null(cache_file("training-"));
    assert_non_null(cache_file("validation-"));
    assert_null(cache_file("test-"));
    assert_same_run("first", "none");
    train("second", "file", cache_file("training-"), "anew");
    assert_same_run("second", "none");

    int descriptor = open(cache_file("training-"), O_RDWR);
    uint8_t byte;
    assert_int_equal(pread(descriptor, &byte, 1, 4096 + 300), 1);
    byte ^= 1;
    assert_int_equal(pwrite(descriptor, &byte, 1, 4096 + 300), 1);
    close(descriptor);
    train("third", "file", "1 image was damaged and decoded again, first that of '", "images were");
    assert_same_run("third", "none");
    assert_int_equal(truncate(cache_file("validation-"), 5000), 0);
    train("fourth", "file", "is made again: its length has changed", "was damaged");
    assert_same_run("fourth", "none");
}

static void test_without_a_folder_of_its_own_it_lies_in_the_run(void **state)
{
    (void)state;
    liana__test_result got = liana__test_command("train", config_path, "train.epochs=1", "data.cache=file", "--out",
                                                 liana__test_path("own"));
    assert_code(got, 0);
    assert_true(liana__folder_exists(in_run("own", "cache")));
}

static void test_wrong_words_are_refused(void **state)
{
    (void)state;
    liana__test_result got =
        liana__test_command("train", config_path, "data.cache=disk", "--out", liana__test_path("wrong"));
    assert_refused(got, 2, "data.cache", "none, memory, file or device");
    char option[300];
    snprintf(option, sizeof option, "data.cache_dir=%s", liana__test_write("a_file", "x", 1));
    got = liana__test_command("train", config_path, "data.cache=file", option, "--out", liana__test_path("wrong"));
    assert_refused(got, 1, "a_file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_do_not_depend_on_the_cache),
        cmocka_unit_test(test_without_a_folder_of_its_own_it_lies_in_the_run),
        cmocka_unit_test(test_wrong_words_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
