/* A device that says whether it has seen that all new values of variables are finite: it says so of no others. */
#include "harness/harness.h"

#include "harness/graph_run.h"

#include "exec/program.h"

#include <liana/ops.h>
#include <math.h>
#include <stdlib.h>

static liana_context *context;
static liana__device *cpu, *reference;
static int num_threads;

static int open_one(void **state)
{
    (void)state;
    num_threads = 1;
    return liana__test_open_devices(1, &context, &cpu, &reference);
}

static int open_three(void **state)
{
    (void)state;
    num_threads = 3;
    return liana__test_open_devices(3, &context, &cpu, &reference);
}

static int close_devices(void **state)
{
    (void)state;
    return liana__test_close_devices(context, cpu, reference);
}

enum { NUM_SIZES = 5 };
/* Whole, in tiles, in slices with and without a rest, and one number. */
static const int64_t sizes[NUM_SIZES] = {1, 300, 16384 + 1, 5 * 16384, 1000003};
static const char *const inputs[NUM_SIZES] = {"x0", "x1", "x2", "x3", "x4"};
static const char *const weights[NUM_SIZES] = {"v0", "v1", "v2", "v3", "v4"};
static const char *const means[NUM_SIZES] = {"mean0", "mean1", "mean2", "mean3", "mean4"};

/* Each variable v becomes v + x, and its average with x follows: chains that run slice by slice. `alone`: only one op
 * of each, which runs in tiles. */
static liana__program *compile(liana__device *device, liana__variables *variables, bool alone)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana__error error = {0};
    liana__variables_init(variables, device);
    for (int i = 0; i < NUM_SIZES; i++) {
        const liana_shape shape = {1, {sizes[i]}};
        liana_tensor x = liana_graph_input(graph, inputs[i], LIANA_F32, shape);
        liana_tensor old = liana_graph_variable(graph, weights[i], LIANA_F32, shape);
        liana_graph_assign(old, liana_op_add(old, x));
        assert_ok(liana__variables_add(variables, weights[i], LIANA_F32, &shape, NULL, &error), &error);
        if (alone) continue;
        liana_tensor average = liana_graph_variable(graph, means[i], LIANA_F32, shape);
        liana_tensor share = liana_graph_scalar(graph, LIANA_F32, 0.25);
        liana_graph_assign(average, liana_op_add(average, liana_op_multiply(share, liana_op_subtract(x, average))));
        assert_ok(liana__variables_add(variables, means[i], LIANA_F32, &shape, NULL, &error), &error);
    }
    liana__program *program;
    assert_ok(liana_graph_status(graph), &context->error);
    assert_ok(liana__program_create(device, graph, "update", variables, &program, &error), &error);
    assert_ok(liana__program_prepare(program, &error), &error);
    return program;
}

static void feed(liana__program *program, int input, int64_t place, float value)
{
    liana__error error = {0};
    const liana_shape shape = {1, {sizes[input]}};
    float *x = calloc((size_t)sizes[input], sizeof *x);
    assert_non_null(x);
    if (place >= 0) x[place] = value;
    assert_ok(liana__program_feed(program, (size_t)input, LIANA_F32, &shape, x, &error), &error);
    free(x);
}

static void assert_seen(liana__program *program, bool expected, const char *when)
{
    liana__error error = {0};
    bool seen = !expected;
    assert_ok(liana__program_run_watched(program, &seen, &error), &error);
    if (seen != expected) fail_msg("%s: the device has %sseen that all is finite", when, seen ? "" : "not ");
}

static void check_places(bool alone)
{
    for (int i = 0; i < NUM_SIZES; i++) {
        const int64_t places[] = {0, sizes[i] / 2, sizes[i] - 1};
        const float values[] = {INFINITY, -INFINITY, NAN};
        for (int k = 0; k < 3; k++) {
            liana__variables variables;
            liana__program *program = compile(cpu, &variables, alone);
            for (int other = 0; other < NUM_SIZES; other++) feed(program, other, -1, 0);
            assert_seen(program, true, "all are finite");
            feed(program, i, places[k], values[k]);
            char when[64];
            snprintf(when, sizeof when, "%d threads, place %d of %s", num_threads, (int)places[k], inputs[i]);
            assert_seen(program, false, when);
            feed(program, i, -1, 0);
            assert_seen(program, false, "it stays in the variable");
            liana__program_destroy(program);
            liana__variables_free(&variables);
        }
    }
}

static void test_no_place_is_missed(void **state)
{
    (void)state;
    check_places(false);
    check_places(true);
}

