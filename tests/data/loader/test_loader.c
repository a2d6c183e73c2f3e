/* The input pipeline: its batches must depend on the seed and the position alone. */
#include "harness/harness.h"

#include "base/memory.h"
#include "base/random.h"
#include "data/augment/augment.h"
#include "data/loader/loader.h"
#include "data/source/source_open.h"
#include "formats/example.h"
#include "formats/tfrecord.h"
#include "formats/yaml.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

/* ---- a source of computed records ---- */

enum { SIDE = 4 };

typedef struct computed_source {
    liana__source base;
    uint64_t failing[2]; /* records that cannot be read; UINT64_MAX: none */
    atomic_uint num_reads;
} computed_source;

typedef struct computed_scratch {
    uint8_t pixels[SIDE * SIDE];
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
    computed_source *source = (computed_source *)(uintptr_t)base;
    computed_scratch *scratch = memory;
    atomic_fetch_add(&source->num_reads, 1);
    /* Some records take longer, so that threads finish out of order. */
    if (index % 7 == 3) nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    if (index == source->failing[0] || index == source->failing[1]) {
        return liana__fail(error, LIANA_DATA_LOSS, "'computed': record %d is bad", (int)index);
    }
    memset(scratch->pixels, (int)(index % 251), sizeof scratch->pixels);
    snprintf(scratch->id, sizeof scratch->id, "id%d", (int)index);
    *record = (liana_source_record){.pixels = scratch->pixels,
                                    .height = SIDE,
                                    .width = SIDE,
                                    .channels = 1,
                                    .has_label = true,
                                    .label = (int64_t)(index % 10),
                                    .id = index % 5 ? scratch->id : NULL,
                                    .id_size = strlen(scratch->id)};
    return LIANA_OK;
}

static const liana_source_type computed_kind = {
    .part = {.name = "computed"},
    .close = close_computed,
    .read = read_computed,
    .address = computed_address,
    .scratch_size = sizeof(computed_scratch),
};

static computed_source make_computed(uint64_t count)
{
    return (computed_source){.base = {.kind = &computed_kind, .num_records = count, .has_labels = true},
                             .failing = {UINT64_MAX, UINT64_MAX}};
}

static liana__loader_options small_options(void)
{
    return (liana__loader_options){.image = {.height = SIDE, .width = SIDE, .channels = 1},
                                   .batch_size = 8,
                                   .shuffle = true,
                                   .seed = 5,
                                   .num_classes = 10,
                                   .num_threads = 2};
}

static liana__loader *make_loader(const liana__source *source, const liana__loader_options *options)
{
    liana__error error = {0};
    liana__loader *loader;
    assert_ok(liana__loader_create(source, options, &loader, &error), &error);
    return loader;
}

/* A number made of everything in a batch. */
static uint32_t batch_checksum(const liana__batch *batch, size_t image_size)
{
    size_t count = (size_t)batch->count;
    uLong sum = crc32(0, (const Bytef *)batch->images, (uInt)(count * image_size));
    sum = crc32(sum, (const Bytef *)batch->labels, (uInt)(count * sizeof *batch->labels));
    sum = crc32(sum, (const Bytef *)batch->positions, (uInt)(count * sizeof *batch->positions));
    sum = crc32(sum, (const Bytef *)batch->records, (uInt)(count * sizeof *batch->records));
    sum = crc32(sum, (const Bytef *)&batch->epoch, sizeof batch->epoch);
    sum = crc32(sum, (const Bytef *)&batch->step, sizeof batch->step);
    for (size_t i = 0; i < count; i++) {
        const char *id = batch->ids[i] ? batch->ids[i] : "none";
        sum = crc32(sum, (const Bytef *)id, (uInt)strlen(id));
    }
    return (uint32_t)sum;
}

static void next_checksums(liana__loader *loader, size_t image_size, int count, uint32_t *sums)
{
    liana__error error = {0};
    for (int i = 0; i < count; i++) {
        liana__batch *batch;
        assert_ok(liana__loader_next(loader, &batch, &error), &error);
        assert_non_null(batch);
        assert_int_equal((uintptr_t)batch->images % LIANA__ALIGNMENT, 0);
        assert_compare(batch->wait_seconds, >=, 0);
        sums[i] = batch_checksum(batch, image_size);
        liana__loader_release(loader, batch);
    }
}

/* ---- tests ---- */

