/* Makes one example: reads, decodes, keeps and augments it. */
#include "data/loader/example_maker.h"

#include "data/augment/augment.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

/* Elements of streams are counted where they are made. */
static bool bounds_scratch(const liana__example_maker *self)
{
    return !self->plan->source->streams;
}

static bool make_scratch(liana__example_maker *self)
{
    const liana__source *source = self->plan->source;
    self->scratch = liana__source_scratch_create(source);
    if (self->scratch && bounds_scratch(self)) liana__source_scratch_bound(source, self->scratch, &self->share);
    return self->scratch;
}

/* Bytes that the thread keeps from record to record. */
static size_t kept_bytes(const liana__example_maker *self)
{
    size_t bytes = liana__decoder_bytes(&self->decoder);
    bool counts = self->scratch && bounds_scratch(self);
    return counts ? bytes + liana__source_scratch_bytes(self->plan->source, self->scratch) : bytes;
}

/* Gives up all memory that records and images have taken. */
static void let_go(liana__example_maker *self)
{
    liana__decoder_free(&self->decoder);
    self->decoder.image.share = &self->share;
    if (bounds_scratch(self)) {
        liana__source_scratch_destroy(self->plan->source, self->scratch);
        self->scratch = NULL; /* made again when it is needed */
    }
    liana__memory_share_settle(&self->share, 0);
}

static liana_status fail_bound(const liana__example_maker *self, uint64_t index, liana__error *error)
{
    const double mebi = 1 << 20;
    size_t most = self->share.own + self->share.pool->most;
    liana__fail(error, LIANA_INVALID_CONFIG,
                "reading and decoding it takes %.1f MiB of memory, but data.memory leaves only %.1f MiB for that: make "
                "data.memory larger by %.0f MiB or more",
                (double)self->share.wanted / mebi, (double)most / mebi,
                4 * (double)(self->share.wanted - most) / mebi + 1);
    /* The record's contents are gone, its id too. */
    return liana__source_fail_within(self->plan->source, index, &(liana_source_record){0}, error);
}

/* ---- making ---- */

/* The record to read, and the part of its image that is needed. */
typedef struct wanted {
    liana_example_address address;
    const liana__image_region *region; /* NULL: all of it, which the cache keeps */
    int32_t *label;                    /* NULL: not needed */
    uint8_t *pixels;                   /* NULL: not needed */
    liana__batch *batch;
    int64_t example;
} wanted;

static liana_status read_record(liana__example_maker *self, const wanted *what, liana__error *error)
{
    self->record = (liana_source_record){0};
    if (!self->scratch && !make_scratch(self)) return liana__fail_memory(error, "reading a record");
    LIANA_TRY(liana__source_read_at(self->plan->source, &what->address, self->scratch, &self->record, error));
    /* The memory of datasets' elements is known only now. */
    size_t kept = kept_bytes(self), used = self->share.used;
    return kept > used ? liana__memory_share_ask(&self->share, kept - used, "a record", error) : LIANA_OK;
}

static liana_status decode_record(liana__example_maker *self, const wanted *what, liana__error *error)
{
    const liana__example_plan *plan = self->plan;
    uint64_t index = what->address.record;
    liana_status status = LIANA_OK;
    if (what->label) *what->label = -1;
    if (what->label && plan->source->has_labels) {
        LIANA_TRY(liana__source_label(plan->source, index, &self->record, plan->options->label_offset,
                                      plan->options->num_classes, what->label, error));
    }
    if (plan->rows.values_size) {
        status = liana__batch_rows_put(&plan->rows, &self->record, plan->options->label_offset, what->batch,
                                       what->example, error);
    }
    if (status == LIANA_OK && what->pixels) {
        status = liana__decode_record(&self->decoder, &plan->decoded, &self->record, what->region, what->pixels, error);
    }
    return status == LIANA_OK ? LIANA_OK : liana__source_fail_within(plan->source, index, &self->record, error);
}

/* Reads, checks and decodes a record. Where memory is short it is done again once there is enough: then this thread
 * holds none meanwhile. */
static liana_status make_pixels(liana__example_maker *self, const wanted *what, liana__error *error)
{
    for (bool read = false;;) {
        bool kept = self->share.used > 0;
        liana_status status = read ? LIANA_OK : read_record(self, what, error);
        if (status == LIANA_OK) status = decode_record(self, what, error);
        if (!self->share.wanted) {
            liana__memory_share_settle(&self->share, kept_bytes(self));
            return status;
        }
        read = !bounds_scratch(self);
        let_go(self);
        if (kept) {
            /* Memory that other records left may have been the reason. */
            self->share.wanted = 0;
        } else if (!liana__memory_share_wait(&self->share)) {
            status = fail_bound(self, what->address.record, error);
            self->share.wanted = 0;
            return status;
        }
    }
}

/* Reads a record into example i of the slot. */
static liana_status read_example(liana__example_maker *self, liana__ring_slot *slot, int64_t i, const wanted *what,
                                 bool *bad, liana__error *error)
{
    liana_status status = make_pixels(self, what, error);
    *bad = status != LIANA_OK && self->plan->options->bad_records && liana__source_is_bad_record(status);
    if (*bad) return LIANA_OK;
    LIANA_TRY(status);
    const liana_source_record *record = &self->record;
    LIANA_TRY(liana__ring_slot_keep_id(slot, i, record->id, record->id_size, error));
    if (what->region || !self->plan->cache) return LIANA_OK;
    liana__cached_image image = {.pixels = what->pixels,
                                 .label = what->label ? *what->label : -1,
                                 .id = record->id,
                                 .id_size = record->id_size,
                                 .values = self->values,
                                 .values_size = self->plan->rows.values_size};
    if (self->values) liana__batch_rows_pack(&self->plan->rows, what->batch, i, self->values);
    liana__image_cache_keep(self->plan->cache, what->address.record, &image);
    return LIANA_OK;
}

