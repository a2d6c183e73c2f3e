/* numpy's indexing as text, and gather_nd: both are built of slice, gather and reshape. */
#include <liana/ops.h>

#include "ir/graph.h"
#include "ops/ops.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ITEMS = 4 * LIANA_MAX_RANK };

typedef enum item_kind { ITEM_INDEX, ITEM_RANGE, ITEM_NEW_AXIS, ITEM_ELLIPSIS } item_kind;

/* The text between two commas. */
typedef struct item {
    item_kind kind;
    size_t place; /* in the text, from 0 */
    /* ITEM_INDEX: numbers[0]. ITEM_RANGE: begin, end, step. */
    int64_t numbers[3];
    bool given[3];
} item;

typedef struct reader {
    liana_location here;
    liana_graph *graph;
    const liana__node *x;
    const char *text;
    const char *next;
    item items[MAX_ITEMS];
    size_t count;
    /* By axis of x, after reading: the part that is taken, in ascending order. */
    int64_t start[LIANA_MAX_RANK], limit[LIANA_MAX_RANK], stride[LIANA_MAX_RANK];
    bool backwards[LIANA_MAX_RANK];
    int64_t dims[LIANA_MAX_RANK]; /* of the result */
    int rank;
} reader;

/* "liana_index(input 'x' f32[4, 5], "1:a"), character 3: found 'a', expected ..." */
static bool fail_index(reader *r, size_t place, const char *format, ...) LIANA__PRINTF(3, 4);
static bool fail_index(reader *r, size_t place, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    liana__graph_fail(r->graph, r->here, LIANA_INVALID_ARGUMENT, "liana_index(%s %s, \"%.200s\"), character %zu: %s",
                      liana__node_print(r->x).text, liana__type_print(r->x->dtype, &r->x->shape).text, r->text,
                      place + 1, message);
    return false;
}

/* ---- reading ---- */

static size_t place_of(const reader *r)
{
    return (size_t)(r->next - r->text);
}

static void skip_blanks(reader *r)
{
    while (isspace((unsigned char)*r->next)) r->next++;
}

static bool take_word(reader *r, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(r->next, word, length) != 0 || isalnum((unsigned char)r->next[length])) return false;
    r->next += length;
    return true;
}

/* A whole number, if one stands here. Beyond the length of any axis, only its sign matters. */
static bool take_number(reader *r, int64_t *number)
{
    const char *digits = r->next + (*r->next == '-' || *r->next == '+');
    if (!isdigit((unsigned char)*digits)) return false;
    char *end;
    const long long most = 1LL << 61;
    long long value = strtoll(r->next, &end, 10);
    *number = value > most ? most : value < -most ? -most : value;
    r->next = end;
    return true;
}

static bool read_item(reader *r)
{
    item *one = &r->items[r->count];
    *one = (item){.place = place_of(r)};
    if (take_word(r, "None") || take_word(r, "newaxis")) {
        one->kind = ITEM_NEW_AXIS;
    } else if (strncmp(r->next, "...", 3) == 0) {
        one->kind = ITEM_ELLIPSIS;
        r->next += 3;
    } else {
        int part = 0;
        for (;; part++) {
            skip_blanks(r);
            one->given[part] = take_number(r, &one->numbers[part]);
            skip_blanks(r);
            if (*r->next != ':' || part == 2) break;
            r->next++;
        }
        if (part == 0 && !one->given[0]) {
            return fail_index(r, place_of(r), "found '%.20s', expected a number, a range, None or ...", r->next);
        }
        one->kind = part ? ITEM_RANGE : ITEM_INDEX;
    }
    r->count++;
    skip_blanks(r);
    if (!*r->next || *r->next == ',') return true;
    return fail_index(r, place_of(r), "found '%.20s', expected a comma or the end", r->next);
}

static bool read_items(reader *r)
{
    for (r->next = r->text; skip_blanks(r), *r->next;) {
        if (r->count == MAX_ITEMS) return fail_index(r, place_of(r), "there are more than %d parts", MAX_ITEMS);
        if (!read_item(r)) return false;
        if (*r->next == ',') r->next++;
    }
    return true;
}

/* ---- axes ---- */

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* A bound of a range as numpy reads it: from the end if negative, then cut to the axis. */
static int64_t bound_of(const item *one, int part, int64_t size, int64_t usual, bool backwards)
{
    if (!one->given[part]) return usual;
    int64_t value = one->numbers[part];
    if (value < 0) value += size;
    return backwards ? clamp(value, -1, size - 1) : clamp(value, 0, size);
}

