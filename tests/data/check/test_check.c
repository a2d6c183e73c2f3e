/* liana check: every kind of damage is found and named, copies are told apart from the same bytes by other means, and
 * records that a quarantine list leaves out are gone. */
#include "harness/tiny_records.h"

#include "base/file.h"
#include "data/check/bad_records.h"
#include "data/check/hash.h"
#include "data/check/quarantine.h"
#include "data/loader/loader.h"
#include "data/source/source_open.h"
#include "formats/image.h"
#include "formats/json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char CONFIG[] = "data:\n"
                             "  train: train-*.tfrec\n"
                             "  validation: validation.tfrec\n"
                             "  test: test.tfrec\n"
                             "  num_classes: 4\n"
                             "model:\n"
                             "  layers:\n"
                             "    - Flatten\n"
                             "    - Dense: {units: 4, activation: softmax}\n"
                             "train: {epochs: 1, batch_size: 8}\n";

static const char *write_config(void)
{
    static char path[256];
    snprintf(path, sizeof path, "%s", liana__test_write("config.yaml", CONFIG, sizeof CONFIG - 1));
    return path;
}

/* Two files of 20 training records, the second with odd ones; 10 records each to validate and to test. */
static const char *write_data(const liana__test_odd *odd, size_t num_odd)
{
    liana__test_folder();
    liana__test_tiny_records("train-0.tfrec", 1, 0, 20, NULL, 0);
    liana__test_tiny_records("train-1.tfrec", 1, 20, 20, odd, num_odd);
    liana__test_tiny_records("validation.tfrec", 1, 100, 10, NULL, 0);
    liana__test_tiny_records("test.tfrec", 1, 200, 10, NULL, 0);
    return write_config();
}

/* ---- the command's messages, as JSON ---- */

typedef struct report {
    liana__arena arena;
    const liana__value *root;
} report;

static report check_json(const char *config, int code)
{
    liana__test_result got = liana__test_command("check", config, "--json");
    report said = {0};
    liana__value *root;
    liana__error error = {0};
    char *end = strchr(got.out, '\n');
    assert_non_null(end);
    assert_ok(liana__json_parse(got.out, (size_t)(end - got.out), "check", &said.arena, &root, &error), &error);
    said.root = root;
    assert_code(got, code);
    return said;
}

static int64_t number_of(const report *said, size_t part, const char *key)
{
    const liana__value *value = liana__value_get(liana__value_get(said->root, "parts")->items[part], key);
    assert_non_null(value);
    return value->integer;
}

/* The finding of a kind at a record of a file, which must be there. */
static const char *reason_of(const report *said, const char *kind, const char *file, int64_t record)
{
    const liana__value *findings = liana__value_get(said->root, "findings");
    for (size_t i = 0; i < findings->count; i++) {
        const liana__value *row = findings->items[i], *number = liana__value_get(row, "record");
        bool same = strcmp(liana__value_get(row, "kind")->string, kind) == 0 &&
                    strcmp(liana__path_name(liana__value_get(row, "file")->string), file) == 0 && number &&
                    number->integer == record;
        if (same) return liana__value_get(row, "reason")->string;
    }
    print_error("no finding of kind %s at %s, record %lld\n", kind, file, (long long)record);
    fail();
    return "";
}

static void test_good_data(void **state)
{
    (void)state;
    const char *config = write_data(NULL, 0);
    report said = check_json(config, 0);
    assert_int_equal(number_of(&said, 0, "records"), 40);
    assert_int_equal(number_of(&said, 1, "records"), 10);
    assert_int_equal(number_of(&said, 0, "height"), LIANA__TINY_SIZE);
    assert_int_equal(liana__value_get(said.root, "findings")->count, 0);
    /* The counts of the classes, as the images give them. */
    int64_t counts[LIANA__TINY_CLASSES] = {0};
    for (uint32_t i = 0; i < 40; i++) {
        uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
        counts[liana__test_tiny_image(1, i, pixels)]++;
    }
    for (size_t c = 0; c < LIANA__TINY_CLASSES; c++) {
        const liana__value *row = liana__value_get(said.root, "classes")->items[c];
        assert_int_equal(liana__value_get(row, "train")->integer, counts[c]);
    }
    liana__arena_free(&said.arena);
}

