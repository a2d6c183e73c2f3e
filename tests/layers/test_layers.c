/* Layers: options, weights, shapes and activations. Results are compared with tfjs elsewhere
 * (tests/layers/tfjs_compare.js); here with plain formulas where tfjs has no counterpart. */
#include "harness/harness.h"

#include "harness/graph_run.h"
#include "layers/activations.h"
#include "layers/model.h"
#include "ops/ops.h"

#include <liana/layers.h>

#include <math.h>
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

/* ---- the builders' defaults are the tables' ---- */

/* The options struct of a builder with only the required options, against the table's own defaults. */
static void assert_defaults(liana_layer layer, const char *const *given)
{
    assert_model_ok();
    const liana__layer *added = &model->layers[model->nodes[layer.id - 1].layer];
    const liana__fields *fields = &added->type->part.options;
    liana__arena arena = {0};
    liana__error error = {0};
    void *defaults = liana__arena_allocate(&arena, fields->size);
    assert_ok(liana__fields_default(fields, &arena, defaults, &error), &error);
    if (added->type->part.check) {
        /* Completes what depends on other options, as adding a layer does. */
        liana_check check = {.options = defaults, .where = added->type->part.name, .error = &error};
        bool complete = !given[0];
        for (size_t i = 0; i < fields->count; i++) complete = complete && !fields->items[i].required;
        if (complete) assert_ok(added->type->part.check(&check), &error);
    }
    liana__value *expected = liana__fields_write(fields, &arena, defaults);
    liana__value *found = liana__fields_write(fields, &arena, added->options);
    for (size_t i = 0; i < fields->count; i++) {
        const char *name = fields->items[i].name;
        bool skip = false;
        for (size_t k = 0; given[k]; k++) skip = skip || strcmp(given[k], name) == 0;
        if (!skip) assert_false(fields->items[i].required);
        if (fields->items[i].kind == LIANA_OPTION_LAYER) continue; /* it may follow from others */
        if (skip || liana__value_equal(liana__value_get(expected, name), liana__value_get(found, name))) continue;
        fail_msg("%s.%s: the builder's default is not the table's", added->type->part.name, name);
    }
    assert_true(added->trainable);
    liana__arena_free(&arena);
}
#define assert_builder_defaults(layer, ...) assert_defaults(layer, (const char *const[]){__VA_ARGS__})

/* Layers of sequences and of volumes that have brothers of images. */
static void add_sequence_layers(void)
{
    liana_layer steps = liana_input(model, .shape = LIANA_INTS(16, 4));
    assert_builder_defaults(liana_conv1d(model, .filters = 3, .kernel_size = 2), "filters", "kernel_size", NULL);
    assert_builder_defaults(liana_conv1d_transpose(model, .filters = 3, .kernel_size = 2), "filters", "kernel_size",
                            NULL);
    assert_builder_defaults(liana_depthwise_conv1d(model, .kernel_size = 2), "kernel_size", NULL);
    assert_builder_defaults(liana_separable_conv1d(model, .filters = 3, .kernel_size = 2), "filters", "kernel_size",
                            NULL);
    assert_builder_defaults(liana_max_pooling1d(model), NULL);
    assert_builder_defaults(liana_average_pooling1d(model), NULL);
    assert_builder_defaults(liana_zero_padding1d(model), NULL);
    assert_builder_defaults(liana_cropping1d(model), NULL);
    assert_builder_defaults(liana_up_sampling1d(model), NULL);
    assert_builder_defaults(liana_adaptive_max_pooling1d(model, .output_size = 5, .input = steps), "output_size", NULL);
    assert_builder_defaults(liana_adaptive_average_pooling1d(model, .output_size = 2), "output_size", NULL);
}

static void add_volume_layers(void)
{
    liana_layer volume = liana_input(model, .shape = LIANA_INTS(8, 9, 7, 2));
    assert_builder_defaults(liana_conv3d(model, .filters = 3, .kernel_size = 2), "filters", "kernel_size", NULL);
    assert_builder_defaults(liana_conv3d_transpose(model, .filters = 3, .kernel_size = 2), "filters", "kernel_size",
                            NULL);
    assert_builder_defaults(liana_max_pooling3d(model), NULL);
    assert_builder_defaults(liana_zero_padding3d(model), NULL);
    assert_builder_defaults(liana_average_pooling3d(model), NULL);
    assert_builder_defaults(liana_cropping3d(model, .input = volume), NULL);
    assert_builder_defaults(liana_up_sampling3d(model), NULL);
    assert_builder_defaults(liana_adaptive_max_pooling3d(model, .output_size = 5), "output_size", NULL);
    assert_builder_defaults(liana_adaptive_average_pooling3d(model, .output_size = 2), "output_size", NULL);
    assert_builder_defaults(liana_global_average_pooling3d(model), NULL);
    assert_builder_defaults(liana_global_max_pooling3d(model, .input = volume), NULL);
}

