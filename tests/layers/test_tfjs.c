/* Layers and architectures compared with TensorFlow.js, layer by layer (tests/layers/tfjs_compare.js). */
#include "harness/peers.h"

#include "base/file.h"
#include "base/random.h"
#include "data/image/resize.h"
#include "formats/image.h"
#include "harness/model_run.h"
#include "models/models.h"
#include "train/checkpoint/weights.h"

#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana_model *model;
static liana__arena arena;
static liana__error error;
static liana__device *device;

/* tfjs_compare.js finds TensorFlow.js where the peer is. */
static void need_tfjs(void)
{
    char modules[2100];
    const char *folder = liana__test_peer("tfjs");
    if (!folder) skip();
    snprintf(modules, sizeof modules, "%s/node_modules", folder);
    setenv("NODE_PATH", modules, 1);
}

static int set_up(void **state)
{
    (void)state;
    error = (liana__error){0};
    if (liana_context_create(&(liana_context_options){.num_threads = 2}, &context) != LIANA_OK) return -1;
    if (liana__device_open(context, "cpu", &device, &error) != LIANA_OK) return -1;
    return liana_model_create(context, NULL, &model) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_model_destroy(model);
    liana__device_close(device);
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return 0;
}

/* ---- what tfjs_compare.js reads ---- */

typedef struct dump {
    liana__text data;
    size_t count; /* of numbers */
} dump;

static liana__value *dump_tensor(dump *to, const char *name, const liana_shape *shape, const float *values)
{
    liana__value *map = liana__value_map(&arena), *dims = liana__value_list(&arena);
    for (int i = 0; i < shape->rank; i++) liana__value_add(&arena, dims, liana__value_int(&arena, shape->dims[i]));
    liana__value_set(&arena, map, "name", liana__value_string(&arena, name));
    liana__value_set(&arena, map, "shape", dims);
    liana__value_set(&arena, map, "offset", liana__value_int(&arena, (int64_t)to->count));
    size_t count = (size_t)liana_shape_size(shape);
    liana__text_add_bytes(&to->data, (const char *)values, count * sizeof *values);
    to->count += count;
    return map;
}

static void write_file(const char *folder, const char *name, const void *bytes, size_t size)
{
    assert_ok(liana__file_replace(liana__path_join(&arena, folder, name), bytes, size, &error), &error);
}

static void write_json(const char *folder, const char *name, const liana__value *value)
{
    liana__text text = {0};
    liana__value_write_json(value, 0, &text);
    assert_false(text.failed);
    write_file(folder, name, text.data, text.length);
    liana__text_free(&text);
}

/* Runs the model and writes everything into a folder, whose path lives in the arena. */
static const char *write_folder(const char *name, float *const *weights, const float *input, int64_t batch)
{
    assert_ok(liana_model_status(model), &context->error);
    assert_ok(liana__model_check(model, &error), &error);
    const char *folder = liana__arena_string(&arena, liana__test_path(name));
    assert_ok(liana__folder_make(folder, &error), &error);
    float **results = liana__test_model_run(device, model, weights, input, batch);
    dump data = {0};
    liana__value *manifest = liana__value_map(&arena), *weight_list = liana__value_list(&arena);
    liana__value *layer_list = liana__value_list(&arena);
    liana_shape shape = liana__model_input_shape(model);
    shape.dims[0] = batch;
    liana__value_set(&arena, manifest, "input", dump_tensor(&data, "input", &shape, input));
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        liana__value_add(&arena, weight_list, dump_tensor(&data, weight->name, &weight->shape, weights[i]));
    }
    for (size_t i = 0; i < model->num_layers; i++) {
        shape = model->nodes[i].shape;
        shape.dims[0] = batch;
        liana__value_add(&arena, layer_list, dump_tensor(&data, model->layers[i].name, &shape, results[i]));
    }
    liana__value_set(&arena, manifest, "weights", weight_list);
    liana__value_set(&arena, manifest, "layers", layer_list);
    write_json(folder, "manifest.json", manifest);
    write_json(folder, "model.json", liana__model_to_keras(model, LIANA__KERAS2, &arena));
    write_file(folder, "data.bin", data.data.data, data.data.length);
    liana__text_free(&data.data);
    liana__test_free_arrays(results, model->num_layers);
    return folder;
}

