/* The models of a server: lending them to requests, and telling of them. */
#include "serve/predict/registry_internal.h"

#include "base/scoped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_names[] = {"START", "LOADING", "AVAILABLE", "UNLOADING", "END"};

/* ---- models ---- */

static liana__served_model *find_model(const liana__registry *registry, const char *name)
{
    liana__served_model *model = registry->models;
    while (model && strcmp(model->name, name) != 0) model = model->after;
    return model;
}

/* A name stands in addresses: "/v1/models/NAME:predict". */
static bool can_be_named(const char *name)
{
    return *name && strlen(name) < 200 && !strpbrk(name, ":/?#%\\\"") && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static liana_status add_model(liana__registry *registry, const char *name, const char *folder, liana__error *error)
{
    if (!can_be_named(name)) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "'%.100s' cannot name a model in an address; say NAME=%.200s with a name without : / ? # %% \\ \"", name,
            folder);
    }
    if (find_model(registry, name)) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "two models are called '%s'; say NAME=%s to call one otherwise",
                           name, folder);
    }
    liana__served_model *model = calloc(1, sizeof *model);
    if (!model) return liana__fail_memory(error, "a model");
    model->name = strdup(name);
    model->folder = strdup(folder);
    if (!model->name || !model->folder) {
        free(model->name);
        free(model->folder);
        free(model);
        return liana__fail_memory(error, "a model");
    }
    liana__model_metrics_open(&model->metrics, model->name);
    pthread_mutex_lock(&registry->lock);
    *registry->last_model = model;
    registry->last_model = &model->after;
    pthread_mutex_unlock(&registry->lock);
    return LIANA_OK;
}

/* Adds the folders of the parent that are models and are not known. */
static liana_status add_found(liana__registry *registry, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__paths names;
    LIANA_TRY(liana__folder_list(registry->options.parent, &arena, &names, error));
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.items[i], *folder = liana__path_join(&arena, registry->options.parent, name);
        if (!folder || *name == '.' || !liana__folder_exists(folder) || find_model(registry, name)) continue;
        if (!can_be_named(name) || (!liana__is_model_place(folder) && !liana__has_versions(folder))) continue;
        LIANA_TRY(add_model(registry, name, folder, error));
    }
    return LIANA_OK;
}

/* ---- opening ---- */

static liana_status check_loaded(const liana__served_model *model, liana__error *error)
{
    for (size_t i = 0; i < model->num_versions; i++) {
        if (model->versions[i].served) return LIANA_OK;
    }
    for (size_t i = 0; i < model->num_versions; i++) {
        const liana__error *fault = &model->versions[i].error;
        if (!*fault->message) continue;
        liana__fail_as(error, fault);
        return liana__fail_within(error, "the model %s, version %lld", model->name,
                                  (long long)model->versions[i].number);
    }
    return liana__fail(
        error, LIANA_INVALID_CONFIG,
        "%s holds no model: expected an exported folder, a run, a model file, or folders 1, 2, ... with one "
        "each",
        model->folder);
}

static liana_status start(liana__registry *registry, liana__error *error)
{
    const liana__registry_options *options = &registry->options;
    for (size_t i = 0; i < options->num_places; i++) {
        LIANA_TRY(add_model(registry, options->places[i].name, options->places[i].folder, error));
    }
    if (options->parent) LIANA_TRY(add_found(registry, error));
    if (!registry->models) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "%s holds no model: expected an exported folder, a run, folders 1, 2, ... with a model each, or "
            "folders of such folders",
            options->parent ? options->parent : "the command");
    }
    for (liana__served_model *model = registry->models; model; model = model->after) {
        liana__reload_model(registry, model, false, true);
        LIANA_TRY(check_loaded(model, error));
    }
    return LIANA_OK;
}

liana_status liana__registry_open(const liana__registry_options *options, liana__registry **registry,
                                  liana__error *error)
{
    liana__registry *own = calloc(1, sizeof *own);
    *registry = NULL;
    if (!own) return liana__fail_memory(error, "a server");
    own->options = *options;
    own->last_model = &own->models;
    pthread_mutex_init(&own->lock, NULL);
    liana__model_metrics_open(&own->other, "");
    const liana_status status = start(own, error);
    if (status == LIANA_OK) *registry = own;
    if (status != LIANA_OK) liana__registry_close(own);
    return status;
}

