/* The files of a run folder, except checkpoints and predictions. */
#include "train/run/run_internal.h"

#include "base/file.h"
#include "base/scoped.h"
#include "formats/json.h"
#include "formats/yaml.h"
#include "train/config/differences.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *in_folder(liana__arena *arena, const liana__run *run, const char *name)
{
    return liana__path_join(arena, run->folder, name);
}

/* Writes a tree as JSON, atomically. */
static liana_status write_json(const liana__run *run, const char *name, const liana__value *value, liana__arena *arena,
                               liana__error *error)
{
    const char *path = in_folder(arena, run, name);
    return arena->failed ? liana__fail_memory(error, name) : liana__json_write(path, value, error);
}

liana_status liana__run_write_history(const liana__run *run, liana__error *error)
{
    if (!run->folder) return LIANA_OK;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *history = liana__history_value(&run->core.state.history, run->core.objective, &arena);
    liana__value *doubts = liana__training_state_doubts(&run->core.state, &arena);
    if (doubts) liana__value_set(&arena, history, "not_reproducible", doubts);
    const liana__decisions *decisions = &run->core.state.decisions;
    if (decisions->count) liana__value_set(&arena, history, "decisions", liana__decisions_value(decisions, &arena));
    LIANA_TRY(write_json(run, "history.json", history, &arena, error));
    LIANA_TRY(write_json(run, "timing.json", liana__timing_value(&run->core.state.history, &arena), &arena, error));
    return liana__run_send(run, error);
}

static const char BAD_RECORDS[] = "bad_records.csv";

liana_status liana__run_write_bad_records(liana__run *run, liana__error *error)
{
    if (!run->folder || !run->bad_records.changed) return LIANA_OK;
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *path = in_folder(&arena, run, BAD_RECORDS);
    LIANA_TRY(path ? liana__bad_records_write(&run->bad_records, path, error) : liana__fail_memory(error, BAD_RECORDS));
    run->bad_records.changed = false;
    return LIANA_OK;
}

liana_status liana__run_read_bad_records(liana__run *run, liana__error *error)
{
    const char *path = in_folder(&run->arena, run, BAD_RECORDS);
    if (!path) return liana__fail_memory(error, BAD_RECORDS);
    return liana__file_exists(path) ? liana__bad_records_read(&run->bad_records, path, NULL, error) : LIANA_OK;
}

/* ---- settings that may change in a run that goes on ---- */

static bool is_safe(const char *name)
{
    liana__job_key key;
    for (size_t i = 0; liana__run_key(i, &key); i++) {
        const size_t length = strlen(key.name);
        if (key.resume != LIANA__RESUME_SAFE || strncmp(name, key.name, length) != 0) continue;
        if (!name[length] || name[length] == '.') return true;
    }
    return false;
}

static void drop_keys(liana__value *config, liana__resume_rule resume)
{
    liana__job_key key;
    for (size_t i = 0; liana__run_key(i, &key); i++) {
        if (key.resume == resume) liana__run_drop_key(config, key.name);
    }
}

/* A missing value is "-" among the differences: no JSON. */
static const char *show_setting(const char *value)
{
    return strcmp(value, "-") == 0 ? "not there" : value;
}

/* Data and weights may be in other folders on another machine, or be moved; weights are read at the beginning only. */
static void keep_settings(liana__value *config)
{
    drop_keys(config, LIANA__RESUME_FREE);
    liana__run_drop_key(config, "model.weights_sha256");
    liana__run_drop_folders(config);
}

/* A checkpoint must be of the run whose config.yaml is in the folder. It is compared with that file as it is: keys that
 * an older liana did not write there are not compared. */
liana_status liana__run_note_settings(liana__run *run, const liana__run_options *options, liana__error *error)
{
    liana__value *settings, *matches;
    const char *path = in_folder(&run->arena, run, "config.yaml");
    if (!path) return liana__fail_memory(error, "the run folder");
    LIANA_TRY(liana__config_tree(run->config, &run->arena, &settings, error));
    keep_settings(settings);
    matches = settings;
    if (liana__file_exists(path)) {
        LIANA_TRY(liana__yaml_read(path, &run->arena, &matches, error));
        keep_settings(matches);
    }
    if (options->allow_changed && matches != settings) drop_keys(matches, LIANA__RESUME_SAFE);
    run->core.state.settings = settings;
    run->core.state.matches = matches;
    return run->arena.failed ? liana__fail_memory(error, "the settings of the run") : LIANA_OK;
}

static liana_status check_same_config(const liana__run *run, const liana__run_options *options,
                                      const liana__config *before, const char *old_path, liana__arena *arena,
                                      liana__error *error)
{
    liana__value *old, *new;
    LIANA_TRY(liana__config_tree(run->config, arena, &new, error));
    LIANA_TRY(liana__config_tree(before, arena, &old, error));
    drop_keys(old, LIANA__RESUME_FREE);
    drop_keys(new, LIANA__RESUME_FREE);
    const liana__value *const trees[] = {old, new};
    LIANA__SCOPED(liana__text) allowed = {0}, refused = {0};
    LIANA__SCOPED(liana__differences) found = {0};
    LIANA_TRY(liana__differences_find(trees, 2, NULL, arena, &found, error));
    for (size_t i = 0; i < found.count; i++) {
        const liana__difference *one = &found.items[i];
        liana__text *text = options->allow_changed && is_safe(one->key) ? &allowed : &refused;
        liana__text_add(text, "%s'%s': %.80s -> %.80s", text->length ? "; " : "", one->key,
                        show_setting(one->values[0]), show_setting(one->values[1]));
    }
    if (allowed.length && !refused.length) {
        liana__run_note(options, "other settings than before, which is allowed: %s", allowed.data);
    }
    if (!refused.length) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "--resume: %s; this differs from the beginning of this run (see '%s'), which would change its "
                       "results; restore the old values, begin another run with another --out%s",
                       refused.data, liana__remote_name(old_path),
                       options->allow_changed ? "" : ", or allow what is safe with --allow-changed");
}

