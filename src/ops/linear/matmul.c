/* The matrix product of the last two axes. */
#include "ops/linear/matmul.h"

#include "ops/linear/product.h"
#include "ops/linear/product_kernels.h"
#include "stablehlo/lowering.h"

static const liana__field fields[] = {
    LIANA__FIELD_ROW(liana__matmul_attributes, transpose_a, BOOL,
                     .doc = "Whether a's last two axes are swapped first."),
    LIANA__FIELD_ROW(liana__matmul_attributes, transpose_b, BOOL,
                     .doc = "Whether b's last two axes are swapped first."),
    LIANA__FIELD_ROW(liana__matmul_attributes, wide, BOOL,
                     .doc = "Whether the product of bf16 operands is given in f32, in which it is accumulated."),
};
static const liana__fields attributes = {"matmul", sizeof(liana__matmul_attributes), 3, fields};

static liana_status infer_matmul(liana__infer *infer)
{
    const liana__matmul_attributes *options = infer->attributes;
    const liana_shape *a = &infer->inputs[0]->shape, *b = &infer->inputs[1]->shape;
    LIANA_TRY(liana__infer_float(infer, 0));
    LIANA_TRY(liana__infer_same_dtype(infer, 0, 1));
    if (a->rank < 2 || a->rank != b->rank) {
        return liana__infer_fail(infer, "ranks are %d and %d, expected the same rank of at least 2", a->rank, b->rank);
    }
    int last = a->rank - 1;
    infer->dtype = infer->inputs[0]->dtype;
    if (options->wide) infer->dtype = liana__wide_dtype(infer->dtype);
    infer->shape = *a;
    for (int i = 0; i < last - 1; i++) {
        if (a->dims[i] == b->dims[i]) continue;
        return liana__infer_fail(infer, "leading axis %d has size %lld in a and %lld in b, expected the same", i,
                                 (long long)a->dims[i], (long long)b->dims[i]);
    }
    int64_t k_of_a = a->dims[options->transpose_a ? last - 1 : last];
    int64_t k_of_b = b->dims[options->transpose_b ? last : last - 1];
    if (k_of_a != k_of_b) {
        return liana__infer_fail(infer, "a%s has %lld columns and b%s has %lld rows, expected the same number",
                                 options->transpose_a ? " (transposed)" : "", (long long)k_of_a,
                                 options->transpose_b ? " (transposed)" : "", (long long)k_of_b);
    }
    infer->shape.dims[last - 1] = a->dims[options->transpose_a ? last : last - 1];
    infer->shape.dims[last] = b->dims[options->transpose_b ? last - 1 : last];
    return LIANA_OK;
}

/* With C = A B: dA = dC B^T and dB = A^T dC; a transposed operand gets the transposed product. A wide
 * product's gradient is made narrow as the operands are. */
static void matmul_gradient(liana__gradient *g)
{
    const liana__matmul_attributes *options = g->node->attributes;
    liana_tensor a = g->inputs[0], b = g->inputs[1], dc = liana_op_cast(g->output_gradient, g->node->inputs[0]->dtype);
    if (g->wanted[0]) {
        g->input_gradients[0] = options->transpose_a ? liana_op_matmul(b, dc, options->transpose_b, true)
                                                     : liana_op_matmul(dc, b, false, !options->transpose_b);
    }
    if (g->wanted[1]) {
        g->input_gradients[1] = options->transpose_b ? liana_op_matmul(dc, a, true, options->transpose_a)
                                                     : liana_op_matmul(a, dc, !options->transpose_a, false);
    }
}

liana__matmul_sizes liana__matmul_sizes_of(const liana__node *node)
{
    const liana__matmul_attributes *options = node->attributes;
    const liana_shape *a = liana__input_shape(node, 0);
    int last = node->shape.rank - 1;
    liana__matmul_sizes sizes = {.batch = 1, .m = node->shape.dims[last - 1], .n = node->shape.dims[last]};
    sizes.k = a->dims[options->transpose_a ? last - 1 : last];
    for (int i = 0; i < last - 1; i++) sizes.batch *= node->shape.dims[i];
    return sizes;
}

