/* Gemm and MatMul: dense layers where a factor is an initializer, else products of two results. */
#include "onnx/import_internal.h"

#include <string.h>

/* ---- dense layers ---- */

/* A product of a result with a matrix of the file. */
typedef struct dense_parts {
    liana__import_constant *kernel, *bias;
    bool is_transposed; /* the kernel is [units, in] */
    double scale, bias_scale;
    const char *key;
} dense_parts;

static int64_t dense_units(const dense_parts *own)
{
    return own->kernel->dims[own->is_transposed ? 0 : 1];
}

static bool is_vector(const liana__import_constant *given, int64_t size)
{
    bool is_row = given->count == size && given->is_float;
    for (int i = 0; i + 1 < given->rank; i++) is_row = is_row && given->dims[i] == 1;
    return is_row && (given->rank > 0 || size == 1);
}

/* The rows of a kernel in the order in which the result has the elements of the joined axes. */
static void move_rows(float *kernel, int64_t units, const int64_t *places, int64_t count, float *copy)
{
    memcpy(copy, kernel, (size_t)(count * units) * sizeof *copy);
    for (int64_t i = 0; i < count; i++) {
        memcpy(kernel + i * units, copy + places[i] * units, (size_t)units * sizeof *copy);
    }
}

/* Whether the axis consists of all axes but the batch, in another order: the layer then flattens the result as it is,
 * and its kernel gets another order instead. */
static bool is_scrambled(const liana__import *own, const liana__import_value *x, int axis)
{
    const liana__import_axis *joined = &x->axes[axis];
    const int rank = liana__import_shape(own, x->result)->rank;
    bool is_sorted = true;
    if (joined->count < 2 || joined->count != rank - 1 || liana__import_has_batch(x, axis)) return false;
    for (int k = 1; k < joined->count; k++) is_sorted = is_sorted && joined->at[k] > joined->at[k - 1];
    return !is_sorted;
}

/* places[i]: which element of ONNX's axis is element i of the flattened result. */
static void list_places(const liana__import *own, const liana__import_value *x, int axis, int64_t *places)
{
    const liana__import_axis *joined = &x->axes[axis];
    const liana_shape *shape = liana__import_shape(own, x->result);
    int64_t strides[LIANA_MAX_RANK] = {0}, stride = 1, index[LIANA_MAX_RANK] = {0}, place = 0;
    for (int k = joined->count - 1; k >= 0; k--) {
        strides[joined->at[k]] = stride;
        stride *= shape->dims[joined->at[k]];
    }
    for (int64_t i = 0; i < stride; i++) {
        places[i] = place;
        for (int a = shape->rank - 1; a > 0; a--) {
            place += strides[a];
            if (++index[a] < shape->dims[a]) break;
            place -= strides[a] * shape->dims[a];
            index[a] = 0;
        }
    }
}

static void scale_all(float *values, int64_t count, double scale)
{
    for (int64_t i = 0; values && scale != 1 && i < count; i++) values[i] = (float)((double)values[i] * scale);
}

static liana_status give_dense(liana__import *own, liana__import_node *node, const dense_parts *dense, size_t result,
                               const int64_t *places)
{
    const int order[] = {dense->is_transposed, !dense->is_transposed};
    const int64_t units = dense_units(dense), count = dense->kernel->count;
    float *kernel, *bias;
    LIANA_TRY(liana__import_permuted(own, dense->kernel, order, &kernel));
    scale_all(kernel, count, dense->scale);
    float *copy = kernel && places ? liana__arena_allocate(&own->arena, (size_t)count * sizeof *copy + 1) : NULL;
    if (kernel && places && !copy) {
        free(kernel);
        return liana__fail_memory(own->error, own->path);
    }
    if (copy) move_rows(kernel, units, places, count / units, copy);
    LIANA_TRY(liana__import_give(own, node, result, 0, kernel));
    if (!dense->bias || own->options->without_values) return LIANA_OK;
    const float *numbers = liana__import_floats(own, dense->bias);
    bias = numbers ? malloc((size_t)(units + 1) * sizeof *bias) : NULL;
    if (!bias) return numbers ? liana__fail_memory(own->error, own->path) : own->error->status;
    memcpy(bias, numbers, (size_t)units * sizeof *bias);
    scale_all(bias, units, dense->bias_scale);
    return liana__import_give(own, node, result, 1, bias);
}

