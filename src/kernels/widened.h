/* widened.h - kernels for f32 that run nodes of bf16: the operands are copied as f32, the result is rounded.
 *
 * For processors without instructions for bf16. It is slower than f32 throughout, and as exact as bf16 can be. */
#ifndef LIANA_KERNELS_WIDENED_H
#define LIANA_KERNELS_WIDENED_H

#include "ir/op.h"

/* A kernel's `prepare` for a node of two bf16 inputs whose result is bf16 or f32, once `plain` is prepared for the same
 * node in f32; `run` and `release` are of the kernel that prepared it (`release` may be NULL). Takes `plain` over, also
 * on failure. Errors: OUT_OF_MEMORY. */
liana_status liana__widened_prepare(const liana__node *node, const liana__prepared *plain,
                                    liana_status (*run)(const liana__call *call), void (*release)(void *plan),
                                    liana__prepared *prepared, liana__error *error) LIANA_MUST_USE;

/* A kernel's `run` and `release`. */
liana_status liana__widened_run(const liana__call *call);
void liana__widened_release(void *plan);

#endif
