/* Several processes that share the steps of a loader: together they have the rows of one process, byte for byte, each
 * makes only its own, and all know the same of bad records and errors. */
#include "harness/harness.h"

#include "base/message.h"
#include "batch/cut.h"
#include "data/augment/augment.h"
#include "data/loader/loader.h"
#include "formats/json.h"
#include "harness/cluster/input_hub.h"

#include <liana/context.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 6, IMAGE = SIDE * SIDE, RECORDS = 61, BATCH = 16, MICROBATCH = 3, EPOCHS = 3, CLASSES = 4, MAX_BAD = 4 };
static const size_t WORKERS[] = {1, 2, 3, 4, 7};

/* ---- a source of computed records ---- */

typedef struct computed_source {
    liana__source base;
    uint64_t bad[MAX_BAD]; /* records that cannot be read */
    size_t num_bad;
    atomic_ullong *num_read; /* counts the records read; NULL: nobody asks */
} computed_source;

typedef struct computed_scratch {
    uint8_t pixels[IMAGE];
    char id[24];
} computed_scratch;

static void close_computed(void *source)
{
    (void)source;
}

static liana_record_address computed_address(const void *source, uint64_t index)
{
    (void)source;
    return (liana_record_address){.file = "computed", .record = (int64_t)index};
}

static liana_status read_computed(void *base, liana_source_record *record)
{
    const uint64_t index = record->index;
    void *memory = record->scratch;
    liana__error *error = record->error;
    const computed_source *source = (const computed_source *)base;
    computed_scratch *scratch = memory;
    if (source->num_read) atomic_fetch_add(source->num_read, 1);
    /* Some records take longer, so that threads finish out of order. */
    if (index % 11 == 3) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    snprintf(scratch->id, sizeof scratch->id, "id%d", (int)index);
    *record = (liana_source_record){.pixels = scratch->pixels,
                                    .height = SIDE,
                                    .width = SIDE,
                                    .channels = 1,
                                    .has_label = true,
                                    .label = index % 9 ? (int64_t)(index % 3) : 3,
                                    .id = index % 5 ? scratch->id : NULL,
                                    .id_size = strlen(scratch->id)};
    for (size_t i = 0; i < source->num_bad; i++) {
        if (index != source->bad[i]) continue;
        return liana__fail(error, LIANA_DATA_LOSS, "'computed': record %d is bad", (int)index);
    }
    for (int i = 0; i < IMAGE; i++) scratch->pixels[i] = (uint8_t)(index * 31 + (uint64_t)i * 7);
    return LIANA_OK;
}

static const liana_source_type computed_kind = {
    .part = {.name = "computed"},
    .close = close_computed,
    .read = read_computed,
    .address = computed_address,
    .scratch_size = sizeof(computed_scratch),
};

static computed_source make_source(size_t num_bad)
{
    return (computed_source){.base = {.kind = &computed_kind, .num_records = RECORDS, .has_labels = true},
                             .bad = {7, 18, 19, 60},
                             .num_bad = num_bad};
}

/* ---- the ways to read it ---- */

typedef struct reading {
    bool shuffles, mixes, caches;
    int64_t target_count; /* of oversampling */
    bool weighs;          /* weighted sampling */
    size_t num_bad;
    int64_t most_bad; /* 0: any number is left out; -1: they are errors */
    int64_t steps;    /* of an epoch; 0: all data */
    bool streams;
    int threads;
} reading;

static const reading READINGS[] = {
    {.threads = 2},
    {.shuffles = true, .threads = 3},
    {.shuffles = true, .mixes = true, .caches = true, .threads = 2},
    {.shuffles = true, .num_bad = 4, .threads = 2},
    {.shuffles = true, .mixes = true, .target_count = 25, .threads = 1},
    {.shuffles = true, .mixes = true, .target_count = 23, .num_bad = 3, .caches = true, .threads = 2},
    {.weighs = true, .steps = 5, .threads = 2},
    {.streams = true, .threads = 2},
    {.streams = true, .mixes = true, .num_bad = 4, .threads = 3},
};

typedef struct setting {
    liana_context *context;
    liana__arena arena;
    liana__augment *augment;
    liana__sampler *sampler;
    computed_source source;
    liana__loader_options options;
} setting;

