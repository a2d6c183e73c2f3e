/* Which records make an epoch: oversampling and weighted sampling, in themselves, in the loader and in runs. */
#include "harness/command_run.h"

#include "base/file.h"
#include "base/random.h"
#include "data/loader/loader.h"
#include "data/loader/sampler.h"
#include "data/source/source_open.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 9, CLASSES = 4, RECORDS = 217 };
/* Records of each class, and how often they come where 100 are wanted: always, and with chance. */
static const int64_t class_counts[CLASSES] = {150, 40, 25, 2};

static void make_labels(int32_t labels[RECORDS])
{
    int64_t left[CLASSES];
    memcpy(left, class_counts, sizeof left);
    for (int i = 0; i < RECORDS; i++) {
        int32_t c = i % CLASSES;
        while (!left[c]) c = (c + 1) % CLASSES;
        labels[i] = c;
        left[c]--;
    }
}

static liana__sampler *make(const liana__sampler_options *options)
{
    int32_t labels[RECORDS];
    liana__error error = {0};
    liana__sampler *sampler;
    make_labels(labels);
    assert_ok(liana__sampler_create(labels, RECORDS, CLASSES, options, &sampler, &error), &error);
    return sampler;
}

static void test_rare_classes_come_more_often(void **state)
{
    (void)state;
    int32_t labels[RECORDS];
    make_labels(labels);
    liana__sampler *sampler = make(&(liana__sampler_options){.target_count = 100, .seed = SEED});
    assert_true(liana__sampler_varies(sampler));
    assert_int_equal(liana__sampler_max_length(sampler), 150 + 120 + 100 + 100);
    enum { EPOCHS = 400 };
    static int again[RECORDS];
    memset(again, 0, sizeof again);
    bool differs = false;
    double sums[CLASSES] = {0};
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        uint32_t records[470];
        uint64_t length = liana__sampler_length(sampler, epoch);
        assert_in_range(length, 150 + 80 + 100 + 100, 470);
        differs |= length != liana__sampler_length(sampler, 0);
        liana__sampler_fill(sampler, epoch, records);
        int times[RECORDS] = {0};
        int64_t counts[CLASSES], told[CLASSES];
        memset(counts, 0, sizeof counts);
        for (uint64_t i = 0; i < length; i++) {
            assert_in_range(records[i], 0, RECORDS - 1);
            times[records[i]]++;
            counts[labels[records[i]]]++;
        }
        liana__sampler_count(sampler, epoch, told);
        assert_memory_equal(counts, told, sizeof counts);
        /* 100 / 25 and 100 / 2 are whole; of 40, each comes twice and half of them once more. */
        static const int always[CLASSES] = {1, 2, 4, 50};
        for (int i = 0; i < RECORDS; i++) {
            int more = times[i] - always[labels[i]];
            assert_in_range(more, 0, labels[i] == 1);
            again[i] += more;
        }
        for (int c = 0; c < CLASSES; c++) sums[c] += (double)counts[c] / EPOCHS;
    }
    assert_true(differs);
    /* Five standard deviations: of a record's half over the epochs, and of the mean of 40 of them. */
    for (int i = 0; i < RECORDS; i++) {
        if (labels[i] == 1) assert_near(again[i], EPOCHS / 2.0, 5 * sqrt(EPOCHS / 4.0), i);
    }
    assert_compare(sums[0], ==, 150);
    assert_compare(sums[2], ==, 100);
    assert_compare(sums[3], ==, 100);
    assert_near(sums[1], 100, 5 * sqrt(40 / 4.0 / EPOCHS));
    liana__sampler_destroy(sampler);
}

