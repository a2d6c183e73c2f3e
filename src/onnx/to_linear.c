/* Products of matrices, and the Fourier transform. */
#include "onnx/op_table.h"
#include "ops/linear/matmul.h"

/* An operand, with its last two axes swapped if it is read so. */
static const char *matrix(liana__onnx_scope *scope, const liana__node *operand, bool transposed)
{
    const int rank = operand->shape.rank;
    int64_t order[LIANA_MAX_RANK];
    for (int i = 0; i < rank; i++) order[i] = i;
    if (transposed) order[rank - 2] = rank - 1, order[rank - 1] = rank - 2;
    /* A matrix that is there in its own order, such as that of an Embedding, is not written twice. */
    const char *own = liana__onnx_value_of(scope, operand)->names[LIANA__ONNX_NATURAL];
    if (transposed && own) return liana__onnx_transpose(scope, operand, own, order, rank);
    return transposed ? liana__onnx_laid_out(scope, operand, order, NULL)
                      : liana__onnx_name(scope, operand, LIANA__ONNX_NATURAL);
}

/* `node` may be the reshape of a product whose first operand keeps its leading axes. */
void liana__onnx_to_matmul(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__node *product = liana__onnx_value_of(scope, node)->product, *a;
    a = product ? product->inputs[0]->inputs[0] : node->inputs[0];
    if (!product) product = node;
    const liana__matmul_attributes *own = product->attributes;
    const liana__node *bias = liana__onnx_value_of(scope, node)->bias;
    const char *right = matrix(scope, product->inputs[1], own->transpose_b), *result;
    const char *left = matrix(scope, a, own->transpose_a && product == node);
    (void)type;
    if (bias) {
        const char *term = liana__onnx_name(scope, bias, LIANA__ONNX_NATURAL);
        result = liana__onnx_say(scope, node, "Gemm", LIANA__ONNX_OF(left, right, term), NULL);
    } else {
        result = liana__onnx_say(scope, node, "MatMul", LIANA__ONNX_OF(left, right), NULL);
    }
    liana__onnx_give(scope, node, result, LIANA__ONNX_NATURAL);
}

/* DFT wants an axis before that of the transform, and divides the inverse by the length, which liana does not. */
void liana__onnx_to_fft(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const int rank = node->shape.rank;
    const bool inverse = liana__onnx_int(node, "inverse") != 0;
    const int64_t length = node->shape.dims[rank - 2];
    liana__onnx_size sizes[LIANA_MAX_RANK], rows[3] = {{.constant = 1}, {.constant = length}, {.constant = 2}};
    const char *x = liana__onnx_input(scope, node, 0);
    (void)type;
    for (int i = 0; i < rank; i++) sizes[i] = liana__onnx_dim(scope, node, i);
    /* All lines as one batch. */
    int64_t lines = 1;
    for (int i = 0; i < rank - 2; i++) {
        lines *= sizes[i].per_example ? 1 : sizes[i].constant;
        if (sizes[i].per_example) rows[0].per_example = 1;
    }
    if (!rows[0].per_example) rows[0].constant = lines;
    x = liana__onnx_reshape(scope, node, x, rows, 3);
    x = liana__onnx_say(scope, node, "DFT", LIANA__ONNX_OF(x),
                        LIANA__ONNX_WITH(LIANA__ONNX_INT("axis", 1), LIANA__ONNX_INT("inverse", inverse)));
    if (inverse) {
        const char *factor = liana__onnx_number(scope, node->dtype, (double)length);
        x = liana__onnx_say(scope, node, "Mul", LIANA__ONNX_OF(x, factor), NULL);
    }
    liana__onnx_give(scope, node, liana__onnx_reshape(scope, node, x, sizes, (size_t)rank), LIANA__ONNX_NATURAL);
}
