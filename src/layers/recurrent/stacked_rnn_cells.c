/* StackedRNNCells: cells one after the other, for an RNN. */
#include "layers/recurrent/rnn.h"

#include "layers/model.h"

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_stacked_rnn_cells_options, cells, LAYERS, .required = true,
                     .doc = "the cells, such as [LSTMCell: {units: 8}, GRUCell: {units: 4}]"),
};

static liana_status check_options(liana_check *check)
{
    const liana_stacked_rnn_cells_options *chosen = check->options;
    size_t num_states = 0;
    for (size_t i = 0; i < chosen->cells.count; i++) {
        const liana_held_layer *cell = &chosen->cells.items[i];
        if (!cell->type->cell) {
            return liana_option_refuse(check, "cells", "found a layer %s, expected cells, such as LSTMCell",
                                       cell->type->part.name);
        }
        num_states += cell->type->cell->num_states(cell->options);
    }
    if (num_states < LIANA_MAX_LAYER_INPUTS) return LIANA_OK;
    return liana_option_refuse(check, "cells", "found cells with %zu states, expected at most %d", num_states,
                               LIANA_MAX_LAYER_INPUTS - 1);
}

static size_t num_states(const void *options)
{
    const liana_stacked_rnn_cells_options *chosen = options;
    size_t count = 0;
    for (size_t i = 0; i < chosen->cells.count; i++) {
        count += chosen->cells.items[i].type->cell->num_states(chosen->cells.items[i].options);
    }
    return count;
}

/* The first state of a cell has the shape of its output, which is the next one's input. */
static liana_shape state_shape(const void *options, size_t index, const liana_shape *x)
{
    const liana_stacked_rnn_cells_options *chosen = options;
    liana_shape input = *x;
    for (size_t i = 0; i < chosen->cells.count; i++) {
        const liana_held_layer *held = &chosen->cells.items[i];
        const size_t count = held->type->cell->num_states(held->options);
        if (index < count) return held->type->cell->state_shape(held->options, index, &input);
        index -= count;
        input = held->type->cell->state_shape(held->options, 0, &input);
    }
    return input;
}

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_stacked_rnn_cells_options *chosen = build->options;
    liana_shape shapes[1 + LIANA__MOST_STATES] = {build->inputs[0]};
    for (size_t i = 0; i < chosen->cells.count; i++) {
        const liana_held_layer *held = &chosen->cells.items[i];
        const liana__cell_type *cell = held->type->cell;
        const size_t count = cell->num_states(held->options);
        for (size_t k = 0; k < count; k++) shapes[k + 1] = cell->state_shape(held->options, k, &shapes[0]);
        const char *group = liana__held_group(build, &chosen->cells, "cells", i);
        if (!group) return build->status;
        LIANA_TRY(liana_layer_build_held(build, held, group, shapes, count + 1));
        shapes[0] = cell->state_shape(held->options, 0, &shapes[0]);
    }
    return build->status;
}

/* Each cell takes all steps before the next one does. Steps that a mask leaves out change no state, so the outputs of
 * those do not matter within. */
static void go(liana__cell_run *run, liana__sequence *sequence)
{
    const liana_stacked_rnn_cells_options *chosen = run->options;
    liana__sequence own = *sequence;
    for (size_t i = 0; i < chosen->cells.count; i++) {
        const liana_held_layer *held = &chosen->cells.items[i];
        liana__cell_run inner = liana__cell_run_held(run, held, i + 1);
        const bool is_last = i + 1 == chosen->cells.count;
        own.wants_all = !is_last || sequence->wants_all;
        own.flips_all = is_last ? sequence->flips_all : sequence->backwards; /* the next one begins there too */
        own.last = own.all = (liana_tensor){0};
        liana__cell_go(&inner, &own);
        own.states += held->type->cell->num_states(held->options);
        own.x = own.all;
        if (!is_last && !own.x.id) return;
    }
    sequence->last = own.last;
    sequence->all = own.all;
}

static const liana__cell_type cell = {.num_states = num_states, .state_shape = state_shape, .go = go};

#define STATES_5 "states", "states", "states", "states", "states"
static const char *const arguments[] = {"inputs", STATES_5, STATES_5, STATES_5, NULL};

const liana_layer_type liana__layer_stacked_rnn_cells = {
    LIANA_PART(LAYER, liana_layer_type, "StackedRNNCells", "cells one after the other, for an RNN",
               LIANA_PART_OPTIONS(liana_stacked_rnn_cells_options, rows), .check = check_options),
    LIANA__INPUTS(2, LIANA_MAX_LAYER_INPUTS),
    .reads_training = true,
    .weights = declare_weights,
    .call = liana__cell_call,
    .arguments = arguments,
    .cell = &cell,
};
