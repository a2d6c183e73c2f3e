/* Zip archives, made here byte by byte: what is read, and what is refused. */
#include "harness/harness.h"

#include "base/file.h"
#include "formats/zip.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static liana__error error;

/* ---- a writer of archives (APPNOTE.TXT 6.3), which may say anything ---- */

typedef struct member {
    const char *name;
    const char *bytes;
    size_t size;
    uint16_t flags, method; /* 0: stored, 8: deflate */
    uint32_t attributes;    /* Unix's mode in the upper half */
    uint32_t crc_change;    /* XORed into the CRC */
    int64_t size_change;    /* added to the unpacked size */
    uint32_t offset;        /* of its local header, if not 0 */
} member;

typedef struct buffer {
    uint8_t data[1 << 18];
    size_t size;
} buffer;

static void put(buffer *out, uint64_t number, int size)
{
    for (int i = 0; i < size; i++) out->data[out->size++] = (uint8_t)(number >> 8 * i);
}

static void put_bytes(buffer *out, const void *from, size_t size)
{
    assert_compare(out->size + size, <=, sizeof out->data);
    if (size) memcpy(out->data + out->size, from, size);
    out->size += size;
}

static size_t pack(const member *from, uint8_t *packed, size_t room)
{
    if (from->method != 8) {
        memcpy(packed, from->bytes, from->size);
        return from->size;
    }
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)from->bytes,
                       .avail_in = (uInt)from->size,
                       .next_out = packed,
                       .avail_out = (uInt)room};
    assert_compare(deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), ==, Z_OK);
    assert_compare(deflate(&stream, Z_FINISH), ==, Z_STREAM_END);
    deflateEnd(&stream);
    return stream.total_out;
}

static void put_header(buffer *out, const member *from, size_t stored)
{
    uint32_t crc = (uint32_t)crc32(0, (const Bytef *)from->bytes, (uInt)from->size) ^ from->crc_change;
    put(out, 20, 2);
    put(out, from->flags, 2);
    put(out, from->method, 2);
    put(out, 0x00210000, 4);
    put(out, crc, 4);
    put(out, stored, 4);
    put(out, (uint64_t)((int64_t)from->size + from->size_change), 4);
    put(out, strlen(from->name), 2);
    put(out, 0, 2);
}

/* The archive of the members; its end says that there are `count`. */
static const char *archive_of(const member *members, size_t num_members, uint16_t count)
{
    static buffer out, list;
    static uint8_t packed[1 << 17];
    out.size = list.size = 0;
    for (size_t i = 0; i < num_members; i++) {
        const member *from = &members[i];
        size_t place = out.size, stored = pack(from, packed, sizeof packed);
        put(&out, 0x04034b50, 4);
        put_header(&out, from, stored);
        put_bytes(&out, from->name, strlen(from->name));
        put_bytes(&out, packed, stored);
        put(&list, 0x02014b50, 4);
        put(&list, 3 << 8 | 20, 2);
        put_header(&list, from, stored);
        put(&list, 0, 2 + 2 + 2);
        put(&list, from->attributes, 4);
        put(&list, from->offset ? from->offset : place, 4);
        put_bytes(&list, from->name, strlen(from->name));
    }
    size_t begin = out.size;
    put_bytes(&out, list.data, list.size);
    put(&out, 0x06054b50, 4);
    put(&out, 0, 4);
    put(&out, count, 2);
    put(&out, count, 2);
    put(&out, list.size, 4);
    put(&out, begin, 4);
    put(&out, 0, 2);
    return liana__test_write("a.zip", out.data, out.size);
}

#define HELLO .bytes = "hello", .size = 5

static liana_status open_one(member one)
{
    liana__zip *archive;
    liana_status status = liana__zip_open(archive_of(&one, 1, 1), &archive, &error);
    liana__zip_close(archive);
    return status;
}

static liana_status read_one(member one)
{
    liana__zip *archive;
    size_t count;
    char *bytes;
    assert_ok(liana__zip_open(archive_of(&one, 1, 1), &archive, &error), &error);
    liana_status status = liana__zip_read(archive, liana__zip_entries(archive, &count), &bytes, &error);
    free(bytes);
    liana__zip_close(archive);
    return status;
}