/* Runs tfjs_compare.js and fails the test unless it agrees with every layer. */
static void assert_tfjs_agrees(const char *tolerance, const char *const *folders, size_t count)
{
    const char *arguments[64] = {"node", LIANA_SOURCE_DIR "/tests/layers/tfjs_compare.js", tolerance};
    assert_compare(count + 4, <, sizeof arguments / sizeof *arguments);
    for (size_t i = 0; i < count; i++) arguments[3 + i] = folders[i];
    liana__test_run_program(arguments);
}

static void draw(float *values, int64_t count, uint32_t salt, double low, double high)
{
    liana__philox_key key = liana__philox_make_key(3, LIANA__STREAM_TEST, salt);
    for (int64_t i = 0; i < count; i++) {
        uint32_t words[4];
        liana__philox(key, (const uint32_t[]){(uint32_t)i, 0, 0, 0}, words);
        values[i] = (float)(low + (high - low) * liana__uniform_double(words[0], words[1]));
    }
}

/* ---- layers ---- */

static void build_convolutions(void)
{
    liana_input(model, .shape = LIANA_INTS(13, 10, 3));
    liana_conv2d(model, .filters = 5, .kernel_size = {3, 2}, .strides = {2, 1}, .padding = LIANA_PADDING_SAME,
                 .activation = "relu");
    liana_conv2d(model, .filters = 4, .kernel_size = {2, 3}, .dilation_rate = {1, 2}, .activation = "tanh");
    liana_depthwise_conv2d(model, .kernel_size = 3, .strides = 2, .padding = LIANA_PADDING_SAME, .depth_multiplier = 3,
                           .activation = "sigmoid");
    liana_separable_conv2d(model, .filters = 7, .kernel_size = {2, 3}, .padding = LIANA_PADDING_SAME,
                           .depth_multiplier = 2, .activation = "relu6");
    liana_conv2d(model, .filters = 2, .kernel_size = 3, .use_bias = false);
}

/* TensorFlow.js ignores the dilation of DepthwiseConv2D, and does not know the sizes behind a Reshape with -1: the
 * tests of ops and of layers have those. */
static void build_strided_depthwise(void)
{
    liana_input(model, .shape = LIANA_INTS(9, 12, 2));
    liana_depthwise_conv2d(model, .kernel_size = {3, 2}, .use_bias = false);
    liana_separable_conv2d(model, .filters = 3, .kernel_size = 3, .strides = 2, .use_bias = false);
    liana_depthwise_conv2d(model, .kernel_size = {1, 3}, .padding = LIANA_PADDING_SAME);
}

static void build_normalised(void)
{
    liana_input(model, .shape = LIANA_INTS(5, 7, 3));
    liana_rescaling(model, .scale = 0.25, .offset = -0.5);
    liana_normalization(model);
    liana_batch_normalization(model);
    liana_relu(model);
    liana_batch_normalization(model, .epsilon = 1e-5, .scale = false);
    liana_batch_normalization(model, .center = false);
    liana_relu(model, .max_value = 1.5);
    liana_dropout(model, .rate = 0.5);
    liana_dropout(model, .rate = 0.2, .noise_shape = LIANA_INTS(-1, 1, 1, 1));
    liana_flatten(model);
    liana_batch_normalization(model);
    liana_dense(model, .units = 6, .activation = "softmax");
}

static void build_pools(void)
{
    liana_layer image = liana_input(model, .shape = LIANA_INTS(13, 9, 3));
    liana_zero_padding2d(model, .padding = LIANA_INTS(1, 0, 2, 3));
    liana_max_pooling2d(model, .pool_size = {3, 2}, .strides = {2, 3});
    liana_average_pooling2d(model, .pool_size = 2, .strides = 1, .padding = LIANA_PADDING_SAME);
    liana_layer a = liana_max_pooling2d(model, .pool_size = 3, .padding = LIANA_PADDING_SAME);
    liana_average_pooling2d(model, .pool_size = {2, 3}, .input = image);
    liana_layer b = liana_average_pooling2d(model, .pool_size = 3, .strides = 2, .padding = LIANA_PADDING_SAME);
    a = liana_global_average_pooling2d(model, .input = a);
    b = liana_global_max_pooling2d(model, .input = b);
    liana_add(model, .inputs = {a, b});
}

