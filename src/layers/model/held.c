/* The options of layers, and layers within a layer: their options, weights and graphs. */
#include "base/choice.h"
#include "base/scoped.h"
#include "ir/graph.h"
#include "layers/model.h"

#include <stdio.h>
#include <string.h>

enum { MOST_HELD_DEEP = 8, DOTTED_KEY = 256 };

/* ---- options ---- */

static bool is_held(const liana_option *row)
{
    return row->kind == LIANA_OPTION_LAYER || row->kind == LIANA_OPTION_LAYERS;
}

/* Options that are kept as they are written live as long as the model, whoever owns the values that they were read
 * from. Those of held layers are read at once. */
liana_status liana__layer_keep_values(liana_model *model, const liana_options *fields, void *options,
                                      liana__error *error)
{
    for (size_t i = 0; i < fields->count; i++) {
        const liana__value **member = (const liana__value **)((char *)options + fields->items[i].offset);
        if (fields->items[i].kind != LIANA_OPTION_VALUE || !*member) continue;
        *member = liana__value_copy(&model->arena, *member);
        if (!*member) return liana__fail_memory(error, "a layer's options");
    }
    return LIANA_OK;
}

liana_status liana__layer_read_common(const liana__value *map, const char *where, liana__arena *arena,
                                      liana__layer_common_options *common, liana__error *error)
{
    liana__value *picked = liana__value_map(arena);
    if (!picked) return liana__fail_memory(error, "a layer's options");
    for (size_t i = 0; map && map->kind == LIANA__VALUE_MAP && i < map->count; i++) {
        if (!liana__fields_find(&liana__layer_common, map->keys[i])) continue;
        liana__value_append(arena, picked, map->keys[i], &map->key_places[i], map->items[i]);
    }
    return liana__fields_read(&liana__layer_common, picked, where, NULL, arena, common, error);
}

static liana_status read_options(liana_model *model, const liana_layer_type *type, const liana__value *map,
                                 const char *where, const char *const *other_keys, int depth, void **options,
                                 liana__error *error);

static liana_status read_held(liana_model *model, const liana__value *value, const char *where, int depth,
                              liana_held_layer *held, liana__error *error)
{
    static const char *const keys[] = {"name", "trainable", "training", NULL};
    const char *class_name = NULL, *nearest = NULL;
    const liana__place *place = NULL;
    const liana__value *map = NULL;
    char key[DOTTED_KEY], snake[96];
    LIANA_TRY(
        liana__choice_entry(value, where, "one layer, such as LSTM: {units: 8}", &class_name, &place, &map, error));
    held->type = liana__part_find(model->context, &liana__layer_kind, class_name, &nearest);
    if (!held->type || !held->type->call) {
        const bool is_model = strcmp(class_name, "Sequential") == 0 || strcmp(class_name, "Functional") == 0;
        return liana__fail_at(error, place, where, "there is no layer class '%.60s' that another layer may hold%s",
                              class_name,
                              is_model ? "; hold the layers of a model each by itself" : liana__hint(nearest).text);
    }
    if (depth == MOST_HELD_DEEP) {
        return liana__fail_at(error, place, where, "layers hold layers more than %d deep", MOST_HELD_DEEP);
    }
    snprintf(key, sizeof key, "%.180s.%.60s", where, class_name);
    liana__layer_common_options common;
    LIANA_TRY(liana__layer_read_common(map, key, &model->arena, &common, error));
    liana__snake_case(held->type->part.name, snake, sizeof snake);
    held->name = liana__arena_string(&model->arena, common.name ? common.name : snake);
    held->layer_class = held->type->part.name;
    held->frozen = !common.trainable;
    held->inference = !common.training;
    if (!held->name) return liana__fail_memory(error, "a model");
    void *options = NULL;
    LIANA_TRY(read_options(model, held->type, map, key, keys, depth + 1, &options, error));
    held->options = options;
    held->value = liana__value_copy(&model->arena, value);
    return held->value ? LIANA_OK : liana__fail_memory(error, "a model");
}

static bool has_name_before(const liana_held_layers *list, size_t index, const char *name)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(list->items[i].name, name) == 0) return true;
    }
    return false;
}

/* Keras numbers the names of a list's layers: lstm_cell, lstm_cell_1. Names that differ stay as they are. */
static liana_status number_name(liana_model *model, liana_held_layers *list, size_t index, liana__error *error)
{
    liana_held_layer *item = &list->items[index];
    const char *given = item->name;
    for (size_t number = 1; has_name_before(list, index, item->name); number++) {
        item->name = liana__arena_format(&model->arena, "%s_%zu", given, number);
        if (!item->name) return liana__fail_memory(error, "a model");
    }
    return LIANA_OK;
}

