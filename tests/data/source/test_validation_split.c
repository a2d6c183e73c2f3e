/* The division of data into training and validation. */
#include "harness/command_run.h"

#include "data/check/quarantine.h"
#include "data/loader/loader.h"
#include "data/source/part.h"
#include "data/source/source_open.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

/* ---- a source of computed records ---- */

typedef struct computed {
    liana__source base;
    int closed;
    int num_reads;
    uint64_t bad; /* a record that cannot be read; UINT64_MAX: none */
} computed;

/* 60 % class 0, 30 % class 1, 10 % class 2. */
static int64_t label_of(uint64_t index)
{
    return index % 10 < 6 ? 0 : index % 10 < 9 ? 1 : 2;
}

static liana_status read_computed(void *base, liana_source_record *record)
{
    const uint64_t index = record->index;
    void *scratch = record->scratch;
    liana__error *error = record->error;
    computed *own = (computed *)(uintptr_t)base;
    uint8_t *pixel = scratch;
    own->num_reads++;
    if (index == own->bad) return liana__fail(error, LIANA_DATA_LOSS, "record %d is bad", (int)index);
    *pixel = (uint8_t)index;
    *record = (liana_source_record){
        .pixels = pixel, .height = 1, .width = 1, .channels = 1, .has_label = true, .label = label_of(index)};
    return LIANA_OK;
}

static liana_record_address address(const void *source, uint64_t index)
{
    (void)source;
    return (liana_record_address){.file = "computed", .record = (int64_t)index};
}

static void close_computed(void *base)
{
    ((computed *)base)->closed++;
}

static int64_t known_label(const void *source, uint64_t index)
{
    (void)source;
    return label_of(index);
}

static const liana_source_type kind = {.part = {.name = "computed"},
                                       .close = close_computed,
                                       .read = read_computed,
                                       .address = address,
                                       .scratch_size = 1};
static const liana_source_type knowing_kind = {.part = {.name = "computed"},
                                               .close = close_computed,
                                               .read = read_computed,
                                               .address = address,
                                               .known_label = known_label,
                                               .scratch_size = 1};

static computed make_source(uint64_t count, bool labelled)
{
    return (computed){.base = {.kind = &kind, .num_records = count, .has_labels = labelled}, .bad = UINT64_MAX};
}

/* The records of a part by their addresses; `classes` counts their labels. */
static void list(const liana__source *part, bool *seen, int classes[3])
{
    liana__error error = {0};
    void *scratch = liana__source_scratch_create(part);
    int64_t before = -1;
    for (uint64_t i = 0; i < part->num_records; i++) {
        liana_source_record record;
        liana_record_address where = liana__source_address(part, i);
        assert_compare(where.record, >, before); /* in the order of the whole */
        before = where.record;
        assert_false(seen[where.record]);
        seen[where.record] = true;
        assert_ok(liana__source_read(part, i, scratch, &record, &error), &error);
        assert_int_equal(*record.pixels, (uint8_t)where.record);
        assert_int_equal(record.label, label_of((uint64_t)where.record));
        classes[record.label]++;
    }
    liana__source_scratch_destroy(part, scratch);
}

/* Both parts together are the whole; each class gives its share; another seed draws others. */
static void test_stratified(void **state)
{
    (void)state;
    enum { NUM = 200 };
    uint64_t drawn[3][NUM];
    for (int run = 0; run < 3; run++) {
        computed source = make_source(NUM, true);
        if (run == 1) source.base.kind = &knowing_kind; /* without reading: the same records */
        liana__error error = {0};
        liana__source *training, *validation;
        liana__split_options options = {.validation = 0.2, .seed = run == 2 ? 8 : 7, .owns = true};
        assert_ok(liana__source_split(&source.base, &options, &training, &validation, &error), &error);
        assert_int_equal(source.num_reads, run == 1 ? 0 : NUM);
        assert_int_equal(training->num_records, 160);
        assert_int_equal(validation->num_records, 40);
        bool seen[NUM] = {false};
        int classes[2][3] = {{0}};
        for (int i = 0; i < 40; i++) {
            drawn[run][i] = (uint64_t)liana__source_address(validation, (uint64_t)i).record;
        }
        list(validation, seen, classes[0]);
        list(training, seen, classes[1]);
        for (int i = 0; i < NUM; i++) assert_true(seen[i]);
        static const int expected[2][3] = {{24, 12, 4}, {96, 48, 16}};
        assert_memory_equal(classes, expected, sizeof expected);
        /* The source is closed with the last part. */
        liana__source_close(training);
        assert_int_equal(source.closed, 0);
        liana__source_close(validation);
        assert_int_equal(source.closed, 1);
    }
    assert_memory_equal(drawn[0], drawn[1], 40 * sizeof **drawn);
    assert_memory_not_equal(drawn[0], drawn[2], 40 * sizeof **drawn);
}

