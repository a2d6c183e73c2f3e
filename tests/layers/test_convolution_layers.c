/* Convolution, pooling, padding, cropping and upsampling layers of sequences, images and volumes: shapes, weights, and
 * options that contradict. Their numbers are held against Keras's in test_model_samples.c (models "sequences", "images"
 * and "volumes"). */
#include "harness/harness.h"

#include "formats/json.h"
#include "harness/compare.h"
#include "harness/convolution_layers.h"
#include "harness/graph_run.h"
#include "layers/model.h"

#include <liana/layers.h>

#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana__device *cpu;
static liana_model *model;

static int set_up(void **state)
{
    (void)state;
    if (liana__test_open_devices(1, &context, &cpu, NULL)) return -1;
    return liana_model_create(context, NULL, &model) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_model_destroy(model);
    return liana__test_close_devices(context, cpu, NULL);
}

static void assert_model_ok(void)
{
    assert_ok(liana_model_status(model), &context->error);
}

static void assert_shape(liana_layer layer, liana_shape expected)
{
    liana_shape found = liana_layer_shape(layer);
    if (!liana_shape_equal(&found, &expected)) {
        fail_msg("shape %s, expected %s", liana__shape_print(&found).text, liana__shape_print(&expected).text);
    }
}

static void assert_weight(const char *name, liana_shape shape, bool trainable)
{
    int index = liana__model_find_weight(model, name);
    if (index < 0) fail_msg("no weight '%s'", name);
    assert_true(liana_shape_equal(&model->weights[index].shape, &shape));
    assert_int_equal(model->weights[index].trainable, trainable);
}

/* ---- shapes and weights; the numbers are Keras's rules worked out by hand ---- */

static void test_shapes_of_sequences(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(13, 6));
    liana_layer x = liana_conv1d(model, .filters = 8, .kernel_size = 3, .padding = LIANA_PADDING_CAUSAL,
                                 .dilation_rate = 2, .groups = 2, .name = "c");
    assert_shape(x, liana_shape_of(-1, 13, 8));
    x = liana_conv1d_transpose(model, .filters = 4, .kernel_size = 3, .strides = 2, .name = "t");
    assert_shape(x, liana_shape_of(-1, 27, 4));
    x = liana_conv1d_transpose(model, .filters = 4, .kernel_size = 3, .strides = 2, .padding = LIANA_PADDING_SAME,
                               .output_padding = LIANA_INTS(0), .use_bias = false, .name = "o");
    assert_shape(x, liana_shape_of(-1, 53, 4));
    x = liana_cropping1d(model, .cropping = LIANA_INTS(1, 42));
    assert_shape(x, liana_shape_of(-1, 10, 4));
    x = liana_up_sampling1d(model, .size = 3);
    assert_shape(x, liana_shape_of(-1, 30, 4));
    x = liana_average_pooling1d(model, .pool_size = 7, .strides = 4, .padding = LIANA_PADDING_SAME);
    assert_shape(x, liana_shape_of(-1, 8, 4));
    x = liana_adaptive_max_pooling1d(model, .output_size = 3);
    assert_shape(x, liana_shape_of(-1, 3, 4));
    x = liana_zero_padding1d(model, .padding = LIANA_INTS(2));
    assert_shape(x, liana_shape_of(-1, 7, 4));
    x = liana_depthwise_conv1d(model, .kernel_size = 2, .depth_multiplier = 2, .name = "d");
    assert_shape(x, liana_shape_of(-1, 6, 8));
    x = liana_separable_conv1d(model, .filters = 5, .kernel_size = 4, .name = "s");
    assert_shape(x, liana_shape_of(-1, 3, 5));
    assert_model_ok();
    assert_weight("c/kernel", liana_shape_of(3, 3, 8), true);
    assert_weight("t/kernel", liana_shape_of(3, 4, 8), true);
    assert_weight("t/bias", liana_shape_of(4), true);
    assert_int_equal(liana__model_find_weight(model, "o/bias"), -1);
    assert_weight("d/depthwise_kernel", liana_shape_of(2, 4, 2), true);
    assert_weight("s/depthwise_kernel", liana_shape_of(4, 8, 1), true);
    assert_weight("s/pointwise_kernel", liana_shape_of(1, 8, 5), true);
}