static void add_text_layers(void)
{
    liana_layer texts[3];
    for (int i = 0; i < 3; i++) texts[i] = liana_input(model, .shape = LIANA_INTS(1), .dtype = LIANA_STRING);
    static const char *const words[] = {"a", "b"};
    assert_builder_defaults(liana_string_lookup(model, .vocabulary = {2, words}, .input = texts[0]), "vocabulary",
                            NULL);
    assert_builder_defaults(liana_hashing(model, .num_bins = 3, .input = texts[1]), "num_bins", NULL);
    liana_layer numbers[3];
    for (int i = 0; i < 3; i++) numbers[i] = liana_input(model, .shape = LIANA_INTS(1), .dtype = LIANA_S32);
    assert_builder_defaults(liana_integer_lookup(model, .input = numbers[0]), NULL);
    assert_builder_defaults(liana_hashed_crossing(model, .inputs = {numbers[1], numbers[2]}, .num_bins = 3), "num_bins",
                            NULL);
    liana_layer wave = liana_input(model, .shape = LIANA_INTS(2100));
    assert_builder_defaults(liana_mel_spectrogram(model, .input = wave), NULL);
    assert_builder_defaults(liana_discretization(model, .num_bins = 3, .input = wave), "num_bins", NULL);
    wave = liana_input(model, .shape = LIANA_INTS(300, 1));
    assert_builder_defaults(liana_stft_spectrogram(model, .input = wave), NULL);
    assert_builder_defaults(liana_text_vectorization(model, .vocabulary = {2, words}, .output_sequence_length = 4,
                                                     .input = texts[2]),
                            "vocabulary", "output_sequence_length", NULL);
}

static void add_image_layers(void)
{
    liana_input(model, .shape = LIANA_INTS(12, 12, 3));
    assert_builder_defaults(liana_resizing(model, .height = 10, .width = 9), "height", "width", NULL);
    assert_builder_defaults(liana_center_crop(model, .height = 9, .width = 9), "height", "width", NULL);
    assert_builder_defaults(liana_random_crop(model, .height = 8, .width = 8), "height", "width", NULL);
    assert_builder_defaults(liana_random_flip(model), NULL);
    assert_builder_defaults(liana_random_translation(model, .height_factor = LIANA_FLOATS(0.1),
                                                     .width_factor = LIANA_FLOATS(0.1)),
                            "height_factor", "width_factor", NULL);
    assert_builder_defaults(liana_random_rotation(model, .factor = LIANA_FLOATS(0.1)), "factor", NULL);
    assert_builder_defaults(liana_random_zoom(model, .height_factor = LIANA_FLOATS(0.1)), "height_factor", NULL);
    assert_builder_defaults(liana_random_shear(model), NULL);
    assert_builder_defaults(liana_random_perspective(model), NULL);
    assert_builder_defaults(liana_random_elastic_transform(model), NULL);
    assert_builder_defaults(liana_random_brightness(model, .factor = LIANA_FLOATS(0.5)), "factor", NULL);
    assert_builder_defaults(liana_random_contrast(model, .factor = LIANA_FLOATS(0.5)), "factor", NULL);
    assert_builder_defaults(liana_random_hue(model, .factor = LIANA_FLOATS(0.5)), "factor", NULL);
    assert_builder_defaults(liana_random_saturation(model, .factor = LIANA_FLOATS(0.5)), "factor", NULL);
    assert_builder_defaults(liana_random_sharpness(model, .factor = LIANA_FLOATS(0.5)), "factor", NULL);
    assert_builder_defaults(liana_random_posterization(model, .factor = LIANA_FLOATS(5)), "factor", NULL);
    assert_builder_defaults(liana_random_color_degeneration(model, .factor = LIANA_FLOATS(0.5)), "factor", NULL);
    assert_builder_defaults(liana_random_invert(model), NULL);
    assert_builder_defaults(liana_random_color_jitter(model), NULL);
    assert_builder_defaults(liana_random_gaussian_blur(model), NULL);
    assert_builder_defaults(liana_random_grayscale(model), NULL);
    assert_builder_defaults(liana_random_erasing(model), NULL);
    assert_builder_defaults(liana_solarization(model), NULL);
    assert_builder_defaults(liana_auto_contrast(model), NULL);
    assert_builder_defaults(liana_equalization(model), NULL);
    assert_builder_defaults(liana_contrast_limited_adaptive_histogram_equalization(model), NULL);
    assert_builder_defaults(liana_mix_up(model), NULL);
    assert_builder_defaults(liana_cut_mix(model), NULL);
    assert_builder_defaults(liana_rand_augment(model), NULL);
    assert_builder_defaults(liana_aug_mix(model), NULL);
    assert_builder_defaults(liana_max_num_bounding_boxes(model, .max_number = 3), "max_number", NULL);
    const liana_held_layer scaled =
        LIANA_HELD("Rescaling", liana_rescaling_options, LIANA_RESCALING_DEFAULTS, .scale = 3);
    assert_builder_defaults(liana_pipeline(model, .layers = {.items = {scaled}}), "layers", NULL);
}

