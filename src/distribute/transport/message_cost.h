/* message_cost.h - the cost of messages between processes for this machine's processors, measured. */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_MESSAGE_COST_H
#define LIANA_DISTRIBUTE_TRANSPORT_MESSAGE_COST_H

#include "base/error.h"

/* Seconds. */
typedef struct liana__message_cost {
    double copied;   /* a byte copied in memory, in blocks larger than caches */
    double byte;     /* processor time for a byte that is sent and one that is received, by TCP and encrypted */
    double one_way;  /* a small message on its way between two processes of this machine */
    double one_more; /* processor time for a small message that is sent and one that is received */
} liana__message_cost;

/* Sends messages over the transport `zmq` from this process to itself, for about a second. Errors: those of the
 * transport; UNIMPLEMENTED without libzmq. */
liana_status liana__message_cost_measure(liana__message_cost *cost, liana__error *error) LIANA_MUST_USE;
/* The copies alone: where a network's own hardware moves messages (mpi). */
liana_status liana__copy_cost_measure(double *copied, liana__error *error) LIANA_MUST_USE;

#endif
