/* JSON through jansson. */
#include "formats/json.h"

#include "base/field.h"
#include "base/file.h"
#include "base/scoped.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Converts a value. jansson's own depth limit (2048) protects the parser's stack. Ours is lower, so that later
 * recursive walks are safe too. NULL: out of memory. */
static liana__value *convert(const json_t *json, const liana__place *place, liana__arena *arena)
{
    liana__value *value = NULL;
    const char *key;
    json_t *item;
    size_t index;
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        value = liana__value_map(arena);
        json_object_foreach((json_t *)json, key, item)
        {
            liana__value_append(arena, value, key, place, convert(item, place, arena));
        }
        break;
    case JSON_ARRAY:
        value = liana__value_list(arena);
        json_array_foreach(json, index, item) liana__value_add(arena, value, convert(item, place, arena));
        break;
    case JSON_STRING: value = liana__value_string(arena, json_string_value(json)); break;
    case JSON_INTEGER: value = liana__value_int(arena, json_integer_value(json)); break;
    case JSON_REAL: value = liana__value_float(arena, json_real_value(json)); break;
    case JSON_TRUE:
    case JSON_FALSE: value = liana__value_bool(arena, json_is_true(json)); break;
    case JSON_NULL: value = liana__value_null(arena); break;
    }
    if (value) value->place = *place;
    return value;
}

static int depth_of(const json_t *json, int limit)
{
    int deepest = 0;
    const char *key;
    json_t *item;
    size_t index;
    if (limit == 0) return 0;
    json_object_foreach((json_t *)json, key, item)
    {
        int depth = depth_of(item, limit - 1);
        if (depth > deepest) deepest = depth;
    }
    json_array_foreach(json, index, item)
    {
        int depth = depth_of(item, limit - 1);
        if (depth > deepest) deepest = depth;
    }
    return deepest + (json_is_object(json) || json_is_array(json));
}

/* The least memory of the value that a character of JSON begins, in bytes: jansson's value, ours, and the pointers to
 * them. The kind of a value that follows a comma is not known yet. */
enum { OBJECT_BYTES = 360, ARRAY_BYTES = 260, KEY_BYTES = 150, NEXT_BYTES = 170 };

/* Where the text that begins at `at` ends: behind its closing quote, or at the end of all. */
static size_t skip_string(const char *text, size_t size, size_t at)
{
    for (at++; at < size && text[at] != '"'; at++) at += text[at] == '\\';
    return at;
}

liana_status liana__json_check_memory(const char *text, size_t size, const char *file, liana__error *error)
{
    /* Texts are there three times: in the file, in jansson's values, and in ours. */
    uint64_t bytes = 3 * (uint64_t)size, values = 1;
    for (size_t i = 0; i < size; i++) {
        switch (text[i]) {
        case '"': i = skip_string(text, size, i); break;
        case '{': bytes += OBJECT_BYTES; break;
        case '[': bytes += ARRAY_BYTES; break;
        case ':': bytes += KEY_BYTES; break;
        case ',':
            bytes += NEXT_BYTES;
            values++;
            break;
        default: break;
        }
    }
    if (bytes <= LIANA__JSON_MAX_MEMORY) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_RANGE,
                       "%s: about %llu values of JSON, which would take %llu MB of memory, expected at most %d MB",
                       file, (unsigned long long)values, (unsigned long long)(bytes >> 20),
                       LIANA__JSON_MAX_MEMORY >> 20);
}

liana_status liana__json_parse(const char *text, size_t size, const char *file, liana__arena *arena,
                               liana__value **value, liana__error *error)
{
    *value = NULL;
    liana__place place = {.file = liana__arena_string(arena, file ? file : "JSON")};
    if (!place.file) return liana__fail_memory(error, "a JSON text");
    if (size > LIANA__JSON_MAX_SIZE) {
        return liana__fail(error, LIANA_INVALID_DATA, "%s: %zu bytes of JSON, expected at most %d", place.file, size,
                           LIANA__JSON_MAX_SIZE);
    }
    /* The mark that some editors put before UTF-8. */
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        size -= 3;
    }
    LIANA_TRY(liana__json_check_memory(text, size, place.file, error));
    json_error_t problem;
    json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
    if (!json) {
        bool memory = json_error_code(&problem) == json_error_out_of_memory;
        if (memory) return liana__fail_memory(error, "a JSON text");
        return liana__fail(error, LIANA_INVALID_DATA, "%s:%d:%d: not valid JSON: %s", place.file,
                           problem.line > 0 ? problem.line : 1, problem.column > 0 ? problem.column : 1, problem.text);
    }
    if (depth_of(json, LIANA__JSON_MAX_DEPTH + 1) > LIANA__JSON_MAX_DEPTH) {
        json_decref(json);
        return liana__fail(error, LIANA_INVALID_DATA, "%s: JSON more than %d lists and objects deep", place.file,
                           LIANA__JSON_MAX_DEPTH);
    }
    *value = convert(json, &place, arena);
    json_decref(json);
    if (*value && !arena->failed) return LIANA_OK;
    *value = NULL;
    return liana__fail_memory(error, "a JSON text");
}

liana_status liana__json_read(const char *path, liana__arena *arena, liana__value **value, liana__error *error)
{
    char *text;
    size_t size;
    *value = NULL;
    LIANA_TRY(liana__file_read(path, LIANA__JSON_MAX_SIZE, &text, &size, error));
    liana_status status = liana__json_parse(text, size, path, arena, value, error);
    free(text);
    return status;
}

liana_status liana__json_write(const char *path, const liana__value *value, liana__error *error)
{
    LIANA__SCOPED(liana__text) text = {0};
    if (value) liana__value_write_json(value, 2, &text);
    if (!value || text.failed) return liana__fail_memory(error, path);
    return liana__file_replace(path, text.data, text.length, error);
}

const char *liana__json_line(const liana__value *value, liana__arena *arena)
{
    LIANA__SCOPED(liana__text) text = {0};
    liana__value_write_json(value, 0, &text);
    return text.failed ? NULL : liana__arena_string(arena, text.data);
}
