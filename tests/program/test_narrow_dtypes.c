/* float16 and small integers as storage, on every device: casts against numpy's bits, a table in float16 that is
 * computed in float32, files, and what asks for a cast. */
#include "harness/harness.h"

#include "base/context.h"
#include "formats/safetensors.h"
#include "harness/pjrt_plugin.h"

#include <liana/liana.h>
#include <math.h>
#include <string.h>

enum { MAX_DEVICES = 3 };
static liana_context *context;
static liana_device *devices[MAX_DEVICES];
static int num_devices = 2;

static int set_up(void **state)
{
    (void)state;
    if (liana_context_create(&(liana_context_options){.num_threads = 2}, &context) != LIANA_OK) return -1;
    if (liana_device_open(context, NULL, &devices[0]) != LIANA_OK) return -1;
    if (liana_device_open(context, "reference", &devices[1]) != LIANA_OK) return -1;
    if (!liana__test_plugin_is_there()) return 0;
    return liana_device_open(context, liana__test_plugin_device(""), &devices[num_devices++]) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    for (int d = 0; d < num_devices; d++) liana_device_close(devices[d]);
    liana_context_destroy(context);
    return 0;
}

static liana_graph *new_graph(void)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    return graph;
}

/* ---- casts ---- */

enum { COUNT = 11 };

/* Numbers, and what numpy.float16 makes of them. */
static const float numbers[COUNT] = {65504,      65519, 65520,     1e-8f,         0x1p-24f, 0x1p-25f,
                                     0x1.8p-25f, 0.1f,  -1.0f / 3, -0x1.ffep-15f, -1e9f};
static const uint16_t halves[COUNT] = {0x7bff, 0x7bff, 0x7c00, 0x0000, 0x0001, 0x0000,
                                       0x0001, 0x2e66, 0xb555, 0x8400, 0xfc00};
static const float back[COUNT] = {
    65504, 65504, INFINITY, 0, 0x1p-24f, 0, 0x1p-24f, 0.0999755859375f, -0.333251953125f, -0x1p-14f, -INFINITY};

static void test_halves_are_numpys(void **state)
{
    (void)state;
    for (int d = 0; d < num_devices; d++) {
        liana_graph *graph = new_graph();
        liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(COUNT));
        liana_tensor narrow = liana_op_cast(x, LIANA_F16), wide = liana_op_cast(narrow, LIANA_F32);
        liana_program *program;
        uint16_t found[COUNT];
        float again[COUNT];
        assert_ok(liana_program_create(devices[d], graph, NULL, &program), &context->error);
        assert_ok(liana_run(program, .feeds = LIANA_FEEDS({"x", LIANA_F32, liana_shape_of(COUNT), numbers}),
                            .fetches = LIANA_FETCHES({.tensor = narrow, .data = found, .size = sizeof found},
                                                     {.tensor = wide, .data = again, .size = sizeof again})),
                  &context->error);
        assert_memory_equal(found, halves, sizeof found);
        for (int i = 0; i < COUNT; i++) assert_compare((double)again[i], ==, (double)back[i]);
        liana_program_destroy(program);
        liana_graph_destroy(graph);
    }
}