static liana_status read_list(liana_model *model, liana_held_layers *list, const char *where, int depth,
                              liana__error *error)
{
    const liana__value *value = list->value;
    char key[DOTTED_KEY];
    if (value->kind != LIANA__VALUE_LIST || value->count == 0 || value->count > LIANA_MAX_HELD_LAYERS) {
        char found[128];
        return liana__fail_at(error, &value->place, where, "found %s, expected a list of 1 to %d layers",
                              liana__value_describe(value, found, sizeof found), LIANA_MAX_HELD_LAYERS);
    }
    for (; list->count < value->count; list->count++) {
        const size_t index = list->count;
        snprintf(key, sizeof key, "%.200s[%zu]", where, index);
        LIANA_TRY(read_held(model, value->items[index], key, depth, &list->items[index], error));
        LIANA_TRY(number_name(model, list, index, error));
    }
    list->value = liana__value_copy(&model->arena, value);
    return list->value ? LIANA_OK : liana__fail_memory(error, "a model");
}

static liana_status read_all_held(liana_model *model, const liana_options *fields, void *options, const char *where,
                                  int depth, liana__error *error)
{
    for (size_t i = 0; i < fields->count; i++) {
        const liana_option *row = &fields->items[i];
        void *member = (char *)options + row->offset;
        char key[DOTTED_KEY];
        if (!is_held(row) || !*(const liana__value **)member) continue;
        snprintf(key, sizeof key, "%.180s.%.60s", where, row->name);
        if (row->kind == LIANA_OPTION_LAYERS) {
            LIANA_TRY(read_list(model, member, key, depth, error));
        } else {
            LIANA_TRY(read_held(model, ((liana_held_layer *)member)->value, key, depth, member, error));
        }
    }
    return LIANA_OK;
}

static liana_status read_options(liana_model *model, const liana_layer_type *type, const liana__value *map,
                                 const char *where, const char *const *other_keys, int depth, void **options,
                                 liana__error *error)
{
    const liana_options *fields = &type->part.options;
    void *made = liana__arena_allocate(&model->arena, fields->size);
    if (!made) return liana__fail_memory(error, "a model");
    LIANA_TRY(liana__fields_read(fields, map, where, other_keys, &model->arena, made, error));
    LIANA_TRY(liana__layer_keep_values(model, fields, made, error));
    if (type->complete) type->complete(&model->arena, made);
    if (model->arena.failed) return liana__fail_memory(error, "a model");
    LIANA_TRY(read_all_held(model, fields, made, where, depth, error));
    liana_check check = {.context = model->context, .options = made, .map = map, .where = where, .error = error};
    LIANA_TRY(liana__check_named_parts(&check, fields));
    *options = made;
    return type->part.check ? type->part.check(&check) : LIANA_OK;
}

liana_status liana__layer_read_options(liana_model *model, const liana_layer_type *type, const liana__value *map,
                                       const char *where, const char *const *other_keys, void **options,
                                       liana__error *error)
{
    return read_options(model, type, map, where, other_keys, 0, options, error);
}

/* ---- a program's struct ---- */

/* How every struct of options begins. */
typedef struct common_options {
    LIANA_LAYER_OPTIONS;
} common_options;

_Static_assert(sizeof(liana_padding) == sizeof(int), "tables of fields keep an enum as an int");

/* A pair or a triple of which only the first number was given takes it for all. Refuses values that no table can read:
 * an enum outside its names, a list with more numbers than it can hold. */
static liana_status complete_member(const liana_option *field, void *member, liana__error *error)
{
    const size_t num_ints = liana__field_num_ints(field->kind);
    if (num_ints) {
        int64_t *ints = member;
        bool alone = true;
        for (size_t i = 1; i < num_ints; i++) alone = alone && ints[i] == 0;
        for (size_t i = 1; i < num_ints && alone; i++) ints[i] = ints[0];
    } else if (field->kind == LIANA_OPTION_ENUM) {
        int count = 0, index = *(int *)member;
        while (field->names[count]) count++;
        if (index < 0 || index >= count) {
            return liana__fail(error, LIANA_INVALID_CONFIG, "%s: found the number %d, expected one from 0 to %d",
                               field->name, index, count - 1);
        }
    } else if (field->kind == LIANA_OPTION_INTS) {
        int64_t count = ((liana_ints *)member)->count;
        if (count < 0 || count > LIANA_MAX_INTS) {
            return liana__fail(error, LIANA_INVALID_CONFIG, "%s: found %lld numbers, expected at most %d", field->name,
                               (long long)count, LIANA_MAX_INTS);
        }
    }
    return LIANA_OK;
}

