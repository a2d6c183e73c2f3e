/* Programs in public, on every device, also one of another process: sets of results, assignments, variables, files, and
 * each kind of mistake. */
#include "harness/harness.h"

#include "base/context.h"
#include "formats/safetensors.h"
#include "harness/cluster/cluster_run.h"
#include "harness/device_server.h"
#include "harness/pjrt_plugin.h"
#include "program/program.h"

#include <liana/liana.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 4, SIZE = 3 };
static liana_context *context;
static liana_device *devices[MAX_DEVICES];
static int num_devices = 3; /* and the PJRT plugin, if it is there */
static pid_t server;

static int set_up(void **state)
{
    (void)state;
    const char *socket = liana__test_sockets(1)[0];
    char name[256];
    server = liana__test_start_server(socket, NULL, 0, 4);
    snprintf(name, sizeof name, "%s/cpu:0", socket);
    if (liana_context_create(&(liana_context_options){.num_threads = 2}, &context) != LIANA_OK) return -1;
    if (liana_device_open(context, NULL, &devices[0]) != LIANA_OK) return -1;
    if (liana_device_open(context, "reference", &devices[1]) != LIANA_OK) return -1;
    if (liana_device_open(context, name, &devices[2]) != LIANA_OK) return -1;
    if (!liana__test_plugin_is_there()) return 0;
    return liana_device_open(context, liana__test_plugin_device(""), &devices[num_devices++]) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    for (int d = 0; d < num_devices; d++) liana_device_close(devices[d]);
    liana_context_destroy(context);
    liana__test_stop_server(server);
    return 0;
}

/* Two inputs, two variables:
 *   double = 2 x, sum (named) = 2 x + w, product = (2 x + w) * scale; w := sum, count := count + 1. */
typedef struct fixture {
    liana_graph *graph;
    liana_tensor x, scale, w, count, twice, sum, product;
    liana_program *program;
    liana_variables *variables;
} fixture;

static const float numbers[SIZE] = {1, -2, 3};
#define ROW liana_shape_of(SIZE)

static fixture begin(liana_device *device)
{
    fixture f;
    assert_ok(liana_graph_create(context, &f.graph), &context->error);
    f.x = liana_graph_input(f.graph, "x", LIANA_F32, ROW);
    f.scale = liana_graph_input(f.graph, "scale", LIANA_F32, LIANA_SCALAR);
    f.w = liana_graph_initializer(liana_graph_variable(f.graph, "w", LIANA_F32, ROW), "constant(0.5)");
    f.count = liana_graph_variable(f.graph, "count", LIANA_S64, LIANA_SCALAR);
    f.twice = liana_op_add(f.x, f.x);
    f.sum = liana_tensor_set_name(liana_op_add(f.twice, f.w), "sum");
    f.product = liana_op_multiply(f.sum, f.scale);
    liana_graph_output(f.graph, "double", f.twice);
    liana_graph_output(f.graph, "product", f.product);
    liana_graph_assign(f.w, f.sum);
    liana_graph_assign(f.count, liana_op_add(f.count, liana_graph_scalar(f.graph, LIANA_S64, 1)));
    assert_ok(liana_program_create(device, f.graph, &(liana_program_options){.name = "adder"}, &f.program),
              &context->error);
    f.variables = liana_program_variables(f.program);
    return f;
}

static void end(fixture *f)
{
    liana_program_destroy(f->program);
    liana_graph_destroy(f->graph);
}

#define FEED_X                       \
    {                                \
        "x", LIANA_F32, ROW, numbers \
    }
#define FEED_SCALE                                 \
    {                                              \
        "scale", LIANA_F32, LIANA_SCALAR, &(float) \
        {                                          \
            10                                     \
        }                                          \
    }
#define FETCH(fetched, to)                             \
    {                                                  \
        .name = fetched, .data = to, .size = sizeof to \
    }

