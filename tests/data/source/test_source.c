/* Sources: TFRecord (kind tfrecord), IDX (idx) and image files (folder), on real data and on small files made here. */
#include "harness/harness.h"

#include "data/source/source_open.h"
#include "formats/example.h"
#include "formats/image.h"
#include "formats/tfrecord.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

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

/* Counts labels and checks ids against sums that Python computed from the same files. */
static void check_flowers(const char *pattern, uint64_t count, const int *labels, uint32_t ids)
{
    liana__error error = {0};
    liana__source *source = open_source(liana__test_data(pattern), NULL);
    assert_string_equal(source->kind->part.name, "tfrecord");
    assert_int_equal(source->num_records, count);
    assert_int_equal(source->has_labels, labels != NULL);
    void *scratch = liana__source_scratch_create(source);
    int found[5] = {0};
    uLong id = 0;
    for (uint64_t i = 0; i < count; i++) {
        liana_source_record record;
        assert_ok(liana__source_read(source, i, scratch, &record, &error), &error);
        assert_int_equal(liana__image_sniff(record.bytes, record.size), LIANA__IMAGE_JPEG);
        id = crc32(id, (const Bytef *)record.id, (uInt)record.id_size);
        assert_int_equal(record.has_label, labels != NULL);
        if (labels) found[record.label]++;
    }
    for (int i = 0; labels && i < 5; i++) assert_compare(found[i], ==, labels[i], i);
    assert_int_equal(id, ids);
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);
}

static void test_flowers_have_their_labels_and_ids(void **state)
{
    (void)state;
    check_flowers("flowers192/train/*.tfrec", 1605, (const int[5]){323, 314, 329, 327, 312}, 0x6b08ba2f);
    check_flowers("flowers192/val", 343, (const int[5]){70, 71, 60, 73, 69}, 0xc21fa4d1);
    check_flowers("flowers192/test/*", 343, NULL, 0xee42f4d0);
    liana__error error = {0};
    assert_fails(try_source(liana__test_data("flowers192/test/*"), &(liana__source_options){.need_labels = true},
                            &error),
                 LIANA_INVALID_DATA, &error, "flowers192/test", "no labels", "'class'");
}

static void test_addresses_go_on_over_files(void **state)
{
    (void)state;
    liana__source *source = open_source(liana__test_data("flowers192/train/*.tfrec"), NULL);
    liana__source *few =
        open_source(liana__test_data("flowers192/train/*.tfrec"), &(liana__source_options){.take = 202});
    assert_int_equal(few->num_records, 202);
    assert_int_equal(liana__source_address(few, 201).record, 0);
    liana__source_close(few);
    static const struct {
        uint64_t index;
        const char *file;
        int64_t record;
    } cases[] = {{0, "flowers00-201.tfrec", 0},
                 {200, "flowers00-201.tfrec", 200},
                 {201, "flowers01-201.tfrec", 0},
                 {1604, "flowers07-200.tfrec", 199}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana_record_address address = liana__source_address(source, cases[i].index);
        assert_string_equal(liana__path_name(address.file), cases[i].file);
        assert_int_equal(address.record, cases[i].record);
    }
    liana__source_close(source);
}

