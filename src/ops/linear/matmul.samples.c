/* Samples of matmul for the generated tests of ops. */
#include "ops/linear/matmul.h"
#include "ops/samples.h"

#define MATMUL_SAMPLE(suffix, shape_a, shape_b, transpose_a, transpose_b)        \
    static liana_tensor build_##suffix(liana_graph *graph, liana_dtype dtype)    \
    {                                                                            \
        liana_tensor a = liana__sample_input(graph, "a", dtype, shape_a, -2, 2); \
        liana_tensor b = liana__sample_input(graph, "b", dtype, shape_b, -2, 2); \
        return liana_op_matmul(a, b, transpose_a, transpose_b);                  \
    }
MATMUL_SAMPLE(plain, liana_shape_of(5, 7), liana_shape_of(7, 3), false, false)
MATMUL_SAMPLE(transposed_a, liana_shape_of(7, 5), liana_shape_of(7, 3), true, false)
MATMUL_SAMPLE(transposed_b, liana_shape_of(5, 7), liana_shape_of(3, 7), false, true)
MATMUL_SAMPLE(both, liana_shape_of(7, 5), liana_shape_of(3, 7), true, true)
MATMUL_SAMPLE(batched, liana_shape_of(2, 3, 5, 4), liana_shape_of(2, 3, 4, 7), false, false)
MATMUL_SAMPLE(vectors, liana_shape_of(1, 33), liana_shape_of(33, 1), false, false)
MATMUL_SAMPLE(wide, liana_shape_of(17, 130), liana_shape_of(130, 33), false, false)
/* Sizes that divide neither tiles nor panels nor blocks of a sum. */
MATMUL_SAMPLE(tall, liana_shape_of(301, 44), liana_shape_of(44, 10), false, false)
MATMUL_SAMPLE(tall_transposed_b, liana_shape_of(83, 20), liana_shape_of(103, 20), false, true)
MATMUL_SAMPLE(odd_depth, liana_shape_of(23, 71), liana_shape_of(56, 71), false, true)
MATMUL_SAMPLE(long_sum, liana_shape_of(1031, 13), liana_shape_of(1031, 50), true, false)
MATMUL_SAMPLE(long_swapped_sum, liana_shape_of(517, 49), liana_shape_of(517, 9), true, false)

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

static const liana__sample samples[] = {
    {"plain", build_plain, 0},
    {"a transposed", build_transposed_a, 0},
    {"b transposed", build_transposed_b, 0},
    {"both transposed", build_both, 0},
    {"batched", build_batched, 0},
    {"dot product", build_vectors, 0},
    {"several vectors", build_wide, 0},
    {"wide product", build_wide_product, 0},
    {"tall", build_tall, 0},
    {"tall, b transposed", build_tall_transposed_b, 0},
    {"odd depth", build_odd_depth, 0},
    /* oneDNN adds them up in one running sum. */
    {"long sum", build_long_sum, 1e-4},
    {"long sum, swapped", build_long_swapped_sum, 1e-4},
    {"biased sum", build_biased_sum, 0},
};
LIANA__SAMPLES(matmul, samples);