static void test_epochs_cover_the_data_and_end_with_a_part(void **state)
{
    (void)state;
    liana__error error = {0};
    computed_source source = make_computed(21);
    liana__loader_options options = small_options();
    liana__loader *loader = make_loader(&source.base, &options);
    assert_int_equal(liana__loader_epoch_length(loader, 0), 21);
    assert_int_equal(liana__loader_steps_per_epoch(loader, 0), 3);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    int moved = 0;
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        int seen[21] = {0};
        for (uint64_t step = 0; step < 3; step++) {
            liana__batch *batch;
            assert_ok(liana__loader_next(loader, &batch, &error), &error);
            assert_int_equal(batch->epoch, epoch);
            assert_int_equal(batch->step, step);
            assert_int_equal(batch->count, step < 2 ? 8 : 5);
            for (int64_t i = 0; i < batch->count; i++) {
                uint64_t place = step * 8 + (uint64_t)i, record = liana__permute(5, epoch, place, 21);
                assert_int_equal(batch->positions[i], epoch * 21 + place);
                assert_int_equal(batch->records[i], record);
                assert_int_equal(batch->labels[i], record % 10);
                for (int k = 0; k < SIDE * SIDE; k++) {
                    assert_int_equal(batch->images[i * SIDE * SIDE + k], record % 251);
                }
                char id[24];
                snprintf(id, sizeof id, "id%d", (int)record);
                if (record % 5) {
                    assert_string_equal(batch->ids[i], id);
                } else {
                    assert_null(batch->ids[i]);
                }
                seen[record]++;
                moved += record != place;
            }
            liana__loader_release(loader, batch);
        }
        for (int i = 0; i < 21; i++) assert_int_equal(seen[i], 1);
    }
    assert_compare(moved, >, 40);
    liana__loader_destroy(loader);
}

static void test_remainder_can_be_dropped_or_refused(void **state)
{
    (void)state;
    liana__error error = {0};
    computed_source source = make_computed(21);
    liana__loader_options options = small_options();
    liana__loader *loader;
    liana__batch *batch;
    options.remainder = LIANA__REMAINDER_REFUSE;
    assert_fails(liana__loader_create(&source.base, &options, &loader, &error), LIANA_INVALID_CONFIG, &error,
                 "21 examples", "batches of 8", "5 are left");
    options.remainder = LIANA__REMAINDER_DROP;
    options.shuffle = false;
    loader = make_loader(&source.base, &options);
    assert_int_equal(liana__loader_epoch_length(loader, 0), 16);
    assert_ok(liana__loader_begin(loader, 1, 0, &error), &error);
    assert_ok(liana__loader_next(loader, &batch, &error), &error);
    assert_int_equal(batch->count, 8);
    assert_int_equal(batch->records[0], 16); /* the rest of epoch 0 opens epoch 1 */
    assert_int_equal(batch->records[5], 0);
    liana__loader_release(loader, batch);
    liana__loader_destroy(loader);
    options.batch_size = 22;
    assert_fails(liana__loader_create(&source.base, &options, &loader, &error), LIANA_INVALID_CONFIG, &error,
                 "21 examples", "22");
    options = small_options();
    options.image.channels = 2;
    assert_fails(liana__loader_create(&source.base, &options, &loader, &error), LIANA_INVALID_ARGUMENT, &error,
                 "4 x 4 x 2");
    options = small_options();
    options.batch_size = 0;
    assert_fails(liana__loader_create(&source.base, &options, &loader, &error), LIANA_INVALID_ARGUMENT, &error,
                 "batch_size 0");
}

/* An epoch may be shorter or longer than the data: the stream runs on, each pass in an order of its own. */
static void test_steps_per_epoch_over_endless_data(void **state)
{
    (void)state;
    liana__error error = {0};
    computed_source source = make_computed(21);
    liana__loader_options options = small_options();
    options.steps_per_epoch = 4;
    liana__loader *loader = make_loader(&source.base, &options);
    assert_int_equal(liana__loader_epoch_length(loader, 0), 32);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    uint64_t position = 0;
    for (int number = 0; number < 12; number++) {
        liana__batch *batch;
        assert_ok(liana__loader_next(loader, &batch, &error), &error);
        assert_int_equal(batch->epoch, number / 4);
        assert_int_equal(batch->step, number % 4);
        assert_int_equal(batch->count, 8);
        for (int64_t i = 0; i < 8; i++, position++) {
            assert_int_equal(batch->positions[i], position);
            assert_int_equal(batch->records[i], liana__permute(5, position / 21, position % 21, 21));
        }
        liana__loader_release(loader, batch);
    }
    liana__loader_destroy(loader);
}

