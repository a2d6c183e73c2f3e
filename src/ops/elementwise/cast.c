/* Another dtype. */
#include "ops/elementwise/cast.h"

typedef struct cast_attributes {
    int dtype;
} cast_attributes;

static const liana__field fields[] = {
    {.name = "dtype",
     .kind = LIANA__FIELD_ENUM,
     .offset = offsetof(cast_attributes, dtype),
     .names = liana__dtype_names,
     .doc = "The new dtype."},
};
static const liana__fields attributes = {"cast", sizeof(cast_attributes), 1, fields};

static liana_status infer_cast(liana__infer *infer)
{
    const cast_attributes *options = infer->attributes;
    infer->shape = infer->inputs[0]->shape;
    infer->dtype = (liana_dtype)options->dtype;
    if ((unsigned)options->dtype < LIANA_NUM_DTYPES) return LIANA_OK;
    return liana__infer_fail(infer, "%d is not a dtype", options->dtype);
}

static void cast_gradient(liana__gradient *g)
{
    liana_dtype from = g->node->inputs[0]->dtype;
    bool passes = liana__dtype_is_float(from) && liana__dtype_is_float(g->node->dtype);
    if (passes) g->input_gradients[0] = liana_op_cast(g->output_gradient, from);
}

static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    liana_dtype from = node->inputs[0]->dtype, to = node->dtype;
    int64_t size = liana_shape_size(&node->shape);
    bool same_bits = liana_dtype_size(from) == 8 && liana_dtype_size(to) == 8 && from != LIANA_F64 && to != LIANA_F64;
    if (same_bits) {
        /* 64-bit integers do not fit a double; between the two kinds the bits are kept. */
        memmove(call->dst, call->src[0], (size_t)size * 8);
        return LIANA_OK;
    }
    for (int64_t i = 0; i < size; i++) liana__store(call->dst, to, i, liana__load(call->src[0], from, i));
    return LIANA_OK;
}

static const liana__kernel reference = {.name = "reference", .run = run_reference};

const liana__op liana__op_cast = {
    .name = "cast",
    .doc = "Converts to another dtype.",
    .attributes = &attributes,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer_cast,
    .gradient = cast_gradient,
    .cost = liana__cost_element_wise,
    .parts = liana__parts_element_wise,
    .kernels = (const liana__kernel *const[]){LIANA__BF16_VECTOR_KERNELS(cast), &reference, NULL},
};

liana_tensor liana_op_cast_at(liana_location here, liana_tensor x, liana_dtype dtype)
{
    if (x.id && liana_tensor_dtype(x) == dtype) return x;
    cast_attributes options = {(int)dtype};
    return liana__build1(here, &liana__op_cast, x, &options);
}
