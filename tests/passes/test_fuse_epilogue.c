/* fuse_epilogue: the ops behind a convolution become part of it, to the same results, where that is right. */
#include "harness/harness.h"

#include "harness/graph_run.h"
#include "ops/fused/conv2d_affine.h"
#include "ops/samples.h"
#include "passes/pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FILTERS = 48 };

static liana_context *context;
static liana__device *reference, *cpu;

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(0, &context, &cpu, &reference);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, cpu, reference);
}

typedef enum activation { LINEAR, RELU, RELU6, SWISH } activation;

/* A convolution and the ops behind it. */
typedef struct problem {
    int64_t window, stride;
    bool depthwise, bias, residual;
    activation activation;
    double mean; /* that the statistics have, and the bias, with a deviation of about 1 */
} problem;

static liana_tensor channels(liana_graph *graph, const char *name, double low, double high)
{
    return liana__sample_input(graph, name, LIANA_F32, liana_shape_of(FILTERS), low, high);
}

static liana_tensor convolve(liana_graph *graph, const problem *p, liana_dtype dtype)
{
    const liana_conv_options options = {.strides = {p->stride, p->stride}, .padding = LIANA_PADDING_SAME};
    const int64_t inputs = p->depthwise ? FILTERS : 21;
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(5, 9, 7, inputs), -1, 1);
    const liana_shape shape = liana_shape_of(p->window, p->window, inputs, p->depthwise ? 1 : FILTERS);
    liana_tensor kernel = liana__sample_input(graph, "kernel", dtype, shape, -0.5, 0.5);
    return p->depthwise ? liana_op_depthwise_conv2d(x, kernel, options) : liana_op_conv2d(x, kernel, options);
}

static liana_tensor activate(liana_tensor x, activation which)
{
    switch (which) {
    case RELU: return liana_op_relu(x);
    case RELU6: return liana_op_relu6(x);
    case SWISH: return liana_op_swish(x);
    default: return x;
    }
}

/* The results: the last, and if `keeps` the convolution's. */
static liana_graph *build(const problem *p, liana_dtype dtype, bool keeps)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor y = convolve(graph, p, dtype);
    if (keeps) liana_graph_output(graph, "convolved", y);
    const liana_shape shape = liana_tensor_shape(y);
    if (p->bias) {
        liana_tensor bias = channels(graph, "bias", p->mean - 1, p->mean + 1);
        y = liana_op_add(y, liana_op_cast(bias, dtype));
    }
    y = liana_op_batch_norm_inference(y, channels(graph, "gamma", -2, 2), channels(graph, "beta", -1, 1),
                                      channels(graph, "mean", p->mean - 1, p->mean + 1),
                                      channels(graph, "variance", 0.5, 2), 1e-3);
    if (p->residual) y = liana_op_add(liana__sample_input(graph, "residual", dtype, shape, -2, 2), y);
    liana_graph_output(graph, "y", activate(y, p->activation));
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

static int count(const liana_graph *graph, const liana__op *op)
{
    bool *needed = calloc(graph->num_nodes, sizeof *needed);
    assert_non_null(needed);
    liana__graph_mark_needed(graph, needed);
    int found = 0;
    for (size_t id = 1; id < graph->num_nodes; id++) found += needed[id] && graph->nodes[id]->op == op;
    free(needed);
    return found;
}

static int count_norms(const liana_graph *graph)
{
    return count(graph, &liana__op_batch_norm_inference) + count(graph, &liana__op_batch_norm_inference_activation);
}

static liana_graph *after_passes(const liana_graph *graph)
{
    liana_graph *result;
    assert_ok(liana__passes_run(graph, &result, &context->error), &context->error);
    assert_ok(liana__graph_verify(result, &context->error), &context->error);
    return result;
}

/* The plain loops on the graph as it was built give the last output of the fast ones on the rewritten graph, and unless
 * the dtype is bf16, also theirs without the pass. The greatest difference, relative to 1 + |value|. */
