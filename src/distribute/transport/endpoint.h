/* endpoint.h - what the transports that keep messages in a mailbox have in common: all but how bytes travel.
 *
 * Such a transport's struct begins with a liana__endpoint, and its table has LIANA__ENDPOINT_FUNCTIONS. */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_ENDPOINT_H
#define LIANA_DISTRIBUTE_TRANSPORT_ENDPOINT_H

#include "distribute/transport/frame.h"
#include "distribute/transport/mailbox.h"

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

/* What sending begins with. *travels: the message goes over the wire. Else all is done: it was for this process itself,
 * or is for nobody any more. Errors: INTERNAL for a rank that there is not, and those of liana__mailbox_put. */
liana_status liana__endpoint_send(liana__endpoint *own, size_t to, const liana__outgoing *message, bool *travels,
                                  liana__error *error) LIANA_MUST_USE;
/* Counts a message that is on its way. */
void liana__endpoint_count_sent(liana__endpoint *own, size_t size);
/* Puts a DATA frame into the mailbox, which may take over `memory` (liana__mail_piece). Errors: those of
 * liana__mailbox_put. */
liana_status liana__endpoint_put(liana__endpoint *own, const liana__frame *frame, liana__message_memory *memory,
                                 liana__error *error) LIANA_MUST_USE;

/* As the members of liana__transport; the instance is a liana__endpoint. */
liana_status liana__endpoint_receive(liana__transport_instance *instance, size_t from, liana__message_key key,
                                     void *data, size_t size, double deadline, liana__error *error) LIANA_MUST_USE;
liana_status liana__endpoint_take(liana__transport_instance *instance, size_t from, liana__message_key key, size_t size,
                                  double deadline, liana__message *message, liana__error *error) LIANA_MUST_USE;
bool liana__endpoint_peek(liana__transport_instance *instance, size_t from, liana__message_key key, size_t *size);
bool liana__endpoint_is_gone(const liana__transport_instance *instance, size_t rank);
void liana__endpoint_set_generation(liana__transport_instance *instance, uint64_t generation, const bool *members);
void liana__endpoint_counters(const liana__transport_instance *instance, liana__transport_counters *counters);

/* All of them, and all but `receive` and `take`. */
#define LIANA__ENDPOINT_QUESTIONS                                     \
    .peek = liana__endpoint_peek, .is_gone = liana__endpoint_is_gone, \
    .set_generation = liana__endpoint_set_generation, .counters = liana__endpoint_counters
#define LIANA__ENDPOINT_FUNCTIONS \
    .receive = liana__endpoint_receive, .take = liana__endpoint_take, LIANA__ENDPOINT_QUESTIONS

#endif