/* Odd records of train-1.tfrec, by number. */
enum { UNDECODABLE = 2, FAR_LABEL = 4, UNLABELLED = 6, COPY = 9, CONTRADICTED = 11, LEAKED = 13, DAMAGED = 15 };
static const liana__test_odd ODD[] = {
    {.record = UNDECODABLE, .image = "no image at all", .image_size = 15},
    {.record = FAR_LABEL, .label_plus = 1000},
    {.record = UNLABELLED, .unlabelled = true},
    {.record = COPY, .other_image = 28},                           /* the record before it */
    {.record = CONTRADICTED, .other_image = 30, .label_plus = -4}, /* below 0 is out of range: set by write_odd */
    {.record = LEAKED, .other_image = 104},                        /* of the validation */
};
enum { NUM_ODD = sizeof ODD / sizeof *ODD };

static const char *write_odd(void)
{
    uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
    liana__test_odd odd[NUM_ODD];
    memcpy(odd, ODD, sizeof odd);
    odd[4].label_plus = liana__test_tiny_image(1, 30, pixels) == 0 ? 1 : -1;
    const char *config = write_data(odd, NUM_ODD);
    liana__test_damage_record(liana__test_path("train-1.tfrec"), DAMAGED);
    return config;
}

static void test_every_kind_of_finding(void **state)
{
    (void)state;
    const char *config = write_odd();
    report said = check_json(config, 1);
    assert_int_equal(number_of(&said, 0, "bad"), 4);
    assert_int_equal(number_of(&said, 0, "overlap"), 1);
    assert_int_equal(number_of(&said, 0, "conflict"), 2);
    assert_int_equal(number_of(&said, 0, "duplicate"), 1);
    assert_int_equal(liana__value_get(said.root, "findings")->count, 8);
    assert_says(reason_of(&said, "bad", "train-1.tfrec", UNDECODABLE), "no image at all");
    assert_says(reason_of(&said, "bad", "train-1.tfrec", UNDECODABLE), "img022");
    assert_says(reason_of(&said, "bad", "train-1.tfrec", FAR_LABEL), "label 100");
    assert_says(reason_of(&said, "bad", "train-1.tfrec", FAR_LABEL), "[0, 4)");
    assert_says(reason_of(&said, "bad", "train-1.tfrec", UNLABELLED), "class");
    assert_says(reason_of(&said, "bad", "train-1.tfrec", DAMAGED), "checksum");
    assert_says(reason_of(&said, "duplicate", "train-1.tfrec", COPY), "record 8");
    assert_says(reason_of(&said, "conflict", "train-1.tfrec", CONTRADICTED), "another label");
    reason_of(&said, "conflict", "train-1.tfrec", 10);
    assert_says(reason_of(&said, "overlap", "train-1.tfrec", LEAKED), "validation.tfrec', record 4");
    liana__arena_free(&said.arena);
    /* For people: a table, each finding in a line, one verdict. */
    liana__test_result got = liana__test_command("check", config);
    assert_says(got.out, "overlap (train): ");
    assert_refused(got, 1, "4 bad records", "1 images that a later part has", "2 images with contradicting labels",
                   "--quarantine");
}

