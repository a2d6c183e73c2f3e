/* safetensors files against their format's description. */
#include "harness/harness.h"

#include "base/random.h"
#include "formats/safetensors.h"
#include "harness/try/try_weights.h"

#include <stdlib.h>
#include <string.h>

static const float kernel[6] = {1.0f, -2.5f, 0.0f, 3.25f, 1e-30f, -0.0f};
static const uint8_t flag[3] = {1, 0, 1};
static const int64_t step = -7;

static const liana__safetensors_tensor tensors[] = {
    {.name = "dense/kernel", .dtype = LIANA__SAFETENSORS_F32, .rank = 2, .shape = {2, 3}, .data = kernel},
    {.name = "empty", .dtype = LIANA__SAFETENSORS_BF16, .rank = 2, .shape = {0, 5}},
    {.name = "flags \"\xc3\xa9\"", .dtype = LIANA__SAFETENSORS_BOOL, .rank = 1, .shape = {3}, .data = flag},
    {.name = "step", .dtype = LIANA__SAFETENSORS_I64, .rank = 0, .data = &step},
};
static const liana__safetensors_entry metadata[] = {{"format", "liana"}, {"epoch", "3"}};
static const liana__safetensors_contents contents = {tensors, 4, metadata, 2};

/* The bytes of the file above by the format's description, written by hand; the CRC-32 is Python's zlib.crc32 of these
 * bytes. */
static const char expected_header[] =
    "{\"__metadata__\":{\"format\":\"liana\",\"epoch\":\"3\"},"
    "\"dense/kernel\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
    "\"empty\":{\"dtype\":\"BF16\",\"shape\":[0,5],\"data_offsets\":[24,24]},"
    "\"flags \\\"\xc3\xa9\\\"\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[24,27]},"
    "\"step\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[27,35]}}";
static const uint32_t expected_crc = 0xfd5ac91fu;

static char *read_whole(const char *path, size_t *size)
{
    liana__error error = {0};
    char *data;
    assert_ok(liana__file_read(path, 1 << 20, &data, size, &error), &error);
    return data;
}

static void test_bytes_are_those_of_the_format(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    uint32_t checksum;
    const char *path = liana__test_path("a.safetensors");
    assert_ok(liana__safetensors_write(path, &contents, true, &checksum, &error), &error);
    size_t size, header = sizeof expected_header - 1;
    char *bytes = read_whole(path, &size);
    size_t padded = (header + 7) / 8 * 8;
    assert_int_equal(size, 8 + padded + 35);
    const unsigned char prefix[8] = {(unsigned char)padded, (unsigned char)(padded >> 8)};
    assert_memory_equal(bytes, prefix, 8);
    assert_memory_equal(bytes + 8, expected_header, header);
    for (size_t i = header; i < padded; i++) assert_int_equal(bytes[8 + i], ' ');
    assert_memory_equal(bytes + 8 + padded, kernel, sizeof kernel);
    assert_memory_equal(bytes + 8 + padded + 24, flag, sizeof flag);
    assert_memory_equal(bytes + 8 + padded + 27, &step, sizeof step);
    assert_int_equal(checksum, expected_crc);
    free(bytes);
}

static void test_round_trip(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    const char *path = liana__test_path("a.safetensors");
    uint32_t checksum;
    assert_ok(liana__safetensors_write(path, &contents, false, &checksum, &error), &error);
    liana__safetensors file;
    assert_ok(liana__safetensors_open(path, &file, &error), &error);
    assert_int_equal(file.contents.num_tensors, 4);
    const liana__safetensors_tensor *tensor = liana__safetensors_find(&file, "dense/kernel");
    assert_non_null(tensor);
    assert_int_equal(tensor->dtype, LIANA__SAFETENSORS_F32);
    assert_int_equal(tensor->rank, 2);
    assert_int_equal(tensor->shape[1], 3);
    assert_int_equal(tensor->size, sizeof kernel);
    float read[sizeof kernel / sizeof(float)];
    assert_ok(liana__safetensors_read(&file, tensor, read, &error), &error);
    assert_memory_equal(read, kernel, sizeof kernel);
    assert_non_null(liana__safetensors_find(&file, tensors[2].name));
    void *taken;
    assert_ok(liana__safetensors_take(&file, liana__safetensors_find(&file, "step"), &taken, &error), &error);
    assert_memory_equal(taken, &step, sizeof step);
    free(taken);
    assert_int_equal(liana__safetensors_find(&file, "empty")->size, 0);
    assert_null(liana__safetensors_find(&file, "dense"));
    assert_string_equal(liana__safetensors_metadata(&file, "epoch"), "3");
    assert_null(liana__safetensors_metadata(&file, "seed"));
    uint32_t found;
    assert_ok(liana__safetensors_checksum(&file, &found, &error), &error);
    assert_int_equal(found, checksum);
    liana__safetensors_close(&file);
}

