/* Convolutions of sequences and volumes and transposed convolutions against plain loops and against the definition of a
 * transpose, and their messages when shapes do not fit. */
#include "harness/harness.h"

#include "harness/compare.h"
#include "harness/graph_run.h"
#include "ops/ops.h"

#include <stdlib.h>

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

static liana_dtype dtype_of(int device)
{
    return device ? LIANA_F32 : LIANA_F64;
}

/* Eighths from -11/8 to 11/8. */
static double element(int64_t index, int64_t seed)
{
    return (double)((index * 7 + seed * 5 + index / 3) % 23 - 11) / 8;
}

static liana_tensor filled(liana_graph *graph, liana_dtype dtype, liana_shape shape, int64_t seed)
{
    const int64_t count = liana_shape_size(&shape);
    void *data = malloc(liana__byte_size(dtype, &shape));
    assert_non_null(data);
    for (int64_t i = 0; i < count; i++) liana__store(data, dtype, i, element(i, seed));
    liana_tensor made = liana_graph_constant(graph, dtype, shape, data);
    free(data);
    return made;
}

static void run(int device, liana_graph *graph, double values[2])
{
    assert_ok(liana_graph_status(graph), &context->error);
    liana__test_value outputs[2];
    liana__test_run(devices[device], graph, NULL, outputs);
    for (size_t i = 0; i < 2; i++) values[i] = liana__load(outputs[i].data, outputs[i].dtype, 0);
    liana__test_free_values(outputs, 2);
    liana_graph_destroy(graph);
}

/* ---- sequences ---- */

enum { STEPS = 9, CHANNELS = 4, TAPS = 3, FILTERS = 6, BATCH = 2 };

/* One element of the convolution, by its definition: `before` steps of zeros come first. */
static double plain_conv1d(int64_t n, int64_t out, int64_t filter, const liana_conv_options_1d *o, int64_t before)
{
    const int64_t groups = o->groups ? o->groups : 1, channels = CHANNELS / groups, group = filter / (FILTERS / groups);
    double sum = 0;
    for (int64_t tap = 0; tap < TAPS; tap++) {
        const int64_t step = out * (o->stride ? o->stride : 1) + tap * (o->dilation ? o->dilation : 1) - before;
        for (int64_t c = 0; c < channels && step >= 0 && step < STEPS; c++) {
            sum += element((n * STEPS + step) * CHANNELS + group * channels + c, 1) *
                   element((tap * channels + c) * FILTERS + filter, 2);
        }
    }
    return sum;
}

static void test_sequences(void **state)
{
    (void)state;
    static const struct {
        liana_conv_options_1d options;
        int64_t before, steps;
    } cases[] = {
        {{.stride = 0}, 0, 7},
        {{.padding = LIANA_PADDING_SAME, .stride = 2}, 1, 5},
        {{.padding = LIANA_PADDING_CAUSAL, .dilation = 2}, 4, 9},
        {{.padding = LIANA_PADDING_CAUSAL, .stride = 3, .groups = 2}, 2, 3},
        {{.padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {3, 1}, .dilation = 3, .groups = 2}, 3, 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int device = 0; device < 2; device++) {
            const liana_conv_options_1d *o = &cases[i].options;
            const int64_t channels = CHANNELS / (o->groups ? o->groups : 1), steps = cases[i].steps;
            liana_graph *graph = liana__test_new_graph(context);
            liana_tensor x = filled(graph, dtype_of(device), liana_shape_of(BATCH, STEPS, CHANNELS), 1);
            liana_tensor kernel = filled(graph, dtype_of(device), liana_shape_of(TAPS, channels, FILTERS), 2);
            liana_graph_output(graph, "y", liana_op_conv1d(x, kernel, *o));
            assert_ok(liana_graph_status(graph), &context->error);
            liana__test_value y;
            liana__test_run(devices[device], graph, NULL, &y);
            assert_compare(liana_shape_size(&y.shape), ==, BATCH * steps * FILTERS, i);
            for (int64_t k = 0; k < BATCH * steps * FILTERS; k++) {
                const double wanted =
                    plain_conv1d(k / FILTERS / steps, k / FILTERS % steps, k % FILTERS, o, cases[i].before);
                assert_near(liana__load(y.data, y.dtype, k), wanted, 1e-5, i, k);
            }
            liana__test_free_values(&y, 1);
            liana_graph_destroy(graph);
        }
    }
}

/* ---- transposes: <conv(v), y> = <v, transpose(y)> for all v and y ---- */

static void output_products(liana_graph *graph, liana_tensor a, liana_tensor b, liana_tensor c, liana_tensor d)
{
    liana_tensor left = liana_op_reduce_sum(liana_op_multiply(a, b), LIANA_ALL_AXES, false);
    liana_tensor right = liana_op_reduce_sum(liana_op_multiply(c, d), LIANA_ALL_AXES, false);
    liana_graph_output(graph, "left", left);
    liana_graph_output(graph, "right", right);
}