static void test_builders_have_the_tables_defaults(void **state)
{
    (void)state;
    liana_layer image = liana_input(model, .shape = LIANA_INTS(12, 12, 4));
    assert_builder_defaults(image, "shape", NULL);
    assert_builder_defaults(liana_conv2d(model, .filters = 3, .kernel_size = 2), "filters", "kernel_size", NULL);
    assert_builder_defaults(liana_depthwise_conv2d(model, .kernel_size = 3), "kernel_size", NULL);
    assert_builder_defaults(liana_separable_conv2d(model, .filters = 3, .kernel_size = 1), "filters", "kernel_size",
                            NULL);
    assert_builder_defaults(liana_batch_normalization(model), NULL);
    assert_builder_defaults(liana_activation(model, .activation = "relu"), "activation", NULL);
    assert_builder_defaults(liana_relu(model), NULL);
    assert_builder_defaults(liana_softmax(model), NULL);
    assert_builder_defaults(liana_leaky_relu(model), NULL);
    assert_builder_defaults(liana_elu(model), NULL);
    assert_builder_defaults(liana_prelu(model), NULL);
    assert_builder_defaults(liana_layer_normalization(model), NULL);
    assert_builder_defaults(liana_rms_normalization(model), NULL);
    assert_builder_defaults(liana_group_normalization(model, .input = liana_dense(model, .units = 32)), NULL);
    assert_builder_defaults(liana_unit_normalization(model), NULL);
    assert_builder_defaults(liana_dropout(model, .rate = 0.5), "rate", NULL);
    assert_builder_defaults(liana_activity_regularization(model), NULL);
    assert_builder_defaults(liana_max_pooling2d(model), NULL);
    assert_builder_defaults(liana_average_pooling2d(model), NULL);
    assert_builder_defaults(liana_zero_padding2d(model), NULL);
    assert_builder_defaults(liana_cropping2d(model), NULL);
    assert_builder_defaults(liana_up_sampling2d(model), NULL);
    assert_builder_defaults(liana_conv2d_transpose(model, .filters = 3, .kernel_size = 2), "filters", "kernel_size",
                            NULL);
    assert_builder_defaults(liana_adaptive_max_pooling2d(model, .output_size = 2), "output_size", NULL);
    assert_builder_defaults(liana_adaptive_average_pooling2d(model, .output_size = 2), "output_size", NULL);
    liana_layer a = liana_rescaling(model, .scale = 2);
    assert_builder_defaults(a, "scale", NULL);
    assert_builder_defaults(liana_normalization(model), NULL);
    assert_builder_defaults(liana_add(model, .inputs = {a, a}), NULL);
    assert_builder_defaults(liana_multiply(model, .inputs = {a, a}), NULL);
    assert_builder_defaults(liana_subtract(model, .inputs = {a, a}), NULL);
    assert_builder_defaults(liana_custom_scale_layer(model, .scale = 0.5, .inputs = {a, a}), "scale", NULL);
    assert_builder_defaults(liana_average(model, .inputs = {a, a}), NULL);
    assert_builder_defaults(liana_maximum(model, .inputs = {a, a}), NULL);
    assert_builder_defaults(liana_minimum(model, .inputs = {a, a}), NULL);
    assert_builder_defaults(liana_dot(model, .axes = {-1, -1}, .inputs = {a, a}), "axes", NULL);
    assert_builder_defaults(liana_operation(model, .function = "exp", .inputs = {a}), "function", NULL);
    assert_builder_defaults(liana_identity(model, .input = a), NULL);
    assert_builder_defaults(liana_masking(model, .input = a), NULL);
    assert_builder_defaults(liana_permute(model, .dims = LIANA_INTS(3, 1, 2), .input = a), "dims", NULL);
    assert_builder_defaults(liana_alpha_dropout(model, .rate = 0.5, .input = a), "rate", NULL);
    assert_builder_defaults(liana_gaussian_dropout(model, .rate = 0.5, .input = a), "rate", NULL);
    assert_builder_defaults(liana_gaussian_noise(model, .stddev = 0.5, .input = a), "stddev", NULL);
    assert_builder_defaults(liana_spatial_dropout2d(model, .rate = 0.5, .input = a), "rate", NULL);
    assert_builder_defaults(liana_concatenate(model, .inputs = {a, a}), NULL);
    assert_builder_defaults(liana_global_average_pooling2d(model, .input = a), NULL);
    assert_builder_defaults(liana_global_max_pooling2d(model, .input = a), NULL);
    assert_builder_defaults(liana_flatten(model, .input = a), NULL);
    liana_layer rows = liana_reshape(model, .target_shape = LIANA_INTS(-1, 4), .input = a);
    assert_builder_defaults(liana_multi_head_attention(model, .num_heads = 2, .key_dim = 3, .inputs = {rows, rows}),
                            "num_heads", "key_dim", NULL);
    assert_builder_defaults(liana_group_query_attention(model, .head_dim = 2, .num_query_heads = 4,
                                                        .num_key_value_heads = 2, .inputs = {rows, rows}),
                            "head_dim", "num_query_heads", "num_key_value_heads", NULL);
    assert_builder_defaults(liana_layer_scale(model, .init_values = 0.5, .projection_dim = 4, .input = rows),
                            "init_values", "projection_dim", NULL);
    assert_builder_defaults(liana_stochastic_depth(model, .drop_path_rate = 0.5, .input = rows), "drop_path_rate",
                            NULL);
    assert_builder_defaults(liana_attention(model, .inputs = {rows, rows}), NULL);
    assert_builder_defaults(liana_additive_attention(model, .inputs = {rows, rows}), NULL);
    assert_builder_defaults(liana_einsum_dense(model, .equation = "abc,cd->abd", .output_shape = LIANA_INTS(-1, 3),
                                               .input = rows),
                            "equation", "output_shape", NULL);
    assert_builder_defaults(liana_reversible_embedding(model, .input_dim = 3, .output_dim = 2, .input = rows),
                            "input_dim", "output_dim", NULL);
    assert_builder_defaults(liana_reshape(model, .target_shape = LIANA_INTS(1, -1)), "target_shape", NULL);
    assert_builder_defaults(liana_spatial_dropout1d(model, .rate = 0.5), "rate", NULL);
    assert_builder_defaults(liana_global_average_pooling1d(model), NULL);
    assert_builder_defaults(liana_repeat_vector(model, .n = 3), "n", NULL);
    liana_layer volume = liana_reshape(model, .target_shape = LIANA_INTS(1, 1, 1, -1), .input = a);
    assert_builder_defaults(liana_spatial_dropout3d(model, .rate = 0.5, .input = volume), "rate", NULL);
    liana_flatten(model, .input = a);
    assert_builder_defaults(liana_reshape(model, .target_shape = LIANA_INTS(1, -1)), "target_shape", NULL);
    assert_builder_defaults(liana_global_max_pooling1d(model), NULL);
    liana_layer ids = liana_input(model, .shape = LIANA_INTS(3), .dtype = LIANA_S32);
    assert_builder_defaults(liana_embedding(model, .input_dim = 5, .output_dim = 2, .input = ids), "input_dim",
                            "output_dim", NULL);
    assert_builder_defaults(liana_category_encoding(model, .num_tokens = 5, .input = ids), "num_tokens", NULL);
    assert_builder_defaults(liana_dense(model, .units = 3), "units", NULL);
    add_sequence_layers();
    add_volume_layers();
    liana_layer steps = liana_input(model, .shape = LIANA_INTS(4, 3)), h = liana_input(model, .shape = LIANA_INTS(2));
    assert_builder_defaults(liana_simple_rnn(model, .units = 2, .inputs = {steps}), "units", NULL);
    assert_builder_defaults(liana_lstm(model, .units = 2, .inputs = {steps}), "units", NULL);
    assert_builder_defaults(liana_gru(model, .units = 2, .inputs = {steps}), "units", NULL);
    assert_builder_defaults(liana_simple_rnn_cell(model, .units = 2, .inputs = {h, h}), "units", NULL);
    assert_builder_defaults(liana_lstm_cell(model, .units = 2, .inputs = {h, h, h}), "units", NULL);
    assert_builder_defaults(liana_gru_cell(model, .units = 2, .inputs = {h, h}), "units", NULL);
    const liana_held_layer cell = LIANA_HELD("GRUCell", liana_gru_cell_options, LIANA_GRU_CELL_DEFAULTS, .units = 2);
    const liana_held_layer gru = LIANA_HELD("GRU", liana_gru_options, LIANA_GRU_DEFAULTS, .units = 2);
    assert_builder_defaults(liana_rnn(model, .cell = cell, .inputs = {steps}), "cell", NULL);
    assert_builder_defaults(liana_stacked_rnn_cells(model, .cells = {.items = {cell}}, .inputs = {h, h}), "cells",
                            NULL);
    assert_builder_defaults(liana_bidirectional(model, .layer = gru, .inputs = {steps}), "layer", NULL);
    const liana_held_layer dense = LIANA_HELD("Dense", liana_dense_options, LIANA_DENSE_DEFAULTS, .units = 2);
    assert_builder_defaults(liana_time_distributed(model, .layer = dense, .input = steps), "layer", NULL);
    assert_builder_defaults(liana_spectral_normalization(model, .layer = dense, .input = steps), "layer", NULL);
    liana_layer series = liana_input(model, .shape = LIANA_INTS(2, 5, 3));
    liana_layer images = liana_reshape(model, .target_shape = LIANA_INTS(2, 5, 3, 1), .input = series);
    liana_layer volumes = liana_reshape(model, .target_shape = LIANA_INTS(2, 5, 3, 1, 1), .input = series);
    assert_builder_defaults(liana_conv_lstm1d(model, .filters = 2, .kernel_size = {3}, .inputs = {series}), "filters",
                            "kernel_size", NULL);
    assert_builder_defaults(liana_conv_lstm2d(model, .filters = 2, .kernel_size = 3, .inputs = {images}), "filters",
                            "kernel_size", NULL);
    assert_builder_defaults(liana_conv_lstm3d(model, .filters = 2, .kernel_size = {2, 2, 1}, .inputs = {volumes}),
                            "filters", "kernel_size", NULL);
    add_text_layers();
    add_image_layers();
    size_t tried = 0;
    for (size_t i = 0; liana__layer_kind.builtin[i]; i++) {
        bool found = false;
        for (size_t k = 0; k < model->num_layers; k++)
            found = found || &model->layers[k].type->part == liana__layer_kind.builtin[i];
        if (!found) fail_msg("%s is missing in this test", liana__layer_kind.builtin[i]->name);
        tried++;
    }
    assert_compare(tried, >=, 25);
}

