/* span_wait.h - waiting in a span, where deaths of others do not end the waiting. For the files of spans. */
#ifndef LIANA_DISTRIBUTE_SPAN_WAIT_H
#define LIANA_DISTRIBUTE_SPAN_WAIT_H

#include "distribute/cluster/span.h"

#include <stdatomic.h>

/* Waits for a message of the span; for the thread that does the operations of the cluster. Where the cluster survives
 * deaths: as long as the sender lives and the span can go on. *lost: it cannot, or the sender is gone. Errors:
 * UNAVAILABLE, those of the transport. */
liana_status liana__span_receive(const liana__cluster *cluster, size_t from, liana__cluster_message kind, size_t part,
                                 void *data, size_t size, bool *lost, liana__error *error) LIANA_MUST_USE;
/* The same for another thread, until the sender is gone or *ends. */
liana_status liana__span_listen(const liana__cluster *cluster, size_t from, liana__cluster_message kind, size_t part,
                                void *data, size_t size, const atomic_bool *ends, liana__error *error) LIANA_MUST_USE;

/* Looks for deaths, at most every few hundredths of a second: for callers that have no time to wait. */
void liana__span_look(liana__cluster *cluster, double *last);
/* As far as the last look has shown. False where the cluster does not survive deaths. */
bool liana__span_is_gone(const liana__cluster *cluster, size_t rank);
/* Whether the span cannot go on: this process is taken for dead, or a process that has not come into the span needs all
 * others. They are told. */
bool liana__span_is_called_back(liana__cluster *cluster);

#endif
