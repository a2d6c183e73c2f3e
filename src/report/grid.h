/* grid.h - a picture of predictions: images with the predicted class, framed green if right and red if wrong. */
#ifndef LIANA_REPORT_GRID_H
#define LIANA_REPORT_GRID_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct liana__grid_item {
    const uint8_t *pixels; /* [height, width, channels], rows without gaps; channels 1 or 3 */
    int height;
    int width;
    int channels;
    const char *predicted;
    const char *truth; /* NULL: not known (test data), with a grey frame */
    double confidence; /* of the prediction, in [0, 1]; NaN: not shown */
    const char *note;  /* a second line if `truth` is NULL; may be NULL */
} liana__grid_item;

typedef struct liana__grid_options {
    const char *title; /* NULL for none */
    int columns;       /* 0: as many as make the picture about square */
    int cell_size;     /* size of an image in pixels; 0: 128. Small images are enlarged; all keep their proportions */
} liana__grid_options;

/* Writes the picture (.png or .svg). With a count of 0 the picture says that there are none. `options` may be NULL.
 * Errors, with the path: INVALID_ARGUMENT, OUT_OF_RANGE, IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__grid_write(const char *path, const liana__grid_item *items, size_t count,
                               const liana__grid_options *options, liana__error *error) LIANA_MUST_USE;

#endif