/* The ends of the range, towards zero between them, and 0 for NaN. */
static void test_small_integers_hold_what_fits(void **state)
{
    (void)state;
    static const float x[9] = {-40000, -129.5f, -128, -1.9f, 0.9f, 127.9f, 255.5f, 70000, NAN};
    static const int8_t s8[9] = {-128, -128, -128, -1, 0, 127, 127, 127, 0};
    static const uint8_t u8[9] = {0, 0, 0, 0, 0, 127, 255, 255, 0};
    static const int16_t s16[9] = {-32768, -129, -128, -1, 0, 127, 255, 32767, 0};
    static const uint16_t u16[9] = {0, 0, 0, 0, 0, 127, 255, 65535, 0};
    static const struct {
        liana_dtype dtype;
        const void *expected;
    } cases[] = {{LIANA_S8, s8}, {LIANA_U8, u8}, {LIANA_S16, s16}, {LIANA_U16, u16}};
    for (int d = 0; d < num_devices; d++) {
        for (size_t i = 0; i < 4; i++) {
            liana_graph *graph = new_graph();
            liana_tensor given = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(9));
            liana_tensor y = liana_op_cast(given, cases[i].dtype);
            liana_program *program;
            char found[18];
            const size_t size = 9 * liana_dtype_size(cases[i].dtype);
            assert_ok(liana_program_create(devices[d], graph, NULL, &program), &context->error);
            assert_ok(liana_run(program, .feeds = LIANA_FEEDS({"x", LIANA_F32, liana_shape_of(9), x}),
                                .fetches = LIANA_FETCHES({.tensor = y, .data = found, .size = size})),
                      &context->error);
            assert_memory_equal(found, cases[i].expected, size);
            liana_program_destroy(program);
            liana_graph_destroy(graph);
        }
    }
}

/* ---- a table in float16 ---- */

/* Row 2 is looked up three times. Its gradient is 1 + 2 * 0.0004 in float32, rounded once: one by one each addition
 * to 1 would be lost. */
static void test_table_is_computed_in_float32(void **state)
{
    (void)state;
    static const uint16_t table[4] = {0x3c00, 0x4000, 0x4200, 0x4400}; /* 1, 2, 3, 4 */
    static const int32_t ids[4] = {2, 0, 2, 2};
    static const float factors[4] = {1, 0.5f, 0.0004f, 0.0004f};
    static const uint16_t expected[4] = {0x3800, 0, 0x3c01, 0};
    for (int d = 0; d < num_devices; d++) {
        liana_graph *graph = new_graph();
        liana_tensor kept = liana_graph_variable(graph, "table", LIANA_F16, liana_shape_of(4));
        liana_tensor places = liana_graph_constant(graph, LIANA_S32, liana_shape_of(4), ids);
        liana_tensor rows = liana_op_cast(liana_op_gather(kept, places, 0), LIANA_F32);
        liana_tensor weights = liana_graph_constant(graph, LIANA_F32, liana_shape_of(4), factors);
        liana_tensor sum = liana_op_reduce_sum(liana_op_multiply(rows, weights), LIANA_ALL_AXES, false), gradient;
        liana_gradients(sum, &kept, 1, &gradient);
        liana_program *program;
        float found;
        uint16_t slope[4];
        assert_ok(liana_program_create(devices[d], graph, NULL, &program), &context->error);
        assert_ok(liana_variables_write(liana_program_variables(program), "table", table, sizeof table),
                  &context->error);
        assert_ok(liana_run(program,
                            .fetches = LIANA_FETCHES({.tensor = sum, .data = &found, .size = sizeof found},
                                                     {.tensor = gradient, .data = slope, .size = sizeof slope})),
                  &context->error);
        assert_near((double)found, 3 * 1.0008 + 0.5, 1e-6);
        assert_memory_equal(slope, expected, sizeof slope);
        liana_program_destroy(program);
        liana_graph_destroy(graph);
    }
}

static void test_models_take_halves(void **state)
{
    (void)state;
    static const uint16_t x[4] = {0x3c00, 0xc000, 0x3800, 0x2e66}; /* 1, -2, 0.5, 0.1 */
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_layer input = liana_input(model, .shape = LIANA_INTS(2));
    liana_rescaling(model, .scale = 2, .input = input);
    assert_ok(liana_model_status(model), &context->error);
    liana_graph *graph = new_graph();
    liana_tensor given = liana_graph_constant(graph, LIANA_F16, liana_shape_of(2, 2), x), y;
    liana_model_call(model, &given, 1, NULL, &y, NULL);
    assert_ok(liana_graph_status(graph), &context->error);
    assert_int_equal(liana_tensor_dtype(y), LIANA_F32);
    float found[4];
    assert_ok(liana_value(y, found, sizeof found), &context->error);
    static const double expected[4] = {2, -4, 1, 0.199951171875};
    for (int i = 0; i < 4; i++) assert_compare((double)found[i], ==, expected[i]);
    liana_graph_destroy(graph);
    liana_model_destroy(model);
}

