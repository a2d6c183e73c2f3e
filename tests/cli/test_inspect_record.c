/* liana inspect --record: every value of one record, of each kind of file; records that are not there, damaged or
 * hostile. */
#include "harness/command_run.h"
#include "harness/text_files.h"

#include "base/scoped.h"
#include "formats/example.h"
#include "formats/image.h"
#include "formats/npy.h"
#include "formats/tfrecord.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static json_t *record_of(const char *path, const char *number)
{
    liana__test_result got = liana__test_command("inspect", path, "--record", number, "--json");
    if (got.code) print_error("%s", got.err);
    assert_int_equal(got.code, 0);
    json_t *json = liana__test_parse_json(got.out);
    liana__test_free_result(&got);
    return json;
}

static const json_t *feature_of(const json_t *record, const char *name)
{
    const json_t *list = json_object_get(record, "features");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        if (strcmp(json_string_value(json_object_get(row, "feature")), name) == 0) return row;
    }
    fail_msg("no feature %s", name);
    return NULL;
}

static const json_t *value_of(const json_t *record, const char *name, size_t index)
{
    return json_array_get(json_object_get(feature_of(record, name), "values"), index);
}

static void assert_kind(const json_t *record, const char *name, const char *kind, size_t values)
{
    const json_t *row = feature_of(record, name);
    assert_string_equal(json_string_value(json_object_get(row, "kind")), kind);
    assert_int_equal(json_array_size(json_object_get(row, "values")), values);
}

/* ---- tf.Examples ---- */

static const float floats[] = {0.1f, -3.0f, 1.0e-20f, 16777216.0f};
static const int64_t whole[] = {-7, INT64_MAX, 0};

static void add_features(liana__example_builder *builder, const liana__text *png)
{
    liana__example_add_bytes(builder, "text", "line one\nline two", 17);
    liana__example_add_bytes(builder, "raw", "\x00\xff\x10", 3);
    liana__example_add_bytes(builder, "image", png->data, png->length);
    liana__example_add_bytes(builder, "evil\x1b[31m\xe2\x80\xae", "\x1b[2Jgone\xe2\x80\xae", 11);
    liana__example_add_bytes(builder, "none", "", 0);
    liana__example_add_floats(builder, "floats", floats, 4);
    liana__example_add_int64s(builder, "whole", whole, 3);
}

/* Three records: all kinds of values, many numbers, no example. */
static const char *write_records(void)
{
    LIANA__SCOPED(liana__example_builder) builder = {0};
    LIANA__SCOPED(liana__text) png = {0};
    static uint8_t pixels[5 * 7 * 3];
    static int64_t many[300];
    liana__error error = {0};
    liana__tfrecord_writer writer;
    const uint8_t *bytes;
    size_t size;
    liana__test_folder();
    static char path[300];
    snprintf(path, sizeof path, "%s", liana__test_path("r.tfrec"));
    assert_ok(liana__png_encode(pixels, 5, 7, 3, &png, &error), &error);
    assert_ok(liana__tfrecord_writer_begin(&writer, path, &error), &error);
    add_features(&builder, &png);
    assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
    for (int i = 0; i < 300; i++) many[i] = i * i;
    liana__example_add_int64s(&builder, "many", many, 300);
    assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, "\xffno example", 11, &error), &error);
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    return path;
}

static void test_a_tf_example(void **state)
{
    (void)state;
    const char *path = write_records();
    json_t *record = record_of(path, "0");
    assert_int_equal(json_integer_value(json_object_get(record, "records")), 3);
    assert_kind(record, "text", "bytes", 1);
    assert_string_equal(json_string_value(value_of(record, "text", 0)), "line one\nline two");
    assert_string_equal(json_string_value(json_object_get(value_of(record, "raw", 0), "hex")), "00 ff 10");
    const json_t *image = value_of(record, "image", 0);
    assert_string_equal(json_string_value(json_object_get(image, "image")), "PNG");
    assert_int_equal(json_integer_value(json_object_get(image, "height")), 5);
    assert_int_equal(json_integer_value(json_object_get(image, "width")), 7);
    assert_string_equal(json_string_value(value_of(record, "none", 0)), "");
    assert_kind(record, "floats", "float", 4);
    /* Each number reads as the float that it is, in the fewest digits. */
    for (size_t i = 0; i < 4; i++) {
        assert_near((float)json_number_value(value_of(record, "floats", i)), floats[i], 0, i);
    }
    assert_near(json_number_value(value_of(record, "floats", 0)), 0.1, 0);
    assert_kind(record, "whole", "int64", 3);
    for (size_t i = 0; i < 3; i++) {
        assert_compare(json_integer_value(value_of(record, "whole", i)), ==, whole[i], i);
    }
    json_decref(record);
}

