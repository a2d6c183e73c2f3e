/* Values of expressions at once: against plain arithmetic and against programs; values that are computed once;
 * errors. */
#include "harness/harness.h"
#include "harness/one_context.h"

#include "base/context.h"
#include "ir/graph.h"

#include <liana/liana.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana_graph *new_graph(void)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    return graph;
}

static void test_values_are_those_of_arithmetic(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    const float a[] = {1, -2, 3}, b[] = {4, 5, 6};
    liana_tensor x = liana_graph_constant(graph, LIANA_F32, liana_shape_of(3), a);
    liana_tensor y = liana_graph_constant(graph, LIANA_F32, liana_shape_of(3), b);
    float got[3];
    assert_ok(liana_value(liana_op_add(liana_op_multiply(x, y), x), got, sizeof got), &context->error);
    for (int i = 0; i < 3; i++) assert_compare(got[i], ==, a[i] * b[i] + a[i], i);
    assert_compare(liana_number(liana_op_reduce_sum(liana_op_multiply(x, y), LIANA_ALL_AXES, false)), ==, 12);
    liana_tensor product = liana_op_matmul(liana_op_reshape(x, liana_shape_of(3, 1)),
                                           liana_op_reshape(y, liana_shape_of(1, 3)), false, false);
    float outer[9];
    assert_ok(liana_value(product, outer, sizeof outer), &context->error);
    for (int i = 0; i < 9; i++) assert_compare(outer[i], ==, a[i / 3] * b[i % 3], i);
    assert_compare(liana_number(
                       liana_op_less(liana_graph_scalar(graph, LIANA_F32, 1), liana_graph_scalar(graph, LIANA_F32, 2))),
                   ==, 1);
    assert_ok(liana_value(x, got, sizeof got), &context->error);
    assert_memory_equal(got, a, sizeof got);
    liana_graph_destroy(graph);
}

/* Gradients are expressions too: d sum(x^3) / dx = 3 x^2. */
static void test_gradients_have_values(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    const double a[] = {0.5, -1.25, 3, 7};
    liana_tensor x = liana_graph_constant(graph, LIANA_F64, liana_shape_of(4), a), dx;
    liana_gradients(liana_op_multiply(liana_op_square(x), x), &x, 1, &dx);
    double got[4];
    assert_ok(liana_value(dx, got, sizeof got), &context->error);
    for (int i = 0; i < 4; i++) assert_near(got[i], 3 * a[i] * a[i], 1e-12, i);
    liana_graph_destroy(graph);
}

/* A small network: the same numbers as a compiled program on the CPU, up to the rounding of fused kernels. */
static void test_values_are_those_of_a_program(void **state)
{
    (void)state;
    enum { N = 2, SIDE = 9, IN = 3, OUT = 4, PIXELS = N * SIDE * SIDE };
    liana_graph *graph = new_graph();
    float image[PIXELS * IN], kernel[9 * IN * OUT], eager[N * OUT], compiled[N * OUT];
    for (int i = 0; i < PIXELS * IN; i++) image[i] = (float)((i * 37) % 101) / 50 - 1;
    for (int i = 0; i < 9 * IN * OUT; i++) kernel[i] = (float)((i * 53) % 89) / 40 - 1;
    liana_tensor x = liana_graph_constant(graph, LIANA_F32, liana_shape_of(N, SIDE, SIDE, IN), image);
    liana_tensor w = liana_graph_constant(graph, LIANA_F32, liana_shape_of(3, 3, IN, OUT), kernel);
    liana_tensor y = liana_op_relu(liana_op_conv2d(x, w, (liana_conv_options){.padding = LIANA_PADDING_SAME}));
    y = liana_op_softmax(
        liana_op_reduce_mean(liana_op_max_pool2d(y, (liana_pool_options){.window = {2, 2}}), LIANA_AXES(1, 2), false));
    assert_ok(liana_value(y, eager, sizeof eager), &context->error);
    liana_device *device;
    liana_program *program;
    assert_ok(liana_device_open(context, NULL, &device), &context->error);
    assert_ok(liana_program_create(device, graph, NULL, &program), &context->error);
    assert_ok(liana_run(program, .fetches = LIANA_FETCHES({.tensor = y, .data = compiled, .size = sizeof compiled})),
              &context->error);
    for (int i = 0; i < N * OUT; i++) assert_near(eager[i], compiled[i], 1e-5f, i);
    liana_program_destroy(program);
    liana_device_close(device);
    liana_graph_destroy(graph);
}

