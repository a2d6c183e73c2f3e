/* JSON: values, positions and refusals. */
#include "harness/command_run.h"

#include "formats/json.h"
#include "harness/mutate.h"
#include "harness/try/try_values.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void test_what_texts_mean(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *value;
    static const char text[] = "{\"b\": [1, 2.0, -3e-2, null, true], \"a\": {\"\\u00e9\\\"\": \"x\\ny\"},"
                               " \"max\": 9223372036854775807, \"min\": -9223372036854775808}";
    assert_ok(liana__json_parse(text, sizeof text - 1, "m.json", &arena, &value, &error), &error);
    assert_string_equal(value->keys[0], "b"); /* in the order written */
    const liana__value *list = liana__value_get(value, "b");
    assert_int_equal(list->count, 5);
    assert_int_equal(list->items[0]->kind, LIANA__VALUE_INT);
    assert_int_equal(list->items[1]->kind, LIANA__VALUE_FLOAT);
    assert_compare(list->items[2]->number, ==, -0.03);
    assert_int_equal(list->items[3]->kind, LIANA__VALUE_NULL);
    assert_true(list->items[4]->boolean);
    assert_string_equal(liana__value_get(liana__value_get(value, "a"), "\xC3\xA9\"")->string, "x\ny");
    assert_compare(liana__value_get(value, "max")->integer, ==, INT64_MAX);
    assert_compare(liana__value_get(value, "min")->integer, ==, INT64_MIN);
    assert_string_equal(list->place.file, "m.json");
    assert_int_equal(list->place.line, 0);
    /* The mark that some editors put before UTF-8; a second one is not JSON. */
    assert_ok(liana__json_parse("\xEF\xBB\xBF[7]", 6, "m.json", &arena, &value, &error), &error);
    assert_int_equal(value->items[0]->integer, 7);
    assert_fails(liana__json_parse("\xEF\xBB\xBF\xEF\xBB\xBF[7]", 9, "m.json", &arena, &value, &error),
                 LIANA_INVALID_DATA, &error, "m.json:1:1");
    assert_fails(liana__json_parse("\xEF\xBB\xBF", 3, "m.json", &arena, &value, &error), LIANA_INVALID_DATA, &error,
                 "m.json:1:1");
    liana__arena_free(&arena);
}

static void test_what_is_refused_and_where(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"a\": 1,\n \"a\": 2}", "m.json:2:4: not valid JSON: duplicate object key"},
        {"{\"a\": 1,\n", "m.json:2:1: not valid JSON"},
        {"[1, 2]\n x", "m.json:2:2: not valid JSON: end of file expected"},
        {"[9223372036854775808]", "too big integer"},
        {"[1e999]", "not valid JSON"},
        {"[\"\x80\"]", "not valid JSON"},
        {"[\"\\u0000\"]", "not valid JSON"},
        {"[NaN]", "not valid JSON"},
        {"", "m.json:1:1: not valid JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__arena arena = {0};
        liana__error error = {0};
        liana__value *value;
        assert_fails(liana__json_parse(cases[i][0], strlen(cases[i][0]), "m.json", &arena, &value, &error),
                     LIANA_INVALID_DATA, &error, "m.json:", cases[i][1]);
        assert_null(value);
        liana__arena_free(&arena);
    }
}

static void test_depth_is_limited(void **state)
{
    (void)state;
    static const int depths[] = {LIANA__JSON_MAX_DEPTH, LIANA__JSON_MAX_DEPTH + 1, 1000000};
    for (size_t i = 0; i < 3; i++) {
        liana__text text = {0};
        for (int j = 0; j < depths[i]; j++) liana__text_add_bytes(&text, "[", 1);
        for (int j = 0; j < depths[i]; j++) liana__text_add_bytes(&text, "]", 1);
        liana__arena arena = {0};
        liana__error error = {0};
        liana__value *value;
        liana_status status = liana__json_parse(text.data, text.length, "m.json", &arena, &value, &error);
        if (i == 0) assert_ok(status, &error);
        if (i > 0) assert_fails(status, LIANA_INVALID_DATA, &error, "m.json");
        liana__arena_free(&arena);
        liana__text_free(&text);
    }
}

static void test_files(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *value;
    const char *path = liana__test_write("a.json", "{\"a\" 1}", 7);
    assert_fails(liana__json_read(path, &arena, &value, &error), LIANA_INVALID_DATA, &error, "/a.json:1:6");
    assert_fails(liana__json_read(liana__test_path("no.json"), &arena, &value, &error), LIANA_NOT_FOUND, &error,
                 "no.json");
    path = liana__test_write("a.json", "3", 1);
    assert_ok(liana__json_read(path, &arena, &value, &error), &error);
    assert_int_equal(value->integer, 3);
    liana__arena_free(&arena);
}

