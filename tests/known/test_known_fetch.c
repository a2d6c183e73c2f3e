/* Known files from a web server on this machine (tests/remote/server.py with https), which sends what it should not. */
#include "harness/command_run.h"
#include "harness/gzip_file.h"
#include "harness/peers.h"
#include "harness/remote_server.h"

#include "base/context.h"
#include "base/file.h"
#include "known/download.h"
#include "known/look.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 300001 };

static liana__error error;
static liana__arena arena;
static liana_context *context;
static char noted[8192];
static bool goes_on = true;

static void note(void *user, const char *text)
{
    (void)user;
    strncat(noted, text, sizeof noted - strlen(noted) - 1);
    strncat(noted, "\n", sizeof noted - strlen(noted) - 1);
}

static bool progress(void *user, const liana__remote_progress *now)
{
    (void)user;
    assert_compare(now->bytes_done, <=, now->bytes);
    return goes_on;
}

/* With so many attempts of each request. */
static liana_status fetch_in(int attempts, const liana__known_file *file, const char **path)
{
    const liana__remote_options options = {
        .max_attempts = attempts, .first_delay = 10, .stall_seconds = 300, .seed = 1, .progress = progress};
    const liana__notes notes = {note, NULL};
    liana__remote *remote;
    noted[0] = 0;
    error = (liana__error){0};
    assert_ok(liana__remote_create(&options, &remote, &error), &error);
    const liana_status status = liana__known_fetch_by(remote, context, file, &notes, &arena, path, &error);
    liana__remote_destroy(remote);
    return status;
}

static liana_status fetch(const liana__known_file *file, const char **path)
{
    return fetch_in(1, file, path);
}

/* ---- files ---- */

static char bytes[SIZE];

static void serve(const char *name, unsigned seed)
{
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (char)((i * 2654435761u + seed * 40503u) >> 13);
    liana__test_serve(name, bytes, SIZE);
}

/* The hash by a program of coreutils; in one of 4 static buffers. */
static const char *hash_by(const char *program, const char *served)
{
    static char texts[4][65];
    static int next;
    char *text = texts[next++ % 4], command[700], path[300];
    snprintf(path, sizeof path, "served/%s", served);
    snprintf(command, sizeof command, "%s <'%s'", program, liana__test_path(path));
    FILE *pipe = popen(command, "r");
    assert_int_equal(fscanf(pipe, "%64s", text), 1);
    pclose(pipe);
    return text;
}

/* Without a hash. */
static liana__known_file row(const char *served)
{
    const char *url = liana__test_server_url(liana__arena_format(&arena, "/web/%s", served));
    return (liana__known_file){.name = "set/thing",
                               .kind = LIANA__KNOWN_DATA,
                               .url = liana__arena_string(&arena, url),
                               .file = liana__arena_format(&arena, "data/set/%s", served),
                               .source = "nobody"};
}

static liana__known_file row_with_hash(const char *served)
{
    liana__known_file file = row(served);
    file.md5 = hash_by("md5sum", served);
    return file;
}

static const char *in_cache(const char *served, const char *suffix)
{
    const char *name = liana__arena_format(&arena, "cache/data/set/%s%s", served, suffix);
    return liana__arena_string(&arena, liana__test_path(name));
}

static uint64_t size_in_cache(const char *served, const char *suffix)
{
    liana__file_version version;
    return liana__file_version_find(in_cache(served, suffix), &version) ? (uint64_t)version.size : 0;
}

static void assert_whole(const char *path, const char *served)
{
    assert_string_equal(path, in_cache(served, ""));
    assert_same_file(path, liana__test_path(liana__arena_format(&arena, "served/%s", served)));
    assert_false(liana__file_exists(in_cache(served, ".part")));
    assert_false(liana__file_exists(in_cache(served, ".origin")));
}

static void assert_fetched(const liana__known_file *file, const char *served)
{
    const char *path;
    assert_ok(fetch(file, &path), &error);
    assert_whole(path, served);
}

/* ---- with a hash ---- */

