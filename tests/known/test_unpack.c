/* Archives of others become folders whole, or not at all; and nothing is written beside them. */
#include "harness/harness.h"

#include "base/file.h"
#include "harness/gzip_file.h"
#include "harness/tar_file.h"
#include "known/unpack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const liana__unpack_limits roomy = {.bytes = 1 << 28, .files = 100, .ratio = 2000};

static const char *write_archive(liana__text *tar)
{
    static char path[600];
    liana__test_tar_end(tar);
    snprintf(path, sizeof path, "%s", liana__test_path("a.tar.gz"));
    liana__test_write_gzip(path, tar->data, tar->length);
    liana__text_free(tar);
    return path;
}

static liana_status unpack(const char *archive, const liana__unpack_limits *limits, liana__error *error)
{
    *error = (liana__error){0};
    return liana__unpack(archive, liana__test_path("out"), limits, error);
}

/* Nothing is left but the archive and the lock. */
static void check_clean(void)
{
    liana__arena arena = {0};
    liana__paths names;
    assert_ok(liana__folder_list(liana__test_path("."), &arena, &names, NULL), NULL);
    for (size_t i = 0; i < names.count; i++) {
        const bool known = strcmp(names.items[i], "a.tar.gz") == 0 || strcmp(names.items[i], "out.lock") == 0 ||
                           strcmp(names.items[i], "keep") == 0;
        if (!known) fail_msg("'%s' was left", names.items[i]);
    }
    liana__arena_free(&arena);
}

static void check_content(const char *name, const char *expected, size_t size)
{
    char *data;
    size_t found;
    assert_ok(liana__file_read(liana__test_path(name), 1 << 24, &data, &found, NULL), NULL);
    assert_int_equal(found, size);
    assert_memory_equal(data, expected, size);
    free(data);
}

static void test_files_are_unpacked(void **state)
{
    (void)state;
    liana__error error;
    liana__text tar = {0};
    static char large[3 << 20];
    for (size_t i = 0; i < sizeof large; i++) large[i] = (char)(i * i >> 7);
    liana__test_folder();
    liana__test_tar_add(&tar, "set/", '5', NULL, NULL, 0);
    liana__test_tar_add(&tar, "set/a.txt", '0', NULL, "hello", 5);
    liana__test_tar_add(&tar, "set/deep/er/large.bin", '0', NULL, large, sizeof large);
    liana__test_tar_add(&tar, "./set/empty", '0', NULL, NULL, 0);
    liana__test_tar_add(&tar, "a.tmp", '0', NULL, "x", 1);
    liana__test_tar_add(&tar, "a", '0', NULL, "yz", 2);
    liana__test_tar_add(&tar, "...", '0', NULL, "d", 1);
    /* A process was ended here before. */
    assert_ok(liana__folder_make(liana__test_path("out.part/set"), NULL), NULL);
    liana__test_write("out.part/set/a.txt", "half", 4);
    liana__test_write("out.part/stale", "half", 4);
    const char *archive = write_archive(&tar);
    assert_ok(unpack(archive, &roomy, &error), &error);
    check_content("out/set/a.txt", "hello", 5);
    check_content("out/set/deep/er/large.bin", large, sizeof large);
    check_content("out/set/empty", "", 0);
    check_content("out/a.tmp", "x", 1);
    check_content("out/a", "yz", 2);
    check_content("out/...", "d", 1);
    assert_false(liana__file_exists(liana__test_path("out/stale")));
    assert_false(liana__folder_exists(liana__test_path("out.part")));
    assert_false(liana__file_exists(liana__test_path("out.part.tar")));
    /* Once. */
    liana__test_write("out/set/a.txt", "mine", 4);
    liana__test_write("a.tar.gz", "broken", 6);
    assert_ok(unpack(archive, &roomy, &error), &error);
    check_content("out/set/a.txt", "mine", 4);
}

static void test_hostile_members_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        char type;
        const char *link, *what;
    } cases[] = {
        {"../keep/x", '0', NULL, "leads out of the folder"}, {"set/../../keep/x", '0', NULL, "leads out of the folder"},
        {"set/..", '0', NULL, "leads out of the folder"},    {"/tmp/liana-unpack-test", '0', NULL, "is absolute"},
        {"set//x", '0', NULL, "has an empty part"},          {"set/x/", '0', NULL, "is no name of a file"},
        {"set/x\ny", '0', NULL, "is no usable name"},        {"set\\..\\x", '0', NULL, "is no usable name"},
        {"set/a.txt", '0', NULL, "is there twice"},          {"set/link", '2', "/etc/passwd", "is a link or a device"},
        {"set/link", '2', "a.txt", "is a link or a device"}, {"set/hard", '1', "set/a.txt", "is a link or a device"},
        {"set/device", '3', NULL, "is a link or a device"},  {"set/pipe", '6', NULL, "is a link or a device"},
    };
    liana__error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__text tar = {0};
        liana__test_folder();
        assert_ok(liana__folder_make(liana__test_path("keep"), NULL), NULL);
        liana__test_tar_add(&tar, "set/a.txt", '0', NULL, "hello", 5);
        liana__test_tar_add(&tar, cases[i].name, cases[i].type, cases[i].link, "evil", cases[i].type == '0' ? 4 : 0);
        assert_fails(unpack(write_archive(&tar), &roomy, &error), LIANA_INVALID_DATA, &error, "a.tar.gz",
                     cases[i].what);
        check_clean();
        assert_false(liana__file_exists(liana__test_path("keep/x")));
    }
}

