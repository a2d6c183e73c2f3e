/* Keras 3's layout of weights: which groups are layers, how they are called, and the order of their weights. The paths
 * are those of files that Keras 3.15 and tf.keras 2.14 wrote; the files are made with libhdf5. */
#include "harness/harness.h"

#include "formats/hdf5.h"

#include <stdlib.h>
#include <string.h>

#ifdef LIANA_HAVE_HDF5
#include <hdf5.h>

static liana__error error;
static float next_value;

static hid_t begin(void)
{
    next_value = 0;
    hid_t file = H5Fcreate(liana__test_path("k.weights.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_compare(file, >=, 0);
    return file;
}

static hid_t intermediate(void)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    return links;
}

/* A group `path`/vars with `count` weights of one element each, which count up over the file. NULL: no name. */
static void put(hid_t file, const char *path, const char *name, int count)
{
    char whole[512];
    hid_t links = intermediate(), space = H5Screate(H5S_SCALAR);
    snprintf(whole, sizeof whole, "%s/vars", path);
    hid_t group = H5Gcreate2(file, whole, links, H5P_DEFAULT, H5P_DEFAULT);
    assert_compare(group, >=, 0);
    for (int i = 0; i < count; i++, next_value++) {
        snprintf(whole, sizeof whole, "%d", i);
        hid_t dataset = H5Dcreate2(group, whole, H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        assert_compare(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &next_value), >=, 0);
        H5Dclose(dataset);
    }
    if (name) {
        hid_t type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, H5T_VARIABLE);
        hid_t attribute = H5Acreate2(group, "name", type, space, H5P_DEFAULT, H5P_DEFAULT);
        assert_compare(H5Awrite(attribute, type, &name), >=, 0);
        H5Aclose(attribute);
        H5Tclose(type);
    }
    H5Gclose(group);
    H5Sclose(space);
    H5Pclose(links);
}

static liana__hdf5 *finish(hid_t file)
{
    liana__hdf5 *opened;
    H5Fclose(file);
    assert_ok(liana__hdf5_open(liana__test_path("k.weights.h5"), &opened, &error), &error);
    assert_true(liana__hdf5_get_contents(opened)->is_keras3);
    return opened;
}

/* The layer of that name must have these values, in this order. */
static void check(const liana__hdf5 *file, const char *name, const char *model, const char *path, const float *expected,
                  size_t count)
{
    const liana__hdf5_contents *contents = liana__hdf5_get_contents(file);
    for (size_t i = 0; i < contents->num_layers; i++) {
        const liana__hdf5_layer *layer = &contents->layers[i];
        if (strcmp(layer->path, path) != 0) continue;
        assert_string_equal(layer->name, name);
        if (model) assert_non_null(layer->model);
        if (model) assert_string_equal(layer->model, model);
        if (!model) assert_null(layer->model);
        assert_int_equal(layer->num_weights, count);
        for (size_t k = 0; k < count; k++) {
            float value;
            assert_ok(liana__hdf5_read(file, &layer->weights[k], &value, &error), &error);
            assert_compare(value, ==, expected[k], k);
        }
        return;
    }
    fail_msg("there is no layer at '%s'", path);
}

#define VALUES(...) (const float[]){__VA_ARGS__}, sizeof(const float[]){__VA_ARGS__} / sizeof(float)

