/* target.h - the targets with which losses and metrics compare an output of a model. */
#ifndef LIANA_LOSSES_TARGET_H
#define LIANA_LOSSES_TARGET_H

#include "base/part.h"

#include <liana/ops.h>

/* Checks the values of one example, rows of `classes` values each. Sums may be 0.01 away from 1, so that rounded
 * percentages pass. `component` and `loss` are names for the message. Errors: OUT_OF_RANGE with the place, the value,
 * and the expected range. */
liana_status liana__target_check(liana_target_range range, const float *values, int64_t count, int64_t classes,
                                 const char *component, const char *loss, liana__error *error) LIANA_MUST_USE;

/* A scalar of the tensor's dtype. */
liana_tensor liana__scalar_like(liana_tensor tensor, double value);

/* The row of an option `axis`: the one of the classes. */
#define LIANA__LOSS_AXIS_ROW(type)                                                                                 \
    LIANA_OPTION_ROW(type, axis, INT, .default_text = "-1", .minimum = -LIANA_MAX_RANK, .maximum = LIANA_MAX_RANK, \
                     .doc = "The axis of the values that belong together; -1: the last one.")

/* The target as rows like the output: classes become 1 where the class is, else 0. */
liana_tensor liana__target_rows(const liana_target *target, liana_tensor output);

/* target * (1 - smoothing) + smoothing / parts: Szegedy et al. 2015, "Rethinking the Inception architecture", section
 * 7; Keras's label_smoothing, with 2 parts for binary targets. */
liana_tensor liana__target_smooth(liana_tensor target, double smoothing, double parts);

/* The call with an axis of output, logits and rows of targets moved to the end, which may be -1; and a loss of its
 * elements, [batch, ...], spread evenly over those of `output`, the shape without the last axis. */
liana_loss_call liana__loss_move_axis(const liana_loss_call *call, int64_t axis);
liana_tensor liana__loss_spread(liana_tensor each, liana_tensor output);

/* Values by row, [batch, ...], times f32 [batch]. An invalid one: 1. */
liana_tensor liana__times_rows(liana_tensor values, liana_tensor rows);

/* [rows, n] of a tensor [batch, ..., n], and [rows] of one without the last axis. */
liana_tensor liana__as_rows(liana_tensor tensor);
liana_tensor liana__as_column(liana_tensor tensor);

/* For a kind's `accept`: refuses a part that takes no targets, or unknown ones. */
liana_status liana__targets_accept(liana_context *context, const liana_part *part, unsigned targets) LIANA_MUST_USE;

#endif
