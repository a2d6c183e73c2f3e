/* Reading a list of stages, and running it on an image. */
#include "base/choice.h"
#include "batch/cut.h"
#include "data/augment/adjust.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOTTED_KEY = 256, MAX_STAGES = 256, MAX_SIDE = 16384 };

typedef struct stage {
    const liana_augmentation_type *kind;
    const void *options;
    const void *state;
    liana_image_shape in;
    liana_image_shape out;
} stage;

struct liana__augment {
    liana__arena arena;
    const liana__pixel_kernels *kernels;
    size_t num_stages;
    stage *stages;
    liana_image_shape first;
    liana_image_shape last;
    size_t image_size; /* bytes of the largest image between two stages */
    size_t stage_scratch;
};

/* ---- reading ---- */

/* Reads the options of a stage; its shapes come later. */
static liana_status read_stage(liana_context *context, const liana__value *entry, const char *where,
                               liana__arena *arena, stage *made, liana__error *error)
{
    const char *name = NULL;
    const liana__place *place;
    const liana__value *options;
    LIANA_TRY(liana__choice_entry(entry, where, "one stage: 'random_flip' or 'random_rotation: {degrees: 10}'", &name,
                                  &place, &options, error));
    const char *nearest;
    made->kind = liana__part_find(context, &liana__augmentation_kind, name, &nearest);
    if (!made->kind) {
        return liana__fail_at(error, place, where, "there is no augmentation '%.60s'%s", name,
                              nearest ? liana__hint(nearest).text : "; 'liana list augmentations' shows them");
    }
    const liana__fields *fields = &made->kind->part.options;
    char dotted[DOTTED_KEY];
    snprintf(dotted, sizeof dotted, "%.150s.%.60s", where, name);
    void *own = liana__arena_allocate(arena, fields->size);
    if (!own) return liana__fail_memory(error, "an augmentation");
    made->options = own;
    LIANA_TRY(liana__fields_read(fields, options, dotted, NULL, arena, own, error));
    return liana__part_check(&made->kind->part, context, own, options, dotted, error);
}

static void keep_largest(size_t *largest, size_t size)
{
    if (size > *largest) *largest = size;
}

static liana_status prepare_stage(const liana_context *context, liana__augment *augment, stage *own,
                                  const liana_image_shape *in, const liana__value *entry, const char *where,
                                  liana__error *error)
{
    liana_check check = {(void *)own->options, context, entry, where, error};
    liana_augment_setup setup = {.check = &check, .in = *in, .out = *in, .arena = &augment->arena};
    if (own->kind->prepare) LIANA_TRY(own->kind->prepare(&setup));
    own->in = setup.in;
    own->out = setup.out;
    own->state = setup.state;
    keep_largest(&augment->image_size, liana__augment_size(&own->out));
    keep_largest(&augment->stage_scratch, setup.scratch_size);
    return LIANA_OK;
}

/* The shape that images have before the list: that of a `resize` at its head, which is then done, else the one that is
 * wanted at the end. */
static liana_status prepare_stages(const liana_context *context, liana__augment *augment, const liana__value *list,
                                   const char *where, liana__error *error)
{
    char item[DOTTED_KEY];
    liana_image_shape shape = augment->last;
    for (size_t i = 0; i < augment->num_stages; i++) {
        stage *own = &augment->stages[i];
        snprintf(item, sizeof item, "%.100s[%zu].%.100s", where, i, own->kind->part.name);
        LIANA_TRY(prepare_stage(context, augment, own, &shape, list->items[i], item, error));
        shape = own->out;
        if (i == 0 && own->kind->is_decoding) own->in = shape;
    }
    augment->first = augment->num_stages ? augment->stages[0].in : shape;
    keep_largest(&augment->image_size, liana__augment_size(&augment->first));
    if (shape.height == augment->last.height && shape.width == augment->last.width) return LIANA_OK;
    return liana__fail_at(
        error, &list->place, where,
        "after all stages images are %lld x %lld, but the model needs %lld x %lld (height x width); set the size of "
        "the last 'random_crop', 'random_resized_crop' or 'resize' to that, or data.image_size",
        (long long)shape.height, (long long)shape.width, (long long)augment->last.height,
        (long long)augment->last.width);
}

