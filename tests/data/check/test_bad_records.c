/* data.on_bad_record: skip. A record that cannot be used leaves a gap: nothing else moves, sums are of the other
 * records, and all of it is named, counted and listed. */
#include "harness/text_files.h"
#include "harness/tiny_records.h"

#include "base/file.h"
#include "data/augment/augment.h"
#include "data/check/bad_records.h"
#include "data/loader/loader.h"
#include "data/source/source_open.h"
#include "formats/example.h"
#include "formats/json.h"
#include "formats/tfrecord.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- shards of real flowers with known damage ---- */

enum { FLOWERS = 402, WRONG_LABEL = 40, CUT_IMAGE = 90, NO_IMAGE = 320, FIRST = 0, WRONG_CHECKSUM = 217, NUM_BAD = 5 };
static const int BAD_FLOWERS[NUM_BAD] = {FIRST, WRONG_LABEL, CUT_IMAGE, WRONG_CHECKSUM, NO_IMAGE};

/* A record as it is, or with the damage that its number has; packed into *bytes. */
static void copy_flower(liana__example_builder *builder, const liana__example *from, int number, const uint8_t **bytes,
                        size_t *size)
{
    liana__error error = {0};
    const uint8_t *image, *id;
    size_t image_size, id_size;
    int64_t label = 1003;
    assert_ok(liana__example_bytes(from, "image", &image, &image_size, &error), &error);
    assert_ok(liana__example_bytes(from, "id", &id, &id_size, &error), &error);
    if (number != WRONG_LABEL) assert_ok(liana__example_int64(from, "class", &label, &error), &error);
    if (number == CUT_IMAGE) image_size /= 2;
    if (number != NO_IMAGE) liana__example_add_bytes(builder, "image", image, image_size);
    liana__example_add_int64s(builder, "class", &label, 1);
    liana__example_add_bytes(builder, "id", id, id_size);
    assert_ok(liana__example_pack(builder, bytes, size, &error), &error);
}

/* Records `first` and on, as they are, or with the damage of BAD_FLOWERS. */
static int copy_shard(const char *from, const char *to, int first, bool damaged)
{
    liana__error error = {0};
    liana__tfrecord *file;
    assert_ok(liana__tfrecord_open(liana__test_data(from), NULL, &file, &error), &error);
    liana__tfrecord_writer writer;
    assert_ok(liana__tfrecord_writer_begin(&writer, liana__test_path(to), &error), &error);
    liana__example example = {0};
    liana__example_builder builder = {0};
    int count = (int)liana__tfrecord_count(file);
    for (int i = 0; i < count; i++) {
        const uint8_t *bytes;
        size_t size;
        assert_ok(liana__tfrecord_get(file, (size_t)i, &bytes, &size, &error), &error);
        assert_ok(liana__example_parse(&example, NULL, 0, bytes, size, &error), &error);
        copy_flower(&builder, &example, damaged ? first + i : -1, &bytes, &size);
        assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
    }
    liana__example_builder_free(&builder);
    liana__example_free(&example);
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    liana__tfrecord_close(file);
    for (int i = 0; damaged && i < NUM_BAD; i++) {
        bool flip = BAD_FLOWERS[i] == FIRST || BAD_FLOWERS[i] == WRONG_CHECKSUM;
        if (!flip || BAD_FLOWERS[i] < first || BAD_FLOWERS[i] >= first + count) continue;
        liana__test_damage_record(liana__test_path(to), BAD_FLOWERS[i] - first);
    }
    return first + count;
}

static liana__source *open_flowers(const char *name, bool damaged)
{
    liana__error error = {0};
    char first[64], second[64], paths[2][256];
    snprintf(first, sizeof first, "%s-0.tfrec", name);
    snprintf(second, sizeof second, "%s-1.tfrec", name);
    int count = copy_shard("flowers192/train/flowers00-201.tfrec", first, 0, damaged);
    assert_int_equal(copy_shard("flowers192/train/flowers01-201.tfrec", second, count, damaged), FLOWERS);
    snprintf(paths[0], sizeof paths[0], "%s", liana__test_path(first));
    snprintf(paths[1], sizeof paths[1], "%s", liana__test_path(second));
    const char *patterns[] = {paths[0], paths[1]};
    liana__source_options options = {.need_labels = true, .skip_damage = damaged};
    liana__source *source;
    assert_ok(liana__source_open(patterns, 2, &options, &source, &error), &error);
    assert_int_equal(source->num_records, FLOWERS);
    return source;
}

