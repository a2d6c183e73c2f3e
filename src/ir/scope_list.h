/* scope_list.h - the device scopes of a graph (ir/device_scope.h). */
#ifndef LIANA_IR_SCOPE_LIST_H
#define LIANA_IR_SCOPE_LIST_H

#include "ir/op.h"

#include <liana/device.h>

/* A scope that is open. */
typedef struct liana__open_scope {
    uint32_t before;
    liana_location where;
} liana__open_scope;

typedef struct liana__named_scope {
    const char *name;
    liana_location where;
} liana__named_scope;

typedef struct liana__device_scopes {
    liana__named_scope *names; /* of scope 1, 2, ... */
    size_t num_names, name_capacity;
    liana__open_scope *open;
    size_t num_open, open_capacity;
    uint32_t current;
    uint32_t *of_node; /* by node id, as far as it goes; beyond it is 0 */
    size_t num_nodes, node_capacity;
    /* Among which variables are shared out; none: they are where the other nodes are. */
    uint32_t *shared;
    double *bytes; /* of each */
    size_t num_shared, num_placed;
    liana_balance balance;
    bool with_variables; /* the current scope is also that of variables */
    const char *forbidden;
    void *attached;
    void (*destroy_attached)(void *thing);
} liana__device_scopes;

/* A graph's own. It is defined by graph.c. */
liana__device_scopes *liana__graph_scopes(const liana_graph *graph);

/* Notes where a new node is. False: out of memory. */
bool liana__scopes_note(liana__device_scopes *scopes, const liana__node *node, bool is_variable);
void liana__scopes_free(liana__device_scopes *scopes);

#endif
