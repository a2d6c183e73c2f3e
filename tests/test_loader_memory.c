/* The pipeline's own memory does not grow with the data: a million records within a few megabytes. */
#include "harness/harness.h"

#include "data/loader.h"

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

/* Pages in memory, in bytes. */
static size_t resident(void)
{
    unsigned long all = 0, own = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu %lu", &all, &own) != 2) own = 0;
    if (file) fclose(file);
    return own * (size_t)sysconf(_SC_PAGE_SIZE);
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
    /* Two threads' stacks and what malloc keeps are not the pipeline's. */
    size_t grown = most > before ? most - before : 0, allowed = MEMORY + (2 << 20);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    allowed += (size_t)64 << 20; /* their shadows */
#endif
    if (grown > allowed) fail_msg("%zu bytes more are in use, expected at most %zu", grown, allowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_million_records)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
