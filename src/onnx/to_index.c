/* Ops with indices. */
#include "onnx/op_table.h"

/* 1 where the index is that of the class: a comparison, which any runtime has for any dtype. */
void liana__onnx_to_one_hot(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__node *indices = node->inputs[0];
    const int rank = node->shape.rank;
    const int64_t depth = node->shape.dims[rank - 1];
    liana__onnx_size sizes[LIANA_MAX_RANK];
    int32_t *classes = liana__onnx_allocate(scope->file, (size_t)depth * sizeof *classes);
    (void)type;
    if (!classes) return;
    for (int64_t i = 0; i < depth; i++) classes[i] = (int32_t)i;
    for (int i = 0; i < rank - 1; i++) sizes[i] = liana__onnx_dim(scope, indices, i);
    sizes[rank - 1] = (liana__onnx_size){.constant = 1};
    const char *column = liana__onnx_reshape(scope, node, liana__onnx_input(scope, node, 0), sizes, (size_t)rank);
    const liana_shape shape = liana_shape_of(depth);
    const char *row = liana__onnx_constant(scope, "classes", LIANA_S32, &shape, classes);
    const char *chosen = liana__onnx_say(scope, node, "Equal", LIANA__ONNX_OF(column, row), NULL);
    if (node->dtype != LIANA_BOOL) chosen = liana__onnx_cast(scope, node, chosen, node->dtype);
    liana__onnx_give(scope, node, chosen, LIANA__ONNX_NATURAL);
}

/* Whether indices are a model's input, maybe cast: ids, which its caller keeps in range. */
static bool is_given(const liana__onnx_scope *scope, const liana__node *indices)
{
    if (!scope->file->model) return false;
    while (indices->op == &liana__op_cast || indices->op == &liana__op_reshape) indices = indices->inputs[0];
    return !scope->outer && liana__is_input(indices);
}

/* Whether all indices are known, and within an axis of a known size. */
static bool is_in_range(const liana__onnx_scope *scope, const liana__node *indices, liana__onnx_size size)
{
    const int32_t *known = liana__onnx_data(scope, indices);
    if (!known || size.per_example) return false;
    for (int64_t i = 0; i < liana_shape_size(&indices->shape); i++) {
        if (known[i] < 0 || known[i] >= size.constant) return false;
    }
    return true;
}

/* liana clamps indices, and ONNX fails. */
static const char *clamp(liana__onnx_scope *scope, const liana__node *node, const char *at, liana__onnx_size size)
{
    const int64_t zero = 0;
    const char *low = liana__onnx_number(scope, LIANA_S32, 0), *high;
    size.constant--;
    if (size.per_example) {
        high = liana__onnx_sizes(scope, node, &size, 1);
        const char *axis = liana__onnx_list_of(scope, "axes", &zero, 1);
        high = liana__onnx_say(scope, node, "Squeeze", LIANA__ONNX_OF(high, axis), NULL);
        high = liana__onnx_cast(scope, node, high, LIANA_S32);
    } else {
        high = liana__onnx_number(scope, LIANA_S32, (double)size.constant);
    }
    return liana__onnx_say(scope, node, "Clip", LIANA__ONNX_OF(at, low, high), NULL);
}

void liana__onnx_to_gather(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const int64_t axis = liana__onnx_int(node, "axis");
    const liana__node *indices = node->inputs[1];
    const liana__onnx_size size = liana__onnx_dim(scope, node->inputs[0], (int)axis);
    const char *x = liana__onnx_input(scope, node, 0), *at = liana__onnx_input(scope, node, 1);
    (void)type;
    if (!is_given(scope, indices) && !is_in_range(scope, indices, size)) at = clamp(scope, node, at, size);
    x = liana__onnx_say(scope, node, "Gather", LIANA__ONNX_OF(x, at), LIANA__ONNX_WITH(LIANA__ONNX_INT("axis", axis)));
    liana__onnx_give(scope, node, x, LIANA__ONNX_NATURAL);
}

