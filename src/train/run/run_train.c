/* Trains a run, and writes its results. */
#include "train/run/run_internal.h"

#include "backends/pjrt/platform.h"
#include "base/file.h"
#include "base/scoped.h"
#include "train/checkpoint/temporary.h"

/* Passes events on, and keeps the history on disk up to date. */
typedef struct watcher {
    liana__run *run;
    const liana__run_options *options;
    liana__error *error;
    liana_status status;
    bool stops;          /* somebody has asked to stop */
    bool waits;          /* another process waits to take part */
    bool hands_over;     /* the save is for the next round of the cluster */
    uint64_t generation; /* of the cluster, as far as it was told of */
} watcher;

static liana_status write_history_once(void *user, bool is_chief, liana__error *error)
{
    const liana__run *run = user;
    if (!is_chief) return LIANA_OK;
    LIANA_TRY(liana__run_may_write(run, error));
    return liana__run_write_history(run, error);
}

static liana_status write_history(const liana__run *run, liana__error *error)
{
    return liana__chief_does(run->core.cluster, write_history_once, (void *)(uintptr_t)run, error);
}

/* Outside of the run folder, whose checkpoints are those of an undisturbed run. */
static liana_status save_handover(const watcher *own, liana__error *error)
{
    liana__run *run = own->run;
    liana__handover *handover = own->options->handover;
    const char *folder;
    LIANA_TRY(liana__checkpoint_writer_finish(run->job.writer, error));
    LIANA_TRY(liana__temporary_folder(handover->arena, &folder, error));
    LIANA_TRY(liana__checkpoint_save(folder, &run->core.variables, &run->core.state, 0, error));
    return liana__checkpoint_newest(folder, handover->arena, &handover->checkpoint, error);
}

/* All go on in a next round of the cluster if nobody has asked to stop. */
static liana_status plan_handover(void *user, bool *hands_over, liana__error *error)
{
    watcher *own = user;
    liana__handover *handover = own->options->handover;
    liana__cluster *cluster = own->run->core.cluster;
    if (!handover || !cluster) return LIANA_OK;
    const bool stops = own->stops || own->status != LIANA_OK;
    LIANA_TRY(liana__cluster_plan_round(cluster, own->waits, stops, &handover->round, handover->absent, error));
    own->hands_over = *hands_over = handover->round.number > 0;
    return LIANA_OK;
}

static liana_status save(void *user, liana__error *error)
{
    const watcher *own = user;
    liana__run *run = own->run;
    LIANA_TRY(liana__run_may_write(run, error));
    if (own->hands_over) return save_handover(own, error);
    LIANA_TRY(liana__checkpoint_writer_save(run->job.writer, &run->core.variables, &run->core.state, error));
    /* Where another process could take over, it must find everything that all take for saved. */
    if (!run->core.cluster || !liana__cluster_survives(run->core.cluster)) return LIANA_OK;
    LIANA_TRY(liana__checkpoint_writer_finish(run->job.writer, error));
    return liana__run_send_all(run, error);
}

/* Processes are taken in after an update. */
static bool is_waited_for(const watcher *own, const liana__fit_event *event)
{
    const liana__cluster *cluster = own->run->core.cluster;
    return event->kind == LIANA__FIT_STEP && cluster && own->options->handover && liana__cluster_has_waiting(cluster);
}

/* An update without the dead shows that they are not needed. */
static liana_status tell_deaths(watcher *own, liana__error *error)
{
    const liana__cluster *cluster = own->run->core.cluster;
    const uint64_t generation = liana__cluster_generation(cluster);
    if (generation == own->generation) return LIANA_OK;
    own->generation = generation;
    LIANA__SCOPED(liana__text) gone = {0};
    for (size_t i = 0; i < liana__cluster_size(cluster); i++) {
        if (!liana__cluster_is_member(cluster, i)) liana__text_add(&gone, "%s%zu", gone.length ? ", " : "", i);
    }
    liana__run_note(own->options, "rank %s is gone: %zu of %zu processes go on, after step %lld",
                    gone.data ? gone.data : "?", liana__cluster_num_members(cluster), liana__cluster_size(cluster),
                    (long long)own->run->core.state.step);
    return liana__run_lead_on(own->run, error);
}

