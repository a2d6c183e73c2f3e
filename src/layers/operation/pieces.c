/* Functions of keras.ops that take tensors apart and join them, and those of images, windows and attention. */
#include "layers/operation/numbers.h"

#include <liana/functions.h>
#include <math.h>
#include <string.h>

static liana_tensor nothing(const liana__operation_call *call)
{
    return (liana_tensor){call->layer->inputs[0].graph, 0};
}

static int rank_of(liana_tensor x)
{
    return liana_tensor_shape(x).rank;
}

/* A whole number in a range. */
static bool whole(const liana__operation_call *call, const char *name, double if_none, double least, double most,
                  int64_t *found)
{
    double number;
    if (!liana__operation_number(call, name, if_none, &number)) return false;
    *found = (int64_t)number;
    if (number >= least && number <= most && number == floor(number)) return true;
    liana__operation_fail(call, "%s: found %g, expected a whole number from %g to %g", name, number, least, most);
    return false;
}

/* ---- joined ---- */

liana_tensor liana__operation_build_append(liana__operation_call *call)
{
    int64_t axis;
    if (!liana__operation_axis(call, "axis", 0, NULL, &axis)) return nothing(call);
    if (call->count != 2 || !call->operands[1].id) return liana__operation_fail(call, "expected x1 and x2");
    return liana_op_concat_at(call->here, call->operands, 2, axis);
}

static liana_tensor join_at(liana__operation_call *call, int64_t axis)
{
    for (size_t i = 0; i < call->count; i++) {
        if (rank_of(call->operands[i]) == axis) {
            call->operands[i] = liana_op_expand_dims_at(call->here, call->operands[i], -1);
        }
        if (rank_of(call->operands[i]) <= axis) return liana__operation_fail(call, "found an input without axis 1");
    }
    return liana_op_concat_at(call->here, call->operands, call->count, axis);
}

liana_tensor liana__operation_build_hstack(liana__operation_call *call)
{
    if (rank_of(call->operands[0]) < 2) return liana__operation_fail(call, "axis 0 is the batch: expected another one");
    return join_at(call, 1);
}

liana_tensor liana__operation_build_dstack(liana__operation_call *call)
{
    return join_at(call, 2);
}

/* ---- apart ---- */

enum { MOST_PARTS = LIANA_MAX_MORE_RESULTS + 1 };

static liana_tensor section(const liana__operation_call *call, int64_t axis, int64_t first, int64_t end)
{
    const liana_shape shape = liana_tensor_shape(call->operands[0]);
    int64_t start[LIANA_MAX_RANK] = {0}, limit[LIANA_MAX_RANK];
    for (int i = 0; i < shape.rank; i++) limit[i] = shape.dims[i];
    start[axis] = first;
    limit[axis] = end;
    return liana_op_slice_at(call->here, call->operands[0], start, limit, NULL);
}

/* The first parts have one element more where they cannot be equal. */
liana_tensor liana__operation_build_array_split(liana__operation_call *call)
{
    int64_t axis, count;
    if (!liana__operation_axis(call, "axis", 0, NULL, &axis)) return nothing(call);
    const int64_t size = liana_tensor_shape(call->operands[0]).dims[axis];
    const double most = size < MOST_PARTS ? (double)size : MOST_PARTS;
    if (!whole(call, "indices_or_sections", 0, 1, most, &count)) return nothing(call);
    liana_tensor first = {0};
    for (int64_t i = 0, from = 0; i < count; i++) {
        const int64_t end = from + size / count + (i < size % count);
        liana_tensor piece = section(call, axis, from, end);
        if (i) call->layer->more[i - 1] = piece;
        if (!i) first = piece;
        from = end;
    }
    call->layer->num_more = (size_t)count - 1;
    return first;
}

static liana_tensor split_at(liana__operation_call *call, int64_t axis)
{
    return rank_of(call->operands[0]) > axis
               ? liana__operation_split(call, axis)
               : liana__operation_fail(call, "expected an input of axis %lld", (long long)axis);
}

liana_tensor liana__operation_build_hsplit(liana__operation_call *call)
{
    return split_at(call, 1);
}

liana_tensor liana__operation_build_dsplit(liana__operation_call *call)
{
    return split_at(call, 2);
}

/* ---- diagonals and turns ---- */

