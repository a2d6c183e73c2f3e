/* TensorFlow's checkpoints: files that TensorFlow wrote, damaged ones, and ones made by hand. */
#include "harness/harness.h"

#include "base/file.h"
#include "base/text.h"
#include "formats/tensorflow/snappy.h"
#include "formats/tensorflow/tf_checkpoint.h"
#include "harness/mutate.h"
#include "harness/try/try_tensorflow.h"
#include "samples/tf_checkpoints.h"

#include <stdlib.h>
#include <string.h>

/* In the samples: the sizes of the blocks of entries, which are at the beginning, and the places of a list of
 * blocks and of the graph of objects. */
enum { FLAT_BLOCK = 569, FLAT_LIST = 587, OBJECTS_BLOCK = 573, GRAPH_BEGIN = 142 };

#define WRITE(name, bytes) liana__test_write(name, bytes, sizeof(bytes))

/* Writes both files of a sample and returns the index. */
static const char *write_pair(const char *name, const void *index, size_t index_size, const void *data,
                              size_t data_size)
{
    char file[64];
    snprintf(file, sizeof file, "%s.data-00000-of-00001", name);
    liana__test_write(file, data, data_size);
    snprintf(file, sizeof file, "%s.index", name);
    return liana__test_write(file, index, index_size);
}
#define WRITE_PAIR(name) write_pair(#name, name##_index, sizeof name##_index, name##_data, sizeof name##_data)

static const liana__tf_variable *find(const liana__tf_checkpoint *file, const char *name)
{
    for (size_t i = 0; i < file->num_variables; i++) {
        if (strcmp(file->variables[i].name, name) == 0 && !file->variables[i].is_copy) return &file->variables[i];
    }
    fail_msg("there is no '%s'", name);
    return NULL;
}

/* Element i of a variable is first + i * step. */
static void check_values(const liana__tf_checkpoint *file, const char *name, const char *dtype, const char *shape,
                         float first, float step)
{
    const liana__tf_variable *variable = find(file, name);
    liana__text text = {0};
    liana__text_add(&text, "[");
    for (int i = 0; i < variable->rank; i++) liana__text_add(&text, "%s%d", i ? "," : "", (int)variable->shape[i]);
    liana__text_add(&text, "]");
    assert_string_equal(text.data, shape);
    liana__text_free(&text);
    assert_string_equal(variable->dtype, dtype);
    liana__error error = {0};
    float *values = malloc((variable->num_elements + 1) * sizeof *values);
    assert_non_null(values);
    assert_ok(liana__tf_checkpoint_read(file, variable, values, &error), &error);
    for (size_t i = 0; i < variable->num_elements; i++) assert_compare(values[i], ==, first + (float)i * step);
    free(values);
}

static void test_flat_names(void **state)
{
    (void)state;
    liana__test_folder();
    liana__error error = {0};
    liana__tf_checkpoint file;
    assert_ok(liana__tf_checkpoint_open(WRITE_PAIR(flat), &file, &error), &error);
    assert_int_equal(file.num_variables, 13);
    check_values(&file, "Net/fc/weights", "float32", "[4,3]", 1, 0.125f);
    check_values(&file, "Net/fc/biases", "float32", "[3]", 2, 0.125f);
    check_values(&file, "Net/wide", "float32", "[2,150]", 3, 0.125f);
    check_values(&file, "Net/global_step", "int64", "[]", 7, 0);
    check_values(&file, "Net/float16", "float16", "[2]", 4, 1);
    check_values(&file, "Net/bfloat16", "bfloat16", "[2]", 5, 1);
    check_values(&file, "Net/float64", "float64", "[2]", 6, 1);
    check_values(&file, "Net/int32", "int32", "[2]", 7, 1);
    check_values(&file, "Net/uint8", "uint8", "[2]", 8, 1);
    check_values(&file, "Net/int8", "int8", "[2]", 9, 1);
    check_values(&file, "Net/int16", "int16", "[2]", 10, 1);
    check_values(&file, "Net/truth", "bool", "[2]", 1, -1);
    float value;
    assert_fails(liana__tf_checkpoint_read(&file, find(&file, "Net/words"), &value, &error), LIANA_UNIMPLEMENTED,
                 &error, "flat.index", "Net/words", "string", "expected numbers");
    liana__tf_checkpoint_free(&file);
}

