/* Draws the plot of the measurements. */
#include "bench_plot.h"

#include "report/canvas.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Measures, in pixels. */
enum {
    MARGIN = 28,
    LABEL = 190, /* the names of the rows */
    BARS = 310,  /* where bars may go */
    TEXT = 190,  /* the text next to them */
    GUTTER = 36,
    HEADER = 92,
    FOOTER = 30,
    TITLE = 46, /* a panel's, with its axis */
    BAR = 15,
    PITCH = 19, /* from bar to bar */
    GROUP = 14, /* between the bars of two rows */
    BELOW = 26, /* between panels */
    COLUMN = LABEL + BARS + TEXT
};
static const double scale = 2;

/* The subject of one bar, and its looks; in the order in which they are drawn. */
typedef enum bench_bar {
    OLD_PYTORCH,
    PYTORCH,
    JAX,
    TENSORFLOW,
    OWN_FLOAT32,
    OWN_BFLOAT16,
    NUM_BARS,
} bench_bar;

static const struct {
    const char *name;
    liana__ink ink;
} bars[NUM_BARS] = {
    [OLD_PYTORCH] = {"PyTorch 1.13, tuned", {0.80, 0.72, 0.64}},
    [PYTORCH] = {"PyTorch 2", {0.89, 0.49, 0.13}},
    [JAX] = {"JAX", {0.45, 0.62, 0.42}},
    [TENSORFLOW] = {"TensorFlow", {0.93, 0.74, 0.30}},
    [OWN_FLOAT32] = {"liana float32", {0.38, 0.60, 0.86}},
    [OWN_BFLOAT16] = {"liana mixed_bfloat16", {0.12, 0.33, 0.62}},
};

/* The bars that are compared with each other: liana and its peers on one workload, in one precision. */
typedef struct bar_group {
    const bench_row *row;
    bench_precision precision;
} bar_group;

static const bench_series *own_series(bar_group group, bench_bar bar)
{
    const bool fits = (bar == OWN_FLOAT32) == (group.precision == BENCH_FLOAT32);
    const char *variant = bar == OWN_FLOAT32 ? "float32" : "mixed_bfloat16";
    for (size_t i = 0; fits && i < group.row->count; i++) {
        const bench_series *series = &group.row->series[i];
        if (bench_is_liana(series) && series->count > 0 && strcmp(series->variant, variant) == 0) return series;
    }
    return NULL;
}

static const bench_series *series_of(bar_group group, bench_bar bar)
{
    const bench_series *const *best = group.row->best[group.precision].of;
    switch (bar) {
    case OLD_PYTORCH: return best[best[BENCH_PYTORCH_1_TUNED] ? BENCH_PYTORCH_1_TUNED : BENCH_PYTORCH_1];
    case PYTORCH: return best[BENCH_PYTORCH_2];
    case JAX: return best[BENCH_JAX];
    case TENSORFLOW: return best[BENCH_TENSORFLOW];
    case OWN_FLOAT32:
    case OWN_BFLOAT16: return own_series(group, bar);
    default: return NULL;
    }
}

static int bars_of(bar_group group)
{
    int count = 0;
    for (int bar = 0; bar < NUM_BARS; bar++) count += series_of(group, (bench_bar)bar) != NULL;
    return count;
}

/* The unit of all bars of a group: its best peer; where it has none that of the other precision, and liana itself where
 * there is no peer at all. */
static const bench_series *unit_of(bar_group group)
{
    const bench_series *rival = group.row->best[group.precision].rival;
    if (!rival) rival = group.row->best[BENCH_ANY_PRECISION].rival;
    if (rival) return rival;
    const bench_series *own = own_series(group, OWN_FLOAT32);
    return own ? own : own_series(group, OWN_BFLOAT16);
}

/* Two for each row. */
static size_t count_groups(const bench_panel *panel)
{
    return panel->count * BENCH_ANY_PRECISION;
}

static bar_group group_at(const bench_panel *panel, size_t index)
{
    return (bar_group){&panel->rows[index / BENCH_ANY_PRECISION], (bench_precision)(index % BENCH_ANY_PRECISION)};
}

static double height_of_group(bar_group group)
{
    const int count = bars_of(group);
    return count > 0 ? count * PITCH + GROUP : 0;
}

static double height_of(const bench_panel *panel)
{
    double height = TITLE + BELOW;
    for (size_t i = 0; i < count_groups(panel); i++) height += height_of_group(group_at(panel, i));
    return height;
}

/* A place on the page: the top left corner of a panel, and how long a bar of ratio 1 is. */
typedef struct panel_place {
    liana__canvas *canvas;
    const bench_panel *panel;
    double x, y;
    double one;
    double most; /* the largest ratio that the axis shows */
} panel_place;