static void assert_row(const float *got, float a, float b, float c)
{
    if (got[0] == a && got[1] == b && got[2] == c) return;
    fail_msg("found %g, %g, %g, expected %g, %g, %g", got[0], got[1], got[2], a, b, c);
}

static void assert_variable(const liana_variables *variables, const char *name, float a, float b, float c)
{
    float got[SIZE];
    assert_ok(liana_variables_read(variables, name, got, sizeof got), &context->error);
    assert_row(got, a, b, c);
}

/* Any results in any order; nodes that they do not need are neither fed nor initialised. */
static void test_any_set_of_results(void **state)
{
    (void)state;
    for (int d = 0; d < num_devices; d++) {
        fixture f = begin(devices[d]);
        float a[SIZE], b[SIZE], c[SIZE], e[SIZE];
        assert_ok(liana_run(f.program, .feeds = LIANA_FEEDS(FEED_X), .fetches = LIANA_FETCHES(FETCH("double", a))),
                  &context->error);
        assert_row(a, 2, -4, 6);
        assert_ok(liana_variables_initialize(f.variables, &(liana_initialize_options){.name = "w"}), &context->error);
        assert_ok(liana_run(f.program, .feeds = LIANA_FEEDS(FEED_SCALE, FEED_X),
                            .fetches =
                                LIANA_FETCHES(FETCH("product", a), {.tensor = f.sum, .data = b, .size = sizeof b},
                                              FETCH("w", c), FETCH("sum", e))),
                  &context->error);
        assert_row(a, 25, -35, 65);
        assert_row(b, 2.5f, -3.5f, 6.5f);
        assert_row(c, 0.5f, 0.5f, 0.5f);
        assert_row(e, 2.5f, -3.5f, 6.5f);
        /* Inputs and constants are results like others; more may be fed than is needed. */
        float scale = 0;
        assert_ok(liana_run(f.program, .feeds = LIANA_FEEDS(FEED_X, FEED_SCALE),
                            .fetches = LIANA_FETCHES(FETCH("x", a), {.name = "scale", .data = &scale, .size = 4})),
                  &context->error);
        assert_row(a, 1, -2, 3);
        assert_compare(scale, ==, 10);
        end(&f);
    }
}

/* The same set is compiled once, in whatever order it is asked for; of many sets the latest are kept. */
static void test_sets_are_compiled_once(void **state)
{
    (void)state;
    enum { MANY = LIANA__MAX_COMPILED_SETS + 9 };
    for (int d = 0; d < num_devices; d++) {
        liana_graph *graph;
        assert_ok(liana_graph_create(context, &graph), &context->error);
        liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, LIANA_SCALAR), y[MANY];
        for (int i = 0; i < MANY; i++) y[i] = liana_op_add(x, liana_graph_scalar(graph, LIANA_F32, i));
        liana_program *program;
        assert_ok(liana_program_create(devices[d], graph, NULL, &program), &context->error);
        float a = 0, b = 0, three = 3;
        for (int i = 0; i < 3; i++) {
            const liana_fetch first = {.tensor = y[1], .data = &a, .size = sizeof a};
            const liana_fetch second = {.tensor = y[2], .data = &b, .size = sizeof b};
            const liana_fetch both[] = {i % 2 ? first : second, i % 2 ? second : first};
            assert_ok(liana_run(program, .feeds = LIANA_FEEDS({"x", LIANA_F32, LIANA_SCALAR, &three}),
                                .fetches = {both, 2}),
                      &context->error);
            assert_compare(a, ==, 4);
            assert_compare(b, ==, 5);
        }
        assert_int_equal(program->num_compiled, 1);
        for (int i = 0; i < 2 * MANY; i++) {
            assert_ok(liana_run(program, .feeds = LIANA_FEEDS({"x", LIANA_F32, LIANA_SCALAR, &three}),
                                .fetches = LIANA_FETCHES({.tensor = y[i % MANY], .data = &a, .size = sizeof a})),
                      &context->error);
            assert_compare(a, ==, 3 + (float)(i % MANY), i);
        }
        assert_int_equal(program->num_sets, LIANA__MAX_COMPILED_SETS);
        liana_program_destroy(program);
        liana_graph_destroy(graph);
    }
}