static void test_any_number_of_threads_gives_the_same(void **state)
{
    (void)state;
    liana__error error = {0};
    enum { COUNT = 40 };
    uint32_t expected[COUNT], sums[COUNT];
    computed_source source = make_computed(101);
    for (int num_threads = 1; num_threads <= 4; num_threads++) {
        liana__loader_options options = small_options();
        options.num_threads = num_threads;
        /* A full ring, and the smallest: two batches, and 64 KiB and an image for each thread. */
        options.memory = num_threads % 2 ? 0 : 5000 + (size_t)num_threads * (66 << 10);
        liana__loader *loader = make_loader(&source.base, &options);
        assert_int_equal(liana__loader_num_threads(loader), num_threads);
        assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
        next_checksums(loader, SIDE * SIDE, COUNT, num_threads == 1 ? expected : sums);
        if (num_threads > 1) assert_memory_equal(sums, expected, sizeof sums);
        liana__loader_destroy(loader);
    }
}

static void test_begin_anywhere_is_as_if_never_stopped(void **state)
{
    (void)state;
    liana__error error = {0};
    enum { COUNT = 30 };
    uint32_t expected[COUNT], sums[COUNT];
    computed_source source = make_computed(50); /* 7 steps an epoch */
    liana__loader_options options = small_options();
    liana__loader *loader = make_loader(&source.base, &options);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    next_checksums(loader, SIDE * SIDE, COUNT, expected);
    for (int from = 0; from < 25; from += 3) { /* the same loader, restarted while its threads are at work */
        assert_ok(liana__loader_begin(loader, (uint64_t)from / 7, (uint64_t)from % 7, &error), &error);
        next_checksums(loader, SIDE * SIDE, 5, sums);
        assert_memory_equal(sums, expected + from, 5 * sizeof *sums);
    }
    liana__loader_destroy(loader);
    loader = make_loader(&source.base, &options);
    liana__batch *batch;
    assert_fails(liana__loader_next(loader, &batch, &error), LIANA_INVALID_ARGUMENT, &error, "begin");
    assert_fails(liana__loader_begin(loader, 0, 7, &error), LIANA_INVALID_ARGUMENT, &error, "step 7", "7");
    assert_ok(liana__loader_begin(loader, 2, 3, &error), &error);
    next_checksums(loader, SIDE * SIDE, COUNT - 17, sums);
    assert_memory_equal(sums, expected + 17, (COUNT - 17) * sizeof *sums);
    assert_ok(liana__loader_next(loader, &batch, &error), &error);
    assert_fails(liana__loader_begin(loader, 0, 0, &error), LIANA_INVALID_ARGUMENT, &error, "not released");
    liana__loader_destroy(loader); /* with a batch out and the ring full */
}

static void test_batches_are_released_in_any_order_and_end(void **state)
{
    (void)state;
    liana__error error = {0};
    computed_source source = make_computed(20);
    liana__loader_options options = small_options();
    options.num_epochs = 2;
    liana__loader *loader = make_loader(&source.base, &options);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    liana__batch *batches[7];
    for (int i = 0; i < 7; i++) assert_ok(liana__loader_next(loader, &batches[i], &error), &error);
    for (int i = 0; i < 6; i++) assert_non_null(batches[i]);
    assert_int_equal(batches[5]->epoch, 1);
    assert_int_equal(batches[5]->count, 4);
    assert_null(batches[6]);
    for (int i = 5; i >= 0; i--) liana__loader_release(loader, batches[(i + 3) % 6]);
    assert_ok(liana__loader_next(loader, &batches[6], &error), &error);
    assert_null(batches[6]);
    assert_ok(liana__loader_begin(loader, 1, 2, &error), &error); /* once more from the last batch */
    assert_ok(liana__loader_next(loader, &batches[0], &error), &error);
    assert_int_equal(batches[0]->count, 4);
    liana__loader_release(loader, batches[0]);
    liana__loader_destroy(loader);
    assert_int_equal(source.num_reads, 44);
}

