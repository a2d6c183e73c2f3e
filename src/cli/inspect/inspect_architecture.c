/* Describes architecture files for liana inspect: the layers as the file has them, also those that liana does not. */
#include "base/value_read.h"
#include "cli/inspect/inspect.h"
#include "formats/json.h"

enum { MOST_DEPTH = 32 };

static void add_layers(const liana__value *model, const char *within, liana__value *rows, liana__arena *arena,
                       int depth)
{
    const liana__value *config = liana__value_get(model, "config"), *layers = liana__value_get(config, "layers");
    if (config && config->kind == LIANA__VALUE_LIST) layers = config;
    for (size_t i = 0; layers && layers->kind == LIANA__VALUE_LIST && i < layers->count; i++) {
        const liana__value *layer = layers->items[i], *options = liana__value_get(layer, "config");
        const char *name = liana__value_text_of(options, "name", liana__value_text_of(layer, "name", "?"));
        liana__value *row = liana__value_map(arena);
        if (!row) return;
        liana__findings_text(arena, row, "layer", name);
        liana__findings_text(arena, row, "class", liana__value_text_of(layer, "class_name", "?"));
        if (within) liana__findings_text(arena, row, "model", within);
        liana__value_add(arena, rows, row);
        if (depth < MOST_DEPTH) add_layers(layer, name, rows, arena, depth + 1);
    }
}

liana_status liana__inspect_architecture(const char *path, liana__value *report, liana__arena *arena,
                                         liana__error *error)
{
    liana__value *root, *rows = liana__value_list(arena);
    LIANA_TRY(liana__json_read(path, arena, &root, error));
    const liana__value *model = root, *inner = liana__value_get(root, "modelTopology");
    const bool is_tfjs = inner != NULL;
    if (inner) model = inner;
    const liana__value *wrapper = model;
    inner = liana__value_get(model, "model_config");
    if (inner) model = inner;
    const char *class_name = liana__value_text_of(model, "class_name", NULL);
    if (!class_name || !liana__value_get(model, "config")) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s' is a JSON file without the architecture of a model, {\"class_name\": ..., \"config\": "
                           "...}; inspect describes no other JSON",
                           path);
    }
    const char *version = liana__value_text_of(model, "keras_version", NULL);
    if (!version) version = liana__value_text_of(wrapper, "keras_version", NULL);
    liana__findings_text(arena, report, "kind", is_tfjs ? "TensorFlow.js layers model" : "Keras architecture");
    if (version) liana__findings_text(arena, report, "keras_version", version);
    liana__findings_text(arena, report, "class", class_name);
    liana__findings_text(arena, report, "name", liana__value_text_of(liana__value_get(model, "config"), "name", "?"));
    add_layers(model, NULL, rows, arena, 0);
    if (!rows || arena->failed) return liana__fail_memory(error, path);
    liana__value_set(arena, report, "layers", rows);
    return LIANA_OK;
}
