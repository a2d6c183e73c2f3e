/* Calls, loops, slices at computed places, sums over devices. */
#include "stablehlo/control.h"

#include <stdlib.h>

/* ---- lists of values ---- */

void liana__hlo_add_values(liana__lowering *l, const liana__hlo *values, size_t count)
{
    for (size_t i = 0; i < count; i++) liana__text_add(&l->text, "%s%%%u", i ? ", " : "", values[i].id);
}

void liana__hlo_add_types(liana__lowering *l, const liana__hlo *values, size_t count)
{
    liana__text_add(&l->text, "(");
    for (size_t i = 0; i < count; i++) {
        liana__text_add(&l->text, "%s%s", i ? ", " : "", liana__hlo_print_type(values[i].dtype, &values[i].shape).text);
    }
    liana__text_add(&l->text, ")");
}

/* "%4, %5 = ", with new numbers for the results. */
static void add_results(liana__lowering *l, liana__hlo *results, size_t count)
{
    liana__hlo_indent(l);
    for (size_t i = 0; i < count; i++) results[i].id = l->next++;
    liana__hlo_add_values(l, results, count);
    if (count) liana__text_add(&l->text, " = ");
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

static void add_call(liana__lowering *l, const char *function, const char *attributes, const liana__hlo *arguments,
                     size_t count, liana__hlo *results, size_t num_results)
{
    add_results(l, results, num_results);
    liana__text_add(&l->text, "\"func.call\"(");
    liana__hlo_add_values(l, arguments, count);
    liana__text_add(&l->text, ") {callee = @%s%s} : ", function, attributes);
    liana__hlo_add_types(l, arguments, count);
    liana__text_add(&l->text, " -> ");
    liana__hlo_add_types(l, results, num_results);
    liana__hlo_end_line(l);
}

void liana__hlo_call(liana__lowering *l, const char *function, const liana__hlo *arguments, size_t count,
                     liana__hlo *results, size_t num_results)
{
    add_call(l, function, "", arguments, count, results, num_results);
}

void liana__hlo_call_apart(liana__lowering *l, const char *function, const liana__hlo *arguments, size_t count,
                           liana__hlo *results, size_t num_results)
{
    static const char apart[] = ", mhlo.frontend_attributes = {inlineable = \"false\"}";
    add_call(l, function, apart, arguments, count, results, num_results);
}

/* ---- loops ---- */

static void begin_block(liana__lowering *l, liana__hlo_while *loop)
{
    liana__hlo_indent(l);
    liana__text_add(&l->text, "  ^bb0(");
    for (size_t i = 0; i < loop->count; i++) {
        liana__hlo *value = &loop->values[i];
        *value = liana__hlo_parameter(l, value->dtype, value->shape);
        liana__text_add(&l->text, "%s%%%u: %s", i ? ", " : "", value->id,
                        liana__hlo_print_type(value->dtype, &value->shape).text);
    }
    liana__text_add(&l->text, "):\n");
    l->depth++;
}

static void end_block(liana__lowering *l, const liana__hlo *values, size_t count)
{
    liana__hlo_indent(l);
    liana__text_add(&l->text, "\"stablehlo.return\"(");
    liana__hlo_add_values(l, values, count);
    liana__text_add(&l->text, ") : ");
    liana__hlo_add_types(l, values, count);
    liana__text_add(&l->text, " -> ()\n");
    l->depth--;
    liana__hlo_indent(l);
    liana__text_add(&l->text, "}");
}

/* The numbers of the results are given before the blocks are written: they are where the loop begins. */
void liana__hlo_while_begin(liana__lowering *l, liana__hlo_while *loop)
{
    loop->first_result = l->next;
    l->next += (uint32_t)loop->count;
    liana__hlo_indent(l);
    for (size_t i = 0; i < loop->count; i++) {
        liana__text_add(&l->text, "%s%%%u", i ? ", " : "", loop->first_result + (uint32_t)i);
    }
    liana__text_add(&l->text, " = \"stablehlo.while\"(");
    liana__hlo_add_values(l, loop->values, loop->count);
    liana__text_add(&l->text, ") ({\n");
    begin_block(l, loop);
}

void liana__hlo_while_between(liana__lowering *l, liana__hlo_while *loop, liana__hlo condition)
{
    end_block(l, &condition, 1);
    liana__text_add(&l->text, ", {\n");
    begin_block(l, loop);
}

void liana__hlo_while_end(liana__lowering *l, liana__hlo_while *loop, const liana__hlo *next)
{
    end_block(l, next, loop->count);
    liana__text_add(&l->text, ") : ");
    liana__hlo_add_types(l, loop->values, loop->count);
    liana__text_add(&l->text, " -> ");
    liana__hlo_add_types(l, loop->values, loop->count);
    liana__hlo_end_line(l);
    for (size_t i = 0; i < loop->count; i++) loop->values[i].id = loop->first_result + (uint32_t)i;
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
    liana__text operands = {0};
    for (size_t i = 0; i < count; i++) liana__text_add(&operands, "%s%%%u", i ? ", " : "", values[i].id);
    if (operands.failed) l->text.failed = true;
    add_results(l, values, count);
    liana__text_add(&l->text, "\"stablehlo.%s\"(%s)", name, operands.data ? operands.data : "");
    liana__text_free(&operands);
}

static void end_same(liana__lowering *l, const liana__hlo *values, size_t count)
{
    liana__text_add(&l->text, " : ");
    liana__hlo_add_types(l, values, count);
    liana__text_add(&l->text, " -> ");
    liana__hlo_add_types(l, values, count);
    liana__hlo_end_line(l);
}

void liana__hlo_barrier(liana__lowering *l, liana__hlo *values, size_t count)
{
    begin_same(l, "optimization_barrier", values, count);
    end_same(l, values, count);
}

/* ---- over devices, over elements ---- */

void liana__hlo_add_replicas(liana__lowering *l, liana__hlo *values, size_t count, size_t replicas)
{
    liana__hlo parameters[2];
    liana__hlo_op op = {0};
    begin_same(l, "all_reduce", values, count);
    liana__hlo_begin_region(l, &op, values[0].dtype, parameters);
    liana__hlo_end_region(l, liana__hlo_binary(l, "add", parameters[0], parameters[1]));
    liana__text_add(&l->text, ") {replica_groups = dense<[[");
    for (size_t i = 0; i < replicas; i++) liana__text_add(&l->text, "%s%zu", i ? ", " : "", i);
    liana__text_add(&l->text, "]]> : tensor<1x%zuxi64>}", replicas);
    end_same(l, values, count);
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
    liana__hlo *vectors = malloc((count + 1) * sizeof *vectors), all = liana__hlo_fill(l, LIANA_BOOL, LIANA_SCALAR, 1);
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
    free(vectors);
    return all;
}
