/* A run does not go on with other data than it was begun with. */
#include "harness/command_run.h"
#include "harness/tiny_records.h"

#include "base/crc32c.h"
#include "base/file.h"
#include "data/source/source_open.h"
#include "formats/image.h"
#include "formats/json.h"
#include "train/checkpoint/data_state.h"

#include <fcntl.h>
#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NUM_FILES = 3, SIZE = LIANA__TINY_SIZE, CLASSES = LIANA__TINY_CLASSES };
static const int counts[NUM_FILES] = {20, 9, 30};

static void write_file(int file, int count)
{
    char name[32];
    snprintf(name, sizeof name, "part-%d.tfrec", file);
    liana__test_tiny_records(name, 1, 100 * file, count, NULL, 0);
}

static void set_up(void)
{
    liana__test_folder();
    liana__test_tiny_run(40);
    for (int i = 0; i < NUM_FILES; i++) write_file(i, counts[i]);
}

/* `more`: of the source. */
static liana__test_result train(const char *run, const char *more, bool resume)
{
    char source[800];
    snprintf(source, sizeof source, "data.train={paths: [\"%s\"]%s}", liana__test_path("part-*.tfrec"), more);
    const char *words[] = {"train",
                           liana__test_path("config.yaml"),
                           "--out",
                           liana__test_path(run),
                           source,
                           "train.epochs=2",
                           "checkpoint.keep=0",
                           resume ? "--resume" : NULL,
                           NULL};
    return liana__test_command_words(words);
}

static void assert_same_weights(const char *a, const char *b)
{
    char first[600], second[600];
    snprintf(first, sizeof first, "%s/variables.safetensors", liana__test_newest_checkpoint(a));
    snprintf(second, sizeof second, "%s/variables.safetensors", liana__test_newest_checkpoint(b));
    assert_same_file(first, second);
}

static void check_runs(const char *more)
{
    set_up();
    assert_code(train("whole", more, false), 0);
    assert_code(train("run", more, false), 0);
    char before[600], path[600];
    /* Without what came after the first epoch. */
    assert_ok(liana__folder_remove(liana__test_newest_checkpoint("run"), NULL), NULL);
    snprintf(before, sizeof before, "%s", liana__test_newest_checkpoint("run"));
    assert_true(*before);

    /* One record more. */
    write_file(1, 10);
    assert_refused(train("run", more, true), 1, "state.json'",
                   "the training data have changed since the checkpoint: 'part-1.tfrec' had 9 records in ",
                   ", and now has 10 in ", "restore the old data");
    /* As many, of other sizes. */
    static const uint8_t other[] = "no image";
    liana__test_odd odd = {.record = 4, .image = other, .image_size = sizeof other};
    liana__test_tiny_records("part-1.tfrec", 1, 100, 9, &odd, 1);
    assert_refused(train("run", more, true), 1, "'part-1.tfrec' had 9 records in ", ", and now has 9 in");
    write_file(1, 9);
    /* Another file, one less, one of another name. */
    write_file(3, 5);
    assert_refused(train("run", more, true), 1, "'part-3.tfrec' is new: there were 3 files, now", "there are 4");
    assert_int_equal(unlink(liana__test_path("part-3.tfrec")), 0);
    snprintf(path, sizeof path, "%s", liana__test_path("part-2.tfrec"));
    assert_int_equal(rename(path, liana__test_path("part-4.tfrec")), 0);
    assert_refused(train("run", more, true), 1, "'part-4.tfrec' is in the place of 'part-2.tfrec'");
    assert_int_equal(rename(liana__test_path("part-4.tfrec"), liana__test_path("away")), 0);
    assert_refused(train("run", more, true), 1, "'part-2.tfrec' is missing: there were 3 files, now there are 2");
    /* Nothing of the run was touched, and with the former data it goes on to the same end. */
    assert_string_equal(liana__test_newest_checkpoint("run"), before);
    assert_int_equal(rename(liana__test_path("away"), liana__test_path("part-2.tfrec")), 0);
    assert_code(train("run", more, true), 0);
    assert_same_weights("run", "whole");
}

static void test_runs_refuse_other_data(void **state)
{
    (void)state;
    check_runs("");
}

/* The files behind stages. */
static void test_runs_of_stages_refuse_other_data(void **state)
{
    (void)state;
    check_runs(", skip: 3");
}

/* ---- images, lists and labels in files of their own ---- */

