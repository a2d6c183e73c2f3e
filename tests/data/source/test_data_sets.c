/* Data sets by their names: the files that they mean, their parts, the names of their classes. The files are placed in
 * the cache by hand, and the address of every server leads nowhere: nothing is fetched that is there. */
#include "harness/command_run.h"

#include "base/file.h"
#include "base/text.h"
#include "data/source/source_open.h"
#include "formats/image.h"
#include "harness/gzip_file.h"
#include "harness/tar_file.h"

#include <liana/dataset.h>
#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void set_up(void)
{
    liana__test_folder();
    setenv("LIANA_CACHE", liana__test_path("cache"), 1);
    setenv("LIANA_FETCH_BASE", "https://127.0.0.1:9", 1);
}

static const char *in_cache(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "cache/data/%s", name);
    char *slash = strrchr(path, '/');
    *slash = 0;
    assert_ok(liana__folder_make(liana__test_path(path), NULL), NULL);
    *slash = '/';
    return liana__test_path(path);
}

static void place(const char *name, const void *data, size_t size)
{
    assert_ok(liana__file_replace(in_cache(name), data, size, NULL), NULL);
}

/* The class of each image is a colour. */
static void place_cifar(const char *name, size_t num_labels, int count, int first)
{
    static uint8_t bytes[60 * 3074];
    size_t at = 0;
    for (int i = first; i < first + count; i++) {
        if (num_labels == 2) bytes[at++] = (uint8_t)(i % 5);
        bytes[at++] = (uint8_t)(i % 10);
        for (int k = 0; k < 3072; k++) bytes[at++] = (uint8_t)(k / 1024 == i % 3 ? 20 * (i % 10) : 7);
    }
    place(name, bytes, at);
}

static void place_names(const char *name, const char *word, int count)
{
    liana__text text = {0};
    for (int i = 0; i < count; i++) liana__text_add(&text, "%s %d\n", word, i);
    place(name, text.data, text.length);
    liana__text_free(&text);
}

static void place_cifar_10(void)
{
    for (int i = 1; i <= 5; i++) {
        char name[100];
        snprintf(name, sizeof name, "cifar-10/unpacked/cifar-10-batches-bin/data_batch_%d.bin", i);
        place_cifar(name, 1, 10, i);
    }
    place_cifar("cifar-10/unpacked/cifar-10-batches-bin/test_batch.bin", 1, 20, 0);
    place_names("cifar-10/unpacked/cifar-10-batches-bin/batches.meta.txt", "thing", 10);
}

static liana_status try_source(const char *pattern, const liana__source_options *options, liana__error *error)
{
    liana__source *source = NULL;
    *error = (liana__error){0};
    const liana_status status = liana__source_open(&pattern, 1, options, &source, error);
    if (status == LIANA_OK) liana__source_close(source);
    return status;
}

static liana__source *open_source(const char *pattern, const liana__source_options *options)
{
    liana__source *source;
    liana__error error = {0};
    assert_ok(liana__source_open(&pattern, 1, options, &source, &error), &error);
    return source;
}

static void check_set(const char *name, const liana__source_options *options, uint64_t count, size_t classes,
                      size_t class, const char *class_name)
{
    liana__source *source = open_source(name, options);
    assert_int_equal(source->num_records, count);
    assert_int_equal(source->class_names.count, classes);
    assert_string_equal(source->class_names.items[class], class_name);
    assert_true(source->has_labels);
    liana__source_close(source);
}

static void test_cifar(void **state)
{
    (void)state;
    const liana__source_options measured = {.measured = true}, coarse = {.label_feature = "coarse"};
    liana__error error;
    set_up();
    place_cifar_10();
    check_set("cifar-10", NULL, 50, 10, 3, "thing 3");
    check_set("cifar10", NULL, 50, 10, 3, "thing 3");
    check_set("CIFAR-10/train", &measured, 50, 10, 3, "thing 3");
    check_set("cifar-10", &measured, 20, 10, 9, "thing 9");
    check_set("cifar-10/test", NULL, 20, 10, 9, "thing 9");
    place_cifar("cifar-100/unpacked/cifar-100-binary/train.bin", 2, 30, 0);
    place_cifar("cifar-100/unpacked/cifar-100-binary/test.bin", 2, 7, 0);
    place_names("cifar-100/unpacked/cifar-100-binary/fine_label_names.txt", "fine", 100);
    place_names("cifar-100/unpacked/cifar-100-binary/coarse_label_names.txt", "coarse", 20);
    check_set("cifar-100", NULL, 30, 100, 99, "fine 99");
    check_set("cifar100/test", NULL, 7, 100, 99, "fine 99");
    check_set("cifar-100", &coarse, 30, 20, 19, "coarse 19");
    /* A file of it is gone. */
    unlink(in_cache("cifar-10/unpacked/cifar-10-batches-bin/data_batch_4.bin"));
    assert_fails(try_source("cifar-10", NULL, &error), LIANA_NOT_FOUND, &error, "data_batch_4.bin", "remove the folder",
                 "cifar-10/unpacked");
}

