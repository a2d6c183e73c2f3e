/* Reads and writes a configuration, with absolute paths. */
#include "train/config/config.h"

#include "backends/pjrt/device_name.h"
#include "base/plugin.h"
#include "base/scoped.h"
#include "formats/yaml.h"
#include "remote/remote.h"
#include "train/config/config_internal.h"
#include "train/job/job.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static liana_status resolve_sources(liana__config *config, liana__arena *arena, liana__error *error)
{
    liana__data_config *data = &config->data;
    struct {
        const char *key;
        liana__source_config *source;
    } all[] = {{"data.train", &data->train}, {"data.validation", &data->validation}, {"data.test", &data->test}};
    for (size_t i = 0; i < 3; i++) {
        liana__place place = liana__config_place(config, all[i].key);
        LIANA_TRY(liana__config_resolve_source(all[i].source, all[i].key, &place, arena, error));
    }
    return LIANA_OK;
}

/* The stages say how many epochs there are. */
static liana_status find_stages(liana__config *config, bool epochs_given, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__training_stages stages;
    const liana__job_door door = liana__config_door(config);
    if (!epochs_given) config->job.epochs = 0;
    liana_status status = liana__job_read_stages(&config->job, &door, config->context, &arena, &stages, error);
    if (status == LIANA_OK) config->job.epochs = liana__training_stages_epochs(&stages);
    return status;
}

/* 0 epochs are no length by themselves. */
static liana_status find_length(liana__config *config, liana__error *error)
{
    liana__job_options *job = &config->job;
    const bool given = liana__value_get(liana__value_get(config->root, "train"), "epochs") != NULL;
    if (job->stages) return find_stages(config, given, error);
    liana__job_find_epochs(job, given);
    if (job->epochs || job->steps || job->max_minutes > 0 || job->stop_at) return LIANA_OK;
    liana__place place = liana__config_place(config, "train.epochs");
    return liana__fail_at(error, &place, "train.epochs",
                          "found the number 0, expected a whole number from 1 to 1000000 (0 only with train.steps, "
                          "train.max_minutes or train.stop_at)");
}

/* Reads the changes of a file's tree, and the policy for plugins. */
typedef struct edits {
    liana_context *context;
    liana__plugin_rule plugins;
    const char *const *overrides;
    size_t num_overrides;
    const liana__config_change *changes;
    size_t num_changes;
} edits;

static liana_status apply_edits(const edits *made, liana__value **root, liana__arena *arena, liana__error *error)
{
    for (size_t i = 0; i < made->num_overrides; i++) {
        LIANA_TRY(liana__config_override(root, made->overrides[i], arena, error));
    }
    for (size_t i = 0; i < made->num_changes; i++) {
        LIANA_TRY(liana__config_apply(root, &made->changes[i], arena, error));
        /* The next one may change a part of this one. */
        LIANA_TRY(liana__config_spell_out(*root, arena, error));
    }
    return LIANA_OK;
}

/* Devices that a PJRT plugin's path names, wherever in the value they stand. */
static liana_status check_devices(const liana_context *context, const liana__value *value, const char *key,
                                  liana__error *error)
{
    if (value && value->kind == LIANA__VALUE_STRING) {
        LIANA__SCOPED(liana__arena) arena = {0};
        const char *library = liana__pjrt_library_named(value->string, &arena);
        return library ? liana__plugin_gate(context, &value->place, key, library, error) : LIANA_OK;
    }
    for (size_t i = 0; value && i < value->count; i++) LIANA_TRY(check_devices(context, value->items[i], key, error));
    return LIANA_OK;
}

/* Plugins are loaded before anything that may name their parts is checked. */
static liana_status load_plugins(const edits *made, const liana__config *config, liana__error *error)
{
    liana_context *context = made->context;
    const liana__plugin_rule rule = made->plugins;
    const liana__value *list = liana__value_get(config->root, "plugins"), *train;
    if (context && rule == LIANA__PLUGINS_LOADED) {
        train = liana__value_get(config->root, "train");
        LIANA_TRY(check_devices(context, liana__value_get(train, "device"), "train.device", error));
        LIANA_TRY(check_devices(context, liana__value_get(train, "strategy"), "train.strategy", error));
    }
    for (size_t i = 0; context && i < config->plugins.count; i++) {
        const char *path = config->plugins.items[i];
        const liana__value *value = list->kind == LIANA__VALUE_LIST ? list->items[i] : list;
        char key[32];
        snprintf(key, sizeof key, "plugins[%zu]", i);
        if (rule == LIANA__PLUGINS_IGNORED) continue;
        if (liana__path_is_remote(path)) {
            return liana__fail_at(error, &value->place, key,
                                  "found the URL '%.200s', expected a local shared library (.so)", path);
        }
        LIANA_TRY(liana__plugin_gate(context, &value->place, key, path, error));
        liana__error found = {0};
        liana_status status = liana__plugin_load(context, path, &found);
        if (status == LIANA_OUT_OF_MEMORY) return liana__fail_memory(error, path);
        if (status != LIANA_OK) return liana__fail_at(error, &value->place, key, "%s", found.message);
    }
    return LIANA_OK;
}