enum { SIDE = 48, BATCH = 32, MICROBATCH = 8, IMAGE = SIDE * SIDE * 3 };

/* All batches of two epochs, by position. */
typedef struct epoch_images {
    uint8_t *images; /* [2 * FLOWERS, IMAGE]; zeros where there is none */
    bool there[2 * FLOWERS];
    int32_t labels[2 * FLOWERS], partners[2 * FLOWERS];
    float shares[2 * FLOWERS];
    uint64_t records[2 * FLOWERS];
    int64_t missing[2 * FLOWERS]; /* by batch */
} epoch_images;

static void take_batch(epoch_images *all, const liana__batch *batch)
{
    uint64_t next = batch->first_position;
    for (int64_t i = 0; i < batch->count; i++) {
        uint64_t at = batch->positions[i];
        assert_compare(at, >=, next);
        assert_compare(at, <, batch->first_position + (uint64_t)batch->num_positions);
        next = at + 1;
        assert_false(all->there[at]);
        all->there[at] = true;
        memcpy(all->images + at * IMAGE, batch->images + i * IMAGE, IMAGE);
        all->labels[at] = batch->labels[i];
        all->records[at] = batch->records[i];
        const int32_t *partners = liana__batch_rows_of(batch, "partners");
        if (!partners) continue;
        all->partners[at] = partners[i];
        all->shares[at] = ((const float *)liana__batch_rows_of(batch, LIANA__SHARES))[i];
    }
}

static epoch_images *read_epochs(const liana__source *source, int threads, bool mixes, liana__bad_records *list)
{
    liana__error error = {0};
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    liana__arena arena = {0};
    static const char stages[] = "[{\"random_flip\": {}}, {\"random_brightness\": {\"factor\": 0.2}}, {\"mixup\": {}}]";
    liana__value *value;
    assert_ok(liana__json_parse(stages, sizeof stages - 1, "stages", &arena, &value, &error), &error);
    if (!mixes) value->count--;
    liana_image_shape shape = {SIDE, SIDE, 3};
    liana__augment *augment;
    assert_ok(liana__augment_create(context, value, "augment", &shape, &augment, &error), &error);
    liana__loader_options options = {.image = {.height = SIDE, .width = SIDE, .channels = 3},
                                     .batch_size = BATCH,
                                     .num_epochs = 2,
                                     .shuffle = true,
                                     .seed = 5,
                                     .num_classes = 5,
                                     .num_threads = threads,
                                     .cache_memory = (size_t)100 * IMAGE,
                                     .augment = augment,
                                     .microbatch = MICROBATCH,
                                     .bad_records = list,
                                     .part = "train"};
    liana__loader *loader;
    assert_ok(liana__loader_create(source, &options, &loader, &error), &error);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    epoch_images *all = calloc(1, sizeof *all);
    assert_non_null(all);
    all->images = calloc(2 * FLOWERS, IMAGE);
    assert_non_null(all->images);
    for (;;) {
        liana__batch *batch;
        assert_ok(liana__loader_next(loader, &batch, &error), &error);
        if (!batch) break;
        take_batch(all, batch);
        liana__loader_release(loader, batch);
    }
    liana__loader_destroy(loader);
    liana__augment_destroy(augment);
    liana__arena_free(&arena);
    liana_context_destroy(context);
    return all;
}

static void free_epochs(epoch_images *all)
{
    free(all->images);
    free(all);
}

static bool is_bad(uint64_t record)
{
    for (int i = 0; i < NUM_BAD; i++) {
        if (record == (uint64_t)BAD_FLOWERS[i]) return true;
    }
    return false;
}

