/* Architectures: names, shapes and numbers of parameters as keras.applications has them. Their results are compared
 * with tfjs elsewhere (tests/layers/tfjs_compare.js). */
#include "harness/harness.h"
#include "harness/hdf5_layers.h"

#include "formats/hdf5.h"
#include "models/models.h"

#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana_model *model;

static int set_up(void **state)
{
    (void)state;
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) return -1;
    return liana_model_create(context, NULL, &model) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_model_destroy(model);
    liana_context_destroy(context);
    return 0;
}

static void start_again(void)
{
    liana_model_destroy(model);
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
}

static void assert_parameters(int64_t all, int64_t trainable)
{
    assert_ok(liana_model_status(model), &context->error);
    assert_ok(liana__model_check(model, &context->error), &context->error);
    assert_int_equal(liana_model_info(model).num_parameters, all);
    if (trainable) assert_int_equal(liana_model_info(model).num_trainable_parameters, trainable);
    start_again();
}

/* The totals that Keras's model.summary() prints. */
static void test_parameter_counts_of_keras(void **state)
{
    (void)state;
    liana_mobilenet(model);
    assert_parameters(4253864, 4231976);
    liana_mobilenet(model, .include_top = false);
    assert_parameters(3228864, 3206976);
    liana_mobilenet(model, .alpha = 0.75, .include_top = false);
    assert_parameters(1832976, 0);
    liana_mobilenet(model, .alpha = 0.5, .include_top = false, .input_shape = LIANA_INTS(128, 128, 3));
    assert_parameters(829536, 0);
    liana_mobilenet(model, .alpha = 0.25);
    assert_parameters(475544, 0);
    liana_mobilenet(model, .alpha = 0.25, .include_top = false, .pooling = LIANA_POOLING_MAX);
    assert_parameters(218544, 0);
    liana_mobilenet_v2(model);
    assert_parameters(3538984, 3504872);
    liana_mobilenet_v2(model, .include_top = false, .pooling = LIANA_POOLING_AVG);
    assert_parameters(2257984, 2223872);
    liana_mobilenet_v2(model, .alpha = 0.75, .include_top = false);
    assert_parameters(1382064, 0);
    liana_mobilenet_v2(model, .alpha = 0.5, .include_top = false);
    assert_parameters(706224, 0);
    liana_mobilenet_v2(model, .alpha = 0.35, .include_top = false, .input_shape = LIANA_INTS(192, 192, 3));
    assert_parameters(410208, 396128);
    liana_mobilenet_v2(model, .alpha = 1.4, .include_top = false);
    assert_parameters(4363712, 0);
}

static void test_parameter_counts_of_resnets(void **state)
{
    (void)state;
    liana_resnet50(model);
    assert_parameters(25636712, 25583592);
    liana_resnet50(model, .include_top = false);
    assert_parameters(23587712, 23534592);
    liana_resnet101(model);
    assert_parameters(44707176, 44601832);
    liana_resnet101(model, .include_top = false);
    assert_parameters(42658176, 0);
    liana_resnet152(model);
    assert_parameters(60419944, 60268520);
    liana_resnet152(model, .include_top = false);
    assert_parameters(58370944, 0);
    liana_resnet50_v2(model);
    assert_parameters(25613800, 25568360);
    liana_resnet50_v2(model, .include_top = false);
    assert_parameters(23564800, 23519360);
    liana_resnet101_v2(model);
    assert_parameters(44675560, 44577896);
    liana_resnet101_v2(model, .include_top = false);
    assert_parameters(42626560, 0);
    liana_resnet152_v2(model);
    assert_parameters(60380648, 60236904);
    liana_resnet152_v2(model, .include_top = false);
    assert_parameters(58331648, 0);
}

