/* The padding of a TPU's tiles (tile_plan.c), liana plan --device tpu (plan_device.c), and compiling for absent devices
 * (ahead.c), with a plugin of the test's own. */
#include "harness/command_run.h"
#include "harness/graph_run.h"

#include "backends/pjrt/ahead.h"
#include "train/run/run.h"
#include "train/training/tile_plan.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- tiles ---- */

static void assert_bytes(liana_dtype dtype, liana_shape shape, double expected)
{
    const double got = liana__tiled_bytes(dtype, &shape);
    if (got != expected)
        fail_msg("%s: %.0f bytes, expected %.0f", liana__type_print(dtype, &shape).text, got, expected);
}

static void test_bytes_in_tiles(void **state)
{
    (void)state;
    /* Tiles of 8 x 128 words, 16 x 128 of bf16, 32 x 128 bytes, counted by hand. */
    assert_bytes(LIANA_F32, (liana_shape){2, {8, 128}}, 4096);
    assert_bytes(LIANA_F32, (liana_shape){2, {9, 129}}, 16 * 256 * 4);
    assert_bytes(LIANA_F32, (liana_shape){2, {128, 8}}, 4096); /* the other way round */
    assert_bytes(LIANA_F32, (liana_shape){2, {1000, 2}}, 1024 * 8 * 4);
    assert_bytes(LIANA_BF16, (liana_shape){2, {8, 128}}, 16 * 128 * 2);
    assert_bytes(LIANA_U8, (liana_shape){2, {33, 100}}, 64 * 128);
    assert_bytes(LIANA_F32, (liana_shape){1, {10}}, 128 * 8 * 4);
    assert_bytes(LIANA_F32, (liana_shape){0, {0}}, 4);
    /* Of 64 examples, 3 x 3 places and 32 features the first and the last axis fill tiles best: 32 rows, 128
     * columns. */
    assert_bytes(LIANA_F32, (liana_shape){4, {64, 3, 3, 32}}, 9 * 4.0 * 32 * 128);
    /* Of 4 examples, 96 x 96 places and 16 features a row of pixels and the features do: 128 columns, 16 rows. */
    assert_bytes(LIANA_BF16, (liana_shape){4, {4, 96, 96, 16}}, 4 * 96 * 2.0 * 16 * 128);
}

static void test_generations(void **state)
{
    (void)state;
    liana__error error = {0};
    const liana__tpu_generation *generation;
    assert_ok(liana__tpu_generation_find("v5e:2x2", &generation, &error), &error);
    assert_string_equal(generation->name, "v5e");
    assert_ok(liana__tpu_generation_find("v6e", &generation, &error), &error);
    assert_int_equal(generation->matrix_unit, 256);
    assert_int_equal(liana__tpu_generation_find("v5", &generation, &error), LIANA_INVALID_CONFIG);
    assert_says(error.message, "there is no TPU 'v5'; expected v2, v3");
}

static void test_topologies(void **state)
{
    (void)state;
    static const char *const good[] = {"v5e:1x1", "v4:2x2x1", "v3:32x32"};
    static const char *const bad[] = {"v5e:",     "v5e:0x2",     "v5e:2",   "v5e:2x",
                                      "v5e:2x-2", "v5e:2x2x2x2", "v5e:two", "v5e:2x2 "};
    const liana__tpu_generation *generation;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        liana__error error = {0};
        assert_ok(liana__tpu_generation_find(good[i], &generation, &error), &error);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        liana__error error = {0};
        assert_fails(liana__tpu_generation_find(bad[i], &generation, &error), LIANA_INVALID_CONFIG, &error, bad[i],
                     "is not one; expected two or three numbers of chips", "v4:2x2x1");
    }
}

/* ---- a model ---- */

static const char config[] = "data: {train: {images: train-images, labels: train-labels}}\n"
                             "model:\n"
                             "  layers:\n"
                             "    - Conv2D: {filters: 100, kernel_size: 3, use_bias: false}\n"
                             "    - Flatten\n"
                             "    - Dense: {units: 4, activation: softmax}\n"
                             "train: {batch_size: 32, microbatch: 12, optimizer: SGD}\n"
                             "output: run\n";

static const char *write_config(void)
{
    static char path[256];
    liana__test_tiny_data("train", 64, 1);
    snprintf(path, sizeof path, "%s", liana__test_write("config.yaml", config, sizeof config - 1));
    return path;
}