static bool watch(void *user, const liana__fit_event *event)
{
    watcher *own = user;
    if (event->kind == LIANA__FIT_STEP) liana__phase_part("train");
    if (event->kind == LIANA__FIT_VALIDATION) liana__phase_part("validate");
    own->status = liana__lease_status(own->run->hold.lease, own->error);
    if (own->status == LIANA_OK) own->status = tell_deaths(own, own->error);
    if (event->kind == LIANA__FIT_EPOCH) {
        own->status = liana__cluster_agree_status(own->run->core.cluster, own->status, own->error);
    }
    if (own->status != LIANA_OK) return false;
    if (event->kind == LIANA__FIT_EPOCH) own->status = write_history(own->run, own->error);
    if (event->kind == LIANA__FIT_EPOCH) liana__run_note_cache_events(own->run, own->options);
    /* Written before the next checkpoint, so that a run resumed from it has the whole list. */
    if (own->status == LIANA_OK) own->status = liana__run_write_bad_records(own->run, own->error);
    if (own->status != LIANA_OK) return false;
    bool goes_on = !own->options->on_event || own->options->on_event(own->options->user, event);
    if (event->kind == LIANA__FIT_EPOCH) liana__warn_after_epoch(&own->run->warnings);
    own->stops = own->stops || !goes_on;
    own->waits = own->waits || is_waited_for(own, event);
    return goes_on && !own->waits;
}

static liana_status open_examples(void *user, liana__loader **loader, liana__error *error)
{
    return liana__run_open_examples(((watcher *)user)->run, loader, error);
}

static liana_status fit(liana__run *run, const liana__run_options *options, liana__error *error)
{
    liana__job *job = &run->job;
    liana__error write_error = {0};
    watcher own = {.run = run, .options = options, .error = &write_error};
    own.generation = liana__cluster_generation(run->core.cluster);
    job->notes = (liana__notes){options->on_note, options->user};
    const liana__progress_options progress = {watch, &own};
    const liana__job_watch watching = {&progress, true, run->folder};
    const char *checkpoints = run->folder ? liana__run_checkpoints(run, run->folder) : NULL;
    if (run->folder && !checkpoints) return liana__fail_memory(error, "the run folder");
    if (checkpoints) LIANA_TRY(liana__job_open_writer(job, checkpoints, run->outlet, error));
    liana__fit_options wanted = {.training = run->training.loader,
                                 .validation = run->validation.loader,
                                 .seen_classes = liana__warn_classes_to_see(&run->warnings),
                                 .save = run->folder ? save : NULL,
                                 .hand_over = plan_handover,
                                 .user = &own,
                                 .folder = run->folder,
                                 .class_names = run->class_names,
                                 .open_examples = run->training.source->streams ? NULL : open_examples};
    liana_status status = liana__job_fit(job, &watching, &wanted, error);
    if (own.status != LIANA_OK) {
        *error = write_error;
        return own.status;
    }
    return status;
}

static liana_status write_predictions(liana__run *run, const liana__run_data *data, liana__prediction_columns columns,
                                      const char *name, const liana__run_options *options, liana__error *error)
{
    if (!data->source) return LIANA_OK;
    const char *path = liana__path_join(&run->arena, run->folder, name);
    if (!path) return liana__fail_memory(error, name);
    return liana__run_predict(run, data, columns, path, options, error);
}

/* The process that made the last save may have died before it had removed the checkpoints that were too old by then. */
static liana_status remove_old_checkpoints(liana__run *run, liana__error *error)
{
    const char *folder = liana__run_checkpoints(run, run->folder);
    if (!folder) return liana__fail_memory(error, "the run folder");
    if (!liana__folder_exists(folder)) return LIANA_OK;
    return liana__checkpoints_remove_old(folder, &run->core.state, run->config->job.checkpoint.keep, error);
}

/* The last files. Files that the others take for written are in the bucket, too. */
static liana_status finish_once(void *user, bool is_chief, liana__error *error)
{
    liana__run *run = user;
    liana__phase_part("finish");
    if (!is_chief) return LIANA_OK;
    LIANA_TRY(liana__run_may_write(run, error));
    LIANA_TRY(liana__run_write_bad_records(run, error));
    return liana__run_send_all(run, error);
}

