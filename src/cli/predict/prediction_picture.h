/* prediction_picture.h - an image with what a model says about it, as a PNG. */
#ifndef LIANA_CLI_PREDICT_PREDICTION_PICTURE_H
#define LIANA_CLI_PREDICT_PREDICTION_PICTURE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct liana__picture_line {
    const char *name; /* of a class */
    double probability;
} liana__picture_line;

typedef struct liana__prediction_picture {
    const uint8_t *pixels; /* [height, width, channels] */
    int height, width;
    int channels; /* 1 or 3 */
    const liana__picture_line *lines;
    size_t num_lines;
    const char *truth; /* the true class; NULL: not known */
    bool is_right;     /* that is the class that is said */
} liana__prediction_picture;

/* Writes the image with a bar and a line below it for each class, and the true class, green or red. Errors: those of
 * the canvas (report/canvas.h). */
liana_status liana__prediction_picture_write(const char *path, const liana__prediction_picture *picture,
                                             liana__error *error) LIANA_MUST_USE;

#endif