/* The same findings in the same order on any number of threads. */
static void test_threads(void **state)
{
    (void)state;
    char config[256];
    snprintf(config, sizeof config, "%s", write_odd());
    char *first = NULL;
    static const char *const threads[] = {"LIANA_THREADS=1", "LIANA_THREADS=2", "LIANA_THREADS=5"};
    for (int i = 0; i < 3; i++) {
        const char *environment[] = {threads[i], NULL};
        liana__test_result got = liana__test_process(environment, "check", config, "--json");
        if (first) assert_string_equal(got.out, first);
        if (!first) first = strdup(got.out);
        assert_code(got, 1);
    }
    free(first);
}

static void test_quarantine(void **state)
{
    (void)state;
    char config[256], list[256], setting[300];
    snprintf(config, sizeof config, "%s", write_odd());
    snprintf(list, sizeof list, "%s", liana__test_path("list.csv"));
    snprintf(setting, sizeof setting, "data.quarantine=%s", list);
    assert_code(liana__test_command("check", config, "--quarantine", list), 1);
    /* Four bad ones, both that contradict each other, and the one that validation has. */
    liana__bad_records records = {0};
    liana__error error = {0};
    assert_ok(liana__bad_records_read(&records, list, NULL, &error), &error);
    static const int64_t expected[] = {UNDECODABLE, FAR_LABEL, UNLABELLED, 10, CONTRADICTED, LEAKED, DAMAGED};
    assert_int_equal(records.count, 7);
    for (size_t i = 0; i < 7; i++) assert_compare(records.items[i].record, ==, expected[i], i);
    assert_int_equal(records.items[6].offset, liana__test_record_offset(liana__test_path("train-1.tfrec"), DAMAGED));
    assert_string_equal(records.items[0].id, "img022");
    liana__bad_records_free(&records);
    /* Without them nothing is wrong, and an epoch is the rest. */
    assert_code(liana__test_command("check", config, setting), 0);
    liana__test_result got = liana__test_command("train", config, setting, "--out", liana__test_path("run"));
    assert_says(got.out, "33 training, 10 validation, 10 test examples");
    assert_code(got, 0);
    /* The run's own list names the file too. */
    char run[256];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("evaluate", run), 0);
}

/* A record that is left out shifts those behind it, and no other. */
static void test_leave_out(void **state)
{
    (void)state;
    write_data(NULL, 0);
    char paths[2][256];
    snprintf(paths[0], sizeof paths[0], "%s", liana__test_path("train-0.tfrec"));
    snprintf(paths[1], sizeof paths[1], "%s", liana__test_path("train-1.tfrec"));
    const char *patterns[] = {paths[0], paths[1]};
    static const int left_out[] = {0, 1, 7, 19, 20, 33, 39};
    enum { COUNT = sizeof left_out / sizeof *left_out };
    liana__error error = {0};
    liana__bad_records list = {0};
    for (int i = COUNT - 1; i >= 0; i--) {
        liana__bad_record record = {"train", paths[left_out[i] / 20], left_out[i] % 20, -1, NULL, "because"};
        assert_ok(liana__bad_records_add(&list, &record, NULL, &error), &error);
    }
    liana__source *source;
    assert_ok(liana__source_open(patterns, 2, NULL, &source, &error), &error);
    uint64_t count;
    assert_ok(liana__source_leave_out(&source, &list, &count, &error), &error);
    assert_int_equal(count, COUNT);
    assert_int_equal(source->num_records, 40 - COUNT);
    void *scratch = liana__source_scratch_create(source);
    uint64_t index = 0;
    for (int i = 0, k = 0; i < 40; i++) {
        if (k < COUNT && left_out[k] == i) {
            k++;
            continue;
        }
        liana_source_record record;
        assert_ok(liana__source_read(source, index, scratch, &record, &error), &error);
        char id[16];
        snprintf(id, sizeof id, "img%03d", i);
        assert_memory_equal(record.id, id, 6);
        liana_record_address address = liana__source_address(source, index);
        assert_string_equal(address.file, paths[i / 20]);
        assert_int_equal(address.record, i % 20);
        assert_int_equal(liana__source_offset(source, index), liana__test_record_offset(paths[i / 20], i % 20));
        index++;
    }
    assert_int_equal(index, source->num_records);
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);
    liana__bad_records_free(&list);
}

