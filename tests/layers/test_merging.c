/* Layers that join inputs, with masks as Keras 3 has them: means over the steps that count, worked out by hand.
 * tests/train/model/keras_vocabulary/merging.py holds these layers against Keras. */
#include "harness/harness.h"

#include "harness/one_context.h"
#include "layers/model.h"

#include <liana/layers.h>

#include <math.h>
#include <string.h>

/* Two examples of three steps; steps of zeros are padding where a Masking says so. */
static const float left[] = {3, 2, 0, 0, 3, -1, 0, 0, 2, 5, 0, 0}, right[] = {4, 1, 2, -2, 0, 0, 1, -1, 0, 0, 0, 0};

/* The means over the steps of the joined inputs: [2, 2]. */
static void check(const char *layer_class, bool masks_right, const double expected[4])
{
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_layer a = liana_input(model, .shape = LIANA_INTS(3, 2)), b = liana_input(model, .shape = LIANA_INTS(3, 2));
    a = liana_masking(model, .input = a);
    if (masks_right) b = liana_masking(model, .input = b);
    const liana_merge_options options = {.trainable = true, .training = true, .inputs = {a, b}};
    (void)liana_model_add_at(LIANA_HERE, model, layer_class, &options);
    liana_global_average_pooling1d(model);
    assert_ok(liana_model_status(model), &context->error);
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    const liana_shape shape = liana_shape_of(2, 3, 2);
    const liana_tensor inputs[] = {liana_graph_constant(graph, LIANA_F32, shape, left),
                                   liana_graph_constant(graph, LIANA_F32, shape, right)};
    liana_tensor y = liana__model_call(model, inputs, &(liana__model_mode){.training = false}).outputs[0].value;
    float found[4];
    assert_ok(liana_value(y, found, sizeof found), &context->error);
    for (int i = 0; i < 4; i++) {
        if (fabs((double)found[i] - expected[i]) <= 1e-6) continue;
        fail_msg("%s, %d masks: mean %d is %.9g, expected %.9g", layer_class, 1 + masks_right, i, (double)found[i],
                 expected[i]);
    }
    liana_graph_destroy(graph);
    liana_model_destroy(model);
}

/* A step counts if it counts in an input; an input that leaves it out does not take part in it. The last step of the
 * second example counts in none. */
static void test_masks_of_all_inputs(void **state)
{
    (void)state;
    check("Multiply", true, (const double[]){(12 + 2 + 3) / 3., (2 - 2 - 1) / 3., 1.5, 2});
    check("Maximum", true, (const double[]){(4 + 2 + 3) / 3., (2 - 2 - 1) / 3., 1.5, 2});
    check("Minimum", true, (const double[]){(3 + 2 + 3) / 3., (1 - 2 - 1) / 3., 1.5, 2});
    check("Add", true, (const double[]){(7 + 2 + 3) / 3., (3 - 2 - 1) / 3., 1.5, 2});
    check("Subtract", true, (const double[]){(-1 - 2 + 3) / 3., (1 + 2 - 1) / 3., 0.5, 3});
    check("Average", true, (const double[]){(3.5 + 1 + 1.5) / 3., (1.5 - 1 - 0.5) / 3., 0.75, 1});
}

/* Then the result has no mask: all three steps count. */
static void test_a_mask_of_one_input(void **state)
{
    (void)state;
    check("Multiply", false, (const double[]){(12 + 2 + 0) / 3., (2 - 2 + 0) / 3., 1 / 3., -1 / 3.});
    check("Maximum", false, (const double[]){(4 + 2 + 3) / 3., (2 - 2 + 0) / 3., 1, 4 / 3.});
    check("Minimum", false, (const double[]){(3 + 2 + 0) / 3., (1 - 2 - 1) / 3., 1 / 3., -1 / 3.});
    check("Add", false, (const double[]){(7 + 2 + 3) / 3., (3 - 2 - 1) / 3., 1, 4 / 3.});
}

static float scale_at(float scale, const liana_shape *of_second, const float *second, size_t at)
{
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    const liana_ints dims = {.count = (size_t)of_second->rank - 1, .values = {of_second->dims[1], of_second->dims[2]}};
    liana_layer a = liana_input(model, .shape = LIANA_INTS(3, 2)), b = liana_input(model, .shape = dims);
    liana_custom_scale_layer(model, .inputs = {a, b}, .scale = scale);
    assert_string_equal(model->layers[2].name, "custom_scale_layer");
    assert_ok(liana_model_status(model), &context->error);
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    const liana_tensor inputs[] = {liana_graph_constant(graph, LIANA_F32, liana_shape_of(2, 3, 2), left),
                                   liana_graph_constant(graph, LIANA_F32, *of_second, second)};
    liana_tensor y = liana__model_call(model, inputs, &(liana__model_mode){.training = false}).outputs[0].value;
    float found[12];
    assert_ok(liana_value(y, found, sizeof found), &context->error);
    liana_graph_destroy(graph);
    liana_model_destroy(model);
    return found[at];
}

/* The first input and a number of times the second. */
static void test_custom_scale_layer(void **state)
{
    (void)state;
    const liana_shape whole = liana_shape_of(2, 3, 2), row = liana_shape_of(2, 1, 2);
    for (size_t i = 0; i < 12; i++) {
        assert_near(scale_at(0.5f, &whole, right, i), left[i] + 0.5f * right[i], 1e-6f, i);
        assert_near(scale_at(-2, &row, right, i), left[i] - 2 * right[i / 6 * 2 + i % 2], 1e-6f, i);
    }
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_layer a = liana_input(model, .shape = LIANA_INTS(3, 2)), b = liana_input(model, .shape = LIANA_INTS(3, 4));
    liana_custom_scale_layer(model, .inputs = {a, b}, .scale = 1);
    assert_fails(liana_model_status(model), LIANA_INVALID_ARGUMENT, &context->error, "custom_scale_layer",
                 "the size 2 or 1 along axis 2");
    liana_model_destroy(model);
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    a = liana_input(model, .shape = LIANA_INTS(3, 2));
    b = liana_input(model, .shape = LIANA_INTS(2));
    liana_custom_scale_layer(model, .inputs = {a, b}, .scale = 1);
    assert_fails(liana_model_status(model), LIANA_INVALID_ARGUMENT, &context->error, "3 axes");
    liana_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masks_of_all_inputs),
        cmocka_unit_test(test_a_mask_of_one_input),
        cmocka_unit_test(test_custom_scale_layer),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
