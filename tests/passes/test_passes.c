/* Passes: graphs before and after give the same results, and nodes that are meant to vanish do. */
#include "harness/harness.h"

#include "harness/one_reference.h"
#include "ops/gradients.h"
#include "ops/samples.h"
#include "passes/pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many nodes of an op the results depend on. */
static int count_needed(const liana_graph *graph, const liana__op *op)
{
    bool *needed = calloc(graph->num_nodes, sizeof *needed);
    assert_non_null(needed);
    liana__graph_mark_needed(graph, needed);
    int count = 0;
    for (size_t id = 1; id < graph->num_nodes; id++) count += needed[id] && graph->nodes[id]->op == op;
    free(needed);
    return count;
}

/* Both graphs on the same inputs with the plain loops: equal up to rounding in f64. */
static void assert_same_results(const liana_graph *before, const liana_graph *after)
{
    liana__test_value inputs[16], expected[16], got[16];
    assert_int_equal(before->num_outputs, after->num_outputs);
    liana__test_draw_inputs(before, 3, inputs);
    liana__test_run(reference, before, inputs, expected);
    liana__test_run(reference, after, inputs, got);
    for (size_t i = 0; i < before->num_outputs; i++) {
        assert_true(liana_shape_equal(&expected[i].shape, &got[i].shape));
        for (int64_t k = 0; k < liana_shape_size(&expected[i].shape); k++) {
            double a = liana__load(expected[i].data, expected[i].dtype, k),
                   b = liana__load(got[i].data, got[i].dtype, k);
            if (fabs(a - b) > 1e-9 * (1 + fabs(a))) {
                fail_msg("output %s[%lld] is %.12g before and %.12g after", before->outputs[i].name, (long long)k, a,
                         b);
            }
        }
    }
    liana__test_free_values(inputs, before->num_inputs);
    liana__test_free_values(expected, before->num_outputs);
    liana__test_free_values(got, after->num_outputs);
}

typedef struct border {
    int64_t low[4], high[4];
    double value;
} border;

/* y, and the gradients for x and the kernel, of a convolution of bordered images. */
static liana_graph *bordered_convolution(bool depthwise, const border *b, bool keep_padded)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = liana__sample_input(graph, "x", LIANA_F64, liana_shape_of(2, 7, 9, 3), -2, 2);
    liana_shape shape = depthwise ? liana_shape_of(3, 2, 3, 1) : liana_shape_of(3, 2, 3, 4);
    if (b->low[3] || b->high[3]) shape.dims[2] += b->low[3] + b->high[3];
    liana_tensor kernel = liana__sample_input(graph, "kernel", LIANA_F64, shape, -1, 1);
    liana_tensor padded = liana_op_pad(x, b->low, b->high, b->value);
    liana_conv_options options = {.strides = {2, 1}};
    liana_tensor y =
        depthwise ? liana_op_depthwise_conv2d(padded, kernel, options) : liana_op_conv2d(padded, kernel, options);
    liana_tensor wrt[2] = {x, kernel}, gradients[2];
    liana_gradients(liana_op_square(y), wrt, 2, gradients);
    liana_graph_output(graph, "y", y);
    liana_graph_output(graph, "dx", gradients[0]);
    liana_graph_output(graph, "dkernel", gradients[1]);
    if (keep_padded) liana_graph_output(graph, "padded", padded);
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

static liana_graph *folded(const liana_graph *graph)
{
    liana_graph *result;
    assert_ok(liana__pass_run(&liana__pass_fold_padding, graph, &result, &context->error), &context->error);
    assert_ok(liana__graph_verify(result, &context->error), &context->error);
    return result;
}

static void test_borders_vanish_forward_and_backward(void **state)
{
    (void)state;
    static const border odd = {.low = {0, 0, 1, 0}, .high = {0, 2, 1, 0}};
    for (int depthwise = 0; depthwise < 2; depthwise++) {
        liana_graph *before = bordered_convolution(depthwise, &odd, false), *after = folded(before);
        assert_int_equal(count_needed(before, &liana__op_pad), 1);
        assert_int_equal(count_needed(before, &liana__op_slice), 1);
        assert_int_equal(count_needed(after, &liana__op_pad), 0);
        assert_int_equal(count_needed(after, &liana__op_slice), 0);
        assert_same_results(before, after);
        liana_graph_destroy(before);
        liana_graph_destroy(after);
    }
}

