/* TFRecord files: records, checksums and damage. */
#include "harness/gzip_file.h"
#include "harness/harness.h"

#include "base/crc32c.h"
#include "base/file.h"
#include "base/threads.h"
#include "formats/example.h"
#include "formats/tfrecord.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static liana__tfrecord *open_file(const char *path)
{
    liana__error error = {0};
    liana__tfrecord *file;
    assert_ok(liana__tfrecord_open(path, NULL, &file, &error), &error);
    return file;
}

static liana_status open_bytes(const void *bytes, size_t size, liana__error *error)
{
    liana__tfrecord *file;
    liana_status status = liana__tfrecord_open(liana__test_write("bytes.tfrec", bytes, size), NULL, &file, error);
    liana__tfrecord_close(file);
    return status;
}

/* Writes three records ("", "one", 40056 zeros) and returns the path. */
static const char *write_three(const char *name, bool compress)
{
    liana__error error = {0};
    static const uint8_t zeros[40056];
    const char *path = liana__test_path(name);
    liana__tfrecord_writer writer;
    assert_ok(liana__tfrecord_writer_begin(&writer, path, &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, "", 0, &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, "one", 3, &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, zeros, sizeof zeros, &error), &error);
    assert_int_equal(writer.count, 3);
    assert_ok(liana__tfrecord_writer_commit(&writer, true, &error), &error);
    if (compress) liana__test_gzip(path);
    return path;
}

enum { THREE_SIZE = 3 * 16 + 3 + 40056 };

static void check_three(const liana__tfrecord *file)
{
    liana__error error = {0};
    const uint8_t *bytes;
    size_t size;
    assert_int_equal(liana__tfrecord_count(file), 3);
    assert_ok(liana__tfrecord_get(file, 2, &bytes, &size, &error), &error);
    assert_int_equal(size, 40056);
    assert_ok(liana__tfrecord_get(file, 0, &bytes, &size, &error), &error);
    assert_int_equal(size, 0);
    assert_ok(liana__tfrecord_get(file, 1, &bytes, &size, &error), &error);
    assert_int_equal(size, 3);
    assert_memory_equal(bytes, "one", 3);
    assert_fails(liana__tfrecord_get(file, 3, &bytes, &size, &error), LIANA_OUT_OF_RANGE, &error, "no record 3",
                 "has 3 records");
}

static void test_writes_and_reads_back(void **state)
{
    (void)state;
    liana__test_folder();
    for (int compress = 0; compress < 2; compress++) {
        const char *path = write_three("three.tfrec", compress);
        liana__tfrecord *file = open_file(path);
        check_three(file);
        assert_string_equal(liana__tfrecord_name(file), path);
        assert_string_equal(liana__tfrecord_compression(file), compress ? "gzip" : "none");
        liana__tfrecord_close(file);
    }
}

static void test_zlib_stream(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    char *bytes;
    size_t size;
    assert_ok(liana__file_read(write_three("three.tfrec", false), 1 << 20, &bytes, &size, &error), &error);
    assert_int_equal(size, THREE_SIZE);
    uint8_t packed[2000];
    uLongf packed_size = sizeof packed;
    assert_int_equal(compress(packed, &packed_size, (const Bytef *)bytes, size), Z_OK);
    free(bytes);
    liana__tfrecord *file = open_file(liana__test_write("z.tfrec", packed, packed_size));
    assert_string_equal(liana__tfrecord_compression(file), "zlib");
    check_three(file);
    liana__tfrecord_close(file);
}