static void test_feature_names_are_found_by_looking(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__source *source = open_source(liana__test_data("tfrecords/flowers_validation_00000-of-00005.tfrecord"), NULL);
    int64_t num_classes;
    liana_source_record record;
    void *scratch = liana__source_scratch_create(source);
    assert_int_equal(source->num_records, 70);
    assert_ok(liana__source_read(source, 1, scratch, &record, &error), &error);
    assert_int_equal(record.label, 4); /* image/class/label */
    assert_int_equal(record.size, 30965);
    assert_null(record.id);
    assert_ok(liana__source_count_classes(source, 0, &num_classes, NULL, &error), &error);
    assert_int_equal(num_classes, 5);
    assert_false(liana__source_known_classes(source, 0, 5, &(bool){false})); /* TFRecords have to be read */
    assert_ok(liana__source_count_classes(source, 10, &num_classes, NULL, &error), &error);
    assert_int_equal(num_classes, 15);
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);

    source = open_source(liana__test_data("tfrecords/raccoon_detection_test.record"), NULL);
    scratch = liana__source_scratch_create(source);
    assert_int_equal(source->num_records, 40);
    assert_false(source->has_labels);
    assert_ok(liana__source_read(source, 0, scratch, &record, &error), &error);
    assert_int_equal(record.id_size, strlen("raccoon-129.jpg"));
    assert_memory_equal(record.id, "raccoon-129.jpg", record.id_size);
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);

    source = open_source(liana__test_data("tfrecords/cifar10_test.tfrecord"), NULL);
    scratch = liana__source_scratch_create(source);
    assert_int_equal(source->num_records, 128);
    assert_ok(liana__source_read(source, 0, scratch, &record, &error), &error);
    assert_int_equal(record.label, 7);
    assert_int_equal(liana__image_sniff(record.bytes, record.size), LIANA__IMAGE_PNG);
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);

    assert_fails(try_source(liana__test_data("tfrecords/external_data_tfrecord-00000-of-00002.gz"), NULL, &error),
                 LIANA_NOT_FOUND, &error, "record 0", "'image'", "trip_miles", "data.features.image");
    assert_fails(try_source(liana__test_data("flowers192/val"), &(liana__source_options){.label_feature = "clas"},
                            &error),
                 LIANA_NOT_FOUND, &error, "flowers00-172.tfrec", "record 0", "'clas'", "class", "data.features.label");
}

static void test_mnist_has_its_images_and_labels(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__source *source = open_source(liana__test_data("mnist/train-images-idx3-ubyte.gz"),
                                        &(liana__source_options){.need_labels = true});
    liana_source_record record;
    assert_string_equal(source->kind->part.name, "idx");
    assert_int_equal(source->num_records, 60000);
    assert_ok(liana__source_read(source, 0, NULL, &record, &error), &error);
    assert_int_equal(record.height, 28);
    assert_int_equal(record.width, 28);
    assert_int_equal(record.channels, 1);
    assert_int_equal(record.label, 5);
    assert_int_equal(crc32(0, record.pixels, 784), 0x90a92752);
    assert_ok(liana__source_read(source, 59999, NULL, &record, &error), &error);
    assert_int_equal(record.label, 8);
    assert_int_equal(crc32(0, record.pixels, 784), 0x62a9d57d);
    assert_int_equal(source->kind->known_label(source, 0), 5);
    assert_int_equal(source->kind->known_label(source, 59999), 8);
    assert_fails(liana__source_read(source, 60000, NULL, &record, &error), LIANA_OUT_OF_RANGE, &error, "60000");
    liana__source_close(source);
    source = open_source(liana__test_data("mnist/t10k-*"), &(liana__source_options){.take = 20000});
    assert_int_equal(source->num_records, 10000); /* images and labels named together */
    assert_true(source->has_labels);
    liana__source_close(source);
}

static void write_idx(const char *name, int num_dimensions, const uint8_t *dimensions)
{
    uint8_t bytes[4 + 4 * 3 + 256] = {0, 0, 8, (uint8_t)num_dimensions};
    size_t size = 1;
    for (int i = 0; i < num_dimensions; i++) {
        bytes[4 + 4 * i + 3] = dimensions[i];
        size *= dimensions[i];
    }
    for (size_t i = 0; i < size; i++) bytes[4 + 4 * num_dimensions + i] = (uint8_t)i;
    liana__test_write(name, bytes, 4 + 4 * (size_t)num_dimensions + size);
}

