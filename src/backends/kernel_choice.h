/* kernel_choice.h - which kernel runs a node. */
#ifndef LIANA_BACKENDS_KERNEL_CHOICE_H
#define LIANA_BACKENDS_KERNEL_CHOICE_H

#include "base/context.h"
#include "ir/op.h"

/* The first kernel in the op's list that this instruction set has and that accepts the node; the reasons of those that
 * declined are logged under `dispatch`. Depends on the node and the instruction set alone. */
const liana__kernel *liana__choose_kernel(liana_context *context, const liana__node *node, liana__isa isa);

/* The last kernel of the list: the plain loop. */
const liana__kernel *liana__reference_kernel(const liana__node *node);

#endif
