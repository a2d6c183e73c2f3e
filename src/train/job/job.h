/* job.h - a job: a training that is repeated for some epochs or updates, with callbacks, stages and checkpoints. Its
 * options are one struct (job_options.h) for all its users: liana_fit, `liana train` and estimators. */
#ifndef LIANA_TRAIN_JOB_H
#define LIANA_TRAIN_JOB_H

#include "train/checkpoint/checkpoint_writer.h"
#include "train/job/fit.h"
#include "train/objective/batch_components.h"

#include <liana/callback.h>

/* All is borrowed but the lists. Free with liana__job_free. */
typedef struct liana__job {
    liana_context *context;
    liana__job_options *options;
    liana__job_door door;
    liana__notes notes;
    liana__arena *arena;
    liana__training *training;
    liana__callback_list callbacks;
    liana__training_stages stages;    /* bound to the model; count 0: none */
    bool resumed;                     /* from a checkpoint */
    int64_t stop_at;                  /* when it ends, in seconds since 1970; 0: not by the clock */
    liana__checkpoint_writer *writer; /* while it is fitted; NULL: none */
} liana__job;

void liana__job_free(liana__job *job);

/* ---- length ---- */

liana__training_length liana__job_length(const liana__job *job);
/* Finds stop_at; a time of the day is the next one from now on. Clocks of machines differ: that of the cluster's chief
 * counts (NULL: alone). */
liana_status liana__job_find_stop(liana__job *job, liana__cluster *cluster, liana__error *error) LIANA_MUST_USE;
/* A job that goes on from a checkpoint may be over; a new one is not to end before its first update. */
liana_status liana__job_check_stop(const liana__job *job, liana__error *error) LIANA_MUST_USE;

/* Reads options->stages, which are given; everything is in the arena. Errors: those of liana__training_stages_read. */
liana_status liana__job_read_stages(const liana__job_options *options, const liana__job_door *door,
                                    const liana_context *context, liana__arena *arena, liana__training_stages *stages,
                                    liana__error *error) LIANA_MUST_USE;
/* The model trains the layers of the first stage, until liana__training_stages_restore; options->epochs are those of
 * all stages. Without stages: nothing. */
liana_status liana__job_begin_stages(liana__job *job, liana_model *model, liana__error *error) LIANA_MUST_USE;

/* ---- compiling ---- */

/* Whether a training can go on in the precision that a checkpoint records (NULL or "": none); for AUTO it is that
 * one. */
bool liana__job_keeps_precision(liana__job_options *options, const char *recorded, liana_precision *before);

/* Opens a training with these options; the rest of `wanted` is set. `match`: which components of the data are the
 * model's inputs; NULL: `wanted` says how they arrive. Errors: those of liana__training_open. */
liana_status liana__job_compile(const liana__job_options *options, const liana__data_match *match,
                                liana__training_options *wanted, liana__arena *arena, liana__training *training,
                                liana__error *error) LIANA_MUST_USE;

/* ---- fitting ---- */

/* Adds the history, the control, the callbacks that the options name, then the program's own ones. */
liana_status liana__job_add_callbacks(liana__job *job, const liana_callback *const *own, size_t count,
                                      liana__error *error) LIANA_MUST_USE;

/* The receivers of messages, and the policy for bad numbers. */
typedef struct liana__job_watch {
    const liana__progress_options *progress; /* NULL: nobody */
    bool numbers;                            /* bad numbers are looked for, as the options say */
    const char *numbers_folder;              /* for bundles; NULL: none are written */
} liana__job_watch;

/* Trains with these options; the rest of `wanted` is set. The callbacks that every job has are added behind the others:
 * progress and checkpoints of an event then see the requests that the others make at this event. The writer is closed.
 * Errors: those of liana__fit, and of writing checkpoints. */
liana_status liana__job_fit(liana__job *job, const liana__job_watch *watch, liana__fit_options *wanted,
                            liana__error *error) LIANA_MUST_USE;

/* ---- checkpoints ---- */

/* Checkpoints record the data: their facts before one is loaded; and their contents, as far as they are not known,
 * after that. */
liana_status liana__job_note_data(liana__job *job, const liana__source *source, liana__error *error) LIANA_MUST_USE;
void liana__job_note_contents(const liana__job *job);
/* Goes on from the checkpoint `from` (liana__checkpoint_find), or from the newest one that is whole, `newer` among them
 * (NULL: there is no other). *path is NULL where there is none. Errors: those of liana__checkpoint_resume. */
liana_status liana__job_resume(liana__job *job, const char *folder, const char *newer, const char *from,
                               const char **path, liana__error *error) LIANA_MUST_USE;
/* Opens the writer of a folder of checkpoints. `outlet` may be NULL. */
liana_status liana__job_open_writer(liana__job *job, const char *folder, liana__outlet *outlet, liana__error *error)
    LIANA_MUST_USE;
/* Sends the files of a job, however it ended (NULL: nowhere). Returns `status`, or the failure to send where the job
 * did not fail. */
liana_status liana__job_send(liana__outlet *outlet, liana_status status, liana__error *error) LIANA_MUST_USE;

#endif
