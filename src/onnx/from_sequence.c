/* LSTM, GRU and RNN. ONNX's sequences are [steps, batch, features], liana's [batch, steps, features]. */
#include "onnx/import_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What tells the three apart. */
typedef struct cell_kind {
    const char *op, *type;
    int gates;
    int order[4];             /* gate i of liana is gate order[i] of ONNX */
    const char *functions[3]; /* ONNX's usual ones */
} cell_kind;

static const cell_kind kinds[] = {
    {"LSTM", "LSTM", 4, {0, 2, 3, 1}, {"Sigmoid", "Tanh", "Tanh"}},
    {"GRU", "GRU", 3, {0, 1, 2}, {"Sigmoid", "Tanh", NULL}},
    {"RNN", "SimpleRNN", 1, {0}, {"Tanh", NULL, NULL}},
};

typedef struct recurrent {
    const cell_kind *kind;
    liana__import_constant *kernel, *recurrent, *bias; /* [directions, ...]; no bias: NULL */
    int64_t units, features, directions;
    bool is_backward, resets_after;
    const char *activation; /* of an RNN */
} recurrent;

static liana_status check_functions(const liana__import *own, const liana__import_node *node, recurrent *made)
{
    const Liana__Onnx__Attribute *given = liana__import_attribute(node, "activations");
    const size_t count = made->kind->functions[2] ? 3 : made->kind->functions[1] ? 2 : 1;
    made->activation = "tanh";
    for (size_t i = 0; given && i < given->n_strings; i++) {
        const ProtobufCBinaryData *name = &given->strings[i];
        const char *usual = made->kind->functions[i % count];
        const bool is_relu = made->kind->gates == 1 && name->len == 4 && memcmp(name->data, "Relu", 4) == 0;
        if (i == 0 && is_relu) made->activation = "relu";
        /* Both directions have the same. */
        if (strcmp(made->activation, "relu") == 0) usual = "Relu";
        if (name->len == strlen(usual) && memcmp(name->data, usual, name->len) == 0) continue;
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "found the activation '%.*s', expected '%s'",
                                  (int)(name->len < 40 ? name->len : 40), (const char *)name->data, usual);
    }
    return LIANA_OK;
}

static bool has_shape(const liana__import_value *value, int rank, int64_t a, int64_t b, int64_t c)
{
    const int64_t dims[] = {a, b, c};
    bool fits = liana__import_is_constant(value) && value->constant->rank == rank && value->constant->is_float;
    for (int i = 0; fits && i < rank; i++) fits = value->constant->dims[i] == dims[i];
    return fits;
}

/* Lengths of sequences may be given where all are the number of steps. */
static liana_status check_lengths(liana__import *own, liana__import_node *node, const liana__import_value *x)
{
    const liana__import_value *lengths = liana__import_input(node, 4);
    if (!lengths) return LIANA_OK;
    const int64_t steps = liana__import_size(own, x, 0);
    const int64_t *numbers = liana__import_is_constant(lengths) && !lengths->constant->is_float
                                 ? liana__import_ints(own, lengths->constant)
                                 : NULL;
    bool are_whole = numbers != NULL;
    for (int64_t i = 0; are_whole && i < lengths->constant->count; i++) are_whole = numbers[i] == steps;
    if (are_whole) return LIANA_OK;
    return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                              "input 4 ('%.100s') gives lengths of sequences, expected whole ones", lengths->name);
}

static liana_status read_weights(liana__import *own, liana__import_node *node, recurrent *made)
{
    const liana__import_word direction = liana__import_text(node, "direction", "forward");
    const liana__import_value *w = liana__import_input(node, 1), *r = liana__import_input(node, 2);
    const liana__import_value *b = liana__import_input(node, 3);
    const int64_t gates = made->kind->gates, units = liana__import_int(node, "hidden_size", 0);
    made->is_backward = strcmp(direction.text, "reverse") == 0;
    made->directions = strcmp(direction.text, "bidirectional") == 0 ? 2 : 1;
    made->units = units;
    made->resets_after = liana__import_int(node, "linear_before_reset", 0) != 0;
    const bool has_kernel = liana__import_is_constant(w) && w->constant->rank == 3;
    made->features = has_kernel ? w->constant->dims[2] : 0;
    if (units < 1 || units > 1 << 24 || !has_shape(w, 3, made->directions, gates * units, made->features) ||
        !has_shape(r, 3, made->directions, gates * units, units) ||
        (b && !has_shape(b, 2, made->directions, 2 * gates * units, 0))) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA,
                                  "its weights are no initializers [directions, %lld hidden_size, ...]",
                                  (long long)gates);
    }
    if (liana__import_attribute(node, "clip") || liana__import_int(node, "input_forget", 0) ||
        liana__import_input(node, 7)) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "clip, input_forget or peepholes");
    }
    made->kernel = w->constant;
    made->recurrent = r->constant;
    made->bias = b ? b->constant : NULL;
    return check_functions(own, node, made);
}

