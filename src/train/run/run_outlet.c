/* A run folder in a bucket: a local folder that is sent. */
#include "train/checkpoint/remote_checkpoints.h"
#include "train/run/run_internal.h"

#include <string.h>

/* The files beside the checkpoints that a resumed run goes on with. */
static const char *const FILES[] = {"config.yaml", "model.json", "history.json", "timing.json", "bad_records.csv"};
enum { NUM_FILES = sizeof FILES / sizeof *FILES };

static liana_status refuse_unsent(const liana__run *run, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "'%s' has results of an earlier run that were not sent, in '%s'; continue it with --resume, or "
                       "remove that folder",
                       liana__outlet_url(run->outlet), run->folder);
}

/* The folder itself stays: it is locked. */
static liana_status empty_folder(const char *folder, liana__arena *arena, liana__error *error)
{
    liana__paths names;
    LIANA_TRY(liana__folder_list(folder, arena, &names, error));
    for (size_t i = 0; i < names.count; i++) {
        const char *path = liana__path_join(arena, folder, names.items[i]);
        if (!path) return liana__fail_memory(error, "the run folder");
        LIANA_TRY(liana__folder_remove(path, error));
    }
    return LIANA_OK;
}

/* A new run: nothing is there that it would mix with. */
static liana_status begin_new(liana__run *run, const liana__paths *names, liana__arena *arena, liana__error *error)
{
    liana__paths complete;
    const char *newest, *checkpoints = liana__path_join(arena, run->folder, LIANA__RUN_CHECKPOINTS);
    if (!checkpoints) return liana__fail_memory(error, "the run folder");
    LIANA_TRY(liana__checkpoints_complete(names, LIANA__RUN_CHECKPOINTS, arena, &complete, error));
    if (complete.count) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "'%s' already holds a run; continue it with --resume, or choose another folder with --out",
                           liana__outlet_url(run->outlet));
    }
    LIANA_TRY(liana__checkpoint_newest(checkpoints, arena, &newest, error));
    if (newest) return refuse_unsent(run, error);
    LIANA_TRY(empty_folder(run->folder, arena, error));
    /* Of a run that came to nothing. */
    for (size_t i = 0; i < names->count; i++) {
        if (liana__starts_with(names->items[i], LIANA__RUN_CHECKPOINTS)) {
            LIANA_TRY(liana__outlet_adopt(run->outlet, names->items[i], error));
        }
    }
    return LIANA_OK;
}

static liana_status go_on(liana__run *run, const liana__paths *names, liana__error *error)
{
    liana__newest_checkpoint newest;
    const char *wanted[NUM_FILES];
    size_t count = 0;
    LIANA_TRY(liana__checkpoints_fetch(run->outlet, LIANA__RUN_CHECKPOINTS, names, run->config->job.checkpoint.keep,
                                       &newest, error));
    if (newest == LIANA__NEWEST_LOCAL) return LIANA_OK;
    for (size_t i = 0; i < NUM_FILES; i++) {
        bool there = false;
        for (size_t k = 0; k < names->count; k++) there = there || strcmp(names->items[k], FILES[i]) == 0;
        if (there) wanted[count++] = FILES[i];
    }
    return count ? liana__outlet_fetch(run->outlet, wanted, count, error) : LIANA_OK;
}

liana_status liana__run_make_outlet(const char *url, const liana__remote_options *remote, liana__outlet **outlet,
                                    liana__error *error)
{
    return liana__outlet_open(&(liana__outlet_options){.url = url,
                                                       .last = liana__checkpoint_state,
                                                       .hint = "the same command with --resume sends it and goes on",
                                                       .remote = remote},
                              outlet, error);
}

liana_status liana__run_open_outlet(liana__run *run, const liana__run_options *options,
                                    const liana__remote_options *remote, liana__error *error)
{
    if (!run->folder || !liana__path_is_remote(run->folder)) return LIANA_OK;
    LIANA_TRY(liana__run_make_outlet(run->folder, remote, &run->outlet, error));
    run->folder = liana__outlet_folder(run->outlet);
    LIANA_TRY(liana__run_hold(run, options, error));
    const bool resume = options->resume || options->resume_from;
    liana__arena arena = {0};
    liana__paths names;
    liana_status status = liana__outlet_list(run->outlet, &arena, &names, error);
    if (status == LIANA_OK) status = resume ? go_on(run, &names, error) : begin_new(run, &names, &arena, error);
    liana__arena_free(&arena);
    return status;
}

liana_status liana__run_send(const liana__run *run, liana__error *error)
{
    return run->outlet ? liana__outlet_changed(run->outlet, error) : LIANA_OK;
}

liana_status liana__run_send_all(const liana__run *run, liana__error *error)
{
    return run->outlet ? liana__outlet_flush(run->outlet, error) : LIANA_OK;
}
