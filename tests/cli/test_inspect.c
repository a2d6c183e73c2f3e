/* liana inspect: its reports on files of each kind. */
#include "harness/harness.h"

#include "base/file.h"
#include "cli/command.h"
#include "formats/safetensors.h"
#include "formats/tfrecord.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The output and exit code of a run of the command. */
typedef struct result {
    int code;
    char *out;
    char *err;
} result;

static result run_words(const char *const *words)
{
    const char *argv[24] = {"liana"};
    int argc = 1;
    for (; *words; words++) argv[argc++] = *words;
    result got = {0};
    size_t sizes[2];
    FILE *out = open_memstream(&got.out, &sizes[0]), *err = open_memstream(&got.err, &sizes[1]);
    got.code = liana__command_line(argc, argv, out, err);
    fclose(out);
    fclose(err);
    return got;
}

#define run(...) run_words((const char *const[]){__VA_ARGS__, NULL})

/* Frees the result; its output must contain each of the texts. */
#define assert_prints(got, expected_code, ...) \
    check_result((got), (expected_code), (const char *const[]){__VA_ARGS__, NULL})

static void check_result(result got, int expected_code, const char *const *texts)
{
    if (got.code != expected_code) print_error("%s%s", got.out, got.err);
    assert_int_equal(got.code, expected_code);
    for (; *texts; texts++) {
        if (strstr(got.out, *texts) || strstr(got.err, *texts)) continue;
        print_error("not printed: '%s' in:\n%s%s", *texts, got.out, got.err);
        fail();
    }
    free(got.out);
    free(got.err);
}

static json_t *inspect_json(const char *path, int expected_code)
{
    result got = run("inspect", path, "--json");
    assert_int_equal(got.code, expected_code);
    char *end = strchr(got.out, '\n');
    assert_non_null(end);
    json_t *json = json_loadb(got.out, (size_t)(end - got.out), 0, NULL);
    assert_non_null(json);
    free(got.out);
    free(got.err);
    return json;
}

static int64_t int_of(const json_t *object, const char *key)
{
    assert_true(json_is_integer(json_object_get(object, key)));
    return json_integer_value(json_object_get(object, key));
}

static void assert_text(const json_t *object, const char *key, const char *expected)
{
    assert_true(json_is_string(json_object_get(object, key)));
    assert_string_equal(json_string_value(json_object_get(object, key)), expected);
}

static void draw(const char *folder)
{
    assert_prints(run("synth", "flowers", "--out", folder, "classes=3", "images=24", "image_size=16", "shards=1",
                      "validation=0.25", "test=0"),
                  0, "24 images of 3 classes, 16x16 pixels", "train 18, val 6, test 0");
}

static void test_synth_writes_what_inspect_sees(void **state)
{
    (void)state;
    const char *folder = liana__test_folder();
    draw(folder);
    assert_false(liana__folder_exists(liana__test_path("test")));
    json_t *json = inspect_json(liana__test_path("train/flowers00-18.tfrec"), 0);
    assert_text(json, "event", "inspected");
    assert_text(json, "kind", "TFRecord");
    assert_text(json, "compression", "none");
    assert_int_equal(int_of(json, "records"), 18);
    assert_int_equal(int_of(json, "wrong_checksums"), 0);
    const json_t *features = json_object_get(json, "features"), *labels = json_object_get(json, "labels");
    assert_int_equal(json_array_size(features), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *feature = json_array_get(features, i);
        assert_int_equal(int_of(feature, "records"), 18);
        assert_int_equal(int_of(feature, "values"), 1);
        if (strcmp(json_string_value(json_object_get(feature, "feature")), "image") != 0) continue;
        assert_text(feature, "kind", "bytes");
        assert_text(feature, "images", "JPEG");
        assert_int_equal(int_of(feature, "height"), 16);
        assert_int_equal(int_of(feature, "width"), 16);
    }
    assert_text(json, "label_feature", "class");
    assert_int_equal(json_array_size(labels), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(int_of(json_array_get(labels, i), "label"), i);
        assert_int_equal(int_of(json_array_get(labels, i), "records"), 6);
    }
    json_decref(json);
    assert_prints(run("inspect", liana__test_path("val/flowers00-6.tfrec")), 0, "records: 6\n",
                  "\n  feature  kind   records  values  bytes", "labels (3)\n  label  records\n      0        2\n");
}

