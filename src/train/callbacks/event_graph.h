/* event_graph.h - the graph of a training as event files have it. */
#ifndef LIANA_TRAIN_EVENT_GRAPH_H
#define LIANA_TRAIN_EVENT_GRAPH_H

#include "train/callbacks/event_values.h"

/* Adds two graphs: the ops that evaluate one example (TensorFlow's GraphDef), in which the ops of a layer are in a
 * group of its name, so that TensorBoard shows layers, and the ops of one that is opened; and the architecture of the
 * model, from which TensorBoard draws its conceptual graph: layers and what they read. A training without a model of
 * layers has no architecture. A graph that cannot be built is told, and left out. Errors: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__event_files_add_graphs(liana__event_files *files, const liana_fit_context *context,
                                           liana__error *error) LIANA_MUST_USE;

#endif
