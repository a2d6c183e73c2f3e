/* event_hparams.h - the hyperparameters of a run in an event file, as TensorBoard's table of them reads it
 * (tensorboard/plugins/hparams). The wire format is in proto/hparams.proto. */
#ifndef LIANA_FORMATS_EVENT_HPARAMS_H
#define LIANA_FORMATS_EVENT_HPARAMS_H

#include "base/value.h"

typedef struct liana__event_hparam {
    const char *name;
    const liana__value *value; /* a number, text, true or false; others are written as JSON */
} liana__event_hparam;

/* A run that has ended. Times are in seconds since 1970. */
typedef struct liana__event_session {
    const liana__event_hparam *hparams; /* [count] */
    size_t count;
    const char *group; /* runs of one group have the same hyperparameters, and differ by their seeds */
    double begin, end;
    bool has_failed;
} liana__event_session;

/* Writes a file into a folder, and removes those that liana wrote there before. TensorBoard takes the scalars of the
 * folder, and of the folders in it, for the measures of the run. Errors: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__event_session_write(const char *folder, const liana__event_session *session, liana__error *error)
    LIANA_MUST_USE;

#endif
