/* tf.Example against messages put together by hand. */
#include "harness/harness.h"

#include "formats/example.h"
#include "formats/tfrecord.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Hand-assembled from the protocol buffer encoding rules: image: bytes "abc", class: int64 [-2, 300] packed,
 * weights: float [0.5, -1], none: an unset feature. */
static const uint8_t by_hand[] = {
    0x0a, 0x4e, /* features: 78 bytes */
    0x0a, 0x10, 0x0a, 5,    'i',  'm',  'a',  'g',  'e',  0x12, 7,    0x0a, 5,  0x0a, 3,  'a',  'b', 'c', /* */
    0x0a, 0x19, 0x0a, 5,    'c',  'l',  'a',  's',  's',  0x12, 16,   0x1a, 14, 0x0a, 12,                 /* */
    0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0xac, 0x02,                               /* */
    0x0a, 0x17, 0x0a, 7,    'w',  'e',  'i',  'g',  'h',  't',  's',  0x12, 12, 0x12, 10, 0x0a, 8,        /* */
    0,    0,    0,    0x3f, 0,    0,    0x80, 0xbf,                                                       /* */
    0x0a, 0x06, 0x0a, 4,    'n',  'o',  'n',  'e',                                                        /* */
};

static void test_parses_the_wire_format(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__example example = {0};
    const uint8_t *bytes;
    size_t size;
    liana__feature feature;
    assert_int_equal(by_hand[1], sizeof by_hand - 2);
    assert_ok(liana__example_parse(&example, "f", 3, by_hand, sizeof by_hand, &error), &error);
    assert_int_equal(liana__example_num_features(&example), 4);
    assert_ok(liana__example_bytes(&example, "image", &bytes, &size, &error), &error);
    assert_int_equal(size, 3);
    assert_memory_equal(bytes, "abc", 3);
    assert_ok(liana__example_list(&example, "class", LIANA__FEATURE_INT64, &feature, &error), &error);
    assert_int_equal(feature.count, 2);
    assert_int_equal(feature.int64s[0], -2);
    assert_int_equal(feature.int64s[1], 300);
    assert_ok(liana__example_list(&example, "weights", LIANA__FEATURE_FLOAT, &feature, &error), &error);
    assert_int_equal(feature.count, 2);
    assert_compare(feature.floats[0], ==, 0.5f);
    assert_compare(feature.floats[1], ==, -1.0f);
    assert_true(liana__example_find(&example, "none", &feature));
    assert_int_equal(feature.kind, LIANA__FEATURE_EMPTY);
    assert_false(liana__example_find(&example, "imag", &feature));
    liana__example_free(&example);
}

/* Old writers repeat tag and value instead of packing them; of two features of one name the last counts. */
static void test_unpacked_and_repeated(void **state)
{
    (void)state;
    liana__error error = {0};
    static const uint8_t bytes[] = {0x0a, 25,                                                   /* */
                                    0x0a, 11, 0x0a, 1, 'x', 0x12, 6, 0x1a, 4, 0x08, 1, 0x08, 2, /* */
                                    0x0a, 10, 0x0a, 1, 'x', 0x12, 5, 0x1a, 3, 0x0a, 1, 7};
    liana__example example = {0};
    int64_t value;
    assert_int_equal(sizeof bytes, 27);
    assert_ok(liana__example_parse(&example, NULL, 0, bytes, 27, &error), &error);
    assert_ok(liana__example_int64(&example, "x", &value, &error), &error);
    assert_int_equal(value, 7);
    liana__feature first = liana__example_feature(&example, 0);
    assert_int_equal(first.count, 2);
    assert_int_equal(first.int64s[1], 2);
    liana__example_free(&example);
}

static void test_getters_name_what_they_find(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__example example = {0};
    const uint8_t *bytes;
    size_t size;
    int64_t number;
    assert_ok(liana__example_parse(&example, "some.tfrec", 3, by_hand, sizeof by_hand, &error), &error);
    assert_fails(liana__example_bytes(&example, "imagee", &bytes, &size, &error), LIANA_NOT_FOUND, &error,
                 "'some.tfrec', record 3", "no feature 'imagee'", "did you mean 'image'",
                 "image (bytes), class (2 int64), weights (2 float), none (empty)");
    assert_fails(liana__example_int64(&example, "label", &number, &error), LIANA_NOT_FOUND, &error, "'label'",
                 "class (2 int64)");
    assert_fails(liana__example_int64(&example, "image", &number, &error), LIANA_INVALID_DATA, &error, "'image'",
                 "is a list of 1 bytes", "expected a list of int64", "image (bytes)");
    assert_fails(liana__example_int64(&example, "class", &number, &error), LIANA_INVALID_DATA, &error, "'class'",
                 "has 2 int64 values, expected 1");
    assert_fails(liana__example_int64(&example, "none", &number, &error), LIANA_INVALID_DATA, &error,
                 "'none' is empty");
    liana__example_free(&example);
}

