/* Operations that move elements. */
#include "base/scoped.h"
#include "layers/operation/arguments.h"

#include <liana/functions.h>

#include <string.h>

static liana_tensor nothing(const liana__operation_call *call)
{
    return (liana_tensor){call->layer->inputs[0].graph, 0};
}

/* [-1 or null, ...]: the batch stays, and the rest holds an example. */
liana_tensor liana__operation_build_reshape(liana__operation_call *call)
{
    const liana__value *sizes = liana__value_get(call->arguments, "newshape");
    const liana_shape old = liana_tensor_shape(call->operands[0]);
    liana_shape shape = {.rank = 0};
    if (!sizes || sizes->kind != LIANA__VALUE_LIST || sizes->count < 1 || sizes->count > LIANA_MAX_RANK) {
        return liana__operation_fail(call, "newshape: expected a list of sizes");
    }
    int64_t product = 1, open = -1, size = liana_shape_size(&old) / old.dims[0];
    for (size_t i = 0; i < sizes->count; i++) {
        const liana__value *item = sizes->items[i];
        const bool is_open = item->kind != LIANA__VALUE_INT || item->integer < 0;
        if (i > 0 && is_open) open = (int64_t)i;
        if (i > 0 && !is_open) product *= item->integer;
        if (product <= 0 || product > size) product = 0;
        shape.dims[shape.rank++] = i == 0 ? old.dims[0] : item->integer;
        if (i == 0 && !is_open && item->integer != 1) {
            return liana__operation_fail(call, "newshape: found a batch of %lld, expected -1 for the batch first",
                                         (long long)item->integer);
        }
    }
    if (open > 0 && product) shape.dims[open] = size / product;
    if (!product || (open > 0 ? size % product : product != size)) {
        return liana__operation_fail(call,
                                     "newshape: found a shape that does not hold the %lld elements of an example "
                                     "behind its first axis, which is the batch",
                                     (long long)size);
    }
    return liana_op_reshape_at(call->here, call->operands[0], shape);
}

liana_tensor liana__operation_build_transpose(liana__operation_call *call)
{
    liana_ints axes;
    if (!liana__operation_integers(call, "axes", &axes)) return nothing(call);
    liana_axes order = {.count = axes.count};
    for (int64_t i = 0; i < axes.count && i < LIANA_MAX_RANK; i++) order.values[i] = axes.values[i];
    if (axes.count > LIANA_MAX_RANK || axes.count < 1 || axes.values[0] != 0) {
        return liana__operation_fail(call, "axes: expected 0, the batch, first");
    }
    return liana_op_transpose_at(call->here, call->operands[0], order);
}

liana_tensor liana__operation_build_expand_dims(liana__operation_call *call)
{
    liana_axes axes;
    liana_tensor x = call->operands[0];
    if (!liana__operation_axes(call, "axis", 1, &axes)) return nothing(call);
    if (axes.count == 1) return liana_op_expand_dims_at(call->here, x, axes.values[0]);
    return liana__operation_fail(call, "axis: expected one axis");
}

liana_tensor liana__operation_build_squeeze(liana__operation_call *call)
{
    liana_axes axes = {.count = 0};
    const liana_shape shape = liana_tensor_shape(call->operands[0]);
    const bool is_given = liana__value_get(call->arguments, "axis") != NULL;
    if (is_given && !liana__operation_axes(call, "axis", 0, &axes)) return nothing(call);
    for (int i = 1; !is_given && i < shape.rank; i++) {
        if (shape.dims[i] == 1) axes.values[axes.count++] = i;
    }
    return liana_op_squeeze_at(call->here, call->operands[0], axes);
}

liana_tensor liana__operation_build_swapaxes(liana__operation_call *call)
{
    int64_t a, b;
    const bool is_known =
        liana__operation_axis(call, "axis1", 0, NULL, &a) && liana__operation_axis(call, "axis2", 0, NULL, &b);
    return is_known ? liana_op_swap_axes_at(call->here, call->operands[0], a, b) : nothing(call);
}

liana_tensor liana__operation_build_moveaxis(liana__operation_call *call)
{
    int64_t from, to;
    const bool is_known = liana__operation_axis(call, "source", 0, NULL, &from) &&
                          liana__operation_axis(call, "destination", 0, NULL, &to);
    return is_known ? liana_op_move_axis_at(call->here, call->operands[0], from, to) : nothing(call);
}

liana_tensor liana__operation_build_concatenate(liana__operation_call *call)
{
    int64_t axis, last = -1;
    if (!liana__operation_axis(call, "axis", 0, &last, &axis)) return nothing(call);
    return liana_op_concat_at(call->here, call->operands, call->count, axis);
}

