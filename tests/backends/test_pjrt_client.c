/* PJRT plugins: loading, clients, buffers, programs. Programs are written by hand as StableHLO here. */
#include "harness/harness.h"

#include "backends/pjrt/buffer.h"
#include "backends/pjrt/compile_options.h"
#include "backends/pjrt/program.h"
#include "backends/pjrt/program_cache.h"
#include "backends/pjrt/survey.h"
#include "backends/pjrt/xla_settings.h"
#include "base/file.h"
#include "harness/pjrt_plugin.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static liana_context *context;

static int set_up(void **state)
{
    (void)state;
    unsetenv("COUNTING_PLUGIN_FAULT");
    return liana_context_create(NULL, &context) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_context_destroy(context);
    return 0;
}

/* ---- names ---- */

static void read_name(const char *name, liana__arena *arena, liana__pjrt_device_name *read)
{
    liana__error error = {0};
    assert_ok(liana__pjrt_device_name_read(name, arena, read, &error), &error);
}

static void test_names(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__pjrt_device_name read;
    read_name("gpu", &arena, &read);
    assert_string_equal(read.kind, "gpu");
    assert_int_equal(read.number, 0);
    read_name("tpu:3", &arena, &read);
    assert_string_equal(read.kind, "tpu");
    assert_int_equal(read.number, 3);
    read_name("pjrt:/some/where/plugin.so:12", &arena, &read);
    assert_null(read.kind);
    assert_string_equal(read.path, "/some/where/plugin.so");
    assert_int_equal(read.number, 12);
    read_name("pjrt:plugin.so", &arena, &read);
    assert_string_equal(read.path, "plugin.so");
    read_name("pjrt:cpu:1?cpu_device_count=8", &arena, &read);
    assert_string_equal(read.kind, "cpu");
    assert_string_equal(read.shown, "pjrt:cpu");
    assert_int_equal(read.num_options, 1);
    liana__arena_free(&arena);
}

static void test_options(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__pjrt_device_name read;
    read_name("gpu?a=-3&b=0.5&c=true&d=1,2,40&e=some text&f=", &arena, &read);
    assert_int_equal(read.num_options, 6);
    const liana__pjrt_named_value *option = read.options;
    assert_int_equal(option[0].kind, LIANA__PJRT_INT64);
    assert_int_equal(option[0].value.int64, -3);
    assert_int_equal(option[1].kind, LIANA__PJRT_FLOAT);
    assert_compare(option[1].value.number, ==, 0.5f);
    assert_int_equal(option[2].kind, LIANA__PJRT_BOOL);
    assert_true(option[2].value.yes);
    assert_int_equal(option[3].kind, LIANA__PJRT_INT64_LIST);
    assert_int_equal(option[3].value_size, 3);
    assert_int_equal(option[3].value.int64_list[2], 40);
    assert_int_equal(option[4].kind, LIANA__PJRT_STRING);
    assert_int_equal(option[4].value_size, 9);
    assert_memory_equal(option[4].name, "e", 1);
    liana__arena_free(&arena);
}

static void test_bad_names(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"npu", "'npu', expected gpu"},
        {"gpu:x", "ends with ':x'"},
        {"gpu:-1", "ends with ':-1'"},
        {"gpu?memory", "'memory' is not"},
        {"gpu?=3", "'=3' is not"},
        {"pjrt:", "expected gpu"},
        {"pjrt:cpu?cpu_devices_count=8",
         "unknown option 'cpu_devices_count' of a device; did you mean 'cpu_device_count'"},
        {"gpu?memory_fractoin=0.5", "did you mean 'memory_fraction'"},
        {"pjrt:cpu?cpu_device_count=x", "cpu_device_count of a device is 'x', expected a number"},
        {"pjrt:cpu?cpu_device_count=true", "is 'true', expected a number of devices, 1 to"},
        {"pjrt:cpu?cpu_device_count=2.5", "is '2.5'"},
        {"pjrt:cpu?cpu_device_count=0", "is '0'"},
        {"pjrt:cpu:1:2", "'pjrt:cpu:1:2'"},
        {"pjrt:npu", "expected gpu, tpu"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__arena arena = {0};
        liana__error error = {0};
        liana__pjrt_device_name read;
        assert_fails(liana__pjrt_device_name_read(cases[i][0], &arena, &read, &error), LIANA_INVALID_CONFIG, &error,
                     cases[i][1]);
        liana__arena_free(&arena);
    }
}

/* ---- compile options ---- */

