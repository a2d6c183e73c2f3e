/* Requests for predictions as arrays: each form of TensorFlow Serving's documents, numbers to the last digit against
 * strtof, and faults that name their place. */
#include "harness/harness.h"
#include "harness/try/try_serve_request.h"

#include "base/text.h"
#include "serve/predict/json_reader.h"
#include "serve/predict/request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana__error error;

static liana_status decode(void *user, const void *bytes, size_t size, float *pixels, liana__error *problem)
{
    (void)user;
    if (size != 3) return liana__fail(problem, LIANA_INVALID_DATA, "an image of %zu bytes", size);
    for (size_t i = 0; i < 3; i++) pixels[i] = ((const uint8_t *)bytes)[i];
    return LIANA_OK;
}

/* The inputs of the document's example: a text, a signal of five numbers and a sensor of 2 x 2. */
static const liana_predictor_port three[] = {
    {.name = "tag", .dtype = LIANA_STRING, .shape = {1, {-1}}, .num_values = 1},
    {.name = "signal", .dtype = LIANA_F32, .shape = {2, {-1, 5}}, .num_values = 5},
    {.name = "sensor", .dtype = LIANA_S32, .shape = {3, {-1, 2, 2}}, .num_values = 4, .num_ids = 100},
};
static const liana_predictor_port number = {.name = "x", .dtype = LIANA_F32, .shape = {2, {-1, 1}}, .num_values = 1};
static const liana_predictor_port pixel = {
    .name = "image", .dtype = LIANA_U8, .shape = {4, {-1, 1, 1, 3}}, .num_values = 3, .is_image = true};
static const liana__request_form three_form = {three, 3, 100, NULL, decode, NULL};
static const liana__request_form number_form = {&number, 1, 100, NULL, decode, NULL};
static const liana__request_form pixel_form = {&pixel, 1, 100, NULL, decode, NULL};

static liana_status read_as(liana__request *request, const liana__request_form *form, liana__request_kind kind,
                            const char *body)
{
    *request = (liana__request){0};
    return liana__request_read_json(request, form, kind, body, strlen(body), &error);
}

static liana_status read_rows(liana__request *request, const liana__request_form *form, const char *body)
{
    return read_as(request, form, LIANA__REQUEST_PREDICT, body);
}

static void check_three(const liana__request *request)
{
    static const float signal[] = {1, 2, 3, 4, 5, 3, 4, 1, 2, 5};
    static const int32_t sensor[] = {1, 2, 3, 4, 4, 5, 6, 8};
    const liana_bytes *tags = request->arrays[0];
    assert_int_equal(request->count, 2);
    assert_int_equal(tags[0].size, 3);
    assert_memory_equal(tags[0].data, "foo", 3);
    assert_memory_equal(tags[1].data, "bar", 3);
    assert_memory_equal(request->arrays[1], signal, sizeof signal);
    assert_memory_equal(request->arrays[2], sensor, sizeof sensor);
}

static void test_documented_forms(void **state)
{
    liana__request request;
    (void)state;
    assert_ok(
        read_rows(&request, &three_form,
                  "{\"instances\": [{\"tag\": \"foo\", \"signal\": [1, 2, 3, 4, 5], \"sensor\": [[1, 2], [3, 4]]}, "
                  "{\"tag\": \"bar\", \"signal\": [3, 4, 1, 2, 5], \"sensor\": [[4, 5], [6, 8]]}]}"),
        &error);
    check_three(&request);
    assert_false(request.is_columns);
    liana__request_free(&request);
    assert_ok(read_rows(&request, &three_form,
                        "{\"inputs\": {\"tag\": [\"foo\", \"bar\"], \"signal\": [[1, 2, 3, 4, 5], [3, 4, 1, 2, 5]], "
                        "\"sensor\": [[[1, 2], [3, 4]], [[4, 5], [6, 8]]]}}"),
              &error);
    check_three(&request);
    assert_true(request.is_columns);
    liana__request_free(&request);
    assert_ok(read_as(&request, &three_form, LIANA__REQUEST_EXAMPLES,
                      "{\"signature_name\": \"tensorflow/serving/classify\", \"examples\": [{\"tag\": \"foo\", "
                      "\"sensor\": [1, 2, 3, 4], \"signal\": [1, 2, 3, 4, 5]}, {\"tag\": {\"b64\": \"YmFy\"}, "
                      "\"sensor\": [4, 5, 6, 8], \"signal\": [3, 4, 1, 2, 5]}]}"),
              &error);
    check_three(&request);
    liana__request_free(&request);
    assert_ok(read_as(&request, &three_form, LIANA__REQUEST_EXAMPLES,
                      "{\"examples\": [{\"sensor\": [1, 2, 3, 4]}, {\"sensor\": [5, 6, 7, 8]}], \"context\": "
                      "{\"tag\": \"foo\", \"signal\": [1, 2, 3, 4, 5]}}"),
              &error);
    assert_int_equal(((const int32_t *)request.arrays[2])[7], 8);
    assert_memory_equal(((const liana_bytes *)request.arrays[0])[1].data, "foo", 3);
    liana__request_free(&request);
}

