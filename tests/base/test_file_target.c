/* Targets of files that are no plain files: links, pipes, devices, standard output. Nothing here writes to a name
 * outside of the test's folder but through a descriptor of the test's own. */
#include "harness/command_run.h"
#include "harness/peers.h"

#include "base/file.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static mode_t mode_of(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 ? info.st_mode & S_IFMT : 0;
}

static void assert_content(const char *path, const char *expected)
{
    char *text;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(path, 1 << 20, &text, &size, &error), &error);
    assert_string_equal(text, expected);
    free(text);
}

static void write_text(const char *path, const char *text)
{
    liana__error error = {0};
    assert_ok(liana__file_replace(path, text, strlen(text), &error), &error);
}

static void test_links_stay(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    assert_ok(liana__folder_make(liana__test_path("there"), &error), &error);
    liana__test_write("there/file", "old", 3);
    const char *link = liana__test_path("link"), *second = liana__test_path("second");
    assert_int_equal(symlink("there/file", link), 0);
    assert_int_equal(symlink(link, second), 0);
    write_text(second, "new");
    assert_int_equal(mode_of(link), S_IFLNK);
    assert_int_equal(mode_of(second), S_IFLNK);
    assert_int_equal(mode_of(liana__test_path("there/file")), S_IFREG);
    assert_content(liana__test_path("there/file"), "new");
    assert_int_equal(mode_of(liana__test_path("there/file.tmp")), 0);
    /* One that leads nowhere yet. */
    const char *dangling = liana__test_path("dangling");
    assert_int_equal(symlink("there/made", dangling), 0);
    write_text(dangling, "made");
    assert_int_equal(mode_of(dangling), S_IFLNK);
    assert_content(liana__test_path("there/made"), "made");
    const char *circle = liana__test_path("circle");
    assert_int_equal(symlink("circle", circle), 0);
    assert_fails(liana__file_replace(circle, "x", 1, &error), LIANA_IO_ERROR, &error, "circle", "symbolic links");
}

static void test_a_pipe_is_written_into(void **state)
{
    (void)state;
    liana__test_folder();
    const char *pipe = liana__test_path("pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    assert_compare(reader, >=, 0);
    write_text(pipe, "through the pipe");
    char found[64] = "";
    assert_int_equal(read(reader, found, sizeof found - 1), 16);
    assert_string_equal(found, "through the pipe");
    assert_int_equal(mode_of(pipe), S_IFIFO);
    close(reader);
}

/* A terminal of the test's own, whose folder takes no files: nothing can take its place. */
static void test_a_device_is_written_into(void **state)
{
    (void)state;
    liana__test_folder();
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
        liana__test_skip("this system gives no pseudo terminals");
    }
    const char *link = liana__test_path("terminal");
    assert_int_equal(symlink(ptsname(terminal), link), 0);
    int held = open(link, O_RDWR | O_NOCTTY); /* or the written text goes when the writer does */
    write_text(link, "hello");
    char found[64] = "";
    assert_int_equal(read(terminal, found, sizeof found - 1), 5);
    assert_string_equal(found, "hello");
    assert_int_equal(mode_of(link), S_IFLNK);
    struct stat info;
    assert_compare(stat(link, &info), ==, 0);
    assert_true(S_ISCHR(info.st_mode));
    close(held);
    close(terminal);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    liana__error error = {0};
    const char *folder = liana__test_folder();
    assert_fails(liana__file_replace(folder, "x", 1, &error), LIANA_IO_ERROR, &error, folder, "it is a folder");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = liana__test_path("socket");
    assert_compare(strlen(path), <, sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int own = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(own, (struct sockaddr *)&address, sizeof address), 0);
    assert_fails(liana__file_replace(path, "x", 1, &error), LIANA_IO_ERROR, &error, path, "it is a socket");
    assert_int_equal(mode_of(path), S_IFSOCK);
    close(own);
    assert_fails(liana__file_replace(liana__test_path("no/file"), "x", 1, &error), LIANA_NOT_FOUND, &error, "no/file");
}

/* Open files of the process are written where they stand, and not replaced. */
static void test_descriptors_of_the_process(void **state)
{
    (void)state;
    liana__test_folder();
    const char *path = liana__test_write("log", "before\n", 7);
    int own = open(path, O_WRONLY | O_APPEND);
    struct stat before, after;
    assert_int_equal(fstat(own, &before), 0);
    char name[64];
    snprintf(name, sizeof name, "/dev/fd/%d", own);
    write_text(name, "after\n");
    snprintf(name, sizeof name, "/proc/self/fd/%d", own);
    write_text(name, "last\n");
    close(own);
    assert_content(path, "before\nafter\nlast\n");
    assert_compare(stat(path, &after), ==, 0);
    assert_compare(before.st_ino, ==, after.st_ino);
}

static void test_commands_write_to_standard_output(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(200);
    char run[256], file[256], images[256], *expected;
    size_t size;
    liana__error error = {0};
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(file, sizeof file, "%s", liana__test_path("p.csv"));
    snprintf(images, sizeof images, "%s", liana__test_path("test-images"));
    assert_code(liana__test_command("train", config, "train.epochs=1"), 0);
    assert_code(liana__test_command("predict", run, "--data", images, "--out", file), 0);
    assert_ok(liana__file_read(file, 1 << 20, &expected, &size, &error), &error);
    liana__test_result got = liana__test_process(NULL, "predict", run, "--data", images, "--out", "-");
    assert_string_equal(got.out, expected);
    assert_says(got.err, ": 100; right: ");
    assert_code(got, 0);
    /* A pipe by its name. */
    const char *pipe = liana__test_path("pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    assert_code(liana__test_command("predict", run, "--data", images, "--out", pipe), 0);
    char *found = calloc(1, size + 2);
    assert_int_equal(read(reader, found, size + 1), size);
    assert_string_equal(found, expected);
    assert_int_equal(mode_of(pipe), S_IFIFO);
    close(reader);
    free(found);
    free(expected);
    /* A list of nothing has its heading; the report goes to standard error. */
    got = liana__test_process(NULL, "check", config, "--quarantine", "-");
    assert_begins(got.out, "part,file,record");
    assert_never_says(got.out, "records");
    assert_says(got.err, "records");
    assert_code(got, 0);
    assert_refused(liana__test_command("check", config, "--json", "--quarantine", "-"), 2, "--json", "standard output");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links_stay),
        cmocka_unit_test(test_a_pipe_is_written_into),
        cmocka_unit_test(test_a_device_is_written_into),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_descriptors_of_the_process),
        cmocka_unit_test(test_commands_write_to_standard_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