/* Whichever thread meets a bad record first, the error is that of the first position, after all batches before it. */
static void test_the_first_bad_position_decides_the_error(void **state)
{
    (void)state;
    liana__error error = {0};
    for (int num_threads = 1; num_threads <= 4; num_threads++) {
        for (int trial = 0; trial < 10; trial++) {
            computed_source source = make_computed(101);
            liana__loader_options options = small_options();
            options.num_threads = num_threads;
            uint64_t first = 30 + (uint64_t)trial;
            source.failing[0] = liana__permute(5, 0, first + 5, 101);
            source.failing[1] = liana__permute(5, 0, first, 101);
            liana__loader *loader = make_loader(&source.base, &options);
            assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
            uint32_t sums[4];
            next_checksums(loader, SIDE * SIDE, (int)(first / 8), sums);
            char expected[40];
            snprintf(expected, sizeof expected, "'computed': record %d is bad", (int)source.failing[1]);
            liana__batch *batch;
            for (int again = 0; again < 2; again++) {
                assert_fails(liana__loader_next(loader, &batch, &error), LIANA_DATA_LOSS, &error, expected);
                assert_null(batch);
            }
            assert_ok(liana__loader_begin(loader, 0, 0, &error), &error); /* begin clears it */
            next_checksums(loader, SIDE * SIDE, (int)(first / 8), sums);
            liana__loader_destroy(loader);
        }
    }
}

static void test_labels_out_of_range_are_refused(void **state)
{
    (void)state;
    liana__error error = {0};
    computed_source source = make_computed(21);
    liana__loader_options options = small_options();
    options.shuffle = false;
    options.num_classes = 9;
    liana__loader *loader = make_loader(&source.base, &options);
    liana__batch *batch;
    uint32_t sum;
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    next_checksums(loader, SIDE * SIDE, 1, &sum);
    assert_fails(liana__loader_next(loader, &batch, &error), LIANA_OUT_OF_RANGE, &error, "'computed'", "record 9",
                 "id 'id9'", "label 9", "[0, 9)");
    liana__loader_destroy(loader);
    source.base.has_labels = false;
    loader = make_loader(&source.base, &options);
    assert_ok(liana__loader_begin(loader, 0, 1, &error), &error);
    assert_ok(liana__loader_next(loader, &batch, &error), &error);
    for (int i = 0; i < 8; i++) assert_int_equal(batch->labels[i], -1);
    liana__loader_release(loader, batch);
    liana__loader_destroy(loader);
}

/* A stage of the program's own, whose draws are a function of the address; it fails at one position. */
static liana_status add_noise(const liana_augment_call *call)
{
    const uint64_t *failing_position = call->user;
    const liana_example_address *address = call->address;
    if (address->position == *failing_position) return liana__fail(call->error, LIANA_INVALID_DATA, "too noisy");
    uint32_t noise[SIDE * SIDE];
    liana__philox_key key = liana__philox_make_key(address->seed, LIANA__STREAM_AUGMENT, 0);
    uint32_t counter[4] = {0, (uint32_t)address->epoch, (uint32_t)address->position, 0};
    for (int i = 0; i < SIDE * SIDE; i += 4) {
        counter[0] = (uint32_t)i;
        liana__philox(key, counter, noise + i);
    }
    for (int i = 0; i < SIDE * SIDE; i++) call->pixels[i] = (uint8_t)(call->pixels[i] + noise[i]);
    return LIANA_OK;
}

static void test_stages_draw_from_the_address(void **state)
{
    (void)state;
    liana__error error = {0};
    enum { COUNT = 20 };
    uint32_t plain[COUNT], expected[COUNT], sums[COUNT];
    computed_source source = make_computed(50);
    uint64_t failing_position = UINT64_MAX;
    liana_context *context;
    liana__arena arena = {0};
    liana__value *list;
    liana__augment *augment;
    const liana_image_shape shape = {SIDE, SIDE, 1};
    const liana_augmentation_type noise = {LIANA_PART(AUGMENTATION, liana_augmentation_type, "noise", NULL),
                                           .apply = add_noise, .user = &failing_position};
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_register(context, &noise.part), LIANA_OK);
    assert_ok(liana__yaml_parse("[noise]", 7, "list", &arena, &list, &error), &error);
    assert_ok(liana__augment_create(context, list, "augment", &shape, &augment, &error), &error);
    liana__loader_options options = small_options();
    for (int num_threads = 0; num_threads <= 3; num_threads++) {
        options.num_threads = num_threads ? num_threads : 1;
        options.augment = num_threads ? augment : NULL;
        options.cache_memory = num_threads == 3 ? 1 << 20 : 0; /* the cache keeps images from before the stages */
        liana__loader *loader = make_loader(&source.base, &options);
        assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
        next_checksums(loader, SIDE * SIDE, COUNT, num_threads == 0 ? plain : num_threads == 1 ? expected : sums);
        if (num_threads == 1) assert_memory_not_equal(expected, plain, sizeof plain);
        if (num_threads > 1) assert_memory_equal(sums, expected, sizeof sums);
        liana__loader_destroy(loader);
    }
    failing_position = 11;
    liana__loader *loader = make_loader(&source.base, &options);
    liana__batch *batch;
    assert_ok(liana__loader_begin(loader, 0, 1, &error), &error);
    assert_fails(liana__loader_next(loader, &batch, &error), LIANA_INVALID_DATA, &error, "augmentation", "position 11",
                 "too noisy");
    liana__loader_destroy(loader);
    liana__augment_destroy(augment);
    liana__arena_free(&arena);
    liana_context_destroy(context);
}

