/* CIFAR's binary files: which of the two they are, their planes, their labels, and what is wrong with them. */
#include "harness/command_run.h"

#include "base/file.h"
#include "data/source/source_open.h"

#include <liana/dataset.h>
#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 3072, TEN = 1 + PIXELS, HUNDRED = 2 + PIXELS, MOST = 40 };

/* The byte of a plane at a pixel of record i. */
static uint8_t value_at(int i, int channel, int pixel)
{
    return (uint8_t)(37 * i + 91 * channel + pixel);
}

/* Records with one label or with two. */
static size_t make_records(uint8_t *bytes, int count, bool hundred)
{
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        if (hundred) bytes[at++] = (uint8_t)(i % 20);
        bytes[at++] = (uint8_t)(hundred ? (7 * i + 3) % 100 : (3 * i + 1) % 10);
        for (int channel = 0; channel < 3; channel++) {
            for (int pixel = 0; pixel < PIXELS / 3; pixel++) bytes[at++] = value_at(i, channel, pixel);
        }
    }
    return at;
}

static const char *write_records(const char *name, int count, bool hundred)
{
    static uint8_t bytes[MOST * HUNDRED];
    return liana__test_write(name, bytes, make_records(bytes, count, hundred));
}

static void write_names(const char *name, int count)
{
    char text[2000];
    size_t used = 0;
    for (int i = 0; i < count; i++) used += (size_t)snprintf(text + used, sizeof text - used, "class %d\n", i);
    text[used++] = '\n'; /* as in CIFAR-10's file */
    liana__test_write(name, text, used);
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
    assert_string_equal(source->kind->part.name, "cifar");
    return source;
}

static void check_record(const liana__source *source, uint64_t index, int i, int64_t label)
{
    liana__error error = {0};
    liana_source_record record;
    void *scratch = liana__source_scratch_create(source);
    assert_ok(liana__source_read(source, index, scratch, &record, &error), &error);
    assert_int_equal(record.height, 32);
    assert_int_equal(record.width, 32);
    assert_int_equal(record.channels, 3);
    assert_int_equal(record.label, label);
    assert_int_equal(source->kind->known_label(liana__source_handle(source), index), label);
    for (int pixel = 0; pixel < PIXELS / 3; pixel++) {
        for (int channel = 0; channel < 3; channel++) {
            assert_compare(record.pixels[3 * pixel + channel], ==, value_at(i, channel, pixel), pixel, channel);
        }
    }
    liana__source_scratch_destroy(source, scratch);
}

static void test_ten(void **state)
{
    (void)state;
    liana__test_folder();
    write_records("data_batch_1.bin", 5, false);
    write_records("data_batch_2.bin", 3, false);
    liana__source *source = open_source(liana__test_path("data_batch_*.bin"), NULL);
    assert_int_equal(source->num_records, 8);
    assert_true(source->has_labels);
    assert_int_equal(source->class_names.count, 0);
    for (int i = 0; i < 8; i++) {
        const int own = i < 5 ? i : i - 5;
        check_record(source, (uint64_t)i, own, (3 * own + 1) % 10);
        assert_compare(liana__source_address(source, (uint64_t)i).record, ==, own, i);
        assert_compare(liana__source_offset(source, (uint64_t)i), ==, own * TEN, i);
    }
    assert_string_equal(liana__path_name(liana__source_address(source, 5).file), "data_batch_2.bin");
    liana__source_close(source);
    write_names("batches.meta.txt", 10);
    source = open_source(liana__test_path("data_batch_1.bin"), &(liana__source_options){.take = 2});
    assert_int_equal(source->num_records, 2);
    assert_int_equal(source->class_names.count, 10);
    assert_string_equal(source->class_names.items[9], "class 9");
    liana__source_close(source);
    /* Without labels. */
    source = open_source(liana__test_path("data_batch_1.bin"), &(liana__source_options){.ignore_labels = true});
    assert_false(source->has_labels);
    assert_int_equal(source->class_names.count, 0);
    liana__source_close(source);
}