static void test_programs(void **state)
{
    (void)state;
    liana_context *context;
    liana_dataset *dataset;
    set_up();
    place_cifar_10();
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_dataset_open(context, "cifar-10", NULL, &dataset), LIANA_OK);
    assert_int_equal(liana_dataset_info(dataset).num_examples, 50);
    liana_dataset_close(dataset);
    assert_int_equal(liana_dataset_open(context, "cifar-10/test", NULL, &dataset), LIANA_OK);
    assert_int_equal(liana_dataset_info(dataset).num_examples, 20);
    liana_dataset_close(dataset);
    assert_int_equal(liana_dataset_configure(context, "{concatenate: [cifar-10, {paths: cifar-10/test, take: 5}]}",
                                             NULL, &dataset),
                     LIANA_OK);
    assert_int_equal(liana_dataset_info(dataset).num_examples, 55);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

static void test_flower_photos(void **state)
{
    (void)state;
    static const char *const classes[] = {"daisy", "dandelion", "roses", "sunflowers", "tulips"};
    const liana__source_options measured = {.measured = true};
    uint8_t pixels[8 * 8 * 3] = {0};
    liana__error error;
    liana__text png = {0};
    set_up();
    assert_ok(liana__png_encode(pixels, 8, 8, 3, &png, &error), &error);
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 3; k++) {
            char name[100];
            snprintf(name, sizeof name, "flower_photos/unpacked/flower_photos/%s/%d.png", classes[i], k);
            place(name, png.data, png.length);
        }
    }
    liana__text_free(&png);
    place("flower_photos/unpacked/flower_photos/LICENSE.txt", "by", 2);
    check_set("flower_photos", NULL, 15, 5, 4, "tulips");
    check_set("flower-photos", NULL, 15, 5, 0, "daisy");
    assert_fails(try_source("flower_photos/test", NULL, &error), LIANA_INVALID_CONFIG, &error, "flower_photos/test",
                 "data.validation_split: 0.2");
    assert_fails(try_source("flower_photos", &measured, &error), LIANA_INVALID_CONFIG, &error,
                 "data.validation_split: 0.2");
}

static void copy_data(const char *set, const char *name)
{
    char from[200];
    char *data;
    size_t size;
    snprintf(from, sizeof from, "%s/%s", set, name);
    const char *path = liana__test_data(from);
    assert_ok(liana__file_read(path, 1 << 26, &data, &size, NULL), NULL);
    place(from, data, size);
    free(data);
}

