/* Layers models of TensorFlow.js: the folder that liana writes, and its predictions there. */
#include "harness/command_run.h"

#include "base/file.h"
#include "base/scoped.h"
#include "formats/json.h"
#include "harness/one_context.h"
#include "harness/peers.h"
#include "layers/model.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static liana__arena arena;

static liana_model *begin(const char *name)
{
    liana_model *model;
    assert_ok(liana_model_create(context, name, &model), &context->error);
    return model;
}

/* Weights as no training leaves them at their defaults. */
static void fill(liana_model *model)
{
    assert_ok(liana_model_status(model), &context->error);
    for (size_t w = 0; w < model->num_weights; w++) {
        const liana__weight *weight = &model->weights[w];
        const bool positive = strstr(weight->short_name, "variance") || strcmp(weight->short_name, "gamma") == 0;
        const size_t count = (size_t)liana_shape_size(&weight->shape);
        float *values = malloc(count * sizeof *values);
        for (size_t k = 0; k < count; k++) {
            values[k] = (float)sin((double)(k * 0.7 + (double)w * 1.3)) * 0.5F + (positive ? 1 : 0);
        }
        const liana_array array = {.name = weight->name, .dtype = LIANA_F32, .shape = weight->shape, .data = values};
        assert_ok(liana_model_set_weights(model, &array, 1), &context->error);
        free(values);
    }
}

static const liana__value *read_json(const char *folder, const char *name)
{
    liana__value *value;
    const char *path = liana__path_join(&arena, liana__test_path(folder), name);
    assert_ok(liana__json_read(path, &arena, &value, &context->error), &context->error);
    return value;
}

static const liana__value *at(const liana__value *value, const char *key)
{
    const liana__value *item = liana__value_get(value, key);
    if (!item) fail_msg("no '%s'", key);
    return item;
}

/* The config of a layer of the model that a folder has. */
static const liana__value *find_layer(const char *folder, const char *name, const char **class_name)
{
    const liana__value *model = at(at(read_json(folder, "model.json"), "modelTopology"), "model_config");
    const liana__value *layers = at(at(model, "config"), "layers");
    for (size_t i = 0; i < layers->count; i++) {
        const liana__value *config = at(layers->items[i], "config");
        if (strcmp(at(config, "name")->string, name) != 0) continue;
        *class_name = at(layers->items[i], "class_name")->string;
        return config;
    }
    fail_msg("no layer '%s'", name);
    return NULL;
}

/* ---- the folder ---- */

/* 10.4 MB of weights: three shards, and a weight that lies in two of them. */
static liana_model *build_wide(void)
{
    liana_model *model = begin("wide");
    liana_input(model, .shape = LIANA_INTS(1300));
    liana_dense(model, .units = 1400, .name = "a", .activation = "relu");
    liana_dense(model, .units = 560, .name = "b");
    liana_dense(model, .units = 3, .name = "c", .activation = "softmax");
    fill(model);
    return model;
}

/* All shards, one after the other, are the weights in the order of the manifest. */
static void check_shards(const liana_model *model, const char *folder, const size_t *sizes, size_t num_sizes)
{
    const liana__value *root = read_json(folder, "model.json");
    assert_string_equal(at(root, "format")->string, "layers-model");
    assert_compare(at(root, "weightsManifest")->count, ==, 1);
    const liana__value *group = at(root, "weightsManifest")->items[0], *weights = at(group, "weights");
    assert_compare(at(group, "paths")->count, ==, num_sizes);
    LIANA__SCOPED(liana__text) all = {0};
    for (size_t i = 0; i < num_sizes; i++) {
        char name[64], *bytes;
        size_t size;
        snprintf(name, sizeof name, "group1-shard%zuof%zu.bin", i + 1, num_sizes);
        assert_string_equal(at(group, "paths")->items[i]->string, name);
        const char *path = liana__path_join(&arena, liana__test_path(folder), name);
        assert_ok(liana__file_read(path, 1 << 23, &bytes, &size, &context->error), &context->error);
        assert_compare(size, ==, sizes[i], i);
        liana__text_add_bytes(&all, bytes, size);
        free(bytes);
    }
    size_t place = 0;
    assert_compare(weights->count, ==, model->num_weights);
    for (size_t w = 0; w < model->num_weights; w++) {
        const liana__weight *weight = &model->weights[w];
        const size_t size = 4 * (size_t)liana_shape_size(&weight->shape);
        assert_string_equal(at(weights->items[w], "name")->string, weight->name);
        assert_string_equal(at(weights->items[w], "dtype")->string, "float32");
        assert_compare(at(weights->items[w], "shape")->count, ==, (size_t)weight->shape.rank);
        assert_memory_equal(all.data + place, model->values[w], size);
        place += size;
    }
    assert_compare(place, ==, all.length);
}

