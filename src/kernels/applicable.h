/* applicable.h - why a fast kernel says no: the tests that many kernels share. */
#ifndef LIANA_KERNELS_APPLICABLE_H
#define LIANA_KERNELS_APPLICABLE_H

#include "ir/op.h"

/* The result and input 0 are f32. */
static inline bool liana__applicable_f32(const liana__node *node, const char **reason)
{
    *reason = "not f32";
    return node->dtype == LIANA_F32 && node->inputs[0]->dtype == LIANA_F32;
}

/* Input 0 is bf16; the result is that, or f32 (a wide sum). */
static inline bool liana__applicable_bf16(const liana__node *node, const char **reason)
{
    *reason = "not bf16";
    return node->inputs[0]->dtype == LIANA_BF16 && (node->dtype == LIANA_BF16 || node->dtype == LIANA_F32);
}

/* Input 0 is f32 or bf16, for kernels on which the op's shape rule leaves no other choice. */
static inline bool liana__applicable_f32_bf16(const liana__node *node, const char **reason)
{
    *reason = "neither f32 nor bf16";
    return node->inputs[0]->dtype == LIANA_F32 || node->inputs[0]->dtype == LIANA_BF16;
}

/* oneDNN's kernels count with 32 bits: neither the result nor an input has 2^31 elements. */
static inline bool liana__applicable_countable(const liana__node *node, const char **reason)
{
    *reason = "a tensor has 2^31 elements or more";
    bool countable = liana_shape_size(&node->shape) <= INT32_MAX;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        countable = countable && liana_shape_size(&node->inputs[i]->shape) <= INT32_MAX;
    }
    return countable;
}

#endif
