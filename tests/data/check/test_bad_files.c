/* data.on_bad_record: skip, of each kind of data: a single record is left out alone; all that is behind damage that
 * hides records is lost, and named; the rest is used. Without it each is an error that says where. */
#include "harness/command_run.h"

#include "base/file.h"
#include "data/source/source_open.h"
#include "formats/example.h"
#include "formats/tfrecord.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const liana__source_options skipping = {.skip_damage = true, .need_labels = true};

static liana_status open_source(const char *path, const liana__source_options *options, liana__source **source,
                                liana__error *error)
{
    return liana__source_open(&path, 1, options, source, error);
}

static liana__source *open_skipping(const char *path, uint64_t num_records, size_t num_lost)
{
    liana__source *source;
    liana__error error = {0};
    assert_ok(open_source(path, &skipping, &source, &error), &error);
    assert_int_equal(source->num_records, num_records);
    assert_int_equal(source->num_lost, num_lost);
    assert_true(source->has_labels);
    return source;
}

static const char *write_text(const char *name, const char *text)
{
    return liana__test_write(name, text, strlen(text));
}

static void check_record(const liana__source *source, uint64_t index, int64_t label, const char *bytes)
{
    void *scratch = liana__source_scratch_create(source);
    liana_source_record record;
    liana__error error = {0};
    assert_ok(liana__source_read(source, index, scratch, &record, &error), &error);
    assert_true(record.has_label);
    assert_int_equal(record.label, label);
    if (bytes) assert_int_equal(record.size, strlen(bytes));
    if (bytes) assert_memory_equal(record.bytes, bytes, record.size);
    liana__source_scratch_destroy(source, scratch);
}

/* A record that cannot be read, or has no label. */
static void check_bad(const liana__source *source, uint64_t index, const char *text)
{
    void *scratch = liana__source_scratch_create(source);
    liana_source_record record;
    liana__error error = {0};
    int32_t label;
    liana_status status = liana__source_read(source, index, scratch, &record, &error);
    if (status == LIANA_OK) status = liana__source_label(source, index, &record, 0, 10, &label, &error);
    assert_true(liana__source_is_bad_record(status));
    if (!strstr(error.message, text)) fail_msg("'%s' does not say '%s'", error.message, text);
    liana__source_scratch_destroy(source, scratch);
}

static void check_lost(const liana__source *source, size_t index, const char *name, int64_t record, int64_t offset,
                       int64_t bytes, const char *text)
{
    const liana__lost *lost = &source->lost[index];
    assert_string_equal(liana__path_name(lost->file), name);
    assert_int_equal(lost->record, record);
    assert_int_equal(lost->offset, offset);
    assert_int_equal(lost->bytes, bytes);
    if (!strstr(lost->reason, text)) fail_msg("'%s' does not say '%s'", lost->reason, text);
}

/* ---- lists ---- */

static void write_images(void)
{
    liana__test_folder();
    write_text("1.jpg", "one");
    write_text("2.jpg", "two");
    write_text("3.jpg", "three");
}

static void test_rows_of_a_list(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__source *source;
    write_images();
    const char *list =
        write_text("l.csv", "image,label\n1.jpg,rose\nnone.jpg,tulip\n,rose\n2.jpg,\n3.jpg\n3.jpg,tulip\n");
    assert_fails(open_source(list, NULL, &source, &error), LIANA_INVALID_DATA, &error, "l.csv", "line 6",
                 "found 1 cells, expected 2");
    source = open_skipping(list, 6, 0);
    assert_int_equal(source->class_names.count, 2);
    check_record(source, 0, 0, "one");
    check_bad(source, 1, "none.jpg");
    check_bad(source, 2, "line 4: the cell of the image file is empty");
    check_bad(source, 3, "no label");
    check_bad(source, 4, "line 6");
    check_record(source, 5, 1, "three");
    assert_int_equal(liana__source_address(source, 5).record, 5);
    liana__source_close(source);

    static const char *const names[] = {"rose"};
    liana__source_options options = skipping;
    options.class_names = (liana__strings){1, names};
    assert_ok(open_source(list, &options, &source, &error), &error);
    check_record(source, 0, 0, "one");
    check_bad(source, 5, "line 7: 'tulip' is not the name of a class");
    liana__source_close(source);
}

