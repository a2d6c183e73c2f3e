/* Sources that list files elsewhere or pack them: CSV (kind csv), WebDataset tar archives (webdataset), the latter
 * written by tar itself. */
#include "harness/harness.h"

#include "data/source/source_open.h"
#include "formats/csv.h"
#include "formats/image.h"
#include "formats/tar.h"

#include <stdlib.h>
#include <string.h>

static liana__source *open_source(const char *pattern, const liana__source_options *options)
{
    liana__error error = {0};
    liana__source *source;
    assert_ok(liana__source_open(&pattern, 1, options, &source, &error), &error);
    return source;
}

static liana_status try_source(const char *pattern, const liana__source_options *options, liana__error *error)
{
    liana__source *source;
    liana_status status = liana__source_open(&pattern, 1, options, &source, error);
    liana__source_close(source);
    return status;
}

static const char *write_text(const char *name, const char *text)
{
    return liana__test_write(name, text, strlen(text));
}

/* Checks a record's label (-1: none), id and bytes. */
static void check_record(const liana__source *source, uint64_t index, int64_t label, const char *id, const char *bytes)
{
    liana__error error = {0};
    liana_source_record record;
    void *scratch = liana__source_scratch_create(source);
    assert_ok(liana__source_read(source, index, scratch, &record, &error), &error);
    assert_int_equal(record.has_label, label >= 0);
    if (label >= 0) assert_int_equal(record.label, label);
    if (source->kind->known_label) assert_int_equal(source->kind->known_label(source, index), label);
    assert_int_equal(record.id_size, strlen(id));
    assert_memory_equal(record.id, id, record.id_size);
    assert_int_equal(record.size, strlen(bytes));
    assert_memory_equal(record.bytes, bytes, record.size);
    liana__source_scratch_destroy(source, scratch);
}

/* ---- tables ---- */

static void check_cells(const char *text, char delimiter, size_t rows, size_t columns, const char *const *cells,
                        const size_t *lines)
{
    liana__error error = {0};
    liana__csv csv = {0};
    assert_ok(liana__csv_parse("t.csv", text, strlen(text), delimiter, &csv, &error), &error);
    assert_int_equal(csv.num_rows, rows);
    assert_int_equal(csv.num_columns, columns);
    for (size_t i = 0; i < rows * columns; i++) assert_string_equal(csv.cells[i], cells[i]);
    for (size_t i = 0; i < rows; i++) assert_compare(csv.lines[i], ==, lines[i], i);
    liana__csv_free(&csv);
}

static void test_cells_are_those_of_rfc_4180(void **state)
{
    (void)state;
    check_cells("a,b\nc,d", ',', 2, 2, (const char *[]){"a", "b", "c", "d"}, (size_t[]){1, 2});
    check_cells("a,b\r\n\r\n\nc,\r\n", ',', 2, 2, (const char *[]){"a", "b", "c", ""}, (size_t[]){1, 4});
    check_cells("\xEF\xBB\xBF\"a\",\"b \"\"x\"\", y\"\n\"two\nlines\",\"\"\ne,f\n", ',', 3, 2,
                (const char *[]){"a", "b \"x\", y", "two\nlines", "", "e", "f"}, (size_t[]){1, 2, 4});
    check_cells("a,b\tc\n\td", '\t', 2, 2, (const char *[]){"a,b", "c", "", "d"}, (size_t[]){1, 2});
    check_cells(",", ',', 1, 2, (const char *[]){"", ""}, (size_t[]){1});
    check_cells("x\"y\"\n", ',', 1, 1, (const char *[]){"x\"y\""}, (size_t[]){1});
    check_cells("", ',', 0, 0, NULL, NULL);
}

static void try_table(const char *text, size_t size, const char *first, const char *second)
{
    liana__error error = {0};
    liana__csv csv = {0};
    assert_fails(liana__csv_parse("t.csv", text, size, ',', &csv, &error), LIANA_INVALID_DATA, &error, "t.csv", first,
                 second);
    liana__csv_free(&csv);
}

static void test_tables_can_be_wrong(void **state)
{
    (void)state;
    try_table("a,b\nc,d,e\n", 10, "line 2", "found 3 cells, expected 2");
    try_table("a,b\n\nc\n", 7, "line 3", "found 1 cells");
    try_table("a\n\"b\nc", 6, "line 2", "does not end with one");
    try_table("a,\"b\" c\n", 8, "line 1", "end of a quoted cell");
    try_table("a\nb\0c", 5, "line 2", "NUL byte");
}

/* ---- CSV lists ---- */

