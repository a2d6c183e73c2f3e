/* canvas.h - a canvas: drawing a PNG or SVG picture with the same code. */
#ifndef LIANA_REPORT_CANVAS_H
#define LIANA_REPORT_CANVAS_H

#include "base/text.h"
#include "formats/cairo_calls.h"
#include "formats/pango_calls.h"

/* ---- fonts ---- */

/* Writes into `note` a sentence about the first of some names that no installed font can draw completely, with the font
 * to install. "": all can be drawn. */
void liana__fonts_note(const char *const *names, size_t count, char *note, size_t size);

/* ---- canvas ---- */

typedef struct liana__ink {
    double red, green, blue;
} liana__ink;

extern const liana__ink liana__ink_text;   /* main text */
extern const liana__ink liana__ink_quiet;  /* secondary text */
extern const liana__ink liana__ink_line;   /* grid lines and frames */
extern const liana__ink liana__ink_good;   /* right */
extern const liana__ink liana__ink_bad;    /* wrong */
extern const liana__ink liana__ink_first;  /* training */
extern const liana__ink liana__ink_second; /* validation */

typedef struct liana__canvas {
    cairo_t *cairo;
    cairo_surface_t *surface;
    bool svg;
    double scale;         /* pixels to a unit */
    liana__text svg_text; /* receives the finished SVG in pieces */
    PangoLayout *layout;  /* of one text after the other */
} liana__canvas;

/* The largest picture, in pixels on a side: cairo's own limit. */
enum { LIANA__CANVAS_MAX = 32767 };

/* Begins a white picture. The unit is a screen pixel; a PNG has `scale` times as many. The path's ending, .png or .svg,
 * chooses the format. Errors: INVALID_ARGUMENT, OUT_OF_RANGE (too large), OUT_OF_MEMORY, UNIMPLEMENTED (no
 * libcairo or libpangocairo). */
liana_status liana__canvas_begin(liana__canvas *canvas, const char *path, double width, double height, double scale,
                                 liana__error *error) LIANA_MUST_USE;
/* Writes the file, completely or not at all, and frees the canvas in either case. Errors: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__canvas_finish(liana__canvas *canvas, const char *path, liana__error *error) LIANA_MUST_USE;

/* An image as cairo draws it: pixels [height, width, channels], grey or colour. The caller destroys it. */
cairo_surface_t *liana__canvas_surface(const uint8_t *pixels, int height, int width, int channels);

void liana__canvas_ink(liana__canvas *canvas, liana__ink ink);

typedef struct liana__label {
    double size;      /* of the letters */
    double align;     /* the point of the text that is at x: 0 its start, 0.5 its middle, 1 its end */
    double max_width; /* longer texts are cut with an ellipsis; 0: no limit */
    bool bold;
    liana__ink ink;
} liana__label;

/* Draws text with its base line at y. Pango orders and shapes it: scripts from right to left, letters that join, marks.
 * Characters that the usual font lacks come from another font. Bytes that are not UTF-8, and characters that turn the
 * direction of what follows, are shown as question marks; isolates stay (liana__isolate). Returns the width used. */
double liana__canvas_text(liana__canvas *canvas, double x, double y, const liana__label *label, const char *text);
/* The same for text that reads upwards from (x, y) on. */
void liana__canvas_text_upwards(liana__canvas *canvas, double x, double y, const liana__label *label, const char *text);
/* Bold text at the top left of a page; longer titles are cut. */
void liana__canvas_title(liana__canvas *canvas, double x, double y, double size, double max_width, const char *text);

void liana__canvas_line(liana__canvas *canvas, double x0, double y0, double x1, double y1, double width,
                        liana__ink ink);
/* A filled circle, and a filled rectangle. */
void liana__canvas_dot(liana__canvas *canvas, double x, double y, double radius, liana__ink ink);
void liana__canvas_box(liana__canvas *canvas, double x, double y, double width, double height, liana__ink ink);

/* ---- axis ---- */

/* The axis of a picture: the range of its values, and its marks. */

typedef struct liana__axis {
    double low, high, step;
    bool logarithmic; /* low, high and step are decades */
} liana__axis;

/* An axis with no values yet. */
liana__axis liana__axis_begin(bool logarithmic);
/* Widens the axis for a value; one that is not finite is left out. */
void liana__axis_take(liana__axis *axis, double value);
/* No value, one value, or values that a double can hardly tell apart still get a range around them. */
void liana__axis_make_room(liana__axis *axis);
/* The axis ends at marks just outside of the values; there are about `wanted` marks. */
void liana__axis_round(liana__axis *axis, int wanted);
/* How many steps the axis has. */
int liana__axis_steps(const liana__axis *axis);
/* The place of a value: 0 at the low end, 1 at the high one. */
double liana__axis_place(const liana__axis *axis, double value);
/* Writes the number at a mark, with at most `most_decimals`. */
void liana__axis_mark(const liana__axis *axis, double value, int most_decimals, char *text, size_t size);

/* A step of 1, 2 or 5 times a power of 10, for about `wanted` marks between two values. */
double liana__axis_step(double low, double high, int wanted);

#endif
