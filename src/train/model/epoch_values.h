/* epoch_values.h - metrics that have several numbers, as a program sees them: by class, or as a matrix. */
#ifndef LIANA_TRAIN_EPOCH_VALUES_H
#define LIANA_TRAIN_EPOCH_VALUES_H

#include "train/objective/objective.h"

#include <liana/objective.h>

/* Finishes them, in the arena, and returns how many metrics there are. 0 also where nothing was measured or memory has
 * run out. */
size_t liana__epoch_values(const liana__totals *totals, liana__arena *arena, const liana_metric_values **values);

#endif
