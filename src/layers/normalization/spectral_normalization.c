/* SpectralNormalization: a layer whose kernel is divided by its greatest singular value while it is trained (Miyato et
 * al. 2018). As in Keras 3 each update begins with the quotient. */
#include "ir/graph.h"
#include "layers/model.h"
#include "layers/option_rows.h"

#include <liana/layers/normalization.h>
#include <liana/ops.h>
#include <string.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_spectral_normalization_options, layer, LAYER, .required = true,
                     .doc = "the layer whose kernel or embeddings are normalised, such as Dense: {units: 8}"),
    LIANA_OPTION_ROW(liana_spectral_normalization_options, power_iterations, INT, .default_text = "1", .minimum = 1,
                     .maximum = 1000, .doc = "steps of the power iteration in each update"),
};

/* The held layer's first weight is its kernel. Keras's files have it a second time, as a weight of this layer. Here the
 * second one is the kernel that the last update began with. vector_u follows. */
static liana_status declare_weights(liana_layer_build *build)
{
    const liana_spectral_normalization_options *chosen = build->options;
    const liana_shape input = build->inputs[0];
    LIANA_TRY(liana_layer_build_held(build, &chosen->layer, "layer", &input, 1));
    const liana_model *model = build->model;
    const size_t first = model->layers[build->layer].first_weight + build->base + chosen->layer.first_weight;
    const liana__weight *kernel = chosen->layer.num_weights ? &model->weights[first] : NULL;
    const bool fits =
        kernel && kernel->shape.rank >= 2 &&
        (liana__ends_with(kernel->short_name, "kernel") || liana__ends_with(kernel->short_name, "embeddings"));
    if (!fits) {
        return build->status = liana__fail(build->error, LIANA_INVALID_CONFIG,
                                           "it holds a %s, which has no kernel, expected a layer with a kernel or "
                                           "embeddings, such as Dense, Conv2D or Embedding",
                                           chosen->layer.type->part.name);
    }
    const liana_shape shape = kernel->shape; /* the list of weights may move */
    liana_layer_add_weight(build, "kernel", shape, "zeros", false);
    if (build->status == LIANA_OK && !build->is_reuse) {
        build->model->weights[first].begins_as = build->model->num_weights - 1;
    }
    liana_layer_add_weight(build, "vector_u", liana_shape_of(1, shape.dims[shape.rank - 1]),
                           "truncated_normal(stddev=0.02)", false);
    return build->status;
}

/* x / |x|, at most 1e7 x, as Keras's normalize. */
static liana_tensor normalised(liana_location here, liana_tensor x)
{
    liana_tensor sum = liana_op_reduce_sum_at(here, liana_op_square_at(here, x), LIANA_ALL_AXES, true);
    liana_tensor least = liana_graph_scalar_at(here, x.graph, liana_tensor_dtype(x), 1e-14);
    return liana_op_multiply_at(here, x, liana_op_rsqrt_at(here, liana_op_maximum_at(here, sum, least)));
}

/* The kernel over its greatest singular value, and the next vector u. A kernel of zeros stays, and u with it. As Keras
 * puts the quotient into the kernel before the layer is called, its gradient is the kernel's. */
static liana_tensor normalise_kernel(liana_layer_call *call, liana_tensor kernel, liana_tensor *vector)
{
    const liana_spectral_normalization_options *chosen = call->options;
    const liana_location here = call->here;
    const liana_shape shape = liana_tensor_shape(kernel);
    liana_tensor fixed = liana_op_stop_gradient_at(here, kernel), u = *vector, v = u;
    liana_tensor matrix = liana_op_reshape_at(here, fixed, liana_shape_of(-1, shape.dims[shape.rank - 1]));
    for (int64_t i = 0; i < chosen->power_iterations; i++) {
        v = normalised(here, liana_op_matmul_at(here, u, matrix, false, true));
        u = normalised(here, liana_op_matmul_at(here, v, matrix, false, false));
    }
    liana_tensor sigma = liana_op_matmul_at(here, liana_op_matmul_at(here, v, matrix, false, false), u, false, true);
    sigma = liana_op_reshape_at(here, sigma, LIANA_SCALAR);
    liana_tensor largest = liana_op_reduce_max_at(here, liana_op_abs_at(here, fixed), LIANA_ALL_AXES, false);
    liana_tensor zero = liana_graph_scalar_at(here, kernel.graph, liana_tensor_dtype(kernel), 0);
    liana_tensor is_zero = liana_op_equal_at(here, largest, zero);
    *vector = liana_op_select_at(here, is_zero, *vector, u);
    liana_tensor quotient = liana_op_divide_at(here, fixed, sigma);
    return liana_op_straight_through_at(here, liana_op_select_at(here, is_zero, fixed, quotient), kernel);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_spectral_normalization_options *chosen = call->options;
    const liana_held_layer *held = &chosen->layer;
    if (!call->training || !call->trainable) {
        return liana_layer_call_held(call, held, 0, call->inputs, call->masks, 1, NULL);
    }
    liana_tensor weights[LIANA_MAX_LAYER_WEIGHTS];
    for (size_t i = 0; i < call->num_weights && i < LIANA_MAX_LAYER_WEIGHTS; i++) weights[i] = call->weights[i];
    liana_tensor vector = call->weights[call->num_weights - 1];
    const liana_tensor quotient = normalise_kernel(call, weights[held->first_weight], &vector);
    weights[held->first_weight] = quotient;
    const liana_tensor *own = call->weights;
    call->weights = weights;
    const liana_tensor result = liana_layer_call_held(call, held, 0, call->inputs, call->masks, 1, NULL);
    call->weights = own;
    if (call->num_updates + 2 <= LIANA_MAX_LAYER_UPDATES) {
        call->updates[call->num_updates++] = (liana_layer_update){call->num_weights - 2, quotient, 0, false, 0};
        call->updates[call->num_updates++] = (liana_layer_update){call->num_weights - 1, vector, 0, false, 0};
    }
    return result;
}

const liana_layer_type liana__layer_spectral_normalization = {
    LIANA_PART(LAYER, liana_layer_type, "SpectralNormalization",
               "a layer whose kernel is divided by its greatest singular value in training",
               LIANA_PART_OPTIONS(liana_spectral_normalization_options, rows)),
    LIANA__INPUTS(1, 1),
    .takes_integers = true,
    .reads_training = true,
    .masking = LIANA_MASKING_KEPT,
    .weights = declare_weights,
    .call = call_layer,
};
