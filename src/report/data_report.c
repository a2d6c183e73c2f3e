/* Draws pictures of the data of a run. */
#include "report/reports.h"

#include "base/format.h"
#include "data/image/decode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SAMPLES = 24, NUM_ORIGINALS = 4, NUM_VARIANTS = 5, MAX_SIZES = 4096 };

typedef struct reporter {
    liana__run *run;
    const liana__drawings *drawings;
    liana__arena arena;
    liana__error *error;
    const liana__source *source; /* of the training data */
    void *scratch;               /* to read it with */
    liana__decoder decoder;
} reporter;

static liana_status write_grid(reporter *own, const char *name, const liana__grid_item *items, size_t count,
                               const liana__grid_options *options)
{
    const liana__drawing drawing = {.name = name, .kind = LIANA__DRAWING_GRID, .grid = {items, count, options}};
    return liana__drawings_add(own->drawings, &drawing, own->error);
}

static liana_status write_bars(reporter *own, const char *name, const liana__bars *bars)
{
    const liana__drawing drawing = {.name = name, .kind = LIANA__DRAWING_BARS, .bars = bars};
    return liana__drawings_add(own->drawings, &drawing, own->error);
}

/* -1: there is no class. */
static const char *class_name(reporter *own, int64_t number)
{
    const liana__strings *names = &own->run->class_names;
    if (number < 0) return "";
    if (number >= 0 && (size_t)number < names->count) return names->items[number];
    const char *name = liana__arena_format(&own->arena, "class %lld", (long long)number);
    return name ? name : "";
}

/* Reads a record of the training data. */
static liana_status read_record(reporter *own, uint64_t index, liana_source_record *record, int32_t *label)
{
    LIANA_TRY(liana__source_read(own->source, index, own->scratch, record, own->error));
    *label = -1;
    if (!own->source->has_labels) return LIANA_OK;
    return liana__source_label(own->source, index, record, own->run->config->data.label_offset, own->run->num_classes,
                               label, own->error);
}

/* Decodes a record to a size; the pixels live in the arena. */
static liana_status decode(reporter *own, uint64_t index, int64_t height, int64_t width, uint8_t **pixels,
                           int32_t *label)
{
    liana_source_record record;
    liana__decode_options options = {.height = height,
                                     .width = width,
                                     .channels = (int)own->run->image_shape[2],
                                     .antialias = own->run->config->data.resize.antialias};
    LIANA_TRY(read_record(own, index, &record, label));
    *pixels = liana__arena_allocate(&own->arena, (size_t)(height * width * options.channels));
    if (!*pixels) return liana__fail_memory(own->error, "an image");
    if (liana__decode_record(&own->decoder, &options, &record, NULL, *pixels, own->error) == LIANA_OK) return LIANA_OK;
    return liana__source_fail_within(own->source, index, &record, own->error);
}

static liana__grid_item item_of(reporter *own, const uint8_t *pixels, int64_t height, int64_t width, int32_t label)
{
    return (liana__grid_item){.pixels = pixels,
                              .height = (int)height,
                              .width = (int)width,
                              .channels = (int)own->run->image_shape[2],
                              .predicted = class_name(own, label),
                              .confidence = NAN};
}

/* ---- samples ---- */

static liana_status draw_samples(reporter *own)
{
    liana__grid_item items[MAX_SAMPLES];
    const int64_t *shape = own->run->image_shape;
    uint64_t total = own->source->num_records, count = total < MAX_SAMPLES ? total : MAX_SAMPLES;
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *pixels;
        int32_t label;
        /* Taken evenly from all, and not in step with classes that follow each other in turn. */
        uint64_t index = liana__permute(1, 0, i, total);
        LIANA_TRY(decode(own, index, shape[0], shape[1], &pixels, &label));
        items[i] = item_of(own, pixels, shape[0], shape[1], label);
    }
    char title[80];
    snprintf(title, sizeof title, "%llu of %llu training images", (unsigned long long)count, (unsigned long long)total);
    return write_grid(own, "samples", items, count, &(liana__grid_options){.title = title, .columns = 6});
}

