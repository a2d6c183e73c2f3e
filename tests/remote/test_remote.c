/* Remote files: names, lists, credentials, the cache and possible failures, against the server in tests/remote. */
#include "harness/remote_server.h"
#include "harness/wait_until.h"

#include "base/text.h"
#include "remote/remote.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Small pieces and short delays, so that small files have many pieces and nothing takes long. */
static const liana__remote_options quick = {
    .piece_size = 1000, .connections = 4, .max_attempts = 4, .first_delay = 10, .stall_seconds = 300, .seed = 1};

/* For servers that do not answer. The speed of the others does not matter: received pieces are not asked for again. */
static liana__remote_options impatient(int max_attempts)
{
    liana__remote_options options = quick;
    options.stall_seconds = 1;
    options.max_attempts = max_attempts;
    return options;
}

enum { LARGE = 25500 };
static char large[LARGE];

static void fill_large(unsigned seed)
{
    for (size_t i = 0; i < LARGE; i++) large[i] = (char)((i * 2654435761u + seed * 97u) >> 13);
}

static int set_up(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_server_start();
    liana__test_server_environment();
    fill_large(1);
    liana__test_serve("large.bin", large, LARGE);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    liana__test_server_stop();
    return 0;
}

static liana__remote *create(const liana__remote_options *options)
{
    liana__error error = {0};
    liana__remote *remote;
    assert_ok(liana__remote_create(options, &remote, &error), &error);
    return remote;
}

static liana_status try_file(const char *name, const liana__remote_options *options, liana__error *error)
{
    liana__arena arena = {0};
    const char *path;
    liana__remote *remote = create(options);
    liana_status status = liana__remote_file(remote, name, &arena, &path, error);
    liana__remote_destroy(remote);
    liana__arena_free(&arena);
    return status;
}

static void assert_contents(const char *path, const char *bytes, size_t size)
{
    liana__error error = {0};
    char *data;
    size_t found;
    assert_ok(liana__file_read(path, 1 << 24, &data, &found, &error), &error);
    assert_int_equal(found, size);
    assert_memory_equal(data, bytes, size);
    free(data);
}

/* Fetches a name that is large.bin, and nothing goes wrong. */
static void fetch_large_with(const char *name, const liana__remote_options *options)
{
    liana__error error = {0};
    liana__arena arena = {0};
    const char *path;
    liana__remote *remote = create(options);
    assert_ok(liana__remote_file(remote, name, &arena, &path, &error), &error);
    assert_contents(path, large, LARGE);
    assert_string_equal(liana__remote_name(path), name);
    liana__remote_destroy(remote);
    assert_false(liana__file_exists(path));
    liana__arena_free(&arena);
}

static void fetch_large(const char *name)
{
    fetch_large_with(name, &quick);
}

static size_t count_files(const char *name)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__paths names;
    assert_ok(liana__folder_list(liana__test_path(name), &arena, &names, &error), &error);
    size_t count = names.count;
    liana__arena_free(&arena);
    return count;
}

/* ---- that it works ---- */

static void test_each_scheme_fetches_in_pieces(void **state)
{
    (void)state;
    const char *names[] = {liana__test_server_url("/web/large.bin"), "gs://bucket/large.bin", "s3://bucket/large.bin"};
    static const char *const paths[] = {"GET /web/large.bin", "alt=media", "GET /s3/bucket/large.bin"};
    for (int i = 0; i < 3; i++) {
        fetch_large(names[i]);
        size_t pieces = liana__test_server_requests(paths[i], " 206");
        assert_int_equal(pieces, 26 + (i == 0)); /* and for the web, one to ask how long it is */
        assert_int_equal(liana__test_server_requests(paths[i], "bytes=25000-25499 206"), 1);
    }
    /* Existing files are not fetched again, only asked about. */
    liana__test_server_forget();
    for (int i = 0; i < 3; i++) fetch_large(names[i]);
    assert_int_equal(liana__test_server_requests("", NULL), 3);
    assert_int_equal(count_files("cache/files"), 3);
    assert_int_equal(count_files("cache/views"), 0);
}

