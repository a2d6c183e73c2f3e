/* Draws dots for pairs of width and height. */
#include "report/pictures.h"

#include "base/format.h"

#include <math.h>
#include <stdio.h>

/* The measures of a page, in pixels. */
enum { MARGIN = 24, TITLE = 40, LEFT = 56, BOTTOM = 48, SIDE = 420, RIGHT = 40, LEGEND = 24 };
static const double scale = 2;
static const double largest_radius = 16;

typedef struct plot {
    liana__canvas *canvas;
    double x, y; /* the corner where both sizes are 0 */
    double high; /* of both axes: proportions are seen as they are */
    double step;
} plot;

static double x_of(const plot *own, double width)
{
    return own->x + SIDE * width / own->high;
}

static double y_of(const plot *own, double height)
{
    return own->y - SIDE * height / own->high;
}

static void draw_axes(const plot *own)
{
    const liana__label left = {.size = 11, .align = 1, .ink = liana__ink_quiet};
    const liana__label below = {.size = 11, .align = 0.5, .ink = liana__ink_quiet};
    int marks = (int)lround(own->high / own->step);
    for (int i = 0; i <= marks; i++) {
        char text[40];
        double value = i * own->step;
        liana__format(text, sizeof text, "%.0f", value);
        liana__canvas_line(own->canvas, own->x, y_of(own, value), own->x + SIDE, y_of(own, value), 1, liana__ink_line);
        liana__canvas_line(own->canvas, x_of(own, value), own->y, x_of(own, value), own->y - SIDE, 1, liana__ink_line);
        liana__canvas_text(own->canvas, own->x - 8, y_of(own, value) + 4, &left, text);
        liana__canvas_text(own->canvas, x_of(own, value), own->y + 18, &below, text);
    }
    liana__canvas_text(own->canvas, own->x + SIDE / 2.0, own->y + 38, &below, "width");
    const liana__label above = {.size = 11, .align = 1, .ink = liana__ink_quiet};
    liana__canvas_text(own->canvas, own->x - 8, own->y - SIDE - 12, &above, "height");
}

static void draw_point(const plot *own, const liana__scatter_point *point, int64_t most)
{
    cairo_t *cairo = own->canvas->cairo;
    double radius = fmax(2, largest_radius * sqrt((double)point->count / (double)most));
    cairo_arc(cairo, x_of(own, point->width), y_of(own, point->height), radius, 0, 2 * M_PI);
    cairo_set_source_rgba(cairo, liana__ink_first.red, liana__ink_first.green, liana__ink_first.blue, 0.45);
    cairo_fill(cairo);
}

static void draw_target(const plot *own, const double target[2])
{
    cairo_t *cairo = own->canvas->cairo;
    double x = x_of(own, target[0]), y = y_of(own, target[1]);
    cairo_move_to(cairo, x - 7, y);
    cairo_line_to(cairo, x + 7, y);
    cairo_move_to(cairo, x, y - 7);
    cairo_line_to(cairo, x, y + 7);
    cairo_set_line_width(cairo, 2);
    liana__canvas_ink(own->canvas, liana__ink_second);
    cairo_stroke(cairo);
    char text[80];
    liana__format(text, sizeof text, "the model reads %.0f x %.0f", target[0], target[1]);
    const liana__label label = {.size = 11, .bold = true, .ink = liana__ink_second};
    /* Next to the dot, on the side that has room. */
    bool left = own->x + SIDE - x < 200;
    liana__label placed = label;
    placed.align = left;
    liana__canvas_text(own->canvas, left ? x - largest_radius - 6 : x + largest_radius + 6, y + 4, &placed, text);
}

liana_status liana__scatter_write(const char *path, const char *title, const liana__scatter_point *points, size_t count,
                                  const double target[2], liana__error *error)
{
    liana__canvas canvas;
    double largest = fmax(target[0], target[1]);
    int64_t most = 1;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fmax(points[i].width, points[i].height));
        if (points[i].count > most) most = points[i].count;
    }
    plot own = {.canvas = &canvas, .x = MARGIN + LEFT, .y = MARGIN + TITLE + LEGEND + SIDE};
    own.step = fmax(liana__axis_step(0, largest, 5), 1);
    own.high = ceil(largest * 1.05 / own.step) * own.step;
    LIANA_TRY(liana__canvas_begin(&canvas, path, own.x + SIDE + RIGHT + MARGIN, own.y + BOTTOM + MARGIN, scale, error));
    liana__canvas_title(&canvas, MARGIN, MARGIN + 16, 16, LEFT + SIDE, title);
    draw_axes(&own);
    for (size_t i = 0; i < count; i++) draw_point(&own, &points[i], most);
    draw_target(&own, target);
    return liana__canvas_finish(&canvas, path, error);
}
