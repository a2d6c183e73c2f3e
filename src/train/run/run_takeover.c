/* Takes a dead chief's place: another process of the cluster goes on writing the run folder where the chief left it.
 *
 * Processes that are not the chief have a temporary folder in place of the run folder, and all names of files lead
 * through it. So taking over makes a link to the run folder of it. */
#include "base/scoped.h"
#include "train/checkpoint/remote_checkpoints.h"
#include "train/run/run_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The knowledge that a process needs to take over. In the run's arena. */
typedef struct successor {
    liana__run *run;
    const liana__run_options *options;
    char job[LIANA__LEASE_JOB]; /* of the run folder's lease; "": nobody can take it over */
} successor;

/* ---- the folder ---- */

static liana_status hold(successor *own, const char *folder, liana__outlet *outlet, liana__error *error)
{
    liana__run *run = own->run;
    const liana__remote_options remote = liana__run_remote_options(run);
    const liana__lease_options wanted = {.remote = &remote,
                                         .seconds = run->config->cluster.lease,
                                         .job = own->job,
                                         .rank = run->core.cluster->place.rank,
                                         .advice = "start the training again when it is over",
                                         .stop = own->options->stop,
                                         .user = own->options->user};
    return liana__folder_hold_take(&run->hold, folder, outlet, &wanted, error);
}

/* Replaces a file or folder in the place of the run folder by a link to it. */
static liana_status lead_to(const liana__run *run, const char *folder, liana__error *error)
{
    LIANA__SCOPED_MEMORY char *whole = realpath(folder, NULL);
    LIANA_TRY(whole ? liana__folder_remove(run->folder, error)
                    : liana__fail(error, LIANA_IO_ERROR, "cannot find '%s': %s", folder, strerror(errno)));
    if (symlink(whole, run->folder) != 0) {
        return liana__fail(error, LIANA_IO_ERROR, "cannot make a link at '%s': %s", run->folder, strerror(errno));
    }
    return LIANA_OK;
}

static liana_status open_bucket(successor *own, const char *url, liana__error *error)
{
    liana__run *run = own->run;
    liana__outlet *outlet = NULL;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__paths names;
    liana__newest_checkpoint newest;
    const liana__remote_options remote = liana__run_remote_options(run);
    LIANA_TRY(liana__run_make_outlet(url, &remote, &outlet, error));
    run->outlet = outlet;
    const char *folder = liana__outlet_folder(outlet);
    LIANA_TRY(hold(own, folder, outlet, error));
    LIANA_TRY(liana__outlet_list(outlet, &arena, &names, error));
    LIANA_TRY(liana__checkpoints_fetch(outlet, LIANA__RUN_CHECKPOINTS, &names, run->config->job.checkpoint.keep,
                                       &newest, error));
    LIANA_TRY(lead_to(run, folder, error));
    if (run->job.writer) liana__checkpoint_writer_send(run->job.writer, outlet);
    return LIANA_OK;
}

static liana_status open_folder(successor *own, const char *folder, liana__error *error)
{
    if (!liana__folder_exists(folder)) {
        return liana__fail(error, LIANA_UNAVAILABLE, "this process does not reach the run folder '%s'", folder);
    }
    LIANA_TRY(hold(own, folder, NULL, error));
    return lead_to(own->run, folder, error);
}

/* Files that the dead chief was perhaps about to write. */
static liana_status write_files(liana__run *run, liana__error *error)
{
    run->bad_records.changed = run->bad_records.count > 0;
    if (run->core.state.history.count) LIANA_TRY(liana__run_write_history(run, error));
    return liana__run_write_bad_records(run, error);
}

