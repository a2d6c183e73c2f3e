/* slice_pad.h - the attributes of slice and pad, for passes. */
#ifndef LIANA_OPS_SLICE_PAD_H
#define LIANA_OPS_SLICE_PAD_H

#include "ops/ops.h"

/* By axis of the input. */
typedef struct liana__slice_attributes {
    liana__ints start;
    liana__ints limit;
    liana__ints strides;
} liana__slice_attributes;

/* By axis of the input. */
typedef struct liana__pad_attributes {
    liana__ints low;
    liana__ints high;
    liana__ints interior;
    double value;
} liana__pad_attributes;

#endif
