/* span_inbox.h - the messages of others to a server, in the order in which they come: a thread for each of them waits
 * for its requests, and one thread, the server's own, takes them out. */
#ifndef LIANA_DISTRIBUTE_SPAN_INBOX_H
#define LIANA_DISTRIBUTE_SPAN_INBOX_H

#include "distribute/cluster/span.h"

typedef struct liana__span_letter {
    size_t from;
    uint32_t number; /* of the request, for the reply */
    liana__span_request request;
    liana_status failed; /* not OK: the sender sends no more */
} liana__span_letter;

typedef struct liana__span_inbox liana__span_inbox;

/* Starts threads for the ranks that are `heard`, which wait for liana__span_inbox_begin. Gradients of worker w come to
 * messages[w], of `size` bytes: its next ones do not come before it had a reply. Where the cluster survives deaths, a
 * dead process simply sends no more. Errors: OUT_OF_MEMORY, IO_ERROR (no thread). */
liana_status liana__span_inbox_open(liana__cluster *cluster, const bool *heard, char *const *messages, size_t size,
                                    liana__span_inbox **inbox, liana__error *error) LIANA_MUST_USE;
/* From now on requests of the running operation are taken in. */
void liana__span_inbox_begin(liana__span_inbox *inbox);
/* Waits for the next one; where the cluster survives deaths, a moment only. False: there is none. Not to be called when
 * all have ended or are gone. */
bool liana__span_inbox_take(liana__span_inbox *inbox, liana__span_letter *letter);
/* The message of a rank whose requests failed. */
const liana__error *liana__span_inbox_error(const liana__span_inbox *inbox, size_t rank);
/* Waits for the end of all threads: they end after the last letter of each, or if nothing was begun; where the cluster
 * survives deaths, soon. NULL is allowed. */
void liana__span_inbox_close(liana__span_inbox *inbox);

#endif