static void assert_bytes(const liana__pjrt_compile_options *options, const char *expected, size_t size)
{
    liana__text bytes = {0};
    liana__pjrt_compile_options_write(options, &bytes);
    assert_false(bytes.failed);
    assert_int_equal(bytes.length, size);
    assert_memory_equal(bytes.data, expected, size);
    liana__text_free(&bytes);
}

/* The bytes are those of protobuf's own encoder for the same messages. */
static void test_compile_options(void **state)
{
    (void)state;
    static const char portable[] = "\x1a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01\x20\x01";
    assert_bytes(&(liana__pjrt_compile_options){0}, portable, sizeof portable - 1);
    static const char four[] = "\x1a\x1d\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x04\x28\x01"
                               "\x4a\x0c\x08\x04\x10\x01\x1a\x06\x0a\x04\x00\x01\x02\x03";
    assert_bytes(&(liana__pjrt_compile_options){.num_replicas = 4, .devices = (int[]){0, 1, 2, 3}}, four,
                 sizeof four - 1);
    static const char quick[] = "\x1a\x15\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01"
                                "\xa5\x01\x00\x00\x80\xbf\x20\x01";
    assert_bytes(&(liana__pjrt_compile_options){.is_quick = true}, quick, sizeof quick - 1);
    static const char flag[] = "\x1a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01\x20\x01"
                               "\x3a\x09\x0a\x03\x61\x62\x63\x12\x02\x10\x01";
    assert_bytes(&(liana__pjrt_compile_options){.flags = &(liana__pjrt_flag){"abc", 1, false}, .num_flags = 1}, flag,
                 sizeof flag - 1);
    static const char number[] = "\x1a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01\x20\x01"
                                 "\x3a\x09\x0a\x03\x61\x62\x63\x12\x02\x18\x07";
    assert_bytes(&(liana__pjrt_compile_options){.flags = &(liana__pjrt_flag){"abc", 7, true}, .num_flags = 1}, number,
                 sizeof number - 1);
    static const char joined[] = "\x1a\x51\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                 "\x1a\x40\xf2\x01\x17"
                                 "tree_reduction_rewriter"
                                 "\xa2\x1f\x23\x0a\x1f"
                                 "xla_cpu_use_multi_output_fusion"
                                 "\x12\x00\x20\x01\x28\x01\x20\x01";
    assert_bytes(&(liana__pjrt_compile_options){.fewer_loops = true}, joined, sizeof joined - 1);
    static const char kept[] = "\x1a\x28\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                               "\x1a\x17\xf2\x01\x14"
                               "cse_barrier_expander"
                               "\x20\x01\x28\x01\x20\x01";
    assert_bytes(&(liana__pjrt_compile_options){.keeps_barriers = true}, kept, sizeof kept - 1);
    static const char set[] = "\x1a\x54\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                              "\x1a\x43\xf8\x01\x03\xf2\x01\x17"
                              "tree_reduction_rewriter"
                              "\xa2\x1f\x23\x0a\x1f"
                              "xla_cpu_use_multi_output_fusion"
                              "\x12\x00\x20\x01\x28\x01\x20\x01";
    assert_bytes(&(liana__pjrt_compile_options){.fewer_loops = true, .settings = "\xf8\x01\x03", .settings_size = 3},
                 set, sizeof set - 1);
}

/* ---- XLA's settings ---- */

/* Whether a program whose executable's module has this configuration shows settings of `size` bytes. */
static void assert_settings(const char *config, size_t size, size_t expected)
{
    char program[256] = {0x0a, (char)(size + 8), 0x0a, (char)(size + 6), 0x0a, 2, 0x08, 7, 0x12, (char)size};
    size_t found = 0;
    memcpy(program + 10, config, size);
    const char *at = liana__xla_settings_find(program, size + 10, &found);
    assert_int_equal(found, expected);
    if (expected == 0) assert_null(at);
    if (expected > 0) assert_ptr_equal(at, program + 12);
    for (size_t cut = 0; cut < size + 10; cut++) assert_null(liana__xla_settings_find(program, cut, &found));
}

static void test_settings_are_found(void **state)
{
    (void)state;
    assert_settings("\x72\x06\xf8\x01\x03\xe0\x03\x01", 8, 6);
    assert_settings("\x72\x0b\xf8\x01\x03\xe0\x03\x01\x0d\x01\x02\x03\x04", 13, 11); /* and a float */
    assert_settings("\x72\x06\xf8\x01\x04\xe0\x03\x01", 8, 0);                       /* no such level */
    assert_settings("\x72\x03\xf8\x01\x03", 5, 0);                                   /* threads lack */
    assert_settings("\x72\x06\xf8\x01\x03\xe0\x03\x80", 8, 0);                       /* the last number is cut */
    assert_settings("\x72\x07\xf8\x01\x03\xe0\x03\x01\x0b", 9, 0);                   /* of no kind */
    assert_settings("\x6a\x06\xf8\x01\x03\xe0\x03\x01", 8, 0);                       /* another field */
}