/* Compressed files are shuffled block by block: the rest of the blocks still covers each record once. */
static void test_leave_out_of_blocks(void **state)
{
    (void)state;
    liana__test_folder();
    enum { COUNT = 5000, BATCH = 100 };
    liana__test_tiny_records("a.tfrec.gz", 1, 0, COUNT, NULL, 0);
    const char *path = liana__test_path("a.tfrec.gz");
    liana__error error = {0};
    liana__bad_records list = {0};
    static bool expected[COUNT], seen[COUNT];
    for (int i = 0; i < COUNT; i++) {
        expected[i] = i >= 2000 && i % 7 != 3;
        liana__bad_record record = {"train", path, i, -1, NULL, "because"};
        if (!expected[i]) assert_ok(liana__bad_records_add(&list, &record, NULL, &error), &error);
    }
    liana__source *source;
    assert_ok(liana__source_open(&path, 1, NULL, &source, &error), &error);
    assert_ok(liana__source_leave_out(&source, &list, NULL, &error), &error);
    assert_int_equal(source->num_records, COUNT - list.count);
    liana__loader_options options = {.image = {.height = 12, .width = 12, .channels = 1},
                                     .batch_size = BATCH,
                                     .num_epochs = 1,
                                     .shuffle = true};
    liana__loader *loader;
    assert_ok(liana__loader_create(source, &options, &loader, &error), &error);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    for (;;) {
        liana__batch *batch;
        assert_ok(liana__loader_next(loader, &batch, &error), &error);
        if (!batch) break;
        for (int64_t i = 0; i < batch->count; i++) {
            int number = atoi(batch->ids[i] + 3);
            assert_int_equal(liana__source_address(source, batch->records[i]).record, number);
            assert_false(seen[number]);
            seen[number] = true;
        }
        liana__loader_release(loader, batch);
    }
    assert_memory_equal(seen, expected, sizeof seen);
    liana__loader_destroy(loader);
    liana__source_close(source);
    liana__bad_records_free(&list);
}

static void test_nothing_left(void **state)
{
    (void)state;
    const char *config = write_data(NULL, 0);
    char text[2048] = "file,record\n", setting[300];
    for (int i = 0; i < 10; i++) snprintf(text + strlen(text), 64, "validation.tfrec,%d\n", i);
    snprintf(setting, sizeof setting, "data.quarantine=%s", liana__test_write("all.csv", text, strlen(text)));
    assert_refused(liana__test_command("train", config, setting, "--out", liana__test_path("run")), 1,
                   "data.quarantine", "10 records", "validation.tfrec");
}

/* ---- files that cannot be read to their end ---- */

static void test_lost_files(void **state)
{
    (void)state;
    const char *config = write_data(NULL, 0);
    char path[256];
    snprintf(path, sizeof path, "%s", liana__test_path("train-1.tfrec"));
    /* Behind a damaged length nothing can be found: records 12 to 19 are gone. */
    long offset = liana__test_record_offset(path, 12), size = liana__test_file_size(path);
    liana__test_flip_bit(path, offset + 1);
    report said = check_json(config, 1);
    assert_int_equal(number_of(&said, 0, "records"), 32);
    assert_int_equal(number_of(&said, 0, "lost"), 1);
    assert_int_equal(number_of(&said, 0, "lost_bytes"), size - offset);
    assert_says(reason_of(&said, "lost", "train-1.tfrec", 12), "checksum of the length of record 12");
    liana__arena_free(&said.arena);
    /* A file that is cut, one that is no such file, and one that is empty. */
    liana__test_cut(path, offset - 3);
    liana__test_write("train-2.tfrec", "id,label\n1,2\n", 13);
    liana__test_write("train-3.tfrec", "", 0);
    said = check_json(config, 1);
    assert_int_equal(number_of(&said, 0, "records"), 31);
    assert_int_equal(number_of(&said, 0, "lost"), 2);
    assert_says(reason_of(&said, "lost", "train-1.tfrec", 11), "bytes are lost");
    assert_says(reason_of(&said, "lost", "train-2.tfrec", 0), "13 bytes are lost");
    liana__arena_free(&said.arena);
    /* A part that cannot be opened at all does not hide the faults of the others. */
    liana__test_cut(liana__test_path("validation.tfrec"), 0);
    assert_refused(liana__test_command("check", config), 1, "validation", "no records in it",
                   "2 files that cannot be read to their end");
}