/* For people: all values, and nothing that a terminal obeys. */
static void test_a_tf_example_as_text(void **state)
{
    (void)state;
    const char *path = write_records();
    liana__test_result got = liana__test_command("inspect", path, "--record=0");
    assert_says(got.out, "floats: float, 4 values\n    0.1 -3.0 ");
    assert_says(got.out, "whole: int64, 3 values\n    -7 9223372036854775807 0\n");
    assert_says(got.out, "text: bytes\n    line one\\nline two\n");
    assert_says(got.out, "image PNG, height 5, width 7, channels 3, bytes ");
    assert_says(got.out, "bytes 3, hex 00 ff 10\n");
    assert_says(got.out, "evil\\x1b[31m\\u202e: bytes\n    \\x1b[2Jgone\\u202e\n");
    assert_never_says(got.out, "\x1b");
    assert_never_says(got.out, "\xe2\x80\xae");
    assert_code(got, 0);
    got = liana__test_command("inspect", path, "--record=1");
    assert_says(got.out, "many: int64, 300 values\n");
    assert_says(got.out, " 89401\n"); /* the last of them: 299 squared */
    for (const char *line = got.out; line; line = strchr(line, '\n')) {
        line += line != got.out;
        assert_compare(strcspn(line, "\n"), <=, 300);
    }
    assert_code(got, 0);
    got = liana__test_command("inspect", path, "--record=2");
    assert_says(got.out, "no_example: ");
    assert_says(got.out, "bytes 11, hex ff 6e 6f");
    assert_code(got, 0);
}

/* ---- events ---- */

/* Bytes of a message, written by hand after the wire format and TensorFlow's event.proto. */
typedef struct message {
    uint8_t bytes[512];
    size_t size;
} message;

