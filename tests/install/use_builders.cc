/* One file in two languages, C17 and C++20: every builder with its defaults, and forms that both languages have. The
 * models that it saves into the folder of its argument must be the same. */
#include <liana/liana.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void save(liana_context *context, liana_model *model, const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (liana_model_status(model) != LIANA_OK || liana_model_save(model, path) != LIANA_OK) {
        fprintf(stderr, "%s: %s\n", name, liana_context_message(context));
        exit(1);
    }
    liana_model_destroy(model);
}

static liana_model *begin(liana_context *context)
{
    liana_model *model;
    if (liana_model_create(context, "built", &model) != LIANA_OK) exit(1);
    return model;
}

static void build_layers(liana_model *m)
{
    liana_layer image = liana_input(m, .shape = LIANA_INTS(32, 32, 3));
    liana_rescaling(m, .scale = 0.5, .offset = 1);
    liana_normalization(m);
    liana_zero_padding2d(m);
    liana_conv2d(m, .filters = 4, .kernel_size = {3});
    liana_conv2d(m, .name = "whole", .trainable = false, .filters = 4, .kernel_size = {3, 1}, .strides = {2, 1},
                 .padding = LIANA_PADDING_SAME, .activation = "relu", .use_bias = false);
    liana_batch_normalization(m);
    liana_relu(m, .max_value = 6);
    liana_depthwise_conv2d(m, .kernel_size = {3});
    liana_separable_conv2d(m, .filters = 4, .kernel_size = {3});
    liana_activation(m, .activation = "tanh");
    liana_max_pooling2d(m);
    liana_average_pooling2d(m, .pool_size = {2, 1});
    liana_layer pooled = liana_global_average_pooling2d(m);
    liana_layer other = liana_global_max_pooling2d(m, .input = image);
    liana_layer one = liana_dense(m, .input = pooled, .units = 6);
    liana_layer two = liana_dense(m, .input = other, .units = 6, .use_bias = false);
    liana_layer sum = liana_add(m, .inputs = {one, two});
    liana_layer product = liana_multiply(m, .inputs = {one, two});
    liana_concatenate(m, .inputs = {sum, product});
    liana_dropout(m, .rate = 0.25);
    liana_layer_scale(m, .init_values = 0.5, .projection_dim = 12);
    liana_stochastic_depth(m, .drop_path_rate = 0.25);
    liana_reshape(m, .target_shape = LIANA_INTS(3, 4));
    liana_flatten(m);
    liana_dense(m, .units = 5);
    liana_softmax(m);
}

/* Inputs by place, results of a layer, options of a call. */
static void build_attention(liana_model *m)
{
    liana_layer x = liana_input(m, .name = "x", .shape = LIANA_INTS(5, 8));
    liana_layer allowed = liana_input(m, .name = "allowed", .shape = LIANA_INTS(5, 5), .dtype = LIANA_S32);
    liana_layer y = liana_multi_head_attention(m, .inputs = {x, x, {}, {}, {}, {}, allowed}, .num_heads = 2,
                                               .key_dim = 4);
    liana_layer again = liana_layer_again(y, liana_multi_head_attention_options, .inputs = {x, y},
                                          .return_attention_scores = true);
    y = liana_group_query_attention(m, .inputs = {again, x}, .head_dim = 3, .num_query_heads = 4,
                                    .num_key_value_heads = 2);
    y = liana_attention(m, .inputs = {y, x}, .use_scale = true);
    y = liana_additive_attention(m, .inputs = {y, x});
    y = liana_einsum_dense(m, .equation = "abc,cd->abd", .output_shape = LIANA_INTS(-1, 3), .bias_axes = "d");
    liana_layer ids = liana_input(m, .name = "ids", .shape = LIANA_INTS(5), .dtype = LIANA_S32);
    liana_layer rows = liana_reversible_embedding(m, .input = ids, .input_dim = 9, .output_dim = 3);
    liana_layer logits = liana_layer_again(rows, liana_reversible_embedding_options, .input = y, .reverse = true);
    liana_model_outputs(m, logits, rows, liana_layer_output(again, 1));
}

/* Layers of images. Ranges are lists of numbers. */
static void build_images(liana_model *m)
{
    liana_input(m, .shape = LIANA_INTS(32, 32, 3));
    liana_resizing(m, .height = 20, .width = 24);
    liana_resizing(m, .height = 24, .width = 24, .interpolation = LIANA_LANCZOS3, .pad_to_aspect_ratio = true,
                   .fill_value = 0.5, .antialias = true);
    liana_center_crop(m, .height = 20, .width = 22);
    liana_random_crop(m, .height = 18, .width = 18);
    liana_random_flip(m, .mode = LIANA_FLIP_HORIZONTAL, .seed = 3);
    liana_random_translation(m, .height_factor = LIANA_FLOATS(0.1), .width_factor = LIANA_FLOATS(-0.1, 0.2));
    liana_random_rotation(m, .factor = LIANA_FLOATS(0.1), .fill_mode = LIANA_FILL_WRAP);
    liana_random_zoom(m, .height_factor = LIANA_FLOATS(-0.2, 0.1), .interpolation = LIANA_NEAREST);
    liana_random_shear(m, .x_factor = LIANA_FLOATS(0.3), .fill_mode = LIANA_FILL_CONSTANT, .fill_value = 0.25);
    liana_random_perspective(m, .scale = 0.5);
    liana_random_elastic_transform(m, .value_range = LIANA_FLOATS(0, 1));
}

