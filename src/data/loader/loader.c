/* The threads of a loader and the ring of batches that they fill. */
#include "data/loader/loader.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/denormals.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/scoped.h"
#include "base/thread_start.h"
#include "data/augment/augment.h"
#include "data/loader/block_order.h"
#include "data/loader/example_maker.h"
#include "data/loader/row_message.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MAX_CHUNK = 32, MAX_CHUNK_OF_VALUES = 256, BATCHES_BETWEEN_LOOKS = 16 };
#define DEFAULT_MEMORY ((size_t)1 << 30)

typedef struct reader {
    pthread_t thread;
    liana__loader *loader;
    liana__example_maker maker;
    void *mix_scratch;
} reader;

/* The place of an epoch in the endless stream. */
typedef struct epoch_span {
    uint64_t start;  /* its first position */
    uint64_t length; /* positions to the next epoch */
    uint64_t steps;
} epoch_span;

/* A batch on its way through the epochs. */
typedef struct cursor {
    uint64_t number; /* since begin: batch n is in slot n % num_slots */
    uint64_t epoch;
    uint64_t step;
    epoch_span span;
} cursor;

/* With a sampler: the pass whose records are laid out. */
typedef struct pass_table {
    uint64_t pass;
    uint64_t start; /* its first position */
    uint64_t length;
    uint32_t *records; /* NULL: no sampler */
} pass_table;

struct liana__loader {
    const liana__source *source;
    liana__loader_options options;
    liana__input_workers workers; /* of the options, if they were set anew */
    liana__example_plan plan;
    liana__memory_pool pool;
    bool mixes;            /* the augmentation has mixing stages */
    uint64_t fixed_length; /* of an epoch; 0: the sampler decides */
    size_t num_slots;
    liana__ring_slot *slots;
    int num_readers; /* started */
    reader *readers;
    int64_t chunk;           /* examples that a thread claims at once */
    atomic_long blocks_read; /* by the process from disks, when it was last looked at */
    atomic_bool reads_disks; /* it did so since the time before that */
    atomic_bool cancelled;   /* chunks in progress end early; their results are thrown away */

    pthread_mutex_t mutex;
    pthread_cond_t work;  /* a slot became free, or begin, or stop */
    pthread_cond_t ready; /* a batch is complete */
    pthread_cond_t idle;  /* no thread is working on a chunk */
    /* Guarded by the mutex. */
    bool begun;
    uint64_t first_epoch; /* that `begin` went to; not changed while a thread is at work */
    bool paused;
    bool stopping;
    bool failed;               /* no new batch is begun; all before the failing one are being filled */
    int num_busy;              /* threads working on a chunk */
    cursor fill;               /* the batch whose examples are handed out */
    int64_t fill_next;         /* its first example not handed out */
    cursor next;               /* the batch that `next` waits for */
    pass_table table;          /* of the batch whose examples are handed out */
    liana__block_order *order; /* NULL: records are permuted one by one, or not at all */
    liana__recorder *recorder;
};

/* ---- one example ---- */

/* The record of a position, without a sampler and without blocks. */
static uint64_t plain_record(const liana__loader *loader, uint64_t position)
{
    uint64_t num_records = loader->source->num_records, index = position % num_records;
    if (!loader->options.shuffle) return index;
    return liana__permute(loader->options.seed, position / num_records, index, num_records);
}

/* Whether the records of a batch are listed when it is begun; otherwise the maker of an example finds its record. */
static bool lays_out(const liana__loader *loader)
{
    return loader->table.records || loader->order;
}

/* Whether an example is made in less time than a thread is woken in: numbers only. */
static bool is_quick(const liana__loader *loader)
{
    return loader->plan.rows.image < 0;
}

static long blocks_read(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_inblock : 0;
}

/* Asks the system to fetch all records of a batch at once, before its examples are read one by one. Left out when this
 * no longer causes any reading, since everything is in memory. */
static void expect_batch(liana__loader *loader, const liana__batch *batch)
{
    if (batch->step % BATCHES_BETWEEN_LOOKS == 0) {
        long now = blocks_read();
        atomic_store(&loader->reads_disks, atomic_exchange(&loader->blocks_read, now) != now);
    }
    if (batch->epoch > loader->first_epoch && !atomic_load(&loader->reads_disks)) return;
    for (int64_t i = 0; i < batch->count; i++) {
        uint64_t record = lays_out(loader) ? batch->records[i] : plain_record(loader, batch->positions[i]);
        if (!liana__image_cache_expect(loader->plan.cache, record)) liana__source_expect(loader->source, record);
    }
}

