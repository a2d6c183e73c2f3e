/* NASNets: names, order, shapes and numbers of parameters as keras.applications has them. */
#include "harness/harness.h"

#include "harness/models/one_model.h"
#include "models/models.h"

#include <string.h>

static void assert_parameters(int64_t all, int64_t trainable)
{
    assert_ok(liana__model_check(model, &context->error), &context->error);
    assert_int_equal(liana_model_info(model).num_parameters, all);
    assert_int_equal(liana_model_info(model).num_trainable_parameters, trainable);
    start_again();
}

/* The totals that Keras's model.summary() prints. */
static void test_parameter_counts(void **state)
{
    (void)state;
    liana_nasnet_mobile(model);
    assert_parameters(5326716, 5289978);
    liana_nasnet_mobile(model, .include_top = false, .input_shape = LIANA_INTS(97, 64, 3));
    assert_parameters(4269716, 4232978);
    liana_nasnet_large(model);
    assert_parameters(88949818, 88753150);
    liana_nasnet_large(model, .include_top = false, .pooling = LIANA_POOLING_MAX);
    assert_parameters(84916818, 84720150);
}

static void assert_layer(size_t index, const char *name)
{
    assert_compare(index, <, model->num_layers);
    assert_string_equal(model->layers[index].name, name);
}

/* A run of layers, from the one called `first` on. */
static void assert_order(const char *const *names, size_t count)
{
    int at = liana__model_find_layer(model, names[0]);
    assert_compare(at, >=, 0);
    for (size_t i = 0; i < count; i++) assert_layer((size_t)at + i, names[i]);
}
#define ASSERT_ORDER(...) \
    assert_order((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* Keras sorts layers by their distance from the output, and numbers those without a name as they are made. */
static void test_names_and_order(void **state)
{
    (void)state;
    liana_nasnet_mobile(model);
    assert_string_equal(liana__model_name(model), "nasnet_mobile");
    assert_int_equal(model->num_layers, 771);
    ASSERT_ORDER("input_1", "stem_conv1", "stem_bn1", "activation", "reduction_conv_1_stem_1", "reduction_bn_1_stem_1",
                 "activation_1", "activation_3", "separable_conv_1_pad_reduction_left1_stem_1",
                 "separable_conv_1_pad_reduction_right1_stem_1", "separable_conv_1_reduction_left1_stem_1",
                 "separable_conv_1_reduction_right1_stem_1", "separable_conv_1_bn_reduction_left1_stem_1",
                 "separable_conv_1_bn_reduction_right1_stem_1", "activation_2", "activation_4",
                 "separable_conv_2_reduction_left1_stem_1", "separable_conv_2_reduction_right1_stem_1", "activation_5");
    ASSERT_ORDER("separable_conv_2_bn_reduction_left4_stem_1", "reduction_right5_stem_1", "zero_padding2d",
                 "reduction_add3_stem_1", "add", "reduction_add4_stem_1", "cropping2d", "reduction_concat_stem_1",
                 "adjust_avg_pool_1_stem_2", "adjust_avg_pool_2_stem_2", "activation_11", "adjust_conv_1_stem_2",
                 "adjust_conv_2_stem_2", "reduction_conv_1_stem_2", "concatenate", "reduction_bn_1_stem_2",
                 "adjust_bn_stem_2");
    ASSERT_ORDER("normal_left4_12", "normal_right4_12", "separable_conv_2_bn_normal_left5_12", "normal_add_1_12",
                 "normal_add_2_12", "normal_add_3_12", "normal_add_4_12", "normal_add_5_12", "normal_concat_12",
                 "activation_187", "global_average_pooling2d", "predictions");
    /* Each layer has its own weights, in the order of layers. */
    size_t next = 0;
    for (size_t i = 0; i < model->num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        assert_int_equal(layer->first_weight, next);
        for (size_t k = 0; k < layer->num_weights; k++, next++) {
            assert_int_equal(model->weights[next].layer, i);
            assert_begins(model->weights[next].name, layer->name);
        }
    }
    assert_int_equal(next, model->num_weights);
    const liana__weight *pointwise =
        &model->weights[liana__model_find_weight(model, "separable_conv_1_reduction_left1_stem_1/pointwise_kernel")];
    assert_int_equal(pointwise->shape.dims[2], 11);
}

static void assert_sides(const char *layer, int64_t height, int64_t width)
{
    const liana_shape shape = liana_layer_shape(liana_model_layer(model, layer));
    assert_int_equal(shape.dims[1], height);
    assert_int_equal(shape.dims[2], width);
}

/* Paddings follow each size; small images are refused as in Keras. */
static void test_sizes(void **state)
{
    (void)state;
    liana_nasnet_large(model, .input_shape = LIANA_INTS(32, 97, 3), .include_top = false);
    assert_ok(liana_model_status(model), &context->error);
    assert_string_equal(liana__model_name(model), "nasnet_large");
    assert_sides("stem_bn1", 15, 48);
    assert_sides("reduction_concat_stem_1", 8, 24);
    assert_sides("adjust_bn_stem_2", 8, 24);
    assert_sides("normal_concat_5", 4, 12);
    assert_sides("adjust_bn_7", 2, 6);
    assert_sides("normal_concat_18", 1, 3);
    const int64_t odd[4] = {2, 2, 1, 2};
    const liana_zero_padding_options *pad =
        model->layers[liana__model_find_layer(model, "separable_conv_1_pad_reduction_left1_stem_1")].options;
    assert_memory_equal(pad->padding.values, odd, sizeof odd);
    start_again();
    liana_nasnet_mobile(model, .input_shape = LIANA_INTS(32, 31, 3));
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "NASNetMobile", "32 x 31",
                 "at least 32 x 32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_parameter_counts, begin, end),
        cmocka_unit_test_setup_teardown(test_names_and_order, begin, end),
        cmocka_unit_test_setup_teardown(test_sizes, begin, end),
    };
    return cmocka_run_group_tests_name("nasnet", tests, set_up, tear_down);
}