static void test_cached_data_are_read_once(void **state)
{
    (void)state;
    liana__error error = {0};
    enum { COUNT = 35 }; /* 5 epochs */
    uint32_t expected[COUNT], sums[COUNT];
    computed_source source = make_computed(50);
    liana__loader_options options = small_options();
    liana__loader *loader = make_loader(&source.base, &options);
    assert_int_equal(liana__image_cache_count(liana__loader_cache(loader)), 0);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    next_checksums(loader, SIDE * SIDE, COUNT, expected);
    liana__loader_destroy(loader);

    options.num_epochs = 5;
    for (int trial = 0; trial < 2; trial++) {
        unsigned kept = trial ? 20 : 50;
        options.cache_memory = kept == 50 ? 1 << 20 : (kept + 1) * SIDE * SIDE - 1; /* all; as many as fit */
        loader = make_loader(&source.base, &options);
        assert_int_equal(liana__image_cache_count(liana__loader_cache(loader)), kept);
        atomic_store(&source.num_reads, 0);
        assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
        next_checksums(loader, SIDE * SIDE, COUNT, sums);
        assert_memory_equal(sums, expected, sizeof sums);
        liana__loader_destroy(loader);
        /* And a few more where a record of two passes was decoded at the same time. */
        unsigned needed = kept + 5 * (50 - kept);
        assert_compare(source.num_reads, >=, needed);
        assert_compare(source.num_reads, <, needed + 20);
    }
}

static liana__source *open_data(const char *pattern)
{
    liana__error error = {0};
    liana__source *source;
    assert_ok(liana__source_open(&pattern, 1, NULL, &source, &error), &error);
    return source;
}

static void test_flowers_decode_the_same_on_any_threads(void **state)
{
    (void)state;
    liana__error error = {0};
    enum { COUNT = 8, SMALL = 96 * 80 * 3 };
    uint32_t expected[COUNT], sums[COUNT];
    liana__source *source = open_data(liana__test_data("flowers192/train/*.tfrec"));
    for (int num_threads = 1; num_threads <= 3; num_threads += 2) {
        liana__loader_options options = {.image = {.height = 96, .width = 80, .channels = 3, .antialias = true},
                                         .batch_size = 16,
                                         .shuffle = true,
                                         .seed = 1,
                                         .num_classes = 5,
                                         .num_threads = num_threads};
        liana__loader *loader = make_loader(source, &options);
        assert_int_equal(liana__loader_steps_per_epoch(loader, 0), 101);
        assert_ok(liana__loader_begin(loader, 0, 97, &error), &error);
        next_checksums(loader, SMALL, COUNT, num_threads == 1 ? expected : sums);
        if (num_threads > 1) assert_memory_equal(sums, expected, sizeof sums);
        liana__loader_destroy(loader);
    }
    liana__loader_options whole = {.image = {.height = 192, .width = 192, .channels = 3}, .batch_size = 4};
    liana__loader *loader = make_loader(source, &whole);
    liana__batch *batch;
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    assert_ok(liana__loader_next(loader, &batch, &error), &error);
    assert_int_equal(crc32(0, batch->images, 192 * 192 * 3), 0xb2446dc3); /* Pillow's pixels of the first record */
    assert_int_equal(batch->labels[0], 3);
    assert_string_equal(batch->ids[0], "15054753070_4f6ae0e763_m");
    liana__loader_release(loader, batch);
    liana__loader_destroy(loader);
    liana__source_close(source);
}