/* ---- labels ---- */

static liana_status count_part(reporter *own, const liana__source *source, double *counts)
{
    liana__run *run = own->run;
    int32_t *labels = liana__arena_allocate(&own->arena, (size_t)(source->num_records + 1) * sizeof *labels);
    int64_t *whole = liana__arena_allocate(&own->arena, (size_t)(run->num_classes + 1) * sizeof *whole);
    if (!labels || !whole) return liana__fail_memory(own->error, "labels");
    LIANA_TRY(liana__source_labels(source, run->config->data.label_offset, run->num_classes, labels, own->error));
    liana__count_labels(labels, source->num_records, run->num_classes, whole);
    for (int64_t c = 0; c < run->num_classes; c++) counts[c] = (double)whole[c];
    return LIANA_OK;
}

static double *allocate_counts(reporter *own)
{
    return liana__arena_allocate(&own->arena, (size_t)(own->run->num_classes + 1) * sizeof(double));
}

static liana_status draw_labels(reporter *own, const char *const *names, const double *training)
{
    const liana__run *run = own->run;
    double *shares = allocate_counts(own), *validation = allocate_counts(own);
    if (!shares || !validation) return liana__fail_memory(own->error, "labels");
    for (int64_t c = 0; c < run->num_classes; c++) shares[c] = training[c] / (double)own->source->num_records;
    liana__bar_series series[2] = {{"training", shares, liana__ink_first},
                                   {"validation", validation, liana__ink_second}};
    liana__bars bars = {.title = "Number of examples in each class",
                        .labels = names,
                        .count = (size_t)run->num_classes,
                        .series = series,
                        .num_series = 1,
                        .percent = true};
    if (run->validation.source) {
        LIANA_TRY(count_part(own, run->validation.source, validation));
        for (int64_t c = 0; c < run->num_classes; c++) validation[c] /= (double)run->validation.source->num_records;
        bars.num_series = 2;
    }
    return write_bars(own, "labels", &bars);
}

static liana_status draw_sampling(reporter *own, const char *const *names, const double *training)
{
    const liana__run *run = own->run;
    if (!run->training.sampler) return LIANA_OK;
    double *after = allocate_counts(own);
    int64_t *counts = liana__arena_allocate(&own->arena, (size_t)(run->num_classes + 1) * sizeof *counts);
    if (!after || !counts) return liana__fail_memory(own->error, "labels");
    liana__sampler_count(run->training.sampler, 0, counts);
    for (int64_t c = 0; c < run->num_classes; c++) after[c] = (double)counts[c];
    int64_t target = run->config->data.oversample.target_count;
    const char *title = target ? "Training examples before and after oversampling"
                               : "Training examples before and after weighted sampling";
    char mark[40];
    snprintf(mark, sizeof mark, "target %lld", (long long)target);
    liana__bar_series series[2] = {{"records", training, liana__ink_quiet}, {"in epoch 1", after, liana__ink_first}};
    liana__bars bars = {.title = title,
                        .labels = names,
                        .count = (size_t)run->num_classes,
                        .series = series,
                        .num_series = 2,
                        .mark = (double)target,
                        .mark_label = mark};
    return write_bars(own, "sampling", &bars);
}

static liana_status draw_counts(reporter *own)
{
    double *training = allocate_counts(own);
    const char **names = liana__arena_allocate(&own->arena, (size_t)(own->run->num_classes + 1) * sizeof *names);
    if (!training || !names) return liana__fail_memory(own->error, "labels");
    for (int64_t c = 0; c < own->run->num_classes; c++) names[c] = class_name(own, c);
    LIANA_TRY(count_part(own, own->source, training));
    LIANA_TRY(draw_labels(own, names, training));
    return draw_sampling(own, names, training);
}

