/* Why a kernel is not chosen for a node. */
#include "ir/op.h"

const char *liana__kernel_declines(const liana__kernel *kernel, const liana__node *node, liana__isa isa)
{
    const char *reason = NULL;
    if (kernel->isa > isa) return "needs a wider instruction set";
    bool accepts = !kernel->applicable || kernel->applicable(node, &reason);
    if (accepts && (!kernel->preferred || kernel->preferred(node, isa, &reason))) return NULL;
    return reason ? reason : "no reason given";
}