static void test_what_else_reads_the_border_keeps_it(void **state)
{
    (void)state;
    static const border odd = {.low = {0, 1, 0, 0}, .high = {0, 0, 3, 0}};
    liana_graph *before = bordered_convolution(true, &odd, true), *after = folded(before);
    assert_int_equal(count_needed(after, &liana__op_pad), 1);
    assert_same_results(before, after);
    liana_graph_destroy(before);
    liana_graph_destroy(after);
}

static void test_borders_that_are_no_padding_stay(void **state)
{
    (void)state;
    static const border ones = {.low = {0, 1, 1, 0}, .high = {0, 1, 1, 0}, .value = 1};
    static const border channels = {.low = {0, 1, 1, 1}, .high = {0, 1, 1, 0}};
    static const border images = {.low = {1, 1, 1, 0}, .high = {0, 1, 1, 0}};
    const border *const borders[] = {&ones, &channels, &images};
    for (int i = 0; i < 3; i++) {
        liana_graph *before = bordered_convolution(false, borders[i], false), *after = folded(before);
        assert_int_equal(count_needed(after, &liana__op_pad), 1);
        assert_same_results(before, after);
        liana_graph_destroy(before);
        liana_graph_destroy(after);
    }
}

/* The ops between a convolution and its pooling, and the ops that keep them apart. */
typedef struct pooled_problem {
    const char *name;
    int64_t channels, kernel, stride, padding, pool[2], pool_stride;
    bool bias, relu;
    bool keep_result; /* the convolution's result is an output too */
    bool relu6;       /* instead of relu */
    bool fuses;
} pooled_problem;

static const pooled_problem pooled_problems[] = {
    {"bias, relu", 3, 3, 1, 0, {2, 2}, 2, .bias = true, .relu = true, .fuses = true},
    {"bias", 1, 5, 1, 2, {2, 2}, 2, .bias = true, .fuses = true},
    {"relu", 2, 3, 1, 1, {2, 2}, 2, .relu = true, .fuses = true},
    {"nothing between", 3, 3, 1, 1, {2, 2}, 2, .fuses = true},
    {"another window", 3, 2, 1, 0, {2, 2}, 2, .bias = true, .relu = true},
    {"strides", 3, 3, 2, 0, {2, 2}, 2, .bias = true, .relu = true},
    {"another pooling", 3, 3, 1, 0, {2, 3}, 2, .bias = true, .relu = true},
    {"overlapping windows", 3, 3, 1, 0, {2, 2}, 1, .bias = true, .relu = true},
    {"another reader", 3, 3, 1, 0, {2, 2}, 2, .bias = true, .relu = true, .keep_result = true},
    {"relu6", 3, 3, 1, 0, {2, 2}, 2, .bias = true, .relu6 = true},
};

/* The pooled values and, if wanted, all gradients. Behind the pooling comes a second such layer. */
static liana_graph *pooled_convolutions(const pooled_problem *p, bool training)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor y = liana__sample_input(graph, "x", LIANA_F64, liana_shape_of(2, 23, 25, p->channels), -2, 2);
    liana_tensor wrt[5] = {y}, gradients[5];
    size_t count = 1;
    for (int layer = 0; layer < 2; layer++) {
        static const char *const names[2][2] = {{"kernel 1", "bias 1"}, {"kernel 2", "bias 2"}};
        int64_t channels = layer ? 4 : p->channels, filters = layer ? 5 : 4;
        liana_tensor kernel = liana__sample_input(graph, names[layer][0], LIANA_F64,
                                                  liana_shape_of(p->kernel, p->kernel, channels, filters), -1, 1);
        wrt[count++] = kernel;
        y = liana_op_conv2d(y, kernel,
                            (liana_conv_options){.strides = {p->stride, p->stride},
                                                 .padding = LIANA_PADDING_EXPLICIT,
                                                 .explicit_padding = {p->padding, p->padding, p->padding, p->padding}});
        if (p->keep_result) liana_graph_output(graph, names[layer][0], y);
        if (p->bias) {
            liana_tensor bias = liana__sample_input(graph, names[layer][1], LIANA_F64, liana_shape_of(filters), -1, 1);
            wrt[count++] = bias;
            y = liana_op_add(y, bias);
        }
        if (p->relu) y = liana_op_relu(y);
        if (p->relu6) y = liana_op_relu6(y);
        y = liana_op_max_pool2d(y, (liana_pool_options){.window = {p->pool[0], p->pool[1]},
                                                        .strides = {p->pool_stride, p->pool_stride}});
    }
    liana_graph_output(graph, "y", y);
    if (training) liana_gradients(liana_op_square(y), wrt, count, gradients);
    static const char *const numbers[] = {"0", "1", "2", "3", "4"};
    for (size_t i = 0; training && i < count; i++) liana_graph_output(graph, numbers[i], gradients[i]);
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

