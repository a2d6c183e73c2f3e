/* recompute_cheap: the same bits with less memory, and nothing cheap kept from the forward part. */
#include "harness/harness.h"

#include "harness/graph_run.h"
#include "ops/samples.h"
#include "passes/pass.h"
#include "plan/memory_plan.h"

#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana__device *cpu;

static int set_up(void **state)
{
    (void)state;
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) return -1;
    context->skipped_passes = "slice_batch";
    return liana__device_open(context, "cpu", &cpu, &context->error) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana__device_close(cpu);
    liana_context_destroy(context);
    return 0;
}

typedef struct network {
    liana_graph *graph;
    liana_tensor weights[32], gradients[32];
    size_t num_weights;
} network;

static liana_tensor weight(network *net, liana_shape shape, double low, double high)
{
    char name[32];
    snprintf(name, sizeof name, "w%zu", net->num_weights);
    return net->weights[net->num_weights++] = liana__sample_input(net->graph, name, LIANA_F32, shape, low, high);
}

static liana_tensor normalise(network *net, liana_tensor x)
{
    int64_t channels = liana_tensor_shape(x).dims[3];
    liana_tensor gamma = weight(net, liana_shape_of(channels), 0.5, 1),
                 beta = weight(net, liana_shape_of(channels), 0, 1);
    return liana_op_batch_norm_training(x, gamma, beta, liana_op_batch_norm_statistics(x), 1e-3);
}

static liana_tensor convolve(network *net, liana_tensor x, int64_t size, int64_t filters)
{
    int64_t channels = liana_tensor_shape(x).dims[3];
    liana_tensor kernel = weight(net, liana_shape_of(size, size, channels, filters), -0.3, 0.3);
    return liana_op_conv2d(x, kernel, (liana_conv_options){.padding = LIANA_PADDING_SAME});
}

/* A loss of x, and its gradients by all weights. */
static void finish(network *net, liana_tensor x)
{
    liana_tensor loss = liana_op_reduce_sum(liana_op_square(x), LIANA_ALL_AXES, false);
    liana_gradients(loss, net->weights, net->num_weights, net->gradients);
    liana_graph_output(net->graph, "loss", loss);
    for (size_t i = 0; i < net->num_weights; i++) {
        char name[32];
        snprintf(name, sizeof name, "d%zu", i);
        liana_graph_output(net->graph, name, net->gradients[i]);
    }
    assert_ok(liana_graph_status(net->graph), &context->error);
}

/* A dense block, as in a DenseNet: each layer reads the results of all before it, one after the other in channels. */
static void build_dense_block(network *net, int layers)
{
    *net = (network){0};
    assert_ok(liana_graph_create(context, &net->graph), &context->error);
    liana_tensor images = liana__sample_input(net->graph, "images", LIANA_F32, liana_shape_of(6, 8, 8, 3), -1, 1);
    liana_tensor x = convolve(net, images, 3, 16);
    for (int i = 0; i < layers; i++) {
        liana_tensor y = convolve(net, liana_op_relu(normalise(net, x)), 3, 8);
        x = liana_op_concat(((liana_tensor[]){x, y}), 2, 3);
    }
    finish(net, x);
}

/* Blocks of two convolutions with a way around them, as in a ResNet; the first two tensors are an input's cast and
 * scaling. */
static void build_network(network *net, int blocks)
{
    *net = (network){0};
    assert_ok(liana_graph_create(context, &net->graph), &context->error);
    liana_tensor images = liana__sample_input(net->graph, "images", LIANA_U8, liana_shape_of(6, 8, 8, 3), 0, 255);
    liana_tensor x = liana_op_cast(images, LIANA_F32);
    x = liana_op_multiply(x, liana_graph_scalar(net->graph, LIANA_F32, 1.0 / 128));
    x = liana_op_relu6(normalise(net, convolve(net, x, 3, 16)));
    for (int i = 0; i < blocks; i++) {
        liana_tensor y = liana_op_relu(normalise(net, convolve(net, x, 1, 16)));
        x = liana_op_relu(liana_op_add(normalise(net, convolve(net, y, 3, 16)), x));
    }
    finish(net, x);
}

static void run(const liana_graph *graph, liana__test_value *outputs)
{
    liana__test_value inputs[64];
    liana__test_draw_inputs(graph, 3, inputs);
    liana__test_run(cpu, graph, inputs, outputs);
    liana__test_free_values(inputs, graph->num_inputs);
}

static void check_same_bits(const liana_graph *graph)
{
    liana__test_value kept[64], again[64];
    context->skipped_passes = "slice_batch,recompute_cheap";
    run(graph, kept);
    context->skipped_passes = "slice_batch";
    run(graph, again);
    for (size_t i = 0; i < graph->num_outputs; i++) {
        assert_memory_equal(kept[i].data, again[i].data, liana__byte_size(kept[i].dtype, &kept[i].shape));
    }
    liana__test_free_values(kept, graph->num_outputs);
    liana__test_free_values(again, graph->num_outputs);
}

static void test_results_are_the_same_bits(void **state)
{
    (void)state;
    for (int blocks = 0; blocks < 5; blocks++) {
        network net;
        build_network(&net, blocks);
        check_same_bits(net.graph);
        liana_graph_destroy(net.graph);
        build_dense_block(&net, 2 * blocks);
        check_same_bits(net.graph);
        liana_graph_destroy(net.graph);
    }
}