static void open_sampler(setting *own, const reading *how)
{
    liana__error error = {0};
    if (!how->target_count && !how->weighs) return;
    static const double weights[CLASSES] = {1, 2, 0.5, 4};
    int32_t labels[RECORDS];
    liana__sampler_options options = {.target_count = how->target_count,
                                      .weights = how->weighs ? weights : NULL,
                                      .seed = 5};
    own->source.base.skip_damage = true;
    assert_ok(liana__source_labels(&own->source.base, 0, CLASSES, labels, &error), &error);
    assert_ok(liana__sampler_create(labels, RECORDS, CLASSES, &options, &own->sampler, &error), &error);
}

static void open_setting(setting *own, const reading *how)
{
    liana__error error = {0};
    static const char stages[] = "[{\"random_flip\": {}}, {\"random_brightness\": {\"factor\": 0.3}}, {\"mixup\": {}}]";
    *own = (setting){.source = make_source(how->num_bad)};
    own->source.base.streams = how->streams;
    assert_int_equal(liana_context_create(NULL, &own->context), LIANA_OK);
    liana__value *value;
    assert_ok(liana__json_parse(stages, sizeof stages - 1, "stages", &own->arena, &value, &error), &error);
    if (!how->mixes) value->count--;
    liana_image_shape shape = {SIDE, SIDE, 1};
    assert_ok(liana__augment_create(own->context, value, "augment", &shape, &own->augment, &error), &error);
    open_sampler(own, how);
    own->options = (liana__loader_options){.image = {.height = SIDE, .width = SIDE, .channels = 1},
                                           .batch_size = BATCH,
                                           .steps_per_epoch = how->steps,
                                           .num_epochs = EPOCHS,
                                           .shuffle = how->shuffles,
                                           .seed = 5,
                                           .num_classes = CLASSES,
                                           .num_threads = how->threads,
                                           .cache_memory = how->caches ? (size_t)20 * IMAGE : 0,
                                           .augment = own->augment,
                                           .microbatch = MICROBATCH,
                                           .sampler = own->sampler,
                                           .part = "train"};
}

static void close_setting(setting *own)
{
    liana__sampler_destroy(own->sampler);
    liana__augment_destroy(own->augment);
    liana__arena_free(&own->arena);
    liana_context_destroy(own->context);
}

/* ---- results ---- */

typedef struct step_rows {
    uint64_t epoch, step, first_position;
    int64_t num_positions, count;
    uint8_t images[BATCH * IMAGE];
    int32_t labels[BATCH], partners[BATCH];
    float shares[BATCH];
    uint64_t positions[BATCH], records[BATCH];
    char ids[BATCH][24];
} step_rows;

enum { MAX_STEPS = 32 };

typedef struct outcome {
    step_rows steps[MAX_STEPS];
    size_t num_steps;
    int64_t planned;                        /* positions of our shards, over all steps */
    int64_t shard_counts[MAX_STEPS][BATCH]; /* as the loader said */
    uint64_t num_read;
    liana__bad_records bad;
    liana_status status;
    liana__error error;
} outcome;

static void take_step(outcome *to, const liana__batch *batch)
{
    assert_compare(to->num_steps, <, MAX_STEPS);
    step_rows *rows = &to->steps[to->num_steps++];
    memset(rows, 0, sizeof *rows); /* with the bytes between the members: they are compared as bytes */
    rows->epoch = batch->epoch;
    rows->step = batch->step;
    rows->first_position = batch->first_position;
    rows->num_positions = batch->num_positions;
    rows->count = batch->count;
    memcpy(rows->images, batch->images, (size_t)batch->count * IMAGE);
    for (int64_t i = 0; i < batch->count; i++) {
        rows->labels[i] = batch->labels[i];
        const int32_t *partners = liana__batch_rows_of(batch, "partners");
        const float *shares = liana__batch_rows_of(batch, LIANA__SHARES);
        rows->partners[i] = partners ? partners[i] : -7;
        rows->shares[i] = shares ? shares[i] : 0;
        rows->positions[i] = batch->positions[i];
        rows->records[i] = batch->records[i];
        snprintf(rows->ids[i], sizeof rows->ids[i], "%s", batch->ids[i] ? batch->ids[i] : "");
    }
    const liana__step_workers *workers = batch->workers;
    if (!workers) return;
    liana__cut cut = liana__cut_batch(batch->num_positions, MICROBATCH);
    assert_int_equal(workers->num_shards, cut.count);
    memcpy(to->shard_counts[to->num_steps - 1], workers->shard_counts, (size_t)cut.count * sizeof(int64_t));
    for (int64_t i = workers->bounds[workers->self]; i < workers->bounds[workers->self + 1]; i++) {
        to->planned += liana__cut_size(&cut, i);
    }
}

