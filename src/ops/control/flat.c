/* Flat results: places of tensors in them, and their gradients. */
#include "ops/control/flat.h"

#include "ops/shape/slice_pad.h"

static bool has_many_bits(liana_dtype dtype)
{
    return dtype == LIANA_S64 || dtype == LIANA_U64;
}

liana_status liana__flat_infer(liana__infer *infer, const liana__flat *flat)
{
    const liana_graph *body = flat->body;
    bool same = true, many_bits = false;
    if (body->num_outputs == 0) return liana__infer_fail(infer, "the body has no results");
    infer->dtype = body->outputs[0].node->dtype;
    double size = 0;
    for (size_t i = 0; i < body->num_outputs; i++) {
        const liana__node *node = body->outputs[i].node;
        same = same && node->dtype == infer->dtype;
        many_bits = many_bits || has_many_bits(node->dtype);
        size += (double)liana_shape_size(&node->shape) * (i < flat->num_single ? 1 : (double)flat->steps);
    }
    if (!same && many_bits) {
        return liana__infer_fail(infer,
                                 "s64 or u64 stands among carries and results of other dtypes; use liana_op_cast");
    }
    if (!same) infer->dtype = LIANA_F64;
    const double most = (double)((int64_t)1 << 42);
    if (size > most)
        return liana__infer_fail(infer, "the results of all steps have %.3g elements, at most %g", size, most);
    infer->shape = liana_shape_of(liana__flat_offset(flat, body->num_outputs));
    return LIANA_OK;
}

int64_t liana__flat_offset(const liana__flat *flat, size_t output)
{
    int64_t offset = 0;
    for (size_t i = 0; i < output; i++) {
        const int64_t count = i < flat->num_single ? 1 : flat->steps;
        offset += count * liana_shape_size(&flat->body->outputs[i].node->shape);
    }
    return offset;
}

static liana_shape shape_of(const liana__flat *flat, size_t output)
{
    liana_shape shape = flat->body->outputs[output].node->shape;
    if (output < flat->num_single) return shape;
    for (int i = shape.rank++; i > 0; i--) shape.dims[i] = shape.dims[i - 1];
    shape.dims[0] = flat->steps;
    return shape;
}

liana_tensor liana__flat_part(liana_location here, liana_tensor flat_result, const liana__flat *flat, size_t output)
{
    liana_tensor part = liana__loop_part(here, flat_result, liana__flat_offset(flat, output), shape_of(flat, output));
    return liana_op_cast_at(here, part, flat->body->outputs[output].node->dtype);
}

/* ---- gradients ---- */

/* Whether a tensor is a list between zeros: the gradient of one part. */
static bool is_padded(const liana__node *node, int64_t *low, int64_t *size)
{
    if (node->op != &liana__op_pad) return false;
    const liana__pad_attributes *pad = node->attributes;
    *low = pad->low.values[0];
    *size = liana_shape_size(liana__input_shape(node, 0));
    return pad->value == 0 && pad->interior.values[0] == 0 && *low >= 0 && pad->high.values[0] >= 0;
}

static liana_tensor add_terms(liana_location here, liana_tensor sum, liana_tensor term)
{
    return sum.id ? liana_op_add_at(here, sum, term) : term;
}

/* The elements from `offset` on of one term. */
static liana_tensor take(liana_location here, liana_tensor term, int64_t offset, const liana_shape *shape)
{
    const liana__node *node = liana__tensor_node(term);
    int64_t low, size;
    if (!node) return (liana_tensor){term.graph, 0};
    if (!is_padded(node, &low, &size)) return liana__loop_part(here, term, offset, *shape);
    const int64_t own = liana_shape_size(shape);
    if (offset + own <= low || low + size <= offset) return (liana_tensor){term.graph, 0};
    if (low == offset && size == own) {
        return liana_op_reshape_at(here, liana__node_tensor(term.graph, node->inputs[0]), *shape);
    }
    return liana__loop_part(here, term, offset, *shape);
}

/* Gradients of parts come as sums of lists between zeros. Where a part is one of these, it is taken as it is, so the
 * zeros are never made. */
liana_tensor liana__flat_gradient(liana_location here, liana_tensor gradient, const liana__flat *flat, size_t output)
{
    const liana_shape shape = shape_of(flat, output);
    const int64_t offset = liana__flat_offset(flat, output);
    liana_tensor sum = {gradient.graph, 0};
    const liana__node *node = liana__tensor_node(gradient);
    while (node && node->op == &liana__op_add) {
        liana_tensor term = take(here, liana__node_tensor(gradient.graph, node->inputs[1]), offset, &shape);
        if (term.id) sum = add_terms(here, sum, term);
        node = node->inputs[0];
    }
    liana_tensor term = take(here, liana__node_tensor(gradient.graph, node), offset, &shape);
    if (term.id) sum = add_terms(here, sum, term);
    const liana_dtype dtype = flat->body->outputs[output].node->dtype;
    if (!liana__dtype_is_float(dtype)) return (liana_tensor){gradient.graph, 0};
    return sum.id ? liana_op_cast_at(here, sum, dtype) : sum;
}

void liana__flat_copy(void *to, liana_dtype to_dtype, const void *from, liana_dtype from_dtype, int64_t count)
{
    if (to_dtype == from_dtype) {
        memmove(to, from, (size_t)count * liana_dtype_size(to_dtype));
        return;
    }
    for (int64_t i = 0; i < count; i++) liana__store(to, to_dtype, i, liana__load(from, from_dtype, i));
}
