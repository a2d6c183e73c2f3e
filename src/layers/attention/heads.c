/* Attention of several heads: projections of query, key and value, masked scores, and the projection of the result. */
#include "layers/attention/heads.h"

#include "ir/graph.h"
#include "layers/model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const liana__heads_arguments[] = {
    "query",
    "value",
    "key",
    "query_mask",
    "value_mask",
    "key_mask",
    "attention_mask",
    "return_attention_scores",
    "training",
    "use_causal_mask",
    NULL,
};

/* ---- shapes ---- */

static const char *const slot_names[LIANA__ATTENTION_SLOTS] = {"query",      "value",    "key",           "query mask",
                                                               "value mask", "key mask", "attention mask"};

liana_status liana__refuse_slot(liana_layer_build *build, size_t slot, const char *format, ...)
{
    char wanted[200], expected[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wanted, sizeof wanted, format, arguments);
    va_end(arguments);
    snprintf(expected, sizeof expected, "for the %s %s", slot_names[slot], wanted);
    return liana_layer_refuse(build, slot, expected);
}

/* The axes of attention, sorted as they are given; all between batch and features by default. */
static liana_ints axes_of(const liana__heads *heads, int rank)
{
    liana_ints axes = heads->attention_axes;
    for (int64_t i = 0; i < axes.count; i++) axes.values[i] += axes.values[i] < 0 ? rank : 0;
    if (axes.count) return axes;
    for (int axis = 1; axis < rank - 1; axis++) axes.values[axes.count++] = axis;
    return axes;
}

static bool is_among(const liana_ints *axes, int64_t axis)
{
    for (int64_t i = 0; i < axes->count; i++) {
        if (axes->values[i] == axis) return true;
    }
    return false;
}

static liana_status check_axes(liana_layer_build *build, const liana_ints *axes, int rank)
{
    if (rank + 1 + (int)axes->count > LIANA_MAX_RANK) {
        return liana__refuse_slot(build, LIANA_QUERY, "fewer dimensions: with its heads and axes it has more than %d",
                                  LIANA_MAX_RANK);
    }
    for (int64_t i = 0; i < axes->count; i++) {
        const int64_t axis = axes->values[i];
        liana_ints before = *axes;
        before.count = i;
        if (axis >= 1 && axis < rank - 1 && !is_among(&before, axis)) continue;
        return liana__refuse_slot(build, LIANA_QUERY, "one for attention_axes: each of 1 to %d, once", rank - 2);
    }
    return LIANA_OK;
}

/* A value or key: the axes without attention are those of the query. */
static liana_status check_source(liana_layer_build *build, size_t slot, const liana_ints *axes)
{
    const liana_shape *query = &build->inputs[LIANA_QUERY], *source = &build->inputs[slot];
    if (source->rank != query->rank) return liana__refuse_slot(build, slot, "%d dimensions, as the query", query->rank);
    for (int i = 1; i < query->rank - 1; i++) {
        const liana_shape *value = &build->inputs[LIANA_VALUE];
        if (!is_among(axes, i) && source->dims[i] != query->dims[i]) {
            return liana__refuse_slot(build, slot, "the size %lld along axis %d, as the query",
                                      (long long)query->dims[i], i);
        }
        if (source->dims[i] != value->dims[i]) {
            return liana__refuse_slot(build, slot, "the size %lld along axis %d, as the value",
                                      (long long)value->dims[i], i);
        }
    }
    return LIANA_OK;
}

/* [batch, steps] of an input. */
static liana_status check_mask(liana_layer_build *build, size_t slot, size_t of)
{
    const liana_shape *mask = &build->inputs[slot], *x = &build->inputs[of];
    bool fits = mask->rank >= 2 && mask->rank < x->rank;
    for (int i = 1; i < mask->rank && fits; i++) fits = mask->dims[i] == x->dims[i] || mask->dims[i] == 1;
    return !mask->rank || fits ? LIANA_OK : liana__refuse_slot(build, slot, "[batch, %lld]", (long long)x->dims[1]);
}

