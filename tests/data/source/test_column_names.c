/* Names in data: which column a name means, which names of classes are one class, which ids records have; and tables in
 * other forms than commas and UTF-8. */
#include "harness/gzip_file.h"
#include "harness/harness.h"

#include "data/source/class_list.h"
#include "data/source/column_search.h"
#include "data/source/source_open.h"
#include "formats/example.h"
#include "formats/tfrecord.h"
#include "formats/yaml.h"
#include "train/config/config.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

/* "café" as one character, and as e with an accent that is added. */
#define COMPOSED "caf\xC3\xA9"
#define DECOMPOSED "cafe\xCC\x81"
#define NO_BREAK "red\xC2\xA0rose"
#define MARKED "\xEF\xBB\xBFtulip"

static const char *write_text(const char *name, const char *text)
{
    return liana__test_write(name, text, strlen(text));
}

static liana_status open_as(const char *pattern, const liana__source_options *options, const char *columns,
                            liana__source **source, liana__error *error)
{
    liana__source_options own = options ? *options : (liana__source_options){0};
    liana__columns wanted;
    liana__arena arena = {0};
    if (columns) {
        liana__value *map;
        assert_ok(liana__yaml_parse(columns, strlen(columns), "columns", &arena, &map, error), error);
        assert_ok(liana__columns_read(map, "columns", &arena, &wanted, error), error);
        own.columns = &wanted;
    }
    liana_status status = liana__source_open(&pattern, 1, &own, source, error);
    liana__arena_free(&arena);
    return status;
}

static liana__source *open_source(const char *pattern, const liana__source_options *options, const char *columns)
{
    liana__error error = {0};
    liana__source *source;
    assert_ok(open_as(pattern, options, columns, &source, &error), &error);
    return source;
}

static liana__error refuse(const char *pattern, const liana__source_options *options, const char *columns)
{
    liana__error error = {0};
    liana__source *source = NULL;
    assert_int_not_equal(open_as(pattern, options, columns, &source, &error), LIANA_OK);
    return error;
}

/* ---- columns ---- */

static void check_search(const char *const *names, size_t count, const char *wanted, int expected)
{
    liana__error error = {0};
    int place;
    assert_ok(liana__column_search("column", names, count, wanted, &place, &error), &error);
    assert_int_equal(place, expected);
}

static void test_search(void **state)
{
    (void)state;
    static const char *const names[] = {"Label", "label", " area ", "Area2", "x", "x", "CITY", "City", NULL};
    liana__error error = {0};
    int place;
    check_search(names, 9, "label", 1);
    check_search(names, 9, "Label", 0);
    check_search(names, 9, "area", 2);
    check_search(names, 9, "AREA2", 3);
    check_search(names, 9, "City", 7);
    check_search(names, 9, "price", -1);
    assert_fails(liana__column_search("column", names, 9, "LABEL", &place, &error), LIANA_INVALID_DATA, &error,
                 "'LABEL'", "'Label' or 'label'", "exactly");
    assert_fails(liana__column_search("column", names, 9, "city", &place, &error), LIANA_INVALID_DATA, &error,
                 "'CITY' or 'City'");
    assert_fails(liana__column_search("column", names, 9, "X", &place, &error), LIANA_INVALID_DATA, &error,
                 "two columns are called 'x'", "number 5 and number 6", "rename");
    assert_fails(liana__column_search("column", names, 9, "x", &place, &error), LIANA_INVALID_DATA, &error,
                 "two columns are called 'x'");
}

static double value_of(const liana__source *source, uint64_t index, const char *component)
{
    liana__error error = {0};
    liana_source_record record;
    void *scratch = liana__source_scratch_create(source);
    assert_ok(liana__source_read(source, index, scratch, &record, &error), &error);
    double value = -1e9;
    for (size_t i = 0; i < source->num_components; i++) {
        if (strcmp(source->components[i].name, component) != 0) continue;
        if (source->components[i].dtype == LIANA_S64) value = (double)*(const int64_t *)record.values[i];
        if (source->components[i].dtype == LIANA_F32) value = (double)*(const float *)record.values[i];
    }
    liana__source_scratch_destroy(source, scratch);
    return value;
}

