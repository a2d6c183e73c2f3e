/* EfficientNetV2: names, shapes, options and numbers of parameters as keras.applications has them. Results are compared
 * with Keras's by `make check-zoo`. */
#include "harness/harness.h"

#include "harness/models/one_model.h"
#include "models/models.h"

#include <string.h>

/* The totals of Keras's model.summary(), and the length of its list of layers. */
static void assert_totals(int64_t all, int64_t trainable, size_t num_layers)
{
    assert_ok(liana_model_status(model), &context->error);
    assert_ok(liana__model_check(model, &context->error), &context->error);
    assert_int_equal(liana_model_info(model).num_parameters, all);
    assert_int_equal(liana_model_info(model).num_trainable_parameters, trainable);
    assert_int_equal(model->num_layers, num_layers);
    start_again();
}

static void test_totals_of_keras(void **state)
{
    (void)state;
    liana_efficientnet_v2_b0(model);
    assert_totals(7200312, 7139704, 273);
    liana_efficientnet_v2_b0(model, .include_top = false);
    assert_totals(5919312, 5858704, 270);
    liana_efficientnet_v2_b1(model);
    assert_totals(8212124, 8141052, 337);
    liana_efficientnet_v2_b1(model, .include_top = false);
    assert_totals(6931124, 6860052, 334);
    liana_efficientnet_v2_b2(model);
    assert_totals(10178374, 10096086, 352);
    liana_efficientnet_v2_b2(model, .include_top = false);
    assert_totals(8769374, 8687086, 349);
    liana_efficientnet_v2_b3(model);
    assert_totals(14467622, 14358406, 412);
    liana_efficientnet_v2_b3(model, .include_top = false);
    assert_totals(12930622, 12821406, 409);
    liana_efficientnet_v2_s(model);
    assert_totals(21612360, 21458488, 516);
    liana_efficientnet_v2_s(model, .include_top = false);
    assert_totals(20331360, 20177488, 513);
    liana_efficientnet_v2_m(model);
    assert_totals(54431388, 54139356, 743);
    liana_efficientnet_v2_m(model, .include_top = false);
    assert_totals(53150388, 52858356, 740);
    liana_efficientnet_v2_l(model);
    assert_totals(119027848, 118515272, 1031);
    liana_efficientnet_v2_l(model, .include_top = false);
    assert_totals(117746848, 117234272, 1028);
}

