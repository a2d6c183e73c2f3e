/* The part of a transport that does not depend on how bytes travel. */
#include "distribute/transport/endpoint.h"

#include "base/thread_start.h"

#include <string.h>

static liana__endpoint *own_of(const liana__transport_instance *instance)
{
    return (liana__endpoint *)(uintptr_t)instance;
}

/* ---- sending ---- */

liana__outgoing liana__outgoing_of(liana__message_key key, const liana__message_part *parts, size_t num_parts)
{
    liana__outgoing message = {key, parts, num_parts, 0};
    for (size_t i = 0; i < num_parts; i++) message.size += parts[i].size;
    return message;
}

/* Part by part; a message without bytes has one piece too. */
static liana_status send_to_self(liana__endpoint *own, const liana__outgoing *message, liana__error *error)
{
    liana__mail_piece piece = {.from = own->rank, .key = message->key, .size = message->size};
    for (size_t i = 0; i < message->num_parts; i++) {
        if (message->parts[i].size == 0 && message->size) continue;
        piece.bytes = message->parts[i].data;
        piece.num_bytes = message->parts[i].size;
        LIANA_TRY(liana__mailbox_put(own->mailbox, &piece, error));
        if (message->size == 0) return LIANA_OK;
        piece.offset += piece.num_bytes;
    }
    return message->num_parts ? LIANA_OK : liana__mailbox_put(own->mailbox, &piece, error);
}

liana_status liana__endpoint_send(liana__endpoint *own, size_t to, const liana__outgoing *message, size_t most,
                                  liana__send_piece *send_piece, liana__error *error)
{
    size_t offset = 0;
    if (to >= own->num_ranks) return liana__fail(error, LIANA_INTERNAL, "there is no rank %zu", to);
    if (to == own->rank) return send_to_self(own, message, error);
    if (message->key.generation < liana__mailbox_generation(own->mailbox)) return LIANA_OK;
    if (liana__mailbox_is_gone(own->mailbox, to)) return LIANA_OK;
    do {
        const size_t left = message->size - offset, size = left < most ? left : most;
        LIANA_TRY(send_piece(own, to, message, offset, size, error));
        offset += size;
    } while (offset < message->size);
    own->messages_sent++;
    own->bytes_sent += message->size;
    return LIANA_OK;
}

/* ---- receiving ---- */

liana_status liana__endpoint_put(liana__endpoint *own, const liana__frame *frame, liana__message_memory *memory,
                                 liana__error *error)
{
    const liana__mail_piece piece = {frame->sender, frame->key,       frame->size, frame->offset,
                                     frame->bytes,  frame->num_bytes, memory};
    own->bytes_received += frame->num_bytes;
    if (frame->offset + frame->num_bytes == frame->size) own->messages_received++;
    return liana__mailbox_put(own->mailbox, &piece, error);
}

liana_status liana__endpoint_receive(liana__transport_instance *instance, size_t from, liana__message_key key,
                                     const liana__receipt *wanted, double deadline, liana__error *error)
{
    const liana__endpoint *own = own_of(instance);
    if (from >= own->num_ranks) return liana__fail(error, LIANA_INTERNAL, "there is no rank %zu", from);
    return liana__mailbox_receive(own->mailbox, from, key, wanted, deadline, error);
}

bool liana__endpoint_peek(liana__transport_instance *instance, size_t from, liana__message_key key, size_t *size)
{
    const liana__endpoint *own = own_of(instance);
    return from < own->num_ranks && liana__mailbox_peek(own->mailbox, from, key, size);
}

/* ---- presence ---- */

bool liana__endpoint_is_gone(const liana__transport_instance *instance, size_t rank)
{
    const liana__endpoint *own = own_of(instance);
    return rank >= own->num_ranks || liana__mailbox_is_gone(own->mailbox, rank);
}

void liana__endpoint_set_generation(liana__transport_instance *instance, uint64_t generation, const bool *members)
{
    liana__mailbox_set_generation(own_of(instance)->mailbox, generation, members);
}

void liana__endpoint_counters(const liana__transport_instance *instance, liana__transport_counters *counters)
{
    const liana__endpoint *own = own_of(instance);
    *counters =
        (liana__transport_counters){own->messages_sent, own->bytes_sent, own->messages_received, own->bytes_received};
}

/* ---- the thread ---- */

liana_status liana__endpoint_start_thread(pthread_t *thread, void *(*run)(void *user), void *user, liana__error *error)
{
    const int code = liana__thread_start(thread, run, user);
    if (code == 0) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_MEMORY, "no thread for messages can be started: %s", strerror(code));
}