static liana_status read_list(liana_context *context, const liana__value *list, const char *where,
                              liana__augment *augment, liana__error *error)
{
    if (list->kind != LIANA__VALUE_LIST) {
        char found[128];
        return liana__fail_at(error, &list->place, where, "found %s, expected a list of augmentations",
                              liana__value_describe(list, found, sizeof found));
    }
    if (list->count > MAX_STAGES) {
        return liana__fail_at(error, &list->place, where, "found %zu stages, expected at most %d", list->count,
                              MAX_STAGES);
    }
    augment->stages = liana__arena_allocate(&augment->arena, (list->count + 1) * sizeof *augment->stages);
    if (!augment->stages) return liana__fail_memory(error, "the augmentations");
    augment->num_stages = list->count;
    for (size_t i = 0; i < list->count; i++) {
        char item[DOTTED_KEY];
        snprintf(item, sizeof item, "%.200s[%zu]", where, i);
        LIANA_TRY(read_stage(context, list->items[i], item, &augment->arena, &augment->stages[i], error));
    }
    return prepare_stages(context, augment, list, where, error);
}

liana_status liana__augment_create(liana_context *context, const liana__value *list, const char *where,
                                   const liana_image_shape *shape, liana__augment **out, liana__error *error)
{
    *out = NULL;
    liana__augment *augment = calloc(1, sizeof *augment);
    if (!augment) return liana__fail_memory(error, "the augmentations");
    augment->last = *shape;
    augment->kernels = liana__pixel_kernels_for(context->isa);
    liana_status status = read_list(context, list, where, augment, error);
    if (status == LIANA_OK) *out = augment;
    if (status != LIANA_OK) liana__augment_destroy(augment);
    return status;
}

void liana__augment_destroy(liana__augment *augment)
{
    if (!augment) return;
    liana__arena_free(&augment->arena);
    free(augment);
}

liana_image_shape liana__augment_input(const liana__augment *augment)
{
    return augment->first;
}

size_t liana__augment_num_stages(const liana__augment *augment)
{
    return augment->num_stages;
}

const char *liana__augment_stage_name(const liana__augment *augment, size_t i)
{
    return augment->stages[i].kind->part.name;
}

/* Two images, and the scratch memory of one stage. */
size_t liana__augment_scratch_size(const liana__augment *augment)
{
    return 2 * liana__align_up(augment->image_size) + liana__align_up(augment->stage_scratch);
}

/* ---- running ---- */

/* An image between stages. Its pixels are in one of two buffers, or still in the source. */
typedef struct journey {
    const liana__augment *augment;
    const uint8_t *pixels;
    uint8_t *buffers[2];
    uint8_t *scratch;
    liana_image_shape shape; /* of the pixels */
    /* Mappings that are not yet done; has_pending: whether there are any. */
    bool has_pending;
    liana_point_mapping pending;
    liana_image_shape pending_out;
    int interpolation;
    int fill_mode;
    int64_t fill;
    /* Changes of colour that are not yet done; never together with mappings. */
    bool has_change;
    liana_colour_change change;
    bool has_means; /* of the pixels as they are */
    double means[3];
    double mean_grey;
} journey;

static uint8_t *other_buffer(const journey *own)
{
    return own->buffers[own->pixels == own->buffers[0]];
}

/* Samples the image once for all mappings that are pending. */
static void flush_mapping(journey *own)
{
    if (!own->has_pending) return;
    uint8_t *dst = other_buffer(own);
    liana__warp warp = {.src = own->pixels,
                        .src_height = own->shape.height,
                        .src_width = own->shape.width,
                        .dst = dst,
                        .dst_height = own->pending_out.height,
                        .dst_width = own->pending_out.width,
                        .channels = own->shape.channels,
                        .from_output = own->pending.from_output,
                        .interpolation = own->pending.exact ? LIANA__NEAREST : (liana__interpolation)own->interpolation,
                        .fill_mode = own->pending.inside ? LIANA__FILL_NEAREST : (liana__fill_mode)own->fill_mode,
                        .fill = (uint8_t)own->fill};
    own->augment->kernels->warp(&warp);
    own->pixels = dst;
    own->shape = own->pending_out;
    own->has_pending = false;
}

/* The pixels, where they may be written to, all mappings done. */
static uint8_t *make_writable(journey *own)
{
    flush_mapping(own);
    if (own->pixels != own->buffers[0] && own->pixels != own->buffers[1]) {
        memcpy(own->buffers[0], own->pixels, liana__augment_size(&own->shape));
        own->pixels = own->buffers[0];
    }
    return own->pixels == own->buffers[0] ? own->buffers[0] : own->buffers[1];
}

