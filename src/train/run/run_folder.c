/* The files of a run folder besides checkpoints and predictions. */
#include "train/run/run_internal.h"

#include "base/file.h"
#include "formats/yaml.h"
#include "train/objective/recompute.h"

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
    liana__text text = {0};
    liana__value_write_json(value, 2, &text);
    const char *path = in_folder(arena, run, name);
    bool enough = path && !text.failed && !arena->failed;
    liana_status status =
        enough ? liana__file_replace(path, text.data, text.length, error) : liana__fail_memory(error, name);
    liana__text_free(&text);
    return status;
}

liana_status liana__run_write_history(const liana__run *run, liana__error *error)
{
    if (!run->folder) return LIANA_OK;
    liana__arena arena = {0};
    liana__value *history = liana__history_value(&run->core.state.history, run->core.objective, &arena);
    liana__value *doubts = liana__training_state_doubts(&run->core.state, &arena);
    if (doubts) liana__value_set(&arena, history, "not_reproducible", doubts);
    const liana__decisions *decisions = &run->core.state.decisions;
    if (decisions->count) liana__value_set(&arena, history, "decisions", liana__decisions_value(decisions, &arena));
    liana_status status = write_json(run, "history.json", history, &arena, error);
    if (status == LIANA_OK) {
        status = write_json(run, "timing.json", liana__timing_value(&run->core.state.history, &arena), &arena, error);
    }
    liana__arena_free(&arena);
    return status == LIANA_OK ? liana__run_send(run, error) : status;
}

static const char BAD_RECORDS[] = "bad_records.csv";

liana_status liana__run_write_bad_records(liana__run *run, liana__error *error)
{
    if (!run->folder || !run->bad_records.changed) return LIANA_OK;
    liana__arena arena = {0};
    const char *path = in_folder(&arena, run, BAD_RECORDS);
    liana_status status =
        path ? liana__bad_records_write(&run->bad_records, path, error) : liana__fail_memory(error, BAD_RECORDS);
    if (status == LIANA_OK) run->bad_records.changed = false;
    liana__arena_free(&arena);
    return status;
}

liana_status liana__run_read_bad_records(liana__run *run, liana__error *error)
{
    const char *path = in_folder(&run->arena, run, BAD_RECORDS);
    if (!path) return liana__fail_memory(error, BAD_RECORDS);
    return liana__file_exists(path) ? liana__bad_records_read(&run->bad_records, path, NULL, error) : LIANA_OK;
}

/* The dotted keys at which two trees differ. */
typedef struct differences {
    liana__text allowed, refused; /* "key: before -> now" */
    liana__arena *arena;
    bool allows; /* what is safe */
} differences;

/* What may change in a run that goes on: with a key, all below it. The job's options are in their table. Safe settings change
 * results, but the state fits whatever they are. Free ones change no result, or say how long a run is and what watches it.
 * (Until a record is bad, a run that would skip it is one that would fail at it.) */
static const struct {
    const char *key;
    liana__resume_rule resume;
} CHANGES[] = {{"model.training", LIANA__RESUME_SAFE},
               {"data.validation", LIANA__RESUME_SAFE},
               {"data.test", LIANA__RESUME_SAFE},
               {"data.augment", LIANA__RESUME_SAFE},
               {"data.sample_weights", LIANA__RESUME_SAFE},
               {"output", LIANA__RESUME_FREE},
               {"data.threads", LIANA__RESUME_FREE},
               {"data.memory", LIANA__RESUME_FREE},
               {"data.cache", LIANA__RESUME_FREE},
               {"data.cache_dir", LIANA__RESUME_FREE},
               {"data.remote_cache", LIANA__RESUME_FREE},
               {"data.remote_cache_limit", LIANA__RESUME_FREE},
               {"data.on_bad_record", LIANA__RESUME_FREE},
               {"data.max_bad", LIANA__RESUME_FREE},
               {"cluster", LIANA__RESUME_FREE}};
enum { NUM_CHANGES = sizeof CHANGES / sizeof *CHANGES };

/* The keys of CHANGES, then those of the job. */
static liana__job_key key_at(size_t index)
{
    if (index >= NUM_CHANGES) return liana__job_key_at(index - NUM_CHANGES);
    liana__job_key key = {.resume = CHANGES[index].resume};
    snprintf(key.name, sizeof key.name, "%s", CHANGES[index].key);
    return key;
}

static bool is_safe(const char *key)
{
    for (size_t i = 0; i < NUM_CHANGES + liana__job_num_keys(); i++) {
        const liana__job_key known = key_at(i);
        size_t length = strlen(known.name);
        if (known.resume != LIANA__RESUME_SAFE || strncmp(key, known.name, length) != 0) continue;
        if (!key[length] || key[length] == '.') return true;
    }
    return false;
}

static void drop_keys(liana__value *config, liana__resume_rule resume)
{
    for (size_t i = 0; i < NUM_CHANGES + liana__job_num_keys(); i++) {
        const liana__job_key known = key_at(i);
        if (known.resume == resume) liana__run_drop_key(config, known.name);
    }
}

static void add_difference(differences *all, const char *key, const char *before, const char *now)
{
    liana__text *text = all->allows && is_safe(key) ? &all->allowed : &all->refused;
    liana__text_add(text, "%s'%s': %.80s -> %.80s", text->length ? "; " : "", key, before ? before : "not there",
                    now ? now : "not there");
}