/* A record of 40056 bytes has a length that starts like a zlib stream (78 9c), one of 35615 like gzip (1f 8b). */
static void test_lengths_that_look_like_compression(void **state)
{
    (void)state;
    liana__error error = {0};
    static const size_t lengths[] = {0x9c78, 0x8b1f, 0x088b1f, 0x0178};
    uint8_t *data = calloc(1, 0x088b1f);
    liana__test_folder();
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const char *path = liana__test_path("long.tfrec");
        liana__tfrecord_writer writer;
        assert_ok(liana__tfrecord_writer_begin(&writer, path, &error), &error);
        assert_ok(liana__tfrecord_writer_add(&writer, data, lengths[i], &error), &error);
        assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
        liana__tfrecord *file = open_file(path);
        assert_string_equal(liana__tfrecord_compression(file), "none");
        assert_int_equal(liana__tfrecord_count(file), 1);
        liana__tfrecord_close(file);
    }
    free(data);
}

static void test_empty_file_has_no_records(void **state)
{
    (void)state;
    liana__test_folder();
    liana__tfrecord *file = open_file(liana__test_write("empty.tfrec", "", 0));
    assert_int_equal(liana__tfrecord_count(file), 0);
    liana__tfrecord_close(file);
}

static void test_missing_file(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__tfrecord *file;
    assert_fails(liana__tfrecord_open("/no/such.tfrec", NULL, &file, &error), LIANA_NOT_FOUND, &error,
                 "/no/such.tfrec");
    assert_null(file);
}

/* Every possible truncation is noticed, except at the borders between records, where a file simply has fewer. */
static void test_every_truncation(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    char *bytes;
    size_t size;
    assert_ok(liana__file_read(write_three("three.tfrec", false), 1 << 20, &bytes, &size, &error), &error);
    for (size_t cut = 1; cut < size; cut = cut < 100 ? cut + 1 : cut + 1009) {
        liana_status status = open_bytes(bytes, cut, &error);
        if (cut == 16 || cut == 35) {
            assert_ok(status, &error);
        } else {
            assert_fails(status, LIANA_DATA_LOSS, &error, "bytes.tfrec", "truncated", "record");
        }
    }
    assert_fails(open_bytes(bytes, 20, &error), LIANA_DATA_LOSS, &error, "record 1 at offset 16", "4 bytes",
                 "expected 12");
    assert_fails(open_bytes(bytes, 60, &error), LIANA_DATA_LOSS, &error, "record 2 at offset 35", "length of 40056",
                 "13 bytes are left");
    free(bytes);
}

static void test_wrong_checksums(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    char *bytes;
    size_t size;
    assert_ok(liana__file_read(write_three("three.tfrec", false), 1 << 20, &bytes, &size, &error), &error);
    char found[20], said[20];

    bytes[16] ^= 1; /* the length of record 1: 2 instead of 3 */
    uint32_t checksum;
    memcpy(&checksum, bytes + 24, 4);
    snprintf(said, sizeof said, "0x%08x", checksum);
    snprintf(found, sizeof found, "0x%08x", liana__crc32c_mask(liana__crc32c(bytes + 16, 8)));
    assert_fails(open_bytes(bytes, size, &error), LIANA_DATA_LOSS, &error, "bytes.tfrec",
                 "the length of record 1 at offset 16", said, found);
    bytes[16] ^= 1;

    bytes[29] ^= 64; /* the data of record 1: "o.e" */
    memcpy(&checksum, bytes + 31, 4);
    snprintf(said, sizeof said, "0x%08x", checksum);
    snprintf(found, sizeof found, "0x%08x", liana__crc32c_mask(liana__crc32c(bytes + 28, 3)));
    liana__tfrecord *file;
    assert_ok(liana__tfrecord_open(liana__test_write("data.tfrec", bytes, size), NULL, &file, &error), &error);
    const uint8_t *data;
    size_t data_size;
    assert_ok(liana__tfrecord_get(file, 0, &data, &data_size, &error), &error);
    assert_ok(liana__tfrecord_get(file, 2, &data, &data_size, &error), &error);
    assert_fails(liana__tfrecord_get(file, 1, &data, &data_size, &error), LIANA_DATA_LOSS, &error, "data.tfrec",
                 "checksum of record 1", "offset 16", said, found);
    assert_null(data);
    liana__tfrecord_close(file);
    free(bytes);
}