/* Whether all of an image is decoded, because it is kept, or only a crop's part. */
static void test_parts_make_the_same_batches(void **state)
{
    (void)state;
    static const char text[] = "[{resize: {size: [224, 200]}}, {random_resized_crop: {size: [96, 80]}}, random_flip, "
                               "{random_brightness: {factor: 0.3}}]";
    liana__error error = {0};
    liana__arena arena = {0};
    liana__value *list;
    liana__augment *augment;
    liana_context *context;
    enum { COUNT = 8, SMALL = 96 * 80 * 3, DECODED = 224 * 200 * 3 };
    uint32_t expected[COUNT], sums[COUNT];
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_ok(liana__yaml_parse(text, strlen(text), "list", &arena, &list, &error), &error);
    liana_image_shape shape = {96, 80, 3};
    assert_ok(liana__augment_create(context, list, "data.augment", &shape, &augment, &error), &error);
    liana__source *source = open_data(liana__test_data("flowers192/train/*.tfrec"));
    for (int trial = 0; trial < 3; trial++) {
        liana__loader_options options = {.image = {.height = 96, .width = 80, .channels = 3},
                                         .batch_size = 16,
                                         .shuffle = true,
                                         .seed = 1,
                                         .num_classes = 5,
                                         .num_threads = 1 + trial,
                                         .augment = augment,
                                         .cache_memory = (size_t)(trial == 1 ? 1605 : 800 * trial) * DECODED};
        liana__loader *loader = make_loader(source, &options);
        assert_ok(liana__loader_begin(loader, 0, 97, &error), &error);
        next_checksums(loader, SMALL, COUNT, trial == 0 ? expected : sums);
        if (trial) assert_memory_equal(sums, expected, sizeof sums);
        liana__loader_destroy(loader);
    }
    liana__source_close(source);
    liana__augment_destroy(augment);
    liana__arena_free(&arena);
    liana_context_destroy(context);
}

static void test_mnist_becomes_colour_when_asked(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__source *source = open_data(liana__test_data("mnist/t10k-images-idx3-ubyte.gz"));
    liana__loader_options options = {.image = {.height = 28, .width = 28, .channels = 1}, .batch_size = 100};
    liana__loader *grey = make_loader(source, &options);
    options.image.channels = 3;
    liana__loader *colour = make_loader(source, &options);
    liana__batch *one, *three;
    assert_ok(liana__loader_begin(grey, 0, 99, &error), &error);
    assert_ok(liana__loader_begin(colour, 0, 99, &error), &error);
    assert_ok(liana__loader_next(grey, &one, &error), &error);
    assert_ok(liana__loader_next(colour, &three, &error), &error);
    liana_source_record record;
    assert_ok(liana__source_read(source, 9900, NULL, &record, &error), &error);
    assert_memory_equal(one->images, record.pixels, 784);
    assert_null(one->ids[0]);
    for (int i = 0; i < 100 * 784; i++) {
        for (int c = 0; c < 3; c++) assert_compare(three->images[3 * i + c], ==, one->images[i], i, c);
    }
    assert_memory_equal(one->labels, three->labels, 100 * sizeof *one->labels);
    liana__loader_release(grey, one);
    liana__loader_release(colour, three);
    liana__loader_destroy(grey);
    liana__loader_destroy(colour);
    liana__source_close(source);
}

static void test_the_first_image_tells_the_size(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__probe first;
    liana__source *source = open_data(liana__test_data("photos/panda.jpg"));
    assert_ok(liana__decode_probe(source, &first, &error), &error);
    assert_int_equal(first.height, 613);
    assert_int_equal(first.width, 696);
    assert_int_equal(first.channels, 3);
    assert_true(first.encoded);
    liana__source_close(source);
    source = open_data(liana__test_data("mnist/t10k-images-idx3-ubyte.gz"));
    assert_ok(liana__decode_probe(source, &first, &error), &error);
    assert_int_equal(first.height * 100 + first.width, 2828);
    assert_int_equal(first.channels, 1);
    assert_false(first.encoded);
    liana__source_close(source);
    liana__test_folder();
    source = open_data(liana__test_write("gone.png", "gone", 4));
    assert_fails(liana__decode_probe(source, &first, &error), LIANA_INVALID_DATA, &error, "gone.png", "'gone'");
    liana__source_close(source);
}

/* ---- damaged files ---- */