/* Nothing is assigned unless a run asks for it; all reads see the values from before. */
static void test_assignments_are_asked_for(void **state)
{
    (void)state;
    for (int d = 0; d < num_devices; d++) {
        fixture f = begin(devices[d]);
        int64_t count = 41;
        float got[SIZE];
        assert_ok(liana_variables_write(f.variables, "count", &count, sizeof count), &context->error);
        assert_ok(liana_variables_initialize(f.variables, NULL), &context->error);
        /* For their effect alone: no result. */
        assert_ok(liana_run(f.program, .assign = LIANA_NAMES("count")), &context->error);
        assert_ok(liana_variables_read(f.variables, "count", &count, sizeof count), &context->error);
        assert_int_equal(count, 42);
        assert_variable(f.variables, "w", 0.5f, 0.5f, 0.5f);
        assert_ok(liana_run(f.program, .feeds = LIANA_FEEDS(FEED_X), .fetches = LIANA_FETCHES(FETCH("w", got)),
                            .assign_all = true),
                  &context->error);
        assert_row(got, 0.5f, 0.5f, 0.5f);
        assert_variable(f.variables, "w", 2.5f, -3.5f, 6.5f);
        /* A target is a name for some of them; the graph may grow after the program was made. */
        liana_graph_target(f.graph, "step", ((liana_tensor[]){f.w}), 1);
        assert_ok(liana_run(f.program, .feeds = LIANA_FEEDS(FEED_X), .assign = LIANA_NAMES("step")), &context->error);
        assert_variable(f.variables, "w", 4.5f, -7.5f, 12.5f);
        liana_graph_target(f.graph, "step", ((liana_tensor[]){f.count}), 1);
        assert_ok(liana_run(f.program, .feeds = LIANA_FEEDS(FEED_X), .assign = LIANA_NAMES("step", "w")),
                  &context->error);
        assert_ok(liana_variables_read(f.variables, "count", &count, sizeof count), &context->error);
        assert_int_equal(count, 44);
        assert_variable(f.variables, "w", 6.5f, -11.5f, 18.5f);
        assert_ok(liana_program_run(f.program, NULL), &context->error);
        assert_ok(liana_program_run(f.program, &(liana_run_options){0}), &context->error);
        assert_variable(f.variables, "w", 6.5f, -11.5f, 18.5f);
        end(&f);
    }
}

/* A variable that is only assigned to needs no value before, and has one afterwards. */
static void test_assigning_gives_a_value(void **state)
{
    (void)state;
    for (int d = 0; d < num_devices; d++) {
        liana_graph *graph;
        liana_program *program;
        assert_ok(liana_graph_create(context, &graph), &context->error);
        liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, ROW);
        liana_graph_assign(liana_graph_variable(graph, "kept", LIANA_F32, ROW), liana_op_negate(x));
        assert_ok(liana_program_create(devices[d], graph, NULL, &program), &context->error);
        liana_variables *variables = liana_program_variables(program);
        assert_fails(liana_variables_check(variables), LIANA_INVALID_ARGUMENT, &context->error, "'kept'", "no value");
        assert_ok(liana_run(program, .feeds = LIANA_FEEDS(FEED_X), .assign = LIANA_NAMES("kept")), &context->error);
        assert_ok(liana_variables_check(variables), &context->error);
        assert_variable(variables, "kept", -1, 2, -3);
        liana_program_destroy(program);
        liana_graph_destroy(graph);
    }
}