static void build_joins(void)
{
    liana_layer x = liana_input(model, .shape = LIANA_INTS(4, 5, 3));
    liana_layer a = liana_conv2d(model, .filters = 3, .kernel_size = 1, .input = x);
    liana_layer b = liana_activation(model, .activation = "swish", .input = x);
    liana_layer sum = liana_add(model, .inputs = {a, b, x});
    liana_layer product = liana_multiply(model, .inputs = {sum, a});
    liana_layer deep = liana_concatenate(model, .inputs = {product, x, sum});
    liana_layer tall = liana_concatenate(model, .inputs = {deep, deep}, .axis = 1);
    liana_layer gate = liana_global_max_pooling2d(model, .keepdims = true, .input = tall);
    liana_layer gated = liana_multiply(model, .inputs = {tall, gate});
    liana_reshape(model, .target_shape = LIANA_INTS(20, 18), .input = gated);
    liana_softmax(model);
    liana_dense(model, .units = 4);
    liana_flatten(model);
}

static void build_activations(void)
{
    /* TensorFlow.js has Keras 2's. */
    static const char *const names[] = {"linear",   "relu",    "relu6", "sigmoid", "hard_sigmoid_keras2",
                                        "tanh",     "softmax", "swish", "elu",     "selu",
                                        "softplus", "softsign"};
    liana_layer x = liana_input(model, .shape = LIANA_INTS(9)), all[12] = {{0}};
    for (int i = 0; i < 12; i++) all[i] = liana_activation(model, .activation = names[i], .input = x);
    liana_concatenate(model, .inputs = {all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8], all[9],
                                        all[10], all[11]});
}

static void build_steps(void)
{
    liana_layer x = liana_input(model, .shape = LIANA_INTS(7, 5));
    liana_layer mean = liana_global_average_pooling1d(model, .input = x);
    liana_layer most = liana_global_max_pooling1d(model, .input = x);
    liana_concatenate(model, .inputs = {mean, most});
}

/* Weights as no training leaves them at their defaults: biases, averages and factors all differ. */
static float **draw_weights(void)
{
    float **weights = liana__test_weights(model, 1);
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        bool positive = strstr(weight->short_name, "variance") || strcmp(weight->short_name, "gamma") == 0;
        draw(weights[i], liana_shape_size(&weight->shape), (uint32_t)i, positive ? 0.5 : -0.7, positive ? 1.5 : 0.7);
    }
    return weights;
}

static void test_every_layer(void **state)
{
    (void)state;
    need_tfjs();
    static const struct {
        const char *name;
        void (*build)(void);
    } cases[] = {
        {"convolutions", build_convolutions},
        {"strided_depthwise", build_strided_depthwise},
        {"normalised", build_normalised},
        {"pools", build_pools},
        {"joins", build_joins},
        {"activations", build_activations},
        {"steps", build_steps},
    };
    enum { NUM_CASES = sizeof cases / sizeof *cases, BATCH = 3 };
    const char *folders[NUM_CASES];
    for (size_t i = 0; i < NUM_CASES; i++) {
        liana_model_destroy(model);
        assert_ok(liana_model_create(context, NULL, &model), &context->error);
        cases[i].build();
        assert_ok(liana_model_status(model), &context->error);
        liana_shape shape = liana__model_input_shape(model);
        int64_t count = BATCH * liana_shape_size(&shape);
        float *input = malloc((size_t)count * sizeof *input), **weights = draw_weights();
        draw(input, count, 99, -3, 3);
        folders[i] = write_folder(cases[i].name, weights, input, BATCH);
        liana__test_free_arrays(weights, model->num_weights);
        free(input);
    }
    assert_tfjs_agrees("2e-6", folders, NUM_CASES);
}

/* ---- the given weight files, on photos ---- */

static float *read_photo(const char *name, int64_t size)
{
    liana__mapping mapping;
    liana__image image = {0};
    liana__resizer resizer = {0};
    float *pixels = malloc((size_t)(size * size * 3) * sizeof *pixels);
    assert_ok(liana__file_map(liana__test_data(name), &mapping, &error), &error);
    assert_ok(liana__image_decode(mapping.data, mapping.size, &(liana__image_options){.channels = 3}, &image, &error),
              &error);
    liana__resize_shape shape = {image.height, image.width, size, size, 3, true};
    assert_ok(liana__resize_float(&resizer, &shape, image.pixels, pixels, &error), &error);
    for (int64_t i = 0; i < size * size * 3; i++) pixels[i] = pixels[i] / 127.5f - 1;
    liana__resizer_free(&resizer);
    liana__image_free(&image);
    liana__file_unmap(&mapping);
    return pixels;
}

