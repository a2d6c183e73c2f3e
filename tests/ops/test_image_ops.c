/* Convolution, pooling and batch normalisation against PyTorch (tests/samples/torch_ops.h), at the edges of numbers,
 * and their messages when shapes do not fit. */
#include "harness/harness.h"

#include "harness/graph_run.h"
#include "ops/conv/conv2d.h"
#include "ops/norm/batch_norm.h"
#include "ops/pool/pool2d.h"
#include "samples/torch_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana__device *devices[2]; /* reference, run in f64; cpu, run in f32 */

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(0, &context, &devices[1], &devices[0]);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, devices[1], devices[0]);
}

/* torch_ops.py's formula: eighths from -11/8 to 11/8. */
static liana_tensor filled(liana_graph *graph, liana_dtype dtype, liana_shape shape, int64_t seed)
{
    int64_t count = liana_shape_size(&shape);
    void *data = malloc(liana__byte_size(dtype, &shape));
    assert_non_null(data);
    for (int64_t i = 0; i < count; i++) {
        liana__store(data, dtype, i, (double)((i * 7 + seed * 5 + i / 3) % 23 - 11) / 8);
    }
    liana_tensor made = liana_graph_constant(graph, dtype, shape, data);
    free(data);
    return made;
}

/* PyTorch's values of one output: whole numbers of 1/unit, or doubles. */
typedef struct expectation {
    const int16_t *parts;
    const double *values;
    size_t count;
    double unit;
} expectation;
#define PARTS(array, unit)                                 \
    {                                                      \
        array, NULL, sizeof(array) / sizeof *(array), unit \
    }
#define VALUES(array)                                   \
    {                                                   \
        NULL, array, sizeof(array) / sizeof *(array), 0 \
    }

/* Runs a finished graph whose outputs are checked in order; destroys it. `tolerance` is relative to 1 + |expected|. */
static void check_outputs(int device, liana_graph *graph, const char *name, const expectation *expected,
                          double tolerance)
{
    if (liana_graph_status(graph) != LIANA_OK) fail_msg("%s: %s", name, liana_context_message(context));
    liana__test_value outputs[16];
    liana__test_run(devices[device], graph, NULL, outputs);
    for (size_t i = 0; i < graph->num_outputs; i++) {
        assert_compare(liana_shape_size(&outputs[i].shape), ==, expected[i].count, i);
        for (size_t k = 0; k < expected[i].count; k++) {
            double found = liana__load(outputs[i].data, outputs[i].dtype, (int64_t)k);
            double wanted = expected[i].parts ? expected[i].parts[k] / expected[i].unit : expected[i].values[k];
            double allowed = tolerance * (1 + fabs(wanted));
            if (fabs(found - wanted) <= allowed) continue;
            fail_msg("%s, output %zu, device %d: element %zu is %.9g, PyTorch says %.9g", name, i, device, k, found,
                     wanted);
        }
    }
    liana__test_free_values(outputs, graph->num_outputs);
    liana_graph_destroy(graph);
}

/* Outputs y and the gradients of sum(y dy), where dy is fill(3). */
static void add_outputs(liana_graph *graph, liana_tensor y, const liana_tensor *inputs, size_t num_inputs)
{
    static const char *const names[] = {"0", "1", "2", "3", "4", "5"};
    liana_tensor dy = filled(graph, liana_tensor_dtype(y), liana_tensor_shape(y), 3), gradients[6];
    liana_tensor loss = liana_op_reduce_sum(liana_op_multiply(y, dy), LIANA_ALL_AXES, false);
    liana_gradients(loss, inputs, num_inputs, gradients);
    liana_graph_output(graph, "y", y);
    for (size_t i = 0; i < num_inputs; i++) liana_graph_output(graph, names[i], gradients[i]);
}

typedef struct conv_case {
    const char *name;
    bool depthwise;
    liana_shape x, kernel;
    liana_conv_options options;
    expectation expected[3]; /* y, dx, dkernel */
} conv_case;

