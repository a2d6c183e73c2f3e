/* Ops with bodies: known results, gradients of weights as one product, threads that share the rows of a batch, errors.
 * The generated tests of ops hold their samples against finite differences and the plain loops. */
#include "harness/harness.h"

#include "harness/graph_run.h"
#include "harness/kernel_run.h"
#include "ir/body.h"
#include "kernels/kernel_choice.h"
#include "ops/fused/recurrent_cell.h"
#include "ops/ops.h"

#include <liana/loops.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana__device *reference, *cpu;

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(2, &context, &cpu, &reference);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, cpu, reference);
}

static void assert_values(liana_tensor tensor, const double *expected, size_t count)
{
    const liana_shape shape = liana_tensor_shape(tensor);
    assert_int_equal(liana_shape_size(&shape), count);
    liana_tensor wide = liana_op_cast(tensor, LIANA_F64);
    double *found = malloc(count * sizeof *found);
    assert_ok(liana_value(wide, found, count * sizeof *found), &context->error);
    for (size_t i = 0; i < count; i++) assert_near(found[i], expected[i], 1e-6);
    free(found);
}

/* ---- results ---- */

static void add_up(const liana_loop_step *step, void *user)
{
    (void)user;
    step->next[0] = step->ys[0] = liana_op_add(step->carries[0], step->xs[0]);
}

static void test_sums(void **state)
{
    (void)state;
    for (int reverse = 0; reverse < 2; reverse++) {
        liana_graph *graph = liana__test_new_graph(context);
        liana_tensor x = liana_graph_constant(graph, LIANA_F32, liana_shape_of(4), ((float[]){1, 2, 3, 4}));
        liana_tensor first = liana_graph_scalar(graph, LIANA_F32, 10), last, sums;
        const liana_scan scan = {.body = add_up,
                                 .carries = &first,
                                 .num_carries = 1,
                                 .xs = &x,
                                 .num_xs = 1,
                                 .num_ys = 1,
                                 .reverse = reverse};
        liana_op_scan(&scan, &last, &sums);
        assert_values(last, (double[]){20}, 1);
        assert_values(sums, reverse ? (double[]){20, 19, 17, 14} : (double[]){11, 13, 16, 20}, 4);
        liana_graph_destroy(graph);
    }
}

/* Collatz's sequence: n / 2 or 3 n + 1, until 1. */
static void collatz(const liana_loop_step *step, void *user)
{
    (void)user;
    liana_graph *graph = step->graph;
    liana_tensor n = step->carries[0], two = liana_graph_scalar(graph, LIANA_S32, 2);
    liana_tensor one = liana_graph_scalar(graph, LIANA_S32, 1), three = liana_graph_scalar(graph, LIANA_S32, 3);
    liana_tensor half = liana_op_divide(n, two);
    liana_tensor is_even = liana_op_equal(liana_op_multiply(half, two), n);
    step->next[0] = liana_op_select(is_even, half, liana_op_add(liana_op_multiply(n, three), one));
    step->next[1] = liana_op_add(step->carries[1], one);
}

static liana_tensor is_not_one(const liana_loop_step *step, void *user)
{
    (void)user;
    return liana_op_not_equal(step->carries[0], liana_graph_scalar(step->graph, LIANA_S32, 1));
}

/* 27 takes 111 steps (OEIS A006577), over 9232. */
static void test_while_of_a_known_number_of_steps(void **state)
{
    (void)state;
    for (int64_t most = 0; most <= 10; most += 10) {
        liana_graph *graph = liana__test_new_graph(context);
        const liana_tensor carries[] = {liana_graph_scalar(graph, LIANA_S32, 27),
                                        liana_graph_scalar(graph, LIANA_S32, 0)};
        liana_tensor last[2];
        const liana_while loop = {
            .condition = is_not_one, .body = collatz, .carries = carries, .num_carries = 2, .most_steps = most};
        liana_op_while(&loop, last);
        assert_values(last[1], most ? (double[]){10} : (double[]){111}, 1);
        /* 27 82 41 124 62 31 94 47 142 71 214 */
        assert_values(last[0], most ? (double[]){214} : (double[]){1}, 1);
        liana_graph_destroy(graph);
    }
}