static double worst_difference(const liana_graph *graph)
{
    liana__test_value inputs[16], expected[2], got[2];
    const size_t last = graph->num_outputs - 1;
    liana__test_draw_inputs(graph, 5, inputs);
    liana__test_run(reference, graph, inputs, expected);
    liana__test_run(cpu, graph, inputs, got);
    double worst = 0;
    for (int64_t i = 0; i < liana_shape_size(&expected[last].shape); i++) {
        const double a = liana__load(expected[last].data, expected[last].dtype, i);
        const double difference = fabs(a - liana__load(got[last].data, got[last].dtype, i)) / (1 + fabs(a));
        if (!(difference <= worst)) worst = difference;
    }
    liana__test_free_values(inputs, graph->num_inputs);
    liana__test_free_values(expected, graph->num_outputs);
    liana__test_free_values(got, graph->num_outputs);
    return worst;
}

static const problem fused[] = {
    {1, 1, false, false, false, RELU6, 0},   {1, 1, false, false, true, LINEAR, 0},
    {1, 1, false, true, true, RELU, 0},      {1, 1, false, true, false, SWISH, 0},
    {1, 2, false, true, true, SWISH, 0},     {3, 1, true, false, false, RELU6, 0},
    {3, 2, true, true, false, SWISH, 0},     {5, 1, true, true, false, RELU, 0},
    {1, 1, false, true, false, LINEAR, 300}, {5, 2, true, false, false, LINEAR, 0},
};

static void check_fused(void)
{
    for (size_t i = 0; i < sizeof fused / sizeof *fused; i++) {
        const problem *p = &fused[i];
        for (int half = 0; half < 2; half++) {
            liana_graph *before = build(p, half ? LIANA_BF16 : LIANA_F32, false), *after = after_passes(before);
            const liana__op *op = p->depthwise ? &liana__op_depthwise_conv2d_affine : &liana__op_conv2d_affine;
            /* Without vectors of 32 bytes oneDNN and plain loops convolve; swish in f32 stays. */
            const bool stays = p->activation == SWISH && !half;
            if (!stays && context->isa >= LIANA__ISA_AVX2) {
                assert_int_equal(count(after, op), 1);
                assert_int_equal(count_norms(after), 0);
                assert_int_equal(count(after, &liana__op_add), 0);
            }
            /* bf16: the convolution's result is rounded only in the graph before, to 2^-9 of up to 7. Large means: f32
             * has 2^-24 of 300 in each. */
            const double worst = worst_difference(before),
                         most = half ? 0x1p-5 * (1 + p->mean) : 2e-5 * (1 + p->mean / 10);
            if (worst > most) fail_msg("problem %zu (bf16: %d): off by %g", i, half, worst);
            liana_graph_destroy(before);
            liana_graph_destroy(after);
        }
    }
}

static void test_what_follows_is_fused(void **state)
{
    (void)state;
    const liana__isa best = context->isa;
    for (int isa = LIANA__ISA_BASELINE; isa <= (int)best; isa++) {
        context->isa = (liana__isa)isa;
        check_fused();
    }
    context->isa = best;
}

/* Where no kernel does all of it, the mean takes the bias. */
static void test_a_bias_before_other_convolutions_moves(void **state)
{
    (void)state;
    static const problem others[] = {{3, 1, false, true, false, RELU, 0},
                                     {3, 2, false, true, true, RELU6, 0},
                                     {3, 1, true, true, true, LINEAR, 0}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        liana_graph *before = build(&others[i], LIANA_F32, false), *after = after_passes(before);
        assert_int_equal(count_norms(after), 1);
        assert_int_equal(count(after, &liana__op_add), 0);
        assert_int_equal(count(after, &liana__op_subtract), 1);
        const double worst = worst_difference(before);
        if (worst > 2e-5) fail_msg("problem %zu: off by %g", i, worst);
        liana_graph_destroy(before);
        liana_graph_destroy(after);
    }
}