/* ---- files that are no plugins, plugins of other versions ---- */

static liana_status open_plugin(const char *path, liana__pjrt_client **client, liana__error *error)
{
    const liana__pjrt_device_name name = {.option_text = ""};
    return liana__pjrt_client_open(context, path, &name, client, error);
}

static void test_no_plugins(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__pjrt_client *client;
    liana__test_folder();
    assert_fails(open_plugin(liana__test_path("none.so"), &client, &error), LIANA_NOT_FOUND, &error,
                 "there is no plugin", "none.so");
    const char *text = liana__test_write("text.so", "no library", 10);
    assert_fails(open_plugin(text, &client, &error), LIANA_INVALID_CONFIG, &error, "cannot be loaded as a PJRT plugin",
                 "text.so");
    /* A library, but no plugin: any that this process has. */
    const char *library = "/proc/self/exe";
    assert_fails(open_plugin(library, &client, &error), LIANA_INVALID_CONFIG, &error, "plugin");
    assert_null(client);
}

static void refuse(const char *fault, liana_status status, const char *text)
{
    liana__error error = {0};
    liana__pjrt_client *client;
    setenv("COUNTING_PLUGIN_FAULT", fault, 1);
    assert_fails(open_plugin(LIANA_COUNTING_PLUGIN, &client, &error), status, &error, text, LIANA_COUNTING_PLUGIN);
    unsetenv("COUNTING_PLUGIN_FAULT");
}

static void test_other_versions(void **state)
{
    (void)state;
    refuse("major", LIANA_UNIMPLEMENTED, "speaks PJRT 1.");
    refuse("minor", LIANA_UNIMPLEMENTED, "speaks PJRT 0.40; expected 0.54 or newer");
    refuse("table", LIANA_INVALID_CONFIG, "GetPjrtApi returns nothing");
}

/* In a process of its own, where the counting plugin has nothing behind it. */
static void test_plugin_that_makes_no_client(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        unsetenv("COUNTING_PLUGIN_INNER");
        liana__error error = {0};
        liana__pjrt_client *client;
        liana_status status = open_plugin(LIANA_COUNTING_PLUGIN, &client, &error);
        bool said = strstr(error.message, "PJRT_Client_Create: there is no device behind this plugin") != NULL;
        _exit(status == LIANA_UNAVAILABLE && said && !client ? 0 : 1);
    }
    int code = -1;
    waitpid(child, &code, 0);
    assert_int_equal(code, 0);
}

/* ---- the real plugin ---- */

static void open_counting(const char *behind, liana__pjrt_client **client, liana__arena *arena)
{
    liana__error error = {0};
    liana__pjrt_device_name name;
    read_name(liana__test_plugin_device(behind), arena, &name);
    assert_ok(liana__pjrt_client_open(context, name.path, &name, client, &error), &error);
}

static const char ADD[] = "module @m { func.func public @main(%a: tensor<2x3xf32> {tf.aliasing_output = 0 : i32},"
                          " %b: tensor<2x3xf32>) -> (tensor<2x3xf32>) {\n"
                          "  %r = stablehlo.add %a, %b : tensor<2x3xf32>\n  return %r : tensor<2x3xf32> } }";

static void *handle_of(liana__buffer *buffer)
{
    return ((liana__pjrt_buffer *)buffer)->handle;
}

