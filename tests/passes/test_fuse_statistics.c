/* fuse_statistics: convolutions give the batch statistics of their results, right for results anywhere, and networks
 * train as they do without. */
#include "harness/harness.h"

#include "backends/cpu/cpu.h"
#include "harness/graph_run.h"
#include "kernels/kernel_choice.h"
#include "ops/conv/conv2d.h"
#include "ops/conv/depthwise_conv2d.h"
#include "ops/norm/batch_norm.h"
#include "ops/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- what kernels give ---- */

/* Where the numbers of a convolution's result lie: around 0; at a mean far from their deviation; the same but for the
 * first pixel, which is far from all others; all the same; with one that is no number. */
typedef enum spread { AROUND_ZERO, FAR_AWAY, FIRST_ASTRAY, CONSTANT, NO_NUMBER, NUM_SPREADS } spread;

typedef struct shape {
    int64_t batch, height, width, channels, filters; /* 0: depthwise */
    int64_t window, stride;
} shape;

/* Whole and broken tiles, panels and vectors, sums that are one or many blocks, and gathered pixels. */
static const shape shapes[] = {
    {2, 16, 16, 24, 40, 1, 1}, {1, 19, 17, 7, 16, 1, 1},  {3, 12, 12, 64, 147, 1, 1}, {1, 23, 23, 3, 5, 1, 1},
    {1, 32, 40, 33, 48, 1, 1}, {2, 31, 27, 32, 24, 1, 2}, {4, 48, 48, 16, 96, 1, 1},  {1, 2, 131, 300, 8, 1, 1},
    {2, 16, 16, 32, 0, 3, 1},  {3, 12, 12, 48, 0, 5, 1},  {1, 24, 48, 112, 0, 3, 2},  {2, 14, 14, 16, 0, 7, 2},
    {5, 7, 7, 80, 0, 3, 1},    {1, 6, 6, 32, 0, 3, 1},    {4, 3, 70, 16, 0, 5, 1},
};

static const liana__node *build_convolution(liana_graph *graph, const shape *s, liana_dtype dtype)
{
    const liana_conv_options options = {.strides = {s->stride, s->stride}, .padding = LIANA_PADDING_SAME};
    liana_tensor x = liana_graph_input(graph, "x", dtype, liana_shape_of(s->batch, s->height, s->width, s->channels));
    const liana_shape size = liana_shape_of(s->window, s->window, s->channels, s->filters ? s->filters : 1);
    liana_tensor kernel = liana_graph_input(graph, "kernel", dtype, size);
    liana_tensor y = s->filters ? liana_op_conv2d(x, kernel, options) : liana_op_depthwise_conv2d(x, kernel, options);
    assert_ok(liana_graph_status(graph), &context->error);
    return liana__tensor_node(y);
}

/* The same draws everywhere. */
static double draw(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return (double)(*state >> 8) / (1 << 24) - 0.5;
}

/* A kernel that picks one cell and one channel leaves x as it is, so that the result's spread is known. */
static void fill(const liana__node *node, spread how, void *x, void *kernel)
{
    const liana_shape *xs = liana__input_shape(node, 0), *ks = liana__input_shape(node, 1);
    uint32_t state = 7;
    const int64_t count = liana_shape_size(xs), channels = xs->dims[3], filters = ks->dims[3];
    for (int64_t i = 0; i < count; i++) {
        double value = draw(&state);
        if (how != AROUND_ZERO) value = 1000 + 4 * value;
        if (how == CONSTANT) value = 1000;
        if (how == FIRST_ASTRAY && i < channels) value = -30000;
        if (how == NO_NUMBER && i == count / 2) value = NAN;
        liana__store(x, node->dtype, i, value);
    }
    const int64_t middle = (ks->dims[0] / 2 * ks->dims[1] + ks->dims[1] / 2) * ks->dims[2];
    for (int64_t i = 0; i < liana_shape_size(ks); i++) {
        const int64_t cell = i / filters, from = cell - middle;
        const bool picks =
            ks->dims[2] == channels && filters > 1 ? from == i % filters % channels : from >= 0 && from < ks->dims[2];
        liana__store(kernel, node->dtype, i, how == AROUND_ZERO ? draw(&state) : picks);
    }
}

enum { GUARD = 256, POISON = 0xA5 };

