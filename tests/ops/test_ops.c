/* Generated from the samples of each op: shape rule, gradient, kernels against the reference, repeatability. */
#include "harness/harness.h"

#include "base/denormals.h"
#include "base/memory.h"
#include "harness/emulated/emulated_kernels.h"
#include "harness/one_reference.h"
#include "kernels/kernel_choice.h"
#include "ops/samples.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const liana__samples *const all_samples[] = {
#define LIANA__OP(stem, name) &liana__samples_##name,
#include "ops/ops.def"
#undef LIANA__OP
};
enum { NUM_OPS = sizeof all_samples / sizeof *all_samples };

static void assert_built(const liana_graph *graph, const liana__samples *op, const liana__sample *sample)
{
    if (liana_graph_status(graph) == LIANA_OK) return;
    fail_msg("%s, sample '%s': %s", op->op->name, sample->name, liana_context_message(context));
}

/* ---- gradients ---- */

/* weights[i] * y[i], summed: a scalar whose gradient shows every element of dy. */
static liana_tensor weighted_sum(liana_graph *graph, liana_tensor y)
{
    liana_shape shape = liana_tensor_shape(y);
    int64_t size = liana_shape_size(&shape);
    double *weights = malloc((size_t)size * sizeof *weights);
    assert_non_null(weights);
    for (int64_t i = 0; i < size; i++) weights[i] = 0.5 + fmod(0.618034 * (double)(i + 1), 1.0);
    liana_tensor constant = liana_graph_constant(graph, LIANA_F64, shape, weights);
    free(weights);
    return liana_op_reduce_sum(liana_op_multiply(y, constant), LIANA_ALL_AXES, false);
}

static double evaluate(const liana_graph *graph, const liana__test_value *inputs, size_t output)
{
    liana__test_value outputs[64];
    liana__test_run(reference, graph, inputs, outputs);
    double value = liana__load(outputs[output].data, LIANA_F64, 0);
    liana__test_free_values(outputs, graph->num_outputs);
    return value;
}

/* (f(x + h) - f(x - h)) / 2h in f64: exact to about h^2 and 1e-16 / h. */
static void check_element(const liana__samples *op, const liana__sample *sample, const liana_graph *graph,
                          liana__test_value *inputs, size_t input, int64_t element, double gradient)
{
    const double step = 1e-5;
    double *at = (double *)inputs[input].data + element, x = *at;
    *at = x + step;
    double above = evaluate(graph, inputs, 0);
    *at = x - step;
    double below = evaluate(graph, inputs, 0);
    *at = x;
    double difference = (above - below) / (2 * step);
    if (fabs(difference - gradient) <= 1e-6 * (1 + fabs(difference))) return;
    fail_msg("%s, sample '%s': d/d %s[%lld] is %.9g, the finite difference is %.9g", op->op->name, sample->name,
             graph->inputs[input]->name, (long long)element, gradient, difference);
}

enum { CHECKED_ELEMENTS = 24 };

static void check_gradient(const liana__samples *op, const liana__sample *sample)
{
    liana_graph *forward = liana__test_new_graph(context), *backward = liana__test_new_graph(context);
    liana_graph_output(forward, "loss", weighted_sum(forward, liana__sample_build(sample, forward, LIANA_F64)));
    liana_tensor loss = weighted_sum(backward, liana__sample_build(sample, backward, LIANA_F64));
    assert_built(forward, op, sample);
    liana_tensor wrt[16], gradients[16];
    size_t input_of[16], count = 0;
    for (size_t i = 0; i < backward->num_inputs; i++) {
        if (backward->inputs[i]->dtype != LIANA_F64) continue;
        wrt[count] = liana__node_tensor(backward, backward->inputs[i]);
        input_of[count++] = i;
    }
    liana_gradients(loss, wrt, count, gradients);
    for (size_t i = 0; i < count; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        liana_graph_output(backward, name, gradients[i]);
    }
    assert_built(backward, op, sample);
    assert_ok(liana__graph_verify(backward, &context->error), &context->error);
    liana__test_value inputs[64], results[64];
    liana__test_draw_inputs(forward, 11, inputs);
    liana__test_run(reference, backward, inputs, results);
    for (size_t i = 0; i < count; i++) {
        int64_t size = liana_shape_size(&results[i].shape);
        assert_true(liana_shape_equal(&results[i].shape, &inputs[input_of[i]].shape));
        int64_t stride = size / CHECKED_ELEMENTS + 1;
        for (int64_t k = 0; k < size; k += stride) {
            check_element(op, sample, forward, inputs, input_of[i], k, ((double *)results[i].data)[k]);
        }
    }
    liana__test_free_values(results, backward->num_outputs);
    liana__test_free_values(inputs, forward->num_inputs);
    liana_graph_destroy(forward);
    liana_graph_destroy(backward);
}

