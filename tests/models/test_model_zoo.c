/* ResNet, DenseNet and EfficientNet beyond their shapes: a training step on both backends, Keras's preprocessing,
 * weight files, frozen layers, and the layers that only they need. Results of inference are compared with tfjs
 * elsewhere. */
#include "harness/harness.h"

#include "harness/objective.h"

#include "base/file.h"
#include "formats/hdf5.h"
#include "harness/command_run.h"
#include "harness/model_run.h"
#include "models/models.h"
#include "models/preprocessing.h"
#include "train/checkpoint/weights.h"
#include "train/objective/step_graphs.h"

#include <liana/train.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef LIANA_HAVE_HDF5
#include <hdf5.h>
#endif

static liana_context *context;
static liana_model *model;
static liana__device *cpu;
static liana__arena arena;
static liana__error error;

static int set_up(void **state)
{
    (void)state;
    error = (liana__error){0};
    if (liana_context_create(&(liana_context_options){.num_threads = 2}, &context) != LIANA_OK) return -1;
    if (liana__device_open(context, "cpu", &cpu, &error) != LIANA_OK) return -1;
    return liana_model_create(context, NULL, &model) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_model_destroy(model);
    liana__device_close(cpu);
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return 0;
}

static void start_again(void)
{
    liana_model_destroy(model);
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
}

/* ---- a training step ---- */

enum { BATCH = 4, CLASSES = 5 };

/* Waves in several directions, unlike noise, do not average out in the deeper layers. */
static void draw_images(uint8_t *images, const liana_shape *shape)
{
    for (int64_t n = 0; n < BATCH; n++) {
        for (int64_t i = 0; i < liana_shape_size(shape); i++) {
            double y = (double)(i / 3 / shape->dims[2]), x = (double)(i / 3 % shape->dims[2]),
                   channel = (double)(i % 3);
            double wave = sin(0.05 * (double)(n + 1) * ((double)n * y + channel * x) + x / (double)(n + 3));
            *images++ = (uint8_t)(128 + 40 * sin((double)(7 * n) + channel) + 80 * wave);
        }
    }
}

/* The loss, the gradient of every weight and every batch-norm statistic of one shard, from the device. */
static float **train_shard(liana__device *device, const liana_graph *graph, float *const *weights)
{
    liana_shape shape = liana__model_input_shape(model);
    size_t count = BATCH * (size_t)liana_shape_size(&shape);
    uint8_t *images = malloc(count);
    draw_images(images, &shape);
    const int32_t labels[BATCH] = {4, 0, 2, 1};
    const uint64_t positions[BATCH] = {7, 1, 1000, 2};
    float **results =
        liana__test_graph_run(device, graph, model, weights, (const void *const[]){images, labels, positions});
    free(images);
    return results;
}

/* With their first weights, gradients grow from block to block of a ResNet, and rounding with them. */
static void calm_residuals(float **weights)
{
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        bool last_of_block = strstr(weight->name, "_3_bn/gamma") || strstr(weight->name, "_3_conv/kernel");
        for (int64_t k = 0; last_of_block && k < liana_shape_size(&weight->shape); k++) weights[i][k] *= 0.2f;
    }
}

/* Normalising over a few pixels amplifies rounding, and now and then lifts a value over a ReLU's edge, which changes a
 * gradient at once: tensors are compared by their norms, with room for that, and most of them closely. */
