/* ConvNeXt: names, shapes, options and numbers of parameters as keras.applications has them; its models within the
 * model, and its files. Results are compared with Keras's by `make check-zoo`. */
#include "harness/harness.h"

#include "harness/models/one_model.h"
#include "models/models.h"
#include "models/origin.h"

#include <liana/train.h>

#include <string.h>

/* The total of Keras's model.summary(); all of it is trainable. */
static void assert_total(int64_t all)
{
    assert_ok(liana_model_status(model), &context->error);
    assert_ok(liana__model_check(model, &context->error), &context->error);
    assert_int_equal(liana_model_info(model).num_parameters, all);
    assert_int_equal(liana_model_info(model).num_trainable_parameters, all);
    start_again();
}

static void test_totals_of_keras(void **state)
{
    (void)state;
    liana_convnext_tiny(model);
    assert_total(28589128);
    liana_convnext_tiny(model, .include_top = false);
    assert_total(27820128);
    liana_convnext_small(model);
    assert_total(50223688);
    liana_convnext_small(model, .include_top = false);
    assert_total(49454688);
    liana_convnext_base(model);
    assert_total(88591464);
    liana_convnext_base(model, .include_top = false);
    assert_total(87566464);
    liana_convnext_large(model);
    assert_total(197767336);
    liana_convnext_large(model, .include_top = false);
    assert_total(196230336);
    liana_convnext_xlarge(model);
    assert_total(350196968);
    liana_convnext_xlarge(model, .include_top = false);
    assert_total(348147968);
}

/* A run of layers, from the one called `first` on, whose names begin with `prefix`. */
static void assert_order(const char *prefix, const char *const *names, size_t count)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s", prefix, names[0]);
    const int at = liana__model_find_layer(model, name);
    if (at < 0) fail_msg("there is no layer '%s'", name);
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, names[i]);
        assert_compare((size_t)at + i, <, model->num_layers);
        assert_string_equal(model->layers[(size_t)at + i].name, name);
    }
}
#define ASSERT_ORDER(prefix, ...)                            \
    assert_order(prefix, (const char *const[]){__VA_ARGS__}, \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static const void *options_of(const char *layer)
{
    const int index = liana__model_find_layer(model, layer);
    if (index < 0) fail_msg("there is no layer '%s'", layer);
    return model->layers[index].options;
}

static void test_names_and_order(void **state)
{
    (void)state;
    liana_convnext_tiny(model, .input_shape = LIANA_INTS(64, 97, 3), .classes = 7);
    assert_ok(liana_model_status(model), &context->error);
    assert_string_equal(liana__model_name(model), "convnext_tiny");
    ASSERT_ORDER("convnext_tiny_", "prestem_normalization", "stem/input_1", "stem/convnext_tiny_stem_conv",
                 "stem/convnext_tiny_stem_layernorm", "stage_0_block_0_depthwise_conv", "stage_0_block_0_layernorm",
                 "stage_0_block_0_pointwise_conv_1", "stage_0_block_0_gelu", "stage_0_block_0_pointwise_conv_2",
                 "stage_0_block_0_layer_scale", "stage_0_block_0_identity");
    ASSERT_ORDER("", "add", "convnext_tiny_stage_0_block_1_depthwise_conv");
    ASSERT_ORDER("", "add_2", "convnext_tiny_downsampling_block_0/input_1",
                 "convnext_tiny_downsampling_block_0/convnext_tiny_downsampling_layernorm_0",
                 "convnext_tiny_downsampling_block_0/convnext_tiny_downsampling_conv_0",
                 "convnext_tiny_stage_1_block_0_depthwise_conv");
    ASSERT_ORDER("", "add_17", "convnext_tiny_head_gap", "convnext_tiny_head_layernorm", "convnext_tiny_head_dense");
    assert_int_equal(model->num_nested, 4);
    assert_string_equal(model->nested[3].name, "convnext_tiny_downsampling_block_2");
    assert_false(model->nested[3].functional);
    const liana_layer_normalization_options *norm = options_of("convnext_tiny_stage_2_block_8_layernorm");
    assert_compare(norm->epsilon, ==, 1e-6);
    const liana_layer_scale_options *scale = options_of("convnext_tiny_stage_3_block_2_layer_scale");
    assert_compare(scale->init_values, ==, 1e-6);
    assert_int_equal(scale->projection_dim, 768);
    /* 64 x 97 in steps of 4, then thrice of 2: windows that do not fit are left out. */
    const liana_shape last = liana_layer_shape(liana_model_layer(model, "add_17"));
    assert_int_equal(last.dims[1], 2);
    assert_int_equal(last.dims[2], 3);
    assert_int_equal(liana__model_output_shape(model).dims[1], 7);
    liana__model_origin origin;
    assert_true(liana__model_find_origin(model, &origin));
    assert_string_equal(origin.architecture, "ConvNeXtTiny");
    assert_int_equal(origin.classes, 7);
}

static void test_without_the_top(void **state)
{
    (void)state;
    liana_convnext_small(model, .input_shape = LIANA_INTS(32, 32, 3), .include_top = false,
                         .pooling = LIANA_POOLING_AVG, .include_preprocessing = false);
    assert_ok(liana_model_status(model), &context->error);
    ASSERT_ORDER("", "input_1", "convnext_small_stem/input_1");
    ASSERT_ORDER("", "add_35", "global_average_pooling2d", "layer_normalization");
    assert_int_equal(liana__model_output_shape(model).rank, 2);
    start_again();
    liana_convnext_xlarge(model, .input_shape = LIANA_INTS(32, 63, 1), .include_top = false);
    assert_ok(liana_model_status(model), &context->error);
    ASSERT_ORDER("", "input_1", "convnext_xlarge_stem/input_1");
    ASSERT_ORDER("", "convnext_xlarge_stage_2_block_26_pointwise_conv_1", "convnext_xlarge_stage_2_block_26_gelu");
    ASSERT_ORDER("", "add_35", "layer_normalization");
    const liana_shape output = liana__model_output_shape(model);
    assert_int_equal(output.rank, 4);
    assert_int_equal(output.dims[1], 1);
    assert_int_equal(output.dims[3], 2048);
}

/* Evenly from 0 in the first of 18 blocks. */
static void test_drop_path_rate(void **state)
{
    (void)state;
    liana_convnext_tiny(model, .input_shape = LIANA_INTS(32, 32, 3), .drop_path_rate = 0.34,
                        .layer_scale_init_value = 0.25);
    assert_ok(liana_model_status(model), &context->error);
    assert_compare(liana__model_find_layer(model, "convnext_tiny_stage_0_block_0_identity"), >, 0);
    assert_int_equal(liana__model_find_layer(model, "convnext_tiny_stage_0_block_1_identity"), -1);
    const liana_stochastic_depth_options *second = options_of("convnext_tiny_stage_0_block_1_stochastic_depth");
    assert_near(second->drop_path_rate, 0.02, 1e-12);
    const liana_stochastic_depth_options *last = options_of("convnext_tiny_stage_3_block_2_stochastic_depth");
    assert_near(last->drop_path_rate, 0.34, 1e-12);
    const liana_layer_scale_options *scale = options_of("convnext_tiny_stage_3_block_2_layer_scale");
    assert_compare(scale->init_values, ==, 0.25);
}

static void test_refusals(void **state)
{
    (void)state;
    liana_convnext_base(model, .input_shape = LIANA_INTS(31, 224, 3));
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "ConvNeXtBase.input_shape",
                 "31 x 224", "at least 32 x 32");
    start_again();
    liana_convnext_large(model, .drop_path_rate = 1);
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "ConvNeXtLarge.drop_path_rate",
                 "found the number 1.0");
}

