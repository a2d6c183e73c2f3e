/* slice.h - the attributes of slice, for passes. */
#ifndef LIANA_OPS_SLICE_H
#define LIANA_OPS_SLICE_H

#include "ops/ops.h"

/* By axis of the input. */
typedef struct liana__slice_attributes {
    liana__ints start;
    liana__ints limit;
    liana__ints strides;
} liana__slice_attributes;

#endif