/* ---- values ---- */

/* ONNX's [gates units, in] as [in, gates units], with the gates in liana's order. */
static void move_gates(const recurrent *own, const float *from, int64_t in, float *to)
{
    const int64_t units = own->units, width = own->kind->gates * units;
    for (int64_t gate = 0; gate < own->kind->gates; gate++) {
        const float *rows = from + own->kind->order[gate] * units * in;
        for (int64_t u = 0; u < units; u++) {
            for (int64_t i = 0; i < in; i++) to[i * width + gate * units + u] = rows[u * in + i];
        }
    }
}

/* ONNX has two biases; liana one, but a GRU that resets after the product has both. */
static void join_biases(const recurrent *own, const float *from, float *to)
{
    const int64_t units = own->units, width = own->kind->gates * units;
    const bool is_apart = own->kind->gates == 3 && own->resets_after;
    for (int64_t gate = 0; gate < own->kind->gates; gate++) {
        for (int64_t u = 0; u < units; u++) {
            const int64_t at = own->kind->order[gate] * units + u;
            to[gate * units + u] = is_apart ? from[at] : from[at] + from[width + at];
            if (is_apart) to[width + gate * units + u] = from[width + at];
        }
    }
}

static liana_status give_direction(liana__import *own, liana__import_node *node, const recurrent *made, size_t result,
                                   int64_t direction)
{
    if (own->options->without_values) return LIANA_OK;
    const int64_t width = made->kind->gates * made->units, per_direction = made->bias ? 3 : 2;
    liana__import_constant *parts[] = {made->kernel, made->recurrent, made->bias};
    for (int64_t i = 0; i < per_direction; i++) {
        const int64_t count = parts[i]->count / made->directions;
        const float *numbers = liana__import_floats(own, parts[i]);
        if (!numbers) return own->error->status;
        float *values = malloc((size_t)(count + 1) * sizeof *values);
        if (!values) return liana__fail_memory(own->error, own->path);
        numbers += direction * count;
        if (i < 2) move_gates(made, numbers, count / width, values);
        if (i == 2) join_biases(made, numbers, values);
        LIANA_TRY(liana__import_give(own, node, result, (size_t)(direction * per_direction + i), values));
    }
    return LIANA_OK;
}

/* ---- initial states ---- */

/* Initial states [directions, batch, units] that are given, and are not zeros. */
static liana__import_value *given_state(liana__import *own, const liana__import_node *node, size_t input)
{
    liana__import_value *value = liana__import_input(node, input);
    const float *numbers = liana__import_is_constant(value) && value->constant->is_float
                               ? liana__import_floats(own, value->constant)
                               : NULL;
    bool are_zeros = numbers != NULL;
    for (int64_t k = 0; are_zeros && k < value->constant->count; k++) are_zeros = numbers[k] == 0;
    return are_zeros ? NULL : value;
}

/* One direction of a state, [batch, units]. */
static liana_status state_of(liana__import *own, liana__import_node *node, const recurrent *made,
                             const liana__import_value *given, int64_t direction, size_t *result)
{
    const int order[] = {0, 1};
    liana__import_value *state;
    LIANA_TRY(liana__import_state(own, node, given, 1, &state));
    if (state->kind != LIANA__IMPORT_RESULT || state->rank != 3 || liana__import_size(own, state, 2) != made->units) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "the initial state '%.100s' is not [directions, batch, %" PRIi64
                                  "], or has other constants for each example",
                                  given->name, made->units);
    }
    LIANA_TRY(liana__import_element(own, node, state, 0, direction, &state));
    return liana__import_arrange(own, node, state, order, 2, result);
}

/* The states of all directions behind the sequences, as the layer takes them: none, or all. */
static liana_status list_states(liana__import *own, liana__import_node *node, const recurrent *made, size_t *inputs,
                                size_t *count)
{
    const size_t num_states = made->kind->gates == 4 ? 2 : 1;
    liana__import_value *given[2] = {given_state(own, node, 5), num_states > 1 ? given_state(own, node, 6) : NULL};
    if (own->error->status != LIANA_OK) return own->error->status;
    if (!given[0] && !given[1]) return LIANA_OK;
    for (int64_t d = 0; d < made->directions; d++) {
        size_t states[2] = {0, 0};
        for (size_t i = 0; i < num_states; i++) {
            if (given[i]) LIANA_TRY(state_of(own, node, made, given[i], d, &states[i]));
        }
        for (size_t i = 0; i < num_states; i++) {
            if (given[i]) continue;
            LIANA_TRY(liana__import_operation(own, node, &states[1 - i], 1, &states[i], "full_like(fill_value=0)"));
        }
        for (size_t i = 0; i < num_states; i++) inputs[(*count)++] = states[i];
    }
    return LIANA_OK;
}

/* ---- the layer ---- */