static void test_limits(void **state)
{
    (void)state;
    liana__error error;
    liana__text tar = {0};
    char name[40];
    liana__test_folder();
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "set/%d", i);
        liana__test_tar_add(&tar, name, '0', NULL, "hello", 5);
    }
    const char *archive = write_archive(&tar);
    assert_fails(unpack(archive, &(liana__unpack_limits){1 << 20, 4, 100}, &error), LIANA_OUT_OF_RANGE, &error,
                 "5 files", "limit of 4");
    check_clean();
    assert_fails(unpack(archive, &(liana__unpack_limits){2000, 100, 100}, &error), LIANA_OUT_OF_RANGE, &error,
                 "limit of 2000 bytes");
    check_clean();
    assert_ok(unpack(archive, &(liana__unpack_limits){10000, 5, 100}, &error), &error);
    /* 40 MiB of zeros in 40 KiB. */
    liana__test_folder();
    const size_t size = 40 << 20;
    char *zeros = calloc(1, size);
    liana__test_tar_add(&tar, "bomb", '0', NULL, zeros, size);
    free(zeros);
    archive = write_archive(&tar);
    assert_fails(unpack(archive, &(liana__unpack_limits){1 << 28, 100, 200}, &error), LIANA_OUT_OF_RANGE, &error,
                 "more than 200 times");
    check_clean();
    assert_fails(unpack(archive, &(liana__unpack_limits){1 << 25, 100, 2000}, &error), LIANA_OUT_OF_RANGE, &error,
                 "limit of 33554432 bytes");
    check_clean();
}

static void test_damaged_archives(void **state)
{
    (void)state;
    liana__error error;
    liana__text tar = {0};
    liana__test_folder();
    liana__test_tar_add(&tar, "set/a.txt", '0', NULL, "hello", 5);
    liana__test_tar_add(&tar, "set/b.txt", '0', NULL, "hello, hello", 12);
    const char *archive = write_archive(&tar);
    char *bytes;
    size_t size;
    assert_ok(liana__file_read(archive, 1 << 20, &bytes, &size, NULL), NULL);
    for (size_t cut = 0; cut < size; cut += 7) {
        liana__test_write("a.tar.gz", bytes, cut);
        assert_compare(unpack(archive, &roomy, &error), !=, LIANA_OK, cut);
        assert_says(error.message, "a.tar.gz");
        check_clean();
    }
    for (size_t at = 10; at < size; at += 5) {
        bytes[at] ^= 0x10;
        liana__test_write("a.tar.gz", bytes, size);
        if (unpack(archive, &roomy, &error) == LIANA_OK) {
            /* A bit that means nothing. */
            check_content("out/set/a.txt", "hello", 5);
            check_content("out/set/b.txt", "hello, hello", 12);
            assert_ok(liana__folder_remove(liana__test_path("out"), NULL), NULL);
        } else {
            assert_says(error.message, "a.tar.gz");
        }
        check_clean();
        bytes[at] ^= 0x10;
    }
    free(bytes);
    liana__test_write("a.tar.gz", "<html>not found</html>", 22);
    assert_fails(unpack(archive, &roomy, &error), LIANA_INVALID_DATA, &error, "a.tar.gz", "not a gzipped archive");
    /* A stream that holds no archive, and an archive that holds no files. */
    liana__test_write_gzip(archive, "hello", 5);
    assert_compare(unpack(archive, &roomy, &error), !=, LIANA_OK);
    assert_says(error.message, "a.tar.gz");
    check_clean();
    liana__test_tar_add(&tar, "set/", '5', NULL, NULL, 0);
    assert_fails(unpack(write_archive(&tar), &roomy, &error), LIANA_INVALID_DATA, &error, "without files");
    check_clean();
}

/* Processes that want it at the same time. */
static void test_processes(void **state)
{
    (void)state;
    enum { PROCESSES = 6 };
    liana__text tar = {0};
    pid_t started[PROCESSES];
    char name[60];
    static char bytes[100000];
    liana__test_folder();
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "set/%d/%d.bin", i % 7, i);
        memset(bytes, i, sizeof bytes);
        liana__test_tar_add(&tar, name, '0', NULL, bytes, sizeof bytes);
    }
    const char *archive = write_archive(&tar);
    fflush(NULL);
    for (int i = 0; i < PROCESSES; i++) {
        started[i] = fork();
        if (started[i] > 0) continue;
        liana__error error;
        const bool good =
            unpack(archive, &roomy, &error) == LIANA_OK && liana__file_exists(liana__test_path("out/set/3/59.bin"));
        _exit(!good);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int code;
        assert_int_equal(waitpid(started[i], &code, 0), started[i]);
        assert_int_equal(code, 0);
    }
    memset(bytes, 59, sizeof bytes);
    check_content("out/set/3/59.bin", bytes, sizeof bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_are_unpacked),
        cmocka_unit_test(test_hostile_members_are_refused),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_damaged_archives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