/* What liana writes for Keras 3 becomes the same model: its models within the model, and the module of its layers. */
static void test_keras_form(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana_model *again;
    liana_convnext_tiny(model, .input_shape = LIANA_INTS(32, 32, 3), .drop_path_rate = 0.1);
    liana__value *json = liana__model_to_keras(model, LIANA__KERAS3, &arena);
    assert_non_null(json);
    const liana__value *layers = liana__value_get(liana__value_get(json, "config"), "layers");
    int found = 0;
    for (size_t i = 0; i < layers->count; i++) {
        const liana__value *layer = layers->items[i];
        const char *class_name = liana__value_get(layer, "class_name")->string;
        const bool own = strcmp(class_name, "LayerScale") == 0 || strcmp(class_name, "StochasticDepth") == 0;
        if (!own) continue;
        assert_string_equal(liana__value_get(layer, "module")->string, "keras.src.applications.convnext");
        assert_string_equal(liana__value_get(layer, "registered_name")->string, class_name);
        found++;
    }
    assert_int_equal(found, 18 + 17);
    assert_ok(liana_model_create(context, NULL, &again), &context->error);
    assert_ok(liana__model_from_keras(again, json), &again->error);
    assert_int_equal(again->num_layers, model->num_layers);
    assert_int_equal(again->num_nested, 4);
    for (size_t i = 0; i < model->num_weights; i++) {
        assert_string_equal(again->weights[i].name, model->weights[i].name);
    }
    liana_model_destroy(again);
    liana__arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_totals_of_keras, begin, end),
        cmocka_unit_test_setup_teardown(test_names_and_order, begin, end),
        cmocka_unit_test_setup_teardown(test_without_the_top, begin, end),
        cmocka_unit_test_setup_teardown(test_drop_path_rate, begin, end),
        cmocka_unit_test_setup_teardown(test_refusals, begin, end),
        cmocka_unit_test_setup_teardown(test_keras_form, begin, end),
    };
    return cmocka_run_group_tests_name("convnext", tests, set_up, tear_down);
}
