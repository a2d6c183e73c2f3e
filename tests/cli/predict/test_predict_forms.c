/* liana predict: the same predictions in each form of file, read by other code than liana's; annotated images; columns
 * that are kept; outputs that are no numbers. */
#include "harness/command_run.h"
#include "harness/text_files.h"

#include "base/file.h"
#include "base/text.h"
#include "formats/image.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { COUNT = 21, CLASSES = LIANA__TINY_CLASSES };

static const char *const names[CLASSES] = {"north, \"up\"", "east", "south", "west"};

static char run[300], images[300];

static void train(void)
{
    liana__test_folder();
    const char *config = liana__test_tiny_run(64);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", config, "train.epochs=1",
                                    "data.class_names=['north, \"up\"', east, south, west]", "--out", run),
                0);
    liana__test_tiny_data("new", COUNT, 9);
    snprintf(images, sizeof images, "%s", liana__test_path("new-images"));
}

static int true_label(int index)
{
    uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
    return liana__test_tiny_image(9, (uint32_t)index, pixels);
}

/* ---- the reference: JSON on standard output ---- */

typedef struct expected {
    double probabilities[CLASSES];
    int label;
} expected;

static int predict_all(expected all[COUNT])
{
    int right = 0;
    liana__test_result got = liana__test_command("predict", run, images, "--json");
    char *at = got.out;
    for (int i = 0; i < COUNT; i++) {
        char *end = strchr(at, '\n');
        *end = 0;
        json_t *event = liana__test_parse_json(at);
        const json_t *map = json_object_get(event, "probabilities");
        all[i].label = 0;
        for (int k = 0; k < CLASSES; k++) {
            all[i].probabilities[k] = json_number_value(json_object_get(map, names[k]));
            if (all[i].probabilities[k] > all[i].probabilities[all[i].label]) all[i].label = k;
        }
        assert_int_equal(json_integer_value(json_object_get(event, "true_label")), true_label(i));
        assert_string_equal(json_string_value(json_object_get(event, "true_class")), names[true_label(i)]);
        const bool is_right = all[i].label == true_label(i);
        assert_int_equal(json_is_true(json_object_get(event, "correct")), is_right);
        right += is_right;
        json_decref(event);
        at = end + 1;
    }
    json_t *total = liana__test_parse_json(at);
    assert_string_equal(json_string_value(json_object_get(total, "event")), "predictions");
    assert_int_equal(json_integer_value(json_object_get(total, "labelled")), COUNT);
    assert_int_equal(json_integer_value(json_object_get(total, "right")), right);
    assert_near(json_number_value(json_object_get(total, "accuracy")), (double)right / COUNT, 1e-12);
    json_decref(total);
    assert_code(got, 0);
    return right;
}

static void predict_to(const char *name)
{
    assert_code(liana__test_command("predict", run, images, "--out", liana__test_path(name)), 0);
}

/* ---- JSON lines, CSV, numpy ---- */

static void test_json_lines(void **state)
{
    (void)state;
    train();
    liana__test_result got = liana__test_command("predict", run, images, "--json");
    predict_to("p.jsonl");
    char *text = liana__test_read_text("p.jsonl");
    const size_t size = strlen(text);
    assert_memory_equal(got.out, text, size);
    assert_memory_equal(got.out + size, "{\"event\": \"predictions\"", 23);
    free(text);
    assert_code(got, 0);
}

