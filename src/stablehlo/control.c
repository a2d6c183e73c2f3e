/* Calls, orders, loops, slices at computed places, sums over devices. */
#include "stablehlo/control.h"

/* "%4, %5 = ", and the first of these new numbers. */
static uint32_t add_results(liana__lowering *l, size_t count)
{
    const uint32_t first = l->next;
    liana__hlo_indent(l);
    for (; l->next < first + count; l->next++)
        liana__text_add(&l->text, "%s%%%u", l->next > first ? ", " : "", l->next);
    if (count) liana__text_add(&l->text, " = ");
    return first;
}

static void number_results(liana__hlo *results, size_t count, uint32_t first)
{
    for (size_t i = 0; i < count; i++) results[i].id = first + (uint32_t)i;
}

/* The end of an op. */
static void add_types(liana__lowering *l, const liana__hlo *operands, size_t count, const liana__hlo *results,
                      size_t num_results)
{
    liana__text_add(&l->text, " : ");
    liana__hlo_add_types(l, operands, count);
    liana__text_add(&l->text, " -> ");
    liana__hlo_add_types(l, results, num_results);
    liana__hlo_end_line(l);
}

/* ---- calls ---- */

void liana__hlo_return(liana__lowering *l, const liana__hlo *values, size_t count)
{
    liana__text_add(&l->text, "    \"func.return\"(");
    liana__hlo_add_values(l, values, count);
    liana__text_add(&l->text, ") : ");
    liana__hlo_add_types(l, values, count);
    liana__text_add(&l->text, " -> ()\n  }\n");
}

void liana__hlo_call(liana__lowering *l, const char *function, bool apart, const liana__hlo *arguments, size_t count,
                     liana__hlo *results, size_t num_results)
{
    const uint32_t first = add_results(l, num_results);
    liana__text_add(&l->text, "\"func.call\"(");
    liana__hlo_add_values(l, arguments, count);
    liana__text_add(&l->text, ") {callee = @%s%s}", function,
                    apart ? ", mhlo.frontend_attributes = {inlineable = \"false\"}" : "");
    add_types(l, arguments, count, results, num_results);
    number_results(results, num_results, first);
}

/* ---- orders ---- */

liana__hlo liana__hlo_argsort(liana__lowering *l, liana__hlo x, int axis, bool descending)
{
    liana__hlo operands[] = {x, liana__hlo_iota(l, LIANA_S32, x.shape, axis)}, results[2] = {operands[0], operands[1]};
    liana__hlo pairs[4] = {x, x, operands[1], operands[1]};
    for (int i = 0; i < 4; i++) pairs[i].shape = LIANA_SCALAR;
    const uint32_t first = add_results(l, 2);
    liana__text_add(&l->text, "\"stablehlo.sort\"(");
    liana__hlo_add_values(l, operands, 2);
    liana__text_add(&l->text, ") ({\n");
    liana__hlo_begin_block(l, pairs, 4);
    liana__hlo before = liana__hlo_compare(l, descending ? "GT" : "LT", pairs[0], pairs[1]);
    if (liana__dtype_is_float(x.dtype)) {
        const liana__hlo is_number = liana__hlo_compare(l, "EQ", pairs[0], pairs[0]);
        const liana__hlo is_nan = liana__hlo_compare(l, "NE", pairs[1], pairs[1]);
        before = liana__hlo_binary(l, "or", before, liana__hlo_binary(l, "and", is_number, is_nan));
    }
    liana__hlo_end_block(l, &before, 1);
    liana__text_add(&l->text, ") {dimension = %d : i64, is_stable = true}", axis);
    add_types(l, operands, 2, results, 2);
    number_results(results, 2, first);
    return results[1];
}

/* ---- loops ---- */

/* The numbers of the results are given before the blocks are written: they are where the loop begins. */
void liana__hlo_while_begin(liana__lowering *l, liana__hlo_while *loop)
{
    loop->first_result = add_results(l, loop->count);
    liana__text_add(&l->text, "\"stablehlo.while\"(");
    liana__hlo_add_values(l, loop->values, loop->count);
    liana__text_add(&l->text, ") ({\n");
    liana__hlo_begin_block(l, loop->values, loop->count);
}

void liana__hlo_while_between(liana__lowering *l, liana__hlo_while *loop, liana__hlo condition)
{
    liana__hlo_end_block(l, &condition, 1);
    liana__text_add(&l->text, ", {\n");
    liana__hlo_begin_block(l, loop->values, loop->count);
}

void liana__hlo_while_end(liana__lowering *l, liana__hlo_while *loop, const liana__hlo *next)
{
    liana__hlo_end_block(l, next, loop->count);
    liana__text_add(&l->text, ")");
    add_types(l, loop->values, loop->count, loop->values, loop->count);
    number_results(loop->values, loop->count, loop->first_result);
}

/* ---- rows ---- */

/* `first`, and zeros for the other axes. */
static size_t place_rows(liana__lowering *l, liana__hlo first, int rank, liana__hlo *operands)
{
    operands[0] = first;
    for (int i = 1; i < rank; i++) operands[i] = liana__hlo_fill(l, LIANA_S32, LIANA_SCALAR, 0);
    return (size_t)rank;
}

