/* Samples of matmul for the generated tests of ops. */
#include "ops/linear/matmul.h"
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana_shape a, b;
    bool transpose_a, transpose_b;
    bool wide;   /* the product of bf16 is f32; in f32 and f64 it is the plain one */
    bool biased; /* products whose mean is far from 0 */
} problem;

static const problem problems[] = {
    {"plain", LIANA__DIMS(5, 7), LIANA__DIMS(7, 3), false, false, false, false},
    {"a transposed", LIANA__DIMS(7, 5), LIANA__DIMS(7, 3), true, false, false, false},
    {"b transposed", LIANA__DIMS(5, 7), LIANA__DIMS(3, 7), false, true, false, false},
    {"both transposed", LIANA__DIMS(7, 5), LIANA__DIMS(3, 7), true, true, false, false},
    {"batched", LIANA__DIMS(2, 3, 5, 4), LIANA__DIMS(2, 3, 4, 7), false, false, false, false},
    {"dot product", LIANA__DIMS(1, 33), LIANA__DIMS(33, 1), false, false, false, false},
    /* As many rows as pass without packing; the sum is no multiple of rows that are added at once. */
    {"one row", LIANA__DIMS(1, 43), LIANA__DIMS(43, 141), false, false, false, false},
    {"few rows", LIANA__DIMS(7, 61), LIANA__DIMS(61, 1100), false, false, false, false},
    {"few rows, wide product", LIANA__DIMS(3, 50), LIANA__DIMS(50, 37), false, false, true, false},
    {"several vectors", LIANA__DIMS(17, 130), LIANA__DIMS(130, 33), false, false, false, false},
    /* Sizes that divide neither tiles nor panels nor blocks of a sum. */
    {"tall", LIANA__DIMS(301, 44), LIANA__DIMS(44, 10), false, false, false, false},
    {"tall, b transposed", LIANA__DIMS(83, 20), LIANA__DIMS(103, 20), false, true, false, false},
    {"odd depth", LIANA__DIMS(23, 71), LIANA__DIMS(56, 71), false, true, false, false},
    {"wide product", LIANA__DIMS(19, 130), LIANA__DIMS(37, 130), false, true, true, false},
    {"biased sum", LIANA__DIMS(517, 11), LIANA__DIMS(517, 18), true, false, true, true},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const problem *p = row;
    const liana_dtype narrow = p->wide && dtype != LIANA_F64 ? LIANA_BF16 : dtype;
    liana_tensor a = liana__sample_input(graph, "a", narrow, p->a, p->biased ? 1 : -2, p->biased ? 1.5 : 2);
    liana_tensor b = liana__sample_input(graph, "b", narrow, p->b, p->biased ? 0.5 : -2, p->biased ? 1 : 2);
    const liana__matmul_attributes attributes = {.transpose_a = p->transpose_a,
                                                 .transpose_b = p->transpose_b,
                                                 .wide = p->wide};
    return liana__build2(LIANA_HERE, op, a, b, &attributes);
}

static liana_tensor build_long_sum(liana_graph *graph, liana_dtype dtype)
{
    static const problem p = {NULL, LIANA__DIMS(1031, 13), LIANA__DIMS(1031, 50), true, false, false, false};
    return build(graph, dtype, &liana__op_matmul, &p);
}

static liana_tensor build_long_swapped_sum(liana_graph *graph, liana_dtype dtype)
{
    static const problem p = {NULL, LIANA__DIMS(517, 49), LIANA__DIMS(517, 9), true, false, false, false};
    return build(graph, dtype, &liana__op_matmul, &p);
}

static const liana__built_sample samples[] = {
    /* oneDNN adds them up in one running sum. */
    {"long sum", build_long_sum, 1e-4},
    {"long sum, swapped", build_long_swapped_sum, 1e-4},
};
LIANA__SAMPLE_ROWS_AND(matmul, problems, LIANA__COUNT(problems), build, samples);