static liana_status read_tree(liana__value *root, const edits *made, liana__arena *arena, liana__config *config,
                              liana__error *error)
{
    const liana__value *base_options = NULL;
    if (root->kind == LIANA__VALUE_NULL) root->kind = LIANA__VALUE_MAP;
    if (root->kind == LIANA__VALUE_MAP) {
        LIANA_TRY(liana__config_spell_out(root, arena, error));
        LIANA_TRY(apply_edits(made, &root, arena, error));
        LIANA_TRY(liana__config_spell_out(root, arena, error));
        LIANA_TRY(liana__config_take_base_options(root, arena, &base_options, error));
        LIANA_TRY(liana__config_check_homes(root, error));
        LIANA_TRY(liana__config_check_base_keys(root, error));
        LIANA_TRY(liana__config_read_lists(root, arena, error));
    }
    LIANA_TRY(liana__fields_read(liana__config_fields(), root, NULL, NULL, arena, config, error));
    config->context = made->context;
    config->root = root;
    config->model.base_options = base_options;
    if (!config->job.device) config->job.device = "cpu"; /* null: not given */
    LIANA_TRY(load_plugins(made, config, error));
    liana__data_config *data = &config->data;
    if (data->class_names.count && data->num_classes == 0) data->num_classes = (int64_t)data->class_names.count;
    LIANA_TRY(find_length(config, error));
    LIANA_TRY(resolve_sources(config, arena, error));
    LIANA_TRY(liana__config_read_columns(config, arena, error));
    LIANA_TRY(liana__config_check(config, error));
    LIANA_TRY(liana__config_check_base_options(config, arena, error));
    return liana__config_make_absolute(liana__config_fields(), arena, config, error);
}

static liana_status parse(const char *text, size_t size, const char *file, const edits *made, liana__arena *arena,
                          liana__config *config, liana__error *error)
{
    liana__value *root;
    *config = (liana__config){.context = made->context};
    LIANA_TRY(liana__yaml_parse(text, size, file, arena, &root, error));
    bool is_older;
    LIANA_TRY(liana__config_keep_older(text, size, root, arena, &is_older, error));
    LIANA_TRY(read_tree(root, made, arena, config, error));
    config->is_older = is_older;
    config->file = root->place.file;
    return LIANA_OK;
}

liana_status liana__config_parse(liana_context *context, liana__plugin_rule plugins, const char *text, size_t size,
                                 const char *file, const char *const *overrides, size_t num_overrides,
                                 liana__arena *arena, liana__config *config, liana__error *error)
{
    return parse(text, size, file, &(edits){context, plugins, overrides, num_overrides, NULL, 0}, arena, config, error);
}

static liana_status load(const char *path, const edits *made, liana__arena *arena, liana__config *config,
                         liana__error *error)
{
    LIANA__SCOPED_MEMORY char *text = NULL;
    size_t size;
    *config = (liana__config){.context = made->context};
    const liana_status status = liana__remote_read(path, NULL, LIANA__YAML_MAX_SIZE, &text, &size, error);
    if (status == LIANA_NOT_FOUND || status == LIANA_OUT_OF_RANGE) {
        if (error) error->status = LIANA_INVALID_CONFIG;
        return LIANA_INVALID_CONFIG;
    }
    LIANA_TRY(status);
    /* Places are shown, and relative names are found from the file's folder: both without a query. */
    const char *shown = liana__path_shown(arena, path);
    return shown ? parse(text, size, shown, made, arena, config, error) : liana__fail_memory(error, path);
}

liana_status liana__config_load(liana_context *context, liana__plugin_rule plugins, const char *path,
                                const char *const *overrides, size_t num_overrides, liana__arena *arena,
                                liana__config *config, liana__error *error)
{
    return load(path, &(edits){context, plugins, overrides, num_overrides, NULL, 0}, arena, config, error);
}

liana_status liana__config_load_changed(liana_context *context, liana__plugin_rule plugins, const char *path,
                                        const liana__config_change *changes, size_t num_changes, liana__arena *arena,
                                        liana__config *config, liana__error *error)
{
    return load(path, &(edits){context, plugins, NULL, 0, changes, num_changes}, arena, config, error);
}

/* A copy in which no URL has a query: it may be a signature. */
static liana__value *without_queries(const liana__value *value, liana__arena *arena)
{
    liana__value *copy = liana__arena_copy(arena, value, sizeof *value);
    if (!copy) return NULL;
    if (value->kind == LIANA__VALUE_STRING) copy->string = liana__path_shown(arena, value->string);
    bool nested = value->kind == LIANA__VALUE_LIST || value->kind == LIANA__VALUE_MAP;
    if (!nested || !value->count) return copy;
    copy->items = liana__arena_copy(arena, value->items, value->count * sizeof *value->items);
    for (size_t i = 0; copy->items && i < value->count; i++) copy->items[i] = without_queries(value->items[i], arena);
    return copy;
}

void liana__config_write(const liana__config *config, liana__text *text)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const liana__value *tree = liana__fields_write(liana__config_fields(), &arena, config);
    if (tree && !arena.failed) liana__config_write_base_options(config, tree, &arena);
    if (tree && !arena.failed) tree = without_queries(tree, &arena);
    liana__text_add(text, "%s: every option, every path absolute.\n", liana__config_resolved);
    if (tree && !arena.failed) {
        liana__value_write_yaml(tree, text);
    } else {
        text->failed = true;
    }
}

liana_status liana__config_tree(const liana__config *config, liana__arena *arena, liana__value **tree,
                                liana__error *error)
{
    LIANA__SCOPED(liana__text) text = {0};
    liana__config_write(config, &text);
    return text.failed ? liana__fail_memory(error, "the configuration")
                       : liana__yaml_parse(text.data, text.length, "configuration", arena, tree, error);
}
