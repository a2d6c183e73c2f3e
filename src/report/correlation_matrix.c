/* Draws a matrix of correlations. */
#include "report/pictures.h"

#include "base/format.h"

#include <math.h>
#include <string.h>

/* The measures of a page, in pixels. */
enum { MARGIN = 24, TITLE = 36, KEY = 40, LABELS = 170, CELL = 50, MOST_COLUMNS = 500 };
static const double scale = 1.5;

typedef struct page {
    liana__canvas *canvas;
    const liana__correlation_matrix *matrix;
    double left, top, side;
    double labels; /* room for the longest */
    double width;  /* of the page */
} page;

static bool has_sign(const liana__correlation_matrix *matrix, size_t row, size_t column)
{
    return !matrix->categories[row] && !matrix->categories[column];
}

/* White for 0, the ink for 1. */
static liana__ink shade(liana__ink ink, double depth)
{
    return (liana__ink){1 - depth * (1 - ink.red), 1 - depth * (1 - ink.green), 1 - depth * (1 - ink.blue)};
}

static void draw_cell(const page *own, size_t row, size_t column)
{
    static const liana__ink white = {1, 1, 1};
    const liana__correlation_matrix *matrix = own->matrix;
    const double value = matrix->values[row * matrix->count + column], depth = fmin(fabs(value), 1);
    const double x = own->left + (double)column * CELL, y = own->top + (double)row * CELL;
    const bool is_defined = !isnan(value);
    liana__ink ink = value < 0 ? liana__ink_second : liana__ink_first;
    if (!has_sign(matrix, row, column)) ink = liana__ink_good;
    liana__canvas_box(own->canvas, x, y, CELL, CELL, is_defined ? shade(ink, depth) : liana__ink_line);
    char text[40] = "\xe2\x80\x93"; /* a dash */
    /* Without the sign of a number that is rounded to 0. */
    if (is_defined) liana__format(text, sizeof text, "%.2f", fabs(value) < 0.005 ? 0 : value);
    const bool on_dark = is_defined && depth > 0.75;
    const liana__label label = {.size = 12, .align = 0.5, .ink = on_dark ? white : liana__ink_text};
    liana__canvas_text(own->canvas, x + CELL / 2.0, y + CELL / 2.0 + 4, &label, text);
}

static void draw_lines(const page *own)
{
    for (size_t i = 0; i <= own->matrix->count; i++) {
        const double at = (double)i * CELL, right = own->left + own->side, bottom = own->top + own->side;
        liana__canvas_line(own->canvas, own->left, own->top + at, right, own->top + at, 1, liana__ink_line);
        liana__canvas_line(own->canvas, own->left + at, own->top, own->left + at, bottom, 1, liana__ink_line);
    }
}

static void draw_labels(const page *own)
{
    const liana__label label = {.size = 12, .align = 1, .max_width = own->labels - 10, .ink = liana__ink_text};
    for (size_t i = 0; i < own->matrix->count; i++) {
        const double middle = ((double)i + 0.5) * CELL + 4;
        const char *name = own->matrix->names[i];
        liana__canvas_text(own->canvas, own->left - 6, own->top + middle, &label, name);
        liana__canvas_text_upwards(own->canvas, own->left + middle, own->top + own->side + 6, &label, name);
    }
}

/* The words for the colours that there are. */
static void draw_key(const page *own)
{
    const liana__correlation_matrix *matrix = own->matrix;
    size_t categories = 0;
    for (size_t i = 0; i < matrix->count; i++) categories += matrix->categories[i];
    const bool shown[] = {categories < matrix->count, categories<matrix->count, categories> 0};
    static const char *const texts[] = {"Pearson's r above 0", "below 0",
                                        "with a category: Cram\xc3\xa9r's V, correlation ratio"};
    const liana__ink inks[] = {liana__ink_first, liana__ink_second, liana__ink_good};
    const liana__label label = {.size = 11, .ink = liana__ink_text};
    double x = MARGIN;
    for (int i = 0; i < 3; i++) {
        if (!shown[i]) continue;
        liana__canvas_box(own->canvas, x, MARGIN + TITLE - 5, 10, 10, inks[i]);
        x += 16 + liana__canvas_text(own->canvas, x + 16, MARGIN + TITLE + 4, &label, texts[i]) + 18;
    }
}

static double room_for_labels(const liana__correlation_matrix *matrix)
{
    size_t longest = 2;
    for (size_t i = 0; i < matrix->count; i++) {
        const size_t length = strlen(matrix->names[i]);
        if (length > longest) longest = length;
    }
    return fmin(LABELS, 16 + 7.5 * (double)longest);
}

liana_status liana__correlation_matrix_write(const char *path, const liana__correlation_matrix *matrix,
                                             liana__error *error)
{
    liana__canvas canvas;
    if (matrix->count > MOST_COLUMNS) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s': correlations of %zu columns, at most %d fit", path,
                           matrix->count, MOST_COLUMNS);
    }
    page own = {.canvas = &canvas,
                .matrix = matrix,
                .labels = room_for_labels(matrix),
                .top = MARGIN + TITLE + KEY - 14,
                .side = (double)matrix->count * CELL};
    own.left = MARGIN + own.labels;
    own.width = fmax(own.left + own.side, 500) + MARGIN;
    const double height = own.top + own.side + own.labels + MARGIN;
    LIANA_TRY(liana__canvas_begin(&canvas, path, own.width, height, scale, error));
    liana__canvas_title(&canvas, MARGIN, MARGIN + 16, 16, own.width - 2 * MARGIN, matrix->title);
    draw_key(&own);
    for (size_t row = 0; row < matrix->count; row++) {
        for (size_t column = 0; column < matrix->count; column++) draw_cell(&own, row, column);
    }
    draw_lines(&own);
    draw_labels(&own);
    return liana__canvas_finish(&canvas, path, error);
}
