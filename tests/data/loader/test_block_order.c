/* The shuffled order of compressed files: a permutation that goes through each block once. */
#include "harness/gzip_file.h"
#include "harness/harness.h"

#include "data/loader/block_order.h"
#include "data/loader/loader.h"
#include "data/source/source_open.h"
#include "formats/example.h"
#include "formats/image.h"
#include "formats/tfrecord.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_BLOCKS = 21 };

/* Blocks of 1, 4, 7, ... records. */
static uint64_t make_blocks(uint64_t starts[NUM_BLOCKS])
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < NUM_BLOCKS; i++) {
        starts[i] = count;
        count += 1 + 3 * i;
    }
    return count;
}

static size_t block_of(const uint64_t starts[NUM_BLOCKS], uint64_t record)
{
    size_t block = 0;
    while (block + 1 < NUM_BLOCKS && starts[block + 1] <= record) block++;
    return block;
}

/* Goes through a pass: each record comes once, and the blocks in windows. */
static void check_pass(liana__block_order *order, uint64_t pass, const uint64_t starts[NUM_BLOCKS], uint64_t count,
                       uint64_t *sequence)
{
    bool *seen = calloc((size_t)count, sizeof *seen), open[NUM_BLOCKS] = {0}, closed[NUM_BLOCKS] = {0};
    uint64_t sizes[NUM_BLOCKS], left[NUM_BLOCKS];
    for (size_t i = 0; i < NUM_BLOCKS; i++) {
        uint64_t end = i + 1 < NUM_BLOCKS && starts[i + 1] < count ? starts[i + 1] : count;
        sizes[i] = left[i] = end > starts[i] ? end - starts[i] : 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t record = sequence[i] = liana__block_order_record(order, pass, i);
        assert_compare(record, <, count);
        assert_true(!seen[record]);
        seen[record] = true;
        size_t block = block_of(starts, record), num_open = 0;
        assert_false(closed[block]);
        open[block] = true;
        if (--left[block] == 0) {
            closed[block] = true;
            open[block] = false;
        }
        for (size_t k = 0; k < NUM_BLOCKS; k++) num_open += open[k];
        assert_compare(num_open, <=, LIANA__BLOCK_WINDOW);
    }
    for (size_t i = 0; i < NUM_BLOCKS; i++)
        if (!closed[i]) assert_compare(sizes[i], ==, 0, i);
    free(seen);
}

static void test_each_pass_is_a_permutation_in_windows(void **state)
{
    (void)state;
    liana__error error = {0};
    uint64_t starts[NUM_BLOCKS], all = make_blocks(starts);
    for (uint64_t count = all; count > 1; count = count * 2 / 3) { /* as `take` cuts it */
        liana__block_order *order, *other;
        assert_ok(liana__block_order_create(starts, NUM_BLOCKS, count, 5, &order, &error), &error);
        assert_ok(liana__block_order_create(starts, NUM_BLOCKS, count, 6, &other, &error), &error);
        uint64_t *first = malloc(count * 4 * sizeof *first), *second = first + count, *third = second + count;
        check_pass(order, 0, starts, count, first);
        check_pass(order, 1, starts, count, second);
        check_pass(other, 0, starts, count, third);
        if (count > 20) {
            assert_memory_not_equal(first, second, count * sizeof *first);
            assert_memory_not_equal(first, third, count * sizeof *first);
        }
        /* Any place at once, in any order of asking. */
        assert_int_equal(liana__block_order_record(order, 0, count / 2), first[count / 2]);
        assert_int_equal(liana__block_order_record(order, 1, 0), second[0]);
        free(first);
        liana__block_order_destroy(order);
        liana__block_order_destroy(other);
    }
}

/* Where a record lands is about as likely anywhere: over many passes its mean place is the middle. */
static void test_records_land_everywhere(void **state)
{
    (void)state;
    enum { PASSES = 400 };
    liana__error error = {0};
    uint64_t starts[NUM_BLOCKS];
    for (uint64_t i = 0; i < NUM_BLOCKS; i++) starts[i] = 10 * i;
    uint64_t count = 10 * NUM_BLOCKS;
    liana__block_order *order;
    assert_ok(liana__block_order_create(starts, NUM_BLOCKS, count, 1, &order, &error), &error);
    double place[10 * NUM_BLOCKS] = {0};
    for (uint64_t pass = 0; pass < PASSES; pass++) {
        for (uint64_t i = 0; i < count; i++) {
            place[liana__block_order_record(order, pass, i)] += (double)i / (double)(count - 1);
        }
    }
    /* Uniform places have a deviation of 0.29; the mean of 400 one of 0.0145. Six of these. */
    for (uint64_t i = 0; i < count; i++) {
        assert_compare(place[i] / PASSES, >, 0.413, i);
        assert_compare(place[i] / PASSES, <, 0.587, i);
    }
    liana__block_order_destroy(order);
}