/* Whether a position's shard has a gap. Batches begin anew with each epoch. */
static bool beside_gap(const epoch_images *clean, uint64_t position)
{
    uint64_t epoch = position / FLOWERS, in_epoch = position % FLOWERS, begin = in_epoch / BATCH * BATCH;
    uint64_t size = FLOWERS - begin < BATCH ? FLOWERS - begin : BATCH;
    uint64_t shards = (size + MICROBATCH - 1) / MICROBATCH, from = begin;
    for (uint64_t shard = 0; shard < shards; shard++) {
        uint64_t to = from + size / shards + (shard < size % shards);
        bool gap = false;
        for (uint64_t i = from; i < to; i++) gap = gap || is_bad(clean->records[epoch * FLOWERS + i]);
        if (in_epoch >= from && in_epoch < to) return gap;
        from = to;
    }
    return false;
}

/* Each position that is there has the clean run's example, byte for byte, on any number of threads. */
static void test_other_examples_stay(void **state)
{
    (void)state;
    liana__test_folder();
    liana__source *clean_source = open_flowers("clean", false), *bad_source = open_flowers("bad", true);
    for (int mixes = 0; mixes < 2; mixes++) {
        epoch_images *clean = read_epochs(clean_source, 2, mixes, NULL);
        static const int threads[] = {1, 2, 5};
        for (int t = 0; t < 3; t++) {
            liana__bad_records list = {0};
            epoch_images *bad = read_epochs(bad_source, threads[t], mixes, &list);
            int missing = 0, mixed_elsewhere = 0;
            for (uint64_t at = 0; at < 2 * FLOWERS; at++) {
                assert_true(clean->there[at]);
                assert_compare(bad->there[at], ==, !is_bad(clean->records[at]), at);
                missing += !bad->there[at];
                if (!bad->there[at]) continue;
                assert_compare(bad->records[at], ==, clean->records[at], at);
                assert_compare(bad->labels[at], ==, clean->labels[at], at);
                /* Partners of mixing are chosen within a shard. */
                if (mixes && beside_gap(clean, at)) {
                    mixed_elsewhere++;
                    continue;
                }
                assert_memory_equal(bad->images + at * IMAGE, clean->images + at * IMAGE, IMAGE);
                assert_compare(bad->partners[at], ==, clean->partners[at], at);
                assert_compare(bad->shares[at], ==, clean->shares[at], at);
            }
            assert_int_equal(missing, 2 * NUM_BAD);
            if (mixes)
                assert_in_range(mixed_elsewhere, 1, 2 * NUM_BAD * MICROBATCH - 1);
            else
                assert_int_equal(mixed_elsewhere, 0);
            /* Each is listed once, with its place. */
            assert_int_equal(list.count, NUM_BAD);
            for (int i = 0; i < NUM_BAD; i++) {
                int record = BAD_FLOWERS[i] < 201 ? BAD_FLOWERS[i] : BAD_FLOWERS[i] - 201;
                assert_int_equal(list.items[i].record, record);
                assert_says(list.items[i].file, BAD_FLOWERS[i] < 201 ? "bad-0.tfrec" : "bad-1.tfrec");
                assert_compare(list.items[i].offset, ==, liana__test_record_offset(list.items[i].file, record), i);
            }
            assert_says(list.items[0].reason, "checksum");
            assert_says(list.items[1].reason, "label 1003");
            assert_non_null(list.items[1].id);
            assert_says(list.items[2].reason, "JPEG");
            assert_says(list.items[3].reason, "checksum");
            assert_says(list.items[4].reason, "'image'");
            liana__bad_records_free(&list);
            free_epochs(bad);
        }
        free_epochs(clean);
    }
    liana__source_close(clean_source);
    liana__source_close(bad_source);
}

/* ---- training on the small problem ---- */

static const char CONFIG[] = "data:\n"
                             "  train: train-*.tfrec\n"
                             "  validation: validation.tfrec\n"
                             "  test: test.tfrec\n"
                             "  num_classes: 4\n"
                             "  augment: [{random_flip: {direction: horizontal}}, {mixup: {alpha: 0.3}}]\n"
                             "  on_bad_record: skip\n"
                             "model:\n"
                             "  layers:\n"
                             "    - Conv2D: {filters: 4, kernel_size: 3, activation: relu}\n"
                             "    - BatchNormalization: {momentum: 0.9}\n"
                             "    - Dropout: {rate: 0.25}\n"
                             "    - Flatten\n"
                             "    - Dense: {units: 4, activation: softmax}\n"
                             "train: {epochs: 3, batch_size: 16, microbatch: 4, seed: 3}\n";

