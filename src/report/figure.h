/* figure.h - line charts: panels in a grid, with one key for all of them. */
#ifndef LIANA_REPORT_FIGURE_H
#define LIANA_REPORT_FIGURE_H

#include "report/canvas.h"

#include <stddef.h>

/* Colours that people with any colour vision can tell apart: Okabe and Ito, "Color universal design" (2008), without
 * yellow, which is too light for lines. */
enum { LIANA__FIGURE_INKS = 7 };
extern const liana__ink liana__figure_inks[LIANA__FIGURE_INKS];

typedef struct liana__figure_line {
    const double *x; /* [count], ascending */
    const double *y; /* [count]; NaN: no point there */
    size_t count;
    liana__ink ink;
    bool dashed;
    bool thin;
    double extended_to; /* the last value is drawn on to this x, dotted; no more than the last x: it is not */
} liana__figure_line;

/* A ring at a point. */
typedef struct liana__figure_mark {
    double x, y;
    liana__ink ink;
} liana__figure_mark;

typedef struct liana__figure_panel {
    const char *title;
    const char *x_label;
    bool log_x;
    bool whole_x;  /* x are whole numbers */
    double y_most; /* the axis ends there, where values are larger; 0: no limit */
    const liana__figure_line *lines;
    size_t num_lines;
    const liana__figure_mark *marks;
    size_t num_marks;
} liana__figure_panel;

/* An entry of the key: a piece of line, or a ring. */
typedef struct liana__figure_key {
    const char *name;
    liana__ink ink;
    bool dashed, thin, ring;
} liana__figure_key;

typedef struct liana__figure {
    const char *title; /* NULL: none */
    const liana__figure_key *keys;
    size_t num_keys;
    const liana__figure_panel *panels;
    size_t num_panels;
    size_t columns; /* of panels, at least 1 */
} liana__figure;

/* Writes the picture (.png or .svg). Errors: those of the canvas. */
liana_status liana__figure_write(const char *path, const liana__figure *figure, liana__error *error) LIANA_MUST_USE;

#endif