static void test_odd_names_and_sizes(void **state)
{
    (void)state;
    liana__error error = {0};
    static const char *const names[] = {"empty", "a b+c&d=e%20f", "caf\xc3\xa9/x~y.z", "deep/er/and/deeper"};
    for (size_t i = 0; i < 4; i++) liana__test_serve(names[i], "12345", i ? 5 : 0);
    liana__remote *remote = create(&quick);
    for (size_t i = 0; i < 8; i++) {
        liana__arena arena = {0};
        const char *path;
        const char *name = liana__arena_format(&arena, "%s://bucket/%s", i % 2 ? "gs" : "s3", names[i / 2]);
        assert_ok(liana__remote_file(remote, name, &arena, &path, &error), &error);
        assert_contents(path, "12345", i / 2 ? 5 : 0);
        liana__arena_free(&arena);
    }
    liana__arena arena = {0};
    const char *path;
    const char *url = liana__test_server_url("/web/empty?signature=hidden");
    assert_ok(liana__remote_file(remote, url, &arena, &path, &error), &error);
    assert_contents(path, "", 0);
    assert_never_says(path, "hidden");
    liana__remote_destroy(remote);
    liana__arena_free(&arena);
}

static void check_matches(const char *pattern, const char *const *expected)
{
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths paths;
    liana__remote *remote = create(&quick);
    assert_ok(liana__remote_resolve(remote, &pattern, 1, &arena, &paths, &error), &error);
    for (size_t i = 0; i < paths.count; i++) {
        assert_non_null(expected[i]);
        assert_string_equal(liana__remote_name(paths.items[i]) + strlen("gs://bucket/"), expected[i]);
        assert_contents(paths.items[i], expected[i], strlen(expected[i]));
    }
    assert_null(expected[paths.count]);
    liana__remote_destroy(remote);
    liana__arena_free(&arena);
}

#define MATCHES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_patterns_go_over_pages(void **state)
{
    (void)state;
    static const char *const names[] = {"d/a1.rec", "d/a2.rec",  "d/a3.rec",   "d/a4.rec",   "d/a5.rec",
                                        "d/b.rec",  "d/.hidden", "d/e/a1.rec", "d/f/a1.rec", "odd[1].rec"};
    for (size_t i = 0; i < 10; i++) liana__test_serve(names[i], names[i], strlen(names[i]));
    static const char *const schemes[] = {"gs", "s3"};
    for (int i = 0; i < 2; i++) {
        char pattern[64];
#define PATTERN(text) (snprintf(pattern, sizeof pattern, "%s://bucket/%s", schemes[i], text), pattern)
        check_matches(PATTERN("d/a*"), MATCHES("d/a1.rec", "d/a2.rec", "d/a3.rec", "d/a4.rec", "d/a5.rec"));
        check_matches(PATTERN("d/a[2-3].rec"), MATCHES("d/a2.rec", "d/a3.rec"));
        check_matches(PATTERN("d/?.rec"), MATCHES("d/b.rec"));
        check_matches(PATTERN("d/*/a1.rec"), MATCHES("d/e/a1.rec", "d/f/a1.rec"));
        check_matches(PATTERN("*/a5*"), MATCHES("d/a5.rec"));
        check_matches(PATTERN("odd[1].rec"), MATCHES("odd[1].rec")); /* there is a file that is called so */
    }
    assert_compare(liana__test_server_requests("pageToken=page-2", NULL), >, 0);
    assert_compare(liana__test_server_requests("continuation-token=", NULL), >, 0);
    assert_compare(liana__test_server_requests("delimiter=%2F", "prefix=d%2Fa"), >, 0);
}

