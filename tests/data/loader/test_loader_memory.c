/* The pipeline's own memory: within its bound however many records there are, and whatever images come. */
#include "harness/peers.h"

#include "data/dataset/dataset_source.h"
#include "data/loader/loader.h"
#include "data/source/source_open.h"
#include "formats/example.h"
#include "formats/tfrecord.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 16, CHANNELS = 3, SIZE = SIDE * SIDE * CHANNELS, RECORDS = 1000000, BATCH = 256, MEMORY = 4 << 20 };

static liana_record_address address_of(const void *source, uint64_t index)
{
    (void)source;
    return (liana_record_address){.file = "synthetic", .record = (int64_t)index};
}

static liana_status read_record(void *source, liana_source_record *record)
{
    const uint64_t index = record->index;
    void *scratch = record->scratch;
    (void)source;
    memset(scratch, (int)(index * 31), SIZE);
    *record = (liana_source_record){.pixels = scratch,
                                    .height = SIDE,
                                    .width = SIDE,
                                    .channels = CHANNELS,
                                    .has_label = true,
                                    .label = (int64_t)(index % 10)};
    return LIANA_OK;
}

static const liana_source_type kind = {.part = {.name = "synthetic"},
                                       .read = read_record,
                                       .address = address_of,
                                       .scratch_size = SIZE};

/* Pages in memory that are no files', in bytes. */
static size_t resident(void)
{
    unsigned long all = 0, own = 0, shared = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu %lu %lu", &all, &own, &shared) != 3) own = shared = 0;
    if (file) fclose(file);
    return (own - shared) * (size_t)sysconf(_SC_PAGE_SIZE);
}

/* The threads' stacks and what malloc keeps for each (a huge page at least, where there are such) are not the
 * pipeline's. */
static void assert_within(size_t before, size_t most, size_t memory, int num_threads)
{
    size_t grown = most > before ? most - before : 0, allowed = memory + ((size_t)num_threads << 21);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    allowed += (size_t)512 << 20; /* their shadows, and freed memory, which they keep back */
#endif
    if (grown > allowed) fail_msg("%zu bytes more are in use, expected at most %zu", grown, allowed);
}

static void test_a_million_records(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__source source = {.kind = &kind, .num_records = RECORDS, .has_labels = true};
    liana__loader_options options = {.image = {.height = SIDE, .width = SIDE, .channels = CHANNELS},
                                     .batch_size = BATCH,
                                     .num_threads = 2,
                                     .num_epochs = 1,
                                     .shuffle = true,
                                     .memory = MEMORY};
    size_t before = resident(), most = 0, images = 0;
    if (!before) liana__test_skip("this system does not say how much memory a process has");
    liana__loader *loader;
    assert_ok(liana__loader_create(&source, &options, &loader, &error), &error);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    for (;;) {
        liana__batch *batch;
        assert_ok(liana__loader_next(loader, &batch, &error), &error);
        if (!batch) break;
        images += (size_t)batch->count;
        for (int64_t i = 0; i < batch->count; i++) {
            assert_compare(batch->images[i * SIZE + SIZE - 1], ==, (uint8_t)(batch->records[i] * 31), i);
        }
        if (batch->step % 64 == 0 && resident() > most) most = resident();
        liana__loader_release(loader, batch);
    }
    liana__loader_destroy(loader);
    assert_int_equal(images, RECORDS);
    assert_within(before, most, MEMORY, 2);
}

/* ---- files ---- */

/* `count` records that all hold the same grey image. */
static void write_records(const char *name, int side, int count)
{
    liana__error error = {0};
    liana__text png = {0};
    uint8_t *pixels = calloc((size_t)(side * side), 1);
    assert_non_null(pixels);
    for (int i = 0; i < side * side; i++) pixels[i] = (uint8_t)(i * 7 / side);
    assert_ok(liana__png_encode(pixels, side, side, 1, &png, &error), &error);
    liana__example_builder builder = {0};
    int64_t label = 3;
    liana__example_add_bytes(&builder, "image", png.data, png.length);
    liana__example_add_int64s(&builder, "class", &label, 1);
    const uint8_t *bytes;
    size_t size;
    assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
    liana__tfrecord_writer writer;
    assert_ok(liana__tfrecord_writer_begin(&writer, liana__test_path(name), &error), &error);
    for (int i = 0; i < count; i++) assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    liana__example_builder_free(&builder);
    liana__text_free(&png);
    free(pixels);
}