static double length_of(const panel_place *place, bar_group group, const bench_series *series)
{
    return place->one * series->median / unit_of(group)->median;
}

static void choose_axis(panel_place *place)
{
    place->most = 1;
    for (size_t i = 0; i < count_groups(place->panel); i++) {
        const bar_group group = group_at(place->panel, i);
        for (int bar = 0; bar < NUM_BARS; bar++) {
            const bench_series *series = series_of(group, (bench_bar)bar);
            if (series) place->most = fmax(place->most, series->median / unit_of(group)->median);
        }
    }
    place->one = BARS / place->most;
}

static void draw_axis(const panel_place *place, double bottom)
{
    cairo_t *cairo = place->canvas->cairo;
    const liana__label label = {.size = 10.5, .align = 0.5, .ink = liana__ink_quiet};
    double step = place->most > 12 ? 5 : place->most > 6 ? 2 : place->most > 1.6 ? 1 : 0.5;
    for (double mark = 0; mark <= place->most + 1e-9; mark += step) {
        double x = floor(place->x + LABEL + mark * place->one) + 0.5;
        bool is_one = fabs(mark - 1) < 1e-9;
        cairo_move_to(cairo, x, place->y + TITLE - 4);
        cairo_line_to(cairo, x, bottom);
        cairo_set_line_width(cairo, 1);
        liana__canvas_ink(place->canvas, liana__ink_line);
        cairo_stroke(cairo);
        char text[32];
        snprintf(text, sizeof text, step < 1 ? "%.1f\xc3\x97" : "%.0f\xc3\x97", mark);
        liana__label shown = label;
        shown.bold = is_one;
        liana__canvas_text(place->canvas, x, place->y + TITLE - 8, &shown, text);
    }
    /* Where the best peer ends. */
    double x = floor(place->x + LABEL + place->one) + 0.5;
    cairo_move_to(cairo, x, place->y + TITLE - 4);
    cairo_line_to(cairo, x, bottom);
    liana__canvas_ink(place->canvas, liana__ink_quiet);
    cairo_stroke(cairo);
}

static void print_value(const panel_place *place, const bench_series *series, char *text, size_t size)
{
    char number[32];
    bench_print_number(series->median, number, sizeof number);
    snprintf(text, size, "%s %s", number, bench_unit_name(place->panel->unit));
}

/* Text on a white ground, so that no line of the axis runs through it: drawn once to learn its width, wiped away, and
 * drawn again. Returns where it ends. */
static double draw_text(const panel_place *place, double x, double base, const liana__label *label, const char *text)
{
    cairo_t *cairo = place->canvas->cairo;
    double width = liana__canvas_text(place->canvas, x, base, label, text);
    cairo_rectangle(cairo, x - 3, base - BAR + 4, width + 6, BAR);
    liana__canvas_ink(place->canvas, (liana__ink){1, 1, 1});
    cairo_fill(cairo);
    liana__canvas_text(place->canvas, x, base, label, text);
    return x + width;
}

/* "2.3x" and, where less is better, "2.3x less" or "1.1x more". */
static void print_ratio(bench_unit unit, double ratio, char *text, size_t size)
{
    bool rate = unit == BENCH_IMAGES_PER_SECOND, more = !rate && ratio < 0.995;
    double shown = more ? 1 / ratio : ratio;
    const char *word = rate ? "" : more ? " more" : " less";
    snprintf(text, size, "%.*f\xc3\x97%s", shown >= 9.95 ? 0 : shown >= 1.995 ? 1 : 2, shown, word);
}

/* The bar with its number, and for liana's how many times better than the best peer of the same precision it is. */
static void draw_bar(const panel_place *place, bar_group group, bench_bar bar, double y)
{
    cairo_t *cairo = place->canvas->cairo;
    const bench_series *series = series_of(group, bar);
    double x = place->x + LABEL, length = fmax(1, length_of(place, group, series));
    cairo_rectangle(cairo, x, y, length, BAR);
    liana__canvas_ink(place->canvas, bars[bar].ink);
    cairo_fill(cairo);
    const liana__label value = {.size = 11, .ink = liana__ink_text};
    char text[64];
    print_value(place, series, text, sizeof text);
    double end = draw_text(place, x + length + 7, y + BAR - 4, &value, text);
    const bench_series *peer = bar >= OWN_FLOAT32 ? group.row->best[group.precision].rival : NULL;
    double ratio = bench_ratio(place->panel->unit, series, peer);
    if (!isfinite(ratio)) return;
    const liana__label bold = {.size = 11.5, .bold = true, .ink = ratio >= 1 ? liana__ink_good : liana__ink_bad};
    print_ratio(place->panel->unit, ratio, text, sizeof text);
    draw_text(place, end + 8, y + BAR - 4, &bold, text);
}

