/* fuse_update: the update of an optimizer has the same bits as with single ops, on every instruction set, and what only
 * looks like an average or a step of Adam stays. */
#include "harness/graph_run.h"
#include "harness/harness.h"

#include "ops/fused/update_steps.h"
#include "passes/pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1037 }; /* no multiple of a vector */

static liana_context *context;
static liana__device *cpu;

static int set_up(void **state)
{
    (void)state;
    assert_ok(liana_context_create(NULL, &context), NULL);
    assert_ok(liana__device_open(context, "cpu", &cpu, &context->error), &context->error);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    liana__device_close(cpu);
    liana_context_destroy(context);
    return 0;
}

static liana_tensor scalar(liana_graph *graph, double value)
{
    return liana_graph_scalar(graph, LIANA_F32, value);
}

static liana_tensor given(liana_graph *graph, const char *name)
{
    return liana_graph_input(graph, name, LIANA_F32, liana_shape_of(SIZE));
}

static liana_tensor average(liana_tensor old, liana_tensor value, double share)
{
    return liana_op_add(old, liana_op_multiply(scalar(old.graph, share), liana_op_subtract(value, old)));
}

/* Kingma and Ba 2014. v is a square, so that its root is a number. */
static liana_graph *build_adam(void)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = given(graph, "x"), gradient = given(graph, "gradient");
    liana_tensor m = average(given(graph, "m"), gradient, 0.1);
    liana_tensor v = average(liana_op_abs(given(graph, "v")), liana_op_square(gradient), 0.001);
    liana_tensor rate = liana_graph_input(graph, "rate", LIANA_F32, LIANA_SCALAR);
    liana_tensor root = liana_op_add(liana_op_sqrt(v), scalar(graph, 1e-7));
    liana_graph_output(graph, "new x", liana_op_subtract(x, liana_op_divide(liana_op_multiply(rate, m), root)));
    liana_graph_output(graph, "new m", m);
    liana_graph_output(graph, "new v", v);
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

/* The gradient is a mean of shards' sums. `reads`: somebody else reads it too. */
static liana_graph *build_adam_of_sums(bool reads)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor sum = given(graph, "sum"), count = liana_graph_input(graph, "count", LIANA_F32, LIANA_SCALAR);
    liana_tensor gradient = liana_op_divide(sum, count);
    liana_graph_output(graph, "new m", average(given(graph, "m"), gradient, 0.1));
    liana_graph_output(graph, "new v", average(given(graph, "v"), liana_op_square(gradient), 0.001));
    liana_graph_output(graph, "other", reads ? liana_op_abs(gradient) : sum);
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

static int count(const liana_graph *graph, const liana__op *op)
{
    int found = 0;
    for (size_t id = 1; id < graph->num_nodes; id++) found += graph->nodes[id]->op == op;
    return found;
}

static void expect(liana_graph *graph, int averages, int descents)
{
    liana_graph *fused;
    assert_ok(liana__pass_run(&liana__pass_fuse_update, graph, &fused, &context->error), &context->error);
    assert_int_equal(count(fused, &liana__op_moving_average), averages);
    assert_int_equal(count(fused, &liana__op_root_descent), descents);
    liana_graph_destroy(fused);
    liana_graph_destroy(graph);
}

static void run(const liana_graph *graph, const char *skipped, liana__test_value *outputs)
{
    liana__test_value inputs[8];
    liana__test_draw_inputs(graph, 5, inputs);
    context->skipped_passes = skipped;
    liana__test_run(cpu, graph, inputs, outputs);
    context->skipped_passes = NULL;
    liana__test_free_values(inputs, graph->num_inputs);
}

static void test_adam_has_the_same_bits(void **state)
{
    (void)state;
    expect(build_adam(), 2, 1);
    liana_graph *graph = build_adam();
    const liana__isa best = context->isa;
    for (int isa = LIANA__ISA_BASELINE; isa <= (int)best; isa++) {
        liana__test_value without[3], with[3];
        context->isa = (liana__isa)isa;
        run(graph, "fuse_update", without);
        run(graph, NULL, with);
        for (size_t i = 0; i < 3; i++) assert_memory_equal(without[i].data, with[i].data, SIZE * sizeof(float));
        liana__test_free_values(without, 3);
        liana__test_free_values(with, 3);
    }
    context->isa = best;
    liana_graph_destroy(graph);
}

