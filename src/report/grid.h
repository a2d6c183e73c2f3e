/* grid.h - a picture of predictions: images with what the model said, framed green where right and red where wrong. */
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
    const char *truth; /* NULL where it is not known (test data): a grey frame */
    double confidence; /* of the prediction, in [0, 1]; NaN leaves it out */
    const char *note;  /* a second line in place of a truth that is NULL; may be NULL */
} liana__grid_item;

typedef struct liana__grid_options {
    const char *title; /* NULL for none */
    int columns;       /* 0: as many as make the picture about square */
    int cell_size;     /* of an image, in pixels; 0 for 128. Small images are enlarged, all keep their proportions */
} liana__grid_options;

/* Writes the picture (.png, or .svg); a count of 0 gives a picture that says so. `options` may be NULL.
 * Errors: INVALID_ARGUMENT, OUT_OF_RANGE, IO_ERROR, OUT_OF_MEMORY; each names the path. */
liana_status liana__grid_write(const char *path, const liana__grid_item *items, size_t count,
                               const liana__grid_options *options, liana__error *error) LIANA_MUST_USE;

#endif