static void compare_trees(differences *all, const liana__value *a, const liana__value *b, const char *where)
{
    bool both_maps = a && b && a->kind == LIANA__VALUE_MAP && b->kind == LIANA__VALUE_MAP;
    if (!both_maps) {
        liana__text left = {0}, right = {0};
        if (a) liana__value_write_json(a, 0, &left);
        if (b) liana__value_write_json(b, 0, &right);
        bool same = left.data && right.data ? strcmp(left.data, right.data) == 0 : left.data == right.data;
        if (!same) add_difference(all, where, left.data, right.data);
        liana__text_free(&left);
        liana__text_free(&right);
        return;
    }
    for (int pass = 0; pass < 2; pass++) {
        const liana__value *outer = pass ? b : a, *other = pass ? a : b;
        for (size_t i = 0; i < outer->count; i++) {
            const liana__value *found = liana__value_get(other, outer->keys[i]);
            if (pass && found) continue; /* compared before */
            const char *key = liana__arena_format(all->arena, "%s%s%s", where, *where ? "." : "", outer->keys[i]);
            compare_trees(all, pass ? NULL : outer->items[i], pass ? outer->items[i] : found, key ? key : where);
        }
    }
}

/* A configuration as a tree with every key: one that an older liana wrote lacks some, which are at their defaults. */
static liana_status complete_tree(const liana__config *config, liana__arena *arena, liana__value **tree,
                                  liana__error *error)
{
    liana__text text = {0};
    liana__config_write(config, &text);
    liana_status status = text.failed ? liana__fail_memory(error, "the configuration")
                                      : liana__yaml_parse(text.data, text.length, "configuration", arena, tree, error);
    liana__text_free(&text);
    return status;
}

/* Data and weights may be in other folders on another machine, or be moved. */
static void keep_settings(liana__value *config)
{
    drop_keys(config, LIANA__RESUME_FREE);
    liana__run_drop_folders(config);
}

/* A checkpoint must be of the run whose config.yaml is in the folder. It is compared with that file as it is: what an older
 * liana did not write there is not compared. */
liana_status liana__run_note_settings(liana__run *run, const liana__run_options *options, liana__error *error)
{
    liana__value *settings, *matches;
    const char *path = in_folder(&run->arena, run, "config.yaml");
    if (!path) return liana__fail_memory(error, "the run folder");
    LIANA_TRY(complete_tree(run->config, &run->arena, &settings, error));
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
    LIANA_TRY(complete_tree(run->config, arena, &new, error));
    LIANA_TRY(complete_tree(before, arena, &old, error));
    drop_keys(old, LIANA__RESUME_FREE);
    drop_keys(new, LIANA__RESUME_FREE);
    differences all = {.arena = arena, .allows = options->allow_changed};
    compare_trees(&all, old, new, "");
    liana_status status = LIANA_OK;
    if (all.refused.length) {
        status = liana__fail(error, LIANA_INVALID_CONFIG,
                             "--resume: %s; this differs from the beginning of this run (see '%s'), which would change "
                             "its results; restore the old values, begin another run with another --out%s",
                             all.refused.data, liana__remote_name(old_path),
                             options->allow_changed ? "" : ", or allow what is safe with --allow-changed");
    } else if (all.allowed.length) {
        liana__run_note(options, "other settings than before, which is allowed: %s", all.allowed.data);
    }
    liana__text_free(&all.allowed);
    liana__text_free(&all.refused);
    return status;
}

/* Options without a value get what the first part of the run found or chose. */
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
    run->length_before = (liana__training_length){old.job.epochs, old.job.steps, old.job.max_minutes, 0};
    liana__arena arena = {0};
    liana_status status = check_same_config(run, options, &old, path, &arena, error);
    liana__arena_free(&arena);
    return status;
}

static liana_status write_warm_listing(const liana__run *run, liana__arena *arena, liana__error *error)
{
    const char *path = in_folder(arena, run, "warm_start.csv");
    if (!path) return liana__fail_memory(error, "the run folder");
    if (!run->warm_listing) return LIANA_OK;
    return liana__file_replace(path, run->warm_listing, strlen(run->warm_listing), error);
}

static liana_status begin_folder(liana__run *run, const liana__run_options *options, liana__arena *arena,
                                 liana__text *config, liana__error *error)
{
    LIANA_TRY(liana__folder_make(run->folder, error));
    LIANA_TRY(liana__run_hold(run, options, error));
    char *absolute = run->outlet ? NULL : realpath(run->folder, NULL);
    if (absolute) run->config->output = liana__arena_string(&run->arena, absolute);
    if (run->outlet) run->config->output = liana__outlet_url(run->outlet);
    free(absolute);
    const char *config_path = in_folder(arena, run, "config.yaml");
    const liana__value *architecture = liana__model_to_keras(run->model, arena);
    liana__config_write(run->config, config);
    if (!config_path || !architecture || config->failed) return liana__fail_memory(error, "the run folder");
    LIANA_TRY(liana__file_replace(config_path, config->data, config->length, error));
    /* Of a run that came to nothing. */
    const char *bad_records = in_folder(arena, run, BAD_RECORDS);
    if (bad_records && run->bad_records.count == 0) unlink(bad_records);
    LIANA_TRY(write_json(run, "model.json", architecture, arena, error));
    LIANA_TRY(write_warm_listing(run, arena, error));
    /* Before anything is trained: whether results may be written there at all. */
    return liana__run_send_all(run, error);
}

liana_status liana__run_begin_folder(liana__run *run, const liana__run_options *options, liana__error *error)
{
    liana__arena arena = {0};
    liana__text config = {0};
    liana_status status = begin_folder(run, options, &arena, &config, error);
    liana__text_free(&config);
    liana__arena_free(&arena);
    return status;
}
