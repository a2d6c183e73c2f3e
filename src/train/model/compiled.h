/* compiled.h - the compiled programs of fit, evaluate and predict, which the model keeps: the next call that asks for
 * the same compiles nothing, and a fit goes on where the last one ended. */
#ifndef LIANA_TRAIN_COMPILED_H
#define LIANA_TRAIN_COMPILED_H

#include "train/checkpoint/optimizer_state.h"
#include "train/job/job_options.h"
#include "train/objective/batch_components.h"

#include <liana/train.h>

/* A request to compile a model. */
typedef struct liana__compile_request {
    liana_model *model;
    const liana__job_options *job;        /* optimizer NULL: for evaluation and prediction only */
    const liana__training_stages *stages; /* bound to the model; the optimizer is then the first one's; NULL: none */
    bool predicts;                        /* no targets, loss and metrics */
    const liana__data_match *match;       /* which components the data have; NULL: images and labels */
    liana_scale scale;
    bool fractions; /* of images: see liana__trainer_options */
    bool mixes;
    int64_t data_memory; /* MiB */
    liana__notes notes;
} liana__compile_request;

/* The defaults of jobs, which the model keeps. Errors: OUT_OF_MEMORY. */
liana_status liana__compiled_defaults(liana_model *model, const liana__job_options **defaults, liana__error *error)
    LIANA_MUST_USE;
/* The training for a request: the kept one if the request, the model's layers and its trainable weights are the same,
 * else a new one in its place. Its variables have the model's weights. Borrowed until the model is compiled again.
 * Errors: those of names and options (INVALID_CONFIG), and of compiling. */
liana_status liana__compiled_get(const liana__compile_request *request, liana__training **training, liana__error *error)
    LIANA_MUST_USE;

/* A model with stateful layers has a batch size of its own, which is the default. */
void liana__default_to_states(const liana_model *model, int64_t *batch_size);

/* The model's weights become those of the training: after a fit. */
liana_status liana__compiled_take_weights(liana_model *model, const liana__training *training, liana__error *error)
    LIANA_MUST_USE;

/* ---- the state of the optimizer ---- */

/* Until a fit has trained the model: the first fit goes on from this state (liana__optimizer_state_begin), and a file
 * gets it. Takes what `state` holds. Errors: OUT_OF_MEMORY. */
liana_status liana__compiled_take_state(liana_model *model, liana__optimizer_state *state, liana__error *error)
    LIANA_MUST_USE;
/* The same of a checkpoint of a run, which is read when a file is written. A fit does not go on from it. */
liana_status liana__compiled_remember_checkpoint(liana_model *model, const char *checkpoint, liana__error *error)
    LIANA_MUST_USE;
/* The state for a file: that of the last fit, else the one that was taken. `made` is zeroed, and freed by the caller;
 * *state may be in it. NULL: there is none. Errors: those of the device, OUT_OF_MEMORY. */
liana_status liana__compiled_find_state(const liana_model *model, liana__optimizer_state *made,
                                        const liana__optimizer_state **state, liana__error *error) LIANA_MUST_USE;

/* Totals as the public interface gives them. */
liana_results liana__results_of(const liana__totals *totals);
/* Sets the programs of the model aside, so that a trial leaves them as they are. Then frees the programs of the trial,
 * and puts the others back. */
void *liana__compiled_set_aside(liana_model *model);
void liana__compiled_put_back(liana_model *model, void *aside);
/* Forgets the programs of fits: after a failed one, whose variables are not the model's weights. */
void liana__compiled_forget(liana_model *model);

#endif
