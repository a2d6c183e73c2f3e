/* pad.h - the attributes of pad, for passes. */
#ifndef LIANA_OPS_PAD_H
#define LIANA_OPS_PAD_H

#include "ops/ops.h"

/* By axis of the input. */
typedef struct liana__pad_attributes {
    liana__ints low;
    liana__ints high;
    liana__ints interior;
    double value;
} liana__pad_attributes;

#endif