static void test_fetched_once(void **state)
{
    (void)state;
    const char *path;
    serve("a.bin", 1);
    liana__known_file file = row_with_hash("a.bin");
    assert_fetched(&file, "a.bin");
    assert_says(noted, file.url);
    assert_false(liana__file_exists(in_cache("a.bin", ".sha256")));
    /* From then on it is there, and nobody is asked. */
    liana__test_server_forget();
    assert_ok(fetch(&file, &path), &error);
    file.sha256 = hash_by("sha256sum", "a.bin");
    assert_ok(fetch(&file, &path), &error);
    file.md5 = NULL;
    file.size = SIZE;
    assert_ok(fetch(&file, &path), &error);
    assert_int_equal(liana__test_server_requests("GET", NULL), 0);
    assert_string_equal(noted, "");
    /* The interface without a liana__remote; and no length before the bytes, and no bytes. */
    remove(path);
    const liana__notes notes = {note, NULL};
    liana__test_server_fault("unsaid", 1);
    assert_ok(liana__known_fetch(context, &file, &notes, &arena, &path, &error), &error);
    assert_whole(path, "a.bin");
    liana__test_serve("empty.bin", "", 0);
    file = row_with_hash("empty.bin");
    assert_fetched(&file, "empty.bin");
}

static void test_cuts_are_resumed(void **state)
{
    (void)state;
    const char *path;
    serve("a.bin", 1);
    const liana__known_file file = row_with_hash("a.bin");
    for (uint64_t before = 0, part = SIZE / 2; part < SIZE - 10; before = part, part += (SIZE - part) / 2) {
        liana__test_server_fault("cut", 1);
        assert_fails(fetch(&file, &path), LIANA_IO_ERROR, &error, file.url, in_cache("a.bin", ""), file.md5, "MD5");
        assert_compare(size_in_cache("a.bin", ".part"), >, before, part);
        assert_compare(size_in_cache("a.bin", ".part"), <, SIZE, part);
        assert_false(liana__file_exists(in_cache("a.bin", "")));
        part = size_in_cache("a.bin", ".part");
    }
    liana__test_server_forget();
    char range[64];
    snprintf(range, sizeof range, "bytes=%llu- 206", (unsigned long long)size_in_cache("a.bin", ".part"));
    assert_fetched(&file, "a.bin");
    assert_int_equal(liana__test_server_requests(range, NULL), 1);
    /* From where the server sends it to. */
    remove(in_cache("a.bin", ""));
    liana__test_server_fault("cut", 1);
    assert_fails(fetch(&file, &path), LIANA_IO_ERROR, &error, file.url);
    liana__test_server_forget();
    liana__test_server_fault("moved", 1);
    assert_fetched(&file, "a.bin");
    assert_int_equal(liana__test_server_requests("bytes=150000- 302", NULL), 1);
    assert_int_equal(liana__test_server_requests("bytes=150000- 206", NULL), 1);
    /* Not with a version that does not stand for bytes. */
    remove(in_cache("a.bin", ""));
    liana__test_server_fault("faint", 1);
    assert_fails(fetch(&file, &path), LIANA_IO_ERROR, &error, file.url);
    liana__test_server_forget();
    assert_fetched(&file, "a.bin");
    assert_int_equal(liana__test_server_requests("bytes=", NULL), 0);
    /* Within one call, too. */
    remove(in_cache("a.bin", ""));
    liana__test_server_forget();
    liana__test_server_fault("cut", 2);
    assert_ok(fetch_in(3, &file, &path), &error);
    assert_whole(path, "a.bin");
    assert_int_equal(liana__test_server_requests("bytes=", "206"), 2);
}

/* A process that was killed leaves some part, with or without its origin. */
static void test_parts_of_killed_processes(void **state)
{
    (void)state;
    const char *path;
    serve("a.bin", 1);
    const liana__known_file file = row_with_hash("a.bin");
    const size_t sizes[] = {0, 1, 1000, SIZE - 1, SIZE, SIZE + 5};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        const size_t size = sizes[i / 2];
        remove(in_cache("a.bin", ""));
        liana__test_server_fault("cut", 1);
        assert_fails(fetch(&file, &path), LIANA_IO_ERROR, &error, file.url);
        liana__test_write("cache/data/set/a.bin.part", bytes, size < SIZE ? size : SIZE);
        if (size > SIZE) assert_int_equal(truncate(in_cache("a.bin", ".part"), (off_t)size), 0);
        if (i % 2) remove(in_cache("a.bin", ".origin"));
        assert_ok(fetch_in(3, &file, &path), &error);
        assert_whole(path, "a.bin");
    }
}

