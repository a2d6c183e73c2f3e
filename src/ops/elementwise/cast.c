/* Another dtype. */
#include "ops/elementwise/cast.h"

#include "stablehlo/lowering.h"

#include <math.h>

typedef struct cast_attributes {
    int dtype;
} cast_attributes;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(cast_attributes, dtype, ENUM, .names = liana__dtype_names, .doc = "The new dtype."),
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

/* ---- StableHLO, whose convert leaves values undefined that do not fit the new dtype ---- */

static int bits_of(liana_dtype dtype)
{
    return 8 * (int)liana_dtype_size(dtype) - liana__dtype_is_signed(dtype);
}

/* The greatest value that liana__store gives. */
static liana__hlo greatest(liana__lowering *l, liana_dtype dtype)
{
    return liana__hlo_fill(l, dtype, LIANA_SCALAR, INFINITY);
}

/* NaN becomes 0; a number below the range becomes its least value, one above it its greatest. Between, the number is
 * truncated. */
static liana__hlo float_to_integer(liana__lowering *l, liana__hlo x, liana_dtype to)
{
    liana__hlo wide = liana__hlo_widen(l, x), zero = liana__hlo_fill(l, wide.dtype, LIANA_SCALAR, 0);
    double limit = ldexp(1, bits_of(to));
    liana__hlo number = liana__hlo_select(l, liana__hlo_compare(l, "NE", wide, wide), zero, wide);
    liana__hlo low = liana__hlo_fill(l, wide.dtype, LIANA_SCALAR, liana__dtype_is_signed(to) ? -limit : 0);
    liana__hlo raised = liana__hlo_binary(l, "maximum", number, low);
    liana__hlo is_above = liana__hlo_compare_with(l, "GE", raised, limit);
    liana__hlo inside = liana__hlo_convert(l, liana__hlo_select(l, is_above, zero, raised), to);
    return liana__hlo_select(l, is_above, greatest(l, to), inside);
}

/* Clamped to the range. Between the kinds of 64 bits the bits are kept. */
static liana__hlo integer_to_integer(liana__lowering *l, liana__hlo x, liana_dtype to)
{
    liana_dtype from = x.dtype;
    bool keeps_bits = liana_dtype_size(from) == 8 && liana_dtype_size(to) == 8;
    if (liana__dtype_is_signed(from) && !liana__dtype_is_signed(to) && !keeps_bits)
        x = liana__hlo_binary_with(l, "maximum", x, 0);
    if (liana__dtype_is_signed(from) && liana__dtype_is_signed(to) && bits_of(to) < bits_of(from)) {
        x = liana__hlo_binary_with(l, "maximum", x, -ldexp(1, bits_of(to)));
    }
    if (bits_of(to) < bits_of(from) && !keeps_bits) {
        x = liana__hlo_binary_with(l, "minimum", x, ldexp(1, bits_of(to)) - 1);
    }
    return liana__hlo_convert(l, x, to);
}

static liana__hlo convert(liana__lowering *l, liana__hlo x, liana_dtype to)
{
    bool from_float = liana__dtype_is_float(x.dtype), to_float = liana__dtype_is_float(to);
    if (to == LIANA_BOOL && x.dtype != LIANA_BOOL) return liana__hlo_compare_with(l, "NE", x, 0);
    if (x.dtype == LIANA_BOOL || to == LIANA_BOOL) return liana__hlo_convert(l, x, to);
    if (from_float && !to_float) return float_to_integer(l, x, to);
    if (!from_float && !to_float) return integer_to_integer(l, x, to);
    /* Everything becomes bf16 or f16 by way of f32, as in liana__store. */
    if (to == LIANA_BF16 || to == LIANA_F16) x = liana__hlo_convert(l, x, LIANA_F32);
    return liana__hlo_convert(l, x, to);
}

static liana_status lower_cast(liana__lowering *l, const liana__node *node)
{
    return liana__hlo_give(l, node, convert(l, liana__hlo_input(l, node, 0), node->dtype));
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

const liana__op liana__op_cast = {
    .name = "cast",
    .doc = "Converts to another dtype.",
    .attributes = &attributes,
    .num_inputs = 1,
    .infer = infer_cast,
    .gradient = cast_gradient,
    .cost = liana__cost_element_wise,
    .parts = liana__parts_element_wise,
    .lower = lower_cast,
    .kernels = LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(cast), LIANA__REFERENCE(run_reference)),
};

liana_tensor liana_op_cast_at(liana_location here, liana_tensor x, liana_dtype dtype)
{
    if (x.id && liana_tensor_dtype(x) == dtype) return x;
    cast_attributes options = {(int)dtype};
    return liana__build1(here, &liana__op_cast, x, &options);
}
