/* Weight files: by name into a model, under a new head, and messages about files of another model. */
#include "harness/harness.h"

#include "data/image/resize.h"
#include "formats/hdf5.h"
#include "formats/image.h"
#include "formats/safetensors.h"
#include "harness/model_run.h"
#include "models/models.h"
#include "train/checkpoint/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char v1_file[] = "weights/mobilenet_2_5_224_tf.h5";
static const char v2_file[] = "weights/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_0.35_224_no_top.h5";

static liana_context *context;
static liana_model *model;
static liana__arena arena;
static liana__error error;
static liana__weights_report report;

static int set_up(void **state)
{
    (void)state;
    error = (liana__error){0};
    if (liana_context_create(&(liana_context_options){.num_threads = 2}, &context) != LIANA_OK) return -1;
    return liana_model_create(context, NULL, &model) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_model_destroy(model);
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return 0;
}

/* A small model whose layers have weights of every rank. */
static void build_small(int64_t units)
{
    liana_input(model, .shape = LIANA_INTS(4, 4, 2));
    liana_conv2d(model, .filters = 3, .kernel_size = 2, .name = "conv");
    liana_batch_normalization(model, .name = "norm");
    liana_flatten(model);
    liana_dense(model, .units = units, .name = "head");
    assert_ok(liana_model_status(model), &context->error);
}

static liana_status load(const char *path, size_t num_required, float **values)
{
    return liana__weights_load(model, path, num_required, values, &arena, &report, &error);
}

static bool contains(const liana__strings *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i], name) == 0) return true;
    }
    return false;
}

/* ---- files made here: element k of weight w is w + k / 100 ---- */

enum { MOST_WEIGHTS = 16, MOST_ELEMENTS = 256 };
static float contents[MOST_WEIGHTS][MOST_ELEMENTS];

static void fill_contents(void)
{
    for (int w = 0; w < MOST_WEIGHTS; w++) {
        for (int k = 0; k < MOST_ELEMENTS; k++) contents[w][k] = (float)w + (float)k / 100;
    }
}

static void assert_holds(float **values, const char *weight, int from)
{
    int index = liana__model_find_weight(model, weight);
    assert_compare(index, >=, 0);
    int64_t count = liana_shape_size(&model->weights[index].shape);
    assert_memory_equal(values[index], contents[from], (size_t)count * sizeof(float));
}

static const liana__hdf5_new_weight conv_weights[] = {
    {"conv/kernel:0", 4, {2, 2, 2, 3}, contents[0]},
    {"conv/bias:0", 1, {3}, contents[1]},
};
static const liana__hdf5_new_weight norm_weights[] = {
    {"norm/gamma:0", 1, {3}, contents[2]},
    {"norm/beta:0", 1, {3}, contents[3]},
    {"norm/moving_mean:0", 1, {3}, contents[4]},
    {"norm/moving_variance:0", 1, {3}, contents[5]},
};
static const liana__hdf5_new_weight head_weights[] = {
    {"head/kernel:0", 2, {27, 5}, contents[6]},
    {"head/bias:0", 1, {5}, contents[7]},
};

static const char *write_hdf5(const liana__hdf5_new_layer *layers, size_t count)
{
    const char *path = liana__test_path("weights.h5");
    fill_contents();
    assert_ok(liana__hdf5_write(path, layers, count, NULL, &error), &error);
    return path;
}

static void test_every_layer_finds_its_arrays(void **state)
{
    (void)state;
    build_small(5);
    const liana__hdf5_new_layer layers[] = {{"flatten", NULL, 0},
                                            {"conv", conv_weights, 2},
                                            {"norm", norm_weights, 4},
                                            {"head", head_weights, 2}};
    float **values = liana__test_weights(model, 1);
    assert_ok(load(write_hdf5(layers, 4), model->num_layers, values), &error);
    assert_int_equal(report.num_layers, 3);
    assert_int_equal(report.num_weights, 8);
    assert_int_equal(report.missing.count, 0);
    assert_int_equal(report.unused.count, 0);
    assert_holds(values, "conv/kernel", 0);
    assert_holds(values, "conv/bias", 1);
    assert_holds(values, "norm/gamma", 2);
    assert_holds(values, "norm/moving_variance", 5);
    assert_holds(values, "head/kernel", 6);
    assert_holds(values, "head/bias", 7);
    liana__test_free_arrays(values, model->num_weights);
}