/* Ten records of 12 x 10 grey JPEGs; record `bad` holds other bytes. Returns the path. */
static const char *write_data(const char *name, int bad, const char *bytes)
{
    liana__error error = {0};
    liana__tfrecord_writer writer;
    liana__example_builder builder = {0};
    liana__text jpeg = {0};
    uint8_t pixels[12 * 10];
    memset(pixels, 99, sizeof pixels);
    assert_ok(liana__jpeg_encode(pixels, 12, 10, 1, 90, &jpeg, &error), &error);
    const char *path = liana__test_path(name);
    assert_ok(liana__tfrecord_writer_begin(&writer, path, &error), &error);
    for (int64_t i = 0; i < 10; i++) {
        const uint8_t *packed;
        size_t size;
        char id[8];
        snprintf(id, sizeof id, "n%d", (int)i);
        liana__example_add_int64s(&builder, "label", &i, 1);
        liana__example_add_bytes(&builder, "id", id, strlen(id));
        liana__example_add_bytes(&builder, "image", i == bad ? bytes : jpeg.data,
                                 i == bad ? strlen(bytes) : jpeg.length);
        assert_ok(liana__example_pack(&builder, &packed, &size, &error), &error);
        assert_ok(liana__tfrecord_writer_add(&writer, packed, size, &error), &error);
    }
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    liana__example_builder_free(&builder);
    liana__text_free(&jpeg);
    return path;
}

static void expect_failure(const char *path, liana_status status, const char *first, const char *second,
                           const char *third)
{
    liana__error error = {0};
    liana__source *source = open_data(path);
    liana__loader_options options = {.image = {.height = 6, .width = 5, .channels = 3}, .batch_size = 10};
    liana__loader *loader = make_loader(source, &options);
    liana__batch *batch;
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    assert_fails(liana__loader_next(loader, &batch, &error), status, &error, first, second, third);
    liana__loader_destroy(loader);
    liana__source_close(source);
}

static void test_damaged_records_are_named(void **state)
{
    (void)state;
    liana__test_folder();
    expect_failure(write_data("html.tfrec", 7, "<html>404</html>"), LIANA_INVALID_DATA,
                   "html.tfrec', record 7 (id 'n7')", "expected a JPEG, PNG", "HTML");
    expect_failure(write_data("cut.tfrec", 4, "\xff\xd8\xff\xe0"), LIANA_DATA_LOSS, "cut.tfrec', record 4 (id 'n4')",
                   "JPEG", "truncated");
    /* One bit of the sixth record's data. */
    const char *path = write_data("flipped.tfrec", -1, "");
    FILE *file = fopen(path, "r+b");
    uint8_t length[8];
    long at = 0;
    for (int i = 0; i <= 5; i++) {
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        assert_int_equal(fread(length, 1, 8, file), 8);
        if (i < 5) at += 16 + length[0] + 256 * length[1];
    }
    assert_int_equal(fseek(file, at + 40, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, at + 40, SEEK_SET), 0);
    fputc(byte ^ 1, file);
    assert_int_equal(fclose(file), 0);
    expect_failure(path, LIANA_DATA_LOSS, "flipped.tfrec", "record 5", "checksum");
    /* An image file names itself, without a record. */
    liana__test_write("one.jpg", "no image", 8);
    expect_failure(liana__test_path("one.jpg"), LIANA_INVALID_DATA, "one.jpg': not an image", "text", "'no image'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs_cover_the_data_and_end_with_a_part),
        cmocka_unit_test(test_remainder_can_be_dropped_or_refused),
        cmocka_unit_test(test_steps_per_epoch_over_endless_data),
        cmocka_unit_test(test_any_number_of_threads_gives_the_same),
        cmocka_unit_test(test_begin_anywhere_is_as_if_never_stopped),
        cmocka_unit_test(test_batches_are_released_in_any_order_and_end),
        cmocka_unit_test(test_the_first_bad_position_decides_the_error),
        cmocka_unit_test(test_labels_out_of_range_are_refused),
        cmocka_unit_test(test_stages_draw_from_the_address),
        cmocka_unit_test(test_cached_data_are_read_once),
        cmocka_unit_test(test_flowers_decode_the_same_on_any_threads),
        cmocka_unit_test(test_parts_make_the_same_batches),
        cmocka_unit_test(test_mnist_becomes_colour_when_asked),
        cmocka_unit_test(test_the_first_image_tells_the_size),
        cmocka_unit_test(test_damaged_records_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