/* ---- sizes ---- */

static liana_status probe(reporter *own, uint64_t index, double *width, double *height)
{
    liana_source_record record;
    LIANA_TRY(liana__source_read(own->source, index, own->scratch, &record, own->error));
    liana__image image = {.height = record.height, .width = record.width};
    if (record.bytes && liana__image_probe(record.bytes, record.size, NULL, &image, own->error) != LIANA_OK) {
        return liana__source_fail_within(own->source, index, &record, own->error);
    }
    *width = (double)image.width;
    *height = (double)image.height;
    return LIANA_OK;
}

/* Adds an image of a size to the points; of very many sizes the later ones are left out. */
static void add_size(liana__scatter_point *points, size_t *count, double width, double height)
{
    size_t i = 0;
    while (i < *count && (points[i].width != width || points[i].height != height)) i++;
    if (i == MAX_SIZES) return;
    if (i == *count) points[(*count)++] = (liana__scatter_point){width, height, 0};
    points[i].count++;
}

static liana_status draw_sizes(reporter *own)
{
    liana__scatter_point *points = liana__arena_allocate(&own->arena, MAX_SIZES * sizeof *points);
    if (!points) return liana__fail_memory(own->error, "sizes");
    size_t count = 0;
    for (uint64_t i = 0; i < own->source->num_records; i++) {
        double width = 0, height = 0;
        LIANA_TRY(probe(own, i, &width, &height));
        add_size(points, &count, width, height);
    }
    char title[100];
    snprintf(title, sizeof title, "Sizes of the training images: %zu different", count);
    if (count == 1)
        liana__format(title, sizeof title, "All training images are %.0f x %.0f", points[0].width, points[0].height);
    const double target[2] = {(double)own->run->image_shape[1], (double)own->run->image_shape[0]};
    const liana__drawing drawing = {.name = "sizes",
                                    .kind = LIANA__DRAWING_SCATTER,
                                    .scatter = {title, points, count, target}};
    return liana__drawings_add(own->drawings, &drawing, own->error);
}

/* ---- augmentation ---- */

/* The originals of a page and their augmented images of one epoch: a shard of its own. */
typedef struct originals {
    uint64_t count;
    uint64_t records[NUM_ORIGINALS];
    uint8_t *pixels[NUM_ORIGINALS]; /* in the first shape of the list */
    int32_t labels[NUM_ORIGINALS];
} originals;

/* "+ 30% roses", or nothing for an image that was not mixed. */
static const char *mix_note(reporter *own, const liana__batch *batch, uint64_t i)
{
    const float *shares = liana__batch_rows_of(batch, LIANA__SHARES);
    const int32_t *partners = liana__batch_rows_of(batch, "partners");
    const double share = shares ? (double)shares[i] : 1;
    if (share >= 1) return NULL;
    return liana__arena_format(&own->arena, "+ %.0f%% %s", 100 * (1 - share), class_name(own, partners[i]));
}