static void test_rows_and_arrays(void **state)
{
    (void)state;
    static expected all[COUNT];
    static const char descr[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (21, 4), }";
    train();
    const int right = predict_all(all);
    char total[64];
    snprintf(total, sizeof total, "right: %d of %d (%.1f%%)\n", right, COUNT, 100.0 * right / COUNT);
    liana__test_result got = liana__test_command("predict", run, images, "--out", liana__test_path("p.npy"));
    assert_says(got.out, total);
    assert_code(got, 0);
    predict_to("p.csv");
    char *rows = liana__test_read_text("p.csv"), *ids = liana__test_read_text("p.ids.csv");
    assert_string_equal(rows, ids);
    liana__text wanted = {0};
    liana__text_add(&wanted, "id,label,class,confidence,true_label,true_class,correct\n");
    for (int i = 0; i < COUNT; i++) {
        static const char *const cells[CLASSES] = {"\"north, \"\"up\"\"\"", "east", "south", "west"};
        const int truth = true_label(i), label = all[i].label;
        liana__text_add(&wanted, "%d,%d,%s,%.6f,%d,%s,%d\n", i, label, cells[label], all[i].probabilities[label], truth,
                        cells[truth], truth == label);
    }
    assert_string_equal(rows, wanted.data);
    liana__text_free(&wanted);
    char *bytes;
    size_t size;
    liana__error error;
    assert_ok(liana__file_read(liana__test_path("p.npy"), SIZE_MAX, &bytes, &size, &error), &error);
    assert_memory_equal(bytes, "\x93NUMPY\x01\x00", 8);
    assert_memory_equal(bytes + 10, descr, sizeof descr - 1);
    const float *values = (const float *)(void *)(bytes + size - sizeof(float[COUNT][CLASSES]));
    for (int i = 0; i < COUNT * CLASSES; i++) {
        assert_near(values[i], all[i / CLASSES].probabilities[i % CLASSES], 1e-9, i);
    }
    free(bytes), free(rows), free(ids);
}

/* ---- TFRecord: a reader of its own ---- */

static uint64_t read_number(const uint8_t **at)
{
    uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
        const uint8_t byte = *(*at)++;
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return number;
    }
}

/* The field of a message that has fields of lengths alone; false: it is over. */
static bool next_field(const uint8_t **at, const uint8_t *end, int *field, const uint8_t **value, size_t *size)
{
    if (*at >= end) return false;
    const uint64_t tag = read_number(at);
    assert_int_equal(tag & 7, 2);
    *field = (int)(tag >> 3);
    *size = read_number(at);
    *value = *at;
    *at += *size;
    return true;
}

/* tf.Example: 1: Features { 1: entries { 1: key, 2: Feature { 1: bytes, 2: floats, 3: int64s: each { 1: values } } } }.
 * Finds the values of a feature; NULL: it is not there. */
static const uint8_t *find_feature(const uint8_t *record, size_t record_size, const char *name, size_t *size)
{
    const uint8_t *at = record, *features = NULL, *entry = NULL, *value = NULL, *found = NULL;
    size_t features_size = 0, entry_size = 0, value_size = 0;
    int field;
    assert_true(next_field(&at, record + record_size, &field, &features, &features_size));
    for (at = features; next_field(&at, features + features_size, &field, &entry, &entry_size);) {
        const uint8_t *in = entry, *key = NULL, *feature = NULL;
        size_t key_size = 0, feature_size = 0;
        assert_true(next_field(&in, entry + entry_size, &field, &key, &key_size));
        assert_true(next_field(&in, entry + entry_size, &field, &feature, &feature_size));
        if (key_size != strlen(name) || memcmp(key, name, key_size) != 0) continue;
        assert_true(next_field(&feature, feature + feature_size, &field, &value, &value_size));
        assert_true(next_field(&value, value + value_size, &field, &found, size));
    }
    return found;
}

