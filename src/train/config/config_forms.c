/* The tree of a configuration: spells short forms of options out, finds where keys stand. */
#include "train/config/config_internal.h"

#include "base/plugin.h"
#include "formats/yaml.h"

#include <stdlib.h>
#include <string.h>

size_t liana__config_find_key(const liana__value *map, const char *key, size_t length)
{
    if (map->kind != LIANA__VALUE_MAP) return map->count;
    size_t index = 0;
    for (; index < map->count; index++) {
        if (strlen(map->keys[index]) == length && memcmp(map->keys[index], key, length) == 0) break;
    }
    return index;
}

static liana__value *get(liana__value *map, const char *key)
{
    size_t index = map ? liana__config_find_key(map, key, strlen(key)) : 0;
    return map && map->kind == LIANA__VALUE_MAP && index < map->count ? map->items[index] : NULL;
}

/* Replaces parent.key by {member: its value}, in the same place. */
static liana_status wrap(liana__value *parent, const char *key, const char *member, liana__arena *arena,
                         liana__error *error)
{
    liana__value *value = get(parent, key), *map = liana__value_map(arena);
    if (map) map->place = value->place;
    if (map) liana__value_append(arena, map, member, &value->place, value);
    if (!map || arena->failed) return liana__fail_memory(error, "the configuration");
    parent->items[liana__config_find_key(parent, key, strlen(key))] = map;
    return LIANA_OK;
}

static liana_status spell_out_source(liana__value *data, const char *key, liana__arena *arena, liana__error *error)
{
    const liana__value *value = get(data, key);
    if (!value || value->kind == LIANA__VALUE_NULL || value->kind == LIANA__VALUE_MAP) return LIANA_OK;
    if (value->kind == LIANA__VALUE_STRING || value->kind == LIANA__VALUE_LIST) {
        return wrap(data, key, "paths", arena, error);
    }
    char found[128];
    return liana__fail_at(error, &value->place, NULL,
                          "data.%s: found %s, expected a path, a list of paths, or {images: FILE, labels: FILE}", key,
                          liana__value_describe(value, found, sizeof found));
}

/* The name of the default optimizer is in the field table, and nowhere else. */
static liana__value *default_optimizer(liana__arena *arena)
{
    const liana__fields *train = liana__fields_find(liana__config_fields(), "train")->section;
    return liana__value_string(arena, liana__fields_find(train, "optimizer")->default_text);
}

static liana_status spell_out_optimizer(liana__value *root, liana__arena *arena, liana__error *error)
{
    if (!get(root, "train") || get(root, "train")->kind == LIANA__VALUE_NULL) {
        liana__value_set(arena, root, "train", liana__value_map(arena));
    }
    liana__value *train = get(root, "train"), *optimizer = get(train, "optimizer");
    if (!train || train->kind != LIANA__VALUE_MAP) return LIANA_OK; /* somebody else says so */
    if (!optimizer || optimizer->kind == LIANA__VALUE_NULL) {
        liana__value_set(arena, train, "optimizer", default_optimizer(arena));
        optimizer = get(train, "optimizer");
    }
    if (arena->failed || !optimizer) return liana__fail_memory(error, "the configuration");
    return optimizer->kind == LIANA__VALUE_STRING ? wrap(train, "optimizer", "name", arena, error) : LIANA_OK;
}

/* Before there were files, data.cache said whether, and not where. */
static void spell_out_cache(liana__value *data, liana__arena *arena)
{
    liana__value *value = get(data, "cache");
    if (!value || value->kind != LIANA__VALUE_BOOL) return;
    liana__value *name = liana__value_string(arena, value->boolean ? "memory" : "none");
    if (!name) return;
    name->place = value->place;
    data->items[liana__config_find_key(data, "cache", strlen("cache"))] = name;
}

liana_status liana__config_spell_out(liana__value *root, liana__arena *arena, liana__error *error)
{
    liana__value *data = get(root, "data");
    static const char *const sources[] = {"train", "validation", "test"};
    for (size_t i = 0; i < 3; i++) LIANA_TRY(spell_out_source(data, sources[i], arena, error));
    spell_out_cache(data, arena);
    return spell_out_optimizer(root, arena, error);
}

/* ---- where keys stand ---- */

/* The value at a dotted key, or NULL. *place is where it stands, or the nearest key before it that is there. */
static const liana__value *find_value(const liana__config *config, const char *key, liana__place *place)
{
    const liana__value *value = config->root;
    *place = value ? value->place : (liana__place){0};
    while (value && *key) {
        const size_t length = strcspn(key, "."), index = liana__config_find_key(value, key, length);
        value = index < value->count ? value->items[index] : NULL;
        if (value && value->place.file) *place = value->place;
        key += length + (key[length] == '.');
    }
    return value;
}

bool liana__config_gives(const liana__config *config, const char *key)
{
    liana__place place;
    return find_value(config, key, &place) != NULL;
}

liana__place liana__config_place(const liana__config *config, const char *key)
{
    liana__place place;
    find_value(config, key, &place);
    return place;
}

static liana__place place_of(const void *user, const char *key)
{
    return liana__config_place(user, key);
}

liana__job_door liana__config_door(const liana__config *config)
{
    return (liana__job_door){LIANA__DOOR_RUN, "train.", "run", place_of, config};
}

bool liana__config_is_override(const liana__config *config, const char *key)
{
    const char *file = liana__config_place(config, key).file;
    return file && strcmp(file, LIANA__COMMAND_LINE) == 0;
}