static void compare_file(const char *file, const char *photo, int64_t size)
{
    need_tfjs();
    assert_ok(liana_model_status(model), &context->error);
    const char *path = liana__test_data(file);
    float **weights = liana__test_weights(model, 1), *pixels = read_photo(photo, size);
    assert_ok(liana__weights_load(model, path, model->num_layers, weights, &arena, NULL, &error), &error);
    const char *folder = write_folder(liana__model_name(model), weights, pixels, 1);
    /* Over fifty layers in f32 with another order of sums. */
    assert_tfjs_agrees("2e-5", &folder, 1);
    liana__test_free_arrays(weights, model->num_weights);
    free(pixels);
}

static void test_mobilenet_v1(void **state)
{
    (void)state;
    liana_mobilenet(model, .alpha = 0.25);
    compare_file("weights/mobilenet_2_5_224_tf.h5", "photos/panda.jpg", 224);
}

static void test_mobilenet_v2(void **state)
{
    (void)state;
    liana_mobilenet_v2(model, .alpha = 0.35, .include_top = false, .input_shape = LIANA_INTS(96, 96, 3));
    compare_file("weights/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_0.35_224_no_top.h5", "photos/coffee.jpg", 96);
}

/* Odd sizes: all paddings of the strided blocks differ from those of even ones. */
static void test_mobilenet_v2_of_odd_size(void **state)
{
    (void)state;
    liana_mobilenet_v2(model, .alpha = 0.35, .include_top = false, .input_shape = LIANA_INTS(81, 81, 3));
    compare_file("weights/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_0.35_224_no_top.h5", "photos/panda.jpg", 81);
}

/* ---- larger architectures, on weights as no training leaves them ---- */

/* Kernels as they start, so that numbers neither vanish nor overflow on their way through the layers. */
static float **draw_vectors(void)
{
    float **weights = liana__test_weights(model, 1);
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        bool positive = strstr(weight->short_name, "variance") || strcmp(weight->short_name, "gamma") == 0;
        if (weight->shape.rank > 1) continue;
        draw(weights[i], liana_shape_size(&weight->shape), (uint32_t)i, positive ? 0.7 : -0.3, positive ? 1.3 : 0.3);
    }
    return weights;
}

static void compare_architecture(double low, double high)
{
    need_tfjs();
    assert_ok(liana_model_status(model), &context->error);
    liana_shape shape = liana__model_input_shape(model);
    int64_t count = liana_shape_size(&shape);
    float *input = malloc((size_t)count * sizeof *input), **weights = draw_vectors();
    draw(input, count, 99, low, high);
    const char *folder = write_folder(liana__model_name(model), weights, input, 1);
    assert_tfjs_agrees("1e-5", &folder, 1);
    liana__test_free_arrays(weights, model->num_weights);
    free(input);
}

static void test_resnet50(void **state)
{
    (void)state;
    liana_resnet50(model, .input_shape = LIANA_INTS(64, 48, 3), .classes = 10);
    compare_architecture(-124, 151);
}

static void test_resnet50_v2(void **state)
{
    (void)state;
    liana_resnet50_v2(model, .input_shape = LIANA_INTS(45, 64, 3), .include_top = false, .pooling = LIANA_POOLING_AVG);
    compare_architecture(-1, 1);
}

static void test_densenet121(void **state)
{
    (void)state;
    liana_densenet121(model, .input_shape = LIANA_INTS(64, 48, 3), .classes = 10);
    compare_architecture(-2, 2.6);
}

/* An odd and an even side: their paddings differ. */
static void test_efficientnet_b0(void **state)
{
    (void)state;
    liana_efficientnet_b0(model, .input_shape = LIANA_INTS(64, 75, 3), .classes = 10);
    compare_architecture(0, 255);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_layer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mobilenet_v1, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mobilenet_v2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mobilenet_v2_of_odd_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_resnet50, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_resnet50_v2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_densenet121, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_efficientnet_b0, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("tfjs", tests, NULL, NULL);
}
