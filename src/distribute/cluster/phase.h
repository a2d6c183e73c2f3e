/* phase.h - tells another process where this one is: a test that ends processes inside an exchange, or in a part of a
 * training, needs it. LIANA_PHASES names a file; without it nothing is told. LIANA_HALT_AT names a part, in which the
 * process halts itself: a test that waits for it finds it there. */
#ifndef LIANA_DISTRIBUTE_CLUSTER_PHASE_H
#define LIANA_DISTRIBUTE_CLUSTER_PHASE_H

#include <stdint.h>

typedef enum liana__phase_kind {
    LIANA__PHASE_OTHER,     /* between two steps: validation, files, the beginning and the end */
    LIANA__PHASE_COMPUTES,  /* a step has begun */
    LIANA__PHASE_EXCHANGES, /* from the first sums that it sends to the end of the step */
} liana__phase_kind;

/* The contents of the file, little-endian. */
typedef struct liana__phases {
    uint32_t phase;
    uint32_t steps; /* that have ended well in all processes, since this one began */
} liana__phases;

/* This process begins a part of its work. */
void liana__phase_part(const char *part);

/* NULL: there is no such file, or it cannot be mapped. */
volatile liana__phases *liana__phases_open(void);
void liana__phases_close(volatile liana__phases *phases);

#endif