/* Without labels: the share of all; small classes keep a record for training; a bad record stays somewhere. */
static void test_plain_and_small(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__source *training, *validation;
    computed source = make_source(7, false);
    liana__split_options options = {.validation = 0.3};
    assert_ok(liana__source_split(&source.base, &options, &training, &validation, &error), &error);
    assert_int_equal(validation->num_records, 2);
    assert_int_equal(training->num_records, 5);
    liana__source_close(training);
    liana__source_close(validation);
    assert_int_equal(source.closed, 0); /* the caller's */

    source = make_source(10, true); /* one of class 2, three of class 1 */
    options.validation = 0.9;
    assert_ok(liana__source_split(&source.base, &options, &training, &validation, &error), &error);
    bool seen[10] = {false};
    int classes[3] = {0};
    list(training, seen, classes);
    static const int expected[] = {1, 1, 1};
    assert_memory_equal(classes, expected, sizeof expected);
    liana__source_close(training);
    liana__source_close(validation);

    source = make_source(100, true);
    source.bad = 15;
    options.validation = 0.5;
    assert_fails(liana__source_split(&source.base, &options, &training, &validation, &error), LIANA_DATA_LOSS, &error,
                 "record 15 is bad");
    source.base.skip_damage = true;
    assert_ok(liana__source_split(&source.base, &options, &training, &validation, &error), &error);
    assert_int_equal(training->num_records + validation->num_records, 100);
    liana__source_close(training);
    liana__source_close(validation);
}

static void test_refused(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__source *training, *validation;
    computed source = make_source(10, false);
    static const double shares[] = {0, 1, -0.5, 2};
    for (int i = 0; i < 4; i++) {
        liana__split_options options = {.validation = shares[i]};
        assert_fails(liana__source_split(&source.base, &options, &training, &validation, &error), LIANA_INVALID_CONFIG,
                     &error, "above 0 and below 1");
    }
    liana__split_options options = {.validation = 0.01};
    assert_fails(liana__source_split(&source.base, &options, &training, &validation, &error), LIANA_INVALID_CONFIG,
                 &error, "takes none of the 10 examples", "larger");
    source.base.streams = true;
    options.validation = 0.5;
    assert_fails(liana__source_split(&source.base, &options, &training, &validation, &error), LIANA_INVALID_CONFIG,
                 &error, "these are a stream");
    assert_int_equal(source.closed, 0);
}

/* Blocks of records that are read together stay blocks of both parts. */
static void test_blocks(void **state)
{
    (void)state;
    static const uint64_t starts[] = {0, 10, 20, 25};
    computed source = make_source(40, false);
    source.base.num_blocks = 4;
    source.base.block_starts = starts;
    uint64_t *records = malloc(3 * sizeof *records);
    records[0] = 3, records[1] = 12, records[2] = 30;
    liana__error error = {0};
    liana__source *part;
    liana__part_options options = {.inner = &source.base, .records = records, .count = 3};
    assert_ok(liana__source_part(&options, &part, &error), &error);
    static const uint64_t kept[] = {0, 1, 2}; /* of the third block there is nothing */
    assert_int_equal(part->num_blocks, 3);
    assert_memory_equal(part->block_starts, kept, sizeof kept);
    liana__source_close(part);
    records = malloc(6 * sizeof *records);
    for (uint64_t i = 0; i < 5; i++) records[i] = 20 + i;
    records[5] = 39;
    options = (liana__part_options){.inner = &source.base, .records = records, .count = 6, .left_out = true};
    assert_ok(liana__source_part(&options, &part, &error), &error);
    static const uint64_t left[] = {0, 10, 20};
    assert_int_equal(part->num_records, 34);
    assert_int_equal(part->num_blocks, 3);
    assert_memory_equal(part->block_starts, left, sizeof left);
    liana__source_close(part);
}