/* One label that is no number does not make names of all others. */
static void test_labels_of_a_list(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__source *source;
    write_images();
    const char *list = write_text("l.csv", "image,label\n1.jpg,10\n2.jpg,x\n3.jpg,-2\n1.jpg,2\n");
    source = open_skipping(list, 4, 0);
    assert_int_equal(source->class_names.count, 0);
    check_record(source, 0, 10, "one");
    check_bad(source, 1, "line 3: the label 'x' is not a number");
    check_bad(source, 2, "line 4: the label -2 is below 0");
    check_record(source, 3, 2, "one");
    liana__source_close(source);
    assert_fails(open_source(write_text("l.csv", "image,label\n3.jpg,-2\n"), NULL, &source, &error), LIANA_OUT_OF_RANGE,
                 &error, "l.csv', line 2: the label -2 is below 0");
}

static void test_lists_that_are_damaged(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__source *source;
    write_images();
    static const char text[] = "image,label\n1.jpg,1\n2.jpg,2\n\"3.jpg,1\n1.jpg,1\n";
    const char *list = write_text("l.csv", text);
    assert_fails(open_source(list, NULL, &source, &error), LIANA_INVALID_DATA, &error, "line 4", "a quote");
    source = open_skipping(list, 2, 1);
    check_record(source, 1, 2, "two");
    check_lost(source, 0, "l.csv", 2, 28, (int64_t)strlen(text) - 28, "line 4");
    liana__source_close(source);
    /* A list that cannot be read at all, with one that can. */
    const char *both[] = {list, liana__test_write("m.csv", "image,label\n\0", 13)};
    assert_ok(liana__source_open(both, 2, &skipping, &source, &error), &error);
    assert_int_equal(source->num_records, 2);
    check_lost(source, 1, "m.csv", 0, 0, 13, "NUL");
    liana__source_close(source);
    assert_fails(open_source(both[1], &skipping, &source, &error), LIANA_INVALID_DATA, &error, "no records in it",
                 "NUL");
    /* A fault of the configuration stays an error. */
    assert_fails(open_source(write_text("l.csv", "picture,label\n1.jpg,1\n"), &skipping, &source, &error),
                 LIANA_INVALID_DATA, &error, "no column");
}

/* ---- folders ---- */

static void test_images_of_folders(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    assert_ok(liana__folder_make(liana__test_path("top/a"), &error), &error);
    assert_ok(liana__folder_make(liana__test_path("top/b"), &error), &error);
    write_text("top/a/1.png", "one");
    write_text("top/b/2.png", "two");
    assert_int_equal(symlink("nowhere", liana__test_path("top/a/0.png")), 0);
    liana__source *source = open_skipping(liana__test_path("top"), 3, 0);
    check_bad(source, 0, "top/a/0.png");
    check_record(source, 1, 0, "one");
    check_record(source, 2, 1, "two");
    liana__source_close(source);
    if (geteuid() != 0) return; /* becomes nobody */
    char path[300];
    snprintf(path, sizeof path, "%s", liana__test_path("top"));
    assert_int_equal(chmod(liana__test_path("."), 0755), 0);
    assert_int_equal(chmod(liana__test_path("top/a"), 0), 0);
    assert_int_equal(seteuid(65534), 0);
    liana_status status = open_source(path, &skipping, &source, &error);
    assert_int_equal(seteuid(0), 0);
    assert_ok(status, &error);
    assert_int_equal(source->num_records, 1);
    check_record(source, 0, 1, "two");
    check_lost(source, 0, "a", 0, 0, 0, "Permission denied");
    liana__source_close(source);
}

/* ---- IDX ---- */

static void cut_file(const char *name, long size)
{
    assert_int_equal(truncate(liana__test_path(name), size), 0);
}

