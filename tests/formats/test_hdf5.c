/* Keras weight files against what h5py says of them. */
#include "harness/harness.h"
#include "harness/hdf5_layers.h"

#include "base/file.h"
#include "base/random.h"
#include "formats/hdf5.h"
#include "harness/try/try_weights.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#ifdef LIANA_HAVE_HDF5
#include <hdf5.h>

static const char mobilenet_v2[] = "weights/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_0.35_224_no_top.h5";
static const char mobilenet_v1[] = "weights/mobilenet_2_5_224_tf.h5";
static const char keras1[] = "keras_files/keras1_to_json/my_nn_weights.h5";

static liana__hdf5 *open_file(const char *path)
{
    liana__error error = {0};
    liana__hdf5 *file;
    assert_ok(liana__hdf5_open(path, &file, &error), &error);
    return file;
}

/* h5py 3.7's facts of the files: names counted, and zlib.crc32 over all arrays as float32, in order. */
static void test_real_files_read_as_h5py_reads_them(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t num_layers, num_weights, num_elements;
        uint32_t crc;
        const char *keras_version;
    } files[] = {
        {mobilenet_v2, 155, 260, 410208, 0x26e92095, "2.2.4"},
        {mobilenet_v1, 55, 137, 475544, 0xa7bfe3e4, "2.2.4"},
        {keras1, 12, 8, 4968, 0x4091e8d6, NULL},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        liana__error error = {0};
        liana__hdf5 *file = open_file(liana__test_data(files[i].name));
        const liana__hdf5_contents *contents = liana__hdf5_get_contents(file);
        assert_int_equal(contents->num_layers, files[i].num_layers);
        assert_int_equal(contents->num_weights, files[i].num_weights);
        if (files[i].keras_version) {
            assert_string_equal(contents->keras_version, files[i].keras_version);
            assert_string_equal(contents->backend, "tensorflow");
        } else {
            assert_null(contents->keras_version);
        }
        assert_null(contents->model_config);
        size_t num_elements = 0;
        uLong crc = 0;
        for (size_t l = 0; l < contents->num_layers; l++) {
            const liana__hdf5_layer *layer = &contents->layers[l];
            for (size_t w = 0; w < layer->num_weights; w++) {
                const liana__hdf5_weight *weight = &layer->weights[w];
                float *values = malloc(weight->data.num_elements * sizeof *values);
                assert_ok(liana__hdf5_read(file, weight, values, &error), &error);
                crc = crc32_z(crc, (const Bytef *)values, weight->data.num_elements * sizeof *values);
                num_elements += weight->data.num_elements;
                free(values);
            }
        }
        assert_int_equal(num_elements, files[i].num_elements);
        assert_int_equal(crc, files[i].crc);
        liana__hdf5_close(file);
    }
}

static void test_names_and_shapes_of_real_files(void **state)
{
    (void)state;
    liana__hdf5 *file = open_file(liana__test_data(mobilenet_v1));
    const liana__hdf5_layer *layer = liana__test_find_layer(file, "conv_preds");
    assert_non_null(layer);
    assert_int_equal(layer->num_weights, 2);
    assert_string_equal(layer->weights[0].name, "conv_preds/kernel:0");
    assert_string_equal(layer->weights[0].layer, "conv_preds");
    assert_string_equal(layer->weights[0].data.dtype, "float32");
    assert_int_equal(layer->weights[0].data.rank, 4);
    assert_int_equal(layer->weights[0].data.shape[2], 256);
    assert_int_equal(layer->weights[0].data.shape[3], 1000);
    assert_string_equal(layer->weights[1].name, "conv_preds/bias:0");
    assert_null(liana__test_find_layer(file, "conv"));
    liana__hdf5_close(file);

    file = open_file(liana__test_data(keras1));
    layer = liana__test_find_layer(file, "dense_2");
    assert_string_equal(layer->weights[0].name, "dense_2_W");
    assert_int_equal(layer->weights[0].data.shape[0], 6);
    assert_int_equal(layer->weights[1].data.shape[0], 10);
    assert_int_equal(liana__test_find_layer(file, "activation_1")->num_weights, 0);
    liana__hdf5_close(file);
}

