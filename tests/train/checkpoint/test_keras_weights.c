/* Weights in Keras 3's files: those that Keras wrote (tests/samples/keras_archives.py) into a model of the same layers,
 * and those that liana writes into Keras. */
#include "harness/harness.h"

#include "base/file.h"
#include "formats/hdf5.h"
#include "formats/zip.h"
#include "harness/peers.h"
#include "models/models.h"
#include "train/checkpoint/keras_weights.h"
#include "train/checkpoint/warm_start.h"
#include "train/checkpoint/weights.h"

#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana_model *model;
static liana__arena arena;
static liana__error error;
static liana__weights_report report;
static float **values;

static int set_up(void **state)
{
    (void)state;
    error = (liana__error){0};
    return liana_context_create(&(liana_context_options){.num_threads = 1}, &context) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; values && i < model->num_weights; i++) free(values[i]);
    free(values);
    values = NULL;
    liana_model_destroy(model);
    model = NULL;
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return 0;
}

/* ---- the model of keras_archives.py ---- */

static liana_model *build_encoder(const char *prefix)
{
    liana_model *encoder;
    char inner[64], last[64];
    snprintf(inner, sizeof inner, "%sinner", prefix);
    snprintf(last, sizeof last, "%slast", prefix);
    assert_int_equal(liana_model_create(context, "encoder", &encoder), LIANA_OK);
    liana_input(encoder, .shape = LIANA_INTS(3, 3, 5));
    liana_flatten(encoder);
    liana_dense(encoder, .units = 3, .name = inner);
    liana_dropout(encoder, .rate = 0.5);
    liana_dense(encoder, .units = 3, .name = last);
    return encoder;
}

/* `prefix` stands before the names of all layers; `classes` are the units of the head. */
static void build(const char *prefix, int classes)
{
    static char names[7][64];
    static const char *const stems[] = {"stem", "left", "first", "second", "norm", "apart", "head"};
    for (size_t i = 0; i < 7; i++) snprintf(names[i], sizeof names[i], "%s%s", prefix, stems[i]);
    assert_int_equal(liana_model_create(context, "archived", &model), LIANA_OK);
    liana_layer x = liana_input(model, .shape = LIANA_INTS(6, 6, 3));
    x = liana_conv2d(model, .input = x, .filters = 4, .kernel_size = 3, .name = names[0]);
    liana_layer left = liana_conv2d(model, .input = x, .filters = 4, .kernel_size = 1, .name = names[1]);
    liana_layer right = liana_conv2d(model, .input = x, .filters = 4, .kernel_size = 1, .name = names[2]);
    right = liana_conv2d(model, .input = right, .filters = 4, .kernel_size = 1, .name = names[3]);
    liana_add(model, .inputs = {left, right});
    liana_batch_normalization(model, .name = names[4]);
    liana_separable_conv2d(model, .filters = 5, .kernel_size = 2, .name = names[5]);
    liana_model *encoder = build_encoder(prefix);
    liana_nested(model, .nested = encoder);
    liana_model_destroy(encoder);
    liana_dense(model, .units = classes, .activation = "softmax", .name = names[6]);
    assert_ok(liana_model_status(model), &context->error);
    values = calloc(model->num_weights + 1, sizeof *values);
    for (size_t i = 0; i < model->num_weights; i++) {
        values[i] = calloc((size_t)liana_shape_size(&model->weights[i].shape), sizeof **values);
    }
}

/* Element k of weight w of the layer with the number n is 1000 n + 100 w + k. */
static float number_of(const char *layer, size_t weight, int64_t element)
{
    static const char *const layers[] = {"stem", "left", "first", "second", "norm", "apart", "inner", "last", "head"};
    const char *end = layer + strlen(layer);
    for (int i = 0; i < 9; i++) {
        size_t length = strlen(layers[i]);
        if ((size_t)(end - layer) >= length && strcmp(end - length, layers[i]) == 0) {
            return (float)(1000 * (i + 1) + 100 * (int)weight + (int)element);
        }
    }
    return -1;
}

