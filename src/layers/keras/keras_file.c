/* The parts of an architecture file of Keras around its layers: version, references, refused content. */
#include "layers/keras/keras_file.h"

#include "base/value_read.h"
#include "layers/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 512 };

static liana_status refuse(const liana__value *value, const char *where, liana__error *error, const char *format, ...)
    LIANA__PRINTF(4, 5);

static liana_status refuse(const liana__value *value, const char *where, liana__error *error, const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    liana__fail_at(error, value ? &value->place : NULL, where, "%s", message);
    if (error) error->status = LIANA_UNIMPLEMENTED;
    return LIANA_UNIMPLEMENTED;
}

/* ---- the version ---- */

/* 3, 2 (or 1), by a key or class that only one of them writes; 0: none is in this map itself. */
static int generation_of_map(const liana__value *map)
{
    static const struct {
        const char *key;
        int generation;
    } keys[] = {
        {"batch_shape", 3}, {"keras_history", 3}, {"batch_input_shape", 2}, {"border_mode", 2}, {"dim_ordering", 2},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (liana__value_get(map, keys[i].key)) return keys[i].generation;
    }
    const char *class_name = liana__value_text_of(map, "class_name", "");
    return strcmp(class_name, "DTypePolicy") == 0 ? 3 : strcmp(class_name, "Policy") == 0 ? 2 : 0;
}

static int find_generation(const liana__value *value, int depth)
{
    int found = value->kind == LIANA__VALUE_MAP ? generation_of_map(value) : 0;
    const bool holds = value->kind == LIANA__VALUE_MAP || value->kind == LIANA__VALUE_LIST;
    for (size_t i = 0; holds && !found && depth < MOST_DEPTH && i < value->count; i++) {
        found = find_generation(value->items[i], depth + 1);
    }
    return found;
}

liana_status liana__keras_find_generation(const liana__value *wrapper, const liana__value *root, bool *keras3,
                                          liana__error *error)
{
    const liana__value *version = liana__value_get(root, "keras_version");
    if (!version) version = liana__value_get(wrapper, "keras_version");
    if (!version || version->kind != LIANA__VALUE_STRING) {
        int found = find_generation(root, 0);
        *keras3 = found ? found == 3 : liana__value_get(root, "module") || liana__value_get(root, "registered_name");
        return LIANA_OK;
    }
    char *end;
    const long number = strtol(version->string, &end, 10);
    const bool is_number = end != version->string && (!*end || *end == '.' || *end == '-');
    *keras3 = number == 3;
    if (is_number && number >= 1 && number <= 3) return LIANA_OK;
    return refuse(version, "keras_version", error,
                  "found '%.40s', expected a version 1, 2 or 3 of Keras; save the model with one of these",
                  version->string);
}

/* ---- shared layers ---- */

typedef struct shared {
    const liana__value *layer;
    int64_t id;
} shared;

typedef struct shared_list {
    shared *items;
    size_t count, capacity;
    bool failed;
} shared_list;

static void add_shared(shared_list *list, const liana__value *layer)
{
    const liana__value *id = liana__value_get(layer, "shared_object_id");
    if (!id || id->kind != LIANA__VALUE_INT) return;
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? list->capacity * 2 : 64;
        shared *items = realloc(list->items, capacity * sizeof *items);
        list->failed = list->failed || !items;
        if (!items) return;
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = (shared){layer, id->integer};
}

/* The layers of a model and of those in it. */
static void collect_shared(const liana__value *model, shared_list *list, int depth)
{
    const liana__value *config = liana__value_get(model, "config");
    const liana__value *layers = liana__value_list_of(config, "layers");
    if (config && config->kind == LIANA__VALUE_LIST) layers = config;
    for (size_t i = 0; layers && depth < MOST_DEPTH && i < layers->count; i++) {
        if (layers->items[i]->kind != LIANA__VALUE_MAP) continue;
        add_shared(list, layers->items[i]);
        collect_shared(layers->items[i], list, depth + 1);
    }
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t left = ((const shared *)a)->id, right = ((const shared *)b)->id;
    return left < right ? -1 : left > right;
}

static const char *name_of(const liana__value *layer)
{
    return liana__value_text_of(liana__value_get(layer, "config"), "name", liana__value_text_of(layer, "name", "?"));
}

liana_status liana__keras_check_sharing(const liana__value *root, liana__error *error)
{
    shared_list list = {0};
    collect_shared(root, &list, 0);
    liana_status status = list.failed ? liana__fail_memory(error, "a model") : LIANA_OK;
    if (list.count > 1) qsort(list.items, list.count, sizeof *list.items, compare_ids);
    for (size_t i = 1; status == LIANA_OK && i < list.count; i++) {
        if (list.items[i].id != list.items[i - 1].id) continue;
        status = refuse(list.items[i].layer, "shared_object_id", error,
                        "the layers '%.60s' and '%.60s' are one layer that belongs to several models; in liana a layer "
                        "belongs to one model, which may be called several times",
                        name_of(list.items[i - 1].layer), name_of(list.items[i].layer));
    }
    free(list.items);
    return status;
}

