/* model_fault.h - losses that are not finite. */
#ifndef LIANA_TRAIN_MODEL_FAULT_H
#define LIANA_TRAIN_MODEL_FAULT_H

#include "step/fault.h"
#include "train/objective/objective.h"

/* Of a vector of sums: says in *fault which loss, or the penalty, is not finite. Metrics may have any value. False: all
 * are finite. */
bool liana__find_bad_loss(const liana__objective *objective, const float *sums, liana__fault *fault);

/* Whether the losses of a validation so far are finite, and the fault if one is not. */
bool liana__losses_are_finite(const liana__totals *totals);
liana__fault liana__fault_of_validation(const liana__totals *totals);

#endif
