/* HDF5 files as trees: what libhdf5 wrote is read, in the classic layout and in newer ones, and hostile files harm
 * nobody. */
#include "harness/harness.h"

#include "base/file.h"
#include "base/random.h"
#include "formats/hdf5.h"
#include "harness/try/try_weights.h"

#include <stdlib.h>
#include <string.h>

#ifdef LIANA_HAVE_HDF5
#include <hdf5.h>

static liana__error error;

/* ---- files of libhdf5's own ---- */

static hid_t create(const char *path, bool newest)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (newest) assert_compare(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), >=, 0);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    assert_compare(file, >=, 0);
    H5Pclose(access);
    return file;
}

static void put_dataset(hid_t file, const char *path, hid_t type, int rank, const hsize_t *dims, const void *values)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE), space = rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
    H5Pset_create_intermediate_group(links, 1);
    hid_t dataset = H5Dcreate2(file, path, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
    assert_compare(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), >=, 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(links);
}

static void put_text(hid_t file, const char *path, const char *name, const char *text)
{
    hid_t object = H5Oopen(file, path, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text));
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_compare(H5Awrite(attribute, type, text), >=, 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    H5Oclose(object);
}

static const hsize_t two_by_three[2] = {2, 3};
static const float floats[6] = {1, -2, 3.5f, 0, 1e-20f, 6};
static const int64_t large[3] = {INT64_MAX, INT64_MIN, (1 << 24) + 1};

static const char *make_tree(bool newest)
{
    const char *path = liana__test_path(newest ? "new.h5" : "old.h5");
    hid_t file = create(path, newest);
    put_dataset(file, "layers/dense_10/vars/0", H5T_IEEE_F32LE, 2, two_by_three, floats);
    put_dataset(file, "layers/dense_2/vars/0", H5T_IEEE_F32LE, 2, two_by_three, floats);
    put_dataset(file, "optimizer/vars/0", H5T_STD_I64LE, 0, NULL, &large[2]);
    put_dataset(file, "optimizer/vars/1", H5T_STD_I64BE, 1, (const hsize_t[]){3},
                (const int64_t[]){(int64_t)__builtin_bswap64((uint64_t)large[0]),
                                  (int64_t)__builtin_bswap64((uint64_t)large[1]),
                                  (int64_t)__builtin_bswap64((uint64_t)large[2])});
    /* As h5py writes an array of ml_dtypes.bfloat16. */
    hid_t opaque = H5Tcreate(H5T_OPAQUE, 2);
    H5Tset_tag(opaque, "");
    put_dataset(file, "half", opaque, 1, (const hsize_t[]){3}, (const uint16_t[]){0x3f80, 0xc060, 0x7f80});
    put_dataset(file, "opaque", opaque, 1, (const hsize_t[]){3}, (const uint16_t[]){1, 2, 3});
    put_text(file, "half", "dtype", "bfloat16");
    put_text(file, "layers/dense_2/vars", "name", "out");
    H5Tclose(opaque);
    H5Fclose(file);
    return path;
}

/* ---- reading ---- */

typedef struct found_names {
    char text[256];
} found_names;

static liana_status add_child(void *user, const char *name, liana__hdf5_node child, bool is_group, liana__error *own)
{
    (void)child;
    (void)own;
    found_names *names = user;
    strcat(strcat(names->text, name), is_group ? "/ " : " ");
    return LIANA_OK;
}

static liana_status add_text(void *user, const char *text, size_t length, liana__error *own)
{
    (void)own;
    found_names *names = user;
    strncat(names->text, text, length);
    return LIANA_OK;
}

static liana__hdf5_node find(const liana__hdf5_tree *tree, const char *path)
{
    liana__hdf5_node node;
    assert_ok(liana__hdf5_tree_find(tree, liana__hdf5_tree_root(tree), path, &node, &error), &error);
    return node;
}

