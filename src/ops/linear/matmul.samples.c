/* Samples of matmul for the generated tests of ops. */
#include "ops/linear/matmul.h"
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana_shape a, b;
    bool transpose_a, transpose_b;
} problem;

static const problem problems[] = {
    {"plain", LIANA__DIMS(5, 7), LIANA__DIMS(7, 3), false, false},
    {"a transposed", LIANA__DIMS(7, 5), LIANA__DIMS(7, 3), true, false},
    {"b transposed", LIANA__DIMS(5, 7), LIANA__DIMS(3, 7), false, true},
    {"both transposed", LIANA__DIMS(7, 5), LIANA__DIMS(3, 7), true, true},
    {"batched", LIANA__DIMS(2, 3, 5, 4), LIANA__DIMS(2, 3, 4, 7), false, false},
    {"dot product", LIANA__DIMS(1, 33), LIANA__DIMS(33, 1), false, false},
    {"several vectors", LIANA__DIMS(17, 130), LIANA__DIMS(130, 33), false, false},
    /* Sizes that divide neither tiles nor panels nor blocks of a sum. */
    {"tall", LIANA__DIMS(301, 44), LIANA__DIMS(44, 10), false, false},
    {"tall, b transposed", LIANA__DIMS(83, 20), LIANA__DIMS(103, 20), false, true},
    {"odd depth", LIANA__DIMS(23, 71), LIANA__DIMS(56, 71), false, true},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const problem *p = row;
    liana_tensor a = liana__sample_input(graph, "a", dtype, p->a, -2, 2);
    liana_tensor b = liana__sample_input(graph, "b", dtype, p->b, -2, 2);
    return liana_op_matmul(a, b, p->transpose_a, p->transpose_b);
}

static liana_tensor build_long_sum(liana_graph *graph, liana_dtype dtype)
{
    static const problem p = {NULL, LIANA__DIMS(1031, 13), LIANA__DIMS(1031, 50), true, false};
    return build(graph, dtype, &liana__op_matmul, &p);
}

static liana_tensor build_long_swapped_sum(liana_graph *graph, liana_dtype dtype)
{
    static const problem p = {NULL, LIANA__DIMS(517, 49), LIANA__DIMS(517, 9), true, false};
    return build(graph, dtype, &liana__op_matmul, &p);
}

/* Products whose mean is far from 0, as f32 from bf16 too. */
static liana_tensor build_biased_sum(liana_graph *graph, liana_dtype dtype)
{
    static const liana__matmul_attributes attributes = {.transpose_a = true, .wide = true};
    liana_dtype narrow = dtype == LIANA_F64 ? LIANA_F64 : LIANA_BF16;
    liana_tensor a = liana__sample_input(graph, "a", narrow, liana_shape_of(517, 11), 1, 1.5);
    liana_tensor b = liana__sample_input(graph, "b", narrow, liana_shape_of(517, 18), 0.5, 1);
    return liana__build2(LIANA_HERE, &liana__op_matmul, a, b, &attributes);
}

/* bf16 operands have an f32 product; in f32 and f64 it is the plain one. */
static liana_tensor build_wide_product(liana_graph *graph, liana_dtype dtype)
{
    static const liana__matmul_attributes attributes = {.transpose_b = true, .wide = true};
    liana_dtype narrow = dtype == LIANA_F64 ? LIANA_F64 : LIANA_BF16;
    liana_tensor a = liana__sample_input(graph, "a", narrow, liana_shape_of(19, 130), -2, 2);
    liana_tensor b = liana__sample_input(graph, "b", narrow, liana_shape_of(37, 130), -2, 2);
    return liana__build2(LIANA_HERE, &liana__op_matmul, a, b, &attributes);
}

static const liana__built_sample samples[] = {
    {"wide product", build_wide_product, 0},
    /* oneDNN adds them up in one running sum. */
    {"long sum", build_long_sum, 1e-4},
    {"long sum, swapped", build_long_swapped_sum, 1e-4},
    {"biased sum", build_biased_sum, 0},
};
LIANA__SAMPLE_ROWS_AND(matmul, problems, LIANA__COUNT(problems), build, samples);