static void test_variables_are_listed_and_shared(void **state)
{
    (void)state;
    for (int d = 0; d < num_devices; d++) {
        fixture f = begin(devices[d]);
        liana_variable_info info;
        assert_int_equal(liana_variables_count(f.variables), 2);
        assert_true(liana_variables_info(f.variables, 0, &info));
        assert_string_equal(info.name, "w");
        assert_string_equal(info.initializer, "constant(0.5)");
        assert_compare(info.dtype, ==, LIANA_F32);
        assert_compare(info.shape.rank, ==, 1);
        assert_compare(info.shape.dims[0], ==, SIZE);
        assert_true(!info.initialized);
        assert_true(liana_variables_find(f.variables, "count", &info));
        assert_compare(info.dtype, ==, LIANA_S64);
        assert_compare(info.shape.rank, ==, 0);
        assert_true(!info.initializer);
        assert_false(liana_variables_info(f.variables, 2, &info));
        assert_null(info.name);
        assert_false(liana_variables_find(f.variables, "none", &info));
        /* Another graph reads the values that this one writes. */
        assert_ok(liana_variables_write(f.variables, "w", numbers, sizeof numbers), &context->error);
        liana_graph *graph;
        liana_program *reader;
        float got[SIZE];
        assert_ok(liana_graph_create(context, &graph), &context->error);
        liana_tensor w = liana_graph_variable(graph, "w", LIANA_F32, ROW);
        liana_graph_output(graph, "square", liana_op_square(w));
        liana_program_options options = {.variables = f.variables};
        assert_ok(liana_program_create(devices[d], graph, &options, &reader), &context->error);
        assert_ptr_equal(liana_program_variables(reader), f.variables);
        assert_ok(liana_run(f.program, .feeds = LIANA_FEEDS(FEED_X), .assign = LIANA_NAMES("w")), &context->error);
        assert_ok(liana_run(reader, .fetches = LIANA_FETCHES(FETCH("square", got))), &context->error);
        assert_row(got, 9, 36, 81);
        liana_program_destroy(reader);
        liana_graph_destroy(graph);
        end(&f);
    }
}

/* Draws depend on seed, name and shape: not on the order of variables, the device or the graph. */
static void test_initialisers(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    float values[MAX_DEVICES][COUNT], other[COUNT];
    for (int d = 0; d < num_devices; d++) {
        liana_variables *variables;
        assert_ok(liana_variables_create(devices[d], &variables), &context->error);
        if (d) assert_ok(liana_variables_add(variables, "first", LIANA_F32, ROW, numbers), &context->error);
        assert_ok(liana_variables_add(variables, "w", LIANA_F32, liana_shape_of(COUNT), NULL), &context->error);
        assert_ok(liana_variables_add(variables, "v", LIANA_F32, liana_shape_of(COUNT), NULL), &context->error);
        assert_ok(liana_variables_add(variables, "d", LIANA_F64, liana_shape_of(2), NULL), &context->error);
        assert_ok(liana_variables_initialize(variables,
                                             &(liana_initialize_options){.initializer = "random_uniform(-1, 1)",
                                                                         .seed = 7}),
                  &context->error);
        if (d) assert_variable(variables, "first", 1, -2, 3);
        assert_ok(liana_variables_read(variables, "w", values[d], sizeof other), &context->error);
        assert_ok(liana_variables_read(variables, "v", other, sizeof other), &context->error);
        assert_memory_not_equal(values[d], other, sizeof other);
        double low = 2, high = -2;
        for (int i = 0; i < COUNT; i++) {
            low = values[d][i] < low ? (double)values[d][i] : low;
            high = values[d][i] > high ? (double)values[d][i] : high;
        }
        assert_compare(low, >=, -1);
        assert_compare(low, <, -0.9);
        assert_compare(high, <=, 1);
        assert_compare(high, >, 0.9);
        liana_initialize_options again = {.name = "w", .initializer = "random_uniform(-1, 1)", .seed = 8};
        assert_ok(liana_variables_initialize(variables, &again), &context->error);
        assert_ok(liana_variables_read(variables, "w", other, sizeof other), &context->error);
        assert_memory_equal(values[d], other, sizeof other);
        again.again = true;
        assert_ok(liana_variables_initialize(variables, &again), &context->error);
        assert_ok(liana_variables_read(variables, "w", other, sizeof other), &context->error);
        assert_memory_not_equal(values[d], other, sizeof other);
        double constant[2];
        liana_initialize_options half = {.name = "d", .initializer = "constant(0.5)", .again = true};
        assert_ok(liana_variables_initialize(variables, &half), &context->error);
        assert_ok(liana_variables_read(variables, "d", constant, sizeof constant), &context->error);
        assert_compare(constant[0], ==, 0.5);
        assert_compare(constant[1], ==, 0.5);
        liana_variables_destroy(variables);
    }
    assert_memory_equal(values[0], values[1], sizeof other);
}

