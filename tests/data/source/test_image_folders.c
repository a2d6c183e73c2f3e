/* Image files in folders: kinds that are read, those that are counted and named, folders of archives and disks, empty
 * class folders. And features of tf.Examples that are called as images, or hold raw numbers. */
#include "harness/command_run.h"

#include "base/file.h"
#include "data/source/source_open.h"
#include "formats/example.h"
#include "formats/image.h"
#include "formats/tfrecord.h"
#include "formats/yaml.h"
#include "samples/image_kinds.h"

#include <stdlib.h>
#include <string.h>

static liana__error error;

static void make_folder(const char *name)
{
    assert_ok(liana__folder_make(liana__test_path(name), &error), &error);
}

/* The sample whose name begins with `kind`. */
static void write_sample(const char *name, const char *kind)
{
    uint8_t bytes[4096];
    size_t i = 0;
    while (strncmp(IMAGE_KINDS[i].name, kind, strlen(kind)) != 0) i++;
    size_t size = strlen(IMAGE_KINDS[i].file) / 2;
    assert_compare(size, <=, sizeof bytes);
    for (size_t k = 0; k < size; k++) {
        char digits[3] = {IMAGE_KINDS[i].file[2 * k], IMAGE_KINDS[i].file[2 * k + 1], 0};
        bytes[k] = (uint8_t)strtoul(digits, NULL, 16);
    }
    liana__test_write(name, bytes, size);
}

static void write_jpeg(const char *name, uint8_t level)
{
    uint8_t pixels[64];
    liana__text jpeg = {0};
    memset(pixels, level, sizeof pixels);
    assert_ok(liana__jpeg_encode(pixels, 8, 8, 1, 90, &jpeg, &error), &error);
    liana__test_write(name, jpeg.data, jpeg.length);
    liana__text_free(&jpeg);
}

static void write_text(const char *name, const char *text)
{
    liana__test_write(name, text, strlen(text));
}

static void write_config(const char *data)
{
    char text[600];
    snprintf(text, sizeof text,
             "data: {%s, image_size: [8, 8]}\n"
             "model: {layers: [GlobalAveragePooling2D, {Dense: {units: 2, activation: softmax}}]}\n"
             "train: {epochs: 1, batch_size: 2}\n",
             data);
    write_text("c.yaml", text);
}

/* Two classes of JPEGs, with one more of each kind that is read, and some that are not. */
static void make_data(void)
{
    static const char *const read[] = {"BMP of 24", "GIF", "WebP without", "TIFF", "PNG turned"};
    static const char *const endings[] = {"BMP", "gif", "webp", "tif", "png"};
    liana__test_folder();
    make_folder("data/cat");
    make_folder("data/dog");
    write_jpeg("data/cat/a.jpg", 10);
    write_jpeg("data/cat/b.jfif", 20);
    write_jpeg("data/dog/a.JPE", 200);
    for (int i = 0; i < 5; i++) {
        char name[64];
        snprintf(name, sizeof name, "data/dog/x.%s", endings[i]);
        write_sample(name, read[i]);
    }
    write_text("data/cat/1.heic", "ftypheic");
    write_text("data/cat/2.HEIC", "ftypheic");
    write_text("data/dog/3.svg", "<svg/>");
    write_text("data/dog/Thumbs.db", "");
    write_config("train: data");
}

static const char told[] = "3 of 11 image files in '";
static const char kinds[] = "are of kinds that are not read (2 .heic and 1 .svg), and left out";

static void test_kinds_are_read_or_named(void **state)
{
    (void)state;
    make_data();
    char config[600], run[600], out[600], data[600];
    snprintf(config, sizeof config, "%s", liana__test_path("c.yaml"));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(out, sizeof out, "%s", liana__test_path("out"));
    snprintf(data, sizeof data, "%s", liana__test_path("data"));
    liana__test_result got = liana__test_command("train", config, "--out", run);
    assert_says(got.out, "8 training");
    assert_says(got.out, told);
    assert_says(got.out, kinds);
    assert_code(got, 0);
    got = liana__test_command("check", config);
    assert_says(got.err, told);
    assert_says(got.err, kinds);
    assert_code(got, 0);
    got = liana__test_command("predict", run, "--data", data, "--out", out);
    assert_says(got.err, kinds);
    assert_code(got, 0);
    got = liana__test_command("data", config, "--out", liana__test_path("pictures"));
    if (!strstr(got.out, kinds)) assert_says(got.err, kinds);
    assert_code(got, 0);
    got = liana__test_command("predict", run, liana__test_path("data/dog/x.BMP"));
    assert_says(got.out, "x.BMP");
    assert_code(got, 0);
}

static liana_status open_path(const char *name, liana__source **source)
{
    const char *path = liana__test_path(name);
    error = (liana__error){0};
    return liana__source_open(&path, 1, &(liana__source_options){.need_labels = true}, source, &error);
}