static const conv_case conv_cases[] = {
    {.name = "conv_same",
     .x = {4, {1, 5, 6, 2}},
     .kernel = {4, {3, 3, 2, 3}},
     .options = {.strides = {2, 2}, .padding = LIANA_PADDING_SAME},
     .expected = {PARTS(conv_same_y, 64), PARTS(conv_same_dx, 64), PARTS(conv_same_dkernel, 64)}},
    {.name = "conv_grouped",
     .x = {4, {2, 6, 5, 4}},
     .kernel = {4, {2, 3, 2, 6}},
     .options = {.strides = {1, 2},
                 .padding = LIANA_PADDING_EXPLICIT,
                 .explicit_padding = {1, 0, 2, 1},
                 .dilations = {2, 1},
                 .groups = 2},
     .expected = {PARTS(conv_grouped_y, 64), PARTS(conv_grouped_dx, 64), PARTS(conv_grouped_dkernel, 64)}},
    {.name = "depthwise_multiplied",
     .depthwise = true,
     .x = {4, {1, 5, 4, 3}},
     .kernel = {4, {3, 2, 3, 2}},
     .options = {.strides = {2, 1}, .padding = LIANA_PADDING_SAME},
     .expected = {PARTS(depthwise_multiplied_y, 64), PARTS(depthwise_multiplied_dx, 64),
                  PARTS(depthwise_multiplied_dkernel, 64)}},
    {.name = "depthwise",
     .depthwise = true,
     .x = {4, {1, 5, 4, 17}},
     .kernel = {4, {3, 3, 17, 1}},
     .options = {.strides = {2, 2}, .padding = LIANA_PADDING_SAME},
     .expected = {PARTS(depthwise_y, 64), PARTS(depthwise_dx, 64), PARTS(depthwise_dkernel, 64)}},
    {.name = "depthwise_dilated",
     .depthwise = true,
     .x = {4, {1, 6, 7, 9}},
     .kernel = {4, {2, 3, 9, 1}},
     .options = {.padding = LIANA_PADDING_SAME, .dilations = {2, 2}},
     .expected = {PARTS(depthwise_dilated_y, 64), PARTS(depthwise_dilated_dx, 64),
                  PARTS(depthwise_dilated_dkernel, 64)}},
};

static void test_convolutions(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * sizeof conv_cases / sizeof *conv_cases; i++) {
        const conv_case *c = &conv_cases[i / 2];
        int device = (int)(i % 2);
        liana_dtype dtype = device ? LIANA_F32 : LIANA_F64;
        liana_graph *graph = liana__test_new_graph(context);
        liana_tensor inputs[] = {filled(graph, dtype, c->x, 1), filled(graph, dtype, c->kernel, 2)};
        liana_tensor y = c->depthwise ? liana_op_depthwise_conv2d(inputs[0], inputs[1], c->options)
                                      : liana_op_conv2d(inputs[0], inputs[1], c->options);
        add_outputs(graph, y, inputs, 2);
        check_outputs(device, graph, c->name, c->expected, 0);
    }
}

static void test_pooling(void **state)
{
    (void)state;
    static const expectation max_expected[] = {PARTS(max_pool_y, 8), PARTS(max_pool_dx, 8)};
    static const expectation average_expected[] = {VALUES(average_pool_y), VALUES(average_pool_dx)};
    for (int device = 0; device < 2; device++) {
        liana_dtype dtype = device ? LIANA_F32 : LIANA_F64;
        liana_graph *graph = liana__test_new_graph(context);
        liana_tensor x = filled(graph, dtype, liana_shape_of(1, 5, 6, 3), 1);
        const liana_pool_options max = {.window = {3, 3}, .strides = {2, 2}, .padding = LIANA_PADDING_SAME};
        add_outputs(graph, liana_op_max_pool2d(x, max), &x, 1);
        check_outputs(device, graph, "max_pool2d", max_expected, 0);
        graph = liana__test_new_graph(context);
        x = filled(graph, dtype, liana_shape_of(2, 5, 4, 3), 1);
        const liana_pool_options average = {.window = {3, 2},
                                            .strides = {2, 1},
                                            .padding = LIANA_PADDING_EXPLICIT,
                                            .explicit_padding = {1, 1, 1, 1}};
        add_outputs(graph, liana_op_average_pool2d(x, average), &x, 1);
        check_outputs(device, graph, "average_pool2d", average_expected, device ? 1e-6 : 1e-14);
    }
}

