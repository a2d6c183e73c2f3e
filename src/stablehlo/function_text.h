/* function_text.h - writes the functions of a module. */
#ifndef LIANA_STABLEHLO_FUNCTION_TEXT_H
#define LIANA_STABLEHLO_FUNCTION_TEXT_H

#include "stablehlo/lowering_internal.h"
#include "stablehlo/parts.h"

/* A line of a function's head; sets the node's value. `attribute` is text behind the type. */
void liana__function_add_argument(liana__lowering *lowering, const liana__node *node, const char *attribute, bool last);
/* The last argument of a function that assigns under a condition, and its value. */
liana__hlo liana__function_add_condition(liana__lowering *lowering);

/* Writes a node; sets its value. Errors: UNIMPLEMENTED, with the node and its place. */
liana_status liana__function_lower_node(liana__lowering *lowering, const liana__node *node) LIANA_MUST_USE;

/* The value of a node where `assigns` is true, else that of a variable. */
liana__hlo liana__function_value_if(liana__lowering *lowering, liana__hlo assigns, const liana__node *value,
                                    const liana__node *variable);
/* If the node is the new value of a variable, its value becomes that. */
void liana__function_assign(liana__lowering *lowering, const liana__graph_parts *parts, const liana__node *node,
                            liana__hlo assigns);

#endif