liana_status liana__options_to_map(const liana_options *fields, const void *options, liana__arena *arena,
                                   const liana__value **map, liana__error *error)
{
    char *copy = liana__arena_copy(arena, options, fields->size);
    if (!copy) return liana__fail_memory(error, "options");
    for (size_t i = 0; i < fields->count; i++) {
        LIANA_TRY(complete_member(&fields->items[i], copy + fields->items[i].offset, error));
    }
    *map = liana__fields_write(fields, arena, copy);
    return *map && !arena->failed ? LIANA_OK : liana__fail_memory(error, "options");
}

/* {LSTM: {name: left, units: 8}} */
static liana_status held_to_value(const liana_context *context, const liana_held_layer *held, int depth,
                                  liana__arena *arena, liana__value **value, liana__error *error);

static liana_status set_all(const liana_context *context, const liana_layer_type *type, const void *options, int depth,
                            liana__arena *arena, liana__value *map, liana__error *error)
{
    for (size_t i = 0; i < type->part.options.count; i++) {
        const liana_option *row = &type->part.options.items[i];
        const void *member = (const char *)options + row->offset;
        liana__value *value = NULL;
        if (row->kind == LIANA_OPTION_LAYER && ((const liana_held_layer *)member)->layer_class) {
            LIANA_TRY(held_to_value(context, member, depth, arena, &value, error));
        } else if (row->kind == LIANA_OPTION_LAYERS) {
            const liana_held_layers *list = member;
            value = liana__value_list(arena);
            for (size_t k = 0; value && k < LIANA_MAX_HELD_LAYERS && list->items[k].layer_class; k++) {
                liana__value *item;
                LIANA_TRY(held_to_value(context, &list->items[k], depth, arena, &item, error));
                liana__value_add(arena, value, item);
            }
        }
        if (value) liana__value_set(arena, map, row->name, value);
    }
    return arena->failed ? liana__fail_memory(error, "options") : LIANA_OK;
}

static liana_status held_to_value(const liana_context *context, const liana_held_layer *held, int depth,
                                  liana__arena *arena, liana__value **value, liana__error *error)
{
    const char *nearest = NULL;
    const liana_layer_type *type = liana__part_find(context, &liana__layer_kind, held->layer_class, &nearest);
    if (!type || !held->options || depth == MOST_HELD_DEEP) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the held layer of class '%.60s' %s%s", held->layer_class,
                           !type           ? "does not exist"
                           : held->options ? "is too deep in others"
                                           : "has no options",
                           type ? "" : liana__hint(nearest).text);
    }
    const common_options *common = held->options;
    const liana__value *made;
    LIANA_TRY(liana__options_to_map(&type->part.options, held->options, arena, &made, error));
    liana__value *map = (liana__value *)(uintptr_t)made;
    LIANA_TRY(set_all(context, type, held->options, depth + 1, arena, map, error));
    if (common->name) liana__value_set(arena, map, "name", liana__value_string(arena, common->name));
    if (!common->trainable) liana__value_set(arena, map, "trainable", liana__value_bool(arena, false));
    if (!common->training) liana__value_set(arena, map, "training", liana__value_bool(arena, false));
    *value = liana__value_map(arena);
    if (*value) liana__value_set(arena, *value, type->part.name, map);
    return arena->failed ? liana__fail_memory(error, "options") : LIANA_OK;
}

liana_status liana__held_to_map(const liana_context *context, const liana_layer_type *type, const void *options,
                                liana__arena *arena, liana__value *map, liana__error *error)
{
    return set_all(context, type, options, 0, arena, map, error);
}

/* ---- weights ---- */

static size_t weights_so_far(const liana_layer_build *build)
{
    return build->is_reuse ? build->checked : build->model->layers[build->layer].num_weights;
}

liana_status liana__layer_build_within(liana_layer_build *build, const char *name, const char *group)
{
    liana__arena *arena = &build->model->arena;
    build->names = liana__arena_format(arena, "%s%s/", build->names, name);
    build->group = liana__arena_format(arena, "%s%s%s", build->group, *build->group ? "/" : "", group);
    if (build->names && build->group) return LIANA_OK;
    return build->status = liana__fail_memory(build->error, "a model");
}