/* An image of a class, by which a dense layer tells it from others. */
static void write_image(const char *name, int class, int shade)
{
    uint8_t pixels[8 * 8 * 3];
    liana__text png = {0};
    liana__error error = {0};
    for (int i = 0; i < 8 * 8 * 3; i++) pixels[i] = (uint8_t)(i % 3 == class ? 250 - shade : shade);
    assert_ok(liana__png_encode(pixels, 8, 8, 3, &png, &error), &error);
    /* All files are of one size. */
    uint8_t padded[600] = {0};
    assert_compare(png.length, <, sizeof padded);
    memcpy(padded, png.data, png.length);
    liana__test_write(name, padded, sizeof padded);
    liana__text_free(&png);
}

static void set_times(const char *name, long seconds)
{
    struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, liana__test_path(name), times, 0), 0);
}

static void write_folders(void)
{
    static const char *const classes[] = {"cat", "dog", "eel"};
    char name[64];
    liana__error error = {0};
    for (int class = 0; class < 3; class ++) {
        snprintf(name, sizeof name, "data/%s", classes[class]);
        assert_ok(liana__folder_make(liana__test_path(name), &error), &error);
        for (int i = 0; i < 4; i++) {
            snprintf(name, sizeof name, "data/%s/%d.png", classes[class], i);
            write_image(name, class, 10 * i);
            set_times(name, 1000000000 + i);
        }
    }
}

static const char LIST[] = "path,label\ndata/cat/0.png,cat\ndata/dog/1.png,dog\ndata/eel/2.png,eel\n";

/* Trains on "data" or "list.csv". */
static liana__test_result train_on(const char *data, bool resume)
{
    static const char config[] = "model: {layers: [Flatten, Dense: {units: 3, activation: softmax}]}\n"
                                 "train: {epochs: 2, batch_size: 4, precision: float32}\n"
                                 "checkpoint: {keep: 0}\n";
    char source[300];
    snprintf(source, sizeof source, "data.train=%s", liana__test_path(data));
    liana__test_write("small.yaml", config, sizeof config - 1);
    const char *words[] = {"train", liana__test_path("small.yaml"), "--out", liana__test_path("run"),
                           source,  resume ? "--resume" : NULL,     NULL};
    return liana__test_command_words(words);
}

static void begin_on(const char *data)
{
    assert_ok(liana__folder_remove(liana__test_path("run"), NULL), NULL);
    assert_code(train_on(data, false), 0);
    assert_ok(liana__folder_remove(liana__test_newest_checkpoint("run"), NULL), NULL);
}

#define BEFORE "the training data have changed since the checkpoint: "

static void test_runs_refuse_other_images(void **state)
{
    (void)state;
    char path[300];
    liana__test_folder();
    write_folders();
    begin_on("data");
    /* Another image of the same size in the place of one. */
    write_image("data/dog/2.png", 0, 3);
    set_times("data/dog/2.png", 1000000500);
    assert_refused(train_on("data", true), 1, BEFORE "'dog/2.png' has other contents", "600 bytes",
                   "2001-09-09 01:55:00 UTC", "2001-09-09 01:46:42 UTC", "restore the old data");
    /* Of another size, renamed, missing, new, of another class. */
    liana__test_write("data/dog/2.png", "short", 5);
    assert_refused(train_on("data", true), 1, BEFORE "'dog/2.png' had 600 bytes, and now has 5");
    write_image("data/dog/2.png", 1, 20);
    snprintf(path, sizeof path, "%s", liana__test_path("data/dog/2.png"));
    assert_int_equal(rename(path, liana__test_path("data/dog/22.png")), 0);
    assert_refused(train_on("data", true), 1, BEFORE "'dog/22.png' is in the place of 'dog/2.png'");
    assert_int_equal(rename(liana__test_path("data/dog/22.png"), liana__test_path("data/eel/9.png")), 0);
    assert_refused(train_on("data", true), 1, BEFORE "'dog/3.png' is in the place of 'dog/2.png'");
    assert_int_equal(rename(liana__test_path("data/eel/9.png"), path), 0);
    write_image("data/eel/9.png", 2, 5);
    assert_refused(train_on("data", true), 1, BEFORE "'eel/9.png' is new: there were 12 files, now there are 13");
    assert_int_equal(unlink(liana__test_path("data/eel/9.png")), 0);
    /* Only touched, all of them. */
    assert_code(train_on("data", true), 0);
}

