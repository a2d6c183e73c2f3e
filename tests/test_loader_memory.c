/* The pipeline's own memory: within its bound however many records there are, and whatever images come. */
#include "harness/harness.h"

#include "data/loader.h"
#include "formats/example.h"
#include "formats/tfrecord.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 16, CHANNELS = 3, SIZE = SIDE * SIDE * CHANNELS, RECORDS = 1000000, BATCH = 256, MEMORY = 4 << 20 };

static liana__record_address address_of(const liana__source *source, uint64_t index)
{
    (void)source;
    return (liana__record_address){"synthetic", (int64_t)index};
}

static liana_status read_record(const liana__source *source, uint64_t index, void *scratch, liana__record *record,
                                liana__error *error)
{
    (void)source;
    (void)error;
    memset(scratch, (int)(index * 31), SIZE);
    *record = (liana__record){.pixels = scratch,
                              .height = SIDE,
                              .width = SIDE,
                              .channels = CHANNELS,
                              .has_label = true,
                              .label = (int64_t)(index % 10)};
    return LIANA_OK;
}

static const liana__source_kind kind = {.name = "synthetic",
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

/* Two threads' stacks and what malloc keeps are not the pipeline's. */
static void assert_within(size_t before, size_t most, size_t memory)
{
    size_t grown = most > before ? most - before : 0, allowed = memory + (2 << 20);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    allowed += (size_t)512 << 20; /* their shadows, and what was freed, which they keep back */
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
    if (!before) skip();
    liana__loader *loader;
    assert_ok(liana__loader_create(&source, &options, &loader, &error), &error);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    for (;;) {
        liana__batch *batch;
        assert_ok(liana__loader_next(loader, &batch, &error), &error);
        if (!batch) break;
        images += (size_t)batch->count;
        for (int64_t i = 0; i < batch->count; i++) {
            assert_int_equal(batch->images[i * SIZE + SIZE - 1], (uint8_t)(batch->records[i] * 31));
        }
        if (batch->step % 64 == 0 && resident() > most) most = resident();
        liana__loader_release(loader, batch);
    }
    liana__loader_destroy(loader);
    assert_int_equal(images, RECORDS);
    assert_within(before, most, MEMORY);
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
    assert_ok(liana__tfrecord_writer_begin(&writer, liana__test_path(name), false, &error), &error);
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
    /* Whoever keeps batches still gets more, however little room there is. */
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
    if (!resident()) skip();
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
    assert_within(before, take_batches(source, &options, 300), ALL);
    /* Without room for the index and two batches beside it. */
    liana__error error = {0};
    liana__loader *loader;
    options.memory = 8 << 20;
    assert_fails(liana__loader_create(source, &options, &loader, &error), LIANA_INVALID_CONFIG, &error,
                 "two batches of 256 images", "the index of the data 8.0 MiB", "data.memory", "1.1 times as large");
    liana__source_close(source);
}

/* Decoders grow with the images that come, and batches make room for them. */
static void test_large_images_take_the_room_of_batches(void **state)
{
    (void)state;
    if (!resident()) skip();
    enum { LARGE = 1600, OUT = 160, ALL = 12 << 20 };
    liana__test_folder();
    write_records("large.tfrec", LARGE, 3);
    size_t before = resident();
    liana__source *source = open_records("large.tfrec");
    liana__loader_options options = {.image = {.height = OUT, .width = OUT, .channels = 1, .antialias = true},
                                     .batch_size = 32,
                                     .num_threads = 2,
                                     .steps_per_epoch = 1000,
                                     .memory = ALL};
    /* 14 batches of 0.8 MB before, and two decoders of 2.5 MB after the first images came. */
    assert_within(before, take_batches(source, &options, 30), ALL);
    liana__source_close(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_million_records),
                                       cmocka_unit_test(test_a_million_records_of_a_file),
                                       cmocka_unit_test(test_large_images_take_the_room_of_batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
