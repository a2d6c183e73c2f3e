/* control_samples.h - what the samples of ops with bodies share. */
#ifndef LIANA_OPS_CONTROL_SAMPLES_H
#define LIANA_OPS_CONTROL_SAMPLES_H

#include "ops/samples.h"

#include <liana/loops.h>

/* Some tensors as one list, so that a sample's result shows them all. */
static inline liana_tensor liana__sample_join(const liana_tensor *tensors, size_t count)
{
    liana_tensor lists[8];
    for (size_t i = 0; i < count; i++) {
        const liana_shape shape = liana_tensor_shape(tensors[i]);
        lists[i] = liana_op_reshape(tensors[i], liana_shape_of(liana_shape_size(&shape)));
    }
    return liana_op_concat(lists, count, 0);
}

#endif
