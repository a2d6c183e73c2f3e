/* tile_advice.h - advice on a training: how a TPU pads less of it, and which shards fit into its memory. */
#ifndef LIANA_TRAIN_TILE_ADVICE_H
#define LIANA_TRAIN_TILE_ADVICE_H

#include "train/training/tile_plan.h"

/* The rows of a plan by their loss, the worst first; malloc'ed. NULL: out of memory. */
const liana__tile_row **liana__tile_rows_by_loss(const liana__tile_plan *plan);

/* The percentage that a part is of the whole. */
int liana__tile_share(double part, double whole);

/* A line of how much of the products is no padding, and one for each thing to change: the shards, and the `most_widths`
 * layers that lose most. `rows` are in the order of their loss. */
void liana__tile_advice_add(const liana__tile_plan *plan, const liana__tile_row *const *rows, size_t most_widths,
                            liana__text *text);

/* A line about the part of a core's memory that training needs, where that is known (generation->memory), with advice
 * if it does not fit. */
void liana__tile_memory_add(const liana__tile_plan *plan, liana__text *text);

/* Tells the chief of a training on TPUs, at the beginning of its run, a few lines of all this: the worst layers,
 * shards, memory, and the command that says more. Other devices and other processes: nothing. Facts that cannot be
 * found out are left out: advice ends no run. */
void liana__tile_advice_note(const liana__training *training, const liana__notes *notes);

#endif