static char *guarded(size_t size)
{
    char *memory = liana__allocate_aligned(size + 2 * GUARD);
    assert_non_null(memory);
    memset(memory, POISON, size + 2 * GUARD);
    return memory + GUARD;
}

static void free_guarded(char *data, size_t size, const char *what)
{
    for (int i = 0; i < GUARD; i++) {
        if ((unsigned char)data[-1 - i] != POISON || (unsigned char)data[size + (size_t)i] != POISON) {
            fail_msg("written outside of the %s", what);
        }
    }
    free(data - GUARD);
}

static void run_kernel(const liana__kernel *kernel, const liana__node *node, const void *const *src, void *dst,
                       void *companion)
{
    liana__prepared prepared = {0};
    if (kernel->prepare) assert_ok(kernel->prepare(node, &prepared, &context->error), &context->error);
    char *scratch = guarded(prepared.scratch_size);
    const liana__call call = {
        .node = node, .src = src, .dst = dst, .scratch = scratch, .plan = prepared.plan, .companion = companion};
    assert_int_equal(kernel->run(&call), LIANA_OK);
    free_guarded(scratch, prepared.scratch_size, "scratch memory");
    if (kernel->release && prepared.plan) kernel->release(prepared.plan);
}

/* Within rounding of the exact statistics of the very numbers that were stored: of the mean, 2^-18 of it and of the
 * deviation; of the variance, 2^-10 of it, as the sums of float that it is made of are of up to 128 numbers, and the
 * rounding of the mean's square in double. */
static void compare(const double *got, const double *expected, int64_t channels, const char *what)
{
    for (int64_t c = 0; c < channels; c++) {
        const double mean = expected[c], variance = expected[channels + c];
        const bool none = mean != mean && got[c] != got[c] && got[channels + c] != got[channels + c];
        const bool mean_is_right = fabs(got[c] - mean) <= 0x1p-18 * (fabs(mean) + sqrt(variance));
        const bool variance_is_right = fabs(got[channels + c] - variance) <= 0x1p-10 * variance + 0x1p-48 * mean * mean;
        if (none || (mean_is_right && variance_is_right)) continue;
        fail_msg("%s: channel %lld has mean %.9g and variance %.9g, expected %.9g and %.9g", what, (long long)c, got[c],
                 got[channels + c], mean, variance);
    }
}

static void check_kernel(const liana__kernel *kernel, const liana__node *node, const liana__node *statistics,
                         spread how, const char *what)
{
    const size_t x_size = liana__byte_size(node->dtype, liana__input_shape(node, 0));
    const size_t kernel_size = liana__byte_size(node->dtype, liana__input_shape(node, 1));
    const size_t size = liana__byte_size(node->dtype, &node->shape);
    const size_t given_size = liana__byte_size(LIANA_F64, &statistics->shape);
    char *x = guarded(x_size), *weights = guarded(kernel_size), *plain = guarded(size), *result = guarded(size);
    char *given = guarded(given_size), *again = guarded(given_size), *expected = guarded(given_size);
    fill(node, how, x, weights);
    const void *src[] = {x, weights};
    run_kernel(kernel, node, src, plain, NULL);
    run_kernel(kernel, node, src, result, given);
    run_kernel(kernel, node, src, result, again);
    assert_memory_equal(plain, result, size);
    assert_memory_equal(given, again, given_size);
    run_kernel(liana__reference_kernel(statistics), statistics, (const void *const[]){result}, expected, NULL);
    compare((const double *)(void *)given, (const double *)(void *)expected, node->shape.dims[3], what);
    free_guarded(x, x_size, "images");
    free_guarded(weights, kernel_size, "kernel");
    free_guarded(plain, size, "result");
    free_guarded(result, size, "result");
    free_guarded(given, given_size, "statistics");
    free_guarded(again, given_size, "statistics");
    free_guarded(expected, given_size, "statistics");
}

