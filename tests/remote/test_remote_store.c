/* Objects that are written: that they are whole, repetitions and refusals, against tests/remote. */
#include "harness/remote_server.h"

#include "base/file.h"
#include "remote/store.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Small parts and short delays. GCS's chunks are 256 KiB at least. */
static const liana__remote_options quick = {
    .piece_size = 10000, .max_attempts = 4, .first_delay = 10, .stall_seconds = 300, .seed = 1, .writes = true};

enum { SMALL = 5000, PARTS = 65000, CHUNKS = 530000, LARGEST = CHUNKS };
static char bytes[LARGEST];

/* An object of each kind of request. */
typedef struct object_kind {
    const char *url;
    const char *served;
    size_t size;
} object_kind;
static const object_kind KINDS[] = {
    {"s3://bucket/results/small", "served/results/small", SMALL},
    {"s3://bucket/results/parts", "served/results/parts", PARTS},
    {"gs://bucket/results/one", "served/results/one", SMALL},
    {"gs://bucket/results/chunks", "served/results/chunks", CHUNKS},
};
enum { NUM_KINDS = sizeof KINDS / sizeof *KINDS };

static int set_up(void **state)
{
    for (size_t i = 0; i < LARGEST; i++) bytes[i] = (char)((i * 2654435761u) >> 13);
    return liana__test_server_set_up(state);
}

static liana_status put_with(const liana__remote_options *options, const char *url, const void *data, size_t size,
                             liana__error *error)
{
    liana__remote *remote;
    assert_ok(liana__remote_create(options, &remote, error), error);
    liana_status status = liana__store_bytes(remote, url, data, size, error);
    liana__remote_destroy(remote);
    return status;
}

static liana_status put(const object_kind *kind, liana__error *error)
{
    return put_with(&quick, kind->url, bytes, kind->size, error);
}

static bool is_served(const char *name)
{
    return liana__file_exists(liana__test_path(name));
}

static void assert_served(const char *name, const void *expected, size_t size)
{
    char *data;
    size_t found;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path(name), 1 << 24, &data, &found, &error), &error);
    assert_int_equal(found, size);
    assert_memory_equal(data, expected, size);
    free(data);
}

/* ---- that it works ---- */

static void test_objects_are_written(void **state)
{
    (void)state;
    liana__error error = {0};
    for (int i = 0; i < NUM_KINDS; i++) {
        assert_ok(put(&KINDS[i], &error), &error);
        assert_served(KINDS[i].served, bytes, KINDS[i].size);
    }
    assert_int_equal(liana__test_server_requests("PUT /s3/bucket/results/small", " 200"), 1);
    assert_int_equal(liana__test_server_requests("PUT /s3/bucket/results/parts?partNumber=", " 200"), 7);
    assert_int_equal(liana__test_server_requests("POST /s3/bucket/results/parts", " 200"), 2);
    assert_int_equal(liana__test_server_requests("PUT /session/", " 308"), 2);
    assert_int_equal(liana__test_server_requests("PUT /session/", " 200"), 2);
    /* No bytes, other bytes in the place of the first, and a name with everything in it. */
    static const char *const stores[] = {"s3", "gs"};
    for (int i = 0; i < 2; i++) {
        char url[100];
        snprintf(url, sizeof url, "%s://bucket/empty-%s", stores[i], stores[i]);
        assert_ok(put_with(&quick, url, NULL, 0, &error), &error);
        snprintf(url, sizeof url, "%s://bucket/results/small", stores[i]);
        assert_ok(put_with(&quick, url, "new", 3, &error), &error);
        assert_served("served/results/small", "new", 3);
        snprintf(url, sizeof url, "%s://bucket/a b+c&d=e%%41~\xc3\xa9/x", stores[i]);
        assert_ok(put_with(&quick, url, url, strlen(url), &error), &error);
        assert_served("served/a b+c&d=e%41~\xc3\xa9/x", url, strlen(url));
    }
    assert_served("served/empty-s3", "", 0);
    assert_served("served/empty-gs", "", 0);
}

