/* estimator.h - the inside of an estimator, and a run of it: from a spec to something that trains or measures. */
#ifndef LIANA_TRAIN_ESTIMATOR_ESTIMATOR_H
#define LIANA_TRAIN_ESTIMATOR_ESTIMATOR_H

#include "program/variables.h"
#include "remote/outlet.h"
#include "train/estimator/fn_data.h"
#include "train/job/job.h"

struct liana_estimator {
    liana_context *context;
    liana__arena arena;
    liana_estimator_options options; /* with copies of everything it points to */
    liana__job_options job;          /* those of the configuration */
    liana__job_door door;            /* how messages speak of them */
    liana__strategy_choice strategy; /* options in the arena */
    liana__fn fn;
    const char *folder;      /* model_dir, or a temporary folder */
    const char *checkpoints; /* in it */
    bool is_temporary;       /* the folder is removed with the estimator */
    liana__outlet *outlet;   /* sends the folder to the bucket that model_dir names; NULL: it is local */
    bool is_fetched;         /* the bucket's checkpoints are in the folder */
    int64_t global_step;     /* of the newest checkpoint */
    liana_device *device;    /* on the host: where variables are shown */
    liana_variables *variables;
    liana__arena results; /* memory of the last results */
};

/* The session of one call of the interface. Zero-initialise; close in any case. */
typedef struct liana__fn_session {
    liana_estimator *estimator;
    liana__arena arena;
    liana__fn_input train, measured; /* data; `measured` are those of evaluations and predictions */
    liana__fn_built built[3];        /* by liana_mode_kind */
    liana__function_model model;
    liana__job_options job; /* the options that it is compiled with */
    liana__training training;
} liana__fn_session;

/* Calls the model function for one mode, with the components of `input`. */
liana_status liana__fn_session_trace(liana__fn_session *own, liana_mode_kind kind, const liana__fn_input *input,
                                     liana__error *error) LIANA_MUST_USE;
/* Compiles the traced function; `trains`: with an optimizer. It reads the components of the first data. */
liana_status liana__fn_session_compile(liana__fn_session *own, const liana__fn_modes *modes,
                                       const liana__fn_input *first, liana__error *error) LIANA_MUST_USE;
/* Opens the loader of data; `steps`: of a training. */
liana_status liana__fn_session_load(liana__fn_session *own, liana__fn_input *input, bool trains, liana__error *error)
    LIANA_MUST_USE;
void liana__fn_session_close(liana__fn_session *own);

/* The precision of the configuration; for AUTO that of the newest checkpoint, if there is one. */
liana_precision liana__estimator_precision(const liana_estimator *own, liana__arena *arena);

/* Brings the checkpoints of a bucket into the folder, once: called before the folder is read. */
liana_status liana__estimator_fetch(liana_estimator *own, liana__error *error) LIANA_MUST_USE;

/* The newest checkpoint, in the arena. Errors: NOT_FOUND if nothing was trained. */
liana_status liana__estimator_newest(liana_estimator *own, liana__arena *arena, const char **path, liana__error *error)
    LIANA_MUST_USE;
/* Loads the weights of a session's training from it. Errors: INVALID_DATA with the folder if it is another model's. */
liana_status liana__estimator_restore(liana__fn_session *own, liana__error *error) LIANA_MUST_USE;

/* Gives the variables of a session's training their first values: those of models, initialisers, the warm start, and
 * the scaffold. Errors: INVALID_ARGUMENT with the variables that have none; those of the warm start. */
liana_status liana__estimator_initialize(liana__fn_session *own, liana__error *error) LIANA_MUST_USE;

/* Fails within "ESTIMATOR: model_dir 'FOLDER'". */
liana_status liana__estimator_blame(const liana_estimator *own, liana__error *error);

#endif
