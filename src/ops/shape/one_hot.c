/* one_hot: indices as rows of one 1 among zeros. */
#include "ops/index.h"
#include "ops/ops.h"
#include "stablehlo/lowering.h"

typedef struct one_hot_attributes {
    int64_t depth;
    int dtype;
} one_hot_attributes;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(one_hot_attributes, depth, INT, .doc = "The length of a row: the number of classes."),
    LIANA__FIELD_ROW(one_hot_attributes, dtype, ENUM, .names = liana__dtype_names, .doc = "The result's dtype."),
};
static const liana__fields attributes = {"one_hot", sizeof(one_hot_attributes), 2, fields};

static liana_status infer_one_hot(liana__infer *infer)
{
    const one_hot_attributes *options = infer->attributes;
    LIANA_TRY(liana__infer_like_input(infer));
    LIANA_TRY(liana__infer_s32(infer, 0, "indices"));
    if (options->depth < 1) {
        return liana__infer_fail(infer, "the depth is %lld, expected at least 1", (long long)options->depth);
    }
    if (infer->shape.rank == LIANA_MAX_RANK) {
        return liana__infer_fail(infer, "the result would have rank %d, expected at most %d", LIANA_MAX_RANK + 1,
                                 LIANA_MAX_RANK);
    }
    if ((unsigned)options->dtype >= LIANA_NUM_DTYPES) return liana__infer_fail(infer, "%d is no dtype", options->dtype);
    infer->dtype = (liana_dtype)options->dtype;
    infer->shape.dims[infer->shape.rank++] = options->depth;
    return LIANA_OK;
}

static liana_status lower_one_hot(liana__lowering *l, const liana__node *node)
{
    liana__hlo indices = liana__hlo_input(l, node, 0);
    liana_shape column = indices.shape;
    column.dims[column.rank++] = 1;
    liana__hlo classes = liana__hlo_iota(l, LIANA_S32, node->shape, node->shape.rank - 1);
    liana__hlo chosen = liana__hlo_compare(l, "EQ", liana__hlo_reshape(l, indices, column), classes);
    return liana__hlo_give(l, node, liana__hlo_convert(l, chosen, node->dtype));
}

/* Zeros are all bits 0 in each dtype. */
static liana_status run_sparse(const liana__call *call)
{
    const liana__node *node = call->node;
    const int32_t *indices = call->src[0];
    int64_t depth = ((const one_hot_attributes *)node->attributes)->depth;
    int64_t count = liana_shape_size(liana__input_shape(node, 0));
    memset(call->dst, 0, liana__byte_size(node->dtype, &node->shape));
    for (int64_t i = 0; i < count; i++) {
        bool valid = indices[i] >= 0 && indices[i] < depth;
        if (valid) liana__store(call->dst, node->dtype, i * depth + indices[i], 1);
    }
    return LIANA_OK;
}

static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    int64_t depth = ((const one_hot_attributes *)node->attributes)->depth, size = liana_shape_size(&node->shape);
    for (int64_t i = 0; i < size; i++) {
        double index = liana__load(call->src[0], LIANA_S32, i / depth);
        liana__store(call->dst, node->dtype, i, index == (double)(i % depth));
    }
    return LIANA_OK;
}

static liana__parts parts_of(const liana__node *node)
{
    return liana__input_shape(node, 0)->rank > 0 ? liana__parts_all_inputs(node) : (liana__parts){0};
}

static const liana__kernel sparse = {.name = "sparse", .run = run_sparse};

const liana__op liana__op_one_hot = {
    .name = "one_hot",
    .doc = "1 where the last index equals the index of the row, else 0.",
    .attributes = &attributes,
    .num_inputs = 1,
    .infer = infer_one_hot,
    .gradient = liana__no_gradient,
    .parts = parts_of,
    .lower = lower_one_hot,
    .kernels = LIANA__KERNELS(&sparse, LIANA__REFERENCE(run_reference)),
};

liana_tensor liana_op_one_hot_at(liana_location here, liana_tensor indices, int64_t depth, liana_dtype dtype)
{
    return liana__build1(here, &liana__op_one_hot, indices, &(one_hot_attributes){depth, (int)dtype});
}
