/* Draws training curves. */
#include "report/pictures.h"

#include "base/format.h"

#include <math.h>
#include <stdio.h>

/* The measures of a panel, in pixels. */
enum {
    MARGIN = 24,
    TITLE = 34,
    LEFT = 64,
    TOP = 74,
    BOTTOM = 44,
    RIGHT = 84,
    WIDTH = 420,
    HEIGHT = 260,
    MOST_IN_ROW = 3,
    MAX_PANELS = LIANA__CURVES_MOST_PANELS
};
static const double scale = 2;

/* A panel on the page, with the place of its plot and its axes. */
typedef struct panel_plot {
    liana__canvas *canvas;
    const liana__curve_panel *panel;
    size_t num_epochs;
    double x, y; /* top left corner of the plotting area */
    liana__axis up;
} panel_plot;

static double x_of(const panel_plot *plot, size_t epoch)
{
    double part = plot->num_epochs > 1 ? (double)epoch / (double)(plot->num_epochs - 1) : 0.5;
    return plot->x + part * WIDTH;
}

static double y_of(const panel_plot *plot, double value)
{
    return plot->y + HEIGHT * (1 - liana__axis_place(&plot->up, value));
}

static void choose_range(panel_plot *plot)
{
    const double *const lines[] = {plot->panel->train, plot->panel->validation};
    plot->up = liana__axis_begin(false);
    for (size_t line = 0; line < 2; line++) {
        for (size_t i = 0; lines[line] && i < plot->num_epochs; i++) liana__axis_take(&plot->up, lines[line][i]);
    }
    liana__axis_make_room(&plot->up);
    liana__axis_round(&plot->up, 5);
}

static void draw_axes(const panel_plot *plot)
{
    const liana__label value_label = {.size = 11, .align = 1, .ink = liana__ink_quiet};
    const liana__label epoch_label = {.size = 11, .align = 0.5, .ink = liana__ink_quiet};
    char text[64];
    for (int i = 0; i <= liana__axis_steps(&plot->up); i++) {
        double value = plot->up.low + i * plot->up.step, y = y_of(plot, value);
        liana__canvas_line(plot->canvas, plot->x, y, plot->x + WIDTH, y, 1, liana__ink_line);
        liana__axis_mark(&plot->up, value, 6, text, sizeof text);
        liana__canvas_text(plot->canvas, plot->x - 8, y + 4, &value_label, text);
    }
    double last = (double)plot->num_epochs;
    size_t step = plot->num_epochs > 1 ? (size_t)fmax(1, liana__axis_step(1, last, 6)) : 1;
    for (size_t epoch = 1; epoch <= plot->num_epochs; epoch = epoch == 1 && step > 1 ? step : epoch + step) {
        snprintf(text, sizeof text, "%zu", epoch);
        liana__canvas_text(plot->canvas, x_of(plot, epoch - 1), plot->y + HEIGHT + 18, &epoch_label, text);
    }
    liana__canvas_text(plot->canvas, plot->x + WIDTH / 2.0, plot->y + HEIGHT + 36, &epoch_label, "epoch");
}

static void draw_dot(const panel_plot *plot, size_t epoch, double value, double radius, liana__ink ink)
{
    liana__canvas_dot(plot->canvas, x_of(plot, epoch), y_of(plot, value), radius, ink);
}

static bool has_value(const panel_plot *plot, const double *values, size_t epoch)
{
    return epoch < plot->num_epochs && isfinite(values[epoch]);
}

