/* Samples of batch_norm for the generated tests of ops. */
#include "ops/norm/batch_norm_samples.h"

/* Shapes: odd sizes; channels that fill vectors exactly, with a tail, and not at all; many rows; two rows, where the
 * statistics are as large as the images; a single one. */
static const liana__batch_norm_row problems[] = {
    {"odd", LIANA__DIMS(2, 3, 5, 7), LIANA__FUSED_LINEAR, false},
    {"few_channels", LIANA__DIMS(61, 3), LIANA__FUSED_LINEAR, false},
    {"one_channel", LIANA__DIMS(37, 1), LIANA__FUSED_LINEAR, false},
    {"tail", LIANA__DIMS(3, 7, 24), LIANA__FUSED_LINEAR, false},
    {"wide", LIANA__DIMS(35, 80), LIANA__FUSED_LINEAR, false},
    {"two_rows", LIANA__DIMS(2, 5), LIANA__FUSED_LINEAR, false},
    {"many_rows", LIANA__DIMS(5, 67, 8), LIANA__FUSED_LINEAR, false},
    {"one_row", LIANA__DIMS(1, 37), LIANA__FUSED_LINEAR, false},
};

static const double epsilon = 1e-3;

static liana_tensor images(liana_graph *graph, const char *name, liana_dtype dtype, const liana__batch_norm_row *row)
{
    return liana__sample_input(graph, name, dtype, row->shape, -4, 6);
}

static liana_tensor channels(liana_graph *graph, const char *name, liana_dtype dtype, liana_shape images_shape,
                             double low, double high)
{
    liana_shape shape = liana_shape_of(images_shape.dims[images_shape.rank - 1]);
    return liana__sample_input(graph, name, liana__wide_dtype(dtype), shape, low, high);
}

/* [2, channels], the second row positive as a variance must be. */
static liana_tensor stacked(liana_graph *graph, const char *name, liana_dtype dtype, liana_shape images_shape)
{
    liana_shape shape = liana_shape_of(2, images_shape.dims[images_shape.rank - 1]);
    return liana__sample_input(graph, name, liana__wide_dtype(dtype), shape, 0.5, 2);
}

static liana_tensor build(liana_graph *graph, const liana__op *op, const liana_tensor *inputs, size_t count,
                          const liana__batch_norm_row *row)
{
    return liana__build(LIANA_HERE, graph, op, inputs, count,
                        &(liana__batch_norm_attributes){.epsilon = epsilon, .activation = row->activation});
}

static liana_tensor build_statistics(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    return liana_op_batch_norm_statistics(images(graph, "x", dtype, row));
}

/* Without an activation, the statistics are those of x: the gradient also flows through them. */
liana_tensor liana__sample_batch_norm_training(liana_graph *graph, liana_dtype dtype, const liana__op *op,
                                               const void *row)
{
    const liana__batch_norm_row *p = row;
    const bool plain = op == &liana__op_batch_norm_training;
    liana_tensor inputs[5] = {images(graph, "x", dtype, p)};
    inputs[1] = channels(graph, "gamma", dtype, p->shape, 0.5, 2);
    inputs[2] = channels(graph, "beta", dtype, p->shape, -1, 1);
    inputs[3] = plain ? liana_op_batch_norm_statistics(inputs[0]) : stacked(graph, "statistics", dtype, p->shape);
    if (p->adds) inputs[4] = images(graph, "residual", dtype, p);
    return build(graph, op, inputs, p->adds ? 5 : 4, p);
}

liana_tensor liana__sample_batch_norm_inference(liana_graph *graph, liana_dtype dtype, const liana__op *op,
                                                const void *row)
{
    const liana__batch_norm_row *p = row;
    liana_tensor inputs[6] = {images(graph, "x", dtype, p)};
    inputs[1] = channels(graph, "gamma", dtype, p->shape, -2, 2);
    inputs[2] = channels(graph, "beta", dtype, p->shape, -1, 1);
    inputs[3] = channels(graph, "mean", dtype, p->shape, -1, 1);
    inputs[4] = channels(graph, "variance", dtype, p->shape, 0.3, 2);
    if (p->adds) inputs[5] = images(graph, "residual", dtype, p);
    return build(graph, op, inputs, p->adds ? 6 : 5, p);
}