static void test_servers_that_begin_anew(void **state)
{
    (void)state;
    static const char *const faults[] = {"norange", "changed", "unaware", "416", "412"};
    const char *path;
    serve("a.bin", 1);
    const liana__known_file file = row_with_hash("a.bin");
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        remove(in_cache("a.bin", ""));
        liana__test_server_fault("cut", 1);
        assert_fails(fetch(&file, &path), LIANA_IO_ERROR, &error, file.url);
        liana__test_server_fault(faults[i], 1);
        assert_ok(fetch_in(2, &file, &path), &error);
        assert_whole(path, "a.bin");
    }
    /* A file that changed between the cut and now, to one of another length as well. */
    remove(in_cache("a.bin", ""));
    liana__test_server_fault("cut", 1);
    assert_fails(fetch(&file, &path), LIANA_IO_ERROR, &error, file.url);
    serve("a.bin", 2);
    liana__known_file other = row_with_hash("a.bin");
    assert_fetched(&other, "a.bin");
    remove(in_cache("a.bin", ""));
    liana__test_server_fault("cut", 1);
    assert_fails(fetch(&other, &path), LIANA_IO_ERROR, &error, file.url);
    liana__test_serve("a.bin", bytes, 1000);
    other = row_with_hash("a.bin");
    assert_fetched(&other, "a.bin");
    /* A part of another address. */
    remove(in_cache("a.bin", ""));
    liana__test_server_fault("cut", 1);
    assert_fails(fetch(&other, &path), LIANA_IO_ERROR, &error, file.url);
    serve("b.bin", 3);
    liana__known_file moved = row_with_hash("b.bin");
    moved.file = other.file;
    assert_ok(fetch(&moved, &path), &error);
    assert_same_file(path, liana__test_path("served/b.bin"));
}

static void test_other_content(void **state)
{
    (void)state;
    const char *path;
    serve("a.bin", 1);
    liana__known_file file = row_with_hash("a.bin");
    const char *right = file.md5;
    file.md5 = "0123456789abcdef0123456789abcdef";
    assert_fails(fetch(&file, &path), LIANA_DATA_LOSS, &error, "set/thing", file.md5, right, file.url, "MD5",
                 "published", "removed", in_cache("a.bin", ""));
    assert_false(liana__file_exists(in_cache("a.bin", ".part")));
    assert_false(liana__file_exists(in_cache("a.bin", "")));
    file.md5 = right;
    liana__test_server_fault("corrupt", 1);
    assert_fails(fetch(&file, &path), LIANA_DATA_LOSS, &error, right);
    file.sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    assert_fails(fetch(&file, &path), LIANA_DATA_LOSS, &error, file.sha256, hash_by("sha256sum", "a.bin"), "SHA-256");
    file.sha256 = NULL;
    /* Other sizes than the published one are refused before they are read. */
    static const uint64_t sizes[] = {SIZE - 1, SIZE + 1, 5};
    for (size_t i = 0; i < 3; i++) {
        file.size = sizes[i];
        assert_fails(fetch(&file, &path), LIANA_DATA_LOSS, &error, "300001", "expected");
        liana__test_server_fault("unsaid", 1);
        assert_fails(fetch(&file, &path), LIANA_DATA_LOSS, &error, "expected");
        assert_compare(size_in_cache("a.bin", ".part"), <=, SIZE);
        remove(in_cache("a.bin", ".part"));
    }
    file.size = SIZE;
    /* A length that the bytes do not keep. */
    liana__test_server_fault("lie", 1);
    assert_fails(fetch(&file, &path), LIANA_DATA_LOSS, &error, "300011 bytes, expected 300001");
    file.size = 0;
    liana__test_server_fault("huge", 1);
    assert_fails(fetch(&file, &path), LIANA_OUT_OF_RANGE, &error, "larger than 4096 MiB", file.url);
    assert_int_equal(size_in_cache("a.bin", ".part"), 0);
    liana__test_server_fault("lie", 1);
    assert_fails(fetch(&file, &path), LIANA_IO_ERROR, &error, file.url);
    assert_false(liana__file_exists(in_cache("a.bin", "")));
    assert_fetched(&file, "a.bin");
}