static void assert_step_agrees_with_reference(liana_scale scale)
{
    assert_ok(liana_model_status(model), &context->error);
    liana__trainer_options options = {.model = model,
                                      .objective = liana__test_objective(model, "[]"),
                                      .seed = 3,
                                      .scale = scale};
    const liana__shard_rows rows = {BATCH, 1, false};
    liana__shard_sums sums = {0};
    float **weights = liana__test_weights(model, 1);
    calm_residuals(weights);
    liana_graph *graph;
    liana__device *reference;
    assert_ok(liana__device_open(context, "reference", &reference, &error), &error);
    assert_ok(liana__build_model_shard(context, &options, LIANA__STEP_TRAINING, &rows, &sums, &graph), &context->error);
    assert_compare(graph->num_outputs, >, 100);
    float **found = train_shard(cpu, graph, weights), **expected = train_shard(reference, graph, weights);
    assert_compare(found[0][0], >, 0);
    assert_true(isfinite(found[0][0]));
    size_t changed = 0, close = 0;
    for (size_t i = 0; i < graph->num_outputs; i++) {
        int64_t count = liana_shape_size(&graph->outputs[i].node->shape);
        double distance = 0, norm = 0;
        for (int64_t k = 0; k < count; k++) {
            distance += pow((double)found[i][k] - (double)expected[i][k], 2);
            norm += pow((double)expected[i][k], 2);
        }
        distance = sqrt(distance);
        norm = sqrt(norm);
        changed += norm > 1e-4;
        close += distance <= 5e-3 * norm + 1e-4;
        if (!(distance <= 0.1 * norm + 1e-4)) {
            fail_msg("%s: the norm is %g, the distance %g", graph->outputs[i].name, norm, distance);
        }
    }
    assert_compare(close, >, graph->num_outputs / 2);
    assert_compare(changed, >, graph->num_outputs * 3 / 4);
    liana__test_free_arrays(found, graph->num_outputs);
    liana__test_free_arrays(expected, graph->num_outputs);
    liana__test_free_arrays(weights, model->num_weights);
    liana_graph_destroy(graph);
    liana__device_close(reference);
    liana__shard_sums_free(&sums);
}

static void test_resnet_step(void **state)
{
    (void)state;
    liana_resnet50(model, .input_shape = LIANA_INTS(33, 48, 3), .classes = CLASSES);
    assert_step_agrees_with_reference(LIANA_SCALE_CAFFE);
}

static void test_resnet_v2_step(void **state)
{
    (void)state;
    liana_resnet50_v2(model, .input_shape = LIANA_INTS(48, 33, 3), .classes = CLASSES);
    assert_step_agrees_with_reference(LIANA_SCALE_MINUS_ONE_ONE);
}

static void test_densenet_step(void **state)
{
    (void)state;
    liana_densenet121(model, .input_shape = LIANA_INTS(64, 33, 3), .classes = CLASSES);
    assert_step_agrees_with_reference(LIANA_SCALE_TORCH);
}

static void test_efficientnet_step(void **state)
{
    (void)state;
    liana_efficientnet_b0(model, .input_shape = LIANA_INTS(33, 48, 3), .classes = CLASSES, .drop_connect_rate = 0.6);
    assert_step_agrees_with_reference(LIANA_SCALE_NONE);
}

static void test_mobilenet_v3_step(void **state)
{
    (void)state;
    liana_mobilenet_v3_small(model, .input_shape = LIANA_INTS(33, 48, 3), .classes = CLASSES);
    assert_step_agrees_with_reference(LIANA_SCALE_NONE);
}

static void test_inception_v3_step(void **state)
{
    (void)state;
    liana_inception_v3(model, .input_shape = LIANA_INTS(75, 80, 3), .classes = CLASSES);
    assert_step_agrees_with_reference(LIANA_SCALE_MINUS_ONE_ONE);
}

static void test_efficientnet_v2_step(void **state)
{
    (void)state;
    liana_efficientnet_v2_b0(model, .input_shape = LIANA_INTS(33, 48, 3), .classes = CLASSES, .drop_connect_rate = 0.6);
    assert_step_agrees_with_reference(LIANA_SCALE_NONE);
}

static void test_convnext_step(void **state)
{
    (void)state;
    liana_convnext_tiny(model, .input_shape = LIANA_INTS(33, 48, 3), .classes = CLASSES, .drop_path_rate = 0.6,
                        .layer_scale_init_value = 0.3);
    assert_step_agrees_with_reference(LIANA_SCALE_NONE);
}

/* ---- preprocessing ---- */

