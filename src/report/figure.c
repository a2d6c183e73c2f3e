/* Draws line charts. */
#include "report/figure.h"

#include "base/format.h"
#include "report/curves.h"

#include <math.h>
#include <string.h>

/* The measures in pixels. */
enum {
    MARGIN = 24,
    TITLE = 36,
    KEY_HEIGHT = 20,
    KEY_WIDTH = 236, /* at least */
    KEY_LETTER = 8,  /* about, of a letter */
    KEY_SAMPLE = 28,
    LEFT = 62,
    TOP = 40,
    BOTTOM = 50,
    RIGHT = 22,
    WIDTH = 400,
    HEIGHT = 240
};
static const double scale = 2;

const liana__ink liana__figure_inks[LIANA__FIGURE_INKS] = {
    {0.00, 0.45, 0.70}, /* blue */
    {0.84, 0.37, 0.00}, /* vermilion */
    {0.00, 0.62, 0.45}, /* bluish green */
    {0.80, 0.47, 0.65}, /* reddish purple */
    {0.90, 0.62, 0.00}, /* orange */
    {0.34, 0.71, 0.91}, /* sky blue */
    {0.25, 0.25, 0.25}, /* nearly black */
};

typedef struct axis {
    double low, high, step;
    bool logarithmic; /* low, high and step are decades */
} axis;

typedef struct plot {
    liana__canvas *canvas;
    const liana__figure_panel *panel;
    double x, y; /* top left corner of the plotting area */
    axis across, up;
} plot;

/* ---- axes ---- */

static double along(const axis *own, double value)
{
    double at = own->logarithmic ? log10(value) : value;
    return (at - own->low) / (own->high - own->low);
}

static double x_of(const plot *own, double value)
{
    return own->x + WIDTH * along(&own->across, value);
}

static double y_of(const plot *own, double value)
{
    return own->y + HEIGHT * (1 - along(&own->up, value));
}

static void widen(axis *own, double value)
{
    if (own->logarithmic) value = value > 0 ? log10(value) : NAN;
    if (!isfinite(value)) return;
    own->low = fmin(own->low, value);
    own->high = fmax(own->high, value);
}

/* No value, one value, or values that a double can hardly tell apart still need a range around them. */
static void make_room(axis *own)
{
    if (own->low > own->high) own->low = 0, own->high = 1;
    double least = fmax(fabs(own->low), fabs(own->high)) * 1e-6 + 1e-12;
    if (own->high - own->low >= least) return;
    double half = fmax(fabs(own->high) * 0.1, 1e-6);
    own->low -= half;
    own->high += half;
}

static void find_range_across(plot *own)
{
    const liana__figure_panel *panel = own->panel;
    own->across = (axis){.low = INFINITY, .high = -INFINITY, .logarithmic = panel->log_x};
    for (size_t i = 0; i < panel->num_lines; i++) {
        const liana__figure_line *line = &panel->lines[i];
        for (size_t k = 0; k < line->count; k++) widen(&own->across, line->x[k]);
        if (line->extended_to > 0) widen(&own->across, line->extended_to);
    }
    make_room(&own->across);
    own->across.step = liana__curves_step(own->across.low, own->across.high, 7);
    if (panel->whole_x || panel->log_x) own->across.step = fmax(1, own->across.step);
}

/* The axis ends at marks just outside of the values. */
static void find_range_up(plot *own)
{
    const liana__figure_panel *panel = own->panel;
    own->up = (axis){.low = INFINITY, .high = -INFINITY};
    for (size_t i = 0; i < panel->num_lines; i++) {
        const liana__figure_line *line = &panel->lines[i];
        for (size_t k = 0; k < line->count; k++) widen(&own->up, line->y[k]);
    }
    if (panel->y_most > 0 && own->up.low < panel->y_most) own->up.high = fmin(own->up.high, panel->y_most);
    make_room(&own->up);
    own->up.step = liana__curves_step(own->up.low, own->up.high, 5);
    own->up.low = floor(own->up.low / own->up.step + 1e-9) * own->up.step;
    own->up.high = ceil(own->up.high / own->up.step - 1e-9) * own->up.step;
}

static void format_mark(char *text, size_t size, double value, const axis *own)
{
    int decimals = (int)fmax(0, -floor(log10(own->step) + 1e-9));
    if (own->logarithmic) {
        liana__format(text, size, "1e%d", (int)lround(value));
    } else if (decimals > 5 || fabs(value) >= 1e6) {
        liana__format(text, size, "%.3g", fabs(value) < own->step / 2 ? 0.0 : value);
    } else {
        liana__format(text, size, "%.*f", decimals, fabs(value) < own->step / 2 ? 0.0 : value);
    }
}