static liana_status make_example(reader *self, liana__ring_slot *slot, int64_t i, liana__error *error)
{
    liana__loader *loader = self->loader;
    uint64_t position = slot->batch.positions[i], pass = slot->batch.epoch;
    if (!loader->table.records) pass = position / loader->source->num_records;
    if (!lays_out(loader)) slot->batch.records[i] = plain_record(loader, position);
    bool bad;
    LIANA_TRY(liana__example_make(&self->maker, slot, i, pass, &bad, error));
    if (!bad) return LIANA_OK;
    pthread_mutex_lock(&loader->mutex);
    bool enough = liana__gaps_add(&slot->gaps, i, slot->batch.records[i], &self->maker.record, error->message);
    pthread_mutex_unlock(&loader->mutex);
    return enough ? LIANA_OK : liana__fail_memory(error, "the list of bad records");
}

/* ---- the threads ---- */

static epoch_span span_at(const liana__loader *loader, uint64_t epoch, uint64_t start)
{
    uint64_t size = (uint64_t)loader->options.batch_size, length = loader->fixed_length;
    bool drops = loader->options.remainder == LIANA__REMAINDER_DROP;
    if (!length) length = liana__sampler_length(loader->options.sampler, epoch);
    return (epoch_span){start, length, drops ? length / size : (length + size - 1) / size};
}

static epoch_span find_span(const liana__loader *loader, uint64_t epoch)
{
    if (loader->fixed_length) return span_at(loader, epoch, epoch * loader->fixed_length);
    uint64_t start = 0;
    for (uint64_t i = 0; i < epoch; i++) start += liana__sampler_length(loader->options.sampler, i);
    return span_at(loader, epoch, start);
}

static void advance(const liana__loader *loader, cursor *at)
{
    at->number++;
    if (++at->step < at->span.steps) return;
    at->step = 0;
    at->epoch++;
    at->span = span_at(loader, at->epoch, at->span.start + at->span.length);
}

static bool past_the_end(const liana__loader *loader, const cursor *at)
{
    uint64_t num_epochs = (uint64_t)loader->options.num_epochs;
    return num_epochs > 0 && at->epoch >= num_epochs;
}

static liana__ring_slot *slot_of(const liana__loader *loader, const cursor *at)
{
    return &loader->slots[at->number % loader->num_slots];
}

/* The record of a position, by the table of its pass; positions come in ascending order. */
static uint64_t sampled_record(liana__loader *loader, uint64_t position)
{
    const liana__sampler *sampler = loader->options.sampler;
    pass_table *table = &loader->table;
    bool moved = table->length == 0;
    if (moved) table->length = liana__sampler_length(sampler, table->pass);
    while (position - table->start >= table->length) {
        table->start += table->length;
        table->length = liana__sampler_length(sampler, ++table->pass);
        moved = true;
    }
    if (moved) liana__sampler_fill(sampler, table->pass, table->records);
    uint64_t index = position - table->start;
    if (loader->options.shuffle) index = liana__permute(loader->options.seed, table->pass, index, table->length);
    return table->records[index];
}

/* Whether there are examples to hand out: the rest of a batch, or a new one with a place in the ring. */
static bool can_claim(const liana__loader *loader)
{
    if (loader->paused) return false;
    if (loader->fill_next > 0) return true;
    return !loader->failed && !past_the_end(loader, &loader->fill) &&
           slot_of(loader, &loader->fill)->state == LIANA__SLOT_FREE;
}

