/* Writes the settings of a sweep's runs into event files. */
#include "report/reports.h"

#include "base/file.h"
#include "base/scoped.h"
#include "formats/event_hparams.h"
#include "formats/yaml.h"

#include <string.h>

/* The folder of a run's event files, as `summaries` of its configuration says. NULL: it writes none. */
static liana_status find_folder(const liana__sweep_run *run, liana__arena *arena, const char **folder,
                                liana__error *error)
{
    liana__value *config;
    const char *path = liana__path_join(arena, run->folder, "config.yaml");
    *folder = NULL;
    if (!path) return liana__fail_memory(error, run->folder);
    if (!liana__file_exists(path)) return LIANA_OK;
    LIANA_TRY(liana__yaml_read(path, arena, &config, error));
    const liana__value *summaries = liana__value_get(config, "summaries");
    const liana__value *named =
        summaries && summaries->kind == LIANA__VALUE_MAP ? liana__value_get(summaries, "folder") : NULL;
    const bool is_on = summaries && (summaries->kind == LIANA__VALUE_MAP ||
                                     (summaries->kind == LIANA__VALUE_BOOL && summaries->boolean));
    const char *name = named && named->kind == LIANA__VALUE_STRING ? named->string : "summaries";
    if (!is_on) return LIANA_OK;
    *folder = name[0] == '/' ? name : liana__path_join(arena, run->folder, name);
    return *folder ? LIANA_OK : liana__fail_memory(error, run->folder);
}

liana_status liana__sweep_events_write(const liana__sweep *sweep, const liana__sweep_run *run, double begin, double end,
                                       bool has_failed, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const liana__sweep_setting *setting = &sweep->settings[run->setting];
    const char *folder;
    LIANA_TRY(find_folder(run, &arena, &folder, error));
    if (!folder) return LIANA_OK;
    liana__event_hparam *hparams = liana__arena_allocate(&arena, (setting->num_changes + 1) * sizeof *hparams);
    if (!hparams) return liana__fail_memory(error, folder);
    size_t count = 0;
    for (size_t i = 0; i < setting->num_changes; i++) {
        const char *key = setting->changes[i].key;
        if (strncmp(key, "summaries", strlen("summaries")) == 0) continue; /* they change no result */
        hparams[count++] = (liana__event_hparam){key, setting->changes[i].value};
    }
    const liana__event_session session = {.hparams = hparams,
                                          .count = count,
                                          .group = setting->name,
                                          .begin = begin,
                                          .end = end,
                                          .has_failed = has_failed};
    return liana__event_session_write(folder, &session, error);
}
