/* Ops in parts: the CPU backend's results slice by slice are the reference's at once. */
#include "harness/harness.h"

#include "backends/cpu/cpu.h"
#include "backends/host.h"
#include "harness/graph_run.h"
#include "ops/norm/batch_norm.h"
#include "ops/samples.h"
#include "plan/execution_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const liana__samples *const all_samples[] = {
#define LIANA__OP(stem, name) &liana__samples_##name,
#include "ops/ops.def"
#undef LIANA__OP
};
enum { NUM_OPS = sizeof all_samples / sizeof *all_samples };

static liana_context *context;
static liana__device *reference, *cpu;

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(1, &context, &cpu, &reference);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, cpu, reference);
}

/* The sample's node twice, for a node alone is not worth slicing. */
static liana_graph *build_twice(const liana__sample *sample, liana_dtype dtype)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor once = liana__sample_build(sample, graph, dtype);
    assert_ok(liana_graph_status(graph), &context->error);
    const liana__node *node = liana__tensor_node(once);
    liana_tensor inputs[64];
    assert_compare(node->num_inputs, <=, 64);
    for (uint32_t i = 0; i < node->num_inputs; i++) inputs[i] = liana__node_tensor(graph, node->inputs[i]);
    liana_tensor twice = liana__build(node->where, graph, node->op, inputs, node->num_inputs, node->attributes);
    liana_graph_output(graph, "once", once);
    liana_graph_output(graph, "twice", twice);
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

/* Slices of how many rows, or 0 if the node runs whole. */
static int64_t sliced_rows(const liana_graph *graph, const liana__node *node)
{
    liana__execution_order schedule;
    assert_ok(liana__execution_order_make(graph, context->slice_bytes, &schedule, &context->error), &context->error);
    const liana__segment *segment = liana__execution_order_segment(&schedule, node->id);
    int64_t rows = liana__segment_is_sliced(segment) ? segment->slice_rows : 0;
    liana__execution_order_free(&schedule);
    return rows;
}

static void assert_close(const liana__test_value *got, const liana__test_value *expected, double tolerance,
                         const char *what)
{
    if (!liana__dtype_is_float(got->dtype)) tolerance = 0;
    for (int64_t i = 0; i < liana_shape_size(&got->shape); i++) {
        double a = liana__load(got->data, got->dtype, i), b = liana__load(expected->data, expected->dtype, i);
        bool same = a == b || (a != a && b != b);
        if (same || fabs(a - b) <= tolerance * (1 + fabs(b))) continue;
        fail_msg("%s: element %lld is %.9g in slices, %.9g at once", what, (long long)i, a, b);
    }
}

/* Whichever kernel the slices take. */
static double tolerance_of(const liana__samples *op, const liana__sample *sample)
{
    double most = 1;
    for (const liana__kernel *const *kernel = op->op->kernels; *kernel; kernel++)
        most = fmax(most, (*kernel)->rounding);
    return most * (sample->tolerance > 0 ? sample->tolerance : 2e-5);
}

/* Returns whether it was sliced. */
static bool check_sample(const liana__samples *op, const liana__sample *sample)
{
    liana_graph *graph = build_twice(sample, LIANA_F32);
    bool sliced = sliced_rows(graph, graph->outputs[0].node) > 0;
    if (sliced) {
        char what[160];
        snprintf(what, sizeof what, "%s, sample '%s'", op->op->name, sample->name);
        liana__test_value inputs[64], expected[2], got[2];
        liana__test_draw_inputs(graph, 5, inputs);
        liana__test_run(reference, graph, inputs, expected);
        liana__test_run(cpu, graph, inputs, got);
        for (int i = 0; i < 2; i++) assert_close(&got[i], &expected[i], tolerance_of(op, sample), what);
        liana__test_free_values(inputs, graph->num_inputs);
        liana__test_free_values(expected, 2);
        liana__test_free_values(got, 2);
    }
    liana_graph_destroy(graph);
    return sliced;
}

