/* Draws dot charts. */
#include "report/pictures.h"

#include "base/format.h"

#include <limits.h>
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
    liana__axis across;
} chart;

static double x_of(const chart *own, double value)
{
    return own->x + WIDTH * liana__axis_place(&own->across, value);
}

static double y_of(size_t row)
{
    return TITLE + ROW * ((double)row + 0.5);
}

static void choose_range(chart *own)
{
    own->across = liana__axis_begin(false);
    for (size_t i = 0; i < own->count; i++) {
        double mean = own->rows[i].mean, spread = isnan(own->rows[i].spread) ? 0 : own->rows[i].spread;
        if (isnan(mean)) continue;
        liana__axis_take(&own->across, mean - spread);
        liana__axis_take(&own->across, mean + spread);
    }
    liana__axis *across = &own->across;
    if (across->low > across->high) across->low = 0, across->high = 1;
    if (across->high - across->low < 1e-9) across->low -= 0.05, across->high += 0.05;
    liana__axis_round(across, 6);
}

static void draw_axis(chart *own)
{
    const liana__label label = {.size = 11, .align = 0.5, .ink = liana__ink_quiet};
    double bottom = TITLE + ROW * (double)own->count;
    for (int i = 0; i <= liana__axis_steps(&own->across); i++) {
        double value = own->across.low + i * own->across.step;
        char text[32];
        liana__axis_mark(&own->across, value, INT_MAX, text, sizeof text);
        liana__canvas_line(&own->canvas, x_of(own, value), TITLE, x_of(own, value), bottom, 1, liana__ink_line);
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
            liana__canvas_line(&own->canvas, x_of(own, row->mean - row->spread), y, x_of(own, row->mean + row->spread),
                               y, 2, ink);
        }
        liana__canvas_dot(&own->canvas, x, y, 5, ink);
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
    liana__canvas_title(&own.canvas, MARGIN, MARGIN + 8, 15, own.x + WIDTH + NUMBER - MARGIN, title);
    draw_axis(&own);
    for (size_t i = 0; i < count; i++) draw_row(&own, i);
    return liana__canvas_finish(&own.canvas, path, error);
}