/* x's last axis of ONNX times the kernel. */
static liana_status add_dense(liana__import *own, liana__import_node *node, liana__import_value *x,
                              const dense_parts *dense, liana__import_value *output)
{
    const int axis = x->rank - 1;
    const int64_t in = dense->kernel->dims[dense->is_transposed ? 1 : 0];
    int64_t *places = NULL;
    liana__import_value like = *x;
    size_t result, layer;
    if (x->rank < 1 || liana__import_size(own, x, axis) != in) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "found %lld features, and a kernel for %lld",
                                  x->rank ? (long long)liana__import_size(own, x, axis) : 0LL, (long long)in);
    }
    if (is_scrambled(own, x, axis)) {
        places = liana__arena_allocate(&own->arena, (size_t)in * sizeof *places);
        if (!places) return liana__fail_memory(own->error, own->path);
        list_places(own, x, axis, places);
        LIANA_TRY(liana__import_add(own, node, "Flatten", "", NULL, &x->result, 1, &like.result));
        like.axes[axis] = (liana__import_axis){1, {1}};
    } else {
        LIANA_TRY(liana__import_arrange_last(own, node, x, axis, &like));
    }
    const char *key = places ? NULL : dense->key;
    if (key && liana__import_find_shared(own, key, &layer)) {
        LIANA_TRY(liana__import_again(own, node, layer, like.result, &result));
        liana__import_set_like(output, &like, result);
        return LIANA_OK;
    }
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_int(&options, "units", dense_units(dense));
    liana__import_set_bool(&options, "use_bias", dense->bias != NULL);
    const char *stem = liana__import_stem(own, dense->kernel);
    if (!stem) stem = liana__import_stem(own, dense->bias);
    LIANA_TRY(liana__import_add(own, node, "Dense", stem, &options, &like.result, 1, &result));
    LIANA_TRY(give_dense(own, node, dense, result, places));
    if (key) LIANA_TRY(liana__import_share(own, key, result));
    liana__import_set_like(output, &like, result);
    return LIANA_OK;
}

/* ---- products of results ---- */

/* The letters of einsum: one for each axis of a result. */
typedef struct letters {
    char of[LIANA_MAX_RANK];
    int count;
} letters;

/* Values with the axes before their matrices alike, and their matrices' axes whole. */
static liana_status prepare_factors(liana__import *own, liana__import_node *node, liana__import_value factors[2])
{
    for (int i = 0; i < 2; i++) {
        int single;
        LIANA_TRY(liana__import_single(own, node, &factors[i], factors[i].rank - 1, &single));
        LIANA_TRY(liana__import_single(own, node, &factors[i], factors[i].rank - 2, &single));
    }
    return LIANA_OK;
}

static bool same_group(const liana__import *own, const liana__import_value *a, int i, const liana__import_value *b,
                       int k)
{
    bool same = a->axes[i].count == b->axes[k].count;
    for (int n = 0; same && n < a->axes[i].count; n++) {
        const int at = a->axes[i].at[n], bt = b->axes[k].at[n];
        same = liana__import_shape(own, a->result)->dims[at] == liana__import_shape(own, b->result)->dims[bt] &&
               (at == 0) == (bt == 0);
    }
    return same;
}

/* The product by letters: a's axes are a, b, c, ...; those of b that are a's have the same ones. */
static liana_status einsum(liana__import *own, liana__import_node *node, liana__import_value factors[2],
                           liana__import_value *output)
{
    liana__import_value *a = &factors[0], *b = &factors[1];
    const int rank_a = liana__import_shape(own, a->result)->rank, rank_b = liana__import_shape(own, b->result)->rank;
    const int rows = a->axes[a->rank - 2].at[0], inner_a = a->axes[a->rank - 1].at[0];
    const int inner_b = b->axes[b->rank - 2].at[0], columns = b->axes[b->rank - 1].at[0];
    letters of_a = {{0}, rank_a}, of_b = {{0}, rank_b};
    char result[LIANA_MAX_RANK + 1] = {0};
    int places[LIANA_MAX_RANK] = {0}, count = 0;
    if (a->rank != b->rank || rows == 0 || inner_a == 0 || inner_b == 0 || columns == 0) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "found factors with %d and %d axes, expected matrices behind the batch in both",
                                  a->rank, b->rank);
    }
    for (int i = 0; i < rank_a; i++) of_a.of[i] = (char)('a' + i);
    for (int axis = 0; axis < a->rank - 2; axis++) {
        if (!same_group(own, a, axis, b, axis)) {
            return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                      "the axes before the matrices differ, expected the same in both factors");
        }
        for (int k = 0; k < a->axes[axis].count; k++) of_b.of[b->axes[axis].at[k]] = of_a.of[a->axes[axis].at[k]];
    }
    of_b.of[inner_b] = of_a.of[inner_a];
    of_b.of[columns] = 'z';
    for (int i = 0; i < rank_b; i++) {
        if (!of_b.of[i])
            return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "an axis of one factor has no other");
    }
    for (int i = 0; i < rank_a; i++) {
        if (i == rows || i == inner_a) continue;
        places[i] = count;
        result[count++] = of_a.of[i];
    }
    places[rows] = count;
    result[count++] = of_a.of[rows];
    result[count++] = 'z';
    const size_t inputs[] = {a->result, b->result};
    size_t made;
    LIANA_TRY(liana__import_operation(own, node, inputs, 2, &made, "einsum(subscripts='%.*s,%.*s->%s')", of_a.count,
                                      of_a.of, of_b.count, of_b.of, result));
    const liana__import_value like = *a;
    liana__import_set_like(output, &like, made);
    for (int axis = 0; axis < like.rank; axis++) {
        for (int k = 0; k < like.axes[axis].count; k++) output->axes[axis].at[k] = places[like.axes[axis].at[k]];
    }
    output->axes[like.rank - 1] = (liana__import_axis){1, {count - 1}};
    return LIANA_OK;
}