/* Layers that change colours, and mix images and labels. */
static void build_colors(liana_model *m)
{
    liana_layer image = liana_input(m, .shape = LIANA_INTS(16, 16, 3)), labels = liana_input(m, .shape = LIANA_INTS(4));
    liana_layer mixed = liana_mix_up(m, .inputs = {image, labels});
    liana_cut_mix(m, .inputs = {mixed}, .factor = LIANA_FLOATS(0.2, 0.7));
    liana_random_brightness(m, .factor = LIANA_FLOATS(0.2), .value_range = LIANA_FLOATS(0, 1), .seed = 3);
    liana_random_contrast(m, .factor = LIANA_FLOATS(0.2));
    liana_random_invert(m);
    liana_random_color_jitter(m, .hue_factor = LIANA_FLOATS(0.1));
    liana_random_gaussian_blur(m, .kernel_size = {5, 3});
    liana_random_grayscale(m);
    liana_random_erasing(m, .fill_value = LIANA_FLOATS(1, 2, 3));
    liana_solarization(m, .threshold_factor = LIANA_FLOATS(0.5));
    liana_auto_contrast(m);
    liana_equalization(m, .bins = 64);
    liana_contrast_limited_adaptive_histogram_equalization(m, .tile_grid_size = {2, 4});
    liana_rand_augment(m, .num_ops = 1);
    liana_aug_mix(m, .all_ops = false);
    liana_layer last = liana_max_num_bounding_boxes(m, .max_number = 3);
    liana_model_outputs(m, last, liana_layer_output(mixed, 1));
}

/* Several inputs and outputs, a layer that is called twice, a model within a model. */
static void build_calls(liana_context *context, liana_model *m)
{
    liana_model *inner = begin(context);
    liana_input(inner, .shape = LIANA_INTS(4));
    liana_layer low = liana_dense(inner, .units = 3);
    liana_model_outputs(inner, liana_dense(inner, .units = 2), low);
    liana_layer a = liana_input(m, .name = "a", .shape = LIANA_INTS(4));
    liana_layer words = liana_input(m, .shape = LIANA_INTS(6), .dtype = LIANA_S32);
    liana_layer kind = liana_input(m, .dtype = LIANA_S32);
    liana_layer x = liana_nested(m, .name = "inner", .inputs = {a}, .nested = inner);
    liana_layer rows = liana_embedding(m, .input = words, .input_dim = 9, .output_dim = 3);
    liana_layer again = liana_layer_reuse(rows, words);
    rows = liana_concatenate(m, .inputs = {rows, again});
    liana_layer mean = liana_global_average_pooling1d(m);
    liana_layer largest = liana_global_max_pooling1d(m, .input = rows);
    kind = liana_category_encoding(m, .input = kind, .num_tokens = 5);
    liana_layer end = liana_concatenate(m, .inputs = {x, mean, largest, kind});
    liana_model_outputs(m, end, liana_nested_output(x, 1));
    liana_model_destroy(inner);
}

int main(int argc, char **argv)
{
    liana_context *context;
    if (argc != 2 || liana_context_create(NULL, &context) != LIANA_OK) return 1;
    mkdir(argv[1], 0777);
    liana_model *m = begin(context);
    build_layers(m);
    save(context, m, argv[1], "layers");
    m = begin(context);
    build_calls(context, m);
    save(context, m, argv[1], "calls");
    m = begin(context);
    build_attention(m);
    save(context, m, argv[1], "attention");
    m = begin(context);
    build_images(m);
    save(context, m, argv[1], "images");
    m = begin(context);
    build_colors(m);
    save(context, m, argv[1], "colors");
    m = begin(context);
    liana_mobilenet(m, .alpha = 0.25);
    save(context, m, argv[1], "mobilenet");
    m = begin(context);
    liana_mobilenet_v2(m, .include_top = false, .pooling = LIANA_POOLING_AVG, .alpha = 0.35);
    save(context, m, argv[1], "mobilenet_v2");
    m = begin(context);
    liana_mobilenet_v3_small(m, .minimalistic = true, .include_preprocessing = false);
    save(context, m, argv[1], "mobilenet_v3");
    m = begin(context);
    liana_xception(m, .include_top = false);
    save(context, m, argv[1], "xception");
    m = begin(context);
    liana_inception_v3(m, .include_top = false);
    save(context, m, argv[1], "inception_v3");
    m = begin(context);
    liana_efficientnet_b0(m);
    save(context, m, argv[1], "efficientnet_b0");
    m = begin(context);
    liana_nasnet_mobile(m, .include_top = false, .pooling = LIANA_POOLING_AVG);
    save(context, m, argv[1], "nasnet_mobile");
    m = begin(context);
    liana_efficientnet_v2_b0(m);
    save(context, m, argv[1], "efficientnet_v2_b0");
    m = begin(context);
    liana_convnext_tiny(m);
    save(context, m, argv[1], "convnext_tiny");
    liana_context_destroy(context);
    return 0;
}