static void put(message *to, int field, int wire, const void *bytes, size_t size)
{
    to->bytes[to->size++] = (uint8_t)(field << 3 | wire);
    if (wire == 2) {
        assert_compare(size, <, 128);
        to->bytes[to->size++] = (uint8_t)size;
    }
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static void put_text(message *to, int field, const char *text)
{
    put(to, field, 2, text, strlen(text));
}

static void put_message(message *to, int field, const message *inner)
{
    put(to, field, 2, inner->bytes, inner->size);
}

/* A tensor of the plugin: its dtype, its dimensions, and its content or strings. */
static message value_of_plugin(const char *tag, const char *plugin, uint8_t dtype, const uint8_t *dims, size_t rank,
                               const void *content, size_t size, const char *text)
{
    message value = {0}, tensor = {0}, shape = {0}, metadata = {0}, data = {0};
    for (size_t i = 0; i < rank; i++) {
        message dim = {0};
        put(&dim, 1, 0, &dims[i], 1);
        put_message(&shape, 2, &dim);
    }
    put(&tensor, 1, 0, &dtype, 1);
    put_message(&tensor, 2, &shape);
    if (content) put(&tensor, 4, 2, content, size);
    if (text) put_text(&tensor, 8, text);
    put_text(&data, 1, plugin);
    put_message(&metadata, 1, &data);
    put_text(&value, 1, tag);
    put_message(&value, 9, &metadata);
    put_message(&value, 8, &tensor);
    return value;
}

static const double buckets[2][3] = {{-1, 0.5, 3}, {0.5, 2, 4}};

/* Two records: the version, and step 7 with a scalar, a histogram, a text and an old scalar. */
static const char *write_events(void)
{
    static char path[300];
    const double wall = 1.5e9;
    const uint8_t step = 7, dims[2] = {2, 3};
    const float loss = 0.25F, old = -2;
    message version = {0}, event = {0}, summary = {0}, simple = {0};
    put(&version, 1, 1, &wall, sizeof wall);
    put_text(&version, 3, "brain.Event:2");
    const message scalar = value_of_plugin("loss", "scalars", 1, NULL, 0, &loss, sizeof loss, NULL);
    const message histogram = value_of_plugin("w", "histograms", 2, dims, 2, buckets, sizeof buckets, NULL);
    const message text = value_of_plugin("say\x1b", "text", 7, dims, 0, NULL, 0, "so | \xe2\x80\xae");
    put_text(&simple, 1, "old");
    put(&simple, 2, 5, &old, sizeof old);
    put_message(&summary, 1, &scalar);
    put_message(&summary, 1, &histogram);
    put_message(&summary, 1, &text);
    put_message(&summary, 1, &simple);
    put(&event, 1, 1, &wall, sizeof wall);
    put(&event, 2, 0, &step, 1);
    event.bytes[event.size++] = 5 << 3 | 2;
    event.bytes[event.size++] = (uint8_t)(0x80 | (summary.size & 0x7f));
    event.bytes[event.size++] = (uint8_t)(summary.size >> 7);
    memcpy(event.bytes + event.size, summary.bytes, summary.size);
    event.size += summary.size;
    liana__error error = {0};
    liana__tfrecord_writer writer;
    liana__test_folder();
    snprintf(path, sizeof path, "%s", liana__test_path("events.out.tfevents.1"));
    assert_ok(liana__tfrecord_writer_begin(&writer, path, &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, version.bytes, version.size, &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, event.bytes, event.size, &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, "\xff\xff", 2, &error), &error);
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    return path;
}

static void test_events(void **state)
{
    (void)state;
    const char *path = write_events();
    json_t *record = record_of(path, "0");
    assert_string_equal(json_string_value(json_object_get(record, "kind")), "TensorBoard event file");
    assert_string_equal(json_string_value(json_object_get(record, "event_of")), "version");
    assert_string_equal(json_string_value(json_object_get(record, "file_version")), "brain.Event:2");
    assert_int_equal(json_array_size(json_object_get(record, "features")), 0);
    json_decref(record);
    record = record_of(path, "1");
    assert_int_equal(json_integer_value(json_object_get(record, "records")), 3);
    assert_string_equal(json_string_value(json_object_get(record, "event_of")), "summary");
    assert_int_equal(json_integer_value(json_object_get(record, "step")), 7);
    assert_near(json_number_value(json_object_get(record, "wall_time")), 1.5e9, 0);
    assert_kind(record, "loss", "scalar", 1);
    assert_near(json_number_value(value_of(record, "loss", 0)), 0.25, 0);
    assert_kind(record, "old", "scalar", 1);
    assert_near(json_number_value(value_of(record, "old", 0)), -2, 0);
    assert_kind(record, "w", "histograms", 6);
    for (size_t i = 0; i < 6; i++) assert_near(json_number_value(value_of(record, "w", i)), buckets[i / 3][i % 3], 0);
    const json_t *shape = json_object_get(feature_of(record, "w"), "shape");
    assert_int_equal(json_array_size(shape), 2);
    assert_int_equal(json_integer_value(json_array_get(shape, 0)), 2);
    assert_int_equal(json_integer_value(json_array_get(shape, 1)), 3);
    assert_kind(record, "say\x1b", "text", 1);
    assert_string_equal(json_string_value(value_of(record, "say\x1b", 0)), "so | \xe2\x80\xae");
    json_decref(record);
    liana__test_result got = liana__test_command("inspect", path, "--record=1");
    assert_says(got.out, "-1.0 0.5 3.0 0.5 2.0 4.0\n");
    assert_says(got.out, "say\\x1b");
    assert_never_says(got.out, "\x1b");
    assert_never_says(got.out, "\xe2\x80\xae");
    assert_code(got, 0);
    assert_refused(liana__test_command("inspect", path, "--record=2"), 1, "events.out.tfevents.1", "not an event");
    assert_refused(liana__test_command("inspect", path, "--record=3"), 1, "no record 3", "from 0 to 2");
}

/* TensorFlow's own file: each of its records can be shown. */
static void test_events_of_tensorflow(void **state)
{
    (void)state;
    const char *path = liana__test_data("events/events.out.tfevents.1646034739.jiyongjung.c.googlers.com");
    json_t *record = record_of(path, "0");
    const json_int_t count = json_integer_value(json_object_get(record, "records"));
    json_decref(record);
    assert_compare(count, >, 1);
    for (json_int_t i = 0; i < count; i += 1 + count / 12) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)i);
        record = record_of(path, number);
        assert_compare(json_number_value(json_object_get(record, "wall_time")), >, 1646034700.0);
        json_decref(record);
    }
}

