/* Samples of batch_norm_activation for the generated tests of ops. */
#include "ops/norm/batch_norm.h"
#include "ops/samples.h"

/* Shapes as for batch_norm: odd sizes, channels that do not fill vectors, that fill them with a tail and exactly, a
 * single row; each with another activation, with and without a residual. */
#define SHAPES(X)                                                              \
    X(odd, liana_shape_of(2, 3, 5, 7), LIANA__FUSED_RELU6, true)               \
    X(few_channels, liana_shape_of(61, 3), LIANA__FUSED_SWISH, false)          \
    X(one_channel, liana_shape_of(37, 1), LIANA__FUSED_RELU, false)            \
    X(tail, liana_shape_of(3, 7, 24), LIANA__FUSED_SWISH, true)                \
    X(wide, liana_shape_of(35, 80), LIANA__FUSED_RELU, true)                   \
    X(wide_linear, liana_shape_of(35, 64), LIANA__FUSED_LINEAR, true)          \
    X(two_rows, liana_shape_of(2, 5), LIANA__FUSED_RELU6, false)               \
    X(many_rows, liana_shape_of(5, 67, 8), LIANA__FUSED_SWISH, false)          \
    X(many_rows_of_relu6, liana_shape_of(5, 67, 8), LIANA__FUSED_RELU6, false) \
    X(one_row, liana_shape_of(1, 37), LIANA__FUSED_RELU6, true)

static const double epsilon = 1e-3;

static liana_tensor images(liana_graph *graph, const char *name, liana_dtype dtype, liana_shape shape)
{
    return liana__sample_input(graph, name, dtype, shape, -4, 6);
}

static liana_tensor channels(liana_graph *graph, const char *name, liana_dtype dtype, liana_shape shape, double low,
                             double high)
{
    liana_shape row = liana_shape_of(shape.dims[shape.rank - 1]);
    return liana__sample_input(graph, name, liana__wide_dtype(dtype), row, low, high);
}

/* [2, channels], the second row positive as a variance must be. */
static liana_tensor stacked(liana_graph *graph, const char *name, liana_dtype dtype, liana_shape shape)
{
    liana_shape rows = liana_shape_of(2, shape.dims[shape.rank - 1]);
    return liana__sample_input(graph, name, liana__wide_dtype(dtype), rows, 0.5, 2);
}

static liana_tensor build(liana_graph *graph, const liana__op *op, const liana_tensor *inputs, size_t count,
                          int activation)
{
    return liana__build(LIANA_HERE, graph, op, inputs, count,
                        &(liana__batch_norm_attributes){.epsilon = epsilon, .activation = activation});
}

static liana_tensor build_training(liana_graph *graph, liana_dtype dtype, liana_shape shape, int activation, bool adds)
{
    const liana_tensor inputs[] = {images(graph, "x", dtype, shape), channels(graph, "gamma", dtype, shape, 0.5, 2),
                                   channels(graph, "beta", dtype, shape, -1, 1),
                                   stacked(graph, "statistics", dtype, shape), images(graph, "residual", dtype, shape)};
    return build(graph, &liana__op_batch_norm_training_activation, inputs, adds ? 5 : 4, activation);
}

static liana_tensor build_inference(liana_graph *graph, liana_dtype dtype, liana_shape shape, int activation, bool adds)
{
    const liana_tensor inputs[] = {images(graph, "x", dtype, shape),
                                   channels(graph, "gamma", dtype, shape, -2, 2),
                                   channels(graph, "beta", dtype, shape, -1, 1),
                                   channels(graph, "mean", dtype, shape, -1, 1),
                                   channels(graph, "variance", dtype, shape, 0.3, 2),
                                   images(graph, "residual", dtype, shape)};
    return build(graph, &liana__op_batch_norm_inference_activation, inputs, adds ? 6 : 5, activation);
}

static liana_tensor build_sums(liana_graph *graph, liana_dtype dtype, liana_shape shape, int activation, bool adds)
{
    (void)adds;
    const liana_tensor inputs[] = {images(graph, "x", dtype, shape), images(graph, "dy", dtype, shape),
                                   stacked(graph, "statistics", dtype, shape),
                                   channels(graph, "gamma", dtype, shape, 0.5, 2),
                                   channels(graph, "beta", dtype, shape, -1, 1)};
    return build(graph, &liana__op_batch_norm_activation_gradient_sums, inputs, 5, activation);
}

static liana_tensor build_input_gradient(liana_graph *graph, liana_dtype dtype, liana_shape shape, int activation,
                                         bool adds)
{
    (void)adds;
    const liana_tensor inputs[] = {images(graph, "x", dtype, shape),
                                   images(graph, "dy", dtype, shape),
                                   channels(graph, "gamma", dtype, shape, 0.5, 2),
                                   stacked(graph, "statistics", dtype, shape),
                                   stacked(graph, "sums", dtype, shape),
                                   channels(graph, "beta", dtype, shape, -1, 1)};
    return build(graph, &liana__op_batch_norm_activation_input_gradient, inputs, 6, activation);
}

#define BUILD(name, shape, activation, adds)                                         \
    static liana_tensor name##_training(liana_graph *graph, liana_dtype dtype)       \
    {                                                                                \
        return build_training(graph, dtype, shape, activation, adds);                \
    }                                                                                \
    static liana_tensor name##_inference(liana_graph *graph, liana_dtype dtype)      \
    {                                                                                \
        return build_inference(graph, dtype, shape, activation, adds);               \
    }                                                                                \
    static liana_tensor name##_sums(liana_graph *graph, liana_dtype dtype)           \
    {                                                                                \
        return build_sums(graph, dtype, shape, activation, adds);                    \
    }                                                                                \
    static liana_tensor name##_input_gradient(liana_graph *graph, liana_dtype dtype) \
    {                                                                                \
        return build_input_gradient(graph, dtype, shape, activation, adds);          \
    }
SHAPES(BUILD)
#undef BUILD

#define TRAINING(name, shape, activation, adds) {#name, name##_training, 0},
static const liana__sample training_samples[] = {SHAPES(TRAINING)};
#define INFERENCE(name, shape, activation, adds) {#name, name##_inference, 0},
static const liana__sample inference_samples[] = {SHAPES(INFERENCE)};
#define SUMS(name, shape, activation, adds) {#name, name##_sums, 0},
static const liana__sample sums_samples[] = {SHAPES(SUMS)};
#define INPUT_GRADIENT(name, shape, activation, adds) {#name, name##_input_gradient, 0},
static const liana__sample input_gradient_samples[] = {SHAPES(INPUT_GRADIENT)};

LIANA__SAMPLES(batch_norm_training_activation, training_samples);
LIANA__SAMPLES(batch_norm_inference_activation, inference_samples);
LIANA__SAMPLES(batch_norm_activation_gradient_sums, sums_samples);
LIANA__SAMPLES(batch_norm_activation_input_gradient, input_gradient_samples);
