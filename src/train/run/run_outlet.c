/* How a run reaches its files: fetched data, the hold of its folder, a folder in a bucket as a local one that is
 * sent. */
#include "base/clock.h"
#include "base/scoped.h"
#include "train/checkpoint/remote_checkpoints.h"
#include "train/run/run_internal.h"

#include <string.h>
#include <sys/stat.h>

/* The files, other than the checkpoints, that a resumed run goes on with. */
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
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__paths names;
    LIANA_TRY(liana__outlet_list(run->outlet, &arena, &names, error));
    return resume ? go_on(run, &names, error) : begin_new(run, &names, &arena, error);
}

liana_status liana__run_send(const liana__run *run, liana__error *error)
{
    return run->outlet ? liana__outlet_changed(run->outlet, error) : LIANA_OK;
}

liana_status liana__run_send_all(const liana__run *run, liana__error *error)
{
    return run->outlet ? liana__outlet_flush(run->outlet, error) : LIANA_OK;
}

/* ---- the hold of the folder ---- */

liana_status liana__run_hold(liana__run *run, const liana__run_options *options, liana__error *error)
{
    /* The folder of another process than the chief is nobody else's. */
    if (!liana__cluster_is_chief(liana__cluster_of(run->context))) return LIANA_OK;
    const liana__remote_options remote = liana__run_remote_options(run);
    const liana__lease_options wanted = {.remote = &remote,
                                         .seconds = run->config->cluster.lease,
                                         .advice = "choose another folder with --out",
                                         .notes = {options->on_note, options->user},
                                         .stop = options->stop,
                                         .user = options->user};
    return liana__folder_hold_take(&run->hold, run->folder, run->outlet, &wanted, error);
}

static liana_status check_there(const liana__run *run, liana__error *error)
{
    struct stat held, found;
    if (!run->folder || !run->hold.lock.taken || fstat(run->hold.lock.descriptor, &held) != 0) return LIANA_OK;
    bool there = stat(run->folder, &found) == 0;
    if (there && found.st_dev == held.st_dev && found.st_ino == held.st_ino) return LIANA_OK;
    return liana__fail(error, LIANA_NOT_FOUND,
                       "the run folder '%s' was %s during training; what was learnt after its last checkpoint is lost",
                       run->folder,
                       there           ? "replaced"
                       : held.st_nlink ? "moved away"
                                       : "removed");
}

liana_status liana__run_may_write(const liana__run *run, liana__error *error)
{
    LIANA_TRY(check_there(run, error));
    return liana__lease_check(run->hold.lease, error);
}

/* ---- remote files ---- */

/* Lines about a long fetch come this far apart. */
enum { SECONDS_BETWEEN_NOTES = 5 };

/* The receiver of reports. The options are valid during the call that opens the run; data are also opened later. */
struct liana__run_fetch {
    const liana__run_options *options;
    uint64_t told; /* at which second */
};

static bool on_progress(void *user, const liana__remote_progress *progress)
{
    struct liana__run_fetch *fetch = user;
    const liana__run_options *options = fetch->options;
    if (!options) return true;
    const uint64_t now = liana__clock() / 1000000000u;
    bool last = progress->files_done == progress->files;
    if (last || now >= fetch->told + SECONDS_BETWEEN_NOTES) {
        fetch->told = now;
        liana__run_note(options, "%s", liana__remote_progress_line(progress).text);
    }
    return !options->stop || !options->stop(options->user);
}

liana__remote_options liana__run_remote_options(const liana__run *run)
{
    const liana__data_config *data = &run->config->data;
    return (liana__remote_options){.cache_folder = data->remote_cache,
                                   .cache_limit = (uint64_t)data->remote_cache_limit << 20,
                                   .progress = on_progress,
                                   .user = run->fetch};
}

liana_status liana__run_make_remote(liana__run *run, const liana__run_options *options, liana__error *error)
{
    run->fetch = liana__arena_allocate(&run->arena, sizeof *run->fetch);
    if (!run->fetch) return liana__fail_memory(error, "remote files");
    run->fetch->options = options;
    const liana__remote_options wanted = liana__run_remote_options(run);
    return liana__remote_create(&wanted, &run->remote, error);
}

void liana__run_forget_options(liana__run *run)
{
    run->fetch->options = NULL;
}

char *liana__run_checkpoints(liana__run *run, const char *folder)
{
    return liana__path_join(&run->arena, folder, "checkpoints");
}