static void fill(void)
{
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__layer *layer = &model->layers[model->weights[i].layer];
        for (int64_t k = 0; k < liana_shape_size(&model->weights[i].shape); k++) {
            values[i][k] = number_of(layer->name, i - layer->first_weight, k);
        }
    }
}

static void check_values(void)
{
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__layer *layer = &model->layers[model->weights[i].layer];
        for (int64_t k = 0; k < liana_shape_size(&model->weights[i].shape); k++) {
            assert_compare(values[i][k], ==, number_of(layer->name, i - layer->first_weight, k), i, k);
        }
    }
}

static const char *sample(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/tests/samples/%s", LIANA_SOURCE_DIR, name);
    return path;
}

static liana_status load(const char *path, size_t num_required)
{
    return liana__weights_load(model, path, num_required, values, &arena, &report, &error);
}

/* ---- reading ---- */

static void check_sample(const char *name, const char *prefix)
{
    build(prefix, 2);
    assert_ok(load(sample(name), model->num_layers), &error);
    assert_int_equal(report.num_layers, 9);
    assert_int_equal(report.num_weights, 21);
    assert_int_equal(report.missing.count, 0);
    assert_int_equal(report.unused.count, 0);
    check_values();
}

static void test_an_archive_is_read_by_names(void **state)
{
    (void)state;
    check_sample("keras3_names.keras", "");
}

static void test_a_whole_file_is_read_by_names(void **state)
{
    (void)state;
    check_sample("keras3_whole.h5", "");
}

static void test_a_file_without_names_is_read_by_places(void **state)
{
    (void)state;
    check_sample("keras3_places.weights.h5", "");
}

/* Automatic names depend on what a program made before. Keras does not look at them. */
static void test_other_names_at_the_same_places_are_read(void **state)
{
    (void)state;
    check_sample("keras3_names.keras", "my_");
}

/* Loads a sample while some layers have other names. */
static void load_renamed(const char *name, const char *const (*renamed)[2], size_t count)
{
    build("", 2);
    const char *before[8];
    int layers[8];
    for (size_t i = 0; i < count; i++) layers[i] = liana__model_find_layer(model, renamed[i][0]);
    for (size_t i = 0; i < count; i++) {
        assert_compare(layers[i], >=, 0, i);
        before[i] = model->layers[layers[i]].name;
        model->layers[layers[i]].name = renamed[i][1];
    }
    assert_ok(load(sample(name), model->num_layers), &error);
    for (size_t i = 0; i < count; i++) model->layers[layers[i]].name = before[i];
    check_values();
}

/* Automatic names are like places, but count in the order in which layers were made. */
static void test_automatic_names_do_not_mislead(void **state)
{
    (void)state;
    static const char *const automatic[][2] = {{"stem", "conv2d"},
                                               {"left", "conv2d_1"},
                                               {"first", "conv2d_2"},
                                               {"second", "conv2d_3"}};
    load_renamed("keras3_places.weights.h5", automatic, 4);
}

/* Only all names together count: one that the file has as well may be another layer's. */
static void test_some_equal_names_do_not_mislead(void **state)
{
    (void)state;
    static const char *const swapped[][2] = {{"left", "first"}, {"first", "left"}, {"head", "end"}};
    load_renamed("keras3_names.keras", swapped, 3);
}

static void test_the_newest_layout_is_read(void **state)
{
    (void)state;
#ifndef LIANA_HAVE_HDF5
    liana__test_skip("this build has no libhdf5");
#endif
    check_sample("keras3_newest.weights.h5", "");
}