static void test_parameter_counts_of_densenets(void **state)
{
    (void)state;
    liana_densenet121(model);
    assert_parameters(8062504, 7978856);
    liana_densenet121(model, .include_top = false);
    assert_parameters(7037504, 6953856);
    liana_densenet169(model);
    assert_parameters(14307880, 14149480);
    liana_densenet169(model, .include_top = false);
    assert_parameters(12642880, 0);
    liana_densenet201(model);
    assert_parameters(20242984, 20013928);
    liana_densenet201(model, .include_top = false);
    assert_parameters(18321984, 0);
}

static void test_parameter_counts_of_efficientnets(void **state)
{
    (void)state;
    liana_efficientnet_b0(model);
    assert_parameters(5330571, 5288548);
    liana_efficientnet_b0(model, .include_top = false);
    assert_parameters(4049571, 4007548);
    liana_efficientnet_b1(model);
    assert_parameters(7856239, 7794184);
    liana_efficientnet_b2(model);
    assert_parameters(9177569, 9109994);
    liana_efficientnet_b3(model);
    assert_parameters(12320535, 12233232);
    liana_efficientnet_b4(model);
    assert_parameters(19466823, 19341616);
    liana_efficientnet_b5(model);
    assert_parameters(30562527, 30389784);
    liana_efficientnet_b6(model);
    assert_parameters(43265143, 43040704);
    liana_efficientnet_b7(model);
    assert_parameters(66658687, 66347960);
    liana_efficientnet_b7(model, .include_top = false);
    assert_parameters(64097687, 63786960);
}

static void test_parameter_counts_of_mobilenet_v3(void **state)
{
    (void)state;
    liana_mobilenet_v3_small(model);
    assert_parameters(2554968, 2542856);
    liana_mobilenet_v3_small(model, .include_top = false, .include_preprocessing = false);
    assert_parameters(939120, 927008);
    liana_mobilenet_v3_small(model, .alpha = 0.75);
    assert_parameters(2051552, 2041872);
    liana_mobilenet_v3_small(model, .minimalistic = true);
    assert_parameters(2056848, 2044736);
    liana_mobilenet_v3_small(model, .minimalistic = true, .alpha = 0.75, .include_top = false);
    assert_parameters(273800, 264120);
    liana_mobilenet_v3_small(model, .alpha = 0.35, .include_top = false, .input_shape = LIANA_INTS(32, 33, 3));
    assert_parameters(132048, 127712);
    liana_mobilenet_v3_large(model);
    assert_parameters(5507432, 5483032);
    liana_mobilenet_v3_large(model, .include_top = false);
    assert_parameters(2996352, 2971952);
    liana_mobilenet_v3_large(model, .alpha = 0.75, .dropout_rate = 0);
    assert_parameters(4012616, 3993528);
    liana_mobilenet_v3_large(model, .minimalistic = true);
    assert_parameters(3948688, 3924288);
    liana_mobilenet_v3_large(model, .alpha = 1.3, .classes = 7, .input_shape = LIANA_INTS(33, 32, 3));
    assert_parameters(7087975, 7056039);
}

static void test_parameter_counts_of_inception(void **state)
{
    (void)state;
    liana_inception_v3(model);
    assert_parameters(23851784, 23817352);
    liana_inception_v3(model, .include_top = false, .input_shape = LIANA_INTS(75, 80, 3));
    assert_parameters(21802784, 21768352);
    liana_inception_resnet_v2(model);
    assert_parameters(55873736, 55813192);
    liana_inception_resnet_v2(model, .include_top = false, .pooling = LIANA_POOLING_AVG);
    assert_parameters(54336736, 54276192);
}

/* The builders' defaults are those of the tables, which YAML gets; both have the sizes of the papers. */
static void test_default_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; liana__architectures[i]; i++) {
        const liana__architecture *architecture = liana__architectures[i];
        assert_ok(liana__architecture_add(model, LIANA_HERE, architecture, NULL, architecture->name), &context->error);
        liana_shape shape = liana__model_input_shape(model);
        assert_int_equal(shape.dims[1], architecture->default_size);
        assert_int_equal(shape.dims[2], architecture->default_size);
        assert_non_null(liana_model_layer(model, architecture->top ? architecture->top : "predictions").model);
        start_again();
    }
    liana_efficientnet_b4(model);
    assert_int_equal(liana__model_input_shape(model).dims[1], 380);
    const liana_dropout_options *top = model->layers[liana__model_find_layer(model, "top_dropout")].options;
    assert_compare(top->rate, ==, 0.4);
    const liana_dropout_options *last = model->layers[liana__model_find_layer(model, "block7b_drop")].options;
    assert_near(last->rate, 0.2 * 31 / 32, 1e-12);
}