static void test_folders_and_local_names(void **state)
{
    (void)state;
    static const char *const names[] = {"c/x/1.jpg", "c/y/1.jpg", "c/list.txt", "c/x/deep/2.jpg"};
    for (size_t i = 0; i < 4; i++) liana__test_serve(names[i], "z", 1);
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths paths;
    const char *const wanted[] = {"/local/file", "gs://bucket/c", "s3://bucket/c/", "relative*", "s3://bucket/c/x/*"};
    liana__remote *remote = create(&quick);
    assert_ok(liana__remote_resolve(remote, wanted, 5, &arena, &paths, &error), &error);
    assert_int_equal(paths.count, 5);
    assert_string_equal(paths.items[0], "/local/file");
    assert_string_equal(liana__remote_name(paths.items[1]), "gs://bucket/c");
    assert_string_equal(liana__remote_name(paths.items[2]), "s3://bucket/c");
    assert_string_equal(paths.items[3], "relative*");
    assert_string_equal(liana__remote_name(paths.items[4]), "s3://bucket/c/x/1.jpg");
    for (int i = 1; i < 3; i++) {
        liana__paths inside;
        assert_ok(liana__folder_list(paths.items[i], &arena, &inside, &error), &error);
        assert_int_equal(inside.count, 3);
        assert_string_equal(inside.items[1], "x");
        const char *x = liana__path_join(&arena, paths.items[i], "x");
        assert_ok(liana__folder_list(x, &arena, &inside, &error), &error);
        assert_int_equal(inside.count, 1);
    }
    /* Messages of the files' readers name the URLs. */
    liana__fail(&error, LIANA_DATA_LOSS, "'%s' is bad, and so is '%s'", paths.items[1], paths.items[4]);
    liana__remote_fail_within(remote, &error);
    assert_string_equal(error.message, "'gs://bucket/c' is bad, and so is 's3://bucket/c/x/1.jpg'");
    liana__remote_destroy(remote);
    liana__arena_free(&arena);
    assert_string_equal(liana__remote_name("/a/b"), "/a/b");
    assert_string_equal(liana__remote_name("gs://a/b"), "gs://a/b");
}

/* ---- faults that pass ---- */

static void test_faults_that_pass(void **state)
{
    (void)state;
    static const char *const kinds[] = {"503", "500", "429", "408", "cut", "short", "stall"};
    static const int counts[] = {6, 3, 3, 3, 6, 6, 1};
    for (size_t i = 0; i < 7; i++) {
        fill_large((unsigned)i + 2);
        liana__test_serve("large.bin", large, LARGE);
        liana__test_server_fault(kinds[i], counts[i]);
        liana__test_server_forget();
        liana__remote_options options = strcmp(kinds[i], "stall") == 0 ? impatient(100) : quick;
        fetch_large_with("gs://bucket/large.bin", &options);
        /* One that is not answered has no line. */
        bool late = strcmp(kinds[i], "stall") == 0;
        assert_compare(liana__test_server_requests("alt=media", NULL) + late, >, 26);
        /* Bytes that came are not asked for again. */
        if (strcmp(kinds[i], "cut") == 0) assert_compare(liana__test_server_requests("bytes=500-", NULL), >, 0);
    }
    liana__test_server_fault("503", 2);
    const char *web = liana__test_server_url("/web/large.bin");
    fetch_large(web);
}

/* A server without ranges sends all from the beginning, each time. */
static void test_servers_without_ranges(void **state)
{
    (void)state;
    liana__test_server_fault("norange", 100);
    fetch_large(liana__test_server_url("/web/large.bin"));
    assert_int_equal(liana__test_server_requests(" 206", NULL), 0);
}

/* A process that fetches large.bin piece by piece, killed when `pieces` have come. */
static void fetch_and_be_killed(size_t pieces)
{
    liana__test_server_fault("enough", (int)pieces);
    liana__test_server_forget();
    fflush(NULL);
    pid_t child = fork();
    assert_compare(child, >=, 0);
    if (child == 0) {
        liana__remote_options options = quick;
        options.connections = 1;
        _exit(try_file("gs://bucket/large.bin", &options, NULL) == LIANA_OK ? 0 : 1);
    }
    wait_until(liana__test_server_requests("alt=media", " 206") >= pieces);
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    liana__test_server_fault("none", 0);
}

static void test_a_fetch_goes_on_where_it_ended(void **state)
{
    (void)state;
    fetch_and_be_killed(11);
    assert_int_equal(count_files("cache/files"), 2);
    assert_int_equal(count_files("cache/views"), 1);
    fetch_large("gs://bucket/large.bin");
    /* Pieces that were under way come twice. */
    size_t all = liana__test_server_requests("alt=media", " 206");
    assert_compare(all, >=, 26);
    assert_compare(all, <=, 26 + 2);
    assert_int_equal(count_files("cache/files"), 1);
    assert_int_equal(count_files("cache/views"), 0);
}