static void test_a_new_head_keeps_its_values(void **state)
{
    (void)state;
    build("", 2);
    /* A head of another name: the rest is found by its names. */
    model->layers[model->num_layers - 1].name = "fresh";
    assert_ok(load(sample("keras3_names.keras"), model->num_layers - 1), &error);
    assert_int_equal(report.num_layers, 8);
    assert_string_equal(report.missing.items[0], "fresh");
    assert_string_equal(report.unused.items[0], "head");
    model->layers[model->num_layers - 1].name = "head";
    for (size_t i = 0; i < 2; i++) {
        float *array = values[model->layers[model->num_layers - 1].first_weight + i];
        assert_compare(array[0], ==, 0.0f);
        array[0] = 1;
    }
}

static void test_other_models_are_refused_with_their_layers(void **state)
{
    (void)state;
    build("", 3);
    assert_fails(load(sample("keras3_names.keras"), model->num_layers), LIANA_INVALID_DATA, &error,
                 "keras3_names.keras", "'head'", "[3, 2]", "[3, 3]");
    assert_fails(load(sample("keras3_places.weights.h5"), model->num_layers), LIANA_INVALID_DATA, &error,
                 "keras3_places.weights.h5", "'head'", "[3, 2]", "[3, 3]");
    liana_model_destroy(model);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(4));
    liana_dense(model, .units = 2, .name = "other");
    assert_fails(load(sample("keras3_names.keras"), model->num_layers), LIANA_INVALID_DATA, &error, "other");
    for (size_t i = 2; i < 21; i++) free(values[i]);
}

static void test_a_model_without_weights_needs_none(void **state)
{
    (void)state;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(4));
    liana_activation(model, .activation = "relu");
    assert_ok(load(sample("keras3_names.keras"), model->num_layers), &error);
    assert_int_equal(report.num_layers, 0);
}

static void test_a_real_file_of_windows_is_read(void **state)
{
    (void)state;
    const char *path = liana__test_data("keras_files/fashion_mnist_mit.keras");
    liana_model *inner;
    assert_int_equal(liana_model_create(context, "sequential", &inner), LIANA_OK);
    liana_input(inner, .shape = LIANA_INTS(28, 28));
    liana_flatten(inner);
    liana_dense(inner, .units = 128, .activation = "relu", .name = "dense");
    liana_dense(inner, .units = 10, .name = "dense_1");
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(28, 28));
    liana_nested(model, .nested = inner);
    liana_model_destroy(inner);
    liana_activation(model, .activation = "softmax");
    values = calloc(model->num_weights + 1, sizeof *values);
    for (size_t i = 0; i < model->num_weights; i++) {
        values[i] = calloc((size_t)liana_shape_size(&model->weights[i].shape), sizeof **values);
    }
    assert_ok(load(path, model->num_layers), &error);
    assert_int_equal(report.num_weights, 4);
    /* What h5py says of the last bias. */
    assert_near(values[3][0], -0.05932273343205452, 1e-6f);
    assert_near(values[3][9], -0.43159180879592896, 1e-6f);
}

static void test_warm_starts_read_them(void **state)
{
    (void)state;
    const liana__place place = {.file = NULL};
    liana__warm_result result;
    liana__remote *remote;
    build("my_", 2);
    assert_ok(liana__remote_create(NULL, &remote, &error), &error);
    liana__warm_start warm = {.from = sample("keras3_names.keras")};
    assert_ok(liana__warm_start_read(model, &warm, "warm_start", &place, remote, values, &arena, &result, &error),
              &error);
    assert_int_equal(result.num_matched, 21);
    check_values();
    /* A map names the layers as the file does. */
    liana__value *map = liana__value_map(&arena);
    liana__value_set(&arena, map, "my_*", liana__value_string(&arena, "*"));
    liana__value_set(&arena, map, "encoder/my_*", liana__value_string(&arena, "encoder/*"));
    memset(values[0], 0, 4);
    warm.map = map;
    assert_ok(liana__warm_start_read(model, &warm, "warm_start", &place, remote, values, &arena, &result, &error),
              &error);
    assert_int_equal(result.num_matched, 21);
    check_values();
    liana__remote_destroy(remote);
}

