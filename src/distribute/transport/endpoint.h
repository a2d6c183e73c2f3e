/* endpoint.h - the common part of the transports that keep messages in a mailbox: all but how bytes travel.
 *
 * Such a transport's struct begins with a liana__endpoint, and its table has LIANA__ENDPOINT_QUESTIONS. */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_ENDPOINT_H
#define LIANA_DISTRIBUTE_TRANSPORT_ENDPOINT_H

#include "distribute/transport/frame.h"
#include "distribute/transport/mailbox.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct liana__endpoint {
    size_t rank, num_ranks;
    liana__mailbox *mailbox;
    _Atomic uint64_t messages_sent, bytes_sent, messages_received, bytes_received;
} liana__endpoint;

/* A message that is to be sent. */
typedef struct liana__outgoing {
    liana__message_key key;
    const liana__message_part *parts;
    size_t num_parts;
    size_t size; /* of all parts */
} liana__outgoing;

liana__outgoing liana__outgoing_of(liana__message_key key, const liana__message_part *parts, size_t num_parts);

/* Sends the bytes [offset, offset + size) of a message over the wire. */
typedef liana_status liana__send_piece(liana__endpoint *own, size_t to, const liana__outgoing *message, size_t offset,
                                       size_t size, liana__error *error);

/* Sends a message in pieces of at most `most` bytes. One for this process itself does not travel, and one that is for
 * nobody any more is dropped. Errors: INTERNAL for a rank that there is not, those of liana__mailbox_put and of
 * `send_piece`. */
liana_status liana__endpoint_send(liana__endpoint *own, size_t to, const liana__outgoing *message, size_t most,
                                  liana__send_piece *send_piece, liana__error *error) LIANA_MUST_USE;
/* Puts a DATA frame into the mailbox, which may take over `memory` (liana__mail_piece). Errors: those of
 * liana__mailbox_put. */
liana_status liana__endpoint_put(liana__endpoint *own, const liana__frame *frame, liana__message_memory *memory,
                                 liana__error *error) LIANA_MUST_USE;

/* As the members of liana__transport; the instance is a liana__endpoint. */
liana_status liana__endpoint_receive(liana__transport_instance *instance, size_t from, liana__message_key key,
                                     const liana__receipt *wanted, double deadline, liana__error *error) LIANA_MUST_USE;
bool liana__endpoint_peek(liana__transport_instance *instance, size_t from, liana__message_key key, size_t *size);
bool liana__endpoint_is_gone(const liana__transport_instance *instance, size_t rank);
void liana__endpoint_set_generation(liana__transport_instance *instance, uint64_t generation, const bool *members);
void liana__endpoint_counters(const liana__transport_instance *instance, liana__transport_counters *counters);

/* Starts a thread for messages, which no signal reaches: they are the main thread's affair. Errors: OUT_OF_MEMORY. */
liana_status liana__endpoint_start_thread(pthread_t *thread, void *(*run)(void *user), void *user, liana__error *error)
    LIANA_MUST_USE;

/* All of them but `receive`. */
#define LIANA__ENDPOINT_QUESTIONS                                     \
    .peek = liana__endpoint_peek, .is_gone = liana__endpoint_is_gone, \
    .set_generation = liana__endpoint_set_generation, .counters = liana__endpoint_counters

#endif
