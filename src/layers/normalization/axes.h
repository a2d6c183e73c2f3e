/* axes.h - the axes of layers that normalise each example, and the weights along them. */
#ifndef LIANA_LAYERS_NORMALIZATION_AXES_H
#define LIANA_LAYERS_NORMALIZATION_AXES_H

#include "layers/option_rows.h"

#include <liana/ops.h>

/* Rows of options. */
#define LIANA__AXES_ROW(type)                                                                                       \
    LIANA_OPTION_ROW(type, axis, AXES, .default_text = "-1", .minimum = -LIANA_MAX_RANK, .maximum = LIANA_MAX_RANK, \
                     .doc = "one axis or several; axis 0 is the batch, negative ones count from the end")
#define LIANA__AXIS_ROW(type)                                                                                      \
    LIANA_OPTION_ROW(type, axis, INT, .default_text = "-1", .minimum = -LIANA_MAX_RANK, .maximum = LIANA_MAX_RANK, \
                     .doc = "of the channels; axis 0 is the batch, negative ones count from the end")

/* Axes of an option up to the first 0. */
liana_ints liana__given_axes(const int64_t axis[LIANA_MAX_AXES]);
/* Refuses an axis that is there twice, and none at all unless `may_be_none`. */
liana_status liana__check_axes(liana_check *check, const int64_t axis[LIANA_MAX_AXES], bool may_be_none);
/* Refuses inputs that do not have the axes: one, or several that differ. */
liana_status liana__build_axes(liana_layer_build *build, const int64_t *axis, int64_t count);

/* The axis counted from 0, of an input of that rank. */
static inline int64_t liana__axis_of(int64_t axis, int64_t rank)
{
    return axis < 0 ? axis + rank : axis;
}

/* From 0 on, ascending. */
liana_axes liana__axes_of(const liana_ints *axis, int rank);
/* Whether they are the last ones. */
bool liana__axes_are_last(const liana_axes *axes, int rank);

/* The shape of a weight with one number for each position along the axes. As in Keras the axes come in the order of the
 * numbers that were written, negative ones first. */
liana_shape liana__shape_along(const liana_ints *axis, const liana_shape *x);
/* A weight as a tensor that is broadcast to x: 1 along all other axes. */
liana_tensor liana__along_axes(liana_location here, liana_tensor weight, liana_tensor x, const liana_axes *axes);

/* x less its mean over the axes, in f32 at least (`about_zero`: x itself), times 1 / sqrt(variance + epsilon). */
liana_tensor liana__normalise_over(liana_location here, liana_tensor x, const liana_axes *axes, double epsilon,
                                   bool about_zero);

/* One of the layer's initial values: a constant vector. */
liana_tensor liana__constant_along(liana_location here, liana_tensor x, int64_t size, double value);

#endif
