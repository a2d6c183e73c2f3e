/* Reads choices: a name with options. */
#include "base/choice.h"

liana_status liana__choice_read(const liana__value *value, const char *where, const char *expected, const char **name,
                                const liana__value **map, liana__error *error)
{
    char found[128];
    *map = value->kind == LIANA__VALUE_MAP ? value : NULL;
    const liana__value *named = *map ? liana__value_get(value, "name") : value;
    if (*map && !named) {
        return liana__fail_at(error, &value->place, where, "the key 'name' is missing, expected %s", expected);
    }
    if (named->kind != LIANA__VALUE_STRING) {
        return liana__fail_at(error, &named->place, where, "%sfound %s, expected %s", *map ? "name: " : "",
                              liana__value_describe(named, found, sizeof found), expected);
    }
    *name = named->string;
    return LIANA_OK;
}

liana_status liana__choice_entry(const liana__value *entry, const char *where, const char *expected, const char **name,
                                 const liana__place **place, const liana__value **options, liana__error *error)
{
    char found[128];
    *options = NULL;
    *place = &entry->place;
    if (entry->kind == LIANA__VALUE_STRING) {
        *name = entry->string;
        return LIANA_OK;
    }
    if (entry->kind != LIANA__VALUE_MAP || entry->count != 1) {
        return liana__fail_at(error, &entry->place, where, "found %s, expected %s",
                              liana__value_describe(entry, found, sizeof found), expected);
    }
    *name = entry->keys[0];
    *place = &entry->key_places[0];
    const liana__value *value = entry->items[0];
    if (value->kind == LIANA__VALUE_NULL) return LIANA_OK;
    if (value->kind != LIANA__VALUE_MAP) {
        return liana__fail_at(error, &value->place, where, "found %s after %.60s, expected options: {key: value, ...}",
                              liana__value_describe(value, found, sizeof found), *name);
    }
    *options = value;
    return LIANA_OK;
}

liana_status liana__choice_options(const liana__fields *fields, const liana__value *map, const char *where,
                                   const char *const *ignored, liana__arena *arena, const void **options,
                                   liana__error *error)
{
    void *read = liana__arena_allocate(arena, fields->size + 1);
    if (!read) return liana__fail_memory(error, where);
    LIANA_TRY(liana__fields_read(fields, map, where, ignored, arena, read, error));
    *options = fields->size ? read : NULL;
    return LIANA_OK;
}