static void test_steps_give_the_same_file_and_nothing_before_the_end(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    const char *whole = liana__test_path("whole"), *pieces = liana__test_path("pieces");
    uint32_t first, second;
    assert_ok(liana__safetensors_write(whole, &contents, false, &first, &error), &error);
    liana__safetensors_writer writer;
    assert_ok(liana__safetensors_begin(&writer, pieces, &contents, &error), &error);
    for (size_t i = 0; i < 4; i++) {
        static const size_t sizes[] = {24, 0, 3, 8};
        for (size_t done = 0; done < sizes[i]; done++) {
            const char *data = tensors[i].data;
            assert_ok(liana__safetensors_put(&writer, data + done, 1, &error), &error);
        }
    }
    assert_fails(liana__safetensors_put(&writer, "x", 1, &error), LIANA_INVALID_ARGUMENT, &error, "pieces", "0 left");
    assert_false(liana__file_exists(pieces));
    assert_ok(liana__safetensors_finish(&writer, true, &second, &error), &error);
    assert_int_equal(first, second);
    size_t size, other;
    char *a = read_whole(whole, &size), *b = read_whole(pieces, &other);
    assert_int_equal(size, other);
    assert_memory_equal(a, b, size);
    free(a);
    free(b);
    assert_ok(liana__safetensors_begin(&writer, pieces, &contents, &error), &error);
    assert_fails(liana__safetensors_finish(&writer, true, &second, &error), LIANA_INVALID_ARGUMENT, &error, "35 bytes",
                 "missing");
    assert_false(liana__file_exists(liana__test_path("pieces.tmp")));
    /* The file of before is still there. */
    assert_true(liana__file_exists(pieces));
}

static void test_writer_refuses_bad_contents(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    const char *path = liana__test_path("bad");
    liana__safetensors_tensor pair[2] = {tensors[0], tensors[0]};
    liana__safetensors_contents bad = {pair, 2, NULL, 0};
    assert_fails(liana__safetensors_write(path, &bad, false, NULL, &error), LIANA_INVALID_ARGUMENT, &error, "bad",
                 "two tensors are called 'dense/kernel'");
    bad.num_tensors = 1;
    pair[0].name = "__metadata__";
    assert_fails(liana__safetensors_write(path, &bad, false, NULL, &error), LIANA_INVALID_ARGUMENT, &error,
                 "'__metadata__'");
    pair[0].name = "\xff";
    assert_fails(liana__safetensors_write(path, &bad, false, NULL, &error), LIANA_INVALID_ARGUMENT, &error, "UTF-8");
    pair[0].name = "huge";
    pair[0].shape[0] = pair[0].shape[1] = INT64_MAX / 2;
    assert_fails(liana__safetensors_write(path, &bad, false, NULL, &error), LIANA_INVALID_ARGUMENT, &error, "'huge'");
    pair[0] = tensors[0];
    pair[0].size = 20;
    assert_fails(liana__safetensors_write(path, &bad, false, NULL, &error), LIANA_INVALID_ARGUMENT, &error, "20 bytes",
                 "need 24");
    assert_false(liana__file_exists(path));
    assert_fails(liana__safetensors_write(liana__test_path("no/such"), &contents, false, NULL, &error), LIANA_NOT_FOUND,
                 &error, "no/such");
}

/* Opens a file with that header and `data_size` zero bytes of data. */
static liana_status open_header(const char *header, size_t data_size, liana__error *error)
{
    char bytes[1024] = {0};
    size_t length = strlen(header);
    bytes[0] = (char)length;
    bytes[1] = (char)(length >> 8);
    memcpy(bytes + 8, header, length);
    liana__safetensors file;
    liana_status status =
        liana__safetensors_open(liana__test_write("bad.safetensors", bytes, 8 + length + data_size), &file, error);
    if (status == LIANA_OK) liana__safetensors_close(&file);
    return status;
}

