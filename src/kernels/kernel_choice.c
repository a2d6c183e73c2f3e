/* Chooses the kernel of each node, and runs one by itself. */
#include "kernels/kernel_choice.h"

#include "base/memory.h"
#include "ir/graph.h"

#include <stdlib.h>

static bool is_able(const liana__kernel *kernel, const liana__node *node, liana__isa isa)
{
    const char *reason;
    return kernel->isa <= isa && (!kernel->applicable || kernel->applicable(node, &reason));
}

const liana__kernel *liana__choose_kernel(liana_context *context, const liana__node *node, liana__isa isa)
{
    const liana__kernel *const *kernel = node->op->kernels, *able = NULL;
    for (; kernel[1]; kernel++) {
        const char *reason = liana__kernel_declines(*kernel, node, isa);
        if (!reason) break;
        if (!able && is_able(*kernel, node, isa)) able = *kernel;
        liana__log(context, LIANA__LOG_DISPATCH, "node %u %s: %s declined: %s", node->id, node->op->name,
                   (*kernel)->name, reason);
    }
    /* A kernel leaves a node to a faster one. Where the reference is all that is left, none is faster. */
    const liana__kernel *chosen = !kernel[1] && able ? able : *kernel;
    /* Printing the type takes longer than a small kernel. */
    if (liana__log_wants(context, LIANA__LOG_DISPATCH)) {
        liana__log(context, LIANA__LOG_DISPATCH, "node %u %s %s: %s", node->id, node->op->name,
                   liana__type_print(node->dtype, &node->shape).text, chosen->name);
    }
    return chosen;
}

const liana__kernel *liana__reference_kernel(const liana__node *node)
{
    const liana__kernel *const *kernel = node->op->kernels;
    while (kernel[1]) kernel++;
    return *kernel;
}

liana_status liana__kernel_run_once(const liana__kernel *kernel, const liana__node *node, const void *const *sources,
                                    void *result, liana__error *error)
{
    liana__prepared prepared = {0};
    liana_status status = kernel->prepare ? kernel->prepare(node, &prepared, error) : LIANA_OK;
    void *scratch = NULL;
    if (status == LIANA_OK && prepared.scratch_size) {
        scratch = liana__allocate_aligned(prepared.scratch_size);
        if (!scratch) status = liana__fail_memory(error, node->op->name);
    }
    if (status == LIANA_OK) {
        status = kernel->run(
            &(liana__call){.node = node, .src = sources, .dst = result, .scratch = scratch, .plan = prepared.plan});
        if (status != LIANA_OK) {
            liana__fail(error, status, "%s failed in the kernel %s", liana__node_print(node).text, kernel->name);
        }
    }
    if (kernel->release && prepared.plan) kernel->release(prepared.plan);
    free(scratch);
    return status;
}