static const char *write_config(const char *text)
{
    static char path[256];
    snprintf(path, sizeof path, "%s", liana__test_write("config.yaml", text, strlen(text)));
    return path;
}

/* Two training files of 40 with four bad records, 20 to validate and to test with one each. */
static const char *write_data(void)
{
    liana__test_folder();
    static const liana__test_odd train[] = {{.record = 5, .label_plus = 1003}, {.record = 30, .unlabelled = true}};
    static const liana__test_odd validation[] = {{.record = 7, .image = "nothing", .image_size = 7}};
    liana__test_tiny_records("train-0.tfrec", 1, 0, 40, NULL, 0);
    liana__test_tiny_records("train-1.tfrec", 1, 40, 40, train, 2);
    liana__test_tiny_records("validation.tfrec", 1, 100, 20, validation, 1);
    liana__test_tiny_records("test.tfrec", 1, 200, 20, NULL, 0);
    liana__test_damage_record(liana__test_path("train-0.tfrec"), 0);
    liana__test_damage_record(liana__test_path("train-0.tfrec"), 39);
    liana__test_damage_record(liana__test_path("test.tfrec"), 3);
    return write_config(CONFIG);
}

static void assert_same_runs(const char *a, const char *b)
{
    static const char *const names[] = {"history.json", "bad_records.csv", "validation_predictions.csv",
                                        "test_predictions.csv"};
    char first[256], second[256];
    for (int i = 0; i < 4; i++) {
        snprintf(first, sizeof first, "%s/%s", a, names[i]);
        snprintf(second, sizeof second, "%s/%s", b, names[i]);
        char left[256];
        snprintf(left, sizeof left, "%s", liana__test_path(first));
        assert_same_file(left, liana__test_path(second));
    }
    char weights[2][700];
    snprintf(weights[0], sizeof weights[0], "%s/variables.safetensors", liana__test_newest_checkpoint(a));
    snprintf(weights[1], sizeof weights[1], "%s/variables.safetensors", liana__test_newest_checkpoint(b));
    assert_same_file(weights[0], weights[1]);
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) count++;
    return count;
}

static void check_history(const char *name)
{
    char *text = liana__test_read_text(name);
    assert_int_equal(count_of(text, "\"bad_records\": 4"), 3);
    assert_int_equal(count_of(text, "\"val_bad_records\": 1"), 3);
    free(text);
}

static void check_listing(const char *name)
{
    static const struct {
        const char *part, *file;
        int record;
        const char *id, *reason;
    } expected[] = {
        {"train", "train-0.tfrec", 0, NULL, "checksum"},
        {"train", "train-0.tfrec", 39, NULL, "checksum"},
        {"train", "train-1.tfrec", 5, "img045", "label 100"},
        {"train", "train-1.tfrec", 30, "img070", "'class'"},
        {"validation", "validation.tfrec", 7, "img107", "expected a JPEG, PNG"},
        {"test", "test.tfrec", 3, NULL, "checksum"},
    };
    liana__bad_records list = {0};
    liana__error error = {0};
    assert_ok(liana__bad_records_read(&list, liana__test_path(name), NULL, &error), &error);
    assert_int_equal(list.count, 6);
    for (size_t i = 0; i < 6; i++) {
        const liana__bad_record *found = &list.items[i];
        assert_string_equal(found->part, expected[i].part);
        assert_string_equal(liana__path_name(found->file), expected[i].file);
        assert_int_equal(found->record, expected[i].record);
        assert_int_equal(found->offset, liana__test_record_offset(found->file, expected[i].record));
        assert_compare(!found->id, ==, !expected[i].id, i);
        if (found->id) assert_string_equal(found->id, expected[i].id);
        assert_says(found->reason, expected[i].reason);
    }
    liana__bad_records_free(&list);
}