static void test_servers_that_refuse(void **state)
{
    (void)state;
    const char *path;
    serve("a.bin", 1);
    liana__known_file file = row_with_hash("a.bin"), none = row("none.bin");
    none.md5 = file.md5;
    const char *place = in_cache("none.bin", "");
    assert_fails(fetch(&none, &path), LIANA_NOT_FOUND, &error, "404", none.url, "save it as", place, file.md5);
    assert_false(liana__file_exists(in_cache("none.bin", ".part")));
    liana__test_server_fault("away", 1);
    assert_fails(fetch(&file, &path), LIANA_IO_ERROR, &error, "not https", file.url);
    liana__test_server_fault("403", 1);
    assert_fails(fetch(&file, &path), LIANA_IO_ERROR, &error, "denied", "403");
    liana__test_server_fault("503", 2);
    assert_fails(fetch_in(2, &file, &path), LIANA_IO_ERROR, &error, "503", "tried 2 times");
    liana__test_server_fault("503", 1);
    assert_ok(fetch_in(2, &file, &path), &error);
    /* Without network. */
    none.url = "https://localhost:1/none.bin";
    assert_fails(fetch(&none, &path), LIANA_IO_ERROR, &error, "https://localhost:1/none.bin", "save it as", place);
    none.url = "https://no-such-server.invalid/none.bin";
    assert_fails(fetch(&none, &path), LIANA_IO_ERROR, &error, "no-such-server.invalid", "save it as", place);
    /* Not encrypted. */
    none.url = "http://example.com/none.bin";
    assert_fails(fetch(&none, &path), LIANA_INVALID_ARGUMENT, &error, "not be encrypted");
    none.md5 = NULL;
    assert_fails(fetch(&none, &path), LIANA_INVALID_ARGUMENT, &error, "must be https", "no hash is published");
    none.url = "http://localhost:1/none.bin";
    assert_fails(fetch(&none, &path), LIANA_INVALID_ARGUMENT, &error, "must be https");
    /* A certificate that nobody signed. */
    unsetenv("SSL_CERT_FILE");
    remove(in_cache("a.bin", ""));
    assert_fails(fetch(&file, &path), LIANA_IO_ERROR, &error, "not trusted", "save it as");
}

static void test_a_mirror(void **state)
{
    (void)state;
    serve("deep/a.bin", 1);
    liana__known_file file = row_with_hash("deep/a.bin");
    file.file = "data/set/a.bin";
    file.url = "https://example.com/deep/a.bin";
    static const char *const ends[] = {"/web", "/web/", "/web//"};
    for (size_t i = 0; i < 3; i++) {
        const char *path;
        setenv("LIANA_FETCH_BASE", liana__test_server_url(ends[i]), 1);
        assert_ok(fetch(&file, &path), &error);
        assert_same_file(path, liana__test_path("served/deep/a.bin"));
        remove(path);
    }
    setenv("LIANA_FETCH_BASE", "ftp://localhost/web", 1);
    const char *path;
    assert_fails(fetch(&file, &path), LIANA_INVALID_ARGUMENT, &error, "ftp");
    unsetenv("LIANA_FETCH_BASE");
}

/* ---- without a hash ---- */

static void serve_gzip(const char *name, unsigned seed)
{
    serve(name, seed);
    char path[300];
    snprintf(path, sizeof path, "served/%s", name);
    liana__test_write_gzip(liana__test_path(path), bytes, SIZE);
}

