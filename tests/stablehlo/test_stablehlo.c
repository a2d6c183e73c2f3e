/* Graphs as StableHLO: the text itself, its errors, and every op's samples against the reference device, run by
 * StableHLO's own interpreter (tests/stablehlo/check.py). */
#include "harness/harness.h"

#include "harness/one_reference.h"
#include "harness/stablehlo_cases.h"
#include "ops/samples.h"
#include "stablehlo/lowering.h"
#include "stablehlo/module.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const liana__samples *const all_samples[] = {
#define LIANA__OP(stem, name) &liana__samples_##name,
#include "ops/ops.def"
#undef LIANA__OP
};
enum { NUM_OPS = sizeof all_samples / sizeof *all_samples };

static char *print(const liana_graph *graph, const liana__stablehlo_options *options)
{
    char *text = NULL;
    assert_ok(liana_graph_status(graph), &context->error);
    liana__error error = {0};
    assert_ok(liana__stablehlo_print(graph, options, &text, &error), &error);
    assert_non_null(text);
    return text;
}

/* ---- every op ---- */

static void test_every_op_says_how(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_OPS; i++) {
        if (!all_samples[i]->op->lower) fail_msg("%s has no lowering", all_samples[i]->op->name);
    }
}

static bool is_for_cpu(const liana_graph *graph)
{
    for (size_t id = 1; id < graph->num_nodes; id++) {
        if (graph->nodes[id]->op->lower == liana__lower_cpu_only) return true;
    }
    return false;
}

static double work_of(const liana_graph *graph)
{
    double work = 0;
    for (size_t id = 1; id < graph->num_nodes; id++) {
        work += liana__node_cost(graph->nodes[id]).flops + (double)liana_shape_size(&graph->nodes[id]->shape);
    }
    return work;
}

/* The most terms of one sum: a product has two operations for each. */
static double terms_of(const liana_graph *graph)
{
    double most = 0;
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__cost cost = liana__node_cost(graph->nodes[id]);
        most = fmax(most, cost.flops / 2 / (double)liana_shape_size(&graph->nodes[id]->shape));
    }
    return most;
}

/* Two units in the last place of numbers of few bits, for a function that is made of several operations. */
static double rounding_of(const liana_graph *graph, liana_dtype dtype)
{
    bool has_halves = false;
    for (size_t id = 1; id < graph->num_nodes; id++) has_halves |= graph->nodes[id]->dtype == LIANA_F16;
    return dtype == LIANA_BF16 ? 0x1p-7 : has_halves ? 0x1p-10 : 0;
}

/* As in the tests of kernels: half a unit in the last place for each rounding, and the error of sums in f32. liana's
 * kernels add long sums in parts; others add n terms one after the other, of whose bound, n 2^-24, this is a
 * quarter. */
static double tolerance_of(const liana__sample *sample, const liana_graph *graph, liana_dtype dtype)
{
    if (dtype == LIANA_F64) return 1e-11;
    double tolerance = (sample->tolerance > 0 ? sample->tolerance : 2e-5) + terms_of(graph) * 0x1p-26;
    return tolerance + rounding_of(graph, dtype);
}

/* Large graphs of bf16 and f64 are not run, since each would take as long as a hundred small ones: those of the same op
 * are. */
static double work_of_sample(const liana_graph *graph, liana_dtype dtype)
{
    static const double LARGE = 20000;
    double work = work_of(graph);
    return work > LARGE && (dtype == LIANA_BF16 || dtype == LIANA_F64) ? LIANA__TEST_ONLY_READ : work;
}

/* Runs a graph with drawn inputs on the reference device, and adds it to the cases. */
static void add_graph(liana__test_cases *cases, const char *name, const liana_graph *graph, const char *text,
                      double tolerance, double work)
{
    liana__test_value inputs[64], results[64];
    liana__test_draw_inputs(graph, 13, inputs);
    liana__test_run(reference, graph, inputs, results);
    liana__test_cases_add(cases, name, text, inputs, graph->num_inputs, results, graph->num_outputs, tolerance, work);
    liana__test_free_values(inputs, graph->num_inputs);
    liana__test_free_values(results, graph->num_outputs);
}

/* The sample in one dtype; not if it cannot be built in it, or ignores the dtype and was added in another one. */
static void add_sample(liana__test_cases *cases, const liana__samples *op, const liana__sample *sample,
                       liana_dtype dtype, char **first)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_graph_output(graph, "y", liana__sample_build(sample, graph, dtype));
    if (liana_graph_status(graph) == LIANA_OK && !is_for_cpu(graph)) {
        char *text = print(graph, &(liana__stablehlo_options){.wide_products = true}), name[160];
        snprintf(name, sizeof name, "%s, sample '%s', %s", op->op->name, sample->name, liana_dtype_name(dtype));
        bool is_new = !*first || strcmp(*first, text) != 0;
        double tolerance = tolerance_of(sample, graph, dtype), work = work_of_sample(graph, dtype);
        if (is_new) add_graph(cases, name, graph, text, tolerance, work);
        if (*first) free(text);
        if (!*first) *first = text;
    }
    liana_graph_destroy(graph);
}