static const float kernel[6] = {1, -2, 3.5f, 0, 1e-20f, 6}, bias[3] = {7, 8, 9}, count = 5;
static const liana__hdf5_new_weight dense_weights[] = {{"dense/kernel:0", 2, {2, 3}, kernel},
                                                       {"dense/bias:0", 1, {3}, bias}};
static const liana__hdf5_new_weight norm_weights[] = {{"norm/count:0", 0, {0}, &count}, {"norm/empty:0", 1, {0}, NULL}};
static const liana__hdf5_new_layer layers[] = {{"input_1", NULL, 0},
                                               {"dense", dense_weights, 2},
                                               {"block/norm", norm_weights, 2}};

static void check_written(const char *path, const char *model_config)
{
    liana__error error = {0};
    liana__hdf5 *file = open_file(path);
    const liana__hdf5_contents *contents = liana__hdf5_get_contents(file);
    assert_int_equal(contents->num_layers, 3);
    assert_int_equal(contents->num_weights, 4);
    assert_string_equal(contents->layers[0].name, "input_1");
    assert_string_equal(contents->backend, "tensorflow");
    if (model_config) assert_string_equal(contents->model_config, model_config);
    const liana__hdf5_layer *dense = liana__test_find_layer(file, "dense");
    float values[6];
    assert_ok(liana__hdf5_read(file, &dense->weights[0], values, &error), &error);
    assert_memory_equal(values, kernel, sizeof kernel);
    assert_ok(liana__hdf5_read(file, &dense->weights[1], values, &error), &error);
    assert_memory_equal(values, bias, sizeof bias);
    const liana__hdf5_layer *norm = liana__test_find_layer(file, "block/norm");
    assert_ok(liana__hdf5_read(file, &norm->weights[0], values, &error), &error);
    assert_compare(values[0], ==, 5);
    assert_int_equal(norm->weights[1].data.num_elements, 0);
    assert_ok(liana__hdf5_read(file, &norm->weights[1], values, &error), &error);
    liana__hdf5_close(file);
}

static void test_written_files_read_back(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    const char *path = liana__test_path("weights.h5");
    assert_ok(liana__hdf5_write(path, layers, 3, NULL, &error), &error);
    check_written(path, NULL);
    char *first, *second;
    size_t size, other;
    assert_ok(liana__file_read(path, 1 << 20, &first, &size, &error), &error);
    assert_ok(liana__hdf5_write(path, layers, 3, NULL, &error), &error);
    assert_ok(liana__file_read(path, 1 << 20, &second, &other, &error), &error);
    assert_int_equal(size, other);
    assert_memory_equal(first, second, size);
    free(first);
    free(second);
    /* Longer than an attribute of fixed length may be. */
    char *config = malloc(100001);
    memset(config, ' ', 100000);
    config[0] = '{';
    config[99999] = '}';
    config[100000] = 0;
    assert_ok(liana__hdf5_write(path, layers, 3, &(liana__hdf5_description){.model_config = config}, &error), &error);
    check_written(path, config);
    free(config);
}