static void test_names_of_objects(void **state)
{
    (void)state;
    liana__test_folder();
    liana__error error = {0};
    liana__tf_checkpoint file;
    assert_ok(liana__tf_checkpoint_open(WRITE_PAIR(objects), &file, &error), &error);
    check_values(&file, "one/kernel", "float32", "[3,2]", 1, 0.125f);
    check_values(&file, "one/bias", "float32", "[2]", 2, 0.125f);
    check_values(&file, "model/two/kernel", "float32", "[3,2]", 3, 0.125f);
    check_values(&file, "model/two/bias", "float32", "[2]", 4, 0.125f);
    /* Two variables are called same/kernel: each has its path, and so have those of same/bias, which are equal. */
    check_values(&file, "layers/2/kernel", "float32", "[3,2]", 5, 0.125f);
    check_values(&file, "layers/3/kernel", "float32", "[3,2]", 7, 0.125f);
    check_values(&file, "layers/2/bias", "float32", "[2]", 6, 0.125f);
    check_values(&file, "layers/3/bias", "float32", "[2]", 6, 0.125f);
    assert_true(find(&file, "optimizer/slots/0")->is_state);
    assert_false(find(&file, "one/bias")->is_state);
    liana__tf_checkpoint_free(&file);
    /* A SavedModel of Keras has each variable twice. */
    assert_ok(liana__tf_checkpoint_open(WRITE_PAIR(export), &file, &error), &error);
    assert_int_equal(file.num_variables, 5);
    check_values(&file, "net/dense/kernel", "float32", "[2,3]", 1, 0.125f);
    check_values(&file, "net/dense/bias", "float32", "[3]", 2, 0.125f);
    size_t copies = 0;
    for (size_t i = 0; i < file.num_variables; i++) copies += file.variables[i].is_copy;
    assert_int_equal(copies, 2);
    liana__tf_checkpoint_free(&file);
}

static void assert_found(const char *path, const char *expected)
{
    liana__arena arena = {0};
    const char *index = liana__tf_checkpoint_find(liana__test_path(path), &arena);
    if (expected) {
        assert_non_null(index);
        assert_string_equal(index, liana__test_path(expected));
    } else {
        assert_null(index);
    }
    liana__arena_free(&arena);
}

static void test_what_a_path_means(void **state)
{
    (void)state;
    liana__test_folder();
    liana__error error = {0};
    WRITE_PAIR(flat);
    assert_ok(liana__folder_make(liana__test_path("saved/variables"), &error), &error);
    assert_ok(liana__folder_make(liana__test_path("run"), &error), &error);
    WRITE("saved/variables/variables.index", export_index);
    WRITE("run/ckpt-3.index", flat_index);
    WRITE("old", flat_index);
    liana__test_write("text.index.txt", "text", 4);
    static const char newest[] =
        "model_checkpoint_path: \"/moved/from/ckpt-3\"\nall_model_checkpoint_paths: \"ckpt-2\"\n";
    liana__test_write("run/checkpoint", newest, sizeof newest - 1);
    assert_found("flat", "flat.index");
    assert_found("flat.index", "flat.index");
    assert_found("flat.data-00000-of-00001", "flat.index");
    assert_found("saved", "saved/variables/variables.index");
    assert_found("run", "run/ckpt-3.index");
    assert_found("run/ckpt-3", "run/ckpt-3.index");
    assert_found("old", "old");
    assert_found("text.index.txt", NULL);
    assert_found("nothing", NULL);
    assert_found("saved/variables", NULL);
    liana__test_write("run/checkpoint", "model_checkpoint_path: \"ckpt-4\"", 31);
    assert_found("run", NULL);
}