static void draw_group(const panel_place *place, bar_group group, double y)
{
    const int count = bars_of(group);
    if (count == 0) return;
    const double middle = y + (count * PITCH - (PITCH - BAR)) / 2.0;
    const liana__label label = {.size = 12, .align = 1, .max_width = LABEL - 10, .ink = liana__ink_text};
    char text[128];
    snprintf(text, sizeof text, "%s%s", group.row->label, group.precision == BENCH_BFLOAT16 ? ", bf16" : "");
    liana__canvas_text(place->canvas, place->x + LABEL - 10, middle + 4, &label, text);
    for (int bar = 0; bar < NUM_BARS; bar++) {
        if (!series_of(group, (bench_bar)bar)) continue;
        draw_bar(place, group, (bench_bar)bar, y);
        y += PITCH;
    }
}

static void draw_panel(panel_place *place)
{
    const bench_panel *panel = place->panel;
    const liana__label title = {.size = 15, .bold = true, .ink = liana__ink_text};
    const liana__label hint = {.size = 11, .ink = liana__ink_quiet};
    choose_axis(place);
    double width = liana__canvas_text(place->canvas, place->x, place->y + 14, &title, panel->title);
    liana__canvas_text(place->canvas, place->x + width + 10, place->y + 14, &hint,
                       panel->unit == BENCH_IMAGES_PER_SECOND ? "longer is better" : "shorter is better");
    draw_axis(place, place->y + height_of(panel) - BELOW - GROUP + 4);
    double y = place->y + TITLE;
    for (size_t i = 0; i < count_groups(panel); i++) {
        const bar_group group = group_at(panel, i);
        draw_group(place, group, y);
        y += height_of_group(group);
    }
}

static bool is_used(const bench_records *records, bench_bar bar)
{
    for (size_t i = 0; i < records->count; i++) {
        for (size_t k = 0; k < count_groups(&records->panels[i]); k++) {
            if (series_of(group_at(&records->panels[i], k), bar)) return true;
        }
    }
    return false;
}

static void draw_header(liana__canvas *canvas, const bench_records *records, double width)
{
    const liana__label title = {.size = 20, .bold = true, .ink = liana__ink_text};
    const liana__label label = {.size = 12, .ink = liana__ink_text};
    liana__canvas_text(canvas, MARGIN, MARGIN + 14, &title, "liana and its peers on one machine");
    double x = MARGIN;
    for (int bar = 0; bar < NUM_BARS; bar++) {
        if (!is_used(records, (bench_bar)bar)) continue;
        cairo_rectangle(canvas->cairo, x, MARGIN + 28, 12, 12);
        liana__canvas_ink(canvas, bars[bar].ink);
        cairo_fill(canvas->cairo);
        x += 18 + liana__canvas_text(canvas, x + 18, MARGIN + 38, &label, bars[bar].name) + 22;
    }
    const liana__label quiet = {.size = 12, .align = 1, .max_width = width - x, .ink = liana__ink_quiet};
    liana__canvas_text(canvas, width - MARGIN, MARGIN + 38, &quiet, "1\xc3\x97: the best peer in the same precision");
}

/* Panels go below each other, and into a second column when half of them are placed. */
liana_status bench_plot(const bench_records *records, const char *caption, const char *path, liana__error *error)
{
    double all = 0, heights[2] = {0};
    int column_of[BENCH_MAX_PANELS];
    for (size_t i = 0; i < records->count; i++) all += height_of(&records->panels[i]);
    for (size_t i = 0; i < records->count; i++) {
        double height = height_of(&records->panels[i]);
        column_of[i] = heights[0] > 0 && heights[0] + height / 2 > all / 2;
        heights[column_of[i]] += height;
    }
    double width = 2 * MARGIN + COLUMN + (heights[1] > 0 ? GUTTER + COLUMN : 0);
    double height = HEADER + fmax(heights[0], heights[1]) + FOOTER;
    liana__canvas canvas;
    LIANA_TRY(liana__canvas_begin(&canvas, path, width, height, scale, error));
    draw_header(&canvas, records, width);
    double y[2] = {HEADER, HEADER};
    for (size_t i = 0; i < records->count; i++) {
        int column = column_of[i];
        panel_place place = {.canvas = &canvas,
                             .panel = &records->panels[i],
                             .x = MARGIN + column * (COLUMN + GUTTER),
                             .y = y[column]};
        draw_panel(&place);
        y[column] += height_of(&records->panels[i]);
    }
    const liana__label quiet = {.size = 11.5, .max_width = width - 2 * MARGIN, .ink = liana__ink_quiet};
    liana__canvas_text(&canvas, MARGIN, height - 14, &quiet, caption);
    return liana__canvas_finish(&canvas, path, error);
}
