/* Trees of values against the tables of YAML's specification. */
#include "harness/harness.h"

#include "base/random.h"
#include "base/value.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_double_text(double number, const char *expected)
{
    liana__text text = {0};
    liana__text_add_double(&text, number);
    assert_string_equal(text.data, expected);
    liana__text_free(&text);
}

static void test_doubles_are_short(void **state)
{
    (void)state;
    assert_double_text(0.1, "0.1");
    assert_double_text(3, "3.0");
    assert_double_text(-0.0, "-0.0");
    assert_double_text(1e-5, "1.0e-05");
    assert_double_text(2.5e-5, "2.5e-05");
    assert_double_text(3.0e-4, "0.0003");
    assert_double_text(1e20, "1.0e+20");
    assert_double_text(0.1 + 0.2, "0.30000000000000004");
    assert_double_text(1.0 / 3, "0.3333333333333333");
    assert_double_text(0.1f, "0.10000000149011612");
    assert_double_text(5e-324, "4.94065645841247e-324");
    assert_double_text(123456789012345678.0, "1.2345678901234568e+17");
    assert_double_text(INFINITY, "inf");
    assert_double_text(-INFINITY, "-inf");
    assert_double_text(NAN, "nan");
}

static double random_double(uint32_t index)
{
    uint32_t out[4];
    liana__philox(liana__philox_make_key(1, LIANA__STREAM_TEST, 0), (uint32_t[4]){index}, out);
    double number;
    memcpy(&number, out, sizeof number);
    return number;
}

static void test_doubles_read_back(void **state)
{
    (void)state;
    liana__arena arena = {0};
    for (uint32_t i = 0; i < 20000; i++) {
        double number = random_double(i);
        if (!isfinite(number)) continue;
        liana__text text = {0};
        liana__text_add_double(&text, number);
        assert_compare(strtod(text.data, NULL), ==, number);
        const liana__value *value = liana__value_from_word(&arena, text.data);
        assert_int_equal(value->kind, LIANA__VALUE_FLOAT);
        assert_compare(value->number, ==, number);
        liana__text_free(&text);
    }
    liana__arena_free(&arena);
}

/* The table of section 10.3.2 of the YAML 1.2 specification, and its edges. */
static void test_words_of_the_core_schema(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        liana__value_kind kind;
        double number;
    } cases[] = {
        {"", LIANA__VALUE_NULL, 0},
        {"~", LIANA__VALUE_NULL, 0},
        {"Null", LIANA__VALUE_NULL, 0},
        {"nULL", LIANA__VALUE_STRING, 0},
        {"true", LIANA__VALUE_BOOL, 1},
        {"FALSE", LIANA__VALUE_BOOL, 0},
        {"yes", LIANA__VALUE_STRING, 0},
        {"0", LIANA__VALUE_INT, 0},
        {"-0", LIANA__VALUE_INT, 0},
        {"007", LIANA__VALUE_INT, 7},
        {"0o17", LIANA__VALUE_INT, 15},
        {"0o18", LIANA__VALUE_STRING, 0},
        {"0xfF", LIANA__VALUE_INT, 255},
        {"0x", LIANA__VALUE_STRING, 0},
        {"0o", LIANA__VALUE_STRING, 0},
        {"+12", LIANA__VALUE_INT, 12},
        {"+", LIANA__VALUE_STRING, 0},
        {"-", LIANA__VALUE_STRING, 0},
        {"1.0e-4", LIANA__VALUE_FLOAT, 1e-4},
        {"1e-4", LIANA__VALUE_FLOAT, 1e-4},
        {"12e03", LIANA__VALUE_FLOAT, 12000},
        {".5", LIANA__VALUE_FLOAT, 0.5},
        {"-2.", LIANA__VALUE_FLOAT, -2},
        {".", LIANA__VALUE_STRING, 0},
        {"1e", LIANA__VALUE_STRING, 0},
        {"e5", LIANA__VALUE_STRING, 0},
        {"0..1", LIANA__VALUE_STRING, 0},
        {"-1..1", LIANA__VALUE_STRING, 0},
        {"1 2", LIANA__VALUE_STRING, 0},
        {"-.inf", LIANA__VALUE_FLOAT, -INFINITY},
        {"+.INF", LIANA__VALUE_FLOAT, INFINITY},
        {"inf", LIANA__VALUE_STRING, 0},
        {"-.nan", LIANA__VALUE_STRING, 0},
        {"9223372036854775808", LIANA__VALUE_FLOAT, 0x1p63},
        {"0x10000000000000000", LIANA__VALUE_FLOAT, INFINITY},
    };
    liana__arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const liana__value *value = liana__value_from_word(&arena, cases[i].word);
        if (value->kind != cases[i].kind) fail_msg("'%s' is kind %d", cases[i].word, (int)value->kind);
        if (value->kind == LIANA__VALUE_BOOL) assert_int_equal(value->boolean, (int)cases[i].number);
        if (value->kind != LIANA__VALUE_BOOL) assert_compare(value->number, ==, cases[i].number, i);
        if (value->kind == LIANA__VALUE_STRING) assert_string_equal(value->string, cases[i].word);
    }
    assert_compare(liana__value_from_word(&arena, "9223372036854775807")->integer, ==, INT64_MAX);
    assert_compare(liana__value_from_word(&arena, "-9223372036854775808")->integer, ==, INT64_MIN);
    assert_compare(liana__value_from_word(&arena, "0x7fffffffffffffff")->integer, ==, INT64_MAX);
    assert_true(isnan(liana__value_from_word(&arena, ".NaN")->number));
    assert_compare(liana__value_float(&arena, 1e3)->integer, ==, 1000);
    assert_compare(liana__value_float(&arena, -0x1p63)->integer, ==, INT64_MIN);
    assert_compare(liana__value_float(&arena, 0x1p63)->integer, ==, 0);
    liana__arena_free(&arena);
}