/* ---- a recurrent network ---- */

enum { STEPS = 6, ROWS = 32, UNITS = 24, FEATURES = 5 };

/* `user`: whether its cell is fused, or made of ops. */
static void lstm_step(const liana_loop_step *step, void *user)
{
    const bool fused = *(const bool *)user;
    liana_tensor x = step->xs[0], h = step->carries[0], c = step->carries[1];
    liana_tensor inner = liana_op_matmul(h, step->constants[0], false, false);
    inner = liana_op_add(inner, step->constants[1]);
    if (fused) {
        liana__lstm_cell(LIANA_HERE, x, inner, c, &step->next[0], &step->next[1]);
    } else {
        liana_tensor z = liana_op_add(x, inner), gates[4];
        for (int64_t i = 0; i < 4; i++) {
            const int64_t start[] = {0, i * UNITS}, limit[] = {ROWS, (i + 1) * UNITS};
            liana_tensor part = liana_op_slice(z, start, limit, NULL);
            gates[i] = i == 2 ? liana_op_tanh(part) : liana_op_logistic(part);
        }
        liana_tensor kept = liana_op_multiply(gates[1], c);
        step->next[1] = liana_op_add(kept, liana_op_multiply(gates[0], gates[2]));
        step->next[0] = liana_op_multiply(gates[3], liana_op_tanh(step->next[1]));
    }
    step->ys[0] = step->next[0];
}

static void gru_step(const liana_loop_step *step, void *user)
{
    const bool fused = *(const bool *)user;
    liana_tensor x = step->xs[0], h = step->carries[0];
    liana_tensor inner = liana_op_add(liana_op_matmul(h, step->constants[0], false, false), step->constants[1]);
    if (fused) {
        step->next[0] = liana__gru_cell(LIANA_HERE, x, inner, h);
    } else {
        liana_tensor x_parts[3], parts[3];
        for (int64_t i = 0; i < 3; i++) {
            const int64_t start[] = {0, i * UNITS}, limit[] = {ROWS, (i + 1) * UNITS};
            x_parts[i] = liana_op_slice(x, start, limit, NULL);
            parts[i] = liana_op_slice(inner, start, limit, NULL);
        }
        liana_tensor z = liana_op_logistic(liana_op_add(x_parts[0], parts[0]));
        liana_tensor r = liana_op_logistic(liana_op_add(x_parts[1], parts[1]));
        liana_tensor n = liana_op_tanh(liana_op_add(x_parts[2], liana_op_multiply(r, parts[2])));
        step->next[0] = liana_op_add(n, liana_op_multiply(z, liana_op_subtract(h, n)));
    }
    step->ys[0] = step->next[0];
}

/* The sum of what a network gives, squared, and its gradients as outputs. */
static liana_graph *build_network(liana_dtype dtype, bool is_gru, bool fused)
{
    liana_graph *graph = liana__test_new_graph(context);
    const int64_t gates = is_gru ? 3 : 4;
    liana_tensor x = liana_graph_input(graph, "x", dtype, liana_shape_of(STEPS, ROWS, gates * UNITS));
    liana_tensor carries[] = {liana_graph_input(graph, "h", dtype, liana_shape_of(ROWS, UNITS)),
                              liana_graph_input(graph, "c", dtype, liana_shape_of(ROWS, UNITS))};
    liana_tensor constants[] = {liana_graph_input(graph, "u", dtype, liana_shape_of(UNITS, gates * UNITS)),
                                liana_graph_input(graph, "b", dtype, liana_shape_of(gates * UNITS))};
    const liana_scan scan = {.body = is_gru ? gru_step : lstm_step,
                             .user = &fused,
                             .carries = carries,
                             .num_carries = is_gru ? 1 : 2,
                             .xs = &x,
                             .num_xs = 1,
                             .constants = constants,
                             .num_constants = 2,
                             .num_ys = 1};
    liana_tensor last[2], ys, gradients[4];
    const liana_axes all = LIANA_ALL_AXES;
    liana_op_scan(&scan, last, &ys);
    liana_tensor loss = liana_op_reduce_sum(liana_op_square(ys), all, false);
    loss = liana_op_add(loss, liana_op_reduce_sum(last[is_gru ? 0 : 1], all, false));
    const liana_tensor wrt[] = {x, carries[0], constants[0], constants[1]};
    liana_gradients(loss, wrt, 4, gradients);
    liana_graph_output(graph, "loss", loss);
    static const char *const names[] = {"x", "h", "u", "b"};
    for (size_t i = 0; i < 4; i++) liana_graph_output(graph, names[i], gradients[i]);
    assert_ok(liana_graph_status(graph), &context->error);
    assert_ok(liana__graph_verify(graph, &context->error), &context->error);
    return graph;
}