static void begin_batch(liana__loader *loader, liana__ring_slot *slot)
{
    const cursor *at = &loader->fill;
    const liana__input_workers *workers = loader->options.workers;
    liana__batch *batch = &slot->batch;
    uint64_t size = (uint64_t)loader->options.batch_size, left = at->span.length - at->step * size;
    slot->state = LIANA__SLOT_FILLING;
    batch->epoch = at->epoch;
    batch->step = at->step;
    batch->num_positions = (int64_t)(left < size ? left : size);
    batch->first_position = at->span.start + at->step * size;
    int64_t begin = 0, end = batch->num_positions;
    if (workers) liana__step_workers_divide(&slot->workers, workers, batch->step, batch->num_positions, &begin, &end);
    batch->workers = workers ? &slot->workers : NULL;
    batch->count = slot->planned = slot->remaining = slot->first_failure = end - begin;
    slot->finished = slot->failed = false;
    liana__gaps_clear(&slot->gaps);
    for (int64_t i = 0; i < batch->count; i++) {
        batch->positions[i] = batch->first_position + (uint64_t)(begin + i);
        uint64_t position = batch->positions[i], num_records = loader->source->num_records;
        if (loader->table.records) batch->records[i] = sampled_record(loader, position);
        if (loader->order) {
            batch->records[i] =
                liana__block_order_record(loader->order, position / num_records, position % num_records);
        }
    }
}

/* Takes the next examples [*begin, *end) of the batch being handed out. Called with the mutex held. */
static liana__ring_slot *claim(liana__loader *loader, int64_t *begin, int64_t *end)
{
    liana__ring_slot *slot = slot_of(loader, &loader->fill);
    if (loader->fill_next == 0) begin_batch(loader, slot);
    *begin = loader->fill_next;
    *end = *begin + loader->chunk < slot->planned ? *begin + loader->chunk : slot->planned;
    loader->fill_next = *end;
    if (*end == slot->planned) {
        loader->fill_next = 0;
        advance(loader, &loader->fill);
    }
    return slot;
}

static void *thread_main(void *argument)
{
    reader *self = argument;
    liana__loader *loader = self->loader;
    liana__error error;
    liana__denormals_keep(); /* independent of the thread that started this one */
    pthread_mutex_lock(&loader->mutex);
    for (;;) {
        while (!loader->stopping && !can_claim(loader)) {
            liana__example_maker_rest(&self->maker);
            pthread_cond_wait(&loader->work, &loader->mutex);
        }
        if (loader->stopping) break;
        int64_t begin, end;
        liana__ring_slot *slot = claim(loader, &begin, &end);
        loader->num_busy++;
        liana__recorder *recorder = loader->recorder;
        pthread_mutex_unlock(&loader->mutex);
        liana__event event = {.kind = LIANA__EVENT_READ, .begin = recorder ? liana__clock() : 0};
        if (begin == 0) expect_batch(loader, &slot->batch);
        int64_t i = begin;
        liana_status status = LIANA_OK;
        while (i < end && status == LIANA_OK && !atomic_load_explicit(&loader->cancelled, memory_order_relaxed)) {
            status = make_example(self, slot, i, &error);
            if (status == LIANA_OK) i++;
        }
        event.number = (uint32_t)(i - begin);
        if (recorder) liana__recorder_add(recorder, (size_t)(self - loader->readers), event);
        pthread_mutex_lock(&loader->mutex);
        if (status != LIANA_OK && i < slot->first_failure) {
            slot->first_failure = i;
            slot->error = error;
            loader->failed = true;
        }
        slot->remaining -= end - begin;
        bool whole = slot->remaining == 0 && slot->first_failure == slot->planned && !loader->cancelled;
        if (whole && (loader->mixes || slot->gaps.count)) {
            /* The last example of the batch, which no other thread uses until it is ready. */
            pthread_mutex_unlock(&loader->mutex);
            liana__ring_slot_close_gaps(slot, &loader->plan.rows);
            if (loader->mixes) {
                liana__augment_mix(loader->options.augment, loader->options.microbatch, &slot->batch,
                                   loader->options.seed, self->mix_scratch);
            }
            pthread_mutex_lock(&loader->mutex);
        }
        if (slot->remaining == 0) {
            slot->state = LIANA__SLOT_READY;
            pthread_cond_broadcast(&loader->ready);
        }
        if (--loader->num_busy == 0) pthread_cond_broadcast(&loader->idle);
    }
    /* Another one may still wait for memory. */
    liana__example_maker_rest(&self->maker);
    pthread_mutex_unlock(&loader->mutex);
    return NULL;
}

