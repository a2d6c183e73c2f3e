/* activation_functions.h - the formulas of activations, for the list (layers/activations.c) and for layers. */
#ifndef LIANA_LAYERS_ACTIVATION_FUNCTIONS_H
#define LIANA_LAYERS_ACTIVATION_FUNCTIONS_H

#include <liana/ops.h>
#include <liana/parts.h>

/* min(x, max_value) above the threshold, else negative_slope * (x - threshold). max_value NaN: no limit. */
liana_tensor liana__relu_of(liana_location here, liana_tensor x, double negative_slope, double max_value,
                            double threshold);
/* x above 0, else alpha (e^(x / scale) - 1). */
liana_tensor liana__elu_of(liana_location here, liana_tensor x, double alpha, double scale);

/* Over one axis or several, which may be negative. */
liana_tensor liana__softmax_of(liana_location here, liana_tensor x, const liana_ints *axes);

/* Formulas without arguments. */
typedef liana_tensor liana__formula(liana_location here, liana_tensor x);
liana__formula liana__hard_sigmoid_of, liana__hard_sigmoid_keras2_of, liana__selu_of, liana__softplus_of,
    liana__softsign_of, liana__mish_of, liana__hard_silu_of, liana__hard_tanh_of, liana__tanh_shrink_of,
    liana__log_sigmoid_of, liana__sparse_plus_of, liana__sparse_sigmoid_of, liana__sparsemax_of,
    liana__sparsemax_projection_of;

/* Applies a function that works on the last axis to another one, which may be negative. The graph fails for an axis
 * that x does not have, and for the batch. */
liana_tensor liana__along_axis(liana_location here, liana_tensor x, int64_t axis, liana__formula *function);

/* (x + sqrt(x^2 + b)) / 2. */
liana_tensor liana__squareplus_of(liana_location here, liana_tensor x, double b);
/* x where |x| > threshold, else 0; and the same less the threshold, towards 0. */
liana_tensor liana__hard_shrink_of(liana_location here, liana_tensor x, double threshold);
liana_tensor liana__soft_shrink_of(liana_location here, liana_tensor x, double threshold);
/* x above the threshold, else another value. */
liana_tensor liana__threshold_of(liana_location here, liana_tensor x, double threshold, double default_value);
/* The first half along the axis times the sigmoid of the second. */
liana_tensor liana__glu_of(liana_location here, liana_tensor x, int64_t axis);

#endif