/* Looks at each pixel once for all changes of colour that are pending. */
static void flush_colour(journey *own)
{
    if (!own->has_change) return;
    liana__recolour_pixels(own->augment->kernels, &own->shape, make_writable(own), &own->change);
    own->has_change = false;
}

static void flush(journey *own)
{
    flush_mapping(own);
    flush_colour(own);
}

/* Whether one sampling is enough for both mappings. A mapping that needs no interpolation or no filling leaves that to
 * the other. */
static bool agrees(const journey *own, const liana_point_mapping *next, const liana_augment_sampling *options)
{
    bool same_sampling = own->pending.exact || next->exact || own->interpolation == options->interpolation;
    bool same_fill =
        own->pending.inside || next->inside || (own->fill_mode == options->fill_mode && own->fill == options->fill);
    return same_sampling && same_fill;
}

/* Multiplies a mapping with the pending ones. */
static void join_mapping(journey *own, const stage *which, const liana_point_mapping *next)
{
    const liana_augment_sampling *options = which->options;
    if (!own->has_pending) {
        own->pending = (liana_point_mapping){liana__matrix_identity(), true, true};
        own->has_pending = true;
    }
    liana_point_mapping *pending = &own->pending;
    if (!next->exact) own->interpolation = options->interpolation;
    if (!next->inside) {
        own->fill_mode = options->fill_mode;
        own->fill = options->fill;
    }
    pending->from_output = liana__matrix_multiply(&pending->from_output, &next->from_output);
    pending->exact = pending->exact && next->exact;
    pending->inside = pending->inside && next->inside;
    own->pending_out = which->out;
}

static liana_augment_call call_of(const stage *which, const liana_example_address *address, liana__draws *draws)
{
    return (liana_augment_call){.options = which->options,
                                .user = which->kind->user,
                                .state = which->state,
                                .address = address,
                                .shape = which->in,
                                .out = which->out,
                                .draws = draws};
}

static void draw_mapping(const liana_augment_call *call, const stage *which, liana_point_mapping *next)
{
    *next = (liana_point_mapping){.from_output = liana__matrix_identity()};
    which->kind->mapping(call, next);
}

static void add_mapping(journey *own, const stage *which, const liana_augment_call *call)
{
    liana_point_mapping next;
    flush_colour(own);
    draw_mapping(call, which, &next);
    if (own->has_pending && !agrees(own, &next, which->options)) flush_mapping(own);
    join_mapping(own, which, &next);
}

/* The means of the image after all changes. They ignore that levels are cut off at black and white. */
static void find_means(journey *own, double means[3])
{
    if (!own->has_means) {
        own->mean_grey = liana__find_means(own->augment->kernels, &own->shape, own->pixels, own->means);
        own->has_means = true;
    }
    for (int c = 0; c < 3; c++) {
        means[c] = own->change.scale * own->means[c] + own->change.grey * own->mean_grey + own->change.offset[c];
    }
}

static void add_colour(journey *own, const stage *which, liana_augment_call *call)
{
    liana_colour_change next;
    flush_mapping(own);
    if (!own->has_change) {
        own->change = (liana_colour_change){1, 0, {0}};
        own->has_means = false;
    }
    if (which->kind->uses_means) find_means(own, call->means);
    which->kind->colour(call, &next);
    liana__colour_change_add(&own->change, &next);
    own->has_change = true;
}

static liana_status apply_pixels(journey *own, const stage *which, liana_augment_call *call, liana__error *error)
{
    flush_colour(own);
    call->pixels = make_writable(own);
    call->shape = own->shape;
    call->scratch = own->scratch;
    call->kernels = own->augment->kernels;
    call->error = error;
    liana_status status = which->kind->apply(call);
    if (status == LIANA_OK || !error || error->status == status) return status;
    return liana__fail(error, status, "the augmentation '%s' failed", which->kind->part.name);
}

/* Whether a stage is applied to this example, by its first draw. */
static bool is_chosen(const stage *which, size_t index, const liana_example_address *address, liana__draws *draws)
{
    const liana_augment_common *common = which->options;
    *draws = liana__draws_begin(address, (uint32_t)index);
    if (which->kind->mix) return false; /* later, when the batch is there */
    return which->kind->draws_chance || liana__draw_chance(draws, common->probability);
}

