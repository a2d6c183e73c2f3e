/* Samples of layer_norm for the generated tests of ops. */
#include "ops/norm/layer_norm.h"
#include "ops/samples.h"

typedef struct norm_row {
    const char *name;
    liana_shape shape;
    bool about_zero, has_beta;
} norm_row;

/* Shapes: odd sizes; rows that fill vectors exactly, with a tail, and not at all; many rows; a single one; rows of one
 * element. */
static const norm_row problems[] = {
    {"odd", LIANA__DIMS(2, 3, 7), false, true},        {"without_beta", LIANA__DIMS(5, 9), false, false},
    {"vectors", LIANA__DIMS(3, 64), false, true},      {"tail", LIANA__DIMS(4, 83), false, true},
    {"many_rows", LIANA__DIMS(3, 23, 5), false, true}, {"one_row", LIANA__DIMS(1, 37), false, true},
    {"one_column", LIANA__DIMS(6, 1), false, true},    {"long", LIANA__DIMS(2, 131), false, true},
    {"rms", LIANA__DIMS(3, 4, 7), true, false},        {"rms_tail", LIANA__DIMS(4, 83), true, false},
    {"rms_beta", LIANA__DIMS(4, 33), true, true},      {"rms_one", LIANA__DIMS(3, 1), true, false},
};

static const double epsilon = 1e-3;

static liana_tensor parameters(liana_graph *graph, const char *name, liana_dtype dtype, liana_shape shape, double low,
                               double high)
{
    return liana__sample_input(graph, name, liana__wide_dtype(dtype), liana_shape_of(shape.dims[shape.rank - 1]), low,
                               high);
}

/* The inputs that an op has, in its order: x, dy, gamma, beta. */
static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const norm_row *p = row;
    liana_tensor inputs[3];
    size_t count = 0;
    inputs[count++] = liana__sample_input(graph, "x", dtype, p->shape, -2, 3);
    if (op != &liana__op_layer_norm) inputs[count++] = liana__sample_input(graph, "dy", dtype, p->shape, -1, 2);
    if (op != &liana__op_layer_norm_gradient_sums)
        inputs[count++] = parameters(graph, "gamma", dtype, p->shape, 0.5, 2);
    if (op == &liana__op_layer_norm && p->has_beta) inputs[count++] = parameters(graph, "beta", dtype, p->shape, -1, 1);
    return liana__build(LIANA_HERE, graph, op, inputs, count,
                        &(liana__layer_norm_attributes){.epsilon = epsilon, .about_zero = p->about_zero});
}

/* Far from zero: sum(x^2) / n - mean^2 would lose all digits. Only where kernels are compared. */
static liana_tensor far_rows(liana_graph *graph, liana_dtype dtype)
{
    const double centre = dtype == LIANA_F64 ? 0 : 1000;
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(5, 75), centre - 2, centre + 2);
    const liana_shape shape = liana_tensor_shape(x);
    liana_tensor gamma = parameters(graph, "gamma", dtype, shape, 0.5, 2);
    return liana_op_layer_norm(x, gamma, parameters(graph, "beta", dtype, shape, -1, 1), epsilon);
}

/* The mean of numbers around 1000 has an error of 2^-15, which is 3e-5 of the deviation. */
static const liana__built_sample far[] = {{"far", far_rows, 2e-4}};

LIANA__SAMPLE_ROWS_AND(layer_norm, problems, LIANA__COUNT(problems), build, far);
LIANA__SAMPLE_ROWS(layer_norm_input_gradient, problems, build);
LIANA__SAMPLE_ROWS(layer_norm_gradient_sums, problems, build);
