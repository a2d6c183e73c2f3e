/* value_device.h - values at once of nodes in device scopes. */
#ifndef LIANA_PROGRAM_VALUE_DEVICE_H
#define LIANA_PROGRAM_VALUE_DEVICE_H

#include "ir/graph.h"

/* Whether a node's scope is of a device that computes otherwise than a CPU of this process. */
bool liana__value_is_elsewhere(const liana_graph *graph, const liana__node *node);
/* Computes a node on its device, which the graph keeps open; `sources` are the values of its inputs. Errors: those of
 * the device, with the scope. */
liana_status liana__value_on_device(liana_graph *graph, const liana__node *node, const void *const *sources,
                                    void *result) LIANA_MUST_USE;

#endif