/* Known values are not computed again: their memory stays, and only new nodes get some. */
static void test_values_are_kept(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor x = liana_op_exp(liana_graph_scalar(graph, LIANA_F64, 1)), y = liana_op_add(x, x);
    liana_tensor unused = liana_op_sin(x);
    assert_near(liana_number(y), 2 * 2.718281828459045, 1e-14);
    const void *first = graph->values[x.id];
    assert_non_null(first);
    assert_compare(liana_number(liana_op_multiply(y, x)), >, 14.7);
    assert_ptr_equal(graph->values[x.id], first);
    assert_null(graph->values[unused.id]);
    liana_graph_destroy(graph);
}

/* No recursion: an expression may be as deep as it likes. */
static void test_deep_expressions(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    liana_graph *graph = new_graph();
    liana_tensor one = liana_graph_scalar(graph, LIANA_F64, 1), sum = one;
    for (int i = 1; i < DEPTH; i++) sum = liana_op_add(sum, one);
    assert_compare(liana_number(sum), ==, DEPTH);
    liana_graph_destroy(graph);
}

/* More inputs than most ops have. */
static void test_many_inputs(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    liana_graph *graph = new_graph();
    liana_tensor parts[COUNT];
    int32_t got[COUNT];
    for (int i = 0; i < COUNT; i++)
        parts[i] = liana_op_reshape(liana_graph_scalar(graph, LIANA_S32, i), liana_shape_of(1));
    assert_ok(liana_value(liana_op_concat(parts, COUNT, 0), got, sizeof got), &context->error);
    for (int i = 0; i < COUNT; i++) assert_int_equal(got[i], i);
    liana_graph_destroy(graph);
}

static void test_what_has_no_value_is_named(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor x = liana_graph_input(graph, "photo", LIANA_F32, liana_shape_of(2));
    liana_tensor w = liana_graph_variable(graph, "weight", LIANA_F32, liana_shape_of(2));
    liana_tensor two = liana_op_exp(liana_graph_constant(graph, LIANA_F32, liana_shape_of(2), ((float[]){1, 2})));
    float got[2];
    assert_fails(liana_value(liana_op_exp(x), got, sizeof got), LIANA_INVALID_ARGUMENT, &context->error,
                 "input 'photo'", "test_eager_value.c", "liana_program_run");
    assert_fails(liana_value(liana_op_add(two, w), got, sizeof got), LIANA_INVALID_ARGUMENT, &context->error,
                 "variable 'weight'");
    liana_tensor_set_name(two, "two");
    assert_fails(liana_value(two, got, 4), LIANA_INVALID_ARGUMENT, &context->error, "exp 'two'", "f32[2], 8 bytes",
                 "room for 4");
    assert_fails(liana_value(two, NULL, 8), LIANA_INVALID_ARGUMENT, &context->error, "liana_value: 'data' is NULL");
    assert_true(isnan(liana_number(two)));
    assert_fails(context->error.status, LIANA_INVALID_ARGUMENT, &context->error, "one element", "exp 'two'", "f32[2]");
    assert_fails(liana_value((liana_tensor){graph, 999}, got, 8), LIANA_INVALID_ARGUMENT, &context->error, "no tensor");
    assert_int_equal(liana_value((liana_tensor){0}, got, 8), LIANA_INVALID_ARGUMENT);
    /* None of it is the graph's failure. */
    assert_ok(liana_value(two, got, sizeof got), &context->error);
    liana_op_add(two, liana_graph_scalar(graph, LIANA_F64, 1));
    assert_fails(liana_value(two, got, sizeof got), LIANA_INVALID_ARGUMENT, &context->error, "of exp 'two', constant");
    liana_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_those_of_arithmetic),
        cmocka_unit_test(test_gradients_have_values),
        cmocka_unit_test(test_values_are_those_of_a_program),
        cmocka_unit_test(test_values_are_kept),
        cmocka_unit_test(test_deep_expressions),
        cmocka_unit_test(test_many_inputs),
        cmocka_unit_test(test_what_has_no_value_is_named),
    };
    return cmocka_run_group_tests_name("eager_value", tests, set_up, tear_down);
}
