/* Reads stages, and sets the weights that they train. */
#include "train/training/training_stages.h"

#include "base/scoped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct stage_options {
    const char *name;
    int64_t epochs;
    bool train_all;
    const char *trainable_from;
    const liana__value *optimizer;
} stage_options;

static const liana__field rows[] = {
    LIANA__FIELD_ROW(stage_options, name, STRING, .doc = "what messages call it"),
    LIANA__FIELD_ROW(stage_options, epochs, INT, .required = true, .minimum = 1, .maximum = 1000000,
                     .doc = "how many epochs it has"),
    LIANA__FIELD_ROW(stage_options, train_all, BOOL, .default_text = "false", .doc = "whether every layer is trained"),
    LIANA__FIELD_ROW(stage_options, trainable_from, STRING, .doc = "the first layer that is trained"),
    LIANA__FIELD_ROW(stage_options, optimizer, VALUE,
                     .doc = "an optimizer, or options that it has instead of those of the training"),
};
static const liana__fields fields = LIANA__FIELD_TABLE("stage", stage_options, rows);

enum { KEY = 256 };

/* The training's optimizer with the keys of the stage, or the stage's own if it has a name. */
static const liana__value *merge(const liana__value *base, const liana__value *own, liana__arena *arena)
{
    if (!own || own->kind == LIANA__VALUE_NULL) return base;
    liana__value *map = liana__value_map(arena);
    if (!map) return NULL;
    map->place = own->place;
    if (own->kind == LIANA__VALUE_STRING) {
        liana__value *name = liana__value_copy(arena, own);
        if (name) name->place = own->place;
        liana__value_append(arena, map, "name", &own->place, name);
        return map;
    }
    if (own->kind != LIANA__VALUE_MAP || liana__value_get(own, "name")) return own;
    for (size_t i = 0; i < base->count; i++) {
        if (liana__value_get(own, base->keys[i])) continue;
        liana__value_append(arena, map, base->keys[i], &base->key_places[i], base->items[i]);
    }
    for (size_t i = 0; i < own->count; i++) {
        liana__value_append(arena, map, own->keys[i], &own->key_places[i], own->items[i]);
    }
    return map;
}

static liana_status read_stage(const liana__training_stages_request *request, size_t index, liana__arena *arena,
                               liana__training_stage *stage, liana__error *error)
{
    const liana__value *value = request->list->items[index];
    char where[KEY], key[KEY + 16];
    stage_options options;
    snprintf(where, sizeof where, "%.200s[%zu]", request->where, index);
    if (value->kind != LIANA__VALUE_MAP) {
        char found[128];
        return liana__fail_at(error, &value->place, where, "found %s, expected a stage: {epochs: 3, ...}",
                              liana__value_describe(value, found, sizeof found));
    }
    LIANA_TRY(liana__fields_read(&fields, value, where, NULL, arena, &options, error));
    if (options.train_all && options.trainable_from) {
        const liana__value *from = liana__value_get(value, "trainable_from");
        snprintf(key, sizeof key, "%s.trainable_from", where);
        return liana__fail_at(error, &from->place, key, "found beside train_all, which trains every layer; remove one");
    }
    const liana__value *optimizer = merge(request->optimizer, options.optimizer, arena);
    stage->name = options.name ? options.name : liana__arena_string(arena, where);
    if (!optimizer || !stage->name || arena->failed) return liana__fail_memory(error, "the stages");
    stage->epochs = options.epochs;
    stage->train_all = options.train_all;
    stage->trainable_from = options.trainable_from;
    snprintf(key, sizeof key, "%s.optimizer", where);
    return liana__optimizer_read(request->context, optimizer, key, arena, &stage->optimizer, error);
}