static void test_shapes_of_volumes(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(7, 9, 8, 4));
    liana_layer x =
        liana_conv3d(model, .filters = 6, .kernel_size = {2, 3, 4}, .strides = {1, 2, 1}, .groups = 2, .name = "c");
    assert_shape(x, liana_shape_of(-1, 6, 4, 5, 6));
    x = liana_max_pooling3d(model, .pool_size = {2, 1, 3}, .padding = LIANA_PADDING_SAME);
    assert_shape(x, liana_shape_of(-1, 3, 4, 2, 6));
    x = liana_conv3d_transpose(model, .filters = 3, .kernel_size = {2, 1, 3}, .strides = {1, 2, 2}, .name = "t",
                               .output_padding = LIANA_INTS(0, 0, 1));
    assert_shape(x, liana_shape_of(-1, 4, 7, 6, 3));
    x = liana_zero_padding3d(model, .padding = LIANA_INTS(1, 0, 2));
    assert_shape(x, liana_shape_of(-1, 6, 7, 10, 3));
    x = liana_cropping3d(model, .cropping = LIANA_INTS(0, 1, 2, 3, 0, 5));
    assert_shape(x, liana_shape_of(-1, 5, 2, 5, 3));
    x = liana_up_sampling3d(model, .size = {1, 3, 2});
    assert_shape(x, liana_shape_of(-1, 5, 6, 10, 3));
    x = liana_average_pooling3d(model, .pool_size = 3, .strides = {1, 2, 3});
    assert_shape(x, liana_shape_of(-1, 3, 2, 3, 3));
    x = liana_adaptive_average_pooling3d(model, .output_size = {2, 5, 1});
    assert_shape(x, liana_shape_of(-1, 2, 5, 1, 3));
    x = liana_global_max_pooling3d(model, .keepdims = true);
    assert_shape(x, liana_shape_of(-1, 1, 1, 1, 3));
    assert_model_ok();
    assert_weight("c/kernel", liana_shape_of(2, 3, 4, 2, 6), true);
    assert_weight("t/kernel", liana_shape_of(2, 1, 3, 3, 6), true);
}

/* ---- Keras's files ---- */

static char *write_json(const liana_model *from, liana__keras_form form, liana__arena *arena)
{
    liana__value *value = liana__model_to_keras(from, form, arena);
    liana__text text = {0};
    assert_non_null(value);
    liana__value_write_json(value, 1, &text);
    char *json = liana__arena_string(arena, text.data);
    liana__text_free(&text);
    return json;
}

/* What liana writes reads back as the same model, in the forms of Keras 3 and 2. */
static void test_files_of_keras_both_ways(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__error error = {0};
    liana__test_add_convolutions(model);
    assert_model_ok();
    static const liana__keras_form forms[] = {LIANA__KERAS3, LIANA__KERAS2};
    for (int i = 0; i < 2; i++) {
        const char *json = write_json(model, forms[i], &arena);
        liana_model *copy;
        liana__value *value;
        assert_ok(liana_model_create(context, NULL, &copy), &context->error);
        assert_ok(liana__json_parse(json, strlen(json), "model.json", &arena, &value, &error), &error);
        assert_ok(liana__model_from_keras(copy, value), &copy->error);
        assert_ok(liana__model_check(copy, &error), &error);
        assert_string_equal(write_json(copy, forms[i], &arena), json);
        liana_model_destroy(copy);
    }
    const char *json = write_json(model, LIANA__KERAS3, &arena);
    assert_says(json, "\"output_padding\": [1, 0]");
    assert_says(json, "\"output_padding\": null");
    assert_says(json, "\"interpolation\": \"lanczos3\"");
    assert_says(json, "\"padding\": \"causal\"");
    liana__arena_free(&arena);
}

/* ---- wrong options ---- */

/* The layer is added to a model of images of 8 x 8 with 6 channels. */
#define assert_refuses(call, ...)                                                                                     \
    do {                                                                                                              \
        liana_model *kept = model;                                                                                    \
        assert_ok(liana_model_create(context, NULL, &model), &context->error);                                        \
        liana_input(model, .shape = LIANA_INTS(8, 8, 6), .name = "photo");                                            \
        assert_model_ok();                                                                                            \
        assert_int_equal((call).id, 0);                                                                               \
        assert_int_not_equal(liana_model_status(model), LIANA_OK);                                                    \
        assert_fails(liana_model_status(model), liana_model_status(model), &context->error, __FILE__, ##__VA_ARGS__); \
        liana_model_destroy(model);                                                                                   \
        model = kept;                                                                                                 \
    } while (0)

static void test_windows_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    assert_refuses(liana_conv2d(model, .filters = 4, .kernel_size = {2, 3}, .dilation_rate = {1, 4}), "conv2d",
                   "at least 9 along axis 2");
    assert_refuses(liana_max_pooling2d(model, .pool_size = {3, 10}), "max_pooling2d", "at least 10 along axis 2",
                   "pool_size [3, 10]");
    assert_refuses(liana_conv2d(model, .filters = 4, .kernel_size = 3, .padding = LIANA_PADDING_CAUSAL), "padding",
                   "2");
    assert_refuses(liana_max_pooling2d(model, .padding = LIANA_PADDING_CAUSAL), "padding", "2");
    assert_refuses(liana_conv1d(model, .filters = 4, .kernel_size = 3), "conv1d", "[batch, 8, 8, 6]", "sequences");
    assert_refuses(liana_conv3d(model, .filters = 4, .kernel_size = 3), "conv3d", "[batch, 8, 8, 6]", "volumes");
}

