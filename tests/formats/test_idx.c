/* IDX files against published counts and Python's sums. */
#include "harness/harness.h"

#include "base/file.h"
#include "formats/idx.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static liana_status open_bytes(const void *bytes, size_t size, liana__idx *idx, liana__error *error)
{
    return liana__idx_open(liana__test_write("bytes.idx", bytes, size), 0, false, idx, error);
}

static void test_types_and_dimensions(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    static const struct {
        uint8_t code;
        size_t size;
        const char *name;
    } types[] = {{0x08, 1, "u8"},  {0x09, 1, "s8"},  {0x0b, 2, "s16"},
                 {0x0c, 4, "s32"}, {0x0d, 4, "f32"}, {0x0e, 8, "f64"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        uint8_t bytes[12 + 6 * 8] = {0, 0, types[i].code, 2, 0, 0, 0, 2, 0, 0, 0, 3, 42};
        liana__idx idx;
        assert_ok(open_bytes(bytes, 12 + 6 * types[i].size, &idx, &error), &error);
        assert_int_equal(idx.type, types[i].code);
        assert_string_equal(liana__idx_type_name(idx.type), types[i].name);
        assert_int_equal(idx.num_dimensions, 2);
        assert_int_equal(idx.dimensions[0], 2);
        assert_int_equal(idx.dimensions[1], 3);
        assert_int_equal(idx.num_elements, 6);
        assert_int_equal(idx.size, 6 * types[i].size);
        assert_int_equal(idx.data[0], 42);
        liana_status status = liana__idx_expect_u8(&idx, 2, "a matrix", &error);
        if (types[i].code == 0x08) {
            assert_ok(status, &error);
        } else {
            assert_fails(status, LIANA_INVALID_DATA, &error, "bytes.idx", "2 x 3", types[i].name, "a matrix of u8");
        }
        assert_fails(liana__idx_expect_u8(&idx, 3, "images", &error), LIANA_INVALID_DATA, &error, "2 x 3", "images");
        liana__idx_close(&idx);
    }
}

static void test_bad_headers(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    liana__idx idx;
    assert_fails(open_bytes("", 0, &idx, &error), LIANA_DATA_LOSS, &error, "bytes.idx", "0 bytes");
    assert_fails(open_bytes("\0\0\x08", 3, &idx, &error), LIANA_INVALID_DATA, &error, "bytes.idx");
    assert_fails(open_bytes("\0\0\x0a\x01\0\0\0\0", 8, &idx, &error), LIANA_INVALID_DATA, &error, "0x0a", "0x0e (f64)");
    assert_fails(open_bytes("\0\0\x08\0", 4, &idx, &error), LIANA_INVALID_DATA, &error, "0 dimensions", "1 to 8");
    assert_fails(open_bytes("\0\0\x08\xff", 4, &idx, &error), LIANA_INVALID_DATA, &error, "255 dimensions");
    assert_fails(open_bytes("\0\0\x08\x03\0\0\0\1\0", 9, &idx, &error), LIANA_DATA_LOSS, &error, "9 bytes",
                 "3 dimensions", "needs 16");
    assert_fails(open_bytes("\x89PNG\r\n\x1a\n", 8, &idx, &error), LIANA_INVALID_DATA, &error, "not an IDX file",
                 "a PNG image");
    assert_fails(liana__idx_open("/no/such.idx", 0, false, &idx, &error), LIANA_NOT_FOUND, &error, "/no/such.idx");
    assert_null(idx.name);
}

static void test_sizes_that_do_not_fit(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    liana__idx idx;
    assert_fails(open_bytes("\0\0\x08\x02\0\0\0\2\0\0\0\3.....", 17, &idx, &error), LIANA_DATA_LOSS, &error,
                 "5 bytes of values", "2 x 3 of u8", "need 6", "truncated");
    assert_fails(open_bytes("\0\0\x08\x02\0\0\0\2\0\0\0\3.......", 19, &idx, &error), LIANA_INVALID_DATA, &error,
                 "7 bytes of values", "need 6", "damaged");
    assert_fails(open_bytes("\0\0\x0e\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16, &idx, &error),
                 LIANA_INVALID_DATA, &error, "4294967295 x 4294967295 x 4294967295", "too large for any file");
    /* 2^32 x 2^31 x 2 would be 2^64, which is 0 in 64 bits. */
    assert_fails(open_bytes("\0\0\x0e\x03\x80\0\0\0\x80\0\0\0\0\0\0\1", 16, &idx, &error), LIANA_INVALID_DATA, &error,
                 "2147483648 x 2147483648 x 1", "too large for any file");
    assert_ok(open_bytes("\0\0\x08\x02\0\0\0\0\0\0\0\3", 12, &idx, &error), &error);
    assert_int_equal(idx.num_elements, 0);
    liana__idx_close(&idx);
}

static void test_gzip_bomb(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    const char *path = liana__test_path("bomb.gz");
    gzFile file = gzopen(path, "wb9");
    static const uint8_t header[16] = {0, 0, 8, 3, 0, 0x10, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1};
    gzwrite(file, header, sizeof header);
    static const uint8_t zeros[1 << 20];
    gzwrite(file, zeros, sizeof zeros);
    gzclose(file);
    liana__idx idx;
    assert_fails(liana__idx_open(path, 1 << 20, false, &idx, &error), LIANA_OUT_OF_RANGE, &error, "bomb.gz",
                 "1048576 bytes");
    assert_ok(liana__idx_open(path, 0, false, &idx, &error), &error);
    assert_int_equal(idx.dimensions[0], 1 << 20);
    liana__idx_close(&idx);
}

static void check_labels(const char *name, const int64_t expected[10])
{
    liana__error error = {0};
    liana__idx labels;
    assert_ok(liana__idx_open(liana__test_data(name), 0, false, &labels, &error), &error);
    assert_ok(liana__idx_expect_u8(&labels, 1, "labels", &error), &error);
    int64_t histogram[10] = {0};
    for (size_t i = 0; i < labels.num_elements; i++) {
        assert_compare(labels.data[i], <, 10, i);
        histogram[labels.data[i]]++;
    }
    assert_memory_equal(histogram, expected, sizeof histogram);
    liana__idx_close(&labels);
}

static void check_images(const char *name, size_t count, uint64_t expected_sum)
{
    liana__error error = {0};
    liana__idx images;
    assert_ok(liana__idx_open(liana__test_data(name), 0, false, &images, &error), &error);
    assert_ok(liana__idx_expect_u8(&images, 3, "images", &error), &error);
    assert_int_equal(images.dimensions[0], count);
    assert_int_equal(images.dimensions[1], 28);
    assert_int_equal(images.dimensions[2], 28);
    uint64_t sum = 0;
    for (size_t i = 0; i < images.num_elements; i++) sum += images.data[i];
    assert_int_equal(sum, expected_sum);
    liana__idx_close(&images);
}

/* Label counts as published; sums of the pixels by Python's gzip and struct modules. */
static void test_mnist(void **state)
{
    (void)state;
    check_labels("mnist/train-labels-idx1-ubyte.gz",
                 (int64_t[]){5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949});
    check_labels("mnist/t10k-labels-idx1-ubyte.gz", (int64_t[]){980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009});
    check_images("mnist/train-images-idx3-ubyte.gz", 60000, 1567298545);
    check_images("mnist/t10k-images-idx3-ubyte.gz", 10000, 264923200);
    check_images("fashion-mnist/t10k-images-idx3-ubyte.gz", 10000, 573469082);
}

/* The same file unpacked: mapped, not inflated. */
static void test_plain_equals_gzipped(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__idx packed, plain;
    assert_ok(liana__idx_open(liana__test_data("mnist/t10k-labels-idx1-ubyte.gz"), 0, false, &packed, &error), &error);
    liana__test_folder();
    const char *path = liana__test_write("plain", packed.data - 8, packed.size + 8);
    assert_ok(liana__idx_open(path, 0, false, &plain, &error), &error);
    assert_null(plain.inflated);
    assert_int_equal(plain.size, 10000);
    assert_memory_equal(plain.data, packed.data, 10000);
    liana__idx_close(&plain);
    liana__idx_close(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_and_dimensions),
        cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_sizes_that_do_not_fit),
        cmocka_unit_test(test_gzip_bomb),
        cmocka_unit_test(test_mnist),
        cmocka_unit_test(test_plain_equals_gzipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