static liana_status start_threads(liana__loader *loader, liana__error *error)
{
    liana_status status = LIANA_OK;
    for (int i = 0; status == LIANA_OK && i < loader->options.num_threads; i++) {
        int code = liana__thread_start(&loader->readers[i].thread, thread_main, &loader->readers[i]);
        if (code == 0) {
            loader->num_readers++;
        } else {
            status = liana__fail(error, LIANA_IO_ERROR, "cannot start a reading thread: %s", strerror(code));
        }
    }
    return status;
}

/* ---- making and ending ---- */

static liana_status check_image(const liana__decode_options *image, liana__error *error)
{
    int64_t pixels;
    if (image->height < 1 || image->width < 1 || (image->channels != 1 && image->channels != 3) ||
        __builtin_mul_overflow(image->height, image->width, &pixels) || pixels > LIANA__IMAGE_MAX_PIXELS) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "images cannot be made %" PRId64 " x %" PRId64 " x %d: sizes must be at least 1, at most "
                           "%" PRId64 " pixels together, channels 1 or 3",
                           image->height, image->width, image->channels, LIANA__IMAGE_MAX_PIXELS);
    }
    return LIANA_OK;
}

/* Whether batches have the image and the label that augmentation and mixing are about. */
static bool mixes(const liana__loader_options *options)
{
    return options->augment && liana__augment_mixes(options->augment);
}

static liana_status check_rows(const liana__batch_rows *rows, const liana__loader_options *options, liana__error *error)
{
    if (rows->image >= 0) LIANA_TRY(check_image(&options->image, error));
    if (options->augment && rows->image < 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'augmentation' augments images, but the batches have no image; leave the augmentation out");
    }
    bool has_target = rows->label >= 0;
    for (size_t i = 0; i < rows->count; i++) has_target = has_target || rows->components[i].partners;
    if (!mixes(options) || (rows->image >= 0 && has_target)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "images are mixed with their targets, but the batches have no %s; leave mixing out",
                       rows->image < 0 ? "image" : "target");
}

static liana_status check_options(const liana__source *source, const liana__loader_options *options,
                                  liana__error *error)
{
    if (options->batch_size < 1 || options->batch_size > INT32_MAX || options->steps_per_epoch < 0 ||
        options->steps_per_epoch > INT32_MAX || options->num_epochs < 0 || options->num_threads < 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "batch_size %" PRId64 ", steps_per_epoch %" PRId64 ", num_epochs %" PRId64 " or num_threads "
                           "%d is out of range",
                           options->batch_size, options->steps_per_epoch, options->num_epochs, options->num_threads);
    }
    if (source->num_records == 0) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the data have no records");
    const liana__input_workers *workers = options->workers;
    if (workers && source->streams && !workers->scatter) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "these processes cannot share a stream");
    }
    if (workers && (workers->self >= workers->count || workers->microbatch < 1)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "process %zu of %zu, with shards of %" PRId64 " examples, cannot share steps", workers->self,
                           workers->count, workers->microbatch);
    }
    return LIANA_OK;
}

static liana_status set_epoch(liana__loader *loader, liana__error *error)
{
    const liana__loader_options *options = &loader->options;
    uint64_t size = (uint64_t)options->batch_size, count = loader->source->num_records, left = count % size;
    const liana__sampler *sampler = options->sampler;
    if (sampler) {
        loader->table.records = malloc((size_t)liana__sampler_max_length(sampler) * sizeof *loader->table.records);
        if (!loader->table.records) return liana__fail_memory(error, "the records of an epoch");
    }
    if (options->steps_per_epoch) {
        loader->fixed_length = (uint64_t)options->steps_per_epoch * size;
        return LIANA_OK;
    }
    if (sampler && liana__sampler_varies(sampler) && options->remainder == LIANA__REMAINDER_REFUSE) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "with oversampling, each epoch has another length, which may not be a multiple of %" PRIu64
                           "; keep or drop the remainder, or set steps_per_epoch",
                           size);
    }
    if (left && !sampler && options->remainder == LIANA__REMAINDER_REFUSE) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%" PRIu64 " examples do not divide into batches of %" PRIu64 ": %" PRIu64 " are left; keep "
                           "or drop the remainder, or set steps_per_epoch",
                           count, size, left);
    }
    bool drops = options->remainder == LIANA__REMAINDER_DROP;
    if (drops && count < size) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%" PRIu64 " examples do not fill a batch of %" PRIu64 ", and the remainder is dropped",
                           count, size);
    }
    if (!sampler) loader->fixed_length = drops ? count - left : count;
    return LIANA_OK;
}