/* ---- what StableHLO leaves open, or other definitions leave out ---- */

enum { NUM_FLOATS = 18, NUM_INTEGERS = 9, NUM_LABELS = 6 };

/* Special values, and the ends of the ranges of integers. */
static double edge_of(liana_dtype dtype, int64_t index)
{
    static const double floats[NUM_FLOATS] = {0,      -0.0, INFINITY,   -INFINITY,   NAN, 3e38, -3e38, 0.5,  -0.5,
                                              255.75, 256,  2147483648, -2147483648, 5e9, 1e20, -1e20, -1.5, 2};
    static const double integers[NUM_INTEGERS] = {0, 1, -1, 2, 255, 2147483647, -2147483648.0, 4294967295.0, 7};
    return liana__dtype_is_float(dtype) ? floats[index % NUM_FLOATS] : integers[index % NUM_INTEGERS];
}

/* Input 0 has each edge many times, input 1 each after the other: all pairs. */
static void fill_edges(const liana_graph *graph, liana__test_value *values)
{
    for (size_t i = 0; i < graph->num_inputs; i++) {
        const liana__node *node = graph->inputs[i];
        const int64_t size = liana_shape_size(&node->shape), side = (int64_t)sqrt((double)size);
        values[i] = (liana__test_value){node->dtype, node->shape, malloc(liana__byte_size(node->dtype, &node->shape))};
        assert_non_null(values[i].data);
        for (int64_t k = 0; k < size; k++) {
            liana__store(values[i].data, node->dtype, k,
                         edge_of(node->dtype, i == 0 && side * side == size ? k / side : k));
        }
    }
}

/* Takes the graph over; one that could not be built is left out. */
static void add_edges(liana__test_cases *cases, const char *what, const char *name, liana_dtype dtype,
                      liana_graph *graph, liana_tensor y)
{
    liana_graph_output(graph, "y", y);
    if (liana_graph_status(graph) == LIANA_OK) {
        liana__test_value inputs[4], results[1];
        char *text = print(graph, &(liana__stablehlo_options){.wide_products = true}), label[96];
        snprintf(label, sizeof label, "edges of %s %s, %s", what, name, liana_dtype_name(dtype));
        fill_edges(graph, inputs);
        liana__test_run(reference, graph, inputs, results);
        liana__test_cases_add(cases, label, text, inputs, graph->num_inputs, results, 1,
                              fmax(rounding_of(graph, dtype), 2e-5), work_of(graph));
        liana__test_free_values(inputs, graph->num_inputs);
        liana__test_free_values(results, 1);
        free(text);
    }
    liana_graph_destroy(graph);
}

/* Every element-wise op, in every dtype that it accepts. */
static void add_element_wise_edges(liana__test_cases *cases, liana_dtype dtype)
{
    const int64_t side = liana__dtype_is_float(dtype) ? NUM_FLOATS : NUM_INTEGERS;
    for (size_t op = 0; op < NUM_OPS; op++) {
        const liana__op *tested = all_samples[op]->op;
        if (tested->placement != LIANA__PLACE_IN_PLACE || tested->attributes || liana__op_most_inputs(tested) > 2)
            continue;
        liana_graph *graph = liana__test_new_graph(context);
        liana_tensor inputs[2];
        for (size_t i = 0; i < liana__op_most_inputs(tested); i++) {
            inputs[i] = liana_graph_input(graph, i ? "b" : "a", dtype, liana_shape_of(side * side));
        }
        liana_tensor y = liana__build(LIANA_HERE, graph, tested, inputs, liana__op_most_inputs(tested), NULL);
        add_edges(cases, "op", tested->name, dtype, graph, y);
    }
}

static void add_cast_edges(liana__test_cases *cases, liana_dtype from)
{
    for (int to = 0; to < LIANA_NUM_DTYPES; to++) {
        if ((liana_dtype)to == from) continue;
        liana_graph *graph = liana__test_new_graph(context);
        liana_tensor x = liana_graph_input(graph, "x", from, liana_shape_of(19));
        add_edges(cases, "cast to", liana_dtype_name((liana_dtype)to), from, graph, liana_op_cast(x, (liana_dtype)to));
    }
}