static void write_images(void)
{
    liana__error error = {0};
    liana__test_folder();
    assert_ok(liana__folder_make(liana__test_path("img"), &error), &error);
    write_text("img/1.jpg", "one");
    write_text("img/2.jpg", "two, longer");
    write_text("img/a b.png", "three");
}

static void test_lists_of_numbers(void **state)
{
    (void)state;
    write_images();
    liana__source *source = open_source(write_text("l.csv", "id,class,path\nx1,4,img/1.jpg\nx2, 0 ,\"img/a b.png\"\n"),
                                        &(liana__source_options){.need_labels = true});
    assert_string_equal(source->kind->part.name, "csv");
    assert_int_equal(source->num_records, 2);
    assert_int_equal(source->class_names.count, 0);
    check_record(source, 0, 4, "x1", "one");
    check_record(source, 1, 0, "x2", "three");
    liana__source_close(source);

    /* Without a header: path, label. Tabs in a TSV. Both lists are one source. */
    write_text("m.tsv", "img/2.jpg\t7\r\nimg/1.jpg\t2\r\n");
    const char *both[] = {liana__test_path("l.csv"), liana__test_path("m.tsv")};
    liana__error error = {0};
    assert_ok(liana__source_open(both, 2, NULL, &source, &error), &error);
    assert_int_equal(source->num_records, 4);
    check_record(source, 2, 7, "img/2.jpg", "two, longer");
    assert_string_equal(liana__path_name(liana__source_address(source, 3).file), "m.tsv");
    assert_int_equal(liana__source_address(source, 3).record, 1);
    liana__source_close(source);

    /* Only paths; an empty label is no label. */
    source = open_source(write_text("n.csv", "image,label\nimg/1.jpg,\nimg/2.jpg,3\n"), NULL);
    assert_false(source->has_labels);
    check_record(source, 0, -1, "img/1.jpg", "one");
    liana__source_close(source);
    assert_fails(try_source(liana__test_path("n.csv"), &(liana__source_options){.need_labels = true}, &error),
                 LIANA_INVALID_DATA, &error, "n.csv", "no labels", "'label'");
}

static void check_labels(const char *text, size_t count, const int64_t *labels)
{
    liana__error error = {0};
    liana__source *source = open_source(write_text("labels.csv", text), NULL);
    void *scratch = liana__source_scratch_create(source);
    assert_int_equal(source->num_records, count);
    assert_int_equal(source->class_names.count, 0);
    for (uint64_t i = 0; i < count; i++) {
        liana_source_record record;
        assert_ok(liana__source_read(source, i, scratch, &record, &error), &error);
        assert_int_equal(record.label, labels[i]);
    }
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);
}

/* Numbers are numbers, however they are written; names are names, and written in one way. */
static void test_one_label_is_written_in_one_way(void **state)
{
    (void)state;
    liana__error error = {0};
    write_images();
    check_labels("path,label\nimg/1.jpg,0\nimg/2.jpg,1.0\nimg/1.jpg,1\nimg/1.jpg, 2. \nimg/1.jpg,+3\nimg/1.jpg,1e1\n",
                 6, (const int64_t[]){0, 1, 1, 2, 3, 10});
    const char *path = write_text("l.csv", "path,label\nimg/1.jpg,0\nimg/2.jpg,1.5\n");
    assert_fails(try_source(path, NULL, &error), LIANA_INVALID_DATA, &error, "l.csv', line 3", "'1.5'",
                 "not a whole number");
    path = write_text("l.csv", "path,label\nimg/1.jpg,1e300\n");
    assert_fails(try_source(path, NULL, &error), LIANA_INVALID_DATA, &error, "line 2", "not a whole number");
    path = write_text("l.csv", "path, label\nimg/1.jpg, daisy\nimg/2.jpg,rose\nimg/2.jpg,daisy\t\n");
    liana__source *source = open_source(path, NULL);
    assert_int_equal(source->class_names.count, 2);
    check_record(source, 0, 0, "img/1.jpg", "one");
    check_record(source, 2, 0, "img/2.jpg", "two, longer");
    liana__source_close(source);
    path = write_text("l.csv", "path,label\nimg/1.jpg,sea daisy\n");
    write_text("m.csv", "path,label\nimg/1.jpg,rose\nimg/1.jpg,Sea  Daisy\n");
    const char *both[] = {path, liana__test_path("m.csv")};
    assert_fails(liana__source_open(both, 2, NULL, &source, &error), LIANA_INVALID_DATA, &error, "l.csv', line 2",
                 "'sea daisy'", "m.csv', line 3", "'Sea  Daisy'");
    /* Two classes, if the user says so. */
    static const char *const letters[] = {"A", "a"};
    path = write_text("l.csv", "path,label\nimg/1.jpg,a\nimg/2.jpg,A\n");
    assert_fails(try_source(path, NULL, &error), LIANA_INVALID_DATA, &error, "line 2", "line 3");
    source = open_source(path, &(liana__source_options){.class_names = {2, letters}});
    check_record(source, 0, 1, "img/1.jpg", "one");
    liana__source_close(source);
    /* Letters and digits are names; numbers here and names there are a mistake. */
    path = write_text("l.csv", "path,label\nimg/1.jpg,7\nimg/2.jpg,x\n");
    source = open_source(path, NULL);
    assert_int_equal(source->class_names.count, 2);
    liana__source_close(source);
    write_text("l.csv", "path,label\nimg/1.jpg,7\n");
    write_text("m.csv", "path,label\nimg/1.jpg,x\n");
    assert_fails(liana__source_open(both, 2, NULL, &source, &error), LIANA_INVALID_DATA, &error, "l.csv' are numbers",
                 "m.csv' are names");
    /* Names that are numbers are found by name, in any order of the list. */
    static const char *const names[] = {"7", "1", "10"};
    path = write_text("l.csv", "path,label\nimg/1.jpg,10.0\nimg/2.jpg,1\n");
    source = open_source(path, &(liana__source_options){.class_names = {3, names}});
    check_record(source, 0, 2, "img/1.jpg", "one");
    check_record(source, 1, 1, "img/2.jpg", "two, longer");
    liana__source_close(source);
}