/* ScatterND adds to the first axis: `count` axes from `first` on come to the front, and back. */
static const char *to_front(liana__onnx_scope *scope, const liana__node *node, const char *x, int rank, int first,
                            int count, bool back)
{
    int64_t order[LIANA_MAX_RANK];
    int at = 0;
    for (int i = 0; i < count; i++) order[at++] = first + i;
    for (int i = 0; i < rank; i++) {
        if (i < first || i >= first + count) order[at++] = i;
    }
    int64_t inverse[LIANA_MAX_RANK];
    for (int i = 0; i < rank; i++) inverse[order[i]] = i;
    return first && count ? liana__onnx_transpose(scope, node, x, back ? inverse : order, rank) : x;
}

void liana__onnx_to_scatter(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__node *updates = node->inputs[0], *indices = node->inputs[1];
    const int rank = node->shape.rank, axis = (int)liana__onnx_int(node, "axis"), count = indices->shape.rank;
    liana__onnx_size sizes[LIANA_MAX_RANK + 1];
    (void)type;
    const char *rows = liana__onnx_input(scope, node, 1);
    const liana__onnx_size size = liana__onnx_dim(scope, node, axis);
    if (!is_in_range(scope, indices, size)) rows = clamp(scope, node, rows, size);
    for (int i = 0; i < count; i++) sizes[i] = liana__onnx_dim(scope, indices, i);
    sizes[count] = (liana__onnx_size){.constant = 1};
    rows = liana__onnx_cast(scope, node, rows, LIANA_S64);
    rows = liana__onnx_reshape(scope, node, rows, sizes, (size_t)count + 1);
    const char *values = liana__onnx_input(scope, node, 0);
    values = to_front(scope, node, values, updates->shape.rank, axis, count, false);
    sizes[0] = size;
    for (int i = 0, at = 1; i < rank; i++) {
        if (i != axis) sizes[at++] = liana__onnx_dim(scope, node, i);
    }
    const char *shape = liana__onnx_sizes(scope, node, sizes, (size_t)rank);
    const char *zeros = liana__onnx_number(scope, node->dtype, 0);
    zeros = liana__onnx_say(scope, node, "Expand", LIANA__ONNX_OF(zeros, shape), NULL);
    const char *sums = liana__onnx_say(scope, node, "ScatterND", LIANA__ONNX_OF(zeros, rows, values),
                                       LIANA__ONNX_WITH(LIANA__ONNX_TEXT("reduction", "add")));
    liana__onnx_give(scope, node, to_front(scope, node, sums, rank, axis, 1, true), LIANA__ONNX_NATURAL);
}

static const char *as_s32(liana__onnx_scope *scope, const liana__node *node, const char *x)
{
    return liana__onnx_cast(scope, node, x, LIANA_S32);
}

void liana__onnx_to_argmax(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const char *x = liana__onnx_say(scope, node, "ArgMax", LIANA__ONNX_OF(liana__onnx_input(scope, node, 0)),
                                    LIANA__ONNX_WITH(LIANA__ONNX_INT("axis", liana__onnx_int(node, "axis")),
                                                     LIANA__ONNX_INT("keepdims", 0)));
    (void)type;
    liana__onnx_give(scope, node, as_s32(scope, node, x), LIANA__ONNX_NATURAL);
}

/* Of equal elements both give the first one first. */
void liana__onnx_to_top_k(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const int64_t axis = liana__onnx_int(node, "axis");
    const liana__onnx_size count = liana__onnx_dim(scope, node, (int)axis);
    const char *outputs[2], *k = liana__onnx_sizes(scope, node, &count, 1);
    const char *x = liana__onnx_input(scope, node, 0);
    (void)type;
    if (node->inputs[0]->dtype == LIANA_BOOL) x = as_s32(scope, node, x);
    liana__onnx_say_many(scope, node, "TopK", LIANA__ONNX_OF(x, k),
                         LIANA__ONNX_WITH(LIANA__ONNX_INT("axis", axis),
                                          LIANA__ONNX_INT("largest", liana__onnx_int(node, "descending"))),
                         outputs, 2);
    liana__onnx_give(scope, node, as_s32(scope, node, outputs[1]), LIANA__ONNX_NATURAL);
}