/* Without a configuration: files of any kind. */
static void test_files(void **state)
{
    (void)state;
    write_data(NULL, 0);
    char path[256];
    snprintf(path, sizeof path, "%s", liana__test_path("train-0.tfrec"));
    assert_code(liana__test_command("check", path), 0);
    /* Twice the same file: each image comes again. */
    liana__test_result got = liana__test_command("check", path, path);
    assert_says(got.out, "duplicate (data): ");
    assert_code(got, 0);
    assert_refused(liana__test_command("check", path, "data.num_classes=3"), 2, "data.num_classes=3");
    assert_refused(liana__test_command("check", "nothing.tfrec"), 1, "nothing.tfrec");
    /* IDX: pixels are compared as they are. */
    liana__test_tiny_run(30);
    snprintf(path, sizeof path, "%s", liana__test_path("train-images"));
    got = liana__test_command("check", path);
    assert_says(got.out, "  30    0");
    assert_code(got, 0);
}

static void test_folders(void **state)
{
    (void)state;
    liana__test_folder();
    liana__error error = {0};
    assert_ok(liana__folder_make(liana__test_path("photos/a"), &error), &error);
    assert_ok(liana__folder_make(liana__test_path("photos/b"), &error), &error);
    for (int i = 0; i < 4; i++) {
        uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
        /* The last of a is the first of b. */
        liana__test_tiny_image(1, (uint32_t)(i < 2 ? i : i - 1), pixels);
        liana__text png = {0};
        assert_ok(liana__png_encode(pixels, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1, &png, &error), &error);
        char name[32];
        snprintf(name, sizeof name, "photos/%c/%d.png", i < 2 ? 'a' : 'b', i);
        liana__test_write(name, png.data, png.length);
        liana__text_free(&png);
    }
    liana__test_write("photos/b/9.png", "nothing", 7);
    char folder[256];
    snprintf(folder, sizeof folder, "%s", liana__test_path("photos"));
    liana__test_result got = liana__test_command("check", folder);
    assert_says(got.out, "b/9.png");
    assert_says(got.out, "conflict (data): ");
    assert_refused(got, 1, "1 bad records", "2 images with contradicting labels");
}

/* Copies in the real data, found by a Python program with SHA-256. */
static void test_copies_in_flowers(void **state)
{
    (void)state;
    char pattern[512];
    snprintf(pattern, sizeof pattern, "%s", liana__test_data("flowers192/train"));
    liana__test_result got = liana__test_command("check", pattern, "--json");
    assert_says(got.out, "\"duplicate\": 2");
    assert_says(got.out, "flowers05-200.tfrec', record 43: the same image is in '");
    assert_says(got.out, "flowers01-201.tfrec', record 153 (data)");
    assert_says(got.out, "flowers03-201.tfrec', record 93: the same image is in '");
    assert_code(got, 0);
}

/* ---- lists ---- */

