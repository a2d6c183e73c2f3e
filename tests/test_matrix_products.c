/* liana's own matrix products: long sums stay accurate, sizes around every tile are exact, and each is taken only where
 * it is the best. */
#include "harness/harness.h"

#include "backends/kernel_choice.h"
#include "base/context.h"
#include "base/memory.h"
#include "harness/emulated_kernels.h"
#include "ops/conv2d.h"
#include "ops/matmul.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;

static int set_up(void **state)
{
    (void)state;
    return liana_context_create(NULL, &context) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_context_destroy(context);
    return 0;
}

typedef struct sizes {
    int64_t m, k, n;
} sizes;

/* C [m, n] f32 from bf16 or f32. */
static const liana__node *build_matmul(liana_graph *graph, liana_dtype dtype, sizes s, bool transpose_a,
                                       bool transpose_b)
{
    const liana__matmul_attributes attributes = {transpose_a, transpose_b, true};
    liana_shape a = transpose_a ? liana_shape_of(s.k, s.m) : liana_shape_of(s.m, s.k);
    liana_shape b = transpose_b ? liana_shape_of(s.n, s.k) : liana_shape_of(s.k, s.n);
    liana_tensor c = liana__build2(LIANA_HERE, &liana__op_matmul, liana_graph_input(graph, "a", dtype, a),
                                   liana_graph_input(graph, "b", dtype, b), &attributes);
    assert_ok(liana_graph_status(graph), &context->error);
    return liana__tensor_node(c);
}

static liana_graph *new_graph(void)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    return graph;
}

/* liana's own kernels that take a node here, on emulated tiles too. */
static int own_kernels(const liana__node *node, const liana__kernel **found)
{
    const liana__kernel *const *const lists[] = {node->op->kernels, liana__emulated_kernels(node->op)};
    int count = 0;
    for (int list = 0; list < 2; list++) {
        for (const liana__kernel *const *k = lists[list]; *k; k++) {
            const char *reason = NULL;
            const bool of_others = strstr((*k)->name, "onednn") || strcmp((*k)->name, "reference") == 0;
            if (of_others || (*k)->isa > context->isa) continue;
            if ((*k)->applicable(node, &reason)) found[count++] = *k;
        }
    }
    return count;
}

static void run(const liana__kernel *kernel, const liana__node *node, const void *a, const void *b, void *c)
{
    liana__prepared prepared = {0};
    assert_ok(kernel->prepare(node, &prepared, &context->error), &context->error);
    void *scratch = liana__allocate_aligned(prepared.scratch_size);
    assert_non_null(scratch);
    const void *src[] = {a, b};
    const liana__call call = {.node = node, .src = src, .dst = c, .scratch = scratch, .plan = prepared.plan};
    assert_int_equal(kernel->run(&call), LIANA_OK);
    free(scratch);
    const char *fault = liana__emulated_fault();
    if (fault) fail_msg("%s: %s", kernel->name, fault);
    assert_false(liana__emulated_tiles_held());
}

static void *fill(liana_dtype dtype, int64_t count, double (*value)(int64_t index))
{
    void *data = liana__allocate_aligned((size_t)count * liana_dtype_size(dtype));
    assert_non_null(data);
    for (int64_t i = 0; i < count; i++) liana__store(data, dtype, i, value(i));
    return data;
}

static double expected(const liana__node *node, sizes s, const void *a, const void *b, int64_t row, int64_t column)
{
    const liana__matmul_attributes *options = node->attributes;
    liana_dtype dtype = node->inputs[0]->dtype;
    double sum = 0;
    for (int64_t i = 0; i < s.k; i++) {
        int64_t in_a = options->transpose_a ? i * s.m + row : row * s.k + i;
        int64_t in_b = options->transpose_b ? column * s.k + i : i * s.n + column;
        sum += liana__load(a, dtype, in_a) * liana__load(b, dtype, in_b);
    }
    return sum;
}

/* Compares every element; `tolerance` is relative. */
static void check(liana_dtype dtype, sizes s, bool transpose_a, bool transpose_b, double (*value)(int64_t index),
                  double tolerance)
{
    liana_graph *graph = new_graph();
    const liana__node *node = build_matmul(graph, dtype, s, transpose_a, transpose_b);
    void *a = fill(dtype, s.m * s.k, value), *b = fill(dtype, s.k * s.n, value);
    float *c = liana__allocate_aligned((size_t)(s.m * s.n) * sizeof *c);
    const liana__kernel *kernels[8];
    for (int left = own_kernels(node, kernels); left > 0; left--) {
        const liana__kernel *kernel = kernels[left - 1];
        memset(c, 0xff, (size_t)(s.m * s.n) * sizeof *c);
        run(kernel, node, a, b, c);
        for (int64_t i = 0; i < s.m * s.n; i++) {
            double want = expected(node, s, a, b, i / s.n, i % s.n);
            if (fabs(c[i] - want) <= tolerance * fabs(want)) continue;
            fail_msg("%s of %lld x %lld x %lld%s%s: element %lld is %.9g, expected %.9g", kernel->name, (long long)s.m,
                     (long long)s.k, (long long)s.n, transpose_a ? ", a transposed" : "",
                     transpose_b ? ", b transposed" : "", (long long)i, c[i], want);
        }
    }
    free(a);
    free(b);
    free(c);
    liana_graph_destroy(graph);
}

