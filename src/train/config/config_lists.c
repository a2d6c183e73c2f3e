/* Lists that stand in files of their own: the names of classes, and vocabularies. */
#include "train/config/config_internal.h"

#include "base/scoped.h"
#include "base/utf8.h"
#include "formats/yaml.h"
#include "remote/remote.h"

#include <stdlib.h>
#include <string.h>

/* The files of a configuration. */
typedef struct lists {
    liana__remote_options remote;
    liana__arena *arena;
    liana__error *error;
} lists;

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

/* One text per line; spaces around it and empty lines at the end do not count. */
static liana_status split_lines(const char *path, const char *text, size_t size, const char *what, liana__arena *arena,
                                liana__value *list, liana__error *error)
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
            return liana__fail(error, LIANA_INVALID_CONFIG, "%s:%zu: found %s, expected %s %zu", path, line,
                               length ? "bytes that are not UTF-8" : "an empty line", what, line - 1);
        }
        const char *line_text = liana__arena_format(arena, "%.*s", (int)length, start);
        liana__value_add(arena, list, line_text ? liana__value_string(arena, line_text) : NULL);
        at = stop + 1;
    }
    if (arena->failed) return liana__fail_memory(error, what);
    if (list->count) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "%s: found no line, expected %s 0", path, what);
}

/* The list in the file that `value` names, as if it stood in its place; `what` one of its texts is, and `key` is
 * where. */
static liana_status read_list(const lists *own, const liana__value *value, const char *key, const char *what,
                              liana__value **list)
{
    const char *folder = value->place.line > 0 ? liana__path_folder(own->arena, value->place.file) : NULL;
    const char *path =
        folder && strcmp(folder, ".") != 0 ? liana__path_join(own->arena, folder, value->string) : value->string;
    const char *shown = path ? liana__path_shown(own->arena, path) : NULL;
    LIANA__SCOPED_MEMORY char *text = NULL;
    size_t size;
    *list = liana__value_list(own->arena);
    if (!*list || !shown) return liana__fail_memory(own->error, what);
    liana_status status = liana__remote_read(path, &own->remote, LIANA__YAML_MAX_SIZE, &text, &size, own->error);
    if (status == LIANA_OK) status = split_lines(shown, text, size, what, own->arena, *list, own->error);
    if (status != LIANA_OK) {
        char reason[sizeof own->error->message];
        strcpy(reason, own->error ? own->error->message : "");
        return liana__fail_at(own->error, &value->place, NULL, "%s: %s", key, reason);
    }
    (*list)->place = value->place;
    for (size_t i = 0; i < (*list)->count; i++) (*list)->items[i]->place = value->place;
    return LIANA_OK;
}

static liana_status replace_list(const lists *own, liana__value *map, const char *key, const char *shown_key,
                                 const char *what)
{
    const liana__value *value = liana__value_get(map, key);
    liana__value *list;
    if (!value || value->kind != LIANA__VALUE_STRING) return LIANA_OK;
    LIANA_TRY(read_list(own, value, shown_key, what, &list));
    map->items[liana__config_find_key(map, key, strlen(key))] = list;
    return LIANA_OK;
}

static bool is_layer(const char *key, const char *const *names)
{
    while (*names && strcmp(*names, key) != 0) names++;
    return *names != NULL;
}

/* Whole numbers in place of their texts. */
static void read_numbers(const lists *own, liana__value *list)
{
    for (size_t i = 0; list && list->kind == LIANA__VALUE_LIST && i < list->count; i++) {
        if (list->items[i]->kind != LIANA__VALUE_STRING) continue;
        liana__value *number = liana__value_from_word(own->arena, list->items[i]->string);
        if (!number) return;
        number->place = list->items[i]->place;
        list->items[i] = number;
    }
}

/* Of the layers in a tree that have one. */
static liana_status read_vocabularies(const lists *own, liana__value *tree, int depth)
{
    static const char *const of_texts[] = {"StringLookup", "TextVectorization", "string_lookup", "text_vectorization",
                                           NULL};
    static const char *const of_numbers[] = {"IntegerLookup", "integer_lookup", NULL};
    enum { MOST_DEPTH = 64 };
    const bool has_items = tree && (tree->kind == LIANA__VALUE_MAP || tree->kind == LIANA__VALUE_LIST);
    for (size_t i = 0; has_items && depth < MOST_DEPTH && i < tree->count; i++) {
        liana__value *item = tree->items[i];
        const char *key = tree->kind == LIANA__VALUE_MAP ? tree->keys[i] : "";
        const bool has_numbers = is_layer(key, of_numbers);
        if (item->kind == LIANA__VALUE_MAP && (has_numbers || is_layer(key, of_texts))) {
            const liana__value *value = liana__value_get(item, "vocabulary");
            const bool is_file = value && value->kind == LIANA__VALUE_STRING;
            LIANA_TRY(replace_list(own, item, "vocabulary", "vocabulary", "a text of the vocabulary"));
            if (has_numbers && is_file)
                read_numbers(own, (liana__value *)(uintptr_t)liana__value_get(item, "vocabulary"));
        }
        LIANA_TRY(read_vocabularies(own, item, depth + 1));
    }
    return LIANA_OK;
}

liana_status liana__config_read_lists(liana__value *root, liana__arena *arena, liana__error *error)
{
    const liana__value *data = liana__value_get(root, "data"), *cache = liana__value_get(data, "remote_cache");
    const liana__value *columns = liana__value_get(data, "columns");
    const lists own = {
        .remote = {.cache_folder = cache && cache->kind == LIANA__VALUE_STRING ? cache->string : NULL},
        .arena = arena,
        .error = error,
    };
    if (data) {
        LIANA_TRY(replace_list(&own, (liana__value *)(uintptr_t)data, "class_names", "data.class_names",
                               "the name of class"));
    }
    for (size_t i = 0; columns && columns->kind == LIANA__VALUE_MAP && i < columns->count; i++) {
        if (columns->items[i]->kind != LIANA__VALUE_MAP) continue;
        LIANA_TRY(replace_list(&own, columns->items[i], "vocabulary", "vocabulary", "a text of the vocabulary"));
    }
    return read_vocabularies(&own, (liana__value *)(uintptr_t)liana__value_get(root, "model"), 0);
}
