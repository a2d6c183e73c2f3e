/* Samples of pool2d for the generated tests of ops. */
#include "ops/pool/pool2d.h"
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    int64_t batch, input[2], channels;
    liana_pool_options options;
} problem;

static const problem problems[] = {
    {"plain", 2, {7, 6}, 19, {.window = {2, 2}}},
    {"same", 2, {7, 5}, 33, {.window = {3, 2}, .strides = {2, 2}, LIANA__SAME}},
    {"overlapping", 1, {6, 9}, 3, {.window = {3, 3}, .strides = {1, 2}}},
    {"gaps", 1, {8, 7}, 8, {.window = {2, 1}, .strides = {3, 2}}},
    {"asymmetric", 1, {5, 6}, 17, {.window = {3, 4}, .strides = {2, 1}, LIANA__PADDED(2, 0, 1, 3)}},
    {"whole", 2, {3, 5}, 16, {.window = {3, 5}}},
    {"one_pixel", 1, {1, 1}, 37, {.window = {3, 2}, LIANA__SAME}},
};

/* dy of the pooling of x. */
static liana_tensor output_gradient(liana_graph *graph, liana_dtype dtype, liana_tensor y)
{
    return liana__sample_input(graph, "dy", dtype, liana_tensor_shape(y), -1, 1);
}

/* The gradients are taken from a forward node, whose attributes and shapes they share. */
static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const problem *p = row;
    const bool is_max = op == &liana__op_max_pool2d || op == &liana__op_max_pool2d_gradient;
    const bool forward = op == &liana__op_max_pool2d || op == &liana__op_average_pool2d;
    const liana_shape shape = liana_shape_of(p->batch, p->input[0], p->input[1], p->channels);
    liana_tensor x = liana__sample_input(graph, "x", dtype, shape, -1, 1);
    liana_tensor y = is_max ? liana_op_max_pool2d(x, p->options) : liana_op_average_pool2d(x, p->options);
    const liana__node *node = liana__tensor_node(y);
    if (!node || forward) return y;
    liana_tensor dy = output_gradient(graph, dtype, y);
    if (is_max) return liana__build2(LIANA_HERE, op, x, dy, node->attributes);
    liana__pool_attributes attributes = *(const liana__pool_attributes *)node->attributes;
    memcpy(attributes.input, p->input, sizeof attributes.input);
    return liana__build1(LIANA_HERE, op, dy, &attributes);
}

/* Ties: whole numbers from 0 to 2, so that most windows have several greatest elements. */
static liana_tensor build_ties(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x =
        liana_op_cast(liana__sample_input(graph, "x", LIANA_S32, liana_shape_of(2, 5, 7, 18), 0, 2), dtype);
    liana_tensor y = liana_op_max_pool2d(x, (liana_pool_options){.window = {3, 3}, .strides = {1, 2}});
    if (!liana__tensor_node(y)) return y;
    return liana__build2(LIANA_HERE, &liana__op_max_pool2d_gradient, x, output_gradient(graph, dtype, y),
                         liana__tensor_node(y)->attributes);
}

static const liana__built_sample ties[] = {{"ties", build_ties, 0}};

LIANA__SAMPLE_ROWS(max_pool2d, problems, build);
LIANA__SAMPLE_ROWS_AND(max_pool2d_gradient, problems, LIANA__COUNT(problems), build, ties);
LIANA__SAMPLE_ROWS(average_pool2d, problems, build);
LIANA__SAMPLE_ROWS(average_pool2d_gradient, problems, build);
