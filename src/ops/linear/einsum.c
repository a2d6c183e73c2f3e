/* einsum: numpy's notation for products of tensors, built of transpose, reshape, matmul, multiply and reduce_sum. */
#include "ir/given.h"
#include "ir/graph.h"
#include "ops/ops.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A label is a letter, or stands for an axis of an ellipsis, counted from its last one. */
enum { ELLIPSIS_LABEL = 128, NUM_LABELS = ELLIPSIS_LABEL + LIANA_MAX_RANK, MOST_OPERANDS = 16, MOST_LABELS = 64 };

typedef struct labels {
    int list[MOST_LABELS];
    int count;
} labels;

typedef struct operand {
    labels axes;
    liana_tensor tensor;
} operand;

typedef struct einsum {
    liana_location here;
    liana_graph *graph;
    const char *equation;
    operand operands[MOST_OPERANDS];
    size_t count;
    labels output;
    int ellipsis_rank; /* of the longest ellipsis */
    int64_t sizes[NUM_LABELS];
} einsum;

static bool fail(const einsum *e, const char *format, ...) LIANA__PRINTF(2, 3);
static bool fail(const einsum *e, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    liana__graph_fail(e->graph, e->here, LIANA_INVALID_ARGUMENT, "liana_einsum(\"%.120s\"): %s", e->equation, message);
    return false;
}

/* ---- labels ---- */

static int place_of(const labels *all, int label)
{
    for (int i = 0; i < all->count; i++) {
        if (all->list[i] == label) return i;
    }
    return -1;
}

static bool has(const labels *all, int label)
{
    return place_of(all, label) >= 0;
}

static void add(labels *all, int label)
{
    all->list[all->count++] = label;
}

static bool same(const labels *a, const labels *b)
{
    return a->count == b->count && memcmp(a->list, b->list, (size_t)a->count * sizeof *a->list) == 0;
}

/* One after the other. */
static labels join(const labels *a, const labels *b, const labels *c)
{
    labels all = *a;
    for (int i = 0; i < b->count; i++) add(&all, b->list[i]);
    for (int i = 0; i < c->count; i++) add(&all, c->list[i]);
    return all;
}

/* Those of `from` that `wanted` has, in the order of `from`. */
static labels those_of(const labels *from, const labels *wanted)
{
    labels all = {.count = 0};
    for (int i = 0; i < from->count; i++) {
        if (has(wanted, from->list[i])) add(&all, from->list[i]);
    }
    return all;
}

static int64_t size_of(const einsum *e, const labels *all)
{
    int64_t size = 1;
    for (int i = 0; i < all->count; i++) size *= e->sizes[all->list[i]];
    return size;
}

static liana_shape shape_of(const einsum *e, const labels *all)
{
    liana_shape shape = {.rank = all->count};
    for (int i = 0; i < all->count; i++) shape.dims[i] = e->sizes[all->list[i]];
    return shape;
}

/* ---- reading ---- */

/* Reads the labels of an operand with `rank` axes (-1: of the result), up to ',', '-' or the end. */
static bool read_labels(const einsum *e, const char **next, int rank, labels *all)
{
    int letters = 0, at_ellipsis = -1;
    int read[NUM_LABELS];
    for (;; ++*next) {
        if (isspace((unsigned char)**next)) continue;
        if (strncmp(*next, "...", 3) == 0) {
            if (at_ellipsis >= 0) return fail(e, "a second '...' in one operand");
            at_ellipsis = letters;
            *next += 2;
        } else if (isalpha((unsigned char)**next) && letters < LIANA_MAX_RANK) {
            read[letters++] = **next;
        } else if (isalpha((unsigned char)**next)) {
            return fail(e, "an operand has more than %d letters", LIANA_MAX_RANK);
        } else if (!**next || **next == ',' || **next == '-') {
            break;
        } else {
            return fail(e, "found '%c', expected letters, '...', ',' or '->'", **next);
        }
    }
    int elided = at_ellipsis < 0 ? 0 : rank < 0 ? e->ellipsis_rank : rank - letters;
    if (rank >= 0 && (elided < 0 || (at_ellipsis < 0 && rank != letters))) {
        return fail(e, "an operand with %d letters%s is of rank %d", letters, at_ellipsis < 0 ? "" : " and '...'",
                    rank);
    }
    if (letters + elided > LIANA_MAX_RANK) return fail(e, "the result has more than %d axes", LIANA_MAX_RANK);
    for (int i = 0; i <= letters; i++) {
        for (int k = elided; i == at_ellipsis && k-- > 0;) add(all, ELLIPSIS_LABEL + k);
        if (i < letters) add(all, read[i]);
    }
    return true;
}

