/* Sets options of a configuration by dotted keys: those of the command line, and changes that a program makes. */
#include "train/config/config_internal.h"

#include "base/format.h"
#include "base/plugin.h"
#include "formats/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const liana__place command_line = {.file = LIANA__COMMAND_LINE};

/* One step of a dotted key: a name, or an index in brackets (also written as a number between dots). */
typedef struct step {
    const char *text;
    size_t length;
} step;

/* Takes the next step of a key. False: at its end, or where it is malformed (then *key is not at its end). */
static bool next_step(const char **key, const char *end, step *out)
{
    const char *at = *key;
    bool bracket = at < end && *at == '[';
    if (at < end && *at == '.') at++;
    if (bracket) at++;
    const char *start = at;
    while (at < end && *at != '.' && *at != '[' && *at != ']') at++;
    if (at == start || (bracket && (at == end || *at != ']')) || (!bracket && at < end && *at == ']')) return false;
    *out = (step){start, (size_t)(at - start)};
    *key = at + bracket;
    return true;
}

static void place_everywhere(liana__value *value, const liana__place *place)
{
    value->place = *place;
    for (size_t i = 0; i < value->count; i++) {
        if (value->keys) value->key_places[i] = *place;
        place_everywhere(value->items[i], place);
    }
}

/* A line and a column say little about a value that is a word of a command: they are left out. */
static liana_status fail_value(liana__error *error, liana_status status, const char *text, const char *key,
                               size_t key_length)
{
    char reason[sizeof error->message] = "";
    const char *colon = error ? strstr(error->message, ": ") : NULL;
    if (colon) strcpy(reason, colon + 2);
    return liana__fail(error, status, "command line: %.*s: found '%.200s': %s", (int)key_length, key, text, reason);
}

/* The value of an override: YAML, or plain text if it begins with YAML's own signs. So data.train=*.tfrec needs no
 * inner quotes. */
static liana_status parse_value(const char *text, const char *key, size_t key_length, liana__arena *arena,
                                liana__value **value, liana__error *error)
{
    if (*text && strchr("*&!%@`|>", *text)) {
        *value = liana__value_string(arena, text);
        if (!*value) return liana__fail_memory(error, "an override");
    } else {
        liana_status status = liana__yaml_parse(text, strlen(text), "value", arena, value, error);
        if (status != LIANA_OK) return fail_value(error, status, text, key, key_length);
    }
    place_everywhere(*value, &command_line);
    return LIANA_OK;
}

static liana__value *shallow_copy(liana__arena *arena, const liana__value *value)
{
    liana__value *copy = liana__arena_copy(arena, value, sizeof *value);
    if (!copy || value->count == 0) return copy;
    copy->capacity = value->count;
    copy->items = liana__arena_copy(arena, value->items, value->count * sizeof *value->items);
    if (!value->keys) return copy;
    copy->keys = liana__arena_copy(arena, value->keys, value->count * sizeof *value->keys);
    copy->key_places = liana__arena_copy(arena, value->key_places, value->count * sizeof *value->key_places);
    return copy;
}

typedef struct target {
    liana__arena *arena;
    liana__error *error;
    const char *key;    /* the whole dotted key, for messages */
    liana__place place; /* where it was written */
} target;

static liana_status LIANA__PRINTF(3, 4) refuse(target *set, const char *end, const char *format, ...)
{
    char where[256], message[512];
    va_list arguments;
    va_start(arguments, format);
    liana__format_list(message, sizeof message, format, arguments);
    va_end(arguments);
    snprintf(where, sizeof where, "%.*s", (int)(end - set->key), set->key);
    return liana__fail_at(set->error, &set->place, where, "%s", message);
}

static liana_status fail_step(target *set, const step *at, const liana__value *parent)
{
    char found[128];
    const char *before = at->text;
    while (before > set->key && strchr(".[", before[-1])) before--;
    return refuse(set, before, "found %s, expected a mapping or a list, to set '%.*s' in it",
                  liana__value_describe(parent, found, sizeof found), (int)at->length, at->text);
}

/* Where a step leads from a list. */
static bool find_item(const liana__value *list, const step *at, size_t *index)
{
    char *end;
    *index = strtoul(at->text, &end, 10);
    bool is_number = *at->text >= '0' && *at->text <= '9' && end == at->text + at->length;
    return is_number && *index < list->count;
}