static void test_idx_files_that_are_cut(void **state)
{
    (void)state;
    enum { PIXELS = LIANA__TINY_SIZE * LIANA__TINY_SIZE };
    liana__error error = {0};
    liana__source *source;
    liana__test_folder();
    liana__test_tiny_data("x", 20, 1);
    char path[300];
    snprintf(path, sizeof path, "%s", liana__test_path("x-images"));
    uint8_t pixels[PIXELS];
    int label = liana__test_tiny_image(1, 12, pixels);

    cut_file("x-labels", 8 + 15);
    assert_fails(open_source(path, NULL, &source, &error), LIANA_DATA_LOSS, &error, "x-labels", "truncated");
    source = open_skipping(path, 15, 1);
    check_lost(source, 0, "x-labels", 15, 8 + 15, 0, "it has 15 of 20 labels");
    liana__source_close(source);

    cut_file("x-images", 16 + 13 * PIXELS + 5);
    source = open_skipping(path, 13, 2);
    check_record(source, 12, label, NULL);
    check_lost(source, 0, "x-images", 13, 16 + 13 * PIXELS, 5, "it has 13 of 20 images");
    liana__source_close(source);

    cut_file("x-labels", 2);
    assert_fails(open_source(path, &skipping, &source, &error), LIANA_INVALID_DATA, &error, "no records in it",
                 "it has 13 of 20 images");
    liana__source_options options = {.skip_damage = true, .ignore_labels = true};
    assert_ok(open_source(path, &options, &source, &error), &error);
    assert_int_equal(source->num_records, 13);
    liana__source_close(source);

    /* Files that do not belong together are a mistake of the user. */
    liana__test_tiny_data("y", 21, 1);
    options = skipping;
    options.labels = liana__test_path("y-labels");
    assert_fails(open_source(path, &options, &source, &error), LIANA_INVALID_DATA, &error, "21 labels", "20 images");

    cut_file("x-images", 10);
    const char *both[] = {liana__test_path("y-images"), path};
    assert_ok(liana__source_open(both, 2, &skipping, &source, &error), &error);
    assert_int_equal(source->num_records, 21);
    check_lost(source, 0, "x-images", 0, 0, 10, "x-images");
    liana__source_close(source);
}

static void test_a_run_on_idx_files_that_are_cut(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(64);
    cut_file("train-images", 16 + 50 * LIANA__TINY_SIZE * LIANA__TINY_SIZE);
    assert_refused(liana__test_command("train", config, "--out", liana__test_path("run")), 1, "train-images",
                   "truncated");
    liana__test_result got = liana__test_command("check", config);
    assert_says(got.out, "it has 50 of 64 images");
    assert_code(got, 1);
    got = liana__test_command("train", config, "--out", liana__test_path("run"), "data.on_bad_record=skip",
                              "train.epochs=1");
    assert_says(got.out, "50 training");
    assert_says(got.out, "it has 50 of 64 images");
    assert_code(got, 0);
    char *text;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path("run/bad_records.csv"), 1 << 20, &text, &size, &error), &error);
    assert_says(text, "train-images,50,");
    free(text);
}

/* ---- WebDataset ---- */

/* A member has a block of its header and, with the few bytes that it has here, one of data. */
enum { MEMBER = 1024, HEADER = 512 };

static const char *write_archive(const char *name, const char *members)
{
    char command[2048];
    snprintf(command, sizeof command, "cd '%s' && tar --format=ustar -cf '%s' %s", liana__test_path(""), name, members);
    assert_int_equal(system(command), 0);
    return liana__test_path(name);
}

static const char *write_members(void)
{
    liana__test_folder();
    write_text("a.jpg", "first");
    write_text("a.cls", "1");
    write_text("b.jpg", "second");
    write_text("b.cls", "2");
    write_text("c.jpg", "third");
    write_text("c.cls", "3");
    return write_archive("x.tar", "a.jpg a.cls b.jpg b.cls c.jpg c.cls");
}

static void test_archives_that_are_cut(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__source *source;
    const char *path = write_members();
    /* The rest is all, but for the mark of the end. */
    cut_file("x.tar", 6 * MEMBER);
    assert_fails(open_source(path, NULL, &source, &error), LIANA_DATA_LOSS, &error, "truncated");
    source = open_skipping(path, 3, 1);
    check_record(source, 2, 3, "third");
    liana__source_close(source);
    /* The last label is gone, and with it the last example. */
    cut_file("x.tar", 5 * MEMBER + 100);
    source = open_skipping(path, 2, 1);
    check_record(source, 1, 2, "second");
    check_lost(source, 0, "x.tar", 2, 4 * MEMBER + HEADER, MEMBER - HEADER + 100, "truncated");
    liana__source_close(source);
    cut_file("x.tar", 2 * MEMBER + HEADER + 3);
    source = open_skipping(path, 1, 1);
    check_lost(source, 0, "x.tar", 1, MEMBER + HEADER + 1, MEMBER + 2, "truncated");
    liana__source_close(source);
    /* Two files, of which one is nothing. */
    const char *both[] = {write_text("0.tar", "no archive"), liana__test_path("x.tar")};
    assert_ok(liana__source_open(both, 2, &skipping, &source, &error), &error);
    assert_int_equal(source->num_records, 1);
    assert_int_equal(source->num_lost, 2);
    check_record(source, 0, 1, "first");
    assert_string_equal(liana__path_name(liana__source_address(source, 0).file), "x.tar");
    check_lost(source, 0, "0.tar", 0, 0, 10, "not a tar archive");
    liana__source_close(source);
}