liana_tensor liana__operation_build_stack(liana__operation_call *call)
{
    int64_t axis;
    if (!liana__operation_axis(call, "axis", 1, NULL, &axis)) return nothing(call);
    return liana_op_stack_at(call->here, call->operands, call->count, axis);
}

liana_tensor liana__operation_build_flip(liana__operation_call *call)
{
    liana_axes axes;
    if (!liana__operation_axes(call, "axis", 0, &axes)) return nothing(call);
    return liana_op_flip_at(call->here, call->operands[0], axes);
}

liana_tensor liana__operation_build_roll(liana__operation_call *call)
{
    liana_ints shift;
    int64_t axis;
    if (!liana__operation_axis(call, "axis", 0, NULL, &axis)) return nothing(call);
    if (!liana__operation_integers(call, "shift", &shift)) return nothing(call);
    return liana_op_roll_at(call->here, call->operands[0], shift.values[0], axis);
}

liana_tensor liana__operation_build_repeat(liana__operation_call *call)
{
    liana_ints repeats;
    int64_t axis;
    if (!liana__operation_axis(call, "axis", 0, NULL, &axis)) return nothing(call);
    if (!liana__operation_integers(call, "repeats", &repeats)) return nothing(call);
    if (repeats.count != 1) return liana__operation_fail(call, "repeats: expected one number");
    return liana_op_repeat_at(call->here, call->operands[0], repeats.values[0], axis);
}

liana_tensor liana__operation_build_tile(liana__operation_call *call)
{
    liana_ints repeats;
    const int rank = liana_tensor_shape(call->operands[0]).rank;
    if (!liana__operation_integers(call, "repeats", &repeats)) return nothing(call);
    if (repeats.count > rank || (repeats.count == rank && repeats.values[0] != 1)) {
        return liana__operation_fail(call, "repeats: expected numbers for the axes behind the batch, or 1 for it");
    }
    liana_shape times = {.rank = (int)repeats.count};
    for (int i = 0; i < times.rank; i++) times.dims[i] = repeats.values[i];
    return liana_op_tile_at(call->here, call->operands[0], times);
}

/* ---- parts ---- */

static bool is_word(const liana__value *item, const char *word)
{
    return item->kind == LIANA__VALUE_STRING && strcmp(item->string, word) == 0;
}

/* numpy's text of a key, whose first part takes the whole batch. False: it does not. */
static bool write_key(const liana__value *key, int rank, liana__text *text)
{
    int named = 0;
    for (size_t i = 0; i < key->count; i++) {
        const liana__value *item = key->items[i];
        const bool is_index = item->kind == LIANA__VALUE_INT, is_range = !is_index && item->kind == LIANA__VALUE_STRING;
        if (!is_index && !is_range) return false;
        if (i == 0 && !is_word(item, ":") && !is_word(item, "...")) return false;
        named += !is_word(item, "...") && !is_word(item, "None");
        if (is_index) {
            liana__text_add(text, "%s%lld", i ? ", " : "", (long long)item->integer);
        } else {
            liana__text_add(text, "%s%s", i ? ", " : "", item->string);
        }
    }
    /* Behind an ellipsis at the begin, the batch must be left to it. */
    return key->count && !text->failed && !(is_word(key->items[0], "...") && named >= rank);
}

liana_tensor liana__operation_build_get_item(liana__operation_call *call)
{
    const liana__value *key = liana__value_get(call->arguments, "key");
    LIANA__SCOPED(liana__text) text = {0};
    const bool is_list = key && key->kind == LIANA__VALUE_LIST;
    if (!is_list || !write_key(key, liana_tensor_shape(call->operands[0]).rank, &text)) {
        return liana__operation_fail(call,
                                     "key: expected a list of indices and ranges whose first is ':' or '...': the "
                                     "batch is taken as a whole");
    }
    return liana_index_at(call->here, call->operands[0], text.data);
}

liana_tensor liana__operation_build_take(liana__operation_call *call)
{
    int64_t axis;
    if (!liana__operation_axis(call, "axis", 0, NULL, &axis)) return nothing(call);
    const bool is_constant = liana__value_get(call->arguments, "indices") != NULL;
    if (!is_constant || !call->operands[1].id) {
        return liana__operation_fail(call, "indices: expected whole numbers that are constant");
    }
    liana_tensor indices = liana_op_cast_at(call->here, call->operands[1], LIANA_S32);
    const int64_t size = liana_tensor_shape(call->operands[0]).dims[axis];
    liana_tensor zero = liana_graph_scalar_at(call->here, indices.graph, LIANA_S32, 0);
    liana_tensor whole = liana_graph_scalar_at(call->here, indices.graph, LIANA_S32, (double)size);
    liana_tensor wrapped = liana_op_add_at(call->here, indices, whole);
    indices = liana_op_select_at(call->here, liana_op_less_at(call->here, indices, zero), wrapped, indices);
    return liana_op_gather_at(call->here, call->operands[0], indices, axis);
}