/* The memory of the reading threads and of the data's order, without batches and decoders. */
static size_t working_memory(const liana__loader *loader)
{
    const liana__loader_options *options = &loader->options;
    size_t each = options->augment ? loader->plan.decoded_size + liana__augment_scratch_size(options->augment) : 0,
           order = 0;
    if (loader->plan.rows.values_size && !options->augment) each += loader->plan.decoded_size;
    each += 2 * loader->plan.rows.values_size;
    if (options->augment && options->image.fractions) each += loader->plan.image_size / sizeof(float);
    if (loader->mixes) each += liana__augment_mix_scratch_size(options->augment, options->microbatch);
    if (options->sampler) {
        order = (size_t)liana__sampler_max_length(options->sampler) * sizeof *loader->table.records;
    }
    if (options->cache_file) order += loader->source->num_records; /* a byte for the state of each */
    return each * (size_t)options->num_threads + order;
}

static liana_status make_slots(liana__loader *loader, liana__error *error)
{
    const liana__loader_options *options = &loader->options;
    liana__ring_room room = {.memory = options->memory ? options->memory : DEFAULT_MEMORY,
                             .example = loader->plan.rows.example_size,
                             .batch_size = (size_t)options->batch_size,
                             .num_threads = (size_t)options->num_threads,
                             .source = loader->source->memory,
                             .working = working_memory(loader),
                             .streams = loader->source->streams};
    liana__ring_split split;
    LIANA_TRY(liana__ring_divide(&room, &split, error));
    loader->num_slots = split.num_batches;
    loader->plan.share = split.share;
    loader->pool.most = split.pool;
    if (loader->source->kind->take_memory)
        loader->source->kind->take_memory(liana__source_handle(loader->source), split.elements);
    loader->slots = calloc(loader->num_slots, sizeof *loader->slots);
    if (!loader->slots) return liana__fail_memory(error, "batches");
    for (size_t i = 0; i < loader->num_slots; i++) {
        LIANA_TRY(liana__ring_slot_make(&loader->slots[i], room.batch_size, &loader->plan.rows, loader->mixes, error));
        if (!options->workers) continue;
        LIANA_TRY(liana__step_workers_make(&loader->slots[i].workers, options->workers, options->batch_size,
                                           loader->source->streams, error));
    }
    return LIANA_OK;
}

static liana_status open_cache_file(liana__loader *loader, liana__error *error)
{
    liana__image_cache_file_options file = *loader->options.cache_file;
    const liana__batch_rows *rows = &loader->plan.rows;
    LIANA__SCOPED(liana__text) settings = {0};
    liana__batch_rows_describe(rows, loader->options.label_offset, &settings);
    file.image = &loader->plan.decoded;
    file.values_size = rows->values_size;
    file.values_settings = settings.data;
    if (settings.failed) return liana__fail_memory(error, "the cache of decoded images");
    return liana__image_cache_open(loader->source, &file, &loader->plan.cache, error);
}

static liana_status make_cache(liana__loader *loader, liana__error *error)
{
    const liana__loader_options *options = &loader->options;
    const liana__batch_rows *rows = &loader->plan.rows;
    if (loader->source->varies || rows->image < 0) return LIANA_OK;
    if (options->cache) {
        loader->plan.cache = options->cache;
        return LIANA_OK;
    }
    if (options->cache_file) return open_cache_file(loader, error);
    size_t size = loader->plan.decoded_size + rows->values_size;
    uint64_t count = loader->options.cache_memory / size;
    if (count > loader->source->num_records) count = loader->source->num_records;
    if (count == 0) return LIANA_OK;
    return liana__image_cache_create(count, size, &loader->plan.cache, error);
}