/* Every op that says how it works in parts must have a sample that runs so; the others must have none. */
static void test_samples_in_slices(void **state)
{
    (void)state;
    context->slice_bytes = 1;
    for (int i = 0; i < NUM_OPS; i++) {
        const liana__samples *op = all_samples[i];
        bool sliced = false;
        for (size_t k = 0; k < op->count; k++) {
            const liana__sample sample = liana__samples_at(op, k);
            sliced = check_sample(op, &sample) || sliced;
        }
        bool can_be = op->op->parts && op->op->placement != LIANA__PLACE_ALIAS;
        if (sliced != can_be) fail_msg("%s: %s", op->op->name, can_be ? "no sample is sliced" : "is sliced");
    }
}

/* ---- a small network's training step ---- */

static liana_tensor normalised(liana_tensor x, liana_tensor gamma, liana_tensor beta)
{
    return liana_op_relu6(liana_op_batch_norm_training(x, gamma, beta, liana_op_batch_norm_statistics(x), 1e-3));
}

static liana_tensor parameter(liana_graph *graph, const char *name, liana_shape shape)
{
    return liana__sample_input(graph, name, LIANA_F32, shape, -1, 1);
}

enum { NUM_PARAMETERS = 5 };

/* Outputs: the loss and its gradients. `rows` images whose mean is far from their deviation. */
static liana_graph *build_network(int64_t rows)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = liana__sample_input(graph, "x", LIANA_F32, liana_shape_of(rows, 9, 7, 3), 90, 92);
    liana_tensor weights[NUM_PARAMETERS] = {parameter(graph, "kernel", liana_shape_of(3, 3, 3, 8)),
                                            parameter(graph, "gamma", liana_shape_of(8)),
                                            parameter(graph, "beta", liana_shape_of(8)),
                                            parameter(graph, "depthwise", liana_shape_of(3, 3, 8, 1)),
                                            parameter(graph, "dense", liana_shape_of(8, 4))};
    liana_tensor y =
        liana_op_conv2d(x, weights[0], (liana_conv_options){.strides = {2, 2}, .padding = LIANA_PADDING_SAME});
    y = normalised(y, weights[1], weights[2]);
    y = liana_op_add(y, liana_op_depthwise_conv2d(y, weights[3], (liana_conv_options){.padding = LIANA_PADDING_SAME}));
    y = normalised(y, weights[1], weights[2]);
    y = liana_op_matmul(liana_op_reduce_mean(y, LIANA_AXES(1, 2), false), weights[4], false, false);
    liana_tensor labels = liana__sample_input(graph, "labels", LIANA_S32, liana_shape_of(rows), 0, 3);
    liana_tensor loss = liana_op_reduce_sum(liana_op_sparse_softmax_cross_entropy(y, labels), LIANA_ALL_AXES, false);
    liana_tensor gradients[NUM_PARAMETERS];
    liana_gradients(loss, weights, NUM_PARAMETERS, gradients);
    liana_graph_output(graph, "loss", loss);
    static const char *const names[NUM_PARAMETERS] = {"d0", "d1", "d2", "d3", "d4"};
    for (int i = 0; i < NUM_PARAMETERS; i++) liana_graph_output(graph, names[i], gradients[i]);
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

static void run_network(const liana_graph *graph, liana__device *device, liana__test_value *outputs)
{
    liana__test_value inputs[16];
    liana__test_draw_inputs(graph, 9, inputs);
    liana__test_run(device, graph, inputs, outputs);
    liana__test_free_values(inputs, graph->num_inputs);
}

static bool same_bits(const liana__test_value *a, const liana__test_value *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (memcmp(a[i].data, b[i].data, liana__byte_size(a[i].dtype, &a[i].shape)) != 0) return false;
    }
    return true;
}

