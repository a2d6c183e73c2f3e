/* Graphs: building, errors, printing, differentiation, planning and execution. */
#include "harness/harness.h"

#include "backends/cpu/cpu.h"
#include "backends/host.h"
#include "harness/graph_run.h"
#include "harness/one_context.h"
#include "ops/gradients.h"
#include "ops/ops.h"
#include "plan/memory_plan.h"

#include <stdlib.h>

static liana_graph *new_graph(void)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    return graph;
}

static void test_first_error_sticks_with_the_callers_line(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor a = liana_graph_input(graph, "a", LIANA_F32, liana_shape_of(2, 3));
    liana_tensor b = liana_graph_input(graph, "b", LIANA_F32, liana_shape_of(4));
    int line = __LINE__ + 1;
    liana_tensor bad = liana_op_add(a, b);
    liana_tensor later = liana_op_matmul(bad, liana_op_exp(b), false, false);
    assert_int_equal(bad.id, 0);
    assert_int_equal(later.id, 0);
    char place[32];
    snprintf(place, sizeof place, "test_graph.c:%d", line);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, place, "add(f32[2, 3], f32[4])",
                 "[2, 3]", "[4]", "broadcast");
    liana_graph_destroy(graph);
}

static void test_errors_name_what_was_found_and_expected(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor a = liana_graph_input(graph, "a", LIANA_F32, liana_shape_of(2, 3));
    liana_op_matmul(a, a, false, false);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "matmul(f32[2, 3], f32[2, 3])",
                 "3 columns", "2 rows");
    liana_graph_destroy(graph);

    graph = new_graph();
    a = liana_graph_input(graph, "a", LIANA_F32, liana_shape_of(2, 3));
    liana_op_reduce_sum(a, LIANA_AXES(2), false);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "axis 2 is out of range",
                 "-2 to 1");
    liana_graph_destroy(graph);

    graph = new_graph();
    liana_graph_input(graph, "a", LIANA_F32, liana_shape_of(2, 0));
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "input 'a'", "[2, 0]",
                 "at least 1");
    liana_graph_destroy(graph);

    graph = new_graph();
    a = liana_graph_input(graph, "a", LIANA_U8, liana_shape_of(2));
    liana_op_exp(a);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "exp", "u8", "liana_op_cast");
    liana_graph_destroy(graph);

    graph = new_graph();
    liana_graph_variable(graph, "w", LIANA_F32, liana_shape_of(2));
    liana_graph_variable(graph, "w", LIANA_F32, liana_shape_of(3));
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "variable 'w'", "f32[3]",
                 "f32[2]");
    liana_graph_destroy(graph);
}

static void test_text_and_dot_show_the_graph(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(2, 3));
    liana_tensor w = liana_graph_variable(graph, "w", LIANA_F32, liana_shape_of(3, 1));
    liana_tensor y = liana_op_matmul(x, w, false, false);
    liana_graph_output(graph, "y", y);
    liana_graph_assign(w, liana_op_negate(w));
    char *text = liana_graph_text(graph), *dot = liana_graph_dot(graph);
    assert_string_equal(text,
                        "%1 = input \"x\" : f32[2, 3]\n"
                        "%2 = variable \"w\" : f32[3, 1]\n"
                        "%3 = matmul %1, %2 {transpose_a = false, transpose_b = false, wide = false} : f32[2, 1]\n"
                        "%4 = negate %2 : f32[3, 1]\n"
                        "output \"y\" %3\n"
                        "assign \"w\" %4\n");
    assert_says(dot, "n1 -> n3;");
    assert_says(dot, "input \\\"x\\\"");
    free(text);
    free(dot);
    liana_graph_destroy(graph);
}

