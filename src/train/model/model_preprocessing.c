/* Learns, writes and reads a model's knowledge of its images and classes. */
#include "train/model/model_objective.h"

#include "base/scoped.h"
#include "base/value_read.h"
#include "data/source/class_list.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "models/preprocessing.h"
#include "train/config/config.h"

#include <string.h>

liana_preprocessing liana_model_preprocessing(const liana_model *model)
{
    liana_preprocessing found = model ? model->preprocessing : (liana_preprocessing){0};
    /* A layer of the model says how pixels enter, whether or not it was ever fitted. */
    bool known = !model || found.scale != LIANA_SCALE_AUTO;
    if (!known && liana__scaling_layer(model, liana__image_input(model))) found.scale = LIANA_SCALE_NONE;
    return found;
}

static liana__strings names_of(const liana_preprocessing *preprocessing)
{
    liana__strings names = {preprocessing->num_class_names, preprocessing->class_names};
    if (!names.count) {
        while (names.items && names.items[names.count]) names.count++;
    }
    return names;
}

static liana_status check(const liana_model *model, liana_scale scale, const liana__strings *names, liana__error *error)
{
    if ((unsigned)scale >= LIANA__NUM_SCALES) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "found the scale %d, expected a liana_scale", (int)scale);
    }
    LIANA_TRY(liana__model_check(model, error));
    liana_shape output = liana__model_output_shape(model);
    int64_t outputs = output.rank ? output.dims[output.rank - 1] : 0;
    if (names->count && (int64_t)names->count != outputs) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "found %zu names of classes, but the model has %lld outputs",
                           names->count, (long long)outputs);
    }
    for (size_t i = 0; i < names->count; i++) {
        if (names->items && names->items[i]) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the name of class %zu is NULL", i);
    }
    return LIANA_OK;
}

liana_status liana__preprocessing_set(liana_model *model, const liana_preprocessing *preprocessing, bool knows_classes,
                                      liana__error *error)
{
    liana_preprocessing *own = &model->preprocessing;
    liana__strings known = names_of(own), names = names_of(preprocessing);
    LIANA_TRY(check(model, preprocessing->scale, &names, error));
    /* Fits in a row would fill the arena with the same names. */
    const char *const *items = own->class_names;
    if (!liana__class_list_equal(&known, &names)) {
        const char **copies = liana__arena_allocate(&model->arena, (names.count + 1) * sizeof *copies);
        for (size_t i = 0; copies && i < names.count; i++) {
            copies[i] = liana__arena_string(&model->arena, names.items[i]);
        }
        if (model->arena.failed) return liana__fail_memory(error, "the names of the classes");
        copies[names.count] = NULL;
        items = names.count ? copies : NULL;
    }
    *own = *preprocessing;
    own->class_names = items;
    own->num_class_names = names.count;
    model->knows_classes = knows_classes || names.count > 0;
    return LIANA_OK;
}

static liana_status set_preprocessing(liana_model *model, const liana_preprocessing *preprocessing)
{
    /* The struct has no word for numbers: they stay, unless all is forgotten. */
    bool are_numbers =
        preprocessing->scale != LIANA_SCALE_AUTO && model->knows_classes && !model->preprocessing.num_class_names;
    return liana__preprocessing_set(model, preprocessing, are_numbers, &model->context->error);
}

liana_status liana_model_set_preprocessing(liana_model *model, const liana_preprocessing *preprocessing)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE(&model->context->error, preprocessing);
    LIANA__CONTEXT_CALL(model->context, set_preprocessing(model, preprocessing));
}

/* ---- in a file of weights ---- */

