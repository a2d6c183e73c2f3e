/* Folders that are sent to buckets by a thread: the sent files, their order, and the remains of a failure. */
#include "harness/remote_server.h"
#include "harness/wait_until.h"

#include "base/clock.h"
#include "base/file.h"
#include "remote/outlet.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const liana__remote_options quick = {
    .piece_size = 3000, .max_attempts = 3, .first_delay = 10, .stall_seconds = 300, .seed = 1};

static liana__outlet *open_outlet(const char *url, bool fresh)
{
    liana__outlet *outlet;
    liana__error error = {0};
    assert_ok(liana__outlet_open(&(liana__outlet_options){.url = url,
                                                          .last = "state.json",
                                                          .fresh = fresh,
                                                          .hint = "run it again",
                                                          .remote = &quick},
                                 &outlet, &error),
              &error);
    return outlet;
}

/* Writes a file as everything in liana does: under another name first. */
static void write_file(const liana__outlet *outlet, const char *name, const void *data, size_t size)
{
    liana__arena arena = {0};
    liana__error error = {0};
    const char *path = liana__path_join(&arena, liana__outlet_folder(outlet), name);
    assert_ok(liana__folder_make(liana__path_folder(&arena, path), &error), &error);
    assert_ok(liana__file_replace(path, data, size, &error), &error);
    liana__arena_free(&arena);
}

static void remove_below(const liana__outlet *outlet, const char *name)
{
    liana__arena arena = {0};
    liana__error error = {0};
    assert_ok(liana__folder_remove(liana__path_join(&arena, liana__outlet_folder(outlet), name), &error), &error);
    liana__arena_free(&arena);
}

static void flush_outlet(liana__outlet *outlet)
{
    liana__error error = {0};
    assert_ok(liana__outlet_flush(outlet, &error), &error);
}

static bool is_served(const char *name)
{
    return liana__file_exists(liana__test_path(name));
}

static void assert_served(const char *name, const char *expected)
{
    char *data;
    size_t found;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path(name), 1 << 24, &data, &found, &error), &error);
    assert_int_equal(found, strlen(expected));
    assert_memory_equal(data, expected, found);
    free(data);
}

/* The number of the first line of the log that has both texts; -1: none. */
static int line_of(const char *text, const char *also)
{
    FILE *log = fopen(liana__test_path("requests"), "r");
    char line[2048];
    int found = -1;
    for (int i = 0; log && found < 0 && fgets(line, sizeof line, log); i++) {
        if (strstr(line, text) && strstr(line, also)) found = i;
    }
    if (log) fclose(log);
    return found;
}

static void assert_order(const char *text, const char *first, const char *second)
{
    int a = line_of(text, first), b = line_of(text, second);
    if (a >= 0 && b > a) return;
    print_error("%s: '%s' is in line %d, '%s' in line %d\n", text, first, a, second, b);
    fail();
}

static size_t count_left(void)
{
    liana__arena arena = {0};
    liana__paths names;
    liana_status status = liana__folder_list(liana__test_path("cache/out"), &arena, &names, NULL);
    size_t count = status == LIANA_OK ? names.count : 0;
    liana__arena_free(&arena);
    return count;
}

