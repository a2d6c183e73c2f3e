/* argsort: the order of the elements along an axis. sort, top_k and take_along_axis are built of it and of gather. */
#include "ir/given.h"
#include "ir/graph.h"
#include "ops/index.h"
#include "ops/ops.h"
#include "stablehlo/control.h"

#include <math.h>
#include <string.h>

typedef struct argsort_attributes {
    int64_t axis; /* not negative after inference */
    bool descending;
    int64_t count; /* after inference from 1 to the length of the axis */
} argsort_attributes;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(argsort_attributes, axis, INT, .doc = "The axis along which elements are ordered."),
    LIANA__FIELD_ROW(argsort_attributes, descending, BOOL, .doc = "Whether the greatest is first."),
    LIANA__FIELD_ROW(argsort_attributes, count, INT, .doc = "How many of the first are given; 0: all."),
};
static const liana__fields attributes = {"argsort", sizeof(argsort_attributes), 3, fields};

static liana_status infer_argsort(liana__infer *infer)
{
    argsort_attributes *options = infer->attributes;
    const liana_shape *shape = &infer->inputs[0]->shape;
    int axis;
    if (shape->rank == 0) return liana__infer_fail(infer, "a scalar has no axis to order");
    LIANA_TRY(liana__infer_axis(infer, options->axis, shape->rank, &axis));
    const int64_t length = shape->dims[axis];
    options->axis = axis;
    if (length > INT32_MAX) {
        return liana__infer_fail(infer, "axis %d has %lld elements, expected at most %d (the result is s32)", axis,
                                 (long long)length, INT32_MAX);
    }
    if (options->count < 0 || options->count > length) {
        return liana__infer_fail(infer, "found %lld elements to give, expected 1 to %lld, the length of axis %d",
                                 (long long)options->count, (long long)length, axis);
    }
    if (!options->count) options->count = length;
    infer->dtype = LIANA_S32;
    infer->shape = *shape;
    infer->shape.dims[axis] = options->count;
    return LIANA_OK;
}

/* ---- the order of one line ---- */

/* NaN stands last in either direction. */
static bool stands_before(double a, double b, bool descending)
{
    if (isnan(b)) return !isnan(a);
    return descending ? a > b : a < b;
}

/* Merges runs of 1, 2, 4, ... elements; equal ones stay in their order. Returns the list that has the result. */
static int32_t *sort_line(const double *keys, int64_t length, bool descending, int32_t *from, int32_t *to)
{
    for (int64_t i = 0; i < length; i++) from[i] = (int32_t)i;
    for (int64_t width = 1; width < length; width *= 2) {
        for (int64_t begin = 0; begin < length; begin += 2 * width) {
            const int64_t middle = begin + width < length ? begin + width : length;
            const int64_t end = begin + 2 * width < length ? begin + 2 * width : length;
            for (int64_t i = begin, k = middle, at = begin; at < end; at++) {
                const bool second = i == middle || (k < end && stands_before(keys[from[k]], keys[from[i]], descending));
                to[at] = from[second ? k++ : i++];
            }
        }
        int32_t *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/* The first `count`, where they are few: each element finds its place among those so far, from behind. */
static void select_first(const double *keys, int64_t length, bool descending, int64_t count, int32_t *first)
{
    int64_t found = 0;
    for (int64_t i = 0; i < length; i++) {
        int64_t place = found;
        while (place > 0 && stands_before(keys[i], keys[first[place - 1]], descending)) place--;
        if (place == count) continue;
        if (found < count) found++;
        memmove(first + place + 1, first + place, (size_t)(found - 1 - place) * sizeof *first);
        first[place] = (int32_t)i;
    }
}

enum { FEW = 32 };

static liana_status run(const liana__call *call)
{
    const liana__node *node = call->node;
    const argsort_attributes *options = node->attributes;
    const liana_shape *shape = liana__input_shape(node, 0);
    const liana_dtype dtype = node->inputs[0]->dtype;
    const int64_t inner = liana__inner_size(shape, (int)options->axis), length = shape->dims[options->axis];
    const int64_t lines = liana_shape_size(shape) / length, count = options->count;
    double *keys = call->scratch;
    int32_t *first = (int32_t *)(keys + length), *second = first + length, *result = call->dst;
    for (int64_t line = 0; line < lines; line++) {
        const int64_t from = line / inner * length * inner + line % inner;
        for (int64_t i = 0; i < length; i++) keys[i] = liana__load(call->src[0], dtype, from + i * inner);
        const int32_t *order = first;
        if (count <= FEW && count < length) {
            select_first(keys, length, options->descending, count, first);
        } else {
            order = sort_line(keys, length, options->descending, first, second);
        }
        const int64_t to = line / inner * count * inner + line % inner;
        for (int64_t i = 0; i < count; i++) result[to + i * inner] = order[i];
    }
    return LIANA_OK;
}

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const argsort_attributes *options = node->attributes;
    const size_t length = (size_t)liana__input_shape(node, 0)->dims[options->axis];
    prepared->scratch_size = length * (sizeof(double) + 2 * sizeof(int32_t));
    return LIANA_OK;
}

static liana_status lower_argsort(liana__lowering *l, const liana__node *node)
{
    const argsort_attributes *options = node->attributes;
    int64_t start[LIANA_MAX_RANK] = {0}, strides[LIANA_MAX_RANK];
    liana__hlo order = liana__hlo_argsort(l, liana__hlo_input(l, node, 0), (int)options->axis, options->descending);
    for (int i = 0; i < node->shape.rank; i++) strides[i] = 1;
    const bool is_whole = liana_shape_equal(&order.shape, &node->shape);
    return liana__hlo_give(l, node, is_whole ? order : liana__hlo_slice(l, order, start, node->shape.dims, strides));
}

static liana__parts parts_of(const liana__node *node)
{
    bool rows_stay = ((const argsort_attributes *)node->attributes)->axis > 0;
    return rows_stay ? liana__parts_all_inputs(node) : (liana__parts){0};
}

static void cost_of(const liana__node *node, liana__cost *cost)
{
    const argsort_attributes *options = node->attributes;
    const liana_shape *shape = liana__input_shape(node, 0);
    cost->flops = (double)liana_shape_size(shape) * log2((double)shape->dims[options->axis] + 1);
}

static const liana__kernel reference = {.name = "reference", .prepare = prepare, .run = run};

const liana__op liana__op_argsort = {
    .name = "argsort",
    .doc = "The indices that order the elements along an axis; equal ones stay in their order.",
    .attributes = &attributes,
    .num_inputs = 1,
    .infer = infer_argsort,
    .gradient = liana__no_gradient,
    .cost = cost_of,
    .parts = parts_of,
    .lower = lower_argsort,
    .kernels = LIANA__KERNELS(&reference, NULL),
};

liana_tensor liana_op_argsort_at(liana_location here, liana_tensor x, int64_t axis, bool descending, int64_t count)
{
    const argsort_attributes options = {axis, descending, count};
    return liana__build1(here, &liana__op_argsort, x, &options);
}

/* ---- built of it ---- */

static liana_tensor fail(liana_location here, liana_graph *graph, const char *what, const char *why)
{
    return liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "%s: %s", what, why);
}