static void test_pins(void **state)
{
    (void)state;
    const char *path;
    serve_gzip("a.gz", 1);
    const liana__known_file file = row("a.gz");
    const char *first = liana__arena_string(&arena, hash_by("sha256sum", "a.gz"));
    assert_fetched(&file, "a.gz");
    assert_says(noted, first);
    assert_says(noted, "pinned");
    assert_says(noted, in_cache("a.gz", ".sha256"));
    const char *folder = in_cache("", "");
    assert_int_equal(system(liana__arena_format(&arena, "cd '%s' && sha256sum -c --quiet a.gz.sha256", folder)), 0);
    /* The same again: from the cache, and from the server. */
    assert_fetched(&file, "a.gz");
    assert_string_equal(noted, "");
    remove(in_cache("a.gz", ""));
    assert_fetched(&file, "a.gz");
    assert_never_says(noted, "pinned");
    /* Other content: here, and there. */
    serve_gzip("a.gz", 2);
    const char *second = hash_by("sha256sum", "a.gz");
    liana__test_write_gzip(in_cache("a.gz", ""), bytes, SIZE);
    assert_fails(fetch(&file, &path), LIANA_DATA_LOSS, &error, first, second, "pinned", in_cache("a.gz", ".sha256"),
                 file.url);
    assert_true(liana__file_exists(in_cache("a.gz", "")));
    remove(in_cache("a.gz", ""));
    assert_fails(fetch(&file, &path), LIANA_DATA_LOSS, &error, first, second, "pinned", in_cache("a.gz", ".sha256"),
                 file.url);
    assert_false(liana__file_exists(in_cache("a.gz", ".part")));
    /* The way out. */
    remove(in_cache("a.gz", ".sha256"));
    assert_fetched(&file, "a.gz");
    assert_says(noted, second);
    static const char *const damaged[] = {"", "nonsense\n", "0123456789abcdef\n"};
    for (size_t i = 0; i < 3; i++) {
        liana__test_write("cache/data/set/a.gz.sha256", damaged[i], strlen(damaged[i]));
        assert_fails(fetch(&file, &path), LIANA_INVALID_DATA, &error, "a.gz.sha256", "SHA-256", "remove it");
    }
}

static void assert_structure_refused(const char *name, const void *content, size_t size, liana_status status)
{
    const char *path;
    liana__test_serve(name, content, size);
    const liana__known_file file = row(name);
    assert_fails(fetch(&file, &path), status, &error, "set/thing", file.url, "removed", in_cache(name, ""));
    assert_false(liana__file_exists(in_cache(name, "")));
    assert_false(liana__file_exists(in_cache(name, ".part")));
    assert_false(liana__file_exists(in_cache(name, ".sha256")));
}

static void test_structure(void **state)
{
    (void)state;
    static const char page[] = "<!DOCTYPE html>\n<html><body>Please log in.</body></html>\n";
    static const char *const names[] = {"a.gz", "a.h5", "a.tgz", "a.tar.gz", "a.zip", "a.bin"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_structure_refused(names[i], page, strlen(page), LIANA_INVALID_DATA);
        assert_structure_refused(names[i], "", 0, LIANA_DATA_LOSS);
    }
    char *data;
    size_t size;
    serve_gzip("whole.gz", 1);
    assert_ok(liana__file_read(liana__test_path("served/whole.gz"), 1 << 20, &data, &size, &error), &error);
    assert_structure_refused("a.gz", data, size - 1, LIANA_DATA_LOSS);
    assert_structure_refused("a.gz", data, size / 2, LIANA_DATA_LOSS);
    data[size / 2] ^= 1;
    assert_structure_refused("a.gz", data, size, LIANA_DATA_LOSS);
    data[size / 2] ^= 1;
    assert_structure_refused("a.tgz", data, size, LIANA_INVALID_DATA);
    free(data);
    assert_structure_refused("a.h5", "\x89HDF\r\n\x1a\n", 8, LIANA_INVALID_DATA);
}

/* ---- processes ---- */

static pid_t fetch_in_child(const liana__known_file *file)
{
    fflush(NULL);
    pid_t child = fork();
    assert_compare(child, >=, 0);
    if (child > 0) return child;
    const char *path;
    const liana_status status = fetch(file, &path);
    liana__test_write(liana__arena_format(&arena, "noted-%d", (int)getpid()), noted, strlen(noted));
    if (status != LIANA_OK) fprintf(stderr, "%s\n", error.message);
    _exit(status == LIANA_OK ? 0 : 1);
}