static void test_batch_norm(void **state)
{
    (void)state;
    static const expectation training_expected[] = {VALUES(batch_norm_training_y), VALUES(batch_norm_training_dx),
                                                    VALUES(batch_norm_training_dgamma),
                                                    VALUES(batch_norm_training_dbeta), VALUES(batch_norm_statistics)};
    static const expectation inference_expected[] = {
        VALUES(batch_norm_inference_y),     VALUES(batch_norm_inference_dx),    VALUES(batch_norm_inference_dgamma),
        VALUES(batch_norm_inference_dbeta), VALUES(batch_norm_inference_dmean), VALUES(batch_norm_inference_dvariance)};
    liana_shape images = liana_shape_of(3, 2, 3, 5), channels = liana_shape_of(5);
    for (int device = 0; device < 2; device++) {
        liana_dtype dtype = device ? LIANA_F32 : LIANA_F64;
        double tolerance = device ? 2e-6 : 1e-13;
        liana_graph *graph = liana__test_new_graph(context);
        liana_tensor inputs[] = {filled(graph, dtype, images, 1), filled(graph, dtype, channels, 2),
                                 filled(graph, dtype, channels, 4)};
        liana_tensor statistics = liana_op_batch_norm_statistics(inputs[0]);
        add_outputs(graph, liana_op_batch_norm_training(inputs[0], inputs[1], inputs[2], statistics, 1e-3), inputs, 3);
        liana_graph_output(graph, "statistics", statistics);
        check_outputs(device, graph, "batch_norm_training", training_expected, tolerance);
        graph = liana__test_new_graph(context);
        liana_tensor given[] = {filled(graph, dtype, images, 1), filled(graph, dtype, channels, 2),
                                filled(graph, dtype, channels, 4), filled(graph, dtype, channels, 5),
                                liana_op_add(filled(graph, dtype, channels, 6), liana_graph_scalar(graph, dtype, 2))};
        add_outputs(graph, liana_op_batch_norm_inference(given[0], given[1], given[2], given[3], given[4], 1e-3), given,
                    5);
        check_outputs(device, graph, "batch_norm_inference", inference_expected, tolerance);
    }
}

/* bf16 keeps 8 bits of each result; statistics, gamma and beta stay f32. */
static void test_bf16(void **state)
{
    (void)state;
    static const expectation norm_expected[] = {VALUES(batch_norm_training_y), VALUES(batch_norm_training_dx),
                                                VALUES(batch_norm_training_dgamma), VALUES(batch_norm_training_dbeta)};
    for (int device = 0; device < 2; device++) {
        const conv_case *c = &conv_cases[0];
        liana_graph *graph = liana__test_new_graph(context);
        liana_tensor inputs[] = {filled(graph, LIANA_BF16, c->x, 1), filled(graph, LIANA_BF16, c->kernel, 2)};
        add_outputs(graph, liana_op_conv2d(inputs[0], inputs[1], c->options), inputs, 2);
        check_outputs(device, graph, "conv2d in bf16", c->expected, 0x1p-8);
        graph = liana__test_new_graph(context);
        liana_shape channels = liana_shape_of(5);
        liana_tensor given[] = {filled(graph, LIANA_BF16, liana_shape_of(3, 2, 3, 5), 1),
                                filled(graph, LIANA_F32, channels, 2), filled(graph, LIANA_F32, channels, 4)};
        liana_tensor statistics = liana_op_batch_norm_statistics(given[0]);
        assert_int_equal(liana_tensor_dtype(statistics), LIANA_F32);
        add_outputs(graph, liana_op_batch_norm_training(given[0], given[1], given[2], statistics, 1e-3), given, 3);
        check_outputs(device, graph, "batch_norm_training in bf16", norm_expected, 0x1p-8);
    }
}

/* Channels that alternate between mean - 1 and mean + 1: mean and variance are known, in f32 only if nothing is
 * subtracted that does not have to be. */
static void test_statistics_far_from_zero(void **state)
{
    (void)state;
    enum { ROWS = 5000, CHANNELS = 13 };
    static float x[ROWS * CHANNELS];
    for (int i = 0; i < ROWS * CHANNELS; i++) {
        int row = i / CHANNELS, channel = i % CHANNELS;
        x[i] = 10000.0f * (float)(channel - 3) + (row % 2 ? 1.0f : -1.0f);
    }
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor images = liana_graph_constant(graph, LIANA_F32, liana_shape_of(ROWS, CHANNELS), x);
    liana_graph_output(graph, "statistics", liana_op_batch_norm_statistics(images));
    liana__test_value output;
    liana__test_run(devices[1], graph, NULL, &output);
    for (int c = 0; c < CHANNELS; c++) {
        assert_near(((float *)output.data)[c], 10000.0f * (float)(c - 3), 1e-6f, c);
        assert_near(((float *)output.data)[CHANNELS + c], 1, 1e-6f, c);
    }
    liana__test_free_values(&output, 1);
    liana_graph_destroy(graph);
}