/* A tree with one of everything that is easy to get wrong. */
static liana__value *make_tree(liana__arena *arena)
{
    liana__value *root = liana__value_map(arena);
    liana__value *data = liana__value_map(arena);
    liana__value_set(arena, root, "data", data);
    liana__value_set(arena, data, "train", liana__value_string(arena, "../data/train/*.tfrec"));
    liana__value *size = liana__value_list(arena);
    liana__value_add(arena, size, liana__value_int(arena, 192));
    liana__value_add(arena, size, liana__value_int(arena, 192));
    liana__value_set(arena, data, "image_size", size);
    liana__value_set(arena, data, "scale", liana__value_string(arena, "0..1"));
    liana__value_set(arena, data, "answer", liana__value_string(arena, "no"));
    liana__value_set(arena, data, "version", liana__value_string(arena, "1.0"));
    liana__value_set(arena, data, "rate", liana__value_float(arena, 3));
    liana__value_set(arena, data, "gone", liana__value_null(arena));
    liana__value_set(arena, data, "empty", liana__value_map(arena));
    liana__value_set(arena, data, "none", liana__value_list(arena));
    liana__value_set(arena, data, "quote", liana__value_string(arena, "a \"b\": \\ \n\x01 \xC3\xA9 #c"));
    liana__value *layers = liana__value_list(arena);
    liana__value_set(arena, root, "layers", layers);
    for (int i = 0; i < 2; i++) {
        liana__value *layer = liana__value_map(arena), *options = liana__value_map(arena);
        liana__value_set(arena, options, "units", liana__value_int(arena, 10 + i));
        liana__value_set(arena, options, "use_bias", liana__value_bool(arena, i == 1));
        liana__value_set(arena, layer, "Dense", options);
        liana__value_add(arena, layers, layer);
    }
    liana__value *nested = liana__value_list(arena);
    liana__value_add(arena, nested, size);
    liana__value_add(arena, layers, nested);
    return root;
}

static void test_yaml_text(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__text text = {0};
    liana__value_write_yaml(make_tree(&arena), &text);
    assert_string_equal(text.data, "data:\n"
                                   "  train: ../data/train/*.tfrec\n"
                                   "  image_size: [192, 192]\n"
                                   "  scale: \"0..1\"\n"
                                   "  answer: \"no\"\n"
                                   "  version: \"1.0\"\n"
                                   "  rate: 3.0\n"
                                   "  gone: null\n"
                                   "  empty: {}\n"
                                   "  none: []\n"
                                   "  quote: \"a \\\"b\\\": \\\\ \\n\\u0001 \xC3\xA9 #c\"\n"
                                   "layers:\n"
                                   "  - Dense:\n"
                                   "      units: 10\n"
                                   "      use_bias: false\n"
                                   "  - Dense:\n"
                                   "      units: 11\n"
                                   "      use_bias: true\n"
                                   "  - - [192, 192]\n");
    liana__text_free(&text);
    liana__value_write_yaml(liana__value_int(&arena, 3), &text);
    assert_string_equal(text.data, "3\n");
    liana__text_free(&text);
    liana__arena_free(&arena);
}

/* jansson reads our text, and both agree on its values. */
static void test_json_text(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__text line = {0}, lines = {0};
    liana__value *tree = make_tree(&arena);
    liana__value_write_json(tree, 0, &line);
    liana__value_write_json(tree, 2, &lines);
    json_error_t problem;
    json_t *a = json_loads(line.data, JSON_REJECT_DUPLICATES, &problem);
    json_t *b = json_loads(lines.data, JSON_REJECT_DUPLICATES, &problem);
    assert_non_null(a);
    assert_true(json_equal(a, b));
    json_t *data = json_object_get(a, "data");
    assert_string_equal(json_string_value(json_object_get(data, "quote")), "a \"b\": \\ \n\x01 \xC3\xA9 #c");
    assert_true(json_is_real(json_object_get(data, "rate")));
    assert_true(json_is_string(json_object_get(data, "version")));
    assert_int_equal(json_array_size(json_object_get(a, "layers")), 3);
    assert_null(strchr(line.data, '\n'));
    assert_says(lines.data, "\n    \"image_size\": [192, 192],\n");
    json_decref(a);
    json_decref(b);
    liana__text_free(&line);
    liana__text_free(&lines);
    liana__arena_free(&arena);
}