/* The line breaks where a value is missing; a value with no neighbours shows as a dot. */
static void draw_curve(const panel_plot *plot, const double *values, liana__ink ink)
{
    cairo_t *cairo = plot->canvas->cairo;
    for (size_t i = 0; i < plot->num_epochs; i++) {
        if (!has_value(plot, values, i)) continue;
        if (i > 0 && has_value(plot, values, i - 1)) {
            cairo_line_to(cairo, x_of(plot, i), y_of(plot, values[i]));
        } else {
            cairo_move_to(cairo, x_of(plot, i), y_of(plot, values[i]));
        }
    }
    liana__canvas_ink(plot->canvas, ink);
    cairo_set_line_width(cairo, 2);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
    cairo_stroke(cairo);
    for (size_t i = 0; i < plot->num_epochs; i++) {
        bool neighbour = (i > 0 && has_value(plot, values, i - 1)) || has_value(plot, values, i + 1);
        if (has_value(plot, values, i) && !neighbour) draw_dot(plot, i, values[i], 3, ink);
    }
}

/* A ring where the training went on, a cross where it went back. Values outside of the panel are at its edge. */
static void draw_mark(const panel_plot *plot, const liana__curve_mark *mark)
{
    cairo_t *cairo = plot->canvas->cairo;
    const double last = plot->num_epochs > 1 ? (double)(plot->num_epochs - 1) : 1;
    double x = plot->x + fmin(fmax((mark->epoch - 1) / last, 0), 1) * WIDTH;
    double value = isfinite(mark->value) ? mark->value : plot->panel->higher_is_better ? plot->up.low : plot->up.high;
    double y = y_of(plot, fmin(fmax(value, plot->up.low), plot->up.high));
    cairo_new_path(cairo);
    if (mark->accepted) {
        cairo_arc(cairo, x, y, 2.5, 0, 2 * M_PI);
    } else {
        cairo_move_to(cairo, x - 3, y - 3);
        cairo_line_to(cairo, x + 3, y + 3);
        cairo_move_to(cairo, x - 3, y + 3);
        cairo_line_to(cairo, x + 3, y - 3);
    }
    liana__canvas_ink(plot->canvas, liana__ink_quiet);
    cairo_set_line_width(cairo, 1.2);
    cairo_stroke(cairo);
}

/* The key below the axis. */
static void draw_marks(const panel_plot *plot)
{
    const liana__curve_panel *panel = plot->panel;
    const liana__label label = {.size = 11, .ink = liana__ink_quiet};
    for (size_t i = 0; i < panel->num_marks; i++) draw_mark(plot, &panel->marks[i]);
    if (!panel->num_marks) return;
    liana__canvas_text(plot->canvas, plot->x, plot->y + HEIGHT + 36, &label, "o went on   x went back");
}

static const double *best_of(const panel_plot *plot, const double *values)
{
    const double *best = NULL;
    for (size_t i = 0; i < plot->num_epochs; i++) {
        if (!isfinite(values[i])) continue;
        bool better = !best || (plot->panel->higher_is_better ? values[i] > *best : values[i] < *best);
        if (better) best = &values[i];
    }
    return best;
}

/* NaN where a value is missing. */
static double last_of(const panel_plot *plot, const double *values)
{
    for (size_t i = plot->num_epochs; values && i-- > 0;) {
        if (isfinite(values[i])) return values[i];
    }
    return NAN;
}

static void draw_end(const panel_plot *plot, double value, double y, liana__ink ink)
{
    char text[32];
    liana__format(text, sizeof text, fabs(value) < 1e4 && fabs(value) >= 1e-3 ? "%.3f" : "%.3g", value);
    const liana__label label = {.size = 12, .bold = true, .max_width = RIGHT - 14, .ink = ink};
    liana__canvas_text(plot->canvas, plot->x + WIDTH + 10, y + 4, &label, text);
}

static void draw_ends(const panel_plot *plot)
{
    double last_train = last_of(plot, plot->panel->train), last_validation = last_of(plot, plot->panel->validation);
    double train = y_of(plot, last_train), validation = y_of(plot, last_validation);
    /* Next to the plot; two numbers at one height would cover each other. */
    double overlap = 15 - fabs(train - validation);
    if (overlap > 0) {
        double direction = train < validation ? -0.5 : 0.5;
        train += direction * overlap;
        validation -= direction * overlap;
    }
    if (!isnan(train)) draw_end(plot, last_train, train, liana__ink_first);
    if (!isnan(validation)) draw_end(plot, last_validation, validation, liana__ink_second);
}