liana_tensor liana__sample_batch_norm_gradient_sums(liana_graph *graph, liana_dtype dtype, const liana__op *op,
                                                    const void *row)
{
    const liana__batch_norm_row *p = row;
    liana_tensor inputs[5] = {images(graph, "x", dtype, p)};
    inputs[1] = images(graph, "dy", dtype, p);
    inputs[2] = stacked(graph, "statistics", dtype, p->shape);
    if (op->num_inputs > 3) inputs[3] = channels(graph, "gamma", dtype, p->shape, 0.5, 2);
    if (op->num_inputs > 4) inputs[4] = channels(graph, "beta", dtype, p->shape, -1, 1);
    return build(graph, op, inputs, op->num_inputs, p);
}

liana_tensor liana__sample_batch_norm_input_gradient(liana_graph *graph, liana_dtype dtype, const liana__op *op,
                                                     const void *row)
{
    const liana__batch_norm_row *p = row;
    liana_tensor inputs[6] = {images(graph, "x", dtype, p)};
    inputs[1] = images(graph, "dy", dtype, p);
    inputs[2] = channels(graph, "gamma", dtype, p->shape, 0.5, 2);
    inputs[3] = stacked(graph, "statistics", dtype, p->shape);
    inputs[4] = stacked(graph, "sums", dtype, p->shape);
    if (op->num_inputs > 5) inputs[5] = channels(graph, "beta", dtype, p->shape, -1, 1);
    return build(graph, op, inputs, op->num_inputs, p);
}

/* Far from zero, with a deviation of about 1: sum(x^2) / N - mean^2 would lose all digits. Only where kernels are
 * compared: finite differences of such sums have no digits left either. */
static liana_tensor far_images(liana_graph *graph, liana_dtype dtype)
{
    double centre = dtype == LIANA_F64 ? 0 : 10000;
    return liana__sample_input(graph, "x", dtype, liana_shape_of(300, 9), centre - 2, centre + 2);
}

static liana_tensor far_statistics(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_batch_norm_statistics(far_images(graph, dtype));
}

static liana_tensor far_training(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = far_images(graph, dtype), statistics = liana_op_batch_norm_statistics(x);
    liana_shape shape = liana_tensor_shape(x);
    liana_tensor gamma = channels(graph, "gamma", dtype, shape, 0.5, 2);
    liana_tensor beta = channels(graph, "beta", dtype, shape, -1, 1);
    return liana_op_batch_norm_training(x, gamma, beta, statistics, epsilon);
}

/* Sums of thousands of terms of both signs, which floats added one by one would show; too many for differences. */
static liana_tensor large_sums(liana_graph *graph, liana_dtype dtype)
{
    liana_shape shape = dtype == LIANA_F32 ? liana_shape_of(2304, 1279) : liana_shape_of(9, 5);
    liana_tensor x = liana__sample_input(graph, "x", dtype, shape, -2, 2);
    liana_tensor dy = liana__sample_input(graph, "dy", dtype, shape, -2, 2);
    return liana__op_batch_norm_gradient_sums_at(LIANA_HERE, x, dy, stacked(graph, "statistics", dtype, shape),
                                                 epsilon);
}

static const liana__built_sample statistics_samples[] = {{"far", far_statistics, 0}};
static const liana__built_sample training_samples[] = {{"far", far_training, 0}};
static const liana__built_sample sums_samples[] = {{"large", large_sums, 0}};

LIANA__SAMPLE_ROWS_AND(batch_norm_statistics, problems, LIANA__COUNT(problems), build_statistics, statistics_samples);
LIANA__SAMPLE_ROWS_AND(batch_norm_training, problems, LIANA__COUNT(problems), liana__sample_batch_norm_training,
                       training_samples);
LIANA__SAMPLE_ROWS(batch_norm_inference, problems, liana__sample_batch_norm_inference);
LIANA__SAMPLE_ROWS_AND(batch_norm_gradient_sums, problems, LIANA__COUNT(problems),
                       liana__sample_batch_norm_gradient_sums, sums_samples);
LIANA__SAMPLE_ROWS(batch_norm_input_gradient, problems, liana__sample_batch_norm_input_gradient);