/* A file of safetensors that another reader reads, and that gives back the same bits on another device. */
static void test_saving_and_loading(void **state)
{
    (void)state;
    const int64_t count = -5;
    const char *path = liana__test_path("w.safetensors");
    fixture f = begin(devices[0]), g = begin(devices[1]);
    assert_fails(liana_variables_save(f.variables, path), LIANA_INVALID_ARGUMENT, &context->error, path,
                 "'w' and 'count'", "have no value");
    assert_ok(liana_variables_write(f.variables, "w", numbers, sizeof numbers), &context->error);
    assert_ok(liana_variables_write(f.variables, "count", &count, sizeof count), &context->error);
    assert_ok(liana_variables_save(f.variables, path), &context->error);
    liana__safetensors file;
    assert_ok(liana__safetensors_open(path, &file, &context->error), &context->error);
    const liana__safetensors_tensor *w = liana__safetensors_find(&file, "w");
    assert_true(w);
    assert_compare(w->dtype, ==, LIANA__SAFETENSORS_F32);
    assert_compare(w->rank, ==, 1);
    assert_compare(w->shape[0], ==, SIZE);
    float values[SIZE];
    assert_ok(liana__safetensors_read(&file, w, values, &context->error), &context->error);
    assert_memory_equal(values, numbers, sizeof numbers);
    liana__safetensors_close(&file);
    int64_t got = 0;
    assert_ok(liana_variables_load(g.variables, path, false), &context->error);
    assert_variable(g.variables, "w", 1, -2, 3);
    assert_ok(liana_variables_read(g.variables, "count", &got, sizeof got), &context->error);
    assert_int_equal(got, count);

    /* One more variable than the file has. */
    liana_variables *more = f.variables;
    assert_ok(liana_variables_add(more, "counts", LIANA_S64, LIANA_SCALAR, NULL), &context->error);
    assert_ok(liana_variables_initialize(more, &(liana_initialize_options){.name = "w", .again = true}),
              &context->error);
    assert_fails(liana_variables_load(more, path, false), LIANA_INVALID_DATA, &context->error, path,
                 "'counts' is missing", "did you mean 'count'");
    assert_variable(more, "w", 0.5f, 0.5f, 0.5f);
    assert_ok(liana_variables_load(more, path, true), &context->error);
    assert_variable(more, "w", 1, -2, 3);
    assert_fails(liana_variables_load(more, "no/such.safetensors", false), LIANA_NOT_FOUND, &context->error, "no/such");
    end(&f);
    end(&g);

    liana_variables *wrong;
    assert_ok(liana_variables_create(devices[0], &wrong), &context->error);
    assert_ok(liana_variables_add(wrong, "count", LIANA_F32, LIANA_SCALAR, NULL), &context->error);
    assert_fails(liana_variables_load(wrong, path, true), LIANA_INVALID_DATA, &context->error, "'count' is I64[]",
                 "variable is f32[]");
    liana_variables_destroy(wrong);
}