static void test_list_round_trip(void **state)
{
    (void)state;
    liana__test_folder();
    liana__bad_records list = {0}, again = {0};
    liana__error error = {0};
    static const liana__bad_record records[] = {
        {"test", "/data/b.tfrec", 3, 4096, NULL, "a comma, a \"quote\""},
        {"train", "/data/b.tfrec", 10, 70, "x\ny", "two\nlines"},
        {"train", "/data/b.tfrec", 9, -1, "id", "before 10"},
        {"train", "/data/a.png", -1, -1, NULL, "a file"},
    };
    bool added;
    for (int i = 0; i < 4; i++) {
        assert_ok(liana__bad_records_add(&list, &records[i], &added, &error), &error);
        assert_true(added);
    }
    assert_ok(liana__bad_records_add(&list, &records[1], &added, &error), &error);
    assert_false(added);
    assert_int_equal(list.count, 4);
    assert_ok(liana__bad_records_write(&list, liana__test_path("list.csv"), &error), &error);
    assert_ok(liana__bad_records_read(&again, liana__test_path("list.csv"), NULL, &error), &error);
    static const int order[] = {3, 2, 1, 0};
    assert_int_equal(again.count, 4);
    for (int i = 0; i < 4; i++) {
        const liana__bad_record *found = &again.items[i], *wanted = &records[order[i]];
        assert_string_equal(found->part, wanted->part);
        assert_string_equal(found->file, wanted->file);
        assert_int_equal(found->record, wanted->record);
        assert_int_equal(found->offset, wanted->offset);
        assert_string_equal(found->reason, wanted->reason);
        assert_compare(!found->id, ==, !wanted->id);
        if (found->id) assert_string_equal(found->id, wanted->id);
    }
    liana__bad_records_free(&list);
    liana__bad_records_free(&again);
}

static void test_wrong_lists(void **state)
{
    (void)state;
    liana__test_folder();
    static const char *const cases[][2] = {
        {"file\na\n", "'file' and 'record'"},
        {"", "'file' and 'record'"},
        {"file,record\na,b\n", "line 2: the record is not a whole number"},
        {"file,record\na,1\nb,-2\n", "line 3: the record is not a whole number"},
        {"offset,file,record\nx,a,1\n", "line 2: the offset is not a whole number"},
        {"file,record\na\n", "line 2"},
        {"file,record\n,1\n", "line 2: the name of the file is missing"},
        {"file,record,reason\na,1,\"x\ny\"\nb,1,\"x\n", "line 4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__bad_records list = {0};
        liana__error error = {0};
        const char *path = liana__test_write("list.csv", cases[i][0], strlen(cases[i][0]));
        assert_fails(liana__bad_records_read(&list, path, NULL, &error), LIANA_INVALID_DATA, &error, "list.csv",
                     cases[i][1]);
        liana__bad_records_free(&list);
    }
    const char *config = write_data(NULL, 0);
    assert_refused(liana__test_command("check", config, "data.quarantine=no-such.csv"), 1, "no-such.csv");
}

/* ---- hashes ---- */

static void test_hashes_differ(void **state)
{
    (void)state;
    enum { SIZE = 67 };
    uint8_t bytes[SIZE] = {0};
    liana__hash seen[1 + SIZE + SIZE * 8];
    size_t count = 0;
    for (size_t size = 0; size <= SIZE; size++) seen[count++] = liana__hash_bytes(bytes, size);
    for (size_t bit = 0; bit < SIZE * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        seen[count++] = liana__hash_bytes(bytes, SIZE);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(count, sizeof seen / sizeof *seen);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_compare(seen[i].words[0], !=, seen[k].words[0], i, k);
            assert_compare(seen[i].words[1], !=, seen[k].words[1], i, k);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_data),
        cmocka_unit_test(test_every_kind_of_finding),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_quarantine),
        cmocka_unit_test(test_leave_out),
        cmocka_unit_test(test_leave_out_of_blocks),
        cmocka_unit_test(test_nothing_left),
        cmocka_unit_test(test_lost_files),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_copies_in_flowers),
        cmocka_unit_test(test_list_round_trip),
        cmocka_unit_test(test_wrong_lists),
        cmocka_unit_test(test_hashes_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
