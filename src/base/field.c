/* Reads and writes structs by the tables that describe their members, and fills in defaults. */
#include "base/field.h"

#include "base/file.h"
#include "base/format.h"
#include "base/named.h"
#include "base/other_names.h"
#include "base/scoped.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DESCRIPTION = 128, DOTTED_KEY = 256 };

liana_status liana__fail_at(liana__error *error, const liana__place *place, const char *where, const char *format, ...)
{
    char message[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    liana__format_list(message, sizeof message, format, arguments);
    va_end(arguments);
    liana__fail(error, LIANA_INVALID_CONFIG, "%s%s%s", where && *where ? where : "", where && *where ? ": " : "",
                message);
    if (!error || !place || !place->file) return LIANA_INVALID_CONFIG;
    if (place->line > 0) return liana__fail_within(error, "%s:%d:%d", place->file, place->line, place->column);
    return liana__fail_within(error, "%s", place->file);
}

static liana__named list_of(const liana__fields *fields)
{
    return LIANA__NAMED(liana__field, fields->items, fields->count);
}

const liana__field *liana__fields_find(const liana__fields *fields, const char *name)
{
    size_t index = liana__named_find(list_of(fields), name, NULL);
    return index < fields->count ? &fields->items[index] : NULL;
}

/* A value that does not fit: "found X, expected Y". */
static liana_status fail_kind(liana__error *error, const liana__value *value, const char *where, const char *expected)
{
    char found[DESCRIPTION];
    return liana__fail_at(error, &value->place, where, "found %s, expected %s",
                          liana__value_describe(value, found, sizeof found), expected);
}

static bool has_range(const liana__field *field)
{
    return field->minimum < field->maximum || field->minimum > field->maximum;
}

/* "a whole number from 1 to 8", "a number of at least 0.0". */
static void expect_number(const liana__field *field, const char *noun, bool whole, char *buffer, size_t size)
{
    LIANA__SCOPED(liana__text) text = {0};
    liana__text_add(&text, "%s", noun);
    bool low = has_range(field) && isfinite(field->minimum), high = has_range(field) && isfinite(field->maximum);
    const double limits[] = {field->minimum, field->maximum};
    const char *const words[] = {low && high ? " from " : " of at least ", low && high ? " to " : " of at most "};
    const bool wanted[] = {low, high};
    for (int i = 0; i < 2; i++) {
        if (!wanted[i]) continue;
        liana__text_add(&text, "%s", words[i]);
        if (whole) {
            liana__text_add(&text, "%.0f", limits[i]);
        } else {
            liana__text_add_double(&text, limits[i]);
        }
    }
    snprintf(buffer, size, "%s", text.data ? text.data : noun);
}

static bool in_range(const liana__field *field, double number)
{
    return !has_range(field) || (number >= field->minimum && number <= field->maximum);
}

static bool is_whole(const liana__value *value)
{
    /* A whole FLOAT that fits has its integer set; only 0.0 has the integer 0. */
    return value->kind == LIANA__VALUE_INT ||
           (value->kind == LIANA__VALUE_FLOAT && (value->integer != 0 || value->number == 0.0));
}

static liana_status read_int(const liana__field *field, const liana__value *value, const char *where, int64_t *integer,
                             liana__error *error)
{
    if (!is_whole(value) || !in_range(field, (double)value->integer)) {
        char expected[DESCRIPTION];
        expect_number(field, "a whole number", true, expected, sizeof expected);
        return fail_kind(error, value, where, expected);
    }
    *integer = value->integer;
    return LIANA_OK;
}

static liana_status read_float(const liana__field *field, const liana__value *value, const char *where, double *number,
                               liana__error *error)
{
    bool is_number = value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT;
    if (!is_number || !isfinite(value->number) || !in_range(field, value->number)) {
        char expected[DESCRIPTION];
        expect_number(field, "a number", false, expected, sizeof expected);
        return fail_kind(error, value, where, expected);
    }
    *number = value->number;
    return LIANA_OK;
}

static liana_status read_enum(const liana__field *field, const liana__value *value, const char *where, int *index,
                              liana__error *error)
{
    LIANA__SCOPED(liana__text) choices = {0};
    size_t count = 0;
    for (; field->names[count]; count++) {
        if (value->kind == LIANA__VALUE_STRING && strcmp(value->string, field->names[count]) == 0) {
            *index = (int)count;
            return LIANA_OK;
        }
        const char *separator = count == 0 ? "" : field->names[count + 1] ? ", " : " or ";
        liana__text_add(&choices, "%s%s", separator, field->names[count]);
    }
    const char *nearest =
        value->kind == LIANA__VALUE_STRING ? liana__nearest(value->string, field->names, count) : NULL;
    char found[DESCRIPTION];
    return liana__fail_at(error, &value->place, where, "found %s, expected %s%s",
                          liana__value_describe(value, found, sizeof found), choices.data ? choices.data : "",
                          liana__hint(nearest).text);
}

static liana_status read_text(const liana__field *field, const liana__value *value, const char *where,
                              liana__arena *arena, const char **text, liana__error *error)
{
    if (value->kind != LIANA__VALUE_STRING) {
        bool scalar = value->kind != LIANA__VALUE_LIST && value->kind != LIANA__VALUE_MAP;
        return fail_kind(error, value, where, scalar ? "text; write it in quotes" : "text");
    }
    bool is_path = field->kind == LIANA__FIELD_PATH || field->kind == LIANA__FIELD_PATHS;
    if (is_path && *value->string == 0) return fail_kind(error, value, where, "a path");
    bool move = is_path && value->place.line > 0 && *value->string != '/';
    const char *folder = move ? liana__path_folder(arena, value->place.file) : NULL;
    bool elsewhere = folder && strcmp(folder, ".") != 0;
    *text = elsewhere ? liana__path_join(arena, folder, value->string) : liana__arena_string(arena, value->string);
    if (*text && field->is_name && field->is_name(value->string, *text)) {
        *text = liana__arena_string(arena, value->string);
    }
    return *text ? LIANA_OK : liana__fail_memory(error, where);
}

/* A list, or one item that counts as a list of one. */
static size_t list_count(const liana__value *value)
{
    return value->kind == LIANA__VALUE_LIST ? value->count : 1;
}

static const liana__value *list_item(const liana__value *value, size_t index)
{
    return value->kind == LIANA__VALUE_LIST ? value->items[index] : value;
}

static void item_name(const liana__value *list, const char *where, size_t index, char name[DOTTED_KEY])
{
    if (list->kind == LIANA__VALUE_LIST) {
        snprintf(name, DOTTED_KEY, "%s[%zu]", where, index);
    } else {
        snprintf(name, DOTTED_KEY, "%s", where);
    }
}

size_t liana__field_num_ints(liana_option_kind kind)
{
    switch (kind) {
    case LIANA__FIELD_INT_SINGLE: return 1;
    case LIANA__FIELD_INT_PAIR: return 2;
    case LIANA__FIELD_INT_TRIPLE: return 3;
    default: return 0;
    }
}

static liana_status read_few_ints(const liana__field *field, const liana__value *value, const char *where,
                                  int64_t *ints, liana__error *error)
{
    static const char *const expected[] = {"", "one whole number", "one whole number or two in a list",
                                           "one whole number or three in a list"};
    const size_t count = list_count(value), wanted = liana__field_num_ints(field->kind);
    if ((value->kind == LIANA__VALUE_LIST && count != wanted) ||
        (value->kind != LIANA__VALUE_LIST && !is_whole(value))) {
        return fail_kind(error, value, where, expected[wanted]);
    }
    for (size_t i = 0; i < wanted; i++) {
        char name[DOTTED_KEY];
        item_name(value, where, i, name);
        LIANA_TRY(read_int(field, list_item(value, i), name, &ints[i], error));
    }
    return LIANA_OK;
}

static liana_status read_ints(const liana__field *field, const liana__value *value, const char *where,
                              liana__ints *ints, liana__error *error)
{
    size_t count = list_count(value);
    if (count > LIANA_MAX_INTS) {
        char expected[DESCRIPTION];
        snprintf(expected, sizeof expected, "a list of at most %d whole numbers", LIANA_MAX_INTS);
        return fail_kind(error, value, where, expected);
    }
    for (size_t i = 0; i < count; i++) {
        char name[DOTTED_KEY];
        const liana__value *item = list_item(value, i);
        item_name(value, where, i, name);
        /* Keras's "not given" within a list. */
        if (item->kind == LIANA__VALUE_NULL && field->minimum == -1) {
            ints->values[i] = -1;
            continue;
        }
        LIANA_TRY(read_int(field, item, name, &ints->values[i], error));
    }
    ints->count = (int64_t)count;
    return LIANA_OK;
}

static liana_status read_integers(const liana__field *field, const liana__value *value, const char *where,
                                  liana__arena *arena, liana__integers *integers, liana__error *error)
{
    const size_t count = list_count(value);
    int64_t *items = liana__arena_allocate(arena, (count + 1) * sizeof *items);
    if (!items) return liana__fail_memory(error, where);
    for (size_t i = 0; i < count; i++) {
        char name[DOTTED_KEY];
        item_name(value, where, i, name);
        LIANA_TRY(read_int(field, list_item(value, i), name, &items[i], error));
    }
    *integers = (liana__integers){.count = count, .items = items};
    return LIANA_OK;
}

static liana_status read_strings(const liana__field *field, const liana__value *value, const char *where,
                                 liana__arena *arena, liana__strings *strings, liana__error *error)
{
    size_t count = list_count(value);
    const char **items = liana__arena_allocate(arena, (count + 1) * sizeof *items);
    if (!items) return liana__fail_memory(error, where);
    for (size_t i = 0; i < count; i++) {
        char name[DOTTED_KEY];
        item_name(value, where, i, name);
        LIANA_TRY(read_text(field, list_item(value, i), name, arena, &items[i], error));
    }
    *strings = (liana__strings){.count = count, .items = items};
    return LIANA_OK;
}

/* A 0 would end the list; no option names the batch. */
static liana_status read_axes(const liana__field *field, const liana__value *value, const char *where, int64_t *axes,
                              liana__error *error)
{
    const size_t count = list_count(value);
    if (count > LIANA_MAX_AXES) {
        char expected[DESCRIPTION];
        snprintf(expected, sizeof expected, "a list of at most %d axes", LIANA_MAX_AXES);
        return fail_kind(error, value, where, expected);
    }
    memset(axes, 0, LIANA_MAX_AXES * sizeof *axes);
    for (size_t i = 0; i < count; i++) {
        char name[DOTTED_KEY];
        item_name(value, where, i, name);
        LIANA_TRY(read_int(field, list_item(value, i), name, &axes[i], error));
        if (axes[i]) continue;
        return liana__fail_at(
            error, &value->place, name,
            "found 0, the batch, expected axes from 1 on, or negative ones, which count from the end");
    }
    return LIANA_OK;
}

static size_t count_axes(const int64_t *axes)
{
    size_t count = 0;
    while (count < LIANA_MAX_AXES && axes[count]) count++;
    return count;
}

enum { DEEPEST_FLOATS = 8 };

static size_t count_floats(const liana__value *value, int depth)
{
    if (value->kind != LIANA__VALUE_LIST || depth == DEEPEST_FLOATS) return 1;
    size_t count = 0;
    for (size_t i = 0; i < value->count; i++) count += count_floats(value->items[i], depth + 1);
    return count;
}

/* `next` advances behind the numbers that are read. */
static liana_status fill_floats(const liana__field *field, const liana__value *value, const char *where, int depth,
                                double **next, liana__error *error)
{
    if (value->kind != LIANA__VALUE_LIST || depth == DEEPEST_FLOATS) {
        return read_float(field, value, where, (*next)++, error);
    }
    for (size_t i = 0; i < value->count; i++) {
        char name[DOTTED_KEY];
        item_name(value, where, i, name);
        LIANA_TRY(fill_floats(field, value->items[i], name, depth + 1, next, error));
    }
    return LIANA_OK;
}

static liana_status read_floats(const liana__field *field, const liana__value *value, const char *where,
                                liana__arena *arena, liana__floats *floats, liana__error *error)
{
    const size_t count = count_floats(value, 0);
    double *items = liana__arena_allocate(arena, (count + 1) * sizeof *items), *next = items;
    if (!items) return liana__fail_memory(error, where);
    LIANA_TRY(fill_floats(field, value, where, 0, &next, error));
    *floats = (liana__floats){.count = count, .items = items};
    return LIANA_OK;
}

static bool is_optional_float(const liana__field *field)
{
    return field->kind == LIANA__FIELD_FLOAT && field->default_text && strcmp(field->default_text, "null") == 0;
}

static bool null_means_not_given(const liana__field *field)
{
    switch (field->kind) {
    case LIANA__FIELD_STRING:
    case LIANA__FIELD_PATH:
    case LIANA__FIELD_INTS:
    case LIANA__FIELD_STRINGS:
    case LIANA__FIELD_PATHS:
    case LIANA__FIELD_VALUE:
    case LIANA__FIELD_FLOATS:
    case LIANA__FIELD_INTEGERS:
    case LIANA__FIELD_AXES:
    case LIANA__FIELD_LAYER:
    case LIANA__FIELD_LAYERS:
    case LIANA__FIELD_SECTION: return true;
    default: return is_optional_float(field);
    }
}

static size_t kind_size(const liana__field *field)
{
    switch (field->kind) {
    case LIANA__FIELD_INTS: return sizeof(liana__ints);
    case LIANA__FIELD_STRINGS:
    case LIANA__FIELD_PATHS: return sizeof(liana__strings);
    case LIANA__FIELD_FLOATS: return sizeof(liana__floats);
    case LIANA__FIELD_INTEGERS: return sizeof(liana__integers);
    case LIANA__FIELD_AXES: return LIANA_MAX_AXES * sizeof(int64_t);
    case LIANA__FIELD_SECTION: return field->section->size;
    case LIANA__FIELD_LAYER: return sizeof(liana_held_layer);
    case LIANA__FIELD_LAYERS: return sizeof(liana_held_layers);
    default: return sizeof(void *);
    }
}

/* Reads one member from its value, or from null ("not given"). */
static liana_status read_member(const liana__field *field, const liana__value *value, const char *where,
                                liana__arena *arena, void *member, liana__error *error)
{
    if (value->kind == LIANA__VALUE_NULL && null_means_not_given(field)) {
        if (field->required) {
            return liana__fail_at(error, &value->place, where, "found null, but a value is needed: %s", field->doc);
        }
        if (field->kind == LIANA__FIELD_SECTION) return liana__fields_default(field->section, arena, member, error);
        memset(member, 0, kind_size(field));
        if (field->kind == LIANA__FIELD_FLOAT) *(double *)member = NAN;
        return LIANA_OK;
    }
    switch (field->kind) {
    case LIANA__FIELD_BOOL:
        if (value->kind != LIANA__VALUE_BOOL) return fail_kind(error, value, where, "true or false");
        *(bool *)member = value->boolean;
        return LIANA_OK;
    case LIANA__FIELD_INT: return read_int(field, value, where, member, error);
    case LIANA__FIELD_FLOAT: return read_float(field, value, where, member, error);
    case LIANA__FIELD_STRING:
    case LIANA__FIELD_PATH: return read_text(field, value, where, arena, member, error);
    case LIANA__FIELD_ENUM: return read_enum(field, value, where, member, error);
    case LIANA__FIELD_INT_SINGLE:
    case LIANA__FIELD_INT_PAIR:
    case LIANA__FIELD_INT_TRIPLE: return read_few_ints(field, value, where, member, error);
    case LIANA__FIELD_INTS: return read_ints(field, value, where, member, error);
    case LIANA__FIELD_STRINGS:
    case LIANA__FIELD_PATHS: return read_strings(field, value, where, arena, member, error);
    case LIANA__FIELD_FLOATS: return read_floats(field, value, where, arena, member, error);
    case LIANA__FIELD_INTEGERS: return read_integers(field, value, where, arena, member, error);
    case LIANA__FIELD_AXES: return read_axes(field, value, where, member, error);
    case LIANA__FIELD_LAYER:
    case LIANA__FIELD_LAYERS: /* begin with their value */
    case LIANA__FIELD_VALUE: *(const liana__value **)member = value; return LIANA_OK;
    case LIANA__FIELD_SECTION: return liana__fields_read(field->section, value, where, NULL, arena, member, error);
    }
    return liana__fail(error, LIANA_INTERNAL, "%s: a field of kind %d", where, (int)field->kind);
}

static liana__value *parse_default_word(const liana__field *field, liana__arena *arena, const char *word)
{
    bool is_text = field->kind == LIANA__FIELD_STRING || field->kind == LIANA__FIELD_PATH ||
                   field->kind == LIANA__FIELD_STRINGS || field->kind == LIANA__FIELD_PATHS ||
                   field->kind == LIANA__FIELD_ENUM;
    return is_text ? liana__value_string(arena, word) : liana__value_from_word(arena, word);
}

/* "word" or "[word, word]". */
static liana__value *parse_default(const liana__field *field, liana__arena *arena)
{
    const char *text = field->default_text;
    if (*text != '[') return parse_default_word(field, arena, text);
    liana__value *list = liana__value_list(arena);
    for (text++; list && *text && *text != ']';) {
        text += strspn(text, ", ");
        size_t length = strcspn(text, ",]");
        char *word = liana__arena_format(arena, "%.*s", (int)length, text);
        if (length && word) liana__value_add(arena, list, parse_default_word(field, arena, word));
        text += length;
    }
    return arena->failed ? NULL : list;
}

static const char *name_of(const liana__fields *fields)
{
    return fields->name ? fields->name : "an option";
}

liana_status liana__fields_default(const liana__fields *fields, liana__arena *arena, void *object, liana__error *error)
{
    memset(object, 0, fields->size);
    for (size_t i = 0; i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        void *member = (char *)object + field->offset;
        if (field->kind == LIANA__FIELD_SECTION) {
            LIANA_TRY(liana__fields_default(field->section, arena, member, error));
        } else if (field->default_text) {
            liana__value *value = parse_default(field, arena);
            if (!value) return liana__fail_memory(error, name_of(fields));
            if (read_member(field, value, field->name, arena, member, error) != LIANA_OK) {
                if (error) error->status = LIANA_INTERNAL;
                return error ? liana__fail_within(error, "the default of %s", name_of(fields)) : LIANA_INTERNAL;
            }
        }
    }
    return LIANA_OK;
}

/* `ignored`: keys that another reader takes, or NULL. */
static liana_status fail_unknown(const liana__fields *fields, const liana__value *map, size_t index, const char *where,
                                 const char *const *ignored, liana__error *error)
{
    const char *key = map->keys[index];
    liana__nearest_search search = liana__nearest_begin_known(key);
    for (size_t i = 0; i < fields->count; i++) liana__nearest_add_known(&search, fields->items[i].name);
    for (; ignored && *ignored; ignored++) liana__nearest_add_known(&search, *ignored);
    const char *nearest = search.nearest;
    LIANA__SCOPED(liana__text) known = {0};
    for (size_t i = 0; i < fields->count; i++) {
        liana__text_add(&known, "%s%s", i ? ", " : "", fields->items[i].name);
    }
    const liana__place *place = &map->key_places[index];
    if (nearest) return liana__fail_at(error, place, where, "unknown key '%.100s'; did you mean '%s'?", key, nearest);
    return liana__fail_at(error, place, where, "unknown key '%.100s'; %s%s", key,
                          fields->count ? "the known keys are " : "there are no keys here",
                          known.data ? known.data : "");
}

static liana_status check_keys(const liana__fields *fields, const liana__value *map, const char *where,
                               const char *const *ignored, liana__error *error)
{
    for (size_t i = 0; i < map->count; i++) {
        bool known = liana__fields_find(fields, map->keys[i]) != NULL;
        for (const char *const *name = ignored; !known && name && *name; name++) {
            known = strcmp(*name, map->keys[i]) == 0;
        }
        if (!known) return fail_unknown(fields, map, i, where, ignored, error);
    }
    return LIANA_OK;
}

liana_status liana__fields_read(const liana__fields *fields, const liana__value *map, const char *where,
                                const char *const *ignored, liana__arena *arena, void *object, liana__error *error)
{
    LIANA_TRY(liana__fields_default(fields, arena, object, error));
    static const liana__value nothing = {.kind = LIANA__VALUE_MAP};
    if (!map) map = &nothing;
    if (map->kind != LIANA__VALUE_MAP) return fail_kind(error, map, where, "a mapping (key: value)");
    LIANA_TRY(check_keys(fields, map, where, ignored, error));
    for (size_t i = 0; i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        const liana__value *value = liana__value_get(map, field->name);
        if (!value) {
            if (!field->required) continue;
            return liana__fail_at(error, &map->place, where, "the key '%s' is missing: %s", field->name, field->doc);
        }
        char name[DOTTED_KEY];
        snprintf(name, sizeof name, "%s%s%s", where ? where : "", where && *where ? "." : "", field->name);
        LIANA_TRY(read_member(field, value, name, arena, (char *)object + field->offset, error));
    }
    return LIANA_OK;
}

static liana__value *write_ints(liana__arena *arena, const int64_t *values, size_t count)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; i < count; i++) liana__value_add(arena, list, liana__value_int(arena, values[i]));
    return list;
}

