/* Samples of batch_norm_activation for the generated tests of ops. */
#include "ops/norm/batch_norm.h"
#include "ops/samples.h"

/* Shapes as for batch_norm: odd sizes, channels that do not fill vectors, that fill them with a tail and exactly, a
 * single row; each with another activation, with and without a residual. */
typedef struct problem {
    const char *name;
    liana_shape shape;
    int activation;
    bool adds; /* a residual */
} problem;

static const problem problems[] = {
    {"odd", LIANA__DIMS(2, 3, 5, 7), LIANA__FUSED_RELU6, true},
    {"few_channels", LIANA__DIMS(61, 3), LIANA__FUSED_SWISH, false},
    {"one_channel", LIANA__DIMS(37, 1), LIANA__FUSED_RELU, false},
    {"tail", LIANA__DIMS(3, 7, 24), LIANA__FUSED_SWISH, true},
    {"wide", LIANA__DIMS(35, 80), LIANA__FUSED_RELU, true},
    {"wide_linear", LIANA__DIMS(35, 64), LIANA__FUSED_LINEAR, true},
    {"two_rows", LIANA__DIMS(2, 5), LIANA__FUSED_RELU6, false},
    {"many_rows", LIANA__DIMS(5, 67, 8), LIANA__FUSED_SWISH, false},
    {"many_rows_of_relu6", LIANA__DIMS(5, 67, 8), LIANA__FUSED_RELU6, false},
    {"one_row", LIANA__DIMS(1, 37), LIANA__FUSED_RELU6, true},
};

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

static liana_tensor build_training(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const problem *p = row;
    const liana_shape shape = p->shape;
    const liana_tensor inputs[] = {images(graph, "x", dtype, shape), channels(graph, "gamma", dtype, shape, 0.5, 2),
                                   channels(graph, "beta", dtype, shape, -1, 1),
                                   stacked(graph, "statistics", dtype, shape), images(graph, "residual", dtype, shape)};
    return build(graph, op, inputs, p->adds ? 5 : 4, p->activation);
}

static liana_tensor build_inference(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const problem *p = row;
    const liana_shape shape = p->shape;
    const liana_tensor inputs[] = {images(graph, "x", dtype, shape),
                                   channels(graph, "gamma", dtype, shape, -2, 2),
                                   channels(graph, "beta", dtype, shape, -1, 1),
                                   channels(graph, "mean", dtype, shape, -1, 1),
                                   channels(graph, "variance", dtype, shape, 0.3, 2),
                                   images(graph, "residual", dtype, shape)};
    return build(graph, op, inputs, p->adds ? 6 : 5, p->activation);
}

static liana_tensor build_sums(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const problem *p = row;
    const liana_shape shape = p->shape;
    const liana_tensor inputs[] = {images(graph, "x", dtype, shape), images(graph, "dy", dtype, shape),
                                   stacked(graph, "statistics", dtype, shape),
                                   channels(graph, "gamma", dtype, shape, 0.5, 2),
                                   channels(graph, "beta", dtype, shape, -1, 1)};
    return build(graph, op, inputs, 5, p->activation);
}

static liana_tensor build_input_gradient(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const problem *p = row;
    const liana_shape shape = p->shape;
    const liana_tensor inputs[] = {images(graph, "x", dtype, shape),
                                   images(graph, "dy", dtype, shape),
                                   channels(graph, "gamma", dtype, shape, 0.5, 2),
                                   stacked(graph, "statistics", dtype, shape),
                                   stacked(graph, "sums", dtype, shape),
                                   channels(graph, "beta", dtype, shape, -1, 1)};
    return build(graph, op, inputs, 6, p->activation);
}

LIANA__SAMPLE_ROWS(batch_norm_training_activation, problems, build_training);
LIANA__SAMPLE_ROWS(batch_norm_inference_activation, problems, build_inference);
LIANA__SAMPLE_ROWS(batch_norm_activation_gradient_sums, problems, build_sums);
LIANA__SAMPLE_ROWS(batch_norm_activation_input_gradient, problems, build_input_gradient);