static void test_archives_with_gaps(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__source *source;
    write_members();
    const char *path = write_archive("y.tar", "a.jpg a.cls b.cls c.jpg");
    assert_fails(open_source(path, NULL, &source, &error), LIANA_INVALID_DATA, &error, "no member 'b.jpg'");
    source = open_skipping(path, 3, 0);
    check_record(source, 0, 1, "first");
    check_bad(source, 1, "record 1 (id 'b'): no image among the members of that name");
    assert_int_equal(liana__source_offset(source, 1), 2 * MEMBER + HEADER);
    check_bad(source, 2, "no label");
    liana__source_close(source);
}

/* ---- TFRecord ---- */

static void write_records(const char *const *features, size_t count)
{
    liana__error error = {0};
    liana__tfrecord_writer writer;
    liana__example_builder builder = {0};
    assert_ok(liana__tfrecord_writer_begin(&writer, liana__test_path("x.tfrec"), &error), &error);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *bytes = (const uint8_t *)"\xff\xff\xff";
        size_t size = 3;
        int64_t label = (int64_t)i;
        if (strchr(features[i], 'i')) liana__example_add_bytes(&builder, "image", "pixels", 6);
        if (strchr(features[i], 'l')) liana__example_add_int64s(&builder, "class", &label, 1);
        if (strchr(features[i], 'o')) liana__example_add_int64s(&builder, "other", &label, 1);
        if (*features[i]) assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
        assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
    }
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    liana__example_builder_free(&builder);
}

/* The names of features are found at a record that has them, where bad ones may be left out. */
static void test_first_records(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"", "il", "il"}, {"l", "il", "il"}, {"i", "il", "il"}, {"o", "i", "il"}, {"o", "", "il"}};
    liana__error error = {0};
    liana__source *source;
    liana__test_folder();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_records(cases[i], 3);
        const char *path = liana__test_path("x.tfrec");
        liana_status status = open_source(path, &(liana__source_options){.need_labels = true}, &source, &error);
        assert_int_not_equal(status, LIANA_OK);
        source = open_skipping(path, 3, 0);
        check_record(source, 2, 2, "pixels");
        check_bad(source, 0, "record 0");
        liana__source_close(source);
        /* A list says which to leave out. */
        liana__source_options options = {.any_first_record = true, .need_labels = true};
        assert_ok(open_source(path, &options, &source, &error), &error);
        check_record(source, 2, 2, "pixels");
        liana__source_close(source);
    }
    static const char *const none[] = {"i", "i", "i"};
    write_records(none, 3);
    liana__source_options options = {.skip_damage = true};
    assert_ok(open_source(liana__test_path("x.tfrec"), &options, &source, &error), &error);
    assert_false(source->has_labels);
    liana__source_close(source);
    assert_fails(open_source(liana__test_path("x.tfrec"), &skipping, &source, &error), LIANA_INVALID_DATA, &error,
                 "no labels");
    static const char *const other[] = {"o", "ol"};
    write_records(other, 2);
    assert_fails(open_source(liana__test_path("x.tfrec"), &skipping, &source, &error), LIANA_NOT_FOUND, &error,
                 "no feature 'image'", "other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_a_list),         cmocka_unit_test(test_labels_of_a_list),
        cmocka_unit_test(test_lists_that_are_damaged), cmocka_unit_test(test_images_of_folders),
        cmocka_unit_test(test_idx_files_that_are_cut), cmocka_unit_test(test_a_run_on_idx_files_that_are_cut),
        cmocka_unit_test(test_archives_that_are_cut),  cmocka_unit_test(test_archives_with_gaps),
        cmocka_unit_test(test_first_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