static liana_status preprocess(liana_scale scale, int64_t channels, const uint8_t *pixels, float **result)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor images = liana_graph_input(graph, "images", LIANA_U8, liana_shape_of(2, 1, 2, channels));
    liana_graph_output(graph, "x", liana__preprocess(images, scale));
    liana_status status = liana_graph_status(graph);
    if (status == LIANA_OK) {
        float **results = liana__test_graph_run(cpu, graph, model, NULL, (const void *const[]){pixels});
        *result = results[0];
        free(results);
    }
    liana_graph_destroy(graph);
    return status;
}

/* The documented results of Keras's preprocess_input(mode=...). */
static void test_preprocessing_of_keras(void **state)
{
    (void)state;
    static const double caffe_mean[3] = {103.939, 116.779, 123.68};
    static const double mean[3] = {0.485, 0.456, 0.406}, deviation[3] = {0.229, 0.224, 0.225};
    const uint8_t pixels[12] = {0, 128, 255, 10, 20, 30, 255, 255, 255, 1, 2, 200};
    for (int scale = 0; scale < LIANA__NUM_SCALES; scale++) {
        float *found;
        assert_ok(preprocess((liana_scale)scale, 3, pixels, &found), &context->error);
        for (int i = 0; i < 12; i++) {
            double pixel = pixels[i], blue_first = pixels[i / 3 * 3 + 2 - i % 3];
            const double expected[LIANA__NUM_SCALES] = {
                [LIANA_SCALE_AUTO] = pixel / 255,
                [LIANA_SCALE_ZERO_ONE] = pixel / 255,
                [LIANA_SCALE_MINUS_ONE_ONE] = pixel / 127.5 - 1,
                [LIANA_SCALE_NONE] = pixel,
                [LIANA_SCALE_CAFFE] = blue_first - caffe_mean[i % 3],
                [LIANA_SCALE_TORCH] = (pixel / 255 - mean[i % 3]) / deviation[i % 3],
            };
            assert_near(found[i], expected[scale], 1e-6 * fmax(1, fabs(expected[scale])), scale, i);
        }
        free(found);
    }
}

static void test_preprocessing_refuses(void **state)
{
    (void)state;
    const uint8_t pixels[12] = {0};
    float *found = NULL;
    assert_ok(preprocess(LIANA_SCALE_ZERO_ONE, 1, pixels, &found), &context->error);
    free(found);
    assert_fails(preprocess(LIANA_SCALE_TORCH, 1, pixels, &found), LIANA_INVALID_CONFIG, &context->error, "1 channels",
                 "'torch'", "data.scale");
    assert_fails(preprocess((liana_scale)99, 3, pixels, &found), LIANA_INVALID_ARGUMENT, &context->error, "99");
    assert_fails(preprocess((liana_scale)-1, 3, pixels, &found), LIANA_INVALID_ARGUMENT, &context->error, "-1");
}

static const char *read_text(const char *name)
{
    char *text = NULL;
    size_t size;
    assert_ok(liana__file_read(liana__test_path(name), 1 << 20, &text, &size, &error), &error);
    const char *copy = liana__arena_string(&arena, text);
    free(text);
    return copy;
}

/* `auto` is the base's own scale; the run keeps it, so that an evaluation of the run sees what training saw. */
static void test_the_run_keeps_the_scale_of_its_base(void **state)
{
    (void)state;
    static const char config[] = "data:\n"
                                 "  train: {images: train-images, labels: train-labels}\n"
                                 "  validation: {images: validation-images, labels: validation-labels}\n"
                                 "  channels: 3\n"
                                 "  num_classes: 4\n"
                                 "model: {base: ResNet50}\n"
                                 "train:\n"
                                 "  epochs: 1\n"
                                 "  batch_size: 8\n"
                                 "  optimizer: {name: SGD, learning_rate: 0.01}\n"
                                 "output: run\n";
    liana__test_tiny_data("train", 8, 1);
    liana__test_tiny_data("validation", 4, 2);
    const char *path = liana__arena_string(&arena, liana__test_write("config.yaml", config, sizeof config - 1));
    const char *run = liana__arena_string(&arena, liana__test_path("run"));
    assert_code(liana__test_command("train", path), 0);
    const char *resolved = read_text("run/config.yaml"), *history = read_text("run/history.json");
    assert_says(resolved, "scale: caffe\n");
    double loss = -1, again = -2;
    liana__test_result evaluated = liana__test_command("evaluate", run, "--json");
    assert_int_equal(sscanf(strstr(history, "\"val_loss\": "), "\"val_loss\": %lf", &loss), 1);
    assert_says(evaluated.out, "\"loss\":");
    assert_int_equal(sscanf(strstr(evaluated.out, "\"loss\":") + 7, "%lf", &again), 1);
    assert_near(loss, again, 1e-6 * loss);
    assert_code(evaluated, 0);
    assert_refused(liana__test_command("train", path, "data.channels=1", "output=other"), 2, "1 channels", "'caffe'");
    assert_refused(liana__test_command("train", path, "model.alpha=0.5", "output=other"), 2, "model.alpha", "ResNet50",
                   "no width multiplier");
}