static void test_tfrecords(void **state)
{
    (void)state;
    static expected all[COUNT];
    train();
    predict_all(all);
    predict_to("p.tfrecord");
    char *bytes;
    size_t size, length, at = 0;
    liana__error error;
    assert_ok(liana__file_read(liana__test_path("p.tfrecord"), SIZE_MAX, &bytes, &size, &error), &error);
    for (int i = 0; i < COUNT; i++) {
        uint64_t record_size;
        char number[16];
        float values[CLASSES];
        memcpy(&record_size, bytes + at, 8);
        const uint8_t *record = (const uint8_t *)bytes + at + 12, *value;
        at += 16 + record_size;
        snprintf(number, sizeof number, "%d", i);
        value = find_feature(record, record_size, "id", &length);
        assert_int_equal(length, strlen(number));
        assert_memory_equal(value, number, length);
        value = find_feature(record, record_size, "label", &length);
        assert_int_equal(*value, all[i].label);
        value = find_feature(record, record_size, "class", &length);
        assert_int_equal(length, strlen(names[all[i].label]));
        assert_memory_equal(value, names[all[i].label], length);
        value = find_feature(record, record_size, "probabilities", &length);
        assert_int_equal(length, sizeof values);
        memcpy(values, value, length);
        for (int k = 0; k < CLASSES; k++) assert_near(values[k], all[i].probabilities[k], 1e-9, i, k);
        value = find_feature(record, record_size, "true_label", &length);
        assert_int_equal(*value, true_label(i));
        assert_null(find_feature(record, record_size, "values", &length));
    }
    assert_int_equal(at, size);
    free(bytes);
}

/* ---- pictures ---- */

static void write_image(const char *name, int index)
{
    uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
    liana__text png = {0};
    liana__error error;
    liana__test_tiny_image(9, (uint32_t)index, pixels);
    assert_ok(liana__png_encode(pixels, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1, &png, &error), &error);
    liana__test_write(name, png.data, png.length);
    liana__text_free(&png);
}

/* Names that are the same once they are safe: each example has its picture. */
static void test_pictures(void **state)
{
    (void)state;
    static const char *const files[] = {"photos/a b.png", "photos/a_b.png", "photos/a:b.png", "photos/.hidden-not.png",
                                        "photos/\xc3\xbc.png"};
    static const char *const wanted[] = {"_hidden-not.png", "a_b.png", "a_b_2.png", "a_b_3.png", "\xc3\xbc.png"};
    train();
    assert_int_equal(mkdir(liana__test_path("photos"), 0700), 0);
    for (size_t i = 0; i < 5; i++) write_image(files[i], (int)i);
    char paths[5][400];
    for (size_t i = 0; i < 5; i++) snprintf(paths[i], sizeof paths[i], "%s", liana__test_path(files[i]));
    assert_code(liana__test_command("predict", run, paths[0], paths[1], paths[2], paths[3], paths[4], "--out",
                                    liana__test_path("pictures/")),
                0);
    liana__arena arena = {0};
    liana__paths found;
    liana__error error;
    assert_ok(liana__folder_list(liana__test_path("pictures"), &arena, &found, &error), &error);
    assert_int_equal(found.count, 5);
    for (size_t i = 0; i < 5; i++) {
        char path[400], *bytes;
        size_t size;
        liana__image image = {0};
        assert_string_equal(found.items[i], wanted[i]);
        snprintf(path, sizeof path, "%s/%s", liana__test_path("pictures"), found.items[i]);
        assert_ok(liana__file_read(path, SIZE_MAX, &bytes, &size, &error), &error);
        assert_ok(liana__image_decode(bytes, size, NULL, &image, &error), &error);
        /* The image, 19 times as large, and a line for each class. */
        assert_int_equal(image.width, 228);
        assert_compare(image.height, >, 228 + CLASSES * 20);
        liana__image_free(&image);
        free(bytes);
    }
    liana__arena_free(&arena);
}

/* ---- tables ---- */

static const char table[] = "id,\"x, y\",note,kind\n"
                            "\"a,1\",1,\"two\nlines\",low\n"
                            "\"b\"\"2\",-1,plain,high\n"
                            "c,2,\"say \"\"hi\"\"\",low\n";