/* Adds on one device, in place of a. */
static void add_on(liana__pjrt_client *client, const liana__pjrt_program *program, size_t number)
{
    static const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {10, 20, 30, 40, 50, 60};
    const liana_shape shape = {2, {2, 3}};
    liana__error error = {0};
    liana__pjrt_device device = {.client = client, .handle = client->devices[number], .name = "a device"};
    liana__buffer *x = NULL, *y = NULL;
    liana__fence *fence;
    assert_ok(liana__pjrt_upload(&device.base, LIANA_F32, &shape, a, &x, &fence, &error), &error);
    assert_ok(liana__pjrt_wait(fence, &error), &error);
    assert_ok(liana__pjrt_upload(&device.base, LIANA_F32, &shape, b, &y, NULL, &error), &error);
    void *result, *handles[] = {handle_of(x), handle_of(y)};
    void **const arguments = handles, **const results = &result;
    assert_ok(liana__pjrt_program_run(program, device.handle, &arguments, 2, &results, &error), &error);
    /* x was donated: reading it is an error of the plugin. */
    float got[6];
    assert_compare(liana__pjrt_download(x, got, &error), !=, LIANA_OK);
    uint64_t version = x->version;
    liana__buffer *was = x;
    assert_ok(liana__pjrt_buffer_put(&device, LIANA_F32, &shape, result, &x, &error), &error);
    assert_ptr_equal(x, was);
    assert_compare(x->version, !=, version);
    assert_ok(liana__pjrt_download(x, got, &error), &error);
    for (int i = 0; i < 6; i++) assert_compare(got[i], ==, a[i] + b[i], i);
    assert_int_equal(atomic_load(&device.base.bytes_held), 48);
    liana__pjrt_buffer_destroy(x);
    liana__pjrt_buffer_destroy(y);
    assert_int_equal(atomic_load(&device.base.bytes_held), 0);
}

static void test_program(void **state)
{
    (void)state;
    if (!liana__test_plugin_is_there()) skip();
    liana__arena arena = {0};
    liana__error error = {0};
    liana__pjrt_client *client, *same;
    open_counting("?cpu_device_count=3", &client, &arena);
    open_counting(":1?cpu_device_count=3", &same, &arena);
    assert_ptr_equal(client, same);
    assert_int_equal(client->num_devices, 3);
    assert_string_equal(client->platform, "cpu");
    liana__pjrt_program *program, *again;
    assert_ok(liana__pjrt_program_make(client, ADD, strlen(ADD), &(liana__pjrt_compile_options){0}, &program, &error),
              &error);
    assert_ok(liana__pjrt_program_make(client, ADD, strlen(ADD), &(liana__pjrt_compile_options){0}, &again, &error),
              &error);
    assert_ptr_equal(program, again);
    assert_int_equal(client->num_compiled, 1);
    assert_int_equal(program->num_results, 1);
    for (size_t i = 0; i < client->num_devices; i++) add_on(client, program, i);
    liana__pjrt_program_drop(program);
    liana__pjrt_program_drop(again);
    liana__pjrt_client_close(client);
    liana__pjrt_client_close(same);
    liana__test_plugin_is_clean();
    liana__arena_free(&arena);
}

static const char TWO[] = "module @m { func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32>)"
                          " -> (tensor<4xf32>, tensor<4xf32>) {\n"
                          "  %s = stablehlo.add %a, %b : tensor<4xf32>\n"
                          "  %p = stablehlo.multiply %a, %b : tensor<4xf32>\n"
                          "  return %s, %p : tensor<4xf32>, tensor<4xf32> } }";

static const char SUM[] = "module @m { func.func public @main(%a: tensor<4096x3xf32>) -> tensor<3xf32> {\n"
                          "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                          "  %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0]"
                          " : (tensor<4096x3xf32>, tensor<f32>) -> tensor<3xf32>\n"
                          "  return %s : tensor<3xf32> } }";

static size_t occurrences(const char *bytes, size_t size, const char *word)
{
    size_t count = 0;
    const size_t length = strlen(word);
    for (size_t i = 0; i + length <= size; i++) count += memcmp(bytes + i, word, length) == 0;
    return count;
}

/* How many loops become of a text, with XLA's own settings and with those for fewer: each has a kernel with a name. */
static void assert_kernels(const char *text, size_t usual, size_t fewer)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__pjrt_client *client;
    size_t kernels[2];
    open_counting("", &client, &arena);
    for (int are_fewer = 0; are_fewer < 2; are_fewer++) {
        liana__pjrt_program *program;
        liana__pjrt_serialize_args args = {0};
        const liana__pjrt_compile_options options = {.fewer_loops = are_fewer};
        assert_ok(liana__pjrt_program_make(client, text, strlen(text), &options, &program, &error), &error);
        assert_true(liana__program_serialize(&client->plugin, program->handle, &args));
        kernels[are_fewer] = occurrences(args.bytes, args.size, "__compute_module_");
        if (args.release) args.release(args.keeper);
        liana__pjrt_program_drop(program);
    }
    assert_int_equal(kernels[0], usual);
    assert_int_equal(kernels[1], fewer);
    liana__pjrt_client_close(client);
    liana__test_plugin_is_clean();
    liana__arena_free(&arena);
}

/* A loop for both results, or one for each. */
static void test_loops_are_joined(void **state)
{
    (void)state;
    if (!liana__test_plugin_is_there()) skip();
    assert_kernels(TWO, 2, 1);
}