/* A run's messages, counts and lists. */
static void test_a_run(void **state)
{
    (void)state;
    const char *config = write_data();
    liana__test_result got = liana__test_command("train", config, "--out", liana__test_path("run"));
    /* Each once, though there are three epochs. */
    assert_int_equal(count_of(got.out, "left out of train: "), 4);
    assert_int_equal(count_of(got.out, "left out of validation: "), 1);
    assert_int_equal(count_of(got.out, "left out of test: "), 1);
    assert_int_equal(count_of(got.out, "bad records 4"), 3);
    assert_says(got.out, "no row for 1 of 20 examples");
    assert_code(got, 0);
    check_history("run/history.json");
    check_listing("run/bad_records.csv");
    /* No prediction is invented: a row for each of the others, in their order. */
    char *rows = liana__test_read_text("run/test_predictions.csv");
    assert_int_equal(count_of(rows, "\n"), 1 + 19);
    assert_never_says(rows, "img203");
    assert_says(rows, "img202,");
    assert_says(rows, "img204,");
    free(rows);
    rows = liana__test_read_text("run/validation_predictions.csv");
    assert_int_equal(count_of(rows, "\n"), 1 + 19);
    assert_never_says(rows, "img107");
    free(rows);
    char run[256], data[256];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(data, sizeof data, "%s", liana__test_path("test.tfrec"));
    got = liana__test_command("evaluate", run);
    assert_says(got.out, "over 19 examples (1 left out)");
    assert_says(got.err, "left out of validation: ");
    assert_code(got, 0);
    got = liana__test_command("predict", run, "--data", data, "--out", liana__test_path("p.csv"));
    assert_says(got.out, "p.csv': 19; 1 records left out");
    assert_says(got.err, "test.tfrec': the checksum of record 3");
    assert_code(got, 0);
    /* The run's list is a quarantine list. */
    char setting[300];
    snprintf(setting, sizeof setting, "data.quarantine=%s", liana__test_path("run/bad_records.csv"));
    got = liana__test_command("train", config, setting, "data.on_bad_record=fail", "--out", liana__test_path("rest"));
    assert_says(got.out, "76 training, 19 validation, 19 test examples");
    assert_code(got, 0);
}

static void test_threads(void **state)
{
    (void)state;
    char config[256], out[256];
    snprintf(config, sizeof config, "%s", write_data());
    static const char *const threads[] = {"1", "2", "5"};
    for (int i = 0; i < 3; i++) {
        char compute[40], read[40], name[16];
        snprintf(compute, sizeof compute, "train.threads=%s", threads[i]);
        snprintf(read, sizeof read, "data.threads=%s", threads[i]);
        snprintf(name, sizeof name, "run%s", threads[i]);
        snprintf(out, sizeof out, "%s", liana__test_path(name));
        assert_code(liana__test_process(NULL, "train", config, compute, read, "--out", out), 0);
    }
    assert_same_runs("run1", "run2");
    assert_same_runs("run1", "run5");
    check_history("run5/history.json");
}

/* Killed at any moment, and stopped at each of several. */
static void test_resume(void **state)
{
    (void)state;
    char config[256], whole[256], killed[256];
    snprintf(config, sizeof config, "%s", write_data());
    snprintf(whole, sizeof whole, "%s", liana__test_path("whole"));
    snprintf(killed, sizeof killed, "%s", liana__test_path("killed"));
    assert_code(liana__test_process(NULL, "train", config, "checkpoint.every_steps=1", "--out", whole), 0);
    const char *const words[] = {"train", config, "checkpoint.every_steps=1", "--out", killed, "--resume", NULL};
    for (int i = 0; i < 6; i++) {
        pid_t process = liana__test_spawn(words, NULL);
        nanosleep(&(struct timespec){.tv_nsec = 40000000L + 15000000L * i}, NULL);
        kill(process, i % 2 ? SIGTERM : SIGKILL);
        liana__test_result got = liana__test_wait(process);
        liana__test_free_result(&got);
    }
    assert_code(liana__test_process(NULL, "train", config, "checkpoint.every_steps=1", "--out", killed, "--resume"), 0);
    assert_same_runs("whole", "killed");
    check_listing("killed/bad_records.csv");
    check_history("killed/history.json");
}

