/* Layers that the host computes of texts: hashes, vocabularies and tokens as TensorFlow 2.21 and Keras 3.15.1 give
 * them, and models that read them. */
#include "harness/harness.h"

#include "harness/one_context.h"

#include "base/context.h"
#include "base/text_hash.h"
#include "formats/yaml.h"
#include "layers/model.h"
#include "layers/preprocessing/texts.h"

#include <liana/layers.h>
#include <string.h>

static liana_bytes text(const char *from)
{
    return (liana_bytes){from, strlen(from)};
}

static void test_hashes_are_those_of_tensorflow(void **state)
{
    (void)state;
    char long_text[70];
    memset(long_text, 'x', sizeof long_text);
    const uint64_t key[2] = {133, 137};
    const char *middle = "a longer text of 33 characters...";
    assert_int_equal(liana__farm_hash("", 0) % 1000003, 377723);
    assert_int_equal(liana__farm_hash("cat", 3) % 1000003, 666939);
    assert_int_equal(liana__farm_hash(middle, strlen(middle)) % 1000003, 648979);
    assert_int_equal(liana__farm_hash(long_text, sizeof long_text) % 1000003, 793379);
    assert_int_equal(liana__sip_hash(key, "", 0) % 1000003, 953272);
    assert_int_equal(liana__sip_hash(key, "cat", 3) % 1000003, 571401);
    assert_int_equal(liana__sip_hash(key, long_text, sizeof long_text) % 1000003, 601916);
}

/* ---- layers ---- */

/* A model of an input of texts and the layer that reads it. */
static liana_model *begin(int64_t texts)
{
    liana_model *model;
    assert_ok(liana_model_create(context, "texts", &model), &context->error);
    liana_ints shape = LIANA_INTS(texts);
    if (!texts) shape.count = 0;
    liana_input(model, .shape = shape, .dtype = LIANA_STRING);
    return model;
}

/* The numbers of one example. */
static void run(const liana_model *model, const liana_bytes *texts, void *row, size_t size)
{
    const liana__model_port port = liana__model_input(model, 0);
    assert_non_null(port.texts);
    memset(row, 0, size);
    assert_ok(port.texts->run(port.text_state, texts, row, &context->error), &context->error);
}

static void check_ints(const liana_model *model, const liana_bytes *texts, const int32_t *expected, size_t count)
{
    int32_t found[16];
    run(model, texts, found, sizeof found);
    for (size_t i = 0; i < count; i++) assert_int_equal(found[i], expected[i]);
}

static void test_tokens_have_the_numbers_of_keras(void **state)
{
    (void)state;
    static const char *const words[] = {"the", "cat", "dog", "the cat"};
    const char *const examples[] = {"The cat sat.", "the dog, the cat!", "", "One  two\tthree"};
    const int32_t numbers[][6] = {{2, 3, 1, 5, 1, 0}, {2, 4, 2, 3, 1, 1}, {0}, {1, 1, 1, 1, 1, 0}};
    const float counts[][5] = {{1, 1, 1, 0, 0}, {0, 2, 1, 1, 0}, {0}, {3, 0, 0, 0, 0}};
    liana_model *pairs = begin(1), *rows = begin(0);
    liana_text_vectorization(pairs, .vocabulary = {4, words}, .output_sequence_length = 6, .ngrams = LIANA_INTS(2));
    liana_text_vectorization(rows, .vocabulary = {4, words}, .output_mode = LIANA_OUTPUT_COUNT);
    assert_ok(liana_model_status(pairs), &context->error);
    assert_ok(liana_model_status(rows), &context->error);
    for (size_t i = 0; i < 4; i++) {
        const liana_bytes given = text(examples[i]);
        float row[5];
        check_ints(pairs, &given, numbers[i], 6);
        run(rows, &given, row, sizeof row);
        for (size_t k = 0; k < 5; k++) assert_near(row[k], counts[i][k], 0);
    }
    liana_model_destroy(pairs);
    liana_model_destroy(rows);
}