/* ---- shapes and weights; the numbers are Keras's rules worked out by hand ---- */

static void assert_weight(const char *name, liana_shape shape, bool trainable)
{
    int index = liana__model_find_weight(model, name);
    if (index < 0) fail_msg("no weight '%s'", name);
    assert_true(liana_shape_equal(&model->weights[index].shape, &shape));
    assert_int_equal(model->weights[index].trainable, trainable);
}

static void test_shapes_and_weights(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(13, 10, 6));
    liana_layer x =
        liana_conv2d(model, .filters = 8, .kernel_size = {3, 5}, .strides = {2, 1}, .groups = 2, .name = "c");
    assert_shape(x, liana_shape_of(-1, 6, 6, 8));
    x = liana_conv2d(model, .filters = 4, .kernel_size = 3, .strides = 2, .padding = LIANA_PADDING_SAME,
                     .use_bias = false, .name = "s");
    assert_shape(x, liana_shape_of(-1, 3, 3, 4));
    x = liana_depthwise_conv2d(model, .kernel_size = 2, .depth_multiplier = 3, .name = "d");
    assert_shape(x, liana_shape_of(-1, 2, 2, 12));
    x = liana_zero_padding2d(model, .padding = LIANA_INTS(0, 1, 2, 3));
    assert_shape(x, liana_shape_of(-1, 3, 7, 12));
    x = liana_separable_conv2d(model, .filters = 5, .kernel_size = {1, 3}, .depth_multiplier = 2, .name = "p");
    assert_shape(x, liana_shape_of(-1, 3, 5, 5));
    x = liana_batch_normalization(model, .scale = false, .name = "b");
    x = liana_zero_padding2d(model, .padding = LIANA_INTS(1, 0));
    assert_shape(x, liana_shape_of(-1, 5, 5, 5));
    x = liana_max_pooling2d(model, .pool_size = 3, .strides = 2, .padding = LIANA_PADDING_SAME);
    assert_shape(x, liana_shape_of(-1, 3, 3, 5));
    x = liana_average_pooling2d(model);
    assert_shape(x, liana_shape_of(-1, 1, 1, 5));
    x = liana_global_max_pooling2d(model, .keepdims = true);
    assert_shape(x, liana_shape_of(-1, 1, 1, 5));
    x = liana_reshape(model, .target_shape = LIANA_INTS(5, -1));
    assert_shape(x, liana_shape_of(-1, 5, 1));
    x = liana_dense(model, .units = 7, .name = "n");
    assert_shape(x, liana_shape_of(-1, 5, 7));
    x = liana_concatenate(model, .inputs = {x, x, x}, .axis = 1);
    assert_shape(x, liana_shape_of(-1, 15, 7));
    x = liana_flatten(model);
    assert_shape(x, liana_shape_of(-1, 105));
    assert_model_ok();
    assert_weight("c/kernel", liana_shape_of(3, 5, 3, 8), true);
    assert_weight("c/bias", liana_shape_of(8), true);
    assert_weight("s/kernel", liana_shape_of(3, 3, 8, 4), true);
    assert_int_equal(liana__model_find_weight(model, "s/bias"), -1);
    assert_weight("d/depthwise_kernel", liana_shape_of(2, 2, 4, 3), true);
    assert_weight("p/depthwise_kernel", liana_shape_of(1, 3, 12, 2), true);
    assert_weight("p/pointwise_kernel", liana_shape_of(1, 1, 24, 5), true);
    assert_weight("b/beta", liana_shape_of(5), true);
    assert_weight("b/moving_mean", liana_shape_of(5), false);
    assert_weight("b/moving_variance", liana_shape_of(5), false);
    assert_int_equal(liana__model_find_weight(model, "b/gamma"), -1);
    assert_weight("n/kernel", liana_shape_of(1, 7), true);
    int64_t all = 360 + 8 + 288 + 48 + 12 + 72 + 120 + 5 + 15 + 14;
    assert_int_equal(liana_model_info(model).num_parameters, all);
    assert_int_equal(liana_model_info(model).num_trainable_parameters, all - 10);
}

