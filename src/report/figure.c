/* Draws line charts. */
#include "report/pictures.h"

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

typedef struct plot {
    liana__canvas *canvas;
    const liana__figure_panel *panel;
    double x, y; /* top left corner of the plotting area */
    liana__axis across, up;
} plot;

static double x_of(const plot *own, double value)
{
    return own->x + WIDTH * liana__axis_place(&own->across, value);
}

static double y_of(const plot *own, double value)
{
    return own->y + HEIGHT * (1 - liana__axis_place(&own->up, value));
}

static void find_range_across(plot *own)
{
    const liana__figure_panel *panel = own->panel;
    own->across = liana__axis_begin(panel->log_x);
    for (size_t i = 0; i < panel->num_lines; i++) {
        const liana__figure_line *line = &panel->lines[i];
        for (size_t k = 0; k < line->count; k++) liana__axis_take(&own->across, line->x[k]);
        if (line->extended_to > 0) liana__axis_take(&own->across, line->extended_to);
    }
    for (size_t i = 0; i < panel->num_marks; i++) liana__axis_take(&own->across, panel->marks[i].x);
    liana__axis_make_room(&own->across);
    own->across.step = liana__axis_step(own->across.low, own->across.high, 7);
    if (panel->whole_x || panel->log_x) own->across.step = fmax(1, own->across.step);
}

/* The axis ends at marks just outside of the values. */
static void find_range_up(plot *own)
{
    const liana__figure_panel *panel = own->panel;
    own->up = liana__axis_begin(false);
    for (size_t i = 0; i < panel->num_lines; i++) {
        const liana__figure_line *line = &panel->lines[i];
        for (size_t k = 0; k < line->count; k++) liana__axis_take(&own->up, line->y[k]);
    }
    for (size_t i = 0; i < panel->num_marks; i++) liana__axis_take(&own->up, panel->marks[i].y);
    if (panel->y_most > 0 && own->up.low < panel->y_most) own->up.high = fmin(own->up.high, panel->y_most);
    liana__axis_make_room(&own->up);
    liana__axis_round(&own->up, 5);
}

static void draw_axes(const plot *own)
{
    const liana__label value_label = {.size = 11, .align = 1, .ink = liana__ink_quiet};
    const liana__label x_label = {.size = 11, .align = 0.5, .ink = liana__ink_quiet};
    char text[64];
    for (int i = 0; i <= liana__axis_steps(&own->up); i++) {
        double value = own->up.low + i * own->up.step, y = y_of(own, value);
        liana__canvas_line(own->canvas, own->x, y, own->x + WIDTH, y, 1, liana__ink_line);
        liana__axis_mark(&own->up, value, 5, text, sizeof text);
        liana__canvas_text(own->canvas, own->x - 8, y + 4, &value_label, text);
    }
    const liana__axis *across = &own->across;
    double first = ceil(across->low / across->step - 1e-9) * across->step;
    for (double value = first; value <= across->high + across->step * 1e-9; value += across->step) {
        double x = own->x + WIDTH * (value - across->low) / (across->high - across->low);
        liana__canvas_line(own->canvas, x, own->y + HEIGHT, x, own->y + HEIGHT + 4, 1, liana__ink_line);
        liana__axis_mark(across, value, 5, text, sizeof text);
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
    liana__canvas_dot(own->canvas, x_of(own, line->x[last]), y, 3, line->ink);
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
        if (alone) liana__canvas_dot(own->canvas, x_of(own, line->x[i]), y_of(own, line->y[i]), 3, line->ink);
    }
    if (has_point(line, last) && line->extended_to > line->x[last]) {
        liana__canvas_ink(own->canvas, line->ink);
        draw_extension(own, line, last);
    }
}

static void draw_mark(const plot *own, const liana__figure_mark *mark)
{
    if (!isfinite(mark->x) || !isfinite(mark->y)) return;
    double x = x_of(own, mark->x), y = y_of(own, mark->y);
    liana__canvas_dot(own->canvas, x, y, mark->dot ? 2 : 6, mark->ink);
    if (!mark->dot) liana__canvas_dot(own->canvas, x, y, 3.5, (liana__ink){1, 1, 1});
}

static void draw_panel(plot *own)
{
    const liana__figure_panel *panel = own->panel;
    find_range_across(own);
    find_range_up(own);
    liana__canvas_title(own->canvas, own->x, own->y - 14, 14, WIDTH, panel->title);
    draw_axes(own);
    cairo_save(own->canvas->cairo);
    cairo_rectangle(own->canvas->cairo, own->x - 7, own->y - 7, WIDTH + 14, HEIGHT + 14);
    cairo_clip(own->canvas->cairo);
    for (size_t i = 0; i < panel->num_lines; i++) draw_curve(own, &panel->lines[i]);
    for (size_t i = 0; i < panel->num_marks; i++) draw_mark(own, &panel->marks[i]);
    cairo_restore(own->canvas->cairo);
}

/* ---- the page ---- */

static void draw_key(const plot *own, const liana__figure_key *key, double width)
{
    const liana__label label = {.size = 12, .max_width = width - KEY_SAMPLE - 20, .ink = liana__ink_text};
    cairo_t *cairo = own->canvas->cairo;
    if (key->ring) {
        liana__canvas_dot(own->canvas, own->x + KEY_SAMPLE / 2.0, own->y - 4, 6, key->ink);
        liana__canvas_dot(own->canvas, own->x + KEY_SAMPLE / 2.0, own->y - 4, 3.5, (liana__ink){1, 1, 1});
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
    if (figure->title) liana__canvas_title(&canvas, MARGIN, MARGIN + 8, 17, width - 2 * MARGIN, figure->title);
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