/* A piece on disk that differs from the received one is fetched again. */
static void test_damaged_pieces_are_fetched_again(void **state)
{
    (void)state;
    fetch_and_be_killed(5);
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths names;
    assert_ok(liana__folder_list(liana__test_path("cache/files"), &arena, &names, &error), &error);
    size_t num_parts = 0;
    for (size_t i = 0; i < names.count; i++) {
        if (!liana__ends_with(names.items[i], ".part")) continue;
        const char *path = liana__path_join(&arena, liana__test_path("cache/files"), names.items[i]);
        int file = open(path, O_WRONLY);
        assert_int_equal(pwrite(file, "damage", 6, 1500), 6);
        close(file);
        num_parts++;
    }
    assert_int_equal(num_parts, 1);
    liana__arena_free(&arena);
    fetch_large("gs://bucket/large.bin");
    assert_int_equal(liana__test_server_requests("alt=media", "bytes=0-999 "), 1);
    assert_int_equal(liana__test_server_requests("alt=media", "bytes=1000-1999 "), 2);
}

/* ---- faults that stay ---- */

static void test_changed_and_wrong_bytes(void **state)
{
    (void)state;
    liana__error error = {0};
    const char *web = liana__test_server_url("/web/large.bin");
    /* More of each than requests are under way: those of a call that failed may still take some. */
    liana__test_server_fault("changed", 100);
    assert_fails(try_file("gs://bucket/large.bin", &quick, &error), LIANA_DATA_LOSS, &error, "'gs://bucket/large.bin'",
                 "changed on its server", "run again");
    liana__test_server_fault("length", 100);
    assert_fails(try_file("gs://bucket/large.bin", &quick, &error), LIANA_DATA_LOSS, &error, "changed on its server");
    liana__test_server_fault("corrupt", 100);
    assert_fails(try_file("gs://bucket/large.bin", &quick, &error), LIANA_DATA_LOSS, &error, "CRC-32C", "damaged",
                 "run again");
    liana__test_server_fault("norange", 100);
    assert_fails(try_file("gs://bucket/large.bin", &quick, &error), LIANA_DATA_LOSS, &error,
                 "other bytes than requested", "HTTP 200");
    liana__test_server_fault("503", 1000);
    assert_fails(try_file("gs://bucket/large.bin", &quick, &error), LIANA_IO_ERROR, &error, "the server failed",
                 "HTTP 503 Service Unavailable", "tried 4 times", "later");
    liana__test_server_fault("cut", 1000);
    liana__remote_options few = quick;
    few.max_attempts = 2;
    assert_fails(try_file("gs://bucket/large.bin", &few, &error), LIANA_IO_ERROR, &error, "too early", "tried 2 times",
                 "run again to go on");
    few = impatient(2);
    liana__test_server_fault("stall", 1000);
    assert_fails(try_file("gs://bucket/large.bin", &few, &error), LIANA_IO_ERROR, &error, "too slow");
    /* The ETag of S3 is the MD5. Its first request only asks. */
    liana__test_server_fault("corrupt", 1000);
    assert_fails(try_file("s3://bucket/large.bin", &quick, &error), LIANA_DATA_LOSS, &error, "MD5");
    liana__test_server_fault("none", 0);
    fetch_large("gs://bucket/large.bin");
    fetch_large(web);
}

static void test_a_file_that_changes_while_it_is_used(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__arena arena = {0};
    const char *path, *again;
    liana__remote *remote = create(&quick);
    assert_ok(liana__remote_file(remote, "gs://bucket/large.bin", &arena, &path, &error), &error);
    char old[LARGE];
    memcpy(old, large, LARGE);
    fill_large(5);
    liana__test_serve("large.bin", large, LARGE);
    assert_fails(liana__remote_file(remote, "gs://bucket/large.bin", &arena, &again, &error), LIANA_DATA_LOSS, &error,
                 "'gs://bucket/large.bin' changed");
    assert_contents(path, old, LARGE);
    liana__remote_destroy(remote);
    fetch_large("gs://bucket/large.bin");
    liana__arena_free(&arena);
}

/* ---- messages ---- */