/* Sets the range of an axis, and the number of elements. */
static bool choose_range(reader *r, const item *one, int axis, int64_t *count)
{
    const int64_t size = r->x->shape.dims[axis], step = one->given[2] ? one->numbers[2] : 1;
    if (step == 0) return fail_index(r, one->place, "the step of axis %d is 0", axis);
    const bool backwards = step < 0;
    const int64_t length = backwards ? -step : step;
    int64_t begin = bound_of(one, 0, size, backwards ? size - 1 : 0, backwards);
    int64_t end = bound_of(one, 1, size, backwards ? -1 : size, backwards);
    const int64_t span = backwards ? begin - end : end - begin;
    if (span <= 0) {
        return fail_index(r, one->place, "the range has no element of axis %d, which has %lld", axis, (long long)size);
    }
    *count = (span - 1) / length + 1;
    const int64_t last = backwards ? begin - (*count - 1) * length : begin + (*count - 1) * length;
    r->start[axis] = backwards ? last : begin;
    r->limit[axis] = (backwards ? begin : last) + 1;
    r->stride[axis] = *count > 1 ? length : 1;
    r->backwards[axis] = backwards && *count > 1;
    return true;
}

static bool choose_index(reader *r, const item *one, int axis)
{
    const int64_t size = r->x->shape.dims[axis];
    int64_t index = one->numbers[0] < 0 ? one->numbers[0] + size : one->numbers[0];
    if (index < 0 || index >= size) {
        return fail_index(r, one->place, "element %lld of axis %d is asked for, expected %lld to %lld",
                          (long long)one->numbers[0], axis, (long long)-size, (long long)size - 1);
    }
    r->start[axis] = index;
    r->limit[axis] = index + 1;
    r->stride[axis] = 1;
    return true;
}

static bool add_dimension(reader *r, size_t place, int64_t size)
{
    if (r->rank == LIANA_MAX_RANK) {
        return fail_index(r, place, "the result would have more than %d axes", LIANA_MAX_RANK);
    }
    r->dims[r->rank++] = size;
    return true;
}

static bool add_whole_axes(reader *r, size_t place, int *axis, int count)
{
    for (; count > 0; count--, ++*axis) {
        r->start[*axis] = 0;
        r->limit[*axis] = r->x->shape.dims[*axis];
        r->stride[*axis] = 1;
        if (!add_dimension(r, place, r->x->shape.dims[*axis])) return false;
    }
    return true;
}

static bool choose_axes(reader *r)
{
    const int rank = r->x->shape.rank;
    int named = 0, axis = 0;
    bool open = false;
    for (size_t i = 0; i < r->count; i++) {
        const item *one = &r->items[i];
        if (one->kind == ITEM_ELLIPSIS && open) return fail_index(r, one->place, "... stands there twice");
        open = open || one->kind == ITEM_ELLIPSIS;
        named += one->kind == ITEM_INDEX || one->kind == ITEM_RANGE;
        if (named > rank) return fail_index(r, one->place, "too many parts: the tensor has %d axes", rank);
    }
    for (size_t i = 0; i < r->count; i++) {
        const item *one = &r->items[i];
        int64_t count = 1;
        switch (one->kind) {
        case ITEM_INDEX:
            if (!choose_index(r, one, axis++)) return false;
            break;
        case ITEM_RANGE:
            if (!choose_range(r, one, axis++, &count) || !add_dimension(r, one->place, count)) return false;
            break;
        case ITEM_NEW_AXIS:
            if (!add_dimension(r, one->place, 1)) return false;
            break;
        case ITEM_ELLIPSIS:
            if (!add_whole_axes(r, one->place, &axis, rank - named)) return false;
            break;
        }
    }
    return add_whole_axes(r, strlen(r->text), &axis, rank - axis);
}

/* ---- building ---- */

static liana_tensor reverse(const reader *r, liana_tensor x, int axis)
{
    const int64_t count = liana_tensor_shape(x).dims[axis];
    liana_tensor up = liana_op_iota_at(r->here, r->graph, LIANA_S32, liana_shape_of(count), 0);
    liana_tensor last = liana_graph_scalar_at(r->here, r->graph, LIANA_S32, (double)(count - 1));
    return liana_op_gather_at(r->here, x, liana_op_subtract_at(r->here, last, up), axis);
}

