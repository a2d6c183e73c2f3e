/* applicable.h - why a fast kernel says no: the tests that many kernels share. */
#ifndef LIANA_OPS_APPLICABLE_H
#define LIANA_OPS_APPLICABLE_H

#include "ir/op.h"

/* The result and input 0 are f32. */
static inline bool liana__applicable_f32(const liana__node *node, const char **reason)
{
    *reason = "not f32";
    return node->dtype == LIANA_F32 && node->inputs[0]->dtype == LIANA_F32;
}

#endif