/* An axis of an ellipsis may be 1 where that of another operand is longer. */
static bool note_sizes(einsum *e, const operand *one)
{
    const liana_shape shape = liana_tensor_shape(one->tensor);
    for (int i = 0; i < one->axes.count; i++) {
        const int label = one->axes.list[i];
        int64_t *size = &e->sizes[label];
        const bool of_ellipsis = label >= ELLIPSIS_LABEL;
        if (of_ellipsis && label - ELLIPSIS_LABEL >= e->ellipsis_rank) e->ellipsis_rank = label - ELLIPSIS_LABEL + 1;
        if (!*size || (of_ellipsis && *size == 1)) *size = shape.dims[i];
        if (*size == shape.dims[i] || (of_ellipsis && shape.dims[i] == 1)) continue;
        if (of_ellipsis) {
            return fail(e, "an axis of '...' has the sizes %lld and %lld", (long long)*size, (long long)shape.dims[i]);
        }
        return fail(e, "'%c' is %lld and %lld", label, (long long)*size, (long long)shape.dims[i]);
    }
    return true;
}

/* Without "->" the result has the axes of the ellipsis, and the letters that occur once, in the order of ASCII. */
static bool find_output(einsum *e)
{
    for (int k = e->ellipsis_rank; k-- > 0;) add(&e->output, ELLIPSIS_LABEL + k);
    for (int letter = 'A'; letter <= 'z'; letter++) {
        int found = 0;
        for (size_t i = 0; i < e->count; i++) {
            for (int k = 0; k < e->operands[i].axes.count; k++) found += e->operands[i].axes.list[k] == letter;
        }
        if (found != 1) continue;
        if (e->output.count == LIANA_MAX_RANK) return fail(e, "the result has more than %d axes", LIANA_MAX_RANK);
        add(&e->output, letter);
    }
    return true;
}

static bool check_output(const einsum *e)
{
    for (int i = 0; i < e->output.count; i++) {
        const int label = e->output.list[i];
        if (!e->sizes[label]) return fail(e, "no operand has the result's '%c'", label);
        if (place_of(&e->output, label) < i) return fail(e, "the result has '%c' twice", label);
    }
    return true;
}

static bool read_equation(einsum *e, const liana_tensor *tensors, size_t count)
{
    const char *next = e->equation;
    for (e->count = 0;; next++) {
        if (e->count == count) return fail(e, "it has more operands than the %zu tensors", count);
        operand *one = &e->operands[e->count++];
        *one = (operand){.tensor = tensors[e->count - 1]};
        if (!read_labels(e, &next, liana_tensor_shape(one->tensor).rank, &one->axes)) return false;
        if (!note_sizes(e, one)) return false;
        if (*next != ',') break;
    }
    if (e->count < count) return fail(e, "it has %zu operands, expected %zu", e->count, count);
    if (!*next) return find_output(e);
    if (strncmp(next, "->", 2) != 0) return fail(e, "found '%c', expected '->'", *next);
    next += 2;
    if (!read_labels(e, &next, -1, &e->output)) return false;
    return *next ? fail(e, "found '%c' in the result", *next) : check_output(e);
}

/* ---- one operand ---- */

static liana_tensor reorder(const einsum *e, liana_tensor x, const labels *from, const labels *to)
{
    liana_axes permutation = {.count = to->count};
    if (same(from, to)) return x;
    for (int i = 0; i < to->count; i++) permutation.values[i] = place_of(from, to->list[i]);
    return liana_op_transpose_at(e->here, x, permutation);
}

static liana_tensor sum_axis(const einsum *e, liana_tensor x, int axis)
{
    const liana_axes axes = {.count = 1, .values = {axis}};
    return liana_op_reduce_sum_at(e->here, x, axes, false);
}

static void remove_axis(labels *all, int axis)
{
    all->count--;
    memmove(all->list + axis, all->list + axis + 1, (size_t)(all->count - axis) * sizeof *all->list);
}

/* A label that stands twice takes the diagonal: elements beside it become 0, then one of the axes is summed. */
static void take_diagonals(const einsum *e, operand *one)
{
    for (int i = 1; i < one->axes.count; i++) {
        const int first = place_of(&one->axes, one->axes.list[i]);
        if (first == i) continue;
        liana_shape shape = liana_tensor_shape(one->tensor);
        liana_tensor row = liana_op_iota_at(e->here, e->graph, LIANA_S32, shape, first);
        liana_tensor column = liana_op_iota_at(e->here, e->graph, LIANA_S32, shape, i);
        liana_tensor zero = liana_graph_scalar_at(e->here, e->graph, liana_tensor_dtype(one->tensor), 0);
        one->tensor = liana_op_select_at(e->here, liana_op_equal_at(e->here, row, column), one->tensor, zero);
        one->tensor = sum_axis(e, one->tensor, i);
        remove_axis(&one->axes, i--);
    }
}