static void test_weights_decide_how_often_a_class_is_drawn(void **state)
{
    (void)state;
    const double weights[CLASSES] = {0, 1 / 40.0, 2 / 25.0, 1 / 2.0};
    liana__sampler *sampler = make(&(liana__sampler_options){.weights = weights, .seed = SEED});
    assert_false(liana__sampler_varies(sampler));
    enum { EPOCHS = 100 };
    double shares[CLASSES] = {0};
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        int64_t counts[CLASSES];
        assert_int_equal(liana__sampler_length(sampler, epoch), RECORDS);
        liana__sampler_count(sampler, epoch, counts);
        for (int c = 0; c < CLASSES; c++) shares[c] += (double)counts[c] / (EPOCHS * RECORDS);
    }
    static const double expected[CLASSES] = {0, 0.25, 0.5, 0.25};
    for (int c = 0; c < CLASSES; c++) {
        assert_near(shares[c], expected[c], 5 * sqrt(expected[c] * (1 - expected[c]) / (EPOCHS * RECORDS)), c);
    }
    liana__sampler_destroy(sampler);
}

static void test_impossible_samplings_are_refused(void **state)
{
    (void)state;
    int32_t labels[RECORDS];
    liana__error error = {0};
    liana__sampler *sampler;
    make_labels(labels);
    liana__sampler_options options = {.target_count = 1000000000};
    assert_fails(liana__sampler_create(labels, RECORDS, CLASSES, &options, &sampler, &error), LIANA_INVALID_CONFIG,
                 &error, "examples", "lower the target");
    assert_null(sampler);
    options = (liana__sampler_options){.weights = (double[CLASSES]){0}};
    assert_fails(liana__sampler_create(labels, RECORDS, CLASSES, &options, &sampler, &error), LIANA_INVALID_CONFIG,
                 &error, "no class", "above 0");
    assert_null(sampler);
}

/* ---- in the loader ---- */

static liana__source *open_tiny(void)
{
    liana__error error = {0};
    liana__source *source;
    liana__test_folder();
    liana__test_tiny_data("train", RECORDS, 3);
    const char *pattern = liana__test_path("train-images");
    liana__source_options options = {.kind = "idx", .labels = liana__test_path("train-labels"), .need_labels = true};
    assert_ok(liana__source_open(&pattern, 1, &options, &source, &error), &error);
    return source;
}

typedef struct seen {
    uint64_t epoch, step, position, record;
} seen;

/* A loader's batches, from a step on. */
static void read_on(liana__loader *loader, uint64_t epoch, uint64_t step, size_t count, seen *out)
{
    liana__error error = {0};
    assert_ok(liana__loader_begin(loader, epoch, step, &error), &error);
    for (size_t n = 0; n < count;) {
        liana__batch *batch;
        assert_ok(liana__loader_next(loader, &batch, &error), &error);
        for (int64_t i = 0; i < batch->count && n < count; i++, n++) {
            out[n] = (seen){batch->epoch, batch->step, batch->positions[i], batch->records[i]};
        }
        liana__loader_release(loader, batch);
    }
}

static void test_epochs_of_the_loader_are_what_the_sampler_says(void **state)
{
    (void)state;
    enum { EPOCHS = 4, BATCH = 16 };
    liana__error error = {0};
    liana__source *source = open_tiny();
    liana__sampler *sampler = make(&(liana__sampler_options){.target_count = 100, .seed = SEED});
    liana__loader_options options = {.image = {.height = 12, .width = 12, .channels = 1},
                                     .batch_size = BATCH,
                                     .seed = SEED,
                                     .shuffle = true,
                                     .sampler = sampler};
    static seen expected[EPOCHS * 470], got[EPOCHS * 470];
    size_t total = 0, starts[EPOCHS];
    for (int threads = 1; threads <= 3; threads++) {
        liana__loader *loader;
        options.num_threads = threads;
        assert_ok(liana__loader_create(source, &options, &loader, &error), &error);
        if (threads == 1) {
            for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                uint64_t length = liana__sampler_length(sampler, epoch);
                assert_int_equal(liana__loader_epoch_length(loader, epoch), length);
                assert_int_equal(liana__loader_steps_per_epoch(loader, epoch), (length + BATCH - 1) / BATCH);
                starts[epoch] = total;
                total += length;
            }
        }
        read_on(loader, 0, 0, total, threads == 1 ? expected : got);
        if (threads > 1) assert_memory_equal(got, expected, total * sizeof *got);
        for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
            size_t from = starts[epoch] + 3 * BATCH, count = total - from < 600 ? total - from : 600;
            read_on(loader, epoch, 3, count, got);
            assert_memory_equal(got, expected + from, count * sizeof *got);
        }
        liana__loader_destroy(loader);
    }
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        uint32_t records[470];
        int left[RECORDS] = {0}, in_order = 0;
        uint64_t length = liana__sampler_length(sampler, epoch);
        liana__sampler_fill(sampler, epoch, records);
        for (uint64_t i = 0; i < length; i++) left[records[i]]++;
        for (uint64_t i = 0; i < length; i++) {
            const seen *at = &expected[starts[epoch] + i];
            assert_int_equal(at->epoch, epoch);
            assert_int_equal(at->step, i / BATCH);
            assert_int_equal(at->position, starts[epoch] + i);
            left[at->record]--;
            in_order += at->record == records[i];
        }
        for (int i = 0; i < RECORDS; i++) assert_int_equal(left[i], 0);
        assert_compare(in_order, <, 30);
    }
    liana__sampler_destroy(sampler);
    liana__source_close(source);
}

