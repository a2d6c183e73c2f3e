/* Operators that move elements, take them apart, or join them. */
#include "onnx/import_elements.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- axes alone ---- */

static liana_status read_transpose(liana__import *own, liana__import_node *node)
{
    liana__import_value *x, *output = node->outputs[0];
    const int64_t *order;
    int64_t count;
    bool seen[LIANA_MAX_RANK] = {false};
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_integers(own, node, "perm", SIZE_MAX, &order, &count));
    if (count && count != x->rank) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "perm: found %lld axes of a value with %d",
                                  (long long)count, x->rank);
    }
    liana__import_set_like(output, x, x->result);
    for (int i = 0; i < x->rank; i++) {
        int axis = x->rank - 1 - i;
        if (count) LIANA_TRY(liana__import_axis_of(own, node, order[i], x->rank, &axis));
        if (seen[axis]) return liana__import_fail(own, node, LIANA_INVALID_DATA, "perm: found an axis twice");
        seen[axis] = true;
        output->axes[i] = x->axes[axis];
    }
    return LIANA_OK;
}

static liana_status read_flatten(liana__import *own, liana__import_node *node)
{
    liana__import_value *x;
    int64_t dims[2] = {1, 1}, given = liana__import_int(node, "axis", 1);
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    if (given < 0) given += x->rank;
    if (given < 0 || given > x->rank)
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "found axis %lld", (long long)given);
    for (int i = 0; i < x->rank; i++) dims[i >= given] *= liana__import_size(own, x, i);
    return liana__import_reshape(own, node, x, dims, 2, node->outputs[0]);
}

/* The elements of a value. */
static int64_t count_all(const liana__import *own, const liana__import_value *x)
{
    int64_t count = 1;
    for (int i = 0; i < x->rank; i++) count *= liana__import_size(own, x, i);
    return count;
}

static liana_status read_reshape(liana__import *own, liana__import_node *node)
{
    liana__import_value *x;
    const int64_t *given;
    int64_t count, dims[LIANA_MAX_RANK], product = 1;
    int open = -1;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_integers(own, node, "shape", 1, &given, &count));
    const int64_t all = count_all(own, x);
    if (count > LIANA_MAX_RANK)
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "found %lld axes", (long long)count);
    for (int i = 0; i < count; i++) {
        const bool is_copied = given[i] == 0 && !liana__import_int(node, "allowzero", 0) && i < x->rank;
        dims[i] = is_copied ? liana__import_size(own, x, i) : given[i];
        if (dims[i] == -1 && open < 0) {
            open = i;
            continue;
        }
        if (dims[i] < 1 || __builtin_mul_overflow(product, dims[i], &product)) {
            return liana__import_fail(own, node, LIANA_INVALID_DATA, "shape: found a size of %lld", (long long)dims[i]);
        }
    }
    if (open >= 0 && all % product == 0) dims[open] = all / product;
    if (open >= 0 ? all % product != 0 : product != all) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "shape: does not hold the %lld elements of its input",
                                  (long long)all);
    }
    return liana__import_reshape(own, node, x, dims, (int)count, node->outputs[0]);
}

static liana_status read_squeeze(liana__import *own, liana__import_node *node)
{
    liana__import_value *x, *output = node->outputs[0];
    const int64_t *axes;
    int64_t count;
    bool leaves[LIANA_MAX_RANK] = {false};
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_integers(own, node, "axes", 1, &axes, &count));
    for (int64_t i = 0; i < count; i++) {
        int axis;
        LIANA_TRY(liana__import_axis_of(own, node, axes[i], x->rank, &axis));
        leaves[axis] = true;
    }
    liana__import_set_like(output, x, x->result);
    output->rank = 0;
    liana__import_axis held = {.count = 0};
    for (int i = 0; i < x->rank; i++) {
        const bool is_one = liana__import_size(own, x, i) == 1 && !liana__import_has_batch(x, i);
        if (leaves[i] && !is_one) {
            return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                      "axis %d has %lld elements, or is the batch; expected 1", i,
                                      (long long)liana__import_size(own, x, i));
        }
        if (is_one && (count == 0 || leaves[i])) {
            /* Its axes of the result go on as a part of a neighbour. */
            for (int k = 0; k < x->axes[i].count; k++) held.at[held.count++] = x->axes[i].at[k];
            continue;
        }
        output->axes[output->rank++] = x->axes[i];
    }
    if (!output->rank) return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "nothing is left but one number");
    liana__import_axis *last = &output->axes[output->rank - 1];
    for (int k = 0; k < held.count; k++) last->at[last->count++] = held.at[k];
    return LIANA_OK;
}

