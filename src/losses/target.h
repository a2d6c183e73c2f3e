/* target.h - what an output of a model is compared with, by losses and metrics. */
#ifndef LIANA_LOSSES_TARGET_H
#define LIANA_LOSSES_TARGET_H

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
