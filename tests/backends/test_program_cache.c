/* Compiled programs on disk (program_cache.c): taken where all is equal, left where anything is damaged or different.
 * */
#include "harness/harness.h"

#include "backends/pjrt/interface.h"
#include "backends/pjrt/platform.h"
#include "backends/pjrt/program_cache.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "exec/program.h"
#include "harness/pjrt_plugin.h"

#include <liana/ops.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

enum { SIZE = 6 };

static char folder[512];

static int set_up(void **state)
{
    (void)state;
    liana__test_folder();
    snprintf(folder, sizeof folder, "%s", liana__test_path("programs"));
    setenv("LIANA_PROGRAM_CACHE", folder, 1);
    return 0;
}

/* tanh(factor * x) on the plugin, in a context of its own; returns how many programs were compiled. */
static size_t run_as(double factor, bool is_exact, float results[SIZE])
{
    static const float x[SIZE] = {0, 0.25f, -1, 2, 3.5f, -8};
    const size_t before = liana__test_plugin_state()->compiled;
    liana_context *context;
    liana_graph *graph;
    liana__device *device;
    liana__program *program;
    liana__error error = {0};
    const liana_shape shape = {1, {SIZE}};
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_ok(liana__device_open(context, liana__test_plugin_device(":0?cpu_device_count=1"), &device, &error), &error);
    liana__pjrt_set_exact(device, is_exact, NULL);
    assert_int_equal(liana_graph_create(context, &graph), LIANA_OK);
    liana_tensor input = liana_graph_input(graph, "x", LIANA_F32, shape);
    liana_graph_output(graph, "y",
                       liana_op_tanh(liana_op_multiply(input, liana_graph_scalar(graph, LIANA_F32, factor))));
    assert_ok(liana__program_create(device, graph, "cached", NULL, &program, &error), &error);
    assert_ok(liana__program_feed(program, 0, LIANA_F32, &shape, x, &error), &error);
    assert_ok(liana__program_run(program, &error), &error);
    assert_ok(liana__program_fetch(program, 0, results, &error), &error);
    liana__program_destroy(program);
    liana__device_close(device);
    liana_context_destroy(context);
    liana__test_plugin_is_clean();
    return liana__test_plugin_state()->compiled - before;
}

static size_t run(double factor, float results[SIZE])
{
    return run_as(factor, false, results);
}

/* The files of the folder; *path (may be NULL) is the first one's. */
static size_t count_files(char path[1024])
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__paths names;
    assert_ok(liana__folder_list(folder, &arena, &names, &error), &error);
    if (path && names.count) snprintf(path, 1024, "%s/%s", folder, names.items[0]);
    const size_t count = names.count;
    liana__arena_free(&arena);
    return count;
}

static void test_a_program_is_compiled_once(void **state)
{
    (void)state;
    if (!liana__test_plugin_is_there()) skip();
    struct stat facts;
    float first[SIZE], second[SIZE], other[SIZE];
    assert_int_equal(run(2, first), 1);
    assert_int_equal(count_files(NULL), 1);
    assert_int_equal(stat(folder, &facts), 0);
    assert_int_equal(facts.st_mode & (S_IWGRP | S_IWOTH), 0);
    assert_int_equal(run(2, second), 0);
    assert_memory_equal(first, second, sizeof first);
    /* Another program, and other flags of the compiler. */
    assert_int_equal(run(3, other), 1);
    assert_int_equal(count_files(NULL), 2);
    assert_memory_not_equal(first, other, sizeof first);
    setenv("LIBTPU_INIT_ARGS", "--other", 1);
    assert_int_equal(run(2, second), 1);
    unsetenv("LIBTPU_INIT_ARGS");
    assert_int_equal(count_files(NULL), 3);
    /* The settings that make programs repeatable are part of the key; of a platform that needs none for it, they are
     * not. */
    counting_plugin_state *counted = liana__test_plugin_state();
    counted->platform = "cuda";
    assert_int_equal(run_as(2, false, second), 1);
    assert_int_equal(run_as(2, true, second), 1);
    assert_int_equal(run_as(2, true, second), 0);
    counted->platform = "tpu";
    assert_int_equal(run_as(2, false, second), 1);
    assert_int_equal(run_as(2, true, second), 0);
    counted->platform = NULL;
    assert_int_equal(count_files(NULL), 6);
    /* Without a cache. */
    setenv("LIANA_PROGRAM_CACHE", "", 1);
    assert_int_equal(run(2, second), 1);
    assert_int_equal(count_files(NULL), 6);
}

/* Changes a byte, or cuts the file off where `changed` is false. */
static void damage(const char *path, size_t at, bool changed)
{
    liana__error error = {0};
    char *bytes;
    size_t size;
    assert_ok(liana__file_read(path, SIZE_MAX / 2, &bytes, &size, &error), &error);
    if (changed) bytes[at] ^= 0x40;
    assert_ok(liana__file_replace(path, bytes, changed ? size : at, &error), &error);
    free(bytes);
}

