/* Chooses the kernel of each node. */
#include "backends/kernel_choice.h"

const liana__kernel *liana__choose_kernel(liana_context *context, const liana__node *node, liana__isa isa)
{
    const liana__kernel *const *kernel = node->op->kernels;
    for (; kernel[1]; kernel++) {
        const char *reason = liana__kernel_declines(*kernel, node, isa);
        if (!reason) break;
        liana__log(context, LIANA__LOG_DISPATCH, "node %u %s: %s declined: %s", node->id, node->op->name,
                   (*kernel)->name, reason);
    }
    liana__log(context, LIANA__LOG_DISPATCH, "node %u %s %s: %s", node->id, node->op->name,
               liana__type_print(node->dtype, &node->shape).text, (*kernel)->name);
    return *kernel;
}

const liana__kernel *liana__reference_kernel(const liana__node *node)
{
    const liana__kernel *const *kernel = node->op->kernels;
    while (kernel[1]) kernel++;
    return *kernel;
}