/* Rows without an id of their own are called by the shortest ends of their paths that differ. */
static void test_ids_of_lists_are_unique(void **state)
{
    (void)state;
    liana__error error = {0};
    write_images();
    assert_ok(liana__folder_make(liana__test_path("a/img"), &error), &error);
    assert_ok(liana__folder_make(liana__test_path("b/img"), &error), &error);
    write_text("a/img/1.jpg", "of a");
    write_text("b/img/1.jpg", "of b");
    const char *both[] = {write_text("a/l.csv", "path\nimg/1.jpg\nimg/1.jpg\n"),
                          write_text("b/l.csv", "path,id\nimg/1.jpg,img/1.jpg\n"),
                          write_text("l.csv", "path\nimg/1.jpg\nimg/2.jpg\n")};
    liana__source *source;
    assert_ok(liana__source_open(both, 3, NULL, &source, &error), &error);
    check_record(source, 0, -1, "a/img/1.jpg", "of a");
    check_record(source, 1, -1, "a/img/1.jpg", "of a"); /* the same image */
    check_record(source, 2, -1, "img/1.jpg", "of b");   /* its own id */
    check_record(source, 4, -1, "img/2.jpg", "two, longer");
    liana__source_close(source);
}

static void test_lists_of_names(void **state)
{
    (void)state;
    liana__error error = {0};
    static const char *const names[] = {"tulip", "daisy", "rose"};
    write_images();
    const char *path = write_text("l.csv", "File,Species\nimg/1.jpg,tulip\nimg/2.jpg,daisy\nimg/1.jpg,tulip\n");
    liana__source_options options = {.label_feature = "species"};
    liana__source *source = open_source(path, &options);
    assert_int_equal(source->class_names.count, 2);
    assert_string_equal(source->class_names.items[0], "daisy");
    check_record(source, 0, 1, "img/1.jpg", "one");
    check_record(source, 1, 0, "img/2.jpg", "two, longer");
    liana__source_close(source);
    options.class_names = (liana__strings){3, names};
    source = open_source(path, &options);
    assert_int_equal(source->class_names.count, 3);
    check_record(source, 2, 0, "img/1.jpg", "one");
    liana__source_close(source);
    path = write_text("l.csv", "file,species\nimg/1.jpg,tulip\nimg/2.jpg,tulips\n");
    assert_fails(try_source(path, &options, &error), LIANA_INVALID_DATA, &error, "l.csv", "line 3", "'tulips'",
                 "did you mean 'tulip'");
    options.ignore_labels = true;
    source = open_source(path, &options);
    assert_false(source->has_labels);
    liana__source_close(source);
}

