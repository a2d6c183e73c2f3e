/* Draws dot charts. */
#include "report/dots.h"

#include "base/format.h"
#include "report/curves.h"
#include "report/figure.h"

#include <math.h>
#include <string.h>

/* The measures in pixels. */
enum { MARGIN = 20, TITLE = 44, ROW = 30, WIDTH = 420, BOTTOM = 34, NUMBER = 130, LETTER = 8 };
static const double scale = 2;

typedef struct chart {
    liana__canvas canvas;
    const liana__dots_row *rows;
    size_t count;
    double x; /* of the left end of the axis */
    double low, high, step;
} chart;

static double x_of(const chart *own, double value)
{
    return own->x + WIDTH * (value - own->low) / (own->high - own->low);
}

static double y_of(size_t row)
{
    return TITLE + ROW * ((double)row + 0.5);
}

static void choose_range(chart *own)
{
    own->low = INFINITY;
    own->high = -INFINITY;
    for (size_t i = 0; i < own->count; i++) {
        double mean = own->rows[i].mean, spread = isnan(own->rows[i].spread) ? 0 : own->rows[i].spread;
        if (isnan(mean)) continue;
        own->low = fmin(own->low, mean - spread);
        own->high = fmax(own->high, mean + spread);
    }
    if (own->low > own->high) own->low = 0, own->high = 1;
    if (own->high - own->low < 1e-9) own->low -= 0.05, own->high += 0.05;
    own->step = liana__curves_step(own->low, own->high, 6);
    own->low = floor(own->low / own->step + 1e-9) * own->step;
    own->high = ceil(own->high / own->step - 1e-9) * own->step;
}

static void draw_line(chart *own, double x0, double y0, double x1, double y1, double width, liana__ink ink)
{
    cairo_t *cairo = own->canvas.cairo;
    cairo_move_to(cairo, x0, y0);
    cairo_line_to(cairo, x1, y1);
    cairo_set_line_width(cairo, width);
    liana__canvas_ink(&own->canvas, ink);
    cairo_stroke(cairo);
}

static void draw_axis(chart *own)
{
    const liana__label label = {.size = 11, .align = 0.5, .ink = liana__ink_quiet};
    double bottom = TITLE + ROW * (double)own->count;
    int decimals = (int)fmax(0, -floor(log10(own->step) + 1e-9));
    int marks = (int)lround((own->high - own->low) / own->step);
    for (int i = 0; i <= marks; i++) {
        double value = own->low + i * own->step;
        char text[32];
        liana__format(text, sizeof text, "%.*f", decimals, fabs(value) < own->step / 2 ? 0.0 : value);
        draw_line(own, x_of(own, value), TITLE, x_of(own, value), bottom, 1, liana__ink_line);
        liana__canvas_text(&own->canvas, x_of(own, value), bottom + 18, &label, text);
    }
}

static void draw_row(chart *own, size_t index)
{
    const liana__dots_row *row = &own->rows[index];
    const liana__label name = {.size = 12, .align = 1, .ink = liana__ink_text};
    const liana__label number = {.size = 11, .ink = liana__ink_quiet};
    const liana__ink ink = liana__figure_inks[0];
    double y = y_of(index);
    char text[64] = "no finished run";
    liana__canvas_text(&own->canvas, own->x - 12, y + 4, &name, row->name);
    if (!isnan(row->mean)) {
        double x = x_of(own, row->mean);
        liana__format(text, sizeof text, "%.4f", row->mean);
        if (!isnan(row->spread)) {
            liana__format(text, sizeof text, "%.4f \xc2\xb1 %.4f", row->mean, row->spread);
            draw_line(own, x_of(own, row->mean - row->spread), y, x_of(own, row->mean + row->spread), y, 2, ink);
        }
        cairo_arc(own->canvas.cairo, x, y, 5, 0, 2 * M_PI);
        liana__canvas_ink(&own->canvas, ink);
        cairo_fill(own->canvas.cairo);
    }
    liana__canvas_text(&own->canvas, own->x + WIDTH + 14, y + 4, &number, text);
}

liana_status liana__dots_write(const char *path, const char *title, const liana__dots_row *rows, size_t count,
                               liana__error *error)
{
    chart own = {.rows = rows, .count = count};
    double widest = 60;
    for (size_t i = 0; i < count; i++) widest = fmax(widest, LETTER * (double)strlen(rows[i].name));
    own.x = MARGIN + widest + 12;
    choose_range(&own);
    LIANA_TRY(liana__canvas_begin(&own.canvas, path, own.x + WIDTH + NUMBER + MARGIN,
                                  TITLE + ROW * (double)count + BOTTOM, scale, error));
    const liana__label label = {.size = 15,
                                .bold = true,
                                .max_width = own.x + WIDTH + NUMBER - MARGIN,
                                .ink = liana__ink_text};
    liana__canvas_text(&own.canvas, MARGIN, MARGIN + 8, &label, title);
    draw_axis(&own);
    for (size_t i = 0; i < count; i++) draw_row(&own, i);
    return liana__canvas_finish(&own.canvas, path, error);
}