/* ---- the command ---- */

static void test_summary_and_list(void **state)
{
    (void)state;
    static const char config[] = "data: {train: none.tfrec, image_size: [32, 32], channels: 3, num_classes: 1000}\n"
                                 "model: {base: DenseNet121, include_top: true}\n";
    const char *path = liana__test_write("config.yaml", config, sizeof config - 1);
    liana__test_result summary = liana__test_command("summary", path);
    assert_says(summary.out, "Model: \"densenet121\"");
    assert_says(summary.out, "conv5_block16_2_conv");
    assert_says(summary.out, "Total params: 8,062,504\n");
    assert_code(summary, 0);
    summary = liana__test_command("summary", path, "model.base=EfficientNetB0", "model.include_top=false",
                                  "data.num_classes=10");
    assert_says(summary.out, "Total params: 4,062,381\n"); /* 4,049,571 + 1280 * 10 + 10 */
    assert_code(summary, 0);
    assert_refused(liana__test_command("summary", path, "model.base=ResNet51"), 2, "ResNet51", "did you mean 'ResNet5");
    liana__test_result list = liana__test_command("list", "models");
    for (size_t i = 0; liana__architectures[i]; i++) {
        assert_says(list.out, liana__architectures[i]->name);
        assert_says(list.out, liana__architectures[i]->doc);
    }
    assert_says(list.out, "  input   parameters   GFLOP\n");
    assert_says(list.out, "224 x 224 x 3   25,636,712    7.72  residual");
    assert_code(list, 0);
    list = liana__test_command("list", "models", "ResNet50");
    assert_says(list.out, "    input: 224 x 224 x 3, parameters: 25,636,712, GFLOP: 7.72\n");
    assert_code(list, 0);
    list = liana__test_command("list", "models", "ResNet50", "--json");
    assert_says(list.out, "\"input_shape\": [224, 224, 3], \"parameters\": 25636712");
    assert_says(list.out, "\"trainable_parameters\": 25583592, \"flops\": 77");
    assert_code(list, 0);
}

/* ---- Dropout with a noise shape ---- */

/* Dropout of ones [batch, 2, 3, 4] in training, at the given positions. */
static float *drop(liana_ints noise_shape, const uint64_t *positions, int64_t batch)
{
    start_again();
    liana_input(model, .shape = LIANA_INTS(2, 3, 4));
    liana_dropout(model, .rate = 0.25, .noise_shape = noise_shape);
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(batch, 2, 3, 4));
    liana_tensor where = liana_graph_input(graph, "positions", LIANA_U64, liana_shape_of(batch));
    liana__model_mode mode = {.training = true, .positions = where, .seed = 8};
    liana_graph_output(graph, "y", liana__model_call(model, &x, &mode).outputs[0].value);
    assert_ok(liana_graph_status(graph), &context->error);
    float *ones = malloc((size_t)batch * 24 * sizeof *ones);
    for (int64_t i = 0; i < batch * 24; i++) ones[i] = 1;
    float **results = liana__test_graph_run(cpu, graph, model, NULL, (const void *const[]){ones, positions});
    float *result = results[0];
    free(results);
    free(ones);
    liana_graph_destroy(graph);
    return result;
}