/* Takes batches, and returns the most memory that was in use meanwhile. */
static size_t take_batches(const liana__source *source, const liana__loader_options *options, int count)
{
    liana__error error = {0};
    liana__loader *loader;
    liana__batch *held[3] = {0};
    size_t most = 0;
    assert_ok(liana__loader_create(source, options, &loader, &error), &error);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    for (int i = 0; i < count; i++) {
        liana__batch *batch;
        assert_ok(liana__loader_next(loader, &batch, &error), &error);
        assert_int_equal(batch->labels[0], 3);
        liana__loader_release(loader, batch);
        if (resident() > most) most = resident();
    }
    /* A reader that keeps batches still gets more, however little room there is. */
    size_t num_held = options->batch_size > 64 ? 0 : 3;
    for (size_t i = 0; i < num_held; i++) assert_ok(liana__loader_next(loader, &held[i], &error), &error);
    for (size_t i = 0; i < num_held; i++) liana__loader_release(loader, held[i]);
    liana__loader_destroy(loader);
    return most;
}

static liana__source *open_records(const char *name)
{
    liana__error error = {0};
    liana__source *source;
    const char *pattern = liana__test_path(name);
    assert_ok(liana__source_open(&pattern, 1, NULL, &source, &error), &error);
    return source;
}

/* The index of a million records counts. */
static void test_a_million_records_of_a_file(void **state)
{
    (void)state;
    if (!resident()) liana__test_skip("this system does not say how much memory a process has");
    enum { ALL = 14 << 20 };
    liana__test_folder();
    write_records("million.tfrec", 4, RECORDS);
    size_t before = resident();
    liana__source *source = open_records("million.tfrec");
    assert_int_equal(source->num_records, RECORDS);
    assert_in_range(source->memory, 8 * RECORDS, 9 << 20);
    liana__loader_options options = {.image = {.height = SIDE, .width = SIDE, .channels = CHANNELS},
                                     .batch_size = BATCH,
                                     .num_threads = 2,
                                     .shuffle = true,
                                     .memory = ALL};
    assert_within(before, take_batches(source, &options, 300), ALL, 2);
    /* Without room for the index and two batches. */
    liana__error error = {0};
    liana__loader *loader;
    options.memory = 8 << 20;
    assert_fails(liana__loader_create(source, &options, &loader, &error), LIANA_INVALID_CONFIG, &error,
                 "two batches of 256 examples", "the index of the data 8.0 MiB", "data.memory", "1.1 times as large");
    liana__source_close(source);
}

/* ---- images that dwarf a batch ---- */

enum { LARGE = 3200, OUT = 320, LARGE_BATCH = 4, THREADS = 8, ROOM = 32 << 20 };

static liana__loader_options large_options(int num_threads)
{
    return (liana__loader_options){.image = {.height = OUT, .width = OUT, .channels = 1, .antialias = true},
                                   .batch_size = LARGE_BATCH,
                                   .num_threads = num_threads,
                                   .steps_per_epoch = 1000,
                                   .memory = ROOM};
}

static void assert_same_images(const liana__source *source, const liana__loader_options *options)
{
    liana__error error = {0};
    liana__loader_options free = *options;
    free.memory = 0;
    free.num_threads = 1;
    liana__loader *bounded, *unbounded;
    assert_ok(liana__loader_create(source, options, &bounded, &error), &error);
    assert_ok(liana__loader_create(source, &free, &unbounded, &error), &error);
    assert_ok(liana__loader_begin(bounded, 0, 0, &error), &error);
    assert_ok(liana__loader_begin(unbounded, 0, 0, &error), &error);
    for (int i = 0; i < 3; i++) {
        liana__batch *one, *other;
        assert_ok(liana__loader_next(bounded, &one, &error), &error);
        assert_ok(liana__loader_next(unbounded, &other, &error), &error);
        assert_int_equal(one->count, LARGE_BATCH);
        assert_memory_equal(one->images, other->images, LARGE_BATCH * OUT * OUT);
        liana__loader_release(bounded, one);
        liana__loader_release(unbounded, other);
    }
    liana__loader_destroy(bounded);
    liana__loader_destroy(unbounded);
}

