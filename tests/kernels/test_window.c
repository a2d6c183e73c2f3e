/* Windows without strides on tiles of AMX, real ones where the processor has them and emulated ones everywhere: the
 * same as oneDNN's convolutions in f32, whatever the padding and the sizes; tiles and packed kernels change no bit. */
#include "harness/harness.h"

#include "base/context.h"
#include "harness/graph_run.h"
#include "harness/kernel_run.h"
#include "ops/conv/conv2d.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(0, &context, NULL, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, NULL, NULL);
}

typedef struct problem {
    int64_t batch, height, width, channels, filters;
    int64_t window[2];
    int64_t low[2], high[2]; /* padding */
} problem;

/* Lines of one tile and of several, the last of which overlaps; steps and panels that are whole and that are not; more
 * lines than are computed together, more pixels than a block of the gradient's grid; padding on one side only. */
static const problem problems[] = {
    {4, 48, 48, 64, 64, {3, 3}, {1, 1}, {1, 1}}, {5, 12, 12, 96, 48, {3, 3}, {1, 1}, {1, 1}},
    {9, 6, 6, 64, 160, {3, 3}, {1, 1}, {1, 1}},  {2, 17, 33, 32, 24, {3, 3}, {0, 0}, {0, 0}},
    {2, 9, 19, 40, 33, {5, 3}, {2, 1}, {2, 1}},  {1, 7, 7, 32, 16, {2, 4}, {0, 0}, {1, 3}},
    {3, 8, 5, 20, 18, {7, 5}, {6, 0}, {0, 4}},   {1, 1, 1, 64, 32, {3, 3}, {1, 1}, {1, 1}},
    {2, 40, 3, 33, 96, {1, 3}, {0, 2}, {0, 2}},
};

static const liana__node *build(liana_graph *graph, const problem *p, liana__conv_pass pass)
{
    const liana_dtype dtype = LIANA_BF16;
    liana_tensor x = liana_graph_input(graph, "x", dtype, liana_shape_of(p->batch, p->height, p->width, p->channels));
    liana_tensor kernel =
        liana_graph_input(graph, "kernel", dtype, liana_shape_of(p->window[0], p->window[1], p->channels, p->filters));
    const liana_conv_options options = {.padding = LIANA_PADDING_EXPLICIT,
                                        .explicit_padding = {p->low[0], p->high[0], p->low[1], p->high[1]}};
    liana_tensor y = liana_op_conv2d(x, kernel, options);
    assert_ok(liana_graph_status(graph), &context->error);
    const liana__node *node = liana__tensor_node(y);
    if (pass == LIANA__CONV_FORWARD) return node;
    liana_tensor dy = liana_graph_input(graph, "dy", dtype, node->shape);
    liana__conv_attributes attributes = *(const liana__conv_attributes *)node->attributes;
    const bool of_input = pass == LIANA__CONV_INPUT_GRADIENT;
    attributes.size[0] = of_input ? p->height : p->window[0];
    attributes.size[1] = of_input ? p->width : p->window[1];
    liana_tensor made = of_input ? liana__build2(LIANA_HERE, &liana__op_conv2d_input_gradient, dy, kernel, &attributes)
                                 : liana__build2(LIANA_HERE, &liana__op_conv2d_kernel_gradient, x, dy, &attributes);
    assert_ok(liana_graph_status(graph), &context->error);
    return liana__tensor_node(made);
}

/* How many products are added up in each element. */
static double count_terms(const problem *p, const liana__node *node, liana__conv_pass pass)
{
    const double cells = (double)(p->window[0] * p->window[1]);
    if (pass == LIANA__CONV_FORWARD) return cells * (double)p->channels;
    if (pass == LIANA__CONV_INPUT_GRADIENT) return cells * (double)p->filters;
    const liana_shape *dy = liana__input_shape(node, 1);
    return (double)(dy->dims[0] * dy->dims[1] * dy->dims[2]);
}

/* Two numbers that are nearly the same may be rounded to neighbours among bf16, 2^-7 apart; both sums differ by some
 * 2^-24 of their terms, whose mean square is 1/9. */
static void compare(const liana__node *node, const char *name, const void *got, const void *expected, double terms)
{
    const double rounding = node->dtype == LIANA_BF16 ? 0x1p-7 : 0;
    for (int64_t i = 0; i < liana_shape_size(&node->shape); i++) {
        const double a = liana__load(got, node->dtype, i), b = liana__load(expected, node->dtype, i);
        if (!(fabs(a - b) <= rounding * fabs(b) + 0x1p-19 * sqrt(terms))) {
            fail_msg("%s, kernel %s: element %lld is %g, oneDNN says %g", node->op->name, name, (long long)i, a, b);
        }
    }
}

static void check_same(const liana__kernel *kernel, const liana__node *node, const liana__test_sources *s,
                       const void *expected, liana__test_manner how)
{
    void *got = liana__test_run_kernel(context, kernel, node, s, how);
    if (memcmp(got, expected, liana__byte_size(node->dtype, &node->shape)) != 0) {
        fail_msg("%s, kernel %s: other bits in %zu tiles, packed %d", node->op->name, kernel->name, how.tiles,
                 how.packed);
    }
    free(got);
}

/* Kernels on emulated tiles are slow: they take the smaller problems. */
static bool is_large(const problem *p)
{
    return p->batch * p->height * p->width * p->channels * p->filters > 4 << 20;
}

static void check(const problem *p, liana__conv_pass pass, bool in_tiles)
{
    liana_graph *graph = liana__test_new_graph(context);
    const liana__node *node = build(graph, p, pass);
    liana__test_sources s = liana__test_draw_sources(node);
    const liana__kernel *plain[LIANA__TEST_MAX_KERNELS], *kernels[LIANA__TEST_MAX_KERNELS];
    assert_int_equal(liana__test_find_kernels(context, node, "onednn_widened", plain), 1);
    void *expected = liana__test_run_kernel(context, plain[0], node, &s, (liana__test_manner){0});
    for (int left = liana__test_find_kernels(context, node, "window_", kernels); left > 0; left--) {
        const liana__kernel *kernel = kernels[left - 1];
        if (is_large(p) && strstr(kernel->name, "emulated")) continue;
        void *got = liana__test_run_kernel(context, kernel, node, &s, (liana__test_manner){0});
        compare(node, kernel->name, got, expected, count_terms(p, node, pass));
        if (pass != LIANA__CONV_KERNEL_GRADIENT) {
            check_same(kernel, node, &s, got, (liana__test_manner){0, true});
            if (in_tiles) check_same(kernel, node, &s, got, (liana__test_manner){1, false});
            if (in_tiles) check_same(kernel, node, &s, got, (liana__test_manner){1, true});
        }
        free(got);
    }
    free(expected);
    liana__test_free_sources(&s);
    liana_graph_destroy(graph);
}

static void check_pass(liana__conv_pass pass)
{
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) check(&problems[i], pass, i < 2);
}

static void test_forward(void **state)
{
    (void)state;
    check_pass(LIANA__CONV_FORWARD);
}

static void test_gradient_of_images(void **state)
{
    (void)state;
    check_pass(LIANA__CONV_INPUT_GRADIENT);
}

static void test_gradient_of_kernel(void **state)
{
    (void)state;
    check_pass(LIANA__CONV_KERNEL_GRADIENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_gradient_of_images),
        cmocka_unit_test(test_gradient_of_kernel),
    };
    return cmocka_run_group_tests_name("windows on tiles", tests, set_up, tear_down);
}