/* Options without a value get the values that the first part of the run found or chose. */
static void inherit(liana__config *config, const liana__config *old)
{
    liana__data_config *data = &config->data;
    if (!data->class_names.count && (!data->num_classes || data->num_classes == old->data.num_classes)) {
        data->class_names = old->data.class_names;
        data->label_kind = old->data.label_kind;
    }
    if (!data->num_classes) data->num_classes = old->data.num_classes;
    liana__columns_inherit(&data->components, &old->data.components);
    if (!data->image_size[0]) memcpy(data->image_size, old->data.image_size, sizeof data->image_size);
    if (!data->channels) data->channels = old->data.channels;
    if (data->scale == LIANA_SCALE_AUTO) data->scale = old->data.scale;
    if (!liana__config_gives(config, "data.resize.round")) data->resize.round = old->data.resize.round;
    int *rescaling = &config->model.imagenet_rescaling;
    if (*rescaling == LIANA__IMAGENET_RESCALING_AUTO) *rescaling = old->model.imagenet_rescaling;
    if (!config->model.weights_sha256) config->model.weights_sha256 = old->model.weights_sha256;
    if (old->is_older) {
        config->is_older = true;
        liana__config_keep_keras2(config->root);
    }
    if (config->job.precision == LIANA_PRECISION_AUTO) config->job.precision = old->job.precision;
    if (config->job.recompute == LIANA_RECOMPUTE_AUTO && !config->job.memory) {
        config->job.recompute = old->job.recompute;
        config->job.memory = old->job.memory;
    }
    if (!config->job.microbatch) config->job.microbatch = old->job.microbatch;
}

liana_status liana__run_check_folder(liana__run *run, const liana__run_options *options, liana__error *error)
{
    const char *path = in_folder(&run->arena, run, "config.yaml");
    if (!path) return liana__fail_memory(error, "the run folder");
    LIANA_TRY(liana__run_hold(run, options, error));
    if (!liana__file_exists(path)) return LIANA_OK;
    /* A run that came to nothing, such as by a wrong label in its first step, has nothing to lose or to mix. */
    const char *checkpoint, *checkpoints = in_folder(&run->arena, run, "checkpoints");
    if (!checkpoints) return liana__fail_memory(error, "the run folder");
    LIANA_TRY(liana__checkpoint_newest(checkpoints, &run->arena, &checkpoint, error));
    if (!checkpoint) return LIANA_OK;
    if (!options->resume && !options->resume_from) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "'%s' already holds a run; continue it with --resume, or choose another folder with --out",
                           run->folder);
    }
    liana__config old;
    LIANA_TRY(liana__config_load(run->context, LIANA__PLUGINS_IGNORED, path, NULL, 0, &run->arena, &old, error));
    inherit(run->config, &old);
    bool has_columns = run->config->data.components.count > 0;
    const liana__columns *columns = has_columns ? &run->config->data.components : &old.data.components;
    if (columns->count) LIANA_TRY(liana__config_keep_columns(run->config, columns, &run->arena, error));
    LIANA_TRY(liana__run_take_found_options(run, old.model.layers, error));
    run->length_before = (liana__training_length){old.job.epochs, old.job.steps, old.job.max_minutes, 0};
    LIANA__SCOPED(liana__arena) arena = {0};
    return check_same_config(run, options, &old, path, &arena, error);
}

static liana_status write_warm_listing(const liana__run *run, liana__arena *arena, liana__error *error)
{
    const char *path = in_folder(arena, run, "warm_start.csv");
    if (!path) return liana__fail_memory(error, "the run folder");
    if (!run->warm_listing) return LIANA_OK;
    return liana__file_replace(path, run->warm_listing, strlen(run->warm_listing), error);
}

liana_status liana__run_begin_folder(liana__run *run, const liana__run_options *options, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED(liana__text) config = {0};
    LIANA_TRY(liana__folder_make(run->folder, error));
    LIANA_TRY(liana__run_hold(run, options, error));
    char *absolute = run->outlet ? NULL : realpath(run->folder, NULL);
    if (absolute) run->config->output = liana__arena_string(&run->arena, absolute);
    if (run->outlet) run->config->output = liana__outlet_url(run->outlet);
    free(absolute);
    const char *config_path = in_folder(&arena, run, "config.yaml");
    const liana__value *architecture = liana__model_to_keras(run->model, LIANA__KERAS3, &arena);
    liana__config_write(run->config, &config);
    if (!config_path || !architecture || config.failed) return liana__fail_memory(error, "the run folder");
    LIANA_TRY(liana__file_replace(config_path, config.data, config.length, error));
    /* Of a run that came to nothing. */
    const char *bad_records = in_folder(&arena, run, BAD_RECORDS);
    if (bad_records && run->bad_records.count == 0) unlink(bad_records);
    LIANA_TRY(write_json(run, "model.json", architecture, &arena, error));
    LIANA_TRY(write_warm_listing(run, &arena, error));
    /* Before anything is trained: whether results may be written there at all. */
    return liana__run_send_all(run, error);
}