static void test_runs_refuse_other_lists(void **state)
{
    (void)state;
    liana__test_folder();
    write_folders();
    liana__test_write("list.csv", LIST, sizeof LIST - 1);
    set_times("list.csv", 1000000000);
    begin_on("list.csv");
    /* Two labels swapped: as many records in as many bytes. */
    char swapped[sizeof LIST];
    memcpy(swapped, LIST, sizeof LIST);
    memcpy(strstr(swapped, ",cat"), ",dog", 4);
    memcpy(strstr(swapped, "1.png,dog"), "1.png,cat", 9);
    liana__test_write("list.csv", swapped, sizeof LIST - 1);
    assert_refused(train_on("list.csv", true), 1, BEFORE "'list.csv' has other contents");
    liana__test_write("list.csv", LIST, sizeof LIST - 1); /* anew, at another time */
    write_image("data/eel/2.png", 0, 20);
    assert_refused(train_on("list.csv", true), 1, BEFORE "'data/eel/2.png' has other contents");
    write_image("data/eel/2.png", 2, 20);
    assert_code(train_on("list.csv", true), 0);
}

/* Labels of IDX files lie in files of their own; records of a TFRecord may change within their sizes. */
static void test_runs_refuse_other_contents(void **state)
{
    (void)state;
    set_up();
    assert_code(liana__test_command("train", liana__test_path("config.yaml"), "--out", liana__test_path("run"),
                                    "checkpoint.keep=0"),
                0);
    assert_ok(liana__folder_remove(liana__test_newest_checkpoint("run"), NULL), NULL);
    uint8_t labels[8 + 40] = {0, 0, 8, 1, 0, 0, 0, 40};
    char *before;
    size_t size;
    assert_ok(liana__file_read(liana__test_path("train-labels"), 1 << 20, &before, &size, NULL), NULL);
    assert_int_equal(size, sizeof labels);
    liana__test_write("train-labels", labels, sizeof labels);
    assert_refused(liana__test_command("train", liana__test_path("config.yaml"), "--out", liana__test_path("run"),
                                       "checkpoint.keep=0", "--resume"),
                   1, BEFORE "'train-labels' has other contents");
    liana__test_write("train-labels", before, size);
    free(before);
    assert_code(liana__test_command("train", liana__test_path("config.yaml"), "--out", liana__test_path("run"),
                                    "checkpoint.keep=0", "--resume"),
                0);
    /* Part 1 with the images of others. */
    assert_ok(liana__folder_remove(liana__test_path("run"), NULL), NULL);
    assert_code(train("run", "", false), 0);
    assert_ok(liana__folder_remove(liana__test_newest_checkpoint("run"), NULL), NULL);
    liana__test_tiny_records("part-1.tfrec", 1, 777, 9, NULL, 0);
    assert_refused(train("run", "", true), 1, BEFORE "'part-1.tfrec' ");
    write_file(1, counts[1]);
    assert_code(train("run", "", true), 0);
}

/* Removes from a checkpoint the facts that an older liana did not write. */
static void make_old(const char *checkpoint)
{
    char path[600];
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *state;
    snprintf(path, sizeof path, "%s/state.json", checkpoint);
    assert_ok(liana__json_read(path, &arena, &state, &error), &error);
    liana__value *data = (liana__value *)liana__value_get(state, "data");
    liana__value_remove(data, "others");
    liana__value_remove(data, "num_others");
    liana__value_remove(data, "contents");
    const liana__value *files = liana__value_get(data, "files");
    for (size_t i = 0; i < files->count; i++) {
        liana__value_remove(files->items[i], "time");
        liana__value_remove(files->items[i], "contents");
    }
    /* The checksum is that of the text without it. */
    liana__value_remove(state, "crc32c");
    liana__text text = {0};
    liana__value_write_json(state, 0, &text);
    liana__value_set(&arena, state, "crc32c", liana__value_int(&arena, liana__crc32c(text.data, text.length)));
    text.length = 0;
    liana__value_write_json(state, 2, &text); /* as every liana wrote it */
    assert_ok(liana__file_replace(path, text.data, text.length, &error), &error);
    liana__text_free(&text);
    liana__arena_free(&arena);
}

static void test_older_checkpoints_go_on(void **state)
{
    (void)state;
    liana__test_folder();
    write_folders();
    liana__test_write("list.csv", LIST, sizeof LIST - 1);
    begin_on("list.csv");
    make_old(liana__test_newest_checkpoint("run"));
    set_times("list.csv", 5);
    assert_code(train_on("list.csv", true), 0);
    begin_on("data");
    make_old(liana__test_newest_checkpoint("run"));
    assert_code(train_on("data", true), 0);
}

