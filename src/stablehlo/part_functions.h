/* part_functions.h - the parts of a graph (parts.h) as functions of their own. */
#ifndef LIANA_STABLEHLO_PART_FUNCTIONS_H
#define LIANA_STABLEHLO_PART_FUNCTIONS_H

#include "stablehlo/control.h"
#include "stablehlo/parts.h"

/* Lists are those of the part that is written or called. */
typedef struct liana__part_functions {
    liana__lowering *lowering;
    const liana__graph_parts *parts;
    const char *name; /* of the graph's own function */
    liana__part_nodes nodes;
    const liana__node **given;
    size_t num_given;
    bool is_apart;        /* each of `given` is computed for itself */
    bool owns_variables;  /* each has variables as arguments of its own, too */
    unsigned char *facts; /* by node id */
    liana__hlo *arguments, *results;
} liana__part_functions;

/* Set lowering, parts and name, and call these in this order: first the functions; in the body of the graph's own
 * function, when all scalars are there, the calls. They set the values of the parts' results. `assigns`: whether
 * variables change. Errors: OUT_OF_MEMORY; those of the ops. */
liana_status liana__part_functions_write(liana__part_functions *functions) LIANA_MUST_USE;
void liana__part_functions_call(liana__part_functions *functions, liana__hlo assigns);

#endif
