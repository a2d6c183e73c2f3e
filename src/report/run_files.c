/* Reads run folders for comparisons and figures. */
#include "report/run_plot.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/value_read.h"
#include "formats/json.h"
#include "formats/yaml.h"
#include "train/training/history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- folders ---- */

enum { DEEPEST = 4 };

bool liana__is_run_folder(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/config.yaml", folder);
    return liana__file_exists(path);
}

typedef struct folder_list {
    const char **items;
    size_t count, capacity;
} folder_list;

static liana_status find_folders(const char *folder, int depth, liana__arena *arena, folder_list *list,
                                 liana__error *error)
{
    liana__paths names;
    if (liana__is_run_folder(folder)) {
        if (!liana__grow(&list->items, list->count, &list->capacity, sizeof *list->items)) {
            return liana__fail_memory(error, folder);
        }
        list->items[list->count++] = folder;
        return LIANA_OK;
    }
    if (depth == DEEPEST) return LIANA_OK;
    LIANA_TRY(liana__folder_list(folder, arena, &names, error));
    for (size_t i = 0; i < names.count; i++) {
        const char *path = liana__path_join(arena, folder, names.items[i]);
        if (!path) return liana__fail_memory(error, folder);
        if (liana__folder_exists(path)) LIANA_TRY(find_folders(path, depth + 1, arena, list, error));
    }
    return LIANA_OK;
}

liana_status liana__find_run_folders(const char *folder, liana__arena *arena, const char ***found, size_t *count,
                                     liana__error *error)
{
    folder_list list = {0};
    if (!liana__folder_exists(folder)) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "'%s' is not there, expected the folder of a run or a sweep",
                           folder);
    }
    liana_status status = find_folders(folder, 0, arena, &list, error);
    if (status == LIANA_OK && !list.count) {
        status = liana__fail(error, LIANA_INVALID_CONFIG,
                             "'%s' is not the folder of a run or a sweep: there is no config.yaml in it", folder);
    }
    *count = list.count;
    *found = liana__arena_allocate(arena, (list.count + 1) * sizeof **found);
    if (status == LIANA_OK && !*found) status = liana__fail_memory(error, folder);
    for (size_t i = 0; *found && i < list.count; i++) (*found)[i] = list.items[i];
    free(list.items);
    return status;
}

/* ---- one run ---- */

double liana__run_files_number(const liana__value *epochs, size_t index, const char *key)
{
    return liana__value_number_of(index < epochs->count ? epochs->items[index] : NULL, key, NAN);
}

/* The list "epochs" of a file. An item that is no map is an epoch without values; the first one says which there are.
 * */
static liana_status read_epochs(const char *path, size_t least, liana__arena *arena, const liana__value **epochs,
                                const liana__value **decisions, liana__error *error)
{
    liana__value *root;
    LIANA_TRY(liana__json_read(path, arena, &root, error));
    const liana__value *list = liana__value_list_of(root, "epochs");
    if (!list || list->count < least || (list->count && list->items[0]->kind != LIANA__VALUE_MAP)) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s': expected {\"epochs\": [{...}, ...]}%s, as liana train writes it", path,
                           least ? " with at least one epoch" : "");
    }
    *epochs = list;
    if (decisions) *decisions = liana__value_list_of(root, "decisions");
    return LIANA_OK;
}

static liana_status read_history(liana__run_files *run, size_t least, liana__arena *arena, liana__error *error)
{
    const char *history = liana__path_join(arena, run->folder, "history.json");
    const char *timing = liana__path_join(arena, run->folder, "timing.json");
    if (!history || !timing) return liana__fail_memory(error, run->folder);
    LIANA_TRY(read_epochs(history, least, arena, &run->epochs, &run->decisions, error));
    return liana__file_exists(timing) ? read_epochs(timing, 0, arena, &run->times, NULL, error) : LIANA_OK;
}

static liana_status read_run(liana__run_files *run, liana__arena *arena, liana__error *error)
{
    const char *config = liana__path_join(arena, run->folder, "config.yaml");
    const char *history = liana__path_join(arena, run->folder, "history.json");
    liana__value *settings;
    run->epochs = run->times = liana__value_list(arena);
    if (!config || !history || !run->times) return liana__fail_memory(error, run->folder);
    if (!liana__file_exists(config) || !liana__file_exists(history)) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "'%s' is not the folder of a run that has trained: %s is missing", run->folder,
                           liana__file_exists(config) ? "history.json" : "config.yaml");
    }
    LIANA_TRY(liana__yaml_read(config, arena, &settings, error));
    run->config = settings;
    return read_history(run, 1, arena, error);
}

/* ---- evaluations ---- */