/* ---- the loader ---- */

enum { FILES = 11, RECORDS = 9, BATCH = 7, SIDE = 3 };

/* Images of one colour, the record's number; label and id say it too. */
static void write_file(int file, bool compress)
{
    liana__error error = {0};
    liana__tfrecord_writer writer;
    liana__example_builder builder = {0};
    liana__text png = {0};
    char name[32], id[16];
    snprintf(name, sizeof name, "%02d.tfrec%s", file, compress ? ".gz" : "");
    assert_ok(liana__tfrecord_writer_begin(&writer, liana__test_path(name), &error), &error);
    for (int i = 0; i < RECORDS; i++) {
        int64_t number = file * RECORDS + i;
        uint8_t pixels[SIDE * SIDE * 3];
        const uint8_t *bytes;
        size_t size;
        memset(pixels, (int)number, sizeof pixels);
        png.length = 0;
        assert_ok(liana__png_encode(pixels, SIDE, SIDE, 3, &png, &error), &error);
        snprintf(id, sizeof id, "n%d", (int)number);
        liana__example_add_bytes(&builder, "image", png.data, png.length);
        liana__example_add_bytes(&builder, "id", id, strlen(id));
        liana__example_add_int64s(&builder, "class", &number, 1);
        assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
        assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
    }
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    if (compress) liana__test_gzip(liana__test_path(name));
    liana__example_builder_free(&builder);
    liana__text_free(&png);
}

/* The labels of steps [begin, end) of the endless run of epochs, each checked against its image and id. */
static void load_labels(const liana__source *source, int threads, uint64_t epoch, uint64_t step, int32_t *labels,
                        size_t count)
{
    liana__error error = {0};
    liana__loader_options options = {.image = {.height = SIDE, .width = SIDE, .channels = 3},
                                     .batch_size = BATCH,
                                     .shuffle = true,
                                     .seed = 3,
                                     .num_threads = threads};
    liana__loader *loader;
    assert_ok(liana__loader_create(source, &options, &loader, &error), &error);
    assert_ok(liana__loader_begin(loader, epoch, step, &error), &error);
    for (size_t i = 0; i < count;) {
        liana__batch *batch;
        assert_ok(liana__loader_next(loader, &batch, &error), &error);
        for (int64_t k = 0; k < batch->count && i < count; k++) {
            char id[16];
            snprintf(id, sizeof id, "n%d", (int)batch->labels[k]);
            assert_string_equal(batch->ids[k], id);
            assert_compare(batch->images[k * SIDE * SIDE * 3], ==, batch->labels[k], k);
            labels[i++] = batch->labels[k];
        }
        liana__loader_release(loader, batch);
    }
    liana__loader_destroy(loader);
}

static void test_compressed_files_load_alike_on_any_threads_and_after_a_resume(void **state)
{
    (void)state;
    enum { COUNT = FILES * RECORDS, STEPS = (COUNT + BATCH - 1) / BATCH };
    liana__error error = {0};
    liana__test_folder();
    for (int i = 0; i < FILES; i++) write_file(i, i != 4); /* a plain one among them */
    const char *pattern = liana__test_path("*.tfrec*");
    liana__source *source;
    assert_ok(liana__source_open(&pattern, 1, NULL, &source, &error), &error);
    assert_int_equal(source->num_records, COUNT);
    assert_int_equal(source->num_blocks, FILES);
    int32_t once[3 * COUNT], again[3 * COUNT];
    load_labels(source, 1, 0, 0, once, 3 * COUNT);
    for (int epoch = 0; epoch < 3; epoch++) {
        bool seen[COUNT] = {0};
        for (int i = 0; i < COUNT; i++) seen[once[epoch * COUNT + i]] = true;
        for (int i = 0; i < COUNT; i++) assert_true(seen[i]);
    }
    assert_memory_not_equal(once, once + COUNT, COUNT * sizeof *once);
    for (int threads = 2; threads <= 5; threads += 3) {
        load_labels(source, threads, 0, 0, again, 3 * COUNT);
        assert_memory_equal(once, again, sizeof once);
        for (uint64_t step = 1; step < STEPS; step += 5) {
            load_labels(source, threads, 1, step, again, COUNT);
            assert_memory_equal(once + COUNT + step * BATCH, again, COUNT * sizeof *once);
        }
    }
    liana__source_close(source);
}

/* ---- datasets ---- */