static void test_one_number_of_a_pair_is_both(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(9, 9, 1));
    liana_layer x = liana_conv2d(model, .kernel_size = 3, .strides = 2, .filters = 1);
    assert_model_ok();
    const liana_conv2d_options *options = model->layers[x.id - 1].options;
    assert_int_equal(options->kernel_size[1], 3);
    assert_int_equal(options->strides[1], 2);
    x = liana_conv2d(model, .kernel_size = {1, 3}, .strides = {1, 2}, .filters = 1);
    options = model->layers[x.id - 1].options;
    assert_int_equal(options->kernel_size[0], 1);
    assert_int_equal(options->strides[0], 1);
    assert_int_equal(options->strides[1], 2);
}

/* ---- wrong options ---- */

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

static void test_wrong_options_are_named(void **state)
{
    (void)state;
    assert_refuses(liana_conv2d(model, .kernel_size = 3), "conv2d.filters", "0", "from 1");
    assert_refuses(liana_conv2d(model, .filters = 4, .kernel_size = -1, .name = "c"), "c.kernel_size", "-1");
    assert_refuses(liana_conv2d(model, .filters = 5, .kernel_size = 3, .groups = 2), "conv2d.groups", "2",
                   "filters: 5");
    assert_refuses(liana_conv2d(model, .filters = 4, .kernel_size = 3, .groups = 4), "conv2d", "[batch, 8, 8, 6]",
                   "groups divides");
    assert_refuses(liana_conv2d(model, .filters = 4, .kernel_size = 3, .strides = 2, .dilation_rate = 2),
                   "dilation_rate", "strides [2, 2]");
    assert_refuses(liana_conv2d(model, .filters = 4, .kernel_size = 9), "conv2d", "[batch, 8, 8, 6]",
                   "at least 9 along axis 1", "kernel_size [9, 9]", "padding: same");
    assert_refuses(liana_conv2d(model, .filters = 4, .kernel_size = 3, .padding = LIANA_PADDING_EXPLICIT), "padding",
                   "3");
    assert_refuses(liana_dense(model, .units = 4, .activation = "rleu"), "dense.activation", "rleu",
                   "did you mean 'relu'");
    assert_refuses(liana_dense(model, .units = 4, .kernel_initializer = "glorot"), "dense.kernel_initializer", "glorot",
                   "he_normal");
    assert_refuses(liana_dense(model, .units = 4, .bias_initializer = "constant(x)"), "bias_initializer", "value",
                   "'x'", "a number");
    assert_refuses(liana_dense(model, .units = 4, .bias_initializer = "constant(low=1)"), "bias_initializer: constant",
                   "'low'", "value");
    assert_refuses(liana_dense(model, .units = 4, .bias_initializer = "orthogonal"), "'bias'", "[4]",
                   "at least 2 dimensions");
    assert_refuses(liana_dense(model, .units = 4, .bias_initializer = "identity"), "'bias'", "expected a matrix");
    assert_refuses(liana_dense(model, .units = 4, .kernel_initializer = "stft"), "'kernel'", "frame length");
    assert_refuses(liana_dense(model, .units = 4, .bias_initializer = "ones(1)"), "bias_initializer: ones",
                   "1 arguments", "at most 0");
    assert_refuses(liana_dense(model, .units = 4, .bias_initializer = "constant(1, value=2)"), "'value'", "twice");
    assert_refuses(liana_dense(model, .units = 4, .bias_initializer = "constant(1"), "')'");
    assert_refuses(liana_dropout(model, .rate = 1), "dropout.rate", "1");
    assert_refuses(liana_batch_normalization(model, .momentum = 1.5), "momentum", "1.5");
    assert_refuses(liana_zero_padding2d(model, .padding = LIANA_INTS(1, 2, 3)), "padding", "3 numbers", "1, 2 or 4");
    assert_refuses(liana_zero_padding2d(model, .padding = {99, {0}}), "padding", "99 numbers");
    assert_refuses(liana_reshape(model, .target_shape = LIANA_INTS(5, 5)), "layer 'reshape'", "reshape");
    assert_refuses(liana_relu(model, .max_value = 0), "max_value", "found 0", "leave it out for no limit");
    assert_refuses(liana_softmax(model, .axis = 4), "layer 'softmax'", "axis");
    assert_refuses(liana_flatten(model, .name = "photo"), "photo", "already");
    assert_refuses(liana_flatten(model, .name = "a/"), "a/");
    assert_refuses(liana_add(model), "layer 'add'", "1 inputs", "2 or more");
    assert_refuses(liana_subtract(model, .inputs = {{model, 1}, {model, 1}, {model, 1}}), "subtract", "3 inputs", "2");
    assert_refuses(liana_maximum(model, .inputs = {{model, 1}, liana_dense(model, .units = 4)}), "maximum",
                   "[batch, 8, 8, 4]", "the size 6 or 1 along axis 3");
    assert_refuses(liana_dot(model, .axes = {0, 1}, .inputs = {{model, 1}, {model, 1}}), "dot", "axis 0", "batch");
    assert_refuses(liana_dot(model, .axes = {1, 3}, .inputs = {{model, 1}, {model, 1}}), "dot", "the size 8", "axis 3");
    assert_refuses(liana_permute(model, .dims = LIANA_INTS(1, 1, 2)), "permute.dims", "found 1", "1 to 3 once");
    assert_refuses(liana_permute(model, .dims = LIANA_INTS(2, 1)), "permute", "2 axes behind the batch");
    assert_refuses(liana_repeat_vector(model, .n = 2), "repeat_vector", "[batch, features]");
    assert_refuses(liana_spatial_dropout1d(model, .rate = 0.2), "spatial_dropout1d", "[batch, steps, channels]");
    assert_refuses(liana_spatial_dropout3d(model, .rate = 0.2), "spatial_dropout3d", "[batch, depth");
    assert_refuses(liana_gaussian_noise(model, .stddev = 1.5), "gaussian_noise.stddev", "1.5");
    assert_refuses(liana_alpha_dropout(model, .rate = 0.2, .noise_shape = LIANA_INTS(1, 1, 1, 1)), "noise_shape",
                   "expected -1");
    assert_refuses(liana_dropout(model, .rate = 0.2, .seed = -2), "dropout.seed", "-2");
    assert_refuses(liana_operation(model, .function = "exq"), "operation.function", "exq", "did you mean 'exp'");
    assert_refuses(liana_operation(model, .function = "mean(axes=1)"), "mean", "'axes'", "axis");
    assert_refuses(liana_operation(model, .function = "mean(axis=1"), "operation.function", "')'");
    assert_refuses(liana_operation(model, .function = "mean(axis=0)"), "mean", "axis", "batch");
    assert_refuses(liana_operation(model, .function = "mean"), "mean", "join examples");
    assert_refuses(liana_operation(model, .function = "add"), "add", "1 operands", "expected 2");
    assert_refuses(liana_operation(model, .function = "get_item(key=[0])"), "get_item",
                   "the batch is taken as a whole");
    assert_refuses(liana_operation(model, .function = "reshape(newshape=[-1, 7])"), "reshape", "384 elements");
    assert_refuses(liana_operation(model, .function = "transpose(axes=[1, 0, 2, 3])"), "transpose", "the batch, first");
    assert_refuses(liana_input(model, .shape = LIANA_INTS(4), .name = "photo"), "photo", "already");
    assert_refuses(liana_input(model, .dtype = LIANA_U8), "input_1.dtype", "uint8", "int32");
    assert_refuses(liana_input(model, .dtype = (liana_dtype)99), "dtype", "99");
    assert_refuses(liana_embedding(model, .output_dim = 3), "embedding.input_dim", "0", "from 1");
    assert_refuses(liana_category_encoding(model, .num_tokens = 3, .output_mode = (liana_encoding)3), "output_mode",
                   "3");
    assert_refuses(liana_global_average_pooling1d(model), "global_average_pooling1d", "[batch, 8, 8, 6]",
                   "[batch, steps, channels]");
    assert_refuses(liana_dense(model, .units = INT32_MAX, .input = liana_dense(model, .units = INT32_MAX)), "kernel",
                   "2147483647");
}