static void test_synth_refuses_bad_words(void **state)
{
    (void)state;
    const char *folder = liana__test_folder();
    assert_prints(run("synth", "trees", "--out", folder), 2, "'trees'", "flowers");
    assert_prints(run("synth", "flowers"), 2, "--out");
    assert_prints(run("synth", "flowers", "--out", folder, "image=3"), 2, "image", "did you mean 'images'");
    assert_prints(run("synth", "flowers", "--out", folder, "classes=1"), 2, "command line", "classes", "2 to 1000");
    assert_prints(run("synth", "flowers", "--out", folder, "test=much"), 2, "test", "much");
    draw(folder);
    assert_prints(run("synth", "flowers", "--out", folder), 2, "not empty", "overwrite=true");
    assert_prints(run("synth", "flowers", "--json", "--out", folder, "images=30", "image_size=16", "overwrite=true"), 0,
                  "{\"event\": \"drawn\"", "\"train\": 20", "\"validation\": 5");
}

/* The keys that the help names are those that there are, with their defaults. */
static void test_synth_help_is_complete(void **state)
{
    (void)state;
    assert_prints(run("synth", "--help"), 0, "\n  classes=10 ", "\n  images=2000 ", "\n  image_size=96 ",
                  "\n  validation=0.15 ", "\n  test=0.15 ", "\n  shards=4 ", "\n  seed=1 ", "\n  quality=90 ",
                  "\n  overwrite=false ");
}

static void test_damage_is_counted_and_named(void **state)
{
    (void)state;
    liana__error error = {0};
    draw(liana__test_folder());
    char *bytes;
    size_t size;
    const char *path = liana__test_path("train/flowers00-18.tfrec");
    assert_ok(liana__file_read(path, 1 << 20, &bytes, &size, &error), &error);
    bytes[200] ^= 1; /* within the first record's data */
    path = liana__test_write("damaged.tfrec", bytes, size);
    json_t *json = inspect_json(path, 1);
    assert_int_equal(int_of(json, "records"), 18);
    assert_int_equal(int_of(json, "wrong_checksums"), 1);
    json_decref(json);
    assert_prints(run("inspect", path), 1, "wrong_checksums: 1\n", "damaged.tfrec", "record 0");
    path = liana__test_write("cut.tfrec", bytes, size - 5);
    assert_prints(run("inspect", path), 1, "cut.tfrec", "record 17");
    bytes[200] ^= 1;
    /* The whole part of a cut file: all but the last record, up to its beginning. */
    liana__tfrecord *file;
    assert_ok(liana__tfrecord_open(liana__test_write("whole", bytes, size), NULL, &file, &error), &error);
    path = liana__test_write("cut.tfrec", bytes, size - 5);
    json = inspect_json(path, 1);
    assert_text(json, "kind", "TFRecord");
    assert_int_equal(int_of(json, "records"), 17);
    assert_int_equal(int_of(json, "whole_until"), liana__tfrecord_offset(file, 17));
    assert_int_equal(int_of(json, "lost_bytes"), size - 5 - liana__tfrecord_offset(file, 17));
    assert_int_equal(json_array_size(json_object_get(json, "features")), 3);
    json_decref(json);
    liana__tfrecord_close(file);
    free(bytes);
}