static int64_t label_of(const liana__source *source, uint64_t index)
{
    return source->kind->known_label(source, index);
}

/* The column of exactly this name, whichever comes first. */
static void test_columns_of_tables(void **state)
{
    (void)state;
    const liana__source_options table = {.kind = "table"};
    const char *path = write_text("t.csv", "Y,y,Label,label,x,X\n1,2,0,1,5,6\n3,4,1,0,7,8\n");
    liana__source *source = open_source(path, &table, "{a: y, b: x, c: X}");
    assert_compare(value_of(source, 0, "a"), ==, 2);
    assert_compare(value_of(source, 1, "b"), ==, 7);
    assert_compare(value_of(source, 1, "c"), ==, 8);
    assert_int_equal(label_of(source, 0), 1);
    liana__source_close(source);
    /* Without columns: all but the label that is used, and but another of the names that rows have already. */
    source = open_source(path, &(liana__source_options){.kind = "table", .label_feature = "Label"}, NULL);
    assert_int_equal(source->num_components, 4);
    assert_compare(value_of(source, 0, "label"), ==, -1e9);
    assert_int_equal(label_of(source, 0), 0);
    liana__source_close(source);
    source = open_source(path, &(liana__source_options){.kind = "table", .label_feature = "label"}, NULL);
    assert_int_equal(source->num_components, 5);
    assert_compare(value_of(source, 0, "Label"), ==, 0);
    assert_int_equal(label_of(source, 0), 1);
    liana__source_close(source);
    source = open_source(write_text("i.csv", "ID,id,x\na,b,1\nc,d,2\n"),
                         &(liana__source_options){.kind = "table", .id_feature = "ID"}, NULL);
    assert_int_equal(source->num_components, 1);
    assert_compare(value_of(source, 1, "x"), ==, 2);
    liana__source_close(source);
    path = write_text("t.csv", "Y,y,Label,label,x,X\n1,2,0,1,5,6\n3,4,1,0,7,8\n");
    liana__error error = refuse(path, &(liana__source_options){.kind = "table", .label_feature = "LABEL"}, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "t.csv", "data.features.label", "'Label' or 'label'");

    path = write_text("t.csv", "x,price,price\n1,2,3\n4,5,6\n");
    error = refuse(path, &table, "{a: x, b: price}");
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "t.csv", "two columns are called 'price'");
    error = refuse(path, &table, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "t.csv", "two columns are called 'price'");
    /* Columns that nobody asks for may be as they are. */
    source = open_source(path, &table, "{a: x}");
    assert_compare(value_of(source, 1, "a"), ==, 4);
    liana__source_close(source);
    path = write_text("t.csv", "x,label,label\n1,0,1\n");
    error = refuse(path, &table, "{a: x}");
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "t.csv", "two columns are called 'label'");
}

static void test_columns_of_lists(void **state)
{
    (void)state;
    liana__test_write("1.jpg", "\xff\xd8\xff", 3);
    liana__test_write("2.jpg", "\xff\xd8\xff", 3);
    const char *path = write_text("l.csv", "Image,image,Class,class\nno.jpg,1.jpg,b,a\nno.jpg,2.jpg,a,b\n");
    liana__source *source = open_source(path, NULL, NULL);
    assert_int_equal(label_of(source, 0), 0);
    assert_says(liana__source_address(source, 0).file, "l.csv");
    liana_source_record record;
    liana__error error = {0};
    void *scratch = liana__source_scratch_create(source);
    assert_ok(liana__source_read(source, 0, scratch, &record, &error), &error);
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);
    error = refuse(write_text("l.csv", "path,path,label\n1.jpg,2.jpg,0\n"), NULL, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "data.features.image", "two columns are called 'path'");
    error = refuse(write_text("l.csv", "path,ID,Id\n1.jpg,2,0\n"), NULL, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "data.features.id", "'ID' or 'Id'");
    /* Blanks after the commas. */
    source = open_source(write_text("l.csv", "path, label, id\n1.jpg, b, 7\n2.jpg, a, 8\n"), NULL, NULL);
    assert_int_equal(label_of(source, 0), 1);
    assert_string_equal(source->class_names.items[0], "a");
    liana__source_close(source);
    /* Ids instead of names of files. */
    error = refuse(write_text("l.csv", "image,label\n1,b\n2,a\n"), NULL, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "l.csv', line 2", "there is no file", "1.jpg'", ".jpg");
}

