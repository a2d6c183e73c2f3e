/* Copies input 0. */
#include "kernels/copy.h"

#include <string.h>

static liana_status run_copy(const liana__call *call)
{
    memmove(call->dst, call->src[0], liana__byte_size(call->node->dtype, &call->node->shape));
    return LIANA_OK;
}

const liana__kernel liana__copy_reference = {.name = "reference", .run = run_copy};