static void test_children_of_layers_are_in_keras_order(void **state)
{
    (void)state;
    liana__test_folder();
    hid_t file = begin();
    put(file, "layers/bidirectional/backward_layer/cell", "lstm_cell", 3);
    put(file, "layers/bidirectional/forward_layer/cell", "lstm_cell", 3);
    put(file, "layers/bidirectional", "bi", 0);
    put(file, "layers/multi_head_attention/key_dense", "key", 2);
    put(file, "layers/multi_head_attention/output_dense", "attention_output", 2);
    put(file, "layers/multi_head_attention/query_dense", "query", 2);
    put(file, "layers/multi_head_attention/value_dense", "value", 2);
    put(file, "layers/multi_head_attention", "mha", 0);
    put(file, "layers/spectral_normalization/layer", "inner", 1);
    put(file, "layers/spectral_normalization", "sn", 2);
    put(file, "layers/rnn/cell/cells/lstm_cell_10", "c", 1);
    put(file, "layers/rnn/cell/cells/lstm_cell_9", "b", 1);
    put(file, "layers/rnn", "stacked", 0);
    put(file, "layers/dense", "many", 12);
    put(file, "layers/pipeline_2/layers/conv2d", "conv", 2);
    put(file, "layers/pipeline_2/layers/pipeline/layers/dense", "deep", 1);
    put(file, "layers/pipeline_2/layers/random_flip/generator", "generator", 1);
    put(file, "layers/pipeline_2", "steps", 0);
    liana__hdf5 *opened = finish(file);
    check(opened, "bi", NULL, "layers/bidirectional", VALUES(3, 4, 5, 0, 1, 2));
    check(opened, "mha", NULL, "layers/multi_head_attention", VALUES(10, 11, 6, 7, 12, 13, 8, 9));
    check(opened, "sn", NULL, "layers/spectral_normalization", VALUES(15, 16, 14));
    check(opened, "stacked", NULL, "layers/rnn", VALUES(18, 17));
    check(opened, "many", NULL, "layers/dense", VALUES(19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30));
    check(opened, "steps", NULL, "layers/pipeline_2", VALUES(31, 32, 33));
    assert_true(liana__hdf5_get_contents(opened)->has_names);
    liana__hdf5_close(opened);
}

static void test_nested_models_name_their_layers(void **state)
{
    (void)state;
    liana__test_folder();
    hid_t file = begin();
    put(file, "layers/functional", "outer", 0);
    put(file, "layers/functional/layers/dense", "a", 1);
    put(file, "layers/functional/layers/sequential", "inner", 0);
    put(file, "layers/functional/layers/sequential/layers/dense", "a", 1);
    put(file, "layers/time_distributed", "steps", 0);
    put(file, "layers/time_distributed/layer", "encoder", 0);
    put(file, "layers/time_distributed/layer/layers/dense", "a", 1);
    put(file, "layers/dense", "a", 1);
    liana__hdf5 *opened = finish(file);
    check(opened, "a", "outer", "layers/functional/layers/dense", VALUES(0));
    check(opened, "a", "outer/inner", "layers/functional/layers/sequential/layers/dense", VALUES(1));
    check(opened, "a", "steps", "layers/time_distributed/layers/dense", VALUES(2));
    check(opened, "a", NULL, "layers/dense", VALUES(3));
    liana__hdf5_close(opened);
}

static void test_what_is_no_weight_is_left_out(void **state)
{
    (void)state;
    liana__test_folder();
    hid_t file = begin();
    put(file, "layers/dropout/seed_generator", "seed_generator_1", 1);
    put(file, "layers/dropout", "drop", 0);
    put(file, "layers/random_flip/generator", "generator", 1);
    put(file, "layers/dense", "d", 1);
    put(file, "optimizer", "adam", 5);
    put(file, "metrics/mean", NULL, 2);
    put(file, "layers/sequential/optimizer", NULL, 3);
    put(file, "layers/sequential/layers/dense", "e", 1);
    liana__hdf5 *opened = finish(file);
    assert_int_equal(liana__hdf5_get_contents(opened)->num_weights, 2);
    check(opened, "d", NULL, "layers/dense", VALUES(2));
    check(opened, "e", "sequential", "layers/sequential/layers/dense", VALUES(13));
    liana__hdf5_close(opened);
}