static void test_images_are_asked_for(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(10));
    int line = __LINE__ + 1;
    liana_conv2d(model, .filters = 2, .kernel_size = 3, .name = "c");
    char place[32];
    snprintf(place, sizeof place, "test_layers.c:%d: layer 'c'", line);
    assert_fails(liana_model_status(model), LIANA_INVALID_ARGUMENT, &context->error, place, "[batch, 10]",
                 "[batch, height, width, channels]");
    liana_layer later = liana_flatten(model);
    assert_int_equal(later.id, 0);
    assert_fails(liana_model_status(model), LIANA_INVALID_ARGUMENT, &context->error, place);
}

/* ---- values, against plain formulas ---- */

static const float points[8] = {-30, -2.5f, -0.75f, 0, 0.25f, 1, 5, 40};

/* Runs a model of one layer on `points`, in the shape of its input, as a batch of one on the reference. */
static void run_points(float output[8])
{
    liana_graph *graph;
    liana__device *device;
    assert_model_ok();
    liana__test_value input = {LIANA_F32, liana__model_input_shape(model), (void *)(uintptr_t)points}, result = {0};
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, input.shape);
    liana__model_results results = liana__model_call(model, &x, &(liana__model_mode){.training = false});
    liana_graph_output(graph, "y", results.outputs[0].value);
    assert_ok(liana_graph_status(graph), &context->error);
    assert_ok(liana__device_open(context, "reference", &device, &context->error), &context->error);
    liana__test_run(device, graph, &input, &result);
    memcpy(output, result.data, 8 * sizeof *output);
    liana__test_free_values(&result, 1);
    liana__device_close(device);
    liana_graph_destroy(graph);
}