static void test_hundred(void **state)
{
    (void)state;
    liana__error error;
    liana__test_folder();
    const char *path = write_records("train.bin", 30, true);
    liana__source *source = open_source(path, NULL);
    assert_int_equal(source->num_records, 30);
    check_record(source, 29, 29, (7 * 29 + 3) % 100);
    liana__source_close(source);
    write_names("fine_label_names.txt", 100);
    write_names("coarse_label_names.txt", 20);
    source = open_source(path, &(liana__source_options){.label_feature = "coarse"});
    check_record(source, 29, 29, 9);
    assert_int_equal(source->class_names.count, 20);
    liana__source_close(source);
    source = open_source(path, &(liana__source_options){.label_feature = "fine"});
    check_record(source, 29, 29, 6);
    assert_int_equal(source->class_names.count, 100);
    liana__source_close(source);
    assert_fails(try_source(path, &(liana__source_options){.label_feature = "middle"}, &error), LIANA_INVALID_CONFIG,
                 &error, "train.bin", "'middle'", "coarse and fine");
    write_records("data_batch_1.bin", 3, false);
    assert_fails(try_source(liana__test_path("data_batch_1.bin"), &(liana__source_options){.label_feature = "coarse"},
                            &error),
                 LIANA_INVALID_CONFIG, &error, "'coarse'", "CIFAR-10 has one");
    assert_fails(try_source(liana__test_path("*.bin"), NULL, &error), LIANA_INVALID_DATA, &error, "CIFAR-10",
                 "CIFAR-100", "one kind");
}

/* Training and test files in one folder are not mixed by naming the folder. */
static void test_folders(void **state)
{
    (void)state;
    liana__error error;
    liana__test_folder();
    write_records("data_batch_1.bin", 3, false);
    write_records("data_batch_2.bin", 3, false);
    write_names("batches.meta.txt", 10);
    liana__test_write("readme.html", "<html></html>", 13);
    liana__source *source = open_source(liana__test_path("."), NULL);
    assert_int_equal(source->num_records, 6);
    liana__source_close(source);
    write_records("test_batch.bin", 2, false);
    assert_fails(try_source(liana__test_path("."), NULL, &error), LIANA_INVALID_DATA, &error, "data_batch_2.bin",
                 "test_batch.bin", "data_batch_*.bin");
    liana__test_folder();
    write_records("train.bin", 2, true);
    write_records("test.bin", 2, true);
    assert_fails(try_source(liana__test_path("."), NULL, &error), LIANA_INVALID_DATA, &error, "train.bin", "test.bin");
    /* Of any name, if the size is right. */
    write_records("mine.bin", 4, false);
    source = open_source(liana__test_path("mine.bin"), NULL);
    assert_int_equal(source->num_records, 4);
    liana__source_close(source);
}

static void test_cut_files(void **state)
{
    (void)state;
    static const size_t cuts[] = {1, 2, 100, TEN - 1};
    static uint8_t bytes[MOST * HUNDRED];
    liana__error error;
    liana__test_folder();
    for (int hundred = 0; hundred < 2; hundred++) {
        const size_t record = hundred ? HUNDRED : TEN;
        const size_t size = make_records(bytes, 4, hundred);
        for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
            char shown[60];
            const char *path = liana__test_write("test_batch.bin", bytes, size - cuts[i]);
            snprintf(shown, sizeof shown, "record 3 has %zu of %zu bytes", record - cuts[i], record);
            assert_fails(try_source(path, NULL, &error), LIANA_DATA_LOSS, &error, "test_batch.bin", shown);
            const liana__source_options skip = {.skip_damage = true};
            liana__source *source = open_source(path, &skip);
            assert_int_equal(source->num_records, 3);
            check_record(source, 2, 2, hundred ? 17 : 7);
            assert_int_equal(source->num_lost, 1);
            assert_int_equal(source->lost[0].record, 3);
            assert_int_equal(source->lost[0].offset, 3 * record);
            assert_int_equal(source->lost[0].bytes, record - cuts[i]);
            liana__source_close(source);
        }
    }
    liana__test_write("test_batch.bin", bytes, 10);
    assert_fails(try_source(liana__test_path("test_batch.bin"), NULL, &error), LIANA_INVALID_DATA, &error,
                 "test_batch.bin", "10 bytes", "3073", "3074");
    liana__test_write("test_batch.bin", bytes, 0);
    assert_fails(try_source(liana__test_path("test_batch.bin"), &(liana__source_options){.kind = "cifar"}, &error),
                 LIANA_INVALID_DATA, &error, "test_batch.bin");
}