/* Small whole numbers: every sum is exact, whatever its order. */
static double whole(int64_t index)
{
    return (double)((index * 5 + index / 7) % 17 - 8);
}

typedef struct size_lists {
    int64_t rows[8], depths[8], columns[12]; /* up to the first 0 */
} size_lists;

/* All combinations, in all three forms. */
static void check_lists(liana_dtype dtype, const size_lists *lists)
{
    for (const int64_t *m = lists->rows; *m; m++) {
        for (const int64_t *k = lists->depths; *k; k++) {
            for (const int64_t *n = lists->columns; *n; n++) {
                for (int form = 0; form < 3; form++) {
                    check(dtype, (sizes){*m, *k, *n}, form == 1, form == 2, whole, 0);
                }
            }
        }
    }
}

static void test_sizes(void **state)
{
    (void)state;
    static const size_lists lists = {{1, 2, 7, 8, 9, 23},
                                     {1, 2, 3, 4, 31, 64, 130},
                                     {1, 5, 8, 12, 16, 17, 24, 33, 40, 56, 105}};
    static const size_lists deep = {{2, 8, 23}, {600}, {5, 16, 24, 33, 96}};
    check_lists(LIANA_F32, &lists);
    check_lists(LIANA_BF16, &lists);
    check_lists(LIANA_F32, &deep);
    check_lists(LIANA_BF16, &deep);
}

/* Around tiles of 16 rows and columns, blocks of two by two of them, steps of 32, 256 rows taken at once and blocks of
 * a sum, which are not cut before 768. */
static void test_sizes_of_tiles(void **state)
{
    (void)state;
    static const size_lists blocks = {{15, 16, 17, 32, 33, 49}, {32, 33, 95}, {15, 16, 17, 31, 32, 48, 49, 64}};
    static const size_lists tall = {{255, 257, 290}, {31, 64, 65}, {7, 33}};
    static const size_lists deep = {{33}, {767, 768, 1281}, {16, 70}};
    check_lists(LIANA_BF16, &blocks);
    check_lists(LIANA_BF16, &tall);
    check_lists(LIANA_BF16, &deep);
    check(LIANA_BF16, (sizes){70, 2000, 21}, true, false, whole, 0); /* its transpose is computed */
}

/* 1 to 2, exact in bf16. */
static double biased(int64_t index)
{
    return 1 + (double)(index * 37 % 101) / 128;
}

/* Thousands of blocks, all of one sign: the hardest for a sum in f32. */
static void test_long_sums(void **state)
{
    (void)state;
    check(LIANA_F32, (sizes){3, 300000, 5}, true, false, biased, 1e-5);
    check(LIANA_BF16, (sizes){3, 300000, 5}, true, false, biased, 1e-5);
    check(LIANA_F32, (sizes){16, 300000, 3}, true, false, biased, 1e-5);
}

#if defined(LIANA_X86)
/* Which kernel a processor of that instruction set would take. */
static const char *choice(liana_dtype dtype, sizes s, bool transpose_a, liana__isa isa)
{
    liana_graph *graph = new_graph();
    const char *name = liana__choose_kernel(context, build_matmul(graph, dtype, s, transpose_a, false), isa)->name;
    liana_graph_destroy(graph);
    return name;
}

static void test_choice(void **state)
{
    (void)state;
    const sizes large = {4608, 64, 384}, few_rows = {36, 576, 160}, half = {4608, 96, 24}, pixels = {96, 18432, 24};
    const sizes wide = {256, 4608, 512};
    assert_string_equal(choice(LIANA_F32, large, false, LIANA__ISA_AVX512), "avx512");
    assert_string_equal(choice(LIANA_F32, large, false, LIANA__ISA_AMX), "avx512");
    assert_string_equal(choice(LIANA_F32, large, false, LIANA__ISA_AVX2), "avx2");
    assert_string_equal(choice(LIANA_F32, large, false, LIANA__ISA_BASELINE), "onednn");
    assert_string_equal(choice(LIANA_F32, few_rows, false, LIANA__ISA_AVX512), "onednn");
    assert_string_equal(choice(LIANA_F32, half, false, LIANA__ISA_AVX2), "onednn");
    assert_string_equal(choice(LIANA_F32, pixels, true, LIANA__ISA_AVX2), "onednn");
    assert_string_equal(choice(LIANA_F32, pixels, true, LIANA__ISA_AVX512_BF16), "avx512");
    assert_string_equal(choice(LIANA_BF16, large, false, LIANA__ISA_AVX512_BF16), "avx512_bf16");
    assert_string_equal(choice(LIANA_BF16, large, false, LIANA__ISA_AMX), "amx");
    assert_string_equal(choice(LIANA_BF16, wide, false, LIANA__ISA_AMX), "onednn_bf16");
    assert_string_equal(choice(LIANA_BF16, wide, true, LIANA__ISA_AMX), "amx");
    assert_string_equal(choice(LIANA_BF16, pixels, true, LIANA__ISA_AMX), "amx");
    assert_string_equal(choice(LIANA_BF16, pixels, true, LIANA__ISA_AVX512_BF16), "avx512_bf16");
    assert_string_equal(choice(LIANA_BF16, large, false, LIANA__ISA_AVX512), "onednn_widened");
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_sizes_of_tiles),
        cmocka_unit_test(test_long_sums),
#if defined(LIANA_X86)
        cmocka_unit_test(test_choice),
#endif
    };
    return cmocka_run_group_tests_name("matrix products", tests, set_up, tear_down);
}