/* Its last axes are those of attention of the query, then those of the value. */
static liana_status check_attention_mask(liana_layer_build *build, const liana__heads *heads, const liana_ints *axes)
{
    const liana_shape *mask = &build->inputs[LIANA_ATTENTION_MASK], *query = &build->inputs[LIANA_QUERY];
    const liana_shape *value = &build->inputs[LIANA_VALUE];
    const int own = 2 * (int)axes->count, most = query->rank + (int)axes->count;
    if (!mask->rank) return LIANA_OK;
    bool fits = mask->rank >= own && mask->rank <= most;
    for (int i = 0; i < own && fits; i++) {
        const int64_t axis = axes->values[i % axes->count], size = mask->dims[mask->rank - own + i];
        fits = size == 1 || size == (i < axes->count ? query->dims[axis] : value->dims[axis]);
    }
    if (fits && mask->rank == most && heads->query_heads != mask->dims[most - own - 1]) {
        fits = mask->dims[most - own - 1] == 1;
    }
    if (fits) return LIANA_OK;
    const int64_t first = axes->values[0];
    return liana__refuse_slot(build, LIANA_ATTENTION_MASK,
                              "[batch, %lld, %lld]: the steps of the query, and those of the value",
                              (long long)query->dims[first], (long long)value->dims[first]);
}

/* ---- weights ---- */

enum { QUERY, KEY, GATE, VALUE, OUTPUT, NUM_PARTS };
static const char *const part_names[NUM_PARTS] = {"query", "key", "gate", "value", "attention_output"};

/* The last `num_outputs` axes of the kernel are those of the part's result. Keras's files keep each part by itself. */
static void add_part(liana_layer_build *build, const liana__heads *heads, int part, liana_shape kernel, int num_outputs)
{
    const liana_layer_build outer = *build;
    liana_shape bias = {.rank = num_outputs};
    if (liana__layer_build_within(build, part_names[part], heads->places[part]) != LIANA_OK) return;
    build->fan_in = build->fan_out = 1;
    for (int i = 0; i < kernel.rank; i++) {
        const bool is_output = i >= kernel.rank - num_outputs;
        *(is_output ? &build->fan_out : &build->fan_in) *= kernel.dims[i];
        if (is_output) bias.dims[i - (kernel.rank - num_outputs)] = kernel.dims[i];
    }
    liana_layer_add_weight(build, "kernel", kernel, heads->kernel_initializer, true);
    build->fan_in = build->fan_out = 0;
    if (heads->use_bias) liana_layer_add_weight(build, "bias", bias, heads->bias_initializer, true);
    build->names = outer.names;
    build->group = outer.group;
}

static int64_t last_of(const liana_shape *shape)
{
    return shape->dims[shape->rank - 1];
}

liana_status liana__heads_weights(liana_layer_build *build, const liana__heads *heads)
{
    const liana_shape *query = &build->inputs[LIANA_QUERY], *value = &build->inputs[LIANA_VALUE];
    const liana_shape *key = build->inputs[LIANA_KEY].rank ? &build->inputs[LIANA_KEY] : value;
    if (query->rank < 3) return liana__refuse_slot(build, LIANA_QUERY, "[batch, steps, features]");
    const liana_ints axes = axes_of(heads, query->rank);
    LIANA_TRY(check_axes(build, &axes, query->rank));
    LIANA_TRY(check_source(build, LIANA_VALUE, &axes));
    if (build->inputs[LIANA_KEY].rank) LIANA_TRY(check_source(build, LIANA_KEY, &axes));
    LIANA_TRY(check_mask(build, LIANA_QUERY_MASK, LIANA_QUERY));
    LIANA_TRY(check_mask(build, LIANA_VALUE_MASK, LIANA_VALUE));
    LIANA_TRY(check_mask(build, LIANA_KEY_MASK, LIANA_VALUE));
    LIANA_TRY(check_attention_mask(build, heads, &axes));
    add_part(build, heads, QUERY, liana_shape_of(last_of(query), heads->query_heads, heads->key_dim), 2);
    add_part(build, heads, KEY, liana_shape_of(last_of(key), heads->value_heads, heads->key_dim), 2);
    if (heads->use_gate) {
        add_part(build, heads, GATE, liana_shape_of(last_of(query), heads->query_heads, heads->value_dim), 2);
    }
    add_part(build, heads, VALUE, liana_shape_of(last_of(value), heads->value_heads, heads->value_dim), 2);
    liana_shape output = liana_shape_of(heads->query_heads, heads->value_dim, last_of(query));
    if (heads->output_shape.count) output.rank = 2;
    for (int64_t i = 0; i < heads->output_shape.count; i++) {
        output.dims[output.rank++] = heads->output_shape.values[i];
    }
    add_part(build, heads, OUTPUT, output, output.rank - 2);
    return build->status;
}

