/* Measures each stage of a run's input. */
#include "train/run/measure.h"

#include "base/crc32c.h"
#include "base/recorder.h"
#include "train/run/run_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The ring of batches that images are copied into. */
enum { RING_IMAGES = 64 };

/* The tools that the stages are measured with. */
typedef struct tools {
    const liana__run *run;
    const liana__augment *augment; /* NULL: none */
    liana__decode_options decoded; /* the shape of images before augmentation */
    size_t decoded_size;
    size_t image_size; /* of a batch */
    void *scratch;
    void *augment_scratch;
    liana__decoder decoder;
    bool in_parts; /* only the parts that the augmentation reads are decoded, as without a cache */
    uint8_t *resized;
    uint8_t *ring;
} tools;

static size_t bytes_of(int64_t height, int64_t width, int64_t channels)
{
    return (size_t)height * (size_t)width * (size_t)channels;
}

static liana_status make_tools(const liana__run *run, tools *own, liana__error *error)
{
    const int64_t *shape = run->image_shape;
    *own = (tools){.run = run, .augment = run->training.augment};
    own->decoded = (liana__decode_options){.height = shape[0],
                                           .width = shape[1],
                                           .channels = (int)shape[2],
                                           .antialias = run->config->data.resize.antialias,
                                           .fast = run->config->data.decode == LIANA__DECODE_FAST};
    if (own->augment) {
        liana_image_shape first = liana__augment_input(own->augment);
        own->in_parts = run->config->data.cache == LIANA__CACHE_NONE;
        own->decoded.height = first.height;
        own->decoded.width = first.width;
        own->augment_scratch = liana__allocate_aligned(liana__augment_scratch_size(own->augment));
    }
    own->decoded_size = bytes_of(own->decoded.height, own->decoded.width, own->decoded.channels);
    own->image_size = bytes_of(shape[0], shape[1], shape[2]);
    own->resized = liana__allocate_aligned(own->decoded_size);
    own->ring = liana__allocate_large(RING_IMAGES * own->image_size);
    own->scratch = liana__source_scratch_create(run->training.source);
    bool enough = own->resized && own->ring && own->scratch && (!own->augment || own->augment_scratch);
    return enough ? LIANA_OK : liana__fail_memory(error, "measuring the input");
}

static void free_tools(tools *own)
{
    liana__source_scratch_destroy(own->run->training.source, own->scratch);
    liana__decoder_free(&own->decoder);
    free(own->augment_scratch);
    free(own->resized);
    free(own->ring);
}

/* ---- stages ---- */

static liana__data_bench_stage *stage(liana__data_bench *bench, const char *name)
{
    for (size_t i = 0; i < bench->num_stages; i++) {
        if (strcmp(bench->stages[i].name, name) == 0) return &bench->stages[i];
    }
    bench->stages[bench->num_stages] = (liana__data_bench_stage){.name = name};
    return &bench->stages[bench->num_stages++];
}

/* Reads the record; its checksum, where the format has one, is a stage of its own. */
static liana_status measure_reading(tools *own, uint64_t index, liana_source_record *record, liana__data_bench *bench,
                                    liana__error *error)
{
    const liana__source *source = own->run->training.source;
    double begin = liana__clock_seconds();
    LIANA_TRY(liana__source_read(source, index, own->scratch, record, error));
    double seconds = liana__clock_seconds() - begin, sum = 0;
    if (record->bytes && strcmp(source->kind->part.name, "tfrecord") == 0) {
        volatile uint32_t checksum;
        begin = liana__clock_seconds();
        checksum = liana__crc32c(record->bytes, record->size);
        sum = liana__clock_seconds() - begin;
        (void)checksum;
        stage(bench, "checksum")->seconds += sum;
    }
    stage(bench, "read")->seconds += fmax(0, seconds - sum);
    return LIANA_OK;
}

static liana_example_address address_of(const tools *own, uint64_t index)
{
    return (liana_example_address){(uint64_t)own->run->config->job.seed, 0, index, index};
}

static liana_status measure_decoding(tools *own, uint64_t index, const liana_source_record *record,
                                     liana__data_bench *bench, liana__error *error)
{
    const liana__decode_options *options = &own->decoded;
    liana_example_address address = address_of(own, index);
    liana__image_region part, *wanted = NULL;
    double begin = liana__clock_seconds();
    if (own->in_parts) {
        liana__augment_find_region(own->augment, &address, &part);
        if (part.height != options->height || part.width != options->width) wanted = &part;
    }
    if (liana__decode_pixels(&own->decoder, options, record, wanted, own->resized, error) != LIANA_OK) {
        return liana__source_fail_within(own->run->training.source, index, record, error);
    }
    double decoded = liana__clock_seconds();
    LIANA_TRY(liana__decode_resize(&own->decoder, wanted, own->resized, error));
    stage(bench, "decode")->seconds += decoded - begin;
    stage(bench, "resize")->seconds += liana__clock_seconds() - decoded;
    return LIANA_OK;
}

/* The time that each stage adds: the time of a list that ends with it, minus that of the list before. */
static liana_status measure_augmentation(tools *own, uint64_t index, liana__data_bench *bench, liana__error *error)
{
    size_t count = own->augment ? liana__augment_num_stages(own->augment) : 0;
    liana_example_address address = address_of(own, index);
    double before = 0;
    for (size_t i = 0; i < count; i++) {
        double begin = liana__clock_seconds();
        LIANA_TRY(liana__augment_try(own->augment, i + 1, &address, own->resized, own->augment_scratch, error));
        double seconds = liana__clock_seconds() - begin;
        bench->stages[bench->num_stages - count + i].seconds += seconds - before;
        before = seconds;
    }
    return LIANA_OK;
}