static void test_gradients(void **state)
{
    const liana__samples *op = *state;
    if (!op->op->gradient || op->op->gradient == liana__no_gradient) return;
    for (size_t i = 0; i < op->count; i++) {
        const liana__sample sample = liana__samples_at(op, i);
        liana_graph *probe = liana__test_new_graph(context);
        bool differentiable = liana_tensor_dtype(liana__sample_build(&sample, probe, LIANA_F64)) == LIANA_F64;
        bool is_double = false;
        for (size_t k = 0; k < probe->num_inputs; k++) is_double |= probe->inputs[k]->dtype == LIANA_F64;
        liana_graph_destroy(probe);
        if (differentiable && is_double) check_gradient(op, &sample);
    }
}

/* ---- kernels ---- */

enum { GUARD = 256, POISON = 0xFF /* NaN in each float dtype: memory that is read without being written shows */ };

/* A buffer with sentinels around it. */
static char *guarded(size_t size)
{
    char *memory = liana__allocate_aligned(size + 2 * GUARD);
    assert_non_null(memory);
    memset(memory, POISON, size + 2 * GUARD);
    return memory + GUARD;
}

static bool guards_intact(const char *data, size_t size)
{
    for (size_t i = 0; i < GUARD; i++) {
        if ((unsigned char)data[-1 - (int)i] != POISON || (unsigned char)data[size + i] != POISON) return false;
    }
    return true;
}

/* Runs one kernel on one node; the result is malloc'ed through guarded(), and starts as a copy of the input of that
 * index and takes its place unless that is -1. */
static char *run_kernel_on(const liana__kernel *kernel, const liana__node *node, const void *const *inputs,
                           int in_place)
{
    liana__error error = {0};
    liana__prepared prepared = {0};
    if (kernel->prepare) assert_ok(kernel->prepare(node, &prepared, &error), &error);
    size_t size = liana__byte_size(node->dtype, &node->shape);
    char *dst = guarded(size), *scratch = guarded(prepared.scratch_size);
    const void *src[64];
    for (uint32_t i = 0; i < node->num_inputs; i++) src[i] = inputs[i];
    if (in_place >= 0) {
        memcpy(dst, src[in_place], size);
        src[in_place] = dst;
    }
    liana__call call = {.node = node, .src = src, .dst = dst, .scratch = scratch, .plan = prepared.plan};
    const liana__denormals before = liana__denormals_flush(); /* as the cpu device does */
    liana_status status = kernel->run(&call);
    liana__denormals_restore(before);
    assert_int_equal(status, LIANA_OK);
    if (!guards_intact(dst, size)) fail_msg("%s, kernel %s writes outside its result", node->op->name, kernel->name);
    if (!guards_intact(scratch, prepared.scratch_size)) {
        fail_msg("%s, kernel %s writes outside its scratch", node->op->name, kernel->name);
    }
    free(scratch - GUARD);
    if (kernel->release && prepared.plan) kernel->release(prepared.plan);
    return dst;
}

static char *run_kernel(const liana__kernel *kernel, const liana__node *node, const void *const *src)
{
    return run_kernel_on(kernel, node, src, -1);
}

/* An op that may overwrite an input must give the same bits when it does. */
static void check_in_place(const liana__sample *sample, const liana__kernel *kernel, const liana__node *node,
                           const void *const *src, const char *expected)
{
    size_t size = liana__byte_size(node->dtype, &node->shape);
    for (uint32_t i = 0; i < node->num_inputs && node->op->placement == LIANA__PLACE_IN_PLACE; i++) {
        const liana__node *input = node->inputs[i];
        if (liana__byte_size(input->dtype, &input->shape) != size || !liana_shape_equal(&input->shape, &node->shape))
            continue;
        char *got = run_kernel_on(kernel, node, src, (int)i);
        if (memcmp(got, expected, size) != 0) {
            fail_msg("%s, sample '%s', kernel %s: in place of input %u the result differs", node->op->name,
                     sample->name, kernel->name, i);
        }
        free(got - GUARD);
    }
}

/* Half a unit in the last place of the result for each rounding, and the error of sums in float. */
static double tolerance_of(const liana__sample *sample, const liana__kernel *kernel, liana_dtype dtype)
{
    double tolerance = sample->tolerance > 0 ? sample->tolerance : 2e-5;
    if (kernel->rounding > 0) tolerance *= kernel->rounding;
    if (!liana__dtype_is_float(dtype)) return 0;
    return dtype == LIANA_BF16 ? tolerance + 0x1p-7 : dtype == LIANA_F16 ? tolerance + 0x1p-10 : tolerance;
}

