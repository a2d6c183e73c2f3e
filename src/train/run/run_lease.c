/* Holds the run folder. */
#include "train/run/run_internal.h"

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

liana_status liana__run_may_write(const liana__run *run, liana__error *error)
{
    LIANA_TRY(liana__run_check_there(run, error));
    return liana__lease_check(run->hold.lease, error);
}