static void test_what_is_sent(void **state)
{
    (void)state;
    liana__outlet *outlet = open_outlet("s3://bucket/run/", true);
    assert_string_equal(liana__outlet_url(outlet), "s3://bucket/run");
    assert_string_equal(liana__remote_name(liana__outlet_folder(outlet)), "s3://bucket/run");
    write_file(outlet, "config.yaml", "1", 1);
    write_file(outlet, "steps/step-1/state.json", "2", 1);
    write_file(outlet, "steps/step-1/variables", "3", 1);
    write_file(outlet, "steps/step-2/state.json", "4", 1);
    write_file(outlet, "steps/step-2/variables", "5", 1);
    write_file(outlet, "steps/unfinished/variables", "6", 1);
    write_file(outlet, "other.tmp", "7", 1);
    flush_outlet(outlet);
    assert_served("served/run/config.yaml", "1");
    assert_served("served/run/steps/step-1/state.json", "2");
    assert_served("served/run/steps/step-2/variables", "5");
    assert_false(is_served("served/run/other.tmp"));
    assert_false(is_served("served/run/steps/unfinished/variables"));
    assert_order("PUT", "config.yaml", "step-2/variables");
    assert_order("PUT", "step-2/variables", "step-2/state.json");
    assert_order("PUT", "step-2/state.json", "step-1/variables");
    assert_order("PUT", "step-1/variables", "step-1/state.json");

    /* Only new files are sent again. A file removed here is removed there, and first the file that made it valid. */
    liana__test_server_forget();
    write_file(outlet, "config.yaml", "new", 3);
    write_file(outlet, "steps/step-3/state.json", "8", 1);
    write_file(outlet, "steps/step-3/variables", "9", 1);
    remove_below(outlet, "steps/step-1");
    flush_outlet(outlet);
    assert_served("served/run/config.yaml", "new");
    assert_served("served/run/steps/step-3/state.json", "8");
    assert_false(liana__folder_exists(liana__test_path("served/run/steps/step-1")));
    assert_int_equal(liana__test_server_requests("PUT ", NULL), 3);
    assert_int_equal(liana__test_server_requests("DELETE ", NULL), 2);
    assert_order("DELETE", "step-1/state.json", "step-1/variables");
    assert_compare(line_of("PUT", "step-3/state.json"), <, line_of("DELETE", "step-1/state.json"));
    assert_int_equal(count_left(), 1);
    liana__outlet_close(outlet);
    assert_int_equal(count_left(), 0);
}

static void test_what_an_earlier_run_left_there(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths names;
    liana__test_serve("run/a/state.json", "1", 1);
    liana__test_serve("run/a/variables", "2", 1);
    liana__test_serve("run/old", "3", 1);
    liana__test_serve("run/strange", "4", 1);
    liana__outlet *outlet = open_outlet("gs://bucket/run", true);
    assert_ok(liana__outlet_list(outlet, &arena, &names, &error), &error);
    assert_int_equal(names.count, 4);
    assert_ok(liana__outlet_fetch(outlet, (const char *const[]){"a/state.json", "a/variables"}, 2, &error), &error);
    assert_ok(liana__outlet_adopt(outlet, "old", &error), &error);
    write_file(outlet, "new", "5", 1);
    liana__test_server_forget();
    flush_outlet(outlet);
    /* Fetched files are not sent; adopted ones are removed; unknown ones stay. */
    assert_int_equal(liana__test_server_requests("POST /upload/", NULL), 1);
    assert_false(is_served("served/run/old"));
    assert_served("served/run/strange", "4");
    assert_served("served/run/new", "5");
    remove_below(outlet, "a");
    flush_outlet(outlet);
    assert_false(is_served("served/run/a/state.json"));
    liana__outlet_close(outlet);
    liana__arena_free(&arena);
}

static void test_failures_are_told_and_nothing_is_lost(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__outlet *outlet = open_outlet("s3://bucket/run", true), *other;
    write_file(outlet, "steps/1/variables", "1", 1);
    write_file(outlet, "steps/1/state.json", "2", 1);
    assert_fails(liana__outlet_open(&(liana__outlet_options){.url = "s3://bucket/run"}, &other, &error), LIANA_IO_ERROR,
                 &error, "s3://bucket/run", "another process");
    liana__test_server_fault("put-503", 100000);
    assert_fails(liana__outlet_flush(outlet, &error), LIANA_IO_ERROR, &error, "s3://bucket/run/steps/1/variables",
                 "HTTP 503", "what was not sent is kept in '", "run it again");
    assert_fails(liana__outlet_changed(outlet, &error), LIANA_IO_ERROR, &error, "HTTP 503");
    assert_false(is_served("served/run/steps/1/state.json"));
    const char *folder = strdup(liana__outlet_folder(outlet));
    liana__outlet_close(outlet);
    assert_true(liana__folder_exists(folder));
    free((char *)folder);
    /* The next one finds it, and sends it. */
    liana__test_server_fault("none", 0);
    outlet = open_outlet("s3://bucket/run", false);
    flush_outlet(outlet);
    assert_served("served/run/steps/1/state.json", "2");
    /* A failure that passes: the end tries again. */
    write_file(outlet, "later", "3", 1);
    liana__test_server_fault("put-500", 100000);
    assert_ok(liana__outlet_changed(outlet, &error), &error);
    wait_until(liana__outlet_changed(outlet, &error) != LIANA_OK);
    assert_says(error.message, "HTTP 500");
    liana__test_server_fault("none", 0);
    flush_outlet(outlet);
    assert_served("served/run/later", "3");
    liana__outlet_close(outlet);
    assert_int_equal(count_left(), 0);
}

