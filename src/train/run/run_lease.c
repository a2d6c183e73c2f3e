/* Holds the run folder. */
#include "train/run/run_internal.h"

#include "base/file.h"

static liana_status may_write(void *user, liana__error *error)
{
    return liana__lease_check(user, error);
}

static liana_status take_lease(liana__run *run, const liana__run_options *options, const char *lock,
                               liana__error *error)
{
    const liana__remote_options remote = liana__run_remote_options(run);
    const liana__lease_options wanted = {.folder = run->outlet ? liana__outlet_url(run->outlet) : run->folder,
                                         .remote = &remote,
                                         .seconds = run->config->cluster.lease,
                                         .lock = lock,
                                         .advice = "choose another folder with --out",
                                         .notes = {options->on_note, options->user},
                                         .stop = options->stop,
                                         .user = options->user};
    LIANA_TRY(liana__lease_take(&wanted, &run->lease, error));
    if (run->outlet) liana__outlet_guard(run->outlet, may_write, run->lease);
    return LIANA_OK;
}

liana_status liana__run_hold(liana__run *run, const liana__run_options *options, liana__error *error)
{
    char lock[48];
    /* Two runs in one folder would save over each other. */
    LIANA_TRY(liana__folder_lock_take(&run->lock, run->folder, "choose another folder with --out", error));
    const liana__cluster *cluster = liana__cluster_of(run->context);
    if (run->lease || !run->lock.taken || !liana__cluster_is_chief(cluster)) return LIANA_OK;
    if (run->outlet) {
        const int descriptor = liana__outlet_lock(run->outlet);
        liana__folder_lock_identity(descriptor, descriptor >= 0, lock);
    } else {
        liana__folder_lock_identity(run->lock.descriptor, run->lock.works, lock);
    }
    return take_lease(run, options, lock, error);
}

liana_status liana__run_may_write(const liana__run *run, liana__error *error)
{
    LIANA_TRY(liana__run_check_there(run, error));
    return liana__lease_check(run->lease, error);
}
