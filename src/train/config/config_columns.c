/* Reads which components the data have, and which inputs and outputs of the model they are. */
#include "train/config/config_internal.h"

#include "base/value_read.h"

#include <string.h>

/* ---- columns ---- */

/* Whether a layer of the list has the name: its vocabulary is found later. */
static bool names_layer(const liana__value *layers, const char *name)
{
    for (size_t i = 0; layers && i < layers->count; i++) {
        const liana__value *entry = layers->items[i];
        const liana__value *options = entry->kind == LIANA__VALUE_MAP && entry->count == 1 ? entry->items[0] : NULL;
        if (strcmp(liana__value_text_of(options, "name", ""), name) == 0) return true;
    }
    return false;
}

/* The size of a category in place of each {vocabulary: COMPONENT} in a tree of layers. Changes the tree. */
static liana_status fill_sizes(const liana__config *config, liana__value *value, liana__error *error)
{
    const liana__value *name =
        value->kind == LIANA__VALUE_MAP && value->count == 1 ? liana__value_get(value, "vocabulary") : NULL;
    if (!name || name->kind != LIANA__VALUE_STRING) {
        for (size_t i = 0; i < value->count; i++) LIANA_TRY(fill_sizes(config, value->items[i], error));
        return LIANA_OK;
    }
    const liana__column *column = liana__columns_get(&config->data.components, name->string);
    const int64_t bins = !column ? 0 : column->hash_bins ? column->hash_bins : column->cross;
    const int64_t binned = column && column->num_boundaries ? (int64_t)column->num_boundaries + 1 : bins;
    if (!column && names_layer(config->model.layers, name->string)) return LIANA_OK;
    if (!column || (!column->category && !binned)) {
        return liana__fail_at(
            error, &value->place, "model.layers",
            "found 'vocabulary: %.100s', expected a component of data.columns with 'category: true' or "
            "bins",
            name->string);
    }
    if (column->category && !column->vocabulary.count) return LIANA_OK; /* the data will have it */
    const int64_t count = column->category ? (int64_t)column->vocabulary.count : binned;
    *value = (liana__value){.kind = LIANA__VALUE_INT, .place = value->place, .integer = count, .number = (double)count};
    return LIANA_OK;
}

liana_status liana__config_keep_columns(liana__config *config, const liana__columns *found, liana__arena *arena,
                                        liana__error *error)
{
    if (!found) return LIANA_OK;
    LIANA_TRY(liana__columns_copy(found, arena, &config->data.components, error));
    config->data.columns = liana__columns_write(&config->data.components, arena);
    if (!config->data.columns) return liana__fail_memory(error, "the columns");
    liana__value *layers = (liana__value *)(uintptr_t)config->model.layers;
    return layers ? fill_sizes(config, layers, error) : LIANA_OK;
}

/* ---- inputs and targets ---- */

/* Refuses a name that is no component, as far as the configuration names the components. */
static liana_status check_component(const liana__config *config, const liana__place *place, const char *where,
                                    const char *name, liana__error *error)
{
    const liana__columns *columns = &config->data.components;
    static const char *const usual[] = {"image", "label", "id"};
    if (!columns->count) return LIANA_OK;
    liana__nearest_search search = liana__nearest_begin(name);
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(usual[i], name) == 0) return LIANA_OK;
        liana__nearest_add(&search, usual[i]);
    }
    for (size_t i = 0; i < columns->count; i++) {
        const char *lengths = columns->items[i].lengths;
        if (strcmp(columns->items[i].name, name) == 0 || (lengths && strcmp(lengths, name) == 0)) return LIANA_OK;
        liana__nearest_add(&search, columns->items[i].name);
        if (lengths) liana__nearest_add(&search, lengths);
    }
    return liana__fail_at(error, place, where, "there is no component '%.100s'%s%s", name,
                          liana__hint(search.nearest).text,
                          search.nearest ? "" : "; data.columns names the components besides image and label");
}

/* `inputs: x` is the component of the only input. */
static liana_status read_map(const liana__config *config, const liana__value *value, const char *where,
                             liana__arena *arena, liana__component_map *map, liana__error *error)
{
    char found[128];
    *map = (liana__component_map){0};
    if (!value) return LIANA_OK;
    bool is_map = value->kind == LIANA__VALUE_MAP && value->count;
    if (!is_map && value->kind != LIANA__VALUE_STRING) {
        return liana__fail_at(error, &value->place, where,
                              "found %s, expected a component, or a mapping of names of the model to components",
                              liana__value_describe(value, found, sizeof found));
    }
    size_t count = is_map ? value->count : 1;
    const char **names = liana__arena_allocate(arena, count * sizeof *names);
    const char **components = liana__arena_allocate(arena, count * sizeof *components);
    if (!names || !components) return liana__fail_memory(error, "the configuration");
    for (size_t i = 0; i < count; i++) {
        const liana__value *item = is_map ? value->items[i] : value;
        names[i] = is_map ? value->keys[i] : NULL;
        components[i] = item->string;
        const char *key = is_map ? liana__arena_format(arena, "%s.%s", where, names[i]) : where;
        if (!key) return liana__fail_memory(error, "the configuration");
        if (item->kind != LIANA__VALUE_STRING || !*item->string) {
            return liana__fail_at(error, &item->place, key, "found %s, expected the name of a component",
                                  liana__value_describe(item, found, sizeof found));
        }
        LIANA_TRY(check_component(config, &item->place, key, components[i], error));
    }
    *map = (liana__component_map){count, names, components};
    return LIANA_OK;
}

const char *liana__component_for(const liana__component_map *map, const char *name, bool only)
{
    if (map->count == 1 && !map->names[0]) return only ? map->components[0] : name;
    for (size_t i = 0; i < map->count; i++) {
        if (strcmp(map->names[i], name) == 0) return map->components[i];
    }
    return name;
}

liana_status liana__config_read_columns(liana__config *config, liana__arena *arena, liana__error *error)
{
    liana__data_config *data = &config->data;
    LIANA_TRY(liana__columns_read(data->columns, "data.columns", arena, &data->components, error));
    LIANA_TRY(read_map(config, data->inputs, "data.inputs", arena, &data->model_inputs, error));
    LIANA_TRY(read_map(config, data->targets, "data.targets", arena, &data->model_targets, error));
    if (!data->example_weight) return LIANA_OK;
    liana__place place = liana__config_place(config, "data.example_weight");
    return check_component(config, &place, "data.example_weight", data->example_weight, error);
}