static void test_characters_may_have_several_bytes(void **state)
{
    (void)state;
    static const char *const letters[] = {"t", "e", "\xc3\xa9"};
    liana_model *model = begin(1);
    liana_text_vectorization(model, .vocabulary = {3, letters}, .split = 1, .standardize = 1,
                             .output_sequence_length = 5);
    const liana_bytes first = text("T\xc3\xa9"
                                   "e"),
                      second = text("e t"),
                      broken = text("\xff"
                                    "e");
    check_ints(model, &first, (const int32_t[]){2, 4, 3, 0, 0}, 5);
    check_ints(model, &second, (const int32_t[]){3, 1, 2, 0, 0}, 5);
    check_ints(model, &broken, (const int32_t[]){1, 3, 0, 0, 0}, 5); /* TensorFlow reads U+FFFD */
    liana_model_destroy(model);
}

static void test_words_have_the_numbers_of_keras(void **state)
{
    (void)state;
    static const char *const words[] = {"be", "cat"}, *const with_special[] = {"", "[UNK]", "be", "cat"};
    const liana_bytes first[] = {text("be"), text(""), text("fox")}, second[] = {text("cat"), text("eel"), text("gnu")};
    liana_model *lookup = begin(3), *hashing = begin(3), *whole = begin(3), *hot = begin(3);
    liana_string_lookup(lookup, .vocabulary = {2, words}, .num_oov_indices = 3, .mask_token = "");
    check_ints(lookup, first, (const int32_t[]){4, 0, 1}, 3);
    check_ints(lookup, second, (const int32_t[]){5, 1, 3}, 3);
    /* Keras's get_vocabulary() begins with the tokens that are no words. */
    liana_string_lookup(whole, .vocabulary = {4, with_special}, .mask_token = "");
    check_ints(whole, first, (const int32_t[]){2, 0, 1}, 3);
    liana_string_lookup(hot, .vocabulary = {2, words}, .output_mode = LIANA_OUTPUT_MULTI_HOT);
    float row[3];
    run(hot, first, row, sizeof row);
    assert_near(row[0] + 2 * row[1] + 4 * row[2], 3, 0);
    liana_hashing(hashing, .num_bins = 7, .mask_value = "");
    check_ints(hashing, first, (const int32_t[]){4, 0, 1}, 3);
    check_ints(hashing, second, (const int32_t[]){3, 1, 6}, 3);
    liana_model_destroy(lookup);
    liana_model_destroy(hashing);
    liana_model_destroy(whole);
    liana_model_destroy(hot);
}

/* ---- in models ---- */

static void test_models_predict_from_texts_and_from_whole_numbers(void **state)
{
    (void)state;
    liana_model *model;
    assert_ok(liana_model_create(context, "hashed", &model), &context->error);
    liana_input(model, .name = "id", .shape = LIANA_INTS(1), .dtype = LIANA_STRING);
    liana_hashing(model, .num_bins = 7, .output_mode = LIANA_OUTPUT_ONE_HOT);
    assert_ok(liana_model_status(model), &context->error);
    const liana_port port = liana_model_input(model, 0);
    assert_int_equal((int)port.dtype, LIANA_STRING);
    const int64_t ids[] = {12, -3, 100000};
    const liana_bytes texts[] = {text("12"), text("-3"), text("100000")};
    const liana_array numbers = {"id", LIANA_S64, liana_shape_of(3, 1), ids};
    const liana_array words = {"id", LIANA_STRING, liana_shape_of(3, 1), texts};
    const int bins[] = {3, 4, 0}; /* Keras's Hashing(7) of these numbers */
    for (int k = 0; k < 2; k++) {
        float found[21];
        assert_ok(liana_predict_on_batch(model, k ? &words : &numbers, 1, found), &context->error);
        for (int i = 0; i < 21; i++) assert_near(found[i], i % 7 == bins[i / 7], 0);
    }
    liana_model_destroy(model);
}

/* Fails the test unless the model has an error that says so. */
static void refused(liana_model *model, const char *expected)
{
    assert_int_not_equal(liana_model_status(model), LIANA_OK);
    assert_says(context->error.message, expected);
    liana_model_destroy(model);
}

