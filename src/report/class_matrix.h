/* class_matrix.h - a picture of a confusion matrix: a row for each true class, a column for each predicted one. */
#ifndef LIANA_REPORT_CLASS_MATRIX_H
#define LIANA_REPORT_CLASS_MATRIX_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

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

#endif