static void test_gradient_of_what_does_not_matter_is_zero(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(2));
    liana_tensor unused = liana_graph_input(graph, "unused", LIANA_F32, liana_shape_of(3));
    liana_tensor narrow = liana_op_cast(liana_op_cast(x, LIANA_BF16), LIANA_F32);
    liana_tensor wrt[2] = {x, unused}, gradients[2];
    liana_gradients(liana_op_multiply(narrow, liana_graph_scalar(graph, LIANA_F32, 3)), wrt, 2, gradients);
    liana_graph_output(graph, "dx", gradients[0]);
    liana_graph_output(graph, "dunused", gradients[1]);
    assert_ok(liana_graph_status(graph), &context->error);
    liana__device *device;
    assert_ok(liana__device_open(context, "reference", &device, &context->error), &context->error);
    liana__test_value inputs[2], outputs[2];
    liana__test_draw_inputs(graph, 1, inputs);
    liana__test_run(device, graph, inputs, outputs);
    for (int i = 0; i < 2; i++) assert_compare(((float *)outputs[0].data)[i], ==, 3, i);
    for (int i = 0; i < 3; i++) assert_compare(((float *)outputs[1].data)[i], ==, 0, i);
    liana__test_free_values(inputs, 2);
    liana__test_free_values(outputs, 2);
    liana__device_close(device);
    liana_graph_destroy(graph);
}

static void test_gradient_errors(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor x = liana_graph_input(graph, "x", LIANA_S32, liana_shape_of(2)), gradient;
    liana_gradients(x, &x, 1, &gradient);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "target", "s32");
    liana_graph_destroy(graph);
}

/* A small network with all kinds of placement: aliases, in-place chains, fan-out, a result that is an input, one that
 * is an alias, and a variable that is read after the node that replaces it. */
static liana_graph *busy_graph(void)
{
    liana_graph *graph = new_graph();
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(6, 5));
    liana_tensor w = liana_graph_variable(graph, "w", LIANA_F32, liana_shape_of(5, 4));
    liana_tensor b = liana_graph_variable(graph, "b", LIANA_F32, liana_shape_of(4));
    liana_tensor hidden = liana_op_tanh(liana_op_add(liana_op_matmul(x, w, false, false), b));
    liana_tensor flat = liana_op_reshape(hidden, liana_shape_of(24));
    liana_tensor loss =
        liana_op_reduce_mean(liana_op_square(liana_op_add(flat, liana_op_exp(flat))), LIANA_ALL_AXES, false);
    liana_tensor wrt[2] = {w, b}, gradients[2];
    liana_gradients(loss, wrt, 2, gradients);
    liana_tensor rate = liana_graph_scalar(graph, LIANA_F32, 0.1);
    liana_graph_assign(w, liana_op_subtract(w, liana_op_multiply(rate, gradients[0])));
    liana_tensor next_b = liana_op_subtract(b, liana_op_multiply(rate, gradients[1]));
    liana_graph_assign(b, next_b);
    liana_graph_output(graph, "loss", loss);
    liana_graph_output(graph, "x again", x);
    liana_graph_output(graph, "flat", flat);
    liana_graph_output(graph, "old b twice", liana_op_add(b, b));
    liana_graph_output(graph, "next b", next_b);
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

enum { BUSY_OUTPUTS = 5 };

static liana__buffer *filled(liana__device *device, const liana__node *node, float first)
{
    liana__buffer *buffer = NULL;
    float data[64];
    for (int i = 0; i < 64; i++) data[i] = first + 0.01f * (float)((i * 37) % 23);
    assert_ok(device->backend->upload(device, node->dtype, &node->shape, data, &buffer, NULL, &context->error),
              &context->error);
    return buffer;
}