/* Reads until the end or an error. */
static void read_all(const setting *own, const reading *how, const liana__input_workers *workers, uint64_t epoch,
                     uint64_t step, outcome *to)
{
    liana__loader_options options = own->options;
    atomic_ullong num_read = 0;
    computed_source source = own->source;
    source.num_read = &num_read;
    options.workers = workers;
    to->bad.most = how->most_bad;
    options.bad_records = how->most_bad < 0 ? NULL : &to->bad;
    liana__loader *loader;
    assert_ok(liana__loader_create(&source.base, &options, &loader, &to->error), &to->error);
    assert_ok(liana__loader_begin(loader, epoch, step, &to->error), &to->error);
    for (;;) {
        liana__batch *batch;
        to->status = liana__loader_next(loader, &batch, &to->error);
        if (to->status != LIANA_OK || !batch) break;
        take_step(to, batch);
        liana__loader_release(loader, batch);
    }
    if (to->status != LIANA_OK) {
        /* It stays. */
        liana__error again = {0};
        liana__batch *batch;
        assert_int_equal(liana__loader_next(loader, &batch, &again), to->status);
        assert_string_equal(again.message, to->error.message);
        assert_null(batch);
    }
    liana__loader_destroy(loader);
    to->num_read = atomic_load(&num_read);
}

typedef struct process {
    const setting *own;
    const reading *how;
    const liana__input_workers *workers;
    uint64_t epoch, step;
    outcome *to;
} process;

static void *run_process(void *user)
{
    const process *self = user;
    read_all(self->own, self->how, self->workers, self->epoch, self->step, self->to);
    return NULL;
}

/* The same by several processes: to[count]. */
static void read_shared(liana__input_hub *hub, const setting *own, const reading *how, uint64_t epoch, uint64_t step,
                        outcome *to)
{
    process processes[LIANA__HUB_MOST];
    void *users[LIANA__HUB_MOST];
    for (size_t i = 0; i < hub->count; i++) {
        processes[i] = (process){own, how, &hub->members[i].workers, epoch, step, &to[i]};
        users[i] = &processes[i];
    }
    liana__input_hub_run(hub, run_process, users);
}

static outcome *make_outcomes(size_t count)
{
    outcome *made = calloc(count, sizeof *made);
    assert_non_null(made);
    return made;
}

static void free_outcomes(outcome *of, size_t count)
{
    for (size_t i = 0; i < count; i++) liana__bad_records_free(&of[i].bad);
    free(of);
}

/* ---- together they have all of it ---- */

static void append(step_rows *to, const step_rows *from)
{
    size_t count = (size_t)from->count, at = (size_t)to->count;
    assert_compare(at + count, <=, BATCH);
    memcpy(to->images + at * IMAGE, from->images, count * IMAGE);
    memcpy(to->labels + at, from->labels, count * sizeof *to->labels);
    memcpy(to->partners + at, from->partners, count * sizeof *to->partners);
    memcpy(to->shares + at, from->shares, count * sizeof *to->shares);
    memcpy(to->positions + at, from->positions, count * sizeof *to->positions);
    memcpy(to->records + at, from->records, count * sizeof *to->records);
    memcpy(to->ids + at, from->ids, count * sizeof *to->ids);
    to->count += from->count;
}

static void check_shards(const int64_t *counts, const step_rows *whole)
{
    liana__cut cut = liana__cut_batch(whole->num_positions, MICROBATCH);
    for (int64_t shard = 0; shard < cut.count; shard++) {
        int64_t begin, end;
        liana__cut_remaining(&cut, shard, whole->positions, whole->count, whole->first_position, &begin, &end);
        assert_int_equal(counts[shard], end - begin);
    }
}

static void check_step(const outcome *alone, const outcome *shared, size_t count, size_t step)
{
    step_rows whole = shared[0].steps[step];
    for (size_t i = 1; i < count; i++) append(&whole, &shared[i].steps[step]);
    assert_memory_equal(&whole, &alone->steps[step], sizeof whole);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(shared[i].steps[step].num_positions, whole.num_positions);
        check_shards(shared[i].shard_counts[step], &whole);
    }
}

static void check_lists(const liana__bad_records *a, const liana__bad_records *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_compare(a->items[i].record, ==, b->items[i].record, i);
        assert_string_equal(a->items[i].part, b->items[i].part);
        assert_string_equal(a->items[i].file, b->items[i].file);
        assert_string_equal(a->items[i].reason, b->items[i].reason);
        assert_compare(a->items[i].id == NULL, ==, b->items[i].id == NULL, i);
        if (a->items[i].id) assert_string_equal(a->items[i].id, b->items[i].id);
    }
}

