/* Draws a confusion matrix. */
#include "report/pictures.h"

#include "base/format.h"

#include <math.h>
#include <string.h>

/* The measures of a page, in pixels. */
enum {
    MARGIN = 24,
    TITLE = 36,
    AXIS = 22, /* "predicted class", "true class" */
    LABELS = 130,
    LARGEST_CELL = 54,
    SMALLEST_CELL = 4,
    LARGEST_SIDE = 1500,
    LEAST_FOR_NUMBERS = 26,
    LEAST_FOR_LABELS = 9,
    MAX_CLASSES = 500
};
static const double scale = 1.5;

typedef struct page {
    liana__canvas *canvas;
    const liana__class_matrix *matrix;
    double cell, left, top, side;
    double labels; /* room for the longest */
    double width;  /* of the page */
} page;

static double row_sum(const liana__class_matrix *matrix, size_t row)
{
    double sum = 0;
    for (size_t i = 0; i < matrix->classes; i++) sum += matrix->counts[row * matrix->classes + i];
    return sum;
}

/* White for none of the row, the ink for all of it. */
static liana__ink shade(liana__ink ink, double share)
{
    double depth = share > 0 ? 0.12 + 0.88 * share : 0;
    return (liana__ink){1 - depth * (1 - ink.red), 1 - depth * (1 - ink.green), 1 - depth * (1 - ink.blue)};
}

static void draw_number(const page *own, double x, double y, double count, double share)
{
    static const liana__ink white = {1, 1, 1};
    char text[40];
    if (count <= 0) return;
    bool percent = own->matrix->normalized;
    /* Weights of examples make counts that are not whole. */
    bool whole = count == floor(count);
    liana__format(text, sizeof text, percent ? "%.0f%%" : whole ? "%.0f" : "%.1f", percent ? 100 * share : count);
    const liana__label label = {.size = own->cell >= 40 ? 13 : 10,
                                .align = 0.5,
                                .max_width = own->cell - 2,
                                .ink = share > 0.45 ? white : liana__ink_text};
    liana__canvas_text(own->canvas, x + own->cell / 2, y + own->cell / 2 + 4, &label, text);
}

static void draw_row(const page *own, size_t row)
{
    const liana__class_matrix *matrix = own->matrix;
    double sum = row_sum(matrix, row), y = own->top + (double)row * own->cell;
    for (size_t i = 0; i < matrix->classes; i++) {
        double count = matrix->counts[row * matrix->classes + i], share = sum > 0 ? count / sum : 0;
        double x = own->left + (double)i * own->cell;
        const liana__ink ink = shade(i == row ? liana__ink_good : liana__ink_bad, share);
        liana__canvas_box(own->canvas, x, y, own->cell, own->cell, ink);
        if (own->cell >= LEAST_FOR_NUMBERS) draw_number(own, x, y, count, share);
    }
}

static void draw_lines(const page *own)
{
    cairo_t *cairo = own->canvas->cairo;
    size_t classes = own->matrix->classes;
    liana__canvas_ink(own->canvas, liana__ink_line);
    cairo_set_line_width(cairo, own->cell >= 12 ? 1 : 0.5);
    for (size_t i = 0; i <= classes; i++) {
        double at = (double)i * own->cell;
        if (own->cell < 8 && i > 0 && i < classes) continue;
        cairo_move_to(cairo, own->left + at, own->top);
        cairo_line_to(cairo, own->left + at, own->top + own->side);
        cairo_move_to(cairo, own->left, own->top + at);
        cairo_line_to(cairo, own->left + own->side, own->top + at);
    }
    cairo_stroke(cairo);
}

static void draw_labels(const page *own)
{
    double size = fmin(12, own->cell - 1), bottom = own->top + own->side;
    if (own->cell < LEAST_FOR_LABELS) return;
    const liana__label label = {.size = size, .align = 1, .max_width = own->labels - 10, .ink = liana__ink_text};
    for (size_t i = 0; i < own->matrix->classes; i++) {
        double middle = ((double)i + 0.5) * own->cell + size / 3;
        liana__canvas_text(own->canvas, own->left - 6, own->top + middle, &label, own->matrix->labels[i]);
        liana__canvas_text_upwards(own->canvas, own->left + middle, bottom + 6, &label, own->matrix->labels[i]);
    }
}

static void draw_page(const page *own)
{
    const liana__label axis = {.size = 12, .align = 0.5, .ink = liana__ink_quiet};
    liana__canvas_title(own->canvas, MARGIN, MARGIN + 16, 16, own->width - 2 * MARGIN, own->matrix->title);
    for (size_t row = 0; row < own->matrix->classes; row++) draw_row(own, row);
    draw_lines(own);
    draw_labels(own);
    liana__canvas_text_upwards(own->canvas, MARGIN + 12, own->top + own->side / 2, &axis, "true class");
    liana__canvas_text(own->canvas, own->left + own->side / 2, own->top + own->side + own->labels + 14, &axis,
                       "predicted class");
}

/* About the width of the longest label; longer ones are cut. */
static double room_for_labels(const liana__class_matrix *matrix, double cell)
{
    size_t longest = 2;
    for (size_t i = 0; i < matrix->classes; i++) {
        size_t length = strlen(matrix->labels[i]);
        if (length > longest) longest = length;
    }
    return cell < LEAST_FOR_LABELS ? 12 : fmin(LABELS, 16 + 7.5 * (double)longest);
}

liana_status liana__class_matrix_write(const char *path, const liana__class_matrix *matrix, liana__error *error)
{
    liana__canvas canvas;
    if (matrix->classes == 0 || matrix->classes > MAX_CLASSES) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s': a matrix of %zu classes, expected 1 to %d", path,
                           matrix->classes, MAX_CLASSES);
    }
    double cell = fmin(LARGEST_CELL, floor((double)LARGEST_SIDE / (double)matrix->classes));
    page own = {.canvas = &canvas,
                .matrix = matrix,
                .cell = fmax(cell, SMALLEST_CELL),
                .labels = room_for_labels(matrix, cell),
                .top = MARGIN + TITLE};
    own.left = MARGIN + AXIS + own.labels;
    own.side = own.cell * (double)matrix->classes;
    own.width = fmax(own.left + own.side, 420) + MARGIN;
    double height = own.top + own.side + own.labels + AXIS + MARGIN;
    LIANA_TRY(liana__canvas_begin(&canvas, path, own.width, height, scale, error));
    draw_page(&own);
    return liana__canvas_finish(&canvas, path, error);
}