static liana_status make_readers(liana__loader *loader, liana__error *error)
{
    const liana__loader_options *options = &loader->options;
    int count = loader->options.num_threads;
    loader->readers = calloc((size_t)count, sizeof *loader->readers);
    if (!loader->readers) return liana__fail_memory(error, "reading threads");
    for (int i = 0; i < count; i++) {
        reader *self = &loader->readers[i];
        self->loader = loader;
        LIANA_TRY(liana__example_maker_init(&self->maker, &loader->plan, error));
        if (!loader->mixes) continue;
        self->mix_scratch =
            liana__allocate_aligned(liana__augment_mix_scratch_size(options->augment, options->microbatch));
        if (!self->mix_scratch) return liana__fail_memory(error, "mixing images");
    }
    /* Several chunks of a batch for each thread, so that threads finish it together; but not so small that threads
     * queue for the next chunk when an example is only a copy. */
    int64_t chunk = loader->options.batch_size / (4 * count);
    loader->chunk = chunk < 1 ? 1 : chunk > MAX_CHUNK ? MAX_CHUNK : chunk;
    if (is_quick(loader)) loader->chunk = MAX_CHUNK_OF_VALUES;
    return start_threads(loader, error);
}

static void make_plan(liana__loader *loader)
{
    const liana__loader_options *options = &loader->options;
    liana__example_plan *plan = &loader->plan;
    plan->source = loader->source;
    plan->options = options;
    plan->pool = &loader->pool;
    if (plan->rows.image < 0) return;
    plan->decoded = options->image;
    if (options->augment) {
        liana_image_shape first = liana__augment_input(options->augment);
        plan->decoded.height = first.height;
        plan->decoded.width = first.width;
        plan->decoded.fractions = false; /* stages work on bytes */
    }
    plan->image_size = liana__decoded_bytes(&options->image);
    plan->decoded_size = liana__decoded_bytes(&plan->decoded);
}

liana_status liana__loader_create(const liana__source *source, const liana__loader_options *options,
                                  liana__loader **out, liana__error *error)
{
    *out = NULL;
    liana__batch_rows rows;
    LIANA_TRY(check_options(source, options, error));
    LIANA_TRY(liana__batch_rows_find(source, options, &rows, error));
    LIANA_TRY(check_rows(&rows, options, error));
    liana__loader *loader = calloc(1, sizeof *loader);
    if (!loader) return liana__fail_memory(error, "the input pipeline");
    loader->source = source;
    loader->options = *options;
    loader->options.components = NULL; /* the plan has a copy */
    loader->mixes = mixes(options);
    if (!loader->options.num_threads) loader->options.num_threads = liana__cpu_count();
    loader->plan.rows = rows;
    make_plan(loader);
    liana__memory_pool_init(&loader->pool, 0);
    loader->paused = true;
    pthread_mutex_init(&loader->mutex, NULL);
    pthread_cond_init(&loader->work, NULL);
    pthread_cond_init(&loader->ready, NULL);
    pthread_cond_init(&loader->idle, NULL);
    liana_status status = set_epoch(loader, error);
    if (status == LIANA_OK && options->shuffle && source->block_starts && !options->sampler) {
        status = liana__block_order_create(source->block_starts, source->num_blocks, source->num_records, options->seed,
                                           &loader->order, error);
    }
    if (status == LIANA_OK) status = make_slots(loader, error);
    if (status == LIANA_OK) status = make_cache(loader, error);
    loader->options.cache_file = NULL;
    if (status == LIANA_OK) status = make_readers(loader, error);
    if (status == LIANA_OK) *out = loader;
    if (status != LIANA_OK) liana__loader_destroy(loader);
    return status;
}

void liana__loader_destroy(liana__loader *loader)
{
    if (!loader) return;
    atomic_store(&loader->cancelled, true);
    pthread_mutex_lock(&loader->mutex);
    loader->stopping = true;
    pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->mutex);
    for (int i = 0; i < loader->num_readers; i++) pthread_join(loader->readers[i].thread, NULL);
    for (int i = 0; loader->readers && i < loader->options.num_threads; i++) {
        liana__example_maker_free(&loader->readers[i].maker);
        free(loader->readers[i].mix_scratch);
    }
    liana__memory_pool_destroy(&loader->pool);
    for (size_t i = 0; loader->slots && i < loader->num_slots; i++) {
        liana__ring_slot_free(&loader->slots[i], loader->options.batch_size);
    }
    if (!loader->options.cache) liana__image_cache_destroy(loader->plan.cache);
    liana__block_order_destroy(loader->order);
    free(loader->table.records);
    free(loader->readers);
    free(loader->slots);
    pthread_cond_destroy(&loader->idle);
    pthread_cond_destroy(&loader->ready);
    pthread_cond_destroy(&loader->work);
    pthread_mutex_destroy(&loader->mutex);
    free(loader);
}