/* ---- masks ---- */

liana_tensor liana__expand(const liana_layer_call *call, liana_tensor x, int axis)
{
    liana_shape shape = liana_tensor_shape(x);
    if (shape.rank == LIANA_MAX_RANK) return x;
    memmove(shape.dims + axis + 1, shape.dims + axis, (size_t)(shape.rank++ - axis) * sizeof *shape.dims);
    shape.dims[axis] = 1;
    return liana_op_reshape_at(call->here, x, shape);
}

liana_tensor liana__join_masks(const liana_layer_call *call, liana_tensor a, liana_tensor b)
{
    return !a.id ? b : !b.id ? a : liana_op_logical_and_at(call->here, a, b);
}

/* The place of each row (axis 0) or column (axis 1). */
static liana_tensor places(const liana_layer_call *call, int64_t rows, int64_t columns, int axis)
{
    return liana_op_iota_at(call->here, call->inputs[0].graph, LIANA_S32, liana_shape_of(rows, columns), axis);
}

liana_tensor liana__causal_mask(const liana_layer_call *call, int64_t rows, int64_t columns)
{
    return liana_op_greater_equal_at(call->here, places(call, rows, columns, 0), places(call, rows, columns, 1));
}

static liana_tensor window_mask(const liana_layer_call *call, int64_t rows, int64_t columns, int64_t size)
{
    liana_tensor distance =
        liana_op_subtract_at(call->here, places(call, rows, columns, 0), places(call, rows, columns, 1));
    liana_tensor limit = liana_graph_scalar_at(call->here, distance.graph, LIANA_S32, (double)size);
    return liana_op_less_at(call->here, liana_op_abs_at(call->here, distance), limit);
}

/* A mask that is given, or else that of the input. */
static liana_tensor mask_of(const liana_layer_call *call, size_t given, size_t input)
{
    return call->inputs[given].id ? call->inputs[given] : call->masks[input];
}

/* Axes of 1 before the last `own`, up to a rank. */
static liana_tensor expand_to(const liana_layer_call *call, liana_tensor mask, int own, int rank)
{
    while (mask.id) {
        const int found = liana_tensor_shape(mask).rank;
        if (found >= rank || found < own) break;
        mask = liana__expand(call, mask, found - own);
    }
    return mask;
}

/* All masks together: [batch, ..., steps, other steps], with as many axes as the scores. Invalid: there are none. */
static liana_tensor scores_mask(const liana_layer_call *call, const liana__heads *heads, int num_axes, int rank)
{
    const liana_shape query = liana_tensor_shape(call->inputs[LIANA_QUERY]);
    const liana_shape value = liana_tensor_shape(call->inputs[LIANA_VALUE]);
    liana_tensor mask =
        heads->reads_query_mask ? mask_of(call, LIANA_QUERY_MASK, LIANA_QUERY) : call->masks[LIANA_QUERY];
    if (mask.id) mask = liana__expand(call, mask, liana_tensor_shape(mask).rank);
    static const size_t sources[][2] = {{LIANA_VALUE_MASK, LIANA_VALUE}, {LIANA_KEY_MASK, LIANA_KEY}};
    for (size_t i = 0; i < 2; i++) {
        liana_tensor other = mask_of(call, sources[i][0], sources[i][1]);
        if (other.id)
            mask = liana__join_masks(call, mask, liana__expand(call, other, liana_tensor_shape(other).rank - 1));
    }
    if (heads->use_causal_mask) {
        mask = liana__join_masks(call, mask, liana__causal_mask(call, query.dims[1], value.dims[1]));
    }
    if (heads->sliding_window) {
        mask = liana__join_masks(call, mask, window_mask(call, query.dims[1], value.dims[1], heads->sliding_window));
    }
    const liana_tensor given = expand_to(call, call->inputs[LIANA_ATTENTION_MASK], 2 * num_axes, rank);
    return liana__join_masks(call, expand_to(call, mask, 2 * num_axes, rank), given);
}

/* ---- the result ---- */

static liana_tensor multiply(const liana_layer_call *call, liana_tensor x, double factor)
{
    return liana_op_multiply_at(call->here, x,
                                liana_graph_scalar_at(call->here, x.graph, liana_tensor_dtype(x), factor));
}