/* NaN, infinities and equal elements where a maximum is looked for; indices and labels out of range. */
static void add_other_edges(liana__test_cases *cases)
{
    static const char *const names[] = {"argmax",  "pooling",       "pooling's gradient", "gather",
                                        "one_hot", "cross-entropy", "in_top_k",           "reduce_max"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
        liana_graph *graph = liana__test_new_graph(context);
        liana_tensor y = {0};
        const liana_shape images = liana_shape_of(1, 7, 8, 3), rows = liana_shape_of(NUM_LABELS, 5);
        liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, i == 1 || i == 2 ? images : rows);
        liana_tensor index = liana_graph_input(graph, "index", LIANA_S32, liana_shape_of(NUM_LABELS));
        const liana_pool_options pool = {.window = {3, 2}, .strides = {2, 1}, .padding = LIANA_PADDING_SAME};
        if (i == 0) y = liana_op_argmax(x, 1);
        if (i == 1) y = liana_op_max_pool2d(x, pool);
        if (i == 2) liana_gradients(liana_op_max_pool2d(x, pool), &x, 1, &y);
        if (i == 3) y = liana_op_gather(x, index, 0);
        if (i == 4) y = liana_op_one_hot(index, 4, LIANA_F32);
        if (i == 5) y = liana_op_sparse_softmax_cross_entropy(liana_op_clip(x, -9, 9), index);
        if (i == 6) y = liana_op_in_top_k(x, index, 2);
        if (i == 7) y = liana_op_reduce_max(x, LIANA_AXES(1), false);
        add_edges(cases, "op", names[i], LIANA_F32, graph, y);
    }
}

static void test_samples(void **state)
{
    (void)state;
    liana__test_need_jaxlib();
    liana__test_cases cases = liana__test_cases_open();
    for (size_t i = 0; i < NUM_OPS; i++) {
        for (size_t k = 0; k < all_samples[i]->count; k++) {
            const liana__sample sample = liana__samples_at(all_samples[i], k);
            char *first = NULL;
            for (int dtype = 0; dtype < LIANA_NUM_DTYPES; dtype++) {
                add_sample(&cases, all_samples[i], &sample, (liana_dtype)dtype, &first);
            }
            free(first);
        }
    }
    for (int dtype = 0; dtype < LIANA_NUM_DTYPES; dtype++) {
        add_element_wise_edges(&cases, (liana_dtype)dtype);
        add_cast_edges(&cases, (liana_dtype)dtype);
    }
    add_other_edges(&cases);
    assert_compare(cases.count, >, 2000);
    liana__test_cases_check(&cases);
}

/* ---- the text ---- */

/* y = relu(x w + b), and b moves. */
static liana_graph *small_graph(void)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(2, 3));
    liana_tensor w = liana_graph_variable(graph, "w", LIANA_F32, liana_shape_of(3, 4));
    liana_tensor b = liana_graph_variable(graph, "b", LIANA_F32, liana_shape_of(4));
    liana_tensor y = liana_op_relu(liana_op_add(liana_op_matmul(x, w, false, false), b));
    (void)liana_op_exp(x); /* nobody needs it */
    liana_graph_output(graph, "y", y);
    liana_graph_assign(b, liana_op_multiply(b, liana_graph_scalar(graph, LIANA_F32, 0.5)));
    return graph;
}

/* Read by people when it changes: tests/stablehlo. Frees the text. */
static void assert_recorded(char *text, const char *file_name)
{
    char path[512], recorded[16384] = "";
    snprintf(path, sizeof path, LIANA_SOURCE_DIR "/tests/stablehlo/%s", file_name);
    FILE *file = fopen(path, "rb");
    if (file) recorded[fread(recorded, 1, sizeof recorded - 1, file)] = 0;
    if (file) fclose(file);
    if (strcmp(text, recorded) != 0) {
        fputs(text, stderr);
        fail_msg("the text is another one than recorded in %s; see above", path);
    }
    free(text);
}

static void test_recorded_text(void **state)
{
    (void)state;
    liana_graph *graph = small_graph();
    assert_recorded(print(graph, NULL), "small.mlir");
    liana_graph_destroy(graph);
}

/* A step with momentum for a matrix and a layer's two vectors; `copy` becomes the former matrix, and a counter counts.
 * The rate is shared: rate / (1 + counter). */
