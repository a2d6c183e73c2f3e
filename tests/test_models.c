/* Architectures: names, shapes and numbers of parameters as keras.applications has them. Their results are compared
 * with tfjs elsewhere (tests/tfjs). */
#include "harness/harness.h"

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
    assert_int_equal(liana_model_num_parameters(model, false), all);
    if (trainable) assert_int_equal(liana_model_num_parameters(model, true), trainable);
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
    assert_true(index < model->num_layers);
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
    const liana_zero_padding2d_options *pad = model->layers[12].options;
    assert_int_equal(pad->padding.values[0], 1);
    assert_int_equal(pad->padding.values[1], 1);
    assert_int_equal(pad->padding.values[2], 0);
    assert_int_equal(pad->padding.values[3], 1);
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
        const liana__hdf5_layer *found = liana__hdf5_find_layer(file, layer->name);
        if (!found || found->num_weights != layer->num_weights) fail_msg("layer '%s' is not in the file", layer->name);
        for (size_t k = 0; k < layer->num_weights; k++) {
            const liana__weight *weight = &model->weights[layer->first_weight + k];
            char name[128];
            snprintf(name, sizeof name, "%s:0", weight->name);
            assert_string_equal(found->weights[k].name, name);
            assert_int_equal(found->weights[k].rank, weight->shape.rank);
            for (int d = 0; d < weight->shape.rank; d++) {
                assert_int_equal(found->weights[k].shape[d], weight->shape.dims[d]);
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
        cmocka_unit_test_setup_teardown(test_depth_multiplier, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_and_order_of_the_tops, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_weight_of_the_files_has_its_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_options_are_checked_at_the_callers_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_head_is_dropout_pooling_dense, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("models", tests, NULL, NULL);
}