/* Three steps on a device; the results and the variables afterwards, concatenated. */
static size_t run_busy_graph(const char *name, int worker, float *results)
{
    liana_graph *graph = busy_graph();
    liana__device *device;
    liana__executable *executable;
    liana__error *error = &context->error;
    assert_ok(liana__device_open(context, name, &device, error), error);
    assert_ok(device->backend->compile(device, graph, &executable, error), error);
    liana__buffer *inputs[1] = {filled(device, graph->inputs[0], -0.1f)}, *variables[2], *outputs[BUSY_OUTPUTS];
    for (int i = 0; i < 2; i++) variables[i] = filled(device, graph->variables[i], 0.05f);
    for (int i = 0; i < BUSY_OUTPUTS; i++) outputs[i] = filled(device, graph->outputs[i].node, 9);
    size_t count = 0;
    for (int step = 0; step < 3; step++) {
        assert_ok(liana__test_execute(executable, worker, inputs, variables, outputs, error), error);
        for (int i = 0; i < BUSY_OUTPUTS; i++) {
            assert_ok(device->backend->download(outputs[i], results + count, error), error);
            count += outputs[i]->size / sizeof(float);
        }
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(device->backend->download(variables[i], results + count, error), error);
        count += variables[i]->size / sizeof(float);
        device->backend->buffer_destroy(variables[i]);
    }
    for (int i = 0; i < BUSY_OUTPUTS; i++) device->backend->buffer_destroy(outputs[i]);
    device->backend->buffer_destroy(inputs[0]);
    device->backend->executable_destroy(executable);
    liana__device_close(device);
    liana_graph_destroy(graph);
    return count;
}

static void test_cpu_agrees_with_the_reference_on_placement(void **state)
{
    (void)state;
    static float expected[1024], got[1024], other_worker[1024];
    size_t count = run_busy_graph("reference", 0, expected);
    assert_int_equal(run_busy_graph("cpu", 0, got), count);
    run_busy_graph("cpu", 1, other_worker);
    for (size_t i = 0; i < count; i++) assert_near(got[i], expected[i], 1e-5, i);
    assert_memory_equal(got, other_worker, count * sizeof *got);
}

static void test_validate_mode_passes_on_the_same_graph(void **state)
{
    (void)state;
    static float results[1024];
    context->validate = true;
    run_busy_graph("cpu", 0, results);
    context->validate = false;
}

static void test_plan_shares_memory(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(1024));
    liana_tensor y = x;
    for (int i = 0; i < 10; i++) y = liana_op_add(liana_op_exp(y), liana_op_tanh(y));
    liana_graph_output(graph, "y", y);
    liana__execution_order schedule;
    liana__memory_plan plan;
    assert_ok(liana__execution_order_make(graph, 0, &schedule, &context->error), &context->error);
    assert_ok(liana__memory_plan_make(graph, &schedule, true, NULL, &plan, &context->error), &context->error);
    assert_int_equal(plan.unshared_size, 30 * 4096);
    assert_compare(plan.workspace_size, <=, 2 * 4096);
    liana__memory_plan_free(&plan);
    assert_ok(liana__memory_plan_make(graph, &schedule, false, NULL, &plan, &context->error), &context->error);
    assert_int_equal(plan.workspace_size, 29 * 4096);
    liana__memory_plan_free(&plan);
    liana__execution_order_free(&schedule);
    liana_graph_destroy(graph);
}

static void test_unknown_device_is_named(void **state)
{
    (void)state;
    liana__device *device;
    liana__error error = {0};
    assert_fails(liana__device_open(context, "referense", &device, &error), LIANA_INVALID_CONFIG, &error, "referense",
                 "did you mean 'reference'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_error_sticks_with_the_callers_line),
        cmocka_unit_test(test_errors_name_what_was_found_and_expected),
        cmocka_unit_test(test_text_and_dot_show_the_graph),
        cmocka_unit_test(test_gradient_of_what_does_not_matter_is_zero),
        cmocka_unit_test(test_gradient_errors),
        cmocka_unit_test(test_cpu_agrees_with_the_reference_on_placement),
        cmocka_unit_test(test_validate_mode_passes_on_the_same_graph),
        cmocka_unit_test(test_plan_shares_memory),
        cmocka_unit_test(test_unknown_device_is_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
