/* free_hub.h - hubs for workers that are not in step: which worker is slow is decided by messages, and not by the
 * clock. Give the functions to liana__hub_control. hub_death.h has those for deaths. */
#ifndef LIANA_TESTS_FREE_HUB_H
#define LIANA_TESTS_FREE_HUB_H

#include "harness/cluster/cluster_fit.h"

/* A hub's record of a span. Zeros before. */
typedef struct liana__free_course {
    bool has_values;      /* the second worker */
    int begins;           /* of the first worker */
    int gradients;        /* that the first two workers have sent to rank 3 */
    bool last_begins;     /* the third worker asks for its values */
    size_t largest_fetch; /* bytes of values that a worker fetched at once */
} liana__free_course;

/* `sent` of all of these: keeps the course, which is `user`. */
void liana__free_note_message(void *user, const liana__hub_message *message);
/* `is_held`, of two workers: the first one begins when the second has its values; the second's gradients come when the
 * first has asked for its seventh beginning. So six updates come between. */
bool liana__free_holds_second(void *user, const liana__hub_message *message);
/* `is_held`, of three workers and updates of the first two gradients: the third has begun when the others offer
 * theirs, and offers its own when theirs were sent. On a slow machine it would not begin at all. */
bool liana__free_holds_last(void *user, const liana__hub_message *message);

#endif
