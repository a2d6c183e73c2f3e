/* Keeps the state of an optimizer on the host. */
#include "train/checkpoint/optimizer_state.h"

#include "base/file.h"
#include "base/format.h"
#include "base/scoped.h"
#include "base/value_read.h"
#include "distribute/cluster/held.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "ir/shape.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/keras_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 512 };

void liana__optimizer_state_free(liana__optimizer_state *state)
{
    for (size_t i = 0; state->values && i < state->num_weights * state->num_slots; i++) free(state->values[i]);
    liana__arena_free(&state->arena);
    *state = (liana__optimizer_state){0};
}

liana__update_rule liana__optimizer_state_rule(const liana__optimizer_state *state)
{
    const liana__optimizer_choice *choice = &state->choice;
    return (liana__update_rule){choice->optimizer, choice->options, choice->learning_rate.schedule->adapt != NULL};
}

double liana__optimizer_state_rate(const liana__optimizer_state *state)
{
    const liana_learning_rate *rate = &state->choice.learning_rate;
    const liana_schedule_common *common = rate->options;
    if (rate->schedule != &liana__schedule_Constant) return NAN;
    if (!isnan(state->learning_rate)) return state->learning_rate;
    return isnan(common->initial_learning_rate) ? rate->default_learning_rate : common->initial_learning_rate;
}

static liana_status list_weights(const liana_model *model, liana__optimizer_state *state, liana__error *error)
{
    size_t *list;
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA_TRY(liana__keras_trained_weights(model, &arena, &list, &state->num_weights, error));
    state->weights = liana__arena_allocate(&state->arena, (state->num_weights + 1) * sizeof *state->weights);
    state->shapes = liana__arena_allocate(&state->arena, (state->num_weights + 1) * sizeof *state->shapes);
    for (size_t i = 0; state->weights && state->shapes && i < state->num_weights; i++) {
        state->weights[i] = liana__arena_string(&state->arena, model->weights[list[i]].name);
        state->shapes[i] = model->weights[list[i]].shape;
    }
    return state->arena.failed ? liana__fail_memory(error, "the optimizer's state") : LIANA_OK;
}

liana_status liana__optimizer_state_create(const liana_model *model, const liana__value *optimizer, const char *path,
                                           liana__optimizer_state *state, liana__error *error)
{
    liana__arena *arena = &state->arena;
    *state = (liana__optimizer_state){.learning_rate = NAN};
    state->path = liana__arena_string(arena, path);
    liana__value *own = liana__value_copy(arena, optimizer);
    if (own && own->kind == LIANA__VALUE_STRING) {
        liana__value *map = liana__value_map(arena);
        liana__value_set(arena, map, "name", own);
        own = map;
    }
    if (arena->failed) return liana__fail_memory(error, "the optimizer's state");
    LIANA_TRY(liana__optimizer_read(model->context, own, "optimizer", arena, &state->choice, error));
    LIANA_TRY(list_weights(model, state, error));
    const liana__update_rule rule = liana__optimizer_state_rule(state);
    const size_t num_slots = liana__rule_num_slots(&rule), count = state->num_weights * num_slots;
    state->values = liana__arena_allocate(arena, (count + 1) * sizeof *state->values);
    if (!state->values) return liana__fail_memory(error, "the optimizer's state");
    state->num_slots = num_slots;
    for (size_t i = 0; i < count; i++) {
        state->values[i] = calloc(1, liana__byte_size(LIANA_F32, &state->shapes[i / num_slots]) + 1);
        if (!state->values[i]) return liana__fail_memory(error, "the optimizer's state");
    }
    state->optimizer = own;
    return LIANA_OK;
}

liana_status liana__optimizer_state_blame(liana__optimizer_state *state, const char *format, ...)
{
    char text[600];
    va_list arguments;
    if (state->fault) return LIANA_OK;
    va_start(arguments, format);
    liana__format_list(text, sizeof text, format, arguments);
    va_end(arguments);
    state->fault = liana__arena_string(&state->arena, text);
    return state->fault ? LIANA_OK : LIANA_OUT_OF_MEMORY;
}

static bool is_of(const liana__optimizer_state *state, const liana_model *model, const size_t *list, size_t count)
{
    for (size_t i = 0; i < count && count == state->num_weights; i++) {
        const liana__weight *weight = &model->weights[list[i]];
        if (strcmp(weight->name, state->weights[i]) != 0) return false;
        if (!liana_shape_equal(&weight->shape, &state->shapes[i])) return false;
    }
    return count == state->num_weights;
}