static const char seed_text[] =
    "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"units\": 10, \"rate\": 1.5e-3,"
    " \"name\": \"d\\u00e9\\n\"}, [], {}, null, true, false, -7]}, \"keras_version\": \"2\"}";

static void test_damaged_texts_fail_cleanly_or_round_trip(void **state)
{
    (void)state;
    int good = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        size_t size;
        char *damaged = liana__test_mutate(seed_text, sizeof seed_text - 1, "\"{}[]:,\\0e-.tu ", 2, i, &size);
        good += liana__try_json((const uint8_t *)damaged, size);
        free(damaged);
    }
    assert_compare(good, >, 1000);
    assert_compare(good, <, 19000);
}

/* A text of `count` times `item`, in a list or a mapping. The memory of a value is not in proportion to its text. */
static liana_status parse_many(const char *begin, const char *item, size_t count, const char *end, liana__error *error)
{
    liana__text text = {0};
    liana__arena arena = {0};
    liana__value *value;
    liana__text_add(&text, "%s", begin);
    for (size_t i = 0; i < count; i++) liana__text_add_bytes(&text, item, strlen(item));
    liana__text_add(&text, "%s", end);
    assert_false(text.failed);
    liana_status status = liana__json_parse(text.data, text.length, "m.json", &arena, &value, error);
    liana__arena_free(&arena);
    liana__text_free(&text);
    return status;
}

/* A sanitizer has memory of its own. */
#ifdef __SANITIZE_ADDRESS__
enum { MEASURES = 0 };
#else
enum { MEASURES = 1 };
#endif

/* The most memory that this process has had, in MiB. */
static long peak(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss >> 10;
}

static void test_memory_is_limited(void **state)
{
    (void)state;
    /* Each text below is 48 MB or less, and would take gigabytes. */
    static const struct {
        const char *begin, *item, *end;
        size_t count;
    } many[] = {
        {"[", "{},", "0]", 16000000},      {"[", "[],", "0]", 16000000},
        {"[", "0,", "0]", 24000000},       {"{\"a\": [", "\"\",", "0]}", 16000000},
        {"[", "{\"\":0},", "0]", 5000000}, {"[", "[[[[[]]]]],", "0]", 4000000},
        {"[", " {\n},", "0]", 8000000},
    };
    const long before = peak();
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        liana__error error = {0};
        liana_status status = parse_many(many[i].begin, many[i].item, many[i].count, many[i].end, &error);
        assert_fails(status, LIANA_OUT_OF_RANGE, &error, "m.json", "values of JSON", "expected at most 1024 MB");
    }
    if (MEASURES) assert_compare(peak() - before, <, 200);
    /* Texts are not counted as the numbers that they look like, and many numbers are a long history. */
    liana__error error = {0};
    assert_ok(parse_many("[\"", "[{,:\\\"[{,:", 2000000, "\"]", &error), &error);
    assert_ok(parse_many("[", "1.2345678901234567,", 1500000, "0]", &error), &error);
}

/* In a file that a command reads. */
static void test_files_of_too_many_values(void **state)
{
    (void)state;
    liana__text text = {0};
    liana__text_add(&text, "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [");
    for (int i = 0; i < 8000000; i++) liana__text_add_bytes(&text, "{},", 3);
    liana__text_add(&text, "{}]}}");
    liana__test_folder();
    const char *path = liana__test_write("model.json", text.data, text.length);
    assert_refused(liana__test_command("summary", path), 1, "model.json", "values of JSON");
    /* As the header of weights. */
    char size[8] = {0};
    for (int i = 0; i < 8; i++) size[i] = (char)(text.length >> (8 * i));
    liana__text file = {0};
    liana__text_add_bytes(&file, size, 8);
    liana__text_add_bytes(&file, text.data, text.length);
    path = liana__test_write("w.safetensors", file.data, file.length);
    assert_refused(liana__test_command("inspect", path), 1, "w.safetensors", "values of JSON");
    if (MEASURES) assert_compare(peak(), <, 600);
    liana__text_free(&file);
    liana__text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_texts_mean),
        cmocka_unit_test(test_what_is_refused_and_where),
        cmocka_unit_test(test_depth_is_limited),
        cmocka_unit_test(test_memory_is_limited),
        cmocka_unit_test(test_files_of_too_many_values),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_damaged_texts_fail_cleanly_or_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