liana_tensor liana__operation_build_pad(liana__operation_call *call)
{
    const liana__value *widths = liana__value_get(call->arguments, "pad_width");
    const char *mode = liana__operation_word(call, "mode");
    const int rank = liana_tensor_shape(call->operands[0]).rank;
    int64_t low[LIANA_MAX_RANK] = {0}, high[LIANA_MAX_RANK] = {0};
    double value;
    if (!liana__operation_number(call, "constant_values", 0, &value)) return nothing(call);
    if (mode && strcmp(mode, "constant") != 0) return liana__operation_fail(call, "mode: expected constant");
    bool is_known = widths && widths->kind == LIANA__VALUE_LIST && widths->count == (size_t)rank;
    for (int i = 0; is_known && i < rank; i++) {
        const liana__value *pair = widths->items[i];
        is_known = pair->kind == LIANA__VALUE_LIST && pair->count == 2 && pair->items[0]->kind == LIANA__VALUE_INT &&
                   pair->items[1]->kind == LIANA__VALUE_INT;
        if (!is_known) break;
        low[i] = pair->items[0]->integer;
        high[i] = pair->items[1]->integer;
    }
    if (!is_known || low[0] || high[0]) {
        return liana__operation_fail(call, "pad_width: expected a pair for each axis, [0, 0] for the batch");
    }
    return liana_op_pad_at(call->here, call->operands[0], low, high, value);
}

static liana_tensor triangle(liana__operation_call *call, liana_tensor (*of)(liana_location, liana_tensor, int64_t))
{
    double diagonal;
    if (!liana__operation_number(call, "k", 0, &diagonal)) return nothing(call);
    if (liana_tensor_shape(call->operands[0]).rank < 3) {
        return liana__operation_fail(call, "expected matrices behind the batch");
    }
    return of(call->here, call->operands[0], (int64_t)diagonal);
}

liana_tensor liana__operation_build_tril(liana__operation_call *call)
{
    return triangle(call, liana_op_tril_at);
}

liana_tensor liana__operation_build_triu(liana__operation_call *call)
{
    return triangle(call, liana_op_triu_at);
}

/* ---- products and classes ---- */

/* Of matrices behind the batch; or of rows with one constant matrix. */
liana_tensor liana__operation_build_matmul(liana__operation_call *call)
{
    if (call->count != 2 || !call->operands[0].id || !call->operands[1].id) {
        return liana__operation_fail(call, "expected two operands");
    }
    const liana_shape a = liana_tensor_shape(call->operands[0]), b = liana_tensor_shape(call->operands[1]);
    const bool is_constant = liana__value_get(call->arguments, "x2") != NULL;
    if (is_constant && b.rank == 2 && a.rank >= 2) {
        liana_shape shape = a;
        shape.dims[shape.rank - 1] = b.dims[1];
        liana_tensor rows = liana_op_reshape_at(call->here, call->operands[0], liana_shape_of(-1, a.dims[a.rank - 1]));
        return liana_op_reshape_at(call->here, liana_op_matmul_at(call->here, rows, call->operands[1], false, false),
                                   shape);
    }
    if (is_constant || liana__value_get(call->arguments, "x1") || a.rank != b.rank || a.rank < 3) {
        return liana__operation_fail(call,
                                     "found operands of %d and %d axes, expected matrices behind the batch in both, "
                                     "or a constant matrix as x2",
                                     a.rank, b.rank);
    }
    return liana_op_matmul_at(call->here, call->operands[0], call->operands[1], false, false);
}

liana_tensor liana__operation_build_one_hot(liana__operation_call *call)
{
    double classes, axis;
    const liana_tensor x = call->operands[0];
    const bool is_known =
        liana__operation_number(call, "num_classes", 0, &classes) && liana__operation_number(call, "axis", -1, &axis);
    if (!is_known) return nothing(call);
    if (axis != -1 && axis != liana_tensor_shape(x).rank) return liana__operation_fail(call, "axis: expected the last");
    liana_tensor ids = liana_tensor_dtype(x) == LIANA_S32 ? x : liana_op_cast_at(call->here, x, LIANA_S32);
    return liana_op_one_hot_at(call->here, ids, (int64_t)classes, call->layer->dtype);
}
