/* Files of numpy, read: the bytes that numpy 2.4 writes, both orders, both byte orders, damaged and hostile ones. */
#include "harness/harness.h"

#include "base/file.h"
#include "formats/npy.h"
#include "harness/mutate.h"

#include <stdlib.h>
#include <string.h>

static liana__error error;

/* The file of a header, as numpy pads it, and of values. Returns its path. */
static const char *write_array(int version, const char *header, const void *values, size_t size)
{
    static char bytes[4096];
    const size_t prefix = version == 1 ? 10 : 12, length = strlen(header);
    const size_t padded = (prefix + length + 1 + 63) / 64 * 64 - prefix;
    memset(bytes, ' ', sizeof bytes);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (char)version;
    bytes[7] = 0;
    bytes[8] = (char)padded;
    bytes[9] = (char)(padded >> 8);
    if (version > 1) bytes[10] = bytes[11] = 0;
    memcpy(bytes + prefix, header, length);
    bytes[prefix + padded - 1] = '\n';
    memcpy(bytes + prefix + padded, values, size);
    return liana__test_write("a.npy", bytes, prefix + padded + size);
}

static const float numbers[6] = {0, 1, 2, 3, 4, 5.5f};

/* numpy.save("a.npy", numpy.arange(...)) begins so: checked byte by byte against numpy's own file. */
static void test_numpys_own_bytes(void **state)
{
    (void)state;
    liana__test_folder();
    static const char head[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2), }";
    char file[128 + 8];
    memset(file, ' ', sizeof file);
    memcpy(file, head, sizeof head - 1);
    file[127] = '\n';
    memcpy(file + 128, "\x01\x00\xfe\xff\x00\x80\xff\x7f", 8);
    const char *path = liana__test_write("own.npy", file, sizeof file);
    liana__npy_array array;
    int16_t row[2];
    assert_ok(liana__npy_open(path, &array, &error), &error);
    assert_int_equal(array.dtype, LIANA_S16);
    assert_int_equal(array.num_dims, 2);
    assert_int_equal(array.bytes, 8);
    assert_ok(liana__npy_read_row(&array, 0, row, &error), &error);
    assert_int_equal(row[0], 1);
    assert_int_equal(row[1], -2);
    assert_ok(liana__npy_read_row(&array, 1, row, &error), &error);
    assert_int_equal(row[0], -32768);
    assert_int_equal(row[1], 32767);
    liana__npy_close(&array);
    liana__npy_close(&array);
}

/* What liana writes, it reads. */
static void test_its_own_files(void **state)
{
    (void)state;
    liana__test_folder();
    liana__npy npy;
    liana__npy_array array;
    const int64_t dims[] = {3};
    float row[3];
    const char *path = liana__test_path("w.npy");
    assert_ok(liana__npy_begin(&npy, path, dims, 1, &error), &error);
    assert_ok(liana__npy_write(&npy, numbers, 2, &error), &error);
    assert_ok(liana__npy_finish(&npy, &error), &error);
    assert_ok(liana__npy_open(path, &array, &error), &error);
    assert_int_equal(array.dims[0], 2);
    assert_int_equal(array.row_values, 3);
    assert_ok(liana__npy_read_row(&array, 1, row, &error), &error);
    assert_memory_equal(row, numbers + 3, sizeof row);
    liana__npy_close(&array);
}

/* The array [[0 1 2] [3 4 5.5]] in Fortran's order is 0 3 1 4 2 5.5 in the file. */
static void test_both_orders(void **state)
{
    (void)state;
    liana__test_folder();
    static const float columns[6] = {0, 3, 1, 4, 2, 5.5f};
    static const char header[] = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }";
    liana__npy_array array;
    float row[3];
    for (int version = 1; version <= 3; version++) {
        assert_ok(liana__npy_open(write_array(version, header, columns, sizeof columns), &array, &error), &error);
        for (int i = 0; i < 2; i++) {
            assert_ok(liana__npy_read_row(&array, i, row, &error), &error);
            assert_memory_equal(row, numbers + 3 * i, sizeof row);
        }
        liana__npy_close(&array);
    }
    /* Three axes: [2, 2, 2] of 0 to 7 in C order is 0 4 2 6 1 5 3 7 in Fortran's. */
    static const uint8_t cube[] = {0, 4, 2, 6, 1, 5, 3, 7};
    uint8_t plane[4];
    assert_ok(liana__npy_open(write_array(1, "{'shape': (2,2,2), 'fortran_order': True, \"descr\": '|u1'}", cube, 8),
                              &array, &error),
              &error);
    assert_ok(liana__npy_read_row(&array, 1, plane, &error), &error);
    for (int i = 0; i < 4; i++) assert_int_equal(plane[i], 4 + i);
    liana__npy_close(&array);
}

static void test_big_endian_numbers(void **state)
{
    (void)state;
    liana__test_folder();
    liana__npy_array array;
    double row[1];
    static const char header[] = "{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }";
    assert_ok(liana__npy_open(write_array(1, header, "\xc0\x04\0\0\0\0\0\0", 8), &array, &error), &error);
    assert_ok(liana__npy_read_row(&array, 0, row, &error), &error);
    assert_near(row[0], -2.5, 0);
    liana__npy_close(&array);
}