/* Sums axes that neither `kept` nor `other` has, and repeats axes of an ellipsis. */
static void sum_unused(const einsum *e, operand *one, const labels *kept, const labels *other)
{
    liana_axes axes = {.count = 0};
    labels left = {.count = 0};
    const liana_shape shape = liana_tensor_shape(one->tensor);
    for (int i = 0; i < one->axes.count; i++) {
        const int label = one->axes.list[i];
        const bool is_used = has(kept, label) || (other && has(other, label));
        if (is_used) {
            add(&left, label);
        } else {
            axes.values[axes.count++] = i;
        }
    }
    const liana_shape whole = shape_of(e, &one->axes);
    if (!liana_shape_equal(&shape, &whole)) one->tensor = liana_op_broadcast_to_at(e->here, one->tensor, whole);
    if (axes.count) one->tensor = liana_op_reduce_sum_at(e->here, one->tensor, axes, false);
    one->axes = left;
}

/* ---- two operands ---- */

/* How two operands are laid out for a product of matrices. */
typedef struct layout {
    labels batch, rows, depth, columns;
    labels a, b; /* the axes after a transpose */
    bool transpose_a, transpose_b;
    bool swapped; /* b comes first: the result is [batch, columns, rows] */
    labels result;
    int64_t cost; /* elements that are moved */
} layout;

/* The transposition is the product's own, if the operand is in that order already, or if its last axis then stays the
 * last: rows are moved as a whole. */
static int64_t arrange(const einsum *e, const labels *have, const labels *batch, const labels *first,
                       const labels *second, labels *want, bool *transposed)
{
    const labels straight = join(batch, first, second), turned = join(batch, second, first);
    const int last = have->count - 1;
    const bool stays = last >= 0 && turned.list[last] == have->list[last] && straight.list[last] != have->list[last];
    *transposed = !same(have, &straight) && (stays || same(have, &turned));
    *want = *transposed ? turned : straight;
    return same(have, want) ? 0 : size_of(e, have);
}

/* The cheapest of all orders of the groups. `wanted` NULL: the result may have any order. */
static layout choose(const einsum *e, const operand *a, const operand *b, const labels *kept, const labels *wanted)
{
    layout best = {.cost = -1};
    labels in_both = those_of(&a->axes, &b->axes), depth = {.count = 0};
    for (int i = 0; i < in_both.count; i++) {
        if (!has(kept, in_both.list[i])) add(&depth, in_both.list[i]);
    }
    const labels batch = those_of(&in_both, kept);
    for (int choice = 0; choice < 32; choice++) {
        layout one = {.swapped = choice & 16};
        one.batch = those_of(choice & 1 ? &b->axes : &a->axes, &batch);
        one.depth = those_of(choice & 2 ? &b->axes : &a->axes, &depth);
        labels rows = {.count = 0}, columns = {.count = 0};
        for (int i = 0; i < a->axes.count; i++) {
            if (!has(&b->axes, a->axes.list[i])) add(&rows, a->axes.list[i]);
        }
        for (int i = 0; i < b->axes.count; i++) {
            if (!has(&a->axes, b->axes.list[i])) add(&columns, b->axes.list[i]);
        }
        one.rows = wanted && choice & 4 ? those_of(wanted, &rows) : rows;
        one.columns = wanted && choice & 8 ? those_of(wanted, &columns) : columns;
        one.cost = arrange(e, &a->axes, &one.batch, &one.rows, &one.depth, &one.a, &one.transpose_a) +
                   arrange(e, &b->axes, &one.batch, &one.depth, &one.columns, &one.b, &one.transpose_b);
        one.result =
            one.swapped ? join(&one.batch, &one.columns, &one.rows) : join(&one.batch, &one.rows, &one.columns);
        if (wanted && !same(&one.result, wanted)) one.cost += size_of(e, &one.result);
        if (best.cost < 0 || one.cost < best.cost) best = one;
    }
    return best;
}

/* The axes of the batch as they are, then two groups of axes, each as one. */
static liana_tensor as_matrices(const einsum *e, liana_tensor x, const labels *batch, const labels *first,
                                const labels *second)
{
    liana_shape shape = shape_of(e, batch);
    shape.dims[shape.rank++] = size_of(e, first);
    shape.dims[shape.rank++] = size_of(e, second);
    const liana_shape own = liana_tensor_shape(x);
    return liana_shape_equal(&own, &shape) ? x : liana_op_reshape_at(e->here, x, shape);
}

static liana_tensor matrix_product(const einsum *e, liana_tensor a, liana_tensor b, const layout *how)
{
    a = how->transpose_a ? as_matrices(e, a, &how->batch, &how->depth, &how->rows)
                         : as_matrices(e, a, &how->batch, &how->rows, &how->depth);
    b = how->transpose_b ? as_matrices(e, b, &how->batch, &how->columns, &how->depth)
                         : as_matrices(e, b, &how->batch, &how->depth, &how->columns);
    return how->swapped ? liana_op_matmul_at(e->here, b, a, !how->transpose_b, !how->transpose_a)
                        : liana_op_matmul_at(e->here, a, b, how->transpose_a, how->transpose_b);
}

