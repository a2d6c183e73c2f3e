/* Tensors that are not kept from the forward to the backward part in any case, with any memory: large kernels in bf16,
 * which are rounded once more, and results that are large for little work (recompute_light). */
#include "harness/harness.h"

#include "harness/graph_run.h"

#include "backends/cpu/cpu.h"
#include "backends/host.h"
#include "base/random.h"
#include "ops/samples.h"
#include "passes/pass.h"
#include "plan/recompute.h"

#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana__device *cpu;

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(2, &context, &cpu, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, cpu, NULL);
}

enum { MOST_WEIGHTS = 16 };

typedef struct network {
    liana_graph *graph;
    liana_tensor weights[MOST_WEIGHTS];
    size_t num_weights;
} network;

static liana_tensor convolve(network *net, liana_tensor x, int64_t size, int64_t filters)
{
    char name[32];
    snprintf(name, sizeof name, "w%zu", net->num_weights);
    liana_shape shape = liana_shape_of(size, size, liana_tensor_shape(x).dims[3], filters);
    liana_tensor kernel = liana_graph_variable(net->graph, name, LIANA_F32, shape);
    net->weights[net->num_weights++] = kernel;
    return liana_op_conv2d(x, kernel, (liana_conv_options){.padding = LIANA_PADDING_SAME});
}

static void finish(network *net, liana_tensor x)
{
    liana_tensor gradients[MOST_WEIGHTS], loss = liana_op_reduce_sum(liana_op_square(x), LIANA_ALL_AXES, false);
    liana_gradients(loss, net->weights, net->num_weights, gradients);
    liana_graph_output(net->graph, "loss", loss);
    for (size_t i = 0; i < net->num_weights; i++) {
        char name[32];
        snprintf(name, sizeof name, "d%zu", i);
        liana_graph_output(net->graph, name, gradients[i]);
    }
    assert_ok(liana_graph_status(net->graph), &context->error);
}

static liana__cpu_executable *compile(const liana_graph *graph, const char *skipped)
{
    liana__executable *executable;
    context->skipped_passes = skipped;
    assert_ok(cpu->backend->compile(cpu, graph, &executable, &context->error), &context->error);
    context->skipped_passes = NULL;
    return (liana__cpu_executable *)executable;
}

/* ---- large kernels in bf16 ---- */

enum { WIDE = 512, NARROW = 16, KERNEL = WIDE * WIDE };

/* 1x1 kernels of NARROW x WIDE, WIDE x WIDE twice, WIDE x NARROW. */
static void build_wide_network(network *net, bool trains)
{
    *net = (network){0};
    assert_ok(liana_graph_create(context, &net->graph), &context->error);
    net->graph->mixed_precision = true;
    liana_tensor x = liana__sample_input(net->graph, "x", LIANA_F32, liana_shape_of(2, 3, 3, NARROW), -1, 1);
    x = liana_op_relu(convolve(net, x, 1, WIDE));
    x = liana_op_relu(convolve(net, x, 1, WIDE));
    x = liana_op_relu(convolve(net, x, 1, WIDE));
    x = convolve(net, x, 1, NARROW);
    if (trains) {
        finish(net, x);
    } else {
        liana_graph_output(net->graph, "y", x);
        assert_ok(liana_graph_status(net->graph), &context->error);
    }
}

static void write_draws(liana__buffer *buffer, uint64_t seed)
{
    float *values = malloc(buffer->size);
    assert_non_null(values);
    liana__philox_key key = liana__philox_make_key(seed, LIANA__STREAM_TEST, 0);
    for (size_t i = 0; i < buffer->size / sizeof *values; i++) {
        uint32_t words[4];
        liana__philox(key, (uint32_t[4]){(uint32_t)i, 0, 0, 0}, words);
        values[i] = ((float)(words[0] >> 8) / (1 << 23) - 1) / 16;
    }
    assert_ok(liana__host_buffer_write(buffer, values, &context->error), &context->error);
    free(values);
}

static liana__buffer *new_buffer(const liana__node *node)
{
    liana__buffer *buffer;
    assert_ok(liana__host_buffer_create(cpu, node->dtype, &node->shape, &buffer, &context->error), &context->error);
    return buffer;
}

