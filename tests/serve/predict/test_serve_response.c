/* Answers: numbers that are read back to the same bits by strtof, and the forms of answers. */
#include "harness/harness.h"

#include "serve/predict/response.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana__error error;

static void check_float(float value)
{
    liana__text text = {0};
    char *end;
    liana__response_add_float(&text, value);
    const float again = strtof(text.data, &end);
    if (memcmp(&again, &value, sizeof value) != 0 || *end || !strpbrk(text.data, ".e")) {
        print_error("%.9g was written as %s\n", (double)value, text.data);
        fail();
    }
    liana__text_free(&text);
}

static void test_floats(void **state)
{
    (void)state;
    uint32_t random = 2463534242u;
    for (int i = 0; i < 1000000; i++) {
        random ^= random << 13, random ^= random >> 17, random ^= random << 5;
        float value;
        memcpy(&value, &random, sizeof value);
        if (isfinite(value)) check_float(value);
    }
    /* Where the distance between floats changes, and at the ends. */
    for (int power = -149; power < 128; power++) {
        const float value = ldexpf(1, power);
        check_float(value);
        check_float(nextafterf(value, 0));
        check_float(nextafterf(value, INFINITY));
    }
    check_float(FLT_MAX);
    check_float(-FLT_MIN);
    check_float(-0.0f);
}

static void test_shown_floats(void **state)
{
    static const struct {
        float value;
        const char *text;
    } cases[] = {{0.1f, "0.1"},          {3, "3.0"},
                 {-0.5f, "-0.5"},        {1e-7f, "1e-07"},
                 {2.5e10f, "2.5e+10"},   {123456, "123456.0"},
                 {0.0001f, "0.0001"},    {(float)NAN, "NaN"},
                 {INFINITY, "Infinity"}, {-INFINITY, "-Infinity"},
                 {0.00001f, "1e-05"},    {1e9f, "1e+09"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__text text = {0};
        liana__response_add_float(&text, cases[i].value);
        assert_string_equal(text.data, cases[i].text);
        liana__text_free(&text);
    }
}

static const float values[] = {0.25f, 0.75f, 1, 2, 3, 4, 5, 6};
static const liana_predictor_port outputs[] = {
    {.name = "score", .shape = {2, {-1, 2}}, .num_values = 2, .offset = 0},
    {.name = "box", .shape = {3, {-1, 2, 1}}, .num_values = 2, .offset = 2},
};

static void assert_written(liana__text *text, const char *expected)
{
    assert_string_equal(text->data, expected);
    liana__text_free(text);
    *text = (liana__text){0};
}

static void test_predictions(void **state)
{
    liana__text text = {0};
    const liana__response_rows both = {outputs, 2, 4, values, 2}, one = {outputs, 1, 2, values, 2};
    (void)state;
    liana__response_add_predictions(&text, &one, false);
    assert_written(&text, "{\"predictions\": [[0.25, 0.75], [1.0, 2.0]]}\n");
    liana__response_add_predictions(&text, &one, true);
    assert_written(&text, "{\"outputs\": [[0.25, 0.75], [1.0, 2.0]]}\n");
    liana__response_add_predictions(&text, &both, false);
    assert_written(&text, "{\"predictions\": [{\"score\": [0.25, 0.75], \"box\": [[1.0], [2.0]]}, "
                          "{\"score\": [3.0, 4.0], \"box\": [[5.0], [6.0]]}]}\n");
    liana__response_add_predictions(&text, &both, true);
    assert_written(&text, "{\"outputs\": {\"score\": [[0.25, 0.75], [3.0, 4.0]], "
                          "\"box\": [[[1.0], [2.0]], [[5.0], [6.0]]]}}\n");
}

static void test_classes(void **state)
{
    static const char *const names[] = {"a \"rose\"", "b\n\xff", NULL};
    liana_predictor_port named = outputs[0], sigmoid = {.name = "p", .shape = {2, {-1, 1}}, .num_values = 1};
    liana__text text = {0};
    const liana__response_rows rows = {outputs, 1, 2, values, 2}, named_rows = {&named, 1, 2, values, 1};
    const liana__response_rows one = {&sigmoid, 1, 1, values, 1}, both = {outputs, 2, 4, values, 1};
    (void)state;
    named.class_names = names;
    named.num_class_names = 2;
    assert_ok(liana__response_add_classes(&text, &rows, 0, &error), &error);
    assert_written(&text, "{\"results\": [[[\"1\", 0.75], [\"0\", 0.25]], [[\"1\", 2.0], [\"0\", 1.0]]]}\n");
    assert_ok(liana__response_add_classes(&text, &named_rows, 1, &error), &error);
    assert_written(&text, "{\"results\": [[[\"b\\n\xef\xbf\xbd\", 0.75]]]}\n");
    assert_fails(liana__response_add_classes(&text, &one, 0, &error), LIANA_INVALID_ARGUMENT, &error, "classes");
    assert_fails(liana__response_add_classes(&text, &both, 0, &error), LIANA_INVALID_ARGUMENT, &error, "classes");
    sigmoid.class_names = names;
    sigmoid.num_class_names = 2;
    assert_ok(liana__response_add_classes(&text, &one, 0, &error), &error);
    assert_written(&text, "{\"results\": [[[\"a \\\"rose\\\"\", 0.75], [\"b\\n\xef\xbf\xbd\", 0.25]]]}\n");
    assert_ok(liana__response_add_regressions(&text, &one, &error), &error);
    assert_written(&text, "{\"results\": [0.25]}\n");
    assert_fails(liana__response_add_regressions(&text, &rows, &error), LIANA_INVALID_ARGUMENT, &error, "one number");
    liana__response_add_error(&text, "a \x01 \"b\"");
    assert_written(&text, "{\"error\": \"a \\u0001 \\\"b\\\"\"}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_shown_floats),
        cmocka_unit_test(test_predictions),
        cmocka_unit_test(test_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
