/* liana__model_from_layers: the `layers:` list of a configuration. */
#include "base/choice.h"
#include "layers/model.h"

#include <stdio.h>
#include <string.h>

static const char *const other_keys[] = {"name", "inputs", "trainable", NULL};

enum { DOTTED_KEY = 256 };

static liana_location place_of(const liana__value *value)
{
    return (liana_location){value->place.file ? value->place.file : "model", value->place.line};
}

/* Makes an error with a place of its own the model's sticky one. */
static liana_status fail_model(liana_model *model, const liana__value *value, const liana__error *error)
{
    liana__model_fail(model, place_of(value), error->status, "%s", error->message);
    return model->error.status;
}

static liana_status find_named(const liana_model *model, const liana__value *value, const char *where, size_t *index,
                               liana__error *error)
{
    char found[128];
    if (value->kind != LIANA__VALUE_STRING) {
        return liana__fail_at(error, &value->place, where, "found %s, expected the name of a layer",
                              liana__value_describe(value, found, sizeof found));
    }
    *index = liana__model_find_node(model, value->string);
    if (*index != LIANA__NONE) return LIANA_OK;
    return liana__fail_at(error, &value->place, where, "there is no layer '%.60s' before this one", value->string);
}

static liana_status read_inputs(const liana_model *model, const liana__value *value, const char *where, size_t *indices,
                                size_t *count, liana__error *error)
{
    char name[DOTTED_KEY];
    snprintf(name, sizeof name, "%.220s.inputs", where);
    *count = value->kind == LIANA__VALUE_LIST ? value->count : 1;
    if (*count == 0 || *count > LIANA_MAX_LAYER_INPUTS) {
        return liana__fail_at(error, &value->place, name, "found %zu names, expected 1 to %d", *count,
                              LIANA_MAX_LAYER_INPUTS);
    }
    for (size_t i = 0; i < *count; i++) {
        const liana__value *item = value->kind == LIANA__VALUE_LIST ? value->items[i] : value;
        LIANA_TRY(find_named(model, item, name, &indices[i], error));
    }
    return LIANA_OK;
}

/* name and trainable, read with the table that all layers share. */
typedef struct common_options {
    const char *name;
    bool trainable;
} common_options;

static liana_status read_common(const liana__value *map, const char *where, liana__arena *arena, common_options *common,
                                liana__error *error)
{
    liana__value *picked = liana__value_map(arena);
    if (!picked) return liana__fail_memory(error, "a layer's options");
    for (size_t i = 0; map && i < map->count; i++) {
        if (!liana__fields_find(&liana__layer_common, map->keys[i])) continue;
        liana__value_append(arena, picked, map->keys[i], &map->key_places[i], map->items[i]);
    }
    return liana__fields_read(&liana__layer_common, picked, where, NULL, arena, common, error);
}

static liana_status add_entry(liana_model *model, const liana__value *entry, const char *where, liana__arena *arena,
                              liana__error *error)
{
    const char *class_name = NULL, *nearest = NULL;
    const liana__place *place;
    liana__layer_request request = {.here = place_of(entry), .other_keys = other_keys};
    LIANA_TRY(liana__choice_entry(entry, where, "one layer: 'Flatten' or 'Conv2D: {filters: 32, kernel_size: 3}'",
                                  &class_name, &place, &request.options, error));
    request.type = liana__layer_find(model->context, class_name, &nearest);
    if (!request.type) {
        return liana__fail_at(error, place, where, "there is no layer class '%.60s'%s", class_name,
                              liana__hint(nearest).text);
    }
    char dotted[DOTTED_KEY];
    snprintf(dotted, sizeof dotted, "%.150s.%.60s", where, request.type->name);
    request.where = dotted;
    common_options common;
    LIANA_TRY(read_common(request.options, dotted, arena, &common, error));
    request.name = common.name;
    request.frozen = !common.trainable;
    size_t indices[LIANA_MAX_LAYER_INPUTS];
    const liana__value *inputs = liana__value_get(request.options, "inputs");
    if (inputs && inputs->kind != LIANA__VALUE_NULL) {
        LIANA_TRY(read_inputs(model, inputs, dotted, indices, &request.num_inputs, error));
        request.inputs = indices;
    }
    return liana__model_add(model, &request).id ? LIANA_OK : model->error.status;
}

static bool begins_with_input(const liana__value *list)
{
    const liana__value *first = list->count ? list->items[0] : NULL;
    if (!first) return false;
    const char *name = first->kind == LIANA__VALUE_STRING                     ? first->string
                       : first->kind == LIANA__VALUE_MAP && first->count == 1 ? first->keys[0]
                                                                              : "";
    return strcmp(name, liana__layer_input_layer.name) == 0;
}

/* An InputLayer for examples of a shape. */
static void add_input(liana_model *model, liana_location here, const liana_shape *shape, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena), *dims = liana__value_list(arena);
    if (!map || !dims) return;
    for (int i = 0; i < shape->rank; i++) liana__value_add(arena, dims, liana__value_int(arena, shape->dims[i]));
    liana__value_set(arena, map, "shape", dims);
    liana__model_add(model, &(liana__layer_request){.here = here, .type = &liana__layer_input_layer, .options = map});
}

liana_status liana__model_from_layers(liana_model *model, const liana__value *list, const char *where,
                                      const liana_shape *input_shape)
{
    liana__error error = {0};
    if (list->kind != LIANA__VALUE_LIST || list->count == 0) {
        char found[128];
        liana__fail_at(&error, &list->place, where, "found %s, expected a list of layers",
                       liana__value_describe(list, found, sizeof found));
        return fail_model(model, list, &error);
    }
    liana__arena arena = {0};
    if (model->num_nodes == 0 && !begins_with_input(list)) add_input(model, place_of(list), input_shape, &arena);
    for (size_t i = 0; i < list->count && model->error.status == LIANA_OK; i++) {
        char item[DOTTED_KEY];
        snprintf(item, sizeof item, "%.200s[%zu]", where, i);
        if (add_entry(model, list->items[i], item, &arena, &error) != LIANA_OK) {
            fail_model(model, list->items[i], &error);
        }
    }
    liana__arena_free(&arena);
    return model->error.status;
}
