/* model_fit.h - a trial: data and a model, opened and compiled as for a fit, for another use. */
#ifndef LIANA_TRAIN_MODEL_FIT_H
#define LIANA_TRAIN_MODEL_FIT_H

#include "data/loader/loader.h"
#include "train/model/compiled.h"
#include "train/model/model_data.h"

#include <liana/train.h>

typedef liana_status (*liana__trial)(void *user, liana__training *training, liana__loader *loader, liana__error *error);

/* Opens the training data and compiles the model as liana_fit does, beginning with its weights, and runs the trial. The
 * model stays as it is: weights, state of its optimizer, and compiled programs. Errors: those of a fit and of the
 * trial. */
liana_status liana__fit_trial(liana_model *model, const liana_fit_options *options, liana__trial run, void *user,
                              liana__error *error) LIANA_MUST_USE;

/* ---- fit agreement ---- */

/* The facts that the processes of a cluster must have in common before liana_fit trains, or liana_evaluate and
 * liana_predict measure, in them. */

/* Compares the options that change results, the model and the data; `data` are open. The instruction set becomes the
 * lowest one of all. `cluster` NULL: nothing. Errors: INVALID_CONFIG with the difference, alike on all processes. */
liana_status liana__fit_agree(const liana__job_options *job, const liana_fit_options *options,
                              const liana__model_data *data, liana__cluster *cluster, liana__error *error)
    LIANA_MUST_USE;

/* A call of liana_evaluate or liana_predict. */
typedef struct liana__measured_call {
    const liana__compile_request *request; /* the compiled request */
    const liana_evaluate_options *options; /* of a prediction: the inputs alone */
    bool predicts;
    const liana__model_data *data; /* open */
} liana__measured_call;

/* The same for such a call. */
liana_status liana__measured_agree(const liana__measured_call *own, liana__cluster *cluster, liana__error *error)
    LIANA_MUST_USE;

#endif