static liana__value *write_floats(liana__arena *arena, const liana__floats *floats)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; i < floats->count; i++) {
        liana__value_add(arena, list, liana__value_float(arena, floats->items[i]));
    }
    return list;
}

static liana__value *write_text(liana__arena *arena, const char *text)
{
    return text ? liana__value_string(arena, text) : liana__value_null(arena);
}

static liana__value *write_strings(liana__arena *arena, const liana__strings *strings)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; i < strings->count; i++) liana__value_add(arena, list, write_text(arena, strings->items[i]));
    return list;
}

static liana__value *write_member(const liana__field *field, liana__arena *arena, const void *member)
{
    switch (field->kind) {
    case LIANA__FIELD_BOOL: return liana__value_bool(arena, *(const bool *)member);
    case LIANA__FIELD_INT: return liana__value_int(arena, *(const int64_t *)member);
    case LIANA__FIELD_FLOAT:
        if (isnan(*(const double *)member)) return liana__value_null(arena);
        return liana__value_float(arena, *(const double *)member);
    case LIANA__FIELD_STRING:
    case LIANA__FIELD_PATH: return write_text(arena, *(const char *const *)member);
    case LIANA__FIELD_ENUM: return liana__value_string(arena, field->names[*(const int *)member]);
    case LIANA__FIELD_INT_SINGLE:
    case LIANA__FIELD_INT_PAIR:
    case LIANA__FIELD_INT_TRIPLE: return write_ints(arena, member, liana__field_num_ints(field->kind));
    case LIANA__FIELD_INTS:
        return write_ints(arena, ((const liana__ints *)member)->values, (size_t)((const liana__ints *)member)->count);
    case LIANA__FIELD_STRINGS:
    case LIANA__FIELD_PATHS: return write_strings(arena, member);
    case LIANA__FIELD_FLOATS: return write_floats(arena, member);
    case LIANA__FIELD_INTEGERS:
        return write_ints(arena, ((const liana__integers *)member)->items, ((const liana__integers *)member)->count);
    case LIANA__FIELD_AXES: return write_ints(arena, member, count_axes(member));
    case LIANA__FIELD_LAYER:
    case LIANA__FIELD_LAYERS:
    case LIANA__FIELD_VALUE: return liana__value_copy(arena, *(const liana__value *const *)member);
    case LIANA__FIELD_SECTION: return liana__fields_write(field->section, arena, member);
    }
    return NULL;
}

liana__value *liana__fields_write(const liana__fields *fields, liana__arena *arena, const void *object)
{
    liana__value *map = liana__value_map(arena);
    for (size_t i = 0; i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        const void *member = (const char *)object + field->offset;
        liana__value_append(arena, map, field->name, NULL, write_member(field, arena, member));
    }
    return map;
}