static void test_safetensors_and_checkpoint_folders(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    static const float kernel[6] = {0};
    const liana__safetensors_tensor tensors[] = {
        {.name = "dense/kernel", .dtype = LIANA__SAFETENSORS_F32, .rank = 2, .shape = {2, 3}, .data = kernel},
        {.name = "step", .dtype = LIANA__SAFETENSORS_I64, .rank = 0, .data = kernel},
    };
    const liana__safetensors_entry metadata[] = {{"format", "li\033ana"}};
    const liana__safetensors_contents contents = {tensors, 2, metadata, 1};
    assert_ok(liana__folder_make(liana__test_path("step-7"), &error), &error);
    const char *path = liana__test_path("step-7/variables.safetensors");
    uint32_t checksum;
    assert_ok(liana__safetensors_write(path, &contents, false, &checksum, &error), &error);
    json_t *json = inspect_json(path, 0);
    char hexadecimal[16];
    snprintf(hexadecimal, sizeof hexadecimal, "%08x", checksum);
    assert_text(json, "crc32", hexadecimal);
    assert_int_equal(int_of(json, "elements"), 7);
    const json_t *row = json_array_get(json_object_get(json, "tensors"), 0);
    assert_text(row, "tensor", "dense/kernel");
    assert_text(row, "dtype", "F32");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(row, "shape"), 1)), 3);
    json_decref(json);
    /* Control characters of a file do not reach the terminal. */
    assert_prints(run("inspect", path), 0, "metadata:\n  format: li?ana\n", "tensors (2)\n  tensor        dtype",
                  "\n  dense/kernel  F32    [2, 3]     24\n");
    liana__test_write("step-7/state.json", "{\"epoch\": 3}", 12);
    assert_prints(run("inspect", liana__test_path("step-7")), 0, "kind: folder", "variables.safetensors",
                  "variables.safetensors: tensors (2)", "state.json:\n  epoch: 3\n");
    liana__test_write("step-7/other.safetensors", "{}", 2);
    assert_prints(run("inspect", liana__test_path("step-7")), 1, "other.safetensors", "not a safetensors file");
}

static void test_other_files_are_named(void **state)
{
    (void)state;
    liana__test_folder();
    assert_prints(run("inspect", liana__test_path("none")), 1, "none", "No such file");
    assert_prints(run("inspect", liana__test_write("a.txt", "hello, world\n", 13)), 1, "a.txt", "text", "TFRecord");
    assert_prints(run("inspect", liana__test_write("a.h5", "hello, world\n", 13)), 1, "a.h5", "not an HDF5 file");
    assert_prints(run("inspect"), 2, "FILE");
    /* An IDX file of 2 labels; and a TFRecord of no records, which is an empty file. */
    assert_prints(run("inspect", liana__test_write("labels", "\0\0\x08\1\0\0\0\2\4\4", 10)), 0, "kind: IDX",
                  "dtype: u8", "shape: [2]", "      4        2\n");
    assert_prints(run("inspect", liana__test_write("empty", "", 0)), 0, "kind: TFRecord", "records: 0");
}

/* An archive of members of 1 to 5 bytes; each has a header of 512 bytes whose checksum counts itself as blanks. */
static size_t add_member(uint8_t *tar, size_t at, const char *name, const char *text)
{
    unsigned sum = 0;
    char *header = (char *)tar + at;
    memset(header, 0, 1024);
    snprintf(header, 100, "%s", name);
    snprintf(header + 100, 24, "0000644");
    snprintf(header + 124, 24, "%011u", (unsigned)strlen(text)); /* below 8 */
    header[156] = '0';
    memcpy(header + 257, "ustar\00000", 8);
    memset(header + 148, ' ', 8);
    for (int i = 0; i < 512; i++) sum += (unsigned char)header[i];
    snprintf(header + 148, 8, "%06o", sum);
    memcpy(header + 512, text, strlen(text));
    return at + 1024;
}