static liana_status read_unsqueeze(liana__import *own, liana__import_node *node)
{
    liana__import_value *x, *output = node->outputs[0];
    const int64_t *axes;
    int64_t count;
    bool is_new[LIANA_MAX_RANK] = {false};
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_integers(own, node, "axes", 1, &axes, &count));
    const int rank = x->rank + (int)count;
    if (count > LIANA_MAX_RANK || rank > LIANA_MAX_RANK) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "it makes more than %d axes", LIANA_MAX_RANK);
    }
    for (int64_t i = 0; i < count; i++) {
        int axis;
        LIANA_TRY(liana__import_axis_of(own, node, axes[i], rank, &axis));
        if (is_new[axis]) return liana__import_fail(own, node, LIANA_INVALID_DATA, "axes: found one twice");
        is_new[axis] = true;
    }
    liana__import_set_like(output, x, x->result);
    output->rank = rank;
    for (int i = 0, from = 0; i < rank; i++)
        output->axes[i] = is_new[i] ? (liana__import_axis){.count = 0} : x->axes[from++];
    return LIANA_OK;
}

/* ---- parts ---- */

/* A part along axes of the result: one text for each, NULL: all. `taken` is an axis that an index takes away, or -1. */
static liana_status take_part(liana__import *own, liana__import_node *node, const liana__import_value *x,
                              const char *const *parts, int taken, liana__import_value *output)
{
    LIANA__SCOPED(liana__text) text = {0};
    const int rank = liana__import_shape(own, x->result)->rank;
    const liana__import_value like = *x;
    size_t result = x->result;
    bool is_whole = true;
    for (int i = 0; i < rank; i++) {
        is_whole = is_whole && !parts[i];
        liana__text_add(&text, "%s%s", i ? ", " : "", parts[i] ? parts[i] : ":");
    }
    if (text.failed) return liana__fail_memory(own->error, own->path);
    if (!is_whole) LIANA_TRY(liana__import_operation(own, node, &result, 1, &result, "get_item(key=[%s])", text.data));
    liana__import_set_like(output, &like, result);
    for (int i = 0; taken >= 0 && i < output->rank; i++) {
        for (int k = 0; k < output->axes[i].count; k++) output->axes[i].at[k] -= output->axes[i].at[k] > taken;
    }
    return LIANA_OK;
}

static void drop_axis(liana__import_value *output, int axis)
{
    output->rank--;
    memmove(&output->axes[axis], &output->axes[axis + 1], (size_t)(output->rank - axis) * sizeof *output->axes);
}

/* The numbers of a Slice along one axis, as ONNX clamps them. */
typedef struct range {
    int64_t start, end, step;
} range;

static range clamp_range(range given, int64_t size)
{
    const bool goes_down = given.step < 0;
    if (given.start < 0) given.start += size;
    if (given.end < 0 && given.end > INT64_MIN + size) given.end += size;
    const int64_t low = goes_down ? -1 : 0, high = goes_down ? size - 1 : size;
    if (given.start < 0) given.start = 0;
    if (given.start > high) given.start = high;
    if (given.end < low) given.end = low;
    if (given.end > size) given.end = size;
    return given;
}

static liana_status slice_axis(liana__import *own, liana__import_node *node, liana__import_value *x, int axis,
                               range part, char *text, size_t room)
{
    const int64_t size = liana__import_size(own, x, axis);
    if (part.step == 0) return liana__import_fail(own, node, LIANA_INVALID_DATA, "steps: found 0");
    part = clamp_range(part, size);
    *text = 0;
    const bool is_whole = part.step == 1 && part.start == 0 && part.end == size;
    if (is_whole) return LIANA_OK;
    if (liana__import_has_batch(x, axis)) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "it takes some examples out of the batch");
    }
    const bool is_empty = part.step > 0 ? part.end <= part.start : part.end >= part.start;
    if (is_empty) return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "nothing is left of axis %d", axis);
    if (part.end < 0) {
        snprintf(text, room, "%lld::%lld", (long long)part.start, (long long)part.step);
    } else {
        snprintf(text, room, "%lld:%lld:%lld", (long long)part.start, (long long)part.end, (long long)part.step);
    }
    return LIANA_OK;
}

