/* resizing.h - windows of images, and images of another size. */
#ifndef LIANA_LAYERS_IMAGES_RESIZING_H
#define LIANA_LAYERS_IMAGES_RESIZING_H

#include "layers/images/images.h"

#include <liana/layers/image_geometry.h>

/* Rows of the options `height` and `width`. */
#define LIANA__SIZE_ROWS(type)                                                     \
    LIANA__COUNT_ROW(type, height, .required = true, .doc = "rows of the result"), \
        LIANA__COUNT_ROW(type, width, .required = true, .doc = "columns of the result")

/* A part of an image. */
typedef struct liana__image_window {
    int64_t top, left, height, width;
} liana__image_window;

liana_tensor liana__cut_window(const liana_layer_call *call, liana_tensor x, liana__image_window window);

/* The largest window in the middle of x that has the proportions of the new size. */
liana__image_window liana__aspect_window(liana_tensor x, int64_t height, int64_t width);

liana_tensor liana__resize(const liana_layer_call *call, liana_tensor x, int64_t height, int64_t width,
                           liana_interpolation interpolation, bool antialias);

/* That window of x, resized (Keras's smart_resize). */
liana_tensor liana__smart_resize(const liana_layer_call *call, liana_tensor x, int64_t height, int64_t width);

#endif