static void test_lists_can_be_wrong(void **state)
{
    (void)state;
    liana__error error = {0};
    write_images();
    assert_fails(try_source(write_text("a.csv", "picture,label\nimg/1.jpg,1\n"), NULL, &error), LIANA_INVALID_DATA,
                 &error, "a.csv", "'image'", "picture, label", "data.features");
    liana__source_options options = {.image_feature = "foto"};
    assert_fails(try_source(liana__test_path("a.csv"), &options, &error), LIANA_INVALID_DATA, &error, "'foto'");
    options = (liana__source_options){.id_feature = "key"};
    assert_fails(try_source(write_text("a.csv", "path,label\nimg/1.jpg,1\n"), &options, &error), LIANA_INVALID_DATA,
                 &error, "'key'", "path, label");
    assert_fails(try_source(write_text("a.csv", "path,label\nimg/1.jpg,-1\n"), NULL, &error), LIANA_OUT_OF_RANGE,
                 &error, "line 2", "-1", "below 0");
    assert_fails(try_source(write_text("a.csv", "path,label\n,1\n"), NULL, &error), LIANA_INVALID_DATA, &error,
                 "line 2", "empty");
    assert_fails(try_source(write_text("a.csv", ""), NULL, &error), LIANA_INVALID_DATA, &error, "a.csv", "empty");
    assert_fails(try_source(write_text("a.csv", "path,label\n"), NULL, &error), LIANA_INVALID_DATA, &error,
                 "no records");
    liana__source *source = open_source(write_text("a.csv", "path,label\nimg/1.jpg,1\nimg/9.jpg,1\n"), NULL);
    void *scratch = liana__source_scratch_create(source);
    liana_source_record record;
    assert_fails(liana__source_read(source, 1, scratch, &record, &error), LIANA_NOT_FOUND, &error, "a.csv", "record 1",
                 "img/9.jpg");
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);
    /* A list next to the class folders that it describes is not meant where their folder is named. */
    assert_ok(liana__folder_make(liana__test_path("top/rose"), &error), &error);
    write_text("top/rose/1.jpg", "one");
    write_text("top/a.csv", "path,label\nrose/1.jpg,1\n");
    source = open_source(liana__test_path("top"), NULL);
    assert_string_equal(source->kind->part.name, "folder");
    liana__source_close(source);
}

/* ---- WebDataset ---- */

static void run(const char *format, const char *name)
{
    char command[2048];
    snprintf(command, sizeof command, "cd '%s' && tar --format=%s -cf '%s' --sort=name -C w .", liana__test_path(""),
             format, name);
    assert_int_equal(system(command), 0);
}

/* A path of more than 255 characters: too long for a ustar header. */
static const char *long_name(void)
{
    static char name[320];
    snprintf(name, sizeof name, "n2/%0140d/%0140d", 1, 2);
    return name;
}

static void write_examples(bool with_long)
{
    liana__error error = {0};
    char path[400];
    liana__test_folder();
    assert_ok(liana__folder_make(liana__test_path("w/n1"), &error), &error);
    write_text("w/__info__.json", "{}");
    write_text("w/n1/a.0.jpg", "first");
    write_text("w/n1/a.0.txt", "a caption");
    write_text("w/n1/b.cls", " 12\n");
    write_text("w/n1/b.png", "second");
    if (!with_long) return;
    snprintf(path, sizeof path, "w/n2/%0140d", 1);
    assert_ok(liana__folder_make(liana__test_path(path), &error), &error);
    snprintf(path, sizeof path, "w/%s.jpg", long_name());
    write_text(path, "third");
    snprintf(path, sizeof path, "w/%s.cls", long_name());
    write_text(path, "3");
}

static void test_archives_of_tar(void **state)
{
    (void)state;
    static const char *const formats[] = {"ustar", "gnu", "posix"};
    for (size_t i = 0; i < 3; i++) {
        bool with_long = i > 0; /* the names are too long for ustar */
        write_examples(with_long);
        run(formats[i], "w.tar");
        /* "a.0.jpg" is key "a" with the extension "0.jpg". */
        liana__source_options options = {.image_feature = NULL};
        liana__error error = {0};
        assert_fails(try_source(liana__test_path("w.tar"), &options, &error), LIANA_INVALID_DATA, &error, "w.tar",
                     "n1/a.jpg", "data.features.image");
        assert_int_equal(remove(liana__test_path("w/n1/a.0.jpg")), 0);
        assert_int_equal(remove(liana__test_path("w/n1/a.0.txt")), 0);
        write_text("w/n1/a.jpg", "first");
        write_text("w/n1/a.txt", "a caption");
        run(formats[i], "w.tar");
        liana__source *source = open_source(liana__test_path("w.tar"), NULL);
        assert_string_equal(source->kind->part.name, "webdataset");
        assert_int_equal(source->num_records, with_long ? 3 : 2);
        assert_false(source->has_labels);
        check_record(source, 0, -1, "./n1/a", "first");
        check_record(source, 1, 12, "./n1/b", "second");
        char id[400];
        snprintf(id, sizeof id, "./%s", long_name());
        if (with_long) check_record(source, 2, 3, id, "third");
        liana__source_close(source);
        write_text("w/n1/a.cls", "rose");
        run(formats[i], "w.tar");
        source = open_source(liana__test_path("w.tar"), &(liana__source_options){.need_labels = true});
        liana_source_record record;
        void *scratch = liana__source_scratch_create(source);
        assert_fails(liana__source_read(source, 0, scratch, &record, &error), LIANA_INVALID_DATA, &error, "w.tar",
                     "record 0", "n1/a", "class number");
        liana__source_scratch_destroy(source, scratch);
        liana__source_close(source);
    }
}