static void test_what_is_not_there(void **state)
{
    (void)state;
    liana__error error = {0};
    assert_fails(try_file(liana__test_server_url("/web/none"), &quick, &error), LIANA_NOT_FOUND, &error, "/web/none'",
                 "404 Not Found", "check the name");
    assert_fails(try_file("gs://bucket/none", &quick, &error), LIANA_NOT_FOUND, &error, "'gs://bucket/none'",
                 "No such object");
    assert_fails(try_file("s3://bucket/none", &quick, &error), LIANA_NOT_FOUND, &error, "'s3://bucket/none'", "404");
    assert_fails(try_file("gs://bucket/folder/", &quick, &error), LIANA_INVALID_ARGUMENT, &error, "is a folder");
    liana__remote *remote = create(&quick);
    liana__arena arena = {0};
    liana__paths paths;
    static const char *const names[] = {"gs://bucket/no*", "s3://bucket/no*", "s3://bucket/no", "s3://none/x*"};
    static const char *const texts[] = {"no file matches 'gs://bucket/no*'", "no file matches 's3://bucket/no*'",
                                        "none below it", "NoSuchBucket"};
    for (size_t i = 0; i < 4; i++) {
        assert_fails(liana__remote_resolve(remote, &names[i], 1, &arena, &paths, &error), LIANA_NOT_FOUND, &error,
                     texts[i]);
    }
    liana__remote_destroy(remote);
    liana__arena_free(&arena);
    assert_fails(try_file("s3://elsewhere/x", &quick, &error), LIANA_INVALID_CONFIG, &error, "eu-north-1",
                 "AWS_REGION");
}