/* Each read only its own: a record that is not cached is read once for each of its positions. */
static void check_counts(const reading *how, const outcome *alone, const outcome *shared, size_t count,
                         size_t num_working)
{
    uint64_t read = 0, planned = 0;
    for (size_t i = 0; i < count; i++) {
        read += shared[i].num_read;
        planned += (uint64_t)shared[i].planned;
        /* A stream is read by the first one. */
        if (how->streams) assert_int_equal(shared[i].num_read, i ? 0 : alone->num_read);
        if (!how->caches && !how->streams) assert_compare(shared[i].num_read, ==, shared[i].planned, i);
        if (!how->streams) assert_compare(shared[i].num_read, <=, shared[i].planned, i);
    }
    if (!how->caches) assert_int_equal(read, alone->num_read);
    if (num_working > 1 && !how->caches && !how->streams) assert_compare(shared[0].num_read, <, planned);
}

static void check_reading(const reading *how, size_t count, size_t num_working)
{
    setting own;
    open_setting(&own, how);
    outcome *alone = make_outcomes(1), *shared = make_outcomes(count);
    read_all(&own, how, NULL, 0, 0, alone);
    assert_int_equal(alone->status, LIANA_OK);
    assert_compare(alone->num_steps, >, EPOCHS);
    liana__input_hub hub;
    liana__input_hub_open(&hub, count, num_working, MICROBATCH);
    read_shared(&hub, &own, how, 0, 0, shared);
    for (size_t i = 0; i < count; i++) {
        assert_ok(shared[i].status, &shared[i].error);
        assert_int_equal(shared[i].num_steps, alone->num_steps);
        check_lists(&alone->bad, &shared[i].bad);
        if (i >= num_working) assert_int_equal(shared[i].num_read, 0);
    }
    for (size_t step = 0; step < alone->num_steps; step++) check_step(alone, shared, count, step);
    check_counts(how, alone, shared, count, num_working);
    liana__input_hub_close(&hub);
    free_outcomes(alone, 1);
    free_outcomes(shared, count);
    close_setting(&own);
}

static void test_rows_of_workers_are_those_of_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof READINGS / sizeof *READINGS; i++) {
        for (size_t k = 0; k < sizeof WORKERS / sizeof *WORKERS; k++)
            check_reading(&READINGS[i], WORKERS[k], WORKERS[k]);
    }
}

/* Parameter servers follow the steps, but make nothing. */
static void test_a_process_may_have_no_shards(void **state)
{
    (void)state;
    check_reading(&READINGS[3], 5, 3);
    check_reading(&READINGS[4], 3, 1);
    check_reading(&READINGS[8], 5, 2);
}

/* From the middle on with other ranges, as after a death. */
static void test_ranges_may_change_at_a_beginning(void **state)
{
    (void)state;
    const reading *how = &READINGS[5];
    setting own;
    open_setting(&own, how);
    outcome *alone = make_outcomes(1);
    read_all(&own, how, NULL, 1, 2, alone);
    for (size_t shift = 0; shift < 3; shift++) {
        outcome *shared = make_outcomes(3);
        liana__input_hub hub;
        liana__input_hub_open(&hub, 3, 3 - shift / 2, MICROBATCH);
        hub.shift = shift;
        read_shared(&hub, &own, how, 1, 2, shared);
        assert_int_equal(shared[0].num_steps, alone->num_steps);
        for (size_t step = 0; step < alone->num_steps; step++) check_step(alone, shared, 3, step);
        liana__input_hub_close(&hub);
        free_outcomes(shared, 3);
    }
    free_outcomes(alone, 1);
    close_setting(&own);
}

/* ---- bad records and errors ---- */

static void check_same_end(const reading *how, size_t count)
{
    setting own;
    open_setting(&own, how);
    outcome *alone = make_outcomes(1), *shared = make_outcomes(count);
    read_all(&own, how, NULL, 0, 0, alone);
    assert_int_equal(alone->status, LIANA_DATA_LOSS);
    liana__input_hub hub;
    liana__input_hub_open(&hub, count, count, MICROBATCH);
    read_shared(&hub, &own, how, 0, 0, shared);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(shared[i].status, alone->status);
        assert_string_equal(shared[i].error.message, alone->error.message);
        assert_int_equal(shared[i].num_steps, alone->num_steps);
        check_lists(&alone->bad, &shared[i].bad);
    }
    liana__input_hub_close(&hub);
    free_outcomes(alone, 1);
    free_outcomes(shared, count);
    close_setting(&own);
}