static void test_images(void **state)
{
    static const float expected[] = {'a', 'b', 'c', 1, 2, 3, 'a', 'b', 'c'};
    static const char form[] =
        "--x\r\nContent-Disposition: form-data; name=\"a\"; filename=\"1.png\"\r\n\r\nabc\r\n"
        "--x\r\nContent-Disposition: form-data; name=\"b\"; filename=2.png\r\n\r\n\r\n-\r\n--x--";
    liana__request request;
    (void)state;
    assert_ok(read_rows(&request, &pixel_form,
                        "{\"instances\": [{\"b64\": \"YWJj\"}, [[[1, 2, 3]]], {\"image\": {\"b64\": \"YWJj\"}}]}"),
              &error);
    assert_int_equal(request.count, 3);
    assert_memory_equal(request.arrays[0], expected, sizeof expected);
    liana__request_free(&request);
    assert_fails(read_rows(&request, &pixel_form, "{\"instances\": [{\"b64\": \"YQ==\"}]}"), LIANA_INVALID_DATA, &error,
                 "instances[0]", "an image of 1 bytes");
    liana__request_free(&request);
    request = (liana__request){0};
    assert_ok(liana__request_read_images(&request, &pixel_form, "multipart/form-data; boundary=x", form,
                                         sizeof form - 1, &error),
              &error);
    assert_int_equal(request.count, 2);
    assert_memory_equal(request.arrays[0], expected, 3 * sizeof(float));
    liana__request_free(&request);
    request = (liana__request){0};
    assert_fails(liana__request_read_images(&request, &pixel_form, "multipart/form-data; boundary=x", form, 60, &error),
                 LIANA_INVALID_ARGUMENT, &error, "cut off");
    liana__request_free(&request);
    assert_fails(liana__request_read_images(&request, &number_form, NULL, "abc", 3, &error), LIANA_INVALID_ARGUMENT,
                 &error, "no image");
}

static void test_faults(void **state)
{
    static const struct {
        const char *body, *a, *b;
    } cases[] = {
        {"{\"instances\": [{\"tag\": \"a\", \"signal\": [1, 2, 3, 4], \"sensor\": [[1, 2], [3, 4]]}]}",
         "instances[0].signal", "a list of 4, expected 5"},
        {"{\"instances\": [{\"tag\": \"a\", \"signal\": [1, 2, 3, 4, 5], \"sensor\": [[1, 2], [3, 100]]}]}",
         "instances[0].sensor[1][1]", "0 to 99"},
        {"{\"instances\": [{\"tag\": \"a\", \"signal\": [1, 2, NaN, 4, 5]}]}", "instances[0].signal[2]", "NaN"},
        {"{\"instances\": [{\"tag\": 1}]}", "instances[0].tag", "a text"},
        {"{\"instances\": [{\"tags\": 1}]}", "no input 'tags'", "did you mean 'tag'"},
        {"{\"instances\": [{\"tag\": \"a\", \"tag\": \"b\"}]}", "instances[0].tag", "twice"},
        {"{\"instances\": [{\"tag\": \"a\"}]}", "instances[0]", "'signal' is missing"},
        {"{\"instances\": [[1]]}", "instances[0]", "3 inputs"},
        {"{\"inputs\": {\"tag\": [\"a\", \"b\"], \"signal\": [[1, 2, 3, 4, 5]]}}", "inputs.signal", "1 examples"},
        {"{\"inputs\": {\"tag\": [\"a\"], \"signal\": [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5]]}}", "inputs.signal",
         "more than 1"},
        {"{\"inputs\": [1]}", "inputs", "an object"},
        {"{\"inputs\": {\"tag\": []}}", "inputs.tag", "empty"},
        {"{\"instances\": [{\"sensor\": [[1.0, 2], [3, 4]]}]}", "instances[0].sensor[0][0]", "whole numbers"},
    };
    liana__request request;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(read_rows(&request, &three_form, cases[i].body), LIANA_INVALID_ARGUMENT, &error, cases[i].a,
                     cases[i].b);
        liana__request_free(&request);
    }
    assert_fails(read_as(&request, &three_form, LIANA__REQUEST_EXAMPLES,
                         "{\"context\": {\"tag\": \"a\"}, \"examples\": [{\"tag\": \"b\"}]}"),
                 LIANA_INVALID_ARGUMENT, &error, "examples[0].tag", "twice");
    liana__request_free(&request);
}