liana__hlo liana__hlo_rows(liana__lowering *l, liana__hlo x, liana__hlo first, liana_shape shape)
{
    liana__hlo operands[1 + LIANA_MAX_RANK] = {x};
    const size_t count = 1 + place_rows(l, first, x.shape.rank, operands + 1);
    liana__text attributes = {0};
    liana__hlo_add_array(&attributes, "slice_sizes", shape.dims, shape.rank);
    return liana__hlo_write(l, "dynamic_slice", operands, count, x.dtype, shape, &attributes);
}

liana__hlo liana__hlo_set_rows(liana__lowering *l, liana__hlo x, liana__hlo rows, liana__hlo first)
{
    liana__hlo operands[2 + LIANA_MAX_RANK] = {x, rows};
    const size_t count = 2 + place_rows(l, first, x.shape.rank, operands + 2);
    return liana__hlo_write(l, "dynamic_update_slice", operands, count, x.dtype, x.shape, NULL);
}

/* "%7, %8 = NAME(%4, %5)": values in, values of the same types out. */
static void begin_same(liana__lowering *l, const char *name, liana__hlo *values, size_t count)
{
    const uint32_t first = add_results(l, count);
    liana__text_add(&l->text, "\"stablehlo.%s\"(", name);
    liana__hlo_add_values(l, values, count);
    liana__text_add(&l->text, ")");
    number_results(values, count, first);
}

void liana__hlo_barrier(liana__lowering *l, liana__hlo *values, size_t count)
{
    begin_same(l, "optimization_barrier", values, count);
    add_types(l, values, count, values, count);
}

/* ---- over devices, over elements ---- */

void liana__hlo_add_replicas(liana__lowering *l, liana__hlo *values, size_t count, size_t replicas)
{
    liana__hlo_op op = {0};
    begin_same(l, "all_reduce", values, count);
    liana__hlo_fold_region(l, &op, values[0].dtype, "add");
    liana__text_add(&l->text, ") {replica_groups = dense<[[");
    for (size_t i = 0; i < replicas; i++) liana__text_add(&l->text, "%s%zu", i ? ", " : "", i);
    liana__text_add(&l->text, "]]> : tensor<1x%zuxi64>}", replicas);
    add_types(l, values, count, values, count);
}

/* ---- finite numbers ---- */

static bool has_size_of(const liana__hlo *a, const liana__hlo *b)
{
    return liana_shape_size(&a->shape) == liana_shape_size(&b->shape);
}

/* Whether all elements of values of one size are finite, element by element: the first value and those after it. */
static liana__hlo both_finite(liana__lowering *l, const liana__hlo *values, size_t count)
{
    liana__hlo good = liana__hlo_is_finite(l, values[0]);
    for (size_t i = 1; i < count; i++) {
        if (!has_size_of(&values[i], &values[0])) continue;
        liana__hlo other = liana__hlo_reshape(l, values[i], values[0].shape);
        good = liana__hlo_binary(l, "and", good, liana__hlo_is_finite(l, other));
    }
    return good;
}

/* A vector, of the last axes: compilers sum over the first ones in one loop, but over all in trees of many. */
static liana__hlo fold_rows(liana__lowering *l, liana__hlo x)
{
    enum { ENOUGH_COLUMNS = 64, FEW_ELEMENTS = 1024 };
    const int64_t size = liana_shape_size(&x.shape), axis = 0;
    if (x.shape.rank < 2 || size <= FEW_ELEMENTS) return liana__hlo_reshape(l, x, liana_shape_of(size));
    int64_t columns = 1;
    for (int i = x.shape.rank - 1; i > 0 && columns < ENOUGH_COLUMNS; i--) columns *= x.shape.dims[i];
    liana__hlo rows = liana__hlo_reshape(l, x, liana_shape_of(size / columns, columns));
    return liana__hlo_reduce(l, LIANA__HLO_MINIMUM, rows, &axis, 1);
}

liana__hlo liana__hlo_all_finite(liana__lowering *l, const liana__hlo *values, size_t count)
{
    const int64_t axis = 0;
    liana__hlo *vectors = liana__arena_allocate(&l->scratch, (count + 1) * sizeof *vectors);
    liana__hlo all = liana__hlo_fill(l, LIANA_BOOL, LIANA_SCALAR, 1);
    size_t num_vectors = 0;
    for (size_t i = 0; vectors && i < count; i++) {
        size_t first = 0;
        while (!has_size_of(&values[first], &values[i])) first++;
        if (first == i) vectors[num_vectors++] = fold_rows(l, both_finite(l, values + i, count - i));
    }
    if (!vectors) {
        l->text.failed = true;
    } else if (num_vectors) {
        liana__hlo joined = num_vectors > 1 ? liana__hlo_concatenate(l, vectors, num_vectors, 0) : vectors[0];
        all = liana__hlo_reduce(l, LIANA__HLO_MINIMUM, joined, &axis, 1);
    }
    return all;
}