static liana_status lower_matmul(liana__lowering *l, const liana__node *node)
{
    const liana__matmul_attributes *options = node->attributes;
    liana__hlo a = liana__hlo_input(l, node, 0), b = liana__hlo_input(l, node, 1);
    return liana__hlo_give(l, node,
                           liana__hlo_matrix_product(l, a, b, options->transpose_a, options->transpose_b, node->dtype));
}

static bool as_product(const liana__node *node, liana__product *product, const char **reason)
{
    const liana__matmul_attributes *options = node->attributes;
    const liana__matmul_sizes sizes = liana__matmul_sizes_of(node);
    *reason = "several matrices";
    if (sizes.batch != 1) return false;
    *reason = "both are transposed";
    if (options->transpose_a && options->transpose_b) return false;
    *reason = "a is transposed and the result not f32";
    if (options->transpose_a && node->dtype != LIANA_F32) return false;
    *product = (liana__product){.transpose_a = options->transpose_a,
                                .transpose_b = options->transpose_b,
                                .rows = sizes.m,
                                .depth = sizes.k,
                                .columns = sizes.n};
    return true;
}

static liana_status run_reference(const liana__call *call)
{
    const liana__matmul_attributes *options = call->node->attributes;
    liana__matmul_sizes s = liana__matmul_sizes_of(call->node);
    liana_dtype dtype = call->node->inputs[0]->dtype;
    for (int64_t batch = 0; batch < s.batch; batch++) {
        int64_t a = batch * s.m * s.k, b = batch * s.k * s.n, c = batch * s.m * s.n;
        for (int64_t i = 0; i < s.m; i++) {
            for (int64_t j = 0; j < s.n; j++) {
                double total = 0;
                for (int64_t p = 0; p < s.k; p++) {
                    int64_t at_a = options->transpose_a ? p * s.m + i : i * s.k + p;
                    int64_t at_b = options->transpose_b ? j * s.k + p : p * s.n + j;
                    total += liana__load(call->src[0], dtype, a + at_a) * liana__load(call->src[1], dtype, b + at_b);
                }
                liana__store(call->dst, call->node->dtype, c + i * s.n + j, total);
            }
        }
    }
    return LIANA_OK;
}

/* The rows of a and of the result; or, where a and b hold the terms of the sums by row, these terms. */
static liana__parts parts_of(const liana__node *node)
{
    const liana__matmul_attributes *options = node->attributes;
    if (node->shape.rank > 2) return liana__parts_all_inputs(node);
    if (!options->transpose_a) return liana__parts_first_input(node);
    liana__parts sum = {.kind = LIANA__PART_SUM, .rows = liana__input_shape(node, 0)->dims[0]};
    return options->transpose_b ? (liana__parts){0} : sum;
}

static void cost_of(const liana__node *node, liana__cost *cost)
{
    liana__matmul_sizes s = liana__matmul_sizes_of(node);
    cost->flops = 2 * (double)s.batch * (double)s.m * (double)s.n * (double)s.k;
    cost->family = "matrix products";
    cost->dot_products = true;
}

static const liana__kernel *const kernels[] = {
    /* A matrix that few rows meet is not packed. */
    LIANA__VECTOR_KERNELS(few_rows),
#if defined(LIANA_X86)
    &liana__product_amx,
    &liana__product_avx512_bf16,
    &liana__product_of_bf16_avx512,
    &liana__product_of_bf16_avx2,
    &liana__product_avx512,
    &liana__product_avx2,
#endif
    &liana__matmul_onednn,
    &liana__matmul_onednn_bf16,
    &liana__matmul_onednn_widened,
    LIANA__REFERENCE(run_reference)};

const liana__op liana__op_matmul = {
    .name = "matmul",
    .doc = "The matrix product of the last two axes.",
    .attributes = &attributes,
    .num_inputs = 2,
    .infer = infer_matmul,
    .gradient = matmul_gradient,
    .precision = LIANA__MULTIPLIES,
    .cost = cost_of,
    .parts = parts_of,
    .lower = lower_matmul,
    .kernels = kernels,
    .product = as_product,
};

liana_tensor liana_op_matmul_at(liana_location here, liana_tensor a, liana_tensor b, bool transpose_a, bool transpose_b)
{
    liana__matmul_attributes options = {.transpose_a = transpose_a, .transpose_b = transpose_b};
    return liana__build2(here, &liana__op_matmul, a, b, &options);
}
