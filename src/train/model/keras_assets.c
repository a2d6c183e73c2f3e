/* Reads the vocabularies of a .keras file: assets/layers/string_lookup_1/vocabulary.txt is that of the second
 * StringLookup in the order of the layers, one text in each line. */
#include "train/model/keras_assets.h"

#include "base/scoped.h"
#include "base/text.h"
#include "base/value_read.h"
#include "formats/zip.h"
#include "layers/model.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void close_archive(liana__zip **archive)
{
    if (*archive) liana__zip_close(*archive);
}

static bool has_vocabulary(const char *class_name)
{
    static const char *const names[] = {"StringLookup", "TextVectorization", "IntegerLookup"};
    for (size_t i = 0; class_name && i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], class_name) == 0) return true;
    }
    return false;
}

/* Keras leaves out empty lines at the end. */
static liana__value *read_lines(const char *bytes, size_t size, liana__arena *arena)
{
    liana__value *list = liana__value_list(arena);
    while (size && bytes[size - 1] == '\n') size--;
    for (const char *line = bytes; list && line <= bytes + size;) {
        const char *end = memchr(line, '\n', (size_t)(bytes + size - line));
        if (!end) end = bytes + size;
        const char *text = liana__arena_format(arena, "%.*s", (int)(end - line), line);
        if (!text) return NULL;
        liana__value_add(arena, list, liana__value_string(arena, text));
        line = end + 1;
    }
    return arena->failed ? NULL : list;
}

static liana_status read_one(const liana__zip *archive, const char *path, const char *name, liana__value *config,
                             liana__arena *arena, liana__error *error)
{
    const liana__zip_entry *entry = liana__zip_find(archive, name);
    LIANA__SCOPED_MEMORY char *bytes = NULL;
    if (!entry) return LIANA_OK;
    LIANA_TRY(liana__zip_read(archive, entry, &bytes, error));
    if (memchr(bytes, 0, entry->size)) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s': %s holds bytes of 0, expected a text in each line", path,
                           name);
    }
    liana__value *list = read_lines(bytes, entry->size, arena);
    if (!list) return liana__fail_memory(error, "a vocabulary");
    list->place = config->place;
    liana__value_set(arena, config, "vocabulary", list);
    return arena->failed ? liana__fail_memory(error, "a vocabulary") : LIANA_OK;
}

/* How many layers of the class stand before layer `index`. */
static size_t number_of(const liana__value *layers, size_t index, const char *class_name)
{
    size_t number = 0;
    for (size_t i = 0; i < index; i++) {
        number += strcmp(liana__value_text_of(layers->items[i], "class_name", ""), class_name) == 0;
    }
    return number;
}

liana_status liana__keras_read_assets(const char *path, liana__value *architecture, liana__arena *arena,
                                      liana__error *error)
{
    __attribute__((cleanup(close_archive))) liana__zip *archive = NULL;
    const liana__value *layers = liana__value_list_of(liana__value_get(architecture, "config"), "layers");
    for (size_t i = 0; layers && i < layers->count; i++) {
        const char *class_name = liana__value_text_of(layers->items[i], "class_name", NULL);
        liana__value *config = (liana__value *)(uintptr_t)liana__value_get(layers->items[i], "config");
        const liana__value *known = config ? liana__value_get(config, "vocabulary") : NULL;
        if (!has_vocabulary(class_name) || !config || (known && known->kind == LIANA__VALUE_LIST)) continue;
        if (!archive) LIANA_TRY(liana__zip_open(path, &archive, error));
        char snake[64], number[24] = "";
        liana__snake_case(class_name, snake, sizeof snake);
        const size_t before = number_of(layers, i, class_name);
        if (before) snprintf(number, sizeof number, "_%zu", before);
        const char *name = liana__arena_format(arena, "assets/layers/%s%s/vocabulary.txt", snake, number);
        if (!name) return liana__fail_memory(error, "a vocabulary");
        LIANA_TRY(read_one(archive, path, name, config, arena, error));
    }
    return LIANA_OK;
}