static double number_of(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

/* The event of a layer, or "device_plan". */
static json_t *find_event(const char *lines, const char *name, const char *layer)
{
    for (const char *line = lines; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        json_t *event = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
        const char *of = json_string_value(json_object_get(event, "layer"));
        const char *called = json_string_value(json_object_get(event, "event"));
        if (called && strcmp(called, name) == 0 && (!layer || (of && strcmp(of, layer) == 0))) return event;
        json_decref(event);
    }
    return NULL;
}

static void test_layers_of_a_model(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", write_config());
    liana__test_result got = liana__test_command("plan", path, "--device", "tpu", "--json", "train.precision=float32");
    /* Images of 12x12x1, so results of 10x10x100. The convolution has a forward pass and a gradient of its kernel:
     * 2 x 9 operations for each result; the images need no gradient. A place has one channel, which fills 128 rows of
     * the unit, and 100 filters, which fill 128; 1,200 places fill 1,200. */
    json_t *event = find_event(got.out, "layer", "conv2d");
    assert_non_null(event);
    const double flops = 2.0 * 9 * 12 * 100 * 100;
    assert_compare(number_of(event, "flops"), ==, 2 * flops);
    assert_near(number_of(event, "padded_flops") / (2 * flops * 128 * 1.28), 1, 1e-12);
    json_decref(event);
    /* Rows of 10,000 by 4 units, and both gradients: 12 x 10,000 x 4. Forward: 12 rows are 16, 10,000 are 10,112, 4 are
     * 128. The gradient of the kernel: 10,000 rows by 12 (128) by 4 (128). That of its input: 12 (16), 4 (128), 10,000
     * (10,112). */
    event = find_event(got.out, "layer", "dense");
    assert_non_null(event);
    assert_compare(number_of(event, "flops"), ==, 3 * 2.0 * 12 * 10000 * 4);
    const double padded = 2.0 * (2 * 16.0 * 10112 * 128 + 10000.0 * 128 * 128);
    assert_near(number_of(event, "padded_flops") / padded, 1, 1e-12);
    json_decref(event);
    event = find_event(got.out, "device_plan", NULL);
    assert_compare(number_of(event, "shard"), ==, 12);
    assert_compare(number_of(event, "padded_memory"), >=, number_of(event, "memory"));
    assert_compare(number_of(event, "device_memory"), ==, 16 * 1024.0 * 1024 * 1024);
    json_decref(event);
    assert_code(got, 0);
    got = liana__test_command("plan", path, "--device", "tpu", "--topology", "v4", "train.precision=auto");
    assert_says(got.out, "TPU v4, shards of 12 examples\n");
    assert_says(got.out, "bf16[12, 10, 10, 100]");
    assert_says(got.out, "- Shards of 12 examples are padded to 16: take 8 or 16 (train.microbatch).\n");
    assert_says(got.out, "- conv2d: 100 features cost as much as 128.\n");
    assert_says(got.out, "Of a core's 32 GiB that is 0%.\n");
    assert_code(got, 0);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", write_config());
    liana__test_result got = liana__test_command("plan", path, "--device", "gpu");
    assert_says(got.err, "--device gpu needs --compile, and --topology FILE.txtpb");
    assert_code(got, 2);
    got = liana__test_command("plan", path, "--device", "cpu");
    assert_says(got.err, "--device is 'cpu', expected tpu, gpu, or pjrt:PATH");
    assert_code(got, 2);
    got = liana__test_command("plan", path, "--device", "tpu", "--topology", "v9:1x1");
    assert_says(got.err, "there is no TPU 'v9:1x1'");
    assert_code(got, 2);
    got = liana__test_command("plan", path, "--device", "pjrt:/nowhere/plugin.so", "--compile");
    assert_says(got.err, "/nowhere/plugin.so");
    assert_int_not_equal(got.code, 0);
    assert_code(got, got.code);
}

/* ---- compiling ---- */

static liana_status compile(const char *mode, liana__pjrt_ahead_program *program, liana__error *error)
{
    char device[512];
    snprintf(device, sizeof device, "pjrt:%s?mode=%s", LIANA_AHEAD_PLUGIN, mode);
    const liana__pjrt_ahead_request request = {
        .device = device, .topology = "v5e:2x2", .num_replicas = 4, .text = "module {}", .text_size = 9};
    return liana__pjrt_compile_ahead(&request, program, error);
}

static void test_a_program_is_compiled_in_a_child(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__pjrt_ahead_program program = {0};
    assert_ok(compile("good", &program, &error), &error);
    /* The plugin answers with the sizes of its request: of the text, of the topology's name and of the options. */
    assert_int_equal(program.arguments, 9);
    assert_int_equal(program.results, 7);
    assert_compare(program.temporaries, >, 8);
    assert_compare(program.seconds, >=, 0);
    /* The same program and cost for all: a copy of [9, 129] in tiles. */
    assert_true(program.optimized.is_known);
    assert_int_equal(program.optimized.copies, 1);
    assert_compare(program.optimized.written, ==, 16 * 256 * 4);
    assert_compare(program.optimized.padding, ==, (16 * 256 - 9 * 129) * 4);
    assert_compare(program.optimized.flops, ==, 2.5e9F);
}

/* A GPU is a file that describes it; the plugin answers with the size of that. */
static void test_an_update_is_compiled_for_a_gpu(void **state)
{
    (void)state;
    char path[256], device[512], target[256];
    static const char described[] = "platform_name: \"CUDA\"\n";
    liana__test_folder();
    snprintf(path, sizeof path, "%s", write_config());
    snprintf(target, sizeof target, "%s", liana__test_write("h200.txtpb", described, strlen(described)));
    snprintf(device, sizeof device, "pjrt:%s?mode=good", LIANA_AHEAD_PLUGIN);
    liana__test_result got = liana__test_command("plan", path, "--device", device, "--topology", target, "--compile",
                                                 "--replicas", "2", "--json");
    json_t *event = find_event(got.out, "compiled", NULL);
    if (!event) fail_msg("%s%s", got.out, got.err);
    assert_compare(number_of(event, "code"), ==, strlen(described));
    assert_compare(number_of(event, "results"), ==, strlen("1x1x2"));
    assert_never_says(got.out, "device_plan"); /* a GPU has no tiles */
    json_decref(event);
    assert_code(got, 0);
    assert_refused(liana__test_command("plan", path, "--device", "gpu", "--compile"), 2, "--topology FILE.txtpb", NULL);
    assert_refused(liana__test_command("plan", path, "--device", "gpu", "--topology", target), 2, "--compile", NULL);
    assert_refused(liana__test_command("plan", path, "--device", device, "--topology", "none.txtpb", "--compile"), 1,
                   "none.txtpb", NULL);
}

static void test_what_ends_a_compiler(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__pjrt_ahead_program program = {0};
    assert_int_equal(compile("refuse", &program, &error), LIANA_OUT_OF_MEMORY);
    assert_says(error.message, "the program needs 17 GiB of 16 GiB");
    assert_int_equal(compile("abort", &program, &error), LIANA_UNAVAILABLE);
    assert_says(error.message, "ended the process that compiled (signal 6); it said last: no such chip");
    assert_int_equal(compile("exit", &program, &error), LIANA_UNAVAILABLE);
    assert_says(error.message, "(exit code 3)");
}

/* A whole update for eight cores; where it does not fit, in rounds of fewer shards. */
static void test_an_update_is_compiled(void **state)
{
    (void)state;
    char path[256], device[512];
    liana__test_folder();
    snprintf(path, sizeof path, "%s", write_config());
    for (int loops = 0; loops < 2; loops++) {
        snprintf(device, sizeof device, "pjrt:%s?mode=%s", LIANA_AHEAD_PLUGIN, loops ? "loops" : "good");
        liana__test_result got =
            liana__test_command("plan", path, "--device", device, "--topology", "v5e:2x4", "--compile", "--replicas",
                                loops ? "1" : "8", "--json", "train.microbatch=3");
        json_t *event = find_event(got.out, "compiled", NULL);
        if (!event) fail_msg("%s%s", got.out, got.err);
        assert_string_equal(json_string_value(json_object_get(event, "program")), "update");
        assert_compare(number_of(event, "replicas"), ==, loops ? 1 : 8, loops);
        if (loops)
            assert_compare(number_of(event, "rounds"), >, 1);
        else
            assert_compare(number_of(event, "rounds"), ==, 1);
        /* The plugin says the size of the text. */
        assert_compare(number_of(event, "arguments"), >, 10000);
        assert_compare(number_of(event, "total"), >, number_of(event, "arguments"));
        assert_compare(number_of(event, "steps"), ==, 1);
        assert_compare(number_of(event, "products"), ==, 0);
        assert_compare(number_of(event, "copied"), ==, 16 * 256 * 4);
        json_decref(event);
        assert_code(got, 0);
    }
    snprintf(device, sizeof device, "pjrt:%s?mode=good", LIANA_AHEAD_PLUGIN);
    double options[2];
    for (int quick = 0; quick < 2; quick++) {
        liana__test_result got =
            liana__test_command("plan", path, "--device", device, "--compile", "--json", quick ? "--quick" : NULL);
        json_t *event = find_event(got.out, "compiled", NULL);
        if (!event) fail_msg("%s%s", got.out, got.err);
        options[quick] = number_of(event, "temporaries"); /* the plugin says the size of the options */
        json_decref(event);
        assert_code(got, 0);
    }
    assert_compare(options[1], ==, options[0] + 6); /* a number of a field, two bytes, and a float */
    liana__test_result words = liana__test_command("plan", path, "--device", device, "--compile");
    assert_says(words.out, "Steps: 1, of which 0 are fused. Convolutions and products: 0.\n"
                           "Steps write 0.0 MiB, of which 0.0 MiB (72%) are padding.\n"
                           "Steps that only copy, mostly to another layout: 1, 0.0 MiB.\n"
                           "An execution has 2.5 GFLOP, as the compiler counts them, and moves 3.0 MiB.\n");
    assert_code(words, 0);
    snprintf(device, sizeof device, "pjrt:%s?mode=refuse", LIANA_AHEAD_PLUGIN);
    assert_refused(liana__test_command("plan", path, "--device", device, "--compile"), 1,
                   "the program needs 17 GiB of 16 GiB");
}

/* Shards that still do not fit are compiled with parts that are computed twice, where that is asked for. */
static void test_parts_are_computed_twice(void **state)
{
    (void)state;
    static const char deep[] = "data: {train: {images: train-images, labels: train-labels}, image_size: [64, 64]}\n"
                               "model:\n"
                               "  layers:\n"
                               "    - Conv2D: {filters: 32, kernel_size: 3, activation: relu}\n"
                               "    - Conv2D: {filters: 32, kernel_size: 3}\n"
                               "    - BatchNormalization\n"
                               "    - Activation: {activation: relu}\n"
                               "    - Conv2D: {filters: 32, kernel_size: 3}\n"
                               "    - BatchNormalization\n"
                               "    - Activation: {activation: relu}\n"
                               "    - Flatten\n"
                               "    - Dense: {units: 4, activation: softmax}\n"
                               "train: {batch_size: 32, optimizer: SGD}\n"
                               "output: run\n";
    char path[256], device[512];
    liana__test_folder();
    liana__test_tiny_data("train", 64, 1);
    snprintf(path, sizeof path, "%s", liana__test_write("config.yaml", deep, sizeof deep - 1));
    snprintf(device, sizeof device, "pjrt:%s?mode=barriers", LIANA_AHEAD_PLUGIN);
    liana__test_result got =
        liana__test_command("plan", path, "--device", device, "--compile", "--json", "train.recompute=auto");
    json_t *event = find_event(got.out, "compiled", NULL);
    if (!event) fail_msg("%s%s", got.out, got.err);
    assert_compare(number_of(event, "recomputed"), >, 0);
    json_decref(event);
    assert_code(got, 0);
    got = liana__test_command("plan", path, "--device", device, "--compile", "train.recompute=auto");
    assert_says(got.out, " parts of the forward pass are computed twice (train.recompute).\n");
    assert_code(got, 0);
    assert_refused(liana__test_command("plan", path, "--device", device, "--compile"), 1,
                   "the program needs 17 GiB of 16 GiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_in_tiles),
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_topologies),
        cmocka_unit_test(test_layers_of_a_model),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_a_program_is_compiled_in_a_child),
        cmocka_unit_test(test_an_update_is_compiled_for_a_gpu),
        cmocka_unit_test(test_what_ends_a_compiler),
        cmocka_unit_test(test_an_update_is_compiled),
        cmocka_unit_test(test_parts_are_computed_twice),
    };
    liana__test_folder();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