/* The paths that Keras 3.15 gives to layers of its own ResNet50: shortcuts (0) are made first and stand third. */
static void test_places_follow_the_depth(void **state)
{
    (void)state;
    static const char *const expected[][2] = {{"conv1_conv", "layers/conv2d"},
                                              {"conv2_block1_0_conv", "layers/conv2d_3"},
                                              {"conv2_block1_1_conv", "layers/conv2d_1"},
                                              {"conv2_block1_2_conv", "layers/conv2d_2"},
                                              {"conv2_block1_3_conv", "layers/conv2d_4"},
                                              {"conv3_block1_0_conv", "layers/conv2d_13"},
                                              {"conv3_block1_3_conv", "layers/conv2d_14"},
                                              {"conv5_block1_0_bn", "layers/batch_normalization_45"},
                                              {"conv5_block1_3_bn", "layers/batch_normalization_46"},
                                              {"conv5_block3_3_conv", "layers/conv2d_52"},
                                              {"predictions", "layers/dense"}};
    const char **paths;
    const liana__architecture *resnet = liana__architecture_find("ResNet50", NULL);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    assert_ok(liana__architecture_add(model, LIANA_HERE, resnet, NULL, "model"), &model->error);
    assert_ok(liana__keras_paths(model, &arena, &paths, &error), &error);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        int layer = liana__model_find_layer(model, expected[i][0]);
        assert_compare(layer, >=, 0, i);
        assert_string_equal(paths[layer], expected[i][1]);
    }
}

/* ---- archives that are none ---- */

static void check_archive(const liana__zip_new_entry *entries, size_t count, liana_status status, const char *word)
{
    const char *path = liana__test_path("x.keras");
    liana__hdf5 *file;
    assert_ok(liana__zip_write(path, entries, count, &error), &error);
    assert_fails(liana__hdf5_open(path, &file, &error), status, &error, "x.keras", word);
}

static void test_archives_without_weights_are_named(void **state)
{
    (void)state;
    liana__test_folder();
    const liana__zip_new_entry config = {"config.json", "{}", 2}, npz = {"model.weights.npz", "x", 1},
                               torn = {"model.weights.h5", "\x89HDF\r\n\x1a\n", 8},
                               text = {"model.weights.h5", "text", 4}, bad = {"metadata.json", "{", 1};
    check_archive((liana__zip_new_entry[]){config}, 1, LIANA_INVALID_DATA, "model.weights.h5");
    check_archive((liana__zip_new_entry[]){config, npz}, 2, LIANA_UNIMPLEMENTED, "NumPy");
    check_archive((liana__zip_new_entry[]){config, text}, 2, LIANA_INVALID_DATA, "not an HDF5 file");
    check_archive((liana__zip_new_entry[]){config, torn}, 2, LIANA_INVALID_DATA, "model.weights.h5");
    check_archive((liana__zip_new_entry[]){config, bad, text}, 3, LIANA_INVALID_DATA, "x.keras");
}

/* ---- writing ---- */

#ifdef LIANA_HAVE_HDF5
static const char *write_weights(char **bytes, size_t *size)
{
    liana__hdf5_new *tree;
    const char *made;
    fill();
    assert_ok(liana__keras_weights_make(model, values, NULL, 0, "made.weights.h5", &tree, &error), &error);
    assert_ok(liana__hdf5_new_bytes(tree, &made, size, &error), &error);
    *bytes = malloc(*size);
    memcpy(*bytes, made, *size);
    liana__hdf5_new_free(tree);
    for (size_t i = 0; i < model->num_weights; i++) {
        memset(values[i], 0, (size_t)liana_shape_size(&model->weights[i].shape) * sizeof **values);
    }
    return liana__test_write("made.weights.h5", *bytes, *size);
}

