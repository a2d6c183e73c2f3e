/* Functions that move elements, made of slice, concat, gather and reshape. */
#include "ops/functions/functions.h"

/* ---- axes of size 1 ---- */

liana_tensor liana_op_expand_dims_at(liana_location here, liana_tensor x, int64_t axis)
{
    const liana_shape old = liana_tensor_shape(x);
    if (!liana__function_axis(here, x, "expand_dims", 1, &axis)) return (liana_tensor){x.graph, 0};
    if (old.rank == LIANA_MAX_RANK) return liana__function_fail(here, x, "expand_dims", "too many axes");
    liana_shape shape = {.rank = old.rank + 1};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = i == axis ? 1 : old.dims[i < axis ? i : i - 1];
    return liana_op_reshape_at(here, x, shape);
}

liana_tensor liana_op_squeeze_at(liana_location here, liana_tensor x, liana_axes axes)
{
    const liana_shape old = liana_tensor_shape(x);
    unsigned gone = 0;
    for (int64_t i = 0; i < axes.count; i++) {
        if (!liana__function_axis(here, x, "squeeze", 0, &axes.values[i])) return (liana_tensor){x.graph, 0};
        if (old.dims[axes.values[i]] != 1) {
            return liana__function_fail(here, x, "squeeze", "axis %lld has the size %lld, expected 1",
                                        (long long)axes.values[i], (long long)old.dims[axes.values[i]]);
        }
        gone |= 1u << axes.values[i];
    }
    liana_shape shape = {.rank = 0};
    for (int i = 0; i < old.rank; i++) {
        const bool goes = axes.count < 0 ? old.dims[i] == 1 : gone >> i & 1;
        if (!goes) shape.dims[shape.rank++] = old.dims[i];
    }
    return liana_op_reshape_at(here, x, shape);
}

liana_tensor liana_op_move_axis_at(liana_location here, liana_tensor x, int64_t from, int64_t to)
{
    const int rank = liana_tensor_shape(x).rank;
    bool is_known = liana__function_axis(here, x, "move_axis", 0, &from);
    is_known = is_known && liana__function_axis(here, x, "move_axis", 0, &to);
    if (!is_known) return (liana_tensor){x.graph, 0};
    liana_axes order = {.count = rank};
    for (int i = 0, next = 0; i < rank; i++) {
        if (next == from) next++;
        order.values[i] = i == to ? from : next++;
    }
    return liana_op_transpose_at(here, x, order);
}

liana_tensor liana_op_swap_axes_at(liana_location here, liana_tensor x, int64_t a, int64_t b)
{
    const int rank = liana_tensor_shape(x).rank;
    bool is_known = liana__function_axis(here, x, "swap_axes", 0, &a);
    is_known = is_known && liana__function_axis(here, x, "swap_axes", 0, &b);
    if (!is_known) return (liana_tensor){x.graph, 0};
    liana_axes order = {.count = rank};
    for (int i = 0; i < rank; i++) order.values[i] = i == a ? b : i == b ? a : i;
    return liana_op_transpose_at(here, x, order);
}

/* ---- joined and divided ---- */

enum { MOST_STACKED = 256 };

liana_tensor liana_op_stack_at(liana_location here, const liana_tensor *tensors, size_t count, int64_t axis)
{
    liana_tensor none = {count ? tensors[0].graph : NULL, 0}, wide[MOST_STACKED];
    if (!count) return none;
    if (count > MOST_STACKED) {
        return liana__function_fail(here, none, "stack", "found %zu tensors, expected at most %d", count, MOST_STACKED);
    }
    if (!liana__function_axis(here, tensors[0], "stack", 1, &axis)) return none;
    for (size_t i = 0; i < count; i++) wide[i] = liana_op_expand_dims_at(here, tensors[i], axis);
    return liana_op_concat_at(here, wide, count, axis);
}

/* The elements `first` to `first` + `count` of an axis. */
static liana_tensor part(liana_location here, liana_tensor x, int64_t axis, int64_t first, int64_t count)
{
    const liana_shape shape = liana_tensor_shape(x);
    int64_t start[LIANA_MAX_RANK] = {0}, limit[LIANA_MAX_RANK];
    for (int i = 0; i < shape.rank; i++) limit[i] = shape.dims[i];
    start[axis] = first;
    limit[axis] = first + count;
    return liana_op_slice_at(here, x, start, limit, NULL);
}