/* Also batches that no slice divides, and slices of all sizes. Left out by name, slices leave no trace. */
static void test_a_training_step_in_slices(void **state)
{
    (void)state;
    static const int64_t batches[] = {1, 2, 7, 12};
    for (int i = 0; i < 4; i++) {
        liana_graph *graph = build_network(batches[i]);
        liana__test_value expected[8], whole[8], got[8], left_out[8];
        context->slice_bytes = 0;
        run_network(graph, reference, expected);
        run_network(graph, cpu, whole);
        for (context->slice_bytes = 1; context->slice_bytes < 1 << 14; context->slice_bytes *= 4) {
            run_network(graph, cpu, got);
            for (int k = 0; k <= NUM_PARAMETERS; k++) {
                assert_close(&got[k], &expected[k], 1e-3, graph->outputs[k].name);
            }
            liana__test_free_values(got, graph->num_outputs);
        }
        context->slice_bytes = 1;
        context->skipped_passes = "slice_batch";
        run_network(graph, cpu, left_out);
        context->skipped_passes = NULL;
        assert_true(same_bits(left_out, whole, graph->num_outputs));
        liana__test_free_values(expected, graph->num_outputs);
        liana__test_free_values(whole, graph->num_outputs);
        liana__test_free_values(left_out, graph->num_outputs);
        liana_graph_destroy(graph);
    }
}

/* The partition of that network: only nodes that need statistics wait for them. */
static void test_segments_end_at_statistics(void **state)
{
    (void)state;
    liana_graph *graph = build_network(12);
    liana__execution_order schedule;
    assert_ok(liana__execution_order_make(graph, 1 << 12, &schedule, &context->error), &context->error);
    const liana__node *conv = NULL, *statistics = NULL, *normal = NULL, *relu = NULL, *depthwise = NULL;
    for (size_t id = graph->num_nodes - 1; id > 0; id--) {
        const liana__node *node = graph->nodes[id];
        if (node->op == &liana__op_conv2d) conv = node;
        if (node->op == &liana__op_batch_norm_statistics) statistics = node;
        if (node->op == &liana__op_batch_norm_training) normal = node;
        if (node->op == &liana__op_relu6) relu = node;
        if (node->op == &liana__op_depthwise_conv2d) depthwise = node;
    }
    assert_int_equal(schedule.segment_of[statistics->id], schedule.segment_of[conv->id]);
    assert_int_equal(schedule.segment_of[normal->id], schedule.segment_of[conv->id] + 1);
    assert_int_equal(schedule.segment_of[depthwise->id], schedule.segment_of[normal->id]);
    assert_int_equal(schedule.segment_of[relu->id], schedule.segment_of[normal->id]);
    assert_compare(liana__segment_num_slices(liana__execution_order_segment(&schedule, conv->id)), >, 1);
    /* The gradient needs both, later. */
    assert_false(schedule.internal[conv->id] || schedule.internal[relu->id]);
    for (size_t i = 0; i < schedule.count; i++) {
        const liana__node *node = graph->nodes[schedule.order[i]];
        for (uint32_t k = 0; k < node->num_inputs; k++) {
            const liana__node *input = node->inputs[k];
            if (input->op->kernels) assert_compare(schedule.position[input->id], <, i);
        }
    }
    liana__execution_order_free(&schedule);
    liana_graph_destroy(graph);
}

/* ---- an update: slices of elements, by all workers ---- */

enum { NUM_ELEMENTS = 6 * 7 * 64, NUM_STATES = 3 };

/* Adam without its corrections; and of a second variable that is too small to be sliced, so that its part runs whole.
 */
