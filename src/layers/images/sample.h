/* sample.h - images whose pixels are read at other places, for layers that move them. */
#ifndef LIANA_LAYERS_IMAGES_SAMPLE_H
#define LIANA_LAYERS_IMAGES_SAMPLE_H

#include "layers/images/images.h"

#include <liana/layers/image_geometry.h>

/* How values between pixels and beyond edges are found. */
typedef struct liana__sampling {
    liana_interpolation interpolation; /* LIANA_NEAREST or LIANA_BILINEAR */
    liana_fill_mode fill_mode;
    double fill_value;
} liana__sampling;

/* Names of them, for tables. */
extern const char *const liana__sampling_interpolations[];
extern const char *const liana__fill_modes[];
extern const char *const liana__elastic_fill_modes[]; /* with mirror */

#define LIANA__SAMPLING_INTERPOLATION_ROW(type)                                                                      \
    LIANA_OPTION_ROW(type, interpolation, ENUM, .default_text = "bilinear", .names = liana__sampling_interpolations, \
                     .doc = "how values between pixels are found")
#define LIANA__FILL_MODE_ROW(type)                                                                     \
    LIANA_OPTION_ROW(type, fill_mode, ENUM, .default_text = "reflect", .names = liana__fill_modes,     \
                     .doc = "how pixels beyond the edges are found: reflected, the other side's, the " \
                            "nearest, or fill_value")
#define LIANA__FILL_VALUE_ROW(type) \
    LIANA_OPTION_ROW(type, fill_value, FLOAT, .doc = "of pixels beyond the edges, if fill_mode is constant")

/* Numbers a0, a1, a2, b0, b1, b2, c0, c1, each f32 [batch, 1, 1, 1]; id 0 stands for that of the identity. The value at
 * (x, y) is that of the image at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), with k = c0 x + c1 y + 1. */
typedef struct liana__image_transform {
    liana_tensor a[3], b[3], c[2];
} liana__image_transform;

/* As TensorFlow's ImageProjectiveTransformV3: fill modes are of the place, before pixels are chosen. Gradients flow to
 * the images: those of this function, where TensorFlow's use the inverse transform. */
liana_tensor liana__transform_images(const liana_layer_call *call, liana_tensor images,
                                     const liana__image_transform *transform, const liana__sampling *sampling);

/* The values at `rows` and `columns`, f32 and of shapes that broadcast to [batch, height, width, 1]. As Keras's
 * map_coordinates: fill modes are of the pixels that are read. */
liana_tensor liana__map_coordinates(const liana_layer_call *call, liana_tensor images, liana_tensor rows,
                                    liana_tensor columns, const liana__sampling *sampling);

/* The pixels at `rows` and `columns`: whole numbers within the image. */
liana_tensor liana__read_pixels(const liana_layer_call *call, liana_tensor images, liana_tensor rows,
                                liana_tensor columns);

/* f32: 0, 1, ... along `axis`, which is that of rows or columns. */
liana_tensor liana__image_places(const liana_layer_call *call, int64_t size, int axis);

#endif
