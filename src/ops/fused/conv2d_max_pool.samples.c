/* Samples of conv2d_max_pool for the generated tests of ops. */
#include "ops/fused/conv2d_max_pool.h"
#include "ops/samples.h"

/* One problem for all three ops: batch, input size, channels and filters, kernel size, padding (top, bottom, left,
 * right). */
typedef struct problem {
    const char *name;
    int64_t batch, input[2], channels, filters, kernel[2], padding[4], pool[2];
    bool relu;
    int64_t strides[2];
} problem;

static const problem problems[] = {
    /* One channel, as MNIST's first layer; the last row and column of results are not pooled. */
    {"one_channel", 2, {9, 13}, 1, 37, {3, 3}, {0}, {2, 2}, true, {1, 1}},
    {"many_channels", 2, {7, 15}, 37, 53, {3, 3}, {0}, {2, 2}, true, {1, 1}},
    /* Several blocks of tiles of 4x4, of which some lie beyond the image. */
    {"tiles", 22, {13, 11}, 18, 35, {3, 3}, {0}, {2, 2}, true, {1, 1}},
    {"same", 3, {6, 8}, 16, 16, {3, 3}, {1, 1, 1, 1}, {2, 2}, false, {1, 1}},
    {"asymmetric", 2, {5, 6}, 3, 19, {3, 3}, {0, 2, 1, 0}, {2, 2}, true, {1, 1}},
    {"five", 2, {8, 9}, 1, 7, {5, 5}, {2, 2, 2, 2}, {2, 2}, false, {1, 1}},
    {"five_channels", 1, {9, 6}, 18, 33, {5, 5}, {0, 1, 1, 0}, {2, 2}, true, {1, 1}},
    /* A single pixel: all else is padding. */
    {"one_pixel", 1, {1, 1}, 5, 3, {3, 3}, {1, 2, 2, 1}, {2, 2}, false, {1, 1}},
    /* The fast kernels do not do these. */
    {"odd_windows", 2, {8, 11}, 3, 4, {2, 3}, {1, 0, 0, 2}, {3, 2}, true, {1, 2}},
};

static liana_tensor image(liana_graph *graph, const char *name, liana_dtype dtype, liana_shape shape)
{
    return liana__sample_input(graph, name, dtype, shape, -1, 1);
}

static liana__conv2d_max_pool_attributes attributes_of(const problem *p, const int64_t size[2])
{
    liana__conv2d_max_pool_attributes attributes = {
        .window = liana__window_of(p->strides, LIANA_PADDING_EXPLICIT, p->padding, NULL),
        .pool = {p->pool[0], p->pool[1]},
        .relu = p->relu,
    };
    if (size) memcpy(attributes.size, size, sizeof attributes.size);
    return attributes;
}

static liana_tensor build_forward(liana_graph *graph, liana_dtype dtype, const problem *p)
{
    const liana__conv2d_max_pool_attributes attributes = attributes_of(p, NULL);
    liana_tensor x = image(graph, "x", dtype, liana_shape_of(p->batch, p->input[0], p->input[1], p->channels));
    liana_tensor kernel =
        image(graph, "kernel", dtype, liana_shape_of(p->kernel[0], p->kernel[1], p->channels, p->filters));
    liana_tensor bias = image(graph, "bias", dtype, liana_shape_of(p->filters));
    return liana__build3(LIANA_HERE, &liana__op_conv2d_max_pool, x, kernel, bias, &attributes);
}

/* Gradients of both signs, about half of which are 0, as behind relu. */
static liana_tensor build_gradient(liana_graph *graph, liana_dtype dtype, const problem *p, bool of_input)
{
    liana_tensor pooled = build_forward(graph, dtype, p);
    const liana__node *node = liana__tensor_node(pooled);
    if (!node) return pooled;
    const int64_t *dims = node->shape.dims;
    liana_tensor dy = image(graph, "dy", dtype, liana_shape_of(dims[1], dims[2], dims[3], dims[4]));
    dy = liana_op_subtract(liana_op_relu(dy),
                           liana_op_relu(liana_op_negate(
                               liana_op_add(dy, liana__full(LIANA_HERE, graph, dtype, liana_shape_of(1), 0.5)))));
    const liana__conv2d_max_pool_attributes attributes = attributes_of(p, of_input ? p->input : p->kernel);
    liana_tensor x = liana__node_tensor(graph, node->inputs[0]), kernel = liana__node_tensor(graph, node->inputs[1]);
    if (of_input)
        return liana__build3(LIANA_HERE, &liana__op_conv2d_max_pool_input_gradient, pooled, dy, kernel, &attributes);
    return liana__build3(LIANA_HERE, &liana__op_conv2d_max_pool_kernel_gradient, x, pooled, dy, &attributes);
}

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    if (op == &liana__op_conv2d_max_pool) return build_forward(graph, dtype, row);
    return build_gradient(graph, dtype, row, op == &liana__op_conv2d_max_pool_input_gradient);
}

LIANA__SAMPLE_ROWS(conv2d_max_pool, problems, build);
LIANA__SAMPLE_ROWS(conv2d_max_pool_input_gradient, problems, build);
LIANA__SAMPLE_ROWS(conv2d_max_pool_kernel_gradient, problems, build);
