/* dots.h - a dot chart: for each row a mean, as a dot, and its spread, as a line to both sides. */
#ifndef LIANA_REPORT_DOTS_H
#define LIANA_REPORT_DOTS_H

#include "report/canvas.h"

#include <stddef.h>

typedef struct liana__dots_row {
    const char *name;
    double mean;   /* NaN: the row is empty */
    double spread; /* NaN: no line */
} liana__dots_row;

/* Writes the picture (.png or .svg), the rows from top to bottom. Errors: those of the canvas. */
liana_status liana__dots_write(const char *path, const char *title, const liana__dots_row *rows, size_t count,
                               liana__error *error) LIANA_MUST_USE;

#endif