/* Worked out by hand: each depthwise kernel and its batch normalisation double. */
static void test_depth_multiplier(void **state)
{
    (void)state;
    liana_mobilenet(model, .alpha = 0.25, .include_top = false, .depth_multiplier = 2);
    int64_t extra = 0;
    const int channels[14] = {8, 16, 32, 32, 64, 64, 128, 128, 128, 128, 128, 128, 256, 256};
    for (int i = 0; i < 13; i++) extra += 9 * channels[i] + 4 * channels[i] + channels[i] * channels[i + 1];
    assert_parameters(218544 + extra, 0);
}

static void assert_layer(size_t index, const char *name)
{
    assert_compare(index, <, model->num_layers);
    assert_string_equal(model->layers[index].name, name);
}

static void test_names_and_order_of_the_tops(void **state)
{
    (void)state;
    liana_mobilenet(model, .alpha = 0.25, .classes = 7);
    assert_string_equal(liana__model_name(model), "mobilenet_0.25_224");
    assert_layer(0, "input_1");
    assert_layer(1, "conv1");
    assert_layer(4, "conv_dw_1");
    assert_layer(7, "conv_pw_1");
    assert_layer(9, "conv_pw_1_relu");
    assert_layer(10, "conv_pad_2");
    size_t last = model->num_layers - 1;
    assert_layer(last, "predictions");
    assert_layer(last - 1, "reshape_2");
    assert_layer(last - 2, "conv_preds");
    assert_layer(last - 3, "dropout");
    assert_layer(last - 4, "reshape_1");
    assert_layer(last - 5, "global_average_pooling2d");
    liana_shape output = liana__model_output_shape(model);
    assert_int_equal(output.rank, 2);
    assert_int_equal(output.dims[1], 7);
    start_again();
    liana_mobilenet_v2(model, .alpha = 0.35, .input_shape = LIANA_INTS(97, 96, 3));
    assert_string_equal(liana__model_name(model), "mobilenetv2_0.35_97");
    assert_layer(1, "Conv1");
    assert_layer(4, "expanded_conv_depthwise");
    assert_layer(9, "block_1_expand");
    assert_layer(12, "block_1_pad");
    assert_layer(model->num_layers - 1, "predictions");
    /* 97 -> 49: an odd side is padded on both ends, an even one only at the end. */
    const liana_zero_padding_options *pad = model->layers[12].options;
    assert_int_equal(pad->padding.values[0], 1);
    assert_int_equal(pad->padding.values[1], 1);
    assert_int_equal(pad->padding.values[2], 0);
    assert_int_equal(pad->padding.values[3], 1);
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

/* Keras sorts layers by their distance from the output, so that the two ways through a block alternate. */
static void test_names_and_order_of_resnets(void **state)
{
    (void)state;
    liana_resnet50(model, .input_shape = LIANA_INTS(64, 64, 3));
    assert_string_equal(liana__model_name(model), "resnet50");
    assert_int_equal(model->num_layers, 177);
    ASSERT_ORDER("input_1", "conv1_pad", "conv1_conv", "conv1_bn", "conv1_relu", "pool1_pad", "pool1_pool",
                 "conv2_block1_1_conv", "conv2_block1_1_bn", "conv2_block1_1_relu", "conv2_block1_2_conv",
                 "conv2_block1_2_bn", "conv2_block1_2_relu", "conv2_block1_0_conv", "conv2_block1_3_conv",
                 "conv2_block1_0_bn", "conv2_block1_3_bn", "conv2_block1_add", "conv2_block1_out",
                 "conv2_block2_1_conv");
    ASSERT_ORDER("conv5_block3_3_bn", "conv5_block3_add", "conv5_block3_out", "avg_pool", "predictions");
    assert_int_equal(liana_layer_shape(liana_model_layer(model, "conv4_block6_out")).dims[1], 4);
    start_again();
    liana_resnet50_v2(model, .input_shape = LIANA_INTS(64, 64, 3), .include_top = false, .pooling = LIANA_POOLING_MAX);
    assert_string_equal(liana__model_name(model), "resnet50v2");
    assert_int_equal(model->num_layers, 191);
    ASSERT_ORDER("pool1_pool", "conv2_block1_preact_bn", "conv2_block1_preact_relu", "conv2_block1_1_conv",
                 "conv2_block1_1_bn", "conv2_block1_1_relu", "conv2_block1_2_pad", "conv2_block1_2_conv",
                 "conv2_block1_2_bn", "conv2_block1_2_relu", "conv2_block1_0_conv", "conv2_block1_3_conv",
                 "conv2_block1_out", "conv2_block2_preact_bn");
    ASSERT_ORDER("conv2_block3_2_relu", "max_pooling2d", "conv2_block3_3_conv", "conv2_block3_out");
    ASSERT_ORDER("conv5_block3_out", "post_bn", "post_relu", "max_pool");
    assert_int_equal(liana__model_find_layer(model, "max_pooling2d_3"), -1);
    assert_int_equal(liana_layer_shape(liana_model_layer(model, "conv4_block6_out")).dims[1], 2);
}

static void test_names_and_order_of_densenets(void **state)
{
    (void)state;
    liana_densenet121(model, .input_shape = LIANA_INTS(64, 64, 3));
    assert_string_equal(liana__model_name(model), "densenet121");
    assert_int_equal(model->num_layers, 429);
    ASSERT_ORDER("input_1", "zero_padding2d", "conv1/conv", "conv1/bn", "conv1/relu", "zero_padding2d_1", "pool1",
                 "conv2_block1_0_bn", "conv2_block1_0_relu", "conv2_block1_1_conv", "conv2_block1_1_bn",
                 "conv2_block1_1_relu", "conv2_block1_2_conv", "conv2_block1_concat", "conv2_block2_0_bn");
    ASSERT_ORDER("conv2_block6_concat", "pool2_bn", "pool2_relu", "pool2_conv", "pool2_pool", "conv3_block1_0_bn");
    ASSERT_ORDER("conv5_block16_concat", "bn", "relu", "avg_pool", "predictions");
    assert_compare(liana__model_find_weight(model, "conv1/conv/kernel"), >=, 0);
    assert_compare(liana__model_find_weight(model, "conv1/bn/moving_variance"), >=, 0);
}

static void test_names_and_order_of_efficientnets(void **state)
{
    (void)state;
    liana_efficientnet_b0(model, .input_shape = LIANA_INTS(64, 65, 3));
    assert_string_equal(liana__model_name(model), "efficientnetb0");
    assert_int_equal(model->num_layers, 240);
    ASSERT_ORDER("input_1", "rescaling", "normalization", "stem_conv_pad", "stem_conv", "stem_bn", "stem_activation",
                 "block1a_dwconv", "block1a_bn", "block1a_activation", "block1a_se_squeeze", "block1a_se_reshape",
                 "block1a_se_reduce", "block1a_se_expand", "block1a_se_excite", "block1a_project_conv",
                 "block1a_project_bn", "block2a_expand_conv", "block2a_expand_bn", "block2a_expand_activation",
                 "block2a_dwconv_pad", "block2a_dwconv", "block2a_bn");
    ASSERT_ORDER("block2b_project_bn", "block2b_drop", "block2b_add", "block3a_expand_conv");
    ASSERT_ORDER("block7a_project_bn", "top_conv", "top_bn", "top_activation", "avg_pool", "top_dropout",
                 "predictions");
    /* A 5 x 5 window on 16 x 17. */
    const liana_zero_padding_options *pad = model->layers[liana__model_find_layer(model, "block3a_dwconv_pad")].options;
    const int64_t expected[4] = {1, 2, 2, 2};
    assert_memory_equal(pad->padding.values, expected, sizeof expected);
    start_again();
    liana_efficientnet_b0(model, .input_shape = LIANA_INTS(64, 64, 3), .drop_connect_rate = 0, .dropout_rate = 0);
    assert_ok(liana_model_status(model), &context->error);
    assert_int_equal(liana__model_find_layer(model, "top_dropout"), -1);
    assert_int_equal(liana__model_find_layer(model, "block2b_drop"), -1);
}

static void test_names_and_order_of_vggs(void **state)
{
    (void)state;
    liana_vgg16(model, .input_shape = LIANA_INTS(64, 97, 3), .classes = 7);
    assert_string_equal(liana__model_name(model), "vgg16");
    ASSERT_ORDER("input_1", "block1_conv1", "block1_conv2", "block1_pool", "block2_conv1");
    ASSERT_ORDER("block4_pool", "block5_conv1", "block5_conv2", "block5_conv3", "block5_pool", "flatten", "fc1", "fc2",
                 "predictions");
    /* All pixels of the last block. */
    assert_int_equal(liana_layer_shape(liana_model_layer(model, "flatten")).dims[1], 2 * 3 * 512);
    start_again();
    liana_vgg19(model, .input_shape = LIANA_INTS(32, 45, 3), .include_top = false, .pooling = LIANA_POOLING_MAX);
    assert_string_equal(liana__model_name(model), "vgg19");
    ASSERT_ORDER("block5_conv3", "block5_conv4", "block5_pool", "global_max_pooling2d");
    assert_parameters(20024384, 20024384);
}

static void test_names_and_order_of_xception(void **state)
{
    (void)state;
    liana_xception(model, .classes = 7);
    assert_string_equal(liana__model_name(model), "xception");
    assert_int_equal(liana__model_input_shape(model).dims[2], 299);
    ASSERT_ORDER("block1_conv2_act", "block2_sepconv1", "block2_sepconv1_bn", "block2_sepconv2_act", "block2_sepconv2",
                 "block2_sepconv2_bn", "conv2d", "block2_pool", "batch_normalization", "add", "block3_sepconv1_act");
    ASSERT_ORDER("block14_sepconv2_act", "avg_pool", "predictions");
    assert_int_equal(liana__model_find_layer(model, "add_12"), -1);
    assert_compare(liana__model_find_layer(model, "add_11"), >=, 0);
    start_again();
    liana_xception(model, .input_shape = LIANA_INTS(71, 96, 3), .include_top = false);
    const liana_shape output = liana__model_output_shape(model);
    assert_int_equal(output.dims[1], 3);
    assert_int_equal(output.dims[2], 3);
    start_again();
    liana_xception(model, .input_shape = LIANA_INTS(96, 70, 3));
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "96 x 70", "71 x 71", "Xception");
}