static void test_a_session_token_is_signed(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_server_stop();
    setenv("TEST_SESSION_TOKEN", "of-the-session", 1);
    liana__test_server_start();
    setenv("AWS_ENDPOINT_URL", liana__test_server_url("/s3"), 1);
    setenv("AWS_SESSION_TOKEN", "of-the-session", 1);
    for (int i = 0; i < 2; i++) assert_ok(put(&KINDS[i], &error), &error);
    assert_served(KINDS[1].served, bytes, KINDS[1].size);
    unsetenv("TEST_SESSION_TOKEN");
}

static void test_lists_and_removal(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__remote *remote;
    liana__arena arena = {0};
    liana__paths names;
    static const char *const stores[] = {"s3", "gs"};
    assert_ok(liana__remote_create(&quick, &remote, &error), &error);
    for (int i = 0; i < 2; i++) {
        char url[100];
        static const char *const keys[] = {"run/b", "run/a/x", "run/a-1", "runs/c"};
        for (int k = 0; k < 4; k++) liana__test_serve(keys[k], "1", 1);
        snprintf(url, sizeof url, "%s://bucket/run", stores[i]);
        assert_ok(liana__store_list(remote, url, &arena, &names, &error), &error);
        assert_int_equal(names.count, 3);
        assert_string_equal(names.items[0], "a-1");
        assert_string_equal(names.items[1], "a/x");
        assert_string_equal(names.items[2], "b");
        snprintf(url, sizeof url, "%s://bucket/run/a/x", stores[i]);
        for (int times = 0; times < 2; times++) assert_ok(liana__store_remove(remote, url, &error), &error);
        assert_false(is_served("served/run/a/x"));
        snprintf(url, sizeof url, "%s://bucket/none", stores[i]);
        assert_ok(liana__store_list(remote, url, &arena, &names, &error), &error);
        assert_int_equal(names.count, 0);
    }
    liana__remote_destroy(remote);
    liana__arena_free(&arena);
}

/* ---- failures that are repeated ---- */

static void test_failures_on_the_way(void **state)
{
    (void)state;
    static const char *const faults[] = {"put-500",  "put-503",  "put-429",     "put-reset",
                                         "put-lost", "put-late", "put-corrupt", "put-slow"};
    for (int i = 0; i < NUM_KINDS; i++) {
        for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
            liana__error error = {0};
            /* GCS begins a session again after damaged bytes: it has been told of the whole object. */
            remove(liana__test_path(KINDS[i].served));
            liana__test_server_fault(faults[k], 2);
            if (put(&KINDS[i], &error) != LIANA_OK) {
                print_error("%s, %s: %s\n", KINDS[i].url, faults[k], error.message);
                fail();
            }
            assert_served(KINDS[i].served, bytes, KINDS[i].size);
        }
    }
    static const char *const ends[] = {"end-500", "end-lost", "end-error", "end-reset"};
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        liana__error error = {0};
        remove(liana__test_path(KINDS[1].served));
        liana__test_server_fault(ends[k], 1);
        assert_ok(put(&KINDS[1], &error), &error);
        assert_served(KINDS[1].served, bytes, KINDS[1].size);
    }
    /* After a chunk was lost, the server is asked for its bytes, and none that it has is sent again. */
    liana__error error = {0};
    liana__test_server_forget();
    liana__test_server_fault("put-late", 1);
    assert_ok(put(&KINDS[3], &error), &error);
    assert_int_equal(liana__test_server_requests("PUT /session/", "bytes */530000 308"), 1);
    assert_int_equal(liana__test_server_requests("PUT /session/", "bytes 0-262143/530000 308"), 1);
}

/* ---- failures that are given up ---- */