static void test_idx_files_are_paired(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    write_idx("a-images-idx3-ubyte", 3, (const uint8_t[]){3, 2, 2});
    write_idx("a-labels-idx1-ubyte", 1, (const uint8_t[]){3});
    write_idx("b-images-idx3-ubyte", 3, (const uint8_t[]){4, 2, 2});
    liana__source *source = open_source(liana__test_path("*-images-*"), NULL);
    assert_int_equal(source->num_records, 7);
    assert_false(source->has_labels); /* b has none */
    assert_string_equal(liana__path_name(liana__source_address(source, 3).file), "b-images-idx3-ubyte");
    assert_int_equal(liana__source_address(source, 4).record, 1);
    liana__source_close(source);

    liana__source_options named = {.labels = liana__test_path("b-names")};
    write_idx("b-names", 1, (const uint8_t[]){4});
    source = open_source(liana__test_path("b-images-idx3-ubyte"), &named);
    assert_true(source->has_labels);
    liana__source_close(source);

    assert_fails(try_source(liana__test_path("*-images-*"), &named, &error), LIANA_INVALID_CONFIG, &error, "b-names");
    write_idx("b-labels-idx1-ubyte", 1, (const uint8_t[]){5});
    assert_fails(try_source(liana__test_path("b-*"), NULL, &error), LIANA_INVALID_DATA, &error, "5 labels", "4 images");
    assert_fails(try_source(liana__test_path("a-labels*"), NULL, &error), LIANA_INVALID_DATA, &error,
                 "a-labels-idx1-ubyte", "holds labels");
    write_idx("c-labels-idx1-ubyte", 1, (const uint8_t[]){4});
    const char *patterns[] = {liana__test_path("a-*"), liana__test_path("c-labels-idx1-ubyte")};
    assert_fails(liana__source_open(patterns, 2, NULL, &source, &error), LIANA_INVALID_DATA, &error,
                 "belong to none of the files of images");
    write_idx("d-images-idx3-ubyte", 3, (const uint8_t[]){3, 0, 2});
    assert_fails(try_source(liana__test_path("d-*"), NULL, &error), LIANA_INVALID_DATA, &error, "0 x 2");
    write_idx("e-images-idx3-ubyte", 3, (const uint8_t[]){0, 2, 2});
    assert_fails(try_source(liana__test_path("e-*"), NULL, &error), LIANA_INVALID_DATA, &error, "no records");
}

static void test_class_folders(void **state)
{
    (void)state;
    liana__error error = {0};
    static const char *const names[] = {"tulips", "lilies", "daisy", "dandelion", "roses", "sunflowers"};
    liana__source *source = open_source(liana__test_data("flower_photos"), NULL);
    assert_string_equal(source->kind->part.name, "folder");
    assert_int_equal(source->num_records, 150);
    assert_int_equal(source->class_names.count, 5);
    assert_string_equal(source->class_names.items[0], "daisy");
    assert_string_equal(source->class_names.items[4], "tulips");
    void *scratch = liana__source_scratch_create(source);
    liana_source_record record;
    assert_ok(liana__source_read(source, 30, scratch, &record, &error), &error);
    assert_int_equal(record.label, 1);
    assert_memory_equal(record.id, "dandelion/", 10);
    assert_int_equal(liana__image_sniff(record.bytes, record.size), LIANA__IMAGE_JPEG);
    assert_int_equal(liana__source_address(source, 30).record, -1);
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);

    /* The configuration's order of the classes wins; a class may have no folder, but each folder must have a class. */
    liana__source_options options = {.class_names = {6, names}};
    source = open_source(liana__test_data("flower_photos/"), &options);
    assert_int_equal(source->class_names.count, 6);
    scratch = liana__source_scratch_create(source);
    assert_ok(liana__source_read(source, 0, scratch, &record, &error), &error);
    assert_int_equal(record.label, 2);
    assert_memory_equal(record.id, "daisy/", 6);
    /* Which classes there are is known without reading a file. */
    bool seen[6] = {false};
    assert_true(liana__source_known_classes(source, 0, 6, seen));
    for (int i = 0; i < 6; i++) assert_compare(seen[i], ==, strcmp(names[i], "lilies") != 0, i);
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);
    options.class_names.count = 5;
    assert_fails(try_source(liana__test_data("flower_photos"), &options, &error), LIANA_INVALID_DATA, &error,
                 "flower_photos/sunflowers", "class");
}

/* Images in folders below a class folder are the class's, as for Keras's image_dataset_from_directory; links that lead
 * in circles, and twice to one folder, are followed once. */