/* The elements [i, i + offset] of two axes, which become the last one. */
static liana_tensor diagonal(liana__operation_call *call)
{
    int64_t a, b, offset;
    const liana_shape shape = liana_tensor_shape(call->operands[0]);
    if (!liana__operation_axis(call, "axis1", 0, NULL, &a) || !liana__operation_axis(call, "axis2", 0, NULL, &b)) {
        return nothing(call);
    }
    if (a == b) return liana__operation_fail(call, "axis1 and axis2 are one axis");
    const int64_t rows = shape.dims[a], columns = shape.dims[b];
    if (!whole(call, "offset", 0, (double)(1 - rows), (double)(columns - 1), &offset)) return nothing(call);
    liana_axes order = {.count = 0};
    liana_shape flat = {.rank = 0};
    for (int i = 0; i < shape.rank; i++) {
        if (i == a || i == b) continue;
        order.values[order.count++] = i;
        flat.dims[flat.rank++] = shape.dims[i];
    }
    order.values[order.count++] = a;
    order.values[order.count++] = b;
    flat.dims[flat.rank++] = rows * columns;
    liana_tensor lines =
        liana_op_reshape_at(call->here, liana_op_transpose_at(call->here, call->operands[0], order), flat);
    const int64_t row = offset < 0 ? -offset : 0, column = offset > 0 ? offset : 0;
    const int64_t length = rows - row < columns - column ? rows - row : columns - column;
    int64_t start[LIANA_MAX_RANK] = {0}, limit[LIANA_MAX_RANK], step[LIANA_MAX_RANK];
    for (int i = 0; i < flat.rank; i++) limit[i] = flat.dims[i], step[i] = 1;
    start[flat.rank - 1] = row * columns + column;
    limit[flat.rank - 1] = start[flat.rank - 1] + (length - 1) * (columns + 1) + 1;
    step[flat.rank - 1] = columns + 1;
    return liana_op_slice_at(call->here, lines, start, limit, step);
}

liana_tensor liana__operation_build_diagonal(liana__operation_call *call)
{
    return diagonal(call);
}

liana_tensor liana__operation_build_trace(liana__operation_call *call)
{
    return liana_op_reduce_sum_at(call->here, diagonal(call), LIANA_AXES(-1), false);
}

liana_tensor liana__operation_build_rot90(liana__operation_call *call)
{
    int64_t times;
    liana_axes axes;
    liana_tensor x = call->operands[0];
    if (!liana__operation_axes(call, "axes", 0, &axes)) return nothing(call);
    if (axes.count != 2 || axes.values[0] == axes.values[1]) {
        return liana__operation_fail(call, "axes: expected two of them");
    }
    if (!whole(call, "k", 1, -1e9, 1e9, &times)) return nothing(call);
    for (times = (times % 4 + 4) % 4; times > 0; times--) {
        x = liana_op_flip_at(call->here, x, LIANA_AXES(axes.values[1]));
        x = liana_op_swap_axes_at(call->here, x, axes.values[0], axes.values[1]);
    }
    return x;
}

liana_tensor liana__operation_build_fliplr(liana__operation_call *call)
{
    if (rank_of(call->operands[0]) < 2) return liana__operation_fail(call, "expected an input of axis 1");
    return liana_op_flip_at(call->here, call->operands[0], LIANA_AXES(1));
}

/* a x b of vectors of three elements, along the last axis. */
liana_tensor liana__operation_build_cross(liana__operation_call *call)
{
    static const int32_t next[3] = {1, 2, 0}, after[3] = {2, 0, 1};
    const liana_tensor a = call->operands[0], b = call->operands[1];
    if (call->count != 2 || !b.id) return liana__operation_fail(call, "expected x1 and x2");
    const int last = rank_of(a) - 1;
    static const char *const names[] = {"axis", "axisa", "axisb", "axisc"};
    for (size_t i = 0; i < 4; i++) {
        int64_t axis;
        if (liana__value_get(call->arguments, names[i]) && !whole(call, names[i], -1, -1, last, &axis)) {
            return nothing(call);
        }
        if (liana__value_get(call->arguments, names[i]) && axis != -1 && axis != last) {
            return liana__operation_fail(call, "%s: expected the last axis", names[i]);
        }
    }
    if (liana_tensor_shape(a).dims[last] != 3 || liana_tensor_shape(b).dims[rank_of(b) - 1] != 3) {
        return liana__operation_fail(call, "expected vectors of three elements");
    }
    liana_location here = call->here;
    liana_tensor one = liana_graph_constant_at(here, a.graph, LIANA_S32, liana_shape_of(3), next);
    liana_tensor two = liana_graph_constant_at(here, a.graph, LIANA_S32, liana_shape_of(3), after);
    liana_tensor left =
        liana_op_multiply_at(here, liana_op_gather_at(here, a, one, -1), liana_op_gather_at(here, b, two, -1));
    liana_tensor right =
        liana_op_multiply_at(here, liana_op_gather_at(here, a, two, -1), liana_op_gather_at(here, b, one, -1));
    return liana_op_subtract_at(here, left, right);
}