static void test_pooled_convolutions_are_fused_where_that_is_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pooled_problems / sizeof *pooled_problems; i++) {
        const pooled_problem *p = &pooled_problems[i];
        for (int training = 0; training < 2; training++) {
            liana_graph *before = pooled_convolutions(p, training), *after;
            assert_ok(liana__pass_run(&liana__pass_fuse_max_pool, before, &after, &context->error), &context->error);
            assert_ok(liana__graph_verify(after, &context->error), &context->error);
            int fused = count_needed(after, &liana__op_conv2d_max_pool);
            if (fused != (p->fuses ? 2 : 0)) fail_msg("%s: %d convolutions are fused", p->name, fused);
            assert_int_equal(count_needed(after, &liana__op_conv2d), p->fuses ? 0 : 2);
            assert_int_equal(count_needed(after, &liana__op_max_pool2d_gradient), p->fuses || !training ? 0 : 2);
            assert_int_equal(count_needed(after, &liana__op_conv2d_max_pool_input_gradient),
                             p->fuses && training ? 2 : 0);
            assert_int_equal(count_needed(after, &liana__op_conv2d_max_pool_kernel_gradient),
                             p->fuses && training ? 2 : 0);
            assert_same_results(before, after);
            liana_graph_destroy(before);
            liana_graph_destroy(after);
        }
    }
}

/* Inputs, variables, outputs and assignments keep their order and names, whatever a pass does. */
/* ---- fuse_batch_norm ---- */

static liana_graph *fused_norms(const liana_graph *graph)
{
    liana_graph *result;
    assert_ok(liana__pass_run(&liana__pass_fuse_batch_norm, graph, &result, &context->error), &context->error);
    assert_ok(liana__graph_verify(result, &context->error), &context->error);
    return result;
}

static liana_tensor norm_channels(liana_graph *graph, const char *name, double low, double high)
{
    return liana__sample_input(graph, name, LIANA_F64, liana_shape_of(6), low, high);
}

static liana_tensor normalised(liana_tensor x, liana_tensor gamma, liana_tensor beta)
{
    return liana_op_batch_norm_training(x, gamma, beta, liana_op_batch_norm_statistics(x), 1e-3);
}

/* Two normalisations: relu6 behind the first, `last` behind the second and the first's x; and all gradients. */
static liana_graph *norms_in_training(liana_tensor (*last)(liana_location here, liana_tensor x), bool keep_inner)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor wrt[] = {liana__sample_input(graph, "x", LIANA_F64, liana_shape_of(2, 5, 3, 6), -2, 3),
                          norm_channels(graph, "gamma", 2, 4), norm_channels(graph, "beta", 0, 3),
                          norm_channels(graph, "gamma2", 0.5, 2), norm_channels(graph, "beta2", -1, 1)};
    liana_tensor inner = normalised(wrt[0], wrt[1], wrt[2]);
    liana_tensor outer = normalised(liana_op_square(liana_op_relu6(inner)), wrt[3], wrt[4]);
    liana_tensor y = last(LIANA_HERE, liana_op_add(outer, wrt[0])), gradients[5];
    liana_gradients(liana_op_square(y), wrt, 5, gradients);
    liana_graph_output(graph, "y", y);
    static const char *const names[] = {"dx", "dgamma", "dbeta", "dgamma2", "dbeta2"};
    for (int i = 0; i < 5; i++) liana_graph_output(graph, names[i], gradients[i]);
    if (keep_inner) liana_graph_output(graph, "inner", inner);
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

/* The gradient behind a residual goes to both, so that it is written out. */
static void test_norms_and_activations_are_fused_forward_and_backward(void **state)
{
    (void)state;
    liana_graph *before = norms_in_training(liana_op_relu_at, false), *after = fused_norms(before);
    assert_int_equal(count_needed(after, &liana__op_batch_norm_training_activation), 2);
    assert_int_equal(count_needed(after, &liana__op_batch_norm_training), 0);
    assert_int_equal(count_needed(after, &liana__op_relu6), 0);
    assert_int_equal(count_needed(after, &liana__op_relu), 0);
    assert_int_equal(count_needed(after, &liana__op_relu6_gradient), 0);
    assert_int_equal(count_needed(after, &liana__op_relu_gradient), 1);
    assert_int_equal(count_needed(after, &liana__op_batch_norm_activation_gradient_sums), 1);
    assert_int_equal(count_needed(after, &liana__op_batch_norm_activation_input_gradient), 1);
    assert_same_results(before, after);
    liana_graph_destroy(before);
    liana_graph_destroy(after);
}