static void test_damaged_files_are_compiled_anew(void **state)
{
    (void)state;
    if (!liana__test_plugin_is_there()) skip();
    char path[1024];
    struct stat facts;
    float expected[SIZE], got[SIZE];
    assert_int_equal(run(2, expected), 1);
    assert_int_equal(count_files(path), 1);
    assert_int_equal(stat(path, &facts), 0);
    const size_t size = (size_t)facts.st_size;
    /* Magic, version, checksum, the sizes of the parts, and all over the rest. */
    const size_t places[] = {0, 8, 12, 16, 23, 24, 32, 40, 47, 48, 200, size / 2, size - 1};
    for (size_t i = 0; i < 2 * sizeof places / sizeof *places; i++) {
        damage(path, places[i / 2], i % 2);
        assert_int_equal(run(2, got), 1);
        assert_memory_equal(expected, got, sizeof got);
        /* It was written anew. */
        assert_int_equal(run(2, got), 0);
    }
}

/* A whole file of another liana, or of another layout: the checksum is right, and it is compiled anew. `at` is a place
 * in the file. */
static void change_and_sum_up(const char *path, size_t at)
{
    liana__error error = {0};
    char *bytes;
    size_t size;
    const size_t checksum_at = 12, summed_from = 16;
    assert_ok(liana__file_read(path, SIZE_MAX / 2, &bytes, &size, &error), &error);
    bytes[at] ^= 1;
    const uint32_t checksum = liana__crc32c(bytes + summed_from, size - summed_from);
    memcpy(bytes + checksum_at, &checksum, sizeof checksum);
    assert_ok(liana__file_replace(path, bytes, size, &error), &error);
    free(bytes);
}

static void test_programs_of_other_versions_are_compiled_anew(void **state)
{
    (void)state;
    if (!liana__test_plugin_is_there()) skip();
    char path[1024];
    float expected[SIZE], got[SIZE];
    assert_int_equal(run(2, expected), 1);
    assert_int_equal(count_files(path), 1);
    /* Nothing is changed but the sum is made again: the file is still good, so the sum is the right one. */
    change_and_sum_up(path, 48);
    change_and_sum_up(path, 48);
    assert_int_equal(run(2, got), 0);
    /* The layout's version; liana's name and version, with which the identity begins. */
    const size_t places[] = {8, 48, 54};
    for (size_t i = 0; i < 3; i++) {
        change_and_sum_up(path, places[i]);
        assert_int_equal(run(2, got), 1);
        assert_memory_equal(expected, got, sizeof got);
        assert_int_equal(run(2, got), 0);
    }
}

/* The plugin itself refuses its own earlier program. */
static void test_programs_that_the_plugin_refuses(void **state)
{
    (void)state;
    if (!liana__test_plugin_is_there()) skip();
    float expected[SIZE], got[SIZE];
    assert_int_equal(run(2, expected), 1);
    counting_plugin_state *counted = liana__test_plugin_state();
    counted->fails = LIANA__PJRT_EXECUTABLE_DESERIALIZE_AND_LOAD;
    counted->fails_after = 0;
    counted->fails_with = 3;
    counted->fails_saying = "of another version";
    assert_int_equal(run(2, got), 1);
    counted->fails = -1;
    assert_memory_equal(expected, got, sizeof got);
}

static void test_old_files_make_room(void **state)
{
    (void)state;
    liana__error error = {0};
    assert_ok(liana__folder_make(folder, &error), &error);
    for (int i = 0; i < 4; i++) {
        char path[1024];
        const char bytes[100] = {0};
        snprintf(path, sizeof path, "%s/%d.program", folder, i);
        assert_ok(liana__file_replace(path, bytes, sizeof bytes, &error), &error);
        /* The third is the oldest. */
        assert_int_equal(utime(path, &(struct utimbuf){1000, i == 2 ? 500 : 1000 + i}), 0);
    }
    char path[1024], other[1024];
    /* Files that are not ours do not count, and stay. */
    snprintf(other, sizeof other, "%s/thesis.txt", folder);
    assert_ok(liana__file_replace(other, "mine", 4, &error), &error);
    assert_int_equal(utime(other, &(struct utimbuf){1, 1}), 0);
    liana__program_cache_trim(folder, 400);
    assert_int_equal(count_files(NULL), 5);
    liana__program_cache_trim(folder, 399);
    assert_int_equal(count_files(path), 4);
    assert_says(path, "/0.program");
    liana__program_cache_trim(folder, 150);
    assert_int_equal(count_files(path), 2);
    assert_says(path, "/3.program");
    liana__program_cache_trim(folder, 0);
    assert_int_equal(count_files(path), 1);
    assert_string_equal(path, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_program_is_compiled_once, set_up),
        cmocka_unit_test_setup(test_damaged_files_are_compiled_anew, set_up),
        cmocka_unit_test_setup(test_programs_of_other_versions_are_compiled_anew, set_up),
        cmocka_unit_test_setup(test_programs_that_the_plugin_refuses, set_up),
        cmocka_unit_test_setup(test_old_files_make_room, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
