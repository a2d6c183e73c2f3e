/* liana's own matrix products: long sums stay accurate, sizes around every tile are exact, and each is taken only where
 * it is the best. */
#include "harness/harness.h"

#include "base/context.h"
#include "base/memory.h"
#include "harness/emulated/emulated_kernels.h"
#include "kernels/kernel_choice.h"
#include "ops/conv/conv2d.h"
#include "ops/linear/matmul.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

enum { MOST_KERNELS = 16 };

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
            if (!(*k)->applicable(node, &reason)) continue;
            assert_compare(count, <, MOST_KERNELS);
            found[count++] = *k;
        }
    }
    return count;
}

static void run(const liana__kernel *kernel, const liana__node *node, const void *a, const void *b, void *c)
{
    liana__prepared prepared = {0};
    if (kernel->prepare) assert_ok(kernel->prepare(node, &prepared, &context->error), &context->error);
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

/* Memory that ends where no byte can be read or written. */
typedef struct fenced {
    void *data, *pages;
    size_t size;
} fenced;

static fenced make_fenced(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page;
    fenced made = {.size = room + page};
    made.pages = mmap(NULL, made.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(made.pages, MAP_FAILED);
    assert_int_equal(mprotect((char *)made.pages + room, page, PROT_NONE), 0);
    made.data = (char *)made.pages + (room - size);
    memset(made.data, 0xff, size);
    return made;
}

static void free_fenced(fenced *made)
{
    assert_int_equal(munmap(made->pages, made->size), 0);
}

static fenced fill(liana_dtype dtype, int64_t count, double (*value)(int64_t index))
{
    fenced made = make_fenced((size_t)count * liana_dtype_size(dtype));
    for (int64_t i = 0; i < count; i++) liana__store(made.data, dtype, i, value(i));
    return made;
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
    fenced a = fill(dtype, s.m * s.k, value), b = fill(dtype, s.k * s.n, value);
    const liana__kernel *kernels[MOST_KERNELS];
    for (int left = own_kernels(node, kernels); left > 0; left--) {
        const liana__kernel *kernel = kernels[left - 1];
        fenced result = make_fenced((size_t)(s.m * s.n) * sizeof(float));
        const float *c = result.data;
        run(kernel, node, a.data, b.data, result.data);
        for (int64_t i = 0; i < s.m * s.n; i++) {
            double want = expected(node, s, a.data, b.data, i / s.n, i % s.n);
            if (fabs(c[i] - want) <= tolerance * fabs(want)) continue;
            fail_msg("%s of %lld x %lld x %lld%s%s: element %lld is %.9g, expected %.9g", kernel->name, (long long)s.m,
                     (long long)s.k, (long long)s.n, transpose_a ? ", a transposed" : "",
                     transpose_b ? ", b transposed" : "", (long long)i, c[i], want);
        }
        free_fenced(&result);
    }
    free_fenced(&a);
    free_fenced(&b);
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

/* ---- pixels with strides between ---- */

/* A node of one of the three ops, of 1x1 and stride 2, so large that its pixels are not all gathered at once. */
static const liana__node *build_strided(liana_graph *graph, liana_dtype dtype, int pass)
{
    enum { BATCH = 2, HEIGHT = 34, WIDTH = 31, CHANNELS = 264, FILTERS = 20 };
    static const liana_conv_options options = {.strides = {2, 2}};
    liana_tensor x = liana_graph_input(graph, "x", dtype, liana_shape_of(BATCH, HEIGHT, WIDTH, CHANNELS));
    liana_tensor kernel = liana_graph_input(graph, "kernel", dtype, liana_shape_of(1, 1, CHANNELS, FILTERS));
    liana_tensor y = liana_op_conv2d(x, kernel, options);
    assert_ok(liana_graph_status(graph), &context->error);
    const liana__node *forward = liana__tensor_node(y);
    liana__conv_attributes attributes = *(const liana__conv_attributes *)forward->attributes;
    liana_tensor dy = liana_graph_input(graph, "dy", dtype, forward->shape);
    if (pass == LIANA__CONV_FORWARD) return forward;
    const bool of_input = pass == LIANA__CONV_INPUT_GRADIENT;
    attributes.size[0] = of_input ? HEIGHT : 1;
    attributes.size[1] = of_input ? WIDTH : 1;
    liana_tensor made = of_input ? liana__build2(LIANA_HERE, &liana__op_conv2d_input_gradient, dy, kernel, &attributes)
                                 : liana__build2(LIANA_HERE, &liana__op_conv2d_kernel_gradient, x, dy, &attributes);
    assert_ok(liana_graph_status(graph), &context->error);
    return liana__tensor_node(made);
}

/* Sums are exact; a result in bf16 is rounded once by both. */
static void check_strided(liana_dtype dtype, int pass)
{
    liana_graph *graph = new_graph();
    const liana__node *node = build_strided(graph, dtype, pass);
    fenced a = fill(dtype, liana_shape_size(&node->inputs[0]->shape), whole);
    fenced b = fill(dtype, liana_shape_size(&node->inputs[1]->shape), whole);
    const size_t size = liana__byte_size(node->dtype, &node->shape);
    fenced want = make_fenced(size);
    const void *src[] = {a.data, b.data};
    const liana__call call = {.node = node, .src = src, .dst = want.data};
    assert_int_equal(liana__reference_kernel(node)->run(&call), LIANA_OK);
    const liana__kernel *kernels[MOST_KERNELS];
    const int count = own_kernels(node, kernels);
    if (context->isa >= LIANA__ISA_AVX2) assert_compare(count, >, 0);
    for (int i = 0; i < count; i++) {
        fenced got = make_fenced(size);
        run(kernels[i], node, a.data, b.data, got.data);
        for (int64_t k = 0; k < liana_shape_size(&node->shape); k++) {
            const double value = liana__load(got.data, node->dtype, k), right = liana__load(want.data, node->dtype, k);
            if (value == right) continue;
            fail_msg("%s of pass %d: element %lld is %.9g, expected %.9g", kernels[i]->name, pass, (long long)k, value,
                     right);
        }
        free_fenced(&got);
    }
    free_fenced(&a);
    free_fenced(&b);
    free_fenced(&want);
    liana_graph_destroy(graph);
}

static void test_strided_pixels(void **state)
{
    (void)state;
    for (int pass = 0; pass < 3; pass++) {
        check_strided(LIANA_F32, pass);
        check_strided(LIANA_BF16, pass);
    }
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
    check(LIANA_BF16, (sizes){16, 300000, 3}, true, false, biased, 1e-5);
}

#if defined(LIANA_X86)
/* ---- choices ---- */

/* Which kernel a processor of that instruction set would take. */
static const char *choice(liana_dtype dtype, sizes s, bool transpose_a, liana__isa isa)
{
    liana_graph *graph = new_graph();
    const char *name = liana__choose_kernel(context, build_matmul(graph, dtype, s, transpose_a, false), isa)->name;
    liana_graph_destroy(graph);
    return name;
}

static const char *choice_of_strided(liana_dtype dtype, int pass, liana__isa isa)
{
    liana_graph *graph = new_graph();
    const char *name = liana__choose_kernel(context, build_strided(graph, dtype, pass), isa)->name;
    liana_graph_destroy(graph);
    return name;
}

static void test_choice_of_strided(void **state)
{
    (void)state;
    for (int pass = 0; pass < 3; pass++) {
        assert_string_equal(choice_of_strided(LIANA_F32, pass, LIANA__ISA_AVX512), "avx512");
        assert_string_equal(choice_of_strided(LIANA_BF16, pass, LIANA__ISA_AVX512_BF16), "avx512_bf16");
        assert_string_equal(choice_of_strided(LIANA_BF16, pass, LIANA__ISA_AMX), "amx");
        assert_string_equal(choice_of_strided(LIANA_BF16, pass, LIANA__ISA_AVX512_BF16_STORAGE),
                            "widened_avx512_bf16_storage");
        assert_string_equal(choice_of_strided(LIANA_BF16, pass, LIANA__ISA_AVX512), "widened_avx512");
        assert_string_equal(choice_of_strided(LIANA_BF16, pass, LIANA__ISA_AVX2), "widened_avx2");
    }
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
    assert_string_equal(choice(LIANA_BF16, wide, false, LIANA__ISA_AMX), "amx");
    assert_string_equal(choice(LIANA_BF16, few_rows, false, LIANA__ISA_AMX), "onednn_bf16");
    assert_string_equal(choice(LIANA_BF16, wide, true, LIANA__ISA_AMX), "amx");
    assert_string_equal(choice(LIANA_BF16, pixels, true, LIANA__ISA_AMX), "amx");
    assert_string_equal(choice(LIANA_BF16, pixels, true, LIANA__ISA_AVX512_BF16), "avx512_bf16");
    for (int transposed = 0; transposed < 2; transposed++) {
        assert_string_equal(choice(LIANA_BF16, pixels, transposed, LIANA__ISA_AVX512_BF16_STORAGE), "widened_avx512");
        assert_string_equal(choice(LIANA_BF16, large, transposed, LIANA__ISA_AVX512), "widened_avx512");
        assert_string_equal(choice(LIANA_BF16, wide, transposed, LIANA__ISA_AVX2), "widened_avx2");
        assert_string_equal(choice(LIANA_BF16, wide, transposed, LIANA__ISA_BASELINE), "onednn_widened");
    }
    /* Dot products are slow wherever there are tiles. */
    assert_string_equal(choice(LIANA_BF16, (sizes){200, 48, 24}, false, LIANA__ISA_AVX512_BF16), "avx512_bf16");
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_sizes_of_tiles),
        cmocka_unit_test(test_strided_pixels),
        cmocka_unit_test(test_long_sums),
#if defined(LIANA_X86)
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_choice_of_strided),
#endif
    };
    return cmocka_run_group_tests_name("matrix products", tests, set_up, tear_down);
}
