/* averaged_weights.h - the averages of an optimizer with use_ema take the place of the weights, as in Keras: at the end
 * of a training. Here the weights stay in the averages' place, so that a longer training goes on from them. */
#ifndef LIANA_TRAIN_AVERAGED_WEIGHTS_H
#define LIANA_TRAIN_AVERAGED_WEIGHTS_H

#include "train/training/training.h"

/* Whether the optimizer keeps averages; in a training in stages, that of any stage. */
bool liana__averaged_weights_are_kept(const liana__training *training);

/* Exchanges weights and averages at the end of a training, if it keeps averages and an update was done. */
liana_status liana__averaged_weights_take(liana__training *training, liana__error *error) LIANA_MUST_USE;

/* Takes that back, before a training goes on. */
liana_status liana__averaged_weights_return(liana__training *training, liana__error *error) LIANA_MUST_USE;

/* Averages begin anew from the weights as they are. */
liana_status liana__averaged_weights_follow(liana__training *training, liana__error *error) LIANA_MUST_USE;

/* Somebody wrote other weights over the averages: a training goes on from these weights, and averages begin there. */
liana_status liana__averaged_weights_begin_anew(liana__training *training, liana__error *error) LIANA_MUST_USE;

#endif
