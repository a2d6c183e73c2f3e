/* 3x3 convolutions with fewer products: how exact they are, their results for numbers that are not finite, and that
 * tiles, packed kernels and the place in a batch change no bit. */
#include "harness/peers.h"

#include "base/context.h"
#include "harness/graph_run.h"
#include "harness/kernel_run.h"
#include "kernels/kernel_choice.h"
#include "ops/conv/conv2d.h"

#include <float.h>
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
} problem;

/* A node of one pass over inputs without values. */
static const liana__node *build(liana_graph *graph, const problem *p, liana_dtype dtype, liana__conv_pass pass)
{
    liana_tensor x = liana_graph_input(graph, "x", dtype, liana_shape_of(p->batch, p->height, p->width, p->channels));
    liana_tensor kernel = liana_graph_input(graph, "kernel", dtype, liana_shape_of(3, 3, p->channels, p->filters));
    liana_tensor y = liana_op_conv2d(x, kernel, (liana_conv_options){.padding = LIANA_PADDING_SAME});
    assert_ok(liana_graph_status(graph), &context->error);
    const liana__node *node = liana__tensor_node(y);
    if (pass == LIANA__CONV_FORWARD) return node;
    liana_tensor dy = liana_graph_input(graph, "dy", dtype, node->shape);
    liana__conv_attributes attributes = *(const liana__conv_attributes *)node->attributes;
    const bool of_input = pass == LIANA__CONV_INPUT_GRADIENT;
    attributes.size[0] = of_input ? p->height : 3;
    attributes.size[1] = of_input ? p->width : 3;
    liana_tensor made = of_input ? liana__build2(LIANA_HERE, &liana__op_conv2d_input_gradient, dy, kernel, &attributes)
                                 : liana__build2(LIANA_HERE, &liana__op_conv2d_kernel_gradient, x, dy, &attributes);
    assert_ok(liana_graph_status(graph), &context->error);
    return liana__tensor_node(made);
}

static const char *const pass_names[] = {"forward", "images' gradient", "kernel's gradient"};
/* Of 4 x 4 and of 3 x 3 results. */
static const problem problems[] = {{2, 12, 16, 128, 32}, {4, 6, 6, 96, 48}};

/* ---- rounding ---- */

static double relative_error(const liana__node *node, const void *got, const void *right)
{
    double error = 0, size = 0;
    for (int64_t i = 0; i < liana_shape_size(&node->shape); i++) {
        const double a = liana__load(got, node->dtype, i), b = liana__load(right, node->dtype, i);
        error += (a - b) * (a - b);
        size += b * b;
    }
    return sqrt(error / size);
}

/* The mean error is at most three times that of sums in plain order, which oneDNN makes, and of a few roundings more
 * (2^-24 is half a unit in the last place) where sums are short. */
static void check_rounding(const problem *p, liana__conv_pass pass)
{
    liana_graph *graph = liana__test_new_graph(context);
    const liana__node *node = build(graph, p, LIANA_F32, pass);
    liana__test_sources s = liana__test_draw_sources(node);
    const liana__kernel *kernels[LIANA__TEST_MAX_KERNELS], *direct[LIANA__TEST_MAX_KERNELS];
    void *right = liana__test_run_kernel(context, liana__reference_kernel(node), node, &s, (liana__test_manner){0});
    assert_int_equal(liana__test_find_kernels(context, node, "onednn", direct), 1);
    void *plain = liana__test_run_kernel(context, direct[0], node, &s, (liana__test_manner){0});
    const double usual = relative_error(node, plain, right);
    for (int left = liana__test_find_kernels(context, node, "winograd_", kernels); left > 0; left--) {
        void *got = liana__test_run_kernel(context, kernels[left - 1], node, &s, (liana__test_manner){0});
        const double error = relative_error(node, got, right);
        if (error > 3 * usual + 6 * 0x1p-24) {
            fail_msg("%s, %s: the relative error is %.3g, that of direct sums %.3g", pass_names[pass],
                     kernels[left - 1]->name, error, usual);
        }
        free(got);
    }
    free(plain);
    free(right);
    liana__test_free_sources(&s);
    liana_graph_destroy(graph);
}

static void test_rounding(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        for (int pass = 0; pass < 3; pass++) check_rounding(&problems[i], (liana__conv_pass)pass);
    }
}

/* ---- numbers that are not finite ---- */

static void check_class(const liana__node *node, const char *kernel, const void *got, const void *right, int *odd)
{
    for (int64_t i = 0; i < liana_shape_size(&node->shape); i++) {
        const double a = liana__load(got, node->dtype, i), b = liana__load(right, node->dtype, i);
        *odd += !isfinite(b);
        const bool same = isnan(b) ? isnan(a) : isinf(b) ? a == b : fabs(a - b) <= 0.05 * (1 + fabs(b));
        if (!same) {
            fail_msg("%s, kernel %s: element %lld is %g, the reference says %g", node->op->name, kernel, (long long)i,
                     a, b);
        }
    }
}

/* An infinity, a NaN and a number near the largest in one input: results that they do not reach stay finite and
 * right. */