/* ---- images and windows ---- */

static bool is_channels_last(const liana__operation_call *call, int rank)
{
    const char *format = liana__operation_word(call, "data_format");
    const bool fits = (!format || strcmp(format, "channels_last") == 0) && rank_of(call->operands[0]) == rank;
    if (!fits) liana__operation_fail(call, "expected %s of data_format channels_last", rank == 4 ? "images" : "steps");
    return fits;
}

liana_tensor liana__operation_build_depth_to_space(liana__operation_call *call)
{
    int64_t r;
    if (!is_channels_last(call, 4)) return nothing(call);
    const liana_shape s = liana_tensor_shape(call->operands[0]);
    if (!whole(call, "block_size", 0, 1, (double)s.dims[3], &r)) return nothing(call);
    if (s.dims[3] % (r * r)) return liana__operation_fail(call, "the channels are no multiple of block_size squared");
    const liana_shape apart = {6, {s.dims[0], s.dims[1], s.dims[2], r, r, s.dims[3] / (r * r)}};
    liana_tensor x = liana_op_reshape_at(call->here, call->operands[0], apart);
    x = liana_op_transpose_at(call->here, x, LIANA_AXES(0, 1, 3, 2, 4, 5));
    return liana_op_reshape_at(call->here, x,
                               liana_shape_of(s.dims[0], s.dims[1] * r, s.dims[2] * r, s.dims[3] / (r * r)));
}

liana_tensor liana__operation_build_space_to_depth(liana__operation_call *call)
{
    int64_t r;
    if (!is_channels_last(call, 4)) return nothing(call);
    const liana_shape s = liana_tensor_shape(call->operands[0]);
    if (!whole(call, "block_size", 0, 1, (double)s.dims[1], &r)) return nothing(call);
    if (s.dims[1] % r || s.dims[2] % r) return liana__operation_fail(call, "the sides are no multiples of block_size");
    const liana_shape apart = {6, {s.dims[0], s.dims[1] / r, r, s.dims[2] / r, r, s.dims[3]}};
    liana_tensor x = liana_op_reshape_at(call->here, call->operands[0], apart);
    x = liana_op_transpose_at(call->here, x, LIANA_AXES(0, 1, 3, 2, 4, 5));
    return liana_op_reshape_at(call->here, x,
                               liana_shape_of(s.dims[0], s.dims[1] / r, s.dims[2] / r, s.dims[3] * r * r));
}

/* Windows of the last axis: [..., windows, sequence_length]. */
liana_tensor liana__operation_build_extract_sequences(liana__operation_call *call)
{
    int64_t length, stride;
    const liana_tensor x = call->operands[0];
    const int rank = rank_of(x);
    const int64_t size = liana_tensor_shape(x).dims[rank - 1];
    if (rank < 2 || rank >= LIANA_MAX_RANK) return liana__operation_fail(call, "expected [batch, ..., steps]");
    if (!whole(call, "sequence_length", 0, 1, (double)size, &length)) return nothing(call);
    if (!whole(call, "sequence_stride", 0, 1, (double)size, &stride)) return nothing(call);
    const liana_shape windows = liana_shape_of((size - length) / stride + 1, length);
    liana_location here = call->here;
    liana_tensor first = liana_op_multiply_at(here, liana_op_iota_at(here, x.graph, LIANA_S32, windows, 0),
                                              liana_graph_scalar_at(here, x.graph, LIANA_S32, (double)stride));
    liana_tensor places = liana_op_add_at(here, first, liana_op_iota_at(here, x.graph, LIANA_S32, windows, 1));
    return liana_op_gather_at(here, x, places, -1);
}

