/* adjust.h - changes of pixels that several stages use. Each changes the call's image in place. */
#ifndef LIANA_DATA_AUGMENT_ADJUST_H
#define LIANA_DATA_AUGMENT_ADJUST_H

#include "data/augment/augment.h"

/* colour.c: `next` after `*change`. */
void liana__colour_change_add(liana_colour_change *change, const liana_colour_change *next);
/* colour.c: applies a colour change to an image. */
void liana__recolour_pixels(const liana__pixel_kernels *kernels, const liana_image_shape *shape, uint8_t *pixels,
                            const liana_colour_change *change);
/* colour.c: the means of each channel; returns that of 0.299 R + 0.587 G + 0.114 B. */
double liana__find_means(const liana__pixel_kernels *kernels, const liana_image_shape *shape, const uint8_t *pixels,
                         double means[3]);
/* colour.c: value * scale + offset, by channel. */
void liana__adjust_linear(const liana_augment_call *call, const double scale[3], const double offset[3]);
/* colour.c: 0 makes grey, 1 changes nothing. Grey images stay as they are. */
void liana__adjust_saturation(const liana_augment_call *call, double factor);
/* colour.c: 0 leaves the mean of the grey image, 1 changes nothing. */
void liana__adjust_contrast(const liana_augment_call *call, double factor);
/* filters.c: 0 smooths, 1 changes nothing, 2 sharpens. Needs scratch for an image. */
void liana__adjust_sharpness(const liana_augment_call *call, double factor);

/* levels.c */
void liana__posterize(const liana_augment_call *call, int bits);
void liana__solarize(const liana_augment_call *call, double threshold);
/* Always LIANA_OK, as stages that are applied to pixels. */
liana_status liana__autocontrast(const liana_augment_call *call);
liana_status liana__equalize(const liana_augment_call *call);

#endif