static void test_not_an_example(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__example example = {0};
    int64_t number;
    assert_fails(liana__example_parse(&example, "f.tfrec", 9, (const uint8_t *)"\xff\xd8\xff\xe0", 4, &error),
                 LIANA_INVALID_DATA, &error, "'f.tfrec', record 9", "4 bytes are not a tf.Example", "a JPEG image");
    /* After a failure there is nothing to find. */
    assert_int_equal(liana__example_num_features(&example), 0);
    assert_fails(liana__example_int64(&example, "class", &number, &error), LIANA_NOT_FOUND, &error, "'class'");
    assert_ok(liana__example_parse(&example, "f.tfrec", 0, NULL, 0, &error), &error);
    assert_fails(liana__example_int64(&example, "class", &number, &error), LIANA_NOT_FOUND, &error, "no features");
    liana__example_free(&example);
}

/* Names from files are cut and cleaned before they reach a terminal; long lists end. */
static void test_hostile_names(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__example_builder builder = {0};
    liana__example example = {0};
    char names[100][300];
    int64_t one = 1;
    for (int i = 0; i < 100; i++) {
        memset(names[i], 'n', 299);
        names[i][299] = 0;
        names[i][0] = '\x1b';
        liana__example_add_int64s(&builder, names[i], &one, 1);
    }
    const uint8_t *bytes;
    size_t size;
    assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
    assert_ok(liana__example_parse(&example, "f", 1, bytes, size, &error), &error);
    assert_fails(liana__example_int64(&example, "class", &one, &error), LIANA_NOT_FOUND, &error, "'f', record 1",
                 "?nnn", "...");
    assert_null(strchr(error.message, '\x1b'));
    liana__example_free(&example);
    liana__example_builder_free(&builder);
}

/* Many copies of the field `features`, each merged with what came before: quadratic unless it is stopped. */
static void test_merging_is_bounded(void **state)
{
    (void)state;
    liana__error error = {0};
    enum { COPIES = 100000 };
    uint8_t *bytes = malloc(COPIES * 4);
    for (size_t i = 0; i < COPIES; i++) memcpy(bytes + 4 * i, "\x0a\x02\x0a\x00", 4);
    liana__example example = {0};
    assert_fails(liana__example_parse(&example, "f", 0, bytes, COPIES * 4, &error), LIANA_INVALID_DATA, &error,
                 "repeat fields");
    /* The densest honest record: 200000 features without a name, in two bytes each. */
    uint8_t header[5] = {0x0a, 0x80 | (COPIES * 4 & 127), 0x80 | (COPIES * 4 >> 7 & 127), COPIES * 4 >> 14};
    uint8_t *dense = calloc(1, COPIES * 4 + 4);
    memcpy(dense, header, 4);
    for (size_t i = 0; i < COPIES * 2; i++) dense[4 + 2 * i] = 0x0a;
    assert_ok(liana__example_parse(&example, "f", 0, dense, COPIES * 4 + 4, &error), &error);
    assert_int_equal(liana__example_num_features(&example), COPIES * 2);
    liana__example_free(&example);
    free(bytes);
    free(dense);
}