void liana__layer_forget_ones(liana_layer_build *build)
{
    if (build->status == LIANA_OK && !build->is_reuse) {
        build->model->weights[build->model->num_weights - 1].has_forget_ones = true;
    }
}

void liana__layer_begin_with(liana_layer_build *build, const float *values)
{
    if (build->status == LIANA_OK && !build->is_reuse) {
        build->model->weights[build->model->num_weights - 1].begin = values;
    }
}

const char *liana__held_group(liana_layer_build *build, const liana_held_layers *list, const char *attribute,
                              size_t index)
{
    char snake[96];
    size_t before = 0;
    for (size_t i = 0; i < index; i++) before += list->items[i].type == list->items[index].type;
    liana__snake_case(list->items[index].type->part.name, snake, sizeof snake);
    liana__arena *arena = &build->model->arena;
    const char *group = before ? liana__arena_format(arena, "%s/%s_%zu", attribute, snake, before)
                               : liana__arena_format(arena, "%s/%s", attribute, snake);
    if (!group) build->status = liana__fail_memory(build->error, "a model");
    return group;
}

liana_status liana_layer_build_held(liana_layer_build *build, const liana_held_layer *held, const char *group,
                                    const liana_shape *inputs, size_t num_inputs)
{
    if (!build) return LIANA_INVALID_ARGUMENT;
    const char *missing = !held ? "held" : !group ? "group" : !inputs ? "inputs" : NULL;
    if (missing) {
        return build->status =
                   liana__fail(build->error, LIANA_INVALID_ARGUMENT, "liana_layer_build_held: '%s' is NULL", missing);
    }
    if (!held->type || build->status != LIANA_OK) return build->status;
    const liana_layer_build outer = *build;
    liana_held_layer *own = (liana_held_layer *)(uintptr_t)held;
    const liana_layer_type *type = held->type;
    if (num_inputs < type->min_inputs || num_inputs > type->max_inputs) {
        return build->status = liana__fail(build->error, LIANA_INVALID_CONFIG,
                                           "it holds a %s, which takes %zu inputs or more; found %zu", type->part.name,
                                           type->min_inputs, num_inputs);
    }
    LIANA_TRY(liana__layer_build_within(build, held->name, group));
    liana_shape given[LIANA_MAX_LAYER_INPUTS] = {{0}};
    for (size_t i = 0; i < num_inputs; i++) given[i] = inputs[i];
    own->first_weight = weights_so_far(build) - outer.base;
    build->held = held;
    build->type = type;
    build->options = held->options;
    build->inputs = given;
    build->num_inputs = liana__layer_num_slots(type, num_inputs);
    build->place = build->regularizer = build->constraint = NULL;
    build->base = weights_so_far(build);
    liana_status status = type->weights ? type->weights(build) : LIANA_OK;
    own->num_weights = weights_so_far(build) - build->base;
    if (status == LIANA_OK) status = build->status;
    if (status != LIANA_OK) liana__fail_within(build->error, "its layer '%s' (%s)", held->name, type->part.name);
    const size_t checked = build->checked;
    *build = outer;
    build->checked = checked;
    build->status = status;
    return status;
}

/* ---- the graph ---- */

/* Mixes the bits, so that layers that hold layers that hold layers draw otherwise too (Steele et al. 2014). */
uint64_t liana__held_seed(uint64_t seed, size_t number)
{
    if (number == 0) return seed;
    uint64_t bits = seed + (uint64_t)number * 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
}

void liana__join_averages(liana_location here, liana_tensor *statistic, double *momentum, liana_tensor later,
                          double later_momentum)
{
    const double m = later_momentum, before = *momentum, share = 1 - before * m > 0 ? (1 - m) / (1 - before * m) : 0.5;
    liana_tensor first = *statistic;
    const liana_dtype dtype = liana_tensor_dtype(first);
    first = liana_op_multiply_at(here, first, liana_graph_scalar_at(here, first.graph, dtype, 1 - share));
    later = liana_op_multiply_at(here, later, liana_graph_scalar_at(here, first.graph, dtype, share));
    *statistic = liana_op_add_at(here, first, later);
    *momentum = before * m;
}

/* An update follows the one that an earlier call of the held layer made, if there is one. */
static void add_update(liana_layer_call *call, const liana_layer_update *later)
{
    size_t place = 0;
    while (place < call->num_updates && call->updates[place].weight != later->weight) place++;
    if (place == call->num_updates) {
        if (place < LIANA_MAX_LAYER_UPDATES) call->updates[place] = *later;
        call->num_updates++;
        return;
    }
    liana_layer_update *update = &call->updates[place];
    liana__join_averages(call->here, &update->statistic, &update->momentum, later->statistic, later->momentum);
}