static liana_status apply_stage(journey *own, size_t index, const liana_example_address *address, liana__error *error)
{
    const stage *which = &own->augment->stages[index];
    liana__draws draws;
    if (!is_chosen(which, index, address, &draws)) return LIANA_OK;
    liana_augment_call call = call_of(which, address, &draws);
    if (which->kind->apply) return apply_pixels(own, which, &call, error);
    if (which->kind->mapping) add_mapping(own, which, &call);
    if (which->kind->colour) add_colour(own, which, &call);
    return LIANA_OK;
}

static journey begin_journey(const liana__augment *augment, const uint8_t *src, void *scratch)
{
    uint8_t *first = scratch;
    size_t image_size = liana__align_up(augment->image_size);
    return (journey){.augment = augment,
                     .pixels = src,
                     .buffers = {first, first + image_size},
                     .scratch = first + 2 * image_size,
                     .shape = augment->first};
}

liana_status liana__augment_try(const liana__augment *augment, size_t num_stages, const liana_example_address *address,
                                const uint8_t *src, void *scratch, liana__error *error)
{
    journey own = begin_journey(augment, src, scratch);
    for (size_t i = 0; i < num_stages; i++) LIANA_TRY(apply_stage(&own, i, address, error));
    flush(&own);
    return LIANA_OK;
}

liana_status liana__augment_apply(const liana__augment *augment, const liana_example_address *address,
                                  const uint8_t *src, uint8_t *dst, void *scratch, liana__error *error)
{
    journey own = begin_journey(augment, src, scratch);
    /* If no image in between is larger than the last one, the destination is used as a buffer. */
    if (augment->image_size == liana__augment_size(&augment->last)) own.buffers[0] = dst;
    for (size_t i = 0; i < augment->num_stages; i++) LIANA_TRY(apply_stage(&own, i, address, error));
    flush(&own);
    if (own.pixels != dst) memcpy(dst, own.pixels, liana__augment_size(&augment->last));
    return LIANA_OK;
}

/* ---- the pixels that are needed ---- */

/* The pixels [*begin, *begin + *count) of an axis that sampling between two points may look at. */
static void find_range(double low, double high, int64_t size, int64_t *begin, int64_t *count)
{
    /* Half a pixel to the centre, one to the neighbour, and one for the rounding of points, which are floats. */
    double last = (double)(size - 1), from = fmin(fmax(floor(low) - 2, 0), last),
           to = fmin(fmax(ceil(high) + 1, 0), last);
    *begin = (int64_t)from;
    *count = (int64_t)to - *begin + 1;
}

/* The rectangle around the pixels that a mapping takes from an image. */
static void find_footprint(const journey *own, liana__image_region *region)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    const double *m = own->pending.from_output.m;
    bool repeats = own->fill_mode == LIANA__FILL_REFLECT || own->fill_mode == LIANA__FILL_WRAP;
    if (!own->pending.inside && repeats) return;
    for (int corner = 0; corner < 4; corner++) {
        double x = corner & 1 ? (double)own->pending_out.width : 0,
               y = corner & 2 ? (double)own->pending_out.height : 0;
        double w = m[6] * x + m[7] * y + m[8];
        double point[2] = {(m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w};
        /* Straight lines stay straight as long as no corner goes through the horizon. */
        if (!(w > 0) || !isfinite(point[0]) || !isfinite(point[1])) return;
        for (int i = 0; i < 2; i++) {
            low[i] = fmin(low[i], point[i]);
            high[i] = fmax(high[i], point[i]);
        }
    }
    find_range(low[0], high[0], own->shape.width, &region->left, &region->width);
    find_range(low[1], high[1], own->shape.height, &region->top, &region->height);
}

/* The first stage that looks at pixels is the sampling for all mappings at the head of the list, if there are any. */
static journey join_head(const liana__augment *augment, const liana_example_address *address)
{
    journey own = {.augment = augment, .shape = augment->first};
    for (size_t i = 0; i < augment->num_stages; i++) {
        const stage *which = &augment->stages[i];
        liana_point_mapping next;
        liana__draws draws;
        if (!is_chosen(which, i, address, &draws)) continue;
        if (!which->kind->mapping) break;
        const liana_augment_call call = call_of(which, address, &draws);
        draw_mapping(&call, which, &next);
        if (own.has_pending && !agrees(&own, &next, which->options)) break;
        join_mapping(&own, which, &next);
    }
    return own;
}

void liana__augment_find_region(const liana__augment *augment, const liana_example_address *address,
                                liana__image_region *region)
{
    journey own = join_head(augment, address);
    *region = (liana__image_region){0, 0, augment->first.height, augment->first.width};
    if (own.has_pending) find_footprint(&own, region);
}