/* Kernels give 0 for values that the reference keeps below 2^-126: the 1 in the tolerance covers that. */
static void compare_results(const liana__sample *sample, const liana__kernel *kernel, const liana__node *node,
                            const char *got, const char *expected)
{
    double tolerance = tolerance_of(sample, kernel, node->dtype);
    for (int64_t i = 0; i < liana_shape_size(&node->shape); i++) {
        double a = liana__load(got, node->dtype, i), b = liana__load(expected, node->dtype, i);
        bool same = a == b || (a != a && b != b);
        if (same || fabs(a - b) <= tolerance * (1 + fabs(b))) continue;
        fail_msg("%s, sample '%s', kernel %s: element %lld is %.9g, the reference says %.9g", node->op->name,
                 sample->name, kernel->name, (long long)i, a, b);
    }
}

/* One kernel, if it takes the node here, against the reference's results. */
static void check_kernel(const liana__sample *sample, const liana__kernel *kernel, const liana__node *node,
                         const void *const *src, const char *expected)
{
    const char *reason = NULL, *fault;
    if (kernel->isa > context->isa) return;
    if (kernel->applicable && !kernel->applicable(node, &reason)) {
        if (!reason) fail_msg("%s, kernel %s declines without a reason", node->op->name, kernel->name);
        return;
    }
    char *got = run_kernel(kernel, node, src), *again = run_kernel(kernel, node, src);
    compare_results(sample, kernel, node, got, expected);
    if (memcmp(got, again, liana__byte_size(node->dtype, &node->shape)) != 0) {
        fail_msg("%s, sample '%s', kernel %s: two runs differ", node->op->name, sample->name, kernel->name);
    }
    check_in_place(sample, kernel, node, src, got);
    if ((fault = liana__emulated_fault()) != NULL || liana__emulated_tiles_held()) {
        fail_msg("%s, sample '%s', kernel %s: %s", node->op->name, sample->name, kernel->name,
                 fault ? fault : "the tiles were not released");
    }
    free(got - GUARD);
    free(again - GUARD);
}

/* A kernel may leave a node to a faster one, but not to the plain loop. */
static void check_choice(const liana__sample *sample, const liana__node *node)
{
    for (int isa = LIANA__ISA_BASELINE; isa <= (int)context->isa; isa++) {
        if (liana__choose_kernel(context, node, (liana__isa)isa) != liana__reference_kernel(node)) continue;
        for (const liana__kernel *const *kernel = node->op->kernels; kernel[1]; kernel++) {
            const char *reason = NULL;
            if ((int)(*kernel)->isa > isa || ((*kernel)->applicable && !(*kernel)->applicable(node, &reason))) continue;
            fail_msg("%s, sample '%s': the reference is chosen, though kernel %s is applicable", node->op->name,
                     sample->name, (*kernel)->name);
        }
    }
}

/* Each kernel of a node against its reference, on inputs that the reference computed. */
static void check_node(const liana__sample *sample, const liana__node *node, const void *const *values)
{
    const void *src[64];
    assert_compare(node->num_inputs, <=, 64);
    check_choice(sample, node);
    for (uint32_t i = 0; i < node->num_inputs; i++) src[i] = values[node->inputs[i]->id];
    char *expected = run_kernel(liana__reference_kernel(node), node, src);
    const liana__kernel *const *const lists[] = {node->op->kernels, liana__emulated_kernels(node->op)};
    for (int list = 0; list < 2; list++) {
        for (const liana__kernel *const *kernel = lists[list]; *kernel; kernel++) {
            check_kernel(sample, *kernel, node, src, expected);
        }
    }
    free(expected - GUARD);
}

