/* For the ops, which write themselves: values of nodes, constants, element-wise ops. */
#include "stablehlo/lowering.h"

#include "stablehlo/lowering_internal.h"

#include <math.h>

liana__hlo liana__hlo_input(const liana__lowering *l, const liana__node *node, uint32_t index)
{
    return l->values[node->inputs[index]->id];
}

liana_status liana__hlo_give(liana__lowering *l, const liana__node *node, liana__hlo value)
{
    l->values[node->id] = value;
    if (value.dtype == node->dtype && liana_shape_equal(&value.shape, &node->shape)) return LIANA_OK;
    return liana__fail(l->error, LIANA_INTERNAL, "the lowering of %s gives %s, expected %s", node->op->name,
                       liana__type_print(value.dtype, &value.shape).text,
                       liana__type_print(node->dtype, &node->shape).text);
}

liana_status liana__hlo_fail_memory(liana__lowering *l)
{
    return liana__fail_memory(l->error, "the StableHLO text of a graph");
}

liana_status liana__lower_cpu_only(liana__lowering *l, const liana__node *node)
{
    return liana__fail(l->error, LIANA_UNIMPLEMENTED,
                       "only passes of the CPU device make the op %s, and StableHLO is written before they run",
                       node->op->name);
}

/* ---- constants ---- */

liana__hlo liana__hlo_constant(liana__lowering *l, liana_dtype dtype, liana_shape shape, const void *data)
{
    /* A list of bits has a layout of its own; bytes have not. */
    bool is_list = dtype == LIANA_BOOL && liana_shape_size(&shape) > 1;
    liana_dtype written = is_list ? LIANA_U8 : dtype;
    liana__text attributes = {0};
    liana__text_add(&attributes, "value = ");
    liana__hlo_add_dense(&attributes, written, &shape, data);
    liana__hlo value = liana__hlo_write(l, "constant", NULL, 0, written, shape, &attributes);
    return is_list ? liana__hlo_compare_with(l, "NE", value, 0) : value;
}

/* One element of `bits` everywhere. A constant of many equal elements would be looked at element by element. */
static liana__hlo fill_bits(liana__lowering *l, liana_dtype dtype, liana_shape shape, const void *bits)
{
    liana__text attributes = {0}, element = {0};
    liana__hlo_add_dense(&element, dtype, &LIANA_SCALAR, bits);
    size_t digits = 0;
    while (element.data && element.data[digits] && element.data[digits] != '>') digits++;
    liana__text_add(&attributes, "value = %.*s> : %s", (int)digits, element.data ? element.data : "",
                    liana__hlo_print_type(dtype, &shape).text);
    attributes.failed = attributes.failed || element.failed;
    liana__text_free(&element);
    return liana__hlo_write(l, "constant", NULL, 0, dtype, shape, &attributes);
}

liana__hlo liana__hlo_fill(liana__lowering *l, liana_dtype dtype, liana_shape shape, double value)
{
    uint64_t bits = 0;
    liana__store(&bits, dtype, 0, value);
    return fill_bits(l, dtype, shape, &bits);
}

liana__hlo liana__hlo_fill_integer(liana__lowering *l, liana_dtype dtype, liana_shape shape, uint64_t value)
{
    const uint32_t word = (uint32_t)value;
    const uint16_t half = (uint16_t)value;
    const uint8_t byte = (uint8_t)value;
    switch (liana_dtype_size(dtype)) {
    case 8: return fill_bits(l, dtype, shape, &value);
    case 4: return fill_bits(l, dtype, shape, &word);
    case 2: return fill_bits(l, dtype, shape, &half);
    default: return fill_bits(l, dtype, shape, &byte);
    }
}

/* ---- broadcasting ---- */

liana__hlo liana__hlo_broadcast_axes(liana__lowering *l, liana__hlo x, liana_shape shape, const int64_t *axes)
{
    liana__text attributes = {0};
    liana__hlo_add_array(&attributes, "broadcast_dimensions", axes, x.shape.rank);
    return liana__hlo_write(l, "broadcast_in_dim", &x, 1, x.dtype, shape, &attributes);
}

liana__hlo liana__hlo_broadcast(liana__lowering *l, liana__hlo x, liana_shape shape)
{
    if (liana_shape_equal(&x.shape, &shape)) return x;
    int64_t axes[LIANA_MAX_RANK];
    for (int i = 0; i < x.shape.rank; i++) axes[i] = shape.rank - x.shape.rank + i;
    return liana__hlo_broadcast_axes(l, x, shape, axes);
}

/* ---- element-wise ---- */

liana__hlo liana__hlo_unary(liana__lowering *l, const char *op, liana__hlo x)
{
    return liana__hlo_write(l, op, &x, 1, x.dtype, x.shape, NULL);
}

liana__hlo liana__hlo_is_finite(liana__lowering *l, liana__hlo x)
{
    return liana__hlo_write(l, "is_finite", &x, 1, LIANA_BOOL, x.shape, NULL);
}