static liana_status open_data(liana__source **source)
{
    return open_path("data", source);
}

/* A file or a folder of a kind that is not read is named with its kind. */
static void test_other_kinds_are_named(void **state)
{
    (void)state;
    liana__source *source;
    liana__test_folder();
    make_folder("photos");
    liana__test_write("photos/a.HEIC",
                      "\0\0\0\x18"
                      "ftypheic....",
                      16);
    liana__test_write("photos/b.heic",
                      "\0\0\0\x18"
                      "ftypheic....",
                      16);
    liana__test_write("c.jxl", "\xff\x0a....", 6);
    assert_fails(open_path("photos/a.HEIC", &source), LIANA_INVALID_DATA, &error, "it looks like an HEIC image");
    assert_fails(open_path("photos", &source), LIANA_INVALID_DATA, &error, "kinds that are not read: 2 .heic");
    assert_fails(open_path("c.jxl", &source), LIANA_INVALID_DATA, &error, "it looks like a JPEG XL image");
}

static void test_folders_of_archives_and_disks_are_no_classes(void **state)
{
    (void)state;
    static const char *const litter[] = {"__MACOSX", "@eaDir", ".thumbnails"};
    make_data();
    for (int i = 0; i < 3; i++) {
        char folder[64], name[96];
        snprintf(folder, sizeof folder, "data/%s", litter[i]);
        make_folder(folder);
        snprintf(name, sizeof name, "%s/a.jpg", folder);
        write_jpeg(name, 1);
        snprintf(folder, sizeof folder, "data/cat/%s", litter[i]);
        make_folder(folder);
        snprintf(name, sizeof name, "%s/a.jpg", folder);
        write_jpeg(name, 1);
    }
    liana__source *source;
    assert_ok(open_data(&source), &error);
    assert_int_equal(source->class_names.count, 2);
    assert_int_equal(source->num_records, 8);
    liana__source_close(source);
}

static void test_empty_class_folders(void **state)
{
    (void)state;
    liana__source *source;
    make_data();
    make_folder("data/emu");
    assert_fails(open_data(&source), LIANA_INVALID_DATA, &error, "of class 'emu'", "it is empty");
    make_folder("data/emu/later");
    write_text("data/emu/1.avif", "");
    write_text("data/emu/2.avif", "");
    assert_fails(open_data(&source), LIANA_INVALID_DATA, &error, "of class 'emu'", "but 2 .avif; convert them");
    /* A validation part may lack a class. */
    make_data();
    make_folder("val/cat");
    make_folder("val/dog");
    write_jpeg("val/cat/a.jpg", 3);
    write_config("train: data, validation: val");
    char config[600], run[600];
    snprintf(config, sizeof config, "%s", liana__test_path("c.yaml"));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    liana__test_result got = liana__test_command("train", config, "--out", run);
    assert_says(got.out, "1 validation");
    assert_code(got, 0);
}

/* ---- features ---- */

enum { SIDE = 4, VALUES = SIDE * SIDE * 3 };

/* Six records with a label; `add` adds the feature that is tried. */
static void write_records(void (*add)(liana__example_builder *builder, int record))
{
    liana__tfrecord_writer writer;
    liana__example_builder builder = {0};
    assert_ok(liana__tfrecord_writer_begin(&writer, liana__test_path("x.tfrec"), &error), &error);
    for (int i = 0; i < 6; i++) {
        const uint8_t *bytes;
        size_t size;
        int64_t label = i % 2;
        add(&builder, i);
        liana__example_add_int64s(&builder, "label", &label, 1);
        assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
        assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
    }
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    liana__example_builder_free(&builder);
}

static float floats[VALUES];
static uint8_t bytes_of[VALUES];

static void add_floats(liana__example_builder *builder, int record)
{
    for (int i = 0; i < VALUES; i++) floats[i] = (float)(i + record) / 255;
    liana__example_add_floats(builder, "image", floats, VALUES);
}

static void add_bytes(liana__example_builder *builder, int record)
{
    for (int i = 0; i < VALUES; i++) bytes_of[i] = (uint8_t)(200 + i + record);
    liana__example_add_bytes(builder, "image", bytes_of, VALUES);
}

static void add_float_bytes(liana__example_builder *builder, int record)
{
    for (int i = 0; i < VALUES; i++) floats[i] = (float)(200 + i + record) / 4;
    liana__example_add_bytes(builder, "pixels", floats, sizeof floats);
}

