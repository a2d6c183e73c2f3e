/* A model within a TimeDistributed: a model of layers that are called on each step. */
#include "layers/keras/keras_steps.h"

#include "base/value_read.h"
#include "layers/keras/keras_classes.h"

#include <string.h>

static const char time_distributed[] = "TimeDistributed";

/* A copy of a map with another value of one key. */
static liana__value *copy_with(const liana__value *map, const char *key, liana__value *value, liana__arena *arena)
{
    liana__value *copy = liana__value_map(arena);
    if (!copy) return NULL;
    copy->place = map->place;
    for (size_t i = 0; i < map->count; i++) liana__value_set(arena, copy, map->keys[i], map->items[i]);
    liana__value_set(arena, copy, key, value);
    return copy;
}

/* {TimeDistributed, config: {name, layer}}, under the name of the layer and with its calls. */
static liana__value *wrap_step(const liana__value *layer, liana__arena *arena)
{
    liana__value *config = liana__value_map(arena);
    const char *name = liana__value_text_of(liana__value_get(layer, "config"), "name", NULL);
    if (!config) return NULL;
    config->place = layer->place;
    if (name) liana__value_set(arena, config, "name", liana__value_string(arena, name));
    liana__value_set(arena, config, "layer", (liana__value *)(uintptr_t)layer);
    liana__value *map = copy_with(layer, "config", config, arena);
    if (!map) return NULL;
    liana__value_set(arena, map, "class_name", liana__value_string(arena, time_distributed));
    liana__value_remove(map, "build_config"); /* of one step */
    return map;
}

/* An InputLayer of an example's steps, whose number the layer before gives. */
static liana__value *input_of_steps(const liana__value *layer, liana__arena *arena)
{
    const liana__value *config = liana__value_get(layer, "config");
    const bool is_older = liana__value_get(config, "batch_input_shape") != NULL;
    const char *key = is_older ? "batch_input_shape" : "batch_shape";
    const liana__value *shape = liana__value_list_of(config, key);
    liana__value *steps = liana__value_list(arena);
    if (!shape || !steps || !shape->count) return (liana__value *)(uintptr_t)layer;
    steps->place = shape->place;
    for (size_t i = 0; i < shape->count; i++) {
        if (i == 1) liana__value_add(arena, steps, liana__value_null(arena));
        liana__value_add(arena, steps, shape->items[i]);
    }
    if (shape->count == 1) liana__value_add(arena, steps, liana__value_null(arena));
    return copy_with(layer, "config", copy_with(config, key, steps, arena), arena);
}

/* Layers that join by element do so with steps as well; Concatenate's axes count from the batch. */
static liana__value *join_of_steps(const liana__value *layer, const char *class_name, liana__arena *arena)
{
    static const char *const names[] = {"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"};
    bool joins = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) joins |= strcmp(class_name, names[i]) == 0;
    if (!joins) return NULL;
    const liana__value *config = liana__value_get(layer, "config"), *axis = liana__value_get(config, "axis");
    if (!axis || axis->kind != LIANA__VALUE_INT || axis->integer < 1) return (liana__value *)(uintptr_t)layer;
    return copy_with(layer, "config", copy_with(config, "axis", liana__value_int(arena, axis->integer + 1), arena),
                     arena);
}

/* A layer of a model, as one of a model that is called on steps. */
static liana__value *step_layer(const liana__value *layer, liana__arena *arena)
{
    const char *class_name = liana__value_text_of(layer, "class_name", "");
    if (strcmp(class_name, "InputLayer") == 0) return input_of_steps(layer, arena);
    liana__value *join = join_of_steps(layer, class_name, arena);
    return join ? join : wrap_step(layer, arena);
}

const liana__value *liana__keras_expand(const liana__value *layer, liana__arena *arena)
{
    const liana__value *config = liana__value_get(layer, "config"), *inner = liana__value_get(config, "layer");
    const liana__value *model = liana__value_get(inner, "config");
    const liana__value *layers = liana__value_list_of(model, "layers");
    const char *class_name = liana__value_text_of(inner, "class_name", "");
    const bool is_sequential = strcmp(class_name, "Sequential") == 0;
    const bool is_one = strcmp(liana__value_text_of(layer, "class_name", ""), time_distributed) == 0 &&
                        liana__keras_is_model_class(class_name);
    if (!is_one || !layers) return layer;
    liana__value *list = liana__value_list(arena);
    if (!list) return NULL;
    list->place = layer->place;
    for (size_t i = 0; i < layers->count; i++) {
        const bool is_input = strcmp(liana__value_text_of(layers->items[i], "class_name", ""), "InputLayer") == 0;
        if (is_sequential && is_input) continue;
        liana__value_add(arena, list, step_layer(layers->items[i], arena));
    }
    /* A Sequential is told the shape of its input by the layer before. */
    liana__value *own = is_sequential ? liana__value_map(arena) : copy_with(model, "layers", list, arena);
    if (own && is_sequential) liana__value_set(arena, own, "layers", list);
    for (size_t i = 0; own && i < config->count; i++) {
        if (strcmp(config->keys[i], "layer") != 0) liana__value_set(arena, own, config->keys[i], config->items[i]);
    }
    liana__value *map = own ? copy_with(layer, "config", own, arena) : NULL;
    if (map) liana__value_set(arena, map, "class_name", liana__value_string(arena, class_name));
    return arena->failed ? NULL : map;
}