/* A run of layers, from the one called `first` on. */
static void assert_order(const char *const *names, size_t count)
{
    const int at = liana__model_find_layer(model, names[0]);
    assert_compare(at, >=, 0);
    for (size_t i = 0; i < count; i++) {
        assert_compare((size_t)at + i, <, model->num_layers);
        assert_string_equal(model->layers[(size_t)at + i].name, names[i]);
    }
}
#define ASSERT_ORDER(...) \
    assert_order((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static double drop_rate(const char *layer)
{
    const int index = liana__model_find_layer(model, layer);
    if (index < 0) fail_msg("there is no layer '%s'", layer);
    return ((const liana_dropout_options *)model->layers[index].options)->rate;
}

static void test_names_and_order(void **state)
{
    (void)state;
    liana_efficientnet_v2_b0(model, .input_shape = LIANA_INTS(64, 65, 3));
    assert_ok(liana_model_status(model), &context->error);
    assert_string_equal(liana__model_name(model), "efficientnetv2-b0");
    ASSERT_ORDER("input_1", "rescaling", "normalization", "stem_conv", "stem_bn", "stem_activation",
                 "block1a_project_conv", "block1a_project_bn", "block1a_project_activation", "block2a_expand_conv",
                 "block2a_expand_bn", "block2a_expand_activation", "block2a_project_conv", "block2a_project_bn",
                 "block2b_expand_conv");
    ASSERT_ORDER("block2b_project_bn", "block2b_drop", "block2b_add", "block3a_expand_conv");
    ASSERT_ORDER("block4a_expand_conv", "block4a_expand_bn", "block4a_expand_activation", "block4a_dwconv2",
                 "block4a_bn", "block4a_activation", "block4a_se_squeeze", "block4a_se_reshape", "block4a_se_reduce",
                 "block4a_se_expand", "block4a_se_excite", "block4a_project_conv", "block4a_project_bn",
                 "block4b_expand_conv");
    ASSERT_ORDER("block6h_add", "top_conv", "top_bn", "top_activation", "avg_pool", "top_dropout", "predictions");
    const int norm = liana__model_find_layer(model, "block4a_bn");
    assert_compare(((const liana_batch_normalization_options *)model->layers[norm].options)->momentum, ==, 0.9);
    assert_near(drop_rate("block6h_drop"), 0.2 * 20 / 21, 1e-12);
    assert_compare(drop_rate("top_dropout"), ==, 0.2);
    assert_int_equal(liana_layer_shape(liana_model_layer(model, "top_conv")).dims[1], 2);
    assert_int_equal(liana_layer_shape(liana_model_layer(model, "top_conv")).dims[2], 3);
    start_again();
    /* Keras divides by the blocks of B0, of which B3 has half as many again. */
    liana_efficientnet_v2_b3(model, .input_shape = LIANA_INTS(64, 64, 3));
    assert_near(drop_rate("block6l_drop"), 0.2 * 31 / 21, 1e-12);
    start_again();
    liana_efficientnet_v2_l(model, .input_shape = LIANA_INTS(32, 32, 3), .include_top = false,
                            .pooling = LIANA_POOLING_MAX);
    assert_string_equal(liana__model_name(model), "efficientnetv2-l");
    ASSERT_ORDER("block6y_add", "block7a_expand_conv");
    ASSERT_ORDER("top_activation", "max_pool");
    assert_near(drop_rate("block7g_drop"), 0.2 * 78 / 79, 1e-12);
}

/* Colours of B0 to B3 are normalised; all else is scaled to -1..1. */
static void test_preprocessing(void **state)
{
    (void)state;
    liana_efficientnet_v2_s(model, .input_shape = LIANA_INTS(32, 32, 3));
    ASSERT_ORDER("rescaling", "stem_conv");
    const int index = liana__model_find_layer(model, "rescaling");
    const liana_rescaling_options *scaling = model->layers[index].options;
    assert_compare(scaling->scale, ==, 1 / 128.0);
    assert_compare(scaling->offset, ==, -1);
    start_again();
    liana_efficientnet_v2_b0(model, .input_shape = LIANA_INTS(32, 32, 1));
    ASSERT_ORDER("rescaling", "stem_conv");
    start_again();
    liana_efficientnet_v2_b1(model, .input_shape = LIANA_INTS(32, 32, 3), .include_preprocessing = false);
    ASSERT_ORDER("input_1", "stem_conv");
    start_again();
    liana_efficientnet_v2_b1(model, .input_shape = LIANA_INTS(32, 32, 3), .drop_connect_rate = 0, .dropout_rate = 0);
    assert_ok(liana_model_status(model), &context->error);
    assert_int_equal(liana__model_find_layer(model, "top_dropout"), -1);
    assert_int_equal(liana__model_find_layer(model, "block2b_drop"), -1);
}

static void test_refusals(void **state)
{
    (void)state;
    liana_efficientnet_v2_b0(model, .input_shape = LIANA_INTS(40, 31, 3));
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "EfficientNetV2B0.input_shape",
                 "40 x 31", "at least 32 x 32");
    start_again();
    liana_efficientnet_v2_b3(model, .input_shape = LIANA_INTS(32, 32, 3), .drop_connect_rate = 0.8);
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "block6", "rate");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_totals_of_keras, begin, end),
        cmocka_unit_test_setup_teardown(test_names_and_order, begin, end),
        cmocka_unit_test_setup_teardown(test_preprocessing, begin, end),
        cmocka_unit_test_setup_teardown(test_refusals, begin, end),
    };
    return cmocka_run_group_tests_name("efficientnet_v2", tests, set_up, tear_down);
}
