/* Draws images of the data: samples, and how they are augmented. */
#include "report/data_page.h"

#include "base/text.h"

#include <stdio.h>

enum { MAX_SAMPLES = 24, NUM_ORIGINALS = 4, NUM_VARIANTS = 5 };

/* ---- samples ---- */

liana_status liana__draw_samples(liana__data_page *page)
{
    liana__grid_item items[MAX_SAMPLES];
    const int64_t *shape = page->run->image_shape;
    const uint64_t total = page->source->num_records, wanted = total < MAX_SAMPLES ? total : MAX_SAMPLES;
    size_t count = 0;
    for (uint64_t i = 0; i < wanted; i++) {
        liana__page_image image;
        const uint64_t index = liana__data_page_choose(page, i, wanted);
        const liana_status status = liana__data_page_decode(page, index, shape[0], shape[1], &image);
        if (liana__data_page_leaves_out(page, status)) continue;
        LIANA_TRY(status);
        items[count++] = liana__data_page_item(page, &image);
    }
    char title[80];
    snprintf(title, sizeof title, "%zu of %llu %s images", count, (unsigned long long)total, page->noun);
    return liana__data_page_grid(page, "samples", items, count, &(liana__grid_options){.title = title, .columns = 6});
}

/* ---- augmentation ---- */

/* The originals of a page and their augmented images of one epoch: a shard of its own. */
typedef struct originals {
    uint64_t count;
    uint64_t records[NUM_ORIGINALS];
    liana__page_image images[NUM_ORIGINALS]; /* in the first shape of the list */
} originals;

/* "+ 30% roses", or nothing for an image that was not mixed. */
const char *liana__mix_note(liana__data_page *page, const liana__batch *batch, uint64_t i)
{
    const float *shares = liana__batch_rows_of(batch, LIANA__SHARES);
    const int32_t *partners = liana__batch_rows_of(batch, "partners");
    const double share = shares && partners ? (double)shares[i] : 1;
    if (share >= 1) return NULL;
    return liana__arena_format(&page->arena, "+ %.0f%% %s", 100 * (1 - share),
                               liana__isolate(&page->arena, liana__data_page_class(page, partners[i])));
}

/* The components of a batch that mixing needs, and its own memory. */
static liana_status mix(liana__data_page *page, liana__batch *batch)
{
    const liana__augment *augment = page->run->training.augment;
    if (!liana__augment_mixes(augment)) return LIANA_OK;
    int32_t *partners = liana__arena_allocate(&page->arena, NUM_ORIGINALS * sizeof *partners);
    float *shares = liana__arena_allocate(&page->arena, NUM_ORIGINALS * sizeof *shares);
    void *memory = liana__arena_allocate(&page->arena, liana__augment_mix_scratch_size(augment, NUM_ORIGINALS));
    if (!partners || !shares || !memory) return liana__fail_memory(page->error, "mixed images");
    liana__batch_add(batch, "label", LIANA_S32, &LIANA_SCALAR, batch->labels);
    liana__batch_add(batch, "partners", LIANA_S32, &LIANA_SCALAR, partners);
    batch->components[1].partner_of = &batch->components[0];
    liana__batch_add(batch, LIANA__SHARES, LIANA_F32, &LIANA_SCALAR, shares);
    liana__augment_mix(augment, NUM_ORIGINALS, batch, (uint64_t)page->run->config->job.seed, memory);
    return LIANA_OK;
}

static liana_status augment_once(liana__data_page *page, const originals *from, uint64_t variant, void *scratch,
                                 liana__grid_item *items)
{
    const liana__run *run = page->run;
    const int64_t *shape = run->image_shape;
    const size_t size = (size_t)(shape[0] * shape[1] * shape[2]);
    uint64_t positions[NUM_ORIGINALS], records[NUM_ORIGINALS];
    int32_t labels[NUM_ORIGINALS];
    uint8_t *images = liana__arena_allocate(&page->arena, NUM_ORIGINALS * size);
    if (!images) return liana__fail_memory(page->error, "augmented images");
    liana__batch batch = {.count = (int64_t)from->count,
                          .num_positions = (int64_t)from->count,
                          .images = images,
                          .labels = labels,
                          .positions = positions,
                          .records = records,
                          .epoch = variant};
    for (uint64_t i = 0; i < from->count; i++) {
        liana_example_address address = {.seed = (uint64_t)run->config->job.seed,
                                         .epoch = variant,
                                         .position = ((page->seed - 1) * NUM_VARIANTS + variant) * NUM_ORIGINALS + i,
                                         .record = from->records[i]};
        positions[i] = address.position;
        records[i] = address.record;
        labels[i] = from->images[i].label;
        LIANA_TRY(liana__augment_apply(run->training.augment, &address, from->images[i].pixels, images + i * size,
                                       scratch, page->error));
    }
    LIANA_TRY(mix(page, &batch));
    for (uint64_t i = 0; i < from->count; i++) {
        liana__grid_item *item = &items[i * (1 + NUM_VARIANTS) + 1 + variant];
        liana__page_image image = from->images[i];
        image.pixels = images + i * size;
        image.height = shape[0];
        image.width = shape[1];
        *item = liana__data_page_item(page, &image);
        item->note = liana__mix_note(page, &batch, i);
    }
    return LIANA_OK;
}

/* Records that cannot be used are left out, where the configuration says so. */
static liana_status choose_originals(liana__data_page *page, originals *from)
{
    const liana_image_shape first = liana__augment_input(page->run->training.augment);
    const uint64_t total = page->source->num_records, wanted = total < NUM_ORIGINALS ? total : NUM_ORIGINALS;
    for (uint64_t i = 0; i < wanted; i++) {
        const uint64_t index = liana__data_page_choose(page, i, wanted);
        const liana_status status =
            liana__data_page_decode(page, index, first.height, first.width, &from->images[from->count]);
        if (liana__data_page_leaves_out(page, status)) continue;
        LIANA_TRY(status);
        from->records[from->count++] = index;
    }
    return LIANA_OK;
}

liana_status liana__draw_augmented(liana__data_page *page)
{
    const liana__augment *augment = page->run->training.augment;
    liana__grid_item items[NUM_ORIGINALS * (1 + NUM_VARIANTS)];
    originals from = {0};
    if (!augment) return LIANA_OK;
    LIANA_TRY(choose_originals(page, &from));
    for (uint64_t i = 0; i < from.count; i++) {
        items[i * (1 + NUM_VARIANTS)] = liana__data_page_item(page, &from.images[i]);
        items[i * (1 + NUM_VARIANTS)].note = "original";
    }
    void *scratch = liana__arena_allocate(&page->arena, liana__augment_scratch_size(augment) + LIANA__ALIGNMENT);
    if (!scratch) return liana__fail_memory(page->error, "augmented images");
    for (uint64_t variant = 0; variant < NUM_VARIANTS; variant++) {
        LIANA_TRY(augment_once(page, &from, variant, scratch, items));
    }
    return liana__data_page_grid(page, "augmented", items, from.count * (1 + NUM_VARIANTS),
                                 &(liana__grid_options){.title = "Training images, and how five epochs augment them",
                                                        .columns = 1 + NUM_VARIANTS});
}