/* A tree of windows, or one loop. */
static void test_sums_are_not_cut(void **state)
{
    (void)state;
    if (!liana__test_plugin_is_there()) skip();
    assert_kernels(SUM, 3, 1);
}

static void test_program_that_is_wrong(void **state)
{
    (void)state;
    if (!liana__test_plugin_is_there()) skip();
    static const char text[] = "module @m { func.func public @main(%a: tensor<2xf32>) -> (tensor<3xf32>) {\n"
                               " return %a : tensor<2xf32> } }";
    liana__arena arena = {0};
    liana__error error = {0};
    liana__pjrt_client *client;
    liana__pjrt_program *program;
    open_counting("", &client, &arena);
    assert_compare(liana__pjrt_program_make(client, text, strlen(text), &(liana__pjrt_compile_options){0}, &program,
                                            &error),
                   !=, LIANA_OK);
    assert_says(error.message, "PJRT_Client_Compile");
    assert_null(program);
    liana__pjrt_client_close(client);
    liana__test_plugin_is_clean();
    liana__arena_free(&arena);
}

static void test_all_dtypes_come_back(void **state)
{
    (void)state;
    if (!liana__test_plugin_is_there()) skip();
    liana__arena arena = {0};
    liana__error error = {0};
    liana__pjrt_client *client;
    open_counting("", &client, &arena);
    liana__pjrt_device device = {.client = client, .handle = client->devices[0], .name = "a device"};
    for (int dtype = 0; dtype < LIANA_NUM_DTYPES; dtype++) {
        const liana_shape shape = {3, {2, 3, 5}};
        unsigned char data[240], got[240];
        for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(dtype == LIANA_BOOL ? i % 2 : i % 61);
        liana__buffer *buffer = NULL;
        assert_ok(liana__pjrt_upload(&device.base, (liana_dtype)dtype, &shape, data, &buffer, NULL, &error), &error);
        assert_ok(liana__pjrt_download(buffer, got, &error), &error);
        assert_memory_equal(got, data, buffer->size);
        liana__pjrt_buffer_destroy(buffer);
    }
    liana__pjrt_client_close(client);
    liana__test_plugin_is_clean();
    liana__arena_free(&arena);
}

/* A plugin may end its table early: a missing function is named when it is needed. */
static void test_missing_function(void **state)
{
    (void)state;
    if (!liana__test_plugin_is_there()) skip();
    liana__arena arena = {0};
    liana__error error = {0};
    liana__pjrt_client *client;
    liana__pjrt_program *program;
    setenv("COUNTING_PLUGIN_FAULT", "short", 1);
    liana__error refused = {0};
    liana__pjrt_device_name name;
    read_name(liana__test_plugin_device("?cpu_device_count=1"), &arena, &name);
    assert_ok(liana__pjrt_client_open(context, name.path, &name, &client, &refused), &refused);
    assert_fails(liana__pjrt_program_make(client, ADD, strlen(ADD), &(liana__pjrt_compile_options){0}, &program,
                                          &error),
                 LIANA_UNIMPLEMENTED, &error, "has no function PJRT_Client_Compile");
    liana__pjrt_client_close(client);
    unsetenv("COUNTING_PLUGIN_FAULT");
    liana__test_plugin_is_clean();
    liana__arena_free(&arena);
}

/* ---- what explains failures ---- */

/* A child holds a file open until its pipe is closed. */
static void test_holder(void **state)
{
    (void)state;
    liana__test_folder();
    const char *path = liana__test_write("held", "x", 1);
    int ready[2], end[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(end), 0);
    assert_int_equal(liana__pjrt_holder(path), 0);
    pid_t child = fork();
    if (child == 0) {
        close(end[1]);
        FILE *file = fopen(path, "r");
        if (!file || write(ready[1], "x", 1) != 1 || read(end[0], &byte, 1) != 0) _exit(1);
        _exit(0);
    }
    close(end[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(liana__pjrt_holder(path), child);
    close(end[1]);
    close(ready[0]);
    close(ready[1]);
    int code = -1;
    waitpid(child, &code, 0);
    assert_int_equal(code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_bad_names),
        cmocka_unit_test(test_compile_options),
        cmocka_unit_test(test_settings_are_found),
        cmocka_unit_test_setup_teardown(test_no_plugins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_plugin_that_makes_no_client, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_versions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_program, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_loops_are_joined, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sums_are_not_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_program_that_is_wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_all_dtypes_come_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_function, set_up, tear_down),
        cmocka_unit_test(test_holder),
    };
    return cmocka_run_group_tests_name("pjrt_client", tests, NULL, NULL);
}
