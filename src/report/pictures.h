/* pictures.h - the pictures that reports draw, one function for each kind. */
#ifndef LIANA_REPORT_PICTURES_H
#define LIANA_REPORT_PICTURES_H

#include "report/canvas.h"

#include <liana/model.h>

/* ---- bars ---- */

/* A bar chart of numbers by class: a row of bars for each class. */

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
    const char *mark_label; /* its label */
    bool percent;           /* values are shares, written in percent; false: whole numbers */
    bool fractions;         /* values are any numbers, written with four digits */
} liana__bars;

/* Writes the picture (.png or .svg). If there are very many rows, only the first are shown. Errors: those of the
 * canvas. */
liana_status liana__bars_write(const char *path, const liana__bars *bars, liana__error *error) LIANA_MUST_USE;

/* ---- class matrix ---- */

/* A picture of a confusion matrix: a row for each true class, a column for each predicted one. */

typedef struct liana__class_matrix {
    const char *title;
    const char *const *labels; /* [classes] */
    size_t classes;
    const double *counts; /* [classes, classes], at least 0 */
    bool normalized;      /* cells are shares of their row, in percent; false: counts */
} liana__class_matrix;

/* Writes the picture (.png or .svg). Cells are darker the larger their share of the row is: green where they are right,
 * red where not. Of many classes, cells are small and have no numbers. Errors: OUT_OF_RANGE (more than 500 classes);
 * those of the canvas. */
liana_status liana__class_matrix_write(const char *path, const liana__class_matrix *matrix, liana__error *error)
    LIANA_MUST_USE;

/* ---- correlation matrix ---- */

/* A picture of how much columns have to do with each other: a square for each two, with the number. */

typedef struct liana__correlation_matrix {
    const char *title;
    const char *const *names; /* [count] */
    const bool *categories;   /* [count]: the column has names, not numbers */
    const double *values;     /* [count, count]: -1 to 1 between numbers, else 0 to 1; NaN: not defined */
    size_t count;
} liana__correlation_matrix;

/* Writes the picture (.png or .svg): blue above 0, orange below, green where a category takes part and there is no
 * sign; the darker, the further from 0. Errors: those of the canvas. */
liana_status liana__correlation_matrix_write(const char *path, const liana__correlation_matrix *matrix,
                                             liana__error *error) LIANA_MUST_USE;

/* ---- curves ---- */

/* Training curves: a panel for each measure, with a value for each epoch, for training and validation. */

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

/* ---- dots ---- */

/* A dot chart: for each row a mean, as a dot, and its spread, as a line to both sides. */

typedef struct liana__dots_row {
    const char *name;
    double mean;   /* NaN: the row is empty */
    double spread; /* NaN: no line */
} liana__dots_row;

/* Writes the picture (.png or .svg), the rows from top to bottom. Errors: those of the canvas. */
liana_status liana__dots_write(const char *path, const char *title, const liana__dots_row *rows, size_t count,
                               liana__error *error) LIANA_MUST_USE;

/* ---- figure ---- */

/* Line charts: panels in a grid, with one key for all of them. */

/* Colours that people with any colour vision can tell apart: Okabe and Ito, "Color universal design" (2008), without
 * yellow, which is too light for lines. */
enum { LIANA__FIGURE_INKS = 7 };
extern const liana__ink liana__figure_inks[LIANA__FIGURE_INKS];

typedef struct liana__figure_line {
    const char *name; /* in a page; NULL: it is called as its panel is */
    size_t run;       /* of several runs: which one, from 0 */
    const double *x;  /* [count], ascending */
    const double *y;  /* [count]; NaN: no point there */
    size_t count;
    liana__ink ink;
    bool dashed;
    bool thin;
    double extended_to; /* the last value is drawn on to this x, dotted; no more than the last x: it is not */
} liana__figure_line;

/* A ring at a point, or one of many points. */
typedef struct liana__figure_mark {
    double x, y;
    liana__ink ink;
    bool dot;         /* a small filled dot, as in a scatter plot; false: a ring */
    const char *name; /* in a page; NULL: none */
} liana__figure_mark;

typedef struct liana__figure_panel {
    const char *title;
    const char *x_label;
    const char *y_label; /* in a page; NULL: the title says it */
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
    bool by_run;    /* colours are runs; false: lines have colours of their own */
} liana__figure;

/* Writes the picture (.png or .svg). Errors: those of the canvas. */
liana_status liana__figure_write(const char *path, const liana__figure *figure, liana__error *error) LIANA_MUST_USE;

/* ---- grid ---- */

/* A picture of predictions: images with the predicted class, framed green if right and red if wrong. */

typedef struct liana__grid_item {
    const uint8_t *pixels; /* [height, width, channels], rows without gaps; channels 1 or 3 */
    int height;
    int width;
    int channels;
    const char *predicted;
    const char *truth; /* NULL: not known (test data), with a grey frame */
    double confidence; /* of the prediction, in [0, 1]; NaN: not shown */
    const char *note;  /* a second line if `truth` is NULL; may be NULL */
    bool marked;       /* has an orange frame if `truth` is NULL */
    /* In a page: the probability of the true class (0 or NaN: not known), and the record's id (NULL: it has none). */
    double truth_probability;
    const char *id;
} liana__grid_item;

typedef struct liana__grid_options {
    const char *title; /* NULL for none */
    int columns;       /* 0: the picture is about square */
    int cell_size;     /* size of an image in pixels; 0: 128. Small images are enlarged; all keep their proportions */
    /* Two grids side by side, each of half the columns, with these words above them. Items go through both, row by row;
     * one without pixels is an empty place. NULL: one grid. */
    const char *halves[2];
} liana__grid_options;

/* Writes the picture (.png or .svg). With a count of 0 the picture says that there are none. `options` may be NULL.
 * Errors, with the path: INVALID_ARGUMENT, OUT_OF_RANGE, IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__grid_write(const char *path, const liana__grid_item *items, size_t count,
                               const liana__grid_options *options, liana__error *error) LIANA_MUST_USE;

/* ---- model ---- */

/* Draws a model (.png or .svg): a box for each layer with its kind, the shapes of its results and its parameters, and
 * arrows. Blocks of a large model are one box (report/model_boxes.h). A picture that would be larger than
 * LIANA__CANVAS_MAX is drawn smaller. Errors: those of the canvas. */
liana_status liana__model_picture_write(const char *path, const liana_model *model, liana__error *error) LIANA_MUST_USE;

/* ---- scatter ---- */

/* A picture of image sizes: a dot for each pair of width and height, whose size shows how frequent it is. */

typedef struct liana__scatter_point {
    double width;
    double height;
    int64_t count;
} liana__scatter_point;

/* Writes the picture (.png or .svg). `target` is the size to which images are resized, drawn as a cross. Errors: those
 * of the canvas. */
liana_status liana__scatter_write(const char *path, const char *title, const liana__scatter_point *points, size_t count,
                                  const double target[2], liana__error *error) LIANA_MUST_USE;

#endif