static void draw_line(liana__canvas *canvas, double x0, double y0, double x1, double y1)
{
    cairo_move_to(canvas->cairo, x0, y0);
    cairo_line_to(canvas->cairo, x1, y1);
    cairo_set_line_width(canvas->cairo, 1);
    liana__canvas_ink(canvas, liana__ink_line);
    cairo_stroke(canvas->cairo);
}

static void draw_axes(const plot *own)
{
    const liana__label value_label = {.size = 11, .align = 1, .ink = liana__ink_quiet};
    const liana__label x_label = {.size = 11, .align = 0.5, .ink = liana__ink_quiet};
    char text[64];
    int marks = (int)lround((own->up.high - own->up.low) / own->up.step);
    for (int i = 0; i <= marks; i++) {
        double value = own->up.low + i * own->up.step, y = y_of(own, value);
        draw_line(own->canvas, own->x, y, own->x + WIDTH, y);
        format_mark(text, sizeof text, value, &own->up);
        liana__canvas_text(own->canvas, own->x - 8, y + 4, &value_label, text);
    }
    const axis *across = &own->across;
    double first = ceil(across->low / across->step - 1e-9) * across->step;
    for (double value = first; value <= across->high + across->step * 1e-9; value += across->step) {
        double x = own->x + WIDTH * (value - across->low) / (across->high - across->low);
        draw_line(own->canvas, x, own->y + HEIGHT, x, own->y + HEIGHT + 4);
        format_mark(text, sizeof text, value, across);
        liana__canvas_text(own->canvas, x, own->y + HEIGHT + 18, &x_label, text);
    }
    liana__canvas_text(own->canvas, own->x + WIDTH / 2.0, own->y + HEIGHT + 36, &x_label, own->panel->x_label);
}

/* ---- lines ---- */

static void set_pen(const liana__canvas *canvas, bool dashed, bool thin)
{
    static const double dashes[] = {6, 4};
    cairo_set_dash(canvas->cairo, dashes, dashed ? 2 : 0, 0);
    cairo_set_line_width(canvas->cairo, thin ? 1 : 2);
    cairo_set_line_join(canvas->cairo, CAIRO_LINE_JOIN_ROUND);
}

static bool has_point(const liana__figure_line *line, size_t index)
{
    return index < line->count && isfinite(line->y[index]);
}

static void draw_dot(const plot *own, double x, double y, double radius, liana__ink ink)
{
    cairo_new_path(own->canvas->cairo);
    cairo_arc(own->canvas->cairo, x, y, radius, 0, 2 * M_PI);
    liana__canvas_ink(own->canvas, ink);
    cairo_fill(own->canvas->cairo);
}

static void draw_extension(const plot *own, const liana__figure_line *line, size_t last)
{
    static const double dots[] = {1.5, 4};
    cairo_t *cairo = own->canvas->cairo;
    double y = y_of(own, line->y[last]);
    cairo_set_dash(cairo, dots, 2, 0);
    cairo_set_line_width(cairo, 1.5);
    cairo_move_to(cairo, x_of(own, line->x[last]), y);
    cairo_line_to(cairo, x_of(own, line->extended_to), y);
    cairo_stroke(cairo);
    cairo_set_dash(cairo, dots, 0, 0);
    draw_dot(own, x_of(own, line->x[last]), y, 3, line->ink);
}

/* The line breaks where a value is missing; a value with no neighbours shows as a dot. */
static void draw_curve(const plot *own, const liana__figure_line *line)
{
    cairo_t *cairo = own->canvas->cairo;
    size_t last = 0;
    liana__canvas_ink(own->canvas, line->ink);
    set_pen(own->canvas, line->dashed, line->thin);
    for (size_t i = 0; i < line->count; i++) {
        if (!has_point(line, i)) continue;
        bool joined = i > 0 && has_point(line, i - 1);
        (joined ? cairo_line_to : cairo_move_to)(cairo, x_of(own, line->x[i]), y_of(own, line->y[i]));
        last = i;
    }
    cairo_stroke(cairo);
    set_pen(own->canvas, false, false);
    for (size_t i = 0; i < line->count; i++) {
        bool alone = has_point(line, i) && !has_point(line, i + 1) && !(i > 0 && has_point(line, i - 1));
        if (alone) draw_dot(own, x_of(own, line->x[i]), y_of(own, line->y[i]), 3, line->ink);
    }
    if (has_point(line, last) && line->extended_to > line->x[last]) {
        liana__canvas_ink(own->canvas, line->ink);
        draw_extension(own, line, last);
    }
}

static void draw_ring(const plot *own, const liana__figure_mark *mark)
{
    if (!isfinite(mark->x) || !isfinite(mark->y)) return;
    double x = x_of(own, mark->x), y = y_of(own, mark->y);
    draw_dot(own, x, y, 6, mark->ink);
    draw_dot(own, x, y, 3.5, (liana__ink){1, 1, 1});
}

