/* Draws a grid of images with predictions. */
#include "report/pictures.h"

#include "base/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The measures of a page, in pixels. */
enum {
    MARGIN = 20,
    GAP = 16,
    CAPTION = 40,
    TITLE = 44,
    BETWEEN = 40,
    HEADING = 28,
    FRAME = 4,
    DEFAULT_CELL = 128,
    MAX_ITEMS = 10000
};
static const double scale = 1.5; /* for sharp letters */

typedef struct page_layout {
    const char *path;
    size_t columns;
    size_t rows;
    double cell;
    double top;
    double width;
    double height;
    double between; /* in addition to the gap, before the second half of the columns */
} page_layout;

static page_layout plan(const char *path, size_t count, const liana__grid_options *options)
{
    page_layout page = {.path = path, .cell = options->cell_size > 0 ? options->cell_size : DEFAULT_CELL};
    double square = ceil(sqrt((double)count * (page.cell + CAPTION + GAP) / (page.cell + GAP)));
    page.columns = options->columns > 0 ? (size_t)options->columns : (size_t)fmax(square, 1);
    if (page.columns > count && count > 0) page.columns = count;
    page.rows = (count + page.columns - 1) / page.columns;
    page.between = options->halves[0] ? BETWEEN : 0;
    page.top = MARGIN + (options->title ? TITLE : 0) + (options->halves[0] ? HEADING : 0);
    page.width = 2 * MARGIN + (double)page.columns * (page.cell + GAP) - GAP + page.between;
    /* A few small images leave little room for the title. */
    if (options->title) page.width = fmax(page.width, fmin(2 * MARGIN + 12.0 * (double)strlen(options->title), 600));
    page.height = page.top + MARGIN + fmax((double)page.rows * (page.cell + CAPTION + GAP) - GAP, CAPTION);
    return page;
}

static void draw_image(liana__canvas *canvas, const liana__grid_item *item, double x, double y, double cell)
{
    cairo_t *cairo = canvas->cairo;
    cairo_surface_t *surface = liana__canvas_surface(item->pixels, item->height, item->width, item->channels);
    double factor = cell / fmax(item->width, item->height);
    cairo_save(cairo);
    cairo_rectangle(cairo, x, y, cell, cell);
    cairo_clip(cairo);
    liana__canvas_ink(canvas, liana__ink_line);
    cairo_paint(cairo);
    cairo_translate(cairo, x + (cell - item->width * factor) / 2, y + (cell - item->height * factor) / 2);
    cairo_scale(cairo, factor, factor);
    cairo_set_source_surface(cairo, surface, 0, 0);
    /* Tiny images are looked at pixel by pixel. */
    cairo_pattern_set_filter(cairo_get_source(cairo), factor >= 2 ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
    cairo_rectangle(cairo, 0, 0, item->width, item->height);
    cairo_fill(cairo);
    cairo_restore(cairo);
    cairo_surface_destroy(surface);
}

static void draw_caption(liana__canvas *canvas, const liana__grid_item *item, double x, double y, double cell,
                         liana__ink ink)
{
    double left = cell;
    if (!isnan(item->confidence)) {
        char percent[32];
        liana__format(percent, sizeof percent, "%.0f%%", 100 * item->confidence);
        const liana__label label = {.size = 12, .align = 1, .ink = liana__ink_quiet};
        left -= liana__canvas_text(canvas, x + cell, y + 17, &label, percent) + 6;
    }
    const liana__label said = {.size = 12, .bold = true, .max_width = left, .ink = ink};
    liana__canvas_text(canvas, x, y + 17, &said, item->predicted);
    const liana__label is = {.size = 11, .max_width = cell, .ink = liana__ink_quiet};
    if (!item->truth && item->note) liana__canvas_text(canvas, x, y + 33, &is, item->note);
    if (!item->truth) return;
    bool right = strcmp(item->truth, item->predicted) == 0;
    char text[512]; /* the name in its own direction (base/text.h) */
    snprintf(text, sizeof text, right ? "right" : "is \xe2\x81\xa8%s\xe2\x81\xa9", item->truth);
    liana__canvas_text(canvas, x, y + 33, &is, text);
}

static void draw_item(liana__canvas *canvas, const liana__grid_item *item, double x, double y, double cell)
{
    bool right = item->truth && strcmp(item->truth, item->predicted) == 0;
    liana__ink ink = !item->truth ? liana__ink_text : right ? liana__ink_good : liana__ink_bad;
    draw_image(canvas, item, x, y, cell);
    liana__canvas_ink(canvas, item->truth ? ink : item->marked ? liana__ink_second : liana__ink_line);
    cairo_set_line_width(canvas->cairo, FRAME);
    cairo_rectangle(canvas->cairo, x - FRAME / 2.0, y - FRAME / 2.0, cell + FRAME, cell + FRAME);
    cairo_stroke(canvas->cairo);
    draw_caption(canvas, item, x, y + cell + FRAME, cell, ink);
}

static double x_of(const page_layout *page, size_t column)
{
    return MARGIN + (double)column * (page->cell + GAP) + (column >= page->columns / 2 ? page->between : 0);
}

static void draw_page(liana__canvas *canvas, const page_layout *page, const liana__grid_item *items, size_t count,
                      const liana__grid_options *options)
{
    const char *title = options->title;
    if (title) liana__canvas_title(canvas, MARGIN, MARGIN + 16, 18, page->width - 2 * MARGIN, title);
    for (size_t i = 0; options->halves[0] && i < 2; i++) {
        const liana__label heading = {.size = 14,
                                      .bold = true,
                                      .max_width = (page->width - page->between) / 2 - MARGIN,
                                      .ink = liana__ink_quiet};
        liana__canvas_text(canvas, x_of(page, i * (page->columns / 2)), page->top - 12, &heading, options->halves[i]);
    }
    if (count == 0) {
        const liana__label label = {.size = 12, .ink = liana__ink_quiet};
        liana__canvas_text(canvas, MARGIN, page->top + 17, &label, "no images");
    }
    for (size_t i = 0; i < count; i++) {
        double x = x_of(page, i % page->columns);
        double y = page->top + (double)(i / page->columns) * (page->cell + CAPTION + GAP);
        if (items[i].pixels) draw_item(canvas, &items[i], x, y, page->cell);
    }
}

liana_status liana__grid_write(const char *path, const liana__grid_item *items, size_t count,
                               const liana__grid_options *options, liana__error *error)
{
    static const liana__grid_options defaults = {0};
    if (!options) options = &defaults;
    if (count > MAX_ITEMS) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s': %zu images, at most %d fit", path, count, MAX_ITEMS);
    }
    for (size_t i = 0; i < count; i++) {
        const liana__grid_item *item = &items[i];
        bool good = item->pixels && item->predicted && item->height > 0 && item->width > 0 &&
                    (item->channels == 1 || item->channels == 3);
        if (good || (!item->pixels && options->halves[0])) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s': image %zu has the shape [%d, %d, %d] or no prediction, expected pixels of 1 or 3 "
                           "channels and a predicted class",
                           path, i, item->height, item->width, item->channels);
    }
    page_layout page = plan(path, count, options);
    liana__canvas canvas;
    LIANA_TRY(liana__canvas_begin(&canvas, path, page.width, page.height, scale, error));
    draw_page(&canvas, &page, items, count, options);
    return liana__canvas_finish(&canvas, path, error);
}