/* Keras keeps a model within a model as one layer, with all trainable weights before the others. */
static void test_layers_within_a_nested_model(void **state)
{
    (void)state;
    build_small(5);
    const liana__hdf5_new_weight nested[] = {conv_weights[0], conv_weights[1], norm_weights[0],
                                             norm_weights[1], norm_weights[2], norm_weights[3]};
    const liana__hdf5_new_layer layers[] = {{"backbone", nested, 6}, {"head", head_weights, 2}};
    float **values = liana__test_weights(model, 1);
    assert_ok(load(write_hdf5(layers, 2), model->num_layers, values), &error);
    assert_int_equal(report.num_weights, 8);
    assert_holds(values, "conv/bias", 1);
    assert_holds(values, "norm/moving_mean", 4);
    assert_holds(values, "head/bias", 7);
    liana__test_free_arrays(values, model->num_weights);
}

static void test_partial_load_leaves_the_new_head_alone(void **state)
{
    (void)state;
    build_small(9);
    model->layers[4].name = "new_head";
    const liana__hdf5_new_layer layers[] = {{"conv", conv_weights, 2},
                                            {"norm", norm_weights, 4},
                                            {"head", head_weights, 2}};
    float **values = liana__test_weights(model, 1), **before = liana__test_weights(model, 1);
    assert_ok(load(write_hdf5(layers, 3), 4, values), &error);
    assert_int_equal(report.num_layers, 2);
    assert_true(contains(&report.missing, "new_head"));
    assert_true(contains(&report.unused, "head"));
    assert_int_equal(report.missing.count, 1);
    assert_int_equal(report.unused.count, 1);
    assert_memory_equal(values[6], before[6], 27 * 9 * sizeof(float));
    assert_memory_not_equal(values[0], before[0], 24 * sizeof(float));
    liana__test_free_arrays(values, model->num_weights);
    liana__test_free_arrays(before, model->num_weights);
}

static void test_files_of_another_model_are_refused(void **state)
{
    (void)state;
    build_small(9);
    float **values = liana__test_weights(model, 1);
    const liana__hdf5_new_layer other_shape[] = {{"conv", conv_weights, 2},
                                                 {"norm", norm_weights, 4},
                                                 {"head", head_weights, 2}};
    const char *path = write_hdf5(other_shape, 3);
    assert_fails(load(path, 0, values), LIANA_INVALID_DATA, &error, path, "layer 'head'", "kernel [27, 5] in the file",
                 "[27, 9] in the model");
    const liana__hdf5_new_layer incomplete[] = {{"conv", conv_weights, 2}};
    path = write_hdf5(incomplete, 1);
    assert_fails(load(path, model->num_layers, values), LIANA_INVALID_DATA, &error, path, "2 of the model's 3 layers",
                 "norm, head", "the file has conv");
    assert_ok(load(path, 2, values), &error);
    const liana__hdf5_new_layer fewer[] = {{"conv", conv_weights, 1}};
    assert_fails(load(write_hdf5(fewer, 1), 0, values), LIANA_INVALID_DATA, &error, "layer 'conv'",
                 "1 weights in the file, 2 in the model");
    const liana__hdf5_new_layer strange[] = {{"convolution", conv_weights, 2}};
    path = write_hdf5(strange, 1);
    assert_fails(load(path, 0, values), LIANA_INVALID_DATA, &error, path, "none of its layers (convolution", "conv");
    liana__test_free_arrays(values, model->num_weights);
}