static void test_long_name_lists_come_in_pieces(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    enum { NUM_LAYERS = 1500 };
    static char names[NUM_LAYERS][80];
    static liana__hdf5_new_layer many[NUM_LAYERS];
    static const liana__hdf5_new_weight weight = {"w:0", 1, {3}, bias};
    for (int i = 0; i < NUM_LAYERS; i++) {
        snprintf(names[i], sizeof names[i], "a_name_as_long_as_those_of_residual_networks_with_many_blocks_%04d", i);
        many[i] = (liana__hdf5_new_layer){names[i], &weight, i % 100 == 0};
    }
    const char *path = liana__test_path("many.h5");
    assert_ok(liana__hdf5_write(path, many, NUM_LAYERS, NULL, &error), &error);
    liana__hdf5 *file = open_file(path);
    const liana__hdf5_contents *contents = liana__hdf5_get_contents(file);
    assert_int_equal(contents->num_layers, NUM_LAYERS);
    assert_int_equal(contents->num_weights, NUM_LAYERS / 100);
    for (int i = 0; i < NUM_LAYERS; i++) assert_string_equal(contents->layers[i].name, names[i]);
    liana__hdf5_close(file);
    /* Through libhdf5 itself: 1500 x 65 bytes need two pieces. */
    hid_t raw = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), root = H5Gopen2(raw, "/", H5P_DEFAULT);
    assert_compare(H5Aexists(root, "layer_names"), ==, 0);
    assert_compare(H5Aexists(root, "layer_names0"), >, 0);
    assert_compare(H5Aexists(root, "layer_names1"), >, 0);
    assert_compare(H5Aexists(root, "layer_names2"), ==, 0);
    H5Gclose(root);
    H5Fclose(raw);
}

static void test_writer_refuses_bad_contents(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    const char *path = liana__test_path("bad.h5");
    const liana__hdf5_new_layer twice[] = {layers[1], layers[1]}, unnamed[] = {{"", NULL, 0}};
    assert_fails(liana__hdf5_write(path, twice, 2, NULL, &error), LIANA_INVALID_ARGUMENT, &error, "bad.h5", "'dense'");
    assert_fails(liana__hdf5_write(path, unnamed, 1, NULL, &error), LIANA_INVALID_ARGUMENT, &error, "empty");
    const liana__hdf5_new_weight negative = {"w:0", 1, {-1}, bias};
    const liana__hdf5_new_layer layer = {"dense", &negative, 1};
    assert_fails(liana__hdf5_write(path, &layer, 1, NULL, &error), LIANA_INVALID_ARGUMENT, &error, "'dense/w:0'");
    assert_false(liana__file_exists(path));
    assert_fails(liana__hdf5_write(liana__test_path("no/such.h5"), layers, 3, NULL, &error), LIANA_NOT_FOUND, &error,
                 "no/such.h5");
}

/* --- Variants that other programs write, and traps, made with libhdf5 itself ------------------------------------- */

static void put_names(hid_t object, const char *attribute, const char *const *names, hsize_t num_names)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &num_names, NULL);
    H5Tset_size(type, H5T_VARIABLE);
    hid_t handle = H5Acreate2(object, attribute, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_compare(H5Awrite(handle, type, names), >=, 0);
    H5Aclose(handle);
    H5Sclose(space);
    H5Tclose(type);
}

/* A file with one layer "dense" and its weight "w", a 4x2 dataset of that type and with those properties. */
static void make_variant(const char *path, bool newest, const char *group_name, hid_t type, hid_t properties,
                         const void *values)
{
    static const hsize_t dims[2] = {4, 2};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (newest) assert_compare(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), >=, 0);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    hid_t top = strcmp(group_name, "/") == 0 ? H5Gopen2(file, "/", H5P_DEFAULT)
                                             : H5Gcreate2(file, group_name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = H5Gcreate2(top, "dense", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, dims, NULL);
    hid_t dataset = H5Dcreate2(group, "w", type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    assert_compare(dataset, >=, 0);
    if (values) assert_compare(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), >=, 0);
    put_names(top, "layer_names", (const char *const[]){"dense"}, 1);
    put_names(group, "weight_names", (const char *const[]){"w"}, 1);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Gclose(group);
    H5Gclose(top);
    H5Fclose(file);
}

static void check_variant(const char *path, const char *dtype)
{
    liana__error error = {0};
    liana__hdf5 *file = open_file(path);
    const liana__hdf5_layer *layer = liana__test_find_layer(file, "dense");
    assert_string_equal(layer->weights[0].data.dtype, dtype);
    float values[8];
    assert_ok(liana__hdf5_read(file, &layer->weights[0], values, &error), &error);
    for (int i = 0; i < 8; i++) assert_compare(values[i], ==, (float)(i * 3 - 5), i);
    liana__hdf5_close(file);
}