static void test_older_files_have_other_words(void **state)
{
    (void)state;
    liana__test_folder();
    hid_t file = begin();
    put(file, "_layer_checkpoint_dependencies\\sequential\\_layer_checkpoint_dependencies\\dense_1", NULL, 2);
    put(file, "_layer_checkpoint_dependencies\\sequential\\optimizer", NULL, 2);
    put(file, "_layer_checkpoint_dependencies\\sequential\\metrics\\mean", NULL, 2);
    put(file, "_layer_checkpoint_dependencies/conv2d", NULL, 2);
    liana__hdf5 *opened = finish(file);
    assert_false(liana__hdf5_get_contents(opened)->has_names);
    assert_int_equal(liana__hdf5_get_contents(opened)->num_weights, 4);
    check(opened, "dense_1", "sequential", "layers/sequential/layers/dense_1", VALUES(0, 1));
    check(opened, "conv2d", NULL, "layers/conv2d", VALUES(6, 7));
    liana__hdf5_close(opened);
}

/* self.first = Dense(...) in a class of the user's own. */
static void test_layers_of_subclassed_models_are_attributes(void **state)
{
    (void)state;
    liana__test_folder();
    hid_t file = begin();
    put(file, "first", "dense_7", 2);
    put(file, "second/cell", "gru_cell", 1);
    put(file, "optimizer", "adam", 2);
    liana__hdf5 *opened = finish(file);
    check(opened, "dense_7", NULL, "first", VALUES(0, 1));
    check(opened, "second", NULL, "second", VALUES(2));
    liana__hdf5_close(opened);
}

static void check_refused(hid_t file, liana_status status, const char *first, const char *second)
{
    liana__hdf5 *opened;
    H5Fclose(file);
    assert_fails(liana__hdf5_open(liana__test_path("k.weights.h5"), &opened, &error), status, &error, "k.weights.h5",
                 first, second);
}

static void test_odd_contents_are_named(void **state)
{
    (void)state;
    liana__test_folder();
    /* A weight of text. */
    hid_t file = begin(), type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    put(file, "layers/dense", "out", 1);
    H5Tset_size(type, 4);
    hid_t dataset = H5Dcreate2(file, "layers/dense/vars/1", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(dataset);
    check_refused(file, LIANA_INVALID_DATA, "layer 'out': weight '1'", "not made of numbers");
    /* A name that is a number, and one that is a list. */
    file = begin();
    put(file, "layers/dense", NULL, 1);
    hid_t group = H5Gopen2(file, "layers/dense/vars", H5P_DEFAULT);
    hid_t attribute = H5Acreate2(group, "name", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Aclose(attribute);
    H5Gclose(group);
    check_refused(file, LIANA_INVALID_DATA, "'layers/dense/vars'", "not made of text");
    file = begin();
    put(file, "layers/dense", NULL, 1);
    group = H5Gopen2(file, "layers/dense/vars", H5P_DEFAULT);
    hid_t two = H5Screate_simple(1, (const hsize_t[]){2}, NULL);
    attribute = H5Acreate2(group, "name", type, two, H5P_DEFAULT, H5P_DEFAULT);
    H5Aclose(attribute);
    H5Gclose(group);
    H5Sclose(two);
    check_refused(file, LIANA_INVALID_DATA, "'layers/dense/vars'", "several texts");
    H5Sclose(space);
    H5Tclose(type);
    /* Groups, but none of weights. */
    file = begin();
    hid_t links = intermediate();
    group = H5Gcreate2(file, "layers/dense", links, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(group);
    H5Pclose(links);
    check_refused(file, LIANA_INVALID_DATA, "not a Keras weight file", "layer_names");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_children_of_layers_are_in_keras_order),
        cmocka_unit_test(test_nested_models_name_their_layers),
        cmocka_unit_test(test_what_is_no_weight_is_left_out),
        cmocka_unit_test(test_older_files_have_other_words),
        cmocka_unit_test(test_layers_of_subclassed_models_are_attributes),
        cmocka_unit_test(test_odd_contents_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