static liana_status augment_once(reporter *own, const originals *from, uint64_t variant, void *scratch,
                                 liana__grid_item *items)
{
    const liana__run *run = own->run;
    const liana__augment *augment = run->training.augment;
    const int64_t *shape = run->image_shape;
    size_t size = (size_t)(shape[0] * shape[1] * shape[2]);
    uint64_t positions[NUM_ORIGINALS], records[NUM_ORIGINALS];
    int32_t labels[NUM_ORIGINALS], partners[NUM_ORIGINALS];
    float shares[NUM_ORIGINALS];
    uint8_t *images = liana__arena_allocate(&own->arena, NUM_ORIGINALS * size);
    if (!images) return liana__fail_memory(own->error, "augmented images");
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
                                         .position = variant * NUM_ORIGINALS + i,
                                         .record = from->records[i]};
        positions[i] = address.position;
        records[i] = address.record;
        labels[i] = from->labels[i];
        LIANA_TRY(liana__augment_apply(augment, &address, from->pixels[i], images + i * size, scratch, own->error));
    }
    if (liana__augment_mixes(augment)) {
        void *memory = liana__arena_allocate(&own->arena, liana__augment_mix_scratch_size(augment, NUM_ORIGINALS));
        if (!memory) return liana__fail_memory(own->error, "mixed images");
        liana__batch_add(&batch, "label", LIANA_S32, &LIANA_SCALAR, labels);
        liana__batch_add(&batch, "partners", LIANA_S32, &LIANA_SCALAR, partners);
        batch.components[1].partner_of = &batch.components[0];
        liana__batch_add(&batch, LIANA__SHARES, LIANA_F32, &LIANA_SCALAR, shares);
        liana__augment_mix(augment, NUM_ORIGINALS, &batch, (uint64_t)run->config->job.seed, memory);
    }
    for (uint64_t i = 0; i < from->count; i++) {
        liana__grid_item *item = &items[i * (1 + NUM_VARIANTS) + 1 + variant];
        *item = item_of(own, images + i * size, shape[0], shape[1], from->labels[i]);
        item->note = mix_note(own, &batch, i);
    }
    return LIANA_OK;
}

static liana_status draw_augmented(reporter *own)
{
    const liana__augment *augment = own->run->training.augment;
    if (!augment) return LIANA_OK;
    liana_image_shape first = liana__augment_input(augment);
    liana__grid_item items[NUM_ORIGINALS * (1 + NUM_VARIANTS)];
    uint64_t total = own->source->num_records;
    originals from = {.count = total < NUM_ORIGINALS ? total : NUM_ORIGINALS};
    for (uint64_t i = 0; i < from.count; i++) {
        from.records[i] = liana__permute(1, 0, i, total);
        LIANA_TRY(decode(own, from.records[i], first.height, first.width, &from.pixels[i], &from.labels[i]));
        liana__grid_item *item = &items[i * (1 + NUM_VARIANTS)];
        *item = item_of(own, from.pixels[i], first.height, first.width, from.labels[i]);
        item->note = "original";
    }
    void *scratch = liana__arena_allocate(&own->arena, liana__augment_scratch_size(augment) + LIANA__ALIGNMENT);
    if (!scratch) return liana__fail_memory(own->error, "augmented images");
    for (uint64_t variant = 0; variant < NUM_VARIANTS; variant++) {
        LIANA_TRY(augment_once(own, &from, variant, scratch, items));
    }
    return write_grid(own, "augmented", items, from.count * (1 + NUM_VARIANTS),
                      &(liana__grid_options){.title = "Training images, and how five epochs augment them",
                                             .columns = 1 + NUM_VARIANTS});
}

/* ---- all of it ---- */

static liana_status draw_column(void *user, size_t number, const liana__bars *bars)
{
    reporter *own = user;
    char name[32];
    snprintf(name, sizeof name, "column-%02zu", number);
    return write_bars(own, name, bars);
}

static liana_status draw_all(reporter *own)
{
    const bool has_images = !own->source->lacks_images;
    if (has_images) LIANA_TRY(draw_samples(own));
    if (own->source->has_labels && own->run->num_classes) LIANA_TRY(draw_counts(own));
    if (!has_images) return liana__report_columns(own->source, draw_column, own, own->error);
    LIANA_TRY(draw_sizes(own));
    return draw_augmented(own);
}

liana_status liana__report_data(liana__run *run, const liana__drawings *drawings, liana__error *error)
{
    reporter own = {.run = run, .drawings = drawings, .error = error, .source = run->training.source};
    own.scratch = liana__source_scratch_create(own.source);
    liana_status status = own.scratch ? draw_all(&own) : liana__fail_memory(error, "reading images");
    liana__source_scratch_destroy(own.source, own.scratch);
    liana__decoder_free(&own.decoder);
    liana__arena_free(&own.arena);
    return status;
}
