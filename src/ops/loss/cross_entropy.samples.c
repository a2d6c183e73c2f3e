/* Samples of cross_entropy for the generated tests of ops. */
#include "ops/samples.h"

static liana_tensor build_ten(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor logits = liana__sample_input(graph, "logits", dtype, liana_shape_of(7, 10), -3, 3);
    liana_tensor labels = liana__sample_input(graph, "labels", LIANA_S32, liana_shape_of(7), 0, 9);
    return liana_op_sparse_softmax_cross_entropy(logits, labels);
}

static liana_tensor build_many(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor logits = liana__sample_input(graph, "logits", dtype, liana_shape_of(3, 101), -20, 20);
    liana_tensor labels = liana__sample_input(graph, "labels", LIANA_S32, liana_shape_of(3), 0, 100);
    return liana_op_sparse_softmax_cross_entropy(logits, labels);
}

static liana_tensor build_two(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor logits = liana__sample_input(graph, "logits", dtype, liana_shape_of(1, 2), -1, 1);
    liana_tensor labels = liana__sample_input(graph, "labels", LIANA_S32, liana_shape_of(1), 0, 1);
    return liana_op_sparse_softmax_cross_entropy(logits, labels);
}

static const liana__sample loss_samples[] = {
    {"ten", build_ten, 0},
    {"many", build_many, 0},
    {"two", build_two, 0},
};
LIANA__SAMPLES(sparse_softmax_cross_entropy, loss_samples);

static liana_tensor build_gradient(liana_graph *graph, liana_dtype dtype, int64_t batch, int64_t classes)
{
    liana_tensor logits = liana__sample_input(graph, "logits", dtype, liana_shape_of(batch, classes), -3, 3);
    liana_tensor labels =
        liana__sample_input(graph, "labels", LIANA_S32, liana_shape_of(batch), 0, (double)classes - 1);
    liana_tensor dy = liana__sample_input(graph, "dy", dtype, liana_shape_of(batch), -1, 1);
    return liana__build3(LIANA_HERE, &liana__op_sparse_softmax_cross_entropy_gradient, logits, labels, dy, NULL);
}

static liana_tensor build_gradient_ten(liana_graph *graph, liana_dtype dtype)
{
    return build_gradient(graph, dtype, 7, 10);
}

static liana_tensor build_gradient_many(liana_graph *graph, liana_dtype dtype)
{
    return build_gradient(graph, dtype, 3, 37);
}

static const liana__sample gradient_samples[] = {
    {"ten", build_gradient_ten, 0},
    {"many", build_gradient_many, 0},
};
LIANA__SAMPLES(sparse_softmax_cross_entropy_gradient, gradient_samples);
