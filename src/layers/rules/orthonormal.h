/* orthonormal.h - makes vectors orthonormal. */
#ifndef LIANA_LAYERS_RULES_ORTHONORMAL_H
#define LIANA_LAYERS_RULES_ORTHONORMAL_H

#include <stdint.h>

/* Of `count` vectors of `size` numbers, count <= size, one behind the other: each keeps what the vectors before it do
 * not have, and gets the length 1. That is the Q of a QR decomposition whose R has a positive diagonal, so independent
 * normal numbers give each rotation with equal chance. A vector that depends on those before it becomes 0. */
void liana__orthonormalize(double *vectors, int64_t count, int64_t size);

#endif