static void check_odd_numbers(const problem *p, liana_dtype dtype, liana__conv_pass pass, int input, double value)
{
    liana_graph *graph = liana__test_new_graph(context);
    const liana__node *node = build(graph, p, dtype, pass);
    liana__test_sources s = liana__test_draw_sources(node);
    const int64_t size = liana_shape_size(&node->inputs[input]->shape);
    liana__store(s.data[input], dtype, size / 2 + 1, value);
    const liana__kernel *kernels[LIANA__TEST_MAX_KERNELS];
    void *right = liana__test_run_kernel(context, liana__reference_kernel(node), node, &s, (liana__test_manner){0});
    for (int left = liana__test_find_kernels(context, node, "winograd_", kernels); left > 0; left--) {
        int odd = 0;
        void *got = liana__test_run_kernel(context, kernels[left - 1], node, &s, (liana__test_manner){0});
        check_class(node, kernels[left - 1]->name, got, right, &odd);
        assert_compare(odd, >, 0);
        assert_compare(odd, <, liana_shape_size(&node->shape));
        free(got);
    }
    free(right);
    liana__test_free_sources(&s);
    liana_graph_destroy(graph);
}

static void test_numbers_that_are_not_finite(void **state)
{
    (void)state;
    static const problem small[] = {{2, 8, 11, 17, 19}, {2, 6, 6, 20, 16}};
    for (int i = 0; i < 2; i++) {
        for (int pass = 0; pass < 3; pass++) {
            for (int input = 0; input < 2; input++) {
                check_odd_numbers(&small[i], LIANA_F32, (liana__conv_pass)pass, input, INFINITY);
                check_odd_numbers(&small[i], LIANA_F32, (liana__conv_pass)pass, input, (double)NAN);
                check_odd_numbers(&small[i], LIANA_BF16, (liana__conv_pass)pass, input, -INFINITY);
            }
        }
    }
}

/* Numbers that only the transforms make too large: no result is. */
static void test_large_numbers(void **state)
{
    (void)state;
    const problem p = {1, 8, 8, 16, 16};
    for (int pass = 0; pass < 3; pass++) {
        liana_graph *graph = liana__test_new_graph(context);
        const liana__node *node = build(graph, &p, LIANA_F32, (liana__conv_pass)pass);
        liana__test_sources s = liana__test_draw_sources(node);
        for (int64_t i = 0; i < liana_shape_size(&node->inputs[0]->shape); i++) {
            liana__store(s.data[0], LIANA_F32, i, ((const float *)s.data[0])[i] > 0 ? 0.9 * FLT_MAX : -0.9 * FLT_MAX);
        }
        for (int64_t i = 0; i < liana_shape_size(&node->inputs[1]->shape); i++) {
            liana__store(s.data[1], LIANA_F32, i, ((const float *)s.data[1])[i] * 1e-2);
        }
        const liana__kernel *kernels[LIANA__TEST_MAX_KERNELS];
        void *right = liana__test_run_kernel(context, liana__reference_kernel(node), node, &s, (liana__test_manner){0});
        for (int left = liana__test_find_kernels(context, node, "winograd_", kernels); left > 0; left--) {
            float *got = liana__test_run_kernel(context, kernels[left - 1], node, &s, (liana__test_manner){0});
            for (int64_t i = 0; i < liana_shape_size(&node->shape); i++) {
                const double b = ((const float *)right)[i], a = got[i];
                assert_true(isfinite(b));
                assert_near(a, b, 1e-5 * FLT_MAX);
            }
            free(got);
        }
        free(right);
        liana__test_free_sources(&s);
        liana_graph_destroy(graph);
    }
}

/* ---- bits ---- */

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

/* Whole, in tiles, with a packed kernel, and both; one block, and several; an infinity in one tile, which is computed
 * in another way than its neighbours. */
static void test_tiles_and_packed_kernels(void **state)
{
    (void)state;
    static const problem several[] = {{5, 23, 30, 18, 40}, {11, 6, 6, 33, 64}};
    for (int i = 0; i < 4; i++) {
        const liana_dtype dtype = i & 1 ? LIANA_BF16 : LIANA_F32;
        for (int pass = 0; pass < 2; pass++) {
            liana_graph *graph = liana__test_new_graph(context);
            const liana__node *node = build(graph, &several[i / 2], dtype, (liana__conv_pass)pass);
            liana__test_sources s = liana__test_draw_sources(node);
            liana__store(s.data[0], dtype, liana_shape_size(&node->inputs[0]->shape) / 3, INFINITY);
            const liana__kernel *kernels[LIANA__TEST_MAX_KERNELS];
            for (int left = liana__test_find_kernels(context, node, "winograd_", kernels); left > 0; left--) {
                const liana__kernel *kernel = kernels[left - 1];
                void *whole = liana__test_run_kernel(context, kernel, node, &s, (liana__test_manner){0});
                if (i < 2) check_same(kernel, node, &s, whole, (liana__test_manner){1, false});
                if (i < 2) check_same(kernel, node, &s, whole, (liana__test_manner){1, true});
                check_same(kernel, node, &s, whole, (liana__test_manner){0, true});
                free(whole);
            }
            liana__test_free_sources(&s);
            liana_graph_destroy(graph);
        }
    }
}