/* Runs twice, with other weights the second time, and gives the second run's outputs, one after the other. */
static char *run_twice(liana__cpu_executable *executable, const liana_graph *graph, size_t *size)
{
    liana__buffer *input = new_buffer(graph->inputs[0]), *variables[MOST_WEIGHTS], *outputs[MOST_WEIGHTS + 1];
    write_draws(input, 99);
    for (size_t i = 0; i < graph->num_variables; i++) variables[i] = new_buffer(graph->variables[i]);
    for (size_t i = 0; i < graph->num_outputs; i++) outputs[i] = new_buffer(graph->outputs[i].node);
    for (uint64_t run = 0; run < 2; run++) {
        for (size_t i = 0; i < graph->num_variables; i++) write_draws(variables[i], 10 * run + i);
        assert_ok(liana__cpu_execute(&executable->base, 0, &input, variables, outputs, &context->error),
                  &context->error);
    }
    *size = 0;
    for (size_t i = 0; i < graph->num_outputs; i++) *size += outputs[i]->size;
    char *all = malloc(*size), *at = all;
    assert_non_null(all);
    for (size_t i = 0; i < graph->num_outputs; i++) {
        assert_ok(cpu->backend->download(outputs[i], at, &context->error), &context->error);
        at += outputs[i]->size;
    }
    cpu->backend->buffer_destroy(input);
    for (size_t i = 0; i < graph->num_variables; i++) cpu->backend->buffer_destroy(variables[i]);
    for (size_t i = 0; i < graph->num_outputs; i++) cpu->backend->buffer_destroy(outputs[i]);
    return all;
}

/* Casts of WIDE x WIDE kernels, and the nodes that read those in the part where they are not. */
static void count_casts(const liana_graph *graph, int *casts, int *across)
{
    bool *needed = calloc(graph->num_nodes, sizeof *needed);
    assert_non_null(needed);
    liana__graph_mark_needed(graph, needed);
    *casts = *across = 0;
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        if (!needed[id]) continue;
        *casts += node->op == &liana__op_cast && liana_shape_size(&node->shape) == KERNEL;
        for (uint32_t i = 0; i < node->num_inputs; i++) {
            const liana__node *input = node->inputs[i];
            bool is_cast = input->op == &liana__op_cast && liana_shape_size(&input->shape) == KERNEL;
            *across += is_cast && input->id < graph->first_gradient && id >= graph->first_gradient;
        }
    }
    free(needed);
}

static void test_large_kernels_are_rounded_for_either_part(void **state)
{
    (void)state;
    network net;
    build_wide_network(&net, true);
    liana__cpu_executable *twice = compile(net.graph, NULL), *once = compile(net.graph, "recompute_cheap");
    int casts, across;
    count_casts(once->graph, &casts, &across);
    assert_int_equal(casts, 2);
    assert_int_equal(across, 2);
    count_casts(twice->graph, &casts, &across);
    assert_int_equal(casts, 4);
    assert_int_equal(across, 0);
    /* The two small kernels are kept between executions. */
    assert_int_equal(twice->kept.size, 2 * NARROW * WIDE * sizeof(uint16_t));
    size_t size, same_size;
    char *got = run_twice(twice, net.graph, &size), *expected = run_twice(once, net.graph, &same_size);
    assert_int_equal(size, same_size);
    assert_memory_equal(got, expected, size);
    free(got);
    free(expected);
    cpu->backend->executable_destroy(&twice->base);
    cpu->backend->executable_destroy(&once->base);
    liana_graph_destroy(net.graph);
}

static void test_inference_keeps_all_kernels(void **state)
{
    (void)state;
    network net;
    build_wide_network(&net, false);
    liana__cpu_executable *executable = compile(net.graph, NULL);
    assert_compare(executable->kept.size, >=, (2 * KERNEL + 2 * NARROW * WIDE) * sizeof(uint16_t));
    cpu->backend->executable_destroy(&executable->base);
    liana_graph_destroy(net.graph);
}

/* ---- results that are large for little work ---- */

enum { CHANNELS = 16, EXPANDED = 128, HEAVY = 12 };

/* Each node is a segment: convolutions without statistics behind them would share one, and run again together. */
#define WHOLE "slice_batch"

/* 7x7 convolutions with an expansion of few channels to many among them. */
static void build_expansion(network *net, int64_t rows, int64_t side)
{
    *net = (network){0};
    assert_ok(liana_graph_create(context, &net->graph), &context->error);
    liana_shape shape = liana_shape_of(rows, side, side, CHANNELS);
    liana_tensor x = liana__sample_input(net->graph, "x", LIANA_F32, shape, -1, 1);
    for (int i = 0; i < HEAVY; i++) {
        x = liana_op_relu(convolve(net, x, 7, 2 * CHANNELS));
        if (i != 2) continue;
        x = convolve(net, liana_op_relu(convolve(net, x, 1, CHANNELS)), 1, EXPANDED);
        x = convolve(net, x, 1, CHANNELS);
    }
    finish(net, x);
}

/* Forward nodes of a graph with `channels` channels that the backward part reads. */
static int count_kept(const liana_graph *graph, int64_t channels)
{
    bool *kept = calloc(graph->num_nodes, sizeof *kept);
    assert_non_null(kept);
    int count = 0;
    for (size_t id = graph->first_gradient; id < graph->num_nodes; id++) {
        for (uint32_t i = 0; i < graph->nodes[id]->num_inputs; i++) {
            const liana__node *input = graph->nodes[id]->inputs[i];
            bool counts = input->id < graph->first_gradient && input->shape.rank == 4 && input->shape.dims[1] > 1 &&
                          input->shape.dims[3] == channels && !kept[input->id];
            kept[input->id] = true;
            count += counts;
        }
    }
    free(kept);
    return count;
}

