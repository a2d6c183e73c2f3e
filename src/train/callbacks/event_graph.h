/* event_graph.h - the graph of a training as event files have it. */
#ifndef LIANA_TRAIN_EVENT_GRAPH_H
#define LIANA_TRAIN_EVENT_GRAPH_H

#include "train/callbacks/event_values.h"

/* Appends TensorFlow's GraphDef of the ops that evaluate one example. The ops of a layer are in a group of its name, so
 * that TensorBoard shows layers, and the ops of one that is opened. Errors: those of building the graph,
 * OUT_OF_MEMORY. */
liana_status liana__event_graph_write(const liana__training *training, liana__text *bytes, liana__error *error)
    LIANA_MUST_USE;

/* Adds the architecture of the training's model, from which TensorBoard draws its conceptual graph: layers and what
 * they read. A training without a model of layers has none. */
void liana__event_list_add_architecture(liana__event_list *list, const liana__training *training);

#endif