static void test_absurd_length(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    static const uint64_t lengths[] = {UINT64_C(1) << 60, UINT64_MAX, UINT64_MAX - 15, 5};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint8_t bytes[20] = {0};
        memcpy(bytes, &lengths[i], 8);
        uint32_t checksum = liana__crc32c_mask(liana__crc32c(bytes, 8));
        memcpy(bytes + 8, &checksum, 4);
        char length[32];
        snprintf(length, sizeof length, "%llu bytes", (unsigned long long)lengths[i]);
        assert_fails(open_bytes(bytes, sizeof bytes, &error), LIANA_DATA_LOSS, &error, "record 0 at offset 0", length,
                     "8 bytes are left", lengths[i] > 5 ? "no record can be so long" : "truncated");
    }
}

static void test_not_a_tfrecord(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    static const struct {
        const char *bytes;
        size_t size;
        const char *looks;
    } cases[] = {
        {"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0\xff\xdb", 22, "a JPEG image"},
        {"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", 16, "a PNG image"},
        {"\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0\x04\0", 18, "an HDF5 file"},
        {"PK\x03\x04\x14\0\0\0\x08\0xxxxxxxxx", 19, "a zip archive"},
        {"<!DOCTYPE html><html><body>404", 30, "a web page"},
        {"daisy\nroses", 11, "text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(open_bytes(cases[i].bytes, cases[i].size, &error), LIANA_INVALID_DATA, &error, "bytes.tfrec",
                     "not a TFRecord file", cases[i].looks);
    }
    assert_fails(open_bytes("\1\2\3\4\5\6\7\10\11\12\13\14\15\16", 14, &error), LIANA_DATA_LOSS, &error,
                 "record 0 at offset 0", "damaged or not a TFRecord");
}

static void test_compressed_errors(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    const char *path = write_three("three.gz", true);
    liana__tfrecord *file;
    liana__tfrecord_options options = {.inflated_limit = 10000};
    assert_fails(liana__tfrecord_open(path, &options, &file, &error), LIANA_OUT_OF_RANGE, &error, "three.gz", "10000",
                 "uncompress");
    gzFile text = gzopen(liana__test_path("text.gz"), "wb");
    gzputs(text, "<html>not records");
    gzclose(text);
    assert_fails(liana__tfrecord_open(liana__test_path("text.gz"), NULL, &file, &error), LIANA_INVALID_DATA, &error,
                 "text.gz", "after inflating", "a web page");
    char *bytes;
    size_t size;
    assert_ok(liana__file_read(path, 1 << 20, &bytes, &size, &error), &error);
    assert_fails(open_bytes(bytes, size - 9, &error), LIANA_DATA_LOSS, &error, "bytes.tfrec", "cut off");
    free(bytes);
}

/* A file that is cut while it is mapped: an error, not SIGBUS. One that is replaced is still the old one. */
static void test_changed_while_open(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    const char *path = write_three("three.tfrec", false);
    liana__tfrecord *file;
    const uint8_t *bytes;
    size_t size;
    assert_ok(liana__tfrecord_open(path, NULL, &file, &error), &error);
    assert_int_equal(truncate(path, 8), 0);
    assert_fails(liana__tfrecord_get(file, 0, &bytes, &size, &error), LIANA_DATA_LOSS, &error, "three.tfrec",
                 "became shorter", "it has 8 of ");
    liana__tfrecord_close(file);
    write_three("three.tfrec", false);
    assert_ok(liana__tfrecord_open(path, NULL, &file, &error), &error);
    assert_ok(liana__file_replace(path, "x", 1, &error), &error);
    assert_ok(liana__tfrecord_get(file, 2, &bytes, &size, &error), &error);
    assert_int_equal(remove(path), 0);
    assert_ok(liana__tfrecord_get(file, 2, &bytes, &size, &error), &error);
    liana__tfrecord_close(file);
}

