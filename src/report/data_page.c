/* Reads records for pictures of data, and hands the pictures on. */
#include "report/data_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

const char *const liana__report_part_names[] = {"training", "validation", "test", "all", NULL};

liana__run_data *liana__run_part(liana__run *run, liana__report_part part)
{
    liana__run_data *const parts[] = {&run->training, &run->validation, &run->test};
    return parts[part];
}

liana_status liana__data_page_begin(liana__data_page *page, liana__report_part part)
{
    static const char *const prefixes[] = {"", "validation-", "test-"};
    page->prefix = prefixes[part];
    page->noun = liana__report_part_names[part];
    page->data = liana__run_part(page->run, part);
    page->source = page->data->source;
    page->scratch = liana__source_scratch_create(page->source);
    return page->scratch ? LIANA_OK : liana__fail_memory(page->error, "reading records");
}

void liana__data_page_end(liana__data_page *page)
{
    if (page->scratch) liana__source_scratch_destroy(page->source, page->scratch);
    liana__decoder_free(&page->decoder);
    liana__arena_free(&page->arena);
}

/* ---- drawings ---- */

static liana_status add(liana__data_page *page, const char *name, liana__drawing drawing)
{
    drawing.name = *page->prefix ? liana__arena_format(&page->arena, "%s%s", page->prefix, name) : name;
    if (!drawing.name) return liana__fail_memory(page->error, name);
    return liana__drawings_add(page->drawings, &drawing, page->error);
}

liana_status liana__data_page_grid(liana__data_page *page, const char *name, const liana__grid_item *items,
                                   size_t count, const liana__grid_options *options)
{
    return add(page, name, (liana__drawing){.kind = LIANA__DRAWING_GRID, .grid = {items, count, options}});
}

liana_status liana__data_page_bars(liana__data_page *page, const char *name, const liana__bars *bars)
{
    return add(page, name, (liana__drawing){.kind = LIANA__DRAWING_BARS, .bars = bars});
}

liana_status liana__data_page_correlations(liana__data_page *page, const char *name,
                                           const liana__correlation_matrix *matrix)
{
    return add(page, name, (liana__drawing){.kind = LIANA__DRAWING_CORRELATIONS, .correlations = matrix});
}

liana_status liana__data_page_scatter(liana__data_page *page, const char *name, const char *title,
                                      const liana__scatter_point *points, size_t count, const double target[2])
{
    return add(page, name, (liana__drawing){.kind = LIANA__DRAWING_SCATTER, .scatter = {title, points, count, target}});
}

/* ---- reading ---- */

const char *liana__data_page_class(liana__data_page *page, int64_t number)
{
    const liana__strings *names = &page->run->class_names;
    if (number < 0) return "";
    if ((size_t)number < names->count) return names->items[number];
    const char *name = liana__arena_format(&page->arena, "class %lld", (long long)number);
    return name ? name : "";
}

/* Taken from all, and not in step with classes that follow each other in turn. */
uint64_t liana__data_page_choose(const liana__data_page *page, uint64_t i, uint64_t count)
{
    const uint64_t total = page->source->num_records, sets = total / count, set = page->seed - 1;
    return liana__permute(1, set / sets, set % sets * count + i, total);
}

bool liana__data_page_leaves_out(const liana__data_page *page, liana_status status)
{
    return page->run->config->data.on_bad_record == LIANA__ON_BAD_RECORD_SKIP && liana__source_is_bad_record(status);
}

static const char *record_name(liana__data_page *page, uint64_t index, const liana_source_record *record)
{
    char id[96];
    const char *name = liana__source_id(record, id, sizeof id);
    name = name ? liana__arena_string(&page->arena, name) : liana__arena_format(&page->arena, "record %" PRIu64, index);
    return name ? name : "";
}

liana_status liana__data_page_decode(liana__data_page *page, uint64_t record, int64_t height, int64_t width,
                                     liana__page_image *image)
{
    const liana__run *run = page->run;
    const liana__decode_options options = {.height = height,
                                           .width = width,
                                           .channels = (int)run->image_shape[2],
                                           .antialias = run->config->data.resize.antialias};
    liana_source_record read;
    *image = (liana__page_image){.height = height, .width = width, .label = -1};
    LIANA_TRY(liana__source_read(page->source, record, page->scratch, &read, page->error));
    image->name = record_name(page, record, &read);
    if (page->source->has_labels && run->num_classes) {
        LIANA_TRY(liana__source_label(page->source, record, &read, run->config->data.label_offset, run->num_classes,
                                      &image->label, page->error));
    }
    uint8_t *pixels = liana__arena_allocate(&page->arena, (size_t)(height * width * options.channels));
    if (!pixels) return liana__fail_memory(page->error, "an image");
    image->pixels = pixels;
    if (liana__decode_record(&page->decoder, &options, &read, NULL, pixels, page->error) == LIANA_OK) return LIANA_OK;
    return liana__source_fail_within(page->source, record, &read, page->error);
}

liana__grid_item liana__data_page_item(liana__data_page *page, const liana__page_image *image)
{
    return (liana__grid_item){.pixels = image->pixels,
                              .height = (int)image->height,
                              .width = (int)image->width,
                              .channels = (int)page->run->image_shape[2],
                              .predicted = image->label < 0 ? image->name : liana__data_page_class(page, image->label),
                              .confidence = NAN};
}
