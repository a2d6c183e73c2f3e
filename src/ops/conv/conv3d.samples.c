/* Samples of conv3d for the generated tests of ops. */
#include "ops/conv/conv3d.h"
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    int64_t batch, input[3], channels, filters, kernel[3];
    liana_conv_options_3d options;
} problem;

static const problem problems[] = {
    {"unpadded", 2, {4, 5, 3}, 3, 4, {3, 2, 2}, {.groups = 1}},
    {"same_strided", 2, {5, 4, 7}, 2, 5, {3, 3, 2}, {.strides = {2, 1, 2}, LIANA__SAME}},
    {"asymmetric", 1, {3, 5, 4}, 3, 2, {2, 3, 2}, {.strides = {1, 2, 1}, LIANA__PADDED(2, 0, 0, 1, 1, 2)}},
    {"dilated", 2, {6, 5, 7}, 2, 3, {2, 3, 2}, {LIANA__SAME, .dilations = {3, 2, 1}}},
    {"grouped", 3, {4, 3, 5}, 6, 9, {3, 2, 3}, {.strides = {2, 1, 1}, LIANA__SAME, .groups = 3}},
    {"pointwise", 2, {3, 2, 5}, 7, 6, {1, 1, 1}, {.groups = 1}},
    {"planes_alone", 2, {3, 5, 4}, 4, 5, {1, 3, 3}, {LIANA__SAME}},
    {"depth_alone", 2, {5, 3, 2}, 3, 18, {3, 1, 1}, {LIANA__SAME}},
    {"skipped_planes", 2, {7, 3, 4}, 3, 5, {2, 3, 1}, {.strides = {3, 1, 2}}},
    /* Enough channels for full vectors and a tail, and for windows of 3x3 with fewer products. */
    {"wide", 2, {3, 6, 5}, 18, 35, {3, 3, 3}, {LIANA__SAME}},
    {"first", 2, {4, 6, 9}, 1, 16, {3, 3, 3}, {LIANA__SAME}},
    {"one_cell", 3, {1, 1, 1}, 5, 7, {3, 3, 3}, {LIANA__SAME}},
};

/* The gradients are taken from a forward node, whose attributes and shapes they share. */
static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const problem *p = row;
    const int64_t groups = p->options.groups ? p->options.groups : 1;
    const liana_shape of_x = liana_shape_of(p->batch, p->input[0], p->input[1], p->input[2], p->channels);
    const liana_shape of_kernel =
        liana_shape_of(p->kernel[0], p->kernel[1], p->kernel[2], p->channels / groups, p->filters);
    liana_tensor x = liana__sample_input(graph, "x", dtype, of_x, -1, 1);
    liana_tensor kernel = liana__sample_input(graph, "kernel", dtype, of_kernel, -1, 1);
    liana_tensor y = liana_op_conv3d(x, kernel, p->options);
    const liana__node *node = liana__tensor_node(y);
    if (!node || op == &liana__op_conv3d) return y;
    liana_tensor dy = liana__sample_input(graph, "dy", dtype, node->shape, -1, 1);
    const bool of_input = op == &liana__op_conv3d_input_gradient;
    liana__conv_attributes attributes = *(const liana__conv_attributes *)node->attributes;
    const int64_t *size = of_input ? p->input : p->kernel;
    attributes.depth_size = size[0];
    memcpy(attributes.size, size + 1, sizeof attributes.size);
    if (of_input) return liana__build2(LIANA_HERE, op, dy, kernel, &attributes);
    return liana__build2(LIANA_HERE, op, x, dy, &attributes);
}

LIANA__SAMPLE_ROWS(conv3d, problems, build);
LIANA__SAMPLE_ROWS(conv3d_input_gradient, problems, build);
LIANA__SAMPLE_ROWS(conv3d_kernel_gradient, problems, build);
