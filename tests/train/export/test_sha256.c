/* SHA-256 against the examples of FIPS 180-2 and coreutils. */
#include "harness/harness.h"

#include "train/export/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static liana__sha256_digits hash_of(const char *text, size_t size, size_t piece)
{
    liana__sha256 hash;
    liana__sha256_begin(&hash);
    for (size_t i = 0; i < size; i += piece) liana__sha256_add(&hash, text + i, size - i < piece ? size - i : piece);
    return liana__sha256_end(&hash);
}

static void test_known_answers(void **state)
{
    (void)state;
    static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    assert_string_equal(hash_of("abc", 3, 3).text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_string_equal(hash_of("", 0, 1).text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_string_equal(hash_of(two, sizeof two - 1, 7).text,
                        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = malloc(1000000);
    assert_non_null(million);
    memset(million, 'a', 1000000);
    assert_string_equal(hash_of(million, 1000000, 999).text,
                        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

/* Each length around the ends of blocks, as sha256sum says. */
static void test_files_are_as_coreutils_says(void **state)
{
    (void)state;
    liana__test_folder();
    uint8_t bytes[200];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 37 + 11);
    for (size_t size = 0; size <= sizeof bytes; size += size < 50 ? 10 : 1) {
        char command[512], expected[65] = "";
        liana__sha256_digits digits;
        liana__error error = {0};
        liana__test_write("file", bytes, size);
        const char *path = liana__test_path("file");
        snprintf(command, sizeof command, "sha256sum '%s'", path);
        FILE *pipe = popen(command, "r");
        assert_non_null(pipe);
        assert_int_equal(fread(expected, 1, 64, pipe), 64);
        pclose(pipe);
        assert_int_equal(liana__sha256_file(path, &digits, &error), LIANA_OK);
        assert_string_equal(digits.text, expected);
    }
    liana__sha256_digits digits;
    liana__error error = {0};
    assert_int_equal(liana__sha256_file(liana__test_path("missing"), &digits, &error), LIANA_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_files_are_as_coreutils_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