/* The parts' weights follow one after the other. A factor of the result multiplies them, which are fewer numbers. */
static liana_tensor project(liana_layer_call *call, const liana__heads *heads, int part, const char *equation,
                            liana_tensor x, double factor)
{
    int index = 0;
    for (int i = 0; i < part; i++) index += (i != GATE || heads->use_gate) * (heads->use_bias ? 2 : 1);
    liana_tensor kernel = call->weights[index], bias = {0};
    if (heads->use_bias) bias = call->weights[index + 1];
    const bool by_weights = factor != 1 && !heads->has_activity_regularizer;
    if (by_weights) kernel = multiply(call, kernel, factor);
    if (by_weights && bias.id) bias = multiply(call, bias, factor);
    liana_tensor result = liana_einsum_at(call->here, equation, (liana_tensor[]){x, kernel}, 2);
    if (bias.id) result = liana_op_add_at(call->here, result, bias);
    if (part == GATE) result = liana_op_logistic_at(call->here, result);
    call->activities[call->num_activities++] = result;
    return factor != 1 && !by_weights ? multiply(call, result, factor) : result;
}

/* The notation of the products: axes of the query are a, b, ...; those of attention of the value follow behind. */
typedef struct notation {
    char query[LIANA_MAX_RANK + 1], value[LIANA_MAX_RANK + 1], scores[LIANA_MAX_RANK + 1];
} notation;

/* `rank` is that of the query with its heads. A group of heads that share a value is an axis of its own, before the
 * last one. */
static notation make_notation(int rank, const liana_ints *axes, bool has_groups)
{
    notation to = {.query = ""};
    int letters = rank + has_groups, at_value = 0, at_scores = 0;
    for (int i = 0; i < letters; i++) to.query[i] = (char)('a' + i);
    for (int i = 0; i < letters; i++) {
        const bool is_group = has_groups && i == letters - 2;
        if (!is_group) to.value[at_value++] = (char)(is_among(axes, i) ? 'A' + i : 'a' + i);
        if (!is_among(axes, i) && i < letters - 1) to.scores[at_scores++] = (char)('a' + i);
    }
    for (int64_t i = 0; i < axes->count; i++) to.scores[at_scores++] = (char)('a' + axes->values[i]);
    for (int64_t i = 0; i < axes->count; i++) to.scores[at_scores++] = (char)('A' + axes->values[i]);
    return to;
}

/* Over all axes of the value at once. */
static liana_tensor softmax(const liana_layer_call *call, liana_tensor scores, int64_t num_axes)
{
    const liana_shape shape = liana_tensor_shape(scores);
    if (num_axes == 1) return liana_op_softmax_at(call->here, scores);
    liana_shape flat = {.rank = shape.rank - (int)num_axes + 1};
    for (int i = 0; i < flat.rank - 1; i++) flat.dims[i] = shape.dims[i];
    flat.dims[flat.rank - 1] = -1;
    scores = liana_op_softmax_at(call->here, liana_op_reshape_at(call->here, scores, flat));
    return liana_op_reshape_at(call->here, scores, shape);
}

/* As Keras: without dropout and scores of its own a row that is masked whole reads all steps alike, else none. */
static liana_tensor weigh(liana_layer_call *call, const liana__heads *heads, liana_tensor scores, int64_t num_axes,
                          bool is_plain)
{
    const liana_shape shape = liana_tensor_shape(scores);
    const liana_dtype dtype = liana_tensor_dtype(scores);
    const int rank = shape.rank - (heads->query_heads != heads->value_heads);
    liana_tensor mask = scores_mask(call, heads, (int)num_axes, rank);
    if (mask.id && rank < shape.rank) {
        const liana_shape own = liana_tensor_shape(mask);
        const int at = own.rank - 2 * (int)num_axes;
        liana_shape split = own;
        split.rank = own.rank + 1;
        for (int i = at; i < own.rank; i++) split.dims[i + 1] = own.dims[i];
        const bool by_head = own.dims[at - 1] > 1;
        split.dims[at - 1] = by_head ? shape.dims[at - 1] : 1;
        split.dims[at] = by_head ? shape.dims[at] : 1;
        mask = liana_op_reshape_at(call->here, mask, split);
    }
    if (mask.id) {
        liana_tensor low = liana_graph_scalar_at(call->here, scores.graph, dtype, -1e9);
        scores = liana_op_select_at(call->here, mask, scores, low);
    }
    scores = softmax(call, scores, num_axes);
    if (!mask.id || is_plain) return scores;
    return liana_op_select_at(call->here, mask, scores, liana_graph_scalar_at(call->here, scores.graph, dtype, 0));
}

