/* curves.h - training curves: a panel for each measure, with a value for each epoch, for training and validation. */
#ifndef LIANA_REPORT_CURVES_H
#define LIANA_REPORT_CURVES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct liana__curve_panel {
    const char *name;                      /* "loss", "accuracy" */
    const double *train;                   /* a value for each epoch, NaN: none; NULL: no curve */
    const double *validation;              /* the same */
    bool higher_is_better;                 /* whether the highest or the lowest point is marked as the best */
    const struct liana__curve_mark *marks; /* drawn in this panel; NULL: none */
    size_t num_marks;
} liana__curve_panel;

/* A decision of train.control: a measured value between the epochs, and whether the training went on from there. */
typedef struct liana__curve_mark {
    double epoch; /* from 1, with a fraction: 1.5 is in the middle between the ends of the first two epochs */
    double value; /* NaN: drawn at the panel's edge */
    bool accepted;
} liana__curve_mark;

/* The most panels of one picture: the loss and every metric. */
enum { LIANA__CURVES_MOST_PANELS = 40 };

/* Writes the panels in rows of up to three, as PNG or SVG by the path's ending. `title` may be NULL. The first epoch is
 * 1. Errors: INVALID_ARGUMENT, OUT_OF_RANGE, IO_ERROR, OUT_OF_MEMORY; each names the path. */
liana_status liana__curves_write(const char *path, const char *title, const liana__curve_panel *panels,
                                 size_t num_panels, size_t num_epochs, liana__error *error) LIANA_MUST_USE;

#endif