liana_status liana__training_stages_read(const liana__training_stages_request *request, liana__arena *arena,
                                         liana__training_stages *stages, liana__error *error)
{
    const liana__value *list = request->list;
    if (list->kind != LIANA__VALUE_LIST || list->count == 0) {
        char found[128];
        return liana__fail_at(error, &list->place, request->where, "found %s, expected a list of stages: [{epochs: 3}]",
                              liana__value_describe(list, found, sizeof found));
    }
    *stages = (liana__training_stages){.items = liana__arena_allocate(arena, list->count * sizeof *stages->items),
                                       .count = list->count};
    if (!stages->items) return liana__fail_memory(error, "the stages");
    int64_t end = request->initial_epoch;
    for (size_t i = 0; i < list->count; i++) {
        stages->items[i] = (liana__training_stage){0};
        LIANA_TRY(read_stage(request, i, arena, &stages->items[i], error));
        stages->items[i].end = end += stages->items[i].epochs;
    }
    if (!request->epochs || request->epochs == end) return LIANA_OK;
    return liana__fail_at(error, &list->place, request->where,
                          "the stages have %lld epochs in all, but %s is %lld; leave that out", (long long)end,
                          request->epochs_where, (long long)request->epochs);
}

/* ---- with the model ---- */

static bool trains_anything(const liana_model *model)
{
    bool found = false;
    for (size_t i = 0; i < model->num_weights; i++) found |= liana__weight_trainable(model, i);
    return found;
}

static liana_status check_multipliers(const liana__training_stage *stage, const liana_model *model, liana__error *error)
{
    LIANA__SCOPED_MEMORY const char **names = calloc(model->num_weights + 1, sizeof *names);
    if (!names) return liana__fail_memory(error, "the stages");
    for (size_t i = 0; i < model->num_weights; i++) names[i] = model->weights[i].name;
    return liana__rate_multipliers_check(stage->optimizer.rate_multipliers, names, model->num_weights, error);
}

static liana_status check_stage(const liana__training_stages *stages, size_t index, liana_model *model,
                                const char *where, liana__error *error)
{
    const liana__training_stage *stage = &stages->items[index];
    if (stage->trainable_from) {
        liana_status status = liana__model_train_from(model, stage->trainable_from, error);
        if (status != LIANA_OK) {
            if (error) error->status = LIANA_INVALID_CONFIG;
            return liana__fail_within(error, "%s[%zu].trainable_from", where, index);
        }
    }
    liana__training_stage_apply(stages, index, model);
    if (trains_anything(model)) return check_multipliers(stage, model, error);
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "%s[%zu]: no weight of the model would be trained; set trainable_from or train_all", where,
                       index);
}

liana_status liana__training_stages_bind(liana__training_stages *stages, liana_model *model, const char *where,
                                         liana__arena *arena, liana__error *error)
{
    stages->trainable = liana__arena_allocate(arena, (model->num_layers + 1) * sizeof *stages->trainable);
    if (!stages->trainable) return liana__fail_memory(error, "the stages");
    for (size_t i = 0; i < model->num_layers; i++) stages->trainable[i] = model->layers[i].trainable;
    liana_status status = LIANA_OK;
    for (size_t i = stages->count; i-- > 0 && status == LIANA_OK;) status = check_stage(stages, i, model, where, error);
    if (status != LIANA_OK) liana__training_stages_restore(stages, model);
    return status;
}

void liana__training_stages_restore(const liana__training_stages *stages, liana_model *model)
{
    for (size_t i = 0; i < model->num_layers; i++) model->layers[i].trainable = stages->trainable[i];
    model->structure_version++;
}

void liana__training_stage_apply(const liana__training_stages *stages, size_t index, liana_model *model)
{
    const liana__training_stage *stage = &stages->items[index];
    liana__training_stages_restore(stages, model);
    if (stage->train_all) liana__model_set_trainable(model, 0, model->num_layers, true);
    /* It was found when the stages were bound. */
    liana_status found = stage->trainable_from ? liana__model_train_from(model, stage->trainable_from, NULL) : LIANA_OK;
    (void)found;
}

int64_t liana__training_stages_epochs(const liana__training_stages *stages)
{
    return stages->items[stages->count - 1].end;
}