static void test_failures_that_stay(void **state)
{
    (void)state;
    static const char *const faults[] = {"put-503", "put-reset", "put-corrupt"};
    for (int i = 0; i < NUM_KINDS; i++) {
        for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
            liana__error error = {0};
            liana__test_server_forget();
            liana__test_server_fault(faults[k], 100000);
            assert_fails(put(&KINDS[i], &error), LIANA_IO_ERROR, &error, "cannot write '", KINDS[i].url);
            assert_false(is_served(KINDS[i].served));
            /* Parts that were sent would cost money. */
            assert_int_equal(liana__test_server_requests("DELETE /s3/bucket/results/parts?uploadId=", " 204"), i == 1);
        }
    }
    liana__error error = {0};
    liana__test_server_fault("put-503", 100000);
    assert_fails(put(&KINDS[0], &error), LIANA_IO_ERROR, &error, "tried 4 times", "HTTP 503");
    liana__test_server_fault("end-500", 100000);
    assert_fails(put(&KINDS[1], &error), LIANA_IO_ERROR, &error, "HTTP 500");
    assert_false(is_served(KINDS[1].served));
    /* An object that was there stays as it was. */
    liana__test_serve("results/parts", "before", 6);
    liana__test_server_fault("put-503", 100000);
    assert_fails(put(&KINDS[1], &error), LIANA_IO_ERROR, &error, "HTTP 503");
    assert_served(KINDS[1].served, "before", 6);
}

static void test_servers_that_fall_silent(void **state)
{
    (void)state;
    liana__remote_options impatient = quick;
    impatient.stall_seconds = 1;
    impatient.max_attempts = 2;
    liana__error error = {0};
    /* Small ones: libcurl takes a mean over some seconds. */
    for (int i = 0; i < NUM_KINDS; i += 2) {
        liana__test_server_fault("put-stall", 100000);
        assert_fails(put_with(&impatient, KINDS[i].url, bytes, KINDS[i].size, &error), LIANA_IO_ERROR, &error,
                     "cannot write '", KINDS[i].url, "too slow");
        assert_false(is_served(KINDS[i].served));
        liana__test_server_fault("put-stall", 1);
        assert_ok(put_with(&impatient, KINDS[i].url, bytes, KINDS[i].size, &error), &error);
        assert_served(KINDS[i].served, bytes, KINDS[i].size);
    }
    /* No server at all. */
    liana__test_server_stop();
    assert_fails(put(&KINDS[0], &error), LIANA_IO_ERROR, &error, "cannot write 's3://bucket/results/small'",
                 "tried 4 times");
    assert_fails(put(&KINDS[3], &error), LIANA_IO_ERROR, &error, "cannot write 'gs://bucket/results/chunks'",
                 "tried 4 times");
}

static void assert_refused_put(const char *url, liana_status expected, const char *first, const char *second)
{
    liana__error error = {0};
    assert_fails(put_with(&quick, url, "x", 1, &error), expected, &error, url, first, second);
}