/* Too many examples, and too much memory. */
static void test_limits(void **state)
{
    liana__byte_budget budget = {.limit = 1000};
    liana__request_form form = {&number, 1, 3, &budget, decode, NULL};
    liana__request request;
    (void)state;
    assert_fails(read_rows(&request, &form, "{\"instances\": [1, 2, 3, 4]}"), LIANA_OUT_OF_RANGE, &error,
                 "more than 3");
    liana__request_free(&request);
    assert_int_equal(atomic_load(&budget.used), 0);
    form.max_examples = 100000;
    liana__text body = {0};
    liana__text_add(&body, "{\"instances\": [0");
    for (int i = 0; i < 1000; i++) liana__text_add(&body, ",0");
    liana__text_add(&body, "]}");
    assert_fails(read_rows(&request, &form, body.data), LIANA_UNAVAILABLE, &error, "memory");
    liana__request_free(&request);
    assert_int_equal(atomic_load(&budget.used), 0);
    liana__text_free(&body);
}

/* Against the C library, to the last bit: of floats with all digits, of doubles as Python writes them, at the ends. */
static void test_numbers(void **state)
{
    char text[64];
    uint64_t random = 88172645463325252u;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        double wanted;
        const uint32_t bits = (uint32_t)random;
        float single;
        memcpy(&single, &bits, sizeof single);
        memcpy(&wanted, &random, sizeof wanted);
        if (i % 2) wanted = single;
        if (!isfinite(wanted)) continue;
        const int count = i % 4 < 2 ? 17 : 1 + i % 19;
        snprintf(text, sizeof text, "%.*g", count, wanted);
        liana__json_reader reader = liana__json_reader_of(text, strlen(text), &error);
        liana__json_number found;
        const double expected = strtod(text, NULL);
        if (!isfinite(expected)) continue;
        assert_ok(liana__json_read_number(&reader, &found), &error);
        assert_memory_equal(&found.number, &expected, sizeof expected);
        assert_ptr_equal(reader.at, reader.end);
    }
}

static void test_integers(void **state)
{
    static const struct {
        const char *text;
        bool is_integer;
        int64_t value;
    } cases[] = {{"9223372036854775807", true, INT64_MAX}, {"-12", true, -12}, {"0", true, 0},   {"-0", true, 0},
                 {"9223372036854775808", false, 0},        {"1e2", false, 0},  {"1.0", false, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__json_reader reader = liana__json_reader_of(cases[i].text, strlen(cases[i].text), &error);
        liana__json_number found;
        assert_ok(liana__json_read_number(&reader, &found), &error);
        assert_int_equal(found.is_integer, cases[i].is_integer);
        assert_int_equal(found.integer, cases[i].value);
    }
}

/* Every body with a byte changed, left out, or doubled, and cut at each place. */
static void test_mutations(void **state)
{
    static const char body[] =
        "\x01{\"context\": {\"id\": 1, \"text\": \"t\\u00e9\"}, \"examples\": [{\"x\": [1, 2, 3e0, "
        "-4.5]}, {\"x\": [5, 6, 7, 8]}]}";
    uint8_t changed[sizeof body];
    size_t accepted = 0;
    (void)state;
    assert_true(liana__try_serve_request((const uint8_t *)body, sizeof body - 1));
    for (size_t i = 1; i < sizeof body - 1; i++) {
        accepted += liana__try_serve_request((const uint8_t *)body, i);
        for (int byte = 0; byte < 256; byte += 7) {
            memcpy(changed, body, sizeof body);
            changed[i] = (uint8_t)byte;
            accepted += liana__try_serve_request(changed, sizeof body - 1);
        }
    }
    assert_compare(accepted, >, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documented_forms), cmocka_unit_test(test_images),  cmocka_unit_test(test_faults),
        cmocka_unit_test(test_limits),           cmocka_unit_test(test_numbers), cmocka_unit_test(test_integers),
        cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
