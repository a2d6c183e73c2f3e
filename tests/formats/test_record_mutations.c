/* Thousands of damaged files, the same ones in each run: no reader may do worse than refuse. Run under the sanitizers
 * (make asan) this also finds faults that the eye does not. */
#include "harness/gzip_file.h"
#include "harness/harness.h"

#include "base/crc32c.h"
#include "base/file.h"
#include "formats/example.h"
#include "formats/tfrecord.h"
#include "harness/try/mutants.h"
#include "harness/try/try_bytes.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MUTANTS = 4000, MAX_SIZE = LIANA__MUTANT_ROOM };

/* Some of the mutants must be refused, or the mutations do nothing. */
static void try_mutants(const uint8_t *bytes, size_t size, bool (*try_bytes)(const uint8_t *, size_t))
{
    liana__test_mutants(bytes, size, MUTANTS, try_bytes);
}

/* A few records of Examples: short lists, an "image" of bytes, names; also one that is no Example. */
static size_t make_records(uint8_t out[MAX_SIZE], bool compress)
{
    liana__error error = {0};
    liana__example_builder builder = {0};
    liana__tfrecord_writer writer;
    liana__test_folder();
    const char *path = liana__test_path("seed.tfrec");
    assert_ok(liana__tfrecord_writer_begin(&writer, path, &error), &error);
    for (int64_t i = 0; i < 4; i++) {
        const float floats[] = {1, 2, 3};
        liana__example_add_bytes(&builder, "image", "\xff\xd8\xff\xe0 not really", 15);
        liana__example_add_int64s(&builder, "class", &i, 1);
        liana__example_add_floats(&builder, "box", floats, 3);
        const uint8_t *bytes;
        size_t size;
        assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
        assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
    }
    assert_ok(liana__tfrecord_writer_add(&writer, "plain", 5, &error), &error);
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    liana__example_builder_free(&builder);
    if (compress) liana__test_gzip(path);
    char *data;
    size_t size;
    assert_ok(liana__file_read(path, MAX_SIZE, &data, &size, &error), &error);
    memcpy(out, data, size);
    free(data);
    return size;
}

static void test_tfrecord(void **state)
{
    (void)state;
    uint8_t bytes[MAX_SIZE];
    size_t size = make_records(bytes, false);
    try_mutants(bytes, size, liana__try_tfrecord);
    try_mutants(bytes, size, liana__try_tfrecord_repaired);
}

static void test_compressed_tfrecord(void **state)
{
    (void)state;
    uint8_t bytes[MAX_SIZE], packed[MAX_SIZE];
    size_t size = make_records(bytes, true);
    try_mutants(bytes, size, liana__try_tfrecord);
    try_mutants(bytes, size, liana__try_gzip_index);
    uLongf packed_size = sizeof packed;
    size = make_records(bytes, false);
    assert_int_equal(compress(packed, &packed_size, bytes, size), Z_OK);
    try_mutants(packed, packed_size, liana__try_tfrecord);
}

static void test_example(void **state)
{
    (void)state;
    uint8_t bytes[MAX_SIZE];
    make_records(bytes, false);
    /* The first record, without its frame. */
    try_mutants(bytes + 12, bytes[0], liana__try_example);
}

/* tf.train.SequenceExample of TensorFlow 2.21, serialised: context id 7, tags a and bc; words [1], [2, 3], [],
 * [4, 5, 6], xy [1, 2], [3, 4]. */
static void test_sequence_example(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x0a, 0x20, 0x0a, 0x0b, 0x0a, 0x02, 0x69, 0x64, 0x12, 0x05, 0x1a, 0x03, 0x0a, 0x01,
                                    0x07, 0x0a, 0x11, 0x0a, 0x04, 0x74, 0x61, 0x67, 0x73, 0x12, 0x09, 0x0a, 0x07, 0x0a,
                                    0x01, 0x61, 0x0a, 0x02, 0x62, 0x63, 0x12, 0x4b, 0x0a, 0x25, 0x0a, 0x05, 0x77, 0x6f,
                                    0x72, 0x64, 0x73, 0x12, 0x1c, 0x0a, 0x05, 0x1a, 0x03, 0x0a, 0x01, 0x01, 0x0a, 0x06,
                                    0x1a, 0x04, 0x0a, 0x02, 0x02, 0x03, 0x0a, 0x02, 0x1a, 0x00, 0x0a, 0x07, 0x1a, 0x05,
                                    0x0a, 0x03, 0x04, 0x05, 0x06, 0x0a, 0x22, 0x0a, 0x02, 0x78, 0x79, 0x12, 0x1c, 0x0a,
                                    0x0c, 0x12, 0x0a, 0x0a, 0x08, 0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0x40, 0x0a,
                                    0x0c, 0x12, 0x0a, 0x0a, 0x08, 0x00, 0x00, 0x40, 0x40, 0x00, 0x00, 0x80, 0x40};
    try_mutants(bytes, sizeof bytes, liana__try_example);
}

static void test_idx(void **state)
{
    (void)state;
    uint8_t bytes[16 + 3 * 5 * 7] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 7};
    try_mutants(bytes, sizeof bytes, liana__try_idx);
    liana__test_folder();
    const char *path = liana__test_path("seed.gz");
    gzFile file = gzopen(path, "wb");
    gzwrite(file, bytes, sizeof bytes);
    gzclose(file);
    liana__error error = {0};
    char *packed;
    size_t size;
    assert_ok(liana__file_read(path, MAX_SIZE, &packed, &size, &error), &error);
    try_mutants((uint8_t *)packed, size, liana__try_idx);
    free(packed);
}

static void test_csv(void **state)
{
    (void)state;
    static const char text[] = "path,label,id\n\"a, \"\"b\"\".jpg\",3,x\r\nc.jpg,4,\"two\nlines\"\n\nd.jpg,5,\n";
    try_mutants((const uint8_t *)text, sizeof text - 1, liana__try_csv);
    try_mutants((const uint8_t *)text, sizeof text - 1, liana__try_csv_table);
}

/* A header of ustar with a right checksum, in front of `size` bytes that the caller fills in. */
static void put_tar_header(uint8_t *header, const char *name, char type, unsigned size)
{
    snprintf((char *)header, 100, "%s", name);
    snprintf((char *)header + 124, 12, "%011o", size);
    memcpy(header + 257, "ustar\00000", 8);
    header[156] = (uint8_t)type;
    memset(header + 148, ' ', 8);
    unsigned sum = 0;
    for (int i = 0; i < 512; i++) sum += header[i];
    snprintf((char *)header + 148, 8, "%06o", sum);
}

static void test_tar(void **state)
{
    (void)state;
    static uint8_t bytes[7 * 512];
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes + 512, "14 path=a/b.c\n11 size=10\n", 25);
    put_tar_header(bytes, "extended", 'x', 25);
    put_tar_header(bytes + 1024, "short.jpg", '0', 10);
    memcpy(bytes + 1536, "0123456789", 10);
    put_tar_header(bytes + 2048, "folder/", '5', 0);
    try_mutants(bytes, sizeof bytes, liana__try_tar);
    try_mutants(bytes, sizeof bytes, liana__try_tar_repaired);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tfrecord), cmocka_unit_test(test_compressed_tfrecord),
        cmocka_unit_test(test_example),  cmocka_unit_test(test_sequence_example),
        cmocka_unit_test(test_idx),      cmocka_unit_test(test_csv),
        cmocka_unit_test(test_tar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