/* ---- reading ---- */

static void test_entries_are_listed_and_read(void **state)
{
    (void)state;
    liana__test_folder();
    static char large[100000];
    for (size_t i = 0; i < sizeof large; i++) large[i] = (char)(i * i % 251);
    const member members[] = {
        {.name = "config.json", .bytes = "{}", .size = 2},
        {.name = "assets/", .bytes = "", .size = 0},
        {.name = "assets/packed", .bytes = large, .size = sizeof large, .method = 8},
        {.name = "assets/empty", .bytes = "", .size = 0, .method = 8},
    };
    liana__zip *archive;
    size_t count;
    assert_ok(liana__zip_open(archive_of(members, 4, 4), &archive, &error), &error);
    const liana__zip_entry *entries = liana__zip_entries(archive, &count);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        char *bytes;
        assert_string_equal(entries[i].name, members[i].name);
        assert_compare(entries[i].size, ==, members[i].size, i);
        assert_ok(liana__zip_read(archive, &entries[i], &bytes, &error), &error);
        assert_memory_equal(bytes, members[i].bytes, members[i].size);
        assert_int_equal(bytes[members[i].size], 0);
        free(bytes);
    }
    assert_compare(entries[2].stored, <, entries[2].size);
    assert_ptr_equal(liana__zip_find(archive, "assets/packed"), &entries[2]);
    assert_null(liana__zip_find(archive, "packed"));
    liana__zip_close(archive);
}