static void draw_panel(plot *own)
{
    const liana__figure_panel *panel = own->panel;
    const liana__label title = {.size = 14, .bold = true, .max_width = WIDTH, .ink = liana__ink_text};
    find_range_across(own);
    find_range_up(own);
    liana__canvas_text(own->canvas, own->x, own->y - 14, &title, panel->title);
    draw_axes(own);
    cairo_save(own->canvas->cairo);
    cairo_rectangle(own->canvas->cairo, own->x - 7, own->y - 7, WIDTH + 14, HEIGHT + 14);
    cairo_clip(own->canvas->cairo);
    for (size_t i = 0; i < panel->num_lines; i++) draw_curve(own, &panel->lines[i]);
    for (size_t i = 0; i < panel->num_marks; i++) draw_ring(own, &panel->marks[i]);
    cairo_restore(own->canvas->cairo);
}

/* ---- the page ---- */

static void draw_key(const plot *own, const liana__figure_key *key, double width)
{
    const liana__label label = {.size = 12, .max_width = width - KEY_SAMPLE - 20, .ink = liana__ink_text};
    cairo_t *cairo = own->canvas->cairo;
    if (key->ring) {
        draw_dot(own, own->x + KEY_SAMPLE / 2.0, own->y - 4, 6, key->ink);
        draw_dot(own, own->x + KEY_SAMPLE / 2.0, own->y - 4, 3.5, (liana__ink){1, 1, 1});
    } else {
        liana__canvas_ink(own->canvas, key->ink);
        set_pen(own->canvas, key->dashed, key->thin);
        cairo_move_to(cairo, own->x, own->y - 4);
        cairo_line_to(cairo, own->x + KEY_SAMPLE, own->y - 4);
        cairo_stroke(cairo);
        set_pen(own->canvas, false, false);
    }
    liana__canvas_text(own->canvas, own->x + KEY_SAMPLE + 8, own->y, &label, key->name);
}

/* Wide enough for the longest name, if the page is. */
static double find_key_width(const liana__figure *figure, double page)
{
    double width = KEY_WIDTH;
    for (size_t i = 0; i < figure->num_keys; i++) {
        width = fmax(width, KEY_SAMPLE + 30 + KEY_LETTER * (double)strlen(figure->keys[i].name));
    }
    return fmin(width, page - MARGIN);
}

static void draw_keys(liana__canvas *canvas, const liana__figure *figure, double top, double width, size_t per_row)
{
    for (size_t i = 0; i < figure->num_keys; i++) {
        const plot place = {.canvas = canvas,
                            .x = MARGIN + width * (double)(i % per_row),
                            .y = top + KEY_HEIGHT * (double)(i / per_row) + 14};
        draw_key(&place, &figure->keys[i], width);
    }
}

liana_status liana__figure_write(const char *path, const liana__figure *figure, liana__error *error)
{
    const double cell_width = LEFT + WIDTH + RIGHT, cell_height = TOP + HEIGHT + BOTTOM;
    size_t columns = figure->num_panels < figure->columns ? figure->num_panels : figure->columns;
    size_t rows = columns ? (figure->num_panels + columns - 1) / columns : 0;
    double width = cell_width * (double)columns + MARGIN;
    double key_width = find_key_width(figure, width);
    size_t per_row = (size_t)((width - MARGIN) / key_width);
    size_t key_rows = per_row ? (figure->num_keys + per_row - 1) / per_row : 0;
    double top = figure->title ? TITLE : 0, key_top = MARGIN / 2.0 + top;
    double head = key_top + KEY_HEIGHT * (double)key_rows + 6;
    if (!columns) return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s': there is nothing to draw", path);
    liana__canvas canvas;
    LIANA_TRY(
        liana__canvas_begin(&canvas, path, width, head + cell_height * (double)rows + MARGIN / 2.0, scale, error));
    if (figure->title) {
        const liana__label label = {.size = 17, .bold = true, .max_width = width - 2 * MARGIN, .ink = liana__ink_text};
        liana__canvas_text(&canvas, MARGIN, MARGIN + 8, &label, figure->title);
    }
    draw_keys(&canvas, figure, key_top, key_width, per_row);
    for (size_t i = 0; i < figure->num_panels; i++) {
        plot own = {.canvas = &canvas,
                    .panel = &figure->panels[i],
                    .x = LEFT + cell_width * (double)(i % columns),
                    .y = head + TOP + cell_height * (double)(i / columns)};
        draw_panel(&own);
    }
    return liana__canvas_finish(&canvas, path, error);
}