static void test_dropout_of_whole_examples(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    uint64_t positions[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) positions[i] = 3 * i + 5;
    float *together = drop(LIANA_INTS(-1, 1, 1, 1), positions, COUNT);
    int dropped = 0;
    for (int i = 0; i < COUNT; i++) {
        dropped += together[i * 24] == 0;
        if (together[i * 24] != 0) assert_near(together[i * 24], 4 / 3.0f, 1e-6f, i);
        for (int k = 1; k < 24; k++) assert_compare(together[i * 24 + k], ==, together[i * 24], i, k);
    }
    assert_compare(dropped, >, 410);
    assert_compare(dropped, <, 590); /* 500, and 4.6 deviations */
    /* By position alone: another batch, another place in it. */
    const uint64_t some[3] = {positions[1200], positions[3], positions[77]};
    float *apart = drop(LIANA_INTS(-1, 1, 1, 1), some, 3);
    assert_compare(apart[0], ==, together[1200L * 24]);
    assert_compare(apart[24], ==, together[3 * 24]);
    assert_compare(apart[48], ==, together[77 * 24]);
    free(together);
    free(apart);
    /* One draw for each example and channel; all -1 is no sharing at all. */
    float *channels = drop(LIANA_INTS(-1, 1, 1, -1), positions, 40);
    float *every = drop(LIANA_INTS(-1, -1, -1, -1), positions, 40), *plain = drop((liana_ints){0}, positions, 40);
    int differ = 0;
    for (int i = 0; i < 40 * 24; i++) {
        assert_compare(channels[i], ==, channels[i / 24 * 24 + i % 4], i);
        differ += i % 4 > 0 && channels[i] != channels[i - 1];
    }
    assert_compare(differ, >, 100);
    assert_memory_equal(every, plain, 40 * 24 * sizeof *plain);
    free(channels);
    free(every);
    free(plain);
}

static void test_noise_shapes_that_make_no_sense(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(2, 3));
    liana_dropout(model, .rate = 0.5, .noise_shape = LIANA_INTS(1, 1, 1));
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "dropout.noise_shape", "found 1",
                 "expected -1");
    start_again();
    liana_input(model, .shape = LIANA_INTS(2, 3));
    liana_dropout(model, .rate = 0.5, .noise_shape = LIANA_INTS(-1, 0, 1));
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "dropout.noise_shape", "found 0");
    start_again();
    liana_input(model, .shape = LIANA_INTS(2, 3));
    liana_dropout(model, .rate = 0.5, .noise_shape = LIANA_INTS(-1, 1, 1, 1));
    assert_fails(liana_model_status(model), LIANA_INVALID_ARGUMENT, &context->error, "dropout", "[batch, 2, 3]",
                 "4 dimensions");
    start_again();
    liana_input(model, .shape = LIANA_INTS(2, 3));
    liana_dropout(model, .rate = 0.5, .noise_shape = LIANA_INTS(-1, 3, 1));
    assert_fails(liana_model_status(model), LIANA_INVALID_ARGUMENT, &context->error, "[batch, 2, 3]",
                 "the size 3 along axis 1", "noise_shape");
}

/* ---- Normalization ---- */

static void test_normalization(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(1, 2));
    liana_normalization(model);
    assert_ok(liana_model_status(model), &context->error);
    assert_int_equal(liana_model_info(model).num_parameters, 5);
    assert_int_equal(liana_model_info(model).num_trainable_parameters, 0);
    assert_string_equal(model->weights[0].name, "normalization/mean");
    assert_string_equal(model->weights[1].name, "normalization/variance");
    assert_string_equal(model->weights[2].name, "normalization/count");
    assert_int_equal(model->weights[2].shape.rank, 0);
    float mean[2] = {3, -1}, variance[2] = {4, 0}, count[1] = {17}, *weights[3] = {mean, variance, count};
    const float x[4] = {7, -1, 2, 1};
    float **results = liana__test_model_run(cpu, model, weights, x, 2);
    assert_compare(results[1][0], ==, 2);
    assert_compare(results[1][1], ==, 0);
    assert_compare(results[1][2], ==, -0.5f);
    assert_near(results[1][3] / 2e7f, 1, 1e-6f); /* 2 over the least deviation, 1e-7 */
    liana__test_free_arrays(results, 2);
    /* As nothing was learned yet, nothing changes. */
    float **fresh = liana__test_weights(model, 1);
    results = liana__test_model_run(cpu, model, fresh, x, 2);
    assert_memory_equal(results[1], x, sizeof x);
    liana__test_free_arrays(results, 2);
    liana__test_free_arrays(fresh, 3);
}

