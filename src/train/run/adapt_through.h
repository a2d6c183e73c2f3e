/* adapt_through.h - mean and variance of what a Normalization reads behind other layers, such as a Concatenate of
 * several inputs. */
#ifndef LIANA_TRAIN_RUN_ADAPT_THROUGH_H
#define LIANA_TRAIN_RUN_ADAPT_THROUGH_H

#include "train/model/model_adapt.h"
#include "train/run/run_internal.h"

/* Why the result of a node cannot be computed for the training data once and for all; NULL: it can. Errors:
 * OUT_OF_MEMORY. */
liana_status liana__adapt_obstacle(liana__run *run, size_t node, const char **obstacle, liana__error *error)
    LIANA_MUST_USE;

/* Asked before each training example, or group of them, of which so many are done. Errors: CANCELLED, if the program is to
 * stop. */
liana_status liana__adapt_may_go_on(const liana__run *run, uint64_t done, liana__error *error) LIANA_MUST_USE;

/* Adds the results of a node for all training examples. Layers before it are computed as in evaluation, with the
 * variables as they are now. Errors: those of reading and of the device. */
liana_status liana__adapt_through(liana__run *run, size_t node, liana__moments *moments, liana__error *error)
    LIANA_MUST_USE;

#endif