static liana_graph *step_graph(void)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor rate = liana_graph_input(graph, "rate", LIANA_F32, LIANA_SCALAR);
    liana_tensor counter = liana_graph_variable(graph, "counter", LIANA_F32, LIANA_SCALAR);
    liana_tensor next = liana_op_add(counter, liana_graph_scalar(graph, LIANA_F32, 1));
    liana_tensor now = liana_op_divide(rate, next), half = liana_graph_scalar(graph, LIANA_F32, 0.5);
    liana_graph_assign(counter, next);
    static const char *const names[][3] = {{"w", "w momentum", "w gradient"},
                                           {"gamma", "gamma momentum", "gamma gradient"},
                                           {"beta", "beta momentum", "beta gradient"}};
    for (int i = 0; i < 3; i++) {
        const liana_shape shape = i == 0 ? liana_shape_of(3, 4) : liana_shape_of(4);
        liana_tensor w = liana_graph_variable(graph, names[i][0], LIANA_F32, shape);
        liana_tensor m = liana_graph_variable(graph, names[i][1], LIANA_F32, shape);
        liana_tensor g = liana_graph_input(graph, names[i][2], LIANA_F32, shape);
        liana_tensor moved = liana_op_add(liana_op_multiply(m, half), g);
        liana_graph_assign(m, moved);
        liana_graph_assign(w, liana_op_subtract(w, liana_op_multiply(moved, now)));
        if (i > 0) continue;
        liana_tensor copy = liana_graph_variable(graph, "copy", LIANA_F32, shape);
        liana_graph_assign(copy, w);
    }
    return graph;
}

/* Selected where it is computed, so that the weight's step reads the selected momentum. */
static void test_recorded_condition(void **state)
{
    (void)state;
    liana_graph *graph = step_graph();
    assert_recorded(print(graph, &(liana__stablehlo_options){.assigns_if = true}), "condition.mlir");
    liana_graph_destroy(graph);
}

/* The matrix has a function, and both vectors have one: each result with gradients of its own. */
static void test_recorded_parts(void **state)
{
    (void)state;
    liana_graph *graph = step_graph();
    assert_recorded(print(graph, &(liana__stablehlo_options){.assigns_if = true, .calls_parts = true}), "parts.mlir");
    liana_graph_destroy(graph);
}

static void test_same_text_again(void **state)
{
    (void)state;
    liana_graph *first = small_graph(), *second = small_graph();
    char *a = print(first, NULL), *b = print(second, NULL);
    assert_string_equal(a, b);
    free(a);
    free(b);
    liana_graph_destroy(first);
    liana_graph_destroy(second);
}

static void test_options(void **state)
{
    (void)state;
    liana_graph *graph = small_graph();
    const bool donated[] = {true};
    char *text = print(graph, &(liana__stablehlo_options){.name = "net",
                                                          .donate_variables = true,
                                                          .donated_inputs = donated,
                                                          .locations = true,
                                                          .highest_precision = true});
    assert_says(text, "module @\"net\"");
    assert_says(text, "%0: tensor<2x3xf32> {jax.buffer_donor = true}");
    assert_says(text, "%1: tensor<3x4xf32>,");
    assert_says(text, "%2: tensor<4xf32> {tf.aliasing_output = 1 : i32}");
    assert_says(text, "test_stablehlo.c\":");
    assert_says(text, "#stablehlo<precision HIGHEST>");
    free(text);
    text = print(graph, &(liana__stablehlo_options){.function = "leaf", .function_only = true});
    assert_begins(text, "  func.func private @\"leaf\"(");
    assert_never_says(text, "loc(");
    free(text);
    text = print(graph, &(liana__stablehlo_options){.no_locations = true});
    assert_says(text, " loc(unknown)\n");
    assert_never_says(text, "test_stablehlo.c");
    free(text);
    liana_graph_destroy(graph);
}

/* ---- errors ---- */

static void test_op_without_lowering(void **state)
{
    (void)state;
    liana__op strange = liana__op_relu;
    strange.name = "strange";
    strange.lower = NULL;
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(3));
    liana_tensor y = liana_tensor_set_name(liana_op_relu(x), "hidden");
    liana_graph_output(graph, "y", y);
    liana__node *node = liana__tensor_node(y);
    node->op = &strange;
    char *text;
    liana__error error = {0};
    assert_fails(liana__stablehlo_print(graph, NULL, &text, &error), LIANA_UNIMPLEMENTED, &error,
                 "test_stablehlo.c:", "strange 'hidden'", "node 2", "cannot be written as StableHLO", "cpu");
    assert_null(text);
    strange.lower = liana__lower_cpu_only;
    assert_fails(liana__stablehlo_print(graph, NULL, &text, &error), LIANA_UNIMPLEMENTED, &error, "strange 'hidden'",
                 "only passes of the CPU device make");
    node->op = &liana__op_relu;
    liana_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_op_says_how),   cmocka_unit_test(test_recorded_text),
        cmocka_unit_test(test_recorded_condition),  cmocka_unit_test(test_recorded_parts),
        cmocka_unit_test(test_same_text_again),     cmocka_unit_test(test_options),
        cmocka_unit_test(test_op_without_lowering), cmocka_unit_test(test_samples),
    };
    return cmocka_run_group_tests_name("stablehlo", tests, set_up, tear_down);
}