static liana_tensor with_groups(const liana_layer_call *call, const liana__heads *heads, liana_tensor x, bool split)
{
    liana_shape shape = liana_tensor_shape(x);
    const int last = shape.rank - 1;
    if (split) {
        shape.dims[last + 1] = shape.dims[last];
        shape.dims[last - 1] = heads->value_heads;
        shape.dims[last] = heads->query_heads / heads->value_heads;
        shape.rank++;
    } else {
        shape.dims[last - 2] = heads->query_heads;
        shape.dims[last - 1] = shape.dims[last];
        shape.rank--;
    }
    return liana_op_reshape_at(call->here, x, shape);
}

/* Scores as the user sees them: one axis of heads. */
static liana_tensor plain_scores(const liana_layer_call *call, const liana__heads *heads, liana_tensor scores)
{
    liana_shape shape = liana_tensor_shape(scores);
    if (heads->query_heads == heads->value_heads) return scores;
    return liana_op_reshape_at(call->here, scores,
                               liana_shape_of(shape.dims[0], heads->query_heads, shape.dims[3], shape.dims[4]));
}

static liana_tensor attend(liana_layer_call *call, const liana__heads *heads, liana_tensor query, liana_tensor key,
                           liana_tensor value, const liana_ints *axes)
{
    char equation[4 * LIANA_MAX_RANK];
    const int rank = liana_tensor_shape(query).rank;
    const bool has_groups = heads->query_heads != heads->value_heads;
    const notation in = make_notation(rank, axes, has_groups);
    if (has_groups) query = with_groups(call, heads, query, true);
    snprintf(equation, sizeof equation, "%s,%s->%s", in.query, in.value, in.scores);
    liana_tensor scores = liana_einsum_at(call->here, equation, (liana_tensor[]){query, key}, 2);
    const bool is_plain = heads->dropout == 0 && !heads->return_attention_scores && rank == 4;
    scores = weigh(call, heads, scores, axes->count, is_plain);
    if (heads->return_attention_scores) call->more[call->num_more++] = plain_scores(call, heads, scores);
    if (heads->dropout > 0 && call->training) {
        scores = liana_op_dropout_at(call->here, scores, call->positions, heads->dropout, call->seed, call->salt);
    }
    snprintf(equation, sizeof equation, "%s,%s->%s", in.scores, in.value, in.query);
    liana_tensor result = liana_einsum_at(call->here, equation, (liana_tensor[]){scores, value}, 2);
    return has_groups ? with_groups(call, heads, result, false) : result;
}

liana_tensor liana__heads_call(liana_layer_call *call, const liana__heads *heads)
{
    static const char letters[] = "zuvwpqrs";
    char equation[40];
    liana_tensor query = call->inputs[LIANA_QUERY], value = call->inputs[LIANA_VALUE];
    liana_tensor key = call->inputs[LIANA_KEY].id ? call->inputs[LIANA_KEY] : value;
    const liana_ints axes = axes_of(heads, liana_tensor_shape(query).rank);
    const liana_tensor projected =
        project(call, heads, QUERY, "...x,xyz->...yz", query, 1 / sqrt((double)heads->key_dim));
    key = project(call, heads, KEY, "...x,xyz->...yz", key, 1);
    const liana_tensor gate =
        heads->use_gate ? project(call, heads, GATE, "...x,xyz->...yz", query, 1) : (liana_tensor){0};
    value = project(call, heads, VALUE, "...x,xyz->...yz", value, 1);
    liana_tensor result = attend(call, heads, projected, key, value, &axes);
    if (heads->use_gate) result = liana_op_multiply_at(call->here, result, gate);
    const int count = heads->output_shape.count ? (int)heads->output_shape.count : 1;
    snprintf(equation, sizeof equation, "...xy,xy%.*s->...%.*s", count, letters, count, letters);
    call->mask = call->masks[LIANA_QUERY];
    return project(call, heads, OUTPUT, equation, result, 1);
}
