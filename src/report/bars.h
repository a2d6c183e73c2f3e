/* bars.h - a bar chart of numbers by class: a row of bars for each class. */
#ifndef LIANA_REPORT_BARS_H
#define LIANA_REPORT_BARS_H

#include "report/canvas.h"

#include <stddef.h>

typedef struct liana__bar_series {
    const char *name;
    const double *values; /* [count], at least 0 */
    liana__ink ink;
} liana__bar_series;

typedef struct liana__bars {
    const char *title;
    const char *const *labels; /* [count] */
    size_t count;
    const liana__bar_series *series;
    size_t num_series;
    double mark;            /* draws a line across all bars at this value; 0: none */
    const char *mark_label; /* its meaning */
    bool percent;           /* values are shares, written in percent; false: whole numbers */
} liana__bars;

/* Writes the picture (.png or .svg). If there are very many rows, only the first are shown. Errors: those of the
 * canvas. */
liana_status liana__bars_write(const char *path, const liana__bars *bars, liana__error *error) LIANA_MUST_USE;

#endif