static liana_tensor build(const reader *r, liana_tensor x)
{
    const liana_shape *shape = &r->x->shape;
    bool whole = true;
    for (int axis = 0; axis < shape->rank; axis++) {
        whole = whole && r->start[axis] == 0 && r->limit[axis] == shape->dims[axis] && r->stride[axis] == 1;
    }
    if (!whole) x = liana_op_slice_at(r->here, x, r->start, r->limit, r->stride);
    for (int axis = 0; axis < shape->rank; axis++) {
        if (r->backwards[axis]) x = reverse(r, x, axis);
    }
    liana_shape wanted = {.rank = r->rank}, found = liana_tensor_shape(x);
    memcpy(wanted.dims, r->dims, sizeof wanted.dims);
    return liana_shape_equal(&wanted, &found) ? x : liana_op_reshape_at(r->here, x, wanted);
}

liana_tensor liana_index_at(liana_location here, liana_tensor x, const char *text)
{
    liana_graph *graph = x.graph;
    if (!graph || graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    reader r = {.here = here, .graph = graph, .x = liana__tensor_node(x), .text = text};
    if (!r.x || !text) {
        return liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "liana_index needs a tensor and a text; no %s",
                                 r.x ? "text" : "tensor");
    }
    if (!read_items(&r) || !choose_axes(&r)) return (liana_tensor){graph, 0};
    return build(&r, x);
}

/* ---- gather_nd ---- */

/* The number of a position among those of the first axes, in row-major order. */
static liana_tensor flatten_positions(liana_location here, liana_tensor indices, const liana_shape *x, int count)
{
    liana_graph *graph = indices.graph;
    liana_shape shape = liana_tensor_shape(indices), rows = shape;
    int64_t start[LIANA_MAX_RANK] = {0}, limit[LIANA_MAX_RANK];
    memcpy(limit, shape.dims, sizeof limit);
    rows.rank--;
    liana_tensor flat = {graph, 0};
    for (int axis = 0; axis < count; axis++) {
        start[rows.rank] = axis;
        limit[rows.rank] = axis + 1;
        liana_tensor zero = liana_graph_scalar_at(here, graph, LIANA_S32, 0);
        liana_tensor last = liana_graph_scalar_at(here, graph, LIANA_S32, (double)(x->dims[axis] - 1));
        liana_tensor at = liana_op_reshape_at(here, liana_op_slice_at(here, indices, start, limit, NULL), rows);
        at = liana_op_minimum_at(here, liana_op_maximum_at(here, at, zero), last);
        if (axis == 0) {
            flat = at;
        } else {
            liana_tensor size = liana_graph_scalar_at(here, graph, LIANA_S32, (double)x->dims[axis]);
            flat = liana_op_add_at(here, liana_op_multiply_at(here, flat, size), at);
        }
    }
    return flat;
}

liana_tensor liana_gather_nd_at(liana_location here, liana_tensor x, liana_tensor indices)
{
    liana_graph *graph = x.graph;
    if (!graph || graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    const liana__node *from = liana__tensor_node(x);
    const liana__node *at = indices.graph == graph ? liana__tensor_node(indices) : NULL;
    if (!from || !at) {
        return liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "liana_gather_nd needs two tensors of one graph");
    }
    const int64_t count = at->shape.rank ? at->shape.dims[at->shape.rank - 1] : 0;
    if (at->dtype != LIANA_S32 || count < 1 || count > from->shape.rank) {
        return liana__graph_fail(
            graph, here, LIANA_INVALID_ARGUMENT,
            "liana_gather_nd(%s %s, %s %s): expected indices of dtype s32 whose last axis has 1 to "
            "%d numbers, one for each axis of the tensor that they go into",
            liana__node_print(from).text, liana__type_print(from->dtype, &from->shape).text, liana__node_print(at).text,
            liana__type_print(at->dtype, &at->shape).text, from->shape.rank);
    }
    liana_shape flat = {.rank = 1, .dims = {1}};
    for (int axis = 0; axis < (int)count; axis++) flat.dims[0] *= from->shape.dims[axis];
    for (int axis = (int)count; axis < from->shape.rank; axis++) flat.dims[flat.rank++] = from->shape.dims[axis];
    if (flat.dims[0] > INT32_MAX) {
        return liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT,
                                 "liana_gather_nd: the first %d axes of %s have %lld positions, expected at most %d",
                                 (int)count, liana__type_print(from->dtype, &from->shape).text, (long long)flat.dims[0],
                                 INT32_MAX);
    }
    liana_tensor positions = flatten_positions(here, indices, &from->shape, (int)count);
    return liana_op_gather_at(here, liana_op_reshape_at(here, x, flat), positions, 0);
}