/* Also of layers that liana does not have. */
static void test_architectures(void **state)
{
    (void)state;
    static const char model[] =
        "{\"class_name\": \"Functional\", \"keras_version\": \"3.1.0\", \"config\": {\"name\": \"m\", \"layers\": ["
        "{\"class_name\": \"LSTM\", \"config\": {\"name\": \"memory\", \"units\": 3}},"
        "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"in\", \"layers\": [{\"class_name\": \"Dense\", "
        "\"config\": {\"name\": \"d\"}}]}}]}}";
    liana__test_folder();
    json_t *json = inspect_json(liana__test_write("m.json", model, sizeof model - 1), 0);
    assert_text(json, "kind", "Keras architecture");
    assert_text(json, "keras_version", "3.1.0");
    assert_text(json, "name", "m");
    json_t *layers = json_object_get(json, "layers");
    assert_compare(json_array_size(layers), ==, 3);
    assert_text(json_array_get(layers, 0), "class", "LSTM");
    assert_text(json_array_get(layers, 2), "layer", "d");
    assert_text(json_array_get(layers, 2), "model", "in");
    json_decref(json);
    static const char *const others[] = {"[1]", "{\"class_name\": 3}", "{}", "{\"config\": {}}"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        result got = run("inspect", liana__test_write("other.json", others[i], strlen(others[i])));
        assert_compare(got.code, ==, 1, i);
        assert_says(got.err, "other.json");
        assert_says(got.err, "without the architecture of a model");
        free(got.out);
        free(got.err);
    }
}

static void test_archives_and_lists(void **state)
{
    (void)state;
    liana__test_folder();
    static uint8_t tar[8192];
    size_t size = add_member(tar, 0, "a/1.jpg", "image");
    size = add_member(tar, size, "a/1.cls", "0");
    size = add_member(tar, size, "a/2.jpg", "imag");
    size_t whole = 2 * 1024 + 512 + 4;
    memset(tar + size, 0, 1024);
    const char *path = liana__test_write("a.tar", tar, size + 1024);
    json_t *json = inspect_json(path, 0);
    assert_text(json, "kind", "tar archive (WebDataset)");
    assert_int_equal(int_of(json, "members"), 3);
    assert_int_equal(int_of(json, "examples"), 2);
    const json_t *row = json_array_get(json_object_get(json, "extensions"), 1);
    assert_text(row, "extension", ".jpg");
    assert_int_equal(int_of(row, "members"), 2);
    assert_int_equal(int_of(row, "bytes"), 9);
    json_decref(json);
    json = inspect_json(liana__test_write("b.tar", tar, size), 1);
    assert_int_equal(int_of(json, "members"), 3);
    assert_int_equal(int_of(json, "whole_until"), whole);
    json_decref(json);

    static const char list[] = "path,label\none.jpg,tulip\ntwo.jpg,daisy\none.jpg,tulip\n";
    liana__test_write("one.jpg", "x", 1);
    path = liana__test_write("a.csv", list, sizeof list - 1);
    json = inspect_json(path, 0);
    assert_text(json, "kind", "CSV list");
    assert_text(json, "first_line", "path, label");
    assert_int_equal(int_of(json, "records"), 3);
    assert_int_equal(int_of(json, "unreadable_images"), 1);
    row = json_array_get(json_object_get(json, "labels"), 1);
    assert_text(row, "label", "tulip");
    assert_int_equal(int_of(row, "records"), 2);
    json_decref(json);
    assert_prints(run("inspect", liana__test_write("b.csv", "x,y\n1,2\n", 8)), 0, "kind: CSV table", "lines: 2",
                  "first_line: x, y", "records: 1", "columns (2)");

    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 98765\n";
    const char *const names[] = {"a.tfrec", "b.h5", "c.safetensors", "d.csv", "e.jpg"};
    for (size_t i = 0; i < 5; i++) {
        assert_prints(run("inspect", liana__test_write(names[i], pointer, sizeof pointer - 1)), 1,
                      "kind: Git LFS pointer", "real_bytes: 98765", names[i], "of 98765 bytes", "git lfs pull");
    }
}

