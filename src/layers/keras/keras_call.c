/* The calls of a layer in an architecture file: which inputs stand at which slots, and the call's own options. */
#include "layers/keras/keras_call.h"

#include "layers/model.h"

#include <string.h>

typedef struct reading {
    const liana_layer_type *type;
    liana__keras_call *call;
    liana__arena *arena;
    liana__value *options;
    const char *where;
    liana__error *error;
} reading;

static liana_status refuse(const reading *own, const liana__value *value, const char *name, const char *expected)
{
    char found[128];
    liana__fail_at(own->error, &value->place, own->where, "its call's argument '%s': found %s, expected %s", name,
                   liana__value_describe(value, found, sizeof found), expected);
    own->error->status = LIANA_UNIMPLEMENTED;
    return LIANA_UNIMPLEMENTED;
}

/* A tensor is a reference of its own, or Keras 3's object with one. */
static bool is_tensor(const liana__value *value)
{
    return liana__keras_is_reference(value) || value->kind == LIANA__VALUE_MAP;
}

static liana_status add_tensors(reading *own, const liana__value *value, const char *name, size_t *slot, size_t end)
{
    liana__keras_references found = {.count = 0};
    if (value->kind == LIANA__VALUE_NULL) {
        ++*slot;
        return LIANA_OK;
    }
    if (!is_tensor(value) && value->kind == LIANA__VALUE_LIST) {
        for (size_t i = 0; i < value->count; i++) LIANA_TRY(add_tensors(own, value->items[i], name, slot, end));
        return LIANA_OK;
    }
    if (!is_tensor(value)) return refuse(own, value, name, "a result of a layer");
    liana__keras_collect_one(value, &found);
    if (found.count != 1) return refuse(own, value, name, "a result of a layer");
    if (*slot >= end) return refuse(own, value, name, "fewer tensors");
    own->call->inputs[*slot] = found.items[0];
    own->call->slots |= (uint32_t)1 << (*slot)++;
    return LIANA_OK;
}

/* Keras calls layers of images on a dict of images and labels. The images alone are a tensor of its own. */
static bool takes_dict(const liana_layer_type *type)
{
    const char *first = liana__argument_at(type, 0), *second = first ? liana__argument_at(type, 1) : NULL;
    return second && strcmp(first, "images") == 0 && strcmp(second, "labels") == 0;
}

static bool is_dict(const liana__value *value)
{
    return value->kind == LIANA__VALUE_MAP && !liana__value_get(value, "class_name");
}

static liana_status add_argument(reading *own, const char *name, const liana__value *value);

static liana_status add_named(reading *own, const liana__value *named)
{
    for (size_t i = 0; named && named->kind == LIANA__VALUE_MAP && i < named->count; i++) {
        LIANA_TRY(add_argument(own, named->keys[i], named->items[i]));
    }
    return LIANA_OK;
}

static liana_status add_argument(reading *own, const char *name, const liana__value *value)
{
    size_t first = 0;
    if (value->kind == LIANA__VALUE_NULL || strcmp(name, "training") == 0) return LIANA_OK;
    if (liana__argument_is_option(own->type, name)) {
        liana__value_set(own->arena, own->options, name, (liana__value *)(uintptr_t)value);
        return LIANA_OK;
    }
    const size_t count = liana__argument_slots(own->type, name, &first);
    if (!count) return refuse(own, value, name, "null: liana's layer has no such argument");
    return add_tensors(own, value, name, &first, first + count);
}

/* Before Keras 3 a call is a list of its tensors, and the first of them has the named arguments. */
static liana_status read_old(reading *own, const liana__value *call)
{
    size_t slot = 0;
    const bool bare = liana__keras_is_reference(call);
    const liana__value *first = bare ? call : call->count ? call->items[0] : NULL;
    LIANA_TRY(add_tensors(own, call, liana__argument_of_slot(own->type, 0), &slot, own->type->max_inputs));
    if (!first || !liana__keras_is_reference(first) || first->count < 4) return LIANA_OK;
    return add_named(own, first->items[3]);
}

liana_status liana__keras_read_call(const liana_layer_type *type, const liana__value *call, const char *where,
                                    liana__arena *arena, liana__keras_call *result, liana__error *error)
{
    *result = (liana__keras_call){.options = liana__value_map(arena)};
    reading own = {type, result, arena, result->options, where, error};
    if (!own.options) return liana__fail_memory(error, "a model");
    if (call->kind != LIANA__VALUE_MAP) return call->kind == LIANA__VALUE_LIST ? read_old(&own, call) : LIANA_OK;
    const liana__value *arguments = liana__value_get(call, "args");
    const bool has_list = arguments && arguments->kind == LIANA__VALUE_LIST;
    for (size_t i = 0; has_list && i < arguments->count; i++) {
        const char *name = liana__argument_at(type, i);
        if (i == 0 && takes_dict(type) && is_dict(arguments->items[i])) {
            LIANA_TRY(add_named(&own, arguments->items[i]));
            continue;
        }
        if (!name) return refuse(&own, arguments->items[i], "?", "fewer arguments");
        LIANA_TRY(add_argument(&own, name, arguments->items[i]));
    }
    LIANA_TRY(add_named(&own, liana__value_get(call, "kwargs")));
    return arena->failed ? liana__fail_memory(error, "a model") : LIANA_OK;
}

/* ---- writing ---- */

/* The tensors of an argument: one, or the list of those that are given. NULL: none is. */
static liana__value *collect(const liana_layer_type *type, const char *name, liana__value *const *tensors,
                             liana__arena *arena)
{
    size_t first = 0, count = liana__argument_slots(type, name, &first), end = first + count;
    while (end > first && !tensors[end - 1]) end--;
    if (end == first) return NULL;
    if (count == 1) return tensors[first];
    liana__value *list = liana__value_list(arena);
    for (size_t i = first; list && i < end; i++) {
        liana__value_add(arena, list, tensors[i] ? tensors[i] : liana__value_null(arena));
    }
    return list;
}

void liana__keras_write_call(const liana_layer_type *type, const void *options, liana__value *const *tensors,
                             liana__arena *arena, liana__value **first, liana__value *named)
{
    const liana__value *all = liana__fields_write(&type->part.options, arena, options);
    const char *name;
    *first = NULL;
    for (size_t i = 0; (name = liana__argument_at(type, i)) != NULL; i++) {
        liana__value *value = liana__argument_is_option(type, name)
                                  ? (liana__value *)(uintptr_t)liana__value_get(all, name)
                                  : collect(type, name, tensors, arena);
        if (i == 0) {
            *first = value;
        } else if (value && takes_dict(type)) {
            liana__value *dict = liana__value_map(arena);
            if (dict) liana__value_set(arena, dict, liana__argument_at(type, 0), *first);
            if (dict) liana__value_set(arena, dict, name, value);
            *first = dict;
        } else if (value) {
            liana__value_set(arena, named, name, value);
        }
    }
}