/* The same file as libhdf5 writes it by default, and in its newest layout, which is left to libhdf5. */
static void check_both(const char *group_name, hid_t type, hid_t properties, const void *values, const char *dtype)
{
    const char *path = liana__test_path("variant.h5");
    for (int newest = 0; newest < 2; newest++) {
        make_variant(path, newest, group_name, type, properties, values);
        check_variant(path, dtype);
    }
}

static void test_variants_are_read(void **state)
{
    (void)state;
    liana__test_folder();
    double doubles[8];
    int32_t integers[8];
    float floats[8];
    int8_t bytes[8];
    uint16_t halves[8] = {0xc500, 0xc000, 0x3c00, 0x4400, 0x4700, 0x4900, 0x4a80, 0x4c00};
    for (int i = 0; i < 8; i++) doubles[i] = integers[i] = bytes[i] = (int8_t)(floats[i] = (float)(i * 3 - 5));
    check_both("/", H5T_NATIVE_FLOAT, H5P_DEFAULT, floats, "float32");
    check_both("/", H5T_NATIVE_DOUBLE, H5P_DEFAULT, doubles, "float64");
    check_both("model_weights", H5T_NATIVE_INT32, H5P_DEFAULT, integers, "int32");
    check_both("/", H5T_NATIVE_INT8, H5P_DEFAULT, bytes, "int8");
    for (int i = 0; i < 8; i++) integers[i] = (int32_t)__builtin_bswap32((uint32_t)integers[i]);
    check_both("/", H5T_STD_I32BE, H5P_DEFAULT, integers, "int32");
    hid_t half = H5Tcopy(H5T_IEEE_F32LE);
    assert_compare(H5Tset_fields(half, 15, 10, 5, 0, 10), >=, 0);
    assert_compare(H5Tset_size(half, 2), >=, 0);
    assert_compare(H5Tset_ebias(half, 15), >=, 0);
    check_both("/", half, H5P_DEFAULT, halves, "float16");
    H5Tclose(half);
}

static void test_chunks_and_filters_are_undone(void **state)
{
    (void)state;
    liana__test_folder();
    double doubles[8];
    for (int i = 0; i < 8; i++) doubles[i] = i * 3 - 5;
    static const hsize_t chunks[][2] = {{4, 2}, {3, 2}, {1, 1}, {3, 1}, {2, 2}};
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        for (int filters = 0; filters < 8; filters++) {
            hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
            assert_compare(H5Pset_chunk(properties, 2, chunks[i]), >=, 0, i);
            if (filters & 1) assert_compare(H5Pset_shuffle(properties), >=, 0);
            if (filters & 2) assert_compare(H5Pset_deflate(properties, 6), >=, 0);
            if (filters & 4) assert_compare(H5Pset_fletcher32(properties), >=, 0);
            check_both("/", H5T_NATIVE_DOUBLE, properties, doubles, "float64");
            H5Pclose(properties);
        }
    }
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    assert_compare(H5Pset_layout(properties, H5D_COMPACT), >=, 0);
    check_both("/", H5T_NATIVE_DOUBLE, properties, doubles, "float64");
    H5Pclose(properties);
}

static void check_outside(bool newest)
{
    liana__error error = {0};
    liana__hdf5 *file;
    const char *path = liana__test_path("outside.h5"), *secret = liana__test_write("secret", (double[8]){0}, 64);
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    assert_compare(H5Pset_external(properties, secret, 0, 64), >=, 0);
    make_variant(path, newest, "/", H5T_NATIVE_DOUBLE, properties, NULL);
    H5Pclose(properties);
    assert_fails(liana__hdf5_open(path, &file, &error), LIANA_INVALID_DATA, &error, "outside.h5", "dense", "w'",
                 "outside of the file");
    const char *other = liana__test_path("other.h5");
    make_variant(other, newest, "/", H5T_NATIVE_FLOAT, H5P_DEFAULT, NULL);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (newest) assert_compare(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), >=, 0);
    hid_t raw = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access), root = H5Gopen2(raw, "/", H5P_DEFAULT);
    put_names(root, "layer_names", (const char *const[]){"dense"}, 1);
    assert_compare(H5Lcreate_external(other, "/dense", raw, "dense", H5P_DEFAULT, H5P_DEFAULT), >=, 0);
    H5Gclose(root);
    H5Fclose(raw);
    H5Pclose(access);
    liana_status status = liana__hdf5_open(path, &file, &error);
    if (status != LIANA_INVALID_DATA) assert_int_equal(status, LIANA_UNIMPLEMENTED);
    assert_says(error.message, "outside.h5");
}