static liana_status read_slice(liana__import *own, liana__import_node *node)
{
    liana__import_value *x;
    const int64_t *starts, *ends, *axes, *steps;
    int64_t count, num_ends, num_axes, num_steps;
    char texts[LIANA_MAX_RANK][80] = {{0}};
    const char *parts[LIANA_MAX_RANK] = {NULL};
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_integers(own, node, "starts", 1, &starts, &count));
    LIANA_TRY(liana__import_integers(own, node, "ends", 2, &ends, &num_ends));
    LIANA_TRY(liana__import_integers(own, node, "axes", 3, &axes, &num_axes));
    LIANA_TRY(liana__import_integers(own, node, "steps", 4, &steps, &num_steps));
    const bool fits = count == num_ends && (!num_axes || num_axes == count) && (!num_steps || num_steps == count);
    if (!fits || count > x->rank)
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "its numbers do not fit each other");
    for (int64_t i = 0; i < count; i++) {
        int axis, single;
        char text[80];
        LIANA_TRY(liana__import_axis_of(own, node, num_axes ? axes[i] : i, x->rank, &axis));
        LIANA_TRY(
            slice_axis(own, node, x, axis, (range){starts[i], ends[i], num_steps ? steps[i] : 1}, text, sizeof text));
        if (!*text) continue;
        LIANA_TRY(liana__import_single(own, node, x, axis, &single));
        memcpy(texts[axis], text, sizeof text);
    }
    for (int axis = 0; axis < x->rank; axis++) {
        if (*texts[axis]) parts[x->axes[axis].at[0]] = texts[axis];
    }
    return take_part(own, node, x, parts, -1, node->outputs[0]);
}

static liana_status read_split(liana__import *own, liana__import_node *node)
{
    liana__import_value *x;
    const int64_t *sizes;
    int64_t count, begin = 0;
    int axis, single;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_integers(own, node, "split", 1, &sizes, &count));
    LIANA_TRY(liana__import_axis_of(own, node, liana__import_int(node, "axis", 0), x->rank, &axis));
    if (liana__import_has_batch(x, axis))
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "it takes the batch apart");
    LIANA_TRY(liana__import_single(own, node, x, axis, &single));
    const int64_t whole = liana__import_size(own, x, axis), parts = (int64_t)node->num_outputs;
    if (count && count != parts)
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "split: found %lld sizes", (long long)count);
    const int64_t equal = parts ? (whole + parts - 1) / parts : 0;
    for (int64_t i = 0; i < parts; i++) {
        const int64_t left = whole - begin, size = count ? sizes[i] : equal < left ? equal : left;
        char text[64];
        const char *keys[LIANA_MAX_RANK] = {NULL};
        if (size < 1 || size > left)
            return liana__import_fail(own, node, LIANA_INVALID_DATA, "split: found %lld", (long long)size);
        snprintf(text, sizeof text, "%lld:%lld", (long long)begin, (long long)(begin + size));
        keys[single] = text;
        begin += size;
        if (!node->outputs[i]) continue;
        LIANA_TRY(take_part(own, node, x, keys, -1, node->outputs[i]));
    }
    return LIANA_OK;
}

/* ---- Gather ---- */