static void test_weights_lie_in_shards(void **state)
{
    (void)state;
    liana__test_folder();
    liana_model *model = build_wide();
    const size_t total = 4 * (1300 * 1400 + 1400 + 1400 * 560 + 560 + 560 * 3 + 3);
    assert_ok(liana_model_save(model, liana__test_path("wide.tfjs")), &context->error);
    check_shards(model, "wide.tfjs", (const size_t[]){4 << 20, 4 << 20, total - (8 << 20)}, 3);
    struct stat info;
    assert_int_equal(stat(liana__test_path("wide.tfjs"), &info), 0);
    const mode_t mask = umask(0);
    umask(mask);
    assert_compare(info.st_mode & 0777, ==, 0777 & ~mask);
    liana_model_destroy(model);
}

static void test_a_layers_model_replaces_an_older_one_whole(void **state)
{
    (void)state;
    liana__test_folder();
    liana_model *wide = build_wide(), *small = begin("small");
    liana_input(small, .shape = LIANA_INTS(4));
    liana_dense(small, .units = 2, .name = "d");
    fill(small);
    const char *path = liana__arena_string(&arena, liana__test_path("m.tfjs/"));
    assert_ok(liana_model_save(wide, path), &context->error);
    assert_ok(liana_model_save(small, path), &context->error);
    check_shards(small, "m.tfjs", (const size_t[]){4 * 10}, 1);
    liana__paths names;
    assert_ok(liana__folder_list(path, &arena, &names, &context->error), &context->error);
    assert_compare(names.count, ==, 2); /* no shard of the wide one */
    assert_ok(liana__folder_list(liana__test_path("."), &arena, &names, &context->error), &context->error);
    assert_compare(names.count, ==, 1); /* nothing is left beside it */
    /* A disk that is full. */
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, before.rlim_max}), 0);
    const liana_status status = liana_model_save(wide, path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_fails(status, LIANA_IO_ERROR, &context->error, "group1-shard1of3.bin");
    check_shards(small, "m.tfjs", (const size_t[]){4 * 10}, 1);
    assert_ok(liana__folder_list(liana__test_path("."), &arena, &names, &context->error), &context->error);
    assert_compare(names.count, ==, 1);
    liana_model_destroy(wide);
    liana_model_destroy(small);
}

static void test_other_files_are_not_replaced(void **state)
{
    (void)state;
    liana__test_folder();
    liana_model *model = begin("small");
    liana_input(model, .shape = LIANA_INTS(4));
    liana_dense(model, .units = 2);
    fill(model);
    assert_ok(liana_model_save(model, liana__test_path("m.tfjs")), &context->error);
    liana__test_write("m.tfjs/photo.jpg", "mine", 4);
    assert_fails(liana_model_save(model, liana__test_path("m.tfjs")), LIANA_INVALID_ARGUMENT, &context->error, "m.tfjs",
                 "photo.jpg", "give another name");
    liana__test_write("file.tfjs", "mine", 4);
    assert_fails(liana_model_save(model, liana__test_path("file.tfjs")), LIANA_INVALID_ARGUMENT, &context->error,
                 "file.tfjs", "is a file");
    liana_model_destroy(model);
}

/* ---- what it cannot say ---- */

