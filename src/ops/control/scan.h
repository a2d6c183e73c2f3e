/* scan.h - the attributes of scan, for its gradient. */
#ifndef LIANA_OPS_CONTROL_SCAN_H
#define LIANA_OPS_CONTROL_SCAN_H

#include "ops/control/flat.h"

/* The inputs of a node, and of its body, are carries, xs and constants. The outputs of the body are the carries and ys.
 * The result is flat: the last carries, then the ys of all steps. */
typedef struct liana__scan_attributes {
    liana__bodies bodies;
    int64_t steps;
    int64_t num_carries;
    int64_t num_xs;
    bool reverse;
} liana__scan_attributes;

static inline liana__flat liana__scan_flat(const liana__scan_attributes *scan)
{
    return (liana__flat){scan->bodies.items[0], (size_t)scan->num_carries, scan->steps};
}

void liana__scan_gradient(liana__gradient *gradient);

#endif
