/* The configurations of a sweep's runs. */
#include "train/config/sweep.h"

#include "base/context_plugins.h"
#include "base/file.h"
#include "base/scoped.h"
#include "formats/yaml.h"
#include "train/config/differences.h"

#include <string.h>

LIANA__SCOPED_POINTER(liana_context_destroy, liana_context)

liana_status liana__sweep_config(const liana__sweep *sweep, const liana__sweep_run *run, liana_context *context,
                                 liana__arena *arena, liana__config *config, liana__error *error)
{
    const liana__sweep_setting *setting = &sweep->settings[run->setting];
    size_t count = setting->num_changes;
    liana__config_change *changes = liana__arena_allocate(arena, (count + 1) * sizeof *changes);
    liana__value *seed = liana__value_int(arena, run->seed);
    if (!changes || !seed) return liana__fail_memory(error, sweep->file);
    seed->place = sweep->seeds_place;
    if (count) memcpy(changes, setting->changes, count * sizeof *changes);
    changes[count++] = (liana__config_change){"train.seed", seed};
    return liana__config_load_changed(context, LIANA__PLUGINS_LOADED, sweep->base, changes, count, arena, config,
                                      error);
}

/* For reading configurations; nothing runs in it. */
static liana_status make_context(const liana__sweep *sweep, liana_context **context, liana__error *error)
{
    const liana_context_options wanted = {.allow_plugins = sweep->allow_plugins};
    liana_status status = liana__context_make(&wanted, context);
    return status == LIANA_OK ? LIANA_OK : liana__fail_memory(error, sweep->file);
}

/* As the file of the run has it. Threads are a matter of the machine. */
static liana_status write_text(const liana__sweep *sweep, const liana__sweep_run *run, liana_context *context,
                               liana__text *text, liana__arena *arena, liana__error *error)
{
    liana__config config;
    LIANA_TRY(liana__sweep_config(sweep, run, context, arena, &config, error));
    LIANA_TRY(liana__config_require_training_data(&config, error));
    config.output = NULL;
    liana__config_write(&config, text);
    return text->failed ? liana__fail_memory(error, run->config) : LIANA_OK;
}

/* With every key: a configuration that an older liana wrote lacks some, which are at their defaults. */
static liana_status read_before(const liana__sweep_run *run, liana_context *context, liana__arena *arena,
                                liana__value **tree, liana__error *error)
{
    liana__config config;
    LIANA_TRY(liana__config_load(context, LIANA__PLUGINS_IGNORED, run->config, NULL, 0, arena, &config, error));
    return liana__config_tree(&config, arena, tree, error);
}

/* Names the first key that differs. */
static liana_status compare_before(const liana__sweep_run *run, const liana__text *now, liana_context *context,
                                   liana__arena *arena, liana__error *error)
{
    liana__value *old, *new;
    LIANA_TRY(read_before(run, context, arena, &old, error));
    LIANA_TRY(liana__yaml_parse(now->data, now->length, "the sweep", arena, &new, error));
    const liana__value *const trees[] = {old, new};
    LIANA__SCOPED(liana__differences) found = {0};
    LIANA_TRY(liana__differences_find(trees, 2, NULL, arena, &found, error));
    if (!found.count) return LIANA_OK;
    const liana__difference *first = &found.items[0];
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "'%s' was trained with other settings: %s was %.200s, and is %.200s now; choose another folder "
                       "with --out, or remove this run",
                       run->folder, first->key, first->values[0], first->values[1]);
}

/* A run that has not begun may still change. */
static liana_status check_run(const liana__sweep *sweep, const liana__sweep_run *run, liana__arena *arena,
                              liana__error *error)
{
    LIANA__SCOPED(liana__text) now = {0};
    LIANA__SCOPED_BY(liana_context_destroy_scoped) liana_context *context = NULL;
    LIANA_TRY(make_context(sweep, &context, error));
    LIANA_TRY(write_text(sweep, run, context, &now, arena, error));
    bool begun = liana__file_exists(run->done) || liana__folder_exists(run->folder);
    if (begun && liana__file_exists(run->config)) {
        LIANA_TRY(compare_before(run, &now, context, arena, error));
    }
    return LIANA_OK;
}

liana_status liana__sweep_check(const liana__sweep *sweep, liana__error *error)
{
    liana_status status = LIANA_OK;
    for (size_t i = 0; i < sweep->num_runs && status == LIANA_OK; i++) {
        LIANA__SCOPED(liana__arena) arena = {0};
        status = check_run(sweep, &sweep->runs[i], &arena, error);
    }
    return status;
}

liana_status liana__sweep_write_config(const liana__sweep *sweep, const liana__sweep_run *run, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED(liana__text) text = {0};
    const char *folder = liana__path_folder(&arena, run->config);
    LIANA__SCOPED_BY(liana_context_destroy_scoped) liana_context *context = NULL;
    LIANA_TRY(folder ? liana__folder_make(folder, error) : liana__fail_memory(error, run->config));
    LIANA_TRY(make_context(sweep, &context, error));
    LIANA_TRY(write_text(sweep, run, context, &text, &arena, error));
    return liana__file_replace(run->config, text.data, text.length, error);
}