/* Rows of a table of the file. */
static liana_status read_embedding(liana__import *own, liana__import_node *node, liana__import_constant *table)
{
    liana__import_value *ids, *output = node->outputs[0];
    size_t result, layer;
    float *values;
    const int order[] = {0, 1};
    LIANA_TRY(liana__import_result(own, node, 1, &ids));
    if (table->rank != 2 || !table->is_float || liana__import_int(node, "axis", 0) != 0 || !table->count) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "found a table with %d axes and axis %lld, expected rows of a matrix of floats",
                                  table->rank, (long long)liana__import_int(node, "axis", 0));
    }
    const int rank = liana__import_shape(own, ids->result)->rank;
    if (rank == LIANA_MAX_RANK) return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "ids with %d axes", rank);
    const char *key = liana__arena_format(&own->arena, "Embedding|%s", table->name ? table->name : node->name);
    if (!key) return liana__fail_memory(own->error, own->path);
    if (liana__import_find_shared(own, key, &layer)) {
        LIANA_TRY(liana__import_again(own, node, layer, ids->result, &result));
    } else {
        const liana__import_options options = liana__import_options_new(own);
        liana__import_set_int(&options, "input_dim", table->dims[0]);
        liana__import_set_int(&options, "output_dim", table->dims[1]);
        LIANA_TRY(liana__import_add(own, node, "Embedding", liana__import_stem(own, table), &options, &ids->result, 1,
                                    &result));
        LIANA_TRY(liana__import_permuted(own, table, order, &values));
        LIANA_TRY(liana__import_give(own, node, result, 0, values));
        LIANA_TRY(liana__import_share(own, key, result));
    }
    const liana__import_value like = *ids;
    liana__import_set_like(output, &like, result);
    output->axes[output->rank++] = (liana__import_axis){1, {rank}};
    return LIANA_OK;
}

/* Whether indices [batch, ...] into all elements of all examples, `size` each, take the same of each example. */
static bool takes_alike(const liana__import *own, const liana__import_constant *indices, const int64_t *list,
                        int64_t size)
{
    const int64_t count = indices->dims[0] ? indices->count / indices->dims[0] : 0;
    bool is_alike = indices->dims[0] == own->batch && count > 0 && count <= 1 << 14;
    for (int64_t i = 0; is_alike && i < indices->count; i++) {
        const int64_t first = list[i % count];
        is_alike = first >= 0 && first < size && list[i] == first + i / count * size;
    }
    return is_alike;
}

/* PyTorch's as_strided: elements of a batch that was flattened as a whole. */
static liana_status gather_strided(liana__import *own, liana__import_node *node, const liana__import_value *x,
                                   liana__import_constant *indices)
{
    const liana__import_axis *all = &x->axes[0];
    liana__import_value examples = *x, taken = {.name = node->name};
    const int order[] = {0, 1};
    size_t result;
    examples.rank = 2;
    examples.has_arranged = false;
    examples.axes[0] = (liana__import_axis){1, {0}};
    examples.axes[1].count = all->count - 1;
    memcpy(examples.axes[1].at, all->at + 1, sizeof all->at - sizeof *all->at);
    LIANA_TRY(liana__import_arrange(own, node, &examples, order, 2, &result));
    const int64_t size = liana__import_shape(own, result)->dims[1], *list = liana__import_ints(own, indices);
    if (!list) return own->error->status;
    if (!takes_alike(own, indices, list, size)) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "it takes other elements of each example");
    }
    const int64_t count = indices->count / own->batch;
    bool is_whole = count == size;
    LIANA__SCOPED(liana__text) text = {0};
    for (int64_t i = 0; i < count; i++) {
        is_whole = is_whole && list[i] == i;
        liana__text_add(&text, "%s%lld", i ? ", " : "", (long long)list[i]);
    }
    if (text.failed) return liana__fail_memory(own->error, own->path);
    if (!is_whole) {
        LIANA_TRY(liana__import_operation(own, node, &result, 1, &result, "take(indices=[%s], axis=1)", text.data));
    }
    liana__import_set_plain(&taken, result, 2);
    return liana__import_reshape(own, node, &taken, indices->dims, indices->rank, node->outputs[0]);
}

