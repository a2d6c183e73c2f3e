/* denormals.h - how this thread computes with denormal numbers: floats below 2^-126, doubles below 2^-1022.
 *
 * Many processors take more than a hundred cycles for an operation with one. docs/explanation/precision.md ("Denormal
 * numbers") says which code flushes them to zero and which keeps them. */
#ifndef LIANA_BASE_DENORMALS_H
#define LIANA_BASE_DENORMALS_H

#include <stdbool.h>
#include <stdint.h>

/* The previous setting of a thread, to be restored. */
typedef uint64_t liana__denormals;

/* Whether this build can set it: on x86-64 (MXCSR) and 64-bit ARM (FPCR). Elsewhere the functions below do nothing. */
bool liana__denormals_can_flush(void);

/* From now on this thread flushes denormals: its float arithmetic reads denormal operands as zeros and gives zeros for
 * denormal results, with their signs. Returns the setting to restore. */
liana__denormals liana__denormals_flush(void);

/* From now on this thread computes with denormals, as IEEE 754 says. Returns the setting to restore. */
liana__denormals liana__denormals_keep(void);

/* Restores a setting. The rest of the thread's floating-point state (rounding, exceptions) stays as it is. */
void liana__denormals_restore(liana__denormals before);

#endif
