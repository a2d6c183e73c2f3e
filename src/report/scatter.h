/* scatter.h - a picture of image sizes: a dot for each pair of width and height, whose size shows how frequent it
 * is. */
#ifndef LIANA_REPORT_SCATTER_H
#define LIANA_REPORT_SCATTER_H

#include "report/canvas.h"

#include <stddef.h>
#include <stdint.h>

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
