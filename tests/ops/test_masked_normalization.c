/* Batch normalisation that shards missing examples out, as devices train with it: its gradient against central
 * differences and against the formula of Ioffe and Szegedy (2015), both in double. And stop_gradient and
 * straight_through, which it uses. */
#include "harness/harness.h"

#include "harness/one_reference.h"
#include "layers/layer.h"

#include <liana/layers.h>

#include <math.h>
#include <stdlib.h>

enum { ROWS = 6, PLACES = 6, CHANNELS = 2, SIZE = ROWS * PLACES * CHANNELS };
enum { X, GAMMA, BETA, MEAN, VARIANCE, SHARES, PRESENT, NUM_INPUTS };

static const double EPSILON = 0.001;

static liana_tensor channel_input(liana_graph *graph, const char *name)
{
    return liana_graph_input(graph, name, LIANA_F64, liana_shape_of(CHANNELS));
}

/* The sum of the layer's results, each times its share: the output "loss", and its gradients if they are wanted. */
static liana_graph *build(int64_t shards, bool gradients)
{
    liana_graph *graph = liana__test_new_graph(context);
    const liana_shape images = liana_shape_of(ROWS, 2, 3, CHANNELS);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F64, images), weights[4];
    weights[0] = channel_input(graph, "gamma");
    weights[1] = channel_input(graph, "beta");
    weights[2] = channel_input(graph, "mean");
    weights[3] = channel_input(graph, "variance");
    liana_tensor shares = liana_graph_input(graph, "shares", LIANA_F64, images);
    const liana_batch_normalization_options options = {
        .axis = -1, .momentum = 0.99, .epsilon = EPSILON, .center = true, .scale = true};
    liana_layer_call call = {.here = LIANA_HERE,
                             .options = &options,
                             .inputs = &x,
                             .masks = &(const liana_tensor){0},
                             .num_inputs = 1,
                             .dtype = LIANA_F64,
                             .weights = weights,
                             .training = true,
                             .trainable = true,
                             .present = liana_graph_input(graph, "present", LIANA_F32, liana_shape_of(ROWS)),
                             .shards = shards};
    liana_tensor y = liana__layer_batch_normalization.call(&call);
    liana_tensor loss = liana_op_reduce_sum(liana_op_multiply(y, shares), LIANA_ALL_AXES, false);
    liana_graph_output(graph, "loss", loss);
    if (gradients) {
        const liana_tensor wrt[] = {x, weights[0], weights[1]};
        liana_tensor of[3];
        liana_gradients(loss, wrt, 3, of);
        liana_graph_output(graph, "dx", of[0]);
        liana_graph_output(graph, "dgamma", of[1]);
        liana_graph_output(graph, "dbeta", of[2]);
    }
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

static void fill(liana__test_value *value, double middle, double width)
{
    double *numbers = value->data;
    for (int64_t i = 0; i < liana_shape_size(&value->shape); i++) {
        numbers[i] = middle + width * (fmod(0.618034 * (double)(i * i + i + 1), 1.0) - 0.5);
    }
}

/* Row `missing` and those with its remainder are not there, and have no share in the loss. */
static void fill_inputs(const liana_graph *graph, int missing, liana__test_value *values)
{
    for (size_t i = 0; i < NUM_INPUTS; i++) {
        const liana__node *node = graph->inputs[i];
        values[i] = (liana__test_value){node->dtype, node->shape, calloc(SIZE, sizeof(double))};
        assert_non_null(values[i].data);
        if (i != PRESENT) fill(&values[i], i == X ? 3 : 1, i == X ? 4 : 1);
    }
    for (int row = 0; row < ROWS; row++) {
        const bool there = row % 4 != missing;
        ((float *)values[PRESENT].data)[row] = there;
        for (int i = 0; !there && i < PLACES * CHANNELS; i++) {
            ((double *)values[SHARES].data)[row * PLACES * CHANNELS + i] = 0;
        }
    }
}

static double loss_of(const liana_graph *graph, const liana__test_value *inputs)
{
    liana__test_value loss;
    liana__test_run(reference, graph, inputs, &loss);
    const double value = *(double *)loss.data;
    liana__test_free_values(&loss, 1);
    return value;
}

static double central_difference(const liana_graph *graph, const liana__test_value *inputs, int input, int64_t element)
{
    const double step = 1e-5;
    double *at = (double *)inputs[input].data + element, before = *at;
    *at = before + step;
    const double above = loss_of(graph, inputs);
    *at = before - step;
    const double below = loss_of(graph, inputs);
    *at = before;
    return (above - below) / (2 * step);
}

/* The sums of a channel of a shard. */
typedef struct sums {
    double count, mean, variance, shares, products;
} sums;