liana_status liana__optimizer_state_check(liana__optimizer_state *state, const liana_model *model, liana__error *error)
{
    size_t *list, count;
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA_TRY(liana__keras_trained_weights(model, &arena, &list, &count, error));
    if (is_of(state, model, list, count)) return LIANA_OK;
    liana_status status = liana__optimizer_state_blame(state, "the model trains other weights now");
    return status == LIANA_OK ? status : liana__fail_memory(error, "the optimizer's state");
}

/* ---- from a training, and from a checkpoint ---- */

/* A place where variables are. */
typedef struct variable_source {
    const liana__variables *variables; /* of a training; NULL: a file's */
    const liana__safetensors *file;
    bool averaged; /* weights and averages have changed places */
} variable_source;

/* *found: the source has a variable of that name and shape. */
static liana_status read_variable(const variable_source *source, const char *name, const liana_shape *shape,
                                  float *values, bool *found, liana__error *error)
{
    *found = false;
    if (source->variables) {
        const liana__variable *variable = liana__variables_find(source->variables, name);
        const liana__buffer *buffer = variable ? variable->buffer : NULL;
        *found = buffer && buffer->dtype == LIANA_F32 && liana_shape_equal(&buffer->shape, shape);
        return *found ? liana__variable_read(variable, values, error) : LIANA_OK;
    }
    const liana__safetensors_tensor *tensor = liana__safetensors_find(source->file, name);
    *found = tensor && tensor->rank == shape->rank && tensor->dtype == LIANA__SAFETENSORS_F32 &&
             memcmp(tensor->shape, shape->dims, (size_t)shape->rank * sizeof *shape->dims) == 0;
    return *found ? liana__safetensors_read_floats(source->file, tensor, values, error) : LIANA_OK;
}

/* After the end of a training the weights are the averages, and stand where a file of Keras has the averages, too. */
static liana_status read_variables(const variable_source *source, liana__optimizer_state *state, liana__error *error)
{
    const liana__update_rule rule = liana__optimizer_state_rule(state);
    const size_t average = liana__rule_keeps_averages(&rule) ? liana__rule_average_slot(&rule) : SIZE_MAX;
    for (size_t i = 0; i < state->num_weights; i++) {
        for (size_t slot = 0; slot < state->num_slots; slot++) {
            char name[NAME_SIZE];
            bool found;
            liana__rule_slot_variable(&rule, slot, state->weights[i], name, sizeof name);
            const char *own = source->averaged && slot == average ? state->weights[i] : name;
            LIANA_TRY(read_variable(source, own, &state->shapes[i], state->values[i * state->num_slots + slot], &found,
                                    error));
            if (!found)
                return liana__optimizer_state_blame(state, "the training had no '%s': it trained other weights", name);
        }
    }
    return LIANA_OK;
}

/* Of a number; Keras's schedules have no such factor. */
static liana_status take_rate(liana__optimizer_state *state, double factor)
{
    const double rate = liana__optimizer_state_rate(state);
    if (!isnan(rate)) state->learning_rate = rate * factor;
    if (!isnan(rate) || factor == 1) return LIANA_OK;
    return liana__optimizer_state_blame(
        state, "a callback has multiplied the rates of the schedule by %g, which Keras cannot say", factor);
}

liana_status liana__optimizer_state_take(const liana__training *training, liana__optimizer_state *state,
                                         liana__error *error)
{
    const variable_source source = {.variables = &training->variables, .averaged = training->state.averaged};
    for (size_t i = 0; training->cluster && i < training->variables.count; i++) {
        if (!liana__is_held(&training->variables.items[i])) continue;
        return liana__optimizer_state_blame(state, "several processes have it in slices; a checkpoint has it whole");
    }
    state->iteration = liana__training_state_applied(&training->state);
    LIANA_TRY(take_rate(state, training->state.rate_factor));
    return read_variables(&source, state, error);
}

static liana_status read_files(const char *variables, const char *state_file, liana__optimizer_state *state,
                               liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED_BY(liana__safetensors_close) liana__safetensors file = {0};
    liana__value *kept;
    LIANA_TRY(liana__json_read(state_file, &arena, &kept, error));
    LIANA_TRY(liana__safetensors_open(variables, &file, error));
    const variable_source source = {.file = &file, .averaged = liana__value_true_of(kept, "averaged")};
    state->iteration = liana__value_int_of(kept, "iteration", 0) - liana__value_int_of(kept, "taken_back", 0);
    LIANA_TRY(take_rate(state, liana__value_number_of(kept, "rate_factor", 1)));
    return read_variables(&source, state, error);
}