/* Counts that a product with the reciprocal divides by exactly, and others; and the limits of floats. */
static void test_averages_of_means_have_the_same_bits(void **state)
{
    (void)state;
    static const float counts[] = {1, 32, 33, 0.25f, 3, -8, 1e-38f, 3e38f, 0, INFINITY, NAN, 1.3e36f, 1.4012985e-45f};
    const liana__isa best = context->isa;
    for (int reads = 0; reads < 2; reads++) {
        liana_graph *graph = build_adam_of_sums(reads), *fused;
        assert_ok(liana__pass_run(&liana__pass_fuse_update, graph, &fused, &context->error), &context->error);
        assert_int_equal(count(fused, &liana__op_moving_average), 2);
        for (size_t id = 1; id < fused->num_nodes; id++) {
            const liana__node *node = fused->nodes[id];
            if (node->op == &liana__op_moving_average) assert_compare(node->num_inputs, ==, reads ? 2 : 3);
        }
        liana_graph_destroy(fused);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            for (int isa = LIANA__ISA_BASELINE; isa <= (int)best; isa++) {
                context->isa = (liana__isa)isa;
                liana__test_value inputs[4], without[3], with[3];
                liana__test_draw_inputs(graph, 5, inputs);
                for (size_t k = 0; k < 4; k++) {
                    float *values = inputs[k].data;
                    if (strcmp(graph->inputs[k]->name, "count") == 0) values[0] = counts[i];
                    if (strcmp(graph->inputs[k]->name, "sum") == 0) values[3] = 1e-38f, values[SIZE - 1] = 3e38f;
                }
                context->skipped_passes = "fuse_update";
                liana__test_run(cpu, graph, inputs, without);
                context->skipped_passes = NULL;
                liana__test_run(cpu, graph, inputs, with);
                for (size_t k = 0; k < 3; k++) {
                    const float *a = without[k].data, *b = with[k].data;
                    for (int j = 0; j < SIZE; j++) {
                        if (memcmp(&a[j], &b[j], sizeof *a) == 0 || (isnan(a[j]) && isnan(b[j]))) continue;
                        fail_msg("a count of %g, output %zu, place %d: %.9g without, %.9g with", (double)counts[i], k,
                                 j, (double)a[j], (double)b[j]);
                    }
                }
                liana__test_free_values(inputs, 4);
                liana__test_free_values(without, 3);
                liana__test_free_values(with, 3);
            }
        }
        liana_graph_destroy(graph);
    }
    context->isa = best;
}

static void test_sums_that_are_no_averages_stay(void **state)
{
    (void)state;
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor old = given(graph, "old"), other = given(graph, "other");
    /* The difference is from another tensor than the one that it is added to. */
    liana_graph_output(graph, "a",
                       liana_op_add(old, liana_op_multiply(scalar(graph, 0.5), liana_op_subtract(old, other))));
    /* A share that is no constant. */
    liana_tensor share = liana_graph_input(graph, "share", LIANA_F32, LIANA_SCALAR);
    liana_graph_output(graph, "b", liana_op_add(old, liana_op_multiply(share, liana_op_subtract(other, old))));
    /* A difference that others read. */
    liana_tensor difference = liana_op_subtract(other, old);
    liana_graph_output(graph, "c", liana_op_add(old, liana_op_multiply(scalar(graph, 0.5), difference)));
    liana_graph_output(graph, "d", difference);
    /* A value that is repeated. */
    liana_graph_output(graph, "e", average(old, share, 0.5));
    assert_ok(liana_graph_status(graph), &context->error);
    expect(graph, 0, 0);
}

static void test_steps_that_are_no_descents_stay(void **state)
{
    (void)state;
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = given(graph, "x"), m = given(graph, "m"), v = given(graph, "v"), rates = given(graph, "rates");
    /* A rate for each weight, an epsilon that is no constant, and a root that others read. */
    liana_tensor root = liana_op_add(liana_op_sqrt(v), scalar(graph, 1e-7));
    liana_graph_output(graph, "a", liana_op_subtract(x, liana_op_divide(liana_op_multiply(rates, m), root)));
    liana_tensor rate = liana_graph_input(graph, "rate", LIANA_F32, LIANA_SCALAR);
    liana_tensor other = liana_op_add(liana_op_sqrt(v), rate);
    liana_graph_output(graph, "b", liana_op_subtract(x, liana_op_divide(liana_op_multiply(rate, m), other)));
    liana_graph_output(graph, "c", liana_op_subtract(x, liana_op_divide(liana_op_multiply(rate, m), root)));
    assert_ok(liana_graph_status(graph), &context->error);
    expect(graph, 0, 0);
}

/* A square that others read is computed once; the average is of it then. */
static void test_a_square_that_is_read_twice_stays(void **state)
{
    (void)state;
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor square = liana_op_square(given(graph, "x"));
    liana_graph_output(graph, "a", average(given(graph, "old"), square, 0.25));
    liana_graph_output(graph, "b", square);
    liana_graph *fused;
    assert_ok(liana__pass_run(&liana__pass_fuse_update, graph, &fused, &context->error), &context->error);
    assert_int_equal(count(fused, &liana__op_square), 1);
    expect(graph, 1, 0);
    liana_graph_destroy(fused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adam_has_the_same_bits),
        cmocka_unit_test(test_averages_of_means_have_the_same_bits),
        cmocka_unit_test(test_sums_that_are_no_averages_stay),
        cmocka_unit_test(test_steps_that_are_no_descents_stay),
        cmocka_unit_test(test_a_square_that_is_read_twice_stays),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