static sums sum_up(const liana__test_value *inputs, int first, int rows, int channel)
{
    const double *x = inputs[X].data, *shares = inputs[SHARES].data;
    const float *present = inputs[PRESENT].data;
    sums of = {0};
    for (int pass = 0; pass < 3; pass++) {
        for (int i = first * PLACES; i < (first + rows) * PLACES; i++) {
            const int at = i * CHANNELS + channel;
            if (present[i / PLACES] == 0) continue;
            if (pass == 0) of.count++;
            if (pass == 0) of.mean += x[at];
            if (pass == 1) of.variance += (x[at] - of.mean) * (x[at] - of.mean);
            if (pass == 2) of.shares += shares[at];
            if (pass == 2) of.products += shares[at] * (x[at] - of.mean) / sqrt(of.variance + EPSILON);
        }
        if (pass == 0) of.mean /= of.count;
        if (pass == 1) of.variance /= of.count;
    }
    return of;
}

/* gamma / sigma (share - mean of shares - x' mean of (share x')), where x' is the normalised x. */
static double formula(const liana__test_value *inputs, int shards, int element)
{
    const int row = element / (PLACES * CHANNELS), rows = ROWS / shards, channel = element % CHANNELS;
    if (((const float *)inputs[PRESENT].data)[row] == 0) return 0;
    const sums of = sum_up(inputs, row / rows * rows, rows, channel);
    const double x = ((const double *)inputs[X].data)[element], share = ((const double *)inputs[SHARES].data)[element];
    const double gamma = ((const double *)inputs[GAMMA].data)[channel], sigma = sqrt(of.variance + EPSILON);
    const double normal = (x - of.mean) / sigma;
    return gamma / sigma * (share - of.shares / of.count - normal * of.products / of.count);
}

static void assert_close(double found, double expected, double tolerance)
{
    if (fabs(found - expected) <= tolerance * (1 + fabs(expected))) return;
    fail_msg("found %.17g, expected %.17g", found, expected);
}

static void check(int shards, int missing)
{
    liana_graph *forward = build(shards, false), *backward = build(shards, true);
    liana__test_value inputs[NUM_INPUTS], results[4];
    fill_inputs(forward, missing, inputs);
    liana__test_run(reference, backward, inputs, results);
    for (int input = X; input <= BETA; input++) {
        const double *found = results[1 + input].data;
        for (int64_t i = 0; i < liana_shape_size(&inputs[input].shape); i++) {
            assert_close(found[i], central_difference(forward, inputs, input, i), 1e-7);
            if (input == X) assert_close(found[i], formula(inputs, shards, (int)i), 1e-12);
        }
    }
    liana__test_free_values(results, 4);
    liana__test_free_values(inputs, NUM_INPUTS);
    liana_graph_destroy(forward);
    liana_graph_destroy(backward);
}

static void test_gradients_of_one_leaf(void **state)
{
    (void)state;
    check(1, -1);
    check(1, 1);
}

static void test_gradients_of_leaves_side_by_side(void **state)
{
    (void)state;
    check(2, -1);
    check(3, 1);
    check(6, 1); /* shards without examples */
}

/* x stop_gradient(x) has the value of a square, and half its gradient. */
static void test_gradients_are_stopped(void **state)
{
    (void)state;
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = liana_graph_constant(graph, LIANA_F64, LIANA_SCALAR, &(double){3}), gradients[2];
    liana_tensor y = liana_op_multiply(x, liana_op_stop_gradient(x));
    liana_gradients(y, &x, 1, &gradients[0]);
    liana_gradients(liana_op_stop_gradient(y), &x, 1, &gradients[1]);
    liana_graph_output(graph, "y", y);
    liana_graph_output(graph, "through the first", gradients[0]);
    liana_graph_output(graph, "through none", gradients[1]);
    liana__test_value results[3];
    liana__test_run(reference, graph, NULL, results);
    static const double expected[] = {9, 3, 0};
    for (size_t i = 0; i < 3; i++) assert_close(*(double *)results[i].data, expected[i], 0);
    liana__test_free_values(results, 3);
    liana_graph_destroy(graph);
}

/* 5 in value; 2 and x^2 get its gradient. */
static void test_gradients_go_straight_through(void **state)
{
    (void)state;
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor inputs[] = {liana_graph_constant(graph, LIANA_F64, LIANA_SCALAR, &(double){5}),
                             liana_graph_constant(graph, LIANA_F64, LIANA_SCALAR, &(double){3})};
    liana_tensor gradients[2], both = liana_op_straight_through(inputs[0], liana_op_square(inputs[1]));
    liana_gradients(liana_op_multiply(both, both), inputs, 2, gradients);
    liana_graph_output(graph, "both", both);
    for (int i = 0; i < 2; i++) liana_graph_output(graph, i ? "to the path" : "to the value", gradients[i]);
    liana__test_value results[3];
    liana__test_run(reference, graph, NULL, results);
    static const double expected[] = {5, 2 * 5, 2 * 5 * 2 * 3};
    for (size_t i = 0; i < 3; i++) assert_close(*(double *)results[i].data, expected[i], 0);
    liana__test_free_values(results, 3);
    liana_graph_destroy(graph);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_of_one_leaf),
        cmocka_unit_test(test_gradients_of_leaves_side_by_side),
        cmocka_unit_test(test_gradients_are_stopped),
        cmocka_unit_test(test_gradients_go_straight_through),
    };
    return cmocka_run_group_tests_name("masked_normalization", tests, set_up, tear_down);
}
