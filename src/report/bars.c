/* Draws a row of bars for each class. */
#include "report/pictures.h"

#include "base/format.h"

#include <math.h>
#include <stdio.h>

/* The measures of a page, in pixels. */
enum {
    MARGIN = 24,
    TITLE = 34,
    LEGEND = 26,
    LABELS = 170,
    WIDTH = 480,
    NUMBERS = 70,
    BAR = 10,
    GAP = 12,
    MAX_ROWS = 500
};
static const double scale = 2;

typedef struct page {
    liana__canvas *canvas;
    const liana__bars *bars;
    size_t rows;
    double row_height;
    double top;
    double largest; /* the value of a full bar */
} page;

static double length_of(const page *own, double value)
{
    return own->largest > 0 ? WIDTH * value / own->largest : 0;
}

static void draw_bar(const page *own, const liana__bar_series *series, size_t row, size_t index)
{
    double x = MARGIN + LABELS, y = own->top + (double)row * own->row_height + (double)index * BAR;
    double value = series->values[row], length = length_of(own, value);
    liana__canvas_box(own->canvas, x, y + 1, fmax(length, value > 0 ? 1 : 0), BAR - 2, series->ink);
    char text[40];
    const bool percent = own->bars->percent;
    if (!own->bars->fractions)
        liana__format(text, sizeof text, percent ? "%.1f%%" : "%.0f", percent ? 100 * value : value);
    if (own->bars->fractions) liana__format(text, sizeof text, "%.4g", value);
    const liana__label label = {.size = 9, .ink = liana__ink_quiet};
    liana__canvas_text(own->canvas, x + length + 5, y + BAR - 2, &label, text);
}

static void draw_row(const page *own, size_t row)
{
    double bars = (double)own->bars->num_series * BAR, y = own->top + (double)row * own->row_height;
    const liana__label label = {.size = 12, .align = 1, .max_width = LABELS - 12, .ink = liana__ink_text};
    liana__canvas_text(own->canvas, MARGIN + LABELS - 8, y + bars / 2 + 4, &label, own->bars->labels[row]);
    for (size_t i = 0; i < own->bars->num_series; i++) draw_bar(own, &own->bars->series[i], row, i);
}

static void draw_legend(const page *own, double y)
{
    double x = MARGIN + LABELS;
    const liana__label label = {.size = 12, .ink = liana__ink_text};
    for (size_t i = 0; i < own->bars->num_series; i++) {
        liana__canvas_box(own->canvas, x, y - 9, 10, 10, own->bars->series[i].ink);
        x += 16 + liana__canvas_text(own->canvas, x + 16, y, &label, own->bars->series[i].name) + 22;
    }
}

/* A line at a value, behind the bars. */
static void draw_mark(const page *own, double bottom)
{
    if (own->bars->mark <= 0) return;
    cairo_t *cairo = own->canvas->cairo;
    double x = MARGIN + LABELS + length_of(own, own->bars->mark);
    const double dashes[] = {4, 3};
    cairo_set_dash(cairo, dashes, 2, 0);
    liana__canvas_line(own->canvas, x, own->top - 2, x, bottom + 4, 1, liana__ink_text);
    cairo_set_dash(cairo, NULL, 0, 0);
    const liana__label label = {.size = 11, .align = 0.5, .ink = liana__ink_text};
    liana__canvas_text(own->canvas, x, bottom + 18, &label, own->bars->mark_label);
}

static void draw_page(page *own, double bottom)
{
    liana__canvas_title(own->canvas, MARGIN, MARGIN + 16, 16, LABELS + WIDTH + NUMBERS, own->bars->title);
    draw_legend(own, MARGIN + TITLE + 12);
    draw_mark(own, bottom);
    for (size_t row = 0; row < own->rows; row++) draw_row(own, row);
    if (own->rows == own->bars->count) return;
    char text[80];
    snprintf(text, sizeof text, "and %zu more", own->bars->count - own->rows);
    const liana__label more = {.size = 12, .align = 1, .ink = liana__ink_quiet};
    liana__canvas_text(own->canvas, MARGIN + LABELS - 8, bottom + 18, &more, text);
}

liana_status liana__bars_write(const char *path, const liana__bars *bars, liana__error *error)
{
    liana__canvas canvas;
    page own = {.canvas = &canvas,
                .bars = bars,
                .rows = bars->count < MAX_ROWS ? bars->count : MAX_ROWS,
                .row_height = (double)bars->num_series * BAR + GAP,
                .top = MARGIN + TITLE + LEGEND + 6,
                .largest = bars->mark};
    for (size_t i = 0; i < bars->num_series; i++) {
        for (size_t row = 0; row < own.rows; row++) own.largest = fmax(own.largest, bars->series[i].values[row]);
    }
    double bottom = own.top + (double)own.rows * own.row_height - GAP;
    LIANA_TRY(
        liana__canvas_begin(&canvas, path, 2 * MARGIN + LABELS + WIDTH + NUMBERS, bottom + 24 + MARGIN, scale, error));
    draw_page(&own, bottom);
    return liana__canvas_finish(&canvas, path, error);
}