static void test_json_has_no_nan_and_no_broken_utf8(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__value *list = liana__value_list(&arena);
    liana__value_add(&arena, list, liana__value_float(&arena, NAN));
    liana__value_add(&arena, list, liana__value_float(&arena, -INFINITY));
    /* A lone continuation byte, an overlong '/', a surrogate, a cut character, a good four-byte one. */
    static const char *const bad[] = {"\x80", "\xC0\xAF", "\xED\xA0\x80", "\xE2\x82", "\xF0\x9F\x8C\xB8"};
    for (size_t i = 0; i < 5; i++) liana__value_add(&arena, list, liana__value_string(&arena, bad[i]));
    liana__text text = {0};
    liana__value_write_json(list, 0, &text);
    json_error_t problem;
    json_t *json = json_loads(text.data, 0, &problem);
    assert_non_null(json);
    assert_true(json_is_null(json_array_get(json, 0)));
    assert_true(json_is_null(json_array_get(json, 1)));
    assert_string_equal(json_string_value(json_array_get(json, 2)), "\xEF\xBF\xBD");
    assert_string_equal(json_string_value(json_array_get(json, 6)), "\xF0\x9F\x8C\xB8");
    json_decref(json);
    liana__text_free(&text);
    liana__arena_free(&arena);
}

static void test_maps_keep_order_and_replace(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__value *map = liana__value_map(&arena);
    char key[8];
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "k%d", 99 - i);
        liana__value_set(&arena, map, key, liana__value_int(&arena, i));
    }
    liana__value_set(&arena, map, "k50", liana__value_int(&arena, -1));
    liana__value_set(&arena, map, "k50", NULL);
    assert_int_equal(map->count, 100);
    assert_string_equal(map->keys[0], "k99");
    assert_int_equal(map->items[49]->integer, -1);
    assert_ptr_equal(liana__value_get(map, "k50"), map->items[49]);
    assert_null(liana__value_get(map, "k100"));
    assert_null(liana__value_get(NULL, "k"));
    assert_null(liana__value_get(map->items[0], "k"));
    liana__arena_free(&arena);
}

static void test_equal_and_copy(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__value *a = make_tree(&arena), *b = liana__value_copy(&arena, a);
    assert_true(liana__value_equal(a, b));
    liana__value_set(&arena, b->items[0], "rate", liana__value_int(&arena, 3));
    assert_false(liana__value_equal(a, b));
    b = liana__value_copy(&arena, a);
    liana__value_add(&arena, b->items[1], liana__value_null(&arena));
    assert_false(liana__value_equal(a, b));
    b = liana__value_copy(&arena, a);
    b->keys[0] = "date";
    assert_false(liana__value_equal(a, b));
    assert_true(liana__value_equal(liana__value_float(&arena, NAN), liana__value_float(&arena, NAN)));
    assert_int_equal(liana__value_copy(&arena, NULL)->kind, LIANA__VALUE_NULL);
    liana__arena_free(&arena);
}

static void test_descriptions(void **state)
{
    (void)state;
    liana__arena arena = {0};
    char buffer[128];
    const liana__value *tree = make_tree(&arena);
    assert_string_equal(liana__value_describe(tree, buffer, sizeof buffer), "a mapping of 2 keys");
    assert_string_equal(liana__value_describe(tree->items[1], buffer, sizeof buffer), "a list of 3");
    assert_string_equal(liana__value_describe(liana__value_float(&arena, 0.5), buffer, sizeof buffer),
                        "the number 0.5");
    const char *text = "0123456789012345678901234567890123456789012345678901234567\xE2\x82\xAC end";
    assert_string_equal(liana__value_describe(liana__value_string(&arena, text), buffer, sizeof buffer),
                        "the text '0123456789012345678901234567890123456789012345678901234567...'");
    liana__arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubles_are_short),
        cmocka_unit_test(test_doubles_read_back),
        cmocka_unit_test(test_words_of_the_core_schema),
        cmocka_unit_test(test_yaml_text),
        cmocka_unit_test(test_json_text),
        cmocka_unit_test(test_json_has_no_nan_and_no_broken_utf8),
        cmocka_unit_test(test_maps_keep_order_and_replace),
        cmocka_unit_test(test_equal_and_copy),
        cmocka_unit_test(test_descriptions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