static void close_model(liana__registry *registry, liana__served_model *model)
{
    for (size_t i = 0; i < model->num_versions; i++) {
        if (model->versions[i].served) liana__reload_retire(registry, model->versions[i].served);
    }
}

void liana__registry_close(liana__registry *own)
{
    if (!own) return;
    for (liana__served_model *model = own->models; model; model = model->after) close_model(own, model);
    liana__reload_close_retired(own);
    for (liana__served_model *model = own->models, *after; model; model = after) {
        after = model->after;
        liana__model_metrics_close(&model->metrics);
        free(model->versions);
        free(model->name);
        free(model->folder);
        free(model);
    }
    liana__model_metrics_close(&own->other);
    pthread_mutex_destroy(&own->lock);
    free(own);
}

void liana__registry_poll(liana__registry *own, bool all)
{
    liana__error ignored;
    /* A parent that is gone has no new models. */
    if (own->options.parent && add_found(own, &ignored) != LIANA_OK) ignored.status = LIANA_OK;
    for (liana__served_model *model = own->models; model; model = model->after) {
        liana__reload_model(own, model, all, false);
    }
    liana__reload_close_retired(own);
}

/* ---- lending ---- */

static liana_status resolve(const liana__registry *own, const char *model, const liana__version_wish *wish,
                            int64_t *number, liana__error *error)
{
    *number = wish->number;
    if (!wish->label) return LIANA_OK;
    for (size_t i = 0; i < own->options.num_labels; i++) {
        if (strcmp(own->options.labels[i].label, wish->label) != 0) continue;
        *number = own->options.labels[i].number;
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "Unrecognized servable version label: %.100s of %.100s",
                       wish->label, model);
}

static liana_status fail_unknown(const char *model, int64_t number, liana__error *error)
{
    if (number < 0) {
        return liana__fail(error, LIANA_NOT_FOUND, "Servable not found for request: Latest(%.100s)", model);
    }
    return liana__fail(error, LIANA_NOT_FOUND, "Servable not found for request: Specific(%.100s, %lld)", model,
                       (long long)number);
}

/* With the lock. */
static liana__served *find_served(const liana__served_model *model, int64_t number)
{
    for (size_t i = 0; i < model->num_versions; i++) {
        const liana__version *version = &model->versions[i];
        if (version->served && (number < 0 || version->number == number)) return version->served;
    }
    return NULL;
}

liana_status liana__registry_borrow(liana__registry *own, const char *name, const liana__version_wish *wish,
                                    liana__served **served, liana__error *error)
{
    int64_t number;
    *served = NULL;
    pthread_mutex_lock(&own->lock);
    liana__served_model *model = find_model(own, name);
    liana_status status = resolve(own, name, wish, &number, error);
    if (model && status == LIANA_OK) *served = find_served(model, number);
    if (*served) (*served)->borrowed++;
    pthread_mutex_unlock(&own->lock);
    if (status == LIANA_OK && !*served) status = fail_unknown(name, number, error);
    return status;
}

void liana__registry_return(liana__registry *own, liana__served *served)
{
    if (!served) return;
    pthread_mutex_lock(&own->lock);
    served->borrowed--;
    pthread_mutex_unlock(&own->lock);
}

liana__servable *liana__served_servable(const liana__served *served)
{
    return served->servable;
}

int64_t liana__served_number(const liana__served *served)
{
    return served->number;
}

/* ---- telling ---- */

/* The codes of TensorFlow that stand for liana's. */
static const char *code_name(const liana__error *error)
{
    switch (error->status) {
    case LIANA_OK: return "OK";
    case LIANA_INVALID_ARGUMENT:
    case LIANA_INVALID_CONFIG:
    case LIANA_INVALID_DATA: return "INVALID_ARGUMENT";
    case LIANA_OUT_OF_MEMORY: return "RESOURCE_EXHAUSTED";
    case LIANA_IO_ERROR: return "UNKNOWN";
    default: return liana_status_name(error->status);
    }
}

static liana__value *version_value(const liana__version *version, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena), *status = liana__value_map(arena);
    const char *number = liana__arena_format(arena, "%lld", (long long)version->number);
    liana__value_set(arena, map, "version", liana__value_string(arena, number));
    liana__value_set(arena, map, "state", liana__value_string(arena, state_names[version->state]));
    liana__value_set(arena, status, "error_code", liana__value_string(arena, code_name(&version->error)));
    liana__value_set(arena, status, "error_message", liana__value_string(arena, version->error.message));
    liana__value_set(arena, map, "status", status);
    return map;
}