static void test_class_folders_have_folders(void **state)
{
    (void)state;
    liana__error error = {0};
    static const char *const ids[] = {"cat/3.jpg",   "cat/a/1.jpg", "cat/a/deep/er/2.png",
                                      "cat/b/1.jpg", "dog/x/1.jpg", "dog/x/linked/1.jpg"};
    liana__test_folder();
    const char *const folders[] = {"in/cat/a/deep/er", "in/cat/b", "in/cat/.hidden", "in/dog/x", "away"};
    for (size_t i = 0; i < 5; i++) assert_ok(liana__folder_make(liana__test_path(folders[i]), &error), &error);
    for (size_t i = 0; i < 5; i++) {
        char name[64];
        snprintf(name, sizeof name, "in/%s", ids[i]);
        liana__test_write(name, "x", 1);
    }
    liana__test_write("in/cat/.hidden/1.jpg", "x", 1);
    liana__test_write("in/cat/a/notes.txt", "x", 1);
    liana__test_write("away/1.jpg", "x", 1);
    char path[600];
    snprintf(path, sizeof path, "%s", liana__test_path("in/cat/a/deep/loop"));
    assert_int_equal(symlink(liana__test_path("in/cat"), path), 0);
    snprintf(path, sizeof path, "%s", liana__test_path("in/cat/c"));
    assert_int_equal(symlink(liana__test_path("in/cat/b"), path), 0);
    snprintf(path, sizeof path, "%s", liana__test_path("in/dog/x/linked"));
    assert_int_equal(symlink(liana__test_path("away"), path), 0);
    liana__source *source = open_source(liana__test_path("in"), &(liana__source_options){.need_labels = true});
    assert_int_equal(source->num_records, 6);
    assert_int_equal(source->num_ignored, 1);
    void *scratch = liana__source_scratch_create(source);
    for (uint64_t i = 0; i < 6; i++) {
        liana_source_record record;
        assert_ok(liana__source_read(source, i, scratch, &record, &error), &error);
        assert_string_equal(record.id, ids[i]);
        assert_int_equal(record.label, i >= 4);
    }
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);

    /* Parts of data are no classes. */
    const char *const parts[] = {"all/train/cat", "all/train/dog", "all/val/cat"};
    for (size_t i = 0; i < 3; i++) {
        assert_ok(liana__folder_make(liana__test_path(parts[i]), &error), &error);
        snprintf(path, sizeof path, "%s/1.jpg", parts[i]);
        liana__test_write(path, "x", 1);
    }
    assert_fails(try_source(liana__test_path("all"), NULL, &error), LIANA_INVALID_DATA, &error, "class 'train'",
                 "one level too high");
    source = open_source(liana__test_path("all"), &(liana__source_options){.ignore_labels = true});
    assert_int_equal(source->num_records, 3);
    liana__source_close(source);
}

/* Ids are the shortest ends of paths that differ. */
static void test_ids_are_unique(void **state)
{
    (void)state;
    liana__error error = {0};
    const char *const files[] = {"g/a/1.jpg", "g/a/2.jpg", "g/b/1.jpg", "h/a/1.jpg", "h/a/3.jpg"};
    static const char *const ids[] = {"g/a/1.jpg", "2.jpg", "b/1.jpg", "h/a/1.jpg", "3.jpg"};
    liana__test_folder();
    const char *const folders[] = {"g/a", "g/b", "h/a"};
    for (size_t i = 0; i < 3; i++) assert_ok(liana__folder_make(liana__test_path(folders[i]), &error), &error);
    for (size_t i = 0; i < 5; i++) liana__test_write(files[i], "x", 1);
    liana__source *source = open_source(liana__test_path("?/*/?.jpg"), NULL);
    assert_int_equal(source->num_records, 5);
    void *scratch = liana__source_scratch_create(source);
    liana_source_record record;
    for (uint64_t i = 0; i < 5; i++) {
        assert_ok(liana__source_read(source, i, scratch, &record, &error), &error);
        assert_string_equal(record.id, ids[i]);
    }
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);
    /* Two folders with the same class folders. */
    const char *both[] = {liana__test_path("g"), liana__test_path("h")};
    static const char *const below[] = {"g/a/1.jpg", "a/2.jpg", "b/1.jpg", "h/a/1.jpg", "a/3.jpg"};
    assert_ok(liana__source_open(both, 2, NULL, &source, &error), &error);
    scratch = liana__source_scratch_create(source);
    for (uint64_t i = 0; i < 5; i++) {
        assert_ok(liana__source_read(source, i, scratch, &record, &error), &error);
        assert_string_equal(record.id, below[i]);
    }
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);
}

