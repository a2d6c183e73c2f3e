/* fit_agreement.h - the facts that the processes of a cluster must have in common before liana_fit trains, or
 * liana_evaluate and liana_predict measure, in them. */
#ifndef LIANA_TRAIN_FIT_AGREEMENT_H
#define LIANA_TRAIN_FIT_AGREEMENT_H

#include "distribute/cluster/cluster.h"
#include "train/model/compiled.h"
#include "train/model/model_data.h"

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