static liana_status fail_item(target *set, const liana__value *list, const step *at)
{
    const char *stop = at->text + at->length;
    return refuse(set, stop + (*stop == ']'), "'%.*s' is not an index of a list of %zu; they count from 0",
                  (int)at->length, at->text, list->count);
}

/* Makes `item` the value at the step from `parent`; the item is created in a map that does not have it. */
static liana_status put(target *set, liana__value *parent, const step *at, liana__value *item)
{
    if (!item) return liana__fail_memory(set->error, "an override");
    size_t index;
    if (parent->kind == LIANA__VALUE_LIST) {
        if (!find_item(parent, at, &index)) return fail_item(set, parent, at);
        parent->items[index] = item;
        return LIANA_OK;
    }
    if (parent->kind != LIANA__VALUE_MAP) return fail_step(set, at, parent);
    index = liana__config_find_key(parent, at->text, at->length);
    if (index < parent->count) {
        parent->items[index] = item;
        parent->key_places[index] = item->place;
        return LIANA_OK;
    }
    const char *key = liana__arena_format(set->arena, "%.*s", (int)at->length, at->text);
    if (key) liana__value_append(set->arena, parent, key, &set->place, item);
    return set->arena->failed ? liana__fail_memory(set->error, "an override") : LIANA_OK;
}

/* The item that the step leads to, copied into its parent for changing; a missing one becomes an empty map. */
static liana_status enter(target *set, liana__value *parent, const step *at, liana__value **child)
{
    const liana__value *old = NULL;
    size_t index;
    if (parent->kind == LIANA__VALUE_LIST) {
        if (!find_item(parent, at, &index)) return fail_item(set, parent, at);
        old = parent->items[index];
    } else {
        index = liana__config_find_key(parent, at->text, at->length);
        if (parent->kind == LIANA__VALUE_MAP && index < parent->count) old = parent->items[index];
    }
    bool missing = !old || old->kind == LIANA__VALUE_NULL;
    *child = missing ? liana__value_map(set->arena) : shallow_copy(set->arena, old);
    if (*child && missing) (*child)->place = set->place;
    return put(set, parent, at, *child);
}

/* Sets the key that ends at `end`. */
static liana_status set_key(target *set, liana__value **root, const char *end, liana__value *value)
{
    liana__value *parent = *root = shallow_copy(set->arena, *root);
    if (!parent || set->arena->failed) return liana__fail_memory(set->error, "an override");
    const char *key = set->key;
    step at, after;
    if (!next_step(&key, end, &at)) key = NULL;
    while (key && key < end) {
        if (!next_step(&key, end, &after)) {
            key = NULL;
            break;
        }
        LIANA_TRY(enter(set, parent, &at, &parent));
        at = after;
    }
    if (key) return put(set, parent, &at, value);
    return liana__fail_at(set->error, &set->place, NULL,
                          "'%.*s' is not a key, expected names with dots, such as model.layers[0].Dense.units",
                          (int)(end - set->key), set->key);
}

liana_status liana__config_override(liana__value **root, const char *text, liana__arena *arena, liana__error *error)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "command line: found '%.200s', expected key=value, such as train.epochs=3", text);
    }
    target set = {.arena = arena, .error = error, .key = text, .place = command_line};
    liana__value *value;
    LIANA_TRY(parse_value(equals + 1, text, (size_t)(equals - text), arena, &value, error));
    return set_key(&set, root, equals, value);
}

/* A copy with its places. */
static liana__value *deep_copy(liana__arena *arena, const liana__value *value)
{
    liana__value *copy = shallow_copy(arena, value);
    for (size_t i = 0; copy && !arena->failed && i < copy->count; i++)
        copy->items[i] = deep_copy(arena, copy->items[i]);
    return copy;
}

liana_status liana__config_apply(liana__value **root, const liana__config_change *change, liana__arena *arena,
                                 liana__error *error)
{
    target set = {.arena = arena, .error = error, .key = change->key, .place = change->value->place};
    liana__value *value = deep_copy(arena, change->value);
    if (!value || arena->failed) return liana__fail_memory(error, "a change of the configuration");
    return set_key(&set, root, change->key + strlen(change->key), value);
}