static void test_names_and_order_of_mobilenet_v3(void **state)
{
    (void)state;
    liana_mobilenet_v3_small(model, .input_shape = LIANA_INTS(64, 65, 3));
    assert_string_equal(liana__model_name(model), "MobileNetV3Small");
    ASSERT_ORDER("input_1", "rescaling", "conv", "conv_bn", "activation", "expanded_conv_depthwise_pad",
                 "expanded_conv_depthwise", "expanded_conv_depthwise_bn", "re_lu",
                 "expanded_conv_squeeze_excite_avg_pool", "expanded_conv_squeeze_excite_conv",
                 "expanded_conv_squeeze_excite_relu", "expanded_conv_squeeze_excite_conv_1", "add", "re_lu_1",
                 "multiply", "expanded_conv_squeeze_excite_mul", "expanded_conv_project", "expanded_conv_project_bn",
                 "expanded_conv_1_expand");
    ASSERT_ORDER("expanded_conv_10_add", "conv_1", "conv_1_bn", "activation_17", "global_average_pooling2d", "conv_2",
                 "activation_18", "dropout", "logits", "flatten", "predictions");
    start_again();
    liana_mobilenet_v3_large(model, .minimalistic = true, .include_top = false, .pooling = LIANA_POOLING_MAX,
                             .include_preprocessing = false);
    assert_string_equal(liana__model_name(model), "MobileNetV3Large");
    ASSERT_ORDER("input_1", "conv", "conv_bn", "re_lu", "expanded_conv_depthwise", "expanded_conv_depthwise_bn",
                 "re_lu_1", "expanded_conv_project", "expanded_conv_project_bn", "expanded_conv_add");
    ASSERT_ORDER("conv_1_bn", "re_lu_30", "max_pool");
    assert_int_equal(liana__model_find_layer(model, "expanded_conv_3_squeeze_excite_conv"), -1);
}