static void test_wrong_feeds_are_named(void **state)
{
    (void)state;
    for (int d = 0; d < num_devices; d++) {
        fixture f = begin(devices[d]);
        float got[SIZE];
        const liana_fetches product = LIANA_FETCHES(FETCH("product", got));
        assert_ok(liana_variables_initialize(f.variables, &(liana_initialize_options){.initializer = "ones"}),
                  &context->error);
        assert_fails(liana_run(f.program, .fetches = product), LIANA_INVALID_ARGUMENT, &context->error,
                     "adder:", "inputs 'x' (f32[3]), 'scale' (f32[])", "were not fed");
        assert_fails(liana_run(f.program, .feeds = LIANA_FEEDS(FEED_X), .fetches = product), LIANA_INVALID_ARGUMENT,
                     &context->error, "input 'scale' (f32[])", "was not fed");
        assert_fails(liana_run(f.program, .feeds = LIANA_FEEDS(FEED_X, {"skale", LIANA_F32, LIANA_SCALAR, got}),
                               .fetches = product),
                     LIANA_NOT_FOUND, &context->error, "no input 'skale'", "did you mean 'scale'");
        assert_fails(liana_run(f.program, .feeds = LIANA_FEEDS({"x", LIANA_F32, liana_shape_of(4), got}, FEED_SCALE),
                               .fetches = product),
                     LIANA_INVALID_ARGUMENT, &context->error, "input 'x'", "fed f32[4]", "expected f32[3]");
        assert_fails(liana_run(f.program, .feeds = LIANA_FEEDS({"x", LIANA_S32, ROW, got}, FEED_SCALE),
                               .fetches = product),
                     LIANA_INVALID_ARGUMENT, &context->error, "input 'x'", "fed s32[3]", "expected f32[3]");
        assert_fails(liana_run(f.program, .feeds = LIANA_FEEDS(FEED_X, FEED_X), .fetches = product),
                     LIANA_INVALID_ARGUMENT, &context->error, "input 'x'", "twice");
        assert_fails(liana_run(f.program, .feeds = LIANA_FEEDS({"x", LIANA_F32, ROW, NULL}), .fetches = product),
                     LIANA_INVALID_ARGUMENT, &context->error, "input 'x'", "no data");
        assert_fails(liana_run(f.program, .feeds = LIANA_FEEDS({NULL, LIANA_F32, ROW, got})), LIANA_INVALID_ARGUMENT,
                     &context->error, "feed 0 has no name");
        assert_fails(liana_run(f.program, .feeds = {NULL, 2}), LIANA_INVALID_ARGUMENT, &context->error, ".feeds of 2");
        liana_array odd = {"x", (liana_dtype)99, {.rank = 77}, got};
        assert_fails(liana_run(f.program, .feeds = {&odd, 1}), LIANA_INVALID_ARGUMENT, &context->error, "no type");
        /* None of it has changed anything. */
        assert_ok(liana_run(f.program, .feeds = LIANA_FEEDS(FEED_X, FEED_SCALE), .fetches = product), &context->error);
        assert_row(got, 30, -30, 70);
        end(&f);
    }
}