static double flops_of(const liana__execution_order *schedule, const liana_graph *graph)
{
    double flops = 0;
    for (size_t i = 0; i < schedule->count; i++) flops += liana__node_cost(graph->nodes[schedule->order[i]]).flops;
    return flops;
}

static void test_what_is_large_for_little_work_runs_again(void **state)
{
    (void)state;
    network net;
    build_expansion(&net, 4, 32);
    liana__execution_order schedule;
    assert_ok(liana__execution_order_make(net.graph, 0, &schedule, &context->error), &context->error);
    assert_compare(count_kept(net.graph, EXPANDED), >, 0);
    liana__recomputation made;
    assert_ok(liana__recompute_light(net.graph, &schedule, NULL, &made, &context->error), &context->error);
    assert_non_null(made.graph);
    assert_ok(liana__graph_verify(made.graph, &context->error), &context->error);
    /* The expansion alone, no convolution of 7x7. */
    assert_int_equal(made.num_segments, 1);
    assert_int_equal(count_kept(made.graph, EXPANDED), 0);
    assert_int_equal(count_kept(made.graph, 2 * CHANNELS), count_kept(net.graph, 2 * CHANNELS));
    assert_compare(made.flops, >, 0);
    assert_compare(made.flops, <, flops_of(&schedule, net.graph) / 80);
    liana__recomputation_free(&made);
    liana__execution_order_free(&schedule);
    liana_graph_destroy(net.graph);
}

/* Convolutions alike: nothing gives much memory for little work. */
static void test_what_is_dear_is_kept(void **state)
{
    (void)state;
    network net = {0};
    assert_ok(liana_graph_create(context, &net.graph), &context->error);
    liana_tensor x = liana__sample_input(net.graph, "x", LIANA_F32, liana_shape_of(4, 32, 32, CHANNELS), -1, 1);
    for (int i = 0; i < HEAVY; i++) x = liana_op_relu(convolve(&net, x, 3, CHANNELS));
    finish(&net, x);
    liana__execution_order schedule;
    assert_ok(liana__execution_order_make(net.graph, 0, &schedule, &context->error), &context->error);
    liana__recomputation made;
    assert_ok(liana__recompute_light(net.graph, &schedule, NULL, &made, &context->error), &context->error);
    assert_null(made.graph);
    liana__recomputation_free(&made);
    liana__execution_order_free(&schedule);
    liana_graph_destroy(net.graph);
}

/* The backend does so where a worker's tensors take much, unless the pass is left out or a limit leaves no choice. */
static void test_backend_recomputes_where_tensors_take_much(void **state)
{
    (void)state;
    network net;
    build_expansion(&net, 8, 96);
    liana__cpu_executable *light = compile(net.graph, WHOLE), *plain = compile(net.graph, WHOLE ",recompute_light");
    size_t expanded = sizeof(float) * 8 * 96 * 96 * EXPANDED, without = plain->plan.workspace_size;
    assert_compare(light->plan.workspace_size + expanded / 2, <, without);
    assert_int_equal(light->base.recomputed.num_segments, 0);
    cpu->memory_limit = atomic_load(&cpu->bytes_held) + 2 * (light->base.workspace_size - (4 << 20));
    liana__cpu_executable *limited = compile(net.graph, WHOLE);
    assert_compare(limited->base.workspace_size, <=, light->base.workspace_size - (4 << 20));
    assert_compare(limited->base.recomputed.num_segments, >, 0);
    assert_int_equal(limited->base.recomputed.workspace_before, light->base.workspace_size);
    cpu->memory_limit = 0;
    cpu->backend->executable_destroy(&limited->base);
    cpu->backend->executable_destroy(&light->base);
    cpu->backend->executable_destroy(&plain->base);
    liana_graph_destroy(net.graph);
    build_expansion(&net, 1, 96);
    light = compile(net.graph, WHOLE);
    plain = compile(net.graph, WHOLE ",recompute_light");
    assert_int_equal(light->plan.workspace_size, plain->plan.workspace_size);
    cpu->backend->executable_destroy(&light->base);
    cpu->backend->executable_destroy(&plain->base);
    liana_graph_destroy(net.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_kernels_are_rounded_for_either_part),
        cmocka_unit_test(test_inference_keeps_all_kernels),
        cmocka_unit_test(test_what_is_large_for_little_work_runs_again),
        cmocka_unit_test(test_what_is_dear_is_kept),
        cmocka_unit_test(test_backend_recomputes_where_tensors_take_much),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