static liana_status take_over(successor *own, liana__error *error)
{
    liana__run *run = own->run;
    const char *folder = own->options->chief_folder;
    if (!*own->job || !folder) return liana__fail(error, LIANA_UNAVAILABLE, "its run folder has no lease");
    LIANA_TRY(liana__path_is_remote(folder) ? open_bucket(own, folder, error) : open_folder(own, folder, error));
    const char *checkpoints = liana__run_checkpoints(own->run, own->run->folder);
    if (!checkpoints) return liana__fail_memory(error, "the run folder");
    LIANA_TRY(liana__checkpoints_remove_unfinished(checkpoints, error));
    if (own->options->on_lead) own->options->on_lead(own->options->user);
    liana__run_note(own->options, "the chief is gone; rank %zu goes on in its place and writes '%s'",
                    run->core.cluster->place.rank, folder);
    return write_files(run, error);
}

/* Whether this process leads on, or from now on (liana__cluster_hooks). */
static liana_status lead(void *user, bool takes_over, liana__error *error)
{
    successor *own = user;
    liana__error why = {0};
    if (!takes_over) return liana__lease_check(own->run->hold.lease, error);
    const liana_status status = take_over(own, &why);
    if (status == LIANA_OK) return LIANA_OK;
    return liana__fail(error, LIANA_UNAVAILABLE,
                       "the chief is gone, and rank %zu cannot take its place: %s; start the training again with "
                       "--resume",
                       own->run->core.cluster->place.rank, why.message);
}

/* ---- beginning ---- */

liana_status liana__run_begin_writing(liana__run *run, const liana__run_options *options, liana__error *error)
{
    liana__cluster *cluster = run->core.cluster;
    successor *own = liana__arena_allocate(&run->arena, sizeof *own);
    if (!own) return liana__fail_memory(error, "the run folder");
    *own = (successor){.run = run, .options = options};
    const liana_status status = liana__run_begin_folder(run, options, error);
    if (status == LIANA_OK && run->hold.lease) liana__lease_job(run->hold.lease, own->job);
    if (!cluster) return status;
    LIANA_TRY(liana__cluster_agree_status(cluster, status, error));
    LIANA_TRY(liana__cluster_tell(cluster, cluster->chief, own->job, sizeof own->job, error));
    own->job[sizeof own->job - 1] = '\0';
    liana__cluster_set_hooks(cluster, &(liana__cluster_hooks){.lead = lead, .user = own});
    return LIANA_OK;
}

liana_status liana__run_lead_on(const liana__run *run, liana__error *error)
{
    const liana__cluster *cluster = run->core.cluster;
    const size_t count = liana__cluster_size(cluster);
    LIANA__SCOPED_MEMORY bool *is_member = calloc(count, sizeof *is_member);
    if (!is_member) return liana__fail_memory(error, "the members of the cluster");
    for (size_t i = 0; i < count; i++) is_member[i] = liana__cluster_is_member(cluster, i);
    return liana__lease_lead(run->hold.lease, is_member, count, error);
}

/* All that the chief writes is written. */
static liana_status need_no_chief(void *user, bool takes_over, liana__error *error)
{
    (void)user;
    (void)takes_over;
    (void)error;
    return LIANA_OK;
}

liana_status liana__run_end_writing(const liana__run *run, liana_status status, liana__error *error)
{
    liana__cluster *cluster = run->core.cluster;
    if (!cluster) return status;
    if (status == LIANA_OK && liana__cluster_survives(cluster)) {
        /* The chief gives the folder back when it knows that nobody needs it any more: all are here then. */
        liana__cluster_set_hooks(cluster, &(liana__cluster_hooks){.lead = need_no_chief});
        status = liana__cluster_agree_status(cluster, LIANA_OK, error);
    }
    liana__cluster_set_hooks(cluster, &(liana__cluster_hooks){0});
    return status;
}

void liana__run_leave(const liana__run *run, liana_status status)
{
    const liana__cluster *cluster = run->core.cluster;
    const bool survives = cluster && liana__cluster_survives(cluster);
    if (survives && status == LIANA_UNAVAILABLE) liana__lease_leave(run->hold.lease);
}