static liana_status read_gather(liana__import *own, liana__import_node *node)
{
    liana__import_value *x = liana__import_input(node, 0), *indices = liana__import_input(node, 1);
    int axis, single;
    size_t result;
    if (liana__import_is_constant(x)) return read_embedding(own, node, x->constant);
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    const bool is_flat = x->rank == 1 && x->axes[0].count > 1 && x->axes[0].at[0] == 0;
    if (is_flat && liana__import_is_constant(indices) && !indices->constant->is_float && indices->constant->rank > 1) {
        return gather_strided(own, node, x, indices->constant);
    }
    if (!liana__import_is_constant(indices) || indices->constant->rank > 1) {
        return liana__import_fail(
            own, node, LIANA_UNIMPLEMENTED,
            "its indices are computed from the data, or have several axes; expected a constant list");
    }
    LIANA_TRY(liana__import_axis_of(own, node, liana__import_int(node, "axis", 0), x->rank, &axis));
    if (liana__import_has_batch(x, axis))
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "it takes examples out of the batch");
    LIANA_TRY(liana__import_single(own, node, x, axis, &single));
    const int64_t *list = liana__import_ints(own, indices->constant), size = liana__import_size(own, x, axis);
    if (!list) return own->error->status;
    for (int64_t i = 0; i < indices->constant->count; i++) {
        if (list[i] >= -size && list[i] < size) continue;
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "found index %lld along an axis of %lld",
                                  (long long)list[i], (long long)size);
    }
    if (indices->constant->rank == 0) {
        char text[32];
        const char *parts[LIANA_MAX_RANK] = {NULL};
        snprintf(text, sizeof text, "%lld", (long long)list[0]);
        parts[single] = text;
        liana__import_value like = *x;
        drop_axis(&like, axis);
        return take_part(own, node, &like, parts, single, node->outputs[0]);
    }
    LIANA__SCOPED(liana__text) text = {0};
    if (indices->constant->count < 1 || indices->constant->count > 1 << 14) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "found %lld indices",
                                  (long long)indices->constant->count);
    }
    for (int64_t i = 0; i < indices->constant->count; i++)
        liana__text_add(&text, "%s%lld", i ? ", " : "", (long long)list[i]);
    if (text.failed) return liana__fail_memory(own->error, own->path);
    LIANA_TRY(
        liana__import_operation(own, node, &x->result, 1, &result, "take(indices=[%s], axis=%d)", text.data, single));
    liana__import_set_like(node->outputs[0], x, result);
    return LIANA_OK;
}

/* ---- joining ---- */

/* A constant as a result, of the axes of another one: zeros of its shape plus the constant. */
static liana_status constant_result(liana__import *own, liana__import_node *node, const liana__import_value *like,
                                    int axis, liana__import_constant *constant, liana__import_value *made)
{
    LIANA__SCOPED(liana__text) text = {0};
    const char *parts[LIANA_MAX_RANK] = {NULL};
    int single;
    *made = *like;
    LIANA_TRY(liana__import_single(own, node, made, axis, &single));
    parts[single] = "0:1";
    LIANA_TRY(take_part(own, node, made, parts, -1, made));
    LIANA_TRY(liana__import_write_constant(own, node, constant, made, false, &text));
    LIANA_TRY(liana__import_operation(own, node, &made->result, 1, &made->result, "full_like(fill_value=0)"));
    return liana__import_operation(own, node, &made->result, 1, &made->result, "add(x2=%s)", text.data);
}

static bool same_axes(const liana__import_value *a, const liana__import_value *b)
{
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++) {
        same = a->axes[i].count == b->axes[i].count;
        for (int k = 0; same && k < a->axes[i].count; k++) same = a->axes[i].at[k] == b->axes[i].at[k];
    }
    return same;
}

/* Results of one order are joined as they are; others get ONNX's, with the batch first. */
static liana_status give_one_order(liana__import *own, liana__import_node *node, liana__import_value *values,
                                   size_t count, int axis)
{
    bool is_alike = true;
    for (size_t i = 0; i < count; i++) {
        int single;
        LIANA_TRY(liana__import_single(own, node, &values[i], axis, &single));
        is_alike = is_alike && same_axes(&values[i], &values[0]);
    }
    for (size_t i = 0; !is_alike && i < count; i++) {
        int order[LIANA_MAX_RANK], length = 0;
        for (int a = 0; a < values[i].rank; a++) {
            if (liana__import_has_batch(&values[i], a)) order[length++] = a;
        }
        for (int a = 0; a < values[i].rank; a++) {
            if (!liana__import_has_batch(&values[i], a)) order[length++] = a;
        }
        LIANA_TRY(liana__import_arrange(own, node, &values[i], order, length, &values[i].result));
        for (int k = 0; k < length; k++) values[i].axes[order[k]] = (liana__import_axis){1, {k}};
        values[i].has_arranged = false;
    }
    return LIANA_OK;
}

