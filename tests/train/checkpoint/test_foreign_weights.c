/* Weights that other programs wrote: TensorFlow's checkpoints, and PyTorch's safetensors; and what is never read. */
#include "harness/peers.h"

#include "base/file.h"
#include "base/text.h"
#include "harness/command_run.h"
#include "harness/model_run.h"
#include "models/models.h"
#include "samples/tf_checkpoints.h"
#include "train/checkpoint/warm_start.h"
#include "train/checkpoint/weights.h"

#include <liana/train.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static liana_context *context;
static liana_model *model;
static liana__arena arena;
static liana__error error;
static liana__weights_report report;

static int set_up(void **state)
{
    (void)state;
    liana__test_folder();
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

/* Whether element i of a weight is first + i / 8, as in the samples. */
static void assert_sample(const char *name, float first)
{
    liana_array array;
    assert_int_equal(liana_model_get_weights(model, name, &array), LIANA_OK);
    const float *values = array.data;
    for (int64_t i = 0; i < liana_shape_size(&array.shape); i++) assert_compare(values[i], ==, first + (float)i / 8, i);
}

static void done(liana_status status)
{
    if (status != LIANA_OK) fail_msg("%s", liana_context_message(context));
}

/* ---- TensorFlow ---- */

#define WRITE_PAIR(name)                                                               \
    (liana__test_write(#name ".data-00000-of-00001", name##_data, sizeof name##_data), \
     (void)liana__test_write(#name ".index", name##_index, sizeof name##_index))

static void test_warm_start_by_names_of_objects(void **state)
{
    (void)state;
    WRITE_PAIR(objects);
    liana_input(model, .shape = LIANA_INTS(3));
    liana_dense(model, .units = 2, .name = "one");
    liana_layer same = liana_dense(model, .units = 3, .name = "between");
    liana_dense(model, .units = 2, .name = "two", .input = same);
    done(liana_model_status(model));
    liana_warm_report told;
    const char *listing = liana__test_path("listing.csv");
    /* TensorFlow's name of a checkpoint is no file. "two" is the end of "model/two". */
    const liana_warm_start_options options = {.from = liana__test_path("objects"),
                                              .skip = {"between"},
                                              .listing = listing};
    done(liana_model_warm_start(model, &options, &told));
    assert_sample("one/kernel", 1);
    assert_sample("one/bias", 2);
    assert_sample("two/kernel", 3);
    assert_sample("two/bias", 4);
    assert_int_equal(told.matched, 4);
    /* layers/2 and layers/3; not what the optimizer keeps, nor the graph. */
    assert_int_equal(told.unused, 4);
    char *text;
    size_t size;
    assert_ok(liana__file_read(listing, 1 << 20, &text, &size, &error), &error);
    assert_says(text, "matched,\"two/kernel\",\"model/two/kernel\",\"[3, 2]\"");
    assert_says(text, "unused,\"\",\"layers/3/bias\",\"[2]\"");
    assert_never_says(text, "momentum");
    free(text);
    const liana_warm_start_options mapped = {.from = liana__test_path("objects.index"),
                                             .map = {{"one", "layers/3"}, {"two", "layers/2"}},
                                             .skip = {"between"}};
    done(liana_model_warm_start(model, &mapped, NULL));
    assert_sample("one/kernel", 7);
    assert_sample("two/bias", 6);
    const liana_warm_start_options wrong = {.from = liana__test_path("objects"), .map = {{"one", "same"}}};
    assert_int_equal(liana_model_warm_start(model, &wrong, NULL), LIANA_INVALID_DATA);
    assert_says(liana_context_message(context), "one/kernel (as 'same/kernel'");
}

static void test_warm_start_by_flat_names(void **state)
{
    (void)state;
    WRITE_PAIR(flat);
    liana_input(model, .shape = LIANA_INTS(4));
    liana_dense(model, .units = 3, .name = "fc");
    liana_warm_report told;
    const liana_warm_start_options options = {.from = liana__test_path("flat"),
                                              .map = {{"*/kernel", "Net/*/weights"}, {"*/bias", "Net/*/biases"}}};
    done(liana_model_warm_start(model, &options, &told));
    assert_sample("fc/kernel", 1);
    assert_sample("fc/bias", 2);
    assert_int_equal(told.matched, 2);
    assert_int_equal(told.unused, 10);
    const liana_warm_start_options plain = {.from = liana__test_path("flat")};
    assert_int_equal(liana_model_warm_start(model, &plain, NULL), LIANA_INVALID_DATA);
    assert_says(liana_context_message(context), "fc/kernel");
    assert_says(liana_context_message(context), "say in map");
}

static void test_weights_of_a_saved_model(void **state)
{
    (void)state;
    assert_ok(liana__folder_make(liana__test_path("saved/variables"), &error), &error);
    liana__test_write("saved/variables/variables.index", export_index, sizeof export_index);
    liana__test_write("saved/variables/variables.data-00000-of-00001", export_data, sizeof export_data);
    liana_input(model, .shape = LIANA_INTS(2));
    liana_dense(model, .units = 3, .name = "dense");
    done(liana_model_load_weights(model, liana__test_path("saved"), false));
    assert_sample("dense/kernel", 1);
    assert_sample("dense/bias", 2);
}

/* ---- PyTorch's tensors ---- */

static float numbers[256];

static liana__safetensors_tensor tensor(const char *name, int rank, int64_t a, int64_t b, int64_t c, int64_t d)
{
    for (int i = 0; i < 256; i++) numbers[i] = (float)i;
    return (liana__safetensors_tensor){
        .name = name, .dtype = LIANA__SAFETENSORS_F32, .rank = rank, .shape = {a, b, c, d}, .data = numbers};
}

static const float *weight_of(const char *name)
{
    liana_array array;
    assert_int_equal(liana_model_get_weights(model, name, &array), LIANA_OK);
    return array.data;
}

/* A kernel [out, in, height, width] is [height, width, in, out] here: the indices of each element are followed. */
static void test_layouts_of_modules(void **state)
{
    (void)state;
    const liana__safetensors_tensor tensors[] = {
        tensor("net.conv.weight", 4, 3, 2, 2, 2),
        tensor("net.conv.bias", 1, 3, 0, 0, 0),
        tensor("net.depth.weight", 4, 3, 1, 2, 2),
        tensor("net.norm.weight", 1, 3, 0, 0, 0),
        tensor("net.norm.bias", 1, 3, 0, 0, 0),
        tensor("net.norm.running_mean", 1, 3, 0, 0, 0),
        tensor("net.norm.running_var", 1, 3, 0, 0, 0),
        tensor("fc.weight", 2, 4, 3, 0, 0),
        tensor("fc.bias", 1, 4, 0, 0, 0),
    };
    const liana__safetensors_contents file = {.tensors = tensors, .num_tensors = sizeof tensors / sizeof *tensors};
    const char *path = liana__test_path("net.safetensors");
    assert_ok(liana__safetensors_write(path, &file, false, NULL, &error), &error);
    liana_input(model, .shape = LIANA_INTS(4, 4, 2));
    liana_conv2d(model, .filters = 3, .kernel_size = 2, .name = "conv");
    liana_depthwise_conv2d(model, .kernel_size = 2, .use_bias = false, .name = "depth");
    liana_batch_normalization(model, .name = "norm");
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = 4, .name = "head");
    liana_warm_report told;
    const liana_warm_start_options options = {.from = path, .map = {{"*", "net.*"}, {"head", "fc"}}};
    done(liana_model_warm_start(model, &options, &told));
    assert_int_equal(told.matched, 9);
    assert_int_equal(told.unused, 0);
    const float *kernel = weight_of("conv/kernel"), *depth = weight_of("depth/depthwise_kernel");
    for (int out = 0; out < 3; out++) {
        for (int in = 0; in < 2; in++) {
            for (int place = 0; place < 4; place++) {
                assert_compare(kernel[(place * 2 + in) * 3 + out], ==, (out * 2 + in) * 4 + place, out, in, place);
            }
        }
        for (int place = 0; place < 4; place++) assert_compare(depth[place * 3 + out], ==, out * 4 + place, out, place);
    }
    const float *head = weight_of("head/kernel");
    for (int out = 0; out < 4; out++) {
        for (int in = 0; in < 3; in++) assert_compare(head[in * 4 + out], ==, out * 3 + in, out, in);
    }
    for (int i = 0; i < 3; i++) {
        assert_compare(weight_of("norm/gamma")[i], ==, i);
        assert_compare(weight_of("norm/moving_variance")[i], ==, i);
    }
}

/* Input [2, 3, 2]: PyTorch has it as [channel, y, x], and its flattened value c * 6 + y * 3 + x is (y * 3 + x) * 2 + c
 * here. */
static void test_order_behind_flatten(void **state)
{
    (void)state;
    const liana__safetensors_tensor tensors[] = {
        tensor("norm.weight", 1, 12, 0, 0, 0),       tensor("norm.bias", 1, 12, 0, 0, 0),
        tensor("norm.running_mean", 1, 12, 0, 0, 0), tensor("norm.running_var", 1, 12, 0, 0, 0),
        tensor("fc.weight", 2, 4, 12, 0, 0),         tensor("fc.bias", 1, 4, 0, 0, 0),
        tensor("last.weight", 2, 12, 4, 0, 0),       tensor("last.bias", 1, 12, 0, 0, 0),
    };
    const liana__safetensors_contents file = {.tensors = tensors, .num_tensors = sizeof tensors / sizeof *tensors};
    const char *path = liana__test_path("flat.safetensors");
    assert_ok(liana__safetensors_write(path, &file, false, NULL, &error), &error);
    liana_input(model, .shape = LIANA_INTS(2, 3, 2));
    liana_flatten(model);
    liana_batch_normalization(model, .name = "norm");
    liana_dropout(model, .rate = 0.5);
    liana_dense(model, .units = 4, .name = "fc");
    liana_dense(model, .units = 12, .name = "last");
    done(liana_model_load_weights(model, path, false));
    for (int c = 0; c < 2; c++) {
        for (int place = 0; place < 6; place++) {
            const int here = place * 2 + c, there = c * 6 + place;
            assert_compare(weight_of("norm/moving_mean")[here], ==, there, c, place);
            for (int k = 0; k < 4; k++) {
                assert_compare(weight_of("fc/kernel")[here * 4 + k], ==, k * 12 + there, c, place, k);
            }
        }
    }
    for (int i = 0; i < 12; i++) assert_compare(weight_of("last/bias")[i], ==, i);
    for (int i = 0; i < 4; i++) assert_compare(weight_of("fc/bias")[i], ==, i);
}

static void test_half_precision(void **state)
{
    (void)state;
    static const uint16_t half[] = {0x3c00, 0xc100, 0x0001}, brain[] = {0x3f80, 0xc020, 0x4049};
    static const double wide[] = {0.1, -2, 1e-3};
    liana__safetensors_tensor one = {.name = "d/kernel", .rank = 2, .shape = {1, 3}};
    const liana__safetensors_contents file = {.tensors = &one, .num_tensors = 1};
    const struct {
        liana__safetensors_dtype dtype;
        const void *data;
        float expected[3];
    } cases[] = {
        {LIANA__SAFETENSORS_F16, half, {1, -2.5f, 0x1p-24f}},
        {LIANA__SAFETENSORS_BF16, brain, {1, -2.5f, 3.140625f}},
        {LIANA__SAFETENSORS_F64, wide, {0.1f, -2, 1e-3f}},
    };
    liana_input(model, .shape = LIANA_INTS(1));
    liana_dense(model, .units = 3, .use_bias = false, .name = "d");
    const char *path = liana__test_path("half.safetensors");
    for (size_t i = 0; i < 3; i++) {
        one.dtype = cases[i].dtype;
        one.data = cases[i].data;
        assert_ok(liana__safetensors_write(path, &file, false, NULL, &error), &error);
        done(liana_model_load_weights(model, path, false));
        for (int k = 0; k < 3; k++) assert_compare(weight_of("d/kernel")[k], ==, cases[i].expected[k], i, k);
    }
}

/* ---- pickles ---- */

static void test_pickles_are_never_read(void **state)
{
    (void)state;
    static const char archive[] = "PK\3\4\0\0\10\10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                  "\20\0\0\0archive/data.pklFB";
    static const char older[] = "\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\2M\xe9\3.";
    static const char plain[] = "\x80\4\x95\xa8\0\0\0\0\0\0\0}\x94\x8c\1a";
    const struct {
        const char *name, *bytes;
        size_t size;
    } cases[] = {{"a.pth", archive, sizeof archive - 1},
                 {"b.pt", older, sizeof older - 1},
                 {"pytorch_model.bin", plain, sizeof plain - 1}};
    liana_input(model, .shape = LIANA_INTS(1));
    liana_dense(model, .units = 3, .name = "d");
    for (size_t i = 0; i < 3; i++) {
        const char *path = liana__test_write(cases[i].name, cases[i].bytes, cases[i].size);
        assert_int_equal(liana_model_load_weights(model, path, false), LIANA_UNIMPLEMENTED);
        assert_says(liana_context_message(context), cases[i].name);
        assert_says(liana_context_message(context), "can run any program");
        assert_says(liana_context_message(context), "safetensors.torch.save_file(");
    }
}

/* Where a model is expected, weights are told from models. */
static void test_weights_are_no_models(void **state)
{
    (void)state;
    char saved[256], pickle[256], checkpoint[256];
    snprintf(saved, sizeof saved, "%s", liana__test_path("saved"));
    assert_ok(liana__folder_make(saved, &error), &error);
    liana__test_write("saved/saved_model.pb", "\10\1", 2);
    snprintf(pickle, sizeof pickle, "%s", liana__test_write("model.pt", "\x80\2}q\0.", 6));
    WRITE_PAIR(flat);
    snprintf(checkpoint, sizeof checkpoint, "%s", liana__test_path("flat"));
    const struct {
        const char *path, *said;
    } cases[] = {{saved, "model.save('model.keras')"}, {pickle, "can run any program"}, {checkpoint, "no layers"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana_model *read = NULL;
        assert_int_equal(liana_model_load(context, cases[i].path, &read), LIANA_UNIMPLEMENTED);
        assert_says(liana_context_message(context), cases[i].path);
        assert_says(liana_context_message(context), cases[i].said);
        assert_int_equal(liana_model_load_architecture(context, cases[i].path, &read), LIANA_UNIMPLEMENTED);
        assert_says(liana_context_message(context), cases[i].said);
        liana__test_result said = liana__test_command("summary", cases[i].path);
        assert_int_equal(said.code, 1);
        assert_says(said.err, cases[i].said);
        said = liana__test_command("evaluate", "--model", cases[i].path, "--data", "x.csv");
        assert_says(said.err, cases[i].said);
    }
}

/* ---- networks of torchvision and timm ---- */

/* Runs a script of this folder by a peer's Python, and returns the folder that it has filled. */
static const char *run_script(const char *python, const char *modules, const char *script)
{
    static char folder[2100];
    char command[9000];
    snprintf(folder, sizeof folder, "%s", liana__test_path("written"));
    assert_ok(liana__folder_make(folder, &error), &error);
    snprintf(command, sizeof command,
             "PYTHONPATH='%s' '%s/bin/python' -W ignore '" LIANA_SOURCE_DIR "/tests/train/checkpoint/%s' '%s' >&2",
             modules, python, script, folder);
    const int status = system(command);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) fail_msg("%s failed", script);
    return folder;
}

/* The model with these values makes of FOLDER/NAME.input what is in FOLDER/NAME.output. */
static void assert_answers(const char *folder, const char *name, float *const *values)
{
    char path[4096], *input, *output;
    size_t input_size, output_size;
    liana__device *device;
    snprintf(path, sizeof path, "%s/%s.input", folder, name);
    assert_ok(liana__file_read(path, 1 << 28, &input, &input_size, &error), &error);
    snprintf(path, sizeof path, "%s/%s.output", folder, name);
    assert_ok(liana__file_read(path, 1 << 28, &output, &output_size, &error), &error);
    liana_shape shape = liana__model_input_shape(model);
    shape.dims[0] = 2;
    assert_int_equal(input_size, (size_t)liana_shape_size(&shape) * sizeof(float));
    assert_int_equal(output_size, 20 * sizeof(float));
    assert_ok(liana__device_open(context, "cpu", &device, &error), &error);
    float **results = liana__test_model_run(device, model, values, (const float *)input, 2);
    const float *expected = (const float *)output, *found = results[model->num_layers - 1];
    for (size_t i = 0; i < 20; i++) assert_near(found[i], expected[i], 1e-4, i);
    liana__test_free_arrays(results, model->num_layers);
    liana__device_close(device);
    free(input);
    free(output);
}

static void assert_network(const char *folder, const char *name, const char *architecture, int64_t size)
{
    char path[4096];
    liana_model_destroy(model);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana__value *options = liana__value_map(&arena), *shape = liana__value_list(&arena);
    for (int i = 0; i < 3; i++) liana__value_add(&arena, shape, liana__value_int(&arena, i < 2 ? size : 3));
    liana__value_set(&arena, options, "input_shape", shape);
    liana__value_set(&arena, options, "classes", liana__value_int(&arena, 10));
    done(liana__architecture_add(model, LIANA_HERE, liana__architecture_find(architecture, NULL), options, "model"));
    float **values = liana__test_weights(model, 1);
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    assert_ok(liana__weights_load(model, path, model->num_layers, values, &arena, &report, &error), &error);
    assert_int_equal(report.missing.count, 0);
    assert_int_equal(report.unused.count, 0);
    assert_answers(folder, name, values);
    liana__test_free_arrays(values, model->num_weights);
}

/* The second Rescaling is for Keras's own weights. */
static void refuse_rescaling(const char *folder)
{
    char path[4096];
    liana_model_destroy(model);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_efficientnet_b0(model, .classes = 10, .imagenet_rescaling = true);
    done(liana_model_status(model));
    snprintf(path, sizeof path, "%s/tf_efficientnet_b0.safetensors", folder);
    float **values = liana__test_weights(model, 1);
    error = (liana__error){0};
    assert_fails(liana__weights_load(model, path, model->num_layers, values, &arena, &report, &error),
                 LIANA_INVALID_CONFIG, &error, path, "imagenet_rescaling: no");
    liana__test_free_arrays(values, model->num_weights);
}

static void refuse_network(const char *folder, const char *name, const char *architecture, const char *said)
{
    char path[4096];
    liana_model_destroy(model);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    done(liana__architecture_add(model, LIANA_HERE, liana__architecture_find(architecture, NULL), NULL, "model"));
    snprintf(path, sizeof path, "%s/%s", folder, name);
    float **values = liana__test_weights(model, 1);
    error = (liana__error){0};
    if (liana__weights_load(model, path, 0, values, &arena, &report, &error) == LIANA_OK) fail_msg("%s is read", name);
    assert_says(error.message, name);
    assert_says(error.message, said);
    liana__test_free_arrays(values, model->num_weights);
}

static void test_networks(void **state)
{
    (void)state;
    char torch[2048];
    const char *found = liana__test_peer("torch");
    if (!found) skip();
    snprintf(torch, sizeof torch, "%s", found);
    found = liana__test_peer("networks");
    if (!found) skip();
    const char *folder = run_script(torch, found, "torch_networks.py");
    assert_network(folder, "densenet121", "DenseNet121", 64);
    assert_network(folder, "densenet121_old", "DenseNet121", 64);
    assert_network(folder, "densenet169_timm", "DenseNet169", 64);
    assert_network(folder, "densenet201_f16", "DenseNet201", 33);
    assert_null(report.note);
    assert_network(folder, "tf_efficientnet_b0", "EfficientNetB0", 64);
    assert_says(report.note, "read as tf_efficientnet");
    assert_network(folder, "hub/model", "EfficientNetB0", 64);
    assert_null(report.note);
    assert_network(folder, "tf_efficientnet_b1_bf16", "EfficientNetB1", 75);
    assert_network(folder, "tf_efficientnet_b3", "EfficientNetB3", 48);
    refuse_rescaling(folder);
    refuse_network(folder, "resnet50.safetensors", "ResNet50", "v1.5");
    refuse_network(folder, "resnet50_timm.safetensors", "ResNet50", "v1.5");
    refuse_network(folder, "resnetv2_50_timm.safetensors", "ResNet50V2", "strides in other blocks");
    refuse_network(folder, "mobilenet_v2.safetensors", "MobileNetV2", "pads both sides");
    refuse_network(folder, "mobilenetv2_100_timm.safetensors", "MobileNetV2", "pads both sides");
    refuse_network(folder, "efficientnet_b0.safetensors", "EfficientNetB0", "pads both sides");
    refuse_network(folder, "other/model.safetensors", "EfficientNetB0", "config.json");
    refuse_network(folder, "network.pth", "DenseNet121", "can run any program");
    refuse_network(folder, "old.pt", "DenseNet121", "can run any program");
}

/* ---- a model of Keras, saved in all ways ---- */

static void test_checkpoints_of_tensorflow(void **state)
{
    (void)state;
    const char *found = liana__test_peer("tensorflow");
    if (!found) skip();
    const char *folder = run_script(found, "", "tensorflow_checkpoints.py");
    liana_mobilenet(model, .input_shape = LIANA_INTS(64, 64, 3), .alpha = 0.25, .classes = 10);
    done(liana_model_status(model));
    const char *const names[] = {"objects",
                                 "objects/ckpt-1",
                                 "exported",
                                 "saved",
                                 "saved/variables/variables.index",
                                 "older",
                                 "older/weights.data-00000-of-00001",
                                 "older_saved"};
    char path[4096];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        float **values = liana__test_weights(model, 1);
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_ok(liana__weights_load(model, path, model->num_layers, values, &arena, &report, &error), &error);
        assert_int_equal(report.missing.count, 0);
        /* The state of a Dropout's random numbers is a variable too. */
        for (size_t k = 0; k < report.unused.count; k++) assert_says(report.unused.items[k], "seed_generator");
        assert_answers(folder, "keras", values);
        liana__test_free_arrays(values, model->num_weights);
    }
    /* The names of slim's MobileNet, as the documents say. */
    snprintf(path, sizeof path, "%s/slim", folder);
    const liana_warm_start_options options = {
        .from = path,
        .map = {{"conv1/kernel", "MobilenetV1/Conv2d_0/weights"},
                {"conv_dw_*/depthwise_kernel", "MobilenetV1/Conv2d_*_depthwise/depthwise_weights"},
                {"conv_pw_*/kernel", "MobilenetV1/Conv2d_*_pointwise/weights"},
                {"conv1_bn", "MobilenetV1/Conv2d_0/BatchNorm"},
                {"conv_dw_*_bn", "MobilenetV1/Conv2d_*_depthwise/BatchNorm"},
                {"conv_pw_*_bn", "MobilenetV1/Conv2d_*_pointwise/BatchNorm"},
                {"conv_preds/kernel", "MobilenetV1/Logits/Conv2d_1c_1x1/weights"},
                {"conv_preds/bias", "MobilenetV1/Logits/Conv2d_1c_1x1/biases"}},
    };
    liana_warm_report told;
    done(liana_model_warm_start(model, &options, &told));
    assert_int_equal(told.matched, 137);
    assert_int_equal(told.unused, 0);
    assert_answers(folder, "keras", model->values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_warm_start_by_names_of_objects, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_warm_start_by_flat_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_weights_of_a_saved_model, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_layouts_of_modules, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order_behind_flatten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_half_precision, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pickles_are_never_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_weights_are_no_models, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_networks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_checkpoints_of_tensorflow, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
