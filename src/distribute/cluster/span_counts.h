/* span_counts.h - the fate of the gradients of workers that are not in step. */
#ifndef LIANA_DISTRIBUTE_SPAN_COUNTS_H
#define LIANA_DISTRIBUTE_SPAN_COUNTS_H

#include <stdint.h>

/* Plain numbers: the same fields are added up over processes and over an epoch. */
typedef struct liana__span_counts {
    uint64_t computed;          /* gradients that workers computed; each is used or dropped */
    uint64_t used;              /* that an update took */
    uint64_t dropped;           /* that came when their update was over */
    uint64_t skipped;           /* shares that a worker did not begin, since their update was over */
    uint64_t measured;          /* gradients times servers */
    uint64_t staleness;         /* of these: the sum of the updates between fetching and applying */
    uint64_t largest_staleness; /* of one */
    uint64_t partly_used;       /* of workers that died: some servers used them, and others had not received them */
    uint64_t undone;            /* that updates took which were undone, since a server was lost */
    uint64_t examples_lost;     /* of shares of workers that died: nobody trained on them */
} liana__span_counts;

static inline void liana__span_counts_add(liana__span_counts *sum, const liana__span_counts *more)
{
    sum->computed += more->computed;
    sum->used += more->used;
    sum->dropped += more->dropped;
    sum->skipped += more->skipped;
    sum->measured += more->measured;
    sum->staleness += more->staleness;
    sum->partly_used += more->partly_used;
    sum->undone += more->undone;
    sum->examples_lost += more->examples_lost;
    if (more->largest_staleness > sum->largest_staleness) sum->largest_staleness = more->largest_staleness;
}

#endif
