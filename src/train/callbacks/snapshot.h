/* snapshot.h - a copy of a training's variables on the host, to go back to: part of a callback's state. */
#ifndef LIANA_TRAIN_SNAPSHOT_H
#define LIANA_TRAIN_SNAPSHOT_H

#include "train/callbacks/callback.h"

/* Zero-initialise, and set `everything`; free with liana__snapshot_free. */
typedef struct liana__snapshot {
    bool everything; /* all variables: the optimizer's slots and averages too. false: the model's weights, with their
                      * moving averages */
    bool taken;      /* false: there is nothing to go back to yet */
    const liana__variables *variables; /* the training's */
    void **values;
    size_t count;
} liana__snapshot;

void liana__snapshot_free(liana__snapshot *snapshot);

/* Copies the variables as they are now; memory is allocated the first time. Errors: OUT_OF_MEMORY; those of reading the
 * device. */
liana_status liana__snapshot_take(liana__snapshot *snapshot, const liana_fit_context *context, liana__error *error)
    LIANA_MUST_USE;
/* Puts them back. Without a snapshot nothing happens. */
liana_status liana__snapshot_restore(const liana__snapshot *snapshot, liana_fit_context *context, liana__error *error)
    LIANA_MUST_USE;

/* As values of a state: KEY/conv2d/kernel. Errors of reading: INVALID_DATA for variables of other shapes. */
void liana__snapshot_keep(const liana__snapshot *snapshot, liana_callback_state *state, const char *key);
liana_status liana__snapshot_load(liana__snapshot *snapshot, const liana_fit_context *context,
                                  const liana_callback_state *state, const char *key, liana__error *error)
    LIANA_MUST_USE;

#endif