/* Long lists are recorded as neighbours, and large data by samples. */
static void test_long_lists_and_large_files(void **state)
{
    (void)state;
    enum { COUNT = 9000, BIG = 300000 };
    liana__error error = {0};
    liana__arena arena = {0};
    char name[64];
    liana__test_folder();
    assert_ok(liana__folder_make(liana__test_path("many/a"), &error), &error);
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "many/a/%05d.jpg", i);
        liana__test_write(name, &i, sizeof i);
    }
    const char *pattern = liana__test_path("many/a");
    liana__source *source;
    assert_ok(liana__source_open(&pattern, 1, NULL, &source, &error), &error);
    liana__data_state before, now;
    assert_ok(liana__data_state_find(source, &arena, &before, &error), &error);
    assert_int_equal(before.num_others, COUNT);
    assert_int_equal(before.others.count, COUNT / 3);
    assert_false(before.samples);
    liana__data_state_read_contents(&before);
    const liana__value *recorded = liana__data_state_value(&before, &arena);
    assert_ok(liana__data_state_find(source, &arena, &now, &error), &error);
    assert_ok(liana__data_state_check(recorded, &now, &error), &error);
    assert_int_equal(now.others.items[7].contents, before.others.items[7].contents); /* taken over */
    int other = -1;
    liana__test_write("many/a/04000.jpg", &other, sizeof other);
    assert_ok(liana__data_state_find(source, &arena, &now, &error), &error);
    assert_fails(liana__data_state_check(recorded, &now, &error), LIANA_INVALID_DATA, &error,
                 "of the 3 files from '03999.jpg' to '04001.jpg', at least one has other contents");
    liana__source_close(source);

    /* Of a sample it is said that it is one. The middle of a large file is not seen, unless it holds labels. */
    char *bytes = calloc(1, BIG);
    liana__data_file file = {.count = 1, .paths = (const char *const[]){liana__test_write("big", bytes, BIG)}};
    liana__data_file_read_contents(&file, true);
    int64_t sample = file.contents;
    liana__data_file_read_contents(&file, false);
    int64_t whole = file.contents;
    bytes[BIG / 2] = 1;
    liana__test_write("big", bytes, BIG);
    liana__data_file_read_contents(&file, true);
    assert_int_equal(file.contents, sample);
    file.whole = true;
    liana__data_file_read_contents(&file, true);
    assert_int_not_equal(file.contents, whole);
    file.whole = false;
    bytes[BIG - 1] = 1;
    liana__test_write("big", bytes, BIG);
    liana__data_file_read_contents(&file, true);
    assert_int_not_equal(file.contents, sample);
    free(bytes);
    liana__arena_free(&arena);
}

static liana_status fit(liana_context *context, int count, int64_t epochs, bool resume)
{
    static uint8_t images[64][SIZE][SIZE];
    static int64_t labels[64];
    for (int i = 0; i < count; i++) labels[i] = liana__test_tiny_image(1, (uint32_t)i, images[i][0]);
    const liana_array arrays[] = {{"label", LIANA_S64, liana_shape_of(count), labels},
                                  {"image", LIANA_U8, liana_shape_of(count, SIZE, SIZE), images}};
    liana_dataset *data = liana_dataset_from_tensor_slices(context, arrays, 2);
    liana_model *model;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(SIZE, SIZE, 1));
    liana_flatten(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
    liana_fit_options options = {.training = data,
                                 .epochs = epochs,
                                 .checkpoints = liana__test_path("checkpoints"),
                                 .resume = resume};
    liana_status status = liana_fit(model, &options);
    liana_model_destroy(model);
    liana_dataset_close(data);
    return status;
}

static void test_fits_refuse_other_data(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    assert_int_equal(fit(context, 60, 1, false), LIANA_OK);
    assert_int_equal(fit(context, 59, 2, true), LIANA_INVALID_DATA);
    assert_says(liana_context_message(context), "there were 60 examples, now there are 59");
    assert_int_equal(fit(context, 60, 2, true), LIANA_OK);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_refuse_other_data),     cmocka_unit_test(test_runs_of_stages_refuse_other_data),
        cmocka_unit_test(test_runs_refuse_other_images),   cmocka_unit_test(test_runs_refuse_other_lists),
        cmocka_unit_test(test_runs_refuse_other_contents), cmocka_unit_test(test_older_checkpoints_go_on),
        cmocka_unit_test(test_long_lists_and_large_files), cmocka_unit_test(test_fits_refuse_other_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