/* A decoder takes 10 MB: those of eight threads do not find room, so they take turns. */
static void test_large_images_take_turns(void **state)
{
    (void)state;
    if (!resident()) liana__test_skip("this system does not say how much memory a process has");
    liana__test_folder();
    write_records("large.tfrec", LARGE, 3);
    size_t before = resident();
    liana__source *source = open_records("large.tfrec");
    liana__loader_options options = large_options(THREADS);
    assert_within(before, take_batches(source, &options, 10), ROOM, THREADS);
    assert_same_images(source, &options);
    liana__source_close(source);
}

/* The images of a file, read, parsed and decoded by stages. */
static liana_dataset *open_decoded(liana_context *context, const char *name, int side)
{
    static const liana_component features[] = {{.name = "image", .dtype = LIANA_STRING},
                                               {.name = "class", .dtype = LIANA_S64}};
    const liana_decode_options decode = {.height = side, .width = side, .channels = 1, .antialias = true};
    liana_dataset *dataset = liana_dataset_tfrecord(context, liana__test_path(name));
    dataset = liana_dataset_rename(liana_dataset_parse_example(dataset, features, 2), "class", "label");
    return liana_dataset_decode_images(dataset, &decode);
}

/* The same in a dataset whose stages read and decode. An element that is only short of memory is no bad one. */
static void test_large_images_of_a_dataset(void **state)
{
    (void)state;
    if (!resident()) liana__test_skip("this system does not say how much memory a process has");
    liana__test_folder();
    write_records("large.tfrec", LARGE, 3);
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    size_t before = resident();
    liana_dataset *dataset = liana_dataset_mark_errors(open_decoded(context, "large.tfrec", OUT), NULL);
    if (!dataset) fail_msg("%s", liana_context_message(context));
    liana__error error = {0};
    liana__source *source;
    assert_ok(liana__dataset_view(dataset, 0, &source, &error), &error);
    assert_in_range(source->memory, 3 * sizeof(uint64_t), 1000); /* the index */
    liana__loader_options options = large_options(THREADS);
    assert_within(before, take_batches(source, &options, 10), ROOM, THREADS);
    assert_same_images(source, &options);
    liana__dataset_close_view(source);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

/* A record of a dataset is there as it was read, as it was parsed, and as an element. */
static void test_each_copy_of_a_record_counts(void **state)
{
    (void)state;
    static const liana_component image = {.name = "image", .dtype = LIANA_STRING};
    liana__test_folder();
    write_records("large.tfrec", LARGE, 1);
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    liana_dataset *dataset = liana_dataset_tfrecord(context, liana__test_path("large.tfrec"));
    dataset = liana_dataset_parse_example(dataset, &image, 1);
    liana__error error = {0};
    liana__source *source;
    assert_ok(liana__dataset_view(dataset, 0, &source, &error), &error);
    void *scratch = liana__source_scratch_create(source);
    liana_source_record record;
    assert_int_equal(liana__source_scratch_bytes(source, scratch), 0);
    assert_ok(liana__source_read(source, 0, scratch, &record, &error), &error);
    assert_in_range(liana__source_scratch_bytes(source, scratch), 3 * record.size, 5 * record.size);
    liana__source_scratch_destroy(source, scratch);
    liana__dataset_close_view(source);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

/* A stream's share is taken before: its cursor makes elements ahead, and the shuffle keeps some. */
static void test_a_stream_has_its_part(void **state)
{
    (void)state;
    if (!resident()) liana__test_skip("this system does not say how much memory a process has");
    liana__test_folder();
    write_records("small.tfrec", 64, 3000);
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    liana_dataset *dataset = liana_dataset_ignore_errors(open_decoded(context, "small.tfrec", 64), NULL);
    dataset = liana_dataset_shuffle(dataset, &(liana_shuffle_options){.buffer_size = 2000});
    dataset = liana_dataset_repeat(dataset, -1);
    if (!dataset) fail_msg("%s", liana_context_message(context));
    liana__error error = {0};
    liana__source *source;
    assert_ok(liana__dataset_view(dataset, 3000, &source, &error), &error);
    assert_true(source->streams);
    liana__loader_options options = {.image = {.height = 64, .width = 64, .channels = 1},
                                     .batch_size = 32,
                                     .num_threads = 2,
                                     .steps_per_epoch = 90,
                                     .memory = 40 << 20};
    size_t before = resident();
    assert_within(before, take_batches(source, &options, 180), options.memory, 2);
    /* 2000 elements of 4 KB are 8 MB: not within half of three quarters of the rest of 10. */
    options.memory = 10 << 20;
    liana__loader *loader;
    liana__batch *batch;
    assert_ok(liana__loader_create(source, &options, &loader, &error), &error);
    assert_ok(liana__loader_begin(loader, 3, 0, &error), &error);
    assert_fails(liana__loader_next(loader, &batch, &error), LIANA_OUT_OF_RANGE, &error, "kept elements",
                 "increase its memory");
    liana__loader_destroy(loader);
    liana__dataset_close_view(source);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

/* One that would not find room if it were alone: named, with the remedy, and never left out as a bad record. */
static void test_an_image_that_is_too_large(void **state)
{
    (void)state;
    liana__test_folder();
    write_records("large.tfrec", LARGE, 3);
    liana__source *source = open_records("large.tfrec");
    liana__error error = {0};
    liana__bad_records list = {.most = 0};
    for (int with_list = 0; with_list < 2; with_list++) {
        liana__loader_options options = large_options(2);
        options.memory = 4 << 20;
        options.bad_records = with_list ? &list : NULL;
        liana__loader *loader;
        liana__batch *batch;
        assert_ok(liana__loader_create(source, &options, &loader, &error), &error);
        assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
        assert_fails(liana__loader_next(loader, &batch, &error), LIANA_INVALID_CONFIG, &error, "large.tfrec",
                     "record 0", "reading and decoding it takes ", "data.memory leaves only", "larger by");
        assert_null(batch);
        liana__loader_destroy(loader);
    }
    assert_int_equal(list.count, 0);
    liana__source_close(source);
}

/* ---- reading ahead ---- */

enum { NUM_EXPECTED = 500 };
static atomic_int expected[NUM_EXPECTED], num_read[NUM_EXPECTED], num_late;

static void expect_record(const void *source, uint64_t index)
{
    assert_in_range(index, 0, ((const liana__source *)source)->num_records - 1);
    atomic_fetch_add(&expected[index], 1);
}

static liana_status read_expected(void *source, liana_source_record *record)
{
    const uint64_t index = record->index;
    if (atomic_load(&expected[index]) <= atomic_fetch_add(&num_read[index], 1)) atomic_fetch_add(&num_late, 1);
    return read_record(source, record);
}

/* In the first epoch the system is told of each record once, before it is read, whatever the order is. */
static void test_records_are_announced(void **state)
{
    (void)state;
    static const liana_source_type announced = {.part = {.name = "announced"},
                                                .read = read_expected,
                                                .expect = expect_record,
                                                .address = address_of,
                                                .scratch_size = SIZE};
    liana__error error = {0};
    liana__source source = {.kind = &announced, .num_records = NUM_EXPECTED, .has_labels = true};
    for (int shuffle = 0; shuffle < 2; shuffle++) {
        liana__loader_options options = {.image = {.height = SIDE, .width = SIDE, .channels = CHANNELS},
                                         .batch_size = 64,
                                         .num_threads = 1,
                                         .num_epochs = 1,
                                         .shuffle = shuffle};
        liana__loader *loader;
        liana__batch *batch;
        assert_ok(liana__loader_create(&source, &options, &loader, &error), &error);
        assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
        do {
            assert_ok(liana__loader_next(loader, &batch, &error), &error);
            if (batch) liana__loader_release(loader, batch);
        } while (batch);
        liana__loader_destroy(loader);
        for (int i = 0; i < NUM_EXPECTED; i++) assert_int_equal(expected[i], shuffle + 1);
    }
    assert_int_equal(num_late, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_million_records),
                                       cmocka_unit_test(test_a_million_records_of_a_file),
                                       cmocka_unit_test(test_large_images_take_turns),
                                       cmocka_unit_test(test_large_images_of_a_dataset),
                                       cmocka_unit_test(test_each_copy_of_a_record_counts),
                                       cmocka_unit_test(test_a_stream_has_its_part),
                                       cmocka_unit_test(test_an_image_that_is_too_large),
                                       cmocka_unit_test(test_records_are_announced)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