/* The largest finite numbers are finite, and denormals too. */
static void test_finite_numbers_are_finite(void **state)
{
    (void)state;
    const float values[] = {3.4028234e38f, -3.4028234e38f, 1e-40f, -0.0f};
    for (int k = 0; k < 4; k++) {
        liana__variables variables;
        liana__program *program = compile(cpu, &variables, true);
        for (int i = 0; i < NUM_SIZES; i++) feed(program, i, sizes[i] - 1, values[k]);
        assert_seen(program, true, "large and small numbers");
        liana__program_destroy(program);
        liana__variables_free(&variables);
    }
}

/* Adam's step of weights whose squares are 1, which is one op with its own look, by a mean at each place. */
static void test_a_step_of_adam_misses_no_place(void **state)
{
    (void)state;
    enum { SIZE = 77 };
    const liana_shape shape = {1, {SIZE}};
    liana_graph *graph = liana__test_new_graph(context);
    liana__error error = {0};
    liana__variables variables;
    liana_tensor w = liana_graph_variable(graph, "w", LIANA_F32, shape);
    liana_tensor mean = liana_graph_input(graph, "mean", LIANA_F32, shape);
    liana_tensor square = liana_graph_input(graph, "square", LIANA_F32, shape);
    liana_tensor rate = liana_graph_input(graph, "rate", LIANA_F32, LIANA_SCALAR);
    liana_tensor root = liana_op_add(liana_op_sqrt(square), liana_graph_scalar(graph, LIANA_F32, 0));
    liana_graph_assign(w, liana_op_subtract(w, liana_op_divide(liana_op_multiply(rate, mean), root)));
    liana__variables_init(&variables, cpu);
    assert_ok(liana__variables_add(&variables, "w", LIANA_F32, &shape, NULL, &error), &error);
    liana__program *program;
    assert_ok(liana__program_create(cpu, graph, "adam", &variables, &program, &error), &error);
    float values[SIZE], squares[SIZE];
    for (int i = 0; i < SIZE; i++) squares[i] = 1;
    assert_ok(liana__program_feed(program, 1, LIANA_F32, &shape, squares, &error), &error);
    assert_ok(liana__program_feed(program, 2, LIANA_F32, &LIANA_SCALAR, &(float){0.5f}, &error), &error);
    const float bad[] = {INFINITY, -INFINITY, NAN};
    for (int place = 0; place < SIZE; place++) {
        for (int i = 0; i < SIZE; i++) values[i] = (float)(i - 5);
        assert_ok(liana__variable_write(liana__variables_find(&variables, "w"), squares, &error), &error);
        assert_ok(liana__program_feed(program, 0, LIANA_F32, &shape, values, &error), &error);
        assert_seen(program, true, "a finite mean");
        values[place] = bad[place % 3];
        assert_ok(liana__program_feed(program, 0, LIANA_F32, &shape, values, &error), &error);
        assert_seen(program, false, "a mean that is not finite");
    }
    liana__program_destroy(program);
    liana__variables_free(&variables);
}

/* Values that no op of the program makes are not looked at, nor is anything on a device that cannot. */
static void test_nothing_is_said_without_a_look(void **state)
{
    (void)state;
    liana__variables variables;
    liana__error error = {0};
    const liana_shape shape = {1, {300}};
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, shape);
    liana_graph_assign(liana_graph_variable(graph, "v", LIANA_F32, shape), x);
    liana__variables_init(&variables, cpu);
    assert_ok(liana__variables_add(&variables, "v", LIANA_F32, &shape, NULL, &error), &error);
    liana__program *program;
    assert_ok(liana__program_create(cpu, graph, "copy", &variables, &program, &error), &error);
    assert_ok(liana__program_feed(program, 0, LIANA_F32, &shape, (float[300]){0}, &error), &error);
    assert_seen(program, false, "an input");
    liana__program_destroy(program);
    liana__variables_free(&variables);
    program = compile(reference, &variables, false);
    for (int i = 0; i < NUM_SIZES; i++) feed(program, i, -1, 0);
    assert_seen(program, false, "the reference does not look");
    liana__program_destroy(program);
    liana__variables_free(&variables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_place_is_missed),
        cmocka_unit_test(test_finite_numbers_are_finite),
        cmocka_unit_test(test_a_step_of_adam_misses_no_place),
        cmocka_unit_test(test_nothing_is_said_without_a_look),
    };
    const int failed = cmocka_run_group_tests_name("watched values, one worker", tests, open_one, close_devices);
    return failed + cmocka_run_group_tests_name("watched values, three workers", tests, open_three, close_devices);
}