/* How many kernels gave statistics. */
static int check_shape(const shape *s, liana_dtype dtype)
{
    liana_graph *graph = liana__test_new_graph(context);
    const liana__node *node = build_convolution(graph, s, dtype);
    liana_tensor whole = liana_op_batch_norm_statistics(liana__node_tensor(graph, node));
    liana__node statistics = *liana__tensor_node(whole);
    int count = 0;
    for (const liana__kernel *const *k = node->op->kernels; *k; k++) {
        const char *reason = NULL;
        if (!(*k)->gives_companion || (*k)->isa > context->isa || !(*k)->applicable(node, &reason)) continue;
        statistics.dtype = LIANA_F32; /* of the whole result: nobody but a merger may have them in parts */
        assert_false((*k)->gives_companion(node, &statistics));
        statistics.dtype = LIANA_F64;
        if (!(*k)->gives_companion(node, &statistics)) continue;
        count++;
        for (int how = 0; how < NUM_SPREADS; how++) {
            char what[120];
            snprintf(what, sizeof what, "%s kernel %s, shape %zu, spread %d", liana_dtype_name(dtype), (*k)->name,
                     (size_t)(s - shapes), how);
            check_kernel(*k, node, &statistics, (spread)how, what);
        }
    }
    liana_graph_destroy(graph);
    return count;
}

static void test_kernels(void **state)
{
    (void)state;
    int dense[2] = {0}, depthwise[2] = {0};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int half = 0; half < 2; half++) {
            const int count = check_shape(&shapes[i], half ? LIANA_BF16 : LIANA_F32);
            *(shapes[i].filters ? &dense[half] : &depthwise[half]) += count;
        }
    }
    if (context->isa >= LIANA__ISA_AVX2) assert_compare(dense[0], >, 0);
    if (context->isa >= LIANA__ISA_AVX2) {
        assert_compare(dense[1], >, 0);
        assert_compare(depthwise[1], >, 0);
    }
    assert_compare(depthwise[0], >, 0);
}

/* ---- a network's training step ---- */

enum { NUM_PARAMETERS = 7, ROWS = 6 };

static liana_tensor parameter(liana_graph *graph, const char *name, liana_shape of, double low, double high)
{
    return liana__sample_input(graph, name, LIANA_F32, of, low, high);
}

static liana_tensor normalised(liana_tensor x, liana_tensor gamma, liana_tensor beta)
{
    return liana_op_relu6(liana_op_batch_norm_training(x, gamma, beta, liana_op_batch_norm_statistics(x), 1e-3));
}

/* Outputs: the loss and its gradients, through a dense convolution, one of single pixels, a depthwise one and again one
 * of single pixels. */