static void test_weights_outside_of_the_file_are_refused(void **state)
{
    (void)state;
    liana__test_folder();
    check_outside(false);
    check_outside(true);
}

/* By hdf5_links.py: a link within the file, and groups of a newer layout in a file of the classic one. */
static void test_newer_parts_of_classic_files_are_read(void **state)
{
    (void)state;
    static const char *const names[] = {"hdf5_soft_link.h5", "hdf5_ordered.h5"};
    for (size_t i = 0; i < 2; i++) {
        char path[1024];
        liana__error error = {0};
        float values[6];
        snprintf(path, sizeof path, "%s/tests/samples/%s", LIANA_SOURCE_DIR, names[i]);
        liana__hdf5 *file = open_file(path);
        const liana__hdf5_contents *contents = liana__hdf5_get_contents(file);
        assert_compare(contents->num_layers, ==, 1);
        assert_compare(contents->num_weights, ==, 1);
        assert_string_equal(contents->layers[0].weights[0].name, "a/kernel:0");
        assert_compare(contents->layers[0].weights[0].data.num_elements, ==, 6);
        assert_ok(liana__hdf5_read(file, &contents->layers[0].weights[0], values, &error), &error);
        for (int k = 0; k < 6; k++) assert_compare(values[k], ==, (float)k, k);
        liana__hdf5_close(file);
    }
}

