/* Inputs whose sizes the data give: a model with them computes what a model of those sizes computes. */
#include "harness/harness.h"

#include "harness/one_context.h"
#include "layers/model.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

static liana_model *new_model(void)
{
    liana_model *model;
    assert_ok(liana_model_create(context, "own", &model), &context->error);
    return model;
}

/* Convolutions, one in a nested model, then a mean. Sizes: LIANA_ANY_SIZE or those of the data. */
static liana_model *images(int64_t height, int64_t width)
{
    liana_model *inner = new_model(), *model = new_model();
    liana_input(inner, .name = "inside",
                .shape = LIANA_INTS(height < 0 ? height : (height + 1) / 2, width < 0 ? width : (width + 1) / 2, 4));
    liana_conv2d(inner, .filters = 5, .kernel_size = {3, 3}, .padding = LIANA_PADDING_SAME, .activation = "relu");
    liana_input(model, .name = "picture", .shape = LIANA_INTS(height, width, 3));
    liana_conv2d(model, .filters = 4, .kernel_size = {3, 3}, .strides = {2, 2}, .padding = LIANA_PADDING_SAME);
    liana_nested(model, .nested = inner);
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = 3);
    assert_ok(liana_model_status(model), &context->error);
    liana_model_destroy(inner);
    return model;
}

static liana_model *sequences(int64_t steps)
{
    liana_model *model = new_model();
    liana_input(model, .name = "ids", .shape = LIANA_INTS(steps), .dtype = LIANA_S32);
    liana_embedding(model, .input_dim = 9, .output_dim = 4, .mask_zero = true);
    liana_gru(model, .units = 3);
    liana_dense(model, .units = 2);
    assert_ok(liana_model_status(model), &context->error);
    return model;
}

static void predict(liana_model *model, const char *name, int dtype, liana_shape shape, float *results)
{
    static union {
        float floats[MOST];
        int32_t ids[MOST];
    } values;
    for (int64_t i = 0; i < liana_shape_size(&shape); i++) {
        if (dtype == LIANA_F32) values.floats[i] = (float)(i * 37 % 19) / 19 - 0.4f;
        if (dtype == LIANA_S32) values.ids[i] = (int32_t)(i * 5 % 9);
    }
    const liana_array array = {.name = name, .dtype = dtype, .shape = shape, .data = &values};
    assert_ok(liana_predict_on_batch(model, &array, 1, results), &context->error);
}

static void compare(const float *found, const float *expected, int count)
{
    for (int i = 0; i < count; i++) assert_near((double)found[i], (double)expected[i], 1e-6, i);
}

/* The same seed gives models of the same layers the same weights. */
static void test_images_of_several_sizes(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{9, 11}, {12, 7}, {128, 5}, {9, 11}};
    liana_model *any = images(LIANA_ANY_SIZE, LIANA_ANY_SIZE);
    const liana_port port = liana_model_input(any, 0);
    assert_int_equal(port.shape.dims[0], -1);
    assert_int_equal(port.shape.dims[1], LIANA_ANY_SIZE);
    assert_int_equal(port.shape.dims[2], LIANA_ANY_SIZE);
    assert_int_equal(port.shape.dims[3], 3);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        float found[6], expected[6];
        liana_model *fixed = images(sizes[i][0], sizes[i][1]);
        const liana_shape shape = liana_shape_of(2, sizes[i][0], sizes[i][1], 3);
        predict(any, "picture", LIANA_F32, shape, found);
        predict(fixed, "picture", LIANA_F32, shape, expected);
        compare(found, expected, 6);
        liana_model_destroy(fixed);
    }
    liana_model_destroy(any);
}

static void test_sequences_of_several_lengths(void **state)
{
    (void)state;
    liana_model *any = sequences(LIANA_ANY_SIZE);
    assert_int_equal(liana_model_output(any, 0).shape.dims[1], 2);
    for (int64_t steps = 1; steps < 9; steps += 3) {
        float found[6], expected[6];
        liana_model *fixed = sequences(steps);
        predict(any, "ids", LIANA_S32, liana_shape_of(3, steps), found);
        predict(fixed, "ids", LIANA_S32, liana_shape_of(3, steps), expected);
        compare(found, expected, 6);
        liana_model_destroy(fixed);
    }
    liana_model_destroy(any);
}

