/* Operations of several results, sums up to each element, and those that put elements in order. */
#include "layers/operation/arguments.h"

#include <liana/functions.h>

#include <string.h>

static liana_tensor nothing(const liana__operation_call *call)
{
    return (liana_tensor){call->layer->inputs[0].graph, 0};
}

/* Of the results the first is given back, and the layer has the others. */
static liana_tensor give(const liana__operation_call *call, const liana_tensor *results, size_t count)
{
    for (size_t i = 1; i < count; i++) call->layer->more[i - 1] = results[i];
    call->layer->num_more = count - 1;
    return results[0];
}

/* ---- several results ---- */

enum { MOST_PARTS = LIANA_MAX_MORE_RESULTS + 1 };

static liana_tensor part(const liana__operation_call *call, int64_t axis, int64_t first, int64_t end)
{
    const liana_shape shape = liana_tensor_shape(call->operands[0]);
    int64_t start[LIANA_MAX_RANK] = {0}, limit[LIANA_MAX_RANK];
    for (int i = 0; i < shape.rank; i++) limit[i] = i == axis ? end : shape.dims[i];
    start[axis] = first;
    return liana_op_slice_at(call->here, call->operands[0], start, limit, NULL);
}

liana_tensor liana__operation_split(liana__operation_call *call, int64_t axis)
{
    liana_ints at;
    liana_tensor parts[MOST_PARTS];
    const liana__value *given = liana__value_get(call->arguments, "indices_or_sections");
    if (!liana__operation_integers(call, "indices_or_sections", &at)) return nothing(call);
    const int64_t size = liana_tensor_shape(call->operands[0]).dims[axis];
    if (given->kind != LIANA__VALUE_LIST) {
        const int64_t sections = at.values[0];
        const bool fits = sections >= 1 && sections <= MOST_PARTS && size % sections == 0;
        at.count = fits ? sections - 1 : -1;
        for (int64_t i = 0; fits && i + 1 < sections; i++) at.values[i] = (i + 1) * (size / sections);
    }
    bool fits = at.count >= 0 && at.count < MOST_PARTS;
    for (int64_t i = 0; fits && i < at.count; i++) {
        fits = at.values[i] > (i ? at.values[i - 1] : 0) && at.values[i] < size;
    }
    if (!fits) {
        return liana__operation_fail(call,
                                     "indices_or_sections: axis %lld of size %lld cannot be divided so; expected at "
                                     "most %d parts, none of them empty",
                                     (long long)axis, (long long)size, MOST_PARTS);
    }
    for (int64_t i = 0; i <= at.count; i++) {
        parts[i] = part(call, axis, i ? at.values[i - 1] : 0, i < at.count ? at.values[i] : size);
    }
    return give(call, parts, (size_t)at.count + 1);
}

liana_tensor liana__operation_build_split(liana__operation_call *call)
{
    int64_t axis;
    if (!liana__operation_axis(call, "axis", 0, NULL, &axis)) return nothing(call);
    return liana__operation_split(call, axis);
}

liana_tensor liana__operation_build_unstack(liana__operation_call *call)
{
    int64_t axis;
    liana_tensor parts[MOST_PARTS];
    if (!liana__operation_axis(call, "axis", 0, NULL, &axis)) return nothing(call);
    const int64_t size = liana_tensor_shape(call->operands[0]).dims[axis];
    if (size > MOST_PARTS) {
        return liana__operation_fail(call, "axis %lld has the size %lld, expected at most %d", (long long)axis,
                                     (long long)size, MOST_PARTS);
    }
    for (int64_t i = 0; i < size; i++) {
        parts[i] = liana_op_squeeze_at(call->here, part(call, axis, i, i + 1), LIANA_AXES(axis));
    }
    return give(call, parts, (size_t)size);
}

liana_tensor liana__operation_build_moments(liana__operation_call *call)
{
    liana_axes axes;
    if (!liana__operation_axes(call, "axes", 0, &axes)) return nothing(call);
    const bool kept = liana__operation_flag(call, "keepdims");
    const liana_tensor results[] = {liana_op_reduce_mean_at(call->here, call->operands[0], axes, kept),
                                    liana_op_variance_at(call->here, call->operands[0], axes, kept)};
    return give(call, results, 2);
}

/* ---- order ---- */

liana_tensor liana__operation_build_sort(liana__operation_call *call)
{
    int64_t axis, last = -1;
    if (!liana__operation_axis(call, "axis", 0, &last, &axis)) return nothing(call);
    return liana_sort_at(call->here, call->operands[0], axis, false);
}

liana_tensor liana__operation_build_argsort(liana__operation_call *call)
{
    int64_t axis, last = -1;
    if (!liana__operation_axis(call, "axis", 0, &last, &axis)) return nothing(call);
    return liana_op_argsort_at(call->here, call->operands[0], axis, false, 0);
}

liana_tensor liana__operation_build_top_k(liana__operation_call *call)
{
    double k;
    liana_tensor results[2];
    if (!liana__operation_number(call, "k", 1, &k)) return nothing(call);
    results[0] = liana_top_k_at(call->here, call->operands[0], (int64_t)k, &results[1]);
    return give(call, results, 2);
}

liana_tensor liana__operation_build_cumsum(liana__operation_call *call)
{
    int64_t axis;
    if (!liana__operation_axis(call, "axis", 0, NULL, &axis)) return nothing(call);
    return liana_op_cumsum_at(call->here, call->operands[0], axis, false, false);
}

liana_tensor liana__operation_build_cumprod(liana__operation_call *call)
{
    int64_t axis;
    if (!liana__operation_axis(call, "axis", 0, NULL, &axis)) return nothing(call);
    return liana_op_cumprod_at(call->here, call->operands[0], axis, false, false);
}

liana_tensor liana__operation_build_take_along_axis(liana__operation_call *call)
{
    int64_t axis;
    if (!liana__operation_axis(call, "axis", 0, NULL, &axis)) return nothing(call);
    if (call->count != 2 || !call->operands[1].id || liana__value_get(call->arguments, "indices")) {
        return liana__operation_fail(call, "expected x and indices as inputs");
    }
    liana_tensor indices = liana_op_cast_at(call->here, call->operands[1], LIANA_S32);
    return liana_take_along_axis_at(call->here, call->operands[0], indices, axis);
}

/* The first letter of each input and of the result is the batch, which no other place has. */
static bool keeps_batch(const char *subscripts)
{
    const char batch = subscripts[0], *arrow = strstr(subscripts, "->");
    if (!arrow || batch == '.' || batch == '-' || arrow[2] != batch || strchr(arrow + 3, batch)) return false;
    for (const char *at = subscripts; at && at < arrow; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const size_t length = strcspn(at, ",-");
        if (*at != batch || memchr(at + 1, batch, length - 1)) return false;
    }
    return true;
}

liana_tensor liana__operation_build_einsum(liana__operation_call *call)
{
    const char *subscripts = liana__operation_word(call, "subscripts");
    if (!subscripts || !keeps_batch(subscripts)) {
        return liana__operation_fail(call,
                                     "subscripts: expected a text such as bij,bkj->bik, where the first letter of "
                                     "all operands and of the result is the batch");
    }
    return liana_einsum_at(call->here, subscripts, call->operands, call->count);
}