/* ---- classes ---- */

bool liana__keras_is_of_package(const liana__value *object)
{
    const liana__value *name = liana__value_get(object, "registered_name");
    return name && name->kind == LIANA__VALUE_STRING && strchr(name->string, '>');
}

bool liana__keras_is_own(const liana__kind *kind, const char *text)
{
    const size_t length = strcspn(text, "(");
    for (size_t i = 0; kind->builtin[i]; i++) {
        if (liana__part_is_named(kind->builtin[i], text, length)) return false;
    }
    return true;
}

/* ---- references ---- */

bool liana__keras_is_reference(const liana__value *value)
{
    return value->kind == LIANA__VALUE_LIST && value->count >= 3 && value->items[0]->kind == LIANA__VALUE_STRING &&
           value->items[1]->kind == LIANA__VALUE_INT && value->items[2]->kind == LIANA__VALUE_INT;
}

size_t liana__keras_next_key(const liana__value *map, const char *last)
{
    size_t found = map->count;
    for (size_t i = 0; i < map->count; i++) {
        if (last && strcmp(map->keys[i], last) <= 0) continue;
        if (found == map->count || strcmp(map->keys[i], map->keys[found]) < 0) found = i;
    }
    return found;
}

static void collect(const liana__value *value, liana__keras_references *found, int depth);

/* A map of names, or the arguments of a call (`are_arguments`). liana computes masks by itself. */
static void collect_named(const liana__value *names, bool are_arguments, liana__keras_references *found, int depth)
{
    const char *last = NULL;
    for (size_t i = 0; names && names->kind == LIANA__VALUE_MAP && i < names->count && !found->too_many; i++) {
        const size_t key = liana__keras_next_key(names, last);
        last = names->keys[key];
        if (!are_arguments || strcmp(last, "mask") != 0) collect(names->items[key], found, depth + 1);
    }
}

/* Before Keras 3 the arguments of a call are the fourth member of its first input. */
static void add_reference(const liana__value *value, liana__keras_references *found, int depth)
{
    /* A constant as first operand of Keras 2's TFOpLambda. */
    const bool is_constant = strcmp(value->items[0]->string, "_CONSTANT_VALUE") == 0;
    found->too_many = found->too_many || (found->count == LIANA_MAX_LAYER_INPUTS && !is_constant);
    if (found->too_many) return;
    if (is_constant) {
        if (value->count > 3) collect_named(value->items[3], true, found, depth);
        return;
    }
    found->items[found->count++] =
        (liana__keras_reference){value->items[0]->string, value->items[1]->integer, value->items[2]->integer};
    if (value->count > 3) collect_named(value->items[3], true, found, depth);
}

static void collect_map(const liana__value *map, liana__keras_references *found, int depth)
{
    const liana__value *arguments = liana__value_get(map, "args");
    const liana__value *tensor = liana__value_get(liana__value_get(map, "config"), "keras_history");
    if (!tensor) tensor = liana__value_get(map, "keras_history");
    if (tensor) {
        collect(tensor, found, depth + 1);
    } else if (arguments) {
        collect(arguments, found, depth + 1);
        collect_named(liana__value_get(map, "kwargs"), true, found, depth);
    } else {
        collect_named(map, false, found, depth);
    }
}

static void collect(const liana__value *value, liana__keras_references *found, int depth)
{
    if (!value || depth > 8 || found->too_many) return;
    if (liana__keras_is_reference(value)) {
        add_reference(value, found, depth);
    } else if (value->kind == LIANA__VALUE_LIST) {
        for (size_t i = 0; i < value->count; i++) collect(value->items[i], found, depth + 1);
    } else if (value->kind == LIANA__VALUE_MAP) {
        collect_map(value, found, depth);
    }
}

void liana__keras_collect(const liana__value *value, liana__keras_references *found)
{
    collect(value, found, 0);
}

void liana__keras_collect_one(const liana__value *tensor, liana__keras_references *found)
{
    const liana__value *config = liana__value_get(tensor, "config");
    const liana__value *reference =
        tensor->kind == LIANA__VALUE_MAP ? liana__value_get(config, "keras_history") : tensor;
    if (!reference || !liana__keras_is_reference(reference)) return;
    found->items[found->count++] = (liana__keras_reference){reference->items[0]->string, reference->items[1]->integer,
                                                            reference->items[2]->integer};
}