static void test_wrong_results_and_assignments_are_named(void **state)
{
    (void)state;
    fixture f = begin(devices[0]);
    float got[SIZE];
    assert_fails(liana_run(f.program, .fetches = LIANA_FETCHES(FETCH("prodct", got))), LIANA_NOT_FOUND, &context->error,
                 "adder:", "'prodct'", "did you mean 'product'");
    assert_fails(liana_run(f.program, .fetches = LIANA_FETCHES({.name = "sum", .data = got, .size = 8})),
                 LIANA_INVALID_ARGUMENT, &context->error, "'sum' is f32[3], 12 bytes", "room for 8");
    assert_fails(liana_run(f.program, .fetches = LIANA_FETCHES({.tensor = f.sum, .size = 12})), LIANA_INVALID_ARGUMENT,
                 &context->error, "add 'sum'", "at no address");
    assert_fails(liana_run(f.program, .fetches = LIANA_FETCHES({.data = got, .size = 12})), LIANA_INVALID_ARGUMENT,
                 &context->error, "fetch 0 has no name", "no tensor of the graph");
    liana_graph_target(f.graph, "step", &f.w, 1);
    assert_fails(liana_run(f.program, .assign = LIANA_NAMES("stop")), LIANA_NOT_FOUND, &context->error, "'stop'",
                 "did you mean 'step'");
    assert_fails(liana_run(f.program, .assign = LIANA_NAMES("x")), LIANA_NOT_FOUND, &context->error, "'x'");
    assert_fails(liana_run(f.program, .assign = LIANA_NAMES(NULL)), LIANA_NOT_FOUND, &context->error, "''");
    assert_fails(liana_run(f.program, .feeds = LIANA_FEEDS(FEED_X), .assign_all = true), LIANA_INVALID_ARGUMENT,
                 &context->error, "adder: the variables 'w' and 'count' have no value", "liana_variables_initialize");
    assert_fails(liana_run(f.program, .feeds = LIANA_FEEDS(FEED_X), .fetches = LIANA_FETCHES(FETCH("sum", got))),
                 LIANA_INVALID_ARGUMENT, &context->error, "the variable 'w' has no value");
    end(&f);
}

static void test_wrong_variables_are_named(void **state)
{
    (void)state;
    fixture f = begin(devices[0]);
    float got[SIZE];
    liana_variables *variables = f.variables;
    assert_fails(liana_variables_read(variables, "w", got, sizeof got), LIANA_INVALID_ARGUMENT, &context->error, "'w'",
                 "no value");
    assert_fails(liana_variables_read(variables, "coutn", got, 8), LIANA_NOT_FOUND, &context->error, "'coutn'",
                 "did you mean 'count'");
    assert_fails(liana_variables_write(variables, "w", got, 4), LIANA_INVALID_ARGUMENT, &context->error,
                 "'w' is f32[3], 12 bytes", "found 4");
    assert_fails(liana_variables_write(variables, "w", NULL, 12), LIANA_INVALID_ARGUMENT, &context->error,
                 "liana_variables_write: 'data' is NULL");
    assert_fails(liana_variables_write(variables, NULL, got, 12), LIANA_INVALID_ARGUMENT, &context->error, "name");
    assert_fails(liana_variables_add(variables, "w", LIANA_F32, LIANA_SCALAR, NULL), LIANA_INVALID_ARGUMENT,
                 &context->error, "'w' is f32[]", "already as f32[3]");
    assert_fails(liana_variables_add(variables, "z", LIANA_F32, liana_shape_of(0), NULL), LIANA_INVALID_ARGUMENT,
                 &context->error, "'z'", "at least 1");
    assert_fails(liana_variables_add(variables, "", LIANA_F32, LIANA_SCALAR, NULL), LIANA_INVALID_ARGUMENT,
                 &context->error, "needs a name");
    assert_fails(liana_variables_initialize(variables, NULL), LIANA_INVALID_ARGUMENT, &context->error,
                 "no initialiser is known for 'count'");
    assert_fails(liana_variables_initialize(variables, &(liana_initialize_options){.initializer = "one"}),
                 LIANA_INVALID_CONFIG, &context->error, "one");
    assert_fails(liana_variables_initialize(variables, &(liana_initialize_options){.name = "ww"}), LIANA_NOT_FOUND,
                 &context->error, "'ww'", "did you mean 'w'");
    assert_false(liana_variables_find(variables, NULL, NULL));
    end(&f);
    liana_variables *none;
    assert_int_equal(liana_variables_create(NULL, &none), LIANA_INVALID_ARGUMENT);
    assert_null(none);
}