static void test_records_that_are_not_there(void **state)
{
    (void)state;
    const char *path = write_records();
    assert_refused(liana__test_command("inspect", path, "--record", "3"), 1, "r.tfrec", "no record 3", "from 0 to 2");
    assert_refused(liana__test_command("inspect", path, "--record=-1"), 2, "--record", "'-1'");
    assert_refused(liana__test_command("inspect", path, "--record=one"), 2, "--record", "'one'");
    assert_refused(liana__test_command("inspect", path, "--record"), 2, "--record", "N");
    const char *empty = liana__test_write("empty.tfrec", "", 0);
    assert_refused(liana__test_command("inspect", empty, "--record", "0"), 1, "empty.tfrec");
    const char *text = liana__test_write("a.json", "{\"a\": 1}", 8);
    assert_refused(liana__test_command("inspect", text, "--record", "0"), 1, "a.json", "no records", "TFRecord");
    assert_refused(liana__test_command("inspect", liana__test_path("missing"), "--record", "0"), 1, "missing");
}

/* A record with a wrong checksum is told as such; those around it are shown. */
static void test_damaged_records(void **state)
{
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s", write_records());
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, 20, SEEK_SET);
    const int byte = fgetc(file);
    fseek(file, 20, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
    assert_refused(liana__test_command("inspect", path, "--record", "0"), 1, "r.tfrec", "record 0", "checksum");
    json_decref(record_of(path, "1"));
    /* Of a cut file the whole records are there. */
    char *bytes = NULL;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(path, 1 << 20, &bytes, &size, &error), &error);
    const char *cut = liana__test_write("cut.tfrec", bytes, size - 5);
    free(bytes);
    json_decref(record_of(cut, "1"));
    assert_refused(liana__test_command("inspect", cut, "--record", "2"), 1, "no record 2");
}

/* ---- other files ---- */

static void test_idx_files(void **state)
{
    (void)state;
    static const uint8_t floats_file[] = {0, 0, 0x0d, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0x3f, 0x80, 0, 0, 0xbe, 0x80, 0, 0};
    static const uint8_t shorts[] = {0, 0, 0x0b, 1, 0, 0, 0, 2, 0xff, 0xfe, 0x01, 0x00};
    liana__test_folder();
    liana__test_tiny_data("tiny", 5, 1);
    uint8_t pixels[144];
    const int label = liana__test_tiny_image(1, 4, pixels);
    json_t *record = record_of(liana__test_path("tiny-images"), "4");
    assert_kind(record, "values", "u8", 144);
    for (size_t i = 0; i < 144; i++) {
        assert_int_equal(json_integer_value(value_of(record, "values", i)), pixels[i]);
    }
    const json_t *shape = json_object_get(feature_of(record, "values"), "shape");
    assert_int_equal(json_array_size(shape), 2);
    json_decref(record);
    record = record_of(liana__test_path("tiny-labels"), "4");
    assert_int_equal(json_integer_value(value_of(record, "values", 0)), label);
    json_decref(record);
    record = record_of(liana__test_write("f.idx", floats_file, sizeof floats_file), "1");
    assert_near(json_number_value(value_of(record, "values", 0)), -0.25, 0);
    json_decref(record);
    record = record_of(liana__test_write("s.idx", shorts, sizeof shorts), "0");
    assert_int_equal(json_integer_value(value_of(record, "values", 0)), -2);
    json_decref(record);
    assert_refused(liana__test_command("inspect", liana__test_path("tiny-images"), "--record", "5"), 1, "from 0 to 4");
}

static void test_arrays_of_numpy(void **state)
{
    (void)state;
    liana__npy npy;
    liana__error error = {0};
    const int64_t dims[] = {2, 2};
    liana__test_folder();
    const char *path = liana__test_path("a.npy");
    assert_ok(liana__npy_begin(&npy, path, dims, 2, &error), &error);
    assert_ok(liana__npy_write(&npy, (const float[]){1, 2, 3, 4, 0.1f, NAN, -INFINITY, 8}, 2, &error), &error);
    assert_ok(liana__npy_finish(&npy, &error), &error);
    liana__test_result got = liana__test_command("inspect", path);
    assert_says(got.out, "kind: NumPy array\ndtype: f32\nshape: [2, 2, 2]\n");
    assert_code(got, 0);
    got = liana__test_command("inspect", path, "--record", "1");
    assert_says(got.out, "values: f32 [2, 2], 4 values\n    0.1 nan -inf 8.0\n");
    assert_code(got, 0);
    assert_refused(liana__test_command("inspect", path, "--record", "2"), 1, "a.npy", "from 0 to 1");
    static const char large[] = "\x93NUMPY\x01\x00\x38\x00{'descr':'<u8','fortran_order':False,'shape':(1,1)}    \n"
                                "\xff\xff\xff\xff\xff\xff\xff\xff";
    json_t *record = record_of(liana__test_write("u8.npy", large, sizeof large - 1), "0");
    assert_near(json_number_value(value_of(record, "values", 0)), 18446744073709551615.0, 0);
    json_decref(record);
    const char *cut = liana__test_write("cut.npy", "\x93NUMPY\x01", 7);
    assert_refused(liana__test_command("inspect", cut, "--record", "0"), 1, "cut.npy");
}