/* The shape to which both are broadcast. */
static liana_shape common_shape(const liana__hlo *a, const liana__hlo *b)
{
    liana_shape shape;
    return liana__shape_broadcast(&a->shape, &b->shape, &shape) ? shape : a->shape;
}

liana__hlo liana__hlo_binary(liana__lowering *l, const char *op, liana__hlo a, liana__hlo b)
{
    liana_shape shape = common_shape(&a, &b);
    liana__hlo operands[] = {liana__hlo_broadcast(l, a, shape), liana__hlo_broadcast(l, b, shape)};
    return liana__hlo_write(l, op, operands, 2, a.dtype, shape, NULL);
}

void liana__hlo_fold_region(liana__lowering *l, liana__hlo_op *op, liana_dtype dtype, const char *fold)
{
    liana__hlo parameters[2];
    liana__hlo_begin_region(l, op, dtype, parameters);
    liana__hlo_end_region(l, liana__hlo_binary(l, fold, parameters[0], parameters[1]));
}

liana__hlo liana__hlo_binary_with(liana__lowering *l, const char *op, liana__hlo a, double b)
{
    return liana__hlo_binary(l, op, a, liana__hlo_fill(l, a.dtype, a.shape, b));
}

liana__hlo liana__hlo_compare(liana__lowering *l, const char *direction, liana__hlo a, liana__hlo b)
{
    liana_shape shape = common_shape(&a, &b);
    liana__hlo operands[] = {liana__hlo_broadcast(l, a, shape), liana__hlo_broadcast(l, b, shape)};
    liana__text attributes = {0};
    liana__hlo_add(&attributes, "comparison_direction = #stablehlo<comparison_direction %s>", direction);
    return liana__hlo_write(l, "compare", operands, 2, LIANA_BOOL, shape, &attributes);
}

liana__hlo liana__hlo_compare_with(liana__lowering *l, const char *direction, liana__hlo a, double b)
{
    return liana__hlo_compare(l, direction, a, liana__hlo_fill(l, a.dtype, a.shape, b));
}

liana__hlo liana__hlo_select(liana__lowering *l, liana__hlo condition, liana__hlo a, liana__hlo b)
{
    liana__hlo values = {.shape = common_shape(&a, &b)};
    liana_shape shape = common_shape(&condition, &values);
    liana__hlo operands[] = {liana__hlo_broadcast(l, condition, shape), liana__hlo_broadcast(l, a, shape),
                             liana__hlo_broadcast(l, b, shape)};
    return liana__hlo_write(l, "select", operands, 3, a.dtype, shape, NULL);
}

liana__hlo liana__hlo_clamp(liana__lowering *l, liana__hlo x, double low, double high)
{
    liana__hlo operands[] = {liana__hlo_fill(l, x.dtype, LIANA_SCALAR, low), x,
                             liana__hlo_fill(l, x.dtype, LIANA_SCALAR, high)};
    return liana__hlo_write(l, "clamp", operands, 3, x.dtype, x.shape, NULL);
}

liana__hlo liana__hlo_convert(liana__lowering *l, liana__hlo x, liana_dtype dtype)
{
    return x.dtype == dtype ? x : liana__hlo_write(l, "convert", &x, 1, dtype, x.shape, NULL);
}

liana__hlo liana__hlo_widen(liana__lowering *l, liana__hlo x)
{
    return x.dtype == LIANA_BF16 || x.dtype == LIANA_F16 ? liana__hlo_convert(l, x, LIANA_F32) : x;
}

liana__hlo liana__hlo_coarse(liana__lowering *l, liana__hlo x)
{
    liana__text attributes = {0};
    const bool is_double = x.dtype == LIANA_F64;
    liana__hlo_add(&attributes, "exponent_bits = %d : i32, mantissa_bits = %d : i32", is_double ? 11 : 8,
                   is_double ? 36 : 16);
    return liana__hlo_write(l, "reduce_precision", &x, 1, x.dtype, x.shape, &attributes);
}

liana__hlo liana__hlo_widen_integer(liana__lowering *l, liana__hlo x, bool is_signed)
{
    return liana_dtype_size(x.dtype) == 8 ? x : liana__hlo_convert(l, x, is_signed ? LIANA_S64 : LIANA_U64);
}

liana__hlo liana__hlo_narrow_integer(liana__lowering *l, liana__hlo x, liana_dtype dtype)
{
    if (liana_dtype_size(dtype) == 8) return x;
    /* Of u64 only the upper bound can be exceeded. */
    const bool is_signed = liana__dtype_is_signed(dtype);
    const double limit = ldexp(1, 8 * (int)liana_dtype_size(dtype) - is_signed);
    const double low = is_signed && x.dtype == LIANA_S64 ? -limit : 0, high = limit - 1;
    return liana__hlo_convert(l, liana__hlo_clamp(l, x, low, high), dtype);
}