static void test_other_lengths_of_epochs(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__source *source = open_tiny();
    liana__sampler *sampler = make(&(liana__sampler_options){.target_count = 100, .seed = SEED});
    liana__loader_options options = {.image = {.height = 12, .width = 12, .channels = 1},
                                     .batch_size = 100,
                                     .seed = SEED,
                                     .sampler = sampler,
                                     .remainder = LIANA__REMAINDER_REFUSE};
    liana__loader *loader;
    assert_fails(liana__loader_create(source, &options, &loader, &error), LIANA_INVALID_CONFIG, &error, "oversampling",
                 "100", "steps_per_epoch");
    options.remainder = LIANA__REMAINDER_DROP;
    assert_ok(liana__loader_create(source, &options, &loader, &error), &error);
    assert_int_equal(liana__loader_steps_per_epoch(loader, 1), 4);
    assert_int_equal(liana__loader_epoch_length(loader, 1), 400);
    static seen got[1300];
    read_on(loader, 0, 0, 1000, got);
    /* The next epoch starts with the next pass, in the order of the sampler since nothing is shuffled. */
    assert_int_equal(got[400].epoch, 1);
    assert_int_equal(got[400].position, liana__sampler_length(sampler, 0));
    assert_int_equal(got[400].record, 0);
    liana__loader_destroy(loader);

    /* Epochs of 3 steps run over the passes. */
    options.steps_per_epoch = 3;
    assert_ok(liana__loader_create(source, &options, &loader, &error), &error);
    assert_int_equal(liana__loader_epoch_length(loader, 7), 300);
    read_on(loader, 0, 0, 1300, got);
    uint64_t first = liana__sampler_length(sampler, 0), second = liana__sampler_length(sampler, 1);
    uint32_t records[470];
    liana__sampler_fill(sampler, 1, records);
    for (uint64_t i = 0; i < second; i++) {
        assert_int_equal(got[first + i].position, first + i);
        assert_compare(got[first + i].record, ==, records[i], i);
    }
    seen later[300];
    read_on(loader, 3, 1, 300, later);
    assert_memory_equal(later, got + 1000, sizeof later);
    liana__loader_destroy(loader);
    liana__sampler_destroy(sampler);
    liana__source_close(source);
}

/* ---- in runs ---- */

/* The number that stands behind a text in the command's output. */
static long number_after(const char *text, const char *before)
{
    const char *at = strstr(text, before);
    if (!at) fail_msg("'%s' is not in: %s", before, text);
    return strtol(at + strlen(before), NULL, 10);
}

static void test_a_run_says_the_counts(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(90);
    liana__test_result got = liana__test_command("train", config, "train.epochs=1", "data.oversample.target_count=40",
                                                 "--out", liana__test_path("run"));
    const char *text = strstr(got.out, "oversampling: epoch 1 has ") ? got.out : got.err;
    long total = number_after(text, "oversampling: epoch 1 has "), sum = 0;
    for (int c = 0; c < 4; c++) {
        char name[40];
        snprintf(name, sizeof name, "class %d: ", c);
        const char *line = strstr(text, name);
        assert_non_null(line);
        long records = number_after(line, ": "), target = number_after(line, "target "),
             now = number_after(line, "target 40, ");
        assert_in_range(records, 1, 39);
        assert_int_equal(target, 40);
        assert_in_range(now, 40 - 25, 40 + 25);
        sum += now;
    }
    assert_int_equal(sum, total);
    assert_code(got, 0);
}