static void test_written_weights_are_read_back(void **state)
{
    (void)state;
    char *bytes;
    size_t size;
    liana__test_folder();
    build("", 2);
    const char *path = write_weights(&bytes, &size);
    free(bytes);
    assert_ok(load(path, model->num_layers), &error);
    assert_int_equal(report.num_weights, 21);
    check_values();
    /* The places are those of Keras's own file. */
    liana__hdf5 *made, *keras;
    assert_ok(liana__hdf5_open(path, &made, &error), &error);
    assert_ok(liana__hdf5_open(sample("keras3_names.keras"), &keras, &error), &error);
    const liana__hdf5_contents *a = liana__hdf5_get_contents(made), *b = liana__hdf5_get_contents(keras);
    assert_true(a->has_names);
    for (size_t i = 0, k = 0; i < a->num_layers; i++) {
        if (!a->layers[i].num_weights) continue;
        while (!b->layers[k].num_weights) k++;
        assert_string_equal(a->layers[i].path, b->layers[k].path);
        assert_string_equal(a->layers[i].name, b->layers[k++].name);
    }
    liana__hdf5_close(made);
    liana__hdf5_close(keras);
}

static void load_in_keras(const char *python, const char *path)
{
    char command[4096];
    snprintf(command, sizeof command, "%s/bin/python -W ignore '%s' --load '%s' >'%s' 2>&1", python,
             sample("keras_archives.py"), path, liana__test_path("log"));
    if (system(command) == 0) return;
    char *log;
    size_t size;
    assert_ok(liana__file_read(liana__test_path("log"), 1 << 20, &log, &size, &error), &error);
    print_message("%s\n", log);
    free(log);
    fail();
}

static void test_keras_reads_what_is_written(void **state)
{
    (void)state;
    char python[1024], *bytes, *config, *metadata, path[1024];
    size_t size;
    liana__zip *keras;
    const char *folder = liana__test_peer("tensorflow");
    if (!folder) skip();
    snprintf(python, sizeof python, "%s", folder);
    liana__test_folder();
    build("", 2);
    load_in_keras(python, write_weights(&bytes, &size));
    /* The weights in an archive with Keras's own architecture. */
    assert_ok(liana__zip_open(sample("keras3_names.keras"), &keras, &error), &error);
    assert_ok(liana__zip_read(keras, liana__zip_find(keras, "config.json"), &config, &error), &error);
    assert_ok(liana__zip_read(keras, liana__zip_find(keras, "metadata.json"), &metadata, &error), &error);
    const liana__zip_new_entry entries[] = {{"metadata.json", metadata, strlen(metadata)},
                                            {"config.json", config, strlen(config)},
                                            {"model.weights.h5", bytes, size}};
    snprintf(path, sizeof path, "%s", liana__test_path("made.keras"));
    assert_ok(liana__zip_write(path, entries, 3, &error), &error);
    load_in_keras(python, path);
    liana__zip_close(keras);
    free(bytes);
    free(config);
    free(metadata);
}
#endif

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_archive_is_read_by_names),
        TEST(test_a_whole_file_is_read_by_names),
        TEST(test_a_file_without_names_is_read_by_places),
        TEST(test_other_names_at_the_same_places_are_read),
        TEST(test_automatic_names_do_not_mislead),
        TEST(test_some_equal_names_do_not_mislead),
        TEST(test_the_newest_layout_is_read),
        TEST(test_a_new_head_keeps_its_values),
        TEST(test_other_models_are_refused_with_their_layers),
        TEST(test_a_model_without_weights_needs_none),
        TEST(test_a_real_file_of_windows_is_read),
        TEST(test_warm_starts_read_them),
        TEST(test_places_follow_the_depth),
        TEST(test_archives_without_weights_are_named),
#ifdef LIANA_HAVE_HDF5
        TEST(test_written_weights_are_read_back),
        TEST(test_keras_reads_what_is_written),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
