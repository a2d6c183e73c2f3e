/* hub.h - a cluster whose processes are threads of the test: messages go through a hub in memory. */
#ifndef LIANA_TESTS_HUB_H
#define LIANA_TESTS_HUB_H

#include "distribute/cluster/cluster.h"

typedef struct liana__hub liana__hub;

/* Workers, then servers. Destroy it when all clusters are closed. NULL: out of memory. */
liana__hub *liana__hub_create(size_t num_workers, size_t num_servers);
void liana__hub_destroy(liana__hub *hub);
/* From its operation `number` on (sending and receiving, counted from 0) this rank is dead: nothing that it sends
 * arrives, and the others notice. Before it joins. */
void liana__hub_kill(liana__hub *hub, size_t rank, uint64_t number);
/* The operations that a rank has begun. */
uint64_t liana__hub_operations(const liana__hub *hub, size_t rank);
/* Transports of this hub do not survive deaths, or slices have no mirrors. Before anybody joins. */
void liana__hub_set(liana__hub *hub, bool survives_death, bool mirrors);

/* Makes the cluster of one rank; once for each. Closing it makes the rank gone for the others. */
void liana__hub_join(liana__hub *hub, size_t rank, liana__cluster *cluster);
/* A message on its way. */
typedef struct liana__hub_message {
    size_t from, to;
    liana__message_key key;
    const void *data;
    size_t size;
} liana__hub_message;

/* Decides in which order things happen: `sent` is told of each message that is sent, and as long as `is_held` says so a
 * message is not delivered. Both are called one at a time. Before the clusters are joined. */
typedef struct liana__hub_control {
    void (*sent)(void *user, const liana__hub_message *message);
    bool (*is_held)(void *user, const liana__hub_message *message);
    void *user;
} liana__hub_control;
void liana__hub_set_control(liana__hub *hub, const liana__hub_control *control);

/* Cuts a rank off, as if its process were dead: for the others it is gone, and its own waits end. From `sent` only. */
void liana__hub_cut(liana__hub *hub, size_t rank);

/* Messages that nobody has received. */
size_t liana__hub_num_kept(liana__hub *hub);

#endif