/* The labels of an epoch from an element on. */
static void iterate(const liana_dataset *dataset, uint64_t epoch, uint64_t start, int threads, int64_t *labels,
                    int count)
{
    liana_iterator_options options = {.epoch = epoch, .start = start, .num_threads = threads};
    liana_iterator *iterator;
    const liana_element *element;
    assert_int_equal(liana_iterator_create(dataset, &options, &iterator), LIANA_OK);
    for (int i = (int)start; i < count; i++) {
        assert_int_equal(liana_iterator_next(iterator, &element), LIANA_OK);
        labels[i] = *(const int64_t *)liana_element_array(element, "class").data;
    }
    assert_int_equal(liana_iterator_next(iterator, &element), LIANA_END_OF_DATA);
    liana_iterator_destroy(iterator);
}

/* Shuffles records that are those of the blocks, by `starts` of the input and the number of its first record. */
static void check_shuffle(liana_dataset *input, const uint64_t *starts, size_t num_blocks, const int64_t *expected,
                          int count)
{
    enum { SEED = 11 };
    static const liana_component label = {.name = "class", .dtype = LIANA_S64};
    liana_dataset *dataset = liana_dataset_shuffle(input, &(liana_shuffle_options){.seed = SEED});
    dataset = liana_dataset_parse_example(dataset, &label, 1);
    assert_non_null(dataset);
    assert_int_equal(liana_dataset_info(dataset).num_examples, count);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        liana__error error = {0};
        liana__block_order *order;
        int64_t found[FILES * RECORDS * 2];
        assert_ok(liana__block_order_create(starts, num_blocks, (uint64_t)count, SEED, &order, &error), &error);
        for (int threads = -1; threads < 4; threads += 2) {
            uint64_t start = threads < 0 ? 0 : (uint64_t)(threads * count / 5);
            iterate(dataset, epoch, start, threads, found, count);
            for (int i = (int)start; i < count; i++) {
                assert_compare(found[i], ==, expected[liana__block_order_record(order, epoch, (uint64_t)i)], epoch, i);
            }
        }
        liana__block_order_destroy(order);
    }
    liana_dataset_close(dataset);
}

/* Compressed files are small here: each is one block. */
static void test_datasets_are_shuffled_by_blocks(void **state)
{
    (void)state;
    enum { COUNT = FILES * RECORDS };
    liana__test_folder();
    for (int i = 0; i < FILES; i++) write_file(i, i != 4);
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    liana_dataset *all = liana_dataset_tfrecord(context, liana__test_path("*.tfrec*"));
    int64_t numbers[2 * COUNT];
    uint64_t starts[2 * FILES];
    for (int i = 0; i < 2 * COUNT; i++) numbers[i] = i % COUNT;
    for (uint64_t i = 0; i < 2 * FILES; i++) starts[i] = i * RECORDS;
    check_shuffle(liana_dataset_retain(all), starts, FILES, numbers, COUNT);
    /* take ends in the middle of a block, skip begins there. */
    check_shuffle(liana_dataset_take(liana_dataset_retain(all), 50), starts, FILES, numbers, 50);
    const uint64_t skipped[] = {0, 4, 13, 22, 31, 40, 49, 58, 67, 76};
    check_shuffle(liana_dataset_skip(liana_dataset_retain(all), 14), skipped, 10, numbers + 14, COUNT - 14);
    /* Every fourth: records 1, 5, 9, ...; block b begins with the first of these from 9 b on. */
    const uint64_t sharded[] = {0, 2, 5, 7, 9, 11, 14, 16, 18, 20, 23};
    int64_t fourth[25];
    for (int i = 0; i < 25; i++) fourth[i] = 4 * i + 1;
    check_shuffle(liana_dataset_shard(liana_dataset_retain(all), 4, 1), sharded, 11, fourth, 25);
    liana_dataset *both[2] = {liana_dataset_retain(all), liana_dataset_retain(all)};
    check_shuffle(liana_dataset_concatenate(both, 2), starts, 2 * FILES, numbers, 2 * COUNT);
    check_shuffle(liana_dataset_cache(all, NULL), starts, FILES, numbers, COUNT);
    /* Records after plain ones, which count as one block up to 256. */
    liana_dataset *mixed[2] = {liana_dataset_tfrecord(context, liana__test_path("04.tfrec")),
                               liana_dataset_tfrecord(context, liana__test_path("0[0-3].tfrec.gz"))};
    for (int i = 0; i < RECORDS; i++) numbers[i] = 4 * RECORDS + i;
    for (int i = 0; i < 4 * RECORDS; i++) numbers[RECORDS + i] = i;
    check_shuffle(liana_dataset_concatenate(mixed, 2), starts, 5, numbers, 5 * RECORDS);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_pass_is_a_permutation_in_windows),
        cmocka_unit_test(test_records_land_everywhere),
        cmocka_unit_test(test_datasets_are_shuffled_by_blocks),
        cmocka_unit_test(test_compressed_files_load_alike_on_any_threads_and_after_a_resume),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