#define SHAPE(text) "{'descr': '<f4', 'fortran_order': False, 'shape': " text ", }"

static void test_what_is_refused(void **state)
{
    (void)state;
    liana__test_folder();
    static const struct {
        const char *header;
        liana_status status;
        const char *says;
    } cases[] = {
        {SHAPE("(2, 4)"), LIANA_DATA_LOSS, "truncated"},
        {SHAPE("(4294967296, 4294967296)"), LIANA_INVALID_DATA, "damaged"},
        {SHAPE("(9223372036854775807, 3, 0)"), LIANA_INVALID_DATA, "damaged"},
        {SHAPE("(99999999999999999999,)"), LIANA_INVALID_DATA, "2^63"},
        {SHAPE("(-2, 3)"), LIANA_INVALID_DATA, "a length"},
        {SHAPE("(2; 3)"), LIANA_INVALID_DATA, "a comma"},
        {SHAPE("7"), LIANA_INVALID_DATA, "a shape"},
        {SHAPE("(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), LIANA_INVALID_DATA, "a length"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", LIANA_UNIMPLEMENTED, "run code"},
        {"{'descr': '<U3', 'fortran_order': False, 'shape': (1,), }", LIANA_UNIMPLEMENTED, "'<U3'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", LIANA_UNIMPLEMENTED, "fields"},
        {"{'descr': '', 'fortran_order': False, 'shape': (1,), }", LIANA_UNIMPLEMENTED, "''"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", LIANA_INVALID_DATA, "True or False"},
        {"{'descr': '<f4', 'shape': (1,), }", LIANA_INVALID_DATA, "lacks"},
        {"{'descr': '<f4', 'evil': 1}", LIANA_INVALID_DATA, "'fortran_order'"},
        {"__import__('os')", LIANA_INVALID_DATA, "expected {"},
        {"{'descr': '<f4", LIANA_INVALID_DATA, "a dtype"},
        {"", LIANA_INVALID_DATA, "expected {"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__npy_array array;
        const char *path = write_array(1, cases[i].header, numbers, sizeof numbers);
        assert_fails(liana__npy_open(path, &array, &error), cases[i].status, &error, "a.npy", cases[i].says);
        liana__npy_close(&array);
    }
    liana__npy_array array;
    assert_fails(liana__npy_open(liana__test_path("none.npy"), &array, &error), LIANA_NOT_FOUND, &error, "none.npy");
    assert_fails(liana__npy_open(liana__test_path("."), &array, &error), LIANA_IO_ERROR, &error, "regular");
    assert_fails(liana__npy_open(liana__test_write("s.npy", "\x93NUM", 4), &array, &error), LIANA_INVALID_DATA, &error,
                 "s.npy");
    assert_fails(liana__npy_open(liana__test_write("h.npy", "\x93NUMPY\2\0\xff\xff\xff\xff", 12), &array, &error),
                 LIANA_INVALID_DATA, &error, "4294967295");
    assert_fails(liana__npy_open(liana__test_write("h.npy", "\x93NUMPY\1\0\x76\0{'d", 13), &array, &error),
                 LIANA_DATA_LOSS, &error, "truncated");
    /* An array without an axis, and one without a row. */
    assert_ok(liana__npy_open(write_array(1, SHAPE("()"), numbers, 4), &array, &error), &error);
    assert_int_equal(array.num_dims, 0);
    liana__npy_close(&array);
    assert_ok(liana__npy_open(write_array(1, SHAPE("(0, 3)"), numbers, 0), &array, &error), &error);
    assert_int_equal(array.bytes, 0);
    liana__npy_close(&array);
}

/* Every damaged copy is read, or refused with a message; what is read stays inside the file. */
static void test_damaged_copies(void **state)
{
    (void)state;
    liana__test_folder();
    char *good;
    size_t size, opened = 0;
    assert_ok(liana__file_read(write_array(1, SHAPE("(2, 3)"), numbers, sizeof numbers), 1 << 20, &good, &size, &error),
              &error);
    for (uint32_t i = 0; i < 4000; i++) {
        size_t mutated_size;
        char *mutated = liana__test_mutate(good, size, "'(),0123456789<>fiub{}:TrueFalse", 1, i, &mutated_size);
        const char *path = liana__test_write("m.npy", mutated, mutated_size);
        liana__npy_array array;
        error = (liana__error){0};
        free(mutated);
        if (liana__npy_open(path, &array, &error) != LIANA_OK) {
            assert_says(error.message, "m.npy");
            continue;
        }
        opened++;
        assert_compare(array.begin + array.bytes, <=, mutated_size, i);
        void *row = malloc((size_t)array.row_values * liana_dtype_size(array.dtype) + 1);
        for (int64_t k = 0; array.num_dims && k < array.dims[0]; k++) {
            assert_ok(liana__npy_read_row(&array, k, row, &error), &error);
        }
        free(row);
        liana__npy_close(&array);
    }
    assert_compare(opened, >, 100);
    free(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numpys_own_bytes), cmocka_unit_test(test_its_own_files),
        cmocka_unit_test(test_both_orders),      cmocka_unit_test(test_big_endian_numbers),
        cmocka_unit_test(test_what_is_refused),  cmocka_unit_test(test_damaged_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