/* The gradient of swish reads the sum behind the second normalisation, and passes on to its residual. That sum still
 * becomes one op. */
static void test_what_swish_reads_is_kept_in_training(void **state)
{
    (void)state;
    liana_graph *before = norms_in_training(liana_op_swish_at, false), *after = fused_norms(before);
    assert_int_equal(count_needed(after, &liana__op_batch_norm_training_activation), 2);
    assert_int_equal(count_needed(after, &liana__op_swish), 1);
    assert_int_equal(count_needed(after, &liana__op_swish_gradient), 1);
    assert_int_equal(count_needed(after, &liana__op_add), count_needed(before, &liana__op_add) - 1);
    assert_same_results(before, after);
    liana_graph_destroy(before);
    liana_graph_destroy(after);
}

/* Without a residual nothing but the normalisation reads the values that swish lets pass: its input is never
 * written. */
static void test_swish_behind_a_norm_is_fused_in_training(void **state)
{
    (void)state;
    liana_graph *before = liana__test_new_graph(context);
    liana_tensor wrt[] = {liana__sample_input(before, "x", LIANA_F64, liana_shape_of(2, 5, 3, 6), -2, 3),
                          norm_channels(before, "gamma", 2, 4), norm_channels(before, "beta", 0, 3)};
    liana_tensor y = liana_op_swish(normalised(wrt[0], wrt[1], wrt[2])), gradients[3];
    liana_gradients(liana_op_square(y), wrt, 3, gradients);
    static const char *const names[] = {"dx", "dgamma", "dbeta"};
    for (int i = 0; i < 3; i++) liana_graph_output(before, names[i], gradients[i]);
    assert_ok(liana_graph_status(before), &context->error);
    liana_graph *after = fused_norms(before);
    assert_int_equal(count_needed(after, &liana__op_batch_norm_training_activation), 1);
    assert_int_equal(count_needed(after, &liana__op_batch_norm_training), 0);
    assert_int_equal(count_needed(after, &liana__op_swish), 0);
    assert_int_equal(count_needed(after, &liana__op_swish_gradient), 0);
    assert_int_equal(count_needed(after, &liana__op_batch_norm_activation_gradient_sums), 1);
    assert_int_equal(count_needed(after, &liana__op_batch_norm_activation_input_gradient), 1);
    assert_same_results(before, after);
    liana_graph_destroy(before);
    liana_graph_destroy(after);
}

/* A normalisation with another reader is computed once, as before; its gradient can do without. */
static void test_a_norm_that_is_read_twice_stays(void **state)
{
    (void)state;
    liana_graph *before = norms_in_training(liana_op_relu_at, true), *after = fused_norms(before);
    assert_int_equal(count_needed(after, &liana__op_batch_norm_training), 1);
    assert_int_equal(count_needed(after, &liana__op_relu6), 1);
    assert_int_equal(count_needed(after, &liana__op_batch_norm_activation_gradient_sums), 1);
    assert_same_results(before, after);
    liana_graph_destroy(before);
    liana_graph_destroy(after);
}

static void test_norms_of_inference_are_fused(void **state)
{
    (void)state;
    static liana_tensor (*const activations[])(liana_location here, liana_tensor x) = {liana_op_relu_at,
                                                                                       liana_op_relu6_at,
                                                                                       liana_op_swish_at};
    for (int i = 0; i < 6; i++) {
        liana_graph *before = liana__test_new_graph(context);
        liana_tensor x = liana__sample_input(before, "x", LIANA_F64, liana_shape_of(7, 6), -2, 9);
        liana_tensor y =
            liana_op_batch_norm_inference(x, norm_channels(before, "gamma", 1, 3), norm_channels(before, "beta", -1, 1),
                                          norm_channels(before, "mean", -1, 1),
                                          norm_channels(before, "variance", 0.5, 2), 1e-3);
        if (i >= 3) y = liana_op_add(liana_op_negate(x), y);
        liana_graph_output(before, "y", activations[i % 3](LIANA_HERE, y));
        assert_ok(liana_graph_status(before), &context->error);
        liana_graph *after = fused_norms(before);
        assert_int_equal(count_needed(after, &liana__op_batch_norm_inference_activation), 1);
        assert_int_equal(count_needed(after, &liana__op_add), 0);
        assert_ptr_equal(after->outputs[0].node->op, &liana__op_batch_norm_inference_activation);
        assert_same_results(before, after);
        liana_graph_destroy(before);
        liana_graph_destroy(after);
    }
}