/* The best value of validation, or of training where nothing was validated. */
static void draw_best(const panel_plot *plot, double x, double y)
{
    const liana__curve_panel *panel = plot->panel;
    const double *values = panel->validation ? panel->validation : panel->train;
    const double *best = values ? best_of(plot, values) : NULL;
    if (!best) return;
    size_t epoch = (size_t)(best - values);
    liana__ink ink = panel->validation ? liana__ink_second : liana__ink_first;
    draw_dot(plot, epoch, *best, 5, ink);
    draw_dot(plot, epoch, *best, 2.5, (liana__ink){1, 1, 1});
    char text[96];
    liana__format(text, sizeof text, "best %.4g at epoch %zu", *best, epoch + 1);
    const liana__label label = {.size = 11, .align = 1, .ink = liana__ink_quiet};
    liana__canvas_text(plot->canvas, x, y, &label, text);
}

static double draw_key(const panel_plot *plot, double x, double y, const char *name, liana__ink ink)
{
    const liana__label label = {.size = 11, .ink = liana__ink_quiet};
    liana__canvas_box(plot->canvas, x, y - 6, 14, 3, ink);
    return x + 19 + liana__canvas_text(plot->canvas, x + 19, y, &label, name) + 14;
}

static void draw_panel(panel_plot *plot)
{
    const liana__curve_panel *panel = plot->panel;
    choose_range(plot);
    /* A name may be as long as the panel is wide: the keys and the best value are below it. */
    liana__canvas_title(plot->canvas, plot->x, plot->y - 36, 14, WIDTH + RIGHT - 16, panel->name);
    double x = plot->x, y = plot->y - 16;
    if (panel->train) x = draw_key(plot, x, y, "training", liana__ink_first);
    if (panel->validation) draw_key(plot, x, y, "validation", liana__ink_second);
    draw_axes(plot);
    if (panel->train) draw_curve(plot, panel->train, liana__ink_first);
    if (panel->validation) draw_curve(plot, panel->validation, liana__ink_second);
    draw_marks(plot);
    draw_best(plot, plot->x + WIDTH, y);
    draw_ends(plot);
}

/* Four panels are two rows of two, five two rows of three: the page is not much wider than it is high. */
static size_t count_columns(size_t num_panels)
{
    if (num_panels == 4) return 2;
    return num_panels < MOST_IN_ROW ? num_panels : MOST_IN_ROW;
}

liana_status liana__curves_write(const char *path, const char *title, const liana__curve_panel *panels,
                                 size_t num_panels, size_t num_epochs, liana__error *error)
{
    if (num_panels == 0 || num_panels > MAX_PANELS) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s': %zu panels, expected 1 to %d", path, num_panels,
                           MAX_PANELS);
    }
    liana__canvas canvas;
    const size_t columns = count_columns(num_panels), rows = (num_panels + columns - 1) / columns;
    const double head = title ? TITLE : 0, width = LEFT + WIDTH + RIGHT, height = TOP + HEIGHT + BOTTOM;
    LIANA_TRY(liana__canvas_begin(&canvas, path, width * (double)columns + MARGIN, head + height * (double)rows, scale,
                                  error));
    if (title) liana__canvas_title(&canvas, MARGIN, MARGIN + 12, 18, width * (double)columns - MARGIN, title);
    for (size_t i = 0; i < num_panels; i++) {
        panel_plot plot = {.canvas = &canvas,
                           .panel = &panels[i],
                           .num_epochs = num_epochs,
                           .x = LEFT + width * (double)(i % columns),
                           .y = head + TOP + height * (double)(i / columns)};
        draw_panel(&plot);
    }
    return liana__canvas_finish(&canvas, path, error);
}