/* ---- files ---- */

static void test_files_keep_them(void **state)
{
    (void)state;
    static const struct {
        const char *name, *in_file;
        liana_dtype dtype;
        uint16_t bits[3];
    } cases[] = {{"half", "F16", LIANA_F16, {0x3c00, 0x7c00, 0x8001}},
                 {"byte", "I8", LIANA_S8, {0x80ff, 0x7f}},
                 {"short", "I16", LIANA_S16, {0x8000, 7, 0xffff}},
                 {"long", "U16", LIANA_U16, {0xffff, 0, 3}}};
    const char *path = liana__test_path("narrow.safetensors");
    liana_variables *variables, *others;
    assert_ok(liana_variables_create(devices[0], &variables), &context->error);
    assert_ok(liana_variables_create(devices[0], &others), &context->error);
    for (size_t i = 0; i < 4; i++) {
        assert_ok(liana_variables_add(variables, cases[i].name, cases[i].dtype, liana_shape_of(3), cases[i].bits),
                  &context->error);
        assert_ok(liana_variables_add(others, cases[i].name, cases[i].dtype, liana_shape_of(3), NULL), &context->error);
    }
    assert_ok(liana_variables_save(variables, path), &context->error);
    assert_ok(liana_variables_load(others, path, false), &context->error);
    liana__safetensors file;
    assert_ok(liana__safetensors_open(path, &file, &context->error), &context->error);
    for (size_t i = 0; i < 4; i++) {
        char found[6];
        const size_t size = 3 * liana_dtype_size(cases[i].dtype);
        assert_ok(liana_variables_read(others, cases[i].name, found, size), &context->error);
        assert_memory_equal(found, cases[i].bits, size);
        const liana__safetensors_tensor *tensor = liana__safetensors_find(&file, cases[i].name);
        assert_non_null(tensor);
        assert_string_equal(liana__safetensors_dtype_name(tensor->dtype), cases[i].in_file);
    }
    liana__safetensors_close(&file);
    liana_variables_destroy(variables);
    liana_variables_destroy(others);
}

/* ---- what asks for a cast ---- */

static void assert_asks(liana_graph *graph, const char *op)
{
    assert_int_equal(liana_graph_status(graph), LIANA_INVALID_ARGUMENT);
    assert_says(context->error.message, op);
    assert_says(context->error.message, "f16");
    assert_says(context->error.message, "liana_op_cast");
    liana_graph_destroy(graph);
}

static void test_what_computes_asks_for_a_cast(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F16, liana_shape_of(3, 3));
    (void)liana_op_matmul(x, x, false, false);
    assert_asks(graph, "matmul");
    graph = new_graph();
    (void)liana_op_softmax(liana_graph_input(graph, "x", LIANA_F16, liana_shape_of(3, 3)));
    assert_asks(graph, "softmax");
    graph = new_graph();
    (void)liana_op_max_pool2d(liana_graph_input(graph, "x", LIANA_F16, liana_shape_of(1, 4, 4, 3)),
                              (liana_pool_options){.window = {2, 2}});
    assert_asks(graph, "max_pool2d");
    graph = new_graph();
    x = liana_graph_input(graph, "x", LIANA_F16, liana_shape_of(3));
    (void)liana_op_add(x, liana_graph_input(graph, "y", LIANA_F32, liana_shape_of(3)));
    assert_asks(graph, "add");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halves_are_numpys),
        cmocka_unit_test(test_small_integers_hold_what_fits),
        cmocka_unit_test(test_table_is_computed_in_float32),
        cmocka_unit_test(test_models_take_halves),
        cmocka_unit_test(test_files_keep_them),
        cmocka_unit_test(test_what_computes_asks_for_a_cast),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