static void test_unsayable_layers_are_named_before_anything_is_written(void **state)
{
    (void)state;
    liana__test_folder();
    liana_model *model = begin("many");
    liana_input(model, .shape = LIANA_INTS(8, 8, 4));
    liana_conv2d(model, .filters = 4, .kernel_size = 3, .groups = 2, .name = "grouped");
    liana_depthwise_conv2d(model, .kernel_size = 2, .dilation_rate = 2, .name = "dilated");
    liana_relu(model, .threshold = 0.5, .name = "late");
    liana_relu(model, .negative_slope = 0.1, .max_value = 3, .name = "both");
    liana_activation(model, .activation = "exponential", .name = "e");
    liana_global_average_pooling2d(model, .keepdims = true, .name = "kept");
    liana_flatten(model);
    liana_layer x = liana_dense(model, .units = 2, .activation = "hard_sigmoid", .name = "hard");
    liana_layer words = liana_input(model, .shape = LIANA_INTS(5), .dtype = LIANA_S32);
    words = liana_embedding(model, .input_dim = 7, .output_dim = 2, .mask_zero = true, .input = words);
    words = liana_dropout(model, .rate = 0.1);
    words = liana_global_average_pooling1d(model, .name = "masked");
    liana_concatenate(model, .inputs = {x, words}, .name = "-joined");
    fill(model);
    assert_fails(liana_model_save(model, liana__test_path("m.tfjs")), LIANA_UNIMPLEMENTED, &context->error,
                 "TensorFlow.js", "'grouped': the option groups", "'dilated': the option dilation_rate",
                 "'late': the option threshold", "'both': max_value with negative_slope", "'e': the activation",
                 "'kept': the option keepdims", "'hard': the activation hard_sigmoid", "'masked': the mask",
                 "'-joined': its name");
    assert_false(liana__file_exists(liana__test_path("m.tfjs")));
    liana_model_destroy(model);
}

static void test_words_of_its_own(void **state)
{
    (void)state;
    liana__test_folder();
    liana_model *model = begin("words");
    liana_input(model, .shape = LIANA_INTS(12));
    liana_dense(model, .units = 8, .name = "d", .activation = "silu", .kernel_regularizer = "l2(0.5)",
                .kernel_constraint = "max_norm(2)", .activity_regularizer = "l1(0.5)");
    liana_dense(model, .units = 8, .name = "o", .kernel_regularizer = "orthogonal_regularizer");
    liana_normalization(model, .name = "n");
    liana_relu(model, .negative_slope = 0.25, .name = "slope");
    liana_reshape(model, .target_shape = LIANA_INTS(-1, 2), .name = "r");
    fill(model);
    assert_ok(liana_model_save(model, liana__test_path("w.tfjs")), &context->error);
    const char *class_name;
    const liana__value *config = find_layer("w.tfjs", "d", &class_name);
    assert_string_equal(at(config, "activation")->string, "swish");
    assert_string_equal(at(at(config, "kernel_regularizer"), "class_name")->string, "L1L2");
    assert_near(at(at(at(config, "kernel_regularizer"), "config"), "l2")->number, 0.5, 0);
    assert_int_equal(at(config, "activity_regularizer")->kind, LIANA__VALUE_NULL);
    assert_int_equal(at(config, "kernel_constraint")->kind, LIANA__VALUE_NULL);
    config = find_layer("w.tfjs", "o", &class_name);
    assert_int_equal(at(config, "kernel_regularizer")->kind, LIANA__VALUE_NULL);
    config = find_layer("w.tfjs", "n", &class_name);
    assert_string_equal(class_name, "BatchNormalization");
    config = find_layer("w.tfjs", "slope", &class_name);
    assert_string_equal(class_name, "LeakyReLU");
    assert_near(at(config, "alpha")->number, 0.25, 0);
    config = find_layer("w.tfjs", "r", &class_name);
    assert_int_equal(at(config, "target_shape")->items[0]->integer, 4);
    liana_model_destroy(model);
}

/* ---- liana convert-model ---- */

