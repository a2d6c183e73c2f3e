/* kernel_choice.h - which kernel runs a node, and a run by itself. */
#ifndef LIANA_KERNELS_KERNEL_CHOICE_H
#define LIANA_KERNELS_KERNEL_CHOICE_H

#include "base/context.h"
#include "ir/op.h"

/* The first kernel in the op's list that this instruction set has and that accepts the node. If none does: the first
 * one that can compute it, although it says that another is faster. If there is none either: the reference. The reasons
 * of those that declined are logged under `dispatch`. Depends on the node and the instruction set alone. */
const liana__kernel *liana__choose_kernel(liana_context *context, const liana__node *node, liana__isa isa);

/* The last kernel of the list: the plain loop. */
const liana__kernel *liana__reference_kernel(const liana__node *node);

/* Prepares a kernel, runs it once, and releases it. Errors: OUT_OF_MEMORY; those of `prepare`; the status of `run`,
 * with a message that names the node and the kernel. */
liana_status liana__kernel_run_once(const liana__kernel *kernel, const liana__node *node, const void *const *sources,
                                    void *result, liana__error *error);

#endif