static void check_tree(const char *path, bool newest)
{
    liana__hdf5_tree *tree;
    liana__hdf5_data data;
    found_names names = {""}, attribute = {""};
    bool found;
    float values[6];
    int64_t integers[3];
    assert_ok(liana__hdf5_tree_open(path, &tree, &error), &error);
    assert_ok(liana__hdf5_tree_children(tree, liana__hdf5_tree_root(tree), add_child, &names, &error), &error);
    /* libhdf5's copy of a newer layout leaves out what is not made of numbers. */
    assert_string_equal(names.text, newest ? "half layers/ optimizer/ " : "half layers/ opaque optimizer/ ");
    names.text[0] = 0;
    assert_ok(liana__hdf5_tree_children(tree, find(tree, "layers"), add_child, &names, &error), &error);
    assert_string_equal(names.text, "dense_10/ dense_2/ ");
    assert_ok(liana__hdf5_tree_texts(tree, find(tree, "layers/dense_2/vars"), "name", add_text, &attribute, &found,
                                     &error),
              &error);
    assert_true(found);
    assert_string_equal(attribute.text, "out");
    assert_ok(liana__hdf5_tree_texts(tree, find(tree, "layers"), "name", add_text, &attribute, &found, &error), &error);
    assert_false(found);
    liana__hdf5_node node = find(tree, "layers/dense_2/vars/0");
    assert_ok(liana__hdf5_tree_describe(tree, node, &data, &error), &error);
    assert_int_equal(data.num_elements, 6);
    assert_ok(liana__hdf5_tree_read_f32(tree, node, &data, values, &error), &error);
    assert_memory_equal(values, floats, sizeof floats);
    assert_fails(liana__hdf5_tree_read_s64(tree, node, &data, integers, &error), LIANA_INVALID_DATA, &error, "float32");
    node = find(tree, "optimizer/vars/0");
    assert_ok(liana__hdf5_tree_describe(tree, node, &data, &error), &error);
    assert_string_equal(data.dtype, "int64");
    assert_int_equal(data.rank, 0);
    assert_ok(liana__hdf5_tree_read_s64(tree, node, &data, integers, &error), &error);
    assert_compare(integers[0], ==, large[2]);
    node = find(tree, "optimizer/vars/1");
    assert_ok(liana__hdf5_tree_describe(tree, node, &data, &error), &error);
    assert_ok(liana__hdf5_tree_read_s64(tree, node, &data, integers, &error), &error);
    assert_memory_equal(integers, large, sizeof large);
    node = find(tree, "half");
    assert_ok(liana__hdf5_tree_describe(tree, node, &data, &error), &error);
    assert_string_equal(data.dtype, "bfloat16");
    assert_ok(liana__hdf5_tree_read_f32(tree, node, &data, values, &error), &error);
    if (!newest) {
        liana__hdf5_data other;
        assert_fails(liana__hdf5_tree_describe(tree, find(tree, "opaque"), &other, &error), LIANA_INVALID_DATA, &error,
                     "not made of numbers");
    }
    assert_compare(values[0], ==, 1.0f);
    assert_compare(values[1], ==, -3.5f);
    assert_compare(values[2], >, 1e38f);
    liana__hdf5_tree_close(tree);
}

static void test_trees_of_both_layouts_are_read(void **state)
{
    (void)state;
    liana__test_folder();
    check_tree(make_tree(false), false);
    check_tree(make_tree(true), true);
}

static void test_bytes_in_memory_are_read_too(void **state)
{
    (void)state;
    liana__test_folder();
    liana__hdf5_tree *tree;
    char *bytes;
    size_t size;
    assert_ok(liana__file_read(make_tree(true), 1 << 20, &bytes, &size, &error), &error);
    assert_ok(liana__hdf5_tree_take("inside", bytes, size, &tree, &error), &error);
    find(tree, "layers/dense_10/vars/0");
    liana__hdf5_tree_close(tree);
    bytes = malloc(4);
    memcpy(bytes, "none", 4);
    assert_fails(liana__hdf5_tree_take("inside", bytes, 4, &tree, &error), LIANA_INVALID_DATA, &error,
                 "'inside' (4 bytes) is not an HDF5 file");
}

/* ---- hostile files ---- */

static liana_status walk(void *user, const char *name, liana__hdf5_node child, bool is_group, liana__error *own)
{
    int *depth = user;
    (void)name;
    (void)child;
    (void)is_group;
    (void)own;
    ++*depth;
    return LIANA_OK;
}

