/* Functions that are made of several ops, against numpy's results (written as numbers that numpy 2 gave). */
#include "harness/harness.h"

#include "base/context.h"

#include <liana/functions.h>
#include <math.h>

static liana_context *context;
static liana_graph *graph;

static int set_up(void **state)
{
    (void)state;
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) return -1;
    return liana_graph_create(context, &graph) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_graph_destroy(graph);
    liana_context_destroy(context);
    return 0;
}

static void check(const char *name, liana_tensor tensor, const double *expected, size_t count)
{
    float found[64];
    const liana_shape shape = liana_tensor_shape(tensor);
    assert_ok(liana_graph_status(graph), &context->error);
    assert_compare((size_t)liana_shape_size(&shape), ==, count);
    tensor = liana_op_cast(tensor, LIANA_F32);
    assert_ok(liana_value(tensor, found, count * sizeof *found), &context->error);
    for (size_t i = 0; i < count; i++) {
        const double distance = fabs((double)found[i] - expected[i]);
        const bool is_same = (double)found[i] == expected[i] || (isnan(found[i]) && isnan(expected[i]));
        if (is_same || distance <= 2e-6 * (1e-3 + fabs(expected[i]))) continue;
        fail_msg("%s: element %zu is %.9g, numpy has %.9g", name, i, (double)found[i], expected[i]);
    }
}
#define CHECK(call, ...) \
    check(#call, liana_op_##call, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static const float x_values[] = {-1.5, -0.25, 0, 0.125, 0.75, 2.5};
static const float y_values[] = {2, -3, 0.5, -1, 0.25, 4};
static const float u_values[] = {-0.9, -0.25, 0, 0.125, 0.5, 0.99};
static const float v_values[] = {1, 1.25, 2, 3.5, 10, 2e+10};
static const float w_values[] = {-3e+10, -0.001, 0, 0.001, 1, 3e+10};
static const int32_t i_values[] = {7, -7, 6, -6, 5, 0};
static const int32_t j_values[] = {3, 3, -4, 4, -5, 2};

static liana_tensor floats(const float *values)
{
    return liana_graph_constant(graph, LIANA_F32, liana_shape_of(2, 3), values);
}

static liana_tensor integers(const int32_t *values)
{
    return liana_graph_constant(graph, LIANA_S32, liana_shape_of(2, 3), values);
}

static void test_functions_of_elements(void **state)
{
    (void)state;
    liana_tensor x = floats(x_values);
    liana_tensor y = floats(y_values);
    liana_tensor u = floats(u_values);
    liana_tensor v = floats(v_values);
    liana_tensor w = floats(w_values);
    liana_tensor i = integers(i_values);
    liana_tensor j = integers(j_values);
    CHECK(exp2(x), 0.353553391, 0.840896415, 1, 1.09050773, 1.68179283, 5.65685425);
    CHECK(log2(v), 0, 0.321928095, 1, 1.80735492, 3.32192809, 34.2192809);
    CHECK(log10(v), 0, 0.096910013, 0.301029996, 0.544068044, 1, 10.30103);
    CHECK(reciprocal(y), 0.5, -0.333333333, 2, -1, 4, 0.25);
    CHECK(softplus(x), 0.201413278, 0.57593942, 0.693147181, 0.757599035, 1.13687101, 2.57888973);
    CHECK(logaddexp(x, y), 2.02975042, -0.188032411, 0.974076984, 0.406150136, 1.22407698, 4.20141328);
    CHECK(tan(x), -14.1014199, -0.255341921, 0, 0.125655137, 0.93159646, -0.747022297);
    CHECK(asin(u), -1.11976951, -0.252680255, 0, 0.125327831, 0.523598776, 1.42925685);
    CHECK(acos(u), 2.69056584, 1.82347658, 1.57079633, 1.4454685, 1.04719755, 0.141539473);
    CHECK(atan(x), -0.982793723, -0.244978663, 0, 0.124354995, 0.643501109, 1.19028995);
    CHECK(atan2(x, y), -0.643501109, -3.05845142, 0, 3.01723766, 1.24904577, 0.558599315);
    CHECK(sinh(x), -2.12927946, -0.252612317, 0, 0.125325775, 0.822316732, 6.05020448);
    CHECK(cosh(x), 2.35240962, 1.0314131, 1, 1.00782268, 1.29468328, 6.13228948);
    CHECK(asinh(w), -24.8176104, -0.000999999833, 0, 0.000999999833, 0.881373587, 24.8176104);
    CHECK(acosh(v), 0, 0.693147181, 1.3169579, 1.9248473, 2.99322285, 24.4121453);
    CHECK(atanh(u), -1.47221949, -0.255412812, 0, 0.125657214, 0.549306144, 2.64665241);
    CHECK(trunc(x), -1, -0, 0, 0, 0, 2);
    CHECK(floor_divide(x, y), -1, 0, 0, -1, 3, 0);
    CHECK(mod(x, y), 0.5, -0.25, 0, -0.875, 0, 2.5);
    CHECK(floor_divide(i, j), 2, -3, -2, -2, -1, 0);
    CHECK(mod(i, j), 1, 2, -2, 2, 0, 0);
    CHECK(is_nan(liana_op_log(x)), 1, 1, 0, 0, 0, 0);
    CHECK(is_inf(liana_op_log(x)), 0, 0, 1, 0, 0, 0);
    CHECK(where(liana_op_greater(x, y), x, y), 2, -0.25, 0.5, 0.125, 0.75, 4);
}

static void test_functions_over_axes(void **state)
{
    (void)state;
    liana_tensor x = floats(x_values);
    liana_tensor y = floats(y_values);
    CHECK(logsumexp(liana_op_multiply(x, liana_graph_scalar(x.graph, LIANA_F32, 100)), LIANA_AXES(1), false),
          1.38880019e-11, 250);
    CHECK(variance(x, LIANA_AXES(0), true), 0.66015625, 0.25, 1.5625);
    CHECK(standard_deviation(x, LIANA_ALL_AXES, false), 1.2041955);
    CHECK(norm(x, 2, LIANA_AXES(1), false), 1.52069063, 2.61306812);
    CHECK(norm(x, 1, LIANA_AXES(1), true), 1.75, 3.375);
    CHECK(norm(x, 3, LIANA_AXES(1), false), 1.50231125, 2.52240281);
    CHECK(norm(x, INFINITY, LIANA_AXES(0), false), 1.5, 0.75, 2.5);
    CHECK(any(x, LIANA_AXES(0), false), 1, 1, 1);
    CHECK(all(x, LIANA_AXES(1), true), 0, 1);
    CHECK(count_nonzero(x, LIANA_ALL_AXES, false), 5);
    CHECK(argmin(x, 0), 0, 0, 0);
    CHECK(argmin(y, -1), 1, 0);
}

static void test_functions_that_move_elements(void **state)
{
    (void)state;
    liana_tensor x = floats(x_values);
    liana_tensor y = floats(y_values);
    liana_tensor t = liana_op_reshape(liana_op_iota(graph, LIANA_F32, liana_shape_of(24), 0), liana_shape_of(2, 3, 4));
    CHECK(expand_dims(x, 1), -1.5, -0.25, 0, 0.125, 0.75, 2.5);
    CHECK(squeeze(liana_op_expand_dims(x, -1), LIANA_AXES(2)), -1.5, -0.25, 0, 0.125, 0.75, 2.5);
    CHECK(move_axis(t, 0, 2), 0, 12, 1, 13, 2, 14, 3, 15, 4, 16, 5, 17, 6, 18, 7, 19, 8, 20, 9, 21, 10, 22, 11, 23);
    CHECK(move_axis(t, -1, 0), 0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23);
    CHECK(swap_axes(t, 0, -1), 0, 12, 4, 16, 8, 20, 1, 13, 5, 17, 9, 21, 2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23);
    CHECK(stack(((const liana_tensor[]){x, y}), 2, 1), -1.5, -0.25, 0, 2, -3, 0.5, 0.125, 0.75, 2.5, -1, 0.25, 4);
    CHECK(roll(x, 4, 1), 0, -1.5, -0.25, 2.5, 0.125, 0.75);
    CHECK(roll(x, -1, -1), -0.25, 0, -1.5, 0.75, 2.5, 0.125);
    CHECK(flip(x, LIANA_AXES(1)), 0, -0.25, -1.5, 2.5, 0.75, 0.125);
    CHECK(flip(x, LIANA_ALL_AXES), 2.5, 0.75, 0.125, 0, -0.25, -1.5);
    CHECK(repeat(x, 2, 0), -1.5, -0.25, 0, -1.5, -0.25, 0, 0.125, 0.75, 2.5, 0.125, 0.75, 2.5);
    CHECK(repeat(x, 3, 1), -1.5, -1.5, -1.5, -0.25, -0.25, -0.25, 0, 0, 0, 0.125, 0.125, 0.125, 0.75, 0.75, 0.75, 2.5,
          2.5, 2.5);
    CHECK(tile(x, liana_shape_of(2, 1, 2)), -1.5, -0.25, 0, -1.5, -0.25, 0, 0.125, 0.75, 2.5, 0.125, 0.75, 2.5, -1.5,
          -0.25, 0, -1.5, -0.25, 0, 0.125, 0.75, 2.5, 0.125, 0.75, 2.5);
}

static void test_tensors_that_follow_a_rule(void **state)
{
    (void)state;
    liana_tensor x = floats(x_values);
    liana_tensor y = floats(y_values);
    liana_tensor t = liana_op_reshape(liana_op_iota(graph, LIANA_F32, liana_shape_of(24), 0), liana_shape_of(2, 3, 4));
    CHECK(full(x.graph, LIANA_F32, liana_shape_of(2, 2), 1.5), 1.5, 1.5, 1.5, 1.5);
    CHECK(arange(x.graph, LIANA_F32, 1, 3.1, 0.5), 1, 1.5, 2, 2.5, 3);
    CHECK(arange(x.graph, LIANA_S32, 5, 0, -2), 5, 3, 1);
    CHECK(linspace(x.graph, LIANA_F32, 1, 2, 5, true), 1, 1.25, 1.5, 1.75, 2);
    CHECK(linspace(x.graph, LIANA_F32, 1, 2, 4, false), 1, 1.25, 1.5, 1.75);
    CHECK(eye(x.graph, LIANA_F32, 2, 3, 1), 0, 1, 0, 0, 0, 1);
    CHECK(tri(x.graph, LIANA_F32, 3, 2, -1), 0, 0, 1, 0, 1, 1);
    CHECK(tril(t, 1), 0, 1, 0, 0, 4, 5, 6, 0, 8, 9, 10, 11, 12, 13, 0, 0, 16, 17, 18, 0, 20, 21, 22, 23);
    CHECK(triu(x, 0), -1.5, -0.25, 0, 0, 0.75, 2.5);
    CHECK(outer(liana_op_argmin(x, 0), liana_op_argmin(y, -1)), 0, 0, 0, 0, 0, 0);
}

static void test_parts_and_grids(void **state)
{
    (void)state;
    liana_tensor x = floats(x_values), parts[3], grids[2];
    liana_op_split(x, 3, 1, parts);
    check("split", parts[1], (const double[]){-0.25, 0.75}, 2);
    const liana_tensor axes[] = {liana_op_arange(graph, LIANA_F32, 0, 2, 1),
                                 liana_op_arange(graph, LIANA_F32, 5, 8, 1)};
    liana_op_meshgrid(axes, 2, grids);
    check("meshgrid", grids[0], (const double[]){0, 0, 0, 1, 1, 1}, 6);
    check("meshgrid", grids[1], (const double[]){5, 6, 7, 5, 6, 7}, 6);
}

/* d/dx of the sum, where it is known: 1 / (1 + x^2), and the shares of softmax. */
static void test_gradients(void **state)
{
    (void)state;
    liana_tensor x = floats(x_values), dx;
    double expected[6], sum = 0;
    liana_gradients(liana_op_reduce_sum(liana_op_atan(x), LIANA_ALL_AXES, false), &x, 1, &dx);
    for (int i = 0; i < 6; i++) expected[i] = 1 / (1 + (double)x_values[i] * (double)x_values[i]);
    check("d atan", dx, expected, 6);
    for (int i = 0; i < 6; i++) sum += exp((double)x_values[i]);
    for (int i = 0; i < 6; i++) expected[i] = exp((double)x_values[i]) / sum;
    liana_gradients(liana_op_logsumexp(x, LIANA_ALL_AXES, false), &x, 1, &dx);
    check("d logsumexp", dx, expected, 6);
}

static void test_what_does_not_fit_is_named(void **state)
{
    (void)state;
    liana_tensor x = floats(x_values), parts[2];
    (void)liana_op_expand_dims(x, 4);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "expand_dims", "axis 4",
                 "-3 to 2");
    liana_graph_destroy(graph);
    assert_ok(liana_graph_create(context, &graph), &context->error);
    x = floats(x_values);
    liana_op_split(x, 2, 1, parts);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "split", "the size 3", "2 parts");
    liana_graph_destroy(graph);
    assert_ok(liana_graph_create(context, &graph), &context->error);
    (void)liana_op_arange(graph, LIANA_F32, 1, 0, 1);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "arange", "at least one number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_functions_of_elements, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_functions_over_axes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_functions_that_move_elements, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tensors_that_follow_a_rule, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parts_and_grids, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gradients, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_does_not_fit_is_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