bool liana__augment_find_mapping(const liana__augment *augment, const liana_example_address *address,
                                 liana_matrix *from_output)
{
    journey own = join_head(augment, address);
    *from_output = own.has_pending ? own.pending.from_output : liana__matrix_identity();
    return own.has_pending;
}

/* ---- mixing ---- */

bool liana__augment_mixes(const liana__augment *augment)
{
    bool mixes = false;
    for (size_t i = 0; i < augment->num_stages; i++) {
        mixes = mixes || augment->stages[i].kind->mix;
    }
    return mixes;
}

/* Mixes one example with the first stage whose probability says so. Returns the share of its own image. */
static double mix_example(const liana__augment *augment, const liana_example_address *address, bool fractions,
                          const uint8_t *own, const uint8_t *partner, uint8_t *dst)
{
    for (size_t i = 0; i < augment->num_stages; i++) {
        const stage *which = &augment->stages[i];
        const liana_augment_common *common = which->options;
        if (!which->kind->mix) continue;
        liana__draws draws = liana__draws_begin(address, (uint32_t)i);
        if (!liana__draw_chance(&draws, common->probability)) continue;
        const liana_mix_call call = {.options = which->options,
                                     .user = which->kind->user,
                                     .address = address,
                                     .shape = augment->last,
                                     .fractions = fractions,
                                     .own = own,
                                     .partner = partner,
                                     .dst = dst,
                                     .draws = &draws,
                                     .kernels = augment->kernels};
        return which->kind->mix(&call);
    }
    return 1;
}

static liana_example_address address_of(const liana__batch *batch, int64_t i, uint64_t seed)
{
    return (liana_example_address){seed, batch->epoch, batch->positions[i], batch->records[i]};
}

/* Example `at` is compared with the targets of example `partner`, too. */
static void copy_targets(liana__batch *batch, int64_t at, int64_t partner)
{
    for (size_t i = 0; i < batch->num_components; i++) {
        const liana__batch_component *component = &batch->components[i], *own = component->partner_of;
        if (!own) continue;
        const size_t size = liana__batch_row_size(own);
        memcpy((char *)component->rows + (size_t)at * size, (const char *)own->rows + (size_t)partner * size, size);
    }
}

/* The partners are the shard in a random order. */
static void mix_shard(const liana__augment *augment, liana__batch *batch, int64_t begin, int64_t count, uint64_t seed,
                      uint8_t *copies)
{
    const bool fractions = batch->fractions != NULL;
    const size_t size = liana__augment_size(&augment->last) * (fractions ? sizeof(float) : 1);
    uint8_t *images = fractions ? (uint8_t *)batch->fractions : batch->images;
    float *shares = batch->components[liana__batch_find(batch, LIANA__SHARES)].rows;
    liana_example_address first = address_of(batch, begin, seed);
    liana__draws draws = liana__draws_begin(&first, LIANA__DRAWS_PARTNERS);
    uint64_t order = (uint64_t)liana__draw_word(&draws) << 32;
    order |= liana__draw_word(&draws);
    memcpy(copies, images + (size_t)begin * size, (size_t)count * size);
    for (int64_t i = 0; i < count; i++) {
        int64_t partner = (int64_t)liana__permute(order, 0, (uint64_t)i, (uint64_t)count), at = begin + i;
        liana_example_address address = address_of(batch, at, seed);
        copy_targets(batch, at, begin + partner);
        shares[at] = (float)mix_example(augment, &address, fractions, copies + (size_t)i * size,
                                        copies + (size_t)partner * size, images + (size_t)at * size);
    }
}

void liana__augment_mix(const liana__augment *augment, int64_t microbatch, liana__batch *batch, uint64_t seed,
                        void *scratch)
{
    bool whole = batch->count == batch->num_positions;
    liana__cut cut = liana__cut_batch(batch->num_positions, microbatch);
    for (int64_t shard = 0; shard < cut.count; shard++) {
        int64_t begin = liana__cut_begin(&cut, shard), end = begin + liana__cut_size(&cut, shard);
        if (!whole) {
            liana__cut_remaining(&cut, shard, batch->positions, batch->count, batch->first_position, &begin, &end);
        }
        if (end > begin) mix_shard(augment, batch, begin, end - begin, seed, scratch);
    }
}

/* Copies of a shard, as floats if need be. */
size_t liana__augment_mix_scratch_size(const liana__augment *augment, int64_t microbatch)
{
    return (size_t)microbatch * liana__augment_size(&augment->last) * sizeof(float);
}