static double expect_relu(double x)
{
    return x >= 4 ? 4 : x >= 0.5 ? x : 0.25 * (x - 0.5);
}

static void test_relu_with_all_its_options(void **state)
{
    (void)state;
    float y[8];
    liana_input(model, .shape = LIANA_INTS(8));
    liana_relu(model, .max_value = 4, .negative_slope = 0.25, .threshold = 0.5);
    run_points(y);
    for (int i = 0; i < 8; i++) assert_near(y[i], expect_relu((double)points[i]), 1e-6);
}

/* Of those that came with Keras 3. */
static double expect_newer_activation(const char *name, double x)
{
    const double softplus = x > 30 ? x : log1p(exp(x)), size = fabs(x);
    if (strcmp(name, "leaky_relu") == 0) return x > 0 ? x : 0.2 * x;
    if (strcmp(name, "sparse_sigmoid") == 0) return fmin(fmax(0.5 * x + 0.5, 0), 1);
    if (strcmp(name, "log_sigmoid") == 0) return x - softplus;
    if (strcmp(name, "hard_tanh") == 0) return fmin(fmax(x, -1), 1);
    if (strcmp(name, "tanh_shrink") == 0) return x - tanh(x);
    if (strcmp(name, "hard_silu") == 0) return x * fmin(fmax(x + 3, 0), 6) / 6;
    if (strcmp(name, "gelu") == 0) return 0.5 * x * erfc(-x / sqrt(2));
    if (strcmp(name, "mish") == 0) return x * tanh(softplus);
    if (strcmp(name, "celu") == 0) return x > 0 ? x : expm1(x);
    if (strcmp(name, "squareplus") == 0) return (x + sqrt(x * x + 4)) / 2;
    if (strcmp(name, "sparse_plus") == 0) return x <= -1 ? 0 : x < 1 ? 0.25 * (x + 1) * (x + 1) : x;
    if (strcmp(name, "soft_shrink") == 0) return size > 0.5 ? x - copysign(0.5, x) : 0;
    if (strcmp(name, "hard_shrink") == 0) return size > 0.5 ? x : 0;
    return NAN;
}

