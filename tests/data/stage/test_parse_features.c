/* Records of tf.Example and tf.SequenceExample as components: any number of values, sparse ones, defaults, lists.
 * The records were serialised by TensorFlow 2.21; the expected values are those of tf.io.parse_example and
 * tf.io.parse_sequence_example (to_tensor of ragged ones). */
#include "harness/element_text.h"

#include "formats/tfrecord.h"
#include "samples/sequence_records.h"

#include <string.h>

static const char *write_record(const char *name, const uint8_t *bytes, size_t size)
{
    liana__error error = {0};
    liana__tfrecord_writer writer;
    const char *path = liana__test_path(name);
    assert_ok(liana__tfrecord_writer_begin(&writer, path, &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    return path;
}

static liana_dataset *parse(liana_context *context, const char *path, const liana_example_feature *features,
                            size_t num_features, const liana_example_feature *lists, size_t num_lists)
{
    const liana_sequence_example_options options = {features, num_features, lists, num_lists};
    return liana_dataset_parse_sequence_example(liana_dataset_tfrecord(context, path), &options);
}

#define UNKNOWN LIANA_UNKNOWN_DIM
#define component(name, dtype, ...)                  \
    {                                                \
        (name), (dtype), liana_shape_of(__VA_ARGS__) \
    }

static void test_sequence_examples(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    const char *path = write_record("s.tfrec", sequence_record, sizeof sequence_record);
    const liana_example_feature features[] = {{.component = {"id", LIANA_S64, LIANA_SCALAR}},
                                              {.component = component("tags", LIANA_STRING, UNKNOWN)}};
    const liana_example_feature lists[] = {{.component = component("words", LIANA_S64, UNKNOWN, UNKNOWN)},
                                           {.component = component("xy", LIANA_F32, UNKNOWN, 2)},
                                           {.component = component("none", LIANA_STRING, UNKNOWN)}};
    gives(parse(context, path, features, 2, lists, 3),
          "7:[\"a\" \"bc\"]:[[1 0 0] [2 3 0] [0 0 0] [4 5 6]]:[[1 2] [3 4]]:[] ");
    /* In one shape for a model, with the lengths and the mask that the layers of sequences take. */
    const liana_component_padding paddings[] = {
        {.component = "words", .shape = liana_shape_of(5, 3), .lengths = "steps", .mask = "mask"},
        {.component = "xy", .shape = liana_shape_of(3, 2), .value = -1}};
    const liana_example_feature two[] = {lists[0], lists[1]};
    gives(liana_dataset_padded_batch(parse(context, path, features, 1, two, 2),
                                     &(liana_padded_batch_options){1, false, paddings, 2}),
          "[7]:[[[1 0 0] [2 3 0] [0 0 0] [4 5 6] [0 0 0]]]:[[[1 2] [3 4] [-1 -1]]]:[4]:[[1 1 1 1 0]] ");
    gives(liana_dataset_cache(parse(context, path, features, 2, two, 2), NULL),
          "7:[\"a\" \"bc\"]:[[1 0 0] [2 3 0] [0 0 0] [4 5 6]]:[[1 2] [3 4]] ");
    gives(liana_dataset_cache(parse(context, path, features, 2, two, 2),
                              &(liana_cache_options){.path = liana__test_path("cache")}),
          "7:[\"a\" \"bc\"]:[[1 0 0] [2 3 0] [0 0 0] [4 5 6]]:[[1 2] [3 4]] ");
    liana_context_destroy(context);
}

static void test_features_of_any_length(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    const char *path = write_record("e.tfrec", sparse_record, sizeof sparse_record);
    const int64_t nine = 9;
    const liana_bytes text = {"none", 4};
    const liana_example_feature features[] = {
        {.component = component("dense", LIANA_F32, 6), .key = "v", .index_key = "i"},
        {.component = component("e", LIANA_S64, UNKNOWN)},
        {.component = component("n", LIANA_F32, UNKNOWN)},
        {.component = component("m", LIANA_STRING, UNKNOWN)},
        {.component = component("d", LIANA_S64, 2), .default_value = &nine},
        {.component = {"t", LIANA_STRING, LIANA_SCALAR}, .default_value = &text},
        {.component = component("rows", LIANA_F32, UNKNOWN, 1), .key = "v"},
        {.component = component("gone", LIANA_F32, 3), .key = "w", .index_key = "x"},
    };
    gives(parse(context, path, features, 8, NULL, 0),
          "[0 2.5 0 0 1.5 0]:[]:[]:[]:[9 9]:\"none\":[[1.5] [2.5]]:[0 0 0] ");
    liana_context_destroy(context);
}

/* What the record has otherwise than it is declared. */
static void test_other_records_than_declared(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    static const struct {
        bool sequence, list;
        liana_example_feature feature;
        liana_status status;
        const char *message;
    } cases[] = {
        {false,
         false,
         {.component = component("dense", LIANA_F32, 4), .key = "v", .index_key = "i"},
         LIANA_OUT_OF_RANGE,
         "e.tfrec', record 0: the feature 'i', value 0 is the index 4, expected 0 to 3"},
        {false,
         false,
         {.component = component("dense", LIANA_F32, 6), .key = "v", .index_key = "e"},
         LIANA_INVALID_DATA,
         "the feature 'e' has 0 indices, expected 2: one for each value of 'v'"},
        {false,
         false,
         {.component = component("v", LIANA_S64, UNKNOWN)},
         LIANA_INVALID_DATA,
         "e.tfrec', record 0: feature 'v' is a list of 2 float, expected a list of int64"},
        {false,
         false,
         {.component = component("v", LIANA_F32, UNKNOWN, 3)},
         LIANA_INVALID_DATA,
         "the feature 'v' has 2 values, expected a multiple of 3: it is declared as f32 [?, 3]"},
        {false,
         false,
         {.component = component("v", LIANA_F32, 3)},
         LIANA_INVALID_DATA,
         "the feature 'v' has 2 values, expected 3: it is declared as f32 [3]"},
        {false,
         false,
         {.component = component("vv", LIANA_F32, 3)},
         LIANA_NOT_FOUND,
         "no feature 'vv', did you mean 'v'?; the record has: e (int64), n (empty), v (2 float), i (2 int64)"},
        {true,
         true,
         {.component = component("xy", LIANA_S64, UNKNOWN, 2)},
         LIANA_INVALID_DATA,
         "s.tfrec', record 0: feature list 'xy', step 0 is a list of 2 float, expected a list of int64"},
        {true,
         true,
         {.component = component("words", LIANA_S64, UNKNOWN)},
         LIANA_INVALID_DATA,
         "the feature list 'words', step 1 has 2 values, expected 1: it is declared as s64 [?]"},
        {true,
         true,
         {.component = component("xy", LIANA_F32, 3, 2)},
         LIANA_INVALID_DATA,
         "the feature list 'xy' has 2 steps, expected 3: it is declared as f32 [3, 2]"},
        {true,
         true,
         {.component = component("yx", LIANA_F32, 3, 2)},
         LIANA_NOT_FOUND,
         "no feature list 'yx'; the record has: id (int64), tags (2 bytes); its feature lists (it is a "
         "SequenceExample): "
         "words (4 steps), xy (2 steps)"},
        {true, false, {.component = {"words", LIANA_S64, LIANA_SCALAR}}, LIANA_NOT_FOUND, "no feature 'words'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = cases[i].sequence ? write_record("s.tfrec", sequence_record, sizeof sequence_record)
                                             : write_record("e.tfrec", sparse_record, sizeof sparse_record);
        const liana_example_feature *feature = &cases[i].feature;
        fails(parse(context, path, feature, !cases[i].list, feature, cases[i].list), cases[i].status, "",
              cases[i].message);
    }
    liana_context_destroy(context);
}

static void test_declarations_that_cannot_be(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    const char *path = write_record("e.tfrec", sparse_record, sizeof sparse_record);
    const liana_example_feature wide = {.component = component("v", LIANA_F32, UNKNOWN, UNKNOWN)};
    refused(parse(context, path, &wide, 1, NULL, 0), "'v' is declared as f32 [?, ?]");
    const liana_example_feature bytes = {.component = component("v", LIANA_U8, 2)};
    refused(parse(context, path, &bytes, 1, NULL, 0), "'v' is declared as u8 [2], expected string, s64 or f32");
    const liana_example_feature sparse = {.component = component("v", LIANA_F32, UNKNOWN), .index_key = "i"};
    refused(parse(context, path, &sparse, 1, NULL, 0), "and a shape [size], since its values have indices");
    const liana_example_feature scalar = {.component = {"v", LIANA_F32, LIANA_SCALAR}};
    refused(parse(context, path, NULL, 0, &scalar, 1), "and a first dimension for the steps");
    const liana_example_feature twice[] = {scalar, scalar};
    refused(parse(context, path, twice, 2, NULL, 0), "there are two components 'v'");
    refused(liana_dataset_parse_sequence_example(liana_dataset_range(context, 0, 2, 1),
                                                 &(liana_sequence_example_options){&scalar, 1, NULL, 0}),
            "there is no component 'record'");
    liana_context_destroy(context);
}

/* Damaged records stay in their places. */
static void test_damaged_records_keep_their_places(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    liana__error error = {0};
    liana__tfrecord_writer writer;
    const char *path = liana__test_path("mixed.tfrec");
    assert_ok(liana__tfrecord_writer_begin(&writer, path, &error), &error);
    for (int i = 0; i < 3; i++) {
        const void *bytes = i == 1 ? (const void *)"no example" : sparse_record;
        assert_ok(liana__tfrecord_writer_add(&writer, bytes, i == 1 ? 10 : sizeof sparse_record, &error), &error);
    }
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    const liana_example_feature feature = {.component = component("v", LIANA_F32, UNKNOWN)};
    fails(parse(context, path, &feature, 1, NULL, 0), LIANA_INVALID_DATA, "[1.5 2.5] ",
          "mixed.tfrec', record 1: its 10 bytes are not a tf.Example");
    gives(liana_dataset_mark_errors(parse(context, path, &feature, 1, NULL, 0), NULL), "[1.5 2.5]:1 []:0 [1.5 2.5]:1 ");
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequence_examples),
        cmocka_unit_test(test_features_of_any_length),
        cmocka_unit_test(test_other_records_than_declared),
        cmocka_unit_test(test_declarations_that_cannot_be),
        cmocka_unit_test(test_damaged_records_keep_their_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