liana_status liana__registry_status(liana__registry *own, const char *name, const liana__version_wish *wish,
                                    liana__arena *arena, liana__value **value, liana__error *error)
{
    int64_t number;
    liana__value *list = liana__value_list(arena);
    *value = liana__value_map(arena);
    pthread_mutex_lock(&own->lock);
    const liana_status status = resolve(own, name, wish, &number, error);
    liana__served_model *model = find_model(own, name);
    for (size_t i = 0; model && i < model->num_versions; i++) {
        if (number >= 0 && model->versions[i].number != number) continue;
        liana__value_add(arena, list, version_value(&model->versions[i], arena));
    }
    pthread_mutex_unlock(&own->lock);
    LIANA_TRY(status);
    liana__value_set(arena, *value, "model_version_status", list);
    if (list && list->count) return LIANA_OK;
    if (number < 0) return liana__fail(error, LIANA_NOT_FOUND, "Could not find any versions of model %.100s", name);
    return liana__fail(error, LIANA_NOT_FOUND, "Could not find version %lld of model %.100s", (long long)number, name);
}

bool liana__registry_is_ready(liana__registry *own)
{
    pthread_mutex_lock(&own->lock);
    bool ready = true;
    for (const liana__served_model *model = own->models; model; model = model->after) {
        ready = ready && find_served(model, -1);
    }
    pthread_mutex_unlock(&own->lock);
    return ready;
}

static liana__value *model_value(const liana__served_model *model, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena), *numbers = liana__value_list(arena);
    const liana__served *newest = find_served(model, -1);
    const liana__request_form *form = newest ? liana__servable_form(newest->servable) : NULL;
    for (size_t i = 0; i < model->num_versions; i++) {
        if (!model->versions[i].served) continue;
        liana__value_add(arena, numbers, liana__value_int(arena, model->versions[i].number));
    }
    liana__value_set(arena, map, "name", liana__value_string(arena, model->name));
    liana__value_set(arena, map, "versions", numbers);
    const bool takes_images = form && form->num_inputs == 1 && form->inputs[0].is_image;
    liana__value_set(arena, map, "takes_images", liana__value_bool(arena, takes_images));
    return map;
}

liana__value *liana__registry_list(liana__registry *own, liana__arena *arena)
{
    liana__value *list = liana__value_list(arena);
    pthread_mutex_lock(&own->lock);
    for (const liana__served_model *model = own->models; model; model = model->after) {
        liana__value_add(arena, list, model_value(model, arena));
    }
    pthread_mutex_unlock(&own->lock);
    return list;
}

liana__model_metrics *liana__registry_model_metrics(liana__registry *own, const char *name)
{
    pthread_mutex_lock(&own->lock);
    liana__served_model *model = find_model(own, name);
    pthread_mutex_unlock(&own->lock);
    return model ? &model->metrics : NULL;
}

liana__model_metrics *liana__registry_other_metrics(liana__registry *own)
{
    return &own->other;
}

void liana__registry_add_metrics(liana__registry *own, liana__serve_gauges *gauges, liana__text *text)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    size_t count = 1, at = 0;
    pthread_mutex_lock(&own->lock);
    for (const liana__served_model *model = own->models; model; model = model->after) count++;
    liana__model_metrics **models = liana__arena_allocate(&arena, count * sizeof *models);
    int64_t *waiting = liana__arena_allocate(&arena, count * sizeof *waiting);
    int64_t *versions = liana__arena_allocate(&arena, count * sizeof *versions);
    if (!arena.failed) models[at++] = &own->other;
    for (liana__served_model *model = own->models; model && !arena.failed; model = model->after, at++) {
        models[at] = &model->metrics;
        for (size_t i = 0; i < model->num_versions; i++) {
            if (!model->versions[i].served) continue;
            waiting[at] += liana__servable_waiting(model->versions[i].served->servable);
            versions[at]++;
        }
    }
    pthread_mutex_unlock(&own->lock);
    gauges->waiting = waiting;
    gauges->versions = versions;
    liana__serve_metrics_add(text, models, at, gauges);
}
