/* mailbox.h - messages that have come, kept until somebody asks for them, by sender and key.
 *
 * A transport's thread puts pieces in; any threads take messages out, or wait for them. A message that is awaited is
 * copied straight to where it is wanted. */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_MAILBOX_H
#define LIANA_DISTRIBUTE_TRANSPORT_MAILBOX_H

#include "distribute/transport/transport.h"

#include <pthread.h>

typedef struct liana__mailbox liana__mailbox;

/* A piece of a message. */
typedef struct liana__mail_piece {
    size_t from;
    liana__message_key key;
    uint64_t size;   /* of the whole message */
    uint64_t offset; /* pieces of a message come in order */
    const void *bytes;
    size_t num_bytes;
    liana__message_memory *memory; /* NULL, or the bytes' memory, which may be taken over: it is zeros then */
} liana__mail_piece;

/* `max_kept`: bytes of messages that nobody waits for; 0: a quarter of the machine's memory. */
liana_status liana__mailbox_create(size_t num_ranks, size_t max_kept, liana__mailbox **mailbox, liana__error *error)
    LIANA_MUST_USE;
/* Nobody may be waiting. NULL is allowed. */
void liana__mailbox_destroy(liana__mailbox *mailbox);

/* Copies a piece in, or takes a whole message over with its memory. One thread for each sender. Pieces of older
 * generations are dropped. Errors: INVALID_DATA for a piece that does not continue its message; OUT_OF_MEMORY, also
 * beyond max_kept: then all receives fail so. */
liana_status liana__mailbox_put(liana__mailbox *mailbox, const liana__mail_piece *piece, liana__error *error)
    LIANA_MUST_USE;

/* As liana__transport.receive, peek, is_gone and set_generation. */
liana_status liana__mailbox_receive(liana__mailbox *mailbox, size_t from, liana__message_key key,
                                    const liana__receipt *wanted, double deadline, liana__error *error) LIANA_MUST_USE;
bool liana__mailbox_peek(liana__mailbox *mailbox, size_t from, liana__message_key key, size_t *size);
bool liana__mailbox_is_gone(liana__mailbox *mailbox, size_t rank);
void liana__mailbox_set_generation(liana__mailbox *mailbox, uint64_t generation, const bool *members);
uint64_t liana__mailbox_generation(liana__mailbox *mailbox);

/* Notes that a process is gone, and why: the end of the sentence "rank 2 ...". The first reason stays. */
void liana__mailbox_set_gone(liana__mailbox *mailbox, size_t rank, const char *reason);

/* Ends all waits until the generation changes: the first half is async-signal-safe; the second wakes the threads that
 * wait, and is called by the transport's thread. */
void liana__mailbox_interrupt(liana__mailbox *mailbox);
void liana__mailbox_wake(liana__mailbox *mailbox);

/* A condition for waits until a time of liana__clock. */
void liana__mailbox_condition(pthread_cond_t *condition);

#endif