/* The limit counts the findings of all processes, and all of them stop at the same step. */
static void test_the_limit_is_one_of_all_processes(void **state)
{
    (void)state;
    for (int64_t most = 1; most <= 3; most++) {
        const reading how = {.shuffles = true, .num_bad = 4, .most_bad = most, .threads = 2};
        for (size_t k = 0; k < sizeof WORKERS / sizeof *WORKERS; k++) check_same_end(&how, WORKERS[k]);
    }
}

static void test_the_first_error_is_that_of_all_processes(void **state)
{
    (void)state;
    const reading ordered = {.num_bad = 4, .most_bad = -1, .threads = 2};
    const reading streamed = {.streams = true, .num_bad = 4, .most_bad = -1, .threads = 2};
    const reading shuffled = {.shuffles = true, .num_bad = 4, .most_bad = -1, .threads = 3};
    for (size_t k = 0; k < sizeof WORKERS / sizeof *WORKERS; k++) {
        check_same_end(&ordered, WORKERS[k]);
        check_same_end(&shuffled, WORKERS[k]);
        check_same_end(&streamed, WORKERS[k]);
    }
}

static void test_a_message_that_is_none_is_refused(void **state)
{
    (void)state;
    setting own;
    open_setting(&own, &READINGS[0]);
    liana__input_hub hub;
    liana__input_hub_open(&hub, 1, 1, MICROBATCH);
    hub.spoils = 0;
    liana__loader_options options = own.options;
    options.workers = &hub.members[0].workers;
    liana__loader *loader;
    liana__batch *batch;
    liana__error error = {0};
    assert_ok(liana__loader_create(&own.source.base, &options, &loader, &error), &error);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    assert_fails(liana__loader_next(loader, &batch, &error), LIANA_INTERNAL, &error, "process 0", "cannot be read");
    hub.spoils = 1;
    assert_ok(liana__loader_next(loader, &batch, &error), &error);
    liana__loader_release(loader, batch);
    liana__loader_destroy(loader);
    liana__input_workers wrong = hub.members[0].workers;
    wrong.self = 1;
    options.workers = &wrong;
    assert_fails(liana__loader_create(&own.source.base, &options, &loader, &error), LIANA_INVALID_ARGUMENT, &error,
                 "process 1 of 1");
    liana__input_hub_close(&hub);
    close_setting(&own);
}

/* ---- messages ---- */

static bool read_sample(const char *data, size_t size)
{
    liana__message_reader reader = {.data = data, .size = size};
    size_t count;
    bool same = liana__message_get_u64(&reader) == UINT64_MAX && liana__message_get_i64(&reader) == -3;
    same = same && liana__message_get_below(&reader, 8) == 7;
    const char *text = liana__message_get_text(&reader);
    same = same && text && strcmp(text, "flower") == 0;
    same = same && !liana__message_get_text(&reader) && !reader.failed;
    const void *bytes = liana__message_get_bytes(&reader, &count);
    return same && count == 3 && memcmp(bytes, "a\0b", 3) == 0 && liana__message_is_read(&reader);
}

static void test_messages_come_back_or_are_refused(void **state)
{
    (void)state;
    liana__text message = {0};
    liana__message_put_u64(&message, UINT64_MAX);
    liana__message_put_i64(&message, -3);
    liana__message_put_u64(&message, 7);
    liana__message_put_text(&message, "flower");
    liana__message_put_text(&message, NULL);
    liana__message_put_bytes(&message, "a\0b", 3);
    assert_false(message.failed);
    assert_true(read_sample(message.data, message.length));
    for (size_t size = 0; size < message.length; size++) {
        char *cut = malloc(size + 1); /* so that a checker sees reads behind it */
        assert_non_null(cut);
        memcpy(cut, message.data, size);
        assert_false(read_sample(cut, size));
        free(cut);
    }
    message.data[16] = 8;
    assert_false(read_sample(message.data, message.length));
    message.data[16] = 7;
    message.data[24 + 8 + 6] = 'x'; /* the text does not end */
    assert_false(read_sample(message.data, message.length));
    liana__text_free(&message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_workers_are_those_of_one),
        cmocka_unit_test(test_a_process_may_have_no_shards),
        cmocka_unit_test(test_ranges_may_change_at_a_beginning),
        cmocka_unit_test(test_the_limit_is_one_of_all_processes),
        cmocka_unit_test(test_the_first_error_is_that_of_all_processes),
        cmocka_unit_test(test_a_message_that_is_none_is_refused),
        cmocka_unit_test(test_messages_come_back_or_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
