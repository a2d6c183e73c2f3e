/* event_activations.h - the outputs of layers as histograms. */
#ifndef LIANA_TRAIN_EVENT_ACTIVATIONS_H
#define LIANA_TRAIN_EVENT_ACTIVATIONS_H

#include "train/callbacks/event_values.h"

/* Adds a histogram "activations/LAYER" of each layer: its output in inference for some examples of a training batch, as
 * many as take 64 MiB, and at least one. They are computed on the host with the variables as they are. A layer that
 * computes nothing in inference has none; of one that is called several times the last output is taken. Without
 * examples in this process nothing is added. Errors: those of building and running graphs, OUT_OF_MEMORY. */
liana_status liana__event_list_add_activations(liana__event_list *list, const liana__training *training,
                                               const liana__batch *batch, liana__error *error) LIANA_MUST_USE;

#endif