/* ---- use ---- */

uint64_t liana__loader_epoch_length(const liana__loader *loader, uint64_t epoch)
{
    epoch_span span = span_at(loader, epoch, 0);
    uint64_t whole = span.steps * (uint64_t)loader->options.batch_size;
    return whole < span.length ? whole : span.length;
}

uint64_t liana__loader_steps_per_epoch(const liana__loader *loader, uint64_t epoch)
{
    return span_at(loader, epoch, 0).steps;
}

const liana__source *liana__loader_source(const liana__loader *loader)
{
    return loader->source;
}

const char *liana__loader_column(const liana__loader *loader, const char *component)
{
    const liana__batch_rows *rows = &loader->plan.rows;
    for (size_t i = 0; i < rows->count; i++) {
        if (strcmp(rows->components[i].name, component) == 0) return rows->columns[i];
    }
    return NULL;
}

int liana__loader_num_threads(const liana__loader *loader)
{
    return loader->num_readers;
}

const liana__input_workers *liana__loader_workers(const liana__loader *loader)
{
    return loader->options.workers;
}

void liana__loader_set_workers(liana__loader *loader, const liana__input_workers *workers)
{
    loader->workers = *workers;
    loader->options.workers = &loader->workers;
}

bool liana__loader_changes_order(const liana__loader *loader)
{
    return loader->options.shuffle || loader->options.sampler;
}

int64_t liana__loader_batch_size(const liana__loader *loader)
{
    return loader->options.batch_size;
}

liana__image_cache *liana__loader_cache(const liana__loader *loader)
{
    return loader->plan.cache;
}

liana_status liana__loader_begin(liana__loader *loader, uint64_t epoch, uint64_t step, liana__error *error)
{
    cursor start = {.epoch = epoch, .step = step, .span = find_span(loader, epoch)};
    if (step >= start.span.steps) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "there is no step %" PRIu64 ": an epoch has %" PRIu64, step,
                           start.span.steps);
    }
    pthread_mutex_lock(&loader->mutex);
    bool taken = false;
    for (size_t i = 0; i < loader->num_slots; i++) taken = taken || loader->slots[i].state == LIANA__SLOT_TAKEN;
    if (!taken) {
        loader->paused = true;
        atomic_store(&loader->cancelled, true);
        while (loader->num_busy > 0) pthread_cond_wait(&loader->idle, &loader->mutex);
        for (size_t i = 0; i < loader->num_slots; i++) loader->slots[i].state = LIANA__SLOT_FREE;
        loader->fill = loader->next = start;
        loader->table = (pass_table){.records = loader->table.records};
        loader->fill_next = 0;
        loader->failed = false;
        loader->begun = true;
        loader->first_epoch = epoch;
        const uint64_t position = start.span.start + step * (uint64_t)loader->options.batch_size;
        if (loader->source->kind->begin) loader->source->kind->begin(liana__source_handle(loader->source), position);
        loader->paused = false;
        atomic_store(&loader->cancelled, false);
        pthread_cond_broadcast(&loader->work);
    }
    pthread_mutex_unlock(&loader->mutex);
    if (taken) return liana__fail(error, LIANA_INVALID_ARGUMENT, "a batch was not released before begin");
    return LIANA_OK;
}

/* Tells of the gaps of a batch that is complete. */
static liana_status report_gaps(const liana__loader *loader, const liana__ring_slot *slot, liana__error *error)
{
    const liana__gaps *gaps = slot->batch.workers ? &slot->all_gaps : &slot->gaps;
    if (gaps->count == 0) return LIANA_OK;
    const liana__batch *batch = &slot->batch;
    liana__bad_records *list = loader->options.bad_records;
    const char *part = loader->options.part ? loader->options.part : "data";
    LIANA_TRY(liana__gaps_report(gaps, loader->source, part, list, error));
    if (liana__batch_step_count(batch) > 0 || !list->on_note) return LIANA_OK;
    char note[200];
    if (strcmp(part, "train") == 0) {
        snprintf(note, sizeof note,
                 "%s: step %" PRIu64 " of epoch %" PRIu64 " changes nothing: none of its %" PRId64
                 " records can be used",
                 part, batch->step + 1, batch->epoch + 1, batch->num_positions);
    } else {
        snprintf(note, sizeof note, "%s: batch %" PRIu64 " is empty: none of its %" PRId64 " records can be used", part,
                 batch->step + 1, batch->num_positions);
    }
    list->on_note(list->user, note);
    return LIANA_OK;
}