static void test_builder_round_trip(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__example_builder builder = {0};
    liana__example example = {0};
    for (int round = 0; round < 3; round++) {
        const int64_t numbers[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
        const float floats[] = {0, -0.0f, 1e-40f, INFINITY, 3.25f};
        liana__example_add_bytes(&builder, "image", "\0\xff\0", 3);
        liana__example_add_bytes(&builder, "id", "", 0);
        liana__example_add_int64s(&builder, "numbers", numbers, 5);
        liana__example_add_floats(&builder, "floats", floats, 5);
        liana__example_add_int64s(&builder, "nothing", NULL, 0);
        const uint8_t *bytes, *image;
        size_t size, image_size;
        assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
        assert_ok(liana__example_parse(&example, NULL, 0, bytes, size, &error), &error);
        assert_int_equal(liana__example_num_features(&example), 5);
        assert_ok(liana__example_bytes(&example, "image", &image, &image_size, &error), &error);
        assert_int_equal(image_size, 3);
        assert_memory_equal(image, "\0\xff\0", 3);
        assert_ok(liana__example_bytes(&example, "id", &image, &image_size, &error), &error);
        assert_int_equal(image_size, 0);
        liana__feature feature;
        assert_ok(liana__example_list(&example, "numbers", LIANA__FEATURE_INT64, &feature, &error), &error);
        assert_int_equal(feature.count, 5);
        assert_memory_equal(feature.int64s, numbers, sizeof numbers);
        assert_ok(liana__example_list(&example, "floats", LIANA__FEATURE_FLOAT, &feature, &error), &error);
        assert_memory_equal(feature.floats, floats, sizeof floats);
        assert_ok(liana__example_list(&example, "nothing", LIANA__FEATURE_INT64, &feature, &error), &error);
        assert_int_equal(feature.count, 0);
    }
    liana__example_free(&example);
    liana__example_builder_free(&builder);
}

/* The builder's text for the hand-assembled features is byte for byte that of the encoding rules. */
static void test_builder_writes_the_wire_format(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__example_builder builder = {0};
    liana__example_add_bytes(&builder, "image", "abc", 3);
    liana__example_add_int64s(&builder, "class", (int64_t[]){-2, 300}, 2);
    liana__example_add_floats(&builder, "weights", (float[]){0.5f, -1}, 2);
    const uint8_t *bytes;
    size_t size;
    assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
    assert_int_equal(size, sizeof by_hand - 8);
    assert_memory_equal(bytes + 2, by_hand + 2, size - 2);
    liana__example_builder_free(&builder);
}

/* Sums by a separate reader in Python. */
static void test_detection_boxes(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__tfrecord *file;
    assert_ok(liana__tfrecord_open(liana__test_data("tfrecords/raccoon_detection_test.record"), NULL, &file, &error),
              &error);
    liana__example example = {0};
    size_t boxes = 0;
    double sum = 0;
    for (size_t record = 0; record < liana__tfrecord_count(file); record++) {
        const uint8_t *bytes;
        size_t size;
        liana__feature feature;
        assert_ok(liana__tfrecord_get(file, record, &bytes, &size, &error), &error);
        assert_ok(liana__example_parse(&example, "raccoons", record, bytes, size, &error), &error);
        assert_ok(liana__example_list(&example, "image/object/bbox/xmin", LIANA__FEATURE_FLOAT, &feature, &error),
                  &error);
        boxes += feature.count;
        for (size_t i = 0; i < feature.count; i++) sum += (double)feature.floats[i];
    }
    assert_int_equal(boxes, 44);
    assert_near(sum, 7.17923846130725, 1e-9);
    liana__example_free(&example);
    liana__tfrecord_close(file);
}

static void test_sequence_example_is_recognised(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__tfrecord *file;
    const char *path = liana__test_data("tfrecords/sequence_example_data_tfrecord-00000-of-00001.gz");
    assert_ok(liana__tfrecord_open(path, NULL, &file, &error), &error);
    liana__example example = {0};
    const uint8_t *bytes;
    size_t size;
    int64_t value;
    assert_ok(liana__tfrecord_get(file, 0, &bytes, &size, &error), &error);
    assert_ok(liana__example_parse(&example, "s.gz", 0, bytes, size, &error), &error);
    assert_fails(liana__example_int64(&example, "class", &value, &error), LIANA_NOT_FOUND, &error, "s.gz",
                 "SequenceExample");
    liana__example_free(&example);
    liana__tfrecord_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parses_the_wire_format),
        cmocka_unit_test(test_unpacked_and_repeated),
        cmocka_unit_test(test_getters_name_what_they_find),
        cmocka_unit_test(test_not_an_example),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_merging_is_bounded),
        cmocka_unit_test(test_builder_round_trip),
        cmocka_unit_test(test_builder_writes_the_wire_format),
        cmocka_unit_test(test_detection_boxes),
        cmocka_unit_test(test_sequence_example_is_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