static liana_status write_results(liana__run *run, const liana__run_options *options, liana__error *error)
{
    liana__phase_part("results");
    LIANA_TRY(remove_old_checkpoints(run, error));
    LIANA_TRY(write_history(run, error));
    LIANA_TRY(write_predictions(run, &run->validation, LIANA__PREDICTIONS_VALIDATION, "validation_predictions.csv",
                                options, error));
    LIANA_TRY(
        write_predictions(run, &run->test, LIANA__PREDICTIONS_SUBMISSION, "test_predictions.csv", options, error));
    return run->core.cluster ? liana__chief_does(run->core.cluster, finish_once, run, error) : LIANA_OK;
}

/* Where the folder is gone, or another process writes to it too, that is why a file of it could not be written. */
static liana_status explain(const liana__run *run, liana_status status, liana__error *error)
{
    liana__error gone = {0};
    bool written = status == LIANA_OK || status == LIANA_CANCELLED;
    if (written || liana__run_may_write(run, &gone) == LIANA_OK) return status;
    *error = gone;
    return gone.status;
}

/* A device that has failed takes nothing with it that a checkpoint has. */
static liana_status explain_device(liana__run *run, liana_status status, liana__error *error)
{
    if (status == LIANA_OK || !error || !run->folder || !liana__pjrt_has_failed(run->core.device)) return status;
    const liana__error was = *error;
    const char *folder = liana__run_checkpoints(run, run->folder), *path = NULL;
    if (!folder || liana__checkpoint_newest(folder, &run->arena, &path, NULL) != LIANA_OK) return status;
    if (!path || liana__checkpoint_verify(path, NULL, NULL) != LIANA_OK) {
        return liana__fail(error, status, "%.1800s; there is no checkpoint yet, so the run begins anew", was.message);
    }
    return liana__fail(error, status, "%.1800s; the checkpoint '%s' is whole: --resume goes on from it", was.message,
                       path);
}

/* ---- deaths that end the job ---- */

static bool ends_with_a_death(const liana__run *run)
{
    const liana__cluster *cluster = run->core.cluster;
    return run->folder && cluster && !cluster->transport->survives_death && liana__cluster_size(cluster) > 1;
}

/* Said before it happens: mpirun may end all processes before one of them can say a word. */
static void note_deaths(const liana__run *run, const liana__run_options *options)
{
    if (!ends_with_a_death(run)) return;
    liana__run_note(options,
                    "over %s the death of a process ends the job; start it again with --resume then, on any number of "
                    "processes: it goes on from its newest checkpoint",
                    run->core.cluster->transport->name);
}

static liana_status explain_death(const liana__run *run, liana_status status, liana__error *error)
{
    if (status != LIANA_UNAVAILABLE || !ends_with_a_death(run) || !error) return status;
    const liana__error was = *error;
    return liana__fail(error, status,
                       "%.1600s; over %s the death of a process ends the job: start it again with --resume, on any "
                       "number of processes, and it goes on from its newest checkpoint",
                       was.message, run->core.cluster->transport->name);
}

liana_status liana__run_train(liana__run *run, const liana__run_options *options, liana__error *error)
{
    if (run->folder) LIANA_TRY(liana__run_begin_writing(run, options, error));
    note_deaths(run, options);
    liana_status status = fit(run, options, error);
    if (status == LIANA_OK && run->folder) status = write_results(run, options, error);
    if (run->folder) status = liana__run_end_writing(run, status, error);
    liana__phase_part("close");
    status = explain(run, explain_device(run, explain_death(run, status, error), error), error);
    liana__run_leave(run, status);
    /* Nothing more is written then; the files may not be complete. */
    const bool well = status == LIANA_OK || status == LIANA_CANCELLED;
    const liana_status held = liana__lease_check(run->hold.lease, well ? error : NULL);
    if (held != LIANA_OK) return well ? held : status;
    /* The error that ended the run is reported first. */
    liana_status listed = liana__run_write_bad_records(run, status == LIANA_OK ? error : NULL);
    if (run->outlet) liana__run_note(options, "sending the results to '%s'", liana__outlet_url(run->outlet));
    return liana__job_send(run->outlet, status == LIANA_OK ? listed : status, error);
}