/* Within a graph no size has to be chosen. */
static void test_a_graph_may_call_a_model_with_several_sizes(void **state)
{
    (void)state;
    liana_graph *graph;
    liana_tensor results[2];
    liana_model *any = images(LIANA_ANY_SIZE, 10);
    assert_ok(liana_graph_create(context, &graph), &context->error);
    for (int i = 0; i < 2; i++) {
        const liana_tensor x = liana_graph_input(graph, i ? "b" : "a", LIANA_F32, liana_shape_of(2, 6 + i, 10, 3));
        liana_model_call(any, &x, 1, NULL, &results[i], NULL);
        const liana_shape shape = liana_tensor_shape(results[i]), expected = liana_shape_of(2, 3);
        assert_ok(liana_graph_status(graph), &context->error);
        assert_true(liana_shape_equal(&shape, &expected));
    }
    const liana_tensor other = liana_graph_input(graph, "c", LIANA_F32, liana_shape_of(2, 6, 11, 3));
    liana_model_call(any, &other, 1, NULL, results, NULL);
    assert_says(context->error.message, "[2, 6, 11, 3]");
    assert_says(context->error.message, "[1, -1, 10, 3]");
    liana_graph_destroy(graph);
    liana_model_destroy(any);
}

static void test_sizes_stay_free_in_files_and_summaries(void **state)
{
    (void)state;
    char path[700];
    liana__test_folder();
    snprintf(path, sizeof path, "%s", liana__test_path("own.json"));
    liana_model *any = images(LIANA_ANY_SIZE, 12), *copy;
    assert_ok(liana_model_set_input_shape(any, 0, liana_shape_of(1, 20, 12, 3)), &context->error);
    assert_ok(liana_model_save(any, path), &context->error);
    assert_ok(liana_model_load_architecture(context, path, &copy), &context->error);
    assert_int_equal(liana_model_input(copy, 0).shape.dims[1], LIANA_ANY_SIZE);
    assert_int_equal(liana_model_input(copy, 0).shape.dims[2], 12);
    char *summary = liana_model_summary(copy);
    assert_says(summary, "(None, None, 12, 3)");
    assert_says(summary, "(None, None, 6, 5)");
    assert_says(summary, "(None, 5)");
    free(summary);
    liana_model_destroy(copy);
    liana_model_destroy(any);
}

static void test_shapes_that_do_not_fit_are_told(void **state)
{
    (void)state;
    static const struct {
        liana_shape shape;
        const char *found;
    } rows[] = {
        {{.rank = 4, .dims = {1, 8, 11, 3}}, "[1, 8, 11, 3]"}, /* the width is 10 */
        {{.rank = 4, .dims = {1, 0, 10, 3}}, "[1, 0, 10, 3]"},
        {{.rank = 3, .dims = {8, 10, 3}}, "[8, 10, 3]"},
        {{.rank = 4, .dims = {1, 8, 10, 1}}, "[1, 8, 10, 1]"},
        {{.rank = 4, .dims = {1, INT64_C(1) << 60, 10, 3}}, "expected"},
    };
    liana_model *any = images(LIANA_ANY_SIZE, 10);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(liana_model_set_input_shape(any, 0, rows[i].shape), LIANA_INVALID_ARGUMENT);
        assert_says(context->error.message, "'picture'");
        if (i < 4) assert_says(context->error.message, rows[i].found);
    }
    assert_int_equal(liana_model_set_input_shape(any, 1, liana_shape_of(1)), LIANA_OUT_OF_RANGE);
    liana_model_destroy(any);
    liana_model *fixed = images(8, 10);
    assert_ok(liana_model_set_input_shape(fixed, 0, liana_shape_of(5, 8, 10, 3)), &context->error);
    assert_int_equal(liana_model_set_input_shape(fixed, 0, liana_shape_of(5, 9, 10, 3)), LIANA_INVALID_ARGUMENT);
    liana_model_destroy(fixed);
}

static void test_a_weight_cannot_depend_on_a_free_size(void **state)
{
    (void)state;
    liana_model *model = new_model();
    liana_input(model, .name = "rows", .shape = LIANA_INTS(LIANA_ANY_SIZE, 2));
    liana_flatten(model);
    liana_dense(model, .units = 2);
    assert_int_equal(liana_model_status(model), LIANA_INVALID_CONFIG);
    assert_says(context->error.message, "layer 'dense' (Dense)");
    assert_says(context->error.message, "depend on a size that the data give");
    liana_model_destroy(model);
    model = new_model();
    liana_input(model, .shape = LIANA_INTS(LIANA_ANY_SIZE));
    liana_dense(model, .units = 2);
    assert_int_equal(liana_model_status(model), LIANA_INVALID_CONFIG);
    liana_model_destroy(model);
    model = new_model();
    liana_input(model, .shape = LIANA_INTS(0, 2));
    assert_says(context->error.message, "found the size 0");
    liana_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images_of_several_sizes),
        cmocka_unit_test(test_sequences_of_several_lengths),
        cmocka_unit_test(test_a_graph_may_call_a_model_with_several_sizes),
        cmocka_unit_test(test_sizes_stay_free_in_files_and_summaries),
        cmocka_unit_test(test_shapes_that_do_not_fit_are_told),
        cmocka_unit_test(test_a_weight_cannot_depend_on_a_free_size),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