static void test_names_that_cannot_be(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__remote *remote = create(&quick);
    liana__arena arena = {0};
    liana__paths paths;
    static const struct {
        const char *name;
        const char *text;
    } cases[] = {
        {"ftp://host/file", "'ftp://' cannot be read"},
        {"htps://host/file", "did you mean 'https'"},
        {"http://example.com/file", "use https://"},
        {"http://127.0.0.1.example.com/file", "use https://"},
        {"https://user:secret@example.com/file", "~/.netrc"},
        {"https:///file", "has no server name"},
        {"https://example.com/*.tfrec", "name each file"},
        {"gs://Bucket/file", "'Bucket' is not the name of a bucket"},
        {"s3:///file", "not the name of a bucket"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(liana__remote_resolve(remote, &cases[i].name, 1, &arena, &paths, &error), LIANA_INVALID_ARGUMENT,
                     &error, cases[i].text);
        assert_never_says(error.message, "secret");
    }
    liana__remote_destroy(remote);
    liana__arena_free(&arena);
}

static void test_no_connection(void **state)
{
    (void)state;
    liana__error error = {0};
    const char *url = liana__test_server_url("/web/large.bin");
    liana__test_server_stop();
    assert_fails(try_file(url, &quick, &error), LIANA_IO_ERROR, &error, "/web/large.bin'", "tried 4 times",
                 "is the server running");
}

/* Where no server was ever found, the name is wrong or there is no network: that is not waited for. */
static void test_a_host_that_is_not_there(void **state)
{
    (void)state;
    liana__error error = {0};
    assert_fails(try_file("https://no-such-host.invalid/x", NULL, &error), LIANA_IO_ERROR, &error,
                 "no-such-host.invalid", "check the spelling");
    assert_never_says(error.message, "tried");
}

/* ---- the cache ---- */

static liana__remote_options limited(uint64_t limit)
{
    liana__remote_options options = quick;
    options.cache_limit = limit;
    return options;
}

static void test_the_least_recently_used_goes(void **state)
{
    (void)state;
    liana__error error = {0};
    static const char *const names[] = {"gs://bucket/1", "gs://bucket/2", "gs://bucket/3"};
    char bytes[40960];
    for (int i = 0; i < 3; i++) {
        memset(bytes, 'a' + i, sizeof bytes);
        char name[2] = {(char)('1' + i), 0};
        liana__test_serve(name, bytes, sizeof bytes);
    }
    liana__remote_options options = limited(2 * sizeof bytes + 8192);
    for (int i = 0; i < 2; i++) assert_ok(try_file(names[i], &options, &error), &error);
    usleep(20000);
    assert_ok(try_file(names[0], &options, &error), &error);
    assert_ok(try_file(names[2], &options, &error), &error);
    assert_int_equal(count_files("cache/files"), 2);
    liana__test_server_forget();
    assert_ok(try_file(names[0], &options, &error), &error);
    assert_int_equal(liana__test_server_requests("alt=media", NULL), 0);
    assert_ok(try_file(names[1], &options, &error), &error);
    assert_compare(liana__test_server_requests("alt=media", NULL), >, 0);
    /* A file that any process uses stays, and one that does not fit is told before it is fetched. */
    liana__arena arena = {0};
    const char *path, *other;
    liana__remote *user = create(&options), *second = create(&options);
    assert_ok(liana__remote_file(user, names[0], &arena, &path, &error), &error);
    assert_ok(liana__remote_file(second, names[1], &arena, &other, &error), &error);
    liana__test_server_forget();
    assert_fails(try_file(names[2], &options, &error), LIANA_OUT_OF_RANGE, &error, "may hold",
                 "data.remote_cache_limit");
    assert_int_equal(liana__test_server_requests("alt=media", NULL), 0);
    memset(bytes, 'a', sizeof bytes);
    assert_contents(path, bytes, sizeof bytes);
    liana__remote_destroy(user);
    assert_ok(try_file(names[2], &options, &error), &error);
    memset(bytes, 'b', sizeof bytes);
    assert_contents(other, bytes, sizeof bytes);
    liana__remote_destroy(second);
    liana__arena_free(&arena);
    options = limited(1000);
    assert_fails(try_file("gs://bucket/large.bin", &options, &error), LIANA_OUT_OF_RANGE, &error, "may hold");
}

/* Processes that want the same file fetch it once between them. */
static void test_processes_share_the_cache(void **state)
{
    (void)state;
    enum { PROCESSES = 4 };
    pid_t processes[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        fflush(NULL);
        processes[i] = fork();
        assert_compare(processes[i], >=, 0, i);
        if (processes[i] > 0) continue;
        liana__error error = {0};
        liana__arena arena = {0};
        const char *path;
        liana__remote *remote;
        char *data = NULL;
        size_t size = 0;
        bool fine = liana__remote_create(&quick, &remote, &error) == LIANA_OK &&
                    liana__remote_file(remote, "s3://bucket/large.bin", &arena, &path, &error) == LIANA_OK &&
                    liana__file_read(path, 1 << 20, &data, &size, &error) == LIANA_OK && size == LARGE &&
                    memcmp(data, large, LARGE) == 0;
        _exit(fine ? 0 : 1);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        waitpid(processes[i], &status, 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(liana__test_server_requests("GET /s3/bucket/large.bin", " 206"), 26);
    /* The views that they left are gone with the next one. */
    assert_int_equal(count_files("cache/views"), PROCESSES);
    fetch_large("s3://bucket/large.bin");
    assert_int_equal(count_files("cache/views"), 0);
    /* The same file twice in one list. */
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths paths;
    fill_large(77);
    liana__test_serve("large.bin", large, LARGE);
    liana__remote *remote = create(&quick);
    const char *const twice[] = {"s3://bucket/large.bin", "s3://bucket/large*", "s3://bucket/large.bin"};
    assert_ok(liana__remote_resolve(remote, twice, 3, &arena, &paths, &error), &error);
    assert_int_equal(paths.count, 3);
    assert_string_equal(paths.items[0], paths.items[2]);
    assert_contents(paths.items[1], large, LARGE);
    liana__remote_destroy(remote);
    liana__arena_free(&arena);
}

static bool stop_at_once(void *user, const liana__remote_progress *progress)
{
    *(liana__remote_progress *)user = *progress;
    return progress->files_done == progress->files;
}

static void test_progress_and_stopping(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__remote_progress seen = {0};
    liana__remote_options options = quick;
    options.progress = stop_at_once;
    options.user = &seen;
    liana__test_server_fault("stall", 1);
    assert_fails(try_file("gs://bucket/large.bin", &options, &error), LIANA_CANCELLED, &error, "are kept");
    assert_int_equal(seen.files, 1);
    assert_int_equal(seen.bytes, LARGE);
    assert_compare(seen.bytes_done, <, LARGE);
    liana__test_server_fault("none", 0);
    liana__test_serve("quick", "1234", 4);
    assert_ok(try_file("gs://bucket/quick", &options, &error), &error);
    assert_int_equal(seen.files_done, 1);
    assert_int_equal(seen.bytes_done, 4);
}

static void test_caches_that_cannot_be(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__remote *remote;
    liana__arena arena = {0};
    const char *path;
    liana__test_write("file", "x", 1);
    liana__test_serve("a", "1", 1);
    liana__remote_options options = {.cache_folder = liana__test_path("file")};
    assert_fails(try_file("gs://bucket/a", &options, &error), LIANA_IO_ERROR, &error, "data.remote_cache",
                 "LIANA_CACHE");
    unsetenv("LIANA_CACHE");
    unsetenv("HOME");
    assert_fails(try_file("gs://bucket/a", NULL, &error), LIANA_INVALID_CONFIG, &error, "LIANA_CACHE", "HOME");
    setenv("XDG_CACHE_HOME", liana__test_path("xdg"), 1);
    /* A remote without URLs makes no folders. */
    assert_ok(liana__remote_create(NULL, &remote, &error), &error);
    assert_ok(liana__remote_file(remote, "local", &arena, &path, &error), &error);
    assert_string_equal(path, "local");
    assert_false(liana__folder_exists(liana__test_path("xdg/liana")));
    assert_ok(liana__remote_file(remote, "gs://bucket/a", &arena, &path, &error), &error);
    liana__remote_destroy(remote);
    liana__arena_free(&arena);
    assert_true(liana__folder_exists(liana__test_path("xdg/liana/files")));
}

/* Many files together, each of which may be missing. */
static void test_files_of_which_some_are_missing(void **state)
{
    (void)state;
    enum { MANY = 150 };
    liana__remote_file_of_many files[MANY];
    char names[MANY][300], text[20];
    for (int i = 0; i < MANY; i++) {
        const char *const starts[] = {"gs://bucket", "s3://bucket", liana__test_server_url("/web")};
        snprintf(names[i], sizeof names[i], "%s/many/%d", starts[i % 3], i);
        files[i] = (liana__remote_file_of_many){.name = names[i]};
        snprintf(text, sizeof text, "number %d", i);
        if (i % 10 != 4) liana__test_serve(strstr(names[i], "many/"), text, strlen(text));
    }
    strcpy(names[7], "gs://BUCKET/x");
    strcpy(names[8], "/a/local/file");
    liana__remote *remote;
    liana__arena arena = {0};
    liana__error error = {0};
    assert_ok(liana__remote_create(&quick, &remote, &error), &error);
    assert_ok(liana__remote_files(remote, files, MANY, &arena, &error), &error);
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "number %d", i);
        if (i == 7) {
            assert_int_equal(files[i].status, LIANA_INVALID_ARGUMENT);
            assert_says(files[i].reason, "not the name of a bucket");
        } else if (i == 8) {
            assert_string_equal(files[i].path, names[i]);
        } else if (i % 10 == 4) {
            assert_int_equal(files[i].status, LIANA_NOT_FOUND);
            assert_says(files[i].reason, names[i]);
        } else {
            assert_int_equal(files[i].status, LIANA_OK);
            assert_contents(files[i].path, text, strlen(text));
        }
    }
    /* Damage is one file's own as well; a server that fails is everybody's. */
    liana__test_serve("many/0", "another", 7);
    liana__test_serve("many/3", "another", 7);
    liana__test_server_fault("corrupt", 1);
    files[0] = (liana__remote_file_of_many){.name = names[0]};
    liana__remote *other;
    assert_ok(liana__remote_create(&quick, &other, &error), &error);
    assert_ok(liana__remote_files(other, files, 1, &arena, &error), &error);
    assert_int_equal(files[0].status, LIANA_DATA_LOSS);
    assert_says(files[0].reason, "many/0");
    liana__test_server_fault("503", 100);
    files[3] = (liana__remote_file_of_many){.name = names[3]};
    assert_fails(liana__remote_files(other, &files[3], 1, &arena, &error), LIANA_IO_ERROR, &error, "many/3", "503");
    liana__remote_destroy(other);
    liana__remote_destroy(remote);
    liana__arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_each_scheme_fetches_in_pieces),
        TEST(test_odd_names_and_sizes),
        TEST(test_patterns_go_over_pages),
        TEST(test_folders_and_local_names),
        TEST(test_faults_that_pass),
        TEST(test_servers_without_ranges),
        TEST(test_a_fetch_goes_on_where_it_ended),
        TEST(test_damaged_pieces_are_fetched_again),
        TEST(test_changed_and_wrong_bytes),
        TEST(test_a_file_that_changes_while_it_is_used),
        TEST(test_what_is_not_there),
        TEST(test_names_that_cannot_be),
        TEST(test_no_connection),
        TEST(test_a_host_that_is_not_there),
        TEST(test_the_least_recently_used_goes),
        TEST(test_processes_share_the_cache),
        TEST(test_progress_and_stopping),
        TEST(test_caches_that_cannot_be),
        TEST(test_files_of_which_some_are_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
