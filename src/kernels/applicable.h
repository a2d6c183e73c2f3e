/* applicable.h - tests that many fast kernels use to accept or decline a node. */
#ifndef LIANA_KERNELS_APPLICABLE_H
#define LIANA_KERNELS_APPLICABLE_H

#include "ir/op.h"

/* Accepts if the result and input 0 are f32. */
static inline bool liana__applicable_f32(const liana__node *node, const char **reason)
{
    *reason = "not f32";
    return node->dtype == LIANA_F32 && node->inputs[0]->dtype == LIANA_F32;
}

/* Accepts if input 0 is bf16; the result is bf16, or f32 (a wide sum). */
static inline bool liana__applicable_bf16(const liana__node *node, const char **reason)
{
    *reason = "not bf16";
    return node->inputs[0]->dtype == LIANA_BF16 && (node->dtype == LIANA_BF16 || node->dtype == LIANA_F32);
}

/* Accepts if input 0 is f32 or bf16, for kernels whose op's shape rule allows nothing else. */
static inline bool liana__applicable_f32_bf16(const liana__node *node, const char **reason)
{
    *reason = "neither f32 nor bf16";
    return node->inputs[0]->dtype == LIANA_F32 || node->inputs[0]->dtype == LIANA_BF16;
}

/* Declines if the result or an input has 2^31 elements or more: oneDNN's kernels count with 32 bits. */
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
