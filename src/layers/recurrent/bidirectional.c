/* Bidirectional: a layer that goes through sequences, and one that goes the other way. */
#include "layers/recurrent/rnn.h"

#include "ir/graph.h"
#include "layers/model.h"

#include <stdio.h>
#include <string.h>

static const char *const merge_modes[] = {"concat", "sum", "mul", "ave", "none", NULL};

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_bidirectional_options, layer, LAYER, .required = true,
                     .doc = "the layer that goes from the first step to the last, such as LSTM: {units: 8}"),
    LIANA_OPTION_ROW(liana_bidirectional_options, merge_mode, ENUM, .names = merge_modes,
                     .doc = "how both results become one; none: they are two results"),
    LIANA_OPTION_ROW(liana_bidirectional_options, backward_layer, LAYER,
                     .doc = "the layer that goes the other way; default: as the first, with weights of its own"),
    LIANA__MASK_ROW(liana_bidirectional_options),
};

/* ---- options ---- */

/* The class of a held layer's value, and its options (or NULL). */
static const char *class_of(const liana__value *value, const liana__value **options)
{
    *options = NULL;
    if (value->kind == LIANA__VALUE_STRING) return value->string;
    if (value->kind != LIANA__VALUE_MAP || value->count != 1) return NULL;
    *options = value->items[0]->kind == LIANA__VALUE_MAP ? value->items[0] : NULL;
    return value->keys[0];
}

static bool is_true(const liana__value *options, const char *key)
{
    const liana__value *value = liana__value_get(options, key);
    return value && value->kind == LIANA__VALUE_BOOL && value->boolean;
}

/* The value of the layer under the name "SIDE_NAME"; NULL: it is none of one layer. */
static liana__value *name_side(liana__arena *arena, const liana__value *value, const char *side)
{
    const liana__value *options;
    const char *class_name = class_of(value, &options);
    char snake[96], name[160];
    if (!class_name) return NULL;
    liana__snake_case(class_name, snake, sizeof snake);
    const liana__value *given = liana__value_get(options, "name");
    const char *own = given && given->kind == LIANA__VALUE_STRING ? given->string : snake;
    if (strncmp(own, side, strlen(side)) == 0) own += strlen(side);
    snprintf(name, sizeof name, "%s%.100s", side, own);
    liana__value *map = liana__value_map(arena), *copy = options ? liana__value_map(arena) : liana__value_map(arena);
    if (!map || !copy) return NULL;
    map->place = value->place;
    for (size_t i = 0; options && i < options->count; i++) {
        liana__value_append(arena, copy, options->keys[i], &options->key_places[i], options->items[i]);
    }
    liana__value_set(arena, copy, "name", liana__value_string(arena, name));
    liana__value_append(arena, map, class_name, &value->place, copy);
    return arena->failed ? NULL : map;
}

/* Keras's rule for names, and the backward layer where none is given. */
static void complete(liana__arena *arena, void *options)
{
    liana_bidirectional_options *chosen = options;
    const liana__value *map;
    const char *class_name = chosen->layer.value ? class_of(chosen->layer.value, &map) : NULL;
    const liana_layer_type *type = class_name ? liana__part_find(NULL, &liana__layer_kind, class_name, NULL) : NULL;
    if (!type || !type->rnn) return;
    if (!chosen->backward_layer.value) {
        liana__value *backward = name_side(arena, chosen->layer.value, "backward_");
        if (!backward) return;
        liana__value_set(arena, backward->items[0], "go_backwards",
                         liana__value_bool(arena, !is_true(map, "go_backwards")));
        chosen->backward_layer.value = backward;
    }
    liana__value *forward = name_side(arena, chosen->layer.value, "forward_");
    if (forward) chosen->layer.value = forward;
}

static const liana__rnn_switches *switches_of(const liana_held_layer *held)
{
    return liana__rnn_switches_of(held->type->rnn, held->options);
}

static size_t num_states(const liana_held_layer *held)
{
    return liana__rnn_num_states(held->type->rnn, held->options);
}

static liana_status check_side(liana_check *check, const char *option, const liana_held_layer *held)
{
    if (held->type->rnn) return LIANA_OK;
    return liana_option_refuse(check, option, "found a layer %s, expected one that goes through steps, such as LSTM%s",
                               held->type->part.name, held->type->cell ? "; a cell goes into an RNN" : "");
}

static liana_status check_options(liana_check *check)
{
    const liana_bidirectional_options *chosen = check->options;
    LIANA_TRY(check_side(check, "layer", &chosen->layer));
    LIANA_TRY(check_side(check, "backward_layer", &chosen->backward_layer));
    const liana__rnn_switches *forward = switches_of(&chosen->layer), *backward = switches_of(&chosen->backward_layer);
    if (forward->go_backwards == backward->go_backwards) {
        return liana_option_refuse(check, "backward_layer", "both layers have go_backwards: %s, expected one of each",
                                   forward->go_backwards ? "true" : "false");
    }
    const struct {
        const char *name;
        bool first, second;
    } same[] = {{"return_sequences", forward->return_sequences, backward->return_sequences},
                {"return_state", forward->return_state, backward->return_state},
                {"stateful", forward->stateful, backward->stateful}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        if (same[i].first == same[i].second) continue;
        return liana_option_refuse(check, "backward_layer", "%s is %s, but %s in the layer; expected the same in both",
                                   same[i].name, same[i].second ? "true" : "false", same[i].first ? "true" : "false");
    }
    const size_t states = num_states(&chosen->layer) + num_states(&chosen->backward_layer);
    if (!forward->return_state || states + 1 <= LIANA_MAX_MORE_RESULTS) return LIANA_OK;
    return liana_option_refuse(check, "layer", "return_state would give %zu states, at most %d are possible", states,
                               LIANA_MAX_MORE_RESULTS - 1);
}