static void test_files_and_plain_folders_have_no_labels(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__source *source = open_source(liana__test_data("photos"), NULL); /* a text file lies among them */
    assert_int_equal(source->num_records, 6);
    assert_false(source->has_labels);
    liana__source_close(source);
    const char *patterns[] = {liana__test_data("photos/p*.jpg"), liana__test_data("photos/c*.jpg")};
    assert_ok(liana__source_open(patterns, 2, NULL, &source, &error), &error);
    assert_int_equal(source->num_records, 4);
    assert_string_equal(liana__path_name(liana__source_address(source, 0).file), "panda.jpg");
    assert_string_equal(liana__path_name(liana__source_address(source, 1).file), "coffee.jpg");
    void *scratch = liana__source_scratch_create(source);
    liana_source_record record;
    assert_ok(liana__source_read(source, 0, scratch, &record, &error), &error);
    assert_string_equal(record.id, "panda.jpg");
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);
}

static void test_what_is_no_data_is_named(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    assert_fails(try_source(liana__test_path("*.tfrec"), NULL, &error), LIANA_NOT_FOUND, &error, "*.tfrec");
    liana__test_write("notes.txt", "hello", 5);
    assert_fails(try_source(liana__test_path("notes.txt"), NULL, &error), LIANA_INVALID_DATA, &error, "notes.txt",
                 "TFRecord", "IDX", "data.kind");
    assert_fails(try_source(liana__test_path(""), NULL, &error), LIANA_INVALID_DATA, &error, "TFRecord");
    assert_int_equal(remove(liana__test_path("notes.txt")), 0);
    liana__test_write("a.tfrec", "", 0);
    assert_fails(try_source(liana__test_path("a.tfrec"), NULL, &error), LIANA_INVALID_DATA, &error, "a.tfrec",
                 "no records");
    liana__test_write("b.jpg", "\xff\xd8\xff", 3);
    assert_fails(try_source(liana__test_path("*"), NULL, &error), LIANA_INVALID_DATA, &error, "a.tfrec", "tfrecord",
                 "b.jpg", "folder");
    assert_fails(try_source(liana__test_path("*"), &(liana__source_options){.kind = "tfrecords"}, &error),
                 LIANA_INVALID_CONFIG, &error, "'tfrecords'", "did you mean 'tfrecord'", "idx");
    assert_fails(try_source(liana__test_path("b.jpg"), &(liana__source_options){.kind = "tfrecord"}, &error),
                 LIANA_INVALID_DATA, &error, "b.jpg", "a JPEG image");
    assert_ok(liana__folder_make(liana__test_path("classes/rose"), &error), &error);
    assert_fails(try_source(liana__test_path("classes"), NULL, &error), LIANA_INVALID_DATA, &error, "class 'rose'",
                 "no image");
    assert_fails(try_source(liana__test_path("classes/rose"), &(liana__source_options){.kind = "folder"}, &error),
                 LIANA_NOT_FOUND, &error, "no image", "classes/rose");
}

/* A TFRecord file of records with a label and an id, and one of them wrong in some way. */
static const char *write_records(const char *name, int64_t third_label, bool third_has_label)
{
    liana__error error = {0};
    liana__tfrecord_writer writer;
    liana__example_builder builder = {0};
    const char *path = liana__test_path(name);
    assert_ok(liana__tfrecord_writer_begin(&writer, path, &error), &error);
    for (int64_t i = 0; i < 4; i++) {
        const uint8_t *bytes;
        size_t size;
        int64_t label = i == 2 ? third_label : i;
        liana__example_add_bytes(&builder, "image", "\xff\xd8\xff", 3);
        liana__example_add_bytes(&builder, "id", "flower", 6);
        if (i != 2 || third_has_label) liana__example_add_int64s(&builder, "class", &label, 1);
        assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
        assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
    }
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    liana__example_builder_free(&builder);
    return path;
}

