/* denormals.h - how this thread computes with denormal numbers: floats below 2^-126, doubles below 2^-1022.
 *
 * Many processors take more than a hundred cycles for an operation that reads or gives one. docs/design/precision.md
 * ("Denormal numbers") says which code flushes them to zero and which keeps them. */
#ifndef LIANA_BASE_DENORMALS_H
#define LIANA_BASE_DENORMALS_H

#include <stdbool.h>
#include <stdint.h>

/* The setting of a thread as it was. */
typedef uint64_t liana__denormals;

/* Whether this build can set it: on x86-64 (MXCSR) and 64-bit ARM (FPCR). Elsewhere the functions below do nothing. */
bool liana__denormals_can_flush(void);

/* From here on this thread's float arithmetic takes denormal operands for zeros and gives zeros for denormal results,
 * with their signs. Returns what to restore. */
liana__denormals liana__denormals_flush(void);

/* From here on this thread's arithmetic is that of IEEE 754, denormal numbers included. Returns what to restore. */
liana__denormals liana__denormals_keep(void);

/* Leaves the rest of the thread's floating-point state (rounding, exceptions) as it is now. */
void liana__denormals_restore(liana__denormals before);

#endif