static void write_record(const char *name, const char *first, int64_t one, const char *second, int64_t two)
{
    liana__error error = {0};
    liana__tfrecord_writer writer;
    liana__example_builder builder = {0};
    const uint8_t *bytes;
    size_t size;
    assert_ok(liana__tfrecord_writer_begin(&writer, liana__test_path(name), &error), &error);
    liana__example_add_int64s(&builder, first, &one, 1);
    liana__example_add_int64s(&builder, second, &two, 1);
    liana__example_add_bytes(&builder, "name", "cat", 3);
    assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    liana__example_builder_free(&builder);
}

/* Features have their exact names: a column `Label` takes nothing away from the feature `label`. */
static void test_features(void **state)
{
    (void)state;
    write_record("f.tfrec", "Label", 5, "label", 1);
    liana__source *source = open_source(liana__test_path("f.tfrec"), NULL, "{x: Label}");
    assert_true(source->has_labels);
    assert_compare(value_of(source, 0, "x"), ==, 5);
    liana__source_close(source);
    source = open_source(liana__test_path("f.tfrec"), NULL, "{x: label}");
    assert_false(source->has_labels);
    liana__source_close(source);
}

/* ---- ids ---- */

static void check_id(const liana__source *source, uint64_t index, const char *expected)
{
    liana__error error = {0};
    liana_source_record record;
    void *scratch = liana__source_scratch_create(source);
    assert_ok(liana__source_read(source, index, scratch, &record, &error), &error);
    assert_int_equal(record.id_size, strlen(expected));
    assert_memory_equal(record.id, expected, record.id_size);
    liana__source_scratch_destroy(source, scratch);
}

/* The column of the component `id` gives the ids, as it is written. */
static void test_ids(void **state)
{
    (void)state;
    const liana__source_options table = {.kind = "table"};
    const char *text = "id,key,x\n007,a-1,1\n42,b-2,2\n";
    liana__source *source = open_source(write_text("i.csv", text), &table, "{id: id, x: x}");
    check_id(source, 0, "007");
    check_id(source, 1, "42");
    assert_int_equal(source->components[0].dtype, LIANA_STRING); /* a number would lose the zeros */
    liana__source_close(source);
    source = open_source(write_text("i.csv", text), &table, "{id: key, x: x}");
    check_id(source, 1, "b-2");
    liana__source_close(source);
    source = open_source(write_text("i.csv", text), &table, "{who: id, x: x}");
    check_id(source, 0, "007");
    assert_compare(value_of(source, 0, "who"), ==, 7);
    liana__source_close(source);
    source = open_source(write_text("i.csv", "id,x\n5,1\n6,2\n"), &table, "{id: id, x: x}");
    check_id(source, 1, "6");
    assert_compare(value_of(source, 1, "id"), ==, 6);
    liana__source_close(source);

    liana__test_write("1.jpg", "\xff\xd8\xff", 3);
    source = open_source(write_text("i.csv", "image,key,label\n1.jpg,007,0\n"), NULL, "{id: key}");
    check_id(source, 0, "007");
    liana__source_close(source);

    write_record("i.tfrec", "id", -12, "x", 3);
    source = open_source(liana__test_path("i.tfrec"), NULL, "{id: id, x: x}");
    check_id(source, 0, "-12");
    liana__source_close(source);
    source = open_source(liana__test_path("i.tfrec"), NULL, "{id: name, x: x}");
    check_id(source, 0, "cat");
    liana__source_close(source);
    source = open_source(liana__test_path("i.tfrec"), &(liana__source_options){.id_feature = "x"}, "{x: x}");
    check_id(source, 0, "3");
    liana__source_close(source);
    liana__error error = refuse(liana__test_path("i.tfrec"), &(liana__source_options){.id_feature = "no"}, "{x: x}");
    assert_fails(error.status, LIANA_NOT_FOUND, &error, "'no'", "id (int64)");
}