/* NaN: another test has it. */
static double expect_activation(const char *name, double x)
{
    double sigmoid = 1 / (1 + exp(-x));
    if (strcmp(name, "linear") == 0) return x;
    if (strcmp(name, "relu") == 0) return x > 0 ? x : 0;
    if (strcmp(name, "relu6") == 0) return fmin(fmax(x, 0), 6);
    if (strcmp(name, "sigmoid") == 0) return sigmoid;
    if (strcmp(name, "hard_sigmoid") == 0) return fmin(fmax(x + 3, 0), 6) / 6;
    if (strcmp(name, "hard_sigmoid_keras2") == 0) return x < -2.5 ? 0 : x > 2.5 ? 1 : 0.2 * x + 0.5;
    if (strcmp(name, "tanh") == 0) return tanh(x);
    if (strcmp(name, "swish") == 0 || strcmp(name, "silu") == 0) return x * sigmoid;
    if (strcmp(name, "elu") == 0) return x > 0 ? x : expm1(x);
    if (strcmp(name, "selu") == 0) return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * expm1(x));
    if (strcmp(name, "softplus") == 0) return x > 30 ? x : log1p(exp(x));
    if (strcmp(name, "softsign") == 0) return x / (1 + fabs(x));
    if (strcmp(name, "exponential") == 0) return exp(x);
    double sum = 0;
    for (int i = 0; i < 8; i++) sum += exp((double)points[i]);
    if (strcmp(name, "softmax") == 0) return exp(x) / sum;
    if (strcmp(name, "log_softmax") == 0) return x - log(sum);
    return expect_newer_activation(name, x);
}

static void test_every_activation(void **state)
{
    (void)state;
    for (size_t k = 0; liana__activation_kind.builtin[k]; k++) {
        const char *name = liana__activation_kind.builtin[k]->name;
        if (isnan(expect_activation(name, 1))) continue; /* tests/layers/activation */
        float y[8];
        liana_model_destroy(model);
        assert_ok(liana_model_create(context, NULL, &model), &context->error);
        liana_input(model, .shape = LIANA_INTS(8));
        liana_activation(model, .activation = name);
        run_points(y);
        for (int i = 0; i < 8; i++) {
            double expected = expect_activation(name, (double)points[i]);
            assert_near(y[i], expected, 1e-6 + 1e-5 * fabs(expected));
        }
    }
}

/* At 0, where several have a kink, the slopes are TensorFlow's. */
static void test_slopes_at_zero(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double slope;
    } expected[] = {{"relu", 0},       {"relu6", 0},   {"elu", 1}, {"selu", 1.0507009873554805},
                    {"softplus", 0.5}, {"softsign", 1}};
    liana__device *device;
    assert_ok(liana__device_open(context, "cpu", &device, &context->error), &context->error);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        liana_graph *graph;
        assert_ok(liana_graph_create(context, &graph), &context->error);
        liana_tensor x = liana_graph_constant(graph, LIANA_F32, LIANA_SCALAR, &(float){0}), gradient;
        liana_layer_call call = {.here = LIANA_HERE};
        liana_tensor y = liana__activate(&call, expected[i].name, x);
        liana_gradients(y, &x, 1, &gradient);
        liana_graph_output(graph, "gradient", gradient);
        liana__test_value result;
        liana__test_run(device, graph, NULL, &result);
        assert_near(*(float *)result.data, expected[i].slope, 1e-6);
        liana__test_free_values(&result, 1);
        liana_graph_destroy(graph);
    }
    liana__device_close(device);
}

/* points as [4, 2]: each column by itself sums to 1. */
static void test_softmax_over_another_axis(void **state)
{
    (void)state;
    float y[8];
    liana_input(model, .shape = LIANA_INTS(4, 2));
    liana_softmax(model, .axis = 1);
    run_points(y);
    for (int i = 0; i < 8; i++) {
        double sum = 0;
        for (int k = i % 2; k < 8; k += 2) sum += exp((double)points[k] - (double)points[i]);
        assert_near(y[i], 1 / sum, 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_builders_have_the_tables_defaults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shapes_and_weights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_number_of_a_pair_is_both, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_options_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_images_are_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_relu_with_all_its_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_activation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_slopes_at_zero, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_softmax_over_another_axis, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("layers", tests, NULL, NULL);
}