/* A layer joins a limited number of results: joined ones are joined. */
liana_status liana__import_join(liana__import *own, liana__import_node *node, liana__import_value *values, size_t count,
                                int axis, liana__import_value *output)
{
    LIANA_TRY(give_one_order(own, node, values, count, axis));
    size_t *inputs = liana__arena_allocate(&own->arena, count * sizeof *inputs);
    if (!inputs) return liana__fail_memory(own->error, own->path);
    for (size_t i = 0; i < count; i++) inputs[i] = values[i].result;
    while (count > 1) {
        size_t joined = 0;
        for (size_t begin = 0; begin < count; joined++) {
            const size_t left = count - begin, part = left < LIANA_MAX_LAYER_INPUTS ? left : LIANA_MAX_LAYER_INPUTS;
            const liana__import_options options = liana__import_options_new(own);
            liana__import_set_int(&options, "axis", values[0].axes[axis].at[0]);
            size_t result = inputs[begin];
            if (part > 1) {
                LIANA_TRY(liana__import_add(own, node, "Concatenate", NULL, &options, inputs + begin, part, &result));
            }
            inputs[joined] = result;
            begin += part;
        }
        count = joined;
    }
    liana__import_set_like(output, &values[0], inputs[0]);
    return LIANA_OK;
}

static liana_status read_concat(liana__import *own, liana__import_node *node)
{
    const liana__import_value *first = NULL;
    int axis;
    const size_t count = node->num_inputs;
    liana__import_value *values = liana__arena_allocate(&own->arena, (count + 1) * sizeof *values);
    if (!values) return liana__fail_memory(own->error, own->path);
    for (size_t i = 0; i < count; i++) {
        const liana__import_value *x = liana__import_input(node, i);
        if (x && x->kind == LIANA__IMPORT_RESULT && !first) first = x;
    }
    if (!first) return liana__import_result(own, node, 0, &(liana__import_value *){NULL});
    LIANA_TRY(liana__import_axis_of(own, node, liana__import_int(node, "axis", 0), first->rank, &axis));
    for (size_t i = 0; i < count; i++) {
        const liana__import_value *x = liana__import_input(node, i);
        if (!x || x->rank != first->rank) {
            return liana__import_fail(own, node, LIANA_INVALID_DATA, "its inputs have different axes");
        }
        if (x->kind == LIANA__IMPORT_RESULT) values[i] = *x;
        if (x->kind == LIANA__IMPORT_CONSTANT) {
            LIANA_TRY(constant_result(own, node, first, axis, x->constant, &values[i]));
        }
        if (liana__import_has_batch(&values[i], axis)) {
            return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "it joins batches");
        }
    }
    return liana__import_join(own, node, values, count, axis, node->outputs[0]);
}

/* Whole sequences turned round: each has as many steps as the axis of time. */
static liana_status read_reverse_sequence(liana__import *own, liana__import_node *node)
{
    liana__import_value *x, *lengths = liana__import_input(node, 1);
    int axis, single;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_axis_of(own, node, liana__import_int(node, "time_axis", 0), x->rank, &axis));
    const bool is_known = liana__import_is_constant(lengths) && !lengths->constant->is_float;
    const int64_t *numbers = is_known ? liana__import_ints(own, lengths->constant) : NULL;
    bool are_whole = numbers && !liana__import_has_batch(x, axis);
    for (int64_t i = 0; are_whole && i < lengths->constant->count; i++) {
        are_whole = numbers[i] == liana__import_size(own, x, axis);
    }
    if (!are_whole) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "its lengths are computed from the data, or not those of whole sequences");
    }
    size_t result;
    LIANA_TRY(liana__import_single(own, node, x, axis, &single));
    LIANA_TRY(liana__import_operation(own, node, &x->result, 1, &result, "flip(axis=%d)", single));
    liana__import_set_like(node->outputs[0], x, result);
    return LIANA_OK;
}