static void cell_options(const liana__import_options *options, const recurrent *made)
{
    liana__import_set_int(options, "units", made->units);
    liana__import_set_bool(options, "use_bias", made->bias != NULL);
    liana__import_set_bool(options, "return_sequences", true);
    liana__import_set_bool(options, "return_state", true);
    if (made->kind->gates == 3) liana__import_set_bool(options, "reset_after", made->resets_after);
    if (made->kind->gates == 1) liana__import_set_text(options, "activation", made->activation);
}

static liana_status add_recurrent(liana__import *own, liana__import_node *node, const recurrent *made, size_t sequences,
                                  size_t *result)
{
    const liana__import_options options = liana__import_options_new(own);
    size_t inputs[5] = {sequences}, count = 1;
    cell_options(&options, made);
    LIANA_TRY(list_states(own, node, made, inputs, &count));
    /* "rnn.weight_ih_l0" is PyTorch's; exports give these new names. */
    if (made->directions == 1) {
        if (made->is_backward) liana__import_set_bool(&options, "go_backwards", true);
        return liana__import_add(own, node, made->kind->type, NULL, &options, inputs, count, result);
    }
    const liana__import_options both = liana__import_options_new(own), held = liana__import_options_new(own);
    liana__value_set(&own->arena, held.map, made->kind->type, options.map);
    liana__value_set(&own->arena, both.map, "layer", held.map);
    return liana__import_add(own, node, "Bidirectional", NULL, &both, inputs, count, result);
}

/* The states [directions, batch, units] of one direction; of two they are joined. `first` is the state of the forward
 * direction among the layer's results, `second` that of the other. */
static liana_status set_state(liana__import *own, liana__import_node *node, const recurrent *made, size_t output,
                              size_t first, size_t second)
{
    liana__import_value *value = output < node->num_outputs ? node->outputs[output] : NULL;
    size_t result = first;
    if (!value || (!value->num_users && !value->is_output)) return LIANA_OK;
    if (made->directions == 2) {
        const size_t inputs[] = {first, second};
        LIANA_TRY(liana__import_operation(own, node, inputs, 2, &result, "stack(axis=1)"));
    }
    liana__import_set_plain(value, result, 3);
    value->axes[0] = made->directions == 2 ? (liana__import_axis){1, {1}} : (liana__import_axis){.count = 0};
    value->axes[1] = (liana__import_axis){1, {0}};
    value->axes[2] = (liana__import_axis){1, {made->directions == 2 ? 2 : 1}};
    return LIANA_OK;
}

static liana_status set_sequences(liana__import *own, liana__import_node *node, const recurrent *made, size_t result)
{
    liana__import_value *value = node->num_outputs ? node->outputs[0] : NULL;
    if (!value || (!value->num_users && !value->is_output)) return LIANA_OK;
    if (made->is_backward) {
        LIANA_TRY(liana__import_operation(own, node, &result, 1, &result, "flip(axis=1)"));
    }
    if (made->directions == 2) {
        const liana_shape *shape = liana__import_shape(own, result);
        const int64_t cut[] = {shape->dims[1], 2, made->units};
        const liana__import_options options = liana__import_options_new(own);
        liana__import_set_ints(&options, "target_shape", cut, 3);
        LIANA_TRY(liana__import_add(own, node, "Reshape", "", &options, &result, 1, &result));
    }
    const int last = made->directions == 2 ? 3 : 2;
    liana__import_set_plain(value, result, 4);
    value->axes[0] = (liana__import_axis){1, {1}};
    value->axes[1] = made->directions == 2 ? (liana__import_axis){1, {2}} : (liana__import_axis){.count = 0};
    value->axes[2] = (liana__import_axis){1, {0}};
    value->axes[3] = (liana__import_axis){1, {last}};
    return LIANA_OK;
}

static liana_status read_recurrent(liana__import *own, liana__import_node *node)
{
    recurrent made = {.kind = kinds};
    liana__import_value *x;
    size_t sequences, result;
    const int order[] = {1, 0, 2};
    while (strcmp(made.kind->op, node->op) != 0) made.kind++;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(read_weights(own, node, &made));
    if (x->rank != 3 || liana__import_int(node, "layout", 0) != 0) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "expected sequences [steps, batch, features] (layout 0)");
    }
    LIANA_TRY(check_lengths(own, node, x));
    LIANA_TRY(liana__import_arrange(own, node, x, order, 3, &sequences));
    LIANA_TRY(add_recurrent(own, node, &made, sequences, &result));
    for (int64_t i = 0; i < made.directions; i++) LIANA_TRY(give_direction(own, node, &made, result, i));
    /* The results: the sequence, then the states of each direction. */
    const size_t num_states = made.kind->gates == 4 ? 2 : 1;
    for (size_t i = 0; i < num_states; i++) {
        LIANA_TRY(set_state(own, node, &made, i + 1, result + 1 + i, result + 1 + num_states + i));
    }
    return set_sequences(own, node, &made, result);
}

const liana__import_op liana__import_sequences[] = {
    {"LSTM", read_recurrent},
    {"GRU", read_recurrent},
    {"RNN", read_recurrent},
    {0},
};