static void test_tables(void **state)
{
    (void)state;
    liana__test_folder();
    static const char table[] = "id,area,town,label\n007,2.5,Rome,yes\n008,-1,Bonn,no\n009,3,Bonn,yes\n";
    json_t *json = inspect_json(liana__test_write("t.csv", table, sizeof table - 1), 0);
    assert_string_equal(json_string_value(json_object_get(json, "kind")), "CSV table");
    json_t *columns = json_object_get(json, "columns"), *area = json_array_get(columns, 0);
    assert_int_equal(json_array_size(columns), 2);
    assert_string_equal(json_string_value(json_object_get(area, "column")), "area");
    assert_compare(json_number_value(json_object_get(area, "smallest")), ==, -1);
    assert_compare(json_number_value(json_object_get(area, "largest")), ==, 3);
    assert_compare(json_number_value(json_object_get(area, "mean")), ==, 1.5);
    assert_string_equal(json_string_value(json_object_get(json_array_get(columns, 1), "dtype")), "string []");
    json_t *labels = json_object_get(json, "labels");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(labels, 1), "records")), 2);
    assert_null(json_object_get(json, "unreadable_images"));
    json_decref(json);
    assert_prints(run("inspect", liana__test_write("s.csv", "a;b\n1;2\n", 8)), 1, "s.csv', line 1", "';'");
    /* A list of images whose column is called otherwise is no table. */
    static const char list[] = "picture,label\nt.csv,1\n";
    assert_prints(run("inspect", liana__test_write("l.csv", list, sizeof list - 1)), 1, "no column 'image'", "picture");
    assert_prints(run("check", liana__test_path("l.csv")), 1, "no column 'image'");
    /* Bytes that are no text are not shown, whatever quotes them. */
    static const char bytes[] = "a,\xff\x1b[2J\x80\n1,2\n";
    result got = run("inspect", liana__test_write("q.csv", bytes, sizeof bytes - 1));
    assert_null(strchr(got.out, '\x1b'));
    assert_null(strchr(got.out, '\xff'));
    assert_says(got.out, "first_line: a, ??[2J?");
    free(got.out);
    free(got.err);
}

/* TensorBoard itself shows of this file: 10 values of `loss`, from step 1 to 901. */
static void test_event_files(void **state)
{
    (void)state;
    const char *path = liana__test_data("events/events.out.tfevents.1646034739.jiyongjung.c.googlers.com");
    json_t *json = inspect_json(path, 0), *tags = json_object_get(json, "tags"), *tag;
    assert_string_equal(json_string_value(json_object_get(json, "kind")), "TensorBoard event file");
    assert_string_equal(json_string_value(json_object_get(json, "version")), "brain.Event:2");
    assert_string_equal(json_string_value(json_object_get(json, "first_time")), "2022-02-28 07:52:19 UTC");
    assert_int_equal(json_integer_value(json_object_get(json, "last_step")), 1000);
    size_t i, found = 0;
    json_array_foreach(tags, i, tag)
    {
        if (strcmp(json_string_value(json_object_get(tag, "tag")), "loss") != 0) continue;
        found++;
        assert_string_equal(json_string_value(json_object_get(tag, "kind")), "scalar");
        assert_int_equal(json_integer_value(json_object_get(tag, "values")), 10);
        assert_int_equal(json_integer_value(json_object_get(tag, "first_step")), 1);
        assert_int_equal(json_integer_value(json_object_get(tag, "last_step")), 901);
    }
    assert_int_equal(found, 1);
    assert_int_equal(json_array_size(tags), 16);
    json_decref(json);
    /* One record that says the version; then one that is no event, and a scalar as TensorFlow 2 writes it: a tensor
     * (field 8) of DT_FLOAT (1) without dimensions, with 0.5 in its bytes. */
    liana__error error = {0};
    liana__tfrecord_writer writer;
    static const char version[] = "\x1a\x0d"
                                  "brain.Event:2",
                      other[] = "\xff\xff\xff";
    static const char scalar[] = "\x10\x07\x2a\x11\x0a\x0f\x0a\x03"
                                 "acc"
                                 "\x42\x08\x08\x01\x22\x04\x00\x00\x00\x3f";
    assert_ok(liana__tfrecord_writer_begin(&writer, liana__test_path("e"), &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, version, sizeof version - 1, &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, other, sizeof other - 1, &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, scalar, sizeof scalar - 1, &error), &error);
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    assert_prints(run("inspect", liana__test_path("e")), 0, "kind: TensorBoard event file", "records: 3",
                  "records_that_are_no_event: 1", "acc", "scalar", "0.5");
}

