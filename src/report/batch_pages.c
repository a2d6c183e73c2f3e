/* Draws batches next to their originals. */
#include "report/data_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_IMAGES = 24, HALF = 4 };

/* Two halves of a page, image by image. */
typedef struct halves {
    liana__grid_item left[MOST_IMAGES], right[MOST_IMAGES];
    size_t num_left, num_right;
} halves;

/* ---- drawing ---- */

static liana_status draw_halves(liana__data_page *page, const char *name, const halves *both, const char *title,
                                const char *left, const char *right)
{
    liana__grid_item items[2 * MOST_IMAGES + 2 * HALF] = {{0}};
    const size_t most = both->num_left > both->num_right ? both->num_left : both->num_right;
    const size_t columns = most < HALF ? most : HALF, rows = columns ? (most + columns - 1) / columns : 0;
    for (size_t i = 0; i < most; i++) {
        const size_t at = i / columns * 2 * columns + i % columns;
        if (i < both->num_left) items[at] = both->left[i];
        if (i < both->num_right) items[at + columns] = both->right[i];
    }
    const liana__grid_options options = {.title = title, .columns = (int)(2 * columns), .halves = {left, right}};
    return liana__data_page_grid(page, name, items, 2 * columns * rows, &options);
}

/* ---- the batch ---- */

/* A batch of the training that the seed chooses: each epoch's first one, then each epoch's second one, ... */
static liana_status next_batch(liana__data_page *page, liana__batch **batch)
{
    liana__loader *loader = page->data->loader;
    const int64_t given = page->run->config->job.epochs;
    const uint64_t epochs = given > 0 ? (uint64_t)given : 1, set = page->seed - 1, epoch = set % epochs;
    const uint64_t steps = liana__loader_steps_per_epoch(loader, epoch);
    *batch = NULL;
    if (!steps) return LIANA_OK;
    LIANA_TRY(liana__loader_begin(loader, epoch, set / epochs % steps, page->error));
    return liana__loader_next(loader, batch, page->error);
}

static void title_of(const liana__batch *batch, const char *what, char *title, size_t size)
{
    snprintf(title, size, "Batch %" PRIu64 " of epoch %" PRIu64 ", %s", batch->step + 1, batch->epoch + 1, what);
}

/* ---- sampling ---- */

/* How often the sampler takes each record in the batch's epoch. An epoch of a given number of steps is no pass through
 * the data: then in the batch. */
static liana_status count_copies(liana__data_page *page, const liana__batch *batch, int64_t *copies)
{
    const liana__sampler *sampler = page->data->sampler;
    if (page->run->config->job.steps_per_epoch) {
        for (int64_t i = 0; i < batch->count; i++) copies[batch->records[i]]++;
        return LIANA_OK;
    }
    const uint64_t length = liana__sampler_length(sampler, batch->epoch);
    uint32_t *records = malloc((size_t)length * sizeof *records + 1);
    if (!records) return liana__fail_memory(page->error, "the records of an epoch");
    liana__sampler_fill(sampler, batch->epoch, records);
    for (uint64_t i = 0; i < length; i++) copies[records[i]]++;
    free(records);
    return LIANA_OK;
}

/* The records that a batch at this place would have without a sampler. */
static liana_status fill_unsampled(liana__data_page *page, const liana__batch *batch, size_t count, halves *both)
{
    const liana__run *run = page->run;
    const uint64_t total = page->source->num_records, size = (uint64_t)liana__loader_batch_size(page->data->loader);
    for (size_t i = 0; i < count; i++) {
        uint64_t index = (batch->step * size + i) % total;
        liana__page_image image;
        if (run->config->data.shuffle) {
            index = liana__permute((uint64_t)run->config->job.seed, batch->epoch, index, total);
        }
        const liana_status status =
            liana__data_page_decode(page, index, run->image_shape[0], run->image_shape[1], &image);
        if (liana__data_page_leaves_out(page, status)) continue;
        LIANA_TRY(status);
        both->left[both->num_left++] = liana__data_page_item(page, &image);
    }
    return LIANA_OK;
}

