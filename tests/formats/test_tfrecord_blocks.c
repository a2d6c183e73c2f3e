/* Compressed TFRecord files read in blocks, from the middle of gzip and zlib streams that zlib itself wrote. */
#include "harness/harness.h"

#include "formats/gzip_index.h"
#include "formats/tfrecord.h"

#include <pthread.h>
#include <stdlib.h>
#include <zlib.h>

enum { NUM_RECORDS = 300, SPAN = 40000, LIMIT = 200000 };

/* The bytes of a record: now text that shrinks, now noise that does not, now longer than a block. */
static size_t record_bytes(int record, uint8_t *out)
{
    size_t size = record == 77 ? 150000 : (size_t)(record * 37 % 2500);
    uint32_t word = (uint32_t)record + 1;
    for (size_t i = 0; i < size; i++) {
        word = word * 1664525 + 1013904223;
        out[i] = record % 3 ? (uint8_t)(word >> 24) : (uint8_t)('a' + record % 26);
    }
    return size;
}

/* The plain file's bytes; liana's own writer is tested elsewhere, against TensorFlow's files. */
static char *plain_bytes(size_t *size)
{
    static uint8_t bytes[150000];
    liana__error error = {0};
    liana__tfrecord_writer writer;
    char *data;
    const char *path = liana__test_path("plain.tfrec");
    assert_ok(liana__tfrecord_writer_begin(&writer, path, &error), &error);
    for (int i = 0; i < NUM_RECORDS; i++) {
        size_t length = record_bytes(i, bytes);
        assert_ok(liana__tfrecord_writer_add(&writer, bytes, length, &error), &error);
    }
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    assert_ok(liana__file_read(path, 1 << 24, &data, size, &error), &error);
    return data;
}

/* In `members` members of gzip of nearly equal size. */
static const char *write_gzip(const char *name, const char *mode, const char *data, size_t size, size_t members)
{
    const char *path = liana__test_path(name);
    remove(path);
    for (size_t i = 0; i < members; i++) {
        size_t begin = size * i / members, end = size * (i + 1) / members;
        gzFile file = gzopen(path, mode);
        assert_non_null(file);
        assert_int_equal(gzwrite(file, data + begin, (unsigned)(end - begin)), end - begin);
        assert_int_equal(gzclose(file), Z_OK);
    }
    return path;
}

static const char *write_zlib(const char *name, const char *data, size_t size)
{
    uLongf packed_size = compressBound(size);
    uint8_t *packed = malloc(packed_size);
    assert_int_equal(compress2(packed, &packed_size, (const uint8_t *)data, size, 6), Z_OK);
    const char *path = liana__test_write(name, packed, packed_size);
    free(packed);
    return path;
}

static void check_record(const liana__tfrecord *file, int record, liana__tfrecord_reader *reader)
{
    static _Thread_local uint8_t expected[150000];
    liana__error error = {0};
    const uint8_t *bytes;
    size_t size, wanted = record_bytes(record, expected);
    assert_ok(liana__tfrecord_read(file, (size_t)record, reader, &bytes, &size, &error), &error);
    assert_int_equal(size, wanted);
    if (size) assert_memory_equal(bytes, expected, size);
}

static void check_file(const char *path, size_t least_blocks)
{
    liana__error error = {0};
    liana__tfrecord *file;
    liana__block_cache *cache = liana__block_cache_create(LIMIT);
    assert_ok(liana__tfrecord_open(path, &(liana__tfrecord_options){.cache = cache, .block_size = SPAN}, &file, &error),
              &error);
    assert_int_equal(liana__tfrecord_count(file), NUM_RECORDS);
    size_t num_blocks = liana__tfrecord_num_blocks(file);
    assert_compare(num_blocks, >=, least_blocks);
    assert_int_equal(liana__tfrecord_first(file, 0), 0);
    assert_int_equal(liana__tfrecord_first(file, num_blocks), NUM_RECORDS);
    for (size_t i = 0; i < num_blocks; i++) {
        assert_compare(liana__tfrecord_first(file, i), <, liana__tfrecord_first(file, i + 1), i);
    }
    liana__tfrecord_reader reader = {0};
    for (int i = 0; i < NUM_RECORDS; i++) check_record(file, i, &reader);
    for (int i = 0; i < NUM_RECORDS; i++) check_record(file, i * 101 % NUM_RECORDS, &reader);
    const uint8_t *bytes;
    size_t size;
    assert_fails(liana__tfrecord_read(file, NUM_RECORDS, &reader, &bytes, &size, &error), LIANA_OUT_OF_RANGE, &error,
                 liana__path_name(path), "300 records");
    liana__tfrecord_reader_free(&reader);
    liana__tfrecord_close(file);
    liana__block_cache_destroy(cache);
}

static void test_records_of_all_kinds_of_streams(void **state)
{
    (void)state;
    size_t size;
    liana__test_folder();
    char *data = plain_bytes(&size);
    check_file(write_gzip("best.gz", "wb9", data, size, 1), 5);
    check_file(write_gzip("fast.gz", "wb1", data, size, 1), 5);
    check_file(write_gzip("stored.gz", "wb0", data, size, 1), 5);
    check_file(write_gzip("huffman.gz", "wb6h", data, size, 1), 5);
    check_file(write_gzip("members.gz", "ab6", data, size, 23), 7);
    check_file(write_gzip("two.gz", "ab6", data, size, 2), 5);
    check_file(write_zlib("stream.z", data, size), 5);
    free(data);
}