/* Numbers from -0.5 to 0.5 that depend on the place alone. */
static void fill_inputs(const liana_graph *graph, liana__test_value *values)
{
    for (size_t i = 0; i < graph->num_inputs; i++) {
        const liana__node *input = graph->inputs[i];
        const int64_t count = liana_shape_size(&input->shape);
        values[i] =
            (liana__test_value){input->dtype, input->shape, malloc(liana__byte_size(input->dtype, &input->shape))};
        assert_non_null(values[i].data);
        for (int64_t k = 0; k < count; k++) {
            const uint32_t mixed = ((uint32_t)k + (uint32_t)i * 977) * 2654435761u;
            liana__store(values[i].data, input->dtype, k, (double)(mixed >> 12) / (1 << 20) - 0.5);
        }
    }
}

static void run_network(liana__device *device, const liana_graph *graph, liana__test_value *results)
{
    liana__test_value inputs[8];
    fill_inputs(graph, inputs);
    liana__test_run(device, graph, inputs, results);
    liana__test_free_values(inputs, graph->num_inputs);
}

/* The fused cells, and the same made of ops, on both devices: the loss and all gradients. */
static void test_fused_cells(void **state)
{
    (void)state;
    for (int is_gru = 0; is_gru < 2; is_gru++) {
        liana__test_value expected[5];
        liana_graph *exact = build_network(LIANA_F64, is_gru, false);
        run_network(reference, exact, expected);
        for (int variant = 0; variant < 4; variant++) {
            liana__test_value found[5];
            liana_graph *graph = build_network(LIANA_F32, is_gru, variant & 1);
            run_network(variant & 2 ? cpu : reference, graph, found);
            for (size_t i = 0; i < graph->num_outputs; i++) {
                for (int64_t k = 0; k < liana_shape_size(&found[i].shape); k++) {
                    const double a = liana__load(found[i].data, LIANA_F32, k), b = ((double *)expected[i].data)[k];
                    assert_near(a, b, 1e-4 * (1 + fabs(b)));
                }
            }
            liana__test_free_values(found, graph->num_outputs);
            liana_graph_destroy(graph);
        }
        liana__test_free_values(expected, exact->num_outputs);
        liana_graph_destroy(exact);
    }
}

/* In mixed precision the products of the body are of bf16, and the carries stay f32. */
static void test_mixed_precision(void **state)
{
    (void)state;
    for (int is_gru = 0; is_gru < 2; is_gru++) {
        liana__test_value expected[5], found[5];
        liana_graph *graph = build_network(LIANA_F32, is_gru, true);
        run_network(cpu, graph, expected);
        graph->mixed_precision = true;
        run_network(cpu, graph, found);
        bool differs = false;
        for (size_t i = 0; i < graph->num_outputs; i++) {
            double largest = 0;
            const int64_t count = liana_shape_size(&found[i].shape);
            assert_int_equal(found[i].dtype, LIANA_F32);
            for (int64_t k = 0; k < count; k++) largest = fmax(largest, fabs(((float *)expected[i].data)[k]));
            for (int64_t k = 0; k < count; k++) {
                const double a = ((float *)found[i].data)[k], b = ((float *)expected[i].data)[k];
                assert_near(a, b, 0.02 * largest);
                differs = differs || a != b;
            }
        }
        assert_true(differs);
        liana__test_free_values(expected, graph->num_outputs);
        liana__test_free_values(found, graph->num_outputs);
        liana_graph_destroy(graph);
    }
}