/* Automatic names have the numbers of the order in which Keras makes the layers, and stand in that of depths. */
static void test_names_and_order_of_inception(void **state)
{
    (void)state;
    liana_inception_v3(model, .input_shape = LIANA_INTS(75, 75, 3));
    assert_string_equal(liana__model_name(model), "inception_v3");
    assert_int_equal(model->num_layers, 313);
    ASSERT_ORDER("max_pooling2d_1", "conv2d_8", "batch_normalization_8", "activation_8", "conv2d_6", "conv2d_9",
                 "batch_normalization_6", "batch_normalization_9", "activation_6", "activation_9", "average_pooling2d",
                 "conv2d_5", "conv2d_7", "conv2d_10", "conv2d_11");
    ASSERT_ORDER("mixed9_1", "concatenate_1", "activation_93", "mixed10", "avg_pool", "predictions");
    assert_compare(liana__model_find_weight(model, "batch_normalization_7/beta"), >=, 0);
    assert_int_equal(liana__model_find_weight(model, "batch_normalization_7/gamma"), -1);
    start_again();
    liana_inception_resnet_v2(model, .input_shape = LIANA_INTS(75, 75, 3), .include_top = false);
    assert_string_equal(liana__model_name(model), "inception_resnet_v2");
    assert_int_equal(model->num_layers, 780);
    ASSERT_ORDER("block35_1_mixed", "block35_1_conv", "custom_scale_layer", "block35_1_ac");
    ASSERT_ORDER("block8_10_mixed", "block8_10_conv", "custom_scale_layer_39", "conv_7b", "conv_7b_bn", "conv_7b_ac");
}