static void test_missing_data(void **state)
{
    (void)state;
    liana__test_folder();
    liana__error error = {0};
    liana__tf_checkpoint file;
    const char *index = WRITE("alone.index", flat_index);
    assert_fails(liana__tf_checkpoint_open(index, &file, &error), LIANA_NOT_FOUND, &error, "alone.index",
                 "alone.data-00000-of-00001", "not beside it");
    liana__test_write("alone.data-00000-of-00001", flat_data, sizeof flat_data - 1);
    assert_fails(liana__tf_checkpoint_open(index, &file, &error), LIANA_DATA_LOSS, &error, "alone.data-00000-of-00001",
                 "truncated");
}

/* Each byte of the data has a checksum: a changed one is found when its variable is read, or, of the graph, at once. */
static void test_changed_data(void **state)
{
    (void)state;
    liana__test_folder();
    size_t found = 0;
    for (size_t at = 0; at < sizeof objects_data; at++) {
        uint8_t bytes[sizeof objects_data];
        memcpy(bytes, objects_data, sizeof bytes);
        bytes[at] ^= 0x10;
        liana__error error = {0};
        liana__tf_checkpoint file;
        const char *index = write_pair("changed", objects_index, sizeof objects_index, bytes, sizeof bytes);
        liana_status status = liana__tf_checkpoint_open(index, &file, &error);
        for (size_t i = 0; status == LIANA_OK && i < file.num_variables; i++) {
            float values[16];
            if (file.variables[i].kind != LIANA__NUMBER_NONE) {
                status = liana__tf_checkpoint_read(&file, &file.variables[i], values, &error);
            }
        }
        found += status == LIANA_DATA_LOSS && strstr(error.message, "changed.data-00000-of-00001");
        if (strstr(error.message, "variable '")) assert_says(error.message, "the index says");
        liana__tf_checkpoint_free(&file);
    }
    assert_int_equal(found, sizeof objects_data);
}

/* A changed or missing byte of the index is found, but where nothing is read. */
static void test_changed_index(void **state)
{
    (void)state;
    liana__test_folder();
    for (size_t at = 0; at < 2 * sizeof flat_index; at++) {
        uint8_t bytes[sizeof flat_index];
        memcpy(bytes, flat_index, sizeof bytes);
        const bool cut = at >= sizeof bytes;
        const size_t size = cut ? at - sizeof bytes : sizeof bytes;
        if (!cut) bytes[at] ^= 0x04;
        liana__error error = {0};
        liana__tf_checkpoint file;
        const char *index = write_pair("changed", bytes, size, flat_data, sizeof flat_data);
        const bool opened = liana__tf_checkpoint_open(index, &file, &error) == LIANA_OK;
        /* An empty list behind the entries, which is for readers of other tables; and the padding of the footer. */
        const bool in_footer = at >= sizeof bytes - 48 && at < sizeof bytes - 8;
        const bool unseen = !cut && (in_footer || (at >= FLAT_BLOCK + 5 && at < FLAT_LIST));
        if (opened) {
            assert_true(unseen);
            assert_int_equal(file.num_variables, 13);
            liana__tf_checkpoint_free(&file);
        } else {
            assert_says(error.message, "changed.index");
        }
    }
}

/* ---- tables made by hand ---- */

typedef struct entry {
    const char *key;
    size_t key_size;
    const char *value;
    size_t value_size;
} entry;
#define ENTRY(key, value)                              \
    {                                                  \
        key, sizeof(key) - 1, value, sizeof(value) - 1 \
    }

static liana_status open_table(const liana__text *table, liana__tf_checkpoint *file, liana__error *error)
{
    static const char data[64];
    const char *index = write_pair("made", table->data, table->length, data, sizeof data);
    return liana__tf_checkpoint_open(index, file, error);
}