static void test_labels_are_checked(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    liana__source *source = open_source(write_records("range.tfrec", 1003, true), NULL);
    void *scratch = liana__source_scratch_create(source);
    liana_source_record record;
    int32_t label;
    int64_t num_classes;
    assert_ok(liana__source_read(source, 2, scratch, &record, &error), &error);
    assert_fails(liana__source_label(source, 2, &record, 0, 104, &label, &error), LIANA_OUT_OF_RANGE, &error,
                 "range.tfrec", "record 2", "'flower'", "label 1003", "[0, 104)", "label_offset");
    assert_fails(liana__source_label(source, 2, &record, -1004, 104, &label, &error), LIANA_OUT_OF_RANGE, &error,
                 "1003", "label_offset -1004");
    assert_ok(liana__source_label(source, 2, &record, -1000, 4, &label, &error), &error);
    assert_int_equal(label, 3);
    record.label = INT64_MAX;
    assert_fails(liana__source_label(source, 2, &record, 1, 0, &label, &error), LIANA_OUT_OF_RANGE, &error,
                 "9223372036854775807");
    /* An id may be any bytes: none of them may reach a terminal as a command. */
    record.id = "a\x1b[31m\xff\n\xc3\xa9";
    record.id_size = 10;
    assert_fails(liana__source_label(source, 2, &record, 0, 4, &label, &error), LIANA_OUT_OF_RANGE, &error,
                 "(id 'a?[31m??\xc3\xa9')", "data.num_classes");
    liana__source_scratch_destroy(source, scratch);
    assert_fails(liana__source_count_classes(source, -1, &num_classes, NULL, &error), LIANA_OUT_OF_RANGE, &error,
                 "record 0", "label 0");
    assert_ok(liana__source_count_classes(source, 0, &num_classes, NULL, &error), &error);
    assert_int_equal(num_classes, 1004);
    liana__source_close(source);
    source = open_source(write_records("absurd.tfrec", 2000000000, true), NULL);
    assert_fails(liana__source_count_classes(source, 0, &num_classes, NULL, &error), LIANA_OUT_OF_RANGE, &error,
                 "absurd.tfrec", "label 2000000000", "[0, 1000000)");
    liana__source_close(source);

    source = open_source(write_records("missing.tfrec", 0, false), NULL);
    assert_fails(liana__source_count_classes(source, 0, &num_classes, NULL, &error), LIANA_NOT_FOUND, &error,
                 "missing.tfrec", "record 2", "'class'", "image");
    liana__source_close(source);
}

static void test_image_files_can_be_wrong(void **state)
{
    (void)state;
    liana__error error = {0};
    liana_source_record record;
    liana__test_folder();
    liana__test_write("a.jpg", "", 0);
    const char *gone = liana__test_write("b.png", "gone", 4);
    liana__source *source = open_source(liana__test_path("*"), NULL);
    assert_int_equal(source->num_records, 2);
    void *scratch = liana__source_scratch_create(source);
    assert_ok(liana__source_read(source, 0, scratch, &record, &error), &error);
    assert_int_equal(record.size, 0);
    assert_non_null(record.bytes);
    assert_int_equal(remove(gone), 0);
    assert_fails(liana__source_read(source, 1, scratch, &record, &error), LIANA_NOT_FOUND, &error, "b.png");
    assert_ok(liana__folder_make(gone, &error), &error);
    assert_fails(liana__source_read(source, 1, scratch, &record, &error), LIANA_IO_ERROR, &error, "b.png",
                 "a folder, expected a file");
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flowers_have_their_labels_and_ids),
        cmocka_unit_test(test_addresses_go_on_over_files),
        cmocka_unit_test(test_feature_names_are_found_by_looking),
        cmocka_unit_test(test_mnist_has_its_images_and_labels),
        cmocka_unit_test(test_idx_files_are_paired),
        cmocka_unit_test(test_class_folders),
        cmocka_unit_test(test_class_folders_have_folders),
        cmocka_unit_test(test_ids_are_unique),
        cmocka_unit_test(test_files_and_plain_folders_have_no_labels),
        cmocka_unit_test(test_what_is_no_data_is_named),
        cmocka_unit_test(test_labels_are_checked),
        cmocka_unit_test(test_image_files_can_be_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