/* ---- operators ---- */

/* A bias that an Add gives to nobody else's result: it becomes a part of the layer. */
static liana_status take_bias(liana__import *own, const liana__import_node *node, dense_parts *dense,
                              liana__import_value **output)
{
    liana__import_node *next = liana__import_only_user(node->outputs[0]);
    *output = node->outputs[0];
    if (!next || strcmp(next->op, "Add") != 0 || next->num_inputs != 2 || next->num_outputs != 1) return LIANA_OK;
    const liana__import_value *other = next->inputs[next->inputs[0] == node->outputs[0]];
    if (!liana__import_is_constant(other) || !is_vector(other->constant, dense_units(dense))) return LIANA_OK;
    dense->bias = other->constant;
    dense->key = liana__arena_format(&own->arena, "%s|%s", dense->key, other->name);
    next->is_done = true;
    *output = next->outputs[0];
    return dense->key ? LIANA_OK : liana__fail_memory(own->error, own->path);
}

static liana_status check_kernel(const liana__import *own, const liana__import_node *node,
                                 const liana__import_constant *kernel)
{
    if (kernel->rank == 2 && kernel->is_float && kernel->count > 0) return LIANA_OK;
    return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                              "found a constant factor with %d axes, expected a matrix of floats", kernel->rank);
}

/* The first factor: rows of data, or a state that a loop begins with. */
static liana_status read_rows(liana__import *own, liana__import_node *node, liana__import_value **rows)
{
    liana__import_value *given = liana__import_input(node, 0);
    if (liana__import_is_constant(given) && given->rank == 2)
        LIANA_TRY(liana__import_state(own, node, given, 0, rows));
    else
        *rows = given;
    if (*rows && (*rows)->kind == LIANA__IMPORT_RESULT) return LIANA_OK;
    return liana__import_result(own, node, 0, rows);
}

static liana_status read_matmul(liana__import *own, liana__import_node *node)
{
    liana__import_value *a, *b = liana__import_input(node, 1), *output;
    LIANA_TRY(read_rows(own, node, &a));
    if (liana__import_is_constant(b)) {
        dense_parts made = {.kernel = b->constant, .scale = 1, .bias_scale = 1};
        LIANA_TRY(check_kernel(own, node, b->constant));
        made.key = liana__arena_format(&own->arena, "Dense|%s|%d", b->name, 0);
        if (!made.key) return liana__fail_memory(own->error, own->path);
        LIANA_TRY(take_bias(own, node, &made, &output));
        return add_dense(own, node, a, &made, output);
    }
    LIANA_TRY(liana__import_result(own, node, 1, &b));
    liana__import_value factors[] = {*a, *b};
    if (a->rank < 3 || b->rank < 3) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "found factors with %d and %d axes, expected matrices behind the batch in both",
                                  a->rank, b->rank);
    }
    LIANA_TRY(prepare_factors(own, node, factors));
    return einsum(own, node, factors, node->outputs[0]);
}

static liana_status read_gemm(liana__import *own, liana__import_node *node)
{
    liana__import_value *x, *kernel = liana__import_input(node, 1), *bias = liana__import_input(node, 2);
    LIANA_TRY(read_rows(own, node, &x));
    const bool has_constants = liana__import_is_constant(kernel) && (!bias || liana__import_is_constant(bias));
    if (!has_constants || liana__import_int(node, "transA", 0) || x->rank != 2) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "expected rows of data times an initializer, without transA");
    }
    dense_parts made = {.kernel = kernel->constant,
                        .bias = bias ? bias->constant : NULL,
                        .is_transposed = liana__import_int(node, "transB", 0) != 0,
                        .scale = liana__import_float(node, "alpha", 1),
                        .bias_scale = liana__import_float(node, "beta", 1)};
    LIANA_TRY(check_kernel(own, node, made.kernel));
    if (made.bias && !is_vector(made.bias, dense_units(&made))) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "found a bias of %lld numbers, expected %lld",
                                  (long long)made.bias->count, (long long)dense_units(&made));
    }
    made.key = liana__arena_format(&own->arena, "Dense|%s|%d|%s|%g|%g", kernel->name, made.is_transposed,
                                   bias ? bias->name : "", made.scale, made.bias_scale);
    if (!made.key) return liana__fail_memory(own->error, own->path);
    return add_dense(own, node, x, &made, node->outputs[0]);
}

const liana__import_op liana__import_products[] = {
    {"MatMul", read_matmul},
    {"Gemm", read_gemm},
    {0},
};