static liana_status open_entries(const entry *entries, size_t count, liana__tf_checkpoint *file, liana__error *error)
{
    liana__text block = {0};
    for (size_t i = 0; i < count; i++) {
        liana__test_tf_entry(&block, entries[i].key, entries[i].key_size, entries[i].value, entries[i].value_size);
    }
    liana__test_tf_end(&block);
    liana__text table = liana__test_tf_table(block.data, block.length, 0, 1);
    liana_status status = open_table(&table, file, error);
    liana__text_free(&block);
    liana__text_free(&table);
    return status;
}

#define HEADER ENTRY("", "\x08\x01")
/* float32 [2] of 8 bytes. */
#define GOOD "\x08\x01\x12\x04\x12\x02\x08\x02\x28\x08"

static void test_entries_that_are_refused(void **state)
{
    (void)state;
    liana__test_folder();
    static const struct {
        entry entries[3];
        size_t count;
        liana_status status;
        const char *said;
    } cases[] = {
        {{HEADER, ENTRY("a", GOOD)}, 2, LIANA_OK, ""},
        {{HEADER, ENTRY("b", GOOD), ENTRY("a", GOOD)}, 3, LIANA_INVALID_DATA, "do not ascend"},
        {{HEADER, ENTRY("a", GOOD), ENTRY("a", GOOD)}, 3, LIANA_INVALID_DATA, "do not ascend"},
        {{ENTRY("a", GOOD)}, 1, LIANA_INVALID_DATA, "not the index of a checkpoint"},
        {{ENTRY("", "\x0a\x02\x08\x01")}, 1, LIANA_INVALID_DATA, "V1"},
        {{ENTRY("", "\x08\x00")}, 1, LIANA_INVALID_DATA, "not the index"},
        {{ENTRY("", "\x08\x01\x10\x01")}, 1, LIANA_UNIMPLEMENTED, "big-endian"},
        {{ENTRY("", "\x08\xff\xff\xff\xff\x07")}, 1, LIANA_OUT_OF_RANGE, "2147483647 files"},
        {{ENTRY("", "\x08\x02")}, 1, LIANA_NOT_FOUND, "made.data-00000-of-00002"},
        {{HEADER, ENTRY("a", "\x08\x01\x12\x04\x12\x02\x08\x02\x28\x07")}, 2, LIANA_INVALID_DATA, "number of bytes"},
        {{HEADER, ENTRY("a", GOOD "\x20\x39")}, 2, LIANA_DATA_LOSS, "ends at byte 65"},
        {{HEADER, ENTRY("a", GOOD "\x18\x01")}, 2, LIANA_INVALID_DATA, "where no data can be"},
        {{HEADER, ENTRY("a", GOOD "\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")}, 2, LIANA_INVALID_DATA, "no data"},
        {{HEADER, ENTRY("a", "\x08\x01\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")},
         2,
         LIANA_INVALID_DATA,
         "shape that no variable"},
        {{HEADER, ENTRY("a", "\x08\x01\x12\x18\x12\x0a\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40\x12\x0a\x08\x80\x80\x80"
                             "\x80\x80\x80\x80\x80\x40")},
         2,
         LIANA_INVALID_DATA,
         "shape that no variable"},
        {{HEADER, ENTRY("a", "\x08\x01\x12\x24\x12\x02\x08\x01\x12\x02\x08\x01\x12\x02\x08\x01\x12\x02\x08\x01\x12"
                             "\x02\x08\x01\x12\x02\x08\x01\x12\x02\x08\x01\x12\x02\x08\x01\x12\x02\x08\x01")},
         2,
         LIANA_OUT_OF_RANGE,
         "8 dimensions"},
        {{HEADER, ENTRY("a\x01z", GOOD)}, 2, LIANA_INVALID_DATA, "entry 1 is not text"},
        {{HEADER, ENTRY("a\xff", GOOD)}, 2, LIANA_INVALID_DATA, "entry 1 is not text"},
        {{HEADER, ENTRY("a", "\x0a\x01")}, 2, LIANA_INVALID_DATA, "damaged entry"},
        /* A slice [0, 2) of [2] that is not there; one beyond the shape; one in a slice. */
        {{HEADER, ENTRY("a", GOOD "\x3a\x04\x0a\x02\x10\x02")}, 2, LIANA_INVALID_DATA, "missing"},
        {{HEADER, ENTRY("a", GOOD "\x3a\x04\x0a\x02\x10\x03")}, 2, LIANA_INVALID_DATA, "not a part of its shape"},
        {{HEADER, ENTRY("a", GOOD "\x3a\x06\x0a\x04\x08\x02\x10\x01")}, 2, LIANA_INVALID_DATA, "not a part"},
        {{HEADER, ENTRY("\0a\0\1\1\1\x80\x82", GOOD "\x3a\x04\x0a\x02\x10\x02")}, 2, LIANA_INVALID_DATA, "has slices"},
        {{HEADER, ENTRY("\0a\0\1\1\1\x80\x82", GOOD), ENTRY("a", GOOD "\x3a\x04\x0a\x02\x10\x02")}, 3, LIANA_OK, ""},
        {{HEADER, ENTRY("\0a\0\1\1\1\x80\x82", GOOD),
          ENTRY("a", GOOD "\x3a\x04\x0a\x02\x10\x02\x3a\x04\x0a\x02\x10\x02")},
         3,
         LIANA_INVALID_DATA,
         "add up"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__error error = {0};
        liana__tf_checkpoint file;
        liana_status status = open_entries(cases[i].entries, cases[i].count, &file, &error);
        if (status != cases[i].status || !strstr(error.message, cases[i].said)) {
            fail_msg("case %zu: status %d, '%s'", i, (int)status, error.message);
        }
        if (status == LIANA_OK) liana__tf_checkpoint_free(&file);
    }
}

static void test_types_that_are_no_numbers(void **state)
{
    (void)state;
    liana__test_folder();
    static const entry entries[] = {HEADER, ENTRY("a", "\x08\x08\x12\x04\x12\x02\x08\x01\x28\x08"),
                                    ENTRY("b", "\x08\x7b\x28\x08")};
    liana__error error = {0};
    liana__tf_checkpoint file;
    float value;
    assert_ok(open_entries(entries, 3, &file, &error), &error);
    assert_fails(liana__tf_checkpoint_read(&file, &file.variables[0], &value, &error), LIANA_UNIMPLEMENTED, &error,
                 "'a'", "complex64");
    assert_fails(liana__tf_checkpoint_read(&file, &file.variables[1], &value, &error), LIANA_UNIMPLEMENTED, &error,
                 "'b'", "another type");
    liana__tf_checkpoint_free(&file);
}

/* ---- blocks ---- */

static void test_snappy(void **state)
{
    (void)state;
    uint8_t *bytes;
    size_t size;
    /* 21 bytes: abcd, 11 bytes from 4 before, efghij. */
    static const uint8_t own[] = {21, 0x0c, 'a', 'b', 'c', 'd', 0x1d, 0x04, 0x14, 'e', 'f', 'g', 'h', 'i', 'j'};
    assert_true(liana__snappy_expand(own, sizeof own, 100, &bytes, &size));
    assert_int_equal(size, 21);
    assert_memory_equal(bytes, "abcdabcdabcdabcefghij", 21);
    free(bytes);
    for (size_t cut = 0; cut < sizeof own; cut++) assert_false(liana__snappy_expand(own, cut, 100, &bytes, &size));
    assert_false(liana__snappy_expand(own, sizeof own, 20, &bytes, &size));
    /* Copies with two and four bytes of offset; a literal with its length behind. */
    static const uint8_t others[] = {10, 0x00, 'x', 0x0e, 1, 0, 0x0f, 2, 0, 0, 0, 0xf0, 0, 'y'};
    assert_true(liana__snappy_expand(others, sizeof others, 100, &bytes, &size));
    assert_memory_equal(bytes, "xxxxxxxxxy", 10);
    free(bytes);
    /* Before the beginning; no offset; longer than said. */
    static const uint8_t before[] = {5, 0x00, 'x', 0x01, 2}, none[] = {5, 0x00, 'x', 0x01, 0};
    static const uint8_t longer[] = {4, 0x00, 'x', 0x01, 1};
    assert_false(liana__snappy_expand(before, sizeof before, 100, &bytes, &size));
    assert_false(liana__snappy_expand(none, sizeof none, 100, &bytes, &size));
    assert_false(liana__snappy_expand(longer, sizeof longer, 100, &bytes, &size));
}

static void test_blocks(void **state)
{
    (void)state;
    liana__test_folder();
    liana__text block = {0}, snappy = {0};
    liana__test_tf_entry(&block, "", 0, "\x08\x01", 2);
    liana__test_tf_entry(&block, "a", 1, GOOD, sizeof GOOD - 1);
    liana__test_tf_end(&block);
    liana__test_tf_number(&snappy, block.length);
    const char literal = (char)((block.length - 1) << 2);
    liana__text_add_bytes(&snappy, &literal, 1);
    liana__text_add_bytes(&snappy, block.data, block.length);
    static const struct {
        int bytes; /* 0: packed */
        char compression;
        int times;
        liana_status status;
        const char *said;
    } cases[] = {
        {1, 0, 1, LIANA_OK, ""},
        {0, 1, 1, LIANA_OK, ""},
        {1, 1, 1, LIANA_INVALID_DATA, "not Snappy's"},
        {1, 2, 1, LIANA_UNIMPLEMENTED, "unknown compression"},
        {1, 0, 2, LIANA_INVALID_DATA, "do not ascend"},
        {0, 0, 1, LIANA_INVALID_DATA, "no list of keys"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const liana__text *from = cases[i].bytes ? &block : &snappy;
        liana__error error = {0};
        liana__tf_checkpoint file;
        liana__text table = liana__test_tf_table(from->data, from->length, cases[i].compression, cases[i].times);
        liana_status status = open_table(&table, &file, &error);
        if (status != cases[i].status || !strstr(error.message, cases[i].said)) {
            fail_msg("case %zu: status %d, '%s'", i, (int)status, error.message);
        }
        if (status == LIANA_OK) {
            assert_int_equal(file.num_variables, 1);
            liana__tf_checkpoint_free(&file);
        }
        liana__text_free(&table);
    }
    liana__text_free(&block);
    liana__text_free(&snappy);
}

/* Blocks and graphs get right checksums, so that what is inside them is met too. */
static void test_mutations(void **state)
{
    (void)state;
    static const struct {
        const unsigned char *bytes;
        size_t size;
        char kind; /* of liana__try_tf_checkpoint */
    } inputs[] = {
        {flat_index, sizeof flat_index, 0},
        {flat_index, FLAT_BLOCK, 1},
        {objects_index, OBJECTS_BLOCK, 1},
        {objects_data + GRAPH_BEGIN, sizeof objects_data - GRAPH_BEGIN, 3},
    };
    size_t good = 0;
    for (uint32_t i = 0; i < 4000; i++) {
        const size_t which = i % 4;
        size_t size;
        char *bytes = liana__test_mutate((const char *)inputs[which].bytes, inputs[which].size, "\1\x80\xff\x0a\x12", 1,
                                         i, &size);
        uint8_t *tried = malloc(size + 1);
        assert_non_null(tried);
        tried[0] = (uint8_t)inputs[which].kind;
        memcpy(tried + 1, bytes, size);
        good += liana__try_tf_checkpoint(tried, size + 1);
        free(tried);
        free(bytes);
    }
    assert_compare(good, >, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flat_names),
        cmocka_unit_test(test_names_of_objects),
        cmocka_unit_test(test_what_a_path_means),
        cmocka_unit_test(test_missing_data),
        cmocka_unit_test(test_changed_data),
        cmocka_unit_test(test_changed_index),
        cmocka_unit_test(test_entries_that_are_refused),
        cmocka_unit_test(test_types_that_are_no_numbers),
        cmocka_unit_test(test_snappy),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