/* A product without a sum, or of integers: element by element. */
static liana_tensor plain_product(const einsum *e, const operand *a, const operand *b, const labels *kept,
                                  const labels *wanted, labels *axes)
{
    labels all = wanted ? *wanted : those_of(&a->axes, kept);
    const operand *const both[] = {a, b};
    liana_tensor factors[2];
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < both[i]->axes.count; k++) {
            if (!has(&all, both[i]->axes.list[k])) add(&all, both[i]->axes.list[k]);
        }
    }
    for (int i = 0; i < 2; i++) {
        const labels own = those_of(&all, &both[i]->axes);
        liana_shape shape = {.rank = all.count};
        for (int k = 0; k < all.count; k++) shape.dims[k] = has(&own, all.list[k]) ? e->sizes[all.list[k]] : 1;
        factors[i] = reorder(e, both[i]->tensor, &both[i]->axes, &own);
        if (own.count < all.count) factors[i] = liana_op_reshape_at(e->here, factors[i], shape);
    }
    operand product = {.axes = all, .tensor = liana_op_multiply_at(e->here, factors[0], factors[1])};
    sum_unused(e, &product, kept, NULL);
    *axes = product.axes;
    return product.tensor;
}

/* The product of two operands, with the axes that `kept` has. */
static operand contract(const einsum *e, operand a, operand b, const labels *kept, const labels *wanted)
{
    operand result = {.axes = {.count = 0}};
    sum_unused(e, &a, kept, &b.axes);
    sum_unused(e, &b, kept, &a.axes);
    const layout how = choose(e, &a, &b, kept, wanted);
    const labels whole = join(&how.batch, &how.rows, &how.columns);
    const bool by_element = !how.depth.count || !liana__dtype_is_float(liana_tensor_dtype(a.tensor)) ||
                            how.batch.count + 2 > LIANA_MAX_RANK;
    if (by_element && whole.count + how.depth.count <= LIANA_MAX_RANK) {
        result.tensor = plain_product(e, &a, &b, kept, wanted, &result.axes);
        return result;
    }
    if (whole.count > LIANA_MAX_RANK) {
        fail(e, "a product of two operands has %d axes, expected at most %d", whole.count, LIANA_MAX_RANK);
        return result;
    }
    liana_tensor left = reorder(e, a.tensor, &a.axes, &how.a), right = reorder(e, b.tensor, &b.axes, &how.b);
    result.axes = how.result;
    result.tensor = matrix_product(e, left, right, &how);
    const liana_shape shape = shape_of(e, &result.axes), own = liana_tensor_shape(result.tensor);
    if (!liana_shape_equal(&own, &shape)) result.tensor = liana_op_reshape_at(e->here, result.tensor, shape);
    return result;
}

/* Labels of the result and of the operands from `first` on. */
static labels list_kept(const einsum *e, size_t first)
{
    labels kept = e->output;
    for (size_t i = first; i < e->count; i++) {
        for (int k = 0; k < e->operands[i].axes.count; k++) {
            if (!has(&kept, e->operands[i].axes.list[k])) add(&kept, e->operands[i].axes.list[k]);
        }
    }
    return kept;
}

liana_tensor liana_einsum_at(liana_location here, const char *equation, const liana_tensor *tensors, size_t count)
{
    liana_tensor invalid = {tensors && count ? tensors[0].graph : NULL, 0};
    einsum e = {.here = here, .graph = invalid.graph, .equation = equation};
    if (!e.graph || e.graph->status != LIANA_OK) return invalid;
    if (!LIANA__GRAPH_REQUIRE(e.graph, here, equation)) return invalid;
    for (size_t i = 0; i < count && count <= MOST_OPERANDS; i++) {
        if (tensors[i].graph != e.graph || !tensors[i].id) {
            fail(&e, "operand %zu is no tensor of this graph", i);
            return invalid;
        }
    }
    if (count > MOST_OPERANDS) {
        fail(&e, "found %zu operands, expected at most %d", count, MOST_OPERANDS);
        return invalid;
    }
    if (!read_equation(&e, tensors, count)) return invalid;
    for (size_t i = 0; i < e.count; i++) take_diagonals(&e, &e.operands[i]);
    operand result = e.operands[0];
    for (size_t i = 1; i < e.count; i++) {
        const labels kept = list_kept(&e, i + 1);
        result = contract(&e, result, e.operands[i], &kept, i + 1 == e.count ? &e.output : NULL);
    }
    sum_unused(&e, &result, &e.output, NULL);
    return reorder(&e, result.tensor, &result.axes, &e.output);
}