static size_t workspace_of(const liana_graph *graph)
{
    liana__execution_order schedule;
    liana__memory_plan plan;
    assert_ok(liana__execution_order_make(graph, 0, &schedule, &context->error), &context->error);
    assert_ok(liana__memory_plan_make(graph, &schedule, true, NULL, &plan, &context->error), &context->error);
    size_t size = plan.workspace_size;
    liana__memory_plan_free(&plan);
    liana__execution_order_free(&schedule);
    return size;
}

/* Large tensors of an op that the forward part makes and the backward part reads. */
static int count_kept(const liana_graph *graph, const liana__op *op)
{
    bool *kept = calloc(graph->num_nodes, sizeof *kept), *needed = calloc(graph->num_nodes, sizeof *needed);
    assert_true(kept && needed);
    liana__graph_mark_needed(graph, needed);
    int count = 0;
    for (size_t id = graph->first_gradient; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        for (uint32_t i = 0; needed[id] && i < node->num_inputs; i++) {
            const liana__node *input = node->inputs[i];
            bool counts =
                input->op == op && input->id < graph->first_gradient && liana_shape_size(&input->shape) > 1000;
            count += counts && !kept[input->id];
            kept[input->id] = true;
        }
    }
    free(kept);
    free(needed);
    return count;
}

static void test_only_what_is_dear_is_kept(void **state)
{
    (void)state;
    enum { BLOCKS = 4 };
    network net;
    build_network(&net, BLOCKS);
    liana_graph *again;
    assert_ok(liana__pass_run(&liana__pass_recompute_cheap, net.graph, &again, &context->error), &context->error);
    assert_ok(liana__graph_verify(again, &context->error), &context->error);
    assert_compare(again->first_gradient, >, 0);
    assert_compare(again->first_gradient, <, again->num_nodes);
    assert_int_equal(count_kept(net.graph, &liana__op_relu), 2 * BLOCKS);
    assert_int_equal(count_kept(net.graph, &liana__op_relu6), 1);
    assert_int_equal(count_kept(net.graph, &liana__op_multiply), 1);
    /* A block's result is computed from the one before, which then has to be there: two of four are kept. */
    assert_compare(count_kept(again, &liana__op_relu), <=, BLOCKS / 2);
    assert_int_equal(count_kept(again, &liana__op_relu6), 0);
    assert_int_equal(count_kept(again, &liana__op_multiply), 0);
    assert_int_equal(count_kept(again, &liana__op_batch_norm_training), 0);
    assert_int_equal(count_kept(again, &liana__op_conv2d), 1 + 2 * BLOCKS);
    assert_compare(workspace_of(again) * 4, <, workspace_of(net.graph) * 3);
    liana_graph_destroy(again);
    liana_graph_destroy(net.graph);
}

/* Of a dense block the layers' results are kept, and nothing that is made of them by copying. */
static void test_concatenations_are_made_again_of_their_pieces(void **state)
{
    (void)state;
    enum { LAYERS = 8 };
    network net;
    build_dense_block(&net, LAYERS);
    liana_graph *again;
    assert_ok(liana__pass_run(&liana__pass_recompute_cheap, net.graph, &again, &context->error), &context->error);
    assert_ok(liana__graph_verify(again, &context->error), &context->error);
    assert_int_equal(count_kept(net.graph, &liana__op_concat), LAYERS);
    assert_int_equal(count_kept(again, &liana__op_concat), 0);
    assert_int_equal(count_kept(again, &liana__op_conv2d), 1 + LAYERS);
    assert_compare(workspace_of(again) * 2, <, workspace_of(net.graph));
    liana_graph_destroy(again);
    liana_graph_destroy(net.graph);
}

/* Two tensors side by side are as large as their concatenation: nothing is gained by keeping them instead. */
static void test_a_lone_concatenation_is_kept(void **state)
{
    (void)state;
    network net = {0};
    assert_ok(liana_graph_create(context, &net.graph), &context->error);
    liana_tensor x = liana__sample_input(net.graph, "x", LIANA_F32, liana_shape_of(6, 8, 8, 8), -1, 1);
    liana_tensor both[2] = {convolve(&net, x, 3, 8), convolve(&net, x, 1, 8)};
    finish(&net, convolve(&net, liana_op_concat(both, 2, 3), 3, 8));
    liana_graph *again;
    assert_ok(liana__pass_run(&liana__pass_recompute_cheap, net.graph, &again, &context->error), &context->error);
    assert_int_equal(count_kept(again, &liana__op_concat), 1);
    liana_graph_destroy(again);
    liana_graph_destroy(net.graph);
}

/* Without a gradient there is nothing to compute again, and a way around does not count as one. */
static void test_inference_stays_as_it_is(void **state)
{
    (void)state;
    liana_graph *graph, *after;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor x = liana_op_relu(liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(4, 1000)));
    liana_tensor y = x;
    for (int i = 0; i < 50; i++) y = liana_op_tanh(y);
    liana_graph_output(graph, "y", liana_op_add(x, y));
    assert_ok(liana__pass_run(&liana__pass_recompute_cheap, graph, &after, &context->error), &context->error);
    assert_int_equal(after->num_nodes, graph->num_nodes);
    liana_graph_destroy(after);
    liana_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_are_the_same_bits),
        cmocka_unit_test(test_only_what_is_dear_is_kept),
        cmocka_unit_test(test_concatenations_are_made_again_of_their_pieces),
        cmocka_unit_test(test_a_lone_concatenation_is_kept),
        cmocka_unit_test(test_inference_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