static void test_layer_names_that_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"", "/", "/a", "a/", "a//b", "a\nb", "optimizer/Adam/m/a"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        start_again();
        liana_input(model, .shape = LIANA_INTS(3));
        liana_dense(model, .units = 1, .name = names[i]);
        assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "the layer name");
    }
}

/* ---- weight files ---- */

#ifdef LIANA_HAVE_HDF5

/* Writes a model's weights as Keras does, the names of weights after `prefix`; into one layer of that name if `nested`.
 */
static const char *write_weights(float *const *values, const char *prefix, bool nested)
{
    liana__hdf5_new_layer *layers = liana__arena_allocate(&arena, model->num_layers * sizeof *layers);
    liana__hdf5_new_weight *weights = liana__arena_allocate(&arena, model->num_weights * sizeof *weights);
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        weights[i].name = liana__arena_format(&arena, "%s%s:0", prefix, weight->name);
        weights[i].rank = weight->shape.rank;
        memcpy(weights[i].shape, weight->shape.dims, sizeof weights[i].shape);
        weights[i].values = values[i];
    }
    for (size_t i = 0; i < model->num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        layers[i] = (liana__hdf5_new_layer){layer->name, weights + layer->first_weight, layer->num_weights};
    }
    const char *path = liana__arena_string(&arena, liana__test_path("weights.h5"));
    const liana__hdf5_new_layer all = {"backbone", weights, model->num_weights};
    assert_ok(liana__hdf5_write(path, nested ? &all : layers, nested ? 1 : model->num_layers, NULL, &error), &error);
    return path;
}

static void assert_same_weights(float *const *a, float *const *b)
{
    for (size_t i = 0; i < model->num_weights; i++) {
        size_t size = (size_t)liana_shape_size(&model->weights[i].shape) * sizeof(float);
        if (memcmp(a[i], b[i], size) != 0) fail_msg("'%s' is not as it was written", model->weights[i].name);
    }
}

/* "bn" is a layer, and so is "conv1/bn": neither takes the other's weights, whatever comes before their names. */
static void test_layer_names_with_slashes(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(3, 3, 2));
    liana_conv2d(model, .filters = 4, .kernel_size = 2, .name = "conv1/conv");
    liana_batch_normalization(model, .name = "conv1/bn");
    liana_batch_normalization(model, .name = "bn");
    assert_ok(liana_model_status(model), &context->error);
    float **values = liana__test_weights(model, 1);
    for (size_t i = 0; i < model->num_weights; i++) values[i][0] = (float)i + 0.5f;
    static const struct {
        const char *prefix;
        bool nested;
    } forms[] = {{"", false}, {"", true}, {"densenet121/", true}, {"outer/densenet121/", true}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        float **loaded = liana__test_weights(model, 9);
        liana__weights_report report;
        const char *path = write_weights(values, forms[i].prefix, forms[i].nested);
        assert_ok(liana__weights_load(model, path, model->num_layers, loaded, &arena, &report, &error), &error);
        assert_int_equal(report.num_weights, 10);
        assert_int_equal(report.unused.count, 0);
        assert_same_weights(loaded, values);
        liana__test_free_arrays(loaded, model->num_weights);
    }
    liana__test_free_arrays(values, model->num_weights);
}

/* Three convolutions of one shape, with a normalisation between; its layers have automatic names. */
static void build_numbered(void)
{
    start_again();
    liana_input(model, .shape = LIANA_INTS(6, 6, 4));
    liana_conv2d(model, .filters = 4, .kernel_size = 3, .use_bias = false);
    liana_batch_normalization(model, .scale = false);
    liana_conv2d(model, .filters = 4, .kernel_size = 3, .use_bias = false);
    liana_conv2d(model, .filters = 4, .kernel_size = 1, .use_bias = false);
    assert_ok(liana_model_status(model), &context->error);
}