/* Opening a pipe that nobody writes to must not wait. */
static void test_pipes_are_refused(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    const char *path = liana__test_path("pipe.tfrec");
    liana__tfrecord *file;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails(liana__tfrecord_open(path, NULL, &file, &error), LIANA_IO_ERROR, &error, "pipe.tfrec",
                 "not a regular file");
}

static void test_writer_leaves_nothing_behind(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    liana__tfrecord_writer writer;
    assert_fails(liana__tfrecord_writer_begin(&writer, liana__test_path("no/a.tfrec"), &error), LIANA_NOT_FOUND, &error,
                 "no/a.tfrec");
    liana__tfrecord_writer_abandon(&writer);
    assert_ok(liana__tfrecord_writer_begin(&writer, liana__test_path("a.tfrec"), &error), &error);
    assert_ok(liana__tfrecord_writer_add(&writer, "x", 1, &error), &error);
    liana__tfrecord_writer_abandon(&writer);
    assert_false(liana__file_exists(liana__test_path("a.tfrec")));
    assert_false(liana__file_exists(liana__test_path("a.tfrec.tmp")));
}

typedef struct shared_reads {
    const liana__tfrecord *file;
    size_t sizes[200];
    liana_status statuses[200];
} shared_reads;

static void read_task(void *user, size_t task, int worker)
{
    (void)worker;
    shared_reads *reads = user;
    liana__error error;
    const uint8_t *bytes;
    reads->statuses[task] = liana__tfrecord_get(reads->file, task, &bytes, &reads->sizes[task], &error);
}

static void test_several_threads_read(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    const char *path = liana__test_path("many.tfrec");
    static const uint8_t zeros[200];
    liana__tfrecord_writer writer;
    assert_ok(liana__tfrecord_writer_begin(&writer, path, &error), &error);
    for (size_t i = 0; i < 200; i++) assert_ok(liana__tfrecord_writer_add(&writer, zeros, i, &error), &error);
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    static shared_reads reads;
    liana__tfrecord *file = open_file(path);
    reads.file = file;
    liana__pool *pool;
    assert_ok(liana__pool_create(4, &pool, &error), &error);
    liana__pool_run(pool, 200, read_task, &reads);
    liana__pool_destroy(pool);
    for (size_t i = 0; i < 200; i++) {
        assert_int_equal(reads.statuses[i], LIANA_OK);
        assert_int_equal(reads.sizes[i], i);
    }
    liana__tfrecord_close(file);
}

/* The counts of a separate reader in Python for files that TensorFlow wrote: every checksum is verified on the way. */
typedef struct tally {
    size_t records;
    size_t record_bytes;
    int64_t sum;           /* of the int64 feature */
    int64_t histogram[10]; /* of the same, where it is a label */
    size_t features;
} tally;

static tally tally_files(const char *pattern, const char *int64_feature)
{
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths paths;
    assert_ok(liana__file_match(liana__test_data(pattern), &arena, &paths, &error), &error);
    tally sums = {0};
    liana__example example = {0};
    for (size_t p = 0; p < paths.count; p++) {
        liana__tfrecord *file = open_file(paths.items[p]);
        for (size_t record = 0; record < liana__tfrecord_count(file); record++) {
            const uint8_t *bytes;
            size_t size;
            assert_ok(liana__tfrecord_get(file, record, &bytes, &size, &error), &error);
            sums.records++;
            sums.record_bytes += size;
            assert_ok(liana__example_parse(&example, paths.items[p], record, bytes, size, &error), &error);
            sums.features += liana__example_num_features(&example);
            if (!int64_feature) continue;
            int64_t value;
            assert_ok(liana__example_int64(&example, int64_feature, &value, &error), &error);
            sums.sum += value;
            if (value >= 0 && value < 10) sums.histogram[value]++;
        }
        liana__tfrecord_close(file);
    }
    liana__example_free(&example);
    liana__arena_free(&arena);
    return sums;
}