/* ---- weights ---- */

/* The states of the first layer, then those of the other. */
static liana_status build_side(liana_layer_build *build, const liana_held_layer *held, const char *group, size_t side,
                               size_t states)
{
    liana_shape inputs[LIANA_MAX_LAYER_INPUTS] = {build->inputs[0]};
    if (states && states != num_states(held)) {
        return build->status = liana__fail(build->error, LIANA_INVALID_CONFIG,
                                           "initial_state: found %zu states for its layer '%s' (%s), expected %zu",
                                           states, held->name, held->type->part.name, num_states(held));
    }
    for (size_t i = 0; i < states; i++) inputs[i + 1] = build->inputs[1 + side * states + i];
    return liana_layer_build_held(build, held, group, inputs, 1 + states);
}

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_bidirectional_options *chosen = build->options;
    size_t states = 0;
    for (size_t i = 1; i + 1 < build->num_inputs; i++) states += build->inputs[i].rank > 0;
    if (states % 2) {
        return build->status =
                   liana__fail(build->error, LIANA_INVALID_CONFIG,
                               "initial_state: found %zu states, expected as many for each direction", states);
    }
    LIANA_TRY(build_side(build, &chosen->layer, "forward_layer", 0, states / 2));
    return build_side(build, &chosen->backward_layer, "backward_layer", 1, states / 2);
}

/* ---- graph ---- */

/* The arguments of a held layer: its half of the states, and the mask. */
static liana_tensor call_side(liana_layer_call *call, const liana_held_layer *held, size_t side)
{
    const liana_bidirectional_options *chosen = call->options;
    static const liana_tensor no_masks[LIANA_MAX_LAYER_INPUTS];
    liana_tensor inputs[LIANA_MAX_LAYER_INPUTS] = {call->inputs[0]};
    liana_layer_call own = liana__held_open(call, held, side);
    size_t states = 0;
    for (size_t i = 1; i + 1 < call->num_inputs; i++) states += call->inputs[i].id != 0;
    for (size_t i = 0; i < states / 2; i++) inputs[i + 1] = call->inputs[1 + side * states / 2 + i];
    inputs[held->type->max_inputs - 1] = liana__rnn_mask(call, chosen->mask_with_states);
    own.inputs = inputs;
    own.masks = no_masks;
    own.num_inputs = held->type->max_inputs;
    const liana_tensor result = liana__rnn_call_side(&own, side == 1);
    liana__held_keep_states(call, held, &own);
    liana__held_penalty(call, held, result);
    for (size_t i = 0; i < own.num_more && call->num_more < LIANA_MAX_MORE_RESULTS; i++) {
        liana__held_penalty(call, held, own.more[i]);
        call->more[call->num_more++] = own.more[i];
    }
    return result;
}

static liana_tensor merge(liana_location here, liana_merge_mode mode, liana_tensor first, liana_tensor second)
{
    const liana_tensor both[] = {first, second};
    switch (mode) {
    case LIANA_MERGE_CONCAT: return liana_op_concat_at(here, both, 2, liana_tensor_shape(first).rank - 1);
    case LIANA_MERGE_MUL: return liana_op_multiply_at(here, first, second);
    case LIANA_MERGE_SUM: return liana_op_add_at(here, first, second);
    default: break;
    }
    const liana_tensor half = liana_graph_scalar_at(here, first.graph, liana_tensor_dtype(first), 0.5);
    return liana_op_multiply_at(here, liana_op_add_at(here, first, second), half);
}

/* The results: both, or the merged one; then the states of the first layer, and of the other. */
static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_bidirectional_options *chosen = call->options;
    liana_graph *graph = call->inputs[0].graph;
    const bool is_apart = chosen->merge_mode == LIANA_MERGE_NONE;
    call->num_more = is_apart;
    const liana_tensor first = call_side(call, &chosen->layer, 0), second = call_side(call, &chosen->backward_layer, 1);
    if (switches_of(&chosen->layer)->return_sequences) call->mask = liana__rnn_output_mask(call);
    if (graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    if (!is_apart) return merge(call->here, chosen->merge_mode, first, second);
    call->more[0] = second;
    return first;
}

/* Keras writes null where both results stay apart. */
static void from_keras(liana__arena *arena, const liana__value *config, liana__value *options)
{
    const liana__value *mode = liana__value_get(config, "merge_mode");
    if (!mode || mode->kind != LIANA__VALUE_NULL) return;
    liana__value_set(arena, options, "merge_mode", liana__value_string(arena, merge_modes[LIANA_MERGE_NONE]));
}

static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    if (((const liana_bidirectional_options *)options)->merge_mode != LIANA_MERGE_NONE) return;
    liana__value_set(arena, config, "merge_mode", liana__value_null(arena));
}

const liana_layer_type liana__layer_bidirectional = {
    LIANA_PART(LAYER, liana_layer_type, "Bidirectional", "a layer on sequences, and one that goes the other way",
               LIANA_PART_OPTIONS(liana_bidirectional_options, rows), .check = check_options),
    LIANA__INPUTS(1, LIANA_MAX_LAYER_INPUTS),
    .reads_training = true,
    .masking = LIANA_MASKING_OWN,
    .weights = declare_weights,
    .call = call_layer,
    .arguments = liana__rnn_arguments,
    .from_keras = from_keras,
    .to_keras = to_keras,
    .complete = complete,
};