/* The nodes of the op itself and of its gradient, computed one by one with the reference. */
static void check_kernels(const liana__samples *op, const liana__sample *sample, liana_dtype dtype)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor y = liana__sample_build(sample, graph, dtype);
    assert_built(graph, op, sample);
    assert_ok(liana__graph_verify(graph, &context->error), &context->error);
    liana__test_value inputs[64];
    liana__test_draw_inputs(graph, 12, inputs);
    void **values = calloc(graph->num_nodes, sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < graph->num_inputs; i++) {
        size_t size = liana__byte_size(inputs[i].dtype, &inputs[i].shape);
        values[graph->inputs[i]->id] = guarded(size);
        memcpy(values[graph->inputs[i]->id], inputs[i].data, size);
    }
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        const void *src[64];
        if (liana__is_constant(node)) {
            size_t size = liana__byte_size(node->dtype, &node->shape);
            values[id] = guarded(size);
            memcpy(values[id], liana__constant_data(node), size);
        }
        if (!node->op->kernels) continue;
        for (uint32_t i = 0; i < node->num_inputs; i++) src[i] = values[node->inputs[i]->id];
        if (id == y.id || node->op == op->op) check_node(sample, node, (const void *const *)values);
        values[id] = run_kernel(liana__reference_kernel(node), node, src);
    }
    for (size_t id = 1; id < graph->num_nodes; id++) {
        if (values[id]) free((char *)values[id] - GUARD);
    }
    free(values);
    liana__test_free_values(inputs, graph->num_inputs);
    liana_graph_destroy(graph);
}

static void test_kernels(void **state)
{
    const liana__samples *op = *state;
    assert_compare(op->count, >, 0);
    for (size_t i = 0; i < op->count; i++) {
        const liana__sample sample = liana__samples_at(op, i);
        check_kernels(op, &sample, LIANA_F32);
    }
}

static void test_kernels_of_bf16(void **state)
{
    const liana__samples *op = *state;
    for (size_t i = 0; i < op->count; i++) {
        const liana__sample sample = liana__samples_at(op, i);
        check_kernels(op, &sample, LIANA_BF16);
    }
}

/* ---- the edges of numbers ---- */

enum { NUM_EDGES = 13 };

/* Every pair of edges: element k of input i is edge k / NUM_EDGES or k % NUM_EDGES. */
static void fill_edges(float *values, uint32_t input)
{
    static const float edges[NUM_EDGES] = {0,       -0.0f,      INFINITY, -INFINITY, NAN, FLT_MAX, -FLT_MAX,
                                           FLT_MIN, -0x1p-149f, 2.5f,     -1,        6,   1e30f};
    for (int k = 0; k < NUM_EDGES * NUM_EDGES; k++) values[k] = edges[input ? k % NUM_EDGES : k / NUM_EDGES];
}

/* Every kernel of every element-wise op of floats against the reference. */
static void test_edges(void **state)
{
    (void)state;
    static const liana__sample sample = {.name = "edges"};
    static float inputs[2][NUM_EDGES * NUM_EDGES];
    for (uint32_t i = 0; i < 2; i++) fill_edges(inputs[i], i);
    int checked = 0;
    for (size_t op = 0; op < NUM_OPS; op++) {
        const liana__op *under_test = all_samples[op]->op;
        if (under_test->placement != LIANA__PLACE_IN_PLACE || under_test->attributes ||
            liana__op_most_inputs(under_test) > 2)
            continue;
        liana_graph *graph = liana__test_new_graph(context);
        liana_shape shape = liana_shape_of(NUM_EDGES * NUM_EDGES);
        const liana_tensor tensors[] = {liana_graph_input(graph, "a", LIANA_F32, shape),
                                        liana_graph_input(graph, "b", LIANA_F32, shape)};
        liana_tensor y = liana__build(LIANA_HERE, graph, under_test, tensors, liana__op_most_inputs(under_test), NULL);
        if (liana_graph_status(graph) == LIANA_OK) { /* not one of bools */
            const void *const values[] = {NULL, inputs[0], inputs[1]};
            check_node(&sample, liana__tensor_node(y), values);
            checked++;
        }
        liana_graph_destroy(graph);
    }
    assert_compare(checked, >, 30);
}

typedef struct kind {
    const char *name;
    void (*run)(void **state);
} kind;

int main(void)
{
    static const kind kinds[] = {{"gradient", test_gradients},
                                 {"kernels", test_kernels},
                                 {"kernels of bf16", test_kernels_of_bf16}};
    enum { NUM_KINDS = sizeof kinds / sizeof *kinds };
    static struct CMUnitTest tests[NUM_KINDS * NUM_OPS + 1] = {[NUM_KINDS * NUM_OPS] = cmocka_unit_test(test_edges)};
    static char names[NUM_KINDS * NUM_OPS][64];
    for (size_t i = 0; i < NUM_KINDS * NUM_OPS; i++) {
        const liana__samples *op = all_samples[i / NUM_KINDS];
        snprintf(names[i], sizeof names[i], "%s %s", op->op->name, kinds[i % NUM_KINDS].name);
        tests[i] = (struct CMUnitTest){names[i], kinds[i % NUM_KINDS].run, NULL, NULL, (void *)op};
    }
    return cmocka_run_group_tests_name("ops", tests, set_up, tear_down);
}