liana_tensor liana__operation_build_multi_hot(liana__operation_call *call)
{
    int64_t classes, axis;
    const liana_tensor x = call->operands[0];
    if (!whole(call, "num_classes", 0, 1, INT32_MAX, &classes)) return nothing(call);
    if (!whole(call, "axis", -1, -1, rank_of(x), &axis)) return nothing(call);
    if ((axis != -1 && axis != rank_of(x)) || rank_of(x) < 2) {
        return liana__operation_fail(call, "expected classes [batch, ...], and the last axis");
    }
    liana_tensor ids = liana_tensor_dtype(x) == LIANA_S32 ? x : liana_op_cast_at(call->here, x, LIANA_S32);
    liana_tensor hot = liana_op_one_hot_at(call->here, ids, classes, call->layer->dtype);
    return liana_op_reduce_max_at(call->here, hot, LIANA_AXES(1), false);
}

/* One number for both sides, or two. */
static bool read_sides(const liana__operation_call *call, const char *name, const int64_t *if_none, int64_t sides[2])
{
    liana_ints given;
    const bool is_given = liana__value_get(call->arguments, name) != NULL;
    if (!is_given && if_none) {
        memcpy(sides, if_none, 2 * sizeof *sides);
        return true;
    }
    if (!liana__operation_integers(call, name, &given)) return false;
    for (int i = 0; i < 2; i++) sides[i] = given.values[given.count == 2 ? i : 0];
    if ((given.count == 1 || given.count == 2) && sides[0] > 0 && sides[1] > 0) return true;
    liana__operation_fail(call, "%s: expected one or two numbers above 0", name);
    return false;
}

static liana_tensor pooled(liana__operation_call *call,
                           liana_tensor (*pool)(liana_location, liana_tensor, liana_pool_options))
{
    liana_pool_options options = {.padding = LIANA_PADDING_VALID};
    const char *padding = liana__operation_word(call, "padding");
    if (!is_channels_last(call, 4) || !read_sides(call, "pool_size", NULL, options.window)) return nothing(call);
    if (!read_sides(call, "strides", options.window, options.strides)) return nothing(call);
    if (padding && strcmp(padding, "same") == 0) options.padding = LIANA_PADDING_SAME;
    return pool(call->here, call->operands[0], options);
}

liana_tensor liana__operation_build_max_pool(liana__operation_call *call)
{
    return pooled(call, liana_op_max_pool2d_at);
}

liana_tensor liana__operation_build_average_pool(liana__operation_call *call)
{
    return pooled(call, liana_op_average_pool2d_at);
}

/* ---- attention ---- */

/* Heads of keys and values that several heads of queries share. */
static liana_tensor shared_heads(const liana__operation_call *call, liana_tensor x, int64_t heads)
{
    const int64_t own = liana_tensor_shape(x).dims[2];
    return own > 1 && heads > own ? liana_op_repeat_at(call->here, x, heads / own, 2) : x;
}

/* softmax(scale q k + bias) v (Vaswani et al. 2017): query [batch, to, heads, size], key and value [batch, from, heads,
 * size]. */
liana_tensor liana__operation_build_dot_product_attention(liana__operation_call *call)
{
    double scale;
    liana_location here = call->here;
    if (call->count != 3 || rank_of(call->operands[0]) != 4 || !call->operands[1].id || !call->operands[2].id ||
        rank_of(call->operands[1]) != 4 || rank_of(call->operands[2]) != 4) {
        return liana__operation_fail(call, "expected query, key and value [batch, steps, heads, size], without bias or "
                                           "mask");
    }
    const liana_shape q = liana_tensor_shape(call->operands[0]), k = liana_tensor_shape(call->operands[1]);
    if (!liana__operation_number(call, "scale", 1 / sqrt((double)k.dims[3]), &scale)) return nothing(call);
    liana_tensor keys = shared_heads(call, call->operands[1], q.dims[2]);
    liana_tensor values = shared_heads(call, call->operands[2], q.dims[2]);
    liana_tensor logits = liana_einsum_at(here, "btnh,bsnh->bnts", (liana_tensor[]){call->operands[0], keys}, 2);
    const liana_dtype dtype = liana_tensor_dtype(logits);
    logits = liana_op_multiply_at(here, logits, liana_graph_scalar_at(here, logits.graph, dtype, scale));
    if (liana__operation_flag(call, "is_causal")) {
        liana_tensor seen = liana_op_tri_at(here, logits.graph, LIANA_BOOL, q.dims[1], k.dims[1], 0);
        liana_tensor far = liana_graph_scalar_at(here, logits.graph, dtype, -2.372671e38);
        logits = liana_op_where_at(here, seen, logits, far);
    }
    return liana_einsum_at(here, "bnts,bsnh->btnh", (liana_tensor[]){liana_op_softmax_at(here, logits), values}, 2);
}