/* Takes the label and the values of an example from the cache. */
static void take_cached(const liana__example_plan *plan, const liana__cached_image *cached, liana__batch *batch,
                        int64_t i)
{
    if (batch->labels) batch->labels[i] = cached->label;
    if (plan->rows.values_size) {
        liana__batch_rows_unpack(&plan->rows, cached->pixels + plan->decoded_size, batch, i);
    }
}

/* Augments an image into its place in the batch. */
static liana_status augment(liana__example_maker *self, const liana_example_address *address, const uint8_t *decoded,
                            uint8_t *place, liana__error *error)
{
    const liana__augment *list = self->plan->options->augment;
    uint8_t *pixels = self->augmented ? self->augmented : place;
    if (liana__augment_apply(list, address, decoded, pixels, self->augment_scratch, error) != LIANA_OK) {
        return liana__fail_within(error, "augmentation at position %" PRIu64, address->position);
    }
    if (pixels == place) return LIANA_OK;
    return liana__resize_widen(&self->decoder.resizer, pixels, self->plan->image_size / sizeof(float), (float *)place,
                               error);
}

liana_status liana__example_make(liana__example_maker *self, liana__ring_slot *slot, int64_t i, uint64_t pass,
                                 bool *bad, liana__error *error)
{
    const liana__example_plan *plan = self->plan;
    const liana__augment *list = plan->options->augment;
    liana__batch *batch = &slot->batch;
    uint64_t position = batch->positions[i], index = batch->records[i], seed = plan->options->seed;
    uint8_t *rows = plan->rows.image >= 0 ? batch->components[plan->rows.image].rows : NULL;
    uint8_t *pixels = rows ? rows + (size_t)i * plan->image_size : NULL,
            *decoded = list ? self->decoded + LIANA__IMAGE_OFFSET : pixels;
    liana__cached_image cached = {.pixels = decoded};
    liana__decoded_file_room room;
    room.pixels = self->decoded ? self->decoded + LIANA__IMAGE_OFFSET : decoded;
    liana_example_address address = {seed, batch->epoch, position, index};
    *bad = false;
    if (liana__image_cache_find(plan->cache, index, &room, &cached)) {
        take_cached(plan, &cached, batch, i);
        LIANA_TRY(liana__ring_slot_keep_id(slot, i, cached.id, cached.id_size, error));
        if (!list && cached.pixels != pixels) memcpy(pixels, cached.pixels, plan->image_size);
    } else {
        wanted what = {.address = {seed, pass, position, index},
                       .label = batch->labels ? &batch->labels[i] : NULL,
                       .pixels = decoded,
                       .batch = batch,
                       .example = i};
        liana__image_region region;
        if (list && index >= liana__image_cache_count(plan->cache)) {
            liana__augment_find_region(list, &address, &region);
            what.region = &region;
        }
        LIANA_TRY(read_example(self, slot, i, &what, bad, error));
        if (!*bad && liana__memory_share_is_missed(&self->share)) liana__example_maker_rest(self);
    }
    if (!list || *bad) return LIANA_OK;
    return augment(self, &address, cached.pixels, pixels, error);
}

/* ---- beginning and ending ---- */

liana_status liana__example_maker_init(liana__example_maker *self, const liana__example_plan *plan, liana__error *error)
{
    const liana__augment *list = plan->options->augment;
    *self = (liana__example_maker){.plan = plan, .share = {.pool = plan->pool, .own = plan->share}};
    self->decoder.image.share = &self->share;
    if (!make_scratch(self)) return liana__fail_memory(error, "reading threads");
    size_t values = plan->cache ? plan->rows.values_size : 0;
    if (list || values) {
        self->decoded = liana__allocate_aligned(plan->decoded_size + values + LIANA__IMAGE_OFFSET);
        if (!self->decoded) return liana__fail_memory(error, "reading threads");
    }
    if (values) self->values = liana__allocate_aligned(values);
    if (values && !self->values) return liana__fail_memory(error, "reading threads");
    if (!list) return LIANA_OK;
    if (plan->options->image.fractions) {
        self->augmented = liana__allocate_aligned(plan->image_size / sizeof(float));
        if (!self->augmented) return liana__fail_memory(error, "reading threads");
    }
    self->augment_scratch = liana__allocate_aligned(liana__augment_scratch_size(list));
    return self->augment_scratch ? LIANA_OK : liana__fail_memory(error, "augmentation");
}

void liana__example_maker_rest(liana__example_maker *self)
{
    if (self->share.taken > 0) let_go(self);
}

void liana__example_maker_free(liana__example_maker *self)
{
    if (!self->plan) return;
    liana__source_scratch_destroy(self->plan->source, self->scratch);
    liana__decoder_free(&self->decoder);
    liana__memory_share_settle(&self->share, 0);
    free(self->augment_scratch);
    free(self->decoded);
    free(self->augmented);
    free(self->values);
}