static void test_programs_that_cannot_be_made(void **state)
{
    (void)state;
    liana_program *program;
    liana_device *device;
    assert_fails(liana_device_open(context, "cup", &device), LIANA_INVALID_CONFIG, &context->error, "cup",
                 "did you mean 'cpu'");
    assert_null(device);
    fixture f = begin(devices[0]);
    assert_fails(liana_program_create(devices[0], NULL, NULL, &program), LIANA_INVALID_ARGUMENT, &context->error,
                 "liana_program_create: 'graph' is NULL");
    assert_fails(liana_program_create(NULL, f.graph, NULL, &program), LIANA_INVALID_ARGUMENT, &context->error,
                 "liana_program_create: 'device' is NULL");
    liana_program_options other = {.variables = f.variables};
    assert_fails(liana_program_create(devices[1], f.graph, &other, &program), LIANA_INVALID_ARGUMENT, &context->error,
                 "another device");
    assert_null(program);
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_graph_variable(graph, "w", LIANA_F32, liana_shape_of(9));
    assert_fails(liana_program_create(devices[0], graph, &other, &program), LIANA_INVALID_ARGUMENT, &context->error,
                 "test_public_program.c", "'w' is f32[9]", "already as f32[3]");
    liana_graph_destroy(graph);
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_graph_initializer(liana_graph_variable(graph, "v", LIANA_F32, ROW), "zeroes");
    assert_fails(liana_program_create(devices[0], graph, NULL, &program), LIANA_INVALID_CONFIG, &context->error, "'v'",
                 "zeroes", "zeros");
    liana_op_add(liana_graph_variable(graph, "v", LIANA_F32, ROW), (liana_tensor){0});
    assert_fails(liana_program_create(devices[0], graph, NULL, &program), LIANA_INVALID_ARGUMENT, &context->error,
                 "add");
    liana_graph_destroy(graph);
    end(&f);
    liana_program_destroy(NULL);
    liana_variables_destroy(NULL);
    liana_device_close(NULL);
    assert_int_equal(liana_program_run(NULL, NULL), LIANA_INVALID_ARGUMENT);
}

/* Once a set is compiled, the CPU allocates nothing in a run of it. */
static void test_a_run_allocates_nothing(void **state)
{
    (void)state;
    fixture f = begin(devices[0]);
    int64_t zero = 0;
    float a[SIZE], b[SIZE];
    assert_ok(liana_variables_write(f.variables, "w", numbers, sizeof numbers), &context->error);
    assert_ok(liana_variables_write(f.variables, "count", &zero, sizeof zero), &context->error);
    const liana_array feeds[] = {FEED_X, FEED_SCALE};
    const liana_fetch fetches[] = {FETCH("product", a), FETCH("double", b)};
    const liana_run_options options = {.feeds = {feeds, 2}, .fetches = {fetches, 2}, .assign_all = true};
    for (int i = 0; i < 3; i++) assert_ok(liana_program_run(f.program, &options), &context->error);
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 100; i++) assert_ok(liana_program_run(f.program, &options), &context->error);
    assert_int_equal(mallinfo2().uordblks, before);
    assert_ok(liana_variables_read(f.variables, "count", &zero, sizeof zero), &context->error);
    assert_int_equal(zero, 103);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_set_of_results),
        cmocka_unit_test(test_sets_are_compiled_once),
        cmocka_unit_test(test_assignments_are_asked_for),
        cmocka_unit_test(test_assigning_gives_a_value),
        cmocka_unit_test(test_variables_are_listed_and_shared),
        cmocka_unit_test(test_initialisers),
        cmocka_unit_test(test_saving_and_loading),
        cmocka_unit_test(test_wrong_feeds_are_named),
        cmocka_unit_test(test_wrong_results_and_assignments_are_named),
        cmocka_unit_test(test_wrong_variables_are_named),
        cmocka_unit_test(test_programs_that_cannot_be_made),
        cmocka_unit_test(test_a_run_allocates_nothing),
    };
    return cmocka_run_group_tests_name("public_program", tests, set_up, tear_down);
}