static void test_refusals(void **state)
{
    (void)state;
    assert_refused_put("s3://readonly/x", LIANA_IO_ERROR, "AccessDenied: Access Denied", "s3:PutObject");
    assert_refused_put("gs://readonly/x", LIANA_IO_ERROR, "storage.objects.create", "GOOGLE_OAUTH_ACCESS_TOKEN");
    assert_refused_put("s3://missing/x", LIANA_NOT_FOUND, "cannot write", "NoSuchBucket");
    assert_refused_put("gs://missing/x", LIANA_NOT_FOUND, "cannot write", "bucket does not exist");
    assert_refused_put("s3://bucket/folder/", LIANA_INVALID_ARGUMENT, "is a folder", "expected a file");
    assert_refused_put("gs://bucket/a*", LIANA_INVALID_ARGUMENT, "is a pattern", "expected the name of a result");
    assert_refused_put("https://example.com/x", LIANA_INVALID_ARGUMENT, "cannot write to", "gs://");
    liana__error error = {0};
    assert_fails(put_with(&quick, "ftp://example.com/x", "x", 1, &error), LIANA_INVALID_ARGUMENT, &error, "'ftp://'",
                 "https, gs or s3");
    setenv("AWS_SECRET_ACCESS_KEY", "another", 1);
    assert_refused_put("s3://bucket/x", LIANA_IO_ERROR, "SignatureDoesNotMatch", "AKIA...");
    unsetenv("AWS_ACCESS_KEY_ID");
    unsetenv("AWS_SECRET_ACCESS_KEY");
    assert_refused_put("s3://bucket/x", LIANA_IO_ERROR, "without credentials", "AWS_ACCESS_KEY_ID");
    unsetenv("GOOGLE_OAUTH_ACCESS_TOKEN");
    assert_refused_put("gs://bucket/x", LIANA_IO_ERROR, "without credentials", "gcloud auth");
    assert_false(is_served("served/x"));
}

/* ---- processes that are killed ---- */

static void write_until_killed(const object_kind *kind)
{
    liana__error error = {0};
    liana__remote_options patient = quick;
    patient.stall_seconds = 100;
    liana_status status = put_with(&patient, kind->url, bytes, kind->size, &error);
    _exit(status == LIANA_OK ? 0 : 1);
}

static void test_a_killed_writer_leaves_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_KINDS; i++) {
        const int answered = i % 2 ? 2 : 0;
        liana__test_server_forget();
        liana__test_server_fault("put-enough", answered);
        fflush(NULL);
        pid_t writer = fork();
        if (writer == 0) write_until_killed(&KINDS[i]);
        for (int waited = 0; waited < 2000; waited++) {
            if ((int)liana__test_server_requests("PUT ", NULL) >= answered &&
                (i % 2 || liana__test_server_requests("POST ", NULL) || waited > 50)) {
                break;
            }
            usleep(10000);
        }
        kill(writer, SIGKILL);
        waitpid(writer, NULL, 0);
        assert_false(is_served(KINDS[i].served));
        liana__error error = {0};
        liana__test_server_fault("none", 0);
        assert_ok(put(&KINDS[i], &error), &error);
        assert_served(KINDS[i].served, bytes, KINDS[i].size);
    }
}

/* ---- files ---- */

static void test_files(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__remote *remote;
    const char *path = liana__test_write("local", bytes, PARTS);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    assert_compare(descriptor, >=, 0);
    assert_ok(liana__remote_create(&quick, &remote, &error), &error);
    /* The file is gone from its folder: the opened one is sent. */
    unlink(path);
    assert_ok(liana__store_file(remote, "s3://bucket/from-file", descriptor, path, &error), &error);
    assert_ok(liana__store_file(remote, "gs://bucket/from-file-too", descriptor, path, &error), &error);
    close(descriptor);
    assert_served("served/from-file", bytes, PARTS);
    assert_served("served/from-file-too", bytes, PARTS);
    assert_fails(liana__store_file(remote, "s3://bucket/x", descriptor, path, &error), LIANA_IO_ERROR, &error, path);
    liana__remote_destroy(remote);
    /* A name that may be either. */
    assert_ok(liana__store_replace(liana__test_path("here"), "1", 1, &error), &error);
    assert_ok(liana__store_replace("gs://bucket/there", "2", 1, &error), &error);
    assert_true(is_served("here"));
    assert_served("served/there", "2", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, liana__test_server_tear_down)
        TEST(test_objects_are_written),
        TEST(test_a_session_token_is_signed),
        TEST(test_lists_and_removal),
        TEST(test_failures_on_the_way),
        TEST(test_failures_that_stay),
        TEST(test_servers_that_fall_silent),
        TEST(test_refusals),
        TEST(test_a_killed_writer_leaves_nothing),
        TEST(test_files),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