static const liana__node *nth_scan(const liana_graph *graph, int n)
{
    for (size_t id = 1; id < graph->num_nodes; id++) {
        if (graph->nodes[id]->op == &liana__op_scan && n-- == 0) return graph->nodes[id];
    }
    return NULL;
}

/* The backward scan carries the gradients of the states alone: those of weights are one product of all steps. */
static void test_gradients_of_weights_are_not_carried(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        const bool is_gru = variant & 1, fused = variant & 2;
        liana_graph *graph = build_network(LIANA_F32, is_gru, fused);
        const liana__node *backward = nth_scan(graph, 1);
        assert_non_null(backward);
        liana_attribute carries;
        assert_true(liana_tensor_find_attribute(liana__node_tensor(graph, backward), "num_carries", &carries));
        assert_int_equal(carries.integer, is_gru ? 1 : 2);
        assert_null(nth_scan(graph, 2));
        liana_graph_destroy(graph);
    }
}

/* Forward and backward loops, in tiles of rows and whole. */
static void test_tiles_give_the_same_bits(void **state)
{
    (void)state;
    for (int is_gru = 0; is_gru < 2; is_gru++) {
        liana_graph *graph = build_network(LIANA_F32, is_gru, true);
        for (int n = 0; n < 2; n++) {
            const liana__node *node = nth_scan(graph, n);
            const liana__kernel *kernel = liana__choose_kernel(context, node, context->isa);
            liana__prepared prepared = {0};
            assert_ok(kernel->prepare(node, &prepared, &context->error), &context->error);
            assert_ok(kernel->cut(node, &prepared, &context->error), &context->error);
            assert_int_equal(prepared.num_tiles, ROWS / 8);
            const void *sources[32];
            liana__test_value values[32];
            for (uint32_t i = 0; i < node->num_inputs; i++) {
                const int64_t count = liana_shape_size(&node->inputs[i]->shape);
                float *data = malloc((size_t)count * sizeof *data);
                assert_non_null(data);
                for (int64_t k = 0; k < count; k++) data[k] = (float)sin((double)(k * 7 + i));
                values[i].data = data;
                sources[i] = data;
            }
            const size_t size = liana__byte_size(node->dtype, &node->shape);
            char *whole = calloc(size, 1), *tiled = calloc(size, 1);
            void *scratch = liana__allocate_aligned(prepared.scratch_size);
            liana__call call = {.node = node, .src = sources, .dst = whole, .scratch = scratch, .plan = prepared.plan};
            assert_int_equal(kernel->run(&call), LIANA_OK);
            call.dst = tiled;
            call.num_tiles = prepared.num_tiles;
            for (size_t tile = call.num_tiles; tile-- > 0;) {
                call.tile = tile;
                memset(scratch, 0xFF, prepared.scratch_size);
                assert_int_equal(kernel->run(&call), LIANA_OK);
            }
            assert_memory_equal(whole, tiled, size);
            kernel->release(prepared.plan);
            liana__test_free_values(values, node->num_inputs);
            free(whole);
            free(tiled);
            free(scratch);
        }
        liana_graph_destroy(graph);
    }
}

/* ---- what bodies look like ---- */

static void test_bodies_are_shown(void **state)
{
    (void)state;
    liana_graph *graph = build_network(LIANA_F32, true, true);
    const liana_tensor scan = liana__node_tensor(graph, nth_scan(graph, 0));
    const liana_graph *body = liana_tensor_body(scan, 0);
    assert_non_null(body);
    assert_null(liana_tensor_body(scan, 1));
    assert_null(liana_tensor_body(liana_graph_tensor(graph, "x"), 0));
    assert_int_equal(liana_graph_count(body, LIANA_GRAPH_INPUTS), 4);
    char *text = liana_graph_text(graph), *dot = liana_graph_dot(graph);
    assert_says(text, "  body 0:\n    %1 = input \"carry0\"");
    assert_says(text, "    output \"next0\"");
    assert_says(dot, "subgraph cluster_n");
    free(text);
    free(dot);
    liana_graph_destroy(graph);
}

/* ---- errors ---- */