void liana__held_keep_states(liana_layer_call *call, const liana_held_layer *held, const liana_layer_call *own)
{
    for (size_t i = 0; i < own->num_states; i++) {
        const size_t weight = held->first_weight + own->states[i].weight;
        size_t place = 0;
        while (place < call->num_states && call->states[place].weight != weight) place++;
        if (place == LIANA_MAX_MORE_RESULTS) return;
        call->states[place] = (liana_layer_state){weight, own->states[i].value};
        call->num_states += place == call->num_states;
    }
}

/* The weights of a held layer, with the states that its call before this one left: as in Keras, gradients end there. */
static const liana_tensor *weights_now(const liana_layer_call *call, const liana_held_layer *held,
                                       liana_tensor weights[LIANA_MAX_LAYER_WEIGHTS])
{
    if (!call->num_states || !call->weights || held->num_weights > LIANA_MAX_LAYER_WEIGHTS) {
        return call->weights + held->first_weight;
    }
    for (size_t i = 0; i < held->num_weights; i++) weights[i] = call->weights[held->first_weight + i];
    for (size_t i = 0; i < call->num_states; i++) {
        const size_t weight = call->states[i].weight - held->first_weight; /* wraps round if it is another layer's */
        if (weight < held->num_weights) weights[weight] = liana_op_stop_gradient_at(call->here, call->states[i].value);
    }
    return weights;
}

liana_layer_call liana__held_open(const liana_layer_call *call, const liana_held_layer *held, size_t number)
{
    liana_layer_call own = *call;
    own.options = held->options;
    own.weights = call->weights + held->first_weight;
    own.num_weights = held->num_weights;
    own.declared = call->declared ? call->declared + held->first_weight : NULL;
    own.training = call->training && !held->inference;
    own.trainable = call->trainable && !held->frozen;
    own.seed = liana__held_seed(call->seed, number);
    own.type = held->type;
    own.num_updates = own.num_more = own.num_activities = own.num_states = 0;
    own.mask = own.logits = (liana_tensor){0};
    own.logits_kind = LIANA_LOGITS_NONE;
    return own;
}

liana_tensor liana_layer_call_held(liana_layer_call *call, const liana_held_layer *held, size_t number,
                                   const liana_tensor *inputs, const liana_tensor *masks, size_t num_inputs,
                                   liana_tensor *mask)
{
    if (!call || !held || !held->type || !inputs) return (liana_tensor){0};
    liana_layer_call own = liana__held_open(call, held, number);
    liana_tensor given[LIANA_MAX_LAYER_INPUTS] = {{0}}, given_masks[LIANA_MAX_LAYER_INPUTS] = {{0}};
    for (size_t i = 0; i < num_inputs; i++) {
        given[i] = inputs[i];
        if (masks) given_masks[i] = masks[i];
    }
    liana_tensor weights[LIANA_MAX_LAYER_WEIGHTS];
    own.weights = weights_now(call, held, weights);
    own.inputs = given;
    own.masks = given_masks;
    own.num_inputs = liana__layer_num_slots(held->type, num_inputs);
    const liana_tensor result = liana__layer_invoke(held->type, &own);
    for (size_t i = 0; i < own.num_updates && i < LIANA_MAX_LAYER_UPDATES; i++) {
        liana_layer_update update = own.updates[i];
        update.weight += held->first_weight;
        update.mean += held->first_weight;
        add_update(call, &update);
    }
    liana__held_keep_states(call, held, &own);
    if (mask) *mask = own.mask;
    return result;
}

void liana__held_penalty(liana_layer_call *call, const liana_held_layer *held, liana_tensor result)
{
    liana_graph *graph = result.graph;
    const liana__layer layer = {.type = held->type, .options = (void *)(uintptr_t)held->options};
    const char *text = liana__layer_option_text(&layer, "activity_regularizer");
    liana__regularizer regularizer;
    liana__error error = {0};
    if (!text || !graph || graph->status != LIANA_OK) return;
    const liana_status status = liana__regularizer_read(graph->context, text, &graph->arena, &regularizer, &error);
    if (status != LIANA_OK) {
        liana__graph_fail(graph, call->here, status, "activity_regularizer: %s", error.message);
        return;
    }
    const liana_tensor penalties = liana__regularizer_by_example(&regularizer, result);
    call->penalties = call->penalties.id ? liana_op_add_at(call->here, call->penalties, penalties) : penalties;
}
