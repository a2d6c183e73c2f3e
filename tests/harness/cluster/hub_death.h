/* hub_death.h - cuts a process off from a hub at one of its messages. */
#ifndef LIANA_TESTS_HUB_DEATH_H
#define LIANA_TESTS_HUB_DEATH_H

#include "harness/cluster/hub.h"

/* A process is cut off when it sends its message number `last` of a kind. */
typedef struct liana__hub_death {
    liana__hub *hub;
    size_t rank;
    uint32_t kind; /* liana__cluster_message; 0: any */
    int last, seen;
} liana__hub_death;

/* `sent` of a hub's control, whose user is a liana__hub_death. */
void liana__hub_death_sent(void *death, const liana__hub_message *message);
/* `is_held`: the others offer gradients when the process is dead. On a slow machine all updates would be over before it
 * has come as far. */
bool liana__hub_death_holds_offers(void *death, const liana__hub_message *message);

#endif
