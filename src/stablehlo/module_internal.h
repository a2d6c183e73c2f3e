/* module_internal.h - what functions of a module are written with (module.c, part_functions.c). */
#ifndef LIANA_STABLEHLO_MODULE_INTERNAL_H
#define LIANA_STABLEHLO_MODULE_INTERNAL_H

#include "stablehlo/lowering_internal.h"
#include "stablehlo/parts.h"

/* A line of a function's head; sets the node's value. `attribute` is text behind the type. */
void liana__module_add_argument(liana__lowering *lowering, const liana__node *node, const char *attribute, bool last);
/* The last argument of a function that assigns under a condition, and its value. */
liana__hlo liana__module_add_condition(liana__lowering *lowering);

/* Writes a node; sets its value. Errors: UNIMPLEMENTED, with the node and its place. */
liana_status liana__module_lower_node(liana__lowering *lowering, const liana__node *node) LIANA_MUST_USE;

/* If the node is the new value of a variable, its value becomes one of both: that of the node where `assigns` is true, else
 * the variable's. */
void liana__module_assign(liana__lowering *lowering, const liana__graph_parts *parts, const liana__node *node,
                          liana__hlo assigns);

#endif
