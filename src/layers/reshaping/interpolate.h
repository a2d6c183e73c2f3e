/* interpolate.h - images of another size, as TensorFlow resizes them (half-pixel centres). */
#ifndef LIANA_LAYERS_RESHAPING_INTERPOLATE_H
#define LIANA_LAYERS_RESHAPING_INTERPOLATE_H

#include <liana/layers/reshaping.h>
#include <liana/ops.h>

/* The names of liana_interpolation, for tables. */
extern const char *const liana__interpolation_names[];

/* x with `size` cells along `axis`, of any size. Each is a sum of cells of x with fixed weights; gradients flow.
 * `antialias`: where the axis becomes shorter, the kernel is wider by as much. Errors stay with the graph. */
liana_tensor liana__interpolate(liana_location here, liana_tensor x, int axis, int64_t size,
                                liana_interpolation interpolation, bool antialias);

#endif