static void test_bad_headers_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t data_size;
        liana_status status;
        const char *text;
    } cases[] = {
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, LIANA_OK, ""},
        {"{}", 0, LIANA_OK, ""},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}  ", 7, LIANA_DATA_LOSS, "truncated"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 9, LIANA_INVALID_DATA, "last 1 bytes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8, LIANA_INVALID_DATA, "need 12"},
        {"{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[8],\"data_offsets\":[0,8]}}", 8, LIANA_UNIMPLEMENTED, "F8_E4M3"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, LIANA_INVALID_DATA, "dimension 0"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,8]}}", 8, LIANA_INVALID_DATA, "dimension 0"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8, LIANA_INVALID_DATA, "[8, 0]"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", 8, LIANA_INVALID_DATA, "data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, LIANA_INVALID_DATA, "'shape'"},
        {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, LIANA_INVALID_DATA, "'dtype'"},
        {"{\"a\":3}", 0, LIANA_INVALID_DATA, "'a' is not an object"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[3,8]}}",
         8, LIANA_INVALID_DATA, "'b' overlaps that of 'a'"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[5,8]}}",
         8, LIANA_INVALID_DATA, "1 bytes before the data of tensor 'b'"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]}}", 8, LIANA_OUT_OF_RANGE,
         "memory"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1, LIANA_OUT_OF_RANGE,
         "9 dimensions"},
        {"{\"a\":{},\"a\":{}}", 0, LIANA_INVALID_DATA, "duplicate"},
        {"{\"__metadata__\":{\"a\":1}}", 0, LIANA_INVALID_DATA, "'a' is not a string"},
        {"{\"__metadata__\":[]}", 0, LIANA_INVALID_DATA, "__metadata__"},
        {"{\"a\":", 0, LIANA_INVALID_DATA, "not valid JSON"},
        {"[]", 0, LIANA_INVALID_DATA, "not a safetensors file"},
    };
    liana__test_folder();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__error error = {0};
        liana_status status = open_header(cases[i].header, cases[i].data_size, &error);
        if (cases[i].status == LIANA_OK) {
            assert_ok(status, &error);
        } else {
            assert_fails(status, cases[i].status, &error, "bad.safetensors", cases[i].text);
        }
    }
}

static void test_bad_prefixes_are_named(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__safetensors file;
    liana__test_folder();
    assert_fails(liana__safetensors_open(liana__test_write("f", "", 0), &file, &error), LIANA_INVALID_DATA, &error,
                 "0 bytes");
    assert_fails(liana__safetensors_open(liana__test_write("f", "\x40\0\0\0\0\0\0\0{}", 10), &file, &error),
                 LIANA_DATA_LOSS, &error, "64 bytes", "ends after 2");
    assert_fails(liana__safetensors_open(liana__test_write("f", "\0\0\0\0\0\0\0\x7f{}", 10), &file, &error),
                 LIANA_OUT_OF_RANGE, &error, "at most 100000000");
    assert_fails(liana__safetensors_open(liana__test_path("none"), &file, &error), LIANA_NOT_FOUND, &error, "none");
}

/* Thousands of damaged copies: each opens or fails with a message, and files that open can be read to their last
 * byte. */
static void test_damaged_files_never_crash(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    const char *path = liana__test_path("a.safetensors");
    assert_ok(liana__safetensors_write(path, &contents, false, NULL, &error), &error);
    size_t size;
    char *bytes = read_whole(path, &size);
    liana__philox_key key = liana__philox_make_key(1, LIANA__STREAM_TEST, 0);
    int opened = 0, refused = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t draw[4];
        liana__philox(key, (uint32_t[4]){i}, draw);
        uint8_t copy[1024];
        memcpy(copy, bytes, size);
        copy[draw[0] % size] = (uint8_t)draw[1];
        if (i % 2) copy[draw[2] % size] ^= (uint8_t)(1u << draw[3] % 8);
        bool good = liana__try_safetensors(copy, i % 5 ? size : draw[3] % size);
        opened += good;
        refused += !good;
    }
    assert_compare(opened, >, 100);
    assert_compare(refused, >, 1000);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_are_those_of_the_format),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_steps_give_the_same_file_and_nothing_before_the_end),
        cmocka_unit_test(test_writer_refuses_bad_contents),
        cmocka_unit_test(test_bad_headers_are_named),
        cmocka_unit_test(test_bad_prefixes_are_named),
        cmocka_unit_test(test_damaged_files_never_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