static void test_a_convolution_that_is_read_elsewhere_stays(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fused / sizeof *fused; i++) {
        liana_graph *before = build(&fused[i], LIANA_F32, true), *after = after_passes(before);
        assert_int_equal(count(after, &liana__op_conv2d_affine) + count(after, &liana__op_depthwise_conv2d_affine), 0);
        assert_int_equal(count_norms(after), 1);
        liana_graph_destroy(before);
        liana_graph_destroy(after);
    }
}

static void test_the_pass_can_be_skipped(void **state)
{
    (void)state;
    liana_graph *before = build(&fused[0], LIANA_F32, false);
    context->skipped_passes = "fuse_epilogue";
    liana_graph *after = after_passes(before);
    context->skipped_passes = NULL;
    assert_int_equal(count(after, &liana__op_conv2d), 1);
    assert_int_equal(count_norms(after), 1);
    liana_graph_destroy(before);
    liana_graph_destroy(after);
}

/* NaN in one channel comes out there, whatever the activation, and nowhere else. */
static void test_numbers_that_are_none_stay_in_their_channel(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fused / sizeof *fused; i++) {
        liana_graph *graph = build(&fused[i], LIANA_F32, false);
        liana__test_value inputs[16], got[1];
        liana__test_draw_inputs(graph, 5, inputs);
        for (size_t k = 0; k < graph->num_inputs; k++) {
            if (strncmp(graph->inputs[k]->name, "beta ", 5) == 0) ((float *)inputs[k].data)[17] = NAN;
        }
        liana__test_run(cpu, graph, inputs, got);
        for (int64_t k = 0; k < liana_shape_size(&got[0].shape); k++) {
            assert_int_equal(isnan(((const float *)got[0].data)[k]) != 0, k % FILTERS == 17);
        }
        liana__test_free_values(inputs, graph->num_inputs);
        liana__test_free_values(got, 1);
        liana_graph_destroy(graph);
    }
}

/* Shapes that do not fit are named. */
static void test_bad_input(void **state)
{
    (void)state;
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(1, 3, 3, 4));
    liana_tensor kernel = liana_graph_input(graph, "kernel", LIANA_F32, liana_shape_of(1, 1, 4, 6));
    liana_tensor affine = liana_graph_input(graph, "affine", LIANA_F32, liana_shape_of(2, 5));
    const liana__conv_attributes attributes = {.groups = 1};
    (void)liana__build3(LIANA_HERE, &liana__op_conv2d_affine, x, kernel, affine, &attributes);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "conv2d_affine",
                 "affine is f32[2, 5]", "f32[2, 6]");
    liana_graph_destroy(graph);
    assert_ok(liana_graph_create(context, &graph), &context->error);
    x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(1, 3, 3, 4));
    kernel = liana_graph_input(graph, "kernel", LIANA_F32, liana_shape_of(1, 1, 4, 6));
    affine = liana_graph_input(graph, "affine", LIANA_F32, liana_shape_of(2, 6));
    liana_tensor residual = liana_graph_input(graph, "residual", LIANA_F32, liana_shape_of(1, 3, 1, 6));
    (void)liana__build(LIANA_HERE, graph, &liana__op_conv2d_affine, (liana_tensor[]){x, kernel, affine, residual}, 4,
                       &attributes);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "the residual is f32[1, 3, 1, 6]",
                 "f32[1, 3, 3, 6]");
    liana_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_follows_is_fused),
        cmocka_unit_test(test_a_bias_before_other_convolutions_moves),
        cmocka_unit_test(test_a_convolution_that_is_read_elsewhere_stays),
        cmocka_unit_test(test_the_pass_can_be_skipped),
        cmocka_unit_test(test_numbers_that_are_none_stay_in_their_channel),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