static void train_table(void)
{
    liana__test_folder();
    liana__test_write("t.csv", table, sizeof table - 1);
    char config[900];
    const int length =
        snprintf(config, sizeof config,
                 "data:\n  train: {paths: t.csv, kind: table}\n"
                 "  columns: {id: id, x: 'x, y', kind: {category: true}}\n  inputs: x\n  targets: kind\n"
                 "model: {layers: [{Dense: {units: 2, activation: softmax, kernel_initializer: ones}}]}\n"
                 "train: {epochs: 1, optimizer: {name: SGD, learning_rate: 1.0e-30}}\n");
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", liana__test_write("config.yaml", config, (size_t)length), "--out", run),
                0);
}

static void test_kept_columns(void **state)
{
    (void)state;
    train_table();
    assert_code(liana__test_command("predict", run, liana__test_path("t.csv"), "--keep", "--out",
                                    liana__test_path("p.csv")),
                0);
    char *text = liana__test_read_text("p.csv");
    /* Both classes are equally likely. */
    assert_string_equal(text, "id,label,class,confidence,true_label,true_class,correct,id,\"x, y\",note,kind\n"
                              "\"a,1\",0,high,0.500000,1,low,0,\"a,1\",1,\"two\nlines\",low\n"
                              "\"b\"\"2\",0,high,0.500000,0,high,1,\"b\"\"2\",-1,plain,high\n"
                              "c,0,high,0.500000,1,low,0,c,2,\"say \"\"hi\"\"\",low\n");
    free(text);
    liana__test_result got = liana__test_command("predict", run, liana__test_path("t.csv"), "--keep", "--json");
    got.out[strcspn(got.out, "\n")] = 0;
    json_t *event = liana__test_parse_json(got.out);
    const json_t *columns = json_object_get(event, "columns");
    assert_string_equal(json_string_value(json_object_get(columns, "note")), "two\nlines");
    assert_string_equal(json_string_value(json_object_get(event, "id")), "a,1");
    json_decref(event);
    assert_code(got, 0);
    assert_refused(liana__test_command("predict", run, liana__test_path("t.csv"), "--out", liana__test_path("d/")), 2,
                   "have no images");
    assert_refused(liana__test_command("predict", run, liana__test_path("t.csv"), "--keep", "data.take=2"), 2,
                   "leave out data.take");
}

/* Nine times 3e38 is more than a float holds. */
static void test_no_numbers(void **state)
{
    (void)state;
    static const char rows[] = "id,x,y\nfine,0.5,9\nhuge,3e38,9\n";
    static const char config[] =
        "data:\n  train: {paths: t.csv, kind: table}\n  columns: {id: id, x: x, y: y}\n  inputs: x\n  targets: y\n"
        "model: {layers: [{Dense: {units: 9, kernel_initializer: ones}}, {Dense: {units: 1, name: y, "
        "kernel_initializer: ones}}]}\n"
        "train: {epochs: 1, loss: mse, optimizer: {name: SGD, learning_rate: 1.0e-30}}\n";
    liana__test_folder();
    liana__test_write("t.csv", rows, 18); /* its first row alone */
    liana__test_write("huge.csv", rows, sizeof rows - 1);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", liana__test_write("config.yaml", config, sizeof config - 1), "--out", run),
                0);
    liana__test_result got = liana__test_command("predict", run, liana__test_path("t.csv"));
    assert_string_equal(got.out, "fine\n  4.5\n");
    assert_code(got, 0);
    static const char *const forms[] = {"p.csv", "p.jsonl", "p.npy", "p.tfrecord"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        assert_refused(liana__test_command("predict", run, liana__test_path("huge.csv"), "--out",
                                           liana__test_path(forms[i])),
                       1, "huge: the model's output 'y' is infinite", "expected a number");
        assert_false(liana__file_exists(liana__test_path(forms[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_lines), cmocka_unit_test(test_rows_and_arrays), cmocka_unit_test(test_tfrecords),
        cmocka_unit_test(test_pictures),   cmocka_unit_test(test_kept_columns),    cmocka_unit_test(test_no_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