static liana_status measure_image(tools *own, uint64_t index, liana__data_bench *bench, liana__error *error)
{
    liana_source_record record;
    LIANA_TRY(measure_reading(own, index, &record, bench, error));
    LIANA_TRY(measure_decoding(own, index, &record, bench, error));
    LIANA_TRY(measure_augmentation(own, index, bench, error));
    bench->images++;
    return LIANA_OK;
}

/* The rows in the order of the work; those of augmentation come last, where their stages are found by number. */
static void list_stages(const tools *own, liana__data_bench *bench)
{
    static const char *const names[] = {"read", "checksum", "decode", "resize"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) stage(bench, names[i]);
    for (size_t i = 0; own->augment && i < liana__augment_num_stages(own->augment); i++) {
        bench->stages[bench->num_stages++] = (liana__data_bench_stage){liana__augment_stage_name(own->augment, i), 0};
    }
}

/* Images are where the stages left them; they are copied to the batch if they are not there yet. */
static void measure_batch(tools *own, liana__data_bench *bench)
{
    double begin = liana__clock_seconds();
    for (size_t i = 0; i < RING_IMAGES; i++) {
        memcpy(own->ring + i * own->image_size, own->resized,
               own->image_size < own->decoded_size ? own->image_size : own->decoded_size);
    }
    begin = liana__clock_seconds() - begin;
    stage(bench, "batch")->seconds = begin / RING_IMAGES;
}

static liana_status measure_stages(tools *own, double seconds, liana__data_bench *bench, liana__error *error)
{
    uint64_t count = own->run->training.source->num_records;
    list_stages(own, bench);
    double begin = liana__clock_seconds();
    memset(own->resized, 0, own->decoded_size);
    memset(own->ring, 0, RING_IMAGES * own->image_size);
    /* The first image pays for memory and tables. */
    liana__data_bench ignored = *bench;
    LIANA_TRY(measure_image(own, 0, &ignored, error));
    while (bench->images == 0 || liana__clock_seconds() - begin < seconds) {
        LIANA_TRY(measure_image(own, (uint64_t)bench->images % count, bench, error));
    }
    for (size_t i = 0; i < bench->num_stages; i++) {
        bench->stages[i].seconds = fmax(0, bench->stages[i].seconds) / (double)bench->images;
    }
    measure_batch(own, bench);
    for (size_t i = 0; i < bench->num_stages; i++) bench->seconds += bench->stages[i].seconds;
    return LIANA_OK;
}

/* ---- the whole pipeline ---- */

/* Takes batches until the epoch or the time is over; *whole: the epoch was. */
static liana_status take_epoch(liana__loader *loader, uint64_t epoch, double seconds, double *rate, bool *whole,
                               liana__error *error)
{
    uint64_t steps = liana__loader_steps_per_epoch(loader, epoch), step = 0;
    int64_t images = 0;
    double begin = liana__clock_seconds();
    for (; step < steps && (step == 0 || liana__clock_seconds() - begin < seconds); step++) {
        liana__batch *batch;
        LIANA_TRY(liana__loader_next(loader, &batch, error));
        images += batch->count;
        liana__loader_release(loader, batch);
    }
    *rate = (double)images / (liana__clock_seconds() - begin);
    *whole = step == steps;
    return LIANA_OK;
}

static liana_status measure_pipeline(liana__run *run, double seconds, liana__data_bench *bench, liana__error *error)
{
    liana__job_options *train = &run->config->job;
    if (!train->microbatch) train->microbatch = liana__default_microbatch(run->model, train->batch_size);
    double begin = liana__clock_seconds();
    LIANA_TRY(liana__run_start_loaders(run, &(liana__run_options){.training = true}, error));
    liana__loader *loader = run->training.loader;
    liana__batch *batch;
    LIANA_TRY(liana__loader_begin(loader, 0, 0, error));
    LIANA_TRY(liana__loader_next(loader, &batch, error));
    bench->start_seconds = liana__clock_seconds() - begin;
    liana__loader_release(loader, batch);
    bench->num_threads = liana__loader_num_threads(loader);
    bool whole, cached = liana__image_cache_count(liana__loader_cache(loader)) > 0;
    LIANA_TRY(liana__loader_begin(loader, 0, 0, error));
    LIANA_TRY(take_epoch(loader, 0, seconds, &bench->first_rate, &whole, error));
    if (!whole || !cached) return LIANA_OK;
    return take_epoch(loader, 1, seconds, &bench->cached_rate, &whole, error);
}

liana_status liana__data_bench_run(liana__run *run, double seconds, liana__data_bench *bench, liana__error *error)
{
    tools own;
    *bench = (liana__data_bench){0};
    liana_status status = make_tools(run, &own, error);
    if (status == LIANA_OK) status = measure_stages(&own, seconds, bench, error);
    free_tools(&own);
    return status == LIANA_OK ? measure_pipeline(run, seconds, bench, error) : status;
}

const liana__data_bench_stage *liana__data_bench_slowest(const liana__data_bench *bench)
{
    const liana__data_bench_stage *slowest = &bench->stages[0];
    for (size_t i = 1; i < bench->num_stages; i++) {
        if (bench->stages[i].seconds > slowest->seconds) slowest = &bench->stages[i];
    }
    return slowest;
}