/* A residual that is repeated over the images, and one that is the normalisation itself, are plain sums. */
static void test_sums_that_are_no_residuals_stay(void **state)
{
    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        liana_graph *before = liana__test_new_graph(context);
        liana_tensor x = liana__sample_input(before, "x", LIANA_F64, liana_shape_of(7, 6), -2, 9);
        liana_tensor y = normalised(x, norm_channels(before, "gamma", 1, 3), norm_channels(before, "beta", -1, 1));
        liana_graph_output(before, "y", liana_op_add(y, twice ? y : norm_channels(before, "bias", -1, 1)));
        assert_ok(liana_graph_status(before), &context->error);
        liana_graph *after = fused_norms(before);
        assert_int_equal(count_needed(after, &liana__op_batch_norm_training), 1);
        assert_same_results(before, after);
        liana_graph_destroy(before);
        liana_graph_destroy(after);
    }
}

static void test_the_interface_of_a_graph_stays(void **state)
{
    (void)state;
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor b = liana_graph_variable(graph, "b", LIANA_F32, liana_shape_of(3));
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(2, 3));
    liana_tensor a = liana_graph_variable(graph, "a", LIANA_F32, liana_shape_of(3));
    float ones[3] = {1, 1, 1};
    liana_tensor sum = liana_op_add(x, liana_graph_constant(graph, LIANA_F32, liana_shape_of(3), ones));
    liana_graph_output(graph, "second", liana_op_add(sum, b));
    liana_graph_output(graph, "first", sum);
    liana_graph_assign(a, liana_op_add(a, b));
    assert_ok(liana_graph_status(graph), &context->error);
    liana_graph *copy = folded(graph);
    char *text = liana_graph_text(graph), *copied = liana_graph_text(copy);
    assert_string_equal(text, copied);
    free(text);
    free(copied);
    liana_graph_destroy(graph);
    liana_graph_destroy(copy);
}

static void test_passes_can_be_skipped_by_name(void **state)
{
    (void)state;
    static const border odd = {.low = {0, 0, 1, 0}, .high = {0, 2, 1, 0}};
    liana_graph *graph = bordered_convolution(false, &odd, false), *result;
    context->skipped_passes = "fuse_max_pool,fold_padding";
    assert_ok(liana__passes_run(graph, &result, &context->error), &context->error);
    if (result) assert_int_equal(count_needed(result, &liana__op_pad), 1);
    liana_graph_destroy(result);
    context->skipped_passes = NULL;
    assert_ok(liana__passes_run(graph, &result, &context->error), &context->error);
    assert_int_equal(count_needed(result, &liana__op_pad), 0);
    liana_graph_destroy(result);
    context->skipped_passes = "fold_paddings";
    assert_fails(liana__passes_run(graph, &result, &context->error), LIANA_INVALID_CONFIG, &context->error,
                 "LIANA_SKIP_PASSES", "fold_paddings", "'fold_padding'");
    context->skipped_passes = NULL;
    liana_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_borders_vanish_forward_and_backward),
        cmocka_unit_test(test_what_else_reads_the_border_keeps_it),
        cmocka_unit_test(test_borders_that_are_no_padding_stay),
        cmocka_unit_test(test_pooled_convolutions_are_fused_where_that_is_right),
        cmocka_unit_test(test_norms_and_activations_are_fused_forward_and_backward),
        cmocka_unit_test(test_what_swish_reads_is_kept_in_training),
        cmocka_unit_test(test_swish_behind_a_norm_is_fused_in_training),
        cmocka_unit_test(test_a_norm_that_is_read_twice_stays),
        cmocka_unit_test(test_norms_of_inference_are_fused),
        cmocka_unit_test(test_sums_that_are_no_residuals_stay),
        cmocka_unit_test(test_the_interface_of_a_graph_stays),
        cmocka_unit_test(test_passes_can_be_skipped_by_name),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
