/* objective_calls.h - a metric of tensors as a metric's functions take it. */
#ifndef LIANA_TRAIN_OBJECTIVE_CALLS_H
#define LIANA_TRAIN_OBJECTIVE_CALLS_H

#include "metrics/metric.h"

#include <liana/objective.h>

/* Checks output and target, as liana_metric_of does, and sets *made, without weights. False: the graph of `output` has
 * failed. */
bool liana__metric_call_make(liana_location here, liana_tensor output, liana_tensor target,
                             const liana__metric_choice *choice, liana_metric_call *made);

#endif