static liana_graph *build_network(bool mixed)
{
    liana_graph *graph = liana__test_new_graph(context);
    graph->mixed_precision = mixed;
    liana_tensor x = liana__sample_input(graph, "x", LIANA_F32, liana_shape_of(ROWS, 33, 32, 3), 90, 92);
    liana_tensor w[NUM_PARAMETERS] = {parameter(graph, "dense", liana_shape_of(3, 3, 3, 16), -1, 1),
                                      parameter(graph, "expand", liana_shape_of(1, 1, 16, 48), -1, 1),
                                      parameter(graph, "depthwise", liana_shape_of(3, 3, 48, 1), -1, 1),
                                      parameter(graph, "project", liana_shape_of(1, 1, 48, 16), -1, 1),
                                      parameter(graph, "gamma", liana_shape_of(16), 0.5, 2),
                                      parameter(graph, "beta", liana_shape_of(16), -1, 1),
                                      parameter(graph, "logits", liana_shape_of(16, 4), -1, 1)};
    liana_tensor gamma = parameter(graph, "gamma48", liana_shape_of(48), 0.5, 2);
    liana_tensor beta = parameter(graph, "beta48", liana_shape_of(48), -1, 1);
    const liana_conv_options same = {.padding = LIANA_PADDING_SAME};
    liana_tensor y = normalised(liana_op_conv2d(x, w[0], same), w[4], w[5]), shortcut = y;
    y = normalised(liana_op_conv2d(y, w[1], same), gamma, beta);
    y = normalised(liana_op_depthwise_conv2d(y, w[2], same), gamma, beta);
    y = liana_op_add(normalised(liana_op_conv2d(y, w[3], same), w[4], w[5]), shortcut);
    y = liana_op_matmul(liana_op_reduce_mean(y, LIANA_AXES(1, 2), false), w[6], false, false);
    liana_tensor labels = liana__sample_input(graph, "labels", LIANA_S32, liana_shape_of(ROWS), 0, 3);
    liana_tensor loss = liana_op_reduce_sum(liana_op_sparse_softmax_cross_entropy(y, labels), LIANA_ALL_AXES, false);
    liana_tensor gradients[NUM_PARAMETERS];
    liana_gradients(loss, w, NUM_PARAMETERS, gradients);
    liana_graph_output(graph, "loss", loss);
    static const char *const names[NUM_PARAMETERS] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6"};
    for (int i = 0; i < NUM_PARAMETERS; i++) liana_graph_output(graph, names[i], gradients[i]);
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

/* How many statistics are given on the way. */
static int count_given(const liana_graph *graph)
{
    liana__executable *executable;
    assert_ok(cpu->backend->compile(cpu, graph, &executable, &context->error), &context->error);
    const liana__cpu_executable *compiled = (const liana__cpu_executable *)executable;
    int count = 0;
    for (size_t i = 0; i < compiled->num_steps; i++) {
        const liana__cpu_step *step = &compiled->steps[i];
        count += step->companion != NULL;
        if (step->companion) {
            assert_compare(step->companion - compiled->steps, >, i, i);
            assert_true(step->companion->is_given);
        }
    }
    cpu->backend->executable_destroy(executable);
    return count;
}

/* The largest difference of an output, against the largest of its elements. */
static double difference(const liana__test_value *a, const liana__test_value *b)
{
    double worst = 0, largest = 0;
    for (int64_t i = 0; i < liana_shape_size(&a->shape); i++) {
        const double x = liana__load(a->data, a->dtype, i), y = liana__load(b->data, b->dtype, i);
        worst = fmax(worst, fabs(x - y));
        largest = fmax(largest, fabs(x));
        assert_true(isfinite(x) && isfinite(y));
    }
    return worst / largest;
}

static void run_network(const liana_graph *graph, const char *skipped, liana__test_value *outputs)
{
    liana__test_value inputs[16];
    liana__test_draw_inputs(graph, 9, inputs);
    context->skipped_passes = skipped;
    liana__test_run(cpu, graph, inputs, outputs);
    context->skipped_passes = NULL;
    liana__test_free_values(inputs, graph->num_inputs);
}

/* The statistics differ in their last bits; values rounded to bf16 behind them fall to the other side now and then.
 */
static void check_network(bool mixed, double most)
{
    liana_graph *graph = build_network(mixed);
    liana__test_value without[1 + NUM_PARAMETERS], with[1 + NUM_PARAMETERS];
    run_network(graph, "fuse_statistics", without);
    run_network(graph, NULL, with);
    for (size_t i = 0; i < graph->num_outputs; i++) {
        const double worst = difference(&without[i], &with[i]);
        if (worst > most) fail_msg("%s (mixed: %d): off by %g", graph->outputs[i].name, mixed, worst);
    }
    liana__test_free_values(without, graph->num_outputs);
    liana__test_free_values(with, graph->num_outputs);
    context->validate = true;
    run_network(graph, NULL, with);
    context->validate = false;
    liana__test_free_values(with, graph->num_outputs);
    liana_graph_destroy(graph);
}

static void test_networks_train_the_same(void **state)
{
    (void)state;
    context->slice_bytes = 1 << 16;
    check_network(false, 2e-4);
    const liana__isa best = context->isa;
    for (int isa = LIANA__ISA_BASELINE; isa <= (int)best; isa++) {
        context->isa = (liana__isa)isa;
        check_network(true, 0.05);
    }
    context->isa = best;
}

/* Which of the network's convolutions give statistics; skipped, or without slices, none do. */
static void test_who_gives(void **state)
{
    (void)state;
    for (int mixed = 0; mixed < 2; mixed++) {
        liana_graph *graph = build_network(mixed);
        context->slice_bytes = 1 << 16;
        const liana__isa best = context->isa;
        const liana__isa last =
            mixed && best > LIANA__ISA_AVX512_BF16 ? LIANA__ISA_AVX512_BF16 : best; /* tiles do not */
        for (int isa = mixed ? LIANA__ISA_AVX2 : LIANA__ISA_AVX512; isa <= (int)last; isa++) {
            context->isa = (liana__isa)isa;
            if (count_given(graph) != 3) { /* not the dense one, which is oneDNN's */
                fail_msg("%s (mixed: %d): %d give statistics", liana__isa_name(context->isa), mixed,
                         count_given(graph));
            }
        }
        context->isa = best;
        context->skipped_passes = "fuse_statistics";
        assert_int_equal(count_given(graph), 0);
        context->skipped_passes = NULL;
        context->slice_bytes = 0;
        assert_int_equal(count_given(graph), 0);
        liana_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_networks_train_the_same),
        cmocka_unit_test(test_who_gives),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