/* ---- fit ---- */

enum { FITTED = 50, SIDE = 4 };

typedef struct watched {
    int64_t trained, validated;
    double loss, measured;
} watched;

static bool watch(void *user, const liana_epoch *epoch)
{
    watched *own = user;
    own->trained = epoch->training.num_examples;
    own->validated = epoch->validation.num_examples;
    own->loss = epoch->training.loss;
    own->measured = epoch->validation.loss;
    return true;
}

static watched fit(liana_context *context, const liana_dataset *dataset, uint64_t seed)
{
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), NULL);
    liana_input(model, .shape = LIANA_INTS(SIDE, SIDE, 1));
    liana_flatten(model);
    liana_dense(model, .units = 3, .activation = "softmax");
    watched own = {0};
    liana_fit_options options = {.training = dataset,
                                 .validation_split = 0.2,
                                 .batch_size = 8,
                                 .epochs = 2,
                                 .seed = seed,
                                 .on_epoch = watch,
                                 .user = &own};
    liana_status status = liana_fit(model, &options);
    if (status != LIANA_OK) fail_msg("%s", liana_context_message(context));
    liana_model_destroy(model);
    return own;
}

static void test_fit(void **state)
{
    (void)state;
    liana_context *context;
    assert_ok(liana_context_create(NULL, &context), NULL);
    uint8_t images[FITTED][SIDE * SIDE];
    int64_t labels[FITTED];
    for (int i = 0; i < FITTED; i++) {
        for (int k = 0; k < SIDE * SIDE; k++) images[i][k] = (uint8_t)(37 * i + 11 * k);
        labels[i] = label_of((uint64_t)i);
    }
    const liana_array arrays[] = {{"image", LIANA_U8, liana_shape_of(FITTED, SIDE, SIDE, 1), images},
                                  {"label", LIANA_S64, liana_shape_of(FITTED), labels}};
    liana_dataset *dataset = liana_dataset_from_tensor_slices(context, arrays, 2);
    watched first = fit(context, dataset, 1), again = fit(context, dataset, 1), other = fit(context, dataset, 2);
    assert_int_equal(first.trained, 40);
    assert_int_equal(first.validated, 10);
    assert_compare(first.loss, ==, again.loss);
    assert_compare(first.measured, ==, again.measured);
    assert_compare(first.measured, !=, other.measured);

    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), NULL);
    liana_input(model, .shape = LIANA_INTS(SIDE, SIDE, 1));
    liana_flatten(model);
    liana_dense(model, .units = 3, .activation = "softmax");
    liana_fit_options options = {.training = dataset, .validation = dataset, .validation_split = 0.2};
    assert_int_equal(liana_fit(model, &options), LIANA_INVALID_ARGUMENT);
    assert_says(liana_context_message(context), "exclude each other");
    options.validation = NULL;
    options.validation_split = 1.5;
    assert_int_equal(liana_fit(model, &options), LIANA_INVALID_CONFIG);
    assert_says(liana_context_message(context), "above 0 and below 1");
    liana_model_destroy(model);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

/* ---- means of tables ---- */

/* The value that stands for the empty cell of the last row. */
static double value_of_last(liana_context *context, const char *path, const char *columns, double split, uint64_t seed,
                            int64_t take)
{
    const liana_dataset_options options = {.columns = columns,
                                           .validation_split = split,
                                           .split_seed = seed,
                                           .take = take};
    liana_dataset *dataset = liana_dataset_csv(context, path, &options);
    if (!dataset) fail_msg("%s", liana_context_message(context));
    const liana_iterator_options last = {.start = (uint64_t)liana_dataset_info(dataset).num_examples - 1};
    liana_iterator *iterator;
    const liana_element *element;
    assert_ok(liana_iterator_create(dataset, &last, &iterator), NULL);
    assert_ok(liana_iterator_next(iterator, &element), NULL);
    const double found = (double)*(const float *)liana_element_array(element, "x").data;
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);
    return found;
}

