/* The tree of a configuration: spells short forms of options out, reads lists of class names, finds where keys
 * stand. */
#include "train/config/config_internal.h"

#include "base/plugin.h"
#include "base/utf8.h"
#include "formats/yaml.h"
#include "remote/remote.h"

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

static bool is_utf8(const char *line, size_t length)
{
    uint32_t code;
    for (size_t i = 0; i < length;) {
        size_t size = liana__utf8_character(line + i, length - i, &code);
        if (size == 0 || code == 0) return false;
        i += size;
    }
    return true;
}

/* One name per line; spaces around it and empty lines at the end do not count. */
static liana_status split_names(const char *path, char *text, size_t size, liana__arena *arena, liana__value *names,
                                liana__error *error)
{
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3, size -= 3; /* a byte order mark */
    while (size && strchr(" \t\r\n", text[size - 1])) size--;
    size_t line = 1;
    for (const char *at = text, *end = text + size; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        size_t length = (size_t)(stop - at);
        while (length && strchr(" \t\r", at[length - 1])) length--;
        const char *start = at;
        while (length && (*start == ' ' || *start == '\t')) start++, length--;
        if (length == 0 || !is_utf8(start, length)) {
            return liana__fail(error, LIANA_INVALID_CONFIG, "%s:%zu: found %s, expected the name of class %zu", path,
                               line, length ? "bytes that are not UTF-8" : "an empty line", line - 1);
        }
        const char *name = liana__arena_format(arena, "%.*s", (int)length, start);
        liana__value_add(arena, names, name ? liana__value_string(arena, name) : NULL);
        at = stop + 1;
    }
    if (arena->failed) return liana__fail_memory(error, "the names of the classes");
    if (names->count) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "%s: found no line, expected the name of a class in each", path);
}

liana_status liana__config_read_class_names(liana__value *root, liana__arena *arena, liana__error *error)
{
    liana__value *data = get(root, "data"), *value = get(data, "class_names");
    if (!value || value->kind != LIANA__VALUE_STRING) return LIANA_OK;
    const char *folder = value->place.line > 0 ? liana__path_folder(arena, value->place.file) : NULL;
    const char *path =
        folder && strcmp(folder, ".") != 0 ? liana__path_join(arena, folder, value->string) : value->string;
    const char *shown = path ? liana__path_shown(arena, path) : NULL;
    liana__value *names = liana__value_list(arena);
    if (!names || !shown) return liana__fail_memory(error, "the names of the classes");
    char *text;
    size_t size;
    const liana__value *cache = get(data, "remote_cache");
    liana__remote_options options = {
        .cache_folder = cache && cache->kind == LIANA__VALUE_STRING ? cache->string : NULL,
    };
    liana_status status = liana__remote_read(path, &options, LIANA__YAML_MAX_SIZE, &text, &size, error);
    if (status == LIANA_OK) {
        status = split_names(shown, text, size, arena, names, error);
        free(text);
    }
    if (status != LIANA_OK) {
        char reason[sizeof error->message];
        strcpy(reason, error ? error->message : "");
        return liana__fail_at(error, &value->place, NULL, "data.class_names: %s", reason);
    }
    names->place = value->place;
    for (size_t i = 0; i < names->count; i++) names->items[i]->place = value->place;
    data->items[liana__config_find_key(data, "class_names", strlen("class_names"))] = names;
    return LIANA_OK;
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