static void test_labels_out_of_range(void **state)
{
    (void)state;
    static uint8_t bytes[MOST * HUNDRED];
    static const struct {
        bool hundred;
        size_t at;
        uint8_t label;
        const char *wanted, *message;
    } cases[] = {
        {false, 2 * TEN, 10, NULL, "record 2: the label is 10, expected 0 to 9"},
        {false, 2 * TEN, 255, NULL, "record 2: the label is 255, expected 0 to 9"},
        {true, 2 * HUNDRED + 1, 100, NULL, "record 2: the fine label is 100, expected 0 to 99"},
        {true, 2 * HUNDRED, 20, "coarse", "record 2: the coarse label is 20, expected 0 to 19"},
    };
    liana__test_folder();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__error error = {0};
        liana_source_record record;
        const size_t size = make_records(bytes, 4, cases[i].hundred);
        bytes[cases[i].at] = cases[i].label;
        const char *path = liana__test_write("x.bin", bytes, size);
        liana__source *source = open_source(path, &(liana__source_options){.label_feature = cases[i].wanted});
        void *scratch = liana__source_scratch_create(source);
        assert_fails(liana__source_read(source, 2, scratch, &record, &error), LIANA_OUT_OF_RANGE, &error, "x.bin",
                     cases[i].message);
        assert_ok(liana__source_read(source, 3, scratch, &record, &error), &error);
        assert_int_equal(source->kind->known_label(liana__source_handle(source), 2), -1);
        liana__source_scratch_destroy(source, scratch);
        liana__source_close(source);
    }
}

static void test_names(void **state)
{
    (void)state;
    static const char *const other[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    liana__error error;
    liana__test_folder();
    const char *path = write_records("data_batch_1.bin", 3, false);
    write_names("batches.meta.txt", 9);
    assert_fails(try_source(path, NULL, &error), LIANA_INVALID_DATA, &error, "batches.meta.txt", "9 names",
                 "expected 10");
    write_names("batches.meta.txt", 11);
    assert_fails(try_source(path, NULL, &error), LIANA_INVALID_DATA, &error, "11 names", "expected 10");
    write_names("batches.meta.txt", 10);
    /* The caller's own names for the numbers. */
    liana__source *source = open_source(path, &(liana__source_options){.class_names = {10, other}});
    check_record(source, 1, 1, 4);
    liana__source_close(source);
    /* Names of other data. */
    const liana__source_options named = {.class_names = {10, other}, .labels_are_names = true};
    assert_fails(try_source(path, &named, &error), LIANA_INVALID_DATA, &error, "10 classes: a, b, c",
                 "10 classes: class 0, class 1");
    assert_fails(try_source(path, &(liana__source_options){.class_names = {3, other}}, &error), LIANA_INVALID_DATA,
                 &error, "3 classes: a, b, c", "10 classes: class 0");
}

static void test_programs(void **state)
{
    (void)state;
    liana_context *context;
    liana_dataset *dataset;
    liana__test_folder();
    const char *path = write_records("data_batch_1.bin", 3, false);
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_dataset_open(context, path, NULL, &dataset), LIANA_OK);
    assert_int_equal(liana_dataset_info(dataset).num_examples, 3);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

static void test_inspect(void **state)
{
    (void)state;
    static uint8_t bytes[MOST * HUNDRED];
    liana__test_folder();
    const char *path = write_records("data_batch_1.bin", 12, false);
    write_names("batches.meta.txt", 10);
    liana__test_result got = liana__test_command("inspect", path);
    assert_says(got.out, "kind: CIFAR\n");
    assert_says(got.out, "records: 12\n");
    assert_says(got.out, "class 7");
    assert_code(got, 0);
    liana__test_write("data_batch_1.bin", bytes, make_records(bytes, 3, false) - 9);
    got = liana__test_command("inspect", path);
    assert_says(got.out, "records: 2\n");
    assert_says(got.err, "record 2 has 3064 of 3073 bytes");
    assert_code(got, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ten),       cmocka_unit_test(test_hundred), cmocka_unit_test(test_folders),
        cmocka_unit_test(test_cut_files), cmocka_unit_test(test_names),   cmocka_unit_test(test_labels_out_of_range),
        cmocka_unit_test(test_programs),  cmocka_unit_test(test_inspect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
