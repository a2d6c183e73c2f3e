/* gradient_counts.h - the counts of gradients in history and checkpoints where the workers of a cluster are not in
 * step. */
#ifndef LIANA_TRAIN_GRADIENT_COUNTS_H
#define LIANA_TRAIN_GRADIENT_COUNTS_H

#include "base/value.h"
#include "distribute/cluster/span_counts.h"

/* {"reproducible": false, "computed", "used", "dropped", "skipped", "mean_staleness", "largest_staleness", ...}, set as
 * "gradients" of the map. Nothing, where no gradients were counted. */
void liana__gradient_counts_set(const liana__span_counts *counts, liana__value *map, liana__arena *arena);
/* Zeros, where the map has none. */
liana__span_counts liana__gradient_counts_read(const liana__value *map);

#endif