static void test_transposes_of_images(void **state)
{
    (void)state;
    static const liana_conv_options cases[] = {
        {.strides = {1, 1}},
        {.strides = {2, 3}, .padding = LIANA_PADDING_SAME, .groups = 2},
        {.padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {1, 2, 0, 1}, .dilations = {2, 1}},
    };
    static const int64_t size[] = {7, 8};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int device = 0; device < 2; device++) {
            const int64_t groups = cases[i].groups ? cases[i].groups : 1;
            liana_graph *graph = liana__test_new_graph(context);
            liana_tensor v = filled(graph, dtype_of(device), liana_shape_of(2, size[0], size[1], 4), 3);
            liana_tensor kernel = filled(graph, dtype_of(device), liana_shape_of(3, 2, 4 / groups, 6), 4);
            liana_tensor made = liana_op_conv2d(v, kernel, cases[i]);
            liana_tensor y = filled(graph, dtype_of(device), liana_tensor_shape(made), 5);
            output_products(graph, made, y, v, liana_op_conv2d_transpose(y, kernel, size, cases[i]));
            double values[2];
            run(device, graph, values);
            assert_near(values[0], values[1], 1e-3, i);
            assert_compare(values[0], !=, 0, i);
        }
    }
}

static void test_transposes_of_volumes(void **state)
{
    (void)state;
    static const liana_conv_options_3d cases[] = {
        {.strides = {1, 1, 1}},
        {.strides = {2, 1, 3}, .padding = LIANA_PADDING_SAME, .groups = 2},
        {.padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {2, 0, 1, 0, 0, 1}, .dilations = {1, 2, 1}},
        {.strides = {3, 2, 1}, .padding = LIANA_PADDING_CAUSAL},
    };
    static const int64_t size[] = {5, 6, 4};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int device = 0; device < 2; device++) {
            const int64_t groups = cases[i].groups ? cases[i].groups : 1;
            liana_graph *graph = liana__test_new_graph(context);
            liana_tensor v = filled(graph, dtype_of(device), liana_shape_of(2, size[0], size[1], size[2], 4), 3);
            liana_tensor kernel = filled(graph, dtype_of(device), liana_shape_of(2, 3, 2, 4 / groups, 6), 4);
            liana_tensor made = liana_op_conv3d(v, kernel, cases[i]);
            liana_tensor y = filled(graph, dtype_of(device), liana_tensor_shape(made), 5);
            output_products(graph, made, y, v, liana_op_conv3d_transpose(y, kernel, size, cases[i]));
            double values[2];
            run(device, graph, values);
            assert_near(values[0], values[1], 1e-3, i);
            assert_compare(values[0], !=, 0, i);
        }
    }
}

/* ---- messages ---- */

static void assert_refuses(liana_graph *graph, liana_tensor made, const char *first, const char *second)
{
    assert_int_equal(made.id, 0);
    assert_int_not_equal(liana_graph_status(graph), LIANA_OK);
    assert_says(liana_context_message(context), first);
    assert_says(liana_context_message(context), second);
    liana_graph_destroy(graph);
}

static liana_tensor ones(liana_graph *graph, liana_shape shape)
{
    return filled(graph, LIANA_F32, shape, 1);
}

static void test_shapes_that_do_not_fit(void **state)
{
    (void)state;
    static const int64_t size[] = {4, 9, 5};
    liana_graph *g = liana__test_new_graph(context);
    liana_tensor y = ones(g, liana_shape_of(1, 2, 2, 3)), k = ones(g, liana_shape_of(2, 2, 5, 3));
    assert_refuses(g, liana_op_conv2d_transpose(y, k, size, (liana_conv_options){.strides = {2, 2}}), "[1, 2, 2, 3]",
                   "[1, 2, 4, 3]");
    g = liana__test_new_graph(context);
    y = ones(g, liana_shape_of(1, 2, 2, 2, 3));
    k = ones(g, liana_shape_of(9, 2, 2, 5, 3));
    assert_refuses(g, liana_op_conv3d_transpose(y, k, size, (liana_conv_options_3d){.groups = 1}), "9 planes",
                   "only 4");
    g = liana__test_new_graph(context);
    y = ones(g, liana_shape_of(1, 5, 5, 5, 3));
    k = ones(g, liana_shape_of(2, 2, 2, 4, 3));
    assert_refuses(g, liana_op_conv3d(y, k, (liana_conv_options_3d){.groups = 1}), "conv3d",
                   "expects 4 input channels");
    g = liana__test_new_graph(context);
    y = ones(g, liana_shape_of(5, 5, 5, 3));
    k = ones(g, liana_shape_of(2, 2, 2, 3, 3));
    assert_refuses(g, liana_op_conv3d(y, k, (liana_conv_options_3d){.groups = 1}), "[batch, depth, height, width,",
                   "[5, 5, 5, 3]");
    g = liana__test_new_graph(context);
    y = ones(g, liana_shape_of(5, 5, 3));
    k = ones(g, liana_shape_of(2, 2, 3, 3));
    assert_refuses(g, liana_op_conv1d(y, k, (liana_conv_options_1d){.groups = 1}), "conv1d", "[batch, steps,");
    g = liana__test_new_graph(context);
    y = ones(g, liana_shape_of(1, 5, 5, 3));
    assert_refuses(g, liana_op_max_pool3d(y, (liana_pool_options_3d){.window = {2, 2, 2}}), "pooling of volumes",
                   "[1, 5, 5, 3]");
    g = liana__test_new_graph(context);
    y = ones(g, liana_shape_of(1, 5, 5, 5, 3));
    assert_refuses(g, liana_op_average_pool3d(y, (liana_pool_options_3d){.window = {2, -1, 2}}), "window is -1",
                   "at least 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_transposes_of_images),
        cmocka_unit_test(test_transposes_of_volumes),
        cmocka_unit_test(test_shapes_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