/* ---- names of classes ---- */

static void check_alike(const char *one, const char *other, bool alike, bool listed_alike)
{
    liana__error error = {0};
    const char *const names[] = {one, "another", other};
    const liana__strings list = {3, names};
    for (int listed = 0; listed < 2; listed++) {
        liana__alike found;
        assert_ok(liana__class_list_find_alike(&list, listed, &found, &error), &error);
        assert_int_equal(found.one != NULL, listed ? listed_alike : alike);
    }
}

/* The forms are those of Unicode Standard Annex 15; case folding that of its chapter 3.13. */
static void test_alike(void **state)
{
    (void)state;
    check_alike(COMPOSED, DECOMPOSED, true, true);
    check_alike("red rose", NO_BREAK, true, true);
    check_alike("tulip", MARKED, true, true);
    check_alike("red rose", "red\xE2\x80\xAFrose ", true, true); /* narrow no-break space */
    check_alike("\xE2\x84\xAB", "\xC3\x85", true, true);         /* the angstrom sign is A with ring */
    check_alike("\xED\x95\x9C", "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", true, true); /* Hangul */
    check_alike("so\xC2\xAD"
                "ft",
                "soft", true, true); /* a soft hyphen */
    check_alike("Roses", "roses", true, false);
    check_alike("STRASSE",
                "stra\xC3\x9F"
                "e",
                true, false);
    check_alike("\xC3\x89t\xC3\xA9", "\xC3\xA9T\xC3\x89", true, false); /* accents in both cases */
    check_alike("\xEF\xBC\xA1", "a", true, false);                      /* full-width A */
    check_alike("redrose", "red  rose", true, false);
    check_alike("7", "7.0", true, false);
    check_alike("rose", "roses", false, false);
    check_alike(COMPOSED, "cafe", false, false);
    check_alike("\xE9t\xE9", "\xC9T\xC9", false, false); /* not UTF-8: bytes */
}

static void make_class(const char *root, const char *name)
{
    liana__error error = {0};
    char path[200];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_ok(liana__folder_make(liana__test_path(path), &error), &error);
    snprintf(path, sizeof path, "%s/%s/1.jpg", root, name);
    liana__test_write(path, "\xff\xd8\xff", 3);
}

static liana__error refuse_roots(const char *one, const char *other)
{
    liana__error error = {0};
    liana__source *source = NULL;
    const char *const roots[] = {one, other};
    assert_int_not_equal(liana__source_open(roots, 2, NULL, &source, &error), LIANA_OK);
    return error;
}

static void test_folders(void **state)
{
    (void)state;
    make_class("one", "roses");
    make_class("one", "tulip");
    make_class("two", "Roses");
    make_class("two", "tulip");
    liana__error error = refuse_roots(liana__test_path("one"), liana__test_path("two"));
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "one/roses'", "two/Roses'", "mean the same",
                 "data.class_names");
    make_class("three", COMPOSED);
    make_class("four", DECOMPOSED);
    error = refuse_roots(liana__test_path("three"), liana__test_path("four"));
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "63 61 66 c3 a9", "63 61 66 65 cc 81", "mean the same");
    make_class("five", NO_BREAK);
    make_class("five", "red rose");
    error = refuse(liana__test_path("five"), NULL, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "72 65 64 c2 a0 72", "72 65 64 20 72");
    /* A list with the other form: the message says what differs, since nobody can see it. */
    static const char *const names[] = {COMPOSED, "tulip"};
    error = refuse(liana__test_path("four"), &(liana__source_options){.class_names = {2, names}}, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "it looks like", "63 61 66 c3 a9", "63 61 66 65 cc 81");
    /* Without labels names do not matter. */
    liana__source_close(open_source(liana__test_path("five"), &(liana__source_options){.ignore_labels = true}, NULL));
    /* A part of the data that lacks a class, but has its folder. */
    assert_ok(liana__folder_make(liana__test_path("six/roses"), &error), &error);
    make_class("six", "tulip");
    static const char *const flowers[] = {"roses", "tulip"};
    liana__source *source =
        open_source(liana__test_path("six"), &(liana__source_options){.class_names = {2, flowers}}, NULL);
    assert_int_equal(source->num_records, 1);
    assert_int_equal(label_of(source, 0), 1);
    liana__source_close(source);
    error = refuse(liana__test_path("six"), NULL, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "no image", "class 'roses'");
}