static void test_an_end_in_the_middle(void **state)
{
    (void)state;
    liana__error error = {0};
    static char large[20000];
    liana__outlet *outlet = open_outlet("s3://bucket/run", true);
    write_file(outlet, "large", large, sizeof large);
    liana__test_server_fault("put-enough", 2);
    assert_ok(liana__outlet_changed(outlet, &error), &error);
    wait_until(liana__test_server_requests("partNumber", NULL) >= 2);
    double began = liana__clock_seconds();
    liana__outlet_close(outlet);
    assert_compare(liana__clock_seconds() - began, <, 60);
    assert_false(is_served("served/run/large"));
    assert_int_equal(count_left(), 1);
}

static void test_wrong_places(void **state)
{
    (void)state;
    static const char *const urls[] = {"https://example.com/run", "gs://bucket/run*", "s3://BUCKET/run", "s3:///run"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        liana__outlet *outlet;
        liana__error error = {0};
        assert_fails(liana__outlet_open(&(liana__outlet_options){.url = urls[i], .remote = &quick}, &outlet, &error),
                     LIANA_INVALID_ARGUMENT, &error, urls[i]);
        assert_null(outlet);
    }
    /* A cache that cannot be written. */
    liana__outlet *outlet;
    liana__error error = {0};
    setenv("LIANA_CACHE", liana__test_write("a-file", "1", 1), 1);
    assert_fails(liana__outlet_open(&(liana__outlet_options){.url = "s3://bucket/run"}, &outlet, &error),
                 LIANA_IO_ERROR, &error, "s3://bucket/run", "a-file");
}

/* Files change while they are sent, some are removed, and requests fail now and then. */
static void test_changes_while_sending(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__outlet *outlet = open_outlet("s3://bucket/run", true);
    char name[64], text[64];
    liana__test_server_fault("put-slow", 5);
    for (int i = 1; i <= 60; i++) {
        snprintf(text, sizeof text, "%d", i);
        snprintf(name, sizeof name, "steps/%03d/variables", i);
        write_file(outlet, name, text, strlen(text));
        snprintf(name, sizeof name, "steps/%03d/state.json", i);
        write_file(outlet, name, text, strlen(text));
        write_file(outlet, "history.json", text, strlen(text));
        snprintf(name, sizeof name, "steps/%03d", i - 2);
        if (i > 2) remove_below(outlet, name);
        assert_ok(liana__outlet_changed(outlet, &error), &error);
        /* Once: faults that are still waiting add up, and one request is tried three times. */
        if (i == 30) liana__test_server_fault("put-503", 2);
    }
    flush_outlet(outlet);
    assert_served("served/run/history.json", "60");
    assert_served("served/run/steps/059/state.json", "59");
    assert_served("served/run/steps/060/variables", "60");
    liana__arena arena = {0};
    liana__paths names;
    assert_ok(liana__folder_list(liana__test_path("served/run/steps"), &arena, &names, &error), &error);
    assert_int_equal(names.count, 2);
    liana__arena_free(&arena);
    liana__outlet_close(outlet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, liana__test_server_set_up, liana__test_server_tear_down)
        TEST(test_what_is_sent),
        TEST(test_what_an_earlier_run_left_there),
        TEST(test_failures_are_told_and_nothing_is_lost),
        TEST(test_an_end_in_the_middle),
        TEST(test_wrong_places),
        TEST(test_changes_while_sending),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
