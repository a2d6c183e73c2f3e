/* Reads the vocabularies of a .keras file: assets/layers/string_lookup_1/vocabulary.txt is that of the second
 * StringLookup in the order of the layers, one text in each line. */
#include "train/model/keras_assets.h"

#include "base/scoped.h"
#include "base/text.h"
#include "base/value_read.h"
#include "formats/hdf5.h"
#include "formats/zip.h"
#include "layers/model.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana__hdf5_close, liana__hdf5)

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
static liana__value *read_lines(const char *bytes, size_t size, bool are_numbers, liana__arena *arena)
{
    liana__value *list = liana__value_list(arena);
    while (size && bytes[size - 1] == '\n') size--;
    for (const char *line = bytes; list && line <= bytes + size;) {
        const char *end = memchr(line, '\n', (size_t)(bytes + size - line));
        if (!end) end = bytes + size;
        const char *text = liana__arena_format(arena, "%.*s", (int)(end - line), line);
        if (!text) return NULL;
        liana__value_add(arena, list,
                         are_numbers ? liana__value_from_word(arena, text) : liana__value_string(arena, text));
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
    /* An IntegerLookup has whole numbers, and vocabulary_dtype says so. */
    const bool are_numbers = strcmp(liana__value_text_of(config, "vocabulary_dtype", "string"), "int64") == 0;
    liana__value *list = read_lines(bytes, entry->size, are_numbers, arena);
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

/* ---- the weights of tf_idf, which are among the variables ---- */

static bool needs_weights(const liana__value *config)
{
    const liana__value *known = liana__value_get(config, "idf_weights");
    return strcmp(liana__value_text_of(config, "output_mode", ""), "tf_idf") == 0 &&
           !(known && known->kind == LIANA__VALUE_LIST);
}

static liana_status read_weights(const liana__hdf5 *file, const liana__hdf5_weight *weight, liana__value *config,
                                 liana__arena *arena, liana__error *error)
{
    const size_t count = (size_t)weight->data.num_elements;
    float *values = liana__arena_allocate(arena, (count + 1) * sizeof *values);
    liana__value *list = liana__value_list(arena);
    if (!values || !list) return liana__fail_memory(error, "a vocabulary");
    LIANA_TRY(liana__hdf5_read(file, weight, values, error));
    for (size_t i = 0; i < count; i++) liana__value_add(arena, list, liana__value_float(arena, values[i]));
    list->place = config->place;
    liana__value_set(arena, config, "idf_weights", list);
    return arena->failed ? liana__fail_memory(error, "a vocabulary") : LIANA_OK;
}

/* `layer` is the last part of the layer's path. */
static liana_status find_weights(const char *path, const char *layer, liana__value *config, liana__arena *arena,
                                 liana__error *error)
{
    LIANA__SCOPED_BY(liana__hdf5_close_scoped) liana__hdf5 *file = NULL;
    LIANA_TRY(liana__hdf5_open(path, &file, error));
    const liana__hdf5_contents *contents = liana__hdf5_get_contents(file);
    for (size_t i = 0; i < contents->num_layers; i++) {
        const liana__hdf5_layer *found = &contents->layers[i];
        const char *slash = found->path ? strrchr(found->path, '/') : NULL;
        if (!slash || strcmp(slash + 1, layer) != 0 || found->model) continue;
        for (size_t k = 0; k < found->num_weights; k++) {
            if (strcmp(found->weights[k].name, "idf_weights") != 0) continue;
            return read_weights(file, &found->weights[k], config, arena, error);
        }
    }
    return LIANA_OK;
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
        const bool is_known = known && known->kind == LIANA__VALUE_LIST;
        if (!has_vocabulary(class_name) || !config || (is_known && !needs_weights(config))) continue;
        if (!archive) LIANA_TRY(liana__zip_open(path, &archive, error));
        char snake[64], number[24] = "";
        liana__snake_case(class_name, snake, sizeof snake);
        const size_t before = number_of(layers, i, class_name);
        if (before) snprintf(number, sizeof number, "_%zu", before);
        const char *layer = liana__arena_format(arena, "%s%s", snake, number);
        const char *name = liana__arena_format(arena, "assets/layers/%s%s/vocabulary.txt", snake, number);
        if (!name || !layer) return liana__fail_memory(error, "a vocabulary");
        if (!is_known) LIANA_TRY(read_one(archive, path, name, config, arena, error));
        if (needs_weights(config)) LIANA_TRY(find_weights(path, layer, config, arena, error));
    }
    return LIANA_OK;
}