static liana_status fill_sampled(liana__data_page *page, const liana__batch *batch, size_t count, const int64_t *copies,
                                 halves *both)
{
    const int64_t *shape = page->run->image_shape;
    const char *within = page->run->config->job.steps_per_epoch ? "batch" : "epoch";
    for (size_t i = 0; i < count; i++) {
        liana__page_image image;
        LIANA_TRY(liana__data_page_decode(page, batch->records[i], shape[0], shape[1], &image));
        liana__grid_item *item = &both->right[both->num_right++];
        *item = liana__data_page_item(page, &image);
        const int64_t times = copies[batch->records[i]];
        if (times < 2) continue;
        item->marked = true;
        item->note = liana__arena_format(&page->arena, "%lld times in the %s", (long long)times, within);
    }
    return LIANA_OK;
}

static liana_status draw_sampled(liana__data_page *page, const liana__batch *batch, size_t count, halves *both)
{
    const bool oversamples = page->run->config->data.oversample.target_count > 0;
    int64_t *copies = calloc((size_t)page->source->num_records + 1, sizeof *copies);
    liana_status status = copies ? LIANA_OK : liana__fail_memory(page->error, "the records of an epoch");
    if (status == LIANA_OK) status = count_copies(page, batch, copies);
    if (status == LIANA_OK) status = fill_unsampled(page, batch, count, both);
    if (status == LIANA_OK) status = fill_sampled(page, batch, count, copies, both);
    free(copies);
    char title[120];
    title_of(batch, "images that come more than once are framed", title, sizeof title);
    const char *right = oversamples ? "with oversampling" : "with weighted sampling";
    return status == LIANA_OK ? draw_halves(page, "batch-sampled", both, title, "each image once in an epoch", right)
                              : status;
}

/* ---- augmentation ---- */

static liana_status draw_transformed(liana__data_page *page, const liana__batch *batch, size_t count, halves *both)
{
    const liana_image_shape first = liana__augment_input(page->data->augment);
    const int64_t *shape = page->run->image_shape;
    const size_t size = (size_t)(shape[0] * shape[1] * shape[2]);
    for (size_t i = 0; i < count; i++) {
        liana__page_image image;
        LIANA_TRY(liana__data_page_decode(page, batch->records[i], first.height, first.width, &image));
        both->left[i] = liana__data_page_item(page, &image);
        uint8_t *pixels = liana__arena_allocate(&page->arena, size);
        if (!pixels) return liana__fail_memory(page->error, "augmented images");
        liana__batch_pixels(batch, (int64_t)i, size, pixels);
        image.pixels = pixels;
        image.height = shape[0];
        image.width = shape[1];
        both->right[i] = liana__data_page_item(page, &image);
        both->right[i].note = liana__mix_note(page, batch, i);
    }
    both->num_left = both->num_right = count;
    char title[120];
    title_of(batch, "before and after augmentation", title, sizeof title);
    return draw_halves(page, "batch-augmented", both, title, "originals", "as the model gets them");
}

static liana_status draw_batch(liana__data_page *page, const liana__batch *batch)
{
    const size_t count = batch->count < MOST_IMAGES ? (size_t)batch->count : MOST_IMAGES;
    halves *both = liana__arena_allocate(&page->arena, 2 * sizeof *both);
    if (!both) return liana__fail_memory(page->error, "a batch");
    if (page->data->sampler) LIANA_TRY(draw_sampled(page, batch, count, &both[0]));
    return page->data->augment ? draw_transformed(page, batch, count, &both[1]) : LIANA_OK;
}

liana_status liana__draw_batches(liana__data_page *page)
{
    if (!page->data->sampler && !page->data->augment) return LIANA_OK;
    LIANA_TRY(liana__run_open_batches(page->run, page->data, page->error));
    liana__batch *batch;
    LIANA_TRY(next_batch(page, &batch));
    const liana_status status = batch ? draw_batch(page, batch) : LIANA_OK;
    if (batch) liana__loader_release(page->data->loader, batch);
    return status;
}