/* An epoch that was not validated gets the measurement of an evaluator at its end, if there was one. */
static void add_evaluation(const liana__value *evaluation, const liana__value *epochs, liana__arena *arena)
{
    static const char *const no_measures[] = {"checkpoint", "iteration", "epoch", "step", "examples", "bad_records"};
    const double epoch = liana__value_number_of(evaluation, "epoch", NAN);
    if (liana__value_number_of(evaluation, "step", NAN) != 0 || !(epoch >= 1 && epoch <= (double)epochs->count)) return;
    liana__value *to = epochs->items[(size_t)epoch - 1];
    for (size_t i = 0; to->kind == LIANA__VALUE_MAP && i < evaluation->count; i++) {
        bool measure = true;
        for (size_t k = 0; k < sizeof no_measures / sizeof *no_measures; k++) {
            measure = measure && strcmp(evaluation->keys[i], no_measures[k]) != 0;
        }
        const char *key = measure ? liana__arena_format(arena, "val_%s", evaluation->keys[i]) : NULL;
        const liana__value *there = key ? liana__value_get(to, key) : NULL;
        if (!key || (there && there->kind != LIANA__VALUE_NULL)) continue;
        liana__value_set(arena, to, key, evaluation->items[i]);
    }
}

liana_status liana__run_files_add_evaluations(liana__run_files *run, liana__arena *arena, liana__error *error)
{
    const liana__value *epochs = run->epochs;
    const char *path = liana__path_join(arena, run->folder, "evaluations.json");
    if (!path) return liana__fail_memory(error, run->folder);
    if (!liana__file_exists(path)) return LIANA_OK;
    liana__value *root;
    LIANA_TRY(liana__json_read(path, arena, &root, error));
    const liana__value *list = root->kind == LIANA__VALUE_MAP ? liana__value_get(root, "evaluations") : NULL;
    for (size_t i = 0; list && list->kind == LIANA__VALUE_LIST && i < list->count; i++) {
        if (list->items[i]->kind == LIANA__VALUE_MAP) add_evaluation(list->items[i], epochs, arena);
    }
    return LIANA_OK;
}

/* ---- decisions ---- */

/* An epoch's decisions lie evenly within it. */
liana__run_decisions liana__run_files_decisions(const liana__run_files *run, liana__arena *arena)
{
    const liana__value *decisions = run->decisions;
    const size_t count = decisions ? decisions->count : 0;
    const char *monitor = count ? liana__value_text_of(decisions->items[0], "monitor", NULL) : NULL;
    liana__curve_mark *marks = liana__arena_allocate(arena, (count + 1) * sizeof *marks);
    if (!marks || !monitor) return (liana__run_decisions){0};
    const double epochs = (double)run->epochs->count;
    const double updates = liana__value_number_of(decisions->items[count - 1], "update", NAN);
    const double last_epoch = liana__value_number_of(decisions->items[count - 1], "epoch", NAN);
    for (size_t i = 0; i < count; i++) {
        const liana__value *one = decisions->items[i];
        double share = liana__value_number_of(one, "update", NAN) / updates;
        marks[i] = (liana__curve_mark){.epoch = share * fmin(last_epoch, epochs),
                                       .value = liana__value_number_of(one, "value", NAN),
                                       .accepted = liana__value_true_of(one, "accepted")};
    }
    if (liana__starts_with(monitor, "val_")) monitor += strlen("val_");
    return (liana__run_decisions){monitor, marks, count};
}

/* ---- names ---- */

/* The last `parts` parts of a path, without slashes at its end. */
static const char *tail_of(const char *path, int parts, liana__arena *arena)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t start = end;
    for (; start > 0; start--) {
        if (path[start - 1] == '/' && --parts == 0) break;
    }
    return liana__arena_format(arena, "%.*s", (int)(end - start), path + start);
}

/* As many parts of the folders as make the names different. */
static liana_status find_names(liana__run_files *runs, size_t count, liana__arena *arena, liana__error *error)
{
    enum { MOST_PARTS = 4 };
    for (int parts = 1; parts <= MOST_PARTS; parts++) {
        bool same = false;
        for (size_t i = 0; i < count; i++) {
            bool is_seed =
                parts == 1 && liana__starts_with(liana__path_name(tail_of(runs[i].folder, 1, arena)), "seed-");
            runs[i].name = tail_of(runs[i].folder, is_seed ? 2 : parts, arena);
            if (!runs[i].name) return liana__fail_memory(error, runs[i].folder);
            for (size_t k = 0; k < i; k++) same |= strcmp(runs[i].name, runs[k].name) == 0;
        }
        if (!same) break;
    }
    return LIANA_OK;
}

liana_status liana__run_files_read(const char *const *folders, size_t count, liana__arena *arena,
                                   liana__run_files **runs, liana__error *error)
{
    liana__run_files *read = liana__arena_allocate(arena, count * sizeof *read + 1);
    if (!read) return liana__fail_memory(error, "run folders");
    for (size_t i = 0; i < count; i++) {
        read[i].folder = folders[i];
        LIANA_TRY(read_run(&read[i], arena, error));
    }
    *runs = read;
    return find_names(read, count, arena, error);
}