static void test_tables(void **state)
{
    (void)state;
    static const char table[] = "id,name,amount,count,label\n"
                                "a1,\"one\x1b[31m\",0.1,7,cat\n"
                                "a2,\"two\nlines\",-2.5,9,dog\n";
    liana__test_folder();
    const char *path = liana__test_write("t.csv", table, sizeof table - 1);
    json_t *record = record_of(path, "1");
    assert_string_equal(json_string_value(value_of(record, "id", 0)), "a2");
    assert_string_equal(json_string_value(value_of(record, "name", 0)), "two\nlines");
    assert_kind(record, "amount", "f32", 1);
    assert_near(json_number_value(value_of(record, "amount", 0)), -2.5, 0);
    assert_kind(record, "count", "s64", 1);
    assert_int_equal(json_integer_value(value_of(record, "count", 0)), 9);
    assert_string_equal(json_string_value(json_object_get(feature_of(record, "label"), "class")), "dog");
    json_decref(record);
    liana__test_result got = liana__test_command("inspect", path, "--record", "0");
    assert_says(got.out, "amount: f32\n    0.1\n");
    assert_says(got.out, "line: 2\n");
    assert_never_says(got.out, "\x1b");
    assert_code(got, 0);
    assert_refused(liana__test_command("inspect", path, "--record", "2"), 1, "t.csv", "from 0 to 1");
}

/* Archives, folders of classes and CIFAR's files are read as training reads them. */
static void test_other_sources(void **state)
{
    (void)state;
    LIANA__SCOPED(liana__text) png = {0};
    static uint8_t pixels[4 * 3 * 3], batch[2 * 3073];
    liana__error error = {0};
    liana__test_folder();
    assert_ok(liana__png_encode(pixels, 4, 3, 3, &png, &error), &error);
    assert_int_equal(mkdir(liana__test_path("classes"), 0700), 0);
    assert_int_equal(mkdir(liana__test_path("classes/cat"), 0700), 0);
    assert_int_equal(mkdir(liana__test_path("classes/dog"), 0700), 0);
    liana__test_write("classes/cat/a.png", png.data, png.length);
    liana__test_write("classes/dog/b.png", png.data, png.length);
    json_t *record = record_of(liana__test_path("classes"), "1");
    assert_string_equal(json_string_value(json_object_get(feature_of(record, "label"), "class")), "dog");
    const json_t *image = value_of(record, "image", 0);
    assert_int_equal(json_integer_value(json_object_get(image, "height")), 4);
    assert_int_equal(json_integer_value(json_object_get(image, "bytes")), png.length);
    json_decref(record);
    assert_refused(liana__test_command("inspect", liana__test_path("classes"), "--record", "2"), 1, "from 0 to 1");
    for (int i = 0; i < 3072; i++) batch[3073 + 1 + i] = (uint8_t)(i % 251);
    batch[3073] = 7;
    record = record_of(liana__test_write("data_batch_1.bin", batch, sizeof batch), "1");
    assert_int_equal(json_integer_value(value_of(record, "label", 0)), 7);
    assert_kind(record, "image", "u8", 32 * 32 * 3);
    /* The file has one colour after the other; the image has three values for each pixel. */
    assert_int_equal(json_integer_value(value_of(record, "image", 3)), 1);
    assert_int_equal(json_integer_value(value_of(record, "image", 1)), 1024 % 251);
    json_decref(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tf_example),
        cmocka_unit_test(test_a_tf_example_as_text),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_events_of_tensorflow),
        cmocka_unit_test(test_records_that_are_not_there),
        cmocka_unit_test(test_damaged_records),
        cmocka_unit_test(test_idx_files),
        cmocka_unit_test(test_arrays_of_numpy),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_other_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