static void test_numbers_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    build_small(5);
    float **values = liana__test_weights(model, 1);
    const liana__hdf5_new_layer layers[] = {{"norm", norm_weights, 4}};
    fill_contents();
    contents[3][2] = NAN;
    assert_ok(liana__hdf5_write(liana__test_path("nan.h5"), layers, 1, NULL, &error), &error);
    assert_fails(load(liana__test_path("nan.h5"), 0, values), LIANA_INVALID_DATA, &error, "nan.h5", "norm/beta", "NaN",
                 "element 2");
    liana__test_free_arrays(values, model->num_weights);
}

static void test_safetensors_load_by_weight_name(void **state)
{
    (void)state;
    build_small(5);
    float **values = liana__test_weights(model, 1);
    fill_contents();
    liana__safetensors_tensor tensors[] = {
        {.name = "conv/bias", .dtype = LIANA__SAFETENSORS_F32, .rank = 1, .shape = {3}, .data = contents[1]},
        {.name = "conv/kernel", .dtype = LIANA__SAFETENSORS_F32, .rank = 4, .shape = {2, 2, 2, 3}, .data = contents[0]},
        {.name = "step", .dtype = LIANA__SAFETENSORS_I64, .rank = 0, .data = contents[2]},
    };
    liana__safetensors_contents file = {.tensors = tensors, .num_tensors = 3};
    const char *path = liana__test_path("weights.safetensors");
    assert_ok(liana__safetensors_write(path, &file, false, NULL, &error), &error);
    assert_ok(load(path, 2, values), &error);
    assert_holds(values, "conv/kernel", 0);
    assert_holds(values, "conv/bias", 1);
    assert_int_equal(report.num_weights, 2);
    assert_int_equal(report.missing.count, 2);
    tensors[0].name = "conv/offset";
    assert_ok(liana__safetensors_write(path, &file, false, NULL, &error), &error);
    assert_fails(load(path, 2, values), LIANA_INVALID_DATA, &error, path, "layer 'conv'", "no 'bias'");
    tensors[0].name = "conv/bias";
    tensors[0].dtype = LIANA__SAFETENSORS_I32;
    assert_ok(liana__safetensors_write(path, &file, false, NULL, &error), &error);
    assert_fails(load(path, 2, values), LIANA_UNIMPLEMENTED, &error, path, "conv/bias", "I32", "F32");
    liana__test_free_arrays(values, model->num_weights);
}

static void test_other_files_are_named(void **state)
{
    (void)state;
    build_small(5);
    float **values = liana__test_weights(model, 1);
    static const uint8_t jpeg[] = {0xff, 0xd8, 0xff, 0xe0, 0, 16, 'J', 'F', 'I', 'F', 0, 1, 1, 0, 0, 1};
    const char *path = liana__test_write("photo.h5", jpeg, sizeof jpeg);
    assert_fails(load(path, 0, values), LIANA_INVALID_DATA, &error, path,
                 "Keras HDF5, .keras, .onnx, safetensors or a TensorFlow checkpoint", "JPEG");
    path = liana__test_write("empty.h5", "", 0);
    assert_fails(load(path, 0, values), LIANA_INVALID_DATA, &error, path);
    assert_fails(load(liana__test_path("none.h5"), 0, values), LIANA_NOT_FOUND, &error, "none.h5");
    path = liana__test_write("half.h5", "\x89HDF\r\n\x1a\n0000", 12);
    assert_int_not_equal(load(path, 0, values), LIANA_OK);
    liana__test_free_arrays(values, model->num_weights);
}

/* ---- the given files ---- */