static void test_least_sizes(void **state)
{
    (void)state;
    liana_inception_v3(model, .input_shape = LIANA_INTS(75, 74, 3));
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "InceptionV3.input_shape", "75 x 74",
                 "at least 75 x 75");
    start_again();
    liana_inception_resnet_v2(model, .input_shape = LIANA_INTS(32, 75, 3));
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "32 x 75", "at least 75 x 75");
    start_again();
    liana_mobilenet_v3_small(model, .input_shape = LIANA_INTS(31, 32, 3));
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "31 x 32", "at least 32 x 32");
    start_again();
    liana_mobilenet_v3_large(model, .input_shape = LIANA_INTS(32, 32, 1), .include_top = false);
    assert_parameters(2996352 - 2 * 9 * 16, 0);
}

/* Keras's initial layers were followed by paddings in old versions; the weights are the same. */
static void assert_every_weight_is_in(const char *file_name)
{
    liana__hdf5 *file;
    liana__error error = {0};
    assert_ok(liana_model_status(model), &context->error);
    assert_ok(liana__hdf5_open(liana__test_data(file_name), &file, &error), &error);
    size_t in_model = 0;
    for (size_t i = 0; i < model->num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        if (layer->num_weights == 0) continue;
        const liana__hdf5_layer *found = liana__test_find_layer(file, layer->name);
        if (!found || found->num_weights != layer->num_weights) fail_msg("layer '%s' is not in the file", layer->name);
        for (size_t k = 0; k < layer->num_weights; k++) {
            const liana__weight *weight = &model->weights[layer->first_weight + k];
            char name[128];
            snprintf(name, sizeof name, "%s:0", weight->name);
            assert_string_equal(found->weights[k].name, name);
            assert_int_equal(found->weights[k].data.rank, weight->shape.rank);
            for (int d = 0; d < weight->shape.rank; d++) {
                assert_compare(found->weights[k].data.shape[d], ==, weight->shape.dims[d], k, d);
            }
            in_model++;
        }
    }
    assert_int_equal(in_model, liana__hdf5_get_contents(file)->num_weights);
    liana__hdf5_close(file);
}