/* No line of a checkpoint with a long history is longer than its numbers need. */
static void test_long_histories(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    assert_ok(liana__folder_make(liana__test_path("step-9"), &error), &error);
    char text[20000] = "{\"epoch\": 60, \"sums\": [0.5";
    for (int i = 1; i < 300; i++) strcat(text, ", 0.5");
    strcat(text, "], \"data\": {\"files\": [{\"name\": \"a\"}]}, \"history\": [");
    for (int i = 0; i < 60; i++) {
        strcat(text, i ? ", " : "");
        strcat(text, "{\"training\": {\"values\": [0.25, 0.75], \"count\": 50}, \"seconds\": 1.5}");
    }
    strcat(text, "]}");
    liana__test_write("step-9/state.json", text, strlen(text));
    result got = run("inspect", liana__test_path("step-9"));
    assert_int_equal(got.code, 0);
    size_t lines = 0;
    for (char *line = got.out; *line; lines++) {
        size_t length = strcspn(line, "\n");
        assert_compare(length, <, 150);
        line += length + (line[length] == '\n');
    }
    assert_compare(lines, >, 65);
    assert_says(got.out, "history (60)");
    assert_says(got.out, "training.count");
    assert_says(got.out, "(300 values)");
    free(got.out);
    free(got.err);
}

static void test_real_files(void **state)
{
    (void)state;
    assert_prints(run("inspect", liana__test_data("mnist/t10k-images-idx3-ubyte.gz")), 0, "kind: IDX",
                  "shape: [10000, 28, 28]");
    assert_prints(run("inspect", liana__test_data("weights/mobilenet_2_5_224_tf.h5")), 0, "layers: 55",
                  "parameters: 475544", "conv_preds/kernel:0", "[1, 1, 256, 1000]", "keras_version: 2.2.4");
    assert_prints(run("inspect", liana__test_data("flowers192/test/flowers00-172.tfrec")), 0, "records: 172",
                  "features (2)");
    assert_prints(run("inspect", liana__test_data("jpeg_odd/hopper.jpg")), 0, "kind: JPEG", "height: 128");
    assert_prints(run("inspect", liana__test_data("jpeg_odd/truncated_jpeg.jpg")), 1, "truncated_jpeg.jpg");
    assert_prints(run("inspect", liana__test_data("keras_files/fashion_mnist_mit.keras")), 0, "kind: Keras archive",
                  "keras_version: 2.14.0", "parameters: 101770", "layers/sequential/layers/dense_1", "[784, 128]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_synth_writes_what_inspect_sees),
        cmocka_unit_test(test_synth_refuses_bad_words),
        cmocka_unit_test(test_synth_help_is_complete),
        cmocka_unit_test(test_damage_is_counted_and_named),
        cmocka_unit_test(test_safetensors_and_checkpoint_folders),
        cmocka_unit_test(test_other_files_are_named),
        cmocka_unit_test(test_architectures),
        cmocka_unit_test(test_archives_and_lists),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_event_files),
        cmocka_unit_test(test_long_histories),
        cmocka_unit_test(test_real_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