static void test_keras_files_load_whole(void **state)
{
    (void)state;
    const char *path = liana__test_data(v2_file);
    liana_mobilenet_v2(model, .alpha = 0.35, .include_top = false);
    size_t base = model->num_layers;
    liana__head_add(model, LIANA_HERE, 0.05, LIANA_POOLING_AVG, 5);
    assert_ok(liana_model_status(model), &context->error);
    float **values = liana__test_weights(model, 1);
    assert_ok(load(path, base, values), &error);
    assert_int_equal(report.num_weights, 260);
    assert_int_equal(report.missing.count, 1);
    assert_string_equal(report.missing.items[0], "classifier");
    assert_int_equal(report.unused.count, 0);
    assert_fails(load(liana__test_data(v1_file), base, values), LIANA_INVALID_DATA, &error, "mobilenet_2_5_224_tf.h5",
                 "mobilenetv2_0.35_224", "104 of the model's 104 layers",
                 "Conv1 (the nearest there is 'conv1'), bn_Conv1", " and 100 more (the file has conv1", " more)");
    liana__test_free_arrays(values, model->num_weights);
    liana_model_destroy(model);
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_mobilenet_v2(model, .alpha = 0.5, .include_top = false);
    values = liana__test_weights(model, 1);
    assert_fails(load(path, model->num_layers, values), LIANA_INVALID_DATA, &error, "no_top.h5",
                 "kernel [1, 1, 8, 48] in the file");
    liana__test_free_arrays(values, model->num_weights);
    /* Weights for colour, and a model for grey images. */
    liana_model_destroy(model);
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_mobilenet_v2(model, .alpha = 0.35, .include_top = false, .input_shape = LIANA_INTS(96, 96, 1));
    values = liana__test_weights(model, 1);
    assert_fails(load(path, model->num_layers, values), LIANA_INVALID_DATA, &error, "'Conv1' has kernel",
                 "for images with 3 channels: set data.channels: 3");
    liana__test_free_arrays(values, model->num_weights);
}

/* Reads a photo as [224, 224, 3] in [-1, 1], resized as Pillow's BILINEAR does (antialiased). */
static void read_photo(const char *name, float *pixels)
{
    liana__mapping mapping;
    liana__image image = {0};
    liana__resizer resizer = {0};
    assert_ok(liana__file_map(liana__test_data(name), &mapping, &error), &error);
    assert_ok(liana__image_decode(mapping.data, mapping.size, &(liana__image_options){.channels = 3}, &image, &error),
              &error);
    liana__resize_shape shape = {image.height, image.width, 224, 224, 3, true};
    assert_ok(liana__resize_float(&resizer, &shape, image.pixels, pixels, &error), &error);
    for (int i = 0; i < 224 * 224 * 3; i++) pixels[i] = pixels[i] / 127.5f - 1;
    liana__resizer_free(&resizer);
    liana__image_free(&image);
    liana__file_unmap(&mapping);
}

/* MobileNet v1 0.25's answers for five photos, from the data's README; computed there by another program. */
static void test_mobilenet_names_the_photos(void **state)
{
    (void)state;
    static const struct {
        const char *photo, *label;
        double confidence;
    } cases[] = {
        {"photos/panda.jpg", "giant panda", .86},    {"photos/coral_parrot.jpg", "macaw", .94},
        {"photos/coral_hot_dog.jpg", "hotdog", .53}, {"photos/webnn_test.jpg", "lesser panda", .95},
        {"photos/coffee.jpg", "coffee mug", .40},
    };
    enum { NUM_CASES = sizeof cases / sizeof *cases, IMAGE = 224 * 224 * 3 };
    const char *path = liana__test_data(v1_file);
    char *labels;
    size_t size;
    assert_ok(liana__file_read(liana__test_data("photos/imagenet_labels.txt"), 1 << 20, &labels, &size, &error),
              &error);
    liana_mobilenet(model, .alpha = 0.25);
    float **values = liana__test_weights(model, 1);
    assert_ok(load(path, model->num_layers, values), &error);
    float *pixels = malloc(NUM_CASES * IMAGE * sizeof *pixels);
    for (size_t i = 0; i < NUM_CASES; i++) read_photo(cases[i].photo, pixels + i * IMAGE);
    liana__device *device;
    assert_ok(liana__device_open(context, "cpu", &device, &error), &error);
    float **results = liana__test_model_run(device, model, values, pixels, NUM_CASES);
    const float *predictions = results[model->num_layers - 1];
    for (size_t i = 0; i < NUM_CASES; i++) {
        const float *row = predictions + i * 1000;
        int best = 0;
        for (int k = 1; k < 1000; k++) {
            if (row[k] > row[best]) best = k;
        }
        const char *label = labels;
        for (int k = 0; k < best; k++) label = strchr(label, '\n') + 1;
        if (strncmp(label, cases[i].label, strlen(cases[i].label)) != 0 ||
            fabs((double)row[best] - cases[i].confidence) > .02) {
            fail_msg("%s: %.*s %.3f, expected %s %.2f", cases[i].photo, (int)strcspn(label, "\n"), label,
                     (double)row[best], cases[i].label, cases[i].confidence);
        }
    }
    liana__test_free_arrays(results, model->num_layers);
    liana__test_free_arrays(values, model->num_weights);
    liana__device_close(device);
    free(pixels);
    free(labels);
}

