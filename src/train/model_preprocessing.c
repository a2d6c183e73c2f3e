#include "train/model_preprocessing.h"

#include "base/file.h"
#include "formats/json.h"
#include "models/preprocessing.h"
#include "train/config.h"

#include <string.h>

liana_preprocessing liana_model_preprocessing(const liana_model *model)
{
    return model->preprocessing;
}

static bool same_names(const liana_preprocessing *a, const liana_preprocessing *b)
{
    if (a->num_class_names != b->num_class_names) return false;
    for (size_t i = 0; i < a->num_class_names; i++) {
        if (strcmp(a->class_names[i], b->class_names[i]) != 0) return false;
    }
    return true;
}

static liana_status check(const liana_model *model, const liana_preprocessing *wanted, liana__error *error)
{
    if ((unsigned)wanted->scale >= LIANA__NUM_SCALES) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "found the scale %d, expected a liana_scale",
                           (int)wanted->scale);
    }
    LIANA_TRY(liana__model_check(model, error));
    liana_shape output = liana__model_output_shape(model);
    int64_t outputs = output.rank ? output.dims[output.rank - 1] : 0;
    if (wanted->num_class_names && (int64_t)wanted->num_class_names != outputs) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "found %zu names of classes, but the model has %lld outputs",
                           wanted->num_class_names, (long long)outputs);
    }
    for (size_t i = 0; i < wanted->num_class_names; i++) {
        if (wanted->class_names && wanted->class_names[i]) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the name of class %zu is NULL", i);
    }
    return LIANA_OK;
}

liana_status liana__preprocessing_set(liana_model *model, const liana_preprocessing *preprocessing, liana__error *error)
{
    LIANA_TRY(check(model, preprocessing, error));
    liana_preprocessing *own = &model->preprocessing;
    /* Fits in a row would fill the arena with the same names. */
    const char *const *names = own->class_names;
    if (!same_names(own, preprocessing)) {
        size_t count = preprocessing->num_class_names;
        const char **copies = liana__arena_allocate(&model->arena, (count + 1) * sizeof *copies);
        for (size_t i = 0; copies && i < count; i++) {
            copies[i] = liana__arena_string(&model->arena, preprocessing->class_names[i]);
        }
        if (model->arena.failed) return liana__fail_memory(error, "the names of the classes");
        names = count ? copies : NULL;
    }
    *own = *preprocessing;
    own->class_names = names;
    return LIANA_OK;
}

liana_status liana_model_set_preprocessing(liana_model *model, const liana_preprocessing *preprocessing)
{
    return liana__preprocessing_set(model, preprocessing, &model->context->error);
}

/* ---- in a file of weights ---- */

const char *liana__preprocessing_text(const liana_model *model, liana__arena *arena)
{
    const liana_preprocessing *own = &model->preprocessing;
    if (own->scale == LIANA_SCALE_AUTO && !own->num_class_names) return "";
    liana__value *map = liana__value_map(arena), *names = liana__value_list(arena);
    for (size_t i = 0; i < own->num_class_names; i++) {
        liana__value_add(arena, names, liana__value_string(arena, own->class_names[i]));
    }
    liana__value_set(arena, map, "scale", liana__value_string(arena, liana__scale_names[own->scale]));
    liana__value_set(arena, map, "antialias", liana__value_bool(arena, own->antialias));
    liana__value_set(arena, map, "fast_decode", liana__value_bool(arena, own->fast_decode));
    liana__value_set(arena, map, "class_names", names);
    if (!map || arena->failed) return NULL;
    liana__text text = {0};
    liana__value_write_json(map, 0, &text);
    const char *line = text.failed ? NULL : liana__arena_string(arena, text.data);
    liana__text_free(&text);
    return line;
}

static bool is_true(const liana__value *map, const char *key)
{
    const liana__value *value = liana__value_get(map, key);
    return value && value->kind == LIANA__VALUE_BOOL && value->boolean;
}

static liana_status read_names(const liana__value *list, liana__arena *arena, liana_preprocessing *found,
                               liana__error *error)
{
    size_t count = list && list->kind == LIANA__VALUE_LIST ? list->count : 0;
    const char **names = liana__arena_allocate(arena, (count + 1) * sizeof *names);
    if (!names) return liana__fail_memory(error, "the names of the classes");
    for (size_t i = 0; i < count; i++) {
        names[i] = list->items[i]->kind == LIANA__VALUE_STRING ? list->items[i]->string : NULL;
    }
    found->class_names = names;
    found->num_class_names = count;
    return LIANA_OK;
}

static liana_status read_line(liana_model *model, const char *line, liana__arena *arena, liana__error *error)
{
    liana__value *map;
    LIANA_TRY(liana__json_parse(line, strlen(line), "preprocessing", arena, &map, error));
    if (map->kind != LIANA__VALUE_MAP) map = liana__value_map(arena);
    if (!map) return liana__fail_memory(error, "the preprocessing");
    liana_preprocessing found = {.antialias = is_true(map, "antialias"), .fast_decode = is_true(map, "fast_decode")};
    const liana__value *scale = liana__value_get(map, "scale");
    const char *name = scale && scale->kind == LIANA__VALUE_STRING ? scale->string : "";
    int index = 0;
    while (index < LIANA__NUM_SCALES && strcmp(name, liana__scale_names[index]) != 0) index++;
    if (index == LIANA__NUM_SCALES) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "found the scale '%.100s', which this liana does not know; was the model saved by a later "
                           "one?",
                           name);
    }
    found.scale = (liana_scale)index;
    LIANA_TRY(read_names(liana__value_get(map, "class_names"), arena, &found, error));
    return liana__preprocessing_set(model, &found, error);
}

liana_status liana__preprocessing_read(liana_model *model, const char *text, const char *path, liana__error *error)
{
    if (!text || !*text) return LIANA_OK;
    liana__arena arena = {0};
    liana_status status = read_line(model, text, &arena, error);
    liana__arena_free(&arena);
    if (status == LIANA_OK || status == LIANA_OUT_OF_MEMORY) return status;
    if (error) error->status = LIANA_INVALID_DATA;
    liana__fail_within(error, "'%s': the preprocessing in its metadata", path);
    return LIANA_INVALID_DATA;
}

/* ---- in a run folder ---- */

static liana_status read_run(liana_model *model, const char *folder, liana__arena *arena, liana__error *error)
{
    const char *path = liana__path_join(arena, folder, "config.yaml");
    if (!path) return liana__fail_memory(error, folder);
    if (!liana__file_exists(path)) return LIANA_OK;
    liana__config config;
    LIANA_TRY(liana__config_load(path, NULL, 0, arena, &config, error));
    const liana__data_config *data = &config.data;
    liana_preprocessing found = {.scale = (liana_scale)data->scale,
                                 .antialias = data->resize.antialias,
                                 .fast_decode = data->decode == LIANA__DECODE_FAST,
                                 .class_names = data->class_names.items,
                                 .num_class_names = data->class_names.count};
    liana_status status = liana__preprocessing_set(model, &found, error);
    return status == LIANA_OK ? status : liana__fail_within(error, "'%s' and its model.json", path);
}

liana_status liana__preprocessing_read_run(liana_model *model, const char *folder, liana__error *error)
{
    liana__arena arena = {0};
    liana_status status = read_run(model, folder, &arena, error);
    liana__arena_free(&arena);
    return status;
}
