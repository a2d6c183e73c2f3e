/* target.h - what an output of a model is compared with, by losses and metrics. */
#ifndef LIANA_LOSSES_TARGET_H
#define LIANA_LOSSES_TARGET_H

#include "base/error.h"
#include "base/field.h"

#include <liana/ops.h>

/* The function that makes predictions of logits. */
typedef enum liana__activation_kind {
    LIANA__ACTIVATION_NONE,
    LIANA__ACTIVATION_SOFTMAX, /* over the last axis */
    LIANA__ACTIVATION_SIGMOID,
} liana__activation_kind;

/* Bits, so that losses and metrics can take several. */
typedef enum liana__target_kind {
    LIANA__TARGET_CLASSES = 1, /* s32, the output's shape without its last axis: an index along that axis */
    LIANA__TARGET_VALUES = 2,  /* the output's shape and dtype */
} liana__target_kind;

/* Which values a loss is defined for. The host checks them before they are trained on or measured. */
typedef enum liana__target_range {
    LIANA__RANGE_ANY,
    LIANA__RANGE_UNIT,   /* each from 0 to 1: the probability of yes */
    LIANA__RANGE_SHARES, /* the same, and those of an element (the last axis) add up to 1: probabilities of classes */
} liana__target_range;

/* Checks the values of one example, rows of `classes` values each. Sums may be 0.01 away from 1, so that rounded
 * percentages pass. `component` and `loss` are names for the message. Errors: OUT_OF_RANGE with the place, the value,
 * and what was expected. */
liana_status liana__target_check(liana__target_range range, const float *values, int64_t count, int64_t classes,
                                 const char *component, const char *loss, liana__error *error) LIANA_MUST_USE;

typedef struct liana__truth {
    liana__target_kind kind;
    liana_tensor tensor;
} liana__truth;

/* A scalar of the tensor's dtype. */
liana_tensor liana__scalar_like(liana_tensor tensor, double value);

/* The target as rows like the output: classes become 1 where the class is, else 0. */
liana_tensor liana__target_rows(const liana__truth *target, liana_tensor output);

/* [rows, n] of a tensor [batch, ..., n], and [rows] of one without the last axis. */
liana_tensor liana__as_rows(liana_tensor tensor);
liana_tensor liana__as_column(liana_tensor tensor);

#endif