const char *liana__preprocessing_text(const liana_model *model, liana__arena *arena)
{
    const liana_preprocessing *own = &model->preprocessing;
    if (own->scale == LIANA_SCALE_AUTO && !model->knows_classes) return "";
    liana__value *map = liana__value_map(arena), *names = liana__value_list(arena);
    for (size_t i = 0; i < own->num_class_names; i++) {
        liana__value_add(arena, names, liana__value_string(arena, own->class_names[i]));
    }
    liana__value_set(arena, map, "scale", liana__value_string(arena, liana__scale_names[own->scale]));
    liana__value_set(arena, map, "round", liana__value_bool(arena, own->round));
    liana__value_set(arena, map, "antialias", liana__value_bool(arena, own->antialias));
    liana__value_set(arena, map, "fast_decode", liana__value_bool(arena, own->fast_decode));
    /* No list: they are not known; an empty one: they are numbers. */
    if (model->knows_classes) liana__value_set(arena, map, "class_names", names);
    if (!map || arena->failed) return NULL;
    return liana__json_line(map, arena);
}

static liana_status read_names(const liana__value *list, liana__arena *arena, liana_preprocessing *found,
                               liana__error *error)
{
    size_t count = list ? list->count : 0;
    const char **names = liana__arena_allocate(arena, (count + 1) * sizeof *names);
    if (!names) return liana__fail_memory(error, "the names of the classes");
    for (size_t i = 0; i < count; i++) {
        names[i] = list->items[i]->kind == LIANA__VALUE_STRING ? list->items[i]->string : NULL;
    }
    names[count] = NULL;
    found->class_names = names;
    found->num_class_names = count;
    return LIANA_OK;
}

static liana_status read_map(liana_model *model, const liana__value *map, liana__arena *arena, liana__error *error)
{
    liana_preprocessing found = {.antialias = liana__value_true_of(map, "antialias"),
                                 .fast_decode = liana__value_true_of(map, "fast_decode")};
    /* Models that were saved before there was a choice were trained on rounded pixels. */
    found.round = liana__value_true_of(map, "round") || !liana__value_get(map, "round");
    const char *name = liana__value_text_of(map, "scale", "");
    int index = 0;
    while (index < LIANA__NUM_SCALES && strcmp(name, liana__scale_names[index]) != 0) index++;
    if (index == LIANA__NUM_SCALES) {
        return liana__fail(
            error, LIANA_INVALID_DATA,
            "found the scale '%.100s', which this liana does not know; was the model saved by a newer one?", name);
    }
    found.scale = (liana_scale)index;
    const liana__value *names = liana__value_list_of(map, "class_names");
    LIANA_TRY(read_names(names, arena, &found, error));
    return liana__preprocessing_set(model, &found, names != NULL, error);
}

typedef liana_status (*map_reader)(liana_model *model, const liana__value *map, liana__arena *arena,
                                   liana__error *error);

/* A line of JSON in the metadata of a file. NULL and "": there is none. */
static liana_status read_line(liana_model *model, const char *line, const char *key, const char *path, map_reader read,
                              liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *map;
    if (!line || !*line) return LIANA_OK;
    liana_status status = liana__json_parse(line, strlen(line), key, &arena, &map, error);
    if (status == LIANA_OK) status = read(model, map, &arena, error);
    if (status == LIANA_OK || status == LIANA_OUT_OF_MEMORY) return status;
    if (error) error->status = LIANA_INVALID_DATA;
    liana__fail_within(error, "'%s': the %s in its metadata", path, key);
    return LIANA_INVALID_DATA;
}

const char *const liana__preprocessing_key = "preprocessing";

liana_status liana__preprocessing_read_file(liana_model *model, const char *weights, liana__error *error)
{
    LIANA__SCOPED_BY(liana__safetensors_close) liana__safetensors file = {0};
    LIANA_TRY(liana__safetensors_open(weights, &file, error));
    const char *line = liana__safetensors_metadata(&file, liana__preprocessing_key);
    LIANA_TRY(read_line(model, line, liana__preprocessing_key, weights, read_map, error));
    line = liana__safetensors_metadata(&file, liana__model_objective_key);
    return read_line(model, line, liana__model_objective_key, weights, liana__model_objective_read, error);
}

/* ---- in a whole-model file ---- */