/* The rows of the validation give no mean, whichever the seed draws; nor do rows behind `take`. */
static void test_means_are_of_the_training_part(void **state)
{
    (void)state;
    enum { ROWS = 41 };
    liana__test_folder();
    liana_context *context;
    assert_ok(liana_context_create(NULL, &context), NULL);
    char text[2048] = "x,label\n";
    for (int i = 0; i < ROWS - 1; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d.5,%d\n", i * i, i % 3);
    }
    strcat(text, ",0\n");
    const char *path = liana__test_write("means.csv", text, strlen(text));
    const char *columns = "{x: {from: x, missing: mean}}";
    for (uint64_t seed = 1; seed < 4; seed++) {
        const liana__source_options plain = {.kind = "table", .any_first_record = true};
        const liana__split_options split = {.validation = 0.25, .seed = seed, .owns = true};
        liana__source *whole, *training, *validation;
        liana__error error = {0};
        double sum = 0, count = 0;
        char copy[2048];
        snprintf(copy, sizeof copy, "%.*s0%s", (int)(strlen(text) - 3), text, ",0\n"); /* no empty cell */
        const char *filled = liana__test_write("filled.csv", copy, strlen(copy));
        assert_ok(liana__source_open(&filled, 1, &plain, &whole, &error), &error);
        assert_ok(liana__source_split(whole, &split, &training, &validation, &error), &error);
        for (uint64_t i = 0; i < training->num_records; i++) {
            const int64_t row = liana__source_address(training, i).record;
            if (row == ROWS - 1) continue;
            sum += (double)(row * row) + 0.5;
            count++;
        }
        liana__source_close(training);
        liana__source_close(validation);
        assert_near(value_of_last(context, path, columns, 0.25, seed, 0), sum / count, 1e-4);
    }
    double sum = 0;
    for (int i = 0; i < ROWS - 1; i++) sum += i * i + 0.5;
    assert_near(value_of_last(context, path, columns, 0, 0, 0), sum / (ROWS - 1), 1e-4);
    const char *first = "x,label\n2.5,0\n,0\n100.5,1\n";
    path = liana__test_write("take.csv", first, strlen(first));
    assert_near(value_of_last(context, path, columns, 0, 0, 2), 2.5, 0);
    const liana_dataset_options bad = {.columns = columns, .validation_split = 1.5};
    assert_null(liana_dataset_csv(context, path, &bad));
    assert_says(liana_context_message(context), "validation_split is 1.5, expected a share above 0 and below 1");
    liana_context_destroy(context);
}

/* ---- runs ---- */

/* A run that goes on has the same examples for training and validation, also with other threads. */
static void test_runs(void **state)
{
    (void)state;
    liana__test_folder();
    char config[256];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(100));
    const char *split = "data.validation_split=0.2";
    liana__test_result got = liana__test_command("train", config, "data.validation=null", split, "train.epochs=2",
                                                 "--out", liana__test_path("whole"));
    /* Each class gives a fifth of its own, rounded. */
    if (!strstr(got.out, "79 training, 21 validation")) fail_msg("%s%s", got.out, got.err);
    assert_code(got, 0);
    const char *parts = liana__test_path("parts");
    assert_code(liana__test_command("train", config, "data.validation=null", split, "train.epochs=2", "data.threads=1",
                                    "--out", parts),
                0);
    /* As if it had been stopped after the first epoch. */
    char newest[600], aside[620], whole[600], resumed[600];
    snprintf(newest, sizeof newest, "%s", liana__test_newest_checkpoint("parts"));
    snprintf(aside, sizeof aside, "%s.aside", newest);
    assert_int_equal(rename(newest, aside), 0);
    assert_code(liana__test_command("train", config, "data.validation=null", split, "train.epochs=2", "data.threads=3",
                                    "--resume", "--out", parts),
                0);
    snprintf(whole, sizeof whole, "%s/variables.safetensors", liana__test_newest_checkpoint("whole"));
    snprintf(resumed, sizeof resumed, "%s/variables.safetensors", liana__test_newest_checkpoint("parts"));
    assert_same_file(whole, resumed);
    assert_same_file(liana__test_path("whole/history.json"), liana__test_path("parts/history.json"));
    got = liana__test_command("evaluate", liana__test_path("whole"));
    if (!strstr(got.out, " over 21 examples")) fail_msg("%s%s", got.out, got.err);
    assert_code(got, 0);
    got = liana__test_command("train", config, split, "--out", liana__test_path("both"));
    assert_refused(got, 2, "'validation' and 'validation_split' exclude each other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stratified),
        cmocka_unit_test(test_plain_and_small),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_means_are_of_the_training_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