/* A group that contains itself. */
static void test_circles_of_links_have_an_end(void **state)
{
    (void)state;
    liana__test_folder();
    for (int newest = 0; newest < 2; newest++) {
        liana__hdf5_tree *tree;
        const char *path = liana__test_path("circle.h5");
        hid_t file = create(path, newest);
        hid_t group = H5Gcreate2(file, "layers", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        assert_compare(H5Lcreate_hard(file, "layers", group, "layers", H5P_DEFAULT, H5P_DEFAULT), >=, 0);
        H5Gclose(group);
        H5Fclose(file);
        if (newest) {
            assert_fails(liana__hdf5_tree_open(path, &tree, &error), LIANA_OUT_OF_RANGE, &error, "circle.h5", "levels");
            continue;
        }
        int count = 0;
        assert_ok(liana__hdf5_tree_open(path, &tree, &error), &error);
        assert_ok(liana__hdf5_tree_children(tree, find(tree, "layers/layers/layers"), walk, &count, &error), &error);
        assert_int_equal(count, 1);
        liana__hdf5_tree_close(tree);
        liana__hdf5 *weights;
        assert_fails(liana__hdf5_open(path, &weights, &error), LIANA_OUT_OF_RANGE, &error, "circle.h5", "levels");
    }
}

/* Two links to the group itself make a tree of 2^48 paths; long names make the paths long. */
static void test_wide_circles_have_an_end(void **state)
{
    (void)state;
    liana__test_folder();
    liana__hdf5 *weights;
    static char name[3000];
    memset(name, 'n', sizeof name - 1);
    const char *path = liana__test_path("wide.h5");
    hid_t file = create(path, false), group = H5Gcreate2(file, "layers", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_compare(H5Lcreate_hard(file, "layers", group, name, H5P_DEFAULT, H5P_DEFAULT), >=, 0);
    assert_compare(H5Lcreate_hard(file, "layers", group, "b", H5P_DEFAULT, H5P_DEFAULT), >=, 0);
    H5Gclose(group);
    H5Fclose(file);
    assert_fails(liana__hdf5_open(path, &weights, &error), LIANA_OUT_OF_RANGE, &error, "wide.h5", "levels");
    /* Where the depth has an end by itself, the number of links has. */
    liana__hdf5_tree *tree;
    int count = 0;
    assert_ok(liana__hdf5_tree_open(path, &tree, &error), &error);
    liana_status status = LIANA_OK;
    for (int i = 0; i < 100000 && status == LIANA_OK; i++) {
        status = liana__hdf5_tree_children(tree, find(tree, "layers"), walk, &count, &error);
    }
    assert_fails(status, LIANA_DATA_LOSS, &error, "more links");
    liana__hdf5_tree_close(tree);
}

/* A small file whose array unpacks to more memory than its process may have. */
static void test_arrays_that_unpack_to_too_much_are_refused(void **state)
{
    (void)state;
    liana__test_folder();
    liana__hdf5_tree *tree;
    const char *path = liana__test_path("bomb.h5");
    hid_t file = create(path, true), properties = H5Pcreate(H5P_DATASET_CREATE);
    static const hsize_t dims[1] = {(hsize_t)1 << 29}, chunk[1] = {1 << 20};
    hid_t space = H5Screate_simple(1, dims, NULL);
    assert_compare(H5Pset_chunk(properties, 1, chunk), >=, 0);
    assert_compare(H5Pset_deflate(properties, 9), >=, 0);
    hid_t dataset = H5Dcreate2(file, "bomb", H5T_IEEE_F64LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    H5Dclose(dataset);
    static const char noise[1 << 20];
    put_dataset(file, "padding", H5T_STD_I8LE, 1, (const hsize_t[]){sizeof noise}, noise);
    H5Sclose(space);
    H5Pclose(properties);
    H5Fclose(file);
    assert_fails(liana__hdf5_tree_open(path, &tree, &error), LIANA_OUT_OF_RANGE, &error, "bomb.h5", "MB");
}

/* libhdf5 crashes, runs out of memory or says what is wrong: in its own process. */
static void test_damaged_newer_files_harm_nobody(void **state)
{
    (void)state;
    liana__test_folder();
    char *bytes;
    size_t size;
    int refused = 0;
    assert_ok(liana__file_read(make_tree(true), 1 << 20, &bytes, &size, &error), &error);
    liana__philox_key key = liana__philox_make_key(1, LIANA__STREAM_TEST, 0);
    for (uint32_t i = 0; i < 240; i++) {
        liana__hdf5_tree *tree;
        char *copy = malloc(size);
        memcpy(copy, bytes, size);
        for (uint32_t change = 0; change < 1 + i % 4; change++) {
            uint32_t draw[4];
            liana__philox(key, (uint32_t[4]){i, change}, draw);
            copy[9 + draw[0] % (size - 9)] = (char)draw[1];
        }
        liana_status status = liana__hdf5_tree_take("damaged", copy, size, &tree, &error);
        refused += status != LIANA_OK;
        if (status != LIANA_OK) assert_says(error.message, "'damaged'");
        liana__hdf5_tree_close(tree);
    }
    free(bytes);
    assert_compare(refused, >=, 20);
}

/* ---- writing ---- */

static void test_written_trees_are_libhdf5s(void **state)
{
    (void)state;
    liana__test_folder();
    liana__hdf5_new *tree;
    char *copies[2];
    size_t sizes[2];
    const liana__hdf5_data data = {.dtype = "float32", .rank = 2, .shape = {2, 3}},
                           count = {.dtype = "int64", .rank = 0},
                           halves = {.dtype = "bfloat16", .rank = 1, .shape = {2}};
    for (int i = 0; i < 2; i++) {
        assert_ok(liana__hdf5_new_create("made", &tree, &error), &error);
        assert_ok(liana__hdf5_new_group(tree, "layers/dense/vars", &error), &error);
        assert_ok(liana__hdf5_new_text(tree, "layers/dense/vars", "name", "out", &error), &error);
        assert_ok(liana__hdf5_new_dataset(tree, "layers/dense/vars/0", &data, floats, &error), &error);
        assert_ok(liana__hdf5_new_dataset(tree, "optimizer/vars/0", &count, &large[2], &error), &error);
        assert_ok(liana__hdf5_new_dataset(tree, "half", &halves, (const uint16_t[]){0x3f80, 0xc060}, &error), &error);
        const char *bytes;
        assert_ok(liana__hdf5_new_bytes(tree, &bytes, &sizes[i], &error), &error);
        copies[i] = malloc(sizes[i]);
        memcpy(copies[i], bytes, sizes[i]);
        liana__hdf5_new_free(tree);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(copies[0], copies[1], sizes[0]);
    const char *path = liana__test_write("made.h5", copies[0], sizes[0]);
    free(copies[0]);
    free(copies[1]);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), dataset = H5Dopen2(file, "optimizer/vars/0", H5P_DEFAULT);
    int64_t value = 0;
    assert_compare(H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value), >=, 0);
    assert_compare(value, ==, large[2]);
    H5Dclose(dataset);
    dataset = H5Dopen2(file, "layers/dense/vars/0", H5P_DEFAULT);
    float values[6];
    assert_compare(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), >=, 0);
    assert_memory_equal(values, floats, sizeof floats);
    H5Dclose(dataset);
    dataset = H5Dopen2(file, "half", H5P_DEFAULT);
    assert_compare(H5Aexists(dataset, "dtype"), >, 0);
    H5Dclose(dataset);
    H5Fclose(file);
}

static void test_the_first_error_of_writing_stays(void **state)
{
    (void)state;
    liana__hdf5_new *tree;
    const char *bytes = NULL;
    size_t size;
    const liana__hdf5_data data = {.dtype = "float32", .rank = 1, .shape = {-1}},
                           odd = {.dtype = "complex64", .rank = 0};
    assert_ok(liana__hdf5_new_create("made", &tree, &error), &error);
    assert_fails(liana__hdf5_new_dataset(tree, "a/b", &data, floats, &error), LIANA_INVALID_ARGUMENT, &error, "'made'",
                 "'a/b'", "negative");
    assert_int_equal(liana__hdf5_new_group(tree, "c", &error), LIANA_INVALID_ARGUMENT);
    assert_int_equal(liana__hdf5_new_bytes(tree, &bytes, &size, &error), LIANA_INVALID_ARGUMENT);
    assert_null(bytes);
    liana__hdf5_new_free(tree);
    assert_ok(liana__hdf5_new_create("made", &tree, &error), &error);
    assert_fails(liana__hdf5_new_dataset(tree, "a", &odd, floats, &error), LIANA_INVALID_ARGUMENT, &error, "'a'");
    liana__hdf5_new_free(tree);
    assert_ok(liana__hdf5_new_create("made", &tree, &error), &error);
    assert_ok(liana__hdf5_new_group(tree, "a", &error), &error);
    assert_fails(liana__hdf5_new_group(tree, "a", &error), LIANA_INVALID_ARGUMENT, &error, "'a'");
    liana__hdf5_new_free(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees_of_both_layouts_are_read),
        cmocka_unit_test(test_bytes_in_memory_are_read_too),
        cmocka_unit_test(test_circles_of_links_have_an_end),
        cmocka_unit_test(test_wide_circles_have_an_end),
        cmocka_unit_test(test_arrays_that_unpack_to_too_much_are_refused),
        cmocka_unit_test(test_damaged_newer_files_harm_nobody),
        cmocka_unit_test(test_written_trees_are_libhdf5s),
        cmocka_unit_test(test_the_first_error_of_writing_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