static void test_sizes_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    assert_refuses(liana_conv2d_transpose(model, .filters = 4, .kernel_size = 3, .strides = 2,
                                          .output_padding = LIANA_INTS(1, 2)),
                   "conv2d_transpose.output_padding", "2 for axis 2", "below its stride");
    assert_refuses(liana_conv2d_transpose(model, .filters = 4, .kernel_size = 3, .output_padding = LIANA_INTS(1, 2, 3)),
                   "output_padding", "3 numbers", "1 or 2");
    assert_refuses(liana_conv2d_transpose(model, .filters = 4, .kernel_size = 4, .strides = 3,
                                          .padding = LIANA_PADDING_SAME, .output_padding = LIANA_INTS(0)),
                   "conv2d_transpose", "output_padding 0", "leave output_padding away");
    assert_refuses(liana_conv2d_transpose(model, .filters = 4, .kernel_size = 3, .strides = 2, .dilation_rate = 2),
                   "dilation_rate", "strides [2, 2]");
    assert_refuses(liana_cropping2d(model, .cropping = LIANA_INTS(1, 0, 5, 3)), "cropping2d",
                   "more than 8 along axis 2", "[5, 3]");
    assert_refuses(liana_cropping2d(model, .cropping = LIANA_INTS(-1)), "cropping2d.cropping", "-1");
    assert_refuses(liana_up_sampling2d(model, .size = {2, -3}), "up_sampling2d.size", "-3", "from 1");
    assert_refuses(liana_up_sampling2d(model, .interpolation = (liana_interpolation)7), "interpolation", "7");
    assert_refuses(liana_adaptive_max_pooling2d(model), "output_size", "0", "from 1");
    assert_refuses(liana_adaptive_average_pooling2d(model, .output_size = {2, 1 << 21}), "adaptive_average_pooling2d",
                   "1048576 cells along axis 2", "2097152");
    assert_refuses(liana_up_sampling2d(model, .size = 1 << 21, .interpolation = LIANA_BILINEAR), "up_sampling2d",
                   "16777216 cells", "1048576");
    assert_refuses(liana_up_sampling2d(model, .size = INT32_MAX), "up_sampling2d");
}

/* ---- ties ---- */

/* Of equal cells the first one in the order of memory has the gradient, though volumes are pooled plane by plane; also
 * where a plane's window does not come out even. */
static void test_the_first_of_equal_cells_has_the_gradient(void **state)
{
    (void)state;
    static const int64_t heights[] = {4, 5};
    for (int i = 0; i < 2; i++) {
        const liana_shape shape = liana_shape_of(2, 4, heights[i], 4, 3);
        const int64_t size = liana_shape_size(&shape), plane = heights[i] * 12;
        liana_graph *graph = liana__test_new_graph(context);
        liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, shape), dx;
        liana_tensor y = liana_op_max_pool3d(x, (liana_pool_options_3d){.window = {2, 2, 2}});
        liana_gradients(y, &x, 1, &dx);
        liana_graph_output(graph, "dx", dx);
        assert_ok(liana_graph_status(graph), &context->error);
        liana__test_value input = {LIANA_F32, shape, calloc((size_t)size, sizeof(float))}, found;
        assert_non_null(input.data);
        liana__test_run(cpu, graph, &input, &found);
        for (int64_t k = 0; k < size; k++) {
            const int64_t row = k / 12 % heights[i], column = k / 3 % 4;
            const bool first = k / plane % 4 % 2 == 0 && row % 2 == 0 && row < 4 && column % 2 == 0;
            assert_near(((const float *)found.data)[k], first ? 1 : 0, 0, k);
        }
        liana__test_free_values(&found, 1);
        free(input.data);
        liana_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_shapes_of_sequences, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shapes_of_volumes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_of_keras_both_ways, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_windows_that_do_not_fit_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sizes_that_do_not_fit_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_first_of_equal_cells_has_the_gradient, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
