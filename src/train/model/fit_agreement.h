/* fit_agreement.h - what the processes of a cluster must have in common before liana_fit trains in them. */
#ifndef LIANA_TRAIN_FIT_AGREEMENT_H
#define LIANA_TRAIN_FIT_AGREEMENT_H

#include "distribute/cluster/cluster.h"
#include "train/model/model_data.h"

/* Compares the options that change results, the model and the data; `data` are open. The instruction set becomes the lowest
 * one of all. `cluster` NULL: nothing. Errors: INVALID_CONFIG, alike on all processes, with what differs. */
liana_status liana__fit_agree(const liana_model *model, const liana_fit_options *options, const liana__model_data *data,
                              liana__cluster *cluster, liana__error *error) LIANA_MUST_USE;

#endif