/* A run that failed at a bad record goes on with skip, and ends as one that skipped from the start. */
static void test_skip_after_a_failure(void **state)
{
    (void)state;
    const char *config = write_data();
    assert_code(liana__test_command("train", config, "--out", liana__test_path("skipped")), 0);
    liana__test_result got = liana__test_command("train", config, "data.on_bad_record=fail", "checkpoint.every_steps=1",
                                                 "--out", liana__test_path("failed"));
    assert_says(got.err, "checksum");
    assert_code(got, 1);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("failed"), "--resume"), 0);
    assert_same_runs("skipped", "failed");
}

static void test_max_bad(void **state)
{
    (void)state;
    const char *config = write_data();
    liana__test_result got = liana__test_command("train", config, "data.max_bad=2", "--out", liana__test_path("run"));
    assert_int_equal(count_of(got.out, "left out of train: "), 3);
    assert_refused(got, 1, "more than 2 bad records (data.max_bad)", ".tfrec", "record ");
    liana__bad_records list = {0};
    liana__error error = {0};
    assert_ok(liana__bad_records_read(&list, liana__test_path("run/bad_records.csv"), NULL, &error), &error);
    assert_int_equal(list.count, 3);
    liana__bad_records_free(&list);
    assert_code(liana__test_command("train", config, "data.max_bad=6", "--out", liana__test_path("enough")), 0);
    assert_refused(liana__test_command("train", config, "data.max_bad=6", "data.on_bad_record=fail"), 2, "data.max_bad",
                   "data.on_bad_record: skip");
}

/* ---- what masked means ---- */

#define PLAIN(batches)                                                                    \
    "data: {train: train-*.tfrec, num_classes: 4, shuffle: false, on_bad_record: skip}\n" \
    "model:\n"                                                                            \
    "  layers:\n"                                                                         \
    "    - Conv2D: {filters: 4, kernel_size: 3, activation: relu}\n"                      \
    "    - BatchNormalization: {momentum: 0.9}\n"                                         \
    "    - Flatten\n"                                                                     \
    "    - Dense: {units: 4, activation: softmax}\n"                                      \
    "train: {epochs: 2, seed: 3, " batches "}\n"

/* A step with a gap is, to the bit, a step of the examples that are there: loss, gradients, batch statistics, divisor.
 * 15 examples are cut into shards of 8 and 7, as 16 with a gap in the second one are. */
static void test_gap_is_as_if_never_there(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = write_config(PLAIN("batch_size: 16, microbatch: 8"));
    static const liana__test_odd odd[] = {{.record = 12, .image = "nothing", .image_size = 7}};
    liana__test_tiny_records("train-0.tfrec", 1, 0, 16, odd, 1);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("gap")), 0);
    liana__test_tiny_records("train-0.tfrec", 1, 0, 12, NULL, 0);
    liana__test_tiny_records("train-1.tfrec", 1, 13, 3, NULL, 0);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("plain")), 0);
    char weights[2][700];
    snprintf(weights[0], sizeof weights[0], "%s/variables.safetensors", liana__test_newest_checkpoint("gap"));
    snprintf(weights[1], sizeof weights[1], "%s/variables.safetensors", liana__test_newest_checkpoint("plain"));
    assert_same_file(weights[0], weights[1]);
}

/* Batches of 32 with shards of all sizes from 0 to 32: more programs than are usually kept, and a shard of nothing. */
static void test_gaps_of_all_sizes(void **state)
{
    (void)state;
    liana__test_folder();
    enum { SHARDS = 33, SIZE = 32 };
    static liana__test_odd odd[SHARDS * SIZE];
    size_t count = 0;
    for (int shard = 0; shard < SHARDS; shard++) {
        for (int i = 0; i < shard; i++) {
            odd[count++] = (liana__test_odd){.record = shard * SIZE + i, .image = "nothing", .image_size = 7};
        }
    }
    liana__test_tiny_records("train-0.tfrec", 1, 0, SHARDS * SIZE, odd, count);
    const char *config = write_config(PLAIN("batch_size: 1056, microbatch: 32"));
    assert_code(liana__test_command("train", config, "--out", liana__test_path("run")), 0);
    char *text = liana__test_read_text("run/history.json");
    assert_int_equal(count_of(text, "\"bad_records\": 528"), 2);
    free(text);
}