/* Opens x.tfrec with columns, as YAML. */
static liana_status open_records(const char *columns, liana__source **source)
{
    liana__arena arena = {0};
    liana__value *map;
    liana__columns wanted;
    const char *path = liana__test_path("x.tfrec");
    error = (liana__error){0};
    assert_ok(liana__yaml_parse(columns, strlen(columns), "columns", &arena, &map, &error), &error);
    assert_ok(liana__columns_read(map, "columns", &arena, &wanted, &error), &error);
    liana_status status =
        liana__source_open(&path, 1, &(liana__source_options){.columns = &wanted, .need_labels = true}, source, &error);
    liana__arena_free(&arena);
    return status;
}

/* Every value of record 2 of the only column: `expected(i)`. */
static void check_column(const char *columns, int dtype, double (*expected)(int i))
{
    liana__source *source;
    liana_source_record record;
    assert_ok(open_records(columns, &source), &error);
    assert_true(source->lacks_images);
    assert_int_equal(source->num_components, 1);
    assert_int_equal(source->components[0].dtype, dtype);
    void *scratch = liana__source_scratch_create(source);
    assert_ok(liana__source_read(source, 2, scratch, &record, &error), &error);
    for (int i = 0; i < VALUES; i++) {
        double found =
            dtype == LIANA_U8 ? ((const uint8_t *)record.values[0])[i] : (double)((const float *)record.values[0])[i];
        assert_compare(found, ==, expected(i), i);
    }
    assert_int_equal(record.label, 0);
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);
}

static double float_at(int i)
{
    return (double)((float)(i + 2) / 255);
}

static double byte_at(int i)
{
    return (200 + i + 2) % 256;
}

static double quarter_at(int i)
{
    return (200 + i + 2) / 4.0;
}

static void test_floats_called_image(void **state)
{
    (void)state;
    liana__test_folder();
    write_records(add_floats);
    check_column("{px: {from: image, length: 48}}", LIANA_F32, float_at);
    /* Without a column the message says how. */
    const char *path = liana__test_path("x.tfrec");
    liana__source *source;
    error = (liana__error){0};
    assert_fails(liana__source_open(&path, 1, &(liana__source_options){.need_labels = true}, &source, &error),
                 LIANA_INVALID_DATA, &error, "data.features.image", "data.columns: {image: {from: image, length: 48}}");
}

static void test_raw_bytes(void **state)
{
    (void)state;
    liana__test_folder();
    write_records(add_bytes);
    check_column("{px: {from: image, length: 48, dtype: u8}}", LIANA_U8, byte_at);
    check_column("{px: {from: image, length: 48, dtype: f32}}", LIANA_F32, byte_at); /* a byte for each */
    write_records(add_float_bytes);
    check_column("{px: {from: pixels, length: 48, dtype: f32}}", LIANA_F32, quarter_at);
}

static void test_binary_bytes_are_not_printed(void **state)
{
    (void)state;
    static const char *const columns[] = {"{px: {from: image, length: 40, dtype: u8}}",
                                          "{px: {from: image, dtype: f32}}",
                                          "{px: {from: image, category: true, vocabulary: [a, b]}}"};
    liana__test_folder();
    write_records(add_bytes);
    for (int i = 0; i < 3; i++) {
        liana__source *source;
        liana_source_record record;
        liana_status status = open_records(columns[i], &source);
        if (status == LIANA_OK) {
            void *scratch = liana__source_scratch_create(source);
            status = liana__source_read(source, 0, scratch, &record, &error);
            liana__source_scratch_destroy(source, scratch);
            liana__source_close(source);
        }
        assert_int_equal(status, LIANA_INVALID_DATA);
        assert_says(error.message, "48 bytes");
        for (const char *c = error.message; *c; c++) {
            assert_compare(*c, >=, 0x20);
            assert_compare(*c, <, 0x7f);
        }
    }
}

static void add_two_images(liana__example_builder *builder, int record)
{
    (void)record;
    liana__example_add_bytes(builder, "other", "x", 1);
    liana__example_add_int64s(builder, "image", (int64_t[]){1, 2}, 2);
}

static void test_hints_name_the_key_that_helps(void **state)
{
    (void)state;
    liana__test_folder();
    write_records(add_two_images);
    const char *path = liana__test_path("x.tfrec");
    liana__source *source;
    error = (liana__error){0};
    assert_fails(liana__source_open(&path, 1, &(liana__source_options){.need_labels = true}, &source, &error),
                 LIANA_INVALID_DATA, &error, "data.features.image", "other (bytes)");
    assert_never_says(error.message, "data.features.label");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_are_read_or_named),
        cmocka_unit_test(test_other_kinds_are_named),
        cmocka_unit_test(test_folders_of_archives_and_disks_are_no_classes),
        cmocka_unit_test(test_empty_class_folders),
        cmocka_unit_test(test_floats_called_image),
        cmocka_unit_test(test_raw_bytes),
        cmocka_unit_test(test_binary_bytes_are_not_printed),
        cmocka_unit_test(test_hints_name_the_key_that_helps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
