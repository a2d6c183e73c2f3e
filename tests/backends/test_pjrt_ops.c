/* Generated from the samples of each op: the PJRT plugin for CPUs against the reference, in each dtype, and gradients.
 * */
#include "harness/harness.h"

#include "base/memory.h"
#include "harness/graph_run.h"
#include "harness/pjrt_plugin.h"
#include "ops/samples.h"
#include "stablehlo/lowering.h"

#include <math.h>
#include <string.h>

static const liana__samples *const all_samples[] = {
#define LIANA__OP(stem, name) &liana__samples_##name,
#include "ops/ops.def"
#undef LIANA__OP
};
enum { NUM_OPS = sizeof all_samples / sizeof *all_samples };

static liana_context *context;
static liana__device *reference, *plugin;

/* Without the plugin there is nothing to test; the tests say so. */
static int set_up(void **state)
{
    (void)state;
    if (liana__test_open_devices(0, &context, NULL, &reference) != 0) return -1;
    if (!liana__test_plugin_is_there()) return 0;
    const char *name = liana__test_plugin_device("?cpu_device_count=1");
    return liana__device_open(context, name, &plugin, &context->error) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, plugin, reference);
}

/* Half a unit in the last place for each rounding, and the error of sums in float. Two samples need more:
 *   - this plugin adds the products of a depthwise kernel's gradient one by one in f32, ten thousand in the largest;
 *   - normalised values of about 10000 inherit the last place of their mean in f32, 1e-3, divided by the deviation. */
static double tolerance_of(const liana__samples *op, const liana__sample *sample, liana_dtype dtype)
{
    double tolerance = sample->tolerance > 0 ? sample->tolerance : 2e-5;
    if (op == &liana__samples_depthwise_conv2d_kernel_gradient) tolerance *= 4;
    if (op == &liana__samples_batch_norm_training && strcmp(sample->name, "far") == 0) tolerance = 2e-3;
    if (!liana__dtype_is_float(dtype)) return 0;
    if (dtype == LIANA_F64) return tolerance * 0x1p-24;
    return dtype == LIANA_BF16 ? tolerance + 0x1p-7 : dtype == LIANA_F16 ? tolerance + 0x1p-10 : tolerance;
}

static void compare(const liana__samples *op, const liana__sample *sample, const liana__node *node,
                    const liana__test_value *got, const liana__test_value *expected)
{
    const double tolerance = tolerance_of(op, sample, node->dtype);
    const bool part = node->op == op->op && op->op->continuous;
    const int64_t count = part ? op->op->continuous(node) : liana_shape_size(&node->shape);
    for (int64_t i = 0; i < count; i++) {
        double a = liana__load(got->data, node->dtype, i), b = liana__load(expected->data, node->dtype, i);
        bool same = a == b || (a != a && b != b);
        if (same || fabs(a - b) <= tolerance * (1 + fabs(b))) continue;
        fail_msg("%s, sample '%s', %s: element %lld of %s is %.9g, the reference says %.9g", op->op->name, sample->name,
                 liana_dtype_name(node->dtype), (long long)i, liana__node_print(node).text, a, b);
    }
}

/* Runs a graph on both devices. Graphs that have failed are of dtypes that the op does not take. */
static void check_graph(const liana__samples *op, const liana__sample *sample, liana_graph *graph)
{
    if (liana_graph_status(graph) == LIANA_OK) {
        liana__test_value inputs[64], got[64], expected[64];
        liana__test_draw_inputs(graph, 13, inputs);
        liana__test_run(reference, graph, inputs, expected);
        liana__test_run(plugin, graph, inputs, got);
        for (size_t i = 0; i < graph->num_outputs; i++) {
            compare(op, sample, graph->outputs[i].node, &got[i], &expected[i]);
        }
        liana__test_free_values(got, graph->num_outputs);
        liana__test_free_values(expected, graph->num_outputs);
        liana__test_free_values(inputs, graph->num_inputs);
    }
    liana_graph_destroy(graph);
}

/* Not of a graph that is the same for all dtypes. */
static bool has_dtype(const liana_graph *graph, liana_dtype dtype)
{
    for (size_t i = 1; i < graph->num_nodes; i++) {
        if (graph->nodes[i]->dtype == dtype) return true;
    }
    return false;
}

static void check_forward(const liana__samples *op, const liana__sample *sample, liana_dtype dtype)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_graph_output(graph, "y", liana__sample_build(sample, graph, dtype));
    if (dtype == LIANA_F32 || has_dtype(graph, dtype)) {
        check_graph(op, sample, graph);
    } else {
        liana_graph_destroy(graph);
    }
}

/* The gradient of a sum of squares with regard to all f32 inputs. */
static void check_gradient(const liana__samples *op, const liana__sample *sample)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor y = liana__sample_build(sample, graph, LIANA_F32), wrt[16], gradients[16];
    size_t count = 0;
    for (size_t i = 0; i < graph->num_inputs; i++) {
        if (graph->inputs[i]->dtype == LIANA_F32) wrt[count++] = liana__node_tensor(graph, graph->inputs[i]);
    }
    if (count == 0 || liana_tensor_dtype(y) != LIANA_F32) {
        liana_graph_destroy(graph);
        return;
    }
    liana_tensor loss = liana_op_reduce_mean(liana_op_multiply(y, y), LIANA_ALL_AXES, false);
    liana_gradients(loss, wrt, count, gradients);
    for (size_t i = 0; i < count; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        liana_graph_output(graph, name, gradients[i]);
    }
    check_graph(op, sample, graph);
}

static void test_op(void **state)
{
    const liana__samples *op = *state;
    if (!plugin) skip();
    if (op->op->lower == liana__lower_cpu_only) return;
    for (size_t i = 0; i < op->count; i++) {
        const liana__sample sample = liana__samples_at(op, i);
        for (int dtype = 0; dtype < LIANA_NUM_DTYPES; dtype++) check_forward(op, &sample, (liana_dtype)dtype);
        if (op->op->gradient && op->op->gradient != liana__no_gradient) check_gradient(op, &sample);
    }
}

/* Everything that was made for all of them is freed. */
static void test_nothing_is_left(void **state)
{
    (void)state;
    if (!plugin) skip();
    const counting_plugin_state *counted = liana__test_plugin_state();
    assert_string_equal(counted->wrong, "");
    assert_compare(counted->made[COUNTED_BUFFERS], >, 1000);
    for (int kind = COUNTED_PROGRAMS; kind < NUM_COUNTED; kind++) {
        assert_compare(counted->made[kind], ==, counted->freed[kind], kind);
    }
}

int main(void)
{
    struct CMUnitTest tests[NUM_OPS + 1];
    for (size_t i = 0; i < NUM_OPS; i++) {
        tests[i] = (struct CMUnitTest){all_samples[i]->op->name, test_op, NULL, NULL, (void *)all_samples[i]};
    }
    tests[NUM_OPS] = (struct CMUnitTest)cmocka_unit_test(test_nothing_is_left);
    return cmocka_run_group_tests_name("pjrt_ops", tests, set_up, tear_down);
}