/* Writes kernels of ones, twos and threes under the names, and the normalisation. */
static const char *write_numbered(const char *const names[3], const int64_t sides[3])
{
    static float kernels[3][144], statistics[3][4];
    liana__hdf5_new_weight weights[3], normalization[3];
    liana__hdf5_new_layer layers[4];
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 144; k++) kernels[i][k] = (float)(i + 1);
        weights[i] = (liana__hdf5_new_weight){.name = liana__arena_format(&arena, "%s/kernel:0", names[i]),
                                              .rank = 4,
                                              .shape = {sides[i], sides[i], 4, 4},
                                              .values = kernels[i]};
        normalization[i] =
            (liana__hdf5_new_weight){.name = liana__arena_format(&arena, "batch_normalization_5/w%zu", i),
                                     .rank = 1,
                                     .shape = {4},
                                     .values = statistics[i]};
        layers[i] = (liana__hdf5_new_layer){names[i], &weights[i], 1};
    }
    layers[3] = (liana__hdf5_new_layer){"batch_normalization_5", normalization, 3};
    const char *path = liana__arena_string(&arena, liana__test_path("numbered.h5"));
    assert_ok(liana__hdf5_write(path, layers, 4, NULL, &error), &error);
    return path;
}

/* In the order of the numbers, not of the file, and not of the text: 9 is before 10. */
static void test_automatic_names_are_taken_in_order(void **state)
{
    (void)state;
    static const int64_t sides[3] = {1, 3, 3};
    build_numbered();
    float **loaded = liana__test_weights(model, 9);
    liana__weights_report report;
    const char *path = write_numbered((const char *const[3]){"conv2d_11", "conv2d_9", "conv2d_10"}, sides);
    assert_ok(liana__weights_load(model, path, model->num_layers, loaded, &arena, &report, &error), &error);
    assert_int_equal(report.num_weights, 6);
    assert_int_equal(report.unused.count, 0);
    assert_compare(loaded[liana__model_find_weight(model, "conv2d/kernel")][143], ==, 2);
    assert_compare(loaded[liana__model_find_weight(model, "conv2d_1/kernel")][0], ==, 3);
    assert_compare(loaded[liana__model_find_weight(model, "conv2d_2/kernel")][15], ==, 1);
    /* Names that are all there mean what they say: two of them are exchanged in the file. */
    path = write_numbered((const char *const[3]){"conv2d_2", "conv2d_1", "conv2d"}, sides);
    assert_ok(liana__weights_load(model, path, model->num_layers, loaded, &arena, &report, &error), &error);
    assert_compare(loaded[liana__model_find_weight(model, "conv2d/kernel")][143], ==, 3);
    assert_compare(loaded[liana__model_find_weight(model, "conv2d_1/kernel")][0], ==, 2);
    /* Where a shape differs, or a name is no number, they are no such names. */
    path = write_numbered((const char *const[3]){"conv2d_9", "conv2d_10", "conv2d_11"}, sides);
    assert_fails(liana__weights_load(model, path, model->num_layers, loaded, &arena, &report, &error),
                 LIANA_INVALID_DATA, &error, "3 of the model's 4 layers", "conv2d (the nearest there is 'conv2d_9')");
    path = write_numbered((const char *const[3]){"conv2d_11", "conv2d_09", "conv2d_10"}, sides);
    assert_fails(liana__weights_load(model, path, model->num_layers, loaded, &arena, &report, &error),
                 LIANA_INVALID_DATA, &error, "3 of the model's 4 layers");
    liana__test_free_arrays(loaded, model->num_weights);
}

/* Keras keeps `count` as a 64-bit whole number without dimensions. */
static void make_count_an_integer(const char *path)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const char *name = "normalization/normalization/count:0";
    assert_compare(file, >=, 0);
    assert_compare(H5Ldelete(file, name, H5P_DEFAULT), >=, 0);
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t count = H5Dcreate2(file, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const int64_t value = 1281167;
    assert_compare(count, >=, 0);
    assert_compare(H5Dwrite(count, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value), >=, 0);
    H5Dclose(count);
    H5Sclose(space);
    H5Fclose(file);
}