static liana_graph *build_update(liana_context *owner)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(owner, &graph), &owner->error);
    liana_tensor rate = liana_graph_input(graph, "rate", LIANA_F32, LIANA_SCALAR);
    liana_tensor decay = liana_graph_scalar(graph, LIANA_F32, 0.9);
    for (int i = 0; i < 2; i++) {
        liana_shape shape = i ? liana_shape_of(5) : liana_shape_of(6, 7, 64);
        char names[NUM_STATES + 1][16];
        for (int k = 0; k <= NUM_STATES; k++) snprintf(names[k], sizeof names[k], "%d/%d", i, k);
        liana_tensor gradient = liana_graph_input(graph, names[NUM_STATES], LIANA_F32, shape);
        liana_tensor v[NUM_STATES];
        for (int k = 0; k < NUM_STATES; k++) v[k] = liana_graph_variable(graph, names[k], LIANA_F32, shape);
        liana_tensor m = liana_op_add(v[1], liana_op_multiply(decay, liana_op_subtract(gradient, v[1])));
        liana_tensor s = liana_op_add(v[2], liana_op_multiply(decay, liana_op_square(gradient)));
        liana_graph_assign(v[1], m);
        liana_graph_assign(v[2], s);
        liana_graph_assign(v[0],
                           liana_op_subtract(v[0], liana_op_divide(liana_op_multiply(rate, m), liana_op_sqrt(s))));
    }
    assert_ok(liana_graph_status(graph), &owner->error);
    return graph;
}

/* The variables after some updates. */
static void run_update(int num_threads, size_t slice_bytes, float *results)
{
    liana_context *owner;
    liana__device *device;
    liana__executable *executable;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = num_threads}, &owner), LIANA_OK);
    owner->slice_bytes = slice_bytes;
    liana__error *error = &owner->error;
    assert_ok(liana__device_open(owner, "cpu", &device, error), error);
    const liana__backend *backend = device->backend;
    liana_graph *graph = build_update(owner);
    assert_ok(backend->compile(device, graph, &executable, error), error);
    liana__buffer *inputs[8], *variables[8];
    float data[NUM_ELEMENTS];
    for (int i = 0; i < NUM_ELEMENTS; i++) data[i] = 0.5f + (float)(i % 97) / 97;
    for (size_t i = 0; i < graph->num_inputs; i++) {
        const liana__node *node = graph->inputs[i];
        assert_ok(liana__host_buffer_create(device, node->dtype, &node->shape, &inputs[i], error), error);
        assert_ok(liana__host_buffer_write(inputs[i], data, error), error);
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        const liana__node *node = graph->variables[i];
        assert_ok(liana__host_buffer_create(device, node->dtype, &node->shape, &variables[i], error), error);
        assert_ok(liana__host_buffer_write(variables[i], data, error), error);
    }
    for (int i = 0; i < 3; i++) {
        assert_ok(liana__cpu_execute_together(executable, inputs, variables, NULL, error), error);
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        assert_ok(backend->download(variables[i], results + i * NUM_ELEMENTS, error), error);
        backend->buffer_destroy(variables[i]);
    }
    for (size_t i = 0; i < graph->num_inputs; i++) backend->buffer_destroy(inputs[i]);
    backend->executable_destroy(executable);
    liana_graph_destroy(graph);
    liana__device_close(device);
    liana_context_destroy(owner);
}

static void test_updates_by_all_workers(void **state)
{
    (void)state;
    liana_graph *graph = build_update(context);
    liana__execution_order schedule;
    assert_ok(liana__execution_order_make(graph, 64 * 100, &schedule, &context->error), &context->error);
    size_t sliced = 0;
    for (size_t i = 0; i < schedule.num_segments; i++) {
        const liana__segment *segment = &schedule.segments[i];
        if (!liana__segment_is_sliced(segment)) continue;
        sliced++;
        assert_true(segment->flat);
        assert_int_equal(segment->slice_rows, 96); /* the largest divisor of the elements up to 100 */
        assert_int_equal(segment->end - segment->begin, 10);
    }
    assert_int_equal(sliced, 1);
    liana__execution_order_free(&schedule);
    liana_graph_destroy(graph);
    static float expected[6 * NUM_ELEMENTS], got[6 * NUM_ELEMENTS];
    run_update(1, 0, expected);
    static const int threads[] = {1, 2, 5};
    for (int i = 0; i < 3; i++) {
        memset(got, 0, sizeof got);
        run_update(threads[i], 64 * 100, got);
        assert_memory_equal(got, expected, sizeof got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_training_step_in_slices),
        cmocka_unit_test(test_segments_end_at_statistics),
        cmocka_unit_test(test_updates_by_all_workers),
        cmocka_unit_test(test_samples_in_slices),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