/* The member with exactly the wanted extension; else the only one that is alike. */
static void test_extensions_of_members(void **state)
{
    (void)state;
    liana__error error = {0};
    const liana__source_options named = {.image_feature = "jpg", .label_feature = "cls"};
    assert_ok(liana__folder_remove(liana__test_path("w"), &error), &error);
    assert_ok(liana__folder_make(liana__test_path("w"), &error), &error);
    write_text("w/a.JPG", "other");
    write_text("w/a.jpg", "meant");
    write_text("w/a.CLS", "1");
    run("ustar", "w.tar");
    liana__source *source = open_source(liana__test_path("w.tar"), &named);
    check_record(source, 0, 1, "./a", "meant");
    liana__source_close(source);
    write_text("w/a.Cls", "2");
    run("ustar", "w.tar");
    assert_fails(try_source(liana__test_path("w.tar"), &named, &error), LIANA_INVALID_DATA, &error, "w.tar", "./a.*",
                 "'CLS' or 'Cls'");
    write_text("w/a.cls", "3");
    run("ustar", "w.tar");
    source = open_source(liana__test_path("w.tar"), NULL);
    check_record(source, 0, 3, "./a", "meant");
    liana__source_close(source);
}

static void test_archives_can_be_wrong(void **state)
{
    (void)state;
    liana__error error = {0};
    char *bytes;
    size_t size;
    write_examples(false);
    assert_int_equal(remove(liana__test_path("w/n1/a.0.jpg")), 0);
    assert_int_equal(remove(liana__test_path("w/n1/a.0.txt")), 0);
    run("ustar", "w.tar");
    assert_ok(liana__file_read(liana__test_path("w.tar"), 1 << 20, &bytes, &size, &error), &error);
    /* Cut anywhere, also between two members, it is no archive. */
    size_t end = size;
    while (bytes[end - 1] == 0) end--;
    for (size_t length = 0; length < end; length += 256) {
        liana__tar tar;
        liana_status status = liana__tar_open(liana__test_write("cut.tar", bytes, length), &tar, &error);
        assert_fails(status, length < 512 ? LIANA_INVALID_DATA : LIANA_DATA_LOSS, &error, "cut.tar");
        liana__tar_close(&tar);
    }
    bytes[512 + 30] ^= 1;
    assert_fails(try_source(liana__test_write("d.tar", bytes, size), NULL, &error), LIANA_DATA_LOSS, &error, "d.tar",
                 "offset 512", "checksum");
    bytes[30] ^= 1;
    assert_fails(try_source(liana__test_write("d.tar", bytes, size), NULL, &error), LIANA_INVALID_DATA, &error,
                 "not a tar archive");
    free(bytes);
    char command[1024];
    snprintf(command, sizeof command, "cd '%s' && gzip -c w.tar > z.tar", liana__test_path(""));
    assert_int_equal(system(command), 0);
    assert_fails(try_source(liana__test_path("z.tar"), NULL, &error), LIANA_INVALID_DATA, &error, "z.tar", "gunzip");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells_are_those_of_rfc_4180),
        cmocka_unit_test(test_tables_can_be_wrong),
        cmocka_unit_test(test_lists_of_numbers),
        cmocka_unit_test(test_one_label_is_written_in_one_way),
        cmocka_unit_test(test_ids_of_lists_are_unique),
        cmocka_unit_test(test_lists_of_names),
        cmocka_unit_test(test_lists_can_be_wrong),
        cmocka_unit_test(test_archives_of_tar),
        cmocka_unit_test(test_extensions_of_members),
        cmocka_unit_test(test_archives_can_be_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
