/* Inflating gzip, against zlib's own file functions. */
#include "harness/harness.h"

#include "base/file.h"
#include "formats/gzip.h"
#include "formats/sniff.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Writes a gzip file with zlib's own file functions. */
static const char *write_with_zlib(const char *name, const char *mode, const void *data, size_t size)
{
    const char *path = liana__test_path(name);
    gzFile file = gzopen(path, mode);
    assert_non_null(file);
    assert_int_equal(gzwrite(file, data, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
    return path;
}

static liana_status inflate_file(const char *path, size_t limit, uint8_t **out, size_t *size, liana__error *error)
{
    liana__mapping mapping;
    assert_ok(liana__file_map(path, &mapping, error), error);
    liana_status status = liana__inflate(path, mapping.data, mapping.size, limit, out, size, error);
    liana__file_unmap(&mapping);
    return status;
}

/* Not compressible, not periodic. */
static uint8_t *make_noise(size_t size)
{
    uint8_t *bytes = malloc(size);
    uint32_t state = 1;
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(state >> 24);
    }
    return bytes;
}

static void test_inflates_what_zlib_wrote(void **state)
{
    (void)state;
    liana__error error = {0};
    static const size_t sizes[] = {0, 1, 100, 70000, 1 << 20};
    liana__test_folder();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *noise = make_noise(sizes[i] + 1), *out;
        size_t size;
        for (int repeat = 0; repeat < 2; repeat++) {
            if (repeat) memset(noise, 'x', sizes[i]); /* shrinks a thousandfold: the guess is far off */
            const char *path = write_with_zlib("a.gz", "wb", noise, sizes[i]);
            assert_ok(inflate_file(path, 0, &out, &size, &error), &error);
            assert_int_equal(size, sizes[i]);
            if (size) assert_memory_equal(out, noise, size);
            free(out);
        }
        free(noise);
    }
}

static void test_members_and_padding(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    write_with_zlib("a.gz", "wb", "first ", 6);
    write_with_zlib("a.gz", "ab", "second ", 7);
    const char *path = write_with_zlib("a.gz", "ab", "third", 6);
    uint8_t *out;
    size_t size;
    assert_ok(inflate_file(path, 0, &out, &size, &error), &error);
    assert_string_equal((char *)out, "first second third");
    free(out);

    char *bytes;
    assert_ok(liana__file_read(path, 1000, &bytes, &size, &error), &error);
    uint8_t longer[1100] = {0};
    memcpy(longer, bytes, size);
    free(bytes);
    size_t inflated;
    assert_ok(liana__inflate("padded", longer, size + 512, 0, &out, &inflated, &error), &error);
    assert_int_equal(inflated, 19);
    free(out);
    memcpy(longer + size, "rubbish", 7);
    assert_fails(liana__inflate("longer.gz", longer, size + 7, 0, &out, &inflated, &error), LIANA_DATA_LOSS, &error,
                 "longer.gz", "something else follows");
    assert_null(out);
}

static void test_limit(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    char *zeros = calloc(1, 1 << 20);
    const char *path = write_with_zlib("bomb.gz", "wb9", zeros, 1 << 20);
    free(zeros);
    uint8_t *out;
    size_t size;
    assert_fails(inflate_file(path, (1 << 20) - 1, &out, &size, &error), LIANA_OUT_OF_RANGE, &error, "bomb.gz",
                 "1048575", "gunzip");
    assert_fails(inflate_file(path, 1, &out, &size, &error), LIANA_OUT_OF_RANGE, &error, "more than 1 bytes");
    assert_ok(inflate_file(path, 1 << 20, &out, &size, &error), &error);
    assert_int_equal(size, 1 << 20);
    free(out);
}

static void test_damage(void **state)
{
    (void)state;
    liana__error error = {0};
    uint8_t *noise = make_noise(5000), *out, packed[6000];
    size_t size;
    uLongf packed_size = sizeof packed;
    assert_int_equal(compress(packed, &packed_size, noise, 5000), Z_OK);
    assert_true(liana__is_zlib(packed, packed_size));
    assert_ok(liana__inflate("z", packed, packed_size, 0, &out, &size, &error), &error);
    assert_int_equal(size, 5000);
    assert_memory_equal(out, noise, 5000);
    free(out);
    for (size_t cut = 0; cut < packed_size; cut += 97) {
        assert_fails(liana__inflate("cut.z", packed, cut, 0, &out, &size, &error), LIANA_DATA_LOSS, &error, "cut.z",
                     "is cut off");
    }
    packed[packed_size - 1] ^= 1;
    assert_fails(liana__inflate("sum.z", packed, packed_size, 0, &out, &size, &error), LIANA_DATA_LOSS, &error, "sum.z",
                 "is damaged", "check");
    free(noise);
}

/* The same bytes as zlib's own reader finds in a file that neither wrote. */
static void test_mnist_as_zlib_reads_it(void **state)
{
    (void)state;
    liana__error error = {0};
    const char *path = liana__test_data("mnist/t10k-images-idx3-ubyte.gz");
    uint8_t *out;
    size_t size;
    assert_ok(inflate_file(path, 0, &out, &size, &error), &error);
    assert_int_equal(size, 16 + 10000 * 28 * 28);
    uint8_t *expected = malloc(size);
    gzFile file = gzopen(path, "rb");
    assert_int_equal(gzread(file, expected, (unsigned)size), size);
    gzclose(file);
    assert_memory_equal(out, expected, size);
    free(out);
    free(expected);
}

static void test_sniff(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *expected;
    } cases[] = {
        {"\xff\xd8\xff\xe0", 4, "a JPEG image"},
        {"\x89PNG\r\n\x1a\n", 8, "a PNG image"},
        {"\x89HDF\r\n\x1a\n", 8, "an HDF5 file"},
        {"\x1f\x8b\x08", 3, "a gzip file"},
        {"PK\x03\x04", 4, "a zip archive"},
        {"RIFF....WEBP", 12, "a WebP image"},
        {"\0\0\x08\x03", 4, "an IDX file"},
        {"\n <!DOCTYPE html><html>", 23, "a web page (HTML)"},
        {"{\"a\": 1}", 8, "a JSON file"},
        {"daisy\nroses\n", 12, "text"},
        {"\x40\0\0\0\0\0\0\0{\"__metadata__\"", 16, "a safetensors file"},
        {"\x78\x9c\x01\x02", 4, "a zlib stream"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = liana__sniff((const uint8_t *)cases[i].bytes, cases[i].size);
        assert_non_null(found);
        assert_string_equal(found, cases[i].expected);
    }
    assert_null(liana__sniff(NULL, 0));
    assert_null(liana__sniff((const uint8_t *)"\x01\x02\x03\x04", 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inflates_what_zlib_wrote),
        cmocka_unit_test(test_members_and_padding),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_mnist_as_zlib_reads_it),
        cmocka_unit_test(test_sniff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