static void test_labels_and_categories(void **state)
{
    (void)state;
    const liana__source_options table = {.kind = "table"};
    liana__error error =
        refuse(write_text("c.csv", "x,label\n1," COMPOSED "\n2," DECOMPOSED "\n3,tulip\n"), &table, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "c.csv', line 3", "63 61 66 65 cc 81", "c.csv', line 2");
    error = refuse(write_text("c.csv", "x,label\n1,red rose\n2," NO_BREAK "\n"), &table, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "line 2", "line 3", "c2 a0");
    error = refuse(write_text("c.csv", "x,y\n1,Rome\n2,ROME\n"), &table, "{c: {from: y, category: true}}");
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "c.csv', column 'y'", "'ROME' and 'Rome'", "vocabulary");
    error = refuse(write_text("c.csv", "x,y\n1," COMPOSED "\n2," DECOMPOSED "\n"), &table,
                   "{c: {from: y, category: true}}");
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "column 'y'", "63 61 66 c3 a9");
    liana__source_close(
        open_source(write_text("c.csv", "x,y\n1,a\n2,A\n"), &table, "{c: {from: y, vocabulary: [a, A]}}"));
    error =
        refuse(write_text("c.csv", "x,y\n1," DECOMPOSED "\n"), &table, "{c: {from: y, vocabulary: [" COMPOSED "]}}");
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "line 2, column 'y'", "it looks like", "63 61 66 c3 a9");
    write_record("v.tfrec", "x", 1, "y", 2);
    error = refuse(liana__test_path("v.tfrec"), NULL,
                   "{c: {from: name, vocabulary: [\"c\xC2\xAD"
                   "at\"]}}");
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "'name'", "it looks like", "63 61 74");

    static const char *const twice[] = {COMPOSED, "x", DECOMPOSED}, *const cases[] = {"a", "A"};
    assert_fails(liana__class_list_check(&(liana__strings){3, twice}, &error), LIANA_INVALID_CONFIG, &error,
                 "look the same", "63 61 66 c3 a9", "63 61 66 65 cc 81");
    assert_ok(liana__class_list_check(&(liana__strings){2, cases}, &error), &error);
}

static liana_status read_config(const char *names, liana__config *config, liana__arena *arena, liana__error *error)
{
    char text[500];
    snprintf(text, sizeof text,
             "data: {train: x, class_names: %s}\nmodel: {layers: [{Dense: {units: 2}}]}\ntrain: {epochs: 1}\n", names);
    return liana__config_parse(NULL, LIANA__PLUGINS_IGNORED, text, strlen(text), liana__test_path("c.yaml"), NULL, 0,
                               arena, config, error);
}