/* A batch of which nothing is left. */
static void test_step_of_nothing(void **state)
{
    (void)state;
    liana__test_folder();
    static const liana__test_odd odd[] = {{.record = 4, .unlabelled = true},
                                          {.record = 5, .unlabelled = true},
                                          {.record = 6, .unlabelled = true},
                                          {.record = 7, .unlabelled = true}};
    liana__test_tiny_records("train-0.tfrec", 1, 0, 12, odd, 4);
    const char *config = write_config(PLAIN("batch_size: 4"));
    liana__test_result got = liana__test_command("train", config, "checkpoint.every_steps=1", "checkpoint.keep=0",
                                                 "--out", liana__test_path("run"));
    assert_says(got.out, "step 2 of epoch 1 changes nothing: none of its 4 records can be used");
    assert_says(got.out, "step 2 of epoch 2 changes nothing");
    assert_code(got, 0);
    char first[256];
    snprintf(first, sizeof first, "%s", liana__test_path("run/checkpoints/step-0000000001/variables.safetensors"));
    assert_same_file(first, liana__test_path("run/checkpoints/step-0000000002/variables.safetensors"));
    /* All of the data: every step. */
    static liana__test_odd all[12];
    for (int i = 0; i < 12; i++) all[i] = (liana__test_odd){.record = i, .image = "nothing", .image_size = 7};
    liana__test_tiny_records("train-0.tfrec", 1, 0, 12, all, 12);
    assert_refused(liana__test_command("train", config, "--out", liana__test_path("none")), 1, "train-0.tfrec",
                   "record");
}

/* Counts of classes are those of the labels that can be read. */
static void test_sampling(void **state)
{
    (void)state;
    const char *config = write_data();
    liana__test_result got = liana__test_command("train", config, "data.oversample.target_count=30", "train.epochs=2",
                                                 "--out", liana__test_path("over"));
    assert_says(got.out, "oversampling: epoch 1 has ");
    assert_code(got, 0);
    char *text = liana__test_read_text("over/history.json");
    assert_int_equal(count_of(text, "\"bad_records\": 4"), 2);
    free(text);
    got = liana__test_command("train", config, "data.sample_weights=balanced", "train.class_weights=balanced",
                              "train.epochs=2", "--out", liana__test_path("weighted"));
    assert_says(got.out, "weighted sampling: epoch 1 has 80 examples of 80 records");
    assert_code(got, 0);
}

/* ---- files that cannot be read to their end ---- */

static void test_lost_bytes(void **state)
{
    (void)state;
    const char *config = write_data();
    char path[256], offset_text[64], lost_text[64];
    snprintf(path, sizeof path, "%s", liana__test_path("train-1.tfrec"));
    long offset = liana__test_record_offset(path, 25), size = liana__test_file_size(path);
    snprintf(offset_text, sizeof offset_text, "offset %ld", offset);
    snprintf(lost_text, sizeof lost_text, "; %ld bytes are lost (offset %ld)", size - offset, offset);
    liana__test_flip_bit(path, offset + 2);
    assert_refused(liana__test_command("train", config, "data.on_bad_record=fail", "--out", liana__test_path("run")), 1,
                   "train-1.tfrec", "length of record 25", offset_text);
    liana__test_result got = liana__test_command("train", config, "train.epochs=1", "--out", liana__test_path("run"));
    assert_says(got.out, "left out of train: ");
    assert_says(got.out, lost_text);
    assert_says(got.out, "65 training, ");
    assert_code(got, 0);
    char *text = liana__test_read_text("run/bad_records.csv");
    assert_says(text, "train-1.tfrec,25,");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_examples_stay),
        cmocka_unit_test(test_a_run),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_skip_after_a_failure),
        cmocka_unit_test(test_max_bad),
        cmocka_unit_test(test_gap_is_as_if_never_there),
        cmocka_unit_test(test_gaps_of_all_sizes),
        cmocka_unit_test(test_step_of_nothing),
        cmocka_unit_test(test_sampling),
        cmocka_unit_test(test_lost_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