/* All processes tell their findings of the step. */
static liana_status meet_workers(const liana__loader *loader, liana__ring_slot *slot, liana__error *error)
{
    const bool failed = slot->first_failure < slot->planned;
    const liana__step_findings own = {failed ? &slot->error : NULL, &slot->gaps};
    return liana__step_workers_meet(&slot->workers, loader->options.workers, slot->batch.num_positions, &own,
                                    &slot->all_gaps, &slot->failed, &slot->error, error);
}

/* Of a stream, which process 0 reads. */
static liana_status share_rows(const liana__loader *loader, liana__ring_slot *slot, liana__error *error)
{
    return liana__row_message_share(slot, loader->options.workers, error);
}

/* The last work on a batch that is ready; no other thread uses it. An error stays. */
static liana_status finish_batch(const liana__loader *loader, liana__ring_slot *slot, liana__error *error)
{
    if (!slot->finished) {
        slot->failed = slot->first_failure < slot->planned;
        if (loader->options.workers) LIANA_TRY(meet_workers(loader, slot, error));
        if (!slot->failed) slot->failed = report_gaps(loader, slot, &slot->error) != LIANA_OK;
        if (!slot->failed && slot->workers.one_reader) LIANA_TRY(share_rows(loader, slot, error));
        slot->finished = true;
    }
    return slot->failed ? liana__fail_as(error, &slot->error) : LIANA_OK;
}

liana_status liana__loader_next(liana__loader *loader, liana__batch **batch, liana__error *error)
{
    *batch = NULL;
    double start = liana__clock_seconds();
    liana_status status = LIANA_OK;
    pthread_mutex_lock(&loader->mutex);
    if (!loader->begun) {
        status = liana__fail(error, LIANA_INVALID_ARGUMENT, "the loader was not told where to begin");
    } else if (!past_the_end(loader, &loader->next)) {
        liana__ring_slot *slot = slot_of(loader, &loader->next);
        if (slot->state != LIANA__SLOT_READY) pthread_cond_broadcast(&loader->work);
        while (slot->state != LIANA__SLOT_READY) pthread_cond_wait(&loader->ready, &loader->mutex);
        /* Functions that are called may take their time. */
        pthread_mutex_unlock(&loader->mutex);
        status = finish_batch(loader, slot, error);
        pthread_mutex_lock(&loader->mutex);
        if (status == LIANA_OK) {
            slot->state = LIANA__SLOT_TAKEN;
            slot->batch.wait_seconds = liana__clock_seconds() - start;
            advance(loader, &loader->next);
            *batch = &slot->batch;
        }
    }
    pthread_mutex_unlock(&loader->mutex);
    return status;
}

void liana__loader_release(liana__loader *loader, liana__batch *batch)
{
    liana__ring_slot *slot = (liana__ring_slot *)batch;
    pthread_mutex_lock(&loader->mutex);
    slot->state = LIANA__SLOT_FREE;
    /* Waking a thread takes longer than making a batch of numbers: it then has several to make. liana__loader_next
     * wakes the threads in any case before it waits. */
    const uint64_t begun = loader->fill.number - loader->next.number;
    if (!is_quick(loader) || begun <= loader->num_slots / 2) pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->mutex);
}

void liana__loader_record(liana__loader *loader, liana__recorder *recorder)
{
    pthread_mutex_lock(&loader->mutex);
    loader->recorder = recorder;
    /* This ends: nobody takes batches meanwhile, so the ring becomes full. */
    while (!recorder && loader->num_busy > 0) pthread_cond_wait(&loader->idle, &loader->mutex);
    pthread_mutex_unlock(&loader->mutex);
}
