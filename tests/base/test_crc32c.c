/* CRC-32C against published values. */
#include "harness/harness.h"

#include "base/crc32c.h"
#include "base/random.h"

#include <string.h>

/* RFC 3720, appendix B.4, and the check value of the CRC catalogues. */
static void test_known_answers(void **state)
{
    (void)state;
    uint8_t zeros[32] = {0}, ones[32], rising[32], falling[32];
    memset(ones, 0xff, sizeof ones);
    for (int i = 0; i < 32; i++) {
        rising[i] = (uint8_t)i;
        falling[i] = (uint8_t)(31 - i);
    }
    static const uint8_t read_command[48] = {
        0x01, 0xc0, [16] = 0x14, [22] = 0x04, [27] = 0x14, [31] = 0x18, [32] = 0x28, [40] = 0x02};
    const struct {
        const void *bytes;
        size_t size;
        uint32_t expected;
    } cases[] = {
        {zeros, 32, 0x8a9136aa},
        {ones, 32, 0x62a8ab43},
        {rising, 32, 0x46dd794e},
        {falling, 32, 0x113fdb5c},
        {read_command, 48, 0xd9963a56},
        {"123456789", 9, 0xe3069283},
        {"", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_compare(liana__crc32c(cases[i].bytes, cases[i].size), ==, cases[i].expected, i);
        assert_compare(liana__crc32c_extend_portable(0, cases[i].bytes, cases[i].size), ==, cases[i].expected, i);
    }
}

/* The definition, bit by bit. */
static uint32_t slow_crc(const uint8_t *bytes, size_t size)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

static void test_every_length_and_alignment(void **state)
{
    (void)state;
    uint8_t bytes[400];
    liana__philox_key key = liana__philox_make_key(1, LIANA__STREAM_TEST, 0);
    for (uint32_t i = 0; i < sizeof bytes / 16; i++) {
        uint32_t words[4];
        liana__philox(key, (uint32_t[4]){i, 0, 0, 0}, words);
        memcpy(bytes + 16 * i, words, 16);
    }
    for (size_t start = 0; start < 9; start++) {
        for (size_t size = 0; size < 300; size++) {
            uint32_t expected = slow_crc(bytes + start, size);
            assert_int_equal(liana__crc32c(bytes + start, size), expected);
            assert_int_equal(liana__crc32c_extend_portable(0, bytes + start, size), expected);
            size_t half = size / 3;
            uint32_t first = liana__crc32c(bytes + start, half);
            assert_int_equal(liana__crc32c_extend(first, bytes + start + half, size - half), expected);
            assert_int_equal(liana__crc32c_extend_portable(first, bytes + start + half, size - half), expected);
        }
    }
}

/* Long ones go another way: in blocks side by side. */
static void test_long_runs(void **state)
{
    (void)state;
    static uint8_t bytes[20000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)((uint32_t)i * 2654435761u >> 23);
    for (size_t size = 300; size < sizeof bytes - 8; size += size < 4000 ? 61 : 997) {
        const uint8_t *start = bytes + size % 8;
        uint32_t expected = slow_crc(start, size);
        assert_int_equal(liana__crc32c(start, size), expected);
        assert_int_equal(liana__crc32c_extend_portable(0, start, size), expected);
        assert_int_equal(liana__crc32c_extend(slow_crc(start, 100), start + 100, size - 100), expected);
    }
}

/* The first header of a file that TensorFlow wrote would do, but this needs no file: an empty record as every
 * TFRecord writer writes it, 16 bytes of 8 zeros, 29 03 98 07 and, for no data, d8 ea 82 a2. */
static void test_mask(void **state)
{
    (void)state;
    assert_int_equal(liana__crc32c_mask(liana__crc32c("\0\0\0\0\0\0\0", 8)), 0x07980329);
    assert_int_equal(liana__crc32c_mask(0), 0xa282ead8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_every_length_and_alignment),
        cmocka_unit_test(test_long_runs),
        cmocka_unit_test(test_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