/* Channels of one large value each: no rounding may make the variance negative, or its root would be NaN. */
static void test_large_constant_channels(void **state)
{
    (void)state;
    enum { ROWS = 301, CHANNELS = 97 };
    static float x[ROWS * CHANNELS];
    for (int i = 0; i < ROWS * CHANNELS; i++) x[i] = 1e6f + 123456.789f * (float)(i % CHANNELS);
    for (int device = 0; device < 2; device++) {
        liana_graph *graph = liana__test_new_graph(context);
        liana_tensor images = liana_graph_constant(graph, LIANA_F32, liana_shape_of(ROWS, CHANNELS), x);
        liana_graph_output(graph, "statistics", liana_op_batch_norm_statistics(images));
        liana__test_value output;
        liana__test_run(devices[device], graph, NULL, &output);
        for (int c = 0; c < CHANNELS; c++) {
            assert_compare(((float *)output.data)[c], ==, x[c], c);
            assert_compare(((float *)output.data)[CHANNELS + c], >=, 0, c);
        }
        liana__test_free_values(&output, 1);
        liana_graph_destroy(graph);
    }
}

/* A NaN wins its window and takes the gradient; infinities are numbers like others. */
static void test_max_of_nan_and_infinity(void **state)
{
    (void)state;
    enum { CHANNELS = 9 };
    for (int device = 0; device < 2; device++) {
        float x[4 * CHANNELS];
        for (int i = 0; i < 4 * CHANNELS; i++) x[i] = -INFINITY;
        x[1 * CHANNELS + 2] = NAN;
        x[2 * CHANNELS + 2] = 5;
        x[3 * CHANNELS + 8] = -7;
        liana_graph *graph = liana__test_new_graph(context);
        liana_tensor images = liana_graph_constant(graph, LIANA_F32, liana_shape_of(1, 2, 2, CHANNELS), x), gradient;
        liana_tensor y = liana_op_max_pool2d(images, (liana_pool_options){.window = {2, 2}});
        liana_gradients(y, &images, 1, &gradient);
        liana_graph_output(graph, "y", y);
        liana_graph_output(graph, "dx", gradient);
        liana__test_value outputs[2];
        liana__test_run(devices[device], graph, NULL, outputs);
        const float *max = outputs[0].data, *dx = outputs[1].data;
        for (int c = 0; c < CHANNELS; c++) {
            int winner = c == 2 ? 1 : c == 8 ? 3 : 0;
            if (c == 2)
                assert_true(isnan(max[c]));
            else
                assert_compare(max[c], ==, x[winner * CHANNELS + c], c);
            for (int i = 0; i < 4; i++) assert_compare(dx[i * CHANNELS + c], ==, i == winner ? 1.0f : 0.0f, c, i);
        }
        liana__test_free_values(outputs, 2);
        liana_graph_destroy(graph);
    }
}

/* ---- errors ---- */

static void assert_refused(liana_graph *graph, const char *first, const char *second, const char *third)
{
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "test_image_ops.c", first, second,
                 third);
    liana_graph_destroy(graph);
}

static liana_tensor input(liana_graph *graph, liana_shape shape)
{
    char name[16];
    snprintf(name, sizeof name, "%u", (unsigned)graph->num_inputs % 100u);
    return liana_graph_input(graph, name, LIANA_F32, shape);
}