static void test_the_command_writes_a_layers_model(void **state)
{
    (void)state;
    liana__test_folder();
    liana_model *model = begin("told");
    liana_input(model, .shape = LIANA_INTS(4));
    liana_dense(model, .units = 2, .name = "d", .activity_regularizer = "l1(0.1)");
    fill(model);
    const char *from = liana__arena_string(&arena, liana__test_path("saved"));
    const char *to = liana__arena_string(&arena, liana__test_path("web.tfjs"));
    assert_ok(liana_model_save(model, from), &context->error);
    liana__test_result result = liana__test_command("convert-model", from, to);
    assert_says(result.out, "layer 'd'");
    assert_says(result.out, "penalty of its results");
    assert_says(result.out, "web.tfjs");
    assert_code(result, 0);
    check_shards(model, "web.tfjs", (const size_t[]){4 * 10}, 1);
    /* liana writes such a folder, and says so when it is asked to read one. */
    liana_model *other;
    assert_fails(liana_model_load(context, to, &other), LIANA_UNIMPLEMENTED, &context->error, "web.tfjs",
                 "TensorFlow.js", "does not read");
    liana_model_destroy(model);
}

/* ---- TensorFlow.js ---- */

static liana_model *build_images(void)
{
    liana_model *model = begin("images");
    liana_input(model, .shape = LIANA_INTS(9, 8, 3));
    liana_rescaling(model, .scale = 0.5, .offset = -0.25);
    liana_normalization(model);
    liana_zero_padding2d(model, .padding = LIANA_INTS(1, 0, 0, 2));
    liana_conv2d(model, .filters = 4, .kernel_size = {3, 2}, .strides = {2, 1}, .activation = "swish",
                 .kernel_regularizer = "l1_l2(0.1, 0.2)", .kernel_constraint = "min_max_norm(0.1, 0.2)",
                 .name = "conv/first");
    liana_batch_normalization(model, .epsilon = 1e-5);
    liana_relu(model, .negative_slope = 0.2);
    liana_separable_conv2d(model, .filters = 5, .kernel_size = 2, .padding = LIANA_PADDING_SAME, .activation = "elu");
    liana_depthwise_conv2d(model, .kernel_size = 2, .depth_multiplier = 2, .use_bias = false);
    liana_average_pooling2d(model, .pool_size = 2, .padding = LIANA_PADDING_SAME);
    liana_relu(model, .max_value = 6);
    liana_activity_regularization(model, .l1 = 0.1);
    liana_reshape(model, .target_shape = LIANA_INTS(-1, 5));
    liana_dense(model, .units = 4, .activation = "hard_sigmoid_keras2", .activity_regularizer = "l2(0.1)");
    liana_global_average_pooling1d(model);
    liana_dropout(model, .rate = 0.3);
    liana_dense(model, .units = 3, .activation = "softmax");
    return model;
}

/* A model that is called twice, whose layer has the name of an outer one, and a mask that nothing reads. */
static liana_model *build_parts(void)
{
    liana_model *inner = begin("part"), *model = begin("parts");
    liana_layer x = liana_input(inner, .shape = LIANA_INTS(6));
    x = liana_dense(inner, .units = 3, .name = "dense", .activation = "tanh", .input = x);
    liana_layer y = liana_dense(inner, .units = 2, .name = "other", .input = x);
    liana_model_outputs(inner, x, y);
    liana_layer words = liana_input(model, .shape = LIANA_INTS(3), .dtype = LIANA_S32, .name = "words");
    words = liana_embedding(model, .input_dim = 9, .output_dim = 2, .mask_zero = true, .input = words);
    liana_layer a = liana_flatten(model), b = liana_input(model, .shape = LIANA_INTS(6), .name = "row");
    liana_layer first = liana_nested(model, .nested = inner, .inputs = {a});
    liana_layer second = liana_nested(model, .nested = inner, .inputs = {b});
    liana_layer all = liana_concatenate(model, .inputs = {first, liana_nested_output(first, 1), second,
                                                          liana_nested_output(second, 1)});
    liana_dense(model, .units = 2, .name = "dense", .input = all);
    liana_model_destroy(inner);
    return model;
}

enum { EXAMPLES = 3 };

static void add_numbers(liana__text *text, const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) liana__text_add(text, "%s%.9g", i ? ", " : "", (double)values[i]);
}

