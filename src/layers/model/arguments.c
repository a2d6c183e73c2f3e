/* The arguments of a call of a layer: its inputs, each at its slot, and its own options. */
#include "layers/model.h"

#include "base/scoped.h"

#include <string.h>

bool liana__argument_is_option(const liana_layer_type *type, const char *name)
{
    for (size_t i = 0; type->arguments && type->arguments[i]; i++) {
        if (strcmp(type->arguments[i], name) == 0) return liana__fields_find(&type->part.options, name) != NULL;
    }
    return false;
}

static bool is_input(const liana_layer_type *type, const char *name)
{
    return strcmp(name, "training") != 0 && !liana__fields_find(&type->part.options, name);
}

bool liana__argument_is_mask(const char *name)
{
    return liana__ends_with(name, "mask");
}

const char *liana__argument_of_slot(const liana_layer_type *type, size_t slot)
{
    size_t before = 0;
    for (size_t i = 0; type->arguments && type->arguments[i]; i++) {
        if (is_input(type, type->arguments[i]) && before++ == slot) return type->arguments[i];
    }
    return NULL;
}

size_t liana__argument_slots(const liana_layer_type *type, const char *name, size_t *first)
{
    size_t count = 0;
    const char *found;
    for (size_t slot = 0; (found = liana__argument_of_slot(type, slot)) != NULL; slot++) {
        if (strcmp(found, name) != 0) continue;
        if (!count) *first = slot;
        count++;
    }
    return count;
}

const char *liana__argument_at(const liana_layer_type *type, size_t position)
{
    const char *before = NULL;
    for (size_t i = 0; type->arguments && type->arguments[i]; i++) {
        if (before && strcmp(before, type->arguments[i]) == 0) continue;
        before = type->arguments[i];
        if (position-- == 0) return before;
    }
    return NULL;
}

bool liana__layer_calls_have_options(const liana_layer_type *type)
{
    for (size_t i = 0; type->arguments && type->arguments[i]; i++) {
        if (liana__fields_find(&type->part.options, type->arguments[i])) return true;
    }
    return false;
}

size_t liana__layer_num_slots(const liana_layer_type *type, size_t num_inputs)
{
    return type->arguments ? type->max_inputs : num_inputs;
}

size_t liana__node_input_at(const liana__layer_node *node, size_t slot)
{
    size_t before = 0;
    if (!(node->slots >> slot & 1)) return LIANA__NONE;
    for (size_t i = 0; i < slot; i++) before += node->slots >> i & 1;
    return node->inputs[before];
}

liana_status liana__arguments_check(const liana_layer_type *type, uint32_t slots, liana__error *error)
{
    for (size_t slot = 0; slot < type->min_inputs; slot++) {
        if (slots >> slot & 1) continue;
        const char *name = liana__argument_of_slot(type, slot);
        size_t first = slot;
        (void)liana__argument_slots(type, name, &first);
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "its input %zu ('%s'%s) is missing; it needs %zu inputs at least", slot, name,
                           slot > first ? ", which is a list" : "", type->min_inputs);
    }
    const char *last = liana__argument_of_slot(type, type->max_inputs - 1);
    if (last && !(slots >> type->max_inputs)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "found more than its %zu inputs", type->max_inputs);
}

liana_status liana__arguments_read(const liana_layer_type *type, const void *options, const liana__value *given,
                                   const char *where, liana__arena *arena, const void **result, liana__error *error)
{
    LIANA__SCOPED(liana__arena) scratch = {0};
    const liana_options *table = &type->part.options;
    *result = options;
    if (!liana__layer_calls_have_options(type)) return LIANA_OK;
    liana__value *map = liana__fields_write(table, &scratch, options);
    if (!map) return liana__fail_memory(error, "a layer's options");
    for (size_t i = 0; i < table->count; i++) {
        const char *name = table->items[i].name;
        if (!liana__argument_is_option(type, name)) continue;
        liana__value_remove(map, name);
        liana__value *item = (liana__value *)(uintptr_t)liana__value_get(given, name);
        if (item && item->kind != LIANA__VALUE_NULL) liana__value_set(&scratch, map, name, item);
    }
    void *own = liana__arena_allocate(arena, table->size);
    if (!own || scratch.failed) return liana__fail_memory(error, "a layer's options");
    *result = own;
    return liana__fields_read(table, map, where, NULL, arena, own, error);
}