static void test_names_that_lead_out_are_refused(void **state)
{
    (void)state;
    liana__test_folder();
    static const struct {
        const char *name, *why;
    } names[] = {{"/etc/passwd", "absolute"},
                 {"\\\\host\\x", "absolute"},
                 {"C:x", "absolute"},
                 {"../x", "'..'"},
                 {"a/../../x", "'..'"},
                 {"a/..", "'..'"},
                 {"a\\..\\x", "'..'"},
                 {"..", "'..'"},
                 {"", "empty"},
                 {"a\nb", "a control character"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_fails(open_one((member){.name = names[i].name, HELLO}), LIANA_INVALID_DATA, &error, "a.zip",
                     names[i].why);
    }
    static const char *const good[] = {"..a", "a..", "a/...", "a/.b/c", "a b"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_ok(open_one((member){.name = good[i], HELLO}), &error);
    }
}

static void test_links_and_encrypted_entries_are_refused(void **state)
{
    (void)state;
    liana__test_folder();
    assert_fails(open_one((member){.name = "x", HELLO, .attributes = 0xa1ff0000u}), LIANA_INVALID_DATA, &error, "a.zip",
                 "'x'", "link");
    assert_ok(open_one((member){.name = "x", HELLO, .attributes = 0x81a40000u}), &error);
    assert_fails(open_one((member){.name = "x", HELLO, .flags = 1}), LIANA_INVALID_DATA, &error, "a.zip", "'x'",
                 "encrypted");
}

static void test_bombs_are_refused(void **state)
{
    (void)state;
    liana__test_folder();
    liana__zip *archive;
    /* Says that 5 bytes unpack to 100 MB, and to 64 MB. */
    assert_fails(open_one((member){.name = "x", HELLO, .method = 8, .size_change = 100 << 20}), LIANA_OUT_OF_RANGE,
                 &error, "a.zip", "'x'", "100 times");
    assert_ok(open_one((member){.name = "x", HELLO, .method = 8, .size_change = 60 << 20}), &error);
    /* Two entries with the same bytes of the file, which are most of it. */
    static char noise[50000];
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (char)(i * 7);
    member both[2] = {{.name = "a", .bytes = noise, .size = sizeof noise}, {.name = "b", .bytes = "", .size = 0}};
    assert_ok(liana__zip_open(archive_of(both, 2, 2), &archive, &error), &error);
    liana__zip_close(archive);
    char *bytes;
    size_t size;
    assert_ok(liana__file_read(archive_of(both, 2, 2), 1 << 20, &bytes, &size, &error), &error);
    uint8_t *second = (uint8_t *)bytes + size - 22 - 47; /* the second row of the list */
    assert_memory_equal(second, "PK\1\2", 4);
    memcpy(second + 16, second - 47 + 16, 12); /* CRC and sizes */
    memcpy(second + 42, second - 47 + 42, 4);  /* place */
    assert_fails(liana__zip_open(liana__test_write("b.zip", bytes, size), &archive, &error), LIANA_DATA_LOSS, &error,
                 "b.zip", "overlap");
    free(bytes);
}

static void test_counts_are_limited_before_memory_is_taken(void **state)
{
    (void)state;
    liana__test_folder();
    liana__zip *archive;
    member one = (member){.name = "x", HELLO};
    assert_fails(liana__zip_open(archive_of(&one, 1, 20000), &archive, &error), LIANA_OUT_OF_RANGE, &error, "a.zip",
                 "20000 entries");
    assert_fails(liana__zip_open(archive_of(&one, 1, 0xffff), &archive, &error), LIANA_OUT_OF_RANGE, &error, "65535");
    assert_fails(liana__zip_open(archive_of(&one, 1, 9), &archive, &error), LIANA_DATA_LOSS, &error, "a.zip");
    /* The 64-bit form: its end record, then where that stands, then the old end. */
    char *bytes;
    size_t size;
    assert_ok(liana__file_read(archive_of(&one, 1, 1), 1 << 20, &bytes, &size, &error), &error);
    static buffer out;
    out.size = 0;
    put_bytes(&out, bytes, size - 22);
    size_t place = out.size;
    put_bytes(&out, "PK\6\6", 4);
    put(&out, 44, 8);
    put(&out, 0, 2 + 2 + 4 + 4);
    put(&out, (uint64_t)1 << 40, 8);
    put(&out, (uint64_t)1 << 40, 8);
    put(&out, 0, 8 + 8);
    put_bytes(&out, "PK\6\7", 4);
    put(&out, 0, 4);
    put(&out, place, 8);
    put(&out, 1, 4);
    put_bytes(&out, bytes + size - 22, 22);
    free(bytes);
    assert_fails(liana__zip_open(liana__test_write("wide.zip", out.data, out.size), &archive, &error),
                 LIANA_OUT_OF_RANGE, &error, "wide.zip", "1099511627776 entries");
}

static void test_two_entries_of_one_name_are_refused(void **state)
{
    (void)state;
    liana__test_folder();
    liana__zip *archive;
    const member members[] = {(member){.name = "b", HELLO}, (member){.name = "a", HELLO}, (member){.name = "b", HELLO}};
    assert_fails(liana__zip_open(archive_of(members, 3, 3), &archive, &error), LIANA_INVALID_DATA, &error, "a.zip",
                 "two entries 'b'");
    const member far[] = {(member){.name = "a", HELLO}, (member){.name = "a", HELLO}, (member){.name = "c", HELLO}};
    assert_fails(liana__zip_open(archive_of(far, 3, 3), &archive, &error), LIANA_INVALID_DATA, &error, "'a'");
}

static void test_damage_is_found(void **state)
{
    (void)state;
    liana__test_folder();
    assert_fails(read_one((member){.name = "x", HELLO, .crc_change = 1}), LIANA_DATA_LOSS, &error, "'x'", "a.zip",
                 "CRC");
    assert_fails(read_one((member){.name = "x", HELLO, .method = 8, .crc_change = 0x80000000u}), LIANA_DATA_LOSS,
                 &error, "'x'", "CRC");
    assert_fails(read_one((member){.name = "x", HELLO, .method = 8, .size_change = 3}), LIANA_DATA_LOSS, &error, "'x'",
                 "a.zip");
    assert_fails(read_one((member){.name = "x", HELLO, .method = 8, .size_change = -3}), LIANA_DATA_LOSS, &error, "'x'",
                 "a.zip");
    assert_fails(read_one((member){.name = "x", HELLO, .method = 97}), LIANA_UNIMPLEMENTED, &error, "'x'", "a.zip");
    member one = (member){.name = "x", HELLO};
    char *bytes;
    size_t size;
    assert_ok(liana__file_read(archive_of(&one, 1, 1), 1 << 20, &bytes, &size, &error), &error);
    for (size_t length = 0; length < size; length++) {
        liana__zip *archive;
        liana_status status = liana__zip_open(liana__test_write("cut.zip", bytes, length), &archive, &error);
        assert_int_equal(status, length < 4 ? LIANA_INVALID_DATA : LIANA_DATA_LOSS);
        assert_says(error.message, "cut.zip");
    }
    free(bytes);
}

/* ---- writing ---- */

static void test_written_archives_are_plain(void **state)
{
    (void)state;
    liana__test_folder();
    const char *path = liana__test_path("new.zip");
    const liana__zip_new_entry entries[] = {{"metadata.json", "{\"a\": 1}", 8}, {"model.weights.h5", "12345", 5}};
    assert_ok(liana__zip_write(path, entries, 2, &error), &error);
    char *first, *second;
    size_t size, other;
    assert_ok(liana__file_read(path, 1 << 20, &first, &size, &error), &error);
    /* A local header of 30 bytes, the name, the bytes as they are. */
    assert_memory_equal(first, "PK\3\4", 4);
    assert_int_equal(first[8] | first[9], 0);
    uint32_t crc = (uint32_t)crc32(0, (const Bytef *)"{\"a\": 1}", 8), found;
    memcpy(&found, first + 14, sizeof found);
    assert_int_equal(found, crc);
    assert_memory_equal(first + 30, "metadata.json{\"a\": 1}", 21);
    assert_ok(liana__zip_write(path, entries, 2, &error), &error);
    assert_ok(liana__file_read(path, 1 << 20, &second, &other, &error), &error);
    assert_int_equal(size, other);
    assert_memory_equal(first, second, size);
    /* What fails leaves the old file. */
    const liana__zip_new_entry bad[] = {entries[0], {"../x", "", 0}}, twice[] = {entries[0], entries[0]};
    assert_fails(liana__zip_write(path, bad, 2, &error), LIANA_INVALID_ARGUMENT, &error, "new.zip", "'..'");
    assert_fails(liana__zip_write(path, twice, 2, &error), LIANA_INVALID_ARGUMENT, &error, "metadata.json");
    free(second);
    assert_ok(liana__file_read(path, 1 << 20, &second, &other, &error), &error);
    assert_int_equal(size, other);
    assert_memory_equal(first, second, size);
    assert_false(liana__file_exists(liana__test_path("new.zip.tmp")));
    free(first);
    free(second);
    assert_fails(liana__zip_write(liana__test_path("no/such.zip"), entries, 2, &error), LIANA_NOT_FOUND, &error,
                 "no/such.zip");
}

/* libzip goes back to write sizes, which a pipe cannot. */
static void test_full_disks_and_pipes_are_told(void **state)
{
    (void)state;
    const liana__zip_new_entry entry = {"x", "hello", 5};
    int ends[2];
    char pipe_name[64];
    assert_fails(liana__zip_write("/dev/full", &entry, 1, &error), LIANA_IO_ERROR, &error, "/dev/full", "No space");
    assert_int_equal(pipe(ends), 0);
    snprintf(pipe_name, sizeof pipe_name, "/dev/fd/%d", ends[1]);
    assert_fails(liana__zip_write(pipe_name, &entry, 1, &error), LIANA_IO_ERROR, &error, pipe_name, "no file");
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_are_listed_and_read),
        cmocka_unit_test(test_names_that_lead_out_are_refused),
        cmocka_unit_test(test_links_and_encrypted_entries_are_refused),
        cmocka_unit_test(test_bombs_are_refused),
        cmocka_unit_test(test_counts_are_limited_before_memory_is_taken),
        cmocka_unit_test(test_two_entries_of_one_name_are_refused),
        cmocka_unit_test(test_damage_is_found),
        cmocka_unit_test(test_written_archives_are_plain),
        cmocka_unit_test(test_full_disks_and_pipes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
