/* Options of a base: keys of `model` that the table of its architecture has. */
#include "train/config/config_internal.h"

#include "base/other_names.h"
#include "base/scoped.h"
#include "base/text.h"
#include "base/value_read.h"
#include "models/models.h"

#include <string.h>

static const liana__fields *model_fields(void)
{
    return liana__fields_find(liana__config_fields(), "model")->section;
}

/* The data say these. */
static const char *giver_of(const char *key)
{
    if (strcmp(key, "input_shape") == 0) return "data.image_size and data.channels";
    return strcmp(key, "classes") == 0 ? "data.num_classes, or the data" : NULL;
}

static liana_status take_key(const liana__architecture *architecture, liana__value *model, size_t index,
                             liana__value *taken, liana__arena *arena, liana__error *error)
{
    const char *key = model->keys[index];
    const char *giver = giver_of(key);
    if (liana__fields_find(model_fields(), key)) return LIANA_OK;
    if (!liana__fields_find(architecture->options, key)) return LIANA_OK; /* somebody else refuses it */
    if (giver) {
        return liana__fail_at(error, &model->key_places[index], "model", "'%s' of the base follows from %s", key,
                              giver);
    }
    liana__value_append(arena, taken, key, &model->key_places[index], model->items[index]);
    return LIANA_OK;
}

/* The name of the base of a tree; NULL: there is none. */
static const char *base_of(const liana__value *model)
{
    return model && model->kind == LIANA__VALUE_MAP ? liana__value_text_of(model, "base", NULL) : NULL;
}

liana_status liana__config_find_base(const char *name, const liana__place *place, const liana__architecture **found,
                                     liana__error *error)
{
    const char *nearest = NULL;
    *found = liana__architecture_find(name, &nearest);
    if (*found) return LIANA_OK;
    return liana__fail_at(error, place, "model.base",
                          "there is no architecture '%.100s'; 'liana list models' shows them%s", name,
                          liana__hint(nearest).text);
}

liana_status liana__config_take_base_options(liana__value *root, liana__arena *arena, const liana__value **options,
                                             liana__error *error)
{
    liana__value *model = (liana__value *)(uintptr_t)liana__value_get(root, "model");
    const char *name = base_of(model);
    const liana__architecture *architecture = name ? liana__architecture_find(name, NULL) : NULL;
    *options = NULL;
    if (!architecture) return LIANA_OK;
    liana__value *taken = liana__value_map(arena);
    if (!taken) return liana__fail_memory(error, "the configuration");
    taken->place = model->place;
    for (size_t i = 0; i < model->count; i++) LIANA_TRY(take_key(architecture, model, i, taken, arena, error));
    for (size_t i = 0; i < taken->count; i++) liana__value_remove(model, taken->keys[i]);
    *options = taken->count ? taken : NULL;
    return arena->failed ? liana__fail_memory(error, "the configuration") : LIANA_OK;
}

/* A key that is nobody's, with the nearest of both tables. */
static liana_status fail_unknown(const liana__architecture *architecture, const liana__value *model, size_t index,
                                 liana__error *error)
{
    const char *key = model->keys[index];
    const liana__fields *own = model_fields(), *options = architecture->options;
    LIANA__SCOPED(liana__text) known = {0};
    liana__nearest_search search = liana__nearest_begin_known(key);
    for (size_t i = 0; i < own->count; i++) liana__nearest_add_known(&search, own->items[i].name);
    for (size_t i = 0; i < options->count; i++) {
        const char *name = options->items[i].name;
        if (giver_of(name) || liana__fields_find(own, name)) continue;
        liana__nearest_add_known(&search, name);
        liana__text_add(&known, "%s%s", known.length ? ", " : "", name);
    }
    const liana__place *place = &model->key_places[index];
    if (search.nearest) {
        return liana__fail_at(error, place, "model", "unknown key '%.100s'; did you mean '%s'?", key, search.nearest);
    }
    return liana__fail_at(
        error, place, "model",
        "unknown key '%.100s'; %s has the options %s; 'liana list configuration' shows the other keys", key,
        architecture->name, known.data ? known.data : "");
}

liana_status liana__config_check_base_keys(const liana__value *root, liana__error *error)
{
    const liana__value *model = liana__value_get(root, "model");
    const char *name = base_of(model);
    const liana__architecture *architecture;
    for (size_t i = 0; name && i < model->count; i++) {
        if (liana__fields_find(model_fields(), model->keys[i])) continue;
        /* It may be an option of the base that was meant. */
        LIANA_TRY(liana__config_find_base(name, &liana__value_get(model, "base")->place, &architecture, error));
        return fail_unknown(architecture, model, i, error);
    }
    return LIANA_OK;
}

liana_status liana__config_check_base_options(const liana__config *config, liana__arena *arena, liana__error *error)
{
    const liana__architecture *architecture =
        config->model.base ? liana__architecture_find(config->model.base, NULL) : NULL;
    if (!architecture || !config->model.base_options) return LIANA_OK;
    void *read = liana__arena_allocate(arena, architecture->options->size);
    if (!read) return liana__fail_memory(error, "the configuration");
    return liana__fields_read(architecture->options, config->model.base_options, "model", NULL, arena, read, error);
}

void liana__config_write_base_options(const liana__config *config, const liana__value *tree, liana__arena *arena)
{
    const liana__value *options = config->model.base_options;
    liana__value *model = (liana__value *)(uintptr_t)liana__value_get(tree, "model");
    for (size_t i = 0; options && model && i < options->count; i++) {
        liana__value_set(arena, model, options->keys[i], options->items[i]);
    }
}