/* Saves the model, predicts, and writes the case for the script. Returns its path. */
static const char *write_case(liana_model *model, const char *name, double tolerance)
{
    fill(model);
    liana_array arrays[4];
    LIANA__SCOPED(liana__text) text = {0};
    const char *folder = liana__arena_string(&arena, liana__test_path(liana__arena_format(&arena, "%s.tfjs", name)));
    assert_ok(liana_model_save(model, folder), &context->error);
    liana__text_add(&text, "{\"folder\": \"%s\", \"tolerance\": %g, \"inputs\": [", folder, tolerance);
    assert_compare(model->num_inputs, <=, 4);
    for (size_t i = 0; i < model->num_inputs; i++) {
        const liana__model_port port = liana__model_input(model, i);
        liana_shape shape = port.shape;
        shape.dims[0] = EXAMPLES;
        const size_t count = (size_t)liana_shape_size(&shape);
        float *values = liana__arena_allocate(&arena, count * sizeof *values);
        int32_t *ids = liana__arena_allocate(&arena, count * sizeof *ids);
        for (size_t k = 0; k < count; k++) {
            ids[k] = (int32_t)((k * 5 + 1) % 7);
            values[k] = port.dtype == LIANA_S32 ? (float)ids[k] : (float)sin((double)k * 1.7) * 2;
        }
        const void *data = port.dtype == LIANA_S32 ? (const void *)ids : (const void *)values;
        arrays[i] = (liana_array){.name = port.name, .dtype = port.dtype, .shape = shape, .data = data};
        liana__text_add(&text, "%s{\"dtype\": \"%s\", \"shape\": [%d", i ? ", " : "",
                        port.dtype == LIANA_S32 ? "int32" : "float32", EXAMPLES);
        for (int k = 1; k < shape.rank; k++) liana__text_add(&text, ", %lld", (long long)shape.dims[k]);
        liana__text_add(&text, "], \"values\": [");
        add_numbers(&text, values, count);
        liana__text_add(&text, "]}");
    }
    const liana_shape output = liana__model_output_shape(model);
    const size_t count = EXAMPLES * (size_t)liana_shape_size(&output);
    float *outputs = liana__arena_allocate(&arena, count * sizeof *outputs);
    assert_ok(liana_predict_on_batch(model, arrays, model->num_inputs, outputs), &context->error);
    liana__text_add(&text, "], \"outputs\": [");
    add_numbers(&text, outputs, count);
    liana__text_add(&text, "]}\n");
    assert_false(text.failed);
    liana_model_destroy(model);
    const char *file = liana__arena_format(&arena, "%s.json", name);
    return liana__arena_string(&arena, liana__test_write(file, text.data, text.length));
}

static void test_tensorflow_js_predicts_the_same(void **state)
{
    (void)state;
    char modules[2100];
    const char *peer = liana__test_peer("tfjs");
    if (!peer) skip();
    snprintf(modules, sizeof modules, "%s/node_modules", peer);
    setenv("NODE_PATH", modules, 1);
    liana__test_folder();
    const char *images = write_case(build_images(), "images", 2e-6);
    const char *parts = write_case(build_parts(), "parts", 2e-6), *wide = write_case(build_wide(), "wide", 2e-5);
    liana__test_run_program((const char *const[]){"node", LIANA_SOURCE_DIR "/tests/train/model/tfjs_folder_check.js",
                                                  images, parts, wide, NULL});
}

static int end(void **state)
{
    liana__arena_free(&arena);
    return tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_lie_in_shards),
        cmocka_unit_test(test_a_layers_model_replaces_an_older_one_whole),
        cmocka_unit_test(test_other_files_are_not_replaced),
        cmocka_unit_test(test_unsayable_layers_are_named_before_anything_is_written),
        cmocka_unit_test(test_words_of_its_own),
        cmocka_unit_test(test_the_command_writes_a_layers_model),
        cmocka_unit_test(test_tensorflow_js_predicts_the_same),
    };
    return cmocka_run_group_tests(tests, set_up, end);
}