static void test_bad_files_are_named(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__hdf5 *file;
    liana__test_folder();
    assert_fails(liana__hdf5_open(liana__test_path("none.h5"), &file, &error), LIANA_NOT_FOUND, &error, "none.h5");
    assert_fails(liana__hdf5_open(liana__test_write("a.h5", "", 0), &file, &error), LIANA_INVALID_DATA, &error, "a.h5",
                 "not an HDF5 file");
    assert_fails(liana__hdf5_open(liana__test_write("a.h5", "PK\3\4....", 8), &file, &error), LIANA_DATA_LOSS, &error,
                 "a.h5", "zip archive is cut");
    const char *path = liana__test_path("b.h5");
    hid_t raw = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(raw);
    assert_fails(liana__hdf5_open(path, &file, &error), LIANA_INVALID_DATA, &error, "b.h5", "layer_names");
    raw = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t root = H5Gopen2(raw, "/", H5P_DEFAULT);
    put_names(root, "layer_names", (const char *const[]){"dense_7"}, 1);
    H5Gclose(root);
    H5Fclose(raw);
    assert_fails(liana__hdf5_open(path, &file, &error), LIANA_INVALID_DATA, &error, "'dense_7'", "does not hold");
    raw = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    root = H5Gcreate2(raw, "dense_7", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put_names(root, "weight_names", (const char *const[]){"gone:0"}, 1);
    H5Gclose(root);
    H5Fclose(raw);
    assert_fails(liana__hdf5_open(path, &file, &error), LIANA_INVALID_DATA, &error, "'dense_7'", "'gone:0'");
}

static void test_truncated_files_are_refused(void **state)
{
    (void)state;
    liana__error error = {0};
    char *bytes;
    size_t size;
    assert_ok(liana__file_read(liana__test_data(keras1), 1 << 24, &bytes, &size, &error), &error);
    liana__test_folder();
    for (size_t length = 0; length < size; length += size / 61) {
        const char *path = liana__test_write("cut.h5", bytes, length);
        liana__hdf5 *file;
        liana_status status = liana__hdf5_open(path, &file, &error);
        if (status != LIANA_DATA_LOSS) assert_int_equal(status, LIANA_INVALID_DATA);
        assert_says(error.message, "cut.h5");
    }
    free(bytes);
}

/* Thousands of damaged copies of a file whose layout is that of nearly all Keras files: structure, names and arrays. */
static void damage(const char *source, int copies, int least_refused)
{
    liana__error error = {0};
    char *bytes;
    size_t size;
    assert_ok(liana__file_read(source, 1 << 24, &bytes, &size, &error), &error);
    uint8_t *copy = malloc(size);
    liana__philox_key key = liana__philox_make_key(1, LIANA__STREAM_TEST, 0);
    int refused = 0;
    for (int i = 0; i < copies; i++) {
        memcpy(copy, bytes, size);
        for (int change = 0; change <= i % 4; change++) {
            uint32_t draw[4];
            liana__philox(key, (uint32_t[4]){(uint32_t)i, (uint32_t)change}, draw);
            copy[draw[0] % size] = (uint8_t)(draw[2] % 4 ? draw[1] : 0xff * (draw[1] & 1));
        }
        refused += !liana__try_hdf5(copy, size);
    }
    assert_compare(refused, >=, least_refused);
    free(copy);
    free(bytes);
}

static void test_damaged_files_never_crash(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    const char *source = liana__test_path("a.h5");
    assert_ok(liana__hdf5_write(source, layers, 3, &(liana__hdf5_description){.model_config = "{}"}, &error), &error);
    damage(source, 4000, 500);
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    static const hsize_t chunk[2] = {3, 1};
    assert_compare(H5Pset_chunk(properties, 2, chunk), >=, 0);
    assert_compare(H5Pset_shuffle(properties), >=, 0);
    assert_compare(H5Pset_deflate(properties, 6), >=, 0);
    make_variant(source, false, "/", H5T_NATIVE_DOUBLE, properties, (double[8]){1, 2, 3});
    H5Pclose(properties);
    damage(source, 4000, 500);
}

static void test_damaged_real_files_never_crash(void **state)
{
    (void)state;
    const char *source = liana__test_data(keras1);
    liana__test_folder();
    damage(source, 1000, 20);
}

#else

static void test_a_build_without_hdf5_reads_real_files_and_says_what_it_cannot(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__hdf5 *file;
    assert_fails(liana__hdf5_write("x.h5", NULL, 0, NULL, &error), LIANA_UNIMPLEMENTED, &error, "x.h5", "LIANA_HDF5");
    liana__test_folder();
    const char *path = liana__test_write("new.h5", "\x89HDF\r\n\x1a\n\2........", 17);
    assert_fails(liana__hdf5_open(path, &file, &error), LIANA_UNIMPLEMENTED, &error, "new.h5", "LIANA_HDF5");
    path = liana__test_data("keras_files/keras1_to_json/my_nn_weights.h5");
    assert_ok(liana__hdf5_open(path, &file, &error), &error);
    assert_int_equal(liana__hdf5_get_contents(file)->num_weights, 8);
    liana__hdf5_close(file);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef LIANA_HAVE_HDF5
        cmocka_unit_test(test_real_files_read_as_h5py_reads_them),
        cmocka_unit_test(test_names_and_shapes_of_real_files),
        cmocka_unit_test(test_written_files_read_back),
        cmocka_unit_test(test_long_name_lists_come_in_pieces),
        cmocka_unit_test(test_writer_refuses_bad_contents),
        cmocka_unit_test(test_variants_are_read),
        cmocka_unit_test(test_chunks_and_filters_are_undone),
        cmocka_unit_test(test_weights_outside_of_the_file_are_refused),
        cmocka_unit_test(test_newer_parts_of_classic_files_are_read),
        cmocka_unit_test(test_bad_files_are_named),
        cmocka_unit_test(test_truncated_files_are_refused),
        cmocka_unit_test(test_damaged_files_never_crash),
        cmocka_unit_test(test_damaged_real_files_never_crash),
#else
        cmocka_unit_test(test_a_build_without_hdf5_reads_real_files_and_says_what_it_cannot),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