/* An image gives the same bits alone and in a batch: an execution may run image by image. */
static void test_one_image_of_many(void **state)
{
    (void)state;
    const problem many = {7, 21, 26, 24, 33}, one = {1, 21, 26, 24, 33};
    for (int pass = 0; pass < 2; pass++) {
        liana_graph *graph = liana__test_new_graph(context), *small = liana__test_new_graph(context);
        const liana__node *node = build(graph, &many, LIANA_F32, (liana__conv_pass)pass);
        const liana__node *single = build(small, &one, LIANA_F32, (liana__conv_pass)pass);
        liana__test_sources s = liana__test_draw_sources(node);
        const size_t source = liana__byte_size(LIANA_F32, &single->inputs[0]->shape);
        const size_t result = liana__byte_size(LIANA_F32, &single->shape);
        const liana__kernel *kernels[LIANA__TEST_MAX_KERNELS];
        for (int left = liana__test_find_kernels(context, node, "winograd_", kernels); left > 0; left--) {
            char *whole = liana__test_run_kernel(context, kernels[left - 1], node, &s, (liana__test_manner){0});
            for (size_t image = 0; image < 7; image++) {
                const liana__test_sources alone = {{(char *)s.data[0] + image * source, s.data[1]}};
                void *got = liana__test_run_kernel(context, kernels[left - 1], single, &alone, (liana__test_manner){0});
                assert_memory_equal(got, whole + image * result, result);
                free(got);
            }
            free(whole);
        }
        liana__test_free_sources(&s);
        liana_graph_destroy(graph);
        liana_graph_destroy(small);
    }
}

/* ---- choice ---- */

static const char *declines(const problem *p, liana_dtype dtype, liana__conv_pass pass, liana__isa isa)
{
    liana_graph *graph = liana__test_new_graph(context);
    const liana__node *node = build(graph, p, dtype, pass);
    const char *reason = "is not here", *unused;
    for (const liana__kernel *const *k = node->op->kernels; *k; k++) {
        if (strcmp((*k)->name, "winograd_avx512") != 0 || !(*k)->applicable(node, &unused)) continue;
        reason = liana__kernel_declines(*k, node, isa);
    }
    liana_graph_destroy(graph);
    return reason;
}

static void test_choice(void **state)
{
    (void)state;
#if defined(LIANA_X86)
    /* The kernel's own code answers, in instructions of its level. */
    if (context->isa < LIANA__ISA_AVX512) {
        liana__test_skip("no AVX-512");
    }
    const problem usual = {16, 24, 24, 128, 128}, single = {1, 12, 12, 256, 256}, narrow = {16, 24, 24, 8, 128};
    const problem tiny = {64, 2, 2, 128, 128}, fifth = {16, 5, 5, 128, 128}, vast = {16, 24, 24, 1024, 1024};
    for (int pass = 0; pass < 3; pass++) {
        const liana__conv_pass which = (liana__conv_pass)pass;
        assert_null(declines(&usual, LIANA_F32, which, LIANA__ISA_AVX512));
        assert_null(declines(&usual, LIANA_BF16, which, LIANA__ISA_AVX512_BF16));
        assert_null(declines(&usual, LIANA_F32, which, LIANA__ISA_AMX));
        assert_null(declines(&usual, LIANA_BF16, which, LIANA__ISA_AVX512_BF16_STORAGE));
        assert_null(declines(&fifth, LIANA_BF16, which, LIANA__ISA_AVX512_BF16_STORAGE)); /* as in f32 */
        if (which == LIANA__CONV_KERNEL_GRADIENT) {
            assert_null(declines(&usual, LIANA_BF16, which, LIANA__ISA_AMX)); /* behind windows on tiles in the list */
        } else {
            assert_string_equal(declines(&usual, LIANA_BF16, which, LIANA__ISA_AMX), "tiles of AMX are faster");
        }
        assert_string_equal(declines(&narrow, LIANA_F32, which, LIANA__ISA_AVX512), "too few channels or filters");
        assert_string_equal(declines(&tiny, LIANA_F32, which, LIANA__ISA_AVX512),
                            "too little of its tiles lies in the image");
        assert_string_equal(declines(&vast, LIANA_F32, which, LIANA__ISA_AVX512),
                            "the transformed kernel would take too much memory");
        assert_null(declines(&fifth, LIANA_F32, which, LIANA__ISA_AVX512));
        assert_string_equal(declines(&fifth, LIANA_BF16, which, LIANA__ISA_AVX512_BF16),
                            "too little of its tiles lies in the image");
    }
    assert_string_equal(declines(&single, LIANA_F32, LIANA__CONV_FORWARD, LIANA__ISA_AVX512),
                        "too few pixels to transform the kernel for");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounding),          cmocka_unit_test(test_numbers_that_are_not_finite),
        cmocka_unit_test(test_large_numbers),     cmocka_unit_test(test_tiles_and_packed_kernels),
        cmocka_unit_test(test_one_image_of_many), cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
