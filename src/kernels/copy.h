/* copy.h - the plain kernel of ops whose result has the elements of input 0, in their order. */
#ifndef LIANA_KERNELS_COPY_H
#define LIANA_KERNELS_COPY_H

#include "ir/op.h"

/* Input 0 may be the result's own memory. */
extern const liana__kernel liana__copy_reference;

#endif