const char *liana__model_facts_text(const liana_model *model, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena);
    const char *preprocessing = liana__preprocessing_text(model, arena);
    const char *objective = liana__model_objective_text(model, arena);
    if (!map || !preprocessing || !objective) return NULL;
    liana__value_set(arena, map, "version", liana__value_string(arena, LIANA_VERSION));
    liana__value_set(arena, map, liana__preprocessing_key, liana__value_string(arena, preprocessing));
    liana__value_set(arena, map, liana__model_objective_key, liana__value_string(arena, objective));
    return liana__json_line(map, arena);
}

static liana_status read_facts(liana_model *model, const liana__value *map, liana__arena *arena, liana__error *error)
{
    (void)arena;
    const char *line = liana__value_text_of(map, liana__preprocessing_key, NULL);
    LIANA_TRY(read_line(model, line, liana__preprocessing_key, "the model", read_map, error));
    line = liana__value_text_of(map, liana__model_objective_key, NULL);
    return read_line(model, line, liana__model_objective_key, "the model", liana__model_objective_read, error);
}

liana_status liana__model_facts_read(liana_model *model, const char *text, const char *path, liana__error *error)
{
    return read_line(model, text, "facts of liana", path, read_facts, error);
}

liana_status liana__preprocessing_from_onnx(liana_model *model, const char *class_names, const char *pixels,
                                            const char *path, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *map = liana__value_map(&arena), *names = NULL;
    const bool is_scaled = pixels && strcmp(pixels, "0..255") == 0;
    if (!class_names && !pixels) return LIANA_OK;
    if (class_names) {
        LIANA_TRY(liana__json_parse(class_names, strlen(class_names), "class_names", &arena, &names, error));
        liana__value_set(&arena, map, "class_names", names);
    }
    const char *scale = is_scaled ? liana__scale_names[LIANA_SCALE_NONE] : pixels;
    if (!scale) scale = liana__scale_names[LIANA_SCALE_AUTO];
    liana__value_set(&arena, map, "scale", liana__value_string(&arena, scale));
    if (!map || arena.failed) return liana__fail_memory(error, path);
    const liana_status status = read_map(model, map, &arena, error);
    return status == LIANA_OK ? status : liana__fail_within(error, "'%s': class_names or pixels in its metadata", path);
}

/* ---- in a run folder ---- */

liana_status liana__preprocessing_read_run(liana_model *model, const char *folder, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *path = liana__path_join(&arena, folder, "config.yaml");
    if (!path) return liana__fail_memory(error, folder);
    if (!liana__file_exists(path)) return LIANA_OK;
    liana__config config;
    LIANA_TRY(liana__config_load(model->context, LIANA__PLUGINS_IGNORED, path, NULL, 0, &arena, &config, error));
    const liana__data_config *data = &config.data;
    liana_preprocessing found = {.scale = (liana_scale)data->scale,
                                 .round = data->resize.round,
                                 .antialias = data->resize.antialias,
                                 .fast_decode = data->decode == LIANA__DECODE_FAST,
                                 .class_names = data->class_names.items,
                                 .num_class_names = data->class_names.count};
    const liana__objective_request trained = {.loss = config.job.loss,
                                              .loss_weights = config.job.loss_weights,
                                              .metrics = config.job.metrics};
    LIANA_TRY(liana__model_keep_objective(model, &trained, error));
    LIANA_TRY(liana__model_keep_optimizer(model, config.job.optimizer, error));
    /* The classes are counted when training begins. */
    liana_status status = liana__preprocessing_set(model, &found, data->num_classes > 0, error);
    return status == LIANA_OK ? status : liana__fail_within(error, "'%s' and its model.json", path);
}

/* They may have parts of the model, so they are there before it is read. */
liana_status liana__preprocessing_load_plugins(liana_model *model, const char *folder, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__config config;
    const char *path = liana__path_join(&arena, folder, "config.yaml");
    if (!path) return liana__fail_memory(error, folder);
    if (model->context->allow_plugins && liana__file_exists(path))
        LIANA_TRY(liana__config_load(model->context, LIANA__PLUGINS_LOADED, path, NULL, 0, &arena, &config, error));
    return LIANA_OK;
}