/* Repeats along axes: Expand to a shape, or Tile. */
static liana_status read_expand(liana__import *own, liana__import_node *node)
{
    liana__import_value *x;
    const int64_t *given;
    int64_t count;
    const bool is_tile = strcmp(node->op, "Tile") == 0;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_integers(own, node, is_tile ? "repeats" : "shape", 1, &given, &count));
    if (count > LIANA_MAX_RANK || (is_tile && count != x->rank)) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "found %lld numbers for %d axes", (long long)count,
                                  x->rank);
    }
    liana__import_value like = *x;
    const int more = (int)count - x->rank;
    if (more > 0) {
        memmove(like.axes + more, like.axes, (size_t)like.rank * sizeof *like.axes);
        memset(like.axes, 0, (size_t)more * sizeof *like.axes);
        like.rank += more;
    }
    int64_t times[LIANA_MAX_RANK];
    bool is_any = false;
    for (int axis = 0; axis < like.rank; axis++) {
        const int place = axis - (like.rank - (int)count);
        const int64_t size = liana__import_size(own, &like, axis), wanted = place < 0 ? 1 : given[place];
        int single;
        times[axis] = is_tile ? wanted : wanted <= 1 || wanted == size ? 1 : wanted;
        if (times[axis] == 1) continue;
        if (times[axis] < 1 || (!is_tile && size != 1) || liana__import_has_batch(&like, axis)) {
            return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                      "an axis of %lld elements, or the batch, becomes %lld", (long long)size,
                                      (long long)wanted);
        }
        is_any = true;
        LIANA_TRY(liana__import_single(own, node, &like, axis, &single));
    }
    size_t result = like.result;
    if (is_any) {
        LIANA__SCOPED(liana__text) text = {0};
        int64_t repeats[LIANA_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
        for (int axis = 0; axis < like.rank; axis++) {
            if (times[axis] != 1) repeats[like.axes[axis].at[0]] = times[axis];
        }
        for (int i = 0; i < liana__import_shape(own, result)->rank; i++) {
            liana__text_add(&text, "%s%lld", i ? ", " : "", (long long)repeats[i]);
        }
        if (text.failed) return liana__fail_memory(own->error, own->path);
        LIANA_TRY(liana__import_operation(own, node, &result, 1, &result, "tile(repeats=[%s])", text.data));
    }
    liana__import_set_like(node->outputs[0], &like, result);
    return LIANA_OK;
}

/* The order of the channels is [block, block, depth] (DCR) or [depth, block, block] (CRD: PyTorch's PixelShuffle). */
static liana_status read_depth_to_space(liana__import *own, liana__import_node *node)
{
    liana__import_value *x, cut, moved;
    const int64_t block = liana__import_int(node, "blocksize", 0);
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    const bool to_space = strcmp(node->op, "DepthToSpace") == 0;
    const bool is_crd = strcmp(liana__import_text(node, "mode", "DCR").text, "CRD") == 0;
    if (x->rank != 4 || block < 1)
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "expected images, and a blocksize");
    const int64_t c = liana__import_size(own, x, 1), h = liana__import_size(own, x, 2),
                  w = liana__import_size(own, x, 3);
    if (to_space ? c % (block * block) : h % block || w % block) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "the sizes are no multiples of the blocksize");
    }
    const int64_t depth = c / (block * block), n = own->batch;
    const int64_t dcr[] = {n, block, block, depth, h, w}, crd[] = {n, depth, block, block, h, w};
    const int64_t deep[] = {n, c, h / block, block, w / block, block};
    const int from_dcr[] = {0, 3, 4, 1, 5, 2}, from_crd[] = {0, 1, 4, 2, 5, 3}, from_deep[] = {0, 3, 5, 1, 2, 4};
    const int *order = !to_space ? from_deep : is_crd ? from_crd : from_dcr;
    LIANA_TRY(liana__import_reshape(own, node, x, !to_space ? deep : is_crd ? crd : dcr, 6, &cut));
    moved = cut;
    for (int i = 0; i < 6; i++) moved.axes[i] = cut.axes[order[i]];
    const int64_t wide[] = {n, depth, h * block, w * block}, flat[] = {n, c * block * block, h / block, w / block};
    return liana__import_reshape(own, node, &moved, to_space ? wide : flat, 4, node->outputs[0]);
}

const liana__import_op liana__import_shapes[] = {
    {"Transpose", read_transpose},
    {"Flatten", read_flatten},
    {"Reshape", read_reshape},
    {"Squeeze", read_squeeze},
    {"Unsqueeze", read_unsqueeze},
    {"Slice", read_slice},
    {"Split", read_split},
    {"Gather", read_gather},
    {"Concat", read_concat},
    {"ReverseSequence", read_reverse_sequence},
    {"Expand", read_expand},
    {"Tile", read_expand},
    {"DepthToSpace", read_depth_to_space},
    {"SpaceToDepth", read_depth_to_space},
    {0},
};
