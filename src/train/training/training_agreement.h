/* training_agreement.h - the facts that the processes of a training must have in common: compared before the first
 * step. A difference is an error on all of them, which names it. */
#ifndef LIANA_TRAIN_TRAINING_AGREEMENT_H
#define LIANA_TRAIN_TRAINING_AGREEMENT_H

#include "step/graph_facts.h"
#include "train/training/training.h"

/* Its sizes, seed, precision and optimizer, a shard and the arithmetic. All get the chief's weights. A training is
 * compared once; all compare it if one of them has not. Alone: nothing. Errors: INVALID_CONFIG, UNAVAILABLE (a process
 * computes other bits). */
liana_status liana__agree_on_training(liana__training *training, liana__error *error) LIANA_MUST_USE;

/* The arithmetic alone, of a shard of made-up examples. Alone: nothing. `exact`: other bits are an error; otherwise a
 * note, and a reason in the training's state. Errors: UNAVAILABLE (a process computes other bits; it is named). */
liana_status liana__agree_on_arithmetic(liana__training *training, bool exact, const liana__notes *notes,
                                        liana__error *error) LIANA_MUST_USE;

#endif