static void assert_succeeds(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_processes_fetch_once(void **state)
{
    (void)state;
    serve("a.bin", 1);
    const liana__known_file file = row_with_hash("a.bin");
    liana__test_server_forget();
    liana__test_server_fault("slow", 99);
    pid_t children[4];
    for (size_t i = 0; i < 4; i++) children[i] = fetch_in_child(&file);
    for (size_t i = 0; i < 4; i++) assert_succeeds(children[i]);
    assert_whole(in_cache("a.bin", ""), "a.bin");
    assert_int_equal(liana__test_server_requests("GET", NULL), 1);
    assert_int_equal(system(liana__arena_format(&arena, "cat '%s'/noted-* | grep -q waiting", liana__test_path("."))),
                     0);
}

static void test_killed_holders_are_no_obstacle(void **state)
{
    (void)state;
    const char *path;
    serve("a.bin", 1);
    const liana__known_file file = row_with_hash("a.bin");
    liana__test_server_fault("hang", 1);
    const pid_t holder = fetch_in_child(&file);
    for (int i = 0; i < 1000 && size_in_cache("a.bin", ".part") < SIZE / 2; i++) usleep(10000);
    assert_int_equal(size_in_cache("a.bin", ".part"), SIZE / 2);
    liana__known_look look;
    assert_ok(liana__known_look_at(&file, true, &arena, &look, &error), &error);
    assert_int_equal(look.state, LIANA__KNOWN_PARTIAL);
    /* One waits while the holder lives. */
    const pid_t waiter = fetch_in_child(&file);
    usleep(300000);
    assert_int_equal(waitpid(waiter, NULL, WNOHANG), 0);
    liana__test_server_forget();
    liana__test_stop(holder);
    assert_succeeds(waiter);
    assert_whole(in_cache("a.bin", ""), "a.bin");
    assert_int_equal(liana__test_server_requests("bytes=150000-", "206"), 1);
    assert_ok(fetch(&file, &path), &error);
}

static void test_stopped(void **state)
{
    (void)state;
    const char *path;
    serve("a.bin", 1);
    const liana__known_file file = row_with_hash("a.bin");
    liana__test_server_fault("slow", 1);
    goes_on = false;
    const liana_status status = fetch(&file, &path);
    goes_on = true;
    assert_fails(status, LIANA_CANCELLED, &error, "stopped");
    assert_true(liana__file_exists(in_cache("a.bin", ".part")));
    assert_fetched(&file, "a.bin");
}

/* ---- the cache ---- */

static void test_caches_that_cannot_be_written(void **state)
{
    (void)state;
    const char *path;
    serve("a.bin", 1);
    const liana__known_file file = row_with_hash("a.bin");
    liana__test_write("plain", "x", 1);
    setenv("LIANA_CACHE", liana__test_path("plain"), 1);
    assert_fails(fetch(&file, &path), LIANA_IO_ERROR, &error, "plain", "save it as", file.md5);
    setenv("LIANA_CACHE", "/proc/none", 1);
    assert_fails(fetch(&file, &path), LIANA_NOT_FOUND, &error, "/proc/none", "save it as");
    setenv("LIANA_CACHE", liana__test_path("cache"), 1);
    assert_fetched(&file, "a.bin");
    /* What is there is used. */
    assert_int_equal(chmod(in_cache("", ""), 0555), 0);
    assert_ok(fetch(&file, &path), &error);
    if (geteuid() != 0) {
        serve("b.bin", 2);
        const liana__known_file other = row_with_hash("b.bin");
        assert_fails(fetch(&other, &path), LIANA_IO_ERROR, &error, "b.bin", "Permission denied", "LIANA_CACHE");
    }
    assert_int_equal(chmod(in_cache("", ""), 0755), 0);
    unsetenv("LIANA_CACHE");
    unsetenv("HOME");
    assert_fails(fetch(&file, &path), LIANA_INVALID_CONFIG, &error, "LIANA_CACHE");
}

static void test_a_full_disk(void **state)
{
    (void)state;
    const char *path;
    serve("a.bin", 1);
    const liana__known_file file = row_with_hash("a.bin");
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){100000, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const liana_status status = fetch(&file, &path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_fails(status, LIANA_IO_ERROR, &error, in_cache("a.bin", ".part"), "limit on the size");
    assert_int_equal(size_in_cache("a.bin", ".part"), 100000);
    liana__test_server_forget();
    assert_fetched(&file, "a.bin");
    assert_int_equal(liana__test_server_requests("bytes=100000-", "206"), 1);
}

static void test_placed_by_hand(void **state)
{
    (void)state;
    const char *path;
    serve_gzip("a.gz", 1);
    liana__known_file file = row_with_hash("a.gz");
    assert_ok(liana__folder_make(in_cache("", ""), &error), &error);
    liana__test_server_forget();
    liana__test_write("cache/data/set/a.gz", "other", 5);
    assert_fails(fetch(&file, &path), LIANA_DATA_LOSS, &error, in_cache("a.gz", ""), file.md5, "remove it", file.url);
    assert_true(liana__file_exists(in_cache("a.gz", "")));
    file.md5 = NULL;
    assert_fails(fetch(&file, &path), LIANA_DATA_LOSS, &error, "a.gz");
    assert_false(liana__file_exists(in_cache("a.gz", ".sha256")));
    liana__test_write_gzip(in_cache("a.gz", ""), bytes, SIZE);
    /* A pin that cannot be written is told, and the file is used. */
    assert_ok(liana__folder_make(in_cache("a.gz", ".sha256.tmp"), &error), &error);
    assert_ok(fetch(&file, &path), &error);
    assert_says(noted, "cannot be pinned");
    assert_int_equal(rmdir(in_cache("a.gz", ".sha256.tmp")), 0);
    assert_ok(fetch(&file, &path), &error);
    assert_says(noted, hash_by("sha256sum", "a.gz"));
    assert_true(liana__file_exists(in_cache("a.gz", ".sha256")));
    assert_int_equal(liana__test_server_requests("GET", NULL), 0);
    liana__test_write_gzip(in_cache("a.gz", ""), bytes, SIZE - 1);
    assert_fails(fetch(&file, &path), LIANA_DATA_LOSS, &error, "pinned");
}

static void test_names_stay_in_the_cache(void **state)
{
    (void)state;
    static const char *const files[] = {"../a.bin", "data/../../a.bin", "/etc/a.bin", ".a.bin",  "data//a.bin", "",
                                        "data/",    "data/.a",          "a b",        "data/..", "~/a",         "a\n"};
    const char *path;
    serve("a.bin", 1);
    liana__known_file file = row_with_hash("a.bin");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        file.file = files[i];
        assert_fails(fetch(&file, &path), LIANA_INVALID_ARGUMENT, &error, "expected a path in the cache");
    }
}

static void test_the_table(void **state)
{
    (void)state;
    size_t count;
    const liana__known_file *files = liana__known_files(&count);
    assert_compare(count, >, 0);
    for (size_t i = 0; i < count; i++) {
        liana__known_place place;
        assert_ok(liana__known_place_find(&files[i], &arena, &place, &error), &error);
        assert_begins(files[i].url, "https://");
        if (files[i].md5) assert_int_equal(strspn(files[i].md5, "0123456789abcdef"), 32);
        if (files[i].sha256) assert_int_equal(strspn(files[i].sha256, "0123456789abcdef"), 64);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(files[i].name, files[k].name);
            assert_string_not_equal(files[i].file, files[k].file);
        }
    }
}

static int set_up(void **state)
{
    liana__test_server_set_up_https(state);
    unsetenv("LIANA_FETCH_BASE");
    return liana_context_create(&(liana_context_options){.num_threads = 1}, &context) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    liana_context_destroy(context);
    context = NULL;
    liana__arena_free(&arena);
    return liana__test_server_tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_fetched_once),
        TEST(test_cuts_are_resumed),
        TEST(test_parts_of_killed_processes),
        TEST(test_servers_that_begin_anew),
        TEST(test_other_content),
        TEST(test_servers_that_refuse),
        TEST(test_a_mirror),
        TEST(test_pins),
        TEST(test_structure),
        TEST(test_processes_fetch_once),
        TEST(test_killed_holders_are_no_obstacle),
        TEST(test_stopped),
        TEST(test_caches_that_cannot_be_written),
        TEST(test_a_full_disk),
        TEST(test_placed_by_hand),
        TEST(test_names_stay_in_the_cache),
        TEST(test_the_table),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