typedef struct shared_file {
    const liana__tfrecord *file;
    int first;
} shared_file;

static void *read_many(void *argument)
{
    const shared_file *shared = argument;
    liana__tfrecord_reader reader = {0};
    for (int i = 0; i < NUM_RECORDS; i++) check_record(shared->file, (shared->first + i * 7) % NUM_RECORDS, &reader);
    liana__tfrecord_reader_free(&reader);
    return NULL;
}

static void test_threads_share_blocks(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    liana__error error = {0};
    size_t size;
    liana__test_folder();
    char *data = plain_bytes(&size);
    liana__block_cache *cache = liana__block_cache_create(LIMIT);
    liana__tfrecord *file;
    const char *path = write_gzip("a.gz", "wb6", data, size, 1);
    assert_ok(liana__tfrecord_open(path, &(liana__tfrecord_options){.cache = cache, .block_size = SPAN}, &file, &error),
              &error);
    pthread_t threads[THREADS];
    shared_file shared[THREADS];
    for (int i = 0; i < THREADS; i++) {
        shared[i] = (shared_file){file, i / 2 * 50};
        assert_int_equal(pthread_create(&threads[i], NULL, read_many, &shared[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    liana__tfrecord_close(file);
    liana__block_cache_destroy(cache);
    free(data);
}

static liana_status try_open(const char *path, liana__error *error)
{
    liana__tfrecord *file;
    liana__block_cache *cache = liana__block_cache_create(LIMIT);
    liana_status status =
        liana__tfrecord_open(path, &(liana__tfrecord_options){.cache = cache, .block_size = SPAN}, &file, error);
    liana__tfrecord_close(file);
    liana__block_cache_destroy(cache);
    return status;
}

static void test_files_can_be_wrong(void **state)
{
    (void)state;
    liana__error error = {0};
    size_t size, packed_size;
    liana__test_folder();
    char *data = plain_bytes(&size), *packed;
    const char *path = write_gzip("a.gz", "wb6", data, size, 1);
    assert_ok(liana__file_read(path, 1 << 24, &packed, &packed_size, &error), &error);
    /* Cut anywhere; a bit that flipped. */
    for (size_t length = 2; length < packed_size; length += 9973) {
        assert_fails(try_open(liana__test_write("cut.gz", packed, length), &error), LIANA_DATA_LOSS, &error, "cut.gz",
                     "cut off");
    }
    for (size_t at = 40; at < packed_size; at += 20011) {
        packed[at] ^= 4;
        assert_compare(try_open(liana__test_write("flip.gz", packed, packed_size), &error), ==, LIANA_DATA_LOSS);
        assert_says(error.message, "flip.gz");
        packed[at] ^= 4;
    }
    free(packed);
    /* Whole streams whose contents are cut off or wrong. */
    assert_fails(try_open(write_gzip("b.gz", "wb", data, size - 3, 1), &error), LIANA_DATA_LOSS, &error, "b.gz",
                 "truncated", "record 299");
    size_t last = size;
    assert_fails(try_open(write_gzip("c.gz", "wb", data, 12 + 7, 1), &error), LIANA_DATA_LOSS, &error, "truncated",
                 "record 1");
    data[3] ^= 1;
    assert_fails(try_open(write_gzip("d.gz", "wb", data, last, 1), &error), LIANA_DATA_LOSS, &error, "d.gz", "record 0",
                 "offset 0", "checksum");
    assert_fails(try_open(write_gzip("e.gz", "wb", "\xff\xd8\xff\xe0 not records", 16, 1), &error), LIANA_INVALID_DATA,
                 &error, "e.gz", "after inflating", "JPEG");
    free(data);
    /* A bomb: a gigabyte of zeros is no file of records, and is refused at the first one. */
    char *zeros = calloc(1, 1 << 20);
    gzFile file = gzopen(liana__test_path("bomb.gz"), "wb9");
    for (int i = 0; i < 64; i++) gzwrite(file, zeros, 1 << 20);
    gzclose(file);
    free(zeros);
    assert_fails(try_open(liana__test_path("bomb.gz"), &error), LIANA_DATA_LOSS, &error, "bomb.gz", "record 0");
}

static void test_a_record_longer_than_memory_is_refused(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    /* A length of 2^60 with its right checksum. */
    uint8_t header[12] = {0, 0, 0, 0, 0, 0, 0, 0x10};
    uint32_t checksum = 0xFFFFFFFF;
    for (int i = 0; i < 8; i++) {
        checksum ^= header[i];
        for (int bit = 0; bit < 8; bit++) checksum = checksum >> 1 ^ (checksum & 1 ? 0x82F63B78 : 0);
    }
    checksum = ~checksum;
    checksum = (checksum >> 15 | checksum << 17) + 0xa282ead8;
    for (int i = 0; i < 4; i++) header[8 + i] = (uint8_t)(checksum >> (8 * i));
    assert_fails(try_open(write_gzip("long.gz", "wb", (const char *)header, 12, 1), &error), LIANA_OUT_OF_RANGE, &error,
                 "record 0", "1152921504606846976");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_of_all_kinds_of_streams),
        cmocka_unit_test(test_threads_share_blocks),
        cmocka_unit_test(test_files_can_be_wrong),
        cmocka_unit_test(test_a_record_longer_than_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