static void test_lists_of_names(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__error error = {0};
    liana__config config;
    liana__test_folder();
    write_text("names.txt", "\xEF\xBB\xBFrose\r\ntulip\r\n");
    assert_ok(read_config("names.txt", &config, &arena, &error), &error);
    assert_int_equal(config.data.class_names.count, 2);
    assert_string_equal(config.data.class_names.items[0], "rose");
    write_text("names.txt", COMPOSED "\ntulip\n" DECOMPOSED "\n");
    assert_fails(read_config("names.txt", &config, &arena, &error), LIANA_INVALID_CONFIG, &error, "data.class_names",
                 "look the same", "63 61 66 c3 a9", "63 61 66 65 cc 81");
    assert_fails(read_config("[red rose, " NO_BREAK "]", &config, &arena, &error), LIANA_INVALID_CONFIG, &error,
                 "c.yaml:1", "look the same", "c2 a0");
    assert_ok(read_config("[rose, tulip, rose]", &config, &arena, &error), &error);
    liana__twins twins;
    assert_ok(liana__class_list_find_twins(&config.data.class_names, &twins, &error), &error);
    assert_int_equal(twins.one, 0);
    assert_int_equal(twins.other, 2);
    assert_string_equal(liana__twins_show(&config.data.class_names, &twins).text,
                        "the classes 0 and 2 (counted from 0; lines 1 and 3 of their list) are both called 'rose'");
    /* Of names that look the same none is passed over. */
    assert_fails(read_config("[rose, red rose, rose, " NO_BREAK ", rose]", &config, &arena, &error),
                 LIANA_INVALID_CONFIG, &error, "look the same", "c2 a0");
    assert_ok(read_config("[A, a]", &config, &arena, &error), &error);
    liana__arena_free(&arena);
    /* In C. */
    liana_context *context;
    assert_ok(liana_context_create(NULL, &context), NULL);
    make_class("c", "tulip");
    static const char *const names[] = {"tulip", MARKED, NULL};
    liana_dataset *dataset = NULL;
    assert_int_equal(liana_dataset_open(context, liana__test_path("c"), &(liana_dataset_options){.class_names = names},
                                        &dataset),
                     LIANA_INVALID_ARGUMENT);
    assert_null(dataset);
    assert_says(liana_context_message(context), "class_names");
    assert_says(liana_context_message(context), "look the same");
    liana_context_destroy(context);
}

/* ---- values that are missing ---- */

static void test_missing_values(void **state)
{
    (void)state;
    const liana__source_options table = {.kind = "table"};
    static const char *const missing[] = {"NA", "nan", "N/A", "?", "NULL"};
    for (size_t i = 0; i < 5; i++) {
        char text[100], found[20];
        snprintf(text, sizeof text, "x,area\n1,2.5\n2,%s\n3,4\n", missing[i]);
        snprintf(found, sizeof found, "found '%s'", missing[i]);
        liana__error error = refuse(write_text("m.csv", text), &table, NULL);
        assert_fails(error.status, LIANA_INVALID_DATA, &error, "m.csv', line 3, column 'area'", found,
                     "missing: VALUE");
        liana__source *source = open_source(write_text("m.csv", text), &table, "{a: {from: area, missing: -1}}");
        assert_compare(value_of(source, 1, "a"), ==, -1);
        assert_compare(value_of(source, 2, "a"), ==, 4);
        liana__source_close(source);
    }
    /* Texts are texts. */
    liana__source *source = open_source(write_text("m.csv", "x,word\n1,NA\n2,b\n"), &table, NULL);
    assert_int_equal(source->components[1].dtype, LIANA_STRING);
    liana__source_close(source);
    liana__error error = refuse(write_text("m.csv", "x,label\n1,0\n2,1\n3,NA\n"), &table, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "m.csv', line 4", "the label 'NA' is not a number");
    source = open_source(write_text("m.csv", "x,label\n1,yes\n2,NA\n"), &table, NULL);
    assert_int_equal(source->class_names.count, 2);
    liana__source_close(source);
}

/* ---- other forms of tables ---- */