static void test_every_weight_of_the_files_has_its_place(void **state)
{
    (void)state;
    liana_mobilenet(model, .alpha = 0.25);
    assert_every_weight_is_in("weights/mobilenet_2_5_224_tf.h5");
    start_again();
    liana_mobilenet_v2(model, .alpha = 0.35, .include_top = false);
    assert_every_weight_is_in("weights/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_0.35_224_no_top.h5");
}

static void test_options_are_checked_at_the_callers_line(void **state)
{
    (void)state;
    int line = __LINE__ + 1;
    liana_mobilenet(model, .alpha = 0.02);
    char place[64];
    snprintf(place, sizeof place, "test_models.c:%d: conv1.filters", line);
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, place, "from 1");
    start_again();
    line = __LINE__ + 1;
    liana_mobilenet_v2(model, .alpha = -1);
    snprintf(place, sizeof place, "test_models.c:%d: MobileNetV2.alpha", line);
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, place, "-1", "0.01");
    start_again();
    liana_mobilenet_v2(model, .input_shape = LIANA_INTS(224, 224));
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "MobileNetV2.input_shape", "2",
                 "channels");
    start_again();
    liana_mobilenet_v2(model, .classifier_activation = "sofmax");
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "classifier_activation",
                 "'softmax'");
    start_again();
    assert_int_equal(liana_model_add_architecture_at(LIANA_HERE, model, "MobileNetV3", NULL).id, 0);
    assert_fails(liana_model_status(model), LIANA_NOT_FOUND, &context->error, "MobileNetV3", "MobileNetV2");
}

static void test_head_is_dropout_pooling_dense(void **state)
{
    (void)state;
    liana_mobilenet_v2(model, .alpha = 0.35, .include_top = false);
    size_t base = model->num_layers;
    liana__head_add(model, LIANA_HERE, 0.05, LIANA_POOLING_AVG, 5);
    assert_ok(liana_model_status(model), &context->error);
    assert_int_equal(model->num_layers, base + 3);
    assert_ptr_equal(model->layers[base].type, &liana__layer_dropout);
    assert_ptr_equal(model->layers[base + 1].type, &liana__layer_global_average_pooling2d);
    assert_ptr_equal(model->layers[base + 2].type, &liana__layer_dense);
    assert_layer(base + 2, "classifier");
    liana_shape output = liana__model_output_shape(model);
    assert_int_equal(output.dims[1], 5);
    assert_parameters(410208 + 1280 * 5 + 5, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_parameter_counts_of_keras, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parameter_counts_of_resnets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parameter_counts_of_densenets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parameter_counts_of_efficientnets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parameter_counts_of_mobilenet_v3, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parameter_counts_of_inception, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_and_order_of_mobilenet_v3, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_and_order_of_inception, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_least_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_default_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_depth_multiplier, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_and_order_of_the_tops, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_and_order_of_resnets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_and_order_of_densenets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_and_order_of_efficientnets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_and_order_of_vggs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_and_order_of_xception, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_weight_of_the_files_has_its_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_options_are_checked_at_the_callers_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_head_is_dropout_pooling_dense, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("models", tests, NULL, NULL);
}