static void test_wrong_weights_are_refused(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(30), *out = liana__test_path("run");
    assert_refused(liana__test_command("train", config, "train.class_weights=balansed", "--out", out), 2,
                   "train.class_weights", "'balansed'", "'balanced'");
    assert_refused(liana__test_command("train", config, "train.class_weights={7: 1}", "--out", out), 2,
                   "train.class_weights", "'7'", "0 to 3");
    assert_refused(liana__test_command("train", config, "train.class_weights={1: -1}", "--out", out), 2,
                   "train.class_weights", "-1", "from 0 to");
    assert_refused(liana__test_command("train", config, "data.sample_weights=balanced",
                                       "data.oversample.target_count=9", "--out", out),
                   2, "data.sample_weights", "exclude each other");
    assert_refused(liana__test_command("train", config, "data.oversample.target_count=900000000", "--out", out), 2,
                   "data.oversample.target_count", "lower the target");
}

static void copy_checkpoint(const char *from, const char *to, const char *name)
{
    char source[600], target[600], command[4000];
    snprintf(source, sizeof source, "%s/checkpoints/%s", liana__test_path(from), name);
    snprintf(target, sizeof target, "%s/checkpoints", liana__test_path(to));
    snprintf(command, sizeof command, "mkdir -p '%s' && cp -r '%s' '%s/' && cp '%s/config.yaml' '%s/'", target, source,
             target, liana__test_path(from), liana__test_path(to));
    assert_int_equal(system(command), 0);
}

/* A run that went on from the middle of an oversampled, augmented, mixed epoch, on another number of threads, ends with
 * the same bytes. */
static void test_a_resumed_run_ends_the_same(void **state)
{
    (void)state;
    static const char *const augment =
        "data.augment=[random_flip, {random_perspective: {probability: 0.8}}, random_brightness, {gaussian_noise: {}}, "
        "{mixup: {probability: 0.5}}, cutmix]";
    liana__test_folder();
    char config[256];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(108));
#define OPTIONS                                                                                   \
    augment, "data.oversample.target_count=40", "train.class_weights=balanced", "train.epochs=3", \
        "checkpoint.every_steps=3", "checkpoint.keep=0"
    assert_code(liana__test_command("train", config, OPTIONS, "data.threads=3", "--out", liana__test_path("whole")), 0);
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths names;
    assert_ok(liana__folder_list(liana__path_join(&arena, liana__test_path("whole"), "checkpoints"), &arena, &names,
                                 &error),
              &error);
    assert_compare(names.count, >=, 5);
    for (size_t i = 1; i < names.count - 1; i += 2) {
        assert_ok(liana__folder_remove(liana__test_path("part"), NULL), NULL);
        copy_checkpoint("whole", "part", names.items[i]);
        assert_code(liana__test_command("train", config, OPTIONS, "data.threads=1", "--resume", "--out",
                                        liana__test_path("part")),
                    0);
        static const char *const files[] = {"history.json", "validation_predictions.csv"};
        for (int k = 0; k < 2; k++) {
            char first[600], second[600];
            snprintf(first, sizeof first, "%s/%s", liana__test_path("whole"), files[k]);
            snprintf(second, sizeof second, "%s/%s", liana__test_path("part"), files[k]);
            assert_same_file(first, second);
        }
    }
    liana__arena_free(&arena);
#undef OPTIONS
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rare_classes_come_more_often),
        cmocka_unit_test(test_weights_decide_how_often_a_class_is_drawn),
        cmocka_unit_test(test_impossible_samplings_are_refused),
        cmocka_unit_test(test_epochs_of_the_loader_are_what_the_sampler_says),
        cmocka_unit_test(test_other_lengths_of_epochs),
        cmocka_unit_test(test_a_run_says_the_counts),
        cmocka_unit_test(test_wrong_weights_are_refused),
        cmocka_unit_test(test_a_resumed_run_ends_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