static void test_forms(void **state)
{
    (void)state;
    const liana__source_options table = {.kind = "table"};
    liana__error error = refuse(write_text("d.csv", "x;y;label\n1,5;2;0\n"), &table, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "d.csv', line 1", "2 times ';'", "commas");
    error = refuse(write_text("d.csv", "x\ty\n1\t2\n"), &table, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "d.csv', line 1", "a tab", ".tsv");
    error = refuse(write_text("d.tsv", "x,y\n1,2\n"), &table, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "d.tsv', line 1", "','", "tabs");
    error = refuse(write_text("d.csv", "x|y\n1|2\n"), &table, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "'|'");
    error = refuse(liana__test_write("u.csv", "\xFF\xFEx\0,\0y\0\n\0", 10), &table, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "u.csv", "UTF-16", "UTF-8");
    error = refuse(liana__test_write("u.csv", "\0x\0,\0y\0\n", 8), &table, NULL);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "u.csv", "UTF-16");
    /* Lines of old Macs; one column of texts that have other marks in them. */
    liana__source *source = open_source(write_text("d.csv", "x,label\r1,a\r2,b\r"), &table, NULL);
    assert_int_equal(source->num_records, 2);
    assert_int_equal(label_of(source, 1), 1);
    liana__source_close(source);
    source = open_source(write_text("d.csv", "note\na;b\nc;d\n"), &table, NULL);
    assert_int_equal(source->num_records, 2);
    liana__source_close(source);
    error = refuse(write_text("d.csv", "x,y\r1,2\r3,z\r"), &table, "{a: [x, y]}");
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "line 3, column 'y'");

    static const char *const names[] = {"z.csv.gz", "z.TSV.gz"};
    static const char *const texts[] = {"x,label\n1,b\n2,a\n", "x\tlabel\n1\tb\n2\ta\n"};
    for (int i = 0; i < 2; i++) {
        liana__test_write_gzip(liana__test_path(names[i]), texts[i], strlen(texts[i]));
        source = open_source(liana__test_path(names[i]), &table, NULL);
        assert_int_equal(source->num_records, 2);
        assert_int_equal(label_of(source, 0), 1);
        liana__source_close(source);
    }
    error = refuse(liana__test_write("cut.csv.gz", "\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xd0", 12), &table, NULL);
    assert_fails(error.status, LIANA_DATA_LOSS, &error, "cut.csv.gz");
}

/* ---- labels of tf.Examples that are no class numbers ---- */

static liana__error refuse_label(const char *name, void (*add)(liana__example_builder *builder, const char *name),
                                 const liana__source_options *options)
{
    liana__error error = {0};
    liana__tfrecord_writer writer;
    liana__example_builder builder = {0};
    const uint8_t *bytes;
    size_t size;
    assert_ok(liana__tfrecord_writer_begin(&writer, liana__test_path("t.tfrec"), &error), &error);
    liana__example_add_bytes(&builder, "image", "\xff\xd8\xff", 3);
    add(&builder, name);
    assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    liana__example_builder_free(&builder);
    return refuse(liana__test_path("t.tfrec"), options, NULL);
}

static void add_text(liana__example_builder *builder, const char *name)
{
    liana__example_add_bytes(builder, name, "rose", 4);
}

static void add_float(liana__example_builder *builder, const char *name)
{
    static const float value = 2;
    liana__example_add_floats(builder, name, &value, 1);
}

static void add_one_hot(liana__example_builder *builder, const char *name)
{
    static const int64_t values[] = {0, 0, 1};
    liana__example_add_int64s(builder, name, values, 3);
}

static void test_other_labels(void **state)
{
    (void)state;
    const liana__source_options needed = {.need_labels = true};
    const liana__source_options named = {.need_labels = true, .label_feature = "kind"};
    liana__error error = refuse_label("label", add_text, &needed);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "image (bytes), label (bytes)", "'label' is a text",
                 "vocabulary", "data.targets");
    error = refuse_label("kind", add_text, &named);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "kind (bytes)", "'kind' is a text", "from: kind");
    error = refuse_label("class", add_float, &needed);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "class (float)", "'class' is a float", "dtype: s64");
    error = refuse_label("kind", add_one_hot, &named);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "kind (3 int64)", "list of 3 numbers", "length: 3",
                 "categorical_crossentropy");
    error = refuse_label("label", add_one_hot, &needed);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "list of 3 numbers");
    error = refuse_label("species", add_float, &needed);
    assert_fails(error.status, LIANA_INVALID_DATA, &error, "species (float)", "data.features.label", "name the one");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_columns_of_tables),
        cmocka_unit_test(test_columns_of_lists),
        cmocka_unit_test(test_features),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_alike),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_labels_and_categories),
        cmocka_unit_test(test_lists_of_names),
        cmocka_unit_test(test_missing_values),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_other_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
