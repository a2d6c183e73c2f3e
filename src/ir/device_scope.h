/* device_scope.h - which nodes of a graph are on which devices. A scope has a number; 0 is the device of the
 * program. */
#ifndef LIANA_IR_DEVICE_SCOPE_H
#define LIANA_IR_DEVICE_SCOPE_H

#include "ir/graph.h"

#include <liana/device.h>

/* The number of scopes with a name; they are 1 to this. */
size_t liana__num_scopes(const liana_graph *graph);
/* The device's name, as it was written, and where that was first. */
const char *liana__scope_name(const liana_graph *graph, uint32_t scope);
liana_location liana__scope_location(const liana_graph *graph, uint32_t scope);

/* The name of a tensor's scope. NULL: it is in none. */
const char *liana__tensor_device(liana_tensor tensor);
uint32_t liana__scope_of(const liana_graph *graph, const liana__node *node);
/* Lets the nodes that follow be in a scope. Returns the one before, to which the caller goes back. */
uint32_t liana__scope_enter(liana_graph *graph, uint32_t scope);
/* The same for variables that do not count among those that are shared out. */
uint32_t liana__scope_enter_with_variables(liana_graph *graph, uint32_t scope);
void liana__scope_leave_with_variables(liana_graph *graph, uint32_t before);

/* Fails with INVALID_ARGUMENT if a scope has not been ended. */
liana_status liana__scopes_check_ended(const liana_graph *graph, liana__error *error) LIANA_MUST_USE;
/* Makes scopes an error of this graph. `reason` is static. */
void liana__scopes_forbid(liana_graph *graph, const char *reason);
#define LIANA__SCOPES_OF_STRATEGY "all of it is computed on each device of a strategy"

/* An object that lives as long as the graph: the state of values at once. One thing for each graph. */
void *liana__graph_attached(const liana_graph *graph);
void liana__graph_attach(liana_graph *graph, void *thing, void (*destroy)(void *thing));

#endif