void liana_op_split_at(liana_location here, liana_tensor x, size_t count, int64_t axis, liana_tensor *parts)
{
    for (size_t i = 0; i < count; i++) parts[i] = (liana_tensor){x.graph, 0};
    if (!liana__function_axis(here, x, "split", 0, &axis)) return;
    const int64_t size = liana_tensor_shape(x).dims[axis];
    if (!count || size % (int64_t)count) {
        liana__function_fail(here, x, "split", "axis %lld has the size %lld, which cannot be divided into %zu parts",
                             (long long)axis, (long long)size, count);
        return;
    }
    const int64_t length = size / (int64_t)count;
    for (size_t i = 0; i < count; i++) parts[i] = part(here, x, axis, (int64_t)i * length, length);
}

liana_tensor liana_op_roll_at(liana_location here, liana_tensor x, int64_t shift, int64_t axis)
{
    if (!liana__function_axis(here, x, "roll", 0, &axis)) return (liana_tensor){x.graph, 0};
    const int64_t size = liana_tensor_shape(x).dims[axis], by = (shift % size + size) % size;
    if (by == 0) return x;
    const liana_tensor parts[] = {part(here, x, axis, size - by, by), part(here, x, axis, 0, size - by)};
    return liana_op_concat_at(here, parts, 2, axis);
}

liana_tensor liana_op_flip_at(liana_location here, liana_tensor x, liana_axes axes)
{
    const int rank = liana_tensor_shape(x).rank;
    const int64_t count = axes.count < 0 ? rank : axes.count;
    for (int64_t i = 0; i < count; i++) {
        int64_t axis = axes.count < 0 ? i : axes.values[i];
        if (!liana__function_axis(here, x, "flip", 0, &axis)) return (liana_tensor){x.graph, 0};
        const int64_t size = liana_tensor_shape(x).dims[axis];
        liana_tensor order = liana_op_iota_at(here, x.graph, LIANA_S32, liana_shape_of(size), 0);
        liana_tensor last = liana_graph_scalar_at(here, x.graph, LIANA_S32, (double)(size - 1));
        x = liana_op_gather_at(here, x, liana_op_subtract_at(here, last, order), axis);
    }
    return x;
}

/* ---- repeated ---- */

liana_tensor liana_op_repeat_at(liana_location here, liana_tensor x, int64_t repeats, int64_t axis)
{
    liana_shape shape = liana_tensor_shape(x);
    if (!liana__function_axis(here, x, "repeat", 0, &axis)) return (liana_tensor){x.graph, 0};
    if (repeats < 1 || shape.rank == LIANA_MAX_RANK) {
        return liana__function_fail(here, x, "repeat",
                                    "found %lld repeats of %d axes, expected at least one of at most %d",
                                    (long long)repeats, shape.rank, LIANA_MAX_RANK - 1);
    }
    liana_shape wide = shape;
    for (int i = wide.rank++; i > axis + 1; i--) wide.dims[i] = wide.dims[i - 1];
    wide.dims[axis + 1] = repeats;
    shape.dims[axis] *= repeats;
    x = liana_op_broadcast_to_at(here, liana_op_expand_dims_at(here, x, axis + 1), wide);
    return liana_op_reshape_at(here, x, shape);
}

liana_tensor liana_op_tile_at(liana_location here, liana_tensor x, liana_shape repeats)
{
    liana_shape shape = liana_tensor_shape(x);
    if (!x.id) return x;
    if (repeats.rank > LIANA_MAX_RANK) return liana__function_fail(here, x, "tile", "too many axes");
    while (shape.rank < repeats.rank) {
        x = liana_op_expand_dims_at(here, x, 0);
        shape = liana_tensor_shape(x);
        if (!x.id) return x;
    }
    for (int i = 0; i < repeats.rank; i++) {
        const int64_t times = repeats.dims[i], axis = shape.rank - repeats.rank + i;
        if (times < 1 || times > MOST_STACKED) {
            return liana__function_fail(here, x, "tile", "found %lld repeats, expected 1 to %d", (long long)times,
                                        MOST_STACKED);
        }
        liana_tensor copies[MOST_STACKED];
        for (int64_t k = 0; k < times; k++) copies[k] = x;
        if (times > 1) x = liana_op_concat_at(here, copies, (size_t)times, axis);
    }
    return x;
}
