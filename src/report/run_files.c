/* Reads run folders for comparisons and figures. */
#include "report/run_plot.h"

#include "base/file.h"
#include "base/text.h"
#include "base/value_read.h"
#include "formats/json.h"
#include "formats/yaml.h"
#include "train/training/history.h"

#include <math.h>
#include <string.h>

double liana__run_files_number(const liana__value *epochs, size_t index, const char *key)
{
    return liana__value_number_of(index < epochs->count ? epochs->items[index] : NULL, key, NAN);
}

static liana_status read_run(liana__run_files *run, liana__arena *arena, liana__error *error)
{
    const char *config = liana__path_join(arena, run->folder, "config.yaml");
    const char *history = liana__path_join(arena, run->folder, "history.json");
    const char *timing = liana__path_join(arena, run->folder, "timing.json");
    liana__value *settings, *none = liana__value_list(arena);
    if (!config || !history || !timing || !none) return liana__fail_memory(error, run->folder);
    if (!liana__file_exists(config) || !liana__file_exists(history)) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "'%s' is not the folder of a run that has trained: %s is missing", run->folder,
                           liana__file_exists(config) ? "history.json" : "config.yaml");
    }
    LIANA_TRY(liana__yaml_read(config, arena, &settings, error));
    run->config = settings;
    run->times = none;
    LIANA_TRY(liana__history_file_epochs(history, 1, arena, &run->epochs, error));
    return liana__file_exists(timing) ? liana__history_file_epochs(timing, 0, arena, &run->times, error) : LIANA_OK;
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

/* ---- measures ---- */

static bool is_measure(const char *key)
{
    return liana__history_is_measure(key) && !liana__starts_with(key, "val_");
}

liana_status liana__run_files_measures(const liana__run_files *runs, size_t count, liana__arena *arena,
                                       const char *const **keys, size_t *num_keys, liana__error *error)
{
    size_t most = 1;
    for (size_t i = 0; i < count; i++) most += runs[i].epochs->items[0]->count;
    const char **found = liana__arena_allocate(arena, most * sizeof *found);
    if (!found) return liana__fail_memory(error, "the measures of runs");
    *num_keys = 0;
    for (size_t i = 0; i < count; i++) {
        const liana__value *epoch = runs[i].epochs->items[0];
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