static void test_convolution_errors(void **state)
{
    (void)state;
    const liana_shape images = liana_shape_of(2, 5, 7, 4);
    liana_graph *graph = liana__test_new_graph(context);
    liana_op_conv2d(input(graph, images), input(graph, liana_shape_of(3, 3, 3, 8)), (liana_conv_options){.groups = 1});
    assert_refused(graph, "conv2d(f32[2, 5, 7, 4], f32[3, 3, 3, 8])", "kernel expects 3 input channels", "x has 4");
    graph = liana__test_new_graph(context);
    liana_op_conv2d(input(graph, images), input(graph, liana_shape_of(3, 3, 2, 7)), (liana_conv_options){.groups = 2});
    assert_refused(graph, "7 filters", "2 groups", "divided");
    graph = liana__test_new_graph(context);
    liana_op_conv2d(input(graph, images), input(graph, liana_shape_of(3, 3, 4)), (liana_conv_options){.groups = 1});
    assert_refused(graph, "input 1 has rank 3", "expected 4", "filters");
    graph = liana__test_new_graph(context);
    liana_op_conv2d(input(graph, images), input(graph, liana_shape_of(3, 3, 4, 8)),
                    (liana_conv_options){.dilations = {1, 4}});
    assert_refused(graph, "9 columns", "dilation 4", "only 7");
    graph = liana__test_new_graph(context);
    liana_op_conv2d(input(graph, images), input(graph, liana_shape_of(3, 3, 4, 8)),
                    (liana_conv_options){.strides = {-1, 1}});
    assert_refused(graph, "stride is -1", "expected 1", "65535");
    graph = liana__test_new_graph(context);
    liana_op_conv2d(input(graph, images), input(graph, liana_shape_of(3, 3, 4, 8)),
                    (liana_conv_options){.padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {0, 1, -2, 0}});
    assert_refused(graph, "padding is -2", "expected 0", "65535");
    graph = liana__test_new_graph(context);
    liana_op_depthwise_conv2d(input(graph, images), input(graph, liana_shape_of(3, 3, 5, 1)),
                              (liana_conv_options){.groups = 1});
    assert_refused(graph, "depthwise_conv2d", "kernel expects 5 input channels", "x has 4");
    graph = liana__test_new_graph(context);
    liana_op_depthwise_conv2d(input(graph, images), input(graph, liana_shape_of(3, 3, 4, 1)),
                              (liana_conv_options){.groups = 4});
    assert_refused(graph, "groups is 4", "expected 0 or 1", "depthwise");
}

static void test_gradient_op_errors(void **state)
{
    (void)state;
    liana_graph *graph = liana__test_new_graph(context);
    liana__build2(LIANA_HERE, &liana__op_conv2d_input_gradient, input(graph, liana_shape_of(2, 5, 7, 8)),
                  input(graph, liana_shape_of(3, 3, 4, 8)), &(liana__conv_attributes){.size = {5, 7}});
    assert_refused(graph, "conv2d_input_gradient", "dy has the shape [2, 5, 7, 8]", "[2, 3, 5, 8]");
    graph = liana__test_new_graph(context);
    liana__build2(LIANA_HERE, &liana__op_max_pool2d_gradient, input(graph, liana_shape_of(2, 6, 6, 3)),
                  input(graph, liana_shape_of(2, 2, 3, 3)), &(liana__pool_attributes){.size = {2, 2}});
    assert_refused(graph, "max_pool2d_gradient", "dy has the shape [2, 2, 3, 3]", "[2, 3, 3, 3]");
}

static void test_pooling_and_norm_errors(void **state)
{
    (void)state;
    liana_graph *graph = liana__test_new_graph(context);
    liana_op_max_pool2d(
        input(graph, liana_shape_of(1, 4, 4, 3)),
        ((liana_pool_options){.window = {2, 2}, .padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {0, 2, 0, 0}}));
    assert_refused(graph, "padding of 2", "window of 2", "alone");
    graph = liana__test_new_graph(context);
    liana_op_average_pool2d(input(graph, liana_shape_of(1, 4, 4, 3)), (liana_pool_options){.strides = {1, 1}});
    assert_refused(graph, "window's size is 0", "expected 1", "average_pool2d");
    graph = liana__test_new_graph(context);
    liana_tensor x = input(graph, liana_shape_of(8, 3)), other = input(graph, liana_shape_of(8, 3));
    liana_tensor gamma = input(graph, liana_shape_of(3));
    liana_op_batch_norm_training(x, gamma, gamma, liana_op_batch_norm_statistics(other), 1e-3);
    assert_refused(graph, "batch_norm_statistics of another tensor", "same x", "batch_norm_inference");
    graph = liana__test_new_graph(context);
    x = input(graph, liana_shape_of(8, 3));
    gamma = input(graph, liana_shape_of(4));
    liana_op_batch_norm_inference(x, gamma, gamma, gamma, gamma, 1e-3);
    assert_refused(graph, "gamma is f32[4]", "expected f32[3]", "3 channels");
    graph = liana__test_new_graph(context);
    x = input(graph, liana_shape_of(8, 3));
    gamma = input(graph, liana_shape_of(3));
    liana_op_batch_norm_inference(x, gamma, gamma, gamma, gamma, -1);
    assert_refused(graph, "epsilon is -1", "finite", "at least 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_pooling),
        cmocka_unit_test(test_batch_norm),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_statistics_far_from_zero),
        cmocka_unit_test(test_large_constant_channels),
        cmocka_unit_test(test_max_of_nan_and_infinity),
        cmocka_unit_test(test_convolution_errors),
        cmocka_unit_test(test_gradient_op_errors),
        cmocka_unit_test(test_pooling_and_norm_errors),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