static const char *why(const liana__error *error, liana__arena *arena)
{
    return liana__arena_string(arena, error->message);
}

static liana_status read_any(liana__run_files *run, const char **note, liana__arena *arena, liana__error *error)
{
    liana__error own = {0};
    liana__value *settings;
    const char *config = liana__path_join(arena, run->folder, "config.yaml");
    const char *history = liana__path_join(arena, run->folder, "history.json");
    run->epochs = run->times = liana__value_list(arena);
    if (!config || !history || !run->times) return liana__fail_memory(error, run->folder);
    if (!liana__file_exists(config)) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "'%s' is not a run folder: there is no config.yaml in it",
                           run->folder);
    }
    LIANA_TRY(liana__yaml_read(config, arena, &settings, error));
    run->config = settings;
    if (!liana__file_exists(history)) {
        *note = "No epoch is finished yet.";
        return LIANA_OK;
    }
    if (read_history(run, 0, arena, &own) != LIANA_OK) *note = why(&own, arena);
    if (!*note && liana__run_files_add_evaluations(run, arena, &own) != LIANA_OK) *note = why(&own, arena);
    if (!*note && run->epochs->count == 0) *note = "No epoch is finished yet.";
    return LIANA_OK;
}

liana_status liana__run_files_read_any(const char *const *folders, size_t count, liana__arena *arena,
                                       liana__run_files **runs, const char ***notes, liana__error *error)
{
    liana__run_files *read = liana__arena_allocate(arena, count * sizeof *read + 1);
    const char **found = liana__arena_allocate(arena, count * sizeof *found + 1);
    if (!read || !found) return liana__fail_memory(error, "run folders");
    for (size_t i = 0; i < count; i++) {
        read[i].folder = folders[i];
        LIANA_TRY(read_any(&read[i], &found[i], arena, error));
    }
    *runs = read;
    *notes = found;
    return find_names(read, count, arena, error);
}

/* ---- measures ---- */

static bool is_measure(const char *key)
{
    return liana__history_is_measure(key) && !liana__starts_with(key, "val_");
}

/* A run without epochs has nothing measured. */
static const liana__value *first_epoch(const liana__run_files *run)
{
    static const liana__value nothing = {.kind = LIANA__VALUE_MAP};
    return run->epochs->count ? run->epochs->items[0] : &nothing;
}

liana_status liana__run_files_measures(const liana__run_files *runs, size_t count, liana__arena *arena,
                                       const char *const **keys, size_t *num_keys, liana__error *error)
{
    size_t most = 1;
    for (size_t i = 0; i < count; i++) most += first_epoch(&runs[i])->count;
    const char **found = liana__arena_allocate(arena, most * sizeof *found);
    if (!found) return liana__fail_memory(error, "the measures of runs");
    *num_keys = 0;
    for (size_t i = 0; i < count; i++) {
        const liana__value *epoch = first_epoch(&runs[i]);
        for (size_t k = 0; k < epoch->count; k++) {
            bool known =
                !is_measure(epoch->keys[k]) || isnan(liana__run_files_number(runs[i].epochs, 0, epoch->keys[k]));
            for (size_t n = 0; n < *num_keys && !known; n++) known = strcmp(found[n], epoch->keys[k]) == 0;
            if (!known) found[(*num_keys)++] = epoch->keys[k];
        }
    }
    *keys = found;
    return LIANA_OK;
}

liana__best_value liana__run_files_best(const liana__run_files *run, const char *key)
{
    const liana__monitor_options monitor = {.monitor = key, .mode = LIANA__MONITOR_AUTO};
    liana__best_value found = {NAN, NAN, 0};
    for (size_t i = 0; i < run->epochs->count; i++) {
        const double value = liana__run_files_number(run->epochs, i, key);
        if (!isfinite(value)) continue;
        found.last = value;
        if (found.epoch && !liana__monitor_improves(&monitor, value, found.value)) continue;
        found.value = value;
        found.epoch = i + 1;
    }
    return found;
}

double liana__run_files_seconds(const liana__run_files *run)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 1; i < run->times->count; i++) {
        const double seconds = liana__run_files_number(run->times, i, "seconds");
        if (!isfinite(seconds)) continue;
        sum += seconds;
        count++;
    }
    return count ? sum / (double)count : NAN;
}

liana_status liana__run_files_differences(const liana__run_files *runs, size_t count, liana__arena *arena,
                                          liana__differences *differences, liana__error *error)
{
    /* Of each run they differ, or change no result. */
    static const char *const ignored[] = {"output", "train.threads", "data.threads", "data.cache_dir", NULL};
    const liana__value **trees = liana__arena_allocate(arena, (count + 1) * sizeof *trees);
    if (!trees) return liana__fail_memory(error, "the settings of runs");
    for (size_t i = 0; i < count; i++) trees[i] = runs[i].config;
    return liana__differences_find(trees, count, ignored, arena, differences, error);
}