static void test_flowers192(void **state)
{
    (void)state;
    tally train = tally_files("flowers192/train/*.tfrec", "class");
    assert_int_equal(train.records, 1605);
    assert_memory_equal(train.histogram, ((int64_t[10]){323, 314, 329, 327, 312}), sizeof train.histogram);
    tally validation = tally_files("flowers192/val/*.tfrec", "class");
    assert_int_equal(validation.records, 343);
    assert_memory_equal(validation.histogram, ((int64_t[10]){70, 71, 60, 73, 69}), sizeof validation.histogram);
    tally test = tally_files("flowers192/test/*.tfrec", NULL);
    assert_int_equal(test.records, 343);
    assert_int_equal(test.features, 2 * 343);
}

/* flowers192 has the number of records in each file's name: <prefix>NN-<count>.tfrec. */
static void test_flowers192_counts_in_names(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths paths;
    assert_ok(liana__file_match(liana__test_data("flowers192/*/*.tfrec"), &arena, &paths, &error), &error);
    assert_int_equal(paths.count, 12);
    for (size_t i = 0; i < paths.count; i++) {
        liana__tfrecord *file = open_file(paths.items[i]);
        assert_int_equal(liana__tfrecord_count(file), atoi(strrchr(paths.items[i], '-') + 1));
        liana__tfrecord_close(file);
    }
    liana__arena_free(&arena);
}

static void test_other_files_of_tensorflow(void **state)
{
    (void)state;
    tally cifar = tally_files("tfrecords/cifar10_test.tfrecord", "label");
    assert_int_equal(cifar.records, 128);
    assert_int_equal(cifar.record_bytes, 288451);
    assert_memory_equal(cifar.histogram, ((int64_t[10]){17, 15, 18, 12, 11, 16, 5, 11, 17, 6}), 80);
    tally slim = tally_files("tfrecords/flowers_validation_00000-of-00005.tfrecord", "image/class/label");
    assert_int_equal(slim.records, 70);
    assert_int_equal(slim.record_bytes, 3905124);
    assert_memory_equal(slim.histogram, ((int64_t[10]){10, 23, 14, 10, 13}), sizeof slim.histogram);
    tally widths = tally_files("tfrecords/flowers_validation_00000-of-00005.tfrecord", "image/width");
    assert_int_equal(widths.sum, 24063);
    tally raccoons = tally_files("tfrecords/raccoon_detection_test.record", "image/height");
    assert_int_equal(raccoons.records, 40);
    assert_int_equal(raccoons.record_bytes, 2464323);
    tally taxis = tally_files("tfrecords/external_data_tfrecord-00000-of-00002.gz", "trip_start_timestamp");
    assert_int_equal(taxis.records, 9988);
    assert_int_equal(taxis.record_bytes, 5061450);
    assert_int_equal(taxis.sum, 14068079459100);
    tally sequences = tally_files("tfrecords/sequence_example_data_tfrecord-00000-of-00001.gz", NULL);
    assert_int_equal(sequences.records, 15000);
    assert_int_equal(sequences.record_bytes, 871669);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes_and_reads_back),
        cmocka_unit_test(test_zlib_stream),
        cmocka_unit_test(test_lengths_that_look_like_compression),
        cmocka_unit_test(test_empty_file_has_no_records),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_wrong_checksums),
        cmocka_unit_test(test_absurd_length),
        cmocka_unit_test(test_not_a_tfrecord),
        cmocka_unit_test(test_compressed_errors),
        cmocka_unit_test(test_changed_while_open),
        cmocka_unit_test(test_pipes_are_refused),
        cmocka_unit_test(test_writer_leaves_nothing_behind),
        cmocka_unit_test(test_several_threads_read),
        cmocka_unit_test(test_flowers192),
        cmocka_unit_test(test_flowers192_counts_in_names),
        cmocka_unit_test(test_other_files_of_tensorflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