liana_status liana__optimizer_state_read(const char *checkpoint, liana__optimizer_state *state, liana__error *error)
{
    liana__error found = {0};
    const char *variables = liana__path_join(&state->arena, checkpoint, liana__checkpoint_variables);
    const char *kept = liana__path_join(&state->arena, checkpoint, liana__checkpoint_state);
    if (!variables || !kept) return liana__fail_memory(error, checkpoint);
    liana_status status = read_files(variables, kept, state, &found);
    if (status == LIANA_OUT_OF_MEMORY) return liana__fail_memory(error, checkpoint);
    return status == LIANA_OK ? status : liana__optimizer_state_blame(state, "%.500s", found.message);
}

/* ---- to a training ---- */

/* Files of Keras have no exclusions from weight decay. A rate may be another one from now on. */
static bool is_compared(const char *key)
{
    return strcmp(key, "exclude_from_weight_decay") != 0;
}

/* Why a training has another optimizer; NULL: it has the state's. */
static const char *find_difference(const liana__optimizer_state *state, const liana__training *training,
                                   liana__arena *arena)
{
    const liana__trainer_options *options = &training->compiled;
    const liana_optimizer_type *optimizer = state->choice.optimizer;
    char was[100], is[100];
    if (optimizer != options->optimizer) {
        return liana__arena_format(arena, "it is that of %s, and this training has %s", optimizer->part.name,
                                   options->optimizer->part.name);
    }
    const liana__value *before = liana__fields_write(&optimizer->part.options, arena, state->choice.options);
    const liana__value *now = liana__fields_write(&optimizer->part.options, arena, options->optimizer_options);
    for (size_t i = 0; before && now && i < before->count; i++) {
        const char *key = before->keys[i];
        const liana__value *own = liana__value_get(now, key);
        if (!is_compared(key) || (own && liana__value_equal(before->items[i], own))) continue;
        return liana__arena_format(arena, "it is that of %s with %s: %s, and this training has %s",
                                   optimizer->part.name, key, liana__value_describe(before->items[i], was, sizeof was),
                                   own ? liana__value_describe(own, is, sizeof is) : "none");
    }
    return NULL;
}

static size_t find_weight(const liana__optimizer_state *state, const char *name)
{
    size_t i = 0;
    while (i < state->num_weights && strcmp(state->weights[i], name) != 0) i++;
    return i;
}

/* Why a training trains other weights; NULL: it trains the state's. */
static const char *find_other_weights(const liana__optimizer_state *state, const liana__training *training,
                                      liana__arena *arena)
{
    const liana__trainer *trainer = training->trainer;
    size_t count = 0;
    for (size_t i = 0; i < trainer->num_weights; i++) {
        const liana__updated_variable *weight = &trainer->weights[i];
        if (weight->is_average) continue;
        count++;
        const size_t own = find_weight(state, weight->name);
        if (own < state->num_weights && liana_shape_equal(&state->shapes[own], &weight->shape)) continue;
        return liana__arena_format(arena, "it has nothing for '%s', which this training trains", weight->name);
    }
    if (count == state->num_weights) return NULL;
    return liana__arena_format(arena, "it is of %zu trained weights, and this training has %zu", state->num_weights,
                               count);
}

static liana_status give(const liana__optimizer_state *state, liana__training *training, liana__error *error)
{
    const liana__update_rule rule = liana__optimizer_state_rule(state);
    for (size_t i = 0; i < state->num_weights * state->num_slots; i++) {
        char name[NAME_SIZE];
        liana__rule_slot_variable(&rule, i % state->num_slots, state->weights[i / state->num_slots], name, sizeof name);
        liana__variable *variable = liana__variables_find(&training->variables, name);
        if (!variable) return liana__fail(error, LIANA_INTERNAL, "the training has no variable '%s'", name);
        LIANA_TRY(liana__variable_write(variable, state->values[i], error));
    }
    training->state.iteration = state->iteration;
    return LIANA_OK;
}

liana_status liana__optimizer_state_begin(const liana__optimizer_state *state, liana__training *training,
                                          const liana__notes *notes, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    /* Before its first update an optimizer has kept nothing: its file has no values. */
    if (!state->optimizer || (!state->fault && state->iteration == 0)) return LIANA_OK;
    const char *why = state->fault;
    if (!why && training->stages) why = "this training is in stages, each with an optimizer of its own";
    if (!why) why = find_difference(state, training, &arena);
    if (!why) why = find_other_weights(state, training, &arena);
    if (arena.failed) return liana__fail_memory(error, "the optimizer's state");
    if (why) {
        liana__note(notes, "the optimizer begins anew, without the state in '%s': %s", state->path, why);
        return LIANA_OK;
    }
    LIANA_TRY(give(state, training, error));
    liana__note(notes, "the optimizer goes on where '%s' ended: %s after %lld updates", state->path,
                state->choice.optimizer->part.name, (long long)state->iteration);
    return LIANA_OK;
}
