/* training_state.h - everything that changes during training: saved, restored and compared as one. */
#ifndef LIANA_TRAIN_TRAINING_STATE_H
#define LIANA_TRAIN_TRAINING_STATE_H

#include "backends/variables.h"
#include "train/core/history.h"

struct liana__data_state; /* what the training data were (train/checkpoint/data_state.h) */

/* Where a training is. With the variables - weights, slots, moving averages - it is all that goes on needs. */
typedef struct liana__training_state {
    int64_t earlier_epochs; /* of fits before this one: epochs of data are counted from them on */
    int64_t epoch;          /* of this fit, from 0: the one that is running, or is to begin */
    int64_t step;           /* updates done in it */
    int64_t iteration;      /* updates done in all */
    liana__totals running;  /* of the running epoch; made by liana__training_open */
    liana__history history; /* of this fit */
    /* The instruction set that it was saved under, once it was loaded: another one rounds differently. */
    char isa[32];
    int64_t recompute_memory;       /* the MiB for whose sake parts are recomputed; 0: none are */
    struct liana__data_state *data; /* that it is trained on, which a checkpoint that is loaded must be of; NULL: any */
    char precision[16]; /* what it was trained in, as configurations spell it; float32 where nothing is recorded */
} liana__training_state;

void liana__training_state_free(liana__training_state *state);
/* Begins another fit where the last one ended: its epochs are counted anew, updates are not. */
void liana__training_state_next_fit(liana__training_state *state);

/* Whether two trainings are in the same state: the same place, sums, history (without timing), and variables with the
 * same names and contents, bit for bit. *difference (at least 160 bytes) names the first thing that is not. Errors:
 * those of reading the devices. */
liana_status liana__training_state_equal(const liana__training_state *a, const liana__variables *a_variables,
                                         const liana__training_state *b, const liana__variables *b_variables,
                                         bool *equal, char *difference, liana__error *error)
    LIANA_MUST_USE;

#endif