/* The originals, whose hashes are checked. */
static void test_mnist(void **state)
{
    (void)state;
    static const char *const sets[] = {"mnist", "fashion-mnist"}, *const sevens[] = {"7", "Sneaker"};
    liana__error error = {0};
    set_up();
    for (int i = 0; i < 2; i++) {
        char name[40];
        copy_data(sets[i], "t10k-images-idx3-ubyte.gz");
        copy_data(sets[i], "t10k-labels-idx1-ubyte.gz");
        snprintf(name, sizeof name, "%s/test", sets[i]);
        check_set(name, NULL, 10000, 10, 7, sevens[i]);
        check_set(sets[i], &(liana__source_options){.measured = true}, 10000, 10, 7, sevens[i]);
        /* The training part is not there, and no server is. */
        assert_compare(try_source(sets[i], NULL, &error), !=, LIANA_OK);
        assert_says(error.message, "train-");
        assert_says(error.message, "cache/data");
    }
    /* First label of MNIST's test part. */
    liana__source *source = open_source("mnist/test", NULL);
    assert_int_equal(source->kind->known_label(liana__source_handle(source), 0), 7);
    liana__source_close(source);
    /* Names of other classes. */
    static const char *const mine[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    assert_ok(try_source("mnist/test", &(liana__source_options){.class_names = {10, mine}}, &error), &error);
    const liana__source_options named = {.class_names = {10, mine}, .labels_are_names = true};
    assert_fails(try_source("fashion-mnist/test", &named, &error), LIANA_INVALID_DATA, &error, "10 classes: a, b",
                 "10 classes: T-shirt/top, Trouser");
}

static void test_other_content_is_refused(void **state)
{
    (void)state;
    liana__error error;
    liana__text tar = {0};
    set_up();
    liana__test_tar_add(&tar, "cifar-10-batches-bin/data_batch_1.bin", '0', NULL, "x", 1);
    liana__test_tar_end(&tar);
    liana__test_write_gzip(in_cache("cifar-10/cifar-10-binary.tar.gz"), tar.data, tar.length);
    liana__text_free(&tar);
    assert_fails(try_source("cifar-10", NULL, &error), LIANA_DATA_LOSS, &error, "cifar-10-binary.tar.gz");
    assert_false(liana__folder_exists(in_cache("cifar-10/unpacked")));
}

static void test_paths_come_first(void **state)
{
    (void)state;
    liana__error error;
    char before[4096];
    set_up();
    assert_fails(try_source("minst", NULL, &error), LIANA_NOT_FOUND, &error, "minst", "data set 'mnist'");
    assert_fails(try_source("cifar-20", NULL, &error), LIANA_NOT_FOUND, &error, "data set 'cifar-10'");
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(liana__test_path(".")), 0);
    liana__test_tiny_data("tiny", 6, 1);
    assert_int_equal(rename("tiny-images", "mnist"), 0);
    liana__source *source = open_source("mnist", &(liana__source_options){.labels = "tiny-labels"});
    assert_int_equal(source->num_records, 6);
    liana__source_close(source);
    assert_int_equal(chdir(before), 0);
}

/* A run: the name stays in its configuration, and means the test part where the run is measured. */
static void test_a_run(void **state)
{
    (void)state;
    static const char config[] = "data: {train: cifar-10, validation: cifar-10}\n"
                                 "model:\n"
                                 "  layers:\n"
                                 "    - Flatten\n"
                                 "    - Dense: {units: 10, activation: softmax}\n"
                                 "train: {epochs: 2, batch_size: 8, seed: 3}\n";
    char out[600], run[600];
    set_up();
    place_cifar_10();
    assert_ok(liana__folder_make(liana__test_path("settings"), NULL), NULL);
    liana__test_write("settings/c.yaml", config, sizeof config - 1);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    liana__test_result got = liana__test_command("train", liana__test_path("settings/c.yaml"), "--out", run);
    assert_says(got.out, "50 training, 20 validation, 0 test examples; 10 classes; images 32x32x3");
    assert_code(got, 0);
    char *text;
    size_t size;
    assert_ok(liana__file_read(liana__test_path("run/config.yaml"), 1 << 20, &text, &size, NULL), NULL);
    assert_says(text, "paths: [cifar-10]");
    assert_says(text, "thing 9");
    free(text);
    got = liana__test_command("evaluate", run, "--json");
    assert_says(got.out, "\"examples\": 20");
    assert_code(got, 0);
    snprintf(out, sizeof out, "%s", liana__test_path("said.csv"));
    assert_code(liana__test_command("predict", run, "cifar-10", "--out", out), 0);
    assert_ok(liana__file_read(out, 1 << 20, &text, &size, NULL), NULL);
    size_t lines = 0;
    for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
    assert_int_equal(lines, 21);
    free(text);
    /* Without a file. */
    snprintf(run, sizeof run, "%s", liana__test_path("other"));
    got = liana__test_command("train", "data.train=cifar10", "data.take=10",
                              "model.layers=[Flatten, {Dense: {units: 10, "
                              "activation: softmax}}]",
                              "--out", run);
    assert_says(got.out, "10 training");
    assert_code(got, 0);
    assert_refused(liana__test_command("train"), 2, "too few arguments", "CONFIG.yaml");
    assert_code(liana__test_command("list", "data"), 0);
    /* A folder of the name beside the configuration is meant there. */
    assert_ok(liana__folder_make(liana__test_path("settings/cifar-10"), NULL), NULL);
    assert_refused(liana__test_command("train", liana__test_path("settings/c.yaml"), "--out",
                                       liana__test_path("third")),
                   1, "settings/cifar-10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cifar),
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_flower_photos),
        cmocka_unit_test(test_other_content_is_refused),
        cmocka_unit_test(test_paths_come_first),
        cmocka_unit_test(test_a_run),
        cmocka_unit_test(test_mnist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