/* A file with Keras's own top, under a new head, of which only the last stage is trained. */
static void test_fine_tuning_an_efficientnet(void **state)
{
    (void)state;
    liana_efficientnet_b0(model, .input_shape = LIANA_INTS(32, 32, 3), .classes = 10);
    float **values = liana__test_weights(model, 4);
    const char *path = write_weights(values, "", false);
    make_count_an_integer(path);
    size_t num_weights = model->num_weights;
    liana_model *with_top = model;
    model = NULL;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_efficientnet_b0(model, .input_shape = LIANA_INTS(32, 32, 3), .include_top = false);
    size_t backbone = model->num_layers;
    liana__head_add(model, LIANA_HERE, 0.1, LIANA_POOLING_AVG, 3);
    float **loaded = liana__test_weights(model, 5);
    liana__weights_report report;
    assert_ok(liana__weights_load(model, path, backbone, loaded, &arena, &report, &error), &error);
    assert_int_equal(report.num_weights, num_weights - 2);
    assert_int_equal(report.missing.count, 1);
    assert_string_equal(report.missing.items[0], "classifier");
    assert_int_equal(report.unused.count, 1);
    assert_string_equal(report.unused.items[0], "predictions");
    assert_compare(loaded[liana__model_find_weight(model, "normalization/count")][0], ==, 1281167);
    int kernel = liana__model_find_weight(model, "block4a_se_expand/kernel");
    assert_memory_equal(loaded[kernel], values[liana__model_find_weight(with_top, "block4a_se_expand/kernel")],
                        10L * 240 * sizeof(float));
    assert_ok(liana__model_train_from(model, "block7a_expand_conv", &error), &error);
    /* Stage 7 of width 192 -> 1152 -> 320, the top convolution and the new head. */
    int64_t stage =
        192 * 1152 + 2 * 1152 + 9 * 1152 + 2 * 1152 + (1152 * 48 + 48) + (48 * 1152 + 1152) + 1152 * 320 + 2 * 320;
    assert_int_equal(liana_model_info(model).num_trainable_parameters, stage + 320 * 1280 + 2 * 1280 + 1280 * 3 + 3);
    const char *folder = liana__arena_string(&arena, liana__test_path("saved"));
    assert_ok(liana_model_load_weights(model, path, true), &context->error);
    assert_ok(liana_model_save(model, folder), &context->error);
    liana_model *again;
    assert_ok(liana_model_load(context, folder, &again), &context->error);
    assert_int_equal(liana_model_info(again).num_parameters, liana_model_info(model).num_parameters);
    assert_compare(again->values[liana__model_find_weight(again, "normalization/count")][0], ==, 1281167);
    const liana_dropout_options *dropout = again->layers[liana__model_find_layer(again, "block6d_drop")].options;
    assert_int_equal(dropout->noise_shape.count, 4);
    assert_int_equal(dropout->noise_shape.values[0], -1);
    assert_int_equal(dropout->noise_shape.values[3], 1);
    liana_model_destroy(again);
    liana__test_free_arrays(loaded, model->num_weights);
    liana__test_free_arrays(values, num_weights);
    liana_model_destroy(with_top);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_resnet_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_resnet_v2_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_densenet_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_efficientnet_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mobilenet_v3_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_inception_v3_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_efficientnet_v2_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_convnext_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_preprocessing_of_keras, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_preprocessing_refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_run_keeps_the_scale_of_its_base, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_summary_and_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dropout_of_whole_examples, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_noise_shapes_that_make_no_sense, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_normalization, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_layer_names_that_are_refused, set_up, tear_down),
#ifdef LIANA_HAVE_HDF5
        cmocka_unit_test_setup_teardown(test_layer_names_with_slashes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_automatic_names_are_taken_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fine_tuning_an_efficientnet, set_up, tear_down),
#endif
    };
    return cmocka_run_group_tests_name("model_zoo", tests, NULL, NULL);
}
