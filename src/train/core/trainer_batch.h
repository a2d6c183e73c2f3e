/* trainer_batch.h - the examples of a step, as a trainer takes them. */
#ifndef LIANA_TRAIN_TRAINER_BATCH_H
#define LIANA_TRAIN_TRAINER_BATCH_H

#include "data/loader/workers.h"
#include "train/core/trainer_options.h"

/* Host data of up to batch_size examples. Shapes are those of the model's inputs and the objective's targets. */
typedef struct liana__trainer_batch {
    int64_t count;
    const void *inputs[LIANA__MAX_INPUTS];   /* [count, ...] */
    const void *targets[LIANA__MAX_OUTPUTS]; /* [count, ...]; NULL for predictions: sums are then meaningless */
    const float *weights;                    /* [count]: of the examples' losses; NULL: all 1 */
    const uint64_t *positions;               /* [count]: addresses in the run */
    const uint64_t *records; /* [count]: indices in the data, for devices that keep them; NULL: not known */
    /* For training that mixes: by output second targets, [count, ...], and what share the first have, [count]. */
    const void *partners[LIANA__MAX_OUTPUTS];
    const float *shares;
    /* Where examples are missing (loader.h): the positions that the batch covers, of which `count` are there; the
     * shards are those of all positions, each of what is left of it. 0: none is missing. */
    int64_t num_positions;
    uint64_t first_position;
    /* Where several processes share the step (data/loader/workers.h): `count` and all rows are of our shards. Leaves are
     * the shards that have examples, in whatever process; the update divides by the examples of all. NULL: all of the
     * step is here. */
    const liana__step_workers *workers;
} liana__trainer_batch;

/* The examples of the whole step, in all processes. */
static inline int64_t liana__step_count(const liana__trainer_batch *batch)
{
    return batch->workers ? batch->workers->num_examples : batch->count;
}

#endif