/* The package efficientnet 1.1.1 has Keras's EfficientNets without Rescaling and Normalization, and calls the last
 * layer "probs"; images are to be normalised as by torchvision. */
static void test_package_efficientnet(void **state)
{
    (void)state;
    static const char *const names[] = {"stem_conv", "block1a_dwconv", "block7a_project_conv", "top_conv"};
    static const liana__hdf5_new_weight kernels[] = {{"stem_conv/kernel:0", 4, {1, 1, 3, 3}, contents[0]},
                                                     {"block1a_dwconv/kernel:0", 4, {1, 1, 3, 3}, contents[1]},
                                                     {"block7a_project_conv/kernel:0", 4, {1, 1, 3, 3}, contents[2]},
                                                     {"top_conv/kernel:0", 4, {1, 1, 3, 3}, contents[3]}};
    static const liana__hdf5_new_weight probs[] = {{"probs/kernel:0", 2, {3, 5}, contents[4]},
                                                   {"probs/bias:0", 1, {5}, contents[5]}};
    liana_input(model, .shape = LIANA_INTS(4, 4, 3));
    liana_rescaling(model, .scale = 1 / 255.0);
    liana_normalization(model);
    for (int i = 0; i < 4; i++)
        liana_conv2d(model, .filters = 3, .kernel_size = 1, .use_bias = false, .name = names[i]);
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = 5, .name = "predictions");
    assert_ok(liana_model_status(model), &context->error);
    const liana__hdf5_new_layer layers[] = {{names[0], &kernels[0], 1},
                                            {names[1], &kernels[1], 1},
                                            {names[2], &kernels[2], 1},
                                            {names[3], &kernels[3], 1},
                                            {"probs", probs, 2}};
    float **values = liana__test_weights(model, 1);
    const char *path = write_hdf5(layers, 5);
    assert_ok(load(path, model->num_layers, values), &error);
    assert_holds(values, "stem_conv/kernel", 0);
    assert_holds(values, "top_conv/kernel", 3);
    assert_holds(values, "predictions/kernel", 4);
    static const double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};
    const int first = liana__model_find_weight(model, "normalization/mean");
    for (int i = 0; i < 3; i++) {
        assert_near(values[first][i], mean[i], 1e-7, i);
        assert_near(values[first + 1][i], deviation[i] * deviation[i], 1e-7, i);
    }
    /* Without its last layer. */
    assert_ok(load(write_hdf5(layers, 4), model->num_layers - 1, values), &error);
    /* Another network with some of these names is read as it is. */
    assert_fails(load(write_hdf5(layers, 3), model->num_layers - 1, values), LIANA_INVALID_DATA, &error, "top_conv",
                 "normalization");
    liana__test_free_arrays(values, model->num_weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_layer_finds_its_arrays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_package_efficientnet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_layers_within_a_nested_model, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_partial_load_leaves_the_new_head_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_of_another_model_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_numbers_that_are_not_finite_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_safetensors_load_by_weight_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_files_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keras_files_load_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mobilenet_names_the_photos, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("weights", tests, NULL, NULL);
}
