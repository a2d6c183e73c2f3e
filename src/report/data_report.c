/* Draws pictures of the data of a run. */
#include "report/data_page.h"

#include "base/format.h"

#include <math.h>
#include <stdio.h>

enum { MAX_SIZES = 4096 };

/* ---- labels ---- */

static liana_status count_part(liana__data_page *own, const liana__source *source, double *counts)
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

static double *allocate_counts(liana__data_page *own)
{
    return liana__arena_allocate(&own->arena, (size_t)(own->run->num_classes + 1) * sizeof(double));
}

/* Those of the training beside those of the validation, or those of another part alone. */
static liana_status draw_labels(liana__data_page *own, const char *const *names, const double *counts)
{
    const liana__run *run = own->run;
    const bool trains = own->data == &run->training;
    double *shares = allocate_counts(own), *validation = allocate_counts(own);
    if (!shares || !validation) return liana__fail_memory(own->error, "labels");
    for (int64_t c = 0; c < run->num_classes; c++) shares[c] = counts[c] / (double)own->source->num_records;
    liana__bar_series series[2] = {{own->noun, shares, trains ? liana__ink_first : liana__ink_second},
                                   {"validation", validation, liana__ink_second}};
    liana__bars bars = {.title = "Number of examples in each class",
                        .labels = names,
                        .count = (size_t)run->num_classes,
                        .series = series,
                        .num_series = 1,
                        .percent = true};
    if (trains && run->validation.source) {
        LIANA_TRY(count_part(own, run->validation.source, validation));
        for (int64_t c = 0; c < run->num_classes; c++) validation[c] /= (double)run->validation.source->num_records;
        bars.num_series = 2;
    }
    return liana__data_page_bars(own, "labels", &bars);
}

static liana_status draw_sampling(liana__data_page *own, const char *const *names, const double *training)
{
    const liana__run *run = own->run;
    if (own->data != &run->training || !run->training.sampler) return LIANA_OK;
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
    return liana__data_page_bars(own, "sampling", &bars);
}

static liana_status draw_counts(liana__data_page *own)
{
    double *counts = allocate_counts(own);
    const char **names = liana__arena_allocate(&own->arena, (size_t)(own->run->num_classes + 1) * sizeof *names);
    if (!counts || !names) return liana__fail_memory(own->error, "labels");
    for (int64_t c = 0; c < own->run->num_classes; c++) names[c] = liana__data_page_class(own, c);
    LIANA_TRY(count_part(own, own->source, counts));
    LIANA_TRY(draw_labels(own, names, counts));
    return draw_sampling(own, names, counts);
}

/* ---- sizes ---- */

static liana_status probe(liana__data_page *own, uint64_t index, double *width, double *height)
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

static liana_status draw_sizes(liana__data_page *own)
{
    liana__scatter_point *points = liana__arena_allocate(&own->arena, MAX_SIZES * sizeof *points);
    if (!points) return liana__fail_memory(own->error, "sizes");
    size_t count = 0;
    for (uint64_t i = 0; i < own->source->num_records; i++) {
        double width = 0, height = 0;
        const liana_status status = probe(own, i, &width, &height);
        if (liana__data_page_leaves_out(own, status)) continue;
        LIANA_TRY(status);
        add_size(points, &count, width, height);
    }
    char title[100];
    snprintf(title, sizeof title, "Sizes of the %s images: %zu different", own->noun, count);
    if (count == 1) {
        liana__format(title, sizeof title, "All %s images are %.0f x %.0f", own->noun, points[0].width,
                      points[0].height);
    }
    const double target[2] = {(double)own->run->image_shape[1], (double)own->run->image_shape[0]};
    return liana__data_page_scatter(own, "sizes", title, points, count, target);
}

/* ---- columns ---- */

static liana_status draw_column(void *user, size_t number, const liana__bars *bars)
{
    liana__data_page *own = user;
    char name[32];
    snprintf(name, sizeof name, "column-%02zu", number);
    return liana__data_page_bars(own, name, bars);
}

/* One column has nothing to do with another. */
static liana_status draw_correlations(liana__data_page *own)
{
    const liana__correlation_request request = {.num_classes = own->run->num_classes,
                                                .label_offset = own->run->config->data.label_offset};
    liana__correlations found;
    LIANA_TRY(liana__correlations_find(own->source, &request, &own->arena, &found, own->error));
    if (found.count < 2) return LIANA_OK;
    char title[100];
    snprintf(title, sizeof title, "Correlations in %llu %s examples", (unsigned long long)own->source->num_records,
             own->noun);
    const liana__correlation_matrix matrix = {.title = title,
                                              .names = found.names,
                                              .categories = found.categories,
                                              .values = found.values,
                                              .count = found.count};
    return liana__data_page_correlations(own, "correlations", &matrix);
}

/* ---- all of it ---- */

/* What each part has: its images, or its values. */
static liana_status draw_contents(liana__data_page *own, bool samples_alone)
{
    const bool has_images = !own->source->lacks_images;
    if (has_images) LIANA_TRY(liana__draw_samples(own));
    if (samples_alone) return LIANA_OK;
    if (has_images) return draw_sizes(own);
    LIANA_TRY(liana__report_columns(own->source, draw_column, own, own->error));
    return draw_correlations(own);
}

static liana_status draw_part(liana__data_page *own, liana__report_part part, const liana__data_report_options *options)
{
    const bool of_all = options->part == LIANA__PART_ALL;
    if (!own->source->num_records) return LIANA_OK;
    const bool samples_alone = of_all && part != LIANA__PART_TRAINING, has_images = !own->source->lacks_images;
    LIANA_TRY(draw_contents(own, samples_alone));
    if (!samples_alone && own->source->has_labels && own->run->num_classes) LIANA_TRY(draw_counts(own));
    if (part != LIANA__PART_TRAINING || !has_images) return LIANA_OK;
    LIANA_TRY(liana__draw_augmented(own));
    return options->batches ? liana__draw_batches(own) : LIANA_OK;
}

liana_status liana__report_data(liana__run *run, const liana__data_report_options *options,
                                const liana__drawings *drawings, liana__error *error)
{
    const bool of_all = options->part == LIANA__PART_ALL;
    liana_status status = LIANA_OK;
    for (liana__report_part part = LIANA__PART_TRAINING; part < LIANA__PART_ALL && status == LIANA_OK; part++) {
        if (!liana__run_part(run, part)->source || (!of_all && part != options->part)) continue;
        liana__data_page own = {.run = run, .drawings = drawings, .seed = options->seed, .error = error};
        status = liana__data_page_begin(&own, part);
        if (status == LIANA_OK) status = draw_part(&own, part, options);
        liana__data_page_end(&own);
    }
    return status;
}