static void forgets(const liana_loop_step *step, void *user)
{
    (void)user;
    step->next[0] = step->carries[0];
}

static void changes_shape(const liana_loop_step *step, void *user)
{
    (void)user;
    step->next[0] = liana_op_reshape(step->carries[0], liana_shape_of(1));
    step->ys[0] = step->xs[0];
}

static void has_a_variable(const liana_loop_step *step, void *user)
{
    (void)user;
    step->next[0] = liana_graph_variable(step->graph, "w", LIANA_F32, LIANA_SCALAR);
    step->ys[0] = step->xs[0];
}

static void nests(const liana_loop_step *step, void *user)
{
    int *left = user;
    step->ys[0] = step->xs[0];
    step->next[0] = step->carries[0];
    if ((*left)-- == 0) return;
    liana_tensor one = liana_op_reshape(step->xs[0], liana_shape_of(1));
    const liana_scan scan = {
        .body = nests, .user = user, .carries = step->carries, .num_carries = 1, .xs = &one, .num_xs = 1, .num_ys = 1};
    liana_op_scan(&scan, step->next, NULL);
}

static void assert_scan_fails(liana_scan scan, const char *message)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor first = liana_graph_scalar(graph, LIANA_F32, 0), x;
    x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(3));
    scan.carries = &first;
    scan.num_carries = scan.num_xs = scan.num_ys = 1;
    scan.xs = &x;
    liana_tensor last, ys;
    liana_op_scan(&scan, &last, &ys);
    assert_int_equal(liana_graph_status(graph), LIANA_INVALID_ARGUMENT);
    assert_int_equal(last.id, 0);
    assert_int_equal(ys.id, 0);
    assert_says(liana_context_message(context), message);
    liana_graph_destroy(graph);
}

static void test_errors(void **state)
{
    (void)state;
    int deep = 20;
    assert_scan_fails((liana_scan){0}, "scan has no function for its body");
    assert_scan_fails((liana_scan){.body = forgets}, "has set no tensor of its graph as ys[0]");
    assert_scan_fails((liana_scan){.body = changes_shape}, "next carry 0 of the body is f32[1], expected f32[]");
    assert_scan_fails((liana_scan){.body = has_a_variable}, "has the variable 'w'; give variables to it as constants");
    assert_scan_fails((liana_scan){.body = add_up, .steps = 4}, "x 0 is f32[3], expected 4 rows on axis 0");
    assert_scan_fails((liana_scan){.body = add_up, .steps = -1}, "-1 steps, expected 1 to 2147483647");
    assert_scan_fails((liana_scan){.body = nests, .user = &deep},
                      "has bodies in bodies, 8 deep; at most 7 are possible");
}

static void doubles(const liana_loop_step *step, void *user)
{
    (void)user;
    step->next[0] = liana_op_add(step->carries[0], step->carries[0]);
}

static liana_tensor is_small(const liana_loop_step *step, void *user)
{
    (void)user;
    return liana_op_less(step->carries[0], liana_graph_scalar(step->graph, LIANA_F32, 100));
}

static void test_while_has_no_gradient(void **state)
{
    (void)state;
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, LIANA_SCALAR), last, gradient;
    const liana_while loop = {.condition = is_small, .body = doubles, .carries = &x, .num_carries = 1};
    liana_op_while(&loop, &last);
    liana_gradients(last, &x, 1, &gradient);
    assert_int_equal(liana_graph_status(graph), LIANA_INVALID_ARGUMENT);
    assert_says(liana_context_message(context), "while cannot be differentiated");
    assert_says(liana_context_message(context), "use liana_op_scan, whose number of steps is fixed");
    liana_graph_destroy(graph);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_while_of_a_known_number_of_steps),
        cmocka_unit_test(test_fused_cells),
        cmocka_unit_test(test_mixed_precision),
        cmocka_unit_test(test_gradients_of_weights_are_not_carried),
        cmocka_unit_test(test_tiles_give_the_same_bits),
        cmocka_unit_test(test_bodies_are_shown),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_while_has_no_gradient),
    };
    return cmocka_run_group_tests_name("loops", tests, set_up, tear_down);
}