/* Places in x, flat: those of the lines before, then the index along the axis, then the place within. */
static liana_tensor flat_places(liana_location here, liana_tensor indices, int64_t length)
{
    const liana_shape shape = liana_tensor_shape(indices);
    const int64_t inner = shape.dims[2];
    liana_graph *graph = indices.graph;
    const liana_tensor zero = liana_graph_scalar_at(here, graph, LIANA_S32, 0);
    const liana_tensor last = liana_graph_scalar_at(here, graph, LIANA_S32, (double)(length - 1));
    liana_tensor places = liana_op_minimum_at(here, liana_op_maximum_at(here, indices, zero), last);
    if (inner > 1) {
        const liana_tensor within = liana_op_iota_at(here, graph, LIANA_S32, shape, 2);
        const liana_tensor step = liana_graph_scalar_at(here, graph, LIANA_S32, (double)inner);
        places = liana_op_add_at(here, liana_op_multiply_at(here, places, step), within);
    }
    if (shape.dims[0] == 1) return places;
    const liana_tensor line = liana_op_iota_at(here, graph, LIANA_S32, shape, 0);
    const liana_tensor step = liana_graph_scalar_at(here, graph, LIANA_S32, (double)(length * inner));
    return liana_op_add_at(here, places, liana_op_multiply_at(here, line, step));
}

liana_tensor liana_take_along_axis_at(liana_location here, liana_tensor x, liana_tensor indices, int64_t axis)
{
    static const char name[] = "liana_take_along_axis";
    const liana_tensor invalid = {x.graph, 0};
    if (!x.graph || x.graph->status != LIANA_OK) return invalid;
    if (!x.id || indices.graph != x.graph || !indices.id) return fail(here, x.graph, name, "no tensor of this graph");
    const liana_shape shape = liana_tensor_shape(x), wanted = liana_tensor_shape(indices);
    if (axis < 0) axis += shape.rank;
    bool fits = axis >= 0 && axis < shape.rank && wanted.rank == shape.rank;
    for (int i = 0; i < shape.rank && fits; i++) fits = i == axis || wanted.dims[i] == shape.dims[i];
    if (!fits) {
        return fail(here, x.graph, name,
                    "the indices must have x's shape but for the axis, which must be one of x's axes");
    }
    if (liana_tensor_dtype(indices) != LIANA_S32) return fail(here, x.graph, name, "the indices must be s32");
    if (liana_shape_size(&shape) > INT32_MAX) return fail(here, x.graph, name, "x has more than 2^31 - 1 elements");
    const int64_t inner = liana__inner_size(&shape, (int)axis), length = shape.dims[axis];
    const liana_shape lines = liana_shape_of(-1, wanted.dims[axis], inner), flat = liana_shape_of(-1);
    const liana_tensor places = flat_places(here, liana_op_reshape_at(here, indices, lines), length);
    const liana_tensor taken = liana_op_gather_at(here, liana_op_reshape_at(here, x, flat), places, 0);
    return liana_op_reshape_at(here, taken, wanted);
}

liana_tensor liana_sort_at(liana_location here, liana_tensor x, int64_t axis, bool descending)
{
    return liana_take_along_axis_at(here, x, liana_op_argsort_at(here, x, axis, descending, 0), axis);
}

liana_tensor liana_top_k_at(liana_location here, liana_tensor x, int64_t k, liana_tensor *indices)
{
    if (k < 1 && x.graph && x.graph->status == LIANA_OK) {
        return fail(here, x.graph, "liana_top_k", "k must be at least 1");
    }
    const liana_tensor order = liana_op_argsort_at(here, x, -1, true, k);
    if (indices) *indices = order;
    return liana_take_along_axis_at(here, x, order, -1);
}