static void test_what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const char *const doubles[] = {"a", "b", "a"}, *const words[] = {"a", "b"};
    liana_model *model = begin(2);
    liana_dense(model, .units = 3);
    refused(model, "holds texts, which only layers of texts");
    model = begin(2);
    liana_string_lookup(model, .vocabulary = {3, doubles});
    refused(model, "'a' is there twice, as text 0 and as text 2");
    model = begin(2);
    liana_string_lookup(model, .vocabulary = {2, words}, .max_tokens = 2);
    refused(model, "max_tokens: found 2");
    model = begin(2);
    liana_string_lookup(model, .vocabulary = {2, words}, .mask_token = "b");
    refused(model, "the mask_token 'b' is one of its texts");
    model = begin(2);
    liana_text_vectorization(model, .output_sequence_length = 3);
    refused(model, "found 2 texts for each example, expected one");
    model = begin(1);
    liana_text_vectorization(model, .vocabulary = {2, words});
    refused(model, "output_sequence_length: give one");
    assert_ok(liana_model_create(context, "floats", &model), &context->error);
    liana_input(model, .shape = LIANA_INTS(1));
    liana_hashing(model, .num_bins = 3);
    refused(model, "of float32");
    model = begin(1);
    liana_layer texts = liana_model_layer(model, "input_1");
    liana_hashing(model, .num_bins = 3, .input = texts);
    liana_hashing(model, .num_bins = 4, .input = texts);
    refused(model, "which another layer reads: give the model one more input of it");
}

/* A list of one text is no file, and a text is no list: Keras would read a file of that name. */
static void test_a_vocabulary_is_a_list(void **state)
{
    (void)state;
    static const char *const layers[] = {"StringLookup: {vocabulary: words.txt}",
                                         "TextVectorization: {vocabulary: words.txt, output_sequence_length: 2}"};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        char yaml[200];
        liana__arena arena = {0};
        liana__value *list;
        liana_model *model;
        snprintf(yaml, sizeof yaml, "- InputLayer: {shape: [1], dtype: string}\n- %s\n", layers[i]);
        assert_ok(liana__yaml_parse(yaml, strlen(yaml), "own.yaml", &arena, &list, &context->error), &context->error);
        assert_ok(liana_model_create(context, "own", &model), &context->error);
        assert_int_equal(liana__model_from_layers(model, list, "layers", NULL), LIANA_INVALID_CONFIG);
        assert_says(model->error.message, "own.yaml:2");
        assert_says(model->error.message, "vocabulary: found the text 'words.txt', expected a list");
        liana_model_destroy(model);
        liana__arena_free(&arena);
    }
    static const char *const one[] = {"words.txt"};
    liana_model *model = begin(1);
    liana_string_lookup(model, .vocabulary = {1, one});
    assert_ok(liana_model_status(model), &context->error);
    liana_model_destroy(model);
}

static void test_a_text_without_a_number_is_named(void **state)
{
    (void)state;
    static const char *const words[] = {"a", "b"};
    liana_model *model;
    assert_ok(liana_model_create(context, "strict", &model), &context->error);
    liana_input(model, .name = "word", .shape = LIANA_INTS(1), .dtype = LIANA_STRING);
    liana_string_lookup(model, .vocabulary = {2, words}, .num_oov_indices = 0, .output_mode = LIANA_OUTPUT_ONE_HOT);
    const liana_bytes texts[] = {text("a"), text("zebra")};
    const liana_array array = {"word", LIANA_STRING, liana_shape_of(2, 1), texts};
    float found[4];
    assert_int_equal(liana_predict_on_batch(model, &array, 1, found), LIANA_INVALID_DATA);
    assert_says(context->error.message, "example 1 of 'word'");
    assert_says(context->error.message, "the text 'zebra' is not in the vocabulary of 2 texts");
    liana_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hashes_are_those_of_tensorflow),
        cmocka_unit_test(test_tokens_have_the_numbers_of_keras),
        cmocka_unit_test(test_characters_may_have_several_bytes),
        cmocka_unit_test(test_words_have_the_numbers_of_keras),
        cmocka_unit_test(test_models_predict_from_texts_and_from_whole_numbers),
        cmocka_unit_test(test_what_does_not_fit_is_refused),
        cmocka_unit_test(test_a_vocabulary_is_a_list),
        cmocka_unit_test(test_a_text_without_a_number_is_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
